//! Stores: merging, and files that are none.

use super::*;
use crate::record::{Key, Reduction};
use crate::store::merge::Merged;

fn record(shape: &str, reduction: Reduction) -> Record {
    let text = |text: &str| text.to_owned();
    let key =
        Key { phase: text("P"), verdict: text("mismatch"), rule: text(""), shape: text(shape), variant: text(shape) };
    Record { key, ..Record::without_evidence(reduction) }
}

/// A store in which a campaign of some cases has met findings of these shapes so often.
fn store(campaign: &str, cases: u64, met: &[(&str, u64)]) -> Store {
    let mut store = Store::in_memory().expect("memory");
    let mut batch = Batch::default();
    for (shape, count) in met {
        let record = record(shape, Reduction::Pending);
        let id = record.key.id();
        batch.hits.push((id.clone(), Hits { bisected: *count, recognised: 1 }));
        batch.findings.push((id, record, vec![("original.ori".to_owned(), shape.as_bytes().to_vec())]));
    }
    let tally = Tally { cases, ..Tally::default() };
    store.commit(campaign, &Progress { tally, ..Progress::default() }, &batch).expect("memory");
    store
}

fn counts(store: &Store) -> Vec<(String, u64)> {
    let findings = store.findings().expect("memory");
    findings.into_iter().map(|stored| (stored.record.key.shape, stored.hits.total())).collect()
}

#[test]
fn merging_folds_findings_and_adds_counts_once() {
    let mut all = store("shard 0/2", 10, &[("a", 1), ("b", 9)]);
    let other = store("shard 1/2", 10, &[("a", 20), ("c", 4)]);
    assert_eq!(all.merge(&other).ok(), Some(Merged { findings: 1, campaigns: 1 }));
    let merged = [("a", 23), ("b", 10), ("c", 5)].map(|(shape, count)| (shape.to_owned(), count));
    assert_eq!(counts(&all), merged);
    assert_eq!(all.merge(&other).ok(), Some(Merged::default()), "a second time changes nothing");
    assert_eq!(counts(&all), merged);
    let further = store("shard 1/2", 30, &[("a", 40)]);
    assert_eq!(all.merge(&further).ok(), Some(Merged { findings: 0, campaigns: 1 }));
    assert_eq!(counts(&all)[0], ("a".to_owned(), 43));
}

#[test]
fn a_reduced_finding_replaces_one_that_is_not() {
    let (mut ours, mut theirs) = (store("x", 1, &[("a", 1)]), store("y", 1, &[("a", 1)]));
    let done = record("a", Reduction::Done { from: 9, to: 3, cut_off: false });
    let id = done.key.id();
    theirs.update(&id, &done, &[("reduced.ori".to_owned(), b"small".to_vec())]).expect("memory");
    ours.merge(&theirs).expect("memory");
    assert_eq!(ours.finding(&id[..6]).map(|stored| stored.record).ok(), Some(done.clone()));
    assert_eq!(ours.files(&id).map(|files| files.len()).ok(), Some(2));
    ours.merge(&store("z", 1, &[("a", 1)])).expect("memory");
    assert_eq!(ours.finding(&id).map(|stored| stored.record).ok(), Some(done));
    assert!(matches!(ours.finding("zz"), Err(StoreError::NoFinding { .. })));
}

#[test]
fn what_is_no_whole_store_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("findings.db");
    drop(Store::open_or_create(&path).expect("the folder is writable"));
    assert!(Store::open(&path).is_ok());
    let whole = std::fs::read(&path).expect("it was made");
    let refused = |bytes: &[u8]| {
        std::fs::write(&path, bytes).expect("the folder is writable");
        let error = Store::open_or_create(&path).expect_err("this is no store");
        assert_eq!(std::fs::read(&path).ok().as_deref(), Some(bytes), "{error}");
        error
    };
    assert!(matches!(refused(b""), StoreError::Foreign { .. }));
    assert!(matches!(refused(b"# Notes\n"), StoreError::Foreign { .. }));
    let mut other = whole.clone();
    other[68] = 0;
    assert!(matches!(refused(&other), StoreError::Foreign { .. }));
    let mut later = whole.clone();
    later[63] = 9;
    assert!(matches!(refused(&later), StoreError::Version { found: 9, .. }));
    assert!(matches!(refused(&whole[..whole.len() / 2]), StoreError::Damaged { .. }));
    let mut torn = whole.clone();
    torn[4096..8192].fill(0x5a);
    assert!(matches!(refused(&torn), StoreError::Damaged { .. }));
    assert!(matches!(Store::open(folder.path()), Err(StoreError::File { .. })));
    assert!(matches!(Store::open(&folder.path().join("none.db")), Err(StoreError::Missing { .. })));
}

#[test]
fn a_copy_is_read_with_what_was_committed_last() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("findings.db");
    let mut store = Store::open_or_create(&path).expect("the folder is writable");
    let progress = Progress { seconds: 7.0, ..Progress::default() };
    store.commit("c", &progress, &Batch::default()).expect("the folder is writable");
    // The commit is in the write-ahead log, as long as the store is open.
    let (_copy, connection) = schema::open_copy(&path).expect("it can be copied");
    let seconds: f64 = connection.query_row("SELECT seconds FROM campaigns", [], |row| row.get(0)).expect("a row");
    assert!((seconds - 7.0).abs() < f64::EPSILON);
}

#[test]
fn stores_of_the_first_version_are_brought_to_this_one() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("findings.db");
    let mut store = Store::open_or_create(&path).expect("the folder is writable");
    let record = Record { time: 77, ..record("a", Reduction::Pending) };
    let id = record.key.id();
    let batch = Batch { findings: vec![(id.clone(), record, Vec::new())], ..Batch::default() };
    store.commit("c", &Progress::default(), &batch).expect("the folder is writable");
    let older = "DROP TABLE life; DROP TABLE runs; ALTER TABLE campaigns DROP COLUMN finished;";
    store.connection.execute_batch(older).expect("tables");
    store.connection.pragma_update(None, "user_version", 1).expect("a number");
    drop(store);
    let store = Store::open(&path).expect("it is upgraded");
    let life = store.life(&id).expect("a life");
    assert_eq!((life.first.time, life.state), (77, life::State::Open));
    assert!(store.progress("c").expect("a campaign").is_some_and(|progress| progress.finished));
}

/// Identifiers of version 2 said no family; several of them may be one now.
#[test]
fn stores_of_the_second_version_get_families() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("findings.db");
    let mut store = Store::open_or_create(&path).expect("the folder is writable");
    let record = record("", Reduction::Pending);
    let (own, old) = (record.key.id(), ["00000000aaaaaaaa", "00000000bbbbbbbb"]);
    for (at, id) in old.into_iter().enumerate() {
        let hits = vec![(id.to_owned(), Hits { bisected: 1 + at as u64, recognised: 0 })];
        let files = vec![(format!("{at}.ori"), Vec::new())];
        let batch = Batch { findings: vec![(id.to_owned(), record.clone(), files)], hits, seen: vec![id.to_owned()] };
        store.commit("c", &Progress::default(), &batch).expect("the folder is writable");
    }
    store.connection.execute_batch("DROP TABLE runs; PRAGMA user_version = 2;").expect("a table");
    drop(store);
    let store = Store::open(&path).expect("it is upgraded");
    let [stored] = &store.findings().expect("a list")[..] else { panic!("one finding") };
    assert_eq!((&stored.id, stored.hits.bisected, stored.life.state), (&own, 3, life::State::Open));
    assert_eq!(store.files(&own).map(|files| files.len()).ok(), Some(1));
    assert_eq!(store.last_run().ok(), Some(0));
}

#[test]
fn a_family_is_named_by_its_digits_and_a_variant_by_all() {
    let mut store = store("x", 1, &[("a", 1), ("b", 1)]);
    let variants = store.findings().expect("memory");
    let family = family_of(&variants[0].id).to_owned();
    assert_eq!(store.variants(&family).map(|found| found.len()).ok(), Some(2));
    assert_eq!(store.variants(&variants[1].id).map(|found| found.len()).ok(), Some(1));
    let other = Record {
        key: Key { rule: "r".to_owned(), ..record("a", Reduction::Pending).key },
        ..record("a", Reduction::Pending)
    };
    let batch = Batch { findings: vec![(other.key.id(), other, Vec::new())], ..Batch::default() };
    store.commit("x", &Progress::default(), &batch).expect("memory");
    assert!(matches!(store.variants(""), Err(StoreError::Ambiguous { count: 2, .. })));
    // A finding whose variant turns out to be a known one is that.
    store.fold(&variants[0].id, &variants[1].id).expect("memory");
    let [stored] = &store.variants(&family).expect("it is there")[..] else { panic!("one is left") };
    assert_eq!((&stored.id, stored.hits.bisected), (&variants[1].id, 2));
}

#[test]
fn who_saw_a_finding_first_does_not_depend_on_the_order_of_merges() {
    let seen = |kernel: &str, time: u64| {
        let mut store = Store::in_memory().expect("memory");
        let record = Record { kernel: kernel.to_owned(), time, ..record("a", Reduction::Pending) };
        let batch = Batch { findings: vec![(record.key.id(), record, Vec::new())], ..Batch::default() };
        store.commit(kernel, &Progress::default(), &batch).expect("memory");
        store
    };
    let merged = |order: [usize; 3]| {
        let stores = [seen("late", 9), seen("first", 3), seen("middle", 5)];
        let mut all = Store::in_memory().expect("memory");
        for index in order {
            all.merge(&stores[index]).expect("memory");
        }
        all.findings().expect("memory").remove(0).record.kernel
    };
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1]] {
        assert_eq!(merged(order), "first");
    }
}
