//! Left-hand sides of rules whose roots access memory, or bring threads together.
//!
//! An access stays within a region of its own thread: the pattern of its address is made twice. The first time the
//! register that it starts from is zero, which shows what the pattern adds; the second time it is what leads to the
//! region. So only addresses that are sums are made. Collectives and barriers stand where all threads come, and are for
//! all of them: no threads race, and none waits for one that does not come.

use oriole_ir::ops::{FieldValues, Flags, Opcode, Shape, Space, Type, Vector};
use oriole_ir::{InstBuilder, Operand, Reg, RegInfo};
use oriole_rules::Rule;
use oriole_rules::instance::{Condition, Pattern, Source};

use super::super::builder::Builder;
use super::super::insts::{Family, result_info};
use super::super::memory::access_bytes;
use super::super::sync::ALL_LANES;
use super::Making;

/// Operations that addresses are made by: what they yield is the sum of a pointer and something else.
const SUMS: &[Opcode] = &[Opcode::IAdd, Opcode::ISub, Opcode::Cvta];

/// Whether left sides of a rule are made.
pub(super) fn is_made(rule: &Rule) -> bool {
    let row = rule.instances()[0].pattern().opcode.row();
    match Family::of(row) {
        Family::Plain | Family::Collective => true,
        Family::Memory => row.srcs.starts_with(&[Shape::Base, Shape::Offset]) && row.opcode != Opcode::CpAsync,
        Family::Barrier => !matches!(row.opcode, Opcode::BarArrive | Opcode::ClusterArrive | Opcode::ClusterWait),
        Family::Special
        | Family::Matrix
        | Family::Warpgroup
        | Family::Mbarrier
        | Family::Image
        | Family::Effect
        | Family::Control => false,
    }
}

impl Builder<'_, '_> {
    /// The operations of a pattern whose root does more than compute; nothing where the code at hand has no place for
    /// them.
    pub(super) fn effect_pattern(&mut self, pattern: &Pattern, making: &mut Making<'_>) -> Option<()> {
        let row = pattern.opcode.row();
        if row.flags.has(Flags::CONVERGENT) && !self.flow.uniform {
            return None;
        }
        let fields = self.own_fields(pattern, making)?;
        if row.value::<Vector>(&fields).is_some_and(|vector| vector.len() > 1) {
            return None;
        }
        let known = match Family::of(row) {
            Family::Memory => self.address_within(pattern, &fields, making)?,
            _ => self.threads_together(pattern, making)?,
        };
        let srcs = self.sources_of(pattern, &fields, making, &known)?;
        if making.instance.conditions.contains(&Condition::Unused) {
            self.unread(pattern.opcode, fields, &srcs);
        } else {
            let guard = if row.flags.has(Flags::CONVERGENT) { None } else { self.guard() };
            self.operation_under(guard, pattern.opcode, fields, &srcs);
        }
        Some(())
    }

    /// An operation whose results nothing reads.
    fn unread(&mut self, opcode: Opcode, fields: FieldValues, srcs: &[Operand]) {
        let mut inst = InstBuilder::new(opcode).fields(fields).srcs(srcs.iter().copied());
        for shape in opcode.row().dsts {
            inst = inst.dst(self.func.new_reg(result_info(opcode.row(), &fields, *shape, srcs.len())));
        }
        self.push(&inst);
    }

    /// Base and offset of an access within a region.
    fn address_within(
        &mut self,
        pattern: &Pattern,
        fields: &FieldValues,
        making: &mut Making<'_>,
    ) -> Option<Vec<Option<Operand>>> {
        let row = pattern.opcode.row();
        let offset = match &pattern.srcs[1] {
            Source::Constant(capture) => making.choice.constants[*capture]?,
            Source::Equals(expr) => making.choice.value(expr)?,
            _ => 0,
        };
        i32::try_from(offset as i64).ok()?;
        let region = self.region_for(row, fields).filter(|region| region.space != Space::Param)?;
        let (place, within) = self.address(region, access_bytes(row, fields));
        let place = match place {
            Operand::Reg(reg) => reg,
            symbol => self.hidden(Self::typed(Opcode::Mov, Type::B64).src(symbol), RegInfo::words(2)),
        };
        let distance = self.func.imm_bits(within)?.wrapping_sub(offset);
        let start = self.hidden(Self::typed(Opcode::IAdd, Type::U64).src(place).src(distance), RegInfo::words(2));
        let base = self.leading_to(start, &pattern.srcs[0], making)?;
        Some(vec![Some(base), Some(self.func.imm(offset))])
    }

    /// A pattern of an address that yields this one.
    fn leading_to(&mut self, address: Reg, base: &Source, making: &mut Making<'_>) -> Option<Operand> {
        let inner = match base {
            Source::Inst(inner) => inner,
            Source::Capture(capture) => {
                making.operands[*capture] = Some(Operand::Reg(address));
                return Some(Operand::Reg(address));
            }
            Source::Any => return Some(Operand::Reg(address)),
            _ => return None,
        };
        let pointer = pointer(inner)?;
        // Both times the same constants.
        let (miss, first) = (making.miss.take(), making.at);
        let info = RegInfo::words(2);
        let zero = self.hidden(Self::typed(Opcode::Mov, Type::B64).src(Operand::imm(0)), info);
        making.operands[pointer] = Some(Operand::Reg(zero));
        let added = self.inside(inner, making)?.whole_reg()?;
        if self.info(added) != info {
            return None;
        }
        let from = self.hidden(Self::typed(Opcode::ISub, Type::U64).src(address).src(added), info);
        making.operands[pointer] = Some(Operand::Reg(from));
        making.at = first;
        let made = self.inside(inner, making);
        making.miss = miss;
        made
    }

    /// Operands of a collective or a barrier that say which threads take part.
    fn threads_together(&mut self, pattern: &Pattern, making: &mut Making<'_>) -> Option<Vec<Option<Operand>>> {
        let mut known = vec![None; pattern.srcs.len()];
        if pattern.opcode.is(Flags::CTA_BARRIER) {
            known[0] = Some(made_for(pattern.srcs.first()?, 0..16, making)?);
            known[1] = Some(made_for(pattern.srcs.get(1)?, 0..1, making)?);
        } else if let Some(members) = pattern.srcs.last().filter(|_| pattern.opcode.is(Flags::CONVERGENT)) {
            let all = u64::from(u32::MAX);
            *known.last_mut()? = Some(made_for(members, all..all + 1, making)?);
            debug_assert_eq!(known.last(), Some(&Some(ALL_LANES)));
        }
        Some(known)
    }
}

/// The first of these numbers where a capture stands, or the number of the pattern where it is one of them.
fn made_for(source: &Source, numbers: std::ops::Range<u64>, making: &mut Making<'_>) -> Option<Operand> {
    let number = match source {
        Source::Equals(expr) => making.choice.value(expr).filter(|value| numbers.contains(value))?,
        Source::Any | Source::Capture(_) | Source::Constant(_) => numbers.start,
        Source::Inst(_) | Source::Word(..) => return None,
    };
    let operand = Operand::imm(u32::try_from(number).ok()?);
    if let Source::Capture(capture) = source {
        making.operands[*capture] = Some(operand);
    }
    Some(operand)
}

/// The register that a pattern of an address starts from.
fn pointer(pattern: &Pattern) -> Option<usize> {
    let first = pattern.srcs.first().filter(|_| SUMS.contains(&pattern.opcode))?;
    match first {
        Source::Capture(capture) => Some(*capture),
        Source::Inst(inner) => pointer(inner),
        _ => None,
    }
}
