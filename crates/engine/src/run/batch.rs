//! What waits for the next commit of an activation: until then none of it has happened.

use entourage_store::{Commit, Expect, Write};
use entourage_types::{Agent, ItemBody, NoticeCode, Post, Task, Time};

/// Writes and expectations that go with the next commit.
#[derive(Default)]
pub(super) struct Batch {
    writes: Vec<Write>,
    /// What must still be as it was read, although other writers may have changed it.
    expect: Vec<Expect>,
}

impl Batch {
    pub(super) fn of(writes: impl IntoIterator<Item = Write>) -> Self {
        Self { writes: writes.into_iter().collect(), expect: Vec::new() }
    }

    pub(super) fn push(&mut self, write: Write) {
        self.writes.push(write);
    }

    pub(super) fn extend(&mut self, writes: impl IntoIterator<Item = Write>) {
        self.writes.extend(writes);
    }

    pub(super) fn expect(&mut self, expect: impl IntoIterator<Item = Expect>) {
        self.expect.extend(expect);
    }

    /// Makes the store refuse the next commit if the task is no longer in the status in which it was read.
    pub(super) fn expect_task(&mut self, task: &Task) {
        self.expect.push(Expect::status::<Task>(task.id, task.status));
    }

    pub(super) fn has_writes(&self) -> bool {
        !self.writes.is_empty()
    }

    /// Whether the next commit settles a model call.
    pub(super) fn changes_budgets(&self) -> bool {
        self.writes.iter().any(|write| matches!(write, Write::Budget(_)))
    }

    /// Whether the store may refuse the next commit because another writer changed something.
    pub(super) fn has_expectations(&self) -> bool {
        !self.expect.is_empty()
    }

    /// Whether the next commit holds what must not wait for an answer of a model: what one has answered, or what a program says.
    pub(super) fn has_news(&self) -> bool {
        let is_news = |body: &ItemBody| match body {
            ItemBody::Decision(_) | ItemBody::Turn(_) => true,
            ItemBody::Notice(notice) => notice.code == NoticeCode::Progress,
            _ => false,
        };
        self.writes.iter().any(|write| matches!(write, Write::Item(item) if is_news(&item.body)))
    }

    /// Whether the next commit removes a post from the inbox.
    pub(super) fn consumes(&self, post: &Post) -> bool {
        self.writes.iter().any(|write| matches!(write, Write::ConsumePost(id) if *id == post.id))
    }

    /// Returns a fenced commit of the agent's activation that holds the whole batch; the batch is empty
    /// afterwards. The agent's row is written as it is now: items may have joined the batch after the row.
    pub(super) fn take_commit(&mut self, agent: &Agent, at: Time) -> Commit {
        let Self { mut writes, expect } = std::mem::take(self);
        for write in &mut writes {
            if let Write::Agent(row) = write {
                row.clone_from(agent);
            }
        }
        Commit { writes, expect, ..Commit::fenced(agent, at) }
    }
}
