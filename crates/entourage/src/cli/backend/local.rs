//! The engine in this process.

use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use entourage::{Client, Engine, Entourage, Entry, NewAgent, Settings, Signal, Watch};
use entourage_engine::{
    Error, FoundInconsistency, JobRecord, ReceiverRecord, Seen, StoreError, UsageQuery,
    dispatch::{Advance, Due},
    kinds::Severity,
};
use entourage_store::{AgentQuery, Page};
use entourage_types::{
    Action, Agent, AgentId, Answer, Chat, Event, Grant, GrantId, GrantStatus, Intervention, Item, PostBody,
    PostId, Question, QuestionId, QuestionStatus, Scope, Session, ShownStatus, Status, Tally, Time, UsageRow,
};
use tokio::{
    sync::{Mutex, watch},
    task::JoinHandle,
};

use super::{Backend, Follow, Left, Listed, Part, Result, Tree, UNFINISHED, host::Host, owner};
use crate::cli::{failure::Failure, out};

/// How many rows are read at once.
pub(super) const PAGE: u32 = 500;
/// How many items of a conversation are read at once.
const PART: u32 = 100;

/// The engine in this process.
pub(crate) struct Local {
    engine: Engine,
    client: Client,
    /// None when the engine only reads and writes rows and runs no agents.
    entourage: Option<Entourage>,
    worker: Mutex<Option<JoinHandle<()>>>,
    /// Why the agents cannot work any more, once that happens.
    broken: watch::Sender<Option<String>>,
    /// Serves this engine to other commands.
    host: Mutex<Option<Host>>,
}

impl Local {
    /// An engine to read and write rows; no agent runs.
    pub(crate) async fn to_look(settings: &Settings) -> entourage::Result<Self> {
        Ok(Self::at(entourage::look_only(settings).await?))
    }

    /// An engine to read; writes may be lost.
    pub(crate) async fn to_read(settings: &Settings) -> entourage::Result<Self> {
        Ok(Self::at(entourage::read_only(settings).await?))
    }

    /// Wraps this engine; no agent runs.
    pub(crate) fn at(engine: Engine) -> Self {
        Self::new(engine, None)
    }

    /// An engine with everything that agents need to work.
    pub(crate) async fn to_work(settings: &Settings) -> entourage::Result<Self> {
        let entourage = Entourage::open(settings).await?;
        for problem in &entourage.problems {
            out::note(out::stderr().yellow(format!("note: {problem}; going on without its tools")));
        }
        for mistake in entourage.remarks.iter().filter(|found| found.severity == Severity::Mistake) {
            out::note(out::stderr().yellow(format!("{mistake}; going on without this file")));
        }
        let host = Host::open(entourage.engine.clone(), settings).await;
        if let Err(failure) = &host {
            let why = failure.text();
            out::note(out::stderr().yellow(format!("note: other commands cannot reach this one: {why}")));
        }
        let local = Self::new(entourage.engine.clone(), Some(entourage));
        Ok(Self { host: Mutex::new(host.ok()), ..local })
    }

    fn new(engine: Engine, entourage: Option<Entourage>) -> Self {
        let client = engine.client(owner());
        let broken = watch::Sender::new(None);
        Self { engine, client, entourage, worker: Mutex::default(), broken, host: Mutex::default() }
    }

    /// The root of an agent's tree, if the agent belongs to this owner and has something to read.
    async fn stirring(&self, agent: AgentId) -> Result<Option<AgentId>> {
        let inbox = self.engine.store().inbox(agent).await?;
        if inbox.iter().all(|post| matches!(post.body, PostBody::Answer { .. })) {
            return Ok(None);
        }
        let found = self.engine.store().agent(&Scope::from(&owner()), agent).await?;
        Ok(found.map(|agent| agent.root))
    }
}

/// Runs the agents of one tree only: work interrupted in another process waits until a user asks for it.
struct OneTree {
    engine: Engine,
    root: AgentId,
    /// Receives the reason when they cannot work.
    broken: watch::Sender<Option<String>>,
}

impl OneTree {
    /// Reports a damaged database to the commands that wait: it stays damaged.
    fn told<T>(&self, done: entourage_engine::Result<T>) -> entourage_engine::Result<T> {
        if let Err(Error::Store(error @ StoreError::Damaged(_))) = &done {
            self.broken.send_replace(Some(error.to_string()));
        }
        done
    }
}

#[async_trait]
impl Advance for OneTree {
    async fn advance(&self, agent: AgentId, due: Due) -> entourage_engine::Result<()> {
        match self.told(self.engine.store().agent(&Scope::All, agent).await.map_err(Into::into))? {
            Some(found) if found.root == self.root => {
                self.told(Advance::advance(&self.engine, agent, due).await)
            }
            _ => Ok(()),
        }
    }

    async fn give_up(&self, agent: AgentId, cause: &str) -> entourage_engine::Result<()> {
        self.engine.give_up(agent, cause).await
    }
}

#[async_trait]
impl Backend for Local {
    async fn expect_kind(&self, name: &str) -> Result<()> {
        self.engine.kinds().named(name)?;
        Ok(())
    }

    // Within a process no message is lost on the way, so no key is needed.
    async fn create(&self, kind: Option<&str>, message: &str, _: Option<&str>) -> Result<Agent> {
        let new = NewAgent { kind: kind.map(Into::into), message: Some(message.into()), title: None };
        Ok(self.client.create(new, None).await?)
    }

    async fn send(&self, to: AgentId, text: &str, _: Option<&str>) -> Result<PostId> {
        Ok(self.client.send(to, text, None).await?.post)
    }

    async fn work(&self, root: AgentId) -> Result<()> {
        if let Some(host) = &mut *self.host.lock().await {
            host.works_on(root)?;
        }
        let mut worker = self.worker.lock().await;
        if let (None, Some(entourage)) = (&*worker, &self.entourage) {
            let (entourage, broken) = (entourage.clone(), self.broken.clone());
            let tree = Arc::new(OneTree { engine: self.engine.clone(), root, broken: broken.clone() });
            *worker = Some(tokio::spawn(async move {
                if let Err(error) = entourage.deliver(tree).await {
                    broken.send_replace(Some(error.to_string()));
                }
            }));
        }
        Ok(())
    }

    fn is_at_work(&self, _: Option<AgentId>) -> bool {
        false
    }

    async fn leave(&self) -> Left {
        if let Some(host) = self.host.lock().await.take() {
            host.close().await;
        }
        self.engine.stopping().cancel();
        if let Some(worker) = self.worker.lock().await.take() {
            // It ends by itself, at the latest after its grace period.
            let _ = worker.await;
        }
        Left::Suspended
    }

    async fn agent(&self, id: AgentId) -> Result<Agent> {
        Ok(self.client.agent(id).await?)
    }

    async fn agents(&self, page: &Listed) -> Result<Part<Agent>> {
        let Listed { roots, status, limit, after } = page.clone();
        let limit = limit.unwrap_or(PAGE).clamp(1, PAGE);
        let page = Page { after, limit, newest_first: true, ..Page::default() };
        let found = self.client.agents(roots, status, page).await?;
        let is_full = found.len() == limit as usize;
        let next = found.last().filter(|_| is_full).map(|last| last.id.to_string());
        Ok((found, next))
    }

    async fn unfinished(&self) -> Result<Vec<AgentId>> {
        let mut roots = BTreeSet::new();
        for status in UNFINISHED {
            let page = Page { limit: PAGE, newest_first: true, ..Page::default() };
            let query =
                AgentQuery { status: Some(ShownStatus::of(status, None)), page, ..AgentQuery::default() };
            let found = self.engine.store().agents(&Scope::from(&owner()), query).await?;
            roots.extend(found.iter().map(|agent| agent.root));
        }
        // An agent that has not begun to read its inbox shows only in its wake-up.
        let waking = self.engine.store().due(Time::from_micros(i64::MAX), None, PAGE).await?;
        for wakeup in waking {
            roots.extend(self.stirring(wakeup.agent).await?);
        }
        Ok(roots.into_iter().rev().collect())
    }

    async fn has_work(&self, root: AgentId) -> Result<bool> {
        if self.client.tree(root).await?.iter().any(|agent| UNFINISHED.contains(&agent.status)) {
            return Ok(true);
        }
        // The status does not show what an agent has yet to read.
        let query = AgentQuery { root: Some(root), unread: true, page: Page::all(), ..AgentQuery::default() };
        for agent in self.engine.store().agents(&Scope::from(&owner()), query).await? {
            if agent.status != Status::Cancelled && self.stirring(agent.id).await?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn tree(&self, agent: AgentId) -> Result<Tree> {
        let agents = self.client.tree(agent).await?;
        let root = agents.first().map_or(agent, |agent| agent.root);
        let Tally { usage, cost, .. } = self.client.tree_usage(root).await?.total();
        Ok(Tree { agents, usage, cost })
    }

    async fn usage(&self, query: &UsageQuery) -> Result<Vec<UsageRow>> {
        Ok(self.client.usage(query.clone()).await?)
    }

    async fn entries(&self, agent: AgentId, before: Option<String>) -> Result<Part<Entry>> {
        // The cursor, a place in the conversation.
        let before = before.as_deref().map(str::parse).transpose()?;
        let (entries, next) = self.client.transcript_before(agent, before, PART, usize::MAX).await?;
        Ok((entries, next.map(|next| next.to_string())))
    }

    async fn items(&self, agent: AgentId, from: u64) -> Result<Vec<Item>> {
        Ok(self.client.items(agent, from, PAGE).await?)
    }

    async fn questions(&self, root: Option<AgentId>) -> Result<Vec<Question>> {
        let page = Page { limit: PAGE, ..Page::default() };
        Ok(self.client.questions(root, Some(QuestionStatus::Open), page).await?)
    }

    async fn question(&self, id: QuestionId) -> Result<Question> {
        Ok(self.client.question(id).await?)
    }

    async fn answer(&self, id: QuestionId, answer: Answer) -> Result<Question> {
        Ok(self.client.answer(id, answer).await?)
    }

    async fn grants(&self, agent: Option<AgentId>) -> Result<Vec<Grant>> {
        let page = Page { limit: PAGE, newest_first: true, ..Page::default() };
        Ok(self.client.grants(None, agent, Some(GrantStatus::Standing), page).await?)
    }

    async fn revoke(&self, id: GrantId) -> Result<Grant> {
        Ok(self.client.revoke(id).await?)
    }

    async fn intervene(&self, agent: AgentId, action: Action, text: Option<&str>) -> Result<Intervention> {
        Ok(self.client.intervene(agent, action, text).await?)
    }

    async fn context(&self, agent: AgentId) -> Result<Seen> {
        Ok(self.client.context(agent).await?)
    }

    async fn sessions(&self, agent: AgentId, limit: u32) -> Result<Vec<Session>> {
        let page = Page { limit, newest_first: true, ..Page::default() };
        Ok(self.client.sessions(agent, page).await?)
    }

    async fn agency_chats(&self, agency: &str, after: Option<&str>) -> Result<Part<Chat>> {
        let page = Page { after: after.map(str::to_owned), limit: PAGE, ..Page::default() };
        let found = self.client.agency_chats(agency, page).await?;
        let is_full = found.len() == PAGE as usize;
        let next = found.last().filter(|_| is_full).map(|last| last.id.clone());
        Ok((found, next))
    }

    async fn delete_agency_chat(&self, agency: &str, chat: &str) -> Result<()> {
        Ok(self.client.delete_agency_chat(agency, chat).await?)
    }

    async fn jobs(&self) -> Result<Vec<JobRecord>> {
        Ok(self.client.jobs().await?)
    }

    async fn run_job(&self, name: &str) -> Result<JobRecord> {
        Ok(self.client.run_job(name).await?)
    }

    async fn inconsistencies(&self, job: &str) -> Result<Vec<FoundInconsistency>> {
        Ok(self.client.inconsistencies(job).await?)
    }

    async fn receivers(&self) -> Result<Vec<ReceiverRecord>> {
        Ok(self.client.receivers().await?)
    }

    async fn retry_receiver(&self, name: &str) -> Result<ReceiverRecord> {
        Ok(self.client.retry_receiver(name).await?)
    }

    async fn history(&self, root: AgentId, after: Option<u64>) -> Result<Vec<Event>> {
        let mut events: Vec<Event> = Vec::new();
        loop {
            let last = events.last().map(|event| event.seq).or(after);
            let page = self.client.events(root, last, PAGE).await?;
            let more = page.len() == PAGE as usize;
            events.extend(page);
            if !more {
                return Ok(events);
            }
        }
    }

    async fn follow(&self, root: AgentId, after: u64) -> Result<Box<dyn Follow>> {
        let watch = self.client.watch(root, after).await?;
        Ok(Box::new(LocalFollow { watch, broken: self.broken.subscribe() }))
    }

    fn disclaimer(&self) -> Option<&'static str> {
        self.entourage.as_ref().and_then(|entourage| entourage.engine.model().disclaimer())
    }
}

/// Follows a tree of this process, and reports when its agents cannot work any more.
struct LocalFollow {
    watch: Watch,
    broken: watch::Receiver<Option<String>>,
}

#[async_trait]
impl Follow for LocalFollow {
    async fn next(&mut self) -> Result<Signal> {
        tokio::select! {
            signal = self.watch.next() => Ok(signal?),
            Ok(broken) = self.broken.wait_for(Option::is_some) => {
                let why = broken.clone().unwrap_or_default();
                Err(Failure::failed(format!("the agents cannot work: {why}")))
            }
        }
    }
}
