//! What a long command shows while it runs, and how it is ended.

use std::fmt::Display;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use oriole_ir::diagnostics::escape::escaped;

use crate::failure::Failure;

/// Whether progress and remarks are left out.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Leaves progress and remarks out from now on, where that is wanted.
pub fn set_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Whether progress and remarks are left out.
fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Says something on standard error that changes nothing.
pub fn remark(text: impl Display) {
    if !is_quiet() {
        // Nobody is left to tell where standard error is closed.
        drop(writeln!(io::stderr(), "{text}"));
    }
}

/// A bar on standard error over so many things, if that is a terminal.
pub fn bar(count: usize) -> ProgressBar {
    if is_quiet() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(count as u64);
    match ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {wide_msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Between lines of progress where standard error is no terminal, as in the logs of a CI job.
const LOG: Duration = Duration::from_secs(30);

/// Progress on standard error: a line that changes on a terminal, a line now and then elsewhere.
pub struct Live {
    bar: ProgressBar,
    start: Instant,
    logged: Mutex<Instant>,
}

impl Live {
    /// Begins.
    pub fn new() -> Live {
        let bar = if is_quiet() { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
        let bar = match ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}") {
            Ok(style) => bar.with_style(style),
            Err(_) => bar,
        };
        bar.enable_steady_tick(Duration::from_millis(200));
        Live { bar, start: Instant::now(), logged: Mutex::new(Instant::now()) }
    }

    /// Shows how far the command is; the line is made where it is shown.
    pub fn show(&self, line: impl FnOnce(Duration) -> String) {
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        if self.bar.is_hidden() && (is_quiet() || logged.elapsed() < LOG) {
            return;
        }
        let line = line(self.start.elapsed());
        if self.bar.is_hidden() {
            *logged = Instant::now();
            // Nobody is left to tell where standard error is closed.
            let _ = writeln!(io::stderr(), "{line}");
        } else {
            self.bar.set_message(line);
        }
    }

    /// Says something that stays.
    pub fn say(&self, line: &str) {
        if is_quiet() {
            return;
        }
        // Nobody is left to tell where standard error is closed.
        self.bar.suspend(|| drop(writeln!(io::stderr(), "{}", escaped(line))));
    }

    /// Ends, and says how long it took.
    pub fn finish(&self) -> Duration {
        self.bar.finish_and_clear();
        self.start.elapsed()
    }
}

/// The first signal (SIGINT, SIGTERM, SIGHUP) asks the command to end in order, the second ends it at once.
pub fn stop_on_signal(stop: Arc<AtomicBool>) -> Result<(), Failure> {
    stop_or(stop, || {})
}

/// The same; `first` is called on the first signal, in another thread, and may end the process.
pub fn stop_or(stop: Arc<AtomicBool>, first: impl Fn() + Send + 'static) -> Result<(), Failure> {
    let handler = move || {
        if stop.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        first();
    };
    ctrlc::set_handler(handler).map_err(|error| Failure::Output(io::Error::other(error)))
}
