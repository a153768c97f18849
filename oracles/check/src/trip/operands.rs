//! Which operands ptxas takes where, so that a printed instruction that it would refuse shows without it, in whichever
//! spelling.
//!
//! `operands.txt` was made by asking ptxas: a line for each instruction with its types, and how many operands it is
//! written with; then for each operand what ptxas takes there beside registers, within braces what the elements of a
//! vector may be. A kind is there if ptxas takes it in some variant of the instruction, of which a few were tried; `-`
//! stands for none. What the table does not have is not judged: instructions, and vectors or other operands in a place
//! where none was tried (`?` where there was neither). Of addresses only two things are judged: ptxas takes numbers in
//! local memory alone, and no registers of 32 bits in global and generic memory; which symbols they have is a matter of
//! spaces. So nothing that ptxas takes is refused, as far as the variants stand for all.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::LazyLock;

/// The table; `cargo test -p oriole --test it operands::` holds it against ptxas.
pub const TABLE: &str = include_str!("operands.txt");

/// Words of a mnemonic that say which instruction it is, beside its first one and its types.
const NAMES: [&str; 29] = [
    "cc",
    "wide",
    "async",
    "bulk",
    "reduce",
    "init",
    "inval",
    "arrive",
    "arrive_drop",
    "expect_tx",
    "complete_tx",
    "test_wait",
    "try_wait",
    "pending_count",
    "ld_reduce",
    "red",
    "st",
    "mma",
    "load",
    "store",
    "up",
    "down",
    "bfly",
    "idx",
    "prefetch",
    "to",
    "warp",
    "level",
    "grad",
];

/// Accesses whose addresses have 64 bits unless they name a window of memory.
const ACCESSES: [&str; 7] = ["ld", "ldu", "st", "atom", "red", "prefetch", "prefetchu"];

/// What stands as an operand, or as a part of one, beside registers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// An integer.
    Integer,
    /// The bits of an f32, as `0f3F800000`.
    Single,
    /// The bits of an f64.
    Double,
    /// The name of a variable or a function.
    Symbol,
    /// A register of 32 bits, where an address has 64.
    Word,
}

/// Kinds, and the letter that stands for each in the table.
const LETTERS: [(Kind, char); 4] =
    [(Kind::Integer, 'i'), (Kind::Single, 'f'), (Kind::Double, 'd'), (Kind::Symbol, 's')];

impl Kind {
    /// The kind of a word that is written, or of a constant expression; `None` for registers of all sorts, and `_`.
    fn of(word: &str) -> Option<Kind> {
        let word = word.trim_start_matches(['!', '-', '~', '+', '(', ' ']);
        let end = word.find(|letter: char| !letter.is_ascii_alphanumeric() && !matches!(letter, '.' | '_'));
        let first = &word[..end.unwrap_or(word.len())];
        let starts = |prefixes: [&str; 2]| prefixes.iter().any(|prefix| word.starts_with(prefix));
        match word {
            "_" | "" => None,
            _ if word.starts_with('%') => None,
            _ if starts(["0f", "0F"]) => Some(Kind::Single),
            _ if starts(["0d", "0D"]) => Some(Kind::Double),
            // Casts are of integers.
            _ if matches!(first, ".s64" | ".u64" | "WARP_SZ") => Some(Kind::Integer),
            _ if word.starts_with(|first: char| first.is_ascii_digit()) && first.contains('.') => Some(Kind::Double),
            _ if word.starts_with(|first: char| first.is_ascii_digit()) => Some(Kind::Integer),
            _ => Some(Kind::Symbol),
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Kind::Integer => "integer",
            Kind::Single => "f32 constant",
            Kind::Double => "f64 constant",
            Kind::Symbol => "symbol",
            Kind::Word => "register of 32 bits",
        })
    }
}

/// Where a kind is within an operand.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Within {
    /// It is the operand.
    Operand,
    /// It is an element of a vector.
    Vector,
}

/// What the operands of an instruction are beside registers, in the order in which they are written.
pub type Kinds = Vec<Vec<(Within, Kind)>>;

/// A printed instruction.
#[derive(Debug)]
pub struct Instruction<'t> {
    /// The instruction with its types, and the number of operands.
    pub key: String,
    /// Its operands as they are written.
    pub operands: Vec<&'t str>,
}

impl<'t> Instruction<'t> {
    /// Reads a line that the printer wrote; `None` where it is no instruction with operands, or one about places in
    /// code and parameters.
    pub fn read(line: &'t str) -> Option<Instruction<'t>> {
        Instruction::of(line.trim().strip_suffix(';')?)
    }

    /// Reads a statement without its end.
    fn of(statement: &'t str) -> Option<Instruction<'t>> {
        let (mnemonic, rest) = unguarded(statement)?.split_once(' ')?;
        let first = mnemonic.split('.').next()?;
        let is_code = matches!(first, "call" | "bra" | "brx") || mnemonic.contains(".param");
        if is_code || !first.starts_with(|letter: char| letter.is_ascii_lowercase()) {
            return None;
        }
        let operands = parts(rest);
        let mut key = first.to_owned();
        for word in mnemonic.split('.').skip(1).filter(|word| is_type(word) || NAMES.contains(word)) {
            key.push('.');
            key.push_str(word);
        }
        let _ = write!(key, "/{}", operands.len());
        Some(Instruction { key, operands })
    }

    /// The kinds of its operands.
    pub fn kinds(&self) -> Kinds {
        self.operands.iter().map(|operand| kinds(operand)).collect()
    }
}

/// A statement without its guard.
fn unguarded(statement: &str) -> Option<&str> {
    match statement.strip_prefix('@') {
        Some(guarded) => Some(guarded.split_once(' ')?.1),
        None => Some(statement),
    }
}

/// Whether a word of a mnemonic is a type: letters, a number, and how many of them are packed.
fn is_type(word: &str) -> bool {
    let rest = word.trim_start_matches(|letter: char| letter.is_ascii_lowercase());
    let letters = &word[..word.len() - rest.len()];
    let is_number = rest.starts_with(|digit: char| digit.is_ascii_digit());
    word == "pred" || is_number && matches!(letters, "u" | "s" | "b" | "f" | "bf" | "tf" | "e")
}

/// The parts of a list: what commas separate, outside of brackets and braces.
fn parts(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0usize, 0, Vec::new());
    for (at, letter) in list.char_indices() {
        match letter {
            '[' | '{' | '(' => depth += 1,
            ']' | '}' | ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                found.push(list[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(list[start..].trim());
    found
}

fn kinds(operand: &str) -> Vec<(Within, Kind)> {
    if operand.starts_with('[') {
        return Vec::new();
    }
    if let Some(inside) = operand.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        return parts(inside).into_iter().filter_map(|part| Some((Within::Vector, Kind::of(part)?))).collect();
    }
    Kind::of(operand).map(|kind| (Within::Operand, kind)).into_iter().collect()
}

/// What may stand as an operand.
#[derive(Clone, Default, Debug)]
pub struct Allowed {
    /// Where something was tried.
    pub tried: Vec<Within>,
    /// What ptxas takes there beside registers.
    pub kinds: Vec<(Within, Kind)>,
}

impl Allowed {
    /// As the table has it.
    fn read(text: &str) -> Allowed {
        let (mut within, mut found) = (Within::Operand, Allowed::default());
        for letter in text.chars() {
            match letter {
                '?' => break,
                '{' => within = Within::Vector,
                _ => {
                    found.kinds.extend(LETTERS.iter().filter(|known| known.1 == letter).map(|known| (within, known.0)))
                }
            }
            found.tried.push(within);
        }
        found
    }

    /// Whether it may be there, as far as is known.
    fn has(&self, kind: (Within, Kind)) -> bool {
        !self.tried.contains(&kind.0) || self.kinds.contains(&kind)
    }
}

impl std::fmt::Display for Allowed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.tried.is_empty() {
            f.write_str("?")?;
        }
        for (within, open, close) in [(Within::Operand, "", ""), (Within::Vector, "{", "}")] {
            if !self.tried.contains(&within) {
                continue;
            }
            let known = |known: &&(Kind, char)| self.kinds.contains(&(within, known.0));
            let letters: String = LETTERS.iter().filter(known).map(|known| known.1).collect();
            write!(f, "{open}{}{close}", if letters.is_empty() { "-" } else { &letters })?;
        }
        Ok(())
    }
}

/// For each key, what may stand as each operand.
static ALLOWED: LazyLock<HashMap<&str, Vec<Allowed>>> = LazyLock::new(|| {
    let row = |line: &'static str| {
        let mut words = line.split_ascii_whitespace();
        Some((words.next()?, words.map(Allowed::read).collect()))
    };
    TABLE.lines().filter_map(row).collect()
});

/// Whether the table has an instruction.
pub fn is_known(instruction: &Instruction<'_>) -> bool {
    ALLOWED.contains_key(instruction.key.as_str())
}

/// An operand that ptxas does not take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wrong {
    /// The line.
    pub excerpt: String,
    /// Which operand, from one.
    pub position: usize,
    /// What is there.
    pub kind: Kind,
}

/// The first operand of a printed module that ptxas does not take.
pub fn refused(text: &str) -> Option<Wrong> {
    without_comments(text).split(';').map(statement).find_map(|statement| {
        // In another spelling, a register of 64 bits may hide one that the printer gives 32.
        let is_hidden = |wrong: &Wrong| wrong.kind == Kind::Word && hides(text, &wrong.excerpt);
        if let Some(wrong) = wrong_address(statement).filter(|wrong| !is_hidden(wrong)) {
            return Some(wrong);
        }
        let instruction = Instruction::of(statement)?;
        let allowed = ALLOWED.get(instruction.key.as_str())?;
        let wrong = |(at, kinds): (usize, Vec<(Within, Kind)>)| {
            let kind = kinds.into_iter().find(|kind| !allowed[at].has(*kind))?.1;
            Some(Wrong { excerpt: format!("{statement};"), position: at + 1, kind })
        };
        instruction.kinds().into_iter().enumerate().find_map(wrong)
    })
}

/// An address that ptxas does not take: a number outside of local memory, or a register of 32 bits where memory is
/// global or generic (it refuses the whole module from sm_90 on, for its "32-bit ABI").
fn wrong_address(statement: &str) -> Option<Wrong> {
    let (mnemonic, rest) = unguarded(statement)?.split_once(' ')?;
    // The address of a map that a fence acquires may be a number.
    if mnemonic.starts_with('.') || mnemonic.contains(".local") || mnemonic.starts_with("fence.") {
        return None;
    }
    let first = mnemonic.split('.').next().unwrap_or_default();
    let windows = [".shared", ".const", ".param"];
    let is_wide = ACCESSES.contains(&first) && !windows.iter().any(|window| mnemonic.contains(window));
    let is_word = |name: &str| ["%r", "%xr", "%ur"].iter().any(|prefix| name.starts_with(prefix));
    let wrong = |operand: &str| {
        let inside = operand.strip_prefix('[')?.trim_start_matches('-');
        let is_number = inside.starts_with(|first: char| first.is_ascii_digit());
        is_number.then_some(Kind::Integer).or((is_wide && is_word(inside)).then_some(Kind::Word))
    };
    let narrow_generic = first == "cvta" && mnemonic.ends_with("64");
    if let Some(at) = parts(rest).iter().position(|part| narrow_generic && is_word(part)) {
        return Some(Wrong { excerpt: format!("{statement};"), position: at + 1, kind: Kind::Word });
    }
    let (position, kind) = parts(rest).into_iter().enumerate().find_map(|(at, part)| Some((at + 1, wrong(part)?)))?;
    Some(Wrong { excerpt: format!("{statement};"), position, kind })
}

/// Whether a text declares a register of 64 bits by itself that an instruction names.
fn hides(text: &str, excerpt: &str) -> bool {
    let mut declared = text.split(".reg .b64 ").skip(1).filter_map(|rest| rest.split_once(';'));
    declared.any(|(name, _)| excerpt.contains(&format!("[{name}")))
}

/// What is between two semicolons, behind labels and the braces of scopes.
fn statement(text: &str) -> &str {
    let text = text.trim_start_matches(|letter: char| letter.is_whitespace() || matches!(letter, '{' | '}'));
    match text.split_once(':').filter(|(label, _)| label.starts_with('$') && !label.contains(char::is_whitespace)) {
        Some((_, rest)) => statement(rest),
        None => text.trim_end(),
    }
}

fn without_comments(text: &str) -> Cow<'_, str> {
    if !text.contains("//") && !text.contains("/*") {
        return Cow::Borrowed(text);
    }
    let (mut bare, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('/') {
        let (before, comment) = rest.split_at(at);
        bare.push_str(before);
        rest = if comment.starts_with("//") {
            comment.find('\n').map_or("", |end| &comment[end..])
        } else if comment.starts_with("/*") {
            comment.find("*/").map_or("", |end| &comment[end + 2..])
        } else {
            bare.push('/');
            &comment[1..]
        };
    }
    bare.push_str(rest);
    Cow::Owned(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_told_apart() {
        let kinds = |line: &str| Instruction::read(line).map(|read| (read.key.clone(), read.kinds()));
        use Kind::{Double, Integer, Single, Symbol};
        use Within::{Operand, Vector};
        let (key, found) = kinds("\t@!%p1 fma.rn.ftz.f32 %r1, %r2, 0f3F800000, -5;").expect("it is one");
        assert_eq!(
            (key.as_str(), found),
            ("fma.f32/4", vec![vec![], vec![], vec![(Operand, Single)], vec![(Operand, Integer)]])
        );
        let (key, found) = kinds("\tst.global.v2.b64 [16], {%d1, 0d3FF0000000000000};").expect("it is one");
        assert_eq!((key.as_str(), found), ("st.b64/2", vec![vec![], vec![(Vector, Double)]]));
        let (key, found) = kinds("\tmov.u64 %d1, table+8;").expect("it is one");
        assert_eq!((key.as_str(), found), ("mov.u64/2", vec![vec![], vec![(Operand, Symbol)]]));
        let (_, found) = kinds("\tld.shared.u32 %r1, [table+8];").expect("it is one");
        assert_eq!(found, [vec![], vec![]]);
        for line in ["$L_1:", "\t.reg .b32 %r<7>;", "\tcall (r), f, (a);", "\tld.param.b32 %r1, [a];", "\tret;"] {
            assert!(Instruction::read(line).is_none(), "{line}");
        }
    }

    #[test]
    fn what_ptxas_refuses_is_found() {
        assert_eq!(refused("\tadd.u16x2 %r1, %r2, %r3;\n\tadd.s32 %r1, %r2, 3;\n\tmov.u64 %d1, table;\n"), None);
        let wrong = refused("\tret;\n\tadd.u16x2 %r1, %r2, 3;\n").expect("packed sums take no constants");
        assert_eq!((wrong.position, wrong.kind, wrong.excerpt.as_str()), (3, Kind::Integer, "add.u16x2 %r1, %r2, 3;"));
        assert_eq!(refused("\tadd.s32 %r1, %r2, 0f3F800000;\n").map(|wrong| wrong.kind), Some(Kind::Single));
        assert_eq!(refused("\tabs.s32 %r1, table;\n").map(|wrong| wrong.kind), Some(Kind::Symbol));
        let address = |line: &str| refused(line).map(|wrong| (wrong.position, wrong.kind));
        assert_eq!(address("\tld.param.b64 %d0, [0];\n"), Some((2, Kind::Integer)));
        assert_eq!(address("\t@!%p1 st.global.v2.b32 [-16], {%r1, %r2};\n"), Some((1, Kind::Integer)));
        assert_eq!(address("\tcp.async.ca.shared.global [%d1], [16], 4;\n"), Some((2, Kind::Integer)));
        assert_eq!(address("\tld.global.b32 %r0, [%r1+4];\n"), Some((2, Kind::Word)));
        assert_eq!(address("\tatom.add.u32 %r0, [%r1], 1;\n"), Some((2, Kind::Word)));
        for line in [
            "ld.shared.b32 %r1, [%r2];",
            "ld.param.b32 %r1, [%r2];",
            "ld.local.b32 %r1, [16];",
            "ld.global.b32 %r1, [%d1+16];",
            "ld.param.b32 %r1, [a+16];",
        ] {
            assert_eq!(refused(line), None);
        }
    }

    #[test]
    fn other_spellings_are_judged_too() {
        let refused = |text: &str| refused(text).map(|wrong| (wrong.excerpt, wrong.kind));
        let scope =
            |constant: &str| format!("$L_0:\n\t{{ .reg .b32 %r0; @%p1 add.f32 %r1, %r2, {constant}; }} // ; {{\n");
        assert_eq!(refused(&scope("1.5e0")), None);
        assert_eq!(refused(&scope("0D3ff0000000000000")), None);
        for integer in ["WARP_SZ", "((WARP_SZ) ^ 3)", "((.u64)7 + -3)", "(-(5) / 2)", "0x7U"] {
            let wrong = (format!("@%p1 add.f32 %r1, %r2, {integer};"), Kind::Integer);
            assert_eq!(refused(&scope(integer)), Some(wrong));
        }
        assert_eq!(refused("\tadd.s32 %r1, %r2, WARP_SZ; /* , ;\n } */ add.s32 %r1, %r2, (3 / 2);\n"), None);
        let behind = "\tret; /* ;\n } */ abs.s32 %r1, table;\n";
        assert_eq!(refused(behind), Some(("abs.s32 %r1, table;".to_owned(), Kind::Symbol)));
    }
}
