//! The choices of encodings of the machine.

use std::io::{self, Write};

use oriole_optimizer::codegen::peephole::encodings::{CHOICES, DOCUMENT, Kind, pairs};

use crate::table::Table;

/// Lists the choices, and how many there are by the modifiers of `spec/peephole.txt`.
pub(super) fn list(out: &mut dyn Write) -> io::Result<()> {
    let of_pair = |name: &str| {
        pairs().zip(1..).find_map(|(pair, number): (_, usize)| match name {
            name if name == pair.primary.name => Some(format!("{number} primary")),
            name if name == pair.alternate.name => Some(format!("{number} alternate")),
            _ => None,
        })
    };
    let mut table = Table::new(&["choice", "pair", "SM", "before", "after"]);
    for choice in CHOICES {
        let pair = of_pair(choice.name).unwrap_or_else(|| "-".to_owned());
        let (before, after) = (choice.before.to_owned(), choice.after.to_owned());
        table.row([choice.name.to_owned(), pair, format!("sm_{}", choice.sm), before, after]);
    }
    table.print(out)?;
    writeln!(out)?;
    let mut table = Table::new(&["modifier", "here", "document", "what it is here"]);
    for (modifier, document) in DOCUMENT {
        let kind = Kind::NAMES.iter().find(|(kind, _)| kind.modifier() == modifier);
        let here = CHOICES.iter().filter(|choice| choice.kind.modifier() == modifier).count();
        let name = kind.map_or("-", |(_, name)| *name).to_owned();
        table.row([format!("{modifier:#04x}"), here.to_string(), document.to_string(), name]);
    }
    table.print(out)?;
    writeln!(out, "\n{} choices, {} pairs; the document has 244 and 36", CHOICES.len(), pairs().count())
}
