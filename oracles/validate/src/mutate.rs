//! Mutants of a rule: rules one mutation away from it, to see how many of the wrong ones are refuted.
//!
//! A mutation changes one place of the rule as it is written: a number by one, two operands exchanged, another opcode
//! with the same operands, another comparison, sign or type, another operator or function, a guard dropped or weakened.
//! Many are still right (exchanged operands of an addition), many are refused when they are read (a type that an opcode
//! does not take); the rest are wrong.

use oriole_rules::language::Span;
use oriole_rules::language::ast::{
    BinaryOp, Expr, Guard, Head, Inst, Name, Operand, Relation, RuleDecl, Segment, UnaryOp,
};

/// A rule with a mutation.
#[derive(Clone, PartialEq, Debug)]
pub struct Mutant {
    /// What was changed.
    pub mutation: String,
    /// The rule, without examples.
    pub decl: RuleDecl,
}

/// Words that take each other's place: opcodes, types, fields and sets.
const WORDS: &[&[&str]] = &[
    &["iadd", "isub"],
    &["imin", "imax"],
    &["idiv", "irem"],
    &["and", "or", "xor"],
    &["shl", "shr"],
    &["ineg", "iabs"],
    &["popc", "clz", "bfind"],
    &["fadd", "fsub", "fmul"],
    &["fmin", "fmax"],
    &["fneg", "fabs"],
    &["lo", "hi"],
    &["u16", "s16"],
    &["u32", "s32"],
    &["u64", "s64"],
    &["b32", "b64"],
    &["f32", "f64"],
    &["lt", "le", "gt", "ge", "eq", "ne"],
    &["ls", "hs"],
    &["equ", "neu", "ltu", "leu", "gtu", "geu"],
    &["num", "nan"],
    &["uint", "sint", "int"],
    &["full", "int"],
    &["bits", "logic"],
    &["wrap", "clamp"],
    &["rn", "rz", "rm", "rp"],
];

/// Functions of types that take each other's place.
const TYPE_FUNCTIONS: &[&[&str]] = &[&["signed", "unsigned"], &["mirror", "inverse"], &["wide", "half"]];

/// Functions of constants that take each other's place.
const FUNCTIONS: &[&[&str]] = &[
    &["log2", "popc", "clz", "ctz"],
    &["min", "max"],
    &["smin", "smax"],
    &["min", "smin"],
    &["zext", "sext"],
    &["is_power_of_two", "is_mask"],
    &["known_zero", "known_one"],
    &["nonzero", "not_nan"],
];

/// Operators that take each other's place.
const OPERATORS: &[&[BinaryOp]] = &[
    &[BinaryOp::Add, BinaryOp::Sub],
    &[BinaryOp::And, BinaryOp::Or, BinaryOp::Xor],
    &[BinaryOp::Shl, BinaryOp::Shr],
    &[BinaryOp::Shr, BinaryOp::ShrSigned],
    &[BinaryOp::Div, BinaryOp::DivSigned, BinaryOp::Rem],
    &[BinaryOp::Mul, BinaryOp::Add],
];

/// Names of constants that take each other's place.
const CONSTANTS: &[&[&str]] = &[&["MIN", "MAX", "UMAX"]];

/// All rules that are one mutation away.
pub fn mutants(decl: &RuleDecl) -> Vec<Mutant> {
    let mut all = Vec::new();
    let mut captures = Vec::new();
    names_of(&decl.pattern, &mut captures);
    loop {
        let mut mutant = decl.clone();
        mutant.examples.clear();
        let mut mutator = Mutator { target: all.len(), seen: 0, mutation: None, captures: &captures };
        mutator.rule(&mut mutant);
        match mutator.mutation {
            Some(mutation) => all.push(Mutant { mutation, decl: mutant }),
            None => return all,
        }
    }
}

/// The names that a pattern captures.
fn names_of(inst: &Inst, into: &mut Vec<String>) {
    for operand in &inst.operands {
        let mut operand = operand;
        while let Operand::Word { of, .. } = operand {
            operand = of;
        }
        match operand {
            Operand::Expr(Expr::Name(name)) => into.push(name.text.clone()),
            Operand::Inst { binding, inst, .. } => {
                into.extend(binding.iter().map(|name| name.text.clone()));
                names_of(inst, into);
            }
            _ => {}
        }
    }
    into.sort();
    into.dedup();
}

/// Walks over a rule, counts the mutations that are possible and makes one of them.
struct Mutator<'a> {
    target: usize,
    seen: usize,
    mutation: Option<String>,
    captures: &'a [String],
}

impl Mutator<'_> {
    /// Whether the mutation at hand is the one to make.
    fn mutates(&mut self, what: impl FnOnce() -> String) -> bool {
        self.seen += 1;
        let here = self.mutation.is_none() && self.seen == self.target + 1;
        if here {
            self.mutation = Some(what());
        }
        here
    }

    fn rule(&mut self, decl: &mut RuleDecl) {
        for binder in &mut decl.binders {
            binder.set.iter_mut().for_each(|name| self.word(name, WORDS));
        }
        self.inst(&mut decl.pattern, true);
        decl.lets.iter_mut().for_each(|bound| self.operand(&mut bound.value, false));
        decl.results.iter_mut().for_each(|result| self.operand(result, false));
        for at in 0..decl.guards.len() {
            if self.mutates(|| format!("guard `{}` dropped", decl.guards[at])) {
                decl.guards.remove(at);
                return;
            }
            self.guard(&mut decl.guards[at]);
        }
    }

    /// Another word of the same list.
    fn word(&mut self, name: &mut Name, lists: &[&[&str]]) {
        for list in lists.iter().filter(|list| list.contains(&name.text.as_str())) {
            for other in list.iter().filter(|other| **other != name.text) {
                if self.mutates(|| format!("`{}` for `{}`", other, name.text)) {
                    name.text = (*other).to_owned();
                    return;
                }
            }
        }
    }

    fn head(&mut self, head: &mut Head) {
        for segment in &mut head.segments {
            match segment {
                Segment::Word(name) => self.word(name, WORDS),
                Segment::Call { function, .. } => self.word(function, TYPE_FUNCTIONS),
            }
        }
    }

    fn inst(&mut self, inst: &mut Inst, pattern: bool) {
        self.head(&mut inst.head);
        for at in 1..inst.operands.len() {
            if self.mutates(|| format!("operands {at} and {} of `{}` exchanged", at + 1, inst.head)) {
                inst.operands.swap(at - 1, at);
                return;
            }
        }
        inst.operands.iter_mut().for_each(|operand| self.operand(operand, pattern));
    }

    fn operand(&mut self, operand: &mut Operand, pattern: bool) {
        match operand {
            Operand::Wildcard(_) => {}
            Operand::Inst { inst, .. } => self.inst(inst, pattern),
            Operand::Word { word, of, .. } => {
                if self.mutates(|| "the other word".to_owned()) {
                    *word = 1 - *word;
                    return;
                }
                self.operand(of, pattern);
            }
            Operand::Expr(expr) => self.expr(expr, pattern),
        }
    }

    fn expr(&mut self, expr: &mut Expr, pattern: bool) {
        // The walk numbers its opportunities and takes the one that is asked for. A rule gets one change, so an
        // expression that was changed needs no further look.
        let is_operand = matches!(expr, Expr::Name(name) if name.text.starts_with(|c: char| c.is_ascii_lowercase()));
        let is_float = matches!(expr, Expr::Float { .. });
        if !pattern && !is_operand && !is_float && self.mutates(|| format!("`{expr} + 1` for `{expr}`")) {
            *expr = off_by_one(expr.clone());
            return;
        }
        match expr {
            Expr::Name(name) => {
                self.word(name, CONSTANTS);
                if !pattern {
                    self.other_capture(name);
                }
            }
            Expr::Number { value, .. } => {
                let known = *value;
                for other in [known.wrapping_add(1), known.wrapping_sub(1), known ^ 2, known << 1] {
                    if other != known && other >> 63 == 0 && self.mutates(|| format!("{other:#x} for {known:#x}")) {
                        *value = other;
                        return;
                    }
                }
            }
            Expr::Float { value, .. } => {
                let known = *value;
                for other in [known * 2.0 + 1.0, -known] {
                    let differs = other.to_bits() != known.to_bits() && !other.is_nan();
                    if differs && self.mutates(|| format!("{other} for {known}")) {
                        *value = other;
                        return;
                    }
                }
            }
            Expr::Unary { op, of, .. } => {
                let other = if *op == UnaryOp::Neg { UnaryOp::Not } else { UnaryOp::Neg };
                if self.mutates(|| format!("another sign before `{of}`")) {
                    *op = other;
                    return;
                }
                if self.mutates(|| format!("no sign before `{of}`")) {
                    *expr = (**of).clone();
                    return;
                }
                self.expr(of, pattern);
            }
            Expr::Binary { op, left, right } => {
                self.operator(op);
                self.expr(left, pattern);
                self.expr(right, pattern);
            }
            Expr::Call { function, arguments, .. } => {
                self.word(function, FUNCTIONS);
                arguments.iter_mut().for_each(|argument| self.expr(argument, pattern));
            }
            Expr::Fold { inst, .. } => self.inst(inst, pattern),
        }
    }

    fn operator(&mut self, op: &mut BinaryOp) {
        for list in OPERATORS.iter().filter(|list| list.contains(op)) {
            for other in list.iter().filter(|other| *other != op) {
                if self.mutates(|| format!("{other:?} for {op:?}")) {
                    *op = *other;
                    return;
                }
            }
        }
    }

    fn other_capture(&mut self, name: &mut Name) {
        let capital = |text: &str| text.starts_with(|c: char| c.is_ascii_uppercase());
        if !self.captures.contains(&name.text) {
            return;
        }
        let kind = capital(&name.text);
        for other in self.captures.iter().filter(|other| **other != name.text && capital(other) == kind) {
            if self.mutates(|| format!("`{other}` for `{}`", name.text)) {
                name.text = other.clone();
                return;
            }
        }
    }

    fn guard(&mut self, guard: &mut Guard) {
        match guard {
            Guard::Compare { relation, signed, left, right } => {
                for other in [Relation::Eq, Relation::Ne, Relation::Lt, Relation::Le, Relation::Gt, Relation::Ge] {
                    if other != *relation && self.mutates(|| format!("{other:?} for {relation:?} in a guard")) {
                        *relation = other;
                        return;
                    }
                }
                let ordered = !matches!(relation, Relation::Eq | Relation::Ne);
                if ordered && self.mutates(|| "the other signedness in a guard".to_owned()) {
                    *signed = !*signed;
                    return;
                }
                self.expr(left, false);
                self.expr(right, false);
            }
            Guard::Call { function, arguments, .. } => {
                self.word(function, FUNCTIONS);
                arguments.iter_mut().for_each(|argument| self.expr(argument, false));
            }
            Guard::Member { set, .. } => {
                set.iter_mut().for_each(|name| self.word(name, WORDS));
            }
            Guard::Field { equal, .. } => {
                if self.mutates(|| "the other equality in a guard".to_owned()) {
                    *equal = !*equal;
                }
            }
            Guard::Not { guard: inner, .. } => {
                if self.mutates(|| format!("no `!` before `{inner}`")) {
                    *guard = (**inner).clone();
                    return;
                }
                self.guard(inner);
            }
            Guard::Any(guards) => guards.iter_mut().for_each(|guard| self.guard(guard)),
        }
    }
}

fn off_by_one(expr: Expr) -> Expr {
    let one = Expr::Number { value: 1, span: Span::default() };
    Expr::Binary { op: BinaryOp::Add, left: Box::new(expr), right: Box::new(one) }
}
