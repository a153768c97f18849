//! Barriers of convergence, exits, sleep.

use super::jump::IF;
use super::prelude::*;

/// Which kind of reconvergence is meant.
const CONVERGE: Part = m(72, 2, &["", "RELIABLE", "RECONVERGENT", RESERVED]);
/// The barrier.
const BARRIER: Part = at(What::Register(File::B), 16, 4);
/// A barrier, or the rest of the state of convergence.
const STATE: Part = at(What::Register(File::B), 24, 6);
/// Those that are no barriers, by names.
#[rustfmt::skip]
const STATES: Names = &[
    RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED,
    RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, "THREAD_STATE_ENUM.0", "THREAD_STATE_ENUM.1",
    "THREAD_STATE_ENUM.2", "THREAD_STATE_ENUM.3", "THREAD_STATE_ENUM.4", "TRAP_RETURN_PC.LO", "TRAP_RETURN_PC.HI",
    "TRAP_RETURN_MASK", "MEXITED", "MKILL", "MACTIVE", "MATEXIT", "OPT_STACK", "API_CALL_DEPTH", "ATEXIT_PC.LO",
    "ATEXIT_PC.HI",
];

/// The address to which a function returns, by halves.
const RETURN: Part = at(What::Name(&["Rpc.LO", "Rpc.HI"]), 31, 1);

/// How a thread sleeps.
macro_rules! sleep {
    ([$($syncs:expr)?], $amount:expr) => {
        &[flag(86, &["", "RAND"]), flag(85, &["", "WARP"]), $($syncs,)? IF, $amount]
    };
}

/// The rows.
pub const ROWS: &[Row] = &[
    Row::new("BSSY", 0x945, CONVERGENCE, &[IF, BARRIER, at(What::Target, 34, 30)]).sms(80, 90),
    Row::new("BSSY", 0x945, CONVERGENCE, &[CONVERGE, IF, BARRIER, at(What::Target, 34, 30)]).since(100),
    Row::new("BSYNC", 0x941, MEETING, &[IF, BARRIER.read()]).sms(80, 90),
    Row::new("BSYNC", 0x941, MEETING, &[CONVERGE, IF, BARRIER.read()]).since(100),
    Row::new("BREAK", 0x942, CONVERGENCE, &[IF, BARRIER.read()]).sms(80, 90),
    Row::new("BREAK", 0x942, CONVERGENCE, &[flag(72, &["", "RELIABLE"]), IF, BARRIER.read()]).since(100),
    Row::new("WARPSYNC", 0x348, MEETING, &[flag(86, &["", "EXCLUSIVE"]), IF, r(32)]).sms(80, 89),
    Row::new("WARPSYNC", 0x348, MEETING, &[IF, r(24)]).since(90),
    Row::new("WARPSYNC.EXCLUSIVE", 0x348, MEETING, &[IF, r(24)]).fixed(&[(Bits::new(85, 2), 1)]).since(90),
    Row::new("ENDCOLLECTIVE", 0x91b, CONVERGENCE, &[IF]).since(90),
    Row::new("PREEXIT", 0x82d, MACHINE_STATE, &[any(87, 4)]).since(90),
    Row::new("ACQBULK", 0x82e, MACHINE_STATE, &[any(87, 4)]).since(90),
    Row::new("LEPC", 0x34e, MACHINE_STATE, &[rd().words(2)]),
    Row::new("LEPC", 0x94e, MACHINE_STATE, &[rd().words(2), at(What::TargetByte, 24, 58)]),
    Row::new("BMOV.32", 0x355, MACHINE_STATE, &[flag(84, &["", "CLEAR"]), rd(), STATE]),
    Row::new("BMOV.32", 0x156, MACHINE_STATE, &[flag(84, &["", "PQUAD"]), STATE.written(), b(Hex)]).forms(TWO),
    Row::new(
        "BMOV.32",
        0xf55,
        MACHINE_STATE,
        &[at(What::Register(File::B), 16, 4).written(), at(What::Name(STATES), 24, 6)],
    ),
    Row::new(
        "BMOV.32",
        0xf56,
        MACHINE_STATE,
        &[flag(84, &["", "PQUAD"]), STATE.written(), at(What::Register(File::B), 16, 4).read()],
    )
    .rule(|word| Bits::new(24, 6).get(word) < 32),
    Row::new("RPCMOV.32", 0x353, MACHINE_STATE, &[rd(), RETURN]),
    Row::new("RPCMOV.32", 0x152, MACHINE_STATE, &[RETURN, b(Hex)]).forms(TWO),
    Row::new("B2R", 0x31c, SLOW_STATE, &[rd(), imm(54, 4, Hex)]),
    Row::new("B2R.RESULT", 0x31c, SLOW_STATE, &[rd(), p(81).unless(7)]).fixed(&[(Bits::new(78, 2), 1)]),
    Row::new("B2R.WARP", 0x31c, SLOW_STATE, &[rd()]).fixed(&[(Bits::new(78, 2), 2)]),
    Row::new("WARPSYNC", 0x948, MEETING, &[IF, imm(32, 32, Hex)]).sms(80, 89),
    Row::new("WARPSYNC.ALL", 0x948, MEETING, &[IF]).since(90),
    Row::new(
        "EXIT",
        0x94d,
        LEAVE,
        &[m(84, 2, &["", "KEEPREFCOUNT", "PREEMPTED", RESERVED]), flag(86, &["", "NO_ATEXIT"]), IF],
    ),
    Row::new("KILL", 0x95b, LEAVE, &[IF]),
    Row::new("YIELD", 0x946, MACHINE_STATE, &[IF]),
    Row::new("NOP", 0x918, MACHINE_STATE, &[]),
    Row::new("BPT.TRAP", 0x95c, MACHINE_STATE, &[imm(34, 3, Hex).unless(0)]).fixed(&[(Bits::new(84, 3), 3)]),
    Row::new("BPT.INT", 0x95c, MACHINE_STATE, &[imm(34, 3, Hex).unless(0)]).fixed(&[(Bits::new(84, 3), 4)]),
    Row::new("PMTRIG", 0x801, MACHINE_STATE, &[IF, imm(32, 16, Hex)]),
    Row::new("NANOSLEEP.CLEAR", 0x95d, MACHINE_STATE, &[IF]).fixed(&[(Bits::new(83, 1), 1)]),
    Row::new("NANOSLEEP", 0x15d, MACHINE_STATE, sleep!([], b(Hex))).forms(TWO).sms(80, 89),
    Row::new("NANOSLEEP", 0x15d, MACHINE_STATE, sleep!([flag(84, &["", "SYNCS"])], b(Hex))).forms(TWO).since(90),
];
