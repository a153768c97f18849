//! Small functions with the uniformity of each value worked out by hand, and large ones that must be quick.

use super::Uniformity::{Cta, Launch, Varying, Warp};
use super::*;
use oriole_ir::ops::{SpecialReg, Type};
use oriole_ir::{FunctionKind, InstBuilder, RegInfo, parse_module};

struct Solved {
    cfg: Cfg,
    nest: LoopNest,
    divergence: Divergence,
}

fn solve(func: &Function) -> Solved {
    let cfg = Cfg::new(func);
    let (dominators, post, nest) = (Dominators::new(&cfg), PostDominators::compute(&cfg), LoopNest::compute(&cfg));
    let divergence = Divergence::compute(func, &cfg, &dominators, &post, &nest);
    Solved { cfg, nest, divergence }
}

/// An entry with a parameter `$n` of four bytes and one `$p` of eight; `%r0` is `tid.x`, `%p20` whether it is below 5,
/// `%r1` is `$n`, and `%p21` whether that is.
fn entry(body: &str) -> Solved {
    let text = format!(
        "target sm_90 ptx 9.0\nentry @k ssa {{\n  param $n: u32 param align 4\n  param $p: u64 param align 8\nbb0:\n  \
         %r0 = s2r.b32 sr.tid.x\n  %p20 = setp.lt.u32 %r0, 5\n  %r1 = ld.param.u32 [$n]\n  %p21 = setp.lt.u32 %r1, 5\n{body}}}\n"
    );
    let module = parse_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let func = module.functions.values().next().expect("there is one");
    if let Err(violations) = oriole_ir::verify::verify_function(func, Some(&module)) {
        panic!("{}\n{text}", violations[0]);
    }
    solve(func)
}

impl Solved {
    fn of<const N: usize>(&self, regs: [u32; N]) -> [Uniformity; N] {
        regs.map(|reg| self.divergence.of(Reg::from_u32(reg)))
    }

    fn at(&self, reg: u32, block: u32) -> Uniformity {
        self.divergence.at(&self.cfg, &self.nest, Reg::from_u32(reg), Block::from_u32(block))
    }
}

#[test]
fn operands_and_sources_decide() {
    let solved = entry(
        "  %r2 = s2r.b32 sr.ctaid.x\n  %r3 = iadd.u32 %r1, %r2\n  %r4 = iadd.u32 %r3, %r0\n  %d5 = ld.param.b64 [$p]\n  \
         %r6 = ld.global.u32 [%d5]\n  %r7 = ld.u32 [%d5]\n  %r8 = ld.volatile.global.u32 [%d5]\n  \
         %r9 = ld.global.nc.u32 [%d5]\n  %d10 = cs2r.b64 sr.clock64\n  %p11 = vote.sync.any.pred %p20, 4294967295\n  \
         %r12 = atom.global.add.u32 [%d5], 1\n  @%p20 %r13 = mov.b32 1 else 1\n  ret\n",
    );
    assert_eq!(solved.of([0, 1, 2, 3, 4]), [Varying, Launch, Cta, Cta, Varying]);
    assert_eq!(solved.of([5, 6, 7, 8, 9]), [Launch, Warp, Varying, Varying, Launch]);
    assert_eq!(solved.of([10, 11, 12, 13]), [Varying, Warp, Varying, Varying]);
}

/// The same diamond, decided by the thread's number and by a parameter; a value that is the same on both ways stays.
#[test]
fn a_join_behind_a_divergent_branch_varies() {
    let diamond = |pred: &str| {
        entry(&format!(
            "  cbra {pred}, bb1, bb2\nbb1:\n  bra bb3\nbb2:\n  bra bb3\nbb3:\n  %r2 = phi [bb1: 1], [bb2: 2]\n  \
             %r3 = phi [bb1: %r1], [bb2: %r1]\n  ret\n"
        ))
    };
    assert_eq!(diamond("%p20").of([2, 3]), [Varying, Launch]);
    assert_eq!(diamond("%p21").of([2, 3]), [Launch, Launch]);
    assert_eq!(diamond("%p20").divergence.branch(Block::from_u32(0)), Varying);
}

/// `if (tid < 5) { x = n < 5 ? 1 : 2; use(x) }`: all lanes that get to the inner join come the same way.
#[test]
fn a_uniform_diamond_under_a_divergent_branch_stays_uniform() {
    let solved = entry(
        "  cbra %p20, bb1, bb5\nbb1:\n  cbra %p21, bb2, bb3\nbb2:\n  bra bb4\nbb3:\n  bra bb4\nbb4:\n  \
         %r2 = phi [bb2: 1], [bb3: 2]\n  bra bb5\nbb5:\n  %r3 = phi [bb0: 1], [bb4: %r2]\n  ret\n",
    );
    assert_eq!(solved.of([2, 3]), [Launch, Varying]);
}

/// `i` counts in a loop that threads leave when `i` is their number: the same inside, not outside.
#[test]
fn what_a_loop_defines_varies_behind_a_divergent_exit() {
    let loops = |bound: &str| {
        entry(&format!(
            "  bra bb1\nbb1:\n  %r2 = phi [bb0: 0], [bb1: %r3]\n  %r3 = iadd.u32 %r2, 1\n  \
             %p4 = setp.lt.u32 %r3, {bound}\n  cbra %p4, bb1, bb2\nbb2:\n  %r6 = phi [bb1: %r3]\n  \
             %r5 = iadd.u32 %r3, %r1\n  ret\n"
        ))
    };
    let divergent = loops("%r0");
    assert_eq!(divergent.of([2, 3, 4, 5, 6]), [Launch, Launch, Varying, Varying, Varying]);
    assert_eq!((divergent.at(3, 1), divergent.at(3, 2)), (Launch, Varying));
    let uniform = loops("%r1");
    assert_eq!(uniform.of([2, 3, 4, 5, 6]), [Launch; 5]);
}

/// Threads that continue early at bb2 are an iteration ahead of the others when they come to bb3.
#[test]
fn threads_that_go_round_once_more_differ_where_others_wait() {
    let solved = entry(
        "  bra bb1\nbb1:\n  %r2 = phi [bb0: 0], [bb2: %r3], [bb3: %r3]\n  %r3 = iadd.u32 %r2, 1\n  \
         %p4 = setp.lt.u32 %r3, %r1\n  cbra %p4, bb2, bb3\nbb2:\n  cbra %p20, bb1, bb3\nbb3:\n  \
         %r5 = iadd.u32 %r3, 1\n  cbra %p21, bb1, bb4\nbb4:\n  ret\n",
    );
    assert_eq!(solved.of([5]), [Varying]);
}

/// Both ways of the divergent branch can leave the loop, so threads are not together again at bb5 and what they read
/// there may come from different iterations.
#[test]
fn threads_that_are_apart_read_different_things() {
    let text = |pred: &str| {
        format!(
            "  %d9 = ld.param.b64 [$p]\n  bra bb1\nbb1:\n  %r2 = phi [bb0: 0], [bb5: %r3]\n  cbra {pred}, bb2, bb3\nbb2:\n  \
             cbra %p21, bb5, bb6\nbb3:\n  cbra %p21, bb5, bb7\nbb5:\n  %r3 = iadd.u32 %r2, 1\n  \
             %r4 = ld.global.u32 [%d9]\n  bra bb1\nbb6:\n  bra bb8\nbb7:\n  bra bb8\nbb8:\n  ret\n"
        )
    };
    assert_eq!(entry(&text("%p20")).of([2, 3, 4]), [Varying, Varying, Varying]);
    assert_eq!(entry(&text("%p21")).of([2, 3, 4]), [Launch, Launch, Warp]);
}

/// All lanes give one address, and each gets other elements.
#[test]
fn parts_of_a_matrix_vary() {
    let solved = entry(
        "  %r2 = shl.b32 %r1, 4\n  %r3 = ldmatrix.sync.m8n8.x1.shared.b16 [%r2]\n  \
         %r4, %r5 = wmma.load.c.sync.row.m8n8k32.shared.s32 [%r2], 8\n  %r6 = ld.shared.b32 [%r2]\n  ret\n",
    );
    assert_eq!(solved.of([2, 3, 4, 5, 6]), [Launch, Varying, Varying, Varying, Warp]);
}

#[test]
fn registers_outside_ssa_form_vary() {
    let func = oriole_ir::parse_function("device @f {\nbb0:\n  %r1 = mov.b32 1\n  ret\n}\n").expect("a function");
    assert_eq!(solve(&func).divergence.of(Reg::from_u32(1)), Varying);
}

/// So many nested branches, decided by the thread's number: block `n` leads to `n + 1` and to its own join.
fn nested(depth: usize) -> Function {
    let mut func = Function::new("nested", FunctionKind::Entry);
    func.form = Form::Ssa;
    let blocks: Vec<Block> = (0..2 * depth + 1).map(|_| func.new_block()).collect();
    let tid = InstBuilder::new(Opcode::S2r).field(Type::B32).src(Operand::Special(SpecialReg::TidX));
    let tid = tid.append_value(&mut func, blocks[0], RegInfo::words(1));
    let test = InstBuilder::new(Opcode::SetP).field(Type::U32).src(tid).src(Operand::imm(5));
    let test = test.append_value(&mut func, blocks[0], RegInfo::PRED);
    for level in 0..depth {
        let (join, inner) = (blocks[2 * depth - level], blocks[level + 1]);
        InstBuilder::new(Opcode::CBra).src(test).src(inner).src(join).append(&mut func, blocks[level]);
        let before = blocks[2 * depth - level - 1];
        InstBuilder::new(Opcode::Bra).src(join).append(&mut func, before);
    }
    InstBuilder::new(Opcode::Ret).append(&mut func, blocks[2 * depth]);
    func
}

/// A loop that threads leave at any of so many places.
fn exits(count: usize) -> Function {
    let mut func = nested(1);
    let test = Reg::from_u32(1);
    let first = func.layout()[0];
    let blocks: Vec<Block> = (0..count).map(|_| func.new_block()).collect();
    let end = func.new_block();
    InstBuilder::new(Opcode::Ret).append(&mut func, end);
    let branch = func.terminator(first).expect("a block ends");
    InstBuilder::new(Opcode::Bra).src(blocks[0]).replace(&mut func, branch);
    for (at, block) in blocks.iter().enumerate() {
        let next = blocks[(at + 1) % count];
        InstBuilder::new(Opcode::CBra).src(test).src(end).src(next).append(&mut func, *block);
    }
    func
}

#[test]
fn deep_nests_and_loops_with_many_exits_are_quick() {
    for func in [nested(50_000), exits(50_000)] {
        let solved = solve(&func);
        let varying = func.layout().iter().filter(|block| solved.divergence.branch(**block) == Varying);
        assert_eq!(varying.count(), 50_000);
    }
}

/// A loop in which some lanes take `bb2` in a round and the others do not, with a collective in one of its blocks.
fn loop_with(pred: &str, in_arm: &str, behind: &str) -> Solved {
    entry(&format!(
        "  bra bb1\nbb1:\n  %r2 = phi [bb0: 0], [bb3: %r3]\n  cbra {pred}, bb2, bb3\nbb2:\n{in_arm}  bra bb3\nbb3:\n\
         {behind}  %r3 = iadd.u32 %r2, 1\n  %p6 = setp.lt.u32 %r3, %r1\n  cbra %p6, bb1, bb4\nbb4:\n  ret\n"
    ))
}

/// Lanes that take the arm in one round wait there for those that take it in another one.
#[test]
fn lanes_meet_at_a_collective_in_different_rounds() {
    let vote = "  %r5 = vote.sync.ballot.b32 %p20, 4294967295\n";
    assert_eq!(loop_with("%p20", vote, "").of([2, 3, 5]), [Varying; 3]);
    assert_eq!(loop_with("%p20", vote, "").at(3, 4), Varying);
    assert_eq!(loop_with("%p21", vote, "").of([2, 3, 5]), [Launch, Launch, Warp]);
    assert_eq!(loop_with("%p20", "", vote).of([2, 3, 5]), [Launch, Launch, Warp]);
    let barrier = "  bar.sync 0, 32\n  %r5 = mov.b32 %r2\n";
    assert_eq!(loop_with("%p20", barrier, "").of([2, 3, 5]), [Varying; 3]);
    let nothing = "  %r5 = mov.b32 %r2\n";
    assert_eq!(loop_with("%p20", nothing, "").of([2, 3, 5]), [Launch; 3]);
}

/// The branch is in front of the loop: some lanes wait in bb1 at once, the others come there from bb2.
#[test]
fn lanes_meet_at_a_collective_where_a_loop_is_entered() {
    let solved = |pred: &str| {
        entry(&format!(
            "  cbra {pred}, bb1, bb2\nbb1:\n  %r2 = phi [bb0: 5], [bb2: %r1]\n  %r3 = iadd.u32 %r2, 1\n  \
             bar.warp.sync 4294967295\n  bra bb2\nbb2:\n  cbra %p21, bb1, bb3\nbb3:\n  ret\n"
        ))
    };
    assert_eq!(solved("%p20").of([2, 3]), [Varying, Varying]);
    assert_eq!(solved("%p21").of([2, 3]), [Launch, Launch]);
}
