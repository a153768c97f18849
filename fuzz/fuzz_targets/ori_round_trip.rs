//! What is parsed from .ori text and printed parses to the same module.
//! Glue: the body is [`oriole_oracles::targets::ori_round_trip`].
//! Seeds: corpus/seeds
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    oriole_fuzz::run(oriole_oracles::targets::ori_round_trip, data);
});
