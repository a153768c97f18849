//! Doubles over the lanes of a warp: arithmetic that rounds to the nearest, and comparisons.

use oriole_ir::ops::Compare as FloatCompare;

use super::arithmetic::by_order;
use super::lanes::{LANES, Lanes, mask};
use super::program::*;
use super::state::Warp;

/// What arithmetic yields where the result is no number.
const NAN: u64 = 0x7ff8_0000_0000_0000;

/// An operation on doubles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DoubleOp {
    /// A sum.
    Add,
    /// A product.
    Mul,
    /// A product and a sum, rounded once.
    Fma,
}

impl Warp {
    /// An operation on doubles; a sum and a product have two operands.
    pub fn doubles(&mut self, literals: &[Lanes], op: DoubleOp, dst: u16, srcs: &[(Src, Src); 3], active: u32) {
        let [a, b] = [srcs[0], srcs[1]].map(|pair| self.double(literals, pair));
        let result = match op {
            DoubleOp::Add => lanes(|lane| a[lane] + b[lane]),
            DoubleOp::Mul => lanes(|lane| a[lane] * b[lane]),
            DoubleOp::Fma => {
                let c = self.double(literals, srcs[2]);
                lanes(|lane| a[lane].mul_add(b[lane], c[lane]))
            }
        };
        let bits = result.map(|value| if value.is_nan() { NAN } else { value.to_bits() });
        self.write(dst, &bits.map(|bits| bits as u32), active);
        self.write(dst + 1, &bits.map(|bits| (bits >> 32) as u32), active);
    }

    /// The lanes in which a comparison of doubles holds.
    pub fn compare_doubles(&self, literals: &[Lanes], srcs: &[(Src, Src); 2], compare: FloatCompare) -> u32 {
        let [a, b] = srcs.map(|pair| self.double(literals, pair));
        let less = mask(|lane| a[lane] < b[lane]);
        let equal = mask(|lane| a[lane] == b[lane]);
        by_order(compare, less, equal, mask(|lane| a[lane] > b[lane]))
    }

    /// The double in two operands, the lower word first.
    fn double(&self, literals: &[Lanes], (low, high): (Src, Src)) -> [f64; LANES] {
        let (low, high) = (self.fetch(literals, low), self.fetch(literals, high));
        lanes(|lane| f64::from_bits(u64::from(high[lane]) << 32 | u64::from(low[lane])))
    }
}

/// A plain loop becomes vectors.
#[inline(always)]
fn lanes(f: impl Fn(usize) -> f64) -> [f64; LANES] {
    let mut result = [0.0; LANES];
    let mut lane = 0;
    while lane < LANES {
        result[lane] = f(lane);
        lane += 1;
    }
    result
}
