//! OriStrengthReduce: a product of what a loop counts becomes a counter of its own.
//!
//! `spec/liveness-and-dce.txt` ("Why Four Instances?") names the phase alone, as one whose dead code the second
//! liveness pass removes. Here is what the field knows by that name (Muchnick, "Advanced Compiler Design and
//! Implementation", 14.1; Cooper, Simpson and Vick, "Operator Strength Reduction", 2001), for the innermost loop around
//! the product. It has a preheader and one latch. A counter is a phi of its header which each round steps by what the
//! loop does not change (`counters.rs`). Then
//!
//! ```text
//! i = phi [preheader: start], [latch: i + step]
//! x = i * factor + addend
//! ```
//!
//! becomes, with the operation itself once in front of the loop,
//!
//! ```text
//! y = phi [preheader: start * factor + addend], [latch: y + step * factor]
//! x = y
//! ```
//!
//! and a product of the stepped counter is the stepped `y`. All arithmetic is modulo the width of the registers. Two
//! kinds of product stay: shifts, since of an undefined value they have defined bits, which a sum has not; and products
//! twice as wide as the counter, for which the machine has one instruction where the addition takes two.
//!
//! It pays where each round executes the product, and the opcode table says that it costs more than the addition, by
//! the knob `StrengthReduceGain`. The new counter lives through the loop, so registers must suffice (`room.rs`). What
//! becomes dead the liveness pass removes.
//!
//! Cost: linear; pressure, where a function has more registers than the budget.

mod counters;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use counters::{Counter, Counters};
use oriole_ir::ops::{FieldValues, Opcode, Type};
use oriole_ir::{Block, Function, Inst, InstBuilder, Operand, Reg};
use oriole_pass::analysis::{Cfg, Definitions, Dominators, LoopNest};
use oriole_pass::edit::values::become_copies;
use oriole_pass::engine::registers::Room;
use oriole_pass::pass::{Changed, Knob, PhaseContext};

const RULE: &str = "reduce-strength";

/// OriStrengthReduce.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    reduce(func, cx, None)
}

/// `loop-reduce` of cicc (`spec/pass-pipeline.txt`, line 808): the products of the loop with a header.
pub fn loop_reduce(func: &mut Function, header: Block, cx: &mut PhaseContext<'_>) -> Changed {
    reduce(func, cx, Some(header))
}

/// Reduces the products of all loops, or of the one with this header.
fn reduce(func: &mut Function, cx: &mut PhaseContext<'_>, only: Option<Block>) -> Changed {
    let nest = cx.analyses.get::<LoopNest>(func);
    let gain = cx.knobs.limit(Knob::StrengthReduceGain).unwrap_or(u32::MAX);
    let pays = |inst: Inst| gain_of(func, inst).is_some_and(|of| of >= gain);
    if nest.loops().next().is_none() || !func.layout_insts().any(pays) {
        return Changed::No;
    }
    let (mut reduction, mut room, mut changed) = (Reduction::default(), None, Changed::No);
    for product in Search::new(func, cx, nest).products(gain) {
        if only.is_some_and(|header| product.counter.header != header) {
            continue;
        }
        let is_new = !reduction.made.contains_key(&product.key());
        if is_new && !room.get_or_insert_with(|| Room::of(func, cx)).holds(func, func.defs(product.inst)) {
            continue;
        }
        if !cx.rewrite(RULE) {
            break;
        }
        reduction.reduce(func, &product);
        changed = Changed::Yes;
    }
    changed
}

/// What a product costs more than an addition of its type, in the unit of the opcode table; `None` for what is none.
fn gain_of(func: &Function, inst: Inst) -> Option<u32> {
    let data = func.inst(inst);
    let is_product = matches!(data.opcode, Opcode::IMulLo | Opcode::IMadLo) && data.guard.is_none();
    let ty = data.field::<Type>().filter(|ty| is_product && matches!(ty.bits(), 32 | 64))?;
    let addition = InstBuilder::new(Opcode::IAdd).field(ty).head();
    data.opcode.row().cost(&data.fields).checked_sub(addition.opcode.row().cost(&addition.fields))
}

/// A product of a counter and what the loop does not change.
struct Product {
    inst: Inst,
    counter: Counter,
    opcode: Opcode,
    fields: FieldValues,
    /// Whether it is the counter of the next round.
    stepped: bool,
    factor: Operand,
    addend: Option<Operand>,
}

type Key = (Reg, Opcode, FieldValues, Operand, Option<Operand>);

impl Product {
    fn key(&self) -> Key {
        (self.counter.phi, self.opcode, self.fields, self.factor, self.addend)
    }
}

struct Search<'a> {
    func: &'a Function,
    cfg: Arc<Cfg>,
    nest: Arc<LoopNest>,
    dominators: Arc<Dominators>,
    definitions: Arc<Definitions>,
    counters: Counters,
}

impl<'a> Search<'a> {
    fn new(func: &'a Function, cx: &mut PhaseContext<'_>, nest: Arc<LoopNest>) -> Search<'a> {
        let (cfg, definitions) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<Definitions>(func));
        let counters = Counters::find(func, &cfg, &nest, &definitions);
        Search { func, cfg, nest, dominators: cx.analyses.get(func), definitions, counters }
    }

    fn products(&self, gain: u32) -> Vec<Product> {
        let pays = |inst: &Inst| gain_of(self.func, *inst).is_some_and(|of| of >= gain);
        let of_block = |block: &Block| {
            let insts: Vec<Inst> = self.func.block_insts(*block).filter(pays).collect();
            insts.into_iter().filter_map(|inst| self.product(inst, *block)).collect::<Vec<_>>()
        };
        self.cfg.rpo().iter().flat_map(of_block).collect()
    }

    fn product(&self, inst: Inst, block: Block) -> Option<Product> {
        let (func, srcs) = (self.func, self.func.srcs(inst));
        let of = self.nest.innermost(&self.cfg, block)?;
        let counted = |operand: Operand| self.counters.of(operand).filter(|(counter, _)| counter.around == of);
        let place = (0..2).find(|place| counted(srcs[*place]).is_some())?;
        let (counter, stepped) = counted(srcs[place])?;
        let (factor, addend) = (srcs[1 - place], srcs.get(2).copied());
        let stays = |operand: Operand| match operand {
            Operand::Reg(reg) => {
                let home = self.definitions.block(reg);
                home.is_some_and(|home| !self.nest.contains(&self.cfg, of, home))
            }
            other => other.is_imm(),
        };
        let fixed = stays(factor) && addend.is_none_or(stays);
        if !fixed || !self.dominators.dominates(&self.cfg, block, counter.latch) {
            return None;
        }
        let data = func.inst(inst);
        let (opcode, fields) = (data.opcode, data.fields);
        Some(Product { inst, counter: counter.clone(), opcode, fields, stepped, factor, addend })
    }
}

/// The counters that were made, by what they are: each, and what it is in the next round.
#[derive(Default)]
struct Reduction {
    made: FxHashMap<Key, [Reg; 2]>,
}

impl Reduction {
    /// Puts a copy of a counter in the place of a product.
    fn reduce(&mut self, func: &mut Function, product: &Product) {
        let key = product.key();
        let [now, next] = match self.made.get(&key) {
            Some(made) => *made,
            None => make(func, product),
        };
        self.made.insert(key, [now, next]);
        let value = if product.stepped { next } else { now };
        become_copies(func, product.inst, None, &[value.into()], &[]);
    }
}

/// Makes the counter of a product.
fn make(func: &mut Function, product: &Product) -> [Reg; 2] {
    let Counter { start, step, preheader, latch, header, stepping, .. } = product.counter;
    let dst = func.defs(product.inst).next().expect("a product has a result");
    let info = func.regs()[dst];
    let ty = func.inst(product.inst).field::<Type>().expect("a product has a type");
    let [first, by, now, next] = [(); 4].map(|()| func.new_reg(info));
    let end = func.terminator(preheader).expect("a preheader ends with a branch");
    let srcs = [Some(start), Some(product.factor), product.addend].into_iter().flatten();
    let srcs: Vec<_> = srcs.map(|operand| func.free(operand)).collect();
    let operation = InstBuilder::new(product.opcode).fields(product.fields);
    operation.dst(first).srcs(srcs).insert_before(func, end);
    let factors = [step, product.factor].map(|operand| func.free(operand));
    InstBuilder::new(Opcode::IMulLo).field(ty).dst(by).srcs(factors).insert_before(func, end);
    let phi = InstBuilder::new(Opcode::Phi).dst(now).src(first).src(preheader).src(next).src(latch).create(func);
    func.prepend_inst(header, phi);
    InstBuilder::new(Opcode::IAdd).field(ty).dst(next).src(now).src(by).insert_after(func, stepping);
    [now, next]
}
