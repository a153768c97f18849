//! A limit on the memory that a step holds.
//!
//! [`Metered`] counts the bytes that the thread of a step has allocated and not given back. An allocator must not
//! panic, and one that fails ends the process. So a thread that goes beyond its limit says so in its slot and stands
//! still; whoever looks after it gives it up, as with a step that does not end. What it holds goes with the process,
//! and is no more than the limit: the allocation that would exceed it is never made.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::thread;
use std::time::Duration;

/// What a thread may hold while it takes a step: twice what the largest kernel asks for that has a test.
pub const MOST_MEMORY: usize = 2 << 30;

/// What a thread holds beyond what it held when its step began; it may give back what it had before.
struct Meter {
    held: Cell<isize>,
    most: Cell<isize>,
}

thread_local! {
    static METER: Meter = const { Meter { held: Cell::new(0), most: Cell::new(isize::MAX) } };
}

/// Counts from now on. `None` counts without a limit.
pub(super) fn begin(most: Option<usize>) {
    METER.with(|meter| {
        meter.held.set(0);
        meter.most.set(most.and_then(|most| isize::try_from(most).ok()).unwrap_or(isize::MAX));
    });
}

/// An allocator that keeps the threads of steps to their limits.
#[derive(Debug, Default)]
pub struct Metered<A>(pub A);

impl<A> Metered<A> {
    fn charge(bytes: isize) {
        METER.with(|meter| {
            let held = meter.held.get().wrapping_add(bytes);
            meter.held.set(held);
            if held > meter.most.get() {
                // What follows may allocate.
                meter.most.set(isize::MAX);
                stand_still();
            }
        });
    }
}

#[cold]
fn stand_still() -> ! {
    super::note_exhausted();
    loop {
        thread::sleep(Duration::from_secs(3600));
    }
}

/// The layout of an allocation has at most `isize::MAX` bytes.
fn signed(bytes: usize) -> isize {
    bytes as isize
}

// SAFETY: every call is passed on as it is; counting neither allocates nor panics.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Metered<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::charge(signed(layout.size()));
        // SAFETY: the caller keeps the contract of the inner allocator.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::charge(signed(layout.size()));
        // SAFETY: as above.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        Self::charge(-signed(layout.size()));
        // SAFETY: as above.
        unsafe { self.0.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Self::charge(signed(size).wrapping_sub(signed(layout.size())));
        // SAFETY: as above.
        unsafe { self.0.realloc(place, layout, size) }
    }
}
