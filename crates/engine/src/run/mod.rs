//! One activation of a run: its state in memory, and what it does. It lives for one activation only; what it
//! has not committed never happened.
//!
//! One file per thing that can happen.

mod batch;
mod commit;
mod control;
mod delegation;
mod guards;
mod inbox;
mod lifecycle;
mod model;
mod offered;
mod program;
mod questions;
mod run_record;
mod status_writes;
mod step_error;
mod steps;
mod tools;
mod trace;
mod transcript;

use std::{collections::HashSet, sync::Arc};

use entourage_store::{Claim, Commit, Error as StoreError, Write};
use entourage_types::{Agent, Item, ItemBody, Kind, PostId, Scope, StepKey, Time, WaitingOn};

pub use inbox::receive::Arrival;
pub use model::decide::{Conversation, DecisionFailed, DecisionRequest, DecisionView, Reader, TextRequest};
pub use program::{
    calls::CallResult,
    join::Joined,
    settings::settings_of,
    spawn::{NewTask, Spawned},
};
pub(crate) use program::{project::AboutProject, say_with::Together};
pub use tools::output::TurnOutcome;

pub(crate) use guards::limits::is_last_announced;
pub(crate) use lifecycle::{neglect::Neglect, session};

use batch::Batch;
use control::Control;
use inbox::Inbox;
use offered::Offered;
use run_record::RunRecord;
use step_error::StepError;
use steps::Steps;
use transcript::Transcript;

use crate::{
    Engine, Interrupt, Stop,
    activations::ActivationGuard,
    prompt::Chain,
    restart::{ExclusiveTurn, ended_in_order},
};

type Result<T, E = Interrupt> = std::result::Result<T, E>;

/// A run during one activation. Each part keeps its fields private, and the files of this folder change it only
/// through its methods; the agent's row alone is changed in place.
pub struct Run<'e> {
    engine: &'e Engine,
    kind: Arc<Kind>,
    /// The tools and the stable prompt prefix that the model is offered.
    offered: Offered,
    agent: Agent,
    record: RunRecord,
    steps: Steps,
    transcript: Transcript,
    inbox: Inbox,
    /// The writes and expectations of the next commit.
    batch: Batch,
    control: Control,
}

impl<'e> Run<'e> {
    /// Continues the agent's open run, or begins one. What is due `by` then is due, also where this engine's clock
    /// is behind.
    ///
    /// # Errors
    /// If the version of the kind that the run started with cannot be read.
    pub(crate) async fn open(
        engine: &'e Engine,
        (claim, chain): (Claim, Option<Chain>),
        by: Time,
        entered: &ActivationGuard,
    ) -> Result<Self, StoreError> {
        let now = engine.now();
        let Claim { agent, run, steps, items, inbox, wakeups, .. } = claim;
        let kind = engine.kind_of(&agent, run.as_ref()).await?;
        let switches = match &run {
            Some(run) => run.switches.clone(),
            None => engine.switches_for(&agent).await?,
        };
        let offered = Offered::new(engine, &agent, &kind, &items, &switches);
        entered.pulse().may_be_silent_for(&kind.limits);
        let control =
            Control::new(entered, &**engine.clock(), agent.waiting_on == Some(WaitingOn::Resume)).due_by(by);
        let mut record = RunRecord::of(run, &agent, (&kind, switches), now);
        // The first commit of a run also stores the version of the kind that the run started with.
        let version = if record.is_open() { None } else { engine.keep(&kind, now).await? };
        let message = inbox::run_options::message_of(&items, &record);
        control.set_answers(message.and_then(|message| message.post));
        record.set_options(message.and_then(|message| message.options.clone()));
        let transcript = Transcript::new(items, chain, &steps);
        Ok(Self {
            engine,
            kind,
            offered,
            steps: Steps::new(record.id, steps, transcript.items()),
            agent,
            record,
            transcript,
            inbox: Inbox::new(inbox, &wakeups, by),
            batch: Batch::of(version),
            control,
        })
    }

    /// Returns the run with the turn that it holds while it is resumed alone, until its first commit.
    pub(crate) fn alone(mut self, alone: ExclusiveTurn) -> Self {
        self.control.take_up_alone(alone);
        self
    }

    /// Records on an open run that its process shuts down cleanly, so that the next process does not count it
    /// as a crash.
    async fn end_in_order(&self) -> Result<(), StoreError> {
        if !self.record.is_open() {
            return Ok(());
        }
        let at = self.engine.now();
        // Without the batch: its writes have not happened.
        let said = Commit::fenced(&self.agent, at).write(ended_in_order(&self.record, at));
        self.commit_as_is(said).await.map(drop)
    }

    /// Returns an error if the run's kind no longer exists or cannot work in this engine.
    pub(crate) fn ready(&self) -> Result<()> {
        // Every kind of an engine has a version; the placeholder for a removed kind has none.
        if !self.kind.version.is_empty() {
            return self.engine.check_kind(&self.kind).map_err(Interrupt::failed);
        }
        let (name, known) = (&self.agent.kind, self.engine.kinds().names());
        // It may be there where the agent was created.
        let (gone, mend) = match self.engine.store().nodes() {
            Some(_) => {
                ("is unknown to the process at which this agent was to work", "Give each process the file")
            }
            None => ("no longer exists", "Restore its file"),
        };
        Err(Interrupt::failed(format!(
            "the kind `{name}` {gone}; there are: {known}. {mend} and write to the agent again"
        )))
    }

    /// Prepares the activation: applies interventions and ends a session that is over.
    pub(crate) async fn begin_activation(&mut self) -> Result<()> {
        self.apply_interventions().await?;
        self.end_session().await
    }

    /// Prepares the work of the run's program.
    pub(crate) async fn prepare_work(&mut self) -> Result<()> {
        self.ready()?;
        Ok(self.await_tool_servers().await?)
    }

    /// Waits until the engine knows for each server of tools that the kind may use whether it can be
    /// connected, however long that takes, and then offers the tools that exist. A run that is only ended
    /// skips this: it needs no tools.
    async fn await_tool_servers(&mut self) -> Result<(), StoreError> {
        let before = self.engine.clock().tick();
        let (servers, cut) = (&self.engine.inner.servers, self.control.cancel());
        let switches = self.offered.switches();
        let heard = async {
            servers.heard(&self.kind, switches, cut).await;
            tokio::select! {
                connected = self.engine.connect_for_owner(&self.agent.owner, &self.kind, switches) => connected,
                () = cut.cancelled() => Ok(self.engine.owner_servers(&self.agent.owner)),
            }
        };
        let servers = self.control.pulse().beating(&**self.engine.clock(), heard).await?;
        self.offered.use_servers(servers);
        // The wait is not time at work.
        self.control.waited(self.engine.clock().tick().since(before));
        self.offered.renew(self.engine, &self.agent, &self.kind);
        Ok(())
    }

    /// Returns the span with the ids that every log line of the activation carries; its level is error, so
    /// that it is active at every log level.
    pub(crate) fn log_span(&self) -> tracing::Span {
        let Agent { id, root, .. } = &self.agent;
        tracing::error_span!("activation", agent = %id, root = %root, run = %self.record.id)
    }

    /// The agent's kind.
    #[must_use]
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// How many agents are above the agent.
    #[must_use]
    pub fn depth(&self) -> u16 {
        self.agent.depth
    }

    /// Whether the agent works for another agent, and not for a person.
    #[must_use]
    pub fn works_for_agent(&self) -> bool {
        !self.agent.works_for.is_person()
    }

    /// The transcript of the current session.
    #[must_use]
    pub fn items(&self) -> &[Item] {
        self.transcript.items()
    }

    /// Returns the agent and its session for the transcript cache; no items if the last writes were not
    /// committed.
    pub(crate) fn into_committed(self) -> (Agent, Vec<Item>, Option<Chain>) {
        let (items, chain) =
            if self.batch.has_writes() { Default::default() } else { self.transcript.into_parts() };
        (self.agent, items, chain)
    }

    /// Whether the program still replays steps that were finished before the activation: until it has passed
    /// them all, it must not read anything new.
    fn replaying(&self) -> bool {
        self.steps.replaying()
    }

    /// What belongs to the agent's owner.
    fn scope(&self) -> Scope {
        Scope::from(&self.agent.owner)
    }

    /// Whether a moment has come, by this engine's clock or by that of the delivery.
    fn is_due(&self, due: Time) -> bool {
        due <= self.moment()
    }

    /// The moment by which something is due: the later of this engine's clock and the delivery's.
    fn moment(&self) -> Time {
        self.control.moment(self.engine.now())
    }

    /// Appends an item that is not the result of a step, and returns the write that stores it.
    fn append(&mut self, body: ItemBody, at: Time) -> Write {
        self.append_of_step(None, body, at)
    }

    /// Appends an item, with the step whose checkpoint it is (if any), and returns the write that stores it.
    fn append_of_step(&mut self, step: Option<StepKey>, body: ItemBody, at: Time) -> Write {
        if matches!(body, ItemBody::Turn(_)) {
            self.close_calls_not_made();
        }
        let item = self.next_item(step, body, at);
        self.join_transcript(&item);
        Write::Item(item)
    }

    /// The next item of the transcript, before it joins it.
    fn next_item(&self, step: Option<StepKey>, body: ItemBody, at: Time) -> Item {
        Item {
            agent: self.agent.id,
            seq: self.agent.items,
            run: self.record.id,
            session: self.agent.session,
            at,
            step,
            body,
        }
    }

    fn join_transcript(&mut self, item: &Item) {
        self.agent.items += 1;
        self.steps.joined(self.transcript.items().len(), item);
        self.transcript.push(item.clone());
        if self.offered.needs_reader(item, &self.kind) {
            self.offered.renew_position(self.transcript.items(), self.engine, &self.agent, &self.kind);
        }
    }

    /// Reads the inbox again if the store has, or may have, posts that are not in memory.
    async fn refresh(&mut self) -> Result<(), StoreError> {
        if self.inbox.take_stale() {
            let (store, agent) = (self.engine.store(), self.agent.id);
            // Their ids are in the order of the writers' clocks, the posts in that of their arrival.
            let mut ids: HashSet<PostId> = store.post_ids(agent, u32::MAX).await?.into_iter().collect();
            // Those in memory came before, and are not read again: many may stay unread for long.
            let mut posts = self.inbox.take_posts();
            posts.retain(|post| ids.remove(&post.id));
            if !ids.is_empty() {
                let new = store.posts(agent, ids.into_iter().collect()).await?;
                self.inbox.arrived(&new);
                posts.extend(new);
            }
            // The store still has the posts that the batch consumes.
            posts.retain(|post| !self.batch.consumes(post));
            self.inbox.replace(posts);
        }
        Ok(())
    }
}

/// Returns an error if another node may do what is about to begin.
fn check_lease(engine: &Engine) -> Result<()> {
    if engine.inner.signals.holds_lease() { Ok(()) } else { Err(Interrupt::Stopping) }
}
