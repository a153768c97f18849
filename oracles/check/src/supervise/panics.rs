//! Panics as values.
//!
//! A phase that panics is a finding, not the end of the check. While [`catch`] runs, the panic hook keeps the message
//! for it instead of printing; panics of other threads, or outside of it, are printed as ever.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

/// A panic that was caught.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Panic {
    /// What it says.
    pub message: String,
    /// Where it was raised: `file:line`.
    pub place: Option<String>,
}

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
    static CAUGHT: RefCell<Option<Panic>> = const { RefCell::new(None) };
}

/// Calls `work`. Values that `work` was changing must not be used after a panic.
///
/// # Errors
///
/// The panic in which `work` ended.
pub fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Panic> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if CATCHING.get() {
                CAUGHT.set(Some(Panic::of(info)));
            } else {
                previous(info);
            }
        }));
    });
    let outer = CATCHING.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    CATCHING.set(outer);
    result.map_err(|raised| match raised.downcast() {
        Ok(of_other_thread) => *of_other_thread,
        Err(_) => CAUGHT.take().unwrap_or_default(),
    })
}

/// Calls `work` in a thread that works for another one, which is inside of [`catch`].
///
/// # Panics
///
/// If `work` does, with a payload from which [`catch`] takes message and place when the other thread raises it again.
pub fn hand_on(work: impl FnOnce()) {
    catch(work).unwrap_or_else(|panic| panic::resume_unwind(Box::new(panic)));
}

impl Panic {
    fn of(info: &panic::PanicHookInfo<'_>) -> Panic {
        let message = info.payload_as_str().unwrap_or("no message").to_owned();
        Panic { message, place: info.location().map(|at| format!("{}:{}", at.file(), at.line())) }
    }
}

impl fmt::Display for Panic {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(out, "{} (at {place})", self.message),
            None => out.write_str(&self.message),
        }
    }
}

impl std::error::Error for Panic {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_its_message_and_place() {
        assert_eq!(catch(|| 7), Ok(7));
        let panic = catch(|| panic!("the number {} is wrong", 7)).expect_err("it panicked");
        assert_eq!(panic.message, "the number 7 is wrong");
        assert!(panic.place.as_ref().is_some_and(|place| place.contains("panics.rs:")), "{panic:?}");
        assert!(panic.to_string().starts_with("the number 7 is wrong (at "), "{panic}");
        let inner = catch(|| catch(|| panic!("deep")).is_err());
        assert_eq!(inner, Ok(true));
    }

    #[test]
    fn a_panic_of_another_thread_keeps_message_and_place() {
        let join = || std::thread::spawn(|| hand_on(|| panic!("far away"))).join();
        let panic = catch(|| join().unwrap_or_else(|panic| panic::resume_unwind(panic))).expect_err("it panicked");
        assert!(panic.to_string().starts_with("far away (at ") && panic.to_string().contains("panics.rs:"), "{panic}");
    }
}
