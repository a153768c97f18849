//! Diagnostics: message, line and column; recovery; limits; and no panic on any damaged text.

use super::super::parse;
use super::{HEADER, SAXPY};
use crate::MAX_FAULTS;

/// Faults of `items` behind a valid header as `line:column: message`, lines counted from the first item.
fn faults_of(items: &str) -> Vec<String> {
    let source = format!("{HEADER}{items}");
    let faults = parse(&source).expect_err("a fault is expected");
    let header_lines = HEADER.lines().count();
    let describe = |fault: &crate::Fault| {
        let (line, column) = fault.line_column(&source);
        format!("{}:{column}: {}", line - header_lines, fault.message)
    };
    faults.iter().map(describe).collect()
}

/// Faults of `statements` in a body whose first line is line 1.
fn body_faults(statements: &str) -> Vec<String> {
    faults_of(&format!(".entry k() {{ {statements}\n}}\n.global .u32 after;"))
}

#[test]
fn statements_recover_one_by_one() {
    let faults =
        body_faults("\n  add.s32 %r1, , %r2;\n  ret;\n  ld.u32 %r1, [%r2-8];\n  mov.b64 {%r1 %r2}, %rd1;\n  foo");
    assert_eq!(
        faults,
        [
            "2:16: expected an operand, found `,`",
            "4:19: an address cannot subtract",
            "5:16: expected `,` or `}`, found `%r2`",
            "6:6: expected `;` after the instruction",
        ]
    );
}

#[test]
fn a_missing_semicolon_costs_one_fault_and_no_line() {
    let faults = body_faults("\n  add.s32 a, b, c\n  ret, ;\n  add.s32 a, b c;");
    assert_eq!(
        faults,
        [
            "2:18: expected `;` after the instruction",
            "3:6: expected an operand, found `,`",
            "4:16: expected `;` after the instruction, found `c`"
        ]
    );
}

#[test]
fn items_recover_one_by_one() {
    let faults = faults_of(".global u32 x;\n.globl .u32 y;\n}\n.func f( { ret; }\n.global .u32 z = ;\n.alias a b;");
    assert_eq!(
        faults,
        [
            "1:9: the declaration of `u32` has no type",
            "2:1: `.globl` is not a directive that can stand here",
            "3:1: expected a directive, variable or function, found `}`",
            "4:10: expected a name, found `{`",
            "5:18: expected a constant, found `;`",
            "6:10: expected `,`, found `b`",
        ]
    );
}

#[test]
fn declarations_are_checked() {
    let one = |text: &str| faults_of(text).join("; ");
    assert_eq!(one(".global .align 3 .u32 x;"), "1:16: 3 is not an alignment");
    assert_eq!(one(".global .shared .u32 x;"), "1:9: this declaration names two state spaces");
    assert_eq!(one(".global .u32 x[2][];"), "1:19: only the first dimension of an array can be open");
    assert_eq!(one(".global .u32 x<4>;"), "1:15: only registers can be declared as a range");
    assert_eq!(one(".global .u32 x[1.5];"), "1:16: an array's length must be an integer");
    assert_eq!(one(".global .u64 x = y-8;"), "1:19: an address cannot subtract");
    let twice = "1:10: `.weak` is not a directive that can stand here";
    assert_eq!(one(".visible .weak .global .u32 x;"), twice);
    let large = ".global .u32 x[4294967296][4294967296];";
    assert_eq!(one(large), "1:14: the array `x` is too large to address");
}

#[test]
fn constants_are_checked() {
    assert_eq!(body_faults("mov.u32 a, 18446744073709551616;"), ["1:25: this integer does not fit 64 bits"]);
    assert_eq!(body_faults("mov.u32 a, 0f3F8;"), ["1:25: `0f3F8` is not a number"]);
    assert_eq!(body_faults("mov.u32 a, 4/(2-2);"), ["1:25: this constant divides by zero"]);
    assert_eq!(body_faults("mov.u32 a, 5 % 0;"), ["1:25: this constant divides by zero"]);
    let message = "1:25: this operator does not apply to these constants";
    assert_eq!(body_faults("mov.u32 a, -0f3F800000;"), [message]);
    assert_eq!(body_faults("mov.u32 a, 1.5 + 2;"), [message]);
    assert_eq!(body_faults("mov.u32 a, ~1.5;"), [message]);
}

#[test]
fn what_is_never_closed_is_shown_where_it_opens() {
    assert_eq!(faults_of(".func f() {\n { ret;\n"), ["2:2: the body of `f` is never closed"]);
    assert_eq!(faults_of(".section .debug_info\n{ .b8 1"), ["2:1: this section is never closed"]);
}

#[test]
fn a_header_is_required() {
    let faults = parse(".global .u32 x;").expect_err("no header");
    let messages: Vec<_> = faults.iter().map(|fault| fault.message.as_str()).collect();
    assert_eq!(messages, ["the module has no `.version` directive", "the module has no `.target` directive"]);
    assert_eq!(faults_of(".address_size 48"), ["1:15: 48 is not an address size"]);
}

#[test]
fn tables_need_labels() {
    assert_eq!(body_faults(".branchtargets a, b;"), ["1:14: `.branchtargets` needs a label before it"]);
}

#[test]
fn depth_is_bounded() {
    let opens = |text: &str| text.repeat(100_000);
    let too_deep = |faults: Vec<String>| faults.iter().any(|fault| fault.contains("64 levels deep"));
    assert!(too_deep(faults_of(&format!(".global .u32 x = {};", opens("{")))));
    for prefix in ["(", "-", "!", "1?", "1+(", "(.s64)", "{", "[a,"] {
        assert!(too_deep(body_faults(&format!("mov.u32 a, {};", opens(prefix)))), "{prefix}");
    }
    assert!(too_deep(body_faults(&format!("call f, ({};", opens("{")))));
    assert!(body_faults(&opens("{")).iter().any(|fault| fault.contains("scopes nest more than 256 levels")));
}

#[test]
fn long_flat_texts_are_not_deep() {
    let sum = format!("{HEADER}.global .u32 x = 1{};", "+1".repeat(10_000));
    assert!(parse(&sum).is_ok());
}

#[test]
fn the_number_of_faults_is_bounded() {
    assert_eq!(body_faults(&"mov.u32 , ;\n".repeat(10_000)).len(), MAX_FAULTS);
    assert_eq!(faults_of(&"#".repeat(10_000)).len(), MAX_FAULTS);
    assert_eq!(faults_of(&"}".repeat(10_000)).len(), MAX_FAULTS);
}

#[test]
fn the_error_carries_its_faults_and_their_places() {
    use miette::Diagnostic as _;
    let source = format!("{HEADER}.entry k() {{ mov.u32 , ; }}");
    let error = crate::SourceError::new("k.ptx", source.as_str(), parse(&source).expect_err("a fault"));
    let related: Vec<_> = error.related().expect("faults").collect();
    assert_eq!(related.len(), 1);
    let label = related[0].labels().and_then(|mut labels| labels.next()).expect("a label");
    let code = error.source_code().expect("the text");
    let place = code.read_span(label.inner(), 0, 0).expect("a place in the text");
    assert_eq!((place.line(), place.column()), (3, 21));
}

/// A small generator of reproducible numbers (xorshift64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

/// Replaces, inserts or removes a few pieces of `text`.
fn damage(text: &str, numbers: &mut Numbers) -> String {
    const PIECES: &[&str] = &[
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        ";",
        ",",
        ":",
        ".",
        "@",
        "!",
        "|",
        "_",
        "+",
        "-",
        "<",
        ">",
        "=",
        "\"",
        "/*",
        "//",
        "é",
        "\0",
        "0f",
        "9",
        "18446744073709551616",
        ".reg",
        ".param",
        ".v4",
        "%r<",
        "call",
        ".align",
        "WARP_SZ",
        "?",
        ".callprototype",
        ".branchtargets",
        ".section",
        ".loc",
        "generic(",
        "0xFF(",
        ".attribute(",
    ];
    let mut damaged = text.to_owned();
    for _ in 0..=numbers.below(4) {
        let start = damaged.floor_char_boundary(numbers.below(damaged.len() + 1));
        let end = damaged.floor_char_boundary((start + numbers.below(6)).min(damaged.len())).max(start);
        damaged.replace_range(start..end, PIECES[numbers.below(PIECES.len())]);
    }
    damaged
}

#[test]
fn damaged_texts_give_a_tree_or_diagnostics() {
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    let mut accepted = 0;
    for source in [SAXPY, super::EVERYTHING] {
        for _ in 0..2_000 {
            match parse(&damage(source, &mut numbers)) {
                Ok(_) => accepted += 1,
                Err(faults) => assert!((1..=MAX_FAULTS).contains(&faults.len())),
            }
        }
    }
    // Damage in white space and comments is harmless; if nothing or everything passed, the test would see little.
    assert!((40..3_000).contains(&accepted), "{accepted} of 4000 accepted");
}

#[test]
fn truncated_texts_give_a_tree_or_diagnostics() {
    for source in [SAXPY, super::EVERYTHING] {
        for length in (0..source.len()).filter(|&length| source.is_char_boundary(length)) {
            if let Err(faults) = parse(&source[..length]) {
                assert!(faults.iter().all(|fault| fault.span.offset() + fault.span.len() <= length));
            }
        }
    }
}
