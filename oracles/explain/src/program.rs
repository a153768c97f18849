//! A module as a program of a record: its texts, its graph with loops, liveness, pressure, divergence, and what a
//! launch executes of it.
//!
//! Facts come from the optimizer's own analyses: the page shows what phases see.

use std::collections::HashMap;

use oriole_interp::{Executable, Executed, RunOptions};
use oriole_ir::ops::Flags;
use oriole_ir::{Block as BlockId, Form, Function as Func, Inst, Module, PhysicalReg, Reg, RegFile};
use oriole_ir::{function_to_string, inst_to_string};
use oriole_launch::Launch;
use oriole_optimizer::analysis::{
    Cfg, Divergence, Dominators, Liveness, LoopNest, PostDominators, Pressure, Uniformity,
};

use crate::interned::Interned;
use crate::record::{Block, Function, Program};

/// How often instructions were executed, by function and number of the instruction.
#[derive(Clone, Debug, Default)]
pub struct Counts(HashMap<String, HashMap<u32, [u64; 2]>>);

impl Counts {
    /// The counts of a run.
    pub fn of(executed: &[Executed]) -> Counts {
        let mut counts = Counts::default();
        for Executed { function, place, warps, threads } in executed {
            counts.0.entry(function.to_string()).or_default().insert(*place, [*warps, *threads]);
        }
        counts
    }

    /// The instructions that a launch executes of a module at the virtual level; `None` where it cannot run.
    pub fn of_module(module: &Module, launch: &Launch) -> Option<Counts> {
        let options = RunOptions { counts: true, ..RunOptions::default() };
        let run = Executable::new(module).ok()?.run(launch, &options).ok()?;
        Some(Counts::of(&run.counts))
    }

    /// Groups of lanes and threads that executed an instruction.
    pub fn get(&self, function: &str, place: u32) -> [u64; 2] {
        self.0.get(function).and_then(|own| own.get(&place)).copied().unwrap_or_default()
    }

    /// Instructions of threads that were executed.
    pub fn threads(&self) -> u64 {
        self.0.values().flat_map(HashMap::values).map(|[_, threads]| threads).sum()
    }
}

/// How the instructions of a function are written, and where they are counted.
pub trait Writing {
    /// The text of an instruction, without its line.
    fn text(&self, module: &Module, func: &Func, inst: Inst) -> String;

    /// Whether an instruction is shown.
    fn shows(&self, _func: &Func, _inst: Inst) -> bool {
        true
    }

    /// A note beside it.
    fn note(&self, _func: &Func, _inst: Inst) -> Option<String> {
        None
    }

    /// Its line of PTX, or 0.
    fn line(&self, func: &Func, inst: Inst) -> u32 {
        func.inst(inst).line
    }

    /// The number by which it is counted.
    fn place(&self, _func: &Func, inst: Inst) -> u32 {
        inst.as_u32()
    }
}

/// The text form of the IR.
pub struct Ori;

impl Writing for Ori {
    fn text(&self, module: &Module, func: &Func, inst: Inst) -> String {
        without_line(&inst_to_string(func, inst, Some(module))).to_owned()
    }
}

/// Machine-level Ori in the place of a cubin's words.
pub struct InPlace;

/// The word of an instruction that was lifted from a cubin: its line is the number of the word, from 1 on. A jump to
/// the block behind is none: no number of a word is as large.
pub fn word_of(func: &Func, inst: Inst) -> u32 {
    let data = func.inst(inst);
    if data.machine_row().is_some() { data.line.saturating_sub(1) } else { u32::MAX }
}

impl Writing for InPlace {
    fn text(&self, module: &Module, func: &Func, inst: Inst) -> String {
        Ori.text(module, func, inst)
    }

    fn line(&self, _func: &Func, _inst: Inst) -> u32 {
        0
    }

    fn place(&self, func: &Func, inst: Inst) -> u32 {
        word_of(func, inst)
    }
}

/// The text of an instruction without its line: `ret !12` is `ret`.
pub fn without_line(text: &str) -> &str {
    match text.rsplit_once(" !") {
        Some((text, line)) if line.bytes().all(|byte| byte.is_ascii_digit()) => text,
        _ => text,
    }
}

/// A module as a program; whoever asks adds what it is and which step left it.
pub fn program(module: &Module, counts: Option<&Counts>, writing: &dyn Writing, interned: &mut Interned) -> Program {
    let (mut functions, mut pressure, mut loads) = (Vec::new(), None, 0);
    for func in module.functions.values().filter(|func| func.is_definition()) {
        let view = View::new(module, func, counts, writing);
        pressure = pressure.max(Some(view.pressure.max().of(RegFile::R)));
        loads += view.loads();
        functions.push(view.function(interned));
    }
    Program {
        kept: true,
        executed: counts.map(Counts::threads),
        loads: counts.map(|_| loads),
        pressure,
        functions,
        ..Program::default()
    }
}

/// A function with all that is known about it.
struct View<'a> {
    module: &'a Module,
    func: &'a Func,
    counts: Option<&'a Counts>,
    writing: &'a dyn Writing,
    cfg: Cfg,
    nest: LoopNest,
    liveness: Liveness,
    pressure: Pressure,
    divergence: Option<Divergence>,
}

impl<'a> View<'a> {
    fn new(module: &'a Module, func: &'a Func, counts: Option<&'a Counts>, writing: &'a dyn Writing) -> View<'a> {
        let cfg = Cfg::new(func);
        let (nest, liveness) = (LoopNest::compute(&cfg), Liveness::solve(func, &cfg));
        let pressure = Pressure::compute(func, &cfg, &liveness);
        // In other forms every register varies, which says nothing.
        let divergence = (func.form == Form::Ssa).then(|| {
            let (dominators, post_dominators) = (Dominators::new(&cfg), PostDominators::compute(&cfg));
            Divergence::compute(func, &cfg, &dominators, &post_dominators, &nest)
        });
        View { module, func, counts, writing, cfg, nest, liveness, pressure, divergence }
    }

    fn function(&self, interned: &mut Interned) -> Function {
        let text = match self.func.layout() {
            [] => String::new(),
            _ => function_to_string(&head_of(self.func), Some(self.module)),
        };
        let head = text.lines().take_while(|line| *line != "}");
        Function {
            name: self.func.name.clone(),
            form: self.func.form.name().to_owned(),
            head: head.map(|line| interned.text(line)).collect(),
            blocks: self.func.layout().iter().map(|block| self.block(*block, interned)).collect(),
        }
    }

    fn block(&self, id: BlockId, interned: &mut Interned) -> u32 {
        let (func, writing) = (self.func, self.writing);
        let insts: Vec<Inst> = func.block_insts(id).filter(|inst| writing.shows(func, *inst)).collect();
        let counted = self.counts.map_or(Vec::new(), |counts| {
            insts.iter().map(|inst| counts.get(&func.name, writing.place(func, *inst))).collect()
        });
        let notes: Option<Vec<String>> = insts.iter().map(|inst| writing.note(func, *inst)).collect();
        let branches = self.cfg.successors(id).len() > 1;
        let block = Block {
            name: id.to_string(),
            successors: self.cfg.successors(id).iter().map(ToString::to_string).collect(),
            depth: self.nest.depth(&self.cfg, id),
            header: self.nest.innermost(&self.cfg, id).map(|of| self.nest.header(of).to_string()),
            branch: self.divergence.as_ref().filter(|_| branches).map(|it| uniformity(it.branch(id)).to_owned()),
            instructions: insts.iter().map(|inst| interned.text(writing.text(self.module, func, *inst))).collect(),
            notes: notes.into_iter().flatten().map(|note| interned.text(note)).collect(),
            lines: insts.iter().map(|inst| writing.line(func, *inst)).collect(),
            live_in: Some(self.liveness.live_in(id).iter().map(|reg| interned.text(register(func, reg))).collect()),
            pressure: insts.iter().map(|inst| self.pressure.before(*inst).of(RegFile::R)).collect(),
            warps: shortened(counted.iter().map(|[warps, _]| *warps)),
            threads: shortened(counted.iter().map(|[_, threads]| *threads)),
        };
        interned.block(block)
    }

    /// Instructions of threads that were executed and read memory.
    fn loads(&self) -> u64 {
        let (func, Some(counts)) = (self.func, self.counts) else { return 0 };
        let reads = func.layout_insts().filter(|inst| func.inst(*inst).is(Flags::READS));
        reads.map(|inst| counts.get(&func.name, self.writing.place(func, inst))[1]).sum()
    }
}

/// A function without its blocks, of which the text is the head alone.
fn head_of(func: &Func) -> Func {
    let mut head = func.clone();
    head.set_layout(Vec::new());
    head
}

/// One number where all are the same.
fn shortened(counts: impl ExactSizeIterator<Item = u64> + Clone) -> Vec<u64> {
    let first = counts.clone().next();
    match first {
        Some(first) if counts.clone().all(|count| count == first) => vec![first],
        _ => counts.collect(),
    }
}

fn uniformity(of: Uniformity) -> &'static str {
    match of {
        Uniformity::Varying => "varying",
        Uniformity::Warp => "warp",
        Uniformity::Cta => "cta",
        Uniformity::Launch => "launch",
    }
}

/// A register as the text form writes it.
fn register(func: &Func, reg: Reg) -> String {
    match PhysicalReg::of(reg).filter(|_| func.form == Form::Physical) {
        Some(physical) => format!("%{}", physical.name()),
        None => format!("%{}{}", func.regs()[reg].prefix(), reg.as_u32()),
    }
}
