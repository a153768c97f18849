//! Rules compiled to a decision tree for each opcode, when the opcode is first met.
//!
//! Patterns are written out with both orders of operands that commute. For each opcode a tree asks what tells most of
//! its candidates apart: a field of the root, what an operand is (a constant, a word, a value made by which opcode),
//! which constant, a field of the operation that made it, and so on two levels down. A candidate that does not care
//! stays in every branch. At a leaf stand the few patterns that may match, in the order in which they are tried: by
//! priority, then as in the file.
//!
//! Cost per instruction: the tree's depth, plus the candidates of one leaf; the number of rules hardly matters
//! (`benches/peephole.rs`). Building a tree looks at each question of a candidate once per level.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use super::instance::{Const, ConstKind, Pattern, Rule, Source};
use super::resolve::{is_constant, root_opcodes};
use super::subject::Subject;
use crate::ir::{Inst, Operand};
use crate::ops::{Flags, Opcode, ROWS};

/// How many nodes a tree may have before its leaves grow instead.
const MAX_NODES: usize = 1 << 16;
/// Candidates that are not told apart further: holding so many against an instruction costs about as much as a question.
const LEAF: usize = 3;

/// A question is worth asking where one candidate in so many has an answer.
const FEW: usize = 4;

/// A pattern with one order of its operands.
#[derive(Clone, Debug)]
pub(super) struct Variant {
    pub rule: usize,
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

#[derive(Clone, Debug)]
enum Node {
    Leaf(Vec<u32>),
    Switch { feature: Feature, cases: Vec<(u64, u32)>, otherwise: u32 },
}

/// The patterns of an opcode, and the tree that chooses among them.
#[derive(Clone, Debug)]
pub(super) struct Arm {
    pub variants: Vec<Variant>,
    nodes: Vec<Node>,
    root: u32,
}

/// Compiled rules.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    /// By opcode, the rules whose root it may be, best first.
    rules: Vec<Vec<u32>>,
    arms: Vec<OnceLock<Arm>>,
}

impl Program {
    pub(super) fn new(rules: &[Rule]) -> Program {
        let mut program = Program { rules: vec![Vec::new(); ROWS.len()], arms: vec![OnceLock::new(); ROWS.len()] };
        let mut order: Vec<usize> = (0..rules.len()).collect();
        order.sort_by_key(|index| (std::cmp::Reverse(rules[*index].decl.priority), *index));
        for rule in order {
            for opcode in root_opcodes(&rules[rule].decl) {
                program.rules[opcode as usize].push(rule as u32);
            }
        }
        program
    }

    /// What applies to an opcode; `rules` are those that the program was made of.
    pub(super) fn arm(&self, rules: &[Rule], opcode: Opcode) -> Option<&Arm> {
        let own = self.rules.get(opcode as usize).filter(|own| !own.is_empty())?;
        Some(self.arms[opcode as usize].get_or_init(|| Arm::new(rules, own, opcode)))
    }

    /// How many patterns the rules come to, and how many nodes decide between them.
    pub(super) fn size(&self, rules: &[Rule]) -> (usize, usize) {
        let arms = ROWS.iter().filter_map(|row| self.arm(rules, row.opcode));
        arms.fold((0, 0), |sum, arm| (sum.0 + arm.variants.len(), sum.1 + arm.nodes.len()))
    }
}

impl Arm {
    fn new(rules: &[Rule], own: &[u32], opcode: Opcode) -> Arm {
        let mut variants = Vec::new();
        for rule in own.iter().map(|rule| *rule as usize) {
            for (instance, resolved) in rules[rule].instances.iter().enumerate() {
                let pattern = resolved.pattern();
                if pattern.opcode == opcode {
                    variants.extend(orders(pattern).into_iter().map(|pattern| Variant { rule, instance, pattern }));
                }
            }
        }
        let mut planter = Planter::new(&variants);
        let root = planter.build((0..variants.len() as u32).collect(), &mut Vec::new());
        let nodes = planter.nodes;
        Arm { variants, nodes, root }
    }

    /// The patterns that may match an instruction, best first.
    pub(super) fn candidates(&self, subject: Subject<'_>, inst: Inst, srcs: &[Operand]) -> &[u32] {
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

/// Builds the tree of an opcode.
struct Planter {
    nodes: Vec<Node>,
    /// The questions that some pattern has an answer to, in the order in which they are met.
    features: Vec<Feature>,
    /// By pattern: questions, as indices into `features`, and the answers with which it may match.
    answers: Vec<Vec<(usize, Vec<u64>)>>,
}

impl Planter {
    fn new(variants: &[Variant]) -> Planter {
        let mut planter = Planter { nodes: Vec::new(), features: Vec::new(), answers: Vec::new() };
        let mut known: HashMap<Feature, usize> = HashMap::new();
        for variant in variants {
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
            return self.push(Node::Leaf(candidates));
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

    /// The question that most candidates have an answer to; the earlier one among equals. Where hardly any has one, all of
    /// them are tried instead: who does not answer stays in every branch.
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
            let values = (0..64).filter(|value| mask >> value & 1 == 1).collect();
            found.push((Feature::Field(path, pattern.opcode, slot as u8), values));
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

impl Feature {
    /// The answer for an instruction; `None` where there is none.
    fn of(self, subject: Subject<'_>, inst: Inst, srcs: &[Operand]) -> Option<u64> {
        match self {
            Feature::Field(Path { len: 0, .. }, _, slot) => {
                Some(u64::from(subject.func.insts[inst].fields.0[usize::from(slot)]))
            }
            Feature::Field(path, opcode, slot) => {
                let made = subject.definition(operand_at(subject, srcs, path)?)?;
                let data = &subject.func.insts[made];
                (data.opcode == opcode).then(|| u64::from(data.fields.0[usize::from(slot)]))
            }
            Feature::Class(path) => {
                let operand = operand_at(subject, srcs, path)?;
                if subject.constant(operand).is_some() {
                    return Some(CONSTANT);
                }
                match operand {
                    Operand::Word(..) => Some(WORD),
                    _ => subject.definition(operand).map(|made| MADE_BY + subject.func.insts[made].opcode as u64),
                }
            }
            Feature::Literal(path, bits) => {
                let value = subject.constant(operand_at(subject, srcs, path)?)?;
                Some(value & super::instance::ones(bits))
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
/// canonical order exists: constants stand last.
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
