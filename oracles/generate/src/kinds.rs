//! What kernels are made of: the shapes that flow can take, and the families of instructions in straight code.
//!
//! Each is a row: what it is, the weight in the configuration with its default, the conditions under which it fits
//! where code goes, and the method of the builder that makes it. A new one is a row here and that method.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::builder::Builder;
use super::entropy::Entropy;
use super::insts::Family;

/// Makes of a table of kinds the struct of their weights, with the defaults, and the list of the rows.
macro_rules! kinds {
    (
        $list:ident;
        $(#[doc = $about:literal])*
        pub struct $weights:ident {
            $(
                $(#[doc = $doc:literal])*
                pub $name:ident: $default:literal, [$($fits:ident)*] => $make:ident($($given:expr),*);
            )*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $weights {
            $($(#[doc = $doc])* pub $name: u32,)*
        }

        impl Default for $weights {
            fn default() -> $weights {
                $weights { $($name: $default,)* }
            }
        }

        impl $weights {
            /// All weights by the names of their kinds.
            pub fn all(&mut self) -> impl Iterator<Item = (&'static str, &mut u32)> {
                [$((stringify!($name), &mut self.$name)),*].into_iter()
            }
        }

        pub(super) static $list: &[Kind<$weights>] = &[
            $(Kind {
                name: stringify!($name),
                weight: |weights| weights.$name,
                fits: |_builder| true $(&& _builder.$fits())*,
                make: |builder| { let _: () = builder.$make($($given),*); },
            },)*
        ];
    };
}

/// A row of a table.
pub(super) struct Kind<W> {
    pub name: &'static str,
    weight: fn(&W) -> u32,
    fits: fn(&Builder<'_, '_>) -> bool,
    make: fn(&mut Builder<'_, '_>),
}

kinds! {
    SHAPES;
    /// Weights of the shapes that flow can take.
    pub struct FlowWeights {
        /// Straight code; the rest of a kernel when nothing else is chosen.
        pub straight: 24, [] => stretch();
        /// One side only.
        pub branch: 14, [may_nest] => one_side();
        /// Two sides.
        pub diamond: 14, [may_nest] => diamond();
        /// A branch table; sides may fall into the same block.
        pub switch: 6, [may_nest] => switch();
        /// A loop with a counter, tested at its end or at its head, sometimes left early.
        pub repeat: 10, [may_nest may_repeat] => repeat();
        /// Blocks that branch anywhere among themselves: unstructured and irreducible.
        pub unstructured: 6, [may_nest may_repeat] => unstructured();
        /// Threads that end early.
        pub leave: 3, [is_outermost is_kernel] => leave();
        /// A branch that no thread takes, to a trap.
        pub never: 2, [] => never();
        /// Values exchanged through shared memory across barriers.
        pub exchange: 4, [is_together is_kernel] => exchange();
        /// A barrier with all its forms.
        pub barrier: 4, [is_together is_kernel] => one_of(Family::Barrier);
        /// Collectives of some lanes, in a branch that these take.
        pub partial: 4, [may_nest is_together is_kernel] => partial();
        /// A call.
        pub call: 4, [may_call] => call();
        /// A deep nest of loops. Each level costs five instructions and four blocks.
        pub nest: 2, [is_outermost may_repeat] => nest();
        /// A value that exists under a predicate alone, and is read under it.
        pub apart: 3, [may_nest] => apart();
        /// A branch that an earlier one decides, on one side at least.
        pub correlated: 4, [may_nest] => correlated();
        /// Two sides that begin and end alike.
        pub alike: 2, [may_nest] => alike();
        /// A chain of comparisons of one value with constants.
        pub cases: 3, [may_nest] => cases();
        /// A branch around a few instructions, guarded by what they compute themselves.
        pub guarded: 2, [may_nest] => guarded();
        /// A copy, and changes of what was copied between it and its reads.
        pub copied: 4, [may_nest] => copied();
        /// Blocks one behind the other that leave for one of two joins, and variables that take each other's values
        /// there: copies that must not be made in the wrong order, or on the wrong way.
        pub exits: 3, [may_nest] => exits();
        /// Comparisons with numbers near the ends of what is compared, which branches are on.
        pub bounded: 7, [may_nest] => bounded();
        /// A loop whose variables take each other's values, left from its middle and its end.
        pub rotating: 2, [may_nest may_repeat] => rotating();
        /// A loop with products of its counter, and mostly one behind it that counts alike: what strength reduction and
        /// fusion look for. Each pair costs twenty instructions.
        pub neighbours: 3, [may_nest may_repeat] => neighbours();
        /// A word that threads hand over, where atomic operations that acquire and release alone order what they read.
        pub updates: 1, [is_together is_kernel] => hand_over_atomically();
        /// An access whose address leads somewhere in the rounds of its loop, or under its guard, and nowhere else.
        pub speculated: 2, [may_nest may_repeat] => speculated();
        /// A load in a branch, whose result instructions under another guard read.
        pub other_guards: 2, [may_nest] => read_under_another_guard();
        /// A loop that unrolls, and behind it guards that read its predicates.
        pub late_guards: 1, [may_nest may_repeat] => late_guards();
        /// A loop that unrolls, in which lanes come to a collective in different rounds.
        pub in_turns: 1, [may_nest may_repeat is_together is_kernel] => in_turns();
        /// Two loops that count alike, the first of which is entered from two places.
        pub two_entries: 1, [may_nest may_repeat] => two_entries();
        /// A loop that some lanes enter at its body and others at its end, with a counter that is the same in all.
        pub latch: 2, [may_nest may_repeat] => latch();
        /// A loop with products of its counter, mostly of 64 bits, under guards.
        pub guarded_products: 1, [may_nest may_repeat] => guarded_products();
        /// A loop that steps the result of a shift in the entry block.
        pub stepped: 1, [may_nest may_repeat] => stepped();
        /// A loop that asks about its counter: a bound, the first round, the last one.
        pub indexed: 2, [may_nest may_repeat] => indexed();
        /// Collectives of tiles of a warp, each under a member mask of its own.
        pub tiles: 1, [is_together is_kernel] => tiles();
        /// A butterfly over all lanes of a warp, mostly one that is a reduction.
        pub butterfly: 1, [is_together is_kernel] => butterfly();
        /// A shuffle that leaves each lane what it has.
        pub still: 1, [is_together is_kernel] => still();
        /// A generic address that goes back to its space.
        pub there_and_back: 1, [has_memory] => there_and_back();
        /// Accesses to neighbouring words.
        pub side_by_side: 2, [has_memory] => side_by_side();
        /// A loop of one block with two counters, an address that it counts, and a load.
        pub counted_alike: 3, [may_nest may_repeat has_memory] => counted_alike();
        /// A frame of one variable, its address generic, with addresses of its parts in it.
        pub depot: 1, [] => depot();
    }
}

kinds! {
    FAMILIES;
    /// Weights of the families of instructions in straight code.
    pub struct FamilyWeights {
        /// Results from operands alone: most rows, and what most phases rewrite.
        pub plain: 70, [] => one_of(Family::Plain);
        /// Special registers.
        pub special: 2, [] => one_of(Family::Special);
        /// Loads, stores, atomics, prefetches, address conversions.
        pub memory: 12, [has_memory] => memory();
        /// Atomics on cells that all threads share.
        pub contended: 2, [has_cells] => contended();
        /// Warp collectives with all lanes.
        pub collective: 3, [is_together] => together();
        /// Fences, hints and the like.
        pub effect: 2, [] => some_effect();
        /// Results that nothing uses, of operands that nothing has defined.
        pub undefined: 3, [] => undefined();
        /// Left-hand sides of rewrite rules. Ordinary code meets most of them once in many thousand kernels; at this
        /// weight each of four hundred fires a dozen times a minute, and one instruction in eight comes from them.
        pub pattern: 8, [] => pattern();
        /// Accesses to the same bytes, a few together.
        pub meeting: 16, [has_memory] => meeting();
        /// Operations that were made before, on the same operands: what value numbering and commoning look for.
        pub recompute: 4, [has_made] => recompute();
        /// Expressions over the same values, grouped in different ways. Each is several instructions.
        pub trees: 2, [] => trees();
        /// Guarded additions whose old carry is not in the flag. Each is four instructions.
        pub carries: 1, [] => carries();
        /// Guarded additions that take a carry in. Each is four instructions.
        pub guarded_carries: 1, [] => guarded_carries();
        /// Conversions to less than a word that saturate, of values with known bits.
        pub saturated: 1, [] => saturated();
        /// Accesses to shared memory by addresses of 32 bits that wrap.
        pub wrapped: 1, [has_memory] => wrapped();
    }
}

/// Which kinds a function does without, and which it has instructions of.
#[derive(Clone, Debug)]
pub(super) struct Kinds {
    without_shapes: Vec<bool>,
    without_families: Vec<bool>,
    /// The names of those that have made an instruction.
    pub made: BTreeSet<&'static str>,
}

impl Kinds {
    /// All kinds, or half of them where `swarm` says so.
    pub(super) fn draw(swarm: bool, entropy: &mut Entropy<'_>) -> Kinds {
        let mut draw = |count| (0..count).map(|_| swarm && entropy.percent(50)).collect();
        Kinds { without_shapes: draw(SHAPES.len()), without_families: draw(FAMILIES.len()), made: BTreeSet::new() }
    }
}

impl Builder<'_, '_> {
    /// Flow of some shape that fits here.
    pub(super) fn shape(&mut self) {
        let without = &self.kinds.without_shapes;
        let weights = weights(SHAPES, &self.config.flow, without, self);
        let at = self.entropy.weighted(&weights);
        self.make(&SHAPES[at]);
    }

    /// An instruction, or a few, of some family that fits here.
    pub(super) fn instruction(&mut self) {
        if self.entropy.percent(self.config.operand.reload) {
            return self.reload();
        }
        let without = &self.kinds.without_families;
        let weights = weights(FAMILIES, &self.config.family, without, self);
        let at = self.entropy.weighted(&weights);
        self.make(&FAMILIES[at]);
    }

    fn make<W>(&mut self, kind: &Kind<W>) {
        let before = self.func.insts().len();
        (kind.make)(self);
        if self.func.insts().len() > before {
            self.kinds.made.insert(kind.name);
        }
    }

    fn may_nest(&self) -> bool {
        self.flow.depth < self.config.depth
    }

    fn is_outermost(&self) -> bool {
        self.flow.depth == 0
    }

    fn may_repeat(&self) -> bool {
        self.flow.trips * 2 <= self.config.nested_trips
    }

    fn is_together(&self) -> bool {
        self.flow.uniform
    }

    fn is_kernel(&self) -> bool {
        self.results.is_some()
    }

    fn may_call(&self) -> bool {
        !self.callees.is_empty()
    }

    fn has_memory(&self) -> bool {
        !self.regions.is_empty()
    }

    fn has_cells(&self) -> bool {
        self.cells.is_some()
    }

    fn has_made(&self) -> bool {
        !self.made.is_empty()
    }
}

/// The weights of kinds here: none for what does not fit or is left out. Where nothing has any, the first is made.
fn weights<W>(kinds: &[Kind<W>], weights: &W, without: &[bool], builder: &Builder<'_, '_>) -> Vec<u32> {
    let weight = |(kind, without): (&Kind<W>, &bool)| match (kind.weight)(weights) {
        weight if weight > 0 && !without && (kind.fits)(builder) => weight,
        _ => 0,
    };
    kinds.iter().zip(without).map(weight).collect()
}
