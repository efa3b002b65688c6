//! The writes of one commit, inside the transaction of its group.

use entourage_store::{Commit, Committed, CommittedEvents, Forgotten, Write, judge::AcceptedCommit};
use entourage_types::Agent;
use rusqlite::Connection;

use crate::{
    agents, budgets, entities, events,
    fault::{Fault, Result},
    inbox, items,
    job::Done,
    prune, runs,
    subtrees::Changes,
    usage,
    writer_cache::WriterCache,
};

/// Applies an accepted commit.
pub(crate) fn commit(
    connection: &Connection,
    cache: &mut WriterCache,
    commit: &Commit,
    AcceptedCommit { writer, events: derived }: AcceptedCommit,
) -> Result<Done> {
    let mut after = writer.clone();
    let mut epoch_written = false;
    let mut wakeups = Vec::new();
    let mut above = Changes::default();
    let mut forgotten = Forgotten::by(commit);
    for (at, write) in commit.writes.iter().enumerate() {
        match (write, &writer) {
            (Write::NewAgent(agent), _) => {
                let row = cache.next_agent(connection)?;
                agents::insert(connection, row, agent)?;
                above.agent(None, agent);
                cache.put_new_agent(agent, row);
            }
            (Write::Agent(row), Some(agent)) => {
                let row = Agent { epoch: agent.epoch, ..row.clone() };
                above.agent(after.as_ref(), &row);
                after = Some(row);
                epoch_written = true;
            }
            (Write::Item(item), _) => {
                items::insert(connection, cache.key_range(connection, item.agent)?, item)?;
                after = after.map(|agent| match agent.id == item.agent {
                    true => Agent { items: item.seq + 1, ..agent },
                    // The row of an agent that this commit creates counts its items already.
                    false => agent,
                });
            }
            (Write::Run(run), Some(agent)) => {
                let before = cache.run(run.id);
                // Of several rows of one run, the last one stays.
                let is_later = |write: &Write| matches!(write, Write::Run(later) if later.id == run.id);
                if before.is_some() && commit.writes[at + 1..].iter().any(is_later) {
                    continue;
                }
                above.run(agent, before.map_or(&[][..], |before| &before.spent), &run.spent);
                runs::write(connection, run, before.map(|before| before.status))?;
                let kept = before.map_or(&[][..], |before| usage::kept_of(before.status, &before.spent));
                usage::keep(
                    connection,
                    &run.owner,
                    &agent.kind,
                    kept,
                    usage::kept_of(run.status, &run.spent),
                )?;
                cache.put_run(run);
            }
            (Write::Step(step), _) => runs::upsert_step(connection, step)?,
            (Write::Post(post), _) => {
                inbox::put(connection, post, cache.next_arrival(connection)?)?;
                cache.post_came(post.agent);
                // One that has not ended lives already, and of a root it is not kept.
                let wakes = |agent: Agent| agent.status.is_terminal() && agent.id != agent.root;
                if cache.agent(connection, post.agent)?.is_some_and(wakes) {
                    agents::set_living(connection, post.agent, true)?;
                }
            }
            (Write::ConsumePost(post), Some(agent)) => {
                if inbox::take(connection, agent.id, *post)? {
                    cache.post_consumed(agent.id);
                }
            }
            (Write::ScheduleWakeup(wakeup), _) => {
                inbox::wake(connection, wakeup)?;
                wakeups.push(wakeup.clone());
            }
            (Write::ConsumeWakeup(wakeup), Some(agent)) => inbox::woken(connection, agent.id, *wakeup)?,
            (Write::DropOrphanWakeup(wakeup), _) => inbox::woken(connection, wakeup.agent, wakeup.id)?,
            // Not reached: an outsider's are refused.
            (Write::Agent(_) | Write::Run(_) | Write::ConsumePost(_) | Write::ConsumeWakeup(_), None) => {}
            (Write::PruneEvents(root, below), _) => prune::events(connection, *root, *below)?,
            (Write::PruneAgent(agent), _) => {
                above.pruned(connection, cache, *agent)?;
                prune::agent(connection, *agent, &mut forgotten)?;
                cache.remove_agent(*agent);
            }
            (Write::PruneEntity(kind, id), _) => {
                above.removed_record(connection, cache, (*kind, id))?;
                prune::entity(connection, (*kind, id), &mut forgotten)?;
            }
            (Write::Record(entity, _), _) => {
                above.record(connection, cache, entity)?;
                entities::upsert(connection, entity)?;
            }
            (Write::Budget(change), writer) => budgets::change(connection, change, writer.as_ref())?,
        }
    }
    prune::forget(connection, &forgotten)?;
    above.write(connection, cache)?;
    if let Some(agent) = after {
        let is_root = agent.id == agent.root;
        let lives = |cache: &mut WriterCache| {
            Ok::<_, Fault>(!agent.status.is_terminal() || cache.has_posts(connection, agent.id)?)
        };
        let consumes = || commit.writes.iter().any(|write| matches!(write, Write::ConsumePost(_)));
        if epoch_written {
            let has_ended = |agent: &Agent| agent.status.is_terminal();
            // It is not kept of a root, and an agent that has not ended lives.
            let is_kept = !is_root && (has_ended(&agent) || writer.as_ref().is_some_and(has_ended));
            let living = if is_kept { Some(lives(cache)?) } else { None };
            agents::update(connection, &agent, living)?;
        } else {
            if cache.has_unpersisted_epoch(agent.id) {
                agents::set_epoch(connection, agent.id, agent.epoch)?;
            }
            if !is_root && agent.status.is_terminal() && consumes() {
                agents::set_living(connection, agent.id, lives(cache)?)?;
            }
        }
        cache.settle(agent.id, agent.epoch);
        cache.put_agent(agent);
    }
    let events = events::append(connection, cache, commit.at, derived)?;
    let inbox = match writer {
        Some(agent) => cache.has_posts(connection, agent.id)?,
        None => false,
    };
    Ok(Done { committed: Committed { inbox }, changed: CommittedEvents { events }, wakeups, claimed: None })
}
