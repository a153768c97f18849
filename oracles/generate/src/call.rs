//! Device functions and their calls.
//!
//! A function takes a word and a double and returns a word, through parameter variables as in PTX. Its body has the
//! flow and the instructions of a kernel, without barriers and collectives. Its memory is a frame of its own, or a
//! region of which it gets the address. Some functions call themselves. Calls of one function share parameter variables
//! now and then.

use oriole_ir::ops::{Compare, Opcode, Space, Type, Vector};
use oriole_ir::{Block, FuncId, Function, FunctionKind, InstBuilder, Local, Module, Operand, Reg, RegInfo, Variable};

use super::builder::Builder;
use super::cfg::reachable;
use super::config::Config;
use super::entropy::Entropy;
use super::meeting::access;
use super::memory::{REGION, Region};

/// The types of a function's parameters.
const PARAMETERS: [Type; 2] = [Type::B32, Type::B64];

/// A device function, which may call those of the module and itself.
pub(super) fn device(name: &str, module: &Module, entropy: &mut Entropy<'_>, config: &Config) -> Function {
    let own = entropy.percent(config.recursive).then(|| module.functions.next_key());
    let callees = module.functions.keys().collect();
    function(name, callees, entropy, config, |builder, [word, _]| {
        let frame = builder.entropy.percent(builder.config.frame).then(|| builder.frame(word));
        builder.budget = builder.entropy.between(1, builder.config.function_instructions);
        builder.body();
        if let Some(own) = own {
            match builder.entropy.percent(builder.config.tail) {
                true => builder.call_at_end(own, word),
                false => builder.recurse(own, word),
            }
        }
        if let Some(frame) = frame {
            builder.fold_frame(frame);
        }
    })
}

/// A device function whose second argument is the generic address of a region of the thread's own, which it accesses.
pub(super) fn touching(entropy: &mut Entropy<'_>, config: &Config) -> Function {
    function(TOUCHING, Vec::new(), entropy, config, |builder, [word, address]| {
        let (base, generic) = (Operand::Reg(address), Some(address));
        builder.regions.push(Region { space: Space::Generic, base, generic, writable: true, constant: false });
        builder.budget = builder.entropy.between(1, builder.config.function_instructions);
        if builder.entropy.percent(70) {
            let at = builder.entropy.choose(&[0, 4]);
            builder.push(&access(Opcode::St, Type::B32, (Space::Generic, base, at)).src(word));
        }
        builder.meeting();
        builder.body();
    })
}

/// The name of such a function.
pub(super) const TOUCHING: &str = "touching";

fn function(
    name: &str,
    callees: Vec<FuncId>,
    entropy: &mut Entropy<'_>,
    config: &Config,
    body: impl FnOnce(&mut Builder<'_, '_>, [Reg; 2]),
) -> Function {
    let mut func = Function::new(name, FunctionKind::Device);
    let result = func.locals.push(Variable::new("result", Space::Param, Type::B32, None));
    func.returns.push(result);
    for (at, ty) in PARAMETERS.into_iter().enumerate() {
        let local = func.locals.push(Variable::new(format!("p{at}"), Space::Param, ty, None));
        func.params.push(local);
    }
    let params = [func.params[0], func.params[1]];
    let mut builder = Builder::new(func, entropy, config);
    builder.flow.uniform = false;
    builder.callees = callees;
    builder.budget = 1000;
    let [word, double] = [0, 1].map(|at| builder.read_param(params[at], PARAMETERS[at]));
    // An address is no number: what is made of it would depend on where a compiler puts variables.
    let number = if name == TOUCHING { builder.doubled(word) } else { double };
    builder.variables_from(word, number, None);
    body(&mut builder, [word, double]);
    builder.settle();
    let word = builder.combine();
    let store = Builder::typed(Opcode::St, Type::B32).field(Space::Param);
    builder.push(&store.src(Operand::Local(result)).src(Operand::imm(0)).src(word));
    let block = builder.block;
    builder.end(&InstBuilder::new(Opcode::Ret), block);
    builder.func
}

impl Builder<'_, '_> {
    /// A word twice as long, with something in its upper half.
    fn doubled(&mut self, word: Reg) -> Reg {
        let product = Self::typed(Opcode::IMadWide, Type::U32).src(word).src(Operand::imm(0x0100_0193));
        self.hidden(product.src(Operand::imm(7)), RegInfo::words(2))
    }

    /// Local memory of the function's own, some of it the word that it gets, so that no two activations hold the same.
    fn frame(&mut self, word: Reg) -> Operand {
        let frame = Variable { align: 16, ..Variable::new("frame", Space::Local, Type::B8, Some(REGION.into())) };
        let base = Operand::Local(self.func.locals.push(frame));
        let generic = self.generic(Space::Local, base);
        self.clear(Space::Local, base, word);
        let generic = Some(generic);
        self.regions.push(Region { space: Space::Local, base, generic, writable: true, constant: false });
        base
    }

    /// All that the frame holds goes into the result.
    fn fold_frame(&mut self, base: Operand) {
        for at in (0..REGION).step_by(16) {
            let pair = [(); 2].map(|()| self.func.new_reg(RegInfo::words(2)));
            let load = Self::typed(Opcode::Ld, Type::B64).field(Space::Local).field(Vector::V2);
            self.push(&load.dst(pair[0]).dst(pair[1]).src(base).src(u64::from(at)));
            pair.into_iter().for_each(|reg| self.fold(reg));
        }
    }

    /// A call of the function itself, as deep as the lowest bits of its word say. What it has in registers and in its
    /// frame must be there afterwards.
    fn recurse(&mut self, own: FuncId, word: Reg) {
        let (values, rest) = self.go_deeper(word);
        self.call_with(own, values);
        self.jump(rest, rest);
    }

    /// The same where the function returns what the call returns, so that nothing need be there afterwards.
    fn call_at_end(&mut self, own: FuncId, word: Reg) {
        let (values, rest) = self.go_deeper(word);
        let value = self.result_of(own, values, false);
        let result = Operand::Local(self.func.returns[0]);
        let store = Self::typed(Opcode::St, Type::B32).field(Space::Param);
        self.push(&store.src(result).src(Operand::imm(0)).src(value));
        self.end(&InstBuilder::new(Opcode::Ret), rest);
    }

    /// A branch that is taken as often as the lowest bits of the function's word say; what a call of the function is
    /// given there, and the block behind it.
    fn go_deeper(&mut self, word: Reg) -> ([Operand; 2], Block) {
        let depth = self.hidden(Self::typed(Opcode::And, Type::B32).src(word).src(3), RegInfo::words(1));
        let deeper = self.compare(Compare::Gt, depth.into(), 0);
        let [call, rest] = self.blocks();
        self.branch(deeper.into(), [call, rest], call);
        // A multiple of 4 leaves the lowest bits what they are.
        let other = (self.entropy.bits() as u32 & !3).wrapping_sub(1);
        let less =
            self.hidden(Self::typed(Opcode::IAdd, Type::U32).src(depth).src(u64::from(other)), RegInfo::words(1));
        let value = self.value(PARAMETERS[1]);
        ([less.into(), value], rest)
    }

    /// The value of a scalar parameter.
    pub(super) fn read_param(&mut self, local: Local, ty: Type) -> Reg {
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
            let insts = reachable(func).into_iter().flat_map(|block| func.block_insts(block));
            insts.flat_map(|inst| func.srcs(inst)).any(|operand| *operand == Operand::Func(callee))
        };
        for callee in self.callees.clone() {
            // What a function calls of itself does not count.
            let mut others = module.functions.iter().filter(|(id, _)| *id != callee);
            if !others.any(|(_, func)| names(func, callee)) && !names(&self.func, callee) {
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
        let by_address = self.entropy.percent(20);
        let value = self.result_of(callee, values, by_address);
        self.offer(value);
    }

    /// The result of a call, by name or by address.
    fn result_of(&mut self, callee: FuncId, values: [Operand; 2], by_address: bool) -> Reg {
        let [result, parameters @ ..] = self.parameters_of_call();
        for ((local, ty), value) in parameters.into_iter().zip(PARAMETERS).zip(values) {
            let store = Self::typed(Opcode::St, ty).field(Space::Param);
            self.push(&store.src(Operand::Local(local)).src(Operand::imm(0)).src(value));
        }
        let target = Operand::Func(callee);
        let target = if by_address {
            Operand::Reg(self.hidden(Self::typed(Opcode::Mov, Type::B64).src(target), RegInfo::words(2)))
        } else {
            target
        };
        let operands = [Operand::imm(1), Operand::Local(result)].into_iter().chain(parameters.map(Operand::Local));
        self.push(&InstBuilder::new(Opcode::Call).src(target).srcs(operands));
        self.read_param(result, Type::B32)
    }

    /// Parameter variables for the result and the arguments of a call: new ones, or those of an earlier call.
    fn parameters_of_call(&mut self) -> [Local; 3] {
        if !self.parameters.is_empty() && self.entropy.percent(self.config.operand.reuse_parameters) {
            return self.entropy.choose(&self.parameters);
        }
        let parameters = [Type::B32, PARAMETERS[0], PARAMETERS[1]].map(|ty| {
            let name = format!("call{}", self.func.locals.len());
            self.func.locals.push(Variable::new(name, Space::Param, ty, None))
        });
        self.parameters.push(parameters);
        parameters
    }
}
