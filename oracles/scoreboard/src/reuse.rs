//! The operand cache: what an instruction leaves there for a later one.
//!
//! A word marks an operand by a bit (`R5.reuse`), and the register stays in the slot of that operand until another
//! register takes it. ptxas writes no register that is in the cache: in straight code of it, 30,000 marks have none.
//! Here a cached register that is written and then read in its slot is a hazard.

use oriole_sass::row::{File, Part};

use crate::access::Unit;
use crate::code::Code;
use crate::walk::{Kind, Meeting};

/// The bits of the marks, one for each slot.
const MARKS: [u8; 4] = [122, 123, 124, 125];

/// What a slot holds.
#[derive(Clone, Copy)]
struct Cached {
    unit: Unit,
    from: usize,
    is_stale: bool,
}

/// Gives each read of a slot whose register has been written since. The cache is empty where a block begins.
pub(crate) fn walk(code: &Code, meet: &mut dyn FnMut(&Meeting)) {
    let leaders = code.leaders();
    let mut slots: [Option<Cached>; MARKS.len()] = [None; MARKS.len()];
    for (index, node) in code.nodes.iter().enumerate() {
        if leaders[index] {
            slots = [None; MARKS.len()];
        }
        let word = node.inst.word;
        for (slot, mark) in slots.iter_mut().zip(MARKS) {
            let of_slot = |part: &&Part| part.reuse == mark && part.file() == Some(File::R);
            let part = node.inst.encoding.parts.iter().find(of_slot);
            let Some(part) = part.filter(|part| part.constant_number() != Some(part.number(word))) else { continue };
            let Some(unit) = Unit::new(File::R, part.number(word)) else { continue };
            if let Some(cached) = slot.filter(|cached| cached.is_stale && cached.unit == unit) {
                let (first, place) = (cached.from, part.at.low);
                let kind = Kind::Reuse;
                meet(&Meeting {
                    kind,
                    first,
                    second: index,
                    unit,
                    place,
                    word: 0,
                    elapsed: 0,
                    is_fixed: false,
                    barrier: None,
                });
            }
            *slot = part.has(mark, word).then_some(Cached { unit, from: index, is_stale: false });
        }
        for cached in slots.iter_mut().flatten() {
            cached.is_stale |= node.accesses.writes.contains(&cached.unit);
        }
    }
}
