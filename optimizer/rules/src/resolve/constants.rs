//! Constant expressions and conditions: names to captures, and a width for every part.
//!
//! The place of an expression has a width, and all its parts have that, except the arguments of functions that count or
//! convert: those get theirs from the captures in them.

use super::super::instance::{Condition, Const, ConstKind, Function, Operation, Value, ones, place_type};
use super::super::language::Span;
use super::super::language::ast::{BinaryOp, Expr, Guard, Name, Operand, Relation};
use super::super::number::{closed, related};
use super::head::broken;
use super::pattern::is_pure;
use super::sets::{NONE, SETS, is_value, type_named, unknown_value};
use super::{Resolved, Resolver, fault, is_capital, lone_name};
use oriole_ir::diagnostics::counted;
use oriole_ir::ops::{Field, Type};

/// Constants that need no capture.
const RESERVED: [&str; 4] = ["W", "MIN", "MAX", "UMAX"];

pub(super) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

/// Functions: name, number of arguments, and whether arguments and result have the same width.
const FUNCTIONS: &[(&str, Function, usize, bool)] = &[
    ("log2", Function::Log2, 1, false),
    ("popc", Function::Popc, 1, false),
    ("clz", Function::Clz, 1, false),
    ("ctz", Function::Ctz, 1, false),
    ("min", Function::Min, 2, true),
    ("max", Function::Max, 2, true),
    ("smin", Function::Smin, 2, true),
    ("smax", Function::Smax, 2, true),
    ("zext", Function::Zext, 1, false),
    ("sext", Function::Sext, 1, false),
    ("trunc", Function::Trunc, 1, false),
    ("mask", Function::Mask, 1, false),
];

/// The function with a name that takes so many arguments.
pub(crate) fn function_named(name: &str, arguments: usize) -> Option<Function> {
    FUNCTIONS.iter().find(|(known, _, count, _)| *known == name && *count == arguments).map(|(_, found, ..)| *found)
}

const PREDICATES: &str = "is_power_of_two(C), is_mask(C), known_zero(x, M), known_one(x, M), disjoint(x, y), nonzero(x), not_nan(x), single_use(x), unused(), variable(x), constant(x), is_signed(T), is_float(T)";

fn number(value: u64, bits: u32) -> Const {
    Const { bits, kind: ConstKind::Number(value & ones(bits)) }
}

impl Resolver<'_> {
    /// The expression at a place of this width.
    pub(super) fn constant(&mut self, expr: &Expr, bits: u32) -> Resolved<Const> {
        if bits > 64 {
            return Err(fault(expr.span(), "constants have at most 64 bits".to_owned(), "here", "capture the operand"));
        }
        let kind = match expr {
            Expr::Number { value, span } => return literal(*value, bits, *span),
            Expr::Float { value, span } => return float(*value, bits, *span),
            Expr::Name(name) => return self.named(name, bits),
            Expr::Unary { op, of, .. } => ConstKind::Unary(*op, Box::new(self.constant(of, bits)?)),
            Expr::Binary { op, left, right } if is_arithmetic(*op) && (is_float(left) || is_float(right)) => {
                return Err(computes_with_bits(expr.span(), op.symbol()));
            }
            // The count of a shift is as wide as it is written.
            Expr::Binary { op: op @ (BinaryOp::Shl | BinaryOp::Shr | BinaryOp::ShrSigned), left, right } => {
                let count = self.natural(right).unwrap_or(bits);
                ConstKind::Binary(*op, Box::new(self.constant(left, bits)?), Box::new(self.constant(right, count)?))
            }
            Expr::Binary { op, left, right } => {
                ConstKind::Binary(*op, Box::new(self.constant(left, bits)?), Box::new(self.constant(right, bits)?))
            }
            Expr::Call { function, arguments, span } => return self.call(function, arguments, *span, bits),
            Expr::Fold { inst, span } => self.fold(inst, *span, bits)?,
        };
        Ok(simplified(Const { bits, kind }))
    }

    fn named(&mut self, name: &Name, bits: u32) -> Resolved<Const> {
        match name.text.as_str() {
            "W" => return literal(u64::from(self.root_bits), bits, name.span),
            "MIN" => return Ok(number(1 << (bits - 1), bits)),
            "MAX" => return Ok(number(ones(bits) >> 1, bits)),
            "UMAX" => return Ok(number(u64::MAX, bits)),
            text if self.variable(text).is_some() || type_named(text).is_some() => {
                let message = format!("`{text}` is no constant");
                return Err(fault(name.span, message, "here", "`width(T)` is the width of a type"));
            }
            _ => {}
        }
        let capture = self.used(name)?;
        let known = &self.instance.captures[capture];
        if !known.constant {
            let help = "operands are written in lower case, constants in capitals: capture it as a constant";
            return Err(fault(name.span, format!("`{}` is an operand, not a constant", name.text), "here", help));
        }
        match known.bits {
            0 => Err(fault(name.span, format!("the width of `{}` is not known", name.text), "here", "it has no type")),
            width if width == bits => Ok(Const { bits, kind: ConstKind::Capture(capture) }),
            width => {
                let message = format!("`{}` has {width} bits and stands where {bits} are needed", name.text);
                let help = if width < bits { "write `zext(C)` or `sext(C)`" } else { "write `trunc(C)`" };
                Err(fault(name.span, message, "here", help))
            }
        }
    }

    /// The width that an expression has whatever its place: that of the captures in it.
    fn natural(&self, expr: &Expr) -> Option<u32> {
        match expr {
            Expr::Number { .. } | Expr::Float { .. } => None,
            Expr::Name(name) => {
                let known = &self.instance.captures[self.capture(&name.text)?];
                (known.bits != 0).then_some(known.bits)
            }
            Expr::Unary { of, .. } => self.natural(of),
            Expr::Binary { op: BinaryOp::Shl | BinaryOp::Shr | BinaryOp::ShrSigned, left, .. } => self.natural(left),
            Expr::Binary { left, right, .. } => self.natural(left).or_else(|| self.natural(right)),
            Expr::Call { function, arguments, .. } => {
                let same = FUNCTIONS.iter().any(|(name, _, _, same)| *name == function.text && *same);
                same.then(|| arguments.iter().find_map(|argument| self.natural(argument))).flatten()
            }
            Expr::Fold { inst, .. } => self.folded_type(inst).ok().flatten().map(Type::bits),
        }
    }

    fn call(&mut self, function: &Name, arguments: &[Expr], span: Span, bits: u32) -> Resolved<Const> {
        if function.text == "width" {
            let ty = arguments
                .first()
                .and_then(lone_name)
                .and_then(|name| type_named(self.variable(&name.text).unwrap_or(&name.text)));
            let Some(ty) = ty.filter(|_| arguments.len() == 1) else {
                return Err(fault(span, "`width` takes a type".to_owned(), "here", "such as `width(T)`"));
            };
            return literal(u64::from(ty.bits()), bits, span);
        }
        let Some((_, meaning, count, same)) = FUNCTIONS.iter().find(|(name, ..)| *name == function.text) else {
            let names: Vec<&str> = FUNCTIONS.iter().map(|(name, ..)| *name).collect();
            let message = format!("no function `{}` of constants", function.text);
            return Err(fault(function.span, message, "here", format!("there are width, fold, {}", names.join(", "))));
        };
        if arguments.len() != *count {
            let message = format!(
                "`{}` takes {count}, not {}",
                function.text,
                arguments.len(),
                count = counted(count, "argument")
            );
            return Err(fault(span, message, "here", "see the language's README"));
        }
        let mut values = Vec::new();
        for argument in arguments {
            // Arguments of functions marked `same` are as wide as the result. Others have the width that they have by
            // themselves, which must be known.
            let width = match meaning {
                _ if *same => bits,
                // How many ones: any width does.
                Function::Mask => self.natural(argument).unwrap_or(32),
                _ => self.natural(argument).ok_or_else(|| uninferred(argument))?,
            };
            values.push(self.constant(argument, width)?);
        }
        let from = values.first().map_or(bits, |value| value.bits);
        let wrong = match meaning {
            Function::Zext | Function::Sext => from >= bits,
            Function::Trunc => from <= bits,
            _ => false,
        };
        if wrong {
            let message = format!("`{}` from {from} to {bits} bits does nothing", function.text);
            return Err(fault(span, message, "here", "zext and sext widen, trunc narrows; leave it out"));
        }
        Ok(simplified(Const { bits, kind: ConstKind::Function(*meaning, values) }))
    }

    fn folded_type(&self, inst: &super::super::language::ast::Inst) -> Resolved<Option<Type>> {
        let (opcode, fields, ..) = self.operation_head(&inst.head)?;
        Ok(opcode.row().dsts.first().and_then(|shape| place_type(opcode, &fields, *shape)))
    }

    fn fold(&mut self, inst: &super::super::language::ast::Inst, span: Span, bits: u32) -> Resolved<ConstKind> {
        let (opcode, fields, rest, copied) = self.operation_head(&inst.head)?;
        let row = opcode.row();
        super::pattern::check_legal(row, inst, true)?;
        if !is_pure(opcode) {
            let message = format!("`{}` does not depend on its operands alone", row.name);
            return Err(fault(inst.head.span, message, "here", "fold operations without effect"));
        }
        if rest.is_none() {
            broken(opcode, &fields, inst.head.span)?;
        }
        let made = self.folded_type(inst)?.map(Type::bits);
        if made != Some(bits) {
            let message = format!("`{}` yields {} bits where {bits} are needed", row.name, made.unwrap_or(0));
            return Err(fault(span, message, "here", "write zext, sext or trunc around it"));
        }
        if inst.operands.len() != row.srcs.len() {
            let message =
                format!("`{}` has {}, not {}", row.name, counted(row.srcs.len(), "operand"), inst.operands.len());
            return Err(fault(inst.span, message, "here", row.doc));
        }
        let mut srcs = Vec::new();
        for (operand, shape) in inst.operands.iter().zip(row.srcs) {
            let (Operand::Expr(expr), Some(ty)) = (operand, place_type(opcode, &fields, *shape)) else {
                return Err(fault(operand.span(), "fold needs constants".to_owned(), "here", "write a constant"));
            };
            srcs.push(Value::Constant(self.constant(expr, ty.bits())?));
        }
        Ok(ConstKind::Fold(Box::new(Operation { opcode, fields, rest, copied, srcs })))
    }

    pub(super) fn condition(&mut self, guard: &Guard) -> Resolved<Condition> {
        match guard {
            Guard::Compare { relation, signed, left, right } => self.comparison(*relation, *signed, left, right),
            Guard::Call { function, arguments, span } => self.predicate(function, arguments, *span),
            Guard::Member { variable, set } => self.member(variable, set),
            Guard::Field { rest, field, equal, value } => self.field_condition(rest, field, *equal, value),
            Guard::Not { guard, .. } => Ok(negated(self.condition(guard)?)),
            Guard::Any(guards) => {
                let mut all = Vec::new();
                for guard in guards {
                    match self.condition(guard)? {
                        Condition::Always(false) => {}
                        Condition::Always(true) => return Ok(Condition::Always(true)),
                        condition => all.push(condition),
                    }
                }
                Ok(if all.is_empty() { Condition::Always(false) } else { Condition::Any(all) })
            }
        }
    }

    fn comparison(&mut self, relation: Relation, signed: bool, left: &Expr, right: &Expr) -> Resolved<Condition> {
        if let Some(name) = lone_name(left)
            && let Some(value) = self.variable(&name.text)
        {
            let (Some(other), Relation::Eq | Relation::Ne) = (lone_name(right), relation) else {
                let help = "compare a variable with `==` or `!=` to a value";
                return Err(fault(right.span(), "this is no value of the variable".to_owned(), "here", help));
            };
            let same = value == self.value_of(other)?;
            return Ok(Condition::Always(same == (relation == Relation::Eq)));
        }
        if !matches!(relation, Relation::Eq | Relation::Ne) && (is_float(left) || is_float(right)) {
            return Err(computes_with_bits(left.span().to(right.span()), relation.symbol()));
        }
        // Where neither side has a width of its own, only numbers are compared, and 64 bits hold them.
        let bits = self.natural(left).or_else(|| self.natural(right)).unwrap_or(64);
        let (left, right) = (self.constant(left, bits)?, self.constant(right, bits)?);
        if let (Some(a), Some(b)) = (closed(&left), closed(&right)) {
            return Ok(Condition::Always(related(relation, signed, a, b, bits)));
        }
        Ok(Condition::Compare { relation, signed, left, right })
    }

    fn predicate(&mut self, function: &Name, arguments: &[Expr], span: Span) -> Resolved<Condition> {
        let wrong = |message: String| Err(fault(span, message, "here", format!("predicates are {PREDICATES}")));
        match (function.text.as_str(), arguments) {
            ("is_power_of_two" | "is_mask", [constant]) => {
                let bits = self.natural(constant).ok_or_else(|| uninferred(constant))?;
                let constant = self.constant(constant, bits)?;
                let power = function.text == "is_power_of_two";
                Ok(if power { Condition::PowerOfTwo(constant) } else { Condition::Mask(constant) })
            }
            ("known_zero" | "known_one", [value, mask]) => {
                let capture = self.operand_name(value)?;
                let bits = self.instance.captures[capture].ty.map_or(32, Type::bits);
                // A mask may reach beyond the type, into the rest of the register.
                let register = if bits > 32 { 64 } else { 32 };
                let mask = self.constant(mask, self.natural(mask).unwrap_or(register))?;
                let zero = function.text == "known_zero";
                Ok(if zero { Condition::KnownZero(capture, mask) } else { Condition::KnownOne(capture, mask) })
            }
            ("disjoint", [left, right]) => {
                let (left, right) = (self.operand_with_bits(left)?, self.operand_with_bits(right)?);
                Ok(Condition::Disjoint(left.0.min(right.0), left.0.max(right.0), left.1.min(right.1)))
            }
            ("nonzero", [value]) => {
                self.operand_with_bits(value).map(|(capture, bits)| Condition::Nonzero(capture, bits))
            }
            ("not_nan", [value]) => self.float_operand(value).map(|(capture, ty)| Condition::NotNan(capture, ty)),
            ("unused", []) => Ok(Condition::Unused),
            ("single_use", [value]) => self.operand_name(value).map(Condition::SingleUse),
            ("variable", [value]) => self.operand_name(value).map(Condition::Variable),
            ("constant", [value]) => self.operand_name(value).map(Condition::IsConstant),
            ("is_signed" | "is_float", [ty]) => {
                let named = lone_name(ty).and_then(|name| type_named(self.variable(&name.text).unwrap_or(&name.text)));
                let Some(ty) = named else { return wrong(format!("`{}` takes a type", function.text)) };
                let holds = if function.text == "is_signed" { ty.is_signed() } else { ty.is_float() };
                Ok(Condition::Always(holds))
            }
            _ => wrong(format!("no predicate `{}` of {}", function.text, counted(arguments.len(), "argument"))),
        }
    }

    /// A captured operand that a predicate is about.
    fn operand_name(&mut self, expr: &Expr) -> Resolved<usize> {
        match lone_name(expr).filter(|name| !is_capital(&name.text)) {
            Some(name) => self.used(name),
            None => Err(fault(expr.span(), "this is no operand".to_owned(), "here", "name a captured operand: `x`")),
        }
    }

    /// A captured operand, with how many bits the pattern reads of it; an address has 64.
    fn operand_with_bits(&mut self, expr: &Expr) -> Resolved<(usize, u32)> {
        let capture = self.operand_name(expr)?;
        match self.instance.captures[capture].bits {
            0 => Ok((capture, 64)),
            bits @ 2..=64 => Ok((capture, bits)),
            bits => {
                let (message, help) = match bits {
                    1 => (format!("`{expr}` is a predicate"), "known bits are those of numbers: match what makes it"),
                    _ => (format!("`{expr}` has {}", counted(bits, "bit")), "known bits are those of at most 64"),
                };
                Err(fault(expr.span(), message, "here", help))
            }
        }
    }

    /// A captured operand whose first place reads a float.
    fn float_operand(&mut self, expr: &Expr) -> Resolved<(usize, Type)> {
        let capture = self.operand_name(expr)?;
        match self.instance.captures[capture].ty {
            Some(ty @ (Type::F16 | Type::Bf16 | Type::F32 | Type::F64)) => Ok((capture, ty)),
            _ => {
                let help = "the first place of the operand must have the type f16, bf16, f32 or f64";
                Err(fault(expr.span(), format!("`{expr}` is not read as one float"), "here", help))
            }
        }
    }

    fn member(&mut self, variable: &Name, set: &[Name]) -> Resolved<Condition> {
        let Some(value) = self.variable(&variable.text) else {
            let help = "`in` is about variables that `for` declares";
            return Err(fault(variable.span, format!("`{}` is no variable", variable.text), "here", help));
        };
        let mut within = false;
        for name in set {
            within |= match SETS.iter().find(|(set, _)| *set == name.text) {
                Some((_, members)) => members.contains(&value),
                None => value == self.value_of(name)?,
            };
        }
        Ok(Condition::Always(within))
    }

    /// What a word stands for that a variable is compared with: the value of a variable, or itself. A word that no
    /// variable can have for its value would settle the condition in silence.
    fn value_of<'s>(&'s self, name: &'s Name) -> Resolved<&'s str> {
        if let Some(value) = self.variable(&name.text) {
            return Ok(value);
        }
        if SETS.iter().any(|(set, _)| *set == name.text) {
            let help = format!("write `in {}` for one of its types", name.text);
            return Err(fault(name.span, format!("`{}` is a set of types", name.text), "here", help));
        }
        if is_value(&name.text) { Ok(&name.text) } else { Err(unknown_value(name).into()) }
    }

    fn field_condition(&mut self, rest: &Name, field: &Name, equal: bool, value: &Name) -> Resolved<Condition> {
        let Some(index) = self.instance.rests.iter().position(|known| known.name == rest.text) else {
            let help = "capture fields with `{F}` behind the opcode";
            return Err(fault(rest.span, format!("`{}` captures no fields", rest.text), "here", help));
        };
        let captured = &self.instance.rests[index];
        let row = captured.opcode.row();
        let slots = (0..row.fields.len()).filter(|slot| captured.slots >> slot & 1 == 1);
        let named = slots.clone().find(|slot| row.fields[*slot].field.name() == field.text);
        let Some(slot) = named else {
            let names: Vec<&str> = slots.map(|slot| row.fields[slot].field.name()).collect();
            let message = format!("`{}` has no field `{}`", rest.text, field.text);
            return Err(fault(field.span, message, "here", format!("it has {}", names.join(", "))));
        };
        let spec = &row.fields[slot];
        let text = self.variable(&value.text).unwrap_or(&value.text);
        let index_of = if text == NONE { spec.default } else { Field::value_index(spec.field, text) };
        match index_of.filter(|value| spec.legal >> value & 1 == 1) {
            Some(value) => Ok(Condition::Field { rest: index, slot, equal, value }),
            None => {
                let message = format!("{} cannot be `{text}`", spec.field.name());
                Err(fault(value.span, message, "here", format!("it can be {}", super::head::legal_names(spec))))
            }
        }
    }
}

/// The condition that holds where this one fails.
fn negated(condition: Condition) -> Condition {
    match condition {
        Condition::Always(known) => Condition::Always(!known),
        Condition::Not(condition) => *condition,
        Condition::Variable(capture) => Condition::IsConstant(capture),
        Condition::IsConstant(capture) => Condition::Variable(capture),
        condition => Condition::Not(Box::new(condition)),
    }
}

fn uninferred(expr: &Expr) -> super::Trouble {
    let help = "use a captured constant in it, which has a width";
    fault(expr.span(), "the width of this constant cannot be inferred".to_owned(), "here", help)
}

fn literal(value: u64, bits: u32, span: Span) -> Resolved<Const> {
    if value & !ones(bits) != 0 {
        let message = format!("{value:#x} does not fit {bits} bits");
        return Err(fault(span, message, "here", "write a number of the width of its place, or `-1` for all ones"));
    }
    Ok(number(value, bits))
}

/// The NaNs that arithmetic yields (PTX ISA, "Floating-Point Instructions"), without their sign.
const NAN_F32: u64 = 0x7fff_ffff;
const NAN_F64: u64 = 0x7ff8_0000_0000_0000;

fn is_float(expr: &Expr) -> bool {
    matches!(expr, Expr::Float { .. })
}

/// Whether an operator makes no sense of the bits of a float.
fn is_arithmetic(op: BinaryOp) -> bool {
    use BinaryOp::{Add, Div, DivSigned, Mul, Rem, RemSigned, Sub};
    matches!(op, Add | Sub | Mul | Div | DivSigned | Rem | RemSigned)
}

fn computes_with_bits(span: Span, symbol: &str) -> super::Trouble {
    let help = "`fold(fadd.f32(A, 1.0))` computes with floats; whoever means the bits writes them: `0x3f800000`";
    fault(span, format!("`{symbol}` takes integers, not floats"), "here", help)
}

fn float(value: f64, bits: u32, span: Span) -> Resolved<Const> {
    let narrow = value as f32;
    let sign = u64::from(value.is_sign_negative()) << (bits - 1);
    match bits {
        32 if value.is_nan() => Ok(number(sign | NAN_F32, 32)),
        64 if value.is_nan() => Ok(number(sign | NAN_F64, 64)),
        32 if value.is_finite() != narrow.is_finite() || (value == 0.0) != (narrow == 0.0) => {
            let message = format!("{value:?} is no float of 32 bits");
            Err(fault(span, message, "here", "write `inf` or `0.0` if you mean that"))
        }
        32 => Ok(number(u64::from(narrow.to_bits()), 32)),
        64 => Ok(number(value.to_bits(), 64)),
        _ => Err(fault(span, format!("no float has {bits} bits here"), "here", "write the bits: `0x3c00`")),
    }
}

/// An expression without captures is the number that it comes to.
fn simplified(expr: Const) -> Const {
    match closed(&expr) {
        Some(value) => number(value, expr.bits),
        None => expr,
    }
}
