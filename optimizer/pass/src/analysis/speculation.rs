//! What may be executed where it was not: the annotations of AnalyzeUniformsForSpeculation, phase 27
//! (`spec/copy-propagation-and-cse.txt`, "GPU-Specific CSE Constraints").
//!
//! A kernel's parameters lie in a constant bank. No thread writes to them and they are always there, so a load of one
//! yields the same wherever it stands. Global variables in constant banks are left out: how large they are, the module
//! says.

use oriole_ir::ops::{Flags, Opcode, Order, Space};
use oriole_ir::{Function, FunctionKind, Inst, Operand, Reg};
use rustc_hash::FxHashSet;

/// Whether an instruction reads a parameter of a kernel, and nothing else: a load that may move past any access, and be
/// executed by threads that would not have executed it.
pub fn reads_kernel_parameter(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    let is_plain = data.opcode == Opcode::Ld && data.field::<Space>() == Some(Space::Param);
    let &[Operand::Local(local), offset] = func.srcs(inst) else { return false };
    let first = func.imm_bits(offset).unwrap_or(u64::MAX);
    let bytes = u64::from(data.ty().bits() / 8) * data.vector_len() as u64;
    let fits = first.checked_add(bytes).is_some_and(|end| end <= func.locals[local].size());
    let weak = data.field::<Order>().is_none_or(|order| order == Order::Weak);
    is_plain && weak && fits && func.kind == FunctionKind::Entry && func.params.contains(&local)
}

/// What asynchronous operations yield, before and after it is waited for: their results, and registers that these are
/// copied to. What reads one may not be executed earlier than it stands, since a wait may lie between, which names no
/// register. Cost: a walk over the function; where there is such an operation, one more for each step of a chain of
/// copies against the order of the blocks.
pub struct Awaited(FxHashSet<Reg>);

impl Awaited {
    /// Those of a function.
    pub fn new(func: &Function) -> Awaited {
        let begins = |inst: &Inst| func.inst(*inst).is(Flags::ASYNC);
        let mut awaited: FxHashSet<Reg> = func.layout_insts().filter(begins).flat_map(|inst| func.defs(inst)).collect();
        let mut known = 0;
        while awaited.len() > known {
            known = awaited.len();
            for inst in func.layout_insts() {
                let data = func.inst(inst);
                let copies = data.is(Flags::COPY) || matches!(data.opcode, Opcode::Phi | Opcode::Pack | Opcode::SelP);
                if copies && func.uses(inst).any(|reg| awaited.contains(&reg)) {
                    awaited.extend(func.defs(inst));
                }
            }
        }
        Awaited(awaited)
    }

    /// Whether an instruction reads some of it.
    pub fn is_read_by(&self, func: &Function, inst: Inst) -> bool {
        !self.0.is_empty() && func.uses(inst).any(|reg| self.0.contains(&reg))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_ir::parse_function;

    #[test]
    fn copies_of_what_is_awaited_are_awaited() {
        let text = "device @f ssa {\nbb0:\n  \
                    %r1, %r2, %r3, %r4 = wgmma.mma_async.m64n8.k16.f32.f16.f16 0, 0, 0, 0, 0, 0, 0\n  \
                    bra bb1\nbb1:\n  %r5 = phi [bb0: 0], [bb1: %r6]\n  %r6 = mov.b32 %r1\n  %r7 = iadd.u32 %r5, 1\n  \
                    %r8 = iadd.u32 %r7, 1\n  bra bb1\n}\n";
        let func = parse_function(text).unwrap_or_else(|error| panic!("{error}"));
        let awaited = Awaited::new(&func);
        let reads: Vec<bool> = func.layout_insts().map(|inst| awaited.is_read_by(&func, inst)).collect();
        assert_eq!(reads, [false, false, true, true, true, false, false]);
    }

    /// Whether the first load of a function with a parameter of eight bytes reads a parameter of the kernel.
    fn reads(kind: &str, load: &str) -> bool {
        let text = format!(
            "{kind} @f ssa {{\n  param $p: u64 param align 8\n  local $a: b8[8] local align 8\n  \
             local $c: b8[8] param align 8\nbb0:\n  \
             %d1 = mov.b64 $p\n  {load}\n  ret\n}}\n"
        );
        let func = parse_function(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let load = func.layout_insts().nth(1).expect("it stands behind the copy");
        reads_kernel_parameter(&func, load)
    }

    #[test]
    fn what_else_is_read_may_not_be_speculated() {
        assert!(reads("entry", "%d2 = ld.param.u64 [$p]"));
        assert!(reads("entry", "%r2, %r3 = ld.param.v2.u32 [$p]"));
        assert!(reads("entry", "%r2 = ld.param.u8 [$p+7]"));
        for (kind, load) in [
            ("device", "%d2 = ld.param.u64 [$p]"),
            ("entry", "%d2 = ld.param.u64 [$p+1]"),
            ("entry", "%d2 = ld.param.u64 [$p-8]"),
            ("entry", "%r2, %r3 = ld.param.v2.u32 [$p+4]"),
            ("entry", "%d2 = ld.param.u64 [%d1]"),
            ("entry", "%d2 = ld.param.u64 [$c]"),
            ("entry", "%d2 = ld.local.u64 [$a]"),
            ("entry", "%d2 = ld.u64 [$p]"),
            ("entry", "%d2 = ld.const.u64 [0]"),
            ("entry", "st.param.u64 [$p], 1"),
        ] {
            assert!(!reads(kind, load), "{kind}: {load}");
        }
    }
}
