//! What a person sees of a conversation: messages, answers, questions, notices. Tool calls, drafts and other
//! agents' texts are not shown.

use std::collections::HashSet;

use entourage_store::{ItemQuery, Page, RecordFilter};
use entourage_types::{
    About, Agent, AgentId, Author, Item, ItemBody, Level, NoticeCode, Post, PostBody, PostId, Question,
    QuestionId, Reply, StopReason, TaskId, Time,
};

use super::{Client, PageEnd, PageLimit};
use crate::{Result, titles::capitalised};

/// How many items before a page are read to know which task its first items are about.
const LEAD: u32 = 64;
/// How many questions are read at once.
const QUESTIONS: u32 = 200;

/// One visible entry of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Who speaks.
    pub role: Role,
    /// The text.
    pub text: String,
    /// When.
    pub at: Time,
    /// Its item, if it has one.
    pub item_seq: Option<u64>,
    /// The post of a person's message.
    pub post: Option<PostId>,
    /// Its question, if it is one.
    pub question: Option<QuestionId>,
    /// The task that it is about: the one that a question belongs to, or whose result is reported, so that a
    /// client can point at it.
    pub task: Option<TaskId>,
    /// The agent that asks or whose result is reported, if that is not the agent of this conversation.
    pub agent: Option<AgentId>,
    /// For a failure: `false`, because the engine does not try again by itself.
    pub retryable: Option<bool>,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The person.
    User,
    /// The agent.
    Assistant,
    /// An agent of the tree asks.
    Question,
    /// A remark of the engine.
    Notice,
}

/// Renders a conversation from its stored items and questions, one after the other, in order.
#[derive(Debug, Clone)]
pub struct TranscriptRenderer {
    reply: Reply,
    /// The task whose result the agent read last, and the agent that worked on it.
    about: Option<(TaskId, AgentId)>,
    /// Whether that task failed.
    failed: bool,
}

impl Client {
    /// The conversation with an agent, oldest first: all messages, read by the agent or not, and, for an
    /// agent without a parent, the questions of that agent and of all below it.
    ///
    /// # Errors
    /// [`crate::Error::NotFound`].
    pub async fn transcript(&self, id: AgentId) -> Result<Vec<Entry>> {
        Ok(self.transcript_before(id, None, u32::MAX, usize::MAX).await?.0)
    }

    /// The last part of the conversation before `before`, where another page ended, or the very last part: at
    /// most `limit` entries, from as many items, of about `bytes`. Also returns where this part ends, none at
    /// the beginning of the conversation.
    ///
    /// # Errors
    /// [`crate::Error::NotFound`].
    pub async fn transcript_before(
        &self,
        id: AgentId,
        before: Option<PageEnd<QuestionId>>,
        limit: u32,
        bytes: usize,
    ) -> Result<(Vec<Entry>, Option<PageEnd<QuestionId>>)> {
        let agent = self.agent(id).await?;
        // The inbox before the items: a message that the agent reads meanwhile is found twice, and never
        // missing.
        let unread = if before.is_none() { self.inbox(&agent).await? } else { Vec::new() };
        let last = |before: u64, limit: u32, bytes: usize| {
            self.transcript_part(ItemQuery { before: Some(before), bytes, ..ItemQuery::of(id, 0, limit) })
        };
        let part = last(before.map_or(u64::MAX, |before| before.item), limit, bytes).await?;
        let from = part.first().map_or(0, |first| first.seq);
        let mut items = if from > 0 { last(from, LEAD, bytes / 4).await? } else { Vec::new() };
        items.extend(part);
        let end = before.map_or_else(|| items.last().map_or(0, |last| last.seq + 1), |before| before.item);
        if before.is_some() {
            // The item after the part says whether its last turn was refused.
            items.extend(self.items(id, end, 1).await?);
        }
        let is_within = |item: &Item| (from..end).contains(&item.seq);
        let mut renderer = self.renderer(&agent);
        let mut entries = Vec::new();
        for (at, item) in items.iter().enumerate() {
            if !was_refused(&items[at..]) {
                entries.extend(renderer.item(item).filter(|_| is_within(item)));
            }
        }
        let last_shown = before.and_then(|before| before.last);
        if agent.works_for.is_person() {
            let at = |seq: u64| items.iter().find(|item| item.seq == seq).map(|item| item.at);
            let since = if from > 0 { at(from) } else { None };
            // The last question that was shown marks the place where the questions go on more exactly than a
            // time does.
            let until = if last_shown.is_none() { at(end) } else { None };
            let after = last_shown.map(|last| last.to_string());
            let page = Page { after, limit, newest_first: true, bytes, ..Page::default() };
            let asked = self.questions_between(&agent, page, since, until).await?;
            entries = merged(entries, asked.into_iter().map(TranscriptRenderer::question));
        }
        let read: HashSet<PostId> = entries.iter().filter_map(|entry| entry.post).collect();
        let mut room = PageLimit::of(bytes);
        let fits = |entry: &&Entry| room.takes(entry.text.len());
        let shown = entries.iter().rev().take(limit as usize).take_while(fits).count();
        let hidden = entries.len() - shown;
        let mut entries = entries.split_off(hidden);
        let item = match hidden {
            0 => from,
            _ => entries.iter().find_map(|entry| entry.item_seq).unwrap_or(end),
        };
        let last_shown = entries.iter().find_map(|entry| entry.question).or(last_shown);
        let next = (hidden > 0 || from > 0).then_some(PageEnd { item, last: last_shown });
        let unread =
            unread.iter().filter(|post| !read.contains(&post.id)).filter_map(TranscriptRenderer::unread);
        // What does not fit is shown once the agent has read it.
        let mut room = PageLimit::of(bytes);
        entries.extend(unread.take_while(|entry| room.takes(entry.text.len())));
        Ok((entries, next))
    }

    /// The messages of the person that an agent has not read yet, oldest first.
    ///
    /// # Errors
    /// [`crate::Error::NotFound`].
    pub async fn unread(&self, agent: AgentId) -> Result<Vec<Entry>> {
        let agent = self.agent(agent).await?;
        Ok(self.inbox(&agent).await?.iter().filter_map(TranscriptRenderer::unread).collect())
    }

    /// Which posts an agent has not read yet, and the messages of the person among those that are not `known`, oldest
    /// first. Who asks again, with what was returned, has only what is new read.
    ///
    /// # Errors
    /// [`crate::Error::NotFound`].
    pub async fn unread_beyond(
        &self,
        agent: AgentId,
        known: &HashSet<PostId>,
    ) -> Result<(HashSet<PostId>, Vec<Entry>)> {
        let agent = self.agent(agent).await?;
        let unread: HashSet<PostId> = self.post_ids(&agent, u32::MAX).await?.into_iter().collect();
        let new: Vec<PostId> = unread.iter().copied().filter(|post| !known.contains(post)).collect();
        let posts =
            if new.is_empty() { Vec::new() } else { self.engine.store().posts(agent.id, new).await? };
        Ok((unread, posts.iter().filter_map(TranscriptRenderer::unread).collect()))
    }

    /// The questions of an agent and of all below it that were asked from `since` on and before `until`, newest first:
    /// those of this page, and one more if there are more. It looks at a part of the tree's questions at a time, and at
    /// none that are older.
    async fn questions_between(
        &self,
        top: &Agent,
        page: Page,
        since: Option<Time>,
        mut until: Option<Time>,
    ) -> Result<Vec<Question>> {
        let (most, mut room) = (page.limit as usize, PageLimit::of(page.bytes));
        let tree = RecordFilter::<Question> { root: Some(top.root), ..RecordFilter::default() };
        let mut between = Vec::new();
        let mut page = Page { limit: page.limit.min(QUESTIONS), ..page };
        loop {
            let last = Page { skip: QUESTIONS - 1, limit: 1, ..page.clone() };
            let last = self.records(RecordFilter { page: last, ..tree.clone() }).await?.pop();
            page.until = last.as_ref().map(|last| last.id.to_string());
            loop {
                let (branch, page_of_branch) = (Some(top.id), page.clone());
                let found =
                    self.records(RecordFilter { branch, page: page_of_branch, ..tree.clone() }).await?;
                let Some(end) = found.last() else { break };
                page.after = Some(end.id.to_string());
                for question in found {
                    if until.is_some_and(|until| question.created >= until) {
                        continue;
                    }
                    // From here on the order decides: the times of two questions that were asked at once may
                    // contradict it.
                    until = None;
                    if since.is_some_and(|since| question.created < since) {
                        return Ok(between);
                    }
                    let fits = between.len() < most && room.takes(question.text.len());
                    between.push(question);
                    if !fits {
                        return Ok(between);
                    }
                }
            }
            let Some(last) = last else { return Ok(between) };
            if since.is_some_and(|since| last.created < since) {
                return Ok(between);
            }
            page.after = page.until.take();
        }
    }

    /// A renderer for the conversation with an agent.
    #[must_use]
    pub fn renderer(&self, agent: &Agent) -> TranscriptRenderer {
        TranscriptRenderer { reply: self.reply_of(&agent.kind), about: None, failed: false }
    }

    /// Which of a kind's texts are its answer.
    pub(crate) fn reply_of(&self, kind: &str) -> Reply {
        self.engine.kinds().get(kind).map_or(Reply::FinalText, |kind| kind.reply)
    }
}

/// Merges what was said and the questions, which come newest first: each keeps its own order, and a question
/// comes after all that was said by then. It merges from the end, as pages are read: wherever a page begins,
/// the last question before it is older than its first entry, also if the wall clock went back meanwhile, so
/// that the next page finds that question.
fn merged(said: Vec<Entry>, asked: impl Iterator<Item = Entry>) -> Vec<Entry> {
    let (mut all, mut asked) = (Vec::with_capacity(said.len()), asked.peekable());
    for entry in said.into_iter().rev() {
        while let Some(question) = asked.next_if(|question| question.at >= entry.at) {
            all.push(question);
        }
        all.push(entry);
    }
    all.extend(asked);
    all.reverse();
    all
}

/// Whether the first of these items is an answer that was refused and therefore is not shown.
fn was_refused(items: &[Item]) -> bool {
    let is_turn = |item: &Item| matches!(item.body, ItemBody::Turn(_));
    let [first, after @ ..] = items else { return false };
    is_turn(first) && after.iter().take_while(|item| !is_turn(item)).any(TranscriptRenderer::refuses)
}

impl TranscriptRenderer {
    /// Whether an item says that the answer before it was refused.
    #[must_use]
    pub fn refuses(item: &Item) -> bool {
        let ItemBody::Notice(notice) = &item.body else { return false };
        matches!(notice.code, NoticeCode::OutputRejected | NoticeCode::Ended(StopReason::ValidationFailed))
    }

    /// What a person sees of the next item of the agent's transcript.
    pub fn item(&mut self, item: &Item) -> Option<Entry> {
        let (role, text) = match &item.body {
            ItemBody::Message(message) => {
                self.about = match (&message.from, message.ended) {
                    (Author::Agent { id, .. }, Some(_)) => message.task.map(|task| (task, *id)),
                    _ => None,
                };
                self.failed = message.is_failure();
                (Role::User, (message.from == Author::User).then(|| message.text.clone())?)
            }
            ItemBody::Turn(turn)
                if self.reply == Reply::FinalText && !turn.text.is_empty() && turn.calls.is_empty() =>
            {
                (Role::Assistant, turn.text.clone())
            }
            ItemBody::Output(output) => {
                (Role::Assistant, output.said().or_else(|| output.answer())?.to_owned())
            }
            ItemBody::Notice(notice) if notice.level() != Level::Info => (Role::Notice, notice.text.clone()),
            _ => return None,
        };
        let (post, failed) = match &item.body {
            ItemBody::Message(message) => (message.post, false),
            ItemBody::Notice(notice) => (None, notice.level() == Level::Error),
            // The program's text about a failed task; a model's text is an answer.
            ItemBody::Turn(turn) => (None, self.failed && turn.used.is_none()),
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

    /// What a person sees of a question of the tree, open or answered.
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
