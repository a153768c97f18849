//! From a kernel and a launch to a run, and from a run to its results.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use oriole_interp::{
    Bound, Bytes, CONST_WINDOW, Executed, GlobalMemory, GlobalState, HEAP, Outcome, Place, RunOptions, RunResult,
    StoreRecord, ThreadId, Waiter,
};
use oriole_ir::diagnostics::counted;
use oriole_launch::Launch;
use oriole_sass::cubin::{
    Cubin, CubinError, Function, Parameter, Placement, RelocationKind, SectionKind, Symbol, SymbolKind,
};
use oriole_sass::{Table, text};

use super::clock::Timed;
use super::decode::decode;
use super::headers;
use super::lanes::{LANES, Lanes};
use super::launch::{BANKS, Banks};
use super::machine::{Counts, End, Machine, SLICE, Stop, Stopped, Stuck};
use super::program::{Kind, Op, Program};
use super::state::{CODE, Wait};
use super::trace::Tracing;

/// Operations that a run may execute if nothing else is said.
const DEFAULT_STEPS: u64 = 1 << 28;
/// The stack that a thread has beyond what the kernel says, for functions that call themselves.
const STACK: usize = 1 << 15;
/// The most local memory that a thread has.
const MOST_LOCAL: usize = 512 << 10;
/// What is between functions.
const NOP: u128 = 0x000f_c000_0000_0000_0000_0000_0000_7918;
/// The most static shared memory that a CTA has.
const MOST_SHARED: u64 = 1 << 20;
/// Shared memory that a CTA has below its own variables.
const RESERVED_SHARED: usize = 1 << 10;

/// Why a kernel does not run.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RunError {
    /// Parameters that are images are not the last ones.
    #[error("a parameter that is a texture, a sampler or a surface is before others: put it behind them")]
    References,
    /// The SM's words are not known.
    #[error("the words of sm_{0} are not known (known: {known})", known = known())]
    Sm(u16),
    /// The kernel is not in the cubin.
    #[error("the cubin has no kernel `{name}` (it has: {known})")]
    NoKernel {
        /// The name that was asked for.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// The cubin cannot be placed in memory.
    #[error(transparent)]
    Cubin(#[from] CubinError),
    /// Code, variables or shared memory are larger than any GPU has use for.
    #[error("the {what} of the cubin have more than {most}", most = counted(.most, "byte"))]
    TooLarge {
        /// What.
        what: &'static str,
        /// How much there may be.
        most: u64,
    },
    /// An operation that the interpreter does not have.
    #[error("{place} is not executed: {why}")]
    Unknown {
        /// Its mnemonic, without modifiers that vary; nothing for a word that is no instruction.
        mnemonic: &'static str,
        /// The operation.
        place: String,
        /// Why not.
        why: String,
    },
}

fn known() -> String {
    oriole_sass::SMS.map(|sm| format!("sm_{sm}")).join(", ")
}

/// A kernel with all that it needs, placed in memory.
#[derive(Clone, Debug)]
pub struct Image {
    /// The SM's number.
    pub sm: u16,
    /// The words of all functions.
    pub words: Vec<u128>,
    /// The first words of functions, with their names, in order.
    pub functions: Vec<(u32, String)>,
    /// The kernel's first word.
    pub entry: u32,
    /// The constant banks, as the module fills them.
    pub banks: Banks,
    /// Bytes of static shared memory.
    pub shared: usize,
    /// Bytes of local memory that the kernel says it needs.
    pub stack: usize,
    /// Variables with initial values: the address, and the bytes.
    variables: Vec<(u64, Vec<u8>)>,
    /// Functions that the driver has: the address, and the name.
    externals: Vec<(u64, String)>,
    /// Whether textures have their samplers beside them.
    is_unified: bool,
    parameters: Vec<Parameter>,
}

/// Where variables go that the program does not have from which the code was made.
const DATA: u64 = 0x5000_0000_0000;
/// The most bytes that all variables may have together.
const MOST_DATA: u64 = 128 << 20;
/// Where the driver's tables of textures, samplers and surfaces begin.
pub const HEADERS: u64 = DATA + MOST_DATA;
/// The end of what a program does not have.
const DATA_END: u64 = HEADERS + headers::TABLES * headers::APART;
/// The most code that a cubin may have.
const MOST_CODE: u64 = 16 << 20;

impl Image {
    /// Places a kernel of a cubin in memory: the variables where a launch has those of the same name.
    ///
    /// # Errors
    ///
    /// If the cubin has no such kernel, or its relocations cannot be applied.
    pub fn load(cubin: &Cubin, bound: &Bound) -> Result<Image, RunError> {
        let kernel = cubin.function(&bound.entry).filter(|function| function.is_entry).ok_or_else(|| {
            let known = cubin.entries().map(|entry| entry.name.as_str()).collect::<Vec<_>>().join(", ");
            RunError::NoKernel { name: bound.entry.clone(), known }
        })?;
        let mut placement = Placement::new(cubin, CODE, DATA, CODE + 2 * MOST_CODE);
        for (at, symbol) in cubin.symbols.iter().enumerate().filter(|(_, symbol)| symbol.kind == SymbolKind::Object) {
            let region =
                bound.global.regions().iter().skip(bound.owners.len()).find(|region| region.name == symbol.name);
            if let Some(region) = region.filter(|_| symbol.section.is_some()) {
                placement.put_symbol(at, region.base);
            }
        }
        place_headers(cubin, bound, &mut placement);
        placement.put_constants(CONST_WINDOW);
        let image = cubin.apply_relocations(&placement)?;
        let mut variables = Vec::new();
        let mut total = 0;
        for (at, symbol) in cubin.symbols.iter().enumerate().filter(|(_, symbol)| symbol.kind == SymbolKind::Object) {
            let Some(section) = symbol.section.filter(|at| is_global(cubin.sections[*at].kind)) else { continue };
            total += symbol.size.min(MOST_DATA + 1);
            if total > MOST_DATA {
                return Err(RunError::TooLarge { what: "variables", most: MOST_DATA });
            }
            let start = symbol.value as usize;
            let bytes = image.bytes(section).get(start..start.saturating_add(symbol.size as usize));
            let bytes = bytes.map_or_else(|| vec![0; symbol.size as usize], <[u8]>::to_vec);
            variables.extend(placement.symbol(cubin, at).map(|address| (address, bytes)));
        }
        variables.sort();
        let mut words = Vec::new();
        let mut functions = Vec::new();
        let at = |address: u64| u32::try_from((address - CODE) / text::WORD_BYTES).unwrap_or(u32::MAX);
        for (index, section) in
            cubin.sections.iter().enumerate().filter(|(_, section)| section.kind == SectionKind::Code)
        {
            let first = placement.section(index).unwrap_or(CODE);
            if first.saturating_add(section.size) > CODE + MOST_CODE {
                return Err(RunError::TooLarge { what: "functions", most: MOST_CODE });
            }
            words.resize(at(first) as usize, NOP);
            words.extend(oriole_sass::cubin::words(image.bytes(index)));
        }
        for function in &cubin.functions {
            let first = placement.section(function.section).unwrap_or(CODE) + function.offset;
            functions.push((at(first), function.name.clone()));
        }
        functions.sort();
        let external = |(at, symbol): (usize, &Symbol)| {
            let address = placement.symbol(cubin, at).filter(|_| symbol.section.is_none())?;
            Some((address, symbol.name.clone()))
        };
        let externals = cubin.symbols.iter().enumerate().filter_map(external).collect();
        let mut banks = Banks::new();
        // Of bank 0 a launch says what the driver and the parameters are; behind these are numbers of images.
        for bank in 0..BANKS as u8 {
            if let Some(section) = cubin.constants(kernel, bank) {
                let bytes = image.bytes(section);
                banks.put(bank.into(), 0, if bytes.is_empty() { cubin.bytes(section) } else { bytes });
            }
        }
        let entry = at(placement.section(kernel.section).unwrap_or(CODE) + kernel.offset);
        let stack = kernel.info.min_stack_size.unwrap_or(0).max(kernel.info.frame_size) as usize;
        let shared = cubin.shared_size(kernel);
        if shared > MOST_SHARED {
            return Err(RunError::TooLarge { what: "shared variables", most: MOST_SHARED });
        }
        let shared = shared as usize;
        let (is_unified, parameters) = (headers::is_unified(cubin), parameters(kernel)?);
        let sm = cubin.target.sm;
        Ok(Image { sm, words, functions, entry, banks, shared, stack, variables, externals, is_unified, parameters })
    }

    /// Runs the kernel on a launch, which has been bound to the program that it was made of.
    ///
    /// # Errors
    ///
    /// If an operation is executed that the interpreter does not have.
    pub fn run(&self, launch: &Launch, bound: &Bound, options: &RunOptions) -> Result<RunResult, RunError> {
        let table = Table::of(self.sm).ok_or(RunError::Sm(self.sm))?;
        let mut banks = self.banks.clone();
        let local = (self.stack + STACK).next_multiple_of(512).min(MOST_LOCAL);
        banks.fill(self.sm, launch, local as u32, bound, &self.parameters);
        let (program, literals) = prepared(table, self, &banks);
        let watched = |(argument, offset): &(usize, usize)| {
            let region = bound.owners.iter().position(|owner| owner == argument)?;
            Some(bound.global.regions()[region].base + *offset as u64)
        };
        let mut machine = Machine {
            program: &program,
            literals: &literals,
            externals: &self.externals,
            banks: &banks,
            launch,
            cluster: bound.cluster,
            peers: Vec::new(),
            entry: self.entry,
            global: self.memory(bound),
            images: &bound.images,
            shared: (self.shared.max(RESERVED_SHARED) + launch.dynamic_shared as usize).next_multiple_of(16),
            local,
            slice: match (options.trace, options.slice) {
                (Some(_), _) => 1,
                (None, slice) => slice.map_or(SLICE, |slice| slice.clamp(1, SLICE.into()) as u32),
            },
            order: options.lanes,
            has_orders: false,
            executed: 0,
            counts: options.counts.then(|| Counts {
                executed: vec![(0, 0); program.ops.len()],
                times: Timed::of(table, &program.words),
                cycles: 0,
            }),
            budget: options.steps.or(launch.steps).unwrap_or(DEFAULT_STEPS),
            hint: 0,
            watch: options.watch.iter().filter_map(watched).collect(),
            writes: Vec::new(),
            trace: options.trace.map(|thread| Tracing::of(thread, launch.block)),
        };
        let end = machine.run();
        let names = Names { program: &program, table, launch };
        let outcome = names.outcome(end, machine.executed)?;
        let stores = machine.writes.iter().filter_map(|write| {
            let region = machine.global.find(0, write.address, 1)?;
            Some(StoreRecord {
                argument: *bound.owners.get(region)?,
                offset: (write.address - machine.global.region(region).base) as usize,
                bytes: write.bytes,
                thread: names.thread(write.ctaid, write.thread),
                place: names.place(write.pc),
            })
        });
        let stores = stores.collect();
        let trace = machine.trace.as_ref().map_or(Vec::new(), |tracing| tracing.events(&names));
        let (executed, has_orders) = (machine.executed, machine.has_orders);
        let cycles = machine.counts.as_ref().map_or(0, |counts| counts.cycles);
        let counts = machine.counts.map_or(Vec::new(), |counts| names.executed(&counts.executed));
        let regions = machine.global.into_regions().into_iter().filter(|region| region.base < HEAP).enumerate();
        let regions = regions.filter(|(_, region)| region.base < DATA || region.base >= DATA_END);
        let memory = regions.map(|(i, region)| GlobalState {
            argument: bound.owners.get(i).copied(),
            name: region.name,
            bytes: self.left(region.base, region.bytes.data(), bound.global.regions()[i].bytes.data()),
        });
        Ok(RunResult {
            outcome,
            memory: memory.collect(),
            executed,
            steps: executed,
            stats: Default::default(),
            reached: Vec::new(),
            counts,
            cycles,
            trace,
            stores,
            races: Vec::new(),
            strong: Default::default(),
            has_orders,
        })
    }
}

impl Image {
    /// Memory at the start of a run: buffers as they are bound, variables as the cubin has them. Those may hold
    /// addresses of functions, which differ.
    fn memory(&self, bound: &Bound) -> GlobalMemory {
        let mut memory = bound.global.clone();
        for (address, bytes) in &self.variables {
            match memory.find(0, *address, bytes.len() as u64) {
                Some(region) => memory.region_mut(region).bytes = Bytes::defined(bytes.clone()),
                None => memory.map_at(*address, "a variable of the cubin", Bytes::defined(bytes.clone())),
            }
        }
        let tables = headers::tables(&bound.images, self.is_unified);
        for (table, address) in tables.into_iter().zip((HEADERS..).step_by(headers::APART as usize)) {
            memory.map_at(address, "a table of images", Bytes::defined(table));
        }
        memory
    }

    /// What a region holds at the end; of a variable, bytes that are as the cubin has them count as those that the
    /// program has.
    fn left(&self, address: u64, after: &[u8], program: &[u8]) -> Bytes {
        let variable = self.variables.iter().find(|(at, bytes)| *at == address && bytes.len() == after.len());
        let Some((_, before)) = variable else { return Bytes::defined(after.to_vec()) };
        let kept = |at: usize| if after[at] == before[at] { program[at] } else { after[at] };
        Bytes::defined((0..after.len()).map(kept).collect())
    }
}

/// The words among these that are not executed: the number of each, and why.
///
/// # Errors
///
/// If the words of the SM are not known.
pub fn not_executed(sm: u16, words: &[u128]) -> Result<Vec<(usize, String)>, RunError> {
    let table = Table::of(sm).ok_or(RunError::Sm(sm))?;
    let program = decode(table, words, Vec::new(), None);
    let unknown = |(at, op): (usize, &Op)| match &op.kind {
        Kind::Unknown(why) => Some((at, why.clone())),
        _ => None,
    };
    Ok(program.ops.iter().enumerate().filter_map(unknown).collect())
}

thread_local! {
    /// The program that was decoded last: a kernel is executed on several launches, one behind the other.
    static DECODED: RefCell<Option<(u16, Rc<Program>)>> = const { RefCell::new(None) };
}

/// The program of an image, and its literals with those that a launch decides.
fn prepared(table: &Table, image: &Image, banks: &Banks) -> (Rc<Program>, Vec<Lanes>) {
    let known = DECODED.with_borrow(Clone::clone).filter(|(sm, program)| {
        *sm == image.sm && program.words == image.words && program.functions == image.functions
    });
    let program = known.map(|(_, program)| program).unwrap_or_else(|| {
        let program = Rc::new(decode(table, &image.words, image.functions.clone(), None));
        DECODED.set(Some((image.sm, program.clone())));
        program
    });
    if let Some(literals) = filled(&program, banks) {
        return (program, literals);
    }
    // Some word of a bank does not exist; only what reads it has no meaning.
    let program = decode(table, &image.words, image.functions.clone(), Some(banks));
    let literals = filled(&program, banks).unwrap_or_else(|| program.literals.clone());
    (Rc::new(program), literals)
}

/// The literals with the words of banks; `None` where one is outside of its bank.
fn filled(program: &Program, banks: &Banks) -> Option<Vec<Lanes>> {
    let mut literals = program.literals.clone();
    for constant in &program.constants {
        literals[constant.at] = [banks.word(constant.bank, constant.offset)?; LANES];
    }
    Some(literals)
}

/// A kernel's parameters in the bank. One that is a texture, a sampler or a surface has no bytes there, but a number
/// behind all others.
fn parameters(kernel: &Function) -> Result<Vec<Parameter>, RunError> {
    let parameters = &kernel.info.parameters;
    let first = parameters.iter().filter(|parameter| parameter.size == 0).map(|parameter| parameter.ordinal).min();
    if first.is_some_and(|first| parameters.iter().any(|other| other.size > 0 && other.ordinal > first)) {
        return Err(RunError::References);
    }
    Ok(parameters.clone())
}

/// Gives variables and parameters that are textures, samplers or surfaces their numbers; those that nothing is bound to
/// have one that no image has. Sizes of entries are those of the tables here.
fn place_headers(cubin: &Cubin, bound: &Bound, placement: &mut Placement) {
    for (at, _) in cubin.symbols.iter().enumerate().filter(|(_, symbol)| headers::is_size(&symbol.name)) {
        placement.put_symbol(at, headers::ENTRY);
    }
    let is_number = |kind| RelocationKind::of(kind).is_some_and(|row| row.is_number());
    for relocation in cubin.relocations.iter().filter(|relocation| is_number(relocation.kind)) {
        let name = cubin.symbols.get(relocation.symbol).map_or("", |symbol| symbol.name.as_str());
        placement.put_symbol(relocation.symbol, bound.images.number_of(name).unwrap_or(0).into());
    }
}

fn is_global(kind: SectionKind) -> bool {
    matches!(kind, SectionKind::Global | SectionKind::GlobalInit)
}

/// Where lanes wait at `WARPSYNC` for others of their warp that wait at `BSYNC`, if any do. Code that ptxas makes of
/// unstructured flow does this: a branch leads behind a `BSYNC` which names its lane, and a function that is called
/// there waits for all lanes (`-O0`). No document says whether the machine then continues.
pub(super) fn unsettled(stuck: &[Stuck]) -> Option<u32> {
    let waits_for = |one: &Stuck| match one.group.wait {
        Wait::Warp(lanes) => lanes,
        _ => 0,
    };
    let held = |one: &Stuck| matches!(one.group.wait, Wait::Bsync(_));
    let warp = |stuck: &Stuck| (stuck.ctaid, stuck.first);
    let meet = |one: &&Stuck| {
        stuck.iter().any(|other| held(other) && warp(other) == warp(one) && waits_for(one) & other.group.mask != 0)
    };
    stuck.iter().find(meet).map(|one| one.group.pc.saturating_sub(1))
}

/// Names of places and threads.
pub struct Names<'a> {
    program: &'a Program,
    table: &'a Table,
    launch: &'a Launch,
}

impl Names<'_> {
    fn thread(&self, ctaid: [u32; 3], thread: u32) -> ThreadId {
        let [width, height, _] = self.launch.block;
        ThreadId { ctaid, tid: [thread % width, thread / width % height, thread / width / height] }
    }

    /// An operation: its function, its address there, its text.
    pub fn place(&self, pc: u32) -> Place {
        let at = self.program.functions.partition_point(|(first, _)| *first <= pc);
        let (first, function) = match at.checked_sub(1) {
            Some(at) => self.program.functions[at].clone(),
            None => (0, String::new()),
        };
        let address = u64::from(pc - first) * text::WORD_BYTES;
        let mut line = format!("/*{address:04x}*/ ");
        match self.program.words.get(pc as usize).map(|word| self.table.decode(*word)) {
            Some(Ok(instruction)) => text::print(&mut line, &instruction, address),
            Some(Err(error)) => line.push_str(&error.to_string()),
            None => line.push_str("behind the end"),
        }
        Place { function, line: 0, source: None, text: line }
    }

    /// The words that were executed, of all that were counted: by groups of lanes, and by threads.
    fn executed(&self, counts: &[(u64, u64)]) -> Vec<Executed> {
        let mut executed = Vec::new();
        let ends = self.program.functions.iter().skip(1).map(|(first, _)| *first as usize).chain([counts.len()]);
        for ((first, name), end) in self.program.functions.iter().zip(ends) {
            let (first, function) = (*first as usize, Arc::<str>::from(name.as_str()));
            let own = counts.get(first..end.min(counts.len())).unwrap_or_default();
            for (place, (warps, threads)) in own.iter().enumerate().filter(|(_, (warps, _))| *warps > 0) {
                let (function, place) = (function.clone(), place as u32);
                executed.push(Executed { function, place, warps: *warps, threads: *threads });
            }
        }
        executed
    }

    fn unknown(&self, pc: u32, why: String) -> RunError {
        let word = self.program.words.get(pc as usize).map(|word| self.table.decode(*word));
        let mnemonic = word.and_then(Result::ok).map_or("", |instruction| instruction.encoding.name);
        RunError::Unknown { mnemonic, place: self.place(pc).to_string(), why }
    }

    fn outcome(&self, end: End, executed: u64) -> Result<Outcome, RunError> {
        Ok(match end {
            End::Finished => Outcome::Finished,
            End::Stopped(Stopped { stop: Stop::Trap { pc, lane, cause }, ctaid, first }) => {
                Outcome::Trapped { cause, thread: self.thread(ctaid, first + lane), place: self.place(pc) }
            }
            End::Stopped(Stopped { stop: Stop::Unknown { pc, why }, .. }) => {
                return Err(self.unknown(pc, why));
            }
            End::Stopped(Stopped { stop: Stop::Steps, .. }) => Outcome::OutOfSteps { executed },
            End::Deadlock(stuck) if let Some(place) = unsettled(&stuck) => {
                let why = "it waits for lanes that a barrier of convergence holds, which is settled nowhere".to_owned();
                return Err(self.unknown(place, why));
            }
            End::Deadlock(stuck) => Outcome::Deadlock(
                stuck
                    .into_iter()
                    .map(|stuck| Waiter {
                        thread: self.thread(stuck.ctaid, stuck.first + stuck.group.mask.trailing_zeros()),
                        lanes: stuck.group.mask.count_ones(),
                        place: self.place(stuck.group.pc.saturating_sub(1)),
                        waits_for: match stuck.group.wait {
                            Wait::Ready => "its turn".to_owned(),
                            Wait::Bsync(barrier) => format!("the lanes of B{barrier}"),
                            Wait::Warp(mask) | Wait::Collective(mask) => format!("the lanes of {mask:#010x}"),
                            Wait::Barrier(number) => format!("barrier {number}"),
                            Wait::Cluster => "the barrier of the cluster".to_owned(),
                        },
                    })
                    .collect(),
            ),
        })
    }
}
