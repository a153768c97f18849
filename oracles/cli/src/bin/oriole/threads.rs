//! How many functions `opt` works on at the same time, and the jobserver of make that may limit it
//! (`spec/pass-pipeline.txt`, lines 76 to 84).

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;

use jobserver::{Acquired, Client, FromEnvErrorKind};
use miette::miette;
use oriole_check::supervise::hand_on;
use oriole_optimizer::pass::{PassOption, PassOptions};
use oriole_optimizer::pipeline::nvopt;
use oriole_optimizer::pipeline::workers::{self, Workers};

use crate::failure::Failure;
use crate::live::{remark, stop_or};

/// How many threads work.
#[derive(clap::Args)]
pub struct Threads {
    /// Work on at most so many functions at the same time, 0 for as many as there are processors; the result is the
    /// same for every number
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
    /// Take each thread but the first from the jobserver of make. Where MAKEFLAGS names one that works, that is done
    /// anyway; with this option its absence is a warning, and one thread works
    #[arg(long)]
    jobserver: bool,
    /// Optimize the module in so many parts that see nothing of each other's functions, at the same time; 0 for as many
    /// as there are processors, 1 for the module as a whole
    #[arg(long, value_name = "N")]
    split_compile: Option<usize>,
}

impl Threads {
    /// How many parts the module is split into; 1 leaves it whole.
    pub fn parts(&self, options: &PassOptions) -> usize {
        let of_option = || usize::try_from(options.number(PassOption::of_slot(nvopt::SPLIT))?).ok();
        match self.split_compile.or_else(of_option) {
            Some(0) => processors(),
            Some(parts) => parts,
            None => 1,
        }
    }

    /// Those who work on functions.
    pub fn workers(&self, options: &PassOptions) -> Result<Workers, Failure> {
        let asked = self.jobserver || options.flag(PassOption::of_slot(nvopt::JOBSERVER)) == Some(true);
        let most = match self.threads {
            0 => processors(),
            threads => threads,
        };
        if most == 1 {
            return Ok(Workers::default());
        }
        // SAFETY: nothing has opened a file that could have one of the numbers which make has handed down, for this
        // process has only read the kernel, and closed it again.
        let server = unsafe { Client::from_env_ext(true) }.client;
        let server = match server {
            Ok(client) => Some(Server { client, taken: Arc::default() }),
            Err(error) if !asked || missing(error.kind()) => {
                if asked {
                    remark(format_args!("jobserver pipe problem: {error}; one thread works"));
                }
                // A make that hands none down has other work for the processors.
                let alone =
                    asked || !matches!(error.kind(), FromEnvErrorKind::NoEnvVar | FromEnvErrorKind::NoJobserver);
                return Ok(Workers::new(if alone { 1 } else { most }, Arc::new(Crew { server: None })));
            }
            Err(error) => {
                let help = "MAKEFLAGS has `--jobserver-auth=fifo:PATH` or `--jobserver-auth=R,W`; make writes it";
                let message = "GNU Jobserver support requested, but an error occurred";
                return Err(Failure::Input(miette!(help = help, "{message}: {error}")));
            }
        };
        if let Some(server) = &server {
            let taken = server.taken.clone();
            // make would wait forever for what an interrupted process keeps.
            stop_or(Arc::new(AtomicBool::new(false)), move || {
                locked(&taken).give_back();
                std::process::exit(130);
            })?;
        }
        Ok(Workers::new(most, Arc::new(Crew { server })))
    }
}

fn processors() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// Whether there is no jobserver for this process, which is no mistake of anybody.
fn missing(kind: FromEnvErrorKind) -> bool {
    use FromEnvErrorKind::{CannotOpenFd, NegativeFd, NoEnvVar, NoJobserver, NotAPipe, Unsupported};
    matches!(kind, NoEnvVar | NoJobserver | NegativeFd | CannotOpenFd | NotAPipe | Unsupported)
}

/// Threads whose panics the main thread raises again. Each needs a token of make where there is a jobserver.
#[derive(Debug)]
struct Crew {
    server: Option<Server>,
}

impl workers::Crew for Crew {
    fn token(&self) -> Option<workers::Token> {
        match &self.server {
            None => Some(Box::new(())),
            Some(server) => server.take().map(|token| Box::new(token) as workers::Token),
        }
    }

    fn call(&self, work: &mut dyn FnMut()) {
        hand_on(work);
    }
}

/// The jobserver of make. The process itself has the right to one thread without a token.
#[derive(Debug)]
struct Server {
    client: Client,
    taken: Arc<Mutex<Taken>>,
}

/// The tokens that are out.
#[derive(Debug, Default)]
struct Taken {
    tokens: BTreeMap<u64, Acquired>,
    /// The number of the next one.
    next: u64,
    /// Whether the process ends.
    ends: bool,
}

impl Taken {
    fn give_back(&mut self) {
        self.ends = true;
        self.tokens.clear();
    }
}

/// A token, which goes back to make when it is dropped.
struct Token {
    number: u64,
    taken: Arc<Mutex<Taken>>,
}

impl Drop for Token {
    fn drop(&mut self) {
        locked(&self.taken).tokens.remove(&self.number);
    }
}

impl Server {
    /// A token, if make has one now. A pipe that fails has none.
    fn take(&self) -> Option<Token> {
        let acquired = self.client.try_acquire().ok()??;
        let mut taken = locked(&self.taken);
        if taken.ends {
            return None;
        }
        let number = taken.next;
        taken.next += 1;
        taken.tokens.insert(number, acquired);
        Some(Token { number, taken: self.taken.clone() })
    }
}

fn locked(taken: &Mutex<Taken>) -> MutexGuard<'_, Taken> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}
