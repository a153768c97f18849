//! Answers by an SMT solver: z3, cvc5 or bitwuzla, as a process of its own for each question.
//!
//! [`Solver::find`] takes the first of them on the path, or the program that the user names.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use easy_smt::{Context, ContextBuilder, Response, SExpr};

use super::cache::CacheError;
use super::query::Inputs;
use super::text::Script;

/// What a solver says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// No inputs meet the goal.
    Proved,
    /// These do: a value for each variable of the question's text, or of the arena where [`crate::Prover::ask`]
    /// answers.
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
    pub(super) fn over_integers(&self) -> impl Iterator<Item = &Solver> {
        let all = self.second.as_deref().into_iter().chain([self]);
        all.filter(|solver| solver.kind != Kind::Bitwuzla)
    }

    /// Those that answer questions over floats, the quickest first: cvc5 and bitwuzla soon, z3 of a few.
    pub(super) fn over_floats(&self) -> impl Iterator<Item = &Solver> {
        self.second.as_deref().into_iter().chain([self])
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
