//! The meaning of every opcode against the interpreter, and against a solver's reading of the text.

use std::collections::BTreeSet;

use oriole_ir::ops::{Field, OpRow, ROWS, SimdSelectors, VideoPart, VideoSelectors};

use super::super::eval::Program;
use super::super::solver::Solver;
use super::super::text::{definitions, literal};
use super::*;
use oriole_launch::random::SplitMix64;
use oriole_semantics::scalar::ScalarOp;

/// Register-only opcodes without a meaning at all: a new one must be given one, or a reason.
const ABSENT: [Opcode; 15] = [
    Opcode::MachinePure,
    Opcode::Phi,
    Opcode::S2r,
    Opcode::Cvta,
    Opcode::IsSpaceP,
    Opcode::IsTypeP,
    Opcode::Mapa,
    Opcode::GetCtaRank,
    Opcode::MbarrierPending,
    Opcode::FRsqrt,
    Opcode::FSin,
    Opcode::FCos,
    Opcode::FLg2,
    Opcode::FEx2,
    Opcode::FTanh,
];

/// Opcodes without a meaning for some of their fields, and for how many combinations of them.
const PARTLY_ABSENT: [(Opcode, u32); 3] = [(Opcode::FDiv, 4), (Opcode::FRcp, 3), (Opcode::FSqrt, 2)];

/// Register-only opcodes that the interpreter's scalar functions do not have.
const ELSEWHERE: [Opcode; 3] = [Opcode::Mov, Opcode::Split, Opcode::Pack];

/// Values that mean something to integers, floats, shift counts and selectors.
const CORNERS: [u64; 32] = [
    0,
    1,
    2,
    7,
    8,
    15,
    16,
    31,
    32,
    33,
    63,
    64,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x3210,
    0x3c00_7c00,
    0xfc01_8001,
    0x3f80_0000,
    0x7f80_0000,
    0xff80_0001,
    0x0080_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x3ff0_0000_0000_0000,
    0x7ff0_0000_0000_0000,
    0x8000_0000_0000_0000,
    u64::MAX,
];

/// An operand for a test: a corner or one nearby, a run of bits, or anything.
fn operand(random: &mut SplitMix64) -> u64 {
    let corner = CORNERS[random.below(32) as usize];
    let shift = random.below(64);
    match random.below(8) {
        0..=2 => corner,
        3 => corner.wrapping_add(random.below(9)).wrapping_sub(4),
        4 => corner ^ 1 << shift,
        5 => random.next_u64() >> shift,
        6 => corner << 32 | CORNERS[random.below(32) as usize] & 0xffff_ffff,
        _ => random.next_u64(),
    }
}

/// The register that an operand of a shape lies in.
fn register_width(row: &OpRow, values: &FieldValues, shape: Shape) -> u32 {
    match row.shape_type(values, shape).map_or(32, Type::bits) {
        1 => 1,
        bits => bits.next_power_of_two().max(32),
    }
}

/// An operation over variables, but for constant selectors; and a variable's number for each operand.
struct Case {
    terms: Terms,
    meaning: Meaning,
    /// The operands that are constants.
    fixed: Vec<Option<u64>>,
}

/// The selectors of a video instruction, chosen anew for each case.
fn selector(row: &OpRow, random: &mut SplitMix64) -> u64 {
    if row.name.ends_with(['2', '4']) {
        let mut lanes = || [0; 4].map(|_: u8| random.below(8) as u8);
        let (a, b) = (lanes(), lanes());
        SimdSelectors { a, b, mask: random.below(16) as u8 }.pack().into()
    } else {
        let mut part = || VideoPart::ALL[random.below(7) as usize];
        let (dst, a, b) = (part(), part(), part());
        let negate = [0; 3].map(|_: u8| random.below(2) == 1);
        VideoSelectors { dst, a, b, negate }.pack().into()
    }
}

fn case(row: &'static OpRow, values: &FieldValues, random: &mut SplitMix64) -> Case {
    let mut terms = Terms::new();
    let is_video = row.flags.has(Flags::VIDEO);
    let mut fixed = Vec::new();
    let mut operands = Vec::new();
    for (number, shape) in row.srcs.iter().enumerate() {
        let width = register_width(row, values, *shape);
        let is_selector = is_video && *shape == Shape::Imm;
        let is_table = *shape == Shape::Imm && !is_selector;
        let constant = if is_selector { Some(selector(row, random)) } else { None };
        fixed.push(constant);
        operands.push(match constant {
            Some(value) => terms.constant(value.into(), 32),
            None => terms.variable(format!("s{number}"), if is_table { 8 } else { width }),
        });
    }
    let meaning = meaning(&mut terms, row.opcode, values, &operands);
    let meaning = meaning.unwrap_or_else(|| panic!("{} {values:?} has no meaning", row.name));
    Case { terms, meaning, fixed }
}

impl Case {
    /// The roots: the results, and whether they are defined.
    fn roots(&self) -> Vec<Term> {
        self.meaning.values.iter().copied().chain(self.meaning.defined).collect()
    }

    /// Inputs of the variables, and the operands that the interpreter gets.
    fn inputs(&self, random: &mut SplitMix64) -> (Vec<u128>, [u64; 5]) {
        let mut operands = [0; 5];
        let mut inputs = Vec::new();
        let mut variables = self.terms.variables().iter();
        for (slot, fixed) in self.fixed.iter().enumerate() {
            operands[slot] = match fixed {
                Some(value) => *value,
                None => {
                    let width = variables.next().map_or(32, |variable| variable.width);
                    let value = operand(random) & u64::MAX >> (64 - width);
                    inputs.push(value.into());
                    value
                }
            };
        }
        (inputs, operands)
    }
}

fn expected(operation: &ScalarOp, operands: &[u64; 5], case: &Case) -> Vec<u128> {
    let lane = operation.eval(operands);
    let mut expected = vec![u128::from(lane.value), u128::from(lane.second)];
    expected.truncate(case.meaning.values.len());
    if case.meaning.defined.is_some() {
        expected.push(lane.defined.into());
    } else {
        assert!(lane.defined, "the interpreter calls a result undefined that has no such condition");
    }
    expected
}

fn combinations(row: &OpRow) -> Vec<FieldValues> {
    let mut all = Vec::new();
    row.for_each_combination(&mut |values| all.push(*values));
    all
}

#[test]
fn every_register_only_opcode_has_a_meaning_or_a_reason() {
    let mut absent = BTreeSet::new();
    let mut partly = Vec::new();
    for row in ROWS.iter().filter(|row| row.flags.has(Flags::PURE)) {
        let all = combinations(row);
        let missing = all.iter().filter(|values| absence(row.opcode, values).is_some()).count();
        match missing {
            0 => {}
            _ if missing == all.len() => _ = absent.insert(row.opcode),
            _ => partly.push((row.opcode, missing as u32)),
        }
    }
    assert_eq!(absent, ABSENT.into_iter().collect());
    assert_eq!(partly, PARTLY_ABSENT);
    for row in ROWS.iter().filter(|row| !row.flags.has(Flags::PURE)) {
        assert!(absence(row.opcode, &row.default_fields()).is_some(), "{}", row.name);
    }
}

/// Every combination of fields is compared on so many inputs, and every opcode on as many more as its combinations
/// leave.
#[test]
fn meanings_agree_with_the_interpreter() {
    let mut random = SplitMix64::new(4);
    for row in ROWS.iter().filter(|row| row.flags.has(Flags::PURE) && !ELSEWHERE.contains(&row.opcode)) {
        let all: Vec<FieldValues> =
            combinations(row).into_iter().filter(|values| absence(row.opcode, values).is_none()).collect();
        let each = (4000 / all.len().max(1)).clamp(60, 1000);
        for values in &all {
            let operation = ScalarOp::resolve(row.opcode, values).expect("it is register-only");
            for round in 0..each.div_ceil(50) {
                let case = case(row, values, &mut random);
                let program = Program::new(&case.terms, &case.roots());
                for _ in 0..50 {
                    let (inputs, operands) = case.inputs(&mut random);
                    let found = program.eval(&inputs);
                    let expected = expected(&operation, &operands, &case);
                    assert_eq!(found, expected, "{} {values:?} {operands:x?} in round {round}", row.name);
                }
            }
        }
    }
}

/// With constant operands nothing is left to compute, and the result is the same: folding is right.
#[test]
fn constants_fold_to_the_interpreter_s_results() {
    let mut random = SplitMix64::new(5);
    for row in ROWS.iter().filter(|row| row.flags.has(Flags::PURE) && !ELSEWHERE.contains(&row.opcode)) {
        for values in combinations(row).into_iter().filter(|values| absence(row.opcode, values).is_none()) {
            let operation = ScalarOp::resolve(row.opcode, &values).expect("it is register-only");
            let mut sample = case(row, &values, &mut random);
            for _ in 0..2 {
                let (_, operands) = sample.inputs(&mut random);
                let terms = &mut sample.terms;
                let constants: Vec<Term> = row
                    .srcs
                    .iter()
                    .zip(operands)
                    .map(|(shape, value)| terms.constant(value.into(), register_width(row, &values, *shape)))
                    .collect();
                let folded = meaning(terms, row.opcode, &values, &constants).expect("it has a meaning");
                let value = terms.value(folded.values[0]);
                assert_eq!(value, Some(operation.eval(&operands).value.into()), "{} {values:?}", row.name);
            }
        }
    }
}

/// A solver that reads the text computes what the terms evaluate to, for one combination of fields of every opcode and
/// several inputs each.
#[test]
fn a_solver_reads_the_same_meaning() {
    let Some(solver) = Solver::find(None).expect("a solver on the path can be asked its version") else {
        eprintln!("skipped: no z3, cvc5 or bitwuzla on the path");
        return;
    };
    let mut random = SplitMix64::new(6);
    let mut text = String::from("(set-logic QF_BV)\n");
    let (mut expressions, mut wanted) = (Vec::new(), Vec::new());
    for row in ROWS.iter().filter(|row| row.flags.has(Flags::PURE)) {
        let mut all = combinations(row);
        all.retain(|values| absence(row.opcode, values).is_none() && row.opcode != Opcode::Pack);
        for _ in 0..all.len().min(2) {
            let values = &all[random.below(all.len() as u64) as usize];
            let case = case(row, values, &mut random);
            let (script, roots) = definitions(&case.terms, &case.roots());
            let (inputs, _) = case.inputs(&mut random);
            let prefix = format!("q{}_", wanted.len());
            append(&mut text, &script.text, &prefix, &case.terms, &inputs, &script.variables);
            expressions.extend(roots.iter().map(|root| names(root, &prefix)));
            wanted.extend(Program::new(&case.terms, &case.roots()).eval(&inputs));
        }
    }
    let found = solver.evaluate(&text, &expressions).expect("the solver reads the text");
    assert!(wanted.len() > 150, "{} values", wanted.len());
    assert_eq!(found, wanted);
}

/// The commands of one script under a prefix, with its variables defined as their values.
fn append(text: &mut String, script: &str, prefix: &str, terms: &Terms, inputs: &[u128], variables: &[usize]) {
    let mut declared = variables.iter();
    for line in script.lines().skip(1) {
        if line.starts_with("(declare-const x") {
            let number = *declared.next().expect("a variable for each declaration");
            let width = terms.variables()[number].width;
            let name = line.split(' ').nth(1).expect("a name");
            let value = literal(inputs[number], width);
            text.push_str(&format!("(declare-const {prefix}{name} (_ BitVec {width}))\n"));
            text.push_str(&format!("(assert (= {prefix}{name} {value}))\n"));
        } else {
            text.push_str(&names(line, prefix));
            text.push('\n');
        }
    }
}

/// A text with a prefix before every name of ours: an `x` or a `t` and a number.
fn names(text: &str, prefix: &str) -> String {
    let mut result = String::new();
    let mut word = String::new();
    let flush = |word: &mut String, result: &mut String| {
        let number =
            word.strip_prefix(['x', 't']).is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
        if number {
            result.push_str(prefix);
        }
        result.push_str(word);
        word.clear();
    };
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || c == '#' || c == '_' || c == '-' {
            word.push(c);
        } else {
            flush(&mut word, &mut result);
            result.push(c);
        }
    }
    flush(&mut word, &mut result);
    result
}

fn with_type(opcode: Opcode, ty: Type) -> FieldValues {
    let row = opcode.row();
    let mut values = row.default_fields();
    values.0[row.slot(Field::Type).expect("the opcode has a type")] = ty.index();
    values
}

#[test]
fn copies_and_packs() {
    let mut t = Terms::new();
    let [a, b] = [0xffff_1234u128, 0xffff_5678].map(|value| t.constant(value, 32));
    let packed = meaning(&mut t, Opcode::Pack, &with_type(Opcode::Pack, Type::B16), &[a, b]).expect("two halves");
    assert_eq!(t.value(packed.values[0]), Some(0x5678_1234));
    let packed = meaning(&mut t, Opcode::Pack, &with_type(Opcode::Pack, Type::B32), &[a, b]).expect("two words");
    assert_eq!((t.value(packed.values[0]), t.width(packed.values[0])), (Some(0xffff_5678_ffff_1234), 64));
    let copy = meaning(&mut t, Opcode::Mov, &with_type(Opcode::Mov, Type::B32), &[a]).expect("a copy");
    assert_eq!(copy.values, [a]);
    let wrong = meaning(&mut t, Opcode::IAdd, &with_type(Opcode::IAdd, Type::U32), &[a]);
    assert_eq!(wrong, None, "an operand is missing");
}

/// The 8-bit types, which no row allows, are the same functions of bytes.
#[test]
fn small_twins() {
    let mut t = Terms::new();
    let (x, y) = (t.variable("x", 8), t.variable("y", 8));
    let mut eval = |opcode, ty, inputs: [u8; 2]| {
        let meaning = meaning(&mut t, opcode, &with_type(opcode, ty), &[x, y]).expect("a byte's meaning");
        Program::new(&t, &meaning.values).eval(&inputs.map(u128::from))[0]
    };
    assert_eq!(eval(Opcode::IAdd, Type::U8, [200, 100]), 44);
    assert_eq!(eval(Opcode::IMulHi, Type::S8, [0xff, 2]), 0xff);
    assert_eq!(eval(Opcode::IMulWide, Type::U8, [255, 255]), 0xfe01);
    assert_eq!(eval(Opcode::Shr, Type::S8, [0x80, 3]), 0xf0);
    assert_eq!(eval(Opcode::Shl, Type::B8, [1, 8]), 0);
    assert_eq!(eval(Opcode::IDiv, Type::S8, [0x80, 0xff]), 0x80);
}
