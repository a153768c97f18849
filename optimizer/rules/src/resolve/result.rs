//! Results: values for the destinations of the root.

use super::super::instance::{Condition, Operation, Value, place_type};
use super::super::language::Span;
use super::super::language::ast::{Head, Inst, Operand};
use super::constants::is_reserved;
use super::head::{Written, broken};
use super::pattern::{check_legal, is_pure};
use super::{Resolved, Resolver, fault, is_capital, lone_name};
use oriole_ir::RegInfo;
use oriole_ir::diagnostics::counted;
use oriole_ir::ops::{FieldValue, FieldValues, OpRow, Opcode, Type};

/// Where a value goes: its type, and whether it becomes the whole register.
#[derive(Clone, Copy)]
struct Place {
    ty: Option<Type>,
    copy: bool,
}

/// Opcode, fields, the captured ones, and from which slot to which those are copied.
type OperationHead = (Opcode, FieldValues, Option<usize>, Vec<(usize, usize)>);

impl Resolver<'_> {
    pub(super) fn results(&mut self) -> Resolved<()> {
        let decl = self.decl;
        for bound in &decl.lets {
            if is_capital(&bound.name.text) || self.capture(&bound.name.text).is_some() || self.is_let(&bound.name.text)
            {
                let message = format!("`{}` cannot be defined here", bound.name.text);
                return Err(fault(bound.name.span, message, "here", "choose a new name in lower case"));
            }
            let Operand::Inst { inst, .. } = &bound.value else {
                let help = "name an operation; operands and constants have names";
                return Err(fault(bound.value.span(), "`let` needs an operation".to_owned(), "here", help));
            };
            let made = self.made(inst)?;
            let value = self.value(&bound.value, Place { ty: made, copy: false }, false)?;
            self.lets.push((bound.name.text.clone(), made.map(Type::bits)));
            self.instance.lets.push(value);
        }
        let pattern = self.instance.pattern().clone();
        let (row, fields) = (pattern.opcode.row(), pattern.some_fields());
        if decl.results.len() != row.dsts.len() && is_pure(pattern.opcode) && !self.has_both_results(row)? {
            let message =
                format!("`{}` has {}, not {}", row.name, counted(row.dsts.len(), "result"), decl.results.len());
            let span = decl.results.first().map_or(decl.span, Operand::span);
            return Err(fault(span, message, "here", "write `(a, b)` for two results"));
        }
        self.check_effect(pattern.opcode)?;
        for (index, result) in decl.results.iter().enumerate() {
            let ty = row.dsts.get(index).and_then(|shape| place_type(pattern.opcode, &fields, *shape));
            let value = self.value(result, Place { ty, copy: true }, true)?;
            self.instance.results.push(value);
        }
        self.check_lets()
    }

    /// Whether the result is one operation that has all the destinations of the root.
    fn has_both_results(&self, row: &OpRow) -> Resolved<bool> {
        let [Operand::Inst { inst, .. }] = self.decl.results.as_slice() else { return Ok(false) };
        let made = self.operation_head(&inst.head)?.0;
        Ok(is_pure(made) && made.row().dsts == row.dsts)
    }

    fn is_let(&self, name: &str) -> bool {
        self.lets.iter().any(|(known, _)| known == name)
    }

    /// A root with an effect becomes one operation with the same kind of effect and the same results; or without
    /// results, where nothing reads them.
    fn check_effect(&self, root: Opcode) -> Resolved<()> {
        if is_pure(root) {
            return Ok(());
        }
        let made = match self.decl.results.as_slice() {
            [Operand::Inst { inst, .. }] => Some(self.operation_head(&inst.head)?.0.row()),
            _ => None,
        };
        let unused = self.instance.conditions.contains(&Condition::Unused);
        let row = root.row();
        if made.is_some_and(|made| made.flags == row.flags && made.dsts == row.dsts) {
            return Ok(());
        }
        if made.is_some_and(|made| made.flags == row.flags && made.dsts.is_empty()) {
            if unused {
                return Ok(());
            }
            let span = self.decl.results.first().map_or(self.decl.span, Operand::span);
            let message = format!("the result of `{}` is lost", row.name);
            return Err(fault(span, message, "this has none", "add the guard `unused()`: nothing reads the result"));
        }
        let span = self.decl.results.first().map_or(self.decl.span, Operand::span);
        let message = format!("`{}` has an effect that the result does not have", root.row().name);
        Err(fault(
            span,
            message,
            "here",
            "the result must be one operation with the same effect, such as the same with other operands",
        ))
    }

    fn check_lets(&self) -> Resolved<()> {
        for (index, bound) in self.decl.lets.iter().enumerate() {
            let used = |value: &Value| uses_let(value, index);
            if !self.instance.results.iter().chain(&self.instance.lets).any(used) {
                let message = format!("`{}` is not used", bound.name.text);
                return Err(fault(bound.name.span, message, "here", "leave it out"));
            }
        }
        Ok(())
    }

    fn made(&self, inst: &Inst) -> Resolved<Option<Type>> {
        let (opcode, fields, ..) = self.operation_head(&inst.head)?;
        Ok(opcode.row().dsts.first().and_then(|shape| place_type(opcode, &fields, *shape)))
    }

    pub(super) fn operation_head(&self, head: &Head) -> Resolved<OperationHead> {
        let Written { opcode, values } = self.written(head)?;
        let row = opcode.row();
        let mut fields = row.default_fields();
        for (slot, mask) in values.iter().enumerate() {
            if let Some(mask) = mask {
                // A mask of several values is a pattern that matches any of them; a result must name one.
                if mask.count_ones() != 1 {
                    let message = "a result has one type, and this is any of two".to_owned();
                    return Err(fault(
                        head.span,
                        message,
                        "here",
                        "`int(T)` is for patterns: write signed(T) or unsigned(T)",
                    ));
                }
                fields.0[slot] = mask.trailing_zeros() as u8;
            }
        }
        let Some(name) = &head.rest else { return Ok((opcode, fields, None, Vec::new())) };
        let Some(rest) = self.instance.rests.iter().position(|rest| rest.name == name.text) else {
            let help = "capture fields with `{F}` in the pattern; `{_}` captures nothing";
            return Err(fault(name.span, format!("`{}` captures no fields", name.text), "here", help));
        };
        // Written fields win over captured ones of the same name; every captured field needs a slot.
        let (copied, missing) = self.copied(rest, opcode, &values);
        if let Some(missing) = missing {
            let message = format!("`{}` has no place for the captured {missing}", row.name);
            return Err(fault(
                name.span,
                message,
                "here",
                "write this field in the pattern, so that it is not captured",
            ));
        }
        // The fields must now be complete: a field without a default is either written or captured.
        let filled = |slot: &usize| values[*slot].is_some() || copied.iter().any(|(to, _)| to == slot);
        if let Some(slot) = (0..row.fields.len()).find(|slot| row.fields[*slot].default.is_none() && !filled(slot)) {
            let message = format!(
                "`{}` needs a {}, which `{}` did not capture",
                row.name,
                row.fields[slot].field.name(),
                name.text
            );
            return Err(fault(
                head.span,
                message,
                "here",
                format!("it takes {}", super::head::legal_names(&row.fields[slot])),
            ));
        }
        Ok((opcode, fields, Some(rest), copied))
    }

    /// Which captured fields go to which slots, and the first that has none.
    fn copied(
        &self,
        rest: usize,
        opcode: Opcode,
        values: &[Option<u64>],
    ) -> (Vec<(usize, usize)>, Option<&'static str>) {
        let (rest, row) = (&self.instance.rests[rest], opcode.row());
        let from_row = rest.opcode.row();
        let mut copied = Vec::new();
        for (from, spec) in from_row.fields.iter().enumerate().filter(|(slot, _)| rest.slots >> slot & 1 == 1) {
            match row.slot(spec.field) {
                Some(to) if values[to].is_none() => copied.push((to, from)),
                Some(_) => {}
                None => return (copied, Some(spec.field.name())),
            }
        }
        (copied, None)
    }

    fn value(&mut self, operand: &Operand, place: Place, root: bool) -> Resolved<Value> {
        match operand {
            Operand::Wildcard(span) => Err(fault(*span, "a result cannot be `_`".to_owned(), "here", "name a value")),
            Operand::Inst { binding: None, shared: false, inst } => {
                self.fits(self.made(inst)?, place, inst.span)?;
                self.operation(inst, root)
            }
            Operand::Inst { inst, .. } => {
                let help = "`&` and `@` are for patterns; `let t = …;` names a value of the result";
                Err(fault(inst.span, "a result is not matched".to_owned(), "here", help))
            }
            Operand::Word { word, of, span } => self.word(*word, of, *span, place),
            Operand::Expr(expr) => match lone_name(expr) {
                Some(name) if is_plain(&name.text) => match self.lets.iter().position(|(known, _)| *known == name.text)
                {
                    Some(bound) => Ok(Value::Let(bound)),
                    None => {
                        let capture = self.used(name)?;
                        self.captured(capture, name.span, place)
                    }
                },
                _ => {
                    let Some(ty) = place.ty else {
                        let message = "the width of this constant cannot be inferred".to_owned();
                        return Err(fault(expr.span(), message, "here", "its place takes any width"));
                    };
                    self.sign_extended(place, expr.span())?;
                    self.constant(expr, ty.bits()).map(Value::Constant)
                }
            },
        }
    }

    fn captured(&mut self, capture: usize, span: Span, place: Place) -> Resolved<Value> {
        let known = &self.instance.captures[capture];
        self.fits(known.ty, place, span)?;
        self.sign_extended(place, span)?;
        let read = place.ty.map_or(0, Type::bits);
        let register = if read > 32 { 64 } else { 32 };
        // A copy takes the whole register, an operation the bits of its type.
        let needed = if place.copy && read > 1 { register } else { read };
        if known.bits != 0 && known.bits < needed {
            let condition = Condition::Extended(capture, known.bits);
            if !self.instance.conditions.contains(&condition) {
                self.instance.conditions.push(condition);
            }
        }
        Ok(Value::Capture(capture))
    }

    fn word(&mut self, word: u8, of: &Operand, span: Span, place: Place) -> Resolved<Value> {
        self.fits(Some(Type::B32), place, span)?;
        let name = match of {
            Operand::Expr(expr) => lone_name(expr).filter(|name| is_plain(&name.text)),
            _ => None,
        };
        let Some(name) = name else {
            return Err(fault(span, "only captured values have words here".to_owned(), "here", "write `lo(x)`"));
        };
        let capture = self.used(name)?;
        match self.instance.captures[capture].ty.map(Type::bits) {
            Some(64) => Ok(Value::Word(word, capture)),
            _ => {
                Err(fault(span, format!("`{}` has no 64 bits", name.text), "here", "only 64-bit values have two words"))
            }
        }
    }

    fn fits(&self, made: Option<Type>, place: Place, span: Span) -> Resolved<()> {
        match (made, place.ty) {
            (Some(made), Some(read)) if RegInfo::of(made) != RegInfo::of(read) => {
                let message = format!("a value of type {} stands where {} is needed", made.name(), read.name());
                Err(fault(span, message, "here", "their registers have different widths: convert it"))
            }
            _ => Ok(()),
        }
    }

    /// Conversions to narrow signed types are the only operations that sign-extend: nothing else takes their place.
    fn sign_extended(&self, place: Place, span: Span) -> Resolved<()> {
        let narrow = place.ty.is_some_and(|ty| ty.is_signed() && ty.bits() < 32);
        if place.copy && narrow && self.instance.pattern().opcode == Opcode::Cvt {
            let help = "the result of a conversion to this type is sign-extended: convert, or leave the type out";
            return Err(fault(span, "a copy is not sign-extended".to_owned(), "here", help));
        }
        Ok(())
    }

    /// Whether an operation, as the only result, has the root's destinations or its effect.
    fn takes_over(&self, row: &OpRow) -> bool {
        let root = self.instance.pattern().opcode.row();
        let pure = is_pure(row.opcode) && is_pure(root.opcode) && row.dsts == root.dsts;
        self.decl.results.len() == 1 && (pure || row.flags == root.flags)
    }

    fn operation(&mut self, inst: &Inst, root: bool) -> Resolved<Value> {
        let (opcode, fields, rest, copied) = self.operation_head(&inst.head)?;
        let row = opcode.row();
        check_legal(row, inst, root && self.takes_over(row))?;
        if rest.is_none() {
            broken(opcode, &fields, inst.head.span)?;
        }
        if inst.operands.len() != row.srcs.len() {
            let message =
                format!("`{}` has {}, not {}", row.name, counted(row.srcs.len(), "operand"), inst.operands.len());
            return Err(fault(inst.span, message, "here", row.doc));
        }
        let mut srcs = Vec::new();
        for (operand, shape) in inst.operands.iter().zip(row.srcs) {
            let ty = place_type(opcode, &fields, *shape);
            srcs.push(self.value(operand, Place { ty, copy: false }, false)?);
        }
        Ok(Value::Op(Box::new(Operation { opcode, fields, rest, copied, srcs })))
    }
}

/// Whether a name alone is an operand of a result and not a constant.
fn is_plain(name: &str) -> bool {
    !is_capital(name) && !is_reserved(name)
}

fn uses_let(value: &Value, index: usize) -> bool {
    match value {
        Value::Let(used) => *used == index,
        Value::Op(operation) => operation.srcs.iter().any(|src| uses_let(src, index)),
        _ => false,
    }
}
