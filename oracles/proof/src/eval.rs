//! Concrete evaluation of terms: one input at a time, or many in lanes.
//!
//! A [`Program`] is the part of an arena that some roots need, flattened; a [`Machine`] runs it over as many inputs at
//! once as it has lanes, in the narrowest machine word that holds the widest vector, so that the compiler vectorises
//! each step. Constant folding goes through the same functions.

use super::term::{Op, Term, Terms};

/// The value of an operation on constants: the result's width, those of the first two operands, and their values.
pub(super) fn fold(op: Op, width: u32, a_width: u32, b_width: u32, values: [u128; 3]) -> u128 {
    let step = Step { op, width, a_width, b_width, args: [0, 1, 2], count: None };
    let mut result = [0u128];
    step.run(&mut result, &[values[0]], &[values[1]], &[values[2]]);
    result[0]
}

/// A machine word that holds bit vectors, zero-extended.
pub(super) trait Word: Copy + Ord + Send + Sync + 'static {
    const BITS: u32;
    const ZERO: Self;
    fn of(value: u128) -> Self;
    fn wide(self) -> u128;
    fn truth(value: bool) -> Self;
    fn mask(width: u32) -> Self;
    fn not(self) -> Self;
    fn and(self, b: Self) -> Self;
    fn or(self, b: Self) -> Self;
    fn xor(self, b: Self) -> Self;
    fn add(self, b: Self) -> Self;
    fn sub(self, b: Self) -> Self;
    fn mul(self, b: Self) -> Self;
    fn div(self, b: Self) -> Self;
    fn rem(self, b: Self) -> Self;
    /// Shifts by less than the word's width.
    fn shl(self, count: u32) -> Self;
    fn shr(self, count: u32) -> Self;
    fn sar(self, count: u32) -> Self;
    /// The value, at most `limit`.
    fn count(self, limit: u32) -> u32;
}

macro_rules! word {
    ($($word:ident $signed:ident),*) => {$(
        impl Word for $word {
            const BITS: u32 = $word::BITS;
            const ZERO: Self = 0;
            #[inline(always)]
            fn of(value: u128) -> Self { value as $word }
            #[inline(always)]
            fn wide(self) -> u128 { self as u128 }
            #[inline(always)]
            fn truth(value: bool) -> Self { value.into() }
            #[inline(always)]
            fn mask(width: u32) -> Self { $word::MAX >> ($word::BITS - width) }
            #[inline(always)]
            fn not(self) -> Self { !self }
            #[inline(always)]
            fn and(self, b: Self) -> Self { self & b }
            #[inline(always)]
            fn or(self, b: Self) -> Self { self | b }
            #[inline(always)]
            fn xor(self, b: Self) -> Self { self ^ b }
            #[inline(always)]
            fn add(self, b: Self) -> Self { self.wrapping_add(b) }
            #[inline(always)]
            fn sub(self, b: Self) -> Self { self.wrapping_sub(b) }
            #[inline(always)]
            fn mul(self, b: Self) -> Self { self.wrapping_mul(b) }
            // Hosts divide 32 bits several times as fast as 64.
            #[inline(always)]
            fn div(self, b: Self) -> Self {
                match (u32::try_from(self), u32::try_from(b)) {
                    (Ok(a), Ok(b)) if b != 0 => $word::from(a / b),
                    _ => self.checked_div(b).unwrap_or($word::MAX),
                }
            }
            #[inline(always)]
            fn rem(self, b: Self) -> Self {
                match (u32::try_from(self), u32::try_from(b)) {
                    (Ok(a), Ok(b)) if b != 0 => $word::from(a % b),
                    _ => self.checked_rem(b).unwrap_or(self),
                }
            }
            #[inline(always)]
            fn shl(self, count: u32) -> Self { self << count }
            #[inline(always)]
            fn shr(self, count: u32) -> Self { self >> count }
            #[inline(always)]
            fn sar(self, count: u32) -> Self { ((self as $signed) >> count) as $word }
            #[inline(always)]
            fn count(self, limit: u32) -> u32 { self.min(limit as $word) as u32 }
        }
    )*};
}
word!(u32 i32, u64 i64, u128 i128);

/// One node: its operation, the widths that it depends on, and the places of its operands.
#[derive(Clone, Copy, Debug)]
struct Step {
    op: Op,
    width: u32,
    a_width: u32,
    b_width: u32,
    args: [u32; 3],
    /// The count of a shift by a constant: one that is the same in all lanes lets the compiler vectorise.
    count: Option<u32>,
}

impl Step {
    /// Computes every lane.
    #[inline]
    fn run<W: Word>(&self, out: &mut [W], a: &[W], b: &[W], c: &[W]) {
        let mask = W::mask(self.width);
        let width = self.width;
        // Every operand has zeros above its width, and every result must. So only operations that can set a bit there
        // are masked.
        match self.op {
            Op::Const(value) => out.fill(W::of(value)),
            Op::Variable(_) => {}
            Op::Float(float) => {
                for (at, out) in out.iter_mut().enumerate() {
                    *out = W::of(float.value([a[at].wide(), b[at].wide(), c[at].wide()]));
                }
            }
            Op::Not => one(out, a, |x| x.not().and(mask)),
            Op::Neg => one(out, a, |x| W::ZERO.sub(x).and(mask)),
            Op::And => two(out, a, b, W::and),
            Op::Or => two(out, a, b, W::or),
            Op::Xor => two(out, a, b, W::xor),
            Op::Add => two(out, a, b, |x, y| x.add(y).and(mask)),
            Op::Sub => two(out, a, b, |x, y| x.sub(y).and(mask)),
            Op::Mul => two(out, a, b, |x, y| x.mul(y).and(mask)),
            Op::UDiv => two(out, a, b, |x, y| x.div(y).and(mask)),
            Op::URem => two(out, a, b, |x, y| x.rem(y)),
            Op::SDiv => two(out, a, b, |x, y| signed_division(width, x, y, W::div, true)),
            Op::SRem => two(out, a, b, |x, y| signed_division(width, x, y, W::rem, false)),
            Op::Shl | Op::LShr if self.count.is_some_and(|count| count >= width) => out.fill(W::ZERO),
            Op::Shl if let Some(count) = self.count => one(out, a, |x| x.shl(count).and(mask)),
            Op::LShr if let Some(count) = self.count => one(out, a, |x| x.shr(count)),
            Op::Shl => two(out, a, b, |x, y| {
                // Counts of the width or more shift everything out, where a shift of the host would overflow.
                let count = y.count(width);
                if count < width { x.shl(count).and(mask) } else { W::ZERO }
            }),
            Op::LShr => two(out, a, b, |x, y| {
                let count = y.count(width);
                if count < width { x.shr(count) } else { W::ZERO }
            }),
            Op::AShr => two(out, a, b, |x, y| sign_fill(x, width).sar(y.count(width - 1)).and(mask)),
            Op::Eq => two(out, a, b, |x, y| W::truth(x == y)),
            Op::Ult => two(out, a, b, |x, y| W::truth(x < y)),
            Op::Slt => {
                // With the sign bit flipped, signed order is unsigned order.
                let sign = W::of(1).shl(self.a_width - 1);
                two(out, a, b, |x, y| W::truth(x.xor(sign) < y.xor(sign)));
            }
            Op::Ite => {
                for (((out, a), b), c) in out.iter_mut().zip(a).zip(b).zip(c) {
                    *out = if *a != W::ZERO { *b } else { *c };
                }
            }
            Op::Concat => two(out, a, b, |x, y| x.shl(self.b_width).or(y)),
            Op::Extract(low) => one(out, a, |x| x.shr(low).and(mask)),
            Op::ZeroExtend => out.copy_from_slice(a),
            Op::SignExtend => one(out, a, |x| sign_fill(x, self.a_width).and(mask)),
        }
    }
}

#[inline(always)]
fn one<W: Word>(out: &mut [W], a: &[W], f: impl Fn(W) -> W) {
    for (out, a) in out.iter_mut().zip(a) {
        *out = f(*a);
    }
}

#[inline(always)]
fn two<W: Word>(out: &mut [W], a: &[W], b: &[W], f: impl Fn(W, W) -> W) {
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out = f(*a, *b);
    }
}

/// The word with all bits above the width filled with the sign.
#[inline(always)]
fn sign_fill<W: Word>(x: W, width: u32) -> W {
    x.shl(W::BITS - width).sar(W::BITS - width)
}

/// SMT-LIB defines signed division by that of magnitudes; the remainder has the dividend's sign.
#[inline(always)]
fn signed_division<W: Word>(width: u32, x: W, y: W, divide: impl Fn(W, W) -> W, both_signs: bool) -> W {
    let mask = W::mask(width);
    let negative = |x: W| x.shr(width - 1) != W::ZERO;
    let magnitude = |x: W| if negative(x) { W::ZERO.sub(x).and(mask) } else { x };
    let result = divide(magnitude(x), magnitude(y)).and(mask);
    let negate = negative(x) != (both_signs && negative(y));
    if negate { W::ZERO.sub(result).and(mask) } else { result }
}

/// A flattened part of an arena.
#[derive(Clone, Debug)]
pub struct Program {
    steps: Vec<Step>,
    /// The step of each variable of the arena that the roots read.
    inputs: Vec<Option<u32>>,
    roots: Vec<u32>,
    widest: u32,
}

impl Program {
    /// What computes these roots.
    pub fn new(terms: &Terms, roots: &[Term]) -> Program {
        let needed = terms.reachable(roots);
        let place = |term: Term| needed.binary_search(&term).map_or(0, |place| place as u32);
        let mut program =
            Program { steps: Vec::new(), inputs: vec![None; terms.variables().len()], roots: Vec::new(), widest: 1 };
        for (index, term) in needed.iter().enumerate() {
            let node = terms.node(*term);
            let (mut args, mut widths) = ([0; 3], [node.width; 3]);
            for (slot, arg) in node.operands().iter().enumerate() {
                (args[slot], widths[slot]) = (place(*arg), terms.width(*arg));
            }
            if let Op::Variable(number) = node.op {
                program.inputs[number as usize] = Some(index as u32);
            }
            program.widest = program.widest.max(node.width);
            let [a_width, b_width, _] = widths;
            let count = node.operands().get(1).and_then(|count| terms.value(*count));
            let count = count.map(|count| u32::try_from(count).unwrap_or(u32::MAX));
            program.steps.push(Step { op: node.op, width: node.width, a_width, b_width, args, count });
        }
        program.roots = roots.iter().map(|root| place(*root)).collect();
        program
    }

    /// The width of the widest vector.
    pub fn widest(&self) -> u32 {
        self.widest
    }

    /// How many operations one input takes.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether nothing is computed.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The roots' values for one input: a value for each variable of the arena.
    pub fn eval(&self, inputs: &[u128]) -> Vec<u128> {
        let mut machine = Machine::<u128>::new(self, 1);
        for (number, value) in inputs.iter().enumerate() {
            if let Some(lane) = machine.input(number) {
                lane[0] = *value;
            }
        }
        machine.run();
        (0..self.roots.len()).map(|root| machine.root(root)[0]).collect()
    }
}

/// The registers of a program over lanes.
pub(super) struct Machine<'p, W> {
    program: &'p Program,
    lanes: usize,
    registers: Vec<W>,
}

impl<'p, W: Word> Machine<'p, W> {
    /// A machine whose constants are in place.
    pub(super) fn new(program: &'p Program, lanes: usize) -> Machine<'p, W> {
        let mut registers = vec![W::ZERO; program.steps.len() * lanes];
        for (index, step) in program.steps.iter().enumerate() {
            if let Op::Const(value) = step.op {
                registers[index * lanes..][..lanes].fill(W::of(value));
            }
        }
        Machine { program, lanes, registers }
    }

    /// The lanes of a variable, if the roots read it.
    pub(super) fn input(&mut self, number: usize) -> Option<&mut [W]> {
        let place = (*self.program.inputs.get(number)?)? as usize;
        Some(&mut self.registers[place * self.lanes..][..self.lanes])
    }

    /// Computes all lanes.
    pub(super) fn run(&mut self) {
        let lanes = self.lanes;
        for (index, step) in self.program.steps.iter().enumerate() {
            if matches!(step.op, Op::Const(_) | Op::Variable(_)) {
                continue;
            }
            let (before, rest) = self.registers.split_at_mut(index * lanes);
            let [a, b, c] = step.args.map(|arg| &before[arg as usize * lanes..][..lanes]);
            step.run(&mut rest[..lanes], a, b, c);
        }
    }

    /// The lanes of a root.
    pub(super) fn root(&self, number: usize) -> &[W] {
        &self.registers[self.program.roots[number] as usize * self.lanes..][..self.lanes]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values that SMT-LIB gives, worked out by hand.
    #[test]
    fn operations_follow_smt_lib() {
        let f = |op, width, values| fold(op, width, width, width, values);
        assert_eq!(f(Op::UDiv, 8, [7, 0, 0]), 0xff);
        assert_eq!(f(Op::URem, 8, [7, 0, 0]), 7);
        assert_eq!(f(Op::SDiv, 8, [7, 0, 0]), 0xff);
        assert_eq!(f(Op::SDiv, 8, [0xf9, 0, 0]), 1);
        assert_eq!(f(Op::SDiv, 8, [0x80, 0xff, 0]), 0x80);
        assert_eq!(f(Op::SDiv, 8, [0xf9, 2, 0]), 0xfd);
        assert_eq!(f(Op::SRem, 8, [0xf9, 2, 0]), 0xff);
        assert_eq!(f(Op::SRem, 8, [7, 0xfe, 0]), 1);
        assert_eq!(f(Op::Shl, 8, [0xff, 8, 0]), 0);
        assert_eq!(f(Op::Shl, 128, [1, 127, 0]), 1 << 127);
        assert_eq!(f(Op::LShr, 8, [0xff, 255, 0]), 0);
        assert_eq!(f(Op::AShr, 8, [0x80, 255, 0]), 0xff);
        assert_eq!(f(Op::AShr, 8, [0x40, 3, 0]), 8);
        assert_eq!(fold(Op::Slt, 1, 8, 8, [0x80, 0x7f, 0]), 1);
        assert_eq!(fold(Op::Ult, 1, 8, 8, [0x80, 0x7f, 0]), 0);
        assert_eq!(fold(Op::Concat, 12, 8, 4, [0xab, 0xc, 0]), 0xabc);
        assert_eq!(fold(Op::Extract(4), 4, 8, 8, [0xab, 0, 0]), 0xa);
        assert_eq!(fold(Op::SignExtend, 16, 8, 8, [0x80, 0, 0]), 0xff80);
        assert_eq!(fold(Op::Neg, 128, 128, 128, [1, 0, 0]), u128::MAX);
    }

    #[test]
    fn words_of_every_width_agree() {
        let ops = [
            Op::Not,
            Op::Neg,
            Op::Add,
            Op::Mul,
            Op::UDiv,
            Op::URem,
            Op::SDiv,
            Op::SRem,
            Op::Shl,
            Op::LShr,
            Op::AShr,
            Op::Slt,
        ];
        let corners = [0u128, 1, 2, 7, 8, 31, 0x7f, 0x80, 0xff];
        for op in ops {
            for (a, b) in corners.iter().flat_map(|a| corners.iter().map(move |b| (*a, *b))) {
                let step = Step {
                    op,
                    width: if op == Op::Slt { 1 } else { 8 },
                    a_width: 8,
                    b_width: 8,
                    args: [0; 3],
                    count: None,
                };
                let (mut narrow, mut middle, mut wide) = ([0u32], [0u64], [0u128]);
                step.run(&mut narrow, &[a as u32], &[b as u32], &[0]);
                step.run(&mut middle, &[a as u64], &[b as u64], &[0]);
                step.run(&mut wide, &[a], &[b], &[0]);
                assert_eq!((u128::from(narrow[0]), u128::from(middle[0])), (wide[0], wide[0]), "{op:?} {a} {b}");
                Step { count: Some(b as u32), ..step }.run(&mut middle, &[a as u64], &[b as u64], &[0]);
                assert_eq!(u128::from(middle[0]), wide[0], "{op:?} {a} by the constant {b}");
            }
        }
    }
}
