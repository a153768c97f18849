//! Who works on a campaign: one process at a time, which says how it begins.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::PathBuf;

use super::{Store, StoreError};
use crate::record::Fnv;

/// How a campaign begins that the store may know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// Where it stopped.
    Resumed,
    /// From its first case, whatever was done.
    Anew,
    /// From its first case, unless it was interrupted before its end.
    Fresh,
}

/// The right to work on a campaign; dropping it gives it back, and so does the end of the process.
#[derive(Debug)]
pub struct Claim {
    _lock: Option<File>,
}

impl Store {
    /// Takes a campaign for this process.
    ///
    /// # Errors
    ///
    /// Where another process has it, or where a fresh start would discard what an interrupted run has done.
    pub fn claim(&self, campaign: &str, start: Start) -> Result<Claim, StoreError> {
        let _lock = self.lock_file(campaign).map(|path| self.lock(path, campaign)).transpose()?;
        match self.progress(campaign)? {
            Some(progress) if start == Start::Fresh && !progress.finished && progress.tally.cases > 0 => {
                Err(StoreError::Unfinished { path: self.path.clone(), cases: progress.tally.cases })
            }
            _ => Ok(Claim { _lock }),
        }
    }

    /// The file that stands for a campaign, beside the store.
    fn lock_file(&self, campaign: &str) -> Option<PathBuf> {
        let name = self.path.file_name()?.to_str()?;
        let mut hash = Fnv::default();
        hash.text(campaign);
        self.path.is_file().then(|| self.path.with_file_name(format!(".{name}-{}.lock", hash.hex())))
    }

    fn lock(&self, path: PathBuf, campaign: &str) -> Result<File, StoreError> {
        let failed = |error: std::io::Error| StoreError::File { path: path.clone(), reason: error.to_string() };
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => {
                Err(StoreError::Busy { path: self.path.clone(), campaign: campaign.to_owned() })
            }
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }
}
