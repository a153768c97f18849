//! Products of warpgroups against plain products, with shared memory filled as the figures of the PTX ISA have it, and
//! when products are done.

use std::fmt::Write;

use half::{bf16, f16};
use oriole_ir::ops::{FieldValue, LeftElement};

use crate::load::{RunOptions, RunResult};
use crate::outcome::{Cause, Outcome};
use crate::tests::{launch, run_with, words};
use oriole_launch::Launch;
use oriole_launch::random::SplitMix64;

/// Where the second factor begins in shared memory, whose whole size is below; both multiples of all patterns.
const RIGHT: usize = 16 << 10;
const SHARED: usize = 64 << 10;

/// A product that is tried.
#[derive(Clone, Copy)]
struct Try {
    element: LeftElement,
    right: LeftElement,
    columns: usize,
    inner: usize,
    sum: &'static str,
    /// Bytes that the swizzle works on; 16 where there is none.
    width: usize,
    registers: bool,
    sparse: bool,
    /// The fields that negate and transpose.
    signs: &'static str,
}

const HALVES: Try = Try {
    element: LeftElement::F16,
    right: LeftElement::F16,
    columns: 8,
    inner: 16,
    sum: "f32",
    width: 16,
    registers: false,
    sparse: false,
    signs: "",
};

/// A matrix by lines: rows of A, columns of B.
type Matrix = Vec<Vec<i32>>;

fn encoded(element: LeftElement, value: i32) -> u32 {
    let float = value as f32;
    match element {
        LeftElement::F16 => f16::from_f32(float).to_bits().into(),
        LeftElement::Bf16 => bf16::from_f32(float).to_bits().into(),
        LeftElement::Tf32 => float.to_bits(),
        LeftElement::E5m2 => u32::from(f16::from_f32(float).to_bits()) >> 8,
        // Bias 7 and three bits of fraction: 1 is 0x38, 2 is 0x40 and 3 is 0x44.
        LeftElement::E4m3 => [0, 0x38, 0x40, 0x44][value.unsigned_abs() as usize] | u32::from(value < 0) << 7,
        _ => value as u32 & (u32::MAX >> (32 - element.bits())),
    }
}

/// The bytes of a line.
fn line_bytes(element: LeftElement, line: &[i32]) -> Vec<u8> {
    let mut bytes = vec![0; line.len() * element.bits() as usize / 8];
    for (i, value) in line.iter().enumerate() {
        let at = i * element.bits() as usize;
        let bits = encoded(element, *value).to_le_bytes();
        let size = (element.bits() as usize).div_ceil(8);
        (0..size).for_each(|byte| bytes[at / 8 + byte] |= bits[byte] << (at % 8));
    }
    bytes
}

/// Where a piece of 16 bytes of a line of a pattern stands: PTX ISA, the figures of the swizzling modes. Of 128 bytes
/// a line has 8 pieces, which are exchanged by the line's number; of 64 and 32 bytes two and four lines have as many
/// together, and are exchanged alike.
fn swizzled(width: usize, line: usize, piece: usize) -> usize {
    piece
        ^ match width {
            128 => line % 8,
            64 => line / 2 % 4,
            32 => line / 4 % 2,
            _ => 0,
        }
}

impl Try {
    fn is_float(&self) -> bool {
        self.sum != "s32"
    }

    fn has(&self, sign: &str) -> bool {
        self.signs.contains(sign)
    }

    fn matrix(&self, random: &mut SplitMix64, element: LeftElement, lines: usize, length: usize) -> Matrix {
        let value = |random: &mut SplitMix64| match element {
            LeftElement::U8 => random.below(256) as i32,
            LeftElement::S8 => random.below(256) as i32 - 128,
            LeftElement::B1 => random.below(2) as i32,
            _ => random.below(7) as i32 - 3,
        };
        (0..lines).map(|_| (0..length).map(|_| value(random)).collect()).collect()
    }

    /// Puts a factor in shared memory as lines of bytes, and says with which leading and stride byte offset.
    fn place(&self, shared: &mut [u8], start: usize, element: LeftElement, matrix: &Matrix) -> (usize, usize) {
        let length = matrix[0].len() * element.bits() as usize / 8;
        // Groups of eight lines follow each other, and what does not fit in the width is far behind all of them.
        let stride = 8 * self.width * if self.width > 16 { 2 } else { 1 };
        let leading = stride * matrix.len() / 8;
        for (number, line) in matrix.iter().enumerate() {
            let bytes = line_bytes(element, line);
            for piece in 0..length / 16 {
                let per_width = self.width / 16;
                let within = swizzled(self.width, number % 8, piece % per_width);
                let at = start + piece / per_width * leading + number / 8 * stride + number % 8 * self.width;
                shared[at + 16 * within..][..16].copy_from_slice(&bytes[16 * piece..][..16]);
            }
        }
        (leading, stride)
    }

    /// The same where the lines run within the pieces.
    fn place_transposed(
        &self,
        shared: &mut [u8],
        start: usize,
        element: LeftElement,
        matrix: &Matrix,
    ) -> (usize, usize) {
        let (per_width, inner) = (self.width / 2, matrix[0].len());
        let next_inner = 8 * self.width;
        let next_lines = next_inner * inner / 8;
        for (line, values) in matrix.iter().enumerate() {
            for (k, value) in values.iter().enumerate() {
                let piece = swizzled(self.width, k % 8, line % per_width / 8);
                let at = start + line / per_width * next_lines + k / 8 * next_inner + k % 8 * self.width;
                let to = at + 16 * piece + 2 * (line % 8);
                shared[to..to + 2].copy_from_slice(&(encoded(element, *value) as u16).to_le_bytes());
            }
        }
        if self.width == 16 { (next_inner, next_lines) } else { (next_lines, next_inner) }
    }

    fn descriptor(&self, start: usize, (leading, stride): (usize, usize)) -> u64 {
        let swizzle = match self.width {
            128 => 1u64,
            64 => 2,
            32 => 3,
            _ => 0,
        };
        [start, leading, stride]
            .iter()
            .zip([0, 16, 32])
            .fold(swizzle << 62, |all, (bytes, at)| all | ((bytes / 16) as u64) << at)
    }

    /// How many words of a lane are the sum.
    fn sums(&self) -> usize {
        self.columns / if self.sum == "f16" { 4 } else { 2 }
    }

    fn mnemonic(&self) -> String {
        let bits = if self.element == LeftElement::B1 { ".and.popc" } else { "" };
        let variant = [if self.sparse { ".sp" } else { "" }, if self.registers { ".registers" } else { "" }].concat();
        format!(
            "wgmma.mma_async{variant}.m64n{}.k{}.{}.{}.{}{bits}{}",
            self.columns,
            self.inner,
            self.sum,
            self.element.name(),
            self.right.name(),
            self.signs
        )
    }

    /// A kernel of one warpgroup that copies the second argument to shared memory, adds the product to the third
    /// where the predicate says so, and stores it to the first: the words of a thread follow each other.
    fn kernel(&self, left: u64, right: u64, adds: &str) -> String {
        let (sums, mut text) = (self.sums(), String::new());
        let registers =
            |first: usize, count: usize| (0..count).map(|i| format!("%r{}", first + i)).collect::<Vec<_>>().join(", ");
        let _ = write!(
            text,
            "target sm_90a ptx 9.0\nglobal @s: b8[{SHARED}] shared align 1024\nentry @k {{\n  \
             param $out: u64 param align 8\n  param $in: u64 param align 8\n  param $c: u64 param align 8\n  \
             param $a: u64 param align 8\nbb0:\n  \
             %r1 = s2r.b32 sr.tid.x\n  %d2 = ld.param.u64 [$out]\n  %d3 = ld.param.u64 [$in]\n  \
             %d4 = ld.param.u64 [$c]\n  %d5 = ld.param.u64 [$a]\n  %r6 = mov.b32 0\n  bra bb1\nbb1:\n  \
             %r7 = imad.lo.u32 %r6, 128, %r1\n  %d8 = imad.wide.u32 %r7, 16, %d3\n  \
             %r9, %r10, %r11, %r12 = ld.global.v4.b32 [%d8]\n  %d13 = imad.wide.u32 %r7, 16, @s\n  \
             st.shared.v4.b32 [%d13], %r9, %r10, %r11, %r12\n  %r6 = iadd.u32 %r6, 1\n  \
             %p14 = setp.lt.u32 %r6, {}\n  cbra %p14, bb1, bb2\nbb2:\n  bar.sync 0, 0\n  \
             %d15 = imad.wide.u32 %r1, {}, %d4\n  %d16 = imad.wide.u32 %r1, {}, %d2\n  \
             %d17 = imad.wide.u32 %r1, 16, %d5\n  %r21, %r22, %r23, %r24 = ld.global.v4.b32 [%d17]\n",
            SHARED / 2048,
            4 * sums,
            4 * sums,
        );
        (0..sums).for_each(|i| _ = writeln!(text, "  %r{} = ld.global.b32 [%d15+{}]", 30 + i, 4 * i));
        let a = if self.registers { "%r21, %r22, %r23, %r24".to_owned() } else { format!("{left:#x}") };
        let metadata = if self.sparse { "0x44444444, 0, " } else { "" };
        let _ = write!(
            text,
            "  wgmma.fence\n  {} = {} {}, {a}, {right:#x}, {metadata}{adds}\n  wgmma.commit_group\n  \
             wgmma.wait_group 0\n",
            registers(200, sums),
            self.mnemonic(),
            registers(30, sums),
        );
        (0..sums).for_each(|i| _ = writeln!(text, "  st.global.b32 [%d16+{}], %r{}", 4 * i, 200 + i));
        text + "  ret\n}\n"
    }

    /// Runs a product of random matrices and compares all its elements.
    fn check(&self, seed: u64) {
        let mut random = SplitMix64::new(seed);
        let mut a = self.matrix(&mut random, self.element, 64, self.inner);
        let b = self.matrix(&mut random, self.right, self.columns, self.inner);
        // Of four elements the first two are held, of two wide ones the first.
        let (kept, of) = if self.element == LeftElement::Tf32 { (1, 2) } else { (2, 4) };
        let is_held = |k: usize| !self.sparse || k % of < kept;
        a.iter_mut().for_each(|row| (0..self.inner).filter(|k| !is_held(*k)).for_each(|k| row[k] = 0));
        let held: Matrix =
            a.iter().map(|row| (0..self.inner).filter(|k| is_held(*k)).map(|k| row[k]).collect()).collect();
        let mut shared = vec![0xA5; SHARED];
        let placed = |this: &Try, shared: &mut [u8], start, element, matrix: &Matrix, transposed| match transposed {
            true => this.place_transposed(shared, start, element, matrix),
            false => this.place(shared, start, element, matrix),
        };
        let offsets = placed(self, &mut shared, 0, self.element, &held, self.has("trans.a"));
        let left = self.descriptor(0, offsets);
        let offsets = placed(self, &mut shared, RIGHT, self.right, &b, self.has("trans.b"));
        let right = self.descriptor(RIGHT, offsets);
        let sign = if self.has("neg.a") == self.has("neg.b") { 1 } else { -1 };
        let product = |row: usize, column: usize| -> i32 {
            sign * (0..self.inner).map(|k| a[row][k] * b[column][k]).sum::<i32>()
        };
        let addend = |row: usize, column: usize| (row * 3 + column) as i32 % 17 - 8;
        let bits = |value: i32| match self.sum {
            "f32" => (value as f32).to_bits(),
            "f16" => f16::from_f32(value as f32).to_bits().into(),
            _ => value as u32,
        };
        // PTX ISA, the figures of fragments: a warp has 16 rows, and a lane pairs of columns in two of them.
        let words = |value: &dyn Fn(usize, usize) -> i32| -> Vec<u32> {
            let mut words = Vec::new();
            for thread in 0..128 {
                let (warp, lane) = (thread / 32, thread % 32);
                let element = |i: usize| {
                    let row = 16 * warp + lane / 4 + 8 * (i / 2 % 2);
                    bits(value(row, 8 * (i / 4) + 2 * (lane % 4) + i % 2))
                };
                let elements: Vec<u32> = (0..self.columns / 2).map(element).collect();
                match self.sum {
                    "f16" => words.extend(elements.chunks(2).map(|pair| pair[0] | pair[1] << 16)),
                    _ => words.extend(elements),
                }
            }
            words
        };
        let hex = |words: &[u32]| -> String {
            let bytes = words.iter().flat_map(|word| word.to_le_bytes());
            bytes.fold("hex:".to_owned(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            })
        };
        let image: Vec<u32> = shared.chunks(4).map(|c| u32::from_le_bytes(c.try_into().unwrap())).collect();
        let out = format!("zeroed:{}", 128 * 4 * self.sums());
        let args = [&out, &hex(&image), &hex(&words(&addend)), &hex(&self.fragment(&held))];
        let launch = launch(1, 128, &args.map(String::as_str));
        for adds in [true, false] {
            let text = self.kernel(left, right, if adds { "1" } else { "0" });
            let found = crate::tests::words(&run_with(&text, &launch, &RunOptions::default()));
            let wanted = words(&|row, column| product(row, column) + if adds { addend(row, column) } else { 0 });
            assert!(found == wanted, "{} by {}", self.mnemonic(), self.width);
        }
    }

    /// The rows of A as registers: four words of each thread, two rows and two halves of the inner extent.
    fn fragment(&self, held: &Matrix) -> Vec<u32> {
        let lines: Vec<Vec<u8>> = held.iter().map(|row| line_bytes(self.element, row)).collect();
        let word = |thread: usize, i: usize| {
            let (warp, lane) = (thread / 32, thread % 32);
            let at = 4 * (lane % 4) + 16 * (i / 2);
            let row = &lines[16 * warp + lane / 4 + 8 * (i % 2)];
            u32::from_le_bytes(row[at..at + 4].try_into().unwrap())
        };
        (0..128).flat_map(|thread| (0..4).map(move |i| (thread, i))).map(|(thread, i)| word(thread, i)).collect()
    }
}

#[test]
fn halves_are_multiplied_in_every_layout() {
    for width in [16, 32, 64, 128] {
        for signs in ["", ".neg.a", ".neg.b", ".trans.a", ".trans.b", ".neg.a.neg.b.trans.a.trans.b"] {
            for element in [LeftElement::F16, LeftElement::Bf16] {
                let columns = if signs.is_empty() { 24 } else { 64 };
                Try { element, right: element, columns, width, signs, ..HALVES }.check(width as u64);
            }
        }
        Try { width, registers: true, columns: 128, sum: "f16", ..HALVES }.check(2);
    }
}

#[test]
fn every_element_is_multiplied() {
    use LeftElement::{B1, Bf16, E4m3, E5m2, F16, S8, Tf32, U8};
    let kinds = [
        (&[F16][..], 16, &["f16", "f32"][..]),
        (&[Bf16], 16, &["f32"]),
        (&[Tf32], 8, &["f32"]),
        (&[E4m3, E5m2], 32, &["f16", "f32"]),
        (&[S8, U8], 32, &["s32"]),
        (&[B1], 256, &["s32"]),
    ];
    let mut tried = 0;
    for (elements, inner, sums) in kinds {
        for (element, right) in elements.iter().flat_map(|a| elements.iter().map(move |b| (*a, *b))) {
            for (sum, registers) in sums.iter().flat_map(|sum| [(*sum, false), (*sum, true)]) {
                for (columns, width) in [(8, 16), (16, 128), (256, 32)] {
                    let one = Try { element, right, columns, inner, sum, width, registers, ..HALVES };
                    one.check(tried);
                    tried += 1;
                    if element != B1 {
                        Try { sparse: true, inner: 2 * inner, ..one }.check(tried);
                    }
                    if one.is_float() {
                        Try { signs: ".neg.b", ..one }.check(tried);
                    }
                }
            }
        }
    }
    assert_eq!(tried, 3 * 2 * (2 + 1 + 1 + 4 * 2 + 4 + 1));
}

/// A product of ones: `%r1` is the thread, `%d2` its word of the output, and shared memory is full of 1.0 in f16.
fn ones(body: &str) -> String {
    let fill = "  %d5 = imad.wide.u32 %r1, 16, @s\n  \
                st.shared.v4.b32 [%d5], 0x3c003c00, 0x3c003c00, 0x3c003c00, 0x3c003c00\n";
    format!(
        "target sm_90a ptx 9.0\nglobal @s: b8[2048] shared align 1024\nentry @k {{\n  param $out: u64 param align 8\n\
         bb0:\n  %r1 = s2r.b32 sr.tid.x\n  %d3 = ld.param.u64 [$out]\n  %d2 = imad.wide.u32 %r1, 4, %d3\n{fill}  \
         bar.sync 0, 0\n{body}  ret\n}}\n"
    )
}

/// All lines are the first ones.
const PRODUCT: &str = "wgmma.mma_async.m64n8.k16.f32.f16.f16";
const BEGIN: &str = "  %r10, %r11, %r12, %r13 = PRODUCT 0, 0, 0, 0, 0, 0, 0\n";
const AGAIN: &str = "  %r20, %r21, %r22, %r23 = PRODUCT %r10, %r11, %r12, %r13, 0, 0, 1\n";
const COMMIT: &str = "  wgmma.commit_group\n";
const DONE: &str = "  wgmma.wait_group 0\n";
const ONE_LEFT: &str = "  wgmma.wait_group 1\n";
const STORE: &str = "  st.global.b32 [%d2], %r10\n";
const STORE_AGAIN: &str = "  st.global.b32 [%d2], %r20\n";
const ERASE: &str = "  bar.sync 0, 0\n  st.shared.v4.b32 [%d5], 0, 0, 0, 0\n  bar.sync 0, 0\n";

fn run(parts: &[&str], seed: Option<u64>) -> RunResult {
    let body = parts.concat().replace("PRODUCT", PRODUCT);
    let launch = Launch { copies: seed, ..launch(1, 128, &["zeroed:512"]) };
    run_with(&ones(&body), &launch, &RunOptions::default())
}

/// The first word of the output as a float; `None` where it is undefined.
fn found(parts: &[&str]) -> Option<f32> {
    let result = run(parts, None);
    let all = words(&result);
    let undefined = result.buffer(0).expect("a buffer").load(0, 4).1;
    (!undefined).then(|| f32::from_bits(all[0]))
}

#[test]
fn what_is_not_waited_for_is_undefined() {
    assert_eq!(found(&[BEGIN, COMMIT, DONE, STORE]), Some(16.0));
    assert_eq!(found(&[BEGIN, COMMIT, STORE, DONE]), None);
    assert_eq!(found(&[BEGIN, DONE, COMMIT, STORE]), None);
    assert_eq!(found(&[BEGIN, COMMIT, ONE_LEFT, STORE]), None);
    assert_eq!(found(&[BEGIN, COMMIT, AGAIN, COMMIT, ONE_LEFT, STORE]), Some(16.0));
    assert_eq!(found(&[BEGIN, COMMIT, AGAIN, COMMIT, ONE_LEFT, STORE_AGAIN]), None);
    assert_eq!(found(&[BEGIN, COMMIT, AGAIN, COMMIT, DONE, STORE_AGAIN]), Some(32.0));
}

/// What reads results before is undefined, and copies of them are what the product yields.
#[test]
fn copies_of_results_are_found() {
    let copy = "  %r30 = mov.b32 %r10\n  %r31 = iadd.u32 %r10, 1\n";
    let [copied, counted] = ["%r30", "%r31"].map(|reg| STORE.replace("%r10", reg));
    assert_eq!(found(&[BEGIN, copy, COMMIT, DONE, &copied]), Some(16.0));
    assert_eq!(found(&[BEGIN, copy, COMMIT, DONE, &counted]), None);
    // The copy is added to; the register that it was made of is not.
    let to_copy = AGAIN.replace("%r10,", "%r30,");
    assert_eq!(found(&[BEGIN, copy, "  %r10 = mov.b32 7\n", &to_copy, COMMIT, DONE, STORE_AGAIN]), Some(32.0));
}

#[test]
fn shared_memory_is_read_as_late_as_may_be() {
    assert_eq!(found(&[BEGIN, COMMIT, DONE, ERASE, STORE]), Some(16.0));
    assert_eq!(found(&[BEGIN, COMMIT, ERASE, DONE, STORE]), Some(0.0));
    let pause = "  %r40 = mov.b32 0\n".repeat(20);
    let mut seen: Vec<u32> =
        (0..20).map(|seed| words(&run(&[BEGIN, COMMIT, &pause, ERASE, DONE, STORE], Some(seed)))[0]).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [0.0f32, 16.0].map(f32::to_bits));
}

#[test]
fn products_that_mean_nothing_trap() {
    let trap = |text: &str, threads: u32| {
        let launch = launch(1, threads, &["zeroed:4096"]);
        match run_with(&ones(&text.replace("PRODUCT", PRODUCT)), &launch, &RunOptions::default()).outcome {
            Outcome::Trapped { cause: Cause::BadCollective(text), .. } => text,
            Outcome::Trapped { cause, .. } => cause.to_string(),
            other => format!("{other:?}"),
        }
    };
    let few = trap(BEGIN, 64);
    assert_eq!(few, "a warpgroup is four whole warps, and a CTA of 64 threads is not made of such");
    let with = |right: &str| BEGIN.replace(", 0, 0, 0\n", &format!(", 0, {right}, 0\n"));
    let different = format!("  %d6 = cvt.u64.u32 %r1\n{}", with("%d6"));
    assert_eq!(trap(&different, 128), "a matrix descriptor is not the same in all lanes of a warp");
    // From 2048 on there is no shared memory.
    assert!(trap(&with("0x80"), 128).contains("out of bounds"), "{}", trap(&with("0x80"), 128));
    let some = format!("  %p7 = setp.lt.u32 %r1, 5\n{}", BEGIN.replace(", 0\n", ", %p7\n"));
    assert_eq!(trap(&some, 128), "whether a product is added to something is not the same in all lanes of a warp");
}

/// A descriptor has units of 16 bytes, the base offset and the swizzle.
#[test]
fn descriptors_are_read_bit_by_bit() {
    use oriole_semantics::matrix::descriptor::Descriptor;
    let bits = 1u64 << 62 | 3 << 49 | 0x40 << 32 | 2 << 16 | 0x1008;
    let wanted = Descriptor { start: 0x10080, leading: 32, stride: 1024, base_offset: 3, width: 128 };
    assert_eq!(Descriptor::new(bits), wanted);
    // 0x10080 is the second line of 128 bytes; where the pattern begins at bits 3, its place in it is 1 - 3 modulo 8.
    assert_eq!(Descriptor::new(bits).inner_major(0, 0), 0x10080 ^ 6 << 4);
    assert_eq!(Descriptor::new(bits & !(7 << 49)).inner_major(0, 16), 0x10090 ^ 1 << 4);
    assert_eq!(Descriptor::new(bits).inner_major(9, 0), (0x10080 + 1024 + 128) ^ 7 << 4);
}
