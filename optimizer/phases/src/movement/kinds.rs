//! THE table of movements: one row for each kind of `spec/instruction-movement.txt`, with its five decision points.
//!
//! The page contradicts itself about kind 2: its table and its example take a fetch down to its first read, "to hide
//! latency", and its decision point D5 takes it up. Down is where latency shows, and ptxas itself takes fetches out of
//! loops and never down, so the kind goes up.

use std::fmt;

use Direction::{Down, Up};

/// A kind of movement: the discriminator of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Kill markers, down.
    KillDown,
    /// Kill markers, up.
    KillUp,
    /// Texture fetches, up.
    TextureUp,
    /// Texture fetches, up, without the cleanup behind.
    TextureRaw,
}

/// The instructions that a kind moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Markers that say where a value ends.
    Kill,
    /// Fetches from textures.
    Texture,
}

/// Where a kind moves to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Toward the end of the program: +1 of the page.
    Down,
    /// Toward its begin: -1 of the page.
    Up,
}

/// One kind, with the answers of the page to its decision points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindRow {
    /// The kind; `kind.row()` is this row.
    pub kind: Kind,
    /// The phase that runs it.
    pub phase: &'static str,
    /// The instructions that it moves.
    pub class: Class,
    /// D1: whether it moves where the value of knob 381 or the function gate has no own answer.
    pub moves_otherwise: bool,
    /// D2: whether it moves where knob 381 is 1.
    pub moves_at_one: bool,
    /// D3: whether it is the one for which the page goes to the record at once where knob 381 is 0.
    pub records_at_zero: bool,
    /// D4: whether it moves once more behind the cleanup.
    pub cleans_up: bool,
    /// D5: where it moves to.
    pub direction: Direction,
}

/// The kinds, by discriminator.
#[rustfmt::skip]
pub static KINDS: [KindRow; 4] = [
    KindRow { kind: Kind::KillDown, phase: "DoKillMovement", class: Class::Kill,
        moves_otherwise: true, moves_at_one: false, records_at_zero: true, cleans_up: true, direction: Down },
    KindRow { kind: Kind::KillUp, phase: "DoKillMovementUpward", class: Class::Kill,
        moves_otherwise: true, moves_at_one: true, records_at_zero: false, cleans_up: true, direction: Up },
    KindRow { kind: Kind::TextureUp, phase: "DoTexMovement", class: Class::Texture,
        moves_otherwise: false, moves_at_one: false, records_at_zero: false, cleans_up: true, direction: Up },
    KindRow { kind: Kind::TextureRaw, phase: "DoTexMovementUpward", class: Class::Texture,
        moves_otherwise: false, moves_at_one: false, records_at_zero: false, cleans_up: false, direction: Up },
];

impl Kind {
    /// Its row.
    pub fn row(self) -> &'static KindRow {
        &KINDS[self as usize]
    }

    /// The kind that a phase runs.
    pub fn of_phase(name: &str) -> Option<Kind> {
        KINDS.iter().find(|row| row.phase == name).map(|row| row.kind)
    }
}

impl Direction {
    /// As the page writes it.
    pub fn sign(self) -> i8 {
        match self {
            Direction::Down => 1,
            Direction::Up => -1,
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Direction::Down => "down",
            Direction::Up => "up",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The truth table of the page, lines 183 to 187: a line for each decision point, a column for each kind.
    const PAGE: [[&str; 4]; 5] = [
        ["yes", "yes", "no", "no"],
        ["no", "yes", "no", "no"],
        ["yes", "no", "no", "no"],
        ["yes", "yes", "yes", "no"],
        ["+1", "-1", "-1", "-1"],
    ];

    #[test]
    fn rows_are_the_columns_of_the_page() {
        let yes = |is: bool| if is { "yes".to_owned() } else { "no".to_owned() };
        for (at, row) in KINDS.iter().enumerate() {
            let column = [
                yes(row.moves_otherwise),
                yes(row.moves_at_one),
                yes(row.records_at_zero),
                yes(row.cleans_up),
                format!("{:+}", row.direction.sign()),
            ];
            assert_eq!(column, PAGE.map(|line| line[at]), "{:?}", row.kind);
            assert_eq!((row.kind as usize, Kind::of_phase(row.phase)), (at, Some(row.kind)));
        }
    }
}
