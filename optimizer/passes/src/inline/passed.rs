//! What a call passes: variables of the caller in parameter space, and which of them can be local memory instead.

use oriole_ir::ops::{Opcode, Space};
use oriole_ir::{Function, Inst, Local, Operand};
use oriole_pass::analysis::Addresses;

/// The variables of a caller that a call passes and gets, in the order of the function's results and parameters.
pub(super) struct Passed {
    /// By place: the variable of the caller, and that of the function.
    pub(super) variables: Vec<(Local, Local)>,
}

impl Passed {
    /// `None` where some variable cannot become local memory.
    pub(super) fn of(func: &Function, call: Inst, body: &Function) -> Option<Passed> {
        let declared: Vec<Local> = body.returns.iter().chain(&body.params).copied().collect();
        // Behind the function and the number of results, the variables follow.
        let given = func.srcs(call).get(2..)?;
        let own = |operand: &Operand| if let Operand::Local(local) = operand { Some(*local) } else { None };
        let given: Vec<Local> = given.iter().map(own).collect::<Option<_>>()?;
        let fits = func.inst(call).guard.is_none() && given.len() == declared.len();
        let variables: Vec<(Local, Local)> = given.into_iter().zip(declared).collect();
        let mut seen = Vec::with_capacity(variables.len());
        for (local, parameter) in &variables {
            if seen.contains(local) || func.locals[*local].size() != body.locals[*parameter].size() {
                return None;
            }
            seen.push(*local);
        }
        let parameters: Vec<Local> = variables.iter().map(|(_, parameter)| *parameter).collect();
        let is_own = seen.iter().any(|local| func.params.contains(local) || func.returns.contains(local));
        let accessed = accessed_alone(func, &seen, Some(call)) && accessed_alone(body, &parameters, None);
        (fits && !is_own && accessed).then_some(Passed { variables })
    }
}

impl Passed {
    /// The parameters of the function that get addresses of variables in the caller's local memory.
    pub(super) fn addresses(&self, func: &Function) -> Vec<Local> {
        let addresses = Addresses::new(func);
        let is_address = |operand: &Operand| {
            let pointer = addresses.pointer(func, *operand);
            pointer.is_some_and(|pointer| pointer.space == Some(Space::Local))
        };
        let stored = func.layout_insts().filter(|inst| func.inst(*inst).opcode == Opcode::St && is_access(func, *inst));
        let filled: Vec<Operand> =
            stored.filter(|inst| func.srcs(*inst)[2..].iter().any(is_address)).map(|inst| func.srcs(inst)[0]).collect();
        let gets = |(given, _): &&(Local, Local)| filled.contains(&Operand::Local(*given));
        self.variables.iter().filter(gets).map(|(_, parameter)| *parameter).collect()
    }
}

/// Whether nothing but accesses to parameter space, and one call, names any of these variables.
fn accessed_alone(func: &Function, variables: &[Local], call: Option<Inst>) -> bool {
    let named = |operand: &Operand| matches!(operand, Operand::Local(local) if variables.contains(local));
    func.layout_insts()
        .filter(|inst| func.inputs(*inst).iter().any(named))
        .all(|inst| Some(inst) == call || (is_access(func, inst) && !func.srcs(inst)[1..].iter().any(named)))
}

/// Whether an instruction loads or stores in parameter space.
pub(super) fn is_access(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    matches!(data.opcode, Opcode::Ld | Opcode::St) && data.field::<Space>() == Some(Space::Param)
}
