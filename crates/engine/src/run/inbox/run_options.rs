//! What holds for a run beside the limits of its kind: what whoever wrote the message said.

use entourage_types::{Item, ItemBody, Message, Post, PostBody, PostId, Run as RunRow, RunOptions, TaskId};

use crate::run::Run;

/// The message that a run answers, where that has options. A run that takes the place of one that failed
/// answers the message that assigned what it owes.
pub(in crate::run) fn message_of<'a>(items: &'a [Item], record: &RunRow) -> Option<&'a Message> {
    items.iter().rev().find_map(|item| match &item.body {
        ItemBody::Message(message) => {
            let is_owed = message.task.is_some_and(|task| record.tasks.contains(&task));
            Some(message).filter(|message| message.options.is_some() && (item.run == record.id || is_owed))
        }
        _ => None,
    })
}

/// Whether a message is answered by a run of its own. Work of a program that gave no options is, too.
pub(in crate::run) fn is_alone(post: &Post) -> bool {
    matches!(&post.body, PostBody::Message { task, options, .. } if task.is_some() || options.is_some())
}

/// The task that a post assigns.
pub(in crate::run) fn task_of(post: &Post) -> Option<TaskId> {
    match post.body {
        PostBody::Message { task, .. } => task,
        _ => None,
    }
}

impl Run<'_> {
    /// The message that it answers, where it answers no other.
    pub(in crate::run) fn answers(&self) -> Option<PostId> {
        self.control.answers()
    }

    /// How many agents stand between this run and the person who began it all.
    pub(in crate::run) fn depth(&self) -> u16 {
        self.options.as_ref().map_or(self.agent.depth, |options| options.depth)
    }

    /// How deep work may be handed on from here.
    pub(in crate::run) fn max_depth(&self) -> u16 {
        let given = self.options.as_ref().and_then(|options| options.max_depth);
        given.unwrap_or(self.kind.limits.max_depth)
    }

    /// How many model calls this run may make: the smaller of what its kind and its caller allow.
    pub(in crate::run) fn max_steps(&self) -> u32 {
        let given = self.options.as_ref().and_then(|options| options.max_steps);
        given.unwrap_or(u32::MAX).min(self.kind.limits.max_steps)
    }

    /// What holds for the run of whoever gets work from this one.
    pub(in crate::run) fn options_below(&self) -> RunOptions {
        let max_depth = self.options.as_ref().and_then(|options| options.max_depth);
        RunOptions { depth: self.depth() + 1, max_depth, ..RunOptions::default() }
    }
}
