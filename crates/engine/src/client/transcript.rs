//! What a person sees of a conversation: messages, answers, questions, notices. Tool work, drafts
//! and other agents' words are the agents' own.

use std::collections::HashSet;

use entourage_store::Page;
use entourage_types::{
    About, Agent, AgentId, Author, Item, ItemBody, Level, Output, Post, PostBody, PostId, Question,
    QuestionId, Reply, StopReason, TaskId, Time,
};
use serde::Serialize;

use super::Client;
use crate::{Result, prompt::REFUSED, run::answered};

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
    /// The post by which a person's message came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post: Option<PostId>,
    /// The question behind it, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<QuestionId>,
    /// The task that it is about: the one that a question belongs to, or whose result is told, so that
    /// a client can point at it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The agent that asks, or whose result is told, where that is not the one spoken to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
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

/// Tells a conversation from what is on record of it, piece by piece, in order.
#[derive(Debug, Clone)]
pub struct Telling {
    reply: Reply,
    /// The task whose result the agent has before it, and who worked on it.
    about: Option<(TaskId, AgentId)>,
}

impl Client {
    /// The conversation with an agent, oldest first: what was said, read by the agent or not, and
    /// every question of its tree when the agent tops one.
    ///
    /// # Errors
    /// [`crate::Error::NotFound`].
    pub async fn transcript(&self, id: AgentId) -> Result<Vec<Entry>> {
        let agent = self.agent(id).await?;
        // In this order: what is read meanwhile is there twice, and never missing.
        let unread = self.house.store().inbox(id).await?;
        let items = self.items(id, 0, u32::MAX).await?;
        let mut telling = self.telling(&agent);
        let refused = |at: usize| {
            if !matches!(items[at].body, ItemBody::Turn(_)) {
                return false;
            }
            let before_the_next = |item: &&Item| !matches!(item.body, ItemBody::Turn(_));
            items[at + 1..].iter().take_while(before_the_next).any(is_refusal)
        };
        let shown = items.iter().enumerate().filter(|(at, _)| !refused(*at));
        let mut entries: Vec<Entry> = shown.filter_map(|(_, item)| telling.item(item)).collect();
        if agent.root == agent.id {
            let page = Page { limit: u32::MAX, ..Page::default() };
            let questions = self.questions(Some(id), None, page).await?;
            entries.extend(questions.into_iter().map(Telling::question));
            entries.sort_by_key(|entry| entry.at);
        }
        let read: HashSet<PostId> = entries.iter().filter_map(|entry| entry.post).collect();
        entries.extend(unread.iter().filter(|post| !read.contains(&post.id)).filter_map(Telling::unread));
        Ok(entries)
    }

    /// Tells what the conversation with an agent consists of.
    #[must_use]
    pub fn telling(&self, agent: &Agent) -> Telling {
        let reply = self.house.kinds().get(&agent.kind).map_or(Reply::FinalText, |kind| kind.reply);
        Telling { reply, about: None }
    }
}

/// Whether the answer before was refused, so that nobody gets to see it.
fn is_refusal(item: &Item) -> bool {
    let refused = [REFUSED, StopReason::ValidationFailed.as_str()];
    matches!(&item.body, ItemBody::Notice(notice) if refused.contains(&notice.code.as_str()))
}

impl Telling {
    /// What a person sees of the next item of the agent's transcript.
    pub fn item(&mut self, item: &Item) -> Option<Entry> {
        let (role, text) = match &item.body {
            ItemBody::Message(message) => {
                self.about = match (&message.from, message.failed) {
                    (Author::Agent { id, .. }, Some(_)) => message.task.map(|task| (task, *id)),
                    _ => None,
                };
                (Role::User, (message.from == Author::User).then(|| message.text.clone())?)
            }
            ItemBody::Turn(turn)
                if self.reply == Reply::FinalText && !turn.text.is_empty() && turn.calls.is_empty() =>
            {
                (Role::Assistant, turn.text.clone())
            }
            ItemBody::Output(output) => {
                (Role::Assistant, said(output).or_else(|| answered(output))?.to_owned())
            }
            ItemBody::Notice(notice) if notice.level != Level::Info => (Role::Notice, notice.text.clone()),
            _ => return None,
        };
        let (post, failed) = match &item.body {
            ItemBody::Message(message) => (message.post, false),
            ItemBody::Notice(notice) => (None, notice.level == Level::Error),
            _ => (None, false),
        };
        Some(Entry {
            item_seq: Some(item.seq),
            post,
            task: self.about.map(|(task, _)| task),
            agent: self.about.map(|(_, agent)| agent),
            retryable: failed.then_some(false),
            ..Entry::new(role, text, item.at)
        })
    }

    /// What a person sees of a question of the tree; the same when it was answered.
    #[must_use]
    pub fn question(question: Question) -> Entry {
        let from_below = question.agent != question.root;
        let text = match question.about {
            About::Information if from_below => {
                format!("The {} needs more information: {}", capitalised(&question.kind), question.text)
            }
            _ => question.text,
        };
        Entry {
            question: Some(question.id),
            task: question.task,
            agent: from_below.then_some(question.agent),
            ..Entry::new(Role::Question, text, question.created)
        }
    }

    /// What a person sees of a post that the agent has not read.
    fn unread(post: &Post) -> Option<Entry> {
        match &post.body {
            PostBody::Message { from: Author::User, text, .. } => {
                Some(Entry { post: Some(post.id), ..Entry::new(Role::User, text.clone(), post.at) })
            }
            _ => None,
        }
    }
}

impl Entry {
    fn new(role: Role, text: String, at: Time) -> Self {
        Self {
            role,
            text,
            at,
            item_seq: None,
            post: None,
            question: None,
            task: None,
            agent: None,
            retryable: None,
        }
    }
}

/// What a call told the user, if it told them something.
pub(crate) fn said(output: &Output) -> Option<&str> {
    output.details.as_ref()?.get("said")?.as_str()
}

/// A kind's name as a person's title.
pub(crate) fn capitalised(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
