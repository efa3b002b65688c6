//! What is begun at one node is done at another.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use entourage_engine::{Cause, NewAgent, Piece, Signal, Signals as _, Watch};
use entourage_llm::{Delta, Deltas, Model, Reply, Request, Result, Script, ScriptedModel};
use entourage_testkit::HeldModel;
use entourage_types::{Action, EventBody, NodeRole, Status, Usage};
use tokio::sync::Notify;

use crate::kit::{Node, Place, until, within};

/// Streams two words, and ends when a test has seen them.
struct TwoWords(Arc<Notify>);

#[async_trait]
impl Model for TwoWords {
    async fn call(&self, _: Request, deltas: &mut dyn Deltas) -> Result<Reply> {
        ["Good ", "day."].into_iter().for_each(|word| deltas.delta(Delta::Text(word.into())));
        self.0.notified().await;
        let (text, model, usage) = ("Good day.".into(), "two words".into(), Usage::default());
        Ok(Reply { text, calls: Vec::new(), model, usage, cost: None })
    }

    fn describe(&self) -> String {
        "two words".into()
    }
}

/// A node that answers requests, and one at which agents work, which answer with [`TwoWords`].
async fn answering(place: &Place, whole: &Arc<Notify>) -> [Node; 2] {
    let api = place.node(NodeRole::Api, ScriptedModel::new([])).await;
    let worker = place.node(NodeRole::Worker, TwoWords(Arc::clone(whole))).await;
    worker.linked(1).await;
    api.linked(1).await;
    [api, worker]
}

fn new(message: &str) -> NewAgent {
    NewAgent { message: Some(message.into()), ..NewAgent::default() }
}

/// Reads until the agent has succeeded: the pieces, and the numbers of all events. Notifies `whole` once the pieces are
/// what [`TwoWords`] says.
async fn seen(watch: &mut Watch, whole: &Notify) -> (String, Vec<u64>) {
    let (mut text, mut numbers) = (String::new(), Vec::new());
    loop {
        match watch.next().await.unwrap() {
            Signal::Delta(delta) => {
                if let Piece::Text(piece) = &delta.piece {
                    text.push_str(piece);
                }
                if text == "Good day." {
                    whole.notify_one();
                }
            }
            Signal::Event(event) => {
                numbers.push(event.seq);
                if matches!(event.body, EventBody::AgentStatus { status: Status::Succeeded, .. }) {
                    return (text, numbers);
                }
            }
            Signal::Inbox | Signal::CaughtUp(_) => {}
        }
    }
}

/// Reads until the agent has succeeded.
async fn ended(watch: &mut Watch) {
    seen(watch, &Notify::new()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_answers_requests_sees_what_another_one_works() {
    let place = Place::new();
    let whole = Arc::new(Notify::new());
    let [api, _worker] = answering(&place, &whole).await;
    let agent = api.client().create(NewAgent::default(), None).await.unwrap();
    let mut watch = api.client().watch(agent.id, 0).await.unwrap();
    // The worker is told what is followed before it is told what is due: on one link, in this order.
    api.client().send(agent.id, "Hello.", None).await.unwrap();
    let (text, numbers) = within("all is seen", seen(&mut watch, &whole)).await;
    assert_eq!(text, "Good day.", "the pieces come over the link");
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_comes_in_the_middle_of_an_answer_at_another_node_gets_it_from_its_beginning() {
    let place = Place::new();
    let whole = Arc::new(Notify::new());
    let [api, worker] = answering(&place, &whole).await;
    let agent = api.client().create(NewAgent::default(), None).await.unwrap();
    let mut beside = worker.client().watch(agent.id, 0).await.unwrap();
    api.client().send(agent.id, "Hello.", None).await.unwrap();
    let said = within("all is said", async {
        loop {
            if let Signal::Delta(delta) = beside.next().await.unwrap()
                && delta.piece == Piece::Text("day.".into())
            {
                return;
            }
        }
    });
    said.await;
    // The first one has the tree followed, and the second one finds it followed.
    let mut watches =
        [api.client().watch(agent.id, 0).await.unwrap(), api.client().watch(agent.id, 0).await.unwrap()];
    let never = Notify::new();
    for (watch, whole) in watches.iter_mut().zip([&never, &*whole]) {
        let all = within("it has the whole text", async {
            loop {
                if let Signal::Delta(delta) = watch.next().await.unwrap()
                    && delta.piece == Piece::Text("Good day.".into())
                {
                    return whole.notify_one();
                }
            }
        });
        all.await;
    }
    for watch in &mut watches {
        within("it ends", ended(watch)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_answers_requests_knows_that_an_agent_works_at_another_or_is_to() {
    let place = Place::new();
    let model = HeldModel::new(ScriptedModel::new([Script::text("Done.")]));
    let api = place.node(NodeRole::Api, ScriptedModel::new([])).await;
    let mut worker = place.node(NodeRole::Worker, model.clone()).await;
    api.linked(1).await;
    let why = async |agent| api.client().why(agent).await.unwrap().cause().clone();
    let works = api.client().create(new("Go."), None).await.unwrap();
    within("it begins", model.begun()).await;
    assert_eq!(why(works.id).await, Cause::Work);
    worker.stop.cancel();
    model.let_go(1);
    within("its work ends", worker.tasks.join_next()).await;
    let waits = api.client().create(new("Go on."), None).await.unwrap();
    assert_eq!(why(waits.id).await, Cause::Elsewhere, "the worker is there, and has not begun it");
}

/// Shows: INV-05.
#[tokio::test(flavor = "multi_thread")]
async fn a_model_call_at_another_node_is_over_once_its_agent_is_deleted() {
    let place = Place::new();
    let model = HeldModel::new(ScriptedModel::new([Script::text("Too late.")]));
    let api = place.node(NodeRole::Api, ScriptedModel::new([])).await;
    let _worker = place.node(NodeRole::Worker, model.clone()).await;
    let agent = api.client().create(new("Go."), None).await.unwrap();
    within("it begins", model.begun()).await;
    within("it is deleted", api.client().intervene(agent.id, Action::Delete, None)).await.unwrap();
    assert_eq!(model.cut_off(), 1, "nothing of it goes on once that has returned");
}

/// Shows: INV-05.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_has_forgotten_its_nodes_lets_no_deletion_return_early() {
    let place = Place::new();
    let model = HeldModel::new(ScriptedModel::new([Script::text("Too late.")]));
    let api = place.node(NodeRole::Api, ScriptedModel::new([])).await;
    let worker = place.node(NodeRole::Worker, model.clone()).await;
    api.linked(1).await;
    worker.linked(1).await;
    let agent = api.client().create(new("Go."), None).await.unwrap();
    within("it begins", model.begun()).await;
    place.crash();
    within("it is deleted", api.client().intervene(agent.id, Action::Delete, None)).await.unwrap();
    assert_eq!(model.cut_off(), 1, "the node was asked although the store knows it no more");
}

/// Shows: INV-05.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_does_not_take_an_agent_up_again_that_another_one_is_deleting() {
    let place = Place::new();
    let script = [Script::text("Too late."), Script::text("Too late.")];
    let model = HeldModel::new(ScriptedModel::new(script));
    let api = place.node(NodeRole::Api, ScriptedModel::new([])).await;
    let worker = place.node(NodeRole::Worker, model.clone()).await;
    let agent = api.client().create(new("Go."), None).await.unwrap();
    within("it begins", model.begun()).await;
    // What the other node does first; it has not written that the agent is deleted.
    within("it is left", worker.engine.evict_local(agent.id)).await;
    assert_eq!(model.cut_off(), 1);
    within("nothing is begun", worker.engine.advance(agent.id)).await.unwrap();
    within("it is deleted", api.client().intervene(agent.id, Action::Delete, None)).await.unwrap();
    assert_eq!(model.cut_off(), 1, "the model was not asked again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_instruction_at_another_node_replaces_the_step_in_progress() {
    let place = Place::new();
    let model = HeldModel::new(ScriptedModel::new([Script::text("For the second.")]));
    let api = place.node(NodeRole::Api, ScriptedModel::new([])).await;
    let worker = place.node(NodeRole::Worker, model.clone()).await;
    api.linked(1).await;
    worker.linked(1).await;
    let agent = api.client().create(new("First."), None).await.unwrap();
    let mut watch = api.client().watch(agent.id, 0).await.unwrap();
    within("it begins", model.begun()).await;
    api.client().intervene(agent.id, Action::Modify, Some("Second.")).await.unwrap();
    within("it begins anew", model.begun()).await;
    assert_eq!(model.cut_off(), 1);
    model.let_go(1);
    within("it answers", ended(&mut watch)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_of_a_node_that_has_died_goes_on_at_another() {
    let place = Place::new();
    let held = HeldModel::new(ScriptedModel::new([Script::text("Never.")]));
    let dying = place.node(NodeRole::Worker, held.clone()).await;
    let agent = dying.client().create(new("Go."), None).await.unwrap();
    within("it begins", held.begun()).await;
    let other = place.node(NodeRole::All, ScriptedModel::new([Script::text("Here.")])).await;
    let mut watch = other.client().watch(agent.id, 0).await.unwrap();
    drop(dying);
    place.advance(Duration::from_secs(11));
    within("it goes on", ended(&mut watch)).await;
    let items = other.client().items(agent.id, 0, 10).await.unwrap();
    assert!(format!("{items:?}").contains("Here."), "{items:?}");
}

/// What such a node leaves at work is not counted as what an ended process has left.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_gives_no_sign_of_life_is_heard_until_it_is_gone() {
    let place = Place::new();
    let silent = ScriptedModel::new([]);
    let [one, other] =
        [place.node(NodeRole::Worker, silent.clone()).await, place.node(NodeRole::Worker, silent).await];
    one.linked(1).await;
    other.linked(1).await;
    let [of_other, of_one] = [&one, &other].map(|node| node.mesh.others()[0].0.id);
    // The next to look finds itself alone.
    place.advance(Duration::from_secs(11));
    until("one is not counted on", || one.mesh.others().is_empty() || other.mesh.others().is_empty()).await;
    let (mut often, began) = (tokio::time::interval(Duration::from_millis(5)), Instant::now());
    while began.elapsed() < Duration::from_millis(200) {
        assert!(one.mesh.hears(of_other) && other.mesh.hears(of_one), "after {:?}", began.elapsed());
        often.tick().await;
    }
    drop(one);
    until("it is gone", || !other.mesh.hears(of_one)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_served_by_one_node_at_a_time() {
    let place = Place::new();
    let model = HeldModel::new(ScriptedModel::new([Script::text("Once."), Script::text("Twice.")]));
    let one = place.node(NodeRole::All, model.clone()).await;
    let other = place.node(NodeRole::All, model.clone()).await;
    one.linked(1).await;
    other.linked(1).await;
    let agent = one.client().create(new("First."), None).await.unwrap();
    let mut watch = other.client().watch(agent.id, 0).await.unwrap();
    within("it begins", model.begun()).await;
    // The other node has a reason to wake the agent, and leaves that to the one that serves it.
    other.client().send(agent.id, "Second.", None).await.unwrap();
    model.let_go(2);
    within("both are answered", async {
        ended(&mut watch).await;
        while !format!("{:?}", other.client().items(agent.id, 0, 20).await.unwrap()).contains("Twice.") {
            watch.next().await.unwrap();
        }
    })
    .await;
    assert_eq!(model.cut_off(), 0, "no model call was in vain");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_leaves_gives_its_agents_up_at_once() {
    let place = Place::new();
    let held = HeldModel::new(ScriptedModel::new([Script::text("Never.")]));
    let mut leaving = place.node(NodeRole::Worker, held.clone()).await;
    let agent = leaving.client().create(new("Go."), None).await.unwrap();
    within("it begins", held.begun()).await;
    let other = place.node(NodeRole::All, ScriptedModel::new([Script::text("Here.")])).await;
    let mut watch = other.client().watch(agent.id, 0).await.unwrap();
    leaving.mesh.drain().await.unwrap();
    leaving.engine.stopping().cancel();
    leaving.stop.cancel();
    // The dispatcher's task ends; the links' goes on.
    within("its work ends", leaving.tasks.join_next()).await;
    leaving.mesh.leave().await.unwrap();
    within("it goes on", ended(&mut watch)).await;
}
