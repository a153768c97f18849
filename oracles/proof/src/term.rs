//! Bit-vector terms: a hash-consed arena of expressions over variables.
//!
//! Every term is a bit vector of 1 to 128 bits; a truth value is a vector of one bit. Operations have the meaning of
//! SMT-LIB's `QF_BV` throughout, so a division by zero yields all ones, and a shift by the width or more what is left
//! when all bits have gone. Building a term folds constants, drops neutral elements and orders the operands of
//! commutative operations; equal terms are one term. A term's operands precede it in the arena, so a walk in order
//! of indices is a walk from the leaves up.

use std::collections::HashMap;

use super::eval::fold;
use super::floats::Float;

/// A bit vector in a [`Terms`] arena.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Term(pub(super) u32);

/// What a node computes from its operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// A constant.
    Const(u128),
    /// The variable with this number.
    Variable(u32),
    /// Bitwise complement.
    Not,
    /// Two's complement negation.
    Neg,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Unsigned quotient.
    UDiv,
    /// Unsigned remainder.
    URem,
    /// Signed quotient, toward zero.
    SDiv,
    /// Signed remainder with the dividend's sign.
    SRem,
    /// Left shift.
    Shl,
    /// Right shift with zeros.
    LShr,
    /// Right shift with copies of the sign.
    AShr,
    /// Whether both are equal.
    Eq,
    /// Unsigned less than.
    Ult,
    /// Signed less than.
    Slt,
    /// The first operand, a bit, chooses the second where it is set, else the third.
    Ite,
    /// The first operand above the second.
    Concat,
    /// The bits from this position on; as many as the node is wide.
    Extract(u32),
    /// Extension with zeros.
    ZeroExtend,
    /// Extension with copies of the sign.
    SignExtend,
    /// An operation on floats, as solvers have it.
    Float(Float),
}

impl Op {
    /// The number of operands.
    pub(super) fn arity(self) -> usize {
        match self {
            Op::Const(_) | Op::Variable(_) => 0,
            Op::Not | Op::Neg | Op::Extract(_) | Op::ZeroExtend | Op::SignExtend => 1,
            Op::Ite => 3,
            Op::Float(float) => float.arity(),
            _ => 2,
        }
    }

    fn is_commutative(self) -> bool {
        matches!(self, Op::And | Op::Or | Op::Xor | Op::Add | Op::Mul | Op::Eq)
    }
}

/// An operation on terms, as wide as said. Operands beyond the operation's number repeat the first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Node {
    /// The operation.
    pub op: Op,
    /// Its operands.
    pub args: [Term; 3],
    /// The width of the result in bits.
    pub width: u32,
}

impl Node {
    /// The operands that the operation has.
    pub fn operands(&self) -> &[Term] {
        &self.args[..self.op.arity()]
    }
}

/// An input of terms.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// Its name in reports.
    pub name: String,
    /// Its width in bits.
    pub width: u32,
}

/// The widest vector.
pub const MAX_WIDTH: u32 = 128;

/// All ones of a width.
pub fn ones(width: u32) -> u128 {
    u128::MAX >> (MAX_WIDTH - width)
}

/// An arena of terms and their variables.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    nodes: Vec<Node>,
    index: HashMap<Node, Term>,
    variables: Vec<Variable>,
    /// Whether operations on floats stay what they are; else they are taken apart into operations on bits.
    over_floats: bool,
}

impl Terms {
    /// An empty arena.
    pub fn new() -> Terms {
        Terms::default()
    }

    /// An empty arena in which operations on floats stay what they are, for solvers that have a theory of floats.
    pub fn over_floats() -> Terms {
        Terms { over_floats: true, ..Terms::default() }
    }

    /// An operation on floats; nothing where the arena takes those apart, or where all operands are known.
    pub(super) fn float(&mut self, float: Float, operands: &[Term]) -> Option<Term> {
        let is_open = self.over_floats && operands.iter().any(|operand| self.value(*operand).is_none());
        is_open.then(|| self.make(Op::Float(float), operands, float.to.width()))
    }

    /// The node of a term.
    pub fn node(&self, term: Term) -> &Node {
        &self.nodes[term.0 as usize]
    }

    /// The width of a term in bits.
    pub fn width(&self, term: Term) -> u32 {
        self.node(term).width
    }

    /// The variables, by their numbers.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// The value of a constant term.
    pub fn value(&self, term: Term) -> Option<u128> {
        match self.node(term).op {
            Op::Const(value) => Some(value),
            _ => None,
        }
    }

    /// The terms that these roots depend on, themselves among them, operands before what reads them.
    pub fn reachable(&self, roots: &[Term]) -> Vec<Term> {
        let Some(last) = roots.iter().max() else { return Vec::new() };
        let mut seen = vec![false; last.0 as usize + 1];
        roots.iter().for_each(|root| seen[root.0 as usize] = true);
        for index in (0..seen.len()).rev().filter(|index| self.nodes[*index].op.arity() > 0) {
            if seen[index] {
                self.nodes[index].operands().iter().for_each(|arg| seen[arg.0 as usize] = true);
            }
        }
        (0..seen.len()).filter(|index| seen[*index]).map(|index| Term(index as u32)).collect()
    }

    /// A new variable.
    ///
    /// # Panics
    ///
    /// If the width is not between 1 and 128.
    pub fn variable(&mut self, name: impl Into<String>, width: u32) -> Term {
        let number = self.variables.len() as u32;
        self.variables.push(Variable { name: name.into(), width });
        self.intern(Op::Variable(number), [Term(0); 3], width)
    }

    /// The term of a variable, by its number.
    ///
    /// # Panics
    ///
    /// If there is no such variable.
    pub fn variable_term(&mut self, number: usize) -> Term {
        let width = self.variables[number].width;
        self.intern(Op::Variable(number as u32), [Term(0); 3], width)
    }

    /// A constant: the low bits of a value.
    pub fn constant(&mut self, value: u128, width: u32) -> Term {
        assert!((1..=MAX_WIDTH).contains(&width), "a vector has 1 to 128 bits, not {width}");
        self.intern(Op::Const(value & ones(width)), [Term(0); 3], width)
    }

    /// A truth value.
    pub fn bit(&mut self, value: bool) -> Term {
        self.constant(value.into(), 1)
    }

    fn intern(&mut self, op: Op, args: [Term; 3], width: u32) -> Term {
        assert!((1..=MAX_WIDTH).contains(&width), "a vector has 1 to 128 bits, not {width}");
        let node = Node { op, args, width };
        let next = Term(self.nodes.len() as u32);
        let term = *self.index.entry(node).or_insert(next);
        if term == next {
            self.nodes.push(node);
        }
        term
    }

    /// A node, simplified.
    fn make(&mut self, op: Op, operands: &[Term], width: u32) -> Term {
        let mut args = [operands[0]; 3];
        args[..operands.len()].copy_from_slice(operands);
        if op.is_commutative() && args[1] < args[0] {
            args.swap(0, 1);
            args[2] = args[0];
        }
        let node = Node { op, args, width };
        if let Some(value) = self.folded(&node) {
            return self.constant(value, width);
        }
        match self.simplified(&node) {
            Some(term) => term,
            None => self.intern(op, args, width),
        }
    }

    /// The value of a node whose operands are constants.
    fn folded(&self, node: &Node) -> Option<u128> {
        let mut values = [0; 3];
        for (value, arg) in values.iter_mut().zip(node.operands()) {
            *value = self.value(*arg)?;
        }
        Some(fold(node.op, node.width, self.width(node.args[0]), self.width(node.args[1]), values))
    }

    /// A term that equals the node and stood before it.
    fn simplified(&mut self, node: &Node) -> Option<Term> {
        let [a, b, c] = node.args;
        let (left, right) = (self.value(a), self.value(b));
        let all = Some(ones(node.width));
        let zero = Some(0);
        match node.op {
            Op::And | Op::Or if a == b => Some(a),
            Op::And if left == zero || right == all => Some(a),
            Op::And if right == zero || left == all => Some(b),
            Op::Or if left == zero || right == all => Some(b),
            Op::Or if right == zero || left == all => Some(a),
            Op::Xor | Op::Add if left == zero => Some(b),
            Op::Xor | Op::Add | Op::Sub | Op::Shl | Op::LShr | Op::AShr if right == zero => Some(a),
            Op::Xor | Op::Sub if a == b => Some(self.constant(0, node.width)),
            Op::Mul if left == zero || right == Some(1) => Some(a),
            Op::Mul if right == zero || left == Some(1) => Some(b),
            Op::Eq if a == b => Some(self.bit(true)),
            Op::Ult | Op::Slt if a == b => Some(self.bit(false)),
            Op::Ite if left == zero || b == c => Some(c),
            Op::Ite if left == Some(1) => Some(b),
            Op::Not | Op::Neg if self.node(a).op == node.op => Some(self.node(a).args[0]),
            Op::ZeroExtend | Op::SignExtend if self.width(a) == node.width => Some(a),
            Op::Extract(0) if self.width(a) == node.width => Some(a),
            Op::Extract(low) => self.simplified_extract(a, low, node.width),
            Op::Xor if let Some((flipped, by)) = self.flipped(a, b) => Some(self.xor(flipped, by)),
            Op::Xor if right.is_some() && self.node(a).op == Op::Concat => Some(self.flipped_parts(a, b)),
            Op::Xor if left.is_some() && self.node(b).op == Op::Concat => Some(self.flipped_parts(b, a)),
            _ => None,
        }
    }

    /// An exclusive or whose one side has bits flipped, as one of other terms and the constant by which they are: which
    /// factor of a product has its sign flipped does not matter then.
    fn flipped(&mut self, a: Term, b: Term) -> Option<(Term, Term)> {
        for (side, other) in [(a, b), (b, a)] {
            let Node { op: Op::Xor, args: [x, y, _], .. } = *self.node(side) else { continue };
            let Some((inner, by)) = [(x, y), (y, x)].into_iter().find(|(_, by)| self.value(*by).is_some()) else {
                continue;
            };
            return Some(match self.value(other) {
                Some(_) => (inner, self.xor(by, other)),
                None => (self.xor(inner, other), by),
            });
        }
        None
    }

    /// The exclusive or of a concatenation and a constant, part by part.
    fn flipped_parts(&mut self, concat: Term, constant: Term) -> Term {
        let [high, low, _] = self.node(concat).args;
        let (below, above) = (self.width(low), self.width(high));
        let (flip_low, flip_high) = (self.extract(constant, 0, below), self.extract(constant, below, above));
        let (low, high) = (self.xor(low, flip_low), self.xor(high, flip_high));
        self.concat(high, low)
    }

    /// Whether some bits of a term are seen to be constants.
    fn has_known_bits(&self, term: Term) -> bool {
        let Node { op, args: [high, low, _], .. } = *self.node(term);
        let known = |term: Term| self.value(term).is_some();
        known(term) || op == Op::Concat && (known(high) || known(low))
    }

    /// Bits of an extension, of a concatenation's one part, or of bits.
    fn simplified_extract(&mut self, of: Term, low: u32, width: u32) -> Option<Term> {
        let inner = *self.node(of);
        let part = inner.args[0];
        match inner.op {
            Op::ZeroExtend | Op::SignExtend if low + width <= self.width(part) => Some(self.extract(part, low, width)),
            Op::ZeroExtend if low >= self.width(part) => Some(self.constant(0, width)),
            Op::Extract(from) => Some(self.extract(part, from + low, width)),
            // Flipped signs of floats: the other bits are seen to be those of the value. So are bits under a mask.
            Op::Xor | Op::And | Op::Or if inner.args[..2].iter().any(|arg| self.has_known_bits(*arg)) => {
                let parts = [self.extract(part, low, width), self.extract(inner.args[1], low, width)];
                Some(self.make(inner.op, &parts, width))
            }
            Op::Concat => {
                let below = self.width(inner.args[1]);
                if low >= below {
                    Some(self.extract(part, low - below, width))
                } else {
                    (low + width <= below).then(|| self.extract(inner.args[1], low, width))
                }
            }
            _ => None,
        }
    }

    /// These terms with other terms in the place of some variables, which are given by their numbers, all at once.
    pub fn substitute(&mut self, roots: &[Term], values: &[(usize, Term)]) -> Vec<Term> {
        let values: Vec<(Term, Term)> =
            values.iter().map(|(number, value)| (self.variable_term(*number), *value)).collect();
        self.replace(roots, &values)
    }

    /// These terms with others in the place of some that they are made of, all at once.
    pub fn replace(&mut self, roots: &[Term], others: &[(Term, Term)]) -> Vec<Term> {
        let needed = self.reachable(roots);
        let mut replaced: Vec<Term> = Vec::with_capacity(needed.len());
        for term in &needed {
            if let Some((_, other)) = others.iter().find(|(of, _)| of == term) {
                replaced.push(*other);
                continue;
            }
            let node = *self.node(*term);
            let operands: Vec<Term> = node
                .operands()
                .iter()
                .map(|arg| needed.binary_search(arg).map_or(*arg, |place| replaced[place]))
                .collect();
            replaced.push(match node.op {
                Op::Const(_) | Op::Variable(_) => *term,
                op => self.make(op, &operands, node.width),
            });
        }
        roots.iter().map(|root| needed.binary_search(root).map_or(*root, |place| replaced[place])).collect()
    }

    fn same_width(&mut self, op: Op, a: Term, b: Term) -> Term {
        let width = self.width(a);
        assert_eq!(width, self.width(b), "{op:?} takes operands of one width");
        self.make(op, &[a, b], width)
    }

    fn compare(&mut self, op: Op, a: Term, b: Term) -> Term {
        assert_eq!(self.width(a), self.width(b), "{op:?} takes operands of one width");
        self.make(op, &[a, b], 1)
    }

    /// Bitwise complement.
    pub fn not(&mut self, a: Term) -> Term {
        self.make(Op::Not, &[a], self.width(a))
    }

    /// Negation.
    pub fn neg(&mut self, a: Term) -> Term {
        self.make(Op::Neg, &[a], self.width(a))
    }

    /// `b` where the bit `condition` is set, else `c`.
    pub fn ite(&mut self, condition: Term, b: Term, c: Term) -> Term {
        assert_eq!(self.width(condition), 1, "a condition is one bit");
        assert_eq!(self.width(b), self.width(c), "both choices have one width");
        self.make(Op::Ite, &[condition, b, c], self.width(b))
    }

    /// `width` bits from position `low` on.
    pub fn extract(&mut self, a: Term, low: u32, width: u32) -> Term {
        assert!(low + width <= self.width(a), "bits {low}+{width} of {}", self.width(a));
        self.make(Op::Extract(low), &[a], width)
    }

    /// One bit.
    pub fn bit_of(&mut self, a: Term, position: u32) -> Term {
        self.extract(a, position, 1)
    }

    /// The highest bit.
    pub fn sign(&mut self, a: Term) -> Term {
        self.bit_of(a, self.width(a) - 1)
    }

    /// `high` above `low`.
    pub fn concat(&mut self, high: Term, low: Term) -> Term {
        let width = self.width(high) + self.width(low);
        self.make(Op::Concat, &[high, low], width)
    }

    /// Extension with zeros to a width.
    pub fn zero_extend(&mut self, a: Term, width: u32) -> Term {
        assert!(width >= self.width(a), "an extension to {width} bits of {}", self.width(a));
        self.make(Op::ZeroExtend, &[a], width)
    }

    /// Extension with copies of the sign to a width.
    pub fn sign_extend(&mut self, a: Term, width: u32) -> Term {
        assert!(width >= self.width(a), "an extension to {width} bits of {}", self.width(a));
        self.make(Op::SignExtend, &[a], width)
    }

    /// Extension as a type says.
    pub fn extend(&mut self, a: Term, width: u32, signed: bool) -> Term {
        if signed { self.sign_extend(a, width) } else { self.zero_extend(a, width) }
    }

    /// The low bits, or the value extended with zeros, to a width.
    pub fn fit(&mut self, a: Term, width: u32) -> Term {
        if width < self.width(a) { self.extract(a, 0, width) } else { self.zero_extend(a, width) }
    }

    /// Whether `a <= b`, unsigned.
    pub fn ule(&mut self, a: Term, b: Term) -> Term {
        let greater = self.ult(b, a);
        self.not(greater)
    }

    /// Less than as a type says.
    pub fn less(&mut self, a: Term, b: Term, signed: bool) -> Term {
        if signed { self.slt(a, b) } else { self.ult(a, b) }
    }

    /// The smaller as a type says.
    pub fn min(&mut self, a: Term, b: Term, signed: bool) -> Term {
        let less = self.less(a, b, signed);
        self.ite(less, a, b)
    }

    /// The larger as a type says.
    pub fn max(&mut self, a: Term, b: Term, signed: bool) -> Term {
        let less = self.less(a, b, signed);
        self.ite(less, b, a)
    }

    /// Whether both differ.
    pub fn ne(&mut self, a: Term, b: Term) -> Term {
        let equal = self.eq(a, b);
        self.not(equal)
    }

    /// Whether all bits are zero.
    pub fn is_zero(&mut self, a: Term) -> Term {
        let zero = self.constant(0, self.width(a));
        self.eq(a, zero)
    }

    /// Whether any bit is set.
    pub fn is_nonzero(&mut self, a: Term) -> Term {
        let zero = self.is_zero(a);
        self.not(zero)
    }

    /// The conjunction of bits; true for none.
    pub fn all(&mut self, bits: &[Term]) -> Term {
        let start = self.bit(true);
        bits.iter().fold(start, |all, bit| self.and(all, *bit))
    }

    /// The disjunction of bits; false for none.
    pub fn any(&mut self, bits: &[Term]) -> Term {
        let start = self.bit(false);
        bits.iter().fold(start, |any, bit| self.or(any, *bit))
    }
}

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident $op:ident $kind:ident;)*) => {
        impl Terms {$(
            $(#[$doc])*
            pub fn $name(&mut self, a: Term, b: Term) -> Term {
                self.$kind(Op::$op, a, b)
            }
        )*}
    };
}
binary! {
    /// Bitwise and.
    and And same_width;
    /// Bitwise or.
    or Or same_width;
    /// Bitwise exclusive or.
    xor Xor same_width;
    /// Sum.
    add Add same_width;
    /// Difference.
    sub Sub same_width;
    /// Product.
    mul Mul same_width;
    /// Unsigned quotient; all ones for a zero divisor.
    udiv UDiv same_width;
    /// Unsigned remainder; the dividend for a zero divisor.
    urem URem same_width;
    /// Signed quotient toward zero; one or minus one for a zero divisor.
    sdiv SDiv same_width;
    /// Signed remainder; the dividend for a zero divisor.
    srem SRem same_width;
    /// Left shift by a count of the same width.
    shl Shl same_width;
    /// Right shift with zeros.
    lshr LShr same_width;
    /// Right shift with copies of the sign.
    ashr AShr same_width;
    /// Whether both are equal.
    eq Eq compare;
    /// Unsigned less than.
    ult Ult compare;
    /// Signed less than.
    slt Slt compare;
}

#[cfg(test)]
mod tests {
    use super::super::eval::Program;
    use super::*;
    use oriole_launch::random::SplitMix64;

    #[test]
    fn equal_terms_are_one_and_constants_fold() {
        let mut t = Terms::new();
        let (x, y) = (t.variable("x", 32), t.variable("y", 32));
        assert_eq!(t.add(x, y), t.add(y, x));
        assert_ne!(t.sub(x, y), t.sub(y, x));
        let (two, three) = (t.constant(2, 32), t.constant(3, 32));
        let five = t.sub(two, three);
        assert_eq!(t.value(five), Some(0xffff_ffff));
        let (low, high) = (t.extract(x, 0, 16), t.extract(x, 16, 16));
        let back = t.concat(high, low);
        assert_eq!(t.extract(back, 16, 16), high);
        let wide = t.zero_extend(x, 64);
        assert_eq!(t.extract(wide, 8, 8), t.extract(x, 8, 8));
        assert_eq!(t.extract(wide, 32, 32), t.constant(0, 32));
    }

    /// What is built of terms has the value that is computed of their values, however it is simplified.
    #[test]
    fn simplified_terms_have_the_value_of_what_they_stand_for() {
        let mut random = SplitMix64::new(11);
        for _ in 0..400 {
            let mut t = Terms::new();
            let inputs: Vec<u128> = (0..3).map(|_| u128::from(random.next_u64()) & 0xff).collect();
            let mut pool: Vec<(Term, u128)> = inputs.iter().map(|value| (t.variable("x", 8), *value)).collect();
            for constant in [0, 1, 0x80, 0xff, 0x0f] {
                pool.push((t.constant(constant, 8), constant));
            }
            for _ in 0..30 {
                let pick = |random: &mut SplitMix64| pool[random.below(pool.len() as u64) as usize];
                let (a, b) = (pick(&mut random), pick(&mut random));
                let (width, other) = (t.width(a.0), t.width(b.0));
                let ops = [Op::Xor, Op::And, Op::Or, Op::Add, Op::Sub, Op::Mul, Op::Eq, Op::Ult];
                let (op, operands, width) = match random.below(6) {
                    0 if width + other <= 32 => (Op::Concat, vec![a, b], width + other),
                    1 => {
                        let low = random.below(width.into()) as u32;
                        (Op::Extract(low), vec![a], 1 + random.below(u64::from(width - low)) as u32)
                    }
                    2 => (Op::Not, vec![a], width),
                    3 => (Op::ZeroExtend, vec![a], width + random.below(4) as u32),
                    _ if width == other => {
                        let op = ops[random.below(ops.len() as u64) as usize];
                        (op, vec![a, b], if matches!(op, Op::Eq | Op::Ult) { 1 } else { width })
                    }
                    _ => continue,
                };
                let (terms, mut values): (Vec<Term>, Vec<u128>) = operands.iter().copied().unzip();
                values.resize(3, 0);
                let widths = [terms[0], terms[terms.len() - 1]].map(|term| t.width(term));
                let value = fold(op, width, widths[0], widths[1], [values[0], values[1], values[2]]);
                pool.push((t.make(op, &terms, width), value));
            }
            let (terms, values): (Vec<Term>, Vec<u128>) = pool.into_iter().unzip();
            assert_eq!(Program::new(&t, &terms).eval(&inputs), values);
        }
    }

    /// Which factor has its sign flipped does not matter, and masked bits are seen.
    #[test]
    fn flipped_and_masked_bits_are_seen() {
        let mut t = Terms::new();
        let [x, y] = ["x", "y"].map(|name| t.variable(name, 32));
        let sign = t.constant(1 << 31, 32);
        let [other_x, other_y] = [x, y].map(|term| t.xor(term, sign));
        let both = t.xor(x, y);
        assert_eq!(t.xor(other_x, y), t.xor(x, other_y));
        assert_eq!(t.xor(other_x, other_y), both);
        let high = t.variable("high", 8);
        let low = t.constant(0xff_ffff, 24);
        let mask = t.concat(high, low);
        let masked = t.and(x, mask);
        assert_eq!(t.extract(masked, 0, 24), t.extract(x, 0, 24));
    }

    #[test]
    fn only_what_roots_read_is_reachable() {
        let mut t = Terms::new();
        let (x, y, z) = (t.variable("x", 8), t.variable("y", 8), t.variable("z", 8));
        let sum = t.add(x, z);
        t.mul(x, y);
        assert_eq!(t.reachable(&[sum]), [x, z, sum]);
        assert_eq!(t.reachable(&[]), []);
    }
}
