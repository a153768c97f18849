//! Examples: each is built as a function, rewritten by its rule alone, and compared.

use std::collections::BTreeMap;

use super::eval::evaluate;
use super::matcher::{Bindings, Matching};
use super::program::Program;
use super::rewrite::Plan;
use super::subject::Subject;
use crate::analysis::{BitMemo, Definitions, Uses};
use oriole_ir::ops::{FieldValues, Flags, Opcode, Type};
use oriole_ir::{Form, Function, FunctionKind, Inst, InstHead, Operand, Reg, RegInfo, inst_to_string};
use oriole_rules::instance::{Rule, place_type};
use oriole_rules::language::ast::{Example, Expr, Inst as Written, Operand as Operands};
use oriole_rules::language::{Fault, Span};
use oriole_rules::resolve::Concrete;

/// What the examples of a rule say that is not so.
pub(super) fn faults(rule: &Rule) -> Vec<Fault> {
    let program = Program::new(std::slice::from_ref(rule));
    let check = |example| check(rule, &program, example).err();
    rule.decl().examples.iter().filter_map(check).collect()
}

fn check(rule: &Rule, program: &Program, example: &Example) -> Result<(), Fault> {
    let mut built = Built::new(rule);
    let root = built.inst(&example.input, true)?;
    for reg in std::mem::take(&mut built.shared) {
        built.read_again(reg);
    }
    let (mut definitions, mut uses) = (Definitions::new(&built.func), Uses::new(&built.func));
    let subject = Subject { func: &built.func, definitions: &definitions, uses: &uses, bits: &BitMemo::default() };
    let plan = find(rule, program, subject, root);
    match (plan, &example.expected) {
        (None, None) => Ok(()),
        (Some(_), None) => {
            Err(wrong(example, "the rule applies to this example", "it says `no`: add a guard, or say `yes`"))
        }
        (None, Some(_)) => {
            let help =
                "patterns inside need `&` where the value has other uses; guards must hold; constants stand last";
            Err(wrong(example, "the rule does not apply to this example", help))
        }
        (Some(plan), Some(expected)) => {
            let dsts: Vec<Reg> = built.func.defs(root).collect();
            let now = plan.apply(&mut built.func, &mut definitions, &mut uses, root);
            if built.is(&definitions, root, &dsts, expected)? {
                return Ok(());
            }
            let lines: Vec<String> = now.iter().map(|inst| inst_to_string(&built.func, *inst, None)).collect();
            let names: Vec<String> = built.names.iter().map(|(name, reg)| format!("{name} is {reg:?}")).collect();
            let help = format!("it becomes `{}`, where {}", lines.join("; "), names.join(", "));
            Err(wrong(example, "the example becomes something else", help))
        }
    }
}

fn wrong(example: &Example, message: &str, help: impl Into<String>) -> Fault {
    Fault::new(example.span, message, "this example", help)
}

fn find(rule: &Rule, program: &Program, subject: Subject<'_>, root: Inst) -> Option<Plan> {
    let (srcs, data) = (subject.sources(root), subject.func.inst(root));
    let arm = program.arm(std::slice::from_ref(rule), data.opcode, &data.fields)?;
    let mut bindings = Bindings::default();
    arm.candidates(subject, root, &srcs).find_map(|variant| {
        let instance = &arm.instances[variant.instance];
        let mut matching = Matching::new(subject, instance, &mut bindings);
        let matches = matching.matches(&variant.pattern, root, &srcs) && matching.is_allowed();
        matches.then(|| Plan::new(subject, instance, matching.bindings, root)).flatten()
    })
}

/// An example as a function of one block.
struct Built<'a> {
    func: Function,
    names: BTreeMap<String, Reg>,
    shared: Vec<Reg>,
    concrete: Concrete<'a>,
}

impl<'a> Built<'a> {
    fn new(rule: &'a Rule) -> Built<'a> {
        let mut func = Function::new("example", FunctionKind::Device);
        func.form = Form::Ssa;
        func.new_block();
        Built { func, names: BTreeMap::new(), shared: Vec::new(), concrete: Concrete::new(rule.decl()) }
    }

    fn push(&mut self, head: InstHead, dsts: &[Operand], srcs: &[Operand]) -> Inst {
        let inst = self.func.new_inst(head, dsts, srcs, &[]);
        let block = self.func.entry();
        self.func.append_inst(block, inst);
        inst
    }

    /// One more use of a value.
    fn read_again(&mut self, reg: Reg) {
        let ty = self.func.regs()[reg].mov_type().unwrap_or(Type::B32);
        let copy = self.func.new_reg(self.func.regs()[reg]);
        let head = InstHead { opcode: Opcode::Mov, fields: super::rewrite::mov_fields(ty), guard: None, line: 0 };
        self.push(head, &[Operand::Reg(copy)], &[Operand::Reg(reg)]);
    }

    fn inst(&mut self, written: &Written, root: bool) -> Result<Inst, Fault> {
        let (opcode, fields) = self.concrete.head(&written.head)?;
        self.concrete.check(opcode, &fields, written, root)?;
        let row = opcode.row();
        let mut srcs = Vec::new();
        for (operand, shape) in written.operands.iter().zip(row.srcs) {
            srcs.push(self.operand(operand, place_type(opcode, &fields, *shape))?);
        }
        if opcode.is(Flags::COMMUTATIVE) && srcs[0].is_imm() && !srcs[1].is_imm() {
            srcs.swap(0, 1);
        }
        let types = row.dsts.iter().map(|shape| place_type(opcode, &fields, *shape).unwrap_or(Type::B32));
        let dsts: Vec<Operand> = types.map(|ty| Operand::Reg(self.func.new_reg(RegInfo::of(ty)))).collect();
        Ok(self.push(InstHead { opcode, fields, guard: None, line: 0 }, &dsts, &srcs))
    }

    fn operand(&mut self, operand: &Operands, ty: Option<Type>) -> Result<Operand, Fault> {
        let info = RegInfo::of(ty.unwrap_or(Type::B64));
        match operand {
            Operands::Wildcard(_) => Ok(Operand::Reg(self.func.new_reg(info))),
            Operands::Inst { shared, inst, .. } => {
                let made = self.inst(inst, false)?;
                let value = self.func.defs(made).next().ok_or_else(|| odd(inst.span))?;
                if *shared {
                    self.shared.push(value);
                }
                match same_registers(self.func.regs()[value], info) {
                    true => Ok(Operand::Reg(value)),
                    false => Err(odd(inst.span)),
                }
            }
            Operands::Word { word, of, .. } => match self.operand(of, Some(Type::B64))? {
                Operand::Reg(reg) => Ok(Operand::Word(reg, *word)),
                _ => Err(odd(operand.span())),
            },
            Operands::Expr(Expr::Name(name)) if name.text.starts_with(|c: char| c.is_ascii_lowercase()) => {
                let reg = match self.names.get(&name.text) {
                    Some(reg) => *reg,
                    None => {
                        let reg = self.func.new_reg(info);
                        self.names.insert(name.text.clone(), reg);
                        reg
                    }
                };
                match same_registers(self.func.regs()[reg], info) {
                    true => Ok(Operand::Reg(reg)),
                    false => Err(odd(name.span)),
                }
            }
            Operands::Expr(expr) => self.constant(expr, ty).map(|bits| self.func.imm(bits)),
        }
    }

    fn constant(&mut self, expr: &Expr, ty: Option<Type>) -> Result<u64, Fault> {
        let constant = self.concrete.constant(expr, ty.map_or(64, Type::bits))?;
        evaluate(&constant, &()).ok_or_else(|| odd(expr.span()))
    }

    /// Whether the root's destinations are now what is expected.
    fn is(
        &mut self,
        definitions: &Definitions,
        root: Inst,
        dsts: &[Reg],
        expected: &[Operands],
    ) -> Result<bool, Fault> {
        if let [Operands::Inst { inst, .. }] = expected
            && dsts.len() != 1
        {
            return self.is_inst(definitions, root, inst);
        }
        for (dst, expected) in dsts.iter().zip(expected) {
            let Some(inst) = definitions.inst(*dst) else { return Ok(false) };
            let data = self.func.inst(inst);
            let copied = data.opcode == Opcode::Mov;
            let same = match expected {
                Operands::Inst { inst: written, .. } if !copied => self.is_inst(definitions, inst, written)?,
                _ if copied => {
                    let (ty, value) = (data.ty(), self.func.srcs(inst)[0]);
                    self.is_operand(definitions, value, expected, Some(ty))?
                }
                _ => false,
            };
            if !same {
                return Ok(false);
            }
        }
        Ok(dsts.len() == expected.len() || dsts.is_empty())
    }

    fn is_inst(&mut self, definitions: &Definitions, inst: Inst, written: &Written) -> Result<bool, Fault> {
        let (opcode, fields) = self.concrete.head(&written.head)?;
        let data = *self.func.inst(inst);
        let srcs = self.func.srcs(inst).to_vec();
        if (data.opcode, data.fields) != (opcode, fields) || srcs.len() != written.operands.len() {
            return Ok(false);
        }
        let mut orders = vec![srcs.clone()];
        if opcode.is(Flags::COMMUTATIVE) {
            let mut swapped = srcs;
            swapped.swap(0, 1);
            orders.push(swapped);
        }
        for srcs in orders {
            if self.are_operands(definitions, opcode, &fields, &srcs, written)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn are_operands(
        &mut self,
        definitions: &Definitions,
        opcode: Opcode,
        fields: &FieldValues,
        srcs: &[Operand],
        written: &Written,
    ) -> Result<bool, Fault> {
        for ((operand, expected), shape) in srcs.iter().zip(&written.operands).zip(opcode.row().srcs) {
            if !self.is_operand(definitions, *operand, expected, place_type(opcode, fields, *shape))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_operand(
        &mut self,
        definitions: &Definitions,
        found: Operand,
        expected: &Operands,
        ty: Option<Type>,
    ) -> Result<bool, Fault> {
        Ok(match expected {
            Operands::Wildcard(_) => true,
            Operands::Inst { inst: written, .. } => match definitions.always(&self.func, found) {
                Some(inst) => self.is_inst(definitions, inst, written)?,
                None => false,
            },
            Operands::Word { word, of, .. } => match found {
                Operand::Word(reg, index) => {
                    index == *word && self.is_operand(definitions, Operand::Reg(reg), of, Some(Type::B64))?
                }
                _ => false,
            },
            Operands::Expr(Expr::Name(name)) if name.text.starts_with(|c: char| c.is_ascii_lowercase()) => {
                self.names.get(&name.text).is_some_and(|reg| found == Operand::Reg(*reg))
            }
            Operands::Expr(expr) => self.func.imm_bits(found) == Some(self.constant(expr, ty)?),
        })
    }
}

fn same_registers(a: RegInfo, b: RegInfo) -> bool {
    (a.is_predicate(), a.words) == (b.is_predicate(), b.words)
}

fn odd(span: Span) -> Fault {
    Fault::new(span, "this does not fit its place in the example", "here", "write values of the width of their place")
}
