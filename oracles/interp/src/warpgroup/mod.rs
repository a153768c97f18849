//! Products of warpgroups: PTX ISA 9.0, "Asynchronous Warpgroup Level Matrix Instructions".
//!
//! Of the 64 rows of a product each warp of the group has 16, and computes these by itself, as [`super::matrix`]
//! computes `mma` (the arithmetic is stated there). So the four warps are not held together here: a warp that comes
//! alone gets its rows, where PTX says nothing. A descriptor and `scale-d` are the same in all lanes of a warp, or the
//! product traps.
//!
//! A product is done as late as its warp's `wgmma.wait_group` allows: shared memory is read then, registers are read
//! where it begins. Until then what its results hold is undefined. They hold a mark by which the wait finds them, and
//! whatever copies of them there are; a product that adds to marked registers is done after the one that yields them.
//! On request some are done earlier, with all that were begun before ([`super::asynchronous`]). A product is waited for
//! in the activation of the function that began it; where it returns before, results stay undefined.
//!
//! `wgmma.fence` orders nothing here, and the proxies of the memory model are not modelled.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::ops::Range;

use oriole_ir::ops::Scope;

use super::access::{Fault, Spaces};
use super::engine::{Coordinates, read_place};
use super::frame::Frame;
use super::matrix::PRODUCTS_A_STEP;
use super::outcome::Cause;
use super::program::{Memory, Place, Slot};
use super::strong::{MemoryOrder, Strong, StrongKind};
use oriole_launch::random::SplitMix64;
use oriole_semantics::lanes::{LANES, by_lane, lanes};
use oriole_semantics::matrix::descriptor::Descriptor;
use oriole_semantics::matrix::factor::{Known, Lines, PIECE, Side, pieces};
use oriole_semantics::matrix::{COLUMNS, Product, Results, Sources, multiply};

/// Warps of a warpgroup, and the rows of one.
const WARPS: u32 = 4;
const ROWS: u64 = 16;
/// The most products of an activation that are pending; what is more is done at once, the oldest first.
const MOST_PENDING: usize = 256;

/// An instruction of a warpgroup.
#[derive(Clone)]
pub enum WarpgroupOp {
    /// Orders products, or is about their groups.
    Order(StrongKind),
    Multiply(Box<GroupProduct>),
}

/// A product of which a warp computes 16 rows.
#[derive(Clone)]
pub struct GroupProduct {
    /// The product of the rows with 8 columns.
    pub product: Product,
    /// How many times as many columns there are.
    pub tiles: usize,
    pub sides: [Side; 2],
    pub left: Left,
    pub right: Place,
    pub added: Vec<Slot>,
    pub metadata: Option<Slot>,
    /// Whether anything is added.
    pub adds: Place,
    pub dsts: Vec<Slot>,
}

/// Where the first factor is.
#[derive(Clone)]
pub enum Left {
    Registers(Vec<Slot>),
    Shared(Place),
}

/// The products of an activation that are not done, the oldest first.
#[derive(Clone, Debug, Default)]
pub struct Products {
    pending: Vec<Pending>,
    /// How many groups were closed, and how many products begun.
    closed: u32,
    begun: u64,
}

/// A product that is not done.
#[derive(Clone, Debug)]
struct Pending {
    /// Its place among the program's operations of warpgroups.
    op: u32,
    /// Its group; `None` while that is open.
    group: Option<u32>,
    /// The first of the marks that its results hold.
    mark: u32,
    left: Factor,
    right: Descriptor,
    added: Vec<Known>,
    metadata: Option<Known>,
}

/// The rows of the first factor.
#[derive(Clone, Debug)]
enum Factor {
    Registers(Vec<Known>),
    Shared(Descriptor),
}

/// Executes an operation for all lanes of a warp.
pub fn execute(
    frame: &mut Frame,
    spaces: &mut Spaces<'_>,
    at: &Coordinates,
    ops: &[WarpgroupOp],
    index: u32,
) -> Result<(), Fault> {
    let threads = at.block.iter().product::<u32>();
    if threads % (WARPS * LANES as u32) != 0 {
        let cause = format!("a warpgroup is four whole warps, and a CTA of {threads} threads is not made of such");
        return Err(Fault::Trap(0, Cause::BadCollective(cause)));
    }
    let warp = Warp { ops, row: ROWS * u64::from(at.first_thread / LANES as u32 % WARPS) };
    match &ops[index as usize] {
        WarpgroupOp::Order(kind) => {
            match kind {
                StrongKind::ProductGroup => frame.products.close(),
                StrongKind::ProductWait(left) => {
                    let over = frame.products.over(*left);
                    warp.complete(frame, spaces, over)?;
                }
                _ => {}
            }
            spaces.order(Strong { kind: *kind, order: MemoryOrder::Relaxed, scope: Scope::Cta }, u32::MAX)
        }
        WarpgroupOp::Multiply(product) => {
            warp.begin(frame, spaces, product, index)?;
            // Values that stand in for undefined ones would take the place of marks.
            let all = frame.concretizer.is_some() || spaces.in_flight.is_at_once();
            let pending = frame.products.pending.len();
            warp.complete(frame, spaces, if all { pending } else { pending.saturating_sub(MOST_PENDING) })
        }
    }
}

impl Products {
    fn close(&mut self) {
        let closed = self.closed;
        self.pending.iter_mut().filter(|one| one.group.is_none()).for_each(|one| one.group = Some(closed));
        self.closed += 1;
    }

    /// How many products are in groups other than the last so many. Groups follow each other.
    fn over(&self, left: u32) -> usize {
        let is_over = |one: &&Pending| one.group.is_some_and(|group| group.saturating_add(left) < self.closed);
        self.pending.iter().take_while(is_over).count()
    }
}

/// What a warp knows: the operations of the program, and its first row of the product.
struct Warp<'a> {
    ops: &'a [WarpgroupOp],
    row: u64,
}

impl Warp<'_> {
    /// Begins a product, and marks its results.
    fn begin(&self, frame: &mut Frame, spaces: &mut Spaces<'_>, product: &GroupProduct, op: u32) -> Result<(), Fault> {
        let descriptor = |place| same(frame, place, "a matrix descriptor").map(Descriptor::new);
        let right = descriptor(product.right)?;
        let left = match &product.left {
            Left::Registers(slots) => Factor::Registers(slots.iter().map(|slot| known(frame, *slot)).collect()),
            Left::Shared(place) => Factor::Shared(descriptor(*place)?),
        };
        let adds = same(frame, product.adds, "whether a product is added to something")? != 0;
        let added = product.added.iter().map(|slot| if adds { known(frame, *slot) } else { ([0; LANES], 0) });
        let added = added.collect();
        let metadata = product.metadata.map(|slot| known(frame, slot));
        if let Factor::Shared(left) = &left {
            look(spaces, left, self.rows(), product.held_bytes(), product.sides[0])?;
        }
        look(spaces, &right, product.columns(), product.inner_bytes(), product.sides[1])?;
        spaces.extra_steps += (product.tiles * product.product.products() / PRODUCTS_A_STEP) as u64;
        let products = &mut frame.products;
        products.begun += 1;
        let mark = mark(products.begun);
        products.pending.push(Pending { op, group: None, mark, left, right, added, metadata });
        for (number, slot) in (0u32..).zip(&product.dsts) {
            let marks = by_lane(|lane| mark + LANES as u32 * number + lane as u32);
            frame.set(*slot, &marks, u32::MAX, u32::MAX);
        }
        Ok(())
    }

    fn rows(&self) -> Range<u64> {
        self.row..self.row + ROWS
    }

    /// Does so many products, the oldest first.
    fn complete(&self, frame: &mut Frame, spaces: &mut Spaces<'_>, count: usize) -> Result<(), Fault> {
        let done: Vec<Pending> = frame.products.pending.drain(..count).collect();
        let mut done = VecDeque::from(done);
        while let Some(one) = done.pop_front() {
            let WarpgroupOp::Multiply(product) = &self.ops[one.op as usize] else { continue };
            let results = self.results(spaces, product, &one)?;
            let marks = Marks { first: one.mark, results: &results };
            for added in done.iter_mut().chain(&mut frame.products.pending).flat_map(|later| &mut later.added) {
                marks.replace(added);
            }
            for slot in 0..frame.words.len() as Slot {
                let mut word = known(frame, slot);
                let marked = if word.1 == 0 { 0 } else { marks.replace(&mut word) };
                if marked != 0 {
                    frame.set(slot, &word.0, word.1, marked);
                }
            }
            if let Some((detector, ..)) = &mut spaces.races {
                let first = spaces.first_thread;
                detector.arrive((0..LANES as u64).map(|lane| first + lane));
            }
        }
        Ok(())
    }

    /// The words of the results of a product.
    fn results(&self, spaces: &mut Spaces<'_>, group: &GroupProduct, one: &Pending) -> Result<Vec<Known>, Fault> {
        let [a, b, c, d] = group.product.words;
        let [left_side, right_side] = group.sides;
        let mut load = |address| piece(spaces, address);
        let left = match &one.left {
            Factor::Registers(words) => words.iter().map(|word| left_side.signed(*word)).collect(),
            Factor::Shared(descriptor) => {
                Lines::read(descriptor, self.rows(), group.held_bytes(), left_side, &mut load)?.left(a)
            }
        };
        let right = Lines::read(&one.right, group.columns(), group.inner_bytes(), right_side, &mut load)?;
        let mut all = Vec::with_capacity(group.dsts.len());
        for tile in 0..group.tiles {
            let right = right.right(tile, b);
            let added = &one.added[c * tile..c * (tile + 1)];
            let mut sources = Sources::default();
            for (i, (word, undefined)) in left.iter().chain(&right).chain(added).chain(&one.metadata).enumerate() {
                (sources.values[i], sources.undefined[i]) = (word, *undefined);
            }
            let mut results = Results::default();
            multiply(&group.product, &sources, &mut results);
            all.extend((0..d).map(|i| (results.values[i], results.undefined[i])));
        }
        Ok(all)
    }
}

impl GroupProduct {
    fn columns(&self) -> Range<u64> {
        0..(COLUMNS * self.tiles) as u64
    }

    /// Bytes of the inner extent of a line of the second factor.
    fn inner_bytes(&self) -> u64 {
        (self.product.inner * self.sides[1].bits / 8) as u64
    }

    /// The same of the first one, of which only half is held where it is sparse.
    fn held_bytes(&self) -> u64 {
        self.inner_bytes() / if self.product.choice.is_some() { 2 } else { 1 }
    }
}

/// Where results are marked, and what takes the place of the marks.
struct Marks<'a> {
    first: u32,
    results: &'a [Known],
}

impl Marks<'_> {
    /// Puts results in place of the marks of a word; the lanes in which there are some.
    fn replace(&self, (word, undefined): &mut Known) -> u32 {
        let mut marked = 0;
        for lane in lanes(*undefined) {
            let number = word[lane].wrapping_sub(self.first) as usize;
            if let Some((value, unknown)) = self.results.get(number / LANES).filter(|_| number % LANES == lane) {
                word[lane] = value[lane];
                *undefined = *undefined & !(1 << lane) | (unknown & 1 << lane);
                marked |= 1 << lane;
            }
        }
        marked
    }
}

/// The first mark of a product: far from those of others, and from small numbers.
fn mark(number: u64) -> u32 {
    let bits = SplitMix64::new(number).next_u64() as u32;
    (bits | 1 << 30) & 0x7FFF_0000
}

fn known(frame: &Frame, slot: Slot) -> Known {
    (frame.words[slot as usize], frame.undefined[slot as usize])
}

/// A value that is the same in all lanes.
fn same(frame: &Frame, place: Place, what: &'static str) -> Result<u64, Fault> {
    let first = read_place(frame, place, 0).0;
    for lane in 0..LANES {
        match read_place(frame, place, lane) {
            (_, true) => return Err(Fault::Undefined(lane, what)),
            (value, _) if value != first => {
                let cause = Cause::BadCollective(format!("{what} is not the same in all lanes of a warp"));
                return Err(Fault::Trap(lane, cause));
            }
            _ => {}
        }
    }
    Ok(first)
}

/// Sees that a factor is in shared memory, and tells the race detector that it is read.
fn look(
    spaces: &mut Spaces<'_>,
    descriptor: &Descriptor,
    lines: Range<u64>,
    bytes: u64,
    side: Side,
) -> Result<(), Fault> {
    pieces(descriptor, lines, bytes, side, |address, _, _| {
        let at = spaces.locate(Memory::Shared, address, PIECE, 0).map_err(|cause| Fault::Trap(0, cause))?;
        spaces.observe(at, PIECE, 0, false, None);
        Ok(())
    })
}

/// The bytes of a piece, and which are undefined.
fn piece(spaces: &mut Spaces<'_>, address: u64) -> Result<[(u8, bool); PIECE as usize], Fault> {
    let at = spaces.locate(Memory::Shared, address, PIECE, 0).map_err(|cause| Fault::Trap(0, cause))?;
    let (memory, start) = spaces.memory(at);
    Ok(std::array::from_fn(|byte| {
        let (value, undefined) = memory.load(start + byte, 1);
        (value as u8, undefined)
    }))
}
