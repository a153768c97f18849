//! One function's body: statements to blocks of instructions.
//!
//! A block begins at each label that a branch names and behind each terminator; the entry block precedes the
//! first label, so that nothing branches to it. Where control falls from one block into the next a `bra` says so,
//! and at the end of the body a `ret`.

use std::collections::HashSet;

use super::Context;
use super::operand::Place;
use super::passed::Passed;
use super::scope::{Entry, Labels, MAX_DEPTH, Registers, Scopes};
use super::select::{Choice, select};
use super::target::{PARAMETER_LISTS, flushed};
use crate::ast::{self, Span, Statement};
use crate::opaque::opaque;
use oriole_ir::ops::{Availability, FieldValue, FieldValues, Flags, Opcode, Space, Type};
use oriole_ir::{self as ir, Block, Function, Guard, Inst, InstHead, Operand, Reg, RegInfo};

/// The state of lowering one body.
pub(super) struct BodyLowering<'c, 'a, 's> {
    pub(super) cx: &'c mut Context<'a, 's>,
    pub(super) item: &'c ast::Function<'s>,
    pub(super) body: &'c ast::Body<'s>,
    pub(super) func: Function,
    pub(super) scopes: Scopes<'s>,
    pub(super) labels: Labels<'s>,
    /// The number of the innermost scope, as [`Labels`] counts them.
    pub(super) scope: u32,
    scope_count: u32,
    /// The block that instructions go to; `None` behind a terminator.
    current: Option<Block>,
    /// The carry flag, once an instruction uses it.
    carry: Option<Reg>,
    /// The guard of the instruction at hand.
    pub(super) guard: Option<Guard>,
    /// Labelled blocks that are in the layout.
    placed: HashSet<Block>,
    local_names: HashSet<String>,
    /// The targets that something needs which the instruction at hand became, where the module's is not among them.
    pub(super) missing: Option<Availability>,
    /// Whether the reason why it is refused was reported before: where what it names is declared, or at another
    /// instruction of its kind.
    pub(super) reported_before: bool,
    /// The results that are registers.
    pub(super) register_results: Vec<Passed>,
}

impl<'c, 'a, 's> BodyLowering<'c, 'a, 's> {
    pub(super) fn new(
        cx: &'c mut Context<'a, 's>,
        item: &'c ast::Function<'s>,
        body: &'c ast::Body<'s>,
        mut func: Function,
    ) -> Self {
        let (labels, duplicates) = Labels::collect(body, || func.create_block());
        for name in duplicates {
            let message = format!("label `{}` is defined twice", name.text);
            cx.report(name.span, message, "second definition", "rename one of the two");
        }
        if (body.span.start as usize) < cx.line_offset {
            (cx.line_offset, cx.line) = (0, 1);
        }
        let current = Some(func.entry());
        let local_names = func.locals.values().map(|local| local.name.clone()).collect();
        BodyLowering {
            cx,
            item,
            body,
            func,
            scopes: Scopes::default(),
            labels,
            scope: 0,
            scope_count: 0,
            current,
            carry: None,
            guard: None,
            placed: HashSet::new(),
            local_names,
            missing: None,
            reported_before: false,
            register_results: Vec::new(),
        }
    }

    pub(super) fn lower(mut self) -> Function {
        self.scopes.open();
        for registers in self.cx.registers.clone() {
            self.scopes.declare_registers(registers);
        }
        self.scopes.open();
        self.move_to_line(self.body.span);
        self.declare_parameters();
        self.scopes.open();
        let body = self.body;
        // Most statements are an instruction, and most instructions one of the IR with the same operands.
        self.func.reserve(body.statements.len(), body.operand_count());
        for statement in &body.statements {
            if self.cx.diagnostics.is_full() || !self.statement(statement) {
                return self.func;
            }
        }
        if self.current.is_some() {
            self.lower_return();
        }
        self.forget_carries();
        self.func
    }

    /// Makes the carry flag undefined behind each call, which does not preserve it (PTX ISA, "Extended-Precision
    /// Integer Arithmetic Instructions").
    fn forget_carries(&mut self) {
        let (Some(carry), func) = (self.carry, &mut self.func) else { return };
        let calls: Vec<Inst> = func.layout_insts().filter(|inst| func.inst(*inst).opcode == Opcode::Call).collect();
        for call in calls {
            let (guard, line) = (func.inst(call).guard, func.inst(call).line);
            let head = InstHead { opcode: Opcode::Mov, fields: typed(Opcode::Mov, Type::Pred), guard, line };
            let forgotten = func.new_inst(head, &[carry.into()], &[Operand::Undef], &[]);
            func.insert_after(call, forgotten);
        }
    }

    /// Lowers a statement; false where it makes no sense to continue.
    fn statement(&mut self, statement: &'c Statement<'s>) -> bool {
        match statement {
            Statement::ScopeStart(span) => return self.open_scope(*span),
            Statement::ScopeEnd(_) => {
                self.scopes.close();
                self.scope = self.labels.parent(self.scope);
            }
            Statement::Label(name) => {
                if let Some(block) = self.labels.block(self.scope, name.text) {
                    self.place(block);
                }
            }
            Statement::Variable(variable) => self.declare(variable),
            Statement::Instruction(inst) => {
                self.move_to_line(inst.span);
                self.instruction(inst);
            }
            Statement::Pragma(name) => self.pragma(name.text),
            Statement::BranchTargets { .. } | Statement::CallTargets { .. } | Statement::CallPrototype(_) => {}
        }
        true
    }

    /// A pragma about the block that it is at the start of; others have no effect (PTX ISA, "Pragma Strings").
    fn pragma(&mut self, text: &str) {
        let starting = self.current.filter(|block| text == "nounroll" && self.func.first_inst(*block).is_none());
        if let Some(block) = starting {
            self.func.set_nounroll(block, true);
        }
    }

    fn open_scope(&mut self, span: Span) -> bool {
        if self.scopes.depth() >= MAX_DEPTH {
            let message = format!("scopes are nested more than {MAX_DEPTH} deep");
            self.cx.report(span, message, "one too many", "use fewer nested braces");
            return false;
        }
        self.scopes.open();
        self.scope_count += 1;
        self.scope = self.scope_count;
        true
    }

    /// Moves the line counter on to a place that lies behind the last one.
    fn move_to_line(&mut self, span: Span) {
        let cx = &mut *self.cx;
        let to = (span.start as usize).clamp(cx.line_offset, cx.source.len());
        let passed = &cx.source.as_bytes()[cx.line_offset..to];
        cx.line += passed.iter().filter(|byte| **byte == b'\n').count() as u32;
        cx.line_offset = to;
    }

    pub(super) fn report(&mut self, span: Span, message: String, label: impl Into<String>, help: impl Into<String>) {
        self.cx.report(span, message, label, help);
    }

    /// Declares a register, a range of them, or a variable of the scope.
    fn declare(&mut self, variable: &'c ast::Variable<'s>) {
        if self.cx.check_reference(variable, false).is_none() {
            self.cx.refused.insert(variable.name.text);
            return;
        }
        let declared = match variable.space {
            ast::Space::Reg => self.scopes.declare_registers(Registers::of(variable)),
            ast::Space::Local => self.declare_local(variable, Space::Local),
            ast::Space::Param => self.declare_local(variable, Space::Param),
            _ => self.hoist(variable),
        };
        if !declared {
            let message = format!("`{}` is declared twice in this scope", variable.name.text);
            self.report(variable.name.span, message, "second declaration", "rename or remove one of the two");
        }
    }

    fn declare_local(&mut self, declared: &ast::Variable<'s>, space: Space) -> bool {
        let Some(mut variable) = self.cx.variable(declared, space) else { return true };
        variable.linkage = ir::Linkage::Internal;
        variable.name = self.unique_local(&variable.name);
        let local = self.func.locals.push(variable);
        if space == Space::Param && self.item.is_entry && self.cx.version < PARAMETER_LISTS {
            self.func.params.push(local);
        }
        self.scopes.declare(declared.name.text, Entry::Local(local))
    }

    /// A name that no variable of the function has: compilers reuse `param0` in every call's scope.
    pub(super) fn unique_local(&mut self, name: &str) -> String {
        let mut unique = name.to_owned();
        let mut number = self.func.locals.len();
        while !self.local_names.insert(unique.clone()) {
            unique = format!("{name}_{number}");
            number += 1;
        }
        unique
    }

    /// A variable of the scope that lives as long as the module: it moves there under a unique name.
    fn hoist(&mut self, declared: &'c ast::Variable<'s>) -> bool {
        let mut name = declared.name.text.to_owned();
        let mut number = self.cx.module.globals.len();
        while self.cx.global_names.contains(&name) || self.cx.symbols.contains_key(name.as_str()) {
            number += 1;
            name = format!("{}_{}_{number}", self.item.name.text, declared.name.text);
        }
        let shadowed = self.cx.symbols.remove(declared.name.text);
        let id = self.cx.declare_global(declared, &name);
        self.cx.symbols.remove(declared.name.text);
        if let Some(symbol) = shadowed {
            self.cx.symbols.insert(declared.name.text, symbol);
        }
        let Some(id) = id else { return true };
        self.cx.initialise(declared, id);
        self.scopes.declare(declared.name.text, Entry::Symbol(ir::SymbolRef::Global(id)))
    }

    /// Starts `block` here; control falls into it.
    pub(super) fn place(&mut self, block: Block) {
        if self.current.is_some() {
            self.push(Opcode::Bra, &[], &[block.into()]);
        }
        if self.placed.insert(block) {
            self.func.append_block(block);
        }
        self.current = Some(block);
    }

    /// The block that instructions go to: a new one behind a terminator.
    fn block(&mut self) -> Block {
        match self.current {
            Some(block) => block,
            None => {
                let block = self.func.new_block();
                self.current = Some(block);
                block
            }
        }
    }

    /// Appends an instruction without a guard.
    pub(super) fn push(&mut self, opcode: Opcode, dsts: &[Operand], srcs: &[Operand]) {
        self.push_full(opcode, opcode.row().default_fields(), None, dsts, srcs);
    }

    /// Appends an instruction with a `Type` field and no guard.
    pub(super) fn push_typed(&mut self, opcode: Opcode, ty: Type, dsts: &[Operand], srcs: &[Operand]) {
        self.push_full(opcode, typed(opcode, ty), None, dsts, srcs);
    }

    /// Appends an instruction.
    pub(super) fn push_full(
        &mut self,
        opcode: Opcode,
        fields: FieldValues,
        guard: Option<Guard>,
        dsts: &[Operand],
        srcs: &[Operand],
    ) {
        let block = self.block();
        let missing = self.cx.target.and_then(|target| opcode.row().missing_on(target, &fields));
        self.missing = missing.or(self.missing);
        let inst = self.func.new_inst(InstHead { opcode, fields, guard, line: self.cx.line }, dsts, srcs, &[]);
        self.func.append_inst(block, inst);
        if opcode.is(Flags::TERMINATOR) {
            self.current = None;
        }
    }

    /// A new register for a value of a type.
    pub(super) fn temp(&mut self, ty: Type) -> Reg {
        self.func.new_reg(RegInfo::of(ty))
    }

    /// The carry flag as a predicate.
    pub(super) fn carry(&mut self) -> Reg {
        let func = &mut self.func;
        *self.carry.get_or_insert_with(|| func.new_reg(RegInfo::PRED))
    }

    fn instruction(&mut self, inst: &ast::Instruction<'s>) {
        let faults = self.cx.diagnostics.len();
        self.missing = None;
        self.reported_before = false;
        if self.lower_instruction(inst).is_none() && self.cx.diagnostics.len() == faults && !self.reported_before {
            let help = "check its operands against the PTX ISA";
            self.report(inst.span, format!("`{}` cannot be read", inst.opcode.text), "not understood", help);
        }
        self.check_target(inst);
    }

    /// Reports an instruction that the module's target does not have; ptxas refuses it too.
    fn check_target(&mut self, inst: &ast::Instruction<'s>) {
        let (Some(needed), Some(target)) = (self.missing, self.cx.target) else { return };
        let span = inst.mnemonic_span(self.body);
        let text = self.cx.source.get(span.range()).unwrap_or(inst.opcode.text);
        let message = format!("`{text}` needs {needed}");
        let help = format!("write `.target {}`, or what {target} has", needed.first_name());
        self.report(span, message, format!("the module is for {target}"), help);
    }

    /// Lowers an instruction; `None` after a fault.
    fn lower_instruction(&mut self, inst: &ast::Instruction<'s>) -> Option<()> {
        self.guard = None;
        if let Some(guard) = inst.guard {
            self.guard = Some(self.lower_guard(&guard, inst)?);
        }
        match self.lower_by_name(inst) {
            Some(result) => result,
            None => match self.select(inst)? {
                Choice::Row(selected) => self.lower_selected(inst, selected),
                Choice::Opaque(known) => self.lower_opaque(inst, known),
            },
        }
    }

    /// A guard that the instruction itself writes is copied first: the instruction may become several.
    fn lower_guard(&mut self, guard: &ast::Guard<'s>, inst: &ast::Instruction<'s>) -> Option<Guard> {
        let place = Place { span: guard.predicate.span, ty: Type::Pred, loose: false };
        let operand = self.named_value(guard.predicate.text, place)?;
        let mut reg = operand.whole_reg()?;
        let writes = self.body[inst.operands].first().is_some_and(|first| match first.kind {
            ast::OperandKind::Pair(pair) => {
                self.body[pair].iter().any(|o| o.kind == ast::OperandKind::Name(guard.predicate.text))
            }
            _ => false,
        });
        if writes {
            let copy = self.temp(Type::Pred);
            self.push_typed(Opcode::Mov, Type::Pred, &[copy.into()], &[reg.into()]);
            reg = copy;
        }
        Some(Guard::new(reg, guard.negated))
    }

    /// The row that the instruction's text stands for, looked up once a text. One that fits no row is reported where it
    /// is first.
    fn select(&mut self, inst: &ast::Instruction<'s>) -> Option<Choice> {
        let span = inst.mnemonic_span(self.body);
        let text = self.cx.source.get(span.range()).unwrap_or("");
        match self.cx.selections.get(text) {
            Some(Ok(choice)) => return Some(*choice),
            Some(Err(_)) => {
                self.reported_before = true;
                return None;
            }
            None => {}
        }
        let modifiers: Vec<_> = self.body[inst.modifiers].iter().map(|modifier| modifier.text).collect();
        // What is left of `membar` by now is another word for `fence`.
        let base = if inst.opcode.text == "membar" { "fence" } else { inst.opcode.text };
        let mut selected = select(base, &modifiers, self.cx.version);
        if self.cx.flushes
            && let Ok(selected) = &mut selected
        {
            selected.fields = flushed(selected.opcode.row(), selected.fields);
        }
        let carried =
            |refusal| opaque(self.cx.dialect, inst.opcode.text, &modifiers).map(Choice::Opaque).ok_or(refusal);
        let result = selected.map(Choice::Row).or_else(carried);
        self.cx.selections.insert(text, result.clone());
        match result {
            Ok(choice) => Some(choice),
            Err(refusal) => {
                let whole: String = text.split_whitespace().collect();
                self.report(span, format!("{}: `{whole}`", refusal.message), refusal.label, refusal.help);
                None
            }
        }
    }
}

/// Default fields with this type.
pub(super) fn typed(opcode: Opcode, ty: Type) -> FieldValues {
    let mut fields = opcode.row().default_fields();
    if let Some(slot) = opcode.row().slot(Type::FIELD) {
        fields.0[slot] = ty.index();
    }
    fields
}
