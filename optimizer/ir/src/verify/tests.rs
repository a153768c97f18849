//! Each rule has functions that break it, and nothing else.

use super::{Rule, Violation, verify_function, verify_module};
use crate::ops::Space;
use crate::{Block, Function, Inst, Module, Operand, Reg, parse_function, parse_module};

fn module(text: &str) -> Module {
    parse_module(text).unwrap_or_else(|e| panic!("{e} in\n{text}"))
}

/// The rules that are broken, each once.
fn broken(result: Result<(), Vec<Violation>>) -> Vec<Rule> {
    let mut rules: Vec<Rule> = result.err().into_iter().flatten().map(|violation| violation.rule).collect();
    rules.sort();
    rules.dedup();
    rules
}

/// Modules in text that break one rule.
const TEXTS: &[(Rule, &[&str])] = &[
    (
        Rule::Terminator,
        &[
            "device @f {\nbb0:\n  %r1 = mov.b32 1\n}\n",
            "device @f {\nbb0:\n  ret\n  ret\n}\n",
            "device @f {\nbb0:\n}\n",
        ],
    ),
    (Rule::EntryPredecessors, &["device @f ssa {\nbb0:\n  bra bb0\n}\n"]),
    (Rule::PhiForm, &["device @f {\nbb0:\n  bra bb1\nbb1:\n  %r1 = phi [bb0: 1]\n  ret\n}\n"]),
    (Rule::PhiPlace, &["device @f ssa {\nbb0:\n  bra bb1\nbb1:\n  %r2 = mov.b32 1\n  %r1 = phi [bb0: 1]\n  ret\n}\n"]),
    (
        Rule::PhiSources,
        &[
            "device @f ssa {\nbb0:\n  bra bb1\nbb1:\n  %r1 = phi \n  ret\n}\n",
            "device @f ssa {\nbb0:\n  bra bb1\nbb1:\n  %r1 = phi [bb0: 1], [bb0: 1]\n  ret\n}\n",
            "device @f ssa {\nbb0:\n  bra bb1\nbb1:\n  %r1 = phi [bb1: 1]\n  ret\n}\n",
            "device @f ssa {\nbb0:\n  bra bb1\nbb1:\n  %r1 = phi [bb0: 1], [bb1: 1]\n  ret\n}\n",
        ],
    ),
    (Rule::FieldRule, &["device @f {\nbb0:\n  %r1 = iadd.sat.u32 1, 2\n  ret\n}\n"]),
    // Physical form is of the machine level; opcodes of the virtual level are not.
    (
        Rule::Target,
        &[
            "target sm_75 ptx 9.0\ndevice @f {\nbb0:\n  %r1 = redux.sync.add.u32 %r2, %r3\n  ret\n}\n",
            "target sm_52 ptx 9.0\ndevice @f {\nbb0:\n  %r1 = fadd.f16 %r2, %r3\n  ret\n}\n",
            "target sm_80 ptx 9.0\ndevice @f {\nbb0:\n  %r1 = fadd.bf16 %r2, %r3\n  ret\n}\n",
        ],
    ),
    (Rule::Level, &["device @f physical {\n}\n", "device @f machine {\nbb0:\n  %r1 = iadd.u32 1, 2\n  ret\n}\n"]),
    (
        Rule::Modifier,
        &[
            "device @f {\nbb0:\n  %r1 = mov.b32 -%r2\n  ret\n}\n",
            "device @f {\nbb0:\n  %r1 = mov.b32 ~c[0][0x10]\n  ret\n}\n",
            "device @f {\nbb0:\n  %r1 = ld.global.b32 [%d2.reuse]\n  ret\n}\n",
        ],
    ),
    (Rule::Schedule, &["device @f {\nbb0:\n  ret {stall 1}\n}\n"]),
    (Rule::Kill, &["device @f {\nbb0:\n  %r1 = mov.b32 1\n  ret\n  kill %r1\n}\n"]),
    (
        Rule::OperandCount,
        &[
            "device @f {\nbb0:\n  %r1 = iadd.u32 1\n  ret\n}\n",
            "device @f {\nbb0:\n  %r1 = iadd.u32 1, 2, 3\n  ret\n}\n",
            "device @f {\nbb0:\n  iadd.u32 1, 2\n  ret\n}\n",
            "device @f {\nbb0:\n  %r1, %r2 = iadd.u32 1, 2\n  ret\n}\n",
            "device @f {\nbb0:\n  %r1 = pack.b32 1\n  ret\n}\n",
            "device @f {\nbb0:\n  brx %r1\n}\n",
            "device @f {\nbb0:\n  %r1 = ld.global.v2.b32 [8]\n  ret\n}\n",
        ],
    ),
    (Rule::Destination, &["device @f {\nbb0:\n  %d1.0 = mov.b32 1\n  ret\n}\n"]),
    (
        Rule::OperandKind,
        &[
            "device @f {\nbb0:\n  %r1 = mov.b32 bb0\n  ret\n}\n",
            "device @f {\nbb0:\n  %r1 = iadd.u32 sr.tid.x, 1\n  ret\n}\n",
            "device @f {\nbb0:\n  %r1 = s2r.b32 1\n  ret\n}\n",
            "device @f {\nbb0:\n  bra 1\n}\n",
            "device @f {\nbb0:\n  %p1 = mov.pred c[0][0]\n  ret\n}\n",
            "device @f {\nbb0:\n  st.global.b32 [c[0][8]], 1\n  ret\n}\n",
            "device @f {\nbb0:\n  %r1 = lop3.b32 1, 2, 3, %r4\n  ret\n}\n",
            "device @f {\nbb0:\n  call 7() -> ()\n  ret\n}\n",
            "global @g: u32 global\ndevice @f {\nbb0:\n  %q1 = mov.b128 @g\n  ret\n}\n",
        ],
    ),
    (
        Rule::OperandWidth,
        &[
            "device @f {\nbb0:\n  %d1 = iadd.u32 1, 2\n  ret\n}\n",
            "device @f {\nbb0:\n  %r1 = iadd.u32 %d2, 1\n  ret\n}\n",
            "device @f {\nbb0:\n  %r1 = iadd.u32 %p2, 1\n  ret\n}\n",
            "device @f {\nbb0:\n  %d1 = iadd.u64 %d2.1, 1\n  ret\n}\n",
            "device @f {\nbb0:\n  %r1 = selp.b32 1, 2, %r3\n  ret\n}\n",
            "device @f {\nbb0:\n  %b1 = mov.b32 1\n  ret\n}\n",
            "device @f {\nbb0:\n  st.global.b32 [%q1], 1\n  ret\n}\n",
            "device @f {\nbb0:\n  %d1 = pack.b32 1, 2, 3\n  ret\n}\n",
            "device @f {\nbb0:\n  call %r1() -> ()\n  ret\n}\n",
            "device @f ssa {\nbb0:\n  %d1 = mov.b64 1\n  bra bb1\nbb1:\n  %r2 = phi [bb0: %d1]\n  ret\n}\n",
            "device @f ssa {\nbb0:\n  %p1 = mov.pred 1\n  @%p1 %r2 = mov.b32 1 else %p1\n  ret\n}\n",
        ],
    ),
    (
        Rule::ImmediateWidth,
        &[
            "device @f {\nbb0:\n  %r1 = iadd.u16 65536, 1\n  ret\n}\n",
            "device @f {\nbb0:\n  %p1 = mov.pred 2\n  ret\n}\n",
            "device @f {\nbb0:\n  %r1 = mov.b32 0x100000000\n  ret\n}\n",
        ],
    ),
    (
        Rule::SpecialRegister,
        &[
            "device @f {\nbb0:\n  %r1 = s2r.b32 sr.clock\n  ret\n}\n",
            "device @f {\nbb0:\n  %r1 = cs2r.b32 sr.tid.x\n  ret\n}\n",
            "device @f {\nbb0:\n  %r1 = s2r.b32 sr.gridid\n  ret\n}\n",
        ],
    ),
    (
        Rule::CallVariables,
        &[
            "device @g {\n  param $a: u32 param\n}\n\
             device @f {\n  local $x: u32 local\nbb0:\n  call @g($x) -> ()\n  ret\n}\n",
            "device @f {\nbb0:\n  call %d1(4) -> ()\n  ret\n}\n",
        ],
    ),
    (
        Rule::CallSignature,
        &[
            "device @g {\n  param $a: u32 param\n}\ndevice @f {\nbb0:\n  call @g() -> ()\n  ret\n}\n",
            "device @g {\n  param $a: u32 param\n}\n\
             device @f {\n  local $x: u64 param\nbb0:\n  call @g($x) -> ()\n  ret\n}\n",
            "device @g {\n}\ndevice @f {\n  local $x: u64 param\nbb0:\n  call @g() -> ($x)\n  ret\n}\n",
            "entry @g {\n}\ndevice @f {\nbb0:\n  call @g() -> ()\n  ret\n}\n",
        ],
    ),
    (Rule::GuardFile, &["device @f {\nbb0:\n  @%r1 %r2 = mov.b32 1\n  ret\n}\n"]),
    (Rule::GuardPlace, &["device @f {\nbb0:\n  @%p1 ret\n}\n"]),
    (
        Rule::ElseCount,
        &[
            "device @f ssa {\nbb0:\n  %p1 = mov.pred 1\n  @%p1 %r2 = mov.b32 1\n  ret\n}\n",
            "device @f ssa {\nbb0:\n  %r2 = mov.b32 1 else 2\n  ret\n}\n",
            "device @f {\nbb0:\n  %p1 = mov.pred 1\n  @%p1 %r2 = mov.b32 1 else 2\n  ret\n}\n",
        ],
    ),
    (Rule::SingleDefinition, &["device @f ssa {\nbb0:\n  %r1 = mov.b32 1\n  %r1 = mov.b32 2\n  ret\n}\n"]),
    (
        Rule::Dominance,
        &[
            "device @f ssa {\nbb0:\n  %r1 = mov.b32 %r2\n  %r2 = mov.b32 1\n  ret\n}\n",
            "device @f ssa {\nbb0:\n  %r1 = iadd.u32 %r1, 1\n  ret\n}\n",
            "device @f ssa {\nbb0:\n  cbra %p1, bb1, bb1\nbb1:\n  ret\n}\n",
            "device @f ssa {\nbb0:\n  cbra 1, bb1, bb2\nbb1:\n  %r1 = mov.b32 1\n  bra bb2\nbb2:\n  %r2 = mov.b32 %r1\n  ret\n}\n",
            "device @f ssa {\nbb0:\n  cbra 1, bb1, bb2\nbb1:\n  %r1 = mov.b32 1\n  bra bb2\nbb2:\n  %r2 = phi [bb0: %r1], [bb1: 1]\n  ret\n}\n",
            "device @f ssa {\nbb0:\n  @%p1 st.global.b32 [8], 1\n  ret\n}\n",
        ],
    ),
    (
        Rule::Signature,
        &[
            "entry @f {\n  return $x: u32 param\nbb0:\n  ret\n}\n",
            "device @f {\n  param $x: u32 local\nbb0:\n  ret\n}\n",
        ],
    ),
    (
        Rule::Initialiser,
        &[
            "global @g: u8 global = 0x0001\n",
            "global @g: u32 global generic 0 8 @g+0\n",
            "global @g: u32[4] global generic 4 9 @g+0\n",
            "device @f {\n  local $x: u8 local = 0x0001\n}\n",
        ],
    ),
];

/// Texts of the machine level that break one rule, apart from that of the level.
const MACHINE_TEXTS: &[(Rule, &[&str])] = &[
    (
        Rule::PhysicalRegister,
        &[
            "device @f machine physical {\nbb0:\n  %R5x2 = mov.b64 %R2x2\n  ret\n}\n",
            "device @f machine physical {\nbb0:\n  %R4x2 = mov.b64 %R253x2\n  ret\n}\n",
        ],
    ),
    (
        Rule::OperandWidth,
        &[
            "device @f machine {\nbb0:\n  %r1 = mov.b32 %PT\n  ret\n}\n",
            "device @f machine {\nbb0:\n  %RZx2 = mov.b32 1\n  ret\n}\n",
        ],
    ),
    (
        Rule::Modifier,
        &[
            "device @f machine {\nbb0:\n  %r1 = mov.b32 ~-%r2\n  ret\n}\n",
            "device @f machine {\nbb0:\n  %p1 = mov.pred -%p2\n  ret\n}\n",
            "device @f machine ssa {\nbb0:\n  %p3 = mov.pred 1\n  %r2 = mov.b32 1\n  @%p3 %r1 = mov.b32 1 else -%r2\n  ret\n}\n",
        ],
    ),
    (
        Rule::OperandKind,
        &[
            "device @f machine physical {\nbb0:\n  %R1 = IADD3 undef\n  end\n}\n",
            "device @f machine physical {\nbb0:\n  %R1 = S2R sr.tid.x\n  end\n}\n",
            "device @f machine physical {\nbb0:\n  %R1 = mov.b32 'X'\n  ret\n}\n",
        ],
    ),
    (
        Rule::Schedule,
        &[
            "device @f machine {\nbb0:\n  ret {stall 16}\n}\n",
            "device @f machine {\nbb0:\n  ret {stall 1 write 6}\n}\n",
            "device @f machine {\nbb0:\n  ret {wait 0x40}\n}\n",
        ],
    ),
];

/// A function in virtual form that keeps every rule, for [`EDITS`] to break.
const SOUND: &str = "\
device @f {
  param $n: u32 param
  local $x: u64 local
bb0:
  %d1 = mov.b64 1
  %r2 = iadd.u32 %d1.0, 1
  bra bb1
bb1:
  ret
}
";

/// Breaks a function in a way that the text form cannot say.
type Edit = fn(&mut Function);

fn inst(func: &Function, place: usize) -> Inst {
    func.inst_at(func.entry(), place)
}

fn set_field(func: &mut Function, slot: usize, value: u8) {
    let first = inst(func, 0);
    func.raw().insts[first].fields.0[slot] = value;
}

const EDITS: &[(Rule, Edit)] = &[
    (Rule::Entity, |f| f.srcs_mut(inst(f, 0))[0] = Operand::Reg(Reg::from_u32(99))),
    (Rule::Entity, |f| f.srcs_mut(inst(f, 2))[0] = Operand::Block(Block::from_u32(99))),
    (Rule::Entity, |f| f.srcs_mut(inst(f, 0))[0] = Operand::Local(crate::Local::from_u32(99))),
    (Rule::Entity, |f| f.raw().layout.push(Block::from_u32(99))),
    (Rule::Entity, |f| {
        f.imm(1f64.to_bits());
        f.srcs_mut(inst(f, 0))[0] = Function::new("other", crate::FunctionKind::Device).imm(2f64.to_bits());
    }),
    (Rule::Entity, |f| {
        let first = inst(f, 0);
        f.raw().set_next(first, Some(Inst::from_u32(99)));
    }),
    (Rule::Entity, |f| f.params.push(crate::Local::from_u32(99))),
    (Rule::RegisterWidth, |f| f.raw().regs[Reg::from_u32(1)].words = 5),
    (Rule::RegisterWidth, |f| f.raw().regs[Reg::from_u32(1)].words = 0),
    (Rule::LayoutOnce, |f| f.append_block(f.layout()[1])),
    // The list of the entry leads into that of the other block; then it leads back into itself.
    (Rule::InstOnce, |f| {
        let (first, other) = (inst(f, 0), f.inst_at(f.layout()[1], 0));
        f.set_layout(f.layout().iter().rev().copied().collect());
        f.raw().set_next(first, Some(other));
    }),
    (Rule::InstOnce, |f| {
        let (first, second) = (inst(f, 0), inst(f, 1));
        f.raw().set_next(second, Some(first));
    }),
    (Rule::InstOnce, |f| {
        let (first, other) = (inst(f, 1), f.inst_at(f.layout()[1], 0));
        let copy = f.new_inst(f.inst(first).head(), &[], &[], &[]);
        let raw = f.raw();
        raw.insts[copy] = raw.insts[first];
        f.insert_before(other, copy);
    }),
    (Rule::BlockList, |f| {
        let (first, second) = (inst(f, 0), inst(f, 1));
        f.raw().swap_order(first, second);
    }),
    (Rule::BlockList, |f| {
        let second = inst(f, 1);
        f.raw().set_prev(second, None);
    }),
    (Rule::BlockList, |f| {
        let (second, block) = (inst(f, 1), f.layout()[1]);
        f.raw().set_block(second, Some(block));
    }),
    (Rule::BlockList, |f| {
        let second = inst(f, 1);
        f.raw().set_next(second, None);
    }),
    (Rule::FieldValue, |f| set_field(f, 0, 63)),
    (Rule::FieldValue, |f| set_field(f, 0, 255)),
    (Rule::FieldValue, |f| set_field(f, 0, crate::ops::Type::F32 as u8)),
    (Rule::FieldValue, |f| set_field(f, 11, 1)),
    (Rule::WordIndex, |f| f.srcs_mut(inst(f, 1))[0] = Operand::Word(Reg::from_u32(1), 2)),
    (Rule::BranchTarget, |f| f.raw().layout.truncate(1)),
    (Rule::Signature, |f| f.returns.push(f.params[0])),
    (Rule::Names, |f| f.locals.values_mut().for_each(|local| local.name = "same".into())),
    (Rule::Names, |f| f.locals[crate::Local::from_u32(1)].name = "a b".into()),
    (Rule::Names, |f| f.name = "".into()),
    (Rule::Names, |f| f.name = "$".into()),
    (Rule::Signature, |f| {
        f.locals[crate::Local::from_u32(1)].space = Space::Param;
        f.params.insert(0, crate::Local::from_u32(1));
    }),
    (Rule::VariableSpace, |f| f.locals[crate::Local::from_u32(1)].space = Space::Generic),
    (Rule::Alignment, |f| f.locals[crate::Local::from_u32(1)].align = 12),
    (Rule::Alignment, |f| f.locals[crate::Local::from_u32(1)].align = 0),
];

#[test]
fn each_text_breaks_its_rule_alone() {
    for (rule, texts) in TEXTS {
        for text in *texts {
            assert_eq!(broken(verify_module(&module(text))), [*rule], "{text}");
        }
    }
}

#[test]
fn each_machine_text_breaks_its_rule() {
    for (rule, texts) in MACHINE_TEXTS {
        for text in *texts {
            let mut rules = broken(verify_module(&module(text)));
            rules.retain(|rule| *rule != Rule::Level);
            assert_eq!(rules, [*rule], "{text}");
        }
    }
}

#[test]
fn each_edit_breaks_its_rule_alone() {
    assert_eq!(verify_module(&module(SOUND)), Ok(()));
    for (number, (rule, edit)) in EDITS.iter().enumerate() {
        let mut func = parse_function(SOUND).unwrap();
        edit(&mut func);
        assert_eq!(broken(verify_function(&func, None)), [*rule], "edit {number}");
    }
}

#[test]
fn every_rule_is_broken_by_a_test() {
    let tested =
        |rule: &Rule| TEXTS.iter().chain(MACHINE_TEXTS).any(|(r, _)| r == rule) || EDITS.iter().any(|(r, _)| r == rule);
    let untested: Vec<_> = Rule::ALL.iter().filter(|rule| !tested(rule)).collect();
    assert!(untested.is_empty(), "{untested:?}");
}

/// What was in order is remembered; a field that comes to be in the same place of memory is looked at all the same.
#[test]
fn a_wrong_field_is_found_behind_operations_in_order() {
    for value in 64..=255 {
        let mut func = parse_function("device @f {\nbb0:\n  %r1 = iadd.u32 1, 2\n  %r2 = iadd.u32 1, 2\n  ret\n}\n")
            .unwrap_or_else(|e| panic!("{e}"));
        let second = inst(&func, 1);
        func.raw().insts[second].fields.0[0] = value;
        assert_eq!(broken(verify_function(&func, None)), [Rule::FieldValue], "{value}");
    }
}

#[test]
fn names_of_symbols_differ() {
    let mut module = module("global @g: u32 global\ndevice @f {\n}\n");
    module.functions.values_mut().for_each(|func| func.name = "g".into());
    assert_eq!(broken(verify_module(&module)), [Rule::Names]);
}

#[test]
fn symbols_of_other_modules_are_no_entities() {
    let text = "global @g: u32 global\nglobal @h: u64 global generic 0 8 @g+4\n\
                device @f {\nbb0:\n  %d1 = mov.b64 @h\n  call @f() -> ()\n  ret\n}\n";
    let mut module = module(text);
    assert_eq!(verify_module(&module), Ok(()));
    module.globals.clear();
    assert_eq!(broken(verify_module(&module)), [Rule::Entity]);
    let func = module.functions.values().next().unwrap();
    assert_eq!(verify_function(func, None), Ok(()), "without a module symbols are taken as they are");
}

/// A function that only the verifier may be asked about is printed all the same: it is in the finding.
#[test]
fn an_immediate_of_another_function_is_shown() {
    let mut module = module("device @f {\nbb0:\n  %d1 = mov.b64 0\n  ret\n}\n");
    let func = module.functions.values_mut().next().unwrap();
    let mov = func.inst_at(func.entry(), 0);
    func.srcs_mut(mov)[0] = Function::new("other", crate::FunctionKind::Device).imm(1f64.to_bits());
    assert_eq!(module, module.clone());
    let violations = verify_module(&module).unwrap_err();
    assert_eq!(violations[0].to_string(), "@f bb0 `%d1 = mov.b64 ?`: Imm(constant0) does not exist (Entity)");
}

#[test]
fn violations_show_the_instruction() {
    let text = "device @f {\nbb0:\n  %r1 = iadd.u32 %d2, 1\n  ret\n}\n";
    let violations = verify_module(&module(text)).unwrap_err();
    let shown = violations[0].to_string();
    let expected = "@f bb0 `%r1 = iadd.u32 %d2, 1`: a `%d` register stands where `%r` belongs (OperandWidth)";
    assert_eq!(shown, expected);
}

/// Unreachable blocks, barriers, undefined operands, uniform registers and symbols are all in order.
#[test]
fn unusual_functions_are_in_order() {
    let text = "\
global @g: u32 shared
entry @f ssa {
  param $n: u64 param align 8
bb0:
  %r1 = ld.param.u32 [$n]
  %ur2 = mov.b32 @g
  %r3 = iadd.u32 %r1, %ur2
  %d4 = cs2r.b64 sr.clock64
  %t5 = pack.b32 %d4.0, %d4.1, c[0][0x210]
  st.shared.v2.b32 [@g+4], %t5.2, undef
  cbra undef, bb1, bb2
bb1:
  bra bb2
bb2:
  %t6 = phi [bb1: %t5], [bb0: undef]
  st.shared.b32 [undef], %t6.1
  ret
bb3:
  %r7 = iadd.u32 %r7, %r3
  bra bb3
}
";
    assert_eq!(verify_module(&module(text)), Ok(()));
}
