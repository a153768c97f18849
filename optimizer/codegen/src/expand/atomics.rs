//! Atomic operations that the machine does not have, as those that it has.
//!
//! In shared memory it exchanges, compares and swaps, and computes integers of 32 bits. All else is a loop around a
//! compare and swap: read, compute, and store if nobody else has in between. An operation on a generic address is one
//! on shared or on global memory, by where the address lies; exchanges and integers of 32 bits find out by themselves
//! (so does ptxas: no code of its for them asks). Halves are compared and swapped with the word that they are in.
//! Vectors are their elements one by one: nothing is said of all of them at once.

use std::fmt::Write as _;

use oriole_ir::ops::{AtomOp, Opcode, Space, Type};
use oriole_ir::{Function, Inst, Operand};

/// Orders and scopes, which every access of an expansion keeps.
const ORDERS: &[&str] = &["relaxed", "acquire", "release", "acq_rel", "cta", "cluster", "gpu", "sys"];

/// The text of a function that does an operation, and the operands that it takes; none where the machine has it.
/// `has_shared` says whether a generic address may be one of shared memory.
pub(super) fn body(func: &Function, inst: Inst, has_shared: bool) -> Option<(String, Vec<Operand>)> {
    let data = func.inst(inst);
    if !matches!(data.opcode, Opcode::Atom | Opcode::AtomCas | Opcode::Red) {
        return None;
    }
    let space = data.field::<Space>().unwrap_or(Space::Generic);
    let (ty, op) = (data.ty(), data.field::<AtomOp>());
    let srcs = func.srcs(inst);
    let values = if data.opcode == Opcode::AtomCas { 2 } else { 1 };
    let is_direct = matches!(op, None | Some(AtomOp::Exch)) || ty.bits() == 32 && !ty.is_float();
    let is_vector = srcs.len() != 2 + values;
    let is_half = ty.bits() == 16;
    if ty.bits() > 64 || ty.bits() < 16 {
        return None;
    }
    let atomic = Atomic {
        name: op.map_or("", oriole_ir::ops::FieldValue::name),
        ty: oriole_ir::ops::FieldValue::name(ty),
        bits: ty.bits(),
        orders: orders(&func.operation(inst)),
        space: match space {
            Space::Shared => ".shared",
            Space::Global => ".global",
            Space::Cluster => ".shared::cluster",
            _ => "",
        },
        is_wide: func
            .operand_info(srcs[0])
            .map_or(!matches!(space, Space::Shared | Space::Cluster), |info| info.words == 2),
        offset: func.imm_bits(srcs[1]).unwrap_or(0) as i64,
        no_ftz: if matches!(ty, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2) { ".noftz" } else { "" },
        results: func.dsts(inst).len(),
        values: srcs.len() - 2,
    };
    let text = match (space, data.opcode) {
        _ if is_vector => atomic.elements(),
        (_, Opcode::AtomCas) if is_half => atomic.half_swap(),
        _ if is_half => atomic.half_loop(),
        (Space::Shared | Space::Cluster, _) if !is_direct => atomic.by_swaps(),
        (Space::Generic, _) if !is_direct && has_shared => atomic.by_space(),
        _ => return None,
    };
    let inputs = std::iter::once(srcs[0]).chain(srcs[2..].iter().copied()).collect();
    Some((text, inputs))
}

/// The order and scope of an operation, with their dots.
fn orders(operation: &str) -> String {
    let kept = operation.split('.').filter(|part| ORDERS.contains(part));
    kept.fold(String::new(), |text, part| text + "." + part)
}

/// An operation, in the words of the text form.
struct Atomic {
    /// The operation.
    name: &'static str,
    ty: &'static str,
    bits: u32,
    orders: String,
    space: &'static str,
    /// Whether the address has two words.
    is_wide: bool,
    offset: i64,
    no_ftz: &'static str,
    results: usize,
    values: usize,
}

impl Atomic {
    /// The prefix of registers that hold an element.
    fn file(&self) -> &'static str {
        if self.bits == 64 { "d" } else { "r" }
    }

    fn base(&self) -> &'static str {
        if self.is_wide { "%d0" } else { "%r0" }
    }

    /// The operand of an access, so many bytes on.
    fn at(&self, base: &str, more: i64) -> String {
        match self.offset + more {
            0 => format!("[{base}]"),
            sum if sum < 0 => format!("[{base}-{}]", sum.unsigned_abs()),
            sum => format!("[{base}+{sum}]"),
        }
    }

    /// The operation that computes the new value.
    fn computed(&self) -> String {
        let ty = self.ty;
        match self.name {
            "add" if self.ty.starts_with(['f', 'b']) => format!("fadd.rn.{ty}"),
            "add" => format!("iadd.{ty}"),
            "min" | "max" if self.ty.starts_with('f') || self.ty.starts_with("bf") => format!("f{}.{ty}", self.name),
            "min" | "max" => format!("i{}.{ty}", self.name),
            name => format!("{name}.{ty}"),
        }
    }

    /// One operation for each element of a vector.
    fn elements(&self) -> String {
        let (Atomic { name, ty, orders, space, no_ftz, .. }, file) = (self, self.file());
        let mut text = String::from("device @f {\nbb0:\n");
        for at in 0..self.values {
            let to = self.at(self.base(), i64::from(self.bits / 8) * at as i64);
            let value = at + 1;
            if self.results == 0 {
                let _ = writeln!(text, "  red{orders}{space}.{name}{no_ftz}.{ty} {to}, %{file}{value}");
            } else {
                let result = 1 + self.values + at;
                let _ =
                    writeln!(text, "  %{file}{result} = atom{orders}{space}.{name}{no_ftz}.{ty} {to}, %{file}{value}");
            }
        }
        text + "  ret\n}\n"
    }

    /// Reads, computes, and stores if memory is still what was read. Registers: 0 the address, 1 the value, 2 what
    /// memory had.
    fn by_swaps(&self) -> String {
        let (Atomic { orders, space, bits, .. }, file) = (self, self.file());
        let (to, computed) = (self.at(self.base(), 0), self.computed());
        format!(
            "device @f {{\nbb0:\n  %{file}2 = ld.volatile{space}.b{bits} {to}\n  bra bb1\n\
             bb1:\n  %{file}3 = {computed} %{file}2, %{file}1\n  %{file}4 = mov.b{bits} %{file}2\n  \
             %{file}2 = atom.cas{orders}{space}.b{bits} {to}, %{file}4, %{file}3\n  \
             %p5 = setp.ne.b{bits} %{file}2, %{file}4\n  cbra %p5, bb1, bb2\nbb2:\n  ret\n}}\n"
        )
    }

    /// On shared memory where the generic address is one of it, else on global memory.
    fn by_space(&self) -> String {
        let (Atomic { name, ty, orders, no_ftz, .. }, file) = (self, self.file());
        let [own, other] = [self.at("%d4", 0), self.at("%d0", 0)];
        format!(
            "device @f {{\nbb0:\n  %p3 = isspacep.shared %d0\n  cbra %p3, bb1, bb2\n\
             bb1:\n  %d4 = cvta.to.shared.u64 %d0\n  \
             %{file}2 = atom{orders}.shared.{name}{no_ftz}.{ty} {own}, %{file}1\n  bra bb3\n\
             bb2:\n  %{file}2 = atom{orders}.global.{name}{no_ftz}.{ty} {other}, %{file}1\n  bra bb3\nbb3:\n  ret\n}}\n"
        )
    }

    /// The word around a half: its address, what it holds, the place of the half in it, and the loop's head. Registers
    /// from 10 on: the address, the word's, the half's first bit, the word.
    fn around(&self) -> (String, String) {
        let (space, file) = (self.space, if self.is_wide { "d" } else { "r" });
        let (bits, base) = (if self.is_wide { 64 } else { 32 }, self.base());
        let low = if self.is_wide { "%r12 = cvt.u32.u64 %d10" } else { "%r12 = mov.b32 %r10" };
        let text = format!(
            "device @f {{\nbb0:\n  %{file}10 = iadd.u{bits} {base}, {}\n  \
             %{file}11 = and.b{bits} %{file}10, {:#x}\n  {low}\n  %r13 = and.b32 %r12, 2\n  %r14 = shl.b32 %r13, 3\n  \
             %r15 = ld.volatile{space}.b32 [%{file}11]\n  bra bb1\nbb1:\n  %r16 = bfe.u32 %r15, %r14, 16\n",
            self.offset as u64 & (u64::MAX >> (64 - bits)),
            !3u64 & (u64::MAX >> (64 - bits)),
        );
        let swap = format!(
            "  %r18 = bfi.b32 %r17, %r15, %r14, 16\n  %r19 = mov.b32 %r15\n  \
             %r15 = atom.cas{}{space}.b32 [%{file}11], %r19, %r18\n  %p20 = setp.ne.b32 %r15, %r19\n",
            self.orders
        );
        (text, swap)
    }

    /// An operation on a half: the loop around the word that it is in.
    fn half_loop(&self) -> String {
        let (before, swap) = self.around();
        let computed = if self.name == "exch" {
            "%r17 = mov.b32 %r1".to_owned()
        } else {
            format!("%r17 = {} %r16, %r1", self.computed())
        };
        format!("{before}  {computed}\n{swap}  cbra %p20, bb1, bb2\nbb2:\n  %r2 = mov.b32 %r16\n  ret\n}}\n")
    }

    /// A compare and swap of a half: it ends when the half is not the expected one, too.
    fn half_swap(&self) -> String {
        let (before, swap) = self.around();
        format!(
            "{before}  %p21 = setp.ne.b16 %r16, %r1\n  cbra %p21, bb3, bb2\nbb2:\n  %r17 = mov.b32 %r2\n{swap}  \
             cbra %p20, bb1, bb3\nbb3:\n  %r3 = mov.b32 %r16\n  ret\n}}\n"
        )
    }
}
