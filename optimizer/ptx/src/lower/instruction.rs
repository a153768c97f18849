//! Instructions that a row of the opcode table describes: the written operands, fitted to the row's shapes.
//!
//! The row's results come first, `a|b` filling two of them and missing ones going to fresh registers; then the
//! sources in order. A few opcodes have operands that PTX leaves out or writes differently; [`BodyLowering::arguments`]
//! brings those into the row's order.

use super::body::{BodyLowering, typed};
use super::operand::{Destination, describe, is_special_vector};
use super::select::Selected;
use super::video::is_video;
use super::warpgroup::is_group_product;
use crate::ast::{self, OperandKind, Span};
use crate::spelling::address_type;
use oriole_ir::diagnostics::counted;
use oriole_ir::ops::{BoolOp, FieldValue, FieldValues, Flags, Matrix, Opcode, Shape, Space, Type};
use oriole_ir::{Operand, RegInfo};

/// The operands of an arrival at a barrier in memory that does not say how often: a state, and the barrier.
const ARRIVE_OPERANDS: usize = 2;
/// The sources of a wait there: the barrier, and a state or a parity.
const WAIT_OPERANDS: usize = 2;

/// A source of an instruction: as written, or implied.
#[derive(Clone, Copy)]
pub(super) enum Argument<'s> {
    Written(ast::Operand<'s>),
    Implied(Operand),
}

/// Whether two results are written, as in `%p1|%p2`.
fn is_pair(operands: &[ast::Operand<'_>]) -> bool {
    matches!(operands.first().map(|operand| operand.kind), Some(OperandKind::Pair(_)))
}

impl<'s> BodyLowering<'_, '_, 's> {
    /// Lowers an instruction by its row. `None` after a fault, which is reported.
    pub(super) fn lower_selected(&mut self, inst: &ast::Instruction<'s>, selected: Selected) -> Option<()> {
        if is_video(selected.opcode) {
            return self.lower_video(inst, selected);
        }
        if selected.opcode.is(Flags::IMAGE) {
            return self.lower_image(inst, selected);
        }
        if is_group_product(selected.opcode) {
            return self.lower_group_product(inst, selected);
        }
        let mut selected = selected;
        let mut operands = &self.body[inst.operands];
        if selected.cache_policy
            && let [rest @ .., _] = operands
        {
            operands = rest;
        }
        if is_pair(operands) && selected.opcode == Opcode::SetP {
            selected = with_two_results(selected);
        }
        if selected.opcode == Opcode::MbarrierArrive && operands.len() > ARRIVE_OPERANDS {
            selected = as_sibling(selected, Opcode::MbarrierArriveCount);
        }
        if selected.opcode == Opcode::MbarrierArriveRemote {
            operands = self.without_sink(operands)?;
        }
        self.lower_operation(inst, selected, operands, None)
    }

    /// Lowers an instruction whose operands have the order of its row. The last source is `implied` where PTX leaves it
    /// out and the row alone does not say what it is.
    pub(super) fn lower_operation(
        &mut self,
        inst: &ast::Instruction<'s>,
        mut selected: Selected,
        operands: &[ast::Operand<'s>],
        implied: Option<Operand>,
    ) -> Option<()> {
        let pair = is_pair(operands);
        let row = selected.opcode.row();
        let written_results = usize::from(!row.dsts.is_empty());
        if operands.len() < written_results {
            return self.wrong_count(inst, written_results, operands.len());
        }
        let (results, sources) = operands.split_at(written_results);
        let mut arguments = self.arguments(inst, &mut selected, sources, pair)?;
        arguments.extend(implied.map(Argument::Implied));
        let loose = selected.opcode.is(Flags::WIDER);
        let mut fields = selected.fields;
        let srcs = self.sources(inst, selected.opcode, &mut fields, &arguments, loose)?;
        let destinations = match results.first() {
            Some(first) => self.results(first, selected, loose)?,
            None => Vec::new(),
        };
        let dsts: Vec<Operand> = destinations.iter().map(|destination| destination.reg.into()).collect();
        self.push_full(selected.opcode, fields, self.guard, &dsts, &srcs);
        for destination in destinations {
            self.finish(destination);
        }
        Some(())
    }

    /// The operands behind `_`, which stands for a state that a barrier of another CTA does not yield.
    fn without_sink<'o>(&mut self, operands: &'o [ast::Operand<'s>]) -> Option<&'o [ast::Operand<'s>]> {
        match operands {
            [] => Some(operands),
            [ast::Operand { kind: OperandKind::Sink, .. }, rest @ ..] => Some(rest),
            [first, ..] => {
                let message = "an arrival at a barrier of the cluster yields no state".to_owned();
                self.report(first.span, message, describe(first.kind), "write `_` in its place");
                None
            }
        }
    }

    pub(super) fn wrong_count<T>(&mut self, inst: &ast::Instruction<'s>, expected: usize, written: usize) -> Option<T> {
        let message = format!("`{}` takes {}, and has {written}", inst.opcode.text, counted(expected, "operand"));
        self.report(inst.span, message, counted(written, "operand"), "add or remove operands");
        None
    }

    /// The registers that take the results.
    pub(super) fn results(
        &mut self,
        first: &ast::Operand<'s>,
        selected: Selected,
        loose: bool,
    ) -> Option<Vec<Destination>> {
        let row = selected.opcode.row();
        let ty = |shape| row.shape_type(&selected.fields, shape).unwrap_or(Type::B32);
        if let [shape @ (Shape::V | Shape::Matrix(_))] = row.dsts {
            let count = row.registers(&selected.fields, *shape);
            return self
                .elements(first, selected.opcode, *shape, count)?
                .iter()
                .map(|o| self.destination(o, ty(*shape), loose))
                .collect();
        }
        let written = match first.kind {
            OperandKind::Pair(pair) => self.body[pair].to_vec(),
            _ => vec![*first],
        };
        if written.len() > row.dsts.len() || selected.carry_out && written.len() > 1 {
            self.report(
                first.span,
                "this instruction has one result".into(),
                "two results",
                "remove `|` and the second one",
            );
            return None;
        }
        let mut out = Vec::with_capacity(2);
        for (i, shape) in row.dsts.iter().enumerate() {
            let destination = match written.get(i) {
                Some(operand) => self.destination(operand, ty(*shape), loose)?,
                None if selected.carry_out => Destination { reg: self.carry(), extended: None },
                None => Destination { reg: self.temp(ty(*shape)), extended: None },
            };
            out.push(destination);
        }
        Some(out)
    }

    /// The registers of an operand that is a vector or a matrix. PTX writes those of a matrix in braces, also where
    /// there is only one, except for `movmatrix` and metadata.
    pub(super) fn elements(
        &mut self,
        operand: &ast::Operand<'s>,
        opcode: Opcode,
        shape: Shape,
        count: usize,
    ) -> Option<Vec<ast::Operand<'s>>> {
        let bare = opcode == Opcode::MovMatrix || shape == Shape::Matrix(Matrix::Metadata);
        let listed = matches!(shape, Shape::Matrix(_)) && !bare;
        if listed && count == 1 && !matches!(operand.kind, OperandKind::Vector(_)) {
            let message = "a list of one register is needed here".to_owned();
            self.report(operand.span, message, describe(operand.kind), "write it in braces, as in `{%r1}`");
            return None;
        }
        self.vector(operand, count)
    }

    /// The elements of a vector operand of so many lanes.
    pub(super) fn vector(&mut self, operand: &ast::Operand<'s>, lanes: usize) -> Option<Vec<ast::Operand<'s>>> {
        match operand.kind {
            OperandKind::Vector(list) if list.len() == lanes => Some(self.body[list].to_vec()),
            OperandKind::Name(name)
                if lanes > 1 && (self.vector_lanes(name) == Some(lanes) || lanes == 4 && is_special_vector(name)) =>
            {
                Some(Self::components(operand, name, lanes))
            }
            _ if lanes == 1 => Some(vec![*operand]),
            kind => {
                let message = format!("a vector of {lanes} is needed here", lanes = counted(lanes, "element"));
                self.report(operand.span, message, describe(kind), "list the elements in braces, as in `{%r1, %r2}`");
                None
            }
        }
    }

    /// The sources in the order of the row, with those that PTX leaves out.
    fn arguments(
        &mut self,
        inst: &ast::Instruction<'s>,
        selected: &mut Selected,
        sources: &[ast::Operand<'s>],
        pair: bool,
    ) -> Option<Vec<Argument<'s>>> {
        let mut out: Vec<_> = sources.iter().copied().map(Argument::Written).collect();
        let implied = |bits: u32| Argument::Implied(Operand::imm(bits));
        match selected.opcode {
            opcode if opcode.is(Flags::CARRY) => {
                // The flag is the machine's carry, also after a subtraction: set where nothing is borrowed.
                let idle = u32::from(selected.opcode == Opcode::ISubCarry);
                let carry = if selected.carry_in { Operand::Reg(self.carry()) } else { Operand::imm(idle) };
                out.push(Argument::Implied(carry));
            }
            Opcode::SetPBool if pair && sources.len() == 2 => out.push(implied(1)),
            Opcode::CvtPackInt if sources.len() == 2 => out.push(implied(0)),
            // How long to wait at most is a hint.
            Opcode::MbarrierWait | Opcode::MbarrierWaitParity => out.truncate(WAIT_OPERANDS),
            Opcode::MbarrierArriveRemote if sources.len() == 1 => out.push(implied(1)),
            // The CTAs that a copy goes to are the bits of a 16-bit register.
            Opcode::BulkMulticast if let Some(mask) = sources.last() => {
                out.pop();
                out.push(Argument::Implied(self.value(mask, Type::B16, false)?));
            }
            Opcode::BarSync if sources.len() == 1 => out.push(implied(0)),
            Opcode::BarRedPopc | Opcode::BarRed if sources.len() == 2 => out.insert(1, implied(0)),
            Opcode::CpAsync => return self.async_copy_arguments(inst, sources),
            opcode => {
                let row = opcode.row();
                if let Some(stride) = row.default_stride(&selected.fields)
                    && sources.len() + 2 == row.srcs.len()
                {
                    out.push(implied(stride));
                }
            }
        }
        Some(out)
    }

    /// `[dst], [src], size{, bytes read | predicate to read none}`.
    fn async_copy_arguments(
        &mut self,
        inst: &ast::Instruction<'s>,
        sources: &[ast::Operand<'s>],
    ) -> Option<Vec<Argument<'s>>> {
        let [to, from, size, rest @ ..] = sources else {
            return self.wrong_count(inst, 3, sources.len());
        };
        let bytes = self.value(size, Type::U32, false)?;
        let Some(4 | 8 | 16) = self.func.imm_bits(bytes) else {
            self.report(
                size.span,
                "the size of an asynchronous copy is 4, 8 or 16".into(),
                "wrong size",
                "write 4, 8 or 16",
            );
            return None;
        };
        let read = match rest {
            [] => bytes,
            [operand] if self.is_predicate(operand) => {
                let ignore = self.value(operand, Type::Pred, false)?;
                let reg = self.temp(Type::B32);
                let srcs = [Operand::imm(0), bytes, ignore];
                self.push_full(Opcode::SelP, typed(Opcode::SelP, Type::B32), None, &[reg.into()], &srcs);
                reg.into()
            }
            [operand, ..] => self.value(operand, Type::U32, false)?,
        };
        let written = [to, from].map(|operand| Argument::Written(*operand));
        Some(written.into_iter().chain([bytes, read].map(Argument::Implied)).collect())
    }

    pub(super) fn is_predicate(&mut self, operand: &ast::Operand<'s>) -> bool {
        use super::operand::Named;
        match operand.kind {
            OperandKind::Not(_) => true,
            OperandKind::Name(name) => {
                matches!(self.lookup(name, operand.span), Some(Named::Reg(_, ast::ScalarType::Pred)))
            }
            _ => false,
        }
    }

    /// The sources by their shapes.
    fn sources(
        &mut self,
        inst: &ast::Instruction<'s>,
        opcode: Opcode,
        fields: &mut FieldValues,
        arguments: &[Argument<'s>],
        loose: bool,
    ) -> Option<Vec<Operand>> {
        let row = opcode.row();
        let expected = row.srcs.iter().filter(|shape| **shape != Shape::Offset).count();
        if arguments.len() != expected {
            let results = usize::from(!row.dsts.is_empty());
            return self.wrong_count(inst, expected + results, arguments.len() + results);
        }
        // Written operands and shapes go side by side. An offset is the exception: it has a shape of its own and is
        // written with its base.
        let mut out = Vec::with_capacity(row.srcs.len());
        let mut rest = arguments.iter();
        for (i, shape) in row.srcs.iter().enumerate() {
            if *shape == Shape::Offset {
                continue;
            }
            match rest.next()? {
                Argument::Implied(operand) => out.push(*operand),
                Argument::Written(operand) if *shape == Shape::Base && row.srcs.get(i + 1) == Some(&Shape::Offset) => {
                    let (base, offset, space) = self.address(operand)?;
                    let is_local = i == 0 && row.value::<Space>(fields) == Some(Space::Local);
                    self.check_number(operand.span, base, is_local || opcode == Opcode::AcquireTensorMap)?;
                    // Of several addresses, only the first is in the space that the fields name.
                    if i == 0 {
                        self.check_space(operand.span, opcode, fields, space, base)?;
                    }
                    out.extend([base, offset]);
                }
                Argument::Written(operand) if *shape == Shape::Base => {
                    let ty = row.shape_type(fields, Shape::T).unwrap_or(Type::B64);
                    out.push(self.plain_address(operand, address_type(opcode, ty))?);
                }
                Argument::Written(operand) if matches!(shape, Shape::V | Shape::Matrix(_)) => {
                    let ty = row.shape_type(fields, *shape).unwrap_or(Type::B32);
                    for element in self.elements(operand, opcode, *shape, row.registers(fields, *shape))? {
                        out.push(self.value(&element, ty, loose)?);
                    }
                }
                Argument::Written(operand) if *shape == Shape::Imm => {
                    let value = self.immediate(operand)?;
                    self.check_selector(operand.span, row.selectors(fields), value)?;
                    out.push(value);
                }
                Argument::Written(operand) => {
                    let ty = row.shape_type(fields, *shape).unwrap_or(Type::B32);
                    out.push(self.value(operand, ty, loose)?);
                }
            }
        }
        Some(out)
    }

    /// A sparsity selector is below the number of those that there are.
    pub(super) fn check_selector(&mut self, span: Span, count: Option<u32>, value: Operand) -> Option<()> {
        let fits = |count: u32| self.func.imm_bits(value).is_some_and(|bits| bits < u64::from(count));
        let Some(count) = count.filter(|count| !fits(*count)) else { return Some(()) };
        let help = match count {
            1 => "all lanes give metadata here: write 0".to_owned(),
            count => format!("write a number from 0 to {}", count - 1),
        };
        self.report(span, "there is no such sparsity selector".into(), "out of range", help);
        None
    }

    pub(super) fn immediate(&mut self, operand: &ast::Operand<'s>) -> Option<Operand> {
        if let OperandKind::Constant(constant) = operand.kind
            && let Some(bits) = constant.integer_bits()
        {
            return Some(Operand::imm(bits as u32));
        }
        let help = "this operand is an integer constant";
        self.report(operand.span, "a constant is needed here".into(), describe(operand.kind), help);
        None
    }

    /// An access that names a variable and no space goes to the variable's space; another space is a fault, and so is
    /// a space that the access cannot have, such as a volatile load's of a parameter: ptxas refuses both. Shared
    /// memory of the CTA is shared memory of the cluster, too. An address in the generic or global space is as wide as
    /// the module's addresses.
    fn check_space(
        &mut self,
        span: Span,
        opcode: Opcode,
        fields: &mut FieldValues,
        space: Option<Space>,
        base: Operand,
    ) -> Option<()> {
        let row = opcode.row();
        let Some(slot) = row.slot(Space::FIELD) else { return Some(()) };
        let written = Space::ALL[fields.0[slot] as usize];
        if let Some(space) = space {
            let mut narrowed = *fields;
            narrowed.0[slot] = space.index();
            let legal = row.fields[slot].legal >> space.index() & 1 == 1 && row.broken_rule(&narrowed).is_none();
            if written == Space::Generic && legal {
                *fields = narrowed;
            } else if written != space && (written, space) != (Space::Cluster, Space::Shared) {
                let message = format!("this variable is in `.{}`, the access in another space", space.name());
                self.report(
                    span,
                    message,
                    format!("in `.{}`", space.name()),
                    "name the variable's space in the instruction",
                );
                return None;
            }
            return Some(());
        }
        let narrow = matches!(base, Operand::Reg(reg) if self.func.regs()[reg] == RegInfo::words(1));
        if narrow && matches!(written, Space::Generic | Space::Global) {
            let (message, help) = match self.cx.address_bytes {
                8 => ("an address of this space has 64 bits", "use a 64-bit register"),
                _ => (
                    "modules with 32-bit addresses are not supported",
                    "compile for 64-bit addresses and say `.address_size 64`: ptxas supports no others any more",
                ),
            };
            self.report(span, message.to_owned(), "32-bit address", help);
            return None;
        }
        Some(())
    }
}

/// `setp` with two results is the combined comparison with a predicate that is true.
fn with_two_results(selected: Selected) -> Selected {
    let mut selected = as_sibling(selected, Opcode::SetPBool);
    if let Some(slot) = Opcode::SetPBool.row().slot(BoolOp::FIELD) {
        selected.fields.0[slot] = BoolOp::And.index();
    }
    selected
}

/// Another opcode with the same modifiers, and its own defaults.
pub(super) fn as_sibling(selected: Selected, opcode: Opcode) -> Selected {
    let (from, to) = (selected.opcode.row(), opcode.row());
    let mut fields = to.default_fields();
    for (slot, spec) in to.fields.iter().enumerate() {
        if let Some(old) = from.slot(spec.field) {
            fields.0[slot] = selected.fields.0[old];
        }
    }
    Selected { opcode, fields, ..selected }
}
