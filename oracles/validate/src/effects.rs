//! Roots that do more than compute registers, as far as terms can say something of them: whether operands and addresses
//! are the same. Everything else is executed ([`super::kernel`]).

use oriole_ir::ops::{CvtaDirection, Field, FieldValues, Flags, Opcode, Shape, Space, Type};
use oriole_rules::Instance;
use oriole_rules::instance::Value;

use super::translate::{Absence, Place, Translation};
use oriole_interp::{WINDOW, generic_window};
use oriole_proof::Term;

/// Fields that order memory accesses between threads, or say which threads come together: the interpreter ignores them.
const ORDERING: &[Field] =
    &[Field::Order, Field::Scope, Field::FenceKind, Field::Restriction, Field::NonCoherent, Field::Aligned];
/// Cache operations that say more than where data is kept: fetch again, write through, forget afterwards.
const COHERENT: &[&str] = &["cv", "wt", "lu"];
/// Fields that change no result.
const HINTS: &[Field] = &[Field::CacheOp, Field::EvictL1, Field::PrefetchSize, Field::PrefetchLevel];

/// Why executing an instance's kernels shows nothing of its root's effect, or of its result's.
pub(super) fn unmodelled(instance: &Instance) -> Option<&'static str> {
    let made = instance.results.iter().filter_map(|value| match value {
        Value::Op(operation) => Some(operation.opcode),
        _ => None,
    });
    let root = instance.pattern().opcode;
    [root].into_iter().chain(made).filter(|_| !root.is(Flags::PURE)).find_map(|opcode| {
        let is_seen = [Flags::READS, Flags::WRITES, Flags::CONVERGENT].iter().any(|flag| opcode.is(*flag));
        match opcode {
            Opcode::Ldu => Some("`ldu` wants one address in all threads of a warp, and the interpreter does not ask"),
            _ if !is_seen => Some("the interpreter takes it to do nothing"),
            _ => None,
        }
    })
}

impl Translation<'_> {
    /// The operands of a result that is the root's own operation, hints aside; nothing where it is another one.
    pub(super) fn same_operation(&mut self, fields: &FieldValues) -> Result<Option<Vec<Term>>, Absence> {
        let instance = self.variant.instance;
        let [Value::Op(operation)] = instance.results.as_slice() else { return Err(Absence::Function) };
        let after = self.variant.result_fields(operation).ok_or(Absence::Fields)?;
        let operands = self.operands(operation, &after)?;
        let (from, to) = (instance.pattern().opcode, operation.opcode);
        let value = |opcode: Opcode, fields: &FieldValues, field: Field| {
            opcode.row().slot(field).map_or("", |slot| field.value_name(fields.0[slot]))
        };
        let differs = |field: &Field| value(from, fields, *field) != value(to, &after, *field);
        if let Some(field) = ORDERING.iter().find(|field| differs(field)) {
            return Err(Absence::Order(field.name()));
        }
        let caches = [value(from, fields, Field::CacheOp), value(to, &after, Field::CacheOp)];
        if differs(&Field::CacheOp) && caches.iter().any(|one| COHERENT.contains(one)) {
            return Err(Absence::Order(Field::CacheOp.name()));
        }
        let all = from.row().fields.iter().map(|spec| spec.field);
        let same = from == to && all.filter(|field| !HINTS.contains(field)).all(|field| !differs(&field));
        Ok(same.then_some(operands))
    }

    /// Operands, with addresses in place of bases and offsets. The offsets of 32-bit addresses wrap there.
    pub(super) fn accessed(&mut self, opcode: Opcode, operands: &[Term]) -> Vec<Term> {
        let shapes = opcode.row().srcs;
        let mut accessed = Vec::with_capacity(operands.len());
        for (index, (operand, shape)) in operands.iter().zip(shapes).enumerate() {
            match shape {
                Shape::Offset => {}
                Shape::Base if shapes.get(index + 1) == Some(&Shape::Offset) => {
                    let offset = self.terms.fit(operands[index + 1], self.terms.width(*operand));
                    accessed.push(self.terms.add(*operand, offset));
                }
                _ => accessed.push(*operand),
            }
        }
        accessed
    }

    /// What the interpreter takes the conversion of an address to a generic one to be, and in a pattern that of a
    /// generic one to global memory: the address itself, which is one choice of what is undefined inside the windows.
    pub(super) fn converted(&mut self, fields: &FieldValues, operands: &[Term], place: Place) -> Option<Term> {
        let row = Opcode::Cvta.row();
        let (&[address], Type::U64) = (operands, row.value::<Type>(fields)?) else { return None };
        let space = row.value::<Space>(fields)?;
        let to_generic = row.value::<CvtaDirection>(fields)? == CvtaDirection::ToGeneric;
        if !to_generic && (space != Space::Global || place == Place::Result) {
            return None;
        }
        let address = self.terms.fit(address, 64);
        let window = generic_window(space)?;
        if window == 0 {
            return Some(address);
        }
        let mask = self.terms.constant(u128::from(WINDOW - 1), 64);
        let within = self.terms.and(address, mask);
        let window = self.terms.constant(u128::from(window), 64);
        Some(self.terms.add(window, within))
    }
}
