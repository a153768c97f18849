//! Rules at work: kernels of their left sides, changed by the optimizer with one rule alone, and executed.
//!
//! A counterexample of the terms is believed only where the interpreter sees it too. And rules that the terms call
//! right are executed on some inputs each, and under guards that hold in some threads only, so that matcher, rewriter,
//! evaluation of constants and guards, and the meaning of operations as terms are held against the interpreter.

mod builder;
mod crossed;
mod effect;
mod results;
mod run;
mod scratch;

use std::collections::BTreeSet;
use std::sync::Arc;

use oriole_ir::ops::Flags;
use oriole_optimizer::peephole::RuleSet;

use self::builder::Builder;
pub(super) use self::effect::pointers;
use self::run::executed;
use super::describe::described;
use super::report::Refutation;
use super::translate::Question;
use oriole_check::judge::Verdict;
use oriole_launch::Launch;
use oriole_proof::search::examples;
use oriole_proof::term::Op;
use oriole_proof::{Inputs, Query, Terms, solve};

/// The phase that applies rules, as `oriole check --phase` knows it.
pub const PHASE: &str = "GeneralOptimizeEarly";

/// Inputs of each variant that are executed.
const SAMPLES: usize = 6;
/// The same where an operation has no meaning as terms: then executing is all the evidence.
const OPAQUE_SAMPLES: usize = 192;
/// Inputs that are executed beside those where the terms that there are call the rule wrong.
const OPAQUE_SUSPECTS: usize = 64;
/// Inputs of each variant that are executed under a guard too.
const GUARDED: usize = 2;
/// Threads of a kernel in which some execute the root and others do not: part of a warp.
const GUARDED_THREADS: u32 = 3;

/// What executing a counterexample shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Confirmation {
    /// It was not executed.
    NotTried,
    /// The optimizer applies the rule, and the interpreter sees another result.
    Confirmed(Box<Reproducer>),
    /// With a NaN that PTX allows the device to choose; the interpreter chooses another one, so there is no kernel.
    OtherNan,
    /// An operation of the pattern is not defined, and its root does not depend on what it yields; the interpreter
    /// calls all undefined that is computed of it, so there is no kernel.
    Undefined,
    /// The terms say that the rule is wrong here, and executing does not show it: one of them is wrong, or the rule
    /// cannot be made to apply to this input.
    Disagreement {
        /// What executing shows instead.
        reason: String,
        /// The kernel.
        reproducer: Box<Reproducer>,
    },
}

/// A kernel with its launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reproducer {
    /// The kernel as `.ori` text.
    pub kernel: String,
    /// Its launch.
    pub launch: Launch,
    /// The kernel after the rule was applied.
    pub after: String,
    /// A step of the phase that must be left out for the rule to apply.
    pub without: Option<&'static str>,
}

/// Which threads execute the root of a left side.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Guarding {
    /// All: it has no guard.
    #[default]
    None,
    /// Those with an odd number.
    Odd,
    /// The others: the guard is negated.
    Even,
}

/// The left side on one input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// The values of the variables, for one thread after the other; the last for all that are left.
    pub lanes: Vec<Inputs>,
    /// The root's guard.
    pub guard: Guarding,
    /// By thread, bytes of its scratch region that are not just anything: where, and what.
    pub memory: Vec<Vec<(u64, Vec<u8>)>>,
}

impl Case {
    /// The same input in every thread, without a guard.
    pub fn plain(inputs: &[u128]) -> Case {
        Case { lanes: vec![inputs.to_vec()], guard: Guarding::None, memory: Vec::new() }
    }

    /// The threads that it needs.
    fn threads(&self) -> u32 {
        let guarded = if self.guard == Guarding::None { 1 } else { GUARDED_THREADS };
        guarded.max(self.lanes.len() as u32)
    }
}

/// Executes a counterexample before and after the optimizer with this rule alone.
pub fn confirm(question: &Question<'_>, case: &Case, only: &Arc<RuleSet>) -> Confirmation {
    let mut builder = Builder::new(question, std::slice::from_ref(case));
    builder.case(case);
    let (module, launch) = builder.finish();
    let kernel = module.to_string();
    let (ran, reason) = match executed(&module, &launch, only) {
        Ok(ran) => {
            let reason = match &ran.verdict {
                Ok(verdict) if verdict.is_finding() => None,
                Err(reason) => Some(reason.to_string()),
                Ok(_) if ran.applied == 0 => Some("the optimizer does not apply the rule to this kernel".to_owned()),
                Ok(_) if case.lanes.iter().any(|inputs| question.is_undefined_at(inputs)) => {
                    return Confirmation::Undefined;
                }
                Ok(verdict) => {
                    Some(format!("the rule applies, and the interpreter sees no difference ({})", verdict.name()))
                }
            };
            (Some(ran), reason)
        }
        Err(reason) => (None, Some(reason.to_string())),
    };
    let (after, without) = ran.map_or((String::new(), None), |ran| (ran.after, ran.without));
    let reproducer = Box::new(Reproducer { kernel, launch, after, without });
    match reason {
        None => Confirmation::Confirmed(reproducer),
        Some(_) if question.chooses_nan => Confirmation::OtherNan,
        Some(reason) => Confirmation::Disagreement { reason, reproducer },
    }
}

/// What the kernels of one variant showed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ran {
    /// How many there were.
    pub kernels: u64,
    /// The inputs on which the original says what should happen.
    pub inputs: u64,
    /// How many of those the terms alone call wrong.
    pub telling: u64,
    /// How often the rule was applied in them.
    pub applied: u64,
}

/// Executes each variant on some inputs, `suspects` (by number of the variant) among them; the first that goes wrong
/// is a refutation.
pub fn execute(
    questions: &[Question<'_>],
    suspects: &[(usize, Inputs)],
    only: &Arc<RuleSet>,
) -> (Vec<Ran>, Option<Refutation>) {
    let mut all = vec![Ran::default(); questions.len()];
    for (number, (question, ran)) in questions.iter().zip(&mut all).enumerate() {
        let suspects = suspects.iter().filter(|(variant, _)| *variant == number).map(|(_, inputs)| inputs.clone());
        let mut samples: Vec<Inputs> = suspects.chain(samples(question)).collect();
        if question.opaque && question.effect.is_none() {
            ran.telling = once_each(question, &mut samples);
        }
        if samples.is_empty() {
            continue;
        }
        let (cases, together) = match question.effect {
            Some(_) => (effect::cases(question, &samples), effect::TOGETHER),
            None => (cases(&samples), usize::MAX),
        };
        for cases in cases.chunks(together) {
            if let Some((case, confirmation)) = execute_cases(question, cases, only, ran) {
                let refutation = described(question, &case, "executing kernels", confirmation);
                return (all, Some(refutation));
            }
        }
    }
    (all, None)
}

/// Keeps one of the inputs that differ in nothing but what opaque operations yield, which a kernel does not choose;
/// how many of those that are left the terms alone call wrong.
fn once_each(question: &Question<'_>, samples: &mut Vec<Inputs>) -> u64 {
    let operands: Vec<usize> = question
        .captures
        .iter()
        .chain(&question.others)
        .filter_map(|term| match question.terms.node(*term).op {
            Op::Variable(number) => Some(number as usize),
            _ => None,
        })
        .collect();
    let read = |inputs: &Inputs| -> Inputs { operands.iter().map(|number| inputs[*number]).collect() };
    let wrong = samples.iter().filter(|inputs| question.query.holds(&question.terms, inputs));
    let telling: BTreeSet<Inputs> = wrong.map(read).collect();
    let mut seen = BTreeSet::new();
    samples.retain(|inputs| seen.insert(read(inputs)));
    telling.len() as u64
}

/// Inputs under which the rule applies; where terms say little, also those where they call it wrong.
fn samples(question: &Question<'_>) -> Vec<Inputs> {
    let mut terms = question.terms.clone();
    if !question.opaque {
        return met(&mut terms, &question.query, SAMPLES);
    }
    let mut found = met(&mut terms, &question.query, OPAQUE_SAMPLES);
    let wrong = Query { goal: question.query.goal, premise: question.query.goal };
    found.extend(met(&mut terms, &wrong, OPAQUE_SUSPECTS));
    found
}

/// Inputs that meet a premise, by construction where that is easy.
fn met(terms: &mut Terms, query: &Query, count: usize) -> Vec<Inputs> {
    match solve(terms, query) {
        Some(solved) => {
            let found = examples(terms, &solved.query, count, 5);
            found.into_iter().map(|inputs| solved.inputs(terms, inputs)).collect()
        }
        None => examples(terms, query, count, 5),
    }
}

/// Each input, and a few under a guard that holds in some threads.
fn cases(samples: &[Inputs]) -> Vec<Case> {
    let mut cases: Vec<Case> = samples.iter().map(|inputs| Case::plain(inputs)).collect();
    for (inputs, guard) in samples.iter().zip([Guarding::Odd, Guarding::Even]).take(GUARDED) {
        cases.push(Case { guard, ..Case::plain(inputs) });
    }
    cases
}

/// One kernel of some cases; where it is inconclusive, or something is wrong, one for each.
fn execute_cases(
    question: &Question<'_>,
    cases: &[Case],
    only: &Arc<RuleSet>,
    so_far: &mut Ran,
) -> Option<(Case, Confirmation)> {
    let mut builder = Builder::new(question, cases);
    cases.iter().for_each(|case| builder.case(case));
    let (module, launch) = builder.finish();
    let ran = executed(&module, &launch, only);
    so_far.kernels += 1;
    let reason = match ran {
        Ok(ran) => match ran.verdict {
            Ok(verdict) if verdict.is_finding() => format!("{} leaves another result", only.rules()[0].name),
            Ok(Verdict::Equal | Verdict::Refined) => {
                so_far.applied += ran.applied;
                so_far.inputs += cases.len() as u64;
                return None;
            }
            Ok(_) if cases.len() == 1 => return None,
            Ok(_) => {
                return cases.iter().find_map(|case| execute_cases(question, std::slice::from_ref(case), only, so_far));
            }
            Err(reason) => reason.to_string(),
        },
        Err(reason) => reason.to_string(),
    };
    // Which input it is.
    for case in cases {
        let confirmation = confirm(question, case, only);
        if matches!(confirmation, Confirmation::Confirmed(_)) {
            return Some(alone(question, case, only).unwrap_or_else(|| (case.clone(), confirmation)));
        }
    }
    let reproducer = Reproducer { kernel: module.to_string(), launch, after: String::new(), without: None };
    Some((cases[0].clone(), Confirmation::Disagreement { reason, reproducer: Box::new(reproducer) }))
}

/// The first thread of a case that goes wrong by itself.
fn alone(question: &Question<'_>, case: &Case, only: &Arc<RuleSet>) -> Option<(Case, Confirmation)> {
    let memory = |thread: usize| case.memory.get(thread).cloned().into_iter().collect();
    let one = |thread: usize| Case { memory: memory(thread), ..Case::plain(&case.lanes[thread]) };
    let collective = question.variant.instance.pattern().opcode.is(Flags::CONVERGENT);
    let threads = if collective { 0..0 } else { 0..case.lanes.len() };
    threads.map(one).find_map(|case| match confirm(question, &case, only) {
        confirmed @ Confirmation::Confirmed(_) => Some((case, confirmed)),
        _ => None,
    })
}
