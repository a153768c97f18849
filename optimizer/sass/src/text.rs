//! The text of instructions, as nvdisasm writes it.

use std::fmt::Write;

use super::instruction::Instruction;
use super::number;
use super::row::{File, Format, H1, NO_BIT, Names, Part, What};

/// The distance between two words, in bytes.
pub const WORD_BYTES: u64 = 16;

/// Appends the text of an instruction that is at an address: guard, mnemonic, modifiers, operands.
pub fn print(out: &mut String, instruction: &Instruction<'_>, address: u64) {
    let Instruction { encoding, word } = *instruction;
    let guard = &encoding.guard;
    if word >> 12 & 0xf != 7 {
        out.push('@');
        register(out, guard, word);
        out.push(' ');
    }
    match encoding.alias.and_then(|alias| alias(word, encoding.form)) {
        Some(name) => out.push_str(name),
        None => {
            out.push_str(encoding.name);
            for name in instruction.modifiers() {
                out.push('.');
                out.push_str(name);
            }
        }
    }
    let operands = encoding.parts.iter().filter(|part| !matches!(part.what, What::Modifier(_)));
    let mut separator = " ";
    let (mut is_first, mut described) = (true, false);
    let mut shown = operands.filter(|part| part.is_shown(word)).peekable();
    while let Some(part) = shown.next() {
        let is_behind = matches!(part.what, What::TargetBehind | What::Distance);
        if let What::Mark(_) = part.what {
            out.push_str(if part.name(word).is_some_and(|name| !name.is_empty()) { "." } else { "" });
            out.push_str(part.name(word).unwrap_or_default());
            continue;
        }
        out.push_str(if is_behind && !is_first { " " } else { separator });
        separator = ", ";
        is_first = false;
        let is_described = std::mem::take(&mut described);
        match part.what {
            What::Descriptor => {
                out.push_str("desc[");
                register(out, &Part { what: What::Register(File::Ur), ..*part }, word);
                out.push(']');
                separator = "";
                described = true;
            }
            What::Within(name) => {
                let _ = write!(out, "{name}[");
                let offset = shown.next_if(|next| name == "tmem" && next.what.offset_unit().is_some());
                let offset = offset.filter(|offset| offset.value(word) != 0);
                let is_zero = part.value(word) == part.at.largest();
                if offset.is_none() || !is_zero {
                    register(out, &Part { what: What::Register(File::Ur), ..*part }, word);
                }
                if let Some(offset) = offset {
                    out.push_str(if is_zero { "" } else { "+" });
                    signed_hex(out, signed(offset.value(word), offset.at.len + offset.above.len));
                }
                out.push(']');
            }
            What::Beside([first_name, second_name]) => {
                let first = part.value(word);
                let name = |number| if number >= part.at.largest() { "URZ".to_owned() } else { format!("UR{number}") };
                let (first, second) = (name(first), name(first.saturating_add(1)));
                let _ = write!(out, "{first_name}[{first}], {second_name}[{second}]");
            }
            What::Base | What::UniformBase | What::Offset | What::WideOffset => {
                let terms = |next: &&Part| {
                    next.what.offset_unit().is_some() || (next.what == What::UniformBase && part.what == What::Base)
                };
                let rest = [shown.next_if(terms), shown.next_if(terms)];
                address_of(out, [Some(part), rest[0], rest[1]], is_described, word);
            }
            What::Word("") => separator = " ",
            What::Indexed(_) => indexed(out, part, shown.next(), word),
            _ => operand(out, part, word, address),
        }
    }
    // What is no number has a space behind it, which the end of the line loses.
    out.truncate(out.trim_end().len());
}

/// An address: a register, a uniform register, an offset, each where it is there. The register that reads as zero is
/// left out unless a descriptor stands before, its width is written, or it is scaled and a uniform register follows; an
/// offset alone has no sign.
fn address_of(out: &mut String, terms: [Option<&Part>; 3], is_described: bool, word: u128) {
    let find = |what| terms.iter().copied().flatten().find(|part| part.what == what);
    let (base, uniform) = (find(What::Base), find(What::UniformBase));
    let offset = terms.iter().copied().flatten().find(|part| part.what.offset_unit().is_some());
    let unit = offset.and_then(|part| part.what.offset_unit()).unwrap_or(1);
    let value = offset.map_or(0, |part| part.value(word));
    let len = offset.map_or(1, |part| part.at.len + part.above.len);
    out.push('[');
    let start = out.len();
    if let Some(base) = base {
        let is_wide = base.suffix.is_some_and(|(bits, _)| bits.is_empty());
        let is_zero = base.value(word) == base.at.largest() && !is_described && !is_wide;
        let scale = base.suffix.map_or("", |(bits, names)| names.get(bits.get(word) as usize).unwrap_or(&"?"));
        if !is_zero || (uniform.is_some() && !scale.is_empty()) {
            register(out, &Part { what: What::Register(File::R), ..*base }, word);
        }
    }
    if let Some(uniform) = uniform {
        out.push_str(if out.len() > start { "+" } else { "" });
        register(out, &Part { what: What::Register(File::Ur), ..*uniform }, word);
    }
    match out.len() > start {
        true if value == 0 => {}
        true => {
            out.push('+');
            signed_hex(out, signed(value, len) * unit);
        }
        false if value == 0 => out.push_str("RZ"),
        // Only the destination of a copy to shared memory has twenty bits.
        false if len == 20 || offset.is_some_and(|part| part.negate != NO_BIT) => signed_hex(out, signed(value, len)),
        false => number::hex(out, value * unit as u64),
    }
    out.push(']');
}

/// A word of a bank at an offset that a register adds to: the register's part first, then the constant's. A register
/// that reads as zero is left out beside an offset, but not a uniform one of six bits.
fn indexed(out: &mut String, register_part: &Part, constant: Option<&Part>, word: u128) {
    let What::Indexed(file) = register_part.what else { return };
    let Some(constant) = constant else { return };
    bank(out, constant, word);
    let is_zero = register_part.at.len == 8 && register_part.value(word) == register_part.at.largest();
    if !is_zero {
        register(out, &Part { what: What::Register(file), ..*register_part }, word);
    }
    if is_zero && constant.what == What::BindlessByte {
        number::hex(out, constant.above.get(word));
        out.push(']');
        return;
    }
    let offset = signed(constant.above.get(word), constant.above.len);
    if offset != 0 {
        out.push_str(if is_zero { "" } else { "+" });
        signed_hex(out, offset);
    } else if is_zero {
        register(out, &Part { what: What::Register(file), ..*register_part }, word);
    }
    out.push(']');
}

/// A bank by its number or by its uniform register, and the bracket behind it.
fn bank(out: &mut String, constant: &Part, word: u128) {
    let value = constant.at.get(word);
    if matches!(constant.what, What::Bindless | What::BindlessByte) {
        out.push_str("cx[");
        uniform(out, value, constant.at.largest());
    } else {
        out.push_str("c[");
        number::hex(out, value);
    }
    out.push_str("][");
}

fn operand(out: &mut String, part: &Part, word: u128, address: u64) {
    match part.what {
        What::Register(_) => register(out, part, word),
        What::Immediate(format) => marked(out, part, word, |out| immediate(out, part, format, word)),
        What::Constant => marked(out, part, word, |out| {
            let value = part.value(word);
            let space = if reads_parts(part) { " " } else { "" };
            out.push_str("c[");
            number::hex(out, value & 0x1f);
            out.extend(["]", space, "["]);
            signed_hex(out, signed(value >> part.at.len, part.above.len) * 4);
            out.push(']');
        }),
        What::Bindless => marked(out, part, word, |out| {
            out.push_str("cx[");
            let base = Part { above: super::bits::Bits::NONE, ..*part };
            uniform(out, base.value(word), base.at.largest());
            let space = if reads_parts(part) { " " } else { "" };
            out.extend(["]", space, "["]);
            number::hex(out, part.above.get(word) * 4);
            out.push(']');
        }),
        What::ConstantByte => {
            bank(out, part, word);
            signed_hex(out, signed(part.above.get(word), part.above.len));
            out.push(']');
        }
        What::BindlessByte => {
            bank(out, part, word);
            number::hex(out, part.above.get(word));
            out.push(']');
        }
        What::Target | What::TargetBehind => {
            signed_hex(out, target(part, word, address) as i64);
        }
        What::TargetByte => {
            signed_hex(out, target_byte(part, word, address) as i64);
        }
        What::Distance => signed_hex(out, signed(part.value(word), part.at.len + part.above.len) * 4),
        What::Place => number::hex(out, part.value(word) * 4),
        What::Special(names) => match names.get(part.value(word) as usize) {
            Some(name) if !name.is_empty() => out.push_str(name),
            _ => {
                let _ = write!(out, "SR{}", part.value(word));
            }
        },
        What::Name(names) => out.push_str(names.get(part.value(word) as usize).unwrap_or(&"?")),
        What::Word(text) => out.push_str(text),
        What::Mask => {
            out.push('{');
            let value = part.value(word);
            let set = (0..8).rev().filter(|bit| value >> bit & 1 == 1);
            set.enumerate().for_each(|(i, bit)| {
                let _ = write!(out, "{}{bit}", if i > 0 { "," } else { "" });
            });
            out.push('}');
        }
        _ => {}
    }
}

/// Where a branch at an address goes.
pub(super) fn target(part: &Part, word: u128, address: u64) -> u64 {
    let distance = signed(part.value(word), part.at.len + part.above.len);
    address.wrapping_add(WORD_BYTES).wrapping_add_signed(distance * 4)
}

/// The place that an instruction at an address names by a distance in bytes.
pub(super) fn target_byte(part: &Part, word: u128, address: u64) -> u64 {
    let distance = signed(part.value(word), part.at.len + part.above.len);
    address.wrapping_add(WORD_BYTES).wrapping_add_signed(distance)
}

/// Whether a part of the operand can be read.
fn reads_parts(part: &Part) -> bool {
    part.suffix.is_some_and(|(_, names)| names.iter().any(|name| !name.is_empty()))
}

/// Signs and suffixes around an operand.
fn marked(out: &mut String, part: &Part, word: u128, text: impl FnOnce(&mut String)) {
    let (negate, absolute) = (part.has(part.negate, word), part.has(part.absolute, word));
    let is_predicate = matches!(part.what, What::Register(File::P | File::Up));
    if part.has(part.invert, word) {
        out.push(if is_predicate { '!' } else { '~' });
    }
    if negate {
        out.push(if part.has(part.complement, word) { '~' } else { '-' });
    }
    if absolute {
        out.push('|');
    }
    text(out);
    // One half is between the bars; those of a pair in a general register do not.
    let suffix = part.suffix.and_then(|(bits, names)| Some((names.get(bits.get(word) as usize)?, names)));
    let suffix = suffix.filter(|(name, _)| !name.is_empty());
    let is_general = part.what == What::Register(File::R);
    let is_inside = |names: Names| !is_general || names == H1;
    let bar = if absolute { "|" } else { "" };
    let reuse = if part.has(part.reuse, word) { ".reuse" } else { "" };
    match suffix {
        Some((name, names)) if is_inside(names) => out.extend([reuse, ".", name, bar]),
        Some((name, _)) => out.extend([bar, reuse, ".", name]),
        None => out.extend([bar, reuse]),
    }
}

fn register(out: &mut String, part: &Part, word: u128) {
    let What::Register(file) = part.what else { return };
    let (value, last) = (part.value(word), super::bits::Bits::new(0, part.at.len + part.above.len).largest());
    marked(out, part, word, |out| match file {
        File::R if value == last => out.push_str("RZ"),
        File::R => number::decimal(out, "R", value),
        File::Ur => uniform(out, value, last),
        File::P if value == last => out.push_str("PT"),
        File::P => number::decimal(out, "P", value),
        File::Up if value == last => out.push_str("UPT"),
        File::Up => number::decimal(out, "UP", value),
        File::B => match STATE.get((value as usize).wrapping_sub(16)) {
            Some(name) => out.push_str(name),
            None => number::decimal(out, "B", value),
        },
        File::Sb => number::decimal(out, "SB", value),
    });
}

/// The names of convergence barriers from the sixteenth on.
const STATE: [&str; 17] = [
    "THREAD_STATE_ENUM.0",
    "THREAD_STATE_ENUM.1",
    "THREAD_STATE_ENUM.2",
    "THREAD_STATE_ENUM.3",
    "THREAD_STATE_ENUM.4",
    "TRAP_RETURN_PC.LO",
    "TRAP_RETURN_PC.HI",
    "TRAP_RETURN_MASK",
    "MEXITED",
    "MKILL",
    "MACTIVE",
    "MATEXIT",
    "OPT_STACK",
    "API_CALL_DEPTH",
    "ATEXIT_PC.LO",
    "ATEXIT_PC.HI",
    "MCOLLECTIVE",
];

fn uniform(out: &mut String, value: u64, last: u64) {
    if value == last { out.push_str("URZ") } else { number::decimal(out, "UR", value) }
}

fn immediate(out: &mut String, part: &Part, format: Format, word: u128) {
    let value = part.value(word);
    let len = part.at.len + part.above.len;
    match format {
        Format::Hex => number::hex(out, value),
        Format::SignedHex => signed_hex(out, signed(value, len)),
        Format::Decimal => number::decimal(out, "", value),
        Format::F32 => number::float32(out, value as u32),
        Format::F64 => number::float64(out, value as u32),
        Format::HexBy(bit) if word >> bit & 1 == 1 => signed_hex(out, signed(value, len)),
        Format::HexBy(_) => number::hex(out, value),
        Format::Signs => {
            let pairs = (0..len / 2).rev().map(|pair| (value >> (2 * pair) & 3) as usize);
            pairs.for_each(|pair| out.push_str(["PP", "PN", "NP", "ZP"][pair]));
        }
        Format::F16 => number::half(out, value as u32 & 0xffff, false),
        Format::Bf16 => number::half(out, value as u32 & 0xffff, true),
        Format::F16x2 => number::halves(out, value as u32, false),
        Format::Bf16x2 => number::halves(out, value as u32, true),
        Format::HalfBy(bit) => number::halves(out, value as u32, word >> bit & 1 == 1),
    }
}

/// A value of so many bits, extended by its sign.
pub fn signed(value: u64, len: u8) -> i64 {
    let unused = 64 - u32::from(len);
    (value as i64) << unused >> unused
}

fn signed_hex(out: &mut String, value: i64) {
    if value < 0 {
        out.push('-');
    }
    number::hex(out, value.unsigned_abs());
}
