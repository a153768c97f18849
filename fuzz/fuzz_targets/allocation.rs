//! Register allocation of random functions of the machine leaves every value where it is read.
//! Glue: the body is [`oriole_targets::allocation`].
//! Seeds: corpus/bytes
#![no_main]

oriole_fuzz::engine::fuzz_target!(|data: &[u8]| {
    oriole_fuzz::run(oriole_targets::allocation, data);
});
