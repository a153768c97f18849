//! Where a loop is split: a relation of the counter to a bound that holds in the first rounds, and from some round on
//! no more, and what a comparison is before and behind.

use oriole_ir::ops::Compare;
use oriole_pass::analysis::Range;
use oriole_pass::engine::loop_tests::{Compared, Order, limits, negated};

/// Where a loop is split.
pub(super) struct Cut {
    /// The relation of the counter to the bound in the rounds of the first loop.
    pub(super) stays: Order,
    /// The result of the comparison in the first and in the second loop.
    pub(super) values: [bool; 2],
}

impl Cut {
    /// The cut for a comparison of a counter that goes up or down. `ends` says whether equality holds in the first or
    /// in the last round alone.
    pub(super) fn of(compared: &Compared, is_signed: bool, goes_up: bool, ends: [bool; 2]) -> Option<Cut> {
        let (strictly, at_most) = if goes_up { (Compare::Lt, Compare::Le) } else { (Compare::Gt, Compare::Ge) };
        let cut = |compare: Compare, first: bool| Cut { stays: Order { compare, is_signed }, values: [first, !first] };
        Some(match compared.compare {
            Compare::Eq | Compare::Ne => {
                let equal = compared.compare == Compare::Eq;
                match ends {
                    [true, _] => cut(at_most, equal),
                    [_, true] => cut(strictly, !equal),
                    _ => return None,
                }
            }
            compare if compare == strictly || compare == at_most => cut(compare, true),
            compare => cut(negated(compare), false),
        })
    }
}

/// Whether one more step of a counter may leave the numbers of its type.
pub(super) fn wraps(range: Range, step: i64, is_signed: bool) -> bool {
    let (least, most) = limits(range.bits(), is_signed);
    let (low, high) = bounds(range, is_signed);
    let step = i128::from(step);
    low + step < least || high + step > most
}

/// Whether a bound is a constant that is the largest number of a range, or the smallest.
pub(super) fn is_end(range: Range, bound: Range, is_signed: bool, largest: bool) -> bool {
    let ((low, high), (least, most)) = (bounds(range, is_signed), bounds(bound, is_signed));
    least == most && least == if largest { high } else { low }
}

fn bounds(range: Range, is_signed: bool) -> (i128, i128) {
    match is_signed {
        true => (range.signed().0.into(), range.signed().1.into()),
        false => (range.unsigned().0.into(), range.unsigned().1.into()),
    }
}
