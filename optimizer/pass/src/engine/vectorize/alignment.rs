//! The alignment of addresses, as far as it is known or can be had.

use std::cell::RefCell;
use std::sync::Arc;

use cranelift_entity::PrimaryMap;

use crate::analysis::{Definitions, KnownBits};
use crate::pass::PhaseContext;
use oriole_ir::ops::{Opcode, Space};
use oriole_ir::{Function, Global, Inst, Linkage, Local, Operand, Variable};

/// How many definitions an address is followed through.
const DEPTH: u32 = 10;
/// Nothing asks for more than this, in bits of an address: 16 bytes.
const MOST: u32 = 4;
/// The static shared memory of a CTA up to which variables are aligned wider, in bytes. Every kernel may have 48 KB
/// (CUDA C++ Programming Guide, "Compute Capabilities"); 16 are left for what functions that are not seen here have.
const SHARED: u64 = 32 << 10;

/// The alignment of the addresses of a function.
pub(super) struct Alignment<'a> {
    definitions: Arc<Definitions>,
    bits: Arc<KnownBits>,
    variables: Option<&'a PrimaryMap<Global, Variable>>,
    /// Whether shared memory has room for variables that begin further back; `None` where no variable is to move.
    shared_fits: Option<bool>,
}

/// A variable that has to be aligned wider than it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Raised {
    /// One of the function.
    Local(Local),
    /// One of the module.
    Global(Global),
}

impl<'a> Alignment<'a> {
    /// `raises` says whether variables may be aligned wider.
    pub(super) fn new(func: &Function, cx: &mut PhaseContext<'a>, raises: bool) -> Alignment<'a> {
        let (definitions, bits, variables) = (cx.analyses.get(func), cx.analyses.get(func), cx.variables());
        let all = variables.into_iter().flat_map(PrimaryMap::values).chain(func.locals.values());
        let shared = all.filter(|variable| variable.space == Space::Shared);
        let size = |variable: &Variable| variable.size() + (1 << MOST);
        let shared_fits = raises.then(|| shared.map(size).sum::<u64>() <= SHARED);
        Alignment { definitions, bits, variables, shared_fits }
    }

    /// The variables that have to be aligned wider for an address, counted on by some bytes, to be a multiple of so
    /// many bytes, which are a power of two; `None` where it is not known to be one even then.
    pub(super) fn needs(&self, func: &Function, base: Operand, offset: u64, bytes: u64) -> Option<Vec<Raised>> {
        let zeros = bytes.trailing_zeros();
        if !offset.is_multiple_of(bytes) || zeros > MOST {
            return None;
        }
        let as_it_is = Walk { alignment: self, func, raised: None };
        if as_it_is.zeros(base, DEPTH) >= zeros {
            return Some(Vec::new());
        }
        self.shared_fits?;
        let raising = Walk { alignment: self, func, raised: Some(RefCell::default()) };
        (raising.zeros(base, DEPTH) >= zeros).then(|| raising.raised.map(RefCell::into_inner).unwrap_or_default())
    }

    /// Whether a variable may be aligned wider: an array that only this module sees.
    fn may_rise(&self, variable: &Variable) -> bool {
        let is_here = match variable.space {
            Space::Shared => self.shared_fits == Some(true),
            Space::Global | Space::Local => true,
            _ => false,
        };
        is_here && variable.linkage == Linkage::Internal && variable.count.is_some_and(|count| count > 0)
    }
}

/// A walk up the definitions of an address.
struct Walk<'w> {
    alignment: &'w Alignment<'w>,
    func: &'w Function,
    /// The variables that were taken to be aligned to all that anybody asks for; `None` where none may be.
    raised: Option<RefCell<Vec<Raised>>>,
}

impl Walk<'_> {
    /// The lowest bits of an address that are zero.
    fn zeros(&self, address: Operand, depth: u32) -> u32 {
        let Alignment { definitions, bits, variables, .. } = self.alignment;
        let func = self.func;
        match address {
            Operand::Local(local) => self.of(Raised::Local(local), func.locals.get(local)),
            Operand::Global(global) => {
                self.of(Raised::Global(global), variables.and_then(|variables| variables.get(global)))
            }
            _ => {
                let known = bits.of(func, address).trailing_zeros();
                let made = definitions.always(func, address);
                let made = made.filter(|inst| depth > 0 && func.dsts(*inst).first() == Some(&address));
                made.map_or(known, |inst| known.max(self.made(inst, depth - 1)))
            }
        }
        .min(MOST)
    }

    fn of(&self, which: Raised, variable: Option<&Variable>) -> u32 {
        let Some(variable) = variable else { return 0 };
        let Some(raised) = self.raised.as_ref().filter(|_| self.alignment.may_rise(variable)) else {
            return variable.align.trailing_zeros();
        };
        let mut raised = raised.borrow_mut();
        if !raised.contains(&which) {
            raised.push(which);
        }
        MOST
    }

    fn made(&self, inst: Inst, depth: u32) -> u32 {
        let srcs = self.func.srcs(inst);
        let zeros = |place: usize| self.zeros(srcs[place], depth);
        match self.func.inst(inst).opcode {
            Opcode::Mov | Opcode::Cvta => zeros(0),
            Opcode::IAdd | Opcode::ISub | Opcode::SelP => zeros(0).min(zeros(1)),
            Opcode::IMadLo | Opcode::IMadWide => {
                let factor = |place: usize| self.alignment.bits.of(self.func, srcs[place]).trailing_zeros();
                (factor(0) + factor(1)).min(zeros(2))
            }
            _ => 0,
        }
    }
}
