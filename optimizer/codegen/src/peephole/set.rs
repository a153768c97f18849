//! Machine rules by the instructions that they are about.
//!
//! Rules whose patterns differ in numbers alone have one [`Shape`]: the pattern with a capture in the place of each
//! number. It is held against an instruction once, and the numbers that it captured lead to the rules. So the cost of
//! an instruction depends on how many shapes there are, not on how many rules (bench `machine_rules_cloned`).

use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::OnceLock;

use oriole_ir::MachineId;
use oriole_rules::machine::{Const, Instance, Kind, Rule, resolve};
use oriole_rules::source::machine_sources;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Rules, ready to be tried.
#[derive(Clone, Debug, Default)]
pub struct MachineRules {
    rules: Vec<Rule>,
    shapes: Vec<Shape>,
    /// By what the root is: indices of shapes.
    by_root: FxHashMap<MachineId, Vec<usize>>,
}

/// The patterns that differ in numbers alone.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// One of them, with captures behind its own ones in the places of numbers, and without conditions.
    pub pattern: Instance,
    /// How many captures are its own.
    own: usize,
    /// By the numbers: rules and their instances, in order.
    by_numbers: FxHashMap<Numbers, Vec<(usize, usize)>>,
}

type Numbers = SmallVec<[u64; 4]>;

/// A rule that may apply, by the order in which rules are tried: the highest priority first, among equals the first.
pub(super) type Order = (Reverse<u16>, usize, usize);

impl MachineRules {
    /// The rules of the tree.
    ///
    /// # Panics
    /// If a built-in file has a fault, which a test excludes.
    pub fn builtin() -> &'static MachineRules {
        static SET: OnceLock<MachineRules> = OnceLock::new();
        SET.get_or_init(|| {
            oriole_sass::ori::register();
            let mut rules = Vec::new();
            for source in machine_sources() {
                let (found, faults) = resolve(&source.text);
                if let Some(fault) = faults.first() {
                    panic!("the built-in file {} is wrong: {fault}", source.name);
                }
                rules.extend(found);
            }
            MachineRules::new(rules)
        })
    }

    /// The rules of the tree, and behind them those of a run.
    pub fn of(own: &[Rule]) -> Cow<'static, MachineRules> {
        let builtin = MachineRules::builtin();
        match own.is_empty() {
            true => Cow::Borrowed(builtin),
            false => Cow::Owned(MachineRules::new(builtin.rules.iter().chain(own).cloned().collect())),
        }
    }

    /// A set of rules. An instance that an earlier one with the same text and no lower priority hides is left out.
    pub fn new(rules: Vec<Rule>) -> MachineRules {
        let mut set = MachineRules { rules, ..MachineRules::default() };
        let mut known: FxHashMap<String, usize> = FxHashMap::default();
        for at in 0..set.rules.len() {
            for number in 0..set.rules[at].instances.len() {
                let rule = &set.rules[at];
                let instance = &rule.instances[number];
                let (pattern, own, numbers) = shaped(instance);
                let root = pattern.root().id;
                let key = format!("{own} {:?} {:?}", pattern.pattern, pattern.made);
                let shape = *known.entry(key).or_insert_with(|| {
                    set.shapes.push(Shape { pattern, own, by_numbers: FxHashMap::default() });
                    set.by_root.entry(root).or_default().push(set.shapes.len() - 1);
                    set.shapes.len() - 1
                });
                let same = set.shapes[shape].by_numbers.entry(numbers).or_default();
                let hides = |(other, its): &(usize, usize)| {
                    let other = &set.rules[*other];
                    let its = &other.instances[*its];
                    other.priority >= rule.priority
                        && (&other.contexts, &other.only) == (&rule.contexts, &rule.only)
                        && (&its.conditions, &its.result) == (&instance.conditions, &instance.result)
                };
                if !same.iter().any(hides) {
                    same.push((at, number));
                }
            }
        }
        set
    }

    /// The rules, in their order.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The set so many times over: each copy behind the first has other numbers in its patterns. What a bench measures.
    pub fn cloned(&self, times: u64) -> MachineRules {
        let mut rules = self.rules.clone();
        for copy in 1..times {
            rules.extend(self.rules.iter().cloned().map(|mut rule| {
                let patterns = rule.instances.iter_mut().flat_map(|instance| &mut instance.pattern);
                for operand in patterns.flat_map(|inst| &mut inst.operands) {
                    if let Kind::Constant(Const::Number(number)) = &mut operand.kind {
                        *number = (*number + 0x0101_0100 * copy) & u64::from(u32::MAX);
                    }
                }
                rule
            }));
        }
        MachineRules::new(rules)
    }

    /// How many patterns are held against instructions, and to how many instances of rules they lead.
    pub fn counts(&self) -> (usize, usize) {
        let instances = self.shapes.iter().flat_map(|shape| shape.by_numbers.values());
        (self.shapes.len(), instances.map(Vec::len).sum())
    }

    /// A rule and an instance of it.
    pub(super) fn instance(&self, (rule, instance): (usize, usize)) -> (&Rule, &Instance) {
        (&self.rules[rule], &self.rules[rule].instances[instance])
    }

    /// The shapes of the patterns whose root is such an instruction.
    pub(super) fn about(&self, id: MachineId) -> impl Iterator<Item = &Shape> {
        self.by_root.get(&id).into_iter().flatten().map(|shape| &self.shapes[*shape])
    }

    /// The rules of a shape whose numbers are those that it captured.
    pub(super) fn of_numbers(&self, shape: &Shape, captures: &[Option<u64>]) -> impl Iterator<Item = Order> {
        let numbers: Option<Numbers> = captures[shape.own..].iter().copied().collect();
        let found = numbers.and_then(|numbers| shape.by_numbers.get(&numbers));
        found.into_iter().flatten().map(|(rule, instance)| (Reverse(self.rules[*rule].priority), *rule, *instance))
    }
}

/// The shape of an instance, how many of its captures are the instance's own, and the numbers.
fn shaped(instance: &Instance) -> (Instance, usize, Numbers) {
    let mut shape = Instance { conditions: Vec::new(), ..instance.clone() };
    let (own, mut numbers) = (instance.constants.len(), Numbers::new());
    let mut capture = |constant: &mut Const| {
        if let Const::Number(number) = *constant {
            *constant = Const::Capture(own + numbers.len());
            numbers.push(number);
        }
    };
    for operand in shape.pattern.iter_mut().flat_map(|inst| &mut inst.operands) {
        match &mut operand.kind {
            Kind::Constant(constant) => capture(constant),
            Kind::Bank(bank, offset) => {
                capture(bank);
                capture(offset);
            }
            _ => {}
        }
    }
    shape.constants.extend(numbers.iter().map(u64::to_string));
    (shape, own, numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> MachineRules {
        oriole_sass::ori::register();
        let (rules, faults) = resolve(text);
        assert!(faults.is_empty(), "{faults:?}");
        MachineRules::new(rules)
    }

    /// The cost of an instruction depends on the shapes: these are as many, however many rules there are.
    #[test]
    fn clones_of_the_rules_have_their_shapes() {
        let once = MachineRules::builtin();
        let often = once.cloned(16);
        let ((shapes, instances), (same, more)) = (once.counts(), often.counts());
        assert_eq!((shapes, often.rules().len()), (same, 16 * once.rules().len()));
        assert!(more > 3 * instances && shapes < instances, "{shapes} shapes, {instances} and {more} instances");
    }

    #[test]
    fn rules_that_differ_in_numbers_have_one_shape() {
        let text = "
machine rule one: d = PRMT x, 0x3210, _ => d = MOV x, 0xf
machine rule two: d = PRMT x, 0x7710, _ => d = MOV x, 0xf
machine rule again priority 3: d = PRMT x, 0x3210, _ => d = MOV x, 0xf
machine rule higher priority 20: d = PRMT x, 0x3210, _ => d = MOV x, 0xf
machine rule other: d = PRMT x, C, _ => d = MOV x, 0xf if C == 0x3210
";
        let set = rules(text);
        assert_eq!(set.shapes.len(), 2);
        let shape = &set.shapes[0];
        let found = |number| {
            let mut found: Vec<Order> = set.of_numbers(shape, &[Some(number)]).collect();
            found.sort_unstable();
            found.into_iter().map(|(_, rule, _)| set.rules[rule].name).collect::<Vec<_>>()
        };
        // The same at a lower priority can never apply.
        assert_eq!(found(0x3210), ["higher", "one"]);
        assert_eq!((found(0x7710), found(1)), (vec!["two"], vec![]));
    }
}
