//! The syntax tree of a PTX module.
//!
//! The tree says what was written and nothing about what it means: an opcode is its base name and its modifiers in
//! order, a name is a slice of the source. Everything that a diagnostic may want to point at carries a [`Span`].
//!
//! A body is flat. Statements are one vector in which [`Statement::ScopeStart`] and [`Statement::ScopeEnd`] stand for
//! braces, and modifiers and operands lie in two pools of the body that statements refer to by [`List`]. So an
//! instruction costs no allocation of its own, deep nesting cannot overflow a stack when the tree is dropped,
//! and operands are `Copy`. Read a list with `&body[list]`.

use std::marker::PhantomData;
use std::ops::{Index, Range};

/// A range of bytes in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One behind the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes as a range, to slice the source with.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// From the start of this span to the end of `last`.
    pub fn to(self, last: Span) -> Span {
        Span { start: self.start, end: last.end.max(self.start) }
    }
}

impl From<Span> for miette::SourceSpan {
    fn from(span: Span) -> miette::SourceSpan {
        span.range().into()
    }
}

/// A name and its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name<'s> {
    /// The name as written; dotted words come without their dot.
    pub text: &'s str,
    /// Where it stands.
    pub span: Span,
}

/// A whole PTX file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Module<'s> {
    /// `.version`.
    pub version: Version,
    /// Everything named by `.target`, in order: `sm_90`, `debug`, ...
    pub targets: Vec<Name<'s>>,
    /// `.address_size`: 32 or 64; 32 when the directive is missing, as PTX ISA 11.1.3 has it.
    pub address_size: u32,
    /// Variables, functions and aliases in the order of the text.
    pub items: Vec<Item<'s>>,
    /// The constants that are more than a literal, in the order of the text.
    pub expressions: Vec<Expression>,
    /// The names of source files by their index (`.file`).
    pub files: Vec<(u64, &'s str)>,
    /// Where code comes from, in the order of the text (`.loc`).
    pub locations: Vec<Location>,
}

/// From here on, code comes from a line of a source file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    /// The directive.
    pub span: Span,
    /// The index of the file.
    pub file: u64,
    /// The line, counted from 1; 0 where there is none.
    pub line: u64,
}

/// A constant expression, as it was folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expression {
    /// All of it.
    pub span: Span,
    /// What it denotes.
    pub value: Constant,
}

/// The PTX ISA version of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Version {
    /// Before the dot.
    pub major: u32,
    /// Behind the dot.
    pub minor: u32,
}

/// Something declared at module level.
#[derive(Debug, Clone, PartialEq)]
pub enum Item<'s> {
    /// A variable in `.global`, `.const`, `.shared`, ...
    Variable(Variable<'s>),
    /// A `.func` or `.entry`, with or without its body.
    Function(Function<'s>),
    /// `.alias name, aliasee;`
    Alias {
        /// The new name.
        name: Name<'s>,
        /// The function that it stands for.
        aliasee: Name<'s>,
    },
    /// A module-wide `.pragma`.
    Pragma(Name<'s>),
}

/// Who may see a symbol (PTX ISA 11.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Linkage {
    /// Nothing written: this module only.
    #[default]
    Internal,
    /// `.extern`
    Extern,
    /// `.visible`
    Visible,
    /// `.weak`
    Weak,
    /// `.common`
    Common,
}

/// State spaces that a declaration can name (PTX ISA 5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// `.reg`
    Reg,
    /// `.global`
    Global,
    /// `.const`
    Const,
    /// `.shared`
    Shared,
    /// `.local`
    Local,
    /// `.param`
    Param,
    /// `.tex`, deprecated.
    Tex,
}

macro_rules! scalar_types {
    ($($variant:ident $name:literal $bits:literal;)*) => {
        /// Types that a declaration can name (PTX ISA 5.2).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ScalarType {
            $(#[doc = concat!("`.", $name, "`")] $variant,)*
        }

        impl ScalarType {
            /// The type of this name (without its dot), if there is one.
            pub fn from_name(name: &str) -> Option<ScalarType> {
                match name {
                    $($name => Some(ScalarType::$variant),)*
                    _ => None,
                }
            }

            /// The name without its dot.
            pub fn name(self) -> &'static str {
                match self {
                    $(ScalarType::$variant => $name,)*
                }
            }

            /// Size in bits; one for predicates, 64 for opaque handles.
            pub fn bits(self) -> u32 {
                match self {
                    $(ScalarType::$variant => $bits,)*
                }
            }
        }
    };
}

scalar_types! {
    B8 "b8" 8; B16 "b16" 16; B32 "b32" 32; B64 "b64" 64; B128 "b128" 128;
    U8 "u8" 8; U16 "u16" 16; U32 "u32" 32; U64 "u64" 64;
    S8 "s8" 8; S16 "s16" 16; S32 "s32" 32; S64 "s64" 64;
    F16 "f16" 16; F16x2 "f16x2" 32; Bf16 "bf16" 16; Bf16x2 "bf16x2" 32; F32 "f32" 32; F64 "f64" 64;
    Pred "pred" 1;
    TexRef "texref" 64; SamplerRef "samplerref" 64; SurfRef "surfref" 64;
}

/// A declared variable, register, register range or parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable<'s> {
    /// The whole declarator, from its first directive.
    pub span: Span,
    /// Who may see it.
    pub linkage: Linkage,
    /// Where it lives.
    pub space: Space,
    /// `.align`, in bytes, a power of two.
    pub align: Option<u32>,
    /// `.attribute(...)`.
    pub attributes: Vec<Attribute<'s>>,
    /// Elements of a vector type: 2, 4 or 8; 1 for a scalar.
    pub lanes: u8,
    /// Type of a scalar or of a vector's element.
    pub ty: ScalarType,
    /// `.ptr` of an entry's parameter.
    pub pointer: Option<Pointer>,
    /// Its name; `_` for the nameless parameters of a prototype.
    pub name: Name<'s>,
    /// `%r<n>` declares `%r0` to `%r(n-1)`; `None` where one name is declared. Nothing is expanded.
    pub count: Option<u64>,
    /// Array dimensions, outermost first; only the first may be open (`None`).
    pub dimensions: Vec<Option<u64>>,
    /// What stands behind `=`.
    pub initializer: Option<Initializer<'s>>,
}

impl Variable<'_> {
    /// Size in bytes of one element: a scalar or a whole vector. Zero for predicates.
    pub fn element_bytes(&self) -> u64 {
        u64::from(self.ty.bits() / 8) * u64::from(self.lanes)
    }

    /// Size in bytes; an open dimension takes its length from the initializer, and is empty without one.
    ///
    /// The parser has made sure that the product of the written dimensions fits 63 bits.
    pub fn bytes(&self) -> u64 {
        let elements = self.dimensions.iter().map(|dimension| match (dimension, &self.initializer) {
            (Some(length), _) => *length,
            (None, Some(Initializer { kind: InitializerKind::List(list), .. })) => list.len() as u64,
            (None, _) => 0,
        });
        elements.fold(self.element_bytes(), u64::saturating_mul)
    }

    /// The alignment in bytes: the written one, or the natural one of the element.
    pub fn alignment(&self) -> u64 {
        self.align.map_or_else(|| self.element_bytes().max(1), u64::from)
    }
}

/// `.ptr`: what an entry's parameter points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pointer {
    /// The space pointed into; `None` for a generic address.
    pub space: Option<Space>,
    /// `.align` of the memory pointed to.
    pub align: Option<u32>,
}

/// One entry of `.attribute(...)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute<'s> {
    /// `managed`, `unified`, ...
    pub name: Name<'s>,
    /// Numbers in parentheses behind it.
    pub arguments: Vec<u64>,
}

/// An initial value, with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Initializer<'s> {
    /// Where it stands.
    pub span: Span,
    /// The value.
    pub kind: InitializerKind<'s>,
}

/// The kinds of initial values (PTX ISA 5.4.4).
#[derive(Debug, Clone, PartialEq)]
pub enum InitializerKind<'s> {
    /// A number.
    Constant(Constant),
    /// The address of a symbol.
    Address(Box<SymbolAddress<'s>>),
    /// `{a, b, ...}`; nested no deeper than the parser allows.
    List(Vec<Initializer<'s>>),
    /// `field = value` of a `.samplerref` or `.texref`.
    Field(Box<(Name<'s>, Name<'s>)>),
}

/// `sym`, `generic(sym)`, `0xFF00(sym)`, each perhaps with `+offset`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SymbolAddress<'s> {
    /// The variable or function.
    pub symbol: Name<'s>,
    /// Whether the address is converted to a generic one.
    pub generic: bool,
    /// `mask(sym)`: which byte of the address is meant, as a mask like `0xFF00`.
    pub mask: Option<u64>,
    /// Bytes behind the symbol.
    pub offset: i64,
}

/// A constant: a literal or a folded constant expression (PTX ISA 4.5).
#[derive(Debug, Clone, Copy)]
pub enum Constant {
    /// `.s64`
    Signed(i64),
    /// `.u64`
    Unsigned(u64),
    /// `0f...`: exact bits of an `.f32`.
    Single(u32),
    /// `0d...` or decimal: exact bits of an `.f64`.
    Double(u64),
}

impl PartialEq for Constant {
    fn eq(&self, other: &Constant) -> bool {
        use Constant::*;
        match (self, other) {
            (Signed(a), Signed(b)) => a == b,
            (Unsigned(a), Unsigned(b)) | (Double(a), Double(b)) => a == b,
            (Single(a), Single(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Constant {}

impl Constant {
    /// The 64 bits of an integer; `None` for floating point.
    pub fn integer_bits(self) -> Option<u64> {
        match self {
            Constant::Signed(value) => Some(value as u64),
            Constant::Unsigned(value) => Some(value),
            Constant::Single(_) | Constant::Double(_) => None,
        }
    }
}

/// A `.func` or `.entry`.
#[derive(Debug, Clone, PartialEq)]
pub struct Function<'s> {
    /// From the linkage to the end of the parameters.
    pub span: Span,
    /// Who may see it.
    pub linkage: Linkage,
    /// `.entry` rather than `.func`.
    pub is_entry: bool,
    /// `.attribute(...)`.
    pub attributes: Vec<Attribute<'s>>,
    /// Its name.
    pub name: Name<'s>,
    /// Return parameters, in `.param` or `.reg`.
    pub returns: Vec<Variable<'s>>,
    /// Parameters, in `.param` or `.reg`.
    pub parameters: Vec<Variable<'s>>,
    /// `.maxntid`, `.noreturn`, ... in order.
    pub directives: Vec<Directive<'s>>,
    /// The body; `None` for a declaration.
    pub body: Option<Body<'s>>,
}

/// A performance or ABI directive of a function, with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directive<'s> {
    /// Name without its dot.
    pub name: Name<'s>,
    /// What follows it.
    pub arguments: Vec<DirectiveArgument<'s>>,
}

/// An argument of a [`Directive`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectiveArgument<'s> {
    /// A non-negative integer.
    Integer(u64),
    /// A string, without its quotes.
    Text(&'s str),
}

/// Elements of one of a body's two pools.
#[derive(Debug)]
pub struct List<T> {
    start: u32,
    length: u32,
    of: PhantomData<fn() -> T>,
}

impl<T> List<T> {
    fn range(self) -> Range<usize> {
        self.start as usize..self.start as usize + self.length as usize
    }

    /// How many elements there are.
    pub fn len(self) -> usize {
        self.length as usize
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.length == 0
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        List { start: 0, length: 0, of: PhantomData }
    }
}

impl<T> Clone for List<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for List<T> {}

impl<T> PartialEq for List<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.start, self.length) == (other.start, other.length)
    }
}

/// Moves `items` behind the end of `pool`. Pools are bounded by the number of tokens, which fits `u32`.
fn append<T>(pool: &mut Vec<T>, items: impl Iterator<Item = T>) -> List<T> {
    let start = pool.len();
    pool.extend(items);
    List { start: start as u32, length: (pool.len() - start) as u32, of: PhantomData }
}

/// The statements of a function, and the pools that they refer to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Body<'s> {
    /// From `{` to `}`.
    pub span: Span,
    /// Statements in the order of the text; scopes are balanced.
    pub statements: Vec<Statement<'s>>,
    modifiers: Vec<Name<'s>>,
    operands: Vec<Operand<'s>>,
}

impl<'s> Body<'s> {
    /// An empty body with room for so many elements.
    pub(super) fn with_capacity(statements: usize, modifiers: usize, operands: usize) -> Body<'s> {
        Body {
            span: Span::default(),
            statements: Vec::with_capacity(statements),
            modifiers: Vec::with_capacity(modifiers),
            operands: Vec::with_capacity(operands),
        }
    }

    /// How many operands the body's instructions and tables have.
    pub(super) fn operand_count(&self) -> usize {
        self.operands.len()
    }

    pub(super) fn add_operands(&mut self, items: impl Iterator<Item = Operand<'s>>) -> List<Operand<'s>> {
        append(&mut self.operands, items)
    }

    /// Adds one modifier to a list that ends the pool.
    pub(super) fn add_modifier(&mut self, list: &mut List<Name<'s>>, modifier: Name<'s>) {
        if list.is_empty() {
            list.start = self.modifiers.len() as u32;
        }
        self.modifiers.push(modifier);
        list.length += 1;
    }
}

impl<'s> Index<List<Name<'s>>> for Body<'s> {
    type Output = [Name<'s>];

    fn index(&self, list: List<Name<'s>>) -> &Self::Output {
        &self.modifiers[list.range()]
    }
}

impl<'s> Index<List<Operand<'s>>> for Body<'s> {
    type Output = [Operand<'s>];

    fn index(&self, list: List<Operand<'s>>) -> &Self::Output {
        &self.operands[list.range()]
    }
}

/// One statement of a body.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement<'s> {
    /// `{`
    ScopeStart(Span),
    /// `}`
    ScopeEnd(Span),
    /// `name:`
    Label(Name<'s>),
    /// A register or variable of the scope; boxed since it is large and rare beside instructions.
    Variable(Box<Variable<'s>>),
    /// An instruction.
    Instruction(Instruction<'s>),
    /// `name: .branchtargets a, b;` The list holds [`OperandKind::Name`] only.
    BranchTargets {
        /// The table's name.
        name: Name<'s>,
        /// The labels.
        targets: List<Operand<'s>>,
    },
    /// `name: .calltargets f, g;` The list holds [`OperandKind::Name`] only.
    CallTargets {
        /// The table's name.
        name: Name<'s>,
        /// The functions.
        targets: List<Operand<'s>>,
    },
    /// `name: .callprototype (ret) _ (params);`
    CallPrototype(Box<CallPrototype<'s>>),
    /// `.pragma "text";` without the quotes.
    Pragma(Name<'s>),
}

/// The signature of functions that are called through a pointer.
#[derive(Debug, Clone, PartialEq)]
pub struct CallPrototype<'s> {
    /// The prototype's name.
    pub name: Name<'s>,
    /// Return parameters.
    pub returns: Vec<Variable<'s>>,
    /// Parameters.
    pub parameters: Vec<Variable<'s>>,
    /// `.noreturn`, `.abi_preserve`, ...
    pub directives: Vec<Directive<'s>>,
}

/// `@guard opcode.modifiers operands;`
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Instruction<'s> {
    /// From the guard or opcode to the last operand.
    pub span: Span,
    /// `@%p` or `@!%p`.
    pub guard: Option<Guard<'s>>,
    /// The opcode up to its first dot.
    pub opcode: Name<'s>,
    /// The modifiers in order, without their dots.
    pub modifiers: List<Name<'s>>,
    /// The operands in order.
    pub operands: List<Operand<'s>>,
}

impl Instruction<'_> {
    /// The opcode with all its modifiers, as one place.
    pub fn mnemonic_span(&self, body: &Body<'_>) -> Span {
        let last = body.modifiers[self.modifiers.range()].last();
        last.map_or(self.opcode.span, |modifier| self.opcode.span.to(modifier.span))
    }
}

/// The predicate that an instruction depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guard<'s> {
    /// The predicate register.
    pub predicate: Name<'s>,
    /// Whether `!` precedes it.
    pub negated: bool,
}

/// An operand and its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Operand<'s> {
    /// Where it stands.
    pub span: Span,
    /// What it is.
    pub kind: OperandKind<'s>,
}

/// The kinds of operands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OperandKind<'s> {
    /// A register, special register, symbol or label.
    Name(&'s str),
    /// `%tid.x`, `%v.w`, or the byte and half selectors `%r1.b0`, `%r1.h1`.
    Component {
        /// Before the dot.
        name: &'s str,
        /// Behind the dot.
        component: &'s str,
    },
    /// `symbol+offset` outside brackets: an address as a value.
    Sum {
        /// The symbol.
        name: &'s str,
        /// Bytes behind it.
        offset: i64,
    },
    /// `symbol[index]`: an array element, to be scaled by the element's size.
    Element {
        /// The array.
        name: &'s str,
        /// Which element.
        index: i64,
    },
    /// `symbol[%r1]` or `symbol[%r1+1]`: likewise.
    Indexed {
        /// The array.
        name: &'s str,
        /// Which element: a name, or its sum with a number; one element.
        index: List<Operand<'s>>,
    },
    /// A number.
    Constant(Constant),
    /// `{a, b, ...}`
    Vector(List<Operand<'s>>),
    /// `[...]`
    Address(Address<'s>),
    /// `a|b`: two results, always two elements.
    Pair(List<Operand<'s>>),
    /// `_`
    Sink,
    /// `!%p`
    Not(&'s str),
    /// `-%r1` of the video instructions; one element.
    Negate(List<Operand<'s>>),
    /// `(a, b)` of a call.
    Group(List<Operand<'s>>),
}

/// What is in brackets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Address<'s> {
    /// A register or symbol; `None` for an absolute address.
    pub base: Option<&'s str>,
    /// Bytes added to the base, or the absolute address itself.
    pub offset: i64,
    /// What follows the first comma, as in `[tex, {x, y}]`.
    pub rest: List<Operand<'s>>,
}
