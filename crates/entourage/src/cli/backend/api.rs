//! An engine, in this process or another, as one owner sees it: through its HTTP API.

use entourage_api::{
    AgencyChat, Agent, AnswerQuestion, Budget, Context, CreateAgent, Entry, Event, FindLearnings,
    FindSessions, Grant, GrantBudget, HealthRound, Inconsistency, Intervene, Intervention, Item, ItemPage,
    Job, Kind, Learning, List, ListAgents, ListGrants, ListItems, ListNotes, ListQuestions, ListRuns,
    ModelRequest, Note, Page, PageQuery, PastTree, Posted, Question, Receiver, Reloaded, ReportUsage, Run,
    SendMessage, Session, ShowTree, UsageReport, Why,
};
use entourage_engine::Error;
use entourage_types::{
    Action, AgentId, Answer, GrantId, GrantStatus, PostId, QuestionId, QuestionStatus, RunId, ShownStatus,
};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Method;

use super::{Backend, OnExit, Result, Signal, Stream, Tree, connection::PAGE, target::Target};
use crate::cli::failure::Failure;

/// The command that shows what became of a message to an agent.
fn tail(agent: AgentId) -> String {
    format!("entourage tail {agent}")
}

/// A path of these segments, whatever characters they hold. Refuses those that a URL cannot have.
fn in_path(segments: &[&str]) -> Result<String> {
    if let Some(none) = segments.iter().find(|segment| ["", ".", ".."].contains(segment)) {
        return Err(Failure::usage(format!(
            "nothing is called `{none}`; give the name of something that exists"
        )));
    }
    let encoded = segments.iter().map(|segment| utf8_percent_encode(segment, NON_ALPHANUMERIC).to_string());
    Ok(encoded.collect::<Vec<_>>().join("/"))
}

/// Which agents, of one tree or of all, have something to do, wait, or have yet to read something.
fn unfinished(tree: Option<AgentId>) -> [ListAgents; 4] {
    let all = ListAgents { tree, ..ListAgents::default() };
    let of = |status| ListAgents { status: Some(status), ..all.clone() };
    let statuses = [ShownStatus::Queued, ShownStatus::Running, ShownStatus::Waiting];
    let [queued, running, waiting] = statuses.map(of);
    [queued, running, waiting, ListAgents { unread: true, ..all }]
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
        let new = CreateAgent { kind, title: None, message, parent: None };
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

    /// Whether a server is asked, which works on all trees until it is stopped.
    pub(crate) fn is_server(&self) -> bool {
        self.place.is_server()
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

    /// Whether the engine is in this process, and agents work in others that share its database.
    pub(crate) fn leaves_work_to_others(&self) -> bool {
        match &self.place {
            Target::There(_) => false,
            Target::LocalEngine(here) => here.leaves_work_to_others(),
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

    /// The agent, active or not, that its caller gave this name last.
    pub(crate) async fn agent_named(&self, name: &str) -> Result<Option<AgentId>> {
        let which = ListAgents { name: Some(name.to_owned()), ..ListAgents::default() };
        Ok(self.agents(&which).await?.data.first().map(|agent| agent.id))
    }

    /// A page of agents, newest first, and where the next one begins.
    pub(crate) async fn agents(&self, which: &ListAgents) -> Result<Page<Agent>> {
        let limit = Some(which.limit.unwrap_or(PAGE).min(PAGE));
        self.find("agents", &ListAgents { limit, ..which.clone() }).await
    }

    /// A page of runs, newest first, and where the next one begins.
    pub(crate) async fn runs(&self, which: &ListRuns) -> Result<Page<Run>> {
        let limit = Some(which.limit.unwrap_or(PAGE).min(PAGE));
        self.find("runs", &ListRuns { limit, ..which.clone() }).await
    }

    /// Whether a run is stored as running, and no process works on it.
    pub(crate) async fn is_suspended(&self, run: &Run) -> Result<bool> {
        if run.status != ShownStatus::Running || self.place.is_server() {
            return Ok(false);
        }
        match self.agent(run.agent).await {
            Ok(agent) => Ok(!self.is_at_work(Some(agent.root))),
            // It was forgotten meanwhile, with its runs.
            Err(failure) if failure.is_not_found() => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    /// Notes with these words, newest first; at most so many.
    pub(crate) async fn notes(&self, text: &str, most: u32) -> Result<Vec<Note>> {
        let which = ListNotes { text: Some(text.to_owned()), ..ListNotes::default() };
        self.whole("notes", &which, Some(most)).await
    }

    /// Learnings with these words, newest first; at most so many.
    pub(crate) async fn learnings(&self, text: &str, most: u32) -> Result<Vec<Learning>> {
        let which = FindLearnings { text: Some(text.to_owned()), ..FindLearnings::default() };
        self.whole("learnings", &which, Some(most)).await
    }

    /// Closed sessions with these words, newest first; at most so many.
    pub(crate) async fn find_sessions(&self, text: &str, most: u32) -> Result<Vec<Session>> {
        let which = FindSessions { text: Some(text.to_owned()), ..FindSessions::default() };
        self.whole("sessions", &which, Some(most)).await
    }

    /// All agents, newest first.
    pub(crate) async fn all_agents(&self) -> Result<Vec<Agent>> {
        self.whole("agents", &ListAgents::default(), None).await
    }

    /// All runs, newest first.
    pub(crate) async fn all_runs(&self) -> Result<Vec<Run>> {
        self.whole("runs", &ListRuns::default(), None).await
    }

    /// The newest root of a tree in which an agent has something to do or waits.
    pub(crate) async fn newest_unfinished(&self) -> Result<Option<AgentId>> {
        let mut newest = None;
        for which in unfinished(None) {
            let found: Vec<Agent> = self.whole("agents", &which, None).await?;
            newest = newest.max(found.iter().map(|agent| agent.root).max());
        }
        Ok(newest)
    }

    /// Whether an agent of a tree has something to do or waits.
    pub(crate) async fn has_work(&self, root: AgentId) -> Result<bool> {
        for which in unfinished(Some(root)) {
            if !self.agents(&ListAgents { limit: Some(1), ..which }).await?.data.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The tree that an agent belongs to.
    pub(crate) async fn tree(&self, agent: AgentId) -> Result<Tree> {
        self.get(&format!("agents/{agent}/tree")).await
    }

    /// The tree that an agent belongs to, as it was after an event.
    pub(crate) async fn tree_at(&self, agent: AgentId, at: u64) -> Result<PastTree> {
        self.find(&format!("agents/{agent}/tree"), &ShowTree { at: Some(at) }).await
    }

    /// Usage, added up.
    pub(crate) async fn usage(&self, query: &ReportUsage) -> Result<UsageReport> {
        self.find("usage", query).await
    }

    /// A part of the conversation with an agent, oldest entry first, and the cursor of the part before it:
    /// the last part, or the one that ends at `before`.
    pub(crate) async fn entries(&self, agent: AgentId, before: Option<String>) -> Result<Page<Entry>> {
        let page = PageQuery { limit: Some(PAGE), cursor: before };
        self.find(&format!("agents/{agent}/messages"), &page).await
    }

    /// A page of an agent's transcript items, starting at an item; empty after the last.
    pub(crate) async fn items(&self, agent: AgentId, from: u64) -> Result<Vec<Item>> {
        let which = ListItems { from, limit: Some(PAGE) };
        Ok(self.find::<ItemPage>(&format!("agents/{agent}/items"), &which).await?.data)
    }

    /// Open questions, of one tree or of all, oldest first.
    pub(crate) async fn questions(&self, root: Option<AgentId>) -> Result<Vec<Question>> {
        let open = ListQuestions { status: Some(QuestionStatus::Open), root, ..ListQuestions::default() };
        let mut found = self.whole("questions", &open, None).await?;
        found.reverse();
        Ok(found)
    }

    /// A question, open or not.
    pub(crate) async fn question(&self, id: QuestionId) -> Result<Question> {
        self.get(&format!("questions/{id}")).await
    }

    /// Answers a question.
    pub(crate) async fn answer(&self, id: QuestionId, answer: Answer) -> Result<Question> {
        let answer = AnswerQuestion::try_from(answer).map_err(Failure::usage)?;
        self.post_body(&format!("questions/{id}/answer"), &answer).await
    }

    /// Grants in force, of one agent or of all, newest first.
    pub(crate) async fn grants(&self, agent: Option<AgentId>) -> Result<Vec<Grant>> {
        let standing = ListGrants { agent, status: Some(GrantStatus::Standing), ..ListGrants::default() };
        self.whole("grants", &standing, None).await
    }

    /// Revokes a grant.
    pub(crate) async fn revoke(&self, id: GrantId) -> Result<Grant> {
        self.call(Method::DELETE, &format!("grants/{id}")).await
    }

    /// Forgets an agent that has ended, and all below it.
    pub(crate) async fn forget(&self, agent: AgentId) -> Result<()> {
        let path = format!("agents/{agent}/forget");
        self.place.waits_for(self.ask(Method::POST, &path)).await.map(drop)
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

    /// The budgets that limit an agent.
    pub(crate) async fn budgets(&self, agent: AgentId) -> Result<Vec<Budget>> {
        Ok(self.get::<List<Budget>>(&format!("agents/{agent}/budget")).await?.data)
    }

    /// Grants the tree of an agent more, or takes that back.
    pub(crate) async fn grant_budget(&self, agent: AgentId, more: GrantBudget) -> Result<Vec<Budget>> {
        let path = format!("agents/{agent}/budget");
        Ok(self.post_once::<List<Budget>>(&path, &more, None, &tail(agent)).await?.data)
    }

    /// Why an agent does not go on.
    pub(crate) async fn why(&self, agent: AgentId) -> Result<Why> {
        self.get(&format!("agents/{agent}/why")).await
    }

    /// What an agent's model sees, block by block.
    pub(crate) async fn context(&self, agent: AgentId) -> Result<Context> {
        self.get(&format!("agents/{agent}/context")).await
    }

    /// What a model received in one call of a run.
    pub(crate) async fn model_request(&self, run: RunId, number: u32) -> Result<ModelRequest> {
        self.get(&format!("runs/{run}/requests/{number}")).await
    }

    /// What a model received for an item of the agent whose run this is.
    pub(crate) async fn model_request_of_item(&self, run: RunId, item: u32) -> Result<ModelRequest> {
        let of: Run = self.get(&format!("runs/{run}")).await?;
        let request: ModelRequest = self.get(&format!("agents/{}/items/{item}/request", of.agent)).await?;
        if request.run == run {
            return Ok(request);
        }
        Err(Failure::usage(format!("item {item} belongs to another run of this agent, {}", request.run)))
    }

    /// The closed sessions of an agent, newest first; at most so many.
    pub(crate) async fn sessions(&self, agent: AgentId, most: u32) -> Result<Vec<Session>> {
        self.whole(&format!("agents/{agent}/sessions"), &PageQuery::default(), Some(most)).await
    }

    /// An agency's chats that were not deleted.
    pub(crate) async fn agency_chats(&self, agency: &str) -> Result<Vec<AgencyChat>> {
        self.whole(&in_path(&["agencies", agency, "chats"])?, &PageQuery::default(), None).await
    }

    /// Deletes a chat of an agency, with all its agents.
    pub(crate) async fn delete_agency_chat(&self, agency: &str, chat: &str) -> Result<()> {
        let path = in_path(&["agencies", agency, "chats", chat])?;
        self.place.waits_for(self.ask(Method::DELETE, &path)).await.map(drop)
    }

    /// The jobs of maintenance, each with its last run.
    pub(crate) async fn jobs(&self) -> Result<Vec<Job>> {
        Ok(self.get::<List<Job>>("jobs").await?.data)
    }

    /// Runs a job now.
    pub(crate) async fn run_job(&self, name: &str) -> Result<Job> {
        self.post(&in_path(&["jobs", name, "run"])?).await
    }

    /// Everything that a job would find at this moment.
    pub(crate) async fn inconsistencies(&self, job: &str) -> Result<Vec<Inconsistency>> {
        Ok(self.get::<List<Inconsistency>>(&in_path(&["jobs", job, "inconsistencies"])?).await?.data)
    }

    /// Does a round of health now; a dry one changes nothing.
    pub(crate) async fn run_health(&self, is_dry: bool) -> Result<HealthRound> {
        self.post(&format!("health?dry_run={is_dry}")).await
    }

    /// The receivers of webhooks, each with its state.
    pub(crate) async fn receivers(&self) -> Result<Vec<Receiver>> {
        Ok(self.get::<List<Receiver>>("webhooks").await?.data)
    }

    /// Sends everything again that did not arrive at a receiver.
    pub(crate) async fn retry_receiver(&self, name: &str) -> Result<Receiver> {
        self.post(&in_path(&["webhooks", name, "retry"])?).await
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
