//! Liveness by dense sets, file by file, against liveness by paths.

use oriole_ir::{Function, Reg, RegFile};
use oriole_optimizer::analysis::DenseLiveness;
use oriole_optimizer::analysis::dense_liveness::Variant;
use oriole_reference::{DefinedRegisters, LiveRegisters};

use super::{Disagreement, Judge};

impl Judge<'_> {
    /// The sets of general and of uniform registers, each about its own file alone.
    pub(super) fn live_files(&self, truth: &Function) -> Result<(), Disagreement> {
        let dense = DenseLiveness::solve(self.func, &self.cfg, Variant::Plain, |_| true);
        let in_sets = [(Some(dense.general()), RegFile::R), (dense.uniform(), RegFile::UR)];
        for (sets, file) in in_sets {
            let mut members = sets.into_iter().flat_map(|sets| sets.members());
            let strange = members.find(|reg| self.func.regs()[**reg].file != file);
            self.expect("dense liveness", || format!("a register in the sets of {file:?}"), strange, None)?;
        }
        let live = LiveRegisters::of(truth, &self.graph);
        self.borders(&dense, &[RegFile::R, RegFile::UR], |place, reg| {
            (live.live_in(place, reg), live.live_out(place, reg))
        })
    }

    /// The lists of predicates.
    pub(super) fn live_predicates(&self, truth: &Function) -> Result<(), Disagreement> {
        let dense = DenseLiveness::solve(self.func, &self.cfg, Variant::Plain, |_| true);
        let live = LiveRegisters::of(truth, &self.graph);
        self.borders(&dense, &[RegFile::P, RegFile::UP, RegFile::B], |place, reg| {
            (live.live_in(place, reg), live.live_out(place, reg))
        })
    }

    /// The dominator-respecting variant: live by paths, and defined on some way, where control can come at all.
    pub(super) fn live_and_defined(&self, truth: &Function) -> Result<(), Disagreement> {
        let dense = DenseLiveness::solve(self.func, &self.cfg, Variant::Reached, |_| true);
        let (live, defined) = (LiveRegisters::of(truth, &self.graph), DefinedRegisters::of(truth, &self.graph));
        self.borders(&dense, &[RegFile::R, RegFile::UR, RegFile::P, RegFile::UP], |place, reg| {
            let anything = !self.dominance.is_reachable(place);
            let entry = live.live_in(place, reg) && (anything || defined.at_entry(place, reg));
            (entry, live.live_out(place, reg) && (anything || defined.at_end(place, reg)))
        })
    }

    /// What is said of the registers of some files at both borders of every block.
    fn borders(
        &self,
        dense: &DenseLiveness,
        files: &[RegFile],
        expected: impl Fn(usize, Reg) -> (bool, bool),
    ) -> Result<(), Disagreement> {
        let regs = || self.func.regs().iter().filter(|(_, info)| files.contains(&info.file)).map(|(reg, _)| reg);
        for (place, block) in self.graph.blocks.iter().enumerate() {
            for reg in regs() {
                let subject = || format!("{reg} at entry and end of {block}");
                let said = (dense.live_in(*block, reg), dense.live_out(*block, reg));
                self.expect("dense liveness", subject, said, expected(place, reg))?;
            }
            let mut listed: Vec<Reg> = dense.all_live_in(*block).collect();
            listed.retain(|reg| files.contains(&self.func.regs()[*reg].file));
            listed.sort_unstable();
            let entry: Vec<Reg> = regs().filter(|reg| expected(place, *reg).0).collect();
            self.expect("dense liveness", || format!("the list at the entry of {block}"), listed, entry)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use oriole_ir::parse_function;

    use super::*;

    /// One text for each check, and a change after which that check alone must disagree.
    #[test]
    fn each_difference_is_seen_by_its_own_check() {
        let text = "device @f {\nbb0:\n  %r1 = mov.b32 1\n  cbra %p5, bb1, bb2\nbb1:\n  @%p6 %ur3 = mov.b32 1\n  \
                    bra bb2\nbb2:\n  @%p7 st.global.b32 [%ur3], %r1\n  st.global.b32 [8], %r9\n  ret\n}\n";
        let func = parse_function(text).expect("the text is a function");
        let said = |old: &str, new: &str| {
            let truth = parse_function(&text.replace(old, new)).expect("the text is a function");
            let judge = Judge::new(&func, &truth);
            let checks = [Judge::live_files, Judge::live_predicates, Judge::live_and_defined];
            checks.map(|check| check(&judge, &truth).is_ok())
        };
        assert_eq!(said("@f", "@f"), [true; 3]);
        assert_eq!(said("[%ur3]", "[9]"), [false, true, false], "a uniform register");
        assert_eq!(said("@%p7 st", "st"), [true, false, true], "a predicate that nothing defines");
        assert_eq!(
            said("%r1 = mov.b32 1\n", "%r1 = mov.b32 1\n  @%p5 %r9 = mov.b32 1\n"),
            [true, true, false],
            "a definition"
        );
    }
}
