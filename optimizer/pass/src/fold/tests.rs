//! Hand-derived values: each row is an instruction on constants and what it yields, or nothing where it must not fold.

use super::fold;
use oriole_ir::ops::{FieldValues, Flags, OpRow, ROWS, Shape};
use oriole_ir::parse_function;

/// The results of an instruction written as `.ori` text.
fn folded(text: &str) -> Option<Vec<u64>> {
    let func = parse_function(&format!("device @f {{\nbb0:\n  {text}\n}}\n")).unwrap_or_else(|e| panic!("{text}: {e}"));
    let inst = func.inst_at(func.entry(), 0);
    let srcs: Option<Vec<u64>> = func.srcs(inst).iter().map(|op| func.imm_bits(*op)).collect();
    let data = func.inst(inst);
    fold(data.opcode, &data.fields, &srcs.expect("constants")).map(|folded| folded.results)
}

fn check(rows: &[(&str, &[u64])]) {
    for (text, expected) in rows {
        let expected = (!expected.is_empty()).then(|| expected.to_vec());
        assert_eq!(folded(text), expected, "{text}");
    }
}

#[test]
fn integer_arithmetic() {
    check(&[
        ("iadd.u32 0xffffffff, 2", &[1]),
        ("iadd.s64 0xffffffffffffffff, 1", &[0]),
        ("iadd.u16 0x1ffff, 1", &[0]),
        ("iadd.sat.s32 0x7fffffff, 1", &[0x7fff_ffff]),
        ("iadd.sat.s32 0x80000000, 0xffffffff", &[0x8000_0000]),
        ("iadd.u16x2 0xffff0001, 0x00010002", &[3]),
        ("isub.u32 1, 2", &[0xffff_ffff]),
        ("isub.sat.s32 0x80000000, 1", &[0x8000_0000]),
        ("imul.lo.s32 0xffffffff, 5", &[0xffff_fffb]),
        ("imul.hi.u32 0xffffffff, 0xffffffff", &[0xffff_fffe]),
        ("imul.hi.s32 0xffffffff, 5", &[0xffff_ffff]),
        ("imul.hi.u64 0xffffffffffffffff, 0xffffffffffffffff", &[0xffff_ffff_ffff_fffe]),
        ("imul.hi.s64 0xffffffffffffffff, 0xffffffffffffffff", &[0]),
        ("imul.wide.s16 0xffff, 2", &[0xffff_fffe]),
        ("imul.wide.u32 0xffffffff, 0xffffffff", &[0xffff_fffe_0000_0001]),
        ("imul.wide.s32 0xffffffff, 3", &[0xffff_ffff_ffff_fffd]),
        ("imad.lo.u32 3, 4, 5", &[17]),
        ("imad.hi.sat.s32 0x7fffffff, 0x7fffffff, 0x7fffffff", &[0x7fff_ffff]),
        ("imad.hi.u32 0x10000, 0x10000, 2", &[3]),
        ("imad.wide.u32 0xffffffff, 2, 2", &[0x2_0000_0000]),
        ("imul24.lo.u32 0xff000003, 5", &[15]),
        ("imul24.lo.s32 0xffffff, 5", &[0xffff_fffb]),
        ("imul24.hi.u32 0x800000, 0x2", &[0x100]),
        ("imad24.lo.u32 2, 3, 4", &[10]),
        ("isad.u32 1, 0xffffffff, 1", &[0xffff_ffff]),
        ("isad.s32 1, 0xffffffff, 1", &[3]),
        ("idiv.s32 0xfffffff9, 2", &[0xffff_fffd]),
        ("irem.s32 0xfffffff9, 2", &[0xffff_ffff]),
        ("idiv.u32 0xfffffff9, 2", &[0x7fff_fffc]),
        ("idiv.u32 1, 0", &[]),
        ("irem.s64 1, 0", &[]),
        ("idiv.s32 0x80000000, 0xffffffff", &[]),
        ("iabs.s32 0x80000000", &[0x8000_0000]),
        ("iabs.s16 0xffff", &[1]),
        ("ineg.s64 1", &[u64::MAX]),
        ("imin.s32 0xffffffff, 1", &[0xffff_ffff]),
        ("imin.u32 0xffffffff, 1", &[1]),
        ("imax.relu.s32 0xfffffffe, 0xffffffff", &[0]),
        ("imin.s16x2 0xffff0005, 0x00010003", &[0xffff_0003]),
    ]);
}

#[test]
fn carries() {
    check(&[
        ("iadd.carry.u32 0xffffffff, 0, 1", &[0, 1]),
        ("iadd.carry.u32 0xfffffffe, 0, 1", &[0xffff_ffff, 0]),
        ("iadd.carry.u64 0xffffffffffffffff, 0xffffffffffffffff, 1", &[u64::MAX, 1]),
        ("isub.carry.u32 0, 0, 0", &[0xffff_ffff, 0]),
        ("isub.carry.u32 5, 4, 0", &[0, 1]),
        ("imad.lo.carry.u32 0xffffffff, 0xffffffff, 0xffffffff, 0", &[0, 1]),
        ("imad.hi.carry.u32 0xffffffff, 0xffffffff, 1, 1", &[0, 1]),
    ]);
}

#[test]
fn bits_and_shifts() {
    check(&[
        ("popc.b64 0xff00000000000001", &[9]),
        ("clz.b32 1", &[31]),
        ("clz.b64 0", &[64]),
        ("bfind.u32 0", &[0xffff_ffff]),
        ("bfind.u32 0x10", &[4]),
        ("bfind.shiftamt.u32 0x10", &[27]),
        ("bfind.s32 0xffffffff", &[0xffff_ffff]),
        ("bfind.s64 0xfffffffffffffffe", &[0]),
        ("brev.b32 1", &[0x8000_0000]),
        ("bfe.u32 0xabcd1234, 8, 8", &[0x12]),
        ("bfe.s32 0xabcd1234, 24, 8", &[0xffff_ffab]),
        ("bfe.s32 0x80000000, 30, 8", &[0xffff_fffe]),
        ("bfe.s32 0xffffffff, 4, 0", &[0]),
        ("bfe.u64 0xff00000000000000, 56, 200", &[0xff]),
        ("bfi.b32 0xff, 0, 8, 4", &[0xf00]),
        ("bfi.b32 0xff, 0x80000000, 28, 200", &[0xf000_0000]),
        ("szext.clamp.s32 0x80, 8", &[0xffff_ff80]),
        ("szext.wrap.u32 0x1ff, 40", &[0xff]),
        ("szext.clamp.u32 0x1ff, 40", &[0x1ff]),
        ("bmsk.clamp.b32 4, 8", &[0xff0]),
        ("bmsk.clamp.b32 32, 8", &[0]),
        ("bmsk.wrap.b32 33, 2", &[6]),
        ("prmt.b32 0x33221100, 0x77665544, 0x0fed", &[0x0000_0000]),
        ("prmt.b32 0x33221180, 0x77665544, 0x8071", &[0xff80_7711]),
        ("prmt.b32.f4e 0x33221100, 0x77665544, 1", &[0x4433_2211]),
        ("prmt.b32.rc16 0x33221100, 0, 3", &[0x3322_3322]),
        ("lop3.b32 0xf0f0f0f0, 0xcccccccc, 0xaaaaaaaa, 0x96", &[0x9696_9696]),
        ("lop3.b32 12, 10, 0, 0xc0", &[8]),
        ("lop3.bool.and.b32 12, 10, 0, 0xc0, 1", &[8, 1]),
        ("lop3.bool.or.b32 0, 0, 0, 0, 0", &[0, 0]),
        ("shf.l.wrap.b32 0x80000000, 1, 33", &[3]),
        ("shf.l.clamp.b32 0x12345678, 1, 40", &[0x1234_5678]),
        ("shf.r.clamp.b32 0x12345678, 0x9abcdef0, 40", &[0x9abc_def0]),
        ("shf.r.wrap.b32 0x12345678, 0x9abcdef0, 4", &[0x0123_4567]),
        ("shl.b32 1, 32", &[0]),
        ("shl.b64 1, 63", &[1 << 63]),
        ("shl.b16 0xffff, 8", &[0xff00]),
        ("shr.s32 0x80000000, 99", &[0xffff_ffff]),
        ("shr.u32 0x80000000, 31", &[1]),
        ("shr.s16 0x8000, 1", &[0xc000]),
        ("not.pred 1", &[0]),
        ("not.b16 1", &[0xfffe]),
        ("cnot.b32 0", &[1]),
        ("xor.pred 1, 1", &[0]),
        ("pack.b16 0x11111, 2", &[0x2_1111]),
        ("pack.b32 1, 2", &[0x2_0000_0001]),
        ("pack.b64 1, 2", &[]),
        ("fns.b32 1, 0, 0", &[]),
    ]);
}

#[test]
fn comparison_and_selection() {
    check(&[
        ("setp.lt.s32 0xffffffff, 0", &[1]),
        ("setp.lt.u32 0xffffffff, 0", &[0]),
        ("setp.hi.u32 0xffffffff, 0", &[1]),
        ("setp.eq.b16 0x10001, 1", &[1]),
        ("setp.lt.f32 0x80000000, 0", &[0]),
        ("setp.eq.f32 0x80000000, 0", &[1]),
        ("setp.eq.f32 0x7fc00000, 0x7fc00000", &[0]),
        ("setp.neu.f32 0x7fc00000, 0x7fc00000", &[1]),
        ("setp.nan.f64 0x7ff8000000000000, 0", &[1]),
        ("setp.lt.ftz.f32 0, 1", &[]),
        ("setp.lt.f32 0, 1", &[1]),
        ("setp.bool.lt.and.u32 1, 2, 0", &[0, 0]),
        ("setp.bool.lt.or.u32 1, 2, 0", &[1, 0]),
        ("set.lt.f32.s32 1, 2", &[0x3f80_0000]),
        ("set.bool.lt.xor.u32.s32 1, 2, 0", &[0xffff_ffff]),
        ("selp.u16 0x12345, 2, 1", &[0x2345]),
        ("selp.b64 1, 2, 0", &[2]),
        ("slct.b32.s32 1, 2, 0xffffffff", &[2]),
        ("slct.b32.f32 1, 2, 0x80000000", &[1]),
        ("slct.b32.f32 1, 2, 0x7fc00000", &[]),
    ]);
}

#[test]
fn floats() {
    let (one, three) = (0x3f80_0000, 0x4040_0000);
    check(&[
        ("fadd.f32 0x3f800000, 0x40000000", &[three]),
        ("fadd.rn.f32 0x3f800000, 0x33800000", &[one]),
        ("fadd.rz.f32 0x3f800000, 0x40000000", &[]),
        ("fadd.sat.f32 0x3f800000, 0x40000000", &[]),
        ("fadd.f32 0x7fc00000, 0x40000000", &[]),
        ("fsub.f32 0x7f800000, 0x7f800000", &[]),
        ("fadd.f32 0x80000000, 0x80000000", &[0x8000_0000]),
        ("fmul.f32 0x00800000, 0x3f000000", &[0x0040_0000]),
        ("fmul.ftz.f32 0x00800000, 0x3f000000", &[]),
        ("fmul.ftz.f32 0x00800000, 0x3f800000", &[]),
        ("fmul.f64 0x3ff8000000000000, 0x4000000000000000", &[0x4008_0000_0000_0000]),
        // (1 + 2^-12)^2 - 1 = 2^-11 + 2^-24: a separate product would lose the second term.
        ("ffma.rn.f32 0x3f800800, 0x3f800800, 0xbf800000", &[0x3a00_0400]),
        ("fneg.f32 0", &[0x8000_0000]),
        ("fneg.f32 0x7fc00000", &[]),
        ("fneg.f16 0", &[]),
        ("fabs.f64 0xbff0000000000000", &[0x3ff0_0000_0000_0000]),
        ("fmin.f32 0, 0x80000000", &[0x8000_0000]),
        ("fmax.f32 0, 0x80000000", &[0]),
        ("fmin.f32 0x7fc00000, 0", &[]),
        ("fmin.xorsign.abs.f32 0, 0", &[]),
        ("copysign.f32 0x80000000, 0x3f800000", &[0xbf80_0000]),
        ("frcp.rn.f32 0x3f800000", &[]),
    ]);
}

#[test]
fn conversions() {
    check(&[
        ("cvt.s32.s8 0x80", &[0xffff_ff80]),
        ("cvt.u32.u8 0x1ff", &[0xff]),
        ("cvt.s64.s32 0x80000000", &[0xffff_ffff_8000_0000]),
        ("cvt.u64.s32 0xffffffff", &[u64::MAX]),
        ("cvt.s8.s32 0x80", &[0xffff_ff80]),
        ("cvt.u8.s32 0x180", &[0x80]),
        ("cvt.sat.u8.s32 0xffffffff", &[0]),
        ("cvt.sat.s8.s32 0x80", &[0x7f]),
        ("cvt.sat.s8.s32 0x80000000", &[0xffff_ff80]),
        ("cvt.rn.f32.u32 0x1000001", &[0x4b80_0000]),
        ("cvt.rn.f32.s32 0xffffffff", &[0xbf80_0000]),
        ("cvt.rz.f32.u32 3", &[]),
        ("cvt.rn.f64.u64 3", &[0x4008_0000_0000_0000]),
        ("cvt.rzi.s32.f32 0xc0200000", &[0xffff_fffe]),
        ("cvt.rzi.u32.f32 0x4f800000", &[]),
        ("cvt.rzi.u32.f32 0x7fc00000", &[]),
        ("cvt.rzi.s64.f64 0x43e0000000000000", &[]),
        ("cvt.f64.f32 0x3f800000", &[0x3ff0_0000_0000_0000]),
        ("cvt.rn.f32.f64 0x3ff0000000000001", &[0x3f80_0000]),
        ("cvt.rn.ftz.f32.f64 0x3800000000000000", &[]),
    ]);
}

/// Operations on registers that never fold, apart from video: functions that the ISA bounds and does not define,
/// copies, what depends on more than its operands, and what kernels do not apply to constants. A new row must fold for
/// some constants, or be named here.
const NEVER: &str = "phi mov fns dp4a dp2a fdiv frcp fsqrt frsqrt fsin fcos flg2 fex2 ftanh testp setp.x2 \
                     setp.x2.bool cvt.x2 cvt.narrow cvt.pack isspacep cvta s2r mbarrier.pending_count mapa getctarank \
                     istypep split op.pure";

/// Operands that every type takes for numbers that are neither zero nor subnormal.
const CONSTANTS: [u64; 4] = [0x4000_0000, 0x3f80_0000_3f80_0000, 7, 0x4000_0000_4000_4000];

/// Whether a row folds for some of its first combinations of fields.
fn folds(row: &OpRow) -> bool {
    let count = if row.srcs.contains(&Shape::Parts) { 2 } else { row.srcs.len() };
    let mut combinations = vec![FieldValues::default()];
    for (slot, spec) in row.fields.iter().enumerate() {
        let with = |fields: &FieldValues, value| {
            let mut fields = *fields;
            fields.0[slot] = value;
            fields
        };
        combinations = combinations.iter().flat_map(|fields| spec.values().map(|value| with(fields, value))).collect();
    }
    let legal = combinations.iter().filter(|fields| row.broken_rule(fields).is_none());
    legal.flat_map(|fields| CONSTANTS.map(|bits| (fields, bits))).any(|(fields, bits)| {
        let srcs: Vec<u64> = (0..count).map(|index| bits >> index & !(u64::from(index == 4) << 63)).collect();
        fold(row.opcode, fields, &srcs).is_some() || fold(row.opcode, fields, &vec![bits; count]).is_some()
    })
}

#[test]
fn every_operation_on_registers_folds_or_is_known_not_to() {
    let rows = ROWS.iter().filter(|row| row.flags.has(Flags::PURE) && !row.flags.has(Flags::VIDEO));
    let never: Vec<&str> = rows.filter(|row| !folds(row)).map(|row| row.name).collect();
    assert_eq!(never, NEVER.split(' ').collect::<Vec<_>>());
}
