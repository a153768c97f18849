//! Wrong passes over loops: what OriStrengthReduce and OriLoopFusion do, in their simplest form, but for one thing.

use super::*;

/// A loop with one latch, and a preheader.
struct Shape {
    of: Loop,
    from: Block,
    header: Block,
    latch: Block,
}

fn shapes(nest: &LoopNest, cfg: &Cfg) -> Vec<Shape> {
    let shape = |of: Loop| {
        let (from, header) = (nest.preheader(cfg, of)?, nest.header(of));
        let [latch] = nest.latches(cfg, of).collect::<Vec<_>>()[..] else { return None };
        Some(Shape { of, from, header, latch })
    };
    nest.loops().filter_map(shape).collect()
}

fn insts(func: &Function, nest: &LoopNest, of: Loop) -> Vec<Inst> {
    nest.blocks(of).iter().flat_map(|block| func.block_insts(*block)).collect()
}

fn is_inside(func: &Function, nest: &LoopNest, of: Loop, operand: Operand) -> bool {
    operand.reg().is_some_and(|reg| nest.blocks(of).iter().any(|block| defines(func, *block, reg)))
}

fn definition(func: &Function, reg: Reg) -> Option<Inst> {
    func.layout_insts().find(|inst| func.defs(*inst).any(|own| own == reg))
}

/// What each round adds to a phi of a header, and the addition.
fn step(func: &Function, phi: Inst, latch: Block) -> Option<(Operand, Inst)> {
    let inst = definition(func, incoming(func, phi, latch)?.whole_reg()?)?;
    let data = func.inst(inst);
    let plain = is(func, inst, Opcode::IAdd) && data.guard.is_none();
    let wraps = data.field::<Saturate>().is_none_or(|saturates| saturates != Saturate::Sat);
    let whole = func.defs(phi).all(|reg| u32::from(func.regs()[reg].words) * 32 == data.ty().bits());
    let read = func.srcs(inst)[0].whole_reg();
    (plain && wraps && whole && func.defs(phi).next() == read).then(|| (func.srcs(inst)[1], inst))
}

/// A product of a counter that begins with `start`.
struct Product {
    inst: Inst,
    factor: Operand,
    addend: Option<Operand>,
    start: Operand,
    step: Operand,
    stepping: Inst,
}

fn product(func: &Function, nest: &LoopNest, shape: &Shape) -> Option<Product> {
    let stays =
        |operand: Operand| operand.is_imm() || operand.reg().is_some() && !is_inside(func, nest, shape.of, operand);
    phis(func, shape.header).into_iter().find_map(|phi| {
        let (step, stepping) = step(func, phi, shape.latch).filter(|(step, _)| stays(*step))?;
        let start = incoming(func, phi, shape.from).filter(|start| start.is_imm() || start.reg().is_some())?;
        let counter = Operand::Reg(func.defs(phi).next()?);
        let multiplies = |inst: &Inst| {
            let (data, srcs) = (func.inst(*inst), func.srcs(*inst));
            let is_product = matches!(data.opcode, Opcode::IMulLo | Opcode::IMadLo) && data.ty().bits() >= 32;
            is_product && data.guard.is_none() && srcs[0] == counter && srcs[1..].iter().all(|src| stays(*src))
        };
        let inst = insts(func, nest, shape.of).into_iter().find(multiplies)?;
        let (factor, addend) = (func.srcs(inst)[1], func.srcs(inst).get(2).copied());
        Some(Product { inst, factor, addend, start, step, stepping })
    })
}

/// Makes a product in each loop a counter that begins with the product, `adds` what is added to that, and steps by the
/// product of two operands, given the step and the factor.
fn reduce(func: &mut Function, cx: &mut PhaseContext<'_>, by: fn([Operand; 2]) -> [Operand; 2], adds: bool) -> Changed {
    let (cfg, nest) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<LoopNest>(func));
    let mut changed = Changed::No;
    for shape in shapes(&nest, &cfg) {
        let Some(product) = product(func, &nest, &shape).filter(|_| cx.rewrite("planted")) else { continue };
        let (ty, info) =
            (func.inst(product.inst).ty(), func.regs()[func.defs(product.inst).next().expect("a product")]);
        let [first, step, now, next] = [(); 4].map(|()| func.new_reg(info));
        let end = func.terminator(shape.from).expect("it leads to the loop");
        let addend = product.addend.filter(|_| adds);
        let opcode = if addend.is_some() { Opcode::IMadLo } else { Opcode::IMulLo };
        let srcs: Vec<_> = [Some(product.start), Some(product.factor), addend].into_iter().flatten().collect();
        let free = |func: &Function, operands: &[Operand]| operands.iter().map(|of| func.free(*of)).collect::<Vec<_>>();
        let [srcs, steps] = [free(func, &srcs), free(func, &by([product.step, product.factor]))];
        InstBuilder::new(opcode).field(ty).dst(first).srcs(srcs).insert_before(func, end);
        InstBuilder::new(Opcode::IMulLo).field(ty).dst(step).srcs(steps).insert_before(func, end);
        let phi = InstBuilder::new(Opcode::Phi).dst(now).src(first).src(shape.from).src(next).src(shape.latch);
        let phi = phi.create(func);
        func.prepend_inst(shape.header, phi);
        InstBuilder::new(Opcode::IAdd).field(ty).dst(next).src(now).src(step).insert_after(func, product.stepping);
        let to = func.defs(product.inst).next().expect("a product has a result");
        let bits = info.mov_type().expect("a number has one");
        InstBuilder::new(Opcode::Mov).field(bits).dst(to).src(now).replace(func, product.inst);
        changed = Changed::Yes;
    }
    changed
}

#[test]
fn products_that_step_by_the_square_of_the_factor() {
    shows(|func, cx| reduce(func, cx, |[_, factor]| [factor, factor], true));
}

#[test]
fn products_that_forget_what_is_added() {
    shows(|func, cx| reduce(func, cx, |operands| operands, false));
}

/// What must hold of two loops, by their instructions, for them to be fused.
type Apart = fn(&Function, &[Inst], &[Inst]) -> bool;

/// How a loop with its test at the latch counts (start, step, bound, comparison), and where it leads.
fn count(func: &Function, shape: &Shape) -> Option<((u64, u64, Operand, FieldValues), Block)> {
    let (condition, yes, exit) = two_ways(func, shape.latch).filter(|(_, yes, _)| *yes == shape.header)?;
    let test = definition(func, condition).filter(|inst| is(func, *inst, Opcode::SetP))?;
    let next = func.srcs(test)[0];
    let phi = phis(func, yes).into_iter().find(|phi| incoming(func, *phi, shape.latch) == Some(next))?;
    let (step, _) = step(func, phi, shape.latch)?;
    let constant = |operand: Operand| {
        let copied =
            operand.whole_reg().and_then(|reg| definition(func, reg)).filter(|inst| is(func, *inst, Opcode::Mov));
        func.imm_bits(copied.map_or(operand, |copy| func.srcs(copy)[0]))
    };
    let start = constant(incoming(func, phi, shape.from)?)?;
    Some(((start, constant(step)?, func.srcs(test)[1], func.inst(test).fields), exit))
}

/// Fuses two loops that count alike, with nothing but calm code between them, where the second reads no value of the
/// first one, and `apart` holds.
fn fuse(func: &mut Function, cx: &mut PhaseContext<'_>, apart: Apart, alike: bool) -> Changed {
    let (cfg, nest) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<LoopNest>(func));
    let mut all = shapes(&nest, &cfg);
    all.retain(|shape| nest.exits(&cfg, shape.of).count() == 1);
    for (first, second) in all.iter().flat_map(|first| all.iter().map(move |second| (first, second))) {
        let (Some((own, exit)), Some((other, _))) = (count(func, first), count(func, second)) else { continue };
        let between = body(func, second.from);
        let follows = exit == second.from && predecessors(func, second.from) == [first.latch];
        let same = own == other || !alike;
        let [a, b] = [first, second].map(|shape| insts(func, &nest, shape.of));
        let reads = |inst: &Inst| func.uses(*inst).any(|reg| is_inside(func, &nest, first.of, reg.into()));
        let calm = between.iter().all(|inst| is_calm(func, *inst) && is_pure(func, *inst));
        let fits = follows && same && calm && phis(func, second.from).is_empty();
        if !fits || between.iter().chain(&b).any(reads) || !apart(func, &a, &b) || !cx.rewrite("planted") {
            continue;
        }
        make_one(func, first, second, &between);
        return Changed::Yes;
    }
    Changed::No
}

fn make_one(func: &mut Function, first: &Shape, second: &Shape, between: &[Inst]) {
    let end = func.terminator(first.from).expect("it leads to the loop");
    between.iter().for_each(|inst| move_before(func, end, *inst));
    let from = |block: Block, to: Block| {
        move |operand: &mut Operand| {
            if *operand == Operand::Block(block) {
                *operand = to.into();
            }
        }
    };
    for phi in phis(func, first.header) {
        func.srcs_mut(phi).iter_mut().for_each(from(first.latch, second.latch));
    }
    for phi in phis(func, second.header) {
        func.srcs_mut(phi).iter_mut().for_each(from(second.from, first.from));
        func.remove_inst(phi);
        func.prepend_inst(first.header, phi);
    }
    let branch = func.terminator(second.latch).expect("it leads back");
    func.srcs_mut(branch).iter_mut().for_each(from(second.header, first.header));
    let branch = func.terminator(first.latch).expect("it leads back");
    InstBuilder::new(Opcode::Bra).src(second.header).replace(func, branch);
    func.retain_blocks(|block| *block != second.from);
}

fn is_branch_or_calm(func: &Function, inst: Inst) -> bool {
    is_calm(func, inst) && (is_pure(func, inst) || func.inst(inst).is(Flags::TERMINATOR))
}

fn is_weak_access(func: &Function, inst: Inst) -> bool {
    let weak = matches!(func.inst(inst).field::<Order>(), None | Some(Order::Weak));
    (is(func, inst, Opcode::Ld) || is(func, inst, Opcode::St)) && weak
}

fn access_as_they_please(func: &Function, a: &[Inst], b: &[Inst]) -> bool {
    a.iter().chain(b).all(|inst| is_branch_or_calm(func, *inst) || is_weak_access(func, *inst))
}

fn compute_alone(func: &Function, a: &[Inst], b: &[Inst]) -> bool {
    a.iter().chain(b).all(|inst| is_branch_or_calm(func, *inst))
}

#[test]
fn loops_fused_that_store_where_the_other_one_looks() {
    shows(|func, cx| fuse(func, cx, access_as_they_please, true));
}

#[test]
fn loops_fused_that_do_not_count_alike() {
    shows(|func, cx| fuse(func, cx, compute_alone, false));
}

/// The same passes without a bug.
pub(super) const RIGHT: [PhaseFn; 2] =
    [|func, cx| reduce(func, cx, |operands| operands, true), |func, cx| fuse(func, cx, compute_alone, true)];
