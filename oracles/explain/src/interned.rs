//! Texts and blocks, each once.

use std::collections::HashMap;
use std::hash::Hash;

use crate::record::Block;

/// Values by number, each once.
#[derive(Debug)]
struct Numbered<T> {
    values: Vec<T>,
    numbers: HashMap<T, u32>,
}

impl<T: Clone + Eq + Hash> Numbered<T> {
    fn number(&mut self, value: T) -> u32 {
        if let Some(number) = self.numbers.get(&value) {
            return *number;
        }
        let number = self.values.len() as u32;
        self.values.push(value.clone());
        self.numbers.insert(value, number);
        number
    }
}

impl<T> Default for Numbered<T> {
    fn default() -> Numbered<T> {
        Numbered { values: Vec::new(), numbers: HashMap::new() }
    }
}

/// The texts and blocks of a kernel.
#[derive(Debug, Default)]
pub struct Interned {
    texts: Numbered<String>,
    blocks: Numbered<Block>,
}

impl Interned {
    /// The number of a text.
    pub fn text(&mut self, text: impl Into<String>) -> u32 {
        self.texts.number(text.into())
    }

    /// The number of a block.
    pub fn block(&mut self, block: Block) -> u32 {
        self.blocks.number(block)
    }

    /// All texts and blocks, by number.
    pub fn into_lists(self) -> (Vec<String>, Vec<Block>) {
        (self.texts.values, self.blocks.values)
    }
}
