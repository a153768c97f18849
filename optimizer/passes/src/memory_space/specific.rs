//! The address in its space beside a generic one: what it is counted from without `cvta`, and the same sums.

use std::collections::BTreeMap;

use super::converted;
use oriole_ir::ops::{CvtaDirection, Opcode, Space};
use oriole_ir::{Function, Inst, Operand, Reg, RegInfo};
use oriole_pass::analysis::{Addresses, Definitions};
use oriole_pass::edit::graph::behind_phis;

/// How many definitions an address is followed through; behind them it is converted.
const DEPTH: usize = 64;

/// Makes specific addresses, each once.
pub(super) struct Specific<'a> {
    definitions: Definitions,
    addresses: &'a Addresses,
    /// Whether phis and choices are followed.
    merges: bool,
    /// By register with a generic address: the one in its space.
    made: BTreeMap<Reg, Operand>,
}

/// How a specific address comes from the definition of the generic one.
enum Step {
    /// It is this operand.
    Is(Operand),
    /// It is that of another register.
    As(Reg),
    /// The same instruction on the specific addresses at these places.
    Again(Inst, Vec<usize>),
    /// It is converted.
    Converted,
}

impl<'a> Specific<'a> {
    pub(super) fn new(definitions: Definitions, addresses: &'a Addresses, merges: bool) -> Specific<'a> {
        Specific { definitions, addresses, merges, made: BTreeMap::new() }
    }

    /// The specific address beside the generic one in a register.
    pub(super) fn make(&mut self, func: &mut Function, reg: Reg, space: Space) -> Operand {
        self.of(func, reg, space, DEPTH)
    }

    fn of(&mut self, func: &mut Function, reg: Reg, space: Space, depth: usize) -> Operand {
        if let Some(made) = self.made.get(&reg) {
            return *made;
        }
        match if depth == 0 { Step::Converted } else { self.step(func, reg) } {
            Step::Is(operand) => {
                self.made.insert(reg, operand);
                operand
            }
            Step::As(from) => {
                let made = self.of(func, from, space, depth - 1);
                self.made.insert(reg, made);
                made
            }
            Step::Again(inst, places) => self.again(func, reg, inst, &places, space, depth),
            Step::Converted => self.converted(func, reg, space),
        }
    }

    fn step(&self, func: &Function, reg: Reg) -> Step {
        let Some(inst) = self.definitions.always(func, Operand::Reg(reg)) else { return Step::Converted };
        let (data, srcs) = (func.inst(inst), func.srcs(inst));
        let is_pointer = |operand: Operand| {
            let pointer = self.addresses.pointer(func, operand);
            operand.whole_reg().is_some() && pointer.is_some_and(|pointer| pointer.generic)
        };
        let places =
            |places: &[usize]| places.iter().copied().filter(|at| is_pointer(srcs[*at])).collect::<Vec<usize>>();
        match data.opcode {
            Opcode::Cvta if data.field::<CvtaDirection>() != Some(CvtaDirection::FromGeneric) => Step::Is(srcs[0]),
            Opcode::Mov => srcs[0].whole_reg().map_or(Step::Converted, Step::As),
            Opcode::IAdd | Opcode::ISub => Step::Again(inst, places(&[0, 1])),
            Opcode::IMadLo | Opcode::IMadWide => Step::Again(inst, places(&[2])),
            Opcode::SelP if self.merges && is_pointer(srcs[0]) && is_pointer(srcs[1]) => Step::Again(inst, vec![0, 1]),
            Opcode::Phi if self.merges => {
                let values: Vec<usize> = (0..srcs.len()).step_by(2).collect();
                let all = values.iter().all(|at| is_pointer(srcs[*at]) || srcs[*at] == Operand::Undef);
                if all { Step::Again(inst, places(&values)) } else { Step::Converted }
            }
            _ => Step::Converted,
        }
    }

    /// The same instruction on specific addresses, behind the one on generic ones.
    fn again(
        &mut self,
        func: &mut Function,
        reg: Reg,
        inst: Inst,
        places: &[usize],
        space: Space,
        depth: usize,
    ) -> Operand {
        let info = func.regs()[reg];
        let result = func.new_reg(info);
        // A phi's own value may come back to it.
        self.made.insert(reg, Operand::Reg(result));
        let (head, mut srcs) = (func.inst(inst).head(), func.srcs(inst).to_vec());
        let copy = func.new_inst(head, &[Operand::Reg(result)], &srcs, &[]);
        func.insert_after(inst, copy);
        for at in places {
            if let Some(from) = srcs[*at].whole_reg() {
                srcs[*at] = self.of(func, from, space, depth - 1);
            }
        }
        func.set_srcs(copy, &srcs);
        Operand::Reg(result)
    }

    fn converted(&mut self, func: &mut Function, reg: Reg, space: Space) -> Operand {
        let result = func.new_reg(RegInfo::words(2));
        let inst = self.definitions.inst(reg).expect("an address is defined somewhere");
        let block = self.definitions.block(reg).expect("an address is defined somewhere");
        let conversion = converted(Operand::Reg(reg), space).dst(result).line(func.inst(inst).line);
        match func.inst(inst).opcode {
            Opcode::Phi => match behind_phis(func, block) {
                Some(at) => conversion.insert_before(func, at),
                None => conversion.append(func, block),
            },
            _ => conversion.insert_after(func, inst),
        };
        self.made.insert(reg, Operand::Reg(result));
        Operand::Reg(result)
    }
}
