//! The findings store: one SQLite file that survives whatever ends a campaign.
//!
//! - `findings`: one row for each bug, a variant of its family, with its record as JSON;
//! - `files`: the texts and buffers that show it, original and reduced;
//! - `campaigns`: how far each campaign (seed, shard, options) is, as ranges of cases and a tally;
//! - `hits`: how often each campaign has met each finding;
//! - `life`: which builds met a finding first and last, and whether it is open, fixed, closed, or back;
//! - `runs`: when campaigns began.
//!
//! What a campaign has done and what it has found are committed together, so after a kill at any moment the store holds
//! exactly the cases that it says, and those in flight are done again. Hits are kept by campaign: merging a store
//! twice, or running a campaign anew, counts nothing double.
//!
//! A new store is made beside its place and linked there when it is complete. An existing file is looked at before it
//! is opened for writing: what is no findings store, or a damaged one, is refused and left as it is.

pub mod claim;
pub mod life;
pub mod merge;
mod schema;

use oriole_ir::diagnostics::counted;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, Transaction, params};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ranges::Ranges;
use super::record::{File, Record, family_of};
use super::tally::Tally;
use life::Life;

/// Why a store cannot be used.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum StoreError {
    /// There is no such file.
    #[error("there is no findings store `{}`", path.display())]
    #[diagnostic(help("`oriole fuzz` makes one in its --out folder; name another with --store"))]
    Missing {
        /// Which.
        path: PathBuf,
    },
    /// A file or folder cannot be read or written.
    #[error("cannot use `{}`: {reason}", path.display())]
    #[diagnostic(help("name another place with --out or --store"))]
    File {
        /// Which.
        path: PathBuf,
        /// The system's message.
        reason: String,
    },
    /// The file is something else.
    #[error("`{}` is not a findings store", path.display())]
    #[diagnostic(help("it was left as it is; name another place with --out or --store"))]
    Foreign {
        /// Which.
        path: PathBuf,
    },
    /// The store was made by another version.
    #[error("`{}` has version {found} of the store format, this program reads {}", path.display(), schema::VERSION)]
    #[diagnostic(help("it was left as it is; use the version of oriole that made it"))]
    Version {
        /// Which.
        path: PathBuf,
        /// Its version.
        found: i64,
    },
    /// The store is damaged.
    #[error("the findings store `{}` is damaged: {reason}", path.display())]
    #[diagnostic(help("move it away; `sqlite3 FILE .recover` may save what is left"))]
    Damaged {
        /// Which.
        path: PathBuf,
        /// How.
        reason: String,
    },
    /// SQLite failed.
    #[error("the findings store `{}`: {error}", path.display())]
    #[diagnostic(help("is the disk full, or does another program hold the file?"))]
    Database {
        /// Which.
        path: PathBuf,
        /// Its message.
        error: rusqlite::Error,
    },
    /// Another process works on a campaign.
    #[error("another process works on this campaign (seed, shard, options) in `{}`: {campaign}", path.display())]
    #[diagnostic(help("wait for it, take another --shard or --seed, or another --out folder"))]
    Busy {
        /// The store.
        path: PathBuf,
        /// The campaign.
        campaign: String,
    },
    /// A campaign was interrupted before its end, and would begin anew.
    #[error("this campaign was interrupted after {cases}, which `{}` keeps", path.display(), cases = counted(.cases, "case"))]
    #[diagnostic(help("--resume goes on from there, --anew discards that and begins at the first case"))]
    Unfinished {
        /// The store.
        path: PathBuf,
        /// Cases that are done.
        cases: u64,
    },
    /// No finding has such an identifier.
    #[error("no finding begins with `{id}`")]
    #[diagnostic(help("`oriole findings list` shows them"))]
    NoFinding {
        /// What was asked for.
        id: String,
    },
    /// Several findings have identifiers that begin so.
    #[error("{count} begin with `{id}`", count = counted(.count, "finding"))]
    #[diagnostic(help("give more digits"))]
    Ambiguous {
        /// What was asked for.
        id: String,
        /// How many.
        count: usize,
    },
}

/// How far a campaign is.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Progress {
    /// The places of its cases in their order that are done.
    pub done: Ranges,
    /// What they showed.
    pub tally: Tally,
    /// Seconds spent.
    pub seconds: f64,
    /// Whether it came to its end by itself, and was not interrupted.
    pub finished: bool,
}

/// How often a campaign has met a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, JsonSchema, Serialize)]
pub struct Hits {
    /// Bisected down to its rule.
    pub bisected: u64,
    /// Recognised by phase, verdict and shape, without bisection; where several rules share these, all are counted for
    /// one.
    pub recognised: u64,
}

impl Hits {
    /// Both kinds.
    pub fn total(self) -> u64 {
        self.bisected + self.recognised
    }
}

/// A finding with what a store knows of it.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize)]
pub struct Stored {
    /// The identifier.
    pub id: String,
    /// How often it was met, over all campaigns.
    pub hits: Hits,
    /// Which builds met it, and what is known of it since.
    pub life: Life,
    /// The finding.
    #[serde(flatten)]
    pub record: Record,
}

impl Stored {
    /// Whether it is there as far as anybody knows, nobody has closed it, and it is no known fault of a compiler.
    pub fn counts(&self) -> bool {
        self.life.state.counts() && self.record.known.is_none()
    }
}

/// A findings store.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
    /// Where a copy of it lies that is read in its place.
    _copy: Option<tempfile::TempDir>,
}

impl Store {
    /// A store that lives as long as the value.
    pub fn in_memory() -> Result<Store, StoreError> {
        let path = PathBuf::from("in memory");
        let connection = Connection::open_in_memory().and_then(|mut connection| {
            schema::create(&mut connection)?;
            Ok(connection)
        });
        let connection = connection.map_err(|error| StoreError::Database { path: path.clone(), error })?;
        Ok(Store { path, connection, _copy: None })
    }

    /// The store in a file, which is made where there is none.
    pub fn open_or_create(path: &Path) -> Result<Store, StoreError> {
        if !path.exists() {
            schema::create_file(path)?;
        }
        Store::open(path)
    }

    /// The store in a file.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        let connection = schema::open_file(path)?;
        Ok(Store { path: path.to_owned(), connection, _copy: None })
    }

    /// The store in a file, for reading alone. Where it cannot be written, as in what a CI run has kept, a copy of it
    /// is read.
    pub fn open_to_read(path: &Path) -> Result<Store, StoreError> {
        match Store::open(path) {
            Err(StoreError::Database { .. }) => {
                let (copy, connection) = schema::open_copy(path)?;
                Ok(Store { path: path.to_owned(), connection, _copy: Some(copy) })
            }
            opened => opened,
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How far a campaign is; `None` where the store has not met it.
    pub fn progress(&self, campaign: &str) -> Result<Option<Progress>, StoreError> {
        let mut query = self.prepare("SELECT done, tally, seconds, finished FROM campaigns WHERE identity = ?1")?;
        let row = query.query_row([campaign], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, f64>(2)?, row.get::<_, bool>(3)?))
        });
        let Some((done, tally, seconds, finished)) = row.optional().map_err(|error| self.failed(error))? else {
            return Ok(None);
        };
        let done: Ranges = self.decode(&done)?;
        if !done.is_well_formed() {
            return Err(self.damaged("the cases done are no ascending ranges"));
        }
        Ok(Some(Progress { done, tally: self.decode(&tally)?, seconds, finished }))
    }

    /// Forgets how far a campaign is and what it has met; findings stay.
    pub fn restart(&mut self, campaign: &str) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction.execute("DELETE FROM hits WHERE campaign = ?1", [campaign])?;
            transaction.execute("DELETE FROM campaigns WHERE identity = ?1", [campaign])
        })
        .map(|_| ())
    }

    /// How often a campaign has met each finding.
    pub fn hits(&self, campaign: &str) -> Result<Vec<(String, Hits)>, StoreError> {
        let mut query =
            self.prepare("SELECT finding, bisected, recognised FROM hits WHERE campaign = ?1 ORDER BY 1")?;
        let rows = query.query_map([campaign], |row| Ok((row.get(0)?, hits_at(row, 1)?)));
        rows.and_then(Iterator::collect).map_err(|error| self.failed(error))
    }

    /// Saves how far a campaign is, and all that it has met. New findings are added with their files; of those that are
    /// known, records and files stay.
    pub fn commit(&mut self, campaign: &str, progress: &Progress, batch: &Batch) -> Result<(), StoreError> {
        let done = encode(&progress.done);
        let tally = encode(&progress.tally);
        self.write(|transaction| {
            for (id, record, files) in &batch.findings {
                insert(transaction, id, record, files)?;
            }
            let mut hit = transaction.prepare("INSERT OR REPLACE INTO hits VALUES (?1, ?2, ?3, ?4)")?;
            for (id, hits) in &batch.hits {
                hit.execute(params![id, campaign, signed(hits.bisected), signed(hits.recognised)])?;
            }
            batch.seen.iter().try_for_each(|id| life::show(transaction, id))?;
            let cases = signed(progress.tally.cases);
            let values = params![campaign, cases, done, tally, progress.seconds, progress.finished];
            transaction.execute("INSERT OR REPLACE INTO campaigns VALUES (?1, ?2, ?3, ?4, ?5, ?6)", values)
        })
        .map(|_| ())
    }

    /// Replaces the record of a finding and adds files to it, as reduction does.
    pub fn update(&mut self, id: &str, record: &Record, files: &[File]) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction.execute("UPDATE findings SET record = ?2 WHERE id = ?1", params![id, encode(record)])?;
            write_files(transaction, id, files)
        })
    }

    /// Gives a finding another identifier, with its record and further files, as is done once its variant is known.
    pub fn rename(&mut self, from: &str, to: &str, record: &Record, files: &[File]) -> Result<(), StoreError> {
        self.write(|transaction| {
            schema::rename(transaction, from, to)?;
            transaction.execute("UPDATE findings SET record = ?2 WHERE id = ?1", params![to, encode(record)])?;
            write_files(transaction, to, files)
        })
    }

    /// Takes a finding for another one, which keeps its record and files.
    pub fn fold(&mut self, from: &str, into: &str) -> Result<(), StoreError> {
        self.write(|transaction| schema::rename(transaction, from, into))
    }

    /// Notes that a campaign begins now; what is met first from then on is new ([`Store::last_run`]).
    pub fn begin_run(&mut self, time: u64) -> Result<(), StoreError> {
        self.write(|transaction| transaction.execute("INSERT INTO runs VALUES (?1)", [signed(time)])).map(|_| ())
    }

    /// When the last campaign began, in seconds since 1970; 0 where none is known of.
    pub fn last_run(&self) -> Result<u64, StoreError> {
        let mut query = self.prepare("SELECT coalesce(max(started), 0) FROM runs")?;
        let time = query.query_row([], |row| row.get::<_, i64>(0)).map_err(|error| self.failed(error))?;
        Ok(u64::try_from(time).unwrap_or(0))
    }

    /// All findings: those met most often first.
    pub fn findings(&self) -> Result<Vec<Stored>, StoreError> {
        let text = "SELECT id, record, total(bisected), total(recognised) FROM findings LEFT JOIN hits ON finding = id \
                    GROUP BY id ORDER BY total(bisected) + total(recognised) DESC, id";
        let mut query = self.prepare(text)?;
        let rows =
            query.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, hits_at(row, 2)?)));
        let rows: Vec<_> = rows.and_then(Iterator::collect).map_err(|error| self.failed(error))?;
        let stored = |(id, record, hits): (String, String, Hits)| {
            Ok(Stored { record: self.decode(&record)?, life: self.life(&id)?, id, hits })
        };
        rows.into_iter().map(stored).collect()
    }

    /// The one finding whose identifier begins so.
    pub fn finding(&self, prefix: &str) -> Result<Stored, StoreError> {
        let mut found = self.findings()?;
        found.retain(|stored| stored.id.starts_with(&prefix.to_ascii_lowercase()));
        match found.len() {
            0 => Err(StoreError::NoFinding { id: prefix.to_owned() }),
            1 => Ok(found.remove(0)),
            count => Err(StoreError::Ambiguous { id: prefix.to_owned(), count }),
        }
    }

    /// The findings of the one family whose identifiers begin so: a whole identifier names one variant, and the digits
    /// of the family name all.
    pub fn variants(&self, prefix: &str) -> Result<Vec<Stored>, StoreError> {
        let mut found = self.findings()?;
        found.retain(|stored| stored.id.starts_with(&prefix.to_ascii_lowercase()));
        let families: BTreeSet<&str> = found.iter().map(|stored| family_of(&stored.id)).collect();
        match families.len() {
            0 => Err(StoreError::NoFinding { id: prefix.to_owned() }),
            1 => Ok(found),
            count => Err(StoreError::Ambiguous { id: prefix.to_owned(), count }),
        }
    }

    /// The files of a finding, in order of their names.
    pub fn files(&self, id: &str) -> Result<Vec<File>, StoreError> {
        let mut query = self.prepare("SELECT name, content FROM files WHERE finding = ?1 ORDER BY name")?;
        let rows = query.query_map([id], |row| Ok((row.get(0)?, row.get(1)?)));
        rows.and_then(Iterator::collect).map_err(|error| self.failed(error))
    }

    fn prepare(&self, text: &str) -> Result<rusqlite::Statement<'_>, StoreError> {
        self.connection.prepare(text).map_err(|error| self.failed(error))
    }

    /// One transaction; it takes the lock at once, so that two campaigns on one store wait for each other.
    fn write<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let result = self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate);
        let result = result.and_then(|transaction| {
            let value = work(&transaction)?;
            transaction.commit()?;
            Ok(value)
        });
        result.map_err(|error| schema::failed(&self.path, error))
    }

    fn failed(&self, error: rusqlite::Error) -> StoreError {
        schema::failed(&self.path, error)
    }

    fn damaged(&self, reason: &str) -> StoreError {
        StoreError::Damaged { path: self.path.clone(), reason: reason.to_owned() }
    }

    fn decode<T: DeserializeOwned>(&self, text: &str) -> Result<T, StoreError> {
        serde_json::from_str(text).map_err(|error| self.damaged(&error.to_string()))
    }
}

/// What a commit saves beside progress.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Findings that the store may not know.
    pub findings: Vec<(String, Record, Vec<File>)>,
    /// All hits of the campaign on these findings, not only new ones.
    pub hits: Vec<(String, Hits)>,
    /// The findings that were met since the last commit.
    pub seen: Vec<String>,
}

fn insert(transaction: &Transaction<'_>, id: &str, record: &Record, files: &[File]) -> rusqlite::Result<()> {
    let key = &record.key;
    let values = params![id, key.phase, key.verdict, key.rule, key.shape, encode(record)];
    if transaction.execute("INSERT OR IGNORE INTO findings VALUES (?1, ?2, ?3, ?4, ?5, ?6)", values)? > 0 {
        write_files(transaction, id, files)?;
    }
    Ok(())
}

fn write_files(transaction: &Transaction<'_>, id: &str, files: &[File]) -> rusqlite::Result<()> {
    let mut file = transaction.prepare("INSERT OR REPLACE INTO files VALUES (?1, ?2, ?3)")?;
    files.iter().try_for_each(|(name, content)| file.execute(params![id, name, content]).map(|_| ()))
}

fn encode(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("records and tallies have text keys and finite numbers")
}

/// SQLite counts to 2^63.
fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn hits_at(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<Hits> {
    // `total` yields a float, a column an integer.
    let count = |at| -> rusqlite::Result<u64> {
        Ok(match row.get_ref(at)? {
            rusqlite::types::ValueRef::Real(real) => real as u64,
            other => u64::try_from(other.as_i64()?).unwrap_or(0),
        })
    };
    Ok(Hits { bisected: count(at)?, recognised: count(at + 1)? })
}

#[cfg(test)]
mod tests;
