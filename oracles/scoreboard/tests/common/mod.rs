//! The cubins of the corpus.

use std::path::Path;

use oriole_sass::cubin::Cubin;
use oriole_scoreboard::Code;

/// The functions of all cubins, each with the name of its file.
pub fn functions() -> Vec<(String, Code)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/cubins");
    let list = std::fs::read_to_string(folder.join("text.txt")).expect("ci/cubins wrote the list");
    let names = list.lines().filter_map(|line| line.split(' ').next());
    names.flat_map(|name| of_file(&folder.join(name), name)).collect()
}

fn of_file(path: &Path, name: &str) -> Vec<(String, Code)> {
    let cubin = Cubin::read(&std::fs::read(path).expect("the file is there")).expect("a cubin");
    let read = |function| (name.to_owned(), Code::of(&cubin, function).expect("the corpus is known"));
    cubin.functions.iter().map(read).collect()
}
