//! What an activation starts from.

use deadpool_postgres::Client;
use entourage_store::Claim;
use entourage_types::{AgentId, NodeId};

use crate::{
    agents,
    fault::Result,
    inbox, items,
    rows::{count, id_if_any, time},
    runs,
    statement::{Statement, pipeline},
};

/// Lets every statement of the transaction find its rows by an index, by a plan that is made once: as a commit's are.
const BY_INDEX: &str = "SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true)";

/// Claims an agent and reads what belongs to it, in one round trip. A claim is durable before it returns, whatever the
/// durability of commits: no crash gives an epoch twice.
///
/// Only commits under the epoch write run, steps and items: they have waited for the agent's row, or made the claim wait.
/// Wake-ups are read before the inbox, so that the post of each is read, too.
pub(crate) async fn claim(client: &Client, id: AgentId, from: u64, node: NodeId) -> Result<Option<Claim>> {
    let statements = [
        Statement::whole("BEGIN"),
        Statement::whole(BY_INDEX),
        agents::claim(id, node),
        runs::open(id),
        runs::open_steps(id),
        items::of_session(id, from),
        inbox::wakeups(id),
        inbox::posts(id),
        Statement::whole("COMMIT"),
    ];
    let found = pipeline(client, &statements).await?;
    let [_, _, agent, run, steps, items, wakeups, posts, _] = &found[..] else { return Ok(None) };
    let Some(row) = agent.first() else { return Ok(None) };
    let agent = agents::read(row)?;
    let run = run.first().map(runs::read).transpose()?;
    let steps = match &run {
        Some(_) => steps.iter().map(runs::read_step).collect::<Result<_>>()?,
        None => Vec::new(),
    };
    Ok(Some(Claim {
        now: Some(time(row, agents::WIDTH + 2)?),
        unsettled: count(row, agents::WIDTH + 1)?,
        taken_from: id_if_any(row, agents::WIDTH, NodeId::from_uuid)?.filter(|holder| *holder != node),
        run,
        steps,
        items: items.iter().map(|row| items::read(agent.id, row, 0)).collect::<Result<_>>()?,
        inbox: posts.iter().map(inbox::read_post).collect::<Result<_>>()?,
        wakeups: wakeups.iter().map(inbox::read_wakeup).collect::<Result<_>>()?,
        agent,
    }))
}
