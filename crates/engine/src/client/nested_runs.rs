//! What was done for a run: its own items, and the runs of other agents that work for it.

use std::collections::HashSet;

use entourage_store::{ItemQuery, Page, RecordFilter, RunQuery};
use entourage_types::{CallId, Item, ItemBody, Run, RunId, Status, SubCalls, SubOutput, Task, TaskId, Turn};

use super::Client;
use crate::{Error, Result, pages::pages};

/// A run that works or worked for another run.
#[derive(Debug, Clone, PartialEq)]
pub struct NestedRunRef {
    /// The run whose call it works for.
    pub parent: RunId,
    /// The task that it was given.
    pub task: Task,
    /// The run.
    pub run: Run,
    /// The items that it wrote.
    pub items: Vec<Item>,
}

impl Client {
    /// The items that a run wrote, in order.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn items_of(&self, run: &Run) -> Result<Vec<Item>> {
        let query = ItemQuery { run: Some(run.id), ..ItemQuery::of(run.agent, 0, u32::MAX) };
        Ok(self.engine.store().items(&self.scope, query).await?)
    }

    /// The runs that work for a run, directly or through another, in the order of their calls. `items` are
    /// those that `run` wrote.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn runs_below(&self, run: &Run, items: &[Item]) -> Result<Vec<NestedRunRef>> {
        let mut seen = HashSet::from([run.id]);
        let mut found: Vec<NestedRunRef> = Vec::new();
        let mut tasks = self.tasks_of(run, items).await?;
        let mut parent = run.id;
        for next in 0.. {
            for task in tasks {
                let Some(run) = self.run_for(&task).await?.filter(|below| seen.insert(below.id)) else {
                    continue;
                };
                let items = self.items_of(&run).await?;
                found.push(NestedRunRef { parent, task, run, items });
            }
            let Some(below) = found.get(next) else { break };
            (parent, tasks) = (below.run.id, self.tasks_of(&below.run, &below.items).await?);
        }
        Ok(found)
    }

    /// The tasks that a run's calls assigned. The outputs of calls name the tasks that are done; the queued
    /// tasks of an open run are read, too.
    async fn tasks_of(&self, run: &Run, items: &[Item]) -> Result<Vec<Task>> {
        let mut tasks = Vec::new();
        for id in items.iter().filter_map(task_of) {
            match self.task(id).await {
                Err(Error::NotFound { .. }) => {}
                task => tasks.push(task?),
            }
        }
        if run.status.is_terminal() {
            return Ok(tasks);
        }
        let calls: HashSet<CallId> = items.iter().flat_map(calls_of).collect();
        let (parent, status) = (Some(run.agent.into()), Some(Status::Queued));
        let filter = RecordFilter { parent, status, page: Page::all(), ..RecordFilter::default() };
        for task in self.records::<Task>(filter).await? {
            if calls.contains(&task.call) && !tasks.iter().any(|other| other.id == task.id) {
                tasks.push(task);
            }
        }
        Ok(tasks)
    }

    /// The run that works or worked on a task.
    async fn run_for(&self, task: &Task) -> Result<Option<Run>> {
        if let Some(run) = task.run {
            return Ok(Some(self.run(run).await?));
        }
        let page = Page { newest_first: true, ..Page::default() };
        let query = RunQuery { agent: Some(task.to), page, ..RunQuery::default() };
        let mut pages = pages(&**self.engine.store(), &self.scope, query);
        // A run that ended before the task existed is not a run of the task, and neither is any earlier one.
        let is_before = |run: &Run| run.ended.is_some_and(|ended| ended < task.created);
        while let Some(runs) = pages.next().await? {
            let is_last = runs.last().is_some_and(is_before);
            let found = runs.into_iter().find(|run| run.tasks.contains(&task.id));
            if found.is_some() || is_last {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

/// The task that a call assigned, according to its output.
fn task_of(item: &Item) -> Option<TaskId> {
    match &item.body {
        ItemBody::Output(output) | ItemBody::SubOutput(SubOutput { output, .. }) => output.task(),
        _ => None,
    }
}

fn calls_of(item: &Item) -> Vec<CallId> {
    match &item.body {
        ItemBody::Turn(Turn { calls, .. }) | ItemBody::SubCalls(SubCalls { calls, .. }) => {
            calls.iter().map(|call| call.id).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use entourage_llm::ScriptedModel;
    use entourage_store::{Commit, MemoryStore, Store as _, Write};
    use entourage_types::{Agent, Cost, OnEnd, Owner, Time, Usage};

    use super::*;
    use crate::{Engine, pages::ROWS};

    fn run(agent: &Agent, tasks: Vec<TaskId>, at: Time) -> Run {
        Run {
            id: RunId::new(),
            agent: agent.id,
            owner: agent.owner.clone(),
            status: Status::Succeeded,
            waiting_on: None,
            stop_reason: None,
            error: None,
            kind_version: "v".to_owned(),
            switches: Default::default(),
            tasks,
            model_calls: 0,
            worked_ms: 0,
            usage: Usage::default(),
            cost: Cost::default(),
            spent: Vec::new(),
            started: at,
            ended: Some(at),
        }
    }

    #[tokio::test]
    async fn the_run_of_a_task_is_found_behind_many_later_runs() {
        let (store, at) = (MemoryStore::default(), Time::from_micros(7));
        let engine =
            Engine::builder(Arc::new(store.clone()), Arc::new(ScriptedModel::deciding(|_| None))).build();
        let lead = Agent::root(Owner::local(), "lead", "", at);
        let child = lead.child("digger", "", None, at);
        let made = [&lead, &child].map(|agent| Write::NewAgent(agent.clone()));
        store.commit(Commit { writes: made.into(), ..Commit::new(at) }).await.unwrap();
        let task = Task {
            id: TaskId::new(),
            owner: lead.owner.clone(),
            root: lead.id,
            from: lead.id,
            to: child.id,
            call: CallId::new(),
            on_end: OnEnd::Answer,
            group: None,
            kind: child.kind.clone(),
            instruction: "dig".to_owned(),
            title: String::new(),
            origin: None,
            status: Status::Queued,
            result: None,
            post: None,
            run: None,
            reactivated: 0,
            created: at,
            updated: at,
        };
        let child = store.claim(child.id, 0).await.unwrap().unwrap().agent;
        let of_task = run(&child, vec![task.id], at);
        let mut commit = Commit::fenced(&child, at).write(Write::Run(of_task.clone()));
        for _ in 0..ROWS * 2 {
            commit.push(Write::Run(run(&child, Vec::new(), at)));
        }
        store.commit(commit).await.unwrap();
        let client = engine.client(Owner::local());
        assert_eq!(client.run_for(&task).await.unwrap(), Some(of_task));
        let other = Task { id: TaskId::new(), ..task };
        assert_eq!(client.run_for(&other).await.unwrap(), None);
    }
}
