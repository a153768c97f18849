//! A variant of a rule as a question: two expressions over the captures, and when the rule applies.
//!
//! A captured operand is a register with any content: 1, 32, 64 or 128 bits, whatever the type that reads it. A
//! captured constant has the bits of its place. The expression before is the pattern's root, the one after what its
//! destinations become, whole registers each. Where an operation may yield any NaN (`neg`, `abs`), the one after may
//! yield each of them, and of the root before each is as good as another; inside the pattern it is the interpreter's.
//! The preconditions are the rule's guards, the constants that the pattern requires, and that every derived constant
//! has a value; guards about cost say nothing.
//!
//! A root that does more than compute registers (a store, a vote) has no meaning here. Where its result is the same
//! operation, the rule is right if addresses, other operands and fields are the same, hints aside; any other result is
//! executed. Register-only operations without a meaning (approximations) can be *opaque*: any function of their
//! operands, the same for operands of the same values, so that a proof holds, and a counterexample says nothing by
//! itself: it is an input on which the rule needs to know more of the function. Conversions of addresses are what the
//! interpreter has them be, which is no proof.

mod question;

use std::collections::BTreeSet;

use oriole_ir::ops::{FieldValues, Flags, Opcode, Shape, Type};
use oriole_rules::instance::{Operation, Pattern, Source, Value, place_type};

pub(super) use self::question::is_modulo_nan;
use super::constants::register_bits;
use super::undefined::Unknown;
use super::variant::{Variant, operation_text};
use oriole_proof::{Query, Term, Terms, absence, leaves_nan_open, meaning, read_by_approximation, with_other_nans};

/// Why there is no question.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Absence {
    /// An operation has no meaning as terms.
    #[error("`{operation}`: {reason}")]
    Operation {
        /// The operation.
        operation: String,
        /// The reason.
        reason: &'static str,
    },
    /// The opcode table does not allow the fields of the result, so the rule does not apply.
    #[error("the result is not legal for these fields")]
    Fields,
    /// An operand has no width.
    #[error("an operand of `{0}` has no width of its own")]
    Width(String),
    /// The result orders memory accesses otherwise, or promises something else of the threads that execute it.
    #[error("the result has another {0}, and executing one order of events does not show whether that is right")]
    Order(&'static str),
    /// The instance is none that the rule language makes.
    #[error("the rule is malformed")]
    Function,
}

impl Absence {
    pub(super) fn operation(opcode: Opcode, fields: &FieldValues) -> Absence {
        let reason = absence(opcode, fields).unwrap_or("these fields or operands have no meaning as terms");
        Absence::Operation { operation: operation_text(opcode, fields), reason }
    }
}

/// A variant as terms.
#[derive(Clone, Debug)]
pub struct Question<'i> {
    /// The variant.
    pub variant: Variant<'i>,
    /// The arena.
    pub terms: Terms,
    /// The inputs under which the result is wrong.
    pub query: Query,
    /// The terms of the captures.
    pub captures: Vec<Term>,
    /// The terms of the operands that are not captured, in the order of the pattern.
    pub others: Vec<Term>,
    /// The constants that the pattern requires, likewise.
    pub constants: Vec<Term>,
    /// Bits that conditions want to be known of captures: the capture, whether they are ones, and which bits.
    pub known: Vec<(usize, bool, Term)>,
    /// The destinations before, and what they become.
    pub values: [Vec<Term>; 2],
    /// Whether the operation at the root is defined; always, where there is no term.
    pub defined: Option<Term>,
    /// Whether an operation is opaque: then only a proof says something.
    pub opaque: bool,
    /// The opaque operations, each with the reason why it is.
    pub functions: BTreeSet<String>,
    /// True if a proof relies on the interpreter's definition of an operation.
    pub assumed: bool,
    /// Whether the side after may yield any NaN where the interpreter has a certain one.
    pub chooses_nan: bool,
    /// The operands of a root that does more than compute registers.
    pub effect: Option<Vec<Term>>,
    /// Why executing shows nothing of that.
    pub unmodelled: Option<&'static str>,
}

/// A translation at work.
pub(super) struct Translation<'i> {
    pub(super) variant: Variant<'i>,
    pub(super) terms: Terms,
    captures: Vec<Option<Term>>,
    others: Vec<Term>,
    constants: Vec<Term>,
    pub(super) known: Vec<(usize, bool, Term)>,
    lets: Vec<Term>,
    /// Conditions that must hold for the rule to apply.
    premises: Vec<Term>,
    /// Whether the operation at the root is defined.
    defined: Option<Term>,
    /// Operations elsewhere whose results may be undefined.
    pub(super) unknown: Vec<Unknown>,
    /// The next operation's fields in the variant.
    next: usize,
    /// The results of opaque operations by opcode, fields and operands; none where every operation must have a
    /// meaning.
    opaque: Option<Vec<Opaque>>,
    assumed: bool,
    chooses_nan: bool,
    effect: Option<Vec<Term>>,
}

/// An operation that is any function.
pub(super) struct Opaque {
    opcode: Opcode,
    fields: FieldValues,
    operands: Vec<Term>,
    results: Vec<Term>,
}

/// Where an operation stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Root,
    Inside,
    Result,
}

/// Operands and results of the operation at the root.
struct Root {
    operands: Vec<Term>,
    values: Vec<Term>,
}

/// The question of a variant.
pub fn translate(variant: Variant<'_>) -> Result<Question<'_>, Absence> {
    translated(variant, Terms::new(), None)
}

/// The question of a variant, whose register-only operations without a meaning are opaque.
pub fn translate_opaque(variant: Variant<'_>) -> Result<Question<'_>, Absence> {
    translated(variant, Terms::new(), Some(Vec::new()))
}

/// The same question over floats: its variables are the same, by their numbers.
pub(super) fn over_floats<'i>(question: &Question<'i>) -> Result<Question<'i>, Absence> {
    translated(question.variant.clone(), Terms::over_floats(), question.opaque.then(Vec::new))
}

fn translated(variant: Variant<'_>, terms: Terms, opaque: Option<Vec<Opaque>>) -> Result<Question<'_>, Absence> {
    let instance = variant.instance;
    let mut translation = Translation { terms, ..Translation::new(variant, opaque) };
    translation.declare();
    let fields = translation.variant.fields[0];
    let root = translation.pattern(instance.pattern(), true)?;
    for condition in &instance.conditions {
        let holds = translation.condition(condition)?;
        translation.premises.push(holds);
    }
    for value in &instance.lets {
        let value = translation.value(value, None)?;
        translation.lets.push(value);
    }
    let root_opcode = instance.pattern().opcode;
    let values = if root_opcode.is(Flags::PURE) {
        if root.values.is_empty() {
            return Err(Absence::operation(root_opcode, &fields));
        }
        [root.values, translation.results(&fields)?]
    } else {
        // Other operands are not proved wrong by that.
        translation.opaque.get_or_insert_default();
        let values = match translation.same_operation(&fields)? {
            Some(after) => [&root.operands, &after].map(|operands| translation.accessed(root_opcode, operands)),
            // Nothing but executing tells.
            None => ["before", "after"].map(|name| vec![translation.terms.variable(format!("{name}()"), 1)]),
        };
        translation.effect = Some(root.operands);
        values
    };
    translation.question(values, &fields)
}

impl<'i> Translation<'i> {
    /// A translation that has not begun.
    pub(super) fn new(variant: Variant<'i>, opaque: Option<Vec<Opaque>>) -> Translation<'i> {
        Translation {
            terms: Terms::new(),
            captures: vec![None; variant.instance.captures.len()],
            others: Vec::new(),
            constants: Vec::new(),
            known: Vec::new(),
            lets: Vec::new(),
            premises: Vec::new(),
            defined: None,
            unknown: Vec::new(),
            next: 0,
            opaque,
            assumed: false,
            chooses_nan: false,
            effect: None,
            variant,
        }
    }

    /// Variables for the captures that are no names of operations in the pattern.
    fn declare(&mut self) {
        let instance = self.variant.instance;
        let mut bound = Vec::new();
        bindings(instance.pattern(), &mut bound);
        for (index, capture) in instance.captures.iter().enumerate() {
            if bound.contains(&index) {
                continue;
            }
            // Only addresses have no type.
            let bits = capture.ty.map_or(64, Type::bits);
            let width = if capture.constant { capture.bits.max(1) } else { register_bits(bits) };
            self.captures[index] = Some(self.terms.variable(capture.name.clone(), width.min(128)));
        }
    }

    pub(super) fn capture(&self, capture: usize) -> Result<Term, Absence> {
        self.captures[capture].ok_or(Absence::Function)
    }

    /// The results of a pattern's operation; at the root its operands too.
    fn pattern(&mut self, pattern: &Pattern, root: bool) -> Result<Root, Absence> {
        let fields = self.variant.fields[self.next];
        self.next += 1;
        let mut operands = Vec::with_capacity(pattern.srcs.len());
        for (source, shape) in pattern.srcs.iter().zip(pattern.opcode.row().srcs) {
            let ty = place_type(pattern.opcode, &fields, *shape);
            operands.push(self.source(source, ty, pattern, &fields, *shape)?);
        }
        let place = if root { Place::Root } else { Place::Inside };
        let values = match self.applied(pattern.opcode, &fields, &operands, place) {
            Ok(values) => values,
            Err(_) if root => Vec::new(),
            Err(absence) => return Err(absence),
        };
        if let (Some(binding), [value]) = (pattern.binding, values.as_slice()) {
            // A name that stands twice is one register, which has one definition.
            match self.captures[binding] {
                Some(known) => {
                    let same = self.terms.eq(known, *value);
                    self.premises.push(same);
                }
                None => self.captures[binding] = Some(*value),
            }
        }
        Ok(Root { operands, values })
    }

    fn source(
        &mut self,
        source: &Source,
        ty: Option<Type>,
        of: &Pattern,
        fields: &FieldValues,
        shape: Shape,
    ) -> Result<Term, Absence> {
        let width = match (ty, shape) {
            (Some(ty), _) => register_bits(ty.bits()),
            (None, Shape::Base) => 64,
            (None, _) => return Err(Absence::Width(operation_text(of.opcode, fields))),
        };
        match source {
            // Each wildcard is a value of its own, whatever other wildcards are.
            Source::Any => {
                let name = format!("_{}", self.others.len() + 1);
                let any = self.terms.variable(name, width);
                self.others.push(any);
                Ok(any)
            }
            Source::Capture(capture) => {
                // The operation that the name stands for may come later in the pattern, and must then yield this.
                if self.captures[*capture].is_none() {
                    let name = self.variant.instance.captures[*capture].name.clone();
                    self.captures[*capture] = Some(self.terms.variable(name, width));
                }
                self.capture(*capture)
            }
            Source::Constant(capture) => {
                let value = self.capture(*capture)?;
                Ok(self.terms.fit(value, width))
            }
            Source::Equals(expr) => {
                let (value, known) = self.constant(expr)?;
                // The pattern matches only where the constant that it names has a value.
                self.premises.push(known);
                self.constants.push(value);
                Ok(self.terms.fit(value, width))
            }
            Source::Inst(pattern) => {
                let values = self.pattern(pattern, false)?.values;
                values.first().copied().ok_or(Absence::Function)
            }
            // A word is read of a register of two words, whatever type the place has.
            Source::Word(word, inner) => {
                let whole = self.source(inner, Some(Type::B64), of, fields, Shape::D)?;
                Ok(self.terms.extract(whole, 32 * u32::from(*word & 1), 32))
            }
        }
    }

    /// What the destinations become.
    fn results(&mut self, fields: &FieldValues) -> Result<Vec<Term>, Absence> {
        let instance = self.variant.instance;
        let row = instance.pattern().opcode.row();
        if let ([Value::Op(operation)], [_, _, ..]) = (instance.results.as_slice(), row.dsts) {
            return self.operation(operation);
        }
        let mut results = Vec::with_capacity(row.dsts.len());
        for (value, shape) in instance.results.iter().zip(row.dsts) {
            let ty = place_type(row.opcode, fields, *shape);
            results.push(self.value(value, ty)?);
        }
        Ok(results)
    }

    pub(super) fn operands(&mut self, operation: &Operation, fields: &FieldValues) -> Result<Vec<Term>, Absence> {
        let mut operands = Vec::with_capacity(operation.srcs.len());
        for (src, shape) in operation.srcs.iter().zip(operation.opcode.row().srcs) {
            let ty = place_type(operation.opcode, fields, *shape).or((*shape == Shape::Base).then_some(Type::B64));
            operands.push(self.value(src, ty)?);
        }
        Ok(operands)
    }

    fn operation(&mut self, operation: &Operation) -> Result<Vec<Term>, Absence> {
        let fields = self.variant.result_fields(operation).ok_or(Absence::Fields)?;
        let operands = self.operands(operation, &fields)?;
        self.applied(operation.opcode, &fields, &operands, Place::Result)
    }

    /// What an operation yields.
    fn applied(
        &mut self,
        opcode: Opcode,
        fields: &FieldValues,
        operands: &[Term],
        place: Place,
    ) -> Result<Vec<Term>, Absence> {
        if let Some(found) = meaning(&mut self.terms, opcode, fields, operands) {
            if place == Place::Root {
                self.defined = found.defined;
                return Ok(found.values);
            }
            let values = self.unless_defined((opcode, fields), operands, found.values, found.defined);
            let open = place == Place::Result && leaves_nan_open(opcode);
            return Ok(if open { self.with_any_nan(opcode, fields, values) } else { values });
        }
        if opcode == Opcode::Cvta
            && self.opaque.is_some()
            && let Some(address) = self.converted(fields, operands, place)
        {
            self.assumed = true;
            return Ok(vec![address]);
        }
        let absent = || Absence::operation(opcode, fields);
        let operands = read_by_approximation(&mut self.terms, opcode, fields, operands);
        let known = self.opaque.as_ref().filter(|_| opcode.is(Flags::PURE)).ok_or_else(absent)?;
        let same = |one: &&Opaque| one.opcode == opcode && one.fields == *fields && one.operands == operands;
        if let Some(one) = known.iter().find(same) {
            return Ok(one.results.clone());
        }
        let mut results = Vec::new();
        for shape in opcode.row().dsts {
            let ty = place_type(opcode, fields, *shape).ok_or_else(absent)?;
            results.push(self.terms.variable(format!("{}()", opcode.row().name), register_bits(ty.bits())));
        }
        let made = Opaque { opcode, fields: *fields, operands, results: results.clone() };
        self.same_function(&made);
        self.opaque.get_or_insert_default().push(made);
        Ok(results)
    }

    /// An opaque operation yields the same as others of its kind wherever their operands are the same.
    fn same_function(&mut self, made: &Opaque) {
        let others = self.opaque.iter().flatten().filter(|one| one.opcode == made.opcode && one.fields == made.fields);
        for one in others {
            let terms = &mut self.terms;
            let mut all_equal = |a: &[Term], b: &[Term]| {
                let equal: Vec<Term> = a.iter().zip(b).map(|(a, b)| terms.eq(*a, *b)).collect();
                terms.all(&equal)
            };
            let (operands, results) =
                (all_equal(&one.operands, &made.operands), all_equal(&one.results, &made.results));
            let differ = terms.not(operands);
            let holds = terms.or(differ, results);
            self.premises.push(holds);
        }
    }

    /// The values with whatever NaN the device may choose.
    fn with_any_nan(&mut self, opcode: Opcode, fields: &FieldValues, values: Vec<Term>) -> Vec<Term> {
        self.chooses_nan = true;
        let ty = opcode.row().value::<Type>(fields).unwrap_or(Type::B32);
        let chosen = |value: Term| {
            let other = self.terms.variable("nan", self.terms.width(value));
            with_other_nans(&mut self.terms, ty, value, other)
        };
        values.into_iter().map(chosen).collect()
    }

    /// A value of the result, as the register that holds it.
    fn value(&mut self, value: &Value, ty: Option<Type>) -> Result<Term, Absence> {
        match value {
            Value::Capture(capture) => self.capture(*capture),
            Value::Word(word, capture) => {
                let whole = self.capture(*capture)?;
                let low = 32 * u32::from(*word & 1);
                let fits = low + 32 <= self.terms.width(whole);
                if fits { Ok(self.terms.extract(whole, low, 32)) } else { Err(Absence::Function) }
            }
            Value::Constant(expr) => {
                let (value, known) = self.constant(expr)?;
                self.premises.push(known);
                Ok(self.terms.fit(value, register_bits(ty.map_or(expr.bits, Type::bits))))
            }
            Value::Let(index) => self.lets.get(*index).copied().ok_or(Absence::Function),
            Value::Op(operation) => self.operation(operation)?.first().copied().ok_or(Absence::Function),
        }
    }
}

/// The captures that name operations of a pattern.
fn bindings(pattern: &Pattern, into: &mut Vec<usize>) {
    into.extend(pattern.binding);
    for source in &pattern.srcs {
        let mut source = source;
        while let Source::Word(_, of) = source {
            source = of;
        }
        if let Source::Inst(inner) = source {
            bindings(inner, into);
        }
    }
}
