//! Loads of what a store has just left read the stored value. The facts are those of
//! [`oriole_pass::analysis::StoredValues`], which holds for each load the one store that it reads, if memory SSA proves
//! it.

use super::eligibility::{Class, class};
use super::facts::Facts;
use super::scoped::Scope;
use cranelift_entity::EntitySet;
use oriole_ir::ops::{FieldValue, FieldValues, Opcode, SrcType, Type};
use oriole_ir::{Function, Inst, Operand};
use oriole_pass::edit::values::become_parts;
use oriole_pass::pass::{Changed, PhaseContext};
use oriole_pass::peephole::rewrite::mov_fields;

/// What a forwarded store is counted as.
const FORWARD: &str = "access:forward-store";

/// Forwards to all loads but those that are closed, from stores in a scope.
pub(super) fn run(
    func: &mut Function,
    cx: &mut PhaseContext<'_>,
    facts: &Facts,
    scope: Scope,
    closed: &EntitySet<Inst>,
) -> Changed {
    let mut changed = Changed::No;
    for load in facts.stored.loads() {
        let store = facts.stored.store(load).and_then(|store| func.block_of(store));
        let near = scope == Scope::Dominators || store == func.block_of(load);
        let open = near && !closed.contains(load) && class(func, load, cx.target) == Some(Class::Load);
        let Some(forwarded) = open.then(|| Forwarded::of(func, facts, load)).flatten() else { continue };
        if !cx.rewrite(FORWARD) {
            return changed;
        }
        forwarded.replace(func, load);
        changed = Changed::Yes;
    }
    changed
}

/// What a load's results are.
struct Forwarded(Vec<Operand>);

impl Forwarded {
    fn of(func: &Function, facts: &Facts, load: Inst) -> Option<Forwarded> {
        let values = (0..func.dsts(load).len()).map(|index| {
            let value = facts.stored.read_by(func, load, index)?;
            let kind = func.operand_info(func.dsts(load)[index])?;
            let fits = match value {
                // What is stored undefined is one value in memory, and would be another at each read here.
                Operand::Reg(_) | Operand::Word(..) => func.operand_info(value) == Some(kind),
                operand => operand.is_imm(),
            };
            fits.then_some(value)
        });
        values.collect::<Option<Vec<Operand>>>().map(Forwarded)
    }

    fn replace(self, func: &mut Function, load: Inst) {
        let (ty, guard, elses) = (func.inst(load).ty(), func.inst(load).guard, func.elses(load).to_vec());
        let values: Vec<Operand> = self.0.iter().map(|value| extended(func, *value, ty)).collect();
        let parts: Vec<_> = values.iter().map(|value| operation(*value, ty)).collect();
        become_parts(func, load, guard, &parts, &values, &elses);
    }
}

/// A constant as a load of a type extends it to its register; what is no constant stays.
fn extended(func: &mut Function, value: Operand, ty: Type) -> Operand {
    let Operand::Imm(imm) = value else { return value };
    let unused = 64 - ty.bits();
    match func.bits(imm) << unused {
        bits if ty.is_signed() && ty.bits() < 32 => Operand::imm((bits as i64 >> unused) as u32),
        bits => func.imm(bits >> unused),
    }
}

/// The operation that yields what a load of a type reads of a stored value: where the type is narrower than a register,
/// one that extends it.
fn operation(value: Operand, ty: Type) -> (Opcode, FieldValues) {
    let narrow = Type::integer(ty.bits(), ty.is_signed()).filter(|ty| ty.bits() < 32 && !value.is_imm());
    let Some(narrow) = narrow else {
        let raw = if ty.bits() > 32 { Type::B64 } else { Type::B32 };
        return (Opcode::Mov, mov_fields(raw));
    };
    let row = Opcode::Cvt.row();
    let mut fields = row.default_fields();
    let wide = if ty.is_signed() { Type::S32 } else { Type::U32 };
    for (field, ty) in [(Type::FIELD, wide), (SrcType::FIELD, narrow)] {
        row.slot(field).into_iter().for_each(|slot| fields.0[slot] = ty.index());
    }
    (Opcode::Cvt, fields)
}
