//! Expansion of operations that the machine does not have into those that it has (phases MidExpansion and
//! LateExpansion): quotients and remainders, roots, reciprocals, conversions, atomic operations, whole matrices, video
//! operations.
//!
//! Each `.ori` file of this folder has functions in virtual form, and the name of one is the operation it computes. Its
//! first registers are the sources, in order, and the next ones the results. Where there are too many combinations for
//! that, the text of a function is made for the operation. An operation of a kernel becomes the body of its function,
//! and whatever is in there is selected as everything else. Since the bodies are of the virtual level, the interpreter
//! executes them against the operations.
//!
//! Quotients, reciprocals and roots of doubles whose exponents are between -500 and 500 are the sequences of ptxas: two
//! steps from the machine's approximation of the upper word, of which the first is cubic, then a correction by the
//! exact rest. Compared with the processor's own on 60 million operands, among them quotients and roots beside the
//! middle of two doubles, no one differs (2026-11). Operands beyond take a longer way.
//!
//! The root of a float that is far from both ends is the sequence of ptxas: one step from the machine's approximation
//! of the reciprocal root is exact where that is the nearest float (tried for all 2^24 mantissas of two exponents), and
//! the machine's own is what ptxas relies on.
//!
//! A body with a fast way leaves the operands of its other way to the same operation once more, the rest of it, which
//! has a body of its own (`rests.ori`). The rest of several operations can be one function that is called
//! ([`crate::sequences`]): it is then left as it is.

mod atomics;
mod calls;
mod conversions;
mod video;
mod wmma;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use cranelift_entity::SecondaryMap;
use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Block, Function, Guard, Inst, InstData, InstHead, Operand, Reg};

pub use calls::Pointers;

use crate::select::go_on;

/// The functions, one text each.
const TEXTS: &[&str] = &[
    include_str!("products.ori"),
    include_str!("searches.ori"),
    include_str!("quotients.ori"),
    include_str!("narrow_quotients.ori"),
    include_str!("wide_quotients.ori"),
    include_str!("floats.ori"),
    include_str!("doubles.ori"),
];

/// The functions in virtual form, by the operation that each computes.
static EXPANSIONS: LazyLock<HashMap<String, Function>> = LazyLock::new(|| read(TEXTS));

/// The bodies of rests, by the operation.
static RESTS: LazyLock<HashMap<String, Function>> = LazyLock::new(|| read(&[include_str!("rests.ori")]));

/// Functions by the operations that they compute.
fn read(texts: &[&str]) -> HashMap<String, Function> {
    let mut all = HashMap::new();
    for text in texts {
        let module = oriole_ir::parse_module(text).unwrap_or_else(|error| panic!("an expansion is no Ori: {error:?}"));
        for func in module.functions.values() {
            all.insert(operation(&func.name), func.clone());
        }
    }
    all
}

/// The operation that a function computes: names have no dots.
fn operation(name: &str) -> String {
    name.replace("__", ".")
}

/// The rests of operations in a function.
#[derive(Clone, Copy, Default, Debug)]
pub struct Rests<'a> {
    /// The operations whose rests stay as they are, to become calls.
    pub called: &'a [String],
    /// Whether the function is the rest of its operations itself.
    pub is_rest: bool,
}

/// Puts bodies in the place of all operations that have one, until none is left; of rests, until those are left alone
/// that are called. `divergent` says at the ends of which blocks threads part, and is kept true: those of bodies are
/// taken to part them. `has_shared` says whether generic addresses may be those of shared memory.
pub fn expand(
    func: &mut Function,
    divergent: &mut SecondaryMap<Block, bool>,
    pointers: &Pointers,
    has_shared: bool,
    rests: Rests<'_>,
) {
    calls::resolve(func, divergent, pointers);
    let mut own: HashSet<Inst> = HashSet::new();
    if rests.is_rest {
        own.extend(func.layout_insts().filter(|inst| rest(func, *inst).is_some()));
    }
    loop {
        let mut found: Vec<(Inst, Body)> = Vec::new();
        for inst in func.layout_insts() {
            found.extend(match rest(func, inst).filter(|_| own.contains(&inst)) {
                Some((name, _)) if rests.called.contains(&name) => None,
                Some((_, body)) => Some((inst, Body::known(func, inst, body))),
                None => Body::of(func, inst, has_shared).map(|body| (inst, body)),
            });
        }
        if found.is_empty() {
            return;
        }
        for (inst, body) in found {
            put(func, inst, &body, divergent, &mut own);
        }
    }
}

/// The operations whose rests a function has, each as often as it is there.
pub fn rests(func: &Function) -> Vec<String> {
    let may_have = |inst: Inst| is_expanded(func, inst);
    if !func.layout_insts().any(may_have) {
        return Vec::new();
    }
    let called: Vec<String> = RESTS.keys().cloned().collect();
    let mut func = func.clone();
    let rests = Rests { called: &called, is_rest: false };
    expand(&mut func, &mut SecondaryMap::new(), &Pointers::default(), false, rests);
    func.layout_insts().filter_map(|inst| Some(rest(&func, inst)?.0)).collect()
}

/// How many operands an operation has whose rest has a body.
pub(crate) fn rest_of(name: &str) -> Option<usize> {
    RESTS.contains_key(name).then_some(if name.starts_with("fsqrt") { 1 } else { 2 })
}

/// The rest of an operation: its name and body.
fn rest(func: &Function, inst: Inst) -> Option<(String, &'static Function)> {
    let name = is_expanded(func, inst).then(|| func.operation(inst))?;
    let body = RESTS.get(&name)?;
    Some((name, body))
}

/// Whether an operation in the body of another one is a rest: it is the same one, or, of reciprocals, a quotient of
/// operands that the fast way of both has sent there.
fn is_rest(of: &str, name: &str) -> bool {
    of == name || (of, name) == ("frcp.rn.f64", "fdiv.rn.f64")
}

/// A function that computes an operation, and the operands that it takes.
struct Body {
    func: Cow<'static, Function>,
    inputs: Vec<Operand>,
}

impl Body {
    fn known(func: &Function, inst: Inst, body: &'static Function) -> Body {
        Body { func: Cow::Borrowed(body), inputs: func.srcs(inst).to_vec() }
    }

    fn of(func: &Function, inst: Inst, has_shared: bool) -> Option<Body> {
        if is_expanded(func, inst) {
            return Some(Body::known(func, inst, EXPANSIONS.get(&func.operation(inst))?));
        }
        let made = atomics::body(func, inst, has_shared).or_else(|| wmma::body(func, inst));
        let made = made.or_else(|| video::body(func, inst));
        let (text, inputs) = made.or_else(|| conversions::body(func, inst))?;
        let module = oriole_ir::parse_module(&text).unwrap_or_else(|error| panic!("no Ori: {error:?}\n{text}"));
        let body = module.functions.values().next()?.clone();
        Some(Body { func: Cow::Owned(body), inputs })
    }
}

/// The operations of a function that have bodies.
pub fn names(func: &Function, has_shared: bool) -> Vec<String> {
    let insts = func.layout_insts().filter(|inst| Body::of(func, *inst, has_shared).is_some());
    insts.map(|inst| func.operation(inst)).collect()
}

/// Whether an opcode is one of those that have bodies: their names are long to print.
fn is_expanded(func: &Function, inst: Inst) -> bool {
    matches!(
        func.inst(inst).opcode,
        Opcode::IDiv
            | Opcode::IRem
            | Opcode::IMadHi
            | Opcode::FDiv
            | Opcode::FSqrt
            | Opcode::FRcp
            | Opcode::FRsqrt
            | Opcode::Fns
    )
}

/// Whether an operation reads or writes memory.
fn touches_memory(data: &InstData) -> bool {
    [Flags::READS, Flags::WRITES].into_iter().any(|flag| data.is(flag))
}

/// Ends a block with a branch to the first of two others where a guard holds, else to the second.
fn branch_around(func: &mut Function, block: Block, guard: Guard, [first, second]: [Block; 2], line: u32) {
    let targets = if guard.negated() { [second, first] } else { [first, second] };
    let srcs = [Operand::Reg(guard.reg()), Operand::Block(targets[0]), Operand::Block(targets[1])];
    let head = InstHead { opcode: Opcode::CBra, fields: Opcode::CBra.row().default_fields(), guard: None, line };
    let inst = func.new_inst(head, &[], &srcs, &[]);
    func.append_inst(block, inst);
}

/// Puts a body in the place of an operation. Values that a guard keeps away are computed beside and copied under it.
/// The rests in it go to `rests`.
fn put(
    func: &mut Function,
    inst: Inst,
    body: &Body,
    divergent: &mut SecondaryMap<Block, bool>,
    rests: &mut HashSet<Inst>,
) {
    let own = if is_expanded(func, inst) { func.operation(inst) } else { String::new() };
    let data = *func.inst(inst);
    let block = func.block_of(inst).expect("it is in a block");
    let dsts = func.dsts(inst).to_vec();
    let (srcs, body) = (&body.inputs, &*body.func);
    let regs: Vec<Reg> = body.regs().values().map(|info| func.new_reg(*info)).collect();
    let line = data.line;

    // What follows the operation goes to a block behind the body.
    let behind = func.new_block_after(block);
    let next = func.next_inst(inst);
    if let Some(next) = next {
        func.move_tail(next, behind);
    }
    func.remove_inst(inst);
    divergent[behind] = divergent[block];
    for (reg, src) in regs.iter().zip(srcs) {
        copy(func, block, *reg, *src, None, line);
    }
    // A guard that keeps accesses away is a branch around the body.
    let entry = match data.guard.filter(|_| touches_memory(&data)) {
        Some(guard) => {
            let entry = func.new_block_after(block);
            branch_around(func, block, guard, [entry, behind], line);
            divergent[block] = true;
            entry
        }
        None => block,
    };
    let mut blocks: HashMap<Block, Block> = HashMap::new();
    let mut last = entry;
    for (at, old) in body.layout().iter().enumerate() {
        let new = if at == 0 { entry } else { func.new_block_after(last) };
        last = new;
        divergent[new] = true;
        blocks.insert(*old, new);
    }
    for old in body.layout() {
        for old_inst in body.block_insts(*old) {
            let old_data = body.inst(old_inst);
            let to = blocks[old];
            if old_data.opcode == Opcode::Ret {
                go_on(func, to, behind, line);
                continue;
            }
            let map = |func: &mut Function, operand: &Operand| match *operand {
                Operand::Block(block) => Operand::Block(blocks[&block]),
                other => {
                    let renamed = other.map_reg(|reg| regs[reg.as_u32() as usize]);
                    if renamed.reg().is_some() { renamed } else { func.bind(body.free(other)) }
                }
            };
            let own_dsts: Vec<Operand> = body.dsts(old_inst).iter().map(|operand| map(func, operand)).collect();
            let own_srcs: Vec<Operand> = body.srcs(old_inst).iter().map(|operand| map(func, operand)).collect();
            let guard = old_data.guard.map(|guard| guard.with_reg(regs[guard.reg().as_u32() as usize]));
            let head = InstHead { guard, line, ..old_data.head() };
            let made = func.new_inst(head, &own_dsts, &own_srcs, &[]);
            func.append_inst(to, made);
            if rest(func, made).is_some_and(|(name, _)| is_rest(&own, &name)) {
                rests.insert(made);
            }
        }
    }
    let first = func.first_inst(behind);
    for (dst, reg) in dsts.iter().zip(&regs[srcs.len()..]) {
        let Some(to) = dst.whole_reg() else { continue };
        let made = move_of(func, to, Operand::Reg(*reg), data.guard, line);
        match first {
            Some(first) => func.insert_before(first, made),
            None => func.append_inst(behind, made),
        }
    }
    debug_assert!(func.terminator(block).is_some_and(|inst| func.inst(inst).is(Flags::TERMINATOR)));
}

fn copy(func: &mut Function, block: Block, to: Reg, from: Operand, guard: Option<Guard>, line: u32) {
    let made = move_of(func, to, from, guard, line);
    func.append_inst(block, made);
}

fn move_of(func: &mut Function, to: Reg, from: Operand, guard: Option<Guard>, line: u32) -> Inst {
    let ty = func.regs()[to].mov_type().expect("registers of one, two or four words are copied");
    let mut fields = Opcode::Mov.row().default_fields();
    let slot = Opcode::Mov.row().slot(oriole_ir::ops::Field::Type).expect("a copy has a type");
    fields.0[slot] = oriole_ir::ops::FieldValue::index(ty);
    let head = InstHead { opcode: Opcode::Mov, fields, guard, line };
    func.new_inst(head, &[Operand::Reg(to)], &[from], &[])
}
