//! What the launch says of the elements of buffers: their type, by which a difference is shown, and how far floats may
//! be from what the original leaves.
//!
//! Only who compares programs of different compilers lets floats differ: a step of the optimizer keeps every bit, and
//! so does code that is made without fused products.

use super::{Judge, Mismatch, Verdict};
use oriole_interp::{GlobalState, RunResult};
use oriole_launch::{ArgValue, Buffer, Launch, ScalarType, Tolerance, Tolerated, describe_element};

/// How far floats may be from those of the original.
#[derive(Clone, Copy, Debug)]
pub struct Leeway {
    /// In buffers whose launch says nothing of it.
    pub elsewhere: Option<Tolerance>,
}

/// A buffer with floats that differ no further than they may.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Near {
    /// The buffer.
    pub name: String,
    /// How many, and how far.
    pub tolerated: Tolerated,
}

impl std::fmt::Display for Near {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Near { name, tolerated: Tolerated { elements, farthest, ulp } } = self;
        let plural = if *elements == 1 { "" } else { "s" };
        write!(out, "{elements} element{plural} of {name}, the farthest by {ulp} ulp at {name}[{farthest}]")
    }
}

impl Leeway {
    /// How far elements of a buffer may differ, and their type.
    fn of(self, buffer: &Buffer) -> Option<(Tolerance, ScalarType)> {
        buffer.tolerance.or(self.elsewhere).zip(buffer.element.filter(|ty| ty.is_float()))
    }

    /// Whether it lets any element of a launch differ.
    pub fn is_for(self, launch: &Launch) -> bool {
        launch.buffers().any(|(_, buffer)| self.of(buffer).is_some())
    }
}

impl Judge<'_> {
    fn buffer(&self, argument: usize) -> Option<&Buffer> {
        match &self.launch.args.get(argument)?.value {
            ArgValue::Buffer(buffer) => Some(buffer),
            _ => None,
        }
    }

    /// Puts the floats of the original in place of those that differ from them no further than they may.
    pub(super) fn settle(&self, result: &mut RunResult) -> Vec<Near> {
        let Some(leeway) = self.leeway else { return Vec::new() };
        let mut all = Vec::new();
        for after in &mut result.memory {
            let buffer = after.argument.and_then(|argument| self.buffer(argument));
            let Some((tolerance, ty)) = buffer.and_then(|buffer| leeway.of(buffer)) else { continue };
            let Some(before) = same(&self.before, after) else { continue };
            let is_defined = |at: &usize| {
                (*at..at + ty.bytes()).all(|at| !before.bytes.is_undefined(at) && !after.bytes.is_undefined(at))
            };
            let places: Vec<usize> =
                (0..before.bytes.len() / ty.bytes()).filter(|at| is_defined(&(at * ty.bytes()))).collect();
            let tolerated = tolerance.settle(ty, &places, before.bytes.data(), after.bytes.data_mut());
            all.extend(tolerated.map(|tolerated| Near { name: after.name.clone(), tolerated }));
        }
        all
    }

    /// The verdict on a run, with the first differing element on both sides as the launch's type says.
    pub(super) fn with_element(&self, mut verdict: Verdict, result: &RunResult) -> Verdict {
        if let Verdict::Mismatch(Mismatch::Bytes { argument, name, offset, undefined: false, element, .. }) =
            &mut verdict
        {
            let is_it = |state: &&GlobalState| (state.argument, &state.name) == (*argument, name);
            let ty = argument.and_then(|argument| self.buffer(argument)?.element);
            let sides = (self.before.memory.iter().find(is_it), result.memory.iter().find(is_it));
            if let (Some(ty), (Some(before), Some(after))) = (ty, sides) {
                let index = *offset / ty.bytes();
                *element = Some(describe_element(name, ty, index, before.bytes.data(), after.bytes.data()));
            }
        }
        verdict
    }
}

/// What another run leaves in the same memory.
fn same<'r>(run: &'r RunResult, state: &GlobalState) -> Option<&'r GlobalState> {
    let is_same = |other: &&GlobalState| {
        (other.argument, &other.name, other.bytes.len()) == (state.argument, &state.name, state.bytes.len())
    };
    run.memory.iter().find(is_same)
}
