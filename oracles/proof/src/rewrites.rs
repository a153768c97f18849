//! Rewrites that are known to be right, and others one mutation away from right ones, through every way of judging
//! them: all that are wrong must be refuted, with a counterexample that evaluates, and none that is right.
//!
//! An expression is `(mnemonic.field.field operand ...)`. Variables starting with `x y z c` have 32 bits, with `d` 64,
//! with `h` 16, with `b` 8 and with `p` one. Constants are words, or pairs of words where they need to be.

use std::time::{Duration, Instant};

use oriole_ir::ops::{FieldValues, MAX_FIELDS, Opcode};

use super::*;

/// Before, after, and what must hold.
type Rewrite = (&'static str, &'static str, &'static [&'static str]);

const RIGHT: &[Rewrite] = &[
    ("(iadd.u32 x 0)", "x", &[]),
    ("(isub.u32 x x)", "0", &[]),
    ("(isub.u32 x y)", "(iadd.u32 x (ineg.s32 y))", &[]),
    ("(imul.lo.u32 x 8)", "(shl.b32 x 3)", &[]),
    ("(imul.lo.u32 x 7)", "(isub.u32 (shl.b32 x 3) x)", &[]),
    ("(idiv.u32 x 16)", "(shr.u32 x 4)", &[]),
    ("(irem.u32 x 16)", "(and.b32 x 15)", &[]),
    ("(irem.u32 x 1)", "0", &[]),
    ("(idiv.u32 x y)", "0", &["(setp.lo.u32 x y)"]),
    ("(idiv.u32 x x)", "1", &[]),
    ("(idiv.u16 h 3)", "(shr.u16 (imul.hi.u16 h 0xaaab) 1)", &[]),
    ("(idiv.s32 x 4)", "(shr.s32 (iadd.u32 x (shr.u32 (shr.s32 x 31) 30)) 2)", &[]),
    ("(and.b32 x x)", "x", &[]),
    ("(or.b32 (and.b32 x y) (and.b32 (not.b32 x) y))", "y", &[]),
    ("(not.b32 (not.b32 x))", "x", &[]),
    ("(iadd.u32 (not.b32 x) 1)", "(ineg.s32 x)", &[]),
    ("(and.b32 (iadd.u32 x 0xffffffff) x)", "0", &["(setp.eq.b32 (popc.b32 x) 1)"]),
    ("(shl.b32 (shl.b32 x 3) 5)", "(shl.b32 x 8)", &[]),
    ("(shl.b32 (shl.b32 x y) z)", "(shl.b32 x (iadd.u32 y z))", &["(setp.lo.u32 y 32)", "(setp.lo.u32 z 32)"]),
    ("(shr.u32 (shl.b32 x 8) 8)", "(and.b32 x 0xffffff)", &[]),
    ("(shr.s32 (shl.b32 x 24) 24)", "(cvt.s32.s8 x)", &[]),
    ("(shl.b64 d c)", "(shl.b64 d (and.b32 c 63))", &["(setp.lo.u32 c 64)"]),
    ("(iadd.u32 (imul.lo.u32 x y) z)", "(imad.lo.u32 x y z)", &[]),
    ("(imul.wide.u32 x 4)", "(shl.b64 (cvt.u64.u32 x) 2)", &[]),
    ("(imul.hi.u32 x 0x10000)", "(shr.u32 x 16)", &[]),
    ("(setp.lt.s32 x 0)", "(setp.ne.u32 (shr.u32 x 31) 0)", &[]),
    ("(not.pred (setp.lt.s32 x y))", "(setp.ge.s32 x y)", &[]),
    ("(setp.eq.b32 (isub.u32 x y) 0)", "(setp.eq.b32 x y)", &[]),
    ("(selp.b32 x x p)", "x", &[]),
    ("(selp.b32 1 0 (setp.eq.b32 x 0))", "(cnot.b32 x)", &[]),
    ("(imin.s32 x (imax.s32 x y))", "x", &[]),
    ("(iabs.s32 (iabs.s32 x))", "(iabs.s32 x)", &[]),
    ("(cvt.u32.u64 (cvt.u64.u32 x))", "x", &[]),
    ("(lop3.b32 x y z 0x80)", "(and.b32 (and.b32 x y) z)", &[]),
    ("(lop3.b32 x y z 0x96)", "(xor.b32 (xor.b32 x y) z)", &[]),
    ("(prmt.b32 x y 0x5410)", "(or.b32 (and.b32 x 0xffff) (shl.b32 y 16))", &[]),
    ("(shf.l.wrap.b32 x x c)", "(or.b32 (shl.b32 x c) (shr.u32 x (isub.u32 32 c)))", &["(setp.lo.u32 c 33)"]),
    ("(bfe.u32 x 8 8)", "(and.b32 (shr.u32 x 8) 255)", &[]),
    ("(bfe.s32 x 0 16)", "(cvt.s32.s16 x)", &[]),
    ("(bfi.b32 x y 0 32)", "x", &[]),
    ("(szext.clamp.s32 x 8)", "(cvt.s32.s8 x)", &[]),
    ("(popc.b32 (brev.b32 x))", "(popc.b32 x)", &[]),
    ("(clz.b32 x)", "(isub.u32 31 (bfind.u32 x))", &[]),
    ("(fneg.f32 (fneg.f32 x))", "x", &[]),
    ("(fabs.f32 (fneg.f32 x))", "(fabs.f32 x)", &[]),
    ("(fadd.f32 x y)", "(fadd.f32 y x)", &[]),
    ("(fsub.f32 x y)", "(fadd.f32 x (fneg.f32 y))", &[]),
    ("(fmul.f32 x 0x40000000)", "(fadd.f32 x x)", &[]),
    ("(fmul.f32 x 0xbf800000)", "(fneg.f32 x)", &["(setp.num.f32 x x)"]),
    ("(setp.lt.f32 x y)", "(setp.gt.f32 y x)", &[]),
    ("(not.pred (setp.lt.f32 x y))", "(setp.geu.f32 x y)", &[]),
    ("(cvt.rn.f16.f32 (cvt.f32.f16 h))", "h", &["(setp.num.f16 h h)"]),
];

const WRONG: &[Rewrite] = &[
    ("(iadd.u32 x 0)", "(iadd.u32 x 1)", &[]),
    ("(isub.u32 x y)", "(isub.u32 y x)", &[]),
    ("(imul.lo.u32 x 8)", "(shl.b32 x 4)", &[]),
    ("(imul.lo.u32 x 7)", "(isub.u32 x (shl.b32 x 3))", &[]),
    ("(idiv.s32 x 16)", "(shr.s32 x 4)", &[]),
    ("(irem.s32 x 16)", "(and.b32 x 15)", &[]),
    ("(idiv.u32 x y)", "0", &["(setp.ls.u32 x y)"]),
    ("1", "(idiv.u32 x x)", &[]),
    ("(idiv.u16 h 3)", "(shr.u16 (imul.hi.u16 h 0xaaaa) 1)", &[]),
    ("(idiv.u32 (imul.lo.u32 x 10) 10)", "x", &[]),
    ("(idiv.s32 x 4)", "(shr.s32 (iadd.u32 x (shr.u32 (shr.s32 x 31) 29)) 2)", &[]),
    ("(idiv.s32 x 0xffffffff)", "(not.b32 x)", &[]),
    ("(and.b32 (iadd.u32 x 0xffffffff) x)", "0", &["(setp.ne.b32 x 0)"]),
    ("(or.b32 (and.b32 x y) (and.b32 (not.b32 x) y))", "x", &[]),
    ("(iadd.u32 (not.b32 x) 1)", "(not.b32 x)", &[]),
    ("(shl.b32 (shl.b32 x 3) 5)", "(shl.b32 x 7)", &[]),
    ("(shl.b32 (shl.b32 x y) z)", "(shl.b32 x (iadd.u32 y z))", &[]),
    ("(shr.s32 (shr.s32 x y) z)", "(shr.s32 x (iadd.u32 y z))", &["(setp.lo.u32 y 32)"]),
    ("(shr.u32 (shl.b32 x 8) 8)", "(and.b32 x 0xfffffff)", &[]),
    ("(shr.s32 (shl.b32 x 24) 24)", "(cvt.u32.u8 x)", &[]),
    ("(shl.b64 d c)", "(shl.b64 d (and.b32 c 63))", &["(setp.ls.u32 c 64)"]),
    ("(shl.b32 x c)", "(shl.b32 x (and.b32 c 31))", &[]),
    ("(imul.wide.s32 x 4)", "(shl.b64 (cvt.u64.u32 x) 2)", &[]),
    ("(imul.wide.u32 x 4)", "(cvt.u64.u32 (shl.b32 x 2))", &[]),
    ("(imul.hi.s32 x 0x10000)", "(shr.u32 x 16)", &[]),
    ("(setp.lt.s32 x 0)", "(setp.ne.u32 (shr.u32 x 30) 0)", &[]),
    ("(not.pred (setp.lt.s32 x y))", "(setp.gt.s32 x y)", &[]),
    ("(setp.lt.u32 x y)", "(setp.lt.s32 x y)", &[]),
    ("(setp.lt.s32 (iadd.u32 x 1) (iadd.u32 y 1))", "(setp.lt.s32 x y)", &[]),
    ("(selp.b32 1 0 (setp.eq.b32 x 0x12345678))", "0", &[]),
    ("(selp.b32 x y p)", "(selp.b32 y x p)", &[]),
    ("(imin.s32 x y)", "(imin.u32 x y)", &[]),
    ("(iadd.sat.s32 x y)", "(iadd.s32 x y)", &[]),
    ("(iabs.s32 x)", "x", &["(setp.gt.s32 x 0xfffffffe)"]),
    ("(cvt.u32.u16 x)", "x", &[]),
    ("(iadd.u16 x 0)", "x", &[]),
    ("(lop3.b32 x y z 0x81)", "(and.b32 (and.b32 x y) z)", &[]),
    ("(prmt.b32 x y 0x5411)", "(or.b32 (and.b32 x 0xffff) (shl.b32 y 16))", &[]),
    ("(shf.l.wrap.b32 x x c)", "(or.b32 (shl.b32 x c) (shr.u32 x (isub.u32 32 c)))", &[]),
    ("(bfe.u32 x 8 8)", "(and.b32 (shr.u32 x 8) 127)", &[]),
    ("(bfe.s32 x 0 16)", "(cvt.u32.u16 x)", &[]),
    ("(bfi.b32 x y 0 31)", "x", &[]),
    ("(clz.b32 x)", "(isub.u32 32 (bfind.u32 x))", &[]),
    ("(popc.b32 x)", "(popc.b32 (and.b32 x 0x7fffffff))", &[]),
    ("(fadd.f32 x 0)", "x", &[]),
    ("(fmul.f32 x 0x3f800000)", "x", &[]),
    ("(fsub.f32 x x)", "0", &[]),
    ("(fmul.f32 x 0)", "0", &["(testp.finite.f32 x)"]),
    ("(fneg.f32 (fsub.f32 x y))", "(fsub.f32 y x)", &[]),
    ("(fmin.f32 x y)", "(selp.b32 x y (setp.lt.f32 x y))", &["(setp.num.f32 x y)"]),
    ("(not.pred (setp.lt.f32 x y))", "(setp.ge.f32 x y)", &[]),
    ("(fadd.f32 (fadd.f32 x y) z)", "(fadd.f32 x (fadd.f32 y z))", &["(testp.finite.f32 x)", "(testp.finite.f32 y)"]),
    ("(ffma.rn.f32 x y z)", "(fadd.rn.f32 (fmul.rn.f32 x y) z)", &["(testp.normal.f32 x)", "(testp.normal.f32 y)"]),
    ("(cvt.rzi.s32.f32 (cvt.rn.f32.s32 x))", "x", &[]),
    ("(cvt.f32.f16 (cvt.rn.f16.f32 x))", "x", &["(testp.normal.f32 x)"]),
];

/// Reads expressions into an arena.
struct Reader {
    terms: Terms,
    names: Vec<(String, Term)>,
}

impl Reader {
    /// A variable or constant.
    fn leaf(&mut self, text: &str) -> Term {
        let number = match text.strip_prefix("0x") {
            Some(digits) => u128::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        if let Some(value) = number {
            return self.terms.constant(value, if value >> 32 == 0 { 32 } else { 64 });
        }
        if let Some((_, term)) = self.names.iter().find(|(name, _)| name == text) {
            return *term;
        }
        let width = match text.as_bytes()[0] {
            b'd' => 64,
            b'h' => 16,
            b'b' => 8,
            b'p' => 1,
            _ => 32,
        };
        let term = self.terms.variable(text, width);
        self.names.push((text.into(), term));
        term
    }

    /// An expression's result and whether it is defined, and the rest of the text.
    fn expression<'s>(&mut self, text: &'s str) -> (Term, Vec<Term>, &'s str) {
        let text = text.trim_start();
        let Some(mut rest) = text.strip_prefix('(') else {
            let end = text.find([' ', ')']).unwrap_or(text.len());
            return (self.leaf(&text[..end]), Vec::new(), &text[end..]);
        };
        let end = rest.find(' ').expect("an operation has operands");
        let (opcode, fields) = operation(&rest[..end]);
        rest = &rest[end..];
        let (mut operands, mut defined) = (Vec::new(), Vec::new());
        while let Some(more) = rest.strip_prefix(' ') {
            let (operand, conditions, after) = self.expression(more);
            operands.push(operand);
            defined.extend(conditions);
            rest = after;
        }
        let meaning = meaning(&mut self.terms, opcode, &fields, &operands).unwrap_or_else(|| panic!("{text}"));
        defined.extend(meaning.defined);
        (meaning.values[0], defined, rest.strip_prefix(')').expect("a closing parenthesis"))
    }

    /// An expression as a side, its value cut or extended to the register that it lies in.
    fn side(&mut self, text: &str) -> Side {
        let (value, defined, rest) = self.expression(text);
        assert_eq!(rest, "", "{text}");
        let width = self.terms.width(value);
        let value = if width == 1 { value } else { self.terms.zero_extend(value, width.max(32)) };
        let defined = (!defined.is_empty()).then(|| self.terms.all(&defined));
        Side { values: vec![value], defined }
    }
}

/// The opcode and fields of `mnemonic.field.field`.
fn operation(text: &str) -> (Opcode, FieldValues) {
    let ends = text.match_indices('.').map(|(at, _)| at).rev();
    let (opcode, rest) = ends
        .filter_map(|end| Some((Opcode::from_name(&text[..end])?, &text[end + 1..])))
        .next()
        .unwrap_or_else(|| panic!("{text} begins with no mnemonic"));
    let row = opcode.row();
    let (mut values, mut taken) = (row.default_fields(), [false; MAX_FIELDS]);
    for name in rest.split('.') {
        let fits = |slot: &usize| {
            let spec = &row.fields[*slot];
            !taken[*slot] && spec.field.value_index(name).is_some_and(|value| spec.legal >> value & 1 == 1)
        };
        let slot = (0..row.fields.len()).find(fits).unwrap_or_else(|| panic!("{text}: no field {name}"));
        values.0[slot] = row.fields[slot].field.value_index(name).expect("the value was just found");
        taken[slot] = true;
    }
    assert!(row.broken_rule(&values).is_none(), "{text}");
    (opcode, values)
}

fn question(rewrite: &Rewrite) -> (Terms, Query) {
    let mut reader = Reader { terms: Terms::new(), names: Vec::new() };
    let before = reader.side(rewrite.0);
    let after = reader.side(rewrite.1);
    let guards: Vec<Term> = rewrite.2.iter().map(|guard| reader.side(guard).values[0]).collect();
    let query = equivalence(&mut reader.terms, &before, &after, &guards);
    (reader.terms, query)
}

/// All inputs where they are few, then samples.
fn searched(terms: &Terms, query: &Query) -> Searched {
    exhaustive(terms, query, 20).unwrap_or_else(|| sampled(terms, query, &[], 40_000, 1))
}

/// The solver of this machine with a limit for each question, or a sentence that there is none.
fn prover(limit: Duration) -> Option<Prover> {
    let solver = Solver::find(None).expect("a solver on the path can be asked its version");
    if solver.is_none() {
        eprintln!("skipped: no z3, cvc5 or bitwuzla on the path");
    }
    solver.map(|solver| Prover { solver: Some(solver), cache: Cache::in_memory().into(), limit })
}

#[test]
fn wrong_rewrites_are_refuted_by_trying() {
    let mut slowest = Duration::ZERO;
    for rewrite in WRONG {
        let start = Instant::now();
        let (terms, query) = question(rewrite);
        let found = searched(&terms, &query).counterexample;
        let found = found.unwrap_or_else(|| panic!("{} => {} is taken for right", rewrite.0, rewrite.1));
        assert!(query.holds(&terms, &found), "{} => {} {found:x?}", rewrite.0, rewrite.1);
        let small = shrink(&terms, &query, found.clone());
        assert!(query.holds(&terms, &small) && small.iter().sum::<u128>() <= found.iter().sum());
        slowest = slowest.max(start.elapsed());
    }
    eprintln!("{} wrong rewrites refuted, the slowest in {slowest:?}", WRONG.len());
    assert!(slowest < Duration::from_secs(10), "two seconds on a machine that does nothing else");
}

#[test]
fn right_rewrites_are_not_refuted_by_trying() {
    for rewrite in RIGHT {
        let (terms, query) = question(rewrite);
        let found = searched(&terms, &query);
        assert_eq!(found.counterexample, None, "{} => {}", rewrite.0, rewrite.1);
        assert!(found.relevant > 0, "{} => {}: no input meets the guards", rewrite.0, rewrite.1);
    }
}

/// A solver proves what is right, or gives up; it refutes what is wrong, or gives up. Half of either must be settled.
#[test]
fn a_solver_judges_rewrites_rightly() {
    let Some(prover) = prover(Duration::from_secs(1)) else { return };
    let mut settled = [0, 0];
    let mut slowest = 0;
    for (list, right) in [(RIGHT, true), (WRONG, false)] {
        for rewrite in list {
            let (terms, query) = question(rewrite);
            let answered = prover.ask(&terms, &query).expect("the solver answers");
            slowest = slowest.max(answered.millis);
            match answered.answer {
                Answer::Proved => assert!(right, "{} => {} is proved", rewrite.0, rewrite.1),
                Answer::Refuted(inputs) => assert!(!right, "{} => {}: {inputs:x?}", rewrite.0, rewrite.1),
                Answer::Unknown(reason) => {
                    eprintln!("unknown ({reason}): {} => {}", rewrite.0, rewrite.1);
                    continue;
                }
            }
            settled[usize::from(right)] += 1;
        }
    }
    eprintln!(
        "settled {} of {} right and {} of {} wrong, at most {slowest} ms",
        settled[1],
        RIGHT.len(),
        settled[0],
        WRONG.len()
    );
    assert!(2 * settled[1] >= RIGHT.len() && 2 * settled[0] >= WRONG.len(), "{settled:?}");
    let kept = Prover { solver: None, cache: prover.cache, limit: prover.limit };
    for rewrite in RIGHT.iter().chain(WRONG) {
        let (terms, query) = question(rewrite);
        let answered = kept.ask(&terms, &query).expect("every question was answered");
        assert!(answered.cached || terms.value(query.goal).is_some());
    }
}

#[test]
fn without_a_solver_a_question_never_asked_is_an_error() {
    let prover = Prover { solver: None, cache: Cache::in_memory().into(), limit: Duration::from_secs(1) };
    let (terms, query) = question(&("(or.b32 (and.b32 x y) (and.b32 (not.b32 x) y))", "y", &[]));
    let error = prover.ask(&terms, &query).expect_err("nothing is kept");
    assert!(matches!(error, SolverError::Miss { .. }), "{error}");
    let (terms, query) = question(&("(imul.lo.u32 x 8)", "(shl.b32 x 3)", &[]));
    let answered = prover.ask(&terms, &query).expect("arithmetic shows it");
    assert_eq!((answered.answer, &*answered.solver), (Answer::Proved, "arithmetic"));
    let (terms, query) = question(&("(isub.u32 x x)", "0", &[]));
    let answered = prover.ask(&terms, &query).expect("nothing is left to ask");
    assert_eq!(answered.answer, Answer::Proved);
}

/// A kept counterexample that is none is not believed.
#[test]
fn a_counterexample_is_checked() {
    let (terms, query) = question(&("(imul.lo.u32 x 8)", "(shl.b32 x 3)", &[]));
    let mut cache = Cache::in_memory();
    let answer = Answer::Refuted(vec![5]);
    cache.put(&query.script(&terms).text, Answered { answer, solver: "z3-0".into(), millis: 1, cached: true });
    let prover = Prover { solver: None, cache: cache.into(), limit: Duration::from_secs(1) };
    let error = prover.ask(&terms, &query).expect_err("5 * 8 is 5 << 3");
    assert!(matches!(error, SolverError::WrongModel { .. }), "{error}");
}

#[test]
fn a_foreign_program_is_no_solver() {
    let error = Solver::find(Some(std::path::Path::new("/bin/sh"))).expect_err("a shell");
    assert!(matches!(error, SolverError::Foreign(_)), "{error}");
    let error = Solver::find(Some(std::path::Path::new("/nowhere/z3"))).expect_err("no such file");
    assert!(matches!(error, SolverError::Start { .. }), "{error}");
}
