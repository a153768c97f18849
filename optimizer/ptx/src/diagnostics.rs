//! The faults of a PTX text while it is read. Collecting stops at [`MAX_FAULTS`].

use oriole_ir::diagnostics::{Fault, MAX_FAULTS};

use super::ast::Span;

/// The faults found so far.
#[derive(Debug, Default)]
pub(super) struct Diagnostics {
    found: Vec<Fault>,
}

impl Diagnostics {
    /// Adds a fault unless the list is full.
    pub(super) fn report(&mut self, span: Span, message: String, label: impl Into<String>, help: impl Into<String>) {
        if !self.is_full() {
            self.found.push(Fault::new(span, message, label, help));
        }
    }

    /// Whether further faults would be dropped.
    pub(super) fn is_full(&self) -> bool {
        self.found.len() >= MAX_FAULTS
    }

    /// How many faults are kept.
    pub(super) fn len(&self) -> usize {
        self.found.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The faults in the order of the text; lexing and parsing are separate passes and each adds its own.
    pub(super) fn into_vec(mut self) -> Vec<Fault> {
        self.found.sort_by_key(|fault| fault.span.offset());
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_capped() {
        let mut diagnostics = Diagnostics::default();
        for _ in 0..200 {
            diagnostics.report(Span { start: 0, end: 0 }, String::new(), "", "");
        }
        assert_eq!(diagnostics.into_vec().len(), MAX_FAULTS);
    }
}
