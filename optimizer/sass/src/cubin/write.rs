//! Writing: the same file with other words in a function's place.

use super::Cubin;
use super::error::CubinError;

impl Cubin {
    /// The file with these words in a function's place. Attributes that name offsets of instructions, tables of jumps,
    /// and from `sm_100` on the code for other SMs (`.nv.merc`) stay as they are.
    ///
    /// # Errors
    ///
    /// If there is no such function, or it has another number of words.
    pub fn with_code(&self, name: &str, words: &[u128]) -> Result<Vec<u8>, CubinError> {
        let function = self.function(name).ok_or_else(|| {
            let known: Vec<&str> = self.functions.iter().map(|function| function.name.as_str()).collect();
            CubinError::NoFunction { name: name.to_owned(), known: known.join(", ") }
        })?;
        let has = self.words(function).len();
        if words.len() != has {
            return Err(CubinError::Length { name: name.to_owned(), has, given: words.len() });
        }
        let start = self.sections[function.section].range.start + function.bytes().start;
        let mut data = self.data.to_vec();
        for (place, word) in data[start..].chunks_exact_mut(16).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        Ok(data)
    }
}
