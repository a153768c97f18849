use super::*;

const RULES: &str = "\
# Sums.

# Adding nothing
# changes nothing.
rule add-zero for T in int: iadd.T(x, 0) => x
  yes iadd.u32(x, 0) => x
  no  iadd.u32(x, 1)
rule many priority 20 modulo nan for T in u32 s32, OP in imul.lo and where legal:
    OP.T(&fadd{F}.bits(T)(x, -(A + 1) * 2), y@not.pred(_)) => let t = shl.bits(T)(x, log2(C)); (t, lo(y))
    if is_power_of_two(C), C >s 1 || !single_use(x), T in u32, F.Rounding != none, A /s 2 == 0x10000, OP == imul.lo
";

/// The tree without its places, by way of its text.
fn text_of(source: &str) -> (Vec<String>, Vec<Fault>) {
    let (file, faults) = parse(source);
    (file.rules.iter().map(ToString::to_string).collect(), faults)
}

#[test]
fn what_is_printed_reads_back_the_same() {
    let (first, faults) = text_of(RULES);
    assert_eq!(faults, []);
    assert_eq!(first.len(), 2);
    let (second, faults) = text_of(&first.join("\n"));
    assert_eq!((&second, faults), (&first, Vec::new()));
    assert!(first[1].contains("y@not.pred(_)"), "{}", first[1]);
    assert!(
        first[1].contains("C >s 1 || !single_use(x), T in u32, F.Rounding != none, A /s 2 == 0x10000, OP == imul.lo"),
        "{}",
        first[1]
    );
}

#[test]
fn comments_right_above_a_rule_are_its_own() {
    let (file, _) = parse(RULES);
    let docs: Vec<&str> = file.rules.iter().map(|rule| rule.doc.as_str()).collect();
    assert_eq!(docs, ["Adding nothing changes nothing.", ""]);
    assert_eq!(file.rules[0].examples.len(), 2);
}

#[test]
fn every_rule_reports_its_first_mistake() {
    let source =
        "rule a: iadd.u32(x => x\nrule b: iadd.u32(x, 0) => x\nrule c priority 99: iadd.u32(x, 0) => x\n\u{e9}";
    let (file, faults) = parse(source);
    assert_eq!(file.rules.len(), 1);
    let places: Vec<_> = faults.iter().map(|fault| fault.line_column(source)).collect();
    assert_eq!(places, [(4, 1), (1, 17), (3, 17)]);
    let error = SourceError::new("f.rules", source, faults);
    assert!(
        error.lines().starts_with("f.rules:1:17: the parenthesis is not closed: expected `,` or `)`, found `=>`"),
        "{}",
        error.lines()
    );
}

#[test]
fn deep_nesting_is_refused() {
    for text in ["(", "-", "not.b32(", "lo(", "x@not.b32(", "1+", "fold(not.b32(", "f("] {
        let (_, faults) = parse(&format!("rule a: not.b32({}", text.repeat(100_000)));
        assert_eq!(faults.len(), 1, "{text}");
        assert!(faults[0].message.contains("deep") || text == "1+", "{text}: {}", faults[0].message);
    }
    let (_, faults) = parse(&format!("rule a: not.b32(x) => x if {}x", "!".repeat(100_000)));
    assert!(faults[0].message.contains("deep"));
}
