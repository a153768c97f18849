//! Glue: the body is [`oriole_oracles::targets::ori_round_trip`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    oriole_oracles::targets::ori_round_trip(data);
});
