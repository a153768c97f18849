//! What random parts of an encoding say is a word that decodes and encodes to itself.
//! Glue: the body is [`oriole_targets::sass_encoding`].
//! Seeds: corpus/bytes
#![no_main]

oriole_fuzz::engine::fuzz_target!(|data: &[u8]| {
    oriole_fuzz::run(oriole_targets::sass_encoding, data);
});
