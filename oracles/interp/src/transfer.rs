//! The table's column for undefined bits ([`UndefTransfer`]) against its definition, over the concrete meaning of each
//! register-only opcode: other values of undefined bits change only those bits of the result that the column lets them
//! change. A column that allows more than it needs fails too, where a stricter kind would do.

use oriole_ir::ops::{FieldValues, Flags, OpRow, ROWS, Shape, SimdSelectors, Type, UndefTransfer, VideoSelectors};

use super::partial::spread;
use oriole_launch::random::SplitMix64;
use oriole_semantics::scalar::ScalarOp;

/// Samples of one opcode, spread over its combinations of fields.
const SAMPLES: usize = 6000;

/// Operands of an operation, which of their bits are undefined, and other operands that differ in undefined bits alone.
struct Sample {
    values: [u64; 5],
    unknown: [u64; 5],
    others: [u64; 5],
}

/// The bits of an operand's type; immediates are defined.
fn width(row: &OpRow, fields: &FieldValues, shape: Shape) -> u32 {
    if shape == Shape::Imm { 0 } else { row.shape_type(fields, shape).map_or(32, Type::bits).min(64) }
}

/// A selector that a video opcode takes, for other opcodes a truth table.
fn immediate(row: &OpRow, random: &mut SplitMix64) -> u64 {
    match (row.flags.has(Flags::VIDEO), row.name.as_bytes().last()) {
        (false, _) => random.below(256),
        (true, Some(b'2')) => SimdSelectors::HALVES.pack().into(),
        (true, Some(b'4')) => SimdSelectors::BYTES.pack().into(),
        _ => VideoSelectors::default().pack().into(),
    }
}

/// A value that is often small, as counts and positions are.
fn value(random: &mut SplitMix64, bits: u32) -> u64 {
    let value = random.next_u64() >> (64 - bits);
    if random.below(3) == 0 { value & 31 } else { value }
}

fn sample(row: &OpRow, fields: &FieldValues, random: &mut SplitMix64) -> Sample {
    let (mut values, mut unknown) = ([0; 5], [0; 5]);
    for (i, shape) in row.srcs.iter().enumerate() {
        let bits = width(row, fields, *shape);
        if bits == 0 {
            values[i] = immediate(row, random);
            continue;
        }
        values[i] = value(random, bits);
        unknown[i] = match random.below(4) {
            0 => 0,
            1 => 1 << random.below(u64::from(bits)),
            2 => value(random, bits),
            _ => value(random, bits) & value(random, bits),
        };
    }
    let others = std::array::from_fn(|i| values[i] ^ (unknown[i] & random.next_u64()));
    Sample { values, unknown, others }
}

/// The bits of the result that differ between two values of the undefined bits and that a transfer does not allow to.
fn excess(operation: &ScalarOp, transfer: UndefTransfer, sample: &Sample) -> u64 {
    let (one, other) = (operation.eval(&sample.values), operation.eval(&sample.others));
    if !one.defined || !other.defined {
        return 0;
    }
    let allowed = spread(transfer, sample.values, sample.unknown, &|values| operation.eval(&values).value);
    (one.value ^ other.value) & !allowed
}

/// The transfers that are stricter than one by a single step; each must be wrong for some sample.
fn stricter(transfer: UndefTransfer) -> Vec<UndefTransfer> {
    match transfer {
        UndefTransfer::Mixing => vec![UndefTransfer::Carrying],
        UndefTransfer::Carrying => vec![UndefTransfer::Bitwise],
        UndefTransfer::Bitwise => vec![UndefTransfer::Routing(0)],
        UndefTransfer::Routing(0) => vec![UndefTransfer::Nothing],
        UndefTransfer::Routing(controls) => {
            let bits = (0..8).filter(|bit| controls >> bit & 1 == 1);
            bits.map(|bit| UndefTransfer::Routing(controls & !(1 << bit))).collect()
        }
        _ => Vec::new(),
    }
}

/// Calls `visit` with samples of every legal combination of a row's fields.
fn samples(row: &OpRow, mut visit: impl FnMut(&FieldValues, &ScalarOp, &Sample)) {
    let mut combinations = Vec::new();
    row.for_each_combination(&mut |fields| combinations.push(*fields));
    let mut random = SplitMix64::new(9);
    for _ in 0..(SAMPLES / combinations.len()).max(20) {
        for fields in &combinations {
            let operation = ScalarOp::resolve(row.opcode, fields).expect("the row is register-only");
            visit(fields, &operation, &sample(row, fields, &mut random));
        }
    }
}

/// The rows whose meaning is a scalar function.
fn rows() -> impl Iterator<Item = &'static OpRow> {
    ROWS.iter().filter(|row| ScalarOp::resolve(row.opcode, &row.default_fields()).is_some())
}

#[test]
fn undefined_bits_change_only_what_the_column_allows() {
    for row in rows() {
        samples(row, |fields, operation, sample| {
            let transfer = row.undef_transfer(fields);
            let Sample { values, unknown, others } = sample;
            assert_eq!(
                excess(operation, transfer, sample),
                0,
                "{} {fields:?} is {transfer:?}; operands {values:x?} and {others:x?}, undefined bits {unknown:x?}",
                row.name
            );
        });
    }
}

/// A kind that allows too much costs findings: the interpreter calls undefined what every execution defines. Rows with
/// two results are left out, since they must mix.
#[test]
fn a_stricter_kind_would_be_wrong() {
    let mut needless = Vec::new();
    for row in rows().filter(|row| row.dsts.len() == 1) {
        let mut left: Vec<(UndefTransfer, UndefTransfer)> = Vec::new();
        let mut tried: Vec<UndefTransfer> = Vec::new();
        samples(row, |fields, operation, sample| {
            let transfer = row.undef_transfer(fields);
            if !tried.contains(&transfer) {
                tried.push(transfer);
                left.extend(stricter(transfer).into_iter().map(|stricter| (transfer, stricter)));
            }
            left.retain(|(of, stricter)| *of != transfer || excess(operation, *stricter, sample) == 0);
        });
        needless.extend(left.into_iter().map(|(of, stricter)| format!("{}: {stricter:?} does for {of:?}", row.name)));
    }
    assert!(needless.is_empty(), "{needless:#?}");
}
