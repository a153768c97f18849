//! What a compiler is known to do wrong: findings of a campaign that are rows of `corpus/miscompiles`.
//!
//! A committed case is a few instructions, and so is what is left of a finding. They are the same where the operations
//! that compute, with their modifiers, are. Such a finding names the case, and counts for nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use oriole_check::compiled::signature::operations;
use oriole_check::input::{MAX_KERNEL_BYTES, read_ptx};
use oriole_check::supervise::StepId;
use oriole_launch::file::read_text;

use super::record::Record;
use super::store::{Store, StoreError, Stored};

/// Names in the store the committed cases that its findings are; without the folder, none.
///
/// # Errors
///
/// A store that cannot be written.
pub fn label(store: &mut Store, folder: &Path) -> Result<(), StoreError> {
    let is_unnamed =
        |stored: &Stored| stored.record.key.phase == StepId::Compilation.name() && stored.record.known.is_none();
    let mut findings = store.findings()?;
    findings.retain(is_unnamed);
    // Reading the cases takes longer than all else, and most campaigns have nothing to compare with them.
    let cases = if findings.is_empty() { BTreeMap::new() } else { cases(folder) };
    for Stored { id, record, .. } in findings {
        if let Some(case) = cases.get(&record.key.variant) {
            store.update(&id, &Record { known: Some(case.clone()), ..record }, &[])?;
        }
    }
    Ok(())
}

/// The files of a folder by the operations that are in them. What cannot be read is no case.
fn cases(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_ptx = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "ptx");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_ptx).collect();
    files.sort();
    let case = |path: PathBuf| {
        let module = read_ptx(&read_text(&path, MAX_KERNEL_BYTES).ok()?).ok()?;
        let operations: Vec<String> = operations(&module).into_iter().collect();
        Some((operations.join(" "), path.display().to_string()))
    };
    files.into_iter().rev().filter_map(case).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Key, Reduction};
    use crate::store::{Batch, Progress};

    #[test]
    fn what_is_left_of_a_known_fault_is_known() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/miscompiles");
        let cases = cases(&folder);
        let (variant, file) = cases.iter().find(|(_, file)| file.ends_with("bfe_position.ptx")).expect("a case");
        let mut store = Store::in_memory().expect("memory");
        let record = |variant: &str| Record {
            key: Key {
                phase: StepId::Compilation.name().to_owned(),
                verdict: "mismatch".to_owned(),
                rule: String::new(),
                shape: String::new(),
                variant: variant.to_owned(),
            },
            ..Record::without_evidence(Reduction::Pending)
        };
        let rows = [record(variant), record("bfe.u64 of.another")].map(|record| (record.key.id(), record, Vec::new()));
        let ids: Vec<String> = rows.iter().map(|(id, _, _)| id.clone()).collect();
        let batch = Batch { findings: rows.into(), seen: ids.clone(), ..Batch::default() };
        store.commit("c", &Progress::default(), &batch).expect("memory");
        label(&mut store, &folder).expect("memory");
        let [known, new] = [0, 1].map(|at| store.finding(&ids[at]).expect("it is there"));
        assert_eq!((known.record.known.as_ref(), known.counts()), (Some(file), false));
        assert_eq!((&new.record.known, new.counts()), (&None, true));
    }
}
