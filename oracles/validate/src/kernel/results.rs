//! What a kernel keeps of a left side: its results, and reads beside the pattern's.

use oriole_ir::ops::{Compare, Opcode, Space, Type};
use oriole_ir::{InstBuilder, Operand, Reg, RegInfo};
use oriole_rules::instance::Condition;

use super::builder::{Builder, SLOT};
use oriole_proof::numbers_of;
use oriole_proof::term::ones;

impl Builder<'_, '_> {
    /// Stores the operands that a condition wants to have other uses.
    pub(super) fn read_again(&mut self, conditions: &[Condition]) {
        for condition in conditions {
            match condition {
                Condition::Any(conditions) => self.read_again(conditions),
                Condition::Not(inner) => {
                    if let Condition::SingleUse(capture) = **inner
                        && let Some(Operand::Reg(reg)) = self.captures[capture]
                    {
                        self.store(reg);
                    }
                }
                _ => {}
            }
        }
    }

    /// The value with all ones in place of every NaN: which of them it is does not matter.
    pub(super) fn with_one_nan(&mut self, reg: Reg, ty: Type) -> Reg {
        let Some((width, last)) = numbers_of(ty) else { return reg };
        let info = self.func.regs()[reg];
        let (bits, number) = if info.words == 2 { (Type::B64, Type::U64) } else { (Type::B32, Type::U32) };
        let mut value = reg;
        for low in (0..ty.bits()).step_by(width as usize) {
            let mask = |width: u32| (ones(width) << low) as u64;
            let magnitude = InstBuilder::new(Opcode::And).field(bits).src(value).src(mask(width - 1));
            let magnitude = self.value(magnitude, info);
            let beyond = InstBuilder::new(Opcode::SetP).field(number).field(Compare::Gt);
            let is_nan = self.value(beyond.src(magnitude).src((last << low) as u64), RegInfo::PRED);
            let nan = InstBuilder::new(Opcode::SelP).field(number).src(mask(width)).src(0u64).src(is_nan);
            let nan = self.value(nan, info);
            value = self.value(InstBuilder::new(Opcode::Or).field(bits).src(value).src(nan), info);
        }
        value
    }

    /// Stores a result.
    pub(super) fn store(&mut self, reg: Reg) {
        let info = self.func.regs()[reg];
        let (value, ty) = match info.words {
            _ if info.is_predicate() => {
                let select = InstBuilder::new(Opcode::SelP).field(Type::U32);
                let select = select.src(Operand::imm(1)).src(Operand::imm(0)).src(reg);
                (self.value(select, RegInfo::words(1)), Type::B32)
            }
            2 => (reg, Type::B64),
            4 => (reg, Type::B128),
            _ => (reg, Type::B32),
        };
        let offset = SLOT * u64::from(self.threads) * self.stored;
        let store = InstBuilder::new(Opcode::St).field(ty).field(Space::Global);
        store.src(self.results).src(offset).src(value).append(&mut self.func, self.block);
        self.stored += 1;
    }
}
