//! Every range and weight of the generator, with its reason.

use serde::{Deserialize, Serialize};

/// What the generator makes. Read from TOML; what a file does not name keeps its default.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Instructions of a kernel before prologue and epilogue, smallest and largest. Small enough for thousands of
    /// checks a second, large enough that phases meet in one kernel.
    pub instructions: [u32; 2],
    /// Instructions in a straight stretch, smallest and largest; shorter stretches make more blocks.
    pub stretch: [u32; 2],
    /// Nesting of branches and loops. Deeper code shows nothing new to phases that work on a dominator tree.
    pub depth: u32,
    /// Trips of a loop at most; each costs a run of its body.
    pub trips: u32,
    /// Trips of nested loops together at most, so that every kernel ends soon.
    pub nested_trips: u32,
    /// Branches that an unstructured region may take before it is left: its fuel.
    pub fuel: u32,
    /// Blocks of an unstructured region at most; three suffice for irreducible flow.
    pub soup: u32,
    /// Targets of a switch at most.
    pub targets: u32,
    /// Blocks of the grid at most; two show what depends on the block.
    pub blocks: u32,
    /// Warps of a block at most; two show what crosses warps.
    pub warps: u32,
    /// Launches of a kernel.
    pub launches: u32,
    /// Device functions at most.
    pub functions: u32,
    /// Instructions of a device function at most.
    pub function_instructions: u32,
    /// Weights of the shapes that flow can take.
    pub flow: FlowWeights,
    /// Weights of the families of instructions.
    pub family: FamilyWeights,
    /// Percentages of what an operand or destination is.
    pub operand: OperandPercent,
}

/// Weights of the shapes that flow can take.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FlowWeights {
    /// Straight code; the rest of a kernel when nothing else is chosen.
    pub straight: u32,
    /// One side only.
    pub branch: u32,
    /// Two sides.
    pub diamond: u32,
    /// A branch table; sides may fall into the same block.
    pub switch: u32,
    /// A loop with a counter, tested at its end or at its head, sometimes left early.
    pub repeat: u32,
    /// Blocks that branch anywhere among themselves: unstructured and irreducible.
    pub soup: u32,
    /// Threads that end early.
    pub leave: u32,
    /// A branch that no thread takes, to a trap.
    pub never: u32,
    /// Values exchanged through shared memory across barriers.
    pub exchange: u32,
    /// A barrier with all its forms.
    pub barrier: u32,
    /// Collectives of some lanes, in a branch that these take.
    pub partial: u32,
    /// A call.
    pub call: u32,
}

/// Weights of the families of instructions in straight code.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FamilyWeights {
    /// Results from operands alone: most rows, and what most phases rewrite.
    pub plain: u32,
    /// Special registers.
    pub special: u32,
    /// Loads, stores, atomics, prefetches, address conversions.
    pub memory: u32,
    /// Atomics on cells that all threads share.
    pub contended: u32,
    /// Warp collectives with all lanes.
    pub collective: u32,
    /// Fences, hints and the like.
    pub effect: u32,
    /// Results that nothing uses, of operands that nothing has defined.
    pub undefined: u32,
}

/// Percentages of what an operand or destination is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OperandPercent {
    /// A constant. Constants feed folding and identities, too many leave nothing that depends on data.
    pub constant: u32,
    /// A constant where the type is a float; random bits make NaN of most chains.
    pub float_constant: u32,
    /// One word of a wider register, where a word is wanted.
    pub word: u32,
    /// The value that was made last: long chains instead of a bush.
    pub recent: u32,
    /// A destination that other blocks read, so that phis come up.
    pub variable: u32,
    /// An instruction with a guard.
    pub guard: u32,
    /// An address that depends on data.
    pub dynamic: u32,
    /// Fields at their defaults, the code that compilers make most.
    pub default_field: u32,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            instructions: [5, 24],
            stretch: [1, 5],
            depth: 3,
            trips: 3,
            nested_trips: 9,
            fuel: 5,
            soup: 4,
            targets: 4,
            blocks: 2,
            warps: 2,
            launches: 1,
            functions: 1,
            function_instructions: 8,
            flow: FlowWeights::default(),
            family: FamilyWeights::default(),
            operand: OperandPercent::default(),
        }
    }
}

impl Default for FlowWeights {
    fn default() -> FlowWeights {
        FlowWeights {
            straight: 20,
            branch: 14,
            diamond: 14,
            switch: 6,
            repeat: 10,
            soup: 6,
            leave: 3,
            never: 2,
            exchange: 4,
            barrier: 4,
            partial: 4,
            call: 4,
        }
    }
}

impl Default for FamilyWeights {
    fn default() -> FamilyWeights {
        FamilyWeights { plain: 70, special: 2, memory: 14, contended: 2, collective: 3, effect: 2, undefined: 3 }
    }
}

impl Default for OperandPercent {
    fn default() -> OperandPercent {
        OperandPercent {
            constant: 25,
            float_constant: 40,
            word: 12,
            recent: 40,
            variable: 25,
            guard: 12,
            dynamic: 40,
            default_field: 40,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations_survive_toml_and_name_unknown_keys() {
        let config = Config { trips: 7, ..Config::default() };
        let text = toml::to_string(&config).expect("a configuration is TOML");
        assert_eq!(toml::from_str::<Config>(&text).ok(), Some(config));
        assert_eq!(toml::from_str::<Config>("trips = 2").map(|c| c.trips).ok(), Some(2));
        let error = toml::from_str::<Config>("tripes = 2").expect_err("no such key");
        assert!(error.to_string().contains("tripes"), "{error}");
    }
}
