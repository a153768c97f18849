//! Building: a cubin from nothing, for code that was made here.
//!
//! Sections, their types, flags and links, and the attributes are those of what ptxas 13.0.88 makes of a kernel that
//! needs as much; `tests/it/build.rs` of the compiler compares them. Debugging information but for line tables
//! ([`lines`]) and, from `sm_100` on, the form for other SMs (`.nv.merc`) are left out.

use object::elf;
use oriole_ir::reference::{Setting, Settings};

use super::Target;
use super::attribute::code;
use super::lines::{self, Line};

/// A file to be built.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Build {
    /// The GPU that the code is for.
    pub target: Target,
    /// The kernels.
    pub kernels: Vec<Kernel>,
    /// The text of PTX that they have lines of, as [`lines::text`] makes it.
    pub ptx: Vec<u8>,
    /// The bytes of bank 3: constant variables.
    pub constants: Vec<u8>,
    /// The addresses among them: the offset, the global variable by its place, and what is added.
    pub constant_addresses: Vec<(u32, usize, i64)>,
    /// Constant variables: name, offset in the bank, size.
    pub constant_symbols: Vec<(String, u32, u32)>,
    /// Global variables.
    pub globals: Vec<Variable>,
    /// The driver's functions that kernels call.
    pub externals: Vec<String>,
    /// Textures, samplers and surfaces that are variables.
    pub images: Vec<ImageVariable>,
    /// The addresses that bank 4 holds, eight bytes each.
    pub addresses: Vec<Address>,
}

/// Something with an address, by its place among its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Address {
    /// A global variable.
    Global(usize),
    /// A function of the driver.
    External(usize),
}

/// A kernel.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Its words.
    pub words: Vec<u128>,
    /// By word the line of source code that it comes from; empty where nobody asks.
    pub lines: Vec<Option<Line>>,
    /// By word the line of PTX that it comes from; empty where nobody asks.
    pub ptx_lines: Vec<Option<u32>>,
    /// General registers of a thread.
    pub registers: u32,
    /// Bytes of its stack frame.
    pub frame: u32,
    /// Offsets of its calls of the driver's functions.
    pub system_calls: Vec<u32>,
    /// The names of these functions.
    pub externals: Vec<String>,
    /// Functions behind it among its words: name, offset in bytes. Each ends where the next begins, the last where the
    /// section does: nvdisasm takes a function whose fill belongs to nobody for one that falls through.
    pub functions: Vec<(String, u64)>,
    /// Offset from the first, and size in bytes, of each parameter; of one that is an image, its place in `images`.
    pub parameters: Vec<Parameter>,
    /// Textures, samplers and surfaces that are parameters.
    pub images: Vec<ImageVariable>,
    /// Words behind the parameters that the loader fills in: the offset in bank 0, and with which number.
    pub numbers: Vec<(u32, Number)>,
    /// Where bank 0 ends, if behind the parameters.
    pub bank_end: u32,
    /// Bytes of all parameters.
    pub parameter_size: u16,
    /// Where in bank 0 the first one is.
    pub parameter_base: u16,
    /// Bytes of shared memory, with what is reserved before its own variables; 0 of one without any.
    pub shared: u32,
    /// The alignment of its shared variables.
    pub shared_align: u32,
    /// Named barriers that it uses.
    pub barriers: u8,
    /// The most threads of a block, or those of every block.
    pub max_threads: Option<[u32; 3]>,
    /// Threads of every block.
    pub required_threads: Option<[u32; 3]>,
    /// Whether it has to be launched in clusters.
    pub is_cluster: bool,
    /// Whether a launch counts clusters where others count blocks.
    pub blocks_are_clusters: bool,
    /// Blocks of every cluster.
    pub cluster: Option<[u32; 3]>,
    /// Blocks of a cluster at most.
    pub max_cluster_rank: Option<u32>,
}

/// A parameter of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parameter {
    /// The offset from the first, and the size in bytes.
    Bytes(u16, u16),
    /// An image: the place in the kernel's `images`.
    Image(usize),
}

/// A variable or parameter that is a texture, a sampler or a surface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImageVariable {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: ImageKind,
    /// How a sampler that is a variable fetches.
    pub settings: Settings,
}

/// The kinds of images.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImageKind {
    /// A texture.
    Texture,
    /// A sampler.
    Sampler,
    /// A surface.
    Surface,
}

impl ImageKind {
    /// The type of its symbol, the space of a parameter, and the relocation that writes its number.
    const fn codes(self) -> (u8, u32, u32) {
        match self {
            ImageKind::Texture => (10, 6, 6),
            ImageKind::Sampler => (11, 8, 101),
            ImageKind::Surface => (12, 7, 52),
        }
    }
}

/// A number that the loader knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Number {
    /// That of an image of the file, by its place.
    Variable(usize),
    /// That of an image of the kernel, by its place.
    Parameter(usize),
    /// How many bytes an entry of a table of the driver has: the symbol of that number.
    EntrySize(&'static str),
}

/// A global variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its alignment.
    pub align: u64,
    /// Whether other modules may name it.
    pub is_visible: bool,
    /// Its bytes; none where it is zero at first.
    pub data: Vec<u8>,
    /// Addresses in it: the offset, the variable's place, what is added.
    pub addresses: Vec<(u32, usize, i64)>,
}

const ENTRY: u8 = 0x10;
const CUDA_INFO: u32 = 0x7000_0000;
const CUDA_CALLGRAPH: u32 = 0x7000_0001;
const CUDA_RELOCINFO: u32 = 0x7000_000b;
const CUDA_COMPAT: u32 = 0x7000_0086;
/// A relocation of 32 bits.
const R_CUDA_32: u32 = 1;
/// A relocation of 64 bits.
const R_CUDA_64: u32 = 2;
/// Code sections begin at, and are filled up to, multiples of this many bytes.
const CODE_ALIGN: usize = 128;
/// The word of `NOP` without control.
const NOP: u128 = 0x000f_c000_0000_0000_0000_0000_0000_7918;
/// The opcode of `EXIT`.
const EXIT: u128 = 0x94d;
/// How a loader changes a field that relocations have a type for: what ptxas writes in every file before Hopper.
const RELOCATION_ACTIONS: [u8; 16] = [0x73, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x25, 0, 5, 0x36];
/// The version of the API, as ptxas gives it: CUDA 13.0.
const API_VERSION: u32 = 130;

/// A section on its way.
struct Section {
    name: String,
    kind: u32,
    flags: u64,
    link: u32,
    info: u32,
    align: u64,
    entry: u64,
    data: Vec<u8>,
    /// The size of one without bytes.
    size: u64,
}

impl Section {
    fn new(name: impl Into<String>, kind: u32, flags: u64, align: u64, data: Vec<u8>) -> Section {
        let size = data.len() as u64;
        Section { name: name.into(), kind, flags, link: 0, info: 0, align, entry: 0, data, size }
    }

    fn linked(self, link: u32, info: u32) -> Section {
        Section { link, info, ..self }
    }
}

/// A symbol: its name, what it is, whether a launch begins with it, its section, the place in it, its size.
type Symbol = (String, u8, u8, u16, u64, u64);

/// A table of strings.
struct Strings(Vec<u8>);

impl Strings {
    fn add(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        let at = self.0.len() as u32;
        self.0.extend_from_slice(text.as_bytes());
        self.0.push(0);
        at
    }
}

/// Bytes of a kernel's frame information, and where in it the kernel's address is.
const FRAME_BYTES: usize = 104;
const FRAME_START: usize = 0x44;

/// Bytes of the headers and rows of an ELF file of 64 bits.
const HEADER_SIZE: usize = 64;
const SECTION_SIZE: usize = 64;
const SEGMENT_SIZE: usize = 56;
const SYMBOL_SIZE: usize = 24;
const RELOCATION_SIZE: usize = 24;
/// Those of one without an addend.
const SHORT_RELOCATION_SIZE: usize = 16;

/// The sections that every file begins with.
const SYMBOLS: u32 = 3;
const FIRST: usize = 4;

impl Build {
    /// The file.
    pub fn write(&self) -> Vec<u8> {
        let mut sections: Vec<Section> = Vec::new();
        let mut symbols: Vec<Symbol> = Vec::new();
        let index = |sections: &Vec<Section>| (FIRST + sections.len()) as u16;
        // Sections whose numbers symbols need come in this order: text, constants of kernels, then what all share.
        let kernels = self.kernels.len();
        let shared = self.kernels.iter().filter(|kernel| kernel.shared > 0).count();
        let lines = lines::table(&self.kernels);
        let first_text = FIRST as u16 + 7 + kernels as u16 + 2 * u16::from(lines.is_some());
        let ptx_lines = lines::ptx_table(&self.kernels);
        let first_text = first_text + 3 * u16::from(ptx_lines.is_some());
        let text = |at: usize| first_text + at as u16;
        let bank0 = |at: usize| first_text + (kernels + at) as u16;
        let first_shared = first_text + 2 * kernels as u16;
        let bank3 = first_shared + shared as u16;
        let bank4 = bank3 + u16::from(!self.constants.is_empty()) + u16::from(!self.constant_addresses.is_empty());
        let init = bank4 + 2 * u16::from(!self.addresses.is_empty());

        for at in 0..kernels {
            symbols.push((String::new(), section_symbol(), 0, text(at), 0, 0));
            symbols.push((String::new(), section_symbol(), 0, bank0(at), 0, 0));
        }
        for (at, kernel) in self.kernels.iter().enumerate() {
            let end = code_bytes(kernel).len() as u64;
            let ends = kernel.functions.iter().skip(1).map(|(_, offset)| *offset).chain([end]);
            for ((name, offset), end) in kernel.functions.iter().zip(ends) {
                let name = format!("${}${name}", kernel.name);
                symbols.push((name, elf::STT_FUNC.0, 0, text(at), *offset, end - offset));
            }
        }
        let mut of_parameter: Vec<Vec<u32>> = Vec::new();
        for (at, kernel) in self.kernels.iter().enumerate() {
            let mut own = Vec::new();
            for image in &kernel.images {
                own.push(symbols.len() as u32 + 1);
                symbols.push((image.name.clone(), image.kind.codes().0, 0, text(at), 0, 0));
            }
            of_parameter.push(own);
        }
        for (name, offset, size) in &self.constant_symbols {
            symbols.push((name.clone(), object_symbol(elf::STB_LOCAL.0), 0, bank3, (*offset).into(), (*size).into()));
        }
        let with_data: Vec<usize> = (0..self.globals.len()).filter(|at| self.has_data(*at)).collect();
        let without: Vec<usize> = (0..self.globals.len()).filter(|at| !self.has_data(*at)).collect();
        let (init_data, init_at) = self.lay_out(&with_data);
        let (zero_data, zero_at) = self.lay_out(&without);
        let relocated = with_data.iter().any(|at| !self.globals[*at].addresses.is_empty());
        let zero = init + u16::from(!with_data.is_empty()) + u16::from(relocated);
        let mut of_global = vec![0u32; self.globals.len()];
        for is_visible in [false, true] {
            if is_visible {
                for (at, kernel) in self.kernels.iter().enumerate() {
                    let size = code_bytes(kernel).len() as u64;
                    symbols.push((kernel.name.clone(), function_symbol(), ENTRY, text(at), 0, size));
                }
            }
            for (places, at, section) in [(&with_data, &init_at, init), (&without, &zero_at, zero)] {
                for (place, offset) in places.iter().zip(at) {
                    let global = &self.globals[*place];
                    if global.is_visible != is_visible {
                        continue;
                    }
                    of_global[*place] = symbols.len() as u32 + 1;
                    let bind = if is_visible { elf::STB_GLOBAL.0 } else { elf::STB_LOCAL.0 };
                    symbols.push((global.name.clone(), object_symbol(bind), 0, section, *offset, global.size));
                }
            }
        }
        let first_external = symbols.len() as u32 + 1;
        for name in &self.externals {
            symbols.push((name.clone(), function_symbol(), 0, 0, 0, 0));
        }
        let externals = |kernel: &Kernel| -> Vec<u32> {
            let found = kernel.externals.iter().filter_map(|name| self.externals.iter().position(|own| own == name));
            found.map(|at| first_external + at as u32).collect()
        };
        let first_image = symbols.len() as u32 + 1;
        for image in &self.images {
            symbols.push((image.name.clone(), elf::STB_GLOBAL.0 << 4 | image.kind.codes().0, 0, 0, 0, 0));
        }
        let sizes = self.entry_sizes();
        let first_size = symbols.len() as u32 + 1;
        for size in &sizes {
            symbols.push(((*size).to_owned(), object_symbol(elf::STB_WEAK.0), 0, 0, 0, 4));
        }
        let number_symbol = |at: usize, number: Number| match number {
            Number::Variable(place) => (first_image + place as u32, self.images[place].kind.codes().2),
            Number::Parameter(place) => (of_parameter[at][place], self.kernels[at].images[place].kind.codes().2),
            Number::EntrySize(name) => {
                let place = sizes.iter().position(|known| *known == name).expect("all sizes have symbols");
                (first_size + place as u32, R_CUDA_32)
            }
        };
        let locals = symbols.iter().take_while(|symbol| symbol.1 >> 4 == elf::STB_LOCAL.0).count() as u32 + 1;
        let kernel_symbol = |at: usize| locals + at as u32;

        // NVIDIA's tools take a file only where frames come first, and code behind their relocations.
        let frames = index(&sections);
        sections.push(Section::new(".debug_frame", elf::SHT_PROGBITS.0, 0, 1, self.frames()));
        let line_table = index(&sections);
        sections.extend(
            lines.iter().map(|table| Section::new(".debug_line", elf::SHT_PROGBITS.0, 0, 1, table.bytes.clone())),
        );
        let ptx_line_table = index(&sections);
        if let Some(table) = &ptx_lines {
            let section = |name, bytes: &Vec<u8>| Section::new(name, elf::SHT_PROGBITS.0, 0, 1, bytes.clone());
            sections.push(section(".nv_debug_line_sass", &table.bytes));
            sections.push(section(".nv_debug_ptx_txt", &self.ptx));
        }
        sections.push(Section::new(".note.nv.tkinfo", elf::SHT_NOTE.0, 0x200_0000, 4, self.tool_note()));
        let flags = if self.is_early() { 0x100_0000 } else { 0x100_0040 };
        sections.push(Section::new(".note.nv.cuinfo", elf::SHT_NOTE.0, flags, 4, self.note()));
        let mut common: Vec<u8> = (0..kernels).flat_map(|at| self.common(at, kernel_symbol(at))).collect();
        common.extend(self.samplers(first_image));
        sections.push(Section::new(".nv.info", CUDA_INFO, 0, 4, common).linked(SYMBOLS, 0));
        if !self.is_early() {
            sections.push(Section::new(".nv.compat", CUDA_COMPAT, 0, 4, self.compatibility()));
        }
        for (at, kernel) in self.kernels.iter().enumerate() {
            let name = format!(".nv.info.{}", kernel.name);
            let bank = 2 * at as u32 + 2;
            let info = self.info(kernel, bank, &of_parameter[at], &externals(kernel));
            sections.push(Section::new(name, CUDA_INFO, 0x40, 4, info).linked(SYMBOLS, text(at).into()));
        }
        let ends = [-1i32, -2, -3, -4];
        let mut rows: Vec<[i32; 2]> = vec![[0, ends[0]]];
        for (at, kernel) in self.kernels.iter().enumerate() {
            rows.extend(externals(kernel).into_iter().map(|callee| [kernel_symbol(at) as i32, callee as i32]));
        }
        rows.extend(ends[1..].iter().map(|end| [0, *end]));
        let graph: Vec<u8> = rows.into_iter().flatten().flat_map(i32::to_le_bytes).collect();
        sections.push(Section {
            entry: 8,
            ..Section::new(".nv.callgraph", CUDA_CALLGRAPH, 0, 4, graph).linked(SYMBOLS, 0)
        });
        if self.is_early() {
            let actions = Section::new(".nv.rel.action", CUDA_RELOCINFO, 0, 8, RELOCATION_ACTIONS.to_vec());
            sections.push(Section { entry: 8, ..actions });
        }
        for (name, table, section) in
            [(".debug_line", &lines, line_table), (".nv_debug_line_sass", &ptx_lines, ptx_line_table)]
        {
            let Some(table) = table else { continue };
            let rows = table.addresses.iter().enumerate();
            let rows = rows.flat_map(|(at, place)| relocation(*place, kernel_symbol(at), 0)).collect();
            sections.push(relocations(name, section, rows));
        }
        let starts = (0..kernels).map(|at| relocation((FRAME_BYTES * at + FRAME_START) as u64, kernel_symbol(at), 0));
        sections.push(relocations(".debug_frame", frames, starts.flatten().collect()));
        debug_assert_eq!(index(&sections), first_text);
        for (at, kernel) in self.kernels.iter().enumerate() {
            let name = format!(".text.{}", kernel.name);
            let section = Section::new(name, elf::SHT_PROGBITS.0, 6, CODE_ALIGN as u64, code_bytes(kernel));
            // Before Hopper the loader takes the number of registers from here.
            let registers = if self.is_early() { kernel.registers << 24 } else { 0 };
            sections.push(section.linked(SYMBOLS, registers | kernel_symbol(at)));
        }
        for (at, kernel) in self.kernels.iter().enumerate() {
            let name = format!(".nv.constant0.{}", kernel.name);
            let size = usize::from(kernel.parameter_base) + usize::from(kernel.parameter_size);
            let size = size.max(kernel.bank_end as usize);
            let section = Section::new(name, elf::SHT_PROGBITS.0, 0x42, 4, vec![0; size]);
            sections.push(section.linked(0, text(at).into()));
        }
        for (at, kernel) in self.kernels.iter().enumerate().filter(|(_, kernel)| kernel.shared > 0) {
            let name = format!(".nv.shared.{}", kernel.name);
            let align = u64::from(kernel.shared_align.max(1));
            let section = Section::new(name, elf::SHT_NOBITS.0, 0x43, align, Vec::new());
            sections.push(Section { size: kernel.shared.into(), ..section.linked(0, text(at).into()) });
        }
        if !self.constants.is_empty() {
            sections.push(Section::new(".nv.constant3", elf::SHT_PROGBITS.0, 2, 8, self.constants.clone()));
            let rows = self.constant_addresses.iter();
            let rows: Vec<u8> =
                rows.flat_map(|(at, to, addend)| relocation(u64::from(*at), of_global[*to], *addend)).collect();
            if !rows.is_empty() {
                sections.push(relocations(".nv.constant3", bank3, rows));
            }
        }
        if !self.addresses.is_empty() {
            let bytes = vec![0; 8 * self.addresses.len()];
            sections.push(Section::new(".nv.constant4", elf::SHT_PROGBITS.0, 2, 8, bytes));
            let rows = self.addresses.iter().zip(0u64..);
            let symbol = |address: &Address| match address {
                Address::Global(global) => of_global[*global],
                Address::External(at) => first_external + *at as u32,
            };
            let rows = rows.map(|(address, at)| relocation(8 * at, symbol(address), 0));
            sections.push(relocations(".nv.constant4", bank4, rows.flatten().collect()));
        }
        if !with_data.is_empty() {
            let align = with_data.iter().map(|at| self.globals[*at].align).max().unwrap_or(1);
            sections.push(Section::new(".nv.global.init", elf::SHT_PROGBITS.0, 3, align, init_data));
            let rows: Vec<u8> = with_data
                .iter()
                .zip(&init_at)
                .flat_map(|(place, start)| self.globals[*place].addresses.iter().map(move |row| (start, row)))
                .flat_map(|(start, (offset, to, addend))| {
                    relocation(start + u64::from(*offset), of_global[*to], *addend)
                })
                .collect();
            if relocated {
                sections.push(relocations(".nv.global.init", init, rows));
            }
        }
        if !without.is_empty() {
            let align = without.iter().map(|at| self.globals[*at].align).max().unwrap_or(1);
            let section = Section::new(".nv.global", elf::SHT_NOBITS.0, 3, align, Vec::new());
            sections.push(Section { size: zero_data.len() as u64, ..section });
        }
        for (at, kernel) in self.kernels.iter().enumerate().filter(|(_, kernel)| !kernel.numbers.is_empty()) {
            let name = format!(".nv.constant0.{}", kernel.name);
            let rows = kernel.numbers.iter().flat_map(|(offset, number)| {
                let (symbol, kind) = number_symbol(at, *number);
                relocation_of(kind, u64::from(*offset), symbol, 0)
            });
            sections.push(relocations(&name, bank0(at), rows.collect()));
        }
        if self.is_early() {
            put_addends(&mut sections);
        }
        self.file(&sections, &symbols, locals)
    }

    /// Whether the file is for an SM before Hopper, for which ptxas writes some things as it did of old.
    fn is_early(&self) -> bool {
        self.target.sm < 90
    }

    /// The symbols of sizes of entries, each once.
    fn entry_sizes(&self) -> Vec<&'static str> {
        let mut found = Vec::new();
        for (_, number) in self.kernels.iter().flat_map(|kernel| &kernel.numbers) {
            if let Number::EntrySize(name) = number
                && !found.contains(name)
            {
                found.push(*name);
            }
        }
        found
    }

    /// How the samplers of the file fetch: the address modes of three axes and the filter, where they are said.
    fn samplers(&self, first: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (symbol, image) in (first..).zip(&self.images).filter(|(_, image)| image.kind == ImageKind::Sampler) {
            let settings = [Setting::Address0, Setting::Address1, Setting::Address2, Setting::Filter];
            let codes = settings.map(|setting| image.settings.get(setting).unwrap_or(u8::MAX));
            if let Some(is_forced) = image.settings.get(Setting::ForceUnnormalized) {
                sized(&mut bytes, code::SAMPLER_FORCE_UNNORMALIZED, &[symbol, is_forced.into()]);
            }
            sized(&mut bytes, code::SAMPLER_INIT, &[symbol, u32::from_le_bytes(codes)]);
        }
        let of_kernels = self.kernels.iter().flat_map(|kernel| &kernel.images);
        if self.images.iter().chain(of_kernels).any(|image| image.kind == ImageKind::Sampler) {
            bytes.extend([1, code::TEXMODE_INDEPENDENT, 0, 0]);
        }
        bytes
    }

    fn has_data(&self, at: usize) -> bool {
        let global = &self.globals[at];
        !global.addresses.is_empty() || global.data.iter().any(|byte| *byte != 0)
    }

    /// Variables one behind the other, and where each begins.
    fn lay_out(&self, places: &[usize]) -> (Vec<u8>, Vec<u64>) {
        let (mut data, mut at) = (Vec::new(), Vec::new());
        for place in places {
            let global = &self.globals[*place];
            let start = (data.len() as u64).next_multiple_of(global.align.max(1));
            data.resize(start as usize, 0);
            data.extend_from_slice(&global.data);
            data.resize((start + global.size) as usize, 0);
            at.push(start);
        }
        (data, at)
    }

    /// Which tool made the file, without which NVIDIA's tools say that it has no code for devices.
    fn tool_note(&self) -> Vec<u8> {
        let arguments = format!("-arch {}", self.target);
        let (mut strings, mut places) = (vec![0u8], Vec::new());
        for text in ["oriole", concat!("Oriole ", env!("CARGO_PKG_VERSION")), "", &arguments] {
            places.push(strings.len() as u32);
            strings.extend(text.bytes());
            strings.push(0);
        }
        strings.resize(strings.len().next_multiple_of(4), 0);
        let mut note = Vec::new();
        let size = 4 * (2 + places.len()) + strings.len();
        [12u32, size as u32, 2000].iter().for_each(|number| note.extend(number.to_le_bytes()));
        note.extend(b"NVIDIA Corp\0");
        [2, 0].iter().chain(&places).for_each(|number| note.extend(number.to_le_bytes()));
        note.extend(strings);
        note
    }

    /// Where debuggers find the frame of a function: registers as they are, the stack pointer without offset. NVIDIA's
    /// tools take no file without it.
    fn frames(&self) -> Vec<u8> {
        let mut all = Vec::new();
        for kernel in &self.kernels {
            let start = all.len() as u64;
            // A common entry: version 3, no augmentation, code in units of 4 bytes, data of -4.
            all.extend([0xff; 4]);
            all.extend(0x24u64.to_le_bytes());
            all.extend([0xff; 8]);
            all.extend([3, 0, 4, 0x7c, 0xff, 0xff, 0xff, 0xff, 0x0f]);
            // The frame is at register 1; that register, and the one of return addresses, keep their values.
            all.extend([0x0c, 0x81, 0x80, 0x80, 0x28, 0, 8, 0xff, 0x81, 0x80, 0x28]);
            all.extend([8, 0x81, 0x80, 0x80, 0x28, 0, 0, 0]);
            // A function: its common entry, where it begins, its size.
            all.extend([0xff; 4]);
            all.extend(0x2cu64.to_le_bytes());
            all.extend(start.to_le_bytes());
            all.extend(0u64.to_le_bytes());
            all.extend((code_bytes(kernel).len() as u64).to_le_bytes());
            all.extend([0x0c, 0x81, 0x80, 0x80, 0x28, 0]);
            all.resize(start as usize + FRAME_BYTES, 0);
        }
        all
    }

    fn note(&self) -> Vec<u8> {
        let mut note = Vec::new();
        [12u32, 8, 1000].iter().for_each(|number| note.extend(number.to_le_bytes()));
        note.extend(b"NVIDIA Corp\0");
        [2u16, self.target.sm, API_VERSION as u16, 0].iter().for_each(|number| note.extend(number.to_le_bytes()));
        note
    }

    /// The attributes of a kernel in `.nv.info`.
    fn common(&self, at: usize, symbol: u32) -> Vec<u8> {
        let kernel = &self.kernels[at];
        let mut bytes = Vec::new();
        sized(&mut bytes, code::REGCOUNT, &[symbol, kernel.registers]);
        sized(&mut bytes, code::FRAME_SIZE, &[symbol, kernel.frame]);
        sized(&mut bytes, code::MIN_STACK_SIZE, &[symbol, kernel.frame]);
        bytes
    }

    /// The contents of `.nv.compat`: which instructions of one SM alone may be there. Before `sm_90` there is no such
    /// section, and an empty one makes cuobjdump refuse the file.
    fn compatibility(&self) -> Vec<u8> {
        let specific = u8::from(self.target.suffix == Some('a'));
        let finalizer = match self.target.sm {
            100.. if self.target.sm < 120 => 9,
            120.. => 0x50,
            _ => 0,
        };
        let mut bytes =
            vec![2, 9, specific, 0, 2, 2, 1, 0, 2, 5, 5, 0, 3, 7, 1, 1, 2, 3, 0, 0, 2, 6, 1, 0, 4, 11, 8, 0];
        bytes.extend([finalizer, 0, 0, 0, 0, 0, 0, 0]);
        bytes
    }

    fn info(&self, kernel: &Kernel, bank: u32, of_images: &[u32], externals: &[u32]) -> Vec<u8> {
        let mut bytes = Vec::new();
        if kernel.blocks_are_clusters {
            bytes.extend([1, code::BLOCKS_ARE_CLUSTERS, 0, 0]);
        }
        sized(&mut bytes, code::CUDA_API_VERSION, &[API_VERSION]);
        if self.is_early() {
            bytes.extend([1, 0x35, 0, 0]);
            let [size, place] = parameters_place(kernel, bank);
            bytes.extend([place, size].concat());
        }
        for (ordinal, parameter) in kernel.parameters.iter().enumerate().rev() {
            let ordinal = ordinal as u32;
            let numbers = match *parameter {
                Parameter::Bytes(offset, size) => {
                    [0, ordinal | u32::from(offset) << 16, u32::from(size) << 18 | 0x1f000]
                }
                Parameter::Image(place) => {
                    let (_, space, _) = kernel.images[place].kind.codes();
                    [of_images[place], ordinal | 0xffff_0000, 0x1f000 | space << 8]
                }
            };
            sized(&mut bytes, code::KPARAM_INFO, &numbers);
        }
        if let Some(rank) = kernel.max_cluster_rank {
            sized(&mut bytes, code::MAX_CLUSTER_RANK, &[rank]);
        }
        if kernel.is_cluster {
            bytes.extend([1, code::EXPLICIT_CLUSTER, 0, 0]);
        }
        if let Some(blocks) = kernel.cluster {
            sized(&mut bytes, code::CTA_PER_CLUSTER, &blocks);
        }
        if !self.is_early() {
            bytes.extend([3, code::SPARSE_MMA_MASK, 0, 0]);
        }
        bytes.extend([3, code::MAXREG_COUNT, 0xff, 0]);
        if kernel.barriers > 0 {
            bytes.extend([2, code::NUM_BARRIERS, kernel.barriers, 0]);
        }
        if !externals.is_empty() {
            sized(&mut bytes, code::EXTERNS, externals);
        }
        bytes.extend(if self.is_early() { [3, 0x5f, 0, 0] } else { [3, 0x5f, 1, 1] });
        if self.target.sm >= 100 {
            bytes.extend([2, code::VRC_CTA_INIT_COUNT, 0, 0]);
        }
        if !kernel.system_calls.is_empty() {
            sized(&mut bytes, code::SYSCALL_OFFSETS, &kernel.system_calls);
        }
        let exits: Vec<u32> = (0u32..)
            .step_by(16)
            .zip(&kernel.words)
            .filter(|(_, word)| *word & 0xfff == EXIT)
            .map(|(offset, _)| offset)
            .collect();
        sized(&mut bytes, code::EXIT_INSTR_OFFSETS, &exits);
        if let Some(threads) = kernel.max_threads {
            sized(&mut bytes, code::MAX_THREADS, &threads);
        }
        if let Some(threads) = kernel.required_threads {
            sized(&mut bytes, code::REQNTID, &threads);
        }
        if !kernel.system_calls.is_empty() {
            sized(&mut bytes, code::CRS_STACK_SIZE, &[0]);
        }
        if !self.is_early() {
            bytes.extend(parameters_place(kernel, bank).concat());
        }
        if self.target.sm >= 90 {
            sized(&mut bytes, code::SW_WAR, &[if self.target.sm < 120 { 8 } else { 0 }]);
        }
        if !kernel.numbers.is_empty() {
            bytes.extend([2, code::BINDLESS_TEXTURE_BANK, 0, 0, 2, code::BINDLESS_SURFACE_BANK, 0, 0]);
        }
        bytes
    }

    fn file(&self, sections: &[Section], symbols: &[Symbol], locals: u32) -> Vec<u8> {
        let (mut names, mut strings) = (Strings(vec![0]), Strings(vec![0]));
        let mut table = vec![0; SYMBOL_SIZE];
        for (name, info, other, section, value, size) in symbols {
            table.extend(strings.add(name).to_le_bytes());
            table.extend([*info, *other]);
            table.extend(section.to_le_bytes());
            table.extend(value.to_le_bytes());
            table.extend(size.to_le_bytes());
        }
        let own = [".shstrtab", ".strtab", ".symtab"].map(|name| names.add(name));
        let of_sections: Vec<u32> = sections.iter().map(|section| names.add(&section.name)).collect();

        let mut out = vec![0u8; HEADER_SIZE];
        let mut headers = vec![header([0, 0], 0, [0, 0], [0, 0], [0, 0])];
        let put = |out: &mut Vec<u8>, align: u64, data: &[u8]| {
            out.resize((out.len() as u64).next_multiple_of(align.max(1)) as usize, 0);
            let at = out.len() as u64;
            out.extend_from_slice(data);
            at
        };
        let at = put(&mut out, 1, &names.0);
        headers.push(header([own[0], elf::SHT_STRTAB.0], 0, [at, names.0.len() as u64], [0, 0], [1, 0]));
        let at = put(&mut out, 1, &strings.0);
        headers.push(header([own[1], elf::SHT_STRTAB.0], 0, [at, strings.0.len() as u64], [0, 0], [1, 0]));
        let at = put(&mut out, 8, &table);
        let entry = SYMBOL_SIZE as u64;
        headers.push(header([own[2], elf::SHT_SYMTAB.0], 0, [at, table.len() as u64], [2, locals], [8, entry]));
        let mut loads = Vec::new();
        for (section, name) in sections.iter().zip(&of_sections) {
            let at = put(&mut out, section.align, &section.data);
            let flags = section.flags & 7;
            if flags & 2 != 0 {
                loads.push((flags, at, section.data.len() as u64, section.size));
            }
            let links = [section.link, section.info];
            let of_entries = [section.align, section.entry];
            headers.push(header([*name, section.kind], section.flags, [at, section.size], links, of_entries));
        }
        let segments = 2 + loads.len();
        let segment_at = put(&mut out, 8, &[]);
        let table_size = (segments * SEGMENT_SIZE) as u64;
        let readable = elf::PF_R.0;
        let mut all = vec![
            segment(elf::PT_PHDR.0, readable, segment_at, table_size, table_size),
            segment(elf::PT_LOAD.0, readable, segment_at, table_size, table_size),
        ];
        for (flags, at, in_file, in_memory) in loads {
            let write = if flags & 1 != 0 { elf::PF_W.0 } else { 0 };
            let execute = if flags & 4 != 0 { elf::PF_X.0 } else { 0 };
            all.push(segment(elf::PT_LOAD.0, readable | write | execute, at, in_file, in_memory));
        }
        all.iter().for_each(|segment| out.extend_from_slice(segment));
        let sections_at = put(&mut out, 8, &[]);
        headers.iter().for_each(|header| out.extend_from_slice(header));
        let start = self.header(segment_at, all.len() as u16, sections_at, headers.len() as u16);
        out[..start.len()].copy_from_slice(&start);
        out
    }

    /// The file's header, that of CUDA 13.
    fn header(&self, segments: u64, segment_count: u16, sections: u64, section_count: u16) -> Vec<u8> {
        let low = if self.target.sm < 100 { 4 } else { 2 };
        let flags = 0x0600_0000 | u32::from(self.target.sm) << 8 | low;
        let mut out = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0x41, 8, 0, 0, 0, 0, 0, 0, 0];
        out.extend(elf::ET_EXEC.0.to_le_bytes());
        out.extend(elf::EM_CUDA.0.to_le_bytes());
        out.extend(1u32.to_le_bytes());
        out.extend(0u64.to_le_bytes());
        out.extend(segments.to_le_bytes());
        out.extend(sections.to_le_bytes());
        out.extend(flags.to_le_bytes());
        let sizes = [64, SEGMENT_SIZE as u16, segment_count];
        sizes.iter().for_each(|number| out.extend(number.to_le_bytes()));
        [SECTION_SIZE as u16, section_count, 1].iter().for_each(|n| out.extend(n.to_le_bytes()));
        out
    }
}

fn section_symbol() -> u8 {
    elf::STT_SECTION.0
}

fn object_symbol(bind: u8) -> u8 {
    bind << 4 | elf::STT_OBJECT.0
}

fn function_symbol() -> u8 {
    elf::STB_GLOBAL.0 << 4 | elf::STT_FUNC.0
}

/// The bytes of a kernel's code, filled up with `NOP`.
fn code_bytes(kernel: &Kernel) -> Vec<u8> {
    let mut bytes: Vec<u8> = kernel.words.iter().flat_map(|word| word.to_le_bytes()).collect();
    while !bytes.len().is_multiple_of(CODE_ALIGN) {
        bytes.extend(NOP.to_le_bytes());
    }
    bytes
}

/// The attributes that say how many bytes a kernel's parameters have, and where in the bank they are.
fn parameters_place(kernel: &Kernel, bank: u32) -> [Vec<u8>; 2] {
    let [low, high] = kernel.parameter_size.to_le_bytes();
    let (size, mut place) = (vec![3, code::CBANK_PARAM_SIZE, low, high], Vec::new());
    let at = u32::from(kernel.parameter_base) | u32::from(kernel.parameter_size) << 16;
    sized(&mut place, code::PARAM_CBANK, &[bank, at]);
    [size, place]
}

/// Makes relocations without addends of all: the addend is in the bytes that are changed.
fn put_addends(sections: &mut [Section]) {
    for at in 0..sections.len() {
        if sections[at].kind != elf::SHT_RELA.0 {
            continue;
        }
        let (rows, target) = (std::mem::take(&mut sections[at].data), sections[at].info as usize - FIRST);
        let mut short = Vec::with_capacity(rows.len() / RELOCATION_SIZE * SHORT_RELOCATION_SIZE);
        for row in rows.chunks_exact(RELOCATION_SIZE) {
            let (place, addend) = row.split_at(SHORT_RELOCATION_SIZE);
            short.extend_from_slice(place);
            let offset = place.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)) as usize;
            if addend.iter().any(|byte| *byte != 0) {
                sections[target].data[offset..offset + addend.len()].copy_from_slice(addend);
            }
        }
        let made = &mut sections[at];
        (made.size, made.data, made.kind) = (short.len() as u64, short, elf::SHT_REL.0);
        made.entry = SHORT_RELOCATION_SIZE as u64;
        made.name = made.name.replacen(".rela", ".rel", 1);
    }
}

/// An attribute with numbers of 32 bits.
fn sized(bytes: &mut Vec<u8>, code: u8, numbers: &[u32]) {
    let [low, high] = (4 * numbers.len() as u16).to_le_bytes();
    bytes.extend([4, code, low, high]);
    numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
}

fn relocation(offset: u64, symbol: u32, addend: i64) -> Vec<u8> {
    relocation_of(R_CUDA_64, offset, symbol, addend)
}

fn relocation_of(kind: u32, offset: u64, symbol: u32, addend: i64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(RELOCATION_SIZE);
    bytes.extend(offset.to_le_bytes());
    bytes.extend((u64::from(symbol) << 32 | u64::from(kind)).to_le_bytes());
    bytes.extend(addend.to_le_bytes());
    bytes
}

fn relocations(of: &str, section: u16, rows: Vec<u8>) -> Section {
    let entry = RELOCATION_SIZE as u64;
    let made = Section::new(format!(".rela{of}"), elf::SHT_RELA.0, 0x40, 8, rows);
    Section { entry, ..made.linked(SYMBOLS, section.into()) }
}

/// A section's header: name and type, flags, place and size, link and information, alignment and size of an entry.
fn header(named: [u32; 2], flags: u64, place: [u64; 2], links: [u32; 2], of_entries: [u64; 2]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(SECTION_SIZE);
    named.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
    [flags, 0].iter().chain(&place).for_each(|number| bytes.extend(number.to_le_bytes()));
    links.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
    of_entries.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
    bytes
}

/// A segment's header.
fn segment(kind: u32, flags: u32, offset: u64, in_file: u64, in_memory: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(SEGMENT_SIZE);
    [kind, flags].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
    [offset, 0, 0, in_file, in_memory, 8].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
    bytes
}
