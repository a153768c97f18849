//! The loop that executes a group of lanes, with the operations that code is full of.
//!
//! The loop is compiled once as the target has it and twice for wider vectors; the processor chooses. Operations that
//! it does not know itself go to [`Machine::execute`], and so do rare forms of those that it knows: with carries, say.
//! That has a general way for each form; a test holds the quick ways against it over operands, marks and masks.

use oriole_interp::Cause;
#[cfg(target_arch = "x86_64")]
use oriole_semantics::processor::{Vectors, vectors};

use super::lanes::{LANES, Lanes, blend, each_body, mask_body};
use super::machine::{Cta, Machine, Stop};
use super::program::*;
use super::state::Warp;

/// How an operation ends.
pub enum Next {
    /// The group continues behind it.
    Behind,
    /// The group continues elsewhere, or somewhere else in part: the groups of the warp say.
    Elsewhere,
}

/// Versions of the loop for the features of processors.
macro_rules! versions {
    ($($name:ident $(#[$feature:meta])?),*) => {
        $(
            $(#[$feature])?
            fn $name(machine: &mut Machine<'_>, cta: &mut Cta, warp: usize, at: usize) -> Result<bool, Stop> {
                group_loop(machine, cta, warp, at)
            }
        )*
    };
}

#[cfg(target_arch = "x86_64")]
versions! {
    group_baseline,
    group_avx2 #[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,lzcnt")],
    group_avx512 #[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl")]
}
#[cfg(not(target_arch = "x86_64"))]
versions! { group_baseline }

impl Machine<'_> {
    /// Executes a group until it waits, ends, splits, or has had its slice; whether that is over.
    pub fn run_group(&mut self, cta: &mut Cta, warp: usize, at: usize) -> Result<bool, Stop> {
        // SAFETY: the features that each version is compiled for have just been found.
        #[cfg(target_arch = "x86_64")]
        match vectors() {
            Vectors::Avx512 => return unsafe { group_avx512(self, cta, warp, at) },
            Vectors::Avx2 => return unsafe { group_avx2(self, cta, warp, at) },
            Vectors::Baseline => {}
        }
        group_baseline(self, cta, warp, at)
    }
}

/// Invariant: between two operations of the quick kind, the group's place is in `group` alone; before any other,
/// and at the end, it is in the warp as well.
#[inline(always)]
fn group_loop(machine: &mut Machine<'_>, cta: &mut Cta, warp: usize, at: usize) -> Result<bool, Stop> {
    let (program, literals) = (machine.program, machine.literals);
    cta.warps[warp].current = None;
    let mut group = cta.warps[warp].groups[at];
    for _ in 0..machine.slice {
        machine.executed += 1;
        if machine.executed > machine.budget {
            return Err(Stop::Steps);
        }
        let Some(op) = program.ops.get(group.pc as usize) else {
            let cause = Cause::BadCall("no code is there".to_owned());
            return Err(Stop::Trap { pc: group.pc, lane: group.mask.trailing_zeros(), cause });
        };
        let w = &mut cta.warps[warp];
        let active = group.mask & w.pred(op.guard);
        if let Some(counts) = &mut machine.counts {
            counts.cycles += w.clock.issue(&counts.times[group.pc as usize]);
            if active != 0 {
                let (warps, threads) = &mut counts.executed[group.pc as usize];
                (*warps, *threads) = (*warps + 1, *threads + u64::from(active.count_ones()));
            }
        }
        if active == 0 || quick(w, literals, &op.kind, active) {
            group.pc += 1;
            continue;
        }
        if let Kind::Branch(to, condition) = &op.kind
            && w.groups.len() == 1
        {
            let taken = active & w.pred(*condition);
            if taken == group.mask || taken == 0 {
                group.pc = if taken == 0 { group.pc + 1 } else { *to };
                continue;
            }
        }
        w.groups[at].pc = group.pc;
        match machine.execute(cta, warp, at, group, active, &op.kind)? {
            Next::Behind => cta.warps[warp].groups[at].pc += 1,
            Next::Elsewhere => return Ok(false),
        }
        group = cta.warps[warp].groups[at];
    }
    let w = &mut cta.warps[warp];
    w.groups[at].pc = group.pc;
    w.current = Some(group.mask);
    Ok(true)
}

/// Executes one of the operations that code is full of; whether it is one.
#[inline(always)]
pub fn quick(w: &mut Warp, literals: &[Lanes], kind: &Kind, active: u32) -> bool {
    let mut rooms = [[0; LANES]; 3];
    let [first, second, third] = &mut rooms;
    let (dst, result) = match kind {
        Kind::Nop => return true,
        Kind::One(f, dst, a) => (*dst, f(operand(w, literals, *a, first))),
        Kind::Two(f, dst, [a, b]) => (*dst, f(operand(w, literals, *a, first), operand(w, literals, *b, second))),
        Kind::Three(f, dst, [a, b, c]) => {
            let (a, b) = (operand(w, literals, *a, first), operand(w, literals, *b, second));
            (*dst, f(a, b, operand(w, literals, *c, third)))
        }
        Kind::Lop3 { dst, srcs: [a, b, c], table, test: None } => {
            let (a, b) = (operand(w, literals, *a, first), operand(w, literals, *b, second));
            (*dst, logic(a, b, operand(w, literals, *c, third), *table))
        }
        Kind::Select(dst, [a, b], pred) => {
            let mut result = *operand(w, literals, *b, second);
            blend(&mut result, operand(w, literals, *a, first), w.pred(*pred));
            (*dst, result)
        }
        Kind::Add3 { dst, carries: [NOWHERE, NOWHERE], srcs: [a, b, c], more: [None, None] } => {
            let (a, b) = (operand(w, literals, *a, first), operand(w, literals, *b, second));
            let c = operand(w, literals, *c, third);
            (*dst, each_body(|lane| a[lane].wrapping_add(b[lane]).wrapping_add(c[lane])))
        }
        Kind::Mad(Product { dst, carry: NOWHERE, srcs: [a, b, c, _], part: Part::Low, more: None, .. }) => {
            let (a, b) = (operand(w, literals, *a, first), operand(w, literals, *b, second));
            let c = operand(w, literals, *c, third);
            (*dst, each_body(|lane| a[lane].wrapping_mul(b[lane]).wrapping_add(c[lane])))
        }
        Kind::Compare { dsts, srcs: [a, b], compare, signed, combine: (combine, with), lower: None } => {
            let (a, b) = (operand(w, literals, *a, first), operand(w, literals, *b, second));
            let holds = compared(a, b, *compare, *signed);
            let with = w.pred(*with);
            w.set_pred(dsts[0], combine.of(holds, with), active);
            w.set_pred(dsts[1], combine.of(!holds, with), active);
            return true;
        }
        _ => return false,
    };
    w.write(dst, &result, active);
    true
}

/// An operand in every lane: the row itself, or what its mark makes of it, in a place for that.
#[inline(always)]
fn operand<'a>(w: &'a Warp, literals: &'a [Lanes], src: Src, room: &'a mut Lanes) -> &'a Lanes {
    let row = match src.row.checked_sub(LITERALS) {
        Some(literal) => &literals[usize::from(literal)],
        None => &w.rows[usize::from(src.row)],
    };
    *room = match src.mark {
        Mark::Plain => return row,
        Mark::Negate => each_body(|lane| row[lane].wrapping_neg()),
        Mark::Invert => each_body(|lane| !row[lane]),
        Mark::Bits { keep, flip } => each_body(|lane| row[lane] & keep ^ flip),
    };
    room
}

/// A logical function by its table; the usual ones stand by themselves.
#[inline(always)]
fn logic(a: &Lanes, b: &Lanes, c: &Lanes, table: u8) -> Lanes {
    match table {
        0xc0 => each_body(|lane| a[lane] & b[lane]),
        0xfc => each_body(|lane| a[lane] | b[lane]),
        0x3c => each_body(|lane| a[lane] ^ b[lane]),
        0x33 => each_body(|lane| !b[lane]),
        0x96 => each_body(|lane| a[lane] ^ b[lane] ^ c[lane]),
        0xe8 => each_body(|lane| a[lane] & b[lane] | c[lane] & (a[lane] | b[lane])),
        0xb8 => each_body(|lane| a[lane] ^ b[lane] & (a[lane] ^ c[lane])),
        0xca => each_body(|lane| c[lane] ^ a[lane] & (b[lane] ^ c[lane])),
        0xf8 => each_body(|lane| a[lane] | b[lane] & c[lane]),
        0xe2 => each_body(|lane| c[lane] ^ b[lane] & (a[lane] ^ c[lane])),
        _ => {
            // A choice by c between each two neighbours in the table, by b between those, and by a.
            let bit = |at: u32| u32::from(table >> at & 1).wrapping_neg();
            let pairs: [(u32, u32); 4] = std::array::from_fn(|at| {
                let even = bit(2 * at as u32);
                (even, even ^ bit(2 * at as u32 + 1))
            });
            each_body(|lane| {
                let by_c = |at: usize| pairs[at].0 ^ c[lane] & pairs[at].1;
                let by_b = |at: usize| by_c(at) ^ b[lane] & (by_c(at) ^ by_c(at + 1));
                by_b(0) ^ a[lane] & (by_b(0) ^ by_b(2))
            })
        }
    }
}

/// The lanes in which a comparison holds.
#[inline(always)]
fn compared(a: &Lanes, b: &Lanes, compare: Compare, signed: bool) -> u32 {
    let flip = if signed { 1 << 31 } else { 0 };
    let less = || mask_body(|lane| (a[lane] ^ flip) < (b[lane] ^ flip));
    let equal = || mask_body(|lane| a[lane] == b[lane]);
    let greater = || mask_body(|lane| (a[lane] ^ flip) > (b[lane] ^ flip));
    match compare {
        Compare::False => 0,
        Compare::Lt => less(),
        Compare::Eq => equal(),
        Compare::Le => !greater(),
        Compare::Gt => greater(),
        Compare::Ne => !equal(),
        Compare::Ge => !less(),
        Compare::True => u32::MAX,
    }
}
