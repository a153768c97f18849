//! The list of mutators, in the order in which a round applies them.
//!
//! What removes most is first. A mutator is a function that asks [`Choice::take`] at each opportunity; whether what
//! it makes is valid, smaller (`measure.rs`) and still shows the finding is decided elsewhere.

use super::choice::Choice;
use super::{flow, inline, insts, items, launches, offsets, slice, threads};
use crate::report::Evidence;

/// One way to make a program simpler.
#[derive(Clone, Copy, Debug)]
pub struct Mutator {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub doc: &'static str,
    /// Does it, wherever the choice says so.
    pub apply: fn(&mut Evidence, &mut Choice<'_>),
    /// Whether it is for large programs, too, of which it can remove much at once.
    pub removes_much: bool,
}

macro_rules! mutators {
    ($($name:literal $function:path $(, $much:ident)?, $doc:literal;)*) => {
        /// Every mutator.
        pub static MUTATORS: &[Mutator] =
            &[$(Mutator { name: $name, doc: $doc, apply: $function, removes_much: much!($($much)?) }),*];
    };
}

macro_rules! much {
    () => {
        false
    };
    (much) => {
        true
    };
}

mutators! {
    "launch-single" launches::single, "grid and block of one in a dimension";
    "effects" slice::effects, much, "effects are dropped with all that only they need";
    "one-block" threads::one_block, "one block of the grid, with another's number";
    "one-thread" threads::one_thread, "one thread of a block, with another's data or number";
    "ends" flow::ends, much, "a block ends the function";
    "later" flow::later, "a function begins with a later block";
    "unreachable" flow::unreachable, much, "blocks that nothing leads to are dropped";
    "removed" insts::removed, much, "instructions are dropped, zero stands for their results";
    "unread" insts::unread, "instructions whose results nothing reads are dropped";
    "values" insts::values, much, "an instruction that always computes the same becomes that constant";
    "first-side" flow::first_side, much, "a branch or switch always goes to its first target";
    "last-side" flow::last_side, much, "a branch or switch always goes to its last target";
    "one-trip" flow::one_trip, "a branch back to a loop's test leaves the loop";
    "unreachable" flow::unreachable, "blocks that nothing leads to are dropped";
    "joined" flow::joined, much, "a block and its only successor become one";
    "guarded" flow::guarded, "a branch around a block of effects becomes a guard of each";
    "detours" flow::detours, "blocks that only branch on are passed by";
    "inlined" inline::inlined, "a call becomes the body of the function";
    "inlined-unknown" inline::inlined_unknown, "the same, and the kernel gets the constants that it passes";
    "unused-symbols" items::unused_symbols, much, "functions and variables that nothing names are dropped";
    "unread" insts::unread, "instructions whose results nothing reads are dropped";
    "unused-locals" items::unused_locals, "variables, parameters and arguments that nothing names are dropped";
    "forwarded" insts::forwarded, much, "an instruction is dropped, one of its operands stands for its result";
    "offsets-gone" offsets::offsets_gone, "an address loses its offset, a buffer what stands before it";
    "parts" insts::parts, "a word of what is packed becomes the part that stands there";
    "unguarded" insts::unguarded, "an instruction loses its guard";
    "switch-targets" flow::switch_targets, "a switch loses a target";
    "zeros" insts::zeros, "operands become zero";
    "ones" insts::ones, "operands become one";
    "scalars" insts::scalars, "vector accesses move one element";
    "narrowed" insts::narrowed, "types of half the width";
    "plain-fields" insts::plain_fields, "fields have their defaults";
    "directives" items::directives, "functions lose their directives";
    "initial-content" items::initial_content, "variables lose their initial content";
    "shorter-arrays" items::shorter_arrays, "arrays have half as many elements";
    "without-lines" insts::without_lines, "instructions lose their source line";
    "constants-zero" insts::constants_zero, "constants become zero";
    "constants-one" insts::constants_one, "constants become one";
    "constants-power" insts::constants_power, "constants become their highest bit";
    "constants-half" insts::constants_half, "constants have half as many bits";
    "constants-upper-bits" insts::constants_upper_bits, "constants lose the lower half of their bits";
    "constants-fewer-bits" insts::constants_fewer_bits, "constants lose their lowest bit";
    "launch-half" launches::half, "half as many threads or blocks in a dimension";
    "launch-less" launches::less, "fewer threads or blocks in a dimension, by a quarter down to one";
    "launch-frame" launches::frame, "no dynamic shared memory, budget, expected content or names";
    "buffers-tiny" launches::tiny, "buffers of a few bytes";
    "buffers-shorter" launches::shorter, "buffers half as long";
    "buffers-blank" launches::blank, "buffers of zeros";
    "buffers-blank-pieces" launches::blank_pieces, "pieces of buffers are zero";
    "buffers-blank-bytes" launches::blank_bytes, "bytes of buffers are zero";
    "scalars-zero" launches::scalars_zero, "scalar arguments are zero";
    "scalars-one" launches::scalars_one, "scalar arguments are one";
    "scalars-half" launches::scalars_half, "scalar arguments have half as many bits";
}
