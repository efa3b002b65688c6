//! What holds for a run beside the limits of its kind: what whoever wrote the message said.

use std::sync::{Mutex, PoisonError};

use entourage_types::{Item, ItemBody, Message, Post, PostBody, PostId, Run as Record, TaskId, Terms};

use super::Run;

/// The message that a run answers, where that has terms. A run that takes the place of one that failed
/// answers the message that assigned what it owes.
pub(super) fn message_of<'a>(items: &'a [Item], record: &Record) -> Option<&'a Message> {
    items.iter().rev().find_map(|item| match &item.body {
        ItemBody::Message(message) => {
            let is_owed = message.task.is_some_and(|task| record.tasks.contains(&task));
            Some(message).filter(|message| message.terms.is_some() && (item.run == record.id || is_owed))
        }
        _ => None,
    })
}

/// Whether a message is answered by a run of its own. Work of a program that gave no terms is, too.
pub(super) fn is_alone(post: &Post) -> bool {
    matches!(&post.body, PostBody::Message { task, terms, .. } if task.is_some() || terms.is_some())
}

/// The task that a post assigns.
pub(super) fn task_of(post: &Post) -> Option<TaskId> {
    match post.body {
        PostBody::Message { task, .. } => task,
        _ => None,
    }
}

/// Says which message is answered, for whoever does not want that any more.
pub(super) fn tell(answers: &Mutex<Option<PostId>>, post: Option<PostId>) {
    *answers.lock().unwrap_or_else(PoisonError::into_inner) = post;
}

impl Run<'_> {
    /// The message that it answers, where it answers no other.
    pub(super) fn answers(&self) -> Option<PostId> {
        *self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many agents stand between this run and the person who began it all.
    pub(super) fn depth(&self) -> u16 {
        self.terms.as_ref().map_or(self.agent.depth, |terms| terms.depth)
    }

    /// How deep work may be handed on from here.
    pub(super) fn max_depth(&self) -> u16 {
        let given = self.terms.as_ref().and_then(|terms| terms.max_depth);
        given.unwrap_or(self.kind.limits.max_depth)
    }

    /// How many model calls this run may make: the smaller of what its kind and its caller allow.
    pub(super) fn max_steps(&self) -> u32 {
        let given = self.terms.as_ref().and_then(|terms| terms.max_steps);
        given.unwrap_or(u32::MAX).min(self.kind.limits.max_steps)
    }

    /// What holds for the run of whoever gets work from this one.
    pub(super) fn terms_below(&self) -> Terms {
        let max_depth = self.terms.as_ref().and_then(|terms| terms.max_depth);
        Terms { depth: self.depth() + 1, max_depth, ..Terms::default() }
    }
}
