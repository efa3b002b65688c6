//! Commits: a fence, expectations and writes.

use entourage_types::{
    Agent, AgentId, Allowance, Amount, BudgetId, CommitId, Entity, EntityKind, Epoch, Item, NewEvent, Owner,
    Post, PostId, Record, RecordWrite, Run, Step, Time, Wakeup, WakeupId,
};

use crate::BudgetChange;

/// Changes that a store applies as a whole or not at all.
#[derive(Debug, Clone)]
pub struct Commit {
    /// Identifies the commit: repeated under the same id, it happens once. Its author repeats it when the outcome
    /// is not known ([`crate::Error::Unknown`]).
    pub id: CommitId,
    /// The time of the commit, on the engine's clock.
    pub at: Time,
    /// The activation that commits; none for an outsider. An outsider may create, post and record, schedule
    /// wake-ups and prune, but it writes no run, step, or existing agent's row or items, and consumes
    /// nothing.
    pub fence: Option<Fence>,
    /// What must hold; checked before any write.
    pub expect: Vec<Expect>,
    /// The changes, in the order in which they are applied.
    pub writes: Vec<Write>,
}

/// The activation that commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence {
    /// The agent that it has claimed.
    pub agent: AgentId,
    /// The epoch that its claim returned.
    pub epoch: Epoch,
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
    /// The entity has this [version](Entity::version): it was not written since. Version 0: it does not exist.
    Version(EntityKind, String, u64),
    /// The tree of this root has room for one more living agent below this limit. An agent lives until it has
    /// ended and has nothing to read. A commit that creates no agent and posts only to living ones needs no room.
    TreeBelow(AgentId, u32),
    /// This agent has room for one more living child below this limit; as for a tree.
    ChildrenBelow(AgentId, u32),
    /// Fewer agents than this limit were created in the tree of this root at this time or later, not counting those
    /// that were forgotten since.
    CreatedBelow(AgentId, u32, Time),
    /// The agent exists, and it was not deleted.
    NotDeleted(AgentId),
    /// Every child of this agent was deleted.
    ChildrenDeleted(AgentId),
    /// The agent has ended, and has neither posts nor wake-ups.
    Ended(AgentId),
    /// The agent has not ended, or has something to read; it was not deleted.
    Living(AgentId),
    /// The inbox of this agent, which need not exist, has fewer posts and fewer bytes than this. Checked before the
    /// writes: those of the commit do not count.
    InboxBelow(AgentId, InboxSize),
    /// The last agent that was created in a tree is this one.
    LastCreated {
        /// The root of the tree.
        root: AgentId,
        /// The agent.
        last: AgentId,
    },
    /// No agent in the tree of this root is queued, running or waiting, has posts or wake-ups, or has changed
    /// after this time.
    AtRest(AgentId, Time),
    /// Of this allowance, with what was granted, the budget has this amount left: it is neither spent nor reserved.
    Affords(BudgetId, Allowance, Amount),
    /// The budget would not have this amount left even if the calls under way used nothing.
    Lacks(BudgetId, Allowance, Amount),
}

/// How much is in an inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InboxSize {
    /// How many posts.
    pub posts: u32,
    /// The bytes of their bodies as JSON.
    pub bytes: u64,
}

/// One change. A write replaces the whole row; of several writes of one row in a commit, the last one wins. A
/// commit with a write that emits an event is refused with [`crate::Error::NoAgent`] if the root of the
/// event's tree does not exist after the commit.
#[derive(Debug, Clone)]
pub enum Write {
    /// A new agent. If its row counts items, the same commit writes exactly these items.
    NewAgent(Agent),
    /// The fenced agent's row: status, session, number of items, time. Never changes the agent's epoch,
    /// owner, key or place in the tree.
    Agent(Agent),
    /// The next item of the fenced agent's transcript, or an item of an agent that the same commit creates.
    Item(Item),
    /// A run of the fenced agent, new or changed.
    Run(Run),
    /// A step of a run of the fenced agent, new or changed.
    Step(Step),
    /// A post into any agent's inbox.
    Post(Post),
    /// Removes a post from the fenced agent's inbox, because the activation has read it.
    ConsumePost(PostId),
    /// A wake-up, new or changed: its agent has something to do.
    ScheduleWakeup(Wakeup),
    /// Removes a wake-up of the fenced agent, because the activation has served it.
    ConsumeWakeup(WakeupId),
    /// Removes a wake-up whose agent does not exist, so that no activation could ever serve it.
    DropOrphanWakeup(Wakeup),
    /// Removes the events of a tree with numbers below this one, except the tree's last event, so that no
    /// number is given twice. Only an outsider may write this.
    PruneEvents(AgentId, u64),
    /// Removes an agent without children, with its transcript, runs, inbox and wake-ups and the records that
    /// belong to it; a root, which must be the last agent of its tree, also with the tree's events and records.
    /// Otherwise the events of the tree stay, without the items of this agent; if the commit writes its [`Tombstone`],
    /// also [without texts](entourage_types::EventBody::without_texts), as those about the records removed with it. The
    /// agents that depend on it may be removed by the same commit, before it. Only an outsider may write this.
    ///
    /// [`Tombstone`]: entourage_types::Tombstone
    PruneAgent(AgentId),
    /// Removes a record, if it exists, with all records that belong to it. The events of trees about those of an
    /// application stay [without texts](entourage_types::EventBody::without_texts). Never a counter, whose numbers would
    /// be given twice. Only an outsider may write this, and the agent of a goal about the goal.
    PruneEntity(EntityKind, String),
    /// A record, new or changed, and the event that reports it. See [`Write::record`].
    Record(Entity, Option<Box<NewEvent>>),
    /// A change of a budget: an activation reserves and settles, an outsider grants.
    Budget(BudgetChange),
}

/// The result of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Committed {
    /// Whether the fenced agent's inbox has posts that this commit did not consume; false for an outsider.
    pub inbox: bool,
}

impl Expect {
    /// The record with this id is in this status.
    #[must_use]
    pub fn status<R: Record>(id: impl ToString, status: R::Status) -> Self {
        Self::Status(R::KIND, id.to_string(), status.into())
    }

    /// No record of this type has this id.
    #[must_use]
    pub fn absent<R: Record>(id: impl ToString) -> Self {
        Self::Absent(R::KIND, id.to_string())
    }

    /// The record was not written since it was read with this version; 0 if it did not exist.
    #[must_use]
    pub fn version<R: Record>(id: impl ToString, version: u64) -> Self {
        Self::Version(R::KIND, id.to_string(), version)
    }
}

impl Commit {
    /// Creates an empty commit by an outsider, such as a person's request or a timer.
    #[must_use]
    pub fn new(at: Time) -> Self {
        Self { id: CommitId::new(), at, fence: None, expect: Vec::new(), writes: Vec::new() }
    }

    /// Creates an empty commit by the activation that holds this agent's epoch.
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

    /// Adds the write of a record, and that it still has the version that the write depends on, if it does.
    pub fn record(&mut self, write: RecordWrite) {
        if let Some(version) = write.version() {
            let Entity { kind, id, .. } = write.entity();
            self.expect.push(Expect::Version(*kind, id.clone(), version));
        }
        self.push(Write::from(write));
    }

    /// Adds a post to an agent, and the wake-up that is due with it.
    pub fn post(&mut self, post: Post, owner: &Owner) {
        self.writes.extend(Write::posted(post, owner));
    }
}

impl Write {
    /// The writes of a post: the post, and the wake-up that is due with it.
    #[must_use]
    pub fn posted(post: Post, owner: &Owner) -> [Self; 2] {
        let wakeup = Wakeup { id: post.wakeup, ..Wakeup::new(post.agent, owner.clone(), post.at) };
        [Self::ScheduleWakeup(wakeup), Self::Post(post)]
    }
}

impl From<RecordWrite> for Write {
    fn from(write: RecordWrite) -> Self {
        let (entity, event) = write.into_parts();
        Self::Record(entity, event)
    }
}

impl Write {
    /// Creates the write of a record, new or changed, with the event that it emits.
    ///
    /// # Errors
    /// None in practice: records are plain data.
    pub fn record<R: Record>(record: &R) -> serde_json::Result<Self> {
        RecordWrite::of(record).map(Self::from)
    }

    /// Creates the write of a stored record, without an event.
    #[must_use]
    pub const fn entity(entity: Entity) -> Self {
        Self::Record(entity, None)
    }

    /// Returns the record that this writes, if it is one of this type.
    #[must_use]
    pub fn as_record<R: Record>(&self) -> Option<R> {
        match self {
            Self::Record(entity, _) if entity.kind == R::KIND => R::from_entity(entity).ok(),
            _ => None,
        }
    }
}
