//! Calls by name: the variables that they pass, and the functions of which every call is known.

use cranelift_entity::EntityRef;

use oriole_ir::ops::{Opcode, Space};
use oriole_ir::{Form, FuncId, Function, FunctionKind, Inst, Linkage, Local, Module, Operand};
use oriole_pass::analysis::CallGraph;

/// The variable of the function that an operand names.
pub(super) fn local_of(operand: &Operand) -> Option<Local> {
    if let Operand::Local(local) = operand { Some(*local) } else { None }
}

/// The function that an instruction calls by name.
pub(super) fn callee(func: &Function, inst: Inst) -> Option<FuncId> {
    match func.srcs(inst).first().filter(|_| func.inst(inst).opcode == Opcode::Call)? {
        Operand::Func(id) => Some(*id),
        _ => None,
    }
}

/// How many of the variables behind the function and this number a call fills.
pub(super) fn count_results(func: &Function, call: Inst) -> usize {
    func.srcs(call).get(1).and_then(|count| func.imm_bits(*count)).map_or(0, |count| count as usize)
}

/// The variables that a call fills.
pub(super) fn results(func: &Function, call: Inst) -> impl Iterator<Item = Local> + '_ {
    func.srcs(call).iter().skip(2).take(count_results(func, call)).filter_map(local_of)
}

/// The variables that a call reads.
pub(super) fn arguments(func: &Function, call: Inst) -> impl Iterator<Item = Local> + '_ {
    func.srcs(call).iter().skip(2 + count_results(func, call)).filter_map(local_of)
}

/// Whether an instruction stores in parameter space, by name.
pub(super) fn is_store(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    data.opcode == Opcode::St && data.field::<Space>() == Some(Space::Param)
}

/// Whether an instruction loads from parameter space, by name.
pub(super) fn is_load(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    data.opcode == Opcode::Ld && data.field::<Space>() == Some(Space::Param)
}

/// A call: the function that it is in, and the instruction.
pub(super) type Site = (FuncId, Inst);

/// By function: the calls that name it. Linear in the instructions of the module.
pub(super) struct KnownCalls {
    sites: Vec<Vec<Site>>,
    /// Whether there are no others.
    all: Vec<bool>,
}

impl KnownCalls {
    pub(super) fn new(module: &Module, graph: &CallGraph) -> KnownCalls {
        let mut sites = vec![Vec::new(); module.functions.len()];
        for (id, func) in &module.functions {
            for inst in func.layout_insts() {
                if let Some(callee) = callee(func, inst) {
                    sites[callee.index()].push((id, inst));
                }
            }
        }
        let is_own = |(id, func): (FuncId, &Function)| {
            let is_hidden = func.kind == FunctionKind::Device && func.linkage == Linkage::Internal;
            is_hidden && func.is_definition() && func.form == Form::Ssa && !graph.is_called_by_unknown(id)
        };
        let all = module.functions.iter().map(is_own).collect();
        let mut calls = KnownCalls { sites, all };
        calls.leave_out_others(module);
        calls
    }

    /// A call with another number of variables than the function has, or in a function of another form, is not
    /// understood.
    fn leave_out_others(&mut self, module: &Module) {
        for (id, func) in &module.functions {
            let (results, count) = (func.returns.len(), func.returns.len() + func.params.len());
            let fits = |(caller, call): &Site| {
                let caller = &module.functions[*caller];
                let named = caller.srcs(*call)[2..].iter().filter_map(local_of).count();
                caller.form == Form::Ssa
                    && named == count
                    && caller.srcs(*call).len() == count + 2
                    && count_results(caller, *call) == results
            };
            self.all[id.index()] &= self.sites[id.index()].iter().all(fits);
        }
    }

    /// Notes a copy of a function, with the same numbers of instructions, which no call names yet. What the function
    /// calls, the copy calls too.
    pub(super) fn copied(&mut self, from: FuncId, to: FuncId, callees: &[FuncId]) {
        self.sites.push(Vec::new());
        self.all.push(true);
        for callee in callees {
            let sites = &mut self.sites[callee.index()];
            let own: Vec<Site> =
                sites.iter().filter(|(caller, _)| *caller == from).map(|(_, call)| (to, *call)).collect();
            sites.extend(own);
        }
    }

    /// Every call of a function; `None` where there may be others than those that name it.
    pub(super) fn all(&self, id: FuncId) -> Option<&[Site]> {
        self.all[id.index()].then(|| self.sites[id.index()].as_slice())
    }
}
