//! Truth tables: `LOP3.LUT` of what another `LOP3.LUT` made is one, where three inputs are left.
//!
//! Bit `4a + 2b + c` of a table is the result where the inputs are `a`, `b` and `c`; so the tables of the inputs
//! themselves are 0xf0, 0xcc and 0xaa, and a table of tables is computed on these (`spec/peephole.txt`, two-source and
//! three-source categories).

use oriole_ir::{MachineId, Modifiers, Operand, RegFile};
use smallvec::SmallVec;

use super::build::{Builder, Candidate};
use super::matcher::marks;
use super::values::{Origin, Several, Value, Values};

/// The tables of the three inputs.
const INPUTS: [u8; 3] = [0xf0, 0xcc, 0xaa];

/// The table that one yields of three.
fn apply(table: u8, [a, b, c]: [u8; 3]) -> u8 {
    let on = |bit: u8, input: u8| if bit == 1 { input } else { !input };
    (0..8u8)
        .filter(|row| table >> row & 1 == 1)
        .fold(0, |all, row| all | on(row >> 2 & 1, a) & on(row >> 1 & 1, b) & on(row & 1, c))
}

/// A source of a table: its value, and an operand that had it.
#[derive(Clone, Copy)]
struct Input {
    value: Value,
    operand: Operand,
}

/// The sources of a `LOP3.LUT` without a predicate among them, and its table.
fn parts<'s>(sources: impl Iterator<Item = (&'s Several, Operand)>, values: &Values) -> Option<([Input; 3], u8)> {
    let sources: SmallVec<[(&Several, Operand); 8]> = sources.collect();
    let [a, b, c, table, never] = sources[..] else { return None };
    let input = |(of, operand): (&Several, Operand)| match of[..] {
        [value] if marks(operand).is_none() => Some(Input { value, operand }),
        _ => None,
    };
    let is_never = never.1.modifiers() == Modifiers::INVERT
        && matches!(never.0[..], [value] if values.origin(value) == Origin::True);
    let table = u8::try_from(values.bits(table.0)?).ok().filter(|_| is_never)?;
    Some(([input(a)?, input(b)?, input(c)?], table))
}

/// Whether this is the operation.
fn is_table(id: MachineId) -> bool {
    oriole_ir::machine::table().and_then(|table| table.row(id.row)).is_some_and(|row| row.name == "LOP3.LUT")
        && id.codes().next().is_none()
}

/// One table in place of two: of the sources, the first that a table made is taken apart, and constants that are all
/// zeros or all ones are part of the table.
pub(super) fn merged(
    builder: &mut Builder<'_>,
    values: &Values,
    old: &Candidate,
    sources: &[Several],
) -> Option<Candidate> {
    if !is_table(old.id) || !matches!(old.dsts[..], [Operand::Wired { .. }, _]) {
        return None;
    }
    let (own, table) = parts(sources.iter().zip(old.srcs.iter().copied()), values)?;
    (0..3).find_map(|at| {
        let Origin::Made(made, _) = values.origin(own[at].value) else { return None };
        let maker = values.maker(made);
        if !is_table(maker.id)
            || maker.results.len() != 2
            || values.origin(own[at].value) != Origin::Made(made, maker.results[1].0)
        {
            return None;
        }
        let inner = maker.sources.iter().map(|source| (&source.values, source.operand));
        let (inner, inner_table) = parts(inner, values)?;
        let mut inputs: SmallVec<[Input; 3]> = SmallVec::new();
        let mut below = [0; 3];
        for (place, input) in inner.into_iter().enumerate() {
            below[place] = table_of(input, values, &mut inputs)?;
        }
        let mut outer = [0; 3];
        for (place, input) in own.iter().enumerate() {
            outer[place] = match place == at {
                true => apply(inner_table, below),
                false => table_of(*input, values, &mut inputs)?,
            };
        }
        built(builder, values, old, &inputs, apply(table, outer))
    })
}

/// The table of an input: a constant one, or that of its place among the inputs of the result.
fn table_of(input: Input, values: &Values, inputs: &mut SmallVec<[Input; 3]>) -> Option<u8> {
    match values.origin(input.value) {
        Origin::Bits(0) => return Some(0),
        Origin::Bits(0xffff_ffff) => return Some(0xff),
        _ => {}
    }
    let at = inputs.iter().position(|known| known.value == input.value).unwrap_or_else(|| {
        inputs.push(input);
        inputs.len() - 1
    });
    INPUTS.get(at).copied()
}

/// The instruction of these inputs, `RZ` in the place of those that are left.
fn built(
    builder: &mut Builder<'_>,
    values: &Values,
    old: &Candidate,
    inputs: &[Input],
    table: u8,
) -> Option<Candidate> {
    let zero = Operand::wired(RegFile::R, 1);
    let mut srcs: SmallVec<[Operand; 8]> = SmallVec::new();
    for input in inputs {
        let wanted: Several = [input.value].into_iter().collect();
        srcs.push(builder.held(values, &wanted, input.operand)?);
    }
    srcs.resize(3, zero);
    srcs.push(builder.func.imm(table.into()));
    srcs.push(Operand::wired(RegFile::P, 1).with_modifiers(Modifiers::INVERT)?);
    Some(Candidate { srcs, ..old.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_inputs_are_themselves() {
        for (place, input) in INPUTS.into_iter().enumerate() {
            assert_eq!(apply(input, INPUTS), INPUTS[place]);
        }
        // a & ~b, of a | c for a.
        let or = apply(0xfa, INPUTS);
        assert_eq!(or, 0xf0 | 0xaa);
        assert_eq!(apply(0x30, [or, 0xcc, 0]), (0xf0 | 0xaa) & !0xcc);
    }
}
