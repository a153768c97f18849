//! The data flow: what is under way before each instruction, on the worst of the ways to it.

use std::collections::{BTreeMap, BTreeSet};

use oriole_sass::row::{File, What};

use crate::access::Unit;
use crate::code::{Code, Node};
use crate::latency::{self, SETTLED};
use crate::state::{BARRIERS, LONGEST, Pending, State};
use crate::{queue, reuse};

/// How two instructions meet at a unit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// The second reads what the first writes.
    ReadAfterWrite,
    /// The second writes what the first writes.
    WriteAfterWrite,
    /// The second writes what the first reads.
    WriteAfterRead,
    /// The second reads from the operand cache what the first left there.
    Reuse,
}

/// Two instructions that meet at a unit while the first may not be done.
#[derive(Clone, Copy, Debug)]
pub struct Meeting {
    /// How.
    pub kind: Kind,
    /// The index of the first one.
    pub first: usize,
    /// The index of the second one.
    pub second: usize,
    /// The unit.
    pub unit: Unit,
    /// The lowest bit of the part by which the second reads it.
    pub place: u8,
    /// Which of that part's registers it is.
    pub word: u8,
    /// The fewest cycles between them.
    pub elapsed: u8,
    /// Whether time says when the first is done; else a barrier does, or nothing.
    pub is_fixed: bool,
    /// The barrier that should have been waited for.
    pub barrier: Option<u8>,
}

/// Walks the code and gives every meeting.
pub fn walk(code: &Code, meet: &mut dyn FnMut(&Meeting)) {
    if code.nodes.is_empty() {
        return;
    }
    let leaders = code.leaders();
    // What is under way where a block begins.
    let mut states = BTreeMap::from([(0, State::default())]);
    let mut work = BTreeSet::from([0]);
    while let Some(start) = work.pop_first() {
        let mut state = states.get(&start).cloned().unwrap_or_default();
        let last = block(code, &leaders, start, &mut state, &mut |_| ());
        let node = &code.nodes[last as usize];
        for next in &node.next {
            // Nothing is known of what a call leaves.
            let returns = node.calls && *next == last + 1;
            let given = if returns { State::default() } else { state.clone() };
            let is_new = match states.get_mut(next) {
                Some(known) => known.join(&given),
                None => states.insert(*next, given).is_none(),
            };
            if is_new {
                work.insert(*next);
            }
        }
    }
    for (start, mut state) in states {
        block(code, &leaders, start, &mut state, meet);
    }
    reuse::walk(code, meet);
}

/// The instructions of a block issue; which is the last.
fn block(code: &Code, leaders: &[bool], start: u32, state: &mut State, meet: &mut dyn FnMut(&Meeting)) -> u32 {
    let mut index = start;
    loop {
        step(code, index, state, meet);
        let next = index + 1;
        let is_inside = code.nodes[index as usize].next == [next] && !leaders[next as usize];
        if !is_inside {
            return index;
        }
        index = next;
    }
}

/// An instruction issues.
fn step(code: &Code, index: u32, state: &mut State, meet: &mut dyn FnMut(&Meeting)) {
    let node = &code.nodes[index as usize];
    wait(node, state);
    meetings(code, node, index, state, meet);
    begin(code, node, index, state);
    advance(node, state);
}

/// What a wait mask says is done is no longer under way, if its barrier was set long enough ago to count.
fn wait(node: &Node, state: &mut State) {
    let mask = node.schedule.wait_mask;
    let is_done = |barrier: &u8| mask >> barrier & 1 == 1;
    state.retain(|pending| {
        let is_own = pending.elapsed >= SETTLED && pending.barriers.iter().flatten().any(is_done);
        !is_own && pending.behind & mask == 0
    });
}

/// What the instruction reads and writes while others are under way.
fn meetings(code: &Code, node: &Node, index: u32, state: &State, meet: &mut dyn FnMut(&Meeting)) {
    let mut see = |kind, (place, word), pending: &Pending| {
        let first = &code.nodes[pending.inst as usize];
        let is_exclusive = match (first.accesses.guard, node.accesses.guard) {
            (Some((one, is_not)), Some((other, is_other_not))) => {
                pending.is_guard_intact && one == other && is_not != is_other_not
            }
            _ => false,
        };
        let is_ordered = match kind {
            Kind::WriteAfterRead => queue::shared(queue::of_reads, first, node),
            Kind::WriteAfterWrite => queue::shared(queue::of_writes, first, node),
            // Products of a warpgroup add to each other's sums in order.
            _ => queue::is_group(first) && queue::is_group(node),
        };
        if is_exclusive || is_ordered {
            return;
        }
        meet(&Meeting {
            kind,
            first: pending.inst as usize,
            second: index as usize,
            unit: pending.unit,
            place,
            word,
            elapsed: pending.elapsed,
            is_fixed: !pending.is_variable,
            barrier: pending.barriers[0].or(pending.barriers[1]),
        });
    };
    for read in &node.accesses.reads {
        for pending in state.of(read.unit).iter().filter(|pending| pending.is_write) {
            see(Kind::ReadAfterWrite, (read.place, read.word), pending);
        }
    }
    for unit in &node.accesses.writes {
        for pending in state.of(*unit) {
            see(if pending.is_write { Kind::WriteAfterWrite } else { Kind::WriteAfterRead }, (16, 0), pending);
        }
    }
}

/// The instruction's own reads and writes begin; earlier ones of what it writes are over.
fn begin(code: &Code, node: &Node, index: u32, state: &mut State) {
    depbar(node, state);
    let accesses = &node.accesses;
    let set = queue::sets(node);
    for pending in state.all_mut() {
        let first = &code.nodes[pending.inst as usize];
        for barrier in set.into_iter().flatten() {
            if pending.is_behind(barrier) {
                let later = &mut pending.later_behind[usize::from(barrier)];
                *later = later.saturating_add(1);
            }
        }
        let queue: queue::Of = if pending.is_write { queue::of_writes } else { queue::of_reads };
        if pending.inst != index && queue::shared(queue, first, node) {
            let seen = if pending.is_write { &set[..1] } else { &set[..] };
            pending.follow(seen.iter().flatten().fold(0, |mask, barrier| mask | 1 << barrier));
        }
        for (barrier, later) in pending.barriers.iter().zip(&mut pending.later) {
            let times = set.iter().filter(|set| set.is_some() && *set == barrier).count();
            *later = later.saturating_add(times as u8);
        }
        pending.is_guard_intact &= guard_of(code, pending).is_none_or(|unit| !accesses.writes.contains(&unit));
    }
    if accesses.guard.is_none() {
        state.retain(|pending| !accesses.writes.contains(&pending.unit));
    }
    let base = Pending {
        unit: Unit::FIRST,
        inst: index,
        is_write: false,
        elapsed: 0,
        is_variable: true,
        barriers: set,
        behind: 0,
        fresh: (0, 0),
        later: [0; 2],
        later_behind: [0; BARRIERS],
        is_guard_intact: true,
    };
    for read in accesses.reads.iter().filter(|read| queue::reads_late(node, read.unit.file())) {
        state.add(Pending { unit: read.unit, ..base });
    }
    let is_variable = set[0].is_some() || latency::is_variable(node);
    for unit in &accesses.writes {
        state.add(Pending { unit: *unit, is_write: true, is_variable, barriers: [set[0], None], ..base });
    }
}

fn guard_of(code: &Code, pending: &Pending) -> Option<Unit> {
    code.nodes[pending.inst as usize].accesses.guard.map(|(unit, _)| unit)
}

/// `DEPBAR` waits until a barrier counts no more than a number, and for all that a mask names.
fn depbar(node: &Node, state: &mut State) {
    let name = node.inst.encoding.name;
    let is_group = name.starts_with("WARPGROUP.DEPBAR");
    if !name.starts_with("DEPBAR") && !is_group {
        return;
    }
    let word = node.inst.word;
    let (mut mask, mut counted, mut most) = (0, is_group.then_some(queue::GROUP), 0);
    for part in &node.inst.encoding.parts {
        match part.what {
            What::Mask => mask = part.value(word),
            What::Register(File::Sb) => counted = Some(part.value(word) as u8),
            What::Immediate(_) => most = part.value(word),
            What::Register(File::Ur) => most = u64::MAX,
            _ => (),
        }
    }
    state.retain(|pending| {
        let mut both = pending.barriers.iter().zip(pending.later);
        !both.any(|(barrier, later)| {
            counted.is_some_and(|counted| {
                pending.is_behind(counted) && u64::from(pending.later_behind[usize::from(counted)]) >= most
            }) || barrier
                .is_some_and(|barrier| mask >> barrier & 1 == 1 || counted == Some(barrier) && u64::from(later) >= most)
        })
    });
}

/// Time goes by.
fn advance(node: &Node, state: &mut State) {
    let stall = latency::cycles(&node.schedule);
    for pending in state.all_mut() {
        pending.advance(stall);
    }
    state.retain(|pending| pending.is_variable || pending.elapsed < LONGEST);
}
