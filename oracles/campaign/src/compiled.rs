//! Cases that go through a compiler that is not ours: it is judged, or phases over its code are. Workers take them by
//! the dozen, since to start the compiler costs as much as to compile some twenty of them.
//!
//! A finding is reduced at once, as what is left of it says which one it is ([`signature`]). Reduction takes seconds,
//! and a compiler has few bugs that many kernels meet. So once a few kernels have been reduced to the same operations,
//! further ones that have these among others, and go wrong on the same axes, count for the same finding. Of a phase it
//! is the rule that says which one it is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use oriole_check::CheckOptions;
use oriole_check::compiled::fault::Miscompile;
use oriole_check::compiled::report::{self, Subject};
use oriole_check::compiled::{Checked, Compiler, Kernel, signature};
use oriole_check::input::{read_ptx, write_ptx};
use oriole_check::reduce::Reduced;
use oriole_check::report::{Evidence, Finding};
use oriole_check::supervise::{StepId, catch};
use oriole_generate::Generated;

use super::record::{File, Key, Reduction, files};
use super::reduction::Limits;
use super::target::Case;
use super::worker::WorkerSlot;
use super::{Campaign, CampaignError, One, Unchecked, case_name};

/// Cases that go through the compiler together.
pub(super) const BATCH: usize = 64;
/// How many kernels are reduced to the same operations before further ones are taken for the same.
const ENOUGH_ALIKE: u32 = 3;

/// A finding that was reduced: what became of that, and the files of what is left.
type Done = (Reduction, Vec<File>);

/// The axes that go wrong, and the operations of what is left.
type Parts = (String, BTreeSet<String>);

/// A signature, and how many findings were reduced to it.
type Seen = (String, u32);

/// What the workers of a campaign know of findings about the compiler.
#[derive(Debug, Default)]
pub(super) struct Clusters {
    known: Mutex<BTreeMap<Parts, Seen>>,
    /// The reductions of findings that are not in the store yet, by the numbers of their cases and identifiers.
    done: Mutex<BTreeMap<(u64, String), Done>>,
}

impl Clusters {
    /// The signature of a kernel that goes wrong on these axes, where it was seen often enough.
    fn recognised(&self, axes: &str, operations: &BTreeSet<String>) -> Option<String> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |((on, parts), (_, count)): &(&Parts, &Seen)| {
            on == axes && *count >= ENOUGH_ALIKE && parts.is_subset(operations)
        };
        known.iter().find(is_it).map(|(_, (signature, _))| signature.clone())
    }

    fn note(&self, axes: &str, operations: BTreeSet<String>, signature: &str) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry((axes.to_owned(), operations)).or_insert_with(|| (signature.to_owned(), 0)).1 += 1;
    }

    fn keep(&self, number: u64, id: String, done: Done) {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).insert((number, id), done);
    }

    /// The reduction of a finding of a case.
    pub(super) fn take(&self, number: u64, id: &str) -> Option<Done> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).remove(&(number, id.to_owned()))
    }

    /// Drops what is left of a case.
    pub(super) fn forget(&self, number: u64) {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).retain(|(own, _), _| *own != number);
    }
}

impl Campaign {
    /// Makes and checks some cases.
    pub(super) fn batch(
        &self,
        compiler: &Compiler,
        numbers: &[u64],
        slot: &WorkerSlot,
    ) -> Result<Vec<One>, CampaignError> {
        let mut batch = Vec::with_capacity(numbers.len());
        let mut made: Vec<(u64, Case)> = Vec::with_capacity(numbers.len());
        for &number in numbers {
            match self.made(number) {
                Ok(case) => made.push((number, case)),
                Err(why) => batch.push(One::unchecked(number, self.cases.target(number).0, why)),
            }
        }
        let kernels: Vec<Kernel> = made.iter().map(|(number, case)| self.kernel(*number, &case.generated)).collect();
        for ((number, case), checked) in made.into_iter().zip(self.checked(compiler, &kernels)?) {
            let Case { target, generated, dropped } = case;
            let mut silent = None;
            let said = checked.map(|Checked { mut report, unjudged, .. }| {
                silent = unjudged;
                report.findings.iter_mut().for_each(|finding| self.know(compiler, number, finding, slot));
                (self.options.module_of(number, generated.module), report)
            });
            let unjudged = silent;
            batch.push(One { number, target, dropped, unjudged, said });
        }
        Ok(batch)
    }

    fn kernel(&self, number: u64, Generated { module, launches, .. }: &Generated) -> Kernel {
        let (module, launches) = (self.options.module_of(number, module.clone()), launches.clone());
        Kernel { name: case_name(self.options.seed, number), module, launches }
    }

    /// Checks kernels together; one by one where that panics, so that one case does not end a campaign.
    fn checked(
        &self,
        compiler: &Compiler,
        kernels: &[Kernel],
    ) -> Result<Vec<Result<Checked, Unchecked>>, CampaignError> {
        match (catch(|| compiler.check_all(kernels, &self.options.check)), kernels) {
            (Ok(checked), _) => Ok(checked?.into_iter().map(|one| one.map_err(Unchecked::Unfit)).collect()),
            (Err(panic), [_]) => Ok(vec![Err(Unchecked::CheckPanics(panic))]),
            (Err(_), _) => {
                let mut all = Vec::with_capacity(kernels.len());
                for kernel in kernels {
                    all.extend(self.checked(compiler, std::slice::from_ref(kernel))?);
                }
                Ok(all)
            }
        }
    }

    /// Gives a finding the signature by which it is known: that of what is left of it.
    fn know(&self, compiler: &Compiler, number: u64, finding: &mut Finding, slot: &WorkerSlot) {
        let is_of_compiler = finding.phase.is_compilation();
        let (axes, operations) = match is_of_compiler {
            true => (signature::names(&finding.axes), signature::operations(&finding.evidence.module)),
            false => (Key::of(finding).family(), BTreeSet::new()),
        };
        if let Some(known) = self.clusters.recognised(&axes, &operations) {
            finding.signature = known;
            return;
        }
        let Some(limits) = self.reduction_limits() else { return };
        slot.reduces(&Key::of(finding).id());
        let (done, left) = reduced(compiler, finding, &self.options.check, &limits);
        match left {
            Some((signature, operations)) if is_of_compiler => {
                self.clusters.note(&axes, operations, &signature);
                finding.signature = signature;
            }
            _ => self.clusters.note(&axes, operations, &finding.signature),
        }
        self.clusters.keep(number, Key::of(finding).id(), done);
    }

    /// Checks a case of a finding again, and reduces what shows.
    pub(super) fn reduced_again(
        &self,
        compiler: &Compiler,
        number: u64,
        case: &Case,
        id: &str,
    ) -> Result<Option<Done>, CampaignError> {
        let Some(limits) = self.reduction_limits() else { return Ok(None) };
        let kernel = self.kernel(number, &case.generated);
        let Some(Ok(Checked { report, .. })) = self.checked(compiler, &[kernel])?.pop() else { return Ok(None) };
        let is_it = |finding: &&Finding| finding.phase.is_compilation() || Key::of(finding).id() == id;
        let found = report.findings.iter().find(is_it);
        Ok(found.map(|finding| reduced(compiler, finding, &self.options.check, &limits).0))
    }
}

/// What is left of a finding: its signature and its operations.
type Left = (String, BTreeSet<String>);

/// Reduces a finding: what became of it, and what is left.
fn reduced(compiler: &Compiler, finding: &Finding, check: &CheckOptions, limits: &Limits) -> (Done, Option<Left>) {
    let failed = |why: String| ((Reduction::Failed { why }, Vec::new()), None);
    if finding.verdict.costs_a_thread() {
        return failed("each attempt would take as long as the compiler may take".to_owned());
    }
    let Some(miscompile) = Miscompile::new(compiler, finding, check) else {
        return failed("no axis is known on which it shows".to_owned());
    };
    let reduced = match catch(|| miscompile.reduced(&finding.evidence, &limits.options)) {
        Ok(reduced) => reduced,
        Err(panic) => return failed(format!("the reducer panics: {panic}")),
    };
    let Reduced { evidence, interesting, complete, before, after, .. } = reduced;
    if !interesting {
        return failed("the kernel alone, printed and read again, does not show it".to_owned());
    }
    let cut_off = limits.shortened && !complete;
    let reduction = Reduction::Done { from: before.instructions, to: after.instructions, cut_off };
    let axes = miscompile.axes(&evidence);
    let left = (signature::reduced(&axes, &evidence.module), signature::operations(&evidence.module));
    ((reduction, files_of(&compiler.of_finding(finding, check), finding, &evidence)), Some(left))
}

/// The files of what is left of a finding: PTX with its launch, and a report.
fn files_of(compiler: &Compiler, finding: &Finding, evidence: &Evidence) -> Vec<File> {
    let Ok(ptx) = write_ptx(&evidence.module) else { return Vec::new() };
    let mut all = files(None, evidence.launch.as_ref(), Some(&ptx), "reduced");
    if finding.phase == StepId::Compilation
        && let (Ok(module), Some(launch), Some(axis)) = (read_ptx(&ptx), &evidence.launch, finding.axes.first())
    {
        let subject = Subject { ptx: &ptx, module: &module, launch, axis };
        all.extend(report::files(compiler, &subject).unwrap_or_default());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_often_is_recognised_on_the_same_axes() {
        let set = |names: &str| -> BTreeSet<String> { names.split(' ').map(str::to_owned).collect() };
        let clusters = Clusters::default();
        for seen in 0..ENOUGH_ALIKE {
            assert_eq!(clusters.recognised("sm_90 -O3", &set("shl.b16 vmad.u32")), None, "after {seen}");
            clusters.note("sm_90 -O3", set("vmad.u32"), "sm_90 -O3: vmad.u32");
        }
        let known = clusters.recognised("sm_90 -O3", &set("shl.b16 vmad.u32"));
        assert_eq!(known.as_deref(), Some("sm_90 -O3: vmad.u32"));
        assert_eq!(clusters.recognised("sm_90 -O0", &set("shl.b16 vmad.u32")), None);
        assert_eq!(clusters.recognised("sm_90 -O3", &set("shl.b16")), None);
    }
}
