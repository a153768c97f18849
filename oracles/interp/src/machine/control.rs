//! Calls, returns, the ends of threads, and switches whose lanes go to several places.

use super::{BARRIERS, Cta, MAX_STACKS, Machine, Step};
use crate::access::{Fault, MAX_LOCAL};
use crate::engine::read_place;
use crate::memory::CODE_WINDOW;
use crate::outcome::Cause;
use crate::program::{Kind, Place};
use crate::warp::State;
use oriole_ir::diagnostics::counted;
use oriole_semantics::lanes::lanes;

impl Machine<'_> {
    pub(super) fn call(&mut self, cta: &mut Cta, index: usize, group: usize) -> Step {
        let state = cta.warps[index].groups[group];
        let call_index = self.program.ops[state.pc as usize].x;
        let call = &self.program.calls[call_index as usize];
        let target = match call.target {
            Ok(func) => func.as_u32() as usize,
            Err(place) => self.callee(cta, index, group, place)?,
        };
        let bad = |what: String| Err(self.trap(cta, index, group, Cause::BadCall(what)));
        let Some(info) = self.program.functions.get(target) else { return bad("no such function".into()) };
        if info.entry.is_none() {
            return self.external(cta, index, group, &info.name, call);
        }
        if info.params.len() != call.args.len() || info.results.len() > call.results.len() {
            return bad(format!(
                "`{}` takes {}, not {}",
                info.name,
                counted(info.params.len(), "argument"),
                call.args.len()
            ));
        }
        let caller = &cta.warps[index].frames[state.frame];
        let caller_size = self.program.functions[caller.func].frame;
        let base = (caller.base + caller_size).next_multiple_of(16);
        let end = base as usize + info.frame as usize;
        let from = caller.base;
        if end > MAX_LOCAL {
            return Err(self.trap(cta, index, group, Cause::StackOverflow));
        }
        let mask = cta.warps[index].groups[group].mask;
        let warp = &mut cta.warps[index];
        let held = warp.held();
        warp.local.reserve(end);
        warp.local.forget(mask, base as usize, info.frame as usize);
        for ((at, size), (to, room)) in call.args.iter().zip(&info.params) {
            warp.local.copy(mask, (from + at) as usize, (base + to) as usize, (*size).min(*room) as usize);
        }
        if warp.call(group, target, info, base, call_index, &self.bank).is_none() {
            return Err(self.trap(cta, index, group, Cause::StackOverflow));
        }
        self.stacks += warp.held() - held;
        if self.stacks > MAX_STACKS {
            return Err(self.trap(cta, index, group, Cause::StacksTooLarge { limit: MAX_STACKS }));
        }
        Ok(())
    }

    /// The function whose address the first lane calls; lanes that call another one stay behind.
    pub(super) fn callee(&self, cta: &mut Cta, index: usize, group: usize, place: Place) -> Step<usize> {
        let warp = &mut cta.warps[index];
        let state = warp.groups[group];
        let frame = &warp.frames[state.frame];
        let first = state.mask.trailing_zeros() as usize;
        let (address, undefined) = read_place(frame, place, first);
        if undefined {
            return Err(self.fault(cta, index, group, Fault::Undefined(first, "a call")));
        }
        let same = lanes(state.mask).filter(|lane| read_place(frame, place, *lane) == (address, false));
        let same = same.fold(0, |mask, lane| mask | 1 << lane);
        if same != state.mask {
            warp.split(group, state.mask & !same, state.pc);
        }
        let offset = address.wrapping_sub(CODE_WINDOW);
        if offset % 16 == 0 && offset / 16 < self.program.functions.len() as u64 {
            return Ok((offset / 16) as usize);
        }
        Err(self.trap(cta, index, group, Cause::BadCall(format!("{address:#x} is no function"))))
    }

    pub(super) fn leave(&mut self, cta: &mut Cta, index: usize, group: usize) -> Step {
        let warp = &mut cta.warps[index];
        let state = warp.groups[group];
        let frame = &warp.frames[state.frame];
        if frame.depth == 0 {
            return self.exit(cta, index, group);
        }
        let info = &self.program.functions[frame.func];
        let call = &self.program.calls[frame.call as usize];
        let (base, caller) = (frame.base, warp.frames[frame.parent].base);
        for ((from, size), (to, room)) in info.results.iter().zip(&call.results) {
            warp.local.copy(state.mask, (base + from) as usize, (caller + to) as usize, (*size).min(*room) as usize);
        }
        warp.leave(group);
        Ok(())
    }

    pub(super) fn exit(&mut self, cta: &mut Cta, index: usize, group: usize) -> Step {
        cta.warps[index].exit(group);
        // The threads that are left may be all that a barrier or collective waits for.
        for id in 0..BARRIERS {
            self.release(cta, id);
        }
        let waiting = cta.warps[index].groups.iter().filter(|g| g.state == State::Collective);
        let places: Vec<u32> = waiting.map(|g| g.pc).collect();
        places.into_iter().try_for_each(|pc| match self.program.ops[pc as usize].kind {
            Kind::Matrix => self.matrix(cta, index, pc),
            _ => self.collective(cta, index, pc),
        })
    }

    /// The lanes with the first lane's index get a group of their own.
    pub(super) fn scatter(&self, cta: &mut Cta, index: usize, group: usize) {
        let warp = &mut cta.warps[index];
        let state = warp.groups[group];
        let op = self.program.ops[state.pc as usize];
        let values = &warp.frames[state.frame].words[op.a as usize];
        let first = values[state.mask.trailing_zeros() as usize];
        let same = lanes(state.mask).filter(|lane| values[*lane] == first).fold(0, |mask, lane| mask | 1 << lane);
        // A group that stays at the switch: its lanes agree now, and it meets no other one on the way.
        match self.program.switches[op.x as usize].get(first as usize) {
            Some(target) => {
                warp.split(group, same, *target);
            }
            None => warp.groups[group].mask = same,
        }
    }
}
