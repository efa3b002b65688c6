//! Whom a stop or a deletion concerns beside the agent itself.

use std::collections::{HashMap, HashSet};

use axum::Json;
use entourage_engine::Page;
use entourage_types::{AgentId, ShownStatus, Status, Task};
use serde::Serialize;

use crate::{
    Problem,
    extract::{Caller, Id},
    routes::v1::agents,
};

/// How many agents an intervention concerns, the agent itself left out.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Concerned {
    /// A stop ends their work, too: they work on what the agent has delegated, or on what was delegated for that.
    stopped: u64,
    /// They are below it and go on when it is stopped: people have set them to work, or woken them again.
    going_on: u64,
    /// They are below it and not deleted yet.
    deleted: u64,
}

impl Concerned {
    pub(super) async fn of(caller: &Caller, id: AgentId) -> Result<Self, Problem> {
        let Json(agent) = agents::get(caller.clone(), Id(id)).await?;
        let client = &caller.client;
        let sums = client.subtrees(&[id]).await?.remove(&id).unwrap_or_default();
        let count = |is: fn(ShownStatus) -> bool| -> u64 {
            let counted = ShownStatus::ALL.into_iter().zip(sums.agents);
            let all: u64 = counted.filter(|(status, _)| is(*status)).map(|(_, count)| count).sum();
            all.saturating_sub(u64::from(is(agent.status)))
        };
        let tasks = client.tasks(Some(agent.root), Some(Status::Queued), Page::all()).await?;
        let stopped = set_to_work(agent.id, &tasks);
        Ok(Self {
            stopped,
            going_on: count(is_at_work).saturating_sub(stopped),
            deleted: count(|status| status != ShownStatus::Cancelled),
        })
    }

    /// What is said of a stop that is on record, of all below the agent or of what it has delegated.
    pub(super) fn said_of_stop(&self, of_all: bool) -> String {
        let Self { stopped, going_on, .. } = *self;
        match (of_all, stopped, going_on) {
            (true, _, _) if stopped + going_on > 0 => {
                format!("Stopped, with {} below it.", agents_of(stopped + going_on))
            }
            (_, 0, 0) => "Stopped.".to_owned(),
            (_, 0, _) => format!("Stopped. Below it {} on.", going(going_on)),
            (_, _, 0) => format!("Stopped, with {} that it has set to work.", agents_of(stopped)),
            _ => format!(
                "Stopped, with {} that it has set to work. Below it {} on.",
                agents_of(stopped),
                going(going_on)
            ),
        }
    }

    /// What is said of a deletion.
    pub(super) fn said_of_deletion(&self) -> String {
        match self.deleted {
            0 => "Deleted.".to_owned(),
            deleted => format!("Deleted, with {} below it.", agents_of(deleted)),
        }
    }
}

/// What the dialog with all interventions asks when it opens.
pub(super) async fn show(caller: Caller, Id(id): Id<AgentId>) -> Result<Json<Concerned>, Problem> {
    Concerned::of(&caller, id).await.map(Json)
}

pub(super) fn is_at_work(status: ShownStatus) -> bool {
    matches!(status, ShownStatus::Queued | ShownStatus::Running | ShownStatus::Waiting)
}

/// How many agents work on tasks that this one gave, and on those that were given for them.
fn set_to_work(agent: AgentId, tasks: &[Task]) -> u64 {
    let mut given: HashMap<AgentId, Vec<AgentId>> = HashMap::new();
    for task in tasks {
        given.entry(task.from).or_default().push(task.to);
    }
    let (mut found, mut next) = (HashSet::from([agent]), vec![agent]);
    while let Some(from) = next.pop() {
        let to = given.remove(&from).unwrap_or_default();
        next.extend(to.into_iter().filter(|to| found.insert(*to)));
    }
    found.len() as u64 - 1
}

/// A number of agents.
pub(super) fn agents_of(count: u64) -> String {
    if count == 1 { "1 agent".to_owned() } else { format!("{count} agents") }
}

fn going(count: u64) -> String {
    format!("{} {}", agents_of(count), if count == 1 { "goes" } else { "go" })
}
