//! Rules with everything resolved: opcodes, field values and widths.
//!
//! A rule of a file stands for one [`Instance`] per combination of its variables. Instances are what is matched,
//! checked and proved. Their meaning: where the pattern matches an operation with its operands' definitions, and all
//! conditions hold, the operation's destinations become the results, at any value of the captures.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::language::ast::{BinaryOp, Contract, Relation, RuleDecl, UnaryOp};
use super::language::{Fault, Outline, Span, parse_one};
use super::resolve;
use oriole_ir::ops::{FieldValues, Opcode, Shape, Type};

/// A rule of a rule set. A built-in one is read and resolved as far as somebody asks, so that a program that optimizes
/// one kernel does not pay for rules about what the kernel does not hold.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its name; statistics and bisection know it by this.
    pub name: &'static str,
    /// The file that it comes from, as an index into the files of its set.
    pub source: usize,
    /// The highest that matches wins; among equals the first.
    pub priority: u16,
    /// The opcodes that its root may have.
    pub roots: Vec<Opcode>,
    /// The text of its file, and where it is there: for a rule that is not read yet.
    text: (&'static str, Range<usize>),
    decl: OnceLock<RuleDecl>,
    instances: OnceLock<Vec<Instance>>,
    unmet: OnceLock<&'static str>,
}

impl Rule {
    /// A rule of a file of the tree.
    pub fn later(outline: Outline<'static>, file: &'static str, source: usize) -> Rule {
        Rule {
            name: outline.name,
            source,
            priority: outline.priority,
            roots: resolve::root_opcodes(&outline.binders, &outline.head),
            text: (file, outline.range),
            decl: OnceLock::new(),
            instances: OnceLock::new(),
            unmet: OnceLock::new(),
        }
    }

    /// A rule that is read and resolved.
    pub fn new(decl: RuleDecl, source: usize, instances: Vec<Instance>) -> Rule {
        Rule {
            name: interned(&decl.name.text),
            source,
            priority: decl.priority,
            roots: resolve::root_opcodes(&decl.binders, &decl.pattern.head),
            text: ("", 0..0),
            decl: OnceLock::from(decl),
            instances: OnceLock::from(instances),
            unmet: OnceLock::new(),
        }
    }

    /// The rule as it is written.
    ///
    /// # Panics
    /// If a built-in rule has a fault, which a test excludes.
    pub fn decl(&self) -> &RuleDecl {
        let (file, range) = &self.text;
        self.decl.get_or_init(|| self.right(parse_one(file, range.clone())))
    }

    /// One instance for each combination of its variables.
    ///
    /// # Panics
    /// As [`Rule::decl`].
    pub fn instances(&self) -> &[Instance] {
        self.instances.get_or_init(|| self.right(resolve::instances(self.decl())))
    }

    /// The instances that may match an opcode with these values in some of its slots, and perhaps others.
    ///
    /// # Panics
    /// As [`Rule::decl`].
    pub fn instances_for(&self, opcode: Opcode, values: &[(usize, u8)]) -> Vec<Instance> {
        let Some(instances) = self.instances.get() else {
            return self.right(resolve::instances_for(self.decl(), opcode, values));
        };
        let fits = |instance: &&Instance| {
            let pattern = instance.pattern();
            pattern.opcode == opcode && values.iter().all(|(slot, value)| pattern.fields[*slot] >> value & 1 == 1)
        };
        instances.iter().filter(fits).cloned().collect()
    }

    /// What statistics call a match at which a guard fails: `NAME: guard`.
    pub fn unmet(&self) -> &'static str {
        self.unmet.get_or_init(|| interned(&format!("{}: guard", self.name)))
    }

    /// What statistics call a match at which another simplification, tried before, applies: `NAME: behind OTHER`.
    pub fn behind(&self, other: &str) -> &'static str {
        interned(&format!("{}: behind {other}", self.name))
    }

    /// What statistics call a match that is left alone, since the result would cost more in a loop: `NAME: in a loop`.
    pub fn in_a_loop(&self) -> &'static str {
        interned(&format!("{}: in a loop", self.name))
    }

    fn right<T>(&self, read: Result<T, Fault>) -> T {
        read.unwrap_or_else(|fault| panic!("the built-in rule `{}` is wrong: {fault}", self.name))
    }
}

/// A name that statistics can keep. Each name is kept once, however often its file is read.
pub(crate) fn interned(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(name);
    name
}

/// A rule for one combination of its variables.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Instance {
    /// The variables and their values, in the order of the rule.
    pub variables: Vec<(String, String)>,
    /// What is captured; elsewhere captures are indices into this.
    pub captures: Vec<Capture>,
    /// The names of captured fields.
    pub rests: Vec<Rest>,
    /// What is rewritten; always present.
    pub root: Option<Pattern>,
    /// What must hold.
    pub conditions: Vec<Condition>,
    /// Values that the results share, in order.
    pub lets: Vec<Value>,
    /// What the destinations become.
    pub results: Vec<Value>,
    /// How equal the results are.
    pub contract: Contract,
}

/// An operand that a pattern captures.
#[derive(Clone, PartialEq, Debug)]
pub struct Capture {
    /// Its name.
    pub name: String,
    /// Whether it is a constant.
    pub constant: bool,
    /// The bits that the pattern reads of it: the most of all its places. 0 where the place has no width.
    pub bits: u32,
    /// The type of its first place.
    pub ty: Option<Type>,
    /// Where it is first.
    pub span: Span,
}

/// The fields that a name captures.
#[derive(Clone, PartialEq, Debug)]
pub struct Rest {
    /// The name.
    pub name: String,
    /// The operation that they are taken from.
    pub opcode: Opcode,
    /// A bit for each slot that is taken.
    pub slots: u16,
}

/// An operation in a pattern.
#[derive(Clone, PartialEq, Debug)]
pub struct Pattern {
    /// The opcode.
    pub opcode: Opcode,
    /// For each slot of its row, a bit for each value that matches.
    pub fields: Vec<u64>,
    /// The captured fields, as an index into [`Instance::rests`].
    pub rest: Option<usize>,
    /// Its sources.
    pub srcs: Vec<Source>,
    /// Whether the value may have other uses; of no meaning at the root.
    pub shared: bool,
    /// A capture that stands for the value itself.
    pub binding: Option<usize>,
}

/// A source of a pattern.
#[derive(Clone, PartialEq, Debug)]
pub enum Source {
    /// Anything.
    Any,
    /// A captured value; the same wherever the capture is repeated.
    Capture(usize),
    /// A captured constant; likewise.
    Constant(usize),
    /// A constant with this value.
    Equals(Const),
    /// A value made by an operation.
    Inst(Box<Pattern>),
    /// A word of a wider register: a captured one, or one made by an operation.
    Word(u8, Box<Source>),
}

/// A constant expression of known width.
#[derive(Clone, PartialEq, Debug)]
pub struct Const {
    /// The width in bits, 1 to 64. Everything is computed modulo 2^bits.
    pub bits: u32,
    /// What is computed.
    pub kind: ConstKind,
}

/// What a constant expression computes.
#[derive(Clone, PartialEq, Debug)]
pub enum ConstKind {
    /// A number, within the width.
    Number(u64),
    /// A captured constant.
    Capture(usize),
    /// An operator on one constant of the same width.
    Unary(UnaryOp, Box<Const>),
    /// An operator on two of the same width.
    Binary(BinaryOp, Box<Const>, Box<Const>),
    /// A function.
    Function(Function, Vec<Const>),
    /// What an operation yields; unknown where that is not certain. The fields in `copied` come from a capture.
    Fold(Box<Operation>),
}

/// A function of constants.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Function {
    /// The position of the highest set bit; unknown for zero.
    Log2,
    /// The number of set bits.
    Popc,
    /// The number of zeros above the highest set bit.
    Clz,
    /// The number of zeros below the lowest set bit; the width for zero.
    Ctz,
    /// The smaller number, unsigned.
    Min,
    /// The larger number, unsigned.
    Max,
    /// The smaller number, signed.
    Smin,
    /// The larger number, signed.
    Smax,
    /// The bits, with zeros above.
    Zext,
    /// The bits, with copies of the sign above.
    Sext,
    /// The low bits.
    Trunc,
    /// So many ones, from bit 0; all of them from the width on.
    Mask,
}

/// A condition.
#[derive(Clone, PartialEq, Debug)]
pub enum Condition {
    /// A comparison of constants of the same width; false where one is unknown.
    Compare {
        /// The relation.
        relation: Relation,
        /// Whether it is signed.
        signed: bool,
        /// The left side.
        left: Const,
        /// The right side.
        right: Const,
    },
    /// Exactly one bit is set.
    PowerOfTwo(Const),
    /// A run of ones from bit 0, not empty.
    Mask(Const),
    /// These bits of a captured value are known to be zero.
    KnownZero(usize, Const),
    /// These bits are known to be one.
    KnownOne(usize, Const),
    /// Two captured values are known to have no set bit in common, among so many bits from bit 0 on. The lower capture
    /// is the first.
    Disjoint(usize, usize, u32),
    /// One of so many bits of a captured value, from bit 0 on, is known to be one.
    Nonzero(usize, u32),
    /// A captured value is known to be no NaN of this type, one of those with a single number.
    NotNan(usize, Type),
    /// All bits of a captured value's register from this one on are known to be zero: the value is used as a wider one
    /// than the pattern reads. Not written in rules; where results need it, it is added.
    Extended(usize, u32),
    /// Nothing but the pattern reads the register. Says nothing about what a rule means, like the next two.
    SingleUse(usize),
    /// Nothing reads the results of the root.
    Unused,
    /// The operand is no constant.
    Variable(usize),
    /// The operand is a constant.
    IsConstant(usize),
    /// A captured field has, or has not, this value.
    Field {
        /// The captured fields.
        rest: usize,
        /// The slot in the row of [`Rest::opcode`].
        slot: usize,
        /// Whether it must have the value.
        equal: bool,
        /// The value's index.
        value: u8,
    },
    /// The condition fails; false where a constant in it is unknown. That bits are not known says nothing about them.
    Not(Box<Condition>),
    /// One of them holds.
    Any(Vec<Condition>),
    /// Known from the variables alone.
    Always(bool),
}

/// A value in a result.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// A captured value.
    Capture(usize),
    /// A word of a captured 64-bit value.
    Word(u8, usize),
    /// A constant.
    Constant(Const),
    /// A value of [`Instance::lets`].
    Let(usize),
    /// A new value.
    Op(Box<Operation>),
}

/// An operation in a result.
#[derive(Clone, PartialEq, Debug)]
pub struct Operation {
    /// The opcode.
    pub opcode: Opcode,
    /// Its fields, apart from those that are copied.
    pub fields: FieldValues,
    /// The captured fields that it copies, as an index into [`Instance::rests`].
    pub rest: Option<usize>,
    /// Slots that are copied: of this operation, and of the captured one.
    pub copied: Vec<(usize, usize)>,
    /// Its sources.
    pub srcs: Vec<Value>,
}

impl Instance {
    /// What is rewritten.
    ///
    /// # Panics
    /// Never for an instance of a rule set: they all have a pattern.
    pub fn pattern(&self) -> &Pattern {
        self.root.as_ref().expect("an instance of a rule set has a pattern")
    }

    /// The variables as `T = u32, CMP = lt`.
    pub fn binding_text(&self) -> String {
        let texts: Vec<String> = self.variables.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        texts.join(", ")
    }
}

impl Pattern {
    /// Field values that match, the lowest where there are several.
    pub fn some_fields(&self) -> FieldValues {
        let mut values = FieldValues::default();
        for (slot, mask) in self.fields.iter().enumerate() {
            values.0[slot] = mask.trailing_zeros().min(63) as u8;
        }
        values
    }
}

/// The type of the values of a shape, immediates included; `None` where the place has no width of its own.
pub fn place_type(opcode: Opcode, fields: &FieldValues, shape: Shape) -> Option<Type> {
    match shape {
        Shape::Imm => Some(Type::B32),
        Shape::Offset => Some(Type::B64),
        _ => opcode.row().shape_type(fields, shape),
    }
}

/// All ones of a width.
pub fn ones(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}
