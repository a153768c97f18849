//! No phase changes what a kernel, given as text, does.
//! Glue: the body is [`oriole_targets::phase_check`].
//! Seeds: corpus/seeds
#![no_main]

oriole_fuzz::engine::fuzz_target!(|data: &[u8]| {
    oriole_fuzz::run(oriole_targets::phase_check, data);
});

oriole_fuzz::engine::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    oriole_fuzz::mutate(data, size, max_size, seed)
});
