//! Constraints of a register on its place, and the two histograms in which they meet.
//!
//! `spec/liveness-and-dce.txt` (L:440-476): there is no interference graph. A register has a list of nodes, each with a
//! type, a target and a weight; for each register in turn two histograms of 512 entries are filled from its list, and
//! the place with the lowest primary count is taken, ties decided by the secondary count, then by the lowest number.
//! The document gives types 1 and 2 the same effect and opposite meanings; here the first keeps a register out of one
//! place, and the second out of all others.
//!
//! The allocator itself makes constraints of types 0, 2 and 11 so far: conflicts, and the wishes of copies.

/// How many places the histograms have.
pub const PLACES: usize = 512;

/// The weight of what must not be: any place with so much is none.
pub const HARD: i64 = 1 << 32;

/// The type of a constraint, with its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Kind {
    /// Not where the target is.
    Point = 0,
    /// Not in one place.
    ExcludeOne = 1,
    /// In one place alone.
    ExcludeAllBut = 2,
    /// Not below the target.
    BelowPoint = 3,
    /// Not in even places, where the target is the high half of a pair: this one is the low half of another.
    PairedLow = 5,
    /// Not in odd places.
    PairedHigh = 6,
    /// Not where either half of the target, an aligned pair, is.
    AlignedPair = 7,
    /// Where the target is, or two places from it: values that a phi joins.
    PhiRelated = 8,
    /// In even places from the target on, in steps of two.
    EvenParity = 11,
    /// In odd ones.
    OddParity = 12,
    /// In even places alone.
    ParityGroup = 13,
    /// Not in odd places of the four around the target: quads.
    Extended = 14,
    /// The more to the right, the longer the range: decides ties.
    Range = 15,
}

/// A constraint: 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Node {
    /// The type.
    pub kind: Kind,
    /// The words of this register and of the target that it is about; of whole registers none.
    pub words: Option<(u8, u8)>,
    /// The register, by its number, or the place that it is about.
    pub target: Target,
    /// How much it counts.
    pub weight: i32,
}

const _: () = assert!(size_of::<Node>() == 16);

/// The register or place that a constraint is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// A virtual register: its place counts once it has one.
    Register(u32),
    /// A place, and how many neighbours it takes.
    Place(u16, u8),
}

/// The counts.
#[derive(Clone, Debug)]
pub struct Histograms {
    primary: Box<[i64; PLACES]>,
    /// The counts of places where a register would begin, whatever its other words are.
    starts: Box<[i64; PLACES]>,
    secondary: Box<[i64; PLACES]>,
}

impl Kind {
    /// Whether a place that it counts is no place at all.
    pub fn is_hard(self) -> bool {
        matches!(
            self,
            Kind::Point | Kind::ExcludeOne | Kind::BelowPoint | Kind::PairedLow | Kind::PairedHigh | Kind::AlignedPair
        )
    }
}

impl Histograms {
    /// Without any count.
    pub fn new() -> Histograms {
        Histograms { primary: Box::new([0; PLACES]), starts: Box::new([0; PLACES]), secondary: Box::new([0; PLACES]) }
    }

    /// Forgets all counts.
    pub fn clear(&mut self) {
        self.primary.fill(0);
        self.starts.fill(0);
        self.secondary.fill(0);
    }

    /// Counts a constraint whose target is at a place, with so many neighbours.
    pub fn count(&mut self, kind: Kind, at: u16, words: u8, weight: i64) {
        let (start, end) = (usize::from(at), (usize::from(at) + usize::from(words)).min(PLACES));
        let primary = &mut self.primary;
        let mut add = |places: &mut dyn Iterator<Item = usize>| places.for_each(|place| primary[place] += weight);
        match kind {
            Kind::Point | Kind::ExcludeOne => add(&mut (start..end)),
            Kind::ExcludeAllBut => add(&mut (0..PLACES).filter(|place| *place != start)),
            Kind::BelowPoint => add(&mut (0..start.min(PLACES))),
            Kind::PairedLow => add(&mut (0..PLACES).step_by(2)),
            Kind::PairedHigh => add(&mut (1..PLACES).step_by(2)),
            Kind::AlignedPair => add(&mut ((start & !1)..((start & !1) + 2).min(PLACES))),
            Kind::PhiRelated => add(&mut (0..PLACES).filter(|place| place.abs_diff(start) % 2 != 0)),
            Kind::EvenParity => add(&mut (0..PLACES).filter(|place| place % 2 != start % 2)),
            Kind::OddParity => add(&mut (0..PLACES).filter(|place| place % 2 == start % 2)),
            Kind::ParityGroup => add(&mut (1..PLACES).step_by(2)),
            Kind::Extended => {
                let quad = start & !3;
                add(&mut (quad..(quad + 4).min(PLACES)).filter(|place| place % 2 == 1));
            }
            Kind::Range => self.secondary.iter_mut().zip(0i64..).for_each(|(count, place)| *count += weight * place),
        }
    }

    /// Counts a place in which the register must not begin.
    pub fn count_start(&mut self, at: u16, weight: i64) {
        if let Some(count) = self.starts.get_mut(usize::from(at)) {
            *count += weight;
        }
    }

    /// The count of a place for so many neighbours; `None` where it is forbidden.
    pub fn at(&self, place: u16, words: u8) -> Option<i64> {
        let (place, words) = (usize::from(place), usize::from(words));
        let sum = self.starts[place] + self.primary[place..place + words].iter().sum::<i64>();
        (sum < HARD).then_some(sum)
    }

    /// The best place below an end for so many neighbours, of equal ones the first from a place on, behind the last the
    /// first of all; `None` where each is forbidden.
    pub fn best(&self, words: u8, end: u16, from: u16) -> Option<u16> {
        let words = usize::from(words);
        let places = (0..usize::from(end)).step_by(words.next_power_of_two());
        let sum = |counts: &[i64; PLACES], place: usize| counts[place..place + words].iter().sum::<i64>();
        let free = places
            .filter(|place| place + words <= usize::from(end))
            .map(|place| {
                let primary = self.starts[place] + sum(&self.primary, place);
                (primary, sum(&self.secondary, place), place < from.into(), place)
            })
            .filter(|(primary, ..)| *primary < HARD);
        free.min().map(|(.., place)| place as u16)
    }
}

impl Default for Histograms {
    fn default() -> Histograms {
        Histograms::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a type counts one place, stated once more.
    fn is_counted(kind: Kind, at: u16, words: u8, place: u16) -> bool {
        let is_in = |from: u16, len: u16| place >= from && place < from + len;
        match kind {
            Kind::Point | Kind::ExcludeOne => is_in(at, words.into()),
            Kind::ExcludeAllBut => place != at,
            Kind::BelowPoint => place < at,
            Kind::PairedLow => place & 1 == 0,
            Kind::PairedHigh | Kind::ParityGroup => place & 1 == 1,
            Kind::AlignedPair => place / 2 == at / 2,
            Kind::PhiRelated => (place ^ at) & 1 == 1,
            Kind::EvenParity => (place ^ at) & 1 == 1,
            Kind::OddParity => (place ^ at) & 1 == 0,
            Kind::Extended => place / 4 == at / 4 && place & 1 == 1,
            Kind::Range => false,
        }
    }

    const ALL: [Kind; 13] = [
        Kind::Point,
        Kind::ExcludeOne,
        Kind::ExcludeAllBut,
        Kind::BelowPoint,
        Kind::PairedLow,
        Kind::PairedHigh,
        Kind::AlignedPair,
        Kind::PhiRelated,
        Kind::EvenParity,
        Kind::OddParity,
        Kind::ParityGroup,
        Kind::Extended,
        Kind::Range,
    ];

    #[test]
    fn counts_are_those_of_the_definition() {
        for kind in ALL {
            for (at, words) in [(0, 1), (5, 1), (6, 2), (8, 4), (255, 1)] {
                let mut counts = Histograms::new();
                counts.count(kind, at, words, 3);
                for place in 0..PLACES as u16 {
                    let expected = if is_counted(kind, at, words, place) { 3 } else { 0 };
                    assert_eq!(counts.primary[usize::from(place)], expected, "{kind:?} {at} {place}");
                    let second = if kind == Kind::Range { 3 * i64::from(place) } else { 0 };
                    assert_eq!(counts.secondary[usize::from(place)], second);
                }
            }
        }
    }

    /// The place that a type leads to by itself, and the one without it.
    #[test]
    fn each_type_decides_alone() {
        for (kind, at, weight, place) in [
            (Kind::Point, 0, HARD, 1),
            (Kind::ExcludeOne, 0, HARD, 1),
            (Kind::ExcludeAllBut, 9, 1, 9),
            (Kind::BelowPoint, 7, HARD, 7),
            (Kind::PairedLow, 0, HARD, 1),
            (Kind::AlignedPair, 1, HARD, 2),
            (Kind::PhiRelated, 3, 1, 1),
            (Kind::EvenParity, 5, 1, 1),
            (Kind::OddParity, 4, 1, 1),
        ] {
            let mut counts = Histograms::new();
            assert_eq!(counts.best(1, 255, 0), Some(0));
            counts.count(kind, at, 1, weight);
            assert_eq!(counts.best(1, 255, 0), Some(place), "{kind:?}");
        }
        // Those that speak of odd places decide where the even ones are taken or cost as much.
        for kind in [Kind::PairedHigh, Kind::ParityGroup, Kind::Extended] {
            let mut counts = Histograms::new();
            counts.count(Kind::Point, 0, 1, HARD);
            assert_eq!(counts.best(1, 255, 0), Some(1));
            counts.count(kind, 0, 1, 1);
            assert_eq!(counts.best(1, 255, 0), Some(2), "{kind:?}");
        }
        let mut counts = Histograms::new();
        counts.count(Kind::Range, 0, 1, -1);
        assert_eq!(counts.best(1, 255, 0), Some(254), "ties go to the lowest secondary count");
    }

    #[test]
    fn wide_registers_begin_at_multiples() {
        let mut counts = Histograms::new();
        counts.count(Kind::Point, 1, 1, HARD);
        assert_eq!((counts.best(2, 255, 0), counts.best(4, 255, 0), counts.best(1, 1, 0)), (Some(2), Some(4), Some(0)));
        assert_eq!(counts.best(2, 2, 0), None);
        assert_eq!(counts.best(4, 7, 0), None, "a quad ends before the last register");
        assert_eq!(
            [5, 9].map(|from| counts.best(1, 9, from)),
            [Some(5), Some(0)],
            "from a place on, then from the first"
        );
    }
}
