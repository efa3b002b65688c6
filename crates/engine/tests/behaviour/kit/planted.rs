//! Bugs for the tests to find: what a faulty store, tool or model would do. Tests that claim to
//! find faults must find these; an audit that misses one is itself faulty.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use entourage_store::{
    BudgetChange, Claim, Commit, Committed, Error, Expect, Fence, Result, Store, StoreLayer, Write,
};
use entourage_types::{
    AgentId, Answer, DecisionOutcome, EntityKind, Event, ItemBody, Notice, NoticeCode, OnEnd, Owner, Post,
    PostBody, PostId, Question, QuestionStatus, Record, Scope, Status, StepKey, StepState, Task, Tombstone,
    Usage, Verdict, WakeupId,
};

macro_rules! bugs {
    ($($(#[$doc:meta])* $bug:ident => $says:literal),+ $(,)?) => {
        /// A bug that can be planted.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(crate) enum Bug {
            $(#[doc = $says] $bug),+
        }

        impl Bug {
            /// All bugs.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$bug),+];

            /// What goes wrong.
            #[must_use]
            pub(crate) const fn says(self) -> &'static str {
                match self { $(Self::$bug => $says),+ }
            }
        }
    };
}

bugs! {
    WakeupLost => "a wake-up is not written with its cause",
    WakeupStays => "a served wake-up stays",
    WakeupServedEarly => "a wake-up is removed when its activation begins instead of when it ends",
    PostLost => "a post is not written, its wake-up is",
    PostReadTwice => "a post that was read stays in the inbox",
    AnswerLost => "a question is answered, and the answer not sent",
    ResultLost => "a task ends, and its result is not sent",
    ResultAstray => "a result goes to the agent that worked instead of the one that asked",
    MessageGarbled => "a message loses its end on the way into the transcript",
    OutputTwice => "an output is appended twice",
    SubOutputTwice => "an output of a call of code is appended twice",
    SubOutputAstray => "an output of a call of code is stored as one of other code",
    SubCallLeftOpen => "a call that code has left has no output when its code ends",
    IntentLost => "the intent of a call is not on record",
    WaitLost => "what a call waits for is not on record",
    FenceIgnored => "a commit under an old epoch is accepted",
    EpochNotRaised => "a claim does not raise the epoch",
    HalfCommit => "the second half of a commit is lost",
    EventSkipped => "an event is left out",
    EventTwice => "an event is emitted twice",
    OwnerIgnored => "a read does not check the owner of the rows",
    OwnerMixed => "a question is stored under another owner",
    UsageDropped => "a run loses its usage",
    QuestionReopened => "an answered question is open again",
    TaskReopened => "a task that ended runs again",
    RunLeftOpen => "an agent ends, and its run does not",
    ChildOutlives => "a deleted child lives on",
    DeletedComesBack => "a deleted agent is as new",
    RejectionIgnored => "a call that a person rejected is made",
    ToolActsTwice => "a tool has its effect twice in one call",
    RefusalEnds => "an answer that does not fit ends its decision",
    PromptLost => "what a program wanted decided is not on record",
    JoinedTwice => "a result that is joined is sent as well",
    TombstoneLost => "a forgotten agent leaves no tombstone",
    RoomIgnored => "a reservation is made whether the budget has room or not",
    UseLost => "what a call used is not settled",
    ReservationLost => "a call is made without its reservation",
    VersionKept => "a write leaves the version of its record as it was",
    ContextTwice => "a context is appended twice",
    ScheduleLost => "the wake-up of a schedule is not written",
    LivingMiscounted => "a store counts a child too many with the living",
    CallIdsRepeat => "a model's own call ids, which repeat, are used as Entourage's",
    EvictLost => "the other nodes do not hear that an agent is deleted",
    EvictTooEarly => "a deletion does not wait until the other nodes have left the agent",
    LeaseIgnored => "a node without its lease goes on",
    WakeupDropped => "a wake-up is dropped that is due by the store's clock, and not by the node's own",
    StoreTimeMissing => "a claim does not return the store's time",
    InboxKept => "a node still sees posts that another node has read",
    NewsNotMissed => "a node does not look for events whose news were lost",
}

/// A store with a bug; bugs of tools, models and single nodes are planted elsewhere.
#[derive(Clone)]
pub(crate) struct Planted {
    bug: Bug,
    count: Arc<AtomicU64>,
}

impl Planted {
    /// Plants the bug of a store, which shows now and then, as bugs do.
    #[must_use]
    pub(crate) fn new(bug: Bug) -> Self {
        Self { bug, count: Arc::default() }
    }

    /// Whether it shows this time.
    fn shows(&self) -> bool {
        self.count.fetch_add(1, Ordering::Relaxed) % 3 == 1
    }

    /// Returns the write as the bug changes it, or none if the bug loses it.
    fn distort(&self, write: Write) -> Option<Write> {
        let hit = match (self.bug, &write) {
            (Bug::WakeupStays, Write::ConsumeWakeup(_)) => true,
            (Bug::WakeupLost, Write::ScheduleWakeup(_))
            | (Bug::PostLost, Write::Post(_))
            | (Bug::PostReadTwice, Write::ConsumePost(_)) => self.shows(),
            (Bug::ScheduleLost, Write::ScheduleWakeup(wakeup)) => wakeup.schedule.is_some() && self.shows(),
            (Bug::AnswerLost, Write::Post(post)) => matches!(post.body, PostBody::Answer { .. }),
            (Bug::ResultLost, Write::Post(post)) => matches!(post.body, PostBody::Done { .. }),
            (Bug::IntentLost, Write::Step(step)) => step.state == StepState::Started,
            (Bug::WaitLost, Write::Step(step)) => step.state.is_open(),
            (Bug::UseLost, Write::Budget(change)) => {
                matches!(change, BudgetChange::Settle { is_all: true, .. }) && self.shows()
            }
            (Bug::ReservationLost, Write::Budget(change)) => {
                matches!(change, BudgetChange::Reserve { .. }) && self.shows()
            }
            (Bug::TombstoneLost, write) => write.as_record::<Tombstone>().is_some(),
            (Bug::RunLeftOpen, Write::Run(run)) => run.status.is_terminal() && self.shows(),
            _ => return Some(self.change(write)),
        };
        (!hit).then_some(write)
    }

    fn change(&self, mut write: Write) -> Write {
        match (self.bug, &mut write) {
            (Bug::ResultAstray, Write::Post(post)) => {
                if let PostBody::Done { from, .. } = post.body {
                    post.agent = from;
                }
            }
            (Bug::MessageGarbled, Write::Item(item)) => {
                if let ItemBody::Message(message) = &mut item.body {
                    message.text.pop();
                }
            }
            (Bug::SubOutputAstray | Bug::SubCallLeftOpen, Write::Item(item)) => {
                match &mut item.body {
                    // What code still waits for must be there: without it the code would be run for ever.
                    ItemBody::SubOutput(left) if left.output.text.contains("without waiting") => {
                        match self.bug {
                            Bug::SubOutputAstray => left.of = left.output.call,
                            _ => item.body = ItemBody::Notice(Notice::new(NoticeCode::Progress, "")),
                        }
                    }
                    _ => {}
                }
            }
            (Bug::RefusalEnds | Bug::PromptLost, Write::Item(item)) => {
                if let ItemBody::Decision(decision) = &mut item.body {
                    match decision.outcome {
                        _ if self.bug == Bug::PromptLost => decision.prompt = None,
                        DecisionOutcome::Refused { .. } => {
                            item.step = Some(StepKey::Decision(decision.name.clone()));
                        }
                        _ => {}
                    }
                }
            }
            (Bug::RejectionIgnored, Write::Post(post)) => {
                if let PostBody::Answer { answer: answer @ Answer::Reject { .. }, .. } = &mut post.body {
                    *answer = Verdict::Approve.into();
                }
            }
            (Bug::OwnerMixed, write) => {
                changed(write, |question: &mut Question| question.owner = Owner::new("somebody"))
            }
            (Bug::UsageDropped, Write::Run(run)) if self.shows() => run.usage = Usage::default(),
            (Bug::QuestionReopened, write) => {
                changed(write, |question: &mut Question| question.status = QuestionStatus::Open)
            }
            (Bug::ChildOutlives, Write::Agent(agent))
                if agent.status == Status::Cancelled && agent.parent.is_some() =>
            {
                agent.status = Status::Succeeded;
            }
            (Bug::DeletedComesBack, Write::Agent(agent)) if agent.status == Status::Cancelled => {
                agent.status = Status::Idle;
            }
            _ => {}
        }
        write
    }

    /// Adds the writes that the bug adds to the commit, or cuts it.
    fn add(&self, commit: &mut Commit) {
        match self.bug {
            Bug::TaskReopened => {
                let ended =
                    |write: &&Write| write.as_record().is_some_and(|task: Task| task.status.is_terminal());
                if let Some(mut again) = commit.writes.iter().find(ended).cloned() {
                    changed(&mut again, |task: &mut Task| task.status = Status::Running);
                    commit.push(again);
                }
            }
            Bug::OutputTwice => {
                let last = commit.writes.iter().rev().find_map(|write| match write {
                    Write::Item(item) if matches!(item.body, ItemBody::Output(_)) => Some(item.clone()),
                    _ => None,
                });
                if let Some(mut item) = last.filter(|_| self.shows()) {
                    item.seq += 1;
                    commit.writes.push(Write::Item(item));
                }
            }
            Bug::JoinedTwice => {
                let tasks: Vec<Task> = commit.writes.iter().filter_map(Write::as_record).collect();
                for task in tasks.iter().filter(|task| task.on_end == OnEnd::Join) {
                    if let Some(result) = task.result.clone() {
                        let (kind, from) = (task.kind.clone(), task.to);
                        let body = PostBody::Done { task: task.id, call: task.call, from, kind, result };
                        let (id, wakeup) = (PostId::new(), WakeupId::new());
                        commit.post(Post { id, agent: task.from, at: commit.at, wakeup, body }, &task.owner);
                    }
                }
            }
            Bug::ContextTwice if self.shows() => {
                append_twice(commit, |body| matches!(body, ItemBody::Context(_)))
            }
            Bug::SubOutputTwice => append_twice(commit, |body| matches!(body, ItemBody::SubOutput(_))),
            // Otherwise the deletion would wait for the child that outlives it.
            Bug::ChildOutlives | Bug::DeletedComesBack => {
                commit.expect.retain(|expect| !matches!(expect, Expect::ChildrenDeleted(_)));
            }
            Bug::RoomIgnored => commit.expect.retain(|expect| !matches!(expect, Expect::Affords(..))),
            Bug::HalfCommit if commit.writes.len() > 3 && self.shows() => {
                commit.writes.truncate(commit.writes.len() / 2);
            }
            _ => {}
        }
    }

    /// Gives records that a commit wrote the version that they had before.
    async fn keep_versions(&self, store: &Arc<dyn Store>, commit: &Commit) -> Result<()> {
        for write in &commit.writes {
            let Write::Record(record, _) = write else { continue };
            let (kind, id) = (record.kind, record.id.clone());
            let Some(now) = store.entity(&Scope::All, kind, &id).await? else { continue };
            if now.version > 1 && kind != EntityKind::COUNTER && self.shows() {
                let mut again = Commit::new(commit.at).write(Write::PruneEntity(kind, id));
                (1..now.version).for_each(|_| again.push(Write::Record(now.clone(), None)));
                store.commit(again).await?;
            }
        }
        Ok(())
    }

    /// The fence of the activation that holds the agent now.
    async fn refenced(store: &Arc<dyn Store>, commit: &Commit) -> Result<Option<Fence>> {
        let Some(fence) = commit.fence else { return Ok(None) };
        let agent = store.agent(&Scope::All, fence.agent).await?;
        Ok(agent.map(|agent| Fence { agent: agent.id, epoch: agent.epoch }))
    }
}

#[async_trait]
impl StoreLayer for Planted {
    fn scope(&self, scope: &Scope) -> Scope {
        if self.bug == Bug::OwnerIgnored { Scope::All } else { scope.clone() }
    }

    fn events(&self, mut events: Vec<Event>) -> Vec<Event> {
        if events.len() > 2 && self.bug == Bug::EventSkipped {
            events.remove(1);
        }
        if events.len() > 2 && self.bug == Bug::EventTwice {
            events.insert(1, events[1].clone());
        }
        events
    }

    async fn claim(&self, store: &Arc<dyn Store>, agent: AgentId, from: u64) -> Result<Option<Claim>> {
        let Some(mut claim) = store.claim(agent, from).await? else { return Ok(None) };
        if self.bug == Bug::WakeupServedEarly {
            let mut commit = Commit::fenced(&claim.agent, claim.agent.updated);
            let served: Vec<WakeupId> = claim.wakeups.iter().map(|wakeup| wakeup.id).collect();
            commit.writes.extend(served.into_iter().map(Write::ConsumeWakeup));
            store.commit(commit).await?;
        }
        if self.bug == Bug::EpochNotRaised {
            claim.agent.epoch = 1.into();
        }
        Ok(Some(claim))
    }

    async fn commit(&self, store: &Arc<dyn Store>, mut commit: Commit) -> Result<Committed> {
        let writes = std::mem::take(&mut commit.writes);
        commit.writes = writes.into_iter().filter_map(|write| self.distort(write)).collect();
        self.add(&mut commit);
        if self.bug == Bug::EpochNotRaised {
            commit.fence = Self::refenced(store, &commit).await?;
        }
        let done = store.commit(commit.clone()).await;
        if self.bug == Bug::VersionKept && done.is_ok() {
            self.keep_versions(store, &commit).await?;
        }
        match done {
            Err(Error::TooManyChildren { parent, found, limit }) if self.bug == Bug::LivingMiscounted => {
                Err(Error::TooManyChildren { parent, found: found + 1, limit })
            }
            Err(Error::Fenced { .. }) if self.bug == Bug::FenceIgnored => {
                commit.fence = Self::refenced(store, &commit).await?;
                store.commit(commit).await
            }
            done => done,
        }
    }
}

/// Changes the record that is written, if this writes one of this type.
fn changed<R: Record>(write: &mut Write, change: impl FnOnce(&mut R)) {
    if let Some(mut record) = write.as_record() {
        change(&mut record);
        *write = Write::record(&record).expect("records are plain data");
    }
}

/// Appends the first such item of a commit once more, right behind it.
fn append_twice(commit: &mut Commit, is_it: impl Fn(&ItemBody) -> bool) {
    let Some(fence) = commit.fence else { return };
    let is_own = |write: &Write| match write {
        Write::Item(item) => item.agent == fence.agent && is_it(&item.body),
        _ => false,
    };
    let Some(at) = commit.writes.iter().position(is_own) else { return };
    commit.writes.insert(at + 1, commit.writes[at].clone());
    for write in &mut commit.writes[at + 1..] {
        match write {
            Write::Item(item) if item.agent == fence.agent => item.seq += 1,
            Write::Agent(row) => row.items += 1,
            _ => {}
        }
    }
}
