//! What a long command shows while it runs, and how it is ended.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use oriole_ir::diagnostics::escape::escaped;

use crate::failure::Failure;

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
        let bar = ProgressBar::new_spinner();
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
        if self.bar.is_hidden() && logged.elapsed() < LOG {
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
    let handler = move || {
        if stop.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    };
    ctrlc::set_handler(handler).map_err(|error| Failure::Output(io::Error::other(error)))
}
