//! The movement of kill markers: down to the end of their block, and up again to the last read.
//!
//! The page has the markers moved down, so that values end at the borders of blocks, where its allocator looks, and in
//! its sibling up. Down lengthens ranges and up shortens them; neither changes a value that is read.
//!
//! A marker goes down to the terminator of its block, but not past what names its register: in a loop the value of one
//! round may end where the block begins that makes that of the next. It goes up to behind the last instruction of its
//! block that reads or defines its register, or else to the beginning of the block, behind the phis.
//!
//! *Measure*: the instructions behind all markers fall with each step down, and those in front of them with each step
//! up; a marker goes at once as far as it may, so a second movement finds nothing.
//!
//! Cost: linear in instructions and markers, times the logarithm of these.

use std::collections::BTreeMap;

use oriole_ir::ops::Opcode;
use oriole_ir::{Anchor, Block, Function, Inst, Kill, Reg};
use oriole_pass::pass::{Changed, PhaseContext};

use super::kinds::Direction;

/// Moves the markers of a function.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>, direction: Direction) -> Changed {
    let rule = match direction {
        Direction::Down => "kill-down",
        Direction::Up => "kill-up",
    };
    let mut changed = Changed::No;
    let mut kills = Vec::with_capacity(func.kills().len());
    for (kill, to) in places(func, direction) {
        let moves = kill.at != to && cx.rewrite(rule);
        changed |= Changed::when(moves);
        kills.push(if moves { Kill { at: to, ..kill } } else { kill });
    }
    if changed.is_yes() {
        func.set_kills(kills);
    }
    changed
}

/// How many markers could move.
pub fn survivors(func: &Function, direction: Direction) -> u64 {
    places(func, direction).into_iter().filter(|(kill, to)| kill.at != *to).count() as u64
}

/// The markers of the layout, with the places that they may go to.
fn places(func: &Function, direction: Direction) -> Vec<(Kill, Anchor)> {
    let mut found = Vec::with_capacity(func.kills().len());
    for block in func.layout() {
        match direction {
            Direction::Down => down(func, *block, &mut found),
            Direction::Up => up(func, *block, &mut found),
        }
    }
    found
}

/// In front of the terminator, or of the next instruction that names the register.
fn down(func: &Function, block: Block, found: &mut Vec<(Kill, Anchor)>) {
    // By register: the place in front of the next instruction that names it.
    let mut limits: BTreeMap<Reg, Anchor> = BTreeMap::new();
    let places: Vec<Anchor> = anchors(func, block).collect();
    let Some([end, _]) = places.last_chunk() else { return };
    for (place, at) in places.iter().enumerate().rev() {
        for reg in func.kills_at(*at) {
            found.push((Kill { at: *at, reg }, *limits.get(&reg).unwrap_or(end)));
        }
        if let (Anchor::Behind(inst), Some(before)) = (at, place.checked_sub(1)) {
            let named = func.defs(*inst).chain(func.uses(*inst));
            limits.extend(named.map(|reg| (reg, places[before])));
        }
    }
}

/// Behind the last instruction that names the register.
fn up(func: &Function, block: Block, found: &mut Vec<(Kill, Anchor)>) {
    // By register: the markers behind the instruction at hand that have met nothing yet that names it.
    let mut on_their_way: BTreeMap<Reg, Vec<Anchor>> = BTreeMap::new();
    let places: Vec<Anchor> = anchors(func, block).collect();
    for at in places.into_iter().rev() {
        for reg in func.kills_at(at) {
            on_their_way.entry(reg).or_default().push(at);
        }
        let Anchor::Behind(inst) = at else { continue };
        for reg in func.defs(inst).chain(func.uses(inst)) {
            let met = on_their_way.remove(&reg).unwrap_or_default();
            found.extend(met.into_iter().map(|from| (Kill { at: from, reg }, at)));
        }
    }
    let left = on_their_way.into_iter().flat_map(|(reg, anchors)| anchors.into_iter().map(move |at| Kill { at, reg }));
    found.extend(left.map(|kill| (kill, Anchor::Entry(block))));
}

/// The places of a block, in order: the beginning, and behind each instruction that is no phi, the terminator last.
fn anchors(func: &Function, block: Block) -> impl Iterator<Item = Anchor> + '_ {
    let is_phi = |inst: &Inst| func.inst(*inst).opcode == Opcode::Phi;
    [Anchor::Entry(block)].into_iter().chain(func.block_insts(block).skip_while(is_phi).map(Anchor::Behind))
}
