//! Left-hand sides of rewrite rules in ordinary code, so that every rule fires.
//!
//! [`Patterns`] are the rules: the built-in ones, or those of the run. Here one of them is chosen, [`choice`] finds
//! field values and constants that satisfy its guards, and the operations of its pattern are made, the innermost first.
//! What is captured comes from the values at hand; where a guard wants bits known, operations in front make them so
//! ([`known`]). Whether the rule then fires is for the optimizer to say, and for the campaign to count.
//!
//! Some patterns are near misses: in one place they have something else (a constant, the other word, a second register
//! where one is captured twice, another field, a bit that is not known), and the rule must see it.
//!
//! Roots that access memory or bring threads together get addresses and masks that keep threads apart ([`effects`]). A
//! rule with another root (special registers, asynchronous copies, other effects) is left to ordinary code.

mod choice;
mod constants;
mod effects;
mod features;
mod known;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, LazyLock};

use oriole_ir::ops::{FieldValues, Flags, Opcode, Shape, Type};
use oriole_ir::{InstBuilder, Operand, RegInfo};
use oriole_rules::instance::{Instance, Pattern, Source, place_type};
use oriole_rules::{Rule, Source as RuleFile, builtin_count, builtin_rules, builtin_sources};

use super::builder::Builder;
use super::entropy::Entropy;
use super::fields::among;
use super::insts::{Family, result_info};
use choice::{Choice, Hints};
use known::Bits;

/// The rules whose patterns are made.
#[derive(Clone)]
pub struct Patterns(Arc<Prepared>);

struct Prepared {
    sources: Vec<RuleFile>,
    rules: Vec<Rule>,
    /// What can be made: the rule, and what its text shows.
    seeds: Vec<(usize, Hints)>,
    /// The first of a user's own rules among `seeds`.
    own: usize,
    /// By feature: the places among `seeds` of the rules that have it.
    features: Vec<Vec<usize>>,
}

/// Patterns in a hundred whose rule is chosen by a feature.
const BY_FEATURE: u32 = 25;

impl Patterns {
    /// The patterns of these rules, which come from these files.
    pub fn new(sources: &[RuleFile], rules: &[Rule]) -> Patterns {
        let builtin = builtin_count(sources, rules);
        let numbered = || rules.iter().enumerate().filter(|(_, rule)| effects::is_made(rule));
        let seeds = numbered().map(|(at, rule)| (at, Hints::of(rule))).collect();
        let own = numbered().filter(|(at, _)| *at < builtin).count();
        let mut features: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (seed, (_, rule)) in numbered().enumerate() {
            features::of(rule.decl()).into_iter().for_each(|name| features.entry(name).or_default().push(seed));
        }
        let features = features.into_values().collect();
        Patterns(Arc::new(Prepared { sources: sources.to_vec(), rules: rules.to_vec(), seeds, own, features }))
    }

    /// One of the rules, and of its instances; a user's own rule in half of all cases.
    fn choose(&self, entropy: &mut Entropy<'_>) -> Option<(&Instance, &Hints)> {
        let Prepared { rules, seeds, own, features, .. } = &*self.0;
        let from = if *own < seeds.len() && entropy.percent(50) { *own } else { 0 };
        let seed = match features.is_empty() || from > 0 || !entropy.percent(BY_FEATURE) {
            true => from + entropy.below(seeds.len() - from),
            false => {
                let alike = &features[entropy.below(features.len())];
                alike[entropy.below(alike.len())]
            }
        };
        let (rule, hints) = seeds.get(seed)?;
        let instances = rules[*rule].instances();
        Some((instances.get(entropy.below(instances.len()))?, hints))
    }
}

impl Default for Patterns {
    fn default() -> Patterns {
        static BUILTIN: LazyLock<Patterns> = LazyLock::new(|| Patterns::new(&builtin_sources(), &builtin_rules()));
        BUILTIN.clone()
    }
}

/// By the text of the rules.
impl PartialEq for Patterns {
    fn eq(&self, other: &Patterns) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.sources == other.0.sources
    }
}

impl Eq for Patterns {}

/// The text of the rules: what a campaign makes depends on it.
impl fmt::Debug for Patterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.0.sources).finish()
    }
}

/// A pattern under construction: the choice, and what its captures stand for.
struct Making<'i> {
    instance: &'i Instance,
    choice: Choice,
    operands: Vec<Option<Operand>>,
    /// How many operations have taken their fields.
    at: usize,
    /// Places until the one that is something else.
    miss: Option<usize>,
    /// Whether what is made divides something, and must not be zero.
    divides: bool,
}

impl Making<'_> {
    /// How many places of a pattern can be something else. `seen` are the captures that came before.
    fn places(&self, pattern: &Pattern, seen: &mut BTreeSet<usize>) -> usize {
        let own = |source: &Source, seen: &mut BTreeSet<usize>| match source {
            Source::Inst(inner) => self.places(inner, seen),
            Source::Constant(_) | Source::Equals(_) => 1,
            Source::Capture(capture) if !seen.insert(*capture) => 1,
            Source::Capture(capture) => {
                let wanted = self.choice.wanted[*capture];
                usize::from(wanted.has_known_bits() && !wanted.needed)
            }
            Source::Any | Source::Word(..) => 0,
        };
        let all = pattern.srcs.iter().map(|source| match source {
            Source::Word(_, of) => 1 + own(of, seen),
            source => own(source, seen),
        });
        1 + all.sum::<usize>()
    }

    /// Whether this place is the one that is something else.
    fn misses(&mut self) -> bool {
        match &mut self.miss {
            Some(0) => {
                self.miss = None;
                true
            }
            Some(left) => {
                *left -= 1;
                false
            }
            None => false,
        }
    }

    /// A word of a wide value.
    fn word(&mut self, word: u8) -> u8 {
        if self.misses() { 1 - word } else { word }
    }
}

impl Builder<'_, '_> {
    /// The operations of some rule's pattern.
    pub(super) fn pattern(&mut self) {
        let patterns = &self.config.patterns;
        let Some((instance, hints)) = patterns.choose(self.entropy) else { return };
        let Some(choice) = Choice::find(instance, hints, self.entropy, &self.config.operand) else { return };
        let operands = vec![None; instance.captures.len()];
        let mut making = Making { instance, choice, operands, at: 0, miss: None, divides: false };
        let pattern = instance.pattern();
        if self.entropy.percent(self.config.operand.near_miss) {
            let places = making.places(pattern, &mut BTreeSet::new());
            making.miss = Some(self.entropy.below(places));
        }
        if Family::of(pattern.opcode.row()) != Family::Plain {
            self.effect_pattern(pattern, &mut making);
            return;
        }
        let Some((fields, mut srcs)) = self.parts(pattern, &mut making) else { return };
        let commutes = pattern.opcode.is(Flags::COMMUTATIVE) && !srcs[1].is_imm();
        if commutes && self.entropy.percent(25) {
            srcs.swap(0, 1);
        }
        self.operation(pattern.opcode, fields, &srcs);
    }

    /// Fields and sources of an operation. Operations inside are made first, since they name values.
    fn parts(&mut self, pattern: &Pattern, making: &mut Making<'_>) -> Option<(FieldValues, Vec<Operand>)> {
        let fields = self.own_fields(pattern, making)?;
        let mut srcs = self.sources_of(pattern, &fields, making, &[])?;
        if let (Some(Source::Any), Some(shape)) = (pattern.srcs.get(1), pattern.opcode.row().srcs.get(1)) {
            let ty = place_type(pattern.opcode, &fields, *shape)?;
            self.specify(pattern.opcode, ty, &mut srcs);
        }
        let open = matches!(pattern.opcode, Opcode::IDiv | Opcode::IRem) && srcs[1] == Operand::imm(0);
        (!open).then_some((fields, srcs))
    }

    /// The fields of the operation at hand.
    fn own_fields(&mut self, pattern: &Pattern, making: &mut Making<'_>) -> Option<FieldValues> {
        let fields = *making.choice.fields.get(making.at)?;
        making.at += 1;
        let other = making.misses().then(|| self.other_fields(pattern.opcode, fields)).flatten();
        Some(other.unwrap_or(fields))
    }

    /// The sources of an operation, of which some may be `known`.
    fn sources_of(
        &mut self,
        pattern: &Pattern,
        fields: &FieldValues,
        making: &mut Making<'_>,
        known: &[Option<Operand>],
    ) -> Option<Vec<Operand>> {
        let mut srcs: Vec<Option<Operand>> = Vec::new();
        let outside = making.divides;
        for (at, source) in pattern.srcs.iter().enumerate() {
            making.divides = outside || at == 1 && matches!(pattern.opcode, Opcode::IDiv | Opcode::IRem);
            srcs.push(match source {
                _ if known.get(at).is_some_and(Option::is_some) => known[at],
                Source::Inst(inner) => Some(self.inside(inner, making)?),
                Source::Word(word, of) => match &**of {
                    Source::Inst(inner) => {
                        let reg = self.inside(inner, making)?.whole_reg()?;
                        Some(Operand::Word(reg, making.word(*word)))
                    }
                    _ => None,
                },
                _ => None,
            });
        }
        making.divides = outside;
        for ((made, source), shape) in srcs.iter_mut().zip(&pattern.srcs).zip(pattern.opcode.row().srcs) {
            if made.is_none() {
                let ty = place_type(pattern.opcode, fields, *shape)?;
                *made = Some(self.leaf(source, ty, making)?);
            }
        }
        srcs.into_iter().collect()
    }

    fn leaf(&mut self, source: &Source, ty: Type, making: &mut Making<'_>) -> Option<Operand> {
        Some(match source {
            Source::Any if making.divides => {
                let info = RegInfo::of(ty);
                let value = Operand::Reg(self.register(info));
                self.with_certain_bits(value, info, choice::SMALL_AND_ODD)
            }
            Source::Any => self.value(ty),
            Source::Capture(capture) => self.captured(*capture, ty, making),
            Source::Constant(capture) => self.number(making.choice.constants[*capture]?, ty, making),
            Source::Equals(expr) => self.number(making.choice.value(expr)?, ty, making),
            Source::Word(word, of) => match &**of {
                Source::Capture(capture) => {
                    let reg = self.captured(*capture, Type::B64, making).whole_reg()?;
                    Operand::Word(reg, making.word(*word))
                }
                _ => Operand::Word(self.register(RegInfo::words(2)), *word),
            },
            Source::Inst(_) => return None,
        })
    }

    fn number(&mut self, bits: u64, ty: Type, making: &mut Making<'_>) -> Operand {
        let bits = if making.misses() { choice::near(self.entropy, bits, ty) } else { bits };
        self.func.imm(bits)
    }

    /// Legal fields of which one has another value, for the same sources and results.
    fn other_fields(&mut self, opcode: Opcode, fields: FieldValues) -> Option<FieldValues> {
        let row = opcode.row();
        let slot = self.entropy.below(row.fields.len());
        let mut masks: Vec<u64> = (0..row.fields.len()).map(|slot| 1 << fields.0[slot]).collect();
        *masks.get_mut(slot)? = !masks[slot];
        let other = among(row, self.entropy, &self.config.operand, &masks)?;
        let shapes = row.srcs.iter().chain(row.dsts);
        let width = |fields, shape: &Shape| place_type(opcode, fields, *shape).map(|ty| (RegInfo::of(ty), ty.bits()));
        let same = |shape: &Shape| width(&other, shape) == width(&fields, shape);
        shapes.into_iter().all(same).then_some(other)
    }

    /// A value made by an operation inside; what may have other uses sometimes has.
    fn inside(&mut self, pattern: &Pattern, making: &mut Making<'_>) -> Option<Operand> {
        let (fields, srcs) = self.parts(pattern, making)?;
        let [shape] = pattern.opcode.row().dsts else { return None };
        let info = result_info(pattern.opcode.row(), &fields, *shape, srcs.len());
        let reg = self.hidden(InstBuilder::new(pattern.opcode).fields(fields).srcs(srcs), info);
        if pattern.shared && self.entropy.percent(30) {
            self.offer(reg);
        }
        if let Some(binding) = pattern.binding {
            making.operands[binding] = Some(Operand::Reg(reg));
        }
        Some(Operand::Reg(reg))
    }

    /// The operand that a capture stands for.
    fn captured(&mut self, capture: usize, place: Type, making: &mut Making<'_>) -> Operand {
        let again = making.operands[capture].filter(|_| !making.misses());
        if let Some(operand) = again {
            return operand;
        }
        let ty = making.instance.captures[capture].ty.unwrap_or(place);
        let mut wanted = making.choice.wanted[capture];
        if wanted.has_known_bits() && !wanted.needed && making.misses() {
            wanted = wanted.less(self.entropy);
        }
        let info = RegInfo::of(ty);
        let mut operand = match (wanted.constant, wanted.is_register()) {
            (true, _) => self.constant(ty),
            (false, true) => Operand::Reg(self.register(info)),
            // Registers mostly: what is constant folds before a rule is asked.
            (false, false) if self.entropy.percent(80) => Operand::Reg(self.register(info)),
            (false, false) => self.value(ty),
        };
        if wanted.is_made() && !info.is_predicate() {
            operand = self.made_for(operand, info, wanted);
        }
        making.operands[capture] = Some(operand);
        operand
    }

    /// A value that nothing else reads, with the bits that are wanted.
    fn made_for(&mut self, operand: Operand, info: RegInfo, wanted: choice::Wanted) -> Operand {
        let (ty, all) = if info.words > 1 { (Type::B64, u64::MAX) } else { (Type::B32, u64::from(u32::MAX)) };
        if !wanted.has_known_bits() {
            // Any operation that nothing removes: the value has one use.
            let flipped = Self::typed(Opcode::Xor, ty).src(operand).src(all >> 1);
            return Operand::Reg(self.hidden(flipped, info));
        }
        let above = wanted.extended.map_or(0, |from| all.checked_shl(from).unwrap_or(0));
        let bits = Bits { zeros: wanted.zeros | above, ones: wanted.ones };
        if wanted.needed {
            self.with_certain_bits(operand, info, bits)
        } else {
            self.with_known_bits(operand, info, bits)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_with_a_rare_feature_are_chosen_as_often_as_others() {
        let patterns = Patterns::default();
        let mut entropy = Entropy::from_seed(3);
        let of_word = |pattern: &Pattern| pattern.srcs.iter().any(|source| matches!(source, Source::Word(..)));
        let rules = builtin_rules();
        let with = rules.iter().filter(|rule| of_word(rule.instances()[0].pattern())).count();
        let chosen = (0..4000).filter(|_| patterns.choose(&mut entropy).is_some_and(|(one, _)| of_word(one.pattern())));
        let (chosen, rules) = (chosen.count(), rules.len());
        // By their share of the rules it would be 4000 * with / rules; a quarter is chosen by one of 13 features.
        assert!(chosen > 2 * 4000 * with / rules, "{chosen} of 4000 by {with} of {rules} rules");
    }
}
