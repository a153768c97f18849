//! What one thread does, operation by operation.
//!
//! Its group executes one operation at a time; the registers of its lane are compared before and after. So the quick
//! loop needs to know nothing of traces.

use oriole_interp::{ThreadId, TraceEvent};

use super::machine::{Cta, Machine};
use super::program::{UNIFORM, ZERO};
use super::run::Names;
use super::state::Warp;

/// Operations that are kept.
const MOST: usize = 1 << 16;

/// A thread that is watched.
pub struct Tracing {
    ctaid: [u32; 3],
    /// Its number in the CTA.
    thread: u32,
    operations: Vec<Traced>,
}

/// What an operation did to the thread.
struct Traced {
    pc: u32,
    /// The registers that hold something else behind it, with what they hold.
    changed: Vec<(u16, u32)>,
    /// The predicates behind it, those of the warp above.
    predicates: u16,
}

/// The thread in front of an operation.
pub struct Front {
    lane: usize,
    pc: u32,
    registers: Vec<u32>,
}

impl Tracing {
    /// Of this thread of a launch.
    pub fn of(thread: ThreadId, block: [u32; 3]) -> Tracing {
        let [x, y, z] = thread.tid;
        let number = x + block[0] * (y + block[1] * z);
        Tracing { ctaid: thread.ctaid, thread: number, operations: Vec::new() }
    }

    /// The operations with what they made: the register that the text names first, in up to 64 bits.
    pub fn events(&self, names: &Names<'_>) -> Vec<TraceEvent> {
        let mut registers = vec![None; usize::from(ZERO)];
        let event = |Traced { pc, changed, predicates }: &Traced| {
            for (row, value) in changed {
                registers[usize::from(*row)] = Some(*value);
            }
            let place = names.place(*pc);
            let value = match destination(&place.text) {
                Some(Destination::Predicate(at)) => Some(u64::from(predicates >> at & 1)),
                Some(Destination::Register(row)) => {
                    // The register above is part of the result where it has changed with it, or the text says so.
                    let is_pair = is_wide(&place.text) || changed.iter().any(|(other, _)| *other == row + 1);
                    word_or_pair(&registers, row.into(), is_pair)
                }
                None => None,
            };
            TraceEvent { place, value }
        };
        self.operations.iter().map(event).collect()
    }
}

/// What a register holds, as far as that is known, together with the one above where both are a pair.
fn word_or_pair(registers: &[Option<u32>], row: usize, is_pair: bool) -> Option<u64> {
    let word = |row: usize| registers.get(row).copied().flatten().map(u64::from);
    let high = word(row + 1).filter(|_| is_pair).unwrap_or(0);
    word(row).map(|low| low | high << 32)
}

/// What an operation writes first.
#[derive(PartialEq, Eq, Debug)]
enum Destination {
    Register(u16),
    Predicate(u16),
}

/// The words of an operation's text, `/*0040*/ @P0 IMAD.WIDE R4, R2, R3, R4`, from its name on.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().skip(1).skip_while(|word| word.starts_with('@'))
}

/// Whether an operation's name says that it makes a pair.
fn is_wide(text: &str) -> bool {
    words(text).next().is_some_and(|name| [".WIDE", ".64"].iter().any(|mark| name.contains(mark)))
}

/// The first operand of an operation's text, where that is a register.
fn destination(text: &str) -> Option<Destination> {
    let operand = words(text).nth(1)?.trim_end_matches(',');
    let number = |prefix: &str| operand.strip_prefix(prefix)?.parse::<u16>().ok();
    let register = || number("R").or_else(|| number("UR").map(|at| UNIFORM + at));
    let predicate = || number("P").or_else(|| number("UP").map(|at| 8 + at));
    register().map(Destination::Register).or_else(|| predicate().map(Destination::Predicate))
}

impl Machine<'_> {
    /// The thread that is watched, where a group of it is about to execute an operation.
    pub fn front(&self, cta: &Cta, warp: usize, group: usize) -> Option<Front> {
        let tracing = self.trace.as_ref().filter(|tracing| tracing.ctaid == cta.ctaid)?;
        let w = &cta.warps[warp];
        let lane = tracing.thread.checked_sub(w.first).filter(|lane| *lane < 32)? as usize;
        let group = w.groups[group];
        let op = self.program.ops.get(group.pc as usize)?;
        let acts = (group.mask & w.pred(op.guard)) >> lane & 1 == 1;
        (acts && tracing.operations.len() < MOST).then(|| Front { lane, pc: group.pc, registers: registers(w, lane) })
    }

    /// Notes what the operation has done.
    pub fn note_operation(&mut self, Front { lane, pc, registers: before }: Front, w: &Warp) {
        let after = registers(w, lane);
        let changed = before.iter().zip(&after).enumerate().filter(|(_, (before, after))| before != after);
        let changed = changed.map(|(row, (_, after))| (row as u16, *after)).collect();
        let bit = |(at, mask): (usize, &u32)| ((mask >> lane & 1) as u16) << at;
        let predicates = w.preds.iter().take(16).enumerate().map(bit).fold(0, |all, bit| all | bit);
        if let Some(tracing) = &mut self.trace {
            tracing.operations.push(Traced { pc, changed, predicates });
        }
    }
}

/// The registers of a lane, those of the warp behind its own.
fn registers(w: &Warp, lane: usize) -> Vec<u32> {
    w.rows[..usize::from(ZERO)].iter().map(|row| row[lane]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::on_machine;

    /// Of a thread, what its lane executes; an operation whose condition does not hold there is none.
    #[test]
    fn a_thread_has_executed_what_its_lane_has() {
        let word = 0x004f_ca00_0380_0100_0000_0005_0405_720f;
        let first = (word, "VIMNMX3 R5, R4, R5, R0, PT");
        let second = (word & !(7 << 12), "@P0 VIMNMX3 R5, R4, R5, R0, PT");
        for (lane, operations) in [(3, [0, 1].to_vec()), (4, vec![0])] {
            let traced = on_machine(100, &[first, second], |machine, mut cta| {
                machine.trace = Some(Tracing::of(ThreadId { ctaid: [0; 3], tid: [lane, 0, 0] }, [32, 1, 1]));
                machine.slice = 1;
                let w = &mut cta.warps[0];
                [(4, 7), (5, 9), (0, 8)].into_iter().for_each(|(row, value)| w.rows[row] = [value; 32]);
                w.preds[0] = 1 << 3;
                while machine.turn(&mut cta).is_ok_and(|moved| moved) {}
                machine.trace.take().expect("it was set").operations
            });
            let behind = traced.iter().filter(|one| one.pc < 2);
            assert_eq!(behind.map(|one| one.pc).collect::<Vec<_>>(), operations, "lane {lane}");
            assert_eq!(traced[0].changed, [(5, 7)], "the smallest of 7, 9 and 8");
        }
    }

    #[test]
    fn pairs_have_both_words() {
        let registers = [Some(1), Some(2), None];
        let held =
            [(0, false), (0, true), (1, true), (2, false)].map(|(row, pair)| word_or_pair(&registers, row, pair));
        assert_eq!(held, [Some(1), Some(0x2_0000_0001), Some(2), None]);
    }

    #[test]
    fn what_is_written_first_is_the_first_operand() {
        let register = |at| Some(Destination::Register(at));
        assert_eq!(destination("/*0040*/ @!P0 IMAD.WIDE R4, R2, 0x4, R4"), register(4));
        assert!(is_wide("/*0040*/ @!P0 IMAD.WIDE R4, R2, 0x4, R4") && !is_wide("/*0050*/ LD.E R0, desc[UR4][R2.64]"));
        assert_eq!(destination("/*0050*/ R2UR UR5, R3"), register(UNIFORM + 5));
        assert_eq!(destination("/*0060*/ ISETP.GE.AND P2, PT, R5, R0, PT"), Some(Destination::Predicate(2)));
        for text in ["/*0070*/ STG.E desc[UR4][R2.64], R5", "/*0080*/ EXIT", "/*0090*/ IADD3 RZ, P0, R1, R2, RZ"] {
            assert_eq!(destination(text), None, "{text}");
        }
    }
}
