//! `mma`: D = A * B + C.
//!
//! PTX ISA 9.0, "mma", leaves floating-point arithmetic open: "The accumulation order, rounding and handling of
//! subnormal inputs are unspecified"; intermediate values have at least single precision, or half precision where C
//! and D have. This is the one model here, the same before and after every step:
//!
//! - Subnormal numbers count. Products are exact; C and the products are added in the order of k, each sum rounded to
//!   the nearest f64; the last one is rounded to the nearest f32, and for f16 from there to the nearest f16.
//! - So an element of D is off by at most `k * 2^-53 * (|c| + sum |a * b|)`, and half a unit in the last place of f32,
//!   and of f16.
//! - Of tf32 the upper 19 bits of a word count. A result that is no number is the canonical NaN.
//!
//! f64 is a chain of fused multiply-adds in the order of k with the rounding that is written, and integers are exact:
//! they wrap around or, with `.satfinite`, stay within s32.
//!
//! An element of D is undefined where its row of A, its column of B or its element of C has an undefined word.

use oriole_ir::ops::{BitProduct, LeftElement};

use super::layout::{GROUP, inner, row_of_left, sum_of_half, sum_of_word};
use super::sparse::{self, Choice, Chosen};
use super::{Results, Sources, quarters};
use crate::lanes::{LANES, Word, by_lane};
#[cfg(target_arch = "x86_64")]
use crate::processor::{Vectors, vectors};
use crate::scalar::ScalarOp;

/// Columns of B, C and D in every shape.
pub const COLUMNS: usize = 8;
/// Rows of A, C and D at most.
pub const MOST_ROWS: usize = 16;

/// A matrix product: one of up to 16 rows and 8 columns, or several of these.
#[derive(Clone, Copy)]
pub struct Product {
    /// Rows of A, C and D.
    pub rows: usize,
    /// How many products an element of D is the sum of.
    pub inner: usize,
    /// The elements of A and B.
    pub factors: Factors,
    /// The elements of C.
    pub addend: Sum,
    /// The elements of D.
    pub sum: Sum,
    /// How many words of a lane are A, B, C and D.
    pub words: [usize; 4],
    /// The first word of A, B and C among the sources, and of D among the results.
    pub starts: [usize; 4],
    /// The products that it consists of.
    pub tiles: Tiles,
    /// Which elements A has, where it is sparse.
    pub choice: Option<Choice>,
}

impl Product {
    /// How many products of elements are added up.
    #[inline]
    pub fn products(&self) -> usize {
        let tiles = if self.tiles == Tiles::One { 1 } else { 2 };
        let quarters = if matches!(self.factors, Factors::Quarters { .. }) { quarters::COUNT } else { 1 };
        tiles * quarters * self.rows * COLUMNS * self.inner
    }

    /// One of two products beside or below each other.
    fn tile(&self, index: usize) -> Product {
        let [a, b, c, d] = self.starts;
        let [left, right, addend, sum] = self.words.map(|words| words * index);
        let (c, d) = (c + addend, d + sum);
        let starts = match self.tiles {
            Tiles::One => self.starts,
            Tiles::Columns => [a, b + right, c, d],
            Tiles::Rows => [a + left, b, c, d],
            Tiles::Exchanged => [b + left, a, c, d],
        };
        Product { starts, tiles: Tiles::One, ..*self }
    }
}

/// The products that a product consists of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tiles {
    /// Itself.
    One,
    /// Two with the columns of B shared out.
    Columns,
    /// Two with the rows of A shared out.
    Rows,
    /// Two with the columns of B shared out, which stand as rows: the transpose of B times that of A.
    Exchanged,
}

/// What is multiplied.
#[derive(Clone, Copy)]
pub enum Factors {
    /// Floats of up to 32 bits.
    Float(LeftElement, LeftElement),
    /// f16 in each quarter of the lanes.
    Quarters {
        /// Whether A is by columns.
        left_by_columns: bool,
        /// Whether B is.
        right_by_columns: bool,
    },
    /// Integers.
    Integer(LeftElement, LeftElement),
    /// Single bits.
    Bits(BitProduct),
    /// By `f64` arithmetic, or an operation that rounds in another direction.
    Double(Option<ScalarOp>),
}

/// What C and D are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sum {
    /// `f16`.
    F16,
    /// `f32`.
    F32,
    /// `f64`.
    F64,
    /// Wrapping or saturating.
    S32(bool),
}

/// A, B, and C or D, each by rows. Places are taken modulo the extents of these, which they are below anyway: it spares
/// checks, and a product of f16 with 16 pairs an element takes 0.46 us instead of 0.71. Measured 2026-11.
pub type Left<T, const K: usize> = [[T; K]; MOST_ROWS];
pub type Right<T, const K: usize> = [[T; COLUMNS]; K];
pub type Sums<T> = [[T; COLUMNS]; MOST_ROWS];

macro_rules! versions {
    ($($name:ident $multiply:ident $(#[$feature:meta])?),*) => {
        $(
            $(#[$feature])?
            fn $name(product: &Product, sources: &Sources, results: &mut Results) {
                $multiply(product, sources, results);
            }
        )*
    };
}

// Doubles have functions of their own: a short product is not to pay for the registers and the memory of the others.
versions! { baseline multiply_all, baseline_of_doubles multiply_doubles }
#[cfg(target_arch = "x86_64")]
versions! {
    avx2 multiply_all #[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,lzcnt")],
    avx2_of_doubles multiply_doubles #[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,lzcnt")]
}

/// Computes D.
pub fn multiply(product: &Product, sources: &Sources, results: &mut Results) {
    match product.tiles {
        Tiles::One => multiply_one(product, sources, results),
        _ => (0..2).for_each(|index| multiply_one(&product.tile(index), sources, results)),
    }
}

/// Computes D, and which of its words are undefined.
fn multiply_one(product: &Product, sources: &Sources, results: &mut Results) {
    multiply_defined(product, sources, results);
    mark_undefined(product, sources, results);
}

/// Computes D as if all words were defined, with the vectors that the processor has.
#[inline(always)]
fn multiply_defined(product: &Product, sources: &Sources, results: &mut Results) {
    let of_doubles = matches!(product.factors, Factors::Double(_));
    #[cfg(target_arch = "x86_64")]
    if vectors() >= Vectors::Avx2 {
        // SAFETY: the features that these versions are compiled for have just been detected.
        return match of_doubles {
            true => unsafe { avx2_of_doubles(product, sources, results) },
            false => unsafe { avx2(product, sources, results) },
        };
    }
    match of_doubles {
        true => baseline_of_doubles(product, sources, results),
        false => baseline(product, sources, results),
    }
}

#[inline(always)]
fn multiply_all(product: &Product, sources: &Sources, results: &mut Results) {
    let parts = parts(product, &sources.values);
    let elements = product.choice.map(|choice| choice.elements(sources.values[choice.word]));
    let chosen = elements.as_ref();
    // Arrays and loops of the depth that a shape has: a short product is not to pay for a long one.
    match (product.factors, product.inner) {
        (Factors::Quarters { left_by_columns, right_by_columns }, _) => {
            quarters::multiply(product, parts, [left_by_columns, right_by_columns], results)
        }
        (Factors::Float(a, b), _) if chosen.is_some() => match product.inner {
            8 => floats::<4, 8>(product, parts, [a, b], chosen, results),
            16 => floats::<8, 16>(product, parts, [a, b], chosen, results),
            32 => floats::<16, 32>(product, parts, [a, b], chosen, results),
            _ => floats::<32, 64>(product, parts, [a, b], chosen, results),
        },
        (Factors::Float(a, b), 4) => floats::<4, 4>(product, parts, [a, b], None, results),
        (Factors::Float(a, b), 8) => floats::<8, 8>(product, parts, [a, b], None, results),
        (Factors::Float(a, b), 16) => floats::<16, 16>(product, parts, [a, b], None, results),
        (Factors::Float(a, b), _) => floats::<32, 32>(product, parts, [a, b], None, results),
        (Factors::Integer(a, b), _) if chosen.is_some() => match product.inner {
            32 => integers::<16, 32>(product, parts, [a, b], chosen, results),
            64 => integers::<32, 64>(product, parts, [a, b], chosen, results),
            _ => integers::<64, 128>(product, parts, [a, b], chosen, results),
        },
        (Factors::Integer(a, b), 16) => integers::<16, 16>(product, parts, [a, b], None, results),
        (Factors::Integer(a, b), 32) => integers::<32, 32>(product, parts, [a, b], None, results),
        (Factors::Integer(a, b), _) => integers::<64, 64>(product, parts, [a, b], None, results),
        (Factors::Bits(how), 128) => bits::<4>(product, parts, how, results),
        (Factors::Bits(how), _) => bits::<8>(product, parts, how, results),
        (Factors::Double(_), _) => unreachable!("doubles have functions of their own"),
    }
}

#[inline(always)]
fn multiply_doubles(product: &Product, sources: &Sources, results: &mut Results) {
    let Factors::Double(other) = product.factors else { unreachable!("others have functions of their own") };
    let parts = parts(product, &sources.values);
    match product.inner {
        4 if product.rows == COLUMNS => doubles::<1, 1>(product, parts, other, results),
        4 => doubles::<2, 1>(product, parts, other, results),
        8 => doubles::<4, 2>(product, parts, other, results),
        _ => doubles::<8, 4>(product, parts, other, results),
    }
}

/// What belongs to A, B and C of something by words.
fn parts<'a, T>(product: &Product, words: &'a [T]) -> [&'a [T]; 3] {
    std::array::from_fn(|i| &words[product.starts[i]..product.starts[i] + product.words[i]])
}

#[inline(always)]
fn floats<const HELD: usize, const K: usize>(
    product: &Product,
    [left, right, addend]: [&[&Word]; 3],
    types: [LeftElement; 2],
    chosen: Option<&Chosen>,
    results: &mut Results,
) {
    let rows = product.rows;
    let (mut a, mut b): (Left<f64, HELD>, Right<f64, K>) = ([[0.0; HELD]; MOST_ROWS], [[0.0; COLUMNS]; K]);
    let put_left = |row: usize, k: usize, value| a[row % MOST_ROWS][k % HELD] = value;
    unpack_floats(left, types[0], rows / COLUMNS, put_left);
    unpack_floats(right, types[1], 1, |column: usize, k: usize, value| b[k % K][column % COLUMNS] = value);
    let mut sums = [[0.0; COLUMNS]; MOST_ROWS];
    match product.addend {
        Sum::F16 => {
            each_half(addend, |row, column, half| sums[row % MOST_ROWS][column % COLUMNS] = float16(u32::from(half)))
        }
        _ => each_word(addend, |row, column, word| {
            sums[row % MOST_ROWS][column % COLUMNS] = f64::from(f32::from_bits(word))
        }),
    }
    add_up(&a[..rows], &b, &mut sums, chosen, |sum, a, b| sum + a * b);
    match product.sum {
        Sum::F16 => store_halves(&sums, product, results),
        _ => store_words(&sums, product, results, single),
    }
}

#[inline(always)]
fn integers<const HELD: usize, const K: usize>(
    product: &Product,
    [left, right, addend]: [&[&Word]; 3],
    types: [LeftElement; 2],
    chosen: Option<&Chosen>,
    results: &mut Results,
) {
    let rows = product.rows;
    let (mut a, mut b): (Left<i32, HELD>, Right<i32, K>) = ([[0; HELD]; MOST_ROWS], [[0; COLUMNS]; K]);
    let put_left = |row: usize, k: usize, value| a[row % MOST_ROWS][k % HELD] = value;
    unpack_integers(left, types[0], rows / COLUMNS, put_left);
    unpack_integers(right, types[1], 1, |column: usize, k: usize, value| b[k % K][column % COLUMNS] = value);
    // No more than 64 products of at most 16 bits are added: that does not overflow.
    let mut products = [[0; COLUMNS]; MOST_ROWS];
    add_up(&a[..rows], &b, &mut products, chosen, |sum, a, b| sum + a * b);
    finish_integers(product, addend, &products, results);
}

#[inline(always)]
fn bits<const K: usize>(
    product: &Product,
    [left, right, addend]: [&[&Word]; 3],
    how: BitProduct,
    results: &mut Results,
) {
    let rows = product.rows;
    let (mut a, mut b): (Left<u32, K>, Right<u32, K>) = ([[0; K]; MOST_ROWS], [[0; COLUMNS]; K]);
    unpack::<32, _>(left, rows / COLUMNS, |word| word, |row, k, word| a[row % MOST_ROWS][k % K] = word);
    unpack::<32, _>(right, 1, |word| word, |column, k, word| b[k % K][column % COLUMNS] = word);
    let mut products = [[0; COLUMNS]; MOST_ROWS];
    accumulate(&a[..rows], &b, &mut products, |sum, a, b| {
        sum + if how == BitProduct::Xor { a ^ b } else { a & b }.count_ones() as i32
    });
    finish_integers(product, addend, &products, results);
}

#[inline(always)]
fn finish_integers(product: &Product, addend: &[&Word], products: &Sums<i32>, results: &mut Results) {
    let mut sums = [[0i64; COLUMNS]; MOST_ROWS];
    each_word(addend, |row, column, word| {
        sums[row % MOST_ROWS][column % COLUMNS] =
            i64::from(word as i32) + i64::from(products[row % MOST_ROWS][column % COLUMNS]);
    });
    store_words(&sums, product, results, |sum| match product.sum {
        Sum::S32(true) => sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u32,
        _ => sum as u32,
    });
}

/// The sum of products of doubles, of which a lane holds `LEFT` of A and `RIGHT` of B.
#[inline(always)]
fn doubles<const LEFT: usize, const RIGHT: usize>(
    product: &Product,
    parts: [&[&Word]; 3],
    other: Option<ScalarOp>,
    results: &mut Results,
) {
    match other {
        None => doubles_by::<LEFT, RIGHT>(product, parts, |sum, a, b| a.mul_add(b, sum), results),
        Some(op) => {
            let eval = |sum: f64, a: f64, b: f64| op.eval(&[a.to_bits(), b.to_bits(), sum.to_bits(), 0, 0]).value;
            doubles_by::<LEFT, RIGHT>(product, parts, |sum, a, b| f64::from_bits(eval(sum, a, b)), results);
        }
    }
}

/// Doubles stay where the lanes hold them. The four lanes of a group have a row of A between them, and two columns of C
/// and D each, of which a register is one: so a group adds, for each k, one element of A times what B has there in the
/// columns of its lanes.
#[inline(always)]
fn doubles_by<const LEFT: usize, const RIGHT: usize>(
    product: &Product,
    [left, right, addend]: [&[&Word]; 3],
    add: impl Fn(f64, f64, f64) -> f64,
    results: &mut Results,
) {
    let (a, b) = (all_doubles::<LEFT>(left), all_doubles::<RIGHT>(right).map(columns_of));
    let (side, first) = (LEFT / RIGHT, product.starts[3]);
    // The compiler knows this number where it is one and not where it is two: it unrolls a loop over two, and then uses
    // no vectors. 1024 products take 0.24 us instead of 0.48. Measured 2026-11.
    let registers = if RIGHT == 1 { 1 } else { product.words[1] / 2 };
    let results = results.values[first..first + 4 * side].chunks_exact_mut(4);
    // Eight rows have two registers of C and D.
    for (rows, (words, results)) in addend[..4 * side].chunks_exact(4).zip(results).enumerate() {
        for start in (0..LANES).step_by(SOME) {
            let mut sums = some_doubles(words, start);
            for register in 0..registers {
                let a = &a[(register * side + rows) % LEFT][start..start + SOME];
                add_products(&mut sums, a, &b[register % RIGHT], &add);
            }
            put_doubles(&sums, results, start);
        }
    }
}

/// The sums of so many lanes, two groups, stay in the processor's registers while products are added. Beside four
/// vectors for them and eight for columns there is no place for a third group.
const SOME: usize = 2 * GROUP;

/// What a register of B has in the columns of a group's lanes, of which a register of C is one: by k.
type Columns = [[[f64; GROUP]; 2]; GROUP];

#[inline(always)]
fn columns_of(b: [f64; LANES]) -> Columns {
    let mut all = Columns::default();
    for (k, registers) in all.iter_mut().enumerate() {
        for (register, columns) in registers.iter_mut().enumerate() {
            for (lane, column) in columns.iter_mut().enumerate() {
                *column = b[GROUP * sum_of_word(lane, register).1 + k];
            }
        }
    }
    all
}

/// The doubles of some lanes, in two registers.
type SomeDoubles = [[f64; SOME]; 2];

#[inline(always)]
fn some_doubles(words: &[&Word], start: usize) -> SomeDoubles {
    let mut some = SomeDoubles::default();
    for (register, some) in some.iter_mut().enumerate() {
        for (lane, place) in some.iter_mut().enumerate() {
            *place = double(&words[2 * register..2 * register + 2], start + lane);
        }
    }
    some
}

/// Adds the products of what these lanes have in a register of A, and of a register of B.
#[inline(always)]
fn add_products(sums: &mut SomeDoubles, a: &[f64], b: &Columns, add: &impl Fn(f64, f64, f64) -> f64) {
    for (k, columns) in b.iter().enumerate() {
        for (column, sums) in columns.iter().zip(&mut *sums) {
            for (lane, sum) in sums.iter_mut().enumerate() {
                *sum = add(*sum, a[lane / GROUP * GROUP + k], column[lane % GROUP]);
            }
        }
    }
}

#[inline(always)]
fn put_doubles(doubles: &SomeDoubles, words: &mut [Word], start: usize) {
    for (register, doubles) in doubles.iter().enumerate() {
        for (lane, double) in doubles.iter().enumerate() {
            let bits = if double.is_nan() { 0x7FF8_0000_0000_0000 } else { double.to_bits() };
            words[2 * register][start + lane] = bits as u32;
            words[2 * register + 1][start + lane] = (bits >> 32) as u32;
        }
    }
}

#[inline(always)]
fn all_doubles<const REGISTERS: usize>(words: &[&Word]) -> [[f64; LANES]; REGISTERS] {
    let mut all = [[0.0; LANES]; REGISTERS];
    // A loop and no adapters of iterators: those do not always become part of this, and are scalar code then.
    for (register, all) in all.iter_mut().enumerate() {
        *all = by_lane(|lane| double(&words[2 * register..2 * register + 2], lane));
    }
    all
}

#[inline(always)]
fn double(pair: &[&Word], lane: usize) -> f64 {
    f64::from_bits(u64::from(pair[0][lane]) | u64::from(pair[1][lane]) << 32)
}

/// Adds the products of A and B to sums: all, or those of the elements that A has.
#[inline(always)]
fn add_up<T: Copy, S: Copy, const HELD: usize, const K: usize>(
    a: &[[T; HELD]],
    b: &Right<T, K>,
    sums: &mut Sums<S>,
    chosen: Option<&Chosen>,
    add: impl Fn(S, T, T) -> S,
) {
    match chosen {
        None => accumulate(a, b, sums, add),
        Some(chosen) => sparse::accumulate(a, b, sums, chosen, add),
    }
}

/// Adds the products of A and B to sums, in the order of k.
#[inline(always)]
pub fn accumulate<T: Copy, S: Copy, const HELD: usize, const K: usize>(
    a: &[[T; HELD]],
    b: &Right<T, K>,
    sums: &mut [[S; COLUMNS]],
    add: impl Fn(S, T, T) -> S,
) {
    for (row, sums) in a.iter().zip(sums) {
        for (a, b) in row.iter().zip(b) {
            for column in 0..COLUMNS {
                sums[column] = add(sums[column], *a, b[column]);
            }
        }
    }
}

/// Takes the elements of `BITS` bits out of words: `put` gets row (of B, column), k and value of each. `side` registers
/// beside each other have the same k.
#[inline(always)]
fn unpack<const BITS: usize, T: Copy + Default>(
    words: &[&Word],
    side: usize,
    decode: impl Fn(u32) -> T,
    mut put: impl FnMut(usize, usize, T),
) {
    let each = 32 / BITS;
    for (register, word) in words.iter().enumerate() {
        for element in 0..each {
            let values = by_lane(|lane| decode(word[lane] >> (BITS * element % 32) & (u32::MAX >> (32 - BITS))));
            for (lane, value) in values.into_iter().enumerate() {
                put(row_of_left(lane, register % side), inner(lane, register / side, element, each), value);
            }
        }
    }
}

#[inline(always)]
fn unpack_floats(words: &[&Word], ty: LeftElement, side: usize, put: impl FnMut(usize, usize, f64)) {
    match ty {
        LeftElement::F16 => unpack::<16, _>(words, side, float16, put),
        LeftElement::Bf16 => unpack::<16, _>(words, side, |bits| f64::from(f32::from_bits(bits << 16)), put),
        LeftElement::E5m2 => unpack::<8, _>(words, side, |bits| float16(bits << 8), put),
        LeftElement::E4m3 => unpack::<8, _>(words, side, float8, put),
        _ => unpack::<32, _>(words, side, |bits| f64::from(f32::from_bits(bits & !0x1FFF)), put),
    }
}

#[inline(always)]
fn unpack_integers(words: &[&Word], ty: LeftElement, side: usize, put: impl FnMut(usize, usize, i32)) {
    match ty {
        LeftElement::S8 => unpack::<8, _>(words, side, |bits| i32::from(bits as i8), put),
        LeftElement::U8 => unpack::<8, _>(words, side, |bits| bits as i32, put),
        LeftElement::S4 => unpack::<4, _>(words, side, |bits| (bits << 28) as i32 >> 28, put),
        _ => unpack::<4, _>(words, side, |bits| bits as i32, put),
    }
}

/// An f16 value. Its bits are those of an f32 value with another bias, and so times a power of two.
#[inline(always)]
pub fn float16(bits: u32) -> f64 {
    let magnitude = (bits & 0x7FFF) << 13;
    let scaled = f32::from_bits(magnitude) * f32::from_bits((127 + 112) << 23);
    let special = magnitude >= 31 << 23;
    let bits_of = if special { 0xFF << 23 | magnitude } else { scaled.to_bits() };
    f64::from(f32::from_bits(bits_of | (bits & 0x8000) << 16))
}

/// An e4m3 value, which is never infinite.
#[inline(always)]
fn float8(bits: u32) -> f64 {
    let scaled = f32::from_bits((bits & 0x7F) << 20) * f32::from_bits((127 + 120) << 23);
    let magnitude = if bits & 0x7F == 0x7F { f32::NAN } else { scaled };
    f64::from(if bits & 0x80 == 0 { magnitude } else { -magnitude })
}

/// A sum rounded to f32.
#[inline(always)]
pub fn single(sum: f64) -> u32 {
    match sum as f32 {
        sum if sum.is_nan() => 0x7FFF_FFFF,
        sum => sum.to_bits(),
    }
}

/// A sum rounded to f32, and from there to f16. Without branches, so that it is done for many lanes at once.
#[inline(always)]
pub fn half(sum: f64) -> u32 {
    let bits = (sum as f32).to_bits();
    let (sign, size) = (bits >> 16 & 0x8000, bits & 0x7FFF_FFFF);
    // With the bias of f16, rounded to even at the 13 bits that go; what is too large is infinite.
    let normal = size.wrapping_sub(112 << 23).wrapping_add(0xFFF + (size >> 13 & 1)) >> 13;
    // The last bit of a half in f32 is that of subnormal numbers in f16.
    let tiny = (f32::from_bits(size) + 0.5).to_bits() - 0.5f32.to_bits();
    let rounded = if size < 113 << 23 { tiny } else { normal.min(0x7C00) };
    if size > 0x7F80_0000 { 0x7FFF } else { sign | rounded }
}

#[inline(always)]
fn each_word(words: &[&Word], mut visit: impl FnMut(usize, usize, u32)) {
    for (index, word) in words.iter().enumerate() {
        for (lane, value) in word.iter().enumerate() {
            let (row, column) = sum_of_word(lane, index);
            visit(row, column, *value);
        }
    }
}

#[inline(always)]
fn each_half(words: &[&Word], mut visit: impl FnMut(usize, usize, u16)) {
    for (index, word) in words.iter().enumerate() {
        for (lane, value) in word.iter().enumerate() {
            for half in 0..2 {
                let (row, column) = sum_of_half(lane, index, half);
                visit(row, column, (value >> (16 * half)) as u16);
            }
        }
    }
}

#[inline(always)]
fn store_words<T: Copy>(sums: &Sums<T>, product: &Product, results: &mut Results, bits: impl Fn(T) -> u32) {
    for index in 0..product.words[3] {
        results.values[product.starts[3] + index] = by_lane(|lane| {
            let (row, column) = sum_of_word(lane, index);
            bits(sums[row % MOST_ROWS][column % COLUMNS])
        });
    }
}

#[inline(always)]
fn store_halves(sums: &Sums<f64>, product: &Product, results: &mut Results) {
    for index in 0..product.words[3] {
        results.values[product.starts[3] + index] = by_lane(|lane| {
            let [low, high] = [0, 1].map(|half| sum_of_half(lane, index, half));
            let sum = |(row, column): (usize, usize)| sums[row % MOST_ROWS][column % COLUMNS];
            half(sum(low)) | half(sum(high)) << 16
        });
    }
}

/// Marks the words of D that depend on undefined words.
fn mark_undefined(product: &Product, sources: &Sources, results: &mut Results) {
    let unknown = product.choice.map_or(0, |choice| choice.unknown_rows(sources));
    if unknown == 0 && sources.undefined.iter().all(|lanes| *lanes == 0) {
        return;
    }
    let [left, right, addend] = parts(product, &sources.undefined);
    if let Factors::Quarters { left_by_columns, right_by_columns } = product.factors {
        let open = quarters::open(product, [left, right, addend], [left_by_columns, right_by_columns]);
        results.undefined[..open.len()].copy_from_slice(&open);
        return;
    }
    // A double takes two words of a lane.
    let width = if product.sum == Sum::F64 { 2 } else { 1 };
    let side = product.rows / COLUMNS;
    // The undefined elements of D: a bit a column of each row.
    let mut open: [u8; MOST_ROWS] = std::array::from_fn(|row| if unknown >> row & 1 == 1 { u8::MAX } else { 0 });
    for lane in 0..LANES {
        let unknown = |(_, lanes): &(usize, &u32)| **lanes >> lane & 1 == 1;
        left.iter().enumerate().filter(unknown).for_each(|(i, _)| open[row_of_left(lane, i / width % side)] = u8::MAX);
        for _ in right.iter().enumerate().filter(unknown) {
            open.iter_mut().for_each(|row| *row |= 1 << row_of_left(lane, 0));
        }
        for (i, _) in addend.iter().enumerate().filter(unknown) {
            held_sums(product.addend, lane, i / width).for_each(|(row, column)| open[row] |= 1 << column);
        }
    }
    for word in 0..product.words[3] {
        let depends = |lane: usize| held_sums(product.sum, lane, word / width).any(|(i, j)| open[i] >> j & 1 == 1);
        let undefined = (0..LANES).fold(0, |all, lane| all | u32::from(depends(lane)) << lane);
        results.undefined[product.starts[3] + word] = undefined;
    }
}

/// Row and column of the elements of C or D in a lane's register.
fn held_sums(sum: Sum, lane: usize, register: usize) -> impl Iterator<Item = (usize, usize)> {
    let count = if sum == Sum::F16 { 2 } else { 1 };
    (0..count).map(move |half| match sum {
        Sum::F16 => sum_of_half(lane, register, half),
        _ => sum_of_word(lane, register),
    })
}

#[cfg(test)]
mod tests {
    use ::half::f16;

    use super::*;

    /// Around every place where rounding goes the other way.
    #[test]
    fn sums_are_rounded_to_the_nearest_half() {
        for upper in 0..=0xFFFFu32 {
            for lower in [0, 1, 0xFFF, 0x1000, 0x1001, 0x1FFF, 0x2000, 0x3000, 0x7FFF, 0x8000, 0xF000, 0xFFFF] {
                let value = f32::from_bits(upper << 16 | lower);
                let wanted = if value.is_nan() { 0x7FFF } else { u32::from(f16::from_f32(value).to_bits()) };
                assert_eq!(half(f64::from(value)), wanted, "{:#x}", value.to_bits());
            }
        }
    }

    #[test]
    fn narrow_floats_have_the_values_of_their_formats() {
        for bits in 0..=0xFFFFu32 {
            let (found, wanted) = (float16(bits), f16::from_bits(bits as u16).to_f64());
            assert!(found == wanted && found.is_sign_negative() == wanted.is_sign_negative() || wanted.is_nan());
            assert_eq!(found.is_nan(), wanted.is_nan(), "{bits:#x}");
        }
        for bits in 0..=0xFFu32 {
            let (exponent, fraction) = ((bits >> 3 & 15) as i32, f64::from(bits & 7) / 8.0);
            let size =
                if exponent == 0 { fraction * 2f64.powi(-6) } else { (1.0 + fraction) * 2f64.powi(exponent - 7) };
            let wanted = if bits < 128 { size } else { -size };
            match bits & 0x7F {
                0x7F => assert!(float8(bits).is_nan()),
                _ => assert_eq!(float8(bits), wanted, "{bits:#x}"),
            }
        }
    }

    /// Row 1 is held by lanes 4 to 7 in their first two words, column 1 by every fourth lane in the second and fourth.
    #[test]
    fn undefined_words_reach_their_row_and_column() {
        let factors = Factors::Float(LeftElement::F16, LeftElement::F16);
        let [words, starts] = [[4, 2, 4, 4], [0, 4, 6, 0]];
        let [addend, sum] = [Sum::F32; 2];
        let tiles = Tiles::One;
        let product = Product { rows: 16, inner: 16, factors, addend, sum, words, starts, tiles, choice: None };
        let open = |word: usize| {
            let mut sources = Sources::default();
            sources.undefined[word] = 1 << 5;
            let mut results = Results::default();
            multiply(&product, &sources, &mut results);
            results.undefined
        };
        assert_eq!(open(0), [0xF0, 0xF0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(open(1), [0, 0, 0xF0, 0xF0, 0, 0, 0, 0]);
        assert_eq!(open(5), [0, 0x1111_1111, 0, 0x1111_1111, 0, 0, 0, 0]);
        assert_eq!(open(6), [1 << 5, 0, 0, 0, 0, 0, 0, 0]);
    }
}
