//! Barriers in memory: their counts by themselves, and kernels that wait by them.

use super::*;
use crate::load::RunOptions;
use crate::outcome::Outcome;
use crate::tests::{launch, run_with, words};

const ARRIVE: BarrierOp = BarrierOp::Arrive(Arrive { drops: false, expects: false, goes_on: false });
const DROP: BarrierOp = BarrierOp::Arrive(Arrive { drops: true, expects: false, goes_on: false });
const EXPECT: BarrierOp = BarrierOp::Arrive(Arrive { drops: false, expects: true, goes_on: false });
const GO_ON: BarrierOp = BarrierOp::Arrive(Arrive { drops: false, expects: false, goes_on: true });

/// Pending arrivals, bytes and phase after operations on a barrier for three arrivals.
fn after(operations: &[(BarrierOp, u64)]) -> Result<(u64, i64, u64), Misuse> {
    let mut barrier = Barrier { pending: 3, expected: 3, bytes: 0, phase: 0 };
    for (op, operand) in operations {
        barrier = Barrier::of(barrier.after(*op, *operand)?.bits());
    }
    Ok((barrier.pending, barrier.bytes, barrier.phase))
}

#[test]
fn phases_end_with_the_last_arrival_and_the_last_byte() {
    assert_eq!(after(&[(ARRIVE, 1)]), Ok((2, 0, 0)));
    assert_eq!(after(&[(ARRIVE, 1), (ARRIVE, 2)]), Ok((3, 0, 1)));
    assert_eq!(after(&[(EXPECT, 64), (ARRIVE, 2)]), Ok((0, 64, 0)));
    assert_eq!(after(&[(EXPECT, 64), (ARRIVE, 2), (BarrierOp::Complete, 48)]), Ok((0, 16, 0)));
    assert_eq!(after(&[(EXPECT, 64), (ARRIVE, 2), (BarrierOp::Complete, 64)]), Ok((3, 0, 1)));
    // Bytes may come before they are expected.
    assert_eq!(after(&[(BarrierOp::Complete, 64), (ARRIVE, 3)]), Ok((0, -64, 0)));
    assert_eq!(after(&[(BarrierOp::Complete, 64), (ARRIVE, 3), (BarrierOp::Expect, 64)]), Ok((3, 0, 1)));
    assert_eq!(after(&[(ARRIVE, 3); 9]), Ok((3, 0, 1)));
    // Later phases wait for one fewer.
    assert_eq!(after(&[(DROP, 1), (ARRIVE, 2)]), Ok((2, 0, 1)));
    assert_eq!(after(&[(BarrierOp::ArriveForCopies { is_counted: true }, 1)]), Ok((3, 0, 0)));
}

/// The code that ptxas makes of `mbarrier.init` for `sm_90` stores (2^20 - n) << 1 and (2^20 - n) << 11, and reads the
/// pending count from bit 43 and the phase from bit 63.
#[test]
fn objects_are_as_code_makes_and_reads_them() {
    let made = Barrier { pending: 96, expected: 96, bytes: 0, phase: 0 };
    let word = (1u64 << 20) - 96;
    assert_eq!(made.bits(), word << 1 | (word << 11) << 32);
    let read = |bits: u64| ((1 << 20) - (bits >> 43 & MOST), bits >> 63);
    assert_eq!(read(after_operation(made.bits(), ARRIVE, 90).unwrap()), (6, 0));
    assert_eq!(read(after_operation(made.bits(), ARRIVE, 96).unwrap()), (96, 1));
    let odd = Barrier { pending: 1, expected: 3, bytes: -5, phase: 5 };
    assert_eq!(Barrier::of(odd.bits()), odd);
}

#[test]
fn what_the_isa_leaves_undefined_is_refused() {
    assert_eq!(after(&[(ARRIVE, 4)]), Err(Misuse::Arrivals));
    assert_eq!(after(&[(ARRIVE, 0)]), Err(Misuse::Arrivals));
    assert_eq!(after(&[(GO_ON, 2)]), Ok((1, 0, 0)));
    assert_eq!(after(&[(GO_ON, 3)]), Err(Misuse::EndsPhase));
    assert_eq!(after(&[(BarrierOp::Expect, MOST), (BarrierOp::Expect, 1)]), Err(Misuse::Bytes));
    assert_eq!(after(&[(BarrierOp::Complete, MOST + 1)]), Err(Misuse::Bytes));
}

#[test]
fn a_state_is_over_once_its_phase_is() {
    let old = Barrier { pending: 1, expected: 3, bytes: 0, phase: 7 };
    let next = old.after(ARRIVE, 1).expect("it is the last one");
    assert_eq!((next.phase, oriole_semantics::mbarrier::pending(old.bits())), (0, 1));
    for (barrier, over) in [(old, false), (next, true)] {
        assert_eq!(barrier.answer(BarrierOp::IsOver, old.bits()), Some(over));
        assert_eq!(barrier.answer(BarrierOp::IsParityOver, 1), Some(over));
        assert_eq!(barrier.answer(BarrierOp::IsParityOver, 0), Some(!over));
    }
    assert_eq!(old.answer(ARRIVE, 0), None);
}

/// So many threads write and arrive late, and as many others ask until the phase is over, and read.
fn handed_over(half: u32, init: &str, wait: &str) -> String {
    let last = half - 1;
    format!(
        "global @bar: b64 shared align 8\nglobal @s: b32[32] shared align 4\nentry @k {{\n  \
         param $out: u64 param align 8\nbb0:\n  %r1 = s2r.b32 sr.tid.x\n  %d2 = ld.param.u64 [$out]\n  \
         %d3 = imad.wide.u32 %r1, 4, %d2\n  %d4 = mov.b64 @bar\n  %r14 = and.b32 %r1, {last}\n  %d5 = mov.b64 @s\n  \
         %d6 = imad.wide.u32 %r14, 4, %d5\n  %p7 = setp.ne.u32 %r1, 0\n  cbra %p7, bb2, bb1\nbb1:\n  {init}\n  \
         bra bb2\nbb2:\n  bar.sync 0, 0\n  %p8 = setp.lt.u32 %r1, {half}\n  cbra %p8, bb3, bb5\nbb3:\n  \
         %r20 = mov.b32 0\n  bra bb4\nbb4:\n  %r20 = iadd.u32 %r20, 1\n  %p9 = setp.lt.u32 %r20, 500\n  \
         cbra %p9, bb4, bb6\nbb5:\n  {wait}\n  cbra %p11, bb7, bb5\nbb6:\n  st.shared.b32 [%d6], %r1\n  \
         %d12 = mbarrier.arrive.arrive.shared.b64 [%d4]\n  ret\nbb7:\n  %r13 = ld.shared.b32 [%d6]\n  \
         st.global.b32 [%d3], %r13\n  ret\n}}\n"
    )
}

const WAIT: &str = "%p11 = mbarrier.wait.parity.try_wait.parity.shared.b64 [%d4], 0";

fn init(count: u32) -> String {
    format!("mbarrier.init.shared.b64 [%d4], {count}")
}

/// Threads of two warps, and of one that comes apart.
#[test]
fn what_arrives_late_is_waited_for_and_ordered() {
    let options = RunOptions { races: true, ..RunOptions::default() };
    for half in [32, 16] {
        let run = |text: &str| run_with(text, &launch(1, 2 * half, &["zeroed:256"]), &options);
        let good = run(&handed_over(half, &init(half), WAIT));
        assert_eq!(good.races, []);
        let half = half as usize;
        assert_eq!(words(&good)[half..2 * half], (0..half as u32).collect::<Vec<u32>>());
    }
    // The phase before the first one is over from the beginning: nobody waits.
    let early = handed_over(32, &init(32), &WAIT.replace("], 0", "], 1"));
    assert!(!run_with(&early, &launch(1, 64, &["zeroed:256"]), &options).races.is_empty());
}

#[test]
fn a_barrier_that_nobody_made_traps() {
    let cause = |init: &str| {
        let text = handed_over(32, init, WAIT);
        match run_with(&text, &launch(1, 64, &["zeroed:256"]), &RunOptions::default()).outcome {
            Outcome::Trapped { cause, .. } => cause.to_string(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(cause("%r15 = mov.b32 0"), "bad barrier: no barrier was made there");
    let ended = format!("{}\n  mbarrier.inval.shared.b64 [%d4]", init(32));
    assert_eq!(cause(&ended), "bad barrier: no barrier was made there");
    assert_eq!(cause(&init(0)), "bad barrier: a barrier waits for 1 to 1048575 arrivals");
    assert_eq!(cause("mbarrier.init.b64 [%d2], 32"), "bad barrier: barriers are in shared memory");
}
