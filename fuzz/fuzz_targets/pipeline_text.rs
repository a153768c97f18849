//! The whole pipeline, under any settings, does not change what a kernel, given as text, does.
//! Glue: the body is [`oriole_targets::pipeline_text`].
//! Seeds: corpus/seeds
#![no_main]

oriole_fuzz::engine::fuzz_target!(|data: &[u8]| {
    oriole_fuzz::run(oriole_targets::pipeline_text, data);
});

oriole_fuzz::engine::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    oriole_fuzz::mutate(data, size, max_size, seed)
});
