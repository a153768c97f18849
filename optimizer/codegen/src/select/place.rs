//! Where parameters and variables are: offsets in the constant banks, in shared memory, in the frame.

use std::collections::BTreeMap;

use oriole_ir::ops::{Flags, ImagePart, ImageQuery, Opcode, Shape, Space, Type};
use oriole_ir::sm::{ConstantLayout, Target};
use oriole_ir::{
    FuncId, Function, FunctionKind, Global, Linkage, Local, Module, Operand, Relocation, SymbolRef, Variable,
};

use crate::expand::Pointers;
use crate::sequences::Sequence;

/// Why something has no place.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PlaceError {
    /// A space is too small.
    #[error("{function}: {what} take {bytes} bytes, and {most} is the most")]
    Size {
        /// The function's name.
        function: String,
        /// Which variables.
        what: &'static str,
        /// Their size.
        bytes: u64,
        /// The size of the space.
        most: u64,
    },
    /// An address in the initializer of a variable that is not made.
    #[error("variable {variable}: its initializer has an address that is not compiled yet")]
    Address {
        /// The variable's name.
        variable: String,
    },
}

/// Bytes of a number that the loader fills in: a handle, whose upper word is zero.
const NUMBER: u64 = 8;
/// Bytes of a constant bank.
const BANK: u64 = 0x1_0000;
/// Bytes of shared memory that a kernel's own variables may take.
const SHARED: u64 = 0xc000;
/// Bytes of a frame.
const FRAME: u64 = 512 << 10;
/// The alignment of the frame and of dynamic shared memory.
const ALIGN: u64 = 16;
/// Shared memory that is the system's, before a kernel's own, from Hopper on.
const RESERVED_SHARED: u64 = 1 << 10;

/// Where everything is that a function names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Places {
    /// The offsets of the driver's values in bank 0.
    pub constants: ConstantLayout,
    /// Offsets of parameters from the first one.
    parameters: BTreeMap<Local, u32>,
    /// Bytes of all parameters.
    pub parameter_size: u32,
    /// Offsets of parameters and results of a device function from the end of its frame.
    incoming: BTreeMap<Local, u32>,
    /// Whether it calls functions.
    pub calls: bool,
    /// Offsets of local variables in the frame.
    locals: BTreeMap<Local, u32>,
    /// Bytes of the frame, spilled registers apart.
    pub frame: u32,
    /// Offsets of shared variables.
    shared: BTreeMap<Global, u32>,
    /// Bytes of shared memory, with what is reserved before it.
    pub shared_size: u32,
    /// Bytes of that which are reserved.
    pub shared_reserved: u32,
    /// Offsets of constant variables in bank 3.
    bank: BTreeMap<Global, u32>,
    /// Bytes of bank 3.
    pub bank_size: u32,
    /// Symbols whose addresses bank 4 has, by their places in it.
    addresses: Vec<SymbolRef>,
    /// The functions that are called by pointers.
    pub pointers: Pointers,
    /// By operation: the function that computes its rest.
    pub sequences: BTreeMap<String, Sequence>,
    /// Whether the kernel is launched in clusters and not otherwise.
    pub is_cluster: bool,
    /// Whether addresses of shared memory have the rank of their block in the upper byte.
    pub is_ranked: bool,
    /// Numbers that the loader fills in behind the parameters, eight bytes each.
    numbers: Vec<Number>,
    /// The types of variables among them.
    image_types: BTreeMap<Global, Type>,
    /// The offset in bank 0 of the first of them.
    first_number: u32,
    /// Whether samplers are apart from textures in the module.
    has_samplers: bool,
}

/// A number that the loader knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Number {
    /// That of a texture, a sampler or a surface.
    Variable(Global),
    /// The same of a parameter of the kernel.
    Parameter(Local),
    /// How many bytes an entry of a table of the driver has: the symbol of that number.
    EntrySize(&'static str),
}

/// Where the driver's tables have the answer to a question: the table, the symbol of the size of its entries, the
/// offset in an entry. Extents are not there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The table: of textures, of samplers, of surfaces.
    pub table: u32,
    /// The symbol.
    pub size: &'static str,
    /// The offset.
    pub offset: u32,
}

impl Answer {
    /// Where the answer is, for a question of `suq` or of `txq`.
    pub fn of(opcode: Opcode, query: ImageQuery, has_samplers: bool) -> Option<Answer> {
        use ImageQuery as Q;
        let known = |table, size, offset| Some(Answer { table, size, offset });
        if opcode == Opcode::Suq {
            let of_surface = |offset| known(2, ".nv.surfrefDescSize", offset);
            return match query {
                Q::ChannelDataType => of_surface(0x0c),
                Q::ChannelOrder => of_surface(0x10),
                Q::MemoryLayout => of_surface(0x14),
                Q::ArraySize => of_surface(0x1c),
                _ => None,
            };
        }
        // A texture with its sampler has its settings first.
        let of_sampler = |offset| match has_samplers {
            true => known(1, ".nv.independent.samplerrefDescSize", offset),
            false => known(0, ".nv.unified.texrefDescSize", offset + 0x0c),
        };
        let of_texture = |offset| match has_samplers {
            true => known(0, ".nv.independent.texrefDescSize", offset),
            false => known(0, ".nv.unified.texrefDescSize", offset + 0x10),
        };
        match query {
            Q::AddrMode0 => of_sampler(0x00),
            Q::AddrMode1 => of_sampler(0x04),
            Q::AddrMode2 => of_sampler(0x08),
            Q::FilterMode => of_sampler(0x0c),
            Q::ForceUnnormalizedCoords if has_samplers => of_sampler(0x10),
            Q::NormalizedCoords => of_texture(0x0c),
            Q::ChannelDataType => of_texture(0x10),
            Q::ChannelOrder => of_texture(0x14),
            Q::ArraySize => of_texture(0x18),
            Q::NumMipmapLevels => of_texture(0x1c),
            Q::NumSamples => of_texture(0x20),
            _ => None,
        }
    }
}

impl Places {
    /// The places of a kernel, or of a function that it calls; `group` is the kernel with all that it calls: they share
    /// variables.
    ///
    /// # Errors
    ///
    /// If parameters or variables are larger than their space.
    pub fn of(module: &Module, func: &Function, group: &[FuncId], target: Target) -> Result<Places, PlaceError> {
        let too_large = |what, bytes, most| PlaceError::Size { function: func.name.clone(), what, bytes, most };
        let fit = |what, bytes: u64, most: u64| {
            if bytes > most { Err(too_large(what, bytes, most)) } else { Ok(bytes as u32) }
        };
        let constants = target.constants();
        let (mut parameters, mut incoming) = (Row::default(), Row::default());
        match func.kind {
            FunctionKind::Entry => parameters = laid_out(func, constants.parameters),
            FunctionKind::Device => {
                let signature = func.params.iter().chain(&func.returns);
                signature.for_each(|local| incoming.put_apart(*local, func.locals[*local].size()));
            }
        }
        let most = BANK - u64::from(constants.parameters);
        let parameter_size = fit("parameters", parameters.end, most)?;

        let (calls, outgoing) = outgoing(func);
        let mut locals = Row { end: outgoing, ..Row::default() };
        let is_own = |local: Local| !func.params.contains(&local) && !func.returns.contains(&local);
        for (local, variable) in func.locals.iter() {
            match variable.space {
                Space::Local => locals.put(local, variable),
                // The parameters and results of calls.
                Space::Param if is_own(local) => locals.put_apart(local, variable.size()),
                _ => {}
            }
        }
        let frame = fit("local variables", locals.end.next_multiple_of(ALIGN), FRAME)?;

        let used = used(module, group);
        let reserved = if target.has_clusters() { RESERVED_SHARED } else { 0 };
        let mut shared = Row { end: reserved, ..Row::default() };
        let is_sized = |global: &&Global| module.globals[**global].size() > 0;
        let is_dynamic = |global: &Global| {
            let variable = &module.globals[*global];
            variable.linkage == Linkage::Extern || variable.size() == 0
        };
        let of_space = |space| used.iter().filter(move |global| module.globals[**global].space == space);
        for global in of_space(Space::Shared).filter(is_sized).filter(|global| !is_dynamic(global)) {
            shared.put(*global, &module.globals[*global]);
        }
        // Variables that a launch sizes share the place behind the others.
        let end = shared.end.next_multiple_of(ALIGN);
        for global in of_space(Space::Shared).filter(|global| is_dynamic(global)) {
            let align = u64::from(module.globals[*global].align).max(ALIGN);
            shared.at.insert(*global, end.next_multiple_of(align) as u32);
        }
        let shared_size = fit("shared variables", shared.end, SHARED + reserved)?;

        let mut bank = Row::default();
        for (global, variable) in module.globals.iter().filter(|(_, variable)| variable.space == Space::Const) {
            bank.put(global, variable);
        }
        let bank_size = fit("constant variables", bank.end, BANK)?;

        let addresses = addresses(module);
        let has_samplers = has_samplers(module);
        let numbers = numbers(module, group, has_samplers);
        let parameters_end = match group.first().map(|kernel| &module.functions[*kernel]) {
            Some(kernel) if !numbers.is_empty() => laid_out(kernel, constants.parameters).end,
            _ => parameters.end,
        };
        let first_number = parameters_end.next_multiple_of(NUMBER);
        let bytes = first_number + NUMBER * numbers.len() as u64;
        let first_number =
            constants.parameters + fit("parameters and images", bytes, most)? - NUMBER as u32 * numbers.len() as u32;
        let is_made = |row: &Relocation| match row.symbol {
            SymbolRef::Global(global) => row.width == 8 && module.globals[global].space == Space::Global,
            SymbolRef::Func(_) => row.width == 8,
        };
        let variables =
            module.globals.values().filter(|variable| matches!(variable.space, Space::Global | Space::Const));
        if let Some(wrong) = variables.into_iter().find(|variable| !variable.relocations.iter().all(is_made)) {
            return Err(PlaceError::Address { variable: wrong.name.clone() });
        }
        let (parameters, incoming) = (parameters.at, incoming.at);
        let is_cluster = group.iter().any(|id| {
            let names = module.functions[*id].directives.iter().map(|directive| directive.name.as_str());
            names.into_iter().any(|name| matches!(name, "explicitcluster" | "reqnctapercluster"))
        });
        let (locals, shared, bank) = (locals.at, shared.at, bank.at);
        Ok(Places {
            constants,
            parameters,
            parameter_size,
            incoming,
            calls,
            locals,
            frame,
            shared,
            shared_size,
            shared_reserved: reserved as u32,
            bank,
            bank_size,
            addresses,
            pointers: Pointers::of(module),
            sequences: BTreeMap::new(),
            is_cluster,
            is_ranked: target.has_clusters() && (is_cluster || reaches_blocks(module, group)),
            image_types: images(module).map(|(global, variable)| (global, variable.ty)).collect(),
            numbers,
            first_number,
            has_samplers,
        })
    }

    /// The offset of a parameter in bank 0.
    pub fn parameter(&self, local: Local) -> Option<u32> {
        Some(self.constants.parameters + self.parameters.get(&local)?)
    }

    /// The offsets of the parameters from the first one.
    pub fn parameters(&self) -> impl Iterator<Item = (Local, u32)> + '_ {
        self.parameters.iter().map(|(local, offset)| (*local, *offset))
    }

    /// The offset of a parameter or result of a device function from the end of its frame.
    pub fn incoming(&self, local: Local) -> Option<u32> {
        self.incoming.get(&local).copied()
    }

    /// The offset of a local variable from the stack pointer.
    pub fn local(&self, local: Local) -> Option<u32> {
        self.locals.get(&local).copied()
    }

    /// The address of a shared variable, or that of a constant one in its bank.
    pub fn address(&self, global: Global) -> Option<u32> {
        self.shared.get(&global).or_else(|| self.bank.get(&global)).copied()
    }

    /// The offset in bank 0 of a number that the loader knows.
    pub fn number(&self, number: Number) -> Option<u32> {
        let place = self.numbers.iter().position(|known| *known == number)?;
        Some(self.first_number + NUMBER as u32 * place as u32)
    }

    /// All such numbers with their offsets.
    pub fn numbers(&self) -> impl Iterator<Item = (u32, Number)> + '_ {
        (self.first_number..).step_by(NUMBER as usize).zip(self.numbers.iter().copied())
    }

    /// Whether a variable is a texture, a sampler or a surface.
    pub fn image_type(&self, global: Global) -> Option<Type> {
        self.image_types.get(&global).copied()
    }

    /// Where the driver has the answer to a question about an image.
    pub fn answer(&self, opcode: Opcode, query: ImageQuery) -> Option<Answer> {
        Answer::of(opcode, query, self.has_samplers)
    }

    /// The offset in bank 4 of the address of a symbol.
    pub fn entry(&self, symbol: SymbolRef) -> Option<u32> {
        self.addresses.iter().position(|known| *known == symbol).map(|at| 8 * at as u32)
    }

    /// The symbols whose addresses are in bank 4, in their order.
    pub fn entries(&self) -> &[SymbolRef] {
        &self.addresses
    }

    /// Whether a variable is in shared memory.
    pub fn is_shared(&self, global: Global) -> bool {
        self.shared.contains_key(&global)
    }

    /// Whether the kernel, or something that it calls, has shared variables.
    pub fn has_shared(&self) -> bool {
        !self.shared.is_empty()
    }

    /// The constant variables with their offsets in bank 3.
    pub fn bank(&self) -> impl Iterator<Item = (Global, u32)> + '_ {
        self.bank.iter().map(|(global, offset)| (*global, *offset))
    }
}

/// Variables one behind the other.
struct Row<K> {
    at: BTreeMap<K, u32>,
    end: u64,
    /// The address of the first one: alignment is that of addresses.
    base: u64,
}

impl<K> Default for Row<K> {
    fn default() -> Row<K> {
        Row::from(0)
    }
}

impl<K> Row<K> {
    fn from(base: u32) -> Row<K> {
        Row { at: BTreeMap::new(), end: 0, base: base.into() }
    }
}

impl<K: Ord> Row<K> {
    fn put(&mut self, key: K, variable: &Variable) {
        let align = u64::from(variable.align.max(1));
        let address = self.base.saturating_add(self.end).checked_next_multiple_of(align).unwrap_or(u64::MAX);
        let start = address - self.base;
        self.end = start.saturating_add(variable.size());
        // What does not fit the space is refused by its end.
        self.at.insert(key, u32::try_from(start).unwrap_or(u32::MAX));
    }

    /// Puts a variable of a call where any alignment holds, whatever caller and callee say of it.
    fn put_apart(&mut self, key: K, size: u64) {
        let start = self.end.next_multiple_of(ALIGN);
        self.end = start.saturating_add(size);
        self.at.insert(key, u32::try_from(start).unwrap_or(u32::MAX));
    }
}

/// Whether a function calls others, and the bytes that parameters and results of the widest call take.
fn outgoing(func: &Function) -> (bool, u64) {
    let (mut calls, mut most) = (false, 0);
    for inst in func.layout_insts().filter(|inst| func.inst(*inst).opcode == Opcode::Call) {
        calls = true;
        let variables = func.srcs(inst).iter().filter_map(|operand| match operand {
            Operand::Local(local) => Some(func.locals[*local].size().next_multiple_of(ALIGN)),
            _ => None,
        });
        most = most.max(variables.sum());
    }
    (calls, most)
}

/// Whether functions name shared memory of other blocks of their cluster, or hand addresses of their own to it.
fn reaches_blocks(module: &Module, group: &[FuncId]) -> bool {
    group.iter().map(|id| &module.functions[*id]).any(|func| {
        func.layout_insts().any(|inst| {
            let data = func.inst(inst);
            let is_remote = data.opcode.row().flags.has(Flags::ASYNC);
            is_remote || data.field::<Space>() == Some(Space::Cluster)
        })
    })
}

/// The variables of the module that functions name, and those whose addresses these hold.
fn used(module: &Module, group: &[FuncId]) -> Vec<Global> {
    let mut used: Vec<Global> = Vec::new();
    for func in group.iter().map(|id| &module.functions[*id]) {
        for operand in func.layout_insts().flat_map(|inst| func.inputs(inst)) {
            if let Operand::Global(global) = operand
                && !used.contains(global)
            {
                used.push(*global);
            }
        }
    }
    let mut next = 0;
    while let Some(global) = used.get(next) {
        next += 1;
        for relocation in module.globals[*global].relocations.clone() {
            if let SymbolRef::Global(other) = relocation.symbol
                && !used.contains(&other)
            {
                used.push(other);
            }
        }
    }
    used.sort_unstable();
    used
}

/// Whether the driver has a function.
pub fn is_external(module: &Module, id: FuncId) -> bool {
    let func = &module.functions[id];
    !func.is_definition() && matches!(func.name.as_str(), "vprintf" | "malloc" | "free" | "__assertfail")
}

/// The variables of a module that are textures, samplers or surfaces.
pub fn images(module: &Module) -> impl Iterator<Item = (Global, &Variable)> {
    module.globals.iter().filter(|(_, variable)| variable.ty.is_reference())
}

/// The parameters of a kernel that have bytes, from the place in the bank where the first one is.
fn laid_out(kernel: &Function, base: u32) -> Row<Local> {
    let mut row = Row::from(base);
    let of_bytes = kernel.params.iter().filter(|local| !kernel.locals[**local].ty.is_reference());
    of_bytes.for_each(|local| row.put(*local, &kernel.locals[*local]));
    row
}

/// Whether a module has samplers apart from its textures: it declares one, or a fetch names one.
fn has_samplers(module: &Module) -> bool {
    let locals = module.functions.values().flat_map(|func| func.locals.values());
    if module.globals.values().chain(locals).any(|variable| variable.ty == Type::SamplerRef) {
        return true;
    }
    let is_apart = |func: &Function, inst| {
        let row = func.inst(inst).opcode.row();
        let (handle, sampler) = (func.srcs(inst).first(), func.srcs(inst).get(1));
        row.srcs.get(1) == Some(&Shape::Image(ImagePart::Sampler)) && handle != sampler
    };
    module.functions.values().any(|func| func.layout_insts().any(|inst| is_apart(func, inst)))
}

/// The images that functions name, and the sizes of entries of the tables that have answers about them.
fn numbers(module: &Module, group: &[FuncId], has_samplers: bool) -> Vec<Number> {
    let mut found = Vec::new();
    for func in group.iter().map(|id| &module.functions[*id]) {
        for inst in func.layout_insts() {
            let data = func.inst(inst);
            let named = func.inputs(inst).iter().filter_map(|operand| match *operand {
                Operand::Global(global) if module.globals[global].ty.is_reference() => Some(Number::Variable(global)),
                Operand::Local(local) if func.locals[local].ty.is_reference() => Some(Number::Parameter(local)),
                _ => None,
            });
            let answer = match data.opcode {
                Opcode::Txq | Opcode::Suq => {
                    data.field().and_then(|query| Answer::of(data.opcode, query, has_samplers))
                }
                _ => None,
            };
            for number in named.chain(answer.map(|answer| Number::EntrySize(answer.size))) {
                if !found.contains(&number) {
                    found.push(number);
                }
            }
        }
    }
    found
}

/// The global variables whose addresses code of the module takes, and the driver's functions that it calls.
fn addresses(module: &Module) -> Vec<SymbolRef> {
    let mut found = Vec::new();
    for func in module.functions.values() {
        for inst in func.layout_insts() {
            for operand in func.inputs(inst) {
                let symbol = match operand {
                    Operand::Global(global)
                        if module.globals[*global].space == Space::Global
                            && !module.globals[*global].ty.is_reference() =>
                    {
                        SymbolRef::Global(*global)
                    }
                    Operand::Func(id) if func.inst(inst).opcode == Opcode::Call && is_external(module, *id) => {
                        SymbolRef::Func(*id)
                    }
                    _ => continue,
                };
                if !found.contains(&symbol) {
                    found.push(symbol);
                }
            }
        }
    }
    found
}
