//! Where buffers' bytes come from: a budget that is checked before anything is allocated, and files.

use std::path::Path;

use super::{MAX_BUFFER_BYTES, Problem, random};
use crate::file::{ReadFailure, read_file};

/// Reads a file of at most so many bytes.
pub(super) type Resolve<'r> = &'r mut dyn FnMut(&Path, u64) -> Result<Vec<u8>, ReadFailure>;

/// What a launch's buffers are made from.
pub(super) struct BufferSource<'r> {
    total: u64,
    left: u64,
    resolve: Resolve<'r>,
}

impl<'r> BufferSource<'r> {
    pub(super) fn new(total: u64, resolve: Resolve<'r>) -> Self {
        Self { total, left: total, resolve }
    }

    /// Takes `bytes` out of the budget.
    pub(super) fn spend(&mut self, bytes: u64) -> Result<usize, Problem> {
        let left = self.left.checked_sub(bytes).ok_or_else(|| self.too_large(bytes))?;
        let length = usize::try_from(bytes).map_err(|_| self.too_large(bytes))?;
        self.left = left;
        Ok(length)
    }

    fn too_large(&self, bytes: u64) -> Problem {
        Problem::Limit {
            what: "the buffer's size".to_owned(),
            value: bytes.to_string(),
            limit: format!("the buffers of a launch have at most {} bytes together", self.total),
        }
    }

    pub(super) fn zeroed(&mut self, bytes: u64) -> Result<Vec<u8>, Problem> {
        Ok(vec![0; self.spend(bytes)?])
    }

    pub(super) fn random(&mut self, seed: u64, bytes: u64) -> Result<Vec<u8>, Problem> {
        Ok(random::bytes(seed, self.spend(bytes)?))
    }

    pub(super) fn file(&mut self, path: &Path) -> Result<Vec<u8>, Problem> {
        let content = match (self.resolve)(path, self.left) {
            Ok(content) => content,
            Err(ReadFailure::TooLarge { bytes, .. }) => return Err(self.too_large(bytes)),
            Err(failure) => return Err(unreadable(path, &failure)),
        };
        self.spend(content.len() as u64)?;
        Ok(content)
    }

    /// The expected content of a buffer of `length` bytes; it does not count against the budget, as it is bounded by
    /// its buffer.
    pub(super) fn expectation(&mut self, path: &Path, length: usize) -> Result<Vec<u8>, Problem> {
        match (self.resolve)(path, length as u64) {
            Ok(content) => same_length(content, length),
            Err(ReadFailure::TooLarge { bytes, .. }) => {
                Err(Problem::ExpectLength { expected: bytes, buffer: length as u64 })
            }
            Err(failure) => Err(unreadable(path, &failure)),
        }
    }
}

fn unreadable(path: &Path, failure: &ReadFailure) -> Problem {
    Problem::Read { path: path.to_owned(), reason: failure.to_string() }
}

/// `content` if it has `length` bytes.
pub(super) fn same_length(content: Vec<u8>, length: usize) -> Result<Vec<u8>, Problem> {
    if content.len() == length {
        return Ok(content);
    }
    Err(Problem::ExpectLength { expected: content.len() as u64, buffer: length as u64 })
}

/// Decodes pairs of hexadecimal digits; white space and `_` may be between bytes.
pub(super) fn decode_hex(text: &str) -> Result<Vec<u8>, Problem> {
    let mut digits = text.chars().filter(|c| !c.is_ascii_whitespace() && *c != '_').map(|c| c.to_digit(16));
    let mut bytes = Vec::with_capacity(text.len() / 2);
    while let Some(high) = digits.next() {
        let (Some(high), Some(Some(low))) = (high, digits.next()) else {
            return Err(Problem::BadHex);
        };
        bytes.push((high * 16 + low) as u8);
    }
    Ok(bytes)
}

/// Used by callers without files.
#[cfg(test)]
pub(super) fn no_files(_: &Path, _: u64) -> Result<Vec<u8>, ReadFailure> {
    Err(ReadFailure::Io("no files here".to_owned()))
}

/// The whole budget over the file system, with paths relative to `folder`.
pub(super) fn files_in(folder: &Path) -> impl FnMut(&Path, u64) -> Result<Vec<u8>, ReadFailure> + use<> {
    let folder = folder.to_owned();
    move |path, limit| read_file(&folder.join(path), limit.min(MAX_BUFFER_BYTES))
}
