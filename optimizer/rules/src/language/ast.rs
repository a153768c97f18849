//! A rule file as it is written: names are not resolved, types and fields are still text.
//!
//! `resolve/` turns this into instances with opcodes, field values and widths. Whoever wants to know what a
//! rule means reads those; whoever wants to show, mutate or weaken a rule as its author wrote it works here.

use std::ops::Range;

use miette::SourceSpan;

use super::machine::MachineRule;

/// Bytes of a rule file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte behind the last.
    pub end: usize,
}

impl Span {
    /// From the beginning of this one to the end of another.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start, end: other.end.max(self.start) }
    }
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Span {
        Span { start: range.start, end: range.end }
    }
}

impl From<Span> for SourceSpan {
    fn from(span: Span) -> SourceSpan {
        (span.start, span.end.saturating_sub(span.start)).into()
    }
}

/// A rule file.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct File {
    /// Its rules, in order.
    pub rules: Vec<RuleDecl>,
    /// Its rules over instructions of the machine, in order.
    pub machine: Vec<MachineRule>,
    /// The measures that it states.
    pub measures: Vec<MeasureDecl>,
}

/// `measure not 2, xor 1`: what operations weigh.
#[derive(Clone, PartialEq, Debug)]
pub struct MeasureDecl {
    /// All of it.
    pub span: Span,
    /// Mnemonics with their weights.
    pub weights: Vec<(Name, u64)>,
}

/// A name or another word, with its place.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Name {
    /// Its text.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

/// What "the result is the same" means for a rule.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Contract {
    /// Every bit.
    #[default]
    Exact,
    /// Every bit, except that one NaN may become another (`modulo nan`).
    ModuloNan,
}

/// One rule.
#[derive(Clone, PartialEq, Debug)]
pub struct RuleDecl {
    /// Its name, unique in the rule set.
    pub name: Name,
    /// From `rule` to the end of its guards.
    pub span: Span,
    /// The comment right above it.
    pub doc: String,
    /// The highest that matches wins; among equals the first.
    pub priority: u16,
    /// How equal the result is.
    pub contract: Contract,
    /// Variables over types, opcodes and field values; the rule stands once for each combination.
    pub binders: Vec<Binder>,
    /// `where legal`: combinations that the opcode table does not allow in the pattern are left out.
    pub legal_only: bool,
    /// What is rewritten.
    pub pattern: Inst,
    /// Values that the results share, in order.
    pub lets: Vec<Let>,
    /// What the destinations become, one each.
    pub results: Vec<Operand>,
    /// Conditions that must all hold.
    pub guards: Vec<Guard>,
    /// What the rule does and does not do.
    pub examples: Vec<Example>,
}

/// `T in int, b32`: a variable and the words that it stands for.
#[derive(Clone, PartialEq, Debug)]
pub struct Binder {
    /// The variable, in capitals.
    pub name: Name,
    /// Values, and names of sets of types.
    pub set: Vec<Name>,
}

/// `let t = operand;`
#[derive(Clone, PartialEq, Debug)]
pub struct Let {
    /// The name.
    pub name: Name,
    /// What it stands for.
    pub value: Operand,
}

/// `iadd.T(x, 0)`: an operation, in a pattern or as a result.
#[derive(Clone, PartialEq, Debug)]
pub struct Inst {
    /// Opcode and fields.
    pub head: Head,
    /// Its sources.
    pub operands: Vec<Operand>,
    /// From the opcode to the closing parenthesis.
    pub span: Span,
}

/// `fadd{F}.T`: mnemonic and fields, in their order, and the name for all other fields.
#[derive(Clone, PartialEq, Debug)]
pub struct Head {
    /// Dotted parts: those of the mnemonic, then fields.
    pub segments: Vec<Segment>,
    /// The name of the fields that are not written; `_` matches any.
    pub rest: Option<Name>,
    /// Where it stands.
    pub span: Span,
}

/// One dotted part.
#[derive(Clone, PartialEq, Debug)]
pub enum Segment {
    /// A word of the mnemonic, a field's value, or a variable.
    Word(Name),
    /// A function of variables: `bits(T)`.
    Call {
        /// The function.
        function: Name,
        /// Variables or values.
        arguments: Vec<Name>,
    },
}

/// A source in a pattern, or a value in a result.
#[derive(Clone, PartialEq, Debug)]
pub enum Operand {
    /// `_`: anything.
    Wildcard(Span),
    /// A value made by an operation.
    Inst {
        /// `y@`: a name for the value.
        binding: Option<Name>,
        /// `&`: the value may have other uses.
        shared: bool,
        /// The operation.
        inst: Inst,
    },
    /// `lo(x)`, `hi(x)`: a 32-bit word of a 64-bit value.
    Word {
        /// 0 for the low, 1 for the high one.
        word: u8,
        /// The 64-bit value.
        of: Box<Operand>,
        /// Where it stands.
        span: Span,
    },
    /// A name, or a constant.
    Expr(Expr),
}

/// An operator between two constants.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`, unsigned; a rule does not apply where the divisor is zero.
    Div,
    /// `/s`, signed, toward zero.
    DivSigned,
    /// `%`, unsigned.
    Rem,
    /// `%s`, with the dividend's sign.
    RemSigned,
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Xor,
    /// `<<`; counts from the width on give zero.
    Shl,
    /// `>>`, unsigned; counts from the width on give zero.
    Shr,
    /// `>>s`, signed; counts from the width on give the sign.
    ShrSigned,
}

/// An operator on one constant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `~`
    Not,
}

/// A name or a constant expression.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    /// An operand (lower case), a constant (capitals), `W`, `MIN`, `MAX`, `UMAX`.
    Name(Name),
    /// Raw bits.
    Number {
        /// The bits.
        value: u64,
        /// Where it stands.
        span: Span,
    },
    /// `-1.5`, `inf`, `nan`: the bits of a float of the width of its place. The sign belongs to it.
    Float {
        /// The number, or what stands for it: of a NaN only the sign counts.
        value: f64,
        /// Where it stands.
        span: Span,
    },
    /// An operator on one constant.
    Unary {
        /// The operator.
        op: UnaryOp,
        /// Its operand.
        of: Box<Expr>,
        /// Where it stands.
        span: Span,
    },
    /// An operator between two.
    Binary {
        /// The operator.
        op: BinaryOp,
        /// The left operand.
        left: Box<Expr>,
        /// The right operand.
        right: Box<Expr>,
    },
    /// `log2(C)`.
    Call {
        /// The function.
        function: Name,
        /// Its arguments.
        arguments: Vec<Expr>,
        /// Where it stands.
        span: Span,
    },
    /// `fold(and.T(A, B))`: what the operation yields for constants.
    Fold {
        /// The operation.
        inst: Box<Inst>,
        /// Where it stands.
        span: Span,
    },
}

/// How two constants are compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Relation {
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

/// A condition.
#[derive(Clone, PartialEq, Debug)]
pub enum Guard {
    /// `A < B`, `A <s B`; also `T == u32`.
    Compare {
        /// The relation.
        relation: Relation,
        /// `<s` and the like.
        signed: bool,
        /// The left side.
        left: Expr,
        /// The right side.
        right: Expr,
    },
    /// `is_power_of_two(C)`, `known_zero(x, mask(8))`, `single_use(x)`.
    Call {
        /// The predicate.
        function: Name,
        /// Its arguments.
        arguments: Vec<Expr>,
        /// Where it stands.
        span: Span,
    },
    /// `CMP in lt le`: a variable has one of these values.
    Member {
        /// The variable.
        variable: Name,
        /// Values and sets.
        set: Vec<Name>,
    },
    /// `F.Rounding == rn`: a field among those that a name captured.
    Field {
        /// The name.
        rest: Name,
        /// The field.
        field: Name,
        /// `==`, or else `!=`.
        equal: bool,
        /// The value; `none` for the one that is not written.
        value: Name,
    },
    /// `!condition`.
    Not {
        /// The condition that must not hold.
        guard: Box<Guard>,
        /// Where it stands.
        span: Span,
    },
    /// `a || b`: one of them holds.
    Any(Vec<Guard>),
}

/// A line under a rule that shows what it does.
#[derive(Clone, PartialEq, Debug)]
pub struct Example {
    /// What is rewritten, with concrete opcodes, fields and constants.
    pub input: Inst,
    /// `yes`: what its results become, after `=>`; `no`: the rule does not apply.
    pub expected: Option<Vec<Operand>>,
    /// The whole line.
    pub span: Span,
}

impl Segment {
    /// The word that the part is, and no call.
    pub fn word(&self) -> Option<&Name> {
        match self {
            Segment::Word(name) => Some(name),
            Segment::Call { .. } => None,
        }
    }

    /// Where the part stands.
    pub fn span(&self) -> Span {
        match self {
            Segment::Word(name) => name.span,
            Segment::Call { function, arguments } => {
                arguments.last().map_or(function.span, |a| function.span.to(a.span))
            }
        }
    }
}

impl Operand {
    /// Where the operand stands.
    pub fn span(&self) -> Span {
        match self {
            Operand::Wildcard(span) | Operand::Word { span, .. } => *span,
            Operand::Inst { binding, inst, .. } => binding.as_ref().map_or(inst.span, |name| name.span.to(inst.span)),
            Operand::Expr(expr) => expr.span(),
        }
    }
}

impl Expr {
    /// Where the expression stands.
    pub fn span(&self) -> Span {
        match self {
            Expr::Name(name) => name.span,
            Expr::Number { span, .. }
            | Expr::Float { span, .. }
            | Expr::Unary { span, .. }
            | Expr::Call { span, .. }
            | Expr::Fold { span, .. } => *span,
            Expr::Binary { left, right, .. } => left.span().to(right.span()),
        }
    }
}

impl Guard {
    /// Where the condition stands.
    pub fn span(&self) -> Span {
        match self {
            Guard::Compare { left, right, .. } => left.span().to(right.span()),
            Guard::Call { span, .. } | Guard::Not { span, .. } => *span,
            Guard::Member { variable, set } => set.last().map_or(variable.span, |name| variable.span.to(name.span)),
            Guard::Field { rest, value, .. } => rest.span.to(value.span),
            Guard::Any(guards) => match (guards.first(), guards.last()) {
                (Some(first), Some(last)) => first.span().to(last.span()),
                _ => Span::default(),
            },
        }
    }
}
