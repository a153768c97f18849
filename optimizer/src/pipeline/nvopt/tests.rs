//! The sequences against the page, and what levels, options and added passes make of them.

use std::collections::BTreeSet;

use super::*;
use crate::pipeline::text;
use oriole_pass::pass::options::{self, OPTIONS, Storage};
use oriole_pass::pass::{Run, Status};

/// The factories of "Pass Factory Address Inventory", with the row of each.
const FACTORIES: &[(&str, &str)] = &[
    ("12D4560", "nvvm-verify"),
    ("1361950", "assumption-cache-tracker"),
    ("149CCE0", "targetlibinfo"),
    ("14A7550", "verify"),
    ("1654860", "break-crit-edges"),
    ("17060B0", "print-module"),
    ("1832270", "instcombine"),
    ("1833EB0", "tailcallelim"),
    ("1841180", "function-attrs"),
    ("1842BC0", "sccp"),
    ("184CD60", "constmerge"),
    ("1857160", "nvvm-reflect"),
    ("185D600", "ipconstprop"),
    ("1869C50", "sink"),
    ("18A3090", "nvvm-predicate-opt"),
    ("18A3430", "nvvm-predicate-opt"),
    ("18B1DE0", "nvvm-loop-opt"),
    ("18DEFF0", "dce"),
    ("18E4A00", "nvvm-barrier-analysis"),
    ("18EEA90", "correlated-propagation"),
    ("18F5480", "dse"),
    ("18FD350", "deadargelim"),
    ("190BB10", "simplifycfg"),
    ("1922F90", "nvidia-loop-pass"),
    ("1952F90", "loop-index-split"),
    ("195E880", "licm"),
    ("1968390", "sroa"),
    ("196A2B0", "early-cse"),
    ("197E720", "loop-unroll"),
    ("198DF00", "loop-simplify"),
    ("198E2A0", "sroa"),
    ("19401A0", "instcombine"),
    ("19B73C0", "loop-unswitch"),
    ("19C1680", "loop-unroll"),
    ("19CE990", "loop-reduce"),
    ("1A02540", "generic-to-nvvm"),
    ("1A13320", "remat"),
    ("1A223D0", "nvvm-ir-verification"),
    ("1A62BF0", "cgscc"),
    ("1A68E70", "loop-idiom"),
    ("1A7A9F0", "instsimplify"),
    ("1AAC510", "nvidia-pass"),
    ("1B26330", "memcpyopt"),
    ("1B7FDF0", "reassociate"),
    ("1BFB520", "tti"),
    ("1C46000", "nvvm-late-opt"),
    ("1C6E560", "newgvn"),
    ("1C6E800", "gvn"),
    ("1C6FCA0", "adce"),
    ("1C76260", "adce"),
    ("1C7F370", "nvvm-warp-shuffle"),
    ("1C8A4D0", "early-cse"),
    ("1C8E680", "memory-space-opt"),
    ("1C98160", "nvvm-lower-barriers"),
    ("1C98270", "nvvm-lower-barriers"),
    ("1CB0F50", "profile-summary-info"),
    ("1CB4E40", "nvvm-intrinsic-lowering"),
    ("1CB73C0", "branch-dist"),
    ("1CBC480", "nvvm-lower-alloca"),
    ("1CC3990", "nvvm-unreachable-block-elim"),
    ("1CC5E00", "nvvm-reduction"),
    ("1CC60B0", "sinking2"),
    ("1CC71E0", "nvvm-generic-addr-opt"),
    ("1CEBD10", "nvvm-final-lowering"),
    ("1CEF8F0", "nvvm-peephole-optimizer"),
    ("215D9D0", "nvvm-annotations-processor"),
];

/// sub_1C4B6F0, which the page calls AlwaysInliner in phase 2 and Inliner in the tiers.
const INLINER: &str = "1C4B6F0";

/// A line of the list.
struct Stated {
    line: u16,
    factory: &'static str,
    arguments: &'static str,
    guard: &'static str,
}

fn stated(sequence: &str) -> Vec<Stated> {
    let name = sequence.replace(' ', "-");
    let lines = include_str!("page.txt").lines().filter(|line| !line.starts_with('#'));
    let of = lines.map(|line| line.split(' ').collect::<Vec<_>>()).filter(|words| words[0] == name);
    let read = |words: Vec<&'static str>| {
        let (factory, arguments) = words[2].trim_end_matches(')').split_once('(').expect("arguments");
        Stated { line: words[1].parse().expect("a line"), factory, arguments, guard: words[3] }
    };
    of.map(read).collect()
}

fn sequence(name: &str) -> &'static [Entry] {
    SEQUENCES.iter().find(|(other, _)| *other == name).expect("a sequence").1
}

/// A guard as the page writes it.
fn written(guard: Guard) -> String {
    let terms: Vec<String> = guard.terms().iter().map(Term::to_string).collect();
    match guard {
        Guard::All([]) => "-".to_owned(),
        Guard::All(_) => terms.join("&&"),
        Guard::Any(_) => terms.join("||"),
    }
}

#[test]
fn sequences_are_as_long_as_the_page_has_them() {
    let lengths = ["tier 0", "tiers 1 to 3", "path ptx", "path mid", "path default"].map(|name| sequence(name).len());
    assert_eq!(lengths, [34, 69, 10, 43, 45]);
    assert_eq!(["phase 0", "phase 2", "phase 5"].map(|name| sequence(name).len()), [5, 9, 3]);
}

#[test]
fn sequences_are_in_the_order_of_the_page() {
    for (name, entries) in SEQUENCES.iter().filter(|(name, _)| !name.starts_with('O')) {
        let stated = stated(name);
        assert_eq!(stated.len(), entries.len(), "{name}");
        for (stated, entry) in stated.iter().zip(*entries) {
            let place = format!("{name}, line {}", stated.line);
            assert_eq!(stated.line, entry.line, "{place}");
            let row = FACTORIES.iter().find(|(factory, _)| *factory == stated.factory).map(|(_, row)| *row);
            let inliner = if *name == "phase 2" { "always-inline" } else { "inline" };
            let row = row.or((stated.factory == INLINER).then_some(inliner));
            assert_eq!(row, Some(entry.pass), "{place}");
        }
    }
}

#[test]
fn guards_are_those_of_the_page() {
    for (name, entries) in SEQUENCES.iter().filter(|(name, _)| !name.starts_with('O')) {
        for (stated, entry) in stated(name).iter().zip(*entries) {
            // Slot 53 turns print-module off by the map, line 339.
            let known = written(entry.guard).replace("&&!opts[1080]", "");
            match stated.guard.split_once("guards") {
                None => assert_eq!(known, stated.guard, "{name}, line {}", stated.line),
                Some((begins, _)) => assert!(known.starts_with(begins) && known != begins, "{known}"),
            }
        }
    }
}

#[test]
fn arguments_are_those_of_the_page() {
    for (name, entries) in SEQUENCES.iter().filter(|(name, _)| !name.starts_with('O')) {
        for (stated, entry) in stated(name).iter().zip(*entries) {
            let numbers: Vec<&str> = stated.arguments.split(',').collect();
            let element = entry.element(&Under { options: &PassOptions::new(), tier: 2 });
            let given: Vec<String> = element.arguments.iter().map(Argument::to_string).collect();
            let place = format!("{name}, line {}", stated.line);
            match entry.pass {
                "cgscc" => assert_eq!(given, numbers[..1], "{place}"),
                "simplifycfg" | "reassociate" | "tailcallelim" | "nvvm-intrinsic-lowering" | "nvvm-warp-shuffle" => {
                    assert_eq!(given, numbers, "{place}");
                }
                "loop-unswitch" if numbers.len() == 7 => assert_eq!(given, numbers, "{place}"),
                _ => {}
            }
        }
    }
}

#[test]
fn every_name_has_a_row_and_every_argument_fits_it() {
    for (name, entries) in SEQUENCES {
        for entry in entries {
            entry.names().into_iter().for_each(|pass| drop(entry::named(pass)));
            let options = PassOptions::new();
            let element = entry.element(&Under { options: &options, tier: 2 });
            let pipeline = Pipeline::from([Element { refused: None, ..element }]);
            let text = pipeline.to_string();
            let again = text::parse(&text).unwrap_or_else(|error| panic!("{name}: `{text}`: {error}"));
            assert_eq!(again.to_string(), text);
        }
    }
}

#[test]
fn every_guard_asks_a_switch() {
    for (name, entries) in SEQUENCES {
        for entry in entries {
            let guards = entry.guard.terms().iter().filter_map(|term| term.offset());
            for offset in guards.chain(entry.arguments.iter().filter_map(|argument| argument.offset())) {
                let slot = slot_at(offset).unwrap_or_else(|| panic!("{name}: no slot is at {offset}"));
                assert_eq!(Storage::of(slot), Storage::Switch, "{name}: {}", entry.pass);
            }
        }
    }
}

/// The slots that the page marks as asked by the assembly, the column "Offset" with a star, and those that it knows
/// from a guard alone.
#[test]
fn every_slot_that_the_page_has_a_consumer_for_is_asked() {
    // Written by cicc itself, or of what does not exist here: 195 names blocks, 213 tells host code from device code.
    let unasked = [195, 213];
    let starred = [9, 193, 195, 213, 217].into_iter().chain((13..=209).filter(|slot| {
        let row = PassOption::of_slot(*slot).row();
        let is_parameter = [93, 95, 161, 163, 197, 203, 205, 207].contains(slot);
        row.source.line != 179 && row.kind != options::Kind::Text && !is_parameter
    }));
    let without = starred.filter(|slot| consumers(PassOption::of_slot(*slot)).is_empty());
    assert_eq!(without.filter(|slot| !unasked.contains(slot)).collect::<Vec<u16>>(), []);
}

fn under(level: Level, settings: &[&str]) -> Nvopt {
    let mut nvopt = Nvopt::new(level);
    settings.iter().for_each(|setting| nvopt.options.set(setting).expect("an option"));
    nvopt
}

/// The names of the elements outside nests that guards let run.
fn names(nvopt: &Nvopt) -> Vec<&'static str> {
    nvopt.pipeline().unguarded().iter().map(|element| element.name).collect()
}

fn count(nvopt: &Nvopt, name: &str) -> usize {
    names(nvopt).iter().filter(|other| **other == name).count()
}

#[test]
fn levels_take_their_sequences() {
    let lengths = Level::ALL.map(|level| Nvopt::new(level).pipeline().len());
    let (before, behind) = (5 + 9, 3);
    let tiers = before + 34 + 69 + 45 + behind;
    assert_eq!(lengths, [9, before + 1 + behind, before + 44 + behind, before + 46 + behind, tiers, tiers, tiers]);
    // What the tiers themselves decide: O1 leaves out what is for other tiers, and O3 adds to O2.
    let run = Level::ALL.map(|level| names(&Nvopt::new(level)).len());
    assert!(run.is_sorted(), "{run:?}");
    assert_eq!((run[0], run[1]), (8, 15), "lines 600 and 614");
    assert_eq!(count(&Nvopt::new(Level::O1), "sink"), 2);
    assert_eq!(count(&Nvopt::new(Level::O2), "sink"), 3);
    assert_eq!(count(&Nvopt::new(Level::O2), "nvvm-late-opt"), 0);
    assert_eq!(count(&Nvopt::new(Level::O3), "nvvm-late-opt"), 1);
}

#[test]
fn the_third_tier_turns_features_on_unless_somebody_has_decided() {
    assert_eq!(count(&Nvopt::new(Level::O2), "nvvm-barrier-analysis"), 0);
    assert_eq!(count(&Nvopt::new(Level::O3), "nvvm-barrier-analysis"), 1);
    assert_eq!(count(&under(Level::O3, &["slot-173=0"]), "nvvm-barrier-analysis"), 0);
}

#[test]
fn languages_take_their_paths() {
    let ptx = names(&under(Level::O3, &["lang=ptx"]));
    assert_eq!(ptx.len(), 5 + 10 + 3);
    assert!(!ptx.contains(&"sroa") && !ptx.contains(&"loop-unroll"));
    let of = |settings: &[&str]| under(Level::O3, settings).pipeline().to_string();
    assert_eq!(of(&["lang=idn"]), of(&[]));
    assert_eq!(of(&["lang=default"]), of(&[]));
    assert_ne!(of(&["lang=mid"]), of(&[]));
    assert_eq!(names(&under(Level::O0, &["lang=mid"])), names(&Nvopt::new(Level::O0)));
    assert_eq!(names(&under(Level::O3, &["slot-217=1"])).len(), 8, "a bypass takes phases 0 and 5");
}

#[test]
fn options_leave_places_out_and_say_so() {
    let refusals = |nvopt: &Nvopt, name: &str| -> Vec<String> {
        let pipeline = nvopt.pipeline();
        let refused = pipeline.iter().filter(|element| element.name == name).filter_map(Element::refused);
        refused.map(|refusal| refusal.to_string()).collect()
    };
    assert_eq!(count(&Nvopt::new(Level::O3), "licm"), 4);
    assert_eq!(refusals(&Nvopt::new(Level::O3), "licm"), ["disabled by slot-183=0"]);
    let off = under(Level::O3, &["do-licm=0"]);
    assert_eq!(count(&off, "licm"), 0);
    assert!(refusals(&off, "licm").contains(&"disabled by do-licm=0".to_owned()));
    assert_eq!(refusals(&under(Level::O1, &[]), "nvvm-late-opt"), ["not in tier 1"]);
    assert_eq!(count(&under(Level::O3, &["slot-61=1"]), "licm"), 1, "tier 0 asks the other slot alone");
}

/// Each switch that somebody asks changes a pipeline: of some level and language, as the options are by default or with
/// the switches on which several guards wait.
#[test]
fn every_switch_that_is_asked_changes_something() {
    let waits: &[&str] = &["slot-19=0", "slot-25=0", "slot-117=0", "slot-149=1", "slot-173=1", "slot-183=1"];
    let shown = |level, settings: &[&str]| {
        let nvopt = Nvopt { plugins: vec![plugin(1, 1)], ..under(level, settings) };
        nvopt.pipeline().unguarded().iter().map(|element| (element.name, element.arguments.clone())).collect::<Vec<_>>()
    };
    for slot in (1..=options::SLOTS as u16).filter(|slot| Storage::of(*slot) == Storage::Switch) {
        // Those who run the pipeline and print the module ask these two.
        if consumers(PassOption::of_slot(slot)).is_empty() || [JOBSERVER, BLOCK_NAMES].contains(&slot) {
            continue;
        }
        let differs = |(level, lang, base): (Level, &str, &[&str])| {
            let base = [base, &[lang][..]].concat();
            let flipped = format!("slot-{slot}={}", u8::from(!under(level, &base).options().holds(slot)));
            shown(level, &base) != shown(level, &[&base[..], &[&flipped]].concat())
        };
        let bases = [&[][..], waits];
        let languages = ["lang=ptx", "lang=mid", "lang=default"];
        let with = |level| languages.into_iter().flat_map(move |lang| bases.map(|base| (level, lang, base)));
        assert!(Level::ALL.into_iter().flat_map(with).any(differs), "slot {slot} changes nothing");
    }
}

#[test]
fn arguments_follow_switches() {
    let space = |settings: &[&str]| {
        let pipeline = under(Level::O3, settings).pipeline();
        let spaces = pipeline.iter().filter(|element| element.name == "memory-space-opt");
        spaces.map(|element| element.arguments[0].to_string()).collect::<Vec<_>>()
    };
    assert_eq!(space(&[]), ["first-time", "second-time"]);
    assert_eq!(space(&["slot-155=0"]), ["second-time", "second-time"]);
}

#[test]
fn fast_compilation_overrides_the_user() {
    assert_eq!(count(&Nvopt::new(Level::Ofcmid), "memory-space-opt"), 1);
    let asked = under(Level::Ofcmax, &["do-ip-msp=1", "no-memspaceopt-b=1"]);
    let overridden: Vec<String> = asked.overridden().iter().map(|option| option.row().key()).collect();
    assert_eq!(overridden, ["do-ip-msp"]);
    assert!(under(Level::O3, &["do-ip-msp=0"]).overridden().is_empty());
}

fn plugin(position: u32, object: u32) -> Plugin {
    Plugin { position, object, element: Element::custom("added", Run::module(|_, _| oriole_pass::pass::Changed::No)) }
}

/// The loop of line 832: a tier fires in front of the first pass that follows its switch on the command line.
#[test]
fn tiers_fire_at_the_position_of_their_switch() {
    let places = |thresholds| {
        let plugins = vec![plugin(1, 1), plugin(2, 2), plugin(3, 3)];
        let names = names(&Nvopt { plugins, thresholds, ..Nvopt::new(Level::O3) });
        // `newgvn` is in tier 0 alone, `nvvm-late-opt` in tier 3.
        let wanted = ["added", "newgvn", "nvvm-late-opt"];
        names.into_iter().filter(|name| wanted.contains(name)).collect::<Vec<_>>()
    };
    assert_eq!(places([0; 4]), ["newgvn", "nvvm-late-opt", "added", "added", "added"]);
    assert_eq!(places([2, 0, 0, 1]), ["added", "nvvm-late-opt", "added", "newgvn", "added"]);
    assert_eq!(places([3, 0, 0, 3]), ["added", "added", "added", "newgvn", "nvvm-late-opt"]);
}

#[test]
fn one_object_is_added_once_and_verified_on_request() {
    let plugins = vec![plugin(1, 7), plugin(2, 7), plugin(3, 8)];
    let nvopt = Nvopt { plugins, ..under(Level::O1, &["slot-193=1"]) };
    assert_eq!(count(&nvopt, "added"), 2);
    assert_eq!(count(&nvopt, "verify"), 3);
}

#[test]
fn passes_stand_behind_the_point_that_they_are_asked_for_at() {
    let element = plugin(0, 0).element;
    let at = |point| {
        let names = names(&Nvopt { points: vec![(point, element.clone())], ..Nvopt::new(Level::O3) });
        let behind = names.windows(2).filter(|pair| pair[1] == "added").map(|pair| pair[0]).collect::<BTreeSet<_>>();
        (behind, names.iter().filter(|name| **name == "added").count())
    };
    assert_eq!(at(ExtensionPoint::OptimizerLast), (BTreeSet::from(["cgscc"]), 1));
    assert_eq!(at(ExtensionPoint::EarlyAsPossible), (BTreeSet::from(["cgscc"]), 7));
    assert_eq!(at(ExtensionPoint::CgsccOptimizerLate), (BTreeSet::new(), 0), "the mid path alone has it");
}

#[test]
fn a_pipeline_prints_as_text_that_reads_back_to_it() {
    for level in Level::ALL {
        let runs = Nvopt::new(level).with_phases().unguarded();
        let text = runs.to_string();
        let again = text::parse(&text).unwrap_or_else(|error| panic!("{level}: {error}"));
        let all = |pipeline: &Pipeline| {
            let parts = |element: &Element| (element.id(), element.arguments.clone(), element.inside.len());
            pipeline.all().map(parts).collect::<Vec<_>>()
        };
        assert_eq!(all(&again), all(&runs), "{level}");
        assert_eq!(again.to_string(), text);
        let named = text::parse(&format!("default<{level}>")).expect("a level");
        assert_eq!(named.to_string(), Nvopt::new(level).pipeline().to_string());
    }
}

/// A text in lines, broken behind commas.
fn broken(text: &str) -> String {
    let mut lines = vec![String::new()];
    for part in text.split_inclusive(',') {
        if lines.last().is_some_and(|line| line.len() + part.len() > 118) {
            lines.push(String::new());
        }
        *lines.last_mut().expect("there is a line") += part;
    }
    lines.join("\n")
}

/// The pipeline of each level, with what guards leave in. `ORIOLE_BLESS=1` writes it again.
#[test]
fn levels_are_those_of_the_golden() {
    let text = |level: Level| broken(&Nvopt::new(level).pipeline().unguarded().to_string());
    let all: String = Level::ALL.map(|level| format!("nvopt<{level}>\n{}\n\n", text(level))).concat();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/pipeline/nvopt/levels.txt");
    if std::env::var_os("ORIOLE_BLESS").is_some() {
        std::fs::write(path, &all).expect("the golden is written");
    }
    let golden = std::fs::read_to_string(path).expect("the golden is there");
    assert_eq!(golden, all, "ORIOLE_BLESS=1 cargo test -p oriole-optimizer nvopt writes it again");
}

#[test]
fn phases_follow_in_the_order_of_their_table() {
    let pipeline = Nvopt::new(Level::O3).with_phases();
    let phases = pipeline.iter().skip(pipeline.len() - PHASES.len());
    assert!(phases.zip(PHASES).all(|(element, row)| std::ptr::eq(element.row(), row)));
}

#[test]
fn levels_have_one_name_and_two_spellings() {
    for level in Level::ALL {
        assert_eq!(Level::named(level.name()), Some(level));
    }
    let flags = ["0", "3", "fast-compile=mid", "fc=max", "fast-compile=0"].map(Level::of_flag);
    assert_eq!(flags, [Level::O0, Level::O3, Level::Ofcmid, Level::Ofcmax, Level::O3].map(Ok));
    for wrong in ["fc=fast", "fast-compile=", "fc=3"] {
        assert_eq!(Level::of_flag(wrong), Err(UnknownLevel::FastCompile), "{wrong}");
    }
    for wrong in ["4", "", "s", "33", "O3", "fc", "é"] {
        assert_eq!(Level::of_flag(wrong), Err(UnknownLevel::Other(wrong.to_owned())), "{wrong}");
    }
}

#[test]
fn nests_in_sequences_are_built() {
    for level in Level::ALL {
        for element in Nvopt::new(level).pipeline().all().filter(|element| !element.inside.is_empty()) {
            assert_eq!(element.status(), Status::Built);
        }
    }
    assert!(OPTIONS.iter().any(|row| row.name == Some("lang")));
}
