//! What every target's glue has in common.

// Named so that it is linked: the engine behind the interface of libfuzzer-sys.
#[cfg(feature = "libafl")]
use libafl_libfuzzer as _;
/// The macros, and the interface of the engine that the features choose.
pub use libfuzzer_sys as engine;

/// Calls a target's body; with the feature `canary`, with its fault planted.
pub fn run(body: fn(&[u8]) -> bool, data: &[u8]) {
    if cfg!(feature = "canary") {
        oriole_targets::canary::with(|| body(data));
    } else {
        body(data);
    }
}

/// The mutator of targets that take text: kernels become other kernels; what is none is left to the engine.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    oriole_targets::mutate::or_bytes(data, size, max_size, seed, engine::fuzzer_mutate)
}
