//! Two nodes with store handles of their own: what one of them is told takes effect at the other.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::kit::{Effects, FakeClockExt, ShiftedClock, TestTool, first_tools, one_kind, within};
use async_trait::async_trait;
use entourage_engine::{
    Cause, Clock, Engine, Error, NewAgent, NodeSignal, Piece, Signal, Signals,
    dispatch::{self, Dispatcher as _, Embedded},
};
use entourage_llm::{Delta, Deltas, Model, Reply, Request, Result, Script, ScriptedModel};
use entourage_store::{
    Claim, Commit, Committed, Layered, MemoryNodes, MemoryStore, Store, StoreLayer, Write,
};
use entourage_testkit::{FakeClock, HeldModel};
use entourage_tools::{Effect, Outcome, Toolbox};
use entourage_types::{Action, Agent, AgentId, EventBody, NodeId, Owner, Scope, Status, StepKey, Usage};
use futures::FutureExt as _;
use serde_json::json;
use tokio::{
    sync::{Barrier, Notify},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

const MINUTE: Duration = Duration::from_secs(60);

/// The connection of a node to one other node. It loses no news, except of trees: those it never sends.
#[derive(Default)]
struct Link {
    other: OnceLock<Engine>,
    other_link: OnceLock<Arc<Link>>,
    followed: Mutex<HashSet<AgentId>>,
    pieces_sent: AtomicUsize,
    is_without_lease: AtomicBool,
    hears_other: AtomicBool,
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
    fn broadcast(&self, news: NodeSignal) {
        if matches!(news, NodeSignal::Piece(..)) {
            self.pieces_sent.fetch_add(1, Ordering::SeqCst);
        }
        self.other().on_signal(news);
    }

    fn is_followed(&self, root: AgentId) -> bool {
        let other = self.other_link.get().expect("both nodes exist");
        other.followed.lock().unwrap().contains(&root)
    }

    fn follow(&self, root: AgentId) {
        self.followed.lock().unwrap().insert(root);
    }

    fn unfollow(&self, root: AgentId) {
        self.followed.lock().unwrap().remove(&root);
    }

    async fn evict(&self, agent: AgentId) {
        if let Some(meeting) = self.meeting.get().filter(|_| !self.has_met.swap(true, Ordering::SeqCst)) {
            meeting.wait().await;
        }
        self.other().evict_local(agent).await;
    }

    fn hears(&self, _: NodeId) -> bool {
        self.hears_other.load(Ordering::SeqCst)
    }

    fn holds_lease(&self) -> bool {
        !self.is_without_lease.load(Ordering::SeqCst)
    }

    fn poll_interval(&self) -> Option<Duration> {
        Some(Duration::from_secs(1))
    }
}

/// Where commits that end a run are held, for ever, while it is closed.
#[derive(Default)]
struct Gate {
    is_closed: AtomicBool,
    reached: Notify,
}

/// Has a store know its nodes, and notes from where on its claims read.
struct Shared {
    nodes: MemoryNodes,
    claims: Arc<Mutex<Vec<u64>>>,
    ends: Arc<Gate>,
}

#[async_trait]
impl StoreLayer for Shared {
    fn nodes(&self, _: &dyn Store) -> Option<Arc<dyn entourage_store::Nodes>> {
        Some(Arc::new(self.nodes.clone()))
    }

    async fn claim(
        &self,
        store: &Arc<dyn Store>,
        agent: AgentId,
        from: u64,
    ) -> entourage_store::Result<Option<Claim>> {
        self.claims.lock().unwrap().push(from);
        store.claim(agent, from).await
    }

    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> entourage_store::Result<Committed> {
        let ends = |write: &Write| matches!(write, Write::Run(run) if run.status == Status::Failed);
        if self.ends.is_closed.load(Ordering::SeqCst) && commit.writes.iter().any(ends) {
            self.ends.reached.notify_one();
            std::future::pending::<()>().await;
        }
        store.commit(commit).await
    }
}

/// Two nodes: agents work at `here`, people talk to `there`.
struct Nodes {
    here: Engine,
    there: Engine,
    link: Arc<Link>,
    far_link: Arc<Link>,
    clock: FakeClock,
    ends: Arc<Gate>,
}

impl Nodes {
    fn new(model: impl Model, tools: Toolbox) -> Self {
        Self::apart(model, tools, 0)
    }

    /// The clock of `there` is this many seconds ahead of that of `here`.
    fn apart(model: impl Model, tools: Toolbox, seconds: i64) -> Self {
        let (rows, clock, model) = (MemoryStore::default(), FakeClock::default(), Arc::new(model));
        let its_clock = clock.clone();
        let nodes = MemoryNodes::new(rows.clone(), move || its_clock.now());
        let ends = Arc::new(Gate::default());
        let node = |link: &Arc<Link>, ahead| {
            let own = Arc::new(rows.handle());
            let layer = Shared { nodes: nodes.another(), claims: Arc::default(), ends: Arc::clone(&ends) };
            let store: Arc<dyn Store> = Arc::new(Layered::new(own, layer));
            let builder = Engine::builder(store, Arc::clone(&model) as Arc<dyn Model>);
            let builder = builder
                .kinds(one_kind(|_| {}))
                .tools(tools.clone())
                .clock(Arc::new(ShiftedClock { clock: clock.clone(), ahead }));
            builder.signals(Arc::clone(link) as Arc<dyn Signals>).build()
        };
        let links = [Arc::new(Link::default()), Arc::new(Link::default())];
        let (here, there) = (node(&links[0], 0), node(&links[1], seconds));
        links[0].other.set(there.clone()).ok().unwrap();
        links[1].other.set(here.clone()).ok().unwrap();
        let [link, far_link] = links;
        link.other_link.set(Arc::clone(&far_link)).ok().unwrap();
        far_link.other_link.set(Arc::clone(&link)).ok().unwrap();
        Self { here, there, link, far_link, clock, ends }
    }

    /// Whether the two hear each other; they do not at first.
    fn hear(&self, each_other: bool) {
        for link in [&self.link, &self.far_link] {
            link.hears_other.store(each_other, Ordering::SeqCst);
        }
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
    // One of them deletes it; the other one finds it deleted, or has done its part.
    assert!(one.is_ok() || other.is_ok(), "{one:?} {other:?}");
    for refused in [one, other].into_iter().filter_map(|done| done.err()) {
        assert!(matches!(refused, Error::Gone(gone) if gone == agent.id), "{refused:?}");
    }
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
                Signal::Inbox | Signal::CaughtUp(_) => {}
            }
        }
    };
    within("all is seen", seen).await;
    let last = there.events(agent.id, 0, 100).await.unwrap().len() as u64;
    assert_eq!((text.as_str(), numbers), ("Good day.", (1..=last).collect()));
}

/// Has a node advance the agent until it asks the model, and ends the node there.
async fn ends_at_work(node: &Engine, agent: AgentId, model: &HeldModel) {
    let node = node.clone();
    let working = tokio::spawn(async move { node.advance(agent).await });
    model.begun().await;
    working.abort();
    assert!(working.await.unwrap_err().is_cancelled());
}

#[tokio::test]
async fn a_run_that_ends_each_node_at_which_it_works_is_ended() {
    let model = HeldModel::new(ScriptedModel::new([Script::text("Never said.")]));
    let nodes = Nodes::new(model.clone(), Toolbox::new());
    let new = NewAgent { message: Some("Take all memory.".into()), ..NewAgent::default() };
    let client = nodes.there.client(Owner::local());
    let agent = client.create(new, None).await.unwrap().id;
    for node in [&nodes.here, &nodes.there, &nodes.here, &nodes.there, &nodes.here] {
        ends_at_work(node, agent, &model).await;
    }
    within("it is ended", nodes.there.advance(agent)).await.unwrap();
    assert_eq!(client.agent(agent).await.unwrap().status, Status::Failed);
    let run = client.runs(agent, Default::default()).await.unwrap().remove(0);
    let cause = "the process ended during this work, 5 times in a row, without progress in between";
    assert_eq!(run.error.as_deref(), Some(cause));
}

/// An agent whose run has ended the nodes at which it worked five times, and a node that is about to end the run.
async fn about_to_be_ended() -> (Nodes, HeldModel, AgentId, JoinHandle<()>) {
    let model = HeldModel::new(ScriptedModel::new([Script::text("Never said.")]));
    let nodes = Nodes::new(model.clone(), Toolbox::new());
    let new = NewAgent { message: Some("Take all memory.".into()), ..NewAgent::default() };
    let agent = nodes.there.client(Owner::local()).create(new, None).await.unwrap().id;
    for node in [&nodes.here, &nodes.there, &nodes.here, &nodes.there, &nodes.here] {
        ends_at_work(node, agent, &model).await;
    }
    nodes.ends.is_closed.store(true, Ordering::SeqCst);
    let there = nodes.there.clone();
    let ending = tokio::spawn(async move { drop(there.advance(agent).await) });
    within("it is about to be ended", nodes.ends.reached.notified()).await;
    nodes.ends.is_closed.store(false, Ordering::SeqCst);
    (nodes, model, agent, ending)
}

#[tokio::test]
async fn a_run_whose_ending_ended_a_node_is_left_open_by_every_other_one() {
    let (nodes, model, agent, ending) = about_to_be_ended().await;
    ending.abort();
    assert!(ending.await.unwrap_err().is_cancelled());
    for node in [&nodes.here, &nodes.there, &nodes.here] {
        let left = within("it is left", node.advance(agent)).await;
        assert!(matches!(left, Err(Error::LeftOpen { .. })), "{left:?}");
        // The first one is gone, and those that look afterwards are there.
        nodes.hear(true);
    }
    let asked = model.begun().now_or_never();
    assert!(asked.is_none(), "a run that was left has gone on");
    for node in [&nodes.here, &nodes.there] {
        let client = node.client(Owner::local());
        assert_eq!(*client.why(agent).await.unwrap().cause(), Cause::Crash { ends: 6 });
    }
    nodes.there.client(Owner::local()).intervene(agent, Action::Stop, None).await.unwrap();
    within("it is ended", nodes.there.advance(agent)).await.unwrap();
    assert_eq!(nodes.there.client(Owner::local()).agent(agent).await.unwrap().status, Status::Failed);
}

/// As where the store is away for a moment, and what delivers calls another node.
#[tokio::test]
async fn a_run_that_one_node_was_to_end_is_ended_by_the_next() {
    let (nodes, model, agent, ending) = about_to_be_ended().await;
    nodes.hear(true);
    ending.abort();
    assert!(ending.await.unwrap_err().is_cancelled());
    within("it is ended", nodes.here.advance(agent)).await.unwrap();
    assert_eq!(nodes.here.client(Owner::local()).agent(agent).await.unwrap().status, Status::Failed);
    assert!(model.begun().now_or_never().is_none(), "it has gone on");
}

/// Nor is a node's end counted against a run that only waited there.
#[tokio::test]
async fn a_run_that_waits_for_its_turn_at_a_node_is_counted_once_wherever_it_goes_on() {
    let model = HeldModel::new(ScriptedModel::new([Script::text("Said at last.")]));
    let nodes = Nodes::new(model.clone(), Toolbox::new());
    let client = nodes.there.client(Owner::local());
    let new = || NewAgent { message: Some("Take all memory.".into()), ..NewAgent::default() };
    let agents = [client.create(new(), None).await.unwrap().id, client.create(new(), None).await.unwrap().id];
    for node in [&nodes.here, &nodes.there, &nodes.here] {
        for agent in agents {
            ends_at_work(node, agent, &model).await;
        }
    }
    let [first, second] = agents;
    let ends = async |agent| {
        let run = client.runs(agent, Default::default()).await.unwrap().remove(0).id;
        let steps = nodes.here.store().steps(&Scope::All, run).await.unwrap();
        steps.iter().find(|step| step.key == StepKey::Restart).unwrap().attempt
    };
    for (node, is_there, counted) in
        [(&nodes.there, false, 3), (&nodes.here, true, 3), (&nodes.there, false, 3)]
    {
        nodes.hear(is_there);
        let turn = tokio::spawn({
            let node = node.clone();
            async move { drop(node.advance(first).await) }
        });
        model.begun().await;
        let mut waits = Box::pin(node.advance(second));
        for _ in 0..100 {
            assert!(futures::poll!(&mut waits).is_pending());
            tokio::task::yield_now().await;
        }
        assert!(model.begun().now_or_never().is_none(), "both are at work at once");
        assert_eq!(ends(second).await, counted);
        drop(waits);
        turn.abort();
        assert!(turn.await.unwrap_err().is_cancelled());
    }
    assert!(ends(first).await > 3, "it was at work where processes ended");
}

/// It was at rest where a process has ended in order, and is not where another one has taken it.
#[tokio::test]
async fn a_run_that_was_handed_over_in_order_is_counted_where_it_goes_on() {
    let model = HeldModel::new(ScriptedModel::new([Script::text("Never said.")]));
    let nodes = Nodes::new(model.clone(), Toolbox::new());
    nodes.hear(true);
    // It knows from its start what was at work then.
    nodes.there.advance(AgentId::new()).await.unwrap();
    let (agent, working) = nodes.begin("Take all memory.").await;
    model.begun().await;
    nodes.here.stopping().cancel();
    within("it leaves", working).await.unwrap().unwrap();
    let client = nodes.there.client(Owner::local());
    let run = client.runs(agent.id, Default::default()).await.unwrap().remove(0).id;
    let is_at_rest = async || {
        let steps = nodes.there.store().steps(&Scope::All, run).await.unwrap();
        steps.iter().find(|step| step.key == StepKey::ProcessEnded).unwrap().attempt == 1
    };
    assert!(is_at_rest().await);
    ends_at_work(&nodes.there, agent.id, &model).await;
    assert!(!is_at_rest().await);
}

/// What ends the processes may be what is read.
#[tokio::test]
async fn a_process_that_starts_beside_others_counts_a_run_before_it_reads_it() {
    let model = HeldModel::new(ScriptedModel::new([Script::text("Never said.")]));
    let (rows, clock) = (MemoryStore::default(), FakeClock::default());
    let nodes = MemoryNodes::new(rows.clone(), move || clock.now());
    let start = || {
        let claims = Arc::default();
        let layer = Shared { nodes: nodes.another(), claims: Arc::clone(&claims), ends: Arc::default() };
        let store = Arc::new(Layered::new(Arc::new(rows.handle()), layer));
        let engine = Engine::builder(store, Arc::new(model.clone())).kinds(one_kind(|_| {})).build();
        (engine, claims)
    };
    let (first, _) = start();
    let new = NewAgent { message: Some("Take all memory.".into()), ..NewAgent::default() };
    let agent = first.client(Owner::local()).create(new, None).await.unwrap().id;
    ends_at_work(&first, agent, &model).await;
    for _ in 0..4 {
        let (node, claims) = start();
        ends_at_work(&node, agent, &model).await;
        assert_eq!(*claims.lock().unwrap(), [u64::MAX, 0], "it is counted, and then read");
    }
    let (last, _) = start();
    within("it is ended", last.advance(agent)).await.unwrap();
    assert_eq!(last.client(Owner::local()).agent(agent).await.unwrap().status, Status::Failed);
}

/// As where what delivers has lost its connection to one of them, or one lost its lease for a moment.
#[tokio::test]
async fn a_run_that_moves_between_nodes_that_are_there_is_not_counted() {
    let model = HeldModel::new(ScriptedModel::new([Script::text("Said at last.")]));
    let nodes = Nodes::new(model.clone(), Toolbox::new());
    nodes.hear(true);
    let new = NewAgent { message: Some("Take your time.".into()), ..NewAgent::default() };
    let client = nodes.there.client(Owner::local());
    let agent = client.create(new, None).await.unwrap().id;
    for node in [&nodes.here, &nodes.there].into_iter().cycle().take(9) {
        ends_at_work(node, agent, &model).await;
    }
    model.let_go(1);
    within("it goes on", nodes.there.advance(agent)).await.unwrap();
    assert_eq!(client.agent(agent).await.unwrap().status, Status::Succeeded);
}

#[tokio::test]
async fn a_run_that_does_something_at_each_node_goes_on_however_many_of_them_end() {
    let calls = (0..7).map(|n| Script::call("count", json!({"n": n})));
    let model = HeldModel::new(ScriptedModel::new(calls.chain([Script::text("Done.")])));
    let counted = Effects::default();
    let tool = TestTool::new("count", Effect::Idempotent, &counted);
    let nodes = Nodes::new(model.clone(), first_tools().with(tool));
    let (agent, working) = nodes.begin("Go.").await;
    model.begun().await;
    working.abort();
    for node in [&nodes.there, &nodes.here].into_iter().cycle().take(7) {
        let node = node.clone();
        let working = tokio::spawn(async move { node.advance(agent.id).await });
        model.begun().await;
        model.let_go(1);
        model.begun().await;
        working.abort();
        assert!(working.await.unwrap_err().is_cancelled());
    }
    model.let_go(1);
    within("it goes on", nodes.there.advance(agent.id)).await.unwrap();
    let agent = nodes.there.client(Owner::local()).agent(agent.id).await.unwrap();
    assert_eq!((agent.status, counted.per_call()), (Status::Succeeded, vec![1; 7]));
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

#[tokio::test]
async fn a_node_that_loses_its_lease_during_a_model_call_begins_no_effect() {
    let model = HeldModel::new(ScriptedModel::new([Script::call("count", json!({})), Script::text("Done.")]));
    let counted = Effects::default();
    let tool = TestTool::new("count", Effect::Idempotent, &counted);
    let nodes = Nodes::new(model.clone(), first_tools().with(tool));
    let (agent, working) = nodes.begin("Go.").await;
    model.begun().await;
    nodes.link.is_without_lease.store(true, Ordering::SeqCst);
    model.let_go(1);
    within("it stops", working).await.unwrap().unwrap();
    assert_eq!(counted.per_call(), [0; 0]);

    // Another node goes on.
    model.let_go(1);
    nodes.there.advance(agent.id).await.unwrap();
    assert_eq!(counted.per_call(), [1]);
    let there = nodes.there.client(Owner::local());
    assert_eq!(there.agent(agent.id).await.unwrap().status, Status::Succeeded);
}

#[tokio::test]
async fn a_node_that_loses_its_lease_during_a_tool_call_asks_no_model() {
    let link: Arc<OnceLock<Arc<Link>>> = Arc::default();
    let its_link = Arc::clone(&link);
    let tool = TestTool::answering("count", Effect::Pure, &Effects::default(), move |_, _| {
        its_link.get().unwrap().is_without_lease.store(true, Ordering::SeqCst);
        Ok(Outcome::text("counted"))
    });
    let model = ScriptedModel::new([Script::call("count", json!({})), Script::text("Done.")]);
    let nodes = Nodes::new(model.clone(), first_tools().with(tool));
    link.set(Arc::clone(&nodes.link)).ok().unwrap();
    let (agent, working) = nodes.begin("Go.").await;
    within("it stops", working).await.unwrap().unwrap();
    assert_eq!(model.requests().len(), 1);

    nodes.there.advance(agent.id).await.unwrap();
    assert_eq!(model.requests().len(), 2);
    let there = nodes.there.client(Owner::local());
    assert_eq!(there.agent(agent.id).await.unwrap().status, Status::Succeeded);
}

#[tokio::test]
async fn a_call_that_waits_for_its_place_does_not_begin_once_the_lease_is_lost() {
    let link: Arc<OnceLock<Arc<Link>>> = Arc::default();
    let (its_link, counted) = (Arc::clone(&link), Effects::default());
    let tool = TestTool::answering("count", Effect::Idempotent, &counted, move |_, _| {
        its_link.get().unwrap().is_without_lease.store(true, Ordering::SeqCst);
        Ok(Outcome::text("counted"))
    });
    let calls = (0..40).fold(Script::text(""), |script, _| script.and_call("count", json!({})));
    let model = ScriptedModel::new([calls, Script::text("Done.")]);
    let nodes = Nodes::new(model.clone(), first_tools().with(tool));
    link.set(Arc::clone(&nodes.link)).ok().unwrap();
    let (agent, working) = nodes.begin("Go.").await;
    within("it stops", working).await.unwrap().unwrap();
    let begun = counted.per_call().len();
    assert!((1..=16).contains(&begun), "only those that had a place: {begun}");

    nodes.there.advance(agent.id).await.unwrap();
    assert_eq!(counted.per_call().len(), 40);
    let there = nodes.there.client(Owner::local());
    assert_eq!(there.agent(agent.id).await.unwrap().status, Status::Succeeded);
}

#[tokio::test]
async fn the_signal_of_a_tree_brings_its_subscribers_the_new_events_at_once() {
    let nodes = Nodes::new(ScriptedModel::new([Script::text("Done.")]), Toolbox::new());
    let there = nodes.there.client(Owner::local());
    let agent = there.create(NewAgent::default(), None).await.unwrap();
    let mut watch = there.watch(agent.id, 0).await.unwrap();
    there.send(agent.id, "Hello.", None).await.unwrap();
    let read = |numbers: &mut Vec<u64>, signal| {
        if let Signal::Event(event) = signal {
            numbers.push(event.seq);
        }
    };
    let mut seen = Vec::new();
    let known = there.events(agent.id, 0, 100).await.unwrap().len();
    while seen.len() < known {
        read(&mut seen, within("its own events", watch.next()).await.unwrap());
    }
    nodes.here.advance(agent.id).await.unwrap();
    let last = there.events(agent.id, 0, 100).await.unwrap().len();
    assert!(last > known);
    // No time passes for the poll, so that only the signal says that there is something to read.
    nodes.there.on_signal(NodeSignal::Tree(AgentId::new()));
    while let Some(signal) = watch.next().now_or_never() {
        read(&mut seen, signal.unwrap());
    }
    assert_eq!(seen.len(), known, "the signal of another tree is none of this one");
    nodes.there.on_signal(NodeSignal::Tree(agent.id));
    while seen.len() < last {
        read(&mut seen, within("the events of the other node", watch.next()).await.unwrap());
    }
    assert_eq!(seen, (1..=last as u64).collect::<Vec<_>>());
}

#[tokio::test]
async fn pieces_are_sent_only_to_a_node_that_follows_the_tree() {
    let nodes = Nodes::new(TwoWords, Toolbox::new());
    let there = nodes.there.client(Owner::local());
    let mut sent = Vec::new();
    for is_followed in [false, true, false] {
        let agent = there.create(NewAgent::default(), None).await.unwrap();
        let watch = if is_followed { Some(there.watch(agent.id, 0).await.unwrap()) } else { None };
        there.send(agent.id, "Hello.", None).await.unwrap();
        nodes.here.advance(agent.id).await.unwrap();
        sent.push(nodes.link.pieces_sent.swap(0, Ordering::SeqCst) > 0);
        drop(watch);
        assert!(!nodes.link.is_followed(agent.id), "nobody follows it any more");
    }
    assert_eq!(sent, [false, true, false]);
}

/// A store whose clock is ahead of the nodes' clock by this time.
struct StoreClock(FakeClock, Duration);

#[async_trait]
impl StoreLayer for StoreClock {
    async fn claim(
        &self,
        store: &Arc<dyn Store>,
        agent: AgentId,
        from: u64,
    ) -> entourage_store::Result<Option<Claim>> {
        let claim = store.claim(agent, from).await?;
        Ok(claim.map(|claim| Claim { now: Some(self.0.now() + self.1), ..claim }))
    }
}

#[tokio::test]
async fn a_wait_is_over_by_the_time_of_the_store_although_the_clock_of_the_node_is_behind() {
    for (ahead, status) in [(59, Status::Waiting), (60, Status::Succeeded)] {
        let script = [Script::call("wait", json!({"seconds": 60})), Script::text("Rested.")];
        let (rows, clock, model) = (MemoryStore::default(), FakeClock::default(), ScriptedModel::new(script));
        let node = |ahead| {
            let layer = StoreClock(clock.clone(), Duration::from_secs(ahead));
            let store = Arc::new(Layered::new(Arc::new(rows.handle()), layer));
            let builder = Engine::builder(store, Arc::new(model.clone())).clock(Arc::new(clock.clone()));
            builder.kinds(one_kind(|_| {})).tools(first_tools()).build()
        };
        let (engine, behind) = (node(0), node(ahead));
        let client = engine.client(Owner::local());
        let new = NewAgent { message: Some("Rest.".into()), ..NewAgent::default() };
        let agent = client.create(new, None).await.unwrap();
        engine.advance(agent.id).await.unwrap();
        assert_eq!(client.agent(agent.id).await.unwrap().status, Status::Waiting);
        behind.advance(agent.id).await.unwrap();
        assert_eq!(client.agent(agent.id).await.unwrap().status, status, "{ahead} s ahead");
    }
}

/// The other node is sent no signal of what is due, and finds it when it reads all that is due again.
#[tokio::test]
async fn a_message_received_by_a_node_that_stops_is_served_by_another_node_within_a_minute() {
    let nodes = Nodes::new(ScriptedModel::new([Script::text("Done.")]), Toolbox::new());
    let (there, store, clock) =
        (nodes.there.clone(), Arc::clone(nodes.there.store()), Arc::clone(nodes.there.clock()));
    let stop = CancellationToken::new();
    let dispatcher = Embedded::new(dispatch::Settings::default());
    let stopped = stop.clone();
    let serving = tokio::spawn(async move { dispatcher.run(Arc::new(there), store, clock, stopped).await });
    nodes.clock.sleeper(MINUTE).await;
    let here = nodes.here.client(Owner::local());
    let new = NewAgent { message: Some("Go.".into()), ..NewAgent::default() };
    let agent = here.create(new, None).await.unwrap();
    let waited = nodes.clock.advance_to_sleeper(MINUTE).await;
    let status = async || here.agent(agent.id).await.unwrap().status;
    within("it is served", async {
        while status().await != Status::Succeeded {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(waited, MINUTE);
    stop.cancel();
    serving.await.unwrap().unwrap();
}
