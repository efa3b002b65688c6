//! Integer ids: a number is taken in the commit that uses it, so that none is given twice and none is skipped.

use entourage_types::{Counter, EntityKind, Owner, Record, Scope};

use crate::{Commit, Expect, Result, Store, Write};

/// Takes the next number of a counter, the first being 1, in this commit. If another commit takes it first, this
/// one is refused with [`OtherVersion`](crate::Error::OtherVersion) of the counter, and the caller begins again.
///
/// # Errors
/// When the store fails.
pub async fn next_number(store: &dyn Store, owner: &Owner, name: &str, commit: &mut Commit) -> Result<u64> {
    let id = Counter::id_of(owner, name);
    let known = store.entity(&Scope::from(owner), EntityKind::COUNTER, &id).await?;
    let version = known.as_ref().map_or(0, |known| known.version);
    let last = known.map(|known| Counter::from_entity(&known)).transpose()?.map_or(0, |counter| counter.last);
    let counter = Counter { owner: owner.clone(), name: name.to_owned(), last: last + 1, updated: commit.at };
    commit.expect.push(Expect::version::<Counter>(id, version));
    commit.push(Write::record(&counter)?);
    Ok(counter.last)
}
