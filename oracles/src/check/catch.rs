//! Panics as values.
//!
//! A phase that panics is a finding, not the end of the check. While [`catch`] runs, the panic hook keeps the message for
//! it instead of printing; panics of other threads, or outside of it, are printed as ever.

use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
    static MESSAGE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Calls `work`; where it panics, the panic's message and place. Values that `work` was changing must not be used then.
pub fn catch<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if CATCHING.get() {
                MESSAGE.set(text(info));
            } else {
                previous(info);
            }
        }));
    });
    let outer = CATCHING.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    CATCHING.set(outer);
    result.map_err(|_| MESSAGE.take())
}

/// What a panic says, and where.
fn text(info: &panic::PanicHookInfo<'_>) -> String {
    let message = info.payload_as_str().unwrap_or("no message");
    match info.location() {
        Some(at) => format!("{message} (at {}:{})", at.file(), at.line()),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_its_message_and_place() {
        assert_eq!(catch(|| 7), Ok(7));
        let error = catch(|| panic!("the number {} is wrong", 7)).expect_err("it panicked");
        assert!(error.starts_with("the number 7 is wrong (at "), "{error}");
        assert!(error.contains("catch.rs:"), "{error}");
        let inner = catch(|| catch(|| panic!("deep")).is_err());
        assert_eq!(inner, Ok(true));
    }
}
