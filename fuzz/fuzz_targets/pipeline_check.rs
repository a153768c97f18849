//! The whole pipeline, under any settings, does not change what a generated kernel does.
//! Glue: the body is [`oriole::targets::pipeline_check`].
//! Seeds: corpus/bytes
#![no_main]

oriole_fuzz::engine::fuzz_target!(|data: &[u8]| {
    oriole_fuzz::run(oriole::targets::pipeline_check, data);
});
