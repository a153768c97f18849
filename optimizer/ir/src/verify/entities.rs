//! First step: everything that is named exists, and the layout is a list of different blocks of different instructions.

use cranelift_entity::EntityRef;

use super::{Checker, Rule};
use crate::diagnostics::counted;
use crate::{Block, Form, Inst, Operand, PhysicalReg, RegFile, SymbolRef};

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
        if self.func.form == Form::Physical {
            let machine = self.func.has_physical_registers();
            return self.expect(machine, Rule::PhysicalRegister, || "the registers are not the machine's".into());
        }
        for (reg, info) in self.func.regs() {
            let widest = if matches!(info.file, RegFile::R | RegFile::UR) { 4 } else { 1 };
            let fits = (1..=widest).contains(&info.words);
            self.expect(fits, Rule::RegisterWidth, || {
                format!("register {} has {}", reg.as_u32(), counted(info.words, "word"))
            });
        }
    }

    fn layout(&mut self) -> Vec<bool> {
        let mut in_layout = vec![false; self.func.blocks().len()];
        for block in self.func.layout() {
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
        let mut placed = vec![false; self.func.insts().len()];
        let mut owned = vec![false; self.func.operand_count()];
        for block in self.func.layout() {
            self.block = Some(*block);
            self.block_list(*block, &mut placed, &mut owned);
            self.inst = None;
        }
        self.block = None;
    }

    /// Walks a block's list as far as it can be trusted. `placed`: the instructions that were met so far, `owned`: the
    /// places of their operands.
    fn block_list(&mut self, block: Block, placed: &mut [bool], owned: &mut [bool]) {
        let func = self.func;
        let (mut count, mut last) = (0, None);
        for inst in func.block_insts(block) {
            self.inst = None;
            let Some(seen) = placed.get_mut(inst.index()) else {
                return self.expect(false, Rule::Entity, || format!("`{inst}` is no instruction"));
            };
            let again = std::mem::replace(seen, true);
            self.inst = Some(inst);
            if again {
                // The list may run in a circle from here.
                return self.expect(false, Rule::InstOnce, || format!("`{inst}` stands in two places"));
            }
            let linked = func.is_linked(block, last, inst);
            self.expect(linked, Rule::BlockList, || format!("`{inst}` does not know its place"));
            self.operands_exist(inst, owned);
            (count, last) = (count + 1, Some(inst));
        }
        self.inst = None;
        let whole = func.ends_with(block, count, last);
        self.expect(whole, Rule::BlockList, || "the block does not end where its list does".into());
    }

    fn operands_exist(&mut self, inst: Inst, owned: &mut [bool]) {
        let func = self.func;
        let places = func.operand_places(inst);
        // Operands are added together, so instructions share all of them or none.
        let shared = !places.is_empty() && std::mem::replace(&mut owned[places.start], true);
        self.expect(!shared, Rule::InstOnce, || format!("`{inst}` shares its operands with another"));
        let guard = func.inst(inst).guard.map(|guard| Operand::Reg(guard.reg()));
        for operand in func.dsts(inst).iter().chain(func.inputs(inst)).copied().chain(guard) {
            self.expect(self.exists(operand), Rule::Entity, || format!("{operand:?} does not exist"));
            if let (Some(reg), Form::Physical) = (operand.reg(), func.form) {
                let aligned = PhysicalReg::of(reg).is_none_or(PhysicalReg::is_aligned);
                self.expect(aligned, Rule::PhysicalRegister, || "a register of several words is not aligned".into());
                let wired = PhysicalReg::of(reg).is_some_and(PhysicalReg::is_constant);
                let is_guard = Some(operand) == guard;
                let message = || "a wired register is an operand of its own".into();
                self.expect(!wired || is_guard, Rule::PhysicalRegister, message);
            }
        }
    }

    /// Whether what an operand names lies in its arena; symbols count as existing where there is no module.
    fn exists(&self, operand: Operand) -> bool {
        match operand {
            Operand::Reg(reg) | Operand::Word(reg, _) | Operand::Modified { reg, .. } => self.func.regs().is_valid(reg),
            Operand::Block(block) => self.func.blocks().is_valid(block),
            Operand::Local(local) => self.func.locals.is_valid(local),
            Operand::Global(id) => self.symbol_exists(SymbolRef::Global(id)),
            Operand::Func(id) => self.symbol_exists(SymbolRef::Func(id)),
            Operand::Imm(imm) => self.func.known_bits(imm).is_some(),
            Operand::Name(name) => self.func.names.get(name).is_some(),
            Operand::Wired { file, words, .. } => {
                PhysicalReg::wired(file, words).is_some() && (1..=PhysicalReg::widest(file)).contains(&words)
            }
            Operand::Special(_) | Operand::Const { .. } | Operand::Undef => true,
        }
    }

    pub(super) fn symbol_exists(&self, symbol: SymbolRef) -> bool {
        self.module.is_none_or(|module| super::variables::symbol_exists(module, symbol))
    }
}
