use std::sync::LazyLock;

use super::*;
use crate::analysis::{BitMemo, Definitions, Uses};
use oriole_ir::ops::Opcode;
use oriole_ir::{Function, Inst, parse_function};
use oriole_rules::instance::{Instance, Pattern, Rule, Value};
use oriole_rules::language::parse;
use oriole_rules::{Source, builtin_sources};

#[test]
fn the_built_in_rules_are_right() {
    if let Err(error) = RuleSet::parse_all(&builtin_sources()) {
        panic!("\n{}", error.lines());
    }
}

fn newest_of_pattern(pattern: &Pattern) -> u16 {
    let newest = |source: &oriole_rules::instance::Source| {
        let mut inner = source;
        while let oriole_rules::instance::Source::Word(_, of) = inner {
            inner = of;
        }
        match inner {
            oriole_rules::instance::Source::Inst(made) => newest_of_pattern(made),
            _ => 0,
        }
    };
    let own = pattern.opcode.row().first_sm(&pattern.some_fields());
    pattern.srcs.iter().map(newest).fold(own, u16::max)
}

fn newest_of_value(value: &Value) -> u16 {
    let Value::Op(operation) = value else { return 0 };
    let own = operation.opcode.row().first_sm(&operation.fields);
    operation.srcs.iter().map(newest_of_value).fold(own, u16::max)
}

/// The engine does not ask for the target: where the pattern is legal, the result is.
#[test]
fn no_result_needs_a_later_sm_than_its_pattern() {
    let set = RuleSet::builtin();
    for rule in set.rules() {
        for instance in rule.instances() {
            let made = instance.lets.iter().chain(&instance.results).map(newest_of_value).max().unwrap_or(0);
            let needed = newest_of_pattern(instance.pattern()).max(50);
            assert!(made <= needed, "`{}` ({}) makes what sm_{made} has first", rule.name, instance.binding_text());
        }
    }
}

/// The first fault of a rule text: line, column and message.
fn fault(text: &str) -> String {
    match RuleSet::parse("t.rules", text) {
        Ok(_) => "right".to_owned(),
        Err(error) => {
            let fault = &error.related[0];
            assert!(!fault.help.is_empty() && !fault.label.is_empty(), "{fault:?}");
            let (line, column) = fault.line_column(text);
            format!("{line}:{column}: {fault}")
        }
    }
}

/// Each kind of fault once, with its place.
const REFUSED: &[(&str, &str)] = &[
    ("rule a: iad.u32(x, 0) => x", "1:9: unknown opcode `iad`"),
    ("rule a: iadd.u33(x, 0) => x", "1:14: `iadd` does not take `u33` here"),
    ("rule a: iadd(x, 0) => x", "1:9: `iadd` needs a Type"),
    ("rule a: iadd.sat.u32(x, 0) => x", "1:9: `iadd` does not allow"),
    ("rule a for T in int b32: iadd.T(x, 0) => x", "1:31: `iadd` does not take the Type `b32`"),
    ("rule a for T in whole: iadd.T(x, 0) => x", "1:17: `whole` is no type"),
    ("rule a for T in u32 uint: iadd.T(x, 0) => x", "1:12: `T` goes through `u32` twice"),
    ("rule a for t in u32: iadd.t(x, 0) => x", "1:12: `t` cannot be a variable"),
    ("rule a: iadd.u32(x, 0) => y", "1:27: `y` is not bound"),
    ("rule a: iadd.u32(x, y) => x", "1:21: `y` is captured and not used"),
    ("rule a: iadd.u32(x, C) => x if C > D", "1:36: `D` is not bound"),
    ("rule a: iadd.u32(x, 0) => x if x > 1", "1:32: `x` is an operand, not a constant"),
    ("rule a: iadd.u32(x) => x", "1:9: `iadd` has 2 operands, not 1"),
    ("rule a: and.b32(x, 0x100000000) => x", "1:20: 0x100000000 does not fit 32 bits"),
    ("rule a: add.u32(x, 0) => x", "1:9: unknown opcode `add`; did you mean `iadd.u32`?"),
    ("rule a: mul.lo.s64(x, 1) => x", "1:9: unknown opcode `mul`; did you mean `imul.lo.s64`?"),
    ("rule a: sub.ftz.f32(x, 0) => x", "1:9: unknown opcode `sub`; did you mean `fsub.ftz.f32`?"),
    ("rule a: iadd.u32(x, C) => x if C > 1 && C < 9", "1:38: `&&` joins no conditions"),
    ("rule a: iadd.u32(x, C) => x if is_mask(C) and C < 9", "1:43: `and` joins no conditions"),
    ("rule a for T in int: iadd.T(x, 0) => x if T == u33", "1:48: `u33` is no type"),
    ("rule a for T in int: iadd.T(x, 0) => x if T != int", "1:48: `int` is a set of types"),
    ("rule a for T in int: iadd.T(x, 0) => x if T in u32 s33", "1:52: `s33` is no type"),
    ("rule a: iadd.u32(x, C) => x if C > 1, (C < 9)", "1:39: parentheses are for constants"),
    ("rule a: iadd.u32(x, C) => x if !(is_mask(C) || C < 9)", "1:33: parentheses are for constants"),
    ("rule a: iadd.u32(x, C) => x if (!is_mask(C)), C < 9", "1:32: parentheses are for constants"),
    ("rule a: iadd.u32(x, C) => x if C ==s 9", "1:36: there is no `==s`"),
    ("rule a: iadd.u32(x, C) => fold(vote.sync.all.pred(C, 1))", "1:32: `vote.sync` does not depend on its operands"),
    ("rule a: shr{F}(x, 0) => x", "1:9: `shr` has a Type of several widths"),
    ("rule a: iadd.u32(x, &set{_}.lt.u32(y, y)) => x", "1:22: `set` has a SrcType of several widths"),
    ("rule a: iadd.u32(x, (C => x", "1:21: the parenthesis is not closed: expected `)`, found `=>`"),
    ("rule a: iadd.u32(x, 0) => shl.b32(x, log2(C)\nrule b: not.b32(x) => x", "1:34: the parenthesis is not closed"),
    ("rule a: iadd.u32(x, C) => x if is_mask(C", "1:39: the parenthesis is not closed"),
    ("rule a: fadd.f32(x, 2.0f) => x", "1:24: `2.0f` is no number"),
    ("rule a: fadd.f32(x, 1e40) => x", "1:21: 1e40 is no float of 32 bits"),
    ("rule a: fadd.f64(x, 1e999) => x", "1:21: the number is beyond every float"),
    ("rule a: fmul.f32(x, 1.0 + 1.0) => x", "1:21: `+` takes integers, not floats"),
    ("rule a: fmul.f32(x, C) => x if C > 1.0", "1:32: `>` takes integers, not floats"),
    ("rule a: shl.b64(x, C) => and.b64(x, C)", "1:37: `C` has 32 bits and stands where 64 are needed"),
    ("rule a: iadd.u64(x, C) => iadd.u64(x, trunc(C))", "1:39: `trunc` from 64 to 64 bits does nothing"),
    ("rule a: popc.b64(x) => x", "1:24: a value of type b64 stands where b32 is needed"),
    ("rule a: iadd.u64(not.b32(x), 0) => 0", "1:18: a value of type b32 stands where u64 is read"),
    ("rule a: iadd.u32(x, 0) => x if log2(3) > 1", "1:37: the width of this constant cannot be inferred"),
    ("rule a: iadd.u32(x, C) => x if odd(C)", "1:32: no predicate `odd` of 1 argument"),
    ("rule a: and.pred(p, q) => 0 if disjoint(p, q)", "1:41: `p` is a predicate"),
    ("rule a: iadd.u32(x, C) => x if nonzero(C)", "1:40: this is no operand"),
    ("rule a: iadd.u32(x, 0) => x if not_nan(x)", "1:40: `x` is not read as one float"),
    ("rule a: iadd.u32(x, C) => iadd.u32(x, odd(C))", "1:39: no function `odd` of constants"),
    ("rule a for T in u32: iadd.T(x, 0) => cvt.odd(T).u32(x)", "1:42: no function `odd` of types"),
    ("rule a: iadd.u32(x, y) => isub.u32(x, y)", "1:27: the result of `a` is not cheaper"),
    (
        "rule a: imul.lo.u32(x, 2) => iadd.u32(x, x)\nrule b: iadd.u32(x, x) => imul.lo.u32(x, 2)",
        "2:27: rule `b` undoes `a`",
    ),
    ("rule a: iadd.u32(x, 0) => x\nrule b: iadd.u32(y, 0) => y", "2:6: rule `b` never applies: `a` is tried first"),
    (
        "rule a: iadd.u32(x, C) => x if C > 1\nrule b: iadd.u32(&not.b32(x), C) => x if C > 1, C < 9",
        "2:6: rule `b` never applies: `a` is tried first",
    ),
    ("rule a: iadd.u32(x, 0) => x\nrule a: isub.u32(x, 0) => x", "2:6: there is a rule `a` already"),
    ("rule a: iadd.u32(x, 0) => x\n yes iadd.u32(x, 1) => x", "2:2: the rule does not apply to this example"),
    ("rule a: iadd.u32(x, 0) => x\n yes iadd.u32(x, 0) => 0", "2:2: the example becomes something else"),
    ("rule a: iadd.u32(x, 0) => x\n no iadd.u32(0, x)", "2:2: the rule applies to this example"),
    ("rule a: ld.u32(x, 0) => x", "1:25: `ld` has an effect that the result does not have"),
    ("rule a: ld.v2.u32(x, 0) => ld.u32(x, 0)", "1:9: `ld` of vectors cannot stand in a rule"),
    ("rule a: st.u32(x, 0, v) => st.v2.u32(x, 0, v)", "1:28: `st` of vectors cannot stand in a rule"),
    ("rule a: pack.b32(x, y) => x", "1:9: `pack` cannot stand in a rule"),
    ("rule a: atom.add.u32(x, 0, v) => red.add.u32(x, 0, v)", "1:34: the result of `atom` is lost"),
    ("rule a: bra(x) => x", "1:9: `bra` cannot stand in a rule"),
    ("rule a: iadd.u32(vote.sync.ballot.b32(p, x), 0) => 0", "1:18: `vote.sync.ballot` cannot stand inside a rule"),
    ("rule a: redux.sync.add.u32(x, _) => x", "1:37: `redux.sync` has an effect"),
    ("rule a: mov.b32(_) => 1", "1:23: the result of `a` is not cheaper"),
    // What the result takes over from the pattern is neither saved nor dropped.
    (
        "rule a: iadd.u32(y@imul.hi.u32(_, _), C) => isub.u32(iadd.u32(y, C), 1)",
        "1:45: the result of `a` is not cheaper",
    ),
    ("rule a: iadd.u32(y@&imul.hi.u32(_, _), 1) => isub.u32(y, -1)", "1:46: the result of `a` is not cheaper"),
    ("rule a: not.b32(x) => not.b32(iadd.u32(x, 0))", "1:23: rule `a` applies to its own result"),
    ("rule a: iadd.carry.u32(x, 0, 0) => x", "1:36: `iadd.carry` has 2 results, not 1"),
    (
        "rule a: iadd.carry.u32(x, 0, 0) => (iadd.carry.u32(x, 1, 0), 0)",
        "1:37: `iadd.carry` cannot stand inside a rule",
    ),
    ("rule a: setp.bool.lt.and.u32(x, y, p) => (setp.lt.u32(x, y), setp.ge.u32(x, y), p)", "1:43: `setp.bool` has 2"),
    ("rule a: cvt.s16.s16(x) => x", "1:27: a copy is not sign-extended"),
    ("rule a: fadd.f32(x, y) => fsub{F}.f32(x, y)", "1:32: `F` captures no fields"),
    ("rule a: fadd{F}.f32(x, y) => fcopysign{F}.f32(x, y)", "1:30: unknown opcode `fcopysign`"),
    (
        "rule a: fadd{F}.f32(x, y) => fabs{F}.f32(x) if variable(y)",
        "1:35: `fabs` has no place for the captured Rounding",
    ),
    ("rule a for T in bits: setp.lt.T(x, x) => 0", "1:23: `setp` does not allow"),
    ("rule a: iadd.u32(x, 0) => &not.b32(x)", "1:28: a result is not matched"),
    ("rule a: iadd.u32(x, 0) => _", "1:27: a result cannot be `_`"),
    ("rule a: iadd.u32(x, 0) => let t = not.b32(x); x", "1:31: `t` is not used"),
    ("rule a priority 0: iadd.u32(x, 0) => x", "1:17: priority 0 does not exist"),
    ("yes iadd.u32(x, 0) => x", "1:1: an example before the first rule"),
    ("measure nots 1", "1:9: there is no operation `nots`"),
    ("measure mov 1", "1:9: `mov` costs nothing and weighs nothing"),
    ("measure not 1, not 2", "1:16: `not` is weighed twice"),
    ("measure not 1001", "1:9: `not` weighs more than 1000"),
    ("measure not", "1:12: expected a number"),
    ("measure idiv 1\nmeasure irem 1", "2:1: there is a measure already"),
    ("measure prmt 1\nrule a: shl.b32(x, 16) => prmt.b32(x, 0, 0x1044)", "2:27: the result of `a` is not cheaper"),
];

/// A rule of equal cost may raise the rank where a measure falls, and no rule may raise the measure.
#[test]
fn a_stated_measure_orders_rules_of_equal_cost() {
    let rule = "rule a: shf.l.wrap.b32(x, x, 16) => prmt.b32(x, 0, 0x1032)";
    assert!(RuleSet::parse("t.rules", rule).is_err());
    let stated = RuleSet::parse("t.rules", &format!("measure shf 1\n{rule}"));
    let set = stated.unwrap_or_else(|error| panic!("{}", error.lines()));
    // The measure stays that of the set: what is added is held against it.
    assert!(set.with("more.rules", "rule b: prmt.b32(x, 0, 0x1032) => shf.l.wrap.b32(x, x, 16)").is_err());
    assert!(set.with("more.rules", "measure xor 1").is_err());
    assert!(set.with("more.rules", "rule b: shf.l.wrap.b32(x, x, 8) => prmt.b32(x, 0, 0x2103)").is_ok());
    let heavier = set.with("more.rules", "rule b: imul.lo.u32(x, 0x10001) => shf.l.wrap.b32(x, x, 16)");
    assert!(heavier.is_ok(), "what is cheaper may weigh more: {heavier:?}");
}

/// A measure that built-in rules raise is refused beside these, and all of them are named; alone it is right.
#[test]
fn a_measure_is_held_against_the_built_in_rules() {
    let lighter = "measure not 1\nrule a: not.b32(x) => xor.b32(x, -1)";
    assert!(RuleSet::parse("t.rules", lighter).is_ok_and(|set| !set.may_not_end()));
    let cases: [(&str, &[&str]); 3] = [
        (lighter, &["sub-from-ones"]),
        (
            "measure shl 1, iadd 1, isub 1, shf 1\nrule a: shl.b32(x, 16) => prmt.b32(x, 0, 0x1044)",
            &["prmt-to-high-half"],
        ),
        (
            "measure shl 1\nrule a: shl.b32(x, 16) => prmt.b32(x, 0, 0x1044)",
            &["add-same", "funnel-left-of-zero", "funnel-left-wrapped-of-zero", "prmt-to-high-half"],
        ),
    ];
    for (text, names) in cases {
        let source = Source { name: "t.rules".to_owned(), text: text.into() };
        let Examined { set, faults } = RuleSet::builtin().examine(&[source]).expect("it means something");
        let [fault] = &faults[..] else { panic!("{text}: {faults:?}") };
        let raised = format!("1:1: by this measure the result of `{}` weighs more than what it replaces", names[0]);
        assert!(fault.lines().contains(&raised) && set.may_not_end(), "{}", fault.lines());
        assert!(names.iter().all(|name| fault.related[0].label.contains(&format!("`{name}`"))), "{fault:?}");
        assert!(names.iter().all(|name| set.raising().contains(name)));
    }
}

#[test]
fn faults_have_places_and_remedies() {
    let mut wrong = String::new();
    for (text, expected) in REFUSED {
        let found = fault(text);
        if !found.starts_with(expected) {
            wrong.push_str(&format!("{text}\nexpected {expected}\nfound    {found}\n\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The rule that applies to the last instruction before `ret`, and what it becomes.
fn applied(set: &RuleSet, body: &str) -> Option<(&'static str, Vec<oriole_ir::ops::Opcode>)> {
    let func = parse_function(&format!("target sm_90 ptx 9.0\ndevice @f ssa {{\nbb0:\n{body}\n  ret\n}}\n")).unwrap();
    let (definitions, uses) = (Definitions::new(&func), Uses::new(&func));
    let subject = Subject { func: &func, definitions: &definitions, uses: &uses, bits: &BitMemo::default() };
    let inst = last(&func);
    let srcs = subject.sources(inst);
    let found = set.find(subject, inst, &srcs)?;
    Some((set.rules()[found.rule].name, found.plan.opcodes().collect()))
}

fn last(func: &Function) -> Inst {
    func.block_insts(func.entry()).nth_back(1).expect("an instruction before `ret`")
}

fn set(text: &str) -> RuleSet {
    RuleSet::parse("t.rules", text).unwrap_or_else(|error| panic!("\n{}", error.lines()))
}

#[test]
fn the_highest_priority_wins_and_then_the_first() {
    let set = set("
        rule low: iadd.u32(x, C) => x if C > 1
        rule first priority 20: iadd.u32(x, C) => x if C > 2
        rule second priority 20: iadd.u32(x, C) => 0 if C > 1, variable(x)");
    let name = |constant: u32| applied(&set, &format!("  %r2 = iadd.u32 %r1, {constant}")).map(|found| found.0);
    assert_eq!([name(1), name(2), name(3)], [None, Some("second"), Some("first")]);
}

#[test]
fn values_with_other_uses_match_only_where_marked() {
    let one = "  %r2 = not.b32 %r1\n  %r3 = iadd.u32 %r2, 1";
    let two = "  %r2 = not.b32 %r1\n  %r4 = popc.b32 %r2\n  %r3 = iadd.u32 %r2, 1";
    let unmarked = set("rule a: iadd.u32(not.b32(x), 1) => ineg.s32(x)");
    let marked = set("rule a: iadd.u32(&not.b32(x), 1) => x");
    assert!(applied(&unmarked, one).is_some() && applied(&unmarked, two).is_none());
    assert!(applied(&marked, one).is_some() && applied(&marked, two).is_some());
}

#[test]
fn guarded_definitions_are_not_looked_through() {
    let set = set("rule a: iadd.u32(&not.b32(x), 1) => x");
    assert!(applied(&set, "  %r2 = not.b32 %r1\n  %r3 = iadd.u32 %r2, 1").is_some());
    assert!(applied(&set, "  @%p5 %r2 = not.b32 %r1 else %r1\n  %r3 = iadd.u32 %r2, 1").is_none());
}

#[test]
fn results_are_dropped_only_where_nothing_reads_them() {
    let set = set("rule a: atom{F}.add.u32(x, O, v) => red{F}.add.u32(x, O, v) if unused()");
    let atom = "  %r2 = atom.global.add.u32 [%d1+4], %r3";
    let found = applied(&set, atom).expect("nothing reads the result");
    assert_eq!(found, ("a", vec![oriole_ir::ops::Opcode::Red]));
    assert!(applied(&set, &format!("  %r4 = not.b32 %r2\n{atom}")).is_none());
    assert!(applied(&set, "  %r2 = atom.acquire.gpu.global.add.u32 [%d1], %r3").is_none(), "red takes no acquire");
}

#[test]
fn what_stands_there_already_is_no_change() {
    let source = Source { name: "t.rules".to_owned(), text: "rule a: isub.u32(x, y) => isub.u32(x, y)".into() };
    let set = RuleSet::unchecked(&[source]).expect("it can be read");
    assert!(applied(&set, "  %r3 = isub.u32 %r1, %r2").is_none());
}

#[test]
fn offsets_stay_within_32_bits() {
    let set = set("rule a: ld{F}.b32(&iadd.u64(x, C), O) => ld{F}.b32(x, O + C)");
    let load = |constant: u64| format!("  %d2 = iadd.u64 %d1, {constant:#x}\n  %r3 = ld.shared.b32 [%d2+4]");
    assert!(applied(&set, &load(8)).is_some() && applied(&set, &load(u64::MAX)).is_some());
    assert!(applied(&set, &load(0x7fff_fffb)).is_some() && applied(&set, &load(0x7fff_fffc)).is_none());
}

#[test]
fn known_bits_guard_rules() {
    let set = set("rule a: and.b32(x, C) => x if known_zero(x, ~C)");
    assert!(applied(&set, "  %r2 = shr.u32 %r1, 24\n  %r3 = and.b32 %r2, 255").is_some());
    assert!(applied(&set, "  %r2 = shr.u32 %r1, 23\n  %r3 = and.b32 %r2, 255").is_none());
    assert!(applied(&set, "  %r2 = shr.s32 %r1, 24\n  %r3 = and.b32 %r2, 255").is_none());
}

/// Bits that are known together, or alone, say whether two values have one in common, or one is zero or a NaN.
#[test]
fn facts_about_operands_guard_rules() {
    let with = |rule: &str, body: &str| applied(&set(rule), body).is_some();
    let disjoint = "rule a: iadd.u32(x, y) => or.b32(x, y) if disjoint(y, x)";
    let sum = |low: u32| format!("  %r2 = shr.u32 %r1, {low}\n  %r3 = shl.b32 %r1, 8\n  %r4 = iadd.u32 %r2, %r3");
    assert!(with(disjoint, &sum(24)) && !with(disjoint, &sum(23)));
    let nonzero = "rule a: setp.ne.u32(x, 0) => 1 if nonzero(x)";
    let test = |bits: u32| format!("  %r2 = or.b32 %r1, {bits}\n  %p3 = setp.ne.u32 %r2, 0");
    assert!(with(nonzero, &test(4)) && !with(nonzero, &test(0)));
    let narrow = "rule a: setp.ne.u16(x, 0) => 1 if nonzero(x)";
    let test = |bits: u32| format!("  %r2 = or.b32 %r1, {bits}\n  %p3 = setp.ne.u16 %r2, 0");
    assert!(with(narrow, &test(0x8000)) && !with(narrow, &test(0x1_0000)));
    let number = "rule a: setp.nan.f32(x, x) => 0 if not_nan(x)";
    let test = |mask: u32| format!("  %r2 = and.b32 %r1, {mask}\n  %p3 = setp.nan.f32 %r2, %r2");
    assert!(with(number, &test(0xff7f_ffff)) && with(number, &test(0xff80_0000)));
    assert!(!with(number, &test(0xff80_0001)) && !with(number, &test(0x7fff_ffff)));
}

#[test]
fn float_literals_mean_floats() {
    let literals = [
        ("f32", "-1.0", 0xbf80_0000),
        ("f32", "-(1.0)", 0xbf80_0000),
        ("f32", "-0.0", 0x8000_0000),
        ("f32", "0.0", 0),
        ("f32", "25e-2", 0x3e80_0000),
        ("f32", "inf", 0x7f80_0000),
        ("f32", "-inf", 0xff80_0000),
        ("f32", "nan", 0x7fff_ffff),
        ("f32", "-nan", 0xffff_ffff),
        ("f64", "-2.5e0", 0xc004_0000_0000_0000u64),
        ("f64", "nan", 0x7ff8_0000_0000_0000),
    ];
    for (ty, literal, bits) in literals {
        let set = set(&format!("rule a: fmul.{ty}(x, {literal}) => x"));
        let register = if ty == "f64" { "%d" } else { "%r" };
        let multiplied = |bits: u64| format!("  {register}2 = fmul.{ty} {register}1, {bits:#x}");
        assert!(applied(&set, &multiplied(bits)).is_some(), "{literal} is {bits:#x}");
        assert!(applied(&set, &multiplied(bits ^ 1)).is_none(), "{literal} is not {:#x}", bits ^ 1);
        let printed = set.rules()[0].decl().to_string();
        let again = RuleSet::parse("t.rules", &printed).expect("what is printed can be read");
        assert!(applied(&again, &multiplied(bits)).is_some(), "{printed}");
    }
}

#[test]
fn constants_are_known_through_copies_and_cut_to_their_place() {
    let set = set("rule a: iadd.u16(x, C) => 0 if C == 0xffff, variable(x)");
    assert!(applied(&set, "  %r2 = mov.b32 0x1ffff\n  %r3 = mov.b32 %r2\n  %r4 = iadd.u16 %r1, %r3").is_some());
}

#[test]
fn constants_derived_from_others_match() {
    let set = set("rule a: or.b32(shl.b32(x, C), shr.u32(x, W - C)) => shf.l.wrap.b32(x, x, C)");
    let body = |right| format!("  %r2 = shl.b32 %r1, 5\n  %r3 = shr.u32 %r1, {right}\n  %r4 = or.b32 %r3, %r2");
    assert_eq!(applied(&set, &body(27)), Some(("a", vec![oriole_ir::ops::Opcode::Shf])));
    assert_eq!(applied(&set, &body(26)), None);
}

#[test]
fn results_of_several_operations_share_values() {
    let set = set("rule a: idiv.u32(x, 3) => let t = shr.u32(x, 1); iadd.u32(t, not.b32(t))");
    let (_, opcodes) = applied(&set, "  %r2 = idiv.u32 %r1, 3").expect("the rule applies");
    use oriole_ir::ops::Opcode::{IAdd, Not, Shr};
    assert_eq!(opcodes, [Shr, Not, IAdd]);
}

#[test]
fn user_rules_join_the_built_in_ones() {
    let text = "rule mine priority 30: imul.lo.u32(x, 8) => shl.b32(x, 3)";
    let set = RuleSet::builtin().with("mine.rules", text).unwrap_or_else(|error| panic!("{}", error.lines()));
    assert_eq!(applied(&set, "  %r2 = imul.lo.u32 %r1, 8").map(|found| found.0), Some("mine"));
    let shadowed = RuleSet::builtin().with("mine.rules", "rule mine: imul.lo.u32(x, 8) => shl.b32(x, 3)");
    let shadowed = shadowed.expect("that a built-in rule comes first is no fault");
    let named: Vec<_> = shadowed.shadows().into_iter().map(|(rule, by)| (rule.name, by)).collect();
    assert_eq!(named, [("mine", "mul-power-of-two")]);
    let both = "rule mine: not.b32(not.b32(x)) => x\nrule again: not.b32(not.b32(x)) => x";
    let faults = RuleSet::parse("mine.rules", both).expect_err("the other rule is of the same file");
    assert!(faults.lines().contains("mine.rules:2:6: rule `again` never applies"), "{}", faults.lines());
}

/// The slow reference of the decision tree: every pattern in order. The first instructions that ask meet no tree.
#[test]
fn the_decision_tree_loses_no_candidate() {
    let builtin = RuleSet::builtin();
    let bodies = [
        "  %r2 = iadd.u32 %r1, 0",
        "  %r2 = ineg.s32 %r1\n  %r3 = iadd.s32 %r2, %r4",
        "  %p2 = not.pred %p1\n  %r3 = selp.b32 %r4, %r5, %p2",
        "  %r2 = selp.b32 1, 0, %p1\n  %p3 = setp.ne.s32 %r2, 0",
        "  %r2 = xor.b32 %r1, 5\n  %r3 = xor.b32 %r2, 3",
        "  %d2 = cvt.u64.u32 %r1\n  %r3 = mov.b32 %d2.0",
    ];
    for body in bodies {
        let func =
            parse_function(&format!("target sm_90 ptx 9.0\ndevice @f ssa {{\nbb0:\n{body}\n  ret\n}}\n")).unwrap();
        let (definitions, uses) = (Definitions::new(&func), Uses::new(&func));
        let subject = Subject { func: &func, definitions: &definitions, uses: &uses, bits: &BitMemo::default() };
        let srcs = subject.sources(last(&func));
        let find = || builtin.find(subject, last(&func), &srcs).map(|found| (found.rule, found.plan));
        let first = find();
        (0..super::program::WORTH_A_TREE).for_each(|_| drop(find()));
        let fast = find();
        assert_eq!(first, fast, "{body}");
        let slow = builtin.find_slowly(subject, last(&func), &srcs).map(|found| (found.rule, found.plan));
        assert!(fast.is_some() && fast == slow, "{body}: {fast:?} {slow:?}");
    }
}

/// Rules whose instances are chosen by the fields of an instruction, and the same ones with all instances at hand.
#[test]
fn choosing_by_fields_loses_no_instance() {
    let (lazy, eager) = (RuleSet::load_builtin(), RuleSet::load_builtin());
    let (mut chosen, mut fitting) = (0, 0);
    for (lazy, eager) in lazy.rules().iter().zip(eager.rules()) {
        for (opcode, values) in keys(eager) {
            let fits = |instance: &Instance| {
                let fields = &instance.pattern().fields;
                values.iter().all(|(slot, value)| fields[*slot] >> value & 1 == 1)
            };
            let mut found = lazy.instances_for(opcode, &values);
            chosen += found.len();
            found.retain(fits);
            assert_eq!(found, eager.instances_for(opcode, &values), "{} for {opcode:?} {values:?}", lazy.name);
            assert!(!found.is_empty(), "{}", lazy.name);
            fitting += found.len();
        }
    }
    assert!(chosen < 2 * fitting, "{chosen} instances are chosen where {fitting} fit: the choice is no good");
}

/// What instructions may ask a rule for: an opcode with the lowest or the highest values in some or all of its fields,
/// for each of its instances.
fn keys(rule: &Rule) -> Vec<(Opcode, Vec<(usize, u8)>)> {
    let mut found = Vec::new();
    let lowest: fn(u64) -> u32 = u64::trailing_zeros;
    for pattern in rule.instances().iter().map(Instance::pattern) {
        for (value, slots) in [(lowest, 1), (lowest, usize::MAX), (|mask| 63 - mask.leading_zeros(), 2)] {
            let fields = pattern.fields.iter().enumerate().take(slots);
            found.push((pattern.opcode, fields.map(|(slot, mask)| (slot, value(*mask) as u8)).collect()));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// What is read of a built-in rule when it is needed is what reading its whole file says.
#[test]
fn rules_read_one_by_one_are_those_of_the_file() {
    let set = RuleSet::load_builtin();
    let mut rules = set.rules().iter();
    for source in set.sources() {
        let (file, faults) = parse(&source.text);
        assert_eq!(faults, []);
        for decl in &file.rules {
            let rule = rules.next().expect("every rule of the file has an outline");
            assert_eq!((rule.name, rule.priority, rule.decl()), (decl.name.text.as_str(), decl.priority, decl));
        }
    }
    assert!(rules.next().is_none());
}

/// The opcodes that a rule is filed under are those of its patterns.
#[test]
fn root_opcodes_follow_from_the_mnemonic() {
    for rule in RuleSet::builtin().rules() {
        let mut found: Vec<_> = rule.instances().iter().map(|instance| instance.pattern().opcode).collect();
        found.sort_unstable();
        found.dedup();
        assert_eq!(rule.roots, found, "{}", rule.name);
    }
}

/// The description of the language.
static README: LazyLock<String> = LazyLock::new(|| {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../rules/README.md");
    std::fs::read_to_string(path).expect("the language is described")
});

/// The rules that the description shows, in blocks as they are there.
#[test]
fn the_description_shows_rules_that_are_right() {
    let mut blocks = vec![String::new()];
    for line in README.lines() {
        match line.strip_prefix("    ") {
            Some(line) => blocks.last_mut().expect("there is one").extend([line, "\n"]),
            None if line.is_empty() => {}
            None => blocks.push(String::new()),
        }
    }
    // The summary of the grammar is no rule.
    let rules = |block: &&String| block.contains("rule ") && !block.contains('…');
    let mut shown = 0;
    for block in blocks.iter().filter(rules) {
        let set = RuleSet::parse("README.md", block).unwrap_or_else(|error| panic!("{block}\n{}", error.lines()));
        shown += set.rules().len();
    }
    assert_eq!(shown, 7);
}

/// The rows of the table below a header, by cells; a cell holds spans of code, or a word.
fn table(header: &str) -> Vec<Vec<Vec<&'static str>>> {
    let spans = |cell: &'static str| match cell.contains('`') {
        true => cell.split('`').skip(1).step_by(2).collect(),
        false => vec![cell.trim()],
    };
    let cells = |row: &'static str| row.trim_matches('|').split(" | ").map(spans).collect();
    let rows = README.lines().skip_while(|line| *line != header).skip(2);
    rows.take_while(|line| line.starts_with('|')).map(cells).collect()
}

/// Whether an example is as a rule for sums says.
fn is_so(rule: &str, example: &str) -> bool {
    RuleSet::parse("README.md", &format!("rule t: iadd.u32(_, C) => {rule}\n{example}")).is_ok()
}

fn example(input: &str, value: &str) -> String {
    match value {
        "none" => format!(" no iadd.u32(x, {input})"),
        value => format!(" yes iadd.u32(x, {input}) => {value}"),
    }
}

#[test]
fn the_description_says_what_constants_come_to() {
    let rows = table("| constant | `C` | value |");
    assert!(rows.len() > 12, "{rows:?}");
    for row in &rows {
        let [expressions, inputs, values] = row.as_slice() else { panic!("{row:?}") };
        for expression in expressions {
            let rule = format!("{expression} if C == C");
            assert!(is_so(&rule, &example(inputs[0], values[0])), "{expression}: {row:?}");
            assert!(!is_so(&rule, &example(inputs[0], "77")), "{expression}: {row:?}");
        }
    }
}

#[test]
fn the_description_says_which_guards_hold() {
    let rows = table("| guard, at 32 bits | `C` | holds |");
    assert!(rows.len() > 5, "{rows:?}");
    for row in &rows {
        let [guards, inputs, holds] = row.as_slice() else { panic!("{row:?}") };
        for guard in guards {
            let rule = format!("0 if C == C, {guard} || C == 12345");
            let yes = is_so(&rule, &example(inputs[0], "0"));
            let no = is_so(&rule, &example(inputs[0], "none"));
            assert_eq!((yes, no), (holds == &["yes"], holds == &["no"]), "{guard}: {row:?}");
        }
    }
}
