//! The forms compute the same: a small evaluator runs a function before and after.

use std::collections::{HashMap, HashSet};

use super::{construct, destruct};
use crate::analysis::testing::random_function;
use crate::analysis::{Cfg, Dominators};
use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Form, Function, Inst, Operand, Reg, parse_function};
use proptest::prelude::*;

/// A value by words; a predicate has one. `None` is undefined.
type Value = Vec<Option<u32>>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Returned,
    /// Control depends on an undefined value.
    Undefined,
    OutOfSteps,
}

struct Machine<'a> {
    func: &'a Function,
    paths: Paths,
    regs: HashMap<Reg, Value>,
    stored: Vec<Option<u32>>,
}

/// How branches are decided: by their operands, or at random from a seed, whatever the operands say. Neither form
/// changes where a branch can go, so that random paths must agree too, and they reach much more.
#[derive(Clone, Copy)]
enum Paths {
    ByValue,
    AtRandom(u32),
}

/// What the function stores, in order, and how it ends.
fn run(func: &Function, mut steps: usize, paths: Paths) -> (Vec<Option<u32>>, End) {
    let mut machine = Machine { func, paths, regs: HashMap::new(), stored: Vec::new() };
    let (mut from, mut block) = (None, func.entry());
    loop {
        machine.enter(from, block);
        for inst in func.block_insts(block) {
            steps = steps.saturating_sub(1);
            if steps == 0 {
                return (machine.stored, End::OutOfSteps);
            }
            match machine.step(inst) {
                Step::Next => {}
                Step::Goto(next) => (from, block) = (Some(block), next),
                Step::End(end) => return (machine.stored, end),
            }
        }
    }
}

enum Step {
    Next,
    Goto(Block),
    End(End),
}

impl Machine<'_> {
    /// Reads all phis of a block, then writes them.
    fn enter(&mut self, from: Option<Block>, block: Block) {
        let mut values = Vec::new();
        for inst in self.func.block_insts(block) {
            if self.func.inst(inst).opcode == Opcode::Phi {
                let dst = self.func.defs(inst).next().unwrap();
                let pairs = self.func.srcs(inst).chunks(2);
                let source = pairs.filter(|pair| pair[1].block() == from).map(|pair| pair[0]).next().unwrap();
                values.push((dst, self.read(source, self.func.regs()[dst].words as usize)));
            }
        }
        self.regs.extend(values);
    }

    fn read(&self, operand: Operand, words: usize) -> Value {
        let reg = |reg: Reg| {
            let undefined = vec![None; self.func.regs()[reg].words as usize];
            self.regs.get(&reg).cloned().unwrap_or(undefined)
        };
        match operand {
            Operand::Reg(r) => reg(r),
            Operand::Word(r, word) => vec![reg(r)[word as usize]],
            Operand::Imm(imm) => (0..words).map(|w| Some((self.func.bits(imm) >> (32 * w)) as u32)).collect(),
            Operand::Undef => vec![None; words],
            other => panic!("{other:?} is not evaluated here"),
        }
    }

    fn word(&self, operand: Operand) -> Option<u32> {
        self.read(operand, 1)[0]
    }

    fn step(&mut self, inst: Inst) -> Step {
        let func = self.func;
        let (dsts, srcs) = (func.dsts(inst), func.srcs(inst));
        if let Some(guard) = func.inst(inst).guard {
            let Some(value) = self.word(Operand::Reg(guard.reg())) else { return Step::End(End::Undefined) };
            if (value != 0) == guard.negated() {
                let values: Vec<Value> = func.elses(inst).iter().map(|e| self.read(*e, 2)).collect();
                assert!(func.form != Form::Ssa || values.len() == dsts.len());
                self.write(dsts, values);
                return Step::Next;
            }
        }
        let results = match func.inst(inst).opcode {
            Opcode::Phi => return Step::Next,
            Opcode::Mov => vec![self.read(srcs[0], 2)],
            Opcode::Pack => vec![srcs.iter().map(|s| self.word(*s)).collect()],
            Opcode::IAdd => {
                let sum = self.word(srcs[0]).zip(self.word(srcs[1])).map(|(a, b)| a.wrapping_add(b));
                vec![vec![sum]]
            }
            Opcode::IAddCarry => {
                let parts = self.word(srcs[0]).zip(self.word(srcs[1])).zip(self.word(srcs[2]));
                let sum = parts.map(|((a, b), c)| u64::from(a) + u64::from(b) + u64::from(c));
                vec![vec![sum.map(|s| s as u32)], vec![sum.map(|s| (s >> 32) as u32)]]
            }
            Opcode::SetP => {
                let less = self.word(srcs[0]).zip(self.word(srcs[1])).map(|(a, b)| u32::from(a < b));
                vec![vec![less]]
            }
            Opcode::St => {
                self.stored.push(self.word(srcs[2]));
                return Step::Next;
            }
            Opcode::Ret => return Step::End(End::Returned),
            Opcode::Bra => return goto(Some(srcs[0])),
            Opcode::CBra | Opcode::Brx => return self.branch(inst),
            other => panic!("{other:?} is not evaluated here"),
        };
        self.write(dsts, results);
        Step::Next
    }

    /// Only a branch with a choice takes a random number: the others can become jumps.
    fn branch(&mut self, inst: Inst) -> Step {
        let (selector, targets) = self.func.srcs(inst).split_first().unwrap();
        if let Paths::AtRandom(seed) = &mut self.paths {
            let choice = targets.iter().any(|target| *target != targets[0]);
            let place = if choice { next_random(seed) as usize % targets.len() } else { 0 };
            return goto(Some(targets[place]));
        }
        let value = self.word(*selector);
        let indexed = self.func.inst(inst).opcode == Opcode::Brx;
        let place = value.map(|value| if indexed { value as usize } else { usize::from(value == 0) });
        goto(place.and_then(|place| targets.get(place).copied()))
    }

    fn write(&mut self, dsts: &[Operand], values: Vec<Value>) {
        for (dst, mut value) in dsts.iter().zip(values) {
            let reg = dst.whole_reg().unwrap();
            value.truncate(self.func.regs()[reg].words as usize);
            self.regs.insert(reg, value);
        }
    }
}

fn goto(target: Option<Operand>) -> Step {
    target.and_then(Operand::block).map_or(Step::End(End::Undefined), Step::Goto)
}

/// Checks that `after` does what `before` does, where that is defined.
fn assert_refines(before: &Function, after: &Function) {
    assert_refines_on(before, after, Paths::ByValue);
    (1..6).for_each(|seed| assert_refines_on(before, after, Paths::AtRandom(seed)));
}

fn assert_refines_on(before: &Function, after: &Function, paths: Paths) {
    let (expected, end) = run(before, 200, paths);
    let (found, found_end) = run(after, 4000, paths);
    let text = || oriole_ir::function_to_string(after, None);
    assert!(found.len() >= expected.len(), "{found:?} stops before {expected:?}\n{}", text());
    for (old, new) in expected.iter().zip(&found) {
        assert!(old.is_none() || old == new, "{expected:?} became {found:?}\n{}", text());
    }
    if end == End::Returned {
        assert_eq!((found_end, found.len()), (end, expected.len()), "{}", text());
    }
}

/// Checks the properties of SSA form that the forms' names promise.
fn assert_ssa(func: &Function) {
    let cfg = Cfg::new(func);
    let dominators = Dominators::new(&cfg);
    let mut home: HashMap<Reg, (Block, usize)> = HashMap::new();
    for block in func.layout() {
        for (place, inst) in func.block_insts(*block).enumerate() {
            for reg in func.defs(inst) {
                assert!(home.insert(reg, (*block, place)).is_none(), "{reg} is defined twice");
            }
        }
    }
    let reaches = |reg: Reg, block: Block, place: usize| {
        let (at, order) = home[&reg];
        if at == block { order < place } else { dominators.dominates(&cfg, at, block) }
    };
    for block in func.layout() {
        for (place, inst) in func.block_insts(*block).enumerate() {
            if func.inst(inst).opcode == Opcode::Phi {
                let sources = func.srcs(inst).chunks(2).map(|pair| (pair[0], pair[1].block().unwrap()));
                let named: Vec<Block> = sources.clone().map(|(_, from)| from).collect();
                assert_eq!(named, cfg.predecessors(*block));
                assert!(sources.clone().all(|(v, from)| v.reg().is_none_or(|reg| reaches(reg, from, usize::MAX))));
            } else {
                assert!(func.uses(inst).all(|reg| reaches(reg, *block, place)));
            }
        }
    }
}

fn assert_virtual(func: &Function) {
    assert_eq!(func.form, Form::Virtual);
    for inst in func.layout_insts() {
        assert_ne!(func.inst(inst).opcode, Opcode::Phi);
        assert!(func.elses(inst).is_empty());
    }
}

/// Both forms of a function, checked and evaluated.
fn through(text: &str) -> (Function, Function) {
    let source = parse_function(text).unwrap_or_else(|e| panic!("{e}"));
    let mut ssa = source.clone();
    construct(&mut ssa);
    assert_ssa(&ssa);
    assert_refines(&source, &ssa);
    let mut back = ssa.clone();
    destruct(&mut back);
    assert_virtual(&back);
    assert_refines(&ssa, &back);
    (ssa, back)
}

fn opcodes(func: &Function, opcode: Opcode) -> usize {
    let insts = func.layout_insts();
    insts.filter(|inst| func.inst(*inst).opcode == opcode).count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn random_functions_keep_their_behaviour(words in prop::collection::vec(any::<u32>(), 4..400)) {
        let source = random_function(&words);
        let mut ssa = source.clone();
        construct(&mut ssa);
        assert_ssa(&ssa);
        assert_refines(&source, &ssa);
        let mut back = ssa.clone();
        destruct(&mut back);
        assert_virtual(&back);
        assert_refines(&ssa, &back);
        construct(&mut back);
        assert_ssa(&back);
        assert_refines(&source, &back);
    }
}

/// Random functions that only stopped at once would test nothing.
#[test]
fn random_functions_do_something() {
    let mut ends = HashSet::new();
    let mut stores = 0;
    for seed in 0..2000u32 {
        let words: Vec<u32> = (0..200).scan(seed, |x, _| Some(next_random(x))).collect();
        let (stored, end) = run(&random_function(&words), 300, Paths::ByValue);
        ends.insert(format!("{end:?}"));
        stores += usize::from(stored.iter().flatten().count() > 1);
    }
    assert_eq!(ends.len(), 3);
    assert!(stores > 100, "{stores} of 2000 store two defined values");
}

fn next_random(state: &mut u32) -> u32 {
    *state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
    ((*state >> ((*state >> 28) + 4)) ^ *state).wrapping_mul(277_803_737) >> 7
}

const SWAP: &str = "\
device @swap {
bb0:
  %r1 = mov.b32 1
  %r2 = mov.b32 2
  %r3 = mov.b32 0
  bra bb1
bb1:
  %r4 = mov.b32 %r1
  %r1 = mov.b32 %r2
  %r2 = mov.b32 %r4
  st.global.b32 [8], %r1
  %r3 = iadd.u32 %r3, 1
  %p5 = setp.lt.u32 %r3, 5
  cbra %p5, bb1, bb2
bb2:
  st.global.b32 [8], %r2
  ret
}
";

/// With the copies inside the loop propagated, the phis of the loop read each other.
#[test]
fn swapped_phis_take_a_saved_register() {
    through(SWAP);
    let text = SWAP.replace("@swap {", "@swap ssa {").replace(
        "  %r4 = mov.b32 %r1\n  %r1 = mov.b32 %r2\n  %r2 = mov.b32 %r4\n  st.global.b32 [8], %r1\n  %r3 = iadd.u32 %r3, 1\n  %p5 = setp.lt.u32 %r3, 5\n",
        "  %r6 = phi [bb0: %r1], [bb1: %r7]\n  %r7 = phi [bb0: %r2], [bb1: %r6]\n  %r8 = phi [bb0: %r3], [bb1: %r9]\n  st.global.b32 [8], %r7\n  %r9 = iadd.u32 %r8, 1\n  %p5 = setp.lt.u32 %r9, 5\n",
    ).replace("[8], %r2", "[8], %r6");
    let source = parse_function(&text).unwrap();
    assert_eq!(
        run(&source, 300, Paths::ByValue),
        (vec![Some(2), Some(1), Some(2), Some(1), Some(2), Some(1)], End::Returned)
    );
    let mut back = source.clone();
    destruct(&mut back);
    assert_virtual(&back);
    assert_refines(&source, &back);
    assert_eq!(opcodes(&back, Opcode::Mov) - opcodes(&source, Opcode::Mov), 3, "none to enter, three to repeat");
}

#[test]
fn a_phi_that_lives_after_its_loop_is_not_lost() {
    let text = "\
device @lost ssa {
bb0:
  %r1 = mov.b32 7
  bra bb1
bb1:
  %r2 = phi [bb0: %r1], [bb1: %r3]
  %r3 = iadd.u32 %r2, 1
  %p4 = setp.lt.u32 %r3, 10
  cbra %p4, bb1, bb2
bb2:
  st.global.b32 [8], %r2
  ret
}
";
    let source = parse_function(text).unwrap();
    assert_ssa(&source);
    assert_eq!(run(&source, 100, Paths::ByValue), (vec![Some(9)], End::Returned));
    let mut back = source.clone();
    destruct(&mut back);
    assert_refines(&source, &back);
    assert_eq!(back.layout().len(), source.layout().len(), "the copy stands at the top of the loop");
}

#[test]
fn edges_of_index_branches_are_split_once() {
    let text = "\
device @index {
bb0:
  %r1 = mov.b32 2
  %r2 = mov.b32 5
  bra bb1
bb1:
  brx %r1, bb2, bb1, bb3, bb3
bb2:
  st.global.b32 [8], %r2
  ret
bb3:
  %r1 = iadd.u32 %r1, 4294967295
  %r2 = iadd.u32 %r2, %r1
  brx %r1, bb2, bb3, bb3
}
";
    let (ssa, back) = through(text);
    assert_eq!(opcodes(&ssa, Opcode::Phi), 3);
    assert_eq!(back.layout().len(), ssa.layout().len(), "nothing is left to copy");
    let text = "\
device @index ssa {
bb0:
  %r1 = mov.b32 2
  %r2 = mov.b32 5
  brx %r1, bb1, bb2, bb2
bb1:
  %r3 = phi [bb0: %r2], [bb2: %r4]
  st.global.b32 [8], %r3
  ret
bb2:
  %r4 = phi [bb0: %r1], [bb2: 7]
  %r5 = iadd.u32 %r4, 4294967295
  brx %r5, bb1, bb2, bb2
}
";
    let back = destructed(text);
    // %r1, %r3 and %r4 are one; each of the two branches has one edge with a copy, however often it names the target.
    assert_eq!(back.layout().len(), 5);
    assert_eq!(opcodes(&back, Opcode::Mov), 4);
}

/// The function out of SSA form, which does the same.
fn destructed(text: &str) -> Function {
    let source = parse_function(text).unwrap_or_else(|e| panic!("{e}"));
    assert_ssa(&source);
    let mut back = source.clone();
    destruct(&mut back);
    assert_virtual(&back);
    assert_refines(&source, &back);
    back
}

/// Loops keep their shape: what goes round them has one register, and the branch goes back to the header itself.
#[test]
fn a_loop_needs_no_copies() {
    let text = "\
device @loop ssa {
bb0:
  bra bb1
bb1:
  %r1 = phi [bb0: 0], [bb1: %r4]
  %r2 = phi [bb0: 7], [bb1: %r3]
  %r3 = iadd.u32 %r2, %r1
  %r4 = iadd.u32 %r1, 1
  %p5 = setp.lt.u32 %r4, 5
  cbra %p5, bb1, bb2
bb2:
  st.global.b32 [8], %r3
  ret
}
";
    let back = destructed(text);
    assert_eq!(back.layout().len(), 3);
    assert_eq!(opcodes(&back, Opcode::Mov), 2, "those that enter the loop");
}

/// A copy may precede a branch, with its target as it is, if nobody reads its destination on the other way.
#[test]
fn copies_before_a_branch_leave_the_loop_as_it_is() {
    let text = "\
device @before ssa {
bb0:
  bra bb1
bb1:
  %r1 = phi [bb0: 0], [bb1: 7]
  %r2 = phi [bb0: 0], [bb1: %r3]
  st.global.b32 [8], %r1
  %r3 = iadd.u32 %r2, 1
  %p4 = setp.lt.u32 %r3, 5
  cbra %p4, bb1, bb2
bb2:
  st.global.b32 [8], %r3
  ret
}
";
    assert_eq!(destructed(text).layout().len(), 3);
    let read_later = text.replace("bb2:\n  st.global.b32 [8], %r3", "bb2:\n  st.global.b32 [8], %r1");
    assert_eq!(destructed(&read_later).layout().len(), 4);
}

/// The old counter is read behind the loop: it is copied at the top of the loop, not on the way back.
#[test]
fn a_phi_whose_old_value_lives_on_leaves_its_loop_in_shape() {
    let text = "\
device @counted ssa {
bb0:
  bra bb1
bb1:
  %r1 = phi [bb0: 0], [bb1: %r2]
  %r2 = iadd.u32 %r1, 1
  %p3 = setp.lt.u32 %r2, 5
  cbra %p3, bb1, bb2
bb2:
  st.global.b32 [8], %r1
  ret
}
";
    let back = destructed(text);
    let copies: Vec<usize> = back.layout().iter().map(|block| moves_in(&back, *block)).collect();
    assert_eq!(copies, [1, 1, 0]);
    // Where a phi of the exit reads it, it lives on too.
    let through_phi = text.replace("bb2:\n", "bb2:\n  %r4 = phi [bb1: %r1]\n").replace("[8], %r1", "[8], %r4");
    assert_eq!(destructed(&through_phi).layout().len(), 3);
    // Where nothing reads it, one register does.
    let unread = destructed(&text.replace("[8], %r1", "[8], %r2"));
    assert_eq!(unread.layout().iter().map(|block| moves_in(&unread, *block)).collect::<Vec<_>>(), [1, 0, 0]);
}

/// Phis that take each other's old values, all of which live on, cost one copy each; in a circle two more.
#[test]
fn phis_that_rotate_cost_a_copy_each() {
    let text = "\
device @rotated ssa {
bb0:
  bra bb1
bb1:
  %r1 = phi [bb0: 1], [bb1: %r2]
  %r2 = phi [bb0: 2], [bb1: %r3]
  %r3 = phi [bb0: 3], [bb1: %r4]
  %r7 = iadd.u32 %r1, 1
  %r4 = iadd.u32 %r3, %r7
  %p5 = setp.lt.u32 %r4, 50
  cbra %p5, bb1, bb2
bb2:
  st.global.b32 [8], %r2
  st.global.b32 [12], %r3
  st.global.b32 [16], %r4
  ret
}
";
    let copies = |text: &str| {
        let back = destructed(text);
        back.layout().iter().map(|block| moves_in(&back, *block)).collect::<Vec<usize>>()
    };
    assert_eq!(copies(text), [3, 2, 0]);
    // What another way out of the loop leads to still reads the phi itself.
    let left_early = text.replace("%p5 = ", "%p6 = setp.gt.u32 %r3, 40\n  cbra %p6, bb3, bb4\nbb4:\n  %p5 = ");
    let left_early = left_early.replace("[bb1: %r", "[bb4: %r").replace("bb2:\n", "bb3:\n  bra bb2\nbb2:\n");
    assert_eq!(copies(&left_early).iter().sum::<usize>(), 7);
    let circle = text.replace("[bb1: %r4]", "[bb1: %r1]");
    assert_eq!(copies(&circle).iter().sum::<usize>(), 8);
}

proptest! {
    /// Loops whose phis take any of each other, of what is computed, or a number, with any of all that read behind.
    #[test]
    fn loops_that_carry_values_around_are_as_they_were(
        takes in prop::collection::vec(0usize..8, 1..5),
        read in prop::collection::vec(0usize..8, 1..4),
        (two_blocks, early) in (any::<bool>(), any::<bool>()),
    ) {
        let count = takes.len();
        let name = |at: usize| match at {
            at if at < count => format!("%r{}", 10 + at),
            at if at < 7 => format!("%r{}", 20 + at % 2),
            _ => "9".into(),
        };
        let latch = if two_blocks { "bb2" } else { "bb1" };
        let phis = (0..count).map(|at| {
            format!("  %r{} = phi [bb0: {at}], [{latch}: {}]\n", 10 + at, name(takes[at]))
        });
        let store = |(at, of): (usize, &usize)| format!("  st.global.b32 [{}], {}\n", 8 + 4 * at, name(*of));
        let reads = read.iter().enumerate().map(store);
        let middle = match (two_blocks, early) {
            (true, true) => "  %p31 = setp.gt.u32 %r20, 60\n  cbra %p31, bb3, bb2\nbb2:\n",
            (true, false) => "  bra bb2\nbb2:\n",
            (false, _) => "",
        };
        let text = format!(
            "device @carried ssa {{\nbb0:\n  bra bb1\nbb1:\n{}  %r30 = phi [bb0: 0], [{latch}: %r32]\n  \
             %r20 = iadd.u32 %r10, 5\n  %r21 = iadd.u32 %r30, {}\n{middle}  %r32 = iadd.u32 %r30, 1\n  \
             %p33 = setp.lt.u32 %r32, 6\n  cbra %p33, bb1, bb3\nbb3:\n{}  ret\n}}\n",
            phis.collect::<String>(), name(count - 1), reads.collect::<String>(),
        );
        destructed(&text);
    }
}

/// Two phis that begin with one value are not joined through it: each is one with what the loop makes for it.
#[test]
fn phis_that_begin_alike_stay_apart() {
    let text = "\
device @alike ssa {
bb0:
  %r0 = iadd.u32 1, 2
  bra bb1
bb1:
  %r1 = phi [bb0: %r0], [bb1: %r3]
  %r2 = phi [bb0: %r0], [bb1: %r4]
  %r3 = iadd.u32 %r1, 1
  %r4 = iadd.u32 %r2, %r3
  %p5 = setp.lt.u32 %r4, 5
  cbra %p5, bb1, bb2
bb2:
  st.global.b32 [8], %r3
  st.global.b32 [12], %r4
  ret
}
";
    let back = destructed(text);
    let copies: Vec<usize> = back.layout().iter().map(|block| moves_in(&back, *block)).collect();
    assert_eq!(copies, [1, 0, 0]);
}

/// How many copies a block holds.
fn moves_in(func: &Function, block: Block) -> usize {
    func.block_insts(block).filter(|inst| func.inst(*inst).opcode == Opcode::Mov).count()
}

/// A guarded definition and what it keeps are one register, unless that is read later.
#[test]
fn what_a_guarded_definition_keeps_stays_in_place() {
    let text = "\
device @kept ssa {
bb0:
  %r1 = iadd.u32 2, 1
  %p2 = setp.lt.u32 %r1, 5
  @%p2 %r3 = iadd.u32 %r1, 1 else %r1
  @!%p2 %r4 = iadd.u32 %r3, %r1 else %r3
  st.global.b32 [8], %r4
  ret
}
";
    let back = destructed(text);
    assert_eq!(opcodes(&back, Opcode::Mov), 1, "%r1 is read once more");
}

/// The copy of what a guarded definition keeps precedes its instruction, so it must not overwrite what that reads:
/// %r3 and %r5 are joined by the phi, %r4 is read later.
#[test]
fn a_guarded_definition_is_written_before_its_instruction_reads() {
    let text = "\
device @early ssa {
bb0:
  %r1 = iadd.u32 2, 1
  %p2 = setp.lt.u32 %r1, 9
  %r3 = iadd.u32 %r1, 4
  %r4 = iadd.u32 %r1, 5
  cbra %p2, bb1, bb2
bb1:
  @%p2 %r5 = iadd.u32 %r3, 1 else %r4
  bra bb2
bb2:
  %r6 = phi [bb0: %r3], [bb1: %r5]
  st.global.b32 [8], %r6
  st.global.b32 [12], %r4
  ret
}
";
    assert_eq!(opcodes(&destructed(text), Opcode::Mov), 2);
}

/// Of two definitions at one place neither can keep what the other one writes.
#[test]
fn definitions_at_one_place_stay_apart() {
    let text = "\
device @pair ssa {
bb0:
  %r1 = iadd.u32 2, 1
  %p2 = setp.lt.u32 %r1, 9
  %p3 = setp.lt.u32 %r1, 2
  @%p3 %r4, %p5 = iadd.carry.u32 %r1, 4294967295, %p2 else %r1, %p2
  @%p5 %r6, %p7 = iadd.carry.u32 %r4, %r1, %p5 else %r4, %p3
  st.global.b32 [8], %r6
  @%p7 st.global.b32 [12], %r4
  ret
}
";
    let back = destructed(text);
    assert_eq!(opcodes(&back, Opcode::Mov), 2, "%r1 and %r4 are read later");
}

/// Copies of one value may live together in one register; copies of what changes later may not.
#[test]
fn copies_of_a_value_are_the_value() {
    let text = "\
device @copies ssa {
bb0:
  %r1 = iadd.u32 2, 1
  %r2 = mov.b32 %r1
  %r3 = mov.b32 %r2
  st.global.b32 [8], %r1
  st.global.b32 [8], %r2
  st.global.b32 [8], %r3
  ret
}
";
    assert_eq!(opcodes(&destructed(text), Opcode::Mov), 0);
}

/// The condition of a branch to one block is itself a phi that the copies before it overwrite.
#[test]
fn a_branch_to_one_block_reads_nothing() {
    let text = "\
device @same ssa {
bb0:
  %r1 = mov.b32 0
  bra bb1
bb1:
  %r2 = phi [bb0: %r1], [bb2: %r3]
  %r3 = iadd.u32 %r2, 1
  %p4 = setp.lt.u32 %r2, 3
  cbra %p4, bb2, bb3
bb2:
  brx %r1, bb1, bb1
bb3:
  st.global.b32 [8], %r2
  ret
}
";
    let source = parse_function(text).unwrap();
    let mut back = source.clone();
    destruct(&mut back);
    assert_eq!(run(&back, 300, Paths::ByValue), (vec![Some(3)], End::Returned));
    assert_eq!(opcodes(&back, Opcode::Brx), 0);
}

/// What led through blocks that got no copies leads on, but a branch keeps its choice.
#[test]
fn blocks_without_copies_are_left_out() {
    let ways = |inst: &str| {
        format!(
            "device @ways ssa {{\nbb0:\n  %r1 = mov.b32 3\n  %p2 = setp.lt.u32 %r1, 2\n  cbra %p2, bb1, bb2\n\
             bb1:\n  bra bb3\nbb2:\n{inst}  bra bb4\nbb4:\n  bra bb3\nbb3:\n  \
             %r3 = phi [bb1: %r1], [bb4: %r1]\n  st.global.b32 [8], %r3\n  ret\n}}\n"
        )
    };
    assert_eq!(destructed(&ways("  st.global.b32 [4], %r1\n")).layout().len(), 3);
    let nothing = destructed(&ways(""));
    assert_eq!((nothing.layout().len(), opcodes(&nothing, Opcode::CBra)), (3, 1));
}

/// A guarded loop begins with what stands for its result where it is left out, so its counter is copied once.
#[test]
fn copies_in_front_of_a_branch_are_not_repeated_behind_it() {
    let guarded = |first: &str| {
        format!(
            "device @guarded ssa {{\nbb0:\n  %r1 = mov.b32 3\n  %p2 = setp.lt.u32 %r1, 2\n  \
             cbra %p2, bb3, bb1\nbb1:\n  bra bb2\nbb2:\n  %r3 = phi [bb1: {first}], [bb2: %r4]\n  \
             %r4 = iadd.u32 %r3, 1\n  %p5 = setp.lt.u32 %r4, 5\n  cbra %p5, bb2, bb4\nbb4:\n  bra bb3\nbb3:\n  \
             %r6 = phi [bb0: 0], [bb4: %r4]\n  st.global.b32 [8], %r6\n  ret\n}}\n"
        )
    };
    let zeros = |first: &str| {
        let func = destructed(&guarded(first));
        let is_zero = |inst: &Inst| func.srcs(*inst).first().is_some_and(|src| func.imm_bits(*src) == Some(0));
        func.layout_insts().filter(|inst| func.inst(*inst).opcode == Opcode::Mov).filter(is_zero).count()
    };
    assert_eq!(zeros("0"), 1);
    assert_eq!(opcodes(&destructed(&guarded("1")), Opcode::Mov), 3, "it begins with something else");
}

/// A copy is no repetition where either side was written in between, or where the other one is on another way.
#[test]
fn copies_are_repeated_only_while_both_sides_stay() {
    let copies = |between: &str| {
        let text = format!(
            "device @copies {{\nbb0:\n  %r1 = mov.b32 %r2\n{between}  %r1 = mov.b32 %r2\n  \
             st.global.b32 [8], %r1\n  ret\n}}\n"
        );
        let mut func = parse_function(&text).unwrap_or_else(|e| panic!("{e} in\n{text}"));
        let cfg = Cfg::new(&func);
        super::repeated::leave_out_repeated(&mut func, &cfg);
        opcodes(&func, Opcode::Mov)
    };
    assert_eq!(copies("  %r3 = iadd.u32 %r2, 1\n"), 1);
    assert_eq!(copies("  %r2 = iadd.u32 %r2, 1\n"), 2);
    assert_eq!(copies("  %r1 = iadd.u32 %r2, 1\n"), 2);
    assert_eq!(copies("  cbra %p4, bb1, bb2\nbb1:\n  bra bb2\nbb2:\n"), 2);
    assert_eq!(copies("  bra bb1\nbb1:\n"), 1);
}

/// A product of a warpgroup begins with many zeros, where its loop is entered and where it is left out.
#[test]
fn many_copies_are_not_repeated_and_few_are_known_further_down() {
    let repeated = |copies: u32, blocks: u32| {
        let zeros: String = (1..=copies).map(|reg| format!("  %r{reg} = mov.b32 0\n")).collect();
        let between: String = (1..blocks).map(|block| format!("bb{block}:\n  bra bb{}\n", block + 1)).collect();
        let text = format!("device @zeros {{\nbb0:\n{zeros}  bra bb1\n{between}bb{blocks}:\n{zeros}  ret\n}}\n");
        let mut func = parse_function(&text).unwrap_or_else(|e| panic!("{e} in\n{text}"));
        let cfg = Cfg::new(&func);
        super::repeated::leave_out_repeated(&mut func, &cfg);
        opcodes(&func, Opcode::Mov) as u32 - copies
    };
    assert_eq!([repeated(40, 1), repeated(256, 1), repeated(300, 1)], [0, 0, 44]);
    assert_eq!([repeated(16, 3), repeated(40, 3)], [0, 24]);
}

/// An empty latch goes, unless ways around the loop meet in it.
#[test]
fn latches_in_which_ways_meet_stay() {
    let loops = |second: &str| {
        format!(
            "device @latch ssa {{\nbb0:\n  bra bb1\nbb1:\n  %r1 = phi [bb0: 0], [bb4: %r2]\n  \
             %r2 = iadd.u32 %r1, 1\n  %p3 = setp.lt.u32 %r2, 5\n  cbra %p3, bb2, bb5\nbb2:\n  \
             %p4 = setp.lt.u32 %r2, 3\n  cbra %p4, bb3, {second}\nbb3:\n  st.global.b32 [8], %r2\n  bra bb4\n\
             bb4:\n  bra bb1\nbb5:\n  st.global.b32 [8], %r2\n  ret\n}}\n"
        )
    };
    assert_eq!(destructed(&loops("bb4")).layout().len(), 6);
    assert_eq!(destructed(&loops("bb5")).layout().len(), 5);
}

#[test]
fn guarded_definitions_get_what_reached_them() {
    let text = "\
device @guarded {
bb0:
  %r1 = mov.b32 3
  %p2 = setp.lt.u32 %r1, 2
  @%p2 %r1 = mov.b32 9
  @!%p2 %r1, %p2 = iadd.carry.u32 %r1, 4294967295, %p2
  st.global.b32 [8], %r1
  @%p2 %r3 = mov.b32 %r1
  st.global.b32 [8], %r3
  @%p4 %r3 = mov.b32 5
  ret
}
";
    let (ssa, _) = through(text);
    let printed = oriole_ir::function_to_string(&ssa, None);
    assert!(printed.contains("@%p2 %r5 = mov.b32 9 else %r1"), "{printed}");
    assert!(printed.contains("else %r5, %p2"), "{printed}");
    assert!(printed.contains("%r3 = mov.b32 %r6 else undef"), "{printed}");
    let first = ssa.inst_at(ssa.entry(), 0);
    assert!(oriole_ir::inst_to_string(&ssa, first, None).ends_with("mov.pred undef"), "{printed}");
}

#[test]
fn wide_registers_and_words_are_renamed() {
    let text = "\
device @wide {
bb0:
  %d1 = pack.b32 1, 2
  %p2 = setp.lt.u32 %d1.0, %d1.1
  cbra %p2, bb1, bb2
bb1:
  %d1 = pack.b32 %d1.1, %d1.0
  %t5 = pack.b32 %d1.0, %d1.1, 4
  bra bb2
bb2:
  st.global.b32 [8], %d1.0
  st.global.b32 [8], %t5.2
  st.global.b32 [8], %d9.1
  ret
}
";
    let (ssa, back) = through(text);
    assert_eq!(opcodes(&ssa, Opcode::Phi), 2);
    assert_eq!(opcodes(&back, Opcode::Pack), 3, "nothing is left to copy");
    assert!(oriole_ir::function_to_string(&ssa, None).contains("st.global.b32 [8], undef"));
    let text = "\
device @wide ssa {
bb0:
  %t1 = pack.b32 1, 2, 3
  bra bb1
bb1:
  %t2 = phi [bb0: %t1], [bb1: %t3]
  %t3 = pack.b32 %t2.1, %t2.2, %t2.0
  %p4 = setp.lt.u32 %t3.0, 3
  cbra %p4, bb1, bb2
bb2:
  st.global.b32 [8], %t2.0
  ret
}
";
    assert_eq!(opcodes(&destructed(text), Opcode::Pack), 3, "three words are copied by a pack");
}

#[test]
fn irreducible_loops_and_entries_with_predecessors_work() {
    let text = "\
device @irreducible {
bb0:
  %r1 = iadd.u32 %r1, 1
  %r2 = mov.b32 0
  %p3 = setp.lt.u32 %r2, 1
  cbra %p3, bb1, bb2
bb1:
  %r2 = iadd.u32 %r2, 1
  st.global.b32 [8], %r2
  bra bb2
bb2:
  %p3 = setp.lt.u32 %r2, 3
  cbra %p3, bb1, bb3
bb3:
  %p3 = setp.lt.u32 %r2, 2
  cbra %p3, bb0, bb5
bb5:
  st.global.b32 [8], %r1
  ret
bb4:
  bra bb0
}
";
    let (ssa, _) = through(text);
    assert_eq!(ssa.layout().len(), 6, "one block before the entry, none for the unreachable one");
    assert!(Cfg::new(&ssa).predecessors(ssa.entry()).is_empty());
}

#[test]
fn straight_code_keeps_its_numbers() {
    let text = "device @f {\nbb0:\n  %r7 = mov.b32 1\n  %r9 = iadd.u32 %r7, 2\n  st.global.b32 [8], %r9\n  ret\n}\n";
    let (ssa, back) = through(text);
    let source = parse_function(text).unwrap();
    assert_eq!(back, source);
    assert_eq!(ssa.regs().len(), source.regs().len());
    assert_eq!(opcodes(&ssa, Opcode::Phi), 0);
}

/// What has a definition has one value. Where a register without one could be seen to have several, it is written.
#[test]
fn undefined_definitions_keep_one_value() {
    let function = |reads: &str| {
        format!(
            "device @undefined ssa {{
bb0:
  %p1 = mov.pred 1
  cbra %p1, bb1, bb2
bb1:
  bra bb2
bb2:
  %r2 = phi [bb0: undef], [bb1: 7]
  @%p1 %r3 = mov.b32 9 else undef
{reads}  ret
}}
"
        )
    };
    let copies = |reads: &str| {
        let mut func = parse_function(&function(reads)).unwrap_or_else(|e| panic!("{e}"));
        destruct(&mut func);
        func.layout_insts().filter(|inst| func.srcs(*inst) == [oriole_ir::Operand::Undef]).count()
    };
    let (phi, guarded) = ("  st.global.b32 [8], %r2\n", "  st.global.b32 [8], %r3\n");
    let under = "  @%p1 st.global.b32 [8], %r3\n";
    for (reads, expected) in [
        (String::new(), 0),
        (phi.to_owned(), 0),
        (phi.repeat(2), 1),
        (format!("  @%p1 st.global.b32 [8], %r2\n{phi}"), 1),
        (guarded.to_owned(), 0),
        (guarded.repeat(2), 1),
        (under.repeat(3), 0),
        (format!("{under}{guarded}"), 1),
        (format!("{guarded}{under}"), 1),
        (format!("{under}  @!%p1 st.global.b32 [8], %r3\n"), 1),
        (format!("  bra bb3\nbb3:\n{phi}"), 1),
        (format!("  bra bb3\nbb3:\n{under}"), 0),
    ] {
        assert_eq!(copies(&reads), expected, "{reads}");
    }
}
