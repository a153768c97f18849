//! Functions of machine words read back as Ori from their text, and become the same words.
//! Glue: the body is [`oriole_targets::machine_ori`].
//! Seeds: corpus/bytes
#![no_main]

oriole_fuzz::engine::fuzz_target!(|data: &[u8]| {
    oriole_fuzz::run(oriole_targets::machine_ori, data);
});
