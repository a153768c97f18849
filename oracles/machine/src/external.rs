//! Functions that the driver has: code calls them by addresses of symbols that its file does not define.
//!
//! They do what the reference interpreter says of the same functions. Arguments are in R4 and the registers behind
//! it, results in R4, and R20 with R21 has the address to which the function returns.

use oriole_interp::Cause;

use super::lanes::{LANES, Lanes, set};
use super::machine::{Cta, Machine, Stop};
use super::state::CODE;

/// The first register of arguments, and of the result.
const FIRST: u16 = 4;
/// The register of the return address.
const RETURN: u16 = 20;

impl<'a> Machine<'a> {
    /// The function of the driver that an address is, relative to the code.
    pub(super) fn external_at(&self, address: u64) -> Option<&'a str> {
        let found = self.externals.iter().find(|(at, _)| *at == address.wrapping_add(CODE));
        found.map(|(_, name)| name.as_str())
    }

    /// Calls a function of the driver for some lanes, and says where each of them continues, relative to the code.
    pub(super) fn external(
        &mut self,
        cta: &mut Cta,
        warp: usize,
        pc: u32,
        active: u32,
        name: &str,
    ) -> Result<[u64; LANES], Stop> {
        let w = &mut cta.warps[warp];
        let pair = |rows: &[Lanes], row: u16| -> [u64; LANES] {
            let [low, high] = [0, 1].map(|word| rows[usize::from(row) + word]);
            std::array::from_fn(|lane| u64::from(high[lane]) << 32 | u64::from(low[lane]))
        };
        let argument = pair(&w.rows, FIRST);
        match name {
            "vprintf" => w.write(FIRST, &[0; LANES], active),
            "malloc" => {
                let mut found = [0; LANES];
                set(active).for_each(|lane| found[lane] = self.global.allocate(argument[lane]));
                w.write(FIRST, &found.map(|address| address as u32), active);
                w.write(FIRST + 1, &found.map(|address| (address >> 32) as u32), active);
            }
            "free" => {
                for lane in set(active).filter(|lane| argument[*lane] != 0) {
                    if !self.global.free(argument[lane]) {
                        let what = format!("`free` of {:#x}, which `malloc` has not returned", argument[lane]);
                        return Err(Stop::Trap { pc, lane: lane as u32, cause: Cause::BadCall(what) });
                    }
                }
            }
            "__assertfail" => {
                let cause = Cause::Assertion("`__assertfail` is called".to_owned());
                return Err(Stop::Trap { pc, lane: active.trailing_zeros(), cause });
            }
            _ => return Err(Stop::Unknown { pc, why: format!("it calls `{name}`, whose code the driver has") }),
        }
        Ok(pair(&w.rows, RETURN).map(|address| address.wrapping_sub(CODE)))
    }
}
