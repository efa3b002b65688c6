//! Two nodes with store handles of their own: what one of them is told takes effect at the other.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::kit::{first_tools, one_kind};
use async_trait::async_trait;
use entourage_engine::{Clock, Engine, Error, NewAgent, NodeSignal, Piece, Signal, Signals};
use entourage_llm::{Delta, Deltas, Model, Reply, Request, Result, Script, ScriptedModel};
use entourage_store::{MemoryStore, Store};
use entourage_testkit::{FakeClock, HeldModel, within};
use entourage_tools::{Caller, Context, Effect, Outcome, Tool, Toolbox};
use entourage_types::{Action, Agent, AgentId, EventBody, Owner, Status, ToolSpec, Usage};
use serde_json::{Value, json};
use tokio::{sync::Barrier, task::JoinHandle};

/// The connection of a node to one other node. It loses no news, except of trees: those it never sends.
#[derive(Default)]
struct Link {
    other: OnceLock<Engine>,
    is_without_lease: AtomicBool,
    /// Where the first cuts of both nodes wait for each other.
    meeting: OnceLock<Arc<Barrier>>,
    has_met: AtomicBool,
}

impl Link {
    fn other(&self) -> &Engine {
        self.other.get().expect("both nodes exist")
    }
}

#[async_trait]
impl Signals for Link {
    fn tell(&self, news: NodeSignal) {
        self.other().hear(news);
    }

    fn is_followed(&self, _: AgentId) -> bool {
        true
    }

    fn follow(&self, _: AgentId) {}

    fn unfollow(&self, _: AgentId) {}

    async fn cut(&self, agent: AgentId) {
        if let Some(meeting) = self.meeting.get().filter(|_| !self.has_met.swap(true, Ordering::SeqCst)) {
            meeting.wait().await;
        }
        self.other().leave(agent).await;
    }

    fn holds(&self) -> bool {
        !self.is_without_lease.load(Ordering::SeqCst)
    }

    fn poll_interval(&self) -> Option<Duration> {
        Some(Duration::from_secs(1))
    }
}

/// Two nodes: agents work at `here`, people talk to `there`.
struct Nodes {
    here: Engine,
    there: Engine,
    link: Arc<Link>,
    far_link: Arc<Link>,
    clock: FakeClock,
}

impl Nodes {
    fn new(model: impl Model, tools: Toolbox) -> Self {
        Self::apart(model, tools, 0)
    }

    /// The clock of `there` is this many seconds ahead of that of `here`.
    fn apart(model: impl Model, tools: Toolbox, seconds: i64) -> Self {
        let (rows, clock, model) = (MemoryStore::default(), FakeClock::default(), Arc::new(model));
        let node = |link: &Arc<Link>, ahead| {
            let store: Arc<dyn Store> = Arc::new(rows.handle());
            let builder = Engine::builder(store, Arc::clone(&model) as Arc<dyn Model>);
            let builder =
                builder.kinds(one_kind(|_| {})).tools(tools.clone()).clock(Arc::new(clock.ahead(ahead)));
            builder.signals(Arc::clone(link) as Arc<dyn Signals>).build()
        };
        let links = [Arc::new(Link::default()), Arc::new(Link::default())];
        let (here, there) = (node(&links[0], 0), node(&links[1], seconds));
        links[0].other.set(there.clone()).ok().unwrap();
        links[1].other.set(here.clone()).ok().unwrap();
        let [link, far_link] = links;
        Self { here, there, link, far_link, clock }
    }

    /// Creates an agent with a message at one node, and has the other one work on it.
    async fn begin(&self, text: &str) -> (Agent, JoinHandle<entourage_engine::Result<()>>) {
        let new = NewAgent { message: Some(text.into()), ..NewAgent::default() };
        let agent = self.there.client(Owner::local()).create(new, None).await.unwrap();
        let (here, id) = (self.here.clone(), agent.id);
        (agent, tokio::spawn(async move { here.advance(id).await }))
    }
}

/// Shows: INV-05.
#[tokio::test]
async fn deleting_an_agent_at_another_node_ends_its_model_call() {
    let model = HeldModel::new(ScriptedModel::new([Script::text("Too late.")]));
    let nodes = Nodes::new(model.clone(), Toolbox::new());
    let (agent, working) = nodes.begin("Go.").await;
    model.begun().await;
    let there = nodes.there.client(Owner::local());
    within("it is deleted", there.intervene(agent.id, Action::Delete, None)).await.unwrap();
    assert_eq!(model.cut_off(), 1, "nothing of it goes on once that has returned");
    within("it is over", working).await.unwrap().unwrap();
    assert_eq!(there.agent(agent.id).await.unwrap().status, Status::Cancelled);
}

/// Both nodes wait for each other to leave the agent that they delete.
#[tokio::test]
async fn two_nodes_that_delete_the_same_agent_at_once_both_return() {
    let model = HeldModel::new(ScriptedModel::new([Script::text("Too late.")]));
    let nodes = Nodes::new(model.clone(), Toolbox::new());
    let meeting = Arc::new(Barrier::new(2));
    for link in [&nodes.link, &nodes.far_link] {
        link.meeting.set(Arc::clone(&meeting)).unwrap();
    }
    let (agent, working) = nodes.begin("Go.").await;
    model.begun().await;
    let delete = |engine: &Engine| {
        let client = engine.client(Owner::local());
        async move { client.intervene(agent.id, Action::Delete, None).await }
    };
    let both = async { tokio::join!(delete(&nodes.here), delete(&nodes.there)) };
    let (one, other) = within("both return", both).await;
    assert!(one.is_ok() || other.is_ok());
    within("it is over", working).await.unwrap().unwrap();
    let agent = nodes.here.client(Owner::local()).agent(agent.id).await.unwrap();
    assert_eq!(agent.status, Status::Cancelled);
}

#[tokio::test]
async fn a_new_instruction_at_another_node_replaces_the_step_in_progress() {
    let model = HeldModel::new(ScriptedModel::new([Script::text("For the second.")]));
    let nodes = Nodes::new(model.clone(), Toolbox::new());
    let (agent, working) = nodes.begin("First.").await;
    model.begun().await;
    let there = nodes.there.client(Owner::local());
    there.intervene(agent.id, Action::Modify, Some("Second.")).await.unwrap();
    model.begun().await;
    assert_eq!(model.cut_off(), 1);
    model.let_go(1);
    within("it answers", working).await.unwrap().unwrap();
    assert_eq!(there.agent(agent.id).await.unwrap().status, Status::Succeeded);
}

/// The node whose clock is ahead consumes the wake-up of the wait, which is over by its clock alone.
#[tokio::test]
async fn a_wait_goes_on_after_a_pause_at_a_node_whose_clock_is_ahead() {
    let script = [Script::call("wait", json!({"seconds": 60})), Script::text("Rested.")];
    let nodes = Nodes::apart(ScriptedModel::new(script), first_tools(), 3600);
    let (agent, working) = nodes.begin("Wait.").await;
    within("it waits", working).await.unwrap().unwrap();
    let there = nodes.there.client(Owner::local());
    there.intervene(agent.id, Action::Pause, None).await.unwrap();
    nodes.there.advance(agent.id).await.unwrap();
    let here = nodes.here.client(Owner::local());
    here.intervene(agent.id, Action::Resume, None).await.unwrap();
    nodes.here.advance(agent.id).await.unwrap();
    assert_eq!(here.agent(agent.id).await.unwrap().status, Status::Waiting, "a minute is not over");

    nodes.clock.advance(Duration::from_secs(60));
    let due = nodes.here.store().due(nodes.clock.now(), None, 10).await.unwrap();
    assert_eq!(due.iter().map(|wakeup| wakeup.agent).collect::<Vec<_>>(), [agent.id]);
    nodes.here.advance(agent.id).await.unwrap();
    assert_eq!(here.agent(agent.id).await.unwrap().status, Status::Succeeded);
}

/// Streams two words.
struct TwoWords;

#[async_trait]
impl Model for TwoWords {
    async fn call(&self, _: Request, deltas: &mut dyn Deltas) -> Result<Reply> {
        for word in ["Good ", "day."] {
            deltas.delta(Delta::Text(word.into()));
            tokio::task::yield_now().await;
        }
        let (text, model, usage) = ("Good day.".into(), "two words".into(), Usage::default());
        Ok(Reply { text, calls: Vec::new(), model, usage, cost: None })
    }

    fn describe(&self) -> String {
        "two words".into()
    }
}

#[tokio::test]
async fn a_subscriber_at_another_node_sees_the_pieces_and_every_event() {
    let nodes = Nodes::new(TwoWords, Toolbox::new());
    let there = nodes.there.client(Owner::local());
    let agent = there.create(NewAgent::default(), None).await.unwrap();
    let mut watch = there.watch(agent.id, 0).await.unwrap();
    there.send(agent.id, "Hello.", None).await.unwrap();
    nodes.here.advance(agent.id).await.unwrap();
    let (mut text, mut numbers) = (String::new(), Vec::new());
    let seen = async {
        loop {
            let next = tokio::select! {
                signal = watch.next() => signal.unwrap(),
                // The news of the events are lost.
                () = tokio::task::yield_now() => {
                    nodes.clock.advance(Duration::from_millis(100));
                    continue;
                }
            };
            match next {
                Signal::Delta(delta) => {
                    if let Piece::Text(piece) = &delta.piece {
                        text.push_str(piece);
                    }
                }
                Signal::Event(event) => {
                    numbers.push(event.seq);
                    let succeeded =
                        matches!(event.body, EventBody::AgentStatus { status: Status::Succeeded, .. });
                    if succeeded {
                        break;
                    }
                }
                Signal::CaughtUp(_) => {}
            }
        }
    };
    within("all is seen", seen).await;
    let last = there.events(agent.id, 0, 100).await.unwrap().len() as u64;
    assert_eq!((text.as_str(), numbers), ("Good day.", (1..=last).collect()));
}

#[tokio::test]
async fn a_node_without_its_lease_begins_nothing() {
    let model = HeldModel::new(ScriptedModel::new([Script::text("Done.")]));
    let nodes = Nodes::new(model.clone(), Toolbox::new());
    nodes.link.is_without_lease.store(true, Ordering::SeqCst);
    let (agent, working) = nodes.begin("Go.").await;
    let refused = within("it returns", working).await.unwrap();
    assert!(matches!(refused, Err(Error::NotYet { .. })), "{refused:?}");
    let there = nodes.there.client(Owner::local());
    assert_eq!(there.items(agent.id, 0, 10).await.unwrap(), []);

    nodes.link.is_without_lease.store(false, Ordering::SeqCst);
    model.let_go(1);
    nodes.here.advance(agent.id).await.unwrap();
    assert_eq!(there.agent(agent.id).await.unwrap().status, Status::Succeeded);
}

/// Counts its calls.
#[derive(Clone, Default)]
struct Counted(Arc<AtomicUsize>);

#[async_trait]
impl Tool for Counted {
    fn name(&self) -> &str {
        "count"
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        let parameters = json!({"type": "object"});
        Some(ToolSpec { name: "count".into(), description: "Counts.".into(), parameters })
    }

    fn effect(&self) -> Effect {
        Effect::Idempotent
    }

    async fn call(&self, _: &Context, _: Value) -> std::result::Result<Outcome, entourage_tools::Error> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(Outcome::text("counted"))
    }
}

#[tokio::test]
async fn a_node_that_loses_its_lease_during_a_model_call_begins_no_effect() {
    let model = HeldModel::new(ScriptedModel::new([Script::call("count", json!({})), Script::text("Done.")]));
    let tool = Counted::default();
    let nodes = Nodes::new(model.clone(), first_tools().with(tool.clone()));
    let (agent, working) = nodes.begin("Go.").await;
    model.begun().await;
    nodes.link.is_without_lease.store(true, Ordering::SeqCst);
    model.let_go(1);
    within("it stops", working).await.unwrap().unwrap();
    assert_eq!(tool.0.load(Ordering::SeqCst), 0);

    // Another node goes on.
    model.let_go(1);
    nodes.there.advance(agent.id).await.unwrap();
    assert_eq!(tool.0.load(Ordering::SeqCst), 1);
    let there = nodes.there.client(Owner::local());
    assert_eq!(there.agent(agent.id).await.unwrap().status, Status::Succeeded);
}
