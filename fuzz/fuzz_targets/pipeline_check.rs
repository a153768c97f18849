//! The whole pipeline, under any settings, does not change what a generated kernel does.
//! Glue: the body is [`oriole_targets::pipeline_check`].
//! Seeds: corpus/bytes
#![no_main]

oriole_fuzz::engine::fuzz_target!(|data: &[u8]| {
    oriole_fuzz::run(oriole_targets::pipeline_check, data);
});
