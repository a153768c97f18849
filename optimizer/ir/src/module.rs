//! Modules: variables, functions and the target that they are for.

use std::collections::HashMap;

use cranelift_entity::PrimaryMap;

use super::entity::{FuncId, Global};
use super::function::{Function, copy_map};
use super::inst::InstData;
use super::sources::Sources;
use crate::ops::{Space, Type};
use crate::sm::Target;

/// A translation unit.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct Module {
    /// The target architecture, as PTX names it: `sm_90`.
    pub target: String,
    /// The PTX ISA version, major and minor.
    pub ptx_version: (u8, u8),
    /// Variables in the global, constant, shared and local spaces.
    pub globals: PrimaryMap<Global, Variable>,
    /// Functions, declared or defined.
    pub functions: PrimaryMap<FuncId, Function>,
    /// The source that the lines of its instructions come from.
    pub sources: Sources,
}

impl Clone for Module {
    fn clone(&self) -> Module {
        let mut copy = Module::default();
        copy.clone_from(self);
        copy
    }

    /// As [`Function::clone_from`].
    fn clone_from(&mut self, other: &Module) {
        let Module { target, ptx_version, globals, functions, sources } = other;
        self.target.clone_from(target);
        self.ptx_version = *ptx_version;
        copy_map(&mut self.globals, globals);
        copy_map(&mut self.functions, functions);
        self.sources.clone_from(sources);
    }
}

impl Default for Module {
    fn default() -> Module {
        Module {
            target: "sm_90".into(),
            ptx_version: (9, 0),
            globals: PrimaryMap::new(),
            functions: PrimaryMap::new(),
            sources: Sources::default(),
        }
    }
}

impl Module {
    /// The SM that the module is for; `None` where its target is none that this crate knows.
    pub fn sm(&self) -> Option<Target> {
        self.target.parse().ok()
    }

    /// Whether a target has all operations of the module.
    pub fn is_for(&self, target: Target) -> bool {
        self.operations().all(|data| data.opcode.row().missing_on(target, &data.fields).is_none())
    }

    /// The operations of all functions, in the order in which they are written.
    pub fn operations(&self) -> impl Iterator<Item = &InstData> {
        self.functions.values().flat_map(|func| func.layout_insts().map(|inst| func.inst(inst)))
    }

    /// How many operations all functions have.
    pub fn inst_count(&self) -> usize {
        self.functions.values().map(Function::inst_count).sum()
    }

    /// The first target that has all operations of the module, a portable one if any has.
    pub fn first_target(&self) -> Option<Target> {
        Target::all().chain(Target::all_specific()).find(|target| self.is_for(*target))
    }

    /// The function with this name.
    pub fn function_named(&self, name: &str) -> Option<FuncId> {
        self.functions.iter().find(|(_, f)| f.name == name).map(|(id, _)| id)
    }

    /// Every symbol by name.
    pub fn symbols(&self) -> HashMap<&str, SymbolRef> {
        let globals = self.globals.iter().map(|(id, g)| (g.name.as_str(), SymbolRef::Global(id)));
        let functions = self.functions.iter().map(|(id, f)| (f.name.as_str(), SymbolRef::Func(id)));
        globals.chain(functions).collect()
    }

    /// The name of a symbol.
    pub fn symbol_name(&self, symbol: SymbolRef) -> &str {
        match symbol {
            SymbolRef::Global(id) => &self.globals[id].name,
            SymbolRef::Func(id) => &self.functions[id].name,
        }
    }
}

/// How a symbol is seen outside its module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Linkage {
    /// Not at all.
    #[default]
    Internal,
    /// Defined here, seen elsewhere.
    Visible,
    /// Defined here unless another module defines it.
    Weak,
    /// Defined elsewhere.
    Extern,
    /// Tentatively defined here.
    Common,
}

impl Linkage {
    /// Every linkage with its PTX directive (without the dot).
    pub const NAMES: &'static [(Linkage, &'static str)] = &[
        (Linkage::Internal, ""),
        (Linkage::Visible, "visible"),
        (Linkage::Weak, "weak"),
        (Linkage::Extern, "extern"),
        (Linkage::Common, "common"),
    ];

    /// The PTX directive without its dot; empty for internal.
    pub fn name(self) -> &'static str {
        Linkage::NAMES[self as usize].1
    }
}

/// A variable: memory in some state space.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct Variable {
    /// Its name, unique in its module or function.
    pub name: String,
    /// Its linkage.
    pub linkage: Linkage,
    /// Its state space.
    pub space: Space,
    /// Its alignment in bytes, a power of two.
    pub align: u32,
    /// The type of an element.
    pub ty: Type,
    /// The number of elements; `None` for a scalar. Zero for an extern array of unknown size.
    pub count: Option<u64>,
    /// Initial bytes; shorter than the variable where the rest is zero, empty where nothing is said.
    pub init: Vec<u8>,
    /// Addresses stored into the initial bytes.
    pub relocations: Vec<Relocation>,
}

impl Clone for Variable {
    fn clone(&self) -> Variable {
        let Variable { name, init, relocations, .. } = self;
        let (name, init, relocations) = (name.clone(), init.clone(), relocations.clone());
        Variable { name, init, relocations, ..*self }
    }

    fn clone_from(&mut self, other: &Variable) {
        let Variable { name, linkage, space, align, ty, count, init, relocations } = other;
        (self.linkage, self.space, self.align, self.ty, self.count) = (*linkage, *space, *align, *ty, *count);
        self.name.clone_from(name);
        self.init.clone_from(init);
        self.relocations.clone_from(relocations);
    }
}

impl Variable {
    /// A variable without initial value, aligned to its element.
    pub fn new(name: impl Into<String>, space: Space, ty: Type, count: Option<u64>) -> Variable {
        Variable {
            name: name.into(),
            linkage: Linkage::Internal,
            space,
            align: (ty.bits() / 8).max(1),
            ty,
            count,
            init: Vec::new(),
            relocations: Vec::new(),
        }
    }

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        u64::from((self.ty.bits() / 8).max(1)).saturating_mul(self.count.unwrap_or(1))
    }
}

/// A symbol of a module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SymbolRef {
    /// A variable.
    Global(Global),
    /// A function.
    Func(FuncId),
}

/// An address in a variable's initial bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Relocation {
    /// Where in the variable, in bytes.
    pub offset: u32,
    /// How many bytes are written.
    pub width: u8,
    /// Whose address.
    pub symbol: SymbolRef,
    /// What is added to it.
    pub addend: i64,
    /// Whether the address is a generic one (`generic(x)`) or one in the variable's own space.
    pub generic: bool,
}
