use oriole_optimizer::pipeline::runner::default_phases;
use oriole_optimizer::verify::verify_module;

use super::*;
use crate::campaign::case;
use crate::check::{CheckOptions, check_module};
use crate::generate::Config;
use crate::input::into_ssa;

#[test]
fn names_are_unique_and_specifications_round_trip() {
    let mut names: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), KINDS.len());
    let spec: FaultSpec = "off-by-one@GeneralOptimizeEarly:7".parse().expect("a fault");
    assert_eq!(spec.to_string(), "off-by-one@GeneralOptimizeEarly:7");
    let errors = ["drop-store", "nothing@GeneralOptimize", "drop-store@Nowhere", "drop-store@GeneralOptimize:x"];
    for text in errors {
        assert!(text.parse::<FaultSpec>().is_err(), "{text}");
    }
}

/// Each kind finds a place somewhere, changes the module there, and leaves it valid more often than not.
#[test]
fn every_kind_changes_modules() {
    for kind in KINDS {
        let spec =
            FaultSpec { kind, victim: Victim::Phase(built("AnalyzeControlFlow").expect("it is built")), seed: 3 };
        let (mut made, mut valid) = (0, 0);
        for number in 0..1500 {
            let mut module = case(11, number, &Config::default()).module;
            into_ssa(&mut module);
            let Some((id, place, change)) = spec.choose(&module) else { continue };
            let before = module.clone();
            change.apply(&mut module.functions[id], place);
            assert_ne!(before, module, "{} changes nothing", kind.name);
            made += 1;
            valid += u32::from(verify_module(&module).is_ok());
            if made == 6 {
                break;
            }
        }
        assert!(made > 0, "{} finds no place", kind.name);
        let by_verifier = kind.name == "wrong-phi";
        assert!(by_verifier || 2 * valid >= made, "{}: {valid} of {made} are valid", kind.name);
    }
}

#[test]
fn a_fault_is_found_and_blamed() {
    let spec: FaultSpec = "drop-store@OriPerformLiveDeadFirst:3".parse().expect("a fault");
    let mut phases = default_phases();
    spec.plant(&mut phases);
    let options = CheckOptions { phases, randoms: 0, ..CheckOptions::default() };
    let check = |number| {
        let generated = case(1, number, &Config::default());
        check_module("planted", &generated.module, &generated.launches, &options).expect("it can be checked").findings
    };
    let finding = (0..20).flat_map(check).next().expect("a store is missing");
    assert_eq!(finding.phase, "OriPerformLiveDeadFirst");
    let rule = finding.rewrite.as_ref().and_then(|rewrite| rewrite.rule.as_deref());
    assert_eq!(rule, Some("planted drop-store"));
}
