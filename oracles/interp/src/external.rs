//! Functions that the system provides: kernels declare them and give no body.
//!
//! `vprintf` prints nothing and returns 0, `malloc` and `free` manage a heap in global memory, and a failed assertion
//! traps with its message. A call of any other function without body traps and names it.

use super::access::{Fault, from_generic};
use super::machine::{Cta, Machine, Step};
use super::memory::Bytes;
use super::outcome::Cause;
use super::program::{Call, Memory};
use oriole_semantics::lanes::lanes;

/// Characters of an assertion's strings that are shown.
const MAX_STRING: usize = 200;

/// One value for each lane.
type Values = [u64; 32];

impl Machine<'_> {
    /// Calls a function that has no body, for all lanes of a group.
    pub(super) fn external(&mut self, cta: &mut Cta, index: usize, group: usize, name: &str, call: &Call) -> Step {
        self.effort.call();
        let mask = cta.warps[index].groups[group].mask;
        let mut returned: Values = [0; 32];
        match (name, call.args.len()) {
            ("vprintf", 2) => {}
            ("malloc", 1) => {
                let sizes = self.argument(cta, index, group, call, 0)?;
                lanes(mask).for_each(|lane| returned[lane] = self.global.allocate(sizes[lane]));
            }
            ("free", 1) => {
                let addresses = self.argument(cta, index, group, call, 0)?;
                for (lane, address) in lanes(mask).map(|lane| (lane, addresses[lane])) {
                    if address != 0 && !self.global.free(address) {
                        let what = format!("`free` of {address:#x}, which `malloc` has not returned");
                        return Err(self.fault(cta, index, group, Fault::Trap(lane, Cause::BadCall(what))));
                    }
                }
            }
            ("__assertfail", 5) => return self.assertion(cta, index, group, call),
            _ => {
                let what = format!("`{name}` has no body");
                return Err(self.trap(cta, index, group, Cause::BadCall(what)));
            }
        }
        if let Some((at, size)) = call.results.first() {
            let warp = &mut cta.warps[index];
            let base = warp.frames[warp.groups[group].frame].base;
            lanes(mask).for_each(|lane| {
                warp.local.write(lane, (base + at) as usize, *size as usize, returned[lane]);
            });
        }
        cta.warps[index].groups[group].pc += 1;
        Ok(())
    }

    /// An argument in every lane of the group.
    fn argument(&self, cta: &Cta, index: usize, group: usize, call: &Call, argument: usize) -> Step<Values> {
        let warp = &cta.warps[index];
        let state = warp.groups[group];
        let (at, size) = call.args[argument];
        let mut values = [0; 32];
        for lane in lanes(state.mask) {
            let (value, undefined) =
                warp.local.read(lane, (warp.frames[state.frame].base + at) as usize, size as usize);
            if undefined {
                return Err(self.fault(cta, index, group, Fault::Undefined(lane, "a call's argument")));
            }
            values[lane] = value;
        }
        Ok(values)
    }

    /// `__assertfail(message, file, line, function, character size)`.
    fn assertion(&self, cta: &Cta, index: usize, group: usize, call: &Call) -> Step {
        let lane = cta.warps[index].groups[group].mask.trailing_zeros() as usize;
        let text = |argument| -> Step<String> {
            let addresses = self.argument(cta, index, group, call, argument)?;
            Ok(self.string(addresses[lane]))
        };
        let line = self.argument(cta, index, group, call, 2)?[lane] as u32;
        let what = format!("`{}` in {}, {}:{line}", text(0)?, text(3)?, text(1)?);
        Err(self.fault(cta, index, group, Fault::Trap(lane, Cause::Assertion(what))))
    }

    /// The text at a generic address, as far as it is mapped and printable.
    fn string(&self, address: u64) -> String {
        let (bytes, start): (&Bytes, usize) = match from_generic(address) {
            (Memory::Global, address) => match self.global.find(0, address, 1) {
                Some(region) => {
                    let region = self.global.region(region);
                    (&region.bytes, (address - region.base) as usize)
                }
                None => return "?".to_owned(),
            },
            (Memory::Const, offset) => (self.constants, offset as usize),
            _ => return "?".to_owned(),
        };
        let rest = bytes.data().get(start..).unwrap_or_default();
        let text = rest.iter().take_while(|byte| **byte != 0).take(MAX_STRING);
        text.map(|byte| if byte.is_ascii_graphic() || *byte == b' ' { char::from(*byte) } else { '?' }).collect()
    }
}
