//! What calls of the functions of a module do, beside yielding results: the facts that LLVM writes down as attributes.
//!
//! Callees are looked at first. A function that calls itself, directly or through others, or code that is not known,
//! may do anything. What a function does to its own variables in local memory whose address it alone knows
//! ([`Addresses`]), and to its parameters and results, ends with it. A function returns if its graph has no circle and
//! nothing in it ends the thread.
//!
//! Linear in instructions and calls.

use cranelift_entity::EntityRef;

use super::addresses::{Accessed, Addresses};
use super::call_graph::CallGraph;
use super::cfg::Cfg;
use super::loops::LoopNest;
use oriole_ir::ops::{Flags, Opcode, Order, Space};
use oriole_ir::{FuncId, Function, Inst, Module, Operand};

/// What a call of a function may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Effects {
    /// It reads memory that is not its own.
    pub reads: bool,
    /// It writes memory that is not its own.
    pub writes: bool,
    /// It orders accesses, works together with other threads, or has another effect.
    pub others: bool,
    /// It may not return.
    pub stays: bool,
}

impl Effects {
    pub(super) const ANYTHING: Effects = Effects { reads: true, writes: true, others: true, stays: true };

    /// Whether a call may go where nobody reads its results.
    pub fn is_removable(self) -> bool {
        !self.writes && !self.others && !self.stays
    }

    fn or(self, other: Effects) -> Effects {
        Effects {
            reads: self.reads || other.reads,
            writes: self.writes || other.writes,
            others: self.others || other.others,
            stays: self.stays || other.stays,
        }
    }
}

/// The effects of all functions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionEffects(Vec<Effects>);

impl FunctionEffects {
    /// The effects of the functions of a module.
    pub fn compute(module: &Module, graph: &CallGraph) -> FunctionEffects {
        let mut all = FunctionEffects(vec![Effects::ANYTHING; module.functions.len()]);
        for id in graph.bottom_up().flatten().copied() {
            let func = &module.functions[id];
            if func.is_definition() && !graph.is_recursive(id) {
                all.0[id.index()] = of_body(func, |callee| all.of(callee));
            }
        }
        all
    }

    /// What a call of a function may do.
    pub fn of(&self, id: FuncId) -> Effects {
        self.0[id.index()]
    }
}

/// The effects of a body, given those of the functions that it calls.
pub(super) fn of_body(func: &Function, all: impl Fn(FuncId) -> Effects) -> Effects {
    let addresses = Addresses::new(func);
    let cfg = Cfg::new(func);
    let stays = LoopNest::compute(&cfg).loops().next().is_some();
    let effects = func.layout_insts().map(|inst| of_inst(func, inst, &addresses, &all));
    effects.fold(Effects { stays, ..Effects::default() }, Effects::or)
}

fn of_inst(func: &Function, inst: Inst, addresses: &Addresses, all: &impl Fn(FuncId) -> Effects) -> Effects {
    let data = func.inst(inst);
    match (data.opcode, func.srcs(inst).first()) {
        (Opcode::Call, Some(Operand::Func(callee))) => return all(*callee),
        (opcode, _) if opcode.is(Flags::TERMINATOR) && opcode != Opcode::Exit => return Effects::default(),
        _ => {}
    }
    let is_weak = data.field::<Order>().is_none_or(|order| order == Order::Weak);
    let is_access = matches!(data.opcode, Opcode::Ld | Opcode::St) && is_weak;
    if is_access && is_own(func, inst, addresses) {
        return Effects::default();
    }
    let free = is_access || data.is(Flags::PURE) || data.is(Flags::ADDRESS) || data.is(Flags::HINT);
    Effects {
        reads: data.is(Flags::READS),
        writes: data.is(Flags::WRITES),
        others: !free || data.is(Flags::CONVERGENT),
        stays: !free,
    }
}

/// Whether an access stays in a variable of the function that nobody else can reach, or is to a parameter or result.
fn is_own(func: &Function, inst: Inst, addresses: &Addresses) -> bool {
    let accessed = Accessed::of(func, inst, |base| addresses.pointer(func, base));
    let Some(local) = accessed.and_then(|accessed| accessed.pointer.variable?.local()) else { return false };
    match func.locals[local].space {
        Space::Param => true,
        Space::Local => !addresses.is_captured(local) && !addresses.goes_beyond(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_ir::parse_module;

    fn effects(body: &str) -> Effects {
        let text = format!(
            "target sm_90 ptx 9.0\ndevice @pure ssa {{\nbb0:\n  ret\n}}\ndevice @f ssa {{\n  param $p: u64 param align 8\n  \
             return $r: b32 param align 4\n  local $a: b8[8] local align 8\nbb0:\n  %d0 = ld.param.u64 [$p]\n{body}}}\n"
        );
        let module = parse_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let effects = FunctionEffects::compute(&module, &CallGraph::compute(&module));
        effects.of(module.function_named("f").expect("it is there"))
    }

    #[test]
    fn each_effect_comes_from_its_instruction() {
        let none = Effects::default();
        let own = "  st.local.b32 [$a], 1\n  %r1 = ld.local.b32 [$a]\n  st.param.b32 [$r], %r1\n  call @pure() -> ()\n  ret\n";
        assert_eq!(effects(own), none);
        assert_eq!(effects("  %r1 = ld.b32 [%d0]\n  ret\n"), Effects { reads: true, ..none });
        assert_eq!(effects("  st.b32 [%d0], 1\n  ret\n"), Effects { writes: true, ..none });
        assert!(effects("  bar.sync 0, 0\n  ret\n").others);
        assert!(effects("  %r1 = ld.volatile.b32 [%d0]\n  ret\n").others);
        assert!(effects("  exit\n").stays);
        assert!(effects("  bra bb1\nbb1:\n  cbra undef, bb1, bb2\nbb2:\n  ret\n").stays);
        assert_eq!(effects("  call %d0() -> ()\n  ret\n"), Effects::ANYTHING);
        assert_eq!(effects("  call @f($p) -> ($r)\n  ret\n"), Effects::ANYTHING);
        let known = "  %d1 = mov.b64 $a\n  st.global.b64 [%d0], %d1\n  st.local.b32 [$a], 1\n  ret\n";
        assert_eq!(effects(known), Effects { writes: true, ..none });
    }
}
