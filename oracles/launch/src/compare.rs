//! Comparison of a buffer with what it should hold: byte for byte, and shown as elements.
//!
//! The element type for display comes from the launch, or else from the look of the expected content
//! ([`super::vary::guess`]). It never affects the verdict.

use super::vary::{Kind, guess};
use super::{Buffer, Scalar, ScalarType};

/// One byte that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Where, in bytes from the start.
    pub offset: usize,
    /// The expected byte; `None` beyond the expected end.
    pub expected: Option<u8>,
    /// The actual byte; `None` beyond the actual end.
    pub actual: Option<u8>,
}

/// The first `limit` bytes that differ. Where `undefined` is true the expectation says nothing; a shorter
/// slice leaves the rest defined. A difference in length is a difference at every missing byte.
pub fn compare(expected: &[u8], actual: &[u8], undefined: Option<&[bool]>, limit: usize) -> Vec<Difference> {
    // Equal buffers are by far the most frequent case, and one comparison of slices settles it.
    if expected == actual {
        return Vec::new();
    }
    let ignored = |offset: usize| undefined.is_some_and(|bits| bits.get(offset) == Some(&true));
    (0..expected.len().max(actual.len()))
        .map(|offset| Difference {
            offset,
            expected: expected.get(offset).copied(),
            actual: actual.get(offset).copied(),
        })
        .filter(|difference| difference.expected != difference.actual && !ignored(difference.offset))
        .take(limit)
        .collect()
}

/// Whether nothing differs, as [`compare`] sees it.
pub fn matches(expected: &[u8], actual: &[u8], undefined: Option<&[bool]>) -> bool {
    compare(expected, actual, undefined, 1).is_empty()
}

/// The first `limit` elements in which a difference lies, a line each:
/// `y[37] (f32 at byte 148): expected 2.5 (0x40200000), got 2.0 (0x40000000)`.
pub fn describe(
    name: &str,
    element: Option<ScalarType>,
    expected: &[u8],
    actual: &[u8],
    undefined: Option<&[bool]>,
    limit: usize,
) -> Vec<String> {
    let ty = element.unwrap_or_else(|| display_type(expected));
    let width = ty.bytes();
    // Each element holds at most `width` differing bytes, so this many bytes cover `limit` elements.
    let differences = compare(expected, actual, undefined, limit.saturating_mul(width));
    let mut indices: Vec<usize> = differences.iter().map(|byte| byte.offset / width).collect();
    indices.dedup();
    indices.truncate(limit);
    let line = |index| describe_element(name, ty, index, expected, actual);
    indices.into_iter().map(line).collect()
}

impl Buffer {
    /// The differing elements of `actual` against the launch's expectation; empty where there is none or it matches.
    pub fn describe_differences(&self, name: &str, actual: &[u8], limit: usize) -> Vec<String> {
        let Some(expect) = &self.expect else {
            return Vec::new();
        };
        let Some((tolerance, ty)) = self.tolerates().filter(|_| expect.len() == actual.len()) else {
            return describe(name, self.element, expect, actual, None, limit);
        };
        let pairs = expect.chunks(ty.bytes()).zip(actual.chunks(ty.bytes())).enumerate();
        let is_near = |expected: &[u8], actual: &[u8]| {
            let whole = expected.len() == ty.bytes();
            let bits = |bytes| Scalar::from_bytes(ty, bytes).bits();
            expected == actual || whole && tolerance.accepts(ty, bits(expected), bits(actual))
        };
        let beyond = pairs.filter(|(_, (expected, actual))| !is_near(expected, actual));
        beyond.take(limit).map(|(index, _)| describe_element(name, ty, index, expect, actual)).collect()
    }

    /// Whether `actual` is what the launch expects; a buffer without expectation takes anything.
    pub fn accepts(&self, actual: &[u8]) -> bool {
        self.describe_differences("", actual, 1).is_empty()
    }
}

/// One element on both sides, as [`describe`] shows it.
pub fn describe_element(name: &str, ty: ScalarType, index: usize, expected: &[u8], actual: &[u8]) -> String {
    let offset = index * ty.bytes();
    let (expected, actual) = (show(ty, offset, expected), show(ty, offset, actual));
    format!("{name}[{index}] ({} at byte {offset}): expected {expected}, got {actual}", ty.name())
}

/// A value and its bits, or what is left of it at the end of the buffer.
fn show(ty: ScalarType, offset: usize, bytes: &[u8]) -> String {
    let rest = bytes.get(offset..).unwrap_or(&[]);
    if rest.is_empty() {
        return "nothing".to_owned();
    }
    if rest.len() < ty.bytes() {
        let digits: Vec<String> = rest.iter().map(|byte| format!("{byte:02x}")).collect();
        return format!("only the bytes {}", digits.join(" "));
    }
    let scalar = Scalar::from_bytes(ty, rest);
    let bits = format!("{:#0width$x}", scalar.bits(), width = 2 * ty.bytes() + 2);
    match ty {
        _ if ty.is_float() && ty.to_f64(scalar.bits()).is_nan() => format!("nan ({bits})"),
        ScalarType::B8 | ScalarType::B16 | ScalarType::B32 | ScalarType::B64 => bits,
        _ => format!("{scalar} ({bits})"),
    }
}

fn display_type(bytes: &[u8]) -> ScalarType {
    match guess(bytes) {
        Kind::Floats(ty) => ty,
        Kind::Integers { ty, .. } => ty,
        Kind::Zero | Kind::Raw if bytes.len().is_multiple_of(4) => ScalarType::B32,
        Kind::Zero | Kind::Raw => ScalarType::B8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn the_differing_element_is_named_with_its_bits() {
        let mut values = vec![1.5f32; 64];
        values[37] = 2.5;
        let expected = floats(&values);
        values[37] = 2.0;
        let lines = describe("y", None, &expected, &floats(&values), None, 4);
        let line = "y[37] (f32 at byte 148): expected 2.5 (0x40200000), got 2.0 (0x40000000)";
        assert_eq!(lines, [line]);
        let as_bits = describe("y", Some(ScalarType::B64), &expected, &floats(&values), None, 4);
        let line = "y[18] (b64 at byte 144): expected 0x402000003fc00000, got 0x400000003fc00000";
        assert_eq!(as_bits, [line]);
    }

    #[test]
    fn undefined_bytes_are_not_compared_and_others_are() {
        let (expected, actual) = ([1, 2, 3, 4], [9, 2, 9, 4]);
        let differ = |undefined| -> Vec<usize> {
            compare(&expected, &actual, undefined, 9).iter().map(|byte| byte.offset).collect()
        };
        assert_eq!(differ(None), [0, 2]);
        assert_eq!(differ(Some(&[true, false, false, false])), [2]);
        assert_eq!(differ(Some(&[true])), [2]);
        assert!(matches(&expected, &actual, Some(&[true, false, true])));
        assert!(!matches(&expected, &actual, Some(&[false, true, true, true])));
    }

    #[test]
    fn a_missing_end_differs_everywhere() {
        let differences = compare(&[1, 2, 3], &[1], None, 9);
        assert_eq!(differences.len(), 2);
        assert_eq!(differences[1], Difference { offset: 2, expected: Some(3), actual: None });
        let lines = describe("a", Some(ScalarType::U16), &[1, 0, 2, 0], &[1, 0, 2], None, 9);
        let line = "a[1] (u16 at byte 2): expected 2 (0x0002), got only the bytes 02";
        assert_eq!(lines, [line]);
        assert!(describe("a", None, &[7], &[], None, 1)[0].ends_with("got nothing"));
    }

    #[test]
    fn the_limit_counts_elements() {
        let lines = describe("a", Some(ScalarType::S32), &[0; 64], &[1; 64], None, 3);
        assert_eq!(lines.len(), 3);
        assert!(lines[2].starts_with("a[2] (s32 at byte 8): expected 0 (0x00000000), got 16843009"));
    }

    #[test]
    fn a_buffer_judges_by_its_expectation_only() {
        let mut buffer = Buffer { bytes: vec![0; 4], ..Buffer::default() };
        assert!(buffer.accepts(&[1, 2, 3, 4]));
        assert!(buffer.describe_differences("b", &[1, 2, 3, 4], 1).is_empty());
        buffer.expect = Some(vec![1, 2, 3, 5]);
        assert!(!buffer.accepts(&[1, 2, 3, 4]));
        assert_eq!(buffer.describe_differences("b", &[1, 2, 3, 4], 9).len(), 1);
    }
}
