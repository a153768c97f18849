//! The real ptxas, where it is found.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use oriole_ir::sm::Target;

/// ptxas: in `CUDA_HOME`, on `PATH`, or in the environment that `ci/cuda-tools` makes.
pub fn ptxas() -> Option<PathBuf> {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|folder| folder.join(".cuda/venv"));
    let root = above.into_iter().find(|venv| venv.is_dir()).unwrap_or_default();
    let home = std::env::var_os("CUDA_HOME").map(|home| PathBuf::from(home).join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = home.into_iter().chain(std::env::split_paths(&path)).collect();
    let pythons = std::fs::read_dir(root.join("lib")).into_iter().flatten().flatten();
    folders.extend(pythons.map(|python| python.path().join("site-packages/nvidia/cu13/bin")));
    folders.into_iter().map(|folder| folder.join("ptxas")).find(|tool| tool.is_file())
}

/// Code made quickly: for the target of most tests, or a later one that a text is for.
pub fn compile(text: &str) -> [String; 2] {
    let own = text.lines().find_map(|line| line.strip_prefix(".target ")).and_then(|own| own.parse::<Target>().ok());
    let later = own.filter(|own| own.number() >= 90).map_or_else(|| "sm_90".to_owned(), |own| own.to_string());
    [format!("-arch={later}"), "-O0".to_owned()]
}

/// What ptxas says about a text, with these options: a message for each faulty line, or how it fails without naming
/// one.
pub fn complaints(
    tool: &Path,
    options: &[impl AsRef<OsStr>],
    name: &str,
    text: &str,
) -> Result<BTreeMap<usize, String>, String> {
    // Tests of one process ask at the same time.
    static ASKED: AtomicU32 = AtomicU32::new(0);
    let number = ASKED.fetch_add(1, Ordering::Relaxed);
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("{name}.{}.{number}.ptx", std::process::id()));
    std::fs::write(&file, text).expect("the test folder is writable");
    let output = Command::new(tool).args(options).args(["-o", "/dev/null"]).arg(&file).output();
    let output = output.expect("ptxas starts");
    std::fs::remove_file(&file).expect("the test folder is writable");
    let messages = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    let mut found = BTreeMap::new();
    for message in messages.lines() {
        let Some((_, rest)) = message.split_once(", line ") else { continue };
        let Some((number, what)) = rest.split_once(';') else { continue };
        // What ptxas takes and advises against.
        if what.trim_start().starts_with("info") || what.contains("Advisory:") {
            continue;
        }
        found.entry(number.parse().unwrap_or(0)).or_insert_with(|| what.trim().to_owned());
    }
    let is_said = output.status.code().is_some() && (output.status.success() || !found.is_empty());
    if is_said { Ok(found) } else { Err(format!("{name}: {} {messages}", output.status)) }
}
