//! The kernel files that commands find in folders.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use oriole_check::input::{InputError, Language};
use oriole_launch::launch_files_for;

/// The kernel files among and below the paths, each folder's in order of their names.
pub fn kernels(paths: &[PathBuf]) -> Result<Vec<PathBuf>, InputError> {
    let mut found = Found::default();
    for path in paths {
        if !path.is_dir() {
            found.files.push(path.clone());
            continue;
        }
        // A folder that is named twice is read twice; only links inside of it are followed once.
        found.entered.clear();
        let before = found.files.len();
        found.enter(path)?;
        if found.files.len() == before {
            return Err(InputError::NoKernels { path: path.clone() });
        }
    }
    Ok(found.files)
}

/// What a walk over folders has seen.
#[derive(Default)]
struct Found {
    files: Vec<PathBuf>,
    /// The folders that were entered, without links in their paths. Each is entered once, so that links that lead in a
    /// ring, or to one folder from many places, do not multiply the walk.
    entered: HashSet<PathBuf>,
}

impl Found {
    fn enter(&mut self, folder: &Path) -> Result<(), InputError> {
        let unreadable = |error: io::Error| InputError::Unreadable { path: folder.to_owned(), failure: error.into() };
        if !self.entered.insert(fs::canonicalize(folder).map_err(unreadable)?) {
            return Ok(());
        }
        let mut entries = Vec::new();
        for entry in fs::read_dir(folder).map_err(unreadable)? {
            entries.push(entry.map_err(unreadable)?.path());
        }
        entries.sort();
        for path in entries {
            if path.is_dir() {
                self.enter(&path)?;
            } else if is_kernel(&path) {
                self.files.push(path);
            }
        }
        Ok(())
    }
}

/// Whether a file in a folder is meant to be checked: texts of the IR serve other purposes too, such as goldens.
fn is_kernel(path: &Path) -> bool {
    match Language::of(path) {
        Some(Language::Ptx) => true,
        Some(Language::Ori) => !launch_files_for(path).is_empty(),
        None => false,
    }
}
