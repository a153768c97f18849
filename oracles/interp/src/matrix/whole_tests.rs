//! `wmma` in small kernels: products through memory against a plain product, and what lanes hold.

use oriole_ir::ops::{FieldValue, FieldValues, Matrix, Opcode, Shape, SumLayout, Type};

use super::product_tests::{Case, Elements, expected};
use crate::load::{Executable, RunOptions, RunResult};
use crate::outcome::{Cause, Outcome};
use oriole_launch::random::SplitMix64;
use oriole_launch::{Arg, ArgValue, Buffer, Launch};

/// A matrix in memory.
#[derive(Clone, Copy)]
struct Stored {
    by_columns: bool,
    /// In elements.
    stride: usize,
    bits: usize,
}

impl Stored {
    /// Without gaps, or with 16 bytes between rows or columns.
    fn new(rows: usize, columns: usize, by_columns: bool, bits: usize, gap: bool) -> Stored {
        let stride = if by_columns { rows } else { columns } + if gap { 128 / bits } else { 0 };
        Stored { by_columns, stride, bits }
    }

    fn bit(&self, row: usize, column: usize) -> usize {
        let (line, at) = if self.by_columns { (column, row) } else { (row, column) };
        (line * self.stride + at) * self.bits
    }

    fn bytes(&self, elements: &Elements) -> Vec<u8> {
        let mut bytes = vec![0xEE; 16384];
        for (row, elements) in elements.iter().enumerate() {
            for (column, (value, _)) in elements.iter().enumerate() {
                for bit in 0..self.bits {
                    let at = self.bit(row, column) + bit;
                    bytes[at / 8] = bytes[at / 8] & !(1 << (at % 8)) | ((value >> bit & 1) as u8) << (at % 8);
                }
            }
        }
        bytes
    }

    fn element(&self, bytes: &[u8], row: usize, column: usize) -> u64 {
        let at = self.bit(row, column) / 8;
        (0..self.bits / 8).fold(0, |value, i| value | u64::from(bytes[at + i]) << (8 * i))
    }
}

/// A kernel over buffers, whose addresses are in `%d1` and up.
fn run_over(body: &str, buffers: Vec<Vec<u8>>, threads: u32, options: &RunOptions) -> RunResult {
    let params: String = (0..buffers.len()).map(|i| format!("  param $p{i}: u64 param align 8\n")).collect();
    let loads: String = (0..buffers.len()).map(|i| format!("  %d{} = ld.param.u64 [$p{i}]\n", i + 1)).collect();
    let text = format!("global @s: b8[4096] shared align 32\nentry @k {{\n{params}bb0:\n{loads}{body}  ret\n}}\n");
    let module = oriole_ir::parse_module(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let mut launch = Launch::new(Some("k".to_owned()));
    launch.block = [threads, 1, 1];
    let buffer = |bytes| ArgValue::Buffer(Buffer { bytes, ..Buffer::default() });
    launch.args = buffers.into_iter().map(|bytes| Arg { name: None, value: buffer(bytes) }).collect();
    let executable = Executable::new(&module).unwrap_or_else(|error| panic!("{error:?}: {text}"));
    executable.run(&launch, options).expect("the launch fits")
}

/// Registers from a number on, separated by commas.
fn registers(first: usize, count: usize, ty: Option<Type>) -> String {
    let letter = if ty == Some(Type::F64) { 'd' } else { 'r' };
    (first..first + count).map(|i| format!("%{letter}{i}")).collect::<Vec<_>>().join(", ")
}

/// The modifiers of an opcode as `.ori` writes them.
fn modifiers(opcode: Opcode, fields: &FieldValues) -> String {
    let row = opcode.row();
    let written = |(slot, spec): (usize, &oriole_ir::ops::FieldSpec)| match spec.default {
        Some(default) if default == fields.0[slot] => String::new(),
        _ => format!(".{}", spec.field.value_name(fields.0[slot])),
    };
    row.fields.iter().enumerate().map(written).collect()
}

/// D = A * B + C of matrices in the buffers `%d1` to `%d4`, with the strides of each.
fn product(case: &Case, sum_layout: SumLayout, strides: Option<[usize; 4]>) -> String {
    let (row, fields) = (case.opcode.row(), &case.fields);
    let name = |value: Option<&'static str>| value.unwrap_or("");
    let shape = case.shape.name();
    let left = row.value::<oriole_ir::ops::LeftLayout>(fields).map(|layout| layout.name());
    let right = row.value::<oriole_ir::ops::RightLayout>(fields).map(|layout| layout.name());
    let matrix = |at: usize, matrix| {
        let shape = Shape::Matrix(matrix);
        registers(10 + 10 * at, row.registers(fields, shape), row.shape_type(fields, shape))
    };
    let [a, b, c, d] = [Matrix::Left, Matrix::Right, Matrix::Addend, Matrix::Sum];
    let [a, b, c, d] = [matrix(0, a), matrix(1, b), matrix(2, c), matrix(3, d)];
    let stride = |at: usize| strides.map_or(0, |strides| strides[at]);
    let layout = sum_layout.name();
    let load = |part: &str, layout: &str, ty: &str, to: &str, at: usize| {
        format!("  {to} = wmma.load.{part}.sync.{layout}.{shape}.global.{ty} [%d{}], {}\n", at + 1, stride(at))
    };
    [
        load("a", name(left), case.left.name(), &a, 0),
        load("b", name(right), case.right.name(), &b, 1),
        load("c", layout, case.addend.name(), &c, 2),
        format!("  {d} = {}{} {a}, {b}, {c}\n", row.name, modifiers(case.opcode, fields)),
        format!("  wmma.store.d.sync.{layout}.{shape}.global.{} [%d4], {d}, {}\n", case.sum.name(), stride(3)),
    ]
    .concat()
}

fn is_by_columns(case: &Case) -> [bool; 2] {
    let row = case.opcode.row();
    let left = row.value(&case.fields) == Some(oriole_ir::ops::LeftLayout::Col);
    [left, row.value(&case.fields) == Some(oriole_ir::ops::RightLayout::Col)]
}

#[test]
fn every_shape_multiplies_through_memory() {
    let mut random = SplitMix64::new(23);
    let cases: Vec<Case> = [Opcode::Wmma, Opcode::WmmaHalves].into_iter().flat_map(Case::all).collect();
    assert_eq!(cases.len(), 2 * 3 * 4 * 2 + 3 * 4 + 4 + 5 * 4 + 2 * 2 + 2 + 3 * 4 * 4);
    for (number, case) in cases.iter().enumerate() {
        let [a, b, c] = case.elements(&mut random);
        let [m, n, k] = case.shape.extents();
        let by_columns = is_by_columns(case);
        for (sum_layout, gap) in SumLayout::ALL.iter().flat_map(|layout| [(*layout, false), (*layout, true)]) {
            let summed = sum_layout == SumLayout::Col;
            let at = |rows, columns, by_columns, bits: u32| Stored::new(rows, columns, by_columns, bits as usize, gap);
            let stored = [
                at(m, k, by_columns[0], case.left.bits()),
                at(k, n, by_columns[1], case.right.bits()),
                at(m, n, summed, case.addend.bits()),
                at(m, n, summed, case.sum.bits()),
            ];
            let body = product(case, sum_layout, Some(stored.map(|stored| stored.stride)));
            let buffers = vec![stored[0].bytes(&a), stored[1].bytes(&b), stored[2].bytes(&c), vec![0xEE; 16384]];
            let result = run_over(&body, buffers, 32, &RunOptions { races: true, ..RunOptions::default() });
            assert_eq!((result.outcome.clone(), result.races.len()), (Outcome::Finished, 0), "{body}");
            let mut found = result.buffer(3).expect("there is a fourth buffer").data().to_vec();
            if case.sum == Type::F64 {
                // A sum of nothing is -0 where it is rounded down.
                found
                    .chunks_mut(8)
                    .filter(|double| **double == [0, 0, 0, 0, 0, 0, 0, 0x80])
                    .for_each(|zero| zero[7] = 0);
            }
            let wanted: Elements = (0..m)
                .map(|row| (0..n).map(|column| (expected(case, &a, &b, c[row][column].1, [row, column]), 0)).collect())
                .collect();
            for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
                let [element, want] = [stored[3].element(&found, row, column), wanted[row][column].0];
                assert_eq!(element, want, "{} {number} {row}, {column}: {body}", case.name());
            }
            assert!(found == stored[3].bytes(&wanted), "bytes between rows were changed: {body}");
        }
    }
}

/// What code of ptxas 13.0 for `sm_80` loads: for `g = %laneid >> 2` and `t = %laneid & 3`, the bytes from the address
/// to what the first register holds, and from there to the others.
const LOADED: &[(&str, [usize; 2], &[usize])] = &[
    ("a.sync.row.m16n16k16.global.f16", [32, 4], &[0, 0x100, 0x10, 0x110, 0, 0x100, 0x10, 0x110]),
    ("a.sync.row.m32n8k16.global.f16", [32, 4], &[0, 0x100, 0x10, 0x110, 0x200, 0x300, 0x210, 0x310]),
    ("a.sync.row.m32n8k16.global.bf16", [32, 4], &[0, 0x100, 0x10, 0x110, 0x200, 0x300, 0x210, 0x310]),
    ("a.sync.row.m8n32k16.global.f16", [32, 4], &[0, 0x10, 0, 0x10, 0, 0x10, 0, 0x10]),
    ("b.sync.col.m16n16k16.global.f16", [32, 4], &[0, 0x10, 0x100, 0x110, 0, 0x10, 0x100, 0x110]),
    ("b.sync.col.m8n32k16.global.f16", [32, 4], &[0, 0x100, 0x10, 0x110, 0x200, 0x300, 0x210, 0x310]),
    ("a.sync.row.m32n8k16.global.s8", [16, 4], &[0, 0x80, 0x100, 0x180]),
    ("b.sync.col.m8n32k16.global.s8", [16, 4], &[0, 0x80, 0x100, 0x180]),
    ("a.sync.row.m16n16k16.global.s8", [16, 4], &[0, 0x80]),
    ("b.sync.col.m16n16k16.global.s8", [16, 4], &[0, 0x80]),
    ("a.sync.row.m16n16k8.global.tf32", [32, 4], &[0, 0x100, 0x10, 0x110]),
    ("b.sync.col.m16n16k8.global.tf32", [32, 4], &[0, 0x10, 0x100, 0x110]),
    ("a.sync.row.m8n8k32.global.s4", [16, 4], &[0]),
    ("c.sync.row.m16n16k16.global.f32", [64, 8], &[0, 4, 0x200, 0x204, 0x20, 0x24, 0x220, 0x224]),
    ("c.sync.row.m16n16k16.global.f16", [32, 4], &[0, 0x100, 0x10, 0x110]),
    ("c.sync.row.m32n8k16.global.f32", [32, 8], &[0, 4, 0x100, 0x104, 0x200, 0x204, 0x300, 0x304]),
    ("c.sync.row.m32n8k16.global.f16", [16, 4], &[0, 0x80, 0x100, 0x180]),
    ("c.sync.row.m8n32k16.global.f32", [4, 256], &[0, 0x80, 0x20, 0xa0, 0x40, 0xc0, 0x60, 0xe0]),
    ("c.sync.row.m8n8k32.global.s32", [32, 8], &[0, 4]),
];

#[test]
fn lanes_hold_what_they_do_on_the_machine() {
    for (load, [group, thread], offsets) in LOADED {
        let bytes: Vec<u8> = (0..4096u32 / 4).flat_map(|word| (0x1234_0000 + word).to_le_bytes()).collect();
        let count = offsets.len();
        let layout = load.rsplit('.').nth(2).unwrap_or("");
        let [m, n, k]: [usize; 3] = std::array::from_fn(|i| {
            let sizes = layout.split(|c: char| !c.is_ascii_digit()).filter_map(|size| size.parse().ok());
            sizes.collect::<Vec<_>>()[i]
        });
        let stride = match &load[..1] {
            "c" if load.contains(".row") => n,
            "c" => m,
            _ => k,
        };
        let (regs, to) = (registers(20, count, None), 4 * count);
        let stores: String = (0..count).map(|i| format!("  st.global.b32 [%d8+{}], %r{}\n", 4 * i, 20 + i)).collect();
        let body = format!(
            "  {regs} = wmma.load.{load} [%d1], {stride}\n  %r7 = s2r.b32 sr.laneid\n  \
             %d8 = imad.wide.u32 %r7, {to}, %d2\n{stores}"
        );
        let result = run_over(&body, vec![bytes, vec![0; 32 * to]], 32, &RunOptions::default());
        assert_eq!(result.outcome, Outcome::Finished, "{load}");
        let found = result.buffer(1).expect("there is a second buffer").data();
        let words = found.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
        let held = |lane: usize| offsets.iter().map(move |at| (lane >> 2) * group + (lane & 3) * thread + at);
        let wanted = (0..32).flat_map(held).map(|at| 0x1234_0000 + at as u32 / 4);
        assert_eq!(words.collect::<Vec<_>>(), wanted.collect::<Vec<_>>(), "{load}");
    }
}

fn outcome(body: &str, threads: u32) -> Outcome {
    run_over(body, vec![vec![0; 1024], vec![0; 512]], threads, &RunOptions::default()).outcome
}

/// 15 rows of 64 bytes and 32 more bytes lie before the end of 1024.
#[test]
fn each_lane_stays_within_memory_and_aligned() {
    let load = |at: &str, stride: &str| {
        format!("  {} = wmma.load.a.sync.row.m16n16k16.f16 [{at}], {stride}\n", registers(20, 8, None))
    };
    assert_eq!(outcome(&load("%d1+32", "32"), 32), Outcome::Finished);
    let Outcome::Trapped { thread, cause, .. } = outcome(&load("%d1+48", "32"), 32) else { panic!("out of bounds") };
    assert!(matches!(cause, Cause::OutOfBounds { bytes: 4, .. }), "{cause:?}");
    // Row 15 is the second one of group 7, and its last words are those of lanes 28 to 31.
    assert_eq!(thread.tid, [28, 0, 0]);
    for (at, stride) in [("%d1+8", "32"), ("%d1", "20")] {
        let Outcome::Trapped { cause, .. } = outcome(&load(at, stride), 32) else { panic!("{at}, {stride}") };
        assert!(matches!(cause, Cause::Misaligned { bytes: 16, .. }), "{cause:?}");
    }
    // Parameters and local memory hold no matrices.
    let local = "  %d5 = mov.b64 0\n  %d6 = cvta.local.u64 %d5\n";
    let Outcome::Trapped { cause, .. } = outcome(&format!("{local}{}", load("%d6", "16")), 32) else { panic!("local") };
    assert!(cause.to_string().contains("matrices are in global and shared memory"), "{cause}");
}

#[test]
fn all_lanes_give_one_address_and_one_stride() {
    let lane = "  %r7 = s2r.b32 sr.laneid\n  %r8 = shl.b32 %r7, 5\n  %d9 = imad.wide.u32 %r8, 1, %d1\n";
    let to = registers(20, 8, None);
    for (at, stride) in [("%d9", "16"), ("%d1", "%r8")] {
        let body = format!("{lane}  {to} = wmma.load.a.sync.row.m16n16k16.f16 [{at}], {stride}\n");
        let Outcome::Trapped { cause: Cause::BadCollective(what), .. } = outcome(&body, 32) else { panic!("{body}") };
        assert!(what.contains("lane 1 "), "{what}");
    }
    let body = format!("  {to} = wmma.load.a.sync.row.m16n16k16.f16 [%d1], %r9\n");
    assert!(matches!(outcome(&body, 32), Outcome::Undefined { .. }));
}

/// Rows that lie on each other are stored by several lanes.
#[test]
fn a_store_over_itself_is_a_race() {
    let store = |stride: usize| {
        let values: String = (20..28).map(|i| format!("  %r{i} = mov.b32 {i}\n")).collect();
        format!("{values}  wmma.store.d.sync.row.m16n16k16.shared.f32 [@s], {}, {stride}\n", registers(20, 8, None))
    };
    let options = RunOptions { races: true, ..RunOptions::default() };
    assert_eq!(run_over(&store(16), Vec::new(), 32, &options).races, []);
    assert!(!run_over(&store(0), Vec::new(), 32, &options).races.is_empty());
}

/// A load that comes after another lane's store without anything that orders them.
#[test]
fn a_load_races_with_an_unordered_store() {
    let body = |barrier: &str| {
        format!(
            "  %r7 = s2r.b32 sr.laneid\n  %r8 = shl.b32 %r7, 5\n  st.shared.b32 [%r8], %r7\n{barrier}  {} = \
             wmma.load.c.sync.row.m16n16k16.shared.f32 [@s], 16\n",
            registers(20, 8, None)
        )
    };
    let options = RunOptions { races: true, ..RunOptions::default() };
    assert_eq!(run_over(&body("  bar.sync 0, 0\n"), Vec::new(), 32, &options).races, []);
    assert!(!run_over(&body(""), Vec::new(), 32, &options).races.is_empty());
}
