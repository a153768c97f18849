//! What loops count: phis of headers that each round steps by a value which the loop does not change.

use rustc_hash::FxHashMap;

use oriole_ir::ops::{Opcode, Saturate, Type};
use oriole_ir::{Block, Function, Inst, Operand, Reg};
use oriole_pass::analysis::{Cfg, Definitions, Loop, LoopNest};
use oriole_pass::edit::graph::{incoming, phis};

/// A counter of a loop with a preheader and one latch.
#[derive(Clone)]
pub(super) struct Counter {
    pub(super) around: Loop,
    pub(super) phi: Reg,
    pub(super) start: Operand,
    pub(super) step: Operand,
    /// The addition.
    pub(super) stepping: Inst,
    pub(super) header: Block,
    pub(super) preheader: Block,
    pub(super) latch: Block,
}

/// The counters of a function.
pub(super) struct Counters {
    all: Vec<Counter>,
    /// By register: the counter that it is, and whether it is that of the next round.
    of: FxHashMap<Reg, (usize, bool)>,
}

impl Counters {
    pub(super) fn find(func: &Function, cfg: &Cfg, nest: &LoopNest, definitions: &Definitions) -> Counters {
        let mut counters = Counters { all: Vec::new(), of: FxHashMap::default() };
        for around in nest.loops() {
            let Some(preheader) = nest.preheader(cfg, around) else { continue };
            let mut latches = nest.latches(cfg, around);
            let Some(latch) = latches.next().filter(|_| latches.next().is_none()) else { continue };
            let search = Search { func, cfg, nest, definitions, around, preheader, latch };
            phis(func, nest.header(around)).for_each(|phi| counters.add(func, search.counter(phi)));
        }
        counters
    }

    fn add(&mut self, func: &Function, found: Option<Counter>) {
        let Some(counter) = found else { return };
        self.of.insert(counter.phi, (self.all.len(), false));
        self.of.extend(func.defs(counter.stepping).map(|next| (next, (self.all.len(), true))));
        self.all.push(counter);
    }

    /// The counter that an operand is, and whether it is that of the next round.
    pub(super) fn of(&self, operand: Operand) -> Option<(&Counter, bool)> {
        let (at, stepped) = *self.of.get(&operand.whole_reg()?)?;
        Some((&self.all[at], stepped))
    }
}

struct Search<'a> {
    func: &'a Function,
    cfg: &'a Cfg,
    nest: &'a LoopNest,
    definitions: &'a Definitions,
    around: Loop,
    preheader: Block,
    latch: Block,
}

impl Search<'_> {
    fn counter(&self, inst: Inst) -> Option<Counter> {
        let &Search { func, around, preheader, latch, .. } = self;
        let phi = func.defs(inst).next()?;
        let next = incoming(func, inst, latch)?;
        // An undefined value would be another one at each read.
        let start = incoming(func, inst, preheader).filter(|start| start.is_imm() || start.whole_reg().is_some())?;
        let stepping = self.definitions.unguarded(func, next, Opcode::IAdd)?;
        let data = func.inst(stepping);
        let whole = u32::from(func.regs()[phi].words) * 32 == data.field::<Type>()?.bits();
        let wraps = data.field::<Saturate>().is_none_or(|saturates| saturates != Saturate::Sat);
        let srcs = func.srcs(stepping);
        let place = srcs.iter().position(|src| *src == Operand::Reg(phi))?;
        let step = srcs[1 - place];
        let header = self.nest.header(around);
        let counter = Counter { around, phi, start, step, stepping, header, preheader, latch };
        (whole && wraps && self.is_inside(next.reg()?) && self.stays(step)).then_some(counter)
    }

    fn is_inside(&self, reg: Reg) -> bool {
        self.definitions.block(reg).is_some_and(|block| self.nest.contains(self.cfg, self.around, block))
    }

    fn stays(&self, operand: Operand) -> bool {
        operand.is_imm() || operand.whole_reg().is_some_and(|reg| !self.is_inside(reg))
    }
}
