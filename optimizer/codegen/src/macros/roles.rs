//! The roles of instructions in macro expansion, as rows.
//!
//! The document dispatches by 20 opcodes and one bit (`spec/peephole.txt`, 669-687) whose names belong to other
//! instructions than its code handles. A row here has their numbers by what is done with them, and the instructions of
//! the machine that have the role.

use oriole_ir::{Function, Inst, RegFile};

/// The role of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    /// It copies a word: links of chains, and what fills a group.
    Copy,
    /// It stores a group, or hands one to memory: the last operand is the group.
    Stores,
    /// It loads a group: the result is one.
    Loads,
    /// It multiplies matrices: operands and results are groups.
    Tensor,
    /// It fetches from an image: places and what is beside them are groups, results are pairs.
    Fetch,
    /// It computes with pairs, or adds up over one: wide sources of sums and products.
    Wide,
    /// It takes words alone.
    Words,
}

/// A row.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The role.
    pub role: Role,
    /// The opcodes of the document that its code handles so.
    pub opcodes: &'static [u16],
    /// The families of mnemonics; of the last two, whatever has or lacks a wide operand.
    pub families: &'static [&'static str],
}

const fn row(role: Role, opcodes: &'static [u16], families: &'static [&'static str]) -> Row {
    Row { role, opcodes, families }
}

/// The roles. A family is in one row.
pub static ROLES: [Row; 7] = [
    row(Role::Copy, &[130, 137, 149], &["MOV"]),
    row(Role::Stores, &[29, 95, 97, 190], &["ST", "STG", "STS", "STL", "SUST", "RED", "REDG", "STSM"]),
    row(
        Role::Loads,
        &[60, 62, 78, 79, 96],
        &["LD", "LDG", "LDS", "LDL", "LDC", "SULD", "LDSM", "ATOM", "ATOMG", "ATOMS"],
    ),
    row(Role::Tensor, &[201, 202], &["HMMA", "IMMA", "DMMA", "BMMA", "QMMA", "HGMMA", "IGMMA", "MOVM"]),
    row(Role::Fetch, &[283], &["TEX", "TLD", "TLD4", "TXD", "TXQ", "SUATOM", "SURED"]),
    row(Role::Wide, &[10, 36, 151, 290], &[]),
    row(Role::Words, &[18], &[]),
];

/// The role of an instruction.
pub fn of(func: &Function, inst: Inst) -> Role {
    let data = func.inst(inst);
    let Some(machine) = data.machine_row() else { return Role::Words };
    if machine.copies {
        // Uniform copies stay in their file.
        let is_general = func.dsts(inst).first().and_then(|dst| func.operand_info(*dst));
        return if is_general.is_some_and(|info| info.file == RegFile::R) { Role::Copy } else { Role::Words };
    }
    let family = machine.name.split('.').next().unwrap_or_default();
    let named = ROLES.iter().find(|row| row.families.contains(&family));
    let is_wide = || {
        let operands = func.dsts(inst).iter().chain(func.inputs(inst));
        let infos = operands.filter_map(|operand| func.operand_info(*operand));
        infos.into_iter().any(|info| info.words > 1 && info.file == RegFile::R)
    };
    match named {
        Some(row) => row.role,
        None if is_wide() => Role::Wide,
        None => Role::Words,
    }
}
