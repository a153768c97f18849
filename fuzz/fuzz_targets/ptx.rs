//! PTX text reads as a valid module that runs, or gives diagnostics.
//! Glue: the body is [`oriole_oracles::targets::ptx`].
//! Seeds: corpus/seeds
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    oriole_fuzz::run(oriole_oracles::targets::ptx, data);
});
