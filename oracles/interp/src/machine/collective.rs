//! Warp collectives: groups of a warp wait for each other and exchange values.

use super::{Cta, Machine, Step};
use crate::access::Fault;
use crate::collective::{Inputs, compute};
use crate::engine::{read_place, unknown_bits, write_partly, write_place};
use crate::outcome::Cause;
use crate::program::{CollectiveOp, Place};
use crate::warp::{Group, State, Warp};
use oriole_semantics::lanes::lanes;

/// The steps that a collective takes beside its own. Measured 2026-11: 1.6 us.
const EXTRA_STEPS: u64 = 64;

impl Machine<'_> {
    /// Executes a collective for the groups that wait at it, as far as all their members are there.
    pub(super) fn collective(&mut self, cta: &mut Cta, index: usize, pc: u32) -> Step {
        let op = self.program.ops[pc as usize];
        let collective = self.program.collectives[op.x as usize];
        self.effort.extra(EXTRA_STEPS);
        let warp = &cta.warps[index];
        // Lanes that came here by different ways wait in different groups, which may have frames of their own.
        let waiting = waiting(warp, pc);
        let present = present(warp, &waiting);
        let mut inputs = Inputs::default();
        // The sources of all lanes are read before any result is written: a lane may need what another one holds, in
        // a register that is also a result.
        for group in &waiting {
            let state = warp.groups[*group];
            let frame = &warp.frames[state.frame];
            for lane in lanes(state.mask) {
                let (members, undefined) = read_place(frame, collective.mask, lane);
                if undefined {
                    return Err(self.fault(cta, index, *group, Fault::Undefined(lane, "a member mask")));
                }
                if members as u32 >> lane & 1 == 0 {
                    let cause = Cause::BadCollective(format!("lane {lane} is not in its member mask {members:#x}"));
                    return Err(self.fault(cta, index, *group, Fault::Trap(lane, cause)));
                }
                inputs.members[lane] = members as u32;
                for (i, place) in collective.srcs.iter().enumerate() {
                    let (value, undefined) = read_place(frame, *place, lane);
                    inputs.values[i][lane] = value;
                    inputs.undefined[i] |= u32::from(undefined) << lane;
                    if undefined && i == 0 {
                        inputs.unknown[lane] = unknown_bits(frame, *place, lane);
                    }
                }
            }
        }
        // A lane may continue once every living lane that it names has come; lanes that have exited are not waited for.
        let live = warp.live;
        let complete = |lane: usize| inputs.members[lane] & live & !present == 0;
        // Tiles have masks of their own: a group may have lanes of some that are complete and of others that are not.
        // The latter are looked at again when the next group arrives.
        let warp = &mut cta.warps[index];
        let mut ready = Vec::new();
        for group in waiting {
            let mask = warp.groups[group].mask;
            match lanes(mask).filter(|lane| complete(*lane)).fold(0, |mask, lane| mask | 1 << lane) {
                0 => {}
                all if all == mask => ready.push(group),
                some => ready.push(warp.split(group, some, pc)),
            }
        }
        let warp = &cta.warps[index];
        let active = ready.iter().fold(0, |mask, group| mask | warp.groups[*group].mask);
        let first = self.grid_index(cta, index);
        // Of the collectives, `bar.warp.sync` alone orders memory accesses; the others only exchange values.
        if collective.op == CollectiveOp::Sync {
            if let Some(detector) = &mut self.races {
                detector.barrier(lanes(active).map(|lane| first + lane as u64));
            }
            self.note_strong_barrier(cta, index, active, pc);
        }
        // Lanes that keep waiting were read above; `active` leaves them out.
        let out = compute(collective.op, &inputs, active);
        let warp = &mut cta.warps[index];
        for group in ready {
            let state = &mut warp.groups[group];
            for lane in lanes(state.mask) {
                let (pred, is_open) = (u64::from(out.preds >> lane & 1), out.preds_undefined >> lane & 1 == 1);
                let frame = &mut warp.frames[state.frame];
                match collective.dsts[0] {
                    place @ Place::Pred(_) => write_place(frame, place, lane, pred, is_open),
                    place => write_partly(frame, place, lane, out.values[lane], out.unknown[lane]),
                }
                write_place(frame, collective.dsts[1], lane, pred, is_open);
            }
            state.state = State::Ready;
            state.pc += 1;
        }
        Ok(())
    }

    /// Lets the groups that wait at a matrix instruction go on as one, once all lanes of the warp are there; the engine
    /// executes it then. PTX ISA: all threads of the warp execute the same instruction, else nothing is defined; so a
    /// warp that lacks lanes traps, and so do lanes in different activations of a function.
    pub(super) fn matrix(&mut self, cta: &mut Cta, index: usize, pc: u32) -> Step {
        let warp = &cta.warps[index];
        let waiting = waiting(warp, pc);
        let Some(first) = waiting.first().copied() else { return Ok(()) };
        let missing = !warp.live;
        let apart = waiting.iter().any(|group| warp.groups[*group].frame != warp.groups[first].frame);
        if missing != 0 || apart {
            let cause = match missing {
                0 => "the lanes at a matrix instruction come by different calls".to_owned(),
                _ => format!("a matrix instruction takes a whole warp, and lanes {missing:#x} are not there"),
            };
            return Err(self.trap(cta, index, first, Cause::BadCollective(cause)));
        }
        if present(warp, &waiting) == u32::MAX {
            let groups = &mut cta.warps[index].groups;
            waiting.into_iter().for_each(|group| groups[group].state = State::Ready);
        }
        Ok(())
    }
}

/// The groups of a warp that wait at a place.
fn waiting(warp: &Warp, pc: u32) -> Vec<usize> {
    let waits = |group: &Group| group.state == State::Collective && group.pc == pc;
    (0..warp.groups.len()).filter(|i| waits(&warp.groups[*i])).collect()
}

/// The lanes of some groups.
fn present(warp: &Warp, groups: &[usize]) -> u32 {
    groups.iter().fold(0, |mask, i| mask | warp.groups[*i].mask)
}
