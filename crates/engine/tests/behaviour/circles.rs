//! Messages that close a circle at the same instant: each is sent before any other is committed,
//! and no agent waits for ever.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use crate::kit::{bare, first_tools};
use async_trait::async_trait;
use entourage_engine::Kinds;
use entourage_llm::{Message, Request, Script};
use entourage_store::{Commit, Committed, Result, Store, StoreLayer, Write};
use entourage_testkit::{Fault, Story, StoryOutcome, World, crash_stride};
use entourage_types::{AgentId, Kind, Task};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::crash::answers;

/// The message that closes a circle.
const CLOSE: &str = "close";

/// Holds back every message that closes a circle until all of them are about to be committed: each
/// sender has verified its own by then.
struct CommitBarrier {
    all: usize,
    there: Mutex<BTreeSet<AgentId>>,
    open: Semaphore,
}

impl CommitBarrier {
    fn new(all: usize) -> Self {
        Self { all, there: Mutex::default(), open: Semaphore::new(0) }
    }
}

#[async_trait]
impl StoreLayer for CommitBarrier {
    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> Result<Committed> {
        let closer = commit.writes.iter().filter_map(Write::as_record::<Task>).find_map(|task| {
            (task.instruction == CLOSE && task.created == task.updated).then_some(task.from)
        });
        if let Some(closer) = closer {
            let are_all_there = {
                let mut there = self.there.lock().unwrap();
                there.insert(closer);
                there.len() == self.all
            };
            if are_all_there {
                self.open.add_permits(1);
            }
            // Once open it stays open, also for the next process.
            drop(self.open.acquire().await);
        }
        store.commit(commit).await
    }
}

fn write(to: &str, message: &str) -> Script {
    Script::call("send_message", json!({"recipient": to, "message": message}))
}

/// An assistant writes to all of a ring, and each of them to the next; that one waits a minute, so
/// that all exist, and then writes to its own next, which is the agent that the ring met before.
fn ring(size: usize) -> Story {
    let names = &["b", "c", "d"][..size];
    let next = move |name: &str| names[(names.iter().position(|other| *other == name).unwrap() + 1) % size];
    let says = move |request: &Request| {
        let name = names.iter().find(|name| request.system.starts_with(&format!("You are {name}.")));
        let last = match request.messages.last() {
            Some(Message::User(text) | Message::Output { text, .. }) => text.as_str(),
            _ => "",
        };
        match (name, last) {
            (None, "Go.") => {
                let calls = |turn: Script, to: &&str| {
                    turn.and_call("send_message", json!({"recipient": to, "message": "begin"}))
                };
                names[1..].iter().fold(write(names[0], "begin"), calls)
            }
            (Some(name), "begin") => write(next(name), "wait"),
            (Some(_), "wait") => Script::call("wait", json!({"seconds": 60})),
            (Some(name), "The time has passed.") => write(next(name), CLOSE),
            (Some(_), CLOSE) => Script::text("an answer"),
            (_, text) => Script::text(format!("<{text}>")),
        }
    };
    let kind = |name: &str, peers: Vec<&str>| Kind {
        instructions: format!("You are {name}."),
        peers: peers.into_iter().map(str::to_owned).collect(),
        ..bare(name)
    };
    let kinds = Kinds::none().with(kind("assistant", names.to_vec()));
    let kinds = names.iter().fold(kinds, |kinds, name| kinds.with(kind(name, vec![next(name)])));
    Story::new(["Go."], move |_| {
        let builder = World::builder(answers(says)).tools(first_tools()).kinds(kinds.clone());
        builder.between(CommitBarrier::new(size))
    })
}

/// How many times a message was refused, answered and read.
fn counts(outcome: &StoryOutcome) -> [usize; 3] {
    let lines = || outcome.transcripts.iter().flatten();
    let count = |fits: &dyn Fn(&str) -> bool| lines().filter(|line| fits(line)).count();
    [
        count(&|line| line.starts_with("output!: `") && line.contains("waits for an answer from this")),
        count(&|line| line == "output: an answer"),
        count(&|line| line == "message: close"),
    ]
}

async fn assert_a_ring_does_not_deadlock(size: usize) {
    let story = ring(size);
    // With a second engine, that one may take an agent before it has written, and the agent
    // verifies again.
    let outcome = story.run(1, &[]).await;
    assert_eq!(outcome.violations, [], "{outcome:#?}");
    assert_eq!(outcome.transcripts.len(), 1 + 2 * size, "{outcome:#?}");
    let [refused, answered, read] = counts(&outcome);
    assert!(refused > 0, "{outcome:#?}");
    assert_eq!((refused + answered, read), (size, size), "all were sent, none is lost: {outcome:#?}");

    let mut tried = 0;
    for (first, fault) in [Fault::DieBefore, Fault::DieAfter, Fault::LoseEpoch].into_iter().enumerate() {
        for at in (1 + first as u64..).step_by(crash_stride(7)) {
            let outcome = story.run(1, &[(at, fault)]).await;
            assert_eq!(outcome.violations, [], "{fault:?} at {at}: {:#?}", outcome.transcripts);
            // An agent that resumes later may find that the others have closed the circle, and then
            // sends nothing.
            let [refused, answered, read] = counts(&outcome);
            assert!(refused > 0 && read >= answered, "{fault:?} at {at}: {:#?}", outcome.transcripts);
            assert_eq!(refused + answered, size, "{fault:?} at {at}: {:#?}", outcome.transcripts);
            tried += 1;
            if outcome.commits[0] < at {
                break;
            }
        }
    }
    println!("{tried} crash points");
}

/// Shows: S2-R089.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_agents_that_message_each_other_at_once_do_not_deadlock() {
    assert_a_ring_does_not_deadlock(2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_agents_that_message_in_a_circle_at_once_do_not_deadlock() {
    assert_a_ring_does_not_deadlock(3).await;
}
