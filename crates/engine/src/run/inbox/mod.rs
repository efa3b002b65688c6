//! The inbox of an activation: the posts it has not read yet, and the wake-ups it serves.

pub(in crate::run) mod interventions;
pub(in crate::run) mod receive;
pub(in crate::run) mod run_options;

use std::collections::HashSet;

use entourage_store::Write;
use entourage_types::{Action, Answer, CallId, Post, PostBody, PostId, Time, Wakeup, WakeupId};

/// The posts in memory, in the order of their arrival.
pub(in crate::run) struct Inbox {
    posts: Vec<Post>,
    /// Whether the store has posts that are not in memory.
    grew: bool,
    /// Whether some of them came after a stop, and are for the next run.
    leaves: bool,
    /// Whether a grant has come that nothing was made of.
    granted: bool,
    /// The wake-ups that this activation serves, with their due moments. They are consumed when it ends.
    served: Vec<(WakeupId, Time)>,
    /// Those that are due later, for what the run waits for.
    awaited: Vec<WakeupId>,
}

/// A post that is read, with the write that removes it from the inbox: both go into one commit.
pub(in crate::run) struct Taken {
    pub(in crate::run) post: Post,
    pub(in crate::run) consume: Write,
}

impl Inbox {
    /// Takes the posts that a claim read; the activation serves the wake-ups that are due `by` then. Those of schedules
    /// are served by what fires them.
    pub(in crate::run) fn new(posts: Vec<Post>, wakeups: &[Wakeup], by: Time) -> Self {
        let unscheduled = wakeups.iter().filter(|wakeup| wakeup.schedule.is_none());
        let (due, later): (Vec<&Wakeup>, Vec<&Wakeup>) = unscheduled.partition(|wakeup| wakeup.due <= by);
        let served = due.iter().map(|wakeup| (wakeup.id, wakeup.due)).collect();
        let awaited = later.iter().map(|wakeup| wakeup.id).collect();
        let granted = posts.iter().any(is_grant);
        Self { posts, grew: false, leaves: false, granted, served, awaited }
    }

    pub(in crate::run) fn posts(&self) -> &[Post] {
        &self.posts
    }

    /// Whether the agent, which is paused now or not, is paused once all of them are applied.
    pub(in crate::run) fn will_pause(&self, is_paused: bool) -> bool {
        self.posts.iter().fold(is_paused, |paused, post| match post.body {
            PostBody::Intervention { action: Action::Pause, .. } => true,
            PostBody::Intervention { action: Action::Resume, .. } => false,
            _ => paused,
        })
    }

    pub(in crate::run) fn is_empty(&self) -> bool {
        self.posts.is_empty()
    }

    /// Takes the wanted posts and leaves the others.
    pub(in crate::run) fn take(&mut self, wanted: impl FnMut(&Post) -> bool) -> Vec<Taken> {
        let (taken, left) = std::mem::take(&mut self.posts).into_iter().partition(wanted);
        self.posts = left;
        self.taken(taken)
    }

    pub(in crate::run) fn take_all(&mut self) -> Vec<Taken> {
        let posts = std::mem::take(&mut self.posts);
        self.taken(posts)
    }

    /// The calls that posts are for.
    pub(in crate::run) fn replies(&self) -> HashSet<CallId> {
        self.posts.iter().filter_map(|post| post.body.call()).collect()
    }

    /// The first post that a call waits for.
    pub(in crate::run) fn reply(&self, call: CallId) -> Option<&Post> {
        self.posts.iter().find(|post| post.body.call() == Some(call))
    }

    /// Takes the first post that a call waits for.
    pub(in crate::run) fn take_reply(&mut self, call: CallId) -> Option<Taken> {
        let at = self.posts.iter().position(|post| post.body.call() == Some(call))?;
        let post = self.posts.remove(at);
        self.taken(vec![post]).pop()
    }

    /// Leaves the posts that came after this one in the store, for the next run. Results are of earlier work and stay.
    pub(in crate::run) fn leave_after(&mut self, post: PostId) {
        if let Some(at) = self.posts.iter().position(|other| other.id == post) {
            let (results, left): (Vec<_>, Vec<_>) = self.posts.drain(at + 1..).partition(is_result);
            self.leaves |= !left.is_empty();
            self.posts.extend(results);
        }
    }

    /// Whether posts were left for the next run. False until the next ones are.
    pub(in crate::run) fn take_leaves(&mut self) -> bool {
        std::mem::take(&mut self.leaves)
    }

    /// Whether a person's grant has come since this was asked last.
    pub(in crate::run) fn take_granted(&mut self) -> bool {
        std::mem::take(&mut self.granted)
    }

    /// Notes what posts say that are read for the first time.
    pub(in crate::run) fn arrived(&mut self, new: &[Post]) {
        self.granted |= new.iter().any(is_grant);
    }

    /// The wake-ups of posts that are taken are served from here on, unless they are already.
    fn taken(&mut self, posts: Vec<Post>) -> Vec<Taken> {
        for post in &posts {
            if self.served.iter().all(|(id, _)| *id != post.wakeup) {
                self.served.push((post.wakeup, post.at));
            }
        }
        posts.into_iter().map(|post| Taken { consume: Write::ConsumePost(post.id), post }).collect()
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
    pub(in crate::run) fn take_stale(&mut self) -> bool {
        std::mem::take(&mut self.grew)
    }

    /// Takes the posts in memory out, before they are [replaced](Self::replace).
    pub(in crate::run) fn take_posts(&mut self) -> Vec<Post> {
        std::mem::take(&mut self.posts)
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

    /// Returns the writes that consume what the run waited for until now, but for the wake-up that closes an idle
    /// session: a run that has ended waits for nothing.
    pub(in crate::run) fn consume_awaited(&mut self, idle: WakeupId) -> impl Iterator<Item = Write> + use<> {
        let awaited = std::mem::take(&mut self.awaited).into_iter();
        awaited.filter(move |id| *id != idle).map(Write::ConsumeWakeup)
    }

    /// Returns the writes that consume the served wake-ups. None is served afterwards.
    pub(in crate::run) fn consume_served(&mut self) -> impl Iterator<Item = Write> + use<> {
        std::mem::take(&mut self.served).into_iter().map(|(id, _)| Write::ConsumeWakeup(id))
    }
}

/// Whether a person approves a call and all that follow it of its sort.
fn is_grant(post: &Post) -> bool {
    matches!(&post.body, PostBody::Answer { answer: Answer::Approve { always: true, .. }, .. })
}

/// Whether a post is the result of a task that the agent gave.
pub(in crate::run) const fn is_result(post: &Post) -> bool {
    matches!(post.body, PostBody::Done { .. })
}
