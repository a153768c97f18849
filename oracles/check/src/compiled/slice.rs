//! The operations of a trace that the last one depends on, by the registers that their texts name, and on request those
//! that conditions depend on.
//!
//! A compiler schedules what belongs together far apart, so most of what is in front of a store has nothing to do
//! with it. Loads begin a slice: who stored what they read is not asked for.

use std::collections::HashSet;

use super::aligned::Step;

/// What a slice is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Roots {
    /// The last step.
    Last,
    /// That, and conditions: what writes predicates, and branches that read them.
    Conditions,
}

/// The steps that the roots depend on, and these.
pub(super) fn of(steps: Vec<Step>, roots: Roots) -> Vec<Step> {
    let Some(last) = steps.last() else { return steps };
    let mut needed: HashSet<String> = names(&last.text).into_iter().flat_map(Name::registers).collect();
    let (mut kept, end) = (Vec::new(), steps.len() - 1);
    for (at, step) in steps.into_iter().enumerate().rev() {
        let (written, read) = split(&step);
        let is_condition = match written.is_empty() {
            true => read.iter().any(Name::is_predicate),
            false => written.iter().any(Name::is_predicate),
        };
        let is_root = at == end || roots == Roots::Conditions && is_condition;
        let written: Vec<String> = written.into_iter().flat_map(Name::registers).collect();
        if !is_root && !written.iter().any(|register| needed.contains(register)) {
            continue;
        }
        needed.retain(|register| !written.contains(register));
        needed.extend(read.into_iter().flat_map(Name::registers));
        kept.push(step);
    }
    kept.reverse();
    kept
}

/// A register as a text names it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Name {
    file: String,
    number: Option<u32>,
    /// How many registers, from this one on.
    count: u32,
}

impl Name {
    fn is_predicate(&self) -> bool {
        self.file.starts_with("%p") || matches!(self.file.as_str(), "P" | "UP")
    }

    fn registers(self) -> Vec<String> {
        match self.number {
            Some(number) => (number..number + self.count).map(|number| format!("{}{number}", self.file)).collect(),
            None => vec![self.file],
        }
    }
}

/// What a step writes, and what it reads. PTX names what it writes in front of `=`, and machine code first, unless the
/// step has no value, as a store.
fn split(step: &Step) -> (Vec<Name>, Vec<Name>) {
    let text = step.text.trim_start();
    let text =
        text.strip_prefix("/*").and_then(|rest| rest.split_once("*/")).map_or(text, |(_, rest)| rest.trim_start());
    // A condition is in front of the operation, and is read.
    let (condition, text) = match text.split_once(' ') {
        Some((condition, rest)) if condition.starts_with('@') => (names(condition), rest),
        _ => (Vec::new(), text),
    };
    if let Some((written, read)) = text.split_once(" = ") {
        return (names(written), [condition, names(read)].concat());
    }
    let mut all = names(text);
    if step.value.is_none() || all.is_empty() {
        return (Vec::new(), [condition, all].concat());
    }
    let operation = text.split_whitespace().next().unwrap_or_default();
    let mut written = all.remove(0);
    let is_wide = [".WIDE", ".64"].iter().any(|mark| operation.contains(mark)) || step.value > Some(u32::MAX.into());
    written.count = if operation.contains(".128") { 4 } else { 1 + u32::from(is_wide) };
    // The addend of a wide product is a pair.
    if let Some(addend) = all.last_mut().filter(|_| operation.contains(".WIDE")) {
        addend.count = 2;
    }
    (vec![written], [condition, all].concat())
}

/// The registers that a text names, in order.
fn names(text: &str) -> Vec<Name> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '%' | '.' | '_'));
    words.filter_map(name).collect()
}

fn name(word: &str) -> Option<Name> {
    let (register, marks) = word.split_once('.').unwrap_or((word, ""));
    if register.starts_with('%') {
        return Some(Name { file: register.to_owned(), number: None, count: 1 });
    }
    let digits = register.trim_start_matches(|c: char| c.is_ascii_uppercase());
    let file = &register[..register.len() - digits.len()];
    let number = digits.parse().ok().filter(|_| matches!(file, "R" | "UR" | "P" | "UP"))?;
    let count = if marks.split('.').any(|mark| mark == "64") { 2 } else { 1 };
    Some(Name { file: file.to_owned(), number: Some(number), count })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(steps: &[(&str, Option<u64>)]) -> Vec<String> {
        texts_of(steps, Roots::Last)
    }

    fn texts_of(steps: &[(&str, Option<u64>)], roots: Roots) -> Vec<String> {
        let step = |(text, value): &(&str, Option<u64>)| Step { text: (*text).to_owned(), value: *value };
        of(steps.iter().map(step).collect(), roots).into_iter().map(|step| step.text).collect()
    }

    #[test]
    fn conditions_are_kept_with_what_they_compare() {
        let ptx = [
            ("%r1 = ld.u32 [%d0] !11", Some(7)),
            ("%p2 = setp.le.s32 %r1, 1 !12", Some(1)),
            ("cbra %p2, bb1, bb4 !13", None),
            ("%r3 = iadd.u32 %r1, 1 !14", Some(8)),
            ("%r4 = mov.b32 5 !15", Some(5)),
            ("st.u32 [%d0], %r4 !16", None),
        ];
        assert_eq!(texts_of(&ptx, Roots::Conditions), [ptx[0].0, ptx[1].0, ptx[2].0, ptx[4].0, ptx[5].0]);
        let code = [
            ("/*0000*/ LDC R2, c[0x0][0x210]", Some(7)),
            ("/*0010*/ MOV R3, R6", Some(1)),
            ("/*0020*/ ISETP.GT.AND P0, PT, R2, 0x1, PT", Some(0)),
            ("/*0030*/ @!P0 BRA `(.L_x_1)", None),
            ("/*0040*/ BSYNC B0", None),
            // What follows it is not executed, as it does not hold.
            ("/*0050*/ ISETP.EQ.AND P1, PT, R3, RZ, PT", Some(0)),
            ("/*0070*/ EXIT", None),
        ];
        let expected = [code[0].0, code[1].0, code[2].0, code[3].0, code[5].0, code[6].0];
        assert_eq!(texts_of(&code, Roots::Conditions), expected);
        assert_eq!(texts_of(&code, Roots::Last), [code[6].0]);
    }

    #[test]
    fn what_the_store_depends_on_is_kept() {
        let ptx = [
            ("%d0 = ld.param.u64 [$p] !11", Some(1)),
            ("%r1 = iadd.u32 %r9, 1", Some(2)),
            ("%p4 = setp.ne.u32 %r1, 0", Some(1)),
            ("@%p4 %r2 = iadd.u32 %r1, 1 else %r5", Some(3)),
            ("st.global.u32 [%d0], %r9", None),
            ("%r1 = iadd.u32 %r7, 1", Some(3)),
            ("@%p3 st.global.u32 [%d0], %r2 !19", None),
        ];
        assert_eq!(texts(&ptx), [ptx[0].0, ptx[1].0, ptx[2].0, ptx[3].0, ptx[6].0]);
    }

    #[test]
    fn machine_code_has_pairs_and_conditions() {
        let code = [
            ("/*0000*/ LDC.64 R2, c[0x0][0x210]", Some(1 << 32)),
            ("/*0010*/ ISETP.GE.AND P0, PT, R7, R8, PT", Some(1)),
            ("/*0020*/ MOV R3, R6", Some(1)),
            ("/*0030*/ @!P0 IMAD.WIDE R2, R4, 0x4, R2", Some(2 << 32)),
            ("/*0040*/ MOV R9, R5", Some(4)),
            ("/*0050*/ STG.E desc[UR4][R2.64+0x8], R5", None),
        ];
        // The address is made of both words of the pair, the upper of which the copy has overwritten.
        assert_eq!(texts(&code), [code[0].0, code[1].0, code[2].0, code[3].0, code[5].0]);
        let wide = [("/*0000*/ LDL.128 R8, [R1]", Some(1)), ("/*0010*/ STG.E desc[UR4][R2.64], R11", None)];
        assert_eq!(texts(&wide), [wide[0].0, wide[1].0]);
        assert_eq!(texts(&[]), [""; 0]);
    }
}
