//! What the scheduler writes beside a machine instruction: how long the next one waits, and on what this one does.

use std::fmt;

/// The scheduling control of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Schedule {
    /// Cycles until the next instruction of the warp may issue: 0 to 15.
    pub stall: u8,
    /// Whether the warp lets another one issue first.
    pub yields: bool,
    /// The barrier that is released when the results are written: 0 to 5.
    pub write_barrier: Option<u8>,
    /// The barrier that is released when the sources are read: 0 to 5.
    pub read_barrier: Option<u8>,
    /// The barriers that must be released before it issues, a bit each.
    pub wait_mask: u8,
}

impl Schedule {
    /// The longest stall.
    pub const MAX_STALL: u8 = 15;
    /// How many barriers a warp has.
    pub const BARRIERS: u8 = 6;

    /// Whether the machine has words for it.
    pub fn is_encodable(&self) -> bool {
        let barriers = [self.write_barrier, self.read_barrier];
        self.stall <= Schedule::MAX_STALL
            && barriers.iter().flatten().all(|barrier| *barrier < Schedule::BARRIERS)
            && self.wait_mask >> Schedule::BARRIERS == 0
    }
}

/// `{stall 4 yield write 0 read 1 wait 0x3}`; what is not said is none.
impl fmt::Display for Schedule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{{stall {}", self.stall)?;
        if self.yields {
            out.write_str(" yield")?;
        }
        for (name, barrier) in [("write", self.write_barrier), ("read", self.read_barrier)] {
            if let Some(barrier) = barrier {
                write!(out, " {name} {barrier}")?;
            }
        }
        if self.wait_mask != 0 {
            write!(out, " wait {:#x}", self.wait_mask)?;
        }
        out.write_str("}")
    }
}
