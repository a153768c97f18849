//! Kernels with checks in them that trap where an analysis is wrong about a value.
//!
//! A test says what is checked of a register in a block; here the checks are put into functions, and the kernels of the
//! corpus and generated ones run with them.

use std::path::{Path, PathBuf};

use oriole_check::input::{Language, NamedLaunch, launches_for, read_kernel};
use oriole_generate::Config;
use oriole_interp::{Executable, Outcome, RunOptions};
use oriole_ir::ops::Opcode;
use oriole_ir::verify::verify_module;
use oriole_ir::{Block, Function, Inst, Module, Reg};
use oriole_optimizer::ssa;
use rayon::prelude::*;

/// Puts checks into a function: behind each definition, and in front of each instruction for what it reads. `check`
/// adds the instructions that check registers in a block, but for those that it finds among the checked ones, and says
/// how many registers they check.
pub fn insert_checks(
    func: &mut Function,
    mut check: impl FnMut(&mut Function, Block, Vec<Reg>, &mut Vec<Reg>, &mut Vec<Inst>) -> usize,
) -> usize {
    let mut checks = 0;
    for block in func.layout().to_vec() {
        let mut checked: Vec<Reg> = Vec::new();
        let mut insts = Vec::new();
        let old: Vec<Inst> = func.block_insts(block).collect();
        old.iter().for_each(|inst| func.remove_inst(*inst));
        let phis = old.iter().take_while(|inst| func.inst(**inst).opcode == Opcode::Phi).count();
        for (place, inst) in old.iter().enumerate() {
            if place >= phis {
                let read: Vec<Reg> = func.uses(*inst).collect();
                checks += check(func, block, read, &mut checked, &mut insts);
            }
            insts.push(*inst);
            // What phis and instructions yield, as soon as no phi comes behind.
            if place + 1 >= phis && place + 1 < old.len() {
                let defined = &old[if place + 1 == phis { 0 } else { place }..=place];
                let defined: Vec<Reg> = defined.iter().flat_map(|inst| func.defs(*inst)).collect();
                checks += check(func, block, defined, &mut checked, &mut insts);
            }
        }
        insts.into_iter().for_each(|inst| func.append_inst(block, inst));
    }
    checks
}

/// What came of kernels: how many values were checked in runs that finished.
#[derive(Default, Debug)]
pub struct Tally {
    /// Kernels.
    pub kernels: usize,
    /// Registers that are checked somewhere.
    pub checks: usize,
    /// Functions that are left as they are.
    pub left: usize,
    /// Runs that finished.
    pub finished: usize,
    /// Runs that ended in another way than with a check.
    pub silent: usize,
}

/// Puts checks into the functions of a module by `plant`, which says how many, and runs it.
fn run_checked(
    name: &str,
    module: &Module,
    launches: &[NamedLaunch],
    plant: impl Fn(&mut Function) -> Option<usize>,
) -> Tally {
    let (mut tally, mut checked) = (Tally { kernels: 1, ..Tally::default() }, module.clone());
    for func in checked.functions.values_mut().filter(|func| func.is_definition()) {
        match plant(func) {
            Some(checks) => tally.checks += checks,
            None => tally.left += 1,
        }
    }
    if let Err(violations) = verify_module(&checked) {
        panic!("{name}: {}\n{checked}", violations[0]);
    }
    let (Ok(original), Ok(executable)) = (Executable::new(module), Executable::new(&checked)) else { return tally };
    for NamedLaunch { name: launch_name, launch } in launches {
        let run = |executable: &Executable<'_>, steps| {
            executable
                .run(launch, &RunOptions { steps: Some(steps), slice: Some(1 << 40), ..RunOptions::default() })
                .ok()
        };
        let Some(expected) = run(&original, 1 << 24).filter(|run| run.outcome == Outcome::Finished) else { continue };
        let found = run(&executable, expected.steps * 64 + (1 << 16)).expect("a launch that fits still fits");
        match found.outcome {
            Outcome::Finished => tally.finished += 1,
            Outcome::Trapped { place, .. } => panic!("{name}, {launch_name}: a check fails at {place:?}\n{checked}"),
            _ => tally.silent += 1,
        }
    }
    tally
}

fn summed(tallies: impl ParallelIterator<Item = Tally>) -> Tally {
    let tally = tallies.reduce(Tally::default, |a, b| Tally {
        kernels: a.kernels + b.kernels,
        checks: a.checks + b.checks,
        left: a.left + b.left,
        finished: a.finished + b.finished,
        silent: a.silent + b.silent,
    });
    println!("{tally:?}");
    tally
}

/// Checks the kernels of the corpus.
pub fn in_the_corpus(plant: impl Fn(&mut Function) -> Option<usize> + Sync) -> Tally {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/kernels");
    let entries = std::fs::read_dir(folder).expect("the corpus is there");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let kernels: Vec<PathBuf> = paths.filter(|path| Language::of(path).is_some()).collect();
    summed(kernels.par_iter().map(|kernel| {
        let mut module = read_kernel(kernel).expect("a kernel of the corpus is valid");
        ssa::construct_module(&mut module);
        let launches = launches_for(kernel, &[]).expect("a kernel of the corpus has launches");
        run_checked(&kernel.display().to_string(), &module, &launches, &plant)
    }))
}

/// Checks so many generated kernels.
pub fn in_generated_kernels(count: u64, plant: impl Fn(&mut Function) -> Option<usize> + Sync) -> Tally {
    summed((0..count).into_par_iter().map(|seed| {
        let mut generated = oriole_check::kernels::from_seed(seed, &Config::default());
        ssa::construct_module(&mut generated.module);
        run_checked(&format!("seed {seed}"), &generated.module, &generated.launches, &plant)
    }))
}
