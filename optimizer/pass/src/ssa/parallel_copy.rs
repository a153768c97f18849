//! Parallel copies in sequence.
//!
//! A parallel copy reads all its sources before it writes any destination. In sequence, a copy whose destination nobody
//! still reads goes first; what is left then is cycles alone, each opened by saving one register.

use std::collections::HashMap;

use oriole_ir::{Operand, Reg};

/// The same effect as that of all copies at once, in order. `fresh` makes a register like the given one.
///
/// # Panics
/// If two copies have the same destination.
pub fn sequentialise(copies: &[(Reg, Operand)], mut fresh: impl FnMut(Reg) -> Reg) -> Vec<(Reg, Operand)> {
    let moving: Vec<(Reg, Operand)> = copies.iter().filter(|(dst, src)| *src != Operand::Reg(*dst)).copied().collect();
    let writer: HashMap<Reg, usize> = moving.iter().enumerate().map(|(i, (dst, _))| (*dst, i)).collect();
    assert_eq!(writer.len(), moving.len(), "the destinations of a parallel copy differ");
    // By copy: the copy that overwrites what it reads.
    let overwritten_by: Vec<Option<usize>> = moving.iter().map(|(_, src)| writer.get(&src.reg()?).copied()).collect();
    let mut readers = vec![0; moving.len()];
    overwritten_by.iter().flatten().for_each(|copy| readers[*copy] += 1);

    let mut sequence = Vec::with_capacity(moving.len());
    let mut done = vec![false; moving.len()];
    let mut ready: Vec<usize> = (0..moving.len()).rev().filter(|copy| readers[*copy] == 0).collect();
    while let Some(copy) = ready.pop() {
        sequence.push(moving[copy]);
        done[copy] = true;
        if let Some(next) = overwritten_by[copy] {
            readers[next] -= 1;
            if readers[next] == 0 {
                ready.push(next);
            }
        }
    }
    for start in 0..moving.len() {
        if !done[start] {
            open_cycle(start, &moving, &overwritten_by, &mut done, &mut sequence, &mut fresh);
        }
    }
    sequence
}

/// Each copy of a cycle is read by exactly one other. The first destination is saved, and the copy that reads it reads
/// the saved value.
fn open_cycle(
    start: usize,
    moving: &[(Reg, Operand)],
    overwritten_by: &[Option<usize>],
    done: &mut [bool],
    sequence: &mut Vec<(Reg, Operand)>,
    fresh: &mut impl FnMut(Reg) -> Reg,
) {
    let first = moving[start].0;
    let saved = fresh(first);
    sequence.push((saved, Operand::Reg(first)));
    let mut copy = start;
    while !std::mem::replace(&mut done[copy], true) {
        let (dst, src) = moving[copy];
        let src = match src {
            Operand::Reg(reg) if reg == first => Operand::Reg(saved),
            Operand::Word(reg, word) if reg == first => Operand::Word(saved, word),
            other => other,
        };
        sequence.push((dst, src));
        copy = overwritten_by[copy].expect("a copy that is not ready is part of a cycle");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reg(number: u32) -> Reg {
        Reg::from_u32(number)
    }

    /// The content of registers 0 to 99 after copies of numbers in sequence.
    fn run(sequence: &[(Reg, Operand)]) -> Vec<u64> {
        let mut content: Vec<u64> = (0..100).collect();
        for (dst, src) in sequence {
            content[dst.as_u32() as usize] = read(&content, *src);
        }
        content
    }

    fn read(content: &[u64], operand: Operand) -> u64 {
        match operand {
            Operand::Reg(reg) => content[reg.as_u32() as usize],
            Operand::Word(reg, word) => content[reg.as_u32() as usize] ^ (u64::from(word) << 8),
            Operand::Const { offset, .. } => u64::from(offset),
            other => panic!("{other:?} is not copied here"),
        }
    }

    #[test]
    fn a_swap_takes_one_more_register() {
        let copies = [(reg(1), Operand::Reg(reg(2))), (reg(2), Operand::Reg(reg(1)))];
        let sequence = sequentialise(&copies, |_| reg(50));
        assert_eq!(sequence.len(), 3);
        assert_eq!(run(&sequence)[1..3], [2, 1]);
    }

    #[test]
    fn chains_and_self_copies_take_none() {
        let copies = [(reg(1), Operand::Reg(reg(2))), (reg(2), Operand::Reg(reg(3))), (reg(4), Operand::Reg(reg(4)))];
        let sequence = sequentialise(&copies, |_| panic!("no cycle"));
        assert_eq!(sequence, copies[..2]);
    }

    proptest! {
        #[test]
        fn effect_is_that_of_all_at_once(
            sources in prop::collection::vec((0u32..12, 0u8..4), 12),
            chosen in prop::collection::vec(any::<bool>(), 12),
        ) {
            let source = |(number, kind): (u32, u8)| match kind {
                0 => Operand::Word(reg(number), 1),
                1 => Operand::constant(0, number + 1000),
                _ => Operand::Reg(reg(number)),
            };
            let taken = (0..12).filter(|i| chosen[*i]);
            let copies: Vec<(Reg, Operand)> = taken.map(|i| (reg(i as u32), source(sources[i]))).collect();
            let mut next = 12;
            let sequence = sequentialise(&copies, |_| { next += 1; reg(next) });
            let (before, after) = (run(&[]), run(&sequence));
            for number in 0..12 {
                let copy = copies.iter().find(|(dst, _)| *dst == reg(number));
                let expected = copy.map_or(u64::from(number), |(_, src)| read(&before, *src));
                prop_assert_eq!(after[number as usize], expected);
            }
        }
    }
}
