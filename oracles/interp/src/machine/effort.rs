//! The step budget of a run, and what is taken of it.
//!
//! A warp instruction is a step. Some events take far longer than most instructions: the start of a warp, a call of the
//! system's functions, an operation that is executed lane by lane. They are free in the numbers in which ordinary
//! launches have them. Beyond, each counts as the steps that would take as long, so that a run that never ends takes
//! about the same time whatever it does: a step stands for 26 ns, and the default budget for 7 s. How many steps an
//! operation takes stands where it is executed.

/// Events of a kind: how many are free, and the steps that each further one takes.
#[derive(Debug)]
struct Surcharge {
    free: u64,
    steps: u64,
    met: u64,
}

impl Surcharge {
    const fn new(free: u64, steps: u64) -> Surcharge {
        Surcharge { free, steps, met: 0 }
    }

    /// What so many more events take.
    fn of(&mut self, events: u64) -> u64 {
        self.met += events;
        if self.met > self.free { events * self.steps } else { 0 }
    }
}

/// What a run has taken of its budget.
#[derive(Debug)]
pub struct Effort {
    budget: u64,
    /// Warp instructions.
    executed: u64,
    /// Steps for other events.
    charged: u64,
    starts: Surcharge,
    calls: Surcharge,
    extras: Surcharge,
}

impl Effort {
    pub fn new(budget: u64) -> Effort {
        Effort {
            budget,
            executed: 0,
            charged: 0,
            starts: Surcharge::new(1 << 19, 64),
            calls: Surcharge::new(1 << 16, 256),
            extras: Surcharge::new(1 << 26, 1),
        }
    }

    /// Steps that are left.
    pub fn left(&self) -> u64 {
        self.budget.saturating_sub(self.spent())
    }

    /// Steps that were taken.
    pub fn spent(&self) -> u64 {
        self.executed + self.charged
    }

    /// Warp instructions that were executed.
    pub fn executed(&self) -> u64 {
        self.executed
    }

    pub fn execute(&mut self, instructions: u64) {
        self.executed += instructions;
    }

    pub fn start(&mut self, warps: u64) {
        self.charged += self.starts.of(warps);
    }

    pub fn call(&mut self) {
        self.charged += self.calls.of(1);
    }

    /// Steps of operations that take longer than one, as those that are executed lane by lane.
    pub fn extra(&mut self, steps: u64) {
        self.charged += self.extras.of(steps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dear_events_take_steps_beyond_the_free_ones() {
        let mut effort = Effort::new(1000);
        (0..1 << 16).for_each(|_| effort.call());
        effort.execute(300);
        assert_eq!((effort.spent(), effort.left()), (300, 700));
        effort.call();
        assert_eq!((effort.executed(), effort.spent(), effort.left()), (300, 556, 444));
        effort.extra((1 << 26) + 1);
        assert_eq!((effort.executed(), effort.left()), (300, 0));
    }
}
