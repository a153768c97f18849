//! Branches, calls and returns.

use super::prelude::*;

/// Where a branch goes.
const fn target(what: What) -> Part {
    at(what, 16, 8).above(34, 48)
}

/// The same before `sm_90`.
const fn high_target(what: What) -> Part {
    at(what, 34, 48)
}

/// The condition of an instruction that has one beside its guard.
pub const IF: Part = pin(87).unless(7);
/// What a branch does with the depth of calls.
const DEPTH: Part = m(85, 2, &["", "INC", "DEC", RESERVED]);
/// Whether all lanes agree; with a uniform register, the lanes are those that it has.
const LANES: Part = m(32, 2, &["", RESERVED, "DIV", "CONV"]);
const LANES_ALL: Part = m(32, 2, &[RESERVED, "U", RESERVED, RESERVED]);
const LANES_OF: Part = m(32, 2, &[RESERVED, RESERVED, "DIV", "CONV"]);
const LANES_ANY: Part = m(32, 2, &["", "U", "DIV", "CONV"]);
/// Whether a call counts.
const NOINC: Part = flag(86, &["", "NOINC"]);
/// The same of a return.
const NODEC: Part = flag(86, &["", "NODEC"]);

macro_rules! rows {
    ($($first:expr, $last:expr, $target:ident, $register:expr, $any:expr, $tid:expr);+) => {
        &[$(
            Row::new("BRA", 0x947, JUMP, &[DEPTH, LANES_ALL, $any, $tid, IF, $target(What::Target)]).sms($first, $last),
            Row::new("BRA", 0x947, JUMP, &[DEPTH, LANES, IF, $target(What::Target)]).sms($first, $last),
            Row::new("BRA", 0x947, JUMP, &[DEPTH, LANES_OF, IF, $register, $target(What::Target)]).fixed(FIXED_U).sms($first, $last),
            Row::new("BRA", 0x547, JUMP, &[DEPTH, m(32, 2, &[RESERVED, "U", RESERVED, RESERVED]), $any, IF, upin(24), $target(What::Target)]).fixed(FIXED_U).sms($first, $last),
            Row::new("BRX", 0x949, JUMP, &[DEPTH, IF, r(24).words(2), $target(What::Distance).unless(0)]).sms($first, $last),
            Row::new("BRXU", 0x958, JUMP, &[DEPTH, LANES_ANY, IF, ur(24).words(2), $target(What::Distance).unless(0)]).fixed(FIXED_U).sms($first, $last),
            Row::new("JMXU", 0x959, JUMP, &[DEPTH, LANES_ANY, IF, ur(24).words(2), $target(What::Distance).unless(0)]).fixed(FIXED_U).sms($first, $last),
            Row::new("JMX", 0x94c, JUMP, &[DEPTH, IF, r(24).words(2), $target(What::Distance).unless(0)]).sms($first, $last),
            Row::new("CALL.REL", 0x944, CALL, &[NOINC, IF, $target(What::Target)]).sms($first, $last),
            Row::new("CALL.REL", 0x944, CALL, &[NOINC, IF, ur(24).words(2), $target(What::TargetBehind)]).fixed(FIXED_U).sms($first, $last),
            Row::new("CALL.REL", 0x344, CALL, &[NOINC, IF, r(24).words(2), $target(What::TargetBehind)]).sms($first, $last),
            Row::new("CALL.ABS", 0x943, CALL, &[NOINC, IF, $target(What::Place)]).sms($first, $last),
            Row::new("CALL.ABS", 0x943, CALL, &[NOINC, IF, ur(24).words(2), $target(What::Distance).unless(0)]).fixed(FIXED_U).sms($first, $last),
            Row::new("CALL.ABS", 0x343, CALL, &[NOINC, IF, r(24).words(2), $target(What::Distance).unless(0)]).sms($first, $last),
            Row::new("CALL.ABS", 0xb43, CALL, &[NOINC, IF, at(What::Constant, 54, 5).above(40, 14)]).sms($first, $last),
            Row::new("RET.REL", 0x950, RETURN, &[NODEC, IF, r(24).words(2), $target(What::TargetBehind)]).sms($first, $last),
            Row::new("RET.REL", 0x950, RETURN, &[NODEC, IF, ur(24).words(2), $target(What::TargetBehind)]).fixed(FIXED_U).sms($first, $last),
            Row::new("RET.ABS", 0x950, RETURN, &[NODEC, IF, r(24).words(2), $target(What::Distance)]).fixed(&[(Bits::new(85, 1), 1)]).sms($first, $last),
            Row::new("RET.ABS", 0x950, RETURN, &[NODEC, IF, ur(24).words(2), $target(What::Distance)]).fixed(&[U, (Bits::new(85, 1), 1)]).sms($first, $last),
        )+]
    };
}

/// The rows.
pub const ROWS: &[Row] = rows!(
    80, 89, high_target, ur(24).not(30), m(84, 1, &["", RESERVED]), m(83, 1, &["", RESERVED]);
    90, 90, target, ur(24).not(30), flag(84, &["", "ANY"]), m(83, 1, &["", RESERVED]);
    100, u16::MAX, target, ur(24), flag(84, &["", "ANY"]), flag(83, &["", "NOT_TID0"])
);

/// Those that `sm_90` has first.
pub const LATER: &[Row] = &[
    Row::new("WARPSYNC.COLLECTIVE", 0x348, MEETING, &[IF, r(24), target(What::Target)])
        .fixed(&[(Bits::new(85, 2), 2)])
        .since(90),
    Row::new("WARPSYNC.COLLECTIVE.ALL", 0x948, MEETING, &[IF, target(What::Target)])
        .fixed(&[(Bits::new(85, 2), 2)])
        .since(90),
];
