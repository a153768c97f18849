//! Instructions of the machine with virtual registers, and the operands that each takes.
//!
//! A row says what an operation becomes with registers everywhere. Whether an operand may also be an immediate or a
//! word of a constant bank the encodings say: an instruction is held against them with some register in the place of
//! each, and what no encoding has there goes to a register before.

use cranelift_entity::SecondaryMap;
use oriole_ir::machine::MachineTable;
use oriole_ir::ops::Opcode;
use oriole_ir::{
    Block, Function, Guard, Inst, InstHead, MachineId, Modifiers, Operand, PhysicalReg, Reg, RegFile, RegInfo,
};
use oriole_sass::{Table, ori};
use smallvec::SmallVec;

use super::flow::{branch, go_on, identity};
use super::memory::CLUSTERS;
use super::table::{Line, Part, Pattern, Slot};
use super::{Refusal, Value};

/// The instruction behind which one set of lanes comes after the other.
const EXCLUSIVE: &str = "WARPSYNC.EXCLUSIVE";

/// The families that take doubles, and of a number the upper word alone.
const DOUBLES: [&str; 5] = ["DADD", "DFMA", "DMNMX", "DMUL", "DSETP"];

/// All lanes of a quad, which a copy writes.
const ALL_LANES: u64 = 0xf;

/// A function of the machine that is being made.
pub(super) struct Emit {
    pub func: Function,
    pub table: &'static Table,
    rows: &'static MachineTable,
    /// Where the next instruction goes.
    pub block: Block,
    /// Its line of PTX.
    pub line: u32,
    /// Its guard.
    pub guard: Option<Guard>,
    /// By block that is the rest of another one: that one.
    pub rest_of: SecondaryMap<Block, Option<Block>>,
}

type Operands = SmallVec<[Operand; 8]>;

impl Emit {
    pub fn new(func: Function, table: &'static Table) -> Emit {
        let block = Block::from_u32(0);
        Emit { func, table, rows: ori::register(), block, line: 0, guard: None, rest_of: SecondaryMap::new() }
    }

    pub fn new_reg(&mut self, info: RegInfo) -> Reg {
        self.func.new_reg(info)
    }

    /// A new general register of so many words.
    pub fn temp(&mut self, words: u8) -> Reg {
        self.new_reg(RegInfo::words(words))
    }

    /// Appends an instruction whose operands the machine takes.
    pub fn append(&mut self, id: MachineId, guard: Option<Guard>, dsts: &[Operand], srcs: &[Operand]) -> Inst {
        let opcode = self.func.machine_opcode(id, srcs).expect("what was identified has a row");
        let head = InstHead { opcode, fields: id.fields(), guard, line: self.line };
        let inst = self.func.new_inst(head, dsts, srcs, &[]);
        self.func.append_inst(self.block, inst);
        inst
    }

    /// Ends the block that another one follows.
    pub fn go_on(&mut self, to: Block) {
        go_on(&mut self.func, self.block, to, self.line);
    }

    /// Appends an instruction by its mnemonic.
    ///
    /// # Errors
    ///
    /// If the SM has none that takes such operands, wherever they are.
    pub fn op(&mut self, mnemonic: &str, dsts: &[Operand], srcs: &[Operand]) -> Result<Inst, Refusal> {
        let id = self.rows.identify(mnemonic).unwrap_or_else(|| panic!("the machine has no {mnemonic}"));
        self.fitted(id, mnemonic, dsts, srcs)
    }

    /// Appends an instruction in the first of these forms that the SM has.
    pub fn first_of(&mut self, mnemonic: &str, forms: &[(&[Operand], &[Operand])]) -> Result<Inst, Refusal> {
        let Some(id) = self.rows.identify(mnemonic) else { return Err(self.missing(mnemonic)) };
        for (dsts, srcs) in forms {
            if self.has(mnemonic, dsts, srcs) {
                return Ok(self.append(id, self.guard, dsts, srcs));
            }
        }
        let (dsts, srcs) = forms[0];
        self.fitted(id, mnemonic, dsts, srcs)
    }

    #[cold]
    fn missing(&self, mnemonic: &str) -> Refusal {
        Refusal::Mnemonic { sm: self.table.sm, mnemonic: mnemonic.to_owned() }
    }

    fn fitted(&mut self, id: MachineId, mnemonic: &str, dsts: &[Operand], srcs: &[Operand]) -> Result<Inst, Refusal> {
        let probe_dsts = self.probes(dsts);
        let probe = self.probes(srcs);
        if self.exists(mnemonic, &probe_dsts, &probe) {
            return Ok(self.append(id, self.guard, dsts, srcs));
        }
        let mut srcs: Operands = srcs.into();
        // A number of a double is its upper word.
        let is_double = mnemonic.split('.').next().is_some_and(|family| DOUBLES.contains(&family));
        let words = if is_double { 2 } else { 1 };
        let movable: SmallVec<[usize; 4]> = (0..srcs.len()).filter(|at| is_movable(srcs[*at])).collect();
        for way in self.ways(&srcs, &movable) {
            let mut with = probe.clone();
            for (at, place) in movable.iter().zip(&way) {
                match place {
                    Place::Stays => {}
                    Place::Zero => with[*at] = marked(Operand::wired(RegFile::R, words), srcs[*at].modifiers()),
                    Place::Register => with[*at] = marked(dummy(RegInfo::words(words)), srcs[*at].modifiers()),
                }
            }
            if self.exists(mnemonic, &probe_dsts, &with) {
                for (at, place) in movable.iter().zip(way) {
                    match place {
                        Place::Stays => {}
                        Place::Zero => srcs[*at] = with[*at],
                        Place::Register if is_double => srcs[*at] = self.double_in_register(srcs[*at]),
                        Place::Register => srcs[*at] = self.in_register(srcs[*at]),
                    }
                }
                return Ok(self.append(id, self.guard, dsts, &srcs));
            }
        }
        Err(self.missing(mnemonic))
    }

    /// Where numbers and words of banks may be, those with the fewest registers first.
    fn ways(&self, srcs: &[Operand], movable: &[usize]) -> Vec<SmallVec<[Place; 4]>> {
        let mut ways: Vec<SmallVec<[Place; 4]>> = vec![SmallVec::new()];
        for at in movable {
            let is_zero = self.func.imm_bits(srcs[*at]) == Some(0);
            let places = [Some(Place::Stays), is_zero.then_some(Place::Zero), Some(Place::Register)];
            let longer = ways.iter().flat_map(|way| {
                places.into_iter().flatten().map(|place| {
                    let mut way = way.clone();
                    way.push(place);
                    way
                })
            });
            ways = longer.collect();
        }
        ways.sort_by_key(|way| way.iter().filter(|place| **place == Place::Register).count());
        ways
    }

    /// Whether the SM has an instruction with such operands.
    pub fn has(&self, mnemonic: &str, dsts: &[Operand], srcs: &[Operand]) -> bool {
        self.exists(mnemonic, &self.probes(dsts), &self.probes(srcs))
    }

    /// Puts another instruction in the place of one, under its guard.
    pub fn replace(&mut self, inst: Inst, mnemonic: &str, dsts: &[Operand], srcs: &[Operand]) {
        let id = self.rows.identify(mnemonic).unwrap_or_else(|| panic!("the machine has no {mnemonic}"));
        let opcode = self.func.machine_opcode(id, srcs).expect("what was identified has a row");
        let head = InstHead { opcode, fields: id.fields(), ..self.func.inst(inst).head() };
        let made = self.func.new_inst(head, dsts, srcs, &[]);
        self.func.insert_before(inst, made);
        self.func.remove_inst(inst);
    }

    fn probes(&self, operands: &[Operand]) -> Operands {
        probes(&self.func, operands)
    }

    fn exists(&self, mnemonic: &str, dsts: &[Operand], srcs: &[Operand]) -> bool {
        ori::word_of(self.table, &self.func, mnemonic, dsts, srcs, &|_| Some(0)).is_some()
    }

    /// An operand of one word in a register of its own, its modifiers still on it.
    fn in_register(&mut self, operand: Operand) -> Operand {
        let plain = operand.with_modifiers(Modifiers::NONE).unwrap_or(operand);
        if self.func.imm_bits(plain) == Some(0) {
            return marked(Operand::wired(RegFile::R, 1), operand.modifiers());
        }
        let reg = self.temp(1);
        self.unguarded(|emit| emit.copy_word(Operand::Reg(reg), plain));
        marked(Operand::Reg(reg), operand.modifiers())
    }

    /// A double, as its upper word says, in a register of its own.
    fn double_in_register(&mut self, high: Operand) -> Operand {
        let reg = self.temp(2);
        let (low, plain) = (self.func.imm(0), high.with_modifiers(Modifiers::NONE).unwrap_or(high));
        self.unguarded(|emit| {
            emit.copy_word(Operand::Word(reg, 0), low);
            emit.copy_word(Operand::Word(reg, 1), plain);
        });
        marked(Operand::Reg(reg), high.modifiers())
    }

    /// Makes what no guard needs to keep from happening: values of registers that nothing else reads.
    fn unguarded(&mut self, make: impl FnOnce(&mut Emit)) {
        let guard = self.guard.take();
        make(self);
        self.guard = guard;
    }

    /// Copies a word.
    pub fn copy_word(&mut self, dst: Operand, src: Operand) {
        if let Operand::Const { .. } = src
            && !self.table.has_banks()
        {
            let guard = self.guard;
            let id = self.rows.identify("LDC").expect("every SM has LDC");
            self.append(id, guard, &[dst], &[Operand::wired(RegFile::R, 1), src]);
            return;
        }
        let lanes = self.func.imm(ALL_LANES);
        let id = self.rows.identify("MOV").expect("every SM has MOV");
        self.append(id, self.guard, &[dst], &[src, lanes]);
    }

    /// Makes the instructions of a pattern.
    ///
    /// # Errors
    ///
    /// If the SM lacks one of them.
    pub fn pattern(&mut self, pattern: &Pattern, dsts: &[Operand], srcs: &[Value]) -> Result<(), Refusal> {
        let temps: SmallVec<[Reg; 8]> = pattern.temps.iter().map(|info| self.func.new_reg(*info)).collect();
        let mut results: SmallVec<[Operand; 2]> = dsts.into();
        // A result that is written while sources in the same register are still read is made beside.
        for (at, result) in results.iter_mut().enumerate() {
            if let Some(reg) = result.reg()
                && is_read_late(pattern, at, reg, srcs)
            {
                *result = Operand::Reg(self.func.new_reg(self.func.regs()[reg]));
            }
        }
        let guard = self.guard;
        let meeting = pattern.lines.iter().any(|line| line.mnemonic == EXCLUSIVE).then(|| self.part());
        for line in &pattern.lines {
            // What only the row's own registers hear of needs no guard, and then has one definition on every way.
            let is_own = |slot: &Slot| matches!(slot, Slot::Temp(..) | Slot::Wired(..));
            let is_pure = self.rows.row(line.id.row).is_some_and(|row| row.opcode == Opcode::MachinePure);
            self.guard = guard.filter(|_| !(is_pure && line.dsts.iter().all(is_own)));
            self.line(line, pattern, &temps, &results, srcs)?;
        }
        self.guard = guard;
        meeting.into_iter().for_each(|(barrier, block)| self.meet(barrier, block));
        for (result, dst) in results.iter().zip(dsts).filter(|(result, dst)| result != dst) {
            self.copy(*dst, *result);
        }
        Ok(())
    }

    /// Notes the lanes that are together, before sets of them come apart: the barrier, and the block where they meet.
    pub fn part(&mut self) -> (Operand, Block) {
        let barrier = Operand::Reg(self.new_reg(RegInfo { file: RegFile::B, words: 1 }));
        let block = self.block_within();
        let srcs = [Operand::wired(RegFile::P, 1), Operand::Block(block)];
        self.append(identity("BSSY"), None, &[barrier], &srcs);
        (barrier, block)
    }

    /// A new block behind the one that instructions go to, which the same ways lead through.
    pub fn block_within(&mut self) -> Block {
        let block = self.func.new_block_after(self.block);
        self.rest_of[block] = Some(self.rest_of[self.block].unwrap_or(self.block));
        block
    }

    /// Lets them meet. What follows goes to that block.
    fn meet(&mut self, barrier: Operand, block: Block) {
        self.go_on(block);
        self.come_together(barrier, block);
    }

    /// The same where control goes to that block already.
    pub fn come_together(&mut self, barrier: Operand, block: Block) {
        self.block = block;
        self.append(identity("BSYNC"), None, &[], &[Operand::wired(RegFile::P, 1), barrier]);
    }

    /// Leads the lanes through instructions one after the other, those that the guard lets through: an elected one does
    /// them and waits where all meet, and the others elect the next.
    pub fn each_lane(&mut self, make: impl FnOnce(&mut Emit) -> Result<(), Refusal>) -> Result<(), Refusal> {
        let guard = self.guard.take();
        let (barrier, behind) = self.part();
        let before = self.block;
        let [head, body] = [(); 2].map(|()| {
            let block = self.func.new_block_after(before);
            self.rest_of[block] = self.rest_of[behind];
            block
        });
        // Both were put behind the same block: the later one comes first.
        let (head, body) = (body, head);
        match guard {
            Some(guard) => drop(branch(&mut self.func, before, Some(guard), &[head, behind], self.line)),
            None => self.go_on(head),
        }
        self.block = head;
        let elected = self.new_reg(RegInfo::PRED);
        let (none, truth) = (Operand::wired(RegFile::UR, 1), Operand::wired(RegFile::P, 1));
        self.op("ELECT", &[Operand::Reg(elected), none], &[truth])?;
        branch(&mut self.func, head, Some(Guard::new(elected, false)), &[body, head], self.line);
        self.block = body;
        make(self)?;
        self.meet(barrier, behind);
        self.guard = guard;
        Ok(())
    }

    /// Words in uniform registers side by side, as one lane has them.
    pub fn uniform(&mut self, words: &[Operand]) -> Result<Operand, Refusal> {
        let all = Operand::Reg(self.new_reg(RegInfo { file: RegFile::UR, words: words.len() as u8 }));
        let truth = Operand::wired(RegFile::P, 1);
        for (at, word) in (0..).zip(words) {
            let to = self.word(all, at);
            self.op("R2UR", &[truth, to], &[*word])?;
        }
        Ok(all)
    }

    /// Copies a register, word by word; a predicate by itself.
    pub fn copy(&mut self, dst: Operand, src: Operand) {
        let Some(info) = self.func.operand_info(dst) else { return };
        if info.is_predicate() {
            let (truth, table) = (Operand::wired(RegFile::P, 1), self.func.imm(0xf0));
            let (zero, id) = (self.func.imm(0), self.rows.identify("PLOP3.LUT").expect("every SM has it"));
            self.append(id, self.guard, &[dst, truth], &[src, truth, truth, table, zero]);
            return;
        }
        for word in 0..info.words {
            self.copy_word(self.word(dst, word), self.word(src, word));
        }
    }

    /// A word of a register.
    pub fn word(&self, operand: Operand, word: u8) -> Operand {
        match operand {
            Operand::Reg(reg) if self.func.regs()[reg].words > 1 => Operand::Word(reg, word),
            Operand::Wired { file, .. } => Operand::wired(file, 1),
            other => other,
        }
    }

    fn line(
        &mut self,
        line: &Line,
        pattern: &Pattern,
        temps: &[Reg],
        dsts: &[Operand],
        srcs: &[Value],
    ) -> Result<(), Refusal> {
        let mut own_dsts: Operands = SmallVec::new();
        for slot in &line.dsts {
            let operand = match slot {
                Slot::Var(at, part, _) => self.part_of_result(dsts[*at], *part),
                Slot::Temp(at, part, _) => self.part_of_result(Operand::Reg(temps[*at]), *part),
                Slot::Wired(file, words, _) => Operand::wired(*file, *words),
                _ => unreachable!("a result is a register"),
            };
            own_dsts.push(operand);
        }
        let mut own_srcs: Operands = SmallVec::new();
        for slot in &line.srcs {
            let operand = match slot {
                Slot::Var(at, part, marks) => self.value(srcs[at - pattern.results], *part, *marks, &line.mnemonic),
                Slot::Temp(at, part, marks) => marked(self.part_of_result(Operand::Reg(temps[*at]), *part), *marks),
                Slot::Wired(file, words, marks) => marked(Operand::wired(*file, *words), *marks),
                Slot::Number(number) => self.func.imm(*number),
                Slot::Computed(function, at) => {
                    let bits = srcs[at - pattern.results].imm().unwrap_or_default();
                    self.func.imm(function.of(bits))
                }
                Slot::Name(name) => self.func.name(name),
            };
            own_srcs.push(operand);
        }
        self.fitted(line.id, &line.mnemonic, &own_dsts, &own_srcs).map(|_| ())
    }

    fn part_of_result(&self, operand: Operand, part: Part) -> Operand {
        match part {
            Part::Word(word) => self.word(operand, word),
            Part::Whole | Part::Double => operand,
        }
    }

    /// A part of a source with marks, as an operand.
    pub fn value(&mut self, value: Value, part: Part, marks: Modifiers, mnemonic: &str) -> Operand {
        match value {
            Value::Imm(bits, words) => match part {
                Part::Word(word) => self.marked_number(bits >> (32 * u32::from(word)) & 0xffff_ffff, marks, mnemonic),
                Part::Double if bits & 0xffff_ffff == 0 => self.marked_number(bits >> 32, marks, mnemonic),
                Part::Whole if words == 0 => {
                    let inverted = if bits & 1 == 0 { Modifiers::INVERT } else { Modifiers::NONE };
                    let differs = marks.has(Modifiers::INVERT) != inverted.has(Modifiers::INVERT);
                    marked(Operand::wired(RegFile::P, 1), if differs { Modifiers::INVERT } else { Modifiers::NONE })
                }
                Part::Whole if words <= 1 => self.marked_number(bits, marks, mnemonic),
                _ if bits == 0 && marks.is_none() => Operand::wired(RegFile::R, words),
                _ => {
                    let reg = self.temp(words);
                    for word in 0..words {
                        let bits = bits.checked_shr(32 * u32::from(word)).unwrap_or(0) & 0xffff_ffff;
                        let bits = self.func.imm(bits);
                        self.unguarded(|emit| emit.copy_word(Operand::Word(reg, word), bits));
                    }
                    marked(Operand::Reg(reg), marks)
                }
            },
            Value::Const(bank, offset, words) => match part {
                Part::Word(word) => marked(Operand::constant(bank, offset + 4 * u32::from(word)), marks),
                _ if words <= 1 => marked(Operand::constant(bank, offset), marks),
                _ if words == 2 && offset.is_multiple_of(8) && self.table.sm >= CLUSTERS => {
                    let reg = Operand::Reg(self.temp(2));
                    let srcs = [Operand::wired(RegFile::R, 1), Operand::constant(bank, offset)];
                    let id = self.rows.identify("LDC.64").expect("every SM has it");
                    self.append(id, None, &[reg], &srcs);
                    marked(reg, marks)
                }
                _ => {
                    let reg = self.temp(words);
                    for word in 0..words {
                        let from = Operand::constant(bank, offset + 4 * u32::from(word));
                        self.unguarded(|emit| emit.copy_word(Operand::Word(reg, word), from));
                    }
                    marked(Operand::Reg(reg), marks)
                }
            },
            Value::Operand(operand) => marked(self.part_of_result(operand, part), marks),
        }
    }

    /// A number of 32 bits with what its marks make of it.
    fn marked_number(&mut self, bits: u64, marks: Modifiers, mnemonic: &str) -> Operand {
        let is_float = mnemonic.starts_with(['F', 'H', 'D']) && !mnemonic.starts_with("FLO");
        let sign = if mnemonic.starts_with('H') { 0x8000_8000 } else { 0x8000_0000 };
        let mut bits = bits;
        if marks.has(Modifiers::ABSOLUTE) {
            bits = if is_float { bits & !sign } else { u64::from((bits as i32).unsigned_abs()) };
        }
        if marks.has(Modifiers::NEGATE) {
            bits = match is_float {
                true => bits ^ sign,
                // With a carry the mark is the complement.
                false if mnemonic.ends_with(".X") => u64::from(!(bits as u32)),
                false => u64::from((bits as u32).wrapping_neg()),
            };
        }
        if marks.has(Modifiers::INVERT) {
            bits = u64::from(!(bits as u32));
        }
        self.func.imm(bits)
    }
}

/// Where a number or a word of a bank is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// In the instruction.
    Stays,
    /// In the register that is zero.
    Zero,
    /// In a register of its own.
    Register,
}

/// Whether an operand may go to a register.
fn is_movable(operand: Operand) -> bool {
    matches!(operand, Operand::Imm(_) | Operand::Const { .. })
}

/// Operands with some register of the machine in the place of each virtual one. General registers come side by side, as
/// those of a bundle do.
pub(crate) fn probes(func: &Function, operands: &[Operand]) -> Operands {
    let mut next = FIRST;
    let mut probe = |operand: &Operand| {
        let info = match *operand {
            Operand::Word(reg, _) | Operand::Modified { reg, word: Some(_), .. } => {
                RegInfo { words: 1, ..func.regs()[reg] }
            }
            Operand::Reg(reg) | Operand::Modified { reg, .. } => func.regs()[reg],
            other => return other,
        };
        if info.file != RegFile::R {
            return marked(dummy(info), operand.modifiers());
        }
        let number = next.next_multiple_of(info.words.next_power_of_two());
        next = number + info.words;
        let reg = PhysicalReg { file: info.file, number, words: info.words };
        marked(reg.operand().expect("an instruction names fewer registers than there are"), operand.modifiers())
    };
    operands.iter().map(&mut probe).collect()
}

/// The first register of a probe.
const FIRST: u8 = 4;

/// Some register of the machine in the place of one.
fn dummy(info: RegInfo) -> Operand {
    let number = if matches!(info.file, RegFile::R | RegFile::UR) { FIRST } else { 0 };
    let reg = PhysicalReg { file: info.file, number, words: info.words };
    reg.operand().expect("every file has the first registers")
}

/// A predicate that never holds: no carry, no condition.
pub(crate) fn never() -> Operand {
    Operand::Wired { file: RegFile::P, words: 1, modifiers: Modifiers::INVERT }
}

/// An operand with these marks.
pub(super) fn marked(operand: Operand, marks: Modifiers) -> Operand {
    operand.with_modifiers(marks).unwrap_or(operand)
}

/// Whether a line behind the first that writes a result reads a source in the same register.
fn is_read_late(pattern: &Pattern, at: usize, reg: Reg, srcs: &[Value]) -> bool {
    let words = |part: Part| match part {
        Part::Word(word) => u16::from(word)..u16::from(word) + 1,
        Part::Whole | Part::Double => 0..4,
    };
    let mut written: SmallVec<[std::ops::Range<u16>; 4]> = SmallVec::new();
    for line in &pattern.lines {
        let is_hit = line.srcs.iter().any(|slot| match slot {
            Slot::Var(source, part, _) if *source >= pattern.results => match srcs[source - pattern.results] {
                Value::Operand(operand) if operand.reg() == Some(reg) => {
                    let read = match operand {
                        Operand::Word(_, word) => u16::from(word)..u16::from(word) + 1,
                        _ => words(*part),
                    };
                    written.iter().any(|written| written.start < read.end && read.start < written.end)
                }
                _ => false,
            },
            _ => false,
        });
        if is_hit {
            return true;
        }
        written.extend(line.dsts.iter().filter_map(|slot| match slot {
            Slot::Var(result, part, _) if *result == at => Some(words(*part)),
            _ => None,
        }));
    }
    false
}

#[cfg(test)]
pub(in crate::select) mod tests {
    use super::*;
    use oriole_ir::FunctionKind;
    use oriole_ir::ops::{Field, FieldValue, Opcode, Shape, Type};

    /// How many words the register of a place of an operation has; none of a predicate. Immediates are one.
    fn words(mnemonic: &str, place: usize, results: usize) -> RegInfo {
        let ends = mnemonic.match_indices('.').map(|(at, _)| at).chain([mnemonic.len()]);
        let opcode = ends.filter_map(|end| Opcode::from_name(&mnemonic[..end])).next_back().expect("a row's operation");
        let row = opcode.row();
        let shapes = if place < results { row.dsts } else { row.srcs };
        let at = if place < results { place } else { place - results };
        let mut types =
            mnemonic.split('.').rev().filter_map(|part| Type::ALL.iter().find(|ty| field_name(**ty) == part));
        let last = types.next().copied().unwrap_or(Type::B32);
        let before = types.next().copied();
        let (own, source) = match before {
            Some(before) if row.slot(Field::SrcType).is_some() => (before, last),
            _ => (last, last),
        };
        match shapes.get(at) {
            Some(Shape::P) => RegInfo::PRED,
            Some(Shape::R) => RegInfo::words(1),
            Some(Shape::S) => RegInfo::of(source),
            Some(Shape::W) => RegInfo::words(if own.bits() == 32 { 2 } else { 1 }),
            _ => RegInfo::of(own),
        }
    }

    fn field_name(ty: Type) -> &'static str {
        FieldValue::name(ty)
    }

    /// Whether an SM has a line of a row, with registers for all operands.
    pub(in crate::select) fn has_words(table: &'static Table, mnemonic: &str, pattern: &Pattern, line: &Line) -> bool {
        let mut emit = Emit::new(Function::new("f", FunctionKind::Device), table);
        emit.block = emit.func.new_block();
        let temps: Vec<Reg> = pattern.temps.iter().map(|info| emit.func.new_reg(*info)).collect();
        let all = pattern.results + pattern.sources;
        let own: Vec<Operand> =
            (0..all).map(|place| Operand::Reg(emit.func.new_reg(words(mnemonic, place, pattern.results)))).collect();
        let dsts: Vec<Operand> = own[..pattern.results].to_vec();
        let srcs: Vec<Value> = own[pattern.results..].iter().map(|operand| Value::Operand(*operand)).collect();
        let is_number = |line: &Line| {
            let places = line.srcs.iter().filter_map(|slot| match slot {
                Slot::Var(at, Part::Whole, _) => Some(*at),
                _ => None,
            });
            places.filter(|at| *at >= pattern.results).collect::<Vec<_>>()
        };
        if emit.line(line, pattern, &temps, &dsts, &srcs).is_ok() {
            return true;
        }
        // A table of truth values is a number in every operation.
        is_number(line).into_iter().any(|at| {
            let mut with = srcs.clone();
            with[at - pattern.results] = Value::Imm(1, 1);
            emit.line(line, pattern, &temps, &dsts, &with).is_ok()
        })
    }
}
