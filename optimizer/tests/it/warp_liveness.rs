//! Uniform registers across divergent branches, against their definition: pairs of blocks in which two groups of lanes
//! can be at once.

use std::collections::HashSet;
use std::fmt::Write;

use oriole_ir::{Block, Function, Reg, RegFile, parse_function};
use oriole_optimizer::analysis::{Cfg, Liveness, PostDominators, WarpLiveness};
use proptest::prelude::*;

fn of(func: &Function) -> (Cfg, PostDominators, Liveness, WarpLiveness) {
    let cfg = Cfg::new(func);
    let (post_dominators, liveness) = (PostDominators::compute(&cfg), Liveness::solve(func, &cfg));
    let found = WarpLiveness::compute(func, &cfg, &post_dominators, &liveness);
    (cfg, post_dominators, liveness, found)
}

/// `%ur1` is read by the right side, `%ur2` where both meet, `%ur3` by the left side alone, before the branch
/// decides anything `%ur4`.
const SIDES: &str = "device @f machine {\nbb0:\n  %ur3 = mov.b32 %ur4\n  cbra %p9, bb1, bb2\nbb1:\n  \
                     st.global.b32 [8], %ur3\n  %ur1 = mov.b32 1\n  bra bb3\nbb2:\n  st.global.b32 [8], %ur1\n  \
                     bra bb3\nbb3:\n  st.global.b32 [8], %ur2\n  ret\n}\n";

#[test]
fn what_one_side_reads_the_other_keeps() {
    let func = parse_function(SIDES).expect("the text is a function");
    let (.., found) = of(&func);
    let held = |block: u32| found.held(Block::from_u32(block)).iter().map(|reg| reg.as_u32()).collect::<Vec<_>>();
    assert_eq!([held(0), held(1), held(2), held(3)], [vec![], vec![1, 2, 3], vec![1, 2, 3], vec![]]);
    let uniform = SIDES.replace("%p9", "%up9");
    let func = parse_function(&uniform).expect("the text is a function");
    assert_eq!(of(&func).3.held(Block::from_u32(1)), []);
}

/// A function of some blocks over three uniform registers, spelled by numbers.
fn spelled(words: &[u32]) -> Function {
    let blocks = 2 + words.len() / 3;
    let mut text = String::from("device @f machine {\n");
    for at in 0..blocks {
        let word = |place: usize| words.get(3 * at + place).copied().unwrap_or(0) as usize;
        let (first, second) = (word(0) % 3, word(1) % 3);
        writeln!(text, "bb{at}:").expect("a string");
        match word(0) / 3 % 3 {
            0 => writeln!(text, "  %ur{first} = mov.b32 1"),
            1 => writeln!(text, "  st.global.b32 [8], %ur{first}"),
            _ => writeln!(text, "  %ur{first} = mov.b32 %ur{second}"),
        }
        .expect("a string");
        let [left, right] = [word(1) / 3 % blocks, word(2) % blocks];
        match word(2) / blocks % 3 {
            _ if at + 1 == blocks => writeln!(text, "  ret"),
            0 => writeln!(text, "  bra bb{left}"),
            1 => writeln!(text, "  cbra %p9, bb{left}, bb{}", at + 1),
            _ => writeln!(text, "  cbra %p9, bb{left}, bb{right}"),
        }
        .expect("a string");
    }
    text.push_str("}\n");
    parse_function(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// By definition: while one group of lanes is in a block, another one, which left the same branch for another
/// successor, can be in a second block or wait where they meet, and wants a register there.
fn is_wanted(func: &Function, cfg: &Cfg, post: &PostDominators, live: &Liveness, at: Block, reg: Reg) -> bool {
    let reads = |block: Block| func.block_insts(block).any(|inst| func.uses(inst).any(|used| used == reg));
    let wants = |block: Block| live.live_in(block).contains(reg) || live.live_out(block).contains(reg) || reads(block);
    cfg.rpo().iter().any(|branch| {
        let meeting = post.immediate_post_dominator(cfg, *branch);
        let next = cfg.successors(*branch);
        let pairs = next.iter().flat_map(|a| next.iter().map(move |b| (*a, *b))).filter(|(a, b)| a != b);
        let (mut seen, mut work) = (HashSet::new(), pairs.collect::<Vec<_>>());
        while let Some((a, b)) = work.pop() {
            if !seen.insert((a, b)) {
                continue;
            }
            let step = |block: Block| if Some(block) == meeting { &[][..] } else { cfg.successors(block) };
            work.extend(step(a).iter().map(|a| (*a, b)));
            work.extend(step(b).iter().map(|b| (a, *b)));
        }
        // A group that waits reads what is live where it waits.
        let waits = |block: Block| Some(block) == meeting;
        let asks = |b: Block| if waits(b) { live.live_in(b).contains(reg) } else { wants(b) };
        seen.iter().any(|(a, b)| *a == at && !waits(*a) && asks(*b))
    })
}

proptest! {
    #[test]
    fn whatever_another_group_wants_is_held(words in prop::collection::vec(any::<u32>(), 3..24)) {
        let func = spelled(&words);
        let (cfg, post, liveness, found) = of(&func);
        for block in cfg.rpo() {
            for reg in (0..3).map(Reg::from_u32).filter(|reg| func.regs().is_valid(*reg)) {
                let is_uniform = func.regs()[reg].file == RegFile::UR;
                if is_uniform && is_wanted(&func, &cfg, &post, &liveness, *block, reg) {
                    prop_assert!(found.holds(*block, reg), "{} {}\n{:?}", block, reg, func);
                }
            }
        }
    }
}
