//! Names of places in code, and words whose bits a loader fills, as nvdisasm writes them.
//!
//! Places have the names of functions, or labels `.L_x_N`. nvdisasm numbers labels in two passes over all sections:
//! first places within functions whose addresses relocations write, in the order of the relocations; then those that
//! branches lead to, in the order of the branches (found by comparing cubins of one and of two kernels, compiled with
//! `-Ofc=mid`).

use std::collections::BTreeMap;

use oriole_ir::diagnostics::escape::escaped;
use oriole_sass::cubin::{Cubin, Effect, Field, Relocation, RelocationKind, SectionKind, Source, Symbol, SymbolKind};
use oriole_sass::{Instruction, Table, text};

use super::WORD_BYTES;

/// A number that stands in for half of an address while a word is printed: its hexadecimal digits are in no other part
/// of a text.
const STAND_IN: u32 = 0x5eed_c0de;

/// Names and relocations of a cubin's code.
pub(super) struct Symbols<'c> {
    cubin: &'c Cubin,
    /// Names of places, by section and offset.
    names: BTreeMap<(usize, u64), String>,
    /// The relocations of a word, by section and offset.
    relocations: BTreeMap<(usize, u64), Vec<&'c Relocation>>,
}

impl<'c> Symbols<'c> {
    pub(super) fn new(cubin: &'c Cubin, table: &Table) -> Symbols<'c> {
        let mut relocations: BTreeMap<(usize, u64), Vec<&Relocation>> = BTreeMap::new();
        for relocation in &cubin.relocations {
            let word = relocation.offset / WORD_BYTES * WORD_BYTES;
            relocations.entry((relocation.section, word)).or_default().push(relocation);
        }
        let places = || cubin.functions.iter().map(|function| (function.section, function.offset));
        let names = places().zip(cubin.functions.iter().map(|function| function.name.clone())).collect();
        let mut symbols = Symbols { cubin, names, relocations };
        let labels = symbols.addressed().into_iter().chain(symbols.targets(table)).collect::<Vec<_>>();
        let mut count = 0;
        for place in labels {
            symbols.names.entry(place).or_insert_with(|| {
                count += 1;
                format!(".L_x_{}", count - 1)
            });
        }
        symbols
    }

    /// Places within functions whose addresses relocations of code write.
    fn addressed(&self) -> Vec<(usize, u64)> {
        let of_code = self.relocations.iter().filter(|((section, _), _)| is_code(self.cubin, *section));
        of_code.flat_map(|(_, all)| all.iter().filter_map(|one| self.within_function(one))).collect()
    }

    /// The place that a relocation is about, if it is one within a function and not the function's own.
    fn within_function(&self, relocation: &Relocation) -> Option<(usize, u64)> {
        let symbol = self.symbol(relocation);
        let is_function = matches!(symbol.kind, SymbolKind::Function | SymbolKind::Entry);
        let offset = u64::try_from(relocation.addend?).ok().filter(|offset| is_function && *offset > 0)?;
        let (section, place) = (symbol.section?, symbol.value.checked_add(offset)?);
        (place < self.cubin.sections[section].size).then_some((section, place))
    }

    /// Places that branches without relocations lead to.
    fn targets(&self, table: &Table) -> Vec<(usize, u64)> {
        let mut found = Vec::new();
        for section in super::sections(self.cubin) {
            let size = self.cubin.sections[section].size;
            for (address, word) in super::section_words(self.cubin, section, 0..size) {
                let target = table.decode(word).ok().and_then(|instruction| instruction.place(address));
                let is_plain = !self.relocations.contains_key(&(section, address));
                found.extend(target.filter(|target| is_plain && *target < size).map(|target| (section, target)));
            }
        }
        found
    }

    /// The name of a place in a section.
    pub(super) fn name(&self, section: usize, address: u64) -> Option<&str> {
        self.names.get(&(section, address)).map(String::as_str)
    }

    /// The text of an instruction: with the name of what it goes to, or of what an address in it is of.
    pub(super) fn text(&self, section: usize, instruction: &Instruction<'_>, address: u64) -> String {
        let (mut text, relocations) = (printed(instruction, address), self.of_word(section, address));
        let place = instruction.place(address);
        let target = match relocations.first() {
            Some(relocation) if place.is_some() || writes_address(relocation) => {
                Some(&self.symbol(relocation).name[..])
            }
            _ => place.and_then(|place| self.name(section, place)),
        };
        if let Some(name) = target {
            text.truncate(text.rfind(' ').map_or(0, |at| at + 1));
            text += &format!("`({})", escaped(name));
            return text;
        }
        relocations.iter().find_map(|one| self.with_half(one, instruction, address)).unwrap_or(text)
    }

    /// The text of an instruction with half of an address in place of the number that a loader writes it to. `None`
    /// where the relocation writes something else, or nothing shows where that number is.
    fn with_half(&self, relocation: &Relocation, instruction: &Instruction<'_>, address: u64) -> Option<String> {
        let row = RelocationKind::of(relocation.kind).filter(|row| row.name.starts_with("R_CUDA_ABS32"))?;
        let Effect::Put([Field { source: Source::Sum, from, len: 32, to }]) = row.effect else { return None };
        let half = if *from == 0 { "lo" } else { "hi" };
        let bit = u32::from(*to) + 8 * u32::try_from(relocation.offset - address).ok()?;
        let marked = instruction.word & !(u128::from(u32::MAX) << bit) | u128::from(STAND_IN) << bit;
        let text = printed(&Instruction { word: marked, ..*instruction }, address);
        let stand_in = format!("{STAND_IN:#x}");
        let is_shown = text.matches(&stand_in).count() == 1;
        let expression = self.expression(relocation).filter(|_| is_shown)?;
        Some(text.replace(&stand_in, &format!("32@{half}({expression})")))
    }

    /// The address that a relocation is about.
    fn expression(&self, relocation: &Relocation) -> Option<String> {
        let name = escaped(&self.symbol(relocation).name);
        if relocation.addend == Some(0) {
            return Some(name.into_owned());
        }
        let (section, place) = self.within_function(relocation)?;
        Some(format!("({name} + {}@srel)", self.name(section, place)?))
    }

    fn of_word(&self, section: usize, address: u64) -> &[&'c Relocation] {
        self.relocations.get(&(section, address)).map_or(&[], Vec::as_slice)
    }

    fn symbol(&self, relocation: &Relocation) -> &'c Symbol {
        &self.cubin.symbols[relocation.symbol]
    }

    /// The relocations of a word: their types, symbols, and what is added to these.
    pub(super) fn comments(&self, section: usize, address: u64) -> Vec<String> {
        let text = |relocation: &&Relocation| {
            let kind = RelocationKind::of(relocation.kind).map_or("unknown relocation", |row| row.name);
            let addend = match relocation.addend {
                None | Some(0) => String::new(),
                Some(addend) if addend < 0 => format!("-{:#x}", addend.unsigned_abs()),
                Some(addend) => format!("+{addend:#x}"),
            };
            format!("{kind} {}{addend}", escaped(&self.symbol(relocation).name))
        };
        self.of_word(section, address).iter().map(text).collect()
    }
}

/// Whether a relocation writes more than half of an address: that of a call.
fn writes_address(relocation: &Relocation) -> bool {
    let fields = match RelocationKind::of(relocation.kind).map(|row| row.effect) {
        Some(Effect::Put(fields)) => fields,
        _ => &[],
    };
    fields.iter().map(|field| u32::from(field.len)).sum::<u32>() > u32::BITS
}

/// The text of an instruction without names.
pub(super) fn printed(instruction: &Instruction<'_>, address: u64) -> String {
    let mut text = String::new();
    text::print(&mut text, instruction, address);
    text
}

/// Whether a section has code.
pub(super) fn is_code(cubin: &Cubin, section: usize) -> bool {
    cubin.sections[section].kind == SectionKind::Code
}
