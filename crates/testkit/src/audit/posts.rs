//! Messages: each post has either been read once or is still in the inbox, and its message is in
//! the transcript once.

use std::collections::{BTreeMap, BTreeSet};

use entourage_store::{Commit, Write};
use entourage_types::{Action, AgentId, ItemBody, Post, PostBody, PostId, Status, TaskId};

use super::{
    Found,
    Invariant::{Messages, Results},
    Snapshot,
};
use crate::Fact;

pub(super) fn check(whole: &Snapshot, facts: &[Fact], found: &mut Found) {
    let mut posts: BTreeMap<PostId, Post> = BTreeMap::new();
    let mut read: BTreeSet<PostId> = BTreeSet::new();
    for fact in facts {
        let Fact::Committed(commit) = fact else { continue };
        woken(commit, found);
        for write in &commit.writes {
            match write {
                Write::Post(post) => {
                    posts.insert(post.id, post.clone());
                }
                Write::ConsumePost(id) => {
                    let again = !read.insert(*id);
                    if again {
                        found.add(Messages, agent_of(commit), format!("{id} was read twice"));
                    } else if let Some(post) = posts.get(id) {
                        handled(whole, commit, post, found);
                    }
                }
                _ => {}
            }
        }
    }
    for post in posts.values() {
        let there = whole.inbox(post.agent).iter().any(|other| other.id == post.id);
        found.must(there != read.contains(&post.id), Messages, post.agent, || {
            let lost = if there {
                "was read and is still in the inbox"
            } else {
                "is no longer in the inbox and was never read"
            };
            format!("{} {lost}: {:?}", post.id, post.body)
        });
        if let PostBody::Done { task, .. } = &post.body {
            let asked = whole.assigned(post.agent, *task);
            found.must(asked || whole.is_forgotten(post.agent), Results, post.agent, || {
                format!("it received the result of {task}, which it did not assign")
            });
        }
    }
    for agent in &whole.agents {
        let heard = posts
            .values()
            .filter(|post| post.agent == agent.id && read.contains(&post.id) && is_message(&post.body));
        let (heard, said) = (heard.count(), messages(whole, agent.id));
        // A deleted agent may have read posts of the same moment without recording them as
        // messages.
        let fits = said == heard || (agent.status == Status::Cancelled && said <= heard);
        found.must(fits, Messages, agent.id, || {
            format!("{heard} messages were read; its transcript has {said}")
        });
    }
}

/// Each post is committed together with its wake-up.
fn woken(commit: &Commit, found: &mut Found) {
    for write in &commit.writes {
        let Write::Post(post) = write else { continue };
        let wakes =
            |write: &Write| matches!(write, Write::ScheduleWakeup(wakeup) if wakeup.id == post.wakeup);
        found.must(commit.writes.iter().any(wakes), Messages, post.agent, || {
            format!("{} was posted without its wake-up", post.id)
        });
    }
}

fn agent_of(commit: &Commit) -> Option<AgentId> {
    commit.fence.map(|fence| fence.agent)
}

/// A message that is read joins the transcript in the same commit, unless its agent is deleted.
fn handled(whole: &Snapshot, commit: &Commit, post: &Post, found: &mut Found) {
    let PostBody::Message { text, .. } = &post.body else { return };
    let says = |write: &Write| {
        matches!(write, Write::Item(item)
            if matches!(&item.body, ItemBody::Message(message) if message.text == *text))
    };
    let gone = whole.agent(post.agent).is_none_or(|agent| agent.status == Status::Cancelled);
    found.must(gone || commit.writes.iter().any(says), Messages, post.agent, || {
        format!("{} was read, but its message is not in the transcript: {text}", post.id)
    });
}

/// Whether its reader records a post as a message, whatever else happens.
fn is_message(body: &PostBody) -> bool {
    matches!(body, PostBody::Message { .. } | PostBody::Intervention { action: Action::Modify, .. })
}

/// The messages that joined a transcript, without results that arrived too late for their call.
fn messages(whole: &Snapshot, agent: AgentId) -> usize {
    let is_result = |task: Option<TaskId>| task.is_some_and(|task| whole.assigned(agent, task));
    let items = whole.written(agent);
    items.filter(|item| matches!(&item.body, ItemBody::Message(message) if !is_result(message.task))).count()
}
