//! Small programs: straight code, branches, loops, barriers, guards.

use oriole_ir::Schedule;
use oriole_sass::row::{File, What};
use oriole_sass::{Table, with_schedule};
use oriole_scoreboard::{Code, Hazard, Kind, Missing, check};

const SM: u16 = 90;

/// A word of a mnemonic: a result, a source, and scheduling control. Other registers are those that are constant.
#[derive(Clone)]
struct Word(u128, Schedule);

fn word(name: &str, result: u64, source: u64) -> Word {
    let table = Table::of(SM).expect("it is known");
    let takes = |what: What| matches!(what, What::Register(File::R) | What::Base);
    let has_source = |parts: &[oriole_sass::row::Part]| parts.iter().any(|part| takes(part.what) && part.at.low > 16);
    let mut all = table.of_family(name).filter(|encoding| encoding.name == name);
    let encoding = all.find(|encoding| has_source(&encoding.parts)).expect("a form with registers");
    let mut word = encoding.value | 7 << 12;
    let mut sources = 0;
    for part in &encoding.parts {
        let is_register = takes(part.what);
        let value = match part.at.low {
            16 if is_register => Some(result),
            _ if is_register && sources == 0 => Some(source),
            _ => part.constant_number(),
        };
        sources += usize::from(is_register && part.at.low > 16);
        word = value.map_or(word, |value| part.put(word, value).expect("it fits"));
    }
    Word(word, Schedule { stall: 1, ..Schedule::default() })
}

/// `BRA`, so many words on from the next one.
fn branch(words: i64) -> Word {
    let table = Table::of(SM).expect("it is known");
    let mut all = table.of_family("BRA").filter(|encoding| encoding.value >> 91 & 1 == 0);
    let encoding = all.find(|encoding| encoding.parts.iter().all(|part| part.what != What::Register(File::Ur)));
    let encoding = encoding.expect("a branch without a register");
    let target = encoding.parts.iter().find(|part| part.what == What::Target).expect("a target");
    let distance = (4 * words) as u64 & ((1 << (target.at.len + target.above.len)) - 1);
    // The condition beside the guard is true.
    let word = target.put(encoding.value | 7 << 12 | 7 << 87, distance).expect("it fits");
    Word(word, Schedule { stall: 1, ..Schedule::default() })
}

impl Word {
    fn stall(self, stall: u8) -> Word {
        Word(self.0, Schedule { stall, ..self.1 })
    }

    fn sets(self, barrier: u8) -> Word {
        Word(self.0, Schedule { write_barrier: Some(barrier), stall: 2, ..self.1 })
    }

    fn reads(self, barrier: u8) -> Word {
        Word(self.0, Schedule { read_barrier: Some(barrier), stall: 2, ..self.1 })
    }

    fn waits(self, mask: u8) -> Word {
        Word(self.0, Schedule { wait_mask: mask, ..self.1 })
    }

    /// Under P0, or where that is false.
    fn guarded(self, is_not: bool) -> Word {
        Word(self.0 & !(15 << 12) | u128::from(is_not) << 15, self.1)
    }
}

fn hazards(words: &[Word]) -> Vec<Hazard> {
    let words: Vec<u128> = words.iter().map(|it| with_schedule(it.0, &it.1).expect("the machine has it")).collect();
    check(&Code::new(SM, "f", 0, &words, &[]).expect("words of the SM"))
}

/// The kinds, and what is missing.
fn found(words: &[Word]) -> Vec<(Kind, Missing)> {
    hazards(words).iter().map(|hazard| (hazard.kind, hazard.missing)).collect()
}

const NEEDED: Missing = Missing::Cycles { elapsed: 1, needed: 4 };

#[test]
fn a_fixed_latency_needs_cycles() {
    let program = |stall| [word("MOV", 1, 0).stall(stall), word("MOV", 2, 1)];
    assert_eq!(found(&program(1)), [(Kind::ReadAfterWrite, NEEDED)]);
    assert_eq!(found(&program(4)), []);
    assert_eq!(
        hazards(&program(3))[0].to_string(),
        "f: `MOV R2, R1, 0x0` at 0x10 reads R1 before `MOV R1, R0, 0x0` at 0x0 writes it: 3 cycles pass, 4 are needed"
    );
}

#[test]
fn the_shortest_way_counts() {
    // The branch leaves out the long stall.
    let program = |stall| {
        let long = word("MOV", 3, 0).stall(15);
        [word("MOV", 1, 0).stall(stall), branch(1).guarded(false), long, word("MOV", 2, 1)]
    };
    assert_eq!(found(&program(1)), [(Kind::ReadAfterWrite, Missing::Cycles { elapsed: 2, needed: 4 })]);
    assert_eq!(found(&program(3)), []);
}

#[test]
fn a_loop_meets_itself() {
    let program = |stall| [word("MOV", 2, 1).stall(15), word("MOV", 1, 0).stall(stall), branch(-3)];
    assert_eq!(found(&program(1)), [(Kind::ReadAfterWrite, Missing::Cycles { elapsed: 2, needed: 4 })]);
    assert_eq!(found(&program(4)), []);
}

#[test]
fn a_variable_latency_needs_a_barrier_that_is_waited_for() {
    let (makes, takes) = (word("MUFU", 1, 0), word("MOV", 2, 1));
    assert_eq!(found(&[makes.clone(), takes.clone()]), [(Kind::ReadAfterWrite, Missing::Barrier)]);
    let sets = makes.sets(3);
    assert_eq!(found(&[sets.clone(), takes.clone()]), [(Kind::ReadAfterWrite, Missing::Wait(3))]);
    assert_eq!(found(&[sets.clone(), takes.clone().waits(1 << 2)]), [(Kind::ReadAfterWrite, Missing::Wait(3))]);
    assert_eq!(found(&[sets.clone(), takes.clone().waits(1 << 3)]), []);
    // The barrier does not count yet.
    assert_eq!(found(&[sets.stall(1), takes.waits(1 << 3)]), [(Kind::ReadAfterWrite, Missing::Wait(3))]);
}

#[test]
fn a_later_barrier_of_the_unit_counts_on_all_ways() {
    let (first, last) = (word("MUFU", 1, 0), word("MUFU", 2, 0).sets(0));
    let takes = word("MOV", 3, 1).waits(1);
    assert_eq!(found(&[first.clone(), last.clone(), takes.clone()]), []);
    // It does not count yet.
    let early = [first.clone(), last.clone().stall(1), takes.clone()];
    assert_eq!(found(&early), [(Kind::ReadAfterWrite, Missing::Barrier)]);
    let around = [first, branch(1).guarded(false), last, takes];
    assert_eq!(found(&around), [(Kind::ReadAfterWrite, Missing::Barrier)]);
}

#[test]
fn sources_that_are_read_late_are_kept() {
    let (stores, takes) = (word("STG", 0, 4), word("MOV", 4, 0));
    assert_eq!(found(&[stores.clone(), takes.clone()]), [(Kind::WriteAfterRead, Missing::Barrier)]);
    let sets = stores.reads(1);
    assert_eq!(found(&[sets.clone(), takes.clone()]), [(Kind::WriteAfterRead, Missing::Wait(1))]);
    assert_eq!(found(&[sets, takes.waits(2)]), []);
}

#[test]
fn writes_stay_in_order() {
    let program = |mask| [word("LDG", 1, 4).sets(0), word("MOV", 1, 0).waits(mask)];
    assert_eq!(found(&program(0)), [(Kind::WriteAfterWrite, Missing::Wait(0))]);
    assert_eq!(found(&program(1)), []);
}

#[test]
fn opposite_guards_never_meet_unless_the_predicate_changes() {
    let (loads, moves) = (word("LDG", 1, 4).sets(0).guarded(false), word("MOV", 1, 0));
    let late = (Kind::WriteAfterWrite, Missing::Wait(0));
    assert_eq!(found(&[loads.clone(), moves.clone().guarded(true)]), []);
    assert_eq!(found(&[loads.clone(), moves.clone().guarded(false)]), [late]);
    let mut compares = word("ISETP", 0, 6).stall(15);
    compares.0 &= !(7 << 81);
    assert_eq!(found(&[loads, compares, moves.guarded(true)]), [late]);
}

#[test]
fn depbar_counts() {
    let table = Table::of(SM).expect("it is known");
    let mut all = table.of_family("DEPBAR").filter(|encoding| encoding.name == "DEPBAR.LE");
    let encoding = all.find(|encoding| encoding.value >> 91 & 1 == 0).expect("it counts to a number");
    let waits = |most: u128| Word(encoding.value | 7 << 12 | most << 38, Schedule { stall: 4, ..Schedule::default() });
    let program = |most| {
        let loads = [word("LDG", 1, 4).sets(0), word("LDG", 2, 4).sets(0)];
        loads.into_iter().chain([waits(most), word("MOV", 3, 1), word("MOV", 5, 2)]).collect::<Vec<_>>()
    };
    assert_eq!(found(&program(0)), []);
    let last = hazards(&program(1));
    assert_eq!(last.len(), 1);
    assert_eq!((last[0].first.offset, last[0].second.offset), (0x10, 0x40));
    assert_eq!(found(&program(2)).len(), 2);
}

#[test]
fn the_cache_keeps_what_was_there() {
    let mark = |it: Word| Word(it.0 | 1 << 122, it.1);
    let program = |written| [mark(word("FADD", 1, 0).stall(4)), word("MOV", written, 6).stall(15), word("FADD", 3, 0)];
    assert_eq!(found(&program(0)), [(Kind::Reuse, Missing::Value)]);
    assert_eq!(found(&program(7)), []);
}
