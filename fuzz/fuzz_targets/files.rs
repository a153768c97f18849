//! Launch files, configurations and settings are read as they were written.
//! Glue: the body is [`oriole_targets::files`].
//! Seeds: corpus/bytes
#![no_main]

oriole_fuzz::engine::fuzz_target!(|data: &[u8]| {
    oriole_fuzz::run(oriole_targets::files, data);
});
