//! Reduction of PTX text, for what goes wrong while it is read: no module stands for such a text.
//!
//! A round takes away scopes and bodies with what heads them, then statements and lines, then braces, then single
//! tokens; first in long stretches, then in halves of these down to single ones (delta debugging). Numbers become zero.
//! A candidate counts where it is shorter, or as short with one number more that is zero, so reducing ends; rounds go
//! on until one changes nothing. White space and comments go first.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::fault::Wrong;
use super::{Glance, Options, Watch};
use crate::input::fault_of_reading;
use crate::judge::Verdict;

/// What became of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReducedText {
    /// The shortest text for which the predicate holds; the given one where it does not hold for that.
    pub text: String,
    /// Whether the predicate holds for what was given.
    pub interesting: bool,
    /// Whether nothing more can be done; otherwise a limit was met, or somebody ended it.
    pub complete: bool,
    /// Whether somebody ended it.
    pub stopped: bool,
    /// Texts for which the predicate was asked.
    pub evaluations: u64,
    /// How long it took.
    pub time: Duration,
    /// Statements before.
    pub before: usize,
    /// Statements after.
    pub after: usize,
}

/// Reduces a text that the PTX front end does not read well: what it does stays the same but for names and numbers.
/// `None` where the text is read well, or otherwise goes wrong than the verdict says.
pub fn misread_text(text: &str, verdict: &Verdict, options: &Options, watch: Watch<'_>) -> Option<ReducedText> {
    let wanted = Wrong::of(fault_of_reading(text)?);
    let same = |candidate: &str| fault_of_reading(candidate).is_some_and(|found| Wrong::of(found).is_like(&wanted));
    wanted.verdict.is_like(verdict).then(|| reduce_text(text, &same, options, watch))
}

/// Makes a text as short as the predicate allows, which must always answer the same for the same text.
pub fn reduce_text(text: &str, predicate: &dyn Fn(&str) -> bool, options: &Options, watch: Watch<'_>) -> ReducedText {
    let (start, before) = (Instant::now(), statements(text));
    let mut reducer =
        Reducer { text: text.to_owned(), predicate, options: *options, watch, start, before, evaluations: 1 };
    let interesting = predicate(text);
    let mut changed = interesting;
    if interesting {
        reducer.tidy();
    }
    while changed && !reducer.is_over() {
        changed = reducer.round();
    }
    ReducedText {
        interesting,
        complete: interesting && !changed && !reducer.is_over(),
        stopped: watch.stops(),
        evaluations: reducer.evaluations,
        time: start.elapsed(),
        before,
        after: statements(&reducer.text),
        text: reducer.text,
    }
}

/// How many statements a text has; declarations count as such.
fn statements(text: &str) -> usize {
    text.bytes().filter(|&byte| byte == b';').count()
}

struct Reducer<'a> {
    text: String,
    predicate: &'a dyn Fn(&str) -> bool,
    options: Options,
    watch: Watch<'a>,
    start: Instant,
    before: usize,
    evaluations: u64,
}

impl Reducer<'_> {
    fn is_over(&self) -> bool {
        let Options { evaluations, time } = self.options;
        self.evaluations >= evaluations || self.start.elapsed() >= time || self.watch.stops()
    }

    /// Takes a candidate over where the predicate holds for it.
    fn holds(&mut self, candidate: String) -> bool {
        self.evaluations += 1;
        let holds = (self.predicate)(&candidate);
        if holds {
            self.text = candidate;
        }
        let (evaluations, time) = (self.evaluations, self.start.elapsed());
        self.watch.show(|| Glance { left: statements(&self.text), before: self.before, evaluations, time });
        holds
    }

    /// Comments, and all white space but that between lines and words.
    fn tidy(&mut self) {
        let kept = tokens(&self.text).into_iter().map(|token| &self.text[token]).filter(|token| !is_comment(token));
        let plain: String = kept.map(|token| if token.trim().is_empty() { gap(token) } else { token }).collect();
        if plain != self.text {
            self.holds(plain);
        }
    }

    /// Everything once; whether anything became simpler.
    fn round(&mut self) -> bool {
        let mut changed = false;
        for parts in [bodies, statement_ranges, lines, tokens] {
            changed |= self.without(parts);
        }
        changed |= self.unwrapped();
        changed | self.zeros()
    }

    /// Takes parts of the text away: stretches of half of them, of a quarter, down to single ones.
    fn without(&mut self, parts: fn(&str) -> Vec<Range<usize>>) -> bool {
        let before = self.text.len();
        let mut ranges = parts(&self.text);
        let mut chunk = ranges.len();
        while chunk > 0 && !self.is_over() {
            let mut at = 0;
            while at < ranges.len() && !self.is_over() {
                let taken = &ranges[at..(at + chunk).min(ranges.len())];
                if self.holds(cut(&self.text, taken)) {
                    // What follows has moved to this place; what precedes it was tried.
                    ranges = parts(&self.text);
                } else {
                    at += chunk;
                }
            }
            chunk = (chunk / 2).min(ranges.len());
        }
        self.text.len() < before
    }

    /// Takes pairs of braces away and leaves what is between them.
    fn unwrapped(&mut self) -> bool {
        let (mut at, before) = (0, self.text.len());
        while !self.is_over() {
            let Some((open, close)) = braces(&self.text).into_iter().nth(at) else { break };
            if !self.holds(cut(&self.text, &[open..open + 1, close..close + 1])) {
                at += 1;
            }
        }
        self.text.len() < before
    }

    /// Makes numbers zero.
    fn zeros(&mut self) -> bool {
        let (mut at, mut changed) = (0, false);
        while !self.is_over() {
            let is_number = |token: &Range<usize>| self.text[token.clone()].starts_with(|c: char| c.is_ascii_digit());
            let Some(token) = tokens(&self.text).into_iter().filter(is_number).nth(at) else { break };
            at += 1;
            if &self.text[token.clone()] != "0" {
                changed |= self.holds(format!("{}0{}", &self.text[..token.start], &self.text[token.end..]));
            }
        }
        changed
    }
}

/// A text without some parts, which come in their order and may enclose each other.
fn cut(text: &str, parts: &[Range<usize>]) -> String {
    let (mut out, mut from) = (String::with_capacity(text.len()), 0);
    for part in parts {
        out.push_str(text.get(from..part.start).unwrap_or_default());
        from = from.max(part.end);
    }
    out + &text[from..]
}

/// A piece of white space, as short as it can be.
fn gap(space: &str) -> &'static str {
    if space.contains('\n') { "\n" } else { " " }
}

fn is_comment(token: &str) -> bool {
    token.starts_with("//") || token.starts_with("/*")
}

/// Words, numbers, comments, texts in quotes and white space, each as a whole; anything else by itself.
fn tokens(text: &str) -> Vec<Range<usize>> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '%' | '.');
    let (mut tokens, mut at) = (Vec::new(), 0);
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let run = |fits: &dyn Fn(char) -> bool| rest.find(|c| !fits(c)).unwrap_or(rest.len());
        let ended_by = |end: &str, from: usize| rest[from..].find(end).map_or(rest.len(), |at| from + at + end.len());
        let length = match first {
            _ if rest.starts_with("//") => run(&|c| c != '\n'),
            _ if rest.starts_with("/*") => ended_by("*/", 2),
            '"' => ended_by("\"", 1),
            // Each modifier of an opcode can go by itself.
            '.' => 1 + rest[1..].find(|c: char| !is_word(c) || c == '.').unwrap_or(rest.len() - 1),
            c if is_word(c) => rest.find(|c: char| !is_word(c) || c == '.').unwrap_or(rest.len()),
            c if c.is_whitespace() => run(&char::is_whitespace),
            c => c.len_utf8(),
        };
        tokens.push(at..at + length);
        at += length;
    }
    tokens
}

/// Where the braces are that belong together, by the places of the first ones.
fn braces(text: &str) -> Vec<(usize, usize)> {
    let (mut open, mut pairs) = (Vec::new(), Vec::new());
    for token in tokens(text) {
        match &text[token.clone()] {
            "{" => open.push(token.start),
            "}" => pairs.extend(open.pop().map(|open| (open, token.start))),
            _ => {}
        }
    }
    pairs.sort_unstable();
    pairs
}

/// Braces with all between them, and with what heads them: from the end of the statement before.
fn bodies(text: &str) -> Vec<Range<usize>> {
    let ends: Vec<usize> = tokens(text)
        .into_iter()
        .filter(|token| matches!(&text[token.clone()], ";" | "{" | "}"))
        .map(|token| token.end)
        .collect();
    let head = |open: usize| ends[..ends.partition_point(|end| *end <= open)].last().copied().unwrap_or(0);
    braces(text).into_iter().map(|(open, close)| head(open)..close + 1).collect()
}

/// What ends with a semicolon, a brace or a colon.
fn statement_ranges(text: &str) -> Vec<Range<usize>> {
    let ends = tokens(text).into_iter().filter(|token| matches!(&text[token.clone()], ";" | "{" | "}" | ":"));
    between(text, ends.map(|token| token.end))
}

fn lines(text: &str) -> Vec<Range<usize>> {
    between(text, text.match_indices('\n').map(|(at, _)| at + 1))
}

/// The parts of a text that end at these places, and what is left.
fn between(text: &str, ends: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let (mut parts, mut from) = (Vec::new(), 0);
    for end in ends.chain([text.len()]).filter(|end| *end > 0) {
        if end > from {
            parts.push(from..end);
        }
        from = end;
    }
    parts
}

#[cfg(test)]
mod tests {
    use oriole_ptx as ptx;

    use super::*;

    const TEXT: &str = ".version 9.0\n.target sm_90\n.address_size 64\n// A comment.\n.global .align 8 .b8 table[64];\n\
        .func (.param .b32 r) twice(.param .b32 x)\n{\n\t.reg .b32 %r<3>;\n\tld.param.u32 %r1, [x];\n\
        \tshl.b32 %r2, %r1, 1;\n\tst.param.b32 [r], %r2;\n\tret;\n}\n\
        .visible .entry k(.param .u64 p, .param .u32 n)\n{\n\t.reg .pred %p<2>;\n\t.reg .b32 %r<6>;\n\
        \t.reg .b64 %d<4>;\n\tld.param.u64 %d1, [p];\n\tmov.u32 %r1, %tid.x;\n\tsetp.lt.u32 %p1, %r1, 7;\n\
        \t@!%p1 bra $L_1;\n\t{ .reg .b64 %d1; mov.u64 %d1, table; ld.volatile.global.u32 %r2, [%d1+-16]; }\n\
        $L_1:\n\tmul.wide.u32 %d2, %r1, 4;\n\tadd.s64 %d3, %d1, %d2;\n\tst.global.u32 [%d3], %r1;\n\tret;\n}\n";

    fn reduced(predicate: &dyn Fn(&str) -> bool) -> ReducedText {
        let reduced = reduce_text(TEXT, predicate, &Options::default(), Watch::default());
        assert!(reduced.interesting && reduced.complete && predicate(&reduced.text), "{}", reduced.text);
        let again = reduce_text(&reduced.text, predicate, &Options::default(), Watch::default());
        assert_eq!(again.text, reduced.text, "nothing more can go");
        reduced
    }

    /// A text that is read, and of which one statement is what is looked for: all else goes, braces stay in pairs.
    #[test]
    fn what_is_read_is_reduced_to_one_statement() {
        let reduced = reduced(&|text| ptx::read(text).is_ok_and(|module| module.to_string().contains("ld.volatile")));
        assert!(
            reduced.after <= 3 && reduced.before == 20,
            "{} of {}\n{}",
            reduced.after,
            reduced.before,
            reduced.text
        );
        assert!(reduced.text.contains("ld.volatile") && !reduced.text.contains("twice"), "{}", reduced.text);
    }

    /// What is refused stays refused for the same reason, whatever names and numbers it has.
    #[test]
    fn refused_text_keeps_the_reason() {
        let text = TEXT.replace("shl.b32 %r2, %r1, 1;", "shl.b32 %r2, %r1;");
        let Some(verdict @ Verdict::Refused(_)) = fault_of_reading(&text) else { panic!("it is refused") };
        let reduced = misread_text(&text, &verdict, &Options::default(), Watch::default()).expect("it goes wrong");
        assert!(reduced.complete && reduced.text.contains("shl.b32"), "{}", reduced.text);
        assert!(reduced.text.len() < 100, "{}", reduced.text);
        assert!(misread_text(TEXT, &verdict, &Options::default(), Watch::default()).is_none(), "it is read well");
    }

    /// What is there when somebody ends it is as good as it is small.
    #[test]
    fn somebody_may_end_it() {
        let (stop, shown) = (std::sync::atomic::AtomicBool::new(false), std::sync::Mutex::new(Vec::new()));
        let progress = |glance: Glance| {
            stop.store(glance.evaluations >= 10, std::sync::atomic::Ordering::Relaxed);
            shown.lock().expect("nobody panics").push(glance.left);
        };
        let watch = Watch { progress: Some(&progress), stop: Some(&stop) };
        let reduced = reduce_text(TEXT, &|text| text.contains("volatile"), &Options::default(), watch);
        assert!(reduced.stopped && !reduced.complete && reduced.interesting && reduced.text.contains("volatile"));
        assert_eq!((reduced.evaluations, shown.into_inner().expect("nobody panics").len()), (10, 9));
    }

    #[test]
    fn reductions_keep_to_their_limits() {
        let options = Options { evaluations: 5, ..Options::default() };
        let reduced = reduce_text(TEXT, &|text| text.contains("volatile"), &options, Watch::default());
        assert!(!reduced.complete && reduced.evaluations <= 6);
        assert!(!reduce_text(TEXT, &|_| false, &options, Watch::default()).interesting);
    }
}
