//! Any 16 bytes decode and encode to the same, or are refused.
//! Glue: the body is [`oriole_targets::sass_words`].
//! Seeds: corpus/bytes
#![no_main]

oriole_fuzz::engine::fuzz_target!(|data: &[u8]| {
    oriole_fuzz::run(oriole_targets::sass_words, data);
});
