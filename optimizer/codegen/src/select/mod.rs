//! Selection: from the virtual level to the machine, with virtual registers.
//!
//! A function in virtual form becomes one of the machine level in virtual form: registers keep their numbers, blocks
//! theirs, and each operation becomes the instructions that a row of the table says ([`table`]), or what the files
//! beside say of memory, of control and of threads. A register of several words is written word by word where the
//! machine makes its words apart (`%d1.0`); instructions that want neighbouring registers name it whole.
//!
//! Parameters of a kernel are words of the constant bank: a register that one unguarded load of a parameter defines is
//! no register any longer, and neither is one that a constant is moved to.

mod barriers;
pub(crate) mod convergence;
mod emit;
mod flow;
mod fuse;
mod image;
mod matrix;
mod memory;
mod multimem;
mod place;
mod predicate;
mod sequence;
mod special;
mod surface;
pub mod table;
mod texture;
mod uniform;
mod warpgroup;

use cranelift_entity::SecondaryMap;
use oriole_ir::ops::{Flags, Opcode, Shape, Space, Type};
use oriole_ir::{Block, FuncId, Function, FunctionKind, Inst, Level, Modifiers, Operand, Reg, RegFile, RegInfo};
use oriole_sass::Table;
use smallvec::SmallVec;

use crate::sequences::{self, Sequence};
use emit::Emit;
pub(crate) use emit::{never, probes};
pub(crate) use flow::{branch, go_on, identity};
pub use place::{Number, PlaceError, Places, images, is_external};
use table::{Condition, Pattern, Patterns};
pub use warpgroup::Bundle;
pub(crate) use warpgroup::is_group_product;

/// Why an operation has no instructions.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// Nothing says what the operation becomes.
    #[error("`{operation}` is not compiled yet{}", for_sm(*.sm))]
    Operation {
        /// The operation.
        operation: String,
        /// The SM, if it is compiled for others.
        sm: Option<u16>,
    },
    /// The SM lacks an instruction.
    #[error("sm_{sm} has no `{mnemonic}` with these operands")]
    Mnemonic {
        /// The SM.
        sm: u16,
        /// The mnemonic.
        mnemonic: String,
    },
    /// An operand that is not compiled.
    #[error("{0} is not compiled yet")]
    Operand(&'static str),
}

fn for_sm(sm: Option<u16>) -> String {
    sm.map(|sm| format!(" for sm_{sm}")).unwrap_or_default()
}

/// Why a function is not compiled.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{function}{}: {refusal}", at(*.line))]
pub struct SelectError {
    /// The function's name.
    pub function: String,
    /// The line of PTX, 0 where none is known.
    pub line: u32,
    /// Why.
    pub refusal: Refusal,
}

fn at(line: u32) -> String {
    if line == 0 { String::new() } else { format!(", line {line}") }
}

/// A number in the place of the size of a frame that is not known yet.
const FRAME_TO_COME: u64 = 16;

/// The value of a source.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Value {
    /// A register, or a word of one; a wired register.
    Operand(Operand),
    /// A number of so many words; of none for predicates.
    Imm(u64, u8),
    /// Words of a constant bank: the bank, the offset, how many.
    Const(u8, u32, u8),
}

impl Value {
    fn imm(self) -> Option<u64> {
        match self {
            Value::Imm(bits, _) => Some(bits),
            _ => None,
        }
    }
}

/// A function of the machine with virtual registers, and the frame that is known when all of them have places.
#[derive(Clone, Debug)]
pub struct Selected {
    /// The function.
    pub func: Function,
    /// The stack pointer, where it has a frame.
    pub stack: Option<Reg>,
    /// Registers that have a place already: their first machine registers.
    pub fixed: Vec<(Reg, u16)>,
    /// Those of them that functions of the driver leave results in.
    pub results: Vec<(Reg, u16)>,
    /// Registers whose places are side by side.
    pub bundles: Vec<Bundle>,
    /// Numbers that depend on the size of the frame.
    pub patches: Vec<Patch>,
    /// The functions of sequences, each with what it leaves as it is.
    pub sequences: Vec<Sequence>,
}

/// A source that depends on the size of the frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patch {
    /// The instruction.
    pub inst: Inst,
    /// Which of its sources.
    pub source: usize,
    /// How often the size is in it: once, or taken away.
    pub sign: i64,
    /// The rest.
    pub rest: i64,
    /// The bits of its place.
    pub mask: u64,
}

impl Patch {
    /// Puts the number in its place, of a frame of so many bytes.
    pub fn apply(&self, func: &mut Function, frame: u32) {
        let number = self.sign * i64::from(frame) + self.rest;
        let number = func.imm(number as u64 & self.mask);
        func.srcs_mut(self.inst)[self.source] = number;
    }
}

/// The stack pointer.
pub const STACK: u16 = 1;
/// The first of the two registers with the address to return to, as an offset in the section of the kernel.
pub const RETURN: u16 = 20;

/// Selects the instructions of a function. `is_divergent` says of a block whether lanes part at its end, `optimizes`
/// whether short arms of branches become guarded instructions and the warp computes values that its lanes have alike.
///
/// # Errors
///
/// If an operation of it is not compiled for the SM.
pub fn select(
    func: &Function,
    places: &Places,
    kernel: FuncId,
    table: &'static Table,
    is_divergent: &dyn Fn(Block) -> bool,
    optimizes: bool,
) -> Result<Selected, SelectError> {
    let gathered = warpgroup::gather(func);
    let func = gathered.as_ref().map_or(func, |gathered| &gathered.func);
    let mut select = Select::new(func, places, table);
    select.kernel = kernel;
    select.sums = gathered.as_ref().map_or(&[], |gathered| &gathered.sums);
    select.run().map_err(|refusal| SelectError { function: func.name.clone(), line: select.emit.line, refusal })?;
    select.emit.fuse();
    if optimizes {
        select.emit.predicate(is_divergent);
        select.emit.make_uniform();
    }
    let Select { emit, stack, fixed, results, patches, sums, mut bundles, .. } = select;
    bundles.extend(sums.iter().map(|sum| sum.bundle.clone()));
    let Emit { func: mut made, rest_of, .. } = emit;
    let sequences: Vec<Sequence> = places.sequences.values().copied().collect();
    convergence::place(&mut made, stack, &sequences, &|block| is_divergent(rest_of[block].unwrap_or(block)));
    let stack = stack.and_then(Operand::whole_reg);
    Ok(Selected { func: made, stack, fixed, results, bundles, patches, sequences })
}

struct Select<'m> {
    func: &'m Function,
    places: &'m Places,
    emit: Emit,
    /// The values of registers that stand for constants.
    values: SecondaryMap<Reg, Option<Value>>,
    /// The places in bank 0 of registers that one load of a parameter defines: handles of images are read there.
    in_bank: SecondaryMap<Reg, Option<u32>>,
    /// The registers of the descriptor of memory.
    descriptor: Option<Operand>,
    /// The rank of the block in the upper byte of a word, where addresses of shared memory have it.
    rank: Option<Operand>,
    /// The register that the frame begins at.
    stack: Option<Operand>,
    /// The kernel that a device function returns into, and the registers with the address.
    kernel: FuncId,
    home: Option<Operand>,
    /// Whether the function is a sequence, and the registers of its operands and its result.
    is_sequence: bool,
    passed: Vec<Operand>,
    fixed: Vec<(Reg, u16)>,
    results: Vec<(Reg, u16)>,
    patches: Vec<Patch>,
    /// The sums of products of warpgroups.
    sums: &'m [warpgroup::Sum],
    progress: warpgroup::Progress,
    bundles: Vec<Bundle>,
}

impl<'m> Select<'m> {
    fn new(func: &'m Function, places: &'m Places, table: &'static Table) -> Select<'m> {
        let mut made = Function::new(func.name.as_str(), func.kind);
        (made.linkage, made.level, made.form) = (func.linkage, Level::Machine, func.form);
        made.directives.clone_from(&func.directives);
        for info in func.regs().values() {
            made.new_reg(*info);
        }
        for _ in func.blocks().keys() {
            made.create_block();
        }
        made.set_layout(func.layout().to_vec());
        Select {
            func,
            places,
            emit: Emit::new(made, table),
            values: SecondaryMap::new(),
            in_bank: SecondaryMap::new(),
            descriptor: None,
            rank: None,
            stack: None,
            kernel: FuncId::from_u32(0),
            home: None,
            is_sequence: sequences::is(func),
            passed: Vec::new(),
            fixed: Vec::new(),
            results: Vec::new(),
            patches: Vec::new(),
            sums: &[],
            progress: warpgroup::Progress::default(),
            bundles: Vec::new(),
        }
    }

    fn run(&mut self) -> Result<(), Refusal> {
        self.find_values();
        for block in self.func.layout() {
            self.emit.block = *block;
            if *block == self.func.entry() {
                self.prologue()?;
            }
            for inst in self.func.block_insts(*block) {
                let data = self.func.inst(inst);
                (self.emit.line, self.emit.guard) = (data.line, data.guard);
                self.inst(inst)?;
                if !data.is(Flags::WARPGROUP) {
                    self.note_writes(inst);
                }
            }
        }
        self.emit.line = 0;
        Ok(())
    }

    /// Begins a function: the descriptor of memory where it accesses any, and the frame.
    fn prologue(&mut self) -> Result<(), Refusal> {
        if memory::needs_descriptor(self.func)
            && let Some(offset) = self.places.constants.memory_descriptor
        {
            let info = RegInfo { file: RegFile::UR, words: 2 };
            let reg = Operand::Reg(self.emit.new_reg(info));
            let bank = Operand::constant(0, offset);
            let wired = Operand::wired(RegFile::UR, 1);
            let mnemonic = if self.emit.table.has_banks() { "ULDC.64" } else { "LDCU.64" };
            self.emit.first_of(mnemonic, &[(&[reg], &[bank]), (&[reg], &[wired, bank])])?;
            self.descriptor = Some(reg);
        }
        if self.is_sequence {
            self.begin_sequence();
            return Ok(());
        }
        let is_device = self.func.kind == FunctionKind::Device;
        if is_device || self.places.frame > 0 || self.places.calls {
            let stack = self.emit.temp(1);
            self.fixed.push((stack, STACK));
            if !is_device {
                self.emit.copy_word(Operand::Reg(stack), Operand::constant(0, self.places.constants.stack));
            }
            self.stack = Some(Operand::Reg(stack));
            // What is kept in memory from here on is above the new place.
            self.move_stack(-1)?;
            if is_device {
                // The address to return to is where the caller put it until something else is called.
                let (given, kept) = (self.emit.temp(2), Operand::Reg(self.emit.temp(2)));
                self.fixed.push((given, RETURN));
                self.emit.copy(kept, Operand::Reg(given));
                self.home = Some(kept);
            }
        }
        // It may be kept in memory, too.
        if self.places.is_ranked {
            let [number, rank] = [(); 2].map(|()| Operand::Reg(self.emit.temp(1)));
            let (name, bits) = (self.emit.func.name("SR_CgaCtaId"), self.emit.func.imm(24));
            self.emit.op("S2R", &[number], &[name])?;
            self.emit.op("SHF.L.U32", &[rank], &[number, bits, Operand::wired(RegFile::R, 1)])?;
            self.rank = Some(rank);
        }
        Ok(())
    }

    /// Moves the stack pointer by the size of the frame, up or down.
    fn move_stack(&mut self, sign: i64) -> Result<(), Refusal> {
        let Some(stack) = self.stack else { return Ok(()) };
        let (truth, zero) = (Operand::wired(RegFile::P, 1), Operand::wired(RegFile::R, 1));
        let none = never();
        let size = self.emit.func.imm(FRAME_TO_COME);
        let inst = self.emit.op("IADD3", &[stack, truth, truth], &[stack, size, zero, none, none])?;
        self.patches.push(Patch { inst, source: 1, sign, rest: 0, mask: 0xffff_ffff });
        Ok(())
    }

    /// Finds the registers that stand for constants: they have one definition, which a guard does not keep away.
    fn find_values(&mut self) {
        let mut definitions: SecondaryMap<Reg, u32> = SecondaryMap::new();
        let func = self.func;
        for inst in func.layout_insts() {
            func.defs(inst).for_each(|reg| definitions[reg] += 1);
        }
        for inst in func.layout_insts() {
            let data = func.inst(inst);
            let Some(reg) = func.dsts(inst).first().and_then(|dst| dst.whole_reg()) else { continue };
            if data.guard.is_some() || func.dsts(inst).len() != 1 || definitions[reg] != 1 {
                continue;
            }
            let words = func.regs()[reg].words;
            if let (Opcode::Ld, Some(Value::Const(_, offset, _))) = (data.opcode, self.parameter(inst)) {
                self.in_bank[reg] = Some(offset);
            }
            self.values[reg] = match data.opcode {
                Opcode::Ld => self.parameter(inst).filter(|_| self.emit.table.has_banks()),
                Opcode::S2r => match func.srcs(inst)[0] {
                    Operand::Special(special) if words == 1 && self.emit.table.has_banks() => {
                        self.bank_of(special).map(|offset| Value::Const(0, offset, 1))
                    }
                    _ => None,
                },
                Opcode::Mov => match func.srcs(inst)[0] {
                    Operand::Global(global) => {
                        let offset = self.places.number(Number::Variable(global));
                        offset.map(|offset| Value::Const(0, offset, words))
                    }
                    other => func.imm_bits(other).map(|bits| Value::Imm(bits, words)),
                },
                _ => None,
            };
            if func.regs()[reg].is_predicate() {
                self.values[reg] = None;
            }
        }
    }

    /// The words of the constant bank that a load of a parameter reads.
    fn parameter(&self, inst: Inst) -> Option<Value> {
        let (func, data) = (self.func, self.func.inst(inst));
        let [base, offset, ..] = func.srcs(inst) else { return None };
        let is_parameter = data.field::<Space>() == Some(Space::Param) && matches!(data.ty().bits(), 32 | 64);
        let (Operand::Local(local), true) = (base, is_parameter) else { return None };
        let at = self.places.parameter(*local)?;
        let offset = at.checked_add_signed(func.imm_bits(*offset)? as i32)?;
        offset.is_multiple_of(4).then_some(Value::Const(0, offset, (data.ty().bits() / 32) as u8))
    }

    /// The value of a source of so many words; of none for predicates.
    fn source(&mut self, operand: Operand, words: u8) -> Result<Value, Refusal> {
        Ok(match operand {
            Operand::Reg(reg) => self.values[reg].unwrap_or(Value::Operand(operand)),
            Operand::Word(reg, word) => match self.values[reg] {
                Some(Value::Imm(bits, _)) => Value::Imm(bits >> (32 * u32::from(word)) & 0xffff_ffff, 1),
                Some(Value::Const(bank, offset, _)) => Value::Const(bank, offset + 4 * u32::from(word), 1),
                _ => Value::Operand(operand),
            },
            Operand::Imm(imm) => Value::Imm(self.func.bits(imm), words),
            Operand::Undef => Value::Imm(0, words),
            Operand::Const { bank, offset, .. } => Value::Const(bank, offset, words),
            Operand::Global(_) | Operand::Local(_) | Operand::Func(_) => return self.symbol(operand, words),
            _ => return Err(Refusal::Operand("this operand")),
        })
    }

    fn inst(&mut self, inst: Inst) -> Result<(), Refusal> {
        let (func, data) = (self.func, self.func.inst(inst));
        if let [dst] = func.dsts(inst)
            && dst.whole_reg().is_some_and(|reg| self.values[reg].is_some())
        {
            return Ok(());
        }
        match data.opcode {
            Opcode::Bra | Opcode::CBra | Opcode::Brx | Opcode::Ret | Opcode::Exit => return self.flow(inst),
            Opcode::Ld | Opcode::St if self.is_sequence => return self.passed(inst),
            Opcode::Ld | Opcode::Ldu | Opcode::St | Opcode::Atom | Opcode::AtomCas | Opcode::Red => {
                return self.memory(inst);
            }
            Opcode::PrefetchMap => return self.prefetch_map(inst),
            Opcode::Prefetch | Opcode::Prefetchu | Opcode::Discard | Opcode::ApplyPriority => return self.hint(inst),
            Opcode::BrkPt | Opcode::PmEvent => return Ok(()),
            Opcode::Call => return self.call(inst),
            Opcode::Cvta => return self.cvta(inst),
            Opcode::IsSpaceP => return self.is_of_space(inst),
            Opcode::MbarrierInit
            | Opcode::MbarrierInval
            | Opcode::MbarrierTx
            | Opcode::MbarrierArrive
            | Opcode::MbarrierArriveCount
            | Opcode::MbarrierArriveRemote
            | Opcode::MbarrierWait
            | Opcode::MbarrierWaitParity
            | Opcode::MbarrierPending
            | Opcode::CpAsyncArrive => return self.barrier(inst),
            Opcode::BulkCopy
            | Opcode::BulkMulticast
            | Opcode::BulkStore
            | Opcode::BulkReduce
            | Opcode::BulkReduceStore
            | Opcode::BulkCommit
            | Opcode::BulkWait
            | Opcode::BulkPrefetch => return self.bulk(inst),
            Opcode::StAsync | Opcode::RedAsync => return self.remote(inst),
            Opcode::ClusterArrive | Opcode::ClusterWait => return self.cluster_barrier(inst),
            Opcode::Mapa | Opcode::GetCtaRank => return self.of_block(inst),
            Opcode::S2r | Opcode::Cs2r => return self.special(inst),
            Opcode::Tex | Opcode::TexCompare | Opcode::Tld4 | Opcode::Tld4Compare | Opcode::Txq | Opcode::TxqLevel => {
                return self.image(inst);
            }
            Opcode::IsTypeP
            | Opcode::Suq
            | Opcode::Suld
            | Opcode::Sust
            | Opcode::SustP
            | Opcode::Sured
            | Opcode::SuredP => {
                return self.image(inst);
            }
            Opcode::Pack => return self.pack(inst),
            Opcode::MultimemLoad | Opcode::MultimemStore | Opcode::MultimemRed => return self.multicast(inst),
            Opcode::WgmmaFence
            | Opcode::WgmmaCommit
            | Opcode::WgmmaWait
            | Opcode::Wgmma
            | Opcode::WgmmaRegisters
            | Opcode::WgmmaSparse
            | Opcode::WgmmaSparseRegisters => return self.warpgroup(inst),
            Opcode::Mma | Opcode::LdMatrix | Opcode::StMatrix | Opcode::MovMatrix => return self.matrix(inst),
            Opcode::CpAsync | Opcode::CpAsyncCommit | Opcode::CpAsyncWait | Opcode::CpAsyncWaitAll => {
                return self.matrix(inst);
            }
            _ => {}
        }
        let mnemonic = func.operation(inst);
        if let Some(sequence) = self.places.sequences.get(&mnemonic) {
            return self.call_sequence(inst, *sequence);
        }
        let words: SmallVec<[u8; 6]> = (0..func.srcs(inst).len()).map(|place| self.words(inst, place)).collect();
        let mut srcs: SmallVec<[Value; 6]> = SmallVec::new();
        for (src, words) in func.srcs(inst).iter().zip(words) {
            srcs.push(self.source(*src, words)?);
        }
        let found = Patterns::get().of(&mnemonic);
        let pattern = found.iter().find(|pattern| self.fits(pattern, &srcs, func.dsts(inst)));
        let swapped = |pattern: &&Pattern| {
            let mut other = srcs.clone();
            if other.len() > 1 {
                other.swap(0, 1);
            }
            pattern.commutes && self.fits(pattern, &other, func.dsts(inst))
        };
        let first_is_no_register = srcs.first().is_some_and(|value| !matches!(value, Value::Operand(_)));
        match found.iter().find(swapped).filter(|_| pattern.is_none() || first_is_no_register) {
            Some(other) => {
                let mut srcs = srcs.clone();
                srcs.swap(0, 1);
                self.emit.pattern(other, func.dsts(inst), &srcs)
            }
            None => {
                let pattern = pattern.ok_or_else(|| Refusal::Operation {
                    operation: mnemonic,
                    sm: (!found.is_empty()).then_some(self.emit.table.sm),
                })?;
                self.emit.pattern(pattern, func.dsts(inst), &srcs)
            }
        }
    }

    /// How many words a source has, as far as it matters: those of numbers.
    fn words(&self, inst: Inst, place: usize) -> u8 {
        let (data, src) = (self.func.inst(inst), self.func.srcs(inst)[place]);
        if let Some(info) = self.func.operand_info(src) {
            return if info.is_predicate() { 0 } else { info.words };
        }
        let shape = data.opcode.row().srcs.get(place).copied();
        let ty = shape.and_then(|shape| data.shape_type(shape));
        match ty {
            _ if shape == Some(Shape::P) => 0,
            Some(Type::Pred) => 0,
            Some(ty) => ty.bits().div_ceil(32) as u8,
            None => 1,
        }
    }

    fn fits(&self, pattern: &Pattern, srcs: &[Value], dsts: &[Operand]) -> bool {
        let sm = self.emit.table.sm;
        let holds = |(at, condition): &(usize, Condition)| {
            let Some(value) = at.checked_sub(pattern.results).and_then(|at| srcs.get(at)) else { return false };
            condition.holds(value.imm())
        };
        (pattern.sms.0..=pattern.sms.1).contains(&sm)
            && pattern.sources == srcs.len()
            && pattern.results == dsts.len()
            && pattern.conditions.iter().all(holds)
    }

    /// Puts values side by side.
    fn pack(&mut self, inst: Inst) -> Result<(), Refusal> {
        let (func, bits) = (self.func, self.func.inst(inst).ty().bits());
        let (dst, parts) = (func.dsts(inst)[0], func.srcs(inst).to_vec());
        match bits {
            32 | 64 => {
                let words = (bits / 32) as u8;
                // A part may be in the register that is made.
                let is_read = parts.iter().any(|part| part.reg().is_some() && part.reg() == dst.reg());
                let target = if is_read {
                    let info = func.operand_info(dst).unwrap_or(RegInfo::words(1));
                    Operand::Reg(self.emit.new_reg(info))
                } else {
                    dst
                };
                for (at, part) in (0u8..).zip(&parts) {
                    let value = self.source(*part, words)?;
                    for word in 0..words {
                        let part = if words == 1 { table::Part::Whole } else { table::Part::Word(word) };
                        let from = self.emit.value(value, part, Modifiers::NONE, "MOV");
                        let to = self.emit.word(target, at * words + word);
                        self.emit.copy_word(to, from);
                    }
                }
                if target != dst {
                    self.emit.copy(dst, target);
                }
                Ok(())
            }
            8 => {
                // Bytes of a word, each put above those before.
                let mut word = Operand::wired(RegFile::R, 1);
                for (at, part) in (0u64..).zip(&parts) {
                    let value = self.source(*part, 1)?;
                    let byte = self.emit.value(value, table::Part::Whole, Modifiers::NONE, "PRMT");
                    let next = Operand::Reg(self.emit.temp(1));
                    let taken: u64 =
                        (0..4).map(|place| if place == at { 4 << (4 * place) } else { place << (4 * place) }).sum();
                    let selector = self.emit.func.imm(taken);
                    self.emit.op("PRMT", &[next], &[word, selector, byte])?;
                    word = next;
                }
                let to = self.emit.word(dst, 0);
                self.emit.copy_word(to, word);
                Ok(())
            }
            16 => {
                // Two halves a word: the low one, then the high one, by bytes 0, 1 of each.
                let mut values = Vec::new();
                for part in &parts {
                    values.push(self.source(*part, 1)?);
                }
                let words: Vec<Reg> = values
                    .chunks(2)
                    .map(|pair| {
                        let reg = self.emit.temp(1);
                        let none = Modifiers::NONE;
                        let low = self.emit.value(pair[0], table::Part::Whole, none, "PRMT");
                        let high = match pair.get(1) {
                            Some(high) => self.emit.value(*high, table::Part::Whole, none, "PRMT"),
                            None => Operand::wired(RegFile::R, 1),
                        };
                        let selector = self.emit.func.imm(0x5410);
                        self.emit.op("PRMT", &[Operand::Reg(reg)], &[low, selector, high]).map(|_| reg)
                    })
                    .collect::<Result<_, _>>()?;
                for (at, word) in (0..).zip(words) {
                    let to = self.emit.word(dst, at);
                    self.emit.copy_word(to, Operand::Reg(word));
                }
                Ok(())
            }
            _ => Err(Refusal::Operation { operation: func.operation(inst), sm: None }),
        }
    }
}

impl Condition {
    fn holds(self, imm: Option<u64>) -> bool {
        let Some(bits) = imm else { return false };
        match self {
            Condition::Immediate => true,
            Condition::Equals(number) => bits == number,
            Condition::Below(number) => bits < number,
            Condition::From(number) => bits >= number,
            Condition::PowerOfTwo => bits.is_power_of_two(),
        }
    }
}

impl table::Function {
    /// The number that follows from an immediate.
    fn of(self, bits: u64) -> u64 {
        match self {
            table::Function::Log2 => u64::from(bits.trailing_zeros()),
            table::Function::Negated => u64::from((bits as u32).wrapping_neg()),
            table::Function::Rest => 32u64.wrapping_sub(bits) & 0xffff_ffff,
            table::Function::Above => bits.wrapping_sub(32) & 0xffff_ffff,
            table::Function::LowOfNegated => bits.wrapping_neg() & 0xffff_ffff,
            table::Function::HighOfNegated => bits.wrapping_neg() >> 32,
        }
    }
}
