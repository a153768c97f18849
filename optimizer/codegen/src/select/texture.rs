//! Fetches from textures and gathers of texels.
//!
//! A fetch has its layer and coordinates in one group of registers, and in another the level, the offsets and the depth
//! that texels are compared with, whichever there are. Before `sm_90` up to four registers are split equally. Which
//! forms there are was read off the code that ptxas 13.0 makes of each operation.

use oriole_ir::ops::{Component, Geometry, LevelOfDetail, SrcType, Type};
use oriole_ir::{Inst, InstData, Modifiers, Operand, RegFile, RegInfo};

use super::emit::{marked, never};
use super::image::{Image, Parts, inverted};
use super::{Refusal, Select, Value};

/// The first SM whose fetches without a level need none in a kernel: before, a level below all others is in its place.
const IMPLICIT: u16 = 120;
/// The level below all others, as a float: -32.
const FINEST: u64 = 0xc200_0000;
/// Layers have so many numbers at most.
const LAYERS: u64 = 0xffff;
/// The most registers that a fetch splits equally.
const SPLIT: usize = 4;

/// How offsets lie in a word: the lowest bit of the first, how far they are apart, how many bits each has.
type Lie = (u32, u32, u32);
/// Offsets of a fetch.
const OF_FETCH: Lie = (0, 4, 4);
/// Offsets of a gather.
const OF_GATHER: Lie = (0, 8, 6);
/// Offsets of a fetch with derivatives, above a layer.
const ABOVE_LAYER: Lie = (16, 4, 4);

/// The name of a shape in the operands of fetches.
fn shape(geometry: Geometry) -> &'static str {
    match geometry {
        Geometry::D1 => "1D",
        Geometry::D2 => "2D",
        Geometry::D3 => "3D",
        Geometry::Cube => "CUBE",
        Geometry::A1d => "ARRAY_1D",
        Geometry::A2d => "ARRAY_2D",
        Geometry::Acube => "ARRAY_CUBE",
    }
}

impl Select<'_> {
    /// A fetch: of texels, or of the results of comparisons with a depth.
    pub(super) fn fetch(&mut self, inst: Inst, data: &InstData) -> Result<(), Refusal> {
        let parts = self.parts(inst, data);
        let mut geometry = data.field().unwrap_or(Geometry::D1);
        let level = data.field().unwrap_or(LevelOfDetail::Implicit);
        let floats = data.field() == Some(SrcType::F32);
        if !matches!(data.ty(), Type::U32 | Type::S32 | Type::F32) {
            return Err(self.refused(inst));
        }
        // Textures of one dimension that have a sampler of their own are of two for the machine, one texel high.
        let is_flat = geometry == Geometry::D1 && floats && Self::is_unified(&parts);
        let mut place = self.place(&parts, geometry)?;
        let zero = Operand::wired(RegFile::R, 1);
        if is_flat {
            place.push(zero);
        }
        if level == LevelOfDetail::Grad {
            return self.derived(inst, &parts, geometry, place, is_flat);
        }
        if is_flat {
            geometry = Geometry::D2;
        }
        let mut beside = Vec::new();
        let mut suffix = match level {
            LevelOfDetail::Level => {
                beside.push(self.one(parts.levels[0])?);
                String::from(".LL")
            }
            _ if !floats => String::from(".LZ"),
            _ if self.emit.table.sm >= IMPLICIT => String::new(),
            _ => {
                beside.push(self.emit.func.imm(FINEST));
                String::from(".LL")
            }
        };
        if self.has_offsets(&parts) {
            let none = self.emit.func.imm(0);
            beside.push(self.offsets(&parts.offsets, OF_FETCH, none)?);
            suffix.push_str(".AOFFI");
        }
        if let Some(reference) = parts.reference {
            beside.push(self.one(reference)?);
            suffix.push_str(".DC");
        }
        if !floats && level == LevelOfDetail::Level {
            suffix.push_str(".CL");
        }
        let name = if floats { "TEX" } else { "TLD" };
        self.texels(inst, &parts, (name, "", suffix), geometry, place, beside)
    }

    /// A gather.
    pub(super) fn gather(&mut self, inst: Inst, data: &InstData) -> Result<(), Refusal> {
        let parts = self.parts(inst, data);
        let geometry = data.field().unwrap_or(Geometry::D2);
        let component = match data.field::<Component>() {
            Some(Component::G) => ".G",
            Some(Component::B) => ".B",
            Some(Component::A) => ".A",
            _ => ".R",
        };
        let place = self.place(&parts, geometry)?;
        let (mut beside, mut suffix) = (Vec::new(), String::new());
        if self.has_offsets(&parts) {
            let none = self.emit.func.imm(0);
            beside.push(self.offsets(&parts.offsets, OF_GATHER, none)?);
            suffix.push_str(".AOFFI");
        }
        if let Some(reference) = parts.reference {
            beside.push(self.one(reference)?);
            suffix.push_str(".DC");
        }
        self.texels(inst, &parts, ("TLD4", component, suffix), geometry, place, beside)
    }

    /// A fetch with derivatives: behind the coordinates the layer and the offsets, in one word; and by coordinate both
    /// derivatives of each.
    fn derived(
        &mut self,
        inst: Inst,
        parts: &Parts,
        geometry: Geometry,
        mut place: Vec<Operand>,
        is_flat: bool,
    ) -> Result<(), Refusal> {
        let is_known = matches!(geometry, Geometry::D1 | Geometry::D2 | Geometry::A1d | Geometry::A2d);
        if !is_known || parts.reference.is_some() {
            return Err(self.refused(inst));
        }
        let axes = geometry.coordinates();
        let mut changes = Vec::new();
        for axis in 0..axes {
            for along in 0..2 {
                changes.push(self.one(parts.levels[along * axes + axis])?);
            }
        }
        if is_flat {
            changes.extend([Operand::wired(RegFile::R, 1); 2]);
        }
        let has_offsets = self.has_offsets(parts);
        let mut behind = None;
        if geometry.is_array() {
            behind = Some(place.remove(0));
        }
        if has_offsets {
            let below = behind.unwrap_or(self.emit.func.imm(0));
            behind = Some(self.offsets(&parts.offsets, ABOVE_LAYER, below)?);
        }
        place.extend(behind);
        let geometry = if is_flat { Geometry::D2 } else { geometry };
        let suffix = String::from(if has_offsets { ".AOFFI" } else { "" });
        self.texels(inst, parts, ("TXD", "", suffix), geometry, place, changes)
    }

    /// A fetch with its operands: what is in front of `.B` in the mnemonic, and what is behind it.
    fn texels(
        &mut self,
        inst: Inst,
        parts: &Parts,
        (name, front, suffix): (&str, &str, String),
        geometry: Geometry,
        place: Vec<Operand>,
        beside: Vec<Operand>,
    ) -> Result<(), Refusal> {
        let dsts = self.func.dsts(inst).to_vec();
        let is_derived = name == "TXD";
        let [low, high] = [(); 2].map(|()| Operand::Reg(self.emit.temp(2)));
        let missing = self.emit.new_reg(RegInfo::PRED);
        let handle = parts.handle.ok_or(Refusal::Operand("an image without a name"))?;
        let sampler = parts.sampler.filter(|sampler| *sampler != handle);
        let mnemonic = |split: &str, bindless: &str| format!("{name}{split}{front}{bindless}{suffix}");
        let shape = self.emit.func.name(shape(geometry));
        let (mask, none) = (self.emit.func.imm(15), self.emit.func.imm(0));
        let results = [Operand::Reg(missing), high, low];
        self.with_image(handle, sampler, true, &mut |select, image| {
            let image = match image {
                Image::Register(image) => image,
                Image::Uniform(image) => {
                    let place = select.side_by_side(&place);
                    let zero = Operand::wired(RegFile::R, 1);
                    let beside = if beside.is_empty() { zero } else { select.side_by_side(&beside) };
                    let nothing = Operand::wired(RegFile::UR, 1);
                    let all = [none, shape, mask, place, beside, image, nothing];
                    let forms: [(&[Operand], &[Operand]); 3] =
                        [(&results, &all[1..]), (&results, &all[1..6]), (&results, &all[..6])];
                    return select.emit.first_of(&mnemonic("", ""), &forms).map(|_| ());
                }
            };
            let (mut first, mut second) = (place.clone(), beside.clone());
            let mut split = "";
            if is_derived {
                first.insert(0, image);
            } else {
                second.insert(0, image);
                let all = [&first[..], &second[..]].concat();
                if all.len() <= SPLIT {
                    let (before, behind) = all.split_at(all.len().div_ceil(2));
                    (first, second) = (before.to_vec(), behind.to_vec());
                    split = ".SCR";
                }
            }
            let (first, second) = (select.side_by_side(&first), select.side_by_side(&second));
            select.emit.op(&mnemonic(split, ".B"), &results, &[shape, mask, first, second]).map(|_| ())
        })?;
        let values = &dsts[..dsts.len().min(4)];
        for (at, dst) in values.iter().enumerate() {
            let from = self.emit.word(if at < 2 { low } else { high }, (at % 2) as u8);
            let to = self.emit.word(*dst, 0);
            self.emit.copy_word(to, from);
        }
        if let Some(dst) = dsts.get(4) {
            let (truth, table) = (Operand::wired(RegFile::P, 1), self.emit.func.imm(0xf0));
            let rest = self.emit.func.imm(0);
            self.emit.op("PLOP3.LUT", &[*dst, truth], &[inverted(missing), truth, truth, table, rest])?;
        }
        Ok(())
    }

    /// The layer of an array: above the last one it is the last.
    fn layer(&mut self, operand: Operand) -> Result<Operand, Refusal> {
        let layer = self.one(operand)?;
        let (made, is_above) = (Operand::Reg(self.emit.temp(1)), self.emit.new_reg(RegInfo::PRED));
        let (truth, most) = (Operand::wired(RegFile::P, 1), self.emit.func.imm(LAYERS));
        let own = self.side_by_side(&[layer]);
        self.emit.op("ISETP.GT.U32.AND", &[Operand::Reg(is_above), truth], &[own, most, truth, truth])?;
        self.emit.op("SEL", &[made], &[own, most, inverted(is_above)])?;
        Ok(made)
    }

    /// The layer and the coordinates of a fetch; a direction is made as long as the side of a cube.
    fn place(&mut self, parts: &Parts, geometry: Geometry) -> Result<Vec<Operand>, Refusal> {
        let axes = geometry.coordinates();
        let mut words = Vec::new();
        let first = usize::from(geometry.is_array());
        if geometry.is_array() {
            words.push(self.layer(parts.coordinates[0])?);
        }
        let mut along = Vec::new();
        for operand in parts.coordinates.iter().skip(first).take(axes) {
            along.push(self.one(*operand)?);
        }
        if geometry.is_cube() {
            let own: Vec<Operand> = along.iter().map(|word| self.side_by_side(&[*word])).collect();
            let long = |operand: Operand| marked(operand, Modifiers::ABSOLUTE);
            let [pair, longest, inverse] = [(); 3].map(|()| Operand::Reg(self.emit.temp(1)));
            let greater = never();
            self.emit.op("FMNMX", &[pair], &[long(own[0]), long(own[1]), greater])?;
            self.emit.op("FMNMX", &[longest], &[long(own[2]), pair, greater])?;
            self.emit.op("MUFU.RCP", &[inverse], &[longest])?;
            for operand in own {
                let made = Operand::Reg(self.emit.temp(1));
                self.emit.op("FMUL", &[made], &[operand, inverse])?;
                words.push(made);
            }
            return Ok(words);
        }
        words.extend(along);
        Ok(words)
    }

    /// Offsets in the bits of a word, over what it has in others; none where all of them are zero.
    fn offsets(&mut self, offsets: &[Operand], (first, apart, bits): Lie, below: Operand) -> Result<Operand, Refusal> {
        let mut word = below;
        for (at, offset) in (0u32..).zip(offsets) {
            let (low, mask) = (first + apart * at, (1u64 << bits) - 1);
            if let Some(number) = self.source(*offset, 1)?.imm()
                && let Some(known) = self.emit.func.imm_bits(word)
            {
                word = self.emit.func.imm(known | (number & mask) << low);
                continue;
            }
            let own = self.one(*offset)?;
            let own = self.side_by_side(&[own]);
            let (shifted, made) = (Operand::Reg(self.emit.temp(1)), Operand::Reg(self.emit.temp(1)));
            let zero = Operand::wired(RegFile::R, 1);
            let [by, mask, table] = [u64::from(low), mask << low, 0xe2].map(|number| self.emit.func.imm(number));
            self.emit.op("SHF.L.U32", &[shifted], &[own, by, zero])?;
            let before = self.side_by_side(&[word]);
            let (truth, none) = (Operand::wired(RegFile::P, 1), never());
            self.emit.op("LOP3.LUT", &[truth, made], &[shifted, mask, before, table, none])?;
            word = made;
        }
        Ok(word)
    }

    /// Whether an operation has offsets: those that PTX does not write are zero.
    fn has_offsets(&self, parts: &Parts) -> bool {
        let is_zero = |operand: &Operand| match *operand {
            Operand::Reg(reg) => self.values[reg].and_then(Value::imm) == Some(0),
            other => self.func.imm_bits(other) == Some(0),
        };
        !parts.offsets.iter().all(is_zero)
    }

    /// Whether a fetch takes the sampler that the texture has.
    fn is_unified(parts: &Parts) -> bool {
        parts.sampler.is_none() || parts.sampler == parts.handle
    }
}
