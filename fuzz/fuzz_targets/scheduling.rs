//! Scheduling control of random functions of the machine covers every register.
//! Glue: the body is [`oriole_targets::scheduling`].
//! Seeds: corpus/bytes
#![no_main]

oriole_fuzz::engine::fuzz_target!(|data: &[u8]| {
    oriole_fuzz::run(oriole_targets::scheduling, data);
});
