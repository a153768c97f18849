//! What it would cost to keep a register in memory instead (`spec/liveness-and-dce.txt`, "Liveness-Derived Costs":
//! weighted by the length of the live range and by what the instructions are).
//!
//! Each definition is a store and each read a load, ten times as many for each loop around them, for each word. A
//! range that is long frees a register over many points, so the cost is divided by its length: what is cheapest is
//! touched rarely and lives long. A phi reads at the ends of predecessors and defines at the start of its block.
//! Linear in instructions and in the sizes of live sets at block ends.

use cranelift_entity::EntityRef;

use super::cfg::Cfg;
use super::live_scan::kills;
use super::liveness::Liveness;
use super::loops::LoopNest;
use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, Inst, Reg, RegFile};

/// Loops around an access that count.
const MOST_LOOPS: u32 = 8;
const NONE: u32 = u32::MAX;

/// Accesses and lengths of all live ranges.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpillCosts {
    /// By register number: loads and stores, weighted.
    accesses: Vec<u64>,
    /// By register number: the points at which it is live. A point lies behind each instruction.
    lengths: Vec<u64>,
}

impl SpillCosts {
    /// Counts the accesses and points of a function.
    pub fn compute(func: &Function, cfg: &Cfg, nest: &LoopNest, liveness: &Liveness) -> SpillCosts {
        let none = vec![0; func.regs().len()];
        let mut costs = SpillCosts { accesses: none.clone(), lengths: none };
        // The lowest point, counted from the block's end, at which a register that is live now became so.
        let mut since = vec![NONE; func.regs().len()];
        for block in cfg.blocks() {
            costs.block(func, cfg, nest, *block, liveness, &mut since);
        }
        costs
    }

    fn block(
        &mut self,
        func: &Function,
        cfg: &Cfg,
        nest: &LoopNest,
        block: Block,
        liveness: &Liveness,
        since: &mut [u32],
    ) {
        let weight = |block: Block| 10u64.pow(nest.depth(cfg, block).min(MOST_LOOPS));
        liveness.live_out(block).iter().for_each(|reg| since[reg.index()] = 0);
        let mut point = 0;
        for inst in func.block_insts(block).rev() {
            let is_phi = func.inst(inst).opcode == Opcode::Phi;
            // The point behind this instruction belongs to what is live there.
            point += 1;
            for reg in func.defs(inst) {
                self.accesses[reg.index()] += weight(block) * u64::from(func.regs()[reg].words);
                if kills(func, inst) {
                    self.end(reg, point, since);
                }
            }
            if is_phi {
                self.incoming(func, inst, weight);
                continue;
            }
            for reg in func.uses(inst).filter(|reg| func.regs()[*reg].file != RegFile::B) {
                self.accesses[reg.index()] += weight(block) * u64::from(func.regs()[reg].words);
                if since[reg.index()] == NONE {
                    since[reg.index()] = point;
                }
            }
        }
        liveness.live_in(block).iter().for_each(|reg| self.end(reg, point, since));
    }

    /// A phi loads its sources where control leaves the predecessors.
    fn incoming(&mut self, func: &Function, phi: Inst, weight: impl Fn(Block) -> u64) {
        for pair in func.srcs(phi).chunks_exact(2) {
            if let (Some(reg), Some(from)) = (pair[0].reg(), pair[1].block()) {
                self.accesses[reg.index()] += weight(from) * u64::from(func.regs()[reg].words);
            }
        }
    }

    /// The part of a range that lies in one block ends, in a walk backward.
    fn end(&mut self, reg: Reg, point: u32, since: &mut [u32]) {
        let start = std::mem::replace(&mut since[reg.index()], NONE);
        if start != NONE {
            self.lengths[reg.index()] += u64::from(point - start);
        }
    }

    /// Loads and stores that a register would take in memory: one for each word and access, tenfold for each loop
    /// around it.
    pub fn accesses(&self, reg: Reg) -> u64 {
        self.accesses[reg.index()]
    }

    /// The points at which a register is live: behind so many instructions.
    pub fn length(&self, reg: Reg) -> u64 {
        self.lengths[reg.index()]
    }

    /// What it costs to keep a register in memory, for each point at which that frees it. One that lives nowhere
    /// costs nothing.
    pub fn cost(&self, reg: Reg) -> f64 {
        self.accesses(reg) as f64 / self.length(reg).max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::super::live_walk::LiveWalk;
    use super::super::testing::random_function;
    use super::*;
    use oriole_ir::parse_function;
    use proptest::prelude::*;

    fn of(func: &Function) -> SpillCosts {
        let cfg = Cfg::new(func);
        SpillCosts::compute(func, &cfg, &LoopNest::compute(&cfg), &Liveness::solve(func, &cfg))
    }

    proptest! {
        /// The length is the number of instructions behind which a walk finds the register live.
        #[test]
        fn lengths_are_counted_points(words in prop::collection::vec(any::<u32>(), 4..200), ssa: bool) {
            let mut func = random_function(&words);
            if ssa {
                crate::ssa::construct(&mut func);
            }
            let (costs, cfg) = (of(&func), Cfg::new(&func));
            let liveness = Liveness::solve(&func, &cfg);
            let (mut walk, mut expected) = (LiveWalk::new(&func), vec![0; func.regs().len()]);
            for block in func.layout() {
                walk.start(&liveness, *block);
                for inst in func.block_insts(*block).rev() {
                    walk.live().iter().for_each(|reg| expected[reg.index()] += 1);
                    walk.step(&func, inst);
                }
            }
            for reg in func.regs().keys() {
                prop_assert_eq!(costs.length(reg), expected[reg.index()], "{}", reg);
            }
        }
    }

    /// `%d1` is read in the loop, `%r2` before and behind it.
    #[test]
    fn accesses_in_loops_weigh_tenfold_and_words_count() {
        let text = "device @f {\nbb0:\n  %d1 = mov.b64 1\n  %r2 = mov.b32 2\n  bra bb1\nbb1:\n  st.global.b32 [%d1], 1\n  \
                    cbra %p3, bb1, bb2\nbb2:\n  st.global.b32 [8], %r2\n  ret\n}\n";
        let func = parse_function(text).expect("the text is a function");
        let costs = of(&func);
        let [wide, word] = [1, 2].map(Reg::from_u32);
        assert_eq!((costs.accesses(wide), costs.length(wide)), (2 + 20, 5));
        assert_eq!((costs.accesses(word), costs.length(word)), (2, 4));
        assert!(costs.cost(word) < costs.cost(wide));
    }
}
