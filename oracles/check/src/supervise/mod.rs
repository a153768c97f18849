//! Supervision of work that may go wrong in any way: panics, limits of time and of memory as values.
//!
//! [`catch`] turns a panic into a value. A step that does not end is seen by the clock of its thread: each one notes in
//! its [`Slot`] which step is running since when ([`enter`]), and another thread looks at it. A thread cannot be ended:
//! it is left behind, and goes with the process. So is one whose step takes memory without end ([`memory`]). Running
//! programs needs no such care, as every run has a budget of steps.
//!
//! This module is the lowest layer of the harness: it depends on no program, check or finding.

mod clock;
pub mod memory;
mod panics;
mod step_id;

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use clock::Clock;
use memory::MOST_MEMORY;
pub use panics::{Panic, catch, hand_on};
pub use step_id::StepId;

/// A step whose thread runs for longer does not end. The slowest real one takes a tenth of a second for a kernel of ten
/// thousand instructions.
pub const LIMIT: Duration = Duration::from_secs(10);
/// A step that takes that many times as long on the clock hangs, however little its thread has run.
const BUSY: u32 = 12;
/// A thread that has run for no more than this part of the time does not wait for its turn on a busy machine: it waits
/// for something that does not come.
const WAITING: u32 = 64;
/// The longest pause between two looks at a slot.
pub const PAUSE: Duration = Duration::from_millis(50);

/// Where a thread notes the step that it is taking.
#[derive(Debug)]
pub struct Slot {
    running: Mutex<Option<Running>>,
    /// What the thread may hold while it takes a step.
    memory: usize,
    /// Whether it would hold more, and stands still.
    exhausted: AtomicBool,
}

/// A step that was given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GivenUp {
    /// The step.
    pub step: StepId,
    /// What it takes without end.
    pub excess: Excess,
}

/// What a step takes more of than it may.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Excess {
    /// It runs for longer.
    Time,
    /// It would hold more than so many bytes.
    Memory(usize),
}

/// A step that has begun.
#[derive(Clone, Copy, Debug)]
struct Running {
    step: StepId,
    since: Instant,
    /// The clock of the thread, and its time then.
    clock: Clock,
    ran: Option<Duration>,
}

impl Running {
    fn new(step: StepId) -> Running {
        let clock = Clock::of_this_thread();
        Running { step, since: Instant::now(), clock, ran: clock.now() }
    }

    /// Whether its thread has run for longer than `limit` since, or waits for so long.
    fn is_overdue(&self, limit: Duration) -> bool {
        let elapsed = self.since.elapsed();
        if elapsed < limit {
            return false;
        }
        let ran = self.ran.and_then(|then| self.clock.now()?.checked_sub(then)).unwrap_or(elapsed);
        ran >= limit || ran <= elapsed / WAITING || elapsed >= BUSY * limit
    }
}

thread_local! {
    static SLOT: RefCell<Option<Arc<Slot>>> = const { RefCell::new(None) };
}

impl Slot {
    /// A slot of a thread that may hold so many bytes while it takes a step.
    pub fn with_memory(memory: usize) -> Slot {
        Slot { running: Mutex::default(), memory, exhausted: AtomicBool::new(false) }
    }

    /// The step that has been running for longer than `limit`, or takes too much memory.
    pub fn overdue(&self, limit: Duration) -> Option<GivenUp> {
        let running = (*self.lock())?;
        let step = running.step;
        if self.exhausted.load(Ordering::Relaxed) {
            return Some(GivenUp { step, excess: Excess::Memory(self.memory) });
        }
        running.is_overdue(limit).then_some(GivenUp { step, excess: Excess::Time })
    }

    fn lock(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Slot {
    fn default() -> Slot {
        Slot::with_memory(MOST_MEMORY)
    }
}

/// Notes that this thread is about to hold more than it may.
fn note_exhausted() {
    SLOT.with(|slot| {
        if let Ok(slot) = slot.try_borrow()
            && let Some(slot) = &*slot
        {
            slot.exhausted.store(true, Ordering::Relaxed);
        }
    });
}

/// Makes this thread note its steps in a slot.
pub fn show_in(slot: Arc<Slot>) {
    SLOT.set(Some(slot));
}

/// Marks a step as running; on drop the step in which it began is the running one again.
#[must_use]
pub struct Entered {
    slot: Option<Arc<Slot>>,
    outer: Option<Running>,
}

/// Notes that a step begins.
pub fn enter(step: StepId) -> Entered {
    let slot = SLOT.with_borrow(Clone::clone);
    let outer = slot.as_ref().and_then(|slot| slot.lock().replace(Running::new(step)));
    if let (Some(slot), None) = (&slot, &outer) {
        memory::begin(Some(slot.memory));
    }
    Entered { slot, outer }
}

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(slot) = &self.slot {
            *slot.lock() = self.outer;
            if self.outer.is_none() {
                memory::begin(None);
            }
        }
    }
}

/// Runs `work` on a thread of its own. A panic continues in this thread.
///
/// # Errors
///
/// The step that ran for longer than `limit`, or took too much memory; the thread is left behind.
pub fn within<T: Send + 'static>(limit: Duration, work: impl FnOnce() -> T + Send + 'static) -> Result<T, GivenUp> {
    let slot = Arc::<Slot>::default();
    let (sender, receiver) = channel();
    let own = slot.clone();
    let thread = thread::spawn(move || {
        show_in(own);
        // An abandoned thread has no receiver any more.
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
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Stuck {
    /// It has panicked.
    #[error("{0}")]
    Panicked(Panic),
    /// It, or this step within it, has not ended in time.
    #[error("{0} does not end")]
    Hangs(StepId),
    /// It, or this step within it, would hold more memory than this many bytes.
    #[error("{0} holds more than {1} bytes")]
    OutOfMemory(StepId, usize),
}

impl From<GivenUp> for Stuck {
    fn from(GivenUp { step, excess }: GivenUp) -> Stuck {
        match excess {
            Excess::Time => Stuck::Hangs(step),
            Excess::Memory(most) => Stuck::OutOfMemory(step, most),
        }
    }
}

/// Takes a step on a thread of its own, whatever becomes of it.
///
/// # Errors
///
/// A panic, or that it does not end in time.
pub fn guard<T: Send + 'static>(
    step: StepId,
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Stuck> {
    let entered = move || {
        let _running = enter(step);
        catch(work)
    };
    within(limit, entered)?.map_err(Stuck::Panicked)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(40);

    #[test]
    fn work_that_ends_and_work_outside_of_steps_is_waited_for() {
        assert_eq!(within(SHORT, || 7), Ok(7));
        let slow = || {
            drop(enter(StepId::Generation));
            thread::sleep(4 * SHORT);
            8
        };
        assert_eq!(within(SHORT, slow), Ok(8));
    }

    #[test]
    fn a_step_that_does_not_end_is_named() {
        let endless = || {
            let _running = enter(StepId::first("Endless"));
            thread::sleep(Duration::from_secs(3600));
        };
        let step = StepId::first("Endless");
        assert_eq!(within(SHORT, endless), Err(GivenUp { step, excess: Excess::Time }));
    }

    #[test]
    fn a_guarded_step_gives_its_result_or_says_why_not() {
        assert_eq!(guard(StepId::FrontEnd, SHORT, || 7), Ok(7));
        let panics = guard(StepId::FrontEnd, SHORT, || panic!("no way"));
        let Err(Stuck::Panicked(panic)) = panics else { panic!("it is caught") };
        assert_eq!(panic.message, "no way");
        let inner = || {
            drop(enter(StepId::SsaConstruction));
            thread::sleep(Duration::from_secs(3600));
        };
        assert_eq!(guard(StepId::FrontEnd, SHORT, inner), Err(Stuck::Hangs(StepId::FrontEnd)));
    }

    #[test]
    #[should_panic(expected = "a bug of the check")]
    fn a_panic_stays_one() {
        let _ = within(SHORT, || panic!("a bug of the check"));
    }
}
