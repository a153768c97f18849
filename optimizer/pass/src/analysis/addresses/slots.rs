//! Pointers in the variables of a function: what a store of 64 bits leaves at a known place, and whether all other
//! accesses leave it alone.

use std::collections::BTreeMap;

use super::{Pointer, Value};
use oriole_ir::ops::Space;
use oriole_ir::{Function, Local};

/// Bytes of a pointer in memory.
const SIZE: u64 = 8;

/// The bytes of a variable that an access touches.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) first: u64,
    pub(super) size: u64,
    /// Whether it is a load or a store of a whole pointer.
    pub(super) is_whole: bool,
}

/// What is stored in variables.
pub(super) struct Slots {
    stored: BTreeMap<(Local, u64), Value>,
    /// By variable: the accesses of this round; `None` for one whose place is not known.
    accesses: BTreeMap<Local, Vec<Option<Extent>>>,
    /// By local variable: whether only the function itself has it.
    own: Vec<bool>,
}

impl Slots {
    pub(super) fn new(func: &Function) -> Slots {
        let is_passed = |local: &Local| func.params.contains(local) || func.returns.contains(local);
        let is_own =
            |local: Local| matches!(func.locals[local].space, Space::Local | Space::Param) && !is_passed(&local);
        let own = func.locals.keys().map(is_own).collect();
        Slots { stored: BTreeMap::new(), accesses: BTreeMap::new(), own }
    }

    pub(super) fn forget_accesses(&mut self) {
        self.accesses.clear();
    }

    /// Notes that a round has come to an access.
    pub(super) fn note(&mut self, local: Local, extent: Option<Extent>) {
        let extents = self.accesses.entry(local).or_default();
        if !extents.contains(&extent) {
            extents.push(extent);
        }
    }

    /// Whether pointers in a variable are followed.
    pub(super) fn may_hold(&self, local: Local) -> bool {
        self.own[local.as_u32() as usize]
    }

    pub(super) fn get(&self, local: Local, first: u64) -> Value {
        self.stored.get(&(local, first)).copied().unwrap_or(Value::Unseen)
    }

    /// Whether the value is another one than before.
    pub(super) fn set(&mut self, local: Local, first: u64, value: Value) -> bool {
        self.stored.insert((local, first), value) != Some(value)
    }

    /// The pointers in places that others may read or write, or that are accessed in parts. They stay no longer.
    pub(super) fn spoilt(&mut self, captured: &[bool]) -> Vec<Pointer> {
        let mut spoilt = Vec::new();
        for ((local, first), value) in &mut self.stored {
            let Value::Pointer(pointer) = *value else { continue };
            let meets = |extent: &Option<Extent>| {
                let Some(extent) = extent else { return true };
                let is_same = extent.is_whole && extent.first == *first;
                !is_same && extent.first < first + SIZE && *first < extent.first + extent.size
            };
            let accesses = self.accesses.get(local).map_or(&[][..], Vec::as_slice);
            if captured[local.as_u32() as usize] || accesses.iter().any(meets) {
                *value = Value::Plain;
                spoilt.push(pointer);
            }
        }
        spoilt
    }
}
