//! What is packed into bits is unpacked to the same.
//! Glue: the body is [`oriole_targets::encoding`].
//! Seeds: corpus/bytes
#![no_main]

oriole_fuzz::engine::fuzz_target!(|data: &[u8]| {
    oriole_fuzz::run(oriole_targets::encoding, data);
});
