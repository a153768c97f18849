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

const MACHINE: &str = "\
# An index that is known.
machine rule constant-index category immediate priority 5 in generic post-schedule only sm_90 sm_120
  for W in none 64 U8:
    d:R = LDC.W C, c[B][O] => d = LDC.W RZ, c[B][C + O] if C + O < 0x10000, !is_mask(C)
  yes %R3 = LDC 8, c[0][0x210] => %R3 = LDC RZ, c[0][0x218]
  no %R3 = LDC %R2, c[0][0x210]
rule add-zero: iadd.u32(x, 0) => x
  no iadd.u32(x, 1)
machine rule store template 7: t, PT, PT = IADD3 x, &y, RZ, ~PT, ~PT; STS t, C, v:Rx2 => STS x, C, v
";

#[test]
fn machine_rules_read_back_the_same() {
    let (file, faults) = parse(MACHINE);
    assert_eq!(faults, []);
    assert_eq!((file.machine.len(), file.rules.len()), (2, 1));
    assert_eq!(file.machine[0].doc, "An index that is known.");
    assert_eq!((file.machine[0].examples.len(), file.rules[0].examples.len()), (2, 1));
    let texts: Vec<String> = file.machine.iter().map(ToString::to_string).collect();
    let (again, faults) = parse(&texts.join("\n"));
    assert_eq!(faults, []);
    assert_eq!(again.machine.iter().map(ToString::to_string).collect::<Vec<_>>(), texts);
    assert!(texts[1].contains("template 7: t, PT, PT = IADD3 x, &y"), "{}", texts[1]);
}

#[test]
fn what_is_no_machine_rule_is_refused_with_its_place() {
    for (text, says) in [
        ("machine rul a: d = MOV x => d = MOV x", "expected `rule`"),
        ("machine rule a: d = MOV x", "expected `=>`"),
        ("machine rule a: d MOV x => d = MOV x", "expected `=>`"),
        ("machine rule a: d = LDC C, c[1] => d = LDC C", "expected `[`"),
        ("machine rule a priority 37: d = MOV x => d = MOV x", "priority 37 does not exist"),
    ] {
        let (_, faults) = parse(text);
        assert!(faults.iter().any(|fault| fault.to_string().contains(says)), "{text}: {faults:?}");
    }
}
