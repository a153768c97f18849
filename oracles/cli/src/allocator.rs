//! The allocator of the command and of the benchmarks: mimalloc.
//!
//! Whoever asks mimalloc for an alignment pays for the question, about as much again as a small block costs. Blocks lie
//! at multiples of 8 bytes whatever is asked, as their sizes are multiples of that (`MI_INTPTR_SIZE`; `mi_good_size` of
//! mimalloc says how sizes are rounded). So the question is left out where 8 bytes do, as they nearly always do.

use std::alloc::{GlobalAlloc, Layout};

use libmimalloc_sys::{
    mi_free, mi_malloc, mi_malloc_aligned, mi_realloc, mi_realloc_aligned, mi_zalloc, mi_zalloc_aligned,
};

/// The alignment that every block has, in bytes.
const EVERY_BLOCK: usize = 8;

/// Allocates from mimalloc.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mimalloc;

// SAFETY: blocks have the size and the alignment of the layout, and are freed by the allocator that made them.
unsafe impl GlobalAlloc for Mimalloc {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: any size will do; the alignment is a power of two.
        let block = unsafe {
            match layout.align() {
                ..=EVERY_BLOCK => mi_malloc(layout.size()),
                align => mi_malloc_aligned(layout.size(), align),
            }
        };
        block.cast()
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let block = unsafe {
            match layout.align() {
                ..=EVERY_BLOCK => mi_zalloc(layout.size()),
                align => mi_zalloc_aligned(layout.size(), align),
            }
        };
        block.cast()
    }

    #[inline]
    unsafe fn dealloc(&self, place: *mut u8, _layout: Layout) {
        // SAFETY: the caller got the block from here.
        unsafe { mi_free(place.cast()) }
    }

    #[inline]
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller got the block from here; its alignment is a power of two.
        let block = unsafe {
            match layout.align() {
                ..=EVERY_BLOCK => mi_realloc(place.cast(), size),
                align => mi_realloc_aligned(place.cast(), size, align),
            }
        };
        block.cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every size of small blocks and the first of larger ones, many of each, so that blocks lie everywhere in pages.
    #[test]
    fn blocks_are_aligned_as_asked() {
        for (align, size) in [1, 2, 4, 8, 16, 32, 64].into_iter().flat_map(|align| (1..1200).map(move |n| (align, n))) {
            let layout = Layout::from_size_align(size, align).expect("the alignment is a power of two");
            let larger = Layout::from_size_align(2 * size, align).expect("the alignment is a power of two");
            // SAFETY: the layouts have bytes, and each block is freed once, with its own layout.
            unsafe {
                let blocks = [(); 9].map(|()| Mimalloc.alloc(layout));
                let zeroed = Mimalloc.alloc_zeroed(layout);
                assert!((0..size).all(|at| zeroed.add(at).read() == 0));
                let grown = Mimalloc.realloc(zeroed, layout, larger.size());
                let all = blocks.iter().chain([&grown]);
                assert!(all.clone().all(|block| block.addr() % align == 0), "{size} bytes, aligned to {align}");
                blocks.iter().for_each(|block| Mimalloc.dealloc(*block, layout));
                Mimalloc.dealloc(grown, larger);
            }
        }
    }
}
