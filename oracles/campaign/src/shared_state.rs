//! What the workers of a campaign share: its progress, the findings it has met, and the store that both go to.
//!
//! Workers add what they have; this state commits it about once a second, and at once where a finding is new. So at
//! most a second of work is done again after a kill, and no family of findings is lost; a variant of a known family is
//! written when its reduction says that it is one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Options;
use super::record::{CaseId, File, Key, Record, Reduction, family_of, originals};
use super::reduction::Reduced;
use super::store::{Batch, Hits, Progress, Store, StoreError};
use super::tally::Tally;
use oriole_check::bisection_limit::{BisectionLimit, FailureClass};
use oriole_check::report::Finding;

/// The longest time between commits while cases are done.
const COMMIT: Duration = Duration::from_secs(1);
/// Findings of a family that a campaign reduces beside the first, to see whether they are other variants: so many whose
/// guilty rewrites remove and add the same operations of the whole kernel, and so many of a family.
const SAMPLES_ALIKE: u32 = 3;
const SAMPLES: u32 = 24;
/// Samples are reduced while reductions have taken no more than this, and a quarter of the campaign's time.
const SAMPLING: Duration = Duration::from_secs(5);

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
    /// By family and the change of the guilty rewrite: how many findings were taken as samples.
    samples: BTreeMap<String, BTreeMap<String, u32>>,
    /// Whether findings are reduced while it runs, so that samples say something.
    samples_are_reduced: bool,
    /// How long this run has reduced.
    reducing: Duration,
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
        shared.samples_are_reduced = options.reduce.is_some() && options.compiler.is_none();
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
            samples: BTreeMap::new(),
            samples_are_reduced: false,
            reducing: Duration::ZERO,
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

    /// Adds what a worker has done, and returns the findings in it that are to be reduced: those that nobody has
    /// reduced or is about to, and samples of families with variants. `case` knows the cases by number.
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
            let own = key.id();
            let id = if key.has_variants() { self.most_met(&key.family()).unwrap_or(own) } else { own };
            self.of_class.entry(key.class()).or_default().insert(id.clone());
            self.hits.entry(id.clone()).or_default().bisected += 1;
            let record = self.known.entry(id.clone()).or_insert_with(|| {
                let record = Record::new(&finding, case(number));
                batch.findings.push((id.clone(), record.clone(), originals(&finding)));
                record
            });
            let is_open = record.reduction.is_open();
            if is_open && self.taken.insert(id.clone()) {
                self.seen.insert(id);
                fresh.push((number, finding));
            } else if key.has_variants() && self.is_sample(&key, &finding) {
                // Whether what is known shows again, or another variant does, is not known before it is reduced.
                fresh.push((number, finding));
            } else {
                self.seen.insert(id);
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

    /// The finding of a family that this campaign has met most; one that it has not met where the store has no other.
    fn most_met(&self, family: &str) -> Option<String> {
        let hits = |id: &String| self.hits.get(id).map_or(0, |hits| hits.total());
        let after = self.known.range(family.to_owned()..).map(|(id, _)| id);
        after.take_while(|id| family_of(id) == family).max_by_key(|id| (hits(id), Reverse(*id))).cloned()
    }

    /// Whether a further finding of a known family is reduced to see which variant it is.
    fn is_sample(&mut self, key: &Key, finding: &Finding) -> bool {
        let samples = self.samples.entry(key.family()).or_default();
        let all: u32 = samples.values().sum();
        let change = finding.rewrite.as_ref().map_or(String::new(), |rewrite| rewrite.change.clone());
        let alike = samples.entry(change).or_default();
        let has_time = self.samples_are_reduced && self.reducing <= SAMPLING + self.start.elapsed() / 4;
        let is_sample = has_time && all < SAMPLES && *alike < SAMPLES_ALIKE;
        *alike += u32::from(is_sample);
        is_sample
    }

    /// Saves what became of the reduction of a finding, which says which variant of its family it is. A finding of the
    /// family that waits for that becomes this variant; otherwise one that nobody has seen is new.
    pub fn settle(
        &mut self,
        finding: &Finding,
        case: Option<CaseId>,
        reduced: Reduced,
        time: Duration,
    ) -> Result<(), StoreError> {
        self.reducing += time;
        let key = Key::of(finding);
        let waiting = key.id();
        let Reduced { reduction, files, variant } = reduced;
        let Some(variant) = variant else { return self.reduced(&waiting, reduction, &files) };
        let key = Key { variant, ..key };
        let id = key.id();
        match self.known.remove(&waiting) {
            Some(record) if !self.known.contains_key(&id) => {
                let record = Record { key, reduction, ..record };
                self.store.rename(&waiting, &id, &record, &files)?;
                self.known.insert(id.clone(), record);
                self.renamed(&waiting, &id);
            }
            Some(_) => {
                self.store.fold(&waiting, &id)?;
                self.renamed(&waiting, &id);
            }
            None if self.known.contains_key(&id) => self.credit(&id),
            None => {
                let record = Record { key, reduction, ..Record::new(finding, case) };
                let all = originals(finding).into_iter().chain(files).collect();
                self.credit(&id);
                self.known.insert(id.clone(), record.clone());
                self.write(Batch { findings: vec![(id.clone(), record, all)], ..Batch::default() })?;
            }
        }
        self.of_class.entry(Key::of(finding).class()).or_default().insert(id.clone());
        self.taken.insert(id);
        Ok(())
    }

    /// A variant is met. The first time, it was counted for the variant of its family that is met most.
    fn credit(&mut self, id: &str) {
        self.seen.insert(id.to_owned());
        if self.hits.contains_key(id) {
            return;
        }
        let counted = self.most_met(family_of(id)).and_then(|other| self.hits.get_mut(&other));
        if let Some(hits) = counted.filter(|hits| hits.bisected > 0) {
            hits.bisected -= 1;
        }
        self.hits.insert(id.to_owned(), Hits { bisected: 1, recognised: 0 });
    }

    /// What is known of a finding holds for another identifier from now on.
    fn renamed(&mut self, from: &str, to: &str) {
        if let Some(hits) = self.hits.remove(from) {
            let all = self.hits.entry(to.to_owned()).or_default();
            *all = Hits { bisected: all.bisected + hits.bisected, recognised: all.recognised + hits.recognised };
        }
        if self.seen.remove(from) {
            self.seen.insert(to.to_owned());
        }
        for ids in self.of_class.values_mut() {
            if ids.remove(from) {
                ids.insert(to.to_owned());
            }
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
        let met = self.hits.iter().filter(|(_, hits)| hits.total() > 0);
        let hits = met.map(|(id, hits)| (id.clone(), *hits)).collect();
        Ok(End { progress: self.progress.clone(), hits, store })
    }
}
