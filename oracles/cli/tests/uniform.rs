//! What the divergence analysis calls uniform is the same in all lanes that execute it together, while kernels run.
//!
//! Every kernel of the corpus, and generated ones, get a check at each definition and behind each entry into a block
//! that reads a uniform value: the lanes that are active compare what they have (`match.all.sync`), and trap where it
//! differs. The interpreter lets the lanes that are furthest back in program order go first. So lanes that part meet
//! again at the immediate post-dominator if that stands behind all blocks in between; functions where it does not are
//! left as they are.

use std::path::{Path, PathBuf};

use oriole_check::input::{Language, NamedLaunch, launches_for, read_kernel};
use oriole_generate::{self, Config};
use oriole_interp::{Executable, Outcome, RunOptions};
use oriole_ir::ops::{Opcode, Type};
use oriole_ir::verify::verify_module;
use oriole_ir::{Block, Function, Guard, Inst, InstBuilder, Module, Reg, RegFile, RegInfo};
use oriole_optimizer::analysis::{Cfg, Divergence, Dominators, LoopNest, PostDominators, Uniformity};
use oriole_optimizer::ssa;
use rayon::prelude::*;

struct Facts {
    cfg: Cfg,
    nest: LoopNest,
    divergence: Divergence,
}

impl Facts {
    /// The analysis of a function; `None` where the order of its blocks lets lanes pass a post-dominator.
    fn of(func: &Function) -> Option<Facts> {
        let cfg = Cfg::new(func);
        let (dominators, post, nest) = (Dominators::new(&cfg), PostDominators::compute(&cfg), LoopNest::compute(&cfg));
        let divergence = Divergence::compute(func, &cfg, &dominators, &post, &nest);
        let parts = |block: &&Block| divergence.branch(**block) == Uniformity::Varying;
        let meets = |block: &Block| meets_behind(&cfg, *block, post.immediate_post_dominator(&cfg, *block));
        let all = cfg.rpo().iter().filter(parts).all(meets);
        all.then_some(Facts { cfg, nest, divergence })
    }

    fn is_uniform(&self, reg: Reg, block: Block) -> bool {
        self.divergence.at(&self.cfg, &self.nest, reg, block) >= Uniformity::Warp
    }
}

/// Whether all blocks between a branch and its post-dominator stand before that one.
fn meets_behind(cfg: &Cfg, branch: Block, end: Option<Block>) -> bool {
    let (mut seen, mut work) = (vec![branch], vec![branch]);
    while let Some(block) = work.pop() {
        for to in cfg.successors(block).iter().filter(|to| Some(**to) != end) {
            if !seen.contains(to) {
                seen.push(*to);
                work.push(*to);
            }
        }
    }
    end.is_none_or(|end| seen.iter().all(|block| cfg.position(*block) < cfg.position(end)))
}

/// Puts the checks into a function; how many.
fn check_lanes(func: &mut Function, facts: &Facts) -> usize {
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
                checks += compare(func, facts, block, read, &mut checked, &mut insts);
            }
            insts.push(*inst);
            // What phis and instructions yield, as soon as no phi comes behind.
            if place + 1 >= phis && place + 1 < old.len() {
                let defined = &old[if place + 1 == phis { 0 } else { place }..=place];
                let defined: Vec<Reg> = defined.iter().flat_map(|inst| func.defs(*inst)).collect();
                checks += compare(func, facts, block, defined, &mut checked, &mut insts);
            }
        }
        insts.into_iter().for_each(|inst| func.append_inst(block, inst));
    }
    checks
}

fn compare(
    func: &mut Function,
    facts: &Facts,
    block: Block,
    regs: Vec<Reg>,
    checked: &mut Vec<Reg>,
    insts: &mut Vec<Inst>,
) -> usize {
    let before = checked.len();
    for reg in regs {
        let info = func.regs()[reg];
        let comparable = matches!(info, RegInfo { file: RegFile::R, words: 1 | 2 } | RegInfo::PRED);
        if !comparable || checked.contains(&reg) || !facts.is_uniform(reg, block) {
            continue;
        }
        checked.push(reg);
        let mut put = |inst: InstBuilder, func: &mut Function| insts.push(inst.create(func));
        let mask = func.new_reg(RegInfo::words(1));
        put(InstBuilder::new(Opcode::ActiveMask).dst(mask), func);
        let (mut value, ty) = (reg, if info.words == 2 { Type::B64 } else { Type::B32 });
        if info == RegInfo::PRED {
            value = func.new_reg(RegInfo::words(1));
            let one = InstBuilder::new(Opcode::SelP).field(Type::B32).dst(value);
            put(one.src(oriole_ir::Operand::imm(1)).src(oriole_ir::Operand::imm(0)).src(reg), func);
        }
        let (equal, same) = (func.new_reg(RegInfo::words(1)), func.new_reg(RegInfo::PRED));
        put(InstBuilder::new(Opcode::MatchAll).field(ty).dst(equal).dst(same).src(value).src(mask), func);
        put(InstBuilder::new(Opcode::Trap).guard(Some(Guard::new(same, true))), func);
    }
    checked.len() - before
}

/// What came of a kernel: how many values were compared in runs that finished.
#[derive(Default, Debug)]
struct Tally {
    checks: usize,
    left: usize,
    finished: usize,
    silent: usize,
}

fn run_checked(name: &str, module: &Module, launches: &[NamedLaunch]) -> Tally {
    let (mut tally, mut checked) = (Tally::default(), module.clone());
    for func in checked.functions.values_mut().filter(|func| func.is_definition()) {
        match Facts::of(func) {
            Some(facts) => tally.checks += check_lanes(func, &facts),
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
            Outcome::Trapped { place, .. } => panic!("{name}, {launch_name}: lanes differ at {place:?}\n{checked}"),
            _ => tally.silent += 1,
        }
    }
    tally
}

fn summed(tallies: impl ParallelIterator<Item = Tally>) -> Tally {
    tallies.reduce(Tally::default, |a, b| Tally {
        checks: a.checks + b.checks,
        left: a.left + b.left,
        finished: a.finished + b.finished,
        silent: a.silent + b.silent,
    })
}

#[test]
fn lanes_agree_in_the_corpus() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/kernels");
    let entries = std::fs::read_dir(folder).expect("the corpus is there");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let kernels: Vec<PathBuf> = paths.filter(|path| Language::of(path).is_some()).collect();
    let tally = summed(kernels.par_iter().map(|kernel| {
        let mut module = read_kernel(kernel).expect("a kernel of the corpus is valid");
        ssa::construct_module(&mut module);
        let launches = launches_for(kernel, &[]).expect("a kernel of the corpus has launches");
        run_checked(&kernel.display().to_string(), &module, &launches)
    }));
    println!("{tally:?}");
    assert!(tally.checks > 1000 && tally.finished * 2 > kernels.len(), "{tally:?} of {} kernels", kernels.len());
}

#[test]
fn lanes_agree_in_generated_kernels() {
    let tally = summed((0..300u64).into_par_iter().map(|seed| {
        let mut generated = oriole_check::kernels::from_seed(seed, &Config::default());
        ssa::construct_module(&mut generated.module);
        run_checked(&format!("seed {seed}"), &generated.module, &generated.launches)
    }));
    println!("{tally:?}");
    assert!(tally.checks > 1000 && tally.finished > 100, "{tally:?}");
}
