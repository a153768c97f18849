//! Control flow, and instructions that PTX names without an opcode of the table.
//!
//! A terminator is never guarded in the IR: `@p bra a` is a `cbra` to `a` or to a new block behind it, and any
//! other guarded terminator is in a block of its own that a `cbra` goes to.

use super::body::BodyLowering;
use super::operand::describe;
use crate::ast::{self, OperandKind};
use crate::spelling::MEMBAR_LEVELS;
use oriole_ir::ops::{FenceKind, FieldValue, Opcode, Scope, Type};
use oriole_ir::{Block, Guard, Operand};

impl<'s> BodyLowering<'_, '_, 's> {
    /// Lowers the instructions that are known by their base name alone, which succeeds or not; `None` for all others.
    pub(super) fn lower_by_name(&mut self, inst: &ast::Instruction<'s>) -> Option<Option<()>> {
        let modifiers = &self.body[inst.modifiers];
        let first = modifiers.first().map_or("", |modifier| modifier.text);
        let names_lanes = modifiers.iter().any(|modifier| modifier.text == "sync");
        Some(match inst.opcode.text {
            "mov" => self.lower_mov(inst),
            "bra" => self.lower_branch(inst),
            "brx" => self.lower_indexed_branch(inst),
            "call" => self.lower_call(inst),
            "ret" => self.guarded_terminator(Self::lower_return),
            "exit" => self.guarded_terminator(|lowering| lowering.push(Opcode::Exit, &[], &[])),
            "membar" if first != "proxy" => self.lower_membar(inst, first),
            "vote" | "shfl" if !names_lanes => self.lower_without_sync(inst),
            "createpolicy" => self.lower_cache_policy(inst),
            _ => return self.lower_compound(inst),
        })
    }

    fn lower_membar(&mut self, inst: &ast::Instruction<'s>, level: &str) -> Option<()> {
        let Some((_, scope)) = MEMBAR_LEVELS.iter().find(|(name, _)| *name == level) else {
            let span = inst.mnemonic_span(self.body);
            let help = "write `membar.cta`, `membar.gl` or `membar.sys`";
            self.report(span, "`membar` needs a level".into(), "level missing", help);
            return None;
        };
        let row = Opcode::Fence.row();
        let mut fields = row.default_fields();
        for (field, index) in [(FenceKind::FIELD, FenceKind::Sc.index()), (Scope::FIELD, scope.index())] {
            let slot = row.slot(field)?;
            fields.0[slot] = index;
        }
        self.push_full(Opcode::Fence, fields, self.guard, &[], &[]);
        Some(())
    }

    /// A cache policy is a hint: any value will do.
    fn lower_cache_policy(&mut self, inst: &ast::Instruction<'s>) -> Option<()> {
        let first = self.body[inst.operands].first()?;
        let target = self.destination(first, Type::B64, false)?;
        let fields = super::body::typed(Opcode::Mov, Type::B64);
        self.push_full(Opcode::Mov, fields, self.guard, &[target.reg.into()], &[Operand::imm(0)]);
        Some(())
    }

    fn lower_branch(&mut self, inst: &ast::Instruction<'s>) -> Option<()> {
        let target = match &self.body[inst.operands] {
            [one] => self.target(one)?,
            _ => {
                self.report(inst.span, "`bra` takes one label".into(), "wrong operands", "write `bra label;`");
                return None;
            }
        };
        match self.guard {
            None => self.push(Opcode::Bra, &[], &[target.into()]),
            Some(guard) => {
                let next = self.func.create_block();
                self.conditional(guard, target, next);
                self.place(next);
            }
        }
        Some(())
    }

    fn conditional(&mut self, guard: Guard, taken: Block, other: Block) {
        let (yes, no) = if guard.negated() { (other, taken) } else { (taken, other) };
        self.push(Opcode::CBra, &[], &[guard.reg().into(), yes.into(), no.into()]);
    }

    fn target(&mut self, operand: &ast::Operand<'s>) -> Option<Block> {
        let OperandKind::Name(name) = operand.kind else {
            self.report(
                operand.span,
                "a label is needed here".into(),
                describe(operand.kind),
                "name a label of this function",
            );
            return None;
        };
        let block = self.labels.block(self.scope, name);
        if block.is_none() {
            let message = format!("label `{name}` is not defined");
            self.report(operand.span, message, "unknown label", "define it in this scope or in one around it");
        }
        block
    }

    fn lower_indexed_branch(&mut self, inst: &ast::Instruction<'s>) -> Option<()> {
        let [index, ast::Operand { kind: OperandKind::Name(table), span }] = &self.body[inst.operands] else {
            self.report(
                inst.span,
                "`brx.idx` takes an index and a table".into(),
                "wrong operands",
                "write `brx.idx %r1, table;`",
            );
            return None;
        };
        let Some(targets) = self.labels.table(table) else {
            let message = format!("`{table}` is not a table of branch targets");
            self.report(*span, message, "unknown table", "define it with `.branchtargets`");
            return None;
        };
        let mut srcs = vec![self.value(index, Type::U32, false)?];
        for target in &self.body[targets] {
            srcs.push(self.target(target)?.into());
        }
        self.guarded_terminator(|lowering| lowering.push(Opcode::Brx, &[], &srcs))
    }

    /// Lowers a terminator, in a block of its own where it is guarded.
    fn guarded_terminator(&mut self, lower: impl FnOnce(&mut Self)) -> Option<()> {
        let Some(guard) = self.guard.take() else {
            lower(self);
            return Some(());
        };
        let [taken, next] = [(); 2].map(|()| self.func.create_block());
        self.conditional(guard, taken, next);
        self.place(taken);
        lower(self);
        self.place(next);
        Some(())
    }

    /// `ret`, behind the stores of results that are declared as registers.
    pub(super) fn lower_return(&mut self) {
        for passed in self.register_results.clone() {
            self.store_passed(passed);
        }
        self.push(Opcode::Ret, &[], &[]);
    }
}
