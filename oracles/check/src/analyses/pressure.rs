//! Register pressure, from liveness by ways.

use std::collections::BTreeSet;

use oriole_ir::ops::Opcode;
use oriole_ir::{Function, Inst, Reg, RegFile};
use oriole_optimizer::analysis::{Liveness, Pressure, Words};

use super::{Disagreement, Judge};
use oriole_reference::LiveRegisters;
use oriole_reference::live::{overwrites, read};

const FILES: [RegFile; 5] = [RegFile::R, RegFile::UR, RegFile::P, RegFile::UP, RegFile::B];

impl Judge<'_> {
    /// The words of the registers that are live at each point: those live at the block's end, walked backward by the
    /// definition.
    pub(super) fn pressure(
        &self,
        truth: &Function,
        live: &LiveRegisters,
        liveness: &Liveness,
    ) -> Result<(), Disagreement> {
        let found = Pressure::compute(self.func, &self.cfg, liveness);
        let counted = |regs: &BTreeSet<Reg>| FILES.map(|file| words(truth, regs, file));
        let said = |words: Words| FILES.map(|file| words.of(file));
        let mut everywhere = [0; FILES.len()];
        for (place, block) in self.graph.blocks.iter().enumerate() {
            let mut now: BTreeSet<Reg> = truth.regs().keys().filter(|reg| live.live_out(place, *reg)).collect();
            let end = counted(&now);
            self.expect("pressure", || format!("the end of {block}"), said(found.at_end(*block)), end)?;
            let mut most = end;
            let insts = truth.block_insts(*block);
            let (phis, others): (Vec<Inst>, Vec<Inst>) =
                insts.partition(|inst| truth.inst(*inst).opcode == Opcode::Phi);
            for inst in others.iter().rev() {
                most = larger(most, counted(&with_results(truth, &now, std::slice::from_ref(inst))));
                now.retain(|reg| !overwrites(truth, *inst, *reg));
                now.extend(read(truth, *inst));
                self.expect(
                    "pressure",
                    || format!("before {inst} in {block}"),
                    said(found.before(*inst)),
                    counted(&now),
                )?;
                most = larger(most, counted(&now));
            }
            let together = counted(&with_results(truth, &now, &phis));
            for phi in &phis {
                self.expect("pressure", || format!("the phi {phi} in {block}"), said(found.before(*phi)), together)?;
            }
            most = larger(most, together);
            self.expect("pressure", || format!("the most in {block}"), said(found.in_block(*block)), most)?;
            everywhere = larger(everywhere, most);
        }
        self.expect("pressure", || "the most of all".to_owned(), said(found.max()), everywhere)
    }
}

fn words(func: &Function, regs: &BTreeSet<Reg>, file: RegFile) -> u32 {
    let infos = regs.iter().map(|reg| func.regs()[*reg]);
    infos.filter(|info| info.file == file && file != RegFile::B).map(|info| u32::from(info.words)).sum()
}

fn with_results(func: &Function, live: &BTreeSet<Reg>, insts: &[Inst]) -> BTreeSet<Reg> {
    let results = insts.iter().flat_map(|inst| func.dsts(*inst)).filter_map(|dst| dst.reg());
    live.iter().copied().chain(results).collect()
}

fn larger(a: [u32; FILES.len()], b: [u32; FILES.len()]) -> [u32; FILES.len()] {
    std::array::from_fn(|at| a[at].max(b[at]))
}

#[cfg(test)]
mod tests {
    use oriole_ir::parse_function;

    use super::*;

    #[test]
    fn a_register_that_lives_on_is_seen() {
        let text = "device @f {\nbb0:\n  %r1 = mov.b32 1\n  %r2 = mov.b32 2\n  st.global.b32 [8], %r1\n  \
                    st.global.b32 [8], %r2\n  ret\n}\n";
        let func = parse_function(text).expect("the text is a function");
        let said = |text: &str| {
            let truth = parse_function(text).expect("the text is a function");
            let judge = Judge::new(&func, &truth);
            let liveness = Liveness::solve(&func, &judge.cfg);
            let live = LiveRegisters::of(&truth, &judge.graph);
            judge.pressure(&truth, &live, &liveness).map_err(|wrong| wrong.subject)
        };
        assert_eq!(said(text), Ok(()));
        assert_eq!(said(&text.replace("[8], %r2", "[8], %r1")), Err("before inst2 in bb0".to_owned()));
    }
}
