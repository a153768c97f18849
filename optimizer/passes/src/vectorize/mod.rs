//! `old-load-store-vectorizer`: neighbouring loads, and neighbouring stores, as one access of two or four registers
//! (`spec/pass-pipeline.txt`, line 204, which has the name alone; LLVM's LoadStoreVectorizer has the same task).
//!
//! Accesses of one block are one vector access if
//!
//! - they are weak, have no guard, and are alike in all but the offset from one register or variable;
//! - their offsets follow each other by their size, 16 bytes together at most, and the address of the first is known
//!   to be a multiple of all (`alignment.rs`: the variable's alignment, and the bits of what is counted on);
//! - nothing between them may meet them, and nothing there orders memory, has an effect, or is decided by several
//!   threads: loads move up to the first, stores down to the last of them.
//!
//! Parameters stay apart: what calls pass is looked at by name.
//!
//! Cost: per block, accesses times [`WINDOW`].

mod alignment;

use alignment::Alignment;
use oriole_ir::ops::{FieldValue, FieldValues, Flags, Opcode, Order, Space, Vector};
use oriole_ir::sm::Target;
use oriole_ir::{Block, Function, Inst, InstHead, Operand};
use oriole_pass::analysis::memory::alias::{Alias, alias};
use oriole_pass::analysis::memory::{Effect, Location};
use oriole_pass::analysis::{AnalysisSet, MemorySsa};
use oriole_pass::pass::{Changed, PhaseContext};

/// How many accesses are looked at together.
const WINDOW: usize = 64;
/// The most bytes of an access.
const WIDEST: u64 = 16;

/// The old-load-store-vectorizer pass.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let loads = all_of(func, cx, Opcode::Ld, "vectorize-loads");
    if loads.is_yes() {
        cx.analyses.retain(AnalysisSet::CONTROL_FLOW);
    }
    loads | all_of(func, cx, Opcode::St, "vectorize-stores")
}

/// Makes vectors of loads, or of stores. What is found is about the function as it is: where two accesses change
/// places, they were looked at together.
fn all_of(func: &mut Function, cx: &mut PhaseContext<'_>, opcode: Opcode, rule: &'static str) -> Changed {
    if func.layout_insts().filter(|inst| is_plain(func, *inst, opcode)).nth(1).is_none() {
        return Changed::No;
    }
    let memory = cx.analyses.get::<MemorySsa>(func);
    let alignment = Alignment::new(func, cx);
    let finder = Finder { func, memory: &memory, alignment: &alignment, target: cx.target, opcode };
    let groups: Vec<Group> = func.layout().iter().flat_map(|block| finder.of_block(*block)).collect();
    let mut changed = Changed::No;
    for group in groups {
        if cx.rewrite(rule) {
            group.join(func);
            changed = Changed::Yes;
        }
    }
    changed
}

/// Whether an instruction may be part of a vector.
fn is_plain(func: &Function, inst: Inst, opcode: Opcode) -> bool {
    let data = func.inst(inst);
    data.opcode == opcode
        && data.guard.is_none()
        && data.vector_len() == 1
        && data.field::<Order>().is_none_or(|order| order == Order::Weak)
        && data.field::<Space>() != Some(Space::Param)
        && func.dsts(inst).iter().all(|dst| dst.whole_reg().is_some())
        && func.imm_bits(func.srcs(inst)[1]).is_some()
}

/// Accesses that become one.
struct Group {
    /// By address.
    members: Vec<Inst>,
    fields: FieldValues,
    /// Where they come together.
    at: Inst,
}

impl Group {
    fn join(self, func: &mut Function) {
        let Group { members, fields, at } = self;
        let first = members[0];
        let head = InstHead { fields, ..func.inst(first).head() };
        let dsts: Vec<Operand> = members.iter().flat_map(|inst| func.dsts(*inst)).copied().collect();
        let values = members.iter().flat_map(|inst| &func.srcs(*inst)[2..]).copied();
        let srcs: Vec<Operand> = func.srcs(first)[..2].iter().copied().chain(values).collect();
        let vector = func.new_inst(head, &dsts, &srcs, &[]);
        func.insert_before(at, vector);
        members.into_iter().for_each(|inst| func.remove_inst(inst));
    }
}

/// An access in a block, in program order.
struct Access {
    inst: Inst,
    at: Location,
    writes: bool,
}

struct Finder<'a> {
    func: &'a Function,
    memory: &'a MemorySsa,
    alignment: &'a Alignment<'a>,
    target: Target,
    opcode: Opcode,
}

impl Finder<'_> {
    fn of_block(&self, block: Block) -> Vec<Group> {
        let (mut window, mut groups) = (Vec::new(), Vec::new());
        for inst in self.func.block_insts(block) {
            match self.memory.effect(inst) {
                Effect::Reads(at) => window.push(Access { inst, at, writes: false }),
                Effect::Writes(at) if self.func.inst(inst).opcode == Opcode::St => {
                    window.push(Access { inst, at, writes: true });
                }
                Effect::None if !self.stops(inst) => {}
                _ => self.close(&mut window, &mut groups),
            }
            if window.len() == WINDOW {
                self.close(&mut window, &mut groups);
            }
        }
        self.close(&mut window, &mut groups);
        groups
    }

    /// Whether no access may move past an instruction that accesses nothing.
    fn stops(&self, inst: Inst) -> bool {
        let data = self.func.inst(inst);
        [Flags::EFFECT, Flags::FENCE, Flags::ASYNC, Flags::TERMINATOR].into_iter().any(|flag| data.is(flag))
            || data.opcode == Opcode::Call
    }

    /// Finds the groups of a window, and empties it.
    fn close(&self, window: &mut Vec<Access>, groups: &mut Vec<Group>) {
        let mut alike: Vec<(Kind, Vec<(i64, usize)>)> = Vec::new();
        for (place, access) in window.iter().enumerate() {
            if !is_plain(self.func, access.inst, self.opcode) {
                continue;
            }
            let kind = (self.func.srcs(access.inst)[0], self.func.inst(access.inst).head().fields);
            let offset = self.func.imm_bits(self.func.srcs(access.inst)[1]).unwrap_or_default() as i64;
            match alike.iter_mut().find(|(of, _)| *of == kind) {
                Some((_, members)) => members.push((offset, place)),
                None => alike.push((kind, vec![(offset, place)])),
            }
        }
        for (_, mut members) in alike {
            members.sort_unstable();
            // Of two accesses to one place, only the first may become part of a vector.
            members.dedup_by_key(|(offset, _)| *offset);
            self.of_alike(window, &members, groups);
        }
        window.clear();
    }

    /// The groups of accesses that differ in their offsets alone, which are sorted.
    fn of_alike(&self, window: &[Access], members: &[(i64, usize)], groups: &mut Vec<Group>) {
        let mut rest = members;
        while !rest.is_empty() {
            let group = [Vector::V4, Vector::V2].into_iter().find_map(|vector| {
                let first = rest.get(..vector.len())?;
                self.group(window, first, vector)
            });
            rest = &rest[group.as_ref().map_or(1, |group| group.members.len())..];
            groups.extend(group);
        }
    }

    /// These accesses as one, if they can be.
    fn group(&self, window: &[Access], members: &[(i64, usize)], vector: Vector) -> Option<Group> {
        let first = window[members[0].1].inst;
        let (size, count) = (i64::from(self.func.inst(first).ty().bits() / 8), vector.len());
        let whole = size as u64 * count as u64;
        let follow = members.windows(2).all(|pair| pair[0].0.checked_add(size) == Some(pair[1].0));
        let fields = self.wide_fields(first, vector)?;
        let base = self.func.srcs(first)[0];
        let fits = size > 0 && whole <= WIDEST && follow;
        if !fits || !self.alignment.holds(self.func, base, members[0].0 as u64, whole) {
            return None;
        }
        let mut places: Vec<usize> = members.iter().map(|(_, place)| *place).collect();
        places.sort_unstable();
        let at = if self.opcode == Opcode::Ld { places[0] } else { places[count - 1] };
        let comes = |place: &usize| self.may_pass(window, *place, at);
        let insts = members.iter().map(|(_, place)| window[*place].inst).collect();
        places.iter().all(comes).then(|| Group { members: insts, fields, at: window[at].inst })
    }

    /// Whether an access may stand at another place: nothing between the two meets it.
    fn may_pass(&self, window: &[Access], from: usize, to: usize) -> bool {
        let between = if from < to { from + 1..to + 1 } else { to..from };
        let (moved, is_read) = (&window[from].at, !window[from].writes);
        window[between].iter().all(|other| is_read && !other.writes || alias(&other.at, moved, false) == Alias::No)
    }

    /// The fields of the vector access, where the machine has it.
    fn wide_fields(&self, inst: Inst, vector: Vector) -> Option<FieldValues> {
        let row = self.opcode.row();
        let mut fields = self.func.inst(inst).head().fields;
        fields.0[row.slot(Vector::FIELD)?] = vector.index();
        let is_legal = row.broken_rule(&fields).is_none() && row.missing_on(self.target, &fields).is_none();
        is_legal.then_some(fields)
    }
}

/// The things that members of a vector have in common: the base of their offsets, and their fields.
type Kind = (Operand, FieldValues);
