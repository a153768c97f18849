//! Calls by definition: who may run while a function runs, as the closure of "names in a call", with one more caller
//! and callee for all code that is not known.

use cranelift_entity::EntityRef;
use oriole_ir::ops::Opcode;
use oriole_ir::{FuncId, FunctionKind, Linkage, Module, Operand, SymbolRef};

/// Functions of the device runtime that call nothing of a module.
const RUNTIME: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];

/// Who may call whom, by function; the last row and column are unknown code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Calls {
    /// Directly.
    pub direct: Vec<Vec<bool>>,
    /// Over any number of calls, at least one.
    pub reaches: Vec<Vec<bool>>,
}

impl Calls {
    /// Reads every instruction, then closes the relation by trying every function in the middle.
    pub fn of(module: &Module) -> Calls {
        let unknown = module.functions.len();
        let mut direct = vec![vec![false; unknown + 1]; unknown + 1];
        for (id, func) in &module.functions {
            let at = id.index();
            direct[unknown][at] |= func.kind == FunctionKind::Device && func.linkage != Linkage::Internal;
            direct[at][unknown] |= !func.is_definition() && !RUNTIME.contains(&func.name.as_str());
            for inst in func.layout_insts() {
                let callee = (func.inst(inst).opcode == Opcode::Call).then(|| func.srcs(inst)[0]);
                match callee {
                    Some(Operand::Func(callee)) => direct[at][callee.index()] = true,
                    Some(_) => direct[at][unknown] = true,
                    None => {}
                }
                let others = func.srcs(inst).iter().chain(func.elses(inst)).skip(usize::from(callee.is_some()));
                for operand in others {
                    if let Operand::Func(addressed) = operand {
                        direct[unknown][addressed.index()] = true;
                    }
                }
            }
        }
        for stored in module.globals.values().flat_map(|global| &global.relocations) {
            if let SymbolRef::Func(addressed) = stored.symbol {
                direct[unknown][addressed.index()] = true;
            }
        }
        let reaches = closure(direct.clone());
        Calls { direct, reaches }
    }

    /// Whether a call to `to` may happen while `from` runs.
    pub fn may_run(&self, from: FuncId, to: FuncId) -> bool {
        self.reaches[from.index()][to.index()]
    }
}

fn closure(mut reaches: Vec<Vec<bool>>) -> Vec<Vec<bool>> {
    let count = reaches.len();
    for middle in 0..count {
        for from in 0..count {
            for to in 0..count {
                reaches[from][to] |= reaches[from][middle] && reaches[middle][to];
            }
        }
    }
    reaches
}
