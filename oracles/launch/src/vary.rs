//! New data of the same shape: [`Launch::randomized`].
//!
//! These stay: kernel, geometry, every integer scalar (in practice sizes and counts, which a kernel
//! relies on), structures by value, aliases, null pointers, handles, and the length of every buffer. Floats are drawn
//! anew. Expectations are dropped, as the new ones are unknown.
//!
//! A buffer's content is replaced by content of the same kind. The kind follows from the element type that the
//! launch states, or else from the look of the content ([`guess`]), tried in this order:
//!
//! 1. all bytes zero: stays zero, as kernels count on cleared accumulators and flags;
//! 2. u64, s64, u32 or s32 elements whose range is [small](SMALL): integers, which may be indices. New ones are drawn
//!    from the closed range of the old ones, so they never point where the old ones could not; both ends are frequent;
//! 3. bytes from 9 to 126 only: text, treated as integers of type u8, with their range;
//! 4. f32 elements of everyday size, then f64: floats, see [`draw_float`];
//! 5. u16 or s16 elements up to 4095, then bytes up to 127: integers with their range;
//! 6. anything else: raw bytes, drawn evenly, with some words at a corner.
//!
//! Half-precision data is not recognised (two f16 look like an f32), so a launch should state that type.
//! A stated integer type always keeps the range of the old content, whatever its size. Bytes after the last whole
//! element stay as they are.
//!
//! A launch whose buffers are all zero has the same data again and again that way. [`Launch::varied`] draws what stays,
//! too, as far as its caller has found that the kernel lets it ([`Freedom`]).

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashSet, FxHasher};

use super::random::SplitMix64;
use super::{Arg, ArgValue, Buffer, Image, Launch, Scalar, ScalarType};

/// Integers up to this magnitude look like indices or counts. It lies below 2^24, where f32 values of everyday size
/// begin to have the same bits: 2^24 as bits is the float 2.4e-38.
pub const SMALL: i128 = (1 << 24) - 1;

/// Everyday floats lie between these magnitudes, zero apart.
const EVERYDAY: std::ops::RangeInclusive<f64> = 1e-9..=1e12;

/// How far from the launch's own data an argument may go that [`Launch::randomized`] keeps: a buffer of zeros, an
/// integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Freedom {
    /// It stays.
    Kept,
    /// A buffer is filled with whole numbers below 4; an integer lies between zero and its own value.
    Near,
    /// Anything of the type: corners, small numbers, any bits; an integer also lies near its own value.
    Any,
}

/// What a buffer's content looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing but zeros.
    Zero,
    /// Integers in a closed range.
    Integers {
        /// The element type.
        ty: ScalarType,
        /// The smallest element.
        min: i128,
        /// The largest element.
        max: i128,
    },
    /// Floating-point numbers.
    Floats(ScalarType),
    /// Anything else.
    Raw,
}

impl Launch {
    /// The same launch with other data, drawn from `seed` as this module's head describes. The same launch and the same
    /// seed give the same data.
    pub fn randomized(&self, seed: u64) -> Self {
        let mut varied = self.clone();
        for (index, arg) in varied.args.iter_mut().enumerate() {
            // Every argument has a generator of its own, so that one more argument does not change the others' data.
            let mut generator = SplitMix64::new(seed);
            let stream = generator.next_u64().wrapping_add(index as u64);
            vary(arg, &mut SplitMix64::new(SplitMix64::new(stream).next_u64()));
        }
        for (index, image) in varied.images.iter_mut().enumerate() {
            let stream = SplitMix64::new(!seed).next_u64().wrapping_add(index as u64);
            image.buffer.expect = None;
            refill(&mut image.buffer, &mut SplitMix64::new(SplitMix64::new(stream).next_u64()));
        }
        varied
    }

    /// The arguments that [`Launch::randomized`] keeps although they could be others: buffers of zeros, integers.
    pub fn kept(&self) -> Vec<usize> {
        let is_kept = |arg: &Arg| match &arg.value {
            ArgValue::Scalar(scalar) => !scalar.ty().is_float(),
            ArgValue::Buffer(buffer) => !buffer.bytes.is_empty() && kind_of(buffer) == Kind::Zero,
            _ => false,
        };
        (0..self.args.len()).filter(|index| is_kept(&self.args[*index])).collect()
    }

    /// As [`Launch::randomized`]; and arguments that it keeps are drawn as far as the list says, which has their
    /// indices.
    pub fn varied(&self, seed: u64, freedom: &[(usize, Freedom)]) -> Self {
        let mut varied = self.randomized(seed);
        for &(index, freedom) in freedom.iter().filter(|(_, freedom)| *freedom != Freedom::Kept) {
            let stream = SplitMix64::new(seed.rotate_left(32)).next_u64().wrapping_add(index as u64);
            let generator = &mut SplitMix64::new(SplitMix64::new(stream).next_u64());
            match &mut varied.args[index].value {
                ArgValue::Scalar(scalar) => *scalar = draw_scalar(generator, *scalar, freedom),
                ArgValue::Buffer(buffer) => {
                    let ty = buffer.element.unwrap_or(ScalarType::B32);
                    fill(&mut buffer.bytes, ty, || draw_element(generator, ty, freedom));
                }
                _ => {}
            }
        }
        varied
    }

    /// Whether two launches pass the same data, whatever they expect.
    pub fn has_data_of(&self, other: &Launch) -> bool {
        let same = |(one, other): (&Arg, &Arg)| match (&one.value, &other.value) {
            (ArgValue::Buffer(one), ArgValue::Buffer(other)) => one.bytes == other.bytes,
            (one, other) => one == other,
        };
        let same_texels = |(one, other): (&Image, &Image)| one.buffer.bytes == other.buffer.bytes;
        (self.args.len(), self.images.len()) == (other.args.len(), other.images.len())
            && self.args.iter().zip(&other.args).all(same)
            && self.images.iter().zip(&other.images).all(same_texels)
    }
}

/// How many different data these launches pass, whatever they expect.
pub fn distinct<'a>(launches: impl IntoIterator<Item = &'a Launch>) -> usize {
    let hash = |launch: &Launch| {
        let mut hasher = FxHasher::default();
        for arg in &launch.args {
            match &arg.value {
                ArgValue::Buffer(buffer) => buffer.bytes.hash(&mut hasher),
                value => value.hash(&mut hasher),
            }
        }
        launch.images.iter().for_each(|image| image.buffer.bytes.hash(&mut hasher));
        hasher.finish()
    };
    launches.into_iter().map(hash).collect::<FxHashSet<u64>>().len()
}

/// An integer in place of another one.
fn draw_scalar(generator: &mut SplitMix64, own: Scalar, freedom: Freedom) -> Scalar {
    let (ty, value) = (own.ty(), own.ty().integer(own.bits()));
    let drawn = match (freedom, generator.below(4)) {
        (Freedom::Near, _) => draw_integer(generator, value.min(0), value.max(0)),
        (_, 0 | 1) => value + generator.between(-4, 4),
        (_, 2) => generator.between(0, 2 * value.abs() + 1),
        _ => i128::from(draw_bits(generator, ty)),
    };
    Scalar::from_bits(ty, drawn as u64)
}

/// An element of a buffer that holds zeros.
fn draw_element(generator: &mut SplitMix64, ty: ScalarType, freedom: Freedom) -> u64 {
    match (freedom, ty.is_float()) {
        (Freedom::Near, _) => ty.nearest_bits(generator.below(4) as f64),
        (_, true) => draw_float(generator, ty),
        _ => draw_bits(generator, ty),
    }
}

/// The bits of an integer: one in eight a corner, three in eight below 256, the others any.
fn draw_bits(generator: &mut SplitMix64, ty: ScalarType) -> u64 {
    let top = 1 << (8 * ty.bytes() - 1);
    let corners = [0, 1, u64::MAX, top, top - 1, 1 << generator.below(8 * ty.bytes() as u64)];
    match generator.below(8) {
        0 => corners[generator.below(corners.len() as u64) as usize],
        1..=3 => generator.below(256),
        _ => generator.next_u64(),
    }
}

fn vary(arg: &mut Arg, generator: &mut SplitMix64) {
    match &mut arg.value {
        ArgValue::Scalar(scalar) if scalar.ty().is_float() => {
            let ty = scalar.ty();
            *scalar = Scalar::from_bits(ty, draw_float(generator, ty));
        }
        ArgValue::Buffer(buffer) => {
            buffer.expect = None;
            refill(buffer, generator);
        }
        _ => {}
    }
}

fn refill(buffer: &mut Buffer, generator: &mut SplitMix64) {
    match kind_of(buffer) {
        Kind::Zero => {}
        Kind::Raw => fill_raw(&mut buffer.bytes, generator),
        Kind::Floats(ty) => fill(&mut buffer.bytes, ty, || draw_float(generator, ty)),
        Kind::Integers { ty, min, max } => {
            fill(&mut buffer.bytes, ty, || draw_integer(generator, min, max) as u64);
        }
    }
}

/// The kind of a buffer: by its stated element type, or by its look.
fn kind_of(buffer: &Buffer) -> Kind {
    if buffer.bytes.iter().all(|&byte| byte == 0) {
        return Kind::Zero;
    }
    match buffer.element {
        None => guess(&buffer.bytes),
        Some(ty) if ty.is_float() => Kind::Floats(ty),
        Some(ty) => match range(&buffer.bytes, ty) {
            Some((min, max)) => Kind::Integers { ty, min, max },
            None => Kind::Raw,
        },
    }
}

/// What `bytes` look like.
pub fn guess(bytes: &[u8]) -> Kind {
    if bytes.iter().all(|&byte| byte == 0) {
        return Kind::Zero;
    }
    use ScalarType::{F32, F64, S16, S32, S64, U8, U16, U32, U64};
    // A u64 of small values is also a row of u32 in which every second one is zero; reading it so would put values
    // into the high words, so the wide types go first.
    let integers = || [U64, S64, U32, S32].into_iter().find_map(|ty| integers_within(bytes, ty, -SMALL, SMALL));
    let text = || integers_within(bytes, U8, 9, 126);
    let floats = || {
        let ty = [F32, F64].into_iter().find(|&ty| everyday_floats(bytes, ty))?;
        Some(Kind::Floats(ty))
    };
    // Sixteen bits hold only small values, so there only a narrow range tells integers from noise.
    let halves = || [U16, S16].into_iter().find_map(|ty| integers_within(bytes, ty, -4095, 4095));
    let narrow = || integers_within(bytes, U8, 0, 127);
    integers().or_else(text).or_else(floats).or_else(halves).or_else(narrow).unwrap_or(Kind::Raw)
}

fn whole(bytes: &[u8], ty: ScalarType) -> bool {
    !bytes.is_empty() && bytes.len().is_multiple_of(ty.bytes())
}

fn elements(bytes: &[u8], ty: ScalarType) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(ty.bytes()).map(move |element| Scalar::from_bytes(ty, element).bits())
}

/// The smallest and the largest element.
fn range(bytes: &[u8], ty: ScalarType) -> Option<(i128, i128)> {
    let mut values = elements(bytes, ty).map(|bits| ty.integer(bits));
    let first = values.next()?;
    Some(values.fold((first, first), |(min, max), value| (min.min(value), max.max(value))))
}

/// Integers, if all elements lie between `low` and `high`.
fn integers_within(bytes: &[u8], ty: ScalarType, low: i128, high: i128) -> Option<Kind> {
    let (min, max) = range(bytes, ty).filter(|_| whole(bytes, ty))?;
    (low <= min && max <= high).then_some(Kind::Integers { ty, min, max })
}

/// Whether all elements are zero or of everyday size but for one in eight, which may be an infinity or NaN.
fn everyday_floats(bytes: &[u8], ty: ScalarType) -> bool {
    if !whole(bytes, ty) {
        return false;
    }
    let (mut special, mut count) = (0usize, 0usize);
    for bits in elements(bytes, ty) {
        let value = ty.to_f64(bits).abs();
        count += 1;
        match value {
            _ if value == 0.0 || EVERYDAY.contains(&value) => {}
            _ if !value.is_finite() => special += 1,
            _ => return false,
        }
    }
    special * 8 <= count
}

fn fill(bytes: &mut [u8], ty: ScalarType, mut draw: impl FnMut() -> u64) {
    for element in bytes.chunks_exact_mut(ty.bytes()) {
        element.copy_from_slice(&draw().to_le_bytes()[..ty.bytes()]);
    }
}

/// An integer of the closed range; one in eight is an end of it.
fn draw_integer(generator: &mut SplitMix64, min: i128, max: i128) -> i128 {
    match generator.below(16) {
        0 => min,
        1 => max,
        _ => generator.between(min, max),
    }
}

/// The bits of a float: one in sixteen a corner (zeros, infinities, NaN, extremes, subnormals), three in sixteen a
/// small whole number, on which arithmetic is exact and reassociation invisible unless wrong, three in sixteen of any
/// exponent between 2^-16 and 2^16, and the others evenly from -4 to 4.
pub(super) fn draw_float(generator: &mut SplitMix64, ty: ScalarType) -> u64 {
    let sign = if generator.below(2) == 0 { 1.0 } else { -1.0 };
    match generator.below(16) {
        0 => corner(generator, ty),
        1..=3 => ty.nearest_bits(sign * generator.below(17) as f64),
        4..=6 => {
            let exponent = generator.below(33) as i32 - 16;
            ty.nearest_bits(sign * (1.0 + generator.unit()) * f64::from(exponent).exp2())
        }
        _ => ty.nearest_bits(sign * 4.0 * generator.unit()),
    }
}

/// A corner of a float type: with either sign zero, one, infinity, the smallest and the largest subnormal, the smallest
/// and the largest normal number, the neighbour of one, and NaN.
fn corner(generator: &mut SplitMix64, ty: ScalarType) -> u64 {
    let infinity = ty.nearest_bits(f64::INFINITY);
    let one = ty.nearest_bits(1.0);
    // The lowest bit of the exponent field is the smallest normal number.
    let smallest_normal = infinity & infinity.wrapping_neg();
    let quiet_nan = infinity | (smallest_normal >> 1);
    let corners = [0, one, infinity, 1, smallest_normal - 1, smallest_normal, infinity - 1, one + 1, quiet_nan];
    let sign = generator.below(2) << (8 * ty.bytes() - 1);
    corners[generator.below(corners.len() as u64) as usize] | sign
}

/// Even bytes; one word in eight is all zeros, all ones, or the sign bit alone.
fn fill_raw(bytes: &mut [u8], generator: &mut SplitMix64) {
    const CORNERS: [u32; 4] = [0, u32::MAX, 1 << 31, u32::MAX >> 1];
    for word in bytes.chunks_mut(4) {
        let choice = generator.below(32) as usize;
        let drawn = generator.next_u64() as u32;
        let value = CORNERS.get(choice).copied().unwrap_or(drawn);
        word.copy_from_slice(&value.to_le_bytes()[..word.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(buffer: Buffer) -> Launch {
        let mut launch = Launch::new(None);
        launch.args.push(Arg { name: None, value: ArgValue::Buffer(buffer) });
        launch
    }

    fn varied(bytes: Vec<u8>, element: Option<ScalarType>, seed: u64) -> Vec<u8> {
        let buffer = Buffer { expect: Some(bytes.clone()), bytes, element, tolerance: None, replicas: 0 };
        let drawn = launch(buffer).randomized(seed);
        let (_, buffer) = drawn.buffers().next().unwrap();
        assert_eq!(buffer.expect, None, "nobody knows what new data leads to");
        buffer.bytes.clone()
    }

    fn little<const N: usize, T>(values: &[T], to: impl Fn(&T) -> [u8; N]) -> Vec<u8> {
        values.iter().flat_map(to).collect()
    }

    #[test]
    fn kinds_are_recognised() {
        let integers = |ty, min, max| Kind::Integers { ty, min, max };
        let u32s = little(&[5u32, 0, 900, 17], |v| v.to_le_bytes());
        assert_eq!(guess(&u32s), integers(ScalarType::U32, 0, 900));
        let s32s = little(&[5i32, -3, 900, 17], |v| v.to_le_bytes());
        assert_eq!(guess(&s32s), integers(ScalarType::S32, -3, 900));
        let u64s = little(&[5u64, 1, 900, 17], |v| v.to_le_bytes());
        assert_eq!(guess(&u64s), integers(ScalarType::U64, 1, 900));
        let s64s = little(&[5i64, -1, 900, 17], |v| v.to_le_bytes());
        assert_eq!(guess(&s64s), integers(ScalarType::S64, -1, 900));
        let f32s = little(&[0.5f32, -3.25, 0.0, 1e6, 1e-5, 7.0, 8.0, f32::NAN], |v| v.to_le_bytes());
        assert_eq!(guess(&f32s), Kind::Floats(ScalarType::F32));
        let f64s = little(&[0.1f64, -3.3, 0.0, 1e6], |v| v.to_le_bytes());
        assert_eq!(guess(&f64s), Kind::Floats(ScalarType::F64));
        assert_eq!(guess(&super::super::random::bytes(3, 256)), Kind::Raw);
        assert_eq!(guess(&[0; 16]), Kind::Zero);
        assert_eq!(guess(&[]), Kind::Zero);
        assert_eq!(guess(b"DESIGN 7"), integers(ScalarType::U8, 32, 83));
        assert_eq!(guess(&[1, 127, 0, 3, 9]), integers(ScalarType::U8, 0, 127));
        let u16s = little(&[500u16, 4095, 300, 2], |v| v.to_le_bytes());
        assert_eq!(guess(&u16s), integers(ScalarType::U16, 2, 4095));
        let s16s = little(&[500i16, -4095, 300, -2], |v| v.to_le_bytes());
        assert_eq!(guess(&s16s), integers(ScalarType::S16, -4095, 500));
        assert_eq!(guess(&[200, 1, 130]), Kind::Raw);
    }

    #[test]
    fn indices_never_leave_their_range_and_reach_both_ends() {
        let indices = little(&[3u32, 250, 77, 3, 19, 42, 100, 5], |v| v.to_le_bytes()).repeat(64);
        for element in [None, Some(ScalarType::U32), Some(ScalarType::S32), Some(ScalarType::B32)] {
            for seed in 0..50 {
                let drawn = varied(indices.clone(), element, seed);
                let (min, max) = range(&drawn, ScalarType::U32).unwrap();
                assert_eq!((min, max), (3, 250), "seed {seed}");
                assert_ne!(drawn, indices);
            }
        }
        let wide = little(&[-7i64, 1 << 23], |v| v.to_le_bytes()).repeat(32);
        assert_eq!(range(&varied(wide, None, 1), ScalarType::S64), Some((-7, 1 << 23)));
        let bytes = [10, 20, 30, 11].repeat(64);
        let drawn = varied(bytes, Some(ScalarType::U8), 1);
        assert_eq!(range(&drawn, ScalarType::U8), Some((10, 30)));
    }

    #[test]
    fn zeros_stay_and_lengths_stay() {
        assert_eq!(varied(vec![0; 100], None, 1), [0; 100]);
        assert_eq!(varied(vec![0; 100], Some(ScalarType::F32), 1), [0; 100]);
        for length in [1, 2, 3, 7, 8, 13, 64] {
            let bytes = super::super::random::bytes(9, length);
            for element in std::iter::once(None).chain(ScalarType::ALL.map(Some)) {
                assert_eq!(varied(bytes.clone(), element, 4).len(), length);
            }
        }
    }

    #[test]
    fn floats_cover_corners_and_stay_mostly_everyday() {
        for ty in [ScalarType::F16, ScalarType::Bf16, ScalarType::F32, ScalarType::F64] {
            let ones = ty.nearest_bits(1.0).to_le_bytes()[..ty.bytes()].repeat(4000);
            let drawn = varied(ones, Some(ty), 11);
            let values: Vec<f64> = elements(&drawn, ty).map(|bits| ty.to_f64(bits)).collect();
            let count = |test: fn(&f64) -> bool| values.iter().filter(|value| test(value)).count();
            assert!(count(|v| v.is_nan()) > 0);
            assert!(count(|v| v.is_infinite()) > 0);
            assert!(count(|v| *v == 0.0 && v.is_sign_negative()) > 0);
            assert!(count(|v| *v != 0.0 && v.abs() < 1e-4 && v.is_finite()) > 0);
            assert!(count(|v| v.abs() <= 4.0) > 2000);
            assert!(count(|v| *v > 1.0 && v.fract() == 0.0) > 100);
        }
    }

    #[test]
    fn integer_scalars_stay_and_floats_vary() {
        let scalar = |ty, bits| ArgValue::Scalar(Scalar::from_bits(ty, bits));
        let mut launch = Launch::new(None);
        let values = [scalar(ScalarType::U32, 1000), scalar(ScalarType::F32, 0x3f80_0000), ArgValue::Null];
        launch.args = values.map(|value| Arg { name: None, value }).to_vec();
        let drawn: Vec<Launch> = (0..8).map(|seed| launch.randomized(seed)).collect();
        assert!(drawn.iter().all(|other| other.args[0] == launch.args[0] && other.args[2] == launch.args[2]));
        assert!(drawn.iter().filter(|other| other.args[1] != launch.args[1]).count() >= 6);
        assert_eq!(drawn[3], launch.randomized(3));
    }

    #[test]
    fn raw_bytes_change_and_meet_corners() {
        let drawn = varied(super::super::random::bytes(3, 4096), None, 5);
        let words: Vec<u32> = elements(&drawn, ScalarType::U32).map(|bits| bits as u32).collect();
        assert!(words.contains(&u32::MAX) && words.contains(&0) && words.contains(&(1 << 31)));
        assert!(words.iter().filter(|&&word| word != 0 && word != u32::MAX).count() > 800);
    }

    #[test]
    fn what_stays_is_drawn_as_far_as_it_may() {
        let integer = |value: u64| ArgValue::Scalar(Scalar::from_bits(ScalarType::S32, value));
        let zeros = |element| ArgValue::Buffer(Buffer { bytes: vec![0; 64], element, ..Buffer::default() });
        let mut launch = Launch::new(None);
        let values = [integer(9), ArgValue::Null, zeros(Some(ScalarType::F32)), zeros(None), integer(7)];
        launch.args = values.map(|value| Arg { name: None, value }).to_vec();
        assert_eq!(launch.kept(), [0, 2, 3, 4]);
        let with = |freedom: Freedom, seed| launch.varied(seed, &[(0, freedom), (2, freedom), (3, Freedom::Kept)]);
        let value = |launch: &Launch| match launch.args[0].value {
            ArgValue::Scalar(scalar) => scalar.ty().integer(scalar.bits()),
            _ => unreachable!("it is a number"),
        };
        let floats = |launch: &Launch| {
            let buffer = launch.buffers().next().expect("a buffer").1;
            elements(&buffer.bytes, ScalarType::F32).map(|bits| ScalarType::F32.to_f64(bits)).collect::<Vec<_>>()
        };
        let near: Vec<Launch> = (0..40).map(|seed| with(Freedom::Near, seed)).collect();
        assert!(near.iter().all(|launch| (0..=9).contains(&value(launch))));
        assert!(near.iter().flat_map(floats).all(|float| float.fract() == 0.0 && (0.0..4.0).contains(&float)));
        let any: Vec<Launch> = (0..200).map(|seed| with(Freedom::Any, seed)).collect();
        assert!(any.iter().any(|launch| value(launch) < 0) && any.iter().any(|launch| value(launch) > 1 << 20));
        assert!(any.iter().flat_map(floats).any(|float| float < 0.0));
        let last = |launch: &Launch| (launch.args[3].clone(), launch.args[4].clone());
        assert!(near.iter().chain(&any).all(|other| last(other) == last(&launch)));
        assert_eq!(with(Freedom::Kept, 1), launch);
        assert_eq!(with(Freedom::Any, 1), with(Freedom::Any, 1));
        assert_eq!(distinct([&launch, &with(Freedom::Kept, 1), &any[0], &any[1], &any[0]]), 3);
    }
}
