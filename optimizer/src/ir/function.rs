//! Functions: blocks, instructions, registers, in arenas.

use std::hash::{Hash, Hasher};

use cranelift_entity::{EntityRef, PrimaryMap};

use super::entity::{Block, Inst, Local, Reg};
use super::module::{Linkage, Variable};
use super::operand::{Guard, Operand};
use crate::ops::{Field, FieldValue, FieldValues, Flags, Opcode, Type};

/// A register file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum RegFile {
    /// General registers.
    R,
    /// Uniform general registers: one value a warp.
    UR,
    /// Predicates.
    P,
    /// Uniform predicates.
    UP,
    /// Convergence barriers.
    B,
}

/// The file and width of a register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RegInfo {
    /// The file.
    pub file: RegFile,
    /// The width in 32-bit words; predicates and barriers have 1.
    pub words: u8,
}

impl RegInfo {
    /// A predicate.
    pub const PRED: RegInfo = RegInfo { file: RegFile::P, words: 1 };

    /// A general register of so many words.
    pub const fn words(words: u8) -> RegInfo {
        RegInfo { file: RegFile::R, words }
    }

    /// The register that holds a value of a type.
    pub const fn of(ty: Type) -> RegInfo {
        match ty {
            Type::Pred => RegInfo::PRED,
            _ => RegInfo::words(ty.bits().div_ceil(32) as u8),
        }
    }

    /// Whether the register is a predicate, uniform or not.
    pub fn is_predicate(self) -> bool {
        matches!(self.file, RegFile::P | RegFile::UP)
    }

    /// The register's text prefix: `r d t q` for one to four words, `p`, `b`; `u` before it for the uniform files.
    /// Widths that no register has, which the verifier's messages show, get the nearest one's.
    pub fn prefix(self) -> &'static str {
        let by_width = |names: [&'static str; 4]| names[usize::from(self.words).saturating_sub(1).min(3)];
        match self.file {
            RegFile::R => by_width(["r", "d", "t", "q"]),
            RegFile::UR => by_width(["ur", "ud", "ut", "uq"]),
            RegFile::P => "p",
            RegFile::UP => "up",
            RegFile::B => "b",
        }
    }

    /// The file and width with this prefix.
    pub fn from_prefix(prefix: &str) -> Option<RegInfo> {
        let all =
            [RegFile::R, RegFile::UR].into_iter().flat_map(|file| (1..=4).map(move |words| RegInfo { file, words }));
        let narrow = [RegFile::P, RegFile::UP, RegFile::B].map(|file| RegInfo { file, words: 1 });
        all.chain(narrow).find(|info| info.prefix() == prefix)
    }
}

/// What the operands of a function's registers may look like.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Form {
    /// Each register has one definition, which dominates its uses.
    Ssa,
    /// Registers may have many definitions.
    Virtual,
    /// Registers are the machine's.
    Physical,
}

impl Form {
    /// Every form with its text name.
    pub const NAMES: &'static [(Form, &'static str)] =
        &[(Form::Ssa, "ssa"), (Form::Virtual, "virtual"), (Form::Physical, "physical")];

    /// The form's text name.
    pub fn name(self) -> &'static str {
        Form::NAMES[self as usize].1
    }
}

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

/// A block's instructions, in order; the last one is its only terminator.
#[derive(Default, Debug)]
pub struct BlockData {
    /// The instructions.
    pub insts: Vec<Inst>,
}

impl Clone for BlockData {
    fn clone(&self) -> BlockData {
        BlockData { insts: self.insts.clone() }
    }

    fn clone_from(&mut self, other: &BlockData) {
        self.insts.clone_from(&other.insts);
    }
}

/// What an instruction is apart from its operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct InstHead {
    /// The opcode.
    pub opcode: Opcode,
    /// The fields, by their position in the opcode's row.
    pub fields: FieldValues,
    /// The condition.
    pub guard: Option<Guard>,
    /// The source line that it comes from; 0 where unknown.
    pub line: u32,
}

/// An instruction without its operands, which stand in the function's pool.
#[derive(Clone, Copy, Debug)]
pub struct InstData {
    /// The opcode.
    pub opcode: Opcode,
    /// The fields, by their position in the opcode's row.
    pub fields: FieldValues,
    /// The condition.
    pub guard: Option<Guard>,
    /// The source line that it comes from; 0 where unknown.
    pub line: u32,
    start: u32,
    dsts: u32,
    srcs: u32,
    elses: u32,
}

impl InstData {
    /// The instruction without where its operands are.
    pub fn head(&self) -> InstHead {
        InstHead { opcode: self.opcode, fields: self.fields, guard: self.guard, line: self.line }
    }

    /// The value of a field, if the opcode has it.
    pub fn field<F: FieldValue>(&self) -> Option<F> {
        self.field_index(F::FIELD).map(|index| F::ALL[index as usize])
    }

    /// The index of a field's value, if the opcode has the field.
    pub fn field_index(&self, field: Field) -> Option<u8> {
        self.opcode.row().slot(field).map(|slot| self.fields.0[slot])
    }

    /// `query(inst, field)` of `spec/peephole.txt`: the number of the field's value.
    pub fn query(&self, field: Field) -> Option<u16> {
        self.field_index(field).map(|index| field.code(index))
    }

    /// Whether the opcode has all of these properties.
    pub fn is(&self, flags: Flags) -> bool {
        self.opcode.is(flags)
    }
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
    /// What its registers may look like.
    pub form: Form,
    /// Parameters, in order.
    pub params: Vec<Local>,
    /// Results, in order.
    pub returns: Vec<Local>,
    /// Performance directives.
    pub directives: Vec<Directive>,
    /// Variables.
    pub locals: PrimaryMap<Local, Variable>,
    /// Registers.
    pub regs: PrimaryMap<Reg, RegInfo>,
    /// Blocks; those that are part of the function stand in `layout`.
    pub blocks: PrimaryMap<Block, BlockData>,
    /// The blocks in program order, the entry first; empty for a declaration.
    pub layout: Vec<Block>,
    /// Instructions; those that are part of the function stand in its blocks.
    pub insts: PrimaryMap<Inst, InstData>,
    pool: Vec<Operand>,
}

impl Function {
    /// An empty function in virtual form.
    pub fn new(name: impl Into<String>, kind: FunctionKind) -> Function {
        Function {
            name: name.into(),
            kind,
            linkage: Linkage::Internal,
            form: Form::Virtual,
            params: Vec::new(),
            returns: Vec::new(),
            directives: Vec::new(),
            locals: PrimaryMap::new(),
            regs: PrimaryMap::new(),
            blocks: PrimaryMap::new(),
            layout: Vec::new(),
            insts: PrimaryMap::new(),
            pool: Vec::new(),
        }
    }

    /// The entry block.
    ///
    /// # Panics
    /// If the function is only declared.
    pub fn entry(&self) -> Block {
        self.layout[0]
    }

    /// A new register.
    pub fn new_reg(&mut self, info: RegInfo) -> Reg {
        self.regs.push(info)
    }

    /// A new block at the end of the layout.
    pub fn new_block(&mut self) -> Block {
        let block = self.blocks.push(BlockData::default());
        self.layout.push(block);
        block
    }

    /// Adds an instruction to the arena; the caller places it in a block.
    pub fn new_inst(&mut self, head: InstHead, dsts: &[Operand], srcs: &[Operand], elses: &[Operand]) -> Inst {
        let start = self.pool.len() as u32;
        self.pool.extend_from_slice(dsts);
        self.pool.extend_from_slice(srcs);
        self.pool.extend_from_slice(elses);
        let InstHead { opcode, fields, guard, line } = head;
        let (dsts, srcs, elses) = (dsts.len() as u32, srcs.len() as u32, elses.len() as u32);
        self.insts.push(InstData { opcode, fields, guard, line, start, dsts, srcs, elses })
    }

    /// Replaces an instruction by another one of the arena, in place; its source line stays.
    pub fn replace_inst(&mut self, inst: Inst, by: Inst) {
        let line = self.insts[inst].line;
        self.insts[inst] = InstData { line, ..self.insts[by] };
    }

    /// Gives an instruction other sources.
    pub fn set_srcs(&mut self, inst: Inst, srcs: &[Operand]) {
        let data = self.insts[inst];
        let (dsts, elses) = (self.dsts(inst).to_vec(), self.elses(inst).to_vec());
        let new = self.new_inst(data.head(), &dsts, srcs, &elses);
        self.insts[inst] = self.insts[new];
    }

    fn range(&self, skip: u32, len: u32, inst: Inst) -> std::ops::Range<usize> {
        let start = self.insts[inst].start as usize + skip as usize;
        start..start + len as usize
    }

    /// Where the instruction's operands lie in the pool, which has [`Function::operand_count`] places. No two instructions of
    /// a block share theirs: a change of the one would change the other.
    pub fn operand_places(&self, inst: Inst) -> std::ops::Range<usize> {
        let data = &self.insts[inst];
        self.range(0, data.dsts + data.srcs + data.elses, inst)
    }

    /// The places of all operands, those of instructions that are no longer in use included.
    pub fn operand_count(&self) -> usize {
        self.pool.len()
    }

    /// The destinations.
    pub fn dsts(&self, inst: Inst) -> &[Operand] {
        &self.pool[self.range(0, self.insts[inst].dsts, inst)]
    }

    /// The sources.
    pub fn srcs(&self, inst: Inst) -> &[Operand] {
        &self.pool[self.range(self.insts[inst].dsts, self.insts[inst].srcs, inst)]
    }

    /// What the destinations become where the guard is false; empty outside SSA and without a guard.
    pub fn elses(&self, inst: Inst) -> &[Operand] {
        let data = &self.insts[inst];
        &self.pool[self.range(data.dsts + data.srcs, data.elses, inst)]
    }

    /// The destinations, to change.
    pub fn dsts_mut(&mut self, inst: Inst) -> &mut [Operand] {
        let range = self.range(0, self.insts[inst].dsts, inst);
        &mut self.pool[range]
    }

    /// The sources, to change.
    pub fn srcs_mut(&mut self, inst: Inst) -> &mut [Operand] {
        let range = self.range(self.insts[inst].dsts, self.insts[inst].srcs, inst);
        &mut self.pool[range]
    }

    /// Everything that is read by value: sources, then what the destinations become where the guard is false.
    pub fn inputs(&self, inst: Inst) -> &[Operand] {
        let data = &self.insts[inst];
        &self.pool[self.range(data.dsts, data.srcs + data.elses, inst)]
    }

    /// The same, to change.
    pub fn inputs_mut(&mut self, inst: Inst) -> &mut [Operand] {
        let data = self.insts[inst];
        let range = self.range(data.dsts, data.srcs + data.elses, inst);
        &mut self.pool[range]
    }

    /// The registers that the instruction defines.
    pub fn defs(&self, inst: Inst) -> impl Iterator<Item = Reg> + '_ {
        self.dsts(inst).iter().filter_map(|op| op.reg())
    }

    /// The registers that the instruction reads: sources, else values and the guard. Outside SSA a guarded
    /// destination's old value shows through too; that is the caller's business.
    pub fn uses(&self, inst: Inst) -> impl Iterator<Item = Reg> + '_ {
        let guard = self.insts[inst].guard.map(|guard| guard.reg);
        self.inputs(inst).iter().filter_map(|op| op.reg()).chain(guard)
    }

    /// A block's last instruction, if it is a terminator.
    pub fn terminator(&self, block: Block) -> Option<Inst> {
        let last = *self.blocks[block].insts.last()?;
        self.insts[last].is(Flags::TERMINATOR).then_some(last)
    }

    /// The blocks that control can go to from a block, in operand order, repeats included.
    pub fn successors(&self, block: Block) -> impl Iterator<Item = Block> + '_ {
        let operands = self.terminator(block).map_or(&[][..], |inst| self.srcs(inst));
        operands.iter().filter_map(|op| op.block())
    }

    /// Number of instructions in the function's blocks.
    pub fn inst_count(&self) -> usize {
        self.layout.iter().map(|block| self.blocks[*block].insts.len()).sum()
    }

    /// Whether there is a body.
    pub fn is_definition(&self) -> bool {
        !self.layout.is_empty()
    }

    /// The width and file of the register in an operand.
    pub fn operand_info(&self, operand: Operand) -> Option<RegInfo> {
        match operand {
            Operand::Reg(reg) => Some(self.regs[reg]),
            Operand::Word(..) => Some(RegInfo::words(1)),
            _ => None,
        }
    }

    /// What makes two instructions the same: everything but where their operands are stored.
    fn inst_key(&self, inst: Inst) -> impl PartialEq + Hash + '_ {
        let data = &self.insts[inst];
        let infos: Vec<_> = self.defs(inst).chain(self.uses(inst)).map(|reg| self.regs[reg]).collect();
        let operands = (self.dsts(inst), self.srcs(inst), self.elses(inst), infos);
        (data.opcode, data.fields, data.guard, data.line, operands)
    }

    fn header_key(&self) -> impl PartialEq + Hash + '_ {
        let signature = (&self.params, &self.returns, &self.directives);
        (&self.name, self.kind, self.linkage, self.form, signature, &self.locals, &self.layout)
    }

    fn layout_insts(&self) -> impl Iterator<Item = Inst> + '_ {
        self.layout.iter().flat_map(|block| self.blocks[*block].insts.iter().copied())
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
            form,
            params,
            returns,
            directives,
            locals,
            regs,
            blocks,
            layout,
            insts,
            pool,
        } = other;
        (self.kind, self.linkage, self.form) = (*kind, *linkage, *form);
        self.name.clone_from(name);
        self.params.clone_from(params);
        self.returns.clone_from(returns);
        self.directives.clone_from(directives);
        copy_map(&mut self.locals, locals);
        copy_map(&mut self.regs, regs);
        copy_map(&mut self.blocks, blocks);
        self.layout.clone_from(layout);
        copy_map(&mut self.insts, insts);
        self.pool.clone_from(pool);
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
        let sizes = |f: &Function| -> Vec<usize> { f.layout.iter().map(|b| f.blocks[*b].insts.len()).collect() };
        self.header_key() == other.header_key()
            && sizes(self) == sizes(other)
            && self.layout_insts().zip(other.layout_insts()).all(|(a, b)| {
                let (da, db) = (&self.insts[a], &other.insts[b]);
                (da.opcode, da.fields, da.guard, da.line) == (db.opcode, db.fields, db.guard, db.line)
                    && self.dsts(a) == other.dsts(b)
                    && self.srcs(a) == other.srcs(b)
                    && self.elses(a) == other.elses(b)
                    && self.defs(a).chain(self.uses(a)).all(|reg| self.regs[reg] == other.regs[reg])
            })
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.header_key().hash(state);
        for inst in self.layout_insts() {
            self.inst_key(inst).hash(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_as_planned() {
        assert_eq!(size_of::<Operand>(), 16);
        assert!(size_of::<InstData>() <= 44);
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
