//! Tests over the whole table, and of values derived by hand from the ISA.

use super::FloatExtreme;
use super::*;
use oriole_ir::ops::{AtomOp, Flags, MAX_FIELDS, ROWS, ReduxOp, SimdSelectors, VideoPart, VideoSelectors};

/// Operands that sit at the edges of the integer and floating-point types, packed ones among them.
const CORNERS: [u64; 25] = [
    0,
    1,
    2,
    31,
    32,
    33,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x3c00_7c00,
    0xfc01_8001,
    0x3f80_0000,
    0x7f80_0000,
    0xff80_0001,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x3ff0_0000_0000_0000,
    0x7ff0_0000_0000_0000,
    0xfff8_0000_0000_0001,
    0x8000_0000_0000_0000,
    u64::MAX,
];

/// Register-only operations that the engine gives their meaning.
const ELSEWHERE: [Opcode; 11] = [
    Opcode::MachinePure,
    Opcode::Phi,
    Opcode::Mov,
    Opcode::Split,
    Opcode::S2r,
    Opcode::Pack,
    Opcode::Cvta,
    Opcode::IsSpaceP,
    Opcode::IsTypeP,
    Opcode::Mapa,
    Opcode::GetCtaRank,
];

/// The operation with these modifiers, in any order; fields that are not named have their default.
fn op(opcode: Opcode, names: &[&str]) -> ScalarOp {
    let row = opcode.row();
    let mut values = row.default_fields();
    let mut taken = [false; MAX_FIELDS];
    for name in names {
        let found = row.fields.iter().enumerate().find_map(|(slot, spec)| {
            let value = spec.field.value_index(name).filter(|v| spec.legal >> v & 1 == 1 && !taken[slot])?;
            Some((slot, value))
        });
        let (slot, value) = found.unwrap_or_else(|| panic!("{} takes no {name}", row.name));
        (values.0[slot], taken[slot]) = (value, true);
    }
    assert!(row.broken_rule(&values).is_none(), "{} {names:?}", row.name);
    ScalarOp::resolve(opcode, &values).unwrap_or_else(|| panic!("{} {names:?}", row.name))
}

/// The first result of an operation.
pub(super) fn value(opcode: Opcode, names: &[&str], operands: &[u64]) -> u64 {
    lane(opcode, names, operands).value
}

/// Both results of an operation.
pub(super) fn lane(opcode: Opcode, names: &[&str], operands: &[u64]) -> Lane {
    let mut srcs = [0; 5];
    srcs[..operands.len()].copy_from_slice(operands);
    op(opcode, names).eval(&srcs)
}

fn is_ours(row: &OpRow) -> bool {
    row.flags.has(Flags::PURE) && !ELSEWHERE.contains(&row.opcode)
}

#[test]
fn exactly_the_register_only_rows_resolve() {
    for row in ROWS {
        let mut count = 0;
        row.for_each_combination(&mut |values| {
            assert_eq!(ScalarOp::resolve(row.opcode, values).is_some(), is_ours(row), "{} {values:?}", row.name);
            count += 1;
        });
        assert!(count > 0, "{} has no legal combination of fields", row.name);
    }
}

#[test]
fn corner_operands_never_panic_and_fit_the_destination() {
    for row in ROWS.iter().filter(|row| is_ours(row)) {
        row.for_each_combination(&mut |values| {
            let operation = ScalarOp::resolve(row.opcode, values).expect("every register-only row resolves");
            let limit = result_mask(row, values);
            for (i, &a) in CORNERS.iter().enumerate() {
                for (j, &b) in CORNERS.iter().enumerate() {
                    let [c, d] = [7 * i + 3 * j, i + 11 * j].map(|k| CORNERS[k % CORNERS.len()]);
                    let lane = operation.eval(&[a, b, c, d, 1]);
                    assert_eq!(lane.value & !limit, 0, "{} {values:?} {a:x} {b:x}", row.name);
                    assert!(lane.second <= 1);
                }
            }
        });
    }
}

/// The bits that the first result can have: those of its type, but all of the word for a conversion to a signed one.
fn result_mask(row: &OpRow, values: &FieldValues) -> u64 {
    use oriole_ir::ops::{Field, Shape};
    let ty: Type = field(row, values);
    let bits = match row.dsts[0] {
        Shape::P => 1,
        Shape::R => 32,
        Shape::D => 64,
        Shape::W => 2 * ty.bits(),
        _ if row.slot(Field::Type).is_none() => 32,
        _ if row.opcode == Opcode::Cvt && ty.is_signed() => ty.bits().max(32),
        _ => ty.bits(),
    };
    u64::MAX >> (64 - bits)
}

/// The same fields with the signed type for the unsigned one of its width, or the other way round.
fn with_other_sign(row: &OpRow, values: &FieldValues) -> Option<FieldValues> {
    use Type::*;
    let (slot, ty) = (row.slot(Type::FIELD)?, field::<Type>(row, values));
    let pairs = [(U8, S8), (U16, S16), (U32, S32), (U64, S64)];
    let other = pairs.iter().find_map(|(u, s)| if ty == *u { Some(*s) } else { (ty == *s).then_some(*u) })?;
    let mut values = *values;
    values.0[slot] = other.index();
    (row.fields[slot].legal >> other.index() & 1 == 1 && row.broken_rule(&values).is_none()).then_some(values)
}

/// Rows say of themselves that the sign of their type does not matter exactly where no operand shows that it does.
#[test]
fn the_sign_matters_where_the_row_says_so() {
    for row in ROWS.iter().filter(|row| is_ours(row) && !row.flags.has(Flags::VIDEO)) {
        let (mut pairs, mut differ) = (0, false);
        row.for_each_combination(&mut |values| {
            let saturates = field::<Saturate>(row, values) == Saturate::Sat;
            let Some(other) = with_other_sign(row, values).filter(|_| !saturates) else { return };
            pairs += 1;
            let [one, two] = [*values, other].map(|values| ScalarOp::resolve(row.opcode, &values).expect("ours"));
            for (i, &a) in CORNERS.iter().enumerate() {
                for (j, &b) in CORNERS.iter().enumerate() {
                    let srcs = [a, b, CORNERS[(7 * i + 3 * j) % CORNERS.len()], (i & 1) as u64, 1];
                    differ |= one.eval(&srcs) != two.eval(&srcs);
                }
            }
        });
        // Other types of `set` and `slct` are about what is compared.
        let typed_once = row.slot(SrcType::FIELD).is_none();
        assert!(!(row.flags.has(Flags::SIGNLESS) && differ), "{}: the sign matters", row.name);
        let claims = pairs == 0 || differ || row.flags.has(Flags::SIGNLESS) || !typed_once;
        assert!(claims, "{}: the sign does not matter", row.name);
    }
}

#[test]
fn operands_are_read_by_their_low_bits() {
    assert_eq!(value(Opcode::IAdd, &["u16"], &[0xdead_ffff, 0xbeef_0002]), 1);
    assert_eq!(value(Opcode::IMin, &["s16"], &[0x1_7fff, 0x8000]), 0x8000);
    assert_eq!(value(Opcode::FAdd, &["f32"], &[0xffff_ffff_3f80_0000, 0x3f80_0000]), 0x4000_0000);
    assert_eq!(value(Opcode::Shr, &["s16"], &[0xffff_8000, 3]), 0xf000);
    assert_eq!(value(Opcode::SelP, &["b16"], &[0xdead_0001, 0xbeef_0002, 0]), 2);
}

#[test]
fn atomics() {
    assert_eq!(atomic(AtomOp::Inc, Type::U32, 5, 5), 0);
    assert_eq!(atomic(AtomOp::Inc, Type::U32, 4, 5), 5);
    assert_eq!(atomic(AtomOp::Dec, Type::U32, 0, 5), 5);
    assert_eq!(atomic(AtomOp::Dec, Type::U32, 9, 5), 5);
    assert_eq!(atomic(AtomOp::Dec, Type::U32, 5, 5), 4);
    assert_eq!(atomic(AtomOp::Min, Type::S32, 0xffff_ffff, 1), 0xffff_ffff);
    assert_eq!(atomic(AtomOp::Min, Type::U32, 0xffff_ffff, 1), 1);
    assert_eq!(atomic(AtomOp::Max, Type::S64, u64::MAX, 0), 0);
    assert_eq!(atomic(AtomOp::Exch, Type::B64, 1, u64::MAX), u64::MAX);
    assert_eq!(atomic(AtomOp::Add, Type::S32, 0x7fff_ffff, 1), 0x8000_0000);
    assert_eq!(atomic(AtomOp::Add, Type::F16x2, 0x3c00_3c00, 0x4000_bc00), 0x4200_0000);
    assert_eq!(atomic(AtomOp::Max, Type::Bf16x2, 0x7fff_0000, 0x3f80_8000), 0x3f80_0000);
}

#[test]
fn float_atomics_flush_in_global_memory_only() {
    assert_eq!(atomic(AtomOp::Add, Type::F32, 0x0000_0001, 0x8000_0000), 0);
    assert_eq!(atomic_with_subnormals(AtomOp::Add, Type::F32, 0x0000_0001, 0x8000_0000), 1);
    assert_eq!(atomic(AtomOp::Add, Type::F64, 1, 1), 2);
}

#[test]
fn reductions() {
    assert_eq!(reduce(ReduxOp::Add, Type::U32, 0xffff_ffff, 2), 1);
    assert_eq!(reduce(ReduxOp::Min, Type::S32, 0xffff_ffff, 2), 0xffff_ffff);
    assert_eq!(reduce(ReduxOp::Min, Type::U32, 0xffff_ffff, 2), 2);
    assert_eq!(reduce(ReduxOp::Max, Type::S32, 0xffff_ffff, 2), 2);
    assert_eq!(reduce(ReduxOp::Xor, Type::B32, 0b1100, 0b1010), 0b0110);
    let plain = FloatExtreme { is_largest: false, without_signs: false, yields_nan: false };
    let of = |extreme: FloatExtreme, values: &[f32]| f32::from_bits(extreme.of(values.iter().map(|v| v.to_bits())));
    let values = [1.5, f32::NAN, -3.0, 2.0];
    assert_eq!(of(plain, &values), -3.0);
    assert_eq!(of(FloatExtreme { is_largest: true, ..plain }, &values), 2.0);
    assert_eq!(of(FloatExtreme { is_largest: true, without_signs: true, ..plain }, &values), 3.0);
    assert_eq!(of(FloatExtreme { yields_nan: true, ..plain }, &values).to_bits(), 0x7fff_ffff);
    assert_eq!(of(plain, &[f32::NAN, f32::NAN]).to_bits(), 0x7fff_ffff);
    assert_eq!(of(plain, &[0.0, -0.0]).to_bits(), 0x8000_0000);
}

#[test]
fn a_nan_from_beyond_a_tensor_makes_a_product_zero() {
    let fma = |names: &[&str], a, b, c| value(Opcode::FFma, names, &[a, b, c]);
    assert_eq!(fma(&["rn", "oob", "f16"], 0x3c00, 0x4000, 0x3c00), 0x4200);
    for beyond in [0x7ff7, 0xfff7] {
        assert_eq!(fma(&["rn", "oob", "f16"], beyond, 0x4000, 0x3c00), 0);
        assert_eq!(fma(&["rn", "oob", "f16"], 0x7fff, beyond, 0x7fff), 0);
        assert_eq!(fma(&["rn", "oob", "f16"], 0x3c00, 0x4000, beyond), 0x7fff);
    }
    assert_eq!(fma(&["rn", "oob", "f16"], 0x7fff, 0x4000, 0x3c00), 0x7fff);
    assert_eq!(fma(&["rn", "f16"], 0x7ff7, 0x4000, 0x3c00), 0x7fff);
    assert_eq!(fma(&["rn", "oob", "relu", "bf16x2"], 0x7ff7_bf80, 0x3f80_3f80, 0x3f80_0000), 0);
}

#[test]
fn scalar_video() {
    let whole = u64::from(VideoSelectors::default().pack());
    let run = |names: &[&str], operands: [u64; 3], select: VideoSelectors| {
        value(Opcode::VAdd, names, &[operands[0], operands[1], operands[2], select.pack().into()])
    };
    // 0xff as a signed byte is -1.
    let bytes = VideoSelectors { a: VideoPart::B1, b: VideoPart::B0, ..VideoSelectors::default() };
    assert_eq!(run(&["s32", "s32", "s32"], [0xff00, 5, 0], bytes), 4);
    assert_eq!(run(&["u32", "u32", "u32"], [0xff00, 5, 0], bytes), 0x104);
    let merge = VideoSelectors { dst: VideoPart::B2, ..bytes };
    assert_eq!(run(&["u32", "u32", "u32", "sat"], [0xff00, 5, 0x1111_1111], merge), 0x11ff_1111);
    assert_eq!(run(&["u32", "u32", "u32"], [0xff00, 5, 0x1111_1111], merge), 0x1104_1111);
    assert_eq!(value(Opcode::VSub, &["u32", "u32", "u32", "sat"], &[1, 2, 0, whole]), 0);
    assert_eq!(value(Opcode::VSub, &["s32", "u32", "u32", "min"], &[1, 2, 7, whole]), 0xffff_ffff);
    assert_eq!(value(Opcode::VAbsDiff, &["u32", "s32", "s32", "add"], &[3, 0xffff_ffff, 10, whole]), 14);
    assert_eq!(value(Opcode::VShl, &["u32", "u32", "u32", "clamp"], &[1, 40, 0, whole]), 0);
    assert_eq!(value(Opcode::VShl, &["u32", "u32", "u32", "wrap"], &[1, 40, 0, whole]), 0x100);
    // The 34th bit is a sign, and those above it are lost.
    let saturated = ["u32", "u32", "u32", "clamp", "sat"];
    assert_eq!(value(Opcode::VShl, &saturated, &[1, 40, 0, whole]), 0xffff_ffff);
    assert_eq!(value(Opcode::VShl, &saturated, &[2, 40, 0, whole]), 0);
    assert_eq!(value(Opcode::VShl, &saturated, &[4, 40, 0, whole]), 0);
    assert_eq!(value(Opcode::VSet, &["s32", "u32", "lt", "add"], &[0xffff_ffff, 0, 41, whole]), 42);
}

#[test]
fn video_multiply_add() {
    let run = |names: &[&str], operands: [u64; 3], negate: [bool; 3]| {
        let select = VideoSelectors { negate, ..VideoSelectors::default() }.pack();
        value(Opcode::VMad, names, &[operands[0], operands[1], operands[2], select.into()])
    };
    let none = [false; 3];
    assert_eq!(run(&["u32", "u32", "u32"], [3, 4, 5], none), 17);
    assert_eq!(run(&["u32", "u32", "u32", "po"], [3, 4, 5], none), 18);
    assert_eq!(run(&["s32", "u32", "u32"], [3, 4, 5], [true, false, false]), u64::from(-7i32 as u32));
    assert_eq!(run(&["s32", "u32", "u32"], [3, 4, 5], [true, true, false]), 17);
    assert_eq!(run(&["s32", "u32", "u32"], [3, 4, 5], [false, false, true]), 7);
    assert_eq!(run(&["u32", "u32", "u32", "shr7"], [128, 4, 5], none), 4);
    assert_eq!(run(&["u32", "u32", "u32", "sat"], [0xffff_ffff, 2, 0], none), 0xffff_ffff);
    assert_eq!(run(&["s32", "s32", "s32", "sat"], [0x8000_0000, 2, 0], none), 0x8000_0000);
    assert_eq!(run(&["s32", "s32", "s32", "shr15"], [0xffff_ffff, 0x8000, 0], none), 0xffff_ffff);
}

#[test]
fn simd_video() {
    let halves = u64::from(SimdSelectors::HALVES.pack());
    let bytes = u64::from(SimdSelectors::BYTES.pack());
    let unsigned = ["u32", "u32", "u32"];
    assert_eq!(value(Opcode::VAdd2, &unsigned, &[0x0001_ffff, 0x0002_0001, 0, halves]), 0x0003_0000);
    assert_eq!(value(Opcode::VAdd2, &["u32", "u32", "u32", "sat"], &[0x0001_ffff, 0x0002_0001, 0, halves]), 0x3_ffff);
    assert_eq!(value(Opcode::VAbsDiff4, &["u32", "u32", "u32", "add"], &[0x01_05_ff_00, 0x02_01_00_00, 7, bytes]), 267);
    assert_eq!(value(Opcode::VAvrg2, &["s32", "s32", "s32"], &[0xfffc_0003, 0xffff_0004, 0, halves]), 0xfffd_0004);
    assert_eq!(value(Opcode::VSet4, &["s32", "s32", "lt"], &[0xff_00_01_80, 0, 0, bytes]), 0x01_00_00_01);
    // Lane 0 of the result takes a's high half and b's high half; lane 1 keeps c.
    let crossed = SimdSelectors { a: [1, 0, 0, 0], b: [3, 2, 0, 0], mask: 1 };
    let operands = [0x0010_0001, 0x0020_0002, 0xaaaa_bbbb, crossed.pack().into()];
    assert_eq!(value(Opcode::VAdd2, &unsigned, &operands), 0xaaaa_0030);
}

/// Each of the combinations of modifiers and types was tried on ptxas 13.0 for `sm_90`; these many it accepts.
#[test]
fn cvt_has_the_combinations_of_ptxas() {
    let mut count = 0;
    Opcode::Cvt.row().for_each_combination(&mut |_| count += 1);
    assert_eq!(count, 816);
}
