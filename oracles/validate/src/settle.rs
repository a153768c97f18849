//! The answer to one question: samples, then a solver, then every input, then cases.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::judge::Judge;
use oriole_proof::{
    Answer, Answered, Inputs, Query, Searched, SolverError, Terms, cache, exhaustive, input_bits, sampled, satisfiable,
    shrink, solve,
};

/// What a solver gets for a question before all inputs are tried.
const BRIEFLY: Duration = Duration::from_secs(2);

/// What is known about one question.
#[derive(Clone, Debug)]
pub(super) enum Settled {
    /// Right, as the terms show.
    Simplified,
    /// Right, says a solver.
    Solved { solver: String, millis: u64 },
    /// Right, as every input shows.
    Exhausted,
    /// Wrong here.
    Wrong { inputs: Inputs, found_by: &'static str },
    /// No input meets the guards.
    Vacuous,
    /// Not known.
    Open { reason: String },
}

/// A question's answer, with what was tried.
#[derive(Clone, Debug)]
pub(super) struct Judged {
    pub settled: Settled,
    pub tried: u64,
    pub relevant: u64,
}

impl Judge {
    /// The answer to one question, from memory where the same was asked.
    pub(super) fn question(&self, terms: &mut Terms, query: &Query) -> Result<Arc<Judged>, SolverError> {
        if let Some(value) = terms.value(query.goal) {
            let inputs = vec![0; terms.variables().len()];
            let settled = match (value, terms.value(query.premise)) {
                (0, Some(0)) => Settled::Vacuous,
                (0, _) => Settled::Simplified,
                _ => Settled::Wrong { inputs, found_by: "simplification" },
            };
            return Ok(Arc::new(Judged { settled, tried: 0, relevant: 0 }));
        }
        let script = query.script(terms);
        let key = cache::hash(&script.text);
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(known) = known {
            return Ok(match &known.settled {
                // The other question's variables have other numbers.
                Settled::Wrong { .. } => Arc::new(self.fresh(terms, query, &script.text)?),
                _ => known,
            });
        }
        let judged = Arc::new(self.fresh(terms, query, &script.text)?);
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(key, judged.clone());
        Ok(judged)
    }

    fn fresh(&self, terms: &mut Terms, query: &Query, text: &str) -> Result<Judged, SolverError> {
        let found = tried(terms, query, self.settings.samples, 2);
        let judged = |settled, found: &Searched| Judged { settled, tried: found.tried, relevant: found.relevant };
        if let Some(inputs) = found.counterexample.clone() {
            return Ok(judged(Settled::Wrong { inputs, found_by: "samples" }, &found));
        }
        if let Some(all) = exhaustive(terms, query, self.settings.small_bits) {
            return Ok(Judged { tried: found.tried + all.tried, relevant: all.relevant, settled: exhausted(all) });
        }
        if found.relevant == 0 && terms.value(query.premise) != Some(1) {
            let possible = satisfiable(terms, &[query.premise]);
            if self.asked(terms, &possible)?.is_some_and(|answered| answered.answer == Answer::Proved) {
                return Ok(judged(Settled::Vacuous, &found));
            }
        }
        // Where all inputs can be tried, that is soon done.
        let limit = if input_bits(terms, query) <= self.settings.large_bits { BRIEFLY } else { Duration::MAX };
        let Some(answered) = self.asked_within(terms, query, limit)? else {
            let reason = "no answer is kept, and there is no solver to ask".to_owned();
            return Ok(judged(Settled::Open { reason }, &found));
        };
        let settled = match answered.answer {
            Answer::Proved => Settled::Solved { solver: answered.solver, millis: answered.millis },
            Answer::Refuted(inputs) => Settled::Wrong { inputs, found_by: "the solver" },
            Answer::Unknown(reason) => match self.every_input(terms, query, text, &reason) {
                open @ Settled::Open { .. } => self.by_cases(terms, query)?.unwrap_or(open),
                settled => settled,
            },
        };
        Ok(judged(settled, &found))
    }

    /// The solver's answer, or the one that is kept; nothing where there is neither.
    fn asked(&self, terms: &Terms, query: &Query) -> Result<Option<Answered>, SolverError> {
        self.asked_within(terms, query, Duration::MAX)
    }

    fn asked_within(&self, terms: &Terms, query: &Query, limit: Duration) -> Result<Option<Answered>, SolverError> {
        match self.prover.ask_within(terms, query, limit) {
            Err(SolverError::Miss { .. }) => Ok(None),
            answered => answered.map(Some),
        }
    }

    /// The question for each value of one constant that matters, and for all others together: solvers that give up on
    /// shifts by any count, or divisions by any power of two, answer each at once. Nothing where one is not answered.
    fn by_cases(&self, terms: &mut Terms, query: &Query) -> Result<Option<Settled>, SolverError> {
        let is_constant =
            |number: &usize| terms.variables()[*number].name.starts_with(|c: char| c.is_ascii_uppercase());
        for number in query.variables(terms).into_iter().filter(is_constant).collect::<Vec<_>>() {
            if let Some(settled) = self.cases_of(terms, query, number)? {
                return Ok(Some(settled));
            }
        }
        Ok(None)
    }

    fn cases_of(&self, terms: &mut Terms, query: &Query, number: usize) -> Result<Option<Settled>, SolverError> {
        let width = terms.variables()[number].width;
        let powers = (0..width).map(|bit| 1u128 << bit);
        let mut values: Vec<u128> = (0..=64).chain(powers).collect();
        values.retain(|value| value & !oriole_proof::term::ones(width) == 0);
        values.sort_unstable();
        values.dedup();
        let variable = terms.variable_term(number);
        let mut others = query.goal;
        for value in values {
            let constant = terms.constant(value, width);
            let goal = terms.substitute(&[query.goal], &[(number, constant)])[0];
            let differs = terms.ne(variable, constant);
            others = terms.and(others, differs);
            let case = Query { goal, premise: goal };
            match self.asked(terms, &case)?.map(|answered| answered.answer) {
                Some(Answer::Proved) => {}
                Some(Answer::Unknown(_)) | None => return Ok(None),
                Some(Answer::Refuted(mut inputs)) => {
                    inputs[number] = value;
                    return Ok(Some(Settled::Wrong { inputs, found_by: "the solver" }));
                }
            }
        }
        let rest = Query { goal: others, premise: others };
        let Some(answered) = self.asked(terms, &rest)? else { return Ok(None) };
        Ok(match answered.answer {
            Answer::Proved => Some(Settled::Solved { solver: answered.solver, millis: answered.millis }),
            Answer::Unknown(_) => None,
            Answer::Refuted(inputs) => Some(Settled::Wrong { inputs, found_by: "the solver" }),
        })
    }

    /// All inputs, where they are not too many; kept like the answers of solvers.
    fn every_input(&self, terms: &Terms, query: &Query, text: &str, reason: &str) -> Settled {
        let key = format!("all inputs\n{text}");
        let kept = self.prover.cache().get(&key).map(|known| known.answer.clone());
        if let Some(Answer::Proved) = kept {
            return Settled::Exhausted;
        }
        let start = Instant::now();
        let open = || Settled::Open { reason: format!("the solver gives up ({reason})") };
        // Without a solver only what is kept is believed, so that the answer does not depend on the machine's patience.
        if self.prover.solver.is_none() {
            return open();
        }
        let Some(all) = exhaustive(terms, query, self.settings.large_bits) else { return open() };
        if all.counterexample.is_none() {
            let millis = start.elapsed().as_millis() as u64;
            let answered = Answered { answer: Answer::Proved, solver: "all-inputs".into(), millis, cached: true };
            self.prover.cache().put(&key, answered);
        }
        exhausted(all)
    }
}

fn exhausted(all: Searched) -> Settled {
    match all.counterexample {
        Some(inputs) => Settled::Wrong { inputs, found_by: "all inputs" },
        None if all.relevant == 0 => Settled::Vacuous,
        None => Settled::Exhausted,
    }
}

/// Inputs of the question as it is, and of the question whose premise is met by construction.
pub(super) fn tried(terms: &mut Terms, query: &Query, count: u64, seed: u64) -> Searched {
    let Some(solved) = solve(terms, query) else { return sampled(terms, query, &[], count, seed) };
    let mut found = sampled(terms, &solved.query, &[], count - count / 4, seed);
    // Small where the relations between variables hold by construction: later each is made small by itself.
    found.counterexample =
        found.counterexample.map(|inputs| solved.inputs(terms, shrink(terms, &solved.query, inputs)));
    if found.counterexample.is_some() {
        return found;
    }
    let plain = sampled(terms, query, &[], count / 4, seed);
    Searched {
        tried: found.tried + plain.tried,
        relevant: found.relevant + plain.relevant,
        counterexample: plain.counterexample,
    }
}
