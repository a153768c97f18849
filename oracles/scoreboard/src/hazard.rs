//! Findings.

use oriole_sass::cubin::Cubin;

use crate::access::Unit;
use crate::code::{Code, Unread};
use crate::latency;
use crate::walk::{Kind, Meeting, walk};

/// An instruction of a finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The offset in the section.
    pub offset: u64,
    /// The text.
    pub text: String,
}

impl std::fmt::Display for Place {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "`{}` at {:#x}", self.text, self.offset)
    }
}

/// What is missing between the two instructions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Missing {
    /// Cycles: so many pass on the shortest way, so many are needed.
    Cycles {
        /// The fewest that pass.
        elapsed: u8,
        /// The fewest that ptxas leaves.
        needed: u8,
    },
    /// A wait for this barrier, which the first instruction sets.
    Wait(u8),
    /// A barrier: the first instruction sets none.
    Barrier,
    /// The value: the operand cache does not hold it.
    Value,
}

/// Two instructions of which the second uses a register while the first is not done with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hazard {
    /// How they meet.
    pub kind: Kind,
    /// The function.
    pub function: String,
    /// The register.
    pub unit: Unit,
    /// The first instruction.
    pub first: Place,
    /// The second instruction.
    pub second: Place,
    /// What is missing.
    pub missing: Missing,
}

impl std::fmt::Display for Hazard {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Hazard { kind, function, unit, first, second, missing } = self;
        if *kind == Kind::Reuse {
            return write!(
                out,
                "{function}: {second} takes {unit} from the operand cache, where {first} left a value that is \
                 overwritten since"
            );
        }
        let (does, of) = match kind {
            Kind::ReadAfterWrite => ("reads", "writes"),
            Kind::WriteAfterWrite => ("writes", "writes"),
            _ => ("writes", "reads"),
        };
        write!(out, "{function}: {second} {does} {unit} before {first} {of} it: ")?;
        match missing {
            Missing::Cycles { elapsed, needed } => write!(out, "{elapsed} cycles pass, {needed} are needed"),
            Missing::Wait(barrier) => write!(out, "nothing waits for barrier {barrier}"),
            Missing::Barrier => out.write_str("no barrier covers it"),
            Missing::Value => out.write_str("the cache holds another value"),
        }
    }
}

/// The hazards of a function, by the offset of the second instruction: one for each pair and kind. Empty if its
/// scheduling control covers every register.
pub fn check(code: &Code) -> Vec<Hazard> {
    let mut found: Vec<(usize, usize, Hazard)> = Vec::new();
    walk(code, &mut |meeting| {
        let Some(missing) = missing(code, meeting) else { return };
        let (first, second) = (meeting.first, meeting.second);
        let is_known = |(a, b, hazard): &(usize, usize, Hazard)| (*a, *b, hazard.kind) == (first, second, meeting.kind);
        let known = found.iter_mut().rev().take_while(|(_, b, _)| *b == second).find(|known| is_known(known));
        if let Some((_, _, hazard)) = known {
            hazard.missing = hazard.missing.max(missing);
            return;
        }
        let place = |index| Place { offset: code.offset(index), text: code.text(index) };
        let (function, unit, kind) = (code.name.clone(), meeting.unit, meeting.kind);
        found.push((
            first,
            second,
            Hazard { kind, function, unit, first: place(first), second: place(second), missing },
        ));
    });
    found.sort_by_key(|(first, second, _)| (*second, *first));
    found.into_iter().map(|(_, _, hazard)| hazard).collect()
}

/// The hazards of all functions of a cubin.
///
/// # Errors
///
/// If the words of the SM are not known, or one of them is none.
pub fn check_cubin(cubin: &Cubin) -> Result<Vec<Hazard>, Unread> {
    let mut found = Vec::new();
    for function in &cubin.functions {
        found.extend(check(&Code::of(cubin, function)?));
    }
    Ok(found)
}

/// What is missing where two instructions meet; `None` where enough time passes.
fn missing(code: &Code, meeting: &Meeting) -> Option<Missing> {
    if meeting.kind == Kind::Reuse {
        return Some(Missing::Value);
    }
    if !meeting.is_fixed {
        return Some(meeting.barrier.map_or(Missing::Barrier, Missing::Wait));
    }
    let (elapsed, needed) = (meeting.elapsed, latency::fewest(&latency::keys(code, meeting))?);
    (elapsed < needed).then_some(Missing::Cycles { elapsed, needed })
}
