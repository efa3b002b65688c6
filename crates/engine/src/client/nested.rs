//! What was done for a run: its own items, and the runs of others that work for it.

use std::collections::HashSet;

use entourage_store::{EntityQuery, ItemQuery, Page, RunQuery};
use entourage_types::{CallId, EntityKind, Item, ItemBody, Run, RunId, Status, Task, TaskId};

use super::Client;
use crate::{Error, Result};

/// A run that works for another, or did.
#[derive(Debug, Clone, PartialEq)]
pub struct RunBelow {
    /// The run whose call it works for.
    pub parent: RunId,
    /// What it was given.
    pub task: Task,
    /// The run.
    pub run: Run,
    /// What it wrote.
    pub items: Vec<Item>,
}

/// How far back the run is looked for that is at work on a task.
const RUNS: u32 = 20;

impl Client {
    /// The items that a run wrote, in order.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn items_of(&self, run: &Run) -> Result<Vec<Item>> {
        let query = ItemQuery { run: Some(run.id), ..ItemQuery::of(run.agent, 0, u32::MAX) };
        Ok(self.house.store().items(&self.scope, query).await?)
    }

    /// The runs that work for this one, which wrote these items, directly or for one of those, in the
    /// order of their calls.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn runs_below(&self, run: &Run, items: &[Item]) -> Result<Vec<RunBelow>> {
        let mut seen = HashSet::from([run.id]);
        let mut found: Vec<RunBelow> = Vec::new();
        let mut tasks = self.tasks_of(run, items).await?;
        let mut parent = run.id;
        for next in 0.. {
            for task in tasks {
                let Some(run) = self.run_for(&task).await?.filter(|below| seen.insert(below.id)) else {
                    continue;
                };
                let items = self.items_of(&run).await?;
                found.push(RunBelow { parent, task, run, items });
            }
            let Some(below) = found.get(next) else { break };
            (parent, tasks) = (below.run.id, self.tasks_of(&below.run, &below.items).await?);
        }
        Ok(found)
    }

    /// The tasks that a run's calls assigned: those that are done are named by the calls' outputs.
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
        let page = Page::all();
        let status = Some(Status::Queued.as_str().to_owned());
        let query =
            EntityQuery { parent: Some(run.agent), status, page, ..EntityQuery::of(EntityKind::Task) };
        for task in self.select::<Task>(query).await? {
            if calls.contains(&task.call) && !tasks.iter().any(|other| other.id == task.id) {
                tasks.push(task);
            }
        }
        Ok(tasks)
    }

    /// The run that works on a task, or did.
    async fn run_for(&self, task: &Task) -> Result<Option<Run>> {
        if let Some(run) = task.run {
            return Ok(Some(self.run(run).await?));
        }
        let page = Page { limit: RUNS, newest_first: true, ..Page::default() };
        let query = RunQuery { agent: Some(task.to), page, ..RunQuery::default() };
        let runs = self.house.store().runs(&self.scope, query).await?;
        Ok(runs.into_iter().find(|run| run.tasks.contains(&task.id)))
    }
}

/// The task that a call assigned, as its output says.
fn task_of(item: &Item) -> Option<TaskId> {
    let ItemBody::Output(output) = &item.body else { return None };
    output.task()
}

fn calls_of(item: &Item) -> Vec<CallId> {
    match &item.body {
        ItemBody::Turn(turn) => turn.calls.iter().map(|call| call.id).collect(),
        _ => Vec::new(),
    }
}
