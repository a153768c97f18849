//! `oriole fuzz --target ptxas`: a fault in what ptxas gets is found, reduced, and handed on; without ptxas the command
//! says how to get it.

use std::path::Path;
use std::process::{Command, Output};

use oriole_check::compiler::Ptxas;

fn oriole(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
    command.current_dir(folder).args(arguments).output().expect("the command starts")
}

fn said(output: &Output) -> String {
    [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat()
}

#[test]
fn without_ptxas_the_command_says_how_to_get_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
    command.current_dir(folder.path()).env("PATH", "").env_remove("CUDA_HOME");
    let output = command.args(["fuzz", "--target", "ptxas", "--cases", "1"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("ci/cuda-tools"), "{}", said(&output));
}

/// The text is one that ptxas compiles rightly; what it gets lacks a store.
#[test]
fn a_planted_fault_is_found_reduced_and_handed_on() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    if Ptxas::find(here).is_none() {
        return eprintln!("skipped: there is no ptxas (ci/cuda-tools installs it)");
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("found");
    let out = out.to_str().unwrap();
    // A generator of small kernels keeps the reduction short.
    let config = folder.path().join("small.toml");
    std::fs::write(&config, "instructions = [4, 8]\nfunctions = 0\ndepth = 1\n").unwrap();
    let config = config.to_str().unwrap();
    let campaign = ["fuzz", "--target", "ptxas,kernels", "--config", config, "--fault", "drop-store@ptxas"];
    let rest = ["--cases", "6", "--seed", "3", "--jobs", "1", "--ptxas-level", "3", "--out", out];
    let output = oriole(&[&campaign[..], &rest[..]].concat(), here);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("mismatch in ptxas") && said(&output).contains("sm_90 -O3: "), "{}", said(&output));

    let store = format!("{out}/findings.db");
    let list = oriole(&["findings", "list", "--format", "json", "--store", &store], here);
    let list: serde_json::Value = serde_json::from_slice(&list.stdout).expect("the list is JSON");
    let findings = list["findings"].as_array().expect("a list");
    let reduced = findings.iter().find(|finding| finding["reduction"]["done"].is_object());
    let id = reduced.and_then(|finding| finding["id"].as_str()).expect("one is reduced");
    let written = folder.path().join("report");
    let written = written.to_str().unwrap();
    let export = oriole(&["findings", "export", id, "-o", written, "--store", &store], here);
    assert_eq!(export.status.code(), Some(0), "{}", said(&export));
    assert!(said(&export).contains("oriole judge ") && said(&export).contains("reduced.ptx"), "{}", said(&export));
    let file = |name: &str| std::fs::read_to_string(Path::new(written).join(id).join(name));
    assert!(file("reduced.ptx").unwrap().contains(".entry") && file("reduced.launch.toml").unwrap().contains("grid"));
}

/// What is kept of ptxas's own bugs: the launches say what the PTX means, and code of this version is wrong.
#[test]
fn kept_miscompiles_show_again() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = here.join("../../corpus/miscompiles");
    let entries = std::fs::read_dir(&folder).expect("the folder is there");
    let kernels = entries.map(|entry| entry.expect("an entry").path());
    let mut kernels: Vec<_> = kernels.filter(|path| path.extension().is_some_and(|end| end == "ptx")).collect();
    kernels.sort();
    assert!(kernels.len() >= 38);
    let version = Ptxas::find(here).and_then(|ptxas| ptxas.version().ok());
    let is_known = version.as_ref().is_some_and(|version| version.contains("13.0.88"));
    if !is_known {
        let other = version.map(|version| format!("this is not ptxas 13.0.88 but `{version}`"));
        println!("skipped: {}", other.as_deref().unwrap_or("no ptxas (ci/cuda-tools installs it)"));
    }
    for kernel in kernels {
        let path = kernel.to_str().expect("paths of the tree are text");
        let run = oriole(&["run", path], here);
        assert_eq!(run.status.code(), Some(0), "{}", said(&run));
        if is_known {
            let text = std::fs::read_to_string(&kernel).expect("a file of the tree");
            let target = text.lines().find_map(|line| line.strip_prefix(".target "));
            let arch = target.and_then(|names| names.split(',').next()).unwrap_or("sm_90").trim();
            let judged = oriole(&["judge", path, "--sm", arch, "-O", "3", "--randoms", "0"], here);
            assert_eq!(judged.status.code(), Some(1), "{}", said(&judged));
        }
    }
}

/// What a campaign leaves out names operations that there are.
#[test]
fn the_list_of_known_operations_is_a_configuration() {
    let tool = StandIn::new("exit 255");
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/miscompiles/without.toml");
    let list = list.to_str().expect("paths of the tree are text");
    let output = tool.oriole(&["fuzz", "--target", "ptxas", "--config", list, "--print-config"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("\"multimem.red\""), "{}", said(&output));
}

/// A stand-in for ptxas that does what some lines of shell say to `$out` and the files of PTX.
struct StandIn {
    folder: tempfile::TempDir,
}

impl StandIn {
    fn new(lines: &str) -> StandIn {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let head = "#!/bin/sh\n[ \"$1\" = --version ] && { echo 'release 0.0, a stand-in'; exit 0; }\n\
            for word; do case $last in -o) out=$word;; esac; case $word in *.ptx) files=\"$files $word\";; esac; \
            last=$word; done\n";
        let tool = folder.path().join("ptxas");
        std::fs::write(&tool, format!("{head}{lines}\n")).unwrap();
        std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
        StandIn { folder }
    }

    /// A command that finds it before any other.
    fn oriole(&self, arguments: &[&str]) -> Output {
        let path = format!("{}:/usr/bin:/bin", self.folder.path().display());
        let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
        command.current_dir(self.folder.path()).env("PATH", path).args(arguments);
        command.output().expect("the command starts")
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }
}

/// Crashes where a kernel subtracts, alone or among others; refuses the rest, by name.
#[test]
fn crashes_are_found_among_many_and_reduced_to_what_crashes() {
    let tool = StandIn::new(
        "grep -q 'sub\\.' $files && kill -SEGV $$\n\
         for file in $files; do echo \"ptxas $file, line 1; error   : no\" >&2; done; exit 255",
    );
    let out = tool.file("found");
    let campaign = ["fuzz", "--target", "ptxas,instructions", "--cases", "400", "--jobs", "1", "--out", &out];
    let output = tool.oriole(&campaign);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("panic in ptxas"), "{}", said(&output));
    assert!(said(&output).contains("the compiler refuses it"), "{}", said(&output));
    let list = tool.oriole(&["findings", "list", "--format", "json", "--store", &format!("{out}/findings.db")]);
    let list: serde_json::Value = serde_json::from_slice(&list.stdout).expect("the list is JSON");
    let findings = list["findings"].as_array().expect("a list");
    assert!(!findings.is_empty());
    for finding in findings {
        let shape = finding["shape"].as_str().unwrap_or_default();
        assert!(shape.starts_with("sm_90 -O0, sm_90 -O3: ") && shape.contains("sub"), "{finding}");
        let id = finding["id"].as_str().expect("it has one");
        let text = std::fs::read_to_string(Path::new(&out).join(id).join("reduced.ptx")).expect("it is reduced");
        assert!(text.contains("sub.") && text.lines().count() < 24, "{text}");
        assert!(Path::new(&out).join(id).join("report.md").is_file());
    }
    let replay = tool.oriole(&["findings", "replay", "--store", &format!("{out}/findings.db")]);
    assert!(said(&replay).contains("still shows"), "{}", said(&replay));
}

/// A kernel of somebody's is reduced with the compiler in the loop; one that compiles well, or no kernel, is refused.
#[test]
fn a_kernel_on_which_the_compiler_crashes_is_reduced() {
    let tool = StandIn::new("grep -q 'sub\\.' $files && kill -SEGV $$\nexit 255");
    let kernel = |name: &str| {
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../corpus/kernels/{name}.ptx")).display().to_string()
    };
    let reduce = |name: &str, more: &[&str]| {
        tool.oriole(&[&["reduce", &kernel(name), "-o", &tool.file("small.ptx")], more].concat())
    };
    let output = reduce("edit_distance", &["--predicate", "miscompile", "--max-registers", "24"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("shows the same"), "{}", said(&output));
    let text = std::fs::read_to_string(tool.file("small.ptx")).expect("it is written");
    assert!(text.contains("sub.") && text.lines().count() < 24, "{text}");
    let well = reduce("saxpy", &["--predicate", "miscompile"]);
    assert_eq!(well.status.code(), Some(2), "{}", said(&well));
    assert!(said(&well).contains("is not interesting"), "{}", said(&well));
    for option in [["-O", "1"], ["--phase", "GvnCse"], ["--check", "sub"]] {
        let refused = reduce("saxpy", &[&["--predicate", "miscompile"][..], &option[..]].concat());
        assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
        assert!(said(&refused).contains("--ptxas-level"), "{}", said(&refused));
    }
    let unused = reduce("saxpy", &["--max-registers", "24"]);
    assert_eq!(unused.status.code(), Some(2), "{}", said(&unused));
    assert!(said(&unused).contains("--predicate miscompile"), "{}", said(&unused));
}
