//! Variables: declarations and initial values.

use std::collections::BTreeMap;
use std::fmt::Write;

use oriole_ir::ops::{FieldValue, Space, Type};
use oriole_ir::{Global, Linkage, Module, Relocation, SymbolRef, Variable};

/// `.param .align 4 .b8 name[16]`; the type is one that every declaration may have.
pub(super) fn declare(out: &mut String, variable: &Variable, name: &str) {
    let (ty, scale) = declared_type(variable.ty);
    let _ = write!(out, ".{} .align {} .{} {name}", variable.space.name(), variable.align, ty.name());
    match variable.count {
        Some(0) => out.push_str("[]"),
        Some(count) => {
            let _ = write!(out, "[{}]", count.saturating_mul(scale));
        }
        None if scale > 1 => {
            let _ = write!(out, "[{scale}]");
        }
        None => {}
    }
}

/// The type that stands for `ty` in a declaration, and how many of it make one.
fn declared_type(ty: Type) -> (Type, u64) {
    match ty {
        Type::Pred => (Type::B8, 1),
        Type::B128 => (Type::B64, 2),
        Type::F16 | Type::Bf16 | Type::E4m3x2 | Type::E5m2x2 => (Type::B16, 1),
        Type::F16x2 | Type::Bf16x2 | Type::U16x2 | Type::S16x2 | Type::Tf32 => (Type::B32, 1),
        ty => (ty, 1),
    }
}

/// The module's variables, each behind those that it points to.
pub(super) fn emit_globals(out: &mut String, module: &Module) {
    let mut done = vec![false; module.globals.len()];
    for id in module.globals.keys() {
        emit_with_targets(out, module, id, &mut done);
    }
}

/// Variables are marked before their targets are written, so that a cycle ends.
fn emit_with_targets(out: &mut String, module: &Module, id: Global, done: &mut [bool]) {
    let mut stack = vec![(id, 0)];
    while let Some((id, next)) = stack.pop() {
        if next == 0 && std::mem::replace(&mut done[id.as_u32() as usize], true) {
            continue;
        }
        let variable = &module.globals[id];
        let target = variable.relocations[next..].iter().position(|relocation| match relocation.symbol {
            SymbolRef::Global(target) => !done[target.as_u32() as usize],
            SymbolRef::Func(_) => false,
        });
        match target {
            Some(at) => {
                let SymbolRef::Global(target) = variable.relocations[next + at].symbol else { continue };
                stack.push((id, next + at + 1));
                stack.push((target, 0));
            }
            None => emit_global(out, module, variable),
        }
    }
}

fn emit_global(out: &mut String, module: &Module, variable: &Variable) {
    if variable.linkage != Linkage::Internal {
        let _ = write!(out, ".{} ", variable.linkage.name());
    }
    let flat = Variable { ty: element_type(variable), ..variable.clone() };
    let bytes = u64::from(flat.ty.bits() / 8).max(1);
    let regrouped =
        Variable { count: if flat.ty == variable.ty { variable.count } else { Some(variable.size() / bytes) }, ..flat };
    declare(out, &regrouped, &variable.name);
    if variable.ty.is_reference() {
        super::image::settings(out, variable);
    } else if !variable.init.is_empty() {
        out.push_str(" = ");
        values(out, module, &regrouped);
    }
    out.push_str(";\n");
}

/// The element type of the declaration: the variable's own, one that holds the addresses in its initial value, or one
/// that holds a byte of an address.
fn element_type(variable: &Variable) -> Type {
    let Some(first) = variable.relocations.first() else { return declared_type(variable.ty).0 };
    let width = u32::from(first.width);
    let fits = variable.relocations.iter().all(|r| u32::from(r.width) == width && r.offset % width == 0);
    match width {
        4 | 8 if !fits || !variable.size().is_multiple_of(u64::from(width)) => Type::U8,
        4 => Type::U32,
        8 => Type::U64,
        _ => Type::U8,
    }
}

/// The initial value: one constant or address, or a list of them.
fn values(out: &mut String, module: &Module, variable: &Variable) {
    let bytes = (variable.ty.bits() / 8).max(1) as usize;
    let list = variable.count.is_some();
    out.push_str(if list { "{" } else { "" });
    let relocations: BTreeMap<usize, &Relocation> =
        variable.relocations.iter().map(|relocation| (relocation.offset as usize, relocation)).collect();
    let end = relocations.values().map(|r| r.offset as usize + r.width as usize).max().unwrap_or(0);
    for at in (0..variable.init.len().max(end)).step_by(bytes) {
        out.push_str(if at > 0 { ", " } else { "" });
        let before = relocations.range(..=at).next_back().map(|(begin, relocation)| (at - begin, *relocation));
        match before.filter(|(byte, relocation)| *byte < usize::from(relocation.width)) {
            Some((byte, relocation)) if bytes == 1 => {
                let _ = write!(out, "{:#X}(", 0xFF_u64 << (8 * byte));
                address(out, module, relocation);
                out.push(')');
            }
            Some((_, relocation)) => address(out, module, relocation),
            None => constant(out, variable.ty, &variable.init, at, bytes),
        }
    }
    out.push_str(if list { "}" } else { "" });
}

fn constant(out: &mut String, ty: Type, init: &[u8], at: usize, bytes: usize) {
    let mut value = [0; 8];
    let given = init.get(at..).unwrap_or(&[]);
    let given = &given[..given.len().min(bytes).min(8)];
    value[..given.len()].copy_from_slice(given);
    let bits = u64::from_le_bytes(value);
    let _ = match ty {
        Type::F32 => write!(out, "0f{bits:08X}"),
        Type::F64 => write!(out, "0d{bits:016X}"),
        _ => write!(out, "{bits}"),
    };
}

fn address(out: &mut String, module: &Module, relocation: &Relocation) {
    let name = module.symbol_name(relocation.symbol);
    let _ = if relocation.generic { write!(out, "generic({name})") } else { write!(out, "{name}") };
    // PTX adds only: a negative offset keeps its sign behind the plus.
    if relocation.addend != 0 {
        let _ = write!(out, "+{}", relocation.addend);
    }
}

/// Whether a variable of a function is one that its body declares.
pub(super) fn is_body_space(space: Space) -> bool {
    matches!(space, Space::Local | Space::Param)
}
