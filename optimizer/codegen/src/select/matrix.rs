//! Matrices that the lanes of a warp hold together, and copies from global to shared memory beside the thread.

use oriole_ir::ops::{
    Addend, AsyncCache, BitProduct, LeftElement, MatrixCount, MatrixShape, Opcode, RightElement, Rounding, SatFinite,
    Space, Transpose, Type,
};
use oriole_ir::{Inst, InstData, Modifiers, Operand, Reg, RegFile, RegInfo};

use super::emit::never;
use super::memory::Address;
use super::table::Part;
use super::{Refusal, Select, Value};

/// Products by shape and elements: the mnemonic without the elements.
const PRODUCTS: &[(MatrixShape, &[LeftElement], &str)] = &[
    (MatrixShape::M16n8k8, &[LeftElement::F16, LeftElement::Bf16], "HMMA.1688"),
    (MatrixShape::M16n8k16, &[LeftElement::F16, LeftElement::Bf16], "HMMA.16816"),
    (MatrixShape::M16n8k4, &[LeftElement::Tf32], "HMMA.1684"),
    (MatrixShape::M16n8k8, &[LeftElement::Tf32], "HMMA.1688"),
    (MatrixShape::M8n8k16, &[LeftElement::S8, LeftElement::U8], "IMMA.8816"),
    (MatrixShape::M16n8k16, &[LeftElement::S8, LeftElement::U8], "IMMA.16816"),
    (MatrixShape::M16n8k32, &[LeftElement::S8, LeftElement::U8], "IMMA.16832"),
    (MatrixShape::M8n8k32, &[LeftElement::S4, LeftElement::U4], "IMMA.8832"),
    (MatrixShape::M16n8k32, &[LeftElement::S4, LeftElement::U4], "IMMA.16832"),
    (MatrixShape::M16n8k64, &[LeftElement::S4, LeftElement::U4], "IMMA.16864"),
    (MatrixShape::M8n8k128, &[LeftElement::B1], "BMMA.88128"),
    (MatrixShape::M16n8k128, &[LeftElement::B1], "BMMA.168128"),
    (MatrixShape::M16n8k256, &[LeftElement::B1], "BMMA.168256"),
];

/// The name of an element in mnemonics.
fn element(of: LeftElement) -> &'static str {
    match of {
        LeftElement::Bf16 => ".BF16",
        LeftElement::Tf32 => ".TF32",
        LeftElement::S8 => ".S8",
        LeftElement::U8 => ".U8",
        LeftElement::S4 => ".S4",
        LeftElement::U4 => ".U4",
        _ => "",
    }
}

/// The scoreboard that counts groups of copies.
const COPIES: u64 = 0;

impl Select<'_> {
    /// An operation of this file.
    pub(super) fn matrix(&mut self, inst: Inst) -> Result<(), Refusal> {
        let data = *self.func.inst(inst);
        match data.opcode {
            Opcode::Mma => self.product(inst, &data),
            Opcode::LdMatrix => self.load_matrices(inst, &data),
            Opcode::StMatrix => self.store_matrices(inst, &data),
            Opcode::MovMatrix => {
                let (dst, src) = (self.func.dsts(inst)[0], self.func.srcs(inst)[0]);
                let value = self.source(src, 1)?;
                let from = self.in_registers(value, 1);
                self.emit.op("MOVM.16.MT88", &[dst], &[from]).map(|_| ())
            }
            Opcode::CpAsync => self.copy_beside(inst, &data),
            Opcode::CpAsyncCommit => self.emit.op("LDGDEPBAR", &[], &[]).map(|_| ()),
            Opcode::CpAsyncWaitAll => {
                self.emit.op("LDGDEPBAR", &[], &[])?;
                self.wait_for_copies(0)
            }
            Opcode::CpAsyncWait => {
                let most = self.func.imm_bits(self.func.srcs(inst)[0]).unwrap_or(0);
                self.wait_for_copies(most)
            }
            _ => Err(self.refused(inst)),
        }
    }

    fn wait_for_copies(&mut self, most: u64) -> Result<(), Refusal> {
        let numbers = [COPIES, most, 0].map(|number| self.emit.func.imm(number));
        self.emit.op("DEPBAR.LE", &[], &numbers).map(|_| ())
    }

    /// Words side by side in one register.
    fn group(&mut self, words: &[Operand]) -> Result<Operand, Refusal> {
        if words.iter().all(|word| self.func.imm_bits(*word) == Some(0)) && matches!(words.len(), 1 | 2 | 4) {
            return Ok(Operand::wired(RegFile::R, words.len() as u8));
        }
        let reg = Operand::Reg(self.emit.temp(words.len() as u8));
        for (at, word) in (0u8..).zip(words) {
            let value = self.source(*word, 1)?;
            let from = self.emit.value(value, Part::Whole, Modifiers::NONE, "MOV");
            let to = self.emit.word(reg, at);
            self.emit.copy_word(to, from);
        }
        Ok(reg)
    }

    /// Takes the words of a register apart.
    fn spread(&mut self, from: Reg, dsts: &[Operand]) {
        for (at, dst) in (0u8..).zip(dsts) {
            let word = self.emit.word(Operand::Reg(from), at);
            self.emit.copy_word(*dst, word);
        }
    }

    fn product(&mut self, inst: Inst, data: &InstData) -> Result<(), Refusal> {
        let (shape, left) = (data.field::<MatrixShape>(), data.field::<LeftElement>());
        let (Some(shape), Some(left)) = (shape, left) else { return Err(self.refused(inst)) };
        let right = data.field::<RightElement>().map_or(left, LeftElement::from);
        if (shape, left) == (MatrixShape::M8n8k4, LeftElement::F64) {
            return self.double_product(inst, data);
        }
        let row = PRODUCTS.iter().find(|(known, elements, _)| *known == shape && elements.contains(&left));
        let Some((.., name)) = row else { return Err(self.refused(inst)) };
        let (dsts, srcs) = (self.func.dsts(inst).to_vec(), self.func.srcs(inst).to_vec());
        // How many words each operand has, as the operation lists them.
        let counts = self.matrix_words(shape, left, data);
        let [a, b, c] = counts;
        if a + b + c != srcs.len() {
            return Err(self.refused(inst));
        }
        let left_words = self.group(&srcs[..a])?;
        let right_words = self.group(&srcs[a..a + b])?;
        let addend = self.group(&srcs[a + b..])?;
        let made = self.emit.temp(dsts.len() as u8);
        let truth = Operand::wired(RegFile::UP, 1);
        if !name.starts_with("HMMA") {
            let saturates = if data.field::<SatFinite>() == Some(SatFinite::SatFinite) { ".SAT" } else { "" };
            let bits = match data.field::<BitProduct>() {
                Some(BitProduct::And) => ".AND.POPC",
                Some(BitProduct::Xor) => ".XOR.POPC",
                _ => "",
            };
            let mnemonic = format!("{name}{}{}{saturates}{bits}", element(left), element(right));
            let (by_rows, by_columns) = (self.emit.func.name("ROW"), self.emit.func.name("COL"));
            let long = [left_words, by_rows, right_words, by_columns, addend, truth];
            let forms: [(&[Operand], &[Operand]); 2] =
                [(&[Operand::Reg(made)], &long), (&[Operand::Reg(made)], &long[..5])];
            self.emit.first_of(&mnemonic, &forms)?;
        } else {
            let sum = if data.ty() == Type::F16 { ".F16" } else { ".F32" };
            let mnemonic = format!("{name}{sum}{}", element(left));
            let long = [left_words, right_words, addend, truth];
            let forms: [(&[Operand], &[Operand]); 2] =
                [(&[Operand::Reg(made)], &long), (&[Operand::Reg(made)], &long[..3])];
            self.emit.first_of(&mnemonic, &forms)?;
        }
        self.spread(made, &dsts);
        Ok(())
    }

    /// A product of doubles: an element of each factor, two of the addend.
    fn double_product(&mut self, inst: Inst, data: &InstData) -> Result<(), Refusal> {
        let (dsts, srcs) = (self.func.dsts(inst).to_vec(), self.func.srcs(inst).to_vec());
        let [left, right, addends @ ..] = &srcs[..] else { return Err(self.refused(inst)) };
        let rounding = match data.field::<Rounding>() {
            Some(Rounding::Rm) => ".RM",
            Some(Rounding::Rp) => ".RP",
            Some(Rounding::Rz) => ".RZ",
            _ => "",
        };
        let left = self.gathered(&[*left], Type::F64)?;
        let right = self.gathered(&[*right], Type::F64)?;
        let addend = self.gathered(addends, Type::F64)?;
        let made = Operand::Reg(self.emit.temp(4));
        let truth = Operand::wired(RegFile::UP, 1);
        let long = [left, right, addend, truth];
        let shape = if self.emit.table.sm < 90 { "884" } else { "8x8x4" };
        let forms: [(&[Operand], &[Operand]); 2] = [(&[made], &long), (&[made], &long[..3])];
        self.emit.first_of(&format!("DMMA.{shape}{rounding}"), &forms)?;
        self.taken_apart(made, &dsts, Type::F64)
    }

    /// The words of both factors and of the addend in a lane.
    fn matrix_words(&self, shape: MatrixShape, left: LeftElement, data: &InstData) -> [usize; 3] {
        let [rows, columns, inner] = shape.extents();
        let words = |elements: usize, bits: u32| (elements * bits as usize).div_ceil(32 * 32).max(1);
        let sum = match data.field::<Addend>() {
            Some(Addend::F16) => 16,
            _ => 32,
        };
        [words(rows * inner, left.bits()), words(inner * columns, left.bits()), words(rows * columns, sum)]
    }

    fn load_matrices(&mut self, inst: Inst, data: &InstData) -> Result<(), Refusal> {
        let (dsts, srcs) = (self.func.dsts(inst).to_vec(), self.func.srcs(inst).to_vec());
        if data.field::<Space>() != Some(Space::Shared) {
            return Err(self.refused(inst));
        }
        let Address { base, offset } = self.address_of(srcs[0], srcs[1], false)?;
        let made = self.emit.temp(dsts.len() as u8);
        let mnemonic = format!("LDSM.16{}{}", shape(data), count(data));
        self.emit.op(&mnemonic, &[Operand::Reg(made)], &[base, offset])?;
        self.spread(made, &dsts);
        Ok(())
    }

    fn store_matrices(&mut self, inst: Inst, data: &InstData) -> Result<(), Refusal> {
        let srcs = self.func.srcs(inst).to_vec();
        if data.field::<Space>() != Some(Space::Shared) {
            return Err(self.refused(inst));
        }
        let words = self.group(&srcs[2..])?;
        let Address { base, offset } = self.address_of(srcs[0], srcs[1], false)?;
        let mnemonic = format!("STSM.16{}{}", shape(data), count(data));
        self.emit.op(&mnemonic, &[], &[base, offset, words]).map(|_| ())
    }

    /// A copy of 4, 8 or 16 bytes from global to shared memory. Where it reads fewer bytes than it writes, its address
    /// is moved so far that no more are left in front of the next multiple of its size.
    fn copy_beside(&mut self, inst: Inst, data: &InstData) -> Result<(), Refusal> {
        let srcs = self.func.srcs(inst).to_vec();
        let [to, to_offset, from, from_offset, size, read] = srcs[..] else { return Err(self.refused(inst)) };
        let size = self.func.imm_bits(size).unwrap_or(0);
        let width = match size {
            4 => "",
            8 => ".64",
            16 => ".128",
            _ => return Err(self.refused(inst)),
        };
        let bypass = if data.field::<AsyncCache>() == Some(AsyncCache::Cg) { ".BYPASS" } else { "" };
        let mut skip = None;
        let (fill, condition) = match self.source(read, 1)? {
            Value::Imm(bits, _) if bits >= size => ("", Operand::wired(RegFile::P, 1)),
            Value::Imm(0, _) => (".ZFILL", never()),
            value => {
                let read = self.in_registers(value, 1);
                let (reads, truth) = (Operand::Reg(self.emit.new_reg(RegInfo::PRED)), Operand::wired(RegFile::P, 1));
                let (zero, none) = (Operand::wired(RegFile::R, 1), never());
                let [left, skipped] = [(); 2].map(|()| Operand::Reg(self.emit.temp(1)));
                let [whole, rest, and] = [size, size - 1, 0xc0].map(|number| self.emit.func.imm(number));
                let negated = super::emit::marked(read, Modifiers::NEGATE);
                self.emit.op("ISETP.NE.U32.AND", &[reads, truth], &[read, zero, truth, truth])?;
                self.emit.op("IADD3", &[left, truth, truth], &[negated, whole, zero, none, none])?;
                self.emit.op("LOP3.LUT", &[truth, skipped], &[left, rest, zero, and, none])?;
                skip = Some(skipped);
                (".ZFILL", reads)
            }
        };
        let Address { base: to, offset: to_offset } = self.address_of(to, to_offset, false)?;
        let Address { base: mut from, offset: from_offset } = self.address_of(from, from_offset, true)?;
        if let Some(skip) = skip {
            let moved = Operand::Reg(self.emit.temp(2));
            let (carry, truth) = (Operand::Reg(self.emit.new_reg(RegInfo::PRED)), Operand::wired(RegFile::P, 1));
            let (zero, none) = (Operand::wired(RegFile::R, 1), never());
            let [low, high] = [0, 1].map(|word| self.emit.word(moved, word));
            let [own_low, own_high] = [0, 1].map(|word| self.emit.word(from, word));
            self.emit.op("IADD3", &[low, carry, truth], &[own_low, skip, zero, none, none])?;
            self.emit.op("IADD3.X", &[high, truth, truth], &[own_high, zero, zero, carry, none])?;
            from = moved;
        }
        let mnemonic = format!("LDGSTS.E{bypass}{width}{fill}");
        let desc = self.descriptor.unwrap_or(from);
        let long = [to, to_offset, desc, from, from_offset, condition];
        let forms: [(&[Operand], &[Operand]); 2] =
            [(&[], &long), (&[], &[to, to_offset, from, from_offset, condition])];
        self.emit.first_of(&mnemonic, &forms).map(|_| ())
    }
}

/// Whether matrices are transposed, in mnemonics.
fn shape(data: &InstData) -> &'static str {
    if data.field::<Transpose>() == Some(Transpose::Trans) { ".MT88" } else { ".M88" }
}

/// How many matrices, in mnemonics.
fn count(data: &InstData) -> &'static str {
    match data.field::<MatrixCount>().map_or(1, MatrixCount::matrices) {
        1 => "",
        2 => ".2",
        _ => ".4",
    }
}
