//! Where a question stands, and so what is shown once it is answered.

use entourage_types::AgentId;
use serde::Deserialize;

/// From where on a list is shown.
#[derive(Deserialize, Default)]
pub(super) struct Onwards {
    pub(super) cursor: Option<String>,
}

/// Where a question stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Among all that wait, of one tree if that is chosen.
    Inbox(Option<AgentId>),
    /// Alone on its page.
    Alone,
    /// Below the transcript of this agent.
    Agent(AgentId),
    /// In the chat with this agent.
    Chat(AgentId),
}

impl Place {
    /// As a form says it.
    pub(super) fn of_form(agent: Option<AgentId>, chat: Option<AgentId>, root: Option<AgentId>) -> Self {
        match (agent, chat) {
            (_, Some(chat)) => Self::Chat(chat),
            (Some(agent), None) => Self::Agent(agent),
            (None, None) => Self::Inbox(root),
        }
    }

    /// Whether there is nothing beside it.
    pub(super) fn is_single(&self) -> bool {
        *self == Self::Alone
    }

    /// The page that is shown once it is answered, within the console.
    pub(super) fn path(&self) -> String {
        match self {
            Self::Inbox(None) | Self::Alone => String::new(),
            Self::Inbox(Some(root)) => format!("?root={root}"),
            Self::Agent(id) => format!("/agents/{id}"),
            Self::Chat(id) => format!("/chats/{id}"),
        }
    }
}
