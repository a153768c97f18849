//! Machine words as a program of a record: as nvdisasm prints them, with bits and scheduling control beside each.

use std::collections::HashMap;

use oriole_ir::{Function, Inst, Module};
use oriole_launch::Launch;
use oriole_machine::Lifted;
use oriole_optimizer::codegen::compile::{self, Allocated, CompileError, Output};
use oriole_sass::cubin::Cubin;
use oriole_sass::ori::in_place;
use oriole_sass::{Table, schedule, text};

use oriole_interp::RunOptions;

use crate::interned::Interned;
use crate::program::{Counts, InPlace, Ori, Writing, program, word_of};
use crate::record::{Notation, Program};

/// The words that a launch executes of machine code, with how often; `None` where it cannot run.
pub fn counts(cubin: &Cubin, module: &Module, launch: &Launch) -> Option<Counts> {
    let options = RunOptions { counts: true, ..RunOptions::default() };
    let run = Lifted::new(cubin, module).ok()?.run(launch, &options).ok()?;
    Some(Counts::of(&run.counts))
}

/// Functions in the place of a cubin's words, written as Ori.
pub fn in_place(cubin: &Cubin, module: &Module, launch: Option<&Launch>, interned: &mut Interned) -> Program {
    let counts = launch.and_then(|launch| counts(cubin, module, launch));
    Program { loads: None, ..program(module, counts.as_ref(), &InPlace, interned) }
}

/// The words of a cubin.
struct Words<'a> {
    table: &'a Table,
    /// By function: its words.
    words: HashMap<&'a str, Vec<u128>>,
    /// By function: the lines of PTX of its words, where they are known.
    lines: HashMap<&'a str, Vec<u32>>,
}

impl Words<'_> {
    fn word(&self, func: &Function, inst: Inst) -> Option<(u64, u128)> {
        let place = word_of(func, inst);
        let word = self.words.get(func.name.as_str())?.get(place as usize)?;
        Some((u64::from(place) * text::WORD_BYTES, *word))
    }
}

impl Writing for Words<'_> {
    fn text(&self, module: &Module, func: &Function, inst: Inst) -> String {
        let Some((address, word)) = self.word(func, inst) else { return Ori.text(module, func, inst) };
        let mut line = String::new();
        match self.table.decode(word) {
            Ok(instruction) => text::print(&mut line, &instruction, address),
            Err(_) => line = format!(".word {word:#034x}"),
        }
        line
    }

    fn shows(&self, func: &Function, inst: Inst) -> bool {
        self.word(func, inst).is_some()
    }

    fn note(&self, func: &Function, inst: Inst) -> Option<String> {
        self.word(func, inst).map(|(address, word)| format!("/*{address:04x}*/ {word:#034x} {}", schedule(word)))
    }

    fn line(&self, func: &Function, inst: Inst) -> u32 {
        let lines = self.lines.get(func.name.as_str());
        lines.and_then(|lines| lines.get(word_of(func, inst) as usize)).copied().unwrap_or(0)
    }

    fn place(&self, func: &Function, inst: Inst) -> u32 {
        word_of(func, inst)
    }
}

/// The words of a cubin with its functions, which say where blocks are; `None` where its words are not known.
pub fn words(
    cubin: &Cubin,
    module: &Module,
    lines: HashMap<&str, Vec<u32>>,
    launch: Option<&Launch>,
    interned: &mut Interned,
) -> Option<Program> {
    let words = cubin.functions.iter().map(|function| (function.name.as_str(), cubin.words(function).collect()));
    let words = Words { table: Table::of(cubin.target.sm)?, words: words.collect(), lines };
    let counts = launch.and_then(|launch| counts(cubin, module, launch));
    let program = program(module, counts.as_ref(), &words, interned);
    let title = "machine words".to_owned();
    Some(Program { title, loads: None, notation: Notation::Words, ..program })
}

/// The programs of our own code generation: behind selection, behind allocation, and the words.
///
/// # Errors
///
/// If something in the program is not compiled.
pub fn compiled(
    module: &Module,
    options: compile::Options,
    launch: Option<&Launch>,
    interned: &mut Interned,
) -> Result<Vec<Program>, CompileError> {
    let unknown = || CompileError::Target { target: module.target.clone() };
    let target = module.target.parse().map_err(|_| unknown())?;
    let options = compile::Options { keeps_allocations: true, ..options };
    let Output { cubin, functions, allocations, .. } = compile::compile(module, target, options)?;
    let cubin = Cubin::read(&cubin).map_err(|_| unknown())?;
    let lifted = in_place::lift(&cubin).map_err(|_| unknown())?;
    let listed = |of: fn(&Allocated) -> &Function| {
        let mut listed = Module { target: module.target.clone(), ..Module::default() };
        allocations.iter().for_each(|it| _ = listed.functions.push(of(it).clone()));
        listed
    };
    let of = |listed: Module, title: &str, interned: &mut Interned| Program {
        title: title.to_owned(),
        ..program(&listed, None, &Ori, interned)
    };
    let selected = of(listed(|it| &it.before), "selection", interned);
    let allocated = of(listed(|it| &it.after), "allocation", interned);
    let lines = functions.iter().map(|func| {
        let lines = func.layout_insts().map(|inst| func.inst(inst).line).collect();
        (func.name.as_str(), lines)
    });
    let words = words(&cubin, &lifted, lines.collect(), launch, interned);
    Ok([Some(selected), Some(allocated), words].into_iter().flatten().collect())
}
