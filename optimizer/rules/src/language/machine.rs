//! Rules over instructions of the machine as they are written: mnemonics and names of operands are still text.
//!
//! A machine rule is a sequence of instructions in the order of the code, in the shape that `oriole sass --ori` prints:
//! results, `=`, mnemonic, operands. The last one is the *root*, which the result takes the place of; those before it
//! made what the root, or one behind them, reads.
//!
//! ```text
//! # An index that is known is part of the offset.
//! machine rule constant-index category immediate: d = LDC C, c[B][O] => d = LDC RZ, c[B][C + O] if C + O < 0x10000
//!   yes %R3 = LDC 8, c[0][0x210] => %R3 = LDC RZ, c[0][0x218]
//! ```

use std::fmt::{self, Display, Formatter};

use super::ast::{Binder, Expr, Guard, Name, Span};
use super::parser::DEFAULT_PRIORITY;

/// A machine rule.
#[derive(Clone, PartialEq, Debug)]
pub struct MachineRule {
    /// Its name, unique in the rule set.
    pub name: Name,
    /// From `machine` to the end of its guards.
    pub span: Span,
    /// The comment right above it.
    pub doc: String,
    /// The category of `spec/peephole.txt`, "Representative rewrite categories".
    pub category: Option<Name>,
    /// The highest that matches wins; among equals the first.
    pub priority: u16,
    /// The number of the template that it selects, where it has one.
    pub template: Option<u64>,
    /// The contexts in which it is tried; none for all of them.
    pub contexts: Vec<Name>,
    /// The SMs for which it is there; none for all of them.
    pub only: Vec<Name>,
    /// Variables over parts of mnemonics and numbers; there is a rule for each combination.
    pub binders: Vec<Binder>,
    /// The instructions, the root last.
    pub pattern: Vec<MachineInst>,
    /// The instruction in the root's place.
    pub result: MachineInst,
    /// Conditions that must all hold.
    pub guards: Vec<Guard>,
    /// Its examples.
    pub examples: Vec<MachineExample>,
}

/// `d, p, PT = IADD3 x, C, RZ, ~PT, ~PT`.
#[derive(Clone, PartialEq, Debug)]
pub struct MachineInst {
    /// Its results.
    pub results: Vec<MachineOperand>,
    /// The dotted parts of the mnemonic with its modifiers.
    pub mnemonic: Vec<Name>,
    /// Its sources, in the order of the text form.
    pub operands: Vec<MachineOperand>,
    /// All of it.
    pub span: Span,
}

/// An operand or a result.
#[derive(Clone, PartialEq, Debug)]
pub struct MachineOperand {
    /// The marks before it.
    pub marks: Marks,
    /// Its kind.
    pub kind: MachineKind,
    /// Where it stands.
    pub span: Span,
}

/// The marks of an operand: `-`, `|…|`, `~`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Marks {
    /// `-x`
    pub negate: bool,
    /// `|x|`
    pub absolute: bool,
    /// `~x`
    pub invert: bool,
    /// `&x`: whatever marks the operand has; the result has them too.
    pub any: bool,
}

/// The kind of an operand.
#[derive(Clone, PartialEq, Debug)]
pub enum MachineKind {
    /// `_`: anything.
    Wildcard,
    /// `x`, `x:R`, `x:Rx2`: a value, by its name, and the file and width of the register that it is in.
    Value(Name, Option<Name>),
    /// `RZ`, `URZ`, `PT`, `UPT`.
    Wired(Name),
    /// `%R4`, `%UR4x2`: a register of an example.
    Register(Name),
    /// A constant: a number, a name in capitals, or an expression of them.
    Constant(Expr),
    /// `c[B][O]`: a word of a constant bank.
    Bank(Expr, Expr),
}

/// A line under a machine rule that shows what it does.
#[derive(Clone, PartialEq, Debug)]
pub struct MachineExample {
    /// The instructions.
    pub input: Vec<MachineInst>,
    /// `yes`: what the last one becomes; `no`: the rule does not apply.
    pub expected: Option<MachineInst>,
    /// The whole line.
    pub span: Span,
}

fn list<T: Display>(f: &mut Formatter<'_>, items: &[T], between: &str) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        f.write_str(if index > 0 { between } else { "" })?;
        item.fmt(f)?;
    }
    Ok(())
}

/// The parser reads it back as the same rule, places and comment apart.
impl Display for MachineRule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "machine rule {}", self.name)?;
        if let Some(category) = &self.category {
            write!(f, " category {category}")?;
        }
        if self.priority != DEFAULT_PRIORITY {
            write!(f, " priority {}", self.priority)?;
        }
        if let Some(template) = self.template {
            write!(f, " template {template}")?;
        }
        for (word, names) in [(" in ", &self.contexts), (" only ", &self.only)] {
            if !names.is_empty() {
                f.write_str(word)?;
                list(f, names, " ")?;
            }
        }
        if !self.binders.is_empty() {
            f.write_str(" for ")?;
            list(f, &self.binders, ", ")?;
        }
        f.write_str(": ")?;
        list(f, &self.pattern, "; ")?;
        write!(f, " => {}", self.result)?;
        if !self.guards.is_empty() {
            f.write_str(" if ")?;
            list(f, &self.guards, ", ")?;
        }
        self.examples.iter().try_for_each(|example| write!(f, "\n  {example}"))
    }
}

impl Display for MachineInst {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        list(f, &self.results, ", ")?;
        f.write_str(if self.results.is_empty() { "" } else { " = " })?;
        list(f, &self.mnemonic, ".")?;
        f.write_str(if self.operands.is_empty() { "" } else { " " })?;
        list(f, &self.operands, ", ")
    }
}

impl Display for MachineOperand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Marks { negate, absolute, invert, any } = self.marks;
        for (mark, is_there) in [("&", any), ("~", invert), ("-", negate), ("|", absolute)] {
            f.write_str(if is_there { mark } else { "" })?;
        }
        match &self.kind {
            MachineKind::Wildcard => f.write_str("_")?,
            MachineKind::Value(name, None) | MachineKind::Wired(name) => name.fmt(f)?,
            MachineKind::Value(name, Some(file)) => write!(f, "{name}:{file}")?,
            MachineKind::Register(name) => write!(f, "%{name}")?,
            MachineKind::Constant(value) => value.fmt(f)?,
            MachineKind::Bank(bank, offset) => write!(f, "c[{bank}][{offset}]")?,
        }
        f.write_str(if absolute { "|" } else { "" })
    }
}

impl Display for MachineExample {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if self.expected.is_some() { "yes " } else { "no " })?;
        list(f, &self.input, "; ")?;
        match &self.expected {
            Some(expected) => write!(f, " => {expected}"),
            None => Ok(()),
        }
    }
}
