//! What a tree becomes: a list of operations, and how it is written over those of the tree.
//!
//! No instruction is made. The last operations of the tree, in the order of the block, become those of the plan one by
//! one, and the rest goes; so the code never gets longer, and a partial result is ready no earlier than one was before.
//! An instruction moves down where an operand is defined behind it, and never up.

use oriole_ir::ops::{Flags, Opcode, Type};
use oriole_ir::{Function, Inst, InstBuilder, Operand, Reg, Rewriter};

/// A source of a planned operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Src {
    /// An operand other than an immediate.
    Operand(Operand),
    /// An immediate.
    Imm(u64),
    /// What an earlier operation of the plan yields.
    Result(u32),
}

impl Src {
    pub(super) fn of(func: &Function, operand: Operand) -> Src {
        func.imm_bits(operand).map_or(Src::Operand(operand), Src::Imm)
    }
}

/// A planned operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Op {
    pub(super) opcode: Opcode,
    pub(super) ty: Type,
    pub(super) srcs: Vec<Src>,
}

/// The operations that a tree becomes; the last one is the root.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub(super) ops: Vec<Op>,
    /// The rule that makes it worth while by itself; `None` for another order of the same terms.
    pub(super) rule: Option<&'static str>,
    /// Operations below the tree that are not needed any more, in the same block.
    pub(super) absorbed: Vec<Inst>,
}

impl Plan {
    /// Adds an operation.
    pub(super) fn push(&mut self, opcode: Opcode, ty: Type, srcs: impl Into<Vec<Src>>) -> Src {
        self.ops.push(Op { opcode, ty, srcs: srcs.into() });
        Src::Result(self.ops.len() as u32 - 1)
    }

    /// Ends the plan with a value: a copy where it is not what the last operation yields.
    pub(super) fn end(&mut self, value: Src, copy: Type) {
        if !matches!(value, Src::Result(_)) {
            self.push(Opcode::Mov, copy, [value]);
        }
    }

    /// Writes the plan over `inner` and `root`, whose instructions are in the order of their block and yield what
    /// nothing else reads. There must be enough of them.
    pub(super) fn apply(&self, func: &mut Rewriter<'_>, inner: &[Inst], root: Inst) {
        let kept = self.ops.len() - 1;
        let (gone, kept) = inner.split_at(inner.len() - kept);
        let mut results: Vec<Reg> = Vec::with_capacity(self.ops.len());
        let mut previous = None;
        for (op, inst) in self.ops.iter().zip(kept.iter().copied().chain([root])) {
            let dst = func.defs(inst).next().expect("operations of a tree have a result");
            let sources: Vec<Operand> = op.srcs.iter().filter_map(|src| src.operand(&results)).collect();
            if inst != root {
                move_behind(func, inst, previous, &sources);
            }
            let mut made = InstBuilder::new(op.opcode).field(op.ty).dst(dst);
            for src in &op.srcs {
                made = match src.operand(&results) {
                    Some(operand) => made.src(func.free(operand)),
                    None => made.src(src.bits()),
                };
            }
            func.replace(inst, &made);
            results.push(dst);
            previous = Some(inst);
        }
        gone.iter().for_each(|inst| func.remove(*inst));
    }

    /// Whether these instructions are the plan already, the order of commutative operands apart.
    pub(super) fn is_met_by(&self, func: &Function, inner: &[Inst], root: Inst) -> bool {
        let insts = || inner.iter().copied().chain([root]);
        let results: Vec<Reg> = insts().flat_map(|inst| func.defs(inst)).collect();
        let same = |op: &Op, inst: Inst| {
            let data = func.inst(inst);
            let mut found: Vec<Src> = func.srcs(inst).iter().map(|operand| Src::of(func, *operand)).collect();
            let wanted = op.srcs.iter().map(|src| src.operand(&results).map_or(*src, Src::Operand));
            let wanted: Vec<Src> = wanted.collect();
            if data.is(Flags::COMMUTATIVE) && found[0] != wanted[0] {
                found.swap(0, 1);
            }
            data.opcode == op.opcode && found == wanted
        };
        self.ops.len() == inner.len() + 1 && self.ops.iter().zip(insts()).all(|(op, inst)| same(op, inst))
    }
}

impl Src {
    /// The operand, once operations have registers; `None` for an immediate.
    fn operand(self, results: &[Reg]) -> Option<Operand> {
        match self {
            Src::Operand(operand) => Some(operand),
            Src::Imm(_) => None,
            Src::Result(index) => Some(Operand::Reg(results[index as usize])),
        }
    }

    fn bits(self) -> u64 {
        match self {
            Src::Imm(bits) => bits,
            other => unreachable!("{other:?} is no immediate"),
        }
    }
}

/// Moves an instruction down to where its operands are, and the operation before it. All of them precede the root.
fn move_behind(func: &mut Rewriter<'_>, inst: Inst, previous: Option<Inst>, sources: &[Operand]) {
    let block = func.block_of(inst);
    let definitions = sources.iter().filter_map(|operand| func.def_use().definition(operand.reg()?));
    let here = definitions.chain(previous).filter(|at| func.block_of(*at) == block);
    let Some(last) = here.reduce(|a, b| if func.is_before(a, b) { b } else { a }) else { return };
    if !func.is_before(last, inst) {
        func.move_after(last, inst);
    }
}
