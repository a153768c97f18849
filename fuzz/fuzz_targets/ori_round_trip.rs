//! What is parsed from .ori text and printed parses to the same module.
//! Glue: the body is [`oriole_oracles::targets::ori_round_trip`].
//! Seeds: corpus/seeds
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    oriole_fuzz::run(oriole_oracles::targets::ori_round_trip, data);
});

// Kernels become other kernels; what is none is left to libFuzzer.
libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    oriole_oracles::generate::mutate::text::or_bytes(data, size, max_size, seed, libfuzzer_sys::fuzzer_mutate)
});
