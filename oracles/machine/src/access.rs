//! Accesses of a warp to memory.

use oriole_interp::{CONST_WINDOW, Cause, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, WINDOW};
use oriole_ir::diagnostics::counted;
use oriole_ir::ops::{AtomOp, Type};
use oriole_semantics::scalar;

use super::cluster::split;
use super::common::{load_row, load_words, store_words};
use super::lanes::{LANES, Lanes, mask, set};
use super::machine::{Cta, Machine, Stop, Write};
use super::program::*;
use super::state::Warp;
use super::tiles::{ROW_BYTES, ROWS, Tile};

/// The bank of the constants that a module declares.
const MODULE_BANK: u8 = 3;

/// Where an address lies.
#[derive(Clone, Copy)]
pub enum Place {
    /// A region of global memory, and the offset there.
    Global {
        /// See above.
        region: usize,
        /// See above.
        at: usize,
    },
    /// A bank, and the offset there.
    Constant(u8, usize),
    /// The CTA's shared memory.
    Shared(usize),
    /// That of another CTA of the cluster, by rank.
    Peer(usize, usize),
    /// The thread's own memory.
    Local(usize),
}

impl Warp {
    /// The address of each lane.
    #[inline(always)]
    pub fn addresses(&self, address: &Address, wide: bool) -> [u64; LANES] {
        let word = |row: u16, lane: usize| u64::from(self.rows[usize::from(row)][lane]);
        let pair = |row: u16, wide: bool, lane: usize| {
            let low = word(row, lane);
            if wide { low | word(row + 1, lane) << 32 } else { low }
        };
        // What is the same in all lanes comes first; a plain loop becomes vectors.
        let same = address.uniform.map_or(0, |(row, wide)| pair(row, wide, 0)).wrapping_add(address.offset as u64);
        let mut addresses = [same; LANES];
        if let Some((row, wide)) = address.base {
            let mut lane = 0;
            while lane < LANES {
                addresses[lane] = (pair(row, wide, lane) * u64::from(address.scale)).wrapping_add(same);
                lane += 1;
            }
        }
        if !wide {
            addresses.iter_mut().for_each(|address| *address &= 0xffff_ffff);
        }
        addresses
    }
}

impl Machine<'_> {
    /// Executes an access.
    pub fn access(&mut self, cta: &mut Cta, warp: usize, pc: u32, active: u32, kind: &Kind) -> Result<(), Stop> {
        match kind {
            Kind::LoadConstant {
                dst,
                width: Width { bytes: 4, .. },
                bank,
                address: Address { base: None, uniform: None, offset, .. },
            } if let Some(word) = self.banks.word(*bank, *offset as u64 & 0xffff_ffff) => {
                cta.warps[warp].write(*dst, &[word; LANES], active);
                Ok(())
            }
            Kind::LoadConstant { dst, width, bank, address } => {
                let addresses = cta.warps[warp].addresses(address, false);
                let mut result = [[0; LANES]; 4];
                // Mostly all lanes read the same.
                let one = addresses[active.trailing_zeros() as usize & 31];
                let is_one = set(active).all(|lane| addresses[lane] == one);
                let reading = if is_one { active & active.wrapping_neg() } else { active };
                for lane in set(reading) {
                    let found = self.banks.bytes(*bank, addresses[lane], width.bytes.into());
                    let bytes = found.ok_or_else(|| Stop::Trap {
                        pc,
                        lane: lane as u32,
                        cause: Cause::OutOfBounds {
                            space: "const",
                            address: addresses[lane],
                            bytes: width.bytes.into(),
                            near: format!("bank {bank}"),
                        },
                    })?;
                    for (word, result) in result.iter_mut().enumerate() {
                        let bytes = bytes[4 * word..].first_chunk().copied().unwrap_or_default();
                        result[lane] = u32::from_le_bytes(bytes);
                    }
                    result[0][lane] = extended(u64::from(result[0][lane]), *width) as u32;
                }
                if reading != active {
                    let first = reading.trailing_zeros() as usize & 31;
                    result = result.map(|words| [words[first]; LANES]);
                }
                let words = width.bytes.div_ceil(4).min(4);
                (0..words).for_each(|i| cta.warps[warp].write(*dst + u16::from(i), &result[usize::from(i)], active));
                Ok(())
            }
            Kind::Load { dst, space, width, address } => {
                let addresses = cta.warps[warp].addresses(address, is_wide(*space));
                if let Some((memory, base)) = self.common(cta, *space, &addresses, active, width.bytes.into()) {
                    if width.bytes == 4
                        && let Some(row) = load_row(memory, &addresses, base)
                    {
                        cta.warps[warp].write(*dst, &row, active);
                        return Ok(());
                    }
                    // Most loads are of one word, and room for more takes longer to clear than these to read.
                    let (mut few, mut many);
                    let words = if width.bytes <= 4 {
                        few = [[0; LANES]; 1];
                        &mut few[..]
                    } else {
                        many = [[0; LANES]; 8];
                        &mut many[..usize::from(width.bytes.div_ceil(4))]
                    };
                    load_words(memory, &addresses, base, active, *width, words);
                    let w = &mut cta.warps[warp];
                    words.iter().enumerate().for_each(|(i, word)| w.write(*dst + i as u16, word, active));
                    return Ok(());
                }
                let mut words = [[0; LANES]; 8];
                for lane in set(active) {
                    let place = self.locate(cta, warp, pc, lane, *space, addresses[lane], width.bytes.into())?;
                    for piece in 0..width.bytes.div_ceil(4) {
                        let bytes = (width.bytes - 4 * piece).min(4);
                        let value = self.read(cta, warp, advance(place, 4 * usize::from(piece)), bytes.into());
                        words[usize::from(piece)][lane] = value as u32;
                    }
                    words[0][lane] = extended(words[0][lane].into(), *width) as u32;
                }
                let count = usize::from(width.bytes.div_ceil(4));
                let w = &mut cta.warps[warp];
                words[..count].iter().enumerate().for_each(|(i, word)| w.write(*dst + i as u16, word, active));
                Ok(())
            }
            Kind::Store { src, space, width, address } => {
                let addresses = cta.warps[warp].addresses(address, is_wide(*space));
                let count = usize::from(width.bytes.div_ceil(4));
                let mut words = [[0; LANES]; 8];
                for (i, word) in words.iter_mut().enumerate().take(count) {
                    *word = cta.warps[warp].stored(*src, i as u16, self.literals);
                }
                if self.watch.is_empty()
                    && let Some((memory, base)) = self.common_mut(cta, *space, &addresses, active, width.bytes.into())
                {
                    store_words(memory, &addresses, base, active, *width, &words);
                    return Ok(());
                }
                for lane in set(active) {
                    for place in self.written(cta, warp, pc, lane, *space, addresses[lane], width.bytes.into())? {
                        self.note(cta, warp, pc, lane, place, width.bytes.into());
                        for (piece, word) in words.iter().enumerate().take(count) {
                            let bytes = usize::from(width.bytes).min(4);
                            self.put(cta, warp, advance(place, 4 * piece), bytes, word[lane].into());
                        }
                    }
                }
                Ok(())
            }
            Kind::LoadCombined { .. } => self.load_combined(cta, warp, pc, active, kind),
            Kind::Atomic { .. } => self.atomic(cta, warp, pc, active, kind),
            Kind::CopyAsync { to, from, bytes, fills, unless } => {
                let (to, from) = (cta.warps[warp].addresses(to, false), cta.warps[warp].addresses(from, true));
                let kept = cta.warps[warp].pred(*unless);
                let size = u64::from(*bytes);
                for lane in set(active) {
                    let target = self.locate(cta, warp, pc, lane, Space::Shared, to[lane], size)?;
                    let zeros = if *fills { from[lane] & (size - 1) } else { 0 };
                    let source = if kept >> lane & 1 == 1 {
                        Some(self.locate(cta, warp, pc, lane, Space::Global, from[lane] - zeros, size)?)
                    } else {
                        None
                    };
                    let copied = (size - zeros) as usize;
                    for piece in (0..usize::from(*bytes)).step_by(4) {
                        let value = source.map_or(0, |place| self.read(cta, warp, advance(place, piece), 4));
                        let own = copied.saturating_sub(piece).min(4) as u32;
                        let value = value & (1u64 << (8 * own)).wrapping_sub(1);
                        self.put(cta, warp, advance(target, piece), 4, value);
                    }
                }
                Ok(())
            }
            Kind::LoadTiles { dst, count, transposed, address } => {
                let addresses = cta.warps[warp].addresses(address, false);
                let mut words = [[0; LANES]; 4];
                for (tile, word) in words.iter_mut().enumerate().take((*count).into()) {
                    let mut rows = Tile::default();
                    for (row, bytes) in rows.rows_mut().enumerate() {
                        let lane = ROWS * tile + row;
                        let place = self.locate(cta, warp, pc, lane, Space::Shared, addresses[lane], ROW_BYTES)?;
                        for (at, half) in bytes.iter_mut().enumerate() {
                            *half = self.read(cta, warp, advance(place, 2 * at), 2) as u16;
                        }
                    }
                    *word = (if *transposed { rows.transposed() } else { rows }).words();
                }
                let count = u16::from(*count);
                (0..count).for_each(|at| cta.warps[warp].write(*dst + at, &words[usize::from(at)], active));
                Ok(())
            }
            Kind::StoreTiles { src, count, transposed, address } => {
                let addresses = cta.warps[warp].addresses(address, false);
                for tile in 0..usize::from(*count) {
                    let word = cta.warps[warp].stored(*src, tile as u16, self.literals);
                    let tile_of = Tile::of(&word);
                    let mut rows = if *transposed { tile_of.transposed() } else { tile_of };
                    for (row, halves) in rows.rows_mut().enumerate() {
                        let lane = ROWS * tile + row;
                        let place = self.locate(cta, warp, pc, lane, Space::Shared, addresses[lane], ROW_BYTES)?;
                        for (at, half) in halves.iter().enumerate() {
                            self.put(cta, warp, advance(place, 2 * at), 2, (*half).into());
                        }
                    }
                }
                Ok(())
            }
            Kind::Window(pred, window, address) => {
                let addresses = cta.warps[warp].addresses(address, true);
                let inside = |address: u64, window: u64| address.wrapping_sub(window) < WINDOW;
                let found = mask(|lane| {
                    let address = addresses[lane];
                    let (shared, local) = (inside(address, SHARED_WINDOW), inside(address, LOCAL_WINDOW));
                    match window {
                        Window::Shared => shared && split(address - SHARED_WINDOW).0 == u64::from(cta.rank),
                        Window::Cluster => shared,
                        Window::Local => local,
                        Window::Global => !shared && !local,
                    }
                });
                cta.warps[warp].set_pred(*pred, found, active);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Lane by lane, in their order.
    fn atomic(&mut self, cta: &mut Cta, warp: usize, pc: u32, active: u32, kind: &Kind) -> Result<(), Stop> {
        let Kind::Atomic { dst, space, bytes, modify, address, srcs, done } = kind else { return Ok(()) };
        let addresses = cta.warps[warp].addresses(address, is_wide(*space));
        let words = u16::from(bytes.div_ceil(4));
        let operand = |warp: &Warp, row: u16, lane: usize, literals: &[Lanes]| {
            (0..words).fold(0u128, |value, i| value | u128::from(warp.stored(row, i, literals)[lane]) << (32 * i))
        };
        let mut old = [[0; LANES]; 4];
        let (mut exchanged, mut performed) = (0, 0);
        for lane in set(active) {
            for place in self.written(cta, warp, pc, lane, *space, addresses[lane], (*bytes).into())? {
                // The code itself does what the memory behind a generic address cannot do, and may ask in a predicate
                // whether it was done. Shared memory swaps, and computes integers of 32 bits.
                let is_direct = match modify {
                    Modify::Cas | Modify::Cast | Modify::Count | Modify::Op(AtomOp::Exch, _) => true,
                    Modify::Op(_, ty) => ty.bits() == 32 && !ty.is_float() && *bytes == 4,
                };
                let is_left = *done != NOWHERE || !is_direct;
                if is_left && *space == Space::Generic && !matches!(place, Place::Global { .. }) {
                    continue;
                }
                performed |= 1 << lane;
                let mut before = 0;
                for piece in 0..usize::from(words) {
                    let size = usize::from(*bytes).min(4);
                    before |= u128::from(self.read(cta, warp, advance(place, 4 * piece), size)) << (32 * piece);
                }
                let first = operand(&cta.warps[warp], srcs[0], lane, self.literals);
                let after = match modify {
                    Modify::Cas | Modify::Cast if before == first => {
                        exchanged |= 1 << lane;
                        operand(&cta.warps[warp], srcs[1], lane, self.literals)
                    }
                    Modify::Cas | Modify::Cast => before,
                    Modify::Count => u128::from(before as u32 + 1),
                    Modify::Op(AtomOp::Exch, _) => first,
                    // Denormals are kept in shared memory and flushed in global memory (PTX ISA, "atom").
                    Modify::Op(op, ty) if matches!(place, Place::Shared(_) | Place::Peer(..)) && *ty == Type::F32 => {
                        scalar::atomic_with_subnormals(*op, *ty, before as u64, first as u64).into()
                    }
                    Modify::Op(op, ty) => {
                        let size = ty.bits().min(64);
                        let element = |at: u32| {
                            let one = |value: u128| (value >> at) as u64 & (u64::MAX >> (64 - size));
                            u128::from(scalar::atomic(*op, *ty, one(before), one(first))) << at
                        };
                        (0..8 * u32::from(*bytes)).step_by(size as usize).map(element).fold(0, |all, one| all | one)
                    }
                };
                self.note(cta, warp, pc, lane, place, (*bytes).into());
                for (piece, old) in old.iter_mut().enumerate().take(words.into()) {
                    let size = usize::from(*bytes).min(4);
                    self.put(cta, warp, advance(place, 4 * piece), size, (after >> (32 * piece)) as u64);
                    old[lane] = (before >> (32 * piece)) as u32;
                }
            }
        }
        if *modify == Modify::Cast {
            old = [[0; LANES]; 4];
            set(exchanged).for_each(|lane| old[0][lane] = 1);
        }
        let w = &mut cta.warps[warp];
        // `CAST` stores where the value was the expected one, and says where it did: in a register, or a predicate.
        w.set_pred(*done, if *modify == Modify::Cast { exchanged } else { performed }, active);
        if performed != 0 {
            (0..words).for_each(|i| w.write(*dst + i, &old[usize::from(i)], performed));
        }
        Ok(())
    }

    /// Where an access of a lane lies.
    #[inline]
    #[allow(clippy::too_many_arguments)]
    pub fn locate(
        &mut self,
        cta: &mut Cta,
        warp: usize,
        pc: u32,
        lane: usize,
        space: Space,
        address: u64,
        bytes: u64,
    ) -> Result<Place, Stop> {
        let trap = |cause| Stop::Trap { pc, lane: lane as u32, cause };
        let (space, offset) = match space {
            Space::Generic if address.wrapping_sub(SHARED_WINDOW) < WINDOW => (Space::Cluster, address - SHARED_WINDOW),
            Space::Generic if address.wrapping_sub(LOCAL_WINDOW) < WINDOW => (Space::Local, address - LOCAL_WINDOW),
            Space::Generic if bank_of(address).is_some() => {
                let (bank, offset) = bank_of(address).unwrap_or_default();
                let near = String::new();
                let outside = Cause::OutOfBounds { space: "const", address, bytes: bytes as u32, near };
                let found = self.banks.bytes(bank, offset, bytes as usize);
                return found.map(|_| Place::Constant(bank, offset as usize)).ok_or_else(|| trap(outside));
            }
            Space::Generic => (Space::Global, address),
            other => (other, address),
        };
        let name = match space {
            Space::Shared | Space::Cluster => "shared",
            Space::Local => "local",
            _ => "global",
        };
        if offset % bytes != 0 {
            return Err(trap(Cause::Misaligned { space: name, address: offset, bytes: bytes as u32 }));
        }
        let outside = |near: String| Cause::OutOfBounds { space: name, address: offset, bytes: bytes as u32, near };
        match space {
            Space::Shared | Space::Cluster => {
                let (rank, at) = split(offset);
                let own = rank == u64::from(cta.rank) || rank == 0 && space == Space::Shared;
                let memory = if own { Some(&cta.shared) } else { self.peers.get(rank as usize) };
                let memory = memory.filter(|_| own || space == Space::Cluster);
                let len = memory.map_or(0, Vec::len) as u64;
                if at >= len || len - at < bytes {
                    return Err(trap(outside(format!("shared memory has {}", counted(cta.shared.len(), "byte")))));
                }
                Ok(if own { Place::Shared(at as usize) } else { Place::Peer(rank as usize, at as usize) })
            }
            Space::Local => {
                if offset >= self.local as u64 || self.local as u64 - offset < bytes {
                    return Err(trap(outside(format!("the thread has {}", counted(self.local, "byte")))));
                }
                let local = &mut cta.warps[warp].local;
                if local.is_empty() {
                    local.resize(self.local * LANES, 0);
                }
                Ok(Place::Local(lane * self.local + offset as usize))
            }
            _ => match self.global.find(self.hint, offset, bytes) {
                Some(region) => {
                    self.hint = region;
                    Ok(Place::Global { region, at: (offset - self.global.region(region).base) as usize })
                }
                None => Err(trap(outside(self.global.describe(offset)))),
            },
        }
    }

    #[inline]
    pub fn read(&self, cta: &Cta, warp: usize, place: Place, bytes: usize) -> u64 {
        let slice = |memory: &[u8], at: usize| {
            let mut word = [0; 8];
            word[..bytes].copy_from_slice(&memory[at..at + bytes]);
            u64::from_le_bytes(word)
        };
        match place {
            Place::Global { region, at } => self.global.region(region).bytes.load(at, bytes).0,
            Place::Shared(at) => slice(&cta.shared, at),
            Place::Peer(rank, at) => slice(&self.peers[rank], at),
            Place::Local(at) => slice(&cta.warps[warp].local, at),
            Place::Constant(bank, at) => {
                let found = self.banks.bytes(bank, at as u64, bytes).unwrap_or_default();
                slice(&found, 0)
            }
        }
    }

    #[inline]
    pub fn put(&mut self, cta: &mut Cta, warp: usize, place: Place, bytes: usize, value: u64) {
        let word = &value.to_le_bytes()[..bytes];
        match place {
            Place::Global { region, at } => self.global.region_mut(region).bytes.store(at, bytes, value, false),
            Place::Shared(at) => cta.shared[at..at + bytes].copy_from_slice(word),
            Place::Peer(rank, at) => self.peers[rank][at..at + bytes].copy_from_slice(word),
            Place::Local(at) => cta.warps[warp].local[at..at + bytes].copy_from_slice(word),
            // Constants are not written: a store there changes nothing.
            Place::Constant(..) => {}
        }
    }

    /// Records a store to a watched byte.
    pub fn note(&mut self, cta: &Cta, warp: usize, pc: u32, lane: usize, place: Place, bytes: u32) {
        let Place::Global { region, at } = place else { return };
        if self.watch.is_empty() {
            return;
        }
        let address = self.global.region(region).base + at as u64;
        if self.watch.iter().any(|watched| (address..address + u64::from(bytes)).contains(watched)) {
            let thread = cta.warps[warp].first + lane as u32;
            self.writes.push(Write { address, bytes, ctaid: cta.ctaid, thread, pc });
        }
    }
}

impl Warp {
    /// A word of what is stored: the constant register is zero in every word.
    pub fn stored(&self, row: u16, word: u16, literals: &[Lanes]) -> Lanes {
        self.fetch_row(literals, if row == ZERO { ZERO } else { row + word })
    }
}

/// The bank and the offset of a generic address, if it is that of a constant.
fn bank_of(address: u64) -> Option<(u8, u64)> {
    let within = |window: u64| Some(address.wrapping_sub(window)).filter(|offset| *offset < WINDOW);
    within(CONST_WINDOW).map(|offset| (MODULE_BANK, offset)).or(within(PARAM_WINDOW).map(|offset| (0, offset)))
}

fn is_wide(space: Space) -> bool {
    matches!(space, Space::Generic | Space::Global)
}

pub fn advance(place: Place, by: usize) -> Place {
    match place {
        Place::Global { region, at } => Place::Global { region, at: at + by },
        Place::Shared(at) => Place::Shared(at + by),
        Place::Peer(rank, at) => Place::Peer(rank, at + by),
        Place::Local(at) => Place::Local(at + by),
        Place::Constant(bank, at) => Place::Constant(bank, at + by),
    }
}

/// A narrow value as it fills a register.
pub fn extended(value: u64, width: Width) -> u64 {
    match (width.bytes, width.signed) {
        (1, true) => value as i8 as i64 as u64,
        (1, false) => value & 0xff,
        (2, true) => value as i16 as i64 as u64,
        (2, false) => value & 0xffff,
        _ => value,
    }
}
