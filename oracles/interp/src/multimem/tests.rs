//! Kernels over multicast memory: what they load, what they leave in each replica, and what is refused.

use crate::load::{RunOptions, RunResult};
use crate::outcome::Outcome;
use crate::tests::{launch, run_with, words};
use oriole_launch::Launch;

/// A kernel for few threads: `%d2` is the multicast address, `%d3` that of the first replica, `%d4` the output, and
/// `%r1` the thread.
fn kernel(body: &str) -> String {
    let params = ["one", "many", "out"].map(|name| format!("  param ${name}: u64 param align 8\n")).concat();
    format!(
        "entry @k {{\n{params}bb0:\n  %d2 = ld.param.u64 [$many]\n  %d3 = ld.param.u64 [$one]\n  \
         %d4 = ld.param.u64 [$out]\n  %r1 = s2r.b32 sr.tid.x\n{body}  ret\n}}\n"
    )
}

/// Words as the content of a buffer of so many replicas.
fn replicas(count: usize, words: &[u32]) -> String {
    let bytes: String = words.iter().flat_map(|word| word.to_le_bytes()).map(|byte| format!("{byte:02x}")).collect();
    format!("hex:{bytes}:replicas={count}")
}

fn on(memory: &str) -> Launch {
    launch(1, 1, &[memory, "multicast:0", "zeroed:32"])
}

fn run(body: &str, memory: &str) -> RunResult {
    run_with(&kernel(body), &on(memory), &RunOptions::default())
}

/// The first words of the output.
fn out(body: &str, memory: &str) -> [u32; 2] {
    let result = run(body, memory);
    assert_eq!(result.outcome, Outcome::Finished);
    let bytes = result.memory[1].bytes.data();
    [0, 4].map(|at| u32::from_le_bytes(*bytes[at..].first_chunk().expect("a word")))
}

/// What `multimem.ld_reduce` with these modifiers makes of three replicas that begin with these words.
fn reduced(how: &str, [a, b, c]: [u32; 3]) -> u32 {
    let body = format!("  %r5 = multimem.ld_reduce.global.{how} [%d2]\n  st.global.b32 [%d4], %r5\n");
    out(&body, &replicas(3, &[a, 0, 0, 0, b, 0, 0, 0, c, 0, 0, 0]))[0]
}

#[test]
fn loads_combine_all_replicas() {
    assert_eq!(reduced("add.u32", [1, 2, 0xFFFF_FFFF]), 2);
    assert_eq!(reduced("min.s32", [1, 0xFFFF_FFFE, 7]), 0xFFFF_FFFE);
    assert_eq!(reduced("max.u32", [1, 0xFFFF_FFFE, 7]), 0xFFFF_FFFE);
    assert_eq!(reduced("and.b32", [0b1110, 0b0111, 0b1111]), 0b0110);
    assert_eq!(reduced("xor.b32", [0b1110, 0b0111, 0b0001]), 0b1000);
    assert_eq!(reduced("add.f32", [1.5f32, 2.0, -8.0].map(f32::to_bits)), (-4.5f32).to_bits());
    assert_eq!(reduced("add.f32", [1, 1, 0]), 2, "loads keep subnormals");
    // Two halves each: 1 + 2 + 4 above, and the larger number below a NaN.
    assert_eq!(reduced("add.f16x2", [0x3C00_0000, 0x4000_0000, 0x4400_3C00]), 0x4700_3C00);
    assert_eq!(reduced("max.bf16x2", [0x3F80_7FFF, 0x4000_3F80, 0xC000_7FFF]), 0x4000_3F80);
}

/// 2048 + 1 + 1: a half loses each one, f32 none.
#[test]
fn sums_are_rounded_once_where_f32_accumulates_them() {
    let values = [0x6800, 0x3C00, 0x3C00];
    assert_eq!(reduced("add.f16x2", values), 0x6800);
    assert_eq!(reduced("add.acc::f32.f16x2", values), 0x6801);
    // The same of bf16: 256 + 1 + 1.
    let values = [0x4380_4380, 0x3F80_3F80, 0x3F80_3F80];
    assert_eq!(reduced("add.bf16x2", values), 0x4380_4380);
    assert_eq!(reduced("add.acc::f32.bf16x2", values), 0x4381_4381);
    assert_eq!(reduced("add.acc::f32.f16x2", [0x7C00, 0xFC00, 0x3C00]), 0x7FFF);
}

#[test]
fn vectors_are_combined_element_by_element() {
    let load = "  %r5, %r6 = multimem.ld_reduce.add.v2.f16 [%d2]\n";
    let store = "  st.global.b32 [%d4], %r5\n  st.global.b32 [%d4+4], %r6\n";
    let memory = replicas(2, &[0x3C00_4000, 0, 0, 0, 0x4200_4200, 0, 0, 0]);
    assert_eq!(out(&[load, store].concat(), &memory), [0x4500, 0x4400]);
    let load = "  %d5 = multimem.ld_reduce.add.u64 [%d2+8]\n  st.global.b64 [%d4], %d5\n";
    let memory = replicas(2, &[9, 9, 0xFFFF_FFFF, 1, 9, 9, 2, 0]);
    assert_eq!(out(load, &memory), [1, 2]);
}

#[test]
fn stores_and_reductions_change_every_replica() {
    let before = replicas(3, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    assert_eq!(words(&run("  multimem.st.b32 [%d2+4], 77\n", &before)), [1, 77, 3, 4, 5, 77, 7, 8, 9, 77, 11, 12]);
    let wide = "  multimem.st.v2.f32 [%d2+8], 0, 1\n";
    assert_eq!(words(&run(wide, &before)), [1, 2, 0, 1, 5, 6, 0, 1, 9, 10, 0, 1]);
    let red = "  multimem.red.relaxed.gpu.add.u32 [%d2+12], 100\n";
    assert_eq!(words(&run(red, &before)), [1, 2, 3, 104, 5, 6, 7, 108, 9, 10, 11, 112]);
    let red = "  multimem.red.add.v2.f32 [%d2], 0x3f800000, 0x40000000\n";
    assert_eq!(words(&run(red, &replicas(1, &[1, 2, 0, 0]))), [0x3F80_0000, 0x4000_0000, 0, 0]);
    let small = red.replace("0x3f800000", "1");
    assert_eq!(words(&run(&small, &replicas(1, &[1, 2, 0, 0])))[0], 0, "reductions flush them");
    let ones = replicas(2, &[0x3F80_0000, 0, 0, 0, 0x4000_0000, 0x4000_0000, 0, 0]);
    assert_eq!(words(&run(red, &ones)), [0x4000_0000, 0x4000_0000, 0, 0, 0x4040_0000, 0x4080_0000, 0, 0]);
}

#[test]
fn undefined_replicas_make_undefined_values() {
    let body =
        "  st.global.b32 [%d3+16], undef\n  %r5 = multimem.ld_reduce.add.u32 [%d2]\n  st.global.b32 [%d4], %r5\n";
    let result = run(body, &replicas(2, &[1; 8]));
    assert!(result.memory[1].bytes.load(0, 4).1 && result.memory[0].bytes.load(16, 4).1);
    let red = run("  multimem.red.add.u32 [%d2], undef\n", &replicas(2, &[1; 8]));
    assert!([0, 16].iter().all(|at| red.memory[0].bytes.load(*at, 4).1) && !red.memory[0].bytes.load(4, 4).1);
}

/// Where a run stops, and why.
fn trap(body: &str) -> String {
    match run(body, &replicas(2, &[0; 16])).outcome {
        Outcome::Trapped { cause, .. } => cause.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_kind_of_address_is_for_its_own_accesses() {
    let alone = "it is a multicast address, which `multimem` alone accesses";
    for body in ["  %r5 = ld.global.b32 [%d2]\n", "  st.b32 [%d2], 1\n", "  red.global.add.u32 [%d2], 1\n"] {
        assert!(trap(body).contains(alone), "{}", trap(body));
    }
    let none = "it is no multicast address, which `multimem` needs";
    let bodies = ["  %r5 = multimem.ld_reduce.add.u32 [%d3]\n", "  multimem.st.b32 [%d4], 1\n"];
    for body in [bodies[0], bodies[1], "  multimem.red.add.u32 [%d3], 1\n"] {
        assert!(trap(body).contains(none), "{}", trap(body));
    }
    let beyond = trap("  multimem.st.v2.f32 [%d2+32], 1, 1\n");
    assert!(beyond.contains("byte 32 of a replica of `arg 0`, which has 32 bytes"), "{beyond}");
    let misaligned = trap("  multimem.st.v2.f32 [%d2+4], 1, 1\n");
    assert!(misaligned.contains("misaligned 8-byte access at multicast address"), "{misaligned}");
}

#[test]
fn races_are_seen_on_every_replica() {
    let races = |body: &str| {
        let two = Launch { grid: [2, 1, 1], ..on(&replicas(2, &[0; 8])) };
        run_with(&kernel(body), &two, &RunOptions { races: true, ..RunOptions::default() }).races.len()
    };
    assert_eq!(races("  multimem.red.add.u32 [%d2], 1\n"), 0);
    assert_eq!(races("  multimem.st.relaxed.gpu.b32 [%d2], 1\n"), 0);
    assert!(races("  multimem.st.b32 [%d2], 1\n") > 0);
    let beside = "  %r5 = s2r.b32 sr.ctaid.x\n  %p6 = setp.eq.u32 %r5, 0\n  @%p6 multimem.st.b32 [%d2], 1\n  \
                  @!%p6 st.global.b32 [%d3+16], 1\n";
    assert!(races(beside) > 0);
    assert_eq!(races(&beside.replace("[%d3+16]", "[%d3+20]")), 0);
}
