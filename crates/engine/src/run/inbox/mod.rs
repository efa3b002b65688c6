//! The inbox of an activation: the posts it has not read yet, and the wake-ups it serves.

pub(in crate::run) mod interventions;
pub(in crate::run) mod receive;
pub(in crate::run) mod run_options;

use entourage_store::Write;
use entourage_types::{CallId, Post, PostId, Time, Wakeup, WakeupId};

/// The posts in memory, in the order of their arrival.
pub(in crate::run) struct Inbox {
    posts: Vec<Post>,
    /// Whether the store has posts that are not in memory.
    grew: bool,
    /// The wake-ups that this activation serves, with their due moments. They are consumed when it ends.
    served: Vec<(WakeupId, Time)>,
}

impl Inbox {
    /// Takes the posts that a claim read; the activation serves the wake-ups that are due `by` then.
    pub(in crate::run) fn new(posts: Vec<Post>, wakeups: &[Wakeup], by: Time) -> Self {
        let served =
            wakeups.iter().filter(|wakeup| wakeup.due <= by).map(|wakeup| (wakeup.id, wakeup.due)).collect();
        Self { posts, grew: false, served }
    }

    pub(in crate::run) fn posts(&self) -> &[Post] {
        &self.posts
    }

    pub(in crate::run) fn is_empty(&self) -> bool {
        self.posts.is_empty()
    }

    /// Takes the wanted posts and leaves the others. The caller must `consume` each of them.
    pub(in crate::run) fn take(&mut self, wanted: impl FnMut(&Post) -> bool) -> Vec<Post> {
        let (taken, left) = std::mem::take(&mut self.posts).into_iter().partition(wanted);
        self.posts = left;
        taken
    }

    pub(in crate::run) fn take_all(&mut self) -> Vec<Post> {
        std::mem::take(&mut self.posts)
    }

    /// Takes the first post that a call waits for.
    pub(in crate::run) fn take_reply(&mut self, call: CallId) -> Option<Post> {
        let at = self.posts.iter().position(|post| post.body.call() == Some(call))?;
        Some(self.posts.remove(at))
    }

    pub(in crate::run) fn remove(&mut self, id: PostId) {
        self.posts.retain(|post| post.id != id);
    }

    /// Returns the write that removes a post that was read. The activation serves the post's wake-up, too,
    /// from here on.
    pub(in crate::run) fn consume(&mut self, post: &Post) -> Write {
        self.served.push((post.wakeup, post.at));
        Write::ConsumePost(post.id)
    }

    /// Takes over from a commit whether the store has posts that were not read.
    pub(in crate::run) fn committed(&mut self, has_posts: bool) {
        self.grew = has_posts;
    }

    /// Notes that posts may have arrived which no commit has reported.
    pub(in crate::run) fn doubt(&mut self) {
        self.grew = true;
    }

    /// Whether the posts must be read again. False until the next doubt or commit.
    pub(in crate::run) fn take_grew(&mut self) -> bool {
        std::mem::take(&mut self.grew)
    }

    pub(in crate::run) fn replace(&mut self, posts: Vec<Post>) {
        self.posts = posts;
    }

    /// Whether this activation serves wake-ups.
    pub(in crate::run) fn serves_any(&self) -> bool {
        !self.served.is_empty()
    }

    /// Returns the writes that consume the served wake-ups that are due `by` then.
    pub(in crate::run) fn consume_due(&self, by: Time) -> impl Iterator<Item = Write> {
        self.served.iter().filter(move |(_, due)| *due <= by).map(|(id, _)| Write::ConsumeWakeup(*id))
    }

    /// Returns the writes that consume the served wake-ups. None is served afterwards.
    pub(in crate::run) fn consume_served(&mut self) -> impl Iterator<Item = Write> + use<> {
        std::mem::take(&mut self.served).into_iter().map(|(id, _)| Write::ConsumeWakeup(id))
    }
}
