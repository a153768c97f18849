//! Programs of machine operations, decoded for one launch.
//!
//! A register is a row of 32 words, one for each lane: general registers, uniform registers (with the same word in each
//! lane), then the literals of the program. So an operand is a row, whatever it was in the word. Two rows are special:
//! the zero row, as which `RZ` and `URZ` are read, and the sink, to which writes of them go.

use oriole_interp::ImageAccess;
use oriole_ir::ops::{AtomOp, Compare as FloatCompare, Type};
use oriole_semantics::mbarrier::Arrive;
use oriole_semantics::scalar::{FloatExtreme, ScalarOp};
use oriole_semantics::tensor::{MatrixProduct, Side};

use super::doubles::DoubleOp;
use super::lanes::Lanes;

/// How many general registers there are, the constant one included.
pub const GENERAL: u16 = 256;
/// The first row of uniform registers.
pub const UNIFORM: u16 = GENERAL;
/// How many uniform registers there are at most.
pub const UNIFORMS: u16 = 256;
/// The row that is zero.
pub const ZERO: u16 = UNIFORM + UNIFORMS;
/// The row to which writes go that nobody reads; it has neighbours, since pairs and quads are written.
pub const SINK: u16 = ZERO + 1;
/// The first row of literals.
pub const LITERALS: u16 = SINK + 8;

/// The place of the predicate that is always true, and of the uniform one.
pub const TRUE: u8 = 7;
/// Where uniform predicates begin; the last of them is true.
pub const UNIFORM_PREDICATES: u8 = 8;
/// The place to which predicates go that nobody reads.
pub const NOWHERE: u8 = 16;
/// How many places of predicates there are.
pub const PREDICATES: usize = 17;

/// What is done with an operand before it is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mark {
    /// Nothing.
    #[default]
    Plain,
    /// Two's complement.
    Negate,
    /// All bits are flipped.
    Invert,
    /// These bits are cleared, then those flipped: signs of floats.
    Bits {
        /// What is kept.
        keep: u32,
        /// What is flipped.
        flip: u32,
    },
}

/// An operand of one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Src {
    /// The row.
    pub row: u16,
    /// What is done with it.
    pub mark: Mark,
}

/// A predicate that is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pred {
    /// Its place.
    pub at: u8,
    /// Whether its opposite is meant.
    pub not: bool,
}

impl Pred {
    /// What is always true.
    pub const TRUE: Pred = Pred { at: TRUE, not: false };
}

/// A truth value: a predicate, or the sign of a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Truth {
    /// A predicate.
    Pred(Pred),
    /// Whether a word is negative.
    Sign(Src),
}

/// An operand of an operation that is computed lane by lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    /// Nothing.
    None,
    /// A word.
    Word(Src),
    /// Two words, the lower one first.
    Pair(Src, Src),
    /// A half of a word: whether the upper one.
    Half(Src, bool),
    /// A byte of a word.
    Byte(Src, u8),
    /// Two halves of a word, the lower result first: whether each is the upper one.
    Packed(Src, [bool; 2]),
    /// A predicate.
    Pred(Pred),
}

/// How a comparison ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Combine {
    /// Both hold.
    And,
    /// One holds.
    Or,
    /// Exactly one holds.
    Xor,
}

impl Combine {
    /// The masks of lanes combined.
    pub fn of(self, a: u32, b: u32) -> u32 {
        match self {
            Combine::And => a & b,
            Combine::Or => a | b,
            Combine::Xor => a ^ b,
        }
    }
}

/// How integers are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compare {
    /// Never.
    False,
    /// Less.
    Lt,
    /// Equal.
    Eq,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Not equal.
    Ne,
    /// Greater or equal.
    Ge,
    /// Always.
    True,
}

/// An address: a register, a uniform register and an offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address {
    /// The register, and whether it has two words.
    pub base: Option<(u16, bool)>,
    /// The uniform register, and whether it has two words.
    pub uniform: Option<(u16, bool)>,
    /// The offset.
    pub offset: i64,
    /// What the register is multiplied with.
    pub scale: u8,
}

/// A memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Space {
    /// Whatever the address says.
    Generic,
    /// Global memory.
    Global,
    /// Shared memory of the CTA.
    Shared,
    /// Shared memory of the CTAs of the cluster.
    Cluster,
    /// The thread's own memory.
    Local,
}

/// How many bytes are moved, and how narrow ones fill a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Width {
    /// Bytes: 1, 2, 4, 8, 16 or 32.
    pub bytes: u8,
    /// Whether narrow values are extended by their sign.
    pub signed: bool,
}

/// A read-modify-write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Modify {
    /// An operation of PTX on values of a type.
    Op(AtomOp, Type),
    /// Compare and exchange.
    Cas,
    /// The same, of which the result says whether an exchange was made: 1 or 0.
    Cast,
    /// The count of lanes is added (`POPC.INC`).
    Count,
}

/// How a load combines what replicas hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OfReplicas {
    /// By an operation of PTX on values of a type.
    Op(AtomOp, Type),
    /// As a sum of halves that is accumulated in single precision and rounded once.
    SingleSum(Type),
}

impl OfReplicas {
    /// The type of an element.
    pub fn ty(self) -> Type {
        match self {
            OfReplicas::Op(_, ty) | OfReplicas::SingleSum(ty) => ty,
        }
    }
}

/// How many registers a program may read: rows of general ones, and of uniform ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Used {
    /// General registers.
    pub general: u16,
    /// Uniform ones.
    pub uniform: u16,
}

/// The most words that an operand has which is named by its first register.
const MOST_WORDS: u16 = 8;

impl Used {
    /// All registers.
    pub const ALL: Used = Used { general: GENERAL, uniform: UNIFORMS };

    /// Notes a register, with those that may belong to it.
    pub fn note(&mut self, row: u16) {
        let (count, first, most) = match row {
            ..UNIFORM => (&mut self.general, 0, GENERAL),
            _ => (&mut self.uniform, UNIFORM, UNIFORMS),
        };
        *count = u16::max(*count, (row - first + MOST_WORDS).min(most));
    }
}

/// The rows of a warp in a product of its warpgroup.
#[derive(Clone)]
pub struct GroupMultiply {
    /// The meaning for eight columns.
    pub product: MatrixProduct,
    /// How many times as many columns there are.
    pub tiles: u16,
    /// The inner extent.
    pub inner: usize,
    /// The first factor.
    pub left: GroupLeft,
    /// The uniform registers that describe the second factor in shared memory, and how it is read.
    pub right: (u16, Side),
    /// The result.
    pub dst: u16,
    /// What is added, if a predicate holds.
    pub addend: u16,
    /// See `addend`.
    pub adds: Pred,
}

/// Where the first factor of a warpgroup's product is.
#[derive(Clone, Copy)]
pub enum GroupLeft {
    /// In registers.
    Registers(u16, Side),
    /// In shared memory, as uniform registers describe.
    Shared(u16, Side),
}

/// What a vote asks of a predicate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vote {
    /// Whether it holds in all lanes.
    All,
    /// Whether it holds in one.
    Any,
    /// Whether it is the same in all.
    Equal,
}

/// A literal that a launch decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Constant {
    /// The bank.
    pub bank: u8,
    /// Where in it, in bytes.
    pub offset: u64,
    /// The place among the literals.
    pub at: usize,
}

/// A value of the launch or of the thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Special {
    /// The thread's place in its CTA, by axis.
    Tid(u8),
    /// The CTA's place in the grid, by axis.
    Ctaid(u8),
    /// The lane.
    Lane,
    /// The warp.
    Warp,
    /// The lanes below, above and at the lane.
    LaneMask(Order),
    /// The CTA's number in its cluster.
    Rank,
    /// Instructions executed so far: the low word, or the high one.
    Clock(bool),
    /// The upper half of the window of shared memory.
    SharedWindow,
    /// A constant.
    Constant(u32),
}

/// Lanes in relation to one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// The lane itself.
    Eq,
    /// Those below.
    Lt,
    /// Those below, and the lane.
    Le,
    /// Those above.
    Gt,
    /// Those above, and the lane.
    Ge,
}

/// What a barrier of the CTA is used for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarrierUse {
    /// Wait.
    Sync,
    /// Arrive and continue.
    Arrive,
    /// Wait, and reduce a predicate.
    Reduce(Reduction),
}

/// A reduction of predicates over a CTA.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reduction {
    /// How many are true.
    Popc,
    /// Whether all are.
    And,
    /// Whether one is.
    Or,
}

/// How a lane is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shuffle {
    /// By number.
    Idx,
    /// So many below.
    Up,
    /// So many above.
    Down,
    /// By exclusive or.
    Bfly,
}

/// One to three operands, and the result, over all lanes.
pub type Fn1 = fn(&Lanes) -> Lanes;
/// See [`Fn1`].
pub type Fn2 = fn(&Lanes, &Lanes) -> Lanes;
/// See [`Fn1`].
pub type Fn3 = fn(&Lanes, &Lanes, &Lanes) -> Lanes;

/// What an operation does.
#[derive(Clone)]
pub enum Kind {
    /// Nothing.
    Nop,
    /// A function of one word.
    One(Fn1, u16, Src),
    /// A function of two words.
    Two(Fn2, u16, [Src; 2]),
    /// A function of three words.
    Three(Fn3, u16, [Src; 3]),
    /// A logical function of three words by its table, and whether the result is not zero.
    Lop3 {
        /// The result.
        dst: u16,
        /// Operands.
        srcs: [Src; 3],
        /// The table.
        table: u8,
        /// Where the predicate goes, what it is combined with, and whether by and.
        test: Option<(u8, Pred, bool)>,
    },
    /// A sum of three words with carries.
    Add3 {
        /// The result.
        dst: u16,
        /// Where carries go: of one, of two.
        carries: [u8; 2],
        /// Operands.
        srcs: [Src; 3],
        /// Carries that are added.
        more: [Option<Pred>; 2],
    },
    /// A product and a sum: see [`Product`].
    Mad(Product),
    /// A shifted word and a sum.
    Lea {
        /// The result.
        dst: u16,
        /// Where the carry goes.
        carry: u8,
        /// The shifted word, the addend, the upper word.
        srcs: [Src; 3],
        /// The distance.
        shift: u8,
        /// Whether the upper half of the shifted pair is taken.
        high: bool,
        /// Whether the upper word is the sign of the lower one.
        extends: bool,
        /// A carry that is added.
        more: Option<Pred>,
    },
    /// A comparison of integers.
    Compare {
        /// Where it goes, and where its opposite.
        dsts: [u8; 2],
        /// Operands.
        srcs: [Src; 2],
        /// How.
        compare: Compare,
        /// Whether they are signed.
        signed: bool,
        /// How it is combined with what.
        combine: (Combine, Pred),
        /// What decides where they are equal: the comparison of the lower words.
        lower: Option<Pred>,
    },
    /// A comparison of single floats.
    CompareFloats {
        /// Where it goes, and where its opposite.
        dsts: [u8; 2],
        /// Operands.
        srcs: [Src; 2],
        /// How.
        compare: FloatCompare,
        /// Whether subnormal floats count as zeros.
        flushes: bool,
        /// How it is combined with what.
        combine: (Combine, Pred),
    },
    /// An operation on doubles.
    Doubles(DoubleOp, u16, [(Src, Src); 3]),
    /// A comparison of doubles, as of single floats.
    CompareDoubles {
        /// Where it goes, and where its opposite.
        dsts: [u8; 2],
        /// Operands.
        srcs: [(Src, Src); 2],
        /// How.
        compare: FloatCompare,
        /// How it is combined with what.
        combine: (Combine, Pred),
    },
    /// An operation on integers of two words: see [`Wide`].
    Wide {
        /// What.
        op: Wide,
        /// The result.
        dst: u16,
        /// Where carries go, or what a comparison says and its opposite.
        preds: [u8; 2],
        /// Operands, lower words first.
        srcs: [(Src, Src); 3],
        /// What is done with them.
        marks: [Mark; 3],
        /// What is added as carries, or combined, or decides.
        with: [Option<Pred>; 2],
    },
    /// The first word where a predicate is true, else the second.
    Select(u16, [Src; 2], Pred),
    /// The smaller or larger of two words, of which the first may be a sum.
    Pick {
        /// The result.
        dst: u16,
        /// Two words, or two that are added and one.
        srcs: [Src; 3],
        /// The choice, given the words and whether the smaller one is wanted.
        pick: fn(u32, u32, bool) -> u32,
        /// Where the smaller one is wanted.
        min: [Pred; 2],
        /// How the first two are added, if they are.
        add: Option<Fn2>,
        /// Where it goes whether the first one was chosen.
        chosen: Option<Chosen>,
    },
    /// The smaller or larger of two words, and of that and a third.
    Pick3 {
        /// The result.
        dst: u16,
        /// Three words.
        srcs: [Src; 3],
        /// The choice.
        pick: fn(u32, u32, bool) -> u32,
        /// Where the smaller one is wanted, of each choice.
        min: [Pred; 2],
    },
    /// Two logical functions of three predicates by their tables.
    Plop3([u8; 2], [Truth; 3], [u8; 2]),
    /// Whatever is computed lane by lane.
    Scalar {
        /// The meaning.
        op: ScalarOp,
        /// The result, and how many words it has.
        dst: (u16, u8),
        /// Where its two results go if they are predicates.
        preds: [u8; 2],
        /// Operands.
        values: [Value; 5],
    },
    /// As [`Kind::Scalar`] on doubles, of whose result the upper word is kept.
    Upper {
        /// The meaning.
        op: ScalarOp,
        /// The result.
        dst: u16,
        /// Operands.
        values: [Value; 5],
    },
    /// A comparison of both halves, of which each result that holds is a word's half.
    SetHalves {
        /// The comparison.
        op: ScalarOp,
        /// The result.
        dst: u16,
        /// Operands.
        values: [Value; 3],
        /// What stands for true.
        one: u16,
    },
    /// Which of two doubles is the smaller or larger one: whether the first, and whether neither is a number.
    Prefer {
        /// Where that goes.
        preds: [u8; 2],
        /// Lower and upper words.
        srcs: [Src; 4],
        /// Whether the smaller one is meant.
        min: bool,
    },
    /// Whether a quotient of floats needs the long way.
    CheckDivision(u8, [Src; 2]),
    /// The first where a predicate holds, else the second.
    Either(Pred, Box<[Kind; 2]>),
    /// One where the predicate holds, else none.
    If(Pred, Box<Kind>),
    /// One behind the other.
    Sequence(Box<[Kind; 2]>),
    /// Predicates of a mask, from a number on, into a byte of a word, over another word.
    PredsToReg(u16, Src, u32, u8, u8),
    /// A byte of a word into predicates.
    RegToPreds(Src, u32, u8, u8),
    /// A word of a bank at an address.
    LoadConstant {
        /// The result.
        dst: u16,
        /// How much.
        width: Width,
        /// The bank.
        bank: u8,
        /// The address in it.
        address: Address,
    },
    /// A load.
    Load {
        /// The result.
        dst: u16,
        /// From where.
        space: Space,
        /// How much.
        width: Width,
        /// The address.
        address: Address,
    },
    /// An access to a texture or a surface.
    Image(Box<ImageWord>),
    /// A load of all replicas of multicast memory, combined.
    LoadCombined {
        /// The result.
        dst: u16,
        /// How many bytes.
        bytes: u8,
        /// How.
        combine: OfReplicas,
        /// The address.
        address: Address,
    },
    /// A store.
    Store {
        /// What is stored.
        src: u16,
        /// Where.
        space: Space,
        /// How much.
        width: Width,
        /// The address.
        address: Address,
    },
    /// A read-modify-write.
    Atomic {
        /// The old value.
        dst: u16,
        /// Where.
        space: Space,
        /// How much.
        bytes: u8,
        /// What.
        modify: Modify,
        /// The address.
        address: Address,
        /// The operand, and the one that replaces what equals it.
        srcs: [u16; 2],
        /// Where the predicate goes that says whether it was done: not where the memory cannot do it.
        done: u8,
    },
    /// A copy from global to shared memory.
    CopyAsync {
        /// Where to.
        to: Address,
        /// Where from.
        from: Address,
        /// How many bytes.
        bytes: u8,
        /// Whether the address from which it is tells how many of the last bytes are zeros and not copied: by how much
        /// it is off from a multiple of the size. So ptxas says it of a copy that reads fewer bytes than it writes.
        fills: bool,
        /// Where false, zeros are written.
        unless: Pred,
    },
    /// Tiles of 8 rows of 16 bytes from shared memory; row `r` of tile `t` stands where lane `8 * t + r` says.
    LoadTiles {
        /// The result: a word for each tile.
        dst: u16,
        /// How many tiles.
        count: u8,
        /// Whether rows and columns of 16-bit elements are exchanged.
        transposed: bool,
        /// The address.
        address: Address,
    },
    /// The same to shared memory.
    StoreTiles {
        /// A word for each tile.
        src: u16,
        /// How many tiles.
        count: u8,
        /// Whether rows and columns of 16-bit elements are exchanged.
        transposed: bool,
        /// The address.
        address: Address,
    },
    /// A tile with rows and columns exchanged.
    Transpose(u16, u16),
    /// A product of a warpgroup.
    GroupMultiply(Box<GroupMultiply>),
    /// A product of matrices and a sum.
    Multiply {
        /// The meaning.
        product: Box<MatrixProduct>,
        /// The result.
        dst: u16,
        /// Both factors and the addend.
        srcs: [u16; 3],
        /// Which of these are doubles whose signs are changed.
        negated: [bool; 3],
        /// What says which elements a sparse factor has.
        metadata: u16,
    },
    /// A special register into one or two words.
    Special(u16, [Special; 2], u8),
    /// The word of the first active lane, into a uniform register.
    First {
        /// The result.
        dst: u16,
        /// The word.
        src: Src,
        /// Where it goes which lanes have another word.
        differs: u8,
        /// Whether that is added to what is there.
        or: bool,
    },
    /// A word of another lane.
    Shuffle {
        /// How it is chosen.
        mode: Shuffle,
        /// Whether there is one.
        in_range: u8,
        /// The result.
        dst: u16,
        /// The word, which lane, and bounds.
        srcs: [Src; 3],
    },
    /// Whether all, or any, of the active lanes' predicates are true; and the lanes in which it is.
    Vote {
        /// What is asked.
        vote: Vote,
        /// The lanes in which the predicate holds.
        dst: u16,
        /// The answer.
        pred: u8,
        /// The predicate.
        src: Pred,
    },
    /// The lanes with an equal value; all, or any.
    Match {
        /// The lanes.
        dst: u16,
        /// Whether all are.
        pred: Option<u8>,
        /// The value.
        srcs: (u16, bool),
    },
    /// A reduction over the active lanes, into a uniform register.
    Redux(u16, Src, oriole_ir::ops::ReduxOp, bool),
    /// The smallest or largest float of all lanes.
    ReduxFloat(u16, Src, FloatExtreme),
    /// The lowest active lane.
    Elect(u8, u16),
    /// Goes to a place where a second predicate holds too.
    Branch(u32, Pred),
    /// Goes to a place with all lanes where one goes there, in which a second predicate holds too.
    BranchAny(u32, Pred),
    /// Goes to a place with all lanes where lanes of a mask are missing, or where none is.
    BranchDivergent {
        /// Where to.
        to: u32,
        /// The mask.
        members: Src,
        /// Whether some must be missing.
        missing: bool,
        /// Who counts as being there: the guard, which does not choose the lanes that go.
        there: Pred,
    },
    /// Goes to an address in a register pair, plus a distance from the function's first word.
    Jump(u16, i64),
    /// Goes to a place that an address in the word names: in the code, or a function of the driver.
    Call(u32),
    /// Ends lanes.
    Exit(Pred),
    /// Notes the active lanes in a convergence barrier.
    Bssy(u8),
    /// Waits for them.
    Bsync(u8),
    /// Leaves a convergence barrier.
    Break(u8),
    /// A convergence barrier into a register, and whether it is cleared.
    BarrierToReg(u16, u8, bool),
    /// A register into a convergence barrier.
    RegToBarrier(u8, Src),
    /// Waits for the lanes of a mask.
    WarpSync {
        /// The mask; all lanes where there is none.
        members: Option<Src>,
        /// Whether lanes of other masks may not run beside them.
        exclusive: bool,
    },
    /// Waits for the lanes of a mask, which then execute what follows together, and continue at a place.
    Collective(Option<Src>, u32),
    /// Ends what is executed together.
    EndCollective,
    /// Lets others go first.
    Yield,
    /// A barrier of the CTA: its number, how many threads, the predicate.
    Barrier(BarrierUse, Src, Option<Src>, Pred),
    /// What a barrier's reduction gave.
    BarrierResult(u16, u8),
    /// Which window an address lies in.
    Window(u8, Window, Address),
    /// Arrives at the cluster's barrier.
    ClusterArrive,
    /// Waits at the cluster's barrier.
    ClusterWait,
    /// An operation on a barrier in shared memory.
    Sync(Box<Synchronize>),
    /// A copy of many bytes, or a reduction.
    Bulk(Box<Bulk>),
    /// A store or a reduction that a barrier counts.
    Remote(Box<Remote>),
    /// The address of the next word.
    Here(u16, i64),
    /// Stops the kernel.
    Trap,
    /// Nothing that this interpreter models: why.
    Unknown(String),
}

/// A window of the generic address space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Window {
    /// Global memory.
    Global,
    /// Shared memory of the CTA.
    Shared,
    /// Shared memory of the CTAs of the cluster.
    Cluster,
    /// The thread's own memory.
    Local,
}

/// An operation on a barrier in shared memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Synchronize {
    /// What is done.
    pub op: SyncOp,
    /// Where its 64 bits go as they were before.
    pub dst: u16,
    /// Where an answer goes.
    pub pred: u8,
    /// Where it is.
    pub address: Address,
    /// Whether it may be that of another CTA of the cluster.
    pub is_remote: bool,
    /// The operand.
    pub src: u16,
}

/// What is done with a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SyncOp {
    /// Its 64 bits are exchanged.
    Exchange,
    /// Its 64 bits are read.
    Load,
    /// Whether the phase of a parity, the operand's highest bit, is over.
    IsOver,
    /// So many arrivals, or bytes.
    Arrive(Count, Arrive),
    /// An arrival as code for SMs before `sm_90` knows it.
    ArriveBefore90,
}

/// How many arrivals, and what they do with the bytes that a barrier counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Count {
    /// One arrives.
    One,
    /// As many as the operand says.
    Operand,
    /// One arrives, and so many bytes as the operand says are expected.
    Expects,
    /// None arrives, and so many bytes are expected.
    Bytes,
    /// None arrives, and so many bytes have come.
    Complete,
}

/// A copy of many bytes between global and shared memory, or a reduction. It is done at once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bulk {
    /// Whether it goes to global memory.
    pub to_global: bool,
    /// Whether it comes from there.
    pub from_global: bool,
    /// The uniform pair that says where to: an address in global memory, or one in shared memory and the barrier that
    /// counts the bytes.
    pub to: u16,
    /// The uniform registers that say where from.
    pub from: u16,
    /// The uniform register with the size in units of 16 bytes, and the CTAs that it goes to above it.
    pub size: u16,
    /// Whether it goes to several CTAs.
    pub multicast: bool,
    /// How it is combined with what is there.
    pub combine: Option<(AtomOp, Type)>,
}

/// A store or a reduction in shared memory of the cluster that a barrier counts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remote {
    /// The pair of registers that hold the address, and that of the barrier.
    pub address: u16,
    /// Added to both.
    pub offset: i64,
    /// What is stored.
    pub src: u16,
    /// How many bytes.
    pub bytes: u8,
    /// How it is combined with what is there.
    pub combine: Option<(AtomOp, Type)>,
}

/// A product of two words, to which something is added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Product {
    /// The result: one row, or two for a wide one.
    pub dst: u16,
    /// Where the carry goes.
    pub carry: u8,
    /// Factors, and the addend, whose upper word comes last.
    pub srcs: [Src; 4],
    /// Which half is kept.
    pub part: Part,
    /// Whether the factors are signed.
    pub signed: bool,
    /// A carry that is added.
    pub more: Option<Pred>,
    /// Whether the addend is subtracted.
    pub subtracts: bool,
}

/// Operations on integers of two words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wide {
    /// The first operand.
    Move,
    /// The sum of all three and of carries.
    Add,
    /// The first where the predicate holds, else the second.
    Select,
    /// The smaller one where the predicate holds, else the larger; whether signed.
    Extreme(bool),
    /// A comparison, whether signed, and how it is combined.
    Compare(Compare, bool, Combine),
}

/// The part of a product that is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The lower word; the addend is one.
    Low,
    /// Both words.
    Wide,
    /// The upper word; the addend is two words.
    High,
}

/// Which of two words was chosen, as predicates.
#[derive(Clone, Copy)]
pub struct Chosen {
    /// Where it goes of the words or of their lower halves, and of their upper halves.
    pub preds: [u8; 2],
    /// Whether the first one was, given the words and whether the smaller one is wanted.
    pub is_chosen: fn(u32, u32, bool) -> [bool; 2],
}

/// An operation.
#[derive(Clone)]
pub struct Op {
    /// The condition.
    pub guard: Pred,
    /// What it does.
    pub kind: Kind,
}

/// The operations of a kernel and of all that it can call.
pub struct Program {
    /// One for each word.
    pub ops: Vec<Op>,
    /// The rows behind [`LITERALS`]; those of words of a bank are zero.
    pub literals: Vec<Lanes>,
    /// The words of banks among them.
    pub constants: Vec<Constant>,
    /// The registers that it may read.
    pub used: Used,
    /// The words.
    pub words: Vec<u128>,
    /// Where functions begin, with their names.
    pub functions: Vec<(u32, String)>,
}

/// Where the handle of an image is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImageHandle {
    /// In a word, below the number of a sampler.
    Word(u16),
    /// In two uniform registers, the sampler's in the second.
    Uniform(u16),
}

/// How the offsets of an access lie in a word, the first of them lowest: signed, each of so many bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offsets {
    /// The lowest bit of the first.
    pub first: u8,
    /// How far they are from each other.
    pub apart: u8,
    /// How many bits an offset has.
    pub bits: u8,
    /// Whether a layer is below them.
    pub has_layer: bool,
}

/// An access to an image with its registers, in the order of PTX.
#[derive(Clone, Debug)]
pub struct ImageWord {
    /// The access.
    pub access: ImageAccess,
    /// Where the handle is.
    pub handle: ImageHandle,
    /// The layer and the coordinates.
    pub coordinates: Vec<u16>,
    /// The level, where one is given, or what the coordinates differ by: along each direction, of both neighbours.
    pub levels: Vec<u16>,
    /// The word with the offsets, and how they lie in it.
    pub offsets: Option<(u16, Offsets)>,
    /// The depth that is compared.
    pub reference: Option<u16>,
    /// Results, or what is stored.
    pub values: Vec<u16>,
    /// The predicate that says whether something was missing.
    pub missing: u8,
}
