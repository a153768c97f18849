//! Every range and weight of the generator, with its reason.

use oriole_ir::ops::{OpRow, Opcode};
use oriole_ir::{Form, Level};
use serde::{Deserialize, Serialize};

use super::insts::Family;
pub use super::kinds::{FamilyWeights, FlowWeights};
use super::patterns::Patterns;

/// The source of the settings: what is above one says what it means.
pub const SOURCE: &str = concat!(include_str!("config.rs"), include_str!("kinds.rs"));

/// Ranges and weights of the generator. Read from TOML; a key that a file does not name keeps its default.
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
    /// Levels of a deep nest of loops, fewest and most. More than phases can have met with anything else around.
    pub nest: [u32; 2],
    /// Percentage of kernels that go back to their entry block once. SSA construction puts a block before it.
    pub again: u32,
    /// Percentage of kernels with so many values that live from their beginning to their end that sets of registers
    /// take more than one word. They are twice as long.
    pub crowd: u32,
    /// Branches that an unstructured region may take before it is left: its fuel.
    pub fuel: u32,
    /// Blocks of an unstructured region at most; three suffice for irreducible flow.
    pub unstructured: u32,
    /// Targets of a switch at most.
    pub targets: u32,
    /// Blocks of the grid at most; two show what depends on the block.
    pub blocks: u32,
    /// Percentage of kernels of several blocks that run in clusters of two. They exchange values by each other's shared
    /// memory.
    pub cluster: u32,
    /// Warps of a block at most; two show what crosses warps.
    pub warps: u32,
    /// Percentage of kernels that stay in virtual form, where registers have many definitions. Phases that need SSA
    /// form leave them alone, so there are few; raise it to test those that run before. With 100, single
    /// instructions and mutants stay too.
    pub virtual_form: u32,
    /// Launches of a kernel whatever they reach. More make each check better and fewer: with two, the self-test
    /// catches 0.4 % more faults, and a sixth fewer kernels are checked.
    pub launches: u32,
    /// Further launches that are tried where those leave operations alone; what reaches something new is kept. Few
    /// kernels gain by the fifth.
    pub tries: u32,
    /// The level of the opcode table whose rows are generated.
    pub level: TableLevel,
    /// Instances of an operation in a kernel that is about it alone. Each costs little beside the kernel itself.
    pub repeats: u32,
    /// Weights of where the operands of these instances come from.
    pub mixture: MixtureWeights,
    /// Device functions at most; a later one may call those before it.
    pub functions: u32,
    /// Percentage of kernels that may have device functions.
    pub calling: u32,
    /// Instructions of a device function at most.
    pub function_instructions: u32,
    /// Percentage of device functions with local memory of their own.
    pub frame: u32,
    /// Percentage of device functions that call themselves, up to three calls deep.
    pub recursive: u32,
    /// Percentage of functions that call themselves which do so at their end, and return what that call returns.
    pub tail: u32,
    /// Percentage of kernels for blocks of one warp that say so.
    pub one_warp: u32,
    /// Percentage of kernels that keep the variables and the memory which nothing in them uses. What is not used must
    /// stay as it is, but a kernel takes a fifth longer with it. For a compiler that takes its time for each line, few.
    pub unused: u32,
    /// Percentage of kernels that are made of half of the shapes and families alone, drawn for each, so that those meet
    /// more often (Groce et al., "Swarm Testing", 2012). If all were, what many kinds have to meet for would be rare.
    pub swarm: u32,
    /// Opcodes that are left out, by name (`vadd`): those whose faults are known, so that others come up. A rewrite
    /// rule, or what another operation needs before it, may still have them.
    pub without: Vec<OpcodeName>,
    /// Weights of the shapes that flow can take.
    pub flow: FlowWeights,
    /// Weights of the families of instructions.
    pub family: FamilyWeights,
    /// Accesses to the same bytes.
    pub meeting: MeetingWeights,
    /// Percentages of what an operand or destination is.
    pub operand: OperandPercent,
    /// How kernels of the corpus are changed.
    pub mutants: MutantConfig,
    /// The rewrite rules whose left-hand sides are made; not read from TOML.
    #[serde(skip)]
    pub patterns: Patterns,
}

/// The name of an opcode.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct OpcodeName(pub Opcode);

/// No opcode has this name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownOpcode(String);

impl std::fmt::Display for UnknownOpcode {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "no opcode is called `{}`", self.0)
    }
}

impl std::error::Error for UnknownOpcode {}

impl TryFrom<String> for OpcodeName {
    type Error = UnknownOpcode;

    fn try_from(name: String) -> Result<OpcodeName, UnknownOpcode> {
        Opcode::from_name(&name).map(OpcodeName).ok_or(UnknownOpcode(name))
    }
}

impl From<OpcodeName> for String {
    fn from(name: OpcodeName) -> String {
        name.0.row().name.to_owned()
    }
}

/// A level of the opcode table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TableLevel {
    /// Typed operations, as PTX has them.
    Virtual,
    /// Operations of the machine. There are none in the table so far; rows are picked up as they come.
    Machine,
}

impl TableLevel {
    /// Whether a row belongs to the level.
    pub fn has(self, row: &OpRow) -> bool {
        let level = match self {
            TableLevel::Virtual => Level::Virtual,
            TableLevel::Machine => Level::Machine,
        };
        level.has(row)
    }
}

/// Weights of where the operands come from in a kernel about one operation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MixtureWeights {
    /// Constants alone: what is folded. A wrong fold shows on a few pairs of values only, so most are of this kind.
    pub constants: u32,
    /// One register, the others constants: identities and strength reduction.
    pub one_register: u32,
    /// One constant, the others registers.
    pub one_constant: u32,
    /// Registers alone: what no phase should touch, and printing.
    pub registers: u32,
    /// The same register wherever it fits: `x - x` and the like.
    pub same: u32,
    /// A few bits of registers, and branches on comparisons of results with numbers near the ends of their ranges; of
    /// operations whose results have ranges alone.
    pub bounded: u32,
}

/// How accesses to the same bytes are made; see [`super::meeting`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MeetingWeights {
    /// Accesses of a group, fewest and most. Three are a load, what it must not be moved over, and the load again.
    pub accesses: [u32; 2],
    /// Weight of a load.
    pub load: u32,
    /// Weight of a store.
    pub store: u32,
    /// Weight of a store under a guard.
    pub guarded: u32,
    /// Weight of an atomic operation, in global and shared memory.
    pub atomic: u32,
    /// Weight of a call of a function that gets the address.
    pub call: u32,
    /// Weight of a barrier or a fence.
    pub order: u32,
    /// Percentage of groups that are about the first bytes of a region.
    pub first: u32,
    /// Percentage of accesses that are at the group's own place and of its type; others overlap with it in part.
    pub alike: u32,
    /// Percentage of groups of which most loads and stores are volatile or relaxed, in memory where PTX has that.
    pub strong: u32,
    /// Percentage of accesses that stand on one side of a branch, or of one within another.
    pub nested: u32,
    /// Percentage of groups that are loads of variables by name, where a kernel has several in global memory.
    pub named: u32,
    /// Percentage of groups that are those of one thread in a variable of the module, where a kernel has such a one.
    pub sole: u32,
    /// Percentage of groups in shared memory of which some accesses are by its address in the cluster.
    pub mapped: u32,
    /// Percentage of loads and stores of two or four elements.
    pub vector: u32,
    /// Percentage of stores to a place of the region that depends on data.
    pub elsewhere: u32,
    /// Percentage of stores that are read at once, of some by a load that extends the value otherwise.
    pub read_back: u32,
    /// Percentage of loads of one element that only a conversion to 64 bits reads, if the element is an integer.
    pub widened: u32,
    /// Weight of the address from which all others are computed, and an offset.
    pub plain: u32,
    /// Weight of the same as a generic address.
    pub generic: u32,
    /// Weight of a sum that points to the bytes themselves, or near them.
    pub computed: u32,
    /// Percentage of groups of which most addresses are such sums.
    pub computes: u32,
    /// Percentage of groups in shared and local memory that are by addresses of 32 bits alone.
    pub narrow: u32,
    /// Percentage of kernels with a function that gets the address. Others need not pay for it.
    pub function: u32,
}

impl MeetingWeights {
    /// The weights of the ways to write an address.
    pub fn addresses(&self) -> [u32; 3] {
        [self.plain, self.generic, self.computed]
    }
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
    /// A condition of a branch, or an index of a switch, that also depends on the lane, so that all ways are taken
    /// whatever the data. If all were, a warp would never take a branch as a whole.
    pub split: u32,
    /// The pattern of a rule in which one place is something else: half-right matches are where a matcher goes wrong.
    pub near_miss: u32,
    /// The parts of a wide value that are the words of one register: what packs them is a copy, or nearly.
    pub taken_apart: u32,
    /// An operation of several results of which nothing reads one.
    pub dead_result: u32,
    /// A call through the parameter variables of an earlier one.
    pub reuse_parameters: u32,
    /// An address that depends on data.
    pub dynamic: u32,
    /// An instruction that is a word stored, loaded, stored and loaded again, which shows the order of accesses.
    pub reload: u32,
    /// Such an instruction of which every access is volatile.
    pub volatile: u32,
    /// An instruction that computes is one of those that programs have most, one of matrices a load or store.
    pub common: u32,
    /// An exchange of values through shared memory that is done twice.
    pub exchange_again: u32,
    /// An exchange of values in which each thread reads what the next one writes, before and after that.
    pub exchange_next: u32,
    /// An exchange of values that no barrier orders, but accesses that acquire and release, or fences.
    pub hand_over: u32,
    /// A group of accesses to the same bytes between two looks at the clock.
    pub timed: u32,
    /// Fields at their defaults, the code that compilers make most.
    pub default_field: u32,
    /// Kernels that read the constant bank, in a hundred. Few, as PTX cannot spell these operands, so
    /// that the round trip through PTX says nothing about them.
    pub bank_kernel: u32,
    /// Kernels with more than one variable in global memory, in a hundred.
    pub tables: u32,
    /// A word of the constant bank, in such a kernel.
    pub bank: u32,
    /// Instructions of which one field has any of its values, all alike. Otherwise values that few combinations of
    /// fields have would take hours to come up.
    pub rare_field: u32,
    /// A warp collective works on matrices.
    pub matrix: u32,
    /// An effect is that of a barrier in shared memory.
    pub mbarrier: u32,
    /// An access is to a texture or a surface.
    pub image: u32,
    /// Kernels that have multicast memory.
    pub multimem: u32,
    /// Comparisons that some threads make of equal values, where they happen to be so once in a lifetime otherwise.
    pub boundary: u32,
    /// Single operations whose constants are zeros, of either sign.
    pub zeros: u32,
}

impl Config {
    /// The form in which kernels are checked that do not draw it: virtual where everything is to stay so.
    pub fn form(&self) -> Form {
        if self.virtual_form >= 100 { Form::Virtual } else { Form::Ssa }
    }

    /// Smaller kernels, for a compiler whose time grows with each instruction. Of ptxas, kernels of 29 instructions
    /// show as many faults in the same time as those of 78 (33 and 34), and are reduced sooner. A device function costs
    /// it as much as a whole kernel. They stay in virtual form: what is compiled is what was made.
    pub fn for_compilers() -> Config {
        Config {
            instructions: [1, 3],
            stretch: [1, 3],
            depth: 1,
            nest: [2, 3],
            repeats: 2,
            functions: 1,
            calling: 25,
            function_instructions: 4,
            virtual_form: 100,
            unused: 5,
            meeting: MeetingWeights { function: 2, ..MeetingWeights::default() },
            // Such loops are what compilers go wrong on. Lanes that meet in different rounds hang: in a minute, code of
            // ptxas 13.0.88 at `-O0` waited for ever in every shape of these, and at `-O3` in some.
            flow: FlowWeights { in_turns: 0, latch: 4, ..FlowWeights::default() },
            ..Config::default()
        }
    }

    /// Whether an opcode may be made.
    pub fn makes(&self, opcode: Opcode) -> bool {
        !self.without.contains(&OpcodeName(opcode))
    }

    /// Leaves out the opcodes of some families as well.
    pub fn leave_out(&mut self, families: &[Family]) {
        self.without.extend(families.iter().flat_map(|family| family.opcodes()).map(|opcode| OpcodeName(*opcode)));
    }
}

impl Default for Config {
    fn default() -> Config {
        Config {
            instructions: [3, 12],
            stretch: [1, 5],
            depth: 3,
            trips: 3,
            nested_trips: 9,
            nest: [4, 6],
            again: 3,
            crowd: 2,
            fuel: 5,
            unstructured: 4,
            targets: 4,
            blocks: 2,
            cluster: 15,
            warps: 2,
            virtual_form: 20,
            launches: 1,
            tries: 4,
            level: TableLevel::Virtual,
            repeats: 40,
            mixture: MixtureWeights::default(),
            functions: 2,
            calling: 100,
            function_instructions: 8,
            frame: 30,
            recursive: 15,
            tail: 40,
            one_warp: 30,
            unused: 20,
            swarm: 40,
            without: Vec::new(),
            flow: FlowWeights::default(),
            family: FamilyWeights::default(),
            meeting: MeetingWeights::default(),
            operand: OperandPercent::default(),
            mutants: MutantConfig::default(),
            patterns: Patterns::default(),
        }
    }
}

/// How kernels of the corpus are changed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MutantConfig {
    /// Changes of a mutant at most. Few, since each may be the one that makes it trap.
    pub changes: u32,
    /// Attempts at a mutant that verifies.
    pub attempts: u32,
    /// Instructions that a change moves or repeats at most.
    pub region: u32,
    /// Trips of a loop that is put around instructions at most.
    pub trips: u32,
    /// Blocks of the grid at most, in each direction; what a phase breaks shows in few.
    pub blocks: u32,
    /// Warp instructions that a kernel may take to be changed at all: some ten times those of a generated one, so that
    /// mutants do not take most of the time.
    pub steps: u64,
    /// Bytes of all buffers of a launch at most; they are compared after every phase.
    pub bytes: usize,
    /// Weight of changing a constant: where folding and identities begin.
    pub constant: u32,
    /// Weight of reading another register.
    pub operand: u32,
    /// Weight of another value for a field.
    pub field: u32,
    /// Weight of another operation on the same operands.
    pub opcode: u32,
    /// Weight of another order; it mostly shows what depends on it.
    pub swap: u32,
    /// Weight of repeating an instruction: what commoning looks for.
    pub duplicate: u32,
    /// Weight of deleting one. Rare, since it leaves values undefined.
    pub delete: u32,
    /// Weight of guarding one.
    pub guard: u32,
    /// Weight of instructions from elsewhere.
    pub splice: u32,
    /// Weight of a loop around instructions.
    pub repeat: u32,
    /// Weight of a branch that nothing takes.
    pub never: u32,
}

impl MutantConfig {
    /// The weights in the order of [`super::mutate::Edit::ALL`].
    pub fn weights(&self) -> [u32; 11] {
        let MutantConfig {
            constant,
            operand,
            field,
            opcode,
            swap,
            duplicate,
            delete,
            guard,
            splice,
            repeat,
            never,
            ..
        } = *self;
        [constant, operand, field, opcode, swap, duplicate, delete, guard, splice, repeat, never]
    }
}

impl Default for MutantConfig {
    fn default() -> MutantConfig {
        MutantConfig {
            changes: 3,
            attempts: 8,
            region: 6,
            trips: 3,
            blocks: 2,
            steps: 20_000,
            bytes: 1 << 16,
            constant: 20,
            operand: 12,
            field: 12,
            opcode: 12,
            swap: 8,
            duplicate: 8,
            delete: 3,
            guard: 8,
            splice: 10,
            repeat: 5,
            never: 5,
        }
    }
}

impl Default for MixtureWeights {
    fn default() -> MixtureWeights {
        MixtureWeights { constants: 8, one_register: 5, one_constant: 1, registers: 1, same: 1, bounded: 4 }
    }
}

impl Default for MeetingWeights {
    fn default() -> MeetingWeights {
        MeetingWeights {
            accesses: [3, 4],
            load: 40,
            store: 22,
            guarded: 10,
            atomic: 8,
            call: 25,
            order: 6,
            first: 60,
            alike: 55,
            strong: 8,
            nested: 20,
            mapped: 40,
            named: 20,
            sole: 30,
            vector: 12,
            elsewhere: 15,
            read_back: 20,
            widened: 12,
            plain: 55,
            generic: 20,
            computed: 35,
            computes: 30,
            narrow: 12,
            function: 10,
        }
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
            split: 60,
            near_miss: 25,
            taken_apart: 25,
            dead_result: 40,
            reuse_parameters: 40,
            dynamic: 40,
            reload: 2,
            volatile: 20,
            common: 30,
            exchange_again: 15,
            exchange_next: 30,
            hand_over: 25,
            timed: 8,
            default_field: 40,
            bank_kernel: 5,
            tables: 20,
            bank: 10,
            rare_field: 15,
            matrix: 60,
            mbarrier: 40,
            image: 12,
            multimem: 6,
            boundary: 45,
            zeros: 5,
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
