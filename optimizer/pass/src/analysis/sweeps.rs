//! What registers may hold, by sweeps over a function's reachable blocks.
//!
//! In SSA form the first sweep in reverse post-order takes each phi for the join of what has been met so far, and later
//! sweeps join what came from behind, until nothing changes. That ends because phis are widened. The result is true of
//! every execution, and so is what any further sweep makes of it; [`DESCENTS`] more take back what widening gave away.
//! In other forms a register is the join of its definitions, with nothing known of their operands, and nothing is said
//! of the machine's registers, which overlap.
//!
//! A sweep is linear in definitions. How many there are follows from the nesting of loops; without loops it is one.
//! Whoever asks for few registers passes them with all that they are computed from, and the others are left out.

use cranelift_entity::{EntityRef, EntitySet};

use super::cfg::Cfg;
use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Form, Function, Inst, Operand, Reg};

/// Sweeps behind the fixed point.
const DESCENTS: usize = 2;

/// By register number; `None` where no definition has been met.
pub(super) type Values<V> = Vec<Option<V>>;

/// What can be known of a value, and how instructions make it.
pub(super) trait Domain {
    type Value: Copy + PartialEq;

    /// The result with an index, as the instruction computes it where it executes; the instruction is no phi.
    fn result(&self, values: &Values<Self::Value>, inst: Inst, index: usize) -> Self::Value;

    /// What the register that a phi defines is where control takes an edge.
    fn incoming(&self, values: &Values<Self::Value>, phi: Reg, operand: Operand, edge: (Block, Block)) -> Self::Value;

    /// What a register that an instruction defines is where its guard is false.
    fn otherwise(&self, values: &Values<Self::Value>, reg: Reg, operand: Operand, inst: Inst) -> Self::Value;

    fn join(&self, a: Self::Value, b: Self::Value) -> Self::Value;

    /// What a phi becomes that was `old` and has grown to `new` in the sweep with a number. From some sweep on it
    /// cannot grow any more.
    fn widen(&self, old: Self::Value, new: Self::Value, sweep: usize) -> Self::Value;
}

/// What the registers of a function may hold; of those in `only`, where that is given. It must hold what its members
/// are computed from.
pub(super) fn solve<D: Domain>(
    func: &Function,
    cfg: &Cfg,
    domain: &D,
    only: Option<&EntitySet<Reg>>,
) -> Values<D::Value> {
    let asked = if func.form == Form::Ssa { asked(func, cfg, only) } else { Vec::new() };
    let mut sweeps = Sweeps { func, cfg, domain, asked, values: vec![None; func.regs().len()] };
    match func.form {
        Form::Ssa => sweeps.solve(),
        Form::Virtual => sweeps.join_definitions(),
        Form::Physical => {}
    }
    sweeps.values
}

/// A register that an instruction of a block defines, as its result with this index.
#[derive(Clone, Copy)]
struct Defined {
    block: Block,
    inst: Inst,
    index: usize,
    reg: Reg,
}

/// The definitions of the registers in `only`, or of all, in the order of a sweep.
fn asked(func: &Function, cfg: &Cfg, only: Option<&EntitySet<Reg>>) -> Vec<Defined> {
    let is_asked = |reg: &Reg| only.is_none_or(|only| only.contains(*reg));
    let mut found = Vec::new();
    for block in cfg.rpo().iter().copied() {
        for inst in func.block_insts(block) {
            let dsts = func.dsts(inst).iter().enumerate();
            let regs = dsts.filter_map(|(index, dst)| Some((index, dst.reg().filter(is_asked)?)));
            found.extend(regs.map(|(index, reg)| Defined { block, inst, index, reg }));
        }
    }
    found
}

struct Sweeps<'a, D: Domain> {
    func: &'a Function,
    cfg: &'a Cfg,
    domain: &'a D,
    asked: Vec<Defined>,
    values: Values<D::Value>,
}

impl<D: Domain> Sweeps<'_, D> {
    fn solve(&mut self) {
        let mut sweep = 0;
        while self.sweep(Some(sweep)) && self.has_back_edge() {
            sweep += 1;
        }
        if sweep > 0 {
            (0..DESCENTS).for_each(|_| _ = self.sweep(None));
        }
    }

    /// Whether an edge leads back in the order of a sweep.
    fn has_back_edge(&self) -> bool {
        let number = |block: Block| self.cfg.rpo_number(block);
        let back = |from: &Block| self.cfg.successors(*from).iter().any(|to| number(*to) <= number(*from));
        self.cfg.rpo().iter().any(back)
    }

    /// Evaluates every definition once; whether a value has changed. Phis grow in sweeps that have a number.
    fn sweep(&mut self, number: Option<usize>) -> bool {
        let mut changed = false;
        for at in 0..self.asked.len() {
            changed |= self.define(self.asked[at], number);
        }
        changed
    }

    fn define(&mut self, defined: Defined, number: Option<usize>) -> bool {
        let Defined { block, inst, index, reg } = defined;
        let is_phi = self.func.inst(inst).opcode == Opcode::Phi;
        let computed = if is_phi { self.phi(block, inst, reg) } else { Some(self.result(inst, index, reg)) };
        let Some(computed) = computed else { return false };
        let old = self.values[reg.index()];
        let new = match (old, number) {
            (Some(old), Some(number)) if is_phi => {
                let joined = self.domain.join(old, computed);
                if joined == old { old } else { self.domain.widen(old, joined, number) }
            }
            _ => computed,
        };
        self.values[reg.index()] = Some(new);
        old != Some(new)
    }

    /// The join of what comes from reachable blocks; `None` where nothing has come yet.
    fn phi(&self, block: Block, inst: Inst, reg: Reg) -> Option<D::Value> {
        let pairs = self.func.srcs(inst).chunks_exact(2);
        let known = |operand: Operand| operand.reg().is_none_or(|reg| self.values[reg.index()].is_some());
        let incoming = pairs.filter_map(|pair| {
            let from = pair[1].block().filter(|from| self.cfg.is_reachable(*from) && known(pair[0]))?;
            Some(self.domain.incoming(&self.values, reg, pair[0], (from, block)))
        });
        incoming.reduce(|a, b| self.domain.join(a, b))
    }

    fn result(&self, inst: Inst, index: usize, reg: Reg) -> D::Value {
        let result = self.domain.result(&self.values, inst, index);
        match self.func.elses(inst).get(index) {
            Some(otherwise) => self.domain.join(result, self.domain.otherwise(&self.values, reg, *otherwise, inst)),
            None => result,
        }
    }

    /// A guarded definition leaves what another one made, which is among those that are joined.
    fn join_definitions(&mut self) {
        let mut found: Values<D::Value> = vec![None; self.values.len()];
        for inst in self.func.layout_insts() {
            for (index, dst) in self.func.dsts(inst).iter().enumerate() {
                let Some(reg) = dst.reg() else { continue };
                let result = self.domain.result(&self.values, inst, index);
                let slot = &mut found[reg.index()];
                *slot = Some(slot.map_or(result, |value| self.domain.join(value, result)));
            }
        }
        self.values = found;
    }
}
