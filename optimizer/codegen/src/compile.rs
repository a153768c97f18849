//! From a module of the virtual level to a cubin: select, arrange, allocate, schedule, build.
//!
//! It takes a module in SSA form that the phases are done with.

use std::borrow::Cow;
use std::collections::BTreeMap;

use cranelift_entity::SecondaryMap;
use oriole_ir::ops::{Opcode, Space, Type};
use oriole_ir::reference::Settings;
use oriole_ir::sm::Target;
use oriole_ir::{
    Block, Directive, FuncId, Function, FunctionKind, Inst, Linkage, Local, Module, Operand, PhysicalReg, Reg, RegFile,
    Relocation, SymbolRef,
};
use oriole_pass::analysis::{Cfg, Divergence, Dominators, LoopNest, PostDominators, Uniformity, Uninitialized};
use oriole_pass::pass::{Knob, Knobs};
use oriole_pass::ssa;
use oriole_sass::cubin::build::{self, Address, Build, ImageKind, ImageVariable, Kernel, Parameter, Variable};
use oriole_sass::cubin::lines::Line;
use oriole_sass::cubin::{self};
use oriole_sass::{Table, ori};

use crate::allocate::cache::Cache;
use crate::allocate::{AllocError, Allocation, Limits, SAVED};
use crate::expand::{self, Pointers, Rests};
use crate::layout;
use crate::macros;
use crate::schedule::{after, before, control, reuse, uninitialized};
use crate::select::{Number, PlaceError, Places, RETURN, SelectError, Selected, images, is_external, select};
use crate::sequences::{self, Sequence, Spared};

/// Why a module is not compiled.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CompileError {
    /// The target is none whose words are known.
    #[error("no code is made for {target}; the SMs are {}", oriole_sass::encoding::known())]
    Target {
        /// The target.
        target: String,
    },
    /// An operation is not compiled.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// A variable has no place.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// A function that is called has no body.
    #[error("{function} calls {callee}, which is defined elsewhere: that is not compiled yet")]
    External {
        /// The function's name.
        function: String,
        /// The function that it calls.
        callee: String,
    },
    /// There are too few registers.
    #[error(transparent)]
    Allocate(#[from] AllocError),
    /// An instruction was made that has no word: a fault of the compiler.
    #[error("no word says what was made: {reason}; this is a fault of the compiler, not of the kernel")]
    Internal {
        /// The fault.
        reason: String,
    },
}

/// The knobs that code generation asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tuning {
    /// `MacroExpansionDistance`: instructions between a definition and its use; `None` for no limit.
    pub macro_distance: Option<u32>,
    /// `SoftConstraintSkip`: as [`Limits::soft_skip`].
    pub soft_skip: Option<u32>,
}

impl Tuning {
    /// Those that were set.
    pub fn of(knobs: &Knobs) -> Tuning {
        Tuning {
            macro_distance: knobs.limit(Knob::MacroExpansionDistance),
            soft_skip: knobs.limit(Knob::SoftConstraintSkip),
        }
    }
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning::of(&Knobs::new())
    }
}

/// How a module is compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// The most general registers that a thread may have, if not as many as there are.
    pub max_registers: Option<u16>,
    /// Whether instructions stay in the order in which they are selected.
    pub keeps_order: bool,
    /// Whether functions are kept as they were before and behind allocation.
    pub keeps_allocations: bool,
    /// Whether the file says which lines of source code (`.loc`) words come from.
    pub has_lines: bool,
    /// Whether registers are looked for that may be read before anything writes them.
    pub finds_uninitialized: bool,
    /// The knobs.
    pub tuning: Tuning,
}

/// A function before and behind allocation.
#[derive(Clone, Debug)]
pub struct Allocated {
    /// The first registers of words that a function of the driver leaves results in.
    pub results: Vec<(Reg, u16)>,
    /// With virtual registers.
    pub before: Function,
    /// In physical form.
    pub after: Function,
    /// The stack pointer of the former, where it has one.
    pub stack: Option<Reg>,
    /// The first registers of words that a caller has put something into, and that nothing here writes.
    pub given: Vec<(Reg, u16)>,
    /// The first registers of words that calls of sequences hand over, and that a sequence returns.
    pub passed: Vec<(Reg, u16)>,
    /// The sequences that it may call, in physical form.
    pub sequences: Vec<(FuncId, Function)>,
    /// By instruction of the latter: which one of the former it was; none that was added.
    pub origins: SecondaryMap<Inst, Option<Inst>>,
}

/// A kernel that was compiled.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Its name.
    pub name: String,
    /// General registers of a thread.
    pub registers: u32,
    /// Registers kept in memory.
    pub spilled: usize,
    /// Bytes of its frame.
    pub frame: u32,
    /// Bytes that instructions store to keep values in memory, and that they load; each instruction counts once.
    pub spill_bytes: [u32; 2],
    /// Bytes of its shared variables, without those that the machine reserves.
    pub shared: u32,
    /// Barriers of a CTA that it may use.
    pub barriers: u8,
    /// Instructions, without those that fill up the section.
    pub words: usize,
}

/// A cubin and what is in it.
#[derive(Clone, Debug)]
pub struct Output {
    /// The file.
    pub cubin: Vec<u8>,
    /// Its kernels.
    pub kernels: Vec<Compiled>,
    /// Bytes of its variables in global memory.
    pub globals: u64,
    /// The functions as the stage of each left them last: in physical form, with scheduling control.
    pub functions: Vec<Function>,
    /// The functions around allocation, where they are kept.
    pub allocations: Vec<Allocated>,
    /// By function that has some: its registers that may be read before anything writes them, where asked for.
    pub uninitialized: Vec<(FuncId, Vec<Uninitialized>)>,
    /// Functions that took over the allocation of an equal one.
    pub shared: usize,
}

/// Registers that the machine reserves beside those that code names.
const RESERVED: u32 = 2;

/// A stage, in the order in which a function goes through them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Stage {
    /// Out of SSA form, and bodies in the place of what the machine lacks.
    Expand,
    /// Instructions of the machine with virtual registers.
    Select,
    /// The order of blocks.
    Layout,
    /// Values made where instructions of several words want them.
    Macros,
    /// The order of instructions in blocks.
    Order,
    /// Registers of the machine.
    Allocate,
    /// The order of instructions in blocks, once more.
    Reorder,
    /// Stalls, barriers, wait masks and marks in the operand cache.
    Schedule,
    /// Words.
    Encode,
}

impl Stage {
    /// All stages in their order.
    pub const ALL: [Stage; 9] = [
        Stage::Expand,
        Stage::Select,
        Stage::Layout,
        Stage::Macros,
        Stage::Order,
        Stage::Allocate,
        Stage::Reorder,
        Stage::Schedule,
        Stage::Encode,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Expand => "expansion",
            Stage::Select => "selection",
            Stage::Layout => "layout",
            Stage::Macros => "macro-expansion",
            Stage::Order => "ordering",
            Stage::Allocate => "allocation",
            Stage::Reorder => "reordering",
            Stage::Schedule => "scheduling",
            Stage::Encode => "encoding",
        }
    }
}

/// The work of a stage on one function.
#[derive(Debug)]
pub enum Made<'a> {
    /// A function of the virtual level, in virtual form.
    Expanded(&'a mut Function),
    /// A function of the machine with virtual registers.
    Selected(&'a mut Selected),
    /// The same with its blocks in order.
    Arranged(&'a mut Selected),
    /// The same with values where instructions of several words want them.
    Joined(&'a mut Selected),
    /// The same with the instructions of each block in order.
    Ordered(&'a mut Selected),
    /// A function in physical form.
    Allocated(&'a mut Allocation),
    /// The same with the instructions of each block in order, once more.
    Reordered(&'a mut Function),
    /// The same with its scheduling control.
    Scheduled(&'a mut Function),
    /// Words, and the function that they were made of: calls have the places that they return to.
    Encoded(&'a Function, &'a mut Vec<u128>),
}

impl Made<'_> {
    /// The stage.
    pub fn stage(&self) -> Stage {
        match self {
            Made::Expanded(_) => Stage::Expand,
            Made::Selected(_) => Stage::Select,
            Made::Arranged(_) => Stage::Layout,
            Made::Joined(_) => Stage::Macros,
            Made::Ordered(_) => Stage::Order,
            Made::Allocated(_) => Stage::Allocate,
            Made::Reordered(_) => Stage::Reorder,
            Made::Scheduled(_) => Stage::Schedule,
            Made::Encoded(..) => Stage::Encode,
        }
    }
}

/// Looks at the work of each stage as soon as it is done, and may change it: a check executes it, or plants a fault.
pub trait Watch {
    /// Called once for each stage of each function that is compiled for a kernel, the kernel itself included.
    fn made(&mut self, kernel: FuncId, function: FuncId, made: Made<'_>);
}

/// Nothing is watched.
impl Watch for () {
    fn made(&mut self, _: FuncId, _: FuncId, _: Made<'_>) {}
}

/// A function with registers of the machine.
#[derive(Clone, Debug)]
pub struct Code {
    /// In physical form; what it lacks of scheduling control is none.
    pub func: Function,
    /// General registers that it names.
    pub registers: u16,
    /// Bytes of its frame.
    pub frame: u32,
    /// Registers kept in memory.
    pub spilled: usize,
    /// As [`Compiled::spill_bytes`].
    pub spill_bytes: [u32; 2],
}

/// Compiles the kernels of a module for an SM.
///
/// # Errors
///
/// If the SM is not known, or something in a kernel is not compiled.
pub fn compile(module: &Module, target: Target, options: Options) -> Result<Output, CompileError> {
    compile_with(module, target, options, &mut ())
}

/// Compiles the kernels of a module that was read from a text of PTX, which goes into the file with the lines of it
/// that words come from, where the options ask for lines.
///
/// # Errors
///
/// As [`compile`].
pub fn compile_from(module: &Module, target: Target, options: Options, ptx: &str) -> Result<Output, CompileError> {
    let module = &*with_sequences(module, options);
    let Functions { kernels, allocations, uninitialized, shared } = functions(module, target, options, &mut ())?;
    let lines = Lines { of_source: options.has_lines, ptx: options.has_lines.then_some(ptx) };
    let output = assemble(module, target, kernels, lines, &mut ())?;
    Ok(Output { allocations, uninitialized, shared, ..output })
}

/// Compiles the kernels of a module for an SM, while somebody watches.
///
/// # Errors
///
/// As [`compile`].
pub fn compile_with(
    module: &Module,
    target: Target,
    options: Options,
    watch: &mut dyn Watch,
) -> Result<Output, CompileError> {
    let module = &*with_sequences(module, options);
    let Functions { kernels, allocations, uninitialized, shared } = functions(module, target, options, watch)?;
    let lines = Lines { of_source: options.has_lines, ptx: None };
    let output = assemble(module, target, kernels, lines, watch)?;
    Ok(Output { allocations, uninitialized, shared, ..output })
}

/// A module with the functions of the sequences that its kernels share.
fn with_sequences(module: &Module, options: Options) -> Cow<'_, Module> {
    let mut module = Cow::Borrowed(module);
    if !options.keeps_order && module.functions.values().any(|func| !expand::rests(func).is_empty()) {
        sequences::add(module.to_mut());
    }
    module
}

/// The functions of a module, up to their words.
#[derive(Default)]
struct Functions {
    /// The kernels, each with what it calls.
    kernels: Vec<Vec<(FuncId, Code)>>,
    allocations: Vec<Allocated>,
    uninitialized: Vec<(FuncId, Vec<Uninitialized>)>,
    /// Functions that took over the allocation of an equal one.
    shared: usize,
}

/// Compiles all kernels, up to their words.
fn functions(
    module: &Module,
    target: Target,
    options: Options,
    watch: &mut dyn Watch,
) -> Result<Functions, CompileError> {
    let table = table_of(target)?;
    let Functions { mut kernels, mut allocations, mut uninitialized, .. } = Functions::default();
    let mut cache = Cache::default();
    for (id, func) in module.functions.iter() {
        if func.kind != FunctionKind::Entry || !func.is_definition() {
            continue;
        }
        let mut order: Vec<FuncId> = std::iter::once(id).chain(callees(module, id)).collect();
        let limits = limits(func, target, options);
        let is_wide = limits.general >= sequences::LEAST_REGISTERS && !options.keeps_order;
        let shared = if is_wide { sequences::of_group(module, &order) } else { Vec::new() };
        let mut called: BTreeMap<String, Sequence> = BTreeMap::new();
        for (operation, function) in &shared {
            // What its callers must know of it is known before they are compiled.
            let spared = spared(module, (id, *function), target, (limits, table, options), &mut cache)?;
            if let Some(spared) = spared {
                called.insert(operation.clone(), Sequence { function: *function, spared });
                order.push(*function);
            }
        }
        let (mut all, known) = (Vec::new(), allocations.len());
        for of in order.iter().copied() {
            let callee = &module.functions[of];
            if !callee.is_definition() {
                return Err(CompileError::External { function: func.name.clone(), callee: callee.name.clone() });
            }
            let mut places = Places::of(module, callee, &order, target)?;
            places.sequences.clone_from(&called);
            if callee.kind == FunctionKind::Device {
                // What it leaves as it is, the sequences that it calls must leave, too.
                places.sequences.retain(|_, sequence| sequence.spared.first(RegFile::R) <= SAVED.start);
            }
            let kept = options.keeps_allocations.then_some(&mut allocations);
            let mut see = |made: Made<'_>| watch.made(id, of, made);
            let (code, found) = function(callee, id, &places, (limits, table, options), (&mut cache, kept), &mut see)?;
            if !found.is_empty() && !uninitialized.iter().any(|(known, _)| *known == of) {
                uninitialized.push((of, found));
            }
            all.push((of, code));
        }
        if options.keeps_allocations {
            let sequences: Vec<(FuncId, Function)> = order
                .iter()
                .zip(&allocations[known..])
                .filter(|(_, own)| sequences::is(&own.before))
                .map(|(of, own)| (*of, own.after.clone()))
                .collect();
            allocations[known..].iter_mut().for_each(|own| own.sequences.clone_from(&sequences));
        }
        kernels.push(all);
    }
    Ok(Functions { kernels, allocations, uninitialized, shared: cache.hits })
}

/// The registers that a sequence spares; `None` where it needs more than callers leave it, since it has no frame.
fn spared(
    module: &Module,
    (kernel, id): (FuncId, FuncId),
    target: Target,
    how: (Limits, &'static Table, Options),
    cache: &mut Cache,
) -> Result<Option<Spared>, CompileError> {
    let func = &module.functions[id];
    let places = Places::of(module, func, &[kernel, id], target)?;
    let (code, _) = function(func, kernel, &places, how, (cache, None), &mut |_| ())?;
    Ok((code.spilled == 0).then(|| Spared::by(&code.func)))
}

fn table_of(target: Target) -> Result<&'static Table, CompileError> {
    Table::of(target.number()).ok_or_else(|| CompileError::Target { target: target.to_string() })
}

/// The tables of lines in a file.
#[derive(Clone, Copy, Default, Debug)]
pub struct Lines<'t> {
    /// Whether there is one of source code.
    pub of_source: bool,
    /// The PTX, where there is one of its lines.
    pub ptx: Option<&'t str>,
}

/// Makes a cubin of kernels whose functions have registers: each kernel with what it calls behind it.
///
/// # Errors
///
/// If the SM is not known, or a function has no words.
pub fn assemble(
    module: &Module,
    target: Target,
    all: Vec<Vec<(FuncId, Code)>>,
    lines: Lines<'_>,
    watch: &mut dyn Watch,
) -> Result<Output, CompileError> {
    table_of(target)?;
    let (mut built, mut kernels, mut functions) = (Vec::new(), Vec::new(), Vec::new());
    let mut places = None;
    for code in all {
        let order: Vec<FuncId> = code.iter().map(|(of, _)| *of).collect();
        let Some(id) = order.first() else { continue };
        let own = Places::of(module, &module.functions[*id], &order, target)?;
        let (kernel, compiled, made) = one(module, code, &own, target, watch)?;
        let of_source = if lines.of_source { source_lines(module, &made) } else { Vec::new() };
        let ptx_lines = if lines.ptx.is_some() { ptx_lines(&made) } else { Vec::new() };
        built.push(Kernel { lines: of_source, ptx_lines, ..kernel });
        kernels.push(compiled);
        functions.extend(made);
        places.get_or_insert(own);
    }
    let suffix = target.to_string().chars().last().filter(|last| last.is_alphabetic());
    let mut file = Build {
        target: cubin::Target { sm: target.number(), suffix },
        kernels: built,
        ptx: lines.ptx.map(cubin::lines::text).unwrap_or_default(),
        constants: Vec::new(),
        constant_addresses: Vec::new(),
        constant_symbols: Vec::new(),
        globals: Vec::new(),
        externals: Vec::new(),
        images: images(module).map(|(_, variable)| image(variable)).collect(),
        addresses: Vec::new(),
    };
    if let Some(places) = &places {
        variables(module, places, &mut file);
    }
    let globals = file.globals.iter().map(|variable| variable.size).sum();
    let (allocations, uninitialized) = (Vec::new(), Vec::new());
    Ok(Output { cubin: file.write(), kernels, globals, functions, allocations, uninitialized, shared: 0 })
}

/// Compiles one function of the section of a kernel.
fn function(
    func: &Function,
    kernel: FuncId,
    places: &Places,
    (limits, table, options): (Limits, &'static Table, Options),
    (cache, allocations): (&mut Cache, Option<&mut Vec<Allocated>>),
    see: &mut dyn FnMut(Made<'_>),
) -> Result<(Code, Vec<Uninitialized>), CompileError> {
    let is_sequence = sequences::is(func);
    let limits = if is_sequence { Limits { general: SAVED.end, ..limits } } else { limits };
    let cfg = Cfg::new(func);
    let (dominators, post_dominators) = (Dominators::new(&cfg), PostDominators::compute(&cfg));
    let nest = LoopNest::compute(&cfg);
    let divergence = Divergence::compute(func, &cfg, &dominators, &post_dominators, &nest);
    let mut divergent: SecondaryMap<Block, bool> = SecondaryMap::new();
    for block in func.layout() {
        divergent[*block] = divergence.branch(*block) == Uniformity::Varying;
    }
    let mut virt = func.clone();
    ssa::destruct(&mut virt);
    let called: Vec<String> = places.sequences.keys().cloned().collect();
    let rests = Rests { called: if is_sequence { &[] } else { &called }, is_rest: is_sequence };
    expand::expand(&mut virt, &mut divergent, &places.pointers, places.has_shared(), rests);
    see(Made::Expanded(&mut virt));
    let mut selected = select(&virt, places, kernel, table, &|block| divergent[block], !options.keeps_order)?;
    see(Made::Selected(&mut selected));
    layout::arrange(&mut selected.func);
    see(Made::Arranged(&mut selected));
    if !options.keeps_order {
        expand_macros(&mut selected, table, options.tuning)?;
    }
    see(Made::Joined(&mut selected));
    if !options.keeps_order {
        // Few lanes come to a sequence, and each register of it is one less for what is live around its calls.
        let general = if is_sequence { sequences::FEW } else { limits.general };
        before::before_allocation(&mut selected, table, Limits { general, ..limits });
    }
    see(Made::Ordered(&mut selected));
    let before = allocations.is_some().then(|| selected.clone());
    let given: Vec<u16> = selected.fixed.iter().map(|(_, place)| *place).collect();
    let mut allocation = cache.allocate(selected, places, limits)?;
    see(Made::Allocated(&mut allocation));
    if let (Some(Selected { func: mut before, stack, patches, results, fixed, .. }), Some(allocations)) =
        (before, allocations)
    {
        let is_written = |reg: Reg| before.layout_insts().any(|inst| before.defs(inst).any(|def| def == reg));
        let is_given = |(reg, _): &(Reg, u16)| !is_written(*reg) && !results.iter().any(|(other, _)| other == reg);
        let given = fixed.iter().copied().filter(is_given).collect();
        patches.iter().for_each(|patch| patch.apply(&mut before, allocation.frame));
        let (after, origins) = (allocation.func.clone(), allocation.origins.clone());
        let (passed, sequences) = (fixed, Vec::new());
        allocations.push(Allocated { before, after, stack, given, passed, sequences, origins, results });
    }
    if !options.keeps_order {
        after::after_allocation(&mut allocation.func, table);
    }
    see(Made::Reordered(&mut allocation.func));
    control::assign(&mut allocation.func, table);
    if !options.keeps_order {
        reuse::mark(&mut allocation.func, table);
    }
    see(Made::Scheduled(&mut allocation.func));
    let found = if options.finds_uninitialized { uninitialized::find(&allocation.func, &given) } else { Vec::new() };
    let spill_bytes = spill_bytes(&allocation);
    let Allocation { func, registers, frame, spilled, .. } = allocation;
    Ok((Code { func, registers, frame, spilled, spill_bytes }, found))
}

/// Makes values where instructions of several words want them. Builds with assertions look for constraints that do not
/// hold behind it.
fn expand_macros(selected: &mut Selected, table: &'static Table, tuning: Tuning) -> Result<(), CompileError> {
    let before = cfg!(debug_assertions).then(|| macros::verify::words_written(&selected.func));
    macros::expand(selected, tuning.macro_distance);
    let Some(before) = before else { return Ok(()) };
    let written = |reg: Reg, word: u8| before.contains(&(reg, word));
    match macros::verify::check(selected, table, tuning.macro_distance, &written).first() {
        Some(violation) => Err(CompileError::Internal { reason: violation.to_string() }),
        None => Ok(()),
    }
}

/// The bytes that the loads and stores move which allocation added: stored, and loaded.
fn spill_bytes(allocation: &Allocation) -> [u32; 2] {
    let func = &allocation.func;
    let added = func.layout_insts().filter(|inst| allocation.origins[*inst].is_none());
    let mut bytes = [0, 0];
    for name in added.filter_map(|inst| func.mnemonic(inst)) {
        let mut parts = name.split('.');
        let way = match parts.next() {
            Some("STL") => 0,
            Some("LDL") => 1,
            _ => continue,
        };
        bytes[way] += parts.find_map(|part| part.parse::<u32>().ok()).unwrap_or(32) / 8;
    }
    bytes
}

/// By word of a kernel's functions the line of source code that it comes from.
fn source_lines(module: &Module, functions: &[Function]) -> Vec<Option<Line>> {
    let of = |func: &Function, inst: Inst| {
        let source = module.sources.of(func.inst(inst).line)?;
        Some(Line { file: source.file.to_owned(), number: u32::try_from(source.line).ok()? })
    };
    let words = |func: &Function| -> Vec<Option<Line>> {
        let words = func.layout_insts().filter(|inst| func.inst(*inst).machine().is_some());
        words.map(|inst| of(func, inst)).collect()
    };
    functions.iter().flat_map(words).collect()
}

/// By word of a kernel's functions the line of PTX that it comes from.
fn ptx_lines(functions: &[Function]) -> Vec<Option<u32>> {
    let words = |func: &Function| -> Vec<Option<u32>> {
        let words = func.layout_insts().filter(|inst| func.inst(*inst).machine().is_some());
        words.map(|inst| Some(func.inst(inst).line).filter(|line| *line > 0)).collect()
    };
    functions.iter().flat_map(words).collect()
}

/// The functions that a kernel calls, directly or not, in the order in which they are found; not those of the driver.
pub(crate) fn callees(module: &Module, kernel: FuncId) -> Vec<FuncId> {
    let pointers = Pointers::of(module);
    let mut found = vec![kernel];
    let mut next = 0;
    while let Some(id) = found.get(next).copied() {
        next += 1;
        let func = &module.functions[id];
        for inst in func.layout_insts().filter(|inst| func.inst(*inst).opcode == Opcode::Call) {
            let called = match func.srcs(inst).first() {
                Some(Operand::Func(callee)) => vec![*callee],
                _ => pointers.of_call(func, inst).into_iter().map(|(callee, _)| callee).collect(),
            };
            for callee in called {
                if !found.contains(&callee) && !is_external(module, callee) {
                    found.push(callee);
                }
            }
        }
    }
    found.remove(0);
    found
}

/// Of a call of the machine, whether a function of the module is called, and not one of the driver.
fn calls_own(func: &Function, inst: Inst) -> Option<bool> {
    let is_own = func.srcs(inst).iter().any(|operand| matches!(operand, Operand::Func(_)));
    func.is_machine_call(inst).then_some(is_own)
}

/// Puts functions one behind the other, and into each call the place that it returns to: each with its offset.
fn place_functions(alone: &mut Module, order: &[FuncId]) -> Vec<(FuncId, u64)> {
    let mut placed = Vec::new();
    let mut offset = 0u64;
    for id in order {
        let func = &alone.functions[*id];
        let words: Vec<Inst> = func.layout_insts().filter(|inst| func.inst(*inst).machine().is_some()).collect();
        let is_call = |inst: &Inst| calls_own(func, *inst) == Some(true);
        let mut numbers = Vec::new();
        for (at, _) in words.iter().enumerate().filter(|(_, inst)| is_call(inst)) {
            let callee = func.srcs(words[at]).iter().find_map(|operand| match operand {
                Operand::Func(callee) => Some(*callee),
                _ => None,
            });
            let is_sequence = callee.is_some_and(|callee| sequences::is(&alone.functions[callee]));
            let number = if is_sequence { sequences::RETURN } else { RETURN };
            let home = PhysicalReg { file: RegFile::R, number: number as u8, words: 1 }.reg().map(Operand::Reg);
            let set = words[..at].iter().rev().find(|inst| func.dsts(**inst).first().copied() == home);
            numbers.extend(set.map(|inst| (*inst, offset + 16 * (at as u64 + 1))));
        }
        let func = &mut alone.functions[*id];
        for (inst, number) in numbers {
            let number = func.imm(number);
            func.srcs_mut(inst)[0] = number;
        }
        func.directives.retain(|directive| directive.name != ori::PLACE);
        func.directives.push(Directive { name: ori::PLACE.to_owned(), values: vec![0, offset] });
        placed.push((*id, offset));
        offset += 16 * words.len() as u64;
    }
    placed
}

/// A kernel, the first of the functions, with all that it calls.
fn one(
    module: &Module,
    code: Vec<(FuncId, Code)>,
    places: &Places,
    target: Target,
    watch: &mut dyn Watch,
) -> Result<(Kernel, Compiled, Vec<Function>), CompileError> {
    let order: Vec<FuncId> = code.iter().map(|(of, _)| *of).collect();
    let order = &order[..];
    let id = order[0];
    let func = &module.functions[id];
    let mut alone = Module { target: target.to_string(), ..Module::default() };
    for other in module.functions.values() {
        alone.functions.push(Function::new(other.name.as_str(), other.kind));
    }
    let (mut registers, mut spilled, mut frames, mut spill_bytes) = (0, 0, 0, [0, 0]);
    for (of, made) in code {
        spill_bytes = [spill_bytes[0] + made.spill_bytes[0], spill_bytes[1] + made.spill_bytes[1]];
        let named = u32::from(made.registers).max(1) + RESERVED;
        (registers, spilled) = (registers.max(named), spilled + made.spilled);
        frames += made.frame;
        alone.functions[of] = made.func;
    }
    let placed = place_functions(&mut alone, order);
    let mut words = Vec::new();
    for of in order {
        let mut own = ori::lower(&alone, *of).map_err(|error| CompileError::Internal { reason: error.to_string() })?;
        watch.made(id, *of, Made::Encoded(&alone.functions[*of], &mut own));
        words.extend(own);
    }
    let made: Vec<Function> = order.iter().map(|of| alone.functions[*of].clone()).collect();
    let three = |name: &str| {
        let found = func.directives.iter().find(|directive| directive.name == name)?;
        let at = |place: usize| found.values.get(place).copied().unwrap_or(1) as u32;
        Some([at(0), at(1), at(2)])
    };
    let has = |name: &str| func.directives.iter().any(|directive| directive.name == name);
    let of_images: Vec<Local> =
        func.params.iter().copied().filter(|local| func.locals[*local].ty.is_reference()).collect();
    let parameter = |local: &Local| match of_images.iter().position(|image| image == local) {
        Some(place) => Parameter::Image(place),
        None => {
            let offset = places.parameter(*local).map_or(0, |at| at - places.constants.parameters);
            Parameter::Bytes(offset as u16, func.locals[*local].size() as u16)
        }
    };
    let number = |number: Number| match number {
        Number::Variable(global) => {
            build::Number::Variable(images(module).position(|(known, _)| known == global).unwrap_or(0))
        }
        Number::Parameter(local) => {
            build::Number::Parameter(of_images.iter().position(|known| *known == local).unwrap_or(0))
        }
        Number::EntrySize(symbol) => build::Number::EntrySize(symbol),
    };
    let numbers: Vec<(u32, build::Number)> = places.numbers().map(|(at, known)| (at, number(known))).collect();
    let shared = if places.has_shared() { places.shared_size } else { 0 };
    let calls = order.iter().flat_map(|of| {
        let func = &alone.functions[*of];
        let words = func.layout_insts().filter(|inst| func.inst(*inst).machine().is_some());
        words.map(move |inst| calls_own(func, inst) == Some(false))
    });
    let system_calls = (0u32..).step_by(16).zip(calls).filter(|(_, calls)| *calls).map(|(at, _)| at).collect();
    let mut externals = Vec::new();
    for of in order {
        let func = &module.functions[*of];
        for inst in func.layout_insts().filter(|inst| func.inst(*inst).opcode == Opcode::Call) {
            if let Some(Operand::Func(callee)) = func.srcs(inst).first()
                && is_external(module, *callee)
                && !externals.contains(&module.functions[*callee].name)
            {
                externals.push(module.functions[*callee].name.clone());
            }
        }
    }
    let kernel = Kernel {
        system_calls,
        externals,
        name: func.name.clone(),
        words,
        lines: Vec::new(),
        ptx_lines: Vec::new(),
        registers,
        frame: frames,
        functions: placed[1..].iter().map(|(of, at)| (alone.functions[*of].name.clone(), *at)).collect(),
        parameters: func.params.iter().map(parameter).collect(),
        images: of_images.iter().map(|local| image(&func.locals[*local])).collect(),
        bank_end: numbers.last().map_or(0, |(at, _)| at + 8),
        numbers,
        parameter_size: places.parameter_size as u16,
        parameter_base: places.constants.parameters as u16,
        shared,
        shared_align: 16,
        barriers: order.iter().map(|of| barriers(&module.functions[*of])).max().unwrap_or(0),
        max_threads: three("maxntid").or_else(|| three("reqntid")),
        required_threads: three("reqntid"),
        is_cluster: has("explicitcluster"),
        blocks_are_clusters: has("blocksareclusters"),
        cluster: three("reqnctapercluster"),
        max_cluster_rank: three("maxclusterrank").map(|[rank, ..]| rank),
    };
    let compiled = Compiled {
        name: func.name.clone(),
        registers,
        spilled,
        frame: frames,
        spill_bytes,
        shared: shared.saturating_sub(places.shared_reserved),
        barriers: kernel.barriers,
        words: kernel.words.len(),
    };
    Ok((kernel, compiled, made))
}

/// A texture, a sampler or a surface, as the file says what it is.
fn image(variable: &oriole_ir::Variable) -> ImageVariable {
    let kind = match variable.ty {
        Type::SamplerRef => ImageKind::Sampler,
        Type::SurfRef => ImageKind::Surface,
        _ => ImageKind::Texture,
    };
    ImageVariable { name: variable.name.clone(), kind, settings: Settings::of(&variable.init) }
}

/// Named barriers that a function may use: all where a register says which.
fn barriers(func: &Function) -> u8 {
    let mut most = 0;
    for inst in func.layout_insts() {
        let is_barrier =
            matches!(func.inst(inst).opcode, Opcode::BarSync | Opcode::BarArrive | Opcode::BarRed | Opcode::BarRedPopc);
        if func.inst(inst).opcode == Opcode::ClusterWait {
            most = most.max(1);
        }
        if is_barrier {
            let number = func.srcs(inst).first().and_then(|first| func.imm_bits(*first));
            most = most.max(number.map_or(16, |number| (number + 1).min(16) as u8));
        }
    }
    most
}

/// How many registers a kernel may have: as it, the launch that it is for, and the caller say.
fn limits(func: &Function, target: Target, options: Options) -> Limits {
    let directive = |name: &str| func.directives.iter().find(|directive| directive.name == name);
    let first = |name: &str| directive(name).and_then(|directive| directive.values.first().copied());
    let threads = ["maxntid", "reqntid"].into_iter().find_map(directive);
    let threads = threads.map_or(1, |directive| directive.values.iter().product::<u64>().max(1));
    // Registers are given out to warps in groups of eight a thread.
    let by_threads = (u64::from(target.registers_per_cta()) / threads.next_multiple_of(32)) & !7;
    let most =
        by_threads.min(255).min(first("maxnreg").unwrap_or(255)).min(options.max_registers.unwrap_or(255).into());
    let general = (most as u16).saturating_sub(RESERVED as u16).max(8);
    let soft_skip = options.tuning.soft_skip;
    Limits { general, uniform: target.uniform_register_limit() as u16, soft_skip }
}

/// Puts the variables of a module into the file.
fn variables(module: &Module, places: &Places, file: &mut Build) {
    let globals: Vec<_> = module
        .globals
        .iter()
        .filter(|(_, variable)| variable.space == Space::Global && !variable.ty.is_reference())
        .collect();
    let place = |symbol: SymbolRef| match symbol {
        SymbolRef::Global(global) => globals.iter().position(|(known, _)| *known == global),
        SymbolRef::Func(_) => None,
    };
    let bytes = |variable: &oriole_ir::Variable| {
        let mut bytes = variable.init.clone();
        for row in &variable.relocations {
            let SymbolRef::Func(id) = row.symbol else { continue };
            let number = places.pointers.number(id).unwrap_or(0).wrapping_add_signed(row.addend);
            let at = row.offset as usize;
            bytes.resize(bytes.len().max(at + 8), 0);
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        bytes
    };
    file.constants = vec![0; places.bank_size as usize];
    for (global, offset) in places.bank() {
        let variable = &module.globals[global];
        let start = offset as usize;
        let bytes = bytes(variable);
        file.constants[start..start + bytes.len()].copy_from_slice(&bytes);
        file.constant_symbols.push((variable.name.clone(), offset, variable.size() as u32));
        let addresses = variable.relocations.iter().filter(|row| row.width == 8);
        let of = |row: &Relocation| Some((offset + row.offset, place(row.symbol)?, row.addend));
        file.constant_addresses.extend(addresses.filter_map(of));
    }
    for (_, variable) in &globals {
        let addresses = variable.relocations.iter().filter(|row| row.width == 8);
        file.globals.push(Variable {
            name: variable.name.clone(),
            size: variable.size(),
            align: variable.align.into(),
            is_visible: variable.linkage != Linkage::Internal,
            data: bytes(variable),
            addresses: addresses.filter_map(|row| Some((row.offset, place(row.symbol)?, row.addend))).collect(),
        });
    }
    for symbol in places.entries() {
        match symbol {
            SymbolRef::Global(_) => file.addresses.extend(place(*symbol).map(Address::Global)),
            SymbolRef::Func(id) => {
                file.addresses.push(Address::External(file.externals.len()));
                file.externals.push(module.functions[*id].name.clone());
            }
        }
    }
}
