//! The kernels of the corpus, checked before a campaign begins, within half of its time: what is not done by then is
//! left out, be it that there are many kernels or that one takes long.
//!
//! Findings are kept as a campaign keeps them, under its own name. They are reduced only once the campaign is over:
//! what breaks a kernel of the corpus mostly breaks a generated one too, which is smaller and reduced by then.

use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use oriole_ir::Module;
use oriole_ir::diagnostics::Fault;
use rayon::prelude::*;

use super::record::{Key, Record};
use super::reduction::{REDUCTION_TIME, Reduced, limits, reduction};
use super::shared_state::{End, Local, SharedState};
use super::store::{Store, Stored};
use super::tally::Tally;
use super::{CampaignError, Options};
use oriole_check::bisection_limit::BisectionLimit;
use oriole_check::input::{InputError, Language, MAX_KERNEL_BYTES, NamedLaunch, invalid, launches_for, read_kernel};
use oriole_check::job::Job;
use oriole_check::judge::{Hang, Verdict};
use oriole_check::report::{Finding, KernelReport};
use oriole_check::supervise::{StepId, Stuck, guard};
use oriole_check::{CheckError, CheckOptions};
use oriole_launch::file::read_text;

/// What the store calls the campaign of the corpus.
const CAMPAIGN: &str = "corpus";

/// Warp instructions that a kernel may execute whose launches have no budget: twenty times what any of the corpus
/// does. A broken front end makes loops endless, and this should not take minutes for each.
const STEPS: u64 = 8_000_000;

/// Kernels with a step that does not end, after which the replay is given up. Each takes as long as the clock lets it,
/// more than once.
const MOST_HANGING: usize = 2;

/// The check of kernels that are files.
#[derive(Debug)]
pub struct Replay<'a> {
    options: &'a Options,
    bisection_limit: Arc<BisectionLimit>,
    findings: Vec<Finding>,
    start: Instant,
    /// How many kernels had a step that does not end.
    hanging: AtomicUsize,
    /// How many kernels there was no time for.
    left_out: AtomicUsize,
    /// The faults that some kernel had a place for.
    planted: Mutex<BTreeSet<String>>,
}

impl<'a> Replay<'a> {
    /// Before a campaign with these options.
    pub fn new(options: &'a Options) -> Replay<'a> {
        let (hanging, left_out) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (findings, start) = (Vec::new(), Instant::now());
        Replay {
            options,
            bisection_limit: Arc::default(),
            findings,
            start,
            hanging,
            left_out,
            planted: Mutex::default(),
        }
    }

    /// The time that is left for kernels of the corpus; `None` where the campaign has no end.
    fn time_left(&self) -> Option<Duration> {
        self.options.time.map(|time| (time / 2).saturating_sub(self.start.elapsed()))
    }

    /// How many kernels there was no time for.
    pub fn left_out(&self) -> usize {
        self.left_out.load(Ordering::Relaxed)
    }

    /// What is left of the campaign's time.
    pub fn rest(&self) -> Option<Duration> {
        self.options.time.map(|time| time.saturating_sub(self.start.elapsed()))
    }

    /// Whether steps do not end so often that the kernels that are left would take minutes and show nothing new.
    pub fn hangs(&self) -> bool {
        self.hanging.load(Ordering::Relaxed) >= MOST_HANGING
    }

    /// Whether some kernel had a place for a fault.
    pub fn has_planted(&self, fault: &str) -> bool {
        self.planted.lock().unwrap_or_else(PoisonError::into_inner).contains(fault)
    }

    fn note_faults(&self, report: &KernelReport) {
        let planted = report.faults.iter().filter(|line| line.planted).map(|line| line.fault.clone());
        self.planted.lock().unwrap_or_else(PoisonError::into_inner).extend(planted);
    }

    fn note_hang(&self) {
        self.hanging.fetch_add(1, Ordering::Relaxed);
    }

    /// Reads a kernel file. PTX that is read and yet no valid module is a finding about the front end, as are a
    /// constant that is misread, a panic, a file that is not read in time, and PTX that is refused although somebody
    /// has worked out what it does: its launches expect something.
    ///
    /// # Errors
    ///
    /// Whatever else is wrong with the file.
    pub fn read(&self, path: &Path) -> Result<Result<Module, Finding>, InputError> {
        let (own, limit) = (path.to_owned(), self.options.hang_after);
        let finding = |verdict, detail| {
            let finding = Finding::of_front_end(&path.display().to_string(), verdict, detail);
            Ok(Err(Finding { text: text_of(path), ..finding }))
        };
        match guard(StepId::FrontEnd, limit, move || read_kernel(&own)) {
            Ok(Err(InputError::Invalid { violations, .. })) if Language::of(path) == Some(Language::Ptx) => {
                let verdict = invalid(&violations);
                let message = verdict.to_string();
                finding(verdict, message)
            }
            Ok(Err(InputError::Misread { misread, .. })) => {
                finding(Verdict::Unexpected(misread.to_string()), misread.to_string())
            }
            Ok(Err(InputError::Ptx(error))) if expects(path) => {
                let line = |fault: &Fault| error.source_code.line_column(fault.span.offset()).0;
                let said = error.related.first().map(|fault| format!("line {}: {fault}", line(fault)));
                let why = error.related.first().map(ToString::to_string);
                finding(Verdict::Refused(why.unwrap_or_default()), said.unwrap_or_default())
            }
            Ok(read) => read.map(Ok),
            Err(Stuck::Panicked(panic)) => {
                let message = panic.to_string();
                finding(Verdict::Panicked(panic), message)
            }
            Err(Stuck::Hangs(_)) => {
                self.note_hang();
                finding(Verdict::Hangs(Hang::Clock(limit)), format!("it is not read after {limit:?}"))
            }
            Err(Stuck::OutOfMemory(_, most)) => {
                self.note_hang();
                finding(Verdict::OutOfMemory(most), format!("reading it takes more than {} MiB", most >> 20))
            }
        }
    }

    /// Checks a kernel; finds nothing where there is no time for it.
    ///
    /// # Errors
    ///
    /// As [`oriole_check::check_module`].
    pub fn check(&self, name: String, module: Module, launches: Vec<NamedLaunch>) -> Result<Vec<Finding>, CheckError> {
        let stated = launches.iter().filter_map(|named| named.launch.steps).max();
        let steps = self.options.check.steps.or(Some(stated.unwrap_or(STEPS)));
        let options =
            CheckOptions { bisection_limit: Some(self.bisection_limit.clone()), steps, ..self.options.check.clone() };
        let job = Job { name, module, launches, options };
        let Some(report) = self.in_time(&job) else { return Ok(Vec::new()) };
        let mut report = report?;
        self.note_faults(&report);
        if report.findings.iter().any(|finding| finding.verdict.costs_a_thread()) {
            self.note_hang();
        }
        // What a kernel of the corpus must leave is known from elsewhere; nothing else judges the front end.
        let unexpected = report.unexpected(&job.module, &job.launches);
        let unexpected = unexpected.map(|finding| Finding { text: text_of(Path::new(&job.name)), ..finding });
        report.findings.extend(unexpected);
        let bisected = report.findings.iter().filter(|finding| finding.bisected);
        bisected.for_each(|finding| self.bisection_limit.note(Key::of(finding).class(), 1));
        Ok(report.findings)
    }

    /// The check of a kernel, in a thread of its own that is left behind when the time is up.
    fn in_time(&self, job: &Job) -> Option<Result<KernelReport, CheckError>> {
        let Some(left) = self.time_left() else { return Some(job.check(self.options.hang_after)) };
        let (sender, receiver) = channel();
        let (own, limit) = (job.clone(), self.options.hang_after);
        let thread = (!left.is_zero()).then(|| {
            // Nobody listens any longer to a check that comes too late.
            thread::spawn(move || _ = sender.send(own.check(limit)))
        });
        match (receiver.recv_timeout(left), thread) {
            (Ok(report), _) => Some(report),
            (Err(RecvTimeoutError::Disconnected), Some(thread)) => match thread.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => unreachable!("a thread that ends in order has sent its report"),
            },
            (Err(_), _) => {
                self.left_out.fetch_add(1, Ordering::Relaxed);
                None
            }
        }
    }

    /// Saves what was found on so many kernels, in place of what an earlier replay found: the store, and the
    /// identifiers.
    ///
    /// # Errors
    ///
    /// A store that fails.
    pub fn save(
        &mut self,
        store: Store,
        kernels: u64,
        mut findings: Vec<Finding>,
    ) -> Result<(Store, Vec<String>), CampaignError> {
        // What is recognised counts for something that was bisected.
        findings.sort_by_key(|finding| !finding.bisected);
        let mut shared = SharedState::anew(store, CAMPAIGN)?;
        let tally = Tally { cases: kernels, valid: kernels, ..Tally::default() };
        let findings = findings.into_iter().map(|finding| (0, finding)).collect();
        let fresh = shared.add(Local { tally, done: Vec::new(), findings }, |_| None)?;
        self.findings = fresh.into_iter().map(|(_, finding)| finding).collect();
        shared.finish(true);
        shared.commit()?;
        let End { hits, store, .. } = shared.close()?;
        Ok((store, hits.into_iter().map(|(id, _)| id).collect()))
    }

    /// Reduces what is not reduced yet.
    ///
    /// # Errors
    ///
    /// A store that fails.
    pub fn reduce(&self, store: &mut Store) -> Result<(), CampaignError> {
        let start = Instant::now();
        let pending = self.pending(store)?;
        let reduce = |(stored, finding): (Stored, &Finding)| {
            let reduce = self.options.reduce.filter(|_| !self.options.stop.load(Ordering::Relaxed))?;
            let limits = limits(reduce, self.options.time.and(Some(REDUCTION_TIME)), start)?;
            Some((stored, reduction(finding, &self.options.check, &limits)))
        };
        let reduced: Vec<_> = pending.into_par_iter().filter_map(reduce).collect();
        for (Stored { id, record, .. }, Reduced { reduction, files, variant }) in reduced {
            let key = Key { variant: variant.unwrap_or_default(), ..record.key };
            let (own, record) = (key.id(), Record { key, reduction, ..record });
            match own == id {
                true => store.update(&id, &record, &files)?,
                false => store.rename(&id, &own, &record, &files)?,
            }
        }
        Ok(())
    }

    fn pending(&self, store: &Store) -> Result<Vec<(Stored, &Finding)>, CampaignError> {
        let mut stored = store.findings()?;
        stored.retain(|stored| stored.record.reduction.is_open());
        let own = |stored: Stored| {
            let finding = self.findings.iter().find(|finding| Key::of(finding).id() == stored.id)?;
            Some((stored, finding))
        };
        Ok(stored.into_iter().filter_map(own).collect())
    }
}

/// The text of a kernel file that is PTX.
fn text_of(path: &Path) -> Option<Arc<str>> {
    let is_ptx = Language::of(path) == Some(Language::Ptx);
    is_ptx.then(|| read_text(path, MAX_KERNEL_BYTES).ok())?.map(Arc::from)
}

/// Whether a launch of the kernel says what it leaves behind.
fn expects(kernel: &Path) -> bool {
    let launches = launches_for(kernel, &[]).unwrap_or_default();
    launches.iter().any(|named| named.launch.contents().any(|(_, buffer)| buffer.expect.is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What reading a PTX file with this launch beside it comes to.
    fn read(ptx: &str, launch: &str) -> Result<Result<Module, Finding>, InputError> {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let kernel = folder.path().join("k.ptx");
        std::fs::write(&kernel, ptx).expect("it can be written");
        std::fs::write(folder.path().join("k.launch.toml"), launch).expect("it can be written");
        Replay::new(&Options::new(1, 1)).read(&kernel)
    }

    #[test]
    fn refused_ptx_is_a_finding_where_its_results_are_known() {
        let (head, good) =
            (".version 9.0\n.target sm_90\n.address_size 64\n", ".visible .entry k(.param .u64 p) { ret; }\n");
        let bad = good.replace("ret;", "rat;");
        let buffer = "grid = [1, 1, 1]\nblock = [1, 1, 1]\n\n[[arg]]\ntype = \"u32\"\ndata = [7]\n";
        let known = format!("{buffer}expect_data = [7]\n");
        assert!(read(&format!("{head}{good}"), &known).is_ok_and(|read| read.is_ok()));
        let Ok(Err(finding)) = read(&format!("{head}{bad}"), &known) else { panic!("it is refused") };
        assert_eq!((finding.phase, finding.verdict.name()), (StepId::FrontEnd, "refused"));
        assert!(finding.detail.starts_with("line 4: "), "{}", finding.detail);
        assert!(matches!(read(&format!("{head}{bad}"), buffer), Err(InputError::Ptx(_))));
    }

    /// A kernel that goes round for as long as it may, checked within half of a time.
    fn endless(time: Duration) -> (Result<Vec<Finding>, CheckError>, usize, Duration) {
        let text = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n$L:\n\tbra $L;\n}\n";
        let module = oriole_ptx::read(text).unwrap_or_else(|faults| panic!("{faults:?}"));
        let mut launch = oriole_launch::Launch::new(None);
        launch.steps = Some(1 << 40);
        let launches = vec![NamedLaunch { name: "endless".to_owned(), launch }];
        let options = Options { time: Some(time), ..Options::new(1, 1) };
        let (replay, start) = (Replay::new(&options), Instant::now());
        (replay.check("endless".to_owned(), module, launches), replay.left_out(), start.elapsed())
    }

    #[test]
    fn a_kernel_that_takes_long_does_not_stall_a_campaign() {
        for time in [Duration::from_millis(400), Duration::ZERO] {
            let (found, left_out, took) = endless(time);
            assert!(found.is_ok_and(|found| found.is_empty()) && left_out == 1);
            assert!(took < Duration::from_secs(20), "{took:?}");
        }
    }
}
