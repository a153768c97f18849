//! What the verifier accepts of damaged kernels survives everything else.
//! Glue: the body is [`oriole_targets::verifier_soundness`].
//! Seeds: corpus/bytes
#![no_main]

oriole_fuzz::engine::fuzz_target!(|data: &[u8]| {
    oriole_fuzz::run(oriole_targets::verifier_soundness, data);
});
