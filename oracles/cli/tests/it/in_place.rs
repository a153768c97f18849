//! Code of ptxas whose words phases have changed in place: it does what its PTX says, and its scheduling covers what it
//! covered before.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use oriole_check::input::read_kernel;
use oriole_interp::{Executable, GlobalState, Outcome, RunOptions, RunResult};
use oriole_ir::{Form, parse_module};
use oriole_launch::{Launch, launch_files_for};
use oriole_machine::{Image, Lifted};
use oriole_optimizer::pipeline::Pipeline;
use oriole_optimizer::pipeline::runner::{Options, run_passes};
use oriole_sass::cubin::Cubin;
use oriole_sass::ori::in_place;
use oriole_scoreboard::{Hazard, check_cubin};

pub fn corpus(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(file)
}

/// The captured cubins: file name and content.
pub fn cubins() -> Vec<(String, Cubin)> {
    let files = std::fs::read_dir(corpus("cubins")).expect("a folder");
    let mut names: Vec<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.ends_with(".cubin"));
    names.sort();
    let read = |name: String| {
        let bytes = std::fs::read(corpus("cubins").join(&name)).expect("a file");
        (name, Cubin::read(&bytes).expect("a cubin"))
    };
    names.into_iter().map(read).collect()
}

/// The cubin behind the pipeline of machine code.
fn optimized(name: &str, cubin: &Cubin) -> Cubin {
    let mut module = in_place::lift(cubin).unwrap_or_else(|error| panic!("{name}: {error}"));
    let target = module.target.parse().expect("a target");
    let options = Options { verify: true, ..Options::new(target) };
    run_passes(&Pipeline::machine(), &mut module, &options, &mut ()).expect("the passes run");
    let (bytes, _) = in_place::write(cubin, &module).unwrap_or_else(|error| panic!("{name}: {error}"));
    Cubin::read(&bytes).expect("a cubin")
}

/// What is used too early, whatever is there now.
fn hazards(cubin: &Cubin) -> HashSet<(String, u64, u64)> {
    let found = check_cubin(cubin).expect("the words are known");
    let place = |hazard: Hazard| (hazard.function, hazard.first.offset, hazard.second.offset);
    found.into_iter().map(place).collect()
}

/// Runs two cubins of a kernel of the corpus on its launches, where they must leave the same; on how many.
pub fn same_on_launches(name: &str, one: &Cubin, other: &Cubin) -> usize {
    let kernel = corpus("kernels").join(format!("{}.ptx", name.split('.').next().expect("a name")));
    let module = read_kernel(&kernel).expect("the kernel is read");
    let executable = Executable::new(&module).expect("it is executed");
    let files = launch_files_for(&kernel);
    for file in &files {
        let launch = Launch::load(file).expect("a launch");
        let bound = executable.bound(&launch).expect("it fits");
        let run = |cubin: &Cubin| {
            let image = Image::load(cubin, &bound).unwrap_or_else(|error| panic!("{name}: {error}"));
            image.run(&launch, &bound, &RunOptions::default()).unwrap_or_else(|error| panic!("{name}: {error}"))
        };
        let (one, other) = (run(one), run(other));
        assert_eq!(other.outcome, Outcome::Finished, "{name}");
        assert!(one.memory == other.memory, "{name}, {}: it leaves something else", file.display());
    }
    files.len()
}

#[test]
fn optimized_code_of_the_corpus_does_what_it_did() {
    let mut compared = 0;
    for (name, cubin) in cubins() {
        let after = optimized(&name, &cubin);
        let new: Vec<_> = hazards(&after).difference(&hazards(&cubin)).cloned().collect();
        assert_eq!(new, [], "{name}: {:#?}", check_cubin(&after));
        compared += same_on_launches(&name, &cubin, &after);
    }
    assert!(compared > 100, "{compared} compared");
}

/// Functions of cubins, printed as Ori and read again, leave on a launch what their words leave, and need no PTX for
/// that.
#[test]
fn lifted_code_does_what_its_words_do() {
    let mut compared = 0;
    // Which parameters are images, the PTX alone says.
    for (name, cubin) in cubins().into_iter().filter(|(name, _)| !name.starts_with("image_")) {
        let lifted = in_place::lift(&cubin).unwrap_or_else(|error| panic!("{name}: {error}"));
        let again = parse_module(&lifted.to_string()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let program = Lifted::new(&cubin, &again).unwrap_or_else(|error| panic!("{name}: {error}"));
        let kernel = corpus("kernels").join(format!("{}.ptx", name.split('.').next().expect("a name")));
        let module = read_kernel(&kernel).expect("the kernel is read");
        let executable = Executable::new(&module).expect("it is executed");
        for file in launch_files_for(&kernel) {
            let launch = Launch::load(&file).expect("a launch");
            let bound = executable.bound(&launch).expect("it fits");
            let image = Image::load(&cubin, &bound).unwrap_or_else(|error| panic!("{name}: {error}"));
            let words = image.run(&launch, &bound, &RunOptions::default()).expect("its words are executed");
            let ori = program.run(&launch, &RunOptions::default());
            let ori = ori.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!((&ori.outcome, ori.executed), (&Outcome::Finished, words.executed), "{name}");
            let buffers = |run: &RunResult| -> Vec<GlobalState> {
                run.memory.iter().filter(|state| state.argument.is_some()).cloned().collect()
            };
            assert!(buffers(&ori) == buffers(&words), "{name}, {}: it leaves something else", file.display());
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared} compared");
}

#[test]
fn other_forms_than_the_physical_one_do_not_run() {
    let (name, cubin) = cubins().into_iter().find(|(name, _)| name == "half_arith.sm_90.O3.cubin").expect("a cubin");
    let mut lifted = in_place::lift(&cubin).unwrap_or_else(|error| panic!("{name}: {error}"));
    lifted.functions.values_mut().for_each(|func| func.form = Form::Virtual);
    let error = Lifted::new(&cubin, &lifted).expect_err("it has no words").to_string();
    assert_eq!(error, "function `half_arith` is in virtual form, and machine code is executed in physical form alone");
}

/// A phase over machine code that goes wrong is named, with the change, and the file that it writes shows it again.
#[test]
fn a_fault_in_a_phase_over_machine_code_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let check = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
        let output = command.current_dir(folder.path()).arg("check").args(arguments).output().expect("it starts");
        (output.status.code(), String::from_utf8(output.stdout).expect("text"))
    };
    let (kernel, cubin) = (corpus("kernels/half_arith.ptx"), corpus("cubins/half_arith.sm_90.O0.cubin"));
    let (kernel, cubin) = (kernel.to_str().unwrap(), cubin.to_str().unwrap());
    let (code, text) = check(&[kernel, "--cubin", cubin]);
    assert!(code == Some(0) && text.contains("1 of 1 kernel clean"), "{text}");
    let wrong = "wrong-register@GeneralOptimizeLate2";
    for (fault, says) in [(wrong, "mismatch"), ("drop-store@OriPerformLiveDeadFourth", "mismatch")] {
        let (code, text) = check(&[kernel, "--cubin", cubin, "--fault", fault]);
        let (kind, phase) = fault.split_once('@').expect("a fault");
        assert!(code == Some(1) && text.contains(&format!(" in {phase}\n")) && text.contains(says), "{text}");
        assert!(text.contains(&format!("(planted {kind}) in function `half_arith`")), "{text}");
        let replay = text.lines().find_map(|line| line.trim().strip_prefix("replay: oriole check ")).expect("a replay");
        let (code, again) = check(&replay.split(' ').collect::<Vec<_>>());
        assert!(code == Some(1) && again.contains(says) && again.contains(&format!("planted {kind}")), "{again}");
    }
}

/// A pass that asks for another form would leave everything as it is without a word of it.
#[test]
fn passes_that_take_no_machine_code_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let cubin = corpus("cubins/half_arith.sm_90.O0.cubin");
    let run = |passes: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
        command.current_dir(folder.path()).args(["opt", "--machine"]).arg(&cubin);
        let output = command.args(["-o", "new.cubin", "--passes", passes]).output().expect("it starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = run("GeneralOptimizeLate2,function(gvn)");
    assert!(code == Some(2) && said.contains("`gvn` takes no machine code in place: it asks for ssa"), "{said}");
    assert!(!folder.path().join("new.cubin").exists());
    let (code, said) = run("GeneralOptimizeLate2");
    assert!(code == Some(0) && folder.path().join("new.cubin").exists(), "{said}");
}

#[test]
fn cubins_and_lifted_code_run() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
        let output = command.current_dir(folder.path()).args(arguments).output().expect("the command starts");
        let text = [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat();
        (output.status.code(), text)
    };
    let (cubin, launch) = (corpus("cubins/half_arith.sm_90.O0.cubin"), corpus("kernels/half_arith.launch.toml"));
    let (cubin, launch) = (cubin.to_str().unwrap(), launch.to_str().unwrap());
    let (code, text) = run(&["run", cubin, "--launch", launch]);
    assert!(code == Some(0) && text.contains("as expected"), "{text}");
    let (_, ori) = run(&["sass", cubin, "--ori"]);
    let wrong = ori.replacen("HADD2", "HMUL2", 1);
    assert_ne!(ori, wrong);
    for (name, text, expected) in [("same.ori", &ori, Some(0)), ("wrong.ori", &wrong, Some(1))] {
        std::fs::write(folder.path().join(name), text).unwrap();
        let (code, text) = run(&["run", name, "--cubin", cubin, "--launch", launch]);
        assert_eq!(code, expected, "{text}");
    }
    let moved = ori.replacen("!20\n", "!3\n", 1);
    std::fs::write(folder.path().join("moved.ori"), moved).unwrap();
    for (arguments, said) in [
        (&["run", "moved.ori", "--cubin", cubin, "--launch", launch][..], "has no place in the code"),
        (&["run", "same.ori", "--cubin", launch, "--launch", launch], "this is no cubin"),
        (&["run", cubin, "--launch", launch, "--stats"], "not for machine code"),
    ] {
        let (code, text) = run(arguments);
        assert!(code == Some(2) && text.contains(said), "{text}");
    }
}

#[test]
fn the_command_writes_a_whole_cubin_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
        let output = command.current_dir(folder.path()).args(arguments).output().expect("the command starts");
        let text = [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat();
        (output.status.code(), text)
    };
    let cubin = corpus("cubins/half_arith.sm_90.O0.cubin");
    let (cubin, kernel) = (cubin.to_str().unwrap(), corpus("kernels/half_arith.ptx"));
    let (code, text) = run(&["opt", "--machine", cubin, "-o", "k.cubin"]);
    assert!(code == Some(0) && text.starts_with("half_arith: ") && text.contains(" removed, "), "{text}");
    let (code, text) = run(&["judge", kernel.to_str().unwrap(), "--cubin", "k.cubin"]);
    assert!(code == Some(0) && text.contains("equal, 5 of 5") && !text.contains("scheduling"), "{text}");
    let (code, text) =
        run(&["opt", "--machine", cubin, "-o", "k.cubin", "--passes", "GeneralOptimizeLate2", "--format", "json"]);
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert!(code == Some(0) && document["functions"][0]["removed"].as_u64() > Some(0), "{text}");
    let before = std::fs::read(folder.path().join("k.cubin")).unwrap();
    for (arguments, said) in [
        (&["opt", "--machine", kernel.to_str().unwrap(), "-o", "k.cubin"][..], "this is no cubin"),
        (&["opt", "--machine", cubin], "--output"),
        (&["opt", "--machine", cubin, "-o", "nowhere/k.cubin"], "name another file with -o"),
        (&["opt", "--machine", cubin, "-o", "k.cubin", "--passes", "gvm"], "no pass is called `gvm`"),
    ] {
        let (code, text) = run(arguments);
        assert!(code == Some(2) && text.contains(said), "{text}");
    }
    assert_eq!(std::fs::read(folder.path().join("k.cubin")).unwrap(), before);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing half-written is left");
}
