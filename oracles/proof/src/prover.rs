//! Answers to questions: kept ones, those of arithmetic, and those of solvers.
//!
//! What the cache knows is trusted. Otherwise a question that multiplies or divides is asked in cases and over integers
//! first, then the solver is asked; without one, a miss is an error. A counterexample is believed only if the terms
//! evaluate as it says.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::cache::Cache;
use super::cases::{by_definedness, is_shown_by_choices};
use super::integers::{self, Integers};
use super::narrow::{narrowed, without_unread_bits};
use super::query::Query;
use super::solve::{Solved, without_equals};
use super::solver::{Answer, Answered, Solver, SolverError};
use super::term::Terms;
use super::text::Script;

/// What a solver gets for a question over integers: it answers these soon or not at all.
const BRIEFLY: Duration = Duration::from_secs(2);

/// A solver with its cache.
#[derive(Debug)]
pub struct Prover {
    /// The solver; the cache alone is trusted where there is none.
    pub solver: Option<Solver>,
    /// Known answers.
    pub cache: Mutex<Cache>,
    /// How long a question may take.
    pub limit: Duration,
}

impl Prover {
    /// The known answers, for as long as nobody else needs them.
    pub fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer to a question. A kept `unknown` is asked again if there is more time now than it had.
    pub fn ask(&self, terms: &Terms, query: &Query) -> Result<Answered, SolverError> {
        self.ask_within(terms, query, self.limit)
    }

    /// The same within another limit, if that is the shorter one.
    pub fn ask_within(&self, terms: &Terms, query: &Query, limit: Duration) -> Result<Answered, SolverError> {
        let limit = self.limit.min(limit);
        if let Some(value) = terms.value(query.goal) {
            let answer = if value == 0 { Answer::Proved } else { Answer::Refuted(vec![0; terms.variables().len()]) };
            return Ok(Answered { answer, solver: "simplification".into(), millis: 0, cached: false });
        }
        let script = query.script(terms);
        let known = self.cache().get(&script.text).cloned().filter(|known| match (&known.answer, &self.solver) {
            (Answer::Unknown(_), Some(_)) => u128::from(known.millis) >= limit.as_millis(),
            _ => true,
        });
        let answered = match known {
            Some(known) => known,
            None => {
                let answered = self.fresh(terms, query, &script, limit)?;
                self.cache().put(&script.text, Answered { cached: true, ..answered.clone() });
                answered
            }
        };
        let Answer::Refuted(values) = answered.answer else { return Ok(answered) };
        let mut inputs = vec![0; terms.variables().len()];
        for (number, value) in script.variables.iter().zip(&values) {
            inputs[*number] = *value;
        }
        if values.len() != script.variables.len() || !query.holds(terms, &inputs) {
            return Err(SolverError::WrongModel { solver: answered.solver, question: script.text });
        }
        Ok(Answered { answer: Answer::Refuted(inputs), ..answered })
    }

    /// The answer to a question over floats, of terms that keep those ([`Terms::over_floats`]); nothing where no solver
    /// knows it within the limit. A refutation's inputs are for the caller to try: they are those of other terms too.
    pub fn ask_over_floats(
        &self,
        terms: &Terms,
        query: &Query,
        limit: Duration,
    ) -> Result<Option<Answered>, SolverError> {
        let (script, limit) = (query.script(terms), self.limit.min(limit));
        let kept = self.cache().get(&script.text).cloned();
        let answered = match kept.filter(|kept| !matches!(kept.answer, Answer::Unknown(_))) {
            Some(kept) => kept,
            None => {
                let solvers: Vec<&Solver> = self.solver.iter().flat_map(Solver::over_floats).collect();
                let limit = limit / solvers.len().max(1) as u32;
                let mut found = None;
                for solver in solvers {
                    let answered = solver.ask(&script, limit)?;
                    if !matches!(answered.answer, Answer::Unknown(_)) {
                        found = Some(answered);
                        break;
                    }
                }
                let Some(found) = found else { return Ok(None) };
                self.cache().put(&script.text, Answered { cached: true, ..found.clone() });
                found
            }
        };
        let Answer::Refuted(values) = answered.answer else { return Ok(Some(answered)) };
        let mut inputs = vec![0; terms.variables().len()];
        for (number, value) in script.variables.iter().zip(&values) {
            inputs[*number] = *value;
        }
        Ok(Some(Answered { answer: Answer::Refuted(inputs), ..answered }))
    }

    /// The answer to a question that no answer is kept of: by simplification, by arithmetic, then by the solver.
    fn fresh(&self, terms: &Terms, query: &Query, script: &Script, limit: Duration) -> Result<Answered, SolverError> {
        let mut short = terms.clone();
        let known = narrowed(&mut short, query).query;
        if short.value(known.goal) == Some(0) || is_shown_by_choices(&short, &known) {
            return Ok(Answered { answer: Answer::Proved, solver: "simplification".into(), millis: 0, cached: false });
        }
        if let Some(answered) = self.as_arithmetic(terms, query, limit)? {
            let answer = match answered.answer {
                Answer::Refuted(inputs) => Answer::Refuted(script.variables.iter().map(|at| inputs[*at]).collect()),
                answer => answer,
            };
            return Ok(Answered { answer, ..answered });
        }
        let Some(solver) = &self.solver else {
            return Err(SolverError::Miss { hash: super::cache::hash(&script.text) });
        };
        let mut answered = solver.ask(script, limit)?;
        if let Answer::Unknown(_) = answered.answer {
            answered.millis = limit.as_millis() as u64;
        }
        Ok(answered)
    }

    /// The answer to a question that multiplies or divides, where it is found without the whole question being asked.
    fn as_arithmetic(&self, terms: &Terms, query: &Query, limit: Duration) -> Result<Option<Answered>, SolverError> {
        if !integers::is_arithmetic(terms, query) {
            return Ok(None);
        }
        let mut terms = terms.clone();
        let solved = without_equals(&mut terms, query);
        let Some(answered) = self.by_definedness(&terms, &solved.query, limit)? else {
            return self.over_integers(&terms, &solved.query, limit.min(BRIEFLY));
        };
        let answer = match answered.answer {
            Answer::Refuted(inputs) => Answer::Refuted(solved.inputs(&terms, inputs)),
            answer => answer,
        };
        Ok(Some(Answered { answer, ..answered }))
    }

    /// The answer to a question by those for defined results and for others: inputs that meet one of these, or a proof
    /// of all; nothing where there is neither.
    fn by_definedness(&self, terms: &Terms, query: &Query, limit: Duration) -> Result<Option<Answered>, SolverError> {
        let cases = by_definedness(terms, query);
        let limit = BRIEFLY.min(limit / cases.len().max(1) as u32);
        let (mut proved, mut solver, mut millis) = (!cases.is_empty(), String::new(), 0);
        for (terms, case) in cases {
            let answered = match self.ask_within(&terms, &case, limit) {
                Err(SolverError::Miss { .. }) => return Ok(None),
                answered => answered?,
            };
            (solver, millis) = (answered.solver, millis + answered.millis);
            match answered.answer {
                Answer::Proved => {}
                Answer::Unknown(_) => proved = false,
                Answer::Refuted(inputs) => {
                    let answer = Answer::Refuted(inputs);
                    return Ok(Some(Answered { answer, solver, millis, cached: false }));
                }
            }
        }
        Ok(proved.then_some(Answered { answer: Answer::Proved, solver, millis, cached: false }))
    }

    /// The proof of a question over integers; nothing where arithmetic does not show it, and no solver of integers
    /// within the limit.
    fn over_integers(&self, terms: &Terms, query: &Query, limit: Duration) -> Result<Option<Answered>, SolverError> {
        let multiples = integers::with_multiples(terms, query);
        let (terms, query) = multiples.map_or((terms.clone(), *query), |(terms, solved)| (terms, solved.query));
        let Some(read) = InCases::of(&terms, &query, without_unread_bits) else { return Ok(None) };
        // Signs are those of numbers that are read in one way, once bits that are known are gone.
        let is_shown = |question: &InCases| question.is_shown();
        if is_shown(&read) || InCases::of(&terms, &query, narrowed).as_ref().is_some_and(is_shown) {
            let solver = "arithmetic".into();
            return Ok(Some(Answered { answer: Answer::Proved, solver, millis: 0, cached: false }));
        }
        let solvers: Vec<&Solver> = self.solver.iter().flat_map(Solver::over_integers).collect();
        if solvers.is_empty() {
            return Ok(None);
        }
        let InCases { whole, cases } = read;
        // Where arithmetic shows some of the cases, the others are simpler than the whole.
        let open = if cases.contains(&Integers::Impossible) { cases } else { vec![whole] };
        let open: Vec<Vec<String>> = open.into_iter().filter_map(Integers::texts).collect();
        let (limit, mut millis, mut solver) = (limit / open.len().max(1) as u32, 0, String::new());
        for texts in open {
            let Some(answered) = shown(&solvers, texts, limit)? else { return Ok(None) };
            (solver, millis) = (answered.solver, millis + answered.millis);
        }
        Ok(Some(Answered { answer: Answer::Proved, solver, millis, cached: false }))
    }
}

/// A question over integers, as a whole and in cases; there are none, where one is too large.
struct InCases {
    whole: Integers,
    cases: Vec<Integers>,
}

impl InCases {
    /// The question after variables are made shorter.
    fn of(terms: &Terms, query: &Query, shorten: fn(&mut Terms, &Query) -> Solved) -> Option<InCases> {
        let mut terms = terms.clone();
        let query = shorten(&mut terms, query).query;
        let cases = integers::by_signs(&terms, &query);
        let cases: Option<Vec<Integers>> =
            cases.iter().map(|(terms, query)| integers::question(terms, query)).collect();
        Some(InCases { whole: integers::question(&terms, &query)?, cases: cases.unwrap_or_default() })
    }

    /// Whether arithmetic shows that no inputs meet the question, or any of its cases.
    fn is_shown(&self) -> bool {
        let is_shown = |one: &Integers| *one == Integers::Impossible;
        is_shown(&self.whole) || !self.cases.is_empty() && self.cases.iter().all(is_shown)
    }
}

/// The answer of the first solver that shows that no integers meet one of the texts, with the time that all took.
fn shown(solvers: &[&Solver], texts: Vec<String>, limit: Duration) -> Result<Option<Answered>, SolverError> {
    let (limit, mut millis) = (limit / (texts.len() * solvers.len()).max(1) as u32, 0);
    for text in texts {
        // Integers that meet the question say nothing, so no values are asked for.
        let script = Script { text, variables: Vec::new() };
        for solver in solvers {
            let answered = solver.ask(&script, limit)?;
            millis += answered.millis;
            if answered.answer == Answer::Proved {
                return Ok(Some(Answered { millis, ..answered }));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::Term;

    /// Without a solver, so that it knows what the cache does.
    fn prover() -> Prover {
        Prover { solver: None, cache: Mutex::new(Cache::in_memory()), limit: Duration::from_secs(1) }
    }

    /// A quotient that is not defined where `y` has a value.
    fn quotient(t: &mut Terms, value: u128) -> [Term; 4] {
        let [x, y, other] = ["x", "y", "undefined"].map(|name| t.variable(name, 8));
        let value = t.constant(value, 8);
        let (is_defined, quotient) = (t.ne(y, value), t.udiv(x, y));
        [t.ite(is_defined, quotient, other), x, y, other]
    }

    /// Keeps an answer to one of the cases that a question has.
    fn keep(prover: &Prover, terms: &Terms, query: &Query, case: usize, answer: Answer) {
        let mut terms = terms.clone();
        let solved = without_equals(&mut terms, query);
        let (terms, case) = by_definedness(&terms, &solved.query).swap_remove(case);
        let kept = Answered { answer, solver: "kept".into(), millis: 1000, cached: true };
        prover.cache().put(&case.script(&terms).text, kept);
    }

    /// By zero it is what stands for it; whether it is otherwise, nobody knows.
    #[test]
    fn a_case_that_is_not_answered_leaves_the_question_open() {
        let (prover, mut t) = (prover(), Terms::new());
        let [quotient, .., other] = quotient(&mut t, 0);
        let (goal, premise) = (t.ne(quotient, other), t.bit(true));
        let query = Query { goal, premise };
        for (answer, is_proved) in [(Answer::Unknown("timeout".into()), false), (Answer::Proved, true)] {
            keep(&prover, &t, &query, 1, answer);
            let answered = prover.ask(&t, &query);
            assert_eq!(answered.is_ok_and(|answered| answered.answer == Answer::Proved), is_proved);
        }
    }

    /// Inputs of a case say nothing of variables that are equal to others.
    #[test]
    fn inputs_of_a_case_are_inputs_of_the_question() {
        let (prover, mut t) = (prover(), Terms::new());
        let [quotient, x, ..] = quotient(&mut t, 7);
        let d = t.variable("d", 8);
        let opposite = t.neg(x);
        let (premise, differs) = (t.eq(d, opposite), t.ne(quotient, x));
        let query = Query { goal: t.and(premise, differs), premise };
        keep(&prover, &t, &query, 0, Answer::Refuted(vec![3, 7, 9]));
        let answer = prover.ask(&t, &query).expect("the case is refuted").answer;
        let Answer::Refuted(inputs) = answer else { panic!("{answer:?}") };
        assert_eq!((inputs[0], inputs[3]), (3, 0xfd), "the opposite");
    }

    /// What the premise fixes may make it true, too.
    #[test]
    fn a_question_that_is_always_met_is_not_proved() {
        let (prover, mut t) = (prover(), Terms::new());
        let (x, five) = (t.variable("x", 8), t.constant(5, 8));
        let is_five = t.eq(x, five);
        let other = t.ne(x, five);
        let never = Query { goal: t.and(is_five, other), premise: is_five };
        assert_eq!(prover.ask(&t, &never).map(|answered| answered.answer).ok(), Some(Answer::Proved));
        let always = Query { goal: is_five, premise: is_five };
        assert!(matches!(prover.ask(&t, &always), Err(SolverError::Miss { .. })));
    }

    /// One text that no integers meet is enough, whichever it is.
    #[test]
    fn one_text_that_is_not_met_shows_it() {
        let Some(solver) = Solver::find(None).expect("a solver on the path can be asked its version") else {
            return eprintln!("skipped: no z3, cvc5 or bitwuzla on the path");
        };
        let solvers: Vec<&Solver> = solver.over_integers().collect();
        let text = |value: u8| {
            format!("(set-logic QF_LIA)\n(declare-const n0 Int)\n(assert (= n0 1))\n(assert (= n0 {value}))")
        };
        let limit = Duration::from_secs(5);
        for (values, is_shown) in [([1, 2], true), ([2, 1], true), ([1, 1], false)] {
            let shown = shown(&solvers, values.map(text).to_vec(), limit).expect("it answers");
            assert_eq!(shown.is_some(), is_shown && !solvers.is_empty());
        }
    }
}
