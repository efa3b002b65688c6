//! What a person sees of a conversation: messages, answers, questions, notices. Tool work, drafts
//! and other agents' words are the agents' own.

use entourage_store::Page;
use entourage_types::{
    About, AgentId, Author, Item, ItemBody, Level, Question, QuestionId, QuestionStatus, Reply, TaskId, Time,
};
use serde::Serialize;

use super::Client;
use crate::Result;

/// One visible entry of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// Who speaks.
    pub role: Role,
    /// The text.
    pub text: String,
    /// When.
    pub at: Time,
    /// The item behind it, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_seq: Option<u64>,
    /// The question behind it, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<QuestionId>,
    /// The task that a question belongs to, so that a client can point at it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Of a failure: `false`, for the house does not try again by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person.
    User,
    /// The agent.
    Assistant,
    /// An agent of the tree asks.
    Question,
    /// The house remarks.
    Notice,
}

impl Client {
    /// The conversation with an agent, oldest first: what was said, and every question of its tree
    /// when the agent tops one.
    ///
    /// # Errors
    /// [`crate::Error::NotFound`].
    pub async fn transcript(&self, id: AgentId) -> Result<Vec<Entry>> {
        let agent = self.agent(id).await?;
        let limit = u32::try_from(agent.items).unwrap_or(u32::MAX);
        let items = self.items(id, 0, limit).await?;
        let reply = self.house.kinds().get(&agent.kind).map_or(Reply::FinalText, |kind| kind.reply);
        let mut entries: Vec<Entry> = items.iter().filter_map(|item| visible(item, reply)).collect();
        if agent.root == agent.id {
            let page = Page { limit: u32::MAX, ..Page::default() };
            let questions = self.questions(Some(id), None, page).await?;
            entries.extend(questions.into_iter().map(asked));
            entries.sort_by_key(|entry| entry.at);
        }
        Ok(entries)
    }
}

fn visible(item: &Item, reply: Reply) -> Option<Entry> {
    let (role, text) = match &item.body {
        ItemBody::Message(message) if message.from == Author::User => (Role::User, message.text.clone()),
        ItemBody::Turn(turn)
            if reply == Reply::FinalText && !turn.text.is_empty() && turn.calls.is_empty() =>
        {
            (Role::Assistant, turn.text.clone())
        }
        ItemBody::Output(output) => (Role::Assistant, said(output)?.to_owned()),
        ItemBody::Notice(notice) if notice.level != Level::Info => (Role::Notice, notice.text.clone()),
        _ => return None,
    };
    let retryable =
        matches!(&item.body, ItemBody::Notice(notice) if notice.level == Level::Error).then_some(false);
    Some(Entry { role, text, at: item.at, item_seq: Some(item.seq), question: None, task: None, retryable })
}

/// What a call told the user, if it told them something.
pub(crate) fn said(output: &entourage_types::Output) -> Option<&str> {
    output.details.as_ref()?.get("said")?.as_str()
}

fn asked(question: Question) -> Entry {
    let text = match question.status {
        QuestionStatus::Open if question.about == About::Information && question.agent != question.root => {
            format!("The {} needs more information: {}", capitalised(&question.kind), question.text)
        }
        _ => question.text,
    };
    Entry {
        role: Role::Question,
        text,
        at: question.created,
        item_seq: None,
        question: Some(question.id),
        task: question.task,
        retryable: None,
    }
}

fn capitalised(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
