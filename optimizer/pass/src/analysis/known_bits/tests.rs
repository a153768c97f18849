//! Operations against what they fold to, and functions with what is known worked out by hand.

use super::bits::low;
use super::operation::operation;
use super::*;
use crate::analysis::{Analyses, Definitions};
use crate::fold::fold;
use oriole_ir::ops::{Flags, OpRow, Opcode, ROWS, Type};
use oriole_ir::{FunctionKind, InstHead, Reg, parse_function, parse_module};
use proptest::prelude::*;

/// Operations of `%r2` and `%r3`, of which some bits are known, or of `%d4` and `%d5`.
const OPERATIONS: &[&str] = &[
    "%r9 = and.b32 %r2, %r3",
    "%r9 = or.b32 %r2, %r3",
    "%r9 = xor.b32 %r2, %r3",
    "%r9 = not.b32 %r2",
    "%r9 = not.b16 %r2",
    "%r9 = shl.b32 %r2, 5",
    "%r9 = shl.b16 %r2, 5",
    "%r9 = shl.b32 %r2, %r3",
    "%r9 = shr.u32 %r2, 7",
    "%r9 = shr.s32 %r2, 7",
    "%r9 = shr.u16 %r2, 3",
    "%r9 = shr.u32 %r2, %r3",
    "%r9 = selp.b32 %r2, 12, 1",
    "%r9 = iadd.u32 %r2, 16",
    "%r9 = iadd.s16 %r2, 16",
    "%r9 = imul.lo.u32 %r2, %r3",
    "%d9 = imul.wide.u32 %r2, %r3",
    "%r9 = imul.wide.u16 %r2, %r3",
    "%r9 = popc.b32 %r2",
    "%r9 = clz.b32 %r2",
    "%r9 = cnot.b32 %r2",
    "%r9 = bfe.u32 %r2, 3, 9",
    "%d9 = cvt.u64.u32 %r2",
    "%d9 = cvt.s64.s32 %r2",
    "%d9 = cvt.u64.s32 %r2",
    "%r9 = cvt.u16.s32 %r2",
    "%r9 = cvt.s16.s32 %r2",
    "%r9 = cvt.u32.s16 %r2",
    "%r9 = cvt.u8.u32 %r2",
    "%d9 = and.b64 %d4, %d5",
    "%d9 = iadd.u64 %d4, 16",
    "%d9 = shl.b64 %d4, 40",
    "%d9 = shr.u64 %d4, 40",
    "%r9 = cvt.u32.u64 %d4",
];

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state ^ *state >> 29
}

/// What is known holds for the values that the operation folds to, and something is known at times.
#[test]
fn known_bits_hold_for_what_operations_yield() {
    let mut state = 1;
    for text in OPERATIONS {
        let mut informed = false;
        for _ in 0..200 {
            let (keep, set) = (random(&mut state) & random(&mut state), random(&mut state) & random(&mut state) >> 40);
            let (keep32, set32) = (keep as u32 >> (keep >> 60), set as u32);
            let body = format!(
                "  %r2 = and.b32 %r0, {keep32}\n  %r3 = or.b32 %r1, {set32}\n  %d4 = and.b64 %d6, {keep}\n  \
                 %d5 = or.b64 %d7, {set}\n  {text}"
            );
            let func = parse_function(&format!("target sm_90 ptx 9.0\ndevice @f ssa {{\nbb0:\n{body}\n  ret\n}}\n"));
            let func = func.expect("the operation is valid");
            let inst = func.inst_at(func.entry(), 4);
            let known = BitMemo::default().of(&func, &Definitions::new(&func), func.dsts(inst)[0]);
            informed |= known.zeros & low(if text.starts_with("%d") { 64 } else { 32 }) != 0 || known.ones != 0;
            let (a, b) = (random(&mut state), random(&mut state));
            let wide = [a & keep, b | set];
            let narrow = [u64::from(a as u32 & keep32), u64::from(b as u32 | set32)];
            let values = func.srcs(inst).iter().map(|src| match src {
                Operand::Reg(reg) => match reg.as_u32() {
                    index @ 2..=3 => narrow[index as usize - 2],
                    index => wide[index as usize - 4],
                },
                operand => func.imm_bits(*operand).unwrap_or(0),
            });
            let values: Vec<u64> = values.collect();
            let data = func.inst(inst);
            let value = fold(data.opcode, &data.fields, &values).expect("the operation folds").results[0];
            assert_eq!(value & known.zeros, 0, "{text} of {values:x?} is {value:#x}, not {known:x?}");
            assert_eq!(value & known.ones, known.ones, "{text} of {values:x?} is {value:#x}, not {known:x?}");
        }
        let tells = !matches!(*text, "%r9 = cvt.s16.s32 %r2" | "%r9 = shr.s32 %r2, 7");
        assert!(informed || !tells, "nothing is ever known of {text}");
    }
}

fn parse(body: &str) -> Function {
    let text = format!(
        "target sm_90 ptx 9.0\ndevice @f ssa {{\n  local $a: b8[16] local align 4\nbb0:\n  %d9000 = ld.const.b64 [0]\n\
         {body}}}\n"
    );
    parse_module(&text)
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
        .functions
        .values()
        .next()
        .expect("one")
        .clone()
}

/// What the analysis and the memo know of a register.
fn known(body: &str, reg: u32) -> [Bits; 2] {
    let func = parse(body);
    let operand = Operand::Reg(Reg::from_u32(reg));
    let all = Analyses::default().get::<KnownBits>(&func).of(&func, operand);
    [all, BitMemo::default().of(&func, &Definitions::new(&func), operand)]
}

#[test]
fn a_guarded_definition_is_one_of_two_values() {
    let body = "  %r1 = ld.const.b32 [8]\n  %r2 = and.b32 %r1, 6\n  @%p3 %r4 = mov.b32 1 else %r2\n  ret\n";
    assert_eq!(known(body, 4), [Bits { zeros: !7, ones: 0 }; 2]);
}

#[test]
fn long_chains_are_followed() {
    let copies: String = (10..2000).map(|reg| format!("  %r{reg} = mov.b32 %r{}\n", reg - 1)).collect();
    let body = format!("  %r8 = ld.const.b32 [8]\n  %r9 = or.b32 %r8, 5\n{copies}  ret\n");
    assert_eq!(known(&body, 1999), [Bits { zeros: !0xffff_ffff, ones: 5 }; 2]);
}

/// The counter goes up by four, and the other register keeps its highest bit around the loop. The memo sees neither.
#[test]
fn bits_that_a_loop_does_not_change_are_known() {
    let body = "  bra bb1\nbb1:\n  %r1 = phi [bb0: 8], [bb1: %r2]\n  %r3 = phi [bb0: 0x80000000], [bb1: %r4]\n  \
                %r2 = iadd.u32 %r1, 4\n  %r4 = or.b32 %r3, %r2\n  %p5 = setp.lt.u32 %r2, 100\n  cbra %p5, bb1, bb2\n\
                bb2:\n  ret\n";
    assert_eq!(known(body, 1), [Bits { zeros: !0xffff_fffc, ones: 0 }, Bits::below(32)]);
    let high = Bits { zeros: !0xffff_fffc, ones: 0x8000_0000 };
    assert_eq!(known(body, 4), [high, Bits::below(32)]);
}

#[test]
fn a_load_has_the_bits_of_the_store_that_it_reads() {
    let known = |between: &str, load: &str| {
        let body = format!(
            "  %r1 = ld.const.b32 [8]\n  %r2 = and.b32 %r1, 0x1f0\n  st.local.v2.b16 [$a+4], 7, %r2\n{between}  {load}\n  \
             ret\n"
        );
        known(&body, 9)
    };
    let load = "%r8, %r9 = ld.local.v2.b16 [$a+4]";
    assert_eq!(known("", load), [Bits { zeros: !0x1f0, ones: 0 }, Bits::below(16)]);
    assert_eq!(known("", "%r9, %r8 = ld.local.v2.u16 [$a+4]"), [Bits::constant(7), Bits::below(16)]);
    // Extended by its sign, which is not followed.
    assert_eq!(known("", "%r9, %r8 = ld.local.v2.s16 [$a+4]"), [Bits::below(32); 2]);
    for (between, load) in [
        ("", "%r8, %r9 = ld.local.v2.b16 [$a+8]"),
        ("", "%r9 = ld.local.b16 [$a+4]"),
        ("  st.local.b8 [$a+6], 0\n", load),
        ("  @%p3 st.local.v2.b16 [$a+4], 1, 1\n", load),
    ] {
        assert_eq!(known(between, load), [Bits::below(16); 2], "{between}{load}");
    }
    assert_eq!(known("  st.local.b8 [$a+3], 0\n", load)[0].zeros, !0x1f0);
}

/// The load precedes the store that leaves what it reads in the next turn, at another address.
#[test]
fn a_store_of_the_turn_before_is_not_read() {
    let body = "  bra bb1\nbb1:\n  %d1 = phi [bb0: %d9000], [bb1: %d2]\n  %r3 = ld.global.b32 [%d1]\n  \
                st.global.b32 [%d1], 1\n  %d2 = iadd.u64 %d1, 4\n  bra bb1\n";
    assert_eq!(known(body, 3)[0], Bits::below(32));
    let forward =
        body.replace("  %r3 = ld.global.b32 [%d1]\n", "").replace("%d2 =", "%r3 = ld.global.b32 [%d1]\n  %d2 =");
    assert_eq!(known(&forward, 3)[0], Bits::constant(1));
}

#[test]
fn other_forms_join_all_definitions() {
    let text = "target sm_90 ptx 9.0\ndevice @f {\nbb0:\n  %r1 = mov.b32 5\n  @%p3 %r1 = mov.b32 4\n  \
                %r2 = mov.b32 %r1\n  ret\n}\n";
    let func = parse_function(text).expect("the function is valid");
    let known = Analyses::default().get::<KnownBits>(&func);
    let of = |reg: u32| known.of(&func, Operand::Reg(Reg::from_u32(reg)));
    assert_eq!(of(1), Bits { zeros: !5, ones: 4 });
    assert_eq!((of(2), of(3)), (Bits::below(32), Bits::below(1)));
}

/// A chain of operations on four registers at a time, as numbers say.
fn chain(numbers: &[u32]) -> Function {
    let names = ["and", "or", "xor"];
    let insts = numbers.iter().enumerate().map(|(at, number)| {
        let src = |shift: u32| (number >> shift) as usize % 4 + at;
        let name = names[*number as usize % 3];
        match number % 7 {
            0 => format!("  %r{} = {name}.b32 %r{}, {}\n", at + 4, src(8), number >> 12),
            1 => format!("  @%p9999 %r{} = iadd.u32 %r{}, 12 else %r{}\n", at + 4, src(8), src(10)),
            _ => format!("  %r{} = {name}.b32 %r{}, %r{}\n", at + 4, src(8), src(10)),
        }
    });
    parse(&format!("{}  ret\n", insts.collect::<String>()))
}

proptest! {
    /// What is remembered stays what it would be without memory, however definitions change.
    #[test]
    fn nothing_stale_is_remembered(
        numbers in prop::collection::vec(any::<u32>(), 2..40),
        changes in prop::collection::vec(any::<(usize, u32, usize)>(), 1..20),
    ) {
        let mut func = chain(&numbers);
        let (definitions, mut memo) = (Definitions::new(&func), BitMemo::default());
        let insts: Vec<Inst> = func.layout_insts().skip(1).take(numbers.len()).collect();
        for (at, constant, asked) in changes {
            let operand = func.dsts(insts[asked % insts.len()])[0];
            let fresh = BitMemo::default().of(&func, &definitions, operand);
            prop_assert_eq!(memo.of(&func, &definitions, operand), fresh);
            let changed = insts[at % insts.len()];
            if let Some(last) = func.srcs_mut(changed).last_mut() {
                *last = Operand::imm(constant);
            }
            func.defs(changed).for_each(|reg| memo.forget(reg));
        }
        for inst in insts {
            let operand = func.dsts(inst)[0];
            prop_assert_eq!(memo.of(&func, &definitions, operand), BitMemo::default().of(&func, &definitions, operand));
        }
    }
}

/// Operations on registers, apart from video, of which nothing is known but that their results are zero-extended. A
/// new row must have an arm in [`operation`], or be named here.
const SILENT: &str = "\
    phi pack isub imul.hi imad.lo imad.hi imad.wide imul24.lo imul24.hi imad24.lo imad24.hi isad idiv irem iabs \
    ineg imin imax bfind fns brev bfi szext bmsk dp4a dp2a fadd fsub fmul ffma fdiv fabs fneg fmin fmax frcp fsqrt \
    frsqrt fsin fcos flg2 fex2 ftanh testp copysign setp set set.bool slct lop3 shf prmt cvt.x2 cvt.narrow \
    cvt.pack isspacep cvta s2r mbarrier.pending_count mapa getctarank istypep split op.pure";

/// Whether something is known of the results of a row on constants at times. It must hold for what the operation
/// folds to.
fn tells(row: &'static OpRow) -> bool {
    let mut tells = false;
    let mut state = 7;
    for round in 0..400 {
        let mut fields = row.default_fields();
        for (slot, spec) in row.fields.iter().enumerate() {
            let pick = random(&mut state) as usize % spec.legal.count_ones() as usize;
            fields.0[slot] = spec.values().nth(pick).unwrap_or_default();
        }
        if row.broken_rule(&fields).is_some() {
            continue;
        }
        let constants: Vec<u64> = row.srcs.iter().map(|_| random(&mut state) >> (round % 60)).collect();
        let data = InstHead { opcode: row.opcode, fields, guard: None, line: 0 };
        let mut func = Function::new("f", FunctionKind::Device);
        let inst = func.new_inst(data, &[], &[], &[]);
        let ty = row.shape_type(&fields, row.dsts[0]);
        let bits = ty.map_or(64, Type::bits);
        let src = |index: usize, width: u32| Bits::constant(constants[index]).cut(width);
        let known = operation(func.inst(inst), bits, &src);
        tells |= known != Bits::default();
        if let Some(folded) = fold(row.opcode, &fields, &constants) {
            let (known, value) = (known.cut(bits), folded.results[0]);
            assert!(value & known.zeros == 0 && value & known.ones == known.ones, "{} {constants:x?}", row.name);
        }
    }
    tells
}

#[test]
fn every_operation_on_registers_is_known_or_known_not_to_be() {
    let pure = ROWS.iter().filter(|row| row.flags.has(Flags::PURE) && row.dsts.len() == 1);
    let elsewhere = |row: &&OpRow| matches!(row.opcode, Opcode::Mov | Opcode::Cvt) || row.flags.has(Flags::VIDEO);
    let silent: Vec<&str> = pure.filter(|row| !elsewhere(row) && !tells(row)).map(|row| row.name).collect();
    assert_eq!(silent, SILENT.split_whitespace().collect::<Vec<_>>());
}
