//! Variables without the bits that do not matter.
//!
//! A rule for 16 bits reads half of a register, and a guard says of others that they are zero. A question over what is
//! left has fewer inputs, often so few that all can be tried.

use std::collections::BTreeMap;

use super::integers::populations;
use super::query::Query;
use super::solve::{Solved, split};
use super::term::{Node, Op, Term, Terms, ones};

/// Bits of a variable: those that are read, those that the premise fixes, and how.
#[derive(Clone, Copy, Default)]
struct Bits {
    read: u128,
    fixed: u128,
    values: u128,
}

impl Bits {
    fn fix(&mut self, mask: u128, values: u128) {
        // Conditions that exclude each other stay in the premise, which nothing meets then.
        let new = mask & !self.fixed;
        self.fixed |= new;
        self.values |= new & values;
    }
}

/// The question over shorter variables: without bits that nothing reads or that the premise fixes. Inputs that meet the
/// one question follow from inputs that meet the other.
pub fn narrowed(terms: &mut Terms, query: &Query) -> Solved {
    let mut conditions = Vec::new();
    split(terms, query.premise, true, &mut conditions);
    shortened(terms, query, &conditions)
}

/// The same without the bits alone that nothing reads: what is left of a variable is one number.
pub fn without_unread_bits(terms: &mut Terms, query: &Query) -> Solved {
    shortened(terms, query, &[])
}

fn shortened(terms: &mut Terms, query: &Query, conditions: &[(Term, bool)]) -> Solved {
    let mut variables: BTreeMap<usize, Bits> = BTreeMap::new();
    for term in terms.reachable(&[query.goal, query.premise]) {
        let node = *terms.node(term);
        for operand in node.operands() {
            let Op::Variable(number) = terms.node(*operand).op else { continue };
            let masks = node.operands().iter().find_map(|other| terms.value(*other));
            let read = match node.op {
                Op::Extract(low) => ones(node.width) << low,
                Op::And => masks.unwrap_or(ones(node.width)),
                _ => ones(terms.width(*operand)),
            };
            variables.entry(number as usize).or_default().read |= read;
        }
    }
    for (number, most) in capped(terms, &[query.goal, query.premise]) {
        variables.entry(number).or_default().read = ones(128 - most.leading_zeros());
    }
    for (condition, holds) in conditions {
        for (number, mask, values) in fixed(terms, *condition, *holds) {
            if let Some(bits) = variables.get_mut(&number) {
                bits.fix(mask, values);
            }
        }
    }
    let mut values = Vec::new();
    for (number, bits) in variables {
        let (variable, width) = (terms.variable_term(number), terms.variables()[number].width);
        let free = bits.read & !bits.fixed & ones(width);
        if free != ones(width) {
            values.push((number, scattered(terms, variable, free, bits.values)));
        }
    }
    let changed = terms.substitute(&[query.goal, query.premise], &values);
    Solved { query: Query { goal: changed[0], premise: changed[1] }, values }
}

/// Variables that nothing reads but what is the same for all values from some number on, with that: counts of shifts,
/// and numbers that are compared with smaller ones.
fn capped(terms: &Terms, roots: &[Term]) -> BTreeMap<usize, u128> {
    let mut most: BTreeMap<usize, Option<u128>> = BTreeMap::new();
    for term in terms.reachable(roots) {
        let node = terms.node(term);
        for (place, operand) in node.operands().iter().enumerate() {
            // A number that is extended is what it was, for whoever reads it.
            let mut extended = *operand;
            while let Node { op: Op::ZeroExtend, args: [short, ..], .. } = *terms.node(extended) {
                extended = short;
            }
            let Op::Variable(number) = terms.node(extended).op else { continue };
            if node.op == Op::ZeroExtend {
                continue;
            }
            let cap = cap_of(terms, node, place);
            let known = most.entry(number as usize).or_insert(Some(0));
            *known = known.zip(cap).map(|(known, cap)| known.max(cap));
        }
    }
    let is_short = |(number, most): (usize, Option<u128>)| {
        let most = most.filter(|most| *most > 0 && *most < ones(terms.variables()[number].width))?;
        Some((number, most))
    };
    most.into_iter().filter_map(is_short).collect()
}

/// A number from which on a node is the same for all values of the operand at a place.
fn cap_of(terms: &Terms, node: &Node, place: usize) -> Option<u128> {
    let Node { op, args, width } = *node;
    let other = || args.get(1 - place).and_then(|other| terms.value(*other));
    match (op, place) {
        (Op::Shl | Op::LShr | Op::AShr, 1) => Some(width.into()),
        (Op::Ult, 0) => other(),
        (Op::Ult, 1) | (Op::Eq, _) => other()?.checked_add(1),
        // The smaller one.
        (Op::Ite, 1) => match *terms.node(args[0]) {
            Node { op: Op::Ult, args: [a, bound, _], .. } if a == args[1] => terms.value(bound),
            _ => None,
        },
        _ => None,
    }
}

/// The most values that a variable has which has few.
const FEW: u128 = 64;

/// All values that the premise leaves to a variable, where these are few: it is a power of two, a mask, or small.
pub fn few_values(terms: &Terms, query: &Query, number: usize) -> Option<Vec<u128>> {
    let width = terms.variables()[number].width;
    let is_variable = |term: Term| terms.node(term).op == Op::Variable(number as u32);
    let mut conditions = Vec::new();
    split(terms, query.premise, true, &mut conditions);
    conditions.into_iter().find_map(|(condition, holds)| {
        let Node { op, args: [a, b, _], .. } = *terms.node(condition);
        match (op, holds, terms.value(a), terms.value(b)) {
            (Op::Ult, true, None, Some(bound)) if is_variable(a) && bound <= FEW => Some((0..bound).collect()),
            (Op::Ult, false, Some(bound), None) if is_variable(b) && bound < FEW => Some((0..=bound).collect()),
            (Op::Eq, true, Some(0), None) => without_common_bits(terms, b, number, width),
            (Op::Eq, true, None, Some(0)) => without_common_bits(terms, a, number, width),
            (Op::Eq, true, Some(1), None) => with_one_bit(terms, b, number),
            (Op::Eq, true, None, Some(1)) => with_one_bit(terms, a, number),
            _ => None,
        }
    })
}

/// The values of a variable for which `x & (x - 1)` or `x & (x + 1)` is zero, where `x` is the variable or its sum with
/// a constant: powers of two and zero, and masks.
fn without_common_bits(terms: &Terms, both: Term, number: usize, width: u32) -> Option<Vec<u128>> {
    let Node { op: Op::And, args: [a, b, _], .. } = *terms.node(both) else { return None };
    let (first, second) = (offset_from(terms, a, number)?, offset_from(terms, b, number)?);
    let powers = [0].into_iter().chain((0..width).map(|bit| 1u128 << bit));
    let [step, back] = [second.wrapping_sub(first), first.wrapping_sub(second)].map(|step| step & ones(width));
    let lower = match (step, back) {
        (1, _) => first,
        (_, 1) => second,
        _ => return None,
    };
    // Of `x` and `x + 1`, the second is a power of two where they have no bit in common, or zero.
    Some(powers.map(|power| power.wrapping_sub(1).wrapping_sub(lower) & ones(width)).collect())
}

/// The values of a variable for which it, or its sum with a constant, has one bit.
fn with_one_bit(terms: &Terms, mut count: Term, number: usize) -> Option<Vec<u128>> {
    // No count of up to 128 loses bits in a byte.
    while let Node { op: Op::ZeroExtend | Op::Extract(0), args: [inner, ..], width: 8.. } = *terms.node(count) {
        count = inner;
    }
    let counted = *populations(terms, &terms.reachable(&[count])).get(&count)?;
    let (width, constant) = (terms.width(counted), offset_from(terms, counted, number)?);
    Some((0..width).map(|bit| (1u128 << bit).wrapping_sub(constant) & ones(width)).collect())
}

/// What a term is, less a variable, where that is a constant.
fn offset_from(terms: &Terms, term: Term, number: usize) -> Option<u128> {
    let Node { op, args: [a, b, _], .. } = *terms.node(term);
    match op {
        Op::Variable(of) => (of as usize == number).then_some(0),
        Op::Add => {
            let (inner, constant) = match (terms.value(a), terms.value(b)) {
                (Some(constant), _) => (b, constant),
                (_, constant) => (a, constant?),
            };
            Some(offset_from(terms, inner, number)?.wrapping_add(constant))
        }
        _ => None,
    }
}

/// A new variable for the free bits, put where they are, and constants elsewhere.
fn scattered(terms: &mut Terms, variable: Term, free: u128, values: u128) -> Term {
    let Node { op: Op::Variable(number), width, .. } = *terms.node(variable) else { return variable };
    let constant = |terms: &mut Terms, low: u32, count: u32| terms.constant(values >> low & ones(count), count);
    if free == 0 {
        return constant(terms, 0, width);
    }
    let name = format!("{}'", terms.variables()[number as usize].name);
    let short = terms.variable(name, free.count_ones());
    let mut whole: Option<Term> = None;
    let (mut at, mut taken) = (0, 0);
    while at < width {
        let is_free = free >> at & 1 == 1;
        let same = if is_free { (free >> at).trailing_ones() } else { (free >> at).trailing_zeros() };
        let count = same.min(width - at);
        let part = match is_free {
            true => terms.extract(short, taken, count),
            false => constant(terms, at, count),
        };
        taken += if is_free { count } else { 0 };
        whole = Some(match whole {
            Some(below) => terms.concat(part, below),
            None => part,
        });
        at += count;
    }
    whole.unwrap_or(variable)
}

/// Bits of variables that a condition fixes, each with a mask and values under it.
fn fixed(terms: &Terms, condition: Term, holds: bool) -> Vec<(usize, u128, u128)> {
    let Node { op, args: [a, b, _], .. } = *terms.node(condition);
    if let Some((number, low)) = slice(terms, condition) {
        return vec![(number, 1 << low, u128::from(holds) << low)];
    }
    let found = match (op, holds, terms.value(a), terms.value(b)) {
        (Op::Eq, true, None, Some(value)) => equal(terms, a, value),
        (Op::Eq, true, Some(value), None) => equal(terms, b, value),
        (Op::Ult, true, None, Some(bound)) if bound > 0 => at_most(terms, a, bound - 1),
        (Op::Ult, false, Some(bound), None) => at_most(terms, b, bound),
        (Op::Slt, false, None, Some(bound)) if !is_negative(terms, b, bound) => at_most(terms, a, half(terms, a)),
        (Op::Slt, true, Some(bound), None) if !is_negative(terms, a, bound) => at_most(terms, b, half(terms, b)),
        _ => None,
    };
    found.into_iter().collect()
}

/// The greatest number of a term's width that is not negative.
fn half(terms: &Terms, term: Term) -> u128 {
    ones(terms.width(term)) >> 1
}

fn is_negative(terms: &Terms, term: Term, value: u128) -> bool {
    value > half(terms, term)
}

fn equal(terms: &Terms, term: Term, value: u128) -> Option<(usize, u128, u128)> {
    let Node { op, args: [a, b, _], width } = *terms.node(term);
    let (part, mask) = match (op, terms.value(a), terms.value(b)) {
        (Op::And, Some(mask), None) => (b, mask),
        (Op::And, None, Some(mask)) => (a, mask),
        _ => (term, ones(width)),
    };
    let (number, low) = slice(terms, part)?;
    Some((number, (mask & ones(terms.width(part))) << low, value << low))
}

/// Above the highest bit of a bound, what is not greater has no bits.
fn at_most(terms: &Terms, term: Term, bound: u128) -> Option<(usize, u128, u128)> {
    let (number, low) = slice(terms, term)?;
    let used = if bound == 0 { 0 } else { ones(128 - bound.leading_zeros()) };
    Some((number, (ones(terms.width(term)) & !used) << low, 0))
}

/// The variable that a term takes bits from as they are, and the lowest of these.
fn slice(terms: &Terms, term: Term) -> Option<(usize, u32)> {
    let Node { op, args: [a, ..], .. } = *terms.node(term);
    match (op, terms.node(a).op) {
        (Op::Variable(number), _) => Some((number as usize, 0)),
        (Op::Extract(low), Op::Variable(number)) => Some((number as usize, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::eval::Program;
    use super::super::meaning::population;
    use super::super::search::{exhaustive, input_bits};
    use super::*;
    use oriole_launch::random::SplitMix64;

    /// A condition on a variable that fixes bits of it, which the value meets.
    fn condition(t: &mut Terms, random: &mut SplitMix64, x: Term, value: u128) -> Term {
        let any = |random: &mut SplitMix64| u128::from(random.next_u64()) & 0xff;
        let (mask, above) = (any(random), if random.below(4) == 0 { value } else { any(random) | value });
        let constant = |t: &mut Terms, value: u128| t.constant(value, 8);
        match random.below(7) {
            0 => {
                let (mask, masked) = (constant(t, mask), constant(t, mask & value));
                let both = t.and(x, mask);
                t.eq(both, masked)
            }
            1 => {
                let bound = constant(t, above);
                t.ule(x, bound)
            }
            2 => {
                let bound = constant(t, value + 1 + any(random) % 4);
                let less = t.ult(x, bound);
                let holds = Program::new(t, &[less]).eval(&[value]) == [1];
                if holds { less } else { t.not(less) }
            }
            3 => {
                let low = random.below(8) as u32;
                let count = 1 + random.below(u64::from(8 - low)) as u32;
                let (part, number) = (t.extract(x, low, count), t.constant(value >> low & ones(count), count));
                t.eq(part, number)
            }
            4 => {
                let zero = constant(t, 0);
                let negative = t.slt(x, zero);
                if value > 127 { negative } else { t.not(negative) }
            }
            5 => {
                let low = constant(t, value.wrapping_sub(1) & 0xff);
                let above = t.slt(low, x);
                let holds = Program::new(t, &[above]).eval(&[value]) == [1];
                if holds { above } else { t.not(above) }
            }
            _ => {
                let bit = t.bit_of(x, random.below(8) as u32);
                let holds = Program::new(t, &[bit]).eval(&[value]) == [1];
                if holds { bit } else { t.not(bit) }
            }
        }
    }

    /// A count of shifts, and a number that is compared, has values that stand for all greater ones.
    #[test]
    fn counts_are_as_short_as_what_reads_them() {
        let mut random = SplitMix64::new(3);
        let mut shorter = 0;
        for _ in 0..300 {
            let mut t = Terms::new();
            let (n, x) = (t.variable("n", 8), t.variable("x", 4));
            let mut goal = t.bit(random.below(2) == 0);
            for _ in 0..1 + random.below(3) {
                let constant = t.constant(u128::from(random.below(12)), 8);
                let smaller = t.min(n, constant, false);
                let (less, more, same) = (t.ult(n, constant), t.ult(constant, n), t.eq(n, constant));
                let wide = t.zero_extend(x, 8);
                let (left, right, signed) = (t.shl(wide, n), t.lshr(wide, n), t.ashr(wide, n));
                let other = t.constant(u128::from(random.next_u64()) & 0xff, 8);
                let sum = t.add(n, other);
                // The sum reads all bits.
                let value = match random.below(6) {
                    0 => sum,
                    other => [smaller, left, right, signed][other as usize % 4],
                };
                let is_other = if random.below(2) == 0 { t.is_zero(value) } else { t.eq(value, constant) };
                let above = t.ult(other, value);
                let bit = [less, more, same, above, is_other, is_other][random.below(6) as usize];
                goal = if random.below(2) == 0 { t.xor(goal, bit) } else { t.or(goal, bit) };
            }
            let premise = t.bit(true);
            let query = Query { goal, premise };
            let whole = t.clone();
            let short = without_unread_bits(&mut t, &query).query;
            // What is left of `n`, where that is not all; `x` is whole.
            let Some(number) = short.variables(&t).into_iter().find(|number| *number > 1) else { continue };
            shorter += 1;
            let met = |t: &Terms, query: &Query, number: usize| -> Vec<bool> {
                let width = t.variables()[number].width;
                let holds = |n: u128, x: u128| {
                    let mut inputs = vec![0; t.variables().len()];
                    (inputs[number], inputs[1]) = (n, x);
                    query.holds(t, &inputs)
                };
                (0..16).map(|x| (0..1u128 << width).any(|n| holds(n, x))).collect()
            };
            assert_eq!(met(&whole, &query, 0), met(&t, &short, number));
        }
        assert!(shorter > 100, "{shorter}");
        // What is extended twice is read by whoever reads that.
        let mut t = Terms::new();
        let n = t.variable("n", 8);
        let (few, many) = (t.constant(9, 8), t.constant(300, 32));
        let half = t.zero_extend(n, 16);
        let word = t.zero_extend(half, 32);
        let (less, double) = (t.ult(n, few), t.add(word, word));
        let (not_less, premise) = (t.not(less), t.bit(true));
        let large = t.ult(many, double);
        let query = Query { goal: t.and(not_less, large), premise };
        assert_eq!(without_unread_bits(&mut t, &query).query.variables(&t), [0]);
    }

    /// Inputs that meet the one question follow from those that meet the other: as many, and the same.
    #[test]
    fn both_questions_are_met_by_the_same_inputs() {
        let mut random = SplitMix64::new(7);
        let (mut shorter, mut bits) = (0, 0);
        for _ in 0..400 {
            let mut t = Terms::new();
            let x = t.variable("x", 8);
            let value = if random.below(9) == 0 { 0 } else { u128::from(random.next_u64()) & 0xff };
            let mut premise = t.bit(true);
            for _ in 0..random.below(3) {
                let holds = condition(&mut t, &mut random, x, value);
                premise = t.and(premise, holds);
            }
            // What reads only a part, or all.
            let (low, count) = (random.below(4) as u32, 1 + random.below(4) as u32);
            let part = t.extract(x, low, count);
            let number = t.constant(random.next_u64().into(), count);
            let mut wrong = if random.below(2) == 0 { t.ult(part, number) } else { t.ult(number, part) };
            if random.below(2) == 0 {
                let other = t.constant(random.next_u64().into(), 8);
                let product = t.mul(x, other);
                let low = t.ult(product, x);
                wrong = t.or(wrong, low);
            }
            let query = Query { goal: t.and(premise, wrong), premise };
            let expected: Vec<u128> = (0..256).filter(|x| query.holds(&t, &[*x])).collect();
            let short = narrowed(&mut t, &query);
            let width = input_bits(&t, &short.query);
            shorter += u32::from(width < 8);
            bits += 8 - width;
            let number = t.variables().len() - 1;
            let mut found: Vec<u128> = Vec::new();
            for value in 0..1u128 << width {
                let mut inputs = vec![0; t.variables().len()];
                inputs[number] = value;
                if short.query.holds(&t, &inputs) {
                    found.push(short.inputs(&t, inputs)[0]);
                }
            }
            assert!(found.iter().all(|x| expected.contains(x)), "{found:x?} {expected:x?}");
            assert_eq!(found.is_empty(), expected.is_empty(), "{expected:x?}");
        }
        assert!(shorter > 200 && bits > 400, "{shorter} {bits}");
    }

    /// The greatest number below a bound has the bits that it needs.
    #[test]
    fn bounds_keep_their_greatest_number() {
        for greatest in 0..255u128 {
            let mut t = Terms::new();
            let x = t.variable("x", 8);
            let [last, next] = [greatest, greatest + 1].map(|number| t.constant(number, 8));
            let is_last = t.eq(x, last);
            for premise in [t.ult(x, next), t.ule(x, last)] {
                let query = Query { goal: t.and(premise, is_last), premise };
                let short = narrowed(&mut t, &query);
                let found = exhaustive(&t, &short.query, 8).and_then(|found| found.counterexample);
                assert_eq!(found.map(|inputs| short.inputs(&t, inputs)[0]), Some(greatest));
            }
        }
    }

    /// No value that meets the premise is missing.
    #[test]
    fn few_values_are_all() {
        let mut t = Terms::new();
        let x = t.variable("C", 8);
        let [zero, one, all, bound] = [0, 1, 255, 9].map(|number| t.constant(number, 8));
        let steps = [all, one].map(|step| {
            let next = t.add(x, step);
            let both = t.and(x, next);
            t.eq(both, zero)
        });
        let (below, within) = (t.ult(x, bound), t.ule(x, bound));
        let odd = t.bit_of(x, 0);
        for (premise, count) in [(steps[0], Some(9)), (steps[1], Some(9)), (below, Some(9)), (within, Some(10))] {
            let premise = t.and(premise, odd);
            let query = Query { goal: premise, premise };
            let values = few_values(&t, &query, 0).unwrap_or_default();
            assert_eq!(Some(values.len()), count);
            assert!((0..256).all(|x| !query.holds(&t, &[x]) || values.contains(&x)), "{values:?}");
        }
        // Sums with constants, and counts of ones.
        let mut t = Terms::new();
        let x = t.variable("C", 16);
        let [zero, one, seven] = [0, 1, 7].map(|number| t.constant(number, 16));
        let sum = t.add(x, seven);
        let next = t.add(sum, one);
        let common = t.and(sum, next);
        let is_mask = t.eq(common, zero);
        let counts = [x, sum].map(|term| population(&mut t, term));
        let has_one_bit = counts.map(|count| {
            let (count, one) = (t.zero_extend(count, 32), t.constant(1, 32));
            t.eq(count, one)
        });
        for (premise, count) in [(is_mask, 17), (has_one_bit[0], 16), (has_one_bit[1], 16)] {
            let query = Query { goal: premise, premise };
            let values = few_values(&t, &query, 0).unwrap_or_default();
            let met: Vec<u128> = (0..1 << 16).filter(|x| query.holds(&t, &[*x])).collect();
            assert!(values.len() == count && met.iter().all(|x| values.contains(x)), "{values:?} {met:?}");
        }
        // In two bits, counts of 5 and 9 are 1, too.
        let (low, one) = (t.extract(counts[0], 0, 2), t.constant(1, 2));
        let premise = t.eq(low, one);
        assert_eq!(few_values(&t, &Query { goal: premise, premise }, 0), None);
        let mut t = Terms::new();
        let x = t.variable("C", 8);
        let bound = t.constant(9, 8);
        let (above, odd) = (t.ult(bound, x), t.bit_of(x, 0));
        for premise in [above, odd] {
            assert_eq!(few_values(&t, &Query { goal: premise, premise }, 0), None);
        }
    }
}
