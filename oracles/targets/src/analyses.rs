//! Analyses against their definitions, on raw random graphs and modules.
//!
//! Blocks with any control flow among them, unreachable ones and entries with predecessors included; a few registers of
//! every file that are defined and read over and over, under guards or not. The same function then in SSA form. The
//! kernels of the generator, which are larger and tamer, go the same way in `convergence.rs`.
//!
//! Functions that compute (`arithmetic.rs`), for known bits and ranges. Then a few functions that call each other by
//! name and by address, for the call graph.
//!
//! Where a fault is planted, one definition is asked about a function with one thing changed, so that it must disagree
//! with the analysis that it is the definition of; [`FAULTS`] has one for each.

use oriole_ir::ops::{AtomOp, Opcode, Scope, Space, SpecialReg, Type};
use oriole_ir::verify::verify_function;
use oriole_ir::{
    Block, FuncId, Function, FunctionKind, Guard, Inst, InstBuilder, InstHead, Linkage, Local, Module, Operand, Reg,
    RegFile, RegInfo, Variable,
};
use oriole_optimizer::ssa;

use super::{arithmetic, canary};
use oriole_check::analyses;
use oriole_generate::Entropy;

/// Blocks of a graph at most; beyond a dozen nothing new happens, and definitions are quadratic.
const BLOCKS: usize = 12;

/// A random function: whether it has control flow.
pub fn analyses(data: &[u8]) -> bool {
    let mut entropy = Entropy::from_bytes(data);
    let fault = canary::planted().then(|| entropy.below(FAULTS.len() + 1));
    agree_on(&mut entropy, fault)
}

/// The same, with the fault of a number planted; the one behind the last is in the call graph.
fn agree_on(entropy: &mut Entropy<'_>, fault: Option<usize>) -> bool {
    let mut func = random(entropy);
    let mut computing = arithmetic::random(entropy);
    for func in [&mut func, &mut computing] {
        agree(func, fault);
        ssa::construct(func);
        if let Err(violations) = verify_function(func, None) {
            panic!("SSA form is invalid: {}", violations[0]);
        }
        agree(func, fault);
    }
    calls_agree(&callers(entropy), fault == Some(FAULTS.len()));
    func.layout().len() > 1
}

/// Holds the call graph of a module against its definition.
fn calls_agree(module: &Module, planted: bool) {
    let mut truth = module.clone();
    if planted {
        // The definition is asked about a module where nobody calls the first function by name.
        for func in truth.functions.values_mut() {
            for inst in func.insts().keys().collect::<Vec<_>>() {
                let called =
                    func.srcs_mut(inst).first_mut().filter(|callee| **callee == Operand::Func(FuncId::from_u32(0)));
                called.into_iter().for_each(|callee| *callee = Operand::Func(FuncId::from_u32(1)));
            }
        }
    }
    if let Err(wrong) = analyses::compare_calls(module, &truth) {
        panic!("{wrong}\n{module}");
    }
}

/// Two to six functions, declared or defined, seen outside or not, that call each other and unknown ones.
fn callers(entropy: &mut Entropy<'_>) -> Module {
    let mut module = Module::default();
    let ids: Vec<FuncId> = (0..2 + entropy.below(5))
        .map(|at| {
            let name = if entropy.percent(5) { "malloc".to_owned() } else { format!("f{at}") };
            let mut func = Function::new(name, FunctionKind::Device);
            func.linkage = if entropy.percent(80) { Linkage::Internal } else { Linkage::Visible };
            module.functions.push(func)
        })
        .collect();
    for id in &ids {
        if entropy.percent(80) {
            let func = &mut module.functions[*id];
            let (block, address) = (func.new_block(), func.new_reg(RegInfo::words(2)));
            for _ in 0..entropy.below(3) {
                let target = Operand::Func(entropy.choose(&ids));
                let inst = match entropy.below(8) {
                    0 => InstBuilder::new(Opcode::Mov).field(Type::B64).dst(address).src(target),
                    1 => InstBuilder::new(Opcode::Call).src(address).src(Operand::imm(0)),
                    _ => InstBuilder::new(Opcode::Call).src(target).src(Operand::imm(0)),
                };
                inst.append(func, block);
            }
            InstBuilder::new(Opcode::Ret).append(func, block);
        }
    }
    module
}

/// What the definition behind a comparison is asked about, in place of the function.
struct Fault {
    /// The comparison, by name.
    check: &'static str,
    change: fn(&mut Function),
}

const FAULTS: &[Fault] = &[
    Fault { check: "graph", change: lose_edge },
    Fault { check: "dominators", change: lose_edge },
    Fault { check: "post-dominators", change: lose_edge },
    Fault { check: "loops", change: lose_edge },
    Fault { check: "divergence", change: read_alike },
    Fault { check: "memory", change: move_store },
    Fault { check: "reaching", change: lose_guard },
    Fault { check: "liveness", change: lose_read },
    Fault { check: "kill markers", change: lose_read },
    Fault { check: "live files", change: lose_read },
    Fault { check: "live predicates", change: lose_guard },
    Fault { check: "live and defined", change: lose_definition },
    Fault { check: "values", change: move_constant },
];

/// The first conditional branch always goes to its first target.
fn lose_edge(func: &mut Function) {
    if let Some(branch) = first(func, |func, inst| func.inst(inst).opcode == Opcode::CBra) {
        let target = func.srcs(branch)[1];
        InstBuilder::new(Opcode::Bra).src(target).replace(func, branch);
    }
}

/// The first read of a special register reads one that is the same in all threads, or none such.
fn read_alike(func: &mut Function) {
    if let Some(read) = first(func, |func, inst| func.inst(inst).opcode == Opcode::S2r) {
        let src = &mut func.srcs_mut(read)[0];
        let alike = *src != Operand::Special(SpecialReg::NtidX);
        *src = Operand::Special(if alike { SpecialReg::NtidX } else { SpecialReg::TidX });
    }
}

/// The first store by a register goes a byte further.
fn move_store(func: &mut Function) {
    let by_register =
        |func: &Function, inst| func.inst(inst).opcode == Opcode::St && func.srcs(inst)[0].reg().is_some();
    if let Some(store) = first(func, by_register) {
        let offset = func.imm_bits(func.srcs(store)[1]).unwrap_or(0);
        func.srcs_mut(store)[1] = func.imm(offset.wrapping_add(1));
    }
}

/// The first definition under a guard always happens.
fn lose_guard(func: &mut Function) {
    if let Some(inst) = first(func, |func, inst| func.inst(inst).guard.is_some() && !func.dsts(inst).is_empty()) {
        let (dsts, srcs) = (func.dsts(inst).to_vec(), func.srcs(inst).to_vec());
        let head = InstHead { guard: None, ..func.inst(inst).head() };
        func.set_inst(inst, head, &dsts, &srcs, &[]);
    }
}

/// The first store reads no register.
fn lose_read(func: &mut Function) {
    if let Some(store) = first(func, |func, inst| func.inst(inst).opcode == Opcode::St) {
        func.srcs_mut(store).iter_mut().for_each(|src| *src = Operand::imm(0));
    }
}

/// The first instruction that defines general or uniform registers is not there.
fn lose_definition(func: &mut Function) {
    let defines = |func: &Function, inst: Inst| {
        func.inst(inst).opcode != Opcode::Phi && func.defs(inst).any(|reg| func.regs()[reg].file != RegFile::P)
    };
    if let Some(inst) = first(func, defines) {
        func.remove_inst(inst);
    }
}

/// The first constant that is copied is another one.
fn move_constant(func: &mut Function) {
    let copies = |func: &Function, inst| {
        func.inst(inst).opcode == Opcode::Mov
            && func.inst(inst).ty() != Type::Pred
            && matches!(func.srcs(inst)[0], Operand::Imm(_))
    };
    if let Some(copy) = first(func, copies) {
        let value = func.imm_bits(func.srcs(copy)[0]).unwrap_or(0);
        func.srcs_mut(copy)[0] = func.imm(value ^ 0x55);
    }
}

fn first(func: &Function, is: impl Fn(&Function, Inst) -> bool) -> Option<Inst> {
    func.layout_insts().find(|inst| is(func, *inst))
}

/// Holds the analyses of a function against the definitions.
fn agree(func: &Function, fault: Option<usize>) {
    let found = match fault.and_then(|number| FAULTS.get(number)) {
        None => analyses::compare(func, func),
        Some(fault) => {
            let mut truth = func.clone();
            (fault.change)(&mut truth);
            let check = analyses::CHECKS.iter().find(|check| check.name == fault.check);
            check.expect("the fault names a comparison").compare(func, &truth)
        }
    };
    if let Err(wrong) = found {
        panic!("{wrong}\n{}", oriole_ir::function_to_string(func, None));
    }
}

/// Few registers, so that paths meet the same ones again.
struct Regs {
    words: Vec<Reg>,
    uniform: Vec<Reg>,
    predicates: Vec<Reg>,
}

fn random(entropy: &mut Entropy<'_>) -> Function {
    let mut func = Function::new("random", FunctionKind::Device);
    for name in ["a", "b"] {
        func.locals.push(Variable::new(name, Space::Local, Type::B32, Some(2)));
    }
    let uniform = RegInfo { file: RegFile::UR, words: 1 };
    let mut regs = |count: usize, info| (0..count).map(|_| func.new_reg(info)).collect();
    let regs =
        Regs { words: regs(4, RegInfo::words(1)), uniform: regs(2, uniform), predicates: regs(3, RegInfo::PRED) };
    let blocks: Vec<Block> = (0..=entropy.below(BLOCKS)).map(|_| func.new_block()).collect();
    for block in &blocks {
        for _ in 0..entropy.below(5) {
            instruction(entropy, &regs).append(&mut func, *block);
        }
        terminator(entropy, &regs, &blocks).append(&mut func, *block);
    }
    func
}

fn instruction(entropy: &mut Entropy<'_>, regs: &Regs) -> InstBuilder {
    let word = |entropy: &mut Entropy<'_>| entropy.choose(&regs.words);
    let inst = match entropy.below(7) {
        0 => {
            let store = InstBuilder::new(Opcode::St).field(space(entropy)).field(Type::B32);
            store.src(address(entropy, regs)).src(offset(entropy)).src(word(entropy))
        }
        1 => InstBuilder::new(Opcode::Mov).field(Type::B32).dst(word(entropy)).src(entropy.choose(&regs.uniform)),
        2 => InstBuilder::new(Opcode::Mov).field(Type::B32).dst(entropy.choose(&regs.uniform)).src(Operand::imm(1)),
        3 => {
            // Two destinations at once, which may be the instruction's own sources.
            let add = InstBuilder::new(Opcode::IAddCarry).field(Type::U32).dst(word(entropy));
            let add = add.dst(entropy.choose(&regs.predicates)).src(word(entropy)).src(word(entropy));
            add.src(entropy.choose(&regs.predicates))
        }
        4 => {
            let read = entropy.choose(&[SpecialReg::TidX, SpecialReg::WarpId, SpecialReg::CtaidX, SpecialReg::NtidX]);
            InstBuilder::new(Opcode::S2r).field(Type::B32).dst(word(entropy)).src(Operand::Special(read))
        }
        5 if entropy.percent(30) => {
            let vote = InstBuilder::new(Opcode::Vote).field(Type::Pred).dst(entropy.choose(&regs.predicates));
            vote.src(entropy.choose(&regs.predicates)).src(word(entropy))
        }
        5 if entropy.percent(30) => match entropy.below(3) {
            0 => InstBuilder::new(Opcode::Fence).field(Scope::Gpu),
            1 => {
                let add = InstBuilder::new(Opcode::Atom).field(AtomOp::Exch).field(Space::Global).field(Type::B32);
                add.dst(word(entropy)).src(address(entropy, regs)).src(offset(entropy)).src(word(entropy))
            }
            _ => {
                let add = InstBuilder::new(Opcode::IAdd).field(Type::U32).dst(word(entropy));
                add.src(word(entropy)).src(entropy.choose(&[2, 4, 0xffff_fffc]))
            }
        },
        5 => {
            let load = InstBuilder::new(Opcode::Ld).field(space(entropy)).field(Type::B32).dst(word(entropy));
            load.src(address(entropy, regs)).src(offset(entropy))
        }
        _ => {
            let add = InstBuilder::new(Opcode::IAdd).field(Type::U32).dst(word(entropy));
            add.src(word(entropy)).src(word(entropy))
        }
    };
    let guard = entropy.percent(30);
    inst.guard(guard.then(|| Guard::new(entropy.choose(&regs.predicates), entropy.percent(50))))
}

fn space(entropy: &mut Entropy<'_>) -> Space {
    entropy.choose(&[Space::Global, Space::Global, Space::Shared, Space::Local, Space::Generic])
}

/// A word, a number, or one of the two variables of the function.
fn address(entropy: &mut Entropy<'_>, regs: &Regs) -> Operand {
    let locals = [Operand::Local(Local::from_u32(0)), Operand::Local(Local::from_u32(1))];
    match entropy.below(6) {
        0 => Operand::imm(8),
        1 => entropy.choose(&locals),
        _ => entropy.choose(&regs.words).into(),
    }
}

fn offset(entropy: &mut Entropy<'_>) -> u64 {
    entropy.choose(&[0, 0, 2, 4, 4, 8, u64::MAX - 3])
}

fn terminator(entropy: &mut Entropy<'_>, regs: &Regs, blocks: &[Block]) -> InstBuilder {
    let any = |entropy: &mut Entropy<'_>| entropy.choose(blocks);
    match entropy.below(8) {
        0 => InstBuilder::new(Opcode::Ret),
        1 | 2 => InstBuilder::new(Opcode::Bra).src(any(entropy)),
        3 => {
            let targets: Vec<Operand> = (0..=entropy.below(3)).map(|_| any(entropy).into()).collect();
            InstBuilder::new(Opcode::Brx).src(entropy.choose(&regs.words)).srcs(targets)
        }
        _ => {
            let branch = InstBuilder::new(Opcode::CBra).src(entropy.choose(&regs.predicates));
            branch.src(any(entropy)).src(any(entropy))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_check::supervise::catch;
    use oriole_launch::random;

    /// Each analysis of functions, and the call graph, has a fault that is found; without it the input is fine.
    #[test]
    fn every_fault_is_found() {
        let named: Vec<&str> = FAULTS.iter().map(|fault| fault.check).collect();
        let checks: Vec<&str> = analyses::CHECKS.iter().map(|check| check.name).collect();
        assert_eq!(named, checks);
        for fault in 0..=FAULTS.len() {
            let goes_wrong = |number: &u64| {
                let data = random::bytes(*number, 1024);
                catch(|| agree_on(&mut Entropy::from_bytes(&data), Some(fault))).is_err()
            };
            let name = checks.get(fault).unwrap_or(&"calls");
            let number = (0..200).find(goes_wrong).unwrap_or_else(|| panic!("the fault in {name} is not found"));
            println!("{name}: found at input {number}");
            agree_on(&mut Entropy::from_bytes(&random::bytes(number, 1024)), None);
        }
    }
}
