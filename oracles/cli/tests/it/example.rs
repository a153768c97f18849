//! The crate under `examples/` compiles and finds nothing; it is no member of the workspace.

#[path = "../../../../examples/own-phase/src/main.rs"]
mod own_phase;

#[test]
fn a_phase_of_ones_own_is_checked_and_fuzzed_in_sixty_lines() {
    assert_eq!(own_phase::findings(200).ok(), Some(0));
    let source = include_str!("../../../../examples/own-phase/src/main.rs");
    assert!(source.lines().count() < 60);
    // Its only other entry ends the process.
    let _: fn() -> Result<(), oriole_campaign::CampaignError> = own_phase::main;
}
