use super::super::testing::random_function;
use super::super::{Liveness, LoopNest};
use super::*;
use oriole_ir::parse_function;
use proptest::prelude::*;

fn dense(func: &Function) -> DenseLiveness {
    DenseLiveness::solve(func, &Cfg::new(func), Variant::Plain, |_| true)
}

proptest! {
    /// The two solvers have no step in common behind the scan.
    #[test]
    fn the_solution_is_that_of_the_sparse_solver(words in prop::collection::vec(any::<u32>(), 4..200), ssa: bool) {
        let mut func = random_function(&words);
        if ssa {
            crate::ssa::construct(&mut func);
        }
        let cfg = Cfg::new(&func);
        let (dense, sparse) = (dense(&func), Liveness::solve(&func, &cfg));
        for block in func.layout() {
            for reg in func.regs().keys() {
                prop_assert_eq!(dense.live_in(*block, reg), sparse.live_in(*block).contains(reg), "{} {}", block, reg);
                prop_assert_eq!(dense.live_out(*block, reg), sparse.live_out(*block).contains(reg), "{} {}", block, reg);
            }
            let mut listed: Vec<Reg> = dense.all_live_in(*block).collect();
            listed.sort_unstable();
            prop_assert_eq!(listed, sparse.live_in(*block).iter().collect::<Vec<_>>());
        }
    }

    /// On reducible graphs, sweeps are at most as many as loops around a block, and two more.
    #[test]
    fn sweeps_are_bounded_by_the_depth_of_loops(words in prop::collection::vec(any::<u32>(), 4..400)) {
        let mut func = random_function(&words);
        // The loop nest says nothing about unreachable blocks.
        let reachable = Cfg::new(&func);
        func.set_layout(func.layout().iter().copied().filter(|block| reachable.is_reachable(*block)).collect());
        let cfg = Cfg::new(&func);
        let nest = LoopNest::compute(&cfg);
        prop_assume!(nest.loops().all(|of| nest.is_natural(of)));
        let deepest = nest.loops().map(|of| nest.loop_depth(of)).max().unwrap_or(0);
        let mut sets = dense(&func).general.sets;
        for place in 0..cfg.blocks().len() {
            [Which::LiveIn, Which::LiveOut].into_iter().for_each(|which| sets.get_mut(which, place).fill(0));
        }
        let sweeps = sets.solve(&cfg);
        prop_assert!(sweeps <= deepest + 2, "{} sweeps at depth {}", sweeps, deepest);
    }
}

#[test]
fn uniform_registers_have_sets_where_they_live_across_blocks() {
    let text = "device @f {\nbb0:\n  %ur1 = mov.b32 1\n  %r2 = mov.b32 %ur1\n  bra bb1\nbb1:\n  \
                st.global.b32 [8], %r2\n  ret\n}\n";
    let func = parse_function(text).expect("the text is a function");
    assert!(dense(&func).uniform().is_none());
    let func = parse_function(&text.replace("[8], %r2", "[8], %ur1")).expect("the text is a function");
    let liveness = dense(&func);
    let uniform = liveness.uniform().expect("one lives into bb1");
    assert_eq!((uniform.members().len(), liveness.general().members().len()), (1, 0));
    assert!(liveness.live_in(func.layout()[1], Reg::from_u32(1)));
    assert!(!liveness.live_in(func.layout()[0], Reg::from_u32(1)));
}

#[test]
fn what_is_not_wanted_is_in_no_set() {
    let text = "device @f {\nbb0:\n  bra bb1\nbb1:\n  st.global.b32 [%r1], %r2\n  ret\n}\n";
    let func = parse_function(text).expect("the text is a function");
    let liveness = DenseLiveness::solve(&func, &Cfg::new(&func), Variant::Plain, |reg| reg.index() == 2);
    assert_eq!(liveness.general().members(), [Reg::from_u32(2)]);
    assert!(!liveness.live_in(func.layout()[1], Reg::from_u32(1)));
    assert!(liveness.live_in(func.layout()[0], Reg::from_u32(2)));
}

/// `%r1` is defined on one way into the loop with two entries, `%r2` behind it alone.
#[test]
fn the_dominator_respecting_variant_leaves_out_what_nothing_defines() {
    let text = "device @f {\nbb0:\n  cbra %p9, bb1, bb2\nbb1:\n  %r1 = mov.b32 1\n  cbra %p9, bb2, bb3\nbb2:\n  \
                st.global.b32 [%r1], %r2\n  cbra %p9, bb1, bb3\nbb3:\n  %r2 = mov.b32 1\n  ret\n}\n";
    let func = parse_function(text).expect("the text is a function");
    let cfg = Cfg::new(&func);
    let liveness = DenseLiveness::solve(&func, &cfg, Variant::Reached, |_| true);
    let [entry, one, two, _] = func.layout()[..] else { panic!("four blocks") };
    let [r1, r2] = [1, 2].map(Reg::from_u32);
    assert!(dense(&func).live_in(entry, r1) && dense(&func).live_in(entry, r2));
    assert!(!liveness.live_in(entry, r1) && liveness.live_in(two, r1) && liveness.live_out(one, r1));
    assert!(func.layout().iter().all(|block| !liveness.live_in(*block, r2)));
}
