//! The tree of an owner's active agents (S3, key feature 1), read from their rows.

use std::collections::{BTreeMap, HashMap, HashSet, btree_map::Entry};

use entourage_store::{AgentQuery, ItemQuery, Page, RecordFilter, RunQuery, Subtree, UsageQuery};
use entourage_types::{
    Agent, AgentId, AgentState, ItemBody, PostBody, Question, QuestionStatus, StepKey, Tally, Time, Unread,
    WaitingOn,
};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Map, Value};

use crate::{Client, Result, prompt::cut};

/// How many agents are looked up at once: waiting for one after another takes far longer than the reads.
pub(super) const LOOKED_UP: usize = 16;
/// Among so many of an agent's first items is the message that it began with.
const FIRST_ITEMS: u32 = 8;

/// An agent as S3 shows it, without its messages (S3-R082, S3-R083).
#[derive(Debug, Clone, PartialEq)]
pub struct ActiveAgent {
    /// The agent.
    pub agent: Agent,
    /// The name that its caller gave it, or its id.
    pub name: String,
    /// The name or id of the agent above it.
    pub parent: Option<String>,
    /// What it works on.
    pub content: String,
    /// What a person remarks about it.
    pub comment: String,
    /// Its state, or the one that a person wants shown.
    pub state: AgentState,
    /// The names or ids of the agents below it.
    pub subagents: Vec<String>,
    /// What its caller keeps with it.
    pub metadata: Map<String, Value>,
}

/// The active agents of an owner, oldest first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ActiveTree {
    /// The agents.
    pub agents: Vec<ActiveAgent>,
    /// The number of an event of each of their trees: what follows that event, and perhaps a little more, is not in this
    /// tree. Whoever follows from there on misses nothing.
    pub last_events: BTreeMap<AgentId, u64>,
}

/// What an active agent does and has used.
#[derive(Debug, Clone, PartialEq)]
pub struct ActiveNode {
    /// The agent.
    pub agent: ActiveAgent,
    /// The step that its run began last; none if none is on record, as during a call of the model.
    pub step: Option<StepKey>,
    /// The question that it waits for.
    pub question: Option<Question>,
    /// When it tries a failed call again, while it waits for that.
    pub retry_due: Option<Time>,
    /// What its own runs have used.
    pub used: Tally,
    /// Sums over it and all agents below it.
    pub subtree: Subtree,
}

/// How many characters of contents and comments the tree shows.
const LISTED: usize = 1_000;

impl Client {
    /// All active agents of this owner, or those of one tree: they are at work, wait, or have something to read. Long
    /// contents and comments are cut; [`shown_agent`](Self::shown_agent) has them whole.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn active_tree(&self, root: Option<AgentId>) -> Result<ActiveTree> {
        let store = self.engine.store();
        let query = AgentQuery { root, active: true, page: Page::all(), ..AgentQuery::default() };
        // The events before the agents: what happens in between is read twice, and never missed.
        let mut last_events = BTreeMap::new();
        for agent in store.agents(&self.scope, query.clone()).await? {
            if let Entry::Vacant(place) = last_events.entry(agent.root) {
                place.insert(store.last_event(&self.scope, agent.root).await?);
            }
        }
        let agents = store.agents(&self.scope, query).await?;
        for agent in &agents {
            // A tree that began in between is followed from its beginning.
            last_events.entry(agent.root).or_insert(0);
        }
        let roots: HashSet<AgentId> = agents.iter().map(|agent| agent.root).collect();
        last_events.retain(|root, _| roots.contains(root));
        let shown = stream::iter(agents).map(|agent| self.shown(agent)).buffered(LOOKED_UP);
        // There may be many, and each may have a megabyte to work on.
        let shown = shown.map_ok(|shown| ActiveAgent {
            content: cut(&shown.content, LISTED, None),
            comment: cut(&shown.comment, LISTED, None),
            ..shown
        });
        let agents = self.linked(shown.try_collect().await?).await?;
        Ok(ActiveTree { agents, last_events })
    }

    /// One agent of this owner, active or not, by its name or its id.
    ///
    /// # Errors
    /// [`crate::Error::NotFound`].
    pub async fn shown_agent(&self, name: &str) -> Result<ActiveAgent> {
        let agent = self.named_agent(name).await?;
        let (parent, id) = (agent.parent, agent.id);
        let mut shown = self.shown(agent).await?;
        if let Some(parent) = parent {
            shown.parent = Some(self.agent_name(parent).await?);
        }
        let below = AgentQuery { parent: Some(id), page: Page::all(), ..AgentQuery::default() };
        for child in self.engine.store().agents(&self.scope, below).await? {
            shown.subagents.push(self.agent_name(child.id).await?);
        }
        Ok(shown)
    }

    /// What each of these agents does and has used, in their order.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn active_nodes(&self, agents: Vec<ActiveAgent>) -> Result<Vec<ActiveNode>> {
        let ids: Vec<AgentId> = agents.iter().map(|active| active.agent.id).collect();
        let sums = self.engine.store().subtrees(&self.scope, &ids).await?;
        let sums: HashMap<AgentId, Subtree> = sums.into_iter().collect();
        let node = |active: ActiveAgent| {
            let subtree = sums.get(&active.agent.id).cloned().unwrap_or_default();
            self.node(active, subtree)
        };
        stream::iter(agents).map(node).buffered(LOOKED_UP).try_collect().await
    }

    async fn node(&self, active: ActiveAgent, subtree: Subtree) -> Result<ActiveNode> {
        let (store, agent) = (self.engine.store(), &active.agent);
        let page = Page { newest_first: true, limit: 1, ..Page::default() };
        let last =
            store.runs(&self.scope, RunQuery { agent: Some(agent.id), page, ..RunQuery::default() }).await?;
        let run = last.into_iter().next().filter(|run| !run.status.is_terminal());
        let steps = match &run {
            Some(run) => store.steps(&self.scope, run.id).await?,
            None => Vec::new(),
        };
        let retry_due = match agent.waiting_on {
            Some(WaitingOn::Retry) => {
                steps.iter().filter_map(|step| step.state.due().map(|(due, _)| due)).min()
            }
            _ => None,
        };
        let step = steps.into_iter().filter(|step| step.state.is_open()).max_by_key(|step| step.updated);
        let question = match agent.waiting_on {
            Some(WaitingOn::User) => self.open_questions(agent.id).await?.into_iter().next(),
            _ => None,
        };
        let used =
            store.usage(&self.scope, UsageQuery { agent: Some(agent.id), ..UsageQuery::default() }).await?;
        let used = used.into_iter().next().map(|row| row.tally).unwrap_or_default();
        Ok(ActiveNode { agent: active, step: step.map(|step| step.key), question, retry_due, used, subtree })
    }

    /// The open questions of an agent, oldest first.
    pub(super) async fn open_questions(&self, agent: AgentId) -> Result<Vec<Question>> {
        let (parent, status) = (Some(agent.into()), Some(QuestionStatus::Open));
        self.records(RecordFilter { parent, status, page: Page::all(), ..RecordFilter::default() }).await
    }

    /// The agent with what was set of it. Neither what is above it nor what is below it is looked up.
    async fn shown(&self, agent: Agent) -> Result<ActiveAgent> {
        let set = self.annotations(&agent).await?.record;
        let state = match set.shown(&agent) {
            Some(state) => state,
            // Whatever it waits for, it is active: what it has to read changes nothing.
            None if matches!(
                agent.state(Unread::Nothing),
                AgentState::Running | AgentState::AwaitingUser
            ) =>
            {
                agent.state(Unread::Nothing)
            }
            None => self.state_of(&agent).await?,
        };
        let content = match set.content {
            Some(content) => content,
            None => self.first_words(&agent).await?,
        };
        let (comment, metadata) = (set.comment, set.metadata);
        let name = self.current_name(agent.id, set.name).await?;
        Ok(ActiveAgent {
            name,
            parent: None,
            content,
            comment,
            state,
            subagents: Vec::new(),
            metadata,
            agent,
        })
    }

    /// These agents with what is above and below each of them.
    async fn linked(&self, mut agents: Vec<ActiveAgent>) -> Result<Vec<ActiveAgent>> {
        let names: HashMap<AgentId, String> =
            agents.iter().map(|active| (active.agent.id, active.name.clone())).collect();
        let mut below: HashMap<AgentId, Vec<String>> = HashMap::new();
        for active in &mut agents {
            let Some(parent) = active.agent.parent else { continue };
            active.parent = Some(match names.get(&parent) {
                Some(name) => name.clone(),
                // It has ended.
                None => self.agent_name(parent).await?,
            });
            below.entry(parent).or_default().push(active.name.clone());
        }
        for active in &mut agents {
            active.subagents = below.remove(&active.agent.id).unwrap_or_default();
        }
        Ok(agents)
    }

    /// What an agent was first asked for: of its messages, read or not, the first.
    pub(super) async fn first_words(&self, agent: &Agent) -> Result<String> {
        let items = self.engine.store().items(&self.scope, ItemQuery::of(agent.id, 0, FIRST_ITEMS)).await?;
        let read = items.into_iter().find_map(|item| match item.body {
            ItemBody::Message(message) => Some(message.text),
            _ => None,
        });
        if let Some(read) = read {
            return Ok(read);
        }
        let unread = self.inbox(agent).await?.into_iter().find_map(|post| match post.body {
            PostBody::Message { text, .. } => Some(text),
            _ => None,
        });
        Ok(unread.unwrap_or_else(|| agent.title.clone()))
    }
}
