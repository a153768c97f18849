//! The decoded form of a module: what the engine executes.
//!
//! Decoding resolves every operand to a slot, so that the engine never looks at the IR: registers, constants and
//! addresses of variables all are in one array of 32-lane words per frame (predicates in another one). Phis
//! become copies on stubs that stand right before their block, and an `else` becomes a move before its instruction.

use oriole_ir::ops::{AtomOp, BoolOp, Opcode, ReduxOp, ShuffleMode, Type, UndefTransfer, VoteMode};
use oriole_ir::template::Template;
use oriole_ir::{FuncId, Inst, Module, inst_to_string};

use super::bulk::BulkOp;
use super::image::ImageOp;
use super::matrix::MatrixOps;
use super::mbarrier::MbarrierOp;
use super::outcome::Place as InstPlace;
use super::stretch::StretchOp;
use super::strong::Strong;
use super::tensor_map::TensorOp;
use super::warpgroup::WarpgroupOp;
use super::words::Words;
use oriole_semantics::scalar::{FloatExtreme, ScalarOp};

/// The index of a word or a predicate in a frame.
pub type Slot = u32;

/// No guard.
pub const ALWAYS: Slot = u32::MAX;

/// Operations on two 32-bit words that the engine runs over all lanes at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bin32 {
    Add,
    Sub,
    Mul,
    MulHiU,
    MulHiS,
    And,
    Or,
    Xor,
    MinU,
    MaxU,
    MinS,
    MaxS,
    Shl,
    ShrU,
    ShrS,
    FAdd,
    FSub,
    FMul,
}

/// Operations on one 32-bit word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Un32 {
    Not,
    Neg,
    Abs,
    FNeg,
    FAbs,
    Popc,
    F32FromU32,
    F32FromS32,
    SextByte,
    SextHalf,
    ZextByte,
    ZextHalf,
}

/// Operations on three 32-bit words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tri32 {
    Mad,
    Fma,
    FunnelLeftWrap,
    FunnelRightWrap,
    Lop3(u8),
    BfeU32,
}

/// Operations on two 64-bit values (shift counts are one word).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bin64 {
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    Shl,
    ShrU,
    ShrS,
    FAdd,
    FSub,
    FMul,
}

/// Products of two words as 64-bit values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wide {
    MulU,
    MulS,
    MadU,
    MadS,
}

/// Comparisons that the engine runs over all lanes at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Test {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// What is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compared {
    U32,
    S32,
    U64,
    S64,
    F32,
}

/// A bitwise operation on predicates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PredOp {
    And,
    Or,
    Xor,
    Not,
    Mov,
}

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Mov32,
    Mov64,
    Un32(Un32),
    Bin32(Bin32),
    Tri32(Tri32),
    Bin64(Bin64),
    Wide(Wide),
    SetP(Compared, Test),
    Sel32,
    Sel64,
    Pred(PredOp),
    /// Sign- or zero-extends a word to 64 bits.
    Sext64,
    Zext64,
    /// Anything else that one lane computes from registers; see [`Program::scalars`].
    Scalar,
    /// See [`Program::packs`].
    Pack,
    /// A special register; `x` is its index.
    Special,
    /// The address of a variable in the frame: `a` is its offset.
    LocalAddress,
    /// See [`Program::accesses`].
    Load,
    Store,
    Atomic,
    AsyncCopy,
    /// An access to each replica of multicast memory: it loads where results have no operands beside them, stores
    /// where there is nothing to combine, and combines otherwise.
    Multimem,
    /// Whole words by a weak access, in whichever space.
    LoadWords,
    StoreWords,
    /// The same in one space.
    LoadShared,
    LoadGlobal,
    StoreShared,
    StoreGlobal,
    IsSpace,
    ToGeneric,
    FromGeneric,
    Jump,
    Branch,
    Switch,
    Call,
    Return,
    Exit,
    Trap,
    /// An instruction that has no meaning here.
    Opaque,
    Barrier,
    Collective,
    /// See [`Program::matrices`].
    Matrix,
    /// See [`Program::groups`].
    Warpgroup,
    /// See [`Program::stretches`].
    Stretch,
    /// See [`Program::bulks`].
    Bulk,
    /// See [`Program::tensors`].
    Tensor,
    /// See [`Program::images`].
    Image,
    /// See [`Program::mbarriers`].
    Mbarrier,
    /// The CTA whose shared memory an address lies in.
    CtaRank,
    /// The address of the same place in another CTA of the cluster.
    Mapa,
    ClusterArrive,
    ClusterWait,
    ActiveMask,
    /// See [`Program::fences`].
    Fence,
    Nop,
}

/// One operation. The meaning of the slots depends on the kind.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    pub kind: Kind,
    /// Whether it executes where the guard is false.
    pub negated: bool,
    /// The guard's predicate, or [`ALWAYS`].
    pub guard: Slot,
    pub dst: Slot,
    pub a: Slot,
    pub b: Slot,
    pub c: Slot,
    /// An index into a side table, or a label.
    pub x: u32,
}

/// Where a value stands and how wide it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// One word.
    Word(Slot),
    /// Two words.
    Pair(Slot),
    /// A predicate.
    Pred(Slot),
    /// Nowhere.
    None,
}

/// A register-only operation in its general form.
#[derive(Clone, Copy)]
pub struct ScalarOps {
    pub op: ScalarOp,
    /// Whether it is an instruction of the video family, which work on parts of their operands.
    pub is_video: bool,
    pub srcs: [Place; 5],
    pub dsts: [Place; 2],
    /// The value of the third source, a predicate, that settles every result by itself.
    pub settles: Option<bool>,
    /// How undefined bits reach the first result.
    pub undef: UndefTransfer,
    /// The bits of the first result that its type has; those above are zero whatever the operands.
    pub bits: u64,
}

/// The memory that an access goes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    Generic,
    Global,
    /// Shared memory of the executing CTA.
    Shared,
    /// Shared memory of any CTA of the cluster.
    Cluster,
    Local,
    Const,
    Param,
    /// Each replica of multicast memory.
    Multicast,
}

/// The address of an access: a base, an offset, and for variables of the frame the frame itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address {
    pub base: Place,
    pub offset: u64,
    /// The base is where the frame's variables begin.
    pub frame: bool,
    pub memory: Memory,
}

/// A read-modify-write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rmw {
    Op(AtomOp),
    Cas,
    /// The sum of the replicas of multicast memory, accumulated in f32 and rounded once.
    SingleSum,
}

/// The most elements of a vector access.
pub const MOST_ELEMENTS: usize = 8;

/// A slot for each element of an access, held in place: programs are decoded often and have many accesses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Elements {
    slots: [Slot; MOST_ELEMENTS],
    count: u8,
}

impl Elements {
    /// Adds an element.
    ///
    /// # Panics
    /// If there are [`MOST_ELEMENTS`] already.
    pub fn push(&mut self, slot: Slot) {
        self.slots[usize::from(self.count)] = slot;
        self.count += 1;
    }
}

impl std::ops::Deref for Elements {
    type Target = [Slot];

    fn deref(&self) -> &[Slot] {
        &self.slots[..usize::from(self.count)]
    }
}

/// A memory access.
#[derive(Clone, Debug)]
pub struct Access {
    pub address: Address,
    /// Bytes of one element.
    pub bytes: u8,
    /// Elements are sign-extended to a word.
    pub signed: bool,
    /// The first slot of each element's register.
    pub regs: Elements,
    /// The words of these registers, where whole words are moved.
    pub words: Words,
    /// The operation of an atomic access, its type, and its operands (compare value, new value for `cas`).
    pub rmw: Option<(Rmw, Type)>,
    pub operands: Elements,
    /// What it is to other threads; `None` where it is weak.
    pub strong: Option<Strong>,
}

impl Access {
    /// Whether it moves whole words, and is nothing to other threads.
    pub fn moves_weak_words(&self) -> bool {
        self.words.any() && self.strong.is_none()
    }
}

/// A copy of a few bytes that runs beside the thread.
#[derive(Clone, Debug)]
pub struct AsyncCopy {
    pub to: Address,
    pub from: Address,
    pub bytes: u8,
    /// How many bytes are read.
    pub size: Place,
}

/// A call.
#[derive(Clone, Debug)]
pub struct Call {
    /// The function, or where its address stands.
    pub target: Result<FuncId, Place>,
    /// Offset and size of each argument and result in the caller's frame.
    pub args: Vec<(u32, u32)>,
    pub results: Vec<(u32, u32)>,
}

/// A CTA barrier.
#[derive(Clone, Copy, Debug)]
pub struct Barrier {
    pub id: Place,
    pub count: Place,
    pub waits: bool,
    /// Whether all threads of a warp have to come to the same one.
    pub aligned: bool,
    pub reduce: Option<BarrierReduce>,
}

/// What a barrier computes from its threads' predicates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarrierReduce {
    Popc,
    Bool(BoolOp),
}

/// What a collective computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CollectiveOp {
    Sync,
    Shuffle(ShuffleMode),
    Vote(VoteMode),
    Ballot,
    MatchAny,
    MatchAll,
    Reduce(ReduxOp, Type),
    /// Of floats: the smallest or largest.
    ReduceFloat(FloatExtreme),
    Elect,
}

/// A warp collective: operands, then the member mask.
#[derive(Clone, Copy, Debug)]
pub struct Collective {
    pub op: CollectiveOp,
    pub srcs: [Place; 3],
    pub mask: Place,
    pub dsts: [Place; 2],
}

/// What the engine knows of a function.
#[derive(Clone, Debug, Default)]
pub struct FuncInfo {
    pub name: String,
    /// Its first operation; `None` without a body.
    pub entry: Option<u32>,
    pub words: u32,
    pub preds: u32,
    /// Constant words: slot, value.
    pub constants: Vec<(Slot, u32)>,
    /// Constant predicates that are true.
    pub truths: Vec<Slot>,
    /// Constant predicates: those above and these false ones.
    pub falsehoods: Vec<Slot>,
    /// Words of the constant bank: slot, byte offset in bank 0.
    pub bank: Vec<(Slot, u32)>,
    /// Bytes of its variables.
    pub frame: u32,
    /// Offset and size of each parameter and result in the frame (of a device function).
    pub params: Vec<(u32, u32)>,
    pub results: Vec<(u32, u32)>,
}

/// A decoded module.
#[derive(Default)]
pub struct Program {
    pub ops: Vec<Op>,
    /// The instruction of each operation, for messages.
    pub insts: Vec<(FuncId, Inst)>,
    /// Each operation's opcode; `None` for copies on edges and of `else` values.
    pub opcodes: Vec<Option<Opcode>>,
    pub functions: Vec<FuncInfo>,
    /// Whether anything asks where the system's own part of shared memory is.
    pub reserved_shared: bool,
    pub scalars: Vec<ScalarOps>,
    pub packs: Vec<(Vec<Place>, u8)>,
    pub accesses: Vec<Access>,
    /// Fences and what else orders accesses, barriers aside.
    pub fences: Vec<Strong>,
    /// Whether there is any strong operation but barriers.
    pub strong: bool,
    pub copies: Vec<AsyncCopy>,
    pub switches: Vec<Vec<u32>>,
    pub calls: Vec<Call>,
    pub barriers: Vec<Barrier>,
    pub collectives: Vec<Collective>,
    pub matrices: Vec<MatrixOps>,
    /// Products of warpgroups, and what is about them.
    pub groups: Vec<WarpgroupOp>,
    pub mbarriers: Vec<MbarrierOp>,
    pub images: Vec<ImageOp>,
    /// Operations that run beside the threads.
    pub bulks: Vec<BulkOp>,
    pub stretches: Vec<StretchOp>,
    /// Copies by tensor maps.
    pub tensors: Vec<TensorOp>,
}

impl Program {
    /// The instruction of an operation, in the module that was decoded.
    pub fn place(&self, module: &Module, pc: u32) -> InstPlace {
        let (func, inst) = self.insts[pc as usize];
        let func = &module.functions[func];
        let line = func.inst(inst).line;
        InstPlace {
            function: func.name.clone(),
            line,
            source: module.sources.of(line).map(|source| source.to_string()),
            text: inst_to_string(func, inst, Some(module)),
        }
    }

    /// The name of an instruction without a meaning, with its modifiers.
    pub fn opaque_name(&self, module: &Module, pc: u32) -> String {
        let (func, inst) = self.insts[pc as usize];
        let func = &module.functions[func];
        let text = func.srcs(inst).first().and_then(|first| func.text(*first));
        text.and_then(Template::of).map_or_else(String::new, |template| template.mnemonic().to_owned())
    }
}
