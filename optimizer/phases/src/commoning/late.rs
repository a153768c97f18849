//! OriCommoning and LateOriCommoning, phase 64 (`spec/copy-propagation-and-cse.txt`, "Phase 64 -- LateOriCommoning").
//!
//! One walk down the dominator tree ([`super::scoped`]), on every target. What is read is replaced by the register that
//! stands for its value, through chains of copies unless `DisableMoveCommoning` is on; what is computed twice becomes a
//! copy, so that it is dead then. Signatures ([`super::signature`]) reject most instructions at once. An instruction
//! `b` has the value of an earlier one, `a`, by the seven conditions of the page:
//!
//! 1. *Different blocks.* Within one block the place decides, as the page skips condition 3 there.
//! 2. *Dominance*: the block of `a` dominates that of `b`.
//! 3. *Nothing in between*: a load starts from the same state of memory, so that no store to its bytes, no barrier, no
//!    fence, no atomic and no call is between the two.
//! 4. *Predicates*: both are unguarded, or have the same guard, the same sense of it and the same `else` values.
//! 5. *Operands*: `b` has some.
//! 6. and 7. *Definitions and operands agree*: opcode, fields, widths and files of what is defined, and each operand by
//!    its representative. All this is the expression ([`oriole_pass::engine::expression`]).
//!
//! The second phase finds the function settled where nothing has changed since the first ([`RepeatedWork`]): what the
//! page asks of flags of the context.

use cranelift_entity::EntitySet;

use super::collectives::Collectives;
use super::eligibility::class;
use super::facts::{Facts, rounds};
use super::leaders::closed;
use super::scoped::{Scope, Walk};
use super::{dead_stores, forward};
use oriole_ir::{Function, Inst};
use oriole_pass::analysis::RepeatedWork;
use oriole_pass::pass::{Changed, Knob, PhaseContext};

/// Both phases.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    if !cx.knobs.flag(Knob::ForceLateCommoning) || !cx.knobs.flag(Knob::LateCommoningOfFunctions) {
        return Changed::No;
    }
    let closed = closed(func, cx, Knob::LateCommoningPerInstr);
    let work = |func: &mut Function, cx: &mut PhaseContext<'_>| {
        rounds(func, cx, |func, cx, facts| round(func, cx, facts, &closed))
    };
    // Places of a gate are those at the beginning of a phase, so the work depends on more than the function then.
    match closed.is_empty() {
        true => cx.once(RepeatedWork::Commoning, func, work),
        false => work(func, cx),
    }
}

fn round(func: &mut Function, cx: &mut PhaseContext<'_>, facts: &Facts, closed: &EntitySet<Inst>) -> Changed {
    let target = cx.target;
    let collectives = Collectives::new(func, cx);
    let eligible = |func: &Function, inst: Inst| {
        let by_class = !func.inputs(inst).is_empty() && class(func, inst, target).is_some();
        !closed.contains(inst) && (by_class || collectives.has(func, inst, target))
    };
    let forwarded = forward::run(func, cx, facts, Scope::Dominators, closed);
    let copies = !cx.knobs.flag(Knob::DisableMoveCommoning);
    let walk = Walk::new(facts, Scope::Dominators).following_copies(copies).late();
    let commoned = walk.run(func, cx, eligible);
    forwarded | commoned | dead_stores::run(func, cx, facts, closed)
}
