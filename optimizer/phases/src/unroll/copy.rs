//! Copies of a loop's body, one for each round but the first, which the loop's own blocks are.
//!
//! A copy defines registers of its own. Phis of its header take from the latches of the round before, and merge nothing
//! more. Registers that are read behind the loop are those of the last round: all reads change their names at once in
//! the end, so that a pass over the function is linear in what it makes of it.

use cranelift_entity::{EntitySet, SecondaryMap};
use rustc_hash::FxHashMap;

use super::{Plan, Shape};
use oriole_ir::{Block, Function, Inst, Operand, Reg};
use oriole_pass::edit::copied::Copied;
use oriole_pass::edit::graph::{always, come_from, map_targets, phis, remove_incoming};

/// What has been done to the loops of a function, and what is left to do at the end.
#[derive(Default)]
pub(super) struct Copies {
    /// The loops that were unrolled.
    count: u32,
    /// By block: the copies that are to follow it.
    behind: FxHashMap<Block, Vec<Block>>,
    /// Blocks that the only round of a loop does not execute.
    gone: EntitySet<Block>,
    /// By block of a loop, or of a copy of one: the loop.
    home: SecondaryMap<Block, u32>,
    /// By register of a loop with copies: the loop, and the register of the last round.
    last: SecondaryMap<Reg, Option<(u32, Reg)>>,
}

impl Copies {
    /// Makes a loop's rounds. Loops that have been unrolled in one go neither contain each other nor share blocks.
    pub(super) fn unroll(&mut self, func: &mut Function, plan: &Plan) {
        self.count += 1;
        let shape = &plan.shape;
        let mut rounds = vec![Round::default()];
        let mut made = Vec::new();
        for number in 2..=plan.rounds {
            let blocks = if number == plan.rounds { &plan.to_test } else { &shape.blocks };
            let next = Round::new(func, shape, blocks, &rounds[rounds.len() - 1]);
            made.extend(blocks.iter().map(|block| next.block(*block)));
            rounds.push(next);
        }
        // All copies are of the loop as it was, so its own branches change behind them.
        for pair in rounds.windows(2) {
            pair[0].lead_on(func, shape, pair[1].block(shape.header));
        }
        let last = &rounds[rounds.len() - 1];
        always(func, last.block(shape.test), shape.exit);
        remove_incoming(func, shape.header, |from| shape.latches.contains(&from));
        if plan.rounds == 1 {
            self.gone.extend(shape.blocks.iter().copied().filter(|block| !plan.to_test.contains(block)));
            return;
        }
        self.leave_from(func, shape, last, made);
    }

    /// Makes so many rounds one: the loop's own, and copies. All tests but the last one lead on.
    pub(super) fn unroll_in_part(&mut self, func: &mut Function, plan: &Plan) {
        self.count += 1;
        let shape = &plan.shape;
        let mut rounds = vec![Round::default()];
        let mut made = Vec::new();
        for _ in 1..plan.rounds {
            let next = Round::new(func, shape, &shape.blocks, &rounds[rounds.len() - 1]);
            made.extend(shape.blocks.iter().map(|block| next.block(*block)));
            rounds.push(next);
        }
        for pair in rounds.windows(2) {
            pair[0].lead_on(func, shape, pair[1].block(shape.header));
        }
        let last = &rounds[rounds.len() - 1];
        last.lead_back(func, shape);
        func.set_nounroll(shape.header, true);
        self.leave_from(func, shape, last, made);
    }

    /// Notes that control leaves a loop from the last of its copies.
    fn leave_from(&mut self, func: &mut Function, shape: &Shape, last: &Round, made: Vec<Block>) {
        come_from(func, shape.exit, shape.test, last.block(shape.test));
        shape.blocks.iter().chain(&made).for_each(|block| self.home[*block] = self.count);
        last.0.regs.iter().for_each(|(reg, own)| self.last[*reg] = Some((self.count, *own)));
        let end = shape.blocks.last().expect("a loop has a block");
        self.behind.insert(*end, made);
    }

    /// Lays the copies out and names the registers of the last rounds behind the loops; whether there is anything.
    pub(super) fn finish(self, func: &mut Function) -> bool {
        if self.count == 0 {
            return false;
        }
        let mut layout = Vec::new();
        for block in func.layout().iter().filter(|block| !self.gone.contains(**block)) {
            layout.push(*block);
            layout.extend(self.behind.get(block).into_iter().flatten());
        }
        if !self.behind.is_empty() {
            layout.iter().for_each(|block| self.rename(func, *block));
        }
        func.set_layout(layout);
        true
    }

    fn rename(&self, func: &mut Function, block: Block) {
        let home = self.home[block];
        let name = |reg: Reg| self.last[reg].filter(|(of, _)| *of != home).map_or(reg, |(_, last)| last);
        let mut next = func.first_inst(block);
        while let Some(inst) = next {
            next = func.next_inst(inst);
            func.inputs_mut(inst).iter_mut().for_each(|input| *input = input.map_reg(name));
            if let Some(guard) = func.inst(inst).guard {
                func.set_guard(inst, Some(guard.with_reg(name(guard.reg()))));
            }
        }
    }
}

/// The blocks and registers of a loop in a round; in the first, they are its own.
#[derive(Default)]
pub(super) struct Round(Copied);

impl Round {
    /// Copies some blocks of a loop, the header among them, for the round behind another one.
    pub(super) fn new(func: &mut Function, shape: &Shape, blocks: &[Block], before: &Round) -> Round {
        let round = Round(Copied::named(func, blocks));
        let merging: Vec<Inst> = phis(func, shape.header).collect();
        merging.into_iter().for_each(|phi| round.take_over(func, shape, phi, before));
        for block in blocks {
            let skipped = if *block == shape.header { phis(func, *block).count() } else { 0 };
            let insts: Vec<Inst> = func.block_insts(*block).skip(skipped).collect();
            insts.into_iter().for_each(|inst| round.0.copy(func, inst, *block));
        }
        round
    }

    pub(super) fn block(&self, block: Block) -> Block {
        self.0.block(block)
    }

    pub(super) fn reg(&self, reg: Reg) -> Reg {
        self.0.reg(reg)
    }

    pub(super) fn operand(&self, operand: Operand) -> Operand {
        self.0.operand(operand)
    }

    /// A phi of the header takes what the latches of the round before hand over.
    fn take_over(&self, func: &mut Function, shape: &Shape, phi: Inst, before: &Round) {
        let from_latch = |pair: &&[Operand]| pair[1].block().is_some_and(|from| shape.latches.contains(&from));
        let pairs = func.srcs(phi).chunks_exact(2).filter(from_latch).flatten();
        let srcs: Vec<Operand> = pairs.map(|operand| before.0.operand(*operand)).collect();
        let dsts: Vec<Operand> = func.dsts(phi).iter().map(|dst| self.0.operand(*dst)).collect();
        let copy = func.new_inst(func.inst(phi).head(), &dsts, &srcs, &[]);
        func.append_inst(self.block(shape.header), copy);
    }

    /// Has control go from the latches to the loop's own header, whose phis take what this round hands over.
    fn lead_back(&self, func: &mut Function, shape: &Shape) {
        let own = self.block(shape.header);
        for latch in &shape.latches {
            map_targets(func, self.block(*latch), |target| if target == own { shape.header } else { target });
        }
        for phi in phis(func, shape.header).collect::<Vec<Inst>>() {
            let mut srcs = func.srcs(phi).to_vec();
            for pair in srcs.chunks_exact_mut(2) {
                if pair[1].block().is_some_and(|from| shape.latches.contains(&from)) {
                    pair.iter_mut().for_each(|operand| *operand = self.0.operand(*operand));
                }
            }
            func.set_srcs(phi, &srcs);
        }
    }

    /// Has control go from the test to the rest of the round, and from there to the header of the next one.
    pub(super) fn lead_on(&self, func: &mut Function, shape: &Shape, header: Block) {
        always(func, self.block(shape.test), self.block(shape.stays));
        let own = self.block(shape.header);
        for latch in &shape.latches {
            map_targets(func, self.block(*latch), |target| if target == own { header } else { target });
        }
    }
}
