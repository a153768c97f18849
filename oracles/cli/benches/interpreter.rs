//! Speed of the reference interpreter, in instructions of threads a second on one core, undefinedness tracked.
//!
//! `cargo bench --bench interpreter`. The goal is 1 billion a second for a tight integer loop and half of that for
//! a matrix product in shared memory with CTAs of 256 threads. `items` in the output are instructions of threads; of
//! matrix instructions they are products of elements, of which the goal is 2 billion a second.

use divan::Bencher;
use divan::counter::ItemsCount;
use oriole_interp::{Executable, Outcome, RunOptions};
use oriole_ir::parse_module;
use oriole_launch::{Launch, command_line};

const INTEGER_LOOP: &str = "
entry @k {
  param $out: u64 param align 8
bb0:
  %r1 = s2r.b32 sr.tid.x
  %r2 = mov.b32 0
  %r3 = mov.b32 %r1
  bra bb1
bb1:
  %r3 = imad.lo.u32 %r3, 0x19660d, 0x3c6ef35f
  %r4 = shr.u32 %r3, 7
  %r5 = xor.b32 %r3, %r4
  %r6 = iadd.u32 %r6, %r5
  %r7 = and.b32 %r5, 255
  %r8 = imax.u32 %r7, %r1
  %r3 = iadd.u32 %r3, %r8
  %r2 = iadd.u32 %r2, 1
  %p9 = setp.lt.u32 %r2, 20000
  cbra %p9, bb1, bb2
bb2:
  %d10 = ld.param.u64 [$out]
  %d11 = imad.wide.u32 %r1, 4, %d10
  st.global.b32 [%d11], %r3
  ret
}
";

/// C = A * B for 64 x 64 matrices in 16 x 16 tiles: the inner loop as nvcc writes it, unrolled four times.
const MATRIX_PRODUCT: &str = "
global @a: b8[1024] shared align 4
global @b: b8[1024] shared align 4
entry @k {
  param $x: u64 param align 8
  param $y: u64 param align 8
  param $z: u64 param align 8
bb0:
  %r1 = s2r.b32 sr.tid.x
  %r2 = s2r.b32 sr.tid.y
  %r3 = s2r.b32 sr.ctaid.x
  %r4 = s2r.b32 sr.ctaid.y
  %d5 = ld.param.u64 [$x]
  %d6 = ld.param.u64 [$y]
  %d7 = ld.param.u64 [$z]
  %r8 = imad.lo.u32 %r4, 16, %r2
  %r9 = imad.lo.u32 %r3, 16, %r1
  %r10 = imul.lo.u32 %r8, 64
  %r11 = imad.lo.u32 %r2, 16, %r1
  %r12 = shl.b32 %r11, 2
  %r13 = shl.b32 %r2, 6
  %r14 = shl.b32 %r1, 2
  %r15 = mov.b32 0
  %r16 = mov.b32 0
  bra bb1
bb1:
  %r17 = iadd.u32 %r10, %r15
  %r18 = iadd.u32 %r17, %r1
  %d19 = imad.wide.u32 %r18, 4, %d5
  %r20 = ld.global.f32 [%d19]
  st.shared.f32 [%r12], %r20
  %r21 = iadd.u32 %r15, %r2
  %r22 = imad.lo.u32 %r21, 64, %r9
  %d23 = imad.wide.u32 %r22, 4, %d6
  %r24 = ld.global.f32 [%d23]
  %r46 = iadd.u32 %r12, 1024
  st.shared.f32 [%r46], %r24
  bar.sync 0, 0
  %r25 = mov.b32 0
  %r26 = mov.b32 %r13
  %r27 = iadd.u32 %r14, 1024
  bra bb2
bb2:
  %r30 = ld.shared.f32 [%r26]
  %r31 = ld.shared.f32 [%r27]
  %r16 = ffma.rn.f32 %r30, %r31, %r16
  %r32 = ld.shared.f32 [%r26+4]
  %r33 = ld.shared.f32 [%r27+64]
  %r16 = ffma.rn.f32 %r32, %r33, %r16
  %r34 = ld.shared.f32 [%r26+8]
  %r35 = ld.shared.f32 [%r27+128]
  %r16 = ffma.rn.f32 %r34, %r35, %r16
  %r36 = ld.shared.f32 [%r26+12]
  %r37 = ld.shared.f32 [%r27+192]
  %r16 = ffma.rn.f32 %r36, %r37, %r16
  %r25 = iadd.u32 %r25, 4
  %r26 = iadd.u32 %r26, 16
  %r27 = iadd.u32 %r27, 256
  %p28 = setp.lt.u32 %r25, 16
  cbra %p28, bb2, bb3
bb3:
  bar.sync 0, 0
  %r15 = iadd.u32 %r15, 16
  %p29 = setp.lt.u32 %r15, 64
  cbra %p29, bb1, bb4
bb4:
  %r38 = iadd.u32 %r10, %r9
  %d39 = imad.wide.u32 %r38, 4, %d7
  st.global.f32 [%d39], %r16
  ret
}
";

/// A loop around one matrix instruction, which adds to its own result.
const TENSOR_LOOP: &str = "
entry @k {
  param $out: u64 param align 8
bb0:
  %r1 = s2r.b32 sr.tid.x
  %r2 = mov.b32 0
  %r3 = mov.b32 0
  %r4 = mov.b32 0
  %r5 = mov.b32 0
  %r6 = mov.b32 0
  %r7 = iadd.u32 %r1, 0x3c003c00
  %d12 = pack.b32 %r2, %r7
  %d13 = pack.b32 %r2, %r2
  %d14 = pack.b32 %r2, %r2
  bra bb1
bb1:
  INSTRUCTION
  %r2 = iadd.u32 %r2, 1
  %p9 = setp.lt.u32 %r2, 10000
  cbra %p9, bb1, bb2
bb2:
  %d10 = ld.param.u64 [$out]
  %d11 = imad.wide.u32 %r1, 4, %d10
  st.global.b32 [%d11], %r3
  st.global.b32 [%d11+128], %d13.0
  ret
}
";

fn measure(bencher: Bencher<'_, '_>, text: &str, launch: &Launch) {
    let module = parse_module(text).expect("the kernel is well-formed");
    let executable = Executable::new(&module).expect("the kernel decodes");
    let options = RunOptions { stats: true, ..RunOptions::default() };
    let counted = executable.run(launch, &options).expect("the launch fits");
    assert_eq!(counted.outcome, Outcome::Finished);
    let instructions: u64 = counted.stats.values().sum();
    bencher
        .counter(ItemsCount::new(instructions))
        .bench_local(|| executable.run(launch, &RunOptions::default()).expect("the launch fits").steps);
}

fn launch(grid: &str, block: &str, args: &[&str]) -> Launch {
    let args: Vec<String> = args.iter().map(|arg| arg.to_string()).collect();
    command_line::launch(None, grid, block, &args).expect("the launch is well-formed")
}

#[divan::bench]
fn integer_loop(bencher: Bencher<'_, '_>) {
    // %r6 is undefined at first on purpose: tracking must not be free.
    measure(bencher, INTEGER_LOOP, &launch("1", "32", &["zeroed:128"]));
}

#[divan::bench]
fn shared_matrix_product(bencher: Bencher<'_, '_>) {
    let args = ["random:1:16384:type=f32", "random:2:16384:type=f32", "zeroed:16384"];
    measure(bencher, MATRIX_PRODUCT, &launch("4,4", "16,16", &args));
}

const HALVES: &str = "%r3, %r4, %r5, %r6 = mma.sync.m16n8k16.row.col.f32.f16.f16.f32 \
                      %r7, %r1, %r7, %r7, %r7, %r1, %r3, %r4, %r5, %r6";
const NARROW: &str = "%r3, %r4 = mma.sync.m16n8k8.row.col.f16.f16.f16.f16 %r7, %r7, %r7, %r3, %r4";
const BYTES: &str = "%r3, %r4, %r5, %r6 = mma.sync.m16n8k32.row.col.s32.s8.u8.s32 \
                     %r7, %r1, %r7, %r7, %r7, %r1, %r3, %r4, %r5, %r6";

const TENSOR32: &str = "%r3, %r4, %r5, %r6 = mma.sync.m16n8k4.row.col.f32.tf32.tf32.f32 \
                        %r7, %r1, %r7, %r3, %r4, %r5, %r6";
const DOUBLES: &str = "%d13, %d14 = mma.sync.m8n8k4.row.col.f64.f64.f64.f64 %d12, %d12, %d13, %d14";
const SQUARE: &str = "%r3, %r4, %r5, %r6 = wmma.mma.f16.sync.row.col.m16n16k16.f16.f16 \
                      %r7, %r1, %r7, %r7, %r7, %r1, %r7, %r7, %r7, %r1, %r7, %r7, %r7, %r1, %r7, %r7, \
                      %r3, %r4, %r5, %r6";
const SPARSE: &str = "%r15 = mov.b32 0x4e4e4e4e\n  \
                      %r3, %r4, %r5, %r6 = mma.sp.ordered.sync.m16n8k32.row.col.f32.f16.f16.f32 \
                      %r7, %r1, %r7, %r7, %r7, %r1, %r7, %r7, %r3, %r4, %r5, %r6, %r15, 0";

#[divan::bench(args = [
    (HALVES, 2048), (NARROW, 1024), (BYTES, 4096), (TENSOR32, 512), (DOUBLES, 256), (SQUARE, 4096), (SPARSE, 2048),
])]
fn matrix_instruction(bencher: Bencher<'_, '_>, (instruction, products): (&str, u64)) {
    let module = parse_module(&TENSOR_LOOP.replace("INSTRUCTION", instruction)).expect("the kernel is well-formed");
    let executable = Executable::new(&module).expect("the kernel decodes");
    let launch = launch("1", "32", &["zeroed:256"]);
    bencher.counter(ItemsCount::new(10000 * products)).bench_local(|| {
        let result = executable.run(&launch, &RunOptions::default()).expect("the launch fits");
        assert_eq!(result.outcome, Outcome::Finished);
    });
}

/// Runs the benchmark.
pub fn main() {
    divan::main();
}
