//! Which kernels of a corpus are needed for what all of them cover.
//!
//! Covered is what a campaign counts of a kernel: rows of the opcode table and values of their fields, phases that
//! change something, rules that apply, matches at which a guard fails and the other counters, and how steps and cases
//! end; of a PTX file also its words with a dot in them, since the front end reads what lowering forgets. Kernels are
//! then left out one by one, the largest first, as long as others cover all that they do. So none that stays can be
//! left out, though fewer others may do: the fewest are hard to find.

use std::collections::{BTreeSet, HashMap};

use oriole_check::report::KernelReport;
use oriole_ir::Module;

use super::coverage::Coverage;

/// A kernel of a corpus.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Covering {
    /// How dear it is: its instructions.
    pub size: usize,
    /// Whether it stays whatever others cover: it shows a finding.
    pub stays: bool,
    /// What it covers.
    pub covers: BTreeSet<String>,
}

impl Covering {
    /// What a checked kernel covers; `ptx` is its text where it is PTX.
    pub fn of(module: &Module, report: &KernelReport, ptx: Option<&str>) -> Covering {
        let mut covers: BTreeSet<String> = ptx.map(words).unwrap_or_default();
        if report.inconclusive() == 0 {
            let mut coverage = Coverage::default();
            coverage.count(module);
            covers.extend(coverage.seen());
        }
        for line in &report.phases {
            let end = line.skipped.or_else(|| line.verdict.as_ref().map(|verdict| verdict.name()));
            covers.insert(format!("step {} {} {}", line.step.label(), line.changed, end.unwrap_or("not compared")));
        }
        covers
            .extend(report.statistics.iter().filter(|(_, count)| **count > 0).map(|(name, _)| format!("count {name}")));
        let ends = report.cases.iter().map(|case| case.inconclusive.as_ref().map_or("finished", |why| why.name()));
        covers.extend(ends.map(|end| format!("case {end}")));
        Covering { size: report.instructions_before, stays: !report.findings.is_empty(), covers }
    }
}

/// Directives, mnemonics and special registers of a PTX text.
fn words(text: &str) -> BTreeSet<String> {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or(line));
    let separates = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '%' | ':'));
    let words = code.flat_map(|line| line.split(separates));
    let is_word = |word: &&str| word.contains('.') && word.contains(|c: char| c.is_ascii_alphabetic());
    words.filter(is_word).map(|word| format!("ptx {word}")).collect()
}

/// Whether each kernel is needed: what all cover, those cover alone, and none of them can be left out.
pub fn needed(kernels: &[Covering]) -> Vec<bool> {
    let mut covered: HashMap<&str, usize> = HashMap::new();
    for feature in kernels.iter().flat_map(|kernel| &kernel.covers) {
        *covered.entry(feature).or_default() += 1;
    }
    let mut order: Vec<usize> = (0..kernels.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse((kernels[*at].size, *at)));
    let mut needed = vec![true; kernels.len()];
    for at in order {
        let kernel = &kernels[at];
        if kernel.stays || kernel.covers.iter().any(|feature| covered[feature.as_str()] == 1) {
            continue;
        }
        needed[at] = false;
        for feature in &kernel.covers {
            covered.entry(feature).and_modify(|count| *count -= 1);
        }
    }
    needed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(size: usize, stays: bool, covers: &str) -> Covering {
        Covering { size, stays, covers: covers.chars().map(String::from).collect() }
    }

    /// Whatever the corpus: the same is covered, and every kernel that stays covers something alone or shows a finding.
    #[test]
    fn what_stays_covers_the_same_and_is_needed() {
        let mut state = 1u64;
        let mut below = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        for _ in 0..200 {
            let make = |_| {
                let covers: String = (0..below(6)).map(|_| char::from(b'a' + below(12) as u8)).collect();
                kernel(below(9) as usize, below(8) == 0, &covers)
            };
            let kernels: Vec<Covering> = (0..10).map(make).collect();
            let needed = needed(&kernels);
            let kept: Vec<&Covering> = kernels.iter().zip(&needed).filter(|(_, is)| **is).map(|(one, _)| one).collect();
            let union = |kernels: &[&Covering]| -> BTreeSet<String> {
                kernels.iter().flat_map(|kernel| kernel.covers.clone()).collect()
            };
            assert_eq!(union(&kept), union(&kernels.iter().collect::<Vec<_>>()));
            assert!(kernels.iter().zip(&needed).all(|(kernel, needed)| *needed || !kernel.stays));
            for at in 0..kept.len() {
                let others: Vec<&Covering> = [&kept[..at], &kept[at + 1..]].concat();
                assert!(kept[at].stays || !kept[at].covers.is_subset(&union(&others)), "{kept:?}");
            }
        }
    }

    #[test]
    fn the_smaller_of_two_stays() {
        assert_eq!(
            needed(&[kernel(9, false, "ab"), kernel(3, false, "ab"), kernel(1, false, "")]),
            [false, true, false]
        );
        assert_eq!(needed(&[kernel(3, false, "ab"), kernel(3, false, "ab")]), [true, false]);
    }

    #[test]
    fn words_of_ptx_have_dots() {
        let found = words("  .reg .b32 %r<4>; // not.this\n  mov.u32 %r1, %tid.x;\n  add.f32 %f1, %f2, 1.5;\nL1: ret;");
        let expected = [".b32", ".reg", "%tid.x", "add.f32", "mov.u32"].map(|word| format!("ptx {word}"));
        assert_eq!(found, expected.into_iter().collect());
    }
}
