//! What has ended stays ended, by the events, and each row agrees with its last event.

use std::collections::{BTreeMap, BTreeSet};

use entourage_store::Write;
use entourage_types::{
    Action, AgentId, EventBody, Post, PostBody, PostId, QuestionStatus, Status, Task, TaskId,
};

use super::{Found, Invariant::Ended, Snapshot};
use crate::Fact;

/// The last event's status of each row, whether that is final, and the row's agent.
type LastStatuses<'a> = BTreeMap<String, (&'a str, bool, AgentId)>;

pub(super) fn check(whole: &Snapshot, found: &mut Found) {
    for events in whole.events.values() {
        let mut last = LastStatuses::new();
        for event in events {
            let (row, word, ended) = match &event.body {
                EventBody::Run { run, status, .. } => {
                    (run.to_string(), status.as_str(), status.is_terminal())
                }
                EventBody::Task { task } => {
                    (task.id.to_string(), task.status.as_str(), task.status.is_terminal())
                }
                EventBody::Question { question } => {
                    let status = question.status;
                    (question.id.to_string(), status.as_str(), status != QuestionStatus::Open)
                }
                // An agent that ended may begin again with the next message, unless it was deleted.
                EventBody::AgentStatus { status, .. } => {
                    (event.agent.to_string(), status.as_str(), *status == Status::Cancelled)
                }
                EventBody::Intervention { intervention } if intervention.action == Action::Retry => {
                    begun_again(event.agent, &mut last);
                    continue;
                }
                _ => continue,
            };
            // An agent may get more work on its task; `tasks` verifies whether it did.
            let again = matches!(&event.body, EventBody::Task { .. }) && !ended;
            if let Some((before, true, _)) = last.get(&row).filter(|(before, ..)| *before != word && !again) {
                found.add(Ended, event.agent, format!("{row} had ended as {before} and became {word}"));
            }
            last.insert(row, (word, ended, event.agent));
        }
        rows(whole, &last, found);
    }
}

/// A task may be under way, for the first time or again, only from a commit on that posts its
/// message, or in which its agent reads that message or an intervention to retry.
pub(super) fn tasks(facts: &[Fact], found: &mut Found) {
    let mut posts: BTreeMap<PostId, TaskId> = BTreeMap::new();
    let mut retries: BTreeMap<PostId, AgentId> = BTreeMap::new();
    for fact in facts {
        let Fact::Committed(commit) = fact else { continue };
        let mut about: BTreeSet<TaskId> = BTreeSet::new();
        let mut trying: BTreeSet<AgentId> = BTreeSet::new();
        for write in &commit.writes {
            match write {
                Write::Post(Post { id, body: PostBody::Message { task: Some(task), .. }, .. }) => {
                    posts.insert(*id, *task);
                    about.insert(*task);
                }
                Write::Post(Post {
                    id,
                    agent,
                    body: PostBody::Intervention { action: Action::Retry, .. },
                    ..
                }) => {
                    retries.insert(*id, *agent);
                }
                Write::ConsumePost(id) => {
                    about.extend(posts.get(id));
                    trying.extend(retries.get(id));
                }
                _ => {}
            }
        }
        for write in &commit.writes {
            let Some(task) = write.as_record::<Task>() else { continue };
            let begun = task.status.is_terminal() || about.contains(&task.id) || trying.contains(&task.to);
            found.must(begun, Ended, task.to, || {
                format!("{} is under way, but its commit has neither its message nor a retry", task.id)
            });
        }
    }
}

/// An agent that failed and is asked to retry owes its tasks again.
fn begun_again(agent: AgentId, last: &mut LastStatuses<'_>) {
    for (word, ended, whose) in last.values_mut() {
        *ended &= !(*whose == agent && *word == Status::Failed.as_str());
    }
}

fn rows(whole: &Snapshot, last: &LastStatuses<'_>, found: &mut Found) {
    let agents = whole.agents.iter().map(|row| (row.id.to_string(), row.status.as_str()));
    // Only the items of a run that continues with its agent report its status.
    let ended = whole.runs.iter().filter(|run| run.status.is_terminal());
    let runs = ended.map(|row| (row.id.to_string(), row.status.as_str()));
    let tasks = whole.tasks.iter().map(|row| (row.id.to_string(), row.status.as_str()));
    let questions = whole.questions.iter().map(|row| (row.id.to_string(), row.status.as_str()));
    for (row, word) in agents.chain(runs).chain(tasks).chain(questions) {
        if let Some((reported, _, agent)) = last.get(&row) {
            found.must(*reported == word, Ended, *agent, || {
                format!("{row} is {word}; its last event reports {reported}")
            });
        }
    }
    for agent in whole.agents.iter().filter(|agent| agent.status.is_terminal()) {
        let last = whole.runs.iter().rfind(|run| run.agent == agent.id);
        let open = last.is_some_and(|run| !run.status.is_terminal());
        found.must(!open, Ended, agent.id, || {
            format!("it is {}, but its last run is still open", agent.status)
        });
    }
}
