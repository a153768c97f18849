//! Small functions with the state that each access depends on worked out by hand, and a large one that must be quick.

use super::MemoryState::{Behind, Entry, Phi};
use super::*;
use oriole_ir::Form;
use oriole_ir::ops::{Opcode, Space, Type};
use oriole_ir::{FunctionKind, InstBuilder, Operand, RegInfo, parse_module};

/// A device function in SSA form with a local array `$a` of 16 bytes; `%d0` and `%d1` are unknown addresses.
fn of(body: &str) -> (Function, Cfg, LoopNest, MemorySsa) {
    let text = format!(
        "target sm_90 ptx 9.0\ndevice @f ssa {{\n  local $a: b8[16] local align 4\n  local $b: b8[16] local align 4\nbb0:\n  \
         %d0 = ld.const.b64 [0]\n  %d1 = ld.const.b64 [8]\n{body}}}\n"
    );
    let module = parse_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let func = module.functions.values().next().expect("there is one").clone();
    let (cfg, nest, memory) = solve(&func);
    (func, cfg, nest, memory)
}

fn solve(func: &Function) -> (Cfg, LoopNest, MemorySsa) {
    let cfg = Cfg::new(func);
    let memory = MemorySsa::compute(func, &cfg, &Dominators::new(&cfg));
    let nest = LoopNest::compute(&cfg);
    (cfg, nest, memory)
}

/// What the last load in a block depends on.
fn clobber(body: &str, block: u32) -> (Function, MemoryState) {
    let (func, cfg, nest, memory) = of(body);
    let loads = |inst: &Inst| func.inst(*inst).opcode == Opcode::Ld;
    let load = func.block_insts(Block::from_u32(block)).rev().find(loads).expect("there is a load");
    let found = memory.clobber(&cfg, &nest, load).expect("a load has to do with memory");
    (func, found)
}

/// The instruction at a place in the first block, behind the two that read the addresses.
fn first(func: &Function, place: usize) -> MemoryState {
    Behind(func.inst_at(func.entry(), 2 + place))
}

#[test]
fn stores_elsewhere_are_passed() {
    let (func, found) = clobber(
        "  st.global.b32 [%d0], 1\n  st.global.b32 [%d0+4], 2\n  st.shared.b32 [%d0], 3\n  st.local.b32 [$a], 4\n  \
         %r2 = ld.global.b32 [%d0]\n  ret\n",
        0,
    );
    assert_eq!(found, first(&func, 0));
    let (func, found) =
        clobber("  st.global.b32 [%d0], 1\n  st.global.b32 [%d1+4], 2\n  %r2 = ld.global.b32 [%d0]\n  ret\n", 0);
    assert_eq!(found, first(&func, 1));
    let (_, found) =
        clobber("  st.b32 [%d1], 1\n  st.global.b32 [%d0+8], 2\n  %r2 = ld.global.nc.b32 [%d0]\n  ret\n", 0);
    assert_eq!(found, Entry);
}

#[test]
fn additions_of_constants_are_followed() {
    let (func, found) = clobber(
        "  %d2 = iadd.u64 %d0, 8\n  %d3 = isub.u64 %d2, 4\n  st.global.b32 [%d3], 1\n  st.global.b32 [%d2-8], 2\n  \
         %r4 = ld.global.b32 [%d0+4]\n  ret\n",
        0,
    );
    assert_eq!(found, first(&func, 2));
}

#[test]
fn order_and_calls_end_the_walk_but_not_for_what_is_private() {
    let multicast =
        ["multimem.st.global.b32 [%d0+64], 1", "%r9 = multimem.ld_reduce.relaxed.gpu.global.add.u32 [%d0+64]"];
    let ordering = ["bar.sync 0, 0", "fence.acq_rel.gpu", "%r9 = ld.acquire.gpu.global.b32 [%d1]", "call %d1() -> ()"];
    for stop in ordering.into_iter().chain(multicast) {
        let body =
            |load: &str| format!("  st.global.b32 [%d0], 1\n  st.local.b32 [$a], 2\n  {stop}\n  {load}\n  ret\n");
        let (func, found) = clobber(&body("%r2 = ld.global.b32 [%d0]"), 0);
        assert_eq!(found, first(&func, 2), "{stop}");
        let (func, found) = clobber(&body("%r2 = ld.local.b32 [$a]"), 0);
        assert_eq!(found, first(&func, 1), "{stop}");
    }
    // The address of `$a` is known elsewhere, so the callee may write there; other threads may not.
    let escaped = |stop: &str| {
        let keep = "  %d2 = mov.b64 $a\n  st.global.b64 [%d1], %d2\n  st.local.b32 [$a], 2\n";
        clobber(&format!("{keep}  {stop}\n  %r3 = ld.local.b32 [$a]\n  ret\n"), 0)
    };
    let (func, found) = escaped("call %d1() -> ()");
    assert_eq!(found, first(&func, 3));
    let (func, found) = escaped("bar.sync 0, 0");
    assert_eq!(found, first(&func, 2));
}

const LOOP: &str = "  st.global.b32 [%d0], 1\n  bra bb1\nbb1:\n  %d2 = phi [bb0: %d1], [bb1: %d3]\n  \
                    %r4 = ld.global.b32 [ADDRESS]\n  %d3 = iadd.u64 %d2, 4\n  st.SPACE.b32 [%d2+4], %r4\n  \
                    cbra undef, bb1, bb2\nbb2:\n  %r5 = ld.global.b32 [%d0]\n  ret\n";

/// `[%d2]` was written as `[%d2+4]` in the iteration before; a store to another space does not matter.
#[test]
fn addresses_of_another_iteration_may_meet() {
    let body = |address: &str, space: &str| LOOP.replace("ADDRESS", address).replace("SPACE", space);
    let header = Phi(Block::from_u32(1));
    assert_eq!(clobber(&body("%d2", "global"), 1).1, header);
    assert_eq!(clobber(&body("%d2+4", "global"), 1).1, header);
    let (func, found) = clobber(&body("%d2", "shared"), 1);
    assert_eq!(found, first(&func, 0));
    let (func, found) = clobber(&body("%d2", "shared"), 2);
    assert_eq!(found, first(&func, 0));
}

#[test]
fn states_meet_where_blocks_do() {
    let body = "  cbra undef, bb1, bb2\nbb1:\n  st.global.b32 [%d0+OFFSET], 1\n  bra bb2\nbb2:\n  %r2 = ld.global.b32 [%d0]\n  ret\n";
    assert_eq!(clobber(&body.replace("OFFSET", "0"), 2).1, Phi(Block::from_u32(2)));
    assert_eq!(clobber(&body.replace("OFFSET", "4"), 2).1, Entry);
    let (func, cfg, nest, memory) = of(&body.replace("OFFSET", "0"));
    let store = func.inst_at(Block::from_u32(1), 0);
    assert_eq!(memory.at_end(Block::from_u32(1)), Behind(store));
    assert_eq!(memory.clobber(&cfg, &nest, store), Some(Entry));
}

/// Two stores and a load an iteration of a long straight line: no walk looks at more than it may.
#[test]
fn long_blocks_are_quick() {
    let mut func = Function::new("long", FunctionKind::Device);
    func.form = Form::Ssa;
    let block = func.new_block();
    let base = InstBuilder::new(Opcode::Ld).field(Space::Const).field(Type::B64).src(Operand::imm(0));
    let base = base.src(Operand::imm(0)).append_value(&mut func, block, RegInfo::words(2));
    for at in 0..50_000 {
        for offset in [16 * at, 16 * at + 4] {
            let store = InstBuilder::new(Opcode::St).field(Space::Global).field(Type::B32);
            store.src(base).src(offset).src(Operand::imm(1)).append(&mut func, block);
        }
        let load = InstBuilder::new(Opcode::Ld).field(Space::Global).field(Type::B32);
        load.src(base).src(16 * at).append_value(&mut func, block, RegInfo::words(1));
        let missed = InstBuilder::new(Opcode::Ld).field(Space::Global).field(Type::B32);
        missed.src(base).src(Operand::imm(8)).append_value(&mut func, block, RegInfo::words(1));
    }
    InstBuilder::new(Opcode::Ret).append(&mut func, block);
    let (cfg, nest, memory) = solve(&func);
    let insts: Vec<Inst> = func.block_insts(block).collect();
    let clobbers: Vec<_> = insts.iter().filter_map(|inst| memory.clobber(&cfg, &nest, *inst)).collect();
    assert_eq!(clobbers.len(), 200_001);
    // The load behind two stores finds the first of them; the other one gives up at the state that it has come to.
    assert_eq!(memory.clobber(&cfg, &nest, insts[insts.len() - 3]), Some(Behind(insts[insts.len() - 5])));
    assert_eq!(memory.clobber(&cfg, &nest, insts[insts.len() - 2]), Some(Behind(insts[insts.len() - 4 - 2 * STEPS])));
}
