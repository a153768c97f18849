//! How far a run of the pipeline has come: the counter by which ptxas relaxes what operands must be
//! (`spec/copy-propagation-and-cse.txt`, "Downstream Effects").

/// The counter. Phases advance it; it never goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Progress(u8);

impl Progress {
    /// Copies have been propagated backward (OriBackCopyPropagate).
    pub const BACKWARD_COPIES: Progress = Progress(9);
    /// Every operand is legal for the target (SetAfterLegalization).
    pub const LEGALIZED: Progress = Progress(19);

    /// Whether address registers may be in operands from which they are kept before: behind the stage of backward
    /// copies, not in it. The page has encoding ask this, of targets that can. The virtual level has no such
    /// operands, so no phase of it asks.
    pub fn relaxes_address_registers(self) -> bool {
        self > Progress::BACKWARD_COPIES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_relaxed_behind_the_stage_of_backward_copies() {
        assert!(!Progress::default().relaxes_address_registers());
        assert!(!Progress::BACKWARD_COPIES.relaxes_address_registers());
        assert!(Progress::LEGALIZED.relaxes_address_registers());
    }
}
