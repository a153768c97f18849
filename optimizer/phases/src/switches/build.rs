//! New branches in the place of a block's: a table, or a tree of comparisons.
//!
//! A target with phis is reached through a block of its own, so that each way into it stays one edge; the phis name
//! that block then.

use oriole_ir::ops::{Compare, Opcode, Type};
use oriole_ir::{Block, Function, InstBuilder, Operand, Reg, RegInfo};

use oriole_pass::edit::graph::{has_phis, phis};
use rustc_hash::FxHashMap;

/// What a value leads to: a constant, or all that is as large or larger.
pub(super) type Case = (u32, Block);

/// Branches on one value of 32 bits under construction; new blocks are in no layout yet.
pub(super) struct Build<'f> {
    pub(super) func: &'f mut Function,
    pub(super) value: Reg,
    /// The blocks that were made, in order.
    pub(super) made: Vec<Block>,
}

impl Build<'_> {
    fn block(&mut self) -> Block {
        let block = self.func.create_block();
        self.made.push(block);
        block
    }

    /// The block through which new branches reach a target in the place of the edge from `from`.
    pub(super) fn way(&mut self, from: Block, target: Block) -> Block {
        if !has_phis(self.func, target) {
            return target;
        }
        let between = self.block();
        InstBuilder::new(Opcode::Bra).src(target).append(self.func, between);
        for phi in phis(self.func, target).collect::<Vec<_>>() {
            let renamed = |operand: &mut Operand| {
                if *operand == Operand::Block(from) {
                    *operand = Operand::Block(between);
                }
            };
            self.func.srcs_mut(phi).iter_mut().for_each(renamed);
        }
        between
    }

    /// Appends a comparison of a value with a constant and a branch on it.
    fn branch(&mut self, at: Block, (value, how, with): (Reg, Compare, u32), yes: Block, no: Block) {
        let compare = InstBuilder::new(Opcode::SetP).field(Type::U32).field(how).src(value).src(Operand::imm(with));
        let holds = compare.append_value(self.func, at, RegInfo::PRED);
        InstBuilder::new(Opcode::CBra).src(holds).src(yes).src(no).append(self.func, at);
    }

    /// Ends a block with a table of cases, which are sorted; values between them lead to the default. Values are known
    /// to be in the bounds of the table, or checked.
    pub(super) fn table(&mut self, at: Block, cases: &[Case], default: Block, checked: bool) {
        let (first, last) = (cases[0].0, cases[cases.len() - 1].0);
        let mut index = self.value;
        if first > 0 {
            let less = InstBuilder::new(Opcode::ISub).field(Type::U32).src(index).src(Operand::imm(first));
            index = less.append_value(self.func, at, RegInfo::words(1));
        }
        let mut place = at;
        if checked {
            place = self.block();
            self.branch(at, (index, Compare::Le, last - first), place, default);
        }
        let mut targets = vec![Operand::Block(default); (last - first) as usize + 1];
        cases.iter().for_each(|(value, target)| targets[(value - first) as usize] = Operand::Block(*target));
        InstBuilder::new(Opcode::Brx).src(index).srcs(targets).append(self.func, place);
    }

    /// Ends a block with a balanced tree of comparisons for equality; what is equal to none leads to the default.
    pub(super) fn equal_tree(&mut self, at: Block, cases: &[Case], default: Block) {
        let value = self.value;
        let mut open = vec![(at, cases)];
        while let Some((at, cases)) = open.pop() {
            if let [(first, target), rest @ ..] = cases
                && rest.len() < 2
            {
                let next = if rest.is_empty() { default } else { self.block() };
                self.branch(at, (value, Compare::Eq, *first), *target, next);
                open.extend((!rest.is_empty()).then_some((next, rest)));
                continue;
            }
            let (below, above) = cases.split_at(cases.len() / 2);
            let [yes, no] = [(); 2].map(|()| self.block());
            self.branch(at, (value, Compare::Lt, above[0].0), yes, no);
            open.extend([(no, above), (yes, below)]);
        }
    }

    /// Ends a block with a balanced tree of comparisons for order: each stretch, but the first, begins at its value.
    pub(super) fn order_tree(&mut self, at: Block, stretches: &[Case]) {
        let value = self.value;
        let mut open = vec![(at, stretches)];
        while let Some((at, stretches)) = open.pop() {
            let (below, above) = stretches.split_at(stretches.len() / 2);
            let mut side = |part: &[Case]| if let [(_, target)] = part { *target } else { self.block() };
            let sides = [side(below), side(above)];
            self.branch(at, (value, Compare::Lt, above[0].0), sides[0], sides[1]);
            open.extend([(sides[1], above), (sides[0], below)].into_iter().filter(|(_, part)| part.len() > 1));
        }
    }

    /// Puts new blocks into the layout, each behind the block in whose place it branches, and takes others out.
    pub(super) fn place(func: &mut Function, made: &FxHashMap<Block, Vec<Block>>, gone: impl Fn(Block) -> bool) {
        let mut layout = Vec::with_capacity(func.layout().len());
        for block in func.layout().iter().copied().filter(|block| !gone(*block)) {
            layout.push(block);
            layout.extend(made.get(&block).into_iter().flatten());
        }
        func.set_layout(layout);
    }
}
