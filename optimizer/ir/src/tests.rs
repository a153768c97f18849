//! Round trips of the text form.

use super::{
    Form, Function, FunctionKind, InstBuilder, InstHead, Level, Modifiers, Module, Operand, PhysicalReg, Reg, RegFile,
    RegInfo, function_to_string, parse_function, parse_module,
};
use crate::ops::{Opcode, ROWS};
use crate::verify::{Rule, verify_module};

fn round_trip(text: &str) -> Module {
    let module = parse_module(text).unwrap_or_else(|e| panic!("{e}: {}", &text[e.span.offset()..]));
    let printed = module.to_string();
    let again = parse_module(&printed).unwrap_or_else(|e| panic!("{e}: {}", &printed[e.span.offset()..]));
    assert_eq!(module, again, "{printed}");
    assert_eq!(printed, again.to_string());
    module
}

const SAXPY: &str = "\
target sm_90 ptx 9.0
global @table: b8[8] const align 8 visible = 0x0001020304050607 generic 0 8 @saxpy+16

entry @saxpy visible ssa {
  param $n: u32 param align 4
  param $x: u64 param align 8
  local $depot: b8[64] local align 16
  directive maxntid 256 1 1
bb0:
  %r1 = s2r.b32 sr.tid.x
  %r2 = ld.param.u32 [$n]
  %p3 = setp.ge.u32 %r1, %r2
  cbra %p3, bb2, bb1
bb1:
  %d4 = ld.param.u64 [$x]
  %d5 = imad.wide.u32 %r1, 4, %d4
  %r6 = ld.global.nc.f32 [%d5-4] !12
  @!%p3 %r7 = fadd.rn.ftz.f32 %r6, 0x3f800000 else %r6
  %r8, %r9 = ld.shared.v2.b32 [%d5.1+8]
  st.global.L1::no_allocate.f32 [%d5], %r7
  bra bb2
bb2:
  %r10 = phi [bb0: undef], [bb1: %r8]
  call @f($n) -> ($depot)
  %r11 = mov.b32 c[0][0x210]
  ret
}

device @f {
}
";

#[test]
fn text_round_trips() {
    let module = round_trip(SAXPY);
    let saxpy = &module.functions[module.function_named("saxpy").unwrap()];
    assert_eq!(saxpy.inst_count(), 15);
    assert_eq!(saxpy.params.len(), 2);
    assert!(function_to_string(saxpy, Some(&module)).contains("@!%p3 %r7 = fadd.rn.ftz.f32 %r6, 0x3f800000 else %r6"));
    assert!(module.to_string().contains("[%d5-4]"));
}

/// A text that names no level or form is of the virtual ones; both are part of what a function is.
#[test]
fn levels_and_forms_round_trip_apart() {
    let mut seen = Vec::new();
    for level in Level::ALL {
        for form in Form::ALL {
            let mut func = Function::new("f", FunctionKind::Device);
            (func.level, func.form) = (*level, *form);
            let text = function_to_string(&func, None);
            let again = parse_function(&text).unwrap();
            assert_eq!((again.level, again.form), (*level, *form), "{text}");
            assert_eq!(func, func.clone());
            assert!(seen.iter().all(|other| *other != func), "{text}");
            seen.push(func);
        }
    }
    let plain = parse_function("device @f {\n}\n").unwrap();
    assert_eq!((plain.level, plain.form), (Level::Virtual, Form::Virtual));
}

/// The machine level: modifiers around registers, their words and constants, the machine's registers, schedules.
const MACHINE: &str = "\
device @f machine physical {
bb0:
  %R4x2 = imad.wide.u32 -%R1, |%R2.reuse|, %R8x2.reuse {stall 4 yield write 0 read 1 wait 0x3} !7
  @!%P0 %R0 = iadd.u32 -|%R3|, ~c[0][0x210] {stall 1}
  @%PT %R254 = iadd.u32 %R4x2.1, |%R4x2.0.reuse| {stall 0 wait 0x3f}
  %P1 = and.pred ~%P6, %PT
  %UR5 = mov.b32 %URZ
  %RZ = mov.b32 -c[3][0x8]
  st.global.b32 [%R4x2+16], %RZ {stall 2 read 5}
  ret {stall 15}
}
";

#[test]
fn machine_text_round_trips() {
    let module = round_trip(MACHINE);
    let text = module.to_string();
    for line in MACHINE.lines() {
        assert!(text.contains(line), "`{line}` became\n{text}");
    }
    let func = module.functions.values().next().unwrap();
    let first = func.inst_at(func.entry(), 0);
    let schedule = func.schedule(first).unwrap();
    assert_eq!((schedule.stall, schedule.yields, schedule.wait_mask), (4, true, 3));
    assert_eq!((schedule.write_barrier, schedule.read_barrier), (Some(0), Some(1)));
    assert_eq!(func.srcs(first)[1].modifiers(), Modifiers::ABSOLUTE.or(Modifiers::REUSE));
    let word = func.srcs(func.inst_at(func.entry(), 2))[1];
    let physical = PhysicalReg { file: RegFile::R, number: 4, words: 2 };
    assert_eq!((word.reg(), func.operand_info(word)), (physical.reg(), Some(RegInfo::words(1))));
}

/// Instructions of the machine: results, mnemonic, what they take; jumps with the blocks that they can go to.
const INSTRUCTIONS: &str = "\
entry @k machine physical {
bb0:
  %R3 = S2R 'SR_TID.X' {stall 7 write 0}
  %P0, %PT = ISETP.GE.U32.AND %R3, c[0][0x210], %PT, ~%PT {stall 13 wait 0x1}
  @!%P0 jump EXIT %PT, bb1 {stall 5}
bb1:
  %R4x2 = HFMA2.BF16_V2 -%R4.reuse, '', 0x3f803f80, |%UR254|, '2D' {stall 5}
  @%UP0 CALL.REL.NOINC %PT, @f {stall 1}
  bra bb2
bb2:
  @%P6 jump BRA %PT, bb2, bb3 {stall 1}
bb3:
  NOP {stall 1} !3
  end
}

device @f machine physical {
}
";

#[test]
fn instructions_of_the_machine_round_trip() {
    let mut module = round_trip(INSTRUCTIONS);
    let text = module.to_string();
    for line in INSTRUCTIONS.lines() {
        assert!(text.contains(line), "`{line}` became\n{text}");
    }
    assert_eq!(crate::verify::verify_module(&module), Ok(()));
    let other = round_trip(&INSTRUCTIONS.replace("'2D'", "'3D'"));
    assert_ne!(module, other, "names are part of a function");
    let func = module.functions.values_mut().next().unwrap();
    let blocks = func.layout().to_vec();
    let ways = |func: &Function| blocks.iter().map(|block| func.successors(*block).count()).collect::<Vec<_>>();
    assert_eq!(ways(func), [1, 1, 2, 0]);
    // The last block's names go, the others get other places in the table.
    let before = func.clone();
    let first = func.first_inst(blocks[0]).unwrap();
    let (dsts, srcs) = (func.dsts(first).to_vec(), func.srcs(first).to_vec());
    func.name("gone");
    func.set_inst(first, func.inst(first).head(), &dsts, &srcs, &[]);
    func.compact();
    assert_eq!(*func, before);
}

/// The wired registers are operands in every form, results and sources, with signs.
#[test]
fn wired_registers_are_operands_in_every_form() {
    for (form, reg) in [("ssa", "%r1"), ("virtual", "%r1"), ("physical", "%R1")] {
        let text = format!(
            "device @f machine {form} {{\nbb0:\n  {reg} = MOV %RZ\n  %PT, %UPT = ISETP.LT.AND -{reg}, |%RZ|, ~%PT\n  \
             %RZx2 = IADD3 ~%URZx4, %RZ.reuse, %UPT\n  %RZ = mov.b32 %URZ\n  ret\n}}\n"
        )
        .replace(" virtual", "");
        let module = round_trip(&text);
        assert_eq!(crate::verify::verify_module(&module), Ok(()), "{text}");
        let func = module.functions.values().next().unwrap();
        let named: usize = func.layout_insts().map(|inst| func.defs(inst).count() + func.uses(inst).count()).sum();
        assert_eq!(named, 2, "wired registers are no registers that anything defines or reads");
        let wired = func.srcs(func.inst_at(func.entry(), 2))[0];
        let uniform = RegInfo { file: RegFile::UR, words: 4 };
        assert_eq!((wired.reg(), func.operand_info(wired)), (None, Some(uniform)));
        assert_eq!(wired.modifiers(), Modifiers::INVERT);
    }
    for (text, part) in [
        ("device @f {\nbb0:\n  %r1 = mov.b32 %RZ\n  ret\n}\n", "only the machine level has `%RZ`"),
        ("device @f machine {\nbb0:\n  @%PT NOP\n  ret\n}\n", "`%PT` guards nothing"),
        ("device @f machine {\nbb0:\n  %r1 = mov.b32 %RZx5\n  ret\n}\n", "physical form, and it alone"),
    ] {
        let error = parse_function(text).unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn words_in_capitals_are_instructions_of_the_machine_alone() {
    for (text, part) in [
        ("device @f {\nbb0:\n  NOP\n  ret\n}\n", "unknown instruction `NOP`"),
        ("device @f {\nbb0:\n  %r1 = mov.b32 'X'\n  ret\n}\n", "`X` is no template"),
        ("device @f machine physical {\nbb0:\n  jump nop\n}\n", "`nop` is no mnemonic of the machine"),
        ("device @f machine physical {\nbb0:\n  jump\n}\n", "a mnemonic of the machine"),
        ("device @f machine physical {\nbb0:\n  IADD4\n}\n", "the machine has no `IADD4`"),
        ("device @f machine physical {\nbb0:\n  IADD3.Y\n}\n", "the machine has no `IADD3.Y`"),
        ("device @f machine physical {\nbb0:\n  EXIT\n}\n", "`EXIT` ends a block: write `jump EXIT`"),
        ("device @f machine physical {\nbb0:\n  jump NOP\n}\n", "`NOP` does not end a block"),
    ] {
        let error = parse_function(text).unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn schedules_and_modifiers_are_part_of_a_function() {
    let func = parse_function(MACHINE).unwrap();
    let (first, second) = (func.inst_at(func.entry(), 0), func.inst_at(func.entry(), 1));
    let mut other = func.clone();
    other.set_schedule(second, None);
    assert_ne!(func, other);
    let mut other = func.clone();
    other.srcs_mut(first)[0] = func.srcs(first)[0].with_modifiers(Modifiers::NONE).unwrap();
    assert_ne!(func, other);
    let mut other = func.clone();
    let extra = other.new_inst(other.inst(first).head(), &[], &[], &[]);
    other.insert_before(second, extra);
    other.remove_inst(extra);
    other.compact();
    assert_eq!(func, other, "schedules stay with their instructions");
}

/// What a modified operand loses, gains and keeps.
#[test]
fn modifiers_are_one_canonical_operand() {
    let reg = Reg::from_u32(3);
    for plain in [Operand::Reg(reg), Operand::Word(reg, 1), Operand::constant(0, 4)] {
        let modified = plain.with_modifiers(Modifiers::NEGATE).unwrap();
        assert_eq!((modified.modifiers(), modified.reg()), (Modifiers::NEGATE, plain.reg()));
        assert_eq!(modified.with_modifiers(Modifiers::NONE), Some(plain));
        assert_eq!(modified.map_reg(|reg| reg).modifiers(), Modifiers::NEGATE);
    }
    assert_eq!(Operand::imm(1).with_modifiers(Modifiers::NEGATE), None);
    assert_eq!(Operand::imm(1).with_modifiers(Modifiers::NONE), Some(Operand::imm(1)));
}

#[test]
fn equality_ignores_unused_entries_only() {
    let module = round_trip(SAXPY);
    let id = module.function_named("saxpy").unwrap();
    let mut other = module.clone();
    other.functions[id].new_reg(super::RegInfo::PRED);
    assert_eq!(module, other);
    let inst = other.functions[id].inst_at(super::Block::from_u32(1), 1);
    other.functions[id].srcs_mut(inst)[1] = super::Operand::imm(8);
    assert_ne!(module, other);
}

#[test]
fn errors_say_where_and_what() {
    let cases = [
        ("entry @f {\nbb0:\n  %r1 = iadd.s33 1, 2\n}\n", "`iadd.s33` needs a Type", "iadd.s33"),
        ("entry @f {\nbb0:\n  bra bb7\n}\n", "`bb7` is not defined", "bb7"),
        ("entry @f {\nbb0:\n  %r1 = mov.b32 %d1\n}\n", "register 1 has had another file or width before", "%d1"),
        ("entry @f {\nbb0:\n  frob\n}\n", "unknown instruction `frob`", "frob"),
        ("entry @f {\nbb0:\n  %r99999999 = mov.b32 1\n}\n", "numbers end at 1048575", "%r99999999"),
        ("target sm_90 ptx é\n", "unexpected `é`", "é"),
        ("target sm_90 ptx 999.0\n", "`999.0` is not a PTX version such as `9.0`", "999.0"),
        ("global @g: u32\n", "expected a state space before the end of the line", "\n"),
        ("entry @f {\nbb0:\n  call @g() -> ()\n}\n", "nothing is named `@g`", "@g"),
        (
            "entry @f {\nbb0:\n  %r1 = mov.b32 %R1\n}\n",
            "`%R1`: physical form, and it alone, has registers such as `%R4`",
            "%R1",
        ),
        (
            "entry @f machine physical {\nbb0:\n  %R1 = mov.b32 %r1\n}\n",
            "`%r1`: physical form, and it alone, has registers such as `%R4`",
            "%r1",
        ),
        (
            "entry @f machine physical {\nbb0:\n  %R1 = mov.b32 %R255\n}\n",
            "`%R255` is no register of the machine; `%R4` `%R4x2` `%UR4` `%P0` `%B0` are",
            "%R255",
        ),
        (
            "entry @f {\nbb0:\n  %r1 = mov.b32 -7\n}\n",
            "write an immediate as its bits: negative numbers have no width here",
            "7",
        ),
        ("entry @f {\nbb0:\n  bra ~bb0\n}\n", "modifiers stand before registers and constant banks", "bb0"),
        ("entry @f {\nbb0:\n  ret {stall 300}\n}\n", "the stall is too large", "300"),
    ];
    for (text, message, place) in cases {
        let error = parse_module(text).unwrap_err();
        assert_eq!(error.message, message);
        let (start, len) = (error.span.offset(), error.span.len());
        assert_eq!(&text[start..start + len], place, "{message}");
    }
}

/// What a function cannot hold is refused, and what it can hold is held in full: phis have no bound.
#[test]
fn lists_of_operands_have_the_room_that_they_need() {
    let text = |results: usize| {
        let list: Vec<String> = (1..=results).map(|number| format!("%r{number}")).collect();
        format!("device @f {{\nbb0:\n  {} = ld.global.v2.b32 [%d0]\n  ret\n}}\n", list.join(", "))
    };
    assert_eq!(parse_function(&text(255)).map(|func| func.dsts(func.inst_at(func.entry(), 0)).len()), Ok(255));
    let error = parse_function(&text(256)).unwrap_err();
    assert_eq!(error.message, "an instruction has at most 255 results");
    let mut func = Function::new("f", FunctionKind::Device);
    let sources = vec![Operand::imm(7); 200_000];
    let block = func.new_block();
    let phi = InstBuilder::new(Opcode::Phi).srcs(sources.iter().copied()).append(&mut func, block);
    assert_eq!(func.srcs(phi), sources);
}

#[test]
fn a_long_text_may_use_numbers_below_its_length() {
    let text = "entry @f {\nbb0:\n  %r1048600 = mov.b32 1\n  ret\n}\n";
    assert_eq!(parse_module(text).unwrap_err().message, "numbers end at 1048575");
    let module = parse_module(&(text.to_owned() + "//" + &" ".repeat(1 << 20))).unwrap();
    assert_eq!(module.functions.values().map(|func| func.regs().len()).collect::<Vec<_>>(), [1_048_601]);
}

#[test]
fn names_that_look_like_guards_are_names_where_names_stand() {
    let module = round_trip("device @%p1 {\n}\nentry @k {\nbb0:\n  call @%p1() -> ()\n  ret\n}\n");
    assert!(module.function_named("%p1").is_some());
}

#[test]
fn operands_out_of_place_round_trip_too() {
    round_trip(
        "entry @k {\nbb0:\n  %r1 = ld.global.u32 %r2, %r3, %p4\n  %r5 = iadd.u32 [%r1+4]\n  %r6 = ld.global.u32 %d7, 8\n  ret\n}\n",
    );
}

/// Whatever the memory held before: more or fewer blocks, instructions, variables, functions.
#[test]
fn a_copy_over_another_module_is_the_module() {
    let small =
        parse_module("target sm_80 ptx 8.1\nentry @k {\n  local $x: u32 local align 4\nbb0:\n  ret\n}\n").unwrap();
    let modules = [Module::default(), small, round_trip(SAXPY), round_trip(MACHINE)];
    for from in &modules {
        for over in &modules {
            let mut copy = over.clone();
            copy.clone_from(from);
            assert_eq!(format!("{copy:?}"), format!("{from:?}"));
        }
        assert_eq!(format!("{:?}", from.clone()), format!("{from:?}"));
    }
}

#[test]
fn the_shape_of_one_source_is_that_of_the_list() {
    let mut func = Function::new("f", FunctionKind::Device);
    for row in ROWS {
        let head = InstHead { opcode: row.opcode, fields: row.default_fields(), guard: None, line: 0 };
        let inst = func.new_inst(head, &[], &[], &[]);
        let data = func.inst(inst);
        for n in 0..7 {
            let one_by_one: Vec<_> = (0..).map_while(|index| data.src_shape(n, index)).collect();
            assert_eq!(one_by_one, data.src_shapes(n), "{} with {n} sources", row.name);
        }
    }
}

#[test]
fn templates_are_printed_as_they_are_read_and_their_places_are_checked() {
    let around = |line: &str| format!("target sm_100a ptx 8.7\n\nentry @k {{\nbb0:\n  {line}\n  ret\n}}\n");
    let good = around("%r1, %p2 = opaque 'some.new::op.b32 {=b32, _}|=pred, [@+8, {%b16, -3}]', @k, %r3");
    let module = parse_module(&good).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(module.to_string(), good);
    assert_eq!(verify_module(&module), Ok(()));
    for (line, rule) in [
        ("%r1 = opaque 'a =b64'", Rule::OperandWidth),
        ("%r1, %r2 = opaque 'a =b32'", Rule::OperandCount),
        ("%r1 = opaque 'a &b32'", Rule::OperandCount),
        ("opaque 'a @', %r3", Rule::OperandKind),
        ("opaque 'a %pred', %r3", Rule::OperandWidth),
        ("opaque 'a %b16', 65536", Rule::ImmediateWidth),
        ("opaque %r3", Rule::OperandKind),
    ] {
        let module = parse_module(&around(line)).unwrap_or_else(|error| panic!("{line}: {error}"));
        let violations = verify_module(&module).expect_err(line);
        assert!(violations.iter().any(|found| found.rule == rule), "{line}: {violations:?}");
    }
}
