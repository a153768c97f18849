//! A finding as files: reproducers, launches, and what is known of it.
//!
//! `FOLDER/ID/` holds `original.ori` and `reduced.ori` with their launches, and `finding.json`. Names come from a store
//! that may be somebody else's, so only plain ones are written.

use std::fs;
use std::path::{Path, PathBuf};

use super::store::{Store, StoreError, Stored};

/// Writes a finding below a folder, and returns the file to replay.
///
/// # Errors
///
/// A folder that cannot be written, or a store that fails or holds names that are no plain file names.
pub fn export(store: &Store, stored: &Stored, folder: &Path) -> Result<PathBuf, StoreError> {
    let files = store.files(&stored.id)?;
    let names = files.iter().map(|(name, _)| name).chain([&stored.id]);
    if let Some(name) = names.into_iter().find(|name| !is_plain(name)) {
        let reason = format!("`{name}` is no plain file name");
        return Err(StoreError::Damaged { path: store.path().to_owned(), reason });
    }
    let folder = folder.join(&stored.id);
    write(&folder, None)?;
    for (name, content) in &files {
        write(&folder.join(name), Some(content))?;
    }
    let text = serde_json::to_vec_pretty(stored).expect("a record has text keys and finite numbers");
    write(&folder.join("finding.json"), Some(&text))?;
    Ok(folder.join(stored.record.reproducer()))
}

/// Writes a file, or makes a folder.
fn write(path: &Path, content: Option<&[u8]>) -> Result<(), StoreError> {
    let result = match content {
        Some(content) => fs::write(path, content),
        None => fs::create_dir_all(path),
    };
    result.map_err(|error| StoreError::File { path: path.to_owned(), reason: error.to_string() })
}

fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    !name.is_empty() && !name.starts_with('.') && name.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_not_plain() {
        assert!(is_plain("original.arg3.expect.bin"));
        assert!(["", ".", "..", "../x", "a/b", "a\\b", "C:x", ".hidden"].into_iter().all(|name| !is_plain(name)));
    }
}
