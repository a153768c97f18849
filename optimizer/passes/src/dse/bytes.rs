//! Sets of bytes of local variables, and what an access does to the set of those that are read later.

use std::collections::HashMap;
use std::ops::Range;

use crate::sroa::Reach;
use oriole_ir::ops::{Opcode, Space};
use oriole_ir::{Function, Inst, Local};
use oriole_pass::analysis::memory::{Effect, Location};
use oriole_pass::analysis::{Accessed, Addresses, MemorySsa, Variable};
use oriole_pass::pass::PhaseContext;

/// A set of bytes, by their numbers.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Bytes(Vec<u64>);

impl Bytes {
    pub(super) fn add(&mut self, other: &Bytes) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }

    /// The words of a range of bytes, each with its bits of them.
    fn masks(range: &Range<usize>) -> impl Iterator<Item = (usize, u64)> + use<> {
        let Range { start, end } = *range;
        (start / 64..end.div_ceil(64)).map(move |word| {
            let (low, high) = (start.max(word * 64) - word * 64, end.min(word * 64 + 64) - word * 64);
            (word, (u64::MAX >> (64 - (high - low))) << low)
        })
    }

    fn insert(&mut self, range: &Range<usize>) {
        Bytes::masks(range).for_each(|(word, mask)| self.0[word] |= mask);
    }

    fn remove(&mut self, range: &Range<usize>) {
        Bytes::masks(range).for_each(|(word, mask)| self.0[word] &= !mask);
    }

    fn has_any(&self, range: &Range<usize>) -> bool {
        Bytes::masks(range).any(|(word, mask)| self.0[word] & mask != 0)
    }
}

/// What an instruction does to bytes of local variables.
#[derive(Clone, Debug)]
pub(super) enum Access {
    /// It may read these.
    Reads(Range<usize>),
    /// It may read every variable whose address is known elsewhere.
    ReadsCaptured,
    /// It writes none but these; all of them, where `whole`. A store that may go is `plain`.
    Writes { range: Range<usize>, whole: bool, plain: bool },
}

/// The bytes of the local variables that are looked at, numbered.
pub(super) struct Places {
    count: usize,
    captured: Vec<Range<usize>>,
    accesses: HashMap<Inst, Access>,
}

impl Places {
    /// The variables of local memory, but for those that would make more than `most` bytes.
    pub(super) fn new(
        func: &Function,
        memory: &MemorySsa,
        addresses: &Addresses,
        most: u64,
        cx: &mut PhaseContext<'_>,
    ) -> Places {
        let mut ranges: HashMap<Local, Range<usize>> = HashMap::new();
        let mut count = 0;
        for (local, variable) in func.locals.iter().filter(|(_, variable)| variable.space == Space::Local) {
            if variable.size() <= most.saturating_sub(count as u64) {
                ranges.insert(local, count..count + variable.size() as usize);
                count += variable.size() as usize;
            }
        }
        let is_captured = |local: &Local| addresses.is_captured(*local) || addresses.goes_beyond();
        let captured = ranges.iter().filter(|(local, _)| is_captured(local)).map(|(_, range)| range.clone()).collect();
        let mut places = Places { count, captured, accesses: HashMap::new() };
        let reach = Reach::new(func, addresses, cx);
        for inst in func.layout_insts() {
            let access = access(func, inst, memory.effect(inst), addresses, &ranges, &reach);
            access.into_iter().for_each(|access| _ = places.accesses.insert(inst, access));
        }
        places
    }

    pub(super) fn none(&self) -> Bytes {
        Bytes(vec![0; self.count.div_ceil(64)])
    }

    pub(super) fn access(&self, inst: Inst) -> Option<Access> {
        self.accesses.get(&inst).cloned()
    }

    /// What may be read before an access, of what may be read behind it; and whether it is a store that may go, as
    /// nothing of it is read.
    pub(super) fn before(&self, access: &Access, live: &mut Bytes) -> bool {
        match access {
            Access::Reads(range) => live.insert(range),
            Access::ReadsCaptured => self.captured.iter().for_each(|range| live.insert(range)),
            Access::Writes { range, whole, plain } => {
                if *plain && !live.has_any(range) {
                    return true;
                }
                if *whole {
                    live.remove(range);
                }
            }
        }
        false
    }
}

fn access(
    func: &Function,
    inst: Inst,
    effect: Effect,
    addresses: &Addresses,
    ranges: &HashMap<Local, Range<usize>>,
    reach: &Reach<'_>,
) -> Option<Access> {
    let may_be_local = |at: &Location| matches!(at.space, Space::Local | Space::Generic);
    let own = match effect {
        Effect::None | Effect::Orders => return None,
        Effect::Anything => return Some(Access::ReadsCaptured),
        Effect::Reads(at) | Effect::Writes(at) | Effect::Updates(at) => match at.within {
            Some(local) => ranges.get(&local).map(|range| (local, range))?,
            None if may_be_local(&at) && !matches!(effect, Effect::Writes(_)) => return Some(Access::ReadsCaptured),
            None => return None,
        },
    };
    let (local, range) = own;
    let (accessed, size) = (accessed(func, inst, addresses)?, func.locals[local].size());
    let known = accessed.within(size);
    let (first, end) =
        known.map_or_else(|| reach.of(func, inst, accessed.size, size), |first| (first, first + accessed.size));
    let touched = range.start + first as usize..range.start + end as usize;
    Some(match effect {
        Effect::Writes(_) => {
            let plain = func.inst(inst).opcode == Opcode::St;
            Access::Writes { range: touched, whole: known.is_some() && func.inst(inst).guard.is_none(), plain }
        }
        _ => Access::Reads(touched),
    })
}

fn accessed(func: &Function, inst: Inst, addresses: &Addresses) -> Option<Accessed> {
    let accessed = Accessed::of(func, inst, |base| addresses.pointer(func, base))?;
    accessed.pointer.variable.and_then(Variable::local).map(|_| accessed)
}
