//! Register files and widths.

use crate::ops::Type;

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
    #[inline]
    pub const fn of(ty: Type) -> RegInfo {
        match ty {
            Type::Pred => RegInfo::PRED,
            _ => RegInfo::words(ty.bits().div_ceil(32) as u8),
        }
    }

    /// The type of a `mov` between two such registers; `None` where there is no such `mov`.
    pub fn mov_type(self) -> Option<Type> {
        match (self.is_predicate(), self.words) {
            (true, _) => Some(Type::Pred),
            (false, 1) => Some(Type::B32),
            (false, 2) => Some(Type::B64),
            (false, 4) => Some(Type::B128),
            _ => None,
        }
    }

    /// Whether the register is a predicate, uniform or not.
    #[inline]
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
