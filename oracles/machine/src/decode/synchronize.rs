//! Barriers in shared memory, what they count, and clusters.

use oriole_ir::ops::{AtomOp, Type};
use oriole_sass::row::{File, What};
use oriole_semantics::mbarrier::Arrive;

use super::aligned;
use super::memory::OPERATIONS;
use crate::operands::{Operands, Unknown};
use crate::program::*;

/// The operation of a mnemonic of this family.
pub fn decode(base: &str, ops: &mut Operands<'_>) -> Option<Result<Kind, Unknown>> {
    Some(match base {
        "SYNCS" => barrier(ops),
        "ATOMS" if ops.has("ARRIVE") => arrive_before_90(ops),
        "ARRIVES" => arrive_for_copies(ops),
        "UBLKCP" => bulk(ops),
        "UBLKRED" => reduction(ops),
        "STAS" => remote(ops, None),
        "REDAS" => remote_reduction(ops),
        "UCGABAR_ARV" => Ok(Kind::ClusterArrive),
        "UCGABAR_WAIT" => Ok(Kind::ClusterWait),
        // What runs beside the threads is done where it begins.
        "UTMACMDFLUSH" | "UBLKPF" | "UTMACCTL" => Ok(Kind::Nop),
        _ => return None,
    })
}

/// The row of a register among the operands that is no part of an address.
fn register(ops: &Operands<'_>, file: File, last: bool) -> Result<u16, Unknown> {
    let is_one = |at: &usize| ops.part(*at).is_ok_and(|part| part.what == What::Register(file));
    let mut found = (0..ops.len()).filter(is_one);
    let at = if last { found.next_back() } else { found.next() };
    at.ok_or_else(|| "no register".to_owned()).and_then(|at| ops.row(at))
}

/// Operands: the old content or the answer, the address, the operand.
fn barrier(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    if ops.has("CCTL") {
        ops.take_modifiers();
        return Ok(Kind::Nop);
    }
    let op = match () {
        () if ops.has("EXCH") => SyncOp::Exchange,
        () if ops.has("LD") => SyncOp::Load,
        () if ops.has("PHASECHK") => SyncOp::IsOver,
        () if ops.has("ARRIVE") => arrival(ops)?,
        () => return Err("an operation on barriers".to_owned()),
    };
    // To wait for a while is to ask.
    ["64", "TRANS64", "TRYWAIT", "WATCH"].iter().for_each(|name| _ = ops.has(name));
    let file = if matches!(op, SyncOp::Exchange) || ops.find(|what| what == What::Register(File::R)).is_none() {
        File::Ur
    } else {
        File::R
    };
    let dst = match op {
        SyncOp::IsOver => SINK,
        _ => aligned(Some(register(ops, file, false)?).filter(|row| *row != ZERO).unwrap_or(SINK), 2)?,
    };
    let src = if op == SyncOp::Load { ZERO } else { register(ops, file, true)? };
    let words = if op == SyncOp::Exchange { 2 } else { 1 };
    let (address, is_remote) = (ops.address(0)?, ops.has("RED"));
    let sync = Synchronize { op, dst, pred: ops.pred_out(81), address, is_remote, src: aligned(src, words)? };
    Ok(Kind::Sync(Box::new(sync)))
}

fn arrival(ops: &Operands<'_>) -> Result<SyncOp, Unknown> {
    let arrive = Arrive { drops: ops.has("OPTOUT"), ..Arrive::default() };
    if ops.has("TMASK") {
        return Err("arrivals that do not end a phase".to_owned());
    }
    // `A` counts arrivals and `T` bytes: so many, as the operand says, or as many as the operand says have come.
    const COUNTS: &[(&str, Count)] =
        &[("A1T0", Count::One), ("ART0", Count::Operand), ("A0TR", Count::Bytes), ("A0TX", Count::Complete)];
    if ops.has("A0T1") {
        // What is expected comes at once with the copies that an arrival waits for.
        return Ok(SyncOp::Load);
    }
    Ok(SyncOp::Arrive(ops.one_of(COUNTS).unwrap_or(Count::Expects), arrive))
}

/// Operands: the old content, the address.
fn arrive_before_90(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    ops.has("64");
    let dst = Some(register(ops, File::R, false)?).filter(|row| *row != ZERO).unwrap_or(SINK);
    let op = SyncOp::ArriveBefore90;
    let sync =
        Synchronize { op, dst: aligned(dst, 2)?, pred: NOWHERE, address: ops.address(0)?, is_remote: false, src: ZERO };
    Ok(Kind::Sync(Box::new(sync)))
}

/// Operand: the address. Copies of threads are done where they begin, so that this arrives at once.
fn arrive_for_copies(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let named = ops.take_modifiers();
    let op = match () {
        () if named.contains(&"TRANSCNT") => return Ok(Kind::Nop),
        () if named.contains(&"ARVCNT") => SyncOp::Arrive(Count::One, Arrive::default()),
        () => SyncOp::ArriveBefore90,
    };
    let address = ops.address(0)?;
    let sync = Synchronize { op, dst: SINK, pred: NOWHERE, address, is_remote: false, src: ZERO };
    Ok(Kind::Sync(Box::new(sync)))
}

/// The uniform registers of a bulk operation: where to, where from, the size.
fn places(ops: &Operands<'_>) -> Result<[u16; 3], Unknown> {
    let is_place =
        |at: &usize| ops.part(*at).is_ok_and(|part| matches!(part.what, What::UniformBase | What::Register(File::Ur)));
    let found: Vec<usize> = (0..ops.len()).filter(is_place).collect();
    let [to, from, size] = found[..] else { return Err("a cache policy".to_owned()) };
    Ok([ops.row(to)?, ops.row(from)?, ops.row(size)?])
}

fn bulk(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let named = ops.take_modifiers();
    let spaces: Vec<&str> = named.iter().copied().filter(|name| matches!(*name, "G" | "S")).collect();
    let [to_global, from_global] = match spaces[..] {
        [to, from] => [to == "G", from == "G"],
        _ => return Err("the memories of a copy".to_owned()),
    };
    let [to, from, size] = places(ops)?;
    let (to, from) = (aligned(to, 2)?, aligned(from, if from_global { 2 } else { 1 })?);
    let multicast = named.contains(&"MULTICAST");
    Ok(Kind::Bulk(Box::new(Bulk { to_global, from_global, to, from, size, multicast, combine: None })))
}

/// Operands as of a copy from shared memory.
fn reduction(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    const TYPES: &[(&str, Type)] = &[
        ("S32", Type::S32),
        ("U64", Type::U64),
        ("S64", Type::S64),
        ("F16", Type::F16),
        ("BF16", Type::Bf16),
        ("F32", Type::F32),
        ("F64", Type::F64),
    ];
    let op = ops.one_of(OPERATIONS).ok_or("an operation")?;
    let ty = ops.one_of(TYPES).unwrap_or(Type::U32);
    let Kind::Bulk(copy) = bulk(ops)? else { return Err("no copy".to_owned()) };
    Ok(Kind::Bulk(Box::new(Bulk { combine: Some((op, ty)), ..*copy })))
}

/// Operands: the addresses of memory and of the barrier in a pair of registers, and the value.
fn remote(ops: &mut Operands<'_>, combine: Option<(AtomOp, Type)>) -> Result<Kind, Unknown> {
    let bytes = ops.one_of(&[("64", 8), ("128", 16)]).unwrap_or(4);
    let base = ops.find(|what| what == What::Base).ok_or("no address")?;
    if ops.suffix(base)? == "U32" {
        return Err("the barrier of a uniform register".to_owned());
    }
    let address = aligned(ops.row(base)?, 2)?;
    let has_uniform = ops.address(0)?.uniform.is_some();
    if address == ZERO || has_uniform {
        return Err("an address of that form".to_owned());
    }
    let src = aligned(register(ops, File::R, true)?, u16::from(bytes / 4))?;
    Ok(Kind::Remote(Box::new(Remote { address, offset: ops.address(0)?.offset, src, bytes, combine })))
}

fn remote_reduction(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let op = ops.one_of(OPERATIONS).ok_or("an operation")?;
    let ty = ops.one_of(&[("S32", Type::S32), ("64", Type::U64)]).unwrap_or(Type::U32);
    remote(ops, Some((op, ty)))
}
