//! Code of ptxas from which phases have taken words, with the others moved forward: it does what it did, its scheduling
//! covers what it covered, and NVIDIA's tools read the files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use oriole_check::input::read_kernel;
use oriole_interp::{Executable, Outcome, RunOptions};
use oriole_launch::{Launch, launch_files_for};
use oriole_machine::Image;
use oriole_optimizer::pipeline::Pipeline;
use oriole_optimizer::pipeline::runner::{Options, run_passes};
use oriole_sass::cubin::Cubin;
use oriole_sass::ori::compact::{Compacted, compact};
use oriole_sass::ori::in_place;
use oriole_scoreboard::check_cubin;

use crate::in_place::{corpus, cubins as captured, same_on_launches};

/// The captured cubins of code without optimization: file name and content.
fn cubins() -> impl Iterator<Item = (String, Cubin)> {
    captured().into_iter().filter(|(name, _)| name.ends_with(".O0.cubin"))
}

/// A cubin behind the pipeline of machine code, as it is in place and without what is gone.
fn compacted(name: &str, cubin: &Cubin) -> (Cubin, Cubin, Vec<Compacted>) {
    let mut module = in_place::lift(cubin).unwrap_or_else(|error| panic!("{name}: {error}"));
    let target = module.target.parse().expect("a target");
    run_passes(&Pipeline::machine(), &mut module, &Options::new(target), &mut ()).expect("the passes run");
    let now = in_place::replaced(cubin, &module).unwrap_or_else(|error| panic!("{name}: {error}"));
    let (bytes, all) = compact(cubin, &now).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(bytes.len(), cubin.data().len(), "{name}");
    (now, Cubin::read(&bytes).unwrap_or_else(|error| panic!("{name}: {error}")), all)
}

/// A tool, if it is installed.
fn tool(name: &str) -> Option<PathBuf> {
    let finder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/cuda-tools");
    let found = Command::new(finder).args(["--find", name]).output().ok().filter(|found| found.status.success())?;
    Some(PathBuf::from(String::from_utf8(found.stdout).ok()?.trim()))
}

#[test]
fn compacted_code_of_the_corpus_does_what_it_did() {
    let (mut compared, mut gone, mut kept) = (0, 0, BTreeMap::new());
    let tools = [("nvdisasm", vec!["-c", "-plr"]), ("cuobjdump", vec!["-elf"])];
    let tools: Vec<(PathBuf, Vec<&str>)> =
        tools.into_iter().filter_map(|(name, arguments)| Some((tool(name)?, arguments))).collect();
    if tools.is_empty() {
        println!("skipped: no nvdisasm and no cuobjdump (ci/cuda-tools installs them)");
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, cubin) in cubins() {
        let (now, after, all) = compacted(&name, &cubin);
        for it in &all {
            match it.kept {
                Some(reason) => *kept.entry(reason).or_insert(0) += it.gone,
                None => gone += it.gone,
            }
        }
        let hazards = |cubin: &Cubin| check_cubin(cubin).expect("the words are known").len();
        assert!(hazards(&after) <= hazards(&now), "{name}: {:#?}", check_cubin(&after));
        let file = folder.path().join(&name);
        std::fs::write(&file, after.data()).expect("it is writable");
        for (tool, arguments) in &tools {
            let read = Command::new(tool).args(arguments).arg(&file).output().expect("the tool starts");
            assert!(read.status.success(), "{name}: {}", String::from_utf8_lossy(&read.stderr));
        }
        compared += same_on_launches(&name, &now, &after);
    }
    println!("{compared} runs; {gone} words are gone, others stay: {kept:#?}");
    assert!(compared > 50 && gone > 5000, "{compared} compared, {gone} gone");
}

/// A jump through a table goes where it went: entries, the distance of the jump and the attribute have moved. The
/// corpus has such a kernel that calls nothing, whose code ptxas makes here.
#[test]
fn tables_of_jumps_follow() {
    let Some(ptxas) = tool("ptxas") else {
        println!("skipped: no ptxas (ci/cuda-tools installs it)");
        return;
    };
    let (folder, kernel) = (tempfile::tempdir().expect("a temporary folder"), corpus("kernels/bytecode.ptx"));
    let module = read_kernel(&kernel).expect("the kernel is read");
    let executable = Executable::new(&module).expect("it is executed");
    for sm in ["sm_90", "sm_100", "sm_120"] {
        let file = folder.path().join(format!("{sm}.cubin"));
        let made = Command::new(&ptxas).args(["-O0", "-arch", sm]).arg(&kernel).arg("-o").arg(&file).status();
        assert!(made.expect("ptxas starts").success(), "{sm}");
        let cubin = Cubin::read(&std::fs::read(&file).expect("ptxas wrote it")).expect("a cubin");
        let (_, after, all) = compacted(sm, &cubin);
        let branches = |cubin: &Cubin| cubin.functions[0].info.indirect_branches.clone();
        assert!(all[0].kept.is_none() && all[0].gone > 100, "{sm}: {all:?}");
        assert_ne!(branches(&cubin), branches(&after), "{sm}");
        for file in launch_files_for(&kernel) {
            let launch = Launch::load(&file).expect("a launch");
            let bound = executable.bound(&launch).expect("it fits");
            let run = |cubin: &Cubin| {
                let image = Image::load(cubin, &bound).unwrap_or_else(|error| panic!("{sm}: {error}"));
                image.run(&launch, &bound, &RunOptions::default()).unwrap_or_else(|error| panic!("{sm}: {error}"))
            };
            let (one, other) = (run(&cubin), run(&after));
            assert_eq!(other.outcome, Outcome::Finished, "{sm}");
            assert!(one.memory == other.memory, "{sm}, {}: it leaves something else", file.display());
        }
    }
}
