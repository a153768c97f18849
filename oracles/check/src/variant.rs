//! Variants: what tells findings of one family apart, read off the reduced kernel.
//!
//! Many bugs can follow the same rewrite of the same phase. What is left of a kernel when it is reduced has
//! little but what the bug needs, so that two bugs mostly differ in one of these:
//!
//! - the operations that the guilty change removes and adds ([`change`]), by their opcodes alone: types and operands
//!   differ between kernels that show one bug;
//! - the shape of control around it, and what orders or shares memory beside it ([`surroundings`]); of a change of
//!   accesses, also what decides whether they may change ([`of_change`]);
//! - for what reads or prints PTX, the operations that are there to be read ([`operations`]).

use std::collections::{BTreeMap, BTreeSet};

use oriole_ir::ops::{Flags, Opcode, Space};
use oriole_ir::{Function, InstData, Module};

/// The operations that a module has more than another, and those that it has less: `-ld +mov`. Empty where the change
/// is in operands alone.
pub fn change(before: &Module, after: &Module) -> String {
    let mut counts: BTreeMap<&'static str, i64> = BTreeMap::new();
    insts(before).for_each(|inst| *counts.entry(name(inst)).or_default() -= 1);
    insts(after).for_each(|inst| *counts.entry(name(inst)).or_default() += 1);
    let signed = |(name, count): (&&str, &i64)| match count.signum() {
        -1 => Some(format!("-{name}")),
        1 => Some(format!("+{name}")),
        _ => None,
    };
    counts.iter().filter_map(signed).collect::<Vec<_>>().join(" ")
}

/// What a rewrite changes, and what is around it. Of a rewrite of accesses to memory, accesses under guards and loads
/// that may see what is stored are told, too: phases ask for each in a condition of its own.
pub fn of_change(change: &str, before: &Module) -> String {
    let changed: BTreeSet<&str> = change.split(' ').filter_map(|word| word.get(1..)).collect();
    let accesses = |inst: &&InstData| inst.is(Flags::READS) || inst.is(Flags::WRITES);
    let mut text = format!("{change}; {}", surroundings(before));
    if insts(before).filter(accesses).any(|inst| changed.contains(name(inst))) {
        let fixed = |inst: &InstData| matches!(inst.field(), Some(Space::Param | Space::Const));
        let guarded = insts(before).filter(accesses).any(|inst| inst.guard.is_some());
        let loads = insts(before).any(|inst| inst.opcode == Opcode::Ld && !fixed(inst));
        text += if guarded { ", guarded accesses" } else { "" };
        text += if loads { ", loads" } else { "" };
    }
    text
}

/// The shape of control, and the operations that order or share memory: `loop beside atom bar.sync`.
pub fn surroundings(module: &Module) -> String {
    let shapes = module.functions.values().map(shape);
    let shape = ["straight line", "branches", "loop"][shapes.max().unwrap_or(0)];
    let shares = |inst: &&InstData| {
        let both = Flags::READS.or(Flags::WRITES);
        inst.is(both) || [Flags::FENCE, Flags::CTA_BARRIER, Flags::CONVERGENT].iter().any(|flag| inst.is(*flag))
    };
    let beside: BTreeSet<&str> = insts(module).filter(shares).map(name).collect();
    if beside.is_empty() { shape.to_owned() } else { format!("{shape} beside {}", listed(beside)) }
}

/// The opcodes of a module that do more than to move data; of a module that only does so, all.
pub fn operations(module: &Module) -> String {
    let moves = |inst: &InstData| {
        let accesses = (inst.is(Flags::READS) || inst.is(Flags::WRITES)) && !inst.is(Flags::READS.or(Flags::WRITES));
        accesses || inst.is(Flags::COPY) || inst.is(Flags::ADDRESS)
    };
    let inner = || insts(module).filter(|inst| !inst.is(Flags::TERMINATOR));
    let computing: BTreeSet<&str> = inner().filter(|inst| !moves(inst)).map(name).collect();
    listed(if computing.is_empty() { inner().map(name).collect() } else { computing })
}

/// 0 for a straight line, 1 for branches, 2 where a block leads back.
fn shape(func: &Function) -> usize {
    let place: BTreeMap<_, _> = func.layout().iter().enumerate().map(|(place, block)| (*block, place)).collect();
    let leads_back = |(from, block): (usize, &_)| func.successors(*block).any(|to| place.get(&to) <= Some(&from));
    match func.layout() {
        [] | [_] if !func.layout().iter().enumerate().any(leads_back) => 0,
        layout if layout.iter().enumerate().any(leads_back) => 2,
        _ => 1,
    }
}

fn insts(module: &Module) -> impl Iterator<Item = &InstData> {
    module.functions.values().flat_map(|func| func.layout_insts().map(|inst| func.inst(inst)))
}

fn name(inst: &InstData) -> &'static str {
    inst.opcode.row().name
}

fn listed(names: BTreeSet<&str>) -> String {
    names.into_iter().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use oriole_ir::parse_module;

    use super::*;

    fn module(body: &str) -> Module {
        let text = format!(
            "target sm_90 ptx 9.0\n\nentry @k visible virtual {{\n  param $out: u64 param align 8\nbb0:\n  \
             %d2 = ld.param.u64 [$out]\n{body}  ret\n}}\n"
        );
        parse_module(&text).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn variants_are_told_apart_by_change_control_and_what_is_shared() {
        let load = module("  %r3 = ld.global.u32 [%d2]\n  %r4 = ld.global.u32 [%d2]\n");
        let copy = module("  %r3 = ld.global.u32 [%d2]\n  %r4 = mov.b32 %r3\n");
        assert_eq!(change(&load, &copy), "-ld +mov");
        assert_eq!(change(&load, &load), "");
        assert_eq!(surroundings(&load), "straight line");
        assert_eq!(surroundings(&module("  bar.warp.sync 4294967295\n")), "straight line beside bar.warp.sync");
        let branches = "  %p3 = setp.eq.u64 %d2, 0\n  cbra %p3, bb1, bb2\nbb1:\n  bra bb2\nbb2:\n";
        assert_eq!(surroundings(&module(branches)), "branches");
        assert_eq!(surroundings(&module(&branches.replace("  bra bb2", "  bra bb1"))), "loop");
        let stores = "  st.global.u32 [%d2], 1\n  st.global.u32 [%d2], 2\n";
        let guarded = "  %p3 = setp.eq.u64 %d2, 0\n  @%p3 st.global.u32 [%d2], 1\n";
        let of_stores = |body: &str| of_change("-st", &module(body));
        assert_eq!(of_stores(stores), "-st; straight line");
        assert_eq!(of_stores(&format!("{stores}{guarded}")), "-st; straight line, guarded accesses");
        let loads = format!("{stores}  %r4 = ld.global.u32 [%d2]\n");
        assert_eq!(of_stores(&loads), "-st; straight line, loads");
        assert_eq!(of_change("-setp +mov", &module(guarded)), "-setp +mov; straight line");
        assert_eq!(operations(&module("  %r3 = mov.b32 7\n  %r4 = iadd.u32 %r3, 1\n")), "iadd");
    }
}
