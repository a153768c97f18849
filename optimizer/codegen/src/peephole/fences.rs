//! Fences one behind another: a fence directly in front of one that orders no less, for no fewer threads, orders
//! nothing more. No scope is made narrower and no order weaker than PTX asks for.

use oriole_ir::{Function, Inst};

/// Kinds and scopes of fences, each one weaker than the next.
const KINDS: [&str; 2] = ["ALL", "SC"];
const SCOPES: [&str; 3] = ["CTA", "GPU", "SYS"];

/// How much a fence orders, and for whom; `None` for others, and under a guard.
fn strength(func: &Function, inst: Inst) -> Option<[usize; 2]> {
    if func.inst(inst).guard.is_some() || !func.inst(inst).machine_row()?.name.starts_with("MEMBAR") {
        return None;
    }
    let mnemonic = func.mnemonic(inst)?;
    let ["MEMBAR", kind, scope] = mnemonic.split('.').collect::<Vec<_>>()[..] else { return None };
    let place = |names: &[&str], name: &str| names.iter().position(|known| *known == name);
    Some([place(&KINDS, kind)?, place(&SCOPES, scope)?])
}

/// Whether the instruction behind a fence orders all that it orders.
pub(super) fn is_covered(func: &Function, inst: Inst) -> bool {
    let next = || strength(func, func.next_inst(inst)?);
    match strength(func, inst) {
        Some(own) => next().is_some_and(|next| own.iter().zip(next).all(|(own, next)| *own <= next)),
        None => false,
    }
}
