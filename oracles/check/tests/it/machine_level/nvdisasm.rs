//! What nvdisasm prints of a cubin: live ranges, graphs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Place;
use super::ours::{Mark, WORD_BYTES};

/// The tool.
pub struct Tool(PathBuf);

/// The marks of registers by their numbers, for each file.
pub type Marks = BTreeMap<&'static str, BTreeMap<u8, Mark>>;

/// The files that it has columns for.
const FILES: [&str; 4] = ["GPR", "PRED", "UGPR", "UPRED"];

impl Tool {
    /// On the PATH, in `CUDA_HOME`, or by `ci/cuda-tools`.
    pub fn find() -> Option<Tool> {
        let finder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/cuda-tools");
        let output = Command::new(finder).args(["--find", "nvdisasm"]).output().ok()?;
        if !output.status.success() {
            println!("skipped: no nvdisasm (ci/cuda-tools installs it)");
            return None;
        }
        Some(Tool(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim())))
    }

    fn run(&self, options: &[&str], path: &Path) -> String {
        let output = Command::new(&self.0).args(options).arg(path).output().expect("the tool starts");
        assert!(output.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("it prints ASCII")
    }

    /// The marks of each word. A file that a section uses no register of has no column.
    pub fn live_ranges(&self, path: &Path) -> Vec<(Place, Marks)> {
        let text = self.run(&["-c", "-plr", "-lrm", "narrow"], path);
        let (mut section, mut titles, mut columns) = (String::new(), Vec::new(), Vec::new());
        let mut found = Vec::new();
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("//--------------------- ") {
                section = name.trim_end_matches('-').trim().to_owned();
            }
            let Some((code, table)) = line.rsplit_once("// |") else { continue };
            let cells = || table.split('|');
            let is_title = |cell: &str| FILES.contains(&cell.trim());
            if cells().any(is_title) {
                titles = cells().filter_map(|cell| FILES.into_iter().find(|file| *file == cell.trim())).collect();
            } else if cells().any(|cell| cell.contains("# 0")) {
                columns = cells().filter_map(|cell| cell.find("# 0").map(|at| at + 2)).collect();
            }
            let Some(offset) = offset(code) else { continue };
            let marks = cells().zip(&titles).zip(&columns).map(|((cell, title), start)| {
                let marks = cell.bytes().skip(*start).enumerate();
                (*title, marks.filter_map(|(number, mark)| Some((number as u8, self::mark(mark)?))).collect())
            });
            found.push(((section.clone(), offset), marks.collect()));
        }
        found
    }

    /// The ways that control can go, from word to word: the function that they are drawn in, the offsets in its
    /// section.
    pub fn edges(&self, path: &Path) -> Vec<(String, u64, u64)> {
        let text = self.run(&["-bbcfg", "-poff"], path);
        let mut graph = Graph::default();
        for line in text.lines() {
            graph.line(line);
        }
        graph.edges
    }
}

/// A graph while it is read.
#[derive(Default)]
struct Graph {
    function: String,
    /// The node whose label follows.
    name: String,
    /// The first and the last word of each node of the function.
    nodes: BTreeMap<String, (u64, u64)>,
    /// Its edges between nodes.
    ways: Vec<(String, String)>,
    edges: Vec<(String, u64, u64)>,
}

impl Graph {
    fn line(&mut self, line: &str) {
        let quoted = |text: &str| text.split('"').nth(1).unwrap_or_default().to_owned();
        if let Some(rest) = line.strip_prefix("subgraph \"cluster_") {
            self.function = rest.split('"').next().unwrap_or_default().to_owned();
            self.nodes.clear();
        } else if let Some((from, to)) = line.split_once(" -> ") {
            self.ways.push((quoted(from), quoted(to)));
        } else if let Some(label) = line.strip_prefix("[label=") {
            let lines = label.split("\\l").filter_map(|line| labelled(line.rsplit('>').next()?));
            let words: Vec<u64> = lines.collect();
            self.edges.extend(words.windows(2).map(|pair| (self.function.clone(), pair[0], pair[1])));
            if let (Some(first), Some(last)) = (words.first(), words.last()) {
                self.nodes.insert(self.name.clone(), (*first, *last));
            }
        } else if line.starts_with('"') {
            self.name = quoted(line);
        } else if line.starts_with('}') {
            let known =
                self.ways.iter().filter_map(|(from, to)| Some((self.nodes.get(from)?.1, self.nodes.get(to)?.0)));
            self.edges.extend(known.map(|(from, to)| (self.function.clone(), from, to)));
            self.ways.clear();
        }
    }
}

/// The offset that a line of code begins with: `/*0070*/`.
fn offset(code: &str) -> Option<u64> {
    let digits = code.trim_start().strip_prefix("/*")?.split_once("*/")?.0;
    u64::from_str_radix(digits, 16).ok()
}

/// The offset that a line of a node begins with: `0070:\ \ `.
fn labelled(line: &str) -> Option<u64> {
    let (digits, _) = line.trim_start_matches(['|', '{', '"']).split_once(":\\ ")?;
    let is_hex = digits.len() >= 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|offset| is_hex && offset.is_multiple_of(WORD_BYTES))
}

fn mark(mark: u8) -> Option<Mark> {
    Some(match mark {
        b':' => Mark::Live,
        b'v' => Mark::Read,
        b'^' => Mark::Written,
        b'x' => Mark::Both,
        _ => return None,
    })
}
