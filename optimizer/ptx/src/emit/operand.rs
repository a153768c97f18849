//! Operands as text, brought into registers where PTX asks for one.

use std::fmt::Write;

use super::EmitError;
use super::function::{FunctionWriter, Temp};
use oriole_ir::ops::{Space, Type};
use oriole_ir::{Operand, Reg};

/// Added to the number of a word: the part is its low half.
pub(super) const HALF: u8 = 1 << 7;
/// Added to the number of a pair of words: the part is the pair.
const DOUBLE: u8 = 1 << 6;

impl FunctionWriter<'_> {
    /// A source of a type: a register, or a constant where PTX has a way to write one.
    pub(super) fn source(&mut self, operand: Operand, ty: Type) -> Result<String, EmitError> {
        match operand {
            Operand::Imm(imm) if ty.bits() <= 64 && ty != Type::Pred && has_constants(ty) => {
                Ok(immediate(self.func.bits(imm), ty))
            }
            other => self.register(other, ty),
        }
    }

    /// A source of a type in a register: 16-bit types in a 16-bit one, all others in one of their size.
    pub(super) fn register(&mut self, operand: Operand, ty: Type) -> Result<String, EmitError> {
        let is_constant = matches!(operand, Operand::Imm(_) | Operand::Undef);
        if ty.bits() != 16 || is_constant || self.is_half(operand) {
            return self.wide_register(operand, ty);
        }
        self.half(operand, ty)
    }

    /// The low half of a word: once for all reads up to the next block or write of the register.
    fn half(&mut self, operand: Operand, ty: Type) -> Result<String, EmitError> {
        let part = match operand {
            Operand::Reg(reg) => Some((reg, HALF)),
            Operand::Word(reg, word) => Some((reg, HALF | word)),
            _ => None,
        };
        if let Some(half) = part.and_then(|(reg, part)| self.known_part(reg, part)) {
            return Ok(half);
        }
        let (from, wide) = match operand {
            Operand::Word(reg, 0) if self.func.regs()[reg].words == 2 && self.known_part(reg, 0).is_none() => {
                (64, self.reg(reg))
            }
            operand => (32, self.wide_register(operand, ty)?),
        };
        let half = self.temp(Temp::Half);
        self.line(format_args!("cvt.u16.u{from} {half}, {wide}"));
        if let Some((reg, part)) = part {
            self.words.entry(reg).or_default().push((part, half.clone()));
        }
        Ok(half)
    }

    /// The temporary that holds a part of a register.
    fn known_part(&self, reg: Reg, part: u8) -> Option<String> {
        let known = self.words.get(&reg).into_iter().flatten().find(|(known, _)| *known == part);
        known.map(|(_, temp)| temp.clone())
    }

    /// A source in a register of whole words, a constant in one of its type.
    pub(super) fn wide_register(&mut self, operand: Operand, ty: Type) -> Result<String, EmitError> {
        match operand {
            Operand::Reg(reg) => Ok(self.reg(reg)),
            Operand::Word(reg, word) => Ok(self.word(reg, word)),
            Operand::Imm(imm) => Ok(self.constant_register(self.func.bits(imm), ty)),
            // Whatever a register holds that nobody wrote may stand for an undefined value.
            Operand::Undef => Ok(self.constant_register(0, ty)),
            Operand::Global(_) | Operand::Local(_) | Operand::Func(_) => {
                let name = self.symbol(operand);
                let double = ty.bits() == 64;
                let temp = self.temp(if double { Temp::Double } else { Temp::Word });
                self.line(format_args!("mov.u{} {temp}, {name}", if double { 64 } else { 32 }));
                Ok(temp)
            }
            Operand::Special(special) => {
                let temp = self.temp(Temp::of(ty));
                self.line(format_args!("mov.b{} {temp}, %{}", ty.bits(), special.name()));
                Ok(temp)
            }
            Operand::Modified { .. } => Err(self.refuse("PTX has no source modifiers")),
            Operand::Const { .. } => Err(self.refuse("PTX has no constant banks")),
            Operand::Wired { .. } => Err(self.refuse("PTX has no wired registers")),
            Operand::Block(_) | Operand::Name(_) => Err(self.refuse("this is not a value")),
        }
    }

    /// A register with a constant: one for all places of an instruction where the constant stands.
    fn constant_register(&mut self, bits: u64, ty: Type) -> String {
        let kind = Temp::of(ty);
        if let Some((.., known)) = self.constants.iter().find(|(known, of, _)| (*known, *of) == (bits, kind)) {
            return known.clone();
        }
        let temp = self.temp(kind);
        match kind {
            Temp::Pred => self.line(format_args!("mov.pred {temp}, {}", bits & 1)),
            Temp::Byte | Temp::Half => self.line(format_args!("mov.b16 {temp}, {:#x}", bits & 0xFFFF)),
            Temp::Word => self.line(format_args!("mov.b32 {temp}, {:#x}", bits & 0xFFFF_FFFF)),
            Temp::Double => self.line(format_args!("mov.b64 {temp}, {bits:#x}")),
            Temp::Quad => {
                let [low, high] = [bits, 0].map(|half| self.constant_register(half, Type::B64));
                self.line(format_args!("mov.b128 {temp}, {{{low}, {high}}}"));
            }
        }
        self.constants.push((bits, kind, temp.clone()));
        temp
    }

    /// One word of a wider register: once for all reads up to the next block or write of the register.
    fn word(&mut self, reg: Reg, word: u8) -> String {
        let name = self.reg(reg);
        if self.func.regs()[reg].words <= 1 {
            return name;
        }
        if let Some(temp) = self.known_part(reg, word) {
            return temp;
        }
        let temp = self.unpacked(reg, name, word);
        self.words.entry(reg).or_default().push((word, temp.clone()));
        temp
    }

    fn unpacked(&mut self, reg: Reg, name: String, word: u8) -> String {
        let temp = self.temp(Temp::Word);
        let double = if self.func.regs()[reg].words == 2 { name } else { self.double(reg, &name, word / 2) };
        let parts = if word.is_multiple_of(2) { format!("{{{temp}, _}}") } else { format!("{{_, {temp}}}") };
        self.line(format_args!("mov.b64 {parts}, {double}"));
        temp
    }

    /// One half of a register of 128 bits: once for all reads, as its words.
    fn double(&mut self, reg: Reg, name: &str, half: u8) -> String {
        let part = DOUBLE | half;
        if let Some(double) = self.known_part(reg, part) {
            return double;
        }
        let double = self.temp(Temp::Double);
        let parts = if half == 0 { format!("{{{double}, _}}") } else { format!("{{_, {double}}}") };
        self.line(format_args!("mov.b128 {parts}, {name}"));
        self.words.entry(reg).or_default().push((part, double.clone()));
        double
    }

    /// The name of a variable or function.
    pub(super) fn symbol(&self, operand: Operand) -> String {
        match operand {
            Operand::Global(id) => self.module.globals[id].name.clone(),
            Operand::Local(id) => self.func.locals[id].name.clone(),
            Operand::Func(id) => self.module.functions[id].name.clone(),
            _ => String::new(),
        }
    }

    /// An address of a type without brackets: a register, a symbol or a number.
    pub(super) fn base(&mut self, operand: Operand, ty: Type) -> Result<String, EmitError> {
        match operand {
            Operand::Local(_) if self.is_parameter_elsewhere(operand) => self.wide_register(operand, ty),
            Operand::Global(_) | Operand::Local(_) => Ok(self.symbol(operand)),
            Operand::Imm(imm) => Ok(self.func.bits(imm).to_string()),
            Operand::Reg(_) | Operand::Undef => self.wide_register(operand, ty),
            _ => self.wide_register(operand, Type::B32),
        }
    }

    /// Whether a parameter is in an access to another space. ptxas takes its name in accesses to `.param` alone;
    /// `mov` yields its address in the local window (PTX ISA, "Moving an Address").
    fn is_parameter_elsewhere(&self, operand: Operand) -> bool {
        let Operand::Local(local) = operand else { return false };
        self.func.locals[local].space == Space::Param
            && self.accessed_space().is_some_and(|space| space != Space::Param)
    }

    /// `[base+offset]`. ptxas takes a number as an address in local memory alone; elsewhere a register holds it.
    pub(super) fn address(&mut self, base: Operand, offset: Operand) -> Result<String, EmitError> {
        let offset = self.func.imm_bits(offset).unwrap_or(0) as i64;
        if let Some(bits) = self.func.imm_bits(base) {
            let bits = bits.wrapping_add(offset as u64);
            let is_local = self.accessed_space() == Some(Space::Local);
            let address = if is_local { bits.to_string() } else { self.constant_register(bits, Type::B64) };
            return Ok(format!("[{address}]"));
        }
        let near = i32::try_from(offset).is_ok();
        let base = if near {
            self.base(base, Type::B64)?
        } else {
            let (base, sum) = (self.wide_register(base, Type::B64)?, self.temp(Temp::Double));
            self.line(format_args!("add.s64 {sum}, {base}, {offset}"));
            sum
        };
        let mut text = format!("[{base}");
        if near && offset != 0 {
            let _ = write!(text, "+{offset}");
        }
        text.push(']');
        Ok(text)
    }

    /// A destination of a type: the register itself, or a 16-bit temporary that [`Self::write_back`] widens.
    pub(super) fn target(&mut self, operand: Operand, ty: Type) -> Result<String, EmitError> {
        match operand {
            Operand::Reg(_) if ty.bits() == 16 && !self.is_half(operand) => Ok(self.temp(Temp::Half)),
            Operand::Reg(reg) => Ok(self.reg(reg)),
            _ => Err(self.refuse("a destination is not a register")),
        }
    }

    /// Widens what is in a 16-bit temporary into the register that the IR has; only conversions extend the sign.
    pub(super) fn write_back(&mut self, operand: Operand, ty: Type, written: &str, signed: bool) {
        if let (Operand::Reg(reg), 16, false) = (operand, ty.bits(), self.is_half(operand)) {
            let name = self.reg(reg);
            let sign = if ty.is_signed() && signed { 's' } else { 'u' };
            self.guarded(format_args!("cvt.{sign}32.{sign}16 {name}, {written}"));
            if self.guard.is_empty() {
                self.written_halves.push((reg, written.to_owned()));
            }
        }
    }
}

/// Whether ptxas takes constants of the type: of no packed type, and of no float but those of 32 and 64 bits.
fn has_constants(ty: Type) -> bool {
    let is_packed = matches!(ty, Type::U16x2 | Type::S16x2);
    !is_packed && (!ty.is_float() || matches!(ty, Type::F32 | Type::F64))
}

/// A constant as PTX writes it for a type.
pub(super) fn immediate(bits: u64, ty: Type) -> String {
    let shift = 64 - ty.bits().clamp(1, 64);
    let (unsigned, signed) = (bits << shift >> shift, (bits << shift) as i64 >> shift);
    match ty {
        Type::F32 => format!("0f{unsigned:08X}"),
        Type::F64 => format!("0d{unsigned:016X}"),
        Type::S64 if signed == i64::MIN => format!("{unsigned:#x}"),
        ty if ty.is_signed() => format!("{signed}"),
        _ => format!("{unsigned}"),
    }
}
