//! What a program costs on a launch: what its threads execute, and the registers that it keeps alive.
//!
//! Costs are those of the IR: machine code has other instructions. They say what phases gain beside each other.

use oriole_interp::{Executable, RunOptions};
use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Module, RegFile};
use oriole_launch::Launch;
use oriole_optimizer::analysis::{Cfg, Liveness, Pressure};
use schemars::JsonSchema;
use serde::Serialize;

/// What a program costs on a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, JsonSchema, Serialize)]
pub struct Cost {
    /// Instructions of threads that were executed.
    pub executed: u64,
    /// Those of them that read memory.
    pub loads: u64,
    /// The most words of registers that are live at any point of any function.
    pub pressure: u32,
}

impl Cost {
    /// The cost of a module on a launch; `None` where it cannot run.
    pub fn of(module: &Module, launch: &Launch) -> Option<Cost> {
        let options = RunOptions { stats: true, ..RunOptions::default() };
        let run = Executable::new(module).ok()?.run(launch, &options).ok()?;
        let reads = |name: &str| Opcode::from_name(name).is_some_and(|opcode| opcode.row().flags.has(Flags::READS));
        Some(Cost {
            executed: run.stats.values().sum(),
            loads: run.stats.iter().filter(|(name, _)| reads(name)).map(|(_, count)| count).sum(),
            pressure: pressure(module),
        })
    }
}

fn pressure(module: &Module) -> u32 {
    let most = module.functions.values().filter(|func| func.is_definition()).map(|func| {
        let cfg = Cfg::new(func);
        Pressure::compute(func, &cfg, &Liveness::solve(func, &cfg)).max().of(RegFile::R)
    });
    most.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_ir::parse_module;
    use oriole_launch::command_line;

    #[test]
    fn executed_instructions_loads_and_live_words_are_counted() {
        let text = "target sm_90 ptx 9.0\n\nentry @k visible ssa {\n  param $p: u64 param align 8\nbb0:\n  \
                    %d0 = ld.param.u64 [$p]\n  %r1 = ld.global.u32 [%d0]\n  %r2 = iadd.u32 %r1, 1\n  \
                    st.global.u32 [%d0], %r2\n  ret\n}\n";
        let module = parse_module(text).expect("the kernel reads");
        let launch = command_line::launch(None, "1", "2", &["zeroed:4".to_owned()]).expect("it is well-formed");
        // Two threads, five instructions, two of which load; an address of two words beside the value.
        assert_eq!(Cost::of(&module, &launch), Some(Cost { executed: 10, loads: 4, pressure: 3 }));
    }
}
