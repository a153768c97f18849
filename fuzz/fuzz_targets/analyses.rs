//! Dominators and liveness of random graphs equal their definitions by paths.
//! Glue: the body is [`oriole_targets::analyses`].
//! Seeds: corpus/bytes
#![no_main]

oriole_fuzz::engine::fuzz_target!(|data: &[u8]| {
    oriole_fuzz::run(oriole_targets::analyses, data);
});
