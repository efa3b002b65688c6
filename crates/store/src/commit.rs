//! Everything that changes at once: a fence, expectations, writes.

use entourage_types::{
    Agent, AgentId, CommitId, Entity, EntityKind, Grant, Intervention, Item, Owner, Post, PostId, Question,
    Record, Run, Session, Step, Task, Time, Wakeup, WakeupId,
};

/// Everything that changes at once.
#[derive(Debug, Clone)]
pub struct Commit {
    /// What it is known by where its outcome is not known: repeated under the same id it happens once.
    pub id: CommitId,
    /// When, on the engine's clock.
    pub at: Time,
    /// The activation that commits; none for an outsider, who may only create, post and record.
    pub fence: Option<Fence>,
    /// What must hold, checked before any write.
    pub expect: Vec<Expect>,
    /// What changes, in this order.
    pub writes: Vec<Write>,
}

/// The activation that commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence {
    /// Whose.
    pub agent: AgentId,
    /// The epoch that its claim returned.
    pub epoch: u64,
}

/// What must hold for a commit to happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expect {
    /// The agent exists.
    Agent(AgentId),
    /// No such entity exists yet.
    Absent(EntityKind, String),
    /// The entity is in this status.
    Status(EntityKind, String, &'static str),
    /// The tree of this root has room for one more agent below this limit.
    TreeBelow(AgentId, u32),
    /// This agent has room for one more child below this limit.
    ChildrenBelow(AgentId, u32),
    /// Nobody in the tree of this root is at work or waits, nobody has anything to read or to wake
    /// for, and none of its agents has changed since this moment.
    AtRest(AgentId, Time),
}

/// One change. Rows are written whole; the last write of a row wins. A write that would be told as an event is
/// refused, and the commit with it, with [`crate::Error::NoAgent`], where the tree's root is not there after the
/// commit.
#[derive(Debug, Clone)]
pub enum Write {
    /// A new agent. Where its row counts items, those it begins with are in the same commit.
    NewAgent(Agent),
    /// The fenced agent's row: status, session, number of items, time. Its epoch, owner and place
    /// in the tree never change this way.
    Agent(Agent),
    /// A new item of the fenced agent's transcript, or of an agent that the same commit makes.
    Item(Item),
    /// A run of the fenced agent, new or changed.
    Run(Run),
    /// A step of a run of the fenced agent, new or changed.
    Step(Step),
    /// A post into any agent's inbox.
    Post(Post),
    /// A post of the fenced agent's inbox has been read.
    ConsumePost(PostId),
    /// An agent has something to do.
    ScheduleWakeup(Wakeup),
    /// A wake-up has been served.
    ConsumeWakeup(WakeupId),
    /// A wake-up of an agent that is not there, which nobody could ever serve, is taken away.
    DropOrphanWakeup(Wakeup),
    /// The events of a tree with numbers below this one are forgotten, all but its last, so that no
    /// number is given twice. An outsider's write, as the next one.
    PruneEvents(AgentId, u64),
    /// An agent without children is forgotten, with its transcript, its runs and its inbox; a root,
    /// once it is the last of its tree, also with the tree's events and the entities that belong to
    /// it. Others may go in the same commit, before it.
    PruneAgent(AgentId),
    /// An entity that belongs to no tree is forgotten, if it is there. An outsider's write.
    PruneEntity(EntityKind, String),
    /// A task, new or changed.
    Task(Task),
    /// A question, new or changed.
    Question(Question),
    /// A grant, new or changed.
    Grant(Grant),
    /// An intervention, new or changed.
    Intervention(Intervention),
    /// A session that is closed, and all that was said in it: the words it is found by.
    Session(Session, String),
    /// Any other entity, new or changed.
    Entity(Entity),
}

/// What a commit did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Committed {
    /// Whether the fenced agent's inbox has posts that this commit did not read.
    pub inbox: bool,
}

impl Commit {
    /// An empty commit by an outsider: a person's request, a timer.
    #[must_use]
    pub fn new(at: Time) -> Self {
        Self { id: CommitId::new(), at, fence: None, expect: Vec::new(), writes: Vec::new() }
    }

    /// An empty commit by the activation that holds this epoch.
    #[must_use]
    pub fn fenced(agent: &Agent, at: Time) -> Self {
        Self { fence: Some(Fence { agent: agent.id, epoch: agent.epoch }), ..Self::new(at) }
    }

    /// Adds an expectation.
    #[must_use]
    pub fn expect(mut self, expect: Expect) -> Self {
        self.expect.push(expect);
        self
    }

    /// Adds a write.
    #[must_use]
    pub fn write(mut self, write: Write) -> Self {
        self.writes.push(write);
        self
    }

    /// Adds a write in place.
    pub fn push(&mut self, write: Write) {
        self.writes.push(write);
    }

    /// Posts to an agent and wakes it.
    pub fn post(&mut self, post: Post, owner: &Owner) {
        self.writes.push(Write::ScheduleWakeup(Wakeup {
            id: post.wakeup,
            agent: post.agent,
            owner: owner.clone(),
            due: post.at,
        }));
        self.writes.push(Write::Post(post));
    }
}

/// What a record is known by, and whose it is.
pub(crate) struct RecordKey<'w> {
    pub(crate) kind: EntityKind,
    pub(crate) id: String,
    pub(crate) owner: &'w Owner,
}

impl Write {
    /// The record that this keeps, if it keeps one.
    pub(crate) fn record(&self) -> Option<RecordKey<'_>> {
        let (kind, id, owner) = match self {
            Self::Task(task) => (EntityKind::Task, task.id.to_string(), &task.owner),
            Self::Question(question) => (EntityKind::Question, question.id.to_string(), &question.owner),
            Self::Grant(grant) => (EntityKind::Grant, grant.id.to_string(), &grant.owner),
            Self::Intervention(done) => (EntityKind::Intervention, done.id.to_string(), &done.owner),
            Self::Session(session, _) => (EntityKind::Session, session.id.to_string(), &session.owner),
            Self::Entity(entity) => (entity.kind, entity.id.clone(), &entity.owner),
            _ => return None,
        };
        Some(RecordKey { kind, id, owner })
    }

    /// The root of the tree in which this is told, where it says so itself; otherwise it is told, if at all, in
    /// the tree of the fenced agent.
    pub(crate) const fn told_in(&self) -> Option<AgentId> {
        match self {
            Self::NewAgent(agent) => Some(agent.root),
            Self::Task(task) => Some(task.root),
            Self::Question(question) => Some(question.root),
            Self::Grant(grant) => Some(grant.root),
            Self::Intervention(done) => Some(done.root),
            Self::Session(session, _) => Some(session.root),
            _ => None,
        }
    }

    /// The entity this write keeps, if it keeps one.
    ///
    /// # Errors
    /// None in practice: records are plain data.
    pub fn entity(&self) -> serde_json::Result<Option<Entity>> {
        Ok(match self {
            Self::Task(task) => Some(task.entity()?),
            Self::Question(question) => Some(question.entity()?),
            Self::Grant(grant) => Some(grant.entity()?),
            Self::Intervention(intervention) => Some(intervention.entity()?),
            Self::Session(session, words) => {
                let text = Some(format!("{}\n{words}", session.summary));
                Some(Entity { text, ..session.entity()? })
            }
            Self::Entity(entity) => Some(entity.clone()),
            _ => None,
        })
    }
}
