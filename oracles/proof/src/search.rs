//! Searches for counterexamples by trying inputs: all of them, or those that are likely to tell.
//!
//! Both run the flattened terms over blocks of lanes on all processors and give the first counterexample in their fixed
//! order, whatever the number of processors. Samples are biased: a cross product of boundary values of each variable
//! (those of its width, and the constants of the terms with their neighbours, so that a guard that compares with one is
//! met), then mixtures of such values, runs of ones, values near other variables' and plain random ones.

use std::collections::HashSet;

use rayon::prelude::*;

use super::eval::{Machine, Program, Word};
use super::query::{Inputs, Query};
use super::term::{Node, Op, Term, Terms, ones};
use oriole_launch::random::SplitMix64;

/// Inputs that are computed at once: so many that a step costs little beside its lanes, and so few that the registers
/// of a question stay in the cache next to the processor.
const LANES: usize = 256;

/// Blocks that are searched before results are looked at: work for all processors. Where the first batches find
/// nothing, later ones are larger, as each costs its own machines.
const BATCH: u64 = 256;
const LARGEST_BATCH: u64 = 32_768;

/// What a search found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Searched {
    /// How many inputs were tried.
    pub tried: u64,
    /// How many of them met the premise.
    pub relevant: u64,
    /// The first that met the goal.
    pub counterexample: Option<Inputs>,
}

/// The values that a sampled variable takes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Domain {
    /// Any of its width.
    #[default]
    Any,
    /// Those below a bound.
    Below(u128),
    /// Powers of two.
    PowerOfTwo,
    /// Runs of ones from the lowest bit on, none and all included.
    LowMask,
    /// These.
    Of(Vec<u128>),
}

/// Tries all inputs; `None` if the variables that the goal depends on have more than `max_bits` bits together (at most
/// 40).
pub fn exhaustive(terms: &Terms, query: &Query, max_bits: u32) -> Option<Searched> {
    let variables = free_variables(terms, query);
    let bits = input_bits(terms, query);
    if bits > max_bits.min(40) {
        return None;
    }
    // The last variable counts fastest, so that the first counterexample has the first variables small.
    let mut above = bits;
    let places: Vec<(u32, u64)> = variables
        .iter()
        .map(|(_, width)| {
            above -= width;
            (above, ones(*width) as u64)
        })
        .collect();
    let search = Search { variables: &variables, program: program(terms, query), values: &Counting(places) };
    let found = search.run(1 << bits);
    let counterexample = found.first.map(|index| search.inputs(terms, index));
    Some(Searched { tried: found.tried, relevant: found.relevant, counterexample })
}

/// How many bits the variables have together that the goal depends on.
pub fn input_bits(terms: &Terms, query: &Query) -> u32 {
    free_variables(terms, query).iter().map(|(_, width)| width).sum()
}

/// Tries boundary values and biased samples, `count` inputs in all. `domains` are by variable; variables without one
/// are free.
///
/// Three quarters are the cross product of boundary values, as far as it fits, and mixtures. The rest starts from
/// inputs that met the premise and changes one variable of them, so that premises that relate variables are met.
pub fn sampled(terms: &Terms, query: &Query, domains: &[Domain], count: u64, seed: u64) -> Searched {
    let variables = free_variables(terms, query);
    let count = if variables.is_empty() { 1 } else { count.max(1) };
    let pools: Vec<Pool> = variables
        .iter()
        .map(|(number, width)| Pool::new(terms, query, *width, domains.get(*number).unwrap_or(&Domain::Any)))
        .collect();
    // All boundary values where they fit, else the first of each variable, in half of the inputs. What stands for
    // undefined results has one value then.
    let all: Vec<u64> = pools.iter().map(|pool| pool.values.len() as u64).collect();
    let read = read_variables(terms, query);
    let product = |sizes: &[u64]| sizes.iter().try_fold(1u64, |all, size| all.checked_mul(*size));
    let sizes = match product(&all).is_some_and(|all| all <= count) {
        true => all,
        false => {
            let is_read = |(number, _): &(usize, u32)| read.contains(number);
            let most = root(count / 2, variables.iter().filter(|one| is_read(one)).count().max(1) as u32);
            let size = |(size, one): (u64, &(usize, u32))| size.min(if is_read(one) { most } else { 1 });
            all.into_iter().zip(&variables).map(size).collect()
        }
    };
    let crossed = product(&sizes).unwrap_or(0);
    let strides: Vec<u64> =
        (0..sizes.len()).map(|at| sizes[at + 1..].iter().fold(1u64, |a, b| a.wrapping_mul(*b))).collect();
    let value = |index: u64, position: usize| match index < crossed {
        true => pools[position].values[(index / strides[position] % sizes[position]) as usize],
        false => pools[position].sample(seed, index, position),
    };
    let mixed = Search { variables: &variables, program: program(terms, query), values: &value };
    let first = mixed.run(count - if count > 4 { count / 4 } else { 0 });
    let rest = count - first.tried;
    let mut all = Searched { tried: first.tried, relevant: first.relevant, counterexample: None };
    all.counterexample = first.first.map(|index| mixed.inputs(terms, index));
    if all.counterexample.is_some() || rest == 0 || first.examples.is_empty() {
        return all;
    }
    let examples = &first.examples;
    let near = |index: u64, position: usize| {
        let changed = index / examples.len() as u64 % variables.len() as u64;
        match changed == position as u64 {
            true => pools[position].sample(!seed, index, position),
            false => value(examples[(index % examples.len() as u64) as usize], position),
        }
    };
    let near = Search { variables: &variables, program: mixed.program.clone(), values: &near };
    let second = near.run(rest);
    all.tried += second.tried;
    all.relevant += second.relevant;
    all.counterexample = second.first.map(|index| near.inputs(terms, index));
    all
}

/// The variables that are not only chosen where a condition fails.
fn read_variables(terms: &Terms, query: &Query) -> HashSet<usize> {
    let mut read = HashSet::new();
    for term in terms.reachable(&[query.goal]) {
        let node = terms.node(term);
        let operands = node.operands();
        let used = if node.op == Op::Ite { &operands[..2] } else { operands };
        read.extend(used.iter().filter_map(|operand| match terms.node(*operand).op {
            Op::Variable(number) => Some(number as usize),
            _ => None,
        }));
    }
    read
}

/// The greatest number whose power is at most a value.
fn root(value: u64, power: u32) -> u64 {
    (1..=value).take_while(|root| root.checked_pow(power).is_some_and(|all| all <= value)).last().unwrap_or(0)
}

/// Up to `count` inputs that meet the premise, of the kinds that [`sampled`] tries; where they are rare, none.
pub fn examples(terms: &Terms, query: &Query, count: usize, seed: u64) -> Vec<Inputs> {
    let variables = terms.variables();
    let any = Query { goal: query.premise, premise: query.premise };
    let pools: Vec<Pool> =
        variables.iter().map(|variable| Pool::new(terms, &any, variable.width, &Domain::Any)).collect();
    let program = Program::new(terms, &[query.premise]);
    let mut found = Vec::new();
    for index in 0..64 * count as u64 {
        let inputs: Inputs = pools.iter().enumerate().map(|(at, pool)| pool.sample(seed, index, at)).collect();
        if program.eval(&inputs) == [1] {
            found.push(inputs);
            if found.len() == count {
                break;
            }
        }
    }
    found
}

/// The numbers and widths of the variables that a goal depends on.
fn free_variables(terms: &Terms, query: &Query) -> Vec<(usize, u32)> {
    query.variables(terms).iter().map(|number| (*number, terms.variables()[*number].width)).collect()
}

fn program(terms: &Terms, query: &Query) -> Program {
    Program::new(terms, &[query.goal, query.premise])
}

/// Inputs that follow from an index, and what judges them.
struct Search<'f, V> {
    /// The variables by their numbers and widths.
    variables: &'f [(usize, u32)],
    program: Program,
    values: &'f V,
}

/// The inputs that are tried.
trait Values: Sync {
    /// The value, for an index, of the variable at a position of the list.
    fn value(&self, index: u64, position: usize) -> u128;
}

impl<F: Fn(u64, usize) -> u128 + Sync> Values for F {
    fn value(&self, index: u64, position: usize) -> u128 {
        self(index, position)
    }
}

/// Every input: by variable, the bits of the index below it, and its mask.
struct Counting(Vec<(u32, u64)>);

impl Values for Counting {
    // Where all inputs are tried this is called as often as everything else together.
    #[inline(always)]
    fn value(&self, index: u64, position: usize) -> u128 {
        let (below, mask) = self.0[position];
        u128::from(index >> below & mask)
    }
}

/// What a part of a search found.
#[derive(Clone, Default)]
struct Found {
    tried: u64,
    relevant: u64,
    /// The index of the first counterexample.
    first: Option<u64>,
    /// The first index of some blocks that met the premise.
    examples: Vec<u64>,
}

/// How many inputs that met the premise are kept.
const EXAMPLES: usize = 64;

impl<V: Values> Search<'_, V> {
    fn inputs(&self, terms: &Terms, index: u64) -> Inputs {
        let mut inputs = vec![0; terms.variables().len()];
        for (position, (number, _)) in self.variables.iter().enumerate() {
            inputs[*number] = self.values.value(index, position);
        }
        inputs
    }

    /// Tries the inputs of all indices below `total`, up to the first counterexample.
    fn run(&self, total: u64) -> Found {
        match self.program.widest() {
            0..=32 => self.batches::<u32>(total),
            33..=64 => self.batches::<u64>(total),
            _ => self.batches::<u128>(total),
        }
    }

    fn batches<W: Word>(&self, total: u64) -> Found {
        let blocks = total.div_ceil(LANES as u64);
        let mut all = Found::default();
        let (mut start, mut batch) = (0, BATCH);
        while start < blocks && all.first.is_none() {
            let end = blocks.min(start + batch);
            batch = LARGEST_BATCH.min(2 * batch);
            let fresh = || Machine::<W>::new(&self.program, LANES);
            let parts: Vec<Found> = (start..end)
                .into_par_iter()
                .map_init(fresh, |machine, block| self.block(machine, block * LANES as u64, total))
                .collect();
            for part in parts {
                all.tried += part.tried;
                all.relevant += part.relevant;
                all.first = all.first.or(part.first);
                let room = EXAMPLES - all.examples.len();
                all.examples.extend(part.examples.into_iter().take(room));
            }
            start = end;
        }
        all
    }

    /// One block of lanes. Lanes beyond the last input compute it again and are not counted.
    fn block<W: Word>(&self, machine: &mut Machine<W>, start: u64, total: u64) -> Found {
        for (position, (number, _)) in self.variables.iter().enumerate() {
            if let Some(lanes) = machine.input(*number) {
                for (offset, lane) in lanes.iter_mut().enumerate() {
                    *lane = W::of(self.values.value((start + offset as u64).min(total - 1), position));
                }
            }
        }
        machine.run();
        let count = (total - start).min(LANES as u64) as usize;
        let first = |root: usize| machine.root(root)[..count].iter().position(|lane| *lane != W::ZERO);
        let at = |offset: usize| start + offset as u64;
        Found {
            tried: count as u64,
            relevant: machine.root(1)[..count].iter().filter(|lane| **lane != W::ZERO).count() as u64,
            first: first(0).map(at),
            examples: first(1).map(at).into_iter().collect(),
        }
    }
}

/// The values that one variable's samples are made of.
struct Pool {
    width: u32,
    /// Whether samples are only these values.
    closed: bool,
    /// Those that tell most come first.
    values: Vec<u128>,
    /// What the terms divide by: reciprocals go wrong at multiples, or before them.
    divisors: Vec<u128>,
}

impl Pool {
    fn new(terms: &Terms, query: &Query, width: u32, domain: &Domain) -> Pool {
        let mask = ones(width);
        let closed = |values: Vec<u128>| Pool { width, closed: true, values, divisors: Vec::new() };
        match domain {
            Domain::Of(values) if !values.is_empty() => closed(values.iter().map(|value| value & mask).collect()),
            Domain::PowerOfTwo => closed((0..width).map(|bit| 1 << bit).collect()),
            Domain::LowMask => closed((0..=width).map(|bits| if bits == 0 { 0 } else { ones(bits) }).collect()),
            Domain::Below(bound) if *bound > 0 && *bound <= 256 => closed((0..*bound).map(|v| v & mask).collect()),
            Domain::Below(bound) if *bound > 0 => {
                let mut values = boundaries(terms, query, width);
                values.retain(|value| value < bound);
                closed(values)
            }
            _ => {
                let divisors = divisors(terms, query, width);
                Pool { width, closed: false, values: boundaries(terms, query, width), divisors }
            }
        }
    }

    /// A value for an input: the same for the same seed, index and variable.
    fn sample(&self, seed: u64, index: u64, position: usize) -> u128 {
        let key = seed
            ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ (position as u64 + 1).wrapping_mul(0xd1b5_4a32_d192_ed03);
        let mut random = SplitMix64::new(key);
        let known = self.values[random.below(self.values.len() as u64) as usize];
        if self.closed {
            return known;
        }
        if let Some(near_one) = numbers_near_one((seed, index, position), self.width, &mut random) {
            return near_one;
        }
        let plain = u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
        let shift = random.below(self.width.into()) as u32;
        let kinds = if self.divisors.is_empty() { 8 } else { 9 };
        let value = match random.below(kinds) {
            8 => {
                let divisor = self.divisors[random.below(self.divisors.len() as u64) as usize];
                let times = ((plain & ones(self.width)) / divisor) >> (shift / 8);
                (times * divisor).wrapping_sub(plain >> 100 & 1)
            }
            0..=2 => known,
            3 => known ^ 1 << shift,
            4 => known.wrapping_add(plain & 7).wrapping_sub(4),
            5 => (plain & ones(self.width)) >> shift,
            6 => ones(shift + 1) << random.below(u64::from(self.width - shift)),
            _ => plain,
        };
        value & ones(self.width)
    }
}

/// Floats near one, in one of eight inputs and in all its variables alike: sums and products of others are mostly one
/// of their operands, infinite or zero, and round to nothing new. Two thirds of these inputs have full fractions. In
/// the others each has one bit, so that the product of two neighbours lies halfway between two floats, and one in three
/// is tiny: what decides is then too small for an operation that rounds in between.
fn numbers_near_one((seed, index, position): (u64, u64, usize), width: u32, random: &mut SplitMix64) -> Option<u128> {
    let mut input = SplitMix64::new(!seed ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let (chosen, format) = (input.below(8) == 0, input.below(4));
    let (halfway, tiny, shift) = (input.below(3) == 0, input.below(3), input.next_u64());
    let (bits, exponent) = match (width, format) {
        (64, _) => (64, 11),
        (32, 0 | 1) => (32, 8),
        (32, 2) => (16, 5),
        (32, _) => (16, 8),
        _ => return None,
    };
    let mut one = || {
        let (fraction, bias) = (bits - 1 - exponent, (1u64 << (exponent - 1)) - 1);
        let plain = random.next_u64();
        let mut below = 4 - random.below(8) as i64;
        let mut digits = plain & ((1 << fraction) - 1);
        if halfway {
            let low = shift % fraction as u64;
            digits = 1 << if position.is_multiple_of(2) { low } else { fraction as u64 - 1 - low };
            if position as u64 % 3 == tiny {
                // Beyond the digits of the next wider format, as far as exponents reach.
                below = ((bias / 2).min(110 - 54 * u64::from(bits < 64)) + random.below(6)) as i64;
            }
        }
        plain >> 63 << (bits - 1) | ((bias as i64 - below) as u64) << fraction | digits
    };
    chosen.then(|| (0..width).step_by(bits as usize).fold(0, |all, low| all | u128::from(one()) << low))
}

/// The constants that terms divide by, if they fit a width.
fn divisors(terms: &Terms, query: &Query, width: u32) -> Vec<u128> {
    let divisor = |term: Term| match terms.node(term) {
        Node { op: Op::UDiv | Op::URem | Op::SDiv | Op::SRem, args: [_, by, _], .. } => terms.value(*by),
        _ => None,
    };
    let found = terms.reachable(&[query.goal]).into_iter().filter_map(divisor);
    let mut divisors: Vec<u128> = found.filter(|by| *by > 1 && *by <= ones(width)).take(4).collect();
    divisors.dedup();
    divisors
}

/// Boundary values of a width, and those of the terms' constants that fit it, with their neighbours; those of the terms
/// come first, and opposites last.
fn boundaries(terms: &Terms, query: &Query, width: u32) -> Vec<u128> {
    let mask = ones(width);
    let constants = terms.reachable(&[query.goal]).into_iter().filter_map(|term| terms.value(term));
    let mut seeds: Vec<u128> = vec![0, mask >> 1];
    for by in divisors(terms, query, width) {
        // The last multiples of numbers with and without a sign.
        for most in [mask, mask >> 1] {
            let multiple = most / by * by;
            seeds.extend([multiple, multiple.wrapping_sub(by)]);
        }
    }
    seeds.extend(constants.filter(|value| value & !mask == 0).take(24));
    seeds.extend([mask, u128::from(width), u128::from(width) / 2]);
    seeds.extend((0..width).filter(|bit| *bit < 4 || bit % 4 == 3 || width <= 16).map(|bit| 1 << bit));
    for pattern in [0x55, 0x33, 0x0f, 0x80, 0x7f] {
        seeds.push((0..16).fold(0, |all, byte| all | pattern << (8 * byte)));
    }
    // The ends of the floating-point formats: one, infinity, the smallest normal number.
    seeds.extend([0x3f80_0000, 0x7f80_0000, 0x0080_0000, 0x7fc0_0000, 0x3c00, 0x7c00, 0x0400, 0x3f80, 0x7f80]);
    seeds.extend([0x3ff0_0000_0000_0000, 0x7ff0_0000_0000_0000, 0x0010_0000_0000_0000]);
    let near = |seed: &u128| [*seed, seed.wrapping_add(1), seed.wrapping_sub(1)];
    let opposite = |seed: &u128| [!*seed, seed.wrapping_neg()];
    let all = seeds.iter().flat_map(near).chain(seeds.iter().flat_map(opposite));
    let mut values: Vec<u128> = all.map(|value| value & mask).collect();
    let mut seen = HashSet::new();
    values.retain(|value| seen.insert(*value));
    values
}

#[cfg(test)]
mod tests {
    use super::super::query::{Side, equivalence};
    use super::*;

    fn side(value: super::super::term::Term) -> Side {
        Side { values: vec![value], defined: None }
    }

    #[test]
    fn all_inputs_are_tried_and_the_first_wrong_one_is_found() {
        let mut t = Terms::new();
        let (x, y) = (t.variable("x", 8), t.variable("y", 8));
        let (sum, either) = (t.add(x, y), t.or(x, y));
        let query = equivalence(&mut t, &side(sum), &side(either), &[]);
        let found = exhaustive(&t, &query, 16).expect("16 bits");
        assert_eq!(found.counterexample, Some(vec![1, 1]));
        let both = t.and(x, y);
        let apart = t.is_zero(both);
        let query = equivalence(&mut t, &side(sum), &side(either), &[apart]);
        let found = exhaustive(&t, &query, 16).expect("16 bits");
        assert_eq!(found, Searched { tried: 1 << 16, relevant: 6561, counterexample: None });
        assert_eq!(exhaustive(&t, &query, 15), None);
    }

    /// More than one batch of blocks: none is left out between two of them.
    #[test]
    fn no_input_is_left_out_between_batches() {
        let mut t = Terms::new();
        let (x, y) = (t.variable("x", 10), t.variable("y", 10));
        let (sum, either, both) = (t.add(x, y), t.or(x, y), t.and(x, y));
        let apart = t.is_zero(both);
        let query = equivalence(&mut t, &side(sum), &side(either), &[apart]);
        let found = exhaustive(&t, &query, 20).expect("20 bits");
        assert_eq!(found, Searched { tried: 1 << 20, relevant: 3u64.pow(10), counterexample: None });
    }

    /// Constants of the terms come up, whatever they are.
    #[test]
    fn samples_hit_a_single_value() {
        let mut t = Terms::new();
        let (x, odd) = (t.variable("x", 32), t.constant(0x1234_5679, 32));
        let (hit, one, zero) = (t.eq(x, odd), t.constant(1, 32), t.constant(0, 32));
        let bit = t.ite(hit, one, zero);
        let query = equivalence(&mut t, &side(bit), &side(zero), &[]);
        let found = sampled(&t, &query, &[], 1000, 1);
        assert_eq!(found.counterexample, Some(vec![0x1234_5679]));
    }

    #[test]
    fn domains_are_kept_and_samples_repeat() {
        let mut t = Terms::new();
        let x = t.variable("x", 64);
        let one = t.constant(1, 64);
        let less = t.sub(x, one);
        let common = t.and(x, less);
        let zero = t.constant(0, 64);
        let query = equivalence(&mut t, &side(common), &side(zero), &[]);
        let found = sampled(&t, &query, &[Domain::PowerOfTwo], 10_000, 7);
        assert_eq!((found.tried, found.relevant, found.counterexample), (10_000, 10_000, None));
        let free = sampled(&t, &query, &[], 10_000, 7);
        assert!(free.counterexample.is_some());
        assert_eq!(free, sampled(&t, &query, &[], 10_000, 7));
    }

    /// Products of two and a third rounded together, or one after the other: near one they differ often.
    #[test]
    fn some_inputs_are_floats_near_one() {
        let pool = Pool { width: 64, closed: false, values: vec![0], divisors: Vec::new() };
        let of = |index: u64, at: usize| f64::from_bits(pool.sample(7, index, at) as u64);
        let near = |x: f64| x.is_finite() && (0.05..17.0).contains(&x.abs());
        let inputs: Vec<[f64; 3]> = (0..400).map(|index| [0, 1, 2].map(|at| of(index, at))).collect();
        let differ = |[x, y, z]: &[f64; 3]| near(*x) && near(*y) && x.mul_add(*y, *z) != x * y + z;
        assert!(inputs.iter().filter(|input| differ(input)).count() > 8);
        let halves = Pool { width: 32, ..pool };
        let packed = (0..800).filter(|index| {
            let value = halves.sample(7, *index, 0);
            [0, 16].iter().all(|low| (11..19).contains(&(value >> (low + 10) & 31)))
        });
        assert!(packed.count() > 16);
    }

    /// A premise that relates variables: few mixtures meet it, and the neighbours of those that do tell the rest.
    #[test]
    fn related_variables_are_kept_related() {
        let mut t = Terms::new();
        let [x, y, z] = ["x", "y", "z"].map(|name| t.variable(name, 32));
        let (sum, odd) = (t.add(x, y), t.constant(0x0123_4567, 32));
        let related = t.eq(sum, odd);
        let product = t.mul(z, z);
        let query = equivalence(&mut t, &side(product), &side(z), &[related]);
        let found = sampled(&t, &query, &[], 100_000, 3);
        assert!(found.counterexample.is_some_and(|inputs| query.holds(&t, &inputs)));
        let other = t.sub(odd, x);
        let (other, same) = (t.add(other, z), t.add(y, z));
        let query = equivalence(&mut t, &side(other), &side(same), &[related]);
        let found = sampled(&t, &query, &[], 100_000, 3);
        assert!(found.counterexample.is_none() && found.relevant > 5_000, "{found:?}");
    }

    /// A reciprocal that is wrong for the last number before a multiple alone, and a guard that is off by one.
    #[test]
    fn needles_near_multiples_and_bounds_are_found() {
        let mut t = Terms::new();
        let [x, a, b] = ["x", "A", "B"].map(|name| t.variable(name, 32));
        let wide = t.zero_extend(x, 64);
        // A divisor of more than half of all numbers has one multiple.
        let most = t.constant(0xc000_0000, 32);
        let (quotient, none) = (t.udiv(x, most), t.constant(0, 32));
        let query = equivalence(&mut t, &side(quotient), &side(none), &[]);
        assert!(sampled(&t, &query, &[], 500, 1).counterexample.is_some());
        let (magic, by) = (t.constant(0xe703_5f25, 64), t.constant(145_249, 32));
        let product = t.mul(wide, magic);
        let high = t.extract(product, 49, 15);
        let (before, after) = (t.udiv(x, by), t.zero_extend(high, 32));
        let query = equivalence(&mut t, &side(before), &side(after), &[]);
        let found = sampled(&t, &query, &[], 500, 1).counterexample;
        assert!(found.is_some_and(|inputs| query.holds(&t, &inputs)));
        // Below 2^28 alone, where the last multiples of the width are not met.
        let (magic, by, most) = (t.constant(0x29e_c96b, 64), t.constant(100_045, 32), t.constant(1 << 28, 32));
        let product = t.mul(wide, magic);
        let high = t.extract(product, 42, 22);
        let (before, after, below) = (t.udiv(x, by), t.zero_extend(high, 32), t.ult(x, most));
        let query = equivalence(&mut t, &side(before), &side(after), &[below]);
        assert!(sampled(&t, &query, &[], 10_000, 1).counterexample.is_some());
        let (short, bound) = (t.constant(0xffff, 32), t.constant(0x1_0002, 32));
        let premise = [t.ule(x, short), t.ule(a, bound), t.is_nonzero(b)];
        let product = t.mul(x, a);
        let (multiple, zero) = (t.urem(product, a), t.constant(0, 32));
        let query = equivalence(&mut t, &side(multiple), &side(zero), &premise);
        assert!(sampled(&t, &query, &[], 10_000, 1).counterexample.is_some());
    }

    #[test]
    fn a_question_without_variables_has_one_input() {
        let mut t = Terms::new();
        let (two, three) = (t.constant(2, 8), t.constant(3, 8));
        let query = equivalence(&mut t, &side(two), &side(three), &[]);
        assert_eq!(exhaustive(&t, &query, 8).expect("no bits").counterexample, Some(vec![]));
        assert_eq!(sampled(&t, &query, &[], 100, 0).counterexample, Some(vec![]));
    }
}
