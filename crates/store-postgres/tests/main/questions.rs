//! How much a commit asks: everything in its first round trip.

use std::sync::{Arc, atomic::AtomicU64};

use entourage_store::{BudgetChange, Commit, Expect, InboxSize, Store, Write};
use entourage_store_postgres::Settings;
use entourage_types::{
    Allowance, Amount, Author, BudgetAction, BudgetId, Cost, EntityKind, Item, ItemBody, Message, Note,
    NoteId, RunId, Wakeup,
};
use metrics::{
    Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit, with_local_recorder,
};

use crate::server::{NOW, Scratch, post, root};

/// The counter of the facts that a commit had to read later than the others.
const LATE: &str = "entourage_store_postgres_facts_fetched_late";

/// Counts what was read late.
#[derive(Default)]
struct Late(Arc<AtomicU64>);

impl Recorder for Late {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        if key.name() == LATE { Counter::from_arc(Arc::clone(&self.0)) } else { Counter::noop() }
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

/// Commits of each sort, of activations and of outsiders, with every expectation, read all that they depend on at once.
#[test]
fn usual_commits_read_their_facts_in_one_round_trip() {
    let Some(scratch) = Scratch::new() else { return };
    let late = Late::default();
    // On this thread alone, where the recorder hears it.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let commits = with_local_recorder(&late, || runtime.block_on(commit_all(&scratch)));
    assert_eq!(commits, 11);
    assert_eq!(late.0.load(std::sync::atomic::Ordering::Relaxed), 0, "facts that were read late");
}

async fn commit_all(scratch: &Scratch) -> usize {
    let store = scratch.open(Settings::default()).await.unwrap();
    let (agent, amount) = (root(), Amount { cost: Cost::from_nanos(1), tokens: 1 });
    let mut made = 0;
    let mut commit = async |commit: Commit| {
        store.commit(commit).await.unwrap();
        made += 1;
    };
    let mut begins = Commit::new(NOW).write(Write::NewAgent(agent.clone()));
    begins.post(post(&agent), &agent.owner);
    commit(begins).await;
    let mut writer = store.claim(agent.id, 0).await.unwrap().unwrap().agent;
    let budget = BudgetId::Tree(agent.id);
    let day = BudgetId::Day(NOW.day(), agent.owner.clone());
    for id in [&budget, &day] {
        let reserve = BudgetChange::Reserve { budget: id.clone(), amount };
        let affords = Expect::Affords(id.clone(), Allowance::default(), amount);
        commit(Commit::fenced(&writer, NOW).expect(affords).write(Write::Budget(reserve))).await;
    }
    let child = writer.child("digger", "digs", None, NOW);
    let fenced = Commit::fenced(&writer, NOW);
    let body = ItemBody::Message(Message::new(Author::User, "hello", None));
    let item = Item { agent: writer.id, seq: 0, run: RunId::new(), session: 1, at: NOW, step: None, body };
    writer.items = 1;
    let mut delegates = fenced
        .expect(Expect::TreeBelow(agent.id, 9))
        .expect(Expect::ChildrenBelow(agent.id, 9))
        .expect(Expect::CreatedBelow(agent.id, 9, NOW))
        .expect(Expect::NotDeleted(agent.id))
        .write(Write::Item(item))
        .write(Write::NewAgent(child.clone()))
        .write(Write::Budget(BudgetChange::Settle { used: amount, is_all: true }))
        .write(Write::Agent(writer.clone()));
    delegates.post(post(&child), &child.owner);
    commit(delegates).await;
    let note = Note {
        id: NoteId::new(),
        owner: agent.owner.clone(),
        root: agent.id,
        agent: agent.id,
        title: "a note".to_owned(),
        content: "of two words".to_owned(),
        created: NOW,
    };
    commit(
        Commit::fenced(&writer, NOW)
            .expect(Expect::absent::<Note>(&note.id))
            .write(Write::record(&note).unwrap()),
    )
    .await;
    let most = InboxSize { posts: 9, bytes: 9_999 };
    let mut asks = Commit::new(NOW)
        .expect(Expect::Agent(agent.id))
        .expect(Expect::Living(child.id))
        .expect(Expect::InboxBelow(child.id, most))
        .expect(Expect::LastCreated { root: agent.id, last: child.id })
        .expect(Expect::version::<Note>(&note.id, 1));
    asks.post(post(&child), &child.owner);
    commit(asks).await;
    let (owner, by) = (agent.owner.clone(), agent.owner.clone());
    let grant = BudgetChange::Granted { tree: agent.id, owner, by, action: BudgetAction::Grant, amount };
    commit(Commit::new(NOW).write(Write::Budget(grant))).await;
    commit(Commit::new(NOW).expect(Expect::ChildrenDeleted(child.id)).write(Write::PruneEvents(agent.id, 1)))
        .await;
    commit(Commit::new(NOW).write(Write::PruneEntity(EntityKind::NOTE, note.id.to_string()))).await;
    let orphan = Wakeup::new(root().id, agent.owner.clone(), NOW);
    commit(Commit::new(NOW).write(Write::DropOrphanWakeup(orphan))).await;
    commit(Commit::new(NOW).write(Write::PruneAgent(child.id)).write(Write::PruneAgent(agent.id))).await;
    made
}
