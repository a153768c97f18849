//! The judge on right rules, wrong rules and mutants of those in the tree.

mod effects;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use oriole_optimizer::peephole::RuleSet;
use oriole_rules::Source;

use super::kernel::{Case, Confirmation, Guarding};
use super::mutate::mutants;
use super::settle::{Effort, Settled};
use super::translate::translate;
use super::variant::variants;
use super::*;
use oriole_proof::{Cache, Prover};

/// A judge that asks no solver.
fn judge(cache: Cache, settings: Settings) -> Judge {
    Judge::new(Prover { solver: None, cache: Mutex::new(cache), limit: Duration::from_secs(1) }, settings)
}

/// A judge that asks the solver on the path; `None` where there is none.
fn judge_with_solver() -> Option<Judge> {
    let solver = oriole_proof::Solver::find(None).expect("a solver on the path can be asked its version");
    if solver.is_none() {
        eprintln!("skipped: no z3, cvc5 or bitwuzla on the path");
    }
    let cache = Mutex::new(Cache::in_memory());
    Some(Judge::new(Prover { solver: Some(solver?), cache, limit: Duration::from_secs(10) }, Settings::default()))
}

fn rules(text: &str) -> RuleSet {
    let source = Source { name: "t.rules".to_owned(), text: text.to_owned().into() };
    RuleSet::unchecked(&[source]).unwrap_or_else(|error| panic!("{}", error.lines()))
}

/// What a judge without a solver says of the first rule of a text.
fn verdict(text: &str) -> RuleReport {
    let judge = judge(Cache::in_memory(), Settings { guards: false, ..Settings::default() });
    judge.rule(&rules(text), 0).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The rules of the tree, with the answers that are kept: no solver is needed.
#[test]
fn the_built_in_rules_are_right() {
    let cache = kept_answers().expect("the kept answers can be read");
    let judge = judge(cache, Settings::default());
    let set = RuleSet::builtin();
    let bring =
        "`oriole rules check --cache oracles/validate/src` asks a solver about new rules; commit what it writes";
    let (mut wrong, mut open, mut executed, mut met) = (Vec::new(), Vec::new(), 0, 0);
    for index in 0..set.rules().len() {
        let name = set.rules()[index].name;
        let report = judge.rule(&set, index).unwrap_or_else(|error| panic!("{name}: {error}; {bring}"));
        let found = report.refutation.as_ref().map(ToString::to_string).unwrap_or_default();
        if report.verdict == Verdict::Unknown {
            open.push(name);
        } else if !report.verdict.is_pass() {
            wrong.push(format!("{name}: {} {found} {:?}", report.verdict.name(), report.proof.open));
        }
        executed += usize::from(report.proof.applied > 0);
        met += usize::from(report.proof.unmet == 0);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(open.is_empty(), "{} rules are not proved; {bring}: {}", open.len(), open.join(", "));
    let all = set.rules().len();
    eprintln!("{all} rules, {executed} of them executed, the guards of {met} met by samples");
    assert!(10 * executed >= 8 * all && 10 * met >= 8 * all, "{executed} executed and {met} met of {all}");
}

/// Wrong rules of every kind, with what makes them so.
const WRONG: &[&str] = &[
    "rule sign: idiv.s32(x, C) => shr.s32(x, log2(C)) if is_power_of_two(C), C > 1",
    "rule unguarded for T in int: imul.lo.T(x, C) => shl.bits(T)(x, log2(C)) if C > 1",
    "rule off: imul.lo.u32(x, C) => shl.b32(x, log2(C) + 1) if is_power_of_two(C)",
    "rule related: shr.b32(&shl.b32(x, A), B) => x if A + B == 32",
    "rule disjoint: iadd.u32(&and.b32(x, A), B) => or.b32(x, B) if (A & B) == 0",
    "rule boundary for T in bits: shl.T(_, C) => 0 if C >= W - 1",
    "rule above: cvt.u32.u16(x) => and.b32(x, 0xfffe)",
    "rule signed: setp.lt.u32(x, 0x80000000) => setp.ge.s32(x, 1)",
    "rule zero: fadd.f32(x, 0) => x",
    "rule nan: fmul.f32(x, 1.0) => x",
    "rule ordered: not.pred(setp.lt.f32(x, y)) => setp.ge.f32(x, y)",
    "rule flushed for T in f32: fneg{F}.T(&fneg.T(x)) => x",
    "rule words: iadd.u32(hi(&cvt.u64.u32(x)), 0) => x",
    "rule other: selp.b32(x, y, p) => selp.b32(y, x, p)",
    "rule shared: fmin.f32(x, y) => fmin.f32(x, x) if known_zero(y, 1)",
    "rule carry: iadd.carry.u32(x, 0, c) => (x, c)",
    "rule approximate: fsin.approx.f32(fneg.f32(x)) => fsin.approx.f32(x)",
    "rule never: idiv.u32(x, y) => irem.u32(x, y)",
    "rule copied: mov.b32(_) => 1",
    "rule halved: mov.b64(&cvt.u64.u32(_)) => 0",
    "rule remainder: and.pred(setp.gt.s32(&irem.s32(x, y), 0), setp.ne.s32(y, 0)) => setp.gt.s32(irem.s32(x, y), 0)",
    "rule quotient: selp.u32(&idiv.u32(x, y), 7, setp.ne.u32(y, 0)) => idiv.u32(x, y)",
    "rule unknown: setp.ne.u32(x, 0) => 1 if !known_zero(x, UMAX)",
    "rule clear: and.b32(x, 1) => 0 if !known_one(x, 1)",
    "rule either: and.b32(x, C) => 0 if C == 5 || !known_one(x, 4)",
    "rule again: iadd.u32(x, y) => isub.u32(x, y) if !single_use(x)",
    "rule some: iadd.u32(x, C) => isub.u32(x, C) if C == 0 || !single_use(x)",
    "rule read: iadd.u32(x, y) => isub.u32(x, y) if !unused()",
    "rule open: imul.lo.u32(x, 2) => shl.b32(x, 2) if !constant(x)",
    "rule closed: imul.lo.u32(x, y) => iadd.u32(x, y) if !variable(y)",
    "rule common: iadd.u32(x, y) => or.b32(x, y) if !disjoint(x, y)",
    "rule apart: isub.u32(x, y) => xor.b32(x, y) if disjoint(x, y)",
    "rule low: iadd.u32(cvt.u32.s16(x), y) => or.b32(cvt.u32.s16(x), y) if disjoint(x, y)",
    "rule mixed: iadd.u64(x, y) => or.b64(x, y) if disjoint(x, y) || nonzero(x)",
    "rule positive: setp.gt.s32(x, 0) => 1 if nonzero(x)",
    "rule nothing: setp.ne.u64(x, 0) => 1 if !nonzero(x)",
    "rule narrow: setp.gt.s16(x, 0) => 1 if nonzero(x)",
    "rule one: setp.equ.f32(x, y) => setp.eq.f32(x, y) if not_nan(x)",
    "rule difference: fsub.f32(x, x) => 0.0 if not_nan(x)",
    "rule signed-zero: fadd.f64(x, 0.0) => x if not_nan(x)",
    "rule maybe: setp.num.f32(x, x) => 1 if !not_nan(x)",
    "rule infinite: fmul.f16(x, 0) => 0 if not_nan(x)",
];

/// Each is refuted soon, by an input that the interpreter confirms.
#[test]
fn wrong_rules_are_refuted_with_a_kernel() {
    let mut slowest = Duration::ZERO;
    for text in WRONG {
        let start = Instant::now();
        let report = verdict(text);
        slowest = slowest.max(start.elapsed());
        let refutation = report.refutation.as_ref().unwrap_or_else(|| panic!("{text}: {:?}", report.verdict));
        assert_eq!(report.verdict, Verdict::Refuted);
        let Confirmation::Confirmed(reproducer) = &refutation.confirmation else {
            panic!("{text}: {refutation}: {:?}", refutation.confirmation)
        };
        assert!(reproducer.kernel.contains("entry @rule") && reproducer.kernel != reproducer.after, "{text}");
    }
    eprintln!("{} wrong rules refuted, the slowest in {slowest:?}", WRONG.len());
    assert!(slowest < Duration::from_secs(10), "two seconds on a machine that does nothing else");
}

/// What needs no solver: quotients, remainders and products by constants that guards relate, and counts of ones. Each
/// is right, and wrong with the change behind it.
const BY_ARITHMETIC: &[(&str, (&str, &str))] = &[
    ("idiv.u32(x, 3) => shr.u32(imul.hi.u32(x, 0xaaaaaaab), 1)", ("aaab", "aaaa")),
    ("irem.u32(irem.u32(x, A), B) => irem.u32(x, B) if A != 0, B != 0, A % B == 0", ("A % B", "B % A")),
    ("irem.s16(irem.s16(x, A), B) => irem.s16(x, B) if A >s 0, B >s 0, A %s B == 0", ("A %s B", "A & B")),
    (
        "idiv.u64(idiv.u64(x, A), B) => idiv.u64(x, A * B) if A != 0, B != 0, A <= UMAX / B",
        ("UMAX / B", "UMAX / B + 1"),
    ),
    (
        "idiv.s16(idiv.s16(x, A), B) => idiv.s16(x, A * B)
            if A >s 0, B >s 0, fold(imul.hi.s16(A, B)) == 0, A * B >s 0",
        (", A * B >s 0", ""),
    ),
    (
        "idiv.u32(shr.u32(x, A), B) => idiv.u32(x, B << A) if A < W, B != 0, B <= UMAX >> A",
        ("UMAX >> A", "UMAX >> (A - 1)"),
    ),
    ("setp.lt.u32(idiv.u32(x, A), B) => setp.lt.u32(x, A * B) if A != 0, B <= UMAX / A", ("B <= ", "B - 1 <= ")),
    (
        "idiv.u32(imul.lo.u32(x, A), B) => idiv.u32(x, B / A) if A != 0, B % A == 0, B != 0, known_zero(x, ~(UMAX / A))",
        ("B % A == 0, ", ""),
    ),
    (
        "idiv.s32(ineg.s32(x), C) => idiv.s32(x, -C) if C != 0, C != MIN, known_zero(x, MIN)",
        (", known_zero(x, MIN)", ""),
    ),
    ("setp.eq.s64(irem.s64(x, 2), 1) => setp.eq.b64(and.b64(x, MIN | 1), 1)", ("MIN | 1", "1")),
    ("setp.eq.u32(imul.lo.u32(x, C), imul.lo.u32(y, C)) => setp.eq.u32(x, y) if C & 1 == 1", ("& 1 == 1", "& 1 == 0")),
    ("popc.b32(shf.l.wrap.b32(x, x, _)) => popc.b32(x)", ("b32(x, x, _)", "b32(x, 0, _)")),
    ("isub.u32(popc.b64(or.b64(x, y)), popc.b64(and.b64(x, y))) => popc.b64(xor.b64(x, y))", ("xor", "and")),
    ("setp.le.u32(popc.b64(shr.u64(_, 24)), 40) => 1", (", 40", ", 39")),
    ("iadd.u32(imul.lo.u32(idiv.u32(x, y), y), irem.u32(x, y)) => x", (" irem.u32(x, y)", " irem.u32(y, x)")),
    // Its `x` is read as a signed half and as a word without higher bits.
    (
        "iadd.s16(imul.lo.s16(idiv.s16(x, y), y), irem.s16(x, y)) => x if nonzero(y)",
        ("lo.s16(idiv.s16(x, y), y", "lo.s16(idiv.s16(x, y), x"),
    ),
    ("imad.lo.u32(idiv.u32(x, C), D, x) => irem.u32(x, C) if C != 0, D == -C", ("== -C", "== ~C")),
    ("idiv.u16(imul.lo.u16(x, C), C) => x if C != 0, known_zero(x, ~(UMAX / C))", (", known_zero(x, ~(UMAX / C))", "")),
    (
        "imul.lo.u64(x, C) => isub.u64(shl.b64(x, log2(C + 1)), x) if popc(C + 1) == 1, C > 1",
        ("popc(C + 1)", "popc(C)"),
    ),
    ("imul.lo.u64(x, C) => isub.u64(shl.b64(x, log2(C + 1)), x) if is_power_of_two(C + 1), C > 1", ("isub", "iadd")),
    ("irem.u64(imul.wide.u32(_, A), B) => 0 if B != 0, zext(A) % B == 0", ("zext(A) % B", "B % zext(A)")),
    ("popc.b32(shf.l.clamp.b32(x, x, _)) => popc.b32(x)", ("x, x, _", "x, 0, _")),
    (
        "imul24.lo.u32(and.b32(x, C), y) => imul24.lo.u32(x, y) if (C & 0xffffff) == 0xffffff",
        ("== 0xffffff", "== 0x7fffff"),
    ),
    ("ffma.rn.f32(fneg.f32(x), fneg.f32(y), z) => ffma.rn.f32(x, y, z)", ("(x), fneg.f32(y)", "(x), y")),
    ("irem.u32(x, C) => and.b32(x, C - 1) if is_power_of_two(C)", ("is_power_of_two", "is_mask")),
    ("idiv.u32(x, C) => shr.u32(x, log2(C)) if is_power_of_two(C)", ("is_power_of_two", "is_mask")),
    (
        "idiv.u32(imul.lo.u32(x, A), B) => imul.lo.u32(x, A / B)
            if B != 0, A % B == 0, A < 0x10000, known_zero(x, 0xffff0000)",
        ("0x10000", "0x20000"),
    ),
    (
        "setp.eq.u32(imul.lo.u32(x, A), B) => setp.eq.u32(x, B / A)
            if A != 0, B != 0, B % A == 0, known_zero(x, ~(UMAX / A))",
        (", known_zero(x, ~(UMAX / A))", ""),
    ),
    (
        "idiv.u32(irem.u32(x, A), B) => and.b32(idiv.u32(x, B), A / B - 1)
            if B != 0, A % B == 0, is_power_of_two(A / B)",
        ("is_power_of_two", "is_mask"),
    ),
    ("setp.le.u32(popc.b32(and.b32(_, 0xff00)), 8) => 1", (", 8)", ", 7)")),
];

#[test]
fn arithmetic_needs_no_solver() {
    for (text, (right, wrong)) in BY_ARITHMETIC {
        let text = format!("rule a: {text}");
        let report = verdict(&text);
        assert!(report.verdict == Verdict::Proved && report.proof.applied > 0, "{text}: {report:?}");
        let changed = text.replace(right, wrong);
        assert_ne!(text, changed);
        assert_eq!(verdict(&changed).verdict, Verdict::Refuted, "{changed}");
    }
}

/// Wrong for one input, or for few: reciprocals, at a multiple, and guards that are off by one, at their bound.
#[test]
fn needles_are_found_without_a_solver() {
    for text in [
        "idiv.u32(x, 145249) => shr.u32(imul.hi.u32(x, 0xe7035f25), 17)",
        "idiv.u64(x, 963993) => shr.u64(imul.hi.u64(x, 0x8b3b2414e76b9d52), 19)",
        "irem.u32(imul.lo.u32(x, A), B) => 0 if known_zero(x, 0xffff0000), B != 0, A % B == 0, A <= 0x10002",
        "irem.u32(iadd.u32(x, A), B) => irem.u32(x, B) if known_zero(x, MIN), B != 0, A % B == 0, A <= MIN + 1",
        "idiv.s32(idiv.s32(x, A), B) => idiv.s32(x, A * B) if A >s 0, B >s 0, A <= 0x10000, B <= 0x8000",
    ] {
        let report = verdict(&format!("rule a: {text}"));
        assert_eq!(report.verdict, Verdict::Refuted, "{text}");
    }
}

/// A solver that knows nothing: what is settled beside it, all inputs without the bits that guards fix settle.
#[cfg(unix)]
#[test]
fn all_inputs_are_tried_where_a_solver_gives_up() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = folder.path().join("z3-without-answers");
    let script = "#!/bin/sh\nwhile read -r line; do\n  case $line in\n    *check-sat*) echo unknown ;;\n    *) echo success ;;\n  esac\ndone\n";
    std::fs::write(&program, script).expect("the folder is writable");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let solver = oriole_proof::Solver::find(Some(&program)).expect("it runs");
    let prover = Prover { solver, cache: Mutex::new(Cache::in_memory()), limit: Duration::from_secs(1) };
    let judge = Judge::new(prover, Settings { guards: false, ..Settings::default() });
    let set = rules(
        "rule right: and.b64(iadd.u64(x, 0x700), 0xff) => and.b64(x, 0xff) if known_zero(x, 0xfffffffffff00000)
         rule wrong: setp.eq.u64(imul.lo.u64(x, x), 0x734caed084) => 0 if known_zero(x, 0xfffffffffff00000)",
    );
    let instance = &set.rules()[0].instances()[0];
    let mut question = translate(variants(instance).expect("few fields").remove(0)).expect("it has a meaning");
    for (effort, open) in [(Effort::Brief, true), (Effort::Full, false), (Effort::Brief, false)] {
        let judged = judge.question(&mut question.terms, &question.query, effort).expect("it answers");
        assert_eq!(matches!(judged.settled, Settled::Open { .. }), open, "{judged:?}");
    }
    assert_eq!(judge.rule(&set, 0).expect("it answers").verdict, Verdict::Exhaustive);
    let wrong = judge.rule(&set, 1).expect("it answers").refutation.expect("0xabcde is wrong");
    assert_eq!((wrong.inputs[0].2, wrong.found_by), (0xabcde, "all inputs"));
    assert!(matches!(wrong.confirmation, Confirmation::Confirmed(_)));
}

/// A count of five bits is gone through, and what a solver finds for one of them is told of the whole operand.
#[test]
fn counterexamples_of_counts_are_of_their_operands() {
    let Some(judge) = judge_with_solver() else { return };
    let text = "rule a: setp.eq.u32(imul.lo.u32(xor.b32(shf.l.wrap.b32(x, x, _), x), 0x9e3779b1), 0x777) => 0";
    let wrong = judge
        .rule(&rules(text), 0)
        .expect("the solver answers")
        .refutation
        .expect("some x is wrong for a count that is not 0");
    assert_eq!(wrong.found_by, "the solver");
    assert!(matches!(wrong.confirmation, Confirmation::Confirmed(_)), "{wrong}");
}

/// Under a guard that holds in some threads, the others keep what they had; a wrong rule is seen there too.
#[test]
fn guarded_roots_are_executed() {
    for (text, right) in [("rule a: iadd.u32(x, 0) => x", true), ("rule a: iadd.carry.u32(x, 0, c) => (x, c)", false)] {
        let set = rules(text);
        let variant = variants(&set.rules()[0].instances()[0]).expect("its fields are few").remove(0);
        let question = translate(variant).expect("it has a meaning");
        for guard in [Guarding::Odd, Guarding::Even] {
            let inputs: Vec<u128> = question.terms.variables().iter().map(|_| 1).collect();
            let case = Case { guard, ..Case::plain(&inputs) };
            let found = kernel::confirm(&question, &case, &Arc::new(set.only(0)));
            let (kernel, after) = match &found {
                Confirmation::Confirmed(reproducer) if !right => (&reproducer.kernel, &reproducer.after),
                Confirmation::Disagreement { reproducer, reason } if right && reason.contains("(equal)") => {
                    (&reproducer.kernel, &reproducer.after)
                }
                other => panic!("{text}: {other:?}"),
            };
            let negated = if guard == Guarding::Even { "@!%" } else { "@%" };
            assert!(kernel.contains(negated) && after.contains(negated) && kernel != after, "{kernel}\n{after}");
        }
    }
}

/// Counterexamples are small, also where guards relate constants.
#[test]
fn counterexamples_are_small() {
    let report = verdict("rule a: iadd.u32(iadd.u32(x, A), B) => x if A + B == 1");
    let refutation = report.refutation.expect("it is wrong");
    assert_eq!(refutation.to_string(), "iadd.u32, with x = 0, A = 0, B = 1: 0x1 becomes 0x0");
    let report = verdict("rule a: imul.lo.u32(x, 8) => shl.b32(x, 2)");
    assert_eq!(report.refutation.expect("it is wrong").to_string(), "imul.lo.u32, with x = 1: 0x8 becomes 0x4");
}

/// Where one NaN is as good as another, kernels are compared like that too, and in nothing else.
#[test]
fn kernels_are_compared_modulo_nan() {
    let executed = |text: &str| {
        let set = rules(text);
        let all = set.rules()[0].instances().iter().flat_map(|instance| variants(instance).expect("few fields"));
        let questions: Vec<_> = all.map(|variant| translate(variant).expect("it has a meaning")).collect();
        let (ran, wrong) = kernel::execute(&questions, &[], &Arc::new(set.only(0)));
        assert!(wrong.is_some() || ran[0].applied > 0, "{text}");
        wrong.is_some()
    };
    for right in [
        "fmul.f32(x, 1.0) => x",
        "fmul.f64(x, 1.0) => x",
        "fadd.f32(x, -0.0) => x",
        "fmul.f16x2(x, 0x3c003c00) => x",
        "fadd.bf16x2(&fneg.bf16x2(x), y) => fsub.bf16x2(y, x)",
        "fmin.NaN.f32(x, inf) => x",
    ] {
        assert!(!executed(&format!("rule a modulo nan: {right}")), "{right}");
    }
    assert!(executed("rule a: fmul.f32(x, 1.0) => x") && executed("rule a modulo nan: fmul.f16x2(x, 0x3c003c01) => x"));
}

/// PTX leaves the payload of a negated NaN open: a result must be right for each, and a root may become any.
#[test]
fn negated_nans_are_any_nan() {
    let wrong = [
        "rule a: xor.b32(x, MIN) => fneg.f32(x)",
        "rule b: and.b32(x, MAX) => fabs.f32(x)",
        "rule c: xor.b32(x, 0x80008000) => fneg.f16x2(x)",
        "rule d: xor.b64(x, MIN) => fneg.f64(x)",
        "rule e: copysign.f32(0.0, x) => fabs.f32(x)",
    ];
    for text in wrong {
        let report = verdict(text);
        let found = report.refutation.unwrap_or_else(|| panic!("{text}: {:?}", report.verdict));
        assert_eq!(found.confirmation, Confirmation::OtherNan, "{text}: {found}");
    }
    let Some(judge) = judge_with_solver() else { return };
    let right = "rule a: fneg.f32(x) => xor.b32(x, MIN)
                 rule b: fabs.f32(x) => and.b32(x, MAX)
                 rule c: fneg.f32(&fneg.f32(x)) => x
                 rule d: fabs.bf16x2(&fneg.bf16x2(x)) => fabs.bf16x2(x)
                 rule e modulo nan: copysign.f64(1.0, x) => fabs.f64(x)";
    let set = rules(right);
    for index in 0..set.rules().len() {
        let report = judge.rule(&set, index).expect("the solver answers");
        assert!(report.verdict == Verdict::Proved && report.proof.applied > 0, "{report:?}");
    }
}

/// What has no meaning as terms is proved where any function would do, and executed otherwise.
#[test]
fn operations_without_a_meaning_are_executed() {
    let report = verdict("rule a: selp.f32(x@&fsin.approx.f32(_), x, _) => x");
    assert_eq!(report.verdict, Verdict::Proved);
    let report = verdict("rule a: fsin.approx.f32(fabs.f32(x)) => fsin.approx.f32(x)");
    assert_eq!(report.verdict, Verdict::Refuted, "executing shows what no term says");
    // Only operands of like size with full fractions are rounded twice otherwise.
    let report = verdict("rule a modulo nan: ffma.rn.f64(x, y, z) => fadd.f64(fmul.f64(x, y), z)");
    assert_eq!(report.verdict, Verdict::Refuted, "{report:?}");
}

/// An approximation yields the same for the same operand and no more is known of it: what changes the operand for one
/// value of all is wrong there, or not shown where executing it tells nothing.
#[test]
fn operands_of_approximations_are_the_same_everywhere() {
    let needle = "selp.f32(0x3f923457, x, setp.eq.u32(x, 0x3f123456))";
    for opcode in ["fex2", "fsin", "fcos", "flg2"] {
        let report = verdict(&format!("rule a: {opcode}.approx.f32(x) => {opcode}.approx.f32({needle})"));
        assert_eq!(report.verdict, Verdict::Refuted, "{opcode}: {:?}", report.proof);
    }
    // So near zero both are one.
    let hidden = "selp.f32(0x00800001, x, setp.eq.u32(x, 0x00800000))";
    let report = verdict(&format!("rule a: fex2.approx.f32(x) => fex2.approx.f32({hidden})"));
    let [open] = &report.proof.open[..] else { panic!("{report:?}") };
    assert!(report.verdict == Verdict::Unknown && open.contains("with x = 0x800000"), "{open}");
    for same in [
        "selp.f32(x, y, setp.eq.u32(x, y))",
        "selp.f32(0x7fc00001, y, setp.nan.f32(y, y))",
        "selp.f32(copysign.f32(y, 0.0), y, testp.subnormal.f32(y))",
    ] {
        let ty = if same.contains("subnormal") { "approx.ftz.f32" } else { "approx.f32" };
        let text = format!("rule a: fex2.{ty}({same}) => fex2.{ty}(y)");
        let Some(judge) = judge_with_solver() else { return };
        let report = judge.rule(&rules(&text), 0).expect("the solver answers");
        let proof = &report.proof;
        assert!(proof.simplified + proof.solved == 1 && report.refutation.is_none(), "{text}: {report:?}");
    }
}

/// What is only tested says what nobody has shown.
#[test]
fn what_was_not_shown_is_said() {
    let report = verdict("rule a modulo nan: fabs.f32(frcp.approx.f32(x)) => frcp.approx.f32(fabs.f32(x))");
    let [shown] = &report.proof.kernels_only[..] else { panic!("{report:?}") };
    assert!(report.verdict == Verdict::Tested && shown.telling >= 16, "{shown}");
    let text = shown.to_string();
    for part in [
        "more than that the same operands give the same",
        "with x = ",
        "`frcp.approx.f32`: the ISA bounds",
        "executed on ",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

/// Floats of 64 bits are floats to solvers: what circuits leave open is proved, and what is rounded twice is found.
#[test]
fn doubles_are_judged() {
    for wrong in [
        "ffma.rn.f64(x, y, z) => fadd.rn.f64(fmul.rn.f64(x, y), z)",
        "ffma.rz.f64(x, y, z) => ffma.rn.f64(x, y, z)",
        "cvt.rn.f32.f64(ffma.rn.f64(cvt.f64.f32(x), cvt.f64.f32(y), cvt.f64.f32(z))) => ffma.rn.f32(x, y, z)",
        "fadd.rn.f64(fadd.rn.f64(x, y), z) => fadd.rn.f64(x, fadd.rn.f64(y, z))",
    ] {
        let report = verdict(&format!("rule a modulo nan: {wrong}"));
        assert_eq!(report.verdict, Verdict::Refuted, "{wrong}: {:?}", report.proof);
    }
    let Some(judge) = judge_with_solver() else { return };
    for right in ["ffma.rn.f64(x, 1.0, y) => fadd.rn.f64(x, y)", "fadd.rn.f64(x, x) => fmul.rn.f64(x, 2.0)"] {
        let report = judge.rule(&rules(&format!("rule a: {right}")), 0).expect("the solver answers");
        assert_eq!(report.verdict, Verdict::Proved, "{right}: {:?}", report.proof);
    }
}

/// A rule whose guards contradict each other is no proof of anything.
#[test]
fn guards_that_cannot_be_met_are_seen() {
    let Some(judge) = judge_with_solver() else { return };
    let report = judge.rule(&rules("rule a: iadd.u32(x, C) => x if C < 4, C > 9"), 0).expect("the solver answers");
    assert_eq!((report.verdict, report.verdict.is_pass()), (Verdict::Vacuous, false));
}

/// A quotient by zero is any value: what masks it, multiplies it by zero or does not choose it is defined.
#[test]
fn undefined_results_inside_patterns_are_any_value() {
    let Some(judge) = judge_with_solver() else { return };
    let right = "rule a: imul.lo.u32(&idiv.u32(_, _), 0) => 0
                 rule b: setp.ne.u32(or.b32(&irem.u32(_, _), 0x1b3), 0) => 1
                 rule c: and.b32(or.b32(&idiv.u32(_, _), 8), 8) => 8
                 rule d: iadd.u32(&irem.u32(x, y), 0) => irem.u32(x, y)
                 rule e: iadd.u32(y@&irem.u32(_, _), 0) => y
                 rule f: isub.u32(irem.u32(x, y), &irem.u32(x, y)) => 0
                 rule g: irem.u32(_, 0) => 7";
    let set = rules(right);
    for index in 0..set.rules().len() {
        let report = judge.rule(&set, index).expect("the solver answers");
        assert!(report.verdict == Verdict::Proved && report.proof.applied > 0, "{report:?}");
    }
}

/// Bits that depend on nothing unspecified stay what they are; the others may become anything.
#[test]
fn bits_that_nothing_unspecified_reaches_are_kept() {
    let Some(judge) = judge_with_solver() else { return };
    let verdict = |text: &str| judge.rule(&rules(text), 0).expect("the solver answers").verdict;
    assert_eq!(verdict("rule low: and.b32(&irem.u32(_, 0), 0xff) => 7"), Verdict::Proved);
    assert_eq!(verdict("rule high: and.b32(&irem.u32(_, 0), 0xff) => 0x107"), Verdict::Refuted);
    // Whether the value is 5 depends on what it is: on zero and all ones it does not, on others it may.
    assert_eq!(verdict("rule other: setp.eq.u32(irem.u32(_, 0), 5) => 0"), Verdict::Proved);
    assert_eq!(verdict("rule modelled: setp.eq.u32(irem.u32(x, 0), 5) => setp.eq.u32(x, 5)"), Verdict::Proved);
}

/// By zero, `x - x / y * y` is `x` and `x % y` anything. The interpreter has the difference undefined, too, which hides
/// it.
#[test]
fn what_undefined_results_hide_is_told_apart_from_disagreement() {
    let text = "rule a: isub.u32(x, imul.lo.u32(idiv.u32(x, y), y)) => irem.u32(x, y)";
    let found = verdict(text).refutation.expect("it is wrong for zero");
    assert_eq!((&found.confirmation, found.inputs[1].2), (&Confirmation::Undefined, 0), "{found}");
    assert_eq!(verdict(&format!("{text} if nonzero(y)")).verdict, Verdict::Proved);
    // By anything else, that the interpreter sees no difference would be one between it and the terms.
    let set = rules(text);
    let question = translate(variants(&set.rules()[0].instances()[0]).expect("no fields").remove(0));
    let question = question.expect("it has a meaning");
    let is_undefined = |y: u128| {
        let mut inputs = vec![1; question.terms.variables().len()];
        inputs[1] = y;
        question.is_undefined_at(&inputs)
    };
    assert_eq!([0, 3].map(is_undefined), [true, false]);
}

/// Without a solver a right rule is tried and executed, and unknown.
#[test]
fn open_questions_end_nothing() {
    let report = verdict("rule a: or.b32(&and.b32(x, _), x) => x");
    assert!(
        report.verdict == Verdict::Unknown && report.proof.tried > 10_000 && report.proof.applied > 0,
        "{report:?}"
    );
    assert!(report.proof.open.len() == 1 && report.proof.open[0].contains("no solver"), "{report:?}");
}

/// Rules that the optimizer never applies are no proof either: it does not fold divisions, and it folds sums before.
#[test]
fn rules_that_never_apply_are_vacuous() {
    for text in ["rule a: fdiv.rn.f32(A, B) => fold(fdiv.rn.f32(A, B))", "rule a: iadd.u32(A, B) => A + B"] {
        let report = verdict(text);
        assert_eq!((report.verdict, report.proof.applied), (Verdict::Vacuous, 0), "{text}");
    }
}

/// A guard that matters, one that does not, one about cost, and one whose absence is refused.
#[test]
fn guards_are_needed_or_idle() {
    let text = "rule a for T in int: cvt.T.int(T)(x) => x if variable(x), T in full
                rule b: shl.b32(_, C) => 0 if C >= 32, C != 0
                rule c: and.b32(x, C) => x if C == -1, C != 0";
    let set = rules(text);
    let cache = kept_answers().expect("the kept answers can be read");
    let solver = oriole_proof::Solver::find(None).expect("a solver on the path can be asked its version");
    let skip = solver.is_none();
    let prover = Prover { solver, cache: Mutex::new(cache), limit: Duration::from_secs(10) };
    let judge = Judge::new(prover, Settings::default());
    let needs = |index: usize| judge.rule(&set, index).expect("the solver answers").guards;
    let first = needs(0);
    assert!(first[0].need == Need::Cost && matches!(first[1].need, Need::Refused(_)), "{first:?}");
    if skip {
        eprintln!("skipped: no z3, cvc5 or bitwuzla on the path");
        return;
    }
    for index in [1, 2] {
        let guards = needs(index);
        assert!(matches!(guards[0].need, Need::Shown(_)) && guards[1].need == Need::Idle, "{guards:?}");
    }
}

/// A definition has one value, an undefined one too: what is right for every value of an operand is right however
/// often the result reads it, so such guards say when a rule pays and nothing else.
#[test]
fn operands_have_one_value() {
    let text =
        "rule a: selp.b32(x, y, p) => imad.lo.u32(isub.u32(x, y), selp.u32(1, 0, p), y) if constant(x), constant(y)";
    let Some(judge) = judge_with_solver() else { return };
    let report = judge.rule(&rules(text), 0).expect("the solver answers");
    assert!(report.verdict.is_pass() && report.guards.iter().all(|guard| guard.need == Need::Cost), "{report:?}");
}

/// What holds of every value holds where something is not known of it.
#[test]
fn negated_guards_are_met() {
    let right = [
        "rule a: isub.u32(x, x) => 0 if !known_zero(x, UMAX)",
        "rule b: iadd.u32(x, 0) => x if !single_use(x)",
        "rule c: iadd.u32(x, 0) => x if !unused(), !constant(x)",
        "rule d: and.b32(x, -1) => x if !known_zero(x, 1) || !known_one(x, 2)",
        "rule e: isub.u32(x, x) => 0 if !!known_zero(x, 1)",
        "rule f: selp.b32(x, x, _) => x if !variable(x)",
    ];
    for text in right {
        let report = verdict(text);
        assert!(report.verdict == Verdict::Proved && report.proof.applied > 0, "{text}: {report:?}");
        let costs = super::guards::needs(&judge(Cache::in_memory(), Settings::default()), &rules(text), 0);
        let cost = |guard: &GuardReport| guard.need == Need::Cost || !guard.text.starts_with('!');
        assert!(text.contains("!!") || costs.is_ok_and(|costs| costs.iter().all(cost)), "{text}");
    }
}

/// What the optimizer can know of two values, of one that is not zero, of one that is no NaN.
#[test]
fn facts_about_operands_prove_rules() {
    let Some(judge) = judge_with_solver() else { return };
    let right = "rule a for T in int: iadd.T(x, y) => or.bits(T)(x, y) if disjoint(x, y)
                 rule b for T in bits: and.T(x, y) => 0 if disjoint(x, y)
                 rule c: iadd.u32(x, y) => xor.b32(y, x) if disjoint(y, x) || disjoint(x, y), !disjoint(x, x)
                 rule d for T in int: setp.ne.T(x, 0) => 1 if nonzero(x)
                 rule e: imin.u32(x, 1) => 1 if nonzero(x)
                 rule g for T in float: setp.nan.T(x, x) => 0 if not_nan(x)
                 rule h: fmul.f32(x, 1.0) => x if not_nan(x)
                 rule i: setp.equ.f16(x, y) => setp.eq.f16(x, y) if not_nan(x), not_nan(y)
                 rule j for T in f16 bf16: fadd.T(x, 0x8000) => x if not_nan(x)";
    let set = rules(right);
    for index in 0..set.rules().len() {
        let report = judge.rule(&set, index).expect("the solver answers");
        assert!(report.verdict.is_pass() && report.proof.applied > 0, "{report:?}");
        let needed = |guard: &GuardReport| matches!(guard.need, Need::Shown(_) | Need::Cost);
        assert!(report.guards.iter().all(needed), "{report:?}");
    }
}

/// Mutants of the rules in the tree: whatever a solver is not needed for is refuted and confirmed, or right.
#[test]
fn mutants_are_refuted_and_confirmed() {
    let every = 29;
    let all: Vec<_> = RuleSet::builtin().rules().iter().flat_map(|rule| mutants(rule.decl())).collect();
    let (mut refuted, mut slowest) = (0, Duration::ZERO);
    for mutant in all.iter().step_by(every) {
        let text = mutant.decl.to_string();
        let source = Source { name: "mutant".to_owned(), text: text.clone().into() };
        let Ok(set) = RuleSet::unchecked(&[source]) else { continue };
        let start = Instant::now();
        let settings = Settings { guards: false, ..Settings::default() };
        let Ok(report) = judge(Cache::in_memory(), settings).rule(&set, 0) else { continue };
        let Some(refutation) = report.refutation else { continue };
        slowest = slowest.max(start.elapsed());
        refuted += 1;
        let confirmed = matches!(refutation.confirmation, Confirmation::Confirmed(_));
        assert!(confirmed, "{text} ({}): {refutation} {:?}", mutant.mutation, refutation.confirmation);
    }
    eprintln!("{refuted} mutants refuted, the slowest in {slowest:?}");
    assert!(refuted >= 10 && slowest < Duration::from_secs(10), "{refuted} {slowest:?}");
}

/// What the language adds to a rule by itself is said.
#[test]
fn added_guards_are_reported() {
    let text = "rule a for T in u16 u32: or.bits(T)(x, 0) => x";
    let added = verdict(text).added;
    assert_eq!(added, ["the bits of `x` from 16 on are known to be zero, in 1 of 2 instances"]);
    assert!(verdict("rule a: or.b32(x, 0) => x").added.is_empty());
}

/// Operations of one operand rank below those of two, so that a rule of equal cost may lead to them.
#[test]
fn negations_may_replace_products() {
    let text = "rule a modulo nan: fmul.f32(x, -1.0) => fneg.f32(x)";
    assert!(RuleSet::parse("mine", text).is_ok());
    let back = "rule a modulo nan: fneg.f32(x) => fmul.f32(x, -1.0)";
    assert!(RuleSet::parse("mine", back).is_err());
}
