//! Values that can be computed again wherever they are read.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Limits, Reader};
use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Block, Function, Inst, Reg, RegFile};
use oriole_pass::analysis::{Awaited, Cfg, LiveWalk, Liveness, LoopNest, reads_kernel_parameter};
use oriole_pass::edit::graph::{incoming, phis};
use oriole_pass::pass::PhaseContext;

/// A value that is cheap.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) reg: Reg,
    /// Its definition.
    pub(super) inst: Inst,
    /// The block of that.
    pub(super) block: Block,
    /// The registers that the definition reads.
    pub(super) operands: Vec<Reg>,
    /// Where it is to be computed again.
    pub(super) readers: Vec<Reader>,
    /// Readers that keep the value as it is.
    pub(super) stays: Vec<Reader>,
}

impl Candidate {
    pub(super) fn words(&self, func: &Function) -> u32 {
        u32::from(func.regs()[self.reg].words)
    }

    /// Instructions more, once it is computed again.
    pub(super) fn price(&self) -> usize {
        self.readers.len() - usize::from(self.stays.is_empty())
    }
}

/// Cheap values of a function, in the order of their definitions: they are computed from what is live wherever they are
/// read, and read in no loop that they are not computed in.
pub(super) fn candidates(func: &Function, cx: &mut PhaseContext<'_>, limits: Limits) -> Vec<Candidate> {
    let (cfg, nest) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<LoopNest>(func));
    let liveness = cx.analyses.get::<Liveness>(func);
    let awaited = Awaited::new(func);
    let mut found = Vec::new();
    let mut number: FxHashMap<Reg, usize> = FxHashMap::default();
    for block in cfg.blocks() {
        for inst in func.block_insts(*block) {
            let Some(reg) = is_cheap(func, inst, limits).filter(|_| !awaited.is_read_by(func, inst)) else { continue };
            number.insert(reg, found.len());
            let operands = func.uses(inst).collect();
            let (readers, stays) = (Vec::new(), Vec::new());
            found.push(Candidate { reg, inst, block: *block, operands, readers, stays });
        }
    }
    let mut bad: FxHashSet<usize> = FxHashSet::default();
    let mut walk = LiveWalk::new(func);
    for block in cfg.blocks() {
        walk.start(&liveness, *block);
        for successor in cfg.successors(*block) {
            for phi in phis(func, *successor) {
                let read = incoming(func, phi, *block).and_then(|operand| operand.reg());
                let known = read.and_then(|reg| number.get(&reg));
                known.into_iter().for_each(|at| note(&mut found[*at], *at, phi, *block, &walk, &mut bad));
            }
        }
        for inst in func.block_insts(*block).rev() {
            walk.step(func, inst);
            if func.inst(inst).opcode == Opcode::Phi {
                continue;
            }
            for at in func.uses(inst).filter_map(|reg| number.get(&reg)) {
                note(&mut found[*at], *at, inst, *block, &walk, &mut bad);
            }
        }
    }
    let deep = |block: Block| nest.depth(&cfg, block);
    let in_its_loops =
        |candidate: &Candidate| candidate.readers.iter().all(|reader| deep(reader.block) <= deep(candidate.block));
    let fits = |at: &usize, candidate: &Candidate| {
        let readers = candidate.readers.len();
        !bad.contains(at) && (1..=limits.uses).contains(&readers) && in_its_loops(candidate)
    };
    let numbered = found.into_iter().enumerate();
    numbered.filter(|(at, candidate)| fits(at, candidate)).map(|(_, candidate)| candidate).collect()
}

/// Notes a reader, once; where an operand of the value is not live there, the value is no candidate.
fn note(of: &mut Candidate, at: usize, inst: Inst, block: Block, walk: &LiveWalk, bad: &mut FxHashSet<usize>) {
    let reader = Reader { inst, block };
    if !of.readers.contains(&reader) {
        of.readers.push(reader);
    }
    if !of.operands.iter().all(|operand| walk.is_live(*operand)) {
        bad.insert(at);
    }
}

/// The only result of an instruction that yields the same wherever it stands, and costs little.
fn is_cheap(func: &Function, inst: Inst, limits: Limits) -> Option<Reg> {
    let data = func.inst(inst);
    let mut defs = func.defs(inst);
    let reg = defs.next().filter(|_| defs.next().is_none())?;
    let info = func.regs()[reg];
    let loads = reads_kernel_parameter(func, inst);
    let copies = data.opcode == Opcode::Phi || data.is(Flags::COPY) && func.uses(inst).next().is_some();
    let computes = data.is(Flags::PURE) && !copies && data.opcode.row().cost(&data.fields) <= limits.cost;
    let named = func.uses(inst).all(|operand| matches!(func.regs()[operand].file, RegFile::R | RegFile::P));
    let fits = info.file == RegFile::R && info.words <= 2 && data.guard.is_none() && named;
    (fits && (computes || loads && limits.parameters)).then_some(reg)
}
