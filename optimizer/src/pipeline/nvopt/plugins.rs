//! Passes that others add: at a position of the command line, between which the tiers fire, or at a named point.

use oriole_pass::pass::Element;

/// A pass that was asked for at a position.
#[derive(Clone, Debug)]
pub struct Plugin {
    /// Its position among what the command line asks for, from 1: the "phase_id" of line 505. A tier fires in front of
    /// the first pass whose position is behind its own ([`super::Nvopt::thresholds`]).
    pub position: u32,
    /// Which object it is: one object is added once, whatever the positions at which it is given (line 741). Two
    /// places of a sequence are two objects, else the repetition of passes, which the page wants, would be lost.
    pub object: u32,
    /// The pass.
    pub element: Element,
}

/// A point at which the standard pipeline of LLVM takes passes that others add: the second reading that the page has
/// of the first argument of sub_1A62BF0 (lines 1091 to 1100). The first one is rounds over a component (line 604).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExtensionPoint {
    /// `EP_EarlyAsPossible`.
    EarlyAsPossible,
    /// `EP_LoopOptimizerEnd`.
    LoopOptimizerEnd,
    /// `EP_ScalarOptimizerLate`.
    ScalarOptimizerLate,
    /// `EP_VectorizerStart`.
    VectorizerStart,
    /// `EP_OptimizerLast`.
    OptimizerLast,
    /// `EP_CGSCCOptimizerLate`.
    CgsccOptimizerLate,
}

impl ExtensionPoint {
    /// The point of a standard pipeline with a number.
    pub const fn of(number: u32) -> Option<ExtensionPoint> {
        match number {
            1 => Some(ExtensionPoint::EarlyAsPossible),
            2 => Some(ExtensionPoint::LoopOptimizerEnd),
            4 => Some(ExtensionPoint::ScalarOptimizerLate),
            5 => Some(ExtensionPoint::VectorizerStart),
            7 => Some(ExtensionPoint::OptimizerLast),
            8 => Some(ExtensionPoint::CgsccOptimizerLate),
            _ => None,
        }
    }
}
