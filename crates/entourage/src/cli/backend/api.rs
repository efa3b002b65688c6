//! An engine, in this process or another, as one owner sees it: through its HTTP API.

use std::collections::BTreeSet;

use entourage_api::{
    AgencyChat, Agent, AnswerQuestion, Context, CreateAgent, Entry, Event, Grant, Inconsistency, Intervene,
    Intervention, Item, ItemPage, Job, Kind, List, Page, Posted, Question, Receiver, Reloaded, SendMessage,
    Session, UsageReport,
};
use entourage_engine::{Error, UsageQuery};
use entourage_types::{Action, AgentId, Answer, GrantId, GrantStatus, PostId, QuestionId, QuestionStatus};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Method;

use super::{AgentListing, Backend, OnExit, Result, Signal, Stream, Tree, target::Target};

/// Which agents have something to do, wait, or have yet to read something.
const UNFINISHED: [&str; 4] = ["status=queued", "status=running", "status=waiting", "unread=true"];
/// The longest page that the server returns.
pub(super) const PAGE: u32 = 200;

/// The command that shows what became of a message to an agent.
fn tail(agent: AgentId) -> String {
    format!("entourage tail {agent}")
}

/// A path of these segments, whatever characters they hold.
fn in_path(segments: &[&str]) -> String {
    let encoded = segments.iter().map(|segment| utf8_percent_encode(segment, NON_ALPHANUMERIC).to_string());
    encoded.collect::<Vec<_>>().join("/")
}

impl Backend {
    /// The server's kinds, with their open runs.
    pub(crate) async fn kinds(&self) -> Result<Vec<Kind>> {
        Ok(self.get::<List<Kind>>("kinds").await?.data)
    }

    /// Makes the server read the kinds again.
    pub(crate) async fn reload_kinds(&self) -> Result<Reloaded> {
        self.post("kinds/reload").await
    }

    /// Fails if this kind does not exist.
    pub(crate) async fn expect_kind(&self, name: &str) -> Result<()> {
        let there = self.kinds().await?.into_iter().filter(|kind| !kind.gone);
        let known: Vec<String> = there.map(|kind| kind.name).collect();
        if known.iter().any(|known| known == name) {
            return Ok(());
        }
        Err(Error::UnknownKind { name: name.to_owned(), known: known.join(", ") }.into())
    }

    /// Creates an agent with something to do. With a key, sending it again creates no second agent.
    pub(crate) async fn create(&self, kind: Option<&str>, message: &str, key: Option<&str>) -> Result<Agent> {
        // A command that works on one tree begins no other.
        if let Target::There(running) = &self.place
            && !running.is_server()
        {
            return Err(running.busy());
        }
        let (kind, message) = (kind.map(str::to_owned), Some(message.to_owned()));
        let new = CreateAgent { kind, title: None, message };
        self.post_once("agents", &new, key, "entourage agents").await
    }

    /// Writes to an agent and returns the post that it will read. With a key, sending it again posts nothing
    /// twice.
    pub(crate) async fn send(&self, to: AgentId, text: &str, key: Option<&str>) -> Result<PostId> {
        let (path, message) = (format!("agents/{to}/messages"), SendMessage { message: text.to_owned() });
        Ok(self.post_once::<Posted>(&path, &message, key, &tail(to)).await?.post)
    }

    /// Makes the agents of a tree work, unless another process runs them already.
    pub(crate) async fn work(&self, root: AgentId) -> Result<()> {
        match &self.place {
            Target::LocalEngine(here) => here.work(root).await,
            // The other process works on it, or no process can.
            Target::There(_) if self.is_at_work(Some(root)) => Ok(()),
            Target::There(running) => Err(running.busy()),
        }
    }

    /// Whether another process runs the agents of this tree, or of any tree.
    pub(crate) fn is_at_work(&self, tree: Option<AgentId>) -> bool {
        self.place.works_on(tree)
    }

    /// Stops waiting for the agents when a person ends the command. Nothing is lost.
    pub(crate) async fn leave(&self) -> OnExit {
        match &self.place {
            Target::There(_) => OnExit::AtWork,
            Target::LocalEngine(here) => {
                here.leave().await;
                OnExit::Suspended
            }
        }
    }

    /// A text to show with the model's answers.
    pub(crate) fn disclaimer(&self) -> Option<&'static str> {
        match &self.place {
            Target::There(_) => None,
            Target::LocalEngine(here) => here.disclaimer(),
        }
    }

    /// One agent.
    pub(crate) async fn agent(&self, id: AgentId) -> Result<Agent> {
        self.get(&format!("agents/{id}")).await
    }

    /// A page of agents, newest first, and where the next one begins.
    pub(crate) async fn agents(&self, page: &AgentListing) -> Result<Page<Agent>> {
        let AgentListing { roots, status, limit, after } = page;
        let limit = limit.unwrap_or(PAGE).clamp(1, PAGE);
        let mut path = format!("agents?roots={roots}&limit={limit}");
        path.extend(status.map(|status| format!("&status={status}")));
        path.extend(after.as_ref().map(|after| format!("&cursor={after}")));
        self.get(&path).await
    }

    /// The roots of trees in which an agent has something to do or waits, newest first.
    pub(crate) async fn unfinished(&self) -> Result<Vec<AgentId>> {
        let mut roots = BTreeSet::new();
        for of in UNFINISHED {
            let found: Page<Agent> = self.get(&format!("agents?{of}&limit={PAGE}")).await?;
            roots.extend(found.data.iter().map(|agent| agent.root));
        }
        Ok(roots.into_iter().rev().collect())
    }

    /// Whether an agent of a tree has something to do or waits.
    pub(crate) async fn has_work(&self, root: AgentId) -> Result<bool> {
        for of in UNFINISHED {
            let found: Page<Agent> = self.get(&format!("agents?{of}&tree={root}&limit=1")).await?;
            if !found.data.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The tree that an agent belongs to.
    pub(crate) async fn tree(&self, agent: AgentId) -> Result<Tree> {
        self.get(&format!("agents/{agent}/tree")).await
    }

    /// Usage, added up.
    pub(crate) async fn usage(&self, query: &UsageQuery) -> Result<UsageReport> {
        let UsageQuery { from, to, root, agent, run, by } = query;
        let by = by.iter().map(|by| by.as_str()).collect::<Vec<_>>().join(",");
        let mut path = "usage?".to_owned();
        let restricted = [
            ("group_by", Some(by).filter(|by| !by.is_empty())),
            ("from", from.map(|from| from.to_string())),
            ("to", to.map(|to| to.to_string())),
            ("tree", root.map(|root| root.to_string())),
            ("agent", agent.map(|agent| agent.to_string())),
            ("run", run.map(|run| run.to_string())),
        ];
        for (name, value) in restricted {
            path.extend(value.map(|value| format!("&{name}={value}")));
        }
        self.get(&path).await
    }

    /// A part of the conversation with an agent, oldest entry first, and the cursor of the part before it:
    /// the last part, or the one that ends at `before`.
    pub(crate) async fn entries(&self, agent: AgentId, before: Option<String>) -> Result<Page<Entry>> {
        let cursor = before.map(|before| format!("&cursor={before}")).unwrap_or_default();
        self.get(&format!("agents/{agent}/messages?limit={PAGE}{cursor}")).await
    }

    /// A page of an agent's transcript items, starting at an item; empty after the last.
    pub(crate) async fn items(&self, agent: AgentId, from: u64) -> Result<Vec<Item>> {
        let path = format!("agents/{agent}/items?from={from}&limit={PAGE}");
        Ok(self.get::<ItemPage>(&path).await?.data)
    }

    /// Open questions, of one tree or of all, oldest first.
    pub(crate) async fn questions(&self, root: Option<AgentId>) -> Result<Vec<Question>> {
        let open = QuestionStatus::Open;
        let of = root.map(|root| format!("&root={root}")).unwrap_or_default();
        let mut found: Page<Question> =
            self.get(&format!("questions?status={open}&limit={PAGE}{of}")).await?;
        found.data.reverse();
        Ok(found.data)
    }

    /// A question, open or not.
    pub(crate) async fn question(&self, id: QuestionId) -> Result<Question> {
        self.get(&format!("questions/{id}")).await
    }

    /// Answers a question.
    pub(crate) async fn answer(&self, id: QuestionId, answer: Answer) -> Result<Question> {
        self.post_body(&format!("questions/{id}/answer"), &AnswerQuestion::from(answer)).await
    }

    /// Grants in force, of one agent or of all, newest first.
    pub(crate) async fn grants(&self, agent: Option<AgentId>) -> Result<Vec<Grant>> {
        let of = agent.map(|agent| format!("&agent={agent}")).unwrap_or_default();
        let standing = GrantStatus::Standing;
        Ok(self.get::<Page<Grant>>(&format!("grants?status={standing}&limit={PAGE}{of}")).await?.data)
    }

    /// Revokes a grant.
    pub(crate) async fn revoke(&self, id: GrantId) -> Result<Grant> {
        self.call(Method::DELETE, &format!("grants/{id}")).await
    }

    /// Posts an intervention to an agent.
    pub(crate) async fn intervene(
        &self,
        agent: AgentId,
        action: Action,
        text: Option<&str>,
    ) -> Result<Intervention> {
        let body = Intervene { action, text: text.map(str::to_owned) };
        self.post_once(&format!("agents/{agent}/interventions"), &body, None, &tail(agent)).await
    }

    /// What an agent's model sees, block by block.
    pub(crate) async fn context(&self, agent: AgentId) -> Result<Context> {
        self.get(&format!("agents/{agent}/context")).await
    }

    /// The closed sessions of an agent, newest first.
    pub(crate) async fn sessions(&self, agent: AgentId, limit: u32) -> Result<Vec<Session>> {
        let limit = limit.clamp(1, PAGE);
        Ok(self.get::<Page<Session>>(&format!("agents/{agent}/sessions?limit={limit}")).await?.data)
    }

    /// A page of an agency's chats that were not deleted, and where the next one begins.
    pub(crate) async fn agency_chats(&self, agency: &str, after: Option<&str>) -> Result<Page<AgencyChat>> {
        let cursor = after.map(|after| format!("&cursor={after}")).unwrap_or_default();
        self.get(&format!("{}?limit={PAGE}{cursor}", in_path(&["agencies", agency, "chats"]))).await
    }

    /// Deletes a chat of an agency, with all its agents.
    pub(crate) async fn delete_agency_chat(&self, agency: &str, chat: &str) -> Result<()> {
        let path = in_path(&["agencies", agency, "chats", chat]);
        self.place.waits_for(self.ask(Method::DELETE, &path)).await.map(drop)
    }

    /// The jobs of maintenance, each with its last run.
    pub(crate) async fn jobs(&self) -> Result<Vec<Job>> {
        Ok(self.get::<List<Job>>("jobs").await?.data)
    }

    /// Runs a job now.
    pub(crate) async fn run_job(&self, name: &str) -> Result<Job> {
        self.post(&format!("jobs/{name}/run")).await
    }

    /// Everything that a job would find at this moment.
    pub(crate) async fn inconsistencies(&self, job: &str) -> Result<Vec<Inconsistency>> {
        Ok(self.get::<List<Inconsistency>>(&format!("jobs/{job}/inconsistencies")).await?.data)
    }

    /// The receivers of webhooks, each with its state.
    pub(crate) async fn receivers(&self) -> Result<Vec<Receiver>> {
        Ok(self.get::<List<Receiver>>("webhooks").await?.data)
    }

    /// Sends everything again that did not arrive at a receiver.
    pub(crate) async fn retry_receiver(&self, name: &str) -> Result<Receiver> {
        self.post(&format!("webhooks/{name}/retry")).await
    }

    /// The events of a tree after an event, or since the first that is kept, up to now.
    pub(crate) async fn history(&self, root: AgentId, after: Option<u64>) -> Result<Vec<Event>> {
        let mut stream = Stream::open(self.clone(), root, after).await?;
        let mut events: Vec<Event> = Vec::new();
        loop {
            match stream.next().await? {
                Signal::Event(event) => events.push(*event),
                Signal::CaughtUp => return Ok(events),
                Signal::Delta(_) => {}
            }
        }
    }

    /// Follows a tree from after an event.
    pub(crate) async fn follow(&self, root: AgentId, after: u64) -> Result<Stream> {
        Stream::open(self.clone(), root, Some(after)).await
    }
}
