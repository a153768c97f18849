//! What a rule asks a matcher to look at: words, names that stand twice, fields that two operations share, each kind of
//! guard.
//!
//! Some of it is asked by a handful of some hundred rules. What looks at it wrongly would show in their patterns
//! alone, so rules are chosen by their features, too, as if each feature had as many.

use std::collections::BTreeSet;

use oriole_rules::language::ast::{Expr, Guard, Inst, Operand, RuleDecl};

/// Names of the features of a rule.
pub(super) fn of(rule: &RuleDecl) -> BTreeSet<&str> {
    let mut found = Found::default();
    found.inst(&rule.pattern);
    rule.guards.iter().for_each(|guard| found.guard(guard));
    found.features
}

#[derive(Default)]
struct Found<'r> {
    features: BTreeSet<&'r str>,
    names: BTreeSet<&'r str>,
    rests: BTreeSet<&'r str>,
}

impl<'r> Found<'r> {
    fn inst(&mut self, inst: &'r Inst) {
        if let Some(rest) = &inst.head.rest
            && rest.text != "_"
            && !self.rests.insert(&rest.text)
        {
            self.features.insert("fields twice");
        }
        inst.operands.iter().for_each(|operand| self.operand(operand));
    }

    fn operand(&mut self, operand: &'r Operand) {
        match operand {
            Operand::Wildcard(_) => _ = self.features.insert("anything"),
            Operand::Inst { binding, shared, inst } => {
                let named = binding.as_ref().map(|_| "named operation");
                self.features.extend(named.into_iter().chain(shared.then_some("shared operation")));
                self.inst(inst);
            }
            Operand::Word { word, of, .. } => {
                self.features.insert(if *word == 0 { "low word" } else { "high word" });
                self.operand(of);
            }
            Operand::Expr(Expr::Name(name)) if !self.names.insert(&name.text) => _ = self.features.insert("name twice"),
            Operand::Expr(Expr::Name(_)) => {}
            Operand::Expr(_) => _ = self.features.insert("number"),
        }
    }

    fn guard(&mut self, guard: &'r Guard) {
        match guard {
            Guard::Compare { signed, .. } => {
                self.features.insert(if *signed { "signed comparison" } else { "comparison" });
            }
            Guard::Call { function, .. } => _ = self.features.insert(&function.text),
            Guard::Member { .. } => {}
            Guard::Field { .. } => _ = self.features.insert("field"),
            Guard::Not { guard, .. } => {
                self.features.insert("negated guard");
                self.guard(guard);
            }
            Guard::Any(guards) => {
                self.features.insert("one guard of several");
                guards.iter().for_each(|guard| self.guard(guard));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::of;
    use oriole_rules::builtin_rules;

    #[test]
    fn features_are_found_in_patterns_and_guards() {
        let rules = builtin_rules();
        let features = |name: &str| {
            let rule = rules.iter().find(|rule| rule.name == name).expect("a built-in rule");
            of(rule.decl()).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(features("word-of-conversion"), ["low word", "shared operation"]);
        assert_eq!(features("word-of-widened"), ["shared operation"]);
        let all: BTreeSet<&str> = rules.iter().flat_map(|rule| of(rule.decl())).collect();
        let expected = ["field", "fields twice", "known_zero", "name twice", "named operation", "signed comparison"];
        expected.into_iter().for_each(|feature| assert!(all.contains(feature), "{feature}: {all:?}"));
    }
}
