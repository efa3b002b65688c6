//! How many requests the document agent makes at once: further messages wait their turn.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use entourage_engine::{Client, Kinds, NewAct, Page, programs::Act};
use entourage_llm::{Deltas, Model, Profile, Reply, Request, Result, ScriptedModel};
use entourage_store::MemoryStore;
use entourage_testkit::{HeldModel, World, quiet};
use entourage_types::{
    ActOutcome, Action, AgentId, Cost, Kind, Owner, ProgramName, Project, Status, StopReason, Usage,
};
use futures::future::join_all;
use serde_json::json;

use crate::{
    acts::deciding,
    documents::new_project,
    kit::{eventually, within},
};

/// A model that counts how many of its calls are under way.
#[derive(Clone)]
struct Counted {
    model: HeldModel,
    under_way: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

/// A call under way.
struct Call<'a>(&'a AtomicUsize);

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Counted {
    fn new(model: HeldModel) -> Self {
        Self { model, under_way: Arc::default(), most: Arc::default() }
    }
}

#[async_trait]
impl Model for Counted {
    async fn call(&self, request: Request, deltas: &mut dyn Deltas) -> Result<Reply> {
        let under_way = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        let _call = Call(&self.under_way);
        self.most.fetch_max(under_way, Ordering::SeqCst);
        self.model.call(request, deltas).await
    }

    fn price(&self, model: Option<&str>, usage: &Usage) -> Option<Cost> {
        self.model.price(model, usage)
    }

    fn profile(&self, model: Option<&str>) -> Profile {
        self.model.profile(model)
    }

    fn describe(&self) -> String {
        self.model.describe()
    }
}

/// A project whose document agent makes so many requests at once to a model that holds them.
struct Crowd {
    world: World,
    model: HeldModel,
    counted: Counted,
    project: Project,
}

impl Crowd {
    async fn of(model: ScriptedModel, places: usize, kinds: Kinds) -> Self {
        let model = HeldModel::new(model);
        let counted = Counted::new(model.clone());
        let act = Arc::new(Act::new(places));
        let world = World::builder(counted.clone())
            .store(MemoryStore::default())
            .kinds(quiet(kinds))
            .engine(move |engine| engine.program(ProgramName::ACT, Arc::<Act>::clone(&act) as _))
            .start()
            .await;
        let project = new_project(&world.engine().client(Owner::local()), "Home").await;
        Self { world, model, counted, project }
    }

    fn client(&self) -> Client {
        self.world.engine().client(Owner::local())
    }

    /// Begins a chat.
    async fn ask(&self) -> AgentId {
        let (message, project) = ("What is soup?".to_owned(), Some(self.project.id));
        self.client().act(NewAct { message, project, chat: None, open: None }, None).await.unwrap().chat
    }

    async fn status(&self, chat: AgentId) -> Status {
        self.client().agent(chat).await.unwrap().status
    }

    /// Waits until all of these are at work, with a request or without.
    async fn at_work(&self, chats: &[AgentId]) {
        let statuses = || join_all(chats.iter().map(|chat| self.status(*chat)));
        let all = |statuses: &Vec<Status>| statuses.iter().all(|status| *status == Status::Running);
        eventually("all are at work", statuses, all).await;
    }

    /// What the only message of a chat came to.
    async fn outcome(&self, chat: AgentId) -> ActOutcome {
        self.world.ended(chat).await;
        let acts = self.client().acts(chat, Page::all()).await.unwrap();
        let [act] = &acts[..] else { panic!("{acts:?}") };
        act.outcome
    }
}

/// Shows: S5-R041.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_more_requests_are_made_at_once_than_there_are_places() {
    const ACTS: usize = 30;
    // Each makes two requests: the decision, and the answer.
    let crowd = Crowd::of(deciding(json!({}), "Soup is water."), 3, Kinds::builtin()).await;
    let mut chats = Vec::new();
    for _ in 0..ACTS {
        chats.push(crowd.ask().await);
    }
    crowd.at_work(&chats).await;
    for _ in 0..3 {
        crowd.model.begun().await;
    }
    // As long as others wait, each call that ends makes room for one more.
    for _ in 3..ACTS {
        assert_eq!(crowd.counted.under_way.load(Ordering::SeqCst), 3);
        crowd.model.let_go(1);
        crowd.model.begun().await;
    }
    crowd.model.let_go(ACTS + 3);
    for chat in chats {
        assert_eq!(crowd.outcome(chat).await, ActOutcome::Conversation);
    }
    assert_eq!(crowd.counted.most.load(Ordering::SeqCst), 3);
    assert_eq!(crowd.world.audit().await, []);
}

/// Shows: S5-R041.
#[tokio::test]
async fn a_person_stops_an_act_that_waits_for_its_place() {
    let crowd =
        Crowd::of(deciding(json!({ "conversational_response": "Yes." }), ""), 1, Kinds::builtin()).await;
    let first = crowd.ask().await;
    crowd.model.begun().await;
    let second = crowd.ask().await;
    crowd.at_work(&[first, second]).await;
    crowd.client().intervene(second, Action::Stop, None).await.unwrap();
    crowd.world.ended(second).await;
    let runs = crowd.client().runs(second, Page::all()).await.unwrap();
    assert_eq!(runs.iter().map(|run| run.stop_reason).collect::<Vec<_>>(), [Some(StopReason::Cancelled)]);
    assert_eq!(crowd.status(first).await, Status::Running, "it is still being answered");
    assert_eq!(crowd.client().acts(second, Page::all()).await.unwrap(), []);
    assert_eq!(crowd.counted.most.load(Ordering::SeqCst), 1);
    // It left no place taken, and none free that is not.
    let third = crowd.ask().await;
    crowd.at_work(&[first, third]).await;
    crowd.model.let_go(2);
    for chat in [first, third] {
        assert_eq!(crowd.outcome(chat).await, ActOutcome::Conversation);
    }
    assert_eq!((crowd.counted.most.load(Ordering::SeqCst), crowd.model.cut_off()), (1, 0));
    assert_eq!(crowd.world.audit().await, []);
}

/// The built-in kinds, of which the document agent may be at work for so long.
fn kinds_for(max_seconds: u64) -> Kinds {
    Kinds::builtin().iter().fold(Kinds::none(), |kinds, kind| {
        let mut kind = Kind::clone(kind);
        kind.limits.max_seconds = max_seconds;
        kind.version.clear();
        kinds.with(kind)
    })
}

/// The last of five waits for four times the time that it may be at work.
///
/// Shows: S5-R041.
#[tokio::test]
async fn waiting_for_a_place_is_no_time_at_work() {
    const MINUTE: Duration = Duration::from_secs(60);
    let model = deciding(json!({ "conversational_response": "Yes." }), "");
    let crowd = Crowd::of(model, 1, kinds_for(MINUTE.as_secs())).await;
    let mut chats = Vec::new();
    for _ in 0..5 {
        chats.push(crowd.ask().await);
    }
    crowd.at_work(&chats).await;
    for _ in &chats {
        within("the next one has its place", crowd.model.begun()).await;
        crowd.world.clock().advance(MINUTE - Duration::from_secs(1));
        crowd.model.let_go(1);
    }
    for chat in chats {
        assert_eq!(crowd.outcome(chat).await, ActOutcome::Conversation);
    }
    assert_eq!(crowd.model.cut_off(), 0);
    assert_eq!(crowd.world.audit().await, []);
}
