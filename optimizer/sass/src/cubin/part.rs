//! A part of a cubin: one kernel with what it needs, out of a file with many.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::read::CODE;
use super::{Cubin, Section, SectionKind, Symbol, SymbolKind};

impl Cubin {
    /// The same file with one kernel alone: its code and constants, the functions and variables whose addresses these
    /// hold, and so on from there. To place the part in memory costs what the kernel needs, however many others the
    /// file has. Indices of sections and symbols stay; what is left out is blank. `None` if there is no such kernel.
    pub fn part(&self, kernel: &str) -> Option<Cubin> {
        let kernel = self.function(kernel).filter(|function| function.is_entry)?;
        let kept = self.needs_of(kernel.section);
        let relocations: Vec<_> =
            self.relocations.iter().filter(|relocation| kept.contains(&relocation.section)).cloned().collect();
        let named: BTreeSet<usize> = relocations.iter().map(|relocation| relocation.symbol).collect();
        let sections = self.sections.iter().enumerate();
        let sections = sections.map(|(at, section)| if kept.contains(&at) { section.clone() } else { blank_section() });
        let is_kept = |at: usize, symbol: &Symbol| {
            named.contains(&at) || symbol.is_shared || symbol.section.is_some_and(|section| kept.contains(&section))
        };
        let symbols = self.symbols.iter().enumerate();
        let symbols = symbols.map(|(at, symbol)| if is_kept(at, symbol) { symbol.clone() } else { blank_symbol() });
        let functions = self.functions.iter().filter(|function| kept.contains(&function.section));
        Some(Cubin {
            target: self.target,
            is_linked: self.is_linked,
            sections: sections.collect(),
            symbols: symbols.collect(),
            functions: functions.cloned().collect(),
            attributes: Vec::new(),
            relocations,
            data: Arc::clone(&self.data),
        })
    }

    /// The sections that code needs, its own among them: those that go by its name, those of the whole file, and what
    /// relocations in any of these name.
    fn needs_of(&self, code: usize) -> BTreeSet<usize> {
        let mut kept = BTreeSet::new();
        let whole = (0..self.sections.len()).filter(|at| self.owner(*at) == Some(""));
        let mut pending: Vec<usize> = whole.chain([code]).collect();
        while let Some(section) = pending.pop() {
            if !kept.insert(section) {
                continue;
            }
            if let Some(owner) = self.sections[section].name.strip_prefix(CODE) {
                pending.extend((0..self.sections.len()).filter(|at| self.owner(*at) == Some(owner)));
            }
            let own = self.relocations.iter().filter(|relocation| relocation.section == section);
            pending.extend(own.filter_map(|relocation| self.symbols[relocation.symbol].section));
        }
        kept
    }

    /// The function that constants, shared or local variables go with: nothing for those of the whole file.
    fn owner(&self, section: usize) -> Option<&str> {
        let section = &self.sections[section];
        let is_owned = matches!(section.kind, SectionKind::Constant { .. } | SectionKind::Shared | SectionKind::Local);
        // `.nv.constant0.K`: behind the second dot after the first.
        is_owned.then(|| section.name.splitn(4, '.').nth(3).unwrap_or_default())
    }
}

fn blank_section() -> Section {
    Section { name: String::new(), kind: SectionKind::Other, size: 0, align: 0, range: 0..0 }
}

fn blank_symbol() -> Symbol {
    let (name, kind) = (String::new(), SymbolKind::Other);
    Symbol { name, kind, section: None, value: 0, size: 0, is_weak: false, is_shared: false }
}
