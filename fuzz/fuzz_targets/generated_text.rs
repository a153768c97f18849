//! A generated kernel is parsed from .ori as it was printed, and read from PTX as one that behaves the same.
//! Glue: the body is [`oriole_targets::generated_text`].
//! Seeds: corpus/bytes
#![no_main]

oriole_fuzz::engine::fuzz_target!(|data: &[u8]| {
    oriole_fuzz::run(oriole_targets::generated_text, data);
});
