//! A run under way: what one activation knows and does. It lives for one activation only; whatever
//! it has not committed never happened.
//!
//! One file per thing that can happen.

mod approve;
mod ask;
mod call_model;
mod call_tools;
mod cancel_work;
mod check;
mod close;
mod compact;
mod context;
mod deadlock;
mod delegate;
mod delegation_order;
mod doubt;
mod expire;
mod finish;
mod interventions;
mod invented;
mod kept;
mod limits;
mod loop_detection;
mod make;
mod reactivate;
mod receive;
mod reply;
mod rows;
pub(crate) mod session;
mod speak;
mod steps;
mod stop;
mod summarize;
mod terms;
mod trace;
mod usage;

use std::sync::{Arc, Mutex};

use entourage_store::{Claim, Commit, Error as StoreError, Expect, Write};
use entourage_types::{
    Agent, Item, ItemBody, Kind, Post, PostId, Run as Record, Step, StepKey, Terms, Time, WaitingOn, WakeupId,
};
use tokio_util::sync::CancellationToken;

pub use receive::Arrival;
pub use speak::Told;
pub use stop::{Interrupt, Stop};

pub(crate) use compact::{BYTES, density};
pub(crate) use invented::Reading;
pub(crate) use reactivate::is_below;

use steps::Steps;

use crate::{
    Engine,
    activations::ActivationGuard,
    programs,
    prompt::is_cut,
    restart::{Alone, ended_in_order},
    toolset::{Position, Toolset},
    versions::is_kind,
    watchdog::Heartbeat,
};

type Result<T, E = Interrupt> = std::result::Result<T, E>;

/// A run under way.
pub struct Run<'h> {
    engine: &'h Engine,
    kind: Arc<Kind>,
    offer: Arc<Toolset>,
    position: Position,
    /// The stable prefix, once it was needed.
    system: Option<Arc<str>>,
    agent: Agent,
    record: Record,
    /// What whoever wrote the message that it answers said of it.
    terms: Option<Terms>,
    /// Whether the record has been committed.
    opened: bool,
    steps: Steps,
    items: Vec<Item>,
    inbox: Vec<Post>,
    /// Whether the inbox has posts that are not in memory.
    inbox_grew: bool,
    /// Wake-ups that this activation serves; consumed when it stops.
    served: Vec<WakeupId>,
    /// How many model calls the program has come by.
    turns: u32,
    began: Time,
    /// Cancelled when the activation shall end where it is: the process stops, or a person
    /// intervenes.
    cut: CancellationToken,
    /// Where it says which message it answers.
    answers: Arc<Mutex<Option<PostId>>>,
    /// Beats with each commit and each piece of an answer.
    pulse: Arc<Heartbeat>,
    /// Whether a person wants it to begin nothing new.
    paused: bool,
    /// Whether an attempt that is due later is made now.
    hurried: bool,
    /// How much of what tools returned the session keeps, in bytes.
    kept: usize,
    /// Held by one that is taken up alone, until it has got somewhere.
    alone: Alone,
    /// Writes that ride along with the next commit: nothing can happen before it.
    riding: Vec<Write>,
    /// What others may have changed since it was read; the next commit expects that they did not.
    expecting: Vec<Expect>,
}

impl<'h> Run<'h> {
    /// Goes on with the agent's open run, or begins one.
    ///
    /// # Errors
    /// When the version of its kind that it started with cannot be read.
    pub(crate) async fn open(
        engine: &'h Engine,
        claim: Claim,
        entered: &ActivationGuard,
    ) -> Result<Self, StoreError> {
        let now = engine.now();
        let Claim { agent, run, steps, items, inbox, wakeups } = claim;
        let kind = engine.kind_of(&agent, run.as_ref()).await?;
        let position = Position::of(&agent, &kind, &items);
        let offer = engine.inner.offers.of(&kind, position, &agent.owner, || engine.offered_from());
        entered.pulse().may_be_silent_for(&kind.limits);
        let opened = run.is_some();
        let paused = agent.waiting_on == Some(WaitingOn::Resume);
        let record = run.unwrap_or_else(|| rows::blank(&agent, &kind, now));
        let kept = kept::kept(&items, &steps);
        // Whatever comes first of a run brings the version it started with.
        let riding = if opened { None } else { engine.keep(&kind, now)? };
        let message = terms::message_of(&items, &record);
        terms::tell(entered.answers(), message.and_then(|message| message.post));
        let terms = message.and_then(|message| message.terms.clone());
        let served = wakeups.iter().filter(|wakeup| wakeup.due <= now).map(|wakeup| wakeup.id).collect();
        Ok(Self {
            engine,
            kind,
            offer,
            position,
            system: None,
            agent,
            terms,
            steps: Steps::new(record.id, steps, &items),
            record,
            opened,
            items,
            inbox,
            inbox_grew: false,
            served,
            turns: 0,
            began: now,
            cut: entered.cut().clone(),
            answers: Arc::clone(entered.answers()),
            pulse: Arc::clone(entered.pulse()),
            paused,
            hurried: false,
            kept,
            alone: None,
            riding: riding.into_iter().collect(),
            expecting: Vec::new(),
        })
    }

    /// The same, alone until it has got somewhere.
    pub(crate) fn alone(mut self, alone: Alone) -> Self {
        self.alone = alone;
        self
    }

    /// Says of a run under way that its process ends in order.
    async fn end_in_order(&self) -> Result<(), StoreError> {
        if !self.opened {
            return Ok(());
        }
        let at = self.engine.now();
        // What rides along has not happened.
        let said = Commit::fenced(&self.agent, at).write(ended_in_order(&self.record, at));
        self.engine.inner.store.commit(said).await.map(drop)
    }

    /// Whether the run can be driven at all.
    pub(crate) fn ready(&self) -> Result<()> {
        // No kind of a engine is without a version.
        if !self.kind.version.is_empty() {
            return self.engine.check_kind(&self.kind).map_err(Interrupt::failed);
        }
        let (name, known) = (&self.agent.kind, self.engine.kinds().names());
        Err(Interrupt::failed(format!(
            "there is no kind `{name}` any more; there are: {known}. Bring its file back and write to the agent again"
        )))
    }

    /// As far as it can go now, up to and including its close.
    pub(crate) async fn go_on(&mut self) -> Result<(), StoreError> {
        let begun = match self.apply_interventions().await {
            Ok(()) => self.end_session().await,
            interrupted => interrupted,
        };
        let ended = match begun {
            Ok(()) if !self.has_work() => return self.rest().await,
            Ok(()) => self.work().await,
            Err(interrupt) => Err(interrupt),
        };
        self.close(ended).await
    }

    async fn work(&mut self) -> Result<String> {
        self.ready()?;
        self.hear_servers().await;
        programs::drive(self).await
    }

    /// Waits until it is known whether the servers of tools that it may use can be connected, however long
    /// that may take, and offers what there is then. Whoever only ends a run needs no tools.
    async fn hear_servers(&mut self) {
        let before = self.engine.now();
        let heard = self.engine.inner.servers.heard(&self.kind, &self.cut);
        self.pulse.beating(&**self.engine.clock(), heard).await;
        // The run has not worked meanwhile.
        self.began = self.began + self.engine.now().since(before);
        self.offer_anew();
    }

    /// What every line of the log says that is written meanwhile, however few lines are wanted.
    pub(crate) fn named(&self) -> tracing::Span {
        let Agent { id, root, .. } = &self.agent;
        tracing::error_span!("activation", agent = %id, root = %root, run = %self.record.id)
    }

    /// The agent's kind.
    #[must_use]
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The transcript of the current session.
    #[must_use]
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The session for whoever goes on with it; nothing when the last of it was not committed.
    pub(crate) fn into_committed(self) -> (Agent, Vec<Item>) {
        (self.agent, if self.riding.is_empty() { self.items } else { Vec::new() })
    }

    /// Whether the program runs over steps that were finished before: until it has come by them all, it must not
    /// read anything new.
    fn replaying(&self) -> bool {
        self.steps.finished_before(&StepKey::Model(self.turns + 1)).is_some()
    }

    /// Commits writes of this activation, and takes them over into memory once they are durable.
    async fn commit(&mut self, writes: Vec<Write>) -> Result<()> {
        let mut commit = self.fenced(self.engine.now());
        commit.writes.extend(writes);
        self.apply(commit).await
    }

    /// Commits what rides along, if anything does.
    async fn flush(&mut self) -> Result<()> {
        if self.riding.is_empty() { Ok(()) } else { self.commit(Vec::new()).await }
    }

    /// A commit of this activation, with what rides along.
    fn fenced(&mut self, at: Time) -> Commit {
        let (writes, expect) = (std::mem::take(&mut self.riding), std::mem::take(&mut self.expecting));
        Commit { writes, expect, ..Commit::fenced(&self.agent, at) }
    }

    async fn apply(&mut self, commit: Commit) -> Result<()> {
        let steps: Vec<Step> = commit
            .writes
            .iter()
            .filter_map(|write| match write {
                Write::Step(step) => Some(step.clone()),
                _ => None,
            })
            .collect();
        let brings_kind = commit.writes.iter().any(is_kind);
        let committed = self.engine.inner.store.commit(commit).await?;
        self.pulse.beat(self.engine.now());
        self.alone = None;
        if brings_kind {
            self.engine.kept(&self.kind);
        }
        self.inbox_grew = committed.inbox;
        self.steps.committed(steps);
        Ok(())
    }

    /// The next item of the transcript, which is no step's result, with the write that keeps it.
    fn item(&mut self, body: ItemBody, at: Time) -> Write {
        self.join(None, body, at)
    }

    /// The next item of the transcript, with the step whose checkpoint it is, and the write that keeps it.
    fn join(&mut self, step: Option<StepKey>, body: ItemBody, at: Time) -> Write {
        let item = Item {
            agent: self.agent.id,
            seq: self.agent.items,
            run: self.record.id,
            session: self.agent.session,
            at,
            step,
            body,
        };
        self.agent.items += 1;
        self.steps.joined(self.items.len(), &item);
        self.items.push(item.clone());
        if !self.position.has_cuts && is_cut(&item.body, self.kind.limits.max_output_chars) {
            self.position_changed();
        }
        Write::Item(item)
    }

    /// Reads the inbox again when the store said that it grew.
    async fn refresh(&mut self) -> Result<()> {
        if std::mem::take(&mut self.inbox_grew) {
            self.inbox = self.engine.inner.store.inbox(self.agent.id).await?;
            // What rides along has been read, and the store does not know it yet.
            let riding = &self.riding;
            let is_read =
                |post: &Post| riding.iter().any(|w| matches!(w, Write::ConsumePost(id) if *id == post.id));
            self.inbox.retain(|post| !is_read(post));
        }
        Ok(())
    }

    /// A post has been read: it goes, and the wake-up it brought is served.
    fn read(&mut self, post: &Post) -> Write {
        self.served.push(post.wakeup);
        Write::ConsumePost(post.id)
    }
}
