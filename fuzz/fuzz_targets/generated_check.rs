//! Glue: the body is [`oriole_oracles::targets::generated_check`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    oriole_oracles::targets::generated_check(data);
});
