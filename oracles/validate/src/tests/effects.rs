//! Rules whose roots access memory, synchronise threads or exchange values between them.

use super::*;

/// Each rule with its verdict; no solver is needed.
fn verdicts(text: &str) -> Vec<RuleReport> {
    let set = rules(text);
    let judge = judge(Cache::in_memory(), Settings::default());
    let report = |index: usize| judge.rule(&set, index).unwrap_or_else(|error| panic!("{text}: {error}"));
    (0..set.rules().len()).map(report).collect()
}

const RIGHT: &str = "
rule red: atom.global.add.u32(x, O, v) => red.global.add.u32(x, O, v) if unused()
rule space: ld.b32(cvta.global.u64(x), O) => ld.global.b32(x, O)
rule window: ld.b32(cvta.shared.u64(x), 0) => ld.shared.b32(x, 0)
rule kind: st.shared.f32(x, O, v) => st.shared.b32(x, O, v)
rule stack: st.local.u64(x, O, v) => st.local.b64(x, O, v)
rule count: bar.red.popc(a, b, _) => bar.sync(a, b) if unused()
rule sign: redux.sync.min.s32(x, m) => redux.sync.min.u32(x, m) if known_zero(x, 0x80000000)
rule none: vote.sync.ballot.b32(not.pred(not.pred(p)), m) => vote.sync.ballot.b32(p, m)
rule same: match.any.sync.b32(not.b32(x), m) => match.any.sync.b32(x, m)
rule shuffled: shfl.sync.idx.b32(x, and.b32(a, 31), c, m) => shfl.sync.idx.b32(x, a, c, m)
rule sums: match.all.sync.b32(iadd.u32(x, 5), m) => match.all.sync.b32(x, m)
rule odd: match.any.sync.b64(imul.lo.u64(x, 3), m) => match.any.sync.b64(x, m)
rule uniform: vote.sync.uni.pred(not.pred(p), m) => vote.sync.uni.pred(p, m)
rule all: vote.sync.all.pred(and.pred(p, p), m) => vote.sync.all.pred(p, m)
rule byte: st.global.b8(x, O, or.b32(v, 0xff00)) => st.global.b8(x, O, v)
rule half: st.shared.u16(x, O, cvt.u32.u16(v)) => st.shared.u16(x, O, v)
rule negated: st.global.b32(x, O, not.b32(&not.b32(v))) => st.global.b32(x, O, v)
rule modified: red.global.xor.b32(x, O, not.b32(&not.b32(v))) => red.global.xor.b32(x, O, v)
rule barrier: bar.red.and(a, b, not.pred(&not.pred(p))) => bar.red.and(a, b, p)
rule passed: st.param.u8(x, O, and.b32(v, C)) => st.param.u8(x, O, v) if C & 0xff == 0xff
rule extended: st.shared.b8(cvt.u64.u32(x), O, or.b32(v, 0xff00)) => st.shared.b8(cvt.u64.u32(x), O, v)
rule everywhere: multimem.st.b32(x, O, not.b32(&not.b32(v))) => multimem.st.b32(x, O, v)
rule replicas: multimem.red.xor.b32(x, O, not.b32(&not.b32(v))) => multimem.red.xor.b32(x, O, v)
";

/// What has no meaning as terms is executed, in every space, under guards, by whole and partial warps.
#[test]
fn right_rules_are_tested() {
    for report in verdicts(RIGHT) {
        let found = (report.name.as_str(), report.verdict);
        let executed = report.proof.applied >= 20;
        assert!(matches!(found.1, Verdict::Tested | Verdict::Proved) && executed, "{found:?} {report:?}");
        // What is only tested says which variants, and on how many inputs.
        let (only, inputs) = (report.proof.kernels_only.len(), report.proof.inputs());
        assert_eq!(found.1 == Verdict::Tested, only > 0 && inputs >= 64, "{found:?}: {only} {inputs}");
        for guard in &report.guards {
            assert!(matches!(guard.need, Need::Shown(_) | Need::Refused(_)), "{}: {guard:?}", report.name);
        }
    }
}

/// The offset takes what is added to the address: the terms say so, and the kernels agree.
#[test]
fn addresses_are_sums() {
    let text = "rule a: st.global.b32(iadd.u64(x, C), 4, v) => st.global.b32(x, C + 4, v)
                rule b: ld.shared.b32(isub.u32(x, -1), 0) => ld.shared.b32(x, 1)";
    let Some(judge) = judge_with_solver() else { return };
    let set = rules(text);
    for index in 0..2 {
        let report = judge.rule(&set, index).expect("the solver answers");
        assert!(report.verdict == Verdict::Proved && report.proof.applied > 0, "{report:?}");
    }
}

const WRONG: &str = "
rule minus: ld.global.b32(iadd.u64(x, C), O) => ld.global.b32(x, O - C)
rule lost: st.global.b32(iadd.u64(x, _), O, v) => st.global.b32(x, O, v)
rule short: st.local.b64(x, O, v) => st.local.b32(x, O, lo(v))
rule signs: atom.shared.min.s32(x, O, v) => red.shared.min.u32(x, O, v) if unused()
rule space: ld.b32(cvta.shared.u64(x), 0) => ld.global.b32(x, 0)
rule narrow: ld.global.s16(x, O) => ld.global.u16(x, O)
rule order: redux.sync.min.s32(x, m) => redux.sync.min.u32(x, m)
rule vote: vote.sync.all.pred(x, m) => vote.sync.any.pred(x, m)
rule lanes: shfl.sync.up.b32(x, a, b, m) => shfl.sync.down.b32(x, a, b, m)
rule swap: atom.cas.global.b32(x, O, v, w) => atom.cas.global.b32(x, O, w, v)
rule any: bar.red.and(a, b, p) => bar.red.or(a, b, p)
rule equal: match.any.sync.b32(_, m) => match.any.sync.b32(m, m)
rule sum: atom.global.add.u32(x, O, v) => atom.global.add.u32(x, O, iadd.u32(v, 1))
rule needle: st.global.b32(x, O, &selp.b32(_, v, &setp.eq.u32(v, 0x12345678))) => st.global.b32(x, O, v)
rule matched: match.all.sync.b32(or.b32(x, 1), m) => match.all.sync.b32(x, m)
rule top: match.all.sync.b64(and.b64(x, MAX), m) => match.all.sync.b64(x, m)
rule bit: match.any.sync.b32(and.b32(x, 0xfffffffe), m) => match.any.sync.b32(x, m)
rule uniform: vote.sync.uni.pred(p, m) => vote.sync.all.pred(p, m)
rule ballot: vote.sync.ballot.b32(or.pred(p, _), m) => vote.sync.ballot.b32(p, m)
rule index: shfl.sync.idx.b32(x, and.b32(a, 15), 31, m) => shfl.sync.idx.b32(x, a, 31, m)
rule butterfly: shfl.sync.bfly.b32(x, ineg.s32(a), 31, m) => shfl.sync.bfly.b32(x, a, 31, m)
rule halves: st.global.b16(x, O, imax.s32(v, -32768)) => st.global.b16(x, O, v)
rule neighbour: st.global.b8(x, O, shr.u32(v, 8)) => st.global.b8(x, O + 1, v)
rule compared: atom.cas.global.b32(x, O, and.b32(v, 0xffff), w) => atom.cas.global.b32(x, O, v, w)
rule exchanged: atom.global.exch.b32(x, O, &imin.u32(v, 0xfedcba98)) => atom.global.exch.b32(x, O, v)
rule passed: st.param.b32(x, O, v) => st.param.b32(x, O + 4, v)
rule given: ld.param.b32(iadd.u64(x, 4), O) => ld.param.b32(x, O)
rule wraps: ld.shared.b32(cvt.u64.u32(iadd.u32(x, C)), O) => ld.shared.b32(cvt.u64.u32(x), O + zext(C))
rule everywhere: multimem.st.b32(x, O, and.b32(v, 0xffff)) => multimem.st.b32(x, O, v)
rule replicas: multimem.red.add.u32(x, O, or.b32(v, 1)) => multimem.red.add.u32(x, O, v)
rule reduced: multimem.ld_reduce.add.u32(iadd.u64(x, 4), O) => multimem.ld_reduce.add.u32(x, O)
";

/// Wrong for certain operands, and most of them only where memory holds a certain value too.
const NEEDLES: &str = "
rule zero: atom.global.add.f32(x, O, fadd.f32(v, 0.0)) => atom.global.add.f32(x, O, v)
rule zeros: red.shared.add.f64(x, O, fadd.f64(v, 0.0)) => red.shared.add.f64(x, O, v)
rule half: atom.global.add.noftz.f16x2(x, O, fadd.f16x2(v, 0)) => atom.global.add.noftz.f16x2(x, O, v)
rule subnormal: atom.shared.add.f32(x, O, fadd.ftz.f32(v, -0.0)) => atom.shared.add.f32(x, O, v)
rule swapped: atom.cas.shared.b64(x, O, v, w) => atom.cas.shared.b64(x, O, w, v)
rule always: atom.cas.global.b32(x, O, _, w) => atom.cas.global.b32(x, O, w, w)
rule brain: atom.shared.add.noftz.bf16(x, O, fadd.bf16(v, 0)) => atom.shared.add.noftz.bf16(x, O, v)
rule equal: atom.cas.global.b32(x, O, v, &fadd.f32(v, -0.0)) => atom.cas.global.b32(x, O, v, v)
rule wraps: atom.global.inc.u32(x, O, v) => atom.global.inc.u32(x, O, iadd.u32(v, 1))
rule bound: atom.shared.dec.u32(x, O, &imin.u32(v, 0xfffffffe)) => atom.shared.dec.u32(x, O, v)
rule last: atom.shared.inc.u32(x, O, 0xfffffffe) => atom.shared.add.u32(x, O, 1)
rule first: red.global.dec.u32(x, O, 0x12345678) => red.global.add.u32(x, O, UMAX)
rule mask: atom.global.and.b32(x, O, or.b32(v, 1)) => atom.global.and.b32(x, O, v)
rule sign: red.shared.max.s64(x, O, imax.s64(v, MIN + 1)) => red.shared.max.s64(x, O, v)
rule order: atom.global.min.s32(x, O, v) => atom.global.min.u32(x, O, v)
rule other: atom.global.or.b64(x, O, v) => atom.global.xor.b64(x, O, v)
rule added: red.global.or.b32(x, O, v) => red.global.add.u32(x, O, v)
rule written: st.global.b8(x, O, imin.u32(v, 255)) => st.global.b8(x, O, v)
rule wide: st.shared.b16(x, O, v) => st.shared.b32(x, O, v)
rule low: st.local.b16(x, O, v) => st.local.b8(x, O, v)
rule loaded: ld.global.s8(x, O) => ld.global.u8(x, O)
";

/// Right, and near the wrong ones.
const NEAR: &str = "
rule zero: atom.global.add.f32(x, O, fadd.f32(v, -0.0)) => atom.global.add.f32(x, O, v)
rule sum: red.shared.add.u64(x, O, iadd.u64(v, 0)) => red.shared.add.u64(x, O, v)
rule swapped: atom.cas.shared.b64(x, O, not.b64(&not.b64(v)), w) => atom.cas.shared.b64(x, O, v, w)
rule wraps: atom.global.inc.u32(x, O, imax.u32(v, 0)) => atom.global.inc.u32(x, O, v)
rule down: atom.shared.dec.u32(x, O, imin.u32(v, UMAX)) => atom.shared.dec.u32(x, O, v)
rule last: atom.shared.inc.u32(x, O, UMAX) => atom.shared.add.u32(x, O, 1)
rule first: red.global.dec.u32(x, O, UMAX) => red.global.add.u32(x, O, UMAX)
rule nothing: red.global.inc.u32(x, O, 0) => red.global.and.b32(x, O, 0)
rule both: atom.global.and.b32(x, O, and.b32(v, v)) => atom.global.and.b32(x, O, v)
rule sign: red.shared.max.s64(x, O, imax.s64(v, MIN)) => red.shared.max.s64(x, O, v)
rule other: red.global.xor.b32(x, O, or.b32(v, 0)) => red.global.xor.b32(x, O, v)
rule exchanged: atom.global.exch.b64(x, O, xor.b64(&xor.b64(v, 5), 5)) => atom.global.exch.b64(x, O, v)
rule written: st.global.b8(x, O, and.b32(v, 255)) => st.global.b8(x, O, v)
rule wide: st.shared.b16(x, O, cvt.s32.s16(v)) => st.shared.b16(x, O, v)
rule loaded: ld.global.u8(iadd.u64(x, 4), 4) => ld.global.u8(x, 8)
";

/// Each is refuted, in few threads.
#[test]
fn needles_in_memory_are_found() {
    for report in verdicts(NEEDLES) {
        let name = &report.name;
        let refutation = report.refutation.as_ref().unwrap_or_else(|| panic!("{name}: {report:?}"));
        let Confirmation::Confirmed(reproducer) = &refutation.confirmation else { panic!("{name}: {refutation:?}") };
        assert!(reproducer.launch.block[0] <= 3, "{name}: {:?}", reproducer.launch.block);
    }
}

/// None of the right ones near them is refuted.
#[test]
fn rules_near_needles_are_not_refuted() {
    for report in verdicts(NEAR) {
        assert!(report.refutation.is_none() && report.proof.applied >= 20, "{}: {report:?}", report.name);
    }
}

/// Each is refuted with a kernel.
#[test]
fn wrong_rules_are_refuted() {
    for report in verdicts(WRONG) {
        let name = &report.name;
        let refutation = report.refutation.as_ref().unwrap_or_else(|| panic!("{name}: {report:?}"));
        assert!(matches!(refutation.confirmation, Confirmation::Confirmed(_)), "{name}: {refutation:?}");
        assert!(!refutation.to_string().contains("()"), "{refutation}");
        // What was not executed behind the kernel that shows it is not called open.
        assert!(!report.proof.open.iter().any(|open| open.contains("no kernel was found")), "{:?}", report.proof.open);
    }
}

/// Each combination of fields is executed, however many there are.
#[test]
fn no_variant_is_left_out() {
    let set = rules(
        "rule a: ld{F}.b32(&iadd.u64(x, 8), 4) => ld{F}.b32(x, 12)
         if F.Scope == none, F.PrefetchSize == none, F.EvictL2 == none",
    );
    let all = set.rules()[0].instances().iter().flat_map(|instance| variants(instance).expect("few fields"));
    let questions: Vec<_> = all.map(|variant| translate(variant).expect("addresses are sums")).collect();
    let (ran, wrong) = kernel::execute(&questions, &[], &Arc::new(set.only(0)));
    assert!(questions.len() > 48 && wrong.is_none(), "{}", questions.len());
    assert!(ran.iter().all(|one| one.kernels > 0), "{ran:?}");
}

/// What one execution cannot show is not called tested.
#[test]
fn memory_order_is_not_judged() {
    let text = "rule a: ld.volatile.global.b32(x, O) => ld.global.b32(x, O)
                rule b: ld.relaxed.gpu.global.b32(x, O) => ld.relaxed.cta.global.b32(x, O)
                rule c: ld.global.b32(x, O) => ld.global.nc.b32(x, O)
                rule d: fence.sc.sys() => fence.acq_rel.sys()
                rule e: ld.global.cv.b32(x, O) => ld.global.b32(x, O)
                rule f: bar.sync.aligned(a, b) => bar.sync(a, b)";
    for report in verdicts(text) {
        assert!(report.verdict == Verdict::Unknown && report.proof.open.len() == 1, "{report:?}");
    }
}

/// What the interpreter takes to do nothing, or more laxly than the machine, is not tested by executing it.
#[test]
fn what_is_not_modelled_is_not_judged() {
    let text = "rule a: ld.global.b32(x, O) => ldu.global.b32(x, O)
                rule b: applypriority.global.L2::evict_normal(&iadd.u64(x, 8), O, N) => \
                        applypriority.global.L2::evict_normal(x, O, N)
                rule c: prefetch.global.L1(&iadd.u64(x, 8), O) => prefetch.global.L1(x, O)
                rule d: nanosleep.u32(&iadd.u32(x, 1)) => nanosleep.u32(x)";
    for report in verdicts(text) {
        let reason = report.proof.open.iter().all(|text| text.contains("interpreter"));
        assert!(report.verdict == Verdict::Unknown && report.proof.open.len() == 1 && reason, "{report:?}");
    }
    let elsewhere = verdicts("rule a: discard.global.L2(iadd.u64(x, 128), O, N) => discard.global.L2(x, O, N)");
    assert_eq!(elsewhere[0].verdict, Verdict::Refuted, "what is not discarded is what it was");
    let same = verdicts("rule a: prefetch.global.L1(x, O) => prefetch.global.L2(x, O)");
    assert_eq!(same[0].verdict, Verdict::Proved, "the level of a cache is a hint");
    let weaker = verdicts("rule a: cp.async.wait_group(0) => cp.async.wait_group(1)");
    assert_eq!(weaker[0].verdict, Verdict::Refuted, "a copy may still be under way");
}

/// What the language says of effects that a result does not have.
#[test]
fn lost_effects_are_refused() {
    let refused = |text: &str| {
        let source = Source { name: "t.rules".to_owned(), text: text.to_owned().into() };
        RuleSet::unchecked(&[source]).expect_err("it is refused").lines()
    };
    let lost = refused("rule a: atom.global.add.u32(x, O, v) => red.global.add.u32(x, O, v)");
    assert!(lost.contains("unused()"), "{lost}");
    let gone = refused("rule a: ld.global.b32(_, _) => 0");
    assert!(gone.contains("effect"), "{gone}");
    let vector = refused("rule a: st.global.v2.b32(x, O, v) => st.global.b32(x, O, v)");
    assert!(vector.contains("vectors"), "{vector}");
}
