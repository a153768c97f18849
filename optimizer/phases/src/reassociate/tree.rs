//! Trees of one associative operation, and what they are flattened to.
//!
//! A tree is the largest set of operations of one [`Kind`] in a block that only feed each other, below the one that is
//! read elsewhere: its root. An operand is a leaf if another operation defines it, if it is a constant, if it is
//! defined in another block, or if it is read more than once. `isub`, `ineg` and `imad` are sums: their terms have a
//! sign, or are products. A difference is part of a tree only where an addition or subtraction is all that reads it,
//! and never needs a negation of its own. Rotations are leaves too, written as sums or otherwise.

use std::cmp::Ordering;

use cranelift_entity::{EntitySet, SecondaryMap};

use super::plan::Src;
use super::work::Work;
use oriole_ir::ops::{Opcode, Saturate, Type};
use oriole_ir::{Block, Function, Inst, Operand, Reg, Rewriter};
use oriole_pass::analysis::Cfg;

/// What operations of one tree have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Kind {
    pub(super) operation: Operation,
    /// The width of the values: 1, 32 or 64. Narrower ones are parts of registers, so a lone term would be no copy.
    pub(super) bits: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operation {
    /// Additions, subtractions, and products that are added, modulo 2^n.
    Sum,
    /// `imul.lo`, `and`, `or` or `xor`.
    Chain(Opcode),
}

impl Kind {
    /// The kind of the trees that an operation can be part of. Saturating, packed, narrow and guarded operations are
    /// part of none, nor are those with a carry, which have opcodes of their own, nor any on floats.
    fn of(func: &Function, inst: Inst) -> Option<Kind> {
        let data = func.inst(inst);
        if data.guard.is_some() || data.field::<Saturate>() == Some(Saturate::Sat) {
            return None;
        }
        let whole = matches!(data.ty(), Type::U32 | Type::S32 | Type::U64 | Type::S64);
        let logic = matches!(data.ty(), Type::B32 | Type::B64 | Type::Pred);
        let (operation, bits) = match data.opcode {
            Opcode::IAdd | Opcode::ISub | Opcode::INeg | Opcode::IMadLo if whole => (Operation::Sum, data.ty().bits()),
            Opcode::IMadWide if data.ty().bits() == 32 => (Operation::Sum, 64),
            Opcode::IMulLo if whole => (Operation::Chain(data.opcode), data.ty().bits()),
            Opcode::And | Opcode::Or | Opcode::Xor if logic => (Operation::Chain(data.opcode), data.ty().bits()),
            _ => return None,
        };
        Some(Kind { operation, bits })
    }
}

/// A product under a sum: opcode, type and factors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Product {
    pub(super) opcode: Opcode,
    pub(super) ty: Type,
    pub(super) factors: [Src; 2],
}

/// What a term adds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Value {
    Operand(Operand),
    Product(Product),
}

/// A leaf: of a chain always positive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Term {
    pub(super) value: Value,
    pub(super) negative: bool,
}

/// A flattened tree.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) kind: Kind,
    pub(super) block: Block,
    pub(super) root: Inst,
    /// The other operations, in the order of the block.
    pub(super) inner: Vec<Inst>,
    pub(super) terms: Vec<Term>,
    /// Constants, negated where they are subtracted.
    pub(super) constants: Vec<u64>,
}

/// By register: its place in the order in which a walk in reverse post-order meets definitions, from 1 on.
pub(super) type Ranks = SecondaryMap<Reg, u32>;

/// What a walk passes over first, and how many instructions it looks at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) skip: u32,
    pub(super) budget: u32,
}

/// The trees of the blocks where there is work, whose roots lie in a range of the function's instructions, in reverse
/// post-order; and all ranks.
pub(super) fn collect(func: &Rewriter<'_>, cfg: &Cfg, range: Range, work: &Work) -> (Vec<Tree>, Ranks) {
    let mut ranks = Ranks::new();
    ranks.resize(func.regs().len());
    let (mut number, mut rank) = (0u32, 0);
    let mut trees = Vec::new();
    let mut taken = EntitySet::new();
    // Most operations are no trees, so none of them gets memory of its own.
    let (mut insts, mut open) = (Vec::new(), Vec::new());
    for block in cfg.rpo() {
        let is_work = work.contains(*block);
        for inst in func.block_insts(*block) {
            for reg in func.defs(inst) {
                rank += 1;
                ranks[reg] = rank;
            }
            if is_work && number >= range.skip && number - range.skip < range.budget {
                insts.push(inst);
            }
            number = number.saturating_add(1);
        }
        // Backward, so that roots come before what is below them.
        let first = trees.len();
        for inst in insts.drain(..).rev() {
            if !taken.contains(inst) {
                trees.extend(flatten(func, *block, inst, &mut taken, &mut open));
            }
        }
        trees[first..].reverse();
    }
    (trees, ranks)
}

/// The tree below a root; `None` where nothing can become of it. `open` is memory that ends as empty as it was.
fn flatten(
    func: &Rewriter<'_>,
    block: Block,
    root: Inst,
    taken: &mut EntitySet<Inst>,
    open: &mut Vec<(Operand, bool)>,
) -> Option<Tree> {
    let kind = Kind::of(func, root).filter(|_| func.inst(root).opcode != Opcode::INeg)?;
    let mut tree = Tree { kind, block, root, inner: Vec::new(), terms: Vec::new(), constants: Vec::new() };
    // Whether the operands of a single operation are in order makes no difference.
    let is_inner = |operand: &Operand| inner(func, &tree, *operand, false).is_some();
    if kind.operation != Operation::Sum && !func.srcs(root).iter().any(is_inner) {
        return None;
    }
    tree.open(func, root, false, open);
    while let Some((operand, negative)) = open.pop() {
        if let Some(bits) = func.imm_bits(operand) {
            tree.constants.push(if negative { bits.wrapping_neg() } else { bits } & mask(kind.bits));
        } else if let Some(inst) = inner(func, &tree, operand, negative) {
            taken.insert(inst);
            tree.inner.push(inst);
            tree.open(func, inst, negative, open);
        } else {
            tree.terms.push(Term { value: Value::Operand(operand), negative });
        }
    }
    if tree.inner.is_empty() && !tree.is_open(func) {
        return None;
    }
    sort(func, &mut tree.inner);
    // What nothing defines is another value at each read.
    let undefined = tree.terms.iter().any(|term| term.value.reads(Operand::Undef));
    (!undefined).then_some(tree)
}

/// Puts instructions of one block in its order.
pub(super) fn sort(func: &Function, insts: &mut [Inst]) {
    insts.sort_by(|a, b| match a == b {
        true => Ordering::Equal,
        false if func.is_before(*a, *b) => Ordering::Less,
        false => Ordering::Greater,
    });
}

impl Value {
    fn reads(&self, operand: Operand) -> bool {
        match self {
            Value::Operand(own) => *own == operand,
            Value::Product(product) => product.factors.contains(&Src::Operand(operand)),
        }
    }
}

impl Tree {
    /// Takes an operation apart: products are terms, the other operands may be trees themselves.
    fn open(&mut self, func: &Function, inst: Inst, negative: bool, work: &mut Vec<(Operand, bool)>) {
        let (data, srcs) = (func.inst(inst), func.srcs(inst));
        let product = |opcode| {
            let factors = [Src::of(func, srcs[0]), Src::of(func, srcs[1])];
            Term { value: Value::Product(Product { opcode, ty: data.ty(), factors }), negative }
        };
        match data.opcode {
            Opcode::ISub => work.extend([(srcs[0], negative), (srcs[1], !negative)]),
            Opcode::INeg => work.push((srcs[0], !negative)),
            Opcode::IMadLo => {
                self.terms.push(product(Opcode::IMulLo));
                work.push((srcs[2], negative));
            }
            Opcode::IMadWide => {
                self.terms.push(product(Opcode::IMulWide));
                work.push((srcs[2], negative));
            }
            _ => work.extend([(srcs[0], negative), (srcs[1], negative)]),
        }
    }

    /// Whether a sum that is a single operation may become another: it has a constant, or a multiple that nothing else
    /// reads is added to something.
    fn is_open(&self, func: &Rewriter<'_>) -> bool {
        let multiplies = |inst: &Inst| matches!(func.inst(*inst).opcode, Opcode::Shl | Opcode::IMulLo);
        let multiple = |term: &Term| match term.value {
            Value::Operand(operand) => only_reader(func, self.block, operand).filter(multiplies).is_some(),
            Value::Product(_) => false,
        };
        !self.constants.is_empty() || self.terms.iter().any(multiple)
    }

    /// Whether a single operation is all there is.
    pub(super) fn is_single(&self) -> bool {
        self.inner.is_empty()
    }
}

/// The operation of the same tree that defines an operand, unless the operand is a leaf. No instruction subtracts a
/// product, so a product that would be subtracted stays below.
fn inner(func: &Rewriter<'_>, tree: &Tree, operand: Operand, negative: bool) -> Option<Inst> {
    let inst = only_reader(func, tree.block, operand)?;
    let multiplies = matches!(func.inst(inst).opcode, Opcode::IMadLo | Opcode::IMadWide);
    let fits = Kind::of(func, inst) == Some(tree.kind) && !(multiplies && negative);
    (fits && !is_funnel_shift(func, inst)).then_some(inst)
}

/// Whether an operation joins what two opposite shifts leave of one or two values: a rotation, for which the machine
/// has one instruction if the parts stay together.
fn is_funnel_shift(func: &Rewriter<'_>, inst: Inst) -> bool {
    let shift = |operand: Operand, opcode: Opcode| {
        let inst = func.def_use().definition(operand.whole_reg()?)?;
        let data = func.inst(inst);
        let fits = data.opcode == opcode && data.guard.is_none() && !data.ty().is_signed();
        if fits { func.imm_bits(func.srcs(inst)[1]) } else { None }
    };
    let [a, b] = *func.srcs(inst) else { return false };
    let bits = u64::from(func.inst(inst).ty().bits());
    [(a, b), (b, a)].into_iter().any(|(left, right)| {
        let counts = shift(left, Opcode::Shl).zip(shift(right, Opcode::Shr));
        counts.is_some_and(|(left, right)| left.checked_add(right) == Some(bits))
    })
}

/// The unguarded instruction of a block that defines an operand which nothing else reads.
pub(super) fn only_reader(func: &Rewriter<'_>, block: Block, operand: Operand) -> Option<Inst> {
    let reg = operand.whole_reg()?;
    let inst = func.def_use().definition(reg)?;
    let alone = func.def_use().read_count(reg) == 1;
    (alone && func.block_of(inst) == Some(block) && func.inst(inst).guard.is_none()).then_some(inst)
}

/// The low bits.
pub(super) fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}
