//! The processor time of a thread, as other threads see it: on a busy machine a step waits long for its turn, and does
//! not hang.

use std::time::Duration;

/// The clock of a thread. It has no time where the system counts none.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Option<libc::clockid_t>);

impl Clock {
    /// The clock of this thread.
    #[cfg(target_os = "linux")]
    pub fn of_this_thread() -> Clock {
        let mut id = 0;
        // SAFETY: this thread runs, and the place outlives the call.
        let said = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut id) };
        Clock((said == 0).then_some(id))
    }

    /// The clock of this thread.
    #[cfg(not(target_os = "linux"))]
    pub fn of_this_thread() -> Clock {
        Clock(None)
    }

    /// The time that the thread has run; nothing where the system does not say, or the thread is gone.
    pub fn now(self) -> Option<Duration> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the place outlives the call; of a thread that is gone the system refuses the clock.
        let said = unsafe { libc::clock_gettime(self.0?, &raw mut time) };
        let parts = (u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?);
        (said == 0).then(|| Duration::new(parts.0, parts.1))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn work_counts_and_sleep_does_not() {
        let clock = Clock::of_this_thread();
        let before = clock.now().unwrap();
        std::thread::sleep(Duration::from_millis(50));
        assert!(clock.now().unwrap() - before < Duration::from_millis(40));
        let start = Instant::now();
        while clock.now().unwrap() - before < Duration::from_millis(20) {
            assert!(start.elapsed() < Duration::from_secs(60));
        }
        // Another thread sees the same clock.
        let seen = std::thread::spawn(move || clock.now().unwrap()).join().unwrap();
        assert!(seen - before >= Duration::from_millis(20));
    }
}
