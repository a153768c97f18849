//! Distribution backwards: `a * b + a * c` is `a * (b + c)`, modulo 2^n.
//!
//! Of the products of a sum, those with the most frequent factor go together first; each product goes once. There is a
//! product less for each addition more, so the code is not longer, and an addition costs less. Products that are
//! subtracted go with those that are added, where there is one of these. Whole products (`imul.wide`) stay: `b + c`
//! would wrap where they do not. Cost: products times their two factors, and sorting.

use super::plan::{Plan, Src};
use super::sum::{Sum, Writer, rank};
use super::tree::{Product, Ranks, Term, Value, only_reader};
use super::{DISTRIBUTE, Settings};
use oriole_ir::Inst;
use oriole_ir::ops::{Opcode, Type};
use rustc_hash::FxHashMap;

/// Products with a common factor.
pub(super) struct Group {
    factor: Src,
    added: Vec<Src>,
    subtracted: Vec<Src>,
}

impl Group {
    /// Writes the sum of the other factors, and returns the product that is left.
    pub(super) fn write(&self, plan: &mut Plan, ty: Type) -> Product {
        let mut writer = Writer { plan, ty, value: None };
        self.added.iter().for_each(|src| writer.add(*src));
        self.subtracted.iter().for_each(|src| writer.subtract(*src));
        let sum = writer.value.expect("a group has members");
        Product { opcode: Opcode::IMulLo, ty, factors: [sum, self.factor] }
    }
}

/// A product of a sum.
struct Candidate {
    place: usize,
    negative: bool,
    factors: [Src; 2],
    below: Option<Inst>,
}

/// Takes products with common factors out of the terms.
pub(super) fn distribute(sum: &mut Sum<'_>, ranks: &Ranks, settings: &mut Settings) -> Vec<Group> {
    let candidates: Vec<Candidate> = (0..sum.terms.len()).filter_map(|place| candidate(sum, place)).collect();
    if candidates.len() < 2 {
        return Vec::new();
    }
    let mut groups = Vec::new();
    let mut gone = vec![false; sum.terms.len()];
    for (factor, members) in factors(&candidates, ranks) {
        let members: Vec<&Candidate> = members.into_iter().map(|member| &candidates[member]).collect();
        let members: Vec<&Candidate> = members.into_iter().filter(|member| !gone[member.place]).collect();
        let added = members.iter().any(|member| !member.negative);
        if members.len() < 2 || !added || settings.distributions == 0 {
            continue;
        }
        settings.distributions -= 1;
        sum.plan.rule = Some(DISTRIBUTE);
        for member in &members {
            gone[member.place] = true;
            sum.plan.absorbed.extend(member.below);
        }
        groups.push(group(factor, &members, ranks));
    }
    let mut place = 0..;
    sum.terms.retain(|_| !gone[place.next().expect("places do not end")]);
    groups
}

fn group(factor: Src, members: &[&Candidate], ranks: &Ranks) -> Group {
    let others = |negative: bool| {
        let of_sign = members.iter().filter(|member| member.negative == negative);
        let other =
            |member: &&Candidate| if member.factors[0] == factor { member.factors[1] } else { member.factors[0] };
        let mut others: Vec<Src> = of_sign.map(other).collect();
        others.sort_by_key(|other| rank(ranks, *other));
        others
    };
    Group { factor, added: others(false), subtracted: others(true) }
}

fn candidate(sum: &Sum<'_>, place: usize) -> Option<Candidate> {
    let Term { value, negative } = sum.terms[place];
    match value {
        Value::Product(Product { opcode: Opcode::IMulLo, factors, .. }) => {
            Some(Candidate { place, negative, factors, below: None })
        }
        Value::Product(_) => None,
        Value::Operand(operand) => {
            let inst = only_reader(sum.func, sum.tree.block, operand)?;
            let data = sum.func.inst(inst);
            let fits = data.opcode == Opcode::IMulLo && data.ty().bits() == sum.tree.kind.bits;
            let [a, b] = *sum.func.srcs(inst) else { return None };
            let factors = [Src::of(sum.func, a), Src::of(sum.func, b)];
            fits.then_some(Candidate { place, negative, factors, below: Some(inst) })
        }
    }
}

/// The factors of more than one product with their products, the most frequent first.
fn factors(candidates: &[Candidate], ranks: &Ranks) -> Vec<(Src, Vec<usize>)> {
    let mut places: FxHashMap<Src, usize> = FxHashMap::default();
    let mut factors: Vec<(Src, Vec<usize>)> = Vec::new();
    for (number, candidate) in candidates.iter().enumerate() {
        let [a, b] = candidate.factors;
        for factor in std::iter::once(a).chain((a != b).then_some(b)) {
            let place = *places.entry(factor).or_insert(factors.len());
            if place == factors.len() {
                factors.push((factor, Vec::new()));
            }
            factors[place].1.push(number);
        }
    }
    factors.retain(|(_, members)| members.len() > 1);
    factors.sort_by_key(|(factor, members)| (usize::MAX - members.len(), rank(ranks, *factor)));
    factors
}
