//! Textures and surfaces: how instructions name them, and questions about them.
//!
//! Before `sm_90` a general register names an image, the number of the texture in the low 20 bits and that of the
//! sampler above them. From `sm_90` on two uniform registers do, one for each. A handle that is a parameter or a
//! variable of the module is a word of bank 0. Any other handle may differ between lanes: there a loop takes those
//! lanes together that name the same image, as ptxas does.

use oriole_ir::ops::{ImagePart, ImageQuery, Opcode, Shape};
use oriole_ir::{Guard, Inst, InstData, Modifiers, Operand, Reg, RegFile, RegInfo};

use super::emit::{marked, never};
use super::flow::branch;
use super::place::Number;
use super::table::Part;
use super::{Refusal, Select, Value};

/// The first SM whose fetches name images by uniform registers.
const UNIFORM: u16 = 90;
/// Bits of a texture's number in a word that has the sampler's above it.
const TEXTURE_BITS: u64 = 20;

/// The operands of an operation by their parts.
#[derive(Default)]
pub(super) struct Parts {
    pub handle: Option<Operand>,
    pub sampler: Option<Operand>,
    pub coordinates: Vec<Operand>,
    pub levels: Vec<Operand>,
    pub offsets: Vec<Operand>,
    pub reference: Option<Operand>,
    pub values: Vec<Operand>,
}

/// An image as instructions name it.
#[derive(Clone, Copy)]
pub(super) enum Image {
    /// By a general register.
    Register(Operand),
    /// By uniform registers: two, of a surface the first alone.
    Uniform(Operand),
}

impl Select<'_> {
    /// An operation of this file.
    pub(super) fn image(&mut self, inst: Inst) -> Result<(), Refusal> {
        let data = *self.func.inst(inst);
        match data.opcode {
            Opcode::Tex | Opcode::TexCompare => self.fetch(inst, &data),
            Opcode::Tld4 | Opcode::Tld4Compare => self.gather(inst, &data),
            Opcode::Txq | Opcode::TxqLevel | Opcode::Suq => self.extent(inst, &data),
            Opcode::Suld => self.surface_load(inst, &data),
            Opcode::IsTypeP => self.kind(inst, &data),
            _ => self.surface_access(inst, &data),
        }
    }

    /// The operands of an operation.
    pub(super) fn parts(&self, inst: Inst, data: &InstData) -> Parts {
        let srcs = self.func.srcs(inst);
        let mut parts = Parts::default();
        for (operand, shape) in srcs.iter().zip(data.src_shapes(srcs.len())) {
            match shape {
                Shape::Image(ImagePart::Handle) => parts.handle = Some(*operand),
                Shape::Image(ImagePart::Sampler) => parts.sampler = Some(*operand),
                Shape::Image(ImagePart::Coordinates) => parts.coordinates.push(*operand),
                Shape::Image(ImagePart::Offsets) => parts.offsets.push(*operand),
                Shape::Image(ImagePart::Reference) => parts.reference = Some(*operand),
                Shape::Image(ImagePart::Level) | Shape::R => parts.levels.push(*operand),
                _ => parts.values.push(*operand),
            }
        }
        parts
    }

    /// A value of one word, as an operand.
    pub(super) fn one(&mut self, operand: Operand) -> Result<Operand, Refusal> {
        let value = self.source(operand, 1)?;
        let operand = self.emit.value(value, Part::Whole, Modifiers::NONE, "MOV");
        Ok(if let Operand::Reg(reg) = operand { self.emit.word(Operand::Reg(reg), 0) } else { operand })
    }

    /// Words side by side in a register that nothing else uses: what an image is accessed with is no `RZ`.
    pub(super) fn side_by_side(&mut self, words: &[Operand]) -> Operand {
        let reg = Operand::Reg(self.emit.temp(words.len() as u8));
        for (at, word) in (0u8..).zip(words) {
            let to = self.emit.word(reg, at);
            self.emit.copy_word(to, *word);
        }
        reg
    }

    /// An extent of a texture or a surface: of a level of it.
    fn extent(&mut self, inst: Inst, data: &InstData) -> Result<(), Refusal> {
        let mask = match data.field::<ImageQuery>() {
            Some(ImageQuery::Width) => 1,
            Some(ImageQuery::Height) => 2,
            Some(ImageQuery::Depth) => 4,
            _ => return self.answer(inst, data),
        };
        let parts = self.parts(inst, data);
        let dst = self.func.dsts(inst)[0];
        let level = match parts.levels.first() {
            Some(level) => self.one(*level)?,
            None => self.emit.func.imm(0),
        };
        let handle = parts.handle.ok_or(Refusal::Operand("an image without a name"))?;
        let asked = self.emit.func.name("TEX_HEADER_DIMENSION");
        let (mask, none, zero) = (self.emit.func.imm(mask), self.emit.func.imm(0), Operand::wired(RegFile::R, 1));
        let dst = self.emit.word(dst, 0);
        self.with_image(handle, None, true, &mut |select, image| match image {
            Image::Register(image) => {
                let both = select.side_by_side(&[image, level]);
                select.emit.op("TXQ.B", &[dst], &[asked, mask, zero, both]).map(|_| ())
            }
            Image::Uniform(image) => {
                let level = select.side_by_side(&[level]);
                let all = [asked, none, mask, zero, level, image];
                let late = [asked, mask, zero, level, image];
                let forms: [(&[Operand], &[Operand]); 2] = [(&[dst], &late), (&[dst], &all)];
                select.emit.first_of("TXQ", &forms).map(|_| ())
            }
        })
    }

    /// An answer that the driver has in a table of images: the number of the image, times the size of an entry, is the
    /// place in it.
    fn answer(&mut self, inst: Inst, data: &InstData) -> Result<(), Refusal> {
        let answer = data.field().and_then(|query| self.places.answer(data.opcode, query));
        let Some(answer) = answer else { return Err(self.refused(inst)) };
        let size = self.places.number(Number::EntrySize(answer.size)).ok_or(Refusal::Operand("this question"))?;
        let (handle, dst) = (self.func.srcs(inst)[0], self.func.dsts(inst)[0]);
        let table = self.places.constants.headers + 8 * answer.table;
        let table = self.in_registers(Value::Const(0, table, 2), 2);
        let size = self.side_by_side(&[Operand::constant(0, size)]);
        let word = self.low(handle)?;
        let (number, entry) = (Operand::Reg(self.emit.temp(1)), Operand::Reg(self.emit.temp(2)));
        let (truth, zero, none) = (Operand::wired(RegFile::P, 1), Operand::wired(RegFile::R, 1), never());
        let [mask, table_of_and] = [(1 << TEXTURE_BITS) - 1, 0xc0].map(|number| self.emit.func.imm(number));
        self.emit.op("LOP3.LUT", &[truth, number], &[word, mask, zero, table_of_and, none])?;
        self.emit.op("IMAD.WIDE.U32", &[entry, truth], &[number, size, table, none])?;
        let (offset, desc) = (self.emit.func.imm(answer.offset.into()), self.descriptor.unwrap_or(truth));
        let dst = self.emit.word(dst, 0);
        let forms: [(&[Operand], &[Operand]); 2] =
            [(&[truth, dst], &[desc, entry, offset, truth]), (&[truth, dst], &[entry, offset, truth])];
        self.emit.first_of("LDG.E.CONSTANT", &forms).map(|_| ())
    }

    /// Whether a handle is one of a kind: known of variables and parameters.
    fn kind(&mut self, inst: Inst, data: &InstData) -> Result<(), Refusal> {
        let (handle, dst) = (self.func.srcs(inst)[0], self.func.dsts(inst)[0]);
        let Value::Const(_, at, _) = self.source(handle, 2)? else { return Err(self.refused(inst)) };
        let named = self.places.numbers().find(|(offset, _)| *offset == at).map(|(_, number)| number);
        let ty = match named {
            Some(Number::Variable(global)) => self.places.image_type(global),
            Some(Number::Parameter(local)) => Some(self.func.locals[local].ty),
            _ => None,
        };
        let Some(ty) = ty else { return Err(self.refused(inst)) };
        self.emit.copy(dst, if ty == data.ty() { Operand::wired(RegFile::P, 1) } else { never() });
        Ok(())
    }

    /// The word of bank 0 with the number that a handle has, if it is a parameter or a variable.
    fn in_bank(&mut self, handle: Operand) -> Result<Option<Operand>, Refusal> {
        if let Operand::Reg(reg) = handle
            && let Some(offset) = self.in_bank[reg]
        {
            return Ok(Some(Operand::constant(0, offset)));
        }
        Ok(match self.source(handle, 2)? {
            Value::Const(bank, offset, _) => Some(Operand::constant(bank, offset)),
            _ => None,
        })
    }

    /// Makes an access to an image once for all lanes, or once for each image that they name.
    pub(super) fn with_image(
        &mut self,
        handle: Operand,
        sampler: Option<Operand>,
        is_pair: bool,
        make: &mut dyn FnMut(&mut Self, Image) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let known = [Some(handle), sampler].map(|of| of.map(|of| self.in_bank(of)).transpose());
        let [Ok(texture_word), Ok(sampler_word)] = known else { return Err(Refusal::Operand("this image")) };
        let (texture_word, sampler_word) = (texture_word.flatten(), sampler_word.flatten());
        if self.emit.table.sm < UNIFORM {
            let both = self.both_numbers(handle, sampler)?;
            return make(self, Image::Register(both));
        }
        let words = if is_pair { 2 } else { 1 };
        let image = Operand::Reg(self.emit.new_reg(RegInfo { file: RegFile::UR, words }));
        let first = self.emit.word(image, 0);
        if let Some(texture_word) = texture_word
            && sampler_word.is_some() == sampler.is_some()
        {
            self.uniform_word(first, texture_word)?;
            if is_pair {
                let second = self.emit.word(image, 1);
                self.uniform_word(second, sampler_word.unwrap_or(Operand::wired(RegFile::UR, 1)))?;
            }
            return make(self, Image::Uniform(image));
        }
        self.in_turn(handle, sampler, image, is_pair, make)
    }

    /// The numbers of a texture and of its sampler in one register.
    fn both_numbers(&mut self, handle: Operand, sampler: Option<Operand>) -> Result<Operand, Refusal> {
        let texture = self.low(handle)?;
        let Some(sampler) = sampler else { return Ok(texture) };
        let sampler = self.low(sampler)?;
        let (shifted, made) = (Operand::Reg(self.emit.temp(1)), Operand::Reg(self.emit.temp(1)));
        let (zero, truth, none) = (Operand::wired(RegFile::R, 1), Operand::wired(RegFile::P, 1), never());
        let [by, mask, table] = [TEXTURE_BITS, (1 << TEXTURE_BITS) - 1, 0xe2].map(|number| self.emit.func.imm(number));
        self.emit.op("SHF.L.U32", &[shifted], &[sampler, by, zero])?;
        self.emit.op("LOP3.LUT", &[truth, made], &[texture, mask, shifted, table, none])?;
        Ok(made)
    }

    /// The low word of a handle, in a general register.
    fn low(&mut self, handle: Operand) -> Result<Operand, Refusal> {
        let word = match self.source(handle, 2)? {
            Value::Operand(operand) => self.emit.word(operand, 0),
            value => self.emit.value(value, Part::Word(0), Modifiers::NONE, "MOV"),
        };
        Ok(self.side_by_side(&[word]))
    }

    /// Reads a word of a bank into a uniform register, or copies one.
    fn uniform_word(&mut self, to: Operand, from: Operand) -> Result<(), Refusal> {
        let guard = self.emit.guard.take();
        let made = match from {
            Operand::Const { .. } if self.emit.table.has_banks() => self.emit.op("ULDC", &[to], &[from]),
            Operand::Const { .. } => self.emit.op("LDCU", &[to], &[Operand::wired(RegFile::UR, 1), from]),
            _ => self.emit.op("UMOV", &[to], &[from]),
        };
        self.emit.guard = guard;
        made.map(|_| ())
    }

    /// A loop in which all lanes that name the image of one of them make the access, until all have.
    ///
    /// **Invariant:** lanes that are done wait behind it, so the uniform registers are those of the others alone.
    fn in_turn(
        &mut self,
        handle: Operand,
        sampler: Option<Operand>,
        image: Operand,
        is_pair: bool,
        make: &mut dyn FnMut(&mut Self, Image) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let guard = self.emit.guard.take();
        let texture = self.low(handle)?;
        let sampler = sampler.map(|sampler| self.low(sampler)).transpose()?;
        let (barrier, behind) = self.emit.part();
        let head = self.emit.block_within();
        match guard {
            Some(guard) => {
                let (block, line) = (self.emit.block, self.emit.line);
                branch(&mut self.emit.func, block, Some(guard), &[head, behind], line);
            }
            None => self.emit.go_on(head),
        }
        self.emit.block = head;
        let mut differs = self.first_of_lanes(image, 0, texture)?;
        if is_pair {
            match sampler {
                Some(sampler) => {
                    let also = self.first_of_lanes(image, 1, sampler)?;
                    let both = self.emit.new_reg(RegInfo::PRED);
                    let (truth, table) = (Operand::wired(RegFile::P, 1), self.emit.func.imm(0xfc));
                    let rest = self.emit.func.imm(0);
                    let srcs = [Operand::Reg(differs), Operand::Reg(also), truth, table, rest];
                    self.emit.op("PLOP3.LUT", &[Operand::Reg(both), truth], &srcs)?;
                    differs = both;
                }
                None => {
                    let second = self.emit.word(image, 1);
                    self.uniform_word(second, Operand::wired(RegFile::UR, 1))?;
                }
            }
        }
        self.emit.guard = Some(Guard::new(differs, true));
        make(self, Image::Uniform(image))?;
        self.emit.guard = None;
        let (block, line) = (self.emit.block, self.emit.line);
        branch(&mut self.emit.func, block, Some(Guard::new(differs, false)), &[head, behind], line);
        self.emit.come_together(barrier, behind);
        self.emit.guard = guard;
        Ok(())
    }

    /// The word that the first of the lanes has, in a uniform register, and whether a lane has another one.
    fn first_of_lanes(&mut self, image: Operand, word: u8, value: Operand) -> Result<Reg, Refusal> {
        let differs = self.emit.new_reg(RegInfo::PRED);
        let to = self.emit.word(image, word);
        self.emit.op("R2UR", &[Operand::Reg(differs), to], &[value])?;
        Ok(differs)
    }
}

/// The negation of a predicate.
pub(super) fn inverted(predicate: Reg) -> Operand {
    marked(Operand::Reg(predicate), Modifiers::INVERT)
}
