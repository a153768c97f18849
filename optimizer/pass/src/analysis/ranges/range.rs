//! The values between two bounds, in both readings of a register.

use oriole_ir::ops::Type;

/// Numbers from the first to the second. Wide enough for every sum, and most products, of 64-bit numbers.
pub(super) type Interval = (i128, i128);

/// What a register of 1, 32 or 64 bits may hold: its value as an unsigned number lies in one interval, as a signed
/// number in another. Both ends are included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    bits: u32,
    unsigned: (u64, u64),
    signed: (i64, i64),
}

impl Range {
    /// Every value of so many bits, 1 to 64.
    pub fn full(bits: u32) -> Range {
        let (unsigned, signed) = (bounds(bits, false), bounds(bits, true));
        Range { bits, unsigned: (unsigned.0 as u64, unsigned.1 as u64), signed: (signed.0 as i64, signed.1 as i64) }
    }

    /// One value.
    pub fn constant(value: u64, bits: u32) -> Range {
        let value = value & Range::full(bits).unsigned.1;
        Range::unsigned_between(value, value, bits)
    }

    /// The values between two unsigned numbers.
    pub fn unsigned_between(low: u64, high: u64, bits: u32) -> Range {
        Range { unsigned: (low, high), ..Range::full(bits) }.tightened()
    }

    /// The values between two signed numbers.
    pub fn signed_between(low: i64, high: i64, bits: u32) -> Range {
        Range { signed: (low, high), ..Range::full(bits) }.tightened()
    }

    /// What is left modulo 2 to the power of `bits` of the numbers in an interval.
    pub(super) fn modulo(interval: Interval, bits: u32) -> Range {
        let mut range = Range::full(bits);
        if let Some((low, high)) = turned(interval, bits, false) {
            range.unsigned = (low as u64, high as u64);
        }
        if let Some((low, high)) = turned(interval, bits, true) {
            range.signed = (low as i64, high as i64);
        }
        range.tightened()
    }

    /// How many bits the value has.
    pub fn bits(self) -> u32 {
        self.bits
    }

    /// The smallest and the largest value as unsigned numbers.
    pub fn unsigned(self) -> (u64, u64) {
        self.unsigned
    }

    /// The smallest and the largest value as signed numbers of the register's width.
    pub fn signed(self) -> (i64, i64) {
        self.signed
    }

    /// Whether nothing is known.
    pub fn is_full(self) -> bool {
        self == Range::full(self.bits)
    }

    /// The only value, where there is one.
    pub fn value(self) -> Option<u64> {
        (self.unsigned.0 == self.unsigned.1).then_some(self.unsigned.0)
    }

    /// Whether the register may hold this.
    pub fn contains(self, value: u64) -> bool {
        let signed = sign_extended(value, self.bits);
        (self.unsigned.0..=self.unsigned.1).contains(&value) && (self.signed.0..=self.signed.1).contains(&signed)
    }

    /// What a value may be that is in one of two ranges of one width.
    pub fn join(self, other: Range) -> Range {
        let (a, b) = (self, other);
        Range {
            bits: a.bits,
            unsigned: (a.unsigned.0.min(b.unsigned.0), a.unsigned.1.max(b.unsigned.1)),
            signed: (a.signed.0.min(b.signed.0), a.signed.1.max(b.signed.1)),
        }
    }

    /// What a value may be that is in both ranges. Where no value is, nothing executes there, and one of the ranges is
    /// as good an answer as any.
    pub fn meet(self, other: Range) -> Range {
        let (a, b) = (self, other);
        let unsigned = (a.unsigned.0.max(b.unsigned.0), a.unsigned.1.min(b.unsigned.1));
        let signed = (a.signed.0.max(b.signed.0), a.signed.1.min(b.signed.1));
        let empty = unsigned.0 > unsigned.1 || signed.0 > signed.1;
        if empty { self } else { Range { bits: a.bits, unsigned, signed }.tightened() }
    }

    /// The same without a value at an end.
    pub(super) fn without(self, value: u64) -> Range {
        let shrunk =
            |(low, high): Interval, value: i128| (low + i128::from(low == value), high - i128::from(high == value));
        let (unsigned, signed) = (
            shrunk(self.unsigned_interval(), value.into()),
            shrunk(self.signed_interval(), sign_extended(value, self.bits).into()),
        );
        if unsigned.0 > unsigned.1 || signed.0 > signed.1 {
            return self;
        }
        let (unsigned, signed) = ((unsigned.0 as u64, unsigned.1 as u64), (signed.0 as i64, signed.1 as i64));
        Range { unsigned, signed, ..self }.tightened()
    }

    /// A range that grew to `new`, with the bounds that moved as far as the width lets them.
    pub(super) fn widened(self, new: Range) -> Range {
        let full = Range::full(self.bits);
        let mut wide = new;
        if new.unsigned.0 < self.unsigned.0 {
            wide.unsigned.0 = full.unsigned.0;
        }
        if new.unsigned.1 > self.unsigned.1 {
            wide.unsigned.1 = full.unsigned.1;
        }
        if new.signed.0 < self.signed.0 {
            wide.signed.0 = full.signed.0;
        }
        if new.signed.1 > self.signed.1 {
            wide.signed.1 = full.signed.1;
        }
        wide
    }

    /// The same, as a value of another width in which no bit is lost, zero-extended.
    pub(super) fn zero_extended(self, bits: u32) -> Range {
        if bits == self.bits { self } else { Range::unsigned_between(self.unsigned.0, self.unsigned.1, bits) }
    }

    /// The same, extended by its sign.
    pub(super) fn sign_extended(self, bits: u32) -> Range {
        if bits == self.bits { self } else { Range::signed_between(self.signed.0, self.signed.1, bits) }
    }

    /// The low bits that a type has, as numbers of that type.
    pub(super) fn numbers(self, ty: Type) -> Interval {
        let all = bounds(ty.bits().min(64), ty.is_signed());
        let fits = |(low, high): Interval| low >= all.0 && high <= all.1;
        let unsigned = (i128::from(self.unsigned.0), i128::from(self.unsigned.1));
        let signed = (i128::from(self.signed.0), i128::from(self.signed.1));
        // A value that is in the type's range is the same number in fewer bits.
        let readings = if ty.bits() > self.bits { [unsigned, unsigned] } else { [signed, unsigned] };
        readings.into_iter().find(|of| fits(*of)).unwrap_or(all)
    }

    /// What each reading says of the other: where the sign is known, they differ by a constant.
    fn tightened(self) -> Range {
        let mut range = self;
        if let Some((low, high)) = turned(range.unsigned_interval(), self.bits, true) {
            range.signed = clipped(range.signed, (low as i64, high as i64));
        }
        if let Some((low, high)) = turned(range.signed_interval(), self.bits, false) {
            range.unsigned = clipped(range.unsigned, (low as u64, high as u64));
        }
        range
    }

    fn unsigned_interval(self) -> Interval {
        (self.unsigned.0.into(), self.unsigned.1.into())
    }

    fn signed_interval(self) -> Interval {
        (self.signed.0.into(), self.signed.1.into())
    }
}

/// What is in both intervals; the first where nothing is.
fn clipped<T: Ord + Copy>(a: (T, T), b: (T, T)) -> (T, T) {
    let both = (a.0.max(b.0), a.1.min(b.1));
    if both.0 > both.1 { a } else { both }
}

/// The numbers of so many bits.
pub(super) fn bounds(bits: u32, signed: bool) -> Interval {
    let half = 1i128 << (bits - 1);
    if signed { (-half, half - 1) } else { (0, 2 * half - 1) }
}

/// An interval modulo 2 to the power of `bits`, where that is an interval of numbers of that kind.
fn turned((low, high): Interval, bits: u32, signed: bool) -> Option<Interval> {
    let first = bounds(bits, signed).0;
    let turns = |value: i128| value.checked_sub(first).map(|value| value >> bits);
    let by = turns(low)?;
    (Some(by) == turns(high)).then(|| (low - (by << bits), high - (by << bits)))
}

/// The low bits of a word as a signed number.
pub(super) fn sign_extended(value: u64, bits: u32) -> i64 {
    let unused = 64 - bits;
    (value << unused) as i64 >> unused
}
