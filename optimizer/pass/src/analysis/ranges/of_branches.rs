//! Ranges for questions about branches: what decides where control goes, and all that this is computed from, is a
//! fraction of most functions.

use cranelift_entity::EntitySet;

use super::{RangeContext, Ranges};
use crate::analysis::{Analyses, Analysis, AnalysisId, KnownBits, StoredValues};
use oriole_ir::ops::Flags;
use oriole_ir::{Function, Operand, Reg};

/// The ranges of what branches depend on: about any other register, that nothing is known.
#[derive(Clone, PartialEq, Debug)]
pub struct BranchRanges(pub Ranges);

impl Analysis for BranchRanges {
    type Of = Function;
    const ID: AnalysisId = AnalysisId::BranchRanges;

    fn compute(func: &Function, analyses: &mut Analyses) -> BranchRanges {
        let (cfg, dominators, definitions) = (analyses.get(func), analyses.get(func), analyses.get(func));
        let cx = RangeContext { func, cfg: &cfg, dominators: &dominators, definitions: &definitions };
        let (regs, reads_memory) = dependences(cx, analyses);
        let stored = reads_memory.then(|| analyses.get::<StoredValues>(func));
        let known = KnownBits::solve(func, &cfg, stored.as_deref(), Some(&regs));
        BranchRanges(Ranges::solve(cx, &known, stored.as_deref(), Some(&regs)))
    }
}

/// What the ends of blocks read, and whatever a register among it is computed from; whether memory is.
fn dependences(cx: RangeContext<'_>, analyses: &mut Analyses) -> (EntitySet<Reg>, bool) {
    let RangeContext { func, definitions, .. } = cx;
    let (mut found, mut reads_memory) = (EntitySet::new(), false);
    let mut open: Vec<Reg> =
        func.layout().iter().filter_map(|block| func.terminator(*block)).flat_map(|inst| func.uses(inst)).collect();
    while let Some(reg) = open.pop() {
        let Some(inst) = definitions.inst(reg).filter(|_| found.insert(reg)) else { continue };
        open.extend(func.uses(inst));
        if func.inst(inst).is(Flags::READS) {
            reads_memory = true;
            let stored = analyses.get::<StoredValues>(func);
            let read = |index| stored.read_by(func, inst, index).and_then(Operand::reg);
            open.extend((0..func.dsts(inst).len()).filter_map(read));
        }
    }
    (found, reads_memory)
}
