//! Products of every shape against a plain product, with elements where the PTX ISA lists them.
//!
//! The ISA gives a formula for the `i`th element of a lane's fragment for each shape; they are copied here one by one.

use oriole_ir::ops::{
    Addend, BitProduct, FieldValues, LeftElement, LeftLayout, Matrix, MatrixShape, Opcode, RightElement, RightLayout,
    SatFinite, Shape, Type,
};
use oriole_ir::{InstBuilder, Operand, Reg, RegInfo, parse_module};

use crate::load::{Executable, RunOptions};
use crate::outcome::{Cause, Outcome};
use oriole_launch::random::SplitMix64;
use oriole_launch::{Arg, ArgValue, Buffer, Launch};

/// Where element `i` of A is: row and column.
fn left_place(shape: MatrixShape, bits: u32, lane: usize, i: usize) -> (usize, usize) {
    use MatrixShape::*;
    let (g, t) = (lane >> 2, lane % 4);
    let upper = |first: bool| if first { g } else { g + 8 };
    match (shape, bits) {
        (M8n8k4, _) => (g, t),
        (M8n8k16, _) => (g, t * 4 + i),
        (M8n8k32, _) => (g, t * 8 + i),
        (M8n8k128, _) => (g, t * 32 + i),
        (M16n8k8, 16) => (upper(i < 2), t * 2 + (i & 1)),
        (M16n8k16, 16) => (upper(i < 2 || (4..6).contains(&i)), t * 2 + (i & 1) + if i < 4 { 0 } else { 8 }),
        (M16n8k4, _) => (upper(i == 0), t),
        (M16n8k8, _) => (upper(i == 0 || i == 2), if i < 2 { t } else { t + 4 }),
        (M16n8k16, 64) => (upper(i & 1 == 0), t + i / 2 * 4),
        (M16n8k16, _) => (upper(i < 4), t * 4 + (i & 3)),
        (M16n8k32, 8) => (upper(i < 4 || (8..12).contains(&i)), t * 4 + (i & 3) + if i < 8 { 0 } else { 16 }),
        (M16n8k32, _) => (upper(i < 8), t * 8 + (i & 7)),
        (M16n8k64, _) => (upper(i < 8 || (16..24).contains(&i)), t * 8 + (i & 7) + if i < 16 { 0 } else { 32 }),
        (M16n8k128, _) => (upper(i < 32), t * 32 + (i & 31)),
        (M16n8k256, _) => (upper(i < 32 || (64..96).contains(&i)), t * 32 + (i & 31) + if i < 64 { 0 } else { 128 }),
        (M8n8 | M16n16k16 | M8n32k16 | M32n8k16 | M16n16k8, _) => unreachable!("no product of `mma`"),
    }
}

/// Where element `i` of B is: row and column.
fn right_place(shape: MatrixShape, bits: u32, lane: usize, i: usize) -> (usize, usize) {
    use MatrixShape::*;
    let (g, t) = (lane >> 2, lane % 4);
    let k = match (shape, bits) {
        (M8n8k4 | M16n8k4, _) => t,
        (M8n8k16, _) => t * 4 + i,
        (M8n8k32, _) => t * 8 + i,
        (M8n8k128 | M16n8k128, _) => t * 32 + i,
        (M16n8k8, 16) => t * 2 + i,
        (M16n8k16, 16) => t * 2 + (i & 1) + if i < 2 { 0 } else { 8 },
        (M16n8k8, _) | (M16n8k16, 64) => t + 4 * i,
        (M16n8k16, _) => t * 4 + i,
        (M16n8k32, 8) => t * 4 + (i & 3) + if i < 4 { 0 } else { 16 },
        (M16n8k32, _) => t * 8 + i,
        (M16n8k64, _) => t * 8 + (i & 7) + if i < 8 { 0 } else { 32 },
        (M16n8k256, _) => t * 32 + (i & 31) + if i < 32 { 0 } else { 128 },
        (M8n8 | M16n16k16 | M8n32k16 | M32n8k16 | M16n16k8, _) => unreachable!("no product of `mma`"),
    };
    (k, g)
}

/// Where element `i` of C and D is.
fn sum_place(lane: usize, i: usize) -> (usize, usize) {
    (if i < 2 { lane >> 2 } else { (lane >> 2) + 8 }, lane % 4 * 2 + (i & 1))
}

/// An operation with the words of its matrices in each lane.
pub(super) struct Case {
    pub opcode: Opcode,
    pub fields: FieldValues,
    pub shape: MatrixShape,
    pub left: LeftElement,
    pub right: LeftElement,
    pub addend: Type,
    pub sum: Type,
    /// The last operand of sparse products.
    pub selector: u32,
}

impl Case {
    /// All of an opcode; where no field says what is multiplied, it is f16.
    pub(super) fn all(opcode: Opcode) -> Vec<Case> {
        let mut cases = Vec::new();
        let row = opcode.row();
        row.for_each_combination(&mut |fields| {
            let value = (row.value(fields), row.value(fields), row.value(fields).map(Addend::ty));
            let (Some(shape), Some(sum), Some(addend)) = value else { panic!("a field is missing") };
            let left = row.value(fields).unwrap_or(LeftElement::F16);
            let right = row.value::<RightElement>(fields).map_or(LeftElement::F16, LeftElement::from);
            cases.push(Case { opcode, fields: *fields, shape, left, right, addend, sum, selector: 0 });
        });
        cases
    }

    fn has<F: oriole_ir::ops::FieldValue>(&self, value: F) -> bool {
        self.opcode.row().value(&self.fields) == Some(value)
    }

    /// Whether each quarter of the lanes multiplies matrices of its own.
    fn is_by_quarters(&self) -> bool {
        self.shape == MatrixShape::M8n8k4 && self.left == LeftElement::F16
    }

    pub(super) fn name(&self) -> String {
        format!("{:?} {:?} {:?} {:?} {:?}", self.shape, self.sum, self.left, self.right, self.addend)
    }

    /// Random elements of A, B and C. Half of those of integers in C are near the ends of s32.
    pub(super) fn elements(&self, random: &mut SplitMix64) -> [Elements; 3] {
        let [m, n, k] = self.shape.extents();
        let a = matrix(m, k, || element(random, self.left));
        let b = matrix(k, n, || element(random, self.right));
        let c = matrix(m, n, || {
            let bits = random.next_u64();
            match self.addend {
                Type::S32 if bits & 1 == 1 => (bits >> 32, i64::from((bits >> 32) as i32)),
                Type::S32 => {
                    let near = i32::MAX - (bits >> 50) as i32;
                    (u64::from(near as u32), i64::from(near))
                }
                ty => {
                    let quarters = bits as i64 % 20;
                    (float_bits(ty, None, quarters), quarters)
                }
            }
        });
        [a, b, c]
    }

    pub(super) fn words(&self, matrix: Matrix) -> usize {
        let row = self.opcode.row();
        let double = row.shape_type(&self.fields, Shape::Matrix(matrix)) == Some(Type::F64);
        row.registers(&self.fields, Shape::Matrix(matrix)) * if double { 2 } else { 1 }
    }

    /// Puts elements into words of each lane, `count` words a lane.
    pub(super) fn fragment(
        &self,
        words: usize,
        bits: u32,
        place: impl Fn(usize, usize) -> (usize, usize),
        element: impl Fn(usize, usize) -> u64,
    ) -> Vec<Vec<u32>> {
        let lane = |lane: usize| {
            let mut held = vec![0u32; words];
            for i in 0..words * 32 / bits as usize {
                let (row, column) = place(lane, i);
                let (value, at) = (element(row, column), i * bits as usize);
                held[at / 32] |= (value as u32) << (at % 32);
                if bits == 64 {
                    held[at / 32 + 1] = (value >> 32) as u32;
                }
            }
            held
        };
        (0..32).map(lane).collect()
    }

    /// Runs the operation; the words of D by lane.
    pub(super) fn run(&self, matrices: &[&Vec<Vec<u32>>]) -> Vec<Vec<u32>> {
        let results = self.words(Matrix::Sum);
        let input = (0..32).flat_map(|lane| matrices.iter().flat_map(move |words| words[lane].clone()));
        let result = execute(self, input.collect(), 32, "");
        assert_eq!(result.0, Outcome::Finished, "{}", self.name());
        let mut words = result.1;
        if self.sum == Type::F64 {
            // A sum of nothing is -0 where it is rounded down.
            words.chunks_mut(2).filter(|pair| **pair == [0, 1 << 31]).for_each(|pair| pair[1] = 0);
        }
        words.chunks(results).map(<[u32]>::to_vec).collect()
    }
}

/// A kernel of one instruction: each lane loads its operands and stores its results. `before` is in front.
pub(super) fn execute(case: &Case, input: Vec<u32>, threads: u32, before: &str) -> (Outcome, Vec<u32>) {
    let (fields, results, sources) = (&case.fields, case.words(Matrix::Sum), input.len() / 32);
    let text = format!(
        "entry @k {{\n  param $out: u64 param align 8\n  param $in: u64 param align 8\nbb0:\n  \
         %r1 = s2r.b32 sr.tid.x\n  %d2 = ld.param.u64 [$out]\n  %d3 = ld.param.u64 [$in]\n  \
         %d4 = imad.wide.u32 %r1, {}, %d2\n  %d5 = imad.wide.u32 %r1, {}, %d3\n{before}}}\n",
        4 * results,
        4 * sources,
    );
    let mut module = parse_module(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let func = module.functions.values_mut().next().expect("there is a kernel");
    let block = *func.layout().last().expect("it has a block");
    let [to, from] = [4, 5].map(|index| Operand::Reg(Reg::from_u32(index)));
    let row = case.opcode.row();
    let mut at = 0;
    let mut inst = InstBuilder::new(case.opcode).fields(*fields);
    let parts = |matrix| {
        let shape = Shape::Matrix(matrix);
        let ty = row.shape_type(fields, shape).expect("matrices have a type");
        (row.registers(fields, shape), if ty == Type::F64 { Type::B64 } else { Type::B32 })
    };
    for shape in row.srcs {
        let &Shape::Matrix(matrix) = shape else {
            inst = inst.src(Operand::imm(case.selector));
            continue;
        };
        let (count, ty) = parts(matrix);
        for _ in 0..count {
            let reg = func.new_reg(RegInfo::of(ty));
            let load = InstBuilder::new(Opcode::Ld).field(oriole_ir::ops::Space::Global).field(ty);
            load.src(from).src(u64::from(at)).dst(reg).append(func, block);
            inst = inst.src(reg);
            at += ty.bits() / 8;
        }
    }
    let (count, ty) = parts(Matrix::Sum);
    let dsts: Vec<Reg> = (0..count).map(|_| func.new_reg(RegInfo::of(ty))).collect();
    dsts.iter().fold(inst, |inst, reg| inst.dst(*reg)).append(func, block);
    for (i, reg) in dsts.iter().enumerate() {
        let store = InstBuilder::new(Opcode::St).field(oriole_ir::ops::Space::Global).field(ty);
        store.src(to).src(i as u64 * u64::from(ty.bits() / 8)).src(*reg).append(func, block);
    }
    InstBuilder::new(Opcode::Ret).append(func, block);
    let mut launch = Launch::new(Some("k".to_owned()));
    launch.block = [threads, 1, 1];
    let buffer = |bytes| ArgValue::Buffer(Buffer { bytes, ..Buffer::default() });
    let bytes = input.iter().flat_map(|word| word.to_le_bytes()).collect();
    launch.args = [vec![0; 4 * 32 * results], bytes].map(|bytes| Arg { name: None, value: buffer(bytes) }).into();
    let executable = Executable::new(&module).expect("it decodes");
    let result = executable.run(&launch, &RunOptions::default()).expect("the launch fits");
    let bytes = result.buffer(0).expect("the first argument is a buffer").data();
    let words = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    (result.outcome, words)
}

/// The bits of a multiple of a quarter, of which every type has those that are asked for here.
fn float_bits(ty: Type, element: Option<LeftElement>, quarters: i64) -> u64 {
    let value = quarters as f32 / 4.0;
    match (element, ty) {
        (Some(LeftElement::F16), _) | (None, Type::F16) => u64::from(half::f16::from_f32(value).to_bits()),
        (Some(LeftElement::Bf16), _) => u64::from(value.to_bits() >> 16),
        (Some(LeftElement::F64), _) | (None, Type::F64) => f64::from(value).to_bits(),
        (Some(LeftElement::E5m2), _) => u64::from(half::f16::from_f32(value).to_bits() >> 8),
        (Some(LeftElement::E4m3), _) if quarters == 0 => 0,
        (Some(LeftElement::E4m3), _) => {
            let bits = value.to_bits();
            u64::from((bits >> 24 & 0x80) | ((bits >> 20 & 0x7FF) - (120 << 3)))
        }
        _ => u64::from(value.to_bits()),
    }
}

/// The bits of an element, and its value: integers as they are, other numbers in quarters.
fn element(random: &mut SplitMix64, element: LeftElement) -> (u64, i64) {
    use LeftElement::*;
    let bits = random.next_u64();
    match element {
        S8 => (bits & 0xFF, i64::from(bits as i8)),
        U8 => (bits & 0xFF, (bits & 0xFF) as i64),
        S4 => (bits & 0xF, (bits << 60) as i64 >> 60),
        U4 => (bits & 0xF, (bits & 0xF) as i64),
        B1 => (bits & 1, (bits & 1) as i64),
        other => {
            // Powers of two, which every format holds, e5m2 among them.
            let quarters = [-8, -4, -2, 0, 2, 4, 8, 1][bits as usize % 8];
            (float_bits(Type::F32, Some(other), quarters), quarters)
        }
    }
}

pub(super) type Elements = Vec<Vec<(u64, i64)>>;

fn matrix(rows: usize, columns: usize, mut make: impl FnMut() -> (u64, i64)) -> Elements {
    (0..rows).map(|_| (0..columns).map(|_| make()).collect()).collect()
}

/// A plain product by the definition.
pub(super) fn expected(case: &Case, a: &Elements, b: &Elements, c: i64, [row, column]: [usize; 2]) -> u64 {
    let terms = || a[row].iter().zip(b.iter().map(|row| row[column])).map(|(a, b)| (a.1, b.1));
    let products: i64 = match case.left {
        LeftElement::B1 if case.has(BitProduct::Xor) => terms().map(|(a, b)| a ^ b).sum(),
        _ => terms().map(|(a, b)| a * b).sum(),
    };
    match case.sum {
        Type::S32 => {
            let (sum, [low, high]) = (products + c, [i32::MIN, i32::MAX].map(i64::from));
            u64::from(if case.has(SatFinite::SatFinite) { sum.clamp(low, high) } else { sum } as u32)
        }
        // Products are in sixteenths, C is in quarters.
        ty => {
            let value = (products + 4 * c) as f32 / 16.0;
            match ty {
                Type::F16 => u64::from(half::f16::from_f32(value).to_bits()),
                Type::F64 => f64::from(value).to_bits(),
                _ => u64::from(value.to_bits()),
            }
        }
    }
}

/// Sums are small enough that no model rounds.
#[test]
fn every_shape_multiplies_what_the_isa_lists() {
    let mut random = SplitMix64::new(7);
    let mut cases = Case::all(Opcode::Mma);
    cases.retain(|case| !case.is_by_quarters());
    assert_eq!(cases.len(), 98);
    for case in &cases {
        let [bits, wide] = [case.left.bits(), case.sum.bits()];
        let [a, b, c] = case.elements(&mut random);
        let words = [Matrix::Left, Matrix::Right, Matrix::Sum].map(|matrix| case.words(matrix));
        let place = |lane, i| left_place(case.shape, bits, lane, i);
        let left = case.fragment(words[0], bits, place, |row, column| a[row][column].0);
        let place = |lane, i| right_place(case.shape, bits, lane, i);
        let right = case.fragment(words[1], bits, place, |row, column| b[row][column].0);
        let addend = case.fragment(words[2], wide, sum_place, |row, column| c[row][column].0);
        let wanted = |row: usize, column: usize| expected(case, &a, &b, c[row][column].1, [row, column]);
        let wanted = case.fragment(words[2], wide, sum_place, wanted);
        assert_eq!(case.run(&[&left, &right, &addend]), wanted, "{}", case.name());
    }
}

fn case(shape: MatrixShape, sum: Type, left: LeftElement) -> Case {
    let fits = |case: &Case| (case.shape, case.sum, case.left, case.right) == (shape, sum, left, left);
    Case::all(Opcode::Mma).into_iter().find(fits).expect("there is such a product")
}

/// f16 numbers of all sizes: the error is within the bound that the model states. Sums are exact here in units of
/// 2^-48, of which 128 bits hold any.
#[test]
fn the_error_is_within_the_stated_bound() {
    let case = case(MatrixShape::M16n8k16, Type::F32, LeftElement::F16);
    let mut random = SplitMix64::new(11);
    let scaled = |bits: u64| {
        let value = half::f16::from_bits(bits as u16).to_f64();
        (value * f64::from(1 << 24)) as i128
    };
    for _ in 0..20 {
        let mut finite = || {
            let bits = random.next_u64() & 0xFFFF;
            (if bits & 0x7C00 == 0x7C00 { bits & 0x83FF } else { bits }, 0)
        };
        let [a, b, c] = [matrix(16, 16, &mut finite), matrix(16, 8, &mut finite), matrix(16, 8, &mut finite)];
        let left = case.fragment(4, 16, |lane, i| left_place(case.shape, 16, lane, i), |i, j| a[i][j].0);
        let right = case.fragment(2, 16, |lane, i| right_place(case.shape, 16, lane, i), |i, j| b[i][j].0);
        let single = |bits: u64| u64::from(half::f16::from_bits(bits as u16).to_f32().to_bits());
        let addend = case.fragment(4, 32, sum_place, |i, j| single(c[i][j].0));
        for (lane, words) in case.run(&[&left, &right, &addend]).iter().enumerate() {
            for (i, word) in words.iter().enumerate() {
                let (row, column) = sum_place(lane, i);
                let terms = (0..16).map(|k| scaled(a[row][k].0) * scaled(b[k][column].0));
                let terms: Vec<i128> = terms.chain([scaled(c[row][column].0) << 24]).collect();
                let exact: i128 = terms.iter().sum();
                let found = (f64::from(f32::from_bits(*word)) * f64::from(1 << 24)) * f64::from(1 << 24);
                let magnitude: i128 = terms.iter().map(|term| term.abs()).sum();
                let half_unit = (exact.abs() >> 24).max(1);
                let bound = (magnitude >> 49) + half_unit + 1;
                assert!((found as i128 - exact).abs() <= bound, "{found} for {exact} in {row}, {column}");
            }
        }
    }
}

/// PTX ISA 9.0, "Matrix Fragments for mma.m8n8k4 with .f16 floating point type": the formulas for element `i` of A, B,
/// and C or D, as they are there.
#[test]
fn quarters_of_the_lanes_multiply_by_themselves() {
    let mut random = SplitMix64::new(29);
    let mut cases = Case::all(Opcode::Mma);
    cases.retain(Case::is_by_quarters);
    assert_eq!(cases.len(), 4 * 3);
    let or_four_more = |lane: usize, line: usize| if lane < 16 { line } else { line + 4 };
    for case in &cases {
        let left_place = |lane: usize, i: usize| match case.has(LeftLayout::Col) {
            false => (or_four_more(lane, lane % 4), i),
            true => (or_four_more(lane, i % 4), lane % 4),
        };
        let right_place = |lane: usize, i: usize| match case.has(RightLayout::Col) {
            false => (lane % 4, or_four_more(lane, i)),
            true => (i, or_four_more(lane, lane % 4)),
        };
        let sum_place = |ty: Type, lane: usize, i: usize| match ty {
            Type::F16 => (or_four_more(lane, lane % 4), i),
            _ => (or_four_more(lane, (lane & 0b1) + (i & 0b10)), (i & 0b100) + (lane & 0b10) + (i & 0b1)),
        };
        // One set of matrices a quarter; `element` is asked for those of the lane that a place belongs to.
        let sets: Vec<[Elements; 3]> = (0..4).map(|_| case.elements(&mut random)).collect();
        let words = [Matrix::Left, Matrix::Right, Matrix::Addend, Matrix::Sum].map(|matrix| case.words(matrix));
        assert_eq!(words[..2], [2, 2]);
        let held = |words: usize, bits: u32, element: &dyn Fn(usize, usize) -> u64| -> Vec<Vec<u32>> {
            let by_lane = |lane: usize| {
                let place = |_: usize, i: usize| (lane, i);
                case.fragment(words, bits, place, element).swap_remove(lane)
            };
            (0..32).map(by_lane).collect()
        };
        let set = |lane: usize| &sets[lane % 16 / 4];
        let of = |which: usize, lane: usize, (row, column): (usize, usize)| set(lane)[which][row][column];
        let left = held(words[0], 16, &|lane, i| of(0, lane, left_place(lane, i)).0);
        let right = held(words[1], 16, &|lane, i| of(1, lane, right_place(lane, i)).0);
        let addend = held(words[2], case.addend.bits(), &|lane, i| of(2, lane, sum_place(case.addend, lane, i)).0);
        let wanted = held(words[3], case.sum.bits(), &|lane, i| {
            let (row, column) = sum_place(case.sum, lane, i);
            expected(case, &set(lane)[0], &set(lane)[1], of(2, lane, (row, column)).1, [row, column])
        });
        assert_eq!(case.run(&[&left, &right, &addend]), wanted, "{}", case.name());
    }
}

fn operands(case: &Case) -> Vec<u32> {
    let words = [Matrix::Left, Matrix::Right, Matrix::Addend].map(|matrix| case.words(matrix));
    vec![0x3C00_3C00; 32 * words.iter().sum::<usize>()]
}

#[test]
fn a_product_takes_a_whole_warp() {
    let case = case(MatrixShape::M16n8k8, Type::F16, LeftElement::F16);
    let (outcome, _) = execute(&case, operands(&case), 31, "");
    let Outcome::Trapped { cause: Cause::BadCollective(what), .. } = outcome else { panic!("{outcome:?}") };
    assert!(what.contains("0x80000000"), "{what}");
}

/// Odd and even lanes come by different blocks, one after the other.
#[test]
fn lanes_wait_for_the_whole_warp() {
    let case = case(MatrixShape::M16n8k8, Type::F16, LeftElement::F16);
    let apart = "  %r6 = and.b32 %r1, 1\n  %p7 = setp.eq.u32 %r6, 0\n  cbra %p7, bb1, bb2\nbb1:\n  bra bb3\nbb2:\n  \
                 %r8 = mov.b32 1\n  bra bb3\nbb3:\n";
    let (outcome, words) = execute(&case, operands(&case), 32, apart);
    assert_eq!(outcome, Outcome::Finished);
    // Nine ones: eight products and C.
    assert!(words.iter().all(|word| *word == 0x4880_4880), "{words:x?}");
}
