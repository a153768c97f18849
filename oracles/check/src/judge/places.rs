//! Which places of shared memory in one program are those in another.
//!
//! What variables of shared memory are called and where they lie is nobody's business but the program's, and each
//! compiler chooses anew. So the places of strong accesses are paired by who accesses them and how: a place is a
//! stretch of bytes that overlapping accesses connect, and two are alike where the same threads make the same accesses
//! to the same parts of them. Among places that are alike, those of one name and offset belong together, then the
//! others in the order in which the threads come to them. What is left, as where an operation is missing, is paired by
//! its name, and then by its size.

use std::collections::BTreeMap;
use std::ops::Range;

use oriole_interp::{Extent, MemoryOrder, Owner, StrongKind, StrongOperation};

/// A stretch of shared memory.
#[derive(Clone, Debug)]
struct Place {
    owner: Owner,
    bytes: Range<u64>,
}

/// An access within a place: by which thread, what it is, and to which bytes of the place.
type Use = (u64, StrongKind, u64, u64);

/// Gives the shared memory in operations of a changed program the places that it has in the original.
pub(super) fn align(original: &[StrongOperation], changed: &mut [StrongOperation]) {
    let [before, after] = [original, &*changed].map(places);
    let partners = partners([&before, &after], [original, &*changed]);
    for operation in changed {
        let Some(extent) = operation.extent.filter(|extent| extent.shared) else { continue };
        let at = find(&after, extent.owner, extent.offset);
        operation.extent = Some(match partners[at] {
            Some(partner) => {
                let Place { owner, bytes } = &before[partner];
                Extent { owner: *owner, offset: bytes.start + (extent.offset - after[at].bytes.start), ..extent }
            }
            // Nothing of shared memory lies there, so that it is no place of the original.
            None => Extent { owner: Owner::Heap, ..extent },
        });
    }
}

/// The accesses to shared memory, and the bytes of each; of an element where PTX performs them one by one.
fn accesses(list: &[StrongOperation]) -> impl Iterator<Item = (&StrongOperation, Owner, Range<u64>)> {
    list.iter().flat_map(|operation| {
        let extent = operation.extent.filter(|extent| extent.shared);
        let is_whole = matches!(operation.strong.order, MemoryOrder::Volatile | MemoryOrder::Mmio);
        extent.into_iter().flat_map(move |Extent { owner, offset, bytes, elements, .. }| {
            let (count, bytes) = if is_whole { (1, bytes * elements) } else { (elements, bytes) };
            let start = move |element: u32| offset + u64::from(element * bytes);
            (0..count).map(move |element| (operation, owner, start(element)..start(element) + u64::from(bytes)))
        })
    })
}

/// The places that operations access, in order.
fn places(list: &[StrongOperation]) -> Vec<Place> {
    let mut accessed: Vec<_> = accesses(list).map(|(_, owner, bytes)| (owner, bytes.start, bytes.end)).collect();
    accessed.sort_unstable();
    let mut places: Vec<Place> = Vec::new();
    for (owner, start, end) in accessed {
        match places.last_mut().filter(|last| last.owner == owner && start < last.bytes.end) {
            Some(last) => last.bytes.end = last.bytes.end.max(end),
            None => places.push(Place { owner, bytes: start..end }),
        }
    }
    places
}

/// The place in which a byte lies; it lies in one of them.
fn find(places: &[Place], owner: Owner, offset: u64) -> usize {
    places.partition_point(|place| (place.owner, place.bytes.start) <= (owner, offset)) - 1
}

/// For each place of the changed program its partner in the original.
fn partners([before, after]: [&[Place]; 2], [original, changed]: [&[StrongOperation]; 2]) -> Vec<Option<usize>> {
    let (mut partners, mut is_taken) = (vec![None; after.len()], vec![false; before.len()]);
    let mut pair = |first: &[usize], second: &[usize], fits: &dyn Fn(&Place, &Place) -> bool| {
        for at in second.iter().copied() {
            let is_free = |other: &usize| !is_taken[*other] && fits(&before[*other], &after[at]);
            if let (None, Some(other)) = (partners[at], first.iter().copied().find(is_free)) {
                (partners[at], is_taken[other]) = (Some(other), true);
            }
        }
    };
    let is_named_alike = |one: &Place, other: &Place| one.owner == other.owner && one.bytes.start == other.bytes.start;
    let is_as_large =
        |one: &Place, other: &Place| one.bytes.end - one.bytes.start == other.bytes.end - other.bytes.start;
    let [(first, alike), (second, others)] =
        [(before, original), (after, changed)].map(|(places, list)| met(places, list));
    for (uses, places) in &others {
        let alike = alike.get(uses).map_or(&[][..], Vec::as_slice);
        pair(alike, places, &is_named_alike);
        pair(alike, places, &|_, _| true);
    }
    pair(&first, &second, &is_named_alike);
    pair(&first, &second, &is_as_large);
    partners
}

/// Places in the order in which threads come to them: all, and those that are used alike.
fn met(places: &[Place], list: &[StrongOperation]) -> (Vec<usize>, BTreeMap<Vec<Use>, Vec<usize>>) {
    let mut order: Vec<((u64, usize), usize)> = Vec::new();
    let mut uses: Vec<Vec<Use>> = vec![Vec::new(); places.len()];
    for (number, (operation, owner, bytes)) in accesses(list).enumerate() {
        let at = find(places, owner, bytes.start);
        let start = places[at].bytes.start;
        uses[at].push((operation.thread, operation.strong.kind, bytes.start - start, bytes.end - start));
        order.push(((operation.thread, number), at));
    }
    order.sort_unstable();
    let mut is_met = vec![false; places.len()];
    let order: Vec<usize> =
        order.into_iter().map(|(_, at)| at).filter(|at| !std::mem::replace(&mut is_met[*at], true)).collect();
    let mut alike: BTreeMap<Vec<Use>, Vec<usize>> = BTreeMap::new();
    for at in &order {
        let mut uses = std::mem::take(&mut uses[*at]);
        uses.sort_unstable();
        alike.entry(uses).or_default().push(*at);
    }
    (order, alike)
}
