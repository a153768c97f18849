//! Mutants: small random changes to kernels of the corpus.
//!
//! [`Corpus`] holds kernels with launches that are small enough; [`Corpus::mutant`] changes one of them, in virtual
//! form, by one to [`MutantConfig::changes`] edits ([`Edit`]). An edit keeps operand widths and rules
//! between fields, so that nearly all mutants verify; those that do not are dropped and counted. A mutant may do
//! anything: where its original run traps or depends on an undefined value, the case is inconclusive.

mod edit;
mod region;

use oriole_ir::ops::Flags;
use oriole_ir::verify::verify_module;
use oriole_ir::{Block, FuncId, Function, Inst, Module};

use super::config::{Config, MutantConfig};
use super::entropy::Entropy;
use super::{Generated, NamedLaunch};
use oriole_interp::{Executable, Outcome, RunOptions};
use oriole_launch::ArgValue;

macro_rules! edits {
    ($($edit:ident $name:literal $doc:literal;)*) => {
        /// A kind of change.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Edit { $(#[doc = $doc] $edit,)* }

        impl Edit {
            /// Every kind, in the order of the weights in [`MutantConfig`].
            pub const ALL: &'static [Edit] = &[$(Edit::$edit),*];

            /// Its name.
            pub fn name(self) -> &'static str {
                match self { $(Edit::$edit => $name,)* }
            }

            /// Its effect, in a sentence.
            pub fn doc(self) -> &'static str {
                match self { $(Edit::$edit => $doc,)* }
            }
        }
    };
}

edits! {
    Constant "constant" "A constant becomes another one, a corner of its type.";
    Operand "operand" "A register that is read becomes another one of its width.";
    Field "field" "A field gets another legal value.";
    Opcode "opcode" "An operation becomes another one of the same shape.";
    Swap "swap" "Two instructions of a block change places.";
    Duplicate "duplicate" "An instruction is repeated somewhere in its block.";
    Delete "delete" "An instruction goes.";
    Guard "guard" "An instruction gets a guard, or its guard is inverted.";
    Splice "splice" "Pure instructions of another module come in, on registers of this one.";
    Loop "loop" "Some instructions run several times.";
    Never "never" "Some instructions are repeated behind a branch that nothing takes.";
}

/// A kernel that can be changed.
#[derive(Clone, Debug)]
struct Seed {
    module: Module,
    launches: Vec<NamedLaunch>,
}

/// Kernels to change.
#[derive(Clone, Debug, Default)]
pub struct Corpus {
    seeds: Vec<Seed>,
}

/// A changed kernel.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// The kernel and its launches.
    pub generated: Generated,
    /// The changes, in order.
    pub edits: Vec<Edit>,
    /// Mutants that were dropped before this one, as they do not verify.
    pub dropped: u32,
}

impl Corpus {
    /// A corpus of modules in virtual form with launches.
    pub fn of(kernels: Vec<Generated>) -> Corpus {
        let seed = |Generated { module, launches, .. }| Seed { module, launches };
        Corpus { seeds: kernels.into_iter().map(seed).collect() }
    }

    /// Adds a kernel in virtual form where it and its data are small and it finishes soon; whether it was added.
    pub fn add(&mut self, module: Module, launches: Vec<NamedLaunch>, config: &MutantConfig) -> bool {
        let seed = seed(module, launches, config);
        self.seeds.extend(seed.clone());
        seed.is_some()
    }

    /// The kernels.
    pub fn modules(&self) -> impl Iterator<Item = &Module> {
        self.seeds.iter().map(|seed| &seed.module)
    }

    /// The number of kernels.
    pub fn len(&self) -> usize {
        self.seeds.len()
    }

    /// Whether there is nothing to change.
    pub fn is_empty(&self) -> bool {
        self.seeds.is_empty()
    }

    /// A changed kernel; `None` where the corpus is empty, or so many attempts do not verify.
    pub fn mutant(&self, entropy: &mut Entropy<'_>, config: &Config) -> Option<Mutant> {
        for dropped in 0..config.mutants.attempts {
            let seed = self.seeds.get(entropy.below(self.seeds.len()))?;
            let donor = self.seeds.get(entropy.below(self.seeds.len()))?;
            let mut module = seed.module.clone();
            let edits = mutate(&mut module, &donor.module, entropy, &config.mutants);
            if edits.is_empty() || verify_module(&module).is_err() {
                continue;
            }
            if Executable::new(&module).is_ok() {
                let generated = Generated { module, form: config.form(), launches: seed.launches.clone() };
                return Some(Mutant { generated, edits, dropped });
            }
        }
        None
    }
}

/// A kernel with those of its launches on which it finishes soon.
fn seed(module: Module, mut launches: Vec<NamedLaunch>, config: &MutantConfig) -> Option<Seed> {
    let executable = Executable::new(&module).ok()?;
    for NamedLaunch { launch, .. } in &mut launches {
        let cluster = launch.cluster.unwrap_or([1; 3]);
        let most = |axis: usize| config.blocks.max(1).next_multiple_of(cluster[axis]);
        launch.grid = std::array::from_fn(|axis| launch.grid[axis].min(most(axis)));
        for arg in &mut launch.args {
            if let ArgValue::Buffer(buffer) = &mut arg.value {
                buffer.expect = None;
            }
        }
    }
    launches.retain_mut(|NamedLaunch { launch, .. }| {
        let bytes: usize = launch.buffers().map(|(_, buffer)| buffer.bytes.len()).sum();
        let options = RunOptions { steps: Some(config.steps), ..RunOptions::default() };
        let finishes = || executable.run(launch, &options).is_ok_and(|run| run.outcome == Outcome::Finished);
        if bytes > config.bytes || !finishes() {
            return false;
        }
        // Edits add loops of a few trips.
        launch.steps = Some(config.steps * 8);
        true
    });
    drop(executable);
    (!launches.is_empty()).then_some(Seed { module, launches })
}

/// Changes a module in virtual form, with pieces of another one; which changes were made.
pub fn mutate(module: &mut Module, donor: &Module, entropy: &mut Entropy<'_>, config: &MutantConfig) -> Vec<Edit> {
    let functions: Vec<FuncId> =
        module.functions.iter().filter(|(_, func)| func.is_definition()).map(|(id, _)| id).collect();
    if functions.is_empty() {
        return Vec::new();
    }
    let mut done = Vec::new();
    for _ in 0..entropy.between(1, config.changes.max(1)) {
        let id = entropy.choose(&functions);
        let edit = Edit::ALL[entropy.weighted(&config.weights())];
        if apply(edit, &mut module.functions[id], donor, entropy, config) {
            done.push(edit);
        }
    }
    done
}

/// Makes a change of a kind; whether there was a place for it.
pub fn apply(
    edit: Edit,
    func: &mut Function,
    donor: &Module,
    entropy: &mut Entropy<'_>,
    config: &MutantConfig,
) -> bool {
    match edit {
        Edit::Constant => edit::constant_of(func, entropy),
        Edit::Operand => edit::operand(func, entropy),
        Edit::Field => edit::field(func, entropy),
        Edit::Opcode => edit::opcode(func, entropy),
        Edit::Swap => edit::swap(func, entropy),
        Edit::Duplicate => edit::duplicate(func, entropy),
        Edit::Delete => edit::delete(func, entropy),
        Edit::Guard => edit::guard(func, entropy),
        Edit::Splice => region::splice(func, donor, entropy, config.region),
        Edit::Loop => region::repeat(func, entropy, config),
        Edit::Never => region::never(func, entropy, config.region),
    }
    .is_some()
}

/// Where instructions stand that are no terminators: block and place in it.
fn places(func: &Function, fits: impl Fn(Inst) -> bool) -> Vec<(Block, usize)> {
    let mut places = Vec::new();
    for block in func.layout() {
        let insts = func.block_insts(*block);
        let body = insts.enumerate().filter(|(_, inst)| !func.inst(*inst).is(Flags::TERMINATOR));
        places.extend(body.filter(|(_, inst)| fits(*inst)).map(|(at, _)| (*block, at)));
    }
    places
}

/// One of them.
fn place(func: &Function, entropy: &mut Entropy<'_>, fits: impl Fn(Inst) -> bool) -> Option<(Block, usize)> {
    let places = places(func, fits);
    places.get(entropy.below(places.len())).copied()
}
