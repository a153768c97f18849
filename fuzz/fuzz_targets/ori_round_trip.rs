//! What is parsed from .ori text and printed parses to the same module.
//! Glue: the body is [`oriole_targets::ori_round_trip`].
//! Seeds: corpus/seeds
#![no_main]

oriole_fuzz::engine::fuzz_target!(|data: &[u8]| {
    oriole_fuzz::run(oriole_targets::ori_round_trip, data);
});

oriole_fuzz::engine::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    oriole_fuzz::mutate(data, size, max_size, seed)
});
