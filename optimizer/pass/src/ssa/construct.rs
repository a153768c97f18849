//! From the virtual form to pruned SSA form (Cytron et al., "Efficiently Computing Static Single Assignment Form",
//! 1991).
//!
//! 1. Unreachable blocks leave the layout; an entry with predecessors gets an empty block before it.
//! 2. A register that is live into a block of the iterated dominance frontier of its definitions gets a phi there
//!    ([`super::merges`]).
//! 3. A walk over the dominator tree renames. The first definition of a register keeps its number. A guarded definition
//!    gets the value that reached it as its `else`; a read that no definition reaches becomes `undef`. A guard has to
//!    be a register: where none reaches, it is one that the entry sets to `undef`.
//!
//! The cost is that of the analyses, plus the size of the function and of the phis.

use cranelift_entity::EntityRef;

use super::merges::merged_variables;
use crate::analysis::{Cfg, Dominators};
use oriole_ir::ops::{Opcode, Type};
use oriole_ir::{Block, Form, Function, Inst, InstBuilder, Operand, Reg, RegFile, RegInfo};

/// Brings a function from virtual form into SSA form, without kill markers; functions in other forms stay as they are.
pub fn construct(func: &mut Function) {
    if func.form != Form::Virtual {
        return;
    }
    func.set_kills(Vec::new());
    if func.is_definition() {
        prepare_layout(func);
        let cfg = Cfg::new(func);
        let dominators = Dominators::new(&cfg);
        let phis = place_phis(func, &cfg, &dominators);
        Renaming::new(func, &cfg, &dominators, &phis).run();
        for (block, mut phis) in cfg.blocks().iter().zip(phis) {
            phis.drain(..).rev().for_each(|phi| func.prepend_inst(*block, phi.inst));
        }
    }
    func.form = Form::Ssa;
}

/// The first step.
fn prepare_layout(func: &mut Function) {
    let cfg = Cfg::new(func);
    func.retain_blocks(|block| cfg.is_reachable(*block));
    let entry = func.entry();
    if cfg.predecessors(entry).iter().any(|block| cfg.is_reachable(*block)) {
        let first = func.create_block();
        func.insert_block(0, first);
        InstBuilder::new(Opcode::Bra).src(entry).append(func, first);
    }
}

/// A phi that is not in its block yet.
struct Phi {
    inst: Inst,
    /// The register that it merges values of.
    variable: Reg,
}

/// Whether SSA form is about this register.
fn is_value(info: RegInfo) -> bool {
    info.file != RegFile::B
}

/// The second step: the phis of each block, by its place in the layout.
fn place_phis(func: &mut Function, cfg: &Cfg, dominators: &Dominators) -> Vec<Vec<Phi>> {
    let merged = merged_variables(func, cfg, dominators);
    // Made block by block, so that the phis of a block lie together in memory.
    let mut create = |block: Block, variable| {
        let inst = new_phi(func, variable, cfg.predecessors(block));
        Phi { inst, variable }
    };
    let blocks = cfg.blocks().iter().zip(merged);
    blocks.map(|(block, variables)| variables.into_iter().map(|v| create(*block, v)).collect()).collect()
}

/// A phi with a source for each predecessor, in their order, still undefined.
fn new_phi(func: &mut Function, variable: Reg, predecessors: &[Block]) -> Inst {
    let sources = predecessors.iter().flat_map(|block| [Operand::Undef, Operand::Block(*block)]);
    InstBuilder::new(Opcode::Phi).dst(variable).srcs(sources).create(func)
}

/// The third step.
struct Renaming<'a> {
    func: &'a mut Function,
    cfg: &'a Cfg,
    dominators: &'a Dominators,
    phis: &'a [Vec<Phi>],
    /// By variable: the value that reaches the current point.
    current: Vec<Option<Reg>>,
    /// By variable: whether a definition has taken its number.
    taken: Vec<bool>,
    /// What `current` was before each change, in order.
    log: Vec<(Reg, Option<Reg>)>,
    /// The guards that nothing defines, by file: predicates and uniform predicates.
    undefined: [Option<Reg>; 2],
}

impl<'a> Renaming<'a> {
    fn new(func: &'a mut Function, cfg: &'a Cfg, dominators: &'a Dominators, phis: &'a [Vec<Phi>]) -> Renaming<'a> {
        let count = func.regs().len();
        Renaming {
            func,
            cfg,
            dominators,
            phis,
            current: vec![None; count],
            taken: vec![false; count],
            log: Vec::new(),
            undefined: [None; 2],
        }
    }

    fn run(mut self) {
        // The blocks that dominate the current one, each with the log's length at its entry.
        let mut open: Vec<(Block, usize)> = Vec::new();
        for block in self.dominators.preorder(self.cfg) {
            while let Some((_, mark)) = open.pop_if(|(top, _)| !self.dominators.dominates(self.cfg, *top, block)) {
                self.undo(mark);
            }
            open.push((block, self.log.len()));
            self.block(block);
        }
        self.define_undefined_guards();
    }

    fn undo(&mut self, mark: usize) {
        for (variable, value) in self.log.drain(mark..).rev() {
            self.current[variable.index()] = value;
        }
    }

    fn block(&mut self, block: Block) {
        let position = self.cfg.position(block).expect("the tree holds blocks of the layout");
        let phis = self.phis;
        for phi in &phis[position] {
            self.define(phi.inst);
        }
        let mut next = self.func.first_inst(block);
        while let Some(inst) = next {
            self.inst(inst);
            next = self.func.next_inst(inst);
        }
        for successor in self.cfg.successors(block) {
            self.feed_phis(*successor, position);
        }
    }

    /// Enters the values at the end of the block at `position` into a successor's phis.
    fn feed_phis(&mut self, successor: Block, position: usize) {
        let target = self.cfg.position(successor).expect("an edge stays in the layout");
        let phis = self.phis;
        if phis[target].is_empty() {
            return;
        }
        // Predecessors are in layout order.
        let found = self.cfg.predecessors(successor).binary_search_by_key(&Some(position), |p| self.cfg.position(*p));
        let source = 2 * found.expect("edges go both ways");
        for phi in &phis[target] {
            if let Some(value) = self.current[phi.variable.index()] {
                self.func.srcs_mut(phi.inst)[source] = Operand::Reg(value);
            }
        }
    }

    fn inst(&mut self, inst: Inst) {
        for place in 0..self.func.srcs(inst).len() {
            let renamed = self.value(self.func.srcs(inst)[place]);
            self.func.srcs_mut(inst)[place] = renamed;
        }
        if let Some(guard) = self.func.inst(inst).guard {
            let reg = match self.value(Operand::Reg(guard.reg())).reg() {
                Some(reg) => reg,
                None => self.undefined_guard(guard.reg()),
            };
            self.func.set_guard(inst, Some(guard.with_reg(reg)));
            self.add_elses(inst);
        }
        self.define(inst);
    }

    /// An operand with the value that reaches it.
    fn value(&self, operand: Operand) -> Operand {
        let Some(variable) = operand.reg().filter(|reg| is_value(self.func.regs()[*reg])) else { return operand };
        match (self.current[variable.index()], operand) {
            (None, _) => Operand::Undef,
            (Some(value), Operand::Word(_, word)) => Operand::Word(value, word),
            (Some(value), _) => Operand::Reg(value),
        }
    }

    /// A destination that is dead after the instruction may get any value that reaches here; nobody sees it.
    fn add_elses(&mut self, inst: Inst) {
        let func = &mut *self.func;
        let (dsts, srcs) = (func.dsts(inst).to_vec(), func.srcs(inst).to_vec());
        if dsts.is_empty() {
            return;
        }
        let elses: Vec<Operand> = dsts.iter().map(|dst| self.value(*dst)).collect();
        self.func.set_inst(inst, self.func.inst(inst).head(), &dsts, &srcs, &elses);
    }

    /// Gives every destination a name of its own.
    fn define(&mut self, inst: Inst) {
        for place in 0..self.func.dsts(inst).len() {
            let Some(variable) = self.func.dsts(inst)[place].reg() else { continue };
            let info = self.func.regs()[variable];
            if !is_value(info) {
                continue;
            }
            let first = !std::mem::replace(&mut self.taken[variable.index()], true);
            let value = if first { variable } else { self.func.new_reg(info) };
            self.func.dsts_mut(inst)[place] = Operand::Reg(value);
            let old = self.current[variable.index()].replace(value);
            self.log.push((variable, old));
        }
    }

    fn undefined_guard(&mut self, like: Reg) -> Reg {
        let info = self.func.regs()[like];
        let place = &mut self.undefined[usize::from(info.file == RegFile::UP)];
        *place.get_or_insert_with(|| self.func.new_reg(info))
    }

    fn define_undefined_guards(self) {
        let entry = self.func.entry();
        for reg in self.undefined.into_iter().flatten() {
            let mov = InstBuilder::new(Opcode::Mov).field(Type::Pred).dst(reg).src(Operand::Undef);
            let inst = mov.create(self.func);
            self.func.prepend_inst(entry, inst);
        }
    }
}
