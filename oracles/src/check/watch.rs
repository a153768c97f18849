//! Steps that do not end, seen by the clock.
//!
//! A phase that asks before each change is ended after far too many of them, which is the same everywhere and always
//! ([`ENDLESS`](oriole_optimizer::pipeline::context::ENDLESS)). One that goes round without asking is seen from outside: each
//! thread notes in its [`Slot`] which step is under way since when, and another thread looks at it. A thread cannot be ended:
//! it is left behind, and goes with the process. Running programs needs no such care, as every run has a budget of steps.

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use oriole_optimizer::ir::Module;

use super::blame::{Said, of_step};
use super::border::Border;
use super::catch::catch;
use super::report::{Finding, HANG, KernelReport};
use super::step::take;
use super::{CheckError, CheckOptions, cases, check, check_module, target_of};
use crate::input::NamedLaunch;

/// A step that takes longer does not end. The slowest real one takes a tenth of a second for a kernel of ten thousand
/// instructions.
pub const LIMIT: Duration = Duration::from_secs(10);
/// The shape of a finding that the clock has shown. To look for it again in this process would hang again.
pub const SHAPE: &str = "does not end by itself";
/// The longest pause between two looks.
pub const PAUSE: Duration = Duration::from_millis(50);

/// What a thread is at.
#[derive(Debug, Default)]
pub struct Slot(Mutex<Option<UnderWay>>);

/// A step, and when it began.
type UnderWay = (&'static str, Instant);

thread_local! {
    static SLOT: RefCell<Option<Arc<Slot>>> = const { RefCell::new(None) };
}

impl Slot {
    /// The step that takes longer than that.
    pub fn overdue(&self, limit: Duration) -> Option<&'static str> {
        self.lock().filter(|(_, since)| since.elapsed() >= limit).map(|(step, _)| step)
    }

    fn lock(&self) -> MutexGuard<'_, Option<UnderWay>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets a slot say what this thread is at.
pub fn show_in(slot: Arc<Slot>) {
    SLOT.set(Some(slot));
}

/// As long as it lives, a step is under way; then the one is again in which it began.
pub(crate) struct Entered {
    slot: Option<Arc<Slot>>,
    outer: Option<UnderWay>,
}

/// Notes that a step begins.
pub(crate) fn enter(step: &'static str) -> Entered {
    let slot = SLOT.with_borrow(Clone::clone);
    let outer = slot.as_ref().and_then(|slot| slot.lock().replace((step, Instant::now())));
    Entered { slot, outer }
}

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(slot) = &self.slot {
            *slot.lock() = self.outer;
        }
    }
}

/// Does some work in a thread of its own; where a step of it does not end in time, the name of the step.
fn within<T: Send + 'static>(limit: Duration, work: impl FnOnce() -> T + Send + 'static) -> Result<T, &'static str> {
    let slot = Arc::<Slot>::default();
    let (sender, receiver) = channel();
    let own = slot.clone();
    let thread = thread::spawn(move || {
        show_in(own);
        // Nobody listens to a thread that was given up.
        let _ = sender.send(work());
    });
    loop {
        match receiver.recv_timeout(PAUSE.min(limit)) {
            Ok(value) => return Ok(value),
            Err(RecvTimeoutError::Timeout) => slot.overdue(limit).map_or(Ok(()), Err)?,
            Err(RecvTimeoutError::Disconnected) => match thread.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => unreachable!("a thread that ends in order has sent its result"),
            },
        }
    }
}

/// Why a step has no result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stuck {
    /// It has panicked, and said so.
    Panicked(String),
    /// It, or this step within it, has not ended in time.
    Hangs(&'static str),
}

/// Takes a step of this name, whatever becomes of it.
///
/// # Errors
///
/// A panic, or that it does not end in time.
pub fn guard<T: Send + 'static>(
    step: &'static str,
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Stuck> {
    let entered = move || {
        let _under_way = enter(step);
        catch(work)
    };
    within(limit, entered).map_err(Stuck::Hangs)?.map_err(Stuck::Panicked)
}

/// A kernel with its launches, and how it is checked.
#[derive(Clone, Debug)]
pub struct Job {
    /// The kernel's name.
    pub name: String,
    /// The kernel.
    pub module: Module,
    /// Its launches.
    pub launches: Vec<NamedLaunch>,
    /// How it is checked.
    pub options: CheckOptions,
}

impl Job {
    /// Checks the kernel as [`check_module`] does. A step that does not end in time is a finding, and left out.
    ///
    /// # Errors
    ///
    /// As [`check_module`].
    pub fn check(&self, limit: Duration) -> Result<KernelReport, CheckError> {
        let job = self.clone();
        match within(limit, move || check_module(&job.name, &job.module, &job.launches, &job.options)) {
            Ok(report) => report,
            Err(step) => {
                let finding = self.hang(step, limit)?;
                let mut report = match self.without(step) {
                    Some(rest) => rest.check(limit)?,
                    None => cases::first_runs(&self.name, &self.module, &self.launches, &self.options)?.1,
                };
                report.findings.push(finding);
                report.conclude();
                Ok(report)
            }
        }
    }

    /// The same without a step; `None` where nothing can be done without it.
    fn without(&self, step: &str) -> Option<Job> {
        let mut job = self.clone();
        match Border::named(step) {
            Some(Border::Construction) => return None,
            Some(Border::RoundTrip) => job.options.round_trip = false,
            None => job.options.phases.retain(|entry| entry.name() != step),
        }
        Some(job)
    }

    /// The module that a step gets, all before it having ended.
    fn before(&self, step: &str) -> Result<Module, CheckError> {
        let mut options = CheckOptions { out: None, round_trip: false, ..self.options.clone() };
        match Border::named(step) {
            Some(Border::Construction) => return Ok(self.module.clone()),
            Some(Border::RoundTrip) => {}
            None => {
                let at = options.phases.iter().position(|entry| entry.name() == step);
                options.phases.truncate(at.unwrap_or(options.phases.len()));
            }
        }
        Ok(check(&self.name, &self.module, &self.launches, &options)?.1)
    }

    /// What to report of a step that does not end.
    ///
    /// # Errors
    ///
    /// As [`check_module`].
    pub fn hang(&self, step: &'static str, limit: Duration) -> Result<Finding, CheckError> {
        let detail = format!("{step} has not ended after {:?}", limit);
        let token = Border::named(step).map_or(step, Border::token);
        let said = Said { step, token, verdict: HANG, detail, shape: SHAPE.to_owned(), bisected: true };
        let launch = self.launches.first().map(|named| (named.name.as_str(), &named.launch));
        let finding = of_step(&self.name, said, &self.before(step)?, launch, &self.options)?;
        let stated = if limit == LIMIT { String::new() } else { format!(" --hang-after {}ms", limit.as_millis()) };
        Ok(Finding { replay: finding.replay + &stated, ..finding })
    }

    /// Whether a step does not end on the module of a finding, in another thread.
    ///
    /// # Errors
    ///
    /// A module for an unknown target.
    pub fn hangs_again(&self, finding: &Finding, limit: Duration) -> Result<bool, CheckError> {
        let (mut module, faults) = (finding.evidence.module.clone(), self.options.faults.clone());
        if let Some(border) = Border::named(&finding.phase) {
            return Ok(within(limit, move || drop(border.cross(&module, &faults))).is_err());
        }
        let Some(entry) = self.options.phases.iter().find(|entry| entry.name() == finding.phase).copied() else {
            return Ok(false);
        };
        let mut pipeline = self.options.pipeline.clone();
        pipeline.target = target_of(&module)?;
        Ok(within(limit, move || drop(take(&entry, &mut module, &pipeline, None))).is_err())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(40);

    #[test]
    fn work_that_ends_and_work_outside_of_steps_is_waited_for() {
        assert_eq!(within(SHORT, || 7), Ok(7));
        let slow = || {
            drop(enter("a step"));
            thread::sleep(4 * SHORT);
            8
        };
        assert_eq!(within(SHORT, slow), Ok(8));
    }

    #[test]
    fn a_step_that_does_not_end_is_named() {
        let endless = || {
            let _under_way = enter("the step");
            thread::sleep(Duration::from_secs(3600));
        };
        assert_eq!(within(SHORT, endless), Err("the step"));
    }

    #[test]
    fn a_guarded_step_gives_its_result_or_says_why_not() {
        assert_eq!(guard("a step", SHORT, || 7), Ok(7));
        let Err(Stuck::Panicked(message)) = guard("a step", SHORT, || panic!("no way")) else { panic!("it is caught") };
        assert!(message.starts_with("no way (at "), "{message}");
        let inner = || {
            drop(enter("an inner step"));
            thread::sleep(Duration::from_secs(3600));
        };
        assert_eq!(guard("the outer step", SHORT, inner), Err(Stuck::Hangs("the outer step")));
    }

    #[test]
    #[should_panic(expected = "a bug of the check")]
    fn a_panic_stays_one() {
        let _ = within(SHORT, || panic!("a bug of the check"));
    }
}
