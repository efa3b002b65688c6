//! What applies to a run beside the limits of its kind: the options that the author of the message set.

use entourage_types::{
    Agent, Author, Item, ItemBody, Kind, Message, Post, PostBody, Run as RunRow, RunOptions, TaskId,
};

use crate::run::run_record::RunRecord;

/// Returns the message that a run answers, if it has options. A run that takes the place of a failed one
/// answers the message that assigned its tasks.
pub(in crate::run) fn message_of<'a>(items: &'a [Item], record: &RunRow) -> Option<&'a Message> {
    items.iter().rev().find_map(|item| match &item.body {
        ItemBody::Message(message) => {
            let is_owed = message.task.is_some_and(|task| record.tasks.contains(&task));
            Some(message).filter(|message| message.options.is_some() && (item.run == record.id || is_owed))
        }
        _ => None,
    })
}

/// Whether a message is answered by a run of its own: one with options, one that assigns a task, even without
/// options, or a trigger.
pub(in crate::run) fn is_alone(post: &Post) -> bool {
    let PostBody::Message { from, task, options, .. } = &post.body else { return false };
    task.is_some() || options.is_some() || matches!(from, Author::Trigger { .. })
}

/// Returns the task that a post assigns, if any.
pub(in crate::run) fn task_of(post: &Post) -> Option<TaskId> {
    match post.body {
        PostBody::Message { task, .. } => task,
        _ => None,
    }
}

impl RunRecord {
    /// Returns how many agents are between this run and the person who started the work.
    pub(in crate::run) fn depth(&self, agent: &Agent) -> u16 {
        self.options().map_or(agent.depth, |options| options.depth)
    }

    /// Returns how deep work may be delegated from here.
    pub(in crate::run) fn max_depth(&self, kind: &Kind) -> u16 {
        self.options().and_then(|options| options.max_depth).unwrap_or(kind.limits.max_depth)
    }

    /// Returns how many model calls this run may make: the smaller of what its kind and its caller allow.
    pub(in crate::run) fn max_steps(&self, kind: &Kind) -> u32 {
        let given = self.options().and_then(|options| options.max_steps);
        given.unwrap_or(u32::MAX).min(kind.limits.max_steps)
    }

    /// Returns the options of a run to which this one of an agent delegates work.
    pub(in crate::run) fn options_below(&self, agent: &Agent) -> RunOptions {
        let max_depth = self.options().and_then(|options| options.max_depth);
        RunOptions { depth: self.depth(agent) + 1, max_depth, ..RunOptions::default() }
    }
}
