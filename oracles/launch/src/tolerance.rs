//! Tolerances: floating-point elements that may differ a little from what is expected.

use super::{Buffer, Problem, Scalar, ScalarType};

/// How far an element may be from what is expected of it. An infinite element, or one that is no number, may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tolerance {
    /// So many values of the type.
    Ulp(u64),
    /// The larger of two distances, both f64: a fraction of the expected value, and a number.
    Near {
        /// The fraction.
        relative: Scalar,
        /// The number.
        absolute: Scalar,
    },
}

/// What a tolerance was needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tolerated {
    /// How many elements differ within the tolerance.
    pub elements: usize,
    /// The index of the element that is the most values of its type away.
    pub farthest: usize,
    /// How many values that is.
    pub ulp: u64,
}

impl Tolerance {
    /// Whether bits of a type are near enough to those that are expected.
    pub fn accepts(self, ty: ScalarType, expected: u64, actual: u64) -> bool {
        let [wanted, found] = [expected, actual].map(|bits| ty.to_f64(bits));
        expected == actual
            || wanted.is_finite()
                && found.is_finite()
                && match self {
                    Tolerance::Ulp(most) => ulp_between(ty, expected, actual) <= most,
                    Tolerance::Near { relative, absolute } => {
                        let [relative, absolute] = [relative, absolute].map(|scalar| f64::from_bits(scalar.bits()));
                        (wanted - found).abs() <= absolute.max(relative * wanted.abs())
                    }
                }
    }
}

impl Tolerance {
    /// Puts expected elements, those of these indices, in place of actual ones that are near enough: for how many that
    /// was needed, if any.
    pub fn settle(self, ty: ScalarType, indices: &[usize], expected: &[u8], actual: &mut [u8]) -> Option<Tolerated> {
        let mut tolerated: Option<Tolerated> = None;
        for &index in indices {
            let place = index * ty.bytes()..(index + 1) * ty.bytes();
            let [one, other] =
                [&expected[place.clone()], &actual[place.clone()]].map(|bytes| Scalar::from_bytes(ty, bytes).bits());
            if one == other || !self.accepts(ty, one, other) {
                continue;
            }
            actual[place.clone()].copy_from_slice(&expected[place]);
            let ulp = ulp_between(ty, one, other);
            let before = tolerated.unwrap_or(Tolerated { elements: 0, farthest: index, ulp });
            let (ulp, farthest) = if ulp > before.ulp { (ulp, index) } else { (before.ulp, before.farthest) };
            tolerated = Some(Tolerated { elements: before.elements + 1, farthest, ulp });
        }
        tolerated
    }

    /// Reads `ulp=2`, `relative=1e-6` or `absolute=1e-9`, the last two also together with a comma between them.
    pub fn parse(text: &str) -> Result<Tolerance, Problem> {
        let bad = || Problem::BadTolerance(text.chars().take(80).collect());
        let zero = Scalar::from_bits(ScalarType::F64, 0);
        let (mut relative, mut absolute) = (None, None);
        for part in text.split(',') {
            let (key, number) = part.split_once('=').ok_or_else(bad)?;
            let slot = match key.trim() {
                "ulp" if part.len() == text.len() => {
                    return number.trim().parse().map(Tolerance::Ulp).map_err(|_| bad());
                }
                "relative" => &mut relative,
                "absolute" => &mut absolute,
                _ => return Err(bad()),
            };
            let distance = Scalar::parse(ScalarType::F64, number.trim())?;
            let value = f64::from_bits(distance.bits());
            if !value.is_finite() || value.is_sign_negative() || slot.replace(distance).is_some() {
                return Err(bad());
            }
        }
        Ok(Tolerance::Near { relative: relative.unwrap_or(zero), absolute: absolute.unwrap_or(zero) })
    }
}

/// How many steps from one value of a type to the next lie between two; those of the two zeros are the same.
fn ulp_between(ty: ScalarType, a: u64, b: u64) -> u64 {
    let sign = 1 << (8 * ty.bytes() - 1);
    let place = |bits: u64| if bits & sign == 0 { i128::from(bits) } else { -i128::from(bits & (sign - 1)) };
    u64::try_from((place(a) - place(b)).abs()).unwrap_or(u64::MAX)
}

impl Buffer {
    /// The tolerance with the type that it is about.
    pub(super) fn tolerates(&self) -> Option<(Tolerance, ScalarType)> {
        self.tolerance.zip(self.element)
    }

    /// What a tolerance was needed for; `None` where no element differs, or one is beyond it.
    pub fn tolerated(&self, actual: &[u8]) -> Option<Tolerated> {
        let (Some((_, ty)), Some(expect)) = (self.tolerates(), &self.expect) else { return None };
        if !self.accepts(actual) {
            return None;
        }
        let indices: Vec<usize> = (0..expect.len().min(actual.len()) / ty.bytes()).collect();
        // Every element is near enough, so that those which are settled are all that differ.
        self.tolerance?.settle(ty, &indices, expect, &mut actual.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(relative: &str, absolute: &str) -> Tolerance {
        let [relative, absolute] =
            [relative, absolute].map(|text| Scalar::parse(ScalarType::F64, text).expect("it is a number"));
        Tolerance::Near { relative, absolute }
    }

    #[test]
    fn values_are_counted_across_zero() {
        let f32 = |value: f32| u64::from(value.to_bits());
        assert_eq!(ulp_between(ScalarType::F32, f32(1.0), f32(1.0 + f32::EPSILON)), 1);
        assert_eq!(ulp_between(ScalarType::F32, f32(0.0), f32(-0.0)), 0);
        assert_eq!(ulp_between(ScalarType::F32, 2, 0x8000_0003), 5);
        assert!(Tolerance::Ulp(5).accepts(ScalarType::F32, 2, 0x8000_0003));
        assert!(!Tolerance::Ulp(4).accepts(ScalarType::F32, 2, 0x8000_0003));
        assert!(!Tolerance::Ulp(9).accepts(ScalarType::F32, f32(f32::MAX), f32(f32::INFINITY)));
    }

    #[test]
    fn distances_are_relative_or_absolute() {
        let accepts = |tolerance: Tolerance, expected: f64, actual: f64| {
            tolerance.accepts(ScalarType::F64, expected.to_bits(), actual.to_bits())
        };
        assert!(accepts(near("0.01", "0"), 100.0, 101.0) && !accepts(near("0.01", "0"), 100.0, 101.5));
        assert!(accepts(near("0", "0.5"), -1.0, -1.5) && !accepts(near("0", "0.5"), 0.0, 0.75));
        assert!(!accepts(near("0", "1e300"), f64::NAN, 0.0) && accepts(near("0", "0"), f64::NAN, f64::NAN));
    }

    #[test]
    fn what_was_needed_is_told() {
        let bytes = |values: [f32; 3]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
        let buffer = Buffer {
            bytes: vec![0; 12],
            element: Some(ScalarType::F32),
            expect: Some(bytes([1.0, 2.0, 3.0])),
            tolerance: Some(Tolerance::Ulp(2)),
            replicas: 0,
        };
        let step = |value: f32, steps: u32| f32::from_bits(value.to_bits() + steps);
        assert_eq!(buffer.tolerated(&bytes([1.0, 2.0, 3.0])), None);
        let actual = bytes([step(1.0, 1), 2.0, step(3.0, 2)]);
        assert_eq!(buffer.tolerated(&actual), Some(Tolerated { elements: 2, farthest: 2, ulp: 2 }));
        assert_eq!(buffer.describe_differences("c", &actual, 9), Vec::<String>::new());
        let beyond = bytes([step(1.0, 1), step(2.0, 3), 3.0]);
        assert_eq!(buffer.tolerated(&beyond), None);
        let lines = buffer.describe_differences("c", &beyond, 9);
        assert!(lines.len() == 1 && lines[0].starts_with("c[1] "), "{lines:?}");
    }

    #[test]
    fn tolerances_are_read_as_a_launch_file_writes_them() {
        assert_eq!(Tolerance::parse("ulp=2"), Ok(Tolerance::Ulp(2)));
        assert_eq!(Tolerance::parse("relative=0.01"), Ok(near("0.01", "0")));
        assert_eq!(Tolerance::parse("relative=0.01, absolute=1e-9"), Ok(near("0.01", "1e-9")));
        for bad in
            ["", "2", "ulp=-1", "ulp=2,relative=1", "relative=-1", "relative=inf", "near=1", "absolute=1,absolute=1"]
        {
            assert!(Tolerance::parse(bad).is_err(), "{bad}");
        }
    }
}
