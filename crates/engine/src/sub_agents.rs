//! The sub-agents of an agent as it sees them: their tasks, results and open questions, and nothing of their
//! transcripts.

use std::collections::{HashMap, HashSet};

use entourage_store::{AgentQuery, Page, RecordFilter, Result, Store};
use entourage_types::{Agent, AgentId, Owner, Question, QuestionStatus, Scope, Status, Task};

/// Tasks read at once.
const TASKS: u32 = 1_000;

/// A sub-agent as its parent sees it.
#[derive(Debug)]
pub(crate) struct SubAgent {
    pub(crate) agent: Agent,
    /// The latest task that it has from this parent.
    pub(crate) task: Task,
    /// The open questions to the user, of this agent and of those below it.
    pub(crate) questions: Vec<Question>,
}

/// Returns the agents that have tasks from this one and were not deleted, those with the latest tasks first.
pub(crate) async fn of(
    store: &dyn Store,
    owner: &Owner,
    root: AgentId,
    agent: AgentId,
) -> Result<Vec<SubAgent>> {
    let scope = Scope::from(owner);
    let mut page = Page { limit: TASKS, newest_first: true, ..Page::default() };
    let tasks_of =
        |page| RecordFilter::<Task> { parent: Some(agent.into()), page, ..RecordFilter::default() };
    let mut tasks = store.records(&scope, tasks_of(page.clone())).await?;
    if tasks.is_empty() {
        return Ok(Vec::new());
    }
    let status = Some(QuestionStatus::Open);
    let open = RecordFilter { root: Some(root), status, page: Page::all(), ..RecordFilter::default() };
    let open: Vec<Question> = store.records(&scope, open).await?;
    let query = AgentQuery { root: Some(root), page: Page::all(), ..AgentQuery::default() };
    let tree = store.agents(&scope, query).await?;
    let agents: HashMap<AgentId, &Agent> = tree.iter().map(|agent| (agent.id, agent)).collect();
    let (mut seen, mut known) = (HashSet::new(), Vec::new());
    let mut unseen: HashSet<AgentId> =
        tree.iter().filter(|child| works_for(child, agent)).map(|child| child.id).collect();
    loop {
        let next = tasks.last().filter(|_| tasks.len() == TASKS as usize).map(|last| last.id.to_string());
        for task in tasks.into_iter().filter(|task| seen.insert(task.to)) {
            unseen.remove(&task.to);
            let Some(agent) = agents.get(&task.to).copied().cloned() else { continue };
            if agent.status != Status::Cancelled {
                let asks = |question: &&Question| is_below(&tree, question.agent, agent.id);
                known.push(SubAgent { questions: open.iter().filter(asks).cloned().collect(), agent, task });
            }
        }
        // An agent with many tasks must not hide the others.
        if next.is_none() || unseen.is_empty() {
            return Ok(known);
        }
        page.after = next;
        tasks = store.records(&scope, tasks_of(page.clone())).await?;
    }
}

/// Whether an agent works for this one. One that a person put below it has no tasks from it.
fn works_for(child: &Agent, agent: AgentId) -> bool {
    child.parent == Some(agent) && !child.works_for.is_person()
}

/// Whether an agent is `above`, or below it.
pub(crate) fn is_below(tree: &[Agent], agent: AgentId, above: AgentId) -> bool {
    let parent = |id: AgentId| tree.iter().find(|agent| agent.id == id).and_then(|agent| agent.parent);
    std::iter::successors(Some(agent), |id| parent(*id)).any(|id| id == above)
}

#[cfg(test)]
mod tests {
    use entourage_store::{Commit, MemoryStore, Write};
    use entourage_types::{CallId, OnEnd, TaskId, Time};

    use super::*;

    fn task(from: &Agent, to: &Agent, status: Status) -> Write {
        Write::record(&Task {
            id: TaskId::new(),
            owner: from.owner.clone(),
            root: from.root,
            from: from.id,
            to: to.id,
            call: CallId::new(),
            on_end: OnEnd::Answer,
            group: None,
            kind: to.kind.clone(),
            instruction: "dig".to_owned(),
            title: String::new(),
            origin: None,
            status,
            result: None,
            post: None,
            run: None,
            reactivated: 0,
            created: from.created,
            updated: from.created,
        })
        .unwrap()
    }

    #[tokio::test]
    async fn a_sub_agent_with_many_tasks_does_not_hide_the_others() {
        let (store, at) = (MemoryStore::default(), Time::from_micros(0));
        let lead = Agent::root(Owner::local(), "lead", "", at);
        let [quiet, busy] = ["quiet", "busy"].map(|title| lead.child("digger", title, None, at));
        let mut commit = Commit::new(at);
        for agent in [&lead, &quiet, &busy] {
            commit.push(Write::NewAgent(agent.clone()));
        }
        commit.push(task(&lead, &quiet, Status::Running));
        for _ in 0..TASKS {
            commit.push(task(&lead, &busy, Status::Succeeded));
        }
        store.commit(commit).await.unwrap();
        let known = of(&store, &lead.owner, lead.root, lead.id).await.unwrap();
        let titles: Vec<_> = known.iter().map(|known| (&*known.agent.title, known.task.status)).collect();
        assert_eq!(titles, [("busy", Status::Succeeded), ("quiet", Status::Running)]);
    }
}
