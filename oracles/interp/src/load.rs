//! From a module and a launch to a run, and from a run to its results.

use std::collections::BTreeMap;
use std::sync::Arc;

use cranelift_entity::{EntityRef, PrimaryMap};
use oriole_ir::diagnostics::counted;
use oriole_ir::ops::{Opcode, Space, Type};
use oriole_ir::reference::Settings;
use oriole_ir::{Directive, FuncId, FunctionKind, Inst, Linkage, Module, Relocation, SymbolRef};

use super::access::to_generic;
use super::asynchronous::InFlight;
use super::cluster::ClusterShape;
use super::concretize::Concretization;
use super::decode::{Addresses, DecodeError, decode, frame_layout};
use super::engine::{Count, Traced};
use super::image::{self, Images, REFERENCE_WINDOW};
use super::machine::{Effort, Machine, SLICE};
use super::mbarrier::MbarrierOp;
use super::memory::{Bytes, CODE_WINDOW, FIRST_VARIABLE, GAP, GlobalMemory, HEAP, MULTICAST_WINDOW};
use super::order::LaneOrder;
use super::outcome::{Outcome, Place, ThreadId};
use super::program::{Memory, Program};
use super::race::{self, Detector};
use super::strong::{Owner, Recorder, StrongTrace};
use super::tensor_map::encoded;
use oriole_launch::{Arg, ArgValue, HandleKind, Launch, MAX_CLUSTER};
use oriole_semantics::mbarrier::BarrierOp;

/// Where a kernel's parameters begin in constant bank 0, in bytes.
pub const PARAMETER_BANK: u32 = 0x210;
/// The step budget of a launch that names none.
const DEFAULT_STEPS: u64 = 1 << 28;
/// Bytes that the variables of a module in global memory may have together.
const MAX_VARIABLES: u64 = 128 << 20;

/// Stands for the address of dynamic shared memory until the static part is laid out.
const DYNAMIC: u64 = u64::MAX;

/// Why a module cannot run on a launch.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error, miette::Diagnostic)]
pub enum LoadError {
    /// An instruction cannot be decoded.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// There is no such entry.
    #[error("there is no entry `{name}`")]
    #[diagnostic(help("entries of the module: {known}"))]
    NoEntry {
        /// The name that was asked for.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// No entry is named and there is not exactly one.
    #[error("the module has {count}; say which one to launch", count = counted(.count, "entry"))]
    #[diagnostic(help("entries of the module: {known}"))]
    Ambiguous {
        /// How many there are.
        count: usize,
        /// Their names.
        known: String,
    },
    /// The launch has CTAs that a directive of the entry does not allow.
    #[error("`{entry}` says `.{directive} {allowed:?}`, the launch has blocks of {block:?} threads")]
    #[diagnostic(help("CUDA refuses such a launch"))]
    Threads {
        /// The entry.
        entry: String,
        /// The directive's name.
        directive: String,
        /// Its arguments.
        allowed: Vec<u64>,
        /// The extents of the launch's CTAs.
        block: [u32; 3],
    },
    /// The clusters are not what the entry, the grid or the machine takes.
    #[error("`{entry}` cannot run in clusters of {cluster:?} CTAs: {reason}")]
    #[diagnostic(help("`cluster` in the launch file gives the extents of a cluster in CTAs"))]
    Cluster {
        /// The entry.
        entry: String,
        /// The extents of clusters.
        cluster: [u32; 3],
        /// What does not fit.
        reason: String,
    },
    /// The launch has another number of arguments than the entry has parameters.
    #[error("`{entry}` takes {parameters}, the launch gives {arguments}", parameters = counted(.parameters, "argument"))]
    ArgumentCount {
        /// The entry.
        entry: String,
        /// Its parameters.
        parameters: usize,
        /// The launch's arguments.
        arguments: usize,
    },
    /// An argument has another size than its parameter.
    #[error("argument {index} (`{name}`) has {given}, the parameter `{parameter}` has {wanted}", given = counted(.given, "byte"))]
    ArgumentSize {
        /// The argument's place, from 0.
        index: usize,
        /// Its name.
        name: String,
        /// Its size.
        given: usize,
        /// The parameter's name.
        parameter: String,
        /// The parameter's size.
        wanted: u64,
    },
    /// A parameter for a texture, sampler or surface gets something else.
    #[error("argument {index} (`{name}`) is no {wanted}, which the parameter `{parameter}` is")]
    #[diagnostic(help("write `{wanted} = \"…\"` in the launch file, with the name of an image"))]
    Reference {
        /// The argument's place, from 0.
        index: usize,
        /// Its name.
        name: String,
        /// The parameter's name.
        parameter: String,
        /// What is wanted.
        wanted: &'static str,
    },
    /// A variable that is defined elsewhere, or is too large.
    #[error("variable `{name}` cannot be laid out: {reason}")]
    Variable {
        /// Its name.
        name: String,
        /// Why not.
        reason: &'static str,
    },
}

/// A decoded module, ready to run.
pub struct Executable<'m> {
    module: &'m Module,
    program: Program,
    constants: Bytes,
    shared: u32,
    variables: Vec<(u64, String, Bytes)>,
    /// Variables that are textures, samplers or surfaces.
    references: Vec<Reference>,
    /// Where each variable in shared memory begins, in order, and what is there.
    shared_owners: Vec<(u64, Owner)>,
}

/// What to observe of a run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The step budget; the launch's own where `None`.
    pub steps: Option<u64>,
    /// Operations that a warp executes before the next one's turn: another order of threads, just as good.
    pub slice: Option<u64>,
    /// Which lanes of a warp go first: another order, just as good.
    pub lanes: LaneOrder,
    /// What stands in for undefined values: then nothing is undefined, save bytes of memory that nobody writes.
    pub concretization: Option<Concretization>,
    /// Look for data races; also where the launch asks for it.
    pub races: bool,
    /// Count executed instructions by opcode.
    pub stats: bool,
    /// Note which operations any thread executes.
    pub reach: bool,
    /// Count how often each instruction is executed.
    pub counts: bool,
    /// Follow one thread.
    pub trace: Option<ThreadId>,
    /// Bytes whose stores are recorded: argument index and offset.
    pub watch: Vec<(usize, usize)>,
    /// Threads whose strong operations are listed: indices in the grid, in order.
    pub strong: Vec<u64>,
}

/// One instruction of the traced thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceEvent {
    /// The instruction.
    pub place: Place,
    /// Its first result, in up to 64 bits; `None` where it has none, as a store or a branch.
    pub value: Option<u64>,
}

/// How often an instruction was executed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Executed {
    /// The function.
    pub function: Arc<str>,
    /// The number of the instruction in its function; of machine code that of the word.
    pub place: u32,
    /// Groups of lanes that executed it together; one for each warp whose lanes never part.
    pub warps: u64,
    /// Threads that executed it.
    pub threads: u64,
}

/// A store to a watched byte.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoreRecord {
    /// The argument whose buffer was written, and the byte offset.
    pub argument: usize,
    /// The first byte written.
    pub offset: usize,
    /// How many bytes.
    pub bytes: u32,
    /// Who.
    pub thread: ThreadId,
    /// Where.
    pub place: Place,
}

/// Two accesses of different threads to the same byte, at least one a write, that nothing orders.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Race {
    /// The state space, and the byte's address in it.
    pub space: &'static str,
    /// The address.
    pub address: u64,
    /// Who accessed it first, where, and whether that was a write.
    pub first: (ThreadId, Place, bool),
    /// The same of the access that came later.
    pub second: (ThreadId, Place, bool),
}

impl std::fmt::Display for Race {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let verb = |write| if write { "writes" } else { "reads" };
        let ((ta, pa, wa), (tb, pb, wb)) = (&self.first, &self.second);
        write!(out, "race on {} byte {:#x}: {ta} {} it at {pa}, ", self.space, self.address, verb(*wa))?;
        write!(out, "{tb} {} it at {pb}", verb(*wb))
    }
}

/// A region of global memory after the run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GlobalState {
    /// The argument that it belongs to; `None` for a variable of the module.
    pub argument: Option<usize>,
    /// Its name.
    pub name: String,
    /// Its bytes, and which of them are undefined.
    pub bytes: Bytes,
}

/// What a run leaves.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// How it ended.
    pub outcome: Outcome,
    /// Global memory: buffers in argument order, then images, then variables.
    pub memory: Vec<GlobalState>,
    /// Instructions of warps that were executed.
    pub executed: u64,
    /// What the run took of its step budget: these, and more for events that take long.
    pub steps: u64,
    /// Instructions of threads by mnemonic, where they were counted.
    pub stats: BTreeMap<&'static str, u64>,
    /// Whether each operation of the program was executed, where that was noted.
    pub reached: Vec<bool>,
    /// How often each instruction was executed that was, where they were counted.
    pub counts: Vec<Executed>,
    /// The cycles in which the warps issued their words, each as if it were alone, where instructions were counted; of
    /// machine code.
    pub cycles: u64,
    /// What the traced thread did.
    pub trace: Vec<TraceEvent>,
    /// Stores to watched bytes, in order.
    pub stores: Vec<StoreRecord>,
    /// Data races, where they were looked for.
    pub races: Vec<Race>,
    /// What threads have performed of strong operations.
    pub strong: StrongTrace,
    /// Whether another [`LaneOrder`] may leave something else. Of machine code; PTX does not look.
    pub has_orders: bool,
}

impl RunResult {
    /// What the content of a place in [`Launch::contents`] has become.
    pub fn content(&self, place: usize) -> Option<&Bytes> {
        self.memory.get(place).map(|state| &state.bytes)
    }

    /// The buffer of an argument.
    pub fn buffer(&self, argument: usize) -> Option<&Bytes> {
        self.memory.iter().find(|state| state.argument == Some(argument)).map(|state| &state.bytes)
    }
}

/// What a launch gives an entry.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The entry's name.
    pub entry: String,
    /// Global memory: buffers in argument order, then variables of the module by name.
    pub global: GlobalMemory,
    /// The argument that owns each of the first regions.
    pub owners: Vec<usize>,
    /// Parameters, laid out as PTX does.
    pub params: Vec<u8>,
    /// Where each of them begins.
    pub offsets: Vec<usize>,
    /// The images, by their handles.
    pub images: Images,
    /// The clusters that the grid is made of.
    pub cluster: ClusterShape,
}

/// A variable that leads to an image.
struct Reference {
    address: u64,
    name: String,
    kind: HandleKind,
    settings: Settings,
}

/// Whether a structure of a launch has addresses.
fn has_pointers(launch: &Launch) -> bool {
    launch.args.iter().any(|arg| matches!(&arg.value, ArgValue::Structure(it) if !it.pointers.is_empty()))
}

/// What a variable of a type leads to.
fn handle_kind(ty: Type) -> Option<HandleKind> {
    Some(match ty {
        Type::TexRef => HandleKind::Texture,
        Type::SamplerRef => HandleKind::Sampler,
        Type::SurfRef => HandleKind::Surface,
        _ => return None,
    })
}

/// Global memory, what is bound to its places, and parameters.
struct Binding {
    global: GlobalMemory,
    /// The argument that owns each of the first regions.
    owners: Vec<usize>,
    images: Images,
    params: Bytes,
    offsets: Vec<usize>,
}

/// Where variables lie and what they hold.
struct Layout {
    addresses: Addresses,
    shared: u64,
    constants: u64,
    next_variable: u64,
    variables: u64,
}

/// Where variables begin, in bytes, which PTX does not say. What precedes them is undefined.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Placement {
    /// Those in shared memory.
    pub shared: u32,
    /// Those of a function in local memory, in its frame.
    pub frame: u32,
}

impl<'m> Executable<'m> {
    /// Decodes a module.
    pub fn new(module: &'m Module) -> Result<Executable<'m>, LoadError> {
        Executable::placed(module, Placement::default())
    }

    /// Decodes a module whose variables lie elsewhere than usual.
    pub fn placed(module: &'m Module, placement: Placement) -> Result<Executable<'m>, LoadError> {
        let mut layout = Layout {
            addresses: PrimaryMap::new(),
            shared: placement.shared.into(),
            constants: 0,
            next_variable: FIRST_VARIABLE,
            variables: 0,
        };
        for global in module.globals.values() {
            let address = layout.place(global)?;
            layout.addresses.push(address);
        }
        layout.shared = layout.shared.next_multiple_of(16);
        for address in layout.addresses.values_mut().filter(|address| **address == DYNAMIC) {
            *address = layout.shared;
        }
        let shared_owners = shared_owners(module, &layout);
        let program = decode(module, &layout.addresses, placement.frame)?;
        let mut constants = Bytes::defined(vec![0; layout.constants as usize]);
        let (mut variables, mut references) = (Vec::new(), Vec::new());
        for (id, global) in &module.globals {
            if let Some(kind) = handle_kind(global.ty) {
                let (address, name, settings) = (layout.addresses[id], global.name.clone(), Settings::of(&global.init));
                references.push(Reference { address, name, kind, settings });
                continue;
            }
            let bytes = initial_bytes(module, global, &layout.addresses);
            let address = layout.addresses[id];
            match global.space {
                Space::Const => {
                    bytes
                        .iter()
                        .enumerate()
                        .for_each(|(i, b)| constants.store(address as usize + i, 1, u64::from(*b), false));
                }
                Space::Shared => {}
                _ => variables.push((address, global.name.clone(), Bytes::defined(bytes))),
            }
        }
        let shared = layout.shared as u32;
        Ok(Executable { module, program, constants, shared, variables, references, shared_owners })
    }

    /// The module that it runs.
    pub fn module(&self) -> &'m Module {
        self.module
    }

    /// The instruction of an operation that a run speaks of.
    pub fn place(&self, pc: u32) -> Place {
        self.program.place(self.module, pc)
    }

    /// The name of what an address belongs to, on a launch.
    pub fn owner_name(&self, owner: Owner, launch: &Launch) -> String {
        let named = |variable: &&oriole_ir::Variable| Owner::variable(&variable.name) == owner;
        match owner {
            Owner::Argument(index) => format!("`{}`", launch.arg_name(index)),
            Owner::Variable(_) => match self.module.globals.values().find(named) {
                Some(variable) => format!("`{}`", variable.name),
                None => "a variable".to_owned(),
            },
            Owner::DynamicShared => "dynamic shared memory".to_owned(),
            Owner::Heap => "the heap".to_owned(),
        }
    }

    /// What each region of global memory belongs to that is mapped before the run: buffers, then variables.
    fn region_owners(&self, arguments: &[usize], launch: &Launch) -> Vec<Owner> {
        let buffers = arguments.iter().map(|argument| Owner::Argument(*argument));
        let images = launch.images.iter().map(|image| Owner::variable(&image.name));
        buffers.chain(images).chain(self.variables.iter().map(|(_, name, _)| Owner::variable(name))).collect()
    }

    /// Whether anything runs beside its threads.
    pub fn is_asynchronous(&self) -> bool {
        let arrives = |barrier: &MbarrierOp| matches!(barrier.op, BarrierOp::ArriveForCopies { .. });
        let Program { copies, bulks, tensors, mbarriers, groups, .. } = &self.program;
        let begins = !copies.is_empty() || !bulks.is_empty() || !tensors.is_empty();
        begins || !groups.is_empty() || mbarriers.iter().any(arrives)
    }

    /// Which operations a run that finishes may execute: all but traps, and what stands with one in a block.
    pub fn reachable(&self) -> Vec<bool> {
        let Program { insts, opcodes, .. } = &self.program;
        let mut doomed: Vec<(FuncId, Vec<Inst>)> = Vec::new();
        for (func, inst) in
            insts.iter().zip(opcodes).filter(|(_, opcode)| **opcode == Some(Opcode::Trap)).map(|(at, _)| at)
        {
            let function = &self.module.functions[*func];
            match function.block_of(*inst) {
                Some(block) if function.inst(*inst).guard.is_none() => {
                    doomed.push((*func, function.block_insts(block).collect()));
                }
                _ => doomed.push((*func, vec![*inst])),
            }
        }
        let dooms = |at: &(FuncId, Inst)| doomed.iter().any(|(func, insts)| *func == at.0 && insts.contains(&at.1));
        insts.iter().map(|at| !dooms(at)).collect()
    }

    /// Runs an entry.
    pub fn run(&self, launch: &Launch, options: &RunOptions) -> Result<RunResult, LoadError> {
        let entry = self.entry(launch)?;
        self.allow_threads(entry, launch)?;
        let Binding { global, owners, images, params, .. } = self.bind(entry, launch)?;
        let watch = options.watch.iter().filter_map(|(argument, offset)| {
            let index = owners.iter().position(|owner| owner == argument)?;
            Some(global.regions()[index].base + *offset as u64)
        });
        let watch = watch.collect();
        let strong = (self.program.strong || !options.strong.is_empty()).then(|| Recorder {
            listed: options.strong.clone(),
            regions: self.region_owners(&owners, launch),
            shared: self.shared_owners.clone(),
            ..Recorder::default()
        });
        let mut bank = vec![0; PARAMETER_BANK as usize];
        bank.extend_from_slice(params.data());
        let mut machine = Machine {
            module: self.module,
            program: &self.program,
            entry: entry.index(),
            block: launch.block,
            grid: launch.grid,
            cluster: self.cluster(entry, launch)?,
            peers: Vec::new(),
            numbers: Vec::new(),
            results: Box::default(),
            in_flight: InFlight::new(launch.copies.filter(|_| self.is_asynchronous())),
            dynamic_shared: launch.dynamic_shared,
            shared: self.shared,
            constants: &self.constants,
            images,
            params,
            bank,
            global,
            effort: Effort::new(options.steps.or(launch.steps).unwrap_or(DEFAULT_STEPS)),
            slice: options.slice.unwrap_or(SLICE).max(1),
            order: options.lanes,
            concretization: options.concretization,
            stacks: 0,
            counts: (options.stats || options.reach || options.counts)
                .then(|| vec![Count::default(); self.program.ops.len()]),
            trace: options.trace.map(|thread| (thread, Vec::new())),
            races: (options.races || launch.race_check).then(Detector::default),
            strong,
            watch,
            writes: Vec::new(),
        };
        let outcome = machine.run();
        let counts = machine.counts.take().unwrap_or_default();
        let reached = counts.iter().filter(|_| options.reach).map(|count| count.threads > 0).collect();
        let stats = self.stats(if options.stats { &counts[..] } else { &[] });
        let counts = self.executed(if options.counts { &counts[..] } else { &[] });
        Ok(RunResult { stats, reached, counts, ..self.result(machine, outcome, &owners) })
    }

    /// Counts of operations by mnemonic.
    fn stats(&self, counts: &[Count]) -> BTreeMap<&'static str, u64> {
        let mut stats = BTreeMap::new();
        for (count, opcode) in counts.iter().zip(&self.program.opcodes) {
            if let Some(opcode) = opcode.filter(|_| count.threads > 0) {
                *stats.entry(opcode.row().name).or_insert(0) += count.threads;
            }
        }
        stats
    }

    /// The counts of instructions that were executed. Of several operations that are one instruction, one has an
    /// opcode.
    fn executed(&self, counts: &[Count]) -> Vec<Executed> {
        let names: Vec<Arc<str>> = self.module.functions.values().map(|func| func.name.as_str().into()).collect();
        let operations = self.program.insts.iter().zip(&self.program.opcodes).zip(counts);
        let executed = operations.filter(|((_, opcode), count)| opcode.is_some() && count.warps > 0);
        let of = |((at, _), count): ((&(FuncId, Inst), _), &Count)| Executed {
            function: names[at.0.index()].clone(),
            place: at.1.as_u32(),
            warps: count.warps,
            threads: count.threads,
        };
        executed.map(of).collect()
    }

    /// PTX ISA, "Performance-Tuning Directives": `.reqntid` gives the extents of CTAs, `.maxntid` by its product the
    /// number of threads. Extents that are not given are 1.
    fn allow_threads(&self, entry: FuncId, launch: &Launch) -> Result<(), LoadError> {
        let func = &self.module.functions[entry];
        let threads = launch.block.map(u64::from);
        let refuses = |directive: &&Directive| {
            let allowed = std::array::from_fn(|axis| directive.values.get(axis).copied().unwrap_or(1));
            let product = |extents: [u64; 3]| extents.into_iter().fold(1, u64::saturating_mul);
            match directive.name.as_str() {
                "reqntid" => allowed != threads,
                "maxntid" => product(allowed) < product(threads),
                _ => false,
            }
        };
        match func.directives.iter().find(refuses) {
            None => Ok(()),
            Some(directive) => Err(LoadError::Threads {
                entry: func.name.clone(),
                directive: directive.name.clone(),
                allowed: directive.values.clone(),
                block: launch.block,
            }),
        }
    }

    /// PTX ISA, "Cluster Dimension Directives": `.reqnctapercluster` gives the extents of clusters, which the launch
    /// may repeat; `.maxclusterrank` bounds how many CTAs they have. Extents that are not given are 1.
    fn cluster(&self, entry: FuncId, launch: &Launch) -> Result<ClusterShape, LoadError> {
        let func = &self.module.functions[entry];
        let says = |name: &str| func.directives.iter().find(|directive| directive.name == name);
        let required = says("reqnctapercluster").map(|directive| {
            let extent = |axis| directive.values.get(axis).map_or(1, |value| u32::try_from(*value).unwrap_or(0));
            std::array::from_fn(extent)
        });
        let extents = launch.cluster.or(required).unwrap_or([1; 3]);
        let fail = |reason: String| Err(LoadError::Cluster { entry: func.name.clone(), cluster: extents, reason });
        if let Some(required) = required.filter(|required| *required != extents) {
            return fail(format!("it says `.reqnctapercluster {required:?}`"));
        }
        let ctas = extents.iter().map(|size| u64::from(*size)).product::<u64>();
        let most = says("maxclusterrank").and_then(|directive| directive.values.first().copied());
        if ctas == 0 || ctas > most.unwrap_or(MAX_CLUSTER).min(MAX_CLUSTER) {
            return fail(format!("a cluster has 1 to {} CTAs", most.unwrap_or(MAX_CLUSTER).min(MAX_CLUSTER)));
        }
        if (0..3).any(|axis| !launch.grid[axis].is_multiple_of(extents[axis])) {
            return fail(format!("a grid of {:?} CTAs is not made of them", launch.grid));
        }
        let is_explicit = launch.cluster.is_some() || required.is_some();
        if !is_explicit && says("explicitcluster").is_some() {
            return fail("it says `.explicitcluster`, and the launch names no cluster".to_owned());
        }
        Ok(ClusterShape { extents, is_explicit })
    }

    /// The first result of a traced instruction, as wide as its register.
    fn traced_value(&self, event: &Traced) -> Option<u64> {
        let (func, inst) = self.program.insts[event.pc as usize];
        let func = &self.module.functions[func];
        let register = func.regs()[func.defs(inst).next()?];
        let bits = if register.is_predicate() { 1 } else { 32 * u32::from(register.words.min(2)) };
        let value = u64::from(event.value.0) | u64::from(event.value.1) << 32;
        Some(value & (u64::MAX >> (64 - bits.max(1))))
    }

    fn result(&self, machine: Machine<'_>, outcome: Outcome, owners: &[usize]) -> RunResult {
        let events = machine.trace.as_ref().map_or(&[][..], |(_, events)| events);
        let shown = events.iter().filter(|event| self.program.opcodes[event.pc as usize].is_some());
        let trace = shown.map(|event| TraceEvent { place: machine.place(event.pc), value: self.traced_value(event) });
        let trace = trace.collect();
        let stores = machine.writes.iter().filter_map(|(write, thread, pc)| {
            let region = machine.global.find(0, write.address, 1)?;
            Some(StoreRecord {
                argument: *owners.get(region)?,
                offset: (write.address - machine.global.region(region).base) as usize,
                bytes: write.bytes,
                thread: *thread,
                place: machine.place(*pc),
            })
        });
        let stores = stores.collect();
        let conflicts = machine.races.as_ref().map_or(&[][..], |detector| &detector.conflicts);
        let side = |party: &race::Party| (machine.thread_at(party.thread), machine.place(party.pc), party.write);
        let races = conflicts.iter().map(|conflict| Race {
            space: if conflict.memory == Memory::Shared { "shared" } else { "global" },
            address: conflict.address,
            first: side(&conflict.first),
            second: side(&conflict.second),
        });
        let races = races.collect();
        let strong = machine.strong.map(|recorder| recorder.trace).unwrap_or_default();
        // Memory that a kernel allocates is not observable once it has ended.
        let regions = machine.global.into_regions().into_iter().filter(|region| region.base < HEAP).enumerate();
        let memory = regions.map(|(i, region)| GlobalState {
            argument: owners.get(i).copied(),
            name: region.name,
            bytes: region.bytes,
        });
        let (stats, reached, counts) = (BTreeMap::new(), Vec::new(), Vec::new());
        let (executed, steps) = (machine.effort.executed(), machine.effort.spent());
        let memory = memory.collect();
        RunResult {
            outcome,
            memory,
            executed,
            steps,
            stats,
            reached,
            counts,
            cycles: 0,
            trace,
            stores,
            races,
            strong,
            has_orders: false,
        }
    }

    /// The entry that a launch names, or the only one.
    fn entry(&self, launch: &Launch) -> Result<FuncId, LoadError> {
        let functions = &self.module.functions;
        let entries: Vec<FuncId> = functions
            .iter()
            .filter(|(_, f)| f.kind == FunctionKind::Entry && f.is_definition())
            .map(|(id, _)| id)
            .collect();
        let known = || entries.iter().map(|id| functions[*id].name.as_str()).collect::<Vec<_>>().join(", ");
        match (&launch.kernel, &entries[..]) {
            (Some(name), _) => {
                let found = entries.iter().find(|id| functions[**id].name == *name);
                found.copied().ok_or_else(|| LoadError::NoEntry { name: name.clone(), known: known() })
            }
            (None, [only]) => Ok(*only),
            (None, _) => Err(LoadError::Ambiguous { count: entries.len(), known: known() }),
        }
    }

    /// What a launch gives the entry that it names: for others who execute a program made of this one.
    ///
    /// # Errors
    ///
    /// If the launch does not fit the module.
    pub fn bound(&self, launch: &Launch) -> Result<Bound, LoadError> {
        let entry = self.entry(launch)?;
        self.allow_threads(entry, launch)?;
        let Binding { global, owners, images, params, offsets } = self.bind(entry, launch)?;
        let cluster = self.cluster(entry, launch)?;
        let entry = self.module.functions[entry].name.clone();
        Ok(Bound { entry, global, owners, params: params.data().to_vec(), offsets, images, cluster })
    }

    /// What an entry gets of a launch.
    fn bind(&self, entry: FuncId, launch: &Launch) -> Result<Binding, LoadError> {
        let func = &self.module.functions[entry];
        // Behind the arguments of all parameters there may be buffers that structures have the addresses of.
        let is_behind = |arg: &Arg| matches!(arg.value, ArgValue::Buffer(_));
        let fits = launch.args.get(func.params.len()..).is_some_and(|behind| behind.iter().all(is_behind))
            && (launch.args.len() == func.params.len() || has_pointers(launch));
        if !fits {
            let (parameters, arguments) = (func.params.len(), launch.args.len());
            return Err(LoadError::ArgumentCount { entry: func.name.clone(), parameters, arguments });
        }
        let mut global = GlobalMemory::default();
        let (mut owners, mut bases) = (Vec::new(), vec![0; launch.args.len()]);
        // All buffers get addresses before any parameter is filled: an alias may name a later argument.
        for (index, arg) in launch.args.iter().enumerate() {
            if let ArgValue::Buffer(buffer) = &arg.value {
                let bytes = Bytes::defined(buffer.bytes.clone());
                bases[index] = global.map_replicas(launch.arg_name(index), bytes, buffer.replicas);
                owners.push(index);
            }
        }
        let mut images = self.bind_images(launch, &mut global);
        for (address, name, bytes) in &self.variables {
            global.map_at(*address, name.clone(), bytes.clone());
        }
        let (offsets, _) = frame_layout(func, 0);
        let end = func.params.iter().map(|p| u64::from(offsets[*p]) + func.locals[*p].size()).max().unwrap_or(0);
        let mut params = vec![0; end as usize];
        for (index, (param, arg)) in func.params.iter().zip(&launch.args).enumerate() {
            let bytes = match &arg.value {
                ArgValue::Scalar(scalar) => scalar.to_bytes(),
                ArgValue::Bytes(bytes) => bytes.clone(),
                ArgValue::Structure(it) => it.with_addresses(|arg| bases.get(arg).copied().unwrap_or(0)),
                ArgValue::Buffer(_) => bases[index].to_le_bytes().to_vec(),
                ArgValue::Alias { arg, offset } => {
                    (bases.get(*arg).copied().unwrap_or(0).wrapping_add(*offset)).to_le_bytes().to_vec()
                }
                ArgValue::Multicast { arg, offset } => {
                    let first = bases.get(*arg).copied().unwrap_or(0).wrapping_add(*offset);
                    MULTICAST_WINDOW.wrapping_add(first).to_le_bytes().to_vec()
                }
                ArgValue::Null => vec![0; 8],
                ArgValue::TensorMap(map) => {
                    encoded(map, bases.get(map.arg).copied().unwrap_or(0).wrapping_add(map.offset))
                }
                ArgValue::Handle { kind, image } => image::handle(*kind, *image).to_le_bytes().to_vec(),
            };
            let variable = &func.locals[*param];
            if bytes.len() as u64 != variable.size() {
                return Err(LoadError::ArgumentSize {
                    index,
                    name: launch.arg_name(index),
                    given: bytes.len(),
                    parameter: variable.name.clone(),
                    wanted: variable.size(),
                });
            }
            if let Some(kind) = handle_kind(variable.ty) {
                let address = REFERENCE_WINDOW + u64::from(offsets[*param]);
                let handle = bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
                if images.pass(address, handle, &variable.name).is_none_or(|view| view.kind != kind) {
                    let (name, parameter) = (launch.arg_name(index), variable.name.clone());
                    return Err(LoadError::Reference { index, name, parameter, wanted: kind.name() });
                }
            }
            params[offsets[*param] as usize..][..bytes.len()].copy_from_slice(&bytes);
        }
        let offsets = func.params.iter().map(|param| offsets[*param] as usize).collect();
        Ok(Binding { global, owners, images, params: Bytes::defined(params), offsets })
    }

    /// Maps the launch's images, and has the module's variables lead to them.
    fn bind_images(&self, launch: &Launch, global: &mut GlobalMemory) -> Images {
        let mut images = Images::default();
        for image in &launch.images {
            let region = global.regions().len();
            global.map(image.name.clone(), Bytes::defined(image.buffer.bytes.clone()));
            images.add(image, region);
        }
        for Reference { address, name, kind, settings } in &self.references {
            images.bind(*address, name, *kind, *settings);
        }
        images
    }
}

impl Layout {
    fn place(&mut self, global: &oriole_ir::Variable) -> Result<u64, LoadError> {
        let fail = |reason| Err(LoadError::Variable { name: global.name.clone(), reason });
        let align = u64::from(global.align.max(1));
        if global.size() > MAX_VARIABLES {
            return fail("it is larger than 128 MiB");
        }
        match global.space {
            // All dynamic shared arrays begin where the static ones end.
            Space::Shared if global.linkage == Linkage::Extern => Ok(DYNAMIC),
            Space::Shared => {
                let at = self.shared.next_multiple_of(align);
                self.shared = at + global.size();
                if self.shared > 1 << 24 { fail("shared memory is full") } else { Ok(at) }
            }
            Space::Const => {
                let at = self.constants.next_multiple_of(align);
                self.constants = at + global.size();
                if self.constants > 1 << 24 { fail("constant memory is full") } else { Ok(at) }
            }
            Space::Global if global.linkage == Linkage::Extern && !global.ty.is_reference() => {
                fail("it is defined in another module")
            }
            Space::Global => {
                let at = self.next_variable.next_multiple_of(align.max(256));
                self.next_variable = (at + global.size()).next_multiple_of(GAP) + GAP;
                self.variables += global.size();
                let full = "the global variables of a module have at most 128 MiB together";
                if self.variables > MAX_VARIABLES { fail(full) } else { Ok(at) }
            }
            _ => fail("variables of a module are global, shared or constant"),
        }
    }
}

/// Where each variable in shared memory begins, in order; dynamic shared memory is one.
fn shared_owners(module: &Module, layout: &Layout) -> Vec<(u64, Owner)> {
    let shared = module.globals.iter().filter(|(_, global)| global.space == Space::Shared);
    let owner = |(id, global): (_, &oriole_ir::Variable)| {
        let dynamic = global.linkage == Linkage::Extern;
        (layout.addresses[id], if dynamic { Owner::DynamicShared } else { Owner::variable(&global.name) })
    };
    let mut owners: Vec<(u64, Owner)> = shared.map(owner).collect();
    owners.push((layout.shared, Owner::DynamicShared));
    owners.sort_unstable();
    owners
}

/// A variable's bytes with the addresses in them.
fn initial_bytes(module: &Module, global: &oriole_ir::Variable, addresses: &Addresses) -> Vec<u8> {
    if global.space == Space::Shared {
        return Vec::new();
    }
    let mut bytes = global.init.clone();
    bytes.resize(global.size() as usize, 0);
    for Relocation { offset, width, symbol, addend, generic } in &global.relocations {
        let address = match symbol {
            SymbolRef::Func(id) => CODE_WINDOW + 16 * id.index() as u64,
            SymbolRef::Global(id) => {
                let own = addresses[*id];
                let memory = match module.globals[*id].space {
                    Space::Shared => Memory::Shared,
                    Space::Const => Memory::Const,
                    _ => Memory::Global,
                };
                if *generic { to_generic(memory, own) } else { own }
            }
        };
        let value = address.wrapping_add(*addend as u64).to_le_bytes();
        if let Some(place) = bytes.get_mut(*offset as usize..*offset as usize + usize::from(*width).min(8)) {
            place.copy_from_slice(&value[..place.len()]);
        }
    }
    bytes
}
