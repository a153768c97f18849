//! The interpreter on generated kernels: accesses of all lanes together, and one by one.

use oriole_generate::{Config, from_seed};
use oriole_interp::{Executable, RunOptions};

/// Where races are looked for, each access is done lane after lane.
#[test]
fn lanes_together_do_what_they_do_one_by_one() {
    let config = Config::default();
    for seed in 0..300 {
        let generated = from_seed(seed, &config);
        let executable = Executable::new(&generated.module).expect("it decodes");
        for named in &generated.launches {
            let run = |races| {
                let options = RunOptions { races, ..RunOptions::default() };
                let result = executable.run(&named.launch, &options).expect("it fits its launch");
                (result.outcome, result.memory, result.steps)
            };
            assert_eq!(run(false), run(true), "seed {seed}, {}", named.name);
        }
    }
}
