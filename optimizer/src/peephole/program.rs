//! Rules compiled to a decision tree.
//!
//! Patterns are written out with both orders of operands that commute. For each opcode a tree asks what tells most of
//! its candidates apart: a field of the root, what an operand is (a constant, a word, a value made by which opcode),
//! which constant, a field of the operation that made it, and so on two levels down. A candidate that does not care
//! stays in every branch. At a leaf stand the few patterns that may match, in the order in which they are tried: by
//! priority, then as in the file.
//!
//! Cost per instruction: the tree's depth, plus the candidates of one leaf; the number of rules hardly matters
//! (`benches/peephole.rs`).

use super::instance::{Const, ConstKind, Pattern, Rule, Source};
use super::resolve::is_constant;
use super::subject::Subject;
use crate::ir::{Inst, Operand};
use crate::ops::{Flags, Opcode, ROWS};

/// How many nodes a tree may have before its leaves grow instead.
const MAX_NODES: usize = 1 << 18;

/// A pattern with one order of its operands.
#[derive(Clone, Debug)]
pub(super) struct Variant {
    pub rule: usize,
    pub instance: usize,
    pub pattern: Pattern,
}

/// From the root to an operand, at most three steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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

/// Compiled rules.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    pub variants: Vec<Variant>,
    nodes: Vec<Node>,
    roots: Vec<Option<u32>>,
}

impl Program {
    pub(super) fn new(rules: &[Rule]) -> Program {
        let mut program = Program { roots: vec![None; ROWS.len()], ..Program::default() };
        let mut order: Vec<usize> = (0..rules.len()).collect();
        order.sort_by_key(|index| (std::cmp::Reverse(rules[*index].decl.priority), *index));
        for rule in order {
            for (instance, resolved) in rules[rule].instances.iter().enumerate() {
                for pattern in orders(resolved.pattern()) {
                    program.variants.push(Variant { rule, instance, pattern });
                }
            }
        }
        for row in ROWS {
            let of = |index: &u32| program.variants[*index as usize].pattern.opcode == row.opcode;
            let candidates: Vec<u32> = (0..program.variants.len() as u32).filter(of).collect();
            if !candidates.is_empty() {
                program.roots[row.opcode as usize] = Some(program.build(candidates, &mut Vec::new()));
            }
        }
        program
    }

    pub(super) fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// The patterns that may match an instruction, best first.
    pub(super) fn candidates(&self, subject: Subject<'_>, inst: Inst, srcs: &[Operand]) -> &[u32] {
        let opcode = subject.func.insts[inst].opcode;
        let Some(mut at) = self.roots[opcode as usize] else { return &[] };
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

    fn build(&mut self, candidates: Vec<u32>, asked: &mut Vec<Feature>) -> u32 {
        let feature = match candidates.len() {
            0 | 1 => None,
            _ if self.nodes.len() > MAX_NODES => None,
            _ => self.best(&candidates, asked),
        };
        let Some(feature) = feature else { return self.push(Node::Leaf(candidates)) };
        asked.push(feature);
        let mut keys: Vec<u64> = Vec::new();
        for index in &candidates {
            keys.extend(self.keys(*index, feature).unwrap_or_default());
        }
        keys.sort_unstable();
        keys.dedup();
        let mut cases = Vec::new();
        for key in keys {
            let fits = |index: &u32| self.keys(*index, feature).is_none_or(|keys| keys.contains(&key));
            let some = candidates.iter().copied().filter(fits).collect();
            cases.push((key, self.build(some, asked)));
        }
        let rest = candidates.iter().copied().filter(|index| self.keys(*index, feature).is_none()).collect();
        let otherwise = self.build(rest, asked);
        asked.pop();
        self.push(Node::Switch { feature, cases, otherwise })
    }

    fn push(&mut self, node: Node) -> u32 {
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }

    /// The question that most candidates have an answer to; the earlier one among equals.
    fn best(&self, candidates: &[u32], asked: &[Feature]) -> Option<Feature> {
        let mut counts: Vec<(Feature, usize)> = Vec::new();
        for index in candidates {
            let mut features = Vec::new();
            questions(&self.variants[*index as usize].pattern, Path::default(), &mut features);
            for feature in features.into_iter().filter(|feature| !asked.contains(feature)) {
                match counts.iter_mut().find(|(known, _)| *known == feature) {
                    Some((_, count)) => *count += 1,
                    None => counts.push((feature, 1)),
                }
            }
        }
        let most = counts.iter().map(|(_, count)| *count).max()?;
        counts.into_iter().find(|(_, count)| *count == most).map(|(feature, _)| feature)
    }

    /// The answers with which a pattern may match; `None` for any.
    fn keys(&self, variant: u32, feature: Feature) -> Option<Vec<u64>> {
        let root = &self.variants[variant as usize].pattern;
        match feature {
            Feature::Class(path) => match source_at(root, path)? {
                Source::Constant(_) | Source::Equals(_) => Some(vec![CONSTANT]),
                Source::Word(..) => Some(vec![WORD]),
                Source::Inst(pattern) => Some(vec![MADE_BY + pattern.opcode as u64]),
                Source::Any | Source::Capture(_) => None,
            },
            Feature::Literal(path, bits) => match source_at(root, path)? {
                Source::Equals(Const { bits: width, kind: ConstKind::Number(value) }) if *width == bits => {
                    Some(vec![*value])
                }
                _ => None,
            },
            Feature::Field(path, opcode, slot) => {
                let pattern = pattern_at(root, path).filter(|pattern| pattern.opcode == opcode)?;
                let mask = pattern.fields[usize::from(slot)];
                let legal = opcode.row().fields[usize::from(slot)].legal;
                (mask != legal).then(|| (0..64).filter(|value| mask >> value & 1 == 1).collect())
            }
        }
    }
}

fn source_at(root: &Pattern, path: Path) -> Option<&Source> {
    let mut pattern = root;
    let steps = &path.at[..usize::from(path.len)];
    let (last, before) = steps.split_last()?;
    for step in before {
        match pattern.srcs.get(usize::from(*step))? {
            Source::Inst(inner) => pattern = inner,
            _ => return None,
        }
    }
    pattern.srcs.get(usize::from(*last))
}

fn pattern_at(root: &Pattern, path: Path) -> Option<&Pattern> {
    match path.len {
        0 => Some(root),
        _ => match source_at(root, path)? {
            Source::Inst(inner) => Some(inner),
            _ => None,
        },
    }
}

/// What can be asked about a pattern, outside in.
fn questions(pattern: &Pattern, path: Path, found: &mut Vec<Feature>) {
    for (slot, spec) in pattern.opcode.row().fields.iter().enumerate() {
        if pattern.fields[slot] != spec.legal {
            found.push(Feature::Field(path, pattern.opcode, slot as u8));
        }
    }
    for (index, source) in pattern.srcs.iter().enumerate() {
        let Some(path) = path.then(index) else { return };
        match source {
            Source::Any | Source::Capture(_) => {}
            Source::Constant(_) | Source::Word(..) => found.push(Feature::Class(path)),
            Source::Equals(expr) => {
                found.push(Feature::Class(path));
                if let ConstKind::Number(_) = expr.kind {
                    found.push(Feature::Literal(path, expr.bits));
                }
            }
            Source::Inst(inner) => {
                found.push(Feature::Class(path));
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
