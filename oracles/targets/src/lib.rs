//! The bodies of the fuzz targets: from bytes to an assertion.
//!
//! Each takes what libFuzzer makes of the seeds and returns whether the input got as far as the property, so that a
//! test can see that the target is not idle. A broken property is a panic that says what to do next. [`TARGETS`] lists
//! them; the crate under `fuzz/` is the glue, and `ci/fuzz` runs one.
//!
//! Each also has a fault of its own that it must find ([`canary`]).

mod analyses;
mod arithmetic;
pub mod canary;
mod codegen;
mod convergence;
mod damage;
mod encoding;
mod files;
pub mod hostile;
mod input;
pub mod mutate;
mod phases;
mod pipeline;
mod reducer;
mod rules;
mod sass;
mod settings;
#[cfg(test)]
mod tests;
mod text;
mod verifier;

pub use analyses::analyses;
pub use codegen::{allocation, scheduling};
pub use convergence::{MOST_RUNS, convergence, settles};
pub use encoding::encoding;
pub use files::files;
pub use input::launch_for;
pub use phases::{generated_check, phase_check};
pub use pipeline::{pipeline_check, pipeline_text};
pub use reducer::reducer;
pub use rules::rules;
pub use sass::{cubin, machine_ori, sass_encoding, sass_words};
pub use text::{generated_text, ori_round_trip, ptx, ptx_round_trip};
pub use verifier::verifier_soundness;

/// What a target starts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seeds {
    /// Texts of kernels, `.ori` and PTX: `corpus/seeds`.
    Texts,
    /// Rewrite rules: `corpus/rules`.
    Rules,
    /// Bytes that spell choices: `corpus/bytes`.
    Bytes,
    /// Cubins: `corpus/cubins`.
    Cubins,
}

impl Seeds {
    /// Their folder, from the root of the repository.
    pub fn folder(self) -> &'static str {
        match self {
            Seeds::Texts => "corpus/seeds",
            Seeds::Rules => "corpus/rules",
            Seeds::Bytes => "corpus/bytes",
            Seeds::Cubins => "corpus/cubins",
        }
    }
}

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of the binary.
    pub name: &'static str,
    /// What it starts from.
    pub seeds: Seeds,
    /// Says whether the input got as far as the property; panics where that is broken.
    pub body: fn(&[u8]) -> bool,
}

macro_rules! targets {
    ($($name:ident $seeds:ident,)*) => {
        /// Every fuzz target.
        pub static TARGETS: &[Target] =
            &[$(Target { name: stringify!($name), seeds: Seeds::$seeds, body: $name }),*];
    };
}

targets! {
    ptx Texts,
    ori_round_trip Texts,
    ptx_round_trip Texts,
    phase_check Texts,
    pipeline_text Texts,
    generated_text Bytes,
    generated_check Bytes,
    pipeline_check Bytes,
    convergence Bytes,
    verifier_soundness Bytes,
    reducer Bytes,
    analyses Bytes,
    encoding Bytes,
    files Bytes,
    rules Rules,
    sass_encoding Bytes,
    sass_words Bytes,
    machine_ori Bytes,
    cubin Cubins,
    allocation Bytes,
    scheduling Bytes,
}
