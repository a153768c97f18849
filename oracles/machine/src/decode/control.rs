//! Control, threads of a warp, barriers, special registers.

use oriole_ir::ops::ReduxOp;
use oriole_sass::row::{File, What};
use oriole_sass::text::signed;
use oriole_semantics::scalar::FloatExtreme;

use super::aligned;
use crate::operands::{Operands, Sign, Unknown};
use crate::program::*;
use crate::state::{CODE, CONVERGENCE_BARRIERS};

/// The operation of a mnemonic of this family, which is at a place.
pub fn decode(base: &str, ops: &mut Operands<'_>, at: u32) -> Option<Result<Kind, Unknown>> {
    Some(match base {
        "NOP" | "MEMBAR" | "ERRBAR" | "CGAERRBAR" | "CCTL" | "CCTLL" | "CCTLT" | "FENCE" | "DEPBAR" | "LDGDEPBAR"
        | "PREEXIT" | "ACQBULK" | "PMTRIG" => Ok(Kind::Nop),
        "BRA" if ops.has("DIV") => divergent(ops, at, true),
        "BRA" if ops.has("CONV") => divergent(ops, at, false),
        // Whether all lanes agree is a hint: the condition is the same in all of them.
        "BRA" if ops.has("U") && ops.has("ANY") => target(ops, at).map(|to| Kind::BranchAny(to, condition(ops))),
        "BRA" | "JMP" => target(ops, at).map(|to| Kind::Branch(to, condition(ops))),
        "CALL" | "RET" | "BRX" | "BRXU" | "JMX" => conditional(jump(ops, at), condition(ops)),
        "EXIT" => Ok(Kind::Exit(condition(ops))),
        "BSSY" => conditional(barrier(ops).map(Kind::Bssy), condition(ops)),
        "BSYNC" => conditional(barrier(ops).map(Kind::Bsync), condition(ops)),
        "BREAK" => conditional(barrier(ops).map(Kind::Break), condition(ops)),
        "BMOV" => move_barrier(ops),
        "WARPSYNC" => conditional(warp_sync(ops, at), condition(ops)),
        "ENDCOLLECTIVE" => Ok(Kind::EndCollective),
        "YIELD" | "NANOSLEEP" => Ok(Kind::Yield),
        "BPT" => Ok(Kind::Trap),
        "S2R" | "S2UR" | "CS2R" | "CS2UR" => special(ops, base),
        "R2UR" => r2ur(ops),
        "SHFL" => shuffle(ops),
        "VOTE" | "VOTEU" => vote(ops),
        "MATCH" => matching(ops),
        "REDUX" | "CREDUX" => redux(ops),
        "ELECT" => elect(ops),
        "PLOP3" | "UPLOP3" => plop3(ops),
        "P2R" => p2r(ops, 0),
        "UP2UR" => p2r(ops, UNIFORM_PREDICATES),
        "R2P" => r2p(ops, 0),
        "UR2UP" => r2p(ops, UNIFORM_PREDICATES),
        "BAR" => cta_barrier(ops),
        "B2R" => barrier_result(ops),
        "LEPC" => ops.dst(0).and_then(|dst| Ok(Kind::Here(aligned(dst, 2)?, here(ops, at)))),
        _ => return None,
    })
}

/// The value of what follows the next word by a distance, as an absolute address.
fn here(ops: &Operands<'_>, at: u32) -> i64 {
    let next = CODE as i64 + 16 * (i64::from(at) + 1);
    let is_place = |what: &What| matches!(what, What::Target | What::TargetByte | What::Distance);
    let Some(part) = ops.find(|what| is_place(&what)).and_then(|place| ops.part(place).ok()) else { return next - 16 };
    let distance = signed(part.value(ops.inst.word), part.at.len + part.above.len);
    next + if part.what == What::TargetByte { distance } else { 4 * distance }
}

/// The place that a branch goes to.
fn target(ops: &Operands<'_>, at: u32) -> Result<u32, Unknown> {
    let place = ops.find(|what| matches!(what, What::Target | What::Place)).ok_or("no target")?;
    let part = ops.part(place)?;
    if part.what == What::Place {
        let address = (4 * part.value(ops.inst.word)).checked_sub(CODE).ok_or("a target that is no code")?;
        return u32::try_from(address / 16).map_err(|_| "a target that is no code".to_owned());
    }
    let distance = 4 * signed(part.value(ops.inst.word), part.at.len + part.above.len);
    u32::try_from(i64::from(at) + 1 + distance / 16).map_err(|_| "a target before all functions".to_owned())
}

/// The predicate beside the guard that must hold, too.
fn condition(ops: &Operands<'_>) -> Pred {
    ops.any_pred().unwrap_or(Pred::TRUE)
}

/// An operation where a predicate beside the guard holds, too.
fn conditional(kind: Result<Kind, Unknown>, condition: Pred) -> Result<Kind, Unknown> {
    kind.map(|kind| match kind {
        // These have it already.
        Kind::Branch(..) => kind,
        kind if condition == Pred::TRUE => kind,
        kind => Kind::If(condition, Box::new(kind)),
    })
}

fn divergent(ops: &mut Operands<'_>, at: u32, missing: bool) -> Result<Kind, Unknown> {
    let mask = ops.find(|what| what == What::Register(File::Ur)).ok_or("no mask")?;
    let there = ops.pred_of(&ops.inst.encoding.guard).unwrap_or(Pred::TRUE);
    Ok(Kind::BranchDivergent { to: target(ops, at)?, members: ops.src(mask, Sign::Integer)?, missing, there })
}

/// To a register's address, plus a distance; without a register, to a place.
fn jump(ops: &mut Operands<'_>, at: u32) -> Result<Kind, Unknown> {
    let register = ops.find(|what| matches!(what, What::Register(File::R | File::Ur)));
    let relative = !ops.has("ABS");
    let Some(register) = register else {
        let to = target(ops, at)?;
        return Ok(if relative { Kind::Branch(to, condition(ops)) } else { Kind::Call(to) });
    };
    let place = ops.find(|what| matches!(what, What::Target | What::TargetBehind | What::Distance));
    let distance = match place {
        Some(place) => {
            let part = ops.part(place)?;
            4 * signed(part.value(ops.inst.word), part.at.len + part.above.len)
        }
        None => 0,
    };
    let base = if relative { 16 * (i64::from(at) + 1) + distance } else { distance - CODE as i64 };
    Ok(Kind::Jump(aligned(ops.row(register)?, 2)?, base))
}

/// The convergence barrier among the operands.
fn barrier(ops: &Operands<'_>) -> Result<u8, Unknown> {
    let at = ops.find(|what| what == What::Register(File::B)).ok_or("no barrier")?;
    ops.number(at).and_then(|number| {
        let exists = usize::from(number) < CONVERGENCE_BARRIERS;
        if exists { Ok(number) } else { Err(format!("there is no convergence barrier {number}")) }
    })
}

fn move_barrier(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    ops.has("32");
    let to_barrier = ops.part(0)?.what == What::Register(File::B);
    let number = barrier(ops)?;
    if to_barrier {
        return Ok(Kind::RegToBarrier(number, ops.src(1, Sign::Integer)?));
    }
    Ok(Kind::BarrierToReg(ops.dst(0)?, number, ops.has("CLEAR")))
}

fn warp_sync(ops: &mut Operands<'_>, at: u32) -> Result<Kind, Unknown> {
    let has_mask = |what| matches!(what, What::Register(File::R | File::Ur) | What::Immediate(_) | What::Constant);
    let exclusive = ops.has("EXCLUSIVE");
    let mask = if ops.has("ALL") { None } else { ops.find(has_mask) };
    let members = mask.map(|at| ops.src(at, Sign::Integer)).transpose()?;
    Ok(match ops.has("COLLECTIVE") {
        true => Kind::Collective(members, target(ops, at)?),
        false => Kind::WarpSync { members, exclusive },
    })
}

/// The special registers that are known, by their names.
fn special_of(name: &str) -> Option<Special> {
    Some(match name {
        "SR_TID.X" => Special::Tid(0),
        "SR_TID.Y" => Special::Tid(1),
        "SR_TID.Z" => Special::Tid(2),
        "SR_CTAID.X" => Special::Ctaid(0),
        "SR_CTAID.Y" => Special::Ctaid(1),
        "SR_CTAID.Z" => Special::Ctaid(2),
        "SR_LANEID" => Special::Lane,
        "SR_VIRTID" | "SR_VIRTUALSMID" => Special::Constant(0),
        "SR_WARPID" => Special::Warp,
        "SR_EQMASK" => Special::LaneMask(Order::Eq),
        "SR_LTMASK" => Special::LaneMask(Order::Lt),
        "SR_LEMASK" => Special::LaneMask(Order::Le),
        "SR_GTMASK" => Special::LaneMask(Order::Gt),
        "SR_GEMASK" => Special::LaneMask(Order::Ge),
        // The time is that of the clock.
        "SR_CLOCKLO" | "SR_GLOBALTIMERLO" => Special::Clock(false),
        "SR_CLOCKHI" | "SR_GLOBALTIMERHI" => Special::Clock(true),
        "SR_SWINHI" => Special::SharedWindow,
        "SR_CgaCtaId" => Special::Rank,
        "SR_LMEMHIOFF" => Special::Constant(0),
        // An index into the tables of the driver area, which has one entry here.
        "SR_CgaSize" => Special::Constant(0),
        "SRZ" => Special::Constant(0),
        _ => return None,
    })
}

/// Operands: result, special register.
fn special(ops: &mut Operands<'_>, base: &str) -> Result<Kind, Unknown> {
    let dst = ops.dst(0)?;
    let place = ops.find(|what| matches!(what, What::Special(_))).ok_or("no special register")?;
    let name = ops.part(place)?.name(ops.inst.word).unwrap_or_default();
    let first = special_of(name).ok_or_else(|| format!("special register {name}"))?;
    let wide = base.starts_with("CS2") && !ops.has("32");
    if wide {
        aligned(dst, 2)?;
    }
    let second = if first == Special::Clock(false) { Special::Clock(true) } else { Special::Constant(0) };
    Ok(Kind::Special(dst, [first, second], if wide { 2 } else { 1 }))
}

fn r2ur(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let dst = ops.find(|what| what == What::Register(File::Ur)).ok_or("no result")?;
    let src = ops.find(|what| what == What::Register(File::R)).ok_or("no register")?;
    let (dst, src) = (ops.dst(dst)?, ops.src(src, Sign::Integer)?);
    // Whether one lane has the word, as is usual, changes nothing here.
    ops.has("BROADCAST");
    Ok(Kind::First { dst, src, differs: ops.pred_out(81), or: ops.has("OR") })
}

/// Operands: predicate, result, word, lane, bounds.
fn shuffle(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    const MODES: &[(&str, Shuffle)] =
        &[("IDX", Shuffle::Idx), ("UP", Shuffle::Up), ("DOWN", Shuffle::Down), ("BFLY", Shuffle::Bfly)];
    let mode = ops.one_of(MODES).ok_or("a way of choosing a lane")?;
    let srcs = [ops.src(1, Sign::Integer)?, ops.src(2, Sign::Integer)?, ops.src(3, Sign::Integer)?];
    Ok(Kind::Shuffle { mode, in_range: ops.pred_out(81), dst: ops.dst(0)?, srcs })
}

/// Operands: the lanes, the answer, the predicate.
fn vote(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    const VOTES: &[(&str, Vote)] = &[("ALL", Vote::All), ("ANY", Vote::Any), ("EQ", Vote::Equal)];
    let vote = ops.one_of(VOTES).ok_or("what is asked")?;
    Ok(Kind::Vote { vote, dst: ops.dst(0)?, pred: ops.pred_out(81), src: ops.pred_in(87)? })
}

/// Operands: a predicate with `.ALL`, the lanes, the value.
fn matching(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let all = ops.has("ALL");
    if !all && !ops.has("ANY") {
        return Err("which lanes must match".to_owned());
    }
    let registers = |what| matches!(what, What::Register(File::R));
    let dst = ops.find(registers).ok_or("no result")?;
    let pred = all.then(|| ops.pred_out(81));
    let (value, wide) = (ops.row(dst + 1)?, ops.has("U64"));
    aligned(value, if wide { 2 } else { 1 })?;
    Ok(Kind::Match { dst: ops.dst(dst)?, pred, srcs: (value, wide) })
}

fn redux(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    const OPERATIONS: &[(&str, ReduxOp)] = &[
        ("SUM", ReduxOp::Add),
        ("MIN", ReduxOp::Min),
        ("MAX", ReduxOp::Max),
        ("OR", ReduxOp::Or),
        ("XOR", ReduxOp::Xor),
        ("AND", ReduxOp::And),
    ];
    let src = ops.find(|what| what == What::Register(File::R)).ok_or("no value")?;
    if ops.has("F32") {
        const EXTREMES: &[(&str, (bool, bool))] =
            &[("MIN", (false, false)), ("MAX", (true, false)), ("MINABS", (false, true)), ("MAXABS", (true, true))];
        let (is_largest, without_signs) = ops.one_of(EXTREMES).ok_or("an operation on floats")?;
        let extreme = FloatExtreme { is_largest, without_signs, yields_nan: ops.has("NAN") };
        return Ok(Kind::ReduxFloat(ops.dst(0)?, ops.src(src, Sign::Integer)?, extreme));
    }
    let op = ops.one_of(OPERATIONS).unwrap_or(ReduxOp::And);
    Ok(Kind::Redux(ops.dst(0)?, ops.src(src, Sign::Integer)?, op, ops.has("S32")))
}

fn elect(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let dst = ops.find(|what| matches!(what, What::Register(File::Ur | File::R))).ok_or("no result")?;
    Ok(Kind::Elect(ops.pred_out(81), ops.dst(dst)?))
}

/// Operands: two predicates, three that are read, two tables.
fn plop3(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let dsts = [ops.pred_out(81), ops.pred_out(84)];
    // The last three may be the signs of registers, which then stand for predicates.
    let signs = ops.len() - 2;
    let sides = [(87, 3), (77, 2), (68, 1)].map(|(low, from_end)| match signs >= from_end {
        true if ops.suffix(signs - from_end) != Ok("SIGN") => Err("a register that is no sign".to_owned()),
        true => ops.src(signs - from_end, Sign::Integer).map(Truth::Sign),
        false => ops.pred_in(low).map(Truth::Pred),
    });
    let [a, b, c] = sides;
    Ok(Kind::Plop3(dsts, [a?, b?, c?], [ops.value(signs)? as u8, ops.value(signs + 1)? as u8]))
}

/// The bytes of a word that predicates may be in, but for the first.
const BYTES: &[(&str, u8)] = &[("B1", 1), ("B2", 2), ("B3", 3)];

/// Operands: result, `PR`, the word that is kept, the mask of predicates, which begin with number `first`.
fn p2r(ops: &mut Operands<'_>, first: u8) -> Result<Kind, Unknown> {
    let last = ops.len() - 1;
    let mask = ops.src(last, Sign::Integer)?;
    let mask = ops.literal_of(mask).ok_or("a mask that is no constant")?;
    let byte = ops.one_of(BYTES).unwrap_or(0);
    Ok(Kind::PredsToReg(ops.dst(0)?, ops.src(last - 1, Sign::Integer)?, mask & 0x7f, first, byte))
}

/// Operands: `PR`, the word, the mask of predicates, which begin with number `first`.
fn r2p(ops: &mut Operands<'_>, first: u8) -> Result<Kind, Unknown> {
    let last = ops.len() - 1;
    let mask = ops.src(last, Sign::Integer)?;
    let mask = ops.literal_of(mask).ok_or("a mask that is no constant")?;
    let suffix = ops.suffix(last - 1)?;
    let byte = BYTES.iter().find(|(name, _)| *name == suffix).map_or(0, |(_, byte)| *byte);
    Ok(Kind::RegToPreds(ops.src(last - 1, Sign::Integer)?, mask & 0x7f, first, byte))
}

/// Operands: the barrier's number, how many threads, the predicate of a reduction.
fn cta_barrier(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let kind = match () {
        () if ops.has("ARV") => BarrierUse::Arrive,
        () if ops.has("RED") && ops.has("POPC") => BarrierUse::Reduce(Reduction::Popc),
        () if ops.has("AND") => BarrierUse::Reduce(Reduction::And),
        () if ops.has("OR") => BarrierUse::Reduce(Reduction::Or),
        () if ops.has("SYNC") => BarrierUse::Sync,
        () => return Err("a use of a barrier".to_owned()),
    };
    let is_number = |at: &usize| {
        ops.part(*at).is_ok_and(|part| {
            matches!(part.what, What::Register(File::R | File::Ur) | What::Immediate(_)) && part.is_shown(ops.inst.word)
        })
    };
    let numbers: Vec<usize> = (0..ops.len()).filter(is_number).collect();
    let number = ops.src(*numbers.first().ok_or("no number")?, Sign::Integer)?;
    let count = numbers.get(1).map(|at| ops.src(*at, Sign::Integer)).transpose()?;
    Ok(Kind::Barrier(kind, number, count, condition(ops)))
}

/// Operands: result, and whether it is not zero.
fn barrier_result(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    if !ops.has("RESULT") {
        return Err("the state of a barrier".to_owned());
    }
    Ok(Kind::BarrierResult(ops.dst(0)?, ops.pred_out(81)))
}
