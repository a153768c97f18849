//! SM generations: what each one enables, and its limits. One row per SM; every question is a named predicate.
//!
//! Phases ask a [`Target`] and never compare SM numbers. Three kinds of facts meet here: gates that `spec/` ties to a
//! generation (value numbering, copy eligibility, movement), the constant-bank layout that ptxas 13.0.88 uses
//! (measured 2026-11 for sm_75 to sm_121), and the limits of the CUDA C++ Programming Guide, "Compute Capabilities".

use std::fmt;
use std::str::FromStr;

/// The architecture that an SM belongs to, in order of appearance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Generation {
    /// sm_50 to sm_53.
    Maxwell,
    /// sm_60 to sm_62.
    Pascal,
    /// sm_70 and sm_72.
    Volta,
    /// sm_75.
    Turing,
    /// sm_80 to sm_88.
    Ampere,
    /// sm_89.
    Ada,
    /// sm_90.
    Hopper,
    /// sm_100 to sm_121.
    Blackwell,
}

/// Where the driver puts what a kernel needs, as byte offsets into constant bank 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConstantLayout {
    /// First kernel parameter.
    pub parameters: u32,
    /// Block dimensions x, y, z, one word each.
    pub block_dim: u32,
    /// Grid dimensions x, y, z, one word each.
    pub grid_dim: u32,
    /// Initial stack pointer.
    pub stack: u32,
    /// Descriptor of the generic address window, 64 bits; memory instructions have none before Ampere.
    pub memory_descriptor: Option<u32>,
    /// Generic address of local memory, 64 bits.
    pub local_window: u32,
    /// Generic address of the module's constants, 64 bits.
    pub constant_window: u32,
    /// Upper half of the generic address of shared memory; `None` where a special register has it.
    pub shared_window: Option<u32>,
    /// Number of the grid, 64 bits.
    pub grid_number: u32,
    /// Addresses of the driver's tables of textures, of samplers and of surfaces, 64 bits each.
    pub headers: u32,
    /// How many multiprocessors there are.
    pub multiprocessors: u32,
    /// Registers of the driver's environment, one word each.
    pub environment: u32,
    /// The graph that is executed, 64 bits.
    pub graph: u32,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// Parameters by their generic address, or the bank's where the parameters' own is not there: 64 bits.
    pub parameter_window: u32,
    /// Of clusters, where there are any.
    pub clusters: Option<ClusterLayout>,
    /// Whether a table of such areas begins before the offsets of clusters, the environment and dynamic shared memory:
    /// the special register SR_CgaSize says which one counts.
    pub is_table: bool,
}

/// Where the driver says what clusters a kernel is launched in, as byte offsets into constant bank 0. An axis takes a
/// word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClusterLayout {
    /// 1 where the launch or the kernel names them.
    pub is_explicit: u32,
    /// CTAs of a cluster along each axis.
    pub extents: u32,
    /// Their reciprocals, as floats that are not too small.
    pub reciprocals: u32,
    /// How many clusters there are along each axis.
    pub numbers: u32,
    /// CTAs of a cluster.
    pub ctas: u32,
}

/// One row of the table.
#[derive(Debug)]
struct SmRow {
    number: u16,
    generation: Generation,
    constants: ConstantLayout,
    /// Largest dynamic shared memory of a CTA, after opting in, in KiB.
    shared_kib: u32,
    /// Registers that one CTA can have, all threads together.
    cta_registers: u32,
    /// Whether `sm_NNa`, with instructions of this SM alone, exists.
    specific: bool,
    /// Whether `sm_NNf`, with instructions of this SM's family, exists.
    has_family: bool,
}

impl SmRow {
    /// SMs share a family when their numbers share all but the last digit. sm_101 is the older name of sm_110, and
    /// belongs with it.
    fn family(&self) -> u16 {
        if self.number == 101 { 11 } else { self.number / 10 }
    }
}

/// Not measured: ptxas 13 makes no code for these SMs. The offsets are those that public assemblers of the time use.
const UP_TO_PASCAL: ConstantLayout =
    ConstantLayout { parameters: 0x140, block_dim: 0x8, grid_dim: 0x14, stack: 0x20, ..VOLTA };

const VOLTA: ConstantLayout = ConstantLayout {
    parameters: 0x160,
    block_dim: 0x0,
    grid_dim: 0xc,
    stack: 0x28,
    memory_descriptor: None,
    local_window: 0x20,
    constant_window: 0x50,
    shared_window: Some(0x1c),
    grid_number: 0x30,
    headers: 0x70,
    multiprocessors: 0x10c,
    environment: 0x88,
    graph: 0x130,
    dynamic_shared: 0x2c,
    parameter_window: 0x40,
    clusters: None,
    is_table: false,
};

const AMPERE: ConstantLayout = ConstantLayout { memory_descriptor: Some(0x118), ..VOLTA };

const HOPPER: ConstantLayout = ConstantLayout {
    parameters: 0x210,
    memory_descriptor: Some(0x208),
    constant_window: 0xd0,
    shared_window: None,
    headers: 0xf0,
    environment: 0x40,
    graph: 0x190,
    parameter_window: 0x198,
    clusters: Some(ClusterLayout {
        is_explicit: 0x140,
        extents: 0x144,
        reciprocals: 0x150,
        numbers: 0x15c,
        ctas: 0x188,
    }),
    ..VOLTA
};

const BLACKWELL: ConstantLayout = ConstantLayout {
    parameters: 0x380,
    block_dim: 0x360,
    grid_dim: 0x370,
    stack: 0x37c,
    memory_descriptor: Some(0x358),
    local_window: 0x2f8,
    constant_window: 0x120,
    shared_window: None,
    grid_number: 0x140,
    headers: 0x150,
    multiprocessors: 0x2d0,
    environment: 0x250,
    graph: 0x2e8,
    dynamic_shared: 0x2ac,
    parameter_window: 0x348,
    clusters: Some(ClusterLayout {
        is_explicit: 0x36c,
        extents: 0x2a0,
        reciprocals: 0x2b0,
        numbers: 0x2c0,
        ctas: 0x2cc,
    }),
    is_table: true,
};

const fn sm(number: u16, generation: Generation, constants: ConstantLayout, shared_kib: u32) -> SmRow {
    SmRow {
        number,
        generation,
        constants,
        shared_kib,
        cta_registers: 65536,
        specific: number >= 90,
        has_family: number >= 100,
    }
}

const fn half_the_registers(row: SmRow) -> SmRow {
    SmRow { cta_registers: 32768, ..row }
}

static SMS: &[SmRow] = &[
    sm(50, Generation::Maxwell, UP_TO_PASCAL, 48),
    sm(52, Generation::Maxwell, UP_TO_PASCAL, 48),
    half_the_registers(sm(53, Generation::Maxwell, UP_TO_PASCAL, 48)),
    sm(60, Generation::Pascal, UP_TO_PASCAL, 48),
    sm(61, Generation::Pascal, UP_TO_PASCAL, 48),
    half_the_registers(sm(62, Generation::Pascal, UP_TO_PASCAL, 48)),
    sm(70, Generation::Volta, VOLTA, 96),
    sm(72, Generation::Volta, VOLTA, 96),
    sm(75, Generation::Turing, VOLTA, 64),
    sm(80, Generation::Ampere, AMPERE, 163),
    sm(86, Generation::Ampere, AMPERE, 99),
    sm(87, Generation::Ampere, AMPERE, 163),
    sm(88, Generation::Ampere, AMPERE, 163),
    sm(89, Generation::Ada, AMPERE, 99),
    sm(90, Generation::Hopper, HOPPER, 227),
    sm(100, Generation::Blackwell, BLACKWELL, 227),
    sm(101, Generation::Blackwell, BLACKWELL, 227),
    sm(103, Generation::Blackwell, BLACKWELL, 227),
    sm(110, Generation::Blackwell, BLACKWELL, 227),
    sm(120, Generation::Blackwell, BLACKWELL, 99),
    sm(121, Generation::Blackwell, BLACKWELL, 99),
];

/// Which instructions beyond the portable ones a target may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Variant {
    /// `sm_90`: code that every later SM runs too.
    Portable,
    /// `sm_100f`: code for the family.
    Family,
    /// `sm_90a`: code for this SM alone.
    Specific,
}

/// A GPU to optimize for.
#[derive(Clone, Copy)]
pub struct Target {
    row: &'static SmRow,
    variant: Variant,
    compute: bool,
}

/// Threads in a warp, on every SM.
pub const WARP_SIZE: u32 = 32;

/// Registers that one thread can name: R0 to R254; R255 is RZ.
pub const REGISTER_LIMIT: u32 = 255;

/// Predicate registers that one thread can name: P0 to P6; P7 is PT.
pub const PREDICATE_LIMIT: u32 = 7;

/// Threads in a CTA, at most, on every SM.
pub const MAX_THREADS_PER_CTA: u32 = 1024;

/// Largest extents of a CTA in x, y and z.
pub const MAX_CTA_EXTENT: [u32; 3] = [1024, 1024, 64];

/// Largest extents of a grid in x, y and z.
pub const MAX_GRID_EXTENT: [u32; 3] = [0x7fff_ffff, 65535, 65535];

/// Named barriers of a CTA.
pub const BARRIERS_PER_CTA: u32 = 16;

/// Shared memory that a kernel can declare statically, in bytes.
pub const MAX_STATIC_SHARED: u32 = 48 << 10;

/// Local memory of one thread, at most, in bytes.
pub const MAX_LOCAL: u32 = 512 << 10;

/// Size of the user's constant bank, in bytes.
pub const MAX_CONSTANT: u32 = 64 << 10;

impl Target {
    /// The portable target of an SM number, such as 90.
    pub fn portable(number: u16) -> Option<Target> {
        let row = SMS.iter().find(|r| r.number == number)?;
        Some(Target { row, variant: Variant::Portable, compute: false })
    }

    /// Every portable target, oldest first.
    pub fn all() -> impl Iterator<Item = Target> {
        SMS.iter().map(|row| Target { row, variant: Variant::Portable, compute: false })
    }

    /// Every target of one SM alone, oldest first.
    pub fn all_specific() -> impl Iterator<Item = Target> {
        let specific = SMS.iter().filter(|row| row.specific);
        specific.map(|row| Target { row, variant: Variant::Specific, compute: false })
    }

    /// The SM number, for names and headers. Decisions ask a predicate instead.
    pub fn number(self) -> u16 {
        self.row.number
    }

    /// The architecture. Decisions ask a predicate instead.
    pub fn generation(self) -> Generation {
        self.row.generation
    }

    /// Portable, family or specific code.
    pub fn variant(self) -> Variant {
        self.variant
    }

    /// Whether the target was named `compute_NN`: a virtual architecture, for which no machine code is made.
    pub fn is_compute(self) -> bool {
        self.compute
    }

    /// Whether code compiled for `older` runs, or can be compiled for, this target. Portable code runs on every
    /// later SM, family code on later SMs of the same family, specific code on its own SM alone (`ptxas --help`,
    /// `--gpu-name`).
    pub fn accepts_code_for(self, older: Target) -> bool {
        let same_family = self.row.family() == older.row.family();
        match older.variant {
            Variant::Portable => self.row.number >= older.row.number,
            Variant::Family => same_family && self.row.number >= older.row.number,
            Variant::Specific => self.row.number == older.row.number && self.variant == Variant::Specific,
        }
    }

    /// Where parameters and launch dimensions are in constant bank 0.
    pub fn constants(self) -> ConstantLayout {
        self.row.constants
    }

    /// Whether `GvnCse` does anything: on Pascal, Volta, Hopper and later. Elsewhere late commoning and the bundles
    /// stand in for it (`spec/copy-propagation-and-cse.txt`, "GVN Algorithm Details"). That table has no row for
    /// Turing, which counts with Ampere here.
    pub fn has_value_numbering(self) -> bool {
        use Generation::*;
        matches!(self.row.generation, Pascal | Volta | Hopper | Blackwell)
    }

    /// Whether value numbering has the enhanced scope: its full variants, and operations of the slow units
    /// (`spec/copy-propagation-and-cse.txt`, "Mode Dispatcher", the flag of the SM backend). The page does not say
    /// which SMs have it; from Volta on was chosen, so that there are some with it and some without among those that
    /// number values, and some among those that order commutative operands.
    pub fn has_enhanced_value_numbering(self) -> bool {
        self.has_value_numbering() && self.row.generation >= Generation::Volta
    }

    /// Whether collectives of whole warps are commoned: ptxas does so up to Ada, `sm_89`.
    pub fn commons_collectives(self) -> bool {
        self.row.generation <= Generation::Ada
    }

    /// Whether the pre-pass of value numbering over extended blocks can be turned off: from Hopper on
    /// (`spec/copy-propagation-and-cse.txt`, "Mode Dispatcher", the threshold 0x7fff).
    pub fn may_skip_extended_blocks(self) -> bool {
        self.row.generation >= Generation::Hopper
    }

    /// Whether value numbering orders the operands of commutative instructions, as on Volta and before
    /// (`spec/copy-propagation-and-cse.txt`, "Per-Dominated-Block CSE").
    pub fn orders_commutative_operands(self) -> bool {
        self.row.generation <= Generation::Volta
    }

    /// Whether a copy is propagated only where its operand's constraints are clear. Before Turing every copy may be
    /// (`spec/copy-propagation-and-cse.txt`, "Eligibility Check").
    pub fn constrains_copies(self) -> bool {
        self.row.generation >= Generation::Turing
    }

    /// Whether a function that fails the movement gate ends the movement phase, instead of being passed over: from
    /// Blackwell on (`spec/instruction-movement.txt`, step 3).
    pub fn movement_gate_is_final(self) -> bool {
        self.row.generation >= Generation::Blackwell
    }

    /// Whether the second peephole table, the one for consumer Blackwell, runs (`spec/peephole.txt`, "Pipeline
    /// Position"). sm_121 has a table of its own there, which the page could not tell from three others.
    pub fn has_consumer_peepholes(self) -> bool {
        self.row.number == 120
    }

    /// Whether the address of a shared variable is computed, of the CTA's place in its cluster, instead of known when
    /// code is made: from Hopper on (measured with ptxas 13.0.88, 2026-11, sm_80 to sm_120).
    pub fn computes_shared_addresses(self) -> bool {
        self.row.generation >= Generation::Hopper
    }

    /// Whether a uniform datapath with its registers exists.
    pub fn has_uniform_registers(self) -> bool {
        self.row.generation >= Generation::Turing
    }

    /// Uniform registers that can be named: UR0 to UR62 where URZ is 63. From Blackwell on the field is eight bits
    /// wide and URZ is 255.
    pub fn uniform_register_limit(self) -> u32 {
        match self.row.generation {
            g if g >= Generation::Blackwell => 255,
            g if g >= Generation::Turing => 63,
            _ => 0,
        }
    }

    /// Uniform predicates that can be named: UP0 to UP6.
    pub fn uniform_predicate_limit(self) -> u32 {
        if self.has_uniform_registers() { PREDICATE_LIMIT } else { 0 }
    }

    /// Registers that one CTA can have, all threads together.
    pub fn registers_per_cta(self) -> u32 {
        self.row.cta_registers
    }

    /// Largest dynamic shared memory of a CTA, in bytes, after opting in.
    pub fn max_dynamic_shared(self) -> u32 {
        self.row.shared_kib << 10
    }

    /// Whether `fence` exists; before it, `membar` orders memory accesses (PTX ISA, "membar / fence").
    pub fn has_fences(self) -> bool {
        self.row.generation >= Generation::Volta
    }

    /// Whether `cp.async` and the asynchronous copies built on it exist.
    pub fn has_async_copy(self) -> bool {
        self.row.generation >= Generation::Ampere
    }

    /// Whether CTAs form clusters and see each other's shared memory.
    pub fn has_clusters(self) -> bool {
        self.row.generation >= Generation::Hopper
    }

    /// Whether each thread of a warp has its own program counter.
    pub fn has_independent_threads(self) -> bool {
        self.row.generation >= Generation::Volta
    }
}

/// A name that is not a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// Neither `sm_NN` nor `compute_NN`.
    #[error("`{0}` is not a target: write sm_90, sm_90a or compute_90")]
    Malformed(String),
    /// No such SM.
    #[error("`{name}` is not a known target: the SMs are {}", known())]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// The SM exists, the suffix does not.
    #[error("`{name}` does not exist: sm_{number} has no variant `{suffix}`")]
    NoVariant {
        /// What was asked for.
        name: String,
        /// The SM.
        number: u16,
        /// `a` or `f`.
        suffix: char,
    },
}

fn known() -> String {
    let numbers: Vec<String> = SMS.iter().map(|r| r.number.to_string()).collect();
    numbers.join(", ")
}

impl FromStr for Target {
    type Err = TargetError;

    /// Parses `sm_90`, `sm_90a`, `sm_100f`, `compute_90` and so on; case counts, as in PTX.
    fn from_str(name: &str) -> Result<Target, TargetError> {
        let malformed = || TargetError::Malformed(name.to_owned());
        let (compute, rest) = match name.strip_prefix("compute_") {
            Some(rest) => (true, rest),
            None => (false, name.strip_prefix("sm_").ok_or_else(malformed)?),
        };
        let (digits, variant) = split_variant(rest);
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(malformed());
        }
        let number = if digits.starts_with('0') { None } else { digits.parse().ok() };
        let row = SMS.iter().find(|row| Some(row.number) == number);
        let row = row.ok_or_else(|| TargetError::Unknown { name: name.to_owned() })?;
        check_variant(name, row, variant)?;
        Ok(Target { row, variant, compute })
    }
}

fn split_variant(rest: &str) -> (&str, Variant) {
    if let Some(digits) = rest.strip_suffix('a') {
        (digits, Variant::Specific)
    } else if let Some(digits) = rest.strip_suffix('f') {
        (digits, Variant::Family)
    } else {
        (rest, Variant::Portable)
    }
}

fn check_variant(name: &str, row: &SmRow, variant: Variant) -> Result<(), TargetError> {
    let (exists, suffix) = match variant {
        Variant::Portable => return Ok(()),
        Variant::Family => (row.has_family, 'f'),
        Variant::Specific => (row.specific, 'a'),
    };
    if exists {
        return Ok(());
    }
    Err(TargetError::NoVariant { name: name.to_owned(), number: row.number, suffix })
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = if self.compute { "compute" } else { "sm" };
        let suffix = match self.variant {
            Variant::Portable => "",
            Variant::Family => "f",
            Variant::Specific => "a",
        };
        f.pad(&format!("{prefix}_{}{suffix}", self.row.number))
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Target {
    fn key(self) -> (u16, Variant, bool) {
        (self.row.number, self.variant, self.compute)
    }
}

impl PartialEq for Target {
    fn eq(&self, other: &Target) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Target {}

impl std::hash::Hash for Target {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(name: &str) -> Target {
        name.parse().expect("a known target")
    }

    /// The names, without prefix, of the SMs for which `holds`.
    fn where_true(holds: impl Fn(Target) -> bool) -> Vec<u16> {
        Target::all().filter(|&t| holds(t)).map(Target::number).collect()
    }

    #[test]
    fn the_table_is_in_order() {
        assert!(SMS.is_sorted_by(|a, b| a.number < b.number));
        assert!(SMS.is_sorted_by_key(|r| r.generation));
    }

    #[test]
    fn names_round_trip() {
        for name in ["sm_50", "sm_75", "sm_90", "sm_90a", "sm_100f", "compute_90", "compute_121a"] {
            assert_eq!(target(name).to_string(), name);
        }
        for t in Target::all() {
            assert_eq!(target(&t.to_string()), t);
        }
        assert_ne!(target("sm_90"), target("sm_90a"));
        assert_ne!(target("sm_90"), target("compute_90"));
        assert_eq!(Target::portable(90), Some(target("sm_90")));
        assert_eq!(Target::portable(91), None);
    }

    #[test]
    fn bad_names_are_told_apart() {
        for name in ["", "90", "sm", "sm_", "sm_a", "sm_9x", "SM_90", "sm_90 ", "sm_-90", "sm_90aa", "sm_九"] {
            assert_eq!(name.parse::<Target>(), Err(TargetError::Malformed(name.to_owned())));
        }
        for name in ["sm_30", "sm_091", "sm_0", "sm_99999999999999999999"] {
            let error = name.parse::<Target>().expect_err("unknown");
            assert_eq!(error, TargetError::Unknown { name: name.to_owned() });
            assert!(error.to_string().contains("90, 100"), "{error}");
        }
        let error = "sm_80a".parse::<Target>().expect_err("no such variant");
        assert_eq!(error.to_string(), "`sm_80a` does not exist: sm_80 has no variant `a`");
        assert!(matches!("sm_90f".parse::<Target>(), Err(TargetError::NoVariant { suffix: 'f', .. })));
    }

    #[test]
    fn value_numbering_runs_on_pascal_volta_hopper_and_later() {
        let on = where_true(Target::has_value_numbering);
        assert_eq!(on, [60, 61, 62, 70, 72, 90, 100, 101, 103, 110, 120, 121]);
    }

    #[test]
    fn value_numbering_is_enhanced_from_volta_on() {
        let enhanced = where_true(Target::has_enhanced_value_numbering);
        assert_eq!(enhanced, [70, 72, 90, 100, 101, 103, 110, 120, 121]);
        assert_eq!(where_true(Target::may_skip_extended_blocks), enhanced[2..]);
    }

    #[test]
    fn collectives_are_commoned_up_to_ada() {
        assert_eq!(where_true(Target::commons_collectives).last(), Some(&89));
        assert!(!where_true(Target::commons_collectives).contains(&90));
    }

    #[test]
    fn shared_addresses_are_computed_from_hopper_on() {
        assert_eq!(where_true(Target::computes_shared_addresses), [90, 100, 101, 103, 110, 120, 121]);
    }

    #[test]
    fn copies_are_constrained_from_turing_on() {
        let free = where_true(|t| !t.constrains_copies());
        assert_eq!(free, [50, 52, 53, 60, 61, 62, 70, 72]);
        assert_eq!(where_true(Target::orders_commutative_operands), free);
    }

    #[test]
    fn blackwell_differs_where_the_documents_say_so() {
        let blackwell = [100, 101, 103, 110, 120, 121];
        assert_eq!(where_true(Target::movement_gate_is_final), blackwell);
        assert_eq!(where_true(Target::has_consumer_peepholes), [120]);
        assert_eq!(where_true(|t| t.uniform_register_limit() == 255), blackwell);
    }

    #[test]
    fn uniform_registers_come_with_turing() {
        let without = where_true(|t| !t.has_uniform_registers());
        assert_eq!(without, [50, 52, 53, 60, 61, 62, 70, 72]);
        assert_eq!(where_true(|t| t.uniform_register_limit() == 0), without);
        assert_eq!(where_true(|t| t.uniform_predicate_limit() == 0), without);
        assert_eq!(target("sm_90").uniform_register_limit(), 63);
    }

    #[test]
    fn constant_banks_are_as_measured() {
        let base = |name: &str| target(name).constants().parameters;
        assert_eq!([base("sm_80"), base("sm_90"), base("sm_100"), base("sm_120")], [0x160, 0x210, 0x380, 0x380]);
        assert_eq!(target("sm_75").constants().memory_descriptor, None);
        assert_eq!(target("sm_89").constants().memory_descriptor, Some(0x118));
        assert_eq!(target("sm_90").constants(), HOPPER);
        assert_eq!(HOPPER.stack, 0x28);
        assert_eq!(target("sm_121").constants().block_dim, 0x360);
    }

    #[test]
    fn shared_memory_follows_the_sm_and_not_the_generation() {
        let kib = |name: &str| target(name).max_dynamic_shared() >> 10;
        assert_eq!([kib("sm_75"), kib("sm_80"), kib("sm_86"), kib("sm_90")], [64, 163, 99, 227]);
        assert_eq!([kib("sm_100"), kib("sm_120")], [227, 99]);
        assert!(Target::all().all(|t| t.max_dynamic_shared() >= MAX_STATIC_SHARED));
    }

    #[test]
    fn register_files_of_the_embedded_parts_are_half() {
        assert_eq!(where_true(|t| t.registers_per_cta() == 32768), [53, 62]);
    }

    #[test]
    fn code_runs_forward_family_and_specific_code_less_so() {
        let accepts = |on: &str, code: &str| target(on).accepts_code_for(target(code));
        assert!(accepts("sm_90", "sm_75") && !accepts("sm_75", "sm_90"));
        assert!(accepts("sm_90a", "sm_90") && accepts("sm_90a", "sm_90a"));
        assert!(!accepts("sm_90", "sm_90a") && !accepts("sm_100a", "sm_90a"));
        assert!(accepts("sm_103", "sm_100f") && accepts("sm_121a", "sm_120f"));
        assert!(!accepts("sm_101", "sm_100f") && accepts("sm_110", "sm_101f"));
        assert!(!accepts("sm_120", "sm_100f") && !accepts("sm_100", "sm_103f"));
    }

    #[test]
    fn later_features_imply_earlier_ones() {
        for t in Target::all() {
            assert!(!t.has_clusters() || t.has_async_copy());
            assert!(!t.has_async_copy() || t.has_independent_threads());
        }
    }
}
