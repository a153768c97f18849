//! Merging stores: those of the shards of a campaign, or of other machines.
//!
//! Findings with the same identifier fold into one; a reduced one replaces one that is not. Campaigns keep their
//! identity, so counts of different ones add up; of the same campaign, whichever store is further counts, and a store
//! that is merged twice changes nothing.

use rusqlite::{Transaction, params};

use super::{Store, StoreError, encode, insert, life, signed, write_files};

/// What a merge has brought.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Merged {
    /// Findings that the store did not have.
    pub findings: usize,
    /// Campaigns that it did not have, or had not as far.
    pub campaigns: usize,
}

impl Store {
    /// Adds what another store holds.
    pub fn merge(&mut self, other: &Store) -> Result<Merged, StoreError> {
        let mut merged = Merged::default();
        let known = self.findings()?;
        for theirs in other.findings()? {
            let files = other.files(&theirs.id)?;
            let ours = known.iter().find(|ours| ours.id == theirs.id);
            let life = ours.map_or_else(|| theirs.life.clone(), |ours| ours.life.merged(&theirs.life));
            match ours {
                None => {
                    merged.findings += 1;
                    self.write(|transaction| insert(transaction, &theirs.id, &theirs.record, &files))?;
                }
                Some(ours) if theirs.record.reduction.is_further_than(&ours.record.reduction) => {
                    let record = theirs.record.first_seen_as(&ours.record);
                    self.write(|transaction| {
                        transaction.execute("DELETE FROM files WHERE finding = ?1", [&theirs.id])?;
                        let values = params![theirs.id, encode(&record)];
                        transaction.execute("UPDATE findings SET record = ?2 WHERE id = ?1", values)?;
                        write_files(transaction, &theirs.id, &files)
                    })?;
                }
                Some(ours) => self.update(&theirs.id, &ours.record.first_seen_as(&theirs.record), &[])?,
            }
            self.write(|transaction| life::write(transaction, &theirs.id, &life))?;
        }
        for campaign in other.campaigns()? {
            merged.campaigns += usize::from(self.take_campaign(other, &campaign)?);
        }
        Ok(merged)
    }

    /// The identities of all campaigns.
    pub fn campaigns(&self) -> Result<Vec<String>, StoreError> {
        let mut query = self.prepare("SELECT identity FROM campaigns ORDER BY identity")?;
        let rows = query.query_map([], |row| row.get(0));
        rows.and_then(Iterator::collect).map_err(|error| self.failed(error))
    }

    /// Takes over a campaign where the other store is further.
    fn take_campaign(&mut self, other: &Store, campaign: &str) -> Result<bool, StoreError> {
        let Some(theirs) = other.progress(campaign)? else { return Ok(false) };
        if self.progress(campaign)?.is_some_and(|ours| ours.tally.cases >= theirs.tally.cases) {
            return Ok(false);
        }
        let hits = other.hits(campaign)?;
        let replace = |transaction: &Transaction<'_>| {
            transaction.execute("DELETE FROM hits WHERE campaign = ?1", [campaign])?;
            for (id, hits) in &hits {
                let values = params![id, campaign, signed(hits.bisected), signed(hits.recognised)];
                transaction.execute("INSERT INTO hits VALUES (?1, ?2, ?3, ?4)", values)?;
            }
            let (done, tally) = (encode(&theirs.done), encode(&theirs.tally));
            let values = params![campaign, signed(theirs.tally.cases), done, tally, theirs.seconds, theirs.finished];
            transaction.execute("INSERT OR REPLACE INTO campaigns VALUES (?1, ?2, ?3, ?4, ?5, ?6)", values)
        };
        self.write(replace).map(|_| true)
    }
}
