//! The rows of the table as the IR has them: a row for each mnemonic, whatever the SM.
//!
//! [`register`] makes them known to the process. Whoever reads a text of the machine level, or lifts words, does so
//! first.

use oriole_ir::MachineRow;
use oriole_ir::machine::{self, HandsOver, MachineTable};
use oriole_ir::ops::Opcode;

use crate::class::{Class, Flow, Latency, Memory, Order, STABLE, Sources, Space};
use crate::row::{RESERVED, Row, Show, What};
use crate::table;

/// Makes the instructions of the machine known to this process; the rows by their numbers.
pub fn register() -> &'static MachineTable {
    machine::register(rows)
}

/// The parts of the name of a modifier with which an access is ordered with those of other threads.
const STRONG: [&str; 3] = ["STRONG", "MMIO", "ORDERED"];

fn rows() -> Vec<MachineRow> {
    let mut rows: Vec<MachineRow> = Vec::new();
    for row in table::rows() {
        let at = rows.iter().position(|known| known.name == row.name).unwrap_or_else(|| {
            rows.push(MachineRow {
                name: row.name,
                modifiers: Vec::new(),
                opcode: opcode(&row.class),
                ordered_by: Vec::new(),
                stable: (row.class.order == Order::Special).then_some(STABLE),
                copies: COPIES.contains(&row.name),
                reads_late: false,
                latency: Some(0),
                hands_over: hands_over(row.class.flow),
            });
            rows.len() - 1
        });
        let known = &mut rows[at];
        known.reads_late |= row.class.sources == Sources::Later;
        known.latency = match row.class.latency {
            Latency::Fixed(cycles) => known.latency.map(|known| known.max(cycles)),
            Latency::Variable => None,
        };
        let new: Vec<&str> = modifiers(row).filter(|name| !known.modifiers.contains(name)).collect();
        for name in new {
            if !known.modifiers.contains(&name) {
                known.modifiers.push(name);
            }
        }
    }
    for row in rows.iter_mut().filter(|row| matches!(row.opcode, Opcode::MachineLoad | Opcode::MachineStore)) {
        let is_strong = |name: &&&str| name.split('.').any(|word| STRONG.contains(&word));
        row.ordered_by = row.modifiers.iter().filter(is_strong).copied().collect();
    }
    rows
}

/// The mnemonics whose result is their first source.
const COPIES: [&str; 4] = ["MOV", "MOV.64", "UMOV", "UMOV.64"];

/// The names of all modifiers of a row.
fn modifiers(row: &Row) -> impl Iterator<Item = &'static str> {
    let written = row.parts.iter().filter(|part| part.show != Show::Never);
    let names = written.filter_map(|part| match part.what {
        What::Modifier(names) => Some(names),
        _ => None,
    });
    names.flatten().copied().filter(|name| !name.is_empty() && *name != RESERVED)
}

/// When control continues in code that is not part of the function.
fn hands_over(flow: Flow) -> HandsOver {
    match flow {
        Flow::Next | Flow::Leave => HandsOver::Never,
        Flow::Call | Flow::Return => HandsOver::Always,
        Flow::Jump => HandsOver::WithoutTargets,
    }
}

/// The opcode of the IR whose flags say what a class says.
fn opcode(class: &Class) -> Opcode {
    if class.flow.ends_block() {
        return Opcode::MachineJump;
    }
    match (class.order, class.memory, class.convergent) {
        (Order::Free | Order::Special, Memory::None, false) => Opcode::MachinePure,
        (Order::Free, Memory::Read, false) if class.space == Space::Constant => Opcode::MachinePure,
        (Order::Free, Memory::Read, false) => Opcode::MachineLoad,
        (Order::Free, Memory::Write, false) => Opcode::MachineStore,
        (Order::Free, Memory::Update, false) => Opcode::MachineAtomic,
        (Order::Free, Memory::None, true) => Opcode::MachineCollective,
        (Order::State, Memory::None, false) => Opcode::MachineState,
        _ => Opcode::MachineOp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SMS, Table, ori::operands, sample};

    /// A word's mnemonic leads to a row with the effects of its encoding. A modifier of one SM may be part of the name
    /// on another one.
    #[test]
    fn words_have_the_identity_of_their_row() {
        let table = register();
        let mut state = 1u64;
        let mut next = move || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (state ^ state >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 7
        };
        for encoding in SMS.into_iter().filter_map(Table::of).flat_map(Table::encodings) {
            for _ in 0..32 {
                let word = sample::word(encoding, true, &mut next);
                let mnemonic = operands::mnemonic(encoding, word);
                let id = table.identify(&mnemonic).unwrap_or_else(|| panic!("{mnemonic} has no row"));
                let row = table.row(id.row).expect("a row");
                assert_eq!(row.opcode, opcode(&encoding.class), "{mnemonic}");
                let text = id.codes().filter_map(|code| row.modifier(code));
                assert_eq!(text.fold(row.name.to_owned(), |text, name| text + "." + name), mnemonic);
            }
        }
    }

    #[test]
    fn rows_say_what_phases_ask() {
        let table = register();
        let opcode = |name: &str| {
            let id = table.identify(name).unwrap_or_else(|| panic!("{name}"));
            table.row(id.row).expect("a row").opcode
        };
        for (name, expected) in [
            ("IADD3.X", Opcode::MachinePure),
            ("LDC.64", Opcode::MachinePure),
            ("S2R", Opcode::MachinePure),
            ("LDG.E.64", Opcode::MachineLoad),
            ("STS.128", Opcode::MachineStore),
            ("ATOMG.E.ADD.STRONG.GPU", Opcode::MachineAtomic),
            ("SHFL.BFLY", Opcode::MachineCollective),
            ("NOP", Opcode::MachineState),
            ("BAR.SYNC.DEFER_BLOCKING", Opcode::MachineOp),
            ("BSSY", Opcode::MachineOp),
            ("CALL.REL.NOINC", Opcode::MachineOp),
            ("RET.REL.NODEC", Opcode::MachineJump),
        ] {
            assert_eq!(opcode(name), expected, "{name}");
        }
        let load = table.rows().iter().find(|row| row.name == "LDG").expect("a row");
        assert!(load.ordered_by.contains(&"STRONG.SYS") && !load.ordered_by.contains(&"CONSTANT"));
    }
}
