//! Trees: a deleted agent takes all its descendants along, and results go to the agents that asked
//! for them.

use entourage_types::{Author, ItemBody, OnEnd, Status, SubOutput, TaskResult};

use super::{
    Found,
    Invariant::{Deletion, Results},
    Snapshot,
};

pub(super) fn check(whole: &Snapshot, found: &mut Found) {
    for agent in &whole.agents {
        let Some(parent) = agent.parent else { continue };
        let gone = whole.agent(parent).is_none_or(|parent| parent.status == Status::Cancelled);
        found.must(!gone || agent.status == Status::Cancelled, Deletion, agent.id, || {
            format!("it is {}, but its parent {parent} is deleted", agent.status)
        });
    }
    for agent in &whole.agents {
        for item in whole.written(agent.id) {
            match &item.body {
                ItemBody::Message(message) => {
                    let Author::Agent { id, .. } = &message.from else { continue };
                    let known = whole.tasks.iter().any(|task| {
                        Some(task.id) == message.task
                            && [(task.from, task.to), (task.to, task.from)].contains(&(*id, agent.id))
                    });
                    found.must(known || whole.is_forgotten(*id), Results, agent.id, || {
                        format!(
                            "item {} is a message from {id} that belongs to no task between the two",
                            item.seq
                        )
                    });
                }
                ItemBody::Output(output) | ItemBody::SubOutput(SubOutput { output, .. }) => {
                    let task = whole
                        .tasks
                        .iter()
                        .find(|task| task.call == output.call && task.on_end == OnEnd::Answer);
                    let Some(task) = task else { continue };
                    let result = match &task.result {
                        Some(TaskResult::Text(text) | TaskResult::Error(text)) => Some(text),
                        None => None,
                    };
                    let own = task.from == agent.id && (output.error || result == Some(&output.text));
                    found.must(own, Results, agent.id, || {
                        format!("item {} is not the result of its {}", item.seq, task.id)
                    });
                }
                _ => {}
            }
        }
    }
}
