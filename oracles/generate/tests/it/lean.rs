//! Kernels without what they do not use, beside the same kernels with it.

use oriole_generate::config::FamilyWeights;
use oriole_generate::{Config, Entropy, Generated, from_seed, single};
use oriole_interp::{Executable, GlobalState, Outcome, RunOptions};
use oriole_ir::ops::{Opcode, Space, SpecialReg};
use oriole_ir::verify::verify_module;
use oriole_ir::{Block, Function, FunctionKind, Global, Inst, Module, Operand, SymbolRef, Variable};

/// Bytes of a thread's results, and how many of them are variables that do not depend on what else is folded.
const SLOT: usize = 144;
const VARIABLES: usize = 64;
/// What a predicate that holds is folded as.
const FOLDED: u64 = 0x9e37;
/// Arguments of a kernel with a frame: without multicast memory, and with some.
const ARGUMENTS: [usize; 2] = [7, 10];

/// The same kernel, whole and lean: whole kernels and single operations in turn.
fn both(seed: u64) -> [Generated; 2] {
    [100, 0].map(|unused| {
        let config = Config { unused, ..Config::for_compilers() };
        match seed % 2 {
            0 => from_seed(seed, &config),
            _ => single::instruction(seed, &mut Entropy::from_seed(seed), &config),
        }
    })
}

/// Whether predicates are folded into the checksum behind all else, so that it has to be stored.
fn ends_in_a_choice(module: &Module) -> bool {
    let entries = module.functions.values().filter(|func| func.kind == FunctionKind::Entry);
    let mut behind = entries.filter(|func| ARGUMENTS.contains(&func.params.len())).flat_map(|func| {
        let returns = |block: &&Block| func.terminator(**block).is_some_and(|end| func.inst(end).opcode == Opcode::Ret);
        let blocks = func.layout().iter().filter(returns);
        let folds = |inst: Inst| {
            let chosen = func.srcs(inst).first().and_then(|operand| func.imm_bits(*operand));
            func.inst(inst).opcode == Opcode::SelP && chosen == Some(FOLDED)
        };
        blocks.flat_map(|block| func.block_insts(*block)).map(folds).collect::<Vec<_>>()
    });
    behind.any(|folds| folds)
}

fn reads_shared_size(module: &Module) -> bool {
    let sizes = [SpecialReg::TotalSmemSize, SpecialReg::AggrSmemSize].map(Operand::Special);
    let reads = |func: &Function| func.layout_insts().any(|inst| func.srcs(inst).iter().any(|src| sizes.contains(src)));
    module.functions.values().any(reads)
}

/// A kernel that reads the size of shared memory keeps the variables that it is made of.
#[test]
fn the_size_of_shared_memory_stays() {
    let family = FamilyWeights { special: 2000, ..FamilyWeights::default() };
    let config = Config { unused: 0, family, instructions: [30, 40], ..Config::for_compilers() };
    let modules = (0..1000).map(|seed| from_seed(seed, &config).module);
    let sized: Vec<Module> = modules.filter(reads_shared_size).collect();
    let shared = |module: &&Module| module.globals.values().any(|variable| variable.space == Space::Shared);
    assert!(sized.len() > 2 && sized.iter().all(|module| shared(&module)), "{} of them", sized.len());
}

#[test]
fn lean_kernels_do_what_whole_ones_do() {
    let ([mut most, mut left], mut folding) = ([0; 2], 0);
    for seed in 0..400 {
        let [whole, lean] = both(seed);
        assert!(verify_module(&lean.module).is_ok(), "seed {seed}:\n{}", lean.module);
        most += whole.module.inst_count();
        left += lean.module.inst_count();
        let named = lean.module.named_symbols();
        let sized = reads_shared_size(&lean.module);
        let is_named = |(id, variable): (Global, &Variable)| {
            let is_counted = sized && variable.space == Space::Shared;
            variable.ty.is_reference() || is_counted || named.contains(&SymbolRef::Global(id))
        };
        assert!(lean.module.globals.iter().all(is_named), "seed {seed}:\n{}", lean.module);
        let launch = &lean.launches[0].launch;
        let folds = ends_in_a_choice(&lean.module);
        folding += u32::from(folds);
        let [whole, lean] = [&whole.module, &lean.module].map(|module| {
            let executable = Executable::new(module).expect("it decodes");
            executable.run(launch, &RunOptions::default()).expect("it fits its launch")
        });
        assert_eq!((&whole.outcome, &lean.outcome), (&Outcome::Finished, &Outcome::Finished), "seed {seed}");
        if folds {
            let (at, after) = (VARIABLES, lean.memory[0].bytes.data());
            assert_ne!(
                after[at..at + 4],
                launch.buffers().next().expect("it has results").1.bytes[at..at + 4],
                "{seed}"
            );
        }
        let before: Vec<&[u8]> = launch.buffers().map(|(_, buffer)| &buffer.bytes[..]).collect();
        // Variables of the module that nothing names are gone.
        for (number, lean) in lean.memory.iter().enumerate() {
            let is_same = |one: &&GlobalState| (one.argument, &one.name) == (lean.argument, &lean.name);
            let whole = whole.memory.iter().find(is_same).expect("it is in the whole kernel");
            let unknown = |at: &usize| lean.bytes.is_undefined(*at) && !whole.bytes.is_undefined(*at);
            assert_eq!((0..lean.bytes.len()).find(unknown), None, "seed {seed}, buffer {number} is undefined");
            let (whole, lean) = (whole.bytes.data(), lean.bytes.data());
            assert_eq!(whole.len(), lean.len(), "seed {seed}, buffer {number}");
            // In a slot of results, what is stored is what the whole kernel stores there.
            let is_slot = number == 0 && ARGUMENTS.contains(&launch.args.len());
            let is_stored = |at: &usize| !is_slot || at % SLOT < VARIABLES && lean[*at] != before[0][*at];
            let wrong = (0..lean.len()).filter(is_stored).find(|at| lean[*at] != whole[*at]);
            assert_eq!(wrong, None, "seed {seed}, buffer {number}");
        }
    }
    assert!(folding > 10, "{folding} kernels fold predicates");
    assert!(100 * left < 46 * most, "{left} of {most} instructions are left");
}
