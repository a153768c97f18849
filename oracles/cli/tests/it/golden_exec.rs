//! Every golden executes equally before and after its phase (`corpus/golden/<phase>/*.ori`).
//!
//! Goldens have no launch files: pointers get buffers of random bytes, numbers small values, and a pointer `$multicast`
//! is the multicast address of the buffer of the parameter before it, which has two replicas then.

use std::path::{Path, PathBuf};

use oriole_check::judge::{Inconclusive, Judge, Verdict};
use oriole_interp::Executable;
use oriole_ir::ops::{Flags, Type};
use oriole_ir::{FunctionKind, Module, parse_module};
use oriole_launch::{Arg, ArgValue, Buffer, Image, Launch, Scalar, ScalarType, random};

const STEPS: u64 = 1_000_000;

fn goldens() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/golden");
    let list = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).expect("the folder can be read");
        entries.map(|entry| entry.expect("the folder can be read").path()).collect()
    };
    let folders = list(&folder).into_iter().filter(|path| path.is_dir());
    let mut files: Vec<PathBuf> = folders.flat_map(|folder| list(&folder)).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "ori"));
    files.sort();
    files
}

/// A launch of each entry: 64-bit parameters are pointers, others are numbers drawn from `seed`.
fn launches(module: &Module, seed: u64) -> Vec<Launch> {
    let entries = module.functions.values().filter(|func| func.kind == FunctionKind::Entry && func.is_definition());
    entries
        .map(|func| {
            let mut launch = Launch::new(Some(func.name.clone()));
            // A warpgroup is four warps.
            let groups = func.layout_insts().any(|inst| func.inst(inst).is(Flags::WARPGROUP));
            launch.block = [if groups { 128 } else { 32 }, 1, 1];
            launch.images = images(module, seed);
            launch.args = func
                .params
                .iter()
                .enumerate()
                .map(|(index, param)| {
                    let variable = &func.locals[*param];
                    argument(variable.ty, variable.size() as usize, seed * 100 + index as u64)
                })
                .collect();
            let names = func.params.iter().map(|param| func.locals[*param].name.as_str());
            if let Some(at) = names.enumerate().position(|(at, name)| at > 0 && name == "multicast") {
                let ArgValue::Buffer(replicas) = &mut launch.args[at - 1].value else {
                    panic!("no buffer is before it")
                };
                replicas.replicas = 2;
                launch.args[at].value = ArgValue::Multicast { arg: at - 1, offset: 0 };
            }
            launch
        })
        .collect()
}

/// An image for each variable that leads to one: a line of texels.
fn images(module: &Module, seed: u64) -> Vec<Image> {
    let references = module.globals.values().filter(|variable| variable.ty.is_reference());
    let table = |variable: &oriole_ir::Variable| {
        let ty = if variable.ty == Type::SurfRef { "u32" } else { "f32" };
        let random = format!("random = {{ seed = {seed} }}");
        format!("[[image]]\nname = \"{}\"\nwidth = 40\ntype = \"{ty}\"\n{random}\n", variable.name)
    };
    let text: String = std::iter::once("grid = 1\nblock = 1\n".to_owned()).chain(references.map(table)).collect();
    Launch::parse(&text, "images", |_, _| unreachable!("no file is named")).expect("the text is a launch").images
}

fn argument(ty: Type, bytes: usize, seed: u64) -> Arg {
    let value = match (ty, bytes) {
        (Type::U64 | Type::B64 | Type::S64, 8) => {
            ArgValue::Buffer(Buffer { bytes: random::bytes(seed, 4096), ..Buffer::default() })
        }
        (_, 4) => ArgValue::Scalar(Scalar::from_bits(ScalarType::B32, seed % 40)),
        (_, 8) => ArgValue::Scalar(Scalar::from_bits(ScalarType::B64, random::bytes(seed, 8)[0].into())),
        _ => ArgValue::Bytes(random::bytes(seed, bytes)),
    };
    Arg { name: None, value }
}

/// The verdicts of a golden over a few launches.
fn verdicts(path: &Path) -> Vec<Verdict> {
    let text = std::fs::read_to_string(path).expect("the golden can be read");
    let (input, expected) = text.split_once(";; expect:\n").expect("a golden has two modules");
    let (before, after) = (parse_module(input).expect("a module"), parse_module(expected).expect("a module"));
    let (original, optimized) =
        (Executable::new(&before).expect("it decodes"), Executable::new(&after).expect("it decodes"));
    let verdict = |launch: &Launch| match Judge::of(&original, launch, Some(STEPS)) {
        Ok(judge) => judge.judge(&optimized).verdict,
        Err(Inconclusive::Run(verdict)) => *verdict,
        Err(Inconclusive::Load(error)) => panic!("the launch fits, but: {error}"),
    };
    (0..4).flat_map(|seed| launches(&before, seed)).map(|launch| verdict(&launch)).collect()
}

#[test]
fn every_golden_executes_equally_before_and_after() {
    let goldens = goldens();
    assert!(goldens.len() > 20, "{} goldens", goldens.len());
    let (mut bad, mut telling) = (Vec::new(), 0);
    for path in &goldens {
        let verdicts = verdicts(path);
        bad.extend(verdicts.iter().filter(|v| v.is_finding()).map(|verdict| format!("{}: {verdict}", path.display())));
        telling += usize::from(verdicts.iter().any(Verdict::is_good));
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
    // Goldens that trap are inconclusive; most must not be.
    assert!(telling * 10 >= goldens.len() * 8, "only {telling} of {} goldens are conclusive", goldens.len());
}
