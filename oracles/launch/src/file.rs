//! Files that users name: regular ones up to a size, and standard input.
//!
//! A pipe or a device could block for ever or never end, so that only `-` stands for something else than a regular
//! file, and the limit holds while reading too: some files of the system state a length of zero and have content.

use oriole_ir::diagnostics::counted;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The name that stands for standard input.
pub const STANDARD_INPUT: &str = "-";

/// Why a file was not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadFailure {
    /// It is larger than the limit.
    #[error("it has {bytes} or more, at most {limit} are read", bytes = counted(.bytes, "byte"))]
    TooLarge {
        /// Its size, as far as it was read.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// It is a folder, a pipe or a device.
    #[error("it is {0}, not a regular file (`-` stands for standard input)")]
    NotRegular(&'static str),
    /// It is no text.
    #[error("it is no text; text is UTF-8")]
    NoText,
    /// The system's message.
    #[error("{0}")]
    Io(String),
}

impl From<io::Error> for ReadFailure {
    fn from(error: io::Error) -> ReadFailure {
        ReadFailure::Io(error.to_string())
    }
}

/// Whether a path stands for standard input.
pub fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == STANDARD_INPUT
}

/// Reads standard input where the path is `-`, and else a regular file; at most `limit` bytes.
///
/// # Errors
///
/// What is larger, no regular file, or cannot be read.
pub fn read_input(path: &Path, limit: u64) -> Result<Vec<u8>, ReadFailure> {
    if is_standard_input(path) { up_to(io::stdin().lock(), limit) } else { read_file(path, limit) }
}

/// The text of [`read_input`].
///
/// # Errors
///
/// Also what is not UTF-8.
pub fn read_text(path: &Path, limit: u64) -> Result<String, ReadFailure> {
    String::from_utf8(read_input(path, limit)?).map_err(|_| ReadFailure::NoText)
}

/// Reads a regular file of at most `limit` bytes.
///
/// # Errors
///
/// What is larger, no regular file, or cannot be read.
pub fn read_file(path: &Path, limit: u64) -> Result<Vec<u8>, ReadFailure> {
    let metadata = std::fs::metadata(path)?;
    let kind = metadata.file_type();
    if kind.is_dir() {
        return Err(ReadFailure::NotRegular("a folder"));
    }
    if !kind.is_file() {
        return Err(ReadFailure::NotRegular("a pipe or a device"));
    }
    if metadata.len() > limit {
        return Err(ReadFailure::TooLarge { bytes: metadata.len(), limit });
    }
    up_to(File::open(path)?, limit)
}

fn up_to(from: impl Read, limit: u64) -> Result<Vec<u8>, ReadFailure> {
    let mut content = Vec::new();
    from.take(limit.saturating_add(1)).read_to_end(&mut content)?;
    let bytes = content.len() as u64;
    if bytes > limit { Err(ReadFailure::TooLarge { bytes, limit }) } else { Ok(content) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_up_to_a_size_are_read() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("f");
        std::fs::write(&path, "four").expect("the folder is writable");
        assert_eq!(read_file(&path, 4), Ok(b"four".to_vec()));
        assert_eq!(read_file(&path, 3), Err(ReadFailure::TooLarge { bytes: 4, limit: 3 }));
        assert_eq!(read_file(folder.path(), 4), Err(ReadFailure::NotRegular("a folder")));
        assert_eq!(up_to(io::repeat(0), 3), Err(ReadFailure::TooLarge { bytes: 4, limit: 3 }));
        assert!(matches!(read_file(&folder.path().join("none"), 4), Err(ReadFailure::Io(_))));
        if cfg!(unix) {
            assert_eq!(read_file(Path::new("/dev/zero"), 4), Err(ReadFailure::NotRegular("a pipe or a device")));
        }
        std::fs::write(&path, [0xff]).expect("the folder is writable");
        assert_eq!(read_text(&path, 4), Err(ReadFailure::NoText));
    }
}
