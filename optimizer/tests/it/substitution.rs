//! Simplifying before the input is known gives what simplifying afterwards gives.
//!
//! Each golden of the bundles runs twice for each input: once with the parameter `$n` replaced by a constant in the
//! golden's input, once in its expected output. Where both fold down to constants, the texts must be the same. A rule
//! that is wrong for some input makes them differ; the folder itself is judged elsewhere.

use std::path::Path;

use oriole_ir::parse_module;
use oriole_ir::sm::Target;
use oriole_optimizer::pass::Element;
use oriole_optimizer::pipeline::runner::{Options, run_passes};
use oriole_optimizer::pipeline::table::Phase;

const LOAD: &str = "%r1 = ld.param.u32 [$n]";

/// Corner values of 8, 16 and 32 bits, some floats, and values without any pattern.
const INPUTS: [u32; 24] = [
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    9,
    12,
    31,
    32,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x3f80_0000,
    0x1234_5678,
];

/// The module's text after cleaning up with the input known, if it is all constants then.
fn settled(text: &str, input: u32) -> Option<String> {
    let text = text.replace(LOAD, &format!("%r1 = mov.b32 {input}"));
    let mut module = parse_module(&text).expect("a golden is a module");
    let options = Options { verify: true, ..Options::new(Target::portable(90).expect("sm_90 exists")) };
    let phases = [Phase::GeneralOptimizeMid2, Phase::OriPerformLiveDeadFirst];
    let twice = phases.iter().chain(&phases).map(|phase| Element::from(phase.row())).collect::<Vec<_>>();
    run_passes(&twice, &mut module, &options, &mut ()).expect("the result is valid");
    let func = module.functions.values().next()?;
    let mut constant = func.layout_insts().filter(|inst| func.dsts(*inst).is_empty() && !func.srcs(*inst).is_empty());
    let known = |inst| func.srcs(inst).get(2).is_none_or(|value| value.is_imm());
    constant.all(known).then(|| module.to_string())
}

#[test]
fn rules_hold_for_corner_values() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/golden");
    let (mut compared, mut files) = (0, 0);
    for folder in ["general-optimize", "copy-propagation"] {
        for entry in std::fs::read_dir(root.join(folder)).expect("the corpus is there").flatten() {
            let text = std::fs::read_to_string(entry.path()).expect("a golden can be read");
            let (before, after) = text.split_once(";; expect:\n").expect("a golden has two modules");
            let (mut any, name) = (false, entry.file_name());
            for input in INPUTS {
                let (Some(before), Some(after)) = (settled(before, input), settled(after, input)) else { continue };
                assert_eq!(before, after, "{name:?} with $n = {input:#x}");
                (any, compared) = (true, compared + 1);
            }
            files += usize::from(any);
        }
    }
    assert!(files >= 20 && compared >= 480, "only {compared} comparisons in {files} goldens");
}
