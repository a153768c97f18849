//! Vectorization, LateVectorization and `old-load-store-vectorizer` of cicc: neighbouring loads, and neighbouring
//! stores, as one access of two or four registers.
//!
//! The documents have the names alone (`spec/instruction-movement.txt`, line 204: two wrappers, one engine, candidates
//! from before and after predication; `spec/pass-pipeline.txt`, line 204). LLVM's LoadStoreVectorizer has the same
//! task. Accesses of one block are one vector access if
//!
//! - they are weak, and alike in all but the offset from one register or variable; a guard is the same for all, and
//!   then no register takes the place of what is not loaded;
//! - their offsets follow each other by their size, 16 bytes together at most, and the address of the first is known
//!   to be a multiple of all (`alignment.rs`: the variable's alignment, and the bits of what is counted on). Where
//!   [`Policy::raises`] says so, an array that only this module sees is aligned as the access needs it;
//! - nothing between them may meet them, and nothing there orders memory, has an effect, or is decided by several
//!   threads: loads move up to the first, stores down to the last of them.
//!
//! Parameters stay apart: what calls pass is looked at by name.
//!
//! Cost: per block, accesses times [`WINDOW`].

mod alignment;

use cranelift_entity::SecondaryMap;

use crate::analysis::memory::alias::{Alias, alias};
use crate::analysis::memory::{Effect, Location};
use crate::analysis::{AnalysisSet, Cfg, Loop, LoopNest, MemorySsa};
use crate::pass::{Changed, PhaseContext};
use alignment::{Alignment, Raised};
use oriole_ir::ops::{FieldValue, FieldValues, Flags, Opcode, Order, Space, Vector};
use oriole_ir::sm::Target;
use oriole_ir::{Block, Function, Guard, Inst, InstHead, Operand};

/// How many accesses are looked at together.
const WINDOW: usize = 64;
/// Instructions of a loop that ptxas does not unroll. With vectors in the place of scalars it did so with `sort_radix`,
/// 122 instructions and 4 rounds, and made 371 instructions of it in place of 125 (-O3, 2026-11-29).
const ROLLED: usize = 96;
/// The most bytes of an access.
const WIDEST: u64 = 16;

/// The freedom of an instance of the engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    /// It looks at accesses under guards.
    pub guarded: bool,
    /// It looks at local memory. Later phases take loads from scalar stores before them, and not from vectors.
    pub local: bool,
    /// It aligns arrays wider.
    pub raises: bool,
}

/// Makes vectors of loads, then of stores.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>, policy: Policy) -> Changed {
    let loads = all_of(func, cx, policy, Opcode::Ld, "vectorize-loads");
    if loads.is_yes() {
        cx.analyses.retain(AnalysisSet::CONTROL_FLOW);
    }
    loads | all_of(func, cx, policy, Opcode::St, "vectorize-stores")
}

/// The old-load-store-vectorizer pass, whose arrays other passes have aligned.
pub fn of_cicc(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    run(func, cx, Policy { guarded: false, local: true, raises: false })
}

/// Makes vectors of loads, or of stores. What is found is about the function as it is: where two accesses change
/// places, they were looked at together.
fn all_of(
    func: &mut Function,
    cx: &mut PhaseContext<'_>,
    policy: Policy,
    opcode: Opcode,
    rule: &'static str,
) -> Changed {
    if func.layout_insts().filter(|inst| is_plain(func, *inst, opcode, policy)).nth(1).is_none() {
        return Changed::No;
    }
    let memory = cx.analyses.get::<MemorySsa>(func);
    let alignment = Alignment::new(func, cx, policy.raises);
    let finder = Finder { func, memory: &memory, alignment: &alignment, target: cx.target, policy, opcode };
    let sizes = sizes(func, &cx.analyses.get(func), &cx.analyses.get(func));
    let groups: Vec<Group> = func.layout().iter().flat_map(|block| finder.of_block(*block)).collect();
    let mut changed = Changed::No;
    let mut shrunk: Vec<Block> = Vec::new();
    for group in groups {
        if cx.rewrite(rule) {
            shrunk.extend(func.block_of(group.at).filter(|block| shrunk.last() != Some(block)));
            group.join(func, cx);
            changed = Changed::Yes;
        }
    }
    if changed.is_yes() && policy.raises {
        keep_rolled(func, cx, &sizes, &shrunk);
    }
    changed
}

/// Instructions of loops, by loop.
type Sizes = SecondaryMap<Loop, usize>;

/// The instructions of the innermost loops.
fn sizes(func: &Function, cfg: &Cfg, nest: &LoopNest) -> Sizes {
    let mut sizes = Sizes::new();
    for block in func.layout() {
        if let Some(of) = nest.innermost(cfg, *block) {
            sizes[of] += func.block_insts(*block).len();
        }
    }
    sizes
}

/// A loop that was too large for ptxas to unroll stays one where vectors have made it smaller.
fn keep_rolled(func: &mut Function, cx: &mut PhaseContext<'_>, sizes: &Sizes, shrunk: &[Block]) {
    let (cfg, nest) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<LoopNest>(func));
    for of in shrunk.iter().filter_map(|block| nest.innermost(&cfg, *block)) {
        if sizes[of] > ROLLED {
            func.set_nounroll(nest.header(of), true);
        }
    }
}

/// Whether an instruction may be part of a vector.
fn is_plain(func: &Function, inst: Inst, opcode: Opcode, policy: Policy) -> bool {
    let data = func.inst(inst);
    data.opcode == opcode
        && (data.guard.is_none() || policy.guarded && func.elses(inst).iter().all(|other| other.reg().is_none()))
        && data.vector_len() == 1
        && data.field::<Order>().is_none_or(|order| order == Order::Weak)
        && data.field::<Space>() != Some(Space::Param)
        && (policy.local || data.field::<Space>() != Some(Space::Local))
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
    bytes: u64,
    /// The variables that must be aligned to as many bytes.
    raised: Vec<Raised>,
}

impl Group {
    fn join(self, func: &mut Function, cx: &mut PhaseContext<'_>) {
        let Group { members, fields, at, bytes, raised } = self;
        for which in raised {
            match which {
                Raised::Local(local) => func.locals[local].align = func.locals[local].align.max(bytes as u32),
                Raised::Global(global) => cx.align_variable(global, bytes as u32),
            }
        }
        let first = members[0];
        let head = InstHead { fields, ..func.inst(first).head() };
        let dsts: Vec<Operand> = members.iter().flat_map(|inst| func.dsts(*inst)).copied().collect();
        let values = members.iter().flat_map(|inst| &func.srcs(*inst)[2..]).copied();
        let srcs: Vec<Operand> = func.srcs(first)[..2].iter().copied().chain(values).collect();
        let elses: Vec<Operand> = members.iter().flat_map(|inst| func.elses(*inst)).copied().collect();
        let vector = func.new_inst(head, &dsts, &srcs, &elses);
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
    policy: Policy,
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
            if !is_plain(self.func, access.inst, self.opcode, self.policy) {
                continue;
            }
            let data = self.func.inst(access.inst);
            let kind = (self.func.srcs(access.inst)[0], data.head().fields, data.guard);
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
        if size == 0 || whole > WIDEST || !follow {
            return None;
        }
        let raised = self.alignment.needs(self.func, base, members[0].0 as u64, whole)?;
        let mut places: Vec<usize> = members.iter().map(|(_, place)| *place).collect();
        places.sort_unstable();
        let at = if self.opcode == Opcode::Ld { places[0] } else { places[count - 1] };
        let comes = |place: &usize| self.may_pass(window, *place, at);
        let insts = members.iter().map(|(_, place)| window[*place].inst).collect();
        places.iter().all(comes).then(|| Group { members: insts, fields, at: window[at].inst, bytes: whole, raised })
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

/// The things that members of a vector have in common: the base of their offsets, their fields, and their guard.
type Kind = (Operand, FieldValues, Option<Guard>);
