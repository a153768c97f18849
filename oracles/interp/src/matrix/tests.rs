//! Matrix instructions in small kernels, against what the figures of the PTX ISA show.
//!
//! The figures are written here as they are drawn: a matrix by rows, and in each box the thread and its element. The
//! interpreter's formulas are not used.

use super::super::tests::{launch, run_with, words};
use crate::load::RunOptions;
use crate::outcome::Outcome;

/// The box of a figure for matrices of 8 by 8 elements of 16 bits: row after row, `T0:{a0, a1}` to `T31:{a0, a1}`.
fn drawn_rows() -> Vec<Vec<(usize, usize)>> {
    let mut threads = 0..32;
    let row = |threads: &mut std::ops::Range<usize>| threads.take(4).flat_map(|t| [(t, 0), (t, 1)]).collect();
    (0..8).map(|_| row(&mut threads)).collect()
}

/// A kernel of one warp that stores words 0 to `results - 1` of each lane, in `%r20` and up.
fn kernel(shared: &str, body: &str, results: usize) -> String {
    let store = |i: usize| format!("  st.global.b32 [%d10+{}], %r{}\n", 4 * i, 20 + i);
    let stores: String = (0..results).map(store).collect();
    format!(
        "{shared}entry @k {{\n  param $out: u64 param align 8\nbb0:\n  %r1 = s2r.b32 sr.tid.x\n  \
         %d2 = ld.param.u64 [$out]\n  %d10 = imad.wide.u32 %r1, {}, %d2\n{body}\n{stores}  ret\n}}\n",
        4 * results
    )
}

fn results(text: &str, results: usize) -> Vec<Vec<u32>> {
    let zeroed = format!("zeroed:{}", 32 * 4 * results);
    let options = RunOptions { races: true, ..RunOptions::default() };
    let result = run_with(text, &launch(1, 32, &[&zeroed]), &options);
    assert_eq!(result.races, [], "{text}");
    words(&result).chunks(results).map(<[u32]>::to_vec).collect()
}

/// Element `(row, column)` of matrix `m` is `64 * m + 8 * row + column`: what lanes hold of it.
fn held(transposed: bool, matrix: usize) -> Vec<u32> {
    let mut lanes = vec![0; 32];
    for (row, boxes) in drawn_rows().into_iter().enumerate() {
        for (column, (thread, half)) in boxes.into_iter().enumerate() {
            let at = if transposed { 8 * column + row } else { 8 * row + column };
            lanes[thread] |= (64 * matrix + at) as u32 * if half == 1 { 65536 } else { 1 };
        }
    }
    lanes
}

#[test]
fn movmatrix_transposes() {
    // A lane starts with elements 2 * lane and 2 * lane + 1 of the matrix by rows.
    let body = "  %r3 = shl.b32 %r1, 1\n  %r4 = imad.lo.u32 %r3, 65536, %r3\n  %r5 = iadd.u32 %r4, 65536\n  \
                %r20 = movmatrix.sync.m8n8.trans.b16 %r5";
    let found: Vec<u32> = results(&kernel("", body, 1), 1).concat();
    assert_eq!(found, held(true, 0));
    assert_eq!((found[0], found[1], found[4]), (8 << 16, 24 << 16 | 16, 9 << 16 | 1));
}

const SHARED: &str = "global @s: b8[512] shared align 16\n";

/// Lane `l` writes the halves `8 * l` to `8 * l + 7`: row `l % 8` of matrix `l / 8`.
const FILL: &str = "  %r3 = shl.b32 %r1, 4\n  %r4 = shl.b32 %r1, 3\n  %r5 = imad.lo.u32 %r4, 65536, %r4\n  \
    %r6 = iadd.u32 %r5, 65536\n  %r7 = iadd.u32 %r5, 0x30002\n  %r8 = iadd.u32 %r5, 0x50004\n  \
    %r9 = iadd.u32 %r5, 0x70006\n  st.shared.v4.b32 [%r3], %r6, %r7, %r8, %r9\n  bar.sync 0, 0\n";

#[test]
fn ldmatrix_loads_what_the_figure_shows() {
    for count in [1, 2, 4] {
        for (trans, transposed) in [("", false), (".trans", true)] {
            let dsts: Vec<String> = (0..count).map(|i| format!("%r{}", 20 + i)).collect();
            let load = format!("  {} = ldmatrix.sync.m8n8.x{count}{trans}.shared.b16 [%r3]", dsts.join(", "));
            let found = results(&kernel(SHARED, &format!("{FILL}{load}"), count), count);
            for matrix in 0..count {
                let lanes: Vec<u32> = found.iter().map(|lane| lane[matrix]).collect();
                assert_eq!(lanes, held(transposed, matrix), "x{count}{trans}, matrix {matrix}");
            }
        }
    }
}

/// What was loaded is stored where other rows were, and comes back by rows; through generic addresses.
#[test]
fn stmatrix_stores_as_ldmatrix_loads() {
    for (load, store, transposed) in
        [("", "", false), (".trans", ".trans", false), (".trans", "", true), ("", ".trans", true)]
    {
        let body = format!(
            "{FILL}  %r11, %r12, %r13, %r14 = ldmatrix.sync.m8n8.x4{load}.shared.b16 [%r3]\n  bar.sync 0, 0\n  \
             %d15 = cvt.u64.u32 %r3\n  %d16 = cvta.shared.u64 %d15\n  \
             stmatrix.sync.m8n8.x4{store}.b16 [%d16], %r11, %r12, %r13, %r14\n  bar.sync 0, 0\n  \
             %r20, %r21, %r22, %r23 = ldmatrix.sync.m8n8.x4.shared.b16 [%r3]"
        );
        let found = results(&kernel(SHARED, &body, 4), 4);
        for matrix in 0..4 {
            let lanes: Vec<u32> = found.iter().map(|lane| lane[matrix]).collect();
            assert_eq!(lanes, held(transposed, matrix), "{load} then {store}, matrix {matrix}");
        }
    }
}

/// Of two products the first has an undefined factor: its result is undefined, and that of the second is not.
#[test]
fn a_product_leaves_nothing_undefined_to_the_next() {
    let product = "mma.sync.m8n8k16.row.col.s32.s8.s8.s32";
    let body = format!(
        "  %r3 = mov.b32 0\n  %r40, %r41 = {product} undef, %r3, %r3, %r3\n  \
         %r42, %r43 = {product} %r3, %r3, %r3, %r3\n"
    );
    let outcome = |looked: u32| {
        let look = format!("{body}  %p44 = setp.eq.u32 %r{looked}, 0\n  cbra %p44, bb1, bb1\nbb1:\n");
        run_with(&kernel("", &look, 0), &launch(1, 32, &["zeroed:128"]), &RunOptions::default()).outcome
    };
    assert!(matches!(outcome(40), Outcome::Undefined { .. }), "{:?}", outcome(40));
    assert_eq!(outcome(42), Outcome::Finished);
}
