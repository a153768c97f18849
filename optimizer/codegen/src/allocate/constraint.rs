//! Constraints of a register on its place, and the two histograms in which they meet.
//!
//! `spec/liveness-and-dce.txt` (L:440-476): there is no interference graph. A register has a list of nodes, each with a
//! type, a target and a weight; for each register in turn two histograms of 512 entries are filled from its list, and
//! the place with the lowest primary count is taken, ties decided by the secondary count, then by the lowest number.
//!
//! [`ROWS`] has a row for each of the sixteen numbers: name, effect, whether it is soft. Where the document guesses:
//!
//! - Types 1 and 2 have the same effect and opposite meanings there. Here the first keeps a register out of one place,
//!   and the second out of all others. A node of the second type with less than [`MUST`] is a wish.
//! - Soft types are 8 and 11 to 15. A round passes over those whose weight is below its threshold ([`Round`]).
//! - Types 4, 9 and 10 are handed to the target ([`Fallback`]). No target has them, so the hook refuses.

/// How many places the histograms have.
pub const PLACES: usize = 512;

/// The weight of what must not be: any place with so much is none.
pub const HARD: i64 = 1 << 32;

/// The weight of a node of a soft or wished type that must hold all the same.
pub const MUST: i32 = i32::MAX;

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
    /// Left to the target.
    Reserved4 = 4,
    /// Not in even places, where the target is the high half of a pair: this one is the low half of another.
    PairedLow = 5,
    /// Not in odd places.
    PairedHigh = 6,
    /// Not where either half of the target, an aligned pair, is.
    AlignedPair = 7,
    /// Where the target is, or two places from it: values that a phi joins.
    PhiRelated = 8,
    /// Left to the target.
    Reserved9 = 9,
    /// Left to the target.
    Reserved10 = 10,
    /// In places of the parity of the target.
    EvenParity = 11,
    /// In places of the other parity: another bank.
    OddParity = 12,
    /// In even places alone.
    ParityGroup = 13,
    /// Not in odd places of the four around the target: quads.
    Extended = 14,
    /// The more to the right, the longer the range: decides ties.
    Range = 15,
}

/// The places that a constraint counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Those of the target.
    Target,
    /// All but the first of the target.
    AllButTarget,
    /// Those below the target.
    Below,
    /// Even ones.
    Even,
    /// Odd ones.
    Odd,
    /// Both of the aligned pair that the target is in.
    Pair,
    /// Those that are an odd number of places from the target: the others are in stride two of it.
    OffStride,
    /// Those of the same parity as the target.
    OnStride,
    /// The odd ones of the four that the target is in.
    OddOfQuad,
    /// All, each by its number, in the second histogram.
    Secondary,
    /// The target decides.
    Fallback,
}

/// A type of constraint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// The type; its number is the row's place in [`ROWS`].
    pub kind: Kind,
    /// The name of the document.
    pub name: &'static str,
    /// The places that it counts.
    pub effect: Effect,
    /// Whether rounds may pass over it.
    pub soft: bool,
}

const fn hard(kind: Kind, name: &'static str, effect: Effect) -> Row {
    Row { kind, name, effect, soft: false }
}

const fn soft(kind: Kind, name: &'static str, effect: Effect) -> Row {
    Row { kind, name, effect, soft: true }
}

/// The types by their numbers (L:456-472).
pub static ROWS: [Row; 16] = [
    hard(Kind::Point, "Point", Effect::Target),
    hard(Kind::ExcludeOne, "Exclude-one", Effect::Target),
    hard(Kind::ExcludeAllBut, "Exclude-all-but", Effect::AllButTarget),
    hard(Kind::BelowPoint, "Below-point", Effect::Below),
    hard(Kind::Reserved4, "(reserved)", Effect::Fallback),
    hard(Kind::PairedLow, "Paired-low", Effect::Even),
    hard(Kind::PairedHigh, "Paired-high", Effect::Odd),
    hard(Kind::AlignedPair, "Aligned-pair", Effect::Pair),
    soft(Kind::PhiRelated, "Phi-related", Effect::OffStride),
    hard(Kind::Reserved9, "(reserved)", Effect::Fallback),
    hard(Kind::Reserved10, "(reserved)", Effect::Fallback),
    soft(Kind::EvenParity, "Paired-even-parity", Effect::OffStride),
    soft(Kind::OddParity, "Paired-odd-parity", Effect::OnStride),
    soft(Kind::ParityGroup, "Paired-parity-group", Effect::Odd),
    soft(Kind::Extended, "Paired-parity-extended", Effect::OddOfQuad),
    soft(Kind::Range, "Range", Effect::Secondary),
];

/// Asked for the types that are left to the target: the places that it counts, or `None` where it has none.
pub type Fallback = fn(Kind, u16) -> Option<std::ops::Range<u16>>;

/// The hook of a target without types of its own.
pub fn refuses(_: Kind, _: u16) -> Option<std::ops::Range<u16>> {
    None
}

/// A type that no target has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("constraint type {} is reserved, and the target has no meaning for it", *.0 as u8)]
pub struct Reserved(pub Kind);

/// A round of allocation: soft nodes of less weight than its threshold are passed over (L:447).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Round {
    /// The least weight that counts.
    pub threshold: i32,
}

impl Round {
    /// All nodes count.
    pub const FIRST: Round = Round { threshold: 0 };

    /// Whether a node counts in the round.
    pub fn counts(self, kind: Kind, weight: i32) -> bool {
        !kind.row().soft || weight >= self.threshold
    }
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
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
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
    /// Its row.
    pub fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }
}

impl Node {
    /// How much it counts in the histograms: hard types, and those that must hold, make a place none.
    pub fn count(&self) -> i64 {
        let is_wish = self.kind == Kind::ExcludeAllBut || self.kind.row().soft;
        if !is_wish || self.weight == MUST { HARD } else { self.weight.into() }
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
    ///
    /// # Errors
    ///
    /// If the type is reserved and the target has no meaning for it; then nothing is counted.
    pub fn count(&mut self, kind: Kind, at: u16, words: u8, weight: i64, fallback: Fallback) -> Result<(), Reserved> {
        let (start, end) = (usize::from(at).min(PLACES), (usize::from(at) + usize::from(words)).min(PLACES));
        let primary = &mut self.primary;
        // Slices, so that the compiler makes vector code of them where they are long.
        let mut step = |from: usize| primary[from..].iter_mut().step_by(2).for_each(|count| *count += weight);
        match kind.row().effect {
            Effect::Target => primary[start..end].iter_mut().for_each(|count| *count += weight),
            Effect::AllButTarget => {
                primary.iter_mut().for_each(|count| *count += weight);
                primary.get_mut(start).into_iter().for_each(|count| *count -= weight);
            }
            Effect::Below => primary[..start].iter_mut().for_each(|count| *count += weight),
            Effect::Even => step(0),
            Effect::Odd => step(1),
            Effect::Pair => {
                let pair = start & !1;
                primary[pair..(pair + 2).min(PLACES)].iter_mut().for_each(|count| *count += weight);
            }
            Effect::OffStride => step(1 - start % 2),
            Effect::OnStride => step(start % 2),
            Effect::OddOfQuad => {
                let quad = start & !3;
                let odd = primary[quad..(quad + 4).min(PLACES)].iter_mut().skip(1).step_by(2);
                odd.for_each(|count| *count += weight);
            }
            Effect::Secondary => {
                self.secondary.iter_mut().zip(0i64..).for_each(|(count, place)| *count += weight * place);
            }
            Effect::Fallback => {
                let places = fallback(kind, at).ok_or(Reserved(kind))?;
                let (start, end) = (usize::from(places.start).min(PLACES), usize::from(places.end).min(PLACES));
                primary[start..end].iter_mut().for_each(|count| *count += weight);
            }
        }
        Ok(())
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
        let (words, end) = (usize::from(words), usize::from(end));
        let sum = |counts: &[i64; PLACES], place: usize| counts[place..place + words].iter().sum::<i64>();
        let mut best: Option<(i64, i64, bool, usize)> = None;
        for place in (0..end).step_by(words.next_power_of_two()).take_while(|place| place + words <= end) {
            let primary = self.starts[place] + sum(&self.primary, place);
            // Most places are worse by their first count, and the others are asked for seldom.
            if primary >= HARD || best.is_some_and(|(least, ..)| primary > least) {
                continue;
            }
            let key = (primary, sum(&self.secondary, place), place < from.into(), place);
            if best.is_none_or(|least| key < least) {
                best = Some(key);
            }
        }
        best.map(|(.., place)| place as u16)
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
            Kind::PhiRelated | Kind::EvenParity => (place ^ at) & 1 == 1,
            Kind::OddParity => (place ^ at) & 1 == 0,
            Kind::Extended => place / 4 == at / 4 && place & 1 == 1,
            Kind::Range | Kind::Reserved4 | Kind::Reserved9 | Kind::Reserved10 => false,
        }
    }

    /// The place that counts lead to, found by summing up the list for each place alone: the slow twin of [`fill`].
    fn by_definition(list: &[(Kind, u16, u8, i64)], end: u16) -> Option<u16> {
        let sum = |place: u16| -> i64 {
            list.iter().filter(|(kind, at, words, _)| is_counted(*kind, *at, *words, place)).map(|row| row.3).sum()
        };
        let second = |place: u16| -> i64 {
            let ranges = list.iter().filter(|(kind, ..)| *kind == Kind::Range);
            ranges.map(|(.., weight)| weight * i64::from(place)).sum()
        };
        let free = (0..end).filter(|place| sum(*place) < HARD);
        free.min_by_key(|place| (sum(*place), second(*place), *place))
    }

    fn fill(list: &[(Kind, u16, u8, i64)]) -> Histograms {
        let mut counts = Histograms::new();
        for (kind, at, words, weight) in list {
            counts.count(*kind, *at, *words, *weight, refuses).expect("it is no reserved type");
        }
        counts
    }

    fn named() -> impl Iterator<Item = Kind> {
        ROWS.iter().map(|row| row.kind).filter(|kind| kind.row().effect != Effect::Fallback)
    }

    #[test]
    fn rows_are_in_the_order_of_their_numbers() {
        for (number, row) in ROWS.iter().enumerate() {
            assert_eq!(row.kind as usize, number);
        }
        assert_eq!(named().count(), 13);
        let soft: Vec<u8> = ROWS.iter().filter(|row| row.soft).map(|row| row.kind as u8).collect();
        assert_eq!(soft, [8, 11, 12, 13, 14, 15]);
    }

    #[test]
    fn counts_are_those_of_the_definition() {
        for kind in named() {
            for (at, words) in [(0, 1), (5, 1), (6, 2), (8, 4), (255, 1)] {
                let counts = fill(&[(kind, at, words, 3)]);
                for place in 0..PLACES as u16 {
                    let expected = if is_counted(kind, at, words, place) { 3 } else { 0 };
                    assert_eq!(counts.primary[usize::from(place)], expected, "{kind:?} {at} {place}");
                    let second = if kind == Kind::Range { 3 * i64::from(place) } else { 0 };
                    assert_eq!(counts.secondary[usize::from(place)], second);
                }
            }
        }
    }

    /// Lists that a generator of numbers makes lead to the place that the definition names.
    #[test]
    fn lists_lead_where_the_definition_says() {
        let mut state = 1u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        let kinds: Vec<Kind> = named().collect();
        for _ in 0..2000 {
            let list: Vec<(Kind, u16, u8, i64)> = (0..next(8))
                .map(|_| {
                    let kind = kinds[next(kinds.len() as u64) as usize];
                    let is_all = matches!(kind, Kind::ExcludeAllBut | Kind::BelowPoint | Kind::Range);
                    let weight = if next(2) == 0 && !is_all { HARD } else { next(5) as i64 };
                    (kind, next(32) as u16, 1 + next(4) as u8, weight)
                })
                .collect();
            assert_eq!(fill(&list).best(1, 32, 0), by_definition(&list, 32), "{list:?}");
        }
    }

    /// The place that a type leads to by itself; without it, it is the first one.
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
            assert_eq!(Histograms::new().best(1, 255, 0), Some(0));
            assert_eq!(fill(&[(kind, at, 1, weight)]).best(1, 255, 0), Some(place), "{kind:?}");
        }
        // Those that speak of odd places decide where the even ones are taken or cost as much.
        for kind in [Kind::PairedHigh, Kind::ParityGroup, Kind::Extended] {
            let point = (Kind::Point, 0, 1, HARD);
            assert_eq!(fill(&[point]).best(1, 255, 0), Some(1));
            assert_eq!(fill(&[point, (kind, 0, 1, 1)]).best(1, 255, 0), Some(2), "{kind:?}");
        }
        let last = fill(&[(Kind::Range, 0, 1, -1)]).best(1, 255, 0);
        assert_eq!(last, Some(254), "ties go to the lowest secondary count");
        let first = fill(&[(Kind::Range, 0, 1, -1), (Kind::OddParity, 0, 1, 1)]).best(1, 255, 0);
        assert_eq!(first, Some(253), "the secondary count decides ties alone");
    }

    #[test]
    fn reserved_types_are_refused_unless_the_target_has_them() {
        for kind in [Kind::Reserved4, Kind::Reserved9, Kind::Reserved10] {
            let mut counts = Histograms::new();
            assert_eq!(counts.count(kind, 0, 1, HARD, refuses), Err(Reserved(kind)));
            assert_eq!(counts.best(1, 255, 0), Some(0), "nothing was counted");
            counts.count(kind, 3, 1, HARD, |_, at| Some(0..at)).expect("this target has it");
            assert_eq!(counts.best(1, 255, 0), Some(3));
        }
    }

    #[test]
    fn rounds_pass_over_light_nodes_of_soft_types() {
        let round = Round { threshold: 3 };
        for row in &ROWS {
            assert!(Round::FIRST.counts(row.kind, 1), "{row:?}");
            assert_eq!(round.counts(row.kind, 2), !row.soft, "{row:?}");
            assert!(round.counts(row.kind, 3) && round.counts(row.kind, MUST), "{row:?}");
        }
    }

    #[test]
    fn wide_registers_begin_at_multiples() {
        let counts = fill(&[(Kind::Point, 1, 1, HARD)]);
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
