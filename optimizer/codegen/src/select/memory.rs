//! Memory: loads, stores, atomic operations, and addresses.

use oriole_ir::ops::{AtomOp, CvtaDirection, Flags, NonCoherent, Opcode, Order, PrefetchLevel, Scope, Space, Type};
use oriole_ir::{Function, FunctionKind, Inst, InstData, Modifiers, Operand, Reg, RegFile, RegInfo, SymbolRef};
use smallvec::SmallVec;

use super::emit::{marked, never};
use super::place::Number;
use super::table::Part;
use super::{Refusal, Select, Value};

/// Whether a function accesses memory through its descriptor.
pub(super) fn needs_descriptor(func: &Function) -> bool {
    func.layout_insts().any(|inst| {
        let data = func.inst(inst);
        let is_access =
            matches!(data.opcode, Opcode::Ld | Opcode::Ldu | Opcode::St | Opcode::Atom | Opcode::AtomCas | Opcode::Red);
        let is_copy = data.opcode == Opcode::CpAsync || data.is(Flags::MULTIMEM);
        // The driver's tables of images are in global memory.
        let is_question = matches!(data.opcode, Opcode::Txq | Opcode::Suq);
        is_copy || is_question || is_access && matches!(space(data), Space::Generic | Space::Global)
    })
}

/// The space of an access.
fn space(data: &InstData) -> Space {
    data.field::<Space>().unwrap_or(Space::Generic)
}

/// Bits of an offset in an address.
const OFFSET_BITS: u32 = 24;
const OFFSET_MASK: u64 = (1 << OFFSET_BITS) - 1;

/// An address as instructions name it.
pub(super) struct Address {
    /// A register, or the wired one.
    pub base: Operand,
    /// The offset, in the bits of its place.
    pub offset: Operand,
}

/// The bank of constant variables, and of addresses.
const VARIABLES: u8 = 3;
pub(super) const ADDRESSES: u8 = 4;

impl Select<'_> {
    /// A load, store or atomic operation.
    pub(super) fn memory(&mut self, inst: Inst) -> Result<(), Refusal> {
        let data = *self.func.inst(inst);
        let order = data.field::<Order>().unwrap_or(Order::Weak);
        // What comes before a release, and behind an acquire, stays there.
        if matches!(order, Order::Release | Order::AcqRel) {
            self.fence(data.field::<Scope>().unwrap_or(Scope::Gpu))?;
        }
        match data.opcode {
            Opcode::Ld | Opcode::Ldu => self.load(inst, &data)?,
            Opcode::St => self.store(inst, &data)?,
            _ => self.atomic(inst, &data)?,
        }
        if matches!(order, Order::Acquire | Order::AcqRel) {
            self.emit.op("CCTL.IVALL", &[], &[])?;
        }
        Ok(())
    }

    pub(super) fn fence(&mut self, scope: Scope) -> Result<(), Refusal> {
        let mnemonic = match scope {
            Scope::Cta => "MEMBAR.ALL.CTA",
            Scope::Sys => "MEMBAR.ALL.SYS",
            // Blocks of a cluster are on several multiprocessors.
            Scope::None | Scope::Cluster | Scope::Gpu => "MEMBAR.ALL.GPU",
        };
        self.emit.op(mnemonic, &[], &[]).map(|_| ())
    }

    /// The suffixes of an ordered access.
    pub(super) fn order(data: &InstData) -> &'static str {
        match (data.field::<Order>(), data.field::<Scope>()) {
            (Some(Order::Mmio), _) => ".MMIO.SYS",
            (Some(Order::Volatile), _) | (Some(_), Some(Scope::Sys)) => ".STRONG.SYS",
            (Some(_), Some(Scope::Cta)) => ".STRONG.SM",
            (Some(Order::Weak) | None, _) => "",
            _ => ".STRONG.GPU",
        }
    }

    fn load(&mut self, inst: Inst, data: &InstData) -> Result<(), Refusal> {
        let func = self.func;
        let (dsts, srcs) = (func.dsts(inst).to_vec(), func.srcs(inst).to_vec());
        let (space, ty) = (space(data), data.ty());
        let lanes = dsts.len();
        let bits = ty.bits() * lanes as u32;
        if bits > 128 {
            return Err(self.refused(inst));
        }
        let size = match (bits, ty.is_signed()) {
            (8, false) => ".U8",
            (8, true) => ".S8",
            (16, true) if lanes == 1 => ".S16",
            (16, _) => ".U16",
            (32, _) => "",
            (64, _) => ".64",
            (128, _) => ".128",
            _ => return Err(self.refused(inst)),
        };
        // A vector's elements come side by side; narrow ones are taken out of the words.
        let is_whole = lanes == 1;
        let words = bits.div_ceil(32) as u8;
        let target = if is_whole && self.emit.func.operand_info(dsts[0]).is_some_and(|info| info.words == words) {
            dsts[0]
        } else {
            Operand::Reg(self.emit.temp(words))
        };
        self.load_to(inst, target, space, size, data, srcs[0], srcs[1])?;
        if target == dsts[0] {
            return Ok(());
        }
        self.taken_apart(target, &dsts, ty)
    }

    /// Puts elements that lie side by side into registers of their own.
    pub(super) fn taken_apart(&mut self, target: Operand, dsts: &[Operand], ty: Type) -> Result<(), Refusal> {
        let (element, is_whole) = (ty.bits(), dsts.len() == 1);
        for (at, dst) in (0u32..).zip(dsts) {
            let Some(info) = self.emit.func.operand_info(*dst) else { continue };
            if element >= 32 || is_whole {
                for word in 0..info.words {
                    let from = at * (element / 32).max(1) + u32::from(word);
                    let to = self.emit.word(*dst, word);
                    let inside = u32::from(word) < element.div_ceil(32);
                    let source = if inside {
                        self.emit.word(target, from as u8)
                    } else if ty.is_signed() {
                        // A wider register gets the sign.
                        let (low, count) = (self.emit.word(*dst, 0), self.emit.func.imm(31));
                        let zero = Operand::wired(RegFile::R, 1);
                        self.emit.op("SHF.R.S32.HI", &[to], &[zero, count, low])?;
                        continue;
                    } else {
                        Operand::wired(RegFile::R, 1)
                    };
                    self.emit.copy_word(to, source);
                }
                continue;
            }
            let word = self.emit.word(target, (at * element / 32) as u8);
            let byte = u64::from(at * element % 32 / 8);
            // Bytes by their numbers; 8 more for the sign of one; 4 is a byte of the other operand, zero.
            let sign = if element == 8 { byte | 8 } else { (byte + 1) | 8 };
            let (second, rest) = match (element, ty.is_signed()) {
                (8, true) => (sign, sign),
                (8, false) => (4, 4),
                (_, true) => (byte + 1, sign),
                (_, false) => (byte + 1, 4),
            };
            let selector = self.emit.func.imm(byte | second << 4 | rest << 8 | rest << 12);
            let (to, zero) = (self.emit.word(*dst, 0), Operand::wired(RegFile::R, 1));
            self.emit.op("PRMT", &[to], &[word, selector, zero])?;
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments)]
    fn load_to(
        &mut self,
        inst: Inst,
        target: Operand,
        space: Space,
        size: &str,
        data: &InstData,
        base: Operand,
        offset: Operand,
    ) -> Result<(), Refusal> {
        let truth = Operand::wired(RegFile::P, 1);
        let (order, constant) = (Select::order(data), data.field::<NonCoherent>() == Some(NonCoherent::Nc));
        match space {
            Space::Param if let Some(at) = self.parameter_at(base, offset) => {
                let (bank, zero) = (Operand::constant(0, at), Operand::wired(RegFile::R, 1));
                if size == ".128" {
                    return self.load_words(target, 0, at);
                }
                self.emit.op(&format!("LDC{size}"), &[target], &[zero, bank]).map(|_| ())
            }
            // An address that is computed: of a kernel's parameters it is an offset in the bank.
            Space::Param if base.reg().is_some() && self.func.kind == FunctionKind::Entry => {
                self.load_constant(target, 0, size, base, offset)
            }
            Space::Param => {
                let (suffix, dsts) = (format!("LDL{size}"), [target]);
                self.of_call(inst, &suffix, &dsts, base, offset, None)
            }
            Space::Const => self.load_constant(target, VARIABLES, size, base, offset),
            Space::Shared => {
                let Address { base, offset } = self.address_of(base, offset, false)?;
                self.emit.op(&format!("LDS{size}"), &[target], &[base, offset]).map(|_| ())
            }
            Space::Local => {
                let Address { base, offset } = self.address_of(base, offset, false)?;
                self.emit.op(&format!("LDL{size}"), &[target], &[base, offset]).map(|_| ())
            }
            Space::Cluster => {
                let base = self.of_cluster(base)?;
                self.load_to(inst, target, Space::Generic, size, data, base, offset)
            }
            Space::Global | Space::Generic => {
                let Address { base, offset } = self.address_of(base, offset, true)?;
                let constant = if constant && order.is_empty() { ".CONSTANT" } else { "" };
                let desc = self.descriptor.unwrap_or(truth);
                if space == Space::Global {
                    let mnemonic = format!("LDG.E{size}{order}{constant}");
                    let forms: [(&[Operand], &[Operand]); 2] =
                        [(&[truth, target], &[desc, base, offset, truth]), (&[truth, target], &[base, offset, truth])];
                    return self.emit.first_of(&mnemonic, &forms).map(|_| ());
                }
                let mnemonic = format!("LD.E{size}{order}");
                let forms: [(&[Operand], &[Operand]); 2] =
                    [(&[target], &[desc, base, offset, truth]), (&[target], &[base, offset, truth])];
                self.emit.first_of(&mnemonic, &forms).map(|_| ())
            }
        }
    }

    /// An address of shared memory of the cluster as a generic one: the instructions for shared memory reach that of
    /// the block alone.
    fn of_cluster(&mut self, base: Operand) -> Result<Operand, Refusal> {
        let value = self.source(base, 1)?;
        let low = match self.in_registers(value, 1) {
            Operand::Reg(reg) if self.emit.func.regs()[reg].words > 1 => Operand::Word(reg, 0),
            low => low,
        };
        let wide = self.window(Window::Shared { is_own: false })?;
        let to = self.emit.word(wide, 0);
        self.emit.copy_word(to, low);
        Ok(wide)
    }

    fn load_words(&mut self, target: Operand, bank: u8, at: u32) -> Result<(), Refusal> {
        for word in 0..4 {
            let (to, from) = (self.emit.word(target, word), Operand::constant(bank, at + 4 * u32::from(word)));
            self.emit.copy_word(to, from);
        }
        Ok(())
    }

    /// A load from a bank at an address in a register. There is none of four words.
    fn load_constant(
        &mut self,
        target: Operand,
        bank: u8,
        size: &str,
        base: Operand,
        offset: Operand,
    ) -> Result<(), Refusal> {
        let (base, at) = self.constant_address(base, offset)?;
        if size != ".128" {
            return self.emit.op(&format!("LDC{size}"), &[target], &[base, Operand::constant(bank, at)]).map(|_| ());
        }
        for word in 0..4u8 {
            let (to, from) = (self.emit.word(target, word), Operand::constant(bank, at + 4 * u32::from(word)));
            self.emit.op("LDC", &[to], &[base, from])?;
        }
        Ok(())
    }

    /// The offset in bank 0 of a parameter's byte.
    fn parameter_at(&self, base: Operand, offset: Operand) -> Option<u32> {
        let Operand::Local(local) = base else { return None };
        self.places.parameter(local)?.checked_add_signed(self.func.imm_bits(offset)? as i32)
    }

    fn store(&mut self, inst: Inst, data: &InstData) -> Result<(), Refusal> {
        let srcs = self.func.srcs(inst).to_vec();
        let (space, ty) = (space(data), data.ty());
        let values = &srcs[2..];
        let bits = ty.bits() * values.len() as u32;
        let size = match bits {
            8 => ".U8",
            16 => ".U16",
            32 => "",
            64 => ".64",
            128 => ".128",
            _ => return Err(self.refused(inst)),
        };
        let value = self.gathered(values, ty)?;
        let order = Select::order(data);
        match space {
            Space::Shared => {
                let Address { base, offset } = self.address_of(srcs[0], srcs[1], false)?;
                self.emit.op(&format!("STS{size}"), &[], &[base, offset, value]).map(|_| ())
            }
            Space::Local => {
                let Address { base, offset } = self.address_of(srcs[0], srcs[1], false)?;
                self.emit.op(&format!("STL{size}"), &[], &[base, offset, value]).map(|_| ())
            }
            Space::Global | Space::Generic | Space::Cluster => {
                let base = if space == Space::Cluster { self.of_cluster(srcs[0])? } else { srcs[0] };
                let Address { base, offset } = self.address_of(base, srcs[1], true)?;
                let desc = self.descriptor.unwrap_or(value);
                let name = if space == Space::Global { "STG" } else { "ST" };
                let mnemonic = format!("{name}.E{size}{order}");
                let forms: [(&[Operand], &[Operand]); 2] =
                    [(&[], &[desc, base, offset, value]), (&[], &[base, offset, value])];
                self.emit.first_of(&mnemonic, &forms).map(|_| ())
            }
            Space::Param => self.of_call(inst, &format!("STL{size}"), &[], srcs[0], srcs[1], Some(value)),
            Space::Const => Err(self.refused(inst)),
        }
    }

    /// A load or store of a parameter or result of a call, on either side of it: they are in the caller's frame.
    fn of_call(
        &mut self,
        inst: Inst,
        mnemonic: &str,
        dsts: &[Operand],
        base: Operand,
        offset: Operand,
        value: Option<Operand>,
    ) -> Result<(), Refusal> {
        let (Operand::Local(local), Some(stack)) = (base, self.stack) else { return Err(self.refused(inst)) };
        let offset = self.func.imm_bits(offset).unwrap_or(0) as i64;
        let (at, is_incoming) = match (self.places.local(local), self.places.incoming(local)) {
            (Some(at), _) => (i64::from(at) + offset, false),
            (None, Some(at)) => (i64::from(at) + offset, true),
            (None, None) => return Err(self.refused(inst)),
        };
        let number = self.emit.func.imm(at as u64 & OFFSET_MASK);
        let srcs: SmallVec<[Operand; 3]> = [stack, number].into_iter().chain(value).collect();
        let made = self.emit.op(mnemonic, dsts, &srcs)?;
        if is_incoming {
            self.patches.push(super::Patch { inst: made, source: 1, sign: 1, rest: at, mask: OFFSET_MASK });
        }
        Ok(())
    }

    /// Values side by side in registers: a register by itself, or one made for them.
    pub(super) fn gathered(&mut self, values: &[Operand], ty: Type) -> Result<Operand, Refusal> {
        let (element, none) = (ty.bits(), Modifiers::NONE);
        let words = element.div_ceil(32) as u8;
        if let [single] = values {
            let value = self.source(*single, words)?;
            let value = match value {
                Value::Imm(0, _) => return Ok(Operand::wired(RegFile::R, words)),
                Value::Operand(Operand::Reg(reg)) if self.emit.func.regs()[reg].words >= words => {
                    let info = self.emit.func.regs()[reg];
                    return Ok(if info.words == words { Operand::Reg(reg) } else { Operand::Word(reg, 0) });
                }
                Value::Operand(operand) => return Ok(operand),
                other => other,
            };
            let reg = self.emit.temp(words);
            for word in 0..words {
                let part = if words == 1 { Part::Whole } else { Part::Word(word) };
                let from = self.emit.value(value, part, none, "MOV");
                let to = self.emit.word(Operand::Reg(reg), word);
                self.emit.copy_word(to, from);
            }
            return Ok(Operand::Reg(reg));
        }
        let total = (element * values.len() as u32).div_ceil(32) as u8;
        let reg = self.emit.temp(total);
        if element >= 32 {
            for (at, value) in (0u8..).zip(values) {
                let value = self.source(*value, words)?;
                for word in 0..words {
                    let part = if words == 1 { Part::Whole } else { Part::Word(word) };
                    let from = self.emit.value(value, part, none, "MOV");
                    let to = self.emit.word(Operand::Reg(reg), at * words + word);
                    self.emit.copy_word(to, from);
                }
            }
            return Ok(Operand::Reg(reg));
        }
        // Bytes and halves of a word, one after the other put above those before.
        let each = (32 / element) as usize;
        for (at, values) in (0u8..).zip(values.chunks(each)) {
            let mut word = self.word_value(values[0])?;
            for (place, value) in (1u32..).zip(&values[1..]) {
                let value = self.word_value(*value)?;
                let byte = place * element / 8;
                let taken: u64 = (0..4).map(|at: u32| u64::from(selected(at, byte, element / 8)) << (4 * at)).sum();
                let next = Operand::Reg(self.emit.temp(1));
                let selector = self.emit.func.imm(taken);
                self.emit.op("PRMT", &[next], &[word, selector, value])?;
                word = next;
            }
            let to = self.emit.word(Operand::Reg(reg), at);
            self.emit.copy_word(to, word);
        }
        Ok(Operand::Reg(reg))
    }

    fn word_value(&mut self, operand: Operand) -> Result<Operand, Refusal> {
        let value = self.source(operand, 1)?;
        let operand = self.emit.value(value, Part::Whole, Modifiers::NONE, "MOV");
        Ok(match operand {
            Operand::Imm(_) | Operand::Const { .. } => {
                let reg = Operand::Reg(self.emit.temp(1));
                self.emit.copy_word(reg, operand);
                reg
            }
            other => other,
        })
    }

    fn atomic(&mut self, inst: Inst, data: &InstData) -> Result<(), Refusal> {
        let (dsts, mut srcs) = (self.func.dsts(inst).to_vec(), self.func.srcs(inst).to_vec());
        let (mut space, ty) = (space(data), data.ty());
        let scope = match data.field::<Scope>() {
            Some(Scope::Cta) => ".STRONG.SM",
            Some(Scope::Sys) => ".STRONG.SYS",
            _ => ".STRONG.GPU",
        };
        let words = ty.bits().div_ceil(32) as u8;
        let truth = Operand::wired(RegFile::P, 1);
        let target = dsts.first().copied().unwrap_or(Operand::wired(RegFile::R, words));
        let values = if data.opcode == Opcode::AtomCas { 2 } else { 1 };
        if dsts.len() > 1 || srcs.len() != 2 + values || ty.bits() < 32 {
            return Err(self.refused(inst));
        }
        if space == Space::Cluster {
            (srcs[0], space) = (self.of_cluster(srcs[0])?, Space::Generic);
        }
        let value = self.gathered(&srcs[2..3], ty)?;
        if data.opcode == Opcode::AtomCas {
            let new = self.gathered(&srcs[3..4], ty)?;
            let size = match words {
                1 => "",
                2 => ".64",
                _ => ".128",
            };
            return match space {
                Space::Shared => {
                    let Address { base, offset } = self.address_of(srcs[0], srcs[1], false)?;
                    let mnemonic = format!("ATOMS.CAS{size}");
                    self.emit.op(&mnemonic, &[target], &[base, offset, value, new]).map(|_| ())
                }
                _ => {
                    let Address { base, offset } = self.address_of(srcs[0], srcs[1], true)?;
                    let name = if space == Space::Global { "ATOMG" } else { "ATOM" };
                    let mnemonic = format!("{name}.E.CAS{size}{scope}");
                    self.emit.op(&mnemonic, &[truth, target], &[base, offset, value, new]).map(|_| ())
                }
            };
        }
        let op = match data.field::<AtomOp>() {
            Some(AtomOp::And) => ".AND",
            Some(AtomOp::Or) => ".OR",
            Some(AtomOp::Xor) => ".XOR",
            Some(AtomOp::Exch) => ".EXCH",
            Some(AtomOp::Add) => ".ADD",
            Some(AtomOp::Inc) => ".INC",
            Some(AtomOp::Dec) => ".DEC",
            Some(AtomOp::Min) => ".MIN",
            Some(AtomOp::Max) => ".MAX",
            None => return Err(self.refused(inst)),
        };
        let is_order = matches!(op, ".MIN" | ".MAX");
        let kind = match ty {
            Type::F32 => ".F32.FTZ.RN",
            Type::F64 => ".F64.RN",
            Type::F16x2 => ".F16x2.RN",
            Type::Bf16x2 => ".BF16_V2.RN",
            Type::S32 if is_order => ".S32",
            Type::S64 if is_order => ".S64",
            Type::B64 | Type::U64 | Type::S64 => ".64",
            Type::B128 => ".128",
            _ => "",
        };
        if space == Space::Shared {
            if op != ".EXCH" && (words > 1 || ty.is_float()) {
                return Err(self.refused(inst));
            }
            let Address { base, offset } = self.address_of(srcs[0], srcs[1], false)?;
            let mnemonic = format!("ATOMS{op}{kind}");
            return self.emit.op(&mnemonic, &[target], &[base, offset, value]).map(|_| ());
        }
        let Address { base, offset } = self.address_of(srcs[0], srcs[1], true)?;
        let desc = self.descriptor.unwrap_or(truth);
        let name = if space == Space::Global { "ATOMG" } else { "ATOM" };
        let mnemonic = format!("{name}.E{op}{kind}{scope}");
        let forms: [(&[Operand], &[Operand]); 2] =
            [(&[truth, target], &[desc, base, offset, value]), (&[truth, target], &[base, offset, value])];
        self.emit.first_of(&mnemonic, &forms).map(|_| ())
    }

    /// Tells a cache to read a line ahead, to forget it, or how long to keep it.
    pub(super) fn hint(&mut self, inst: Inst) -> Result<(), Refusal> {
        let data = *self.func.inst(inst);
        let srcs = self.func.srcs(inst).to_vec();
        let hints: &[&str] = match (data.opcode, data.field::<PrefetchLevel>()) {
            (Opcode::Discard, _) => &["RML2"],
            (Opcode::ApplyPriority, _) => &["DML2"],
            (_, Some(PrefetchLevel::L2)) => &["PF2"],
            (_, Some(PrefetchLevel::L2EvictLast)) => &["PML2"],
            (_, Some(PrefetchLevel::L2EvictNormal)) => &["PF2", "DML2"],
            _ => &["PF1"],
        };
        let is_local = space(&data) == Space::Local;
        let Address { base, offset } = self.address_of(srcs[0], srcs[1], !is_local)?;
        for hint in hints {
            let mnemonic = if is_local { format!("CCTLL.{hint}") } else { format!("CCTL.E.{hint}") };
            self.emit.op(&mnemonic, &[], &[base, offset])?;
        }
        Ok(())
    }

    /// Fetches the description of a tensor ahead: at a generic address, or a kernel's parameter.
    pub(super) fn prefetch_map(&mut self, inst: Inst) -> Result<(), Refusal> {
        let [base, offset] = self.func.srcs(inst) else { return Err(self.refused(inst)) };
        let (base, offset) = (*base, *offset);
        let words = match self.parameter_at(base, offset) {
            Some(at) => {
                let layout = self.places.constants;
                let window = self.window(Window::Constant(layout.parameter_window))?;
                let sum = self.sum(window, i64::from(at) - i64::from(layout.parameters), 2)?;
                [0, 1].map(|word| self.emit.word(sum, word)).to_vec()
            }
            None => self.words_at(base, offset, true)?,
        };
        self.emit.each_lane(|emit| {
            let at = emit.uniform(&words)?;
            emit.op("UTMACCTL.PF", &[], &[at]).map(|_| ())
        })
    }

    pub(super) fn refused(&self, inst: Inst) -> Refusal {
        Refusal::Operation { operation: self.func.operation(inst), sm: None }
    }

    /// A base with an offset: in two words, or in one.
    pub(super) fn address_of(&mut self, base: Operand, offset: Operand, is_wide: bool) -> Result<Address, Refusal> {
        let offset = self.func.imm_bits(offset).unwrap_or(0) as i64;
        self.address(base, offset, is_wide)
    }

    /// The same of one word, with a number for the offset.
    pub(super) fn address_beyond(&mut self, base: Operand, offset: i64) -> Result<Address, Refusal> {
        self.address(base, offset, false)
    }

    fn address(&mut self, base: Operand, offset: i64, is_wide: bool) -> Result<Address, Refusal> {
        let words = if is_wide { 2 } else { 1 };
        let fits = |offset: i64| (-(1 << (OFFSET_BITS - 1))..1 << (OFFSET_BITS - 1)).contains(&offset);
        if let (Operand::Local(local), Some(stack), false) = (base, self.stack, is_wide)
            && let Some(place) = self.places.local(local)
        {
            let sum = i64::from(place) + offset;
            let (base, rest) = if fits(sum) { (stack, sum) } else { (self.sum(stack, sum, 1)?, 0) };
            return Ok(Address { base, offset: self.emit.func.imm(rest as u64 & OFFSET_MASK) });
        }
        let value = self.source(base, words)?;
        let (base, rest) = match value {
            // A number is an offset from zero; of 64 bits it may be too far.
            Value::Imm(bits, _) => {
                let sum = if is_wide { bits.wrapping_add(offset as u64) as i64 } else { bits as u32 as i64 + offset };
                if (0..1 << (OFFSET_BITS - 1)).contains(&sum) {
                    (Operand::wired(RegFile::R, words), sum)
                } else {
                    (self.in_registers(Value::Imm(bits, words), words), offset)
                }
            }
            Value::Operand(Operand::Reg(reg)) if self.emit.func.regs()[reg].words > words => {
                (Operand::Word(reg, 0), offset)
            }
            Value::Operand(Operand::Reg(reg)) if self.emit.func.regs()[reg].words < words => {
                (self.widened(reg)?, offset)
            }
            Value::Operand(operand) => (operand, offset),
            other => (self.in_registers(other, words), offset),
        };
        let (base, rest) = if fits(rest) { (base, rest) } else { (self.sum(base, rest, words)?, 0) };
        Ok(Address { base, offset: self.emit.func.imm(rest as u64 & OFFSET_MASK) })
    }

    /// A 32-bit address in two words.
    fn widened(&mut self, reg: Reg) -> Result<Operand, Refusal> {
        let wide = Operand::Reg(self.emit.temp(2));
        let (low, high) = (self.emit.word(wide, 0), self.emit.word(wide, 1));
        self.emit.copy_word(low, Operand::Reg(reg));
        self.emit.copy_word(high, Operand::wired(RegFile::R, 1));
        Ok(wide)
    }

    pub(super) fn in_registers(&mut self, value: Value, words: u8) -> Operand {
        if let (Value::Const(..), 2) = (value, words) {
            return self.emit.value(value, Part::Whole, Modifiers::NONE, "MOV");
        }
        let reg = Operand::Reg(self.emit.temp(words));
        // Of a wider register it is the lower part.
        let is_wider = matches!(value, Value::Operand(Operand::Reg(own)) if self.emit.func.regs()[own].words > words);
        for word in 0..words {
            let part = if words == 1 && !is_wider { Part::Whole } else { Part::Word(word) };
            let from = self.emit.value(value, part, Modifiers::NONE, "MOV");
            let to = self.emit.word(reg, word);
            self.emit.copy_word(to, from);
        }
        reg
    }

    /// A base with a number added to it.
    pub(super) fn sum(&mut self, base: Operand, offset: i64, words: u8) -> Result<Operand, Refusal> {
        let made = Operand::Reg(self.emit.temp(words));
        let (truth, zero) = (Operand::wired(RegFile::P, 1), Operand::wired(RegFile::R, 1));
        let none = never();
        let low = self.emit.func.imm(offset as u64 & 0xffff_ffff);
        let carry = if words == 2 { Operand::Reg(self.emit.new_reg(RegInfo::PRED)) } else { truth };
        let (to, from) = (self.emit.word(made, 0), self.emit.word(base, 0));
        self.emit.op("IADD3", &[to, carry, truth], &[from, low, zero, none, none])?;
        if words == 2 {
            let high = self.emit.func.imm(offset as u64 >> 32);
            let (to, from) = (self.emit.word(made, 1), self.emit.word(base, 1));
            self.emit.op("IADD3.X", &[to, truth, truth], &[from, high, zero, carry, none])?;
        }
        Ok(made)
    }

    /// A base and an offset in the bank of constant variables.
    fn constant_address(&mut self, base: Operand, offset: Operand) -> Result<(Operand, u32), Refusal> {
        let offset = self.func.imm_bits(offset).unwrap_or(0) as i32;
        let zero = Operand::wired(RegFile::R, 1);
        Ok(match self.source(base, 1)? {
            Value::Imm(bits, _) => (zero, (bits as u32).wrapping_add_signed(offset)),
            Value::Operand(Operand::Reg(reg)) if self.emit.func.regs()[reg].words == 2 => {
                self.constant_sum(Operand::Word(reg, 0), offset)?
            }
            Value::Operand(operand) => self.constant_sum(operand, offset)?,
            other => {
                let base = self.in_registers(other, 1);
                self.constant_sum(base, offset)?
            }
        })
    }

    /// Offsets in banks have no sign.
    fn constant_sum(&mut self, base: Operand, offset: i32) -> Result<(Operand, u32), Refusal> {
        match u32::try_from(offset) {
            Ok(offset) if offset < 0x8000 => Ok((base, offset)),
            _ => Ok((self.sum(base, offset.into(), 1)?, 0)),
        }
    }

    /// The address of a variable or function.
    pub(super) fn symbol(&mut self, operand: Operand, words: u8) -> Result<Value, Refusal> {
        Ok(match operand {
            Operand::Local(local) if let Some(offset) = self.places.number(Number::Parameter(local)) => {
                Value::Const(0, offset, words)
            }
            Operand::Global(global) if let Some(offset) = self.places.number(Number::Variable(global)) => {
                Value::Const(0, offset, words)
            }
            Operand::Local(local) => match (self.places.local(local), self.stack) {
                (Some(offset), Some(stack)) => {
                    let low = self.sum(stack, offset.into(), 1)?;
                    Value::Operand(match low {
                        Operand::Reg(reg) if words == 2 => self.widened(reg)?,
                        _ => low,
                    })
                }
                _ => Value::Imm(u64::from(self.places.parameter(local).unwrap_or(0)), words),
            },
            Operand::Global(global) => match (self.places.address(global), self.rank) {
                (Some(address), Some(rank)) if self.places.is_shared(global) => {
                    let low = self.sum(rank, address.into(), 1)?;
                    Value::Operand(match low {
                        Operand::Reg(reg) if words == 2 => self.widened(reg)?,
                        _ => low,
                    })
                }
                (Some(address), _) => Value::Imm(address.into(), words),
                (None, _) => self.entry(SymbolRef::Global(global))?,
            },
            Operand::Func(id) => {
                Value::Imm(self.places.pointers.number(id).ok_or(Refusal::Operand("this function"))?, words)
            }
            _ => return Err(Refusal::Operand("this address")),
        })
    }

    pub(super) fn entry(&self, symbol: SymbolRef) -> Result<Value, Refusal> {
        let offset = self.places.entry(symbol).ok_or(Refusal::Operand("this symbol"))?;
        Ok(Value::Const(ADDRESSES, offset, 2))
    }

    /// Between generic addresses and those of a space.
    pub(super) fn cvta(&mut self, inst: Inst) -> Result<(), Refusal> {
        let (func, data) = (self.func, self.func.inst(inst));
        let (dst, src) = (func.dsts(inst)[0], func.srcs(inst)[0]);
        let words = func.operand_info(dst).map_or(2, |info| info.words);
        let value = self.source(src, words)?;
        let to_generic = data.field::<CvtaDirection>() != Some(CvtaDirection::FromGeneric);
        let window = match space(data) {
            Space::Global => None,
            Space::Shared => Some(Window::Shared { is_own: self.rank.is_none() }),
            Space::Cluster => Some(Window::Shared { is_own: false }),
            Space::Local => Some(Window::Constant(self.places.constants.local_window)),
            Space::Const => Some(Window::Constant(self.places.constants.constant_window)),
            Space::Param if self.func.kind == FunctionKind::Entry => {
                Some(Window::Constant(self.places.constants.parameter_window))
            }
            _ => return Err(self.refused(inst)),
        };
        // The driver says where the bank is, from Hopper on where its parameters are; offsets are from the bank's
        // beginning and less than 2^16, so nothing carries.
        let layout = self.places.constants;
        let before = if space(data) == Space::Param && layout.clusters.is_some() { layout.parameters } else { 0 };
        let (value, before) = match value {
            Value::Imm(bits, words) if to_generic => (Value::Imm(bits.wrapping_sub(before.into()), words), 0),
            other => (other, before),
        };
        let mut parts: SmallVec<[Operand; 2]> = (0..words)
            .map(|word| {
                let part = if words == 1 { Part::Whole } else { Part::Word(word) };
                self.emit.value(value, part, Modifiers::NONE, "MOV")
            })
            .collect();
        if to_generic && before > 0 {
            parts[0] = self.sum(parts[0], -i64::from(before), 1)?;
        }
        let Some(window) = window else {
            for (word, part) in (0..).zip(parts) {
                let to = self.emit.word(dst, word);
                self.emit.copy_word(to, part);
            }
            return Ok(());
        };
        let (truth, zero) = (Operand::wired(RegFile::P, 1), Operand::wired(RegFile::R, 1));
        let none = never();
        let base = self.window(window)?;
        let made = Operand::Reg(self.emit.temp(words));
        let carry = if words == 2 { Operand::Reg(self.emit.new_reg(RegInfo::PRED)) } else { truth };
        let sign = |operand: Operand| if to_generic { operand } else { marked(operand, Modifiers::NEGATE) };
        let (low, base_low) = (self.emit.word(made, 0), sign(self.emit.word(base, 0)));
        let shifts = !to_generic && before > 0;
        let distance = if shifts { Operand::Reg(self.emit.temp(1)) } else { low };
        self.emit.op("IADD3", &[distance, carry, truth], &[base_low, parts[0], zero, none, none])?;
        if shifts {
            let number = self.emit.func.imm(before.into());
            self.emit.op("IADD3", &[low, truth, truth], &[distance, number, zero, none, none])?;
        }
        if words == 2 {
            let (high, base_high) = (self.emit.word(made, 1), sign(self.emit.word(base, 1)));
            self.emit.op("IADD3.X", &[high, truth, truth], &[base_high, parts[1], zero, carry, none])?;
        }
        self.emit.copy(dst, made);
        Ok(())
    }

    /// Whether a generic address is one of a space.
    pub(super) fn is_of_space(&mut self, inst: Inst) -> Result<(), Refusal> {
        let (func, data) = (self.func, self.func.inst(inst));
        let (dst, src) = (func.dsts(inst)[0], func.srcs(inst)[0]);
        let zero = func.srcs(inst).get(1).copied().unwrap_or(Operand::Undef);
        let layout = self.places.constants;
        let constants = self.places.bank_size;
        let parameters = layout.parameters + self.places.parameter_size;
        let ask = match space(data) {
            Space::Global => "QSPC.E.G",
            Space::Shared => "QSPC.E.S",
            Space::Cluster => "QSPC.E.D",
            Space::Local => "QSPC.E.L",
            Space::Const => return self.is_between(dst, src, layout.constant_window, 0, constants),
            // The window is that of the whole bank where the driver says no other.
            Space::Param if layout.clusters.is_none() => {
                return self.is_between(dst, src, layout.parameter_window, layout.parameters, parameters);
            }
            Space::Param => {
                return self.is_between(dst, src, layout.parameter_window, 0, self.places.parameter_size);
            }
            Space::Generic => return Err(self.refused(inst)),
        };
        let Address { base, offset } = self.address_of(src, zero, true)?;
        let none = Operand::wired(RegFile::R, 1);
        if space(data) != Space::Global || constants == 0 {
            return self.emit.op(ask, &[dst, none], &[base, offset]).map(|_| ());
        }
        // The machine takes constants for a part of global memory.
        let [is_global, is_constant] = [(); 2].map(|()| Operand::Reg(self.emit.new_reg(RegInfo::PRED)));
        self.emit.op(ask, &[is_global, none], &[base, offset])?;
        self.is_between(is_constant, src, layout.constant_window, 0, constants)?;
        let (truth, table, rest) = (Operand::wired(RegFile::P, 1), self.emit.func.imm(0x30), self.emit.func.imm(0));
        self.emit.op("PLOP3.LUT", &[dst, truth], &[is_global, is_constant, truth, table, rest]).map(|_| ())
    }

    /// Whether an address is, from a generic address that bank 0 has, at least `from` bytes on and less than `to`.
    fn is_between(&mut self, dst: Operand, src: Operand, window: u32, from: u32, to: u32) -> Result<(), Refusal> {
        let (truth, zero) = (Operand::wired(RegFile::P, 1), Operand::wired(RegFile::R, 1));
        let none = never();
        let value = self.source(src, 2)?;
        let [carry, is_low] = [(); 2].map(|()| Operand::Reg(self.emit.new_reg(RegInfo::PRED)));
        let [low, high, rest] = [(); 3].map(|()| Operand::Reg(self.emit.temp(1)));
        // How far it is from there, in 64 bits: below the length if the high word is zero and the low one is.
        let [base_low, base_high] = [window, window + 4].map(|at| self.bank_word(at));
        let [given_low, given_high] =
            [0, 1].map(|word| self.emit.value(value, Part::Word(word), Modifiers::NONE, "MOV"));
        let negated = |operand| marked(operand, Modifiers::NEGATE);
        self.emit.op("IADD3", &[low, carry, truth], &[negated(base_low), given_low, zero, none, none])?;
        self.emit.op("IADD3.X", &[high, truth, truth], &[negated(base_high), given_high, zero, carry, none])?;
        let [start, length] = [from.wrapping_neg(), to - from].map(|number| self.emit.func.imm(u64::from(number)));
        self.emit.op("IADD3", &[rest, truth, truth], &[low, start, zero, none, none])?;
        self.emit.op("ISETP.LT.U32.AND", &[is_low, truth], &[rest, length, truth, truth])?;
        self.emit.op("ISETP.EQ.U32.AND", &[dst, truth], &[high, zero, is_low, truth]).map(|_| ())
    }

    /// Where a window of generic addresses begins, in registers.
    fn window(&mut self, window: Window) -> Result<Operand, Refusal> {
        let reg = Operand::Reg(self.emit.temp(2));
        match window {
            Window::Constant(offset) => {
                for word in 0..2 {
                    let (to, from) = (self.emit.word(reg, word), Operand::constant(0, offset + 4 * u32::from(word)));
                    self.emit.copy_word(to, from);
                }
            }
            Window::Shared { is_own } => {
                let (low, high) = (self.emit.word(reg, 0), self.emit.word(reg, 1));
                if is_own && self.emit.table.sm >= CLUSTERS {
                    let (rank, name) = (Operand::Reg(self.emit.temp(1)), self.emit.func.name("SR_CgaCtaId"));
                    let (bits, zero) = (self.emit.func.imm(OFFSET_BITS.into()), Operand::wired(RegFile::R, 1));
                    self.emit.op("S2R", &[rank], &[name])?;
                    self.emit.op("SHF.L.U32", &[low], &[rank, bits, zero])?;
                } else {
                    self.emit.copy_word(low, Operand::wired(RegFile::R, 1));
                }
                match self.places.constants.shared_window {
                    Some(offset) => self.emit.copy_word(high, Operand::constant(0, offset)),
                    None => {
                        let name = self.emit.func.name("SR_SWINHI");
                        self.emit.op("S2R", &[high], &[name])?;
                    }
                }
            }
        }
        Ok(reg)
    }
}

/// A window of generic addresses.
enum Window {
    /// Its first address is in bank 0.
    Constant(u32),
    /// That of shared memory: of the block's own, or of its cluster's, where addresses say whose.
    Shared { is_own: bool },
}

/// The first SM with clusters: there a generic address of shared memory has the rank of its block.
pub(super) const CLUSTERS: u16 = 90;

/// The byte that a selector takes at a place: of the second operand from a byte on, for as many as an element has, else
/// of the first.
fn selected(at: u32, byte: u32, len: u32) -> u32 {
    if (byte..byte + len).contains(&at) { 4 + at - byte } else { at }
}
