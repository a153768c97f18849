//! Declarations: variables of the module with several dimensions and other elements, addresses in initial values,
//! registers one by one.

use std::collections::HashMap;

use super::super::Entropy;
use super::numbers::{expression, integer, value};

/// How the variables of a module are declared: by name, the bytes of an element. Initial values of bytes are also
/// written as larger numbers. And the SM that it is for.
pub(super) struct Sizes<'t> {
    elements: HashMap<&'t str, u64>,
    sm: u32,
}

/// `.global .align 256 .b8 table[32] = {1, 2}`, taken apart.
struct Array<'t> {
    /// Up to the type.
    head: &'t str,
    name: &'t str,
    count: u64,
    values: Option<Vec<u64>>,
    line: &'t str,
}

impl<'t> Array<'t> {
    /// An array of bytes in a line outside of functions.
    fn of(line: &'t str) -> Option<Array<'t>> {
        let (head, rest) = line.strip_suffix(';')?.split_once(".b8 ")?;
        if head.contains('(') || ![".global", ".const", ".shared"].iter().any(|space| head.contains(space)) {
            return None;
        }
        let (name, rest) = rest.split_once('[')?;
        let (count, rest) = rest.split_once(']')?;
        let values = match rest.strip_prefix(" = {").and_then(|list| list.strip_suffix('}')) {
            Some(list) => Some(list.split(", ").map(value).collect::<Option<Vec<u64>>>()?),
            None if rest.is_empty() => None,
            None => return None,
        };
        Some(Array { head, name, count: count.parse().ok()?, values, line })
    }

    /// The bytes of an element in the new spelling: no larger than alignment and size allow.
    fn element(&self) -> u64 {
        let wanted = 1u64 << (super::entropy_of(self.line).below(4));
        let aligned = self.head.split_whitespace().skip_while(|word| *word != ".align").nth(1);
        let align: u64 = aligned.and_then(|align| align.parse().ok()).unwrap_or(1);
        if align >= wanted && self.count.is_multiple_of(wanted) { wanted } else { 1 }
    }
}

impl<'t> Sizes<'t> {
    pub fn of(text: &'t str) -> Sizes<'t> {
        let arrays = text.lines().filter_map(Array::of);
        let target = text.lines().find_map(|line| line.strip_prefix(".target sm_"));
        let digits = target.map(|target| target.split(|letter: char| !letter.is_ascii_digit()).next());
        let sm = digits.flatten().and_then(|digits| digits.parse().ok()).unwrap_or(0);
        Sizes { elements: arrays.map(|array| (array.name, array.element())).collect(), sm }
    }

    /// The bytes of an element of a variable; `None` for what is no array of the module.
    pub fn element(&self, name: &str) -> Option<u64> {
        self.elements.get(name).copied()
    }

    /// The number of the SM.
    pub fn sm(&self) -> u32 {
        self.sm
    }

    /// A line outside of functions: a variable in another spelling, anything else as it is.
    pub fn variable(&self, line: &str, entropy: &mut Entropy<'_>) -> String {
        let Some(array) = Array::of(line) else { return line.to_owned() };
        let bytes = array.element();
        let count = array.count / bytes;
        let rows: Vec<u64> = [1, 2, 4].into_iter().filter(|rows| count.is_multiple_of(*rows)).collect();
        let (rows, planes) = (entropy.choose(&rows), if entropy.percent(30) { "[1]" } else { "" });
        let columns = count / rows;
        let dimensions =
            if rows > 1 { format!("[{}][{columns}]", integer(rows, entropy)) } else { format!("[{count}]") };
        let ty = [["b8", "u8"], ["b16", "u16"], ["b32", "s32"], ["b64", "u64"]][bytes.ilog2() as usize];
        let head = format!("{}.{} {}{planes}{dimensions}", array.head, entropy.choose(&ty), array.name);
        let Some(values) = array.values else { return head + ";" };
        let elements = values.chunks(bytes as usize).map(|chunk| {
            let whole = chunk.iter().rev().fold(0, |whole, byte| whole << 8 | byte);
            if entropy.percent(10) { expression(whole, entropy) } else { integer(whole, entropy) }
        });
        let elements: Vec<String> = elements.collect();
        let row = |row: &[String]| row.join(", ");
        let mut list = match rows {
            1 => row(&elements),
            _ => elements
                .chunks(columns as usize)
                .map(|chunk| format!("{{{}}}", row(chunk)))
                .collect::<Vec<_>>()
                .join(", "),
        };
        if !planes.is_empty() {
            list = format!("{{{list}}}");
        }
        format!("{head} = {{{list}}};")
    }
}

/// A variable outside of functions whose initial value holds addresses, `.global .align 8 .u64 t[2] = {a+4, 7}`, in
/// another spelling; `None` for any other line.
pub(super) fn addresses(line: &str, entropy: &mut Entropy<'_>) -> Option<String> {
    let (head, given) = line.strip_suffix(';')?.split_once(" = ")?;
    let list = given.strip_prefix('{').and_then(|given| given.strip_suffix('}'));
    let values: Vec<&str> = list.unwrap_or(given).split(", ").collect();
    if head.contains('(') || !head.contains(".u64 ") && !head.contains(".u32 ") || !values.iter().any(is_address) {
        return None;
    }
    if let Some(text) = masked(head, &values, entropy) {
        return Some(text);
    }
    let spelled = values.into_iter().map(|text| match is_address(&text) {
        true => address(text, entropy),
        false => Some(integer(value(text)?, entropy)),
    });
    let spelled = spelled.collect::<Option<Vec<String>>>()?.join(", ");
    Some(match (list, head.split_once('[')) {
        (Some(_), Some((name, count))) if entropy.percent(30) => format!("{name}[1][{count} = {{{{{spelled}}}}};"),
        (Some(_), _) => format!("{head} = {{{spelled}}};"),
        (None, _) => format!("{head} = {spelled};"),
    })
}

fn is_address(value: &&str) -> bool {
    !value.starts_with(|first: char| first.is_ascii_digit())
}

/// Such a variable as an array of bytes, each of which is cut out of its address by a mask: `0xFF00(a+4)`. Seldom, and
/// only where its alignment is written, as bytes have none of their own.
fn masked(head: &str, values: &[&str], entropy: &mut Entropy<'_>) -> Option<String> {
    let (before, rest) = head.split_once(".u64 ").filter(|(before, _)| before.contains(".align "))?;
    let name = rest.split('[').next()?;
    if !entropy.percent(25) {
        return None;
    }
    let mut bytes = Vec::with_capacity(8 * values.len());
    for text in values {
        if is_address(text) {
            let address = address(text, entropy)?;
            bytes.extend((0..8).map(|byte| format!("0x{:X}({address})", 0xFFu64 << (8 * byte))));
        } else {
            bytes.extend(value(text)?.to_le_bytes().map(|byte| integer(byte.into(), entropy)));
        }
    }
    Some(format!("{before}.u8 {name}[{}] = {{{}}};", bytes.len(), bytes.join(", ")))
}

/// `a+4` or `generic(a)+4`, with the offset as another number.
fn address(text: &str, entropy: &mut Entropy<'_>) -> Option<String> {
    let (symbol, offset) = text.split_once('+').unwrap_or((text, "0"));
    Some(symbol.to_owned() + &distance(offset.parse().ok()?, entropy))
}

/// What follows a symbol: nothing, a number, or one that is negative.
fn distance(offset: i64, entropy: &mut Entropy<'_>) -> String {
    let number = integer(offset.unsigned_abs(), entropy);
    match offset {
        0 if entropy.percent(70) => String::new(),
        0.. => format!("+{number}"),
        _ if entropy.percent(50) => format!("+-{}", offset.unsigned_abs()),
        _ => format!("+(-{})", offset.unsigned_abs()),
    }
}

/// A line of a body that is no instruction: registers one by one where they are few, anything else as it is.
pub(super) fn registers(line: &str, entropy: &mut Entropy<'_>) -> String {
    let range = || {
        let (head, rest) = line.strip_prefix("\t.reg ")?.split_once(' ')?;
        let (name, count) = rest.strip_suffix(">;")?.split_once('<')?;
        Some((head, name, count.parse::<u64>().ok().filter(|count| (1..40).contains(count))?))
    };
    match range() {
        Some((ty, name, count)) if entropy.percent(50) => {
            let names: Vec<String> = (0..count).map(|number| format!("{name}{number}")).collect();
            format!("\t.reg {ty} {};", names.join(", "))
        }
        _ => line.to_owned(),
    }
}
