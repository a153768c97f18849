//! The whole pipeline, under any settings, does not change what a kernel, given as text, does.
//! Glue: the body is [`oriole_oracles::targets::pipeline_text`].
//! Seeds: corpus/seeds
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    oriole_fuzz::run(oriole_oracles::targets::pipeline_text, data);
});
