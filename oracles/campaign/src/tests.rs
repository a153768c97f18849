//! Campaigns: shards, planted faults, and interruption.

use std::collections::BTreeSet;

use oriole_check::kernels::case;
use oriole_ir::ops::{Opcode, Type};
use oriole_ir::{Function, InstBuilder};
use oriole_optimizer::pass::{Changed, Element, PhaseContext, PhaseFn, Run};
use oriole_optimizer::peephole::RuleSet;

use super::record::Reduction;
use super::replay::Replay;
use super::store::Stored;
use super::store::life::State;
use super::*;
use oriole_generate::patterns::Patterns;

fn finish(options: &Options) -> Summary {
    run(options, Store::in_memory().expect("memory"), |_| ()).expect("the store is in memory")
}

fn planted(cases: u64) -> Options {
    let mut options = Options::new(1, cases);
    canary::plant(&mut options.check.passes);
    options
}

#[test]
fn shards_together_are_the_whole() {
    let tally = |shard| finish(&Options { shard, targets: Vec::new(), ..Options::new(1, 40) }).progress.tally;
    let whole = tally((0, 1));
    let mut parts = tally((0, 3));
    (1..3).for_each(|shard| parts.add(tally((shard, 3))));
    assert_eq!(whole.cases, 40);
    assert_eq!(whole, parts);
}

#[test]
fn the_canary_is_found_and_blamed() {
    let sighting = canary::watch(&Options::new(1, 1)).expect("the store is in memory");
    assert!(matches!(sighting, canary::Sighting::Found { .. }), "{sighting:?}");
    // A campaign that runs no phase but those which the knob names does not see the fault, and says so.
    let mut blind = Options::new(1, 1);
    blind.check.pipeline.disabled.push(canary::NAME.to_owned());
    blind.stop = Arc::new(AtomicBool::new(true));
    let missed = canary::watch(&blind).expect("the store is in memory");
    assert_eq!(missed, canary::Sighting::Missed { cases: 0 });
}

/// Faults that share the name of their rewrite: an operation becomes another one.
const FAULTS: [(Opcode, Type, Opcode, &str); 3] = [
    (Opcode::IAdd, Type::U32, Opcode::ISub, "-iadd +isub; straight line"),
    (Opcode::And, Type::B32, Opcode::Or, "-and +or; straight line"),
    (Opcode::ISub, Type::U32, Opcode::IAdd, "+iadd -isub; straight line"),
];

/// A phase with the faults whose bits are set.
fn several<const WHICH: usize>(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let mut changed = Changed::No;
    for inst in func.layout_insts().collect::<Vec<_>>() {
        let data = func.inst(inst);
        let of = |(from, ty, _, _): &(Opcode, Type, Opcode, &str)| {
            data.opcode == *from && data.field::<Type>() == Some(*ty) && data.guard.is_none()
        };
        let fault = FAULTS.iter().enumerate().find(|(at, fault)| WHICH >> at & 1 == 1 && of(fault));
        let (Some((_, (_, ty, to, _))), Some(dst)) = (fault, func.defs(inst).next()) else { continue };
        if !cx.rewrite("several") {
            break;
        }
        let srcs = func.srcs(inst).to_vec();
        InstBuilder::new(*to).field(*ty).dst(dst).srcs(srcs).replace(func, inst);
        changed = Changed::Yes;
    }
    changed
}

/// A campaign that finds and reduces the faults of a phase.
fn campaign_of_several(phase: PhaseFn, store: Store) -> Summary {
    let mut options = Options::new(4, 500);
    options.check.passes = [Element::custom("Several", Run::function(phase))].into();
    options.reduce = Some(reduce::Options::default());
    options.round_trip_every = 0;
    run(&options, store, |_| ()).expect("the store is in memory")
}

/// Three faults in one place are one family, and three findings; one that is closed hides no other.
#[test]
fn three_faults_at_once_are_three_findings_of_one_family() {
    let first = campaign_of_several(several::<0b001>, Store::in_memory().expect("memory"));
    let mut store = first.store;
    let known = store.findings().expect("memory");
    assert!(known.iter().any(|stored| stored.record.key.variant == FAULTS[0].3), "{known:#?}");
    for stored in &known {
        store.set_state(&stored.id, State::Closed).expect("memory");
    }
    let all = campaign_of_several(several::<0b111>, store).store.findings().expect("memory");
    let families: BTreeSet<&str> = all.iter().map(|stored| family_of(&stored.id)).collect();
    assert_eq!(families.len(), 1);
    // A fault that was not closed shows in a kernel of some shape.
    for (at, (_, _, _, variant)) in FAULTS.iter().enumerate() {
        let change = variant.split(';').next().expect("a variant has a first part");
        let shows = |counts: bool| {
            let mut of = all.iter().filter(|stored| stored.counts() == counts);
            of.any(|stored| stored.record.key.variant.starts_with(change))
        };
        assert!(shows(at > 0), "{variant}: {all:#?}");
    }
    let closed = all.iter().find(|stored| stored.record.key.variant == FAULTS[0].3);
    assert_eq!(closed.map(Stored::counts), Some(false));
    // Each fault has a few variants; how many depends on which cases a thread meets first.
    assert!(all.len() <= 9, "{all:#?}");
}

#[test]
fn one_bug_on_many_kernels_is_few_findings_and_all_hits() {
    let summary = finish(&planted(300));
    let hits: Vec<_> = summary.hits.iter().map(|(_, hits)| *hits).collect();
    let total: u64 = hits.iter().map(|hits| hits.total()).sum();
    let recognised: u64 = hits.iter().map(|hits| hits.recognised).sum();
    assert!(total > 40, "the fault shows in many kernels: {hits:?}");
    assert!(hits.len() < 10, "{hits:?}");
    assert!(recognised > total / 2, "most are recognised without bisection: {hits:?}");
    let stored = summary.store.findings().expect("the store is in memory");
    assert_eq!(stored.iter().map(|stored| stored.hits.total()).sum::<u64>(), total);
    assert!(stored.iter().all(|stored| stored.record.key.rule == canary::RULE));
}

#[test]
fn one_bug_in_two_phases_is_as_many_findings_as_in_one() {
    let mut both = planted(120);
    let again = canary::phase().named("TheSameElsewhere");
    let at = both.check.passes.iter().position(|pass| pass.name == canary::NAME).expect("it was planted");
    both.check.passes.insert(at, again);
    let [one, two] = [planted(120), both].map(|options| {
        let hits = finish(&options).hits;
        (
            hits.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>(),
            hits.iter().map(|(_, hits)| hits.total()).sum::<u64>(),
        )
    });
    assert_eq!(one.0, two.0);
    // What is not bisected is counted in either phase. A change that shows nothing when it is made first may show when
    // it is made again, so there are a few more.
    assert!((2 * one.1..=2 * one.1 + one.1 / 4).contains(&two.1), "{} and {}", one.1, two.1);
}

#[test]
fn an_interrupted_campaign_goes_on_without_gaps() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("findings.db");
    let open = || Store::open_or_create(&path).expect("the folder is writable");
    let whole = finish(&planted(120));
    let ids = |summary: &Summary| summary.hits.iter().map(|(id, hits)| (id.clone(), hits.total())).collect::<Vec<_>>();
    let mut options = Options { resume: true, ..planted(50) };
    let first = run(&options, open(), |_| ()).expect("the store is new");
    assert_eq!((first.resumed, first.cases()), (0, 50));
    drop(first);
    options.cases = Some(120);
    let second = run(&options, open(), |_| ()).expect("the store is whole");
    assert_eq!((second.resumed, second.cases()), (50, 70));
    assert_eq!(second.progress.tally, whole.progress.tally);
    assert_eq!(ids(&second), ids(&whole));
    drop(second);
    let again = run(&Options { resume: false, ..options }, open(), |_| ()).expect("the store is whole");
    assert_eq!((again.resumed, ids(&again)), (0, ids(&whole)));
}

/// Stands still the first time it is asked, as a machine may that has other things to do.
fn slow_once(_: &mut Function, _: &mut PhaseContext<'_>) -> Changed {
    static FIRST: AtomicBool = AtomicBool::new(true);
    if FIRST.swap(false, Ordering::Relaxed) {
        std::thread::sleep(Duration::from_secs(3));
    }
    Changed::No
}

#[test]
fn a_step_that_was_slow_once_is_no_finding_and_its_case_is_counted() {
    let mut options = Options { hang_after: Duration::from_millis(700), ..Options::new(1, 20) };
    options.check.passes.push(Element::custom("SlowOnce", Run::function(slow_once)));
    let summary = finish(&options);
    assert_eq!((summary.cases(), summary.hits), (20, Vec::new()));
    let silent: Vec<&String> = summary.progress.tally.silent.values().collect();
    assert!(matches!(&silent[..], [why] if why.contains("another time it has")), "{silent:?}");
}

fn with_rules(mut options: Options, text: &str) -> Options {
    let builtin = RuleSet::builtin();
    let rules = Arc::new(builtin.with("mine.rules", text).unwrap_or_else(|error| panic!("{}", error.lines())));
    options.config.patterns = Patterns::new(rules.sources(), rules.rules());
    options.check.pipeline.rules = Some(rules);
    options
}

/// Right for dividends that are not negative.
const WRONG: &str = "rule mine priority 20: idiv.s32(x, 4) => shr.s32(x, 2)";

#[test]
fn a_users_wrong_rule_is_found_and_named() {
    let options = with_rules(Options { first_finding: true, ..Options::new(1, 400) }, WRONG);
    let summary = finish(&options);
    let stored = summary.store.findings().expect("the store is in memory");
    assert!(!stored.is_empty() && stored.iter().all(|stored| stored.record.key.rule == "mine"), "{stored:?}");
    let rules = options.check.pipeline.rules.expect("the rules are set");
    let mine = summary.progress.tally.rules(&rules).pop().expect("the user's rule is the last");
    assert!(mine.name == "mine" && mine.applied > 0 && mine.matched >= mine.applied, "{mine:?}");
}

#[test]
fn a_guard_that_never_holds_shows_as_matches_without_applications() {
    let text = "rule mine: idiv.s32(x, C) => x if C == 0x1234567, C == 0x7654321";
    let options = with_rules(Options::new(1, 240), text);
    let rules = options.check.pipeline.rules.clone().expect("the rules are set");
    let mine = finish(&options).progress.tally.rules(&rules).pop().expect("the user's rule is the last");
    assert!(mine.applied == 0 && mine.matched > 0, "{mine:?}");
}

/// Rules that are right, whose roots do more than compute.
const EFFECTS: &str = "
rule shuffled: shfl.sync.idx.b32(x, and.b32(a, 31), c, m) => shfl.sync.idx.b32(x, a, c, m)
rule matched: match.any.sync.b32(not.b32(x), m) => match.any.sync.b32(x, m)
rule voted: vote.sync.uni.pred(not.pred(p), m) => vote.sync.uni.pred(p, m)
rule stored: st.global.b8(x, O, or.b32(v, 0xff00)) => st.global.b8(x, O, v)
rule reduced: atom.global.add.u32(x, O, v) => red.global.add.u32(x, O, v) if unused()
rule joined: bar.red.popc(a, b, _) => bar.sync(a, b) if unused()
";

/// Their left sides are made, here more often than by default: each applies, no thread races, and nothing is found.
#[test]
fn rules_with_effects_apply_and_nothing_races() {
    let mut silent: BTreeSet<String> = BTreeSet::from(["none was run".to_owned()]);
    for seed in (3..).take(10) {
        let mut options = with_rules(Options::new(seed, 800), EFFECTS);
        options.config.family.pattern *= 3;
        let rules = options.check.pipeline.rules.clone().expect("the rules are set");
        let summary = finish(&options);
        assert_eq!(summary.hits.len(), 0, "{:?}", summary.hits);
        assert!(summary.progress.tally.silent.is_empty(), "{:?}", summary.progress.tally.silent);
        let counted = summary.progress.tally.rules(&rules);
        let unmet: BTreeSet<String> =
            counted.iter().rev().take(6).filter(|rule| rule.applied == 0).map(|rule| rule.name.to_string()).collect();
        silent = if seed == 3 { unmet } else { &silent & &unmet };
        if silent.is_empty() {
            return;
        }
    }
    panic!("{silent:?}");
}

#[test]
fn other_options_make_another_campaign() {
    let options = Options::new(1, 10);
    let mut others = vec![Options::new(2, 10), Options { shard: (0, 2), ..options.clone() }, planted(10)];
    others.push(Options { config: Config { trips: 2, ..Config::default() }, ..options.clone() });
    others.push(with_rules(options.clone(), WRONG));
    others.push(Options { targets: vec![Target::Instructions], ..options.clone() });
    assert_eq!(options.identity(), Options { cases: Some(11), ..options.clone() }.identity());
    assert!(others.iter().all(|other| other.identity() != options.identity()));
}

#[test]
fn a_finding_is_reduced_and_replays() {
    let summary = finish(&Options { first_finding: true, seed: 2, ..reducing() });
    let stored = summary.store.findings().expect("the store is in memory");
    let stored = stored.first().expect("the fault shows");
    let Reduction::Done { from, to, cut_off: false } = stored.record.reduction else {
        panic!("{:?}", stored.record.reduction)
    };
    assert!(to < from && to <= 20, "{to} of {from} instructions are left");
    let files = summary.store.files(&stored.id).expect("the store is in memory");
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    for name in ["original.launch.toml", "original.ori", "reduced.launch.toml", "reduced.ori"] {
        assert!(names.contains(&name), "{names:?}");
    }
}

/// What a replay finds on the first kernels of a campaign, a fault being planted.
fn replayed<'a>(options: &'a Options, kernels: u64) -> (Replay<'a>, Vec<Finding>) {
    let replay = Replay::new(options);
    let check = |number| {
        let Generated { module, launches, .. } = case(options.seed, number, &options.config);
        replay.check(case_name(options.seed, number), module, launches).expect("generated kernels can be checked")
    };
    let findings = (0..kernels).flat_map(check).collect();
    (replay, findings)
}

/// A campaign with the planted fault that reduces.
fn reducing() -> Options {
    let reduce = Some(reduce::Options { time: Duration::from_secs(5), ..reduce::Options::default() });
    Options { reduce, ..planted(60) }
}

fn is_reduced(stored: &Stored) -> bool {
    matches!(stored.record.reduction, Reduction::Done { .. })
}

#[test]
fn what_a_replay_finds_is_counted_and_reduced() {
    let options = reducing();
    let (mut replay, findings) = replayed(&options, 200);
    let (total, bisected) = (findings.len(), findings.iter().filter(|finding| finding.bisected).count());
    assert!(bisected > 0 && bisected < total, "{bisected} of {total}");
    let memory = Store::in_memory().expect("memory");
    let (mut store, ids) = replay.save(memory, 200, findings).expect("the store is in memory");
    let stored = store.findings().expect("the store is in memory");
    assert_eq!(stored.len(), ids.len());
    assert_eq!(stored.iter().map(|stored| stored.hits.total()).sum::<u64>(), total as u64);
    replay.reduce(&mut store).expect("the store is in memory");
    let stored = store.findings().expect("the store is in memory");
    assert!(stored.iter().all(is_reduced), "{stored:?}");
}

#[test]
fn what_a_replay_left_is_reduced_where_the_campaign_meets_it() {
    let options = reducing();
    let (mut replay, findings) = replayed(&options, 60);
    let memory = Store::in_memory().expect("memory");
    let (store, ids) = replay.save(memory, 60, findings).expect("the store is in memory");
    let summary = run(&options, store, |_| ()).expect("the store is in memory");
    let mut stored = summary.store.findings().expect("the store is in memory");
    // Its reduction says which variant it is, and so gives it the rest of its identifier.
    stored.retain(|stored| ids.iter().any(|id| family_of(id) == family_of(&stored.id)));
    assert!(!stored.is_empty() && stored.iter().all(is_reduced), "{stored:?}");
}

/// Kernels of one shape, of 300: those that a pass of cicc changes that looks for this shape as a whole.
#[test]
fn shapes_give_passes_of_cicc_something_to_do() {
    use oriole_generate::Config;

    let of_shape = |name: &str| {
        let mut config = Config { swarm: 0, ..Config::default() };
        config.flow.all().for_each(|(kind, weight)| *weight = if kind == name { 60 } else { *weight });
        config
    };
    let recursive = Config { calling: 100, recursive: 100, tail: 100, frame: 0, ..Config::default() };
    let of_one_warp = Config { one_warp: 100, warps: 1, ..of_shape("barrier") };
    let rows = [
        ("nvvm-reduction", of_shape("butterfly"), 60),
        ("nvvm-warp-shuffle", of_shape("still"), 60),
        ("nvvm-generic-addr-opt", of_shape("there_and_back"), 60),
        ("nvvm-lower-alloca", of_shape("depot"), 60),
        ("sroa", of_shape("depot"), 60),
        ("tailcallelim", recursive, 20),
        ("nvvm-lower-barriers", of_one_warp, 20),
    ];
    for (pass, config, least) in rows {
        let changed =
            (0..300).filter(|seed| is_changed(oriole_generate::from_seed(*seed, &config).module, pass)).count();
        println!("{pass} changes {changed} of 300 kernels");
        assert!(changed >= least, "{pass} changes {changed} of 300 kernels");
    }
}

fn is_changed(mut module: oriole_ir::Module, pass: &str) -> bool {
    use oriole_optimizer::pipeline::Pipeline;
    use oriole_optimizer::pipeline::runner::{Options, run_passes};

    oriole_optimizer::ssa::construct_module(&mut module);
    let passes: Pipeline = pass.parse().expect("there is such a pass");
    let options = Options::new(oriole_check::target_of(&module).expect("the target is known"));
    let report = run_passes(&passes, &mut module, &options, &mut ()).expect("the pass runs");
    report.rewrites > 0
}
