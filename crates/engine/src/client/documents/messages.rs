//! What was said in a chat about the documents of a project.

use entourage_store::ItemQuery;
use entourage_types::{
    Act, AgentId, Author, Document, DocumentHead, DocumentVersion, Item, ItemBody, Level, ProjectChat, RunId,
    Time,
};

use super::super::{Client, Speaker};
use crate::Result;

/// So many items are read at once: between two messages there are a few others.
const ITEMS: u32 = 200;
/// A page ends where its items have so many bytes.
const BYTES: usize = 1 << 20;

/// A message of a chat about the documents of a project.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectMessage {
    /// Its place in the chat, which never changes.
    pub seq: u64,
    /// The run that read or wrote it.
    pub run: RunId,
    /// Who said it (S5-R015, S5-R099).
    pub role: Speaker,
    /// The text.
    pub text: String,
    /// When.
    pub at: Time,
    /// For an answer, what the message before came to; none if nothing was decided.
    pub act: Option<Act>,
}

/// What a message about documents came to.
#[derive(Debug, Clone, PartialEq)]
pub struct ActResult {
    /// The answer, with what was decided.
    pub answer: ProjectMessage,
    /// The document that was created or changed, as the act left it (S5-R111); none, too, if it was deleted since.
    pub document: Option<Document>,
}

impl Client {
    /// A page of the messages of a chat about the documents of a project, oldest first, after this place, with the place
    /// after which the next page begins; none at the end. A message that waits for its turn is not among them.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound).
    pub async fn project_messages(
        &self,
        chat: AgentId,
        after: Option<u64>,
        limit: u32,
    ) -> Result<(Vec<ProjectMessage>, Option<u64>)> {
        self.record::<ProjectChat>(chat).await?;
        let mut from = after.map_or(0, |after| after.saturating_add(1));
        let (mut found, mut room) = (Vec::new(), BYTES);
        loop {
            let query = ItemQuery { bytes: room.max(1), ..ItemQuery::of(chat, from, ITEMS) };
            let items = self.engine.store().items(&self.scope, query).await?;
            let Some(last) = items.last() else { return Ok((found, None)) };
            from = last.seq + 1;
            for item in items {
                let (seq, Some(message)) = (item.seq, self.message_of(item).await?) else { continue };
                room = room.saturating_sub(message.text.len());
                found.push(message);
                if found.len() >= limit as usize || room == 0 {
                    return Ok((found, Some(seq)));
                }
            }
        }
    }

    /// What a run in such a chat answered; none if it has not, or never will.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound).
    pub async fn act_result(&self, run: RunId) -> Result<Option<ActResult>> {
        let items = self.items_of(&self.run(run).await?).await?;
        let Some(said) = items.into_iter().rev().find(|item| matches!(item.body, ItemBody::Turn(_))) else {
            return Ok(None);
        };
        let Some(answer) = self.message_of(said).await? else { return Ok(None) };
        let document = match &answer.act {
            Some(act) => self.document_of(act).await?,
            None => None,
        };
        Ok(Some(ActResult { answer, document }))
    }

    /// The document of an act as it left it, whatever was written since; none if it was deleted.
    async fn document_of(&self, act: &Act) -> Result<Option<Document>> {
        let Some(id) = act.document else { return Ok(None) };
        let store = self.engine.store();
        let Some(now) = store.record::<Document>(&self.scope, id).await? else { return Ok(None) };
        let Some(number) = act.numbers.version.filter(|version| *version != now.head.version) else {
            return Ok(Some(now));
        };
        let then: Option<DocumentVersion> =
            store.record(&self.scope, DocumentVersion::id_of(id, number)).await?;
        Ok(then.map(|then| {
            let DocumentVersion { number, name, standing_instruction, at, content, .. } = then;
            let head = DocumentHead { name, standing_instruction, version: number, updated: at, ..now.head };
            Document { head, content }
        }))
    }

    /// What an item shows in such a chat, if it shows anything.
    async fn message_of(&self, item: Item) -> Result<Option<ProjectMessage>> {
        let Item { seq, run, at, body, .. } = item;
        let (role, text) = match body {
            ItemBody::Message(said) if said.from == Author::User => (Speaker::User, said.text),
            ItemBody::Turn(turn) if !turn.text.is_empty() => (Speaker::Assistant, turn.text),
            ItemBody::Notice(notice) if notice.level() == Level::Error => (Speaker::Assistant, notice.text),
            _ => return Ok(None),
        };
        let act = match role {
            Speaker::Assistant => self.act_of(run).await?,
            Speaker::User => None,
        };
        Ok(Some(ProjectMessage { seq, run, role, text, at, act }))
    }
}
