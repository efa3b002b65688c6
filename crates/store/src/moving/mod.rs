//! Moving all rows of a store from one database to another, without loss: what was written is read back and compared before
//! it counts.
//!
//! A source reads rows as their authors wrote them, in one snapshot, while nobody else writes; a target writes them in one
//! transaction into an empty database, and computes from them whatever its own commits compute. Neither knows the other's
//! schema.

mod inventory;
mod rows;

use async_trait::async_trait;

use crate::{Error, Result};

pub use inventory::{Difference, Inventory};
pub use rows::{KeptUsage, Reservation, RowKind, StoredRows};

/// All rows of a database, page by page: of each kind in the order of [`RowKind::ALL`], and within a kind in the order of
/// the lists.
#[async_trait]
pub trait RowSource: Send {
    /// About how many rows there are.
    fn count(&self) -> u64;

    /// Returns the next page; none at the end.
    ///
    /// # Errors
    /// If the database cannot be read, or a row of it cannot be decoded.
    async fn next(&mut self) -> Result<Option<StoredRows>>;
}

/// An empty database that takes rows. Dropped before its end, it stays empty.
#[async_trait]
pub trait RowTarget: Send {
    /// Writes a page, behind those before it.
    ///
    /// # Errors
    /// If the database does not take it.
    async fn write(&mut self, page: StoredRows) -> Result<()>;

    /// Reads back all that was written, in the order of a source. Calls `progress` with the number of rows so far now and
    /// then.
    ///
    /// # Errors
    /// If the database cannot be read.
    async fn read_back(&mut self, progress: &mut (dyn FnMut(u64) + Send)) -> Result<Inventory>;

    /// Makes all of it durable, and visible to others.
    ///
    /// # Errors
    /// If nothing was written; [`Error::MoveUnknown`] if nobody knows whether it was.
    async fn finish(self) -> Result<()>;
}

/// Receives the progress of a move.
pub type Progress = Box<dyn FnMut(Moved) + Send>;

/// The progress of a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    /// What is being done.
    pub step: MoveStep,
    /// How many rows of this step are done.
    pub rows: u64,
    /// How many rows there are, about.
    pub of: u64,
}

/// What a move is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoveStep {
    /// It writes rows.
    Write,
    /// It reads them back.
    Compare,
}

/// Moves all rows, and returns what they are. Every agent's epoch is one higher afterwards, so that no activation of before
/// commits.
///
/// # Errors
/// [`Error::Differs`] if what was read back is not what was written, and whatever source and target return. The target is
/// empty then, and the source is always as it was.
pub async fn move_rows(
    mut source: impl RowSource,
    mut target: impl RowTarget,
    mut progress: Progress,
) -> Result<Inventory> {
    let (of, mut rows) = (source.count(), 0);
    let mut read = Inventory::default();
    while let Some(page) = source.next().await? {
        let page = page.moved();
        rows += page.len();
        read.add(&page);
        target.write(page).await?;
        progress(Moved { step: MoveStep::Write, rows, of });
    }
    let of = rows;
    let mut tell = |rows| progress(Moved { step: MoveStep::Compare, rows, of });
    let written = target.read_back(&mut tell).await?;
    if let Some(difference) = read.difference(&written) {
        return Err(Error::Differs(difference));
    }
    target.finish().await?;
    Ok(written)
}

#[cfg(test)]
mod tests {
    use entourage_types::{
        Agent, AgentId, Author, Event, EventBody, Item, ItemBody, Message, Owner, RunId, Time, Wakeup,
    };

    use super::*;

    /// What a faulty target does to the rows that it takes.
    type Fault = fn(&mut StoredRows);

    struct Pages(Vec<StoredRows>);

    #[async_trait]
    impl RowSource for Pages {
        fn count(&self) -> u64 {
            self.0.iter().map(StoredRows::len).sum()
        }

        async fn next(&mut self) -> Result<Option<StoredRows>> {
            Ok((!self.0.is_empty()).then(|| self.0.remove(0)))
        }
    }

    struct Faulty {
        fault: Fault,
        last_event: u64,
        written: Inventory,
        root: AgentId,
    }

    #[async_trait]
    impl RowTarget for Faulty {
        async fn write(&mut self, mut page: StoredRows) -> Result<()> {
            (self.fault)(&mut page);
            self.written.add(&page);
            Ok(())
        }

        async fn read_back(&mut self, _: &mut (dyn FnMut(u64) + Send)) -> Result<Inventory> {
            self.written.set_last_event(self.root, self.last_event);
            Ok(self.written.clone())
        }

        async fn finish(self) -> Result<()> {
            Ok(())
        }
    }

    const NOW: Time = Time::from_micros(1_790_000_000_000_000);

    fn agent() -> Agent {
        Agent::root(Owner::new("ann"), "helper", "helps", NOW)
    }

    fn item(agent: &Agent, seq: u64) -> Item {
        let body = ItemBody::Message(Message::new(Author::User, format!("item {seq}"), None));
        Item { agent: agent.id, seq, run: RunId::new(), session: 1, at: NOW, step: None, body }
    }

    /// Moves an agent with two items and an event to a target with this fault.
    async fn moved(agent: &Agent, last_event: u64, fault: Fault) -> Result<Inventory> {
        let body = EventBody::Item { item_seq: 1, item: None };
        let pages = vec![
            StoredRows::Agents(vec![agent.clone()]),
            StoredRows::Items(vec![item(agent, 0), item(agent, 1)]),
            StoredRows::Wakeups(vec![Wakeup::new(agent.id, agent.owner.clone(), NOW)]),
            StoredRows::Events(vec![Event { root: agent.id, seq: 7, agent: agent.id, at: NOW, body }]),
        ];
        let target = Faulty { fault, last_event, written: Inventory::default(), root: agent.id };
        move_rows(Pages(pages), target, Box::new(|_| {})).await
    }

    #[tokio::test]
    async fn an_equal_copy_has_higher_epochs_and_is_counted() {
        let kept = |page: &mut StoredRows| {
            if let StoredRows::Agents(agents) = page {
                assert_eq!(agents[0].epoch, 1.into(), "raised by one");
            }
        };
        let found = moved(&agent(), 7, kept).await.unwrap();
        assert_eq!(
            (found.rows(RowKind::Agent), found.rows(RowKind::Item), found.rows(RowKind::Run)),
            (1, 2, 0)
        );
        assert_eq!(found.total(), 5);
    }

    #[tokio::test]
    async fn the_first_difference_is_named() {
        let agent = agent();
        let named = async |last_event, fault: Fault| match moved(&agent, last_event, fault).await {
            Err(Error::Differs(difference)) => difference,
            other => panic!("{other:?}"),
        };
        let lost = named(7, |page| {
            if let StoredRows::Items(items) = page {
                items.pop();
            }
        });
        assert_eq!(lost.await, Difference::Count { kind: RowKind::Item, read: 2, written: 1 });
        let changed = named(7, |page| {
            if let StoredRows::Items(items) = page {
                items[1].session = 2;
            }
        });
        assert_eq!(changed.await, Difference::Transcript { agent: agent.id });
        let later = named(7, |page| {
            if let StoredRows::Wakeups(wakeups) = page {
                wakeups[0].due = wakeups[0].due + std::time::Duration::from_secs(1);
            }
        });
        assert_eq!(later.await, Difference::Rows { kind: RowKind::Wakeup });
        let rewritten = named(7, |page| {
            if let StoredRows::Events(events) = page {
                events[0].at = Time::from_micros(0);
            }
        });
        assert_eq!(rewritten.await, Difference::Events { root: agent.id });
        let behind = named(6, |_| {});
        assert_eq!(behind.await, Difference::LastEvent { root: agent.id, read: 7, written: 6 });
    }
}
