//! Rules compiled to decision trees, for what is met.
//!
//! An [`Arm`] holds the patterns that may match one opcode with certain values in two of its fields: those that have
//! most values, a type and a comparison in general. They are what the variables of rules go through, so an arm has few
//! of the instances that its rules stand for, and no others are resolved. An arm is made when an instruction first asks
//! for it.
//!
//! Patterns are written out with both orders of operands that commute. For each arm a tree asks what tells most of
//! its candidates apart: a field of the root, what an operand is (a constant, a word, a value made by which opcode),
//! which constant, a field of the operation that made it, and so on two levels down. A candidate that does not care
//! stays in every branch. At a leaf stand the few patterns that may match, in the order in which they are tried: by
//! priority, then as in the file. Most of them do not, and what an instruction's operands are tells that of nearly all
//! without a look at the pattern: beside each stands what it demands of them, in 32 bytes.
//!
//! The first instructions that ask look at all candidates of their arm: a small kernel takes less time for that than a
//! tree does to build.
//!
//! Cost per instruction: the tree's depth, plus a comparison for each candidate of one leaf, plus the few that pass it;
//! the number of rules hardly matters (`benches/peephole.rs`). Building a tree looks at each question of a candidate
//! once per level.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::preparation::timed;
use super::subject::Subject;
use oriole_ir::ops::{FieldSpec, FieldValues, Flags, Opcode, ROWS};
use oriole_ir::{Inst, Operand};
use oriole_rules::instance::{Const, ConstKind, Instance, Pattern, Rule, Source, ones};
use oriole_rules::resolve::is_constant;

/// How many nodes a tree may have before its leaves grow instead.
const MAX_NODES: usize = 1 << 16;
/// Candidates that are not told apart further: comparing the operands with what so many demand costs less than a
/// question.
const LEAF: usize = 6;

/// A question is worth asking where one candidate in so many has an answer.
const FEW: usize = 4;

/// How many fields tell the arms of an opcode apart.
const KEYS: usize = 2;

/// A pattern with one order of its operands.
#[derive(Clone, Debug)]
pub(super) struct Variant {
    /// The rule that it is of.
    pub rule: usize,
    /// Its instance, as an index into [`Arm::instances`].
    pub instance: usize,
    pub pattern: Pattern,
}

/// From the root to an operand, at most three steps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Path {
    len: u8,
    at: [u8; 3],
}

impl Path {
    fn then(self, index: usize) -> Option<Path> {
        let mut longer = self;
        *longer.at.get_mut(usize::from(self.len))? = u8::try_from(index).ok()?;
        longer.len += 1;
        Some(longer)
    }
}

/// What a node asks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Feature {
    /// What an operand is.
    Class(Path),
    /// The value of a field of the root or of the operation with this opcode that made an operand.
    Field(Path, Opcode, u8),
    /// Which constant an operand is, in so many bits.
    Literal(Path, u32),
}

/// Classes of operands; opcodes follow.
const CONSTANT: u64 = 0;
const WORD: u64 = 1;
const MADE_BY: u64 = 2;

/// The class of what makes an operand, constant or not; `None` where no instruction does.
fn maker(subject: Subject<'_>, operand: Operand) -> Option<u64> {
    match operand {
        Operand::Word(..) => Some(WORD),
        _ => subject.definition(operand).map(|made| MADE_BY + subject.func.inst(made).opcode as u64),
    }
}

/// What the first four operands of an instruction are, 32 bits for each: what makes it, whether it is a constant, which
/// one in its low bits, and whether it is read no more than once.
#[derive(Clone, Copy)]
struct Kinds(u128);

/// The operands that kinds and demands are about.
const KINDS: usize = 4;
/// In the bits of an operand: the class of what makes it ([`maker`]), or 0.
const MADE: u64 = 0x3FFF;
const _: () = assert!(MADE_BY + (ROWS.len() as u64) <= MADE);
const IS_CONSTANT: u64 = 1 << 14;
const IS_READ_ONCE: u64 = 1 << 15;
/// The low bits of a constant, as many as there is room for.
const LOW: u32 = 16;

impl Kinds {
    fn of(subject: Subject<'_>, srcs: &[Operand]) -> Kinds {
        let kinds = srcs.iter().take(KINDS).enumerate();
        let place = |(index, operand): (usize, &Operand)| u128::from(Kinds::of_one(subject, *operand)) << (32 * index);
        Kinds(kinds.map(place).fold(0, |all, one| all | one))
    }

    fn of_one(subject: Subject<'_>, operand: Operand) -> u64 {
        let made = maker(subject, operand).unwrap_or(0);
        let constant = subject.constant(operand).map_or(0, |bits| IS_CONSTANT | (bits & ones(LOW)) << LOW);
        made | constant | if subject.is_used_once(operand) { IS_READ_ONCE } else { 0 }
    }
}

/// What the operands must be so that a pattern may match: their kinds have these bits in `mask`. The matcher asks for
/// all of it, and for more.
#[derive(Clone, Copy, Default, Debug)]
struct Demand {
    mask: u128,
    bits: u128,
}

impl Demand {
    fn of(pattern: &Pattern) -> Demand {
        let mut demand = Demand::default();
        for (index, source) in pattern.srcs.iter().take(KINDS).enumerate() {
            let (mask, bits) = match source {
                Source::Any | Source::Capture(_) => (0, 0),
                Source::Equals(Const { bits, kind: ConstKind::Number(value) }) => {
                    let low = ones(LOW.min(*bits));
                    (IS_CONSTANT | low << LOW, IS_CONSTANT | (value & low) << LOW)
                }
                Source::Constant(_) | Source::Equals(_) => (IS_CONSTANT, IS_CONSTANT),
                Source::Word(..) => (MADE, WORD),
                Source::Inst(inner) if inner.shared => (MADE, MADE_BY + inner.opcode as u64),
                Source::Inst(inner) => (MADE | IS_READ_ONCE, (MADE_BY + inner.opcode as u64) | IS_READ_ONCE),
            };
            demand.mask |= u128::from(mask) << (32 * index);
            demand.bits |= u128::from(bits) << (32 * index);
        }
        demand
    }

    fn is_met_by(self, kinds: Kinds) -> bool {
        kinds.0 & self.mask == self.bits
    }
}

/// A pattern at a leaf.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    demand: Demand,
    /// As an index into [`Arm::variants`].
    variant: u32,
}

#[derive(Clone, Debug)]
enum Node {
    Leaf(Vec<Candidate>),
    Switch { feature: Feature, cases: Vec<(u64, u32)>, otherwise: u32 },
}

/// The patterns that may match instructions alike, and the tree that chooses among them.
#[derive(Debug)]
pub(super) struct Arm {
    pub variants: Vec<Variant>,
    pub instances: Vec<Instance>,
    /// A candidate for each variant, in order.
    candidates: Vec<Candidate>,
    tree: OnceLock<Tree>,
    /// How many instructions have asked before there was a tree.
    asked: AtomicU32,
}

/// A tree takes as long to build as so many instructions take to look at all candidates.
pub(super) const WORTH_A_TREE: u32 = 64;

#[derive(Debug)]
struct Tree {
    nodes: Vec<Node>,
    root: u32,
}

/// The arms of an opcode.
#[derive(Debug)]
struct Arms {
    /// The slots with most values, as far as the opcode has any, and how many values.
    keys: Vec<(usize, usize)>,
    /// By the values in these slots, the last one fastest.
    arms: Vec<OnceLock<Box<Arm>>>,
}

/// Compiled rules.
#[derive(Debug, Default)]
pub(super) struct Program {
    /// By opcode, the rules whose root it may be, best first.
    rules: Vec<Vec<u32>>,
    /// By opcode; made when it is first met.
    arms: Vec<OnceLock<Arms>>,
}

impl Program {
    pub(super) fn new(rules: &[Rule]) -> Program {
        let mut program = Program { rules: vec![Vec::new(); ROWS.len()], arms: to_make(ROWS.len()) };
        let mut order: Vec<usize> = (0..rules.len()).collect();
        order.sort_by_key(|index| Reverse(rules[*index].priority));
        for rule in order {
            for opcode in &rules[rule].roots {
                program.rules[*opcode as usize].push(rule as u32);
            }
        }
        program
    }

    /// What may apply to an instruction; `rules` are those that the program was made of.
    pub(super) fn arm(&self, rules: &[Rule], opcode: Opcode, fields: &FieldValues) -> Option<&Arm> {
        let own = self.rules.get(opcode as usize).filter(|own| !own.is_empty())?;
        let arms = self.arms[opcode as usize].get_or_init(|| Arms::new(opcode));
        let arm = &arms.arms[arms.index(fields)?];
        let make = || Box::new(Arm::new(rules, own, opcode, &arms.values(fields)));
        // Where another thread is making it, this one waits.
        Some(arm.get().unwrap_or_else(|| timed(|| arm.get_or_init(make))))
    }
}

/// So many things to make when they are first asked for.
fn to_make<T>(count: usize) -> Vec<OnceLock<T>> {
    std::iter::repeat_with(OnceLock::new).take(count).collect()
}

impl Arms {
    fn new(opcode: Opcode) -> Arms {
        let values = |spec: &FieldSpec| 64 - spec.legal.leading_zeros() as usize;
        let mut keys: Vec<(usize, usize)> = opcode.row().fields.iter().map(values).enumerate().collect();
        keys.sort_by_key(|(_, values)| Reverse(*values));
        keys.truncate(KEYS);
        let count = keys.iter().map(|(_, values)| values).product();
        Arms { keys, arms: to_make(count) }
    }

    /// Where the arm for these fields stands; `None` for values that the opcode does not take.
    fn index(&self, fields: &FieldValues) -> Option<usize> {
        self.keys.iter().try_fold(0, |index, (slot, values)| {
            let value = usize::from(fields.0[*slot]);
            (value < *values).then_some(index * values + value)
        })
    }

    /// The slots that tell arms apart, with their values.
    fn values(&self, fields: &FieldValues) -> Vec<(usize, u8)> {
        self.keys.iter().map(|(slot, _)| (*slot, fields.0[*slot])).collect()
    }
}

impl Arm {
    fn new(rules: &[Rule], own: &[u32], opcode: Opcode, values: &[(usize, u8)]) -> Arm {
        let (mut variants, mut instances) = (Vec::new(), Vec::new());
        for rule in own.iter().map(|rule| *rule as usize) {
            for instance in rules[rule].instances_for(opcode, values) {
                let patterns = orders(instance.pattern()).into_iter();
                variants.extend(patterns.map(|pattern| Variant { rule, instance: instances.len(), pattern }));
                instances.push(instance);
            }
        }
        let candidate =
            |(at, variant): (usize, &Variant)| Candidate { demand: Demand::of(&variant.pattern), variant: at as u32 };
        let candidates = variants.iter().enumerate().map(candidate).collect();
        Arm { variants, instances, candidates, tree: OnceLock::new(), asked: AtomicU32::new(0) }
    }

    /// The patterns that may match an instruction, best first.
    pub(super) fn candidates(
        &self,
        subject: Subject<'_>,
        inst: Inst,
        srcs: &[Operand],
    ) -> impl Iterator<Item = &Variant> {
        let leaf = self.leaf(subject, inst, srcs);
        let kinds = if leaf.is_empty() { Kinds(0) } else { Kinds::of(subject, srcs) };
        let passing = leaf.iter().filter(move |candidate| candidate.demand.is_met_by(kinds));
        passing.map(|candidate| &self.variants[candidate.variant as usize])
    }

    /// The candidates of the leaf that an instruction comes to; all of them as long as few instructions have asked.
    fn leaf(&self, subject: Subject<'_>, inst: Inst, srcs: &[Operand]) -> &[Candidate] {
        match self.tree.get() {
            Some(tree) => tree.leaf(subject, inst, srcs),
            None if self.asked.fetch_add(1, Relaxed) < WORTH_A_TREE => &self.candidates,
            None => timed(|| self.tree.get_or_init(|| Tree::new(self))).leaf(subject, inst, srcs),
        }
    }
}

impl Tree {
    fn new(arm: &Arm) -> Tree {
        let mut planter = Planter::new(arm);
        let root = planter.build((0..arm.variants.len() as u32).collect(), &mut Vec::new());
        Tree { nodes: planter.nodes, root }
    }

    fn leaf(&self, subject: Subject<'_>, inst: Inst, srcs: &[Operand]) -> &[Candidate] {
        let mut at = self.root;
        loop {
            match &self.nodes[at as usize] {
                Node::Leaf(candidates) => return candidates,
                Node::Switch { feature, cases, otherwise } => {
                    let key = feature.of(subject, inst, srcs);
                    let case = key.and_then(|key| cases.binary_search_by_key(&key, |case| case.0).ok());
                    at = case.map_or(*otherwise, |case| cases[case].1);
                }
            }
        }
    }
}

/// Builds the tree of an arm.
struct Planter<'a> {
    candidates: &'a [Candidate],
    nodes: Vec<Node>,
    /// The questions that some pattern has an answer to, in the order in which they are met.
    features: Vec<Feature>,
    /// By pattern: questions, as indices into `features`, and the answers with which it may match.
    answers: Vec<Vec<(usize, Vec<u64>)>>,
}

impl Planter<'_> {
    fn new(arm: &Arm) -> Planter<'_> {
        let candidates = &arm.candidates;
        let mut planter = Planter { candidates, nodes: Vec::new(), features: Vec::new(), answers: Vec::new() };
        let mut known: HashMap<Feature, usize> = HashMap::new();
        for variant in &arm.variants {
            let mut found = Vec::new();
            questions(&variant.pattern, Path::default(), &mut found);
            let numbered = found.into_iter().map(|(feature, keys)| {
                let number = *known.entry(feature).or_insert_with(|| {
                    planter.features.push(feature);
                    planter.features.len() - 1
                });
                (number, keys)
            });
            let answers = numbered.collect();
            planter.answers.push(answers);
        }
        planter
    }

    fn build(&mut self, candidates: Vec<u32>, asked: &mut Vec<usize>) -> u32 {
        let worth = candidates.len() > LEAF && self.nodes.len() < MAX_NODES;
        let Some(feature) = worth.then(|| self.best(&candidates, asked)).flatten() else {
            let candidate = |variant: u32| self.candidates[variant as usize];
            return self.push(Node::Leaf(candidates.into_iter().map(candidate).collect()));
        };
        asked.push(feature);
        // Both lists are in the order of candidates, and so is what is made of them.
        let (mut told, mut rest): (BTreeMap<u64, Vec<u32>>, Vec<u32>) = (BTreeMap::new(), Vec::new());
        for candidate in &candidates {
            match self.keys(*candidate, feature) {
                Some(keys) => keys.iter().for_each(|key| told.entry(*key).or_default().push(*candidate)),
                None => rest.push(*candidate),
            }
        }
        let mut cases = Vec::new();
        for (key, mut some) in told {
            some.extend(&rest);
            some.sort_unstable();
            cases.push((key, self.build(some, asked)));
        }
        let otherwise = self.build(rest, asked);
        asked.pop();
        self.push(Node::Switch { feature: self.features[feature], cases, otherwise })
    }

    fn push(&mut self, node: Node) -> u32 {
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }

    /// The question that most candidates have an answer to; the earlier one among equals. Where hardly any has one, all
    /// of them are tried instead: who does not answer stays in every branch.
    fn best(&self, candidates: &[u32], asked: &[usize]) -> Option<usize> {
        let mut counts = vec![0usize; self.features.len()];
        for candidate in candidates {
            self.answers[*candidate as usize].iter().for_each(|(feature, _)| counts[*feature] += 1);
        }
        asked.iter().for_each(|feature| counts[*feature] = 0);
        let most = counts.iter().copied().max().filter(|most| most * FEW >= candidates.len().max(1))?;
        counts.iter().position(|count| *count == most && most > 0)
    }

    /// The answers with which a pattern may match; `None` for any.
    fn keys(&self, candidate: u32, feature: usize) -> Option<&[u64]> {
        let answers = &self.answers[candidate as usize];
        answers.iter().find(|(number, _)| *number == feature).map(|(_, keys)| keys.as_slice())
    }
}

/// What can be asked about a pattern, outside in, and the answers with which it may match.
fn questions(pattern: &Pattern, path: Path, found: &mut Vec<(Feature, Vec<u64>)>) {
    for (slot, spec) in pattern.opcode.row().fields.iter().enumerate() {
        let mask = pattern.fields[slot];
        if mask != spec.legal {
            found.push((Feature::Field(path, pattern.opcode, slot as u8), bits_of(mask)));
        }
    }
    for (index, source) in pattern.srcs.iter().enumerate() {
        let Some(path) = path.then(index) else { return };
        let mut class = |key| found.push((Feature::Class(path), vec![key]));
        match source {
            Source::Any | Source::Capture(_) => {}
            Source::Constant(_) => class(CONSTANT),
            Source::Word(..) => class(WORD),
            Source::Equals(expr) => {
                class(CONSTANT);
                if let Const { bits, kind: ConstKind::Number(value) } = expr {
                    found.push((Feature::Literal(path, *bits), vec![*value]));
                }
            }
            Source::Inst(inner) => {
                class(MADE_BY + inner.opcode as u64);
                questions(inner, path, found);
            }
        }
    }
}

/// The positions of the bits that are set, lowest first.
fn bits_of(mut mask: u64) -> Vec<u64> {
    let mut positions = Vec::with_capacity(mask.count_ones() as usize);
    while mask != 0 {
        positions.push(u64::from(mask.trailing_zeros()));
        mask &= mask - 1;
    }
    positions
}

impl Feature {
    /// The answer for an instruction; `None` where there is none.
    fn of(self, subject: Subject<'_>, inst: Inst, srcs: &[Operand]) -> Option<u64> {
        match self {
            Feature::Field(Path { len: 0, .. }, _, slot) => {
                Some(u64::from(subject.func.inst(inst).fields.0[usize::from(slot)]))
            }
            Feature::Field(path, opcode, slot) => {
                let made = subject.definition(operand_at(subject, srcs, path)?)?;
                let data = subject.func.inst(made);
                (data.opcode == opcode).then(|| u64::from(data.fields.0[usize::from(slot)]))
            }
            Feature::Class(path) => {
                let operand = operand_at(subject, srcs, path)?;
                if subject.constant(operand).is_some() { Some(CONSTANT) } else { maker(subject, operand) }
            }
            Feature::Literal(path, bits) => {
                let value = subject.constant(operand_at(subject, srcs, path)?)?;
                Some(value & ones(bits))
            }
        }
    }
}

fn operand_at(subject: Subject<'_>, srcs: &[Operand], path: Path) -> Option<Operand> {
    let mut srcs = srcs;
    let steps = &path.at[..usize::from(path.len)];
    let (last, before) = steps.split_last()?;
    for step in before {
        let made = subject.definition(*srcs.get(usize::from(*step))?)?;
        srcs = subject.func.srcs(made);
    }
    srcs.get(usize::from(*last)).copied()
}

/// A pattern with its commuting operands in both orders, at every level. Where one of the two is a constant, only the
/// canonical order exists: constants are last.
pub(super) fn orders(pattern: &Pattern) -> Vec<Pattern> {
    let mut found = vec![Pattern { srcs: Vec::new(), ..pattern.clone() }];
    for source in &pattern.srcs {
        let sources = match source {
            Source::Inst(inner) => orders(inner).into_iter().map(|inner| Source::Inst(Box::new(inner))).collect(),
            Source::Word(word, of) => match &**of {
                Source::Inst(inner) => {
                    let word_of = |inner| Source::Word(*word, Box::new(Source::Inst(Box::new(inner))));
                    orders(inner).into_iter().map(word_of).collect()
                }
                _ => vec![source.clone()],
            },
            _ => vec![source.clone()],
        };
        let longer = |pattern: &Pattern| {
            let pattern = pattern.clone();
            let with = move |source: &Source| {
                let mut pattern = pattern.clone();
                pattern.srcs.push(source.clone());
                pattern
            };
            sources.iter().map(with).collect::<Vec<_>>()
        };
        found = found.iter().flat_map(longer).collect();
    }
    if pattern.opcode.is(Flags::COMMUTATIVE) && !is_constant(&pattern.srcs[1]) && !interchangeable(pattern) {
        let swapped: Vec<Pattern> = found
            .iter()
            .map(|pattern| {
                let mut pattern = pattern.clone();
                pattern.srcs.swap(0, 1);
                pattern
            })
            .collect();
        found.extend(swapped);
    }
    found
}

/// Two captures side by side match the same pairs in either order; only which is which differs, and since the operation
/// commutes, the result is as good.
fn interchangeable(pattern: &Pattern) -> bool {
    let [first, second, ..] = pattern.srcs.as_slice() else { return true };
    matches!((first, second), (Source::Any, Source::Any)) || first == second
}
