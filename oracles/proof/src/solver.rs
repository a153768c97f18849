//! Answers by an SMT solver: z3, cvc5 or bitwuzla, as a process of its own for each question.
//!
//! [`Solver::find`] takes the first of them on the path, or the program that the user names. [`Prover`] puts the cache
//! before it: it trusts what the cache knows. Otherwise it asks over integers where the question multiplies or divides,
//! then the solver, and without a solver calls a miss an error. A counterexample is believed only if the terms evaluate
//! as it says.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use easy_smt::{Context, ContextBuilder, Response, SExpr};

use super::cache::{Cache, CacheError};
use super::integers::{self, Integers};
use super::narrow::without_unread_bits;
use super::query::{Inputs, Query};
use super::term::Terms;
use super::text::Script;

/// What a solver says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// No inputs meet the goal.
    Proved,
    /// These do: a value for each variable of the question's text, or of the arena where [`Prover::ask`] answers.
    Refuted(Inputs),
    /// Neither is known, for this reason.
    Unknown(String),
}

/// An answer with its evidence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answered {
    /// The answer.
    pub answer: Answer,
    /// The solver that gave it, with its version.
    pub solver: String,
    /// How long it took.
    pub millis: u64,
    /// Whether the cache knew it.
    pub cached: bool,
}

/// Why a question was not answered.
#[derive(Debug, thiserror::Error)]
pub enum SolverError {
    /// The program named is none of the solvers known.
    #[error("`{}` is not a solver that is known here; name a path to z3, cvc5 or bitwuzla", .0.display())]
    Foreign(PathBuf),
    /// The program cannot be run.
    #[error("cannot run the solver `{}`", .program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The solver answered something else than the protocol has.
    #[error("{solver} did not understand `{command}`: {reply}")]
    Protocol {
        /// The solver.
        solver: String,
        /// What it was sent.
        command: String,
        /// What it said.
        reply: String,
    },
    /// The values that the solver gave do not meet the goal: it, or the printing of terms, is wrong.
    #[error("{solver} gave a counterexample that is none; its question: {question}")]
    WrongModel {
        /// The solver.
        solver: String,
        /// The question.
        question: String,
    },
    /// No solver may be asked and the cache does not know.
    #[error(
        "no kept answer to the question {hash:032x}, and no solver to ask; run once with z3, cvc5 or bitwuzla on the path, without --no-solver"
    )]
    Miss {
        /// The key of the question.
        hash: u128,
    },
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// The solvers whose options are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Z3,
    Cvc5,
    Bitwuzla,
}

impl Kind {
    const ALL: [(Kind, &'static str); 3] = [(Kind::Z3, "z3"), (Kind::Cvc5, "cvc5"), (Kind::Bitwuzla, "bitwuzla")];

    fn name(self) -> &'static str {
        Kind::ALL[self as usize].1
    }

    /// The kind that a program's name begins with (`z3-4.13`).
    fn of(program: &Path) -> Option<Kind> {
        let name = program.file_name().and_then(OsStr::to_str)?;
        Kind::ALL.into_iter().find(|(_, known)| name.starts_with(known)).map(|(kind, _)| kind)
    }

    /// Options that read commands from the standard input and limit a question softly, and the process harder.
    fn arguments(self, limit: Duration) -> Vec<String> {
        let (millis, seconds) = (limit.as_millis().max(1), self.patience(limit).as_secs() + 1);
        match self {
            Kind::Z3 => {
                let steps = millis.saturating_mul(Z3_STEPS).min(u32::MAX.into());
                let limits = [format!("rlimit={steps}"), format!("-T:{seconds}"), "-memory:4096".into()];
                ["-smt2", "-in", "-v:0"].map(String::from).into_iter().chain(limits).collect()
            }
            Kind::Cvc5 => {
                let fixed = ["--quiet", "--lang=smt2", "--incremental"].map(String::from).into_iter();
                fixed.chain([format!("--tlimit-per={millis}"), format!("--tlimit={}", seconds * 1000)]).collect()
            }
            Kind::Bitwuzla => vec!["--lang".into(), "smt2".into(), "--time-limit-per".into(), millis.to_string()],
        }
    }

    /// How long a process may take whose question has this limit. z3 counts its steps, so that its answers do not
    /// depend on what else the machine does: the clock only ends what a machine under ten times the usual load would
    /// not do either. Steps of the others grow with no time (cvc5 1.0.3 takes 0.9 s for 10^5 and 190 s for 10^6), so
    /// for these the limit is one of time.
    fn patience(self, limit: Duration) -> Duration {
        if self == Kind::Z3 { limit * 10 } else { limit }
    }
}

/// Steps that z3 takes in a millisecond, by the median of questions about rules (4.8.12 on one idle core, 2026-11).
const Z3_STEPS: u128 = 6_000;

/// A solver that can be asked.
#[derive(Clone, Debug)]
pub struct Solver {
    program: PathBuf,
    kind: Kind,
    /// Its name and version, as one word.
    version: String,
    /// Another one that answers questions over integers, too: of z3 and cvc5, each decides some that the other does
    /// not.
    second: Option<Box<Solver>>,
}

impl Solver {
    /// The solver that is named, else the first on the path; `None` where there is none.
    pub fn find(named: Option<&Path>) -> Result<Option<Solver>, SolverError> {
        if let Some(program) = named {
            let kind = Kind::of(program).ok_or_else(|| SolverError::Foreign(program.into()))?;
            return Solver::start(program.into(), kind).map(Some);
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = Kind::ALL.into_iter().filter_map(|(kind, name)| {
            let mut programs = std::env::split_paths(&path).map(|folder| folder.join(name));
            programs.find(|program| program.is_file()).map(|program| (kind, program))
        });
        let mut found = found.map(|(kind, program)| Solver::start(program, kind));
        let Some(first) = found.next() else { return Ok(None) };
        let second = found.flatten().find(|solver| solver.kind != Kind::Bitwuzla);
        Ok(Some(Solver { second: second.map(Box::new), ..first? }))
    }

    fn start(program: PathBuf, kind: Kind) -> Result<Solver, SolverError> {
        let output = Command::new(&program).arg("--version").stdin(Stdio::null()).output();
        let output = output.map_err(|source| SolverError::Start { program: program.clone(), source })?;
        let text = String::from_utf8_lossy(&output.stdout);
        let number =
            text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'));
        let version = format!("{}-{}", kind.name(), number.unwrap_or("unknown"));
        Ok(Solver { program, kind, version, second: None })
    }

    /// Those that answer questions over integers, the quickest first.
    fn over_integers(&self) -> impl Iterator<Item = &Solver> {
        let all = self.second.as_deref().into_iter().chain([self]);
        all.filter(|solver| solver.kind != Kind::Bitwuzla)
    }

    /// Its name and version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Asks whether the script's assertion can hold, for at most about the limit. The values of a refutation are those
    /// of the script's variables.
    pub fn ask(&self, script: &Script, limit: Duration) -> Result<Answered, SolverError> {
        let start = Instant::now();
        let (sender, receiver) = mpsc::channel();
        let (solver, script) = (self.clone(), script.clone());
        // The solver's own limits end it; the thread is there for one that keeps none.
        thread::spawn(move || sender.send(solver.dialogue(&script, limit)));
        let answer = match receiver.recv_timeout(self.kind.patience(limit) * 2 + Duration::from_secs(2)) {
            Ok(answer) => answer?,
            Err(_) => Answer::Unknown("timeout".into()),
        };
        let millis = start.elapsed().as_millis() as u64;
        Ok(Answered { answer, solver: self.version.clone(), millis, cached: false })
    }

    fn dialogue(&self, script: &Script, limit: Duration) -> Result<Answer, SolverError> {
        let mut context = self.context(limit)?;
        if !self.tell(&mut context, &script.text)? {
            return Ok(Answer::Unknown("timeout".into()));
        }
        match context.check() {
            Ok(Response::Unsat) => Ok(Answer::Proved),
            Ok(Response::Sat) => {
                let names: Vec<String> = (0..script.variables.len()).map(|number| format!("x{number}")).collect();
                self.values(&mut context, &names).map(Answer::Refuted)
            }
            // A process that its hard limit ends says nothing more, or `timeout`.
            Ok(Response::Unknown) | Err(_) => Ok(Answer::Unknown("timeout".into())),
        }
    }

    /// The values of expressions in a model of a script.
    pub fn evaluate(&self, text: &str, expressions: &[String]) -> Result<Vec<u128>, SolverError> {
        let mut context = self.context(Duration::from_secs(60))?;
        let told = self.tell(&mut context, text)?;
        let answer = context.check().map_err(|error| self.protocol("(check-sat)", error))?;
        if !told || answer != Response::Sat {
            return Err(self.protocol("(check-sat)", format!("{answer:?}")));
        }
        self.values(&mut context, expressions)
    }

    fn context(&self, limit: Duration) -> Result<Context, SolverError> {
        let mut builder = ContextBuilder::new();
        builder.solver(&self.program).solver_args(self.kind.arguments(limit));
        builder.build().map_err(|source| SolverError::Start { program: self.program.clone(), source })
    }

    /// Sends commands, many before their replies are read, since a question has hundreds; false where the solver ends
    /// before it has read them all.
    fn tell(&self, context: &mut Context, text: &str) -> Result<bool, SolverError> {
        let lines: Vec<&str> = text.lines().collect();
        for batch in lines.chunks(200) {
            for line in batch {
                let command = self.parse(context, line)?;
                if context.raw_send(command).is_err() {
                    return Ok(false);
                }
            }
            for line in batch {
                match context.raw_recv().map(|reply| context.display(reply).to_string()) {
                    Ok(reply) if reply == "success" => {}
                    Ok(reply) if reply == "timeout" => return Ok(false),
                    Ok(reply) => return Err(self.protocol(line, reply)),
                    Err(_) => return Ok(false),
                }
            }
        }
        Ok(true)
    }

    fn values(&self, context: &mut Context, expressions: &[String]) -> Result<Vec<u128>, SolverError> {
        let mut values = Vec::with_capacity(expressions.len());
        for text in expressions {
            let expression = self.parse(context, text)?;
            let reply = context.get_value(vec![expression]).map_err(|error| self.protocol(text, error))?;
            let value = reply.first().and_then(|(_, value)| context.get_u128(*value));
            values.push(value.ok_or_else(|| self.protocol(text, "a value that is no bit vector"))?);
        }
        Ok(values)
    }

    fn parse(&self, context: &Context, text: &str) -> Result<SExpr, SolverError> {
        parse(context, text).ok_or_else(|| self.protocol(text, "it has no balanced parentheses"))
    }

    fn protocol(&self, command: &str, reply: impl ToString) -> SolverError {
        let command = command.chars().take(300).collect();
        SolverError::Protocol { solver: self.version.clone(), command, reply: reply.to_string() }
    }
}

/// One expression as the solver's library builds it.
fn parse(context: &Context, text: &str) -> Option<SExpr> {
    let spaced = text.replace('(', " ( ").replace(')', " ) ");
    let mut open: Vec<Vec<SExpr>> = vec![Vec::new()];
    for word in spaced.split_whitespace() {
        let done = match word {
            "(" => {
                open.push(Vec::new());
                continue;
            }
            ")" => context.list(open.pop()?),
            word => context.atom(word),
        };
        open.last_mut()?.push(done);
    }
    let [top] = &open[..] else { return None };
    let [one] = top[..] else { return None };
    Some(one)
}

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

    /// The answer to a question that no answer is kept of: by integers, then by the solver.
    fn fresh(&self, terms: &Terms, query: &Query, script: &Script, limit: Duration) -> Result<Answered, SolverError> {
        if let Some(proved) = self.over_integers(terms, query, limit.min(BRIEFLY))? {
            return Ok(proved);
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

    /// The proof of a question that multiplies or divides over integers; nothing where arithmetic does not show it, and
    /// no solver of integers within the limit.
    fn over_integers(&self, terms: &Terms, query: &Query, limit: Duration) -> Result<Option<Answered>, SolverError> {
        if !integers::is_arithmetic(terms, query) {
            return Ok(None);
        }
        let multiples = integers::with_multiples(terms, query);
        let (mut terms, query) = multiples.map_or((terms.clone(), *query), |(terms, solved)| (terms, solved.query));
        let query = without_unread_bits(&mut terms, &query).query;
        let (terms, query) = (&terms, &query);
        let Some(whole) = integers::question(terms, query) else { return Ok(None) };
        let cases: Option<Vec<Integers>> =
            integers::by_cases(terms, query).iter().map(|(terms, query)| integers::question(terms, query)).collect();
        // No case may be missing.
        let cases = cases.unwrap_or_default();
        let is_shown = |one: &Integers| *one == Integers::Impossible;
        if is_shown(&whole) || !cases.is_empty() && cases.iter().all(is_shown) {
            let solver = "arithmetic".into();
            return Ok(Some(Answered { answer: Answer::Proved, solver, millis: 0, cached: false }));
        }
        let solvers: Vec<&Solver> = self.solver.iter().flat_map(Solver::over_integers).collect();
        if solvers.is_empty() {
            return Ok(None);
        }
        // Where arithmetic shows some of the cases, the others are simpler than the whole.
        let open = if cases.iter().any(is_shown) { cases } else { vec![whole] };
        let open: Vec<Vec<String>> = open.into_iter().filter_map(Integers::texts).collect();
        let (limit, mut millis, mut solver) = (limit / open.len().max(1) as u32, 0, String::new());
        for texts in open {
            let Some(answered) = shown(&solvers, texts, limit)? else { return Ok(None) };
            (solver, millis) = (answered.solver, millis + answered.millis);
        }
        Ok(Some(Answered { answer: Answer::Proved, solver, millis, cached: false }))
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

    /// Of two solvers the second, which answers linear questions soon, comes first; one without integers does not.
    #[test]
    fn questions_over_integers_go_to_all_that_know_them() {
        let solver = |kind: Kind, second| Solver { program: kind.name().into(), kind, version: String::new(), second };
        let kinds = |solver: &Solver| solver.over_integers().map(|one| one.kind).collect::<Vec<_>>();
        let both = solver(Kind::Z3, Some(Box::new(solver(Kind::Cvc5, None))));
        assert_eq!(kinds(&both), [Kind::Cvc5, Kind::Z3]);
        assert_eq!(kinds(&solver(Kind::Bitwuzla, None)), []);
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

    /// What else the machine does must not decide what z3 answers.
    #[test]
    fn limits_of_z3_are_steps() {
        let arguments = Kind::Z3.arguments(Duration::from_secs(20));
        assert!(arguments.contains(&"rlimit=120000000".to_owned()), "{arguments:?}");
        assert!(!arguments.iter().any(|argument| argument.starts_with("-t:")), "{arguments:?}");
        assert!(arguments.contains(&"-T:201".to_owned()), "{arguments:?}");
        assert!(Kind::Z3.arguments(Duration::MAX / 16).contains(&format!("rlimit={}", u32::MAX)));
    }
}
