//! Windowed local commoning: of equal operations in a block the later one goes, if the earlier one, or the last of
//! those that have gone for it, is at most so many instructions before it.
//!
//! Operations on registers alone: loads and whole functions are value numbering's and late commoning's. Copies are copy
//! propagation's.
//!
//! Tables of two stretches of a window's length are kept, so that they stay as small as the window however long the
//! block is.

use super::work::Work;
use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Block, Function, Inst, Reg, Rewriter};
use oriole_pass::analysis::Cfg;
use oriole_pass::engine::expression::COMMON;
use oriole_pass::engine::expression::Expression;
use oriole_pass::engine::expression::table::ValueTable;
use oriole_pass::pass::{Changed, PhaseContext};

/// Commons in the reachable blocks where there is work or that have been touched, and touches those around.
pub(super) fn common(
    func: &mut Rewriter<'_>,
    cx: &mut PhaseContext<'_>,
    cfg: &Cfg,
    window: u32,
    work: &Work,
    touched: &mut Work,
) -> Changed {
    let mut changed = Changed::No;
    let mut seen = Window { length: window, ..Window::default() };
    for block in cfg.rpo() {
        if work.contains(*block) || touched.contains(*block) {
            changed |= common_block(func, cx, *block, &mut seen, touched);
            seen.clear();
        }
    }
    changed
}

fn common_block(
    func: &mut Rewriter<'_>,
    cx: &mut PhaseContext<'_>,
    block: Block,
    seen: &mut Window,
    touched: &mut Work,
) -> Changed {
    let mut changed = Changed::No;
    let mut next = func.first_inst(block);
    for place in 0.. {
        let Some(inst) = next else { break };
        next = func.next_inst(inst);
        let data = func.inst(inst);
        if !data.is(Flags::PURE) || data.is(Flags::COPY) || data.opcode == Opcode::Phi {
            continue;
        }
        if let Some(earlier) = seen.equal(func, inst, place)
            && cx.rewrite(COMMON)
        {
            touched.around(func, inst);
            replace(func, inst, earlier);
            changed = Changed::Yes;
        }
    }
    changed
}

/// The operations of a block that are within the window.
#[derive(Default)]
struct Window {
    /// How many instructions it looks back over.
    length: u32,
    /// The place where the newer table begins. It takes a window's length of places; the older one has those before.
    start: u32,
    newer: ValueTable<(Inst, u32)>,
    older: ValueTable<(Inst, u32)>,
    /// Memory for what an instruction computes.
    expression: Expression,
}

impl Window {
    /// Forgets all operations; the memory is used again.
    fn clear(&mut self) {
        self.newer.clear();
        self.older.clear();
        self.start = 0;
    }

    /// The latest equal operation within the window. Where there is none, this one is noted.
    fn equal(&mut self, func: &Function, inst: Inst, place: u32) -> Option<Inst> {
        if place - self.start > self.length {
            std::mem::swap(&mut self.older, &mut self.newer);
            self.newer.clear();
            self.start = place;
        }
        self.expression.assign(func, inst, Reg::as_u32, None);
        let expression = &self.expression;
        let length = self.length;
        let is_within = |at: u32| place - at <= length;
        let older = self.older.get(expression).copied().filter(|(_, at)| is_within(*at));
        let (noted, _) = self.newer.entry(expression, || older.unwrap_or((inst, place)));
        if !is_within(noted.1) {
            noted.0 = inst;
        }
        // Where the value was wanted last, it is at hand as if it had been computed there.
        noted.1 = place;
        Some(noted.0).filter(|earlier| *earlier != inst)
    }
}

/// Has what an instruction yields read from an equal one, and removes it.
fn replace(func: &mut Rewriter<'_>, inst: Inst, by: Inst) {
    let pairs: Vec<(Reg, Reg)> = func.defs(inst).zip(func.defs(by)).collect();
    pairs.into_iter().for_each(|(old, new)| func.replace_reads(old, new));
    func.remove(inst);
}
