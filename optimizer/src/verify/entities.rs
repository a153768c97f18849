//! First step: everything that is named exists, and the layout is a list of different blocks of different instructions.

use cranelift_entity::EntityRef;

use super::{Checker, Rule};
use crate::ir::{Operand, RegFile, SymbolRef};

impl Checker<'_> {
    /// For each block whether it is in the layout; `None` where looking further could go out of bounds.
    pub(super) fn entities(&mut self) -> Option<Vec<bool>> {
        self.register_widths();
        let in_layout = self.layout();
        if self.violations.is_empty() {
            self.instructions();
        }
        for local in self.func.params.iter().chain(&self.func.returns) {
            self.expect(self.func.locals.is_valid(*local), Rule::Entity, || format!("`{local}` is no variable"));
        }
        self.violations.is_empty().then_some(in_layout)
    }

    fn register_widths(&mut self) {
        for (reg, info) in &self.func.regs {
            let widest = if matches!(info.file, RegFile::R | RegFile::UR) { 4 } else { 1 };
            let fits = (1..=widest).contains(&info.words);
            self.expect(fits, Rule::RegisterWidth, || format!("register {} has {} words", reg.as_u32(), info.words));
        }
    }

    fn layout(&mut self) -> Vec<bool> {
        let mut in_layout = vec![false; self.func.blocks.len()];
        for block in &self.func.layout {
            self.block = Some(*block);
            match in_layout.get_mut(block.index()) {
                None => self.expect(false, Rule::Entity, || format!("`{block}` is in the layout, but no block")),
                Some(seen) => {
                    let again = std::mem::replace(seen, true);
                    self.expect(!again, Rule::LayoutOnce, || format!("`{block}` is in the layout twice"));
                }
            }
        }
        self.block = None;
        in_layout
    }

    fn instructions(&mut self) {
        let mut placed = vec![false; self.func.insts.len()];
        let mut owned = vec![false; self.func.operand_count()];
        for block in &self.func.layout {
            self.block = Some(*block);
            for inst in &self.func.blocks[*block].insts {
                let Some(seen) = placed.get_mut(inst.index()) else {
                    self.expect(false, Rule::Entity, || format!("`{inst}` is no instruction"));
                    continue;
                };
                let again = std::mem::replace(seen, true);
                self.inst = Some(*inst);
                self.expect(!again, Rule::InstOnce, || format!("`{inst}` stands in two places"));
                let places = self.func.operand_places(*inst);
                // Operands are added together, so instructions share all of them or none.
                let shared = !places.is_empty() && std::mem::replace(&mut owned[places.start], true);
                self.expect(!shared || again, Rule::InstOnce, || format!("`{inst}` shares its operands with another"));
                let guard = self.func.insts[*inst].guard.map(|guard| Operand::Reg(guard.reg));
                for operand in self.func.dsts(*inst).iter().chain(self.func.inputs(*inst)).copied().chain(guard) {
                    self.expect(self.exists(operand), Rule::Entity, || format!("{operand:?} does not exist"));
                }
                self.inst = None;
            }
        }
        self.block = None;
    }

    /// Whether what an operand names lies in its arena; symbols count as existing where there is no module.
    fn exists(&self, operand: Operand) -> bool {
        match operand {
            Operand::Reg(reg) | Operand::Word(reg, _) => self.func.regs.is_valid(reg),
            Operand::Block(block) => self.func.blocks.is_valid(block),
            Operand::Local(local) => self.func.locals.is_valid(local),
            Operand::Global(id) => self.symbol_exists(SymbolRef::Global(id)),
            Operand::Func(id) => self.symbol_exists(SymbolRef::Func(id)),
            Operand::Imm(_) | Operand::Special(_) | Operand::Const { .. } | Operand::Undef => true,
        }
    }

    pub(super) fn symbol_exists(&self, symbol: SymbolRef) -> bool {
        self.module.is_none_or(|module| super::variables::symbol_exists(module, symbol))
    }
}
