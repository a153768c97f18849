//! Whether the choices of encodings are right: both words of a choice do the same where the register holds what takes
//! its place.
//!
//! The words are read as terms ([`oriole_proof::machine`]), which are written apart from the peephole. An immediate is
//! each of some corner values, a word of a bank and a uniform register are variables, and so is every other source.

use oriole_ir::{Function, Inst, Operand, PhysicalReg, parse_function};
use oriole_optimizer::codegen::peephole::encodings::{Choice, Kind};
use oriole_proof::machine::{Place, Results, State, meaning};
use oriole_proof::{Prover, Side, Term, Terms, equivalence, sampled};
use oriole_sass::{Table, ori};

/// Immediates at the edges of what instructions tell apart: of integers, floats, the upper halves of doubles.
const EDGES: [u64; 16] = [
    0,
    1,
    2,
    5,
    31,
    32,
    0xff,
    0x1000,
    0x7fff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x3f80_0000,
    0xbfc0_0000,
    0x7f80_0001,
    0x3ff8_0000,
];
/// How many contents of the registers are tried for each.
const SAMPLES: u64 = 1 << 10;

/// The verdict on a choice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The same for so many immediates, or one where there is none; of the second number the terms are equal, or it is
    /// proved; the others were tried.
    Right {
        /// How many pairs of words were compared.
        compared: usize,
        /// Those that are proved.
        proved: usize,
    },
    /// Values on which the two differ.
    Wrong(String),
    /// The instruction has no meaning as terms: the harness executes it.
    NotModelled,
}

/// Holds both words of a choice against each other. A prover is asked where trying does not refute them.
///
/// # Panics
/// If the example of the choice is none, which a test of the table excludes.
pub fn judge(choice: &Choice, prover: Option<&Prover>) -> Verdict {
    ori::register();
    let table = Table::of(choice.sm).expect("the SM is known");
    let values: &[u64] = if choice.kind == Kind::Immediate { &EDGES } else { &EDGES[..1] };
    let (mut compared, mut proved) = (0, 0);
    for value in values {
        let (before, held) = word(choice, choice.before, table, None).expect("the example is a word");
        let immediate = (choice.kind == Kind::Immediate).then_some(*value);
        // Some words have immediates of fewer bits.
        let Some((after, other)) = word(choice, choice.after, table, immediate) else { continue };
        match compare(table, [before, after], &held_values(choice, &held, &other, *value), prover) {
            Some(Compared::Same { is_proved }) => proved += usize::from(is_proved),
            Some(Compared::Other(found)) => {
                return Verdict::Wrong(format!("{}, immediate {value:#x}: {found}", choice.name));
            }
            None => return Verdict::NotModelled,
        }
        compared += 1;
    }
    Verdict::Right { compared, proved }
}

/// An operand, apart from its function.
struct Source {
    operand: Operand,
    reg: Option<PhysicalReg>,
}

/// The word of an example, with another immediate where one is given, and the operand in the choice's place.
fn word(choice: &Choice, text: &str, table: &'static Table, immediate: Option<u64>) -> Option<(u128, Source)> {
    let text = format!("device @f machine physical {{\nbb0:\n  {text}\n  end\n}}\n");
    let mut func: Function = parse_function(&text).ok()?;
    let inst: Inst = func.layout_insts().next()?;
    let mut srcs = func.srcs(inst).to_vec();
    if let Some(bits) = immediate {
        srcs[choice.at] = func.imm(bits);
    }
    let (mnemonic, dsts) = (func.mnemonic(inst)?, func.dsts(inst).to_vec());
    let word = ori::encode(table, &func, &mnemonic, None, &dsts, &srcs)?;
    let operand = srcs[choice.at];
    Some((word, Source { operand, reg: operand.reg().and_then(PhysicalReg::of) }))
}

/// Where the register of the old word is, and what it holds.
enum Held {
    Constant(u64),
    Same(Place),
}

fn held_values(choice: &Choice, old: &Source, new: &Source, value: u64) -> Vec<(Place, Held)> {
    let Some(reg) = old.reg else { return Vec::new() };
    let of = |word: u8| match (choice.kind, new.operand) {
        (Kind::Immediate, _) if word + 1 == reg.words => Held::Constant(value),
        (Kind::Bank, Operand::Const { bank, offset, .. }) => {
            Held::Same(Place::Constant(bank, offset + 4 * u32::from(word)))
        }
        (Kind::Uniform, _) => Held::Same(Place::Uniform(new.reg.map_or(0, |reg| reg.number) + word)),
        _ => Held::Constant(0),
    };
    (0..reg.words).map(|word| (Place::General(reg.number + word), of(word))).collect()
}

/// Two words, side by side.
enum Compared {
    Same {
        is_proved: bool,
    },
    /// Values on which they differ.
    Other(String),
}

/// Whether two words write the same, and whether that is proved; `None` where one has no meaning.
fn compare(
    table: &'static Table,
    words: [u128; 2],
    held: &[(Place, Held)],
    prover: Option<&Prover>,
) -> Option<Compared> {
    let (mut terms, mut state) = (Terms::new(), State::new());
    let guard = terms.bit(true);
    for (place, held) in held {
        let value = match held {
            Held::Constant(value) => terms.constant((*value).into(), place.width()),
            Held::Same(other) => state.read(&mut terms, *other),
        };
        state.write(&mut terms, &Results { guard, values: vec![(*place, value)] });
    }
    // What either reads first is there before the two part.
    let mut probe = state.clone();
    for word in words {
        meaning(&mut terms, &table.decode(word).ok()?, &mut probe)?;
    }
    for (place, _) in probe.inputs().to_vec() {
        state.read(&mut terms, place);
    }
    let mut sides = Vec::new();
    let mut written = Vec::new();
    for word in words {
        let mut own = state.clone();
        let results = meaning(&mut terms, &table.decode(word).ok()?, &mut own)?;
        let places: Vec<Place> = results.values.iter().map(|(place, _)| *place).collect();
        own.write(&mut terms, &results);
        let values: Vec<Term> = places.iter().map(|place| own.read(&mut terms, *place)).collect();
        written.push(places);
        sides.push(Side { values, defined: None });
    }
    if written[0] != written[1] {
        return Some(Compared::Other(format!("one writes {:?}, the other {:?}", written[0], written[1])));
    }
    let query = equivalence(&mut terms, &sides[0], &sides[1], &[]);
    if terms.value(query.goal) == Some(0) {
        return Some(Compared::Same { is_proved: true });
    }
    if let Some(inputs) = sampled(&terms, &query, &[], SAMPLES, 1).counterexample {
        return Some(Compared::Other(format!("{inputs:x?}")));
    }
    let proved = prover.and_then(|prover| prover.ask(&terms, &query).ok());
    let is_proved = proved.is_some_and(|answered| answered.answer == oriole_proof::Answer::Proved);
    Some(Compared::Same { is_proved })
}

#[cfg(test)]
mod tests {
    use oriole_optimizer::codegen::peephole::encodings::CHOICES;

    use super::*;

    #[test]
    fn both_words_of_a_choice_do_the_same() {
        let (mut compared, mut not_modelled) = (0, Vec::new());
        for choice in CHOICES {
            match judge(choice, None) {
                Verdict::Right { compared: own, .. } => {
                    assert!(own > 0, "{}", choice.name);
                    compared += own;
                }
                Verdict::Wrong(what) => panic!("{what}"),
                Verdict::NotModelled => not_modelled.push(choice.name),
            }
        }
        println!("{compared} pairs of words, {} choices without a meaning: {not_modelled:?}", not_modelled.len());
        assert!(not_modelled.len() <= NOT_MODELLED, "{not_modelled:?}");
    }

    /// Accesses to memory, what other lanes take part in, and the operations whose last bits nobody has written down.
    const NOT_MODELLED: usize = 60;

    /// The same instruction with something else in the register's place is refuted.
    #[test]
    fn wrong_choices_are_refuted() {
        let of = |name: &str| *CHOICES.iter().find(|choice| choice.name == name).expect("a choice");
        let zero = of("IADD3.1.zero");
        let wrong = [
            Choice { after: "%R3, %PT, %PT = IADD3 %R4, %R5, %RZ, ~%PT, ~%PT", ..example(zero) },
            Choice { after: "%R3, %PT, %PT = IADD3 -%R4, %RZ, %RZ, ~%PT, ~%PT", ..example(zero) },
            Choice { after: "%R9, %PT, %PT = IADD3 %R4, %RZ, %RZ, ~%PT, ~%PT", ..example(zero) },
        ];
        for choice in wrong {
            let verdict = judge(&choice, None);
            assert!(matches!(verdict, Verdict::Wrong(_)), "{}: {verdict:?}", choice.after);
        }
        assert!(matches!(judge(&example(zero), None), Verdict::Right { .. }));
    }

    fn example(choice: Choice) -> Choice {
        Choice {
            before: "%R3, %PT, %PT = IADD3 %R4, %R6, %RZ, ~%PT, ~%PT",
            after: "%R3, %PT, %PT = IADD3 %R4, %RZ, %RZ, ~%PT, ~%PT",
            ..choice
        }
    }
}
