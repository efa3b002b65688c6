//! The agents that an agent has made, as it sees them: their tasks, results and open questions, and
//! nothing of what they said and did for it.

use std::collections::HashSet;

use entourage_store::{AgentQuery, EntityQuery, Page, Result, Store};
use entourage_types::{
    Agent, AgentId, EntityKind, Owner, Question, QuestionStatus, Record, Scope, Status, Task,
};

use crate::run::is_below;

/// How many are seen, those with the latest tasks.
const SEEN: usize = 20;
/// How many of the latest tasks are looked through for them.
const TASKS: u32 = 100;

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
    // Who asks stands right below, or somewhere in the tree.
    let is_near = |question: &Question| tasks.iter().any(|task| task.to == question.agent);
    let query = AgentQuery { root: Some(root), page: Page::all(), ..AgentQuery::default() };
    let tree = if open.iter().all(is_near) { Vec::new() } else { store.agents(&scope, query).await? };
    let (mut seen, mut known) = (HashSet::new(), Vec::new());
    for task in tasks {
        if known.len() == SEEN || !seen.insert(task.to) {
            continue;
        }
        let Some(agent) = store.agent(&scope, task.to).await? else { continue };
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
