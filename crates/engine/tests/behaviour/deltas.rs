//! Pieces of an answer: whatever breaks and whenever a subscriber joins, they add up to the
//! beginning of the text that is committed, or are known to be void.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use crate::kit::{first_tools, one_kind, within};
use async_trait::async_trait;
use entourage_engine::{AgentDelta, Client, Piece, Signal};
use entourage_llm::{Delta, Deltas, Error, Model, Reply, Request, Result};
use entourage_testkit::{Faults, World};
use entourage_types::{AgentId, EventBody, ItemBody, Usage};
use futures::FutureExt;
use tokio::sync::Notify;

/// Attempts at each answer that fail.
const BROKEN: u32 = 2;
/// The number of words of a successful attempt.
const WORDS: u32 = 40;

/// Streams its words one by one, with another text at each attempt; the first attempts fail.
#[derive(Clone, Default)]
struct FailingStream {
    attempts: Arc<AtomicU32>,
}

#[async_trait]
impl Model for FailingStream {
    async fn call(&self, _: Request, deltas: &mut dyn Deltas) -> Result<Reply> {
        let attempt = self.attempts.fetch_add(1, Ordering::SeqCst);
        let breaks = attempt % (BROKEN + 1) < BROKEN;
        let mut text = String::new();
        deltas.delta(Delta::Reasoning("Hm.".into()));
        for word in 0..if breaks { WORDS / (attempt % 3 + 2) } else { WORDS } {
            let word = format!("{attempt}–{word} größer, ");
            text.push_str(&word);
            deltas.delta(Delta::Text(word));
            tokio::task::yield_now().await;
        }
        if breaks {
            return Err(Error::BadAnswer { model: "stammering".into(), what: "cut off".into() });
        }
        let usage = Usage { input: 1, output: 1, ..Usage::default() };
        Ok(Reply { text, calls: Vec::new(), model: "stammering".into(), usage, cost: None })
    }

    fn describe(&self) -> String {
        "stammering".into()
    }
}

/// Streams the beginning of its answer, and the end once it may.
#[derive(Clone, Default)]
struct Pausing {
    began: Arc<Notify>,
    may_end: Arc<Notify>,
}

#[async_trait]
impl Model for Pausing {
    async fn call(&self, _: Request, deltas: &mut dyn Deltas) -> Result<Reply> {
        for word in ["The größte ", "beginning"] {
            deltas.delta(Delta::Text(word.into()));
        }
        self.began.notify_one();
        self.may_end.notified().await;
        deltas.delta(Delta::Text(" and the end".into()));
        let (text, model) = ("The größte beginning and the end".into(), "pausing".into());
        Ok(Reply { text, calls: Vec::new(), model, usage: Usage::default(), cost: None })
    }

    fn describe(&self) -> String {
        "pausing".into()
    }
}

/// The state of a client that follows the rules of [`AgentDelta`].
#[derive(Default)]
struct ReceivedText {
    attempt: u64,
    text: String,
    /// A piece was missed.
    broken: bool,
}

impl ReceivedText {
    fn take(&mut self, delta: &AgentDelta) {
        if delta.attempt > self.attempt {
            *self = Self { attempt: delta.attempt, ..Self::default() };
        }
        let Piece::Text(text) = &delta.piece else { return };
        if delta.attempt < self.attempt || self.broken {
            return;
        }
        if delta.offset == self.text.chars().count() as u64 {
            self.text.push_str(text);
        } else {
            self.broken = true;
        }
    }
}

/// Follows a tree through this many answers, and reconnects after every `every` signals. Returns
/// how many times it had received a part of an answer when the answer was committed, and how many
/// times all of it.
async fn listen(client: Client, root: AgentId, answers: u64, every: usize) -> (u64, u64) {
    let (mut last, mut told, mut part, mut whole) = (0, 0, 0, 0);
    while told < answers {
        let mut watch = client.watch(root, last).await.unwrap();
        let mut heard: BTreeMap<u64, ReceivedText> = BTreeMap::new();
        for _ in 0..every {
            match within("something is told", watch.next()).await.unwrap() {
                Signal::Delta(delta) => heard.entry(delta.item_seq).or_default().take(&delta),
                Signal::Inbox | Signal::CaughtUp(_) => {}
                Signal::Event(event) => {
                    last = event.seq;
                    let EventBody::Item { item: Some(item), item_seq } = &event.body else { continue };
                    let ItemBody::Turn(turn) = &item.body else { continue };
                    told += 1;
                    if let Some(heard) = heard.remove(item_seq).filter(|heard| !heard.text.is_empty()) {
                        assert!(
                            turn.text.starts_with(&heard.text),
                            "heard {:?}, committed {:?}",
                            heard.text,
                            turn.text
                        );
                        part += 1;
                        whole += u64::from(heard.text == turn.text);
                    }
                    if told == answers {
                        break;
                    }
                }
            }
        }
    }
    (part, whole)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streamed_pieces_form_a_prefix_of_the_committed_text() {
    const ANSWERS: u64 = 12;
    let world =
        World::builder(FailingStream::default()).tools(first_tools()).kinds(one_kind(|_| {})).start().await;
    let client = world.client();
    // Pieces reach subscribers in the engine that works.
    let follower = world.engine().client(entourage_types::Owner::local());
    let root = world.ask("Begin.").await.id;
    // Some stay for long, some for a moment, with lengths that meet every position of an answer.
    let listeners: Vec<_> = [10_000, 10_000, 97, 53, 31, 17, 11, 7]
        .map(|every| tokio::spawn(listen(follower.clone(), root, ANSWERS, every)))
        .into();
    for answer in 1..=ANSWERS {
        within("the answer comes", async {
            while client.items(root, 0, 1000).await.unwrap().len() as u64 != answer * 2 {
                world.clock().advance(Duration::from_secs(1));
                tokio::task::yield_now().await;
            }
        })
        .await;
        world.ended(root).await;
        if answer < ANSWERS {
            client.send(root, "Go on.", None).await.unwrap();
        }
    }
    let (mut part, mut whole) = (0, 0);
    for listener in listeners {
        let heard = within("all answers are heard", listener).await.unwrap();
        (part, whole) = (part + heard.0, whole + heard.1);
    }
    assert!(whole >= ANSWERS, "those who stay hear all of it: {whole} of {part}");
}

/// A subscriber that joins during an answer gets everything streamed so far, and then what follows.
#[tokio::test]
async fn a_late_subscriber_gets_the_streamed_text_from_its_beginning() {
    let model = Pausing::default();
    let world = World::builder(model.clone()).tools(first_tools()).kinds(one_kind(|_| {})).start().await;
    let root = world.ask("Begin.").await.id;
    model.began.notified().await;
    let follower = world.engine().client(entourage_types::Owner::local());
    let mut watch = follower.watch(root, 0).await.unwrap();
    let mut pieces = Vec::new();
    within("the answer ends", async {
        loop {
            match watch.next().await.unwrap() {
                Signal::Delta(delta) => {
                    pieces.push((delta.offset, delta.piece.clone()));
                    model.may_end.notify_one();
                }
                Signal::Event(event) if matches!(event.body, EventBody::Item { item_seq: 1, .. }) => break,
                Signal::Event(_) | Signal::Inbox | Signal::CaughtUp(_) => {}
            }
        }
    })
    .await;
    let text = |text: &str| Piece::Text(text.into());
    assert_eq!(pieces, [(0, text("The größte beginning")), (20, text(" and the end"))]);
    // A completed answer is not streamed again.
    let mut watch = follower.watch(root, 0).await.unwrap();
    let caught_up = async { while !matches!(watch.next().await.unwrap(), Signal::CaughtUp(_)) {} };
    within("it has caught up", caught_up).await;
    assert!(watch.next().now_or_never().is_none(), "nothing is under way");
}

/// What a dead process streamed of an answer is void: the next process streams it as a later
/// attempt.
#[tokio::test]
async fn the_next_process_streams_an_answer_anew_as_a_later_attempt() {
    let model = Pausing::default();
    let world = World::builder(model.clone()).tools(first_tools()).kinds(one_kind(|_| {})).start().await;
    let root = world.ask("Begin.").await.id;
    let (mut heard, mut attempts) = (ReceivedText::default(), Vec::new());
    attempts.push(beginning_of(&world, root, &mut heard).await);
    let world = world.restart(Faults::default()).await;
    attempts.push(beginning_of(&world, root, &mut heard).await);
    assert!(attempts[0] < attempts[1], "{attempts:?}");
    assert_eq!((heard.text.as_str(), heard.broken), ("The größte beginning", false));
}

/// The attempt whose beginning a client receives from the engine that works now.
async fn beginning_of(world: &World, root: AgentId, heard: &mut ReceivedText) -> u64 {
    let follower = world.engine().client(entourage_types::Owner::local());
    let mut watch = follower.watch(root, 0).await.unwrap();
    within("a piece comes", async {
        loop {
            if let Signal::Delta(delta) = watch.next().await.unwrap() {
                heard.take(&delta);
                if heard.text.ends_with("beginning") {
                    return delta.attempt;
                }
            }
        }
    })
    .await
}
