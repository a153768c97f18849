//! Reading: the ELF structure, then what is in it.

use std::collections::BTreeMap;
use std::ops::Range;

use object::elf;
use object::read::elf::{FileHeader, Rel, Rela, SectionHeader, SectionTable, Sym, SymbolTable};
use object::{LittleEndian, SectionIndex};

use super::attribute::{self, Attribute};
use super::error::CubinError;
use super::info::{Info, is_of_one_sm};
use super::relocation::Relocation;
use super::{Cubin, Function, Section, SectionKind, Symbol, SymbolKind, Target};

type Header = elf::FileHeader64<LittleEndian>;

/// How the names of sections begin.
pub(super) const CODE: &str = ".text.";
const INFO: &str = ".nv.info";
const COMPATIBILITY: &str = ".nv.compat";
const TOOL_NOTE: &str = ".note.nv.tkinfo";

/// Bits of a symbol's `st_other`, above those of the visibility.
const ENTRY: u8 = 0x10;
const SPACE: u8 = 0xe0;
const SHARED: u8 = 0x40;
/// The type of variables in files that are not linked.
const CUDA_OBJECT: u8 = 13;

impl Cubin {
    /// Reads a cubin.
    ///
    /// # Errors
    ///
    /// If the bytes are no ELF file for CUDA, or a part of one cannot be.
    pub fn read(bytes: &[u8]) -> Result<Cubin, CubinError> {
        let header = Header::parse(bytes)?;
        let endian = header.endian()?;
        let machine = header.e_machine(endian);
        if machine != elf::EM_CUDA {
            return Err(CubinError::Machine(machine.0));
        }
        let table = header.sections(endian, bytes)?;
        let symbol_table = table.symbols(endian, bytes, elf::SHT_SYMTAB)?;
        let sections = sections(&table, bytes)?;
        let symbols = symbols(&symbol_table, &sections)?;
        let relocations = relocations(&table, bytes, &sections, &symbols)?;
        let mut cubin = Cubin {
            target: Target { sm: sm(header)?, suffix: None },
            is_linked: header.e_type(endian) == elf::ET_EXEC,
            sections,
            symbols,
            functions: Vec::new(),
            attributes: Vec::new(),
            relocations,
            data: bytes.into(),
        };
        cubin.target.suffix = cubin.suffix(header.e_flags(endian).0)?;
        cubin.attributes = cubin.read_attributes(INFO)?;
        cubin.functions = cubin.read_functions()?;
        Ok(cubin)
    }

    /// The attributes of a section; none if there is no such section.
    fn read_attributes(&self, section: &str) -> Result<Vec<Attribute>, CubinError> {
        self.section(section).map_or(Ok(Vec::new()), |index| attribute::read(section, self.bytes(index)))
    }

    fn suffix(&self, flags: u32) -> Result<Option<char>, CubinError> {
        let is_old = header_version(&self.data) < NEW_HEADER;
        if is_old && flags & OLD_ACCELERATOR != 0 || is_of_one_sm(&self.read_attributes(COMPATIBILITY)?) {
            return Ok(Some('a'));
        }
        // ptxas notes its command line: `-O 3 -arch sm_100f`.
        let note = self.section(TOOL_NOTE).map_or(&[][..], |index| self.bytes(index));
        let family = format!("sm_{}f", self.target.sm);
        let mut tokens = note.split(|byte| matches!(byte, b' ' | b'\0'));
        Ok(tokens.any(|token| token == family.as_bytes()).then_some('f'))
    }

    fn read_functions(&self) -> Result<Vec<Function>, CubinError> {
        let infos: BTreeMap<&str, usize> =
            self.sections.iter().enumerate().map(|(index, section)| (section.name.as_str(), index)).collect();
        let mut functions = Vec::new();
        for (index, symbol) in self.symbols.iter().enumerate() {
            let is_entry = symbol.kind == SymbolKind::Entry;
            let Some(section) = symbol.section.filter(|_| is_entry || symbol.kind == SymbolKind::Function) else {
                continue;
            };
            let wrong = |what| CubinError::Symbol { index, name: symbol.name.clone(), what };
            if self.sections[section].kind != SectionKind::Code {
                return Err(wrong("this function is in a section without code"));
            }
            let end = symbol.value.checked_add(symbol.size);
            if end.is_none_or(|end| end > self.bytes(section).len() as u64) {
                return Err(wrong("this function ends behind its section"));
            }
            if !(symbol.value | symbol.size).is_multiple_of(16) {
                return Err(wrong("this function is not one of words of 16 bytes"));
            }
            let mut info = Info::default();
            info.take_common(&self.attributes, index);
            let own = format!("{INFO}.{}", symbol.name);
            if let Some(section) = infos.get(own.as_str()) {
                info.take_own(&own, attribute::read(&own, self.bytes(*section))?)?;
            }
            let (name, offset, size) = (symbol.name.clone(), symbol.value, symbol.size);
            functions.push(Function { name, symbol: index, section, offset, size, is_entry, info });
        }
        Ok(functions)
    }
}

/// The header's version of CUDA 13.
const NEW_HEADER: u8 = 8;
/// The header's version of CUDA 11 and 12.
const OLD_HEADER: u8 = 7;
/// Set in the old header where the code uses features of one SM alone.
const OLD_ACCELERATOR: u32 = 0x800;

/// The byte `EI_ABIVERSION`.
fn header_version(data: &[u8]) -> u8 {
    data.get(8).copied().unwrap_or(0)
}

/// The SM's number: in the second byte of the flags, before CUDA 13 in the first.
fn sm(header: &Header) -> Result<u16, CubinError> {
    let flags = header.e_flags(LittleEndian).0;
    match header.e_ident().abi_version {
        NEW_HEADER => Ok((flags >> 8 & 0xff) as u16),
        OLD_HEADER => Ok((flags & 0xff) as u16),
        version => Err(CubinError::Version(version)),
    }
}

fn sections(table: &SectionTable<'_, Header>, data: &[u8]) -> Result<Vec<Section>, CubinError> {
    let mut sections = Vec::with_capacity(table.len());
    for header in table.iter() {
        let name = String::from_utf8_lossy(table.section_name(LittleEndian, header)?).into_owned();
        let size = header.sh_size(LittleEndian);
        let is_null = sections.is_empty();
        let is_empty = is_null || has_no_bytes(header);
        let kind = if is_null { SectionKind::Other } else { kind(&name) };
        let range = if is_empty { 0..0 } else { range(header, data, &name)? };
        if kind == SectionKind::Code && (is_empty || !size.is_multiple_of(16)) {
            let (section, what) = (name, "code is not one of words of 16 bytes");
            return Err(CubinError::Section { section, offset: size, what });
        }
        sections.push(Section { name, kind, size, align: header.sh_addralign(LittleEndian), range });
    }
    Ok(sections)
}

/// The types of sections that only memory has. Files that are not linked have types of their own for them.
fn has_no_bytes(header: &elf::SectionHeader64<LittleEndian>) -> bool {
    const CUDA_GLOBAL: u32 = 0x7000_0007;
    const CUDA_LOCAL: u32 = 0x7000_0009;
    const CUDA_SHARED: u32 = 0x7000_000a;
    const CUDA_RESERVED_SHARED: u32 = 0x7000_0015;
    let kind = header.sh_type(LittleEndian);
    kind == elf::SHT_NOBITS || [CUDA_GLOBAL, CUDA_LOCAL, CUDA_SHARED, CUDA_RESERVED_SHARED].contains(&kind.0)
}

fn range(header: &elf::SectionHeader64<LittleEndian>, data: &[u8], section: &str) -> Result<Range<usize>, CubinError> {
    let start = header.sh_offset(LittleEndian);
    let end = start.checked_add(header.sh_size(LittleEndian)).filter(|end| *end <= data.len() as u64);
    let what = "the section ends behind the file";
    let end = end.ok_or_else(|| CubinError::Section { section: section.to_owned(), offset: 0, what })?;
    Ok(start as usize..end as usize)
}

/// What a section holds.
fn kind(name: &str) -> SectionKind {
    let is_or_of = |base: &str| name.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    if name.starts_with(CODE) {
        return SectionKind::Code;
    }
    if let Some(rest) = name.strip_prefix(".nv.constant") {
        let bank = rest.split('.').next().and_then(|number| number.parse().ok());
        return bank.filter(|bank| *bank < 32).map_or(SectionKind::Other, |bank| SectionKind::Constant { bank });
    }
    match () {
        () if name == ".nv.global.init" => SectionKind::GlobalInit,
        () if name == ".nv.global" => SectionKind::Global,
        () if is_or_of(".nv.shared") => SectionKind::Shared,
        () if is_or_of(".nv.local") => SectionKind::Local,
        () => SectionKind::Other,
    }
}

fn symbols(table: &SymbolTable<'_, Header>, sections: &[Section]) -> Result<Vec<Symbol>, CubinError> {
    let mut symbols = Vec::with_capacity(table.len());
    for (index, symbol) in table.enumerate() {
        let name = String::from_utf8_lossy(table.symbol_name(LittleEndian, symbol)?).into_owned();
        let section = table.symbol_section(LittleEndian, symbol, index)?.map(|section| section.0);
        if section.is_some_and(|section| section >= sections.len()) {
            return Err(CubinError::Symbol { index: index.0, name, what: "its section is not in the file" });
        }
        let kind = match symbol.st_type() {
            elf::STT_FUNC if symbol.st_other().0 & ENTRY != 0 => SymbolKind::Entry,
            elf::STT_FUNC => SymbolKind::Function,
            elf::STT_OBJECT => SymbolKind::Object,
            elf::STT_SECTION => SymbolKind::Section,
            other if other.0 == CUDA_OBJECT => SymbolKind::Object,
            _ => SymbolKind::Other,
        };
        let (value, size) = (symbol.st_value(LittleEndian), symbol.st_size(LittleEndian));
        let is_shared = kind == SymbolKind::Object && symbol.st_other().0 & SPACE == SHARED;
        symbols.push(Symbol { name, kind, section, value, size, is_weak: symbol.is_weak(), is_shared });
    }
    Ok(symbols)
}

/// Relocations of what [`Cubin::apply_relocations`] gives bytes to.
fn relocations(
    table: &SectionTable<'_, Header>,
    data: &[u8],
    sections: &[Section],
    symbols: &[Symbol],
) -> Result<Vec<Relocation>, CubinError> {
    let mut relocations = Vec::new();
    for header in table.iter() {
        let SectionIndex(section) = header.info_link(LittleEndian);
        let is_loaded = sections.get(section).is_some_and(|section| section.kind != SectionKind::Other);
        if !is_loaded {
            continue;
        }
        let first = relocations.len();
        if let Some((rows, _)) = header.rel(LittleEndian, data)? {
            relocations.extend(rows.iter().map(|row| Relocation {
                section,
                offset: row.r_offset(LittleEndian),
                symbol: row.r_sym(LittleEndian) as usize,
                kind: row.r_type(LittleEndian).0,
                addend: None,
            }));
        }
        if let Some((rows, _)) = header.rela(LittleEndian, data)? {
            relocations.extend(rows.iter().map(|row| Relocation {
                section,
                offset: row.r_offset(LittleEndian),
                symbol: row.r_sym(LittleEndian, false) as usize,
                kind: row.r_type(LittleEndian, false).0,
                addend: Some(row.r_addend(LittleEndian)),
            }));
        }
        let wrong = relocations[first..].iter().find(|relocation| relocation.symbol >= symbols.len());
        if let Some(Relocation { section, offset, .. }) = wrong {
            let (section, what) = (sections[*section].name.clone(), "the relocation's symbol is not in the file");
            return Err(CubinError::Section { section, offset: *offset, what });
        }
    }
    Ok(relocations)
}
