//! A line of a printed body, taken apart.

/// An instruction as the printer writes it.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// `@%p1 `, `@!%p1 ` or nothing.
    pub guard: String,
    /// With all modifiers.
    pub opcode: String,
    pub operands: Vec<String>,
}

impl Line {
    /// The instruction of a line; `None` where it is a label, a declaration or a table.
    pub fn of(line: &str) -> Option<Line> {
        let text = line.strip_prefix('\t')?.strip_suffix(';')?;
        let (guard, text) = match text.starts_with('@') {
            true => text.split_at(text.find(' ')? + 1),
            false => ("", text),
        };
        if text.starts_with(['.', '$']) {
            return None;
        }
        let (opcode, operands) = text.split_once(' ').unwrap_or((text, ""));
        Some(Line { guard: guard.to_owned(), opcode: opcode.to_owned(), operands: split(operands) })
    }

    pub fn text(&self) -> String {
        let gap = if self.operands.is_empty() { "" } else { " " };
        format!("{}{}{gap}{};", self.guard, self.opcode, self.operands.join(", "))
    }

    /// Whether a modifier follows the opcode.
    pub fn has(&self, modifier: &str) -> bool {
        self.opcode.split('.').skip(1).any(|part| part == modifier)
    }

    /// The opcode without modifiers.
    pub fn base(&self) -> &str {
        self.opcode.split('.').next().unwrap_or_default()
    }

    /// The predicate of the guard, and whether it is negated.
    pub fn predicate(&self) -> Option<(&str, bool)> {
        let guard = self.guard.trim_end().strip_prefix('@')?;
        Some(guard.strip_prefix('!').map_or((guard, false), |negated| (negated, true)))
    }
}

/// Operands between commas that no bracket encloses.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for letter in text.chars() {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        match (letter, depth) {
            (',', 0) => parts.push(String::new()),
            _ => parts.last_mut().expect("there is one").push(letter),
        }
    }
    parts.iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// The type of a register by the printer's names; `None` for special registers and everything else.
pub(super) fn type_of(name: &str) -> Option<&'static str> {
    let name = name.strip_prefix('%')?;
    let letters = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    if letters.len() == name.len() {
        return None;
    }
    Some(match letters {
        "p" | "xp" => "pred",
        "h" | "xh" => "b16",
        "r" | "xr" => "b32",
        "d" | "xd" => "b64",
        "q" | "xq" => "b128",
        _ => return None,
    })
}

/// The parts of a text that are words, with where they begin: names, registers and numbers.
pub(super) fn words(text: &str) -> Vec<(usize, &str)> {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '$' | '%' | '.');
    let mut out = Vec::new();
    let mut from = 0;
    while let Some(start) = text[from..].find(is_word).map(|at| from + at) {
        let end = text[start..].find(|letter| !is_word(letter)).map_or(text.len(), |length| start + length);
        out.push((start, &text[start..end]));
        from = end;
    }
    out
}

/// A text with each of its words replaced, where there is something to take its place.
pub(super) fn replaced(text: &str, mut other: impl FnMut(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(2 * text.len());
    let mut from = 0;
    for (start, word) in words(text) {
        out.push_str(&text[from..start]);
        match other(word) {
            Some(new) => out.push_str(&new),
            None => out.push_str(word),
        }
        from = start + word.len();
    }
    out + &text[from..]
}
