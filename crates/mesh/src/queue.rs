//! The send queue of one node. It is bounded: if the node reads too slowly, the queue is replaced by the message that news
//! were lost.

use std::{
    collections::{BTreeMap, BTreeSet},
    future, mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

use entourage_types::{AgentId, Wakeup};
use tokio::sync::Notify;

use crate::message::Message;

/// How many messages wait for a node.
const LENGTH: usize = 4096;

/// What waits for one node.
#[derive(Default)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    filled: Notify,
}

/// What is said of a tree or an agent twice is sent once.
#[derive(Default)]
struct Waiting {
    trees: BTreeSet<AgentId>,
    wakeups: BTreeMap<AgentId, Wakeup>,
    messages: Vec<Message>,
    is_behind: bool,
    /// Whether what this node follows has changed.
    follows: bool,
    /// For which link it is, by their number.
    link: u64,
}

impl Waiting {
    /// What is said where something was lost.
    fn behind(link: u64) -> Self {
        Self { is_behind: true, follows: true, link, ..Self::default() }
    }

    fn is_full(&self) -> bool {
        self.trees.len() + self.wakeups.len() + self.messages.len() >= LENGTH
    }
}

impl Queue {
    /// Says that a tree has new events.
    pub(crate) fn tree(&self, root: AgentId) {
        self.change(|waiting| {
            waiting.trees.insert(root);
        });
    }

    /// Says that an agent has something due.
    pub(crate) fn wakeup(&self, wakeup: Wakeup) {
        self.change(|waiting| {
            let known = waiting.wakeups.entry(wakeup.agent).or_insert_with(|| wakeup.clone());
            if wakeup.due < known.due {
                *known = wakeup;
            }
        });
    }

    /// Says what is not said of a tree or an agent only.
    pub(crate) fn message(&self, message: Message) {
        self.change(|waiting| waiting.messages.push(message));
    }

    /// Says that news were lost.
    pub(crate) fn behind(&self) {
        self.change(|waiting| waiting.is_behind = true);
    }

    /// Says what this node follows now.
    pub(crate) fn follows(&self) {
        self.change(|waiting| waiting.follows = true);
    }

    /// Forgets what a link that has ended has not sent, and says so. Returns the number of the next link.
    pub(crate) fn begin(&self) -> u64 {
        let mut waiting = self.waiting();
        let link = waiting.link + 1;
        *waiting = Waiting::behind(link);
        drop(waiting);
        self.filled.notify_waiters();
        self.filled.notify_one();
        link
    }

    /// Waits for something to send by this link; for ever once there is another one. `followed` are the trees that this
    /// node follows.
    pub(crate) async fn next(&self, link: u64, followed: impl Fn() -> Vec<AgentId>) -> Vec<Message> {
        loop {
            let Some(waiting) = self.take(link) else {
                // It may have been woken in place of the other one.
                self.filled.notify_one();
                return future::pending().await;
            };
            let mut messages = waiting.messages;
            // First, so that pieces of what is followed can come early.
            if waiting.follows {
                messages.insert(0, Message::Follows { roots: followed() });
            }
            if waiting.is_behind {
                messages.push(Message::Behind);
            } else if !waiting.trees.is_empty() {
                messages.push(Message::Trees { roots: waiting.trees.into_iter().collect() });
            }
            if !waiting.wakeups.is_empty() {
                messages.push(Message::Woken { wakeups: waiting.wakeups.into_values().collect() });
            }
            if !messages.is_empty() {
                return messages;
            }
            self.filled.notified().await;
        }
    }

    /// Takes what waits for this link; none if there is another one.
    fn take(&self, link: u64) -> Option<Waiting> {
        let mut waiting = self.waiting();
        (waiting.link == link).then(|| mem::replace(&mut *waiting, Waiting { link, ..Waiting::default() }))
    }

    fn change(&self, change: impl FnOnce(&mut Waiting)) {
        let mut waiting = self.waiting();
        if waiting.is_full() {
            // Evictions are repeated by their callers.
            *waiting = Waiting::behind(waiting.link);
        }
        change(&mut waiting);
        drop(waiting);
        self.filled.notify_one();
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use entourage_types::Owner;
    use entourage_types::Time;
    use futures::FutureExt;

    use super::*;

    fn sent(queue: &Queue, link: u64) -> Option<Vec<String>> {
        let messages = queue.next(link, Vec::new).now_or_never()?;
        Some(
            messages
                .iter()
                .map(|message| serde_json::to_value(message).unwrap()["type"].to_string())
                .collect(),
        )
    }

    #[test]
    fn a_link_begins_with_what_is_followed_and_that_news_were_lost() {
        let queue = Queue::default();
        let link = queue.begin();
        assert_eq!(sent(&queue, link), Some(vec![r#""follows""#.to_owned(), r#""behind""#.to_owned()]));
        assert_eq!(sent(&queue, link), None);
    }

    #[test]
    fn what_is_said_twice_is_sent_once() {
        let (queue, root) = (Queue::default(), AgentId::new());
        let link = queue.begin();
        sent(&queue, link);
        for second in [5, 3, 9] {
            queue.tree(root);
            queue.wakeup(Wakeup::new(root, Owner::local(), Time::from_micros(second)));
        }
        let messages = queue.next(link, Vec::new).now_or_never().unwrap();
        let [Message::Trees { roots }, Message::Woken { wakeups }] = &messages[..] else {
            panic!("{messages:?}")
        };
        assert_eq!(
            (roots.as_slice(), wakeups.len(), wakeups[0].due),
            ([root].as_slice(), 1, Time::from_micros(3))
        );
    }

    #[test]
    fn a_node_that_reads_too_slowly_is_told_to_look() {
        let queue = Queue::default();
        let link = queue.begin();
        sent(&queue, link);
        for _ in 0..=LENGTH {
            queue.tree(AgentId::new());
        }
        assert_eq!(sent(&queue, link), Some(vec![r#""follows""#.to_owned(), r#""behind""#.to_owned()]));
    }

    #[test]
    fn a_link_that_was_replaced_takes_nothing_of_the_next_one() {
        let queue = Queue::default();
        let (old, new) = (queue.begin(), queue.begin());
        assert_eq!(sent(&queue, old), None);
        assert!(sent(&queue, new).is_some());
    }
}
