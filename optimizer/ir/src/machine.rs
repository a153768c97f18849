//! What an instruction of the machine is: the number of a row, and the codes of its modifiers.
//!
//! Which instructions there are, what their words look like and what they do, the rows of the crate `sass` say. This
//! crate does not know that crate: it has the columns that parser, printer, verifier and analyses ask for
//! ([`MachineRow`]), and `sass` fills a table of them, once for a process ([`register`]). So the text form says
//! `IADD3.X`, an instruction holds a number and two bytes of codes, and what it does follows from its opcode as it does
//! for all others: rows that do the same have one opcode ([`MachineRow::opcode`]), whose flags the phases read.
//!
//! A table for the process, and not one for each module: the mnemonics do not depend on the SM, and a text is read
//! before there is a module. `MachineOp` and its kin keep the identity in the bytes of [`FieldValues`], which they have
//! no other use for, so that equal instructions are equal bytes and an instruction does not grow.
//!
//! **Invariant:** a mnemonic with its modifiers has one identity, whoever makes it, and the identity's text is that
//! mnemonic.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::entity::Inst;
use super::form::Form;
use super::function::Function;
use super::inst::InstData;
use super::operand::Operand;
use super::schedule::Schedule;
use crate::ops::{FieldValues, Flags, MAX_FIELDS, Opcode};

/// The most modifiers that an instruction has.
pub const MAX_MODIFIERS: usize = MAX_FIELDS - 2;

/// What follows a mnemonic before the number of a bit that its operands do not say.
const BIT: &str = "bit";

/// What is true of a mnemonic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MachineRow {
    /// The mnemonic, with modifiers that are always there.
    pub name: &'static str,
    /// The names of its modifiers: code `n` is the name at `n - 1`.
    pub modifiers: Vec<&'static str>,
    /// The opcode of its instructions.
    pub opcode: Opcode,
    /// The modifiers, by their names, with which it does everything that an instruction can do: strong accesses.
    pub ordered_by: Vec<&'static str>,
    /// Where the first named operand decides: the names with which the opcode is the one above, where others make it an
    /// instruction that stays.
    pub stable: Option<&'static [&'static str]>,
    /// Whether the result is the first source, in all lanes where no mask of lanes says otherwise.
    pub copies: bool,
    /// Whether sources are read some time after it issues, on some SM: an instruction behind it may overwrite them.
    pub reads_late: bool,
    /// After how many cycles its results are there, on every SM; `None` where a barrier says so on one of them.
    pub latency: Option<u8>,
    /// When control continues in code that is not part of the function, which may read and write any register.
    pub hands_over: HandsOver,
}

/// When an instruction hands the registers over to code that is not part of its function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HandsOver {
    /// Never.
    Never,
    /// Always: calls and returns.
    Always,
    /// Where none of its operands is a block: jumps to an address.
    WithoutTargets,
}

/// The rows, by their numbers, and by the first words of their mnemonics.
#[derive(Debug)]
pub struct MachineTable {
    rows: Vec<MachineRow>,
    families: HashMap<&'static str, Vec<u16>>,
}

static TABLE: OnceLock<MachineTable> = OnceLock::new();

/// Makes the rows known to this process, unless there are some.
pub fn register(rows: impl FnOnce() -> Vec<MachineRow>) -> &'static MachineTable {
    TABLE.get_or_init(|| MachineTable::new(rows()))
}

/// The rows of this process, if some are known.
pub fn table() -> Option<&'static MachineTable> {
    #[cfg(test)]
    register(tests::rows);
    TABLE.get()
}

/// The number of a row, and the codes of the modifiers in the order of the text; behind them zeros.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MachineId {
    /// The row's number.
    pub row: u16,
    /// The codes.
    pub modifiers: [u8; MAX_MODIFIERS],
}

impl MachineId {
    /// The identity as an instruction holds it.
    pub fn fields(self) -> FieldValues {
        let mut fields = FieldValues::default();
        fields.0[..2].copy_from_slice(&self.row.to_le_bytes());
        fields.0[2..].copy_from_slice(&self.modifiers);
        fields
    }

    /// The identity that an instruction of the machine holds.
    pub fn of(fields: FieldValues) -> MachineId {
        let [low, high, modifiers @ ..] = fields.0;
        MachineId { row: u16::from_le_bytes([low, high]), modifiers }
    }

    /// The codes of its modifiers.
    pub fn codes(&self) -> impl Iterator<Item = u8> + '_ {
        self.modifiers.iter().copied().take_while(|code| *code != 0)
    }
}

impl MachineTable {
    fn new(rows: Vec<MachineRow>) -> MachineTable {
        let mut families: HashMap<&'static str, Vec<u16>> = HashMap::new();
        for (number, row) in (0..).zip(&rows) {
            assert!(row.modifiers.len() <= u8::MAX.into(), "{} has more modifiers than codes", row.name);
            families.entry(family(row.name)).or_default().push(number);
        }
        // `LEA.HI.X` is `LEA.HI` with a modifier, not `LEA` with two.
        for numbers in families.values_mut() {
            numbers.sort_by_key(|number| std::cmp::Reverse(rows[usize::from(*number)].name.len()));
        }
        MachineTable { rows, families }
    }

    /// A row.
    pub fn row(&self, number: u16) -> Option<&MachineRow> {
        self.rows.get(usize::from(number))
    }

    /// All rows, by their numbers.
    pub fn rows(&self) -> &[MachineRow] {
        &self.rows
    }

    /// The mnemonic with its modifiers of an identity.
    pub fn mnemonic(&self, id: MachineId) -> Option<String> {
        let row = self.row(id.row)?;
        let modifiers = id.codes().filter_map(|code| row.modifier(code));
        Some(modifiers.fold(row.name.to_owned(), |text, name| text + "." + name))
    }

    /// What a mnemonic with its modifiers is.
    pub fn identify(&self, mnemonic: &str) -> Option<MachineId> {
        let numbers = self.families.get(family(mnemonic))?;
        numbers.iter().find_map(|number| {
            let row = &self.rows[usize::from(*number)];
            let rest = mnemonic.strip_prefix(row.name)?;
            let mut modifiers = [0; MAX_MODIFIERS];
            row.codes(rest, &mut modifiers).then_some(MachineId { row: *number, modifiers })
        })
    }

    /// The mnemonics that begin with the same word as another text, or with the same two letters.
    pub fn similar(&self, mnemonic: &str) -> Vec<&'static str> {
        let letters = mnemonic.get(..2).unwrap_or(mnemonic);
        let names = || self.rows.iter().map(|row| row.name);
        let alike: Vec<_> = names().filter(|name| family(name) == family(mnemonic)).collect();
        if alike.is_empty() { names().filter(|name| name.starts_with(letters)).collect() } else { alike }
    }
}

/// A mnemonic up to its first dot.
fn family(mnemonic: &str) -> &str {
    mnemonic.split('.').next().unwrap_or(mnemonic)
}

impl MachineRow {
    /// Finds the codes of modifiers that a text names one after another, each behind a dot. Of names that fit, the
    /// longest that leaves names for the rest.
    fn codes(&self, text: &str, codes: &mut [u8]) -> bool {
        let Some(text) = text.strip_prefix('.') else { return text.is_empty() };
        let Some((code, rest)) = codes.split_first_mut() else { return false };
        let fits = |name: &str| {
            text.strip_prefix(name).filter(|left| left.is_empty() || left.starts_with('.')).map(|_| name.len())
        };
        let mut fitting: Vec<(usize, u8)> =
            (1..).zip(&self.modifiers).filter_map(|(number, name)| Some((fits(name)?, number))).collect();
        fitting.sort_unstable_by_key(|(len, _)| std::cmp::Reverse(*len));
        let found = fitting.iter().find(|(len, _)| {
            rest.fill(0);
            self.codes(&text[*len..], rest)
        });
        *code = found.map_or(0, |(_, number)| *number);
        found.is_some()
    }

    /// The name of a modifier's code.
    pub fn modifier(&self, code: u8) -> Option<&'static str> {
        usize::from(code).checked_sub(1).and_then(|at| self.modifiers.get(at)).copied()
    }

    /// The opcode of an instruction with these modifiers and sources.
    fn opcode_of(&self, id: MachineId, func: &Function, srcs: &[Operand]) -> Opcode {
        let is_ordered = |code| self.modifier(code).is_some_and(|name| self.ordered_by.contains(&name));
        if id.codes().any(is_ordered) || self.copies && !copies_all_lanes(func, srcs) {
            return Opcode::MachineOp;
        }
        let named = || srcs.iter().find_map(|operand| func.text(*operand));
        match self.stable {
            Some(stable) if !named().is_some_and(|name| stable.contains(&name)) => Opcode::MachineState,
            _ => self.opcode,
        }
    }
}

/// The lanes of a quad that a copy writes, as its second source says.
const ALL_LANES: u64 = 0xf;

fn copies_all_lanes(func: &Function, srcs: &[Operand]) -> bool {
    srcs.get(1).is_none_or(|mask| func.imm_bits(*mask) == Some(ALL_LANES))
}

impl InstData {
    /// What an instruction of the machine is; `None` for others.
    pub fn machine(&self) -> Option<MachineId> {
        self.is(Flags::MACHINE).then(|| MachineId::of(self.fields))
    }

    /// The row of an instruction of the machine.
    pub fn machine_row(&self) -> Option<&'static MachineRow> {
        table()?.row(self.machine()?.row)
    }
}

impl Function {
    /// The opcode of an instruction of the machine with these sources. Jumps and what the next instruction follows are
    /// told apart by their rows.
    pub fn machine_opcode(&self, id: MachineId, srcs: &[Operand]) -> Option<Opcode> {
        Some(table()?.row(id.row)?.opcode_of(id, self, srcs))
    }

    /// The mnemonic of an instruction of the machine with its modifiers.
    pub fn mnemonic(&self, inst: Inst) -> Option<String> {
        table()?.mnemonic(self.inst(inst).machine()?)
    }

    /// Whether scheduling leaves nothing to overlap: whoever reads or writes registers waits for every barrier that
    /// the code sets, and issues when the results before it are there. Then each instruction can be left out or do
    /// something shorter, whatever the others wait for.
    ///
    /// An instruction that takes an unknown time on some SM sets a barrier, or stalls as long as there is: on this SM
    /// its cycles are counted.
    pub fn is_serial(&self) -> bool {
        let schedules = || self.layout_insts().filter_map(|inst| Some((inst, self.schedule(inst)?)));
        let set = schedules().flat_map(|(_, schedule)| [schedule.write_barrier, schedule.read_barrier]).flatten();
        let barriers = set.fold(0u8, |all, barrier| all | 1u8.checked_shl(barrier.into()).unwrap_or(0));
        schedules().all(|(inst, schedule)| {
            let (reads, writes) = (self.uses(inst).next().is_some(), self.defs(inst).next().is_some());
            let waits = schedule.wait_mask & barriers == barriers;
            let (row, longest) = (self.inst(inst).machine_row(), schedule.stall == Schedule::MAX_STALL);
            let is_there = match row.and_then(|row| row.latency) {
                Some(cycles) => schedule.stall >= cycles,
                None => schedule.write_barrier.is_some() || longest,
            };
            // A barrier for results covers the sources, too.
            let is_read = !row.is_some_and(|row| row.reads_late)
                || schedule.read_barrier.or(schedule.write_barrier).is_some()
                || longest;
            !(reads || writes) || waits && (!writes || is_there) && (!reads || is_read)
        })
    }

    /// The bits of a machine word that an instruction's operands do not say, and that are other than usual.
    pub fn unsaid_bits(&self, inst: Inst) -> u128 {
        self.unsaid.get(&inst).copied().unwrap_or(0)
    }

    /// Whether an instruction of the machine calls a function, which comes back.
    pub fn is_machine_call(&self, inst: Inst) -> bool {
        let data = self.inst(inst);
        data.opcode != Opcode::MachineJump && data.machine_row().is_some_and(|row| row.hands_over == HandsOver::Always)
    }

    /// Whether an instruction hands the registers over to code that is not part of the function: it may read and write
    /// any of them. Registers of other forms than the physical one belong to the function alone.
    pub fn hands_over(&self, inst: Inst) -> bool {
        let rule = self.inst(inst).machine_row().map_or(HandsOver::Never, |row| row.hands_over);
        let has_targets = || self.srcs(inst).iter().any(|operand| operand.block().is_some());
        let hands_over = rule == HandsOver::Always || rule == HandsOver::WithoutTargets && !has_targets();
        hands_over && self.form == Form::Physical
    }

    /// What a copy of the machine copies: the source of an instruction that moves it whole into its one result.
    pub fn machine_copy(&self, inst: Inst) -> Option<Operand> {
        let data = self.inst(inst);
        let is_copy = data.opcode == Opcode::MachinePure && data.machine_row().is_some_and(|row| row.copies);
        if !is_copy || self.dsts(inst).len() != 1 {
            return None;
        }
        self.srcs(inst).first().copied()
    }
}

/// A mnemonic with the bits that operands do not say behind it.
pub(super) fn with_bits(mnemonic: String, bits: u128) -> String {
    let set = (0..u128::BITS).filter(|bit| bits >> bit & 1 == 1);
    set.fold(mnemonic, |text, bit| format!("{text}.{BIT}{bit}"))
}

/// A mnemonic without the bits that follow it, and these.
pub(super) fn without_bits(mut mnemonic: &str) -> (&str, u128) {
    let mut bits = 0;
    while let Some((before, last)) = mnemonic.rsplit_once('.') {
        let number = last.strip_prefix(BIT).and_then(|number| number.parse::<u32>().ok());
        let Some(bit) = number.and_then(|number| 1u128.checked_shl(number)) else { break };
        bits ^= bit;
        mnemonic = before;
    }
    (mnemonic, bits)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn row(name: &'static str, opcode: Opcode, modifiers: &[&'static str]) -> MachineRow {
        let modifiers = modifiers.to_vec();
        let hands_over = if name.starts_with("CALL") { HandsOver::Always } else { HandsOver::Never };
        let reads_late = !matches!(opcode, Opcode::MachinePure | Opcode::MachineJump);
        let ordered_by = Vec::new();
        let latency = Some(4);
        MachineRow { name, modifiers, opcode, ordered_by, stable: None, copies: false, reads_late, latency, hands_over }
    }

    /// The rows that texts of this crate's tests have.
    pub(crate) fn rows() -> Vec<MachineRow> {
        vec![
            row("IADD3", Opcode::MachinePure, &["X"]),
            row("LEA", Opcode::MachinePure, &["X", "HI"]),
            row("LEA.HI", Opcode::MachinePure, &["X", "SX32"]),
            MachineRow { copies: true, ..row("MOV", Opcode::MachinePure, &[]) },
            MachineRow { stable: Some(&["SR_TID.X"]), ..row("S2R", Opcode::MachinePure, &[]) },
            MachineRow {
                ordered_by: vec!["STRONG.SYS"],
                ..row("LDG", Opcode::MachineLoad, &["E", "64", "STRONG.SYS", "STRONG"])
            },
            row("STG", Opcode::MachineStore, &["E", "64"]),
            row("HFMA2", Opcode::MachinePure, &["BF16_V2"]),
            row("ISETP", Opcode::MachinePure, &["LT", "GE", "U32", "AND"]),
            row("BRA", Opcode::MachineJump, &["U"]),
            row("BRX", Opcode::MachineJump, &[]),
            row("EXIT", Opcode::MachineJump, &[]),
            row("CALL.REL", Opcode::MachineOp, &["NOINC"]),
            row("NOP", Opcode::MachineState, &[]),
            row("P2R", Opcode::MachinePure, &["B1"]),
        ]
    }

    #[test]
    fn mnemonics_have_one_identity_and_its_text_is_theirs() {
        let table = table().expect("tests have rows");
        for mnemonic in ["IADD3", "IADD3.X", "LEA.HI.X.SX32", "LEA.X", "LDG.E.64.STRONG.SYS", "CALL.REL.NOINC"] {
            let id = table.identify(mnemonic).unwrap_or_else(|| panic!("{mnemonic}"));
            assert_eq!(MachineId::of(id.fields()), id);
            let row = table.row(id.row).expect("a row");
            let text = id.codes().fold(row.name.to_owned(), |text, code| text + "." + row.modifier(code).unwrap());
            assert_eq!(text, mnemonic);
        }
        // The longest name first, and another way where it leaves something without a name.
        assert_eq!(table.row(table.identify("LEA.HI").unwrap().row).unwrap().name, "LEA.HI");
        assert_eq!(table.identify("LDG.E.STRONG.SYS").unwrap().codes().count(), 2);
        for wrong in ["IADD", "IADD3.Y", "IADD3.X.", "LDG.STRONG.E.SYS", "LEA.SX32", ""] {
            assert_eq!(table.identify(wrong), None, "{wrong}");
        }
        assert_eq!(table.similar("LEA.Q"), ["LEA", "LEA.HI"]);
    }

    #[test]
    fn bits_stand_behind_a_mnemonic() {
        assert_eq!(without_bits("IADD3.X.bit4.bit0"), ("IADD3.X", 0x11));
        assert_eq!(without_bits("IADD3.bit128"), ("IADD3.bit128", 0));
        assert_eq!(with_bits("IADD3.X".to_owned(), 0x11), "IADD3.X.bit0.bit4");
    }
}
