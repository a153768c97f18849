//! What may be executed where it was not: the annotations of AnalyzeUniformsForSpeculation, phase 27
//! (`spec/copy-propagation-and-cse.txt`, "GPU-Specific CSE Constraints").
//!
//! A kernel's parameters lie in a constant bank. No thread writes to them and they are always there, so a load of one
//! yields the same wherever it stands. Global variables in constant banks are left out: how large they are, the module
//! says.

use oriole_ir::ops::{Opcode, Order, Space};
use oriole_ir::{Function, FunctionKind, Inst, Operand};

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

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_ir::parse_function;

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
