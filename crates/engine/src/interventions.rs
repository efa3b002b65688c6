//! The post that an intervention adds to the agent's inbox.

use entourage_types::{Action, Intervention, PostBody};

/// The post for the agent's inbox; none for a comment.
pub(crate) fn post_of(done: &Intervention) -> Option<PostBody> {
    let text = done.text.clone();
    match done.action {
        Action::Comment => None,
        Action::Steer => Some(PostBody::Message {
            from: done.by.clone(),
            text: text.unwrap_or_default(),
            task: None,
            queued: false,
            options: None,
        }),
        action => Some(PostBody::Intervention { id: done.id, action, text, of: done.of }),
    }
}
