//! What the analyses say of ptxas's own code at the machine level, against NVIDIA's nvdisasm, where it is installed:
//! the graph (`-bbcfg`), and which registers each word reads, writes and leaves alive (`-plr`).
//!
//! Functions of `corpus/cubins` are lifted to Ori. Graph and liveness, which goes by register units, are those of the
//! optimizer; liveness is held against that of the reference too.

mod nvdisasm;
mod ours;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use nvdisasm::Tool;
use oriole_ir::Module;
use oriole_sass::cubin::Cubin;
use oriole_sass::ori;
use ours::{Mark, Register, Word};
use rayon::prelude::*;

/// The place of a word: its section's name, its offset there.
type Place = (String, u64);

/// A word whose register has another mark with nvdisasm.
#[derive(Debug)]
struct Difference {
    cubin: String,
    place: Place,
    mnemonic: String,
    reg: Register,
    ours: Mark,
    theirs: Mark,
}

/// Which differences there are for a reason.
type Known = fn(&Difference) -> bool;

/// Why nvdisasm's marks are others. What a call reads and writes nvdisasm takes from the ABI, so sections with calls
/// are left out, and the predicates that `P2R` and `UP2UR` read, and `UR2UP` writes, it does not count at all.
const KNOWN: &[(Known, &str)] = &[
    (|it| it.reg == ("GPR", 1), "R1 is the stack pointer, which is alive to the end, read or not"),
    (|it| it.reg.0 == "UGPR" && it.reg.1 > 62, "there are no columns for uniform registers that came with sm_100"),
    (
        |it| it.mnemonic == "LDGSTS" && (it.reg.0, it.ours, it.theirs) == ("PRED", Mark::Read, Mark::Both),
        "the predicate by which a copy is done counts as written too",
    ),
    (
        |it| {
            let is_there = it.cubin.starts_with("half2_dot.") && (0x220..=0x2a0).contains(&it.place.1);
            is_there && (it.reg, it.ours, it.theirs) == (("GPR", 5), Mark::Live, Mark::Dead)
        },
        "a register is dead before a label and alive behind it, although control goes on there",
    ),
    (
        |it| {
            let fetches = ["bilinear.sm_1", "image_gathers.sm_1", "image_refs.sm_1"];
            let is_there = fetches.iter().any(|cubin| it.cubin.starts_with(cubin)) && it.reg.0 == "GPR";
            let unwritten = matches!(it.ours, Mark::Written | Mark::Dead) && it.theirs == Mark::Live;
            is_there && (unwritten || (it.ours, it.theirs) == (Mark::Both, Mark::Read))
        },
        "from sm_100 on the fourth result of a fetch does not count as written, so that its register is alive before",
    ),
    (
        |it| {
            let unread = [
                (Mark::Live, Mark::Dead),
                (Mark::Read, Mark::Dead),
                (Mark::Read, Mark::Live),
                (Mark::Both, Mark::Written),
            ];
            let mut fetches = ["image_gathers.sm_1", "image_refs.sm_1"].into_iter();
            let is_there = fetches.any(|cubin| it.cubin.starts_with(cubin)) && it.reg.0 == "GPR";
            is_there && unread.contains(&(it.ours, it.theirs))
        },
        "from sm_100 on only the first register with levels, offsets and depths of a fetch counts as read",
    ),
];

/// The corpus, by names.
fn cubins() -> Vec<(String, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/cubins");
    let list = std::fs::read_to_string(folder.join("text.txt")).expect("ci/cubins wrote the list");
    let names = list.lines().filter_map(|line| line.split(' ').next());
    names.map(|name| (name.to_owned(), folder.join(name))).collect()
}

/// A cubin, lifted.
struct Lifted {
    cubin: Cubin,
    module: Module,
}

impl Lifted {
    fn read(path: &Path) -> Lifted {
        let cubin = Cubin::read(&std::fs::read(path).expect("a file")).expect("a cubin");
        let module = ori::module(&cubin).expect("the corpus is known");
        Lifted { cubin, module }
    }

    /// What is said of each function, by offsets from its start, as said of each section.
    fn by_place<T>(&self, of: impl Fn(&oriole_ir::Function) -> Vec<(u64, T)>) -> Vec<(Place, T)> {
        let functions = self.module.functions.values().zip(&self.cubin.functions);
        let said = functions.flat_map(|(func, it)| {
            let (section, start) = (&self.cubin.sections[it.section].name, self.cubin.own_range(it).start);
            of(func).into_iter().map(move |(offset, said)| ((section.clone(), start + offset), said))
        });
        said.collect()
    }
}

/// How many marks of a cubin are the same, and the differences.
fn compare(tool: &Tool, name: &str, path: &Path) -> (usize, Vec<Difference>) {
    let ours: BTreeMap<Place, Word> =
        Lifted::read(path).by_place(|func| ours::words(func).into_iter().collect()).into_iter().collect();
    let calls: BTreeSet<&String> =
        ours.iter().filter(|(_, word)| word.mnemonic == "CALL").map(|(place, _)| &place.0).collect();
    let (mut same, mut differ) = (0, Vec::new());
    for (place, theirs) in tool.live_ranges(path) {
        let Some(word) = ours.get(&place).filter(|_| !calls.contains(&place.0)) else { continue };
        for (file, marks) in &theirs {
            for reg in (0..=u8::MAX).map(|number| (*file, number)) {
                let (own, their) = (word.mark(reg), marks.get(&reg.1).copied().unwrap_or(Mark::Dead));
                match own == their {
                    true => same += usize::from(own != Mark::Dead),
                    false => {
                        let (cubin, mnemonic) = (name.to_owned(), word.mnemonic.clone());
                        differ.push(Difference {
                            cubin,
                            place: place.clone(),
                            mnemonic,
                            reg,
                            ours: own,
                            theirs: their,
                        });
                    }
                }
            }
        }
    }
    (same, differ)
}

#[test]
fn registers_are_read_written_and_live_as_nvdisasm_says() {
    let Some(tool) = Tool::find() else { return };
    let all: Vec<_> = cubins().par_iter().map(|(name, path)| compare(&tool, name, path)).collect();
    let same: usize = all.iter().map(|(same, _)| same).sum();
    println!("{same} marks of registers are the same");
    assert!(same > 300_000, "too few marks were compared");
    let mut met = [0; KNOWN.len()];
    let mut unknown = Vec::new();
    for difference in all.into_iter().flat_map(|(_, differ)| differ) {
        match KNOWN.iter().position(|(is_one, _)| is_one(&difference)) {
            Some(reason) => met[reason] += 1,
            None => unknown.push(format!("{difference:x?}")),
        }
    }
    for ((_, reason), met) in KNOWN.iter().zip(met) {
        println!("{met} marks differ: {reason}");
        assert!(met > 0, "nothing differs any more because {reason}");
    }
    let shown = unknown.iter().take(40).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(unknown.is_empty(), "{} marks differ:\n{shown}", unknown.len());
}

/// The ways that start where control can get: nvdisasm also draws some of the code that nothing reaches.
fn reached(mut from: Vec<Place>, ways: BTreeSet<(String, u64, u64)>) -> BTreeSet<(String, u64, u64)> {
    let mut seen: BTreeSet<Place> = from.iter().cloned().collect();
    while let Some((section, offset)) = from.pop() {
        let next = ways.range((section.clone(), offset, 0)..=(section, offset, u64::MAX));
        from.extend(next.map(|(section, _, to)| (section.clone(), *to)).filter(|place| seen.insert(place.clone())));
    }
    ways.into_iter().filter(|(section, offset, _)| seen.contains(&(section.clone(), *offset))).collect()
}

#[test]
fn control_goes_where_nvdisasm_says() {
    let Some(tool) = Tool::find() else { return };
    let compare = |(name, path): &(String, PathBuf)| {
        let lifted = Lifted::read(path);
        let section = |function: &str| {
            let function = lifted.cubin.function(function).expect("a cluster is a function");
            lifted.cubin.sections[function.section].name.clone()
        };
        let theirs = tool.edges(path).into_iter().map(|(function, from, to)| (section(&function), from, to));
        let starts = lifted.by_place(|_| vec![(0, ())]).into_iter().map(|(place, ())| place);
        let theirs = reached(starts.collect(), theirs.collect());
        let ours = lifted
            .by_place(|func| ours::edges(func).into_iter().map(|(from, to)| (from, to.wrapping_sub(from))).collect());
        let ours = ours.into_iter().map(|((section, from), distance)| (section, from, from.wrapping_add(distance)));
        let ours: BTreeSet<_> = ours.collect();
        let only = |whose: &str, edges: Vec<&(String, u64, u64)>| -> Vec<String> {
            edges.iter().map(|(at, from, to)| format!("{name} {at}: only {whose}: {from:#x} to {to:#x}")).collect()
        };
        let mut differ = only("ours", ours.difference(&theirs).collect());
        differ.extend(only("theirs", theirs.difference(&ours).collect()));
        (ours.intersection(&theirs).count(), differ)
    };
    let all: Vec<_> = cubins().par_iter().map(compare).collect();
    let same: usize = all.iter().map(|(same, _)| same).sum();
    println!("{same} ways from word to word are the same");
    assert!(same > 30_000, "too few ways were compared");
    let differ: Vec<&str> = all.iter().flat_map(|(_, differ)| differ).map(String::as_str).collect();
    let shown = differ.iter().take(40).copied().collect::<Vec<_>>().join("\n");
    assert!(differ.is_empty(), "{} ways differ:\n{shown}", differ.len());
}
