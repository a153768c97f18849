//! How many inputs a second the searches for counterexamples try: `cargo bench -p oriole --bench smt`. Each item
//! is one input; all inputs of a variable of 32 bits are 256 times those of one of 24.

use divan::counter::ItemsCount;
use oriole_ir::ops::{FieldValue, FieldValues, Opcode, Type};
use oriole_proof::{Query, Side, Term, Terms, equivalence, exhaustive, meaning, sampled};

/// Runs the benchmark.
pub fn main() {
    divan::main();
}

fn fields(opcode: Opcode, ty: Type) -> FieldValues {
    let row = opcode.row();
    let mut values = row.default_fields();
    if let Some(slot) = row.slot(Type::FIELD) {
        values.0[slot] = ty.index();
    }
    values
}

fn apply(t: &mut Terms, opcode: Opcode, ty: Type, operands: &[Term]) -> Term {
    meaning(t, opcode, &fields(opcode, ty), operands).expect("the opcode has a meaning").values[0]
}

/// `x * 7 = (x << 3) - x`, of `bits` bits: all in 32-bit words.
fn product(bits: u32) -> (Terms, Query) {
    let mut t = Terms::new();
    let x = t.variable("x", bits);
    let (seven, three) = (t.constant(7, 32), t.constant(3, 32));
    let before = apply(&mut t, Opcode::IMulLo, Type::U32, &[x, seven]);
    let shifted = apply(&mut t, Opcode::Shl, Type::B32, &[x, three]);
    let after = apply(&mut t, Opcode::ISub, Type::U32, &[shifted, x]);
    question(t, before, after)
}

/// `x / 3` by a high product: 64-bit words.
fn quotient(bits: u32) -> (Terms, Query) {
    let mut t = Terms::new();
    let x = t.variable("x", bits);
    let (three, magic, one) = (t.constant(3, 32), t.constant(0xaaaa_aaab, 32), t.constant(1, 32));
    let before = apply(&mut t, Opcode::IDiv, Type::U32, &[x, three]);
    let high = apply(&mut t, Opcode::IMulHi, Type::U32, &[x, magic]);
    let after = apply(&mut t, Opcode::Shr, Type::U32, &[high, one]);
    question(t, before, after)
}

/// `x * 2.0 = x + x` in single precision: some hundred operations.
fn doubled(bits: u32) -> (Terms, Query) {
    let mut t = Terms::new();
    let x = t.variable("x", bits);
    let two = t.constant(0x4000_0000, 32);
    let before = apply(&mut t, Opcode::FMul, Type::F32, &[x, two]);
    let after = apply(&mut t, Opcode::FAdd, Type::F32, &[x, x]);
    question(t, before, after)
}

fn question(mut t: Terms, before: Term, after: Term) -> (Terms, Query) {
    let [before, after] = [before, after].map(|value| Side { values: vec![value], defined: None });
    let query = equivalence(&mut t, &before, &after, &[]);
    (t, query)
}

const BITS: u32 = 24;

fn all(bencher: divan::Bencher, (terms, query): (Terms, Query)) {
    bencher.counter(ItemsCount::new(1usize << BITS)).bench(|| {
        let found = exhaustive(&terms, &query, BITS).expect("few bits");
        assert_eq!(found.counterexample, None);
    });
}

#[divan::bench(sample_count = 5)]
fn exhaustive_product(bencher: divan::Bencher) {
    all(bencher, product(BITS));
}

#[divan::bench(sample_count = 5)]
fn exhaustive_quotient(bencher: divan::Bencher) {
    all(bencher, quotient(BITS));
}

#[divan::bench(sample_count = 3)]
fn exhaustive_doubled(bencher: divan::Bencher) {
    all(bencher, doubled(BITS));
}

#[divan::bench(sample_count = 5)]
fn samples_of_a_product(bencher: divan::Bencher) {
    let (terms, query) = product(32);
    bencher.counter(ItemsCount::new(1_000_000usize)).bench(|| {
        assert_eq!(sampled(&terms, &query, &[], 1_000_000, 1).counterexample, None);
    });
}
