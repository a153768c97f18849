//! Operations against what they fold to, and functions with ranges worked out by hand.

use super::*;
use crate::analysis::Analyses;
use crate::fold::fold;
use oriole_ir::ops::{Flags, OpRow, Opcode, ROWS, Shape, Type};
use oriole_ir::{FunctionKind, InstHead, parse_module};
use std::sync::Arc;

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state ^ *state >> 29
}

/// A number with the corners of the types and small ones most of the time.
fn number(state: &mut u64) -> u64 {
    let corner = [0, 0x7f, 0x80, 0x7fff, 0x8000, 0x7fff_ffff, 0x8000_0000, u64::MAX >> 1, 1 << 63, u64::MAX];
    let near = corner[random(state) as usize % corner.len()];
    match random(state) % 4 {
        0 => near.wrapping_add(random(state) % 8).wrapping_sub(4),
        1 => random(state) % 40,
        2 => random(state) >> (random(state) % 64),
        _ => (random(state) % 40).wrapping_neg(),
    }
}

/// Two to four values of an operand, and the range that they lie in.
fn operand(state: &mut u64, ty: Type) -> (Vec<u64>, Range) {
    let register = if ty == Type::Pred { 1 } else { ty.bits().next_multiple_of(32).min(64) };
    let mask = Range::full(register).unsigned().1;
    let first = number(state) & mask;
    let mut values = vec![first];
    for _ in 0..1 + random(state) % 3 {
        let next = if random(state).is_multiple_of(3) { number(state) } else { first.wrapping_add(random(state) % 16) };
        values.push(next & mask);
    }
    let ranges = values.iter().map(|value| Range::constant(*value, register));
    let range = ranges.reduce(Range::join).expect("there are two");
    values.iter().for_each(|value| assert!(range.contains(*value), "{range:?} {value:#x}"));
    (values, range)
}

/// Operations on registers of which no range is known but that of the type. A new row must have an arm in
/// [`operation`], or be named here.
const SILENT: &str = "\
    phi pack imul24.lo imul24.hi imad24.lo imad24.hi fns brev bfi bmsk dp4a dp2a fadd fsub fmul ffma fdiv fabs fneg fmin \
    fmax frcp fsqrt frsqrt fsin fcos flg2 fex2 ftanh testp copysign setp set set.bool xor not cnot lop3 shf prmt cvt.x2 \
    cvt.narrow cvt.pack isspacep cvta mbarrier.pending_count mapa getctarank istypep split op.pure";

/// Whether a range is known at times of what a row yields for operands in ranges. It must hold for what the operation
/// folds to.
fn tells(row: &'static OpRow) -> bool {
    let (mut tells, mut state) = (false, 7);
    for _ in 0..3000 {
        let mut fields = row.default_fields();
        for (slot, spec) in row.fields.iter().enumerate() {
            let pick = random(&mut state) as usize % spec.legal.count_ones() as usize;
            fields.0[slot] = spec.values().nth(pick).unwrap_or_default();
        }
        let types = row.srcs.iter().map(|shape| row.shape_type(&fields, *shape).unwrap_or(Type::B32));
        let types: Vec<Type> = types.collect();
        let dst = row.shape_type(&fields, row.dsts[0]).unwrap_or(Type::B64);
        if row.broken_rule(&fields).is_some() || types.iter().chain([&dst]).any(|ty| ty.bits() > 64) {
            continue;
        }
        let sources: Vec<(Vec<u64>, Range)> = types.iter().map(|ty| operand(&mut state, *ty)).collect();
        let mut func = Function::new("f", FunctionKind::Device);
        let head = InstHead { opcode: row.opcode, fields, guard: None, line: 0 };
        let srcs: Vec<Operand> = (0..sources.len()).map(|at| Operand::Word(Reg::from_u32(at as u32), 0)).collect();
        let inst = func.new_inst(head, &[], &srcs, &[]);
        let of = |operand: Operand, _: u32| sources[operand.reg().expect("a register").index()].1;
        let bits = if dst == Type::Pred { 1 } else { dst.bits().next_multiple_of(32) };
        let found = operation::result(&func, inst, 0, bits, &of, None);
        tells |= !found.is_full();
        for _ in 0..4 {
            let picked = sources.iter().map(|(values, _)| values[random(&mut state) as usize % values.len()]);
            let picked: Vec<u64> = picked.collect();
            if let Some(folded) = fold(row.opcode, &fields, &picked) {
                let value = folded.results[0];
                assert!(found.contains(value), "{} {fields:?} of {picked:x?} is {value:#x}, not {found:?}", row.name);
            }
        }
    }
    tells
}

#[test]
fn ranges_hold_for_what_operations_yield() {
    let pure = ROWS.iter().filter(|row| row.flags.has(Flags::PURE) && row.dsts.len() == 1);
    let elsewhere = |row: &&OpRow| row.flags.has(Flags::VIDEO) || row.srcs.contains(&Shape::Special);
    let silent: Vec<&str> = pure.filter(|row| !elsewhere(row) && !tells(row)).map(|row| row.name).collect();
    assert_eq!(silent, SILENT.split_whitespace().collect::<Vec<_>>());
}

#[test]
fn carries_are_counted() {
    for row in ROWS.iter().filter(|row| row.flags.has(Flags::CARRY)) {
        let tells = tells(row);
        assert_eq!(tells, matches!(row.opcode, Opcode::IAddCarry | Opcode::ISubCarry), "{}", row.name);
    }
}

#[test]
fn both_readings_bound_each_other() {
    let low = Range::signed_between(0, 99, 32);
    assert_eq!((low.unsigned(), low.signed()), ((0, 99), (0, 99)));
    let negative = Range::unsigned_between(0xffff_fffe, 0xffff_ffff, 32);
    assert_eq!(negative.signed(), (-2, -1));
    let around = low.join(negative);
    assert_eq!((around.unsigned(), around.signed()), ((0, 0xffff_ffff), (-2, 99)));
    assert!(around.contains(0xffff_ffff) && !around.contains(100));
    assert_eq!(around.numbers(Type::S16), (-2, 99));
    assert_eq!(around.numbers(Type::U16), (0, 0xffff));
}

struct Solved {
    func: Function,
    analyses: Analyses,
}

impl Solved {
    /// A kernel in SSA form, with a line of directives.
    fn of(directives: &str, body: &str) -> Solved {
        let text = format!(
            "target sm_90 ptx 9.0\nentry @f ssa {{\n{directives}  local $a: b8[16] local align 4\nbb0:\n{body}}}\n"
        );
        let module = parse_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let func = module.functions.values().next().expect("there is one").clone();
        Solved { func, analyses: Analyses::default() }
    }

    fn ranges(&mut self) -> Arc<Ranges> {
        self.analyses.get(&self.func)
    }

    /// The unsigned bounds of a register wherever it is defined, and in a block.
    fn unsigned(&mut self, reg: u32, block: u32) -> [(u64, u64); 2] {
        self.both(reg, block).map(Range::unsigned)
    }

    fn both(&mut self, reg: u32, block: u32) -> [Range; 2] {
        let ranges = self.ranges();
        let (cfg, dominators) = (self.analyses.get(&self.func), self.analyses.get(&self.func));
        let definitions = self.analyses.get(&self.func);
        let cx = RangeContext { func: &self.func, cfg: &cfg, dominators: &dominators, definitions: &definitions };
        let operand = Operand::Reg(Reg::from_u32(reg));
        let everywhere = ranges.of(&self.func, operand).expect("a number");
        [everywhere, ranges.in_block(cx, operand, Block::from_u32(block)).expect("a number")]
    }
}

#[test]
fn launches_are_bounded() {
    let body = "  %r1 = s2r.b32 sr.tid.x\n  %r2 = s2r.b32 sr.ntid.x\n  %r3 = s2r.b32 sr.laneid\n  %r4 = s2r.b32 \
                sr.ctaid.y\n  %r5 = s2r.b32 sr.tid.z\n  %r6 = imad.lo.s32 %r4, %r2, %r1\n  ret\n";
    let of = |directives: &str| {
        let mut solved = Solved::of(directives, body);
        [1, 2, 3, 4, 5, 6].map(|reg| solved.unsigned(reg, 0)[0])
    };
    let any = [(0, 1023), (1, 1024), (0, 31), (0, 65534), (0, 63), (0, 65534 * 1024 + 1023)];
    assert_eq!(of(""), any);
    let exact = of("  directive reqntid 64 2 1\n");
    assert_eq!(exact, [(0, 63), (64, 64), (0, 31), (0, 65534), (0, 0), (0, 65534 * 64 + 63)]);
    let most = of("  directive maxntid 16 2 1\n");
    assert_eq!(most, [(0, 31), (1, 32), (0, 31), (0, 65534), (0, 31), (0, 65534 * 32 + 31)]);
}

#[test]
fn branches_narrow_what_they_guard() {
    let body = "  %r1 = ld.const.b32 [0]\n  %p2 = setp.lt.s32 %r1, 10\n  %p3 = setp.ge.s32 %r1, 0xfffffffb\n  %p4 = and.pred \
                %p2, %p3\n  cbra %p4, bb1, bb2\nbb1:\n  %r5 = iadd.s32 %r1, 5\n  bra bb3\nbb2:\n  %p6 = setp.ls.u32 7, \
                %r1\n  cbra %p6, bb3, bb4\nbb3:\n  ret\nbb4:\n  ret\n";
    let mut solved = Solved::of("", body);
    assert_eq!(solved.both(1, 1).map(Range::signed), [(i32::MIN.into(), i32::MAX.into()), (-5, 9)]);
    assert_eq!(solved.unsigned(5, 1)[0], (0, 14));
    assert_eq!(solved.unsigned(1, 4)[1], (0, 6));
    // Two ways lead there.
    assert!(solved.both(1, 3)[1].is_full());
}

#[test]
fn counters_stay_within_their_loops() {
    let body = "  bra bb1\nbb1:\n  %r1 = phi [bb0: 0], [bb2: %r2]\n  %p3 = setp.lt.s32 %r1, 100\n  cbra %p3, bb2, \
                bb3\nbb2:\n  %r2 = iadd.s32 %r1, 3\n  bra bb1\nbb3:\n  ret\n";
    let mut solved = Solved::of("", body);
    assert_eq!(solved.unsigned(1, 2), [(0, 102), (0, 99)]);
    assert_eq!(solved.unsigned(1, 3)[1], (100, 102));
    // Bounded by another register, down, and tested behind the step.
    let body = "  %r9 = ld.const.u16 [0]\n  bra bb1\nbb1:\n  %r1 = phi [bb0: 5000], [bb1: %r2]\n  %r4 = phi [bb0: 0], \
                [bb1: %r5]\n  %r2 = isub.s32 %r1, 2\n  %r5 = iadd.u32 %r4, 1\n  %p6 = setp.lo.u32 %r5, %r9\n  %p7 = \
                setp.gt.s32 %r2, 0\n  %p3 = and.pred %p6, %p7\n  cbra %p3, bb1, bb2\nbb2:\n  ret\n";
    let mut solved = Solved::of("", body);
    assert_eq!(solved.unsigned(1, 1)[0], (1, 5000));
    assert_eq!(solved.unsigned(4, 1)[0], (0, 65534));
    // Without a bound everything is possible.
    let body = body.replace("and.pred %p6, %p7", "or.pred %p6, %p7");
    assert!(Solved::of("", &body).both(4, 1)[0].is_full());
}

#[test]
fn guards_narrow_what_they_guard() {
    let body = "  %r1 = ld.const.b32 [0]\n  %p2 = setp.hi.u32 %r1, 40\n  @!%p2 %r3 = shl.b32 %r1, 1 else 7\n  @%p2 %r4 = \
                mov.b32 %r1 else 50\n  ret\n";
    let mut solved = Solved::of("", body);
    assert_eq!([solved.unsigned(3, 0)[0], solved.unsigned(4, 0)[0]], [(0, 80), (41, 0xffff_ffff)]);
}

#[test]
fn loads_have_the_ranges_of_their_types_and_stores() {
    let body = "  %r1 = ld.const.s8 [0]\n  %r2 = ld.const.u8 [0]\n  st.local.b32 [$a], %r1\n  %r3 = ld.local.b32 [$a]\n  \
                st.local.b16 [$a], %r1\n  %r4 = ld.local.s16 [$a]\n  %r5 = ld.local.u16 [$a]\n  ret\n";
    let mut solved = Solved::of("", body);
    let signed = [1, 2, 3, 4, 5].map(|reg| solved.both(reg, 0)[0].signed());
    assert_eq!(signed, [(-128, 127), (0, 255), (-128, 127), (-128, 127), (0, 65535)]);
}

#[test]
fn other_forms_say_what_single_operations_bound() {
    let mut solved =
        Solved::of("", "  %r1 = s2r.b32 sr.tid.x\n  @%p2 %r1 = mov.b32 2000\n  %r3 = mov.b32 %r1\n  ret\n");
    solved.func.form = Form::Virtual;
    assert_eq!([1, 3].map(|reg| solved.unsigned(reg, 0)[0]), [(0, 2000), (0, 0xffff_ffff)]);
}

#[test]
fn ranges_for_branches_follow_what_is_stored() {
    let body = "  %r1 = s2r.b32 sr.tid.x\n  st.local.b32 [$a], %r1\n  %r2 = ld.local.b32 [$a]\n  %r3 = iadd.u32 %r1, 1\n  \
                %p4 = setp.lt.u32 %r2, 7\n  cbra %p4, bb1, bb2\nbb1:\n  ret\nbb2:\n  ret\n";
    let mut solved = Solved::of("", body);
    let ranges = solved.analyses.get::<BranchRanges>(&solved.func);
    let of = |reg| ranges.0.of(&solved.func, Operand::Reg(Reg::from_u32(reg))).map(Range::unsigned);
    assert_eq!([of(1), of(2), of(3)], [Some((0, 1023)), Some((0, 1023)), Some((0, 0xffff_ffff))]);
}
