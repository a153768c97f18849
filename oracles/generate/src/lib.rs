//! The kernel generator: whole modules with launches, valid by construction.
//!
//! [`from_seed`] and [`from_bytes`] go through the same code ([`generate`]); the kernel depends on seed or bytes and on
//! the [`Config`] alone. A kernel
//!
//! - ends: loops count, unstructured regions have fuel;
//! - depends on nothing undefined: every value that is stored, branched on or used as an address is defined;
//! - has no data race: a thread writes memory of its own, shared cells by one operation whose order does not matter,
//!   and shared memory across barriers;
//! - hides nothing: every value that nothing else uses goes into a checksum that every thread stores.
//!
//! Instructions come from the opcode table: the operation first ([`insts`]), then legal fields ([`fields`]), then
//! operands that fit ([`values`], [`memory`]). Now and then the left-hand side of a rewrite rule is made
//! ([`patterns`]). Other generators: [`single`], one operation on corner operands; [`mutate`], changes to kernels of
//! the corpus; [`spell`], printed PTX in other words; with the feature `proptest`, `strategy` makes kernels that
//! shrink. Flow ([`mod@cfg`], [`loops`]) is structured, unstructured and irreducible.

mod apart;
mod bounded;
mod branches;
mod builder;
mod bulk;
mod call;
mod carries;
mod cfg;
mod cluster;
pub mod config;
mod entered;
pub mod entropy;
mod exchanged;
mod exits;
mod fields;
mod handover;
mod image;
mod indexed;
pub mod insts;
mod kernel;
mod kinds;
mod lean;
mod loops;
mod matrix;
mod mbarrier;
mod meeting;
mod memory;
mod multimem;
pub mod mutate;
mod narrow;
mod neighbours;
pub mod patterns;
mod recompute;
mod rotating;
pub mod shapes;
mod side_by_side;
mod sides;
pub mod single;
mod speculated;
pub mod spell;
mod stepped;
mod sync;
mod template;
mod tiles;
mod trees;
mod unrolled;
mod values;
mod warpgroup;

use std::collections::BTreeSet;

use oriole_ir::{Form, Module};

pub use cfg::reachable;
pub use config::Config;
pub use entropy::Entropy;
use oriole_launch::random::SplitMix64;
use oriole_launch::{ArgValue, Launch, NamedLaunch};

#[cfg(any(test, feature = "proptest"))]
pub mod strategy;

/// A module and the launches of its kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Generated {
    /// The module, in virtual form.
    pub module: Module,
    /// The form in which it is to be checked: whoever checks it constructs SSA form.
    pub form: Form,
    /// The launches.
    pub launches: Vec<NamedLaunch>,
}

/// The kernel of a seed.
pub fn from_seed(seed: u64, config: &Config) -> Generated {
    generate(&mut Entropy::from_seed(seed), config)
}

/// The kernel that these bytes spell.
pub fn from_bytes(bytes: &[u8], config: &Config) -> Generated {
    generate(&mut Entropy::from_bytes(bytes), config)
}

/// Another launch of a kernel with the same grid and block: other corners for a generated one, for others random data
/// of the same shape.
pub fn another_launch(like: &Launch, seed: u64) -> Launch {
    let cluster = like.cluster.map_or(1, |extents| extents[0]);
    let geometry = kernel::Geometry { blocks: like.grid[0], threads: like.block[0], cluster };
    // Other kernels get other data of the same seed.
    let own = like.buffers().nth(1).map_or(0, |(_, buffer)| hash(&buffer.bytes));
    let mut entropy = Entropy::from_seed(seed ^ own);
    let mut launch = kernel::launch(&mut entropy, geometry);
    let threads = geometry.blocks * geometry.threads;
    if like.args.iter().any(|arg| matches!(arg.value, ArgValue::Multicast { .. })) {
        launch.args.extend(multimem::arguments(launch.args.len(), &mut entropy, threads));
    }
    let kinds = |launch: &Launch| launch.args.iter().map(|arg| std::mem::discriminant(&arg.value)).collect::<Vec<_>>();
    if kinds(like) != kinds(&launch) {
        return like.randomized(seed);
    }
    launch.images = image::like(like, threads, &mut Entropy::from_seed(seed ^ own ^ 1));
    kernel::turn(&mut launch, like, seed);
    launch
}

fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |hash, byte| SplitMix64::new(hash ^ u64::from(*byte)).next_u64())
}

/// A kernel of the choices of `entropy`, for `sm_90` or the first SM that has all its operations.
pub fn generate(entropy: &mut Entropy<'_>, config: &Config) -> Generated {
    generate_with_kinds(entropy, config).0
}

/// The names of the shapes and families that the kernel of a seed is made of, functions that it calls left out.
pub fn kinds_of(seed: u64, config: &Config) -> BTreeSet<&'static str> {
    generate_with_kinds(&mut Entropy::from_seed(seed), config).1
}

fn generate_with_kinds(entropy: &mut Entropy<'_>, config: &Config) -> (Generated, BTreeSet<&'static str>) {
    let mut module = Module::default();
    // More functions are rarer: half of the kernels have none.
    let most = if config.calling >= 100 || entropy.percent(config.calling) { config.functions } else { 0 };
    let functions = entropy.between(0, most).min(entropy.between(0, most));
    for at in 0..functions {
        let function = call::device(&format!("device{at}"), &module, entropy, config);
        module.functions.push(function);
    }
    if entropy.percent(config.meeting.function) {
        module.functions.push(call::touching(entropy, config));
    }
    let (geometry, kinds) = kernel::kernel(&mut module, entropy, config);
    let form = if entropy.percent(config.virtual_form) { Form::Virtual } else { Form::Ssa };
    let launches = kernel::launches(&module, entropy, config, geometry);
    raise_target(&mut module);
    (Generated { module, form, launches }, kinds)
}

/// Makes a module for the first target that has all its operations, where its own has not.
fn raise_target(module: &mut Module) {
    if module.sm().is_some_and(|own| !module.is_for(own))
        && let Some(target) = module.first_target()
    {
        module.target = target.to_string();
    }
}
