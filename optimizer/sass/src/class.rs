//! The columns of a row that say what an instruction does beside writing its results, and how long that takes.
//!
//! Every row names a [`Class`], and a class has every column. The effects (memory, space, order, convergence, flow)
//! are those of the mnemonic: all rows of a mnemonic have the same. The timing (pipe, latency, sources) is that of the
//! SMs of the row. The machine interpreter's decoder judges the effects, and ptxas's own stalls and barriers judge the
//! timing (`tests/timing.rs`).

/// What is done to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// Nothing.
    None,
    /// Bytes are read.
    Read,
    /// Bytes are written.
    Write,
    /// Bytes are read and written.
    Update,
}

/// Which memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Space {
    /// None.
    None,
    /// Whatever a generic address leads to.
    Generic,
    /// Global memory.
    Global,
    /// Shared memory, of this block or of another one of its cluster.
    Shared,
    /// The thread's own memory.
    Local,
    /// Banks of constants, which no instruction writes.
    Constant,
    /// Textures and surfaces.
    Image,
    /// Tensor memory.
    Tensor,
    /// Several of these.
    Several,
}

/// What keeps an instruction where it is, beside registers and memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Nothing.
    Free,
    /// It reads a special register: nothing if that never changes ([`STABLE`]), else as [`Order::State`].
    Special,
    /// It reads or changes state of the machine, such as convergence barriers or a clock.
    State,
    /// It begins or awaits work that is done beside the thread.
    Asynchronous,
    /// It orders accesses to memory.
    Fence,
    /// Threads wait for each other.
    Barrier,
}

/// Where control goes behind an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// To the next instruction.
    Next,
    /// To a function, and back to the next instruction.
    Call,
    /// To the target, and to the next instruction if a condition is not met.
    Jump,
    /// Back to the caller, and to the next instruction if a condition is not met.
    Return,
    /// Nowhere: the thread ends, unless a condition is not met.
    Leave,
}

impl Flow {
    /// Whether the instruction ends a block.
    pub const fn ends_block(self) -> bool {
        matches!(self, Flow::Jump | Flow::Return | Flow::Leave)
    }
}

/// The unit that executes an instruction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Pipe {
    /// Integers, logic, comparisons, predicates.
    Alu,
    /// Products and sums of floats of 32 bits, products of integers.
    Fma,
    /// Pairs of floats of 16 bits.
    Half,
    /// Floats of 64 bits.
    Double,
    /// Transcendental functions, conversions, counts of bits.
    Special,
    /// Products of matrices.
    Tensor,
    /// Loads, stores, shuffles, barriers: what goes through the memory queue.
    Memory,
    /// Textures and surfaces.
    Texture,
    /// One value for a warp.
    Uniform,
    /// Branches and convergence.
    Branch,
}

/// When results are there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Latency {
    /// After so many cycles: the fewest after which ptxas lets a reader issue on any SM of the row, addends of products
    /// apart, which are read later.
    Fixed(u8),
    /// When the write barrier is released.
    Variable,
}

/// When sources are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sources {
    /// At issue: the next instruction may overwrite them.
    AtIssue,
    /// Later; the read barrier is released then.
    Later,
}

/// All columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Class {
    /// What is done to memory.
    pub memory: Memory,
    /// Which memory.
    pub space: Space,
    /// What else keeps it where it is.
    pub order: Order,
    /// Whether results depend on which lanes execute it together.
    pub convergent: bool,
    /// Where control goes.
    pub flow: Flow,
    /// The unit.
    pub pipe: Pipe,
    /// When results are there.
    pub latency: Latency,
    /// When sources are read.
    pub sources: Sources,
}

impl Class {
    /// With a result after so many cycles, on another pipe.
    const fn on(self, pipe: Pipe, cycles: u8) -> Class {
        Class { pipe, latency: Latency::Fixed(cycles), sources: Sources::AtIssue, ..self }
    }

    /// With a result after so many cycles.
    pub const fn after(self, cycles: u8) -> Class {
        self.on(self.pipe, cycles)
    }

    /// With results and sources by scoreboard.
    pub const fn variable(self) -> Class {
        Class { latency: Latency::Variable, sources: Sources::Later, ..self }
    }

    /// With results that depend on which lanes execute it together.
    pub const fn convergent(self) -> Class {
        Class { convergent: true, ..self }
    }

    /// On the uniform datapath.
    pub const fn uniform(self) -> Class {
        Class { pipe: Pipe::Uniform, ..self }
    }

    /// With this effect on a space.
    const fn memory(self, memory: Memory, space: Space) -> Class {
        Class { memory, space, ..self }
    }

    /// Kept where it is.
    const fn order(self, order: Order) -> Class {
        Class { order, ..self }
    }

    /// Whether two classes have the same effects, whatever their timing.
    pub fn has_effects_of(&self, other: &Class) -> bool {
        let timed = Class { pipe: self.pipe, latency: self.latency, sources: self.sources, ..*other };
        *self == timed
    }
}

/// Integers, logic, comparisons: results depend on the operands alone.
pub const ALU: Class = Class {
    memory: Memory::None,
    space: Space::None,
    order: Order::Free,
    convergent: false,
    flow: Flow::Next,
    pipe: Pipe::Alu,
    latency: Latency::Fixed(4),
    sources: Sources::AtIssue,
};
/// Sums and products of floats, products of integers.
pub const FMA: Class = ALU.on(Pipe::Fma, 4);
/// Pairs of floats of 16 bits.
pub const HALVES_UNIT: Class = ALU.on(Pipe::Half, 4);
/// Floats of 64 bits, where the compiler counts cycles.
pub const DOUBLE: Class = ALU.on(Pipe::Double, 8);
/// Transcendental functions, conversions, counts of bits.
pub const SPECIAL_UNIT: Class = Class { pipe: Pipe::Special, ..ALU.variable() };
/// The uniform datapath.
pub const UNIFORM_UNIT: Class = ALU.on(Pipe::Uniform, 4);
/// Products of matrices, by all lanes of a warp.
pub const MATRIX: Class = ALU.on(Pipe::Tensor, 16).convergent();
/// What lanes say to each other at once.
pub const VOTING: Class = ALU.convergent();
/// What lanes say to each other through the memory queue.
pub const EXCHANGE: Class = Class { pipe: Pipe::Memory, ..ALU.variable() }.convergent();
/// Special registers.
pub const SPECIAL_REGISTER: Class = Class { pipe: Pipe::Memory, ..ALU.variable() }.order(Order::Special);
/// Special registers that are read at once.
pub const FAST_SPECIAL_REGISTER: Class = ALU.order(Order::Special);

/// Words of constant banks, through the memory queue.
pub const LOAD_CONSTANT: Class = Class { pipe: Pipe::Memory, ..ALU.variable() }.memory(Memory::Read, Space::Constant);
/// Loads by generic addresses.
pub const LOAD: Class = LOAD_CONSTANT.memory(Memory::Read, Space::Generic);
/// Loads of global memory.
pub const LOAD_GLOBAL: Class = LOAD.memory(Memory::Read, Space::Global);
/// Loads of shared memory.
pub const LOAD_SHARED: Class = LOAD.memory(Memory::Read, Space::Shared);
/// Loads of local memory.
pub const LOAD_LOCAL: Class = LOAD.memory(Memory::Read, Space::Local);
/// Stores by generic addresses.
pub const STORE: Class = LOAD.memory(Memory::Write, Space::Generic);
/// Stores to global memory.
pub const STORE_GLOBAL: Class = LOAD.memory(Memory::Write, Space::Global);
/// Stores to shared memory.
pub const STORE_SHARED: Class = LOAD.memory(Memory::Write, Space::Shared);
/// Stores to local memory.
pub const STORE_LOCAL: Class = LOAD.memory(Memory::Write, Space::Local);
/// Atomic operations and reductions by generic addresses.
pub const ATOMIC: Class = LOAD.memory(Memory::Update, Space::Generic);
/// Atomic operations on global memory.
pub const ATOMIC_GLOBAL: Class = LOAD.memory(Memory::Update, Space::Global);
/// Atomic operations on shared memory.
pub const ATOMIC_SHARED: Class = LOAD.memory(Memory::Update, Space::Shared);
/// Reads of textures and surfaces.
pub const FETCH: Class = Class { pipe: Pipe::Texture, ..LOAD.memory(Memory::Read, Space::Image) };
/// Questions about textures: no texel is read.
pub const IMAGE_QUESTION: Class = FETCH.memory(Memory::None, Space::None);
/// Stores to surfaces.
pub const STORE_IMAGE: Class = FETCH.memory(Memory::Write, Space::Image);
/// Atomic operations on surfaces.
pub const UPDATE_IMAGE: Class = FETCH.memory(Memory::Update, Space::Image);
/// What is done beside the thread: copies, products of warpgroups, what waits for them.
pub const ASYNCHRONOUS: Class = LOAD.memory(Memory::Update, Space::Several).order(Order::Asynchronous);
/// Barriers in shared memory.
pub const MEMORY_BARRIER: Class = ATOMIC_SHARED.order(Order::Barrier);
/// Fences and cache control.
pub const FENCE: Class = LOAD.memory(Memory::None, Space::None).order(Order::Fence);
/// Barriers of a block or a cluster.
pub const CTA_BARRIER: Class = FENCE.order(Order::Barrier).convergent();

/// State of the machine beside registers and memory.
pub const MACHINE_STATE: Class = ALU.order(Order::State);
/// The same through the memory queue.
pub const SLOW_STATE: Class = FENCE.order(Order::State);
/// Convergence of lanes.
pub const CONVERGENCE: Class = MACHINE_STATE.on(Pipe::Branch, 12).convergent();
/// Lanes wait for each other.
pub const MEETING: Class = CONVERGENCE.order(Order::Barrier);
/// Branches.
pub const JUMP: Class = Class { flow: Flow::Jump, ..CONVERGENCE };
/// Calls: the callee may do anything.
pub const CALL: Class = Class { flow: Flow::Call, ..CONVERGENCE }.memory(Memory::Update, Space::Several);
/// Returns.
pub const RETURN: Class = Class { flow: Flow::Return, ..CONVERGENCE };
/// Ends of threads.
pub const LEAVE: Class = Class { flow: Flow::Leave, ..CONVERGENCE };

/// The special registers that never change while a thread runs.
pub const STABLE: &[&str] = &[
    "SRZ",
    "SR_LANEID",
    "SR_TID",
    "SR_TID.X",
    "SR_TID.Y",
    "SR_TID.Z",
    "SR_CTAID.X",
    "SR_CTAID.Y",
    "SR_CTAID.Z",
    "SR_NTID",
    "SR_EQMASK",
    "SR_LTMASK",
    "SR_LEMASK",
    "SR_GTMASK",
    "SR_GEMASK",
    "SR_LWINHI",
    "SR_SWINHI",
    "SR_CgaCtaId",
    "SR_CgaSize",
];
