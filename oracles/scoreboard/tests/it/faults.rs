//! Planted faults: scheduling control of ptxas's code with one thing missing.
//!
//! A fault is neutral where nothing is lost: the stall had slack, the wait was for what is done anyway, the register in
//! the cache is not overwritten. The [`twin`] tells: it executes words along random ways with a ready time for each
//! register and counters for the barriers, and knows the closest meetings of ptxas's code by mnemonics. It shares the
//! reading of words with the check, but no data flow and no table.

use std::collections::BTreeMap;

use crate::{common, twin};
use oriole_sass::{Table, with_schedule};
use oriole_scoreboard::{Code, check};

use crate::common::Random;

/// Faults that are planted.
const FAULTS: usize = 2000;

/// Changes one thing of the words at a place; `None` if there is nothing to change.
type Plant = fn(&Table, &mut [u128], usize, &mut Random) -> Option<()>;

fn schedule(words: &mut [u128], at: usize, change: impl FnOnce(&mut oriole_ir::Schedule) -> Option<()>) -> Option<()> {
    let mut schedule = oriole_sass::schedule(words[at]);
    change(&mut schedule)?;
    words[at] = with_schedule(words[at], &schedule)?;
    Some(())
}

fn shorter_stall(_: &Table, words: &mut [u128], at: usize, _: &mut Random) -> Option<()> {
    schedule(words, at, |it| {
        it.stall = it.stall.checked_sub(1)?;
        Some(())
    })
}

fn no_wait(_: &Table, words: &mut [u128], at: usize, random: &mut Random) -> Option<()> {
    schedule(words, at, |it| {
        let set: Vec<u8> = (0..6).filter(|bit| it.wait_mask >> bit & 1 == 1).collect();
        it.wait_mask &= !(1 << set.get(random.below(set.len()))?);
        Some(())
    })
}

/// Two instructions that set write barriers exchange them.
fn exchanged_barriers(_: &Table, words: &mut [u128], at: usize, _: &mut Random) -> Option<()> {
    let own = oriole_sass::schedule(words[at]).write_barrier?;
    let other = |word: &u128| oriole_sass::schedule(*word).write_barrier.filter(|barrier| *barrier != own);
    let (distance, barrier) = words[at + 1..].iter().zip(1..).find_map(|(word, far)| Some((far, other(word)?)))?;
    schedule(words, at, |it| {
        it.write_barrier = Some(barrier);
        Some(())
    })?;
    schedule(words, at + distance, |it| {
        it.write_barrier = Some(own);
        Some(())
    })
}

fn no_read_barrier(_: &Table, words: &mut [u128], at: usize, _: &mut Random) -> Option<()> {
    schedule(words, at, |it| it.read_barrier.take().map(|_| ()))
}

fn no_write_barrier(_: &Table, words: &mut [u128], at: usize, _: &mut Random) -> Option<()> {
    schedule(words, at, |it| it.write_barrier.take().map(|_| ()))
}

/// A register is marked that was not.
fn more_reuse(table: &Table, words: &mut [u128], at: usize, random: &mut Random) -> Option<()> {
    let parts = &table.find(words[at])?.parts;
    let free: Vec<u8> =
        parts.iter().map(|part| part.reuse).filter(|bit| *bit < 128 && words[at] >> bit & 1 == 0).collect();
    words[at] |= 1 << free.get(random.below(free.len()))?;
    Some(())
}

const KINDS: &[(&str, Plant)] = &[
    ("one stall less", shorter_stall),
    ("a wait bit cleared", no_wait),
    ("two barriers exchanged", exchanged_barriers),
    ("a read barrier dropped", no_read_barrier),
    ("a write barrier dropped", no_write_barrier),
    ("a reuse bit too many", more_reuse),
];

/// ptxas's own code does no harm, so what the twin finds behind a fault is the fault's.
#[test]
fn the_twin_finds_nothing_in_ptxas_code() {
    let functions: Vec<_> = functions();
    let closest = twin::closest(&functions);
    let mut random = Random(5);
    let mut found = Vec::new();
    for file in &functions {
        let (code, at) = (file.code(), random.below(file.words.len()));
        let harm = twin::harm(&code, at, &closest, &mut random);
        found.extend(harm.map(|harm| format!("{} {}: {harm}", file.name, file.function)));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The optimized functions, but for products of warpgroups, which the twin does not follow.
fn functions() -> Vec<common::FunctionOf> {
    let is_wanted = |file: &common::FunctionOf| !file.name.contains(".O0.") && !file.name.contains("wgmma");
    common::functions().into_iter().filter(is_wanted).collect()
}

/// How many faults of a kind were planted, do harm, and do harm and are found.
#[derive(Clone, Copy, Default, Debug)]
struct Count {
    planted: usize,
    harmful: usize,
    found: usize,
    /// The check reports them, the twin does not.
    beyond: usize,
}

#[test]
fn planted_faults_are_found() {
    let functions = functions();
    let closest = twin::closest(&functions);
    let (mut random, mut counts, mut missed) = (Random(7), BTreeMap::<&str, Count>::new(), Vec::new());
    let mut planted = 0;
    while planted < FAULTS {
        let file = &functions[random.below(functions.len())];
        let (kind, plant) = KINDS[planted % KINDS.len()];
        let (mut words, table) = (file.words.clone(), Table::of(file.sm).expect("the SM is known"));
        let at = random.below(words.len());
        if plant(table, &mut words, at, &mut random).is_none() {
            continue;
        }
        planted += 1;
        let code = Code::new(file.sm, &file.function, file.start, &words, &file.indirect).expect("words stay words");
        let is_found = !check(&code).is_empty();
        let harm = twin::harm(&code, at, &closest, &mut random);
        let count = counts.entry(kind).or_default();
        count.planted += 1;
        count.harmful += usize::from(harm.is_some());
        count.found += usize::from(harm.is_some() && is_found);
        count.beyond += usize::from(harm.is_none() && is_found);
        if let Some(harm) = harm.filter(|_| !is_found) {
            missed.push(format!("{} {}, {kind} at {:#x}: {harm}", file.name, file.function, code.offset(at)));
        }
    }
    for (kind, count) in &counts {
        println!("{kind}: {count:?}");
    }
    missed.iter().for_each(|missed| println!("missed: {missed}"));
    for (kind, count) in &counts {
        assert!(count.harmful >= 8, "{kind}: only {} do harm", count.harmful);
    }
    let (harmful, found): (usize, usize) = counts.values().fold((0, 0), |(a, b), it| (a + it.harmful, b + it.found));
    assert!(found * 100 >= harmful * 99, "{found} of {harmful} harmful faults are found:\n{}", missed.join("\n"));
}
