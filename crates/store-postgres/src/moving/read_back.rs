//! Reads back all that a move has written, in the order in which it was.

use std::pin::pin;

use deadpool_postgres::Client;
use entourage_store::moving::{Inventory, KeptUsage, Reservation, StoredRows};
use entourage_types::{AgentId, Event, EventBody};
use futures::TryStreamExt as _;
use tokio_postgres::Row;

use crate::{
    agents, budgets, entities,
    fault::Result,
    inbox, items,
    rows::{count, get, id, json, time, word},
    runs,
    statement::Statement,
    usage,
};

/// After how many rows the progress is told.
const ROWS: usize = 512;

/// What is in the database, as this transaction sees it.
pub(super) async fn inventory(client: &Client, progress: &mut (dyn FnMut(u64) + Send)) -> Result<Inventory> {
    let mut reader = Reader { client, found: Inventory::default(), progress };
    let select = |columns: &str, rest: &str| format!("SELECT {columns} FROM {rest}");
    reader.all(&select(agents::COLUMNS, "agents ORDER BY n + 0"), agents::read, StoredRows::Agents).await?;
    let items = format!("SELECT {}, items.agent FROM items ORDER BY items.agent, seq", items::COLUMNS);
    let item = |row: &Row| items::read(id(row, items::WIDTH, AgentId::from_uuid)?, row, 0);
    reader.all(&items, item, StoredRows::Items).await?;
    reader.all(&select(runs::COLUMNS, "runs ORDER BY n + 0"), runs::read, StoredRows::Runs).await?;
    reader.all(&select(runs::STEP, "steps ORDER BY n"), runs::read_step, StoredRows::Steps).await?;
    reader.all(&select(inbox::POST, "inbox ORDER BY n"), inbox::read_post, StoredRows::Posts).await?;
    let wakeups = select(inbox::WAKEUP, "wakeups ORDER BY due, id");
    reader.all(&wakeups, inbox::read_wakeup, StoredRows::Wakeups).await?;
    let events = "SELECT root, seq, agent, at, item_seq, body FROM events ORDER BY root, seq";
    reader.all(events, event, StoredRows::Events).await?;
    let records = format!("SELECT {}, entities.text FROM entities ORDER BY n", entities::COLUMNS);
    reader.all(&records, entities::read, StoredRows::Records).await?;
    reader.all(&select(budgets::COLUMNS, "budgets ORDER BY id"), budgets::read, StoredRows::Budgets).await?;
    let reservations = "SELECT agent, budget, cost, tokens FROM reservations ORDER BY agent, budget";
    reader.all(reservations, reservation, StoredRows::Reservations).await?;
    for (table, page) in [
        ("usage_of_owners", StoredRows::UsageOfEnded as fn(_) -> _),
        ("usage_of_removed", StoredRows::UsageOfRemoved),
    ] {
        let sums = usage::of_all(table);
        reader.all(&sums, kept, page).await?;
    }
    // The number that the next event of a tree follows is that beside the events.
    for row in Statement::whole("SELECT root, last_event FROM trees").run(client).await? {
        reader.found.set_last_event(id(&row, 0, AgentId::from_uuid)?, count(&row, 1)?);
    }
    Ok(reader.found)
}

struct Reader<'r> {
    client: &'r Client,
    found: Inventory,
    progress: &'r mut (dyn FnMut(u64) + Send),
}

impl Reader<'_> {
    /// Adds the rows of a query, which come as fast as they are taken.
    async fn all<T>(
        &mut self,
        query: &str,
        read: impl Fn(&Row) -> Result<T>,
        page: fn(Vec<T>) -> StoredRows,
    ) -> Result<()> {
        let rows = Statement::whole(query).stream(self.client).await?;
        let mut rows = pin!(rows);
        let mut some = Vec::new();
        loop {
            let row = rows.try_next().await?;
            if let Some(row) = &row {
                some.push(read(row)?);
            }
            if some.len() >= ROWS || row.is_none() {
                self.found.add(&page(std::mem::take(&mut some)));
                (self.progress)(self.found.total());
            }
            if row.is_none() {
                return Ok(());
            }
        }
    }
}

/// An event, without the item that it may be about.
fn event(row: &Row) -> Result<Event> {
    let body = match get::<Option<i64>>(row, 4)? {
        Some(_) => EventBody::Item { item_seq: count(row, 4)?, item: None },
        None => json(row, 5)?,
    };
    let (root, agent) = (id(row, 0, AgentId::from_uuid)?, id(row, 2, AgentId::from_uuid)?);
    Ok(Event { root, seq: count(row, 1)?, agent, at: time(row, 3)?, body })
}

fn reservation(row: &Row) -> Result<Reservation> {
    let agent = id(row, 0, AgentId::from_uuid)?;
    Ok(Reservation { agent, budget: word(row, 1)?, amount: budgets::amount(row, 2)? })
}

fn kept(row: &Row) -> Result<KeptUsage> {
    let (by, spent) = usage::read_kept(row)?;
    Ok(KeptUsage { owner: by.owner, kind: by.kind.unwrap_or_default(), spent })
}
