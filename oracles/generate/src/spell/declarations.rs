//! Declarations: variables of the module with several dimensions and other elements, registers one by one.

use std::collections::HashMap;

use super::super::Entropy;
use super::numbers::{integer, value};

/// How the variables of a module are declared: by name, the bytes of an element. Initial values of bytes are also
/// written as larger numbers.
pub(super) struct Sizes<'t>(HashMap<&'t str, u64>);

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
        Sizes(arrays.map(|array| (array.name, array.element())).collect())
    }

    /// The bytes of an element of a variable; `None` for what is no array of the module.
    pub fn element(&self, name: &str) -> Option<u64> {
        self.0.get(name).copied()
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
            integer(whole, entropy)
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
