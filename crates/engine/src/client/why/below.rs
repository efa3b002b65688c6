//! What is below an agent at rest: how much of it is at work, and what does not go on.

use entourage_store::{AgentQuery, Page};
use entourage_types::{Agent, AgentId, WaitingOn};

use super::{Cause, Client};
use crate::Result;

/// At how many agents of a tree that have something to do is looked, beside the first one that waits for a person: it is
/// named however many there are.
const LOOKED_AT: u32 = 1_000;
/// For what of a person an agent waits.
const FOR_A_PERSON: [WaitingOn; 2] = [WaitingOn::User, WaitingOn::Resume];

impl Client {
    /// How many agents below an agent at rest are at work, and the one that does not go on: one that needs a person
    /// comes before what ends by itself.
    pub(super) async fn below(&self, top: &Agent) -> Result<(u64, Option<Agent>)> {
        let page = Page { limit: LOOKED_AT, ..Page::default() };
        let active = AgentQuery { root: Some(top.root), active: true, page, ..AgentQuery::default() };
        let (mut at_work, mut first) = (0, self.needs_a_person(top, &active).await?.map(|agent| (0, agent)));
        for agent in self.engine.store().agents(&self.scope, active).await? {
            if !self.is_below(&agent, top.id).await? {
                continue;
            }
            let is_at_work = self.engine.inner.activations.is_at_work(agent.id);
            let cause = if is_at_work { Cause::Work } else { self.cause(&agent).await?.0 };
            match standing(&cause) {
                Standing::AtWork => at_work += 1,
                Standing::Still(urgency) if first.as_ref().is_none_or(|(least, _)| urgency < *least) => {
                    first = Some((urgency, agent));
                }
                Standing::Still(_) | Standing::NamedElsewhere => {}
            }
        }
        Ok((at_work, first.map(|(_, agent)| agent)))
    }

    /// The first agent below another one that waits for a person, of those of a query.
    async fn needs_a_person(&self, top: &Agent, all: &AgentQuery) -> Result<Option<Agent>> {
        for waiting_on in FOR_A_PERSON {
            let query = AgentQuery { waiting_on: Some(waiting_on), ..all.clone() };
            for agent in self.engine.store().agents(&self.scope, query).await? {
                if self.is_below(&agent, top.id).await?
                    && matches!(standing(&self.cause(&agent).await?.0), Standing::Still(0))
                {
                    return Ok(Some(agent));
                }
            }
        }
        Ok(None)
    }

    async fn is_below(&self, agent: &Agent, top: AgentId) -> Result<bool> {
        let mut parent = agent.parent;
        while let Some(above) = parent {
            if above == top {
                return Ok(true);
            }
            parent = self.engine.store().agent(&self.scope, above).await?.and_then(|above| above.parent);
        }
        Ok(false)
    }
}

/// How an agent stands that has something to do.
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
        Cause::Work | Cause::Place { .. } => Standing::AtWork,
        Cause::Task { .. } | Cause::Rest { .. } | Cause::Deleted => Standing::NamedElsewhere,
    }
}
