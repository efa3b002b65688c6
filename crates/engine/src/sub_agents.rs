//! The agents that an agent has made, as it sees them: their tasks, results and open questions, and
//! nothing of what they said and did for it.

use std::collections::{HashMap, HashSet};

use entourage_store::{AgentQuery, EntityQuery, Page, Result, Store};
use entourage_types::{
    Agent, AgentId, EntityKind, Owner, Question, QuestionStatus, Record, Scope, Status, Task,
};

use crate::run::is_below;

/// How many of the latest tasks are looked through.
const TASKS: u32 = 1_000;

/// An agent as its maker sees it.
#[derive(Debug)]
pub(crate) struct SubAgent {
    pub(crate) agent: Agent,
    /// The latest task that it has from its maker.
    pub(crate) task: Task,
    /// What waits for the user, of this agent and of those below it.
    pub(crate) questions: Vec<Question>,
}

/// The agents that this one has made and that are still there, those with the latest tasks first.
pub(crate) async fn of(
    store: &dyn Store,
    owner: &Owner,
    root: AgentId,
    agent: AgentId,
) -> Result<Vec<SubAgent>> {
    let scope = Scope::from(owner);
    let page = Page { limit: TASKS, newest_first: true, ..Page::default() };
    let query = EntityQuery { parent: Some(agent), page, ..EntityQuery::of(EntityKind::Task) };
    let tasks = records::<Task>(store, &scope, query).await?;
    if tasks.is_empty() {
        return Ok(Vec::new());
    }
    let status = Some(QuestionStatus::Open.as_str().to_owned());
    let query =
        EntityQuery { root: Some(root), status, page: Page::all(), ..EntityQuery::of(EntityKind::Question) };
    let open = records::<Question>(store, &scope, query).await?;
    let query = AgentQuery { root: Some(root), page: Page::all(), ..AgentQuery::default() };
    let tree = store.agents(&scope, query).await?;
    let agents: HashMap<AgentId, &Agent> = tree.iter().map(|agent| (agent.id, agent)).collect();
    let (mut seen, mut known) = (HashSet::new(), Vec::new());
    for task in tasks.into_iter().filter(|task| seen.insert(task.to)) {
        let Some(agent) = agents.get(&task.to).copied().cloned() else { continue };
        if agent.status != Status::Cancelled {
            let asks = |question: &&Question| is_below(&tree, question.agent, agent.id);
            known.push(SubAgent { questions: open.iter().filter(asks).cloned().collect(), agent, task });
        }
    }
    Ok(known)
}

async fn records<R: Record>(store: &dyn Store, scope: &Scope, query: EntityQuery) -> Result<Vec<R>> {
    let found = store.entities(scope, query).await?;
    Ok(found.iter().map(R::from_entity).collect::<serde_json::Result<_>>()?)
}
