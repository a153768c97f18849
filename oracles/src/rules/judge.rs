//! Verdicts on rules: samples first, then a solver, then every input.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use oriole_optimizer::peephole::RuleSet;
use oriole_optimizer::peephole::language::ast::Contract;

use super::guards;
use super::kernel::{self, Case, Confirmation, Guarding};
use super::report::{Proof, Refutation, RuleReport, Verdict};
use super::translate::{Absence, Question, translate, translate_opaque};
use super::variant::variants;
use crate::smt::eval::Program;
use crate::smt::{
    Answer, Answered, Inputs, Prover, Query, Searched, SolverError, Term, Terms, Variable, cache, exhaustive, sampled,
    satisfiable, shrink, solve,
};

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Inputs of each question in the first pass over a rule.
    pub quick: u64,
    /// Inputs of each question in all.
    pub samples: u64,
    /// Every input is tried at once where they have at most so many bits.
    pub small_bits: u32,
    /// Every input is tried where nothing else settles the question and they have at most so many bits.
    pub large_bits: u32,
    /// How long a refuted rule is searched for a smaller counterexample.
    pub polish: Duration,
    /// Whether variants are executed as kernels too.
    pub kernels: bool,
    /// Whether guards are shown to be needed.
    pub guards: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            quick: 2048,
            samples: 16_384,
            small_bits: 17,
            large_bits: 32,
            polish: Duration::from_millis(400),
            kernels: true,
            guards: true,
        }
    }
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

/// Judges rules; questions that were answered are remembered.
pub struct Judge {
    /// The solver and what it has answered.
    pub prover: Prover,
    /// How much is tried.
    pub settings: Settings,
    known: Mutex<HashMap<u128, Arc<Judged>>>,
}

impl Judge {
    /// A judge.
    pub fn new(prover: Prover, settings: Settings) -> Judge {
        Judge { prover, settings, known: Mutex::new(HashMap::new()) }
    }

    /// What is known about a rule of a set.
    pub fn rule(&self, set: &RuleSet, index: usize) -> Result<RuleReport, SolverError> {
        let start = Instant::now();
        let rule = &set.rules()[index];
        let mut report = blank(set, index);
        let only = Arc::new(set.only(index));
        let mut questions = Vec::new();
        for instance in &rule.instances {
            match variants(instance) {
                Ok(all) => all.into_iter().for_each(|variant| questions.push(variant)),
                Err(_) => report.proof.open.push(format!("{}: too many fields match", instance.binding_text())),
            }
        }
        let mut translated = Vec::new();
        for variant in questions {
            let text = label(&variant.instance.binding_text(), &variant.root_text());
            let found = match translate(variant.clone()) {
                Err(Absence::Operation { .. }) => translate_opaque(variant),
                found => found,
            };
            match found {
                Ok(question) => translated.push(question),
                Err(Absence::Fields) => {}
                Err(absence) => report.proof.open.push(format!("{text}: {absence}")),
            }
        }
        report.variants = translated.len();
        let wrong = self.quick_refutation(&mut translated, &mut report.proof, start);
        let wrong = match wrong {
            Some(wrong) => Some(wrong),
            None => self.settle_all(&mut translated, &mut report.proof, &only)?,
        };
        if let Some((at, inputs, found_by)) = wrong {
            report.refutation = Some(refutation(&translated[at], &inputs, found_by, &only));
        } else if self.settings.kernels {
            report.refutation = kernel::execute(&translated, kernel::UNDEFINED, &only, &mut report.proof);
            let proof = &mut report.proof;
            if proof.applied == 0 && proof.open.is_empty() && report.refutation.is_none() {
                let executed =
                    proof.kernels_only.first().map(|text| format!("{text}: no kernel was found that shows it"));
                proof.open.extend(executed);
            }
        }
        report.verdict = verdict(&report);
        if self.settings.guards && report.refutation.is_none() {
            report.guards = guards::needs(self, set, index)?;
        }
        report.time = start.elapsed();
        Ok(report)
    }

    /// The report of a rule about which there is no answer and nobody to ask.
    pub fn unasked(&self, set: &RuleSet, index: usize) -> RuleReport {
        let mut report = blank(set, index);
        report.proof.open.push("no kept answer; `oriole rules check` asks a solver".to_owned());
        report
    }

    /// Few inputs of every variant. Once one is wrong, the others are looked through for a simpler one, for a while.
    fn quick_refutation(
        &self,
        questions: &mut [Question<'_>],
        proof: &mut Proof,
        start: Instant,
    ) -> Option<(usize, Inputs, &'static str)> {
        let mut best: Option<(u32, usize, Inputs)> = None;
        for (at, question) in questions.iter_mut().enumerate().filter(|(_, question)| !question.opaque) {
            if best.is_some() && start.elapsed() > self.settings.polish {
                break;
            }
            let found = tried(&mut question.terms, &question.query, self.settings.quick, 1);
            proof.tried += found.tried;
            proof.relevant += found.relevant;
            let Some(inputs) = found.counterexample else { continue };
            let inputs = shrink(&question.terms, &question.query, inputs);
            let size = size(&inputs);
            if best.as_ref().is_none_or(|(least, ..)| size < *least) {
                best = Some((size, at, inputs));
            }
        }
        best.map(|(_, at, inputs)| (at, inputs, "samples"))
    }

    fn settle_all(
        &self,
        questions: &mut [Question<'_>],
        proof: &mut Proof,
        only: &Arc<RuleSet>,
    ) -> Result<Option<(usize, Inputs, &'static str)>, SolverError> {
        for (at, question) in questions.iter_mut().enumerate() {
            let judged = self.question(&mut question.terms, &question.query)?;
            proof.tried += judged.tried;
            proof.relevant += judged.relevant;
            proof.unmet += u32::from(judged.tried > 0 && judged.relevant == 0);
            match &judged.settled {
                // Any function is not this function: only what the interpreter sees is believed. Of effects, it alone.
                Settled::Wrong { inputs, .. }
                    if question.effect.is_some() || question.opaque && !is_confirmed(question, inputs, only) =>
                {
                    let variant = &question.variant;
                    proof.kernels_only.push(label(&variant.instance.binding_text(), &variant.root_text()));
                }
                Settled::Simplified | Settled::Solved { .. } | Settled::Exhausted if question.assumed => {
                    let variant = &question.variant;
                    proof.kernels_only.push(label(&variant.instance.binding_text(), &variant.root_text()));
                }
                Settled::Simplified => proof.simplified += 1,
                Settled::Solved { solver, millis } => {
                    proof.solved += 1;
                    proof.millis += millis;
                    proof.solvers.insert(solver.clone());
                }
                Settled::Exhausted => proof.exhausted += 1,
                Settled::Vacuous => proof.vacuous += 1,
                Settled::Open { reason } => {
                    let variant = &question.variant;
                    let text = label(&variant.instance.binding_text(), &variant.root_text());
                    proof.open.push(format!("{text}: {reason}"));
                }
                Settled::Wrong { inputs, found_by } => {
                    let mut padded = inputs.clone();
                    padded.resize(question.terms.variables().len(), 0);
                    let inputs = shrink(&question.terms, &question.query, padded);
                    return Ok(Some((at, inputs, found_by)));
                }
            }
        }
        Ok(None)
    }

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
            if let Answer::Proved = self.prover.ask(terms, &possible)?.answer {
                return Ok(judged(Settled::Vacuous, &found));
            }
        }
        let answered = self.prover.ask(terms, query)?;
        let settled = match answered.answer {
            Answer::Proved => Settled::Solved { solver: answered.solver, millis: answered.millis },
            Answer::Refuted(inputs) => Settled::Wrong { inputs, found_by: "the solver" },
            Answer::Unknown(reason) => match self.by_cases(terms, query)? {
                Some(settled) => settled,
                None => self.every_input(terms, query, text, &reason),
            },
        };
        Ok(judged(settled, &found))
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
        values.retain(|value| value & !crate::smt::term::ones(width) == 0);
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
            match self.prover.ask(terms, &case)?.answer {
                Answer::Proved => {}
                Answer::Unknown(_) => return Ok(None),
                Answer::Refuted(mut inputs) => {
                    inputs[number] = value;
                    return Ok(Some(Settled::Wrong { inputs, found_by: "the solver" }));
                }
            }
        }
        let rest = Query { goal: others, premise: others };
        let answered = self.prover.ask(terms, &rest)?;
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

fn is_confirmed(question: &Question<'_>, inputs: &[u128], only: &Arc<RuleSet>) -> bool {
    let mut inputs = inputs.to_vec();
    inputs.resize(question.terms.variables().len(), 0);
    matches!(kernel::confirm(question, &Case::plain(&inputs), only), Confirmation::Confirmed(_))
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

/// How simple inputs are: the bits that their values need.
fn size(inputs: &[u128]) -> u32 {
    inputs.iter().map(|value| 128 - value.leading_zeros()).sum()
}

fn label(instance: &str, root: &str) -> String {
    if instance.is_empty() { root.to_owned() } else { format!("{root} for {instance}") }
}

fn blank(set: &RuleSet, index: usize) -> RuleReport {
    let rule = &set.rules()[index];
    let source = &set.sources()[rule.source];
    let line = source.text.bytes().take(rule.decl.span.start).filter(|byte| *byte == b'\n').count() + 1;
    RuleReport {
        name: rule.name.to_owned(),
        place: format!("{}:{line}", source.name),
        priority: rule.decl.priority,
        instances: rule.instances.len(),
        variants: 0,
        contract: if rule.decl.contract == Contract::ModuloNan { "modulo nan" } else { "bit-exact" },
        verdict: Verdict::Unknown,
        proof: Proof::default(),
        guards: Vec::new(),
        refutation: None,
        time: Duration::ZERO,
    }
}

fn verdict(report: &RuleReport) -> Verdict {
    let proof = &report.proof;
    let settled = proof.simplified + proof.solved + proof.exhausted;
    if report.refutation.is_some() {
        Verdict::Refuted
    } else if !proof.open.is_empty() {
        Verdict::Unknown
    } else if !proof.kernels_only.is_empty() {
        if proof.applied > 0 { Verdict::Tested } else { Verdict::Unknown }
    } else if settled == 0 {
        Verdict::Vacuous
    } else if proof.exhausted > 0 {
        Verdict::Exhaustive
    } else {
        Verdict::Proved
    }
}

/// What is wrong with a question on some inputs.
fn refutation(question: &Question<'_>, inputs: &[u128], found_by: &'static str, only: &Arc<RuleSet>) -> Refutation {
    let case = Case::plain(inputs);
    let confirmation = kernel::confirm(question, &case, only);
    described(question, &case, found_by, confirmation)
}

/// A refutation in words.
pub(super) fn described(
    question: &Question<'_>,
    case: &Case,
    found_by: &'static str,
    confirmation: Confirmation,
) -> Refutation {
    let (inputs, undefined) = (&case.lanes[0], case.undefined);
    let variables = question.terms.variables();
    let read: Vec<Term> = match &question.effect {
        Some(operands) => operands.clone(),
        None => question.values.iter().flatten().copied().chain([question.query.goal]).collect(),
    };
    let pointers = kernel::pointers(question);
    let used = question.terms.reachable(&read);
    let is_used = |number: usize| {
        used.iter().any(|term| question.terms.node(*term).op == crate::smt::term::Op::Variable(number as u32))
    };
    let named = variables.iter().zip(inputs).enumerate().filter(|(number, _)| is_used(*number));
    let shown = |(number, (variable, value)): (usize, (&Variable, &u128))| {
        let is_address = pointers.iter().any(|pointer| pointer.variable == number);
        let name = if is_address { format!("{} - memory", variable.name) } else { variable.name.clone() };
        (name, variable.width, (undefined != Some(number)).then_some(*value))
    };
    let inputs_shown = named.map(shown).collect();
    let defined = question.defined;
    let value = |side: usize| {
        let mut roots = question.values[side].clone();
        roots.extend(defined[side]);
        let mut values = Program::new(&question.terms, &roots).eval(inputs);
        let is_defined = defined[side].is_none() || values.pop() == Some(1);
        values.into_iter().map(|value| is_defined.then_some(value)).collect()
    };
    Refutation {
        instance: question.variant.instance.binding_text(),
        root: question.variant.root_text(),
        inputs: inputs_shown,
        values: match (&question.effect, undefined) {
            (Some(_), _) => [vec![None], vec![None]],
            (None, Some(_)) => [Vec::new(), Vec::new()],
            (None, None) => [value(0), value(1)],
        },
        guarded: case.guard != Guarding::None,
        found_by,
        confirmation,
    }
}
