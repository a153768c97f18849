use oriole_ir::ops::{Opcode, ROWS};
use oriole_ir::verify::verify_module;
use oriole_optimizer::pipeline::Pipeline;
use oriole_optimizer::pipeline::text::parse;
use oriole_optimizer::ssa;

use super::*;
use crate::judge::{Mismatch, Verdict};
use crate::kernels::case;
use crate::{CheckOptions, check_module};
use oriole_generate::insts::Family;
use oriole_generate::{Config, Entropy, single};

#[test]
fn names_are_unique_and_specifications_round_trip() {
    let mut names: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), KINDS.len());
    let spec: FaultSpec = "off-by-one@GeneralOptimizeEarly:7".parse().expect("a fault");
    assert_eq!(spec.to_string(), "off-by-one@GeneralOptimizeEarly:7");
    let spec: FaultSpec = "off-by-one@SSA-construction".parse().expect("a fault");
    assert_eq!((spec.step, spec.to_string().as_str()), (StepId::SsaConstruction, "off-by-one@ssa-construction:1"));
    let spec: FaultSpec = "off-by-one@29:2".parse().expect("phases have numbers");
    assert_eq!(spec.step, StepId::first("GeneralOptimize"));
    let errors = ["drop-store", "nothing@GeneralOptimize", "drop-store@Nowhere", "drop-store@GeneralOptimize:x"];
    for text in errors {
        assert!(text.parse::<FaultSpec>().is_err(), "{text}");
    }
}

/// Each kind finds a place somewhere, changes the module there, and leaves it valid more often than not.
#[test]
fn every_kind_changes_modules() {
    for kind in KINDS {
        let spec = FaultSpec { kind, step: StepId::first("AnalyzeControlFlow"), seed: 3 };
        let (mut made, mut valid) = (0, 0);
        for number in 0..1500 {
            let mut module = case(11, number, &Config::default()).module;
            ssa::construct_module(&mut module);
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

/// Rows in which no kind of fault finds anything to change: they have no result, take no operand that a fault is about,
/// and are among the barriers and hints of which only `bar.sync` is dropped. A new row must take a fault, or be named
/// here.
const SPARED: &str = "isspacep cs2r \
                      bar.arrive bar.warp.sync activemask elect.sync brkpt pmevent setmaxnreg \
                      wgmma.fence barrier.cluster.wait";

#[test]
fn every_operation_takes_a_fault_or_is_known_not_to() {
    let config = Config::default();
    let mut taken = vec![false; ROWS.len()];
    let pins = single::pins(config.level);
    // Some instances have operands of which nothing can be made worse.
    for (seed, (index, (opcode, _))) in (0..32).flat_map(|seed| pins.iter().enumerate().map(move |pin| (seed, pin))) {
        // Groups are committed beside copies, and by half of them alone.
        let open = *opcode == Opcode::CpAsync && !taken[Opcode::CpAsyncCommit as usize];
        if taken[*opcode as usize] && !open {
            continue;
        }
        let mut entropy = Entropy::from_seed(seed << 32 | index as u64);
        let mut module = single::instruction(index as u64, &mut entropy, &config).module;
        ssa::construct_module(&mut module);
        for func in module.functions.values() {
            for place in change::places(func) {
                let row = func.inst(place.inst).opcode as usize;
                taken[row] = taken[row] || KINDS.iter().any(|kind| !(kind.changes)(func, place).is_empty());
            }
        }
    }
    let plain = ROWS.iter().filter(|row| Family::of(row) != Family::Control);
    let spared: Vec<&str> = plain.filter(|row| !taken[row.opcode as usize]).map(|row| row.name).collect();
    assert_eq!(spared, SPARED.split(' ').collect::<Vec<_>>());
}

#[test]
fn a_fault_is_found_and_its_step_named() {
    let spec: FaultSpec = "drop-store@OriPerformLiveDeadFirst:3".parse().expect("a fault");
    let mut phases = Pipeline::ptxas();
    spec.plant(&mut phases);
    let options = CheckOptions { passes: phases, randoms: 0, ..CheckOptions::default() };
    let check = |number| {
        let generated = case(1, number, &Config::default());
        check_module("planted", &generated.module, &generated.launches, &options).expect("it can be checked").findings
    };
    let finding = (0..20).flat_map(check).next().expect("a store is missing");
    assert_eq!(finding.phase, StepId::first("OriPerformLiveDeadFirst"));
    let rule = finding.rewrite.as_ref().and_then(|rewrite| rewrite.rule.as_deref());
    assert_eq!(rule, Some("planted drop-store"));
}

/// The step is the nest, and the guilty change is of the pass inside.
#[test]
fn a_fault_inside_a_nest_names_the_pass() {
    let spec: FaultSpec = "drop-store@gvn:3".parse().expect("a fault");
    let mut passes = parse("cgscc(function(early-cse,gvn,dce))").expect("a pipeline");
    spec.plant(&mut passes);
    let options = CheckOptions { passes, randoms: 0, ..CheckOptions::default() };
    let check = |number| {
        let generated = case(1, number, &Config::default());
        check_module("planted", &generated.module, &generated.launches, &options).expect("it can be checked").findings
    };
    let finding = (0..20).flat_map(check).next().expect("a store is missing");
    assert_eq!(finding.phase, StepId::first("cgscc"));
    assert_eq!(finding.rewrite.as_ref().map(|rewrite| rewrite.cause()).as_deref(), Some("planted drop-store of gvn"));
    assert!(finding.to_string().contains("(planted drop-store of gvn)"), "{finding}");
}

/// Results do not show what orders threads, so the comparison of strong operations must.
#[test]
fn faults_in_what_orders_threads_are_found() {
    for name in ["dropped-volatile", "weaker-scope", "weaker-order", "dropped-fence", "swapped-volatiles"] {
        let spec: FaultSpec = format!("{name}@OriPerformLiveDeadFirst:3").parse().expect("a fault");
        let mut phases = Pipeline::ptxas();
        phases.retain(|entry| StepId::Pass(entry.id()) == spec.step);
        spec.plant(&mut phases);
        let options = CheckOptions {
            passes: phases,
            randoms: 0,
            destruction: false,
            round_trip: false,
            ..CheckOptions::default()
        };
        let check = |number| {
            let generated = case(5, number, &Config::default());
            check_module("planted", &generated.module, &generated.launches, &options)
                .expect("it can be checked")
                .findings
        };
        let mut findings = (0..30000).flat_map(check);
        let finding = findings.find(|finding| matches!(finding.verdict, Verdict::Mismatch(Mismatch::Strong(_))));
        let finding = finding.unwrap_or_else(|| panic!("{name} is not found"));
        let rule = finding.rewrite.as_ref().and_then(|rewrite| rewrite.rule.as_deref());
        assert_eq!(rule, Some(spec.kind.rule), "{}", finding.detail);
    }
}

/// Fields of matrices have other values where these mean other matrices in as many registers; of a sparse one, other
/// lanes give the metadata.
#[test]
fn modes_of_matrices_go_wrong() {
    let changes = |inst: &str| {
        let text = format!(
            "target sm_90 ptx 9.0\nglobal @s: b8[2048] shared align 32\nentry @k visible ssa {{\nbb0:\n  \
             %r1 = mov.b32 0x44444444\n  {inst}\n  ret\n}}\n"
        );
        let module = oriole_ir::parse_module(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let func = module.functions.values().next().expect("there is a kernel");
        let mut found = Vec::new();
        for place in change::places(func) {
            for change in fields::wrong_mode(func, place) {
                let mut changed = func.clone();
                change.apply(&mut changed, place);
                found.push(oriole_ir::inst_to_string(&changed, place.inst, Some(&module)));
            }
        }
        found
    };
    let trans = changes("%r2 = ldmatrix.sync.m8n8.x1.shared.b16 [@s]");
    assert_eq!(trans, ["%r2 = ldmatrix.sync.m8n8.x1.trans.shared.b16 [@s]"]);
    let words = ["%r1"; 8].join(", ");
    let stores = changes(&format!("wmma.store.d.sync.row.m16n16k16.shared.f32 [@s], {words}, 16"));
    let kinds: Vec<&str> = stores.iter().filter_map(|text| text.split(".shared").next()).collect();
    let store = ["col.m16n16k16", "row.m8n32k16", "row.m32n8k16"].map(|kind| format!("wmma.store.d.sync.{kind}"));
    assert_eq!(kinds, store);
    // What is added to is the same for both shapes of eight rows and columns, and bytes are bytes in memory.
    assert_eq!(changes("%r2, %r3 = wmma.load.c.sync.col.m8n8k32.shared.s32 [@s], 8").len(), 1);
    assert_eq!(changes("%r2 = wmma.load.b.sync.row.m32n8k16.shared.u8 [@s], 8").len(), 1);
    let sparse = "%r2, %r3 = mma.sp.ordered.sync.m16n8k16.row.col.f16.f16.f16.f16 %r1, %r1, %r1, %r1, %r1, %r1, %r1, 1";
    let selectors = changes(sparse);
    let last = |text: &String| text.rsplit(", ").next().map(str::to_owned);
    assert_eq!(selectors.iter().filter_map(last).collect::<Vec<_>>(), ["0", "2", "3"]);
    let bits = "%r2, %r3 = mma.sync.m8n8k128.row.col.s32.b1.b1.s32.xor.popc %r1, %r1, %r1, %r1";
    assert_eq!(changes(bits), [bits.replace("xor", "and")]);
}
