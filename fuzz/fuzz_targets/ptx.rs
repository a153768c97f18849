//! PTX text reads as a valid module that runs, or gives diagnostics.
//! Glue: the body is [`oriole_targets::ptx`].
//! Seeds: corpus/seeds
#![no_main]

oriole_fuzz::engine::fuzz_target!(|data: &[u8]| {
    oriole_fuzz::run(oriole_targets::ptx, data);
});

// Kernels become other kernels; what is none is left to libFuzzer.
oriole_fuzz::engine::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    oriole_targets::mutate::or_bytes(data, size, max_size, seed, oriole_fuzz::engine::fuzzer_mutate)
});
