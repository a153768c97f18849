//! Work without the interpreter's lock, that signals end, and whose panics are exceptions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use oriole_check::supervise::{Panic, catch};
use pyo3::prelude::*;

use crate::error::Error;

/// The longest time until a signal is answered.
const LOOK: Duration = Duration::from_millis(50);
/// Bytes of the stack of a thread that works: as the main thread of a process has.
const STACK: usize = 8 << 20;

/// Asked by work that may take long whether somebody still waits for it.
pub type Stop = Arc<AtomicBool>;

/// Runs a task on a thread of its own, and answers signals while it waits. A task that a signal ends is left behind:
/// what it executes has a budget of steps, and what looks at [`Stop`] ends soon.
///
/// # Errors
///
/// Those of the task, a panic in it, and what a handler of signals raises, such as `KeyboardInterrupt`.
pub fn run<T: Send + 'static>(
    py: Python<'_>,
    task: impl FnOnce(&Stop) -> Result<T, Error> + Send + 'static,
) -> PyResult<T> {
    let (sender, mut receiver) = sync_channel(1);
    let stop = Stop::default();
    let stopped = stop.clone();
    let work = move || {
        let result = catch(|| task(&stopped)).unwrap_or_else(|panic| Err(Error::internal(&panic)));
        // Nobody may wait any more.
        drop(sender.send(result));
    };
    let spawned = thread::Builder::new().name("oriole".to_owned()).stack_size(STACK).spawn(work);
    spawned.map_err(|error| Error::input(format!("no thread can be started: {error}"), "end other threads"))?;
    loop {
        let (waiting, result) = py.detach(|| {
            let result = receiver.recv_timeout(LOOK);
            (receiver, result)
        });
        receiver = waiting;
        match result {
            Ok(result) => return Ok(result?),
            Err(RecvTimeoutError::Timeout) => {
                if let Err(raised) = py.check_signals() {
                    stop.store(true, Ordering::Relaxed);
                    return Err(raised);
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                let panic = Panic { message: "a thread ended without an answer".to_owned(), place: None };
                return Err(Error::internal(&panic).into());
            }
        }
    }
}

/// Panics as a fault of Oriole would, so that tests see what becomes of it.
#[pyfunction]
#[pyo3(name = "_panic_for_tests")]
pub fn panic_for_tests(py: Python<'_>) -> PyResult<()> {
    run(py, |_| panic!("planted by a test"))
}
