//! Any bytes are read as a cubin, loaded and decoded, or refused.
//! Glue: the body is [`oriole_targets::cubin`].
//! Seeds: corpus/cubins
#![no_main]

oriole_fuzz::engine::fuzz_target!(|data: &[u8]| {
    oriole_fuzz::run(oriole_targets::cubin, data);
});
