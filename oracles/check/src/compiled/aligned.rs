//! What the thread that stored a wrong byte did, in the PTX and in the code, side by side.
//!
//! Both executions of the thread end at the store, and what it does not depend on is left out. In front of it,
//! operations that made the same value are in one line, as many as can in their order (the longest common
//! subsequence of the values), and between these lines what was executed there on either side. So what the PTX made
//! and the code did not is beside other values, or beside nothing.

use oriole_interp::{Executable, LaneOrder, Place, RunOptions, StoreRecord, TraceEvent};
use oriole_sass::cubin::Cubin;
use schemars::JsonSchema;
use serde::Serialize;

use super::slice::{self, Roots};
use crate::cases::Case;

/// Operations in front of the store that are looked at, on each side.
const LOOK_BACK: usize = 4096;
/// Of these, steps that are compared with those of the other side: the work grows with their product.
const COMPARED: usize = 512;
/// Lines that are kept, the last ones.
const LINES: usize = 32;

/// An operation of one side.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize)]
pub struct Step {
    /// The instruction.
    pub text: String,
    /// Its first result.
    pub value: Option<u64>,
}

/// A line: an operation of the PTX beside one of the code.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize)]
pub struct Line {
    /// Of the PTX.
    pub ptx: Option<Step>,
    /// Of the code.
    pub code: Option<Step>,
    /// Whether both made the same value; else they merely are beside each other.
    pub same: bool,
}

/// The last lines of the threads that stored a byte, by the PTX and by the code, up to these stores. Where a thread
/// executes its store again for other bytes, they end with the last time. Where one side has no such store, it is the
/// thread of the other to its end, and on both sides conditions and what they depend on are there, too.
pub fn lines(
    original: &Executable<'_>,
    case: &Case<'_>,
    cubin: &Cubin,
    [ptx, code]: [Option<&StoreRecord>; 2],
    lanes: LaneOrder,
) -> Vec<Line> {
    let Some(any) = ptx.or(code) else { return Vec::new() };
    let thread = |store: Option<&StoreRecord>| Some(store.unwrap_or(any).thread);
    let options = |store| RunOptions { trace: thread(store), ..RunOptions::default() };
    let Some(by_ptx) = case.judge.run_again(original.module(), &options(ptx)) else { return Vec::new() };
    let Ok(by_code) = case.judge.run_code(original, cubin, &RunOptions { lanes, ..options(code) }) else {
        return Vec::new();
    };
    // Registers of PTX are those of a function; code has one set of them. A thread ends in its kernel.
    let mut trace = by_ptx.trace;
    let last = trace.last().map(|event| &event.place);
    let function = ptx.map(|store| &store.place).or(last).map(|place| place.function.clone());
    trace.retain(|event| Some(&event.place.function) == function.as_ref());
    let roots = if ptx.is_some() && code.is_some() { Roots::Last } else { Roots::Conditions };
    let place = |store: Option<&StoreRecord>| store.map(|store| store.place.clone());
    let mut lines = aligned(&until(&trace, place(ptx), roots), &until(&by_code.trace, place(code), roots));
    lines.split_off(lines.len().saturating_sub(LINES))
}

/// The last steps that a store, or the end of a thread, depends on, and itself.
fn until(trace: &[TraceEvent], store: Option<Place>, roots: Roots) -> Vec<Step> {
    let end = match store {
        Some(store) => trace.iter().rposition(|event| event.place == store).map_or(0, |at| at + 1),
        None => trace.len(),
    };
    let steps = trace[end.saturating_sub(LOOK_BACK)..end].iter();
    let steps = steps.map(|event| Step { text: event.place.text.clone(), value: event.value }).collect();
    let mut steps = slice::of(steps, roots);
    steps.split_off(steps.len().saturating_sub(COMPARED))
}

/// Two sequences side by side. Their last operations, which are the stores or the ends, are one line.
fn aligned(ptx: &[Step], code: &[Step]) -> Vec<Line> {
    let (Some((last_ptx, ptx)), Some((last_code, code))) = (ptx.split_last(), code.split_last()) else {
        return Vec::new();
    };
    // The longest common subsequence of what begins at a place of the one and a place of the other.
    let mut longest = vec![vec![0u32; code.len() + 1]; ptx.len() + 1];
    for (i, one) in ptx.iter().enumerate().rev() {
        for (j, other) in code.iter().enumerate().rev() {
            longest[i][j] = match is_same(one, other) {
                true => longest[i + 1][j + 1] + 1,
                false => longest[i + 1][j].max(longest[i][j + 1]),
            };
        }
    }
    let (mut lines, mut gap) = (Vec::new(), [0..0, 0..0]);
    while let [i, j] = [gap[0].end, gap[1].end]
        && i < ptx.len()
        && j < code.len()
    {
        match is_same(&ptx[i], &code[j]) {
            true => {
                beside(&mut lines, &ptx[gap[0].clone()], &code[gap[1].clone()]);
                lines.push(Line { ptx: Some(ptx[i].clone()), code: Some(code[j].clone()), same: true });
                gap = [i + 1..i + 1, j + 1..j + 1];
            }
            false if longest[i + 1][j] >= longest[i][j + 1] => gap[0].end += 1,
            false => gap[1].end += 1,
        }
    }
    beside(&mut lines, &ptx[gap[0].start..], &code[gap[1].start..]);
    lines.push(Line { ptx: Some(last_ptx.clone()), code: Some(last_code.clone()), same: false });
    lines
}

/// Appends what is between two lines of equal values, so that both sides end together.
fn beside(lines: &mut Vec<Line>, ptx: &[Step], code: &[Step]) {
    let height = ptx.len().max(code.len());
    let at = |side: &[Step], row: usize| (row + side.len()).checked_sub(height).map(|at| side[at].clone());
    lines.extend((0..height).map(|row| Line { ptx: at(ptx, row), code: at(code, row), same: false }));
}

/// Whether both made a value, and the same: code has the words of 64 bits one by one, or together, and anything above a
/// half. Zeros are made for too many reasons to say anything.
fn is_same(ptx: &Step, code: &Step) -> bool {
    match (ptx.value, code.value) {
        (Some(one), Some(other)) if one != 0 && other != 0 => {
            let [half, word] = [u64::from(u16::MAX), u64::from(u32::MAX)];
            one == other || one & word == other || one <= half && other <= word && other & half == one
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(values: &[u64]) -> Vec<Step> {
        values.iter().enumerate().map(|(at, value)| Step { text: at.to_string(), value: Some(*value) }).collect()
    }

    #[test]
    fn equal_values_stand_in_one_line() {
        let lines = aligned(&steps(&[1, 5, 2, 3, 8, 9, 4]), &steps(&[7, 1, 2, 4, 3, 5, 6, 8]));
        let value = |side: &Option<Step>| side.as_ref().and_then(|step| step.value).unwrap_or_default();
        let seen: Vec<(u64, u64, bool)> =
            lines.iter().map(|line| (value(&line.ptx), value(&line.code), line.same)).collect();
        let expected = [
            (0, 7, false),
            (1, 1, true),
            (5, 0, false),
            (2, 2, true),
            (0, 4, false),
            (3, 3, true),
            (8, 5, false),
            (9, 6, false),
            (4, 8, false),
        ];
        assert_eq!(seen, expected);
        assert_eq!(aligned(&[], &steps(&[1])), []);
    }

    #[test]
    fn the_low_word_of_a_pair_is_the_same() {
        let [pair, low, high, above, none, zero] =
            [Some(0x5_0000_0007), Some(7), Some(5), Some(0x9_0007), None, Some(0)]
                .map(|value| Step { text: String::new(), value });
        assert!(is_same(&pair, &pair) && is_same(&pair, &low) && !is_same(&pair, &high) && !is_same(&low, &pair));
        assert!(is_same(&low, &above) && !is_same(&above, &low));
        assert!(!is_same(&none, &none) && !is_same(&zero, &zero));
    }
}
