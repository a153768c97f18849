//! Loading: sections and symbols get addresses, and relocations write them.

use std::cmp::Reverse;

use super::error::CubinError;
use super::relocation::{Effect, Relocation, RelocationKind, Source};
use super::{Cubin, SectionKind, Symbol};

/// The addresses of sections and symbols.
///
/// [`Placement::new`] puts everything somewhere; what is wanted elsewhere can be moved. Constants have offsets in their
/// banks as addresses, shared and local variables those in their windows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placement {
    sections: Vec<u64>,
    symbols: Vec<Option<u64>>,
    /// Where the generic addresses of constants begin.
    constants: u64,
}

/// Sections with the addresses of a placement written into them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Image {
    sections: Vec<Vec<u8>>,
}

/// What code sections begin on.
const CODE_ALIGN: u64 = 128;
/// What shared memory that a launch sizes begins on.
const DYNAMIC_ALIGN: u64 = 16;
/// The distance of functions that are defined elsewhere.
const EXTERN_SIZE: u64 = 16;

impl Placement {
    /// Puts code from one address on, global variables from another, and functions that are defined elsewhere from a
    /// third. An address of the third kind is that of [`Placement::external`].
    pub fn new(cubin: &Cubin, code: u64, data: u64, externs: u64) -> Placement {
        let mut placement = Placement {
            sections: vec![0; cubin.sections.len()],
            symbols: vec![None; cubin.symbols.len()],
            constants: 0,
        };
        let (mut next_code, mut next_data) = (code, data);
        for (index, section) in cubin.sections.iter().enumerate() {
            let (next, align) = match section.kind {
                SectionKind::Code => (&mut next_code, section.align.max(CODE_ALIGN)),
                SectionKind::Global | SectionKind::GlobalInit => (&mut next_data, section.align),
                _ => continue,
            };
            let address = align_up(*next, align);
            placement.sections[index] = address;
            *next = address.wrapping_add(section.size);
        }
        if !cubin.is_linked {
            placement.put_shared(cubin);
        }
        let undefined = cubin.symbols.iter().enumerate().skip(1).filter(|(_, symbol)| symbol.section.is_none());
        for (at, (index, symbol)) in undefined.enumerate() {
            let address = externs.wrapping_add(at as u64 * EXTERN_SIZE);
            if !symbol.name.is_empty() && placement.symbols[index].is_none() {
                placement.symbols[index] = Some(if symbol.is_weak { 0 } else { address });
            }
        }
        placement
    }

    /// Puts the shared variables of a file that is not linked one behind the other: those with the largest alignment
    /// first, as nvlink does. Their symbols have alignments as values. Variables without a size, which a launch gives
    /// one, come last and share their place.
    fn put_shared(&mut self, cubin: &Cubin) {
        let variables = || cubin.symbols.iter().enumerate().filter(|(_, symbol)| symbol.is_shared);
        let mut end = 0;
        for section in (0..cubin.sections.len()).filter(|at| cubin.sections[*at].kind == SectionKind::Shared) {
            let mut own: Vec<(usize, &Symbol)> =
                variables().filter(|(_, symbol)| symbol.section == Some(section)).collect();
            own.sort_by_key(|(_, symbol)| Reverse(symbol.value));
            let mut next = 0u64;
            for (at, symbol) in own {
                let address = align_up(next, symbol.value);
                self.symbols[at] = Some(address);
                next = address.wrapping_add(symbol.size);
            }
            end = end.max(next);
        }
        for (at, _) in variables().filter(|(_, symbol)| symbol.section.is_none()) {
            self.symbols[at] = Some(align_up(end, DYNAMIC_ALIGN));
        }
    }

    /// Moves a section.
    ///
    /// # Panics
    ///
    /// If the file has no such section.
    pub fn put_section(&mut self, section: usize, address: u64) {
        self.sections[section] = address;
    }

    /// Moves a symbol alone, or gives one an address that is defined elsewhere.
    ///
    /// # Panics
    ///
    /// If the file has no such symbol.
    pub fn put_symbol(&mut self, symbol: usize, address: u64) {
        self.symbols[symbol] = Some(address);
    }

    /// Moves the window of generic addresses that constants have beside their offsets; it begins at 0 otherwise.
    pub fn put_constants(&mut self, address: u64) {
        self.constants = address;
    }

    /// The address of a section.
    pub fn section(&self, section: usize) -> Option<u64> {
        self.sections.get(section).copied()
    }

    /// The address of a symbol: its own, or that in its section.
    pub fn symbol(&self, cubin: &Cubin, symbol: usize) -> Option<u64> {
        let own = self.symbols.get(symbol).copied().flatten();
        own.or_else(|| {
            let symbol = cubin.symbols.get(symbol)?;
            Some(self.section(symbol.section?)?.wrapping_add(symbol.value))
        })
    }

    /// The symbol, defined elsewhere, that an address stands for.
    pub fn external(&self, cubin: &Cubin, address: u64) -> Option<usize> {
        let is_there = |at: &usize| self.symbols[*at] == Some(address) && cubin.symbols[*at].section.is_none();
        (1..cubin.symbols.len().min(self.symbols.len())).find(is_there)
    }
}

impl Image {
    /// The bytes of a section; none for one that has none, or whose bytes no relocation changes.
    pub fn bytes(&self, section: usize) -> &[u8] {
        self.sections.get(section).map_or(&[], Vec::as_slice)
    }

    /// The words of a function.
    pub fn words(&self, function: &super::Function) -> impl ExactSizeIterator<Item = u128> {
        super::words(self.bytes(function.section).get(function.bytes()).unwrap_or(&[]))
    }
}

impl Cubin {
    /// Code, constants and data with the addresses of a placement in them. All else has no bytes in the image.
    ///
    /// # Errors
    ///
    /// If a symbol has no address, or the effect of a relocation is not known.
    pub fn apply_relocations(&self, placement: &Placement) -> Result<Image, CubinError> {
        let bytes = |index: usize| match self.sections[index].kind {
            SectionKind::Other => Vec::new(),
            _ => self.bytes(index).to_vec(),
        };
        let mut image = Image { sections: (0..self.sections.len()).map(bytes).collect() };
        for relocation in &self.relocations {
            self.apply(relocation, placement, &mut image.sections[relocation.section])?;
        }
        Ok(image)
    }

    fn apply(&self, relocation: &Relocation, placement: &Placement, bytes: &mut [u8]) -> Result<(), CubinError> {
        let section = || self.sections[relocation.section].name.clone();
        let offset = relocation.offset;
        let row = RelocationKind::of(relocation.kind);
        let fields = match row.map(|row| row.effect) {
            Some(Effect::Put(fields)) => fields,
            Some(Effect::Nothing) => return Ok(()),
            Some(Effect::Unknown) | None => {
                let kind = row.map_or_else(|| relocation.kind.to_string(), |row| row.name.to_owned());
                return Err(CubinError::Relocation { section: section(), offset, kind });
            }
        };
        let what = "the relocation ends behind its section";
        let outside = || CubinError::Section { section: section(), offset, what };
        let size = row.map_or(0, RelocationKind::size);
        let start = usize::try_from(offset).map_err(|_| outside())?;
        let place = bytes.get_mut(start..).and_then(|rest| rest.get_mut(..size)).ok_or_else(outside)?;
        let mut word = [0; 16];
        word[..size].copy_from_slice(place);
        let mut word = u128::from_le_bytes(word);

        let symbol = &self.symbols[relocation.symbol];
        let address = placement.symbol(self, relocation.symbol).ok_or_else(|| {
            let symbol = symbol.name.clone();
            CubinError::Unplaced { section: section(), offset, symbol }
        })?;
        let in_place = || {
            let sums = fields.iter().filter(|field| field.source == Source::Sum);
            sums.fold(0, |sum, field| sum | ((word >> field.to & field.largest()) as u64) << field.from)
        };
        let addend = relocation.addend.map_or_else(in_place, |addend| addend as u64);
        let (bank, window) = match symbol.section.and_then(|at| self.sections.get(at)).map(|section| section.kind) {
            Some(SectionKind::Constant { bank }) => (bank, placement.constants),
            _ => (0, 0),
        };
        let window = if row.is_some_and(RelocationKind::is_generic) { window } else { 0 };
        for field in fields {
            let value = field.get(address.wrapping_add(addend).wrapping_add(window), bank.into());
            word = word & !(field.largest() << field.to) | value << field.to;
        }
        place.copy_from_slice(&word.to_le_bytes()[..size]);
        Ok(())
    }
}

/// The next address that is a multiple; alignments of zero and one are none.
fn align_up(address: u64, align: u64) -> u64 {
    address.checked_next_multiple_of(align.max(1)).unwrap_or(address)
}
