//! Folding of constant expressions; expected values were read from the data that ptxas 13.0.88 emits.

use super::super::super::ast::{Constant, InitializerKind};
use super::with_variable;
use Constant::{Double, Signed, Single, Unsigned};

fn fold(expression: &str) -> Constant {
    let mut folded = None;
    with_variable(&format!(".global .u64 x = {expression};"), |variable| {
        if let Some(InitializerKind::Constant(constant)) = variable.initializer.as_ref().map(|init| &init.kind) {
            folded = Some(*constant);
        }
    });
    folded.expect("a constant initializer")
}

#[test]
fn literals_have_their_base_and_type() {
    assert_eq!(fold("0x1F"), Signed(31));
    assert_eq!(fold("017"), Signed(15));
    assert_eq!(fold("0b101U"), Unsigned(5));
    assert_eq!(fold("18446744073709551615"), Unsigned(u64::MAX));
    assert_eq!(fold("0f3F800000"), Single(0x3F80_0000));
    assert_eq!(fold("0dBFF0000000000000"), Double((-1.0f64).to_bits()));
    assert_eq!(fold(".5e-1"), Double(0.05f64.to_bits()));
    assert_eq!(fold("WARP_SZ"), Signed(32));
}

#[test]
fn operators_bind_as_in_c() {
    assert_eq!(fold("2 + 3 * 4 - 10 / 3"), Signed(11));
    assert_eq!(fold("1 | 2 ^ 3 & 2"), Signed(1));
    assert_eq!(fold("2 && 3 || 0"), Signed(1));
    assert_eq!(fold("1 << 2 + 1"), Signed(8));
    assert_eq!(fold("(1 << 2) + 1 == 5"), Signed(1));
    assert_eq!(fold("-1 ? 1 : 0 ? 3 : 4"), Signed(1));
    assert_eq!(fold("!5 + !0"), Signed(1));
    assert_eq!(fold("10 - 3 - 2"), Signed(5));
}

#[test]
fn mixed_signs_become_unsigned() {
    assert_eq!(fold("-7 / 2U"), Unsigned(9_223_372_036_854_775_804));
    assert_eq!(fold("-1 < 1U"), Signed(0));
    assert_eq!(fold("-1 < 1"), Signed(1));
    assert_eq!(fold("~5 > 0"), Signed(1));
    assert_eq!(fold("(-1 & -1) > 0"), Signed(0));
    assert_eq!(fold("(-1 & 0xFFFFFFFFFFFFFFFF) > 0"), Signed(1));
    assert_eq!(fold("(.s64)0xFFFFFFFFFFFFFFFF < 0"), Signed(1));
    assert_eq!(fold("(.u64)-1 > 0"), Signed(1));
    assert_eq!(fold("-9223372036854775808 < 0"), Signed(0));
    assert_eq!(fold("(0 ? 1U : -1) < 0"), Signed(1));
}

#[test]
fn remainders_are_unsigned_and_shift_amounts_wrap() {
    assert_eq!(fold("-7 % 3"), Unsigned(0));
    assert_eq!(fold("(-2 % -1) > 0"), Signed(1));
    assert_eq!(fold("1 << 64"), Signed(1));
    assert_eq!(fold("-256 >> 65"), Signed(-128));
    assert_eq!(fold("0xFFFFFFFFFFFFFFFF >> 60"), Unsigned(15));
}

#[test]
fn the_smallest_number_divides_without_overflow() {
    assert_eq!(fold("(.s64)0x8000000000000000 / -1"), Signed(i64::MIN));
    assert_eq!(fold("-(.s64)0x8000000000000000"), Signed(i64::MIN));
}

#[test]
fn doubles_fold_too() {
    assert_eq!(fold("2.0 * 3.0 - 1.0"), Double(5.0f64.to_bits()));
    assert_eq!(fold("-0.0"), Double((-0.0f64).to_bits()));
    assert_eq!(fold("1.5 < 2.0"), Signed(1));
}
