//! Registers of the machine that may be read before anything writes them (L:510-512): warning 7700 of ptxas.
//!
//! Behind scheduling, every register that is live where the function begins is one, unless it is reserved: the stack
//! pointer has its value from there, and so have the registers that a caller hands over or wants back. What does that
//! in PTX is a variable that only some ways define: what none defines is a number by then.

use oriole_ir::{Function, FunctionKind, PhysicalReg, Reg, RegFile};
use oriole_pass::analysis::{Cfg, Liveness, Uninitialized};

use crate::allocate::SAVED;
use crate::select::{RETURN, STACK};

/// The number of the warning.
pub const WARNING: u32 = 0x1e14;

/// The registers of a function in physical form that this is true of. `given` are words that a caller has put something
/// into.
pub fn find(func: &Function, given: &[u16]) -> Vec<Uninitialized> {
    let cfg = Cfg::new(func);
    let mut found = Uninitialized::find(func, &cfg, &Liveness::solve(func, &cfg));
    found.retain(|found| !is_reserved(func, found.reg, given));
    found
}

/// Whether a register has its value where the function begins (bit 0x20 of ptxas's register).
fn is_reserved(func: &Function, reg: Reg, given: &[u16]) -> bool {
    let Some(PhysicalReg { file, number, .. }) = PhysicalReg::of(reg) else { return false };
    let number = u16::from(number);
    let is_handed = given.contains(&number) || SAVED.contains(&number) || (RETURN..RETURN + 2).contains(&number);
    let is_callers = func.kind == FunctionKind::Device && (is_handed || file == RegFile::B);
    number == STACK && file == RegFile::R || is_callers && file != RegFile::P
}
