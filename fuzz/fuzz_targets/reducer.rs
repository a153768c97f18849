//! What the reducer leaves of a generated kernel can be reduced no further, and still is what was asked for.
//! Glue: the body is [`oriole_targets::reducer`].
//! Seeds: corpus/bytes
#![no_main]

oriole_fuzz::engine::fuzz_target!(|data: &[u8]| {
    oriole_fuzz::run(oriole_targets::reducer, data);
});
