//! Values that some threads have and others do not: defined on one side of a branch or under a guard, and read where
//! the same predicate holds. No definition dominates such a read in the graph, so SSA construction finds a phi or an
//! `else` with nothing on the other side, and no phase may let that matter.

use oriole_ir::ops::{Opcode, Type};
use oriole_ir::{Guard, Reg, RegInfo};

use super::builder::Builder;

impl Builder<'_, '_> {
    /// A value that exists where a predicate holds, other code, and a read of it.
    pub(super) fn apart(&mut self) {
        let on = self.condition(false);
        let on = self.hidden(Self::typed(Opcode::Mov, Type::Pred).src(on), RegInfo::PRED);
        let guard = Guard::new(on, self.entropy.percent(30));
        let ty = self.entropy.choose(&[Type::U32, Type::U64]);
        let value = self.func.new_reg(RegInfo::of(ty));
        self.where_it_holds(guard, |builder, guard| builder.make_apart(value, ty, guard));
        self.stretch();
        self.where_it_holds(guard, |builder, guard| builder.read_apart(value, ty, guard));
    }

    /// Something under a guard, or in a branch on its predicate.
    fn where_it_holds(&mut self, guard: Guard, what: impl FnOnce(&mut Self, Option<Guard>)) {
        if self.entropy.percent(40) {
            return what(self, Some(guard));
        }
        let [there, join] = self.blocks();
        let targets = if guard.negated() { [join, there] } else { [there, join] };
        self.branch(guard.reg().into(), targets, there);
        self.within(false, 1, |builder| what(builder, None));
        self.jump(join, join);
    }

    fn make_apart(&mut self, value: Reg, ty: Type, guard: Option<Guard>) {
        let sources = [(); 2].map(|()| self.value(ty));
        self.push(&Self::typed(Opcode::IAdd, ty).srcs(sources).dst(value).guard(guard));
    }

    fn read_apart(&mut self, value: Reg, ty: Type, guard: Option<Guard>) {
        let other = self.value(ty);
        let to = self.destination(RegInfo::of(ty), guard.is_some());
        self.push(&Self::typed(Opcode::IMulLo, ty).src(value).src(other).dst(to).guard(guard));
    }
}
