//! What findings about a compiler are known by.
//!
//! A reduced kernel has little left but what the compiler gets wrong. So its operations, with the axes on which it goes
//! wrong, are the same for one bug on many kernels.

use std::collections::BTreeSet;

use oriole_ir::ops::Flags;
use oriole_ir::{Function, Inst, Module};

use crate::compiler::Axis;
use crate::judge::Verdict;
use crate::signature;

/// The names of axes: `sm_90 -O0, sm_90 -O3`.
pub fn names(axes: &[Axis]) -> String {
    axes.iter().map(Axis::to_string).collect::<Vec<_>>().join(", ")
}

/// The signature of a finding that is not reduced: the axes, and what is wrong.
pub fn unreduced(axes: &[Axis], verdict: &Verdict) -> String {
    format!("{}: {}", names(axes), signature::of(verdict))
}

/// The signature of a finding that was reduced to a module.
pub fn reduced(axes: &[Axis], module: &Module) -> String {
    format!("{}: {}", names(axes), operations(module).into_iter().collect::<Vec<_>>().join(" "))
}

/// A signature without its axes.
pub fn without_axes(signature: &str) -> &str {
    signature.split_once(": ").map_or(signature, |(_, what)| what)
}

/// The operations of a module with their modifiers: what computes, else all.
pub fn operations(module: &Module) -> BTreeSet<String> {
    let all = || {
        let insts = module.functions.values().flat_map(|func| func.layout_insts().map(move |inst| (func, inst)));
        insts.filter(|(func, inst)| !func.inst(*inst).is(Flags::TERMINATOR))
    };
    let computes = |(func, inst): &(&Function, Inst)| {
        let data = func.inst(*inst);
        let accesses = (data.is(Flags::READS) || data.is(Flags::WRITES)) && !data.is(Flags::READS.or(Flags::WRITES));
        !accesses && !data.is(Flags::COPY) && !data.is(Flags::ADDRESS)
    };
    let names = |insts: &mut dyn Iterator<Item = (&Function, Inst)>| -> BTreeSet<String> {
        insts.map(|(func, inst)| mnemonic(func, inst, module)).collect()
    };
    let computing = names(&mut all().filter(computes));
    if computing.is_empty() { names(&mut all()) } else { computing }
}

/// The first word of an instruction's text behind guard and results.
fn mnemonic(func: &Function, inst: Inst, module: &Module) -> String {
    let text = oriole_ir::inst_to_string(func, inst, Some(module));
    let words = text.split_whitespace().filter(|word| !word.starts_with(['@', '%', '=', '!', '_']));
    words.map(|word| word.trim_end_matches(',')).next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operations_of(body: &str) -> Vec<String> {
        let text = format!("target sm_90 ptx 9.0\n\nentry @k visible virtual {{\nbb0:\n{body}  ret\n}}\n");
        let module = oriole_ir::parse_module(&text).unwrap_or_else(|error| panic!("{error}"));
        operations(&module).into_iter().collect()
    }

    #[test]
    fn operations_are_what_computes() {
        let body = "  %r0 = mov.b32 7\n  %r1 = iadd.s32 %r0, %r0\n  %r2 = iadd.u32 %r1, 1\n\
            \x20 %p3 = setp.lt.s32 %r2, 5\n  @!%p3 %r2 = shl.b32 %r2, 3\n";
        assert_eq!(operations_of(body), ["iadd.s32", "iadd.u32", "setp.lt.s32", "shl.b32"]);
        assert_eq!(operations_of("  %r0 = mov.b32 7\n"), ["mov.b32"]);
    }
}
