//! The alignment of addresses, as far as it is known.

use std::sync::Arc;

use cranelift_entity::PrimaryMap;

use oriole_ir::ops::Opcode;
use oriole_ir::{Function, Global, Inst, Operand, Variable};
use oriole_pass::analysis::{Definitions, KnownBits};
use oriole_pass::pass::PhaseContext;

/// How many definitions an address is followed through.
const DEPTH: u32 = 16;
/// Nothing asks for more than this, in bits of an address: 16 bytes.
const MOST: u32 = 4;

/// The alignment of the addresses of a function.
pub(super) struct Alignment<'a> {
    definitions: Arc<Definitions>,
    bits: Arc<KnownBits>,
    variables: Option<&'a PrimaryMap<Global, Variable>>,
}

impl<'a> Alignment<'a> {
    pub(super) fn new(func: &Function, cx: &mut PhaseContext<'a>) -> Alignment<'a> {
        let (definitions, bits) = (cx.analyses.get(func), cx.analyses.get(func));
        Alignment { definitions, bits, variables: cx.variables() }
    }

    /// Whether an address, counted on by some bytes, is a multiple of so many bytes, which are a power of two.
    pub(super) fn holds(&self, func: &Function, base: Operand, offset: u64, bytes: u64) -> bool {
        let zeros = bytes.trailing_zeros();
        offset.is_multiple_of(bytes) && zeros <= MOST && self.zeros(func, base, DEPTH) >= zeros
    }

    /// The lowest bits of an address that are zero.
    fn zeros(&self, func: &Function, address: Operand, depth: u32) -> u32 {
        let of = |variable: Option<&Variable>| variable.map_or(0, |variable| variable.align.trailing_zeros());
        match address {
            Operand::Local(local) => of(func.locals.get(local)),
            Operand::Global(global) => of(self.variables.and_then(|variables| variables.get(global))),
            _ => {
                let known = self.bits.of(func, address).trailing_zeros();
                let made = self.definitions.always(func, address);
                let made = made.filter(|inst| depth > 0 && func.dsts(*inst).first() == Some(&address));
                made.map_or(known, |inst| known.max(self.made(func, inst, depth - 1)))
            }
        }
        .min(MOST)
    }

    fn made(&self, func: &Function, inst: Inst, depth: u32) -> u32 {
        let srcs = func.srcs(inst);
        let zeros = |place: usize| self.zeros(func, srcs[place], depth);
        match func.inst(inst).opcode {
            Opcode::Mov | Opcode::Cvta => zeros(0),
            Opcode::IAdd | Opcode::ISub | Opcode::SelP => zeros(0).min(zeros(1)),
            Opcode::IMadLo | Opcode::IMadWide => {
                let factor = |place: usize| self.bits.of(func, srcs[place]).trailing_zeros();
                (factor(0) + factor(1)).min(zeros(2))
            }
            _ => 0,
        }
    }
}
