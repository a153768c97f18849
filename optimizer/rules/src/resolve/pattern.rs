//! Patterns: a first walk declares the captures, a second one builds.

use super::super::instance::{Pattern, Rest, Source, place_type};
use super::super::language::ast::{Inst, Name, Operand};
use super::constants::is_reserved;
use super::head::{Written, broken, vector_slot};
use super::sets::type_named;
use super::{Resolved, Resolver, fault, is_capital, lone_name};
use oriole_ir::RegInfo;
use oriole_ir::diagnostics::counted;
use oriole_ir::ops::{Field, FieldValue, Flags, OpRow, Opcode, Shape, Type};

/// An operation of a pattern with its fields resolved.
struct Shaped {
    written: Written,
    fields: Vec<u64>,
    places: Vec<Option<Type>>,
}

impl Resolver<'_> {
    pub(super) fn root(&mut self) -> Resolved<()> {
        let decl = self.decl;
        let shaped = self.shaped(&decl.pattern, true)?;
        let pattern = Pattern {
            opcode: shaped.written.opcode,
            fields: shaped.fields,
            rest: None,
            srcs: Vec::new(),
            shared: true,
            binding: None,
        };
        let fields = pattern.some_fields();
        self.root_bits = pattern.opcode.row().value::<Type>(&fields).map_or(32, Type::bits);
        self.declare_captures(&decl.pattern, true)?;
        self.instance.root = Some(self.pattern(&decl.pattern, true)?);
        Ok(())
    }

    fn shaped(&self, inst: &Inst, root: bool) -> Resolved<Shaped> {
        let written = self.written(&inst.head)?;
        let row = written.opcode.row();
        check_legal(row, inst, root)?;
        let any = inst.head.rest.is_some();
        let vector = vector_slot(row);
        let fields: Vec<u64> = row
            .fields
            .iter()
            .zip(&written.values)
            .enumerate()
            .map(|(slot, (spec, value))| match (value, spec.default) {
                (Some(mask), _) => *mask,
                (None, Some(default)) if Some(slot) == vector => 1 << default,
                (None, Some(default)) if !any => 1 << default,
                (None, _) => spec.legal,
            })
            .collect();
        let pattern =
            Pattern { opcode: written.opcode, fields, rest: None, srcs: Vec::new(), shared: false, binding: None };
        let some = pattern.some_fields();
        if any {
            one_width(row, &written.values, inst)?;
        } else {
            broken(written.opcode, &some, inst.head.span)?;
        }
        if inst.operands.len() != row.srcs.len() {
            let message =
                format!("`{}` has {}, not {}", row.name, counted(row.srcs.len(), "operand"), inst.operands.len());
            return Err(fault(inst.span, message, "here", format!("{}; write `_` for any operand", row.doc)));
        }
        let places = row.srcs.iter().map(|shape| place_type(written.opcode, &some, *shape)).collect();
        Ok(Shaped { written, fields: pattern.fields, places })
    }

    fn declare_captures(&mut self, inst: &Inst, root: bool) -> Resolved<()> {
        let shaped = self.shaped(inst, root)?;
        if let Some(rest) = &inst.head.rest {
            self.declare_rest(rest, &shaped.written);
        }
        for (operand, place) in inst.operands.iter().zip(&shaped.places) {
            self.declare_operand(operand, *place)?;
        }
        Ok(())
    }

    fn declare_rest(&mut self, name: &Name, written: &Written) {
        if name.text == "_" || self.instance.rests.iter().any(|rest| rest.name == name.text) {
            return;
        }
        let vector = vector_slot(written.opcode.row());
        let free = |(slot, value): &(usize, &Option<u64>)| value.is_none() && Some(*slot) != vector;
        let slots = written.values.iter().enumerate().filter(free);
        let slots = slots.fold(0, |slots, (slot, _)| slots | 1 << slot);
        self.instance.rests.push(Rest { name: name.text.clone(), opcode: written.opcode, slots });
    }

    fn declare_operand(&mut self, operand: &Operand, place: Option<Type>) -> Resolved<()> {
        match operand {
            Operand::Wildcard(_) => Ok(()),
            Operand::Inst { binding, inst, .. } => {
                if let Some(name) = binding {
                    self.declare_value(name, self.value_type(inst)?)?;
                }
                self.declare_captures(inst, false)
            }
            Operand::Word { of, .. } => self.declare_operand(of, Some(Type::B64)),
            Operand::Expr(expr) => match lone_name(expr) {
                Some(name) if self.is_capture(&name.text) => self.declare_value(name, place),
                _ => Ok(()),
            },
        }
    }

    /// Whether a name alone at an operand's place captures it.
    fn is_capture(&self, name: &str) -> bool {
        !is_reserved(name) && self.variable(name).is_none()
    }

    fn declare_value(&mut self, name: &Name, place: Option<Type>) -> Resolved<()> {
        let capture = match self.capture(&name.text) {
            Some(capture) => capture,
            None => {
                let constant = is_capital(&name.text);
                let capture = self.declare(name, constant);
                self.instance.captures[capture].ty = place;
                capture
            }
        };
        self.uses[capture] += 1;
        let known = &mut self.instance.captures[capture];
        let bits = place.map_or(0, Type::bits);
        if known.constant && known.bits != 0 && known.bits != bits {
            let message = format!("`{}` has {} bits here and {} before", name.text, bits, known.bits);
            return Err(fault(name.span, message, "here", "a constant has one width; use two names and a guard"));
        }
        if let (Some(first), Some(here)) = (known.ty, place)
            && RegInfo::of(first) != RegInfo::of(here)
        {
            let message = format!("`{}` cannot be of type {} here and {} before", name.text, here.name(), first.name());
            return Err(fault(name.span, message, "here", "their registers have different widths: use two names"));
        }
        known.bits = known.bits.max(bits);
        Ok(())
    }

    /// The type of an operation's value.
    fn value_type(&self, inst: &Inst) -> Resolved<Option<Type>> {
        let shaped = self.shaped(inst, false)?;
        let opcode = shaped.written.opcode;
        let pattern =
            Pattern { opcode, fields: shaped.fields, rest: None, srcs: Vec::new(), shared: false, binding: None };
        let fields = pattern.some_fields();
        Ok(opcode.row().dsts.first().and_then(|shape| place_type(opcode, &fields, *shape)))
    }

    fn pattern(&mut self, inst: &Inst, root: bool) -> Resolved<Pattern> {
        let shaped = self.shaped(inst, root)?;
        let rest = inst.head.rest.as_ref().filter(|name| name.text != "_");
        let rest = rest.and_then(|name| self.instance.rests.iter().position(|rest| rest.name == name.text));
        let mut srcs = Vec::with_capacity(inst.operands.len());
        for (operand, place) in inst.operands.iter().zip(&shaped.places) {
            srcs.push(self.source(operand, *place)?);
        }
        let opcode = shaped.written.opcode;
        if opcode.is(Flags::COMMUTATIVE) && is_constant(&srcs[0]) && !is_constant(&srcs[1]) {
            srcs.swap(0, 1);
        }
        Ok(Pattern { opcode, fields: shaped.fields, rest, srcs, shared: root, binding: None })
    }

    fn source(&mut self, operand: &Operand, place: Option<Type>) -> Resolved<Source> {
        match operand {
            Operand::Wildcard(_) => Ok(Source::Any),
            Operand::Inst { binding, shared, inst } => {
                let made = self.value_type(inst)?;
                // Types may differ as long as both are held by the same kind of register: bits have no type.
                if let (Some(made), Some(read)) = (made, place)
                    && RegInfo::of(made) != RegInfo::of(read)
                {
                    let message = format!("a value of type {} stands where {} is read", made.name(), read.name());
                    return Err(fault(inst.span, message, "here", "their registers have different widths"));
                }
                let mut pattern = self.pattern(inst, false)?;
                pattern.shared = *shared;
                pattern.binding = binding.as_ref().and_then(|name| self.capture(&name.text));
                Ok(Source::Inst(Box::new(pattern)))
            }
            Operand::Word { word, of, span } => {
                let of = self.source(of, Some(Type::B64))?;
                if !matches!(of, Source::Capture(_) | Source::Inst(_) | Source::Any) {
                    return Err(fault(
                        *span,
                        "this has no words".to_owned(),
                        "here",
                        "`lo(x)` reads a 64-bit register",
                    ));
                }
                Ok(Source::Word(*word, Box::new(of)))
            }
            Operand::Expr(expr) => match lone_name(expr) {
                Some(name) if self.is_capture(&name.text) => {
                    let capture = self.capture(&name.text).ok_or_else(|| self.unbound(name))?;
                    // Captures of constants and of registers share their numbers; `constant` tells them apart.
                    let constant = self.instance.captures[capture].constant;
                    Ok(if constant { Source::Constant(capture) } else { Source::Capture(capture) })
                }
                _ => {
                    let Some(ty) = place else {
                        let message = "the width of this constant cannot be inferred".to_owned();
                        return Err(fault(expr.span(), message, "here", "capture it: `C`"));
                    };
                    self.constant(expr, ty.bits()).map(Source::Equals)
                }
            },
        }
    }
}

/// Whether a source matches constants only.
pub fn is_constant(source: &Source) -> bool {
    matches!(source, Source::Constant(_) | Source::Equals(_))
}

/// Whether the results depend on the operands alone, and may be left out or computed again.
pub(super) fn is_pure(opcode: Opcode) -> bool {
    opcode.is(Flags::PURE) && !opcode.is(Flags::TERMINATOR)
}

/// Types that `{F}` takes have one width: operands, constants and `W` have theirs by it.
fn one_width(row: &OpRow, written: &[Option<u64>], inst: &Inst) -> Resolved<()> {
    let is_type = |field: Field| matches!(field, Field::Type | Field::SrcType | Field::SecondType);
    let free = row.fields.iter().zip(written).filter(|(spec, value)| value.is_none() && is_type(spec.field));
    for (spec, _) in free {
        let types = spec.values().filter_map(|value| type_named(spec.field.value_name(value)));
        let mut widths: Vec<u32> = types.map(Type::bits).collect();
        widths.dedup();
        if widths.len() > 1 {
            let message = format!("`{}` has a {} of several widths, which is not written", row.name, spec.field.name());
            return Err(fault(
                inst.head.span,
                message,
                "here",
                "write it; a variable (`for T in int`) goes through several",
            ));
        }
    }
    Ok(())
}

/// What no operation of a rule may be.
pub(super) fn check_legal(row: &'static OpRow, inst: &Inst, root: bool) -> Resolved<()> {
    let listed = |shape: &Shape| {
        use Shape::{Block, Blocks, Callee, Incoming, Packed, Params, Parts};
        matches!(shape, Block | Blocks | Callee | Incoming | Packed | Params | Parts)
    };
    let name = row.name;
    if row.flags.has(Flags::TERMINATOR) || row.srcs.iter().chain(row.dsts).any(listed) {
        let message = format!("`{name}` cannot stand in a rule");
        let help = "control flow and operations with lists of operands are rewritten by code";
        return Err(fault(inst.head.span, message, "here", help));
    }
    if !root && (!is_pure(row.opcode) || row.dsts.len() != 1) {
        let message = format!("`{name}` cannot stand inside a rule");
        let help = "only operations without effect and with one result can; this one may be the root of a pattern";
        return Err(fault(inst.head.span, message, "here", help));
    }
    Ok(())
}
