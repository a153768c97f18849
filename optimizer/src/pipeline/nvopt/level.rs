//! The levels of cicc, and the languages that its pipelines tell apart.

use std::fmt;

use oriole_pass::pass::{PassOption, PassOptions};

/// A level: of optimization, or of fast compilation (line 623).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// No optimization.
    O0,
    /// Compiles as fast as possible.
    Ofcmax,
    /// Between the two.
    Ofcmid,
    /// Compiles a little faster.
    Ofcmin,
    /// Tiers 0 and 1.
    O1,
    /// Tiers 0 and 2.
    O2,
    /// Tiers 0 and 3.
    O3,
}

impl Level {
    /// All of them, from the one that does least.
    pub const ALL: [Level; 7] =
        [Level::O0, Level::Ofcmax, Level::Ofcmid, Level::Ofcmin, Level::O1, Level::O2, Level::O3];

    /// Its name: what is in the brackets of `nvopt<O3>`.
    pub const fn name(self) -> &'static str {
        match self {
            Level::O0 => "O0",
            Level::Ofcmax => "Ofcmax",
            Level::Ofcmid => "Ofcmid",
            Level::Ofcmin => "Ofcmin",
            Level::O1 => "O1",
            Level::O2 => "O2",
            Level::O3 => "O3",
        }
    }

    /// The level with a name.
    pub fn named(name: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.name() == name)
    }

    /// The level of what stands behind `-O`: `2`, or `fast-compile=mid`, which is also spelt `fc=mid`; the third level
    /// where fast compilation is turned off.
    pub fn of_flag(flag: &str) -> Result<Level, UnknownLevel> {
        match flag.strip_prefix("fast-compile=").or_else(|| flag.strip_prefix("fc=")) {
            Some("0") => Ok(Level::O3),
            Some(speed) => Level::named(&format!("Ofc{speed}")).ok_or(UnknownLevel::FastCompile),
            None if flag.len() == 1 => Level::named(&format!("O{flag}")).ok_or_else(|| UnknownLevel::other(flag)),
            None => Err(UnknownLevel::other(flag)),
        }
    }

    /// The level of the phases of ptxas that goes with it.
    pub const fn of_phases(self) -> u8 {
        match self {
            Level::O0 | Level::Ofcmax => 0,
            Level::Ofcmid | Level::Ofcmin | Level::O1 => 1,
            Level::O2 => 2,
            Level::O3 => 3,
        }
    }

    /// The slots that it turns on where nobody has set them: the master switch, the switch of its tier, and at O3 the
    /// two features of "Feature Flag Escalation" (line 589), barriers and memory spaces.
    pub const fn turns_on(self) -> &'static [u16] {
        match self {
            Level::O0 | Level::Ofcmax | Level::Ofcmid | Level::Ofcmin => &[],
            Level::O1 => &[209, 175],
            Level::O2 => &[209, 177],
            Level::O3 => &[209, 179, 173, 155],
        }
    }

    /// The slots that it turns on whatever anybody has set: those that leave memory-space-opt out (line 620). LSA,
    /// which it leaves out as well, has no slot.
    pub const fn forces(self) -> &'static [u16] {
        match self {
            Level::Ofcmax => &[87, 133],
            _ => &[],
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What stands behind `-O` and is no level.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownLevel {
    /// Line 667 has this text.
    #[error("libnvvm : error: -Ofast-compile called with unsupported level, only supports 0, min, mid, or max")]
    FastCompile,
    /// No level at all.
    #[error("`{0}` is no level: there are 0, 1, 2, 3, fast-compile=min, fast-compile=mid and fast-compile=max")]
    Other(String),
}

impl UnknownLevel {
    fn other(flag: &str) -> UnknownLevel {
        UnknownLevel::Other(flag.to_owned())
    }
}

/// Where the program comes from, line 95: slot 181.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// PTX that somebody has optimized.
    Ptx,
    /// The front end of CUDA.
    Mid,
    /// Whatever else.
    Default,
}

impl Language {
    /// All of them.
    pub const ALL: [Language; 3] = [Language::Ptx, Language::Mid, Language::Default];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Language::Ptx => "ptx",
            Language::Mid => "mid",
            Language::Default => "default",
        }
    }

    /// What the option `lang` says; the default path takes every other text, such as `idn`.
    pub fn of(options: &PassOptions) -> Language {
        match options.text(PassOption::of_slot(181)) {
            Some("ptx") => Language::Ptx,
            Some("mid") => Language::Mid,
            _ => Language::Default,
        }
    }
}
