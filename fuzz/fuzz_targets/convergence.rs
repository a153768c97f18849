//! Phases and the pipeline reach fixed points, and analyses equal their definitions after each phase.
//! Glue: the body is [`oriole_targets::convergence`].
//! Seeds: corpus/bytes
#![no_main]

oriole_fuzz::engine::fuzz_target!(|data: &[u8]| {
    oriole_fuzz::run(oriole_targets::convergence, data);
});
