//! Field values and constants for a pattern, and what its guards want of the values that it captures.
//!
//! Constants are those of an example that says `yes`, or drawn from the numbers in the rule's text, from those that
//! guards ask for (powers of two, masks, counts up to twice the width), from constants drawn before with something done
//! to them, and from the corners that all other code uses. A draw that breaks a guard is repeated a few times.

use oriole_ir::ops::{FieldValues, Opcode, Type};
use oriole_rules::Rule;
use oriole_rules::instance::{Condition, Const, Instance, Pattern, Source, ones};
use oriole_rules::language::ast::{Expr, Guard, Inst, Operand, UnaryOp};

use super::super::config::OperandPercent;
use super::super::entropy::Entropy;
use super::super::fields::among;
use super::super::values::constant;
use super::constants::{self, Captured};
use super::known::Bits;

/// What goes into a divisor that is computed, so that it is not zero.
pub(super) const SMALL_AND_ODD: Bits = Bits { zeros: !7, ones: 1 };
/// Draws before a pattern is given up. Nine of ten succeed at the first, and the most demanding of the built-in rules
/// after some ten.
const DRAWS: usize = 32;
/// Numbers of a rule's text that are kept.
const NUMBERS: usize = 24;

/// Draws in a hundred that take the constants of an example: guards about several constants at once hardly ever hold by
/// chance.
const SHOWN: u32 = 25;

/// What the text of a rule shows of the constants that it wants.
#[derive(Debug, Default)]
pub(super) struct Hints {
    /// By example that says `yes`: the constants that it has where the pattern captures them.
    examples: Vec<Vec<(String, u64)>>,
    /// All numbers: of its examples, its guards and its pattern.
    numbers: Vec<u64>,
}

/// What guards want of a captured value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Wanted {
    /// Bits that are zero.
    pub zeros: u64,
    /// Bits that are one.
    pub ones: u64,
    /// The bit from which on the register is zero.
    pub extended: Option<u32>,
    /// Nothing else reads it.
    pub single: bool,
    /// It is no constant.
    pub variable: bool,
    /// It is a constant.
    pub constant: bool,
    /// Without the known bits the pattern itself may be undefined.
    pub needed: bool,
}

impl Wanted {
    /// Whether only a register will do.
    pub fn is_register(&self) -> bool {
        self.variable || self.is_made()
    }

    /// Whether operations in front must make it.
    pub fn is_made(&self) -> bool {
        self.single || self.has_known_bits()
    }

    /// The same with fewer known bits.
    pub fn less(self, entropy: &mut Entropy<'_>) -> Wanted {
        let Wanted { zeros, ones, extended, .. } = self;
        let without = |bits: u64, entropy: &mut Entropy<'_>| match bits.count_ones() as usize {
            0 => 0,
            count => {
                let chosen = (0..64).filter(|bit| bits >> bit & 1 == 1).nth(entropy.below(count));
                bits & !chosen.map_or(0, |bit| 1u64 << bit)
            }
        };
        match extended {
            Some(from) => Wanted { extended: Some(from + 1), ..self },
            None if zeros != 0 => Wanted { zeros: without(zeros, entropy), ..self },
            None => Wanted { ones: without(ones, entropy), ..self },
        }
    }

    /// Whether some of its bits are known.
    pub fn has_known_bits(&self) -> bool {
        self.zeros | self.ones != 0 || self.extended.is_some()
    }
}

/// A draw that breaks no guard.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    /// The constants, by capture.
    pub constants: Vec<Option<u64>>,
    /// The fields of the pattern's operations, outside in.
    pub fields: Vec<FieldValues>,
    /// By capture.
    pub wanted: Vec<Wanted>,
    rests: Vec<Option<FieldValues>>,
}

impl Choice {
    /// Draws until no guard is broken. After a few attempts whatever is legal will do: then the pattern matches and the
    /// rule must not apply. `None` where nothing is legal.
    pub fn find(
        instance: &Instance,
        hints: &Hints,
        entropy: &mut Entropy<'_>,
        percent: &OperandPercent,
    ) -> Option<Choice> {
        let mut last = None;
        for _ in 0..DRAWS {
            let Some(mut choice) = Choice::draw(instance, hints, entropy, percent) else { continue };
            if instance.conditions.iter().all(|condition| choice.meets(condition, entropy)) {
                return Some(choice);
            }
            last = Some(choice);
        }
        last
    }

    /// Constants and fields that are legal.
    fn draw(instance: &Instance, hints: &Hints, entropy: &mut Entropy<'_>, percent: &OperandPercent) -> Option<Choice> {
        let count = instance.captures.len();
        let mut choice = Choice {
            constants: vec![None; count],
            fields: Vec::new(),
            wanted: vec![Wanted::default(); count],
            rests: vec![None; instance.rests.len()],
        };
        let mut drawn = Vec::new();
        let shown = match hints.examples.len() {
            0 => None,
            count => entropy.percent(SHOWN).then(|| &hints.examples[entropy.below(count)]),
        };
        for (at, capture) in instance.captures.iter().enumerate().filter(|(_, capture)| capture.constant) {
            let ty = capture.ty.unwrap_or(Type::B64);
            let shown = shown.and_then(|shown| shown.iter().find(|(name, _)| *name == capture.name));
            let bits = shown.map_or_else(|| number(entropy, ty, &hints.numbers, &drawn), |(_, bits)| *bits);
            let bits = bits & ones(capture.bits.max(1));
            drawn.push(bits);
            choice.constants[at] = Some(bits);
        }
        choice.fields_of(instance, instance.pattern(), entropy, percent)?;
        choice.defined(instance.pattern(), false);
        Some(choice)
    }

    /// What an expression comes to.
    pub fn value(&self, expr: &Const) -> Option<u64> {
        constants::value(expr, Captured { constants: &self.constants, rests: &self.rests })
    }

    fn fields_of(
        &mut self,
        instance: &Instance,
        pattern: &Pattern,
        entropy: &mut Entropy<'_>,
        percent: &OperandPercent,
    ) -> Option<()> {
        let mut masks = pattern.fields.clone();
        let known = pattern.rest.and_then(|rest| Some((&instance.rests[rest], self.rests[rest]?)));
        if let Some((rest, values)) = known {
            let own = masks.iter_mut().enumerate().filter(|(slot, _)| rest.slots >> slot & 1 == 1);
            own.for_each(|(slot, mask)| *mask &= 1 << values.0[slot]);
        }
        let fields = among(pattern.opcode.row(), entropy, percent, &masks)?;
        if let Some(rest) = pattern.rest {
            self.rests[rest].get_or_insert(fields);
        }
        self.fields.push(fields);
        for source in &pattern.srcs {
            let inner = match source {
                Source::Word(_, of) => of,
                source => source,
            };
            if let Source::Inst(inner) = inner {
                self.fields_of(instance, inner, entropy, percent)?;
            }
        }
        Some(())
    }

    /// Some operands leave the result open, and then the kernel says nothing: zero divisors, and starts of `fns` beyond
    /// the word. A captured divisor is odd; where it is computed, all that goes into it is odd and small.
    fn defined(&mut self, pattern: &Pattern, divisor: bool) {
        for (at, source) in pattern.srcs.iter().enumerate() {
            let divides = divisor || at == 1 && matches!(pattern.opcode, Opcode::IDiv | Opcode::IRem);
            match source {
                Source::Capture(capture) if divides => {
                    let wanted = &mut self.wanted[*capture];
                    wanted.ones |= SMALL_AND_ODD.ones;
                    wanted.zeros |= if divisor { SMALL_AND_ODD.zeros } else { 0 };
                    wanted.needed = true;
                }
                Source::Capture(capture) if at == 1 && pattern.opcode == Opcode::Fns => {
                    let wanted = &mut self.wanted[*capture];
                    wanted.zeros |= !31;
                    wanted.needed = true;
                }
                Source::Inst(inner) => self.defined(inner, divides),
                _ => {}
            }
        }
    }

    /// Whether a guard holds, or can be made to hold.
    fn meets(&mut self, condition: &Condition, entropy: &mut Entropy<'_>) -> bool {
        match condition {
            Condition::KnownZero(capture, mask) => match self.value(mask) {
                Some(mask) => {
                    self.wanted[*capture].zeros |= mask;
                    self.wanted[*capture].ones & mask == 0
                }
                None => false,
            },
            Condition::KnownOne(capture, mask) => match self.value(mask) {
                Some(mask) => {
                    self.wanted[*capture].ones |= mask;
                    self.wanted[*capture].zeros & mask == 0
                }
                None => false,
            },
            Condition::Disjoint(left, right, bits) => self.share_out([*left, *right], *bits, entropy),
            Condition::Nonzero(capture, bits) => {
                let wanted = &mut self.wanted[*capture];
                let free: Vec<u32> = (0..*bits).filter(|bit| wanted.zeros >> bit & 1 == 0).collect();
                wanted.ones |= if free.is_empty() { 0 } else { 1 << entropy.choose(&free) };
                !free.is_empty()
            }
            Condition::NotNan(capture, ty) => self.no_nan(*capture, *ty, entropy),
            Condition::Extended(capture, from) => {
                self.wanted[*capture].extended = Some(*from);
                true
            }
            Condition::SingleUse(capture) => {
                self.wanted[*capture].single = true;
                true
            }
            Condition::Variable(capture) => {
                self.wanted[*capture].variable = true;
                true
            }
            Condition::IsConstant(capture) => {
                self.wanted[*capture].constant = true;
                true
            }
            Condition::Unused => true,
            Condition::Any(conditions) => conditions.iter().any(|condition| self.meets(condition, entropy)),
            Condition::Not(condition) => self.decided(condition) != Some(true),
            decided => self.decided(decided) == Some(true),
        }
    }

    /// Each bit is zero in one of two values: low ones in the one and high ones in the other, or any.
    fn share_out(&mut self, [left, right]: [usize; 2], bits: u32, entropy: &mut Entropy<'_>) -> bool {
        let (ours, theirs) = (self.wanted[left].ones, self.wanted[right].ones);
        let mine = match entropy.below(4) {
            0 => entropy.bits(),
            1 => !ones(entropy.between(1, bits)),
            _ => ones(entropy.between(1, bits)),
        };
        let clear = (mine | theirs) & !ours & ones(bits);
        self.wanted[left].zeros |= clear;
        self.wanted[right].zeros |= ones(bits) & !clear;
        left != right && ours & theirs & ones(bits) == 0
    }

    /// One bit of the exponent is zero, or all below it.
    fn no_nan(&mut self, capture: usize, ty: Type, entropy: &mut Entropy<'_>) -> bool {
        let fraction = match ty {
            Type::F16 => 10,
            Type::Bf16 => 7,
            Type::F32 => 23,
            _ => 52,
        };
        let bit = entropy.between(fraction, ty.bits() - 2);
        let zeros = if entropy.percent(75) { 1 << bit } else { ones(fraction) };
        self.wanted[capture].zeros |= zeros;
        self.wanted[capture].ones & zeros == 0
    }

    /// What constants and fields alone say of a condition.
    fn decided(&self, condition: &Condition) -> Option<bool> {
        Some(match condition {
            Condition::Compare { relation, signed, left, right } => {
                constants::holds(*relation, *signed, self.value(left)?, self.value(right)?, left.bits)
            }
            Condition::PowerOfTwo(expr) => self.value(expr)?.is_power_of_two(),
            Condition::Mask(expr) => {
                let bits = self.value(expr)?;
                bits != 0 && bits & bits.wrapping_add(1) == 0
            }
            Condition::Field { rest, slot, equal, value } => {
                (self.rests.get(*rest)?.as_ref()?.0[*slot] == *value) == *equal
            }
            Condition::Not(condition) => !self.decided(condition)?,
            Condition::Any(conditions) => conditions.iter().any(|condition| self.decided(condition) == Some(true)),
            Condition::Always(known) => *known,
            _ => return None,
        })
    }
}

/// A number that some guard may want.
fn number(entropy: &mut Entropy<'_>, ty: Type, hints: &[u64], drawn: &[u64]) -> u64 {
    let bits = ty.bits().clamp(1, 64);
    let hinted = if hints.is_empty() { 0 } else { 6 };
    let related = if drawn.is_empty() { 0 } else { 5 };
    match entropy.weighted(&[3, hinted, related, 3, 2, 3]) {
        0 => entropy.below(2 * bits as usize + 2) as u64,
        1 => entropy.choose(hints),
        2 => {
            let other = entropy.choose(drawn);
            let width = entropy.choose(&[32, u64::from(bits)]);
            let nearer = entropy.below(width as usize) as u64;
            let choices = [
                other,
                !other,
                other.wrapping_neg(),
                other.wrapping_add(1),
                other.wrapping_sub(1),
                width.wrapping_sub(other),
                ones(bits).checked_shl(other as u32 & 63).unwrap_or(0),
                ones(bits) >> (other & 63),
                other.wrapping_add(nearer),
                other & entropy.bits(),
                other | entropy.bits(),
            ];
            entropy.choose(&choices)
        }
        3 => 1 << entropy.below(bits as usize),
        4 => ones(entropy.between(1, bits)),
        _ => constant(entropy, ty),
    }
}

/// Another number, mostly one that differs by little.
pub(super) fn near(entropy: &mut Entropy<'_>, bits: u64, ty: Type) -> u64 {
    let width = ty.bits().clamp(1, 64);
    let other = match entropy.weighted(&[3, 3, 2, 2]) {
        0 => bits ^ 1 << entropy.below(width as usize),
        1 => {
            if entropy.percent(50) {
                bits.wrapping_add(1)
            } else {
                bits.wrapping_sub(1)
            }
        }
        2 => {
            // One bit of a mask less or more, at either end of it, among others.
            let (fewer, more) = (bits & bits.wrapping_sub(1), bits | bits.wrapping_add(1));
            entropy.choose(&[!bits, bits.wrapping_neg(), bits << 1, bits >> 1, fewer, more])
        }
        _ => constant(entropy, ty),
    };
    other & ones(width)
}

impl Hints {
    /// The hints of a rule.
    pub fn of(rule: &Rule) -> Hints {
        let mut hints = Hints::default();
        for example in &rule.decl().examples {
            written(&example.input, &mut hints.numbers);
            let mut shown = Vec::new();
            shown_by(&rule.decl().pattern, &example.input, &mut shown);
            if example.expected.is_some() && !shown.is_empty() {
                hints.examples.push(shown);
            }
        }
        for guard in &rule.decl().guards {
            in_guard(guard, &mut hints.numbers);
        }
        hints.numbers.sort_unstable();
        hints.numbers.dedup();
        hints.numbers.truncate(NUMBERS);
        hints
    }
}

/// The value of a constant that is written as a number.
fn literal(expr: &Expr) -> Option<u64> {
    match expr {
        Expr::Number { value, .. } => Some(*value),
        Expr::Unary { op: UnaryOp::Neg, of, .. } => literal(of).map(u64::wrapping_neg),
        Expr::Unary { op: UnaryOp::Not, of, .. } => literal(of).map(|value| !value),
        _ => None,
    }
}

fn within(operand: &Operand) -> &Operand {
    match operand {
        Operand::Word { of, .. } => within(of),
        operand => operand,
    }
}

/// What an example has in the places of constants that a pattern captures.
fn shown_by(pattern: &Inst, example: &Inst, found: &mut Vec<(String, u64)>) {
    for (ours, theirs) in pattern.operands.iter().zip(&example.operands) {
        match (within(ours), within(theirs)) {
            (Operand::Inst { inst: ours, .. }, Operand::Inst { inst: theirs, .. }) => shown_by(ours, theirs, found),
            (Operand::Expr(Expr::Name(name)), Operand::Expr(expr)) => {
                found.extend(literal(expr).map(|value| (name.text.clone(), value)));
            }
            _ => {}
        }
    }
}

fn written(inst: &Inst, found: &mut Vec<u64>) {
    for operand in &inst.operands {
        match within(operand) {
            Operand::Inst { inst, .. } => written(inst, found),
            Operand::Expr(expr) => numbers(expr, found),
            _ => {}
        }
    }
}

fn in_guard(guard: &Guard, found: &mut Vec<u64>) {
    match guard {
        Guard::Compare { left, right, .. } => [left, right].into_iter().for_each(|expr| numbers(expr, found)),
        Guard::Call { arguments, .. } => arguments.iter().for_each(|expr| numbers(expr, found)),
        Guard::Not { guard, .. } => in_guard(guard, found),
        Guard::Any(guards) => guards.iter().for_each(|guard| in_guard(guard, found)),
        Guard::Member { .. } | Guard::Field { .. } => {}
    }
}

fn numbers(expr: &Expr, found: &mut Vec<u64>) {
    found.extend(literal(expr));
    match expr {
        Expr::Float { value, .. } => found.extend([value.to_bits(), (*value as f32).to_bits().into()]),
        Expr::Unary { of, .. } => numbers(of, found),
        Expr::Binary { left, right, .. } => [left, right].into_iter().for_each(|expr| numbers(expr, found)),
        Expr::Call { arguments, .. } => arguments.iter().for_each(|expr| numbers(expr, found)),
        _ => {}
    }
}
