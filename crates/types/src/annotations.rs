//! What callers and people set of an agent beside its own row.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Agent, AgentId, AgentState, Columns, EntityKind, NewEvent, Owner, Record, Time, Unread, status::words,
};

/// What callers and people set of an agent (S3, key features 1 and 2). An agent of which nothing was set has none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Annotations {
    /// The agent, whose id is that of the record, too.
    pub agent: AgentId,
    /// The user that owns it.
    pub owner: Owner,
    /// The tree it belongs to.
    pub root: AgentId,
    /// The name that its caller gave it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// What it works on, as a person said last; none if nobody said more than its first message.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub content: Option<String>,
    /// What a person remarks about it (S3-R012); [`UNCHANGED`](Self::UNCHANGED) at first.
    pub comment: String,
    /// The state that a person wants shown in place of its own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub shown: Option<ShownState>,
    /// Whatever its caller wants to keep with it (S3-R095).
    #[serde(skip_serializing_if = "Map::is_empty", default)]
    pub metadata: Map<String, Value>,
    /// When it was first set.
    pub created: Time,
    /// When it last changed.
    pub updated: Time,
}

/// A state that a person wants shown: until the agent next begins, sleeps or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownState {
    /// The state.
    pub state: AgentState,
    /// The agent's own state by then.
    pub own: AgentState,
    /// When the agent had last changed by then.
    pub since: Time,
}

impl ShownState {
    /// This state, for an agent as it is now.
    #[must_use]
    pub const fn of(agent: &Agent, state: AgentState) -> Self {
        Self { state, own: agent.state(Unread::Nothing), since: agent.updated }
    }
}

words! {
    /// The status of annotations: always the same.
    AnnotationsStatus, "status of annotations" {
        /// They belong to the agent.
        Kept => "kept",
    }
}

impl Annotations {
    /// The comment that stands for undisturbed work (S3-R009).
    pub const UNCHANGED: &'static str = "unchanged";

    /// Of an agent of which nothing was set yet.
    #[must_use]
    pub fn of(agent: &Agent, now: Time) -> Self {
        Self {
            agent: agent.id,
            owner: agent.owner.clone(),
            root: agent.root,
            name: None,
            content: None,
            comment: Self::UNCHANGED.to_owned(),
            shown: None,
            metadata: Map::new(),
            created: now,
            updated: now,
        }
    }

    /// The state that a person wants shown of the agent, unless its row has changed since.
    #[must_use]
    pub fn shown(&self, agent: &Agent) -> Option<AgentState> {
        self.shown.filter(|shown| *shown == ShownState::of(agent, shown.state)).map(|shown| shown.state)
    }
}

impl Record for Annotations {
    const KIND: EntityKind = EntityKind::ANNOTATIONS;
    type Status = AnnotationsStatus;

    fn columns(&self) -> Columns {
        Columns {
            id: self.agent.to_string(),
            owner: self.owner.clone(),
            root: Some(self.root),
            parent: Some(self.agent.into()),
            status: AnnotationsStatus::Kept.as_str(),
            created: self.created,
            updated: self.updated,
            name: None,
            text: None,
        }
    }

    fn event(&self) -> serde_json::Result<Option<NewEvent>> {
        NewEvent::of(self, self.root, self.agent).map(Some)
    }
}

/// Which agent of an owner a name leads to: the last one that was given it. Another one may take it once that agent is
/// active no more (S3-R007).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentName {
    /// The user that owns the agent.
    pub owner: Owner,
    /// The name.
    pub name: String,
    /// The agent.
    pub agent: AgentId,
    /// The tree it belongs to.
    pub root: AgentId,
    /// When the name was first given.
    pub created: Time,
    /// When the agent got it.
    pub updated: Time,
}

impl AgentName {
    /// The id of the record about a name. The length keeps owner and name apart, whatever characters they have.
    #[must_use]
    pub fn id_of(owner: &Owner, name: &str) -> String {
        format!("{}:{owner}/{name}", owner.as_str().len())
    }
}

impl Record for AgentName {
    const KIND: EntityKind = EntityKind::AGENT_NAME;
    type Status = AnnotationsStatus;

    fn columns(&self) -> Columns {
        Columns {
            id: Self::id_of(&self.owner, &self.name),
            owner: self.owner.clone(),
            root: Some(self.root),
            parent: Some(self.agent.into()),
            status: AnnotationsStatus::Kept.as_str(),
            created: self.created,
            updated: self.updated,
            name: None,
            text: None,
        }
    }
}
