//! What is below an agent at rest: how much of it is at work, and what does not go on.

use std::collections::HashMap;

use entourage_store::{AgentQuery, Page};
use entourage_types::{Agent, AgentId, WaitingOn};

use super::{Cause, Client};
use crate::Result;

/// At how many agents of a tree that have something to do is looked; of those that wait for an answer or are paused, at as
/// many more, so that one of them is named also in a larger tree.
const LOOKED_AT: u32 = 1_000;
/// For what of a person an agent waits.
const FOR_A_PERSON: [WaitingOn; 2] = [WaitingOn::User, WaitingOn::Resume];

/// What is below an agent at rest.
pub(super) struct Below {
    /// How many agents are at work.
    pub(super) at_work: u64,
    /// Whether there may be more: the tree has more agents than are looked at.
    pub(super) may_be_more: bool,
    /// The agent that does not go on.
    pub(super) still: Option<Agent>,
}

/// What was found out of the agents of a tree, so that each is looked at once.
struct Looked {
    top: Agent,
    /// Whether each is below the top.
    is_below: HashMap<AgentId, bool>,
    standing: HashMap<AgentId, Standing>,
}

impl Client {
    /// How many agents below an agent at rest are at work, and the one that does not go on: one that needs a person
    /// comes before what ends by itself.
    pub(super) async fn below(&self, top: &Agent) -> Result<Below> {
        // Most agents of a large tree have none below them. The sums of a root are read from all of its runs.
        if top.parent.is_some() && self.subtree(top.id).await?.agents.iter().sum::<u64>() == 1 {
            return Ok(Below { at_work: 0, may_be_more: false, still: None });
        }
        // The top is below none of those above it.
        let is_below = HashMap::from([(top.id, false)]);
        let mut looked = Looked { top: top.clone(), is_below, standing: HashMap::new() };
        // One more tells whether there are more.
        let page = Page { limit: LOOKED_AT + 1, ..Page::default() };
        let active = AgentQuery { root: Some(top.root), active: true, page, ..AgentQuery::default() };
        let first = self.needs_a_person(&mut looked, &active).await?;
        let mut agents = self.engine.store().agents(&self.scope, active).await?;
        let may_be_more = agents.len() > LOOKED_AT as usize;
        agents.truncate(LOOKED_AT as usize);
        let (mut at_work, mut first) = (0, first.map(|agent| (0, agent)));
        for agent in agents {
            if !self.is_below(&mut looked, &agent).await? {
                continue;
            }
            match self.standing(&mut looked, &agent).await? {
                Standing::AtWork => at_work += 1,
                Standing::Still(urgency) if first.as_ref().is_none_or(|(least, _)| urgency < *least) => {
                    first = Some((urgency, agent));
                }
                Standing::Still(_) | Standing::NamedElsewhere => {}
            }
        }
        Ok(Below { at_work, may_be_more, still: first.map(|(_, agent)| agent) })
    }

    /// The first agent below another one that waits for a person, of those of a query.
    async fn needs_a_person(&self, looked: &mut Looked, all: &AgentQuery) -> Result<Option<Agent>> {
        for waiting_on in FOR_A_PERSON {
            let query = AgentQuery { waiting_on: Some(waiting_on), ..all.clone() };
            for agent in self.engine.store().agents(&self.scope, query).await? {
                if self.is_below(looked, &agent).await?
                    && matches!(self.standing(looked, &agent).await?, Standing::Still(0))
                {
                    return Ok(Some(agent));
                }
            }
        }
        Ok(None)
    }

    async fn standing(&self, looked: &mut Looked, agent: &Agent) -> Result<Standing> {
        if let Some(known) = looked.standing.get(&agent.id) {
            return Ok(*known);
        }
        let is_at_work = self.engine.inner.activations.is_at_work(agent.id);
        let cause = if is_at_work { Cause::Work } else { self.cause(agent).await?.0 };
        let standing = standing(&cause);
        looked.standing.insert(agent.id, standing);
        Ok(standing)
    }

    /// Whether an agent of the tree is below the top. Agents above it are read once for all.
    async fn is_below(&self, looked: &mut Looked, agent: &Agent) -> Result<bool> {
        if looked.top.id == looked.top.root {
            return Ok(agent.id != looked.top.id);
        }
        let (mut passed, mut at, mut parent) = (Vec::new(), agent.id, agent.parent);
        let is_below = loop {
            if let Some(known) = looked.is_below.get(&at) {
                break *known;
            }
            passed.push(at);
            match parent {
                Some(above) if above == looked.top.id => break true,
                Some(above) if looked.is_below.contains_key(&above) => at = above,
                Some(above) => {
                    parent =
                        self.engine.store().agent(&self.scope, above).await?.and_then(|above| above.parent);
                    at = above;
                }
                None => break false,
            }
        };
        looked.is_below.extend(passed.into_iter().map(|passed| (passed, is_below)));
        Ok(is_below)
    }
}

/// How an agent stands that has something to do.
#[derive(Clone, Copy)]
enum Standing {
    AtWork,
    /// It does not go on; the least number is named first.
    Still(u8),
    /// It has nothing to do after all, or waits for an agent that is looked at itself.
    NamedElsewhere,
}

fn standing(cause: &Cause) -> Standing {
    match cause {
        Cause::Question { .. }
        | Cause::Pause { .. }
        | Cause::Crash { .. }
        | Cause::Budget { may_have_room: false, .. } => Standing::Still(0),
        Cause::Retry { .. }
        | Cause::CodeRetry { .. }
        | Cause::Gate { .. }
        | Cause::Budget { .. }
        | Cause::Room { .. } => Standing::Still(1),
        Cause::Process | Cause::Nothing => Standing::Still(2),
        Cause::Timer { .. } => Standing::Still(3),
        Cause::Place { busy, limit } if busy >= limit => Standing::Still(3),
        Cause::Work | Cause::Elsewhere | Cause::Place { .. } => Standing::AtWork,
        Cause::Task { .. } | Cause::Rest { .. } | Cause::Deleted => Standing::NamedElsewhere,
    }
}
