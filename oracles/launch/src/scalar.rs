//! Element types of launch files, and numbers of these types as text and as little-endian bytes.
//!
//! Integers are written in decimal, `0x`, `0o` or `0b`. A `b` type takes the range of the signed and of the
//! unsigned type of its width. A float is a decimal number, `inf` or `nan`, rounded to nearest even; a
//! hexadecimal number is its bit pattern, which is the only way to write a NaN payload.

use half::{bf16, f16};

use super::Problem;

macro_rules! scalar_types {
    ($($variant:ident $name:literal $bytes:literal $class:ident,)*) => {
        /// The type of a scalar argument or of a buffer's elements.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ScalarType {
            $(#[doc = concat!("`", $name, "` of PTX.")] $variant,)*
        }

        impl ScalarType {
            /// All types, narrow ones first.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            /// The name in launch files and in PTX, without the dot.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The size in bytes.
            pub fn bytes(self) -> usize {
                match self { $(Self::$variant => $bytes,)* }
            }

            pub(super) fn class(self) -> Class {
                match self { $(Self::$variant => Class::$class,)* }
            }
        }
    };
}

/// How the bits of a type are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Unsigned,
    Signed,
    Bits,
    Float,
}

scalar_types! {
    U8 "u8" 1 Unsigned,
    S8 "s8" 1 Signed,
    B8 "b8" 1 Bits,
    U16 "u16" 2 Unsigned,
    S16 "s16" 2 Signed,
    B16 "b16" 2 Bits,
    F16 "f16" 2 Float,
    Bf16 "bf16" 2 Float,
    U32 "u32" 4 Unsigned,
    S32 "s32" 4 Signed,
    B32 "b32" 4 Bits,
    F32 "f32" 4 Float,
    U64 "u64" 8 Unsigned,
    S64 "s64" 8 Signed,
    B64 "b64" 8 Bits,
    F64 "f64" 8 Float,
}

impl ScalarType {
    /// The type of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ty| ty.name() == name)
    }

    /// Whether it is one of the floating-point types.
    pub fn is_float(self) -> bool {
        self.class() == Class::Float
    }

    /// The value of the low bits of `bits` as a number; exact for floats, and for integers below 2^53.
    pub(super) fn to_f64(self, bits: u64) -> f64 {
        match self {
            Self::F16 => f16::from_bits(bits as u16).to_f64(),
            Self::Bf16 => bf16::from_bits(bits as u16).to_f64(),
            Self::F32 => f64::from(f32::from_bits(bits as u32)),
            Self::F64 => f64::from_bits(bits),
            _ => self.integer(bits) as f64,
        }
    }

    /// The bits of `value` rounded to this float type, or of its integer part clamped to an integer type.
    pub(super) fn nearest_bits(self, value: f64) -> u64 {
        match self {
            Self::F16 => u64::from(f16::from_f64(value).to_bits()),
            Self::Bf16 => u64::from(bf16::from_f64(value).to_bits()),
            Self::F32 => u64::from((value as f32).to_bits()),
            Self::F64 => value.to_bits(),
            _ => {
                let (low, high) = self.integer_range();
                ((value as i128).clamp(low, high) as u64) & self.mask()
            }
        }
    }

    /// The integer that the low bits of `bits` hold.
    pub(super) fn integer(self, bits: u64) -> i128 {
        let unused = 64 - 8 * self.bytes() as u32;
        match self.class() {
            Class::Signed => i128::from((bits << unused) as i64 >> unused),
            _ => i128::from(bits & self.mask()),
        }
    }

    /// The smallest and the largest integer that may be written for this type.
    pub(super) fn integer_range(self) -> (i128, i128) {
        let width = 8 * self.bytes() as u32;
        let low = if self.class() == Class::Unsigned { 0 } else { -(1i128 << (width - 1)) };
        let high = if self.class() == Class::Signed { (1i128 << (width - 1)) - 1 } else { (1i128 << width) - 1 };
        (low, high)
    }

    pub(super) fn mask(self) -> u64 {
        u64::MAX >> (64 - 8 * self.bytes())
    }
}

/// A number with its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scalar {
    ty: ScalarType,
    bits: u64,
}

impl Scalar {
    /// The scalar whose low bits are those of `bits`; the others are dropped.
    pub fn from_bits(ty: ScalarType, bits: u64) -> Self {
        Self { ty, bits: bits & ty.mask() }
    }

    /// Reads up to eight little-endian bytes; missing ones are zero.
    pub fn from_bytes(ty: ScalarType, bytes: &[u8]) -> Self {
        let mut word = [0; 8];
        let count = bytes.len().min(ty.bytes());
        word[..count].copy_from_slice(&bytes[..count]);
        Self::from_bits(ty, u64::from_le_bytes(word))
    }

    /// Reads a number as this module's head describes.
    pub fn parse(ty: ScalarType, text: &str) -> Result<Self, Problem> {
        let bits = if ty.is_float() { parse_float(ty, text) } else { parse_integer(ty, text) };
        match bits {
            Some(bits) => Ok(Self::from_bits(ty, bits)),
            None => Err(Problem::BadValue { value: text.chars().take(80).collect(), ty: ty.name() }),
        }
    }

    /// The type.
    pub fn ty(self) -> ScalarType {
        self.ty
    }

    /// The bits, zero-extended.
    pub fn bits(self) -> u64 {
        self.bits
    }

    /// The bytes as the kernel's parameter space holds them.
    pub fn to_bytes(self) -> Vec<u8> {
        self.bits.to_le_bytes()[..self.ty.bytes()].to_vec()
    }
}

/// Text that [`Scalar::parse`] reads back to the same bits.
impl std::fmt::Display for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let value = self.ty.to_f64(self.bits);
        match self.ty.class() {
            Class::Float if value.is_nan() => write!(f, "{:#x}", self.bits),
            Class::Float if self.ty == ScalarType::F32 => write!(f, "{:?}", value as f32),
            Class::Float => write!(f, "{value:?}"),
            Class::Bits => write!(f, "{:#x}", self.bits),
            _ => write!(f, "{}", self.ty.integer(self.bits)),
        }
    }
}

fn parse_float(ty: ScalarType, text: &str) -> Option<u64> {
    if let Some(digits) = text.strip_prefix("0x") {
        let bits = parse_digits(digits, 16)?;
        return u64::try_from(bits).ok().filter(|bits| bits & !ty.mask() == 0);
    }
    let text = strip_separators(text)?;
    let named = text.trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_alphabetic());
    // A decimal goes to f32 directly: rounding it twice would not be rounding to nearest. The 16-bit types
    // go through f64, whose second rounding can only matter beyond 17 significant digits.
    let bits = match ty {
        ScalarType::F32 => u64::from(text.parse::<f32>().ok()?.to_bits()),
        _ => ty.nearest_bits(text.parse().ok()?),
    };
    (named || ty.to_f64(bits).is_finite()).then_some(bits)
}

fn parse_integer(ty: ScalarType, text: &str) -> Option<u64> {
    let (negative, magnitude) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (radix, digits) = match magnitude.get(..2) {
        Some("0x") => (16, &magnitude[2..]),
        Some("0o") => (8, &magnitude[2..]),
        Some("0b") => (2, &magnitude[2..]),
        _ => (10, magnitude),
    };
    let magnitude = i128::try_from(parse_digits(digits, radix)?).ok()?;
    let value = if negative { -magnitude } else { magnitude };
    let (low, high) = ty.integer_range();
    (low..=high).contains(&value).then_some(value as u64)
}

fn parse_digits(digits: &str, radix: u32) -> Option<u128> {
    let digits = strip_separators(digits)?;
    // `from_str_radix` would accept a second sign.
    if !digits.starts_with(|c: char| c.is_digit(radix)) {
        return None;
    }
    u128::from_str_radix(&digits, radix).ok()
}

/// Drops `_`, as TOML writes long numbers; refuses texts too long to be a number that a person wrote.
fn strip_separators(text: &str) -> Option<String> {
    (text.len() <= 1100).then(|| text.replace('_', ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(ty: &str, text: &str) -> Option<u64> {
        Scalar::parse(ScalarType::from_name(ty).unwrap(), text).ok().map(Scalar::bits)
    }

    #[test]
    fn integers_keep_to_the_range_of_their_type() {
        assert_eq!(bits("u8", "255"), Some(255));
        assert_eq!(bits("u8", "256"), None);
        assert_eq!(bits("u8", "-1"), None);
        assert_eq!(bits("s8", "-128"), Some(0x80));
        assert_eq!(bits("s8", "128"), None);
        assert_eq!(bits("b8", "-1"), Some(0xff));
        assert_eq!(bits("b8", "0xff"), Some(0xff));
        assert_eq!(bits("u64", "18446744073709551615"), Some(u64::MAX));
        assert_eq!(bits("u64", "18446744073709551616"), None);
        assert_eq!(bits("s64", "-9223372036854775808"), Some(1 << 63));
        assert_eq!(bits("u32", "1_000"), Some(1000));
        for bad in ["", "-", "+-1", "0x", "0x-1", "1.0", "ten", "é", "--1"] {
            assert_eq!(bits("s32", bad), None, "{bad}");
        }
    }

    #[test]
    fn floats_round_to_nearest_and_refuse_overflow() {
        assert_eq!(bits("f32", "2.5"), Some(0x4020_0000));
        assert_eq!(bits("f32", "16777217"), Some(u64::from(16_777_216f32.to_bits())));
        assert_eq!(bits("f32", "1e39"), None);
        assert_eq!(bits("f32", "-inf"), Some(0xff80_0000));
        assert_eq!(bits("f16", "1.0"), Some(0x3c00));
        assert_eq!(bits("f16", "65520"), None);
        assert_eq!(bits("bf16", "1.0"), Some(0x3f80));
        assert_eq!(bits("f64", "0x7ff8000000000001"), Some(0x7ff8_0000_0000_0001));
        assert_eq!(bits("f32", "0x7ff8000000000001"), None);
        assert_eq!(bits("f32", "one"), None);
    }

    #[test]
    fn text_reads_back_to_the_same_bits() {
        let words =
            [0, 1, 0x7fff, 0x8000, 0x7c01, 0x7f81_2345, 0x8000_0000, 0x3eaa_aaab, u64::MAX, 0x3fd5_5555_5555_5555];
        for ty in ScalarType::ALL {
            for scalar in words.map(|word| Scalar::from_bits(ty, word)) {
                assert_eq!(Scalar::parse(ty, &scalar.to_string()), Ok(scalar), "{ty:?} {scalar}");
                assert_eq!(Scalar::from_bytes(ty, &scalar.to_bytes()), scalar);
            }
        }
    }
}
