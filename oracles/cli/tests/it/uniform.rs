//! What the divergence analysis calls uniform is the same in all lanes that execute it together, while kernels run.
//!
//! Every kernel of the corpus, and generated ones, get a check at each definition and behind each entry into a block
//! that reads a uniform value: the lanes that are active compare what they have (`match.all.sync`), and trap where it
//! differs. The interpreter lets the lanes that are furthest back in program order go first. So lanes that part meet
//! again at the immediate post-dominator if that follows all blocks in between; functions where it does not are
//! left as they are.

use crate::checked::{in_generated_kernels, in_the_corpus, insert_checks};
use oriole_ir::ops::{Opcode, Type};
use oriole_ir::{Block, Function, Guard, Inst, InstBuilder, Reg, RegFile, RegInfo};
use oriole_optimizer::analysis::{Cfg, Divergence, Dominators, LoopNest, PostDominators, Uniformity};

struct Facts {
    cfg: Cfg,
    nest: LoopNest,
    divergence: Divergence,
}

impl Facts {
    /// The analysis of a function; `None` where the order of its blocks lets lanes pass a post-dominator.
    fn of(func: &Function) -> Option<Facts> {
        let cfg = Cfg::new(func);
        let (dominators, post, nest) = (Dominators::new(&cfg), PostDominators::compute(&cfg), LoopNest::compute(&cfg));
        let divergence = Divergence::compute(func, &cfg, &dominators, &post, &nest);
        let parts = |block: &&Block| divergence.branch(**block) == Uniformity::Varying;
        let meets = |block: &Block| meets_behind(&cfg, *block, post.immediate_post_dominator(&cfg, *block));
        let all = cfg.rpo().iter().filter(parts).all(meets);
        all.then_some(Facts { cfg, nest, divergence })
    }

    fn is_uniform(&self, reg: Reg, block: Block) -> bool {
        self.divergence.at(&self.cfg, &self.nest, reg, block) >= Uniformity::Warp
    }
}

/// Whether all blocks between a branch and its post-dominator precede that one.
fn meets_behind(cfg: &Cfg, branch: Block, end: Option<Block>) -> bool {
    let (mut seen, mut work) = (vec![branch], vec![branch]);
    while let Some(block) = work.pop() {
        for to in cfg.successors(block).iter().filter(|to| Some(**to) != end) {
            if !seen.contains(to) {
                seen.push(*to);
                work.push(*to);
            }
        }
    }
    end.is_none_or(|end| seen.iter().all(|block| cfg.position(*block) < cfg.position(end)))
}

fn compare(
    func: &mut Function,
    facts: &Facts,
    block: Block,
    regs: Vec<Reg>,
    checked: &mut Vec<Reg>,
    insts: &mut Vec<Inst>,
) -> usize {
    let before = checked.len();
    for reg in regs {
        let info = func.regs()[reg];
        let comparable = matches!(info, RegInfo { file: RegFile::R, words: 1 | 2 } | RegInfo::PRED);
        if !comparable || checked.contains(&reg) || !facts.is_uniform(reg, block) {
            continue;
        }
        checked.push(reg);
        let mut put = |inst: InstBuilder, func: &mut Function| insts.push(inst.create(func));
        let mask = func.new_reg(RegInfo::words(1));
        put(InstBuilder::new(Opcode::ActiveMask).dst(mask), func);
        let (mut value, ty) = (reg, if info.words == 2 { Type::B64 } else { Type::B32 });
        if info == RegInfo::PRED {
            value = func.new_reg(RegInfo::words(1));
            let one = InstBuilder::new(Opcode::SelP).field(Type::B32).dst(value);
            put(one.src(oriole_ir::Operand::imm(1)).src(oriole_ir::Operand::imm(0)).src(reg), func);
        }
        let (equal, same) = (func.new_reg(RegInfo::words(1)), func.new_reg(RegInfo::PRED));
        put(InstBuilder::new(Opcode::MatchAll).field(ty).dst(equal).dst(same).src(value).src(mask), func);
        put(InstBuilder::new(Opcode::Trap).guard(Some(Guard::new(same, true))), func);
    }
    checked.len() - before
}

/// Puts the checks into a function; how many.
fn check_lanes(func: &mut Function) -> Option<usize> {
    let facts = Facts::of(func)?;
    Some(insert_checks(func, |func, block, regs, checked, insts| compare(func, &facts, block, regs, checked, insts)))
}

#[test]
fn lanes_agree_in_the_corpus() {
    let tally = in_the_corpus(check_lanes);
    assert!(tally.checks > 1000 && tally.finished * 2 > tally.kernels, "{tally:?}");
}

#[test]
fn lanes_agree_in_generated_kernels() {
    let tally = in_generated_kernels(300, check_lanes);
    assert!(tally.checks > 1000 && tally.finished > 100, "{tally:?}");
}
