//! OriLoopSimplification (phase 18): natural loops get a preheader and one latch.
//!
//! `spec/liveness-and-dce.txt` says that OriSplitLiveRanges follows this phase, since ranges are split at the
//! borders of loops in canonical form, and no more. Here
//!
//! - a *preheader* is a block outside of a natural loop that leads to its header alone, where no other block outside
//!   does. One is put between the header and all blocks outside that lead there;
//! - a *latch* leads from the loop to its header. Where there are several, one block is put between them and the
//!   header.
//!
//! What phis of the header take from these blocks, a phi of the new block merges, unless it is one value. Irreducible
//! loops stay as they are. No branch leads to the first block in SSA form, so every loop is entered from outside.
//!
//! Each new block is a branch more to execute, and nothing but range splitting asks for them. So the phase acts where
//! that one does, in functions in which more words are live than the budget has; the knob `LoopSimplifyEverywhere` has
//! it act in all.
//!
//! Cost: linear.

use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, Inst, InstBuilder, Operand};
use oriole_pass::analysis::{Cfg, Loop, LoopNest};
use oriole_pass::edit::graph::{add_incoming, incoming, map_targets, phis, remove_incoming};
use oriole_pass::engine::registers::is_over_budget;
use oriole_pass::pass::{Changed, Knob, PhaseContext};

/// OriLoopSimplification.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    match cx.knobs.flag(Knob::LoopSimplifyEverywhere) || is_over_budget(func, cx) {
        true => all(func, cx),
        false => Changed::No,
    }
}

/// `loop-simplify` of cicc (`spec/pass-pipeline.txt`, line 1212): loops of all functions.
pub fn all(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let (cfg, nest) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<LoopNest>(func));
    let natural = nest.loops().filter(|of| nest.is_natural(*of));
    let wanted: Vec<Meeting> =
        natural.flat_map(|of| [preheader(&cfg, &nest, of), latch(&cfg, &nest, of)]).flatten().collect();
    let mut made: Vec<(Block, Block)> = Vec::new();
    for meeting in wanted {
        if !cx.rewrite(meeting.rule) {
            break;
        }
        made.push((meeting.from[meeting.from.len() - 1], meeting.insert(func)));
    }
    lay_out(func, &made);
    if made.is_empty() { Changed::No } else { Changed::Yes }
}

/// Blocks that lead to a loop's header, and are to lead there through one of their own.
struct Meeting {
    rule: &'static str,
    header: Block,
    /// In layout order; never empty.
    from: Vec<Block>,
}

fn preheader(cfg: &Cfg, nest: &LoopNest, of: Loop) -> Option<Meeting> {
    let header = nest.header(of);
    let outside = cfg.predecessors(header).iter().copied().filter(|from| !nest.contains(cfg, of, *from));
    let from: Vec<Block> = outside.collect();
    nest.preheader(cfg, of).is_none().then_some(Meeting { rule: "insert-preheader", header, from })
}

fn latch(cfg: &Cfg, nest: &LoopNest, of: Loop) -> Option<Meeting> {
    let from: Vec<Block> = nest.latches(cfg, of).collect();
    (from.len() > 1).then(|| Meeting { rule: "insert-latch", header: nest.header(of), from })
}

impl Meeting {
    /// Makes the block, which is not in the layout yet.
    fn insert(&self, func: &mut Function) -> Block {
        let block = func.create_block();
        for from in &self.from {
            map_targets(func, *from, |target| if target == self.header { block } else { target });
        }
        let merging: Vec<Inst> = phis(func, self.header).collect();
        let values: Vec<Operand> = merging.iter().map(|phi| self.merged(func, *phi, block)).collect();
        remove_incoming(func, self.header, |from| self.from.contains(&from));
        merging.into_iter().zip(values).for_each(|(phi, value)| add_incoming(func, phi, value, block));
        InstBuilder::new(Opcode::Bra).src(self.header).append(func, block);
        block
    }

    /// What a phi of the header takes from the blocks: their only value, or that of a new phi.
    fn merged(&self, func: &mut Function, phi: Inst, block: Block) -> Operand {
        let of = |from: &Block| incoming(func, phi, *from).expect("a phi has a source for each block that leads to it");
        let values: Vec<Operand> = self.from.iter().map(of).collect();
        if values.iter().all(|value| *value == values[0]) {
            return values[0];
        }
        let info = func.defs(phi).next().map(|reg| func.regs()[reg]).expect("a phi has a destination");
        let merged = func.new_reg(info);
        let pairs = values.into_iter().zip(&self.from).map(|(value, from)| (func.free(value), *from));
        let new = pairs.fold(InstBuilder::new(Opcode::Phi).dst(merged), |new, (value, from)| new.src(value).src(from));
        new.append(func, block);
        merged.into()
    }
}

/// Puts each new block behind one of the layout.
fn lay_out(func: &mut Function, made: &[(Block, Block)]) {
    let mut behind: Vec<(Block, Block)> = made.to_vec();
    behind.sort_by_key(|(at, _)| *at);
    let new = |at: Block| {
        let first = behind.partition_point(|(other, _)| *other < at);
        behind[first..].iter().take_while(move |(other, _)| *other == at).map(|(_, new)| *new)
    };
    let layout = func.layout().iter().flat_map(|block| std::iter::once(*block).chain(new(*block))).collect();
    func.set_layout(layout);
}
