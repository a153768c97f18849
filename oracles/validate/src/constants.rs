//! Constant expressions and conditions of rules as terms.
//!
//! Written from the description of the language (`optimizer/rules/README.md`), apart from the evaluator that
//! applies rules: what that computes is part of what is judged. An expression has a value and a bit that tells whether
//! it has one; a condition whose constants have none does not hold, and neither does its negation. A condition on what
//! an analysis knows tells something where it holds; its negation tells nothing.

use oriole_rules::instance::{Condition, Const, ConstKind, Function, Operation, Value};
use oriole_rules::language::ast::{BinaryOp, Relation, UnaryOp};

use super::translate::{Absence, Translation};
use oriole_proof::term::ones;
use oriole_proof::{Term, meaning, numbers_of, population};

/// The value of an expression, as wide as the expression, and whether it has one.
pub(super) type Known = (Term, Term);

impl Translation<'_> {
    /// The value of a constant expression.
    pub(super) fn constant(&mut self, expr: &Const) -> Result<Known, Absence> {
        let bits = expr.bits;
        let yes = self.terms.bit(true);
        match &expr.kind {
            ConstKind::Number(value) => Ok((self.terms.constant(u128::from(*value), bits), yes)),
            ConstKind::Capture(capture) => {
                let value = self.capture(*capture)?;
                Ok((self.terms.fit(value, bits), yes))
            }
            ConstKind::Unary(op, of) => {
                let (value, known) = self.constant(of)?;
                let value = match op {
                    UnaryOp::Neg => self.terms.neg(value),
                    UnaryOp::Not => self.terms.not(value),
                };
                Ok((value, known))
            }
            ConstKind::Binary(op, left, right) => {
                let ((left, known), (right, also)) = (self.constant(left)?, self.constant(right)?);
                let (value, defined) = self.binary(*op, left, right);
                Ok((value, self.terms.all(&[known, also, defined])))
            }
            ConstKind::Function(function, arguments) => self.function(*function, arguments, bits),
            ConstKind::Fold(operation) => self.folded(operation, bits),
        }
    }

    /// The value of an operator, and whether it has one.
    fn binary(&mut self, op: BinaryOp, a: Term, b: Term) -> Known {
        let t = &mut self.terms;
        let yes = t.bit(true);
        let value = match op {
            BinaryOp::Add => t.add(a, b),
            BinaryOp::Sub => t.sub(a, b),
            BinaryOp::Mul => t.mul(a, b),
            BinaryOp::And => t.and(a, b),
            BinaryOp::Or => t.or(a, b),
            BinaryOp::Xor => t.xor(a, b),
            BinaryOp::Div | BinaryOp::DivSigned | BinaryOp::Rem | BinaryOp::RemSigned => {
                let value = match op {
                    BinaryOp::Div => t.udiv(a, b),
                    BinaryOp::DivSigned => t.sdiv(a, b),
                    BinaryOp::Rem => t.urem(a, b),
                    _ => t.srem(a, b),
                };
                return (value, t.is_nonzero(b));
            }
            BinaryOp::Shl | BinaryOp::Shr | BinaryOp::ShrSigned => self.shifted(op, a, b),
        };
        (value, yes)
    }

    /// A shift whose count may have another width than the value.
    fn shifted(&mut self, op: BinaryOp, value: Term, count: Term) -> Term {
        let t = &mut self.terms;
        let bits = t.width(value);
        let width = bits.max(t.width(count));
        let (count, wide) = (t.zero_extend(count, width), t.extend(value, width, op == BinaryOp::ShrSigned));
        let result = match op {
            BinaryOp::Shl => t.shl(wide, count),
            BinaryOp::Shr => t.lshr(wide, count),
            _ => t.ashr(wide, count),
        };
        t.extract(result, 0, bits)
    }

    fn function(&mut self, function: Function, arguments: &[Const], bits: u32) -> Result<Known, Absence> {
        let mut values = Vec::with_capacity(arguments.len());
        // The result is known where every argument is; `Log2` adds a condition of its own.
        let mut known = self.terms.bit(true);
        for argument in arguments {
            let (value, has) = self.constant(argument)?;
            known = self.terms.and(known, has);
            values.push(value);
        }
        let [a, ..] = values[..] else { return Err(Absence::Function) };
        let b = values.get(1).copied().unwrap_or(a);
        let t = &mut self.terms;
        let value = match function {
            Function::Log2 => {
                let nonzero = t.is_nonzero(a);
                known = t.and(known, nonzero);
                self.highest_bit(a)
            }
            Function::Popc => self.population(a),
            Function::Clz => {
                let (top, count) = (self.highest_bit(a), self.terms.width(a));
                let t = &mut self.terms;
                let (all, most) = (t.constant(count.into(), 32), t.constant(u128::from(count) - 1, 32));
                let (zero, zeros) = (t.is_zero(a), t.sub(most, top));
                t.ite(zero, all, zeros)
            }
            Function::Ctz => self.lowest_bit(a),
            Function::Min => t.min(a, b, false),
            Function::Max => t.max(a, b, false),
            Function::Smin => t.min(a, b, true),
            Function::Smax => t.max(a, b, true),
            Function::Zext => t.zero_extend(a, bits),
            Function::Sext => t.sign_extend(a, bits),
            Function::Trunc => t.extract(a, 0, bits),
            Function::Mask => {
                let width = bits.max(t.width(a)) + 1;
                let (count, one) = (t.zero_extend(a, width), t.constant(1, width));
                let (limit, power) = (t.constant(bits.into(), width), t.shl(one, count));
                let (less, all) = (t.ult(count, limit), t.constant(u128::MAX >> 1, width));
                let low = t.sub(power, one);
                let ones = t.ite(less, low, all);
                t.extract(ones, 0, bits)
            }
        };
        Ok((self.terms.fit(value, bits), known))
    }

    /// The position of the highest set bit, in 32 bits; zero for zero.
    fn highest_bit(&mut self, a: Term) -> Term {
        let zero = self.terms.constant(0, 32);
        (0..self.terms.width(a)).fold(zero, |found, position| self.position_if(a, position, found))
    }

    /// The position of the lowest set bit, in 32 bits; the width for zero.
    fn lowest_bit(&mut self, a: Term) -> Term {
        let width = self.terms.width(a);
        let none = self.terms.constant(width.into(), 32);
        (0..width).rev().fold(none, |found, position| self.position_if(a, position, found))
    }

    fn position_if(&mut self, a: Term, position: u32, otherwise: Term) -> Term {
        let (bit, here) = (self.terms.bit_of(a, position), self.terms.constant(position.into(), 32));
        self.terms.ite(bit, here, otherwise)
    }

    /// The number of set bits, in 32 bits.
    fn population(&mut self, a: Term) -> Term {
        let count = population(&mut self.terms, a);
        match self.terms.width(count) {
            ..32 => self.terms.zero_extend(count, 32),
            _ => self.terms.extract(count, 0, 32),
        }
    }

    /// What an operation yields for constants.
    fn folded(&mut self, operation: &Operation, bits: u32) -> Result<Known, Absence> {
        let fields = self.variant.result_fields(operation).ok_or(Absence::Fields)?;
        let mut known = self.terms.bit(true);
        let mut operands = Vec::with_capacity(operation.srcs.len());
        for src in &operation.srcs {
            let Value::Constant(expr) = src else { return Err(Absence::Function) };
            let (value, has) = self.constant(expr)?;
            known = self.terms.and(known, has);
            let width = register_bits(expr.bits);
            operands.push(self.terms.fit(value, width));
        }
        let found = meaning(&mut self.terms, operation.opcode, &fields, &operands);
        let found = found.ok_or_else(|| Absence::operation(operation.opcode, &fields))?;
        if let Some(defined) = found.defined {
            known = self.terms.and(known, defined);
        }
        Ok((self.terms.fit(found.values[0], bits), known))
    }

    /// The inputs under which a condition may hold.
    pub(super) fn condition(&mut self, condition: &Condition) -> Result<Term, Absence> {
        self.possible(condition, true)
    }

    /// The inputs under which a condition may hold (`wanted`), or fail. What it says of constants either holds or
    /// fails. What it says of an analysis may fail whatever the value is: bits that are zero need not be known to be.
    fn possible(&mut self, condition: &Condition, wanted: bool) -> Result<Term, Absence> {
        let yes = self.terms.bit(true);
        // Every field of a variant has one value, so conditions on fields are decided here.
        if let Some(holds) = self.variant.field_condition(condition) {
            return Ok(self.terms.bit(holds == wanted));
        }
        match condition {
            Condition::Compare { relation, signed, left, right } => {
                let ((left, known), (right, also)) = (self.constant(left)?, self.constant(right)?);
                let holds = self.related(*relation, *signed, left, right);
                let known = self.terms.and(known, also);
                Ok(self.told((holds, known), wanted))
            }
            Condition::PowerOfTwo(expr) | Condition::Mask(expr) => {
                let (value, known) = self.constant(expr)?;
                let power = matches!(condition, Condition::PowerOfTwo(_));
                let holds = self.lone_run(value, power);
                Ok(self.told((holds, known), wanted))
            }
            Condition::KnownZero(_, mask) | Condition::KnownOne(_, mask) if !wanted => Ok(self.constant(mask)?.1),
            Condition::KnownZero(capture, mask) | Condition::KnownOne(capture, mask) => {
                let (mask, known) = self.constant(mask)?;
                let value = self.capture(*capture)?;
                // Kernels must show the optimizer that these bits are known, or the rule does not apply in them.
                self.known.push((*capture, matches!(condition, Condition::KnownOne(..)), mask));
                let t = &mut self.terms;
                let width = t.width(mask).max(t.width(value));
                // The narrower of mask and value counts as having zeros above.
                let (mask, value) = (t.zero_extend(mask, width), t.zero_extend(value, width));
                let value = if matches!(condition, Condition::KnownOne(..)) { t.not(value) } else { value };
                let wrong = t.and(mask, value);
                let holds = t.is_zero(wrong);
                Ok(t.and(holds, known))
            }
            Condition::Disjoint(..) | Condition::Nonzero(..) | Condition::NotNan(..) | Condition::Extended(..)
                if !wanted =>
            {
                Ok(yes)
            }
            Condition::Disjoint(left, right, bits) => {
                let (left_bits, right_bits) = (self.low(*left, *bits)?, self.low(*right, *bits)?);
                let t = &mut self.terms;
                let common = t.and(left_bits, right_bits);
                let (others, holds) = (t.not(right_bits), t.is_zero(common));
                // Each bit is clear in one of them, which kernels must show.
                self.known.extend([(*left, false, right_bits), (*right, false, others)]);
                Ok(holds)
            }
            Condition::Nonzero(capture, bits) => {
                let value = self.low(*capture, *bits)?;
                let lowest = self.lowest_set(value);
                self.known.push((*capture, true, lowest));
                Ok(self.terms.is_nonzero(value))
            }
            Condition::NotNan(capture, ty) => {
                let (width, last) = numbers_of(*ty).ok_or(Absence::Function)?;
                let value = self.low(*capture, width)?;
                self.number(*capture, value, last)
            }
            Condition::Extended(capture, from) => {
                let value = self.capture(*capture)?;
                let above = self.terms.width(value).saturating_sub(*from);
                let mask = self.terms.constant(u128::MAX << from, self.terms.width(value));
                self.known.push((*capture, false, mask));
                Ok(if above == 0 { yes } else { self.zero_from(value, *from, above) })
            }
            // These speak of the form of the function, not of values: every input may meet them, and may not.
            Condition::SingleUse(_) | Condition::Unused | Condition::Variable(_) | Condition::IsConstant(_) => Ok(yes),
            Condition::Not(condition) => self.possible(condition, !wanted),
            Condition::Any(conditions) if wanted => {
                let mut any = self.terms.bit(false);
                for condition in conditions {
                    let holds = self.condition(condition)?;
                    any = self.terms.or(any, holds);
                }
                Ok(any)
            }
            // The language negates no alternatives.
            Condition::Any(_) | Condition::Always(_) | Condition::Field { .. } => Err(Absence::Function),
        }
    }

    /// Where a condition that can be told holds, or fails.
    fn told(&mut self, (holds, known): Known, wanted: bool) -> Term {
        let met = if wanted { holds } else { self.terms.not(holds) };
        self.terms.and(met, known)
    }

    /// The low bits of a capture.
    fn low(&mut self, capture: usize, bits: u32) -> Result<Term, Absence> {
        let value = self.capture(capture)?;
        let value = self.terms.zero_extend(value, self.terms.width(value).max(bits));
        Ok(self.terms.extract(value, 0, bits))
    }

    /// The lowest set bit of a value alone; zero for zero.
    fn lowest_set(&mut self, value: Term) -> Term {
        let negated = self.terms.neg(value);
        self.terms.and(value, negated)
    }

    /// That a float is no NaN: its magnitude is at most that of the last number, infinity. A clear bit of that shows
    /// it, or else that all bits are clear which infinity has clear.
    fn number(&mut self, capture: usize, value: Term, last: u128) -> Result<Term, Absence> {
        let t = &mut self.terms;
        let width = t.width(value);
        let (infinity, magnitude) = (t.constant(last, width), t.constant(ones(width - 1), width));
        let magnitude = t.and(value, magnitude);
        let holds = t.ule(magnitude, infinity);
        let missing = t.not(value);
        let missing = t.and(missing, infinity);
        let (finite, fraction) = (t.is_nonzero(missing), t.constant(ones(width - 1) & !last, width));
        let lowest = self.lowest_set(missing);
        let shown = self.terms.ite(finite, lowest, fraction);
        self.known.push((capture, false, shown));
        Ok(holds)
    }

    fn zero_from(&mut self, value: Term, from: u32, above: u32) -> Term {
        let high = self.terms.extract(value, from, above);
        self.terms.is_zero(high)
    }

    fn related(&mut self, relation: Relation, signed: bool, left: Term, right: Term) -> Term {
        let t = &mut self.terms;
        match relation {
            Relation::Eq => t.eq(left, right),
            Relation::Ne => t.ne(left, right),
            Relation::Lt => t.less(left, right, signed),
            Relation::Gt => t.less(right, left, signed),
            Relation::Ge => {
                let less = t.less(left, right, signed);
                t.not(less)
            }
            Relation::Le => {
                let greater = t.less(right, left, signed);
                t.not(greater)
            }
        }
    }

    /// Not zero, and one bit (`power`) or a run of ones from bit 0.
    fn lone_run(&mut self, value: Term, power: bool) -> Term {
        let t = &mut self.terms;
        let step = t.constant(if power { u128::MAX } else { 1 }, t.width(value));
        let next = t.add(value, step);
        let common = t.and(value, next);
        let (apart, nonzero) = (t.is_zero(common), t.is_nonzero(value));
        t.and(apart, nonzero)
    }
}

/// The width of the register that holds so many bits.
pub(super) fn register_bits(bits: u32) -> u32 {
    match bits {
        1 => 1,
        bits => bits.next_power_of_two().max(32),
    }
}

#[cfg(test)]
mod tests {
    use oriole_proof::eval::Program;
    use oriole_rules::Instance;
    use oriole_rules::language::parse;
    use oriole_rules::number::{closed, related};
    use oriole_rules::resolve;
    use oriole_semantics::scalar::ScalarOp;

    use super::super::variant::Variant;
    use super::*;

    const BINARY: [BinaryOp; 13] = [
        BinaryOp::Add,
        BinaryOp::Sub,
        BinaryOp::Mul,
        BinaryOp::Div,
        BinaryOp::DivSigned,
        BinaryOp::Rem,
        BinaryOp::RemSigned,
        BinaryOp::And,
        BinaryOp::Or,
        BinaryOp::Xor,
        BinaryOp::Shl,
        BinaryOp::Shr,
        BinaryOp::ShrSigned,
    ];
    const FUNCTIONS: [Function; 12] = [
        Function::Log2,
        Function::Popc,
        Function::Clz,
        Function::Ctz,
        Function::Min,
        Function::Max,
        Function::Smin,
        Function::Smax,
        Function::Zext,
        Function::Sext,
        Function::Trunc,
        Function::Mask,
    ];
    const RELATIONS: [Relation; 6] =
        [Relation::Eq, Relation::Ne, Relation::Lt, Relation::Le, Relation::Gt, Relation::Ge];

    /// Zero, one, counts around the width, both ends of the signed numbers, and something in between.
    fn corners(bits: u32) -> Vec<u64> {
        let top = 1u64 << (bits - 1);
        let wanted =
            [0, 1, 5, 7, u64::from(bits) - 1, u64::from(bits), top - 1, top, top + 1, top | top >> 3, u64::MAX];
        wanted.into_iter().map(|value| value & (top | (top - 1))).collect()
    }

    fn number(value: u64, bits: u32) -> Const {
        Const { bits, kind: ConstKind::Number(value) }
    }

    /// What the terms say of an expression; `None` where it has no value.
    fn by_terms(expr: &Const) -> Option<u64> {
        let instance = Instance::default();
        let variant = Variant { instance: &instance, fields: Vec::new(), rests: Vec::new() };
        let mut translation = Translation::new(variant, None);
        let (value, known) = translation.constant(expr).expect("numbers have terms");
        let values = Program::new(&translation.terms, &[value, known]).eval(&[]);
        (values[1] == 1).then_some(values[0] as u64)
    }

    /// The constant `fold(OPERATION)`, and the number that is written, in the operation's width.
    fn edge(operation: &str, value: &str) -> (Const, Option<u64>) {
        let number = if value == "undefined" { "0" } else { value };
        let read = |root: &&str| {
            let text = format!("rule t: {root}(_, C) => fold({operation}) if C == {number}");
            let (file, faults) = parse(&text);
            assert_eq!(faults, [], "{text}");
            resolve::instances(&file.rules[0]).ok()
        };
        let instances = ["iadd.u32", "iadd.u64", "iadd.u16", "and.pred"].iter().find_map(read);
        let instance = instances.unwrap_or_else(|| panic!("`{operation}` and `{value}` fit no root")).remove(0);
        let ([Value::Constant(fold)], [Condition::Compare { right, .. }]) =
            (instance.results.as_slice(), instance.conditions.as_slice())
        else {
            panic!("{instance:?}")
        };
        (fold.clone(), closed(right).filter(|_| value != "undefined"))
    }

    /// What the interpreter says of `fold(OPERATION)`; `None` where that is undefined.
    fn by_interpreter(fold: &Const) -> Option<u64> {
        let ConstKind::Fold(operation) = &fold.kind else { panic!("{fold:?}") };
        let mut operands = [0; 5];
        for (operand, src) in operands.iter_mut().zip(&operation.srcs) {
            let Value::Constant(expr) = src else { panic!("{src:?}") };
            *operand = closed(expr).expect("a number");
        }
        let lane = ScalarOp::resolve(operation.opcode, &operation.fields).expect("a lane alone").eval(&operands);
        lane.defined.then_some(lane.value & ones(fold.bits) as u64)
    }

    /// The table in `optimizer/rules/README.md` that tells writers of rules what operations do.
    #[test]
    fn operations_at_the_edges_are_as_described() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../optimizer/rules/README.md");
        let readme = std::fs::read_to_string(path).expect("the language is described");
        let rows = readme.lines().skip_while(|line| *line != "| operation | value |").skip(2);
        let mut compared = 0;
        for row in rows.take_while(|line| line.starts_with('|')) {
            let (operations, value) = row.trim_matches('|').trim().rsplit_once(" | ").expect("two cells");
            for operation in operations.split('`').skip(1).step_by(2) {
                let (fold, expected) = edge(operation, value.trim_matches('`'));
                assert_eq!(by_terms(&fold), expected, "the terms of {operation}");
                assert_eq!(by_interpreter(&fold), expected, "the interpreter's {operation}");
                compared += 1;
            }
        }
        assert!(compared > 40, "{compared}");
    }

    /// A rule is read with the one and proved with the other, so neither may be wrong alone.
    #[test]
    fn closed_numbers_are_what_their_terms_say() {
        for bits in [8, 16, 32] {
            for (a, b) in corners(bits).iter().flat_map(|a| corners(bits).into_iter().map(move |b| (*a, b))) {
                let both = || (Box::new(number(a, bits)), Box::new(number(b, bits)));
                for op in BINARY {
                    let (left, right) = both();
                    let expr = Const { bits, kind: ConstKind::Binary(op, left, right) };
                    assert_eq!(closed(&expr), by_terms(&expr), "{op:?} of {a:#x} and {b:#x} at {bits} bits");
                }
                for relation in RELATIONS {
                    for signed in [false, true] {
                        let condition =
                            Condition::Compare { relation, signed, left: number(a, bits), right: number(b, bits) };
                        let instance = Instance::default();
                        let variant = Variant { instance: &instance, fields: Vec::new(), rests: Vec::new() };
                        let mut translation = Translation::new(variant, None);
                        let holds = translation.condition(&condition).expect("numbers have terms");
                        let holds = Program::new(&translation.terms, &[holds]).eval(&[])[0] == 1;
                        assert_eq!(related(relation, signed, a, b, bits), holds, "{condition:?}");
                    }
                }
            }
            for op in [UnaryOp::Neg, UnaryOp::Not] {
                for a in corners(bits) {
                    let expr = Const { bits, kind: ConstKind::Unary(op, Box::new(number(a, bits))) };
                    assert_eq!(closed(&expr), by_terms(&expr), "{op:?} of {a:#x} at {bits} bits");
                }
            }
            for function in FUNCTIONS {
                let from = match function {
                    Function::Zext | Function::Sext => bits / 2,
                    Function::Trunc => 2 * bits,
                    _ => bits,
                };
                for (a, b) in corners(from).iter().flat_map(|a| corners(from).into_iter().map(move |b| (*a, b))) {
                    let arguments = vec![number(a, from), number(b, from)];
                    let expr = Const { bits, kind: ConstKind::Function(function, arguments) };
                    assert_eq!(
                        closed(&expr),
                        by_terms(&expr),
                        "{function:?} of {a:#x} and {b:#x}, {from} to {bits} bits"
                    );
                }
            }
        }
    }
}
