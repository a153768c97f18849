//! The rewrite budget: how many changes a run has made, and how many it may still make.
//!
//! Passes are deterministic, so a run with the limit `n` makes exactly the first `n` changes of the unlimited run, and
//! bisection over `n` finds the change that breaks a program.

use oriole_ir::FuncId;

/// So many changes of a function are too many, and so many more for each of its instructions. Real phases make less
/// than two for an instruction.
const MOST_CHANGES: [u64; 2] = [100_000, 1_000];

/// The same where nothing shows that the rewrite rules end.
const MOST_BY_DOUBTFUL_RULES: [u64; 2] = [1_000, 16];

/// How many of the last changes are remembered, to say which rules continue for ever.
const LATEST: usize = 32;

/// A pass makes far more changes than any function has use for. It gets no leave for another one, and the run ends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no end in sight after {changes} changes, the last by {}", in_turn(.rules))]
pub struct Endless {
    /// The changes that the pass has made there.
    pub changes: u64,
    /// The rules that made the last ones, in the order in which they follow each other, each once.
    pub rules: Vec<&'static str>,
}

fn in_turn(rules: &[&str]) -> String {
    match rules {
        [one] => (*one).to_owned(),
        several => format!("{} in turn", several.join(", ")),
    }
}

/// A change that was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rewrite {
    /// The rule that made it.
    pub rule: &'static str,
    /// The function in which it was made; `None` for a change of the module itself.
    pub function: Option<FuncId>,
}

/// How many changes a run has made and may still make.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct RewriteBudget {
    limit: Option<u64>,
    made: u64,
    /// The changes that the run had made before, where this budget is for one function.
    before: u64,
    last: Option<Rewrite>,
    /// The rules of the last changes; that of change number `n`, from 0, is at `n` modulo the length.
    latest: [&'static str; LATEST],
    /// The function at hand.
    function: Option<FuncId>,
    /// The changes made before the work at hand.
    begun_at: u64,
    /// The change that is one too many for the function or module at hand.
    too_many: Option<u64>,
}

impl RewriteBudget {
    /// A budget of so many changes; `None` for any number.
    pub fn new(limit: Option<u64>) -> RewriteBudget {
        RewriteBudget { limit, ..RewriteBudget::default() }
    }

    /// The changes made so far.
    pub fn made(&self) -> u64 {
        self.made
    }

    /// The changes that the run has made so far; on one function, without those on others at the same time.
    pub(super) fn made_by_run(&self) -> u64 {
        self.before + self.made
    }

    /// The last change.
    pub fn last(&self) -> Option<Rewrite> {
        self.last
    }

    /// A budget of its own for work on one function: of what is left here behind so many changes that are not booked
    /// yet. [`RewriteBudget::absorb`] books what is made from it.
    pub fn rest(&self, unbooked: u64) -> RewriteBudget {
        let limit = self.limit.map(|limit| limit.saturating_sub(self.made + unbooked));
        RewriteBudget { before: self.made, ..RewriteBudget::new(limit) }
    }

    /// Books changes that were made from budgets of their own.
    pub fn absorb(&mut self, made: u64) {
        self.made += made;
    }

    /// A pass begins with a function of so many instructions, or with a whole module. `ends` says whether rewriting by
    /// the rules at hand is known to end.
    pub fn begin(&mut self, function: Option<FuncId>, insts: usize, ends: bool) {
        let [least, each] = if ends { MOST_CHANGES } else { MOST_BY_DOUBTFUL_RULES };
        (self.function, self.begun_at) = (function, self.made);
        self.too_many = Some(self.made.saturating_add(least).saturating_add(each.saturating_mul(insts as u64)));
    }

    /// The function at hand.
    pub(super) fn function(&self) -> Option<FuncId> {
        self.function
    }

    /// Whether the function or module at hand has had so many changes that the pass has no end.
    pub fn endless(&self) -> Option<Endless> {
        let is_endless = self.too_many.is_some_and(|too_many| self.made >= too_many);
        is_endless.then(|| Endless { changes: self.made - self.begun_at, rules: self.rules_in_turn() })
    }

    /// The rules of the last changes, from the oldest on, each once.
    fn rules_in_turn(&self) -> Vec<&'static str> {
        let mut rules = Vec::new();
        for number in self.begun_at.max(self.made.saturating_sub(LATEST as u64))..self.made {
            let rule = self.latest[number as usize % LATEST];
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        rules
    }

    /// Whether there is no leave for another change.
    pub(super) fn is_spent(&self) -> bool {
        let most = self.too_many.into_iter().chain(self.limit).min();
        most.is_some_and(|most| self.made >= most)
    }

    pub(super) fn spend(&mut self, rule: &'static str) -> bool {
        if self.is_spent() {
            return false;
        }
        self.latest[self.made as usize % LATEST] = rule;
        self.made += 1;
        self.last = Some(Rewrite { rule, function: self.function });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_ends() {
        let mut budget = RewriteBudget::new(Some(2));
        assert!(budget.spend("a") && budget.spend("b"));
        assert!(!budget.spend("c"));
        assert_eq!((budget.made(), budget.last()), (2, Some(Rewrite { rule: "b", function: None })));
        assert!((0..100).all(|_| RewriteBudget::new(None).spend("a")));
    }

    #[test]
    fn a_change_is_booked_to_the_function_at_hand() {
        let mut budget = RewriteBudget::new(None);
        let function = Some(FuncId::from_u32(3));
        budget.begin(function, 1, true);
        budget.spend("a");
        assert_eq!(budget.last(), Some(Rewrite { rule: "a", function }));
    }

    #[test]
    fn a_pass_that_never_stops_is_stopped() {
        let mut budget = RewriteBudget::new(None);
        assert!((0..5).all(|_| budget.spend("a")));
        budget.begin(None, 2, true);
        assert_eq!(budget.endless(), None);
        while budget.spend("again") {}
        let endless = budget.endless().expect("so many are too many");
        assert_eq!(endless.to_string(), "no end in sight after 102000 changes, the last by again");
    }

    /// Rules that may continue for ever get less leave, and those that did are named, without what came before them.
    #[test]
    fn doubtful_rules_are_stopped_soon() {
        let mut budget = RewriteBudget::new(None);
        budget.begin(None, 2, false);
        budget.spend("before");
        while budget.spend("there") && budget.spend("back") {}
        let endless = budget.endless().expect("so many are too many");
        assert_eq!(endless.to_string(), "no end in sight after 1032 changes, the last by back, there in turn");
    }
}
