//! Kernels as `proptest` strategies, with the feature `proptest`.
//!
//! A kernel is what its choice bytes spell ([`super::from_bytes`]). Shrinking takes fewer of them, hence fewer choices
//! and a smaller kernel, then makes them smaller: zero is the plainest choice.

use proptest::collection::vec;
use proptest::prelude::{Strategy, any};

use super::{Config, Entropy, Generated, from_bytes, single};

/// Choice bytes of a kernel: enough for the largest, and few enough to shrink in.
const BYTES: usize = 2048;

/// Choice bytes. Their number comes first, since halving it shrinks a kernel faster than any byte does.
fn choices() -> impl Strategy<Value = Vec<u8>> {
    (0..=BYTES, vec(any::<u8>(), BYTES)).prop_map(|(length, mut bytes)| {
        bytes.truncate(length);
        bytes
    })
}

/// Whole kernels with launches.
pub fn kernels(config: Config) -> impl Strategy<Value = Generated> {
    choices().prop_map(move |bytes| from_bytes(&bytes, &config))
}

/// Kernels about one operation; those before in the list of pins are no simpler, so it is the operands that shrink.
pub fn instructions(config: Config) -> impl Strategy<Value = Generated> {
    let pins = single::pins(config.level).len().max(1) as u64;
    (0..pins, choices()).prop_map(move |(pin, bytes)| {
        let mut entropy = Entropy::from_bytes(&bytes);
        single::instruction(pin, &mut entropy, &config)
    })
}

#[cfg(test)]
mod tests {
    use oriole_ir::parse_module;
    use oriole_ir::verify::verify_module;
    use proptest::strategy::ValueTree;
    use proptest::test_runner::{Config as Cases, TestRunner};
    use proptest::{prop_assert, prop_assert_eq, proptest};

    use super::*;

    proptest! {
        #![proptest_config(Cases::with_cases(48))]

        #[test]
        fn text_holds_all_of_a_kernel(generated in kernels(Config::default())) {
            prop_assert!(verify_module(&generated.module).is_ok());
            prop_assert_eq!(parse_module(&generated.module.to_string()), Ok(generated.module));
        }
    }

    #[test]
    fn shrinking_makes_kernels_smaller() {
        let mut runner = TestRunner::deterministic();
        let count = |generated: &Generated| -> usize { generated.module.inst_count() };
        // What every kernel has, however few its choices.
        let frame = count(&from_bytes(&[], &Config::default()));
        let size = |generated: &Generated| count(generated).saturating_sub(frame);
        let (mut first, mut last) = (0, 0);
        for _ in 0..8 {
            let mut tree = kernels(Config::default()).new_tree(&mut runner).expect("no kernel is refused");
            first += size(&tree.current());
            for _ in 0..20 {
                if !tree.simplify() {
                    break;
                }
            }
            last += size(&tree.current());
        }
        assert!(last * 2 < first, "{first} instructions shrink to {last}");
    }
}
