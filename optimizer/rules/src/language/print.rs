//! The syntax tree as rule text: what [`super::parse`] reads back to an equal tree, places apart.

use std::fmt::{self, Display, Formatter};

use super::ast::{
    BinaryOp, Binder, Contract, Example, Expr, Guard, Head, Inst, Name, Operand, Relation, RuleDecl, Segment, UnaryOp,
};
use super::parser::DEFAULT_PRIORITY;

impl Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn list<T: Display>(f: &mut Formatter<'_>, items: &[T], between: &str) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        f.write_str(if index > 0 { between } else { "" })?;
        item.fmt(f)?;
    }
    Ok(())
}

impl Display for RuleDecl {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "rule {}", self.name)?;
        if self.priority != DEFAULT_PRIORITY {
            write!(f, " priority {}", self.priority)?;
        }
        if self.contract == Contract::ModuloNan {
            f.write_str(" modulo nan")?;
        }
        if !self.binders.is_empty() {
            f.write_str(" for ")?;
            list(f, &self.binders, ", ")?;
        }
        f.write_str(if self.legal_only { " where legal: " } else { ": " })?;
        write!(f, "{} => ", self.pattern)?;
        self.lets.iter().try_for_each(|bound| write!(f, "let {} = {}; ", bound.name, bound.value))?;
        results(f, &self.results)?;
        if !self.guards.is_empty() {
            f.write_str(" if ")?;
            list(f, &self.guards, ", ")?;
        }
        self.examples.iter().try_for_each(|example| write!(f, "\n  {example}"))
    }
}

fn results(f: &mut Formatter<'_>, results: &[Operand]) -> fmt::Result {
    match results {
        [one] => one.fmt(f),
        _ => {
            f.write_str("(")?;
            list(f, results, ", ")?;
            f.write_str(")")
        }
    }
}

impl Display for Example {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.expected {
            None => write!(f, "no   {}", self.input),
            Some(expected) => {
                write!(f, "yes  {} => ", self.input)?;
                results(f, expected)
            }
        }
    }
}

impl Display for Binder {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} in ", self.name)?;
        list(f, &self.set, " ")
    }
}

impl Display for Inst {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.head)?;
        list(f, &self.operands, ", ")?;
        f.write_str(")")
    }
}

impl Display for Head {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        list(f, &self.segments, ".")?;
        match &self.rest {
            Some(rest) => write!(f, "{{{rest}}}"),
            None => Ok(()),
        }
    }
}

impl Display for Segment {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Segment::Word(name) => name.fmt(f),
            Segment::Call { function, arguments } => {
                write!(f, "{function}(")?;
                list(f, arguments, ", ")?;
                f.write_str(")")
            }
        }
    }
}

impl Display for Operand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Wildcard(_) => f.write_str("_"),
            Operand::Inst { binding, shared, inst } => {
                if let Some(name) = binding {
                    write!(f, "{name}@")?;
                }
                write!(f, "{}{inst}", if *shared { "&" } else { "" })
            }
            Operand::Word { word, of, .. } => write!(f, "{}({of})", ["lo", "hi"][usize::from(*word & 1)]),
            Operand::Expr(expr) => expr.fmt(f),
        }
    }
}

impl BinaryOp {
    /// How the operator is written.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::DivSigned => "/s",
            BinaryOp::Rem => "%",
            BinaryOp::RemSigned => "%s",
            BinaryOp::And => "&",
            BinaryOp::Or => "|",
            BinaryOp::Xor => "^",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::ShrSigned => ">>s",
        }
    }
}

impl Relation {
    /// How the relation is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Relation::Eq => "==",
            Relation::Ne => "!=",
            Relation::Lt => "<",
            Relation::Le => "<=",
            Relation::Gt => ">",
            Relation::Ge => ">=",
        }
    }
}

/// A part of an expression; what has parts of its own is in parentheses.
struct Part<'a>(&'a Expr);

impl Display for Part<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Expr::Binary { .. } => write!(f, "({})", self.0),
            _ => self.0.fmt(f),
        }
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Name(name) => name.fmt(f),
            Expr::Number { value, .. } if *value > 0xffff => write!(f, "{value:#x}"),
            Expr::Number { value, .. } => write!(f, "{value}"),
            Expr::Float { value, .. } if value.is_nan() => {
                f.write_str(if value.is_sign_negative() { "-nan" } else { "nan" })
            }
            Expr::Float { value, .. } => write!(f, "{value:?}"),
            Expr::Unary { op: UnaryOp::Neg, of, .. } => write!(f, "-{}", Part(of)),
            Expr::Unary { op: UnaryOp::Not, of, .. } => write!(f, "~{}", Part(of)),
            Expr::Binary { op, left, right } => write!(f, "{} {} {}", Part(left), op.symbol(), Part(right)),
            Expr::Call { function, arguments, .. } => {
                write!(f, "{function}(")?;
                list(f, arguments, ", ")?;
                f.write_str(")")
            }
            Expr::Fold { inst, .. } => write!(f, "fold({inst})"),
        }
    }
}

impl Display for Guard {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Guard::Compare { relation, signed, left, right } => {
                write!(f, "{left} {}{} {right}", relation.symbol(), if *signed { "s" } else { "" })
            }
            Guard::Call { function, arguments, .. } => {
                write!(f, "{function}(")?;
                list(f, arguments, ", ")?;
                f.write_str(")")
            }
            Guard::Member { variable, set } => {
                write!(f, "{variable} in ")?;
                list(f, set, " ")
            }
            Guard::Field { rest, field, equal, value } => {
                write!(f, "{rest}.{field} {} {value}", if *equal { "==" } else { "!=" })
            }
            Guard::Not { guard, .. } => write!(f, "!{guard}"),
            Guard::Any(guards) => list(f, guards, " || "),
        }
    }
}
