//! What the workers of a campaign share: its progress, the findings it has met, and the store that both go to.
//!
//! Workers add what they have; this state commits it about once a second, and at once where a finding is new. So at
//! most a second of work is done again after a kill, and no finding is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Options;
use super::record::{CaseId, File, Key, Record, Reduction, originals};
use super::store::{Batch, Hits, Progress, Store, StoreError};
use super::tally::Tally;
use oriole_check::bisection_limit::{BisectionLimit, FailureClass};
use oriole_check::report::Finding;

/// The longest time between commits while cases are done.
const COMMIT: Duration = Duration::from_secs(1);

/// What a worker has done since it last handed over.
#[derive(Debug, Default)]
pub(super) struct Local {
    pub tally: Tally,
    /// Places in the order of cases.
    pub done: Vec<u64>,
    /// Findings with the numbers of their cases.
    pub findings: Vec<(u64, Finding)>,
}

/// The shared state of a campaign.
#[derive(Debug)]
pub(super) struct SharedState {
    store: Store,
    campaign: String,
    progress: Progress,
    before: f64,
    start: Instant,
    committed: Instant,
    bisection_limit: Arc<BisectionLimit>,
    /// Findings of the store, by identifier.
    known: BTreeMap<String, Record>,
    /// How often this campaign has met them.
    hits: BTreeMap<String, Hits>,
    /// By class: the findings that this campaign has met of it.
    of_class: BTreeMap<FailureClass, BTreeSet<String>>,
    /// Findings of this campaign that an earlier run of it did not reduce.
    pending: Vec<(String, u64)>,
    /// Findings that were met since the last commit.
    seen: BTreeSet<String>,
    /// Findings that somebody of this run reduces, or has reduced.
    taken: BTreeSet<String>,
}

/// What is left of a campaign.
pub(super) struct End {
    pub progress: Progress,
    /// Identifiers of findings, and how often they were met.
    pub hits: Vec<(String, Hits)>,
    pub store: Store,
}

impl SharedState {
    /// The state of a campaign: where it stopped, or else from its beginning.
    pub fn open(
        mut store: Store,
        options: &Options,
        bisection_limit: Arc<BisectionLimit>,
    ) -> Result<SharedState, StoreError> {
        let campaign = options.identity();
        if !options.resume {
            store.restart(&campaign)?;
        }
        let mut shared = SharedState::of(store, campaign, bisection_limit)?;
        for (id, hits) in &shared.hits {
            if let Some(record) = shared.known.get(id) {
                shared.bisection_limit.note(record.key.class(), hits.bisected);
                shared.of_class.entry(record.key.class()).or_default().insert(id.clone());
            }
        }
        let is_pending = |record: &&Record| record.reduction.is_open();
        let own = |record: &Record| record.first.as_ref().filter(|first| first.seed == options.seed).map(|f| f.number);
        let known = |id| shared.known.get(id).filter(is_pending).and_then(own);
        shared.pending = shared.hits.keys().filter_map(|id| known(id).map(|number| (id.clone(), number))).collect();
        Ok(shared)
    }

    /// The state of a campaign that begins anew and leaves nothing for another time.
    pub fn anew(mut store: Store, campaign: &str) -> Result<SharedState, StoreError> {
        store.restart(campaign)?;
        SharedState::of(store, campaign.to_owned(), Arc::default())
    }

    fn of(store: Store, campaign: String, bisection_limit: Arc<BisectionLimit>) -> Result<SharedState, StoreError> {
        let progress = Progress { finished: false, ..store.progress(&campaign)?.unwrap_or_default() };
        let (pending, taken) = (Vec::new(), BTreeSet::new());
        let hits = store.hits(&campaign)?.into_iter().collect();
        let known = store.findings()?.into_iter().map(|stored| (stored.id, stored.record)).collect();
        let (now, before) = (Instant::now(), progress.seconds);
        let shared = SharedState {
            store,
            campaign,
            progress,
            before,
            start: now,
            committed: now,
            bisection_limit,
            known,
            hits,
            of_class: BTreeMap::new(),
            pending,
            seen: BTreeSet::new(),
            taken,
        };
        Ok(shared)
    }

    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// How many findings the campaign has met, and how often.
    pub fn met(&self) -> (usize, u64) {
        (self.hits.len(), self.hits.values().map(|hits| hits.total()).sum())
    }

    /// Adds what a worker has done, and returns the findings in it that nobody has reduced or is about to. `case` knows
    /// the cases by number.
    pub fn add(
        &mut self,
        local: Local,
        case: impl Fn(u64) -> Option<CaseId>,
    ) -> Result<Vec<(u64, Finding)>, StoreError> {
        self.progress.tally.add(local.tally);
        local.done.into_iter().for_each(|place| _ = self.progress.done.insert(place));
        let mut fresh = Vec::new();
        let mut batch = Batch::default();
        for (number, finding) in local.findings {
            if !finding.bisected {
                self.recognise(&finding);
                continue;
            }
            let key = Key::of(&finding);
            self.bisection_limit.note(key.class(), 1);
            let id = key.id();
            self.of_class.entry(key.class()).or_default().insert(id.clone());
            self.hits.entry(id.clone()).or_default().bisected += 1;
            self.seen.insert(id.clone());
            let record = self.known.entry(id.clone()).or_insert_with(|| {
                let record = Record::new(&finding, case(number));
                batch.findings.push((id.clone(), record.clone(), originals(&finding)));
                record
            });
            if record.reduction.is_open() && self.taken.insert(id) {
                fresh.push((number, finding));
            }
        }
        if !batch.findings.is_empty() || self.committed.elapsed() >= COMMIT {
            self.write(batch)?;
        }
        Ok(fresh)
    }

    /// Counts a finding that was not bisected for the one that it looks like: of those of its class, the one that was
    /// met most.
    fn recognise(&mut self, finding: &Finding) {
        // A class is over the limit only once findings of it were added.
        let Some(alike) = self.of_class.get(&Key::of(finding).class()) else { return };
        let found = self.hits.iter_mut().filter(|(id, _)| alike.contains(*id));
        if let Some((id, hits)) = found.max_by_key(|(_, hits)| hits.bisected) {
            hits.recognised += 1;
            self.seen.insert(id.clone());
        }
    }

    /// Saves what became of a reduction.
    pub fn reduced(&mut self, id: &str, reduction: Reduction, files: &[File]) -> Result<(), StoreError> {
        let Some(record) = self.known.get_mut(id) else { return Ok(()) };
        if record.reduction.is_further_than(&reduction) {
            return Ok(());
        }
        record.reduction = reduction;
        self.store.update(id, record, files)
    }

    /// A finding that is still to be reduced, and the number of its case.
    pub fn next_pending(&mut self) -> Option<(String, u64)> {
        while let Some((id, number)) = self.pending.pop() {
            if self.taken.insert(id.clone()) {
                return Some((id, number));
            }
        }
        None
    }

    /// Notes that the campaign came to its end, or did not.
    pub fn finish(&mut self, finished: bool) {
        self.progress.finished = finished;
    }

    /// Saves everything.
    pub fn commit(&mut self) -> Result<(), StoreError> {
        self.write(Batch::default())
    }

    fn write(&mut self, mut batch: Batch) -> Result<(), StoreError> {
        self.progress.seconds = self.before + self.start.elapsed().as_secs_f64();
        batch.seen = self.seen.iter().cloned().collect();
        batch.hits = self.hits.iter().map(|(id, hits)| (id.clone(), *hits)).collect();
        self.store.commit(&self.campaign, &self.progress, &batch)?;
        self.seen.clear();
        self.committed = Instant::now();
        Ok(())
    }

    /// What is left at the end. Whoever still has the shared then writes to nowhere.
    pub fn close(&mut self) -> Result<End, StoreError> {
        let store = std::mem::replace(&mut self.store, Store::in_memory()?);
        let hits = self.hits.iter().map(|(id, hits)| (id.clone(), *hits)).collect();
        Ok(End { progress: self.progress.clone(), hits, store })
    }
}
