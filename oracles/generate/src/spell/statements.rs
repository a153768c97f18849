//! Statements: the same instruction in a scope that shadows names, through vector registers, with other offsets, with
//! the opposite guard; calls with registers for parameters.

use std::collections::HashMap;

use super::super::Entropy;
use super::Spelled;
use super::declarations::Sizes;
use super::line::{Line, replaced, type_of, words};
use super::numbers::{integer, numerals, value};

/// A way to write an instruction; `None` where it does not fit.
type Way = fn(&Line, &Sizes<'_>, &mut Entropy<'_>) -> Option<String>;

const WAYS: [(&str, Way); 8] = [
    ("scope", scope),
    ("copied-register", copied),
    ("negative-offset", offset),
    ("vector-register", vector),
    ("negated-guard", opposite),
    ("array-element", element),
    ("unused-component", component),
    ("compound", compound),
];

/// Percentage of the instructions that are written in another way, where that way fits.
const WRITTEN_OTHERWISE: u32 = 45;

/// An instruction, perhaps otherwise.
pub(super) fn statement(line: Line, sizes: &Sizes<'_>, entropy: &mut Entropy<'_>) -> Spelled {
    let is_call = line.base() == "call";
    let mut line = line;
    if !is_call && entropy.percent(WRITTEN_OTHERWISE) {
        let (rule, way) = entropy.choose(&WAYS);
        if let Some(text) = way(&line, sizes, entropy) {
            return Spelled::new(rule, text);
        }
    }
    if !is_call {
        line.operands.iter_mut().for_each(|operand| *operand = numerals(operand, true, entropy));
    }
    let text = format!("\t{}", line.text());
    Spelled::new(if text.contains('(') { "constant-expression" } else { "number" }, text)
}

/// A register's name that a line does not mention; it hides one of the function, if that has it.
fn name(texts: &[&str], entropy: &mut Entropy<'_>) -> String {
    let mentioned = |name: &str| texts.iter().any(|text| words(text).iter().any(|(_, word)| word.starts_with(name)));
    loop {
        let letters = entropy.choose(&["%r", "%d", "%p", "%xr", "%hidden"]);
        let name = format!("{letters}{}", entropy.below(30));
        if !mentioned(&name) {
            return name;
        }
    }
}

/// A copy of zero as one of what special registers of three components have as a fourth (PTX ISA, "Special
/// Registers").
fn component(line: &Line, _: &Sizes<'_>, entropy: &mut Entropy<'_>) -> Option<String> {
    let is_word = line.base() == "mov" && ["b32", "u32", "s32"].iter().any(|ty| line.has(ty));
    let [to, zero] = &line.operands[..] else { return None };
    let name = entropy.choose(&["tid", "ntid", "ctaid", "nctaid"]);
    (is_word && zero == "0").then(|| format!("\t{}{} {to}, %{name}.w;", line.guard, line.opcode))
}

/// In a scope that gives other names another meaning.
fn scope(line: &Line, _: &Sizes<'_>, entropy: &mut Entropy<'_>) -> Option<String> {
    let text = line.text();
    let ty = entropy.choose(&["pred", "b16", "f32", "b64", "s32"]);
    let hiding = name(&[&text], entropy);
    Some(match entropy.percent(30) {
        true => format!("\t{{ .reg .{ty} {hiding}; {{ {text} }} }}"),
        false => format!("\t{{ {text} .reg .{ty} {hiding}; }}"),
    })
}

/// Whether the first operand is one that the instruction writes.
fn writes_first(line: &Line) -> bool {
    if line.has("red") {
        return line.base() != "red" && line.base() != "multimem";
    }
    let effects =
        ["st", "red", "bar", "barrier", "prefetch", "prefetchu", "discard", "applypriority", "cp", "bra", "brx"];
    !effects.contains(&line.base()) && line.operands.first().is_some_and(|operand| !operand.starts_with('['))
}

/// With a copy of a register that it reads, under a name that hides another one.
fn copied(line: &Line, _: &Sizes<'_>, entropy: &mut Entropy<'_>) -> Option<String> {
    let first = usize::from(writes_first(line));
    let plain = |word: &&str| matches!(type_of(word), Some("pred" | "b16" | "b32" | "b64"));
    let read: Vec<&str> = line.operands[first.min(line.operands.len())..]
        .iter()
        .flat_map(|operand| words(operand))
        .map(|(_, word)| word)
        .filter(plain)
        .collect();
    if read.is_empty() {
        return None;
    }
    let from = entropy.choose(&read);
    let ty = type_of(from)?;
    let copy = name(&[&line.text()], entropy);
    let mut other = line.clone();
    for operand in &mut other.operands[first..] {
        *operand = replaced(operand, |word| (word == from).then(|| copy.clone()));
    }
    Some(format!("\t{{ .reg .{ty} {copy}; mov.{ty} {copy}, {from}; {} }}", other.text()))
}

/// `[%d1+8]` as a larger base and a negative offset.
fn offset(line: &Line, _: &Sizes<'_>, entropy: &mut Entropy<'_>) -> Option<String> {
    let at = line.operands.iter().position(|operand| operand.starts_with('['))?;
    let inside = line.operands[at].strip_prefix('[')?.strip_suffix(']')?;
    let (base, given) = inside.split_once('+').unwrap_or((inside, "0"));
    // What is in brackets is no address where it leads to an image.
    let takes_handle = ["tex", "tld4", "txq", "suq", "suld", "sust", "sured"].contains(&line.base());
    if type_of(base) != Some("b64") || takes_handle {
        return None;
    }
    let given: i64 = given.parse().ok()?;
    let (by, sum) = (8 + entropy.below(4000) as i64, name(&[&line.text()], entropy));
    let left = given - by;
    let left = match entropy.below(3) {
        0 => format!("{left}"),
        1 if left < 0 => format!("(-{})", integer(left.unsigned_abs(), entropy)),
        _ => format!("({given} - {by})"),
    };
    let mut other = line.clone();
    other.operands[at] = format!("[{sum}+{left}]");
    Some(format!("\t{{ .reg .b64 {sum}; add.s64 {sum}, {base}, {by}; {} }}", other.text()))
}

/// `{%r1, %r2}` as a vector register.
fn vector(line: &Line, _: &Sizes<'_>, entropy: &mut Entropy<'_>) -> Option<String> {
    if line.opcode == "mov.b64" {
        return whole_move(line, entropy);
    }
    let lanes = ["v2", "v4"].into_iter().find(|lanes| line.has(lanes))?;
    let at = line.operands.iter().position(|operand| operand.starts_with('{'))?;
    let elements: Vec<&str> = line.operands[at].strip_prefix('{')?.strip_suffix('}')?.split(", ").collect();
    let ty = elements.iter().find_map(|element| type_of(element)).filter(|ty| matches!(*ty, "b32" | "b64"))?;
    // A vector register has no more than 128 bits.
    if (lanes, ty) == ("v4", "b64") {
        return None;
    }
    let narrow = |part: &str| ["b8", "u8", "s8", "b16", "u16", "s16", "f16", "bf16"].contains(&part);
    let is_store = line.base() == "st";
    let fits = |element: &&str| type_of(element) == Some(ty) || is_store && value(element).is_some();
    if !matches!(line.base(), "ld" | "st") || line.opcode.split('.').any(narrow) || !elements.iter().all(fits) {
        return None;
    }
    let whole = name(&[&line.text()], entropy);
    let parts = entropy.choose(&[["x", "y", "z", "w"], ["r", "g", "b", "a"]]);
    let moves = elements.iter().zip(parts).map(|(element, part)| match is_store {
        false => format!("{}mov.{ty} {element}, {whole}.{part}; ", line.guard),
        true => format!("mov.{ty} {whole}.{part}, {element}; "),
    });
    let moves: String = moves.collect();
    let mut other = line.clone();
    other.operands[at].clone_from(&whole);
    let text = other.text();
    let body = if is_store { format!("{moves}{text} ") } else { format!("{text} {moves}") };
    Some(format!("\t{{ .reg .{lanes} .{ty} {whole}; {body}}}"))
}

/// `mov.b64 %d1, {%r1, %r2}` through a vector register as a whole, and likewise in the other direction.
fn whole_move(line: &Line, entropy: &mut Entropy<'_>) -> Option<String> {
    let at = line.operands.iter().position(|operand| operand.starts_with('{'))?;
    let elements: Vec<&str> = line.operands[at].strip_prefix('{')?.strip_suffix('}')?.split(", ").collect();
    let is_register = |element: &&str| type_of(element) == Some("b32") || at == 0 && *element == "_";
    if elements.len() != 2 || !elements.iter().all(is_register) {
        return None;
    }
    let whole = name(&[&line.text()], entropy);
    let written = elements.iter().zip(["x", "y"]).filter(|(element, _)| **element != "_");
    let moves: String = match at {
        0 => written.map(|(element, part)| format!("{}mov.b32 {element}, {whole}.{part}; ", line.guard)).collect(),
        _ => written.map(|(element, part)| format!("mov.b32 {whole}.{part}, {element}; ")).collect(),
    };
    let mut other = line.clone();
    other.operands[at].clone_from(&whole);
    let text = other.text();
    let body = if at == 0 { format!("{text} {moves}") } else { format!("{moves}{text} ") };
    Some(format!("\t{{ .reg .v2 .b32 {whole}; {body}}}"))
}

/// Under the negation of the opposite predicate.
fn opposite(line: &Line, _: &Sizes<'_>, entropy: &mut Entropy<'_>) -> Option<String> {
    let (predicate, negated) = line.predicate()?;
    let (not, sign) = (name(&[&line.text()], entropy), if negated { "" } else { "!" });
    let other = Line { guard: format!("@{sign}{not} "), ..line.clone() };
    Some(format!("\t{{ .reg .pred {not}; not.pred {not}, {predicate}; {} }}", other.text()))
}

/// The address of a variable from that of another element, or an access to an element by its index.
fn element(line: &Line, sizes: &Sizes<'_>, entropy: &mut Entropy<'_>) -> Option<String> {
    if matches!(line.base(), "ld" | "st") {
        return indexed(line, sizes, entropy);
    }
    let [to, symbol] = line.operands.as_slice() else { return None };
    let size = sizes.element(symbol).filter(|_| line.opcode == "mov.u64")?;
    let index = entropy.below(9) as u64;
    let (address, bytes) = match entropy.below(3) {
        0 => (format!("{symbol}[{}]", integer(index, entropy)), index * size),
        1 => (format!("{symbol}+{}", integer(index, entropy)), index),
        _ => (format!("{symbol}+(-{index})"), index.wrapping_neg()),
    };
    let (guard, back) = (&line.guard, bytes.wrapping_neg() as i64);
    Some(format!("\t{guard}mov.u64 {to}, {address};\n\t{guard}add.s64 {to}, {to}, {back};"))
}

/// `[table+8]` as `table[2]`, or with a part of the index in a register.
fn indexed(line: &Line, sizes: &Sizes<'_>, entropy: &mut Entropy<'_>) -> Option<String> {
    let at = line.operands.iter().position(|operand| operand.starts_with('['))?;
    let inside = line.operands[at].strip_prefix('[')?.strip_suffix(']')?;
    let (symbol, offset) = inside.split_once('+').unwrap_or((inside, "0"));
    let (size, offset) = (sizes.element(symbol)?, offset.parse::<u64>().ok()?);
    if !offset.is_multiple_of(size) {
        return None;
    }
    let (index, mut other) = ((offset / size) as i64, line.clone());
    if entropy.percent(50) {
        other.operands[at] = format!("{symbol}[{}]", integer(index as u64, entropy));
        return Some(format!("\t{}", other.text()));
    }
    let (register, part) = (name(&[&line.text()], entropy), entropy.below(12) as i64);
    let ty = entropy.choose(&["u16", "b32", "s32", "u64"]);
    other.operands[at] = match index - part {
        0 => format!("{symbol}[{register}]"),
        rest => format!("{symbol}[{register}+{rest}]"),
    };
    Some(format!("\t{{ .reg .{ty} {register}; mov.{ty} {register}, {part}; {} }}", other.text()))
}

/// An operation on `.f32` as one that a front end makes several of: the upper half of a pair, or an extreme of three of
/// which two are the same. Blackwell has them.
fn compound(line: &Line, sizes: &Sizes<'_>, entropy: &mut Entropy<'_>) -> Option<String> {
    let [to, sources @ ..] = line.operands.as_slice() else { return None };
    let is_word = |operand: &String| type_of(operand) == Some("b32");
    let fits = line.opcode.ends_with(".f32") && line.operands.iter().all(is_word);
    if sizes.sm() < 100 || !fits || line.has("sat") || line.has("xorsign") || line.has("approx") {
        return None;
    }
    match (line.base(), sources) {
        ("min" | "max", [a, b]) => {
            let third = entropy.choose(&[a, b]);
            Some(format!("\t{}{} {to}, {a}, {b}, {third};", line.guard, line.opcode))
        }
        ("add" | "sub" | "mul" | "fma", [.., last]) => {
            let mut mentioned = vec![line.text()];
            let mut pair = || {
                let texts: Vec<&str> = mentioned.iter().map(String::as_str).collect();
                let name = name(&texts, entropy);
                mentioned.push(name.clone());
                name
            };
            let pairs: Vec<String> = sources.iter().map(|_| pair()).collect();
            let result = pair();
            let parts = pairs.iter().zip(sources);
            let packed: String =
                parts.map(|(pair, source)| format!("mov.b64 {pair}, {{{last}, {source}}}; ")).collect();
            let names = pairs.join(", ");
            Some(format!(
                "\t{{ .reg .b64 {names}, {result}; {packed}{}x2 {result}, {names}; {}mov.b64 {{_, {to}}}, {result}; }}",
                line.opcode, line.guard
            ))
        }
        _ => None,
    }
}

/// How a body uses its variables.
#[derive(Default)]
pub(super) struct Uses<'t> {
    /// How many lines access each, and how many calls leave a result there.
    counts: HashMap<&'t str, [usize; 2]>,
    /// The types of those that calls pass.
    types: HashMap<&'t str, &'t str>,
}

impl<'t> Uses<'t> {
    pub fn of(body: &[&'t str]) -> Uses<'t> {
        let mut uses = Uses::default();
        for line in body {
            let accessed = line.split('[').skip(1).filter_map(|rest| rest.split_once(']'));
            accessed.for_each(|(name, _)| uses.counts.entry(name).or_default()[0] += 1);
            let result = line.split_once("call (").and_then(|(_, rest)| rest.split_once(')'));
            result.into_iter().for_each(|(name, _)| uses.counts.entry(name).or_default()[1] += 1);
            let declared = line.strip_prefix("\t.param ").and_then(|rest| rest.strip_suffix(';'));
            let declared = declared.and_then(|declared| declared.rsplit_once(' '));
            uses.types.extend(declared.and_then(|(head, name)| Some((name, head.rsplit_once('.')?.1))));
        }
        uses
    }

    /// Whether each result of a call in a variable is read once.
    fn is_read_once(&self, name: &str) -> bool {
        self.counts.get(name).is_some_and(|[accesses, calls]| accesses == calls)
    }

    /// A value that is passed in a variable by an access of a type, as it is written in the variable's place: a
    /// register as wide as the variable, or a constant of its kind. `None` where that cannot be.
    fn passed(&self, variable: &str, ty: &str, written: &str) -> Option<String> {
        let declared = *self.types.get(variable)?;
        let bits = |ty: &str| ty.trim_start_matches(|letter: char| letter.is_ascii_lowercase()).parse::<u32>().ok();
        if bits(declared) != bits(ty) || !matches!(bits(ty), Some(32 | 64)) {
            return None;
        }
        match (value(written), declared) {
            (Some(value), "f32") => Some(format!("0f{value:08X}")),
            (Some(value), "f64") => Some(format!("0d{value:016X}")),
            (Some(_), _) => Some(written.to_owned()),
            (None, _) => (bits(type_of(written)?) == bits(ty)).then(|| written.to_owned()),
        }
    }
}

/// A call that begins with the stores of its arguments at the first of these lines, and ends with the load of its
/// result: with registers in place of the variables, and a guard that always holds. Also says how many lines that were.
pub(super) fn call(lines: &[&str], uses: &Uses<'_>, entropy: &mut Entropy<'_>) -> Option<(String, usize)> {
    let line = |at: usize| lines.get(at).and_then(|line| Line::of(line));
    let mut stored = Vec::new();
    while let Some(store) = line(stored.len()).filter(|line| line.has("param") && line.base() == "st") {
        stored.push(store);
    }
    let call =
        line(stored.len()).filter(|line| !stored.is_empty() && line.base() == "call" && line.guard.is_empty())?;
    let load =
        line(stored.len() + 1).filter(|line| line.has("param") && line.base() == "ld" && line.guard.is_empty())?;
    let [results, _, arguments, ..] = call.operands.as_slice() else { return None };
    let [to, from] = load.operands.as_slice() else { return None };
    let list = |text: &str| -> Option<Vec<String>> {
        Some(text.strip_prefix('(')?.strip_suffix(')')?.split(", ").map(str::to_owned).collect())
    };
    let (results, arguments) = (list(results)?, list(arguments)?);
    let [result] = results.as_slice() else { return None };
    // A result that is loaded twice must stay in its variable.
    let movable = *from == format!("[{result}]") && uses.is_read_once(result);
    let whole = |line: &Line| {
        let ty = ["b32", "b64"].into_iter().find(|ty| line.opcode == format!("{}.param.{ty}", line.base()));
        ty.filter(|_| line.guard.is_empty())
    };
    if !movable || stored.len() != arguments.len() || !entropy.percent(50) {
        return None;
    }
    let mut values = Vec::new();
    for argument in &arguments {
        let store = stored.iter().find(|store| store.operands[0] == format!("[{argument}]"))?;
        values.push(uses.passed(argument, whole(store)?, store.operands.get(1)?)?);
    }
    let to = uses.passed(result, whole(&load)?, to)?;
    let mut other = call.clone();
    (other.operands[0], other.operands[2]) = (format!("({to})"), format!("({})", values.join(", ")));
    let taken = stored.len() + 2;
    if entropy.percent(40) {
        return Some((format!("\t{}", other.text()), taken));
    }
    let holds = name(&[&other.text()], entropy);
    other.guard = format!("@{holds} ");
    Some((format!("\t{{ .reg .pred {holds}; setp.eq.u32 {holds}, 3, 3; {} }}", other.text()), taken))
}
