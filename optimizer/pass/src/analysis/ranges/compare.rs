//! Comparisons that ranges decide.

use super::Range;
use oriole_ir::ops::Compare;

/// What a comparison of a value of one range with a value of another one yields, if all of them yield the same.
pub fn compared(compare: Compare, is_signed: bool, a: Range, b: Range) -> Option<bool> {
    let unsigned = |range: Range| (i128::from(range.unsigned().0), i128::from(range.unsigned().1));
    let signed = |range: Range| (i128::from(range.signed().0), i128::from(range.signed().1));
    let below = |a: (i128, i128), b: (i128, i128)| match () {
        () if a.1 < b.0 => Some(true),
        () if a.0 >= b.1 => Some(false),
        () => None,
    };
    let less = |unsigned_only: bool, a: Range, b: Range| match is_signed && !unsigned_only {
        true => below(signed(a), signed(b)),
        false => below(unsigned(a), unsigned(b)),
    };
    let equal = || match (a.value(), b.value()) {
        (Some(a), Some(b)) => Some(a == b),
        _ => {
            let apart = |of: fn(Range) -> (i128, i128)| of(a).1 < of(b).0 || of(b).1 < of(a).0;
            (apart(unsigned) || apart(signed)).then_some(false)
        }
    };
    match compare {
        Compare::Eq => equal(),
        Compare::Ne => equal().map(|same| !same),
        Compare::Lt => less(false, a, b),
        Compare::Ge => less(false, a, b).map(|less| !less),
        Compare::Gt => less(false, b, a),
        Compare::Le => less(false, b, a).map(|less| !less),
        Compare::Lo => less(true, a, b),
        Compare::Hs => less(true, a, b).map(|less| !less),
        Compare::Hi => less(true, b, a),
        Compare::Ls => less(true, b, a).map(|less| !less),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPARES: [Compare; 10] = [
        Compare::Eq,
        Compare::Ne,
        Compare::Lt,
        Compare::Le,
        Compare::Gt,
        Compare::Ge,
        Compare::Lo,
        Compare::Ls,
        Compare::Hi,
        Compare::Hs,
    ];

    fn holds(compare: Compare, is_signed: bool, a: i32, b: i32) -> bool {
        let by_sign = |is_signed: bool| if is_signed { a.cmp(&b) } else { (a as u32).cmp(&(b as u32)) };
        match compare {
            Compare::Eq => a == b,
            Compare::Ne => a != b,
            Compare::Lt => by_sign(is_signed).is_lt(),
            Compare::Le => by_sign(is_signed).is_le(),
            Compare::Gt => by_sign(is_signed).is_gt(),
            Compare::Ge => by_sign(is_signed).is_ge(),
            Compare::Lo => by_sign(false).is_lt(),
            Compare::Ls => by_sign(false).is_le(),
            Compare::Hi => by_sign(false).is_gt(),
            _ => by_sign(false).is_ge(),
        }
    }

    /// All intervals around zero against all others: what is decided holds for each pair of values, and whatever holds
    /// or fails for all pairs of numbers that do not wrap is decided.
    #[test]
    fn what_is_decided_holds_for_all_values() {
        let intervals: Vec<(i32, i32)> = (-3..4).flat_map(|low| (low..4).map(move |high| (low, high))).collect();
        let range = |(low, high): (i32, i32)| Range::signed_between(low.into(), high.into(), 32);
        let mut known = 0;
        for (a, b) in intervals.iter().flat_map(|a| intervals.iter().map(move |b| (*a, *b))) {
            for (compare, is_signed) in COMPARES.iter().flat_map(|compare| [(*compare, false), (*compare, true)]) {
                let pairs = || (a.0..=a.1).flat_map(|x| (b.0..=b.1).map(move |y| (x, y)));
                let mut results = pairs().map(|(x, y)| holds(compare, is_signed, x, y));
                let first = results.next();
                let all = first.filter(|first| results.all(|other| other == *first));
                let found = compared(compare, is_signed, range(a), range(b));
                assert!(found.is_none() || found == all, "{compare:?} of {a:?} and {b:?}: {found:?}, {all:?}");
                let wraps = |(low, high): (i32, i32)| low < 0 && high >= 0;
                let exact = !wraps(a) && !wraps(b);
                assert!(!exact || found == all, "{compare:?} of {a:?} and {b:?} is {all:?}");
                known += usize::from(found.is_some());
            }
        }
        assert!(known > 1000, "{known} comparisons are decided");
    }
}
