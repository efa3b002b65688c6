//! Inbox to transcript: what others wrote since the last look, read before the next model call.

use entourage_types::{Action, Author, ItemBody, Message, Post, PostBody, Status, TaskResult};

use super::{Interrupt, Result, Run};
use crate::prompt;

impl Run<'_> {
    /// Reads the inbox into the transcript. Limits and the end of the process are met here.
    ///
    /// # Errors
    /// An [`Interrupt`] when a limit is met, the process ends or the store fails.
    pub async fn receive(&mut self) -> Result<()> {
        if self.replaying() {
            return Ok(());
        }
        if self.cut.is_cancelled() {
            return Err(Interrupt::Stopping);
        }
        self.refresh().await?;
        self.heed().await?;
        let (posts, later): (Vec<Post>, Vec<Post>) =
            std::mem::take(&mut self.inbox).into_iter().partition(|post| self.is_for_now(post));
        self.inbox = later;
        if posts.is_empty() && self.opened {
            return self.within_limits();
        }
        let at = self.house.now();
        let mut writes = Vec::with_capacity(posts.len() * 2 + 2);
        for post in &posts {
            writes.push(self.read(post));
            if let PostBody::Intervention { id, .. } = post.body {
                writes.extend(self.applied(id).await?);
            }
            if let Some(message) = self.heard(post) {
                writes.push(self.item(ItemBody::Message(message), at));
            }
        }
        writes.push(self.run_row(Status::Running, None));
        writes.extend(self.awake(at));
        self.opened = true;
        self.commit(writes).await?;
        self.within_limits()
    }

    /// Whether a post is for this run: one that is queued waits for the next, and its session is
    /// closed between runs.
    fn is_for_now(&self, post: &Post) -> bool {
        match post.body {
            PostBody::Message { queued: true, .. } => !self.opened,
            PostBody::Intervention { action: Action::CloseSession, .. } => false,
            _ => true,
        }
    }

    /// What a post says to the agent. Answers and results that a call waits for were taken by that
    /// call; one that comes too late for its call is still heard, so that nothing is lost.
    pub(super) fn heard(&mut self, post: &Post) -> Option<Message> {
        match &post.body {
            PostBody::Message { from, text, task, .. } => {
                self.record.tasks.extend(*task);
                Some(Message { from: from.clone(), text: text.clone(), task: *task })
            }
            PostBody::Done { task, from, kind, result, .. } => {
                let (text, failed) = match result {
                    TaskResult::Text(text) => (text, false),
                    TaskResult::Error(text) => (text, true),
                };
                Some(Message {
                    from: Author::Agent { id: *from, kind: kind.clone() },
                    text: prompt::task_result(*task, kind, text, failed),
                    task: Some(*task),
                })
            }
            PostBody::Intervention { action: Action::Modify, text, .. } => {
                Some(Message { from: Author::User, text: text.clone().unwrap_or_default(), task: None })
            }
            PostBody::Answer { .. } | PostBody::Intervention { .. } => None,
        }
    }
}
