//! Generated kernels a second: made, and made and fully checked (every phase verified, executed before and after, printed
//! as PTX and read again). `cargo bench -p oriole-oracles --bench generate`; each item is one kernel, in one thread.
//!
//! Sizes of the kernels stand in the output of `cargo test -p oriole-oracles kernels_are_valid -- --nocapture`.

use divan::Bencher;
use divan::counter::ItemsCount;
use oriole_oracles::campaign::case;
use oriole_oracles::check::{CheckOptions, check_module};
use oriole_oracles::generate::Config;

/// Kernels of one iteration: enough that sizes even out.
const KERNELS: u64 = 200;

fn main() {
    divan::main();
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn generate(bencher: Bencher<'_, '_>) {
    let config = Config::default();
    let all = || (0..KERNELS).map(|number| case(1, number, &config).launches.len()).sum::<usize>();
    bencher.counter(ItemsCount::new(KERNELS)).bench(all);
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn generate_and_check(bencher: Bencher<'_, '_>) {
    let config = Config::default();
    let options = CheckOptions { randoms: 0, ..CheckOptions::default() };
    let all = || {
        for number in 0..KERNELS {
            let generated = case(1, number, &config);
            let report = check_module("generated", &generated.module, &generated.launches, &options);
            assert!(report.is_ok_and(|report| report.clean), "case {number}");
        }
    };
    bencher.counter(ItemsCount::new(KERNELS)).bench(all);
}
