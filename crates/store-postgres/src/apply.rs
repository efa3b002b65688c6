//! The writes of an accepted commit.

use std::collections::BTreeMap;

use deadpool_postgres::Client;
use entourage_store::{Commit, Forgotten, Write, judge::AcceptedCommit};
use entourage_types::{Agent, AgentId, EntityKind, Event, Wakeup};

use crate::{
    agents,
    batch::Batch,
    events::{self, Last},
    facts::Known,
    fault::Result,
    prune,
    statement::{Statement, pipeline},
    subtrees::Changes,
};

/// What a commit still has to send to the database, and its hints for when it is durable.
#[derive(Default)]
pub(crate) struct Applied {
    /// The statements that remain, to be sent with the end of the transaction.
    pub(crate) statements: Vec<Statement>,
    pub(crate) events: Vec<Event>,
    pub(crate) wakeups: Vec<Wakeup>,
}

/// Applies an accepted commit. Only what removes something writes at once, because it has to read what it removes.
pub(crate) async fn commit(
    client: &Client,
    commit: &Commit,
    AcceptedCommit { writer, events: derived }: AcceptedCommit,
    mut known: Known,
    mut trees: BTreeMap<AgentId, Last>,
) -> Result<Applied> {
    let writer = writer.as_ref();
    let (mut batch, mut above) = (Batch::default(), Changes::default());
    let (mut after, mut is_row_written) = (writer.cloned(), false);
    let mut forgotten = Forgotten::by(commit);
    let mut applied = Applied::default();
    for write in &commit.writes {
        match write {
            Write::Agent(row) => {
                let items = after.as_ref().map_or(row.items, |after| after.items);
                let row = Agent {
                    epoch: after.as_ref().map_or(row.epoch, |after| after.epoch),
                    items,
                    ..row.clone()
                };
                above.agent(after.as_ref(), &row);
                (after, is_row_written) = (Some(row), true);
            }
            Write::Item(item) => {
                if let Some(after) = after.as_mut().filter(|after| after.id == item.agent) {
                    after.items = item.seq + 1;
                }
                batch.add(write, writer);
            }
            Write::ScheduleWakeup(wakeup) => {
                applied.wakeups.push(wakeup.clone());
                batch.add(write, writer);
            }
            Write::Budget(change) => known.budgets.change(change, writer),
            Write::PruneEvents(root, below) => {
                prune::events(*root, *below).run(client).await?;
            }
            Write::PruneAgent(agent) => {
                let written =
                    std::mem::take(&mut batch).statements(writer, &known, std::mem::take(&mut above))?;
                pipeline(client, &written).await?;
                prune::agent(client, *agent, &mut known, &mut forgotten).await?;
            }
            Write::PruneEntity(kind, id) if *kind != EntityKind::CODE_SNAPSHOT => {
                let written =
                    std::mem::take(&mut batch).statements(writer, &known, std::mem::take(&mut above))?;
                pipeline(client, &written).await?;
                prune::entity(client, (*kind, id), &mut known, &mut forgotten).await?;
            }
            write => batch.add(write, writer),
        }
    }
    let written = batch.statements(writer, &known, above)?;
    if forgotten.roots().next().is_some() {
        pipeline(client, &written).await?;
        prune::forget(client, &forgotten).await?;
    } else {
        applied.statements = written;
    }
    applied.statements.extend(known.budgets.write());
    applied.events = events::number(commit.at, derived, &mut trees);
    applied.statements.extend(events::insert(&applied.events)?);
    // What the commit returns, and that it happened.
    applied.statements.push(match after {
        Some(after) if is_row_written => agents::update(&after, commit.id),
        Some(after) => agents::settle(&after, commit.id),
        None => agents::receipt(commit.id),
    });
    Ok(applied)
}
