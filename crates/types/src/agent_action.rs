//! The event that a message to the document agent was acted upon, as receivers outside the engine read it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Act, ActOutcome, Owner};

/// A message about the documents of a project was acted upon (S5-R102 to S5-R107). Its fields are those of the design,
/// with the integer ids that its surface has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentActionCompleted {
    /// The user.
    pub user_id: Owner,
    /// The chat, by its number.
    pub chat_id: u64,
    /// The project of the chat, by its number.
    pub project_id: u64,
    /// The document that was created or changed, by its number; none if nothing was.
    pub document_id: Option<u64>,
    /// Which action it was.
    pub action_type: ActionType,
    /// Whether a document was created or changed.
    pub success: bool,
    /// The details of the decision.
    pub metadata: ActMetadata,
}

/// The actions that are reported as completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionType {
    /// A message to the document agent was acted upon.
    AgentAction,
}

/// The details of a decision, as the agent's message and the event have them (S5-R100, S5-R106).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActMetadata {
    /// What the model decided, whole; `{"error": …}` if it decided nothing that could be used.
    pub decision: Value,
    /// Whether the web was searched, and gave results.
    pub web_search_performed: bool,
    /// Whether a document was changed; one that was created does not count (S5-R101).
    pub document_updated: bool,
    /// Whether the user was asked what they mean.
    pub needs_clarification: bool,
    /// Whether the user was asked whether to go on.
    pub pending_confirmation: bool,
    /// Whether a document was to be created.
    pub should_create: bool,
}

impl Act {
    /// The details of the decision. A flag is set if the model set it, or if the act came to that without it: an edit of
    /// a document that does not exist comes to a clarification.
    #[must_use]
    pub fn metadata(&self) -> ActMetadata {
        let flagged = |name: &str| self.decision.get(name) == Some(&Value::Bool(true));
        let came_to = |outcome: ActOutcome| self.outcome == outcome;
        ActMetadata {
            decision: self.decision.clone(),
            web_search_performed: self.web_search_performed,
            document_updated: came_to(ActOutcome::Updated),
            needs_clarification: flagged("needs_clarification") || came_to(ActOutcome::Clarification),
            pending_confirmation: flagged("pending_confirmation") || came_to(ActOutcome::Confirmation),
            should_create: flagged("should_create")
                || came_to(ActOutcome::Created)
                || came_to(ActOutcome::NotCreated),
        }
    }

    /// The event that reports it.
    #[must_use]
    pub fn completed(&self) -> AgentActionCompleted {
        AgentActionCompleted {
            user_id: self.owner.clone(),
            chat_id: self.numbers.chat,
            project_id: self.numbers.project,
            document_id: self.numbers.document,
            action_type: ActionType::AgentAction,
            success: self.is_success(),
            metadata: self.metadata(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{ActNumbers, AgentId, ProjectId, RunId, Time};

    fn act(outcome: ActOutcome, decision: Value) -> Act {
        Act {
            run: RunId::new(),
            owner: Owner::local(),
            agent: AgentId::new(),
            project: ProjectId::new(),
            numbers: ActNumbers { chat: 3, project: 2, document: None, version: None },
            decision,
            web_search_performed: true,
            document: None,
            outcome,
            at: Time::from_micros(1),
        }
    }

    #[test]
    fn a_flag_is_what_was_decided_or_what_it_came_to() {
        let flags = |outcome, decision| {
            let data = act(outcome, decision).metadata();
            [data.document_updated, data.needs_clarification, data.pending_confirmation, data.should_create]
        };
        let none = || json!({ "should_create": "perhaps" });
        assert_eq!(flags(ActOutcome::Conversation, none()), [false; 4]);
        assert_eq!(flags(ActOutcome::Updated, none()), [true, false, false, false]);
        assert_eq!(flags(ActOutcome::Clarification, none()), [false, true, false, false]);
        assert_eq!(flags(ActOutcome::Confirmation, none()), [false, false, true, false]);
        assert_eq!(flags(ActOutcome::NotCreated, none()), [false, false, false, true]);
        let both = json!({ "needs_clarification": true, "should_create": true });
        assert_eq!(flags(ActOutcome::Clarification, both), [false, true, false, true]);
    }

    /// Acts from before the numbers were kept have none.
    #[test]
    fn an_act_without_numbers_is_read() {
        let mut old = serde_json::to_value(act(ActOutcome::Conversation, json!({}))).unwrap();
        old.as_object_mut().unwrap().remove("numbers");
        let old: Act = serde_json::from_value(old).unwrap();
        assert_eq!(old.numbers, ActNumbers::default());
    }
}
