//! Rule files give diagnostics or rules that read back the same and leave kernels valid.
//! Glue: the body is [`oriole_targets::rules`].
//! Seeds: corpus/rules
#![no_main]

oriole_fuzz::engine::fuzz_target!(|data: &[u8]| {
    oriole_fuzz::run(oriole_targets::rules, data);
});
