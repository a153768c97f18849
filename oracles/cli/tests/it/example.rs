//! The crate under `examples/` compiles and finds nothing; it is no member of the workspace.

#[path = "../../../../examples/own-phase/src/main.rs"]
mod own_phase;

#[test]
fn a_phase_of_ones_own_is_checked_fuzzed_and_reduced_in_sixty_lines() {
    assert_eq!(own_phase::findings::<2>(200).map(|found| found.len()).ok(), Some(0));
    // A wrong one leaves kernels of a few instructions, which have the sum.
    let found = own_phase::findings::<3>(600).expect("nothing else goes wrong");
    let is_small = |module: &oriole_ir::Module| module.inst_count() < 10 && module.to_string().contains("iadd.u32");
    assert!(!found.is_empty() && found.iter().all(is_small), "{}", found[0]);
    let source = include_str!("../../../../examples/own-phase/src/main.rs");
    assert!(source.lines().count() < 60);
    // Its only other entry ends the process.
    let _: fn() -> Result<(), oriole_campaign::CampaignError> = own_phase::main;
}

/// A crate outside of the workspace names its dependencies by paths: they are there, and known to Cargo.
#[test]
fn the_crate_of_the_example_is_a_workspace_of_its_own() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/own-phase/Cargo.toml");
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let options = ["metadata", "--no-deps", "--offline", "--format-version", "1", "--manifest-path", manifest];
    let output = std::process::Command::new(cargo).args(options).output().expect("cargo runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("own-phase\"") && !said.contains("oriole-python"), "{said}");
    let text = std::fs::read_to_string(manifest).expect("it is there");
    let paths = text.lines().filter_map(|line| line.split("path = \"").nth(1)?.split('"').next());
    let folder = std::path::Path::new(manifest).parent().expect("it lies in a folder");
    let missing: Vec<&str> = paths.filter(|path| !folder.join(path).join("Cargo.toml").is_file()).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
