//! The symbols of a module that some of them lead to: what functions name, and what initial content does.
//!
//! Cost: linear in the operands of the functions that are reached.

use cranelift_entity::EntitySet;

use oriole_ir::{FuncId, Function, Global, Module, Operand, SymbolRef};

/// Symbols, and all that they name, directly or through others.
#[derive(Default)]
pub(super) struct Reached {
    pub(super) functions: EntitySet<FuncId>,
    pub(super) globals: EntitySet<Global>,
}

impl Reached {
    /// Everything that these symbols lead to, themselves included.
    pub(super) fn from(module: &Module, roots: impl IntoIterator<Item = SymbolRef>) -> Reached {
        let (mut reached, mut work) = (Reached::default(), roots.into_iter().collect::<Vec<SymbolRef>>());
        while let Some(symbol) = work.pop() {
            match symbol {
                SymbolRef::Func(id) if reached.functions.insert(id) => work.extend(named(&module.functions[id])),
                SymbolRef::Global(id) if reached.globals.insert(id) => {
                    work.extend(module.globals[id].relocations.iter().map(|relocation| relocation.symbol));
                }
                SymbolRef::Func(_) | SymbolRef::Global(_) => {}
            }
        }
        reached
    }
}

/// The symbols that a function names.
fn named(func: &Function) -> impl Iterator<Item = SymbolRef> + '_ {
    let of_operand = |operand: &Operand| match operand {
        Operand::Func(id) => Some(SymbolRef::Func(*id)),
        Operand::Global(id) => Some(SymbolRef::Global(*id)),
        _ => None,
    };
    let relocations = func.locals.values().flat_map(|local| &local.relocations);
    let operands = func.layout_insts().flat_map(move |inst| func.inputs(inst)).filter_map(of_operand);
    operands.chain(relocations.map(|relocation| relocation.symbol))
}
