//! What is printed as PTX reads as a kernel with the same interface that behaves the same.
//! Glue: the body is [`oriole_oracles::targets::ptx_round_trip`].
//! Seeds: corpus/seeds
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    oriole_fuzz::run(oriole_oracles::targets::ptx_round_trip, data);
});
