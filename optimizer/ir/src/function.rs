//! Functions: blocks, instructions, registers, in arenas.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use cranelift_entity::{EntityRef, PrimaryMap};

use super::entity::{Block, Inst, Local, Reg};
use super::form::{Form, Level};
use super::immediate::{Constants, FreeOperand};
use super::inst::InstData;
use super::kill::Kill;
use super::lists::{BlockData, BlockInsts, Lists};
use super::module::{Linkage, Variable};
use super::name::Names;
use super::operand::Operand;
use super::register::RegInfo;
use super::schedule::Schedule;
use super::units::Named;
use crate::ops::Flags;

/// How a function is started.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum FunctionKind {
    /// By a launch: a kernel.
    Entry,
    /// By a call.
    Device,
}

/// A performance directive that is kept for the PTX output (`.maxntid 256, 1, 1`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Directive {
    /// Its name without the dot.
    pub name: String,
    /// Its arguments.
    pub values: Vec<u64>,
}

/// A function: blocks over registers and variables. Equality and hash are those of the text form: numbers of
/// registers and blocks count, unused arena entries do not.
#[derive(Debug)]
pub struct Function {
    /// Its name, unique in the module.
    pub name: String,
    /// How it is started.
    pub kind: FunctionKind,
    /// How it is seen outside.
    pub linkage: Linkage,
    /// What its opcodes may be.
    pub level: Level,
    /// What its registers may be.
    pub form: Form,
    /// Parameters, in order.
    pub params: Vec<Local>,
    /// Results, in order.
    pub returns: Vec<Local>,
    /// Performance directives.
    pub directives: Vec<Directive>,
    /// Variables.
    pub locals: PrimaryMap<Local, Variable>,
    pub(super) regs: PrimaryMap<Reg, RegInfo>,
    /// The blocks in program order, the entry first; empty for a declaration.
    pub(super) layout: Vec<Block>,
    /// Instructions; those that are part of the function are in its blocks.
    pub(super) insts: PrimaryMap<Inst, InstData>,
    /// Blocks, of which those in `layout` are part of the function, with their instructions.
    pub(super) lists: Lists,
    pub(super) pool: Vec<Operand>,
    pub(super) constants: Constants,
    /// The words that operands of the machine level stand for.
    pub(super) names: Names,
    /// The kill markers, by place.
    pub(super) kills: Vec<Kill>,
    /// The scheduling of machine instructions; `None` for all that follow its end.
    pub(super) schedules: Vec<Option<Schedule>>,
    /// The bits of machine words that operands do not say, where they are other than usual.
    pub(super) unsaid: BTreeMap<Inst, u128>,
}

impl Function {
    /// An empty function of the virtual level, in virtual form.
    pub fn new(name: impl Into<String>, kind: FunctionKind) -> Function {
        Function {
            name: name.into(),
            kind,
            linkage: Linkage::Internal,
            level: Level::Virtual,
            form: Form::Virtual,
            params: Vec::new(),
            returns: Vec::new(),
            directives: Vec::new(),
            locals: PrimaryMap::new(),
            regs: PrimaryMap::new(),
            layout: Vec::new(),
            insts: PrimaryMap::new(),
            lists: Lists::default(),
            pool: Vec::new(),
            constants: Constants::default(),
            names: Names::default(),
            kills: Vec::new(),
            schedules: Vec::new(),
            unsaid: BTreeMap::new(),
        }
    }

    /// The entry block.
    ///
    /// # Panics
    /// If the function is only declared.
    pub fn entry(&self) -> Block {
        self.layout[0]
    }

    /// The blocks in program order, the entry first; empty for a declaration.
    #[inline]
    pub fn layout(&self) -> &[Block] {
        &self.layout
    }

    /// The registers, those that nothing names included.
    #[inline]
    pub fn regs(&self) -> &PrimaryMap<Reg, RegInfo> {
        &self.regs
    }

    /// The blocks, those outside the layout included.
    #[inline]
    pub fn blocks(&self) -> &PrimaryMap<Block, BlockData> {
        &self.lists.blocks
    }

    /// The instructions, those that are in no block included.
    #[inline]
    pub fn insts(&self) -> &PrimaryMap<Inst, InstData> {
        &self.insts
    }

    /// An instruction.
    #[inline]
    pub fn inst(&self, inst: Inst) -> &InstData {
        &self.insts[inst]
    }

    /// Whether the loop that a block is the header of is not to be unrolled (PTX ISA, "Pragma Strings: nounroll"). It
    /// means nothing on other blocks.
    pub fn is_nounroll(&self, block: Block) -> bool {
        self.lists.blocks[block].nounroll
    }

    /// The instructions of a block, in order; the last one is its only terminator.
    #[inline]
    pub fn block_insts(&self, block: Block) -> BlockInsts<'_> {
        self.lists.iter(block)
    }

    /// The instruction at a place of a block; costs the place.
    ///
    /// # Panics
    /// If the block is shorter.
    pub fn inst_at(&self, block: Block, place: usize) -> Inst {
        self.block_insts(block).nth(place).expect("the block has an instruction at the place")
    }

    /// The instructions of all blocks, in program order.
    #[inline]
    pub fn layout_insts(&self) -> impl DoubleEndedIterator<Item = Inst> + '_ {
        self.layout.iter().flat_map(|block| self.block_insts(*block))
    }

    /// The block in which an instruction stands.
    #[inline]
    pub fn block_of(&self, inst: Inst) -> Option<Block> {
        self.lists.nodes[inst].block.expand()
    }

    /// A block's first instruction.
    #[inline]
    pub fn first_inst(&self, block: Block) -> Option<Inst> {
        self.lists.blocks[block].first.expand()
    }

    /// A block's last instruction.
    #[inline]
    pub fn last_inst(&self, block: Block) -> Option<Inst> {
        self.lists.blocks[block].last.expand()
    }

    /// The instruction after another one in its block.
    #[inline]
    pub fn next_inst(&self, inst: Inst) -> Option<Inst> {
        self.lists.nodes[inst].next.expand()
    }

    /// The instruction before another one in its block.
    #[inline]
    pub fn prev_inst(&self, inst: Inst) -> Option<Inst> {
        self.lists.nodes[inst].prev.expand()
    }

    /// Whether an instruction that was met in a block after `prev` knows its place there.
    pub(crate) fn is_linked(&self, block: Block, prev: Option<Inst>, inst: Inst) -> bool {
        self.lists.is_linked(block, prev, inst)
    }

    /// Whether a walk over so many instructions of a block, the last of them `last`, has met them all.
    pub(crate) fn ends_with(&self, block: Block, count: usize, last: Option<Inst>) -> bool {
        self.lists.ends_with(block, count, last)
    }

    /// Whether the first of two instructions of one block comes before the second; costs a comparison.
    #[inline]
    pub fn is_before(&self, first: Inst, second: Inst) -> bool {
        self.lists.is_before(first, second)
    }

    #[inline]
    pub(super) fn range(&self, skip: u32, len: u32, inst: Inst) -> std::ops::Range<usize> {
        let start = self.insts[inst].start as usize + skip as usize;
        start..start + len as usize
    }

    /// Where the instruction's operands lie in the pool, which has [`Function::operand_count`] places. No two
    /// instructions of a block share theirs: a change of the one would change the other.
    #[inline]
    pub fn operand_places(&self, inst: Inst) -> std::ops::Range<usize> {
        let data = &self.insts[inst];
        self.range(0, data.dsts() + data.srcs + data.elses(), inst)
    }

    /// The places of all operands, those of instructions that are no longer in use included.
    pub fn operand_count(&self) -> usize {
        self.pool.len()
    }

    /// The destinations.
    #[inline]
    pub fn dsts(&self, inst: Inst) -> &[Operand] {
        &self.pool[self.range(0, self.insts[inst].dsts(), inst)]
    }

    /// The sources.
    #[inline]
    pub fn srcs(&self, inst: Inst) -> &[Operand] {
        &self.pool[self.range(self.insts[inst].dsts(), self.insts[inst].srcs, inst)]
    }

    /// What the destinations become where the guard is false; empty outside SSA and without a guard.
    #[inline]
    pub fn elses(&self, inst: Inst) -> &[Operand] {
        let data = &self.insts[inst];
        &self.pool[self.range(data.dsts() + data.srcs, data.elses(), inst)]
    }

    /// Everything that is read by value: sources, then what the destinations become where the guard is false.
    #[inline]
    pub fn inputs(&self, inst: Inst) -> &[Operand] {
        let data = &self.insts[inst];
        &self.pool[self.range(data.dsts(), data.srcs + data.elses(), inst)]
    }

    /// The registers that the instruction defines; in physical form, where registers overlap, the units of these
    /// ([`Function::units`]).
    #[inline]
    pub fn defs(&self, inst: Inst) -> Named<'_> {
        Named::new(self.dsts(inst), None, self.form, false)
    }

    /// The registers that the instruction reads: sources, else values and the guard; in physical form the units of
    /// these, and all where it hands them over ([`Function::hands_over`]). Outside SSA a guarded destination's old
    /// value shows through too; that is the caller's business.
    #[inline]
    pub fn uses(&self, inst: Inst) -> Named<'_> {
        let hands_over = self.form == Form::Physical && self.hands_over(inst);
        Named::new(self.inputs(inst), self.insts[inst].guard, self.form, hands_over)
    }

    /// A block's last instruction, if it is a terminator.
    #[inline]
    pub fn terminator(&self, block: Block) -> Option<Inst> {
        let last = self.last_inst(block)?;
        self.insts[last].is(Flags::TERMINATOR).then_some(last)
    }

    /// The blocks that control can go to from a block, in operand order, repeats included.
    #[inline]
    pub fn successors(&self, block: Block) -> impl Iterator<Item = Block> + '_ {
        let operands = self.terminator(block).map_or(&[][..], |inst| self.srcs(inst));
        operands.iter().filter_map(|op| op.block())
    }

    /// Number of instructions in the function's blocks.
    pub fn inst_count(&self) -> usize {
        self.layout.iter().map(|block| self.lists.blocks[*block].len as usize).sum()
    }

    /// Whether there is a body.
    pub fn is_definition(&self) -> bool {
        !self.layout.is_empty()
    }

    /// The width and file of the register in an operand.
    #[inline]
    pub fn operand_info(&self, operand: Operand) -> Option<RegInfo> {
        match operand {
            Operand::Reg(reg) => Some(self.regs[reg]),
            Operand::Modified { reg, word: None, .. } => Some(self.regs[reg]),
            Operand::Word(..) | Operand::Modified { .. } => Some(RegInfo::words(1)),
            Operand::Wired { file, words, .. } => Some(RegInfo { file, words }),
            _ => None,
        }
    }

    /// What the scheduler has said about an instruction.
    #[inline]
    pub fn schedule(&self, inst: Inst) -> Option<Schedule> {
        self.schedules.get(inst.index()).copied().flatten()
    }

    /// What makes two instructions the same: everything but where their operands are stored.
    fn inst_key(&self, inst: Inst) -> impl PartialEq + Hash + '_ {
        let data = &self.insts[inst];
        let infos: Vec<_> = self.defs(inst).chain(self.uses(inst)).map(|reg| self.regs[reg]).collect();
        let counts = (data.dsts, data.srcs, data.elses);
        let operands: Vec<_> = self.free_operands(inst).collect();
        let names: Vec<_> = self.named(inst).collect();
        let machine = (self.schedule(inst), self.unsaid_bits(inst));
        (data.opcode, data.fields, data.guard, data.line, counts, operands, names, infos, machine)
    }

    /// Destinations, sources and `else` values as any function may compare them, but for names, which
    /// [`Function::named`] has.
    fn free_operands(&self, inst: Inst) -> impl Iterator<Item = FreeOperand> + '_ {
        let unnamed = |operand| if let Operand::Name(_) = operand { Operand::Undef } else { operand };
        self.pool[self.operand_places(inst)].iter().map(move |operand| self.free(unnamed(*operand)))
    }

    /// The names among the operands, each with its place there.
    fn named(&self, inst: Inst) -> impl Iterator<Item = (usize, Option<&str>)> + '_ {
        let operands = self.pool[self.operand_places(inst)].iter().enumerate();
        operands.filter_map(|(place, operand)| match operand {
            Operand::Name(name) => Some((place, self.names.get(*name))),
            _ => None,
        })
    }

    fn header_key(&self) -> impl PartialEq + Hash + '_ {
        let signature = (&self.params, &self.returns, &self.directives);
        (&self.name, self.kind, self.linkage, self.level, self.form, signature, &self.locals, &self.layout)
    }
}

/// The harness copies a function before every phase, over the copy before: `clone_from` takes no new memory then.
impl Clone for Function {
    fn clone(&self) -> Function {
        let mut copy = Function::new(String::new(), self.kind);
        copy.clone_from(self);
        copy
    }

    fn clone_from(&mut self, other: &Function) {
        let Function {
            name,
            kind,
            linkage,
            level,
            form,
            params,
            returns,
            directives,
            locals,
            regs,
            layout,
            insts,
            lists,
            pool,
            constants,
            names,
            kills,
            schedules,
            unsaid,
        } = other;
        (self.kind, self.linkage, self.level, self.form) = (*kind, *linkage, *level, *form);
        self.name.clone_from(name);
        self.params.clone_from(params);
        self.returns.clone_from(returns);
        self.directives.clone_from(directives);
        copy_map(&mut self.locals, locals);
        copy_map(&mut self.regs, regs);
        self.layout.clone_from(layout);
        copy_map(&mut self.insts, insts);
        copy_map(&mut self.lists.blocks, &lists.blocks);
        copy_map(&mut self.lists.nodes, &lists.nodes);
        self.pool.clone_from(pool);
        self.constants.clone_from(constants);
        self.names.clone_from(names);
        self.kills.clone_from(kills);
        self.schedules.clone_from(schedules);
        self.unsaid.clone_from(unsaid);
    }
}

/// Makes a map a copy of another one, in the memory that it has.
pub(super) fn copy_map<K: EntityRef, V: Clone>(to: &mut PrimaryMap<K, V>, from: &PrimaryMap<K, V>) {
    let mut values = Vec::from(std::mem::take(to));
    from.as_values_slice().clone_into(&mut values);
    *to = values.into();
}

impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        // Over equal tables equal operands are equal as they are: so it is with most copies.
        let alike = self.constants == other.constants && self.names == other.names;
        let same_operands = |a: Inst, b: Inst| match alike {
            true => self.pool[self.operand_places(a)] == other.pool[other.operand_places(b)],
            false => self.free_operands(a).eq(other.free_operands(b)) && self.named(a).eq(other.named(b)),
        };
        let blocks = |f: &Function| -> Vec<(u32, bool)> {
            f.layout.iter().map(|b| (f.lists.blocks[*b].len, f.lists.blocks[*b].nounroll)).collect()
        };
        self.header_key() == other.header_key()
            && blocks(self) == blocks(other)
            && self.layout_insts().zip(other.layout_insts()).all(|(a, b)| {
                let (da, db) = (&self.insts[a], &other.insts[b]);
                (da.opcode, da.fields, da.guard, da.line) == (db.opcode, db.fields, db.guard, db.line)
                    && (da.dsts, da.srcs, da.elses) == (db.dsts, db.srcs, db.elses)
                    && same_operands(a, b)
                    && self.schedule(a) == other.schedule(b)
                    && self.unsaid_bits(a) == other.unsaid_bits(b)
                    && self.defs(a).chain(self.uses(a)).all(|reg| self.regs[reg] == other.regs[reg])
            })
            && self.has_kills_of(other)
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.header_key().hash(state);
        for inst in self.layout_insts() {
            self.inst_key(inst).hash(state);
        }
        for (place, (_, regs)) in self.anchored_kills().enumerate().filter(|(_, (_, regs))| !regs.is_empty()) {
            (place, regs).hash(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_as_planned() {
        assert_eq!(size_of::<RegInfo>(), 2);
    }

    #[test]
    fn prefixes_round_trip() {
        for prefix in ["r", "d", "t", "q", "ur", "ud", "p", "up", "b"] {
            assert_eq!(RegInfo::from_prefix(prefix).map(RegInfo::prefix), Some(prefix));
        }
        assert_eq!(RegInfo::from_prefix("x"), None);
        assert_eq!([0, 9].map(|words| RegInfo::words(words).prefix()), ["r", "q"]);
    }
}
