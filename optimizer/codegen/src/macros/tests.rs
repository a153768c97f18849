//! Macro expansion on small functions: each step, what it must leave alone, and the fewest copies by trying them all.

use std::collections::BTreeMap;

use oriole_ir::{Guard, Operand, RegFile, RegInfo};
use oriole_sass::Table;

use super::*;
use crate::select::Selected;
use crate::sketch::Sketch;

impl Sketch {
    fn value(&mut self) -> Reg {
        self.loaded(0).whole_reg().expect("a value is in a register")
    }

    /// A group of values, stored.
    fn stored(&mut self, values: &[Reg]) -> Reg {
        let group = self.func.new_reg(RegInfo::words(values.len() as u8));
        for (word, value) in (0..).zip(values) {
            self.copy(Operand::Word(group, word), Operand::Reg(*value));
        }
        self.store(if values.len() == 2 { ".64" } else { ".128" }, Operand::Reg(group));
        group
    }
}

fn copies(func: &Function) -> usize {
    func.layout_insts().filter(|inst| func.mnemonic(*inst).is_some_and(|name| name == "MOV")).count()
}

/// Expands a function, and has it verified.
fn expanded(mut selected: Selected, distance: Option<u32>) -> (Selected, Expanded) {
    let before = verify::words_written(&selected.func);
    let count = copies(&selected.func);
    let meaning = meaning(&selected.func);
    let done = expand(&mut selected, distance);
    assert_eq!(copies(&selected.func) + done.total(), count, "copies alone go, and are counted");
    let table = Table::of(90).expect("it is known");
    let wrong = verify::check(&selected, table, distance, &|reg, word| before.contains(&(reg, word)));
    assert_eq!(wrong, [], "{}", selected.func.layout_insts().count());
    assert_eq!(self::meaning(&selected.func), meaning, "what is stored is another value");
    (selected, done)
}

/// By store the values that it stores: the loads that they come from. Guards are taken to hold.
fn meaning(func: &Function) -> Vec<Vec<u32>> {
    let mut held: BTreeMap<(Reg, u8), u32> = BTreeMap::new();
    let (mut stores, mut fresh) = (Vec::new(), 0);
    for inst in func.layout_insts() {
        let name = func.mnemonic(inst).unwrap_or_default();
        let of = |operand: Operand| -> Vec<(Reg, u8)> {
            facts::words(func, operand).map(|(reg, words)| words.map(|word| (reg, word)).collect()).unwrap_or_default()
        };
        if name.starts_with("LDS") {
            for word in of(func.dsts(inst)[0]) {
                fresh += 1;
                held.insert(word, fresh);
            }
        } else if name == "MOV" {
            let from = of(func.srcs(inst)[0]);
            let value = from.first().map_or(Some(0), |from| held.get(from).copied());
            held.extend(value.map(|value| (of(func.dsts(inst)[0])[0], value)));
        } else if name.starts_with("STS") {
            let words = of(func.srcs(inst)[2]).into_iter();
            stores.push(words.map(|word| held.get(&word).copied().unwrap_or(u32::MAX)).collect());
        }
    }
    stores
}

#[test]
fn values_are_made_in_their_group() {
    let mut made = Sketch::new();
    let values = [(); 4].map(|()| made.value());
    made.stored(&values);
    let (after, done) = expanded(made.end(), Some(DISTANCE));
    assert_eq!((done.in_place, copies(&after.func)), (4, 0));
}

#[test]
fn chains_are_taken_whole() {
    // A quad is loaded, its words become values, and the same quad is stored.
    let mut made = Sketch::new();
    let quad = made.func.new_reg(RegInfo::words(4));
    made.load(".128", Operand::Reg(quad), 0);
    let values = [0, 1, 2, 3].map(|word| {
        let value = made.func.new_reg(RegInfo::words(1));
        made.copy(Operand::Reg(value), Operand::Word(quad, word));
        value
    });
    made.stored(&values);
    let (after, done) = expanded(made.end(), Some(DISTANCE));
    assert_eq!((done.chains, copies(&after.func)), (8, 0));
    // With two words exchanged the group is another one, and none of its copies goes.
    let mut made = Sketch::new();
    let quad = made.func.new_reg(RegInfo::words(4));
    made.load(".128", Operand::Reg(quad), 0);
    let group = made.func.new_reg(RegInfo::words(4));
    for (to, from) in [(0, 1), (1, 0), (2, 2), (3, 3)] {
        made.copy(Operand::Word(group, to), Operand::Word(quad, from));
    }
    made.store(".128", Operand::Reg(group));
    let (after, _) = expanded(made.end(), None);
    assert_eq!(copies(&after.func), 4);
}

#[test]
fn equal_groups_are_one_within_the_distance() {
    let function = |between: usize| {
        let mut made = Sketch::new();
        let values = [(); 2].map(|()| made.value());
        // A variable beside them: it has two definitions, so it stays where it is.
        let variable = made.func.new_reg(RegInfo::words(1));
        (0..2).for_each(|_| made.load("", Operand::Reg(variable), 0));
        made.stored(&values);
        (0..between).for_each(|_| made.store("", Operand::Reg(variable)));
        made.stored(&values);
        made.end()
    };
    // The store of the first group lies between them, too.
    let (after, done) = expanded(function(6), Some(7));
    assert_eq!((done.equal, copies(&after.func)), (2, 0));
    let (_, done) = expanded(function(7), Some(7));
    assert_eq!(done.equal, 0, "they are too far from each other");
    let (after, done) = expanded(function(7), Some(0));
    assert_eq!((done, copies(&after.func)), (Expanded::default(), 4));
    let (after, _) = expanded(function(100), None);
    assert_eq!(copies(&after.func), 0);
}

#[test]
fn a_value_far_away_is_copied() {
    let function = |between: usize| {
        let mut made = Sketch::new();
        let values = [(); 2].map(|()| made.value());
        let other = made.value();
        (0..between).for_each(|_| made.store("", Operand::Reg(other)));
        made.stored(&values);
        made.end()
    };
    assert_eq!(expanded(function(4), Some(7)).1.in_place, 2);
    // The first value is one instruction further away, the second copy again as many.
    assert_eq!(expanded(function(8), Some(7)).1.in_place, 0);
}

/// A variable, a value under a guard, a value in two places, and registers that have their place.
#[test]
fn what_is_no_value_stays() {
    let mut made = Sketch::new();
    let variable = made.value();
    made.load("", Operand::Reg(variable), 0);
    let other = made.value();
    made.stored(&[variable, other]);
    let (after, done) = expanded(made.end(), None);
    assert_eq!((done.in_place, copies(&after.func)), (1, 1), "the variable is copied");

    let mut made = Sketch::new();
    let (value, condition) = (made.value(), made.func.new_reg(RegInfo::PRED));
    let group = made.func.new_reg(RegInfo::words(2));
    let (lanes, zero) = (made.func.imm(15), Operand::wired(RegFile::R, 1));
    let guard = Some(Guard::new(condition, false));
    made.guarded("MOV", guard, &[Operand::Word(group, 0)], &[Operand::Reg(value), lanes]);
    made.copy(Operand::Word(group, 1), zero);
    made.store(".64", Operand::Reg(group));
    let (after, done) = expanded(made.end(), None);
    assert_eq!((done, copies(&after.func)), (Expanded::default(), 2));

    let mut made = Sketch::new();
    let (one, two) = (made.value(), made.value());
    made.stored(&[one, two]);
    let mut selected = made.end();
    selected.fixed = vec![(one, 4)];
    let (after, done) = expanded(selected, None);
    assert_eq!((done.in_place, copies(&after.func)), (1, 1), "it has a place that it is put into");
}

#[test]
fn codes_are_those_of_the_document() {
    let word = |word: u8| Constraint::Word { group: Reg::from_u32(1), word, width: 4 };
    assert_eq!(
        [Constraint::Free, word(0), word(2), word(1), Constraint::Conflict].map(Constraint::code),
        [0, -2, -2, -3, -1]
    );
    assert_eq!([Constraint::Free, word(3), Constraint::Conflict].map(Constraint::width), [0, 4, 0]);
    let all = [Constraint::Free, word(0), word(1), Constraint::Conflict];
    for one in all {
        for two in all {
            assert_eq!(one.meet(two), two.meet(one));
            assert_eq!(one.meet(one), one);
            for three in all {
                assert_eq!(one.meet(two).meet(three), one.meet(two.meet(three)));
            }
        }
    }
}

#[test]
fn rows_have_each_opcode_and_each_family_once() {
    let mut opcodes: Vec<u16> = roles::ROLES.iter().flat_map(|row| row.opcodes).copied().collect();
    opcodes.sort_unstable();
    assert_eq!(
        opcodes,
        [10, 18, 29, 36, 60, 62, 78, 79, 95, 96, 97, 130, 137, 149, 151, 190, 201, 202, 283, 290],
        "the 20 opcodes of the document"
    );
    let mut families: Vec<&str> = roles::ROLES.iter().flat_map(|row| row.families).copied().collect();
    let count = families.len();
    families.sort_unstable();
    families.dedup();
    assert_eq!(families.len(), count);
}

/// The fewest copies with which groups can be filled, by trying every set of copies that go.
///
/// A copy that goes makes one register of two. That is possible where no group then has one value in two of its words,
/// and no two words of different groups are one unless the groups are the same, word by word.
fn fewest(groups: &[Vec<usize>]) -> usize {
    let copies: Vec<(usize, usize, usize)> = groups
        .iter()
        .enumerate()
        .flat_map(|(group, values)| values.iter().enumerate().map(move |(word, value)| (group, word, *value)))
        .collect();
    let is_possible = |set: u32| {
        let gone = |at: usize| set >> at & 1 == 1;
        let taken: Vec<&(usize, usize, usize)> =
            copies.iter().enumerate().filter(|(at, _)| gone(*at)).map(|(_, copy)| copy).collect();
        taken.iter().all(|one| {
            taken.iter().all(|two| {
                let same_value = one.2 == two.2;
                let same_place = one.1 == two.1 && groups[one.0] == groups[two.0];
                !same_value || same_place
            })
        })
    };
    // Equal groups are one: all of their copies go, or those of one are left for all.
    let mut distinct: Vec<&Vec<usize>> = groups.iter().collect();
    distinct.sort();
    distinct.dedup();
    let sets = (0u32..1 << copies.len()).filter(|set| is_possible(*set));
    let left = |set: u32| {
        let mut words: Vec<(usize, usize)> = Vec::new();
        for (at, (group, word, _)) in copies.iter().enumerate() {
            let of = distinct.iter().position(|other| **other == groups[*group]).expect("it is one of them");
            if set >> at & 1 == 1 && !words.contains(&(of, *word)) {
                words.push((of, *word));
            }
        }
        distinct.iter().map(|group| group.len()).sum::<usize>() - words.len()
    };
    sets.map(left).min().unwrap_or(0)
}

/// Up to three pairs of three values, in every way: as few copies are left as can be.
#[test]
fn no_choice_of_copies_leaves_fewer() {
    let pairs: Vec<Vec<usize>> = (0..9).map(|number| vec![number / 3, number % 3]).collect();
    let mut cases: Vec<Vec<Vec<usize>>> = Vec::new();
    for first in &pairs {
        cases.push(vec![first.clone()]);
        for second in &pairs {
            cases.push(vec![first.clone(), second.clone()]);
            cases.extend(pairs.iter().map(|third| vec![first.clone(), second.clone(), third.clone()]));
        }
    }
    for groups in cases {
        let mut made = Sketch::new();
        let values = [(); 3].map(|()| made.value());
        for group in &groups {
            let of: Vec<Reg> = group.iter().map(|value| values[*value]).collect();
            made.stored(&of);
        }
        let (after, _) = expanded(made.end(), None);
        assert_eq!(copies(&after.func), fewest(&groups), "{groups:?}");
    }
}
