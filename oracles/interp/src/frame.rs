//! Frames: the registers of one function activation, for all lanes of a warp.

use rustc_hash::FxHashMap;

use super::concretize::Concretizer;
use super::program::{FuncInfo, Slot};
use super::warpgroup::Products;
use oriole_semantics::lanes::{LANES, Word, by_lane, lanes};

/// The registers of an activation. Lanes that diverge inside the function share the frame.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// The function.
    pub func: usize,
    /// Words by slot, and which lanes' are undefined.
    pub words: Vec<Word>,
    pub undefined: Vec<u32>,
    /// Undefined bits of the undefined words of which not all are, by slot and lane.
    partial: FxHashMap<(Slot, u8), u32>,
    /// Predicates by slot, a bit a lane, and which are undefined.
    pub preds: Vec<u32>,
    pub pred_undefined: Vec<u32>,
    /// Where the function's variables begin in local memory.
    pub base: u32,
    /// The caller's frame, and where it continues. The outermost frame has itself as caller.
    pub parent: usize,
    pub return_to: u32,
    /// The call that made the frame.
    pub call: u32,
    /// How many frames are below it.
    pub depth: u32,
    /// Threads groups that are in it or below it.
    pub users: u32,
    /// Gives what is undefined a value, so that nothing is.
    pub concretizer: Option<Concretizer>,
    /// Products of warpgroups that are not done yet.
    pub products: Products,
}

impl Frame {
    /// Makes this the frame of a new activation; memory is used again.
    pub fn enter(&mut self, index: usize, info: &FuncInfo, bank: &[u8]) {
        self.func = index;
        self.words.clear();
        self.words.resize(info.words as usize, [0; LANES]);
        self.undefined.clear();
        self.undefined.resize(info.words as usize, u32::MAX);
        self.partial.clear();
        self.products = Products::default();
        self.preds.clear();
        self.preds.resize(info.preds as usize, 0);
        self.pred_undefined.clear();
        self.pred_undefined.resize(info.preds as usize, u32::MAX);
        for (slot, value) in &info.constants {
            self.words[*slot as usize] = [*value; LANES];
            self.undefined[*slot as usize] = 0;
        }
        for (slot, offset) in &info.bank {
            if let Some(bytes) = bank.get(*offset as usize..).and_then(|rest| rest.first_chunk()) {
                self.words[*slot as usize] = [u32::from_le_bytes(*bytes); LANES];
                self.undefined[*slot as usize] = 0;
            }
        }
        for slot in &info.truths {
            self.preds[*slot as usize] = u32::MAX;
            self.pred_undefined[*slot as usize] = 0;
        }
        for slot in &info.falsehoods {
            self.pred_undefined[*slot as usize] = 0;
        }
        if let Some(concretizer) = &mut self.concretizer {
            concretizer.open(&mut self.undefined, &mut self.pred_undefined);
            concretizer.refill(&mut self.words, &mut self.preds);
        }
    }

    /// How many bytes of this machine's memory its registers take, without the parts of words.
    pub fn held(&self) -> usize {
        self.words.capacity() * size_of::<Word>()
            + 4 * (self.undefined.capacity() + self.preds.capacity() + self.pred_undefined.capacity())
    }

    /// A word is about to be written in some lanes; what is still undefined reads as something else from now on.
    #[cold]
    #[inline(never)]
    fn refill(&mut self, slot: Slot, mask: u32) {
        if let Some(concretizer) = &mut self.concretizer {
            concretizer.close(slot, mask);
            concretizer.refill(&mut self.words, &mut self.preds);
        }
    }

    /// Whether any word may be undefined in part.
    pub fn has_partial_words(&self) -> bool {
        !self.partial.is_empty()
    }

    /// The undefined bits of a lane's word.
    pub fn bits(&self, slot: Slot, lane: usize) -> u32 {
        match self.undefined[slot as usize] >> lane & 1 {
            0 => 0,
            _ => self.partial.get(&(slot, lane as u8)).copied().unwrap_or(u32::MAX),
        }
    }

    /// Writes a lane's word, of which some bits may be undefined.
    pub fn put(&mut self, slot: Slot, lane: usize, mut value: u32, mut undefined: u32) {
        if let Some(concretizer) = &mut self.concretizer {
            concretizer.close(slot, 1 << lane);
            value = (value & !undefined) | (concretizer.word() & std::mem::take(&mut undefined));
        }
        self.words[slot as usize][lane] = value;
        let flags = &mut self.undefined[slot as usize];
        *flags = (*flags & !(1 << lane)) | u32::from(undefined != 0) << lane;
        match undefined {
            0 => {}
            u32::MAX if self.partial.is_empty() => {}
            u32::MAX => _ = self.partial.remove(&(slot, lane as u8)),
            _ => _ = self.partial.insert((slot, lane as u8), undefined),
        }
    }

    /// Writes a word in the lanes of a mask where some lanes' are undefined.
    #[cold]
    #[inline(never)]
    fn set_undefined(&mut self, slot: Slot, value: &Word, undefined: u32, mask: u32) {
        let undefined = undefined & mask;
        if let Some(concretizer) = &mut self.concretizer {
            let mut value = *value;
            lanes(undefined).for_each(|lane| value[lane] = concretizer.word());
            return self.write(slot, &value, 0, mask);
        }
        if !self.partial.is_empty() {
            lanes(undefined).for_each(|lane| _ = self.partial.remove(&(slot, lane as u8)));
        }
        self.write(slot, value, undefined, mask);
    }

    /// Writes a word in the lanes of a mask; undefined words are so as a whole.
    #[inline(always)]
    pub fn set(&mut self, slot: Slot, value: &Word, undefined: u32, mask: u32) {
        if undefined & mask != 0 {
            self.set_undefined(slot, value, undefined, mask);
        } else {
            self.write(slot, value, 0, mask);
        }
    }

    #[inline(always)]
    fn write(&mut self, slot: Slot, value: &Word, undefined: u32, mask: u32) {
        if self.concretizer.is_some() {
            self.refill(slot, mask);
        }
        let word = &mut self.words[slot as usize];
        if mask == u32::MAX {
            *word = *value;
            self.undefined[slot as usize] = undefined;
        } else {
            for lane in 0..LANES {
                let chosen = 0u32.wrapping_sub(mask >> lane & 1);
                word[lane] = (value[lane] & chosen) | (word[lane] & !chosen);
            }
            let old = &mut self.undefined[slot as usize];
            *old = (undefined & mask) | (*old & !mask);
        }
    }

    /// Writes a predicate in the lanes of a mask.
    #[inline(always)]
    pub fn set_pred(&mut self, slot: Slot, mut value: u32, mut undefined: u32, mask: u32) {
        if let Some(concretizer) = &mut self.concretizer {
            concretizer.close_pred(slot, mask);
            value = (value & !undefined) | (concretizer.word() & std::mem::take(&mut undefined));
        }
        let pred = &mut self.preds[slot as usize];
        *pred = (value & mask) | (*pred & !mask);
        let old = &mut self.pred_undefined[slot as usize];
        *old = (undefined & mask) | (*old & !mask);
    }

    /// Two words as 64-bit values.
    #[inline(always)]
    pub fn pair(&self, slot: Slot) -> [u64; LANES] {
        let (low, high) = (&self.words[slot as usize], &self.words[slot as usize + 1]);
        by_lane(|lane| u64::from(low[lane]) | u64::from(high[lane]) << 32)
    }

    /// Which lanes have an undefined word in a pair.
    #[inline(always)]
    pub fn pair_undefined(&self, slot: Slot) -> u32 {
        self.undefined[slot as usize] | self.undefined[slot as usize + 1]
    }

    /// Writes 64-bit values in the lanes of a mask.
    #[inline(always)]
    pub fn set_pair(&mut self, slot: Slot, value: &[u64; LANES], undefined: u32, mask: u32) {
        let low: Word = by_lane(|lane| value[lane] as u32);
        let high: Word = by_lane(|lane| (value[lane] >> 32) as u32);
        self.set(slot, &low, undefined, mask);
        self.set(slot + 1, &high, undefined, mask);
    }
}
