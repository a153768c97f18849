//! The effect columns of `sass` rows against what this interpreter does with their words.
//!
//! A row says what a mnemonic does to memory, whether it depends on the lanes beside, what keeps it where it is and
//! where control goes. The decoder here knows the same from another source: the operation that it executes. Random
//! words of every encoding are decoded, and what the operation does is held against the row.

use std::collections::{BTreeMap, BTreeSet};

use oriole_interp::ImageKind;
use oriole_sass::class::{Class, Flow, Memory, Order, Space as Stated};
use oriole_sass::{SMS, Table, sample};

use super::decode::decode;
use super::program::*;

/// What an operation does, as far as rows say it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Done {
    memory: Memory,
    space: Option<Space>,
    /// Whether it looks at other lanes, or changes how they meet.
    together: bool,
    /// Whether it has an effect beside registers and memory.
    stays: bool,
    /// Whether control may go elsewhere.
    goes: bool,
    /// Whether it runs beside the thread.
    beside: bool,
}

const COMPUTES: Done =
    Done { memory: Memory::None, space: None, together: false, stays: false, goes: false, beside: false };

/// What an operation does; `None` for what is not modelled.
fn done(kind: &Kind) -> Option<Done> {
    let memory = |memory, space: Option<Space>| Done { memory, space, ..COMPUTES };
    let stays = Done { stays: true, ..COMPUTES };
    Some(match kind {
        Kind::Unknown(_) => return None,
        Kind::Load { space, .. } => memory(Memory::Read, Some(*space)),
        Kind::LoadCombined { .. } => memory(Memory::Read, Some(Space::Global)),
        Kind::LoadTiles { .. } => Done { together: true, ..memory(Memory::Read, Some(Space::Shared)) },
        Kind::LoadConstant { .. } => memory(Memory::Read, None),
        Kind::Store { space, .. } => memory(Memory::Write, Some(*space)),
        Kind::Image(word) if matches!(word.access.kind, ImageKind::Query(_)) => COMPUTES,
        Kind::Image(word) if matches!(word.access.kind, ImageKind::Reduce(_) | ImageKind::ReduceTexel(_)) => {
            memory(Memory::Update, None)
        }
        Kind::Image(word) if word.access.results > 0 => memory(Memory::Read, None),
        Kind::Image(_) => memory(Memory::Write, None),
        Kind::StoreTiles { .. } => Done { together: true, ..memory(Memory::Write, Some(Space::Shared)) },
        Kind::Atomic { space, .. } => memory(Memory::Update, Some(*space)),
        Kind::Sync(_) => Done { stays: true, ..memory(Memory::Update, Some(Space::Shared)) },
        Kind::CopyAsync { .. } | Kind::Bulk(_) | Kind::Remote(_) | Kind::GroupMultiply(_) => {
            Done { beside: true, stays: true, ..memory(Memory::Update, None) }
        }
        Kind::Multiply { .. }
        | Kind::Transpose(..)
        | Kind::First { .. }
        | Kind::Shuffle { .. }
        | Kind::Vote { .. }
        | Kind::Match { .. }
        | Kind::Redux(..)
        | Kind::ReduxFloat(..)
        | Kind::Elect(..) => Done { together: true, ..COMPUTES },
        Kind::Branch(..) | Kind::BranchAny(..) | Kind::BranchDivergent { .. } | Kind::Jump(..) | Kind::Call(_) => {
            Done { together: true, goes: true, ..stays }
        }
        Kind::Exit(_) => Done { together: true, goes: true, ..stays },
        Kind::Bssy(_)
        | Kind::Bsync(_)
        | Kind::Break(_)
        | Kind::WarpSync { .. }
        | Kind::Collective(..)
        | Kind::EndCollective
        | Kind::Barrier(..)
        | Kind::ClusterArrive
        | Kind::ClusterWait => Done { together: true, ..stays },
        Kind::Nop
        | Kind::Yield
        | Kind::Trap
        | Kind::Here(..)
        | Kind::BarrierToReg(..)
        | Kind::RegToBarrier(..)
        | Kind::BarrierResult(..) => stays,
        Kind::Special(..) => COMPUTES,
        Kind::Either(_, both) | Kind::Sequence(both) => both_of(done(&both[0])?, done(&both[1])?),
        Kind::If(_, kind) => done(kind)?,
        _ => COMPUTES,
    })
}

fn both_of(a: Done, b: Done) -> Done {
    let memory = if a.memory == Memory::None { b.memory } else { a.memory };
    Done {
        memory,
        space: a.space.or(b.space),
        together: a.together || b.together,
        stays: a.stays || b.stays,
        goes: a.goes || b.goes,
        beside: a.beside || b.beside,
    }
}

/// What a row says otherwise.
fn contradiction(class: &Class, done: Done) -> Option<&'static str> {
    let space = match done.space {
        Some(Space::Generic) => class.space == Stated::Generic,
        Some(Space::Global) => class.space == Stated::Global,
        Some(Space::Shared | Space::Cluster) => class.space == Stated::Shared,
        Some(Space::Local) => class.space == Stated::Local,
        None => true,
    } || class.space == Stated::Several;
    let is_call = class.flow == Flow::Call;
    if done.memory != class.memory && !done.stays && !is_call {
        return Some("what it does to memory");
    }
    if done.memory != Memory::None && class.memory != done.memory {
        return Some("what it does to memory");
    }
    if !space {
        return Some("the space");
    }
    if done.together && !class.convergent && !done.beside {
        return Some("that it depends on other lanes");
    }
    if done.stays && class.order == Order::Free && class.flow == Flow::Next && !class.convergent {
        return Some("what keeps it where it is");
    }
    if !done.stays && !matches!(class.order, Order::Free | Order::Special) {
        return Some("that nothing keeps it where it is");
    }
    if done.beside != (class.order == Order::Asynchronous) && done.memory != Memory::None {
        return Some("that it goes on beside the thread");
    }
    (done.goes != (class.flow != Flow::Next)).then_some("where control goes")
}

#[test]
fn rows_say_what_their_words_do() {
    let mut state = 1u64;
    let mut next = move || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state ^ state >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 7
    };
    let (mut wrong, mut known, mut all) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
    for table in SMS.into_iter().filter_map(Table::of) {
        for encoding in table.encodings() {
            all.insert(encoding.name);
            for _ in 0..48 {
                let word = sample::word(encoding, true, &mut next);
                if table.decode(word).is_err() {
                    continue;
                }
                let program = decode(table, &[word], vec![(0, "k".to_owned())], None);
                let Some(found) = done(&program.ops[0].kind) else { continue };
                known.insert(encoding.name);
                if let Some(what) = contradiction(&encoding.class, found) {
                    wrong.entry(encoding.name).or_insert((what, found, encoding.class));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "rows say otherwise: {wrong:#?}");
    // Of the others this interpreter knows no meaning, or random words seldom are ones that it does.
    assert!(known.len() > 150, "only {} of {} mnemonics were decoded", known.len(), all.len());
}
