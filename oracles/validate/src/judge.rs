//! Verdicts on rules: the questions of all variants, then kernels, then guards.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use oriole_optimizer::peephole::RuleSet;
use oriole_rules::Rule;
use oriole_rules::instance::{Capture, Condition};
use oriole_rules::language::ast::Contract;

use super::describe::{described, label, labelled};
use super::guards;
use super::kernel::{self, Case, Confirmation};
use super::report::{NotShown, Proof, Refutation, RuleReport, Verdict};
use super::settle::{Effort, Judged, Settled, tried};
use super::translate::{Absence, Question, translate, translate_opaque};
use super::variant::variants;
use oriole_proof::term::Op;
use oriole_proof::{Inputs, Prover, SolverError, Term, shrink};

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

/// Judges rules; questions that were answered are remembered.
pub struct Judge {
    /// The solver and what it has answered.
    pub prover: Prover,
    /// How much is tried.
    pub settings: Settings,
    pub(super) known: Mutex<HashMap<u128, Arc<Judged>>>,
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
        for instance in rule.instances() {
            match variants(instance) {
                Ok(all) => all.into_iter().for_each(|variant| questions.push(variant)),
                Err(_) => report.proof.open.push(format!("{}: too many fields match", instance.binding_text())),
            }
        }
        let mut translated = Vec::new();
        for variant in questions {
            let text = labelled(&variant.instance.binding_text(), &variant.root_text());
            // Where an operation has no meaning as terms, it becomes any function of its operands: what holds for
            // every function holds for this one.
            let found = match translate(variant.clone()) {
                Err(Absence::Operation { .. }) => translate_opaque(variant),
                found => found,
            };
            match found {
                Ok(question) => translated.push(question),
                // The rule does not apply to this variant, so there is nothing to prove.
                Err(Absence::Fields) => {}
                Err(absence) => report.proof.open.push(format!("{text}: {absence}")),
            }
        }
        report.variants = translated.len();
        // Cheap before dear: few inputs refute most wrong rules before a solver is asked anything.
        let wrong = self.quick_refutation(&mut translated, &mut report.proof, start);
        let mut untold = Vec::new();
        let wrong = match wrong {
            Some(wrong) => Some(wrong),
            None => self.settle_all(&mut translated, &mut report.proof, &only, &mut untold)?,
        };
        if let Some((at, inputs, found_by)) = wrong {
            report.refutation = Some(refutation(&translated[at], &inputs, found_by, &only));
        // Kernels run even where all is proved: they would show that terms or translation are wrong.
        } else if self.settings.kernels {
            report.refutation = execute(&translated, &untold, &only, &mut report.proof);
        } else {
            let unknown = |one: &Untold| format!("{}: only executing shows it", label(&translated[one.question]));
            report.proof.open.extend(untold.iter().map(unknown));
        }
        report.verdict = verdict(&report);
        // Whether a guard is needed is a question about rules that are right with it.
        if self.settings.guards && report.refutation.is_none() {
            report.guards = guards::needs(self, set, index)?;
        }
        report.time = start.elapsed();
        Ok(report)
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
        untold: &mut Vec<Untold>,
    ) -> Result<Option<(usize, Inputs, &'static str)>, SolverError> {
        let mut answers: Vec<Arc<Judged>> = Vec::new();
        for (at, question) in questions.iter_mut().enumerate() {
            let judged = self.settled(question)?;
            // Variants that differ in hints alone ask the same question, which is answered once.
            let answered = answers.iter().any(|known| Arc::ptr_eq(known, &judged));
            if !answered {
                proof.tried += judged.tried;
                proof.relevant += judged.relevant;
                answers.push(judged.clone());
            }
            proof.unmet += u32::from(judged.tried > 0 && judged.relevant == 0);
            match &judged.settled {
                // A counterexample that uses an uninterpreted function must be confirmed by execution. Rules with
                // effects are judged by execution alone.
                Settled::Wrong { inputs, .. }
                    if question.effect.is_some() || question.opaque && !is_confirmed(question, inputs, only) =>
                {
                    let mut suspect = inputs.clone();
                    suspect.resize(question.terms.variables().len(), 0);
                    untold.push(Untold { question: at, suspect: Some(suspect) });
                }
                // Such a proof takes the interpreter's definition of an operation for granted.
                Settled::Simplified | Settled::Solved { .. } | Settled::Exhausted if question.assumed => {
                    untold.push(Untold { question: at, suspect: None });
                }
                Settled::Simplified => proof.simplified += 1,
                Settled::Solved { solver, millis } => {
                    proof.solved += 1;
                    proof.millis += if answered { 0 } else { *millis };
                    proof.solvers.insert(solver.clone());
                }
                Settled::Exhausted => proof.exhausted += 1,
                Settled::Vacuous => proof.vacuous += 1,
                Settled::Open { reason } => {
                    proof.open.push(format!("{}: {reason}", label(question)));
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

    /// The answer to a variant's question. Solvers know floats better than the circuits that stand for them, but for
    /// short ones most that are asked have kept answers as circuits.
    fn settled(&self, question: &mut Question<'_>) -> Result<Arc<Judged>, SolverError> {
        if question.rounds_doubles()
            && let Some(judged) = self.over_floats(question)?
        {
            return Ok(judged);
        }
        let judged = self.question(&mut question.terms, &question.query, Effort::Full)?;
        match judged.settled {
            Settled::Open { .. } => Ok(self.over_floats(question)?.unwrap_or(judged)),
            _ => Ok(judged),
        }
    }
}

/// How many inputs that need more of a function than the terms know must be executed before a rule counts as tested.
const FEWEST_TELLING: u64 = 16;

/// A variant of which the terms do not say whether it is right: executing must show it.
struct Untold {
    question: usize,
    /// An input on which the terms that there are call it wrong.
    suspect: Option<Inputs>,
}

/// Executes all variants. One that only kernels can show is shown where the rule applied in some of them, and where
/// the interpreter has all that the operation does.
fn execute(
    questions: &[Question<'_>],
    untold: &[Untold],
    only: &Arc<RuleSet>,
    proof: &mut Proof,
) -> Option<Refutation> {
    let suspects = untold.iter().filter_map(|one| Some((one.question, one.suspect.clone()?)));
    let suspects: Vec<(usize, Inputs)> = suspects.collect();
    let (ran, refutation) = kernel::execute(questions, &suspects, only);
    proof.kernels += ran.iter().map(|one| one.kernels).sum::<u64>();
    proof.applied += ran.iter().map(|one| one.applied).sum::<u64>();
    for Untold { question, suspect } in untold {
        let (ran, text) = (ran[*question], label(&questions[*question]));
        match questions[*question].unmodelled {
            Some(reason) => proof.open.push(format!("{text}: {reason}")),
            // Kernels behind one that goes wrong are not executed.
            None if ran.applied == 0 && refutation.is_some() => {}
            None if ran.applied == 0 => proof.open.push(format!("{text}: no kernel was found that shows it")),
            None => {
                let what = not_shown(&questions[*question], suspect.as_deref());
                let shown = NotShown { variant: text, what, inputs: ran.inputs, telling: ran.telling };
                let tells = questions[*question].effect.is_some() || suspect.is_none() || ran.telling >= FEWEST_TELLING;
                match tells {
                    true => proof.kernels_only.push(shown),
                    // Where operands of a function differ, kernels tell only if it differs there, too.
                    false => proof.open.push(format!("{shown}, which says little")),
                }
            }
        }
    }
    refutation
}

/// What kernels alone speak for in a question, and why; `suspect` is an input on which the terms call it wrong.
fn not_shown(question: &Question<'_>, suspect: Option<&[u128]>) -> String {
    let root = question.variant.root_text();
    if question.effect.is_some() {
        return format!(
            "what `{root}` does beyond registers has no meaning as terms, and one order of events was executed"
        );
    }
    let Some(inputs) = suspect else {
        return "where memory lies is what the interpreter takes it to be".to_owned();
    };
    let functions: Vec<&str> = question.functions.iter().map(String::as_str).collect();
    let captured = question.captures.iter().zip(&question.variant.instance.captures);
    let value = |(term, capture): (&Term, &Capture)| match question.terms.node(*term).op {
        Op::Variable(number) => Some(format!("{} = {:#x}", capture.name, inputs.get(number as usize)?)),
        _ => None,
    };
    let shown: Vec<String> = captured.filter_map(value).collect();
    format!(
        "it needs more than that the same operands give the same, as with {}: {}",
        shown.join(", "),
        functions.join(", ")
    )
}

fn is_confirmed(question: &Question<'_>, inputs: &[u128], only: &Arc<RuleSet>) -> bool {
    let mut inputs = inputs.to_vec();
    inputs.resize(question.terms.variables().len(), 0);
    matches!(kernel::confirm(question, &Case::plain(&inputs), only), Confirmation::Confirmed(_))
}

/// How simple inputs are: the bits that their values need.
fn size(inputs: &[u128]) -> u32 {
    inputs.iter().map(|value| 128 - value.leading_zeros()).sum()
}

fn blank(set: &RuleSet, index: usize) -> RuleReport {
    let rule = &set.rules()[index];
    let source = &set.sources()[rule.source];
    let line = source.text.bytes().take(rule.decl().span.start).filter(|byte| *byte == b'\n').count() + 1;
    RuleReport {
        name: rule.name.to_owned(),
        place: format!("{}:{line}", source.name),
        priority: rule.priority,
        instances: rule.instances().len(),
        variants: 0,
        contract: if rule.decl().contract == Contract::ModuloNan { "modulo nan" } else { "bit-exact" },
        verdict: Verdict::Unknown,
        proof: Proof::default(),
        guards: Vec::new(),
        added: added(rule),
        refutation: None,
        time: Duration::ZERO,
    }
}

/// The conditions that the language adds, each with how many instances have it.
fn added(rule: &Rule) -> Vec<String> {
    let mut counted: BTreeMap<(&str, u32), usize> = BTreeMap::new();
    for instance in rule.instances() {
        for condition in &instance.conditions {
            if let Condition::Extended(capture, from) = condition {
                *counted.entry((&instance.captures[*capture].name, *from)).or_default() += 1;
            }
        }
    }
    let all = oriole_ir::diagnostics::counted(rule.instances().len(), "instance");
    let text = |((name, from), count): ((&str, u32), usize)| {
        format!("the bits of `{name}` from {from} on are known to be zero, in {count} of {all}")
    };
    counted.into_iter().map(text).collect()
}

fn verdict(report: &RuleReport) -> Verdict {
    let proof = &report.proof;
    let settled = proof.simplified + proof.solved + proof.exhausted;
    if report.refutation.is_some() {
        Verdict::Refuted
    } else if !proof.open.is_empty() {
        Verdict::Unknown
    } else if !proof.kernels_only.is_empty() {
        Verdict::Tested
    // A left side that the optimizer never rewrites, whatever the terms say.
    } else if settled == 0 || proof.kernels > 0 && proof.applied == 0 {
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
