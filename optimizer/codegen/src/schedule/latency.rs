//! When results are there, and when sources are read.
//!
//! Cycles are those that ptxas 13.0.88 leaves at least between two instructions, by the unit of the first, the file of
//! the register and the use, over what it makes of the kernels of the corpus for seven SMs (2026-11), the largest of
//! each group. What is not fixed a barrier says.

use oriole_sass::Encoding;
use oriole_sass::class::{Class, Latency, Memory, Pipe, Sources, Space};
use oriole_sass::row::{File, Part, What};

/// The first bit of a third operand.
const THIRD: u8 = 64;

/// Cycles until the product of two matrices is there: the most that ptxas leaves behind HMMA and IMMA.
const MATRICES: u8 = 26;

/// How a register is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// As a guard.
    Guard,
    /// As an operand.
    Source,
}

/// The timing of an instruction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Timing {
    class: Class,
    /// The unit, where the class names another one.
    pipe: Pipe,
    /// Whether its SM gives a result of it a cycle later to the unit for integers.
    is_late: bool,
    /// Whether it may read a third operand.
    has_third: bool,
    /// The cycles until an access of memory can read it as a third operand, and until a sum can; of a copy alone.
    third: Option<(u8, u8)>,
    /// Whether it multiplies pairs of halves, on a unit that hands results over late.
    is_half: bool,
    /// Whether it is a product of two words, which its SM adds another one to late.
    is_slow_product: bool,
    /// Whether it begins work beside the warp, which reads its uniform registers later.
    is_beside: bool,
    /// Whether it is a product of a warpgroup, whose sum and factors in registers are under way until something waits
    /// for its group.
    is_of_group: bool,
}

impl Timing {
    /// That of an encoding.
    pub fn of(encoding: &Encoding, sm: u16) -> Timing {
        let family = encoding.name.split('.').next().unwrap_or_default();
        let pipe = match family {
            // A sum on the unit for products.
            "VIADD" => Pipe::Fma,
            // What it writes to a uniform register is there soon.
            "ELECT" => Pipe::Uniform,
            _ => encoding.class.pipe,
        };
        let may_be = |what: What| matches!(what, What::Register(File::R) | What::B(_) | What::C(_) | What::Low(_));
        let is_third = |part: &Part| part.at.low == THIRD && may_be(part.what);
        let has_third = encoding.parts.iter().any(is_third);
        let is_late = sm >= 120 && matches!(family, "MOV" | "SEL" | "FSEL" | "VIMNMX" | "FMNMX");
        let third = (family == "MOV").then_some((13, if sm <= 80 { 15 } else { 5 }));
        let is_half = pipe == Pipe::Half || matches!(family, "HFMA2" | "HADD2" | "HMUL2");
        let is_beside = family == "SYNCS" || family.starts_with('U') && family != "ULDC";
        let is_slow_product = sm < 90 && (encoding.name.starts_with("IMAD.WIDE") || encoding.name == "IMAD.HI");
        let is_of_group = family.ends_with("GMMA");
        let class = encoding.class;
        Timing { class, pipe, is_late, has_third, third, is_half, is_slow_product, is_beside, is_of_group }
    }

    /// Whether a barrier alone says when its results are there.
    pub fn is_variable(&self) -> bool {
        self.class.latency == Latency::Variable
    }

    /// Whether its general registers are read some time after it issues.
    pub fn reads_late(&self) -> bool {
        self.class.sources == Sources::Later
    }

    /// Whether a wait for its group says when it is done, and no barrier: selection puts it before all other accesses.
    pub fn is_of_group(&self) -> bool {
        self.is_of_group
    }

    /// Whether its uniform registers are read some time after it issues.
    pub fn reads_uniform_late(&self) -> bool {
        self.is_beside && self.reads_late()
    }

    /// The cycles until another instruction can read a result in a register of a file; 0 of one that a barrier covers.
    pub fn cycles(&self, file: File, reader: &Timing, used: Use) -> u8 {
        let Latency::Fixed(fixed) = self.class.latency else { return 0 };
        let (from, to) = (self.pipe, reader.pipe);
        let least = match (file, used) {
            (File::P | File::Up, Use::Guard) => match (from, to) {
                (Pipe::Double, _) => 14,
                (_, Pipe::Fma) => 17,
                _ => 13,
            },
            (File::P | File::Up, Use::Source) => match (from, to) {
                (_, Pipe::Branch) => 15,
                (Pipe::Double, _) => 6,
                (_, Pipe::Fma) => 8,
                (Pipe::Uniform, _) => 9,
                _ => 5,
            },
            (File::R, _) => match (from, to) {
                (Pipe::Tensor, _) => MATRICES,
                (_, Pipe::Memory) if let (Some((memory, _)), true) = (self.third, reader.has_third) => memory,
                (_, Pipe::Alu) if let (Some((_, sum)), true) = (self.third, reader.has_third) => sum,
                (Pipe::Double, Pipe::Double) => 8,
                (Pipe::Double, _) => 10,
                _ if self.is_half && to != Pipe::Half => 10,
                (_, Pipe::Double) => 6,
                (Pipe::Alu, Pipe::Alu) if self.is_late => 5,
                (Pipe::Fma, Pipe::Fma) if self.is_slow_product && reader.is_slow_product => 6,
                (Pipe::Alu, Pipe::Alu) | (Pipe::Fma, Pipe::Fma) => 4,
                (Pipe::Alu, Pipe::Fma) => 8,
                _ => 6,
            },
            (File::Ur, _) => match (from, to) {
                (Pipe::Uniform, Pipe::Uniform) => 4,
                (Pipe::Uniform, Pipe::Memory) => 9,
                (Pipe::Uniform, _) => 9,
                _ => 13,
            },
            (File::B | File::Sb, _) => 0,
        };
        fixed.max(least)
    }

    /// The cycles until another instruction can write a register of a file again: the later of two results stays.
    pub fn until_overwritten(&self, file: File, next: &Timing) -> u8 {
        let is_quick = |pipe| matches!(pipe, Pipe::Alu | Pipe::Fma);
        let is_ordered = file == File::R && is_quick(self.pipe) && is_quick(next.pipe) && !next.is_variable();
        if is_ordered && !self.is_half && self.third.is_none() { 2 } else { self.longest(file).min(10) }
    }

    /// The cycles until any instruction can use a result.
    pub fn longest(&self, file: File) -> u8 {
        match file {
            File::P | File::Up => 17,
            File::B | File::Sb => 0,
            File::Ur => 13,
            File::R => match self.class.latency {
                Latency::Fixed(_) if self.class.pipe == Pipe::Tensor => MATRICES,
                Latency::Fixed(fixed) => fixed.max(self.third.map_or(10, |(memory, sum)| memory.max(sum))),
                Latency::Variable => 0,
            },
        }
    }

    /// The fewest cycles until the next instruction issues.
    pub fn issue(&self) -> u8 {
        match self.pipe {
            Pipe::Branch => 5,
            Pipe::Double => 2,
            _ => 1,
        }
    }

    /// The cycles until another instruction can read a result, as far as one can know: behind an access of memory,
    /// those of a hit near by.
    pub fn until_read(&self, file: File, reader: &Timing, used: Use) -> u16 {
        if self.is_variable() { self.estimate() } else { self.cycles(file, reader, used).into() }
    }

    /// The cycles that an access whose time nobody knows takes, by its unit and memory.
    pub fn estimate(&self) -> u16 {
        match (self.pipe, self.class.space, self.class.memory) {
            (_, Space::Global | Space::Generic, Memory::Update) => 500,
            (_, Space::Global | Space::Generic, _) => 260,
            (Pipe::Texture, ..) | (_, Space::Image, _) => 400,
            (_, Space::Shared, Memory::Update) => 60,
            (_, Space::Local | Space::Constant, _) | (Pipe::Double, ..) => 40,
            (_, Space::Shared, _) => 30,
            _ => 25,
        }
    }

    /// The memory that it accesses.
    pub fn space(&self) -> Space {
        self.class.space
    }

    /// The unit.
    pub fn pipe(&self) -> Pipe {
        self.pipe
    }
}
