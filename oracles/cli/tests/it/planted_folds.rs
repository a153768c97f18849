//! Wrong constant folds, planted one at a time: for each a phase that folds as the optimizer does, and wrongly for a
//! few operands of one operation. The campaign's `instructions` must find each, soon.

use oriole_campaign::store::Store;
use oriole_campaign::target::Target;
use oriole_campaign::{Options, Vary, run};
use oriole_check::CheckOptions;
use oriole_ir::ops::{Opcode, Type};
use oriole_ir::{Function, Inst, InstBuilder};
use oriole_optimizer::fold::fold;
use oriole_optimizer::pass::{Changed, Element, PhaseContext, PhaseFn, Run};

/// Cases within which a fold must be found: some ten seconds of one processor.
const CASES: u64 = 20_000;

/// Folds one operation on constants; `wrong` is what it does to the result of some operands.
fn folds(
    func: &mut Function,
    cx: &mut PhaseContext<'_>,
    (opcode, ty): (Opcode, Type),
    wrong: fn(&[u64], u64) -> u64,
) -> Changed {
    let mut changed = Changed::No;
    let insts: Vec<Inst> = func.layout_insts().collect();
    for inst in insts {
        let data = *func.inst(inst);
        let srcs: Option<Vec<u64>> = func.srcs(inst).iter().map(|operand| func.imm_bits(*operand)).collect();
        let fits = data.opcode == opcode && data.ty() == ty && data.guard.is_none();
        let Some(srcs) = srcs.filter(|_| fits) else { continue };
        let Some(folded) = fold(opcode, &data.fields, &srcs) else { continue };
        let dst = func.defs(inst).next().expect("a result");
        let value = wrong(&srcs, folded.results[0]);
        let mov = match func.regs()[dst].words {
            _ if func.regs()[dst].is_predicate() => Type::Pred,
            1 => Type::B32,
            _ => Type::B64,
        };
        if cx.rewrite("fold") {
            InstBuilder::new(Opcode::Mov).field(mov).src(value).dst(dst).replace(func, inst);
            changed = Changed::Yes;
        }
    }
    changed
}

macro_rules! planted {
    ($($name:ident: $op:ident $ty:ident, $wrong:expr;)*) => {
        $(fn $name(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
            folds(func, cx, (Opcode::$op, Type::$ty), $wrong)
        })*
        const PLANTED: &[(&str, PhaseFn)] = &[$((stringify!($name), $name)),*];
    };
}

planted! {
    wraps_no_addition: IAdd U32, |srcs, right| if srcs[0] == 0xFFFF_FFFF && srcs[1] == 1 { 0xFFFF_FFFF } else { right };
    shifts_by_the_width: Shl B32, |srcs, right| if srcs[1] == 32 { srcs[0] } else { right };
    fills_with_zeros: Shr S64, |srcs, right| if srcs[1] > 63 { 0 } else { right };
    compares_unsigned: SetP S16, |srcs, right| if srcs[0] & srcs[1] == 0x8000 { right ^ 1 } else { right };
    multiplies_unsigned: IMulHi S64, |srcs, right| if srcs[0] >> 63 == 1 { right.wrapping_add(srcs[1]) } else { right };
    negates_the_minimum: IAbs S32, |srcs, right| if srcs[0] == 0x8000_0000 { 0x7FFF_FFFF } else { right };
    adds_signed_zeros: FAdd F32, |srcs, right| if srcs[0] == 1 << 31 && srcs[1] == 0 { 1 << 31 } else { right };
    loses_the_last_bit: Cvt S16, |srcs, right| if srcs[0] == 0x7FFF { right - 1 } else { right };
    counts_from_zero: Clz B64, |srcs, right| if srcs[0] == 0 { 63 } else { right };
}

/// The case within which a planted fold is found.
fn cases_to_find(function: PhaseFn) -> Option<u64> {
    let passes = vec![Element::custom("Wrong", Run::function(function))];
    let check = CheckOptions {
        passes: passes.into(),
        randoms: 0,
        destruction: false,
        round_trip: false,
        ..CheckOptions::default()
    };
    let options = |cases| Options {
        targets: vec![Target::Instructions],
        check: check.clone(),
        vary: Vary::Nothing,
        ..Options::new(1, cases)
    };
    let store = || Store::in_memory().expect("memory");
    // Doubling ends soon after the first finding, whatever a campaign does once it has one.
    let found = |cases: &u64| !run(&options(*cases), store(), |_| ()).expect("the store is in memory").hits.is_empty();
    std::iter::successors(Some(1250), |cases| Some(cases * 2)).take_while(|cases| *cases <= CASES).find(found)
}

#[test]
fn every_planted_fold_is_found_soon() {
    let mut late = Vec::new();
    for (name, function) in PLANTED {
        let found = cases_to_find(*function);
        println!("{name}: {found:?}");
        late.extend(found.is_none().then_some(*name));
    }
    assert!(late.is_empty(), "not found within {CASES} cases: {late:?}");
}
