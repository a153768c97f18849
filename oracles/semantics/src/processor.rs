//! Which vectors the processor has, of those that some functions are compiled for.

/// Sets of features, each with those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Vectors {
    /// What the target has.
    Baseline,
    /// `avx2,fma,bmi1,bmi2,popcnt,lzcnt`, which come together.
    Avx2,
    /// The same with `avx512f,avx512bw,avx512dq,avx512vl`.
    Avx512,
}

/// The widest ones of the processor.
#[inline(always)]
pub fn vectors() -> Vectors {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("bmi2") {
        let is_wider = is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        return if is_wider { Vectors::Avx512 } else { Vectors::Avx2 };
    }
    Vectors::Baseline
}
