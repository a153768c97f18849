//! The answer to one question: samples, then a solver, then every input, then cases.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::judge::Judge;
use oriole_proof::{
    Answer, Answered, Inputs, Query, Searched, SolverError, Terms, cache, exhaustive, few_values, input_bits,
    is_arithmetic, narrowed, sampled, satisfiable, shrink, solve, term::ones, with_multiples, without_unread_bits,
};

/// What a solver gets for a question before all inputs are tried, and for one that decides no verdict.
const BRIEFLY: Duration = Duration::from_secs(2);

/// Bits of a variable whose values are gone through.
const MOST_COUNT_BITS: u32 = 7;

/// How much a question is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Effort {
    /// All that there is: it decides a verdict.
    Full,
    /// Samples and a solver for two seconds.
    Brief,
}

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
    pub(super) fn question(
        &self,
        terms: &mut Terms,
        query: &Query,
        effort: Effort,
    ) -> Result<Arc<Judged>, SolverError> {
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
                Settled::Wrong { .. } => Arc::new(self.fresh(terms, query, &script.text, effort)?),
                _ => known,
            });
        }
        let judged = Arc::new(self.fresh(terms, query, &script.text, effort)?);
        // What little effort leaves open, more of it may settle.
        if effort == Effort::Full || !matches!(judged.settled, Settled::Open { .. }) {
            self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(key, judged.clone());
        }
        Ok(judged)
    }

    fn fresh(&self, terms: &mut Terms, query: &Query, text: &str, effort: Effort) -> Result<Judged, SolverError> {
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
        if let Some(settled) = self.by_few_values(terms, query)? {
            return Ok(judged(settled, &found));
        }
        // Where all inputs can be tried, that is soon done.
        let short = narrowed(terms, query).query;
        let is_small = input_bits(terms, &short) <= self.settings.large_bits;
        let limit = if is_small || effort == Effort::Brief { BRIEFLY } else { Duration::MAX };
        let Some(answered) = self.asked_within(terms, query, limit)? else {
            let reason = "no answer is kept, and there is no solver to ask".to_owned();
            return Ok(judged(Settled::Open { reason }, &found));
        };
        let settled = match answered.answer {
            Answer::Proved => Settled::Solved { solver: answered.solver, millis: answered.millis },
            Answer::Refuted(inputs) => Settled::Wrong { inputs, found_by: "the solver" },
            Answer::Unknown(reason) if effort == Effort::Brief => {
                Settled::Open { reason: format!("the solver gives up ({reason})") }
            }
            Answer::Unknown(reason) => match self.all_inputs(terms, query, text, &reason) {
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

    /// The question for each value of a constant that has few, by the premise: powers of two, masks, counts of bits.
    /// Nothing where there is none, or one question is not answered.
    fn by_few_values(&self, terms: &mut Terms, query: &Query) -> Result<Option<Settled>, SolverError> {
        for number in constants(terms, query) {
            let Some(values) = few_values(terms, query, number) else { continue };
            return self.for_values(terms, query, number, &values, BRIEFLY);
        }
        // By what is done with them, other operands may have few values, too: counts modulo 32.
        if !is_arithmetic(terms, query) {
            return Ok(None);
        }
        let short = without_unread_bits(terms, query);
        let is_short = |number: &usize| (2..=MOST_COUNT_BITS).contains(&terms.variables()[*number].width);
        let Some(number) = short.query.variables(terms).into_iter().find(is_short) else { return Ok(None) };
        let values: Vec<u128> = (0..=ones(terms.variables()[number].width)).collect();
        let settled = self.for_values(terms, &short.query, number, &values, BRIEFLY)?;
        Ok(settled.map(|settled| match settled {
            Settled::Wrong { inputs, found_by } => Settled::Wrong { inputs: short.inputs(terms, inputs), found_by },
            other => other,
        }))
    }

    /// The question for each value of one constant that matters, and for all others together: solvers that give up on
    /// shifts by any count, or divisions by any power of two, answer each at once. Nothing where one is not answered.
    fn by_cases(&self, terms: &mut Terms, query: &Query) -> Result<Option<Settled>, SolverError> {
        for number in constants(terms, query) {
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
        values.retain(|value| value & !ones(width) == 0);
        values.sort_unstable();
        values.dedup();
        let settled = self.for_values(terms, query, number, &values, Duration::MAX)?;
        if !matches!(settled, Some(Settled::Solved { .. })) {
            return Ok(settled);
        }
        let variable = terms.variable_term(number);
        let mut others = query.goal;
        for value in values {
            let constant = terms.constant(value, width);
            let differs = terms.ne(variable, constant);
            others = terms.and(others, differs);
        }
        let rest = Query { goal: others, premise: others };
        self.settled_within(terms, &rest, Duration::MAX)
    }

    /// What a solver, or arithmetic, says of a question; nothing where that is not known.
    fn settled_within(&self, terms: &Terms, query: &Query, limit: Duration) -> Result<Option<Settled>, SolverError> {
        let Some(answered) = self.asked_within(terms, query, limit)? else { return Ok(None) };
        Ok(match answered.answer {
            Answer::Proved => Some(Settled::Solved { solver: answered.solver, millis: answered.millis }),
            Answer::Unknown(_) => None,
            Answer::Refuted(inputs) => Some(Settled::Wrong { inputs, found_by: "the solver" }),
        })
    }

    /// The question for some values of a variable; nothing where one is not answered.
    fn for_values(
        &self,
        terms: &mut Terms,
        query: &Query,
        number: usize,
        values: &[u128],
        limit: Duration,
    ) -> Result<Option<Settled>, SolverError> {
        let width = terms.variables()[number].width;
        let (mut by, mut taken) = (String::new(), 0);
        for value in values {
            let constant = terms.constant(*value, width);
            let conditions = terms.substitute(&[query.goal, query.premise], &[(number, constant)]);
            match self.settled_within(terms, &Query { goal: conditions[0], premise: conditions[1] }, limit)? {
                Some(Settled::Solved { solver, millis }) => (by, taken) = (solver, taken + millis),
                Some(Settled::Wrong { mut inputs, found_by }) => {
                    inputs[number] = *value;
                    return Ok(Some(Settled::Wrong { inputs, found_by }));
                }
                _ => return Ok(None),
            }
        }
        Ok(Some(Settled::Solved { solver: by, millis: taken }))
    }

    /// All inputs, where they are not too many; kept like the answers of solvers.
    fn all_inputs(&self, terms: &mut Terms, query: &Query, text: &str, reason: &str) -> Settled {
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
        let Some(all) = every_input(terms, query, self.settings.large_bits) else { return open() };
        if all.counterexample.is_none() {
            let millis = start.elapsed().as_millis() as u64;
            let answered = Answered { answer: Answer::Proved, solver: "all-inputs".into(), millis, cached: true };
            self.prover.cache().put(&key, answered);
        }
        exhausted(all)
    }
}

/// The constants of a rule that a question depends on.
fn constants(terms: &Terms, query: &Query) -> Vec<usize> {
    let is_constant = |number: &usize| terms.variables()[*number].name.starts_with(|c: char| c.is_ascii_uppercase());
    query.variables(terms).into_iter().filter(is_constant).collect()
}

/// Every input of a question, without the bits that do not matter, if they are not too many.
fn every_input(terms: &mut Terms, query: &Query, most_bits: u32) -> Option<Searched> {
    let short = narrowed(terms, query);
    let mut found = exhaustive(terms, &short.query, most_bits)?;
    found.counterexample = found.counterexample.map(|inputs| short.inputs(terms, inputs));
    Some(found)
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
    // One is a multiple of another once in many inputs, and then rarely where a bound is.
    let Some((multiples, solved)) = with_multiples(terms, query) else {
        return without_multiples(terms, query, count, seed);
    };
    let mut found = without_multiples(&mut multiples.clone(), &solved.query, count / 2, seed);
    found.counterexample = found.counterexample.map(|inputs| {
        let inputs = solved.inputs(&multiples, shrink(&multiples, &solved.query, inputs));
        inputs[..terms.variables().len()].to_vec()
    });
    if found.counterexample.is_some() {
        return found;
    }
    let plain = without_multiples(terms, query, count - count / 2, seed);
    Searched { tried: found.tried + plain.tried, relevant: found.relevant + plain.relevant, ..plain }
}

fn without_multiples(terms: &mut Terms, query: &Query, count: u64, seed: u64) -> Searched {
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
