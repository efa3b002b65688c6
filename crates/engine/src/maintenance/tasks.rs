//! Tasks that no agent works on any more, and whose assigner would wait for ever.

use std::collections::HashSet;

use async_trait::async_trait;
use entourage_store::{Commit, Expect, Write};
use entourage_types::{OnEnd, Post, PostBody, Status, Task, TaskId, TaskResult};

use super::{Inconsistency, Job, agent, each_open_run, each_record, open_run, record, wake};
use crate::{Engine, Result};

pub(super) struct Tasks;

#[async_trait]
impl Job for Tasks {
    fn name(&self) -> &'static str {
        "tasks"
    }

    fn purpose(&self) -> &'static str {
        "tasks that no agent works on"
    }

    async fn find(&self, engine: &Engine) -> Result<Vec<Inconsistency>> {
        let mut owed: HashSet<TaskId> = HashSet::new();
        each_open_run(engine, |run| owed.extend(run.tasks)).await?;
        let mut suspects = Vec::new();
        each_record(engine, Status::Queued, |task: Task| {
            if !owed.contains(&task.id) {
                suspects.push(task);
            }
        })
        .await?;
        let mut found = Vec::new();
        for task in suspects {
            // Read in the order in which a task moves: unread, owed by a run, ended.
            let unread = engine.store().inbox(task.to).await?.iter().any(|post| assigns(post, task.id));
            let is_owed = open_run(engine, task.to).await?.is_some_and(|run| run.tasks.contains(&task.id));
            let queued = |now: Task| now.status == Status::Queued;
            let is_queued = record(engine, &task.id.to_string()).await?.is_some_and(queued);
            if is_queued && !unread && !is_owed {
                found.push(inconsistency(engine, task).await?);
            }
        }
        Ok(found)
    }
}

fn assigns(post: &Post, task: TaskId) -> bool {
    matches!(post.body, PostBody::Message { task: Some(id), .. } if id == task)
}

/// The repair fails the task and posts that to its assigner.
async fn inconsistency(engine: &Engine, task: Task) -> Result<Inconsistency> {
    let (at, to, id) = (engine.now(), task.to, task.id);
    let result = TaskResult::Error(format!("agent {to} no longer works on it, and left no result"));
    let queued = Expect::status::<Task>(id, Status::Queued);
    let mut repair = Commit::new(at).expect(queued);
    if !agent(engine, task.from).await?.is_some_and(|from| from.status != Status::Cancelled) {
        // The assigner is gone.
    } else if task.on_end == OnEnd::Join {
        // One wake-up too many is harmless.
        repair.push(wake(task.from, &task.owner, at));
    } else if task.on_end != OnEnd::Quiet {
        let (call, kind, result) = (task.call, task.kind.clone(), result.clone());
        let body = PostBody::Done { task: id, call, from: to, kind, result };
        repair.post(Post::new(task.from, at, body), &task.owner);
    }
    repair.push(Write::record(&Task { status: Status::Failed, result: Some(result), updated: at, ..task })?);
    Ok(Inconsistency {
        agent: to,
        text: format!("no agent works on task {id}: it fails, and its assigner is notified"),
        repair,
    })
}
