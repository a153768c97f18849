//! The file itself: its tables, how it is made, and what is looked at before it is opened.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction};

use super::{StoreError, encode, life};
use crate::record::Record;
use oriole_check::compiled::signature::without_axes;
use oriole_check::supervise::StepId;

/// The version of the tables below.
pub(super) const VERSION: i64 = 3;
/// `Orio`: what SQLite calls the application of a file, at byte 68 of it.
const APPLICATION: u32 = 0x4f72_696f;
/// How long a campaign waits for another one on the same store.
const PATIENCE: Duration = Duration::from_secs(30);

const TABLES: &str = "
CREATE TABLE findings (
    id TEXT PRIMARY KEY, phase TEXT NOT NULL, verdict TEXT NOT NULL, rule TEXT NOT NULL, shape TEXT NOT NULL,
    record TEXT NOT NULL
) STRICT;
CREATE TABLE files (
    finding TEXT NOT NULL REFERENCES findings, name TEXT NOT NULL, content BLOB NOT NULL, PRIMARY KEY (finding, name)
) STRICT;
CREATE TABLE campaigns (
    identity TEXT PRIMARY KEY, cases INTEGER NOT NULL, done TEXT NOT NULL, tally TEXT NOT NULL, seconds REAL NOT NULL,
    finished INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE TABLE hits (
    finding TEXT NOT NULL REFERENCES findings, campaign TEXT NOT NULL,
    bisected INTEGER NOT NULL, recognised INTEGER NOT NULL, PRIMARY KEY (finding, campaign)
) STRICT;
";

/// The table that came with version 2.
const LIFE: &str = "
CREATE TABLE life (
    finding TEXT PRIMARY KEY REFERENCES findings, state TEXT NOT NULL, first_build TEXT NOT NULL,
    first_time INTEGER NOT NULL, last_build TEXT NOT NULL, last_time INTEGER NOT NULL, changed INTEGER NOT NULL
) STRICT;
";

/// The table that came with version 3.
const RUNS: &str = "CREATE TABLE runs (started INTEGER NOT NULL) STRICT;";

/// Brings an older store to this version. Findings of version 1 say when they were met first, and no build; those
/// before version 3 have identifiers that say no family, and are given those of their records. They have no variant
/// yet.
fn upgrade(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    let found: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found == 1 {
        transaction.execute_batch("ALTER TABLE campaigns ADD COLUMN finished INTEGER NOT NULL DEFAULT 1;")?;
        transaction.execute_batch(LIFE)?;
        let time = "coalesce(json_extract(record, '$.time'), 0)";
        let lives = format!("INSERT INTO life SELECT id, 'open', '', {time}, '', {time}, 0 FROM findings");
        transaction.execute_batch(&lives)?;
    }
    if found < VERSION {
        transaction.execute_batch(RUNS)?;
        let mut query = transaction.prepare("SELECT id, record FROM findings ORDER BY id")?;
        let rows: Vec<(String, String)> =
            query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
        drop(query);
        for (id, record) in rows {
            // What cannot be read is said where it is asked for.
            let Ok(mut record) = serde_json::from_str::<Record>(&record) else { continue };
            if record.key.phase == StepId::Compilation.name() {
                without_axes(&record.key.shape).clone_into(&mut record.key.variant);
            }
            let own = record.key.id();
            rename(&transaction, &id, &own)?;
            transaction.execute("UPDATE findings SET record = ?2 WHERE id = ?1", [&own, &encode(&record)])?;
        }
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()
}

/// Gives a finding another identifier. Where there is one with that already, that one stays, and how often both were
/// met adds up.
pub(super) fn rename(transaction: &Transaction<'_>, from: &str, to: &str) -> rusqlite::Result<()> {
    if from == to {
        return Ok(());
    }
    transaction.pragma_update(None, "defer_foreign_keys", true)?;
    let known: i64 = transaction.query_row("SELECT count(*) FROM findings WHERE id = ?1", [to], |row| row.get(0))?;
    if known > 0 {
        let (ours, theirs) = (life::read(transaction, to)?, life::read(transaction, from)?);
        if let (Some(ours), Some(theirs)) = (ours, theirs) {
            life::write(transaction, to, &ours.merged(&theirs))?;
        }
        let add = "INSERT INTO hits SELECT ?2, campaign, bisected, recognised FROM hits WHERE finding = ?1 \
                   ON CONFLICT (finding, campaign) DO UPDATE SET bisected = bisected + excluded.bisected, \
                   recognised = recognised + excluded.recognised";
        transaction.execute(add, [from, to])?;
        for table in ["hits", "files", "life"] {
            transaction.execute(&format!("DELETE FROM {table} WHERE finding = ?1"), [from])?;
        }
        transaction.execute("DELETE FROM findings WHERE id = ?1", [from])?;
        return Ok(());
    }
    transaction.execute("UPDATE findings SET id = ?2 WHERE id = ?1", [from, to])?;
    for table in ["hits", "files", "life"] {
        transaction.execute(&format!("UPDATE {table} SET finding = ?2 WHERE finding = ?1"), [from, to])?;
    }
    Ok(())
}

/// Makes the tables in an empty database.
pub(super) fn create(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.execute_batch(TABLES)?;
    transaction.execute_batch(LIFE)?;
    transaction.execute_batch(RUNS)?;
    transaction.commit()
}

/// Makes a store where there is none. It appears complete or not at all; another process may be faster.
pub(super) fn create_file(path: &Path) -> Result<(), StoreError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let fail = |error: std::io::Error| StoreError::File { path: path.to_owned(), reason: error.to_string() };
    fs::create_dir_all(folder).map_err(fail)?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".new-{}", std::process::id()));
    let fresh = folder.join(name);
    // What a process of the same number left behind is of no use.
    let _ = fs::remove_file(&fresh);
    let made = Connection::open(&fresh).and_then(|mut connection| {
        create(&mut connection)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.close().map_err(|(_, error)| error)
    });
    let linked = made.map_err(|error| failed(path, error)).and_then(|()| match fs::hard_link(&fresh, path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        // Some file systems have no links; there, two processes that begin together may lose the start of one.
        Err(_) => fs::rename(&fresh, path).map_err(fail),
        Ok(()) => Ok(()),
    });
    let _ = fs::remove_file(&fresh);
    linked
}

/// Opens a store for writing, once it is known to be one and to be whole.
pub(super) fn open_file(path: &Path) -> Result<Connection, StoreError> {
    look(path)?;
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let fail = |error| failed(path, error);
    let reader = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | flags).map_err(fail)?;
    reader.busy_timeout(PATIENCE).map_err(fail)?;
    let found: i64 = reader.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(fail)?;
    if !(1..=VERSION).contains(&found) {
        return Err(StoreError::Version { path: path.to_owned(), found });
    }
    let state: String = reader.pragma_query_value(None, "quick_check", |row| row.get(0)).map_err(fail)?;
    if state != "ok" {
        return Err(StoreError::Damaged { path: path.to_owned(), reason: state });
    }
    let mut connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | flags).map_err(fail)?;
    connection.busy_timeout(PATIENCE).map_err(fail)?;
    // A kill loses nothing; only a power failure may lose the last commits, and then whole ones.
    connection.pragma_update(None, "synchronous", "NORMAL").map_err(fail)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(fail)?;
    if found != VERSION {
        upgrade(&mut connection).map_err(fail)?;
    }
    Ok(connection)
}

/// Opens a copy of a store that cannot be written, and so not be opened: with what was committed last.
pub(super) fn open_copy(path: &Path) -> Result<(tempfile::TempDir, Connection), StoreError> {
    let fail = |error: std::io::Error| StoreError::File { path: path.to_owned(), reason: error.to_string() };
    let folder = tempfile::tempdir().map_err(fail)?;
    let copy = folder.path().join("copy.db");
    for ending in ["", "-wal"] {
        let beside = |path: &Path| {
            let mut name = path.as_os_str().to_owned();
            name.push(ending);
            std::path::PathBuf::from(name)
        };
        let (from, to) = (beside(path), beside(&copy));
        if from.exists() {
            let bytes = fs::read(from).map_err(fail)?;
            fs::write(to, bytes).map_err(fail)?;
        }
    }
    let connection = open_file(&copy)?;
    Ok((folder, connection))
}

/// Looks at the first bytes of a file, which SQLite would take for its own.
fn look(path: &Path) -> Result<(), StoreError> {
    let fail = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => StoreError::Missing { path: path.to_owned() },
        _ => StoreError::File { path: path.to_owned(), reason: error.to_string() },
    };
    if !fs::metadata(path).map_err(fail)?.is_file() {
        return Err(StoreError::File { path: path.to_owned(), reason: "not a regular file".to_owned() });
    }
    let mut head = Vec::new();
    fs::File::open(path).and_then(|file| file.take(100).read_to_end(&mut head)).map_err(fail)?;
    if head.get(..16) != Some(b"SQLite format 3\0") || head.get(68..72) != Some(&APPLICATION.to_be_bytes()) {
        return Err(StoreError::Foreign { path: path.to_owned() });
    }
    Ok(())
}

/// An error of SQLite, with the damage told apart.
pub(super) fn failed(path: &Path, error: rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::Damaged { path, reason: error.to_string() }
        }
        _ => match error {
            rusqlite::Error::InvalidColumnType(..) | rusqlite::Error::FromSqlConversionFailure(..) => {
                StoreError::Damaged { path, reason: error.to_string() }
            }
            error => StoreError::Database { path, error },
        },
    }
}
