//! Device functions and their calls.
//!
//! A function takes a word and a double and returns a word, through parameter variables as in PTX. Its body has the
//! flow and the instructions of a kernel, without barriers and collectives. Its one kind of memory is a region of
//! which it gets the address.

use oriole_ir::ops::{Opcode, Space, Type};
use oriole_ir::{FuncId, Function, FunctionKind, InstBuilder, Local, Module, Operand, RegInfo, Variable};

use super::builder::Builder;
use super::config::Config;
use super::entropy::Entropy;
use super::memory::Region;

/// The types of a function's parameters.
const PARAMETERS: [Type; 2] = [Type::B32, Type::B64];

/// A device function, which may call others.
pub(super) fn device(name: &str, callees: Vec<FuncId>, entropy: &mut Entropy<'_>, config: &Config) -> Function {
    function(name, callees, false, entropy, config)
}

/// A device function whose second argument is the generic address of a region of the thread's own, which it accesses.
pub(super) fn touching(entropy: &mut Entropy<'_>, config: &Config) -> Function {
    function(TOUCHING, Vec::new(), true, entropy, config)
}

/// The name of such a function.
pub(super) const TOUCHING: &str = "touching";

fn function(name: &str, callees: Vec<FuncId>, touches: bool, entropy: &mut Entropy<'_>, config: &Config) -> Function {
    let mut func = Function::new(name, FunctionKind::Device);
    let result = func.locals.push(Variable::new("result", Space::Param, Type::B32, None));
    func.returns.push(result);
    for (at, ty) in PARAMETERS.into_iter().enumerate() {
        let local = func.locals.push(Variable::new(format!("p{at}"), Space::Param, ty, None));
        func.params.push(local);
    }
    let mut builder = Builder::new(func, entropy, config);
    builder.flow.uniform = false;
    builder.callees = callees;
    builder.budget = 1000;
    let params = builder.func.params.clone();
    let read: Vec<_> = params.iter().zip(PARAMETERS).map(|(local, ty)| builder.read_param(*local, ty)).collect();
    builder.variables_from(read[0], read[1], None);
    builder.budget = builder.entropy.between(1, config.function_instructions);
    if touches {
        let (base, generic) = (Operand::Reg(read[1]), Some(read[1]));
        builder.regions.push(Region { space: Space::Generic, base, generic, writable: true, constant: false });
        builder.meeting();
    }
    builder.body();
    builder.settle();
    let word = builder.combine();
    let store = Builder::typed(Opcode::St, Type::B32).field(Space::Param);
    builder.push(&store.src(Operand::Local(result)).src(Operand::imm(0)).src(word));
    let block = builder.block;
    builder.end(&InstBuilder::new(Opcode::Ret), block);
    builder.func
}

impl Builder<'_, '_> {
    /// The value of a scalar parameter.
    pub(super) fn read_param(&mut self, local: Local, ty: Type) -> oriole_ir::Reg {
        let load = Self::typed(Opcode::Ld, ty).field(Space::Param);
        self.hidden(load.src(Operand::Local(local)).src(Operand::imm(0)), RegInfo::of(ty))
    }

    /// A call of one of the functions, by name or by address.
    pub(super) fn call(&mut self) {
        let callees = self.callees.clone();
        let callee = self.entropy.choose(&callees);
        self.call_of(callee);
    }

    /// Calls the functions that nothing calls yet, so that none is there in vain.
    pub(super) fn call_rest(&mut self, module: &Module) {
        let names = |func: &Function, callee| {
            let insts = func.layout_insts();
            insts.flat_map(|inst| func.srcs(inst)).any(|operand| *operand == Operand::Func(callee))
        };
        for callee in self.callees.clone() {
            let called = module.functions.values().any(|func| names(func, callee)) || names(&self.func, callee);
            if !called {
                self.call_of(callee);
            }
        }
    }

    fn call_of(&mut self, callee: FuncId) {
        let values = PARAMETERS.map(|ty| self.value(ty));
        self.call_with(callee, values);
    }

    /// A call with these arguments.
    pub(super) fn call_with(&mut self, callee: FuncId, values: [Operand; 2]) {
        let parameter = |builder: &mut Self, ty| {
            let name = format!("call{}", builder.func.locals.len());
            builder.func.locals.push(Variable::new(name, Space::Param, ty, None))
        };
        let result = parameter(self, Type::B32);
        let mut operands = vec![Operand::imm(1), Operand::Local(result)];
        for (ty, value) in PARAMETERS.into_iter().zip(values) {
            let local = parameter(self, ty);
            let store = Self::typed(Opcode::St, ty).field(Space::Param);
            self.push(&store.src(Operand::Local(local)).src(Operand::imm(0)).src(value));
            operands.push(Operand::Local(local));
        }
        let target = Operand::Func(callee);
        let target = if self.entropy.percent(20) {
            Operand::Reg(self.hidden(Self::typed(Opcode::Mov, Type::B64).src(target), RegInfo::words(2)))
        } else {
            target
        };
        self.push(&InstBuilder::new(Opcode::Call).src(target).srcs(operands));
        let value = self.read_param(result, Type::B32);
        self.offer(value);
    }
}
