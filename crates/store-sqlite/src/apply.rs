//! The writes of one commit, inside the transaction of its group.

use entourage_store::{Changed, Commit, Committed, Write};
use entourage_types::Agent;
use rusqlite::Connection;

use crate::{agents, entities, events, fault::Result, inbox, items, runs};

/// Writes a checked commit. `writer` is the fenced agent as it stood before.
pub(crate) fn commit(
    connection: &Connection,
    commit: &Commit,
    writer: Option<&Agent>,
) -> Result<(Committed, Changed)> {
    let mut wakeups = Vec::new();
    let mut items = 0;
    let mut row_written = false;
    for write in &commit.writes {
        match (write, writer) {
            (Write::NewAgent(agent), _) => agents::insert(connection, agent)?,
            (Write::Agent(agent), _) => {
                agents::update(connection, agent)?;
                row_written = true;
            }
            (Write::Item(item), _) => {
                items::insert(connection, item)?;
                items += 1;
            }
            (Write::Run(run), _) => runs::upsert(connection, run)?,
            (Write::Step(step), _) => runs::upsert_step(connection, step)?,
            (Write::Post(post), _) => inbox::put(connection, post)?,
            (Write::Read(post), Some(agent)) => inbox::take(connection, agent.id, *post)?,
            (Write::Wake(wakeup), _) => {
                inbox::wake(connection, wakeup)?;
                wakeups.push(wakeup.clone());
            }
            (Write::Woken(wakeup), Some(agent)) => inbox::woken(connection, agent.id, *wakeup)?,
            // An outsider's are refused by the check.
            (Write::Read(_) | Write::Woken(_), None) => {}
            (Write::Task(_) | Write::Question(_) | Write::Entity(_), _) => {
                if let Some(entity) = write.entity()? {
                    entities::upsert(connection, &entity)?;
                }
            }
        }
    }
    if let (Some(agent), false, 1..) = (writer, row_written, items) {
        agents::set_items(connection, agent.id, agent.items + items)?;
    }
    let events = events::append(connection, commit.at, entourage_store::events(commit, writer))?;
    let inbox = match writer {
        Some(agent) => inbox::has_posts(connection, agent.id)?,
        None => false,
    };
    Ok((Committed { inbox }, Changed { wakeups, events }))
}
