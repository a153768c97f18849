//! Workers of a campaign, and the supervisor that looks after them.
//!
//! A worker draws cases, checks them, and hands over the results. It publishes its current task in a [`WorkerSlot`],
//! where the supervisor sees a step that does not end ([`supervise`]). The supervisor then gives the worker up, keeps
//! the results so far, records a finding if the step does not end a second time either, and starts another worker. The
//! abandoned thread does nothing more should it come back. Cases that continue when the time of the campaign is up are
//! left in the same way, and count as not done.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::record::Reduction;
use super::shared_state::Local;
use super::target::Case;
use super::{Campaign, CampaignError, Glance, case_name};
use oriole_check::job::Job;
use oriole_check::report::Finding;
use oriole_check::supervise::{self, Excess, GivenUp, Slot};

/// Steps that do not end keep their threads, and what those hold. After so many the campaign ends.
pub const MOST_GIVEN_UP: usize = 16;
/// A step that was given up so often is left out from then on, so that it does not take the campaign with it.
pub(super) const ENOUGH_GIVEN_UP: u32 = 4;

/// What a worker may hold while it takes a step: a hundred times what any step on a generated kernel needs.
const MEMORY: usize = 512 << 20;

/// How long cases may continue when the time of a campaign is up. Beyond, they are left: another run does them.
const GRACE: Duration = Duration::from_secs(3);
/// A step that takes longer may be one that does not end, which is worth waiting for.
const SLOW: Duration = Duration::from_secs(1);

/// What a worker is at.
#[derive(Debug, Default)]
enum At {
    #[default]
    Nothing,
    /// A case: its place in the order of cases, and its number.
    Case(u64, u64),
    /// The reduction of a finding.
    Reduction(String),
}

/// What a worker shares with the supervisor.
#[derive(Debug)]
pub(super) struct WorkerSlot {
    slot: Arc<Slot>,
    state: Mutex<WorkerState>,
}

#[derive(Debug, Default)]
struct WorkerState {
    at: At,
    local: Local,
    given_up: bool,
}

impl Default for WorkerSlot {
    fn default() -> WorkerSlot {
        WorkerSlot { slot: Arc::new(Slot::with_memory(MEMORY)), state: Mutex::default() }
    }
}

impl WorkerSlot {
    fn state(&self) -> MutexGuard<'_, WorkerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A case begins.
    pub fn begin(&self, place: u64, number: u64) {
        self.state().at = At::Case(place, number);
    }

    /// The reduction of a finding begins.
    pub fn reduces(&self, id: &str) {
        self.state().at = At::Reduction(id.to_owned());
    }

    /// What was begun is done: adds to what the worker has. `None` where the worker was given up, whose work is then
    /// somebody else's.
    pub fn done<T>(&self, add: impl FnOnce(&mut Local) -> T) -> Option<T> {
        let mut state = self.state();
        state.at = At::Nothing;
        (!state.given_up).then(|| add(&mut state.local))
    }

    /// Gives the worker up if a step of it is overdue: the step, what it was at, and what it has done.
    fn give_up(&self, campaign: &Campaign) -> Option<(GivenUp, At, Local)> {
        let mut state = self.state();
        let step = self.slot.overdue(campaign.options.hang_after)?;
        state.given_up = true;
        Some((step, std::mem::take(&mut state.at), std::mem::take(&mut state.local)))
    }
}

impl WorkerSlot {
    /// Gives the worker up in the middle of a case, unless a step of it may not end: what it has done before.
    fn leave(&self) -> Option<Local> {
        let mut state = self.state();
        if !matches!(state.at, At::Case(..)) || self.slot.overdue(SLOW).is_some() {
            return None;
        }
        state.given_up = true;
        Some(std::mem::take(&mut state.local))
    }
}

/// A worker that has ended, and how: a panic is one of the campaign itself.
struct Ended {
    number: usize,
    result: Result<Result<(), CampaignError>, Box<dyn Any + Send>>,
}

/// The workers at their slots, by number.
struct Pool<'a> {
    campaign: &'a Arc<Campaign>,
    slots: Vec<(usize, Arc<WorkerSlot>)>,
    started: usize,
    ends: Sender<Ended>,
}

/// Runs a campaign with so many workers, and says how many were given up. `progress` sees it now and then.
pub(super) fn run(
    campaign: &Arc<Campaign>,
    workers: usize,
    progress: &impl Fn(Glance<'_>),
) -> Result<usize, CampaignError> {
    let (ends, ended) = channel();
    let mut pool = Pool { campaign, slots: Vec::new(), started: 0, ends };
    (0..workers).try_for_each(|_| pool.start())?;
    let mut result = Ok(());
    let mut given_up = 0;
    while !pool.slots.is_empty() {
        match ended.recv_timeout(supervise::PAUSE.min(campaign.options.hang_after)) {
            Ok(Ended { number, result: end }) => {
                pool.slots.retain(|(other, _)| *other != number);
                let end = end.unwrap_or_else(|panic| resume_unwind(panic));
                if end.is_err() {
                    campaign.stop.store(true, Ordering::Relaxed);
                }
                result = result.and(end);
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                given_up += pool.replace_stuck()?;
                if given_up >= MOST_GIVEN_UP {
                    campaign.stop.store(true, Ordering::Relaxed);
                }
            }
        }
        if campaign.options.time.is_some_and(|time| campaign.start.elapsed() >= time + GRACE) {
            pool.leave_cases()?;
        }
        campaign.show(progress);
    }
    result.map(|()| given_up)
}

impl Pool<'_> {
    /// Starts a worker. It is a pool of one thread, so that reductions stay in it.
    fn start(&mut self) -> Result<(), CampaignError> {
        let number = self.started;
        self.started += 1;
        let (worker, campaign, ends) = (Arc::<WorkerSlot>::default(), self.campaign.clone(), self.ends.clone());
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).thread_name(move |_| format!("worker {number}"));
        let pool = pool.build().map_err(CampaignError::Thread)?;
        self.slots.push((number, worker.clone()));
        pool.spawn(move || {
            supervise::show_in(worker.slot.clone());
            let result = catch_unwind(AssertUnwindSafe(|| campaign.work(&worker)));
            // Nobody listens to a worker that was given up.
            let _ = ends.send(Ended { number, result });
        });
        Ok(())
    }

    /// Leaves the cases that take longer than the campaign.
    fn leave_cases(&mut self) -> Result<(), CampaignError> {
        for (number, worker) in self.slots.clone() {
            let Some(local) = worker.leave() else { continue };
            self.slots.retain(|(other, _)| *other != number);
            self.campaign.hand_over(local)?;
        }
        Ok(())
    }

    /// Gives up workers whose step does not end, and starts others for them; how many.
    fn replace_stuck(&mut self) -> Result<usize, CampaignError> {
        let mut given_up = 0;
        for (number, worker) in self.slots.clone() {
            let Some((stuck, at, local)) = worker.give_up(self.campaign) else { continue };
            self.slots.retain(|(other, _)| *other != number);
            self.campaign.note_given_up(stuck.step);
            self.campaign.take_over(stuck, at, local)?;
            self.start()?;
            given_up += 1;
        }
        Ok(given_up)
    }
}

impl Campaign {
    /// Ends the work of somebody whose step did not end.
    fn take_over(&self, stuck: GivenUp, at: At, mut local: Local) -> Result<(), CampaignError> {
        match at {
            At::Nothing => {}
            At::Case(place, number) => {
                self.hang(stuck, number, &mut local);
                local.done.push(place);
            }
            At::Reduction(id) => {
                let why = format!("{} does not end on a smaller kernel", stuck.step);
                self.shared(|shared| shared.reduced(&id, Reduction::Failed { why }, &[]))?;
            }
        }
        for (number, finding) in self.hand_over(local)? {
            // What does not end here is not reduced here, and that is said at once.
            self.reduce(number, &finding, &WorkerSlot::default())?;
        }
        Ok(())
    }

    /// The finding of a case whose step did not end. A step that was slow once, because the machine had other things to
    /// do, is none.
    fn hang(&self, stuck: GivenUp, number: u64, local: &mut Local) {
        let step = stuck.step;
        let limit = self.options.hang_after;
        let Case { target, generated, dropped } = match self.cases.sound_within(number, limit) {
            Ok(case) => case,
            Err(why) => {
                local.tally.begin(self.cases.target(number).0, 0);
                local.tally.silent.insert(number, why.to_string());
                return;
            }
        };
        local.tally.begin(target, dropped);
        let job = Job {
            name: case_name(self.options.seed, number),
            module: self.options.module_of(number, generated.module),
            launches: generated.launches,
            options: self.check_of(number, target).clone(),
        };
        // How many bytes a step takes does not depend on what else the machine does.
        let again = |finding: &Finding| match stuck.excess {
            Excess::Time => job.hangs_again(finding, limit),
            Excess::Memory(_) => Ok(true),
        };
        let finding = job.hang(stuck, limit).and_then(|finding| Ok((again(&finding)?, finding)));
        match finding {
            Ok((true, finding)) => {
                let faults = self.options.check.faults.iter().filter(|fault| fault.step == step);
                faults.for_each(|fault| local.tally.plant(&fault.to_string()));
                local.findings.push((number, finding));
            }
            Ok((false, _)) => {
                local.tally.silent.insert(number, format!("{step} has not ended after {limit:?}, another time it has"));
            }
            Err(error) => {
                local.tally.silent.insert(number, format!("{step} has not ended after {limit:?}: {error}"));
            }
        }
    }
}
