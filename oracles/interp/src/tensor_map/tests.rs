//! Copies by tensor maps against their definition: what each element of the box is, and where it lies.

use crate::load::RunOptions;
use crate::outcome::Outcome;
use crate::tests::{launch, run_with, words};
use oriole_launch::{Arg, ArgValue, Buffer, Launch, ScalarType, Swizzle, TensorMap};

/// The tensor: 12 words beside each other, 10 rows of them, three slices of these.
const DIMS: [u64; 3] = [12, 10, 3];
/// Words of the box and of the output.
const BOX: u64 = 64;

/// A kernel of one thread: `%d2` is the output, `%d4` the box in shared memory, `%d5` a barrier for one arrival, `%d6`
/// the map. In the end it copies the box to the output.
fn kernel(body: &str) -> String {
    let fill: String = (0..BOX).map(|word| format!("  st.shared.b32 [%d4+{}], {}\n", 4 * word, 5000 + word)).collect();
    let copy: String = (0..BOX)
        .map(|word| format!("  %r9 = ld.shared.b32 [%d4+{}]\n  st.global.b32 [%d2+{}], %r9\n", 4 * word, 4 * word))
        .collect();
    format!(
        "global @s: b8[1024] shared align 1024\nglobal @bar: b64 shared align 8\nentry @k {{\n  \
         param $out: u64 param align 8\n  param $in: u64 param align 8\n  param $map: b8[128] param align 64\nbb0:\n  \
         %d2 = ld.param.u64 [$out]\n  %d4 = mov.b64 @s\n  %d5 = mov.b64 @bar\n  %d7 = mov.b64 $map\n  \
         %d6 = cvta.param.u64 %d7\n  mbarrier.init.shared.b64 [%d5], 1\n{fill}{body}{copy}  ret\n}}\n"
    )
}

/// Loads a box at a place, and waits for its bytes.
fn load(place: &[i64], bytes: u64) -> String {
    let (coordinates, name) = (coordinates(place), format!("{}d", place.len()));
    format!(
        "  %d8 = mbarrier.arrive.count.arrive.expect_tx.shared.b64 [%d5], {bytes}\n  \
         opaque 'cp.async.bulk.tensor.{name}.shared::cta.global.tile.mbarrier::complete_tx::bytes [%b64], \
         [%b64, {{{coordinates}}}], [@]', %d4, %d6, @bar\n  bra bb1\nbb1:\n  \
         %p10 = mbarrier.wait.parity.try_wait.parity.shared.b64 [%d5], 0\n  cbra %p10, bb2, bb1\nbb2:\n"
    )
}

/// Stores the box to a place, by an instruction that begins so, and combines so.
fn store(place: &[i64], name: &str, combine: &str) -> String {
    let (coordinates, rank) = (coordinates(place), place.len());
    format!(
        "  opaque '{name}.bulk.tensor.{rank}d.global.shared::cta{combine}.tile.bulk_group [%b64, {{{coordinates}}}], \
         [%b64]', %d6, %d4\n  cp.async.bulk.commit_group\n  cp.async.bulk.wait_group 0\n"
    )
}

fn coordinates(place: &[i64]) -> String {
    place.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")
}

fn input() -> Vec<u32> {
    (0..DIMS.iter().product::<u64>() as u32).map(|at| at + 1).collect()
}

fn map(rank: usize, extents: &[u64]) -> TensorMap {
    TensorMap {
        arg: 1,
        offset: 0,
        element: ScalarType::U32,
        dims: DIMS[..rank].to_vec(),
        strides: [48, 480][..rank - 1].to_vec(),
        extents: extents.to_vec(),
        steps: vec![1; rank],
        swizzle: Swizzle::None,
        nan: false,
    }
}

fn given(map: TensorMap) -> Launch {
    let mut launch = launch(1, 1, &[&format!("zeroed:{}", 4 * BOX)]);
    let bytes = input().iter().flat_map(|word| word.to_le_bytes()).collect();
    let values = [ArgValue::Buffer(Buffer { bytes, ..Buffer::default() }), ArgValue::TensorMap(map)];
    launch.args.extend(values.map(|value| Arg { name: None, value }));
    launch
}

fn trap(body: &str, launch: &Launch) -> String {
    match run_with(&kernel(body), launch, &RunOptions::default()).outcome {
        Outcome::Trapped { cause, .. } => cause.to_string(),
        other => panic!("{other:?}"),
    }
}

/// What each word of shared memory holds behind a load, by the definition: element after element of the box, the first
/// direction fastest, each at the place of its 16 bytes.
fn loaded(map: &TensorMap, place: &[i64]) -> Vec<u32> {
    let mut shared: Vec<u32> = (0..BOX as u32).map(|word| 5000 + word).collect();
    let count = |axis: usize| match map.extents.get(axis) {
        Some(extent) if axis > 0 => extent.div_ceil(map.steps[axis]),
        Some(extent) => *extent,
        None => 1,
    };
    let mut word = 0usize;
    for z in 0..count(2) {
        for y in 0..count(1) {
            for x in 0..count(0) {
                let at = [x, y, z].map(|at| at as i64);
                let inside = (0..map.dims.len()).try_fold(0i64, |sum, axis| {
                    let step = if axis == 0 { 1 } else { map.steps[axis] as i64 };
                    let at = place[axis] + at[axis] * step;
                    let words = [1, 12, 120][axis];
                    (0..map.dims[axis] as i64).contains(&at).then_some(sum + at * words)
                });
                let value = inside.map_or(0, |at| input()[at as usize]);
                let (line, piece, rest) = (word / 32, word % 32 / 4, word % 4);
                let exchanged = match map.swizzle {
                    Swizzle::None => piece,
                    Swizzle::B32 => piece ^ (line % 2),
                    Swizzle::B64 => piece ^ (line % 4),
                    Swizzle::B128 => piece ^ (line % 8),
                };
                shared[32 * line + 4 * exchanged + rest] = value;
                word += 1;
            }
        }
    }
    shared
}

#[test]
fn boxes_are_loaded_and_filled() {
    let places: [&[i64]; 6] = [&[0], &[3], &[2, 1], &[-3, 8], &[7, -2, 1], &[-20, 0, 0]];
    for place in places {
        let extents: &[u64] = match place.len() {
            1 => &[16],
            2 => &[8, 8],
            _ => &[4, 4, 4],
        };
        for swizzle in Swizzle::ALL {
            for step in [1, 2] {
                let mut map = map(place.len(), extents);
                map.steps[1..].fill(step);
                map.swizzle = swizzle;
                if 4 * map.extents[0] > 16 << (swizzle as u64) && swizzle != Swizzle::None {
                    continue;
                }
                let elements: u64 = (0..place.len())
                    .map(|axis| if axis == 0 { extents[0] } else { extents[axis].div_ceil(step) })
                    .product();
                let launch = given(map.clone());
                let result = run_with(&kernel(&load(place, 4 * elements)), &launch, &RunOptions::default());
                assert_eq!(words(&result), loaded(&map, place), "{place:?} {swizzle:?} {step}");
            }
        }
    }
}

/// Each piece is done at a moment of its own where a seed draws it, and the barrier waits for all.
#[test]
fn a_barrier_waits_for_all_of_a_box() {
    let launch = given(map(2, &[8, 8]));
    for seed in 0..20 {
        let launch = Launch { copies: Some(seed), ..launch.clone() };
        let result = run_with(&kernel(&load(&[2, 1], 256)), &launch, &RunOptions::default());
        assert_eq!(words(&result), loaded(&map(2, &[8, 8]), &[2, 1]));
    }
}

#[test]
fn boxes_are_stored_without_what_is_outside() {
    let stored = |body: &str| {
        let result = run_with(&kernel(body), &given(map(2, &[8, 8])), &RunOptions::default());
        assert_eq!(result.outcome, Outcome::Finished);
        let bytes = result.buffer(1).expect("it is a buffer").data();
        bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().expect("a word"))).collect::<Vec<u32>>()
    };
    let expected = |combined: &dyn Fn(u32, u32) -> u32| {
        let mut words = input();
        for (y, x) in (0..8i64).flat_map(|y| (0..8i64).map(move |x| (y, x))) {
            let (to_x, to_y) = (x + 7, y - 3);
            if (0..12).contains(&to_x) && (0..10).contains(&to_y) {
                let at = (12 * to_y + to_x) as usize;
                words[at] = combined(words[at], (5000 + 8 * y + x) as u32);
            }
        }
        words
    };
    assert_eq!(stored(&store(&[7, -3], "cp.async", "")), expected(&|_, new| new));
    assert_eq!(stored(&store(&[7, -3], "cp.reduce.async", ".add")), expected(&|old, new| old + new));
    assert_eq!(stored(&store(&[7, -3], "cp.reduce.async", ".max")), expected(&u32::max));
}

#[test]
fn elements_outside_may_be_no_numbers() {
    let mut halves = map(1, &[8]);
    (halves.element, halves.dims, halves.nan) = (ScalarType::F16, vec![4], true);
    let result = run_with(&kernel(&load(&[-2], 16)), &given(halves), &RunOptions::default());
    assert_eq!(words(&result)[..4], [0x7fff_7fff, 1, 2, 0x7fff_7fff]);
}

#[test]
fn what_is_no_copy_by_a_map_traps() {
    let whole = given(map(2, &[8, 8]));
    assert!(trap(&load(&[0], 256), &whole).contains("has 2 directions, and it names 1"));
    let elsewhere = load(&[0, 0], 256).replace("%d6, @bar", "%d2, @bar");
    assert!(trap(&elsewhere, &whole).contains("no tensor map lies there"), "{}", trap(&elsewhere, &whole));
    let between = load(&[0, 0], 256).replace("[%b64], [%b64", "[%b64+16], [%b64");
    assert!(trap(&between, &whole).contains("misaligned"), "{}", trap(&between, &whole));
    let outside = TensorMap { dims: vec![12, 100], ..map(2, &[8, 8]) };
    assert!(trap(&load(&[0, 90], 256), &given(outside)).contains("out of bounds"));
    let other = load(&[0, 0], 256).replace(".tile.", ".im2col.");
    assert!(trap(&other, &whole).contains("cannot be executed here"));
}
