//! Where a row of a table comes from: a document of `spec/`, and the line of it.

use std::fmt;

/// A document of `spec/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Page {
    /// `spec/copy-propagation-and-cse.txt`.
    CopyPropagation,
    /// `spec/instruction-movement.txt`.
    InstructionMovement,
    /// `spec/liveness-and-dce.txt`.
    Liveness,
    /// `spec/pass-pipeline.txt`.
    PassPipeline,
    /// `spec/peephole.txt`.
    Peephole,
}

impl Page {
    /// This line of the document.
    pub const fn line(self, line: u16) -> Source {
        assert!(line > 0, "lines are counted from 1");
        Source { page: self, line }
    }
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Page::CopyPropagation => "copy-propagation-and-cse",
            Page::InstructionMovement => "instruction-movement",
            Page::Liveness => "liveness-and-dce",
            Page::PassPipeline => "pass-pipeline",
            Page::Peephole => "peephole",
        })
    }
}

/// The line that a row comes from.
///
/// Where several lines name the row, it is the one that says most about it: a heading, a row of a table, a definition.
/// Where no document spells the name, it is the line that describes the step, or gives its number; for a knob of
/// Oriole's own, the line of the phase that asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// The document.
    pub page: Page,
    /// The line in it, counted from 1.
    pub line: u16,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}:{}", self.page, self.line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_written_as_document_and_line() {
        assert_eq!(Page::Liveness.line(123).to_string(), "liveness-and-dce:123");
        assert_eq!(format!("{:>12}", Page::Peephole.line(7)), "  peephole:7");
    }
}
