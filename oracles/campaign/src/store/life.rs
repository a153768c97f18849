//! The life of a finding: which build met it first and last, and whether it is open, fixed, closed, or back.
//!
//! A campaign that meets a finding, or a replay that shows it again, opens one that was fixed: it is a regression. What
//! a person has closed stays closed until a person opens it.

use rusqlite::{OptionalExtension, Transaction, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Store, StoreError};
use crate::identity::BUILD;

/// What is known about a bug.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It is there, as far as anybody knows.
    Open,
    /// A replay did not show it any more.
    Fixed,
    /// It was fixed, and is there again.
    Regressed,
    /// A person has closed it: it counts no more.
    Closed,
}

impl State {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            State::Open => "open",
            State::Fixed => "fixed",
            State::Regressed => "regressed",
            State::Closed => "closed",
        }
    }

    fn of(name: &str) -> Option<State> {
        [State::Open, State::Fixed, State::Regressed, State::Closed].into_iter().find(|state| state.name() == name)
    }

    /// What becomes of it when the finding shows.
    fn shown(self) -> State {
        if self == State::Fixed { State::Regressed } else { self }
    }

    /// Whether the finding is there as far as anybody knows, and nobody has closed it.
    pub fn counts(self) -> bool {
        matches!(self, State::Open | State::Regressed)
    }
}

/// When a finding was met, and by which build.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, JsonSchema, Serialize, Deserialize)]
pub struct Sighting {
    /// Seconds since 1970.
    pub time: u64,
    /// The version and a hash of the source of optimizer and judges; empty where an older store did not say.
    pub build: String,
}

impl Sighting {
    /// This build, now.
    pub fn now() -> Sighting {
        let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Sighting { time: time.map_or(0, |time| time.as_secs()), build: BUILD.to_owned() }
    }
}

/// The life of a finding.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
pub struct Life {
    /// Its state.
    pub state: State,
    /// When it was met first.
    pub first: Sighting,
    /// When it was met last.
    pub last: Sighting,
    /// When its state changed last, in seconds since 1970.
    pub changed: u64,
}

impl Life {
    /// The life of a finding that is met for the first time.
    pub fn new() -> Life {
        let now = Sighting::now();
        Life { state: State::Open, first: now.clone(), changed: now.time, last: now }
    }

    /// The lives of one finding in two stores, as one: whichever is merged into the other.
    pub fn merged(&self, other: &Life) -> Life {
        let newer = if (self.changed, self.state.name()) >= (other.changed, other.state.name()) { self } else { other };
        let (first, last) = (self.first.clone().min(other.first.clone()), self.last.clone().max(other.last.clone()));
        // What one store took for fixed, another one has met since.
        let state = if last.time > newer.changed { newer.state.shown() } else { newer.state };
        Life { state, first, last, changed: newer.changed }
    }
}

impl Default for Life {
    fn default() -> Life {
        Life::new()
    }
}

/// Saves a life.
pub(super) fn write(transaction: &Transaction<'_>, id: &str, life: &Life) -> rusqlite::Result<()> {
    let signed = |time| i64::try_from(time).unwrap_or(i64::MAX);
    let Life { state, first, last, changed } = life;
    let (first_time, last_time, changed) = (signed(first.time), signed(last.time), signed(*changed));
    let values = params![id, state.name(), first.build, first_time, last.build, last_time, changed];
    transaction.execute("INSERT OR REPLACE INTO life VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)", values).map(|_| ())
}

/// The life of a finding in a transaction.
pub(super) fn read(transaction: &rusqlite::Connection, id: &str) -> rusqlite::Result<Option<Life>> {
    let text = "SELECT state, first_build, first_time, last_build, last_time, changed FROM life WHERE finding = ?1";
    let life = transaction.query_row(text, [id], |row| {
        let time = |at| row.get::<_, i64>(at).map(|time| u64::try_from(time).unwrap_or(0));
        Ok(Life {
            state: State::of(&row.get::<_, String>(0)?).unwrap_or(State::Open),
            first: Sighting { build: row.get(1)?, time: time(2)? },
            last: Sighting { build: row.get(3)?, time: time(4)? },
            changed: time(5)?,
        })
    });
    life.optional()
}

/// A finding shows now.
pub(super) fn show(transaction: &Transaction<'_>, id: &str) -> rusqlite::Result<()> {
    let now = Sighting::now();
    let mut life = read(transaction, id)?.unwrap_or_default();
    let state = life.state.shown();
    if state != life.state {
        life.changed = now.time;
    }
    write(transaction, id, &Life { state, last: now, ..life })
}

impl Store {
    /// The life of a finding.
    ///
    /// # Errors
    ///
    /// A store that cannot be read.
    pub fn life(&self, id: &str) -> Result<Life, StoreError> {
        read(&self.connection, id).map(Option::unwrap_or_default).map_err(|error| self.failed(error))
    }

    /// Gives a finding another state.
    ///
    /// # Errors
    ///
    /// A store that cannot be written.
    pub fn set_state(&mut self, id: &str, state: State) -> Result<(), StoreError> {
        let life = Life { state, changed: Sighting::now().time, ..self.life(id)? };
        self.write(|transaction| write(transaction, id, &life))
    }

    /// Says what a replay of a finding showed, and its state since.
    ///
    /// # Errors
    ///
    /// A store that cannot be written.
    pub fn replayed(&mut self, id: &str, shows: bool) -> Result<State, StoreError> {
        if shows {
            self.write(|transaction| show(transaction, id))?;
        } else if self.life(id)?.state != State::Closed {
            self.set_state(id, State::Fixed)?;
        }
        Ok(self.life(id)?.state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn life(state: State, first: u64, last: u64, changed: u64) -> Life {
        let at = |time| Sighting { time, build: String::new() };
        Life { state, first: at(first), last: at(last), changed }
    }

    #[test]
    fn merging_is_the_same_both_ways() {
        let lives = [
            life(State::Open, 5, 9, 5),
            life(State::Fixed, 3, 7, 8),
            life(State::Closed, 4, 6, 8),
            life(State::Fixed, 1, 2, 20),
        ];
        for a in &lives {
            for b in &lives {
                assert_eq!(a.merged(b), b.merged(a));
            }
        }
        assert_eq!(lives[0].merged(&lives[1]), life(State::Regressed, 3, 9, 8));
        assert_eq!(lives[0].merged(&lives[3]), life(State::Fixed, 1, 9, 20));
    }
}
