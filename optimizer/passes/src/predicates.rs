//! `nvvm-predicate-opt`: what was a predicate before it was a number is one again (`spec/pass-pipeline.txt`, line 1197:
//! NVVMPredicateOpt, which the page gives by name).
//!
//! Unoptimized code keeps conditions in registers: `selp.u32 %r1, 1, 0, %p1; setp.ne.s32 %p2, %r1, 0`, where `%p2` is
//! `%p1`. Where nothing is between, rules say so, and those about predicates are part of the pass
//! ([`combine::predicates`]). Where ways meet in between, as behind `a && b`, no rule sees it: a comparison
//! with a constant of a phi whose values are constants, choices between two constants, and such phis. It becomes a phi
//! of predicates. Operations with constants between comparison and phi, such as masks and extensions, are computed of
//! each value. This is done where nothing else reads the phis, so that they go.
//!
//! Cost: linear, but for phis of more than [`MOST`] values.

use rustc_hash::FxHashMap;

use crate::combine;
use oriole_ir::ops::{Flags, Opcode, Type};
use oriole_ir::{Function, Inst, InstBuilder, Operand, Reg, RegInfo};
use oriole_pass::analysis::{AnalysisSet, Cfg, Definitions, Uses};
use oriole_pass::edit::values::become_copies;
use oriole_pass::fold::fold;
use oriole_pass::pass::{Changed, PhaseContext};

/// Phis and choices that stand behind one comparison.
const MOST: usize = 32;
/// Operations between a comparison and a phi.
const DEPTH: usize = 4;

/// The nvvm-predicate-opt pass.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let cfg = cx.analyses.get::<Cfg>(func);
    let mut changed = combine::predicates(func, cx);
    while through_phis(func, cx).is_yes() {
        changed = Changed::Yes;
        cx.analyses.retain(AnalysisSet::CONTROL_FLOW);
        combine::predicates(func, cx);
    }
    if cx.analyses.holds(&cfg) {
        cx.preserve(AnalysisSet::CONTROL_FLOW);
    }
    changed
}

fn through_phis(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let (definitions, uses) = (cx.analyses.get::<Definitions>(func), cx.analyses.get::<Uses>(func));
    let mut changed = Changed::No;
    // A comparison that is changed leaves others as they were: what it reads, nothing else does.
    for inst in func.layout_insts().collect::<Vec<Inst>>() {
        let Some(tree) = Tree::of(func, inst, &definitions, &uses) else { continue };
        if cx.rewrite("predicate-phi") {
            let value = Making { func, made: FxHashMap::default(), tree: &tree }.of(Operand::Reg(tree.root));
            become_copies(func, inst, None, &[value], &[]);
            changed = Changed::Yes;
        }
    }
    changed
}

/// How a comparison follows from one of the values.
#[derive(Clone, Debug)]
enum Node {
    /// A phi of others.
    Phi(Inst),
    /// The same as another.
    Copy(Operand),
    /// A choice: the condition, and what the comparison says of each of the two.
    Choice(Operand, [bool; 2], Inst),
}

/// The values that a comparison is made of.
struct Tree {
    root: Reg,
    nodes: FxHashMap<Reg, Node>,
    /// By constant: whether the comparison holds.
    constants: FxHashMap<u64, bool>,
}

impl Tree {
    fn of(func: &Function, inst: Inst, definitions: &Definitions, uses: &Uses) -> Option<Tree> {
        let data = func.inst(inst);
        let is_plain = data.opcode == Opcode::SetP && data.guard.is_none() && !data.ty().is_float();
        let mut chain = vec![inst];
        let mut root = func.srcs(inst).first().filter(|_| is_plain && data.ty() != Type::Pred)?.whole_reg()?;
        loop {
            let definition = definitions.always(func, Operand::Reg(root)).filter(|_| uses.count(root) == 1)?;
            if func.inst(definition).opcode == Opcode::Phi {
                break;
            }
            chain.push(definition);
            root = func.srcs(definition).first()?.whole_reg()?;
            if chain.len() > DEPTH {
                return None;
            }
        }
        chain.iter().all(|inst| is_of_one(func, *inst)).then_some(())?;
        let mut tree = Tree { root, nodes: FxHashMap::default(), constants: FxHashMap::default() };
        let mut open = vec![root];
        while let Some(reg) = open.pop() {
            if tree.nodes.contains_key(&reg) {
                continue;
            }
            let node = tree.node(func, reg, &chain, definitions, &mut open)?;
            tree.nodes.insert(reg, node);
            if tree.nodes.len() > MOST {
                return None;
            }
        }
        tree.is_alone(func, uses).then_some(tree)
    }

    fn node(
        &mut self,
        func: &Function,
        reg: Reg,
        chain: &[Inst],
        definitions: &Definitions,
        open: &mut Vec<Reg>,
    ) -> Option<Node> {
        let inst = definitions.always(func, Operand::Reg(reg))?;
        let srcs = func.srcs(inst);
        let mut follow = |operand: Operand| match func.imm_bits(operand) {
            Some(bits) => {
                let said = said(func, chain, bits)?;
                self.constants.insert(bits, said);
                Some(())
            }
            None => operand.whole_reg().map(|reg| open.push(reg)),
        };
        match func.inst(inst).opcode {
            Opcode::Phi => {
                srcs.chunks_exact(2).try_for_each(|pair| follow(pair[0]))?;
                Some(Node::Phi(inst))
            }
            Opcode::Mov => {
                follow(srcs[0])?;
                Some(Node::Copy(srcs[0]))
            }
            Opcode::SelP => {
                let &[yes, no, condition] = srcs else { return None };
                let bits = [func.imm_bits(yes)?, func.imm_bits(no)?];
                let folded = bits.map(|bits| {
                    let data = func.inst(inst);
                    said(func, chain, fold(data.opcode, &data.fields, &[bits, bits, 1])?.results[0])
                });
                condition.whole_reg()?;
                Some(Node::Choice(condition, [folded[0]?, folded[1]?], inst))
            }
            _ => None,
        }
    }

    /// Whether nothing but the comparison and the phis of the tree reads these phis.
    fn is_alone(&self, func: &Function, uses: &Uses) -> bool {
        let mut inside: FxHashMap<Reg, u32> = FxHashMap::default();
        inside.insert(self.root, 1);
        let inputs = self.nodes.values().filter_map(|node| match node {
            Node::Phi(inst) => Some(func.uses(*inst).collect::<Vec<Reg>>()),
            Node::Copy(operand) => Some(operand.reg().into_iter().collect()),
            Node::Choice(..) => None,
        });
        inputs.flatten().for_each(|reg| *inside.entry(reg).or_default() += 1);
        let is_phi = |node: &Node| matches!(node, Node::Phi(_));
        let mut phis = self.nodes.iter().filter(|(_, node)| is_phi(node));
        phis.all(|(reg, _)| inside.get(reg) == Some(&uses.count(*reg)))
    }
}

/// Whether an operation depends on its first operand and constants, and yields one result.
fn is_of_one(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    let rest = func.srcs(inst).iter().skip(1).all(|operand| operand.is_imm());
    data.is(Flags::PURE) && data.guard.is_none() && rest && func.dsts(inst).len() == 1
}

/// Whether the comparison, the first of a chain, holds for a constant that goes through the rest of the chain.
fn said(func: &Function, chain: &[Inst], bits: u64) -> Option<bool> {
    let mut value = bits;
    for inst in chain.iter().rev() {
        let (data, rest) = (func.inst(*inst), func.srcs(*inst).iter().skip(1));
        if data.opcode == Opcode::Mov {
            continue;
        }
        let rest = rest.map(|operand| func.imm_bits(*operand));
        let srcs: Vec<u64> = std::iter::once(Some(value)).chain(rest).collect::<Option<_>>()?;
        value = fold(data.opcode, &data.fields, &srcs)?.results[0];
    }
    Some(value & 1 == 1)
}

/// Makes the predicates.
struct Making<'a> {
    func: &'a mut Function,
    made: FxHashMap<Reg, Operand>,
    tree: &'a Tree,
}

impl Making<'_> {
    fn of(&mut self, operand: Operand) -> Operand {
        if let Some(bits) = self.func.imm_bits(operand) {
            return Operand::imm(u32::from(self.tree.constants[&bits]));
        }
        let reg = operand.whole_reg().expect("the tree has registers and constants");
        if let Some(made) = self.made.get(&reg) {
            return *made;
        }
        let made = match &self.tree.nodes[&reg] {
            Node::Copy(from) => self.of(*from),
            Node::Choice(_, [yes, no], _) if yes == no => Operand::imm(u32::from(*yes)),
            Node::Choice(condition, [true, _], _) => *condition,
            Node::Choice(condition, _, choice) => {
                let inverse = self.func.new_reg(RegInfo::PRED);
                let not = InstBuilder::new(Opcode::Not).field(Type::Pred).dst(inverse);
                not.src(self.func.free(*condition)).line(self.func.inst(*choice).line).insert_after(self.func, *choice);
                Operand::Reg(inverse)
            }
            Node::Phi(phi) => return self.phi(reg, *phi),
        };
        self.made.insert(reg, made);
        made
    }

    fn phi(&mut self, reg: Reg, phi: Inst) -> Operand {
        let result = self.func.new_reg(RegInfo::PRED);
        // A phi's own value may come back to it.
        self.made.insert(reg, Operand::Reg(result));
        let mut srcs = self.func.srcs(phi).to_vec();
        let copy = self.func.new_inst(self.func.inst(phi).head(), &[Operand::Reg(result)], &srcs, &[]);
        self.func.insert_after(phi, copy);
        for at in (0..srcs.len()).step_by(2) {
            srcs[at] = self.of(srcs[at]);
        }
        self.func.set_srcs(copy, &srcs);
        Operand::Reg(result)
    }
}
