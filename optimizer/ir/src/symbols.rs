//! Symbols of a module: which are named, and what is left when some are taken out.

use cranelift_entity::{EntitySet, PrimaryMap, SecondaryMap};

use crate::{FuncId, Function, Global, Local, Module, Operand, Relocation, SymbolRef, Variable};

impl Module {
    /// The symbols that operands and initial content name, once for each time.
    pub fn named_symbols(&self) -> Vec<SymbolRef> {
        let named = |operand: &Operand| match operand {
            Operand::Global(id) => Some(SymbolRef::Global(*id)),
            Operand::Func(id) => Some(SymbolRef::Func(*id)),
            _ => None,
        };
        let functions = self.functions.values();
        let operands =
            functions.flat_map(|func| func.layout_insts().flat_map(|inst| func.srcs(inst)).filter_map(named));
        let locals = self.functions.values().flat_map(|func| func.locals.values());
        let relocations = self.globals.values().chain(locals).flat_map(|variable| &variable.relocations);
        operands.chain(relocations.map(|relocation| relocation.symbol)).collect()
    }

    /// Takes symbols out; the others move up, and what names them follows. Nothing else may name those that go.
    pub fn remove_symbols(&mut self, functions: &[FuncId], globals: &[Global]) {
        let mut renaming = Renaming { functions: SecondaryMap::new(), globals: SecondaryMap::new() };
        let mut gone = EntitySet::<FuncId>::new();
        gone.extend(functions.iter().copied());
        let mut kept: PrimaryMap<FuncId, Function> = PrimaryMap::new();
        for (id, func) in std::mem::take(&mut self.functions) {
            if !gone.contains(id) {
                renaming.functions[id] = Some(kept.push(func));
            }
        }
        self.functions = kept;
        let mut gone = EntitySet::<Global>::new();
        gone.extend(globals.iter().copied());
        let mut kept: PrimaryMap<Global, Variable> = PrimaryMap::new();
        for (id, global) in std::mem::take(&mut self.globals) {
            if !gone.contains(id) {
                renaming.globals[id] = Some(kept.push(global));
            }
        }
        self.globals = kept;
        self.globals.values_mut().for_each(|global| renaming.relocations(&mut global.relocations));
        self.functions.values_mut().for_each(|func| func.rename_symbols(&renaming));
    }
}

impl Function {
    /// Calls the symbols that operands and initial content name by other numbers.
    pub fn rename_symbols(&mut self, renaming: &Renaming) {
        self.locals.values_mut().for_each(|local| renaming.relocations(&mut local.relocations));
        for inst in self.insts().keys().collect::<Vec<_>>() {
            self.inputs_mut(inst).iter_mut().for_each(|operand| renaming.operand(operand));
        }
    }

    /// The function without its body: name, linkage, parameters, results and directives.
    pub fn declaration(&self) -> Function {
        let mut declared = Function::new(self.name.clone(), self.kind);
        (declared.linkage, declared.level, declared.form) = (self.linkage, self.level, self.form);
        declared.directives.clone_from(&self.directives);
        let copied = |of: &[Local], to: &mut PrimaryMap<Local, Variable>| {
            of.iter().map(|local| to.push(self.locals[*local].clone())).collect()
        };
        declared.returns = copied(&self.returns, &mut declared.locals);
        declared.params = copied(&self.params, &mut declared.locals);
        declared
    }

    /// Takes variables out that nothing names and that are neither parameters nor results; the others move up, and what
    /// names them follows.
    pub fn remove_locals(&mut self, gone: &[Local]) {
        let mut renamed: SecondaryMap<Local, Option<Local>> = SecondaryMap::new();
        let mut kept: PrimaryMap<Local, Variable> = PrimaryMap::new();
        for (local, variable) in std::mem::take(&mut self.locals) {
            if !gone.contains(&local) {
                renamed[local] = Some(kept.push(variable));
            }
        }
        self.locals = kept;
        let name = |local: &mut Local| *local = renamed[*local].unwrap_or(*local);
        self.params.iter_mut().chain(&mut self.returns).for_each(name);
        for inst in self.insts().keys().collect::<Vec<_>>() {
            for operand in self.inputs_mut(inst) {
                if let Operand::Local(local) = operand {
                    name(local);
                }
            }
        }
    }
}

/// New numbers of symbols; those without one stay as they are.
#[derive(Clone, Debug, Default)]
pub struct Renaming {
    /// Of functions.
    pub functions: SecondaryMap<FuncId, Option<FuncId>>,
    /// Of variables.
    pub globals: SecondaryMap<Global, Option<Global>>,
}

impl Renaming {
    fn operand(&self, operand: &mut Operand) {
        match operand {
            Operand::Func(id) => *id = self.functions[*id].unwrap_or(*id),
            Operand::Global(id) => *id = self.globals[*id].unwrap_or(*id),
            _ => {}
        }
    }

    fn relocations(&self, relocations: &mut [Relocation]) {
        for relocation in relocations {
            match &mut relocation.symbol {
                SymbolRef::Func(id) => *id = self.functions[*id].unwrap_or(*id),
                SymbolRef::Global(id) => *id = self.globals[*id].unwrap_or(*id),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{FuncId, Global, SymbolRef, parse_module};

    #[test]
    fn what_names_a_symbol_follows_it() {
        let text = "target sm_90 ptx 9.0
global @gone: b32[1] global align 4 = 0x01000000
global @named: b32[1] global align 4 = 0x02000000
global @names: u64[1] global align 8 = 0x0000000000000000 generic 0 8 @named+0
device @unused ssa {
bb0:
  ret
}
device @used ssa {
bb0:
  ret
}
entry @kernel ssa {
bb0:
  %d0 = mov.b64 @names
  call @used() -> ()
  ret
}
";
        let mut module = parse_module(text).expect("it is .ori");
        let [gone, named, names] = [0, 1, 2].map(Global::from_u32);
        let [unused, used, _] = [0, 1, 2].map(FuncId::from_u32);
        let all = [SymbolRef::Global(names), SymbolRef::Func(used), SymbolRef::Global(named)];
        assert_eq!(module.named_symbols(), all);
        module.remove_symbols(&[unused], &[gone]);
        let left = text.replace("global @gone: b32[1] global align 4 = 0x01000000\n", "");
        let left = left.replace("device @unused ssa {\nbb0:\n  ret\n}\n", "");
        assert_eq!(module.to_string(), parse_module(&left).expect("it is .ori").to_string());
    }
}
