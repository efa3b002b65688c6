//! Rows to test with.

use std::{num::NonZeroU32, time::Duration};

use entourage_types::{
    About, Agent, AgentId, AgentKey, Author, CallId, Cost, Entity, EntityKind, Item, ItemBody, Message, Note,
    NoteId, OnEnd, Owner, Post, PostBody, PostId, Question, QuestionId, QuestionStatus, Run, RunId, Status,
    Step, StepState, Task, TaskId, Time, Usage, Wait, Wakeup, WakeupId,
};

use crate::{Claim, Commit, Error, Result, Store, Write};

/// The time this many microseconds after a fixed one.
pub(crate) fn at(micros: u64) -> Time {
    Time::from_micros(1_790_000_000_000_000) + Duration::from_micros(micros)
}

pub(crate) fn owner() -> Owner {
    Owner::new("ann")
}

pub(crate) fn stranger() -> Owner {
    Owner::new("bob")
}

/// The key of an agent of this name.
pub(crate) fn key(recipient: &str) -> AgentKey {
    AgentKey { recipient: recipient.to_owned(), sender: String::new(), nth: NonZeroU32::MIN }
}

/// Stores a new agent of this owner and returns it.
pub(crate) async fn new_root(store: &impl Store, owner: Owner) -> Result<Agent> {
    let agent = Agent::root(owner, "helper", "helps", at(0));
    store.commit(Commit::new(at(0)).write(Write::NewAgent(agent.clone()))).await?;
    Ok(agent)
}

/// Stores a new agent below this one and returns it.
pub(crate) async fn new_child(store: &impl Store, parent: &Agent) -> Result<Agent> {
    let agent = parent.child("digger", "digs", None, at(0));
    store.commit(Commit::new(at(0)).write(Write::NewAgent(agent.clone()))).await?;
    Ok(agent)
}

/// Claims an existing agent.
pub(crate) async fn claim(store: &impl Store, agent: AgentId) -> Result<Claim> {
    store.claim(agent, 0).await?.ok_or(Error::NoAgent { agent })
}

pub(crate) fn run(agent: &Agent) -> Run {
    Run {
        id: RunId::new(),
        agent: agent.id,
        owner: agent.owner.clone(),
        status: Status::Running,
        waiting_on: None,
        stop_reason: None,
        error: None,
        kind_version: "v1".to_owned(),
        switches: Default::default(),
        tasks: Vec::new(),
        model_calls: 0,
        worked_ms: 0,
        usage: Usage::default(),
        cost: Cost::default(),
        spent: Vec::new(),
        started: at(1),
        ended: None,
    }
}

/// The state of an open step.
pub(crate) fn open() -> StepState {
    StepState::Open(Wait::Until { until: at(100) })
}

/// The state of a step that is done.
pub(crate) fn done() -> StepState {
    StepState::Done(None)
}

pub(crate) fn step(run: RunId, key: &str, state: StepState) -> Step {
    Step {
        run,
        key: key.into(),
        state,
        intent: None,
        attempt: 1,
        used: None,
        asked: None,
        started: at(1),
        updated: at(1),
    }
}

/// Returns the next item of the agent's transcript, and counts it in the agent's row.
pub(crate) fn say(agent: &mut Agent, run: RunId, text: &str) -> Item {
    let message = Message::new(Author::User, text, None);
    next(agent, run, ItemBody::Message(message))
}

/// As [`say`], with any body.
pub(crate) fn next(agent: &mut Agent, run: RunId, body: ItemBody) -> Item {
    let item =
        Item { agent: agent.id, seq: agent.items, run, session: agent.session, at: at(1), step: None, body };
    agent.items += 1;
    item
}

pub(crate) fn post(agent: AgentId, text: &str) -> Post {
    let body = PostBody::Message {
        from: Author::User,
        text: text.to_owned(),
        task: None,
        queued: false,
        options: None,
    };
    Post { id: PostId::new(), agent, at: at(1), wakeup: WakeupId::new(), body }
}

pub(crate) fn wakeup(agent: &Agent, due: Time) -> Wakeup {
    Wakeup::new(agent.id, agent.owner.clone(), due)
}

pub(crate) fn task(from: &Agent, to: AgentId) -> Task {
    Task {
        id: TaskId::new(),
        owner: from.owner.clone(),
        root: from.root,
        from: from.id,
        to,
        call: CallId::new(),
        on_end: OnEnd::Answer,
        group: None,
        kind: "digger".to_owned(),
        title: "A hole".to_owned(),
        instruction: "dig".to_owned(),
        origin: None,
        status: Status::Queued,
        result: None,
        post: None,
        run: None,
        reactivated: 0,
        created: at(1),
        updated: at(1),
    }
}

pub(crate) fn question(agent: &Agent) -> Question {
    Question {
        id: QuestionId::new(),
        owner: agent.owner.clone(),
        root: agent.root,
        agent: agent.id,
        kind: agent.kind.clone(),
        run: RunId::new(),
        call: CallId::new(),
        task: None,
        about: About::Information,
        text: "how deep?".to_owned(),
        options: vec!["1 m".to_owned()],
        proposal: None,
        due: None,
        otherwise: None,
        status: QuestionStatus::Open,
        answer: None,
        answered_by: None,
        created: at(1),
        updated: at(1),
    }
}

pub(crate) fn note(agent: &Agent, title: &str, content: &str) -> Note {
    Note {
        id: NoteId::new(),
        owner: agent.owner.clone(),
        root: agent.root,
        agent: agent.id,
        title: title.to_owned(),
        content: content.to_owned(),
        created: at(1),
    }
}

/// A record that belongs to no agent.
pub(crate) fn request(owner: &Owner, id: &str, status: &str) -> Entity {
    Entity {
        kind: EntityKind::REQUEST,
        id: id.to_owned(),
        owner: owner.clone(),
        root: None,
        parent: None,
        status: status.to_owned(),
        created: at(1),
        updated: at(1),
        version: 1,
        name: None,
        text: None,
        body: "{}".to_owned(),
    }
}

/// Returns the result of a spawned task.
pub(crate) async fn join<T>(task: tokio::task::JoinHandle<Result<T>>) -> Result<T> {
    task.await.map_err(|error| Error::Database(error.to_string()))?
}
