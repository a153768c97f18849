//! The cubins of the corpus.

#![allow(dead_code, reason = "each test uses a part")]

use std::path::Path;

use oriole_sass::cubin::{Cubin, IndirectBranch, words};
use oriole_scoreboard::Code;

/// A function of a cubin.
pub struct FunctionOf {
    /// The name of the cubin.
    pub name: String,
    /// The name of the function.
    pub function: String,
    pub sm: u16,
    pub start: u64,
    pub words: Vec<u128>,
    pub indirect: Vec<IndirectBranch>,
}

impl FunctionOf {
    /// The function, read.
    pub fn code(&self) -> Code {
        Code::new(self.sm, &self.function, self.start, &self.words, &self.indirect).expect("the corpus is known")
    }

    /// The program that it was compiled of.
    pub fn program(&self) -> &str {
        self.name.split('.').next().unwrap_or(&self.name)
    }
}

/// The functions of all cubins.
pub fn functions() -> Vec<FunctionOf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/cubins");
    let list = std::fs::read_to_string(folder.join("text.txt")).expect("ci/cubins wrote the list");
    let names = list.lines().filter_map(|line| line.split(' ').next());
    names.flat_map(|name| of_file(&folder.join(name), name)).collect()
}

fn of_file(path: &Path, name: &str) -> Vec<FunctionOf> {
    let cubin = Cubin::read(&std::fs::read(path).expect("the file is there")).expect("a cubin");
    let read = |function: &oriole_sass::cubin::Function| {
        let range = cubin.own_range(function);
        FunctionOf {
            name: name.to_owned(),
            function: function.name.clone(),
            sm: cubin.target.sm,
            start: range.start,
            words: words(&cubin.bytes(function.section)[range.start as usize..range.end as usize]).collect(),
            indirect: function.info.indirect_branches.clone(),
        }
    };
    cubin.functions.iter().map(read).collect()
}

/// Numbers that are the same in every run.
pub struct Random(pub u64);

impl Random {
    /// One below a bound; zero where the bound is.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let mixed = (self.0 ^ self.0 >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 7;
        mixed as usize % bound.max(1)
    }
}
