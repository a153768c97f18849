//! `oriole phases`, `oriole knobs` and `oriole ops`: the tables that everything derives from, as text.

mod documents;

use std::io::{self, Write};

use miette::miette;
use oriole_ir::ops::{Field, FieldSpec, Flags, OpRow, Opcode, ROWS};
use oriole_optimizer::pass::knobs::{self, KNOBS, Kind};
use oriole_optimizer::pass::options::{self, OPTIONS, Storage};
use oriole_optimizer::pass::{COLUMN_TITLES, Parameter, PassOption, Row, SecondRun};
use oriole_optimizer::pipeline::gates::{GATES, GateRow};
use oriole_optimizer::pipeline::nvopt::consumers;
use oriole_optimizer::pipeline::table::{NESTS, NVOPT, PASSES, PHASES, SUB_PASSES, SubPassRow};

use documents::{FieldItem, GateItem, KnobItem, OpItem, OptionItem, PhaseItem, SubPassItem};
pub use documents::{Knobs, Ops, Phases};

use crate::document::{self, Format};
use crate::failure::{Failure, Status};
use crate::table::Table;

/// Lists the phases in the order in which they run
///
/// Phases marked planned are known and never run; those marked "no work" have none here, and say why. The column
/// "document" has the document of spec/ that a phase comes from, and the line. A second table has the steps inside
/// phases that a token of their own addresses.
#[derive(clap::Args)]
pub struct PhasesArgs {
    /// List the passes of cicc instead; their order is that of the document
    #[arg(long)]
    cicc: bool,
    /// How the list is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Lists the knobs with their defaults
///
/// The column "document" has the document of spec/ that a knob comes from, and the line; for a knob of Oriole's own,
/// the line of the phase that asks for it. A second table has the gates: conditions that nobody sets by name, and what
/// decides them.
#[derive(clap::Args)]
pub struct KnobsArgs {
    /// List the options of cicc's passes instead
    #[arg(long)]
    cicc: bool,
    /// How the list is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Lists the opcodes, or explains one
#[derive(clap::Args)]
pub struct OpsArgs {
    /// The opcode's mnemonic, or the beginning of some
    name: Option<String>,
    /// How the list is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

impl OpItem {
    fn new(row: &OpRow) -> OpItem {
        let field = |spec: &FieldSpec| FieldItem {
            name: format!("{:?}", spec.field),
            values: spec.values().map(|value| spec.field.value_name(value)).collect(),
        };
        let flags = Flags::NAMES.iter().filter(|(flag, _)| row.flags.has(*flag));
        OpItem {
            name: row.name,
            level: level(row),
            ptx: row.ptx,
            results: row.dsts.iter().map(|shape| format!("{shape:?}")).collect(),
            operands: row.srcs.iter().map(|shape| format!("{shape:?}")).collect(),
            flags: flags.map(|(_, name)| *name).collect(),
            fields: row.fields.iter().map(field).collect(),
            since: row.since,
            cost: format!("{:?}", row.cost),
            latency: format!("{:?}", row.latency),
            undefined: format!("{:?}", row.undef),
            doc: row.doc,
        }
    }
}

fn level(row: &OpRow) -> String {
    format!("{:?}", row.level).to_lowercase()
}

impl PhaseItem {
    fn new(row: &Row) -> PhaseItem {
        PhaseItem {
            name: row.name,
            number: row.number,
            stage: row.stage.to_string(),
            status: row.status().to_string(),
            from_level: row.min_opt_level,
            on_by_default: !row.no_op_by_default,
            unit: row.unit.to_string(),
            needs: row.needs.to_string(),
            preserves: row.preserves.to_string(),
            second_run_may_go_on: row.second_run != SecondRun::ChangesNothing,
            tokens: row.tokens,
            arguments: row.parameters.iter().map(Parameter::to_string).collect(),
            page: row.source.map(|source| source.page.to_string()),
            line: row.source.map(|source| source.line),
            doc: row.doc,
        }
    }
}

/// Prints the phases, or the passes of cicc.
pub fn phases(args: &PhasesArgs, out: &mut dyn Write) -> Result<Status, Failure> {
    let rows = if args.cicc { PASSES } else { PHASES };
    match args.format {
        Format::Json => {
            let step = |row: &SubPassRow| SubPassItem {
                name: row.name,
                inside: row.inside,
                document: row.source.to_string(),
                doc: row.doc,
            };
            let steps = if args.cicc { Vec::new() } else { SUB_PASSES.iter().map(step).collect() };
            document::print(out, &Phases { phases: rows.iter().map(PhaseItem::new).collect(), steps })?;
        }
        Format::Text if args.cicc => {
            let mut table = Table::new(&["pass", "arguments", "unit", "status", "document", "what it does"]);
            let groups = |row: &Row| row.parameters.iter().map(Parameter::to_string).collect::<Vec<_>>().join(";");
            for row in std::iter::once(&NVOPT).chain(rows).chain(NESTS) {
                let (unit, status) = (row.unit.to_string(), row.status().to_string());
                table.row([row.name.into(), groups(row), unit, status, row.document(), row.doc.into()]);
            }
            table.print(out)?;
        }
        Format::Text => {
            let mut table = Table::new(&COLUMN_TITLES);
            rows.iter().for_each(|row| table.row(row.columns().map(String::from)));
            table.print(out)?;
            writeln!(out)?;
            let mut table = Table::new(&["step", "inside", "document", "what it does"]);
            for row in SUB_PASSES {
                table.row([row.name.into(), row.inside.into(), row.source.to_string(), row.doc.into()]);
            }
            table.print(out)?;
        }
    }
    Ok(Status::Clean)
}

impl OptionItem {
    fn new(option: PassOption) -> OptionItem {
        let row = option.row();
        let (kind, default) = match row.kind {
            options::Kind::Bool(on) => ("switch", if on { "on" } else { "off" }.to_owned()),
            options::Kind::Int(value) => ("number", value.to_string()),
            options::Kind::Text => ("text", String::new()),
        };
        OptionItem {
            name: row.key(),
            slot: row.slot,
            offset: row.offset(),
            storage: row.slot.map(|slot| Storage::of(slot).name()),
            kind,
            default,
            consumers: consumers(option),
            page: row.source.page.to_string(),
            line: row.source.line,
            doc: row.doc,
        }
    }
}

/// The first of those who ask an option, and how many more there are.
fn asked_by(consumers: &[String]) -> String {
    match consumers {
        [] => "-".to_owned(),
        [one] => one.clone(),
        [first, more @ ..] => format!("{first} and {} more", more.len()),
    }
}

fn cicc_options(format: Format, out: &mut dyn Write) -> io::Result<()> {
    let items: Vec<OptionItem> = PassOption::all().map(OptionItem::new).collect();
    if format == Format::Json {
        return document::print(out, &Knobs { knobs: Vec::new(), gates: Vec::new(), options: items });
    }
    let mut table =
        Table::new(&["option", ">slot", ">offset", "kind", "default", "document", "asked by", "what it controls"]);
    let number = |value: Option<u16>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
    for (row, item) in OPTIONS.iter().zip(items) {
        let (slot, offset) = (number(item.slot), number(item.offset));
        let document = row.source.to_string();
        let kind = item.storage.unwrap_or(item.kind).to_owned();
        table.row([
            item.name,
            slot,
            offset,
            kind,
            item.default,
            document,
            asked_by(&item.consumers),
            item.doc.to_owned(),
        ]);
    }
    table.print(out)
}

/// Prints the gates.
fn gates(out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new(&["gate", "in ptxas", "decided by", "document", "what it decides"]);
    for row in GATES {
        let (decided, document) = (row.decided.to_string(), row.source.to_string());
        table.row([row.name.into(), row.place.into(), decided, document, row.doc.into()]);
    }
    table.print(out)
}

/// Prints the knobs, or the options of cicc's passes.
pub fn knobs(args: &KnobsArgs, out: &mut dyn Write) -> Result<Status, Failure> {
    if args.cicc {
        cicc_options(args.format, out)?;
        return Ok(Status::Clean);
    }
    let defaults = knobs::Knobs::new();
    let items = KNOBS.iter().map(|row| KnobItem {
        name: row.name,
        rot13: row.rot13(),
        index: row.index,
        kind: kind_name(row.kind),
        default: defaults.text_of(row.knob),
        page: row.source.page.to_string(),
        line: row.source.line,
        unasked: row.unasked,
        doc: row.doc,
    });
    match args.format {
        Format::Json => {
            let gate = |row: &GateRow| GateItem {
                name: row.name,
                place: row.place,
                decided: row.decided.to_string(),
                document: row.source.to_string(),
                doc: row.doc,
            };
            let gates = GATES.iter().map(gate).collect();
            document::print(out, &Knobs { knobs: items.collect(), gates, options: Vec::new() })?;
        }
        Format::Text => {
            let mut table = Table::new(&["knob", ">index", "kind", "default", "document", "what it controls"]);
            for (row, item) in KNOBS.iter().zip(items) {
                let index = item.index.map_or("-".to_owned(), |index| index.to_string());
                let (name, kind, document) = (item.name.to_owned(), item.kind.to_owned(), row.source.to_string());
                let why = item.unasked.map_or(String::new(), |why| format!(" Nothing asks it: {why}."));
                table.row([name, index, kind, item.default, document, format!("{}{why}", item.doc)]);
            }
            table.print(out)?;
            writeln!(out)?;
            gates(out)?;
        }
    }
    Ok(Status::Clean)
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Flag(_) => "flag",
        Kind::Limit(_) => "limit",
        Kind::Number { .. } => "number",
        Kind::Real(_) => "real",
        Kind::InstructionGate => "instruction gate",
        Kind::FunctionGate => "function gate",
        Kind::Text => "text",
    }
}

/// Prints all opcodes, or all that is known about some.
pub fn ops(args: &OpsArgs, out: &mut dyn Write) -> Result<Status, Failure> {
    let named = named(args.name.as_deref())?;
    if args.format == Format::Json {
        document::print(out, &Ops { ops: named.into_iter().map(OpItem::new).collect() })?;
        return Ok(Status::Clean);
    }
    if args.name.is_none() {
        let mut table = Table::new(&["opcode", "level", "PTX", "what it does"]);
        for row in ROWS {
            table.row([row.name.to_owned(), level(row), row.ptx.unwrap_or("-").to_owned(), row.doc.to_owned()]);
        }
        table.print(out)?;
        return Ok(Status::Clean);
    }
    named.iter().try_for_each(|row| explain(out, row))?;
    Ok(Status::Clean)
}

/// The opcodes that are named so; all without a name.
fn named(name: Option<&str>) -> Result<Vec<&'static OpRow>, Failure> {
    let Some(name) = name else { return Ok(ROWS.iter().collect()) };
    let named: Vec<&'static OpRow> = match Opcode::from_name(name) {
        Some(opcode) => vec![opcode.row()],
        None => ROWS.iter().filter(|row| row.name.contains(name) || row.ptx == Some(name)).collect(),
    };
    if named.is_empty() {
        let help = "`oriole ops` lists them all";
        return Err(Failure::Input(miette!(help = help, "no opcode is named like `{name}`")));
    }
    Ok(named)
}

fn explain(out: &mut dyn Write, row: &OpRow) -> io::Result<()> {
    writeln!(out, "{}: {}", row.name, row.doc)?;
    writeln!(out, "  level     {}", level(row))?;
    writeln!(out, "  results   {:?}", row.dsts)?;
    writeln!(out, "  operands  {:?}", row.srcs)?;
    let flags = Flags::NAMES.iter().filter(|(flag, _)| row.flags.has(*flag));
    writeln!(out, "  flags     {}", flags.map(|(_, name)| *name).collect::<Vec<_>>().join(", "))?;
    for spec in row.fields {
        let shown = |value| match spec.field.value_name(value) {
            "" => "(nothing)".to_owned(),
            name => name.to_owned(),
        };
        let values: Vec<String> = spec.values().map(shown).collect();
        writeln!(out, "  field     {:?}: {}", spec.field, values.join(" "))?;
    }
    columns(out, row)?;
    for rule in row.requires {
        let (if_values, then_values) = (names(rule.field, rule.values), names(rule.then, rule.allowed));
        write!(out, "  rule      {:?} {if_values}", rule.field)?;
        if let Some((field, values)) = rule.also {
            write!(out, " with {field:?} {}", names(field, values))?;
        }
        writeln!(out, " needs {:?} {then_values}", rule.then)?;
    }
    Ok(())
}

/// The columns of a row that say how it behaves on the machine.
fn columns(out: &mut dyn Write, row: &OpRow) -> io::Result<()> {
    writeln!(out, "  since     sm_{}", row.since)?;
    for later in row.later {
        write!(out, "  later     sm_{}: {:?} {}", later.sm, later.field, names(later.field, later.values))?;
        if let Some((field, values)) = later.also {
            write!(out, " with {field:?} {}", names(field, values))?;
        }
        writeln!(out)?;
    }
    writeln!(out, "  cost      {:?}, rank {}", row.cost, row.rank)?;
    writeln!(out, "  latency   {:?}", row.latency)?;
    writeln!(out, "  undefined {:?}", row.undef)
}

/// The names of a field's values in a set.
fn names(field: Field, mask: u64) -> String {
    let values = (0..field.value_names().len() as u8).filter(|value| mask >> value & 1 == 1);
    let shown = |value| match field.value_name(value) {
        "" => "(nothing)",
        name => name,
    };
    values.map(shown).collect::<Vec<_>>().join(" ")
}
