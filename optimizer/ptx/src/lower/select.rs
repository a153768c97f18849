//! Selection: from an instruction's name and modifiers to an opcode and its fields.
//!
//! The candidates are the rows that PTX spells with this base name. A row fits when each written modifier is one of
//! its fixed modifiers or a legal value of one of its fields, every field that must be written is, and no rule
//! of the row is broken. Type modifiers go from left to right; the others may be in any order. The
//! first row that fits is taken; rows are disjoint, so there is no second one.
//!
//! When none fits, the candidate that came closest explains what is wrong.

use crate::opaque::Opaque;
use crate::spelling::SPELLINGS;
use oriole_ir::ops::{Aligned, Field, FieldSpec, FieldValue, FieldValues, OpRow, Opcode, Requirement};

/// An opcode with its fields, as modifiers chose it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Selected {
    /// The opcode.
    pub opcode: Opcode,
    /// Its fields.
    pub fields: FieldValues,
    /// Whether a cache policy follows the operands; it is a hint and dropped.
    pub cache_policy: bool,
    /// Whether the carry flag is an operand (`addc`).
    pub carry_in: bool,
    /// Whether the carry flag is a result (`add.cc`).
    pub carry_out: bool,
}

/// What an instruction's text stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Choice {
    /// An opcode.
    Row(Selected),
    /// Something that is carried through.
    Opaque(Opaque),
}

/// Why no row fits.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    /// What is wrong, without the instruction's name.
    pub message: String,
    /// A few words for the marked place.
    pub label: String,
    /// What is legal.
    pub help: String,
}

/// How far a candidate came; later variants are closer, and the number of matched modifiers breaks ties.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Reached {
    Modifier,
    Missing,
    Rule,
}

type Attempt = Result<FieldValues, (Reached, usize, Refusal)>;

/// The fields that hold types, in the order in which types are written.
const TYPE_FIELDS: [Field; 6] =
    [Field::Type, Field::SrcType, Field::SecondType, Field::LeftElement, Field::RightElement, Field::Addend];
/// Those that have all of their names between them.
const TYPE_NAMES: [Field; 2] = [Field::Type, Field::LeftElement];

/// The first version of PTX in which these operations say how precise they are, and in which `wmma` says `.aligned`.
const PRECISION: (u8, u8) = (1, 4);
const ALIGNED: (u8, u8) = (6, 3);

/// Modifiers of which the first that fits is implied where the text leaves them out (PTX ISA, "div": "For PTX ISA
/// versions 1.0 through 1.3, the default modifier is .approx", and so "rcp" to "ex2", but for what has to round;
/// "wmma.load": `.aligned` is "considered implicit in PTX ISA versions less than 6.3").
fn implied(base: &str, version: (u8, u8)) -> &'static [&'static str] {
    match base {
        "mad" => &["rn"],
        "fence" => &["acq_rel"],
        "div" | "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "lg2" | "ex2" if version < PRECISION => &["approx", "rn"],
        "wmma" if version < ALIGNED => &["aligned"],
        _ => &[],
    }
}

/// The opcode and fields that an instruction's text stands for in a version of PTX.
pub(super) fn select(base: &str, written: &[&str], version: (u8, u8)) -> Result<Selected, Refusal> {
    let mut modifiers = normalise(written);
    let cache_policy = take(&mut modifiers, "L2::cache_hint");
    let result = select_row(base, &modifiers).or_else(|refusal| {
        let with = |modifier: &&str| select_row(base, &[&modifiers[..], &[*modifier]].concat()).ok();
        implied(base, version).iter().find_map(with).ok_or(refusal)
    });
    let (opcode, mut fields) = result.map_err(|closest| explain(base, closest))?;
    if base == "bar"
        && let Some(slot) = opcode.row().slot(Field::Aligned)
    {
        fields.0[slot] = Aligned::Aligned.index();
    }
    let carry_in = matches!(base, "addc" | "subc" | "madc");
    Ok(Selected { opcode, fields, cache_policy, carry_in, carry_out: modifiers.contains(&"cc") })
}

fn take(modifiers: &mut Vec<&str>, name: &str) -> bool {
    let at = modifiers.iter().position(|modifier| *modifier == name);
    at.map(|at| modifiers.remove(at)).is_some()
}

/// Joins two-token modifiers and replaces synonyms.
fn normalise<'a>(written: &[&'a str]) -> Vec<&'a str> {
    let mut out = Vec::with_capacity(written.len());
    let mut rest = written.iter().copied().peekable();
    while let Some(modifier) = rest.next() {
        let joined = match (modifier, rest.peek()) {
            ("mmio", Some(&"relaxed")) => Some("mmio.relaxed"),
            ("xorsign", Some(&"abs")) => Some("xorsign.abs"),
            ("xor", Some(&"popc")) => Some("xor.popc"),
            ("and", Some(&"popc")) => Some("and.popc"),
            _ => None,
        };
        if let Some((shape, inner)) = group_shape(modifier) {
            out.extend([shape, inner]);
            continue;
        }
        if let Some(joined) = joined {
            rest.next();
            out.push(joined);
            continue;
        }
        match modifier {
            "weak" => {}
            "param::entry" | "param::func" => out.push("param"),
            other => out.push(other),
        }
    }
    out
}

/// The two parts of the shape of a warpgroup's product: `m64n8k16` has 64 rows and 8 columns, and 16 pairs for each
/// element.
fn group_shape(modifier: &str) -> Option<(&str, &str)> {
    let at = modifier.strip_prefix("m64n")?.find('k')?;
    Some(modifier.split_at("m64n".len() + at))
}

/// The first row that fits, or the closest candidate's complaint; `None` where there is no candidate.
fn select_row(base: &str, modifiers: &[&str]) -> Result<(Opcode, FieldValues), Option<Refusal>> {
    let mut closest: Option<(Reached, usize, Refusal)> = None;
    let spelled = SPELLINGS.iter().filter(|s| s.base == base).map(|s| (s.opcode, Fixed::List(s.fixed)));
    let rows = Opcode::from_ptx(base).iter().map(|op| (*op, Fixed::Dotted(op.row().ptx.unwrap_or(""))));
    for (opcode, fixed) in rows.chain(spelled) {
        match fit(base, opcode.row(), fixed, modifiers) {
            Ok(fields) => return Ok((opcode, fields)),
            Err(failed) => {
                if closest.as_ref().is_none_or(|best| (&failed.0, failed.1) > (&best.0, best.1)) {
                    closest = Some(failed);
                }
            }
        }
    }
    Err(closest.map(|(_, _, refusal)| refusal))
}

/// The modifiers that belong to an opcode's name.
#[derive(Clone, Copy)]
enum Fixed {
    /// Behind the base name, dotted.
    Dotted(&'static str),
    List(&'static [&'static str]),
}

impl Fixed {
    fn each(self) -> impl Iterator<Item = &'static str> {
        let (dotted, list) = match self {
            Fixed::Dotted(name) => (name, &[][..]),
            Fixed::List(list) => ("", list),
        };
        dotted.split('.').skip(1).chain(list.iter().copied())
    }
}

fn fit(base: &str, row: &'static OpRow, fixed: Fixed, modifiers: &[&str]) -> Attempt {
    let mut used = 0u64;
    for name in fixed.each() {
        let at = modifiers.iter().enumerate().position(|(i, m)| used >> i.min(63) & 1 == 0 && *m == name);
        match at {
            Some(at) => used |= 1 << at.min(63),
            None => return Err((Reached::Modifier, used.count_ones() as usize, missing_fixed(base, name))),
        }
    }
    let mut values = row.default_fields();
    let mut assigned = 0u32;
    let mut types = TYPE_FIELDS.iter().filter_map(|field| row.slot(*field));
    let mut matched = used.count_ones() as usize;
    for (i, modifier) in modifiers.iter().enumerate() {
        if i < 64 && used >> i & 1 == 1 {
            continue;
        }
        let slot = match TYPE_NAMES.iter().find_map(|field| field.value_index(modifier)) {
            Some(_) => types.next().filter(|slot| legal_value(&row.fields[*slot], modifier).is_some()),
            None => (0..row.fields.len())
                .find(|slot| assigned >> slot & 1 == 0 && legal_value(&row.fields[*slot], modifier).is_some()),
        };
        let Some(slot) = slot else {
            return Err((Reached::Modifier, matched, bad_modifier(base, row, modifier)));
        };
        assigned |= 1 << slot;
        matched += 1;
        values.0[slot] = legal_value(&row.fields[slot], modifier).unwrap_or(0);
    }
    let missing = (0..row.fields.len()).find(|slot| row.fields[*slot].default.is_none() && assigned >> slot & 1 == 0);
    if let Some(slot) = missing {
        return Err((Reached::Missing, matched, missing_field(base, &row.fields[slot])));
    }
    match row.broken_rule(&values) {
        Some(rule) => Err((Reached::Rule, matched, broken_rule(row, rule, &values))),
        None => Ok(values),
    }
}

/// The index of a field's value that a modifier names. Where a field does not tell the CTA's shared memory apart, it is
/// `shared`.
fn legal_value(spec: &FieldSpec, name: &str) -> Option<u8> {
    let index = match spec.field.value_index(name) {
        None if name == "shared::cta" => spec.field.value_index("shared"),
        index => index,
    };
    index.filter(|index| !name.is_empty() && spec.legal >> index & 1 == 1)
}

/// `.a`, `.b` or `.c`: the values of a mask.
fn list_values(field: Field, mask: u64) -> String {
    let names: Vec<_> = (0..field.value_names().len() as u8)
        .filter(|v| mask >> v & 1 == 1)
        .map(|v| field.value_name(v))
        .map(|name| if name.is_empty() { "nothing".to_owned() } else { format!("`.{name}`") })
        .collect();
    match names.as_slice() {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

fn missing_fixed(base: &str, name: &str) -> Refusal {
    Refusal {
        message: format!("`{base}` needs the modifier `.{name}` here"),
        label: "modifier missing".into(),
        help: format!("write `{base}.{name}`, or check the other modifiers"),
    }
}

fn missing_field(base: &str, spec: &FieldSpec) -> Refusal {
    let what = match spec.field {
        field if TYPE_FIELDS.contains(&field) => "another type".to_owned(),
        field => format!("a modifier for {}", describe(field)),
    };
    Refusal {
        message: format!("`{base}` needs {what}"),
        label: "modifier missing".into(),
        help: format!("add {}", list_values(spec.field, spec.legal)),
    }
}

/// A field's name in words: `EvictL1` is `evict l1`.
fn describe(field: Field) -> String {
    let mut out = String::new();
    for ch in field.name().chars() {
        if ch.is_ascii_uppercase() && !out.is_empty() {
            out.push(' ');
        }
        out.push(ch.to_ascii_lowercase());
    }
    out
}

fn bad_modifier(base: &str, row: &OpRow, modifier: &str) -> Refusal {
    let field = row.fields.iter().find(|spec| spec.field.value_index(modifier).is_some());
    let help = match field {
        Some(spec) => format!("here it may be {}", list_values(spec.field, spec.legal)),
        None if row.fields.is_empty() => format!("`{base}` takes no modifiers here"),
        None => {
            let kinds: Vec<_> = row.fields.iter().map(|spec| describe(spec.field)).collect();
            format!("its modifiers are: {}", kinds.join(", "))
        }
    };
    Refusal { message: format!("`.{modifier}` does not fit `{base}` here"), label: "does not fit".into(), help }
}

fn broken_rule(row: &OpRow, rule: &Requirement, values: &FieldValues) -> Refusal {
    let value = |field: Field| row.slot(field).map_or("", |slot| field.value_name(values.0[slot]));
    let shown = |field: Field| match value(field) {
        "" => format!("no {}", describe(field)),
        name => format!("`.{name}`"),
    };
    Refusal {
        message: format!("{} does not go with {}", shown(rule.then), shown(rule.field)),
        label: "combination not allowed".into(),
        help: format!(
            "with {} the {} may be {}",
            shown(rule.field),
            describe(rule.then),
            list_values(rule.then, rule.allowed)
        ),
    }
}

fn explain(base: &str, closest: Option<Refusal>) -> Refusal {
    closest.unwrap_or_else(|| Refusal {
        message: format!("`{base}` is not an instruction"),
        label: "unknown instruction".into(),
        help: "PTX ISA 9.0 lists the instructions; check the spelling. One that is newer is carried through as it is \
               where its name is given with --opaque"
            .into(),
    })
}
