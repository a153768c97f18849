//! The edit: a second loop behind the first, which begins where that has stopped.
//!
//! The first loop stays while its own test and the relation of the cut hold. Where the header decides, control goes
//! from there to the header of the second loop, which decides again with the same values. Where the latch decides, a
//! block in front chooses the loop of the first round, and one between the loops finds out why the first has ended.

use super::{Around, Plan};
use oriole_ir::ops::{Compare, Flags, Opcode, Type};
use oriole_ir::{Block, Function, Inst, InstBuilder, InstHead, Operand, Reg, RegInfo};
use oriole_pass::edit::copied::Copied;
use oriole_pass::edit::graph::{add_incoming, come_from, incoming, map_targets, phis, remove_incoming};
use oriole_pass::engine::loop_tests::{Compared, Order};
use oriole_pass::peephole::rewrite::mov_fields;
use oriole_pass::ssa::{self, Copies};

pub(super) fn split(func: &mut Function, plan: &Plan) {
    let around = &plan.around;
    let copied = Copied::named(func, &around.blocks);
    copied.copy_blocks(func, &around.blocks);
    leave_from_both(func, around, &copied);
    let bound = FirstBound::new(func, plan);
    let new = match around.is_at_latch() {
        true => at_latch(func, plan, &copied, bound),
        false => at_header(func, plan, &copied, bound),
    };
    let copy = definition(func, around, &copied, plan.compared.reg);
    for (inst, value) in [plan.compared.inst, copy].into_iter().zip(plan.cut.values) {
        set_constant(func, inst, value);
    }
    lay_out(func, around, &copied, new);
    let mut both: Vec<(Reg, Copies)> = Vec::new();
    for block in &around.blocks {
        let defined: Vec<Reg> = func.block_insts(*block).flat_map(|inst| func.defs(inst)).collect();
        let known = defined.into_iter().filter(|reg| copied.regs.contains_key(reg));
        both.extend(known.map(|reg| (reg, vec![(copied.block(*block), copied.reg(reg))])));
    }
    both.sort_unstable_by_key(|(reg, _)| *reg);
    ssa::repair(func, &both);
}

/// Blocks that were made in front of the loops and between them.
#[derive(Default)]
struct New {
    before: Option<Block>,
    between: Option<Block>,
}

/// Edges out of the loop beside that of the test come out of its copy too.
fn leave_from_both(func: &mut Function, around: &Around, copied: &Copied) {
    for (from, to) in &around.exits {
        for phi in phis(func, *to).collect::<Vec<Inst>>() {
            if let Some(value) = incoming(func, phi, *from) {
                add_incoming(func, phi, copied.operand(value), copied.block(*from));
            }
        }
    }
}

fn at_header(func: &mut Function, plan: &Plan, copied: &Copied, bound: FirstBound) -> New {
    let Around { header, before, exit, .. } = plan.around;
    let second = copied.block(header);
    for (phi, copy) in pairs(func, header, second) {
        let value = func.dsts(phi)[0];
        let srcs: Vec<Operand> = func.srcs(copy).to_vec();
        let mapped = srcs.chunks_exact(2).flat_map(|pair| match pair[1] == Operand::Block(before) {
            true => [value, Operand::Block(header)],
            false => [pair[0], pair[1]],
        });
        let mapped: Vec<Operand> = mapped.collect();
        func.set_srcs(copy, &mapped);
    }
    for phi in phis(func, exit).collect::<Vec<Inst>>() {
        let value = incoming(func, phi, header).expect("a phi has a source for each block that leads to it");
        add_incoming(func, phi, copied.operand(value), second);
    }
    remove_incoming(func, exit, |from| from == header);
    bound.lead(func, plan, plan.counter.phi, second);
    New::default()
}

fn at_latch(func: &mut Function, plan: &Plan, copied: &Copied, bound: FirstBound) -> New {
    let Around { header, before, latch, exit, leaves_if, condition, .. } = plan.around;
    let second = copied.block(header);
    let (choice, between) = (func.create_block(), func.create_block());
    map_targets(func, before, |target| if target == header { choice } else { target });
    let bits = bits(func, plan);
    let enters = plan.cut.stays.of(bits, plan.counter.start, plan.compared.bound, func);
    let enters = append_predicate(func, enters, choice);
    InstBuilder::new(Opcode::CBra).src(enters).src(header).src(second).append(func, choice);
    for entry in [header, second] {
        come_from(func, entry, before, choice);
    }
    for (phi, copy) in pairs(func, header, second) {
        let next = incoming(func, phi, latch).expect("a phi has a source for each block that leads to it");
        add_incoming(func, copy, next, between);
    }
    come_from(func, exit, latch, between);
    for phi in phis(func, exit).collect::<Vec<Inst>>() {
        let value = incoming(func, phi, between).expect("it has just been put there");
        add_incoming(func, phi, copied.operand(value), copied.block(latch));
    }
    let [yes, no] = if leaves_if { [exit, second] } else { [second, exit] };
    InstBuilder::new(Opcode::CBra).src(func.free(condition)).src(yes).src(no).append(func, between);
    bound.lead(func, plan, plan.counter.next, between);
    New { before: Some(choice), between: Some(between) }
}

/// The phis of a header with their copies.
fn pairs(func: &Function, header: Block, copy: Block) -> Vec<(Inst, Inst)> {
    phis(func, header).zip(phis(func, copy)).collect()
}

/// How the first loop knows its end.
enum FirstBound {
    /// By the test and by the cut.
    Both,
    /// By one comparison with the bound that comes first.
    One(Order, Operand),
}

impl FirstBound {
    /// One bound where the test is of the same kind, computed in front of the loop.
    fn new(func: &mut Function, plan: &Plan) -> FirstBound {
        FirstBound::one(func, plan).unwrap_or(FirstBound::Both)
    }

    fn one(func: &mut Function, plan: &Plan) -> Option<FirstBound> {
        let Plan { around, counter, compared, cut } = plan;
        let tested = if around.is_at_latch() { counter.next } else { counter.phi };
        let test =
            func.block_insts(around.test).find(|inst| func.defs(*inst).any(|reg| around.condition == reg.into()))?;
        let test = Compared::of(func, test, tested)?;
        let order = test.stays(around.leaves_if);
        let inside = |reg: Reg| around.blocks.iter().any(|block| defines(func, *block, reg));
        if order.is_signed != cut.stays.is_signed || test.bound.reg().is_some_and(inside) {
            return None;
        }
        let bits = bits(func, plan);
        let (own, other) = (test.bound, compared.bound);
        let other = match func.imm_bits(other) {
            Some(value) => {
                let value = cut.stays.as_kind(order.compare, value, bits)?;
                func.imm(value)
            }
            None if order == cut.stays => other,
            None => return None,
        };
        Some(FirstBound::One(order, nearer(func, around.before, order, bits, [own, other])))
    }

    /// Has control leave the first loop for the second one's sake too. `value` is what the test is about.
    fn lead(self, func: &mut Function, plan: &Plan, value: Reg, out: Block) {
        let Around { test, stays, condition, leaves_if, .. } = plan.around;
        let branch = func.terminator(test).expect("a block ends with a branch");
        let bits = bits(func, plan);
        let (order, bound) = match self {
            FirstBound::One(order, bound) => {
                let holds = insert_predicate(func, order.of(bits, value.into(), bound, func), branch);
                InstBuilder::new(Opcode::CBra).src(holds).src(stays).src(out).replace(func, branch);
                return;
            }
            FirstBound::Both => (plan.cut.stays, plan.compared.bound),
        };
        let order = if leaves_if { order.negated() } else { order };
        let holds = insert_predicate(func, order.of(bits, value.into(), bound, func), branch);
        let both = InstBuilder::new(if leaves_if { Opcode::Or } else { Opcode::And }).field(Type::Pred);
        let both = insert_predicate(func, both.src(func.free(condition)).src(holds), branch);
        let [yes, no] = if leaves_if { [out, stays] } else { [stays, out] };
        InstBuilder::new(Opcode::CBra).src(both).src(yes).src(no).replace(func, branch);
    }
}

/// Of two bounds the one that a counter comes to first.
fn nearer(func: &mut Function, before: Block, order: Order, bits: u32, bounds: [Operand; 2]) -> Operand {
    let upward = matches!(order.compare, Compare::Lt | Compare::Le);
    let opcode = if upward { Opcode::IMin } else { Opcode::IMax };
    let ty = Type::integer(bits, order.is_signed).expect("counters have 32 or 64 bits");
    let (info, branch) =
        (RegInfo::words((bits / 32) as u8), func.terminator(before).expect("a block ends with a branch"));
    let nearer = func.new_reg(info);
    let [a, b] = bounds;
    let builder = InstBuilder::new(opcode).field(ty).dst(nearer).src(func.free(a)).src(func.free(b));
    builder.insert_before(func, branch);
    nearer.into()
}

fn bits(func: &Function, plan: &Plan) -> u32 {
    32 * u32::from(func.regs()[plan.counter.phi].words)
}

fn defines(func: &Function, block: Block, reg: Reg) -> bool {
    func.block_insts(block).any(|inst| func.defs(inst).any(|defined| defined == reg))
}

fn append_predicate(func: &mut Function, builder: InstBuilder, block: Block) -> Reg {
    builder.append_value(func, block, RegInfo::PRED)
}

fn insert_predicate(func: &mut Function, builder: InstBuilder, before: Inst) -> Reg {
    let reg = func.new_reg(RegInfo::PRED);
    builder.dst(reg).insert_before(func, before);
    reg
}

/// The instruction that defines the copy of a register.
fn definition(func: &Function, around: &Around, copied: &Copied, reg: Reg) -> Inst {
    let copy = copied.reg(reg);
    let mut insts = around.blocks.iter().flat_map(|block| func.block_insts(copied.block(*block)));
    insts
        .find(|inst| func.defs(*inst).any(|defined| defined == copy))
        .expect("the loop defines it, and so does the copy")
}

/// Makes a comparison a constant.
fn set_constant(func: &mut Function, inst: Inst, value: bool) {
    let (head, dst) = (func.inst(inst).head(), func.dsts(inst)[0]);
    debug_assert!(head.opcode.is(Flags::PURE), "it is a comparison");
    let value = Operand::imm(u32::from(value));
    func.set_inst(
        inst,
        InstHead { opcode: Opcode::Mov, fields: mov_fields(Type::Pred), ..head },
        &[dst],
        &[value],
        &[],
    );
}

/// The block that chooses is in front of the loop, the one between and the copy behind it.
fn lay_out(func: &mut Function, around: &Around, copied: &Copied, new: New) {
    let last = func.layout().iter().rposition(|block| around.blocks.contains(block));
    let mut layout = Vec::with_capacity(func.layout().len() + around.blocks.len() + 2);
    for (place, block) in func.layout().iter().enumerate() {
        if *block == around.header {
            layout.extend(new.before);
        }
        layout.push(*block);
        if Some(place) == last {
            layout.extend(new.between);
            layout.extend(around.blocks.iter().map(|block| copied.block(*block)));
        }
    }
    func.set_layout(layout);
}
