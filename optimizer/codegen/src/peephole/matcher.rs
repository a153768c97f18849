//! Whether an instance of a rule fits an instruction, by the values that its operands have there.
//!
//! The root is held against the instruction. An operand that another instruction of the pattern makes is followed to
//! the instruction that made its value, wherever that is, and whatever has become of the register since. What is
//! bound are values; which registers hold them when the root is rewritten is asked for afterwards ([`super::build`]).

use oriole_ir::{Function, Inst, Modifiers, Operand, PhysicalReg, RegFile};
use oriole_rules::machine::{self as rules, Condition, Instance, Kind};
use oriole_rules::number;
use smallvec::SmallVec;

use super::values::{Made, Origin, Several, Values};

/// The meaning of a rule's names at a place.
#[derive(Clone, Debug, Default)]
pub(super) struct Binding {
    /// By value.
    pub values: SmallVec<[Option<Bound>; 8]>,
    /// By constant.
    pub constants: SmallVec<[Option<u64>; 4]>,
    /// The instructions of the pattern that were found, by their places in it.
    made: SmallVec<[Option<Made>; 4]>,
}

/// A value that a rule has a name for.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    /// Its values, unit by unit; of a result of the root, none.
    pub values: Several,
    /// The operand where it was found.
    pub operand: Operand,
}

/// The operands of an instruction of the machine, as a pattern sees them.
type Seen = SmallVec<[(Several, Operand); 8]>;

pub(super) struct Matcher<'a> {
    func: &'a Function,
    values: &'a Values,
    instance: &'a Instance,
    binding: Binding,
}

/// The marks of an operand that say something about its value.
pub(super) fn marks(operand: Operand) -> Modifiers {
    operand.modifiers().without(Modifiers::REUSE)
}

impl<'a> Matcher<'a> {
    /// The meaning of the names where the root is this instruction, if it fits. The values of the instruction's
    /// operands are known.
    pub fn find(
        func: &'a Function,
        values: &'a Values,
        instance: &'a Instance,
        inst: Inst,
        sources: &[Several],
    ) -> Option<Binding> {
        let binding = Matcher::fits(func, values, instance, inst, sources)?;
        holds(func, values, instance, &binding).then_some(binding)
    }

    /// The same, whatever the conditions say.
    pub fn fits(
        func: &'a Function,
        values: &'a Values,
        instance: &'a Instance,
        inst: Inst,
        sources: &[Several],
    ) -> Option<Binding> {
        let binding = Binding {
            values: SmallVec::from_elem(None, instance.values.len()),
            constants: SmallVec::from_elem(None, instance.constants.len()),
            made: SmallVec::from_elem(None, instance.pattern.len()),
        };
        let mut matcher = Matcher { func, values, instance, binding };
        let root = instance.root();
        let (dsts, srcs) = (func.dsts(inst), func.srcs(inst));
        if dsts.len() != root.results.len() || srcs.len() != root.operands.len() {
            return None;
        }
        for (result, dst) in root.results.iter().zip(dsts) {
            matcher.result(result, *dst).then_some(())?;
        }
        let operands: Seen = sources.iter().cloned().zip(srcs.iter().copied()).collect();
        matcher.operands(root, &operands).then_some(())?;
        Some(matcher.binding)
    }

    /// A result of the root.
    fn result(&mut self, pattern: &rules::Operand, dst: Operand) -> bool {
        match pattern.kind {
            Kind::Any => true,
            Kind::Wired(file, _) => matches!(dst, Operand::Wired { file: own, .. } if own == file),
            Kind::Value(value, file) => {
                if !self.is_of(dst, file) {
                    return false;
                }
                self.binding.values[value] = Some(Bound { values: Several::new(), operand: dst });
                true
            }
            _ => false,
        }
    }

    /// Whether an operand is a register of a file and width, where these are asked for.
    fn is_of(&self, operand: Operand, file: Option<(RegFile, u8)>) -> bool {
        let Some(wanted) = file else { return true };
        match operand {
            Operand::Wired { file, words, .. } => (file, words) == wanted,
            _ => self.func.operand_info(operand).is_some_and(|info| (info.file, info.words) == wanted),
        }
    }

    /// The operands of an instruction of the pattern.
    fn operands(&mut self, pattern: &rules::Inst, seen: &Seen) -> bool {
        let all = pattern.operands.len() == seen.len();
        all && pattern
            .operands
            .iter()
            .zip(seen)
            .all(|(pattern, (values, operand))| self.operand(pattern, values, *operand))
    }

    fn operand(&mut self, pattern: &rules::Operand, values: &Several, operand: Operand) -> bool {
        if !pattern.any_marks && marks(operand) != pattern.marks && !matches!(pattern.kind, Kind::Any) {
            return false;
        }
        match &pattern.kind {
            Kind::Any => true,
            Kind::Wired(RegFile::P | RegFile::UP, _) => {
                matches!(values[..], [value] if self.values.origin(value) == Origin::True)
            }
            Kind::Wired(..) => {
                let is_zero = |value| self.values.origin(value) == Origin::Bits(0);
                !values.is_empty() && values.iter().all(|value| is_zero(*value))
            }
            Kind::Constant(constant) => {
                let Some(bits) = self.values.bits(values) else { return false };
                self.constant(constant, bits)
            }
            Kind::Bank(bank, offset) => match operand {
                Operand::Const { bank: own, offset: at, .. } => {
                    self.constant(bank, own.into()) && self.constant(offset, at.into())
                }
                _ => false,
            },
            Kind::Value(value, file) => self.is_of(operand, *file) && self.value(*value, values, operand),
            Kind::Register(reg) => PhysicalReg::operand(*reg) == operand.with_modifiers(Modifiers::NONE),
        }
    }

    /// A constant that is captured, or must be this one.
    fn constant(&mut self, pattern: &rules::Const, bits: u64) -> bool {
        // Constants of rules have 32 bits; a distance, or an offset below zero, has more.
        if bits > u32::MAX.into() {
            return false;
        }
        if let rules::Const::Capture(index) = pattern {
            let known = self.binding.constants[*index].get_or_insert(bits);
            return *known == bits;
        }
        pattern.value(&self.binding.constants) == Some(bits)
    }

    /// A value that is bound, or must be the one that is.
    fn value(&mut self, index: usize, values: &Several, operand: Operand) -> bool {
        if let Some(known) = &self.binding.values[index] {
            return !values.is_empty() && known.values == *values;
        }
        if values.is_empty() {
            return false;
        }
        self.binding.values[index] = Some(Bound { values: values.clone(), operand });
        let Some((at, place)) = self.instance.made[index] else { return true };
        let Some(Origin::Made(made, unit)) = values.first().map(|value| self.values.origin(*value)) else {
            return false;
        };
        let maker = self.values.maker(made);
        let whole = |(number, value): (usize, &super::values::Value)| {
            self.values.origin(*value) == Origin::Made(made, unit + number as u8)
        };
        let is_result = maker.results.get(place).is_some_and(|(first, count)| {
            *first == unit && usize::from(*count) == values.len() && values.iter().enumerate().all(whole)
        });
        is_result && self.made(at, made)
    }

    /// An instruction of the pattern that must have made a value.
    fn made(&mut self, at: usize, made: Made) -> bool {
        if let Some(known) = self.binding.made[at] {
            return known == made;
        }
        self.binding.made[at] = Some(made);
        let (instance, maker) = (self.instance, self.values.maker(made));
        let pattern = &instance.pattern[at];
        if maker.id != pattern.id || maker.results.len() != pattern.results.len() {
            return false;
        }
        let operands: Seen = maker.sources.iter().map(|source| (source.values.clone(), source.operand)).collect();
        self.operands(pattern, &operands)
    }
}

/// Whether all conditions of an instance hold.
pub(super) fn holds(func: &Function, values: &Values, instance: &Instance, binding: &Binding) -> bool {
    instance.conditions.iter().all(|condition| condition_holds(func, values, binding, condition))
}

fn condition_holds(func: &Function, values: &Values, binding: &Binding, condition: &Condition) -> bool {
    let of = |constant: &rules::Const| constant.value(&binding.constants);
    match condition {
        Condition::Compare(relation, signed, left, right) => match (of(left), of(right)) {
            (Some(left), Some(right)) => number::related(*relation, *signed, left, right, u32::BITS),
            _ => false,
        },
        Condition::IsPowerOfTwo(constant) => of(constant).is_some_and(u64::is_power_of_two),
        Condition::IsMask(constant) => of(constant).is_some_and(|bits| bits != 0 && bits & (bits + 1) == 0),
        Condition::Uniform(value) => binding.values[*value].as_ref().is_some_and(|bound| {
            let is_uniform = |value: &super::values::Value| {
                matches!(values.origin(*value), Origin::Bits(_) | Origin::True | Origin::Bank(..))
            };
            let file = func.operand_info(bound.operand).map(|info| info.file);
            matches!(file, Some(RegFile::UR | RegFile::UP)) || bound.values.iter().all(is_uniform)
        }),
        Condition::Narrow(value, bits) => match (&binding.values[*value], of(bits)) {
            (Some(bound), Some(bits)) => {
                marks(bound.operand).is_none()
                    && matches!(bound.values[..], [value] if u64::from(values.width(value)) <= bits)
            }
            _ => false,
        },
        Condition::Not(inside) => !condition_holds(func, values, binding, inside),
        Condition::Any(all) => all.iter().any(|condition| condition_holds(func, values, binding, condition)),
    }
}
