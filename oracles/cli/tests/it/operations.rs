//! Code that ptxas makes of single generated operations, for every SM, against NVIDIA's nvdisasm: every word that it
//! takes is known, encodes to itself, and prints as it prints it. `ORIOLE_OPERATIONS` says how many operations are
//! tried for each SM and level.

#[path = "../../../../optimizer/sass/tests/it/common/mod.rs"]
mod common;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use common::{nvdisasm, ours, texts};
use oriole_campaign::target::{Cases, Target as Kind};
use oriole_check::compiled::Compiler;
use oriole_check::compiler::{Axis, Ptxas};
use oriole_check::input::write_ptx;
use oriole_generate::Config;
use oriole_ir::Module;
use oriole_ir::sm::Target;
use oriole_sass::cubin::{SectionKind, words};
use oriole_sass::{SMS, Table};

/// Operations of an SM and a level, unless `ORIOLE_OPERATIONS` says how many.
const OPERATIONS: u64 = 24;
/// The seed of the operations.
const SEED: u64 = 1;

/// The target of an SM that has all that a module needs, the one for all SMs of its kind first.
fn target(module: &Module, sm: u16) -> Option<Target> {
    let of = |suffix: &str| format!("sm_{sm}{suffix}").parse::<Target>().ok();
    ["", "a"].into_iter().filter_map(of).find(|target| module.is_for(*target))
}

/// The words of all code that the compiler makes of an operation; none where it takes it for no target of the SM.
fn code(compiler: &Compiler, module: &mut Module, sm: u16, level: u8) -> Vec<u128> {
    let Some(target) = target(module, sm) else { return Vec::new() };
    module.target = target.to_string();
    let axis = Axis::new(&target.to_string(), level);
    let Some(cubin) = write_ptx(module).ok().and_then(|text| compiler.compile_text(&text, &axis).ok()) else {
        return Vec::new();
    };
    let code = (0..cubin.sections.len()).filter(|at| cubin.sections[*at].kind == SectionKind::Code);
    code.flat_map(|at| words(cubin.bytes(at))).collect()
}

#[test]
fn code_of_every_operation_is_read_as_nvdisasm_reads_it() {
    let Some(tool) = nvdisasm() else { return };
    let Some(ptxas) = Ptxas::find(Path::new(env!("CARGO_MANIFEST_DIR"))) else {
        return println!("skipped: no ptxas (ci/cuda-tools installs it)");
    };
    let compiler = Compiler {
        tool: ptxas.into(),
        axes: Vec::new(),
        version: String::new(),
        gpu: None,
        phases: None,
        witness: None,
    };
    let wanted = std::env::var("ORIOLE_OPERATIONS").ok();
    let wanted = wanted.map_or(OPERATIONS, |number| number.parse().expect("ORIOLE_OPERATIONS is a number"));
    let cases = Cases::new(SEED, Config::for_compilers(), &[Kind::Instructions], Arc::default());
    for (place, sm) in SMS.into_iter().enumerate() {
        // Each SM and level has operations of its own, since there are more than one run can try.
        for (at, level) in [0, 3].into_iter().enumerate() {
            let first = (2 * place + at) as u64 * wanted;
            let modules = (first..first + wanted).filter_map(|number| Some(cases.sound(number).ok()?.generated.module));
            let words: BTreeSet<u128> =
                modules.flat_map(|mut module| code(&compiler, &mut module, sm, level)).collect();
            let words: Vec<u128> = words.into_iter().collect();
            assert!(words.len() as u64 > 4 * wanted, "sm_{sm}: {} words are too few", words.len());
            let table = Table::of(sm).expect("the SM is known");
            let theirs = texts(&tool, sm, &words);
            let pairs = words.iter().enumerate().zip(theirs);
            let wrong = pairs.filter_map(|((at, word), theirs)| {
                let ours = ours(table, *word, 16 * at as u64);
                (ours != theirs).then(|| format!("{word:032x}: ours {ours:?}, nvdisasm {theirs:?}"))
            });
            let wrong: Vec<String> = wrong.collect();
            assert!(wrong.is_empty(), "sm_{sm} -O{level}, {} words:\n{}", wrong.len(), wrong.join("\n"));
        }
    }
}
