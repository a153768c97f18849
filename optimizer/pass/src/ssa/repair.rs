//! SSA form after blocks were copied: registers that are defined in several places get phis where these meet.
//!
//! A copied block defines the registers of its original under other names. Whatever read such a register reads the
//! definition that reaches it now: the one in its block or in the closest dominator that has one, or the phi of a block
//! in the iterated dominance frontier of the definitions. Phis are made when something first asks for them, so that
//! none is dead but for cycles of phis.
//!
//! Cost: for each register the blocks between its definitions and its reads, beside one look at the function.

use cranelift_entity::EntitySet;
use rustc_hash::FxHashMap;

use crate::analysis::{Cfg, Dominators, Frontiers};
use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, Inst, InstBuilder, Operand, Reg};

/// The blocks that define a register under another name, with that name.
pub type Copies = Vec<(Block, Reg)>;

/// Gives every read of these registers the definition that reaches it. The list is sorted by register.
pub fn repair(func: &mut Function, copied: &[(Reg, Copies)]) {
    if copied.is_empty() {
        return;
    }
    let cfg = Cfg::new(func);
    let dominators = Dominators::new(&cfg);
    let frontiers = dominators.frontiers(&cfg);
    let (definitions, reads) = look(func, copied);
    for ((reg, copies), reads) in copied.iter().zip(reads) {
        let Some(home) = definitions[reg] else { continue };
        let mut values: FxHashMap<Block, Reg> = copies.iter().copied().collect();
        values.insert(home, *reg);
        let joins = joins(&cfg, &frontiers, values.keys().copied().collect());
        let (cfg, dominators) = (&cfg, &dominators);
        let (entry, open) = (FxHashMap::default(), Vec::new());
        let mut reaching = Reaching { cfg, dominators, reg: *reg, values, joins, entry, open };
        reads.into_iter().for_each(|read| reaching.rename(func, read, home));
        reaching.fill(func);
    }
}

/// An instruction that reads a register.
#[derive(Clone, Copy)]
struct Read {
    inst: Inst,
    block: Block,
}

type Homes = FxHashMap<Reg, Option<Block>>;

/// Where the registers are defined, and what reads each of them.
fn look(func: &Function, copied: &[(Reg, Copies)]) -> (Homes, Vec<Vec<Read>>) {
    let mut wanted = EntitySet::<Reg>::new();
    wanted.extend(copied.iter().map(|(reg, _)| *reg));
    let mut homes: Homes = copied.iter().map(|(reg, _)| (*reg, None)).collect();
    let mut reads: Vec<Vec<Read>> = vec![Vec::new(); copied.len()];
    for block in func.layout() {
        for inst in func.block_insts(*block) {
            for reg in func.defs(inst).filter(|reg| wanted.contains(*reg)) {
                homes.insert(reg, Some(*block));
            }
            for reg in func.uses(inst).filter(|reg| wanted.contains(*reg)) {
                if let Ok(at) = copied.binary_search_by_key(&reg, |(reg, _)| *reg) {
                    reads[at].push(Read { inst, block: *block });
                }
            }
        }
    }
    (homes, reads)
}

/// The iterated dominance frontier of some blocks.
fn joins(cfg: &Cfg, frontiers: &Frontiers, mut work: Vec<Block>) -> EntitySet<Block> {
    let mut found = EntitySet::new();
    while let Some(block) = work.pop() {
        work.extend(frontiers.of(cfg, block).iter().copied().filter(|join| found.insert(*join)));
    }
    found
}

/// The definitions of one register that reach blocks.
struct Reaching<'a> {
    cfg: &'a Cfg,
    dominators: &'a Dominators,
    reg: Reg,
    /// By block: what it defines.
    values: FxHashMap<Block, Reg>,
    joins: EntitySet<Block>,
    /// By block: what reaches it.
    entry: FxHashMap<Block, Reg>,
    /// Phis that have no sources yet.
    open: Vec<(Block, Inst)>,
}

impl Reaching<'_> {
    /// Lets an instruction read what reaches it. Those of the block that defines the register follow that.
    fn rename(&mut self, func: &mut Function, read: Read, home: Block) {
        if func.inst(read.inst).opcode == Opcode::Phi {
            for at in (0..func.srcs(read.inst).len()).step_by(2) {
                let (source, Operand::Block(from)) = (func.srcs(read.inst)[at], func.srcs(read.inst)[at + 1]) else {
                    continue;
                };
                // A source may be a word of the register: that word of what reaches it replaces it.
                if source.reg() == Some(self.reg) {
                    func.srcs_mut(read.inst)[at] = match self.at_end(func, from) {
                        Some(value) => source.map_reg(|_| value),
                        None => Operand::Undef,
                    };
                }
            }
            return;
        }
        if read.block == home || !self.cfg.is_reachable(read.block) {
            return;
        }
        let Some(value) = self.at_entry(func, read.block) else { return };
        let own = self.reg;
        let map = |reg: Reg| if reg == own { value } else { reg };
        func.inputs_mut(read.inst).iter_mut().for_each(|operand| *operand = operand.map_reg(map));
        if let Some(guard) = func.inst(read.inst).guard {
            func.set_guard(read.inst, Some(guard.with_reg(map(guard.reg()))));
        }
    }

    /// What reaches the end of a block; none where nothing does.
    fn at_end(&mut self, func: &mut Function, block: Block) -> Option<Reg> {
        match self.values.get(&block) {
            Some(value) => Some(*value),
            None => self.at_entry(func, block),
        }
    }

    /// Walks up to the closest definition or join; what is found holds for all blocks that were passed.
    fn at_entry(&mut self, func: &mut Function, block: Block) -> Option<Reg> {
        let (mut passed, mut at) = (Vec::new(), Some(block).filter(|block| self.cfg.is_reachable(*block)));
        let found = loop {
            let Some(here) = at else { break None };
            if let Some(value) = self.entry.get(&here) {
                break Some(*value);
            }
            passed.push(here);
            if self.joins.contains(here) {
                break Some(self.phi(func, here));
            }
            at = self.dominators.immediate_dominator(self.cfg, here);
            if let Some(value) = at.and_then(|above| self.values.get(&above)) {
                break Some(*value);
            }
        };
        let found = found?;
        self.entry.extend(passed.into_iter().map(|block| (block, found)));
        Some(found)
    }

    /// A phi at the beginning of a block, without sources yet.
    fn phi(&mut self, func: &mut Function, block: Block) -> Reg {
        let reg = func.new_reg(func.regs()[self.reg]);
        let phi = InstBuilder::new(Opcode::Phi).dst(reg).create(func);
        func.prepend_inst(block, phi);
        self.entry.insert(block, reg);
        self.open.push((block, phi));
        reg
    }

    /// Gives the phis their sources, which may take others.
    fn fill(&mut self, func: &mut Function) {
        while let Some((block, phi)) = self.open.pop() {
            let from = self.cfg.predecessors(block).to_vec();
            let source = |value: Option<Reg>| value.map_or(Operand::Undef, Operand::Reg);
            let sources: Vec<Operand> =
                from.into_iter().flat_map(|from| [source(self.at_end(func, from)), Operand::Block(from)]).collect();
            func.set_srcs(phi, &sources);
        }
    }
}
