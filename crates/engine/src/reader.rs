//! What tools read of the store: records of the caller's owner, and the caller's transcript.

use std::sync::Arc;

use async_trait::async_trait;
use entourage_store::{EntityQuery, Error as StoreError, ItemQuery, Page, Store};
use entourage_tools::{Error, RecordQuery, RecordScope, Result};
use entourage_types::{
    Agent, AgentId, Entity, EntityKind, EventBody, ItemBody, NewEvent, Owner, Parent, RecordWrite, Scope,
    is_storable_name,
};

/// Bytes of records per read: room for several of the longest that agents may write.
const BYTES: usize = 2 << 20;

/// The reader of one agent.
pub(crate) struct Reader {
    store: Arc<dyn Store>,
    owner: Owner,
    root: AgentId,
    agent: AgentId,
}

impl Reader {
    pub(crate) fn of(store: &Arc<dyn Store>, agent: &Agent) -> Self {
        Self { store: Arc::clone(store), owner: agent.owner.clone(), root: agent.root, agent: agent.id }
    }

    fn scope(&self) -> Scope {
        Scope::from(&self.owner)
    }
}

#[async_trait]
impl entourage_tools::Reader for Reader {
    async fn records(&self, query: RecordQuery) -> Result<Vec<Entity>> {
        let RecordQuery { records, of, name, since, words, with_texts, newest_first, skip, limit } = query;
        readable(records.kind())?;
        let (root, parent) = match of {
            // Its records are in its tree, by which the words are found.
            RecordScope::Agent => (words.is_some().then_some(self.root), Some(self.agent.into())),
            RecordScope::Below(parent) => (None, Some(parent)),
            RecordScope::Tree => (Some(self.root), None),
            RecordScope::InTree(top) => (Some(top), None),
            RecordScope::Owner => (None, None),
        };
        let query = EntityQuery {
            root,
            parent,
            name,
            since,
            text: words,
            with_texts,
            page: Page { skip, limit, newest_first, bytes: BYTES, ..Page::default() },
            ..EntityQuery::of(records)
        };
        self.store.entities(&self.scope(), query).await.map_err(unreadable)
    }

    async fn record(&self, kind: EntityKind, id: &str) -> Result<Option<Entity>> {
        readable(kind)?;
        self.store.entity(&self.scope(), kind, id).await.map_err(unreadable)
    }

    async fn text(&self, item: u64) -> Result<Option<String>> {
        let query = ItemQuery::of(self.agent, item, 1);
        let found = self.store.items(&self.scope(), query).await.map_err(unreadable)?;
        Ok(found.into_iter().find(|found| found.seq == item).and_then(|found| match found.body {
            ItemBody::Message(message) => Some(message.text),
            ItemBody::Output(output) => Some(output.text),
            _ => None,
        }))
    }
}

/// Refuses the engine's own records, except for those that tools show: what waits for a person or for a
/// receiver is none of a tool's business.
fn readable(kind: EntityKind) -> Result<()> {
    let is_read =
        [EntityKind::SESSION, EntityKind::PROJECT, EntityKind::DOCUMENT, EntityKind::GOAL, EntityKind::TASK]
            .contains(&kind);
    if kind.is_reserved() && !is_read {
        return Err(Error::NotAllowed(format!("a tool reads no {kind}")));
    }
    Ok(())
}

fn unreadable(error: StoreError) -> Error {
    Error::Failed(format!("stored data cannot be read: {error}"))
}

/// Why an agent's tool may not write this record; none if it may.
pub(crate) fn refused(agent: &Agent, write: &RecordWrite) -> Option<String> {
    let (Entity { kind, id, owner, root, parent, .. }, event) = (write.entity(), write.event());
    let is_foreign = |event: &NewEvent| event.root != agent.root || event.agent != agent.id;
    let is_of_record = |event: &NewEvent| matches!(event.body, EventBody::Record { .. });
    if kind.is_reserved() {
        Some(format!("tools cannot write records of kind `{kind}`"))
    } else if *owner != agent.owner {
        Some(format!("{kind} {id} would belong to another owner"))
    } else if root.is_some_and(|root| root != agent.root) || event.is_some_and(is_foreign) {
        Some(format!("{kind} {id} would belong to another tree"))
    } else if parent.as_ref().and_then(Parent::agent).is_some_and(|parent| parent != agent.id) {
        Some(format!("{kind} {id} would belong to another agent"))
    } else if matches!(parent, Some(Parent::Record(of, _)) if of.is_reserved()) {
        Some(format!("{kind} {id} would belong to a record of the engine"))
    } else if let Some(name) = unstorable_name(write.entity()) {
        Some(format!("the {name} of the {kind} {TOO_LONG}"))
    } else if !event.is_none_or(is_of_record) {
        Some(format!("the event of {kind} {id} would be another noun's"))
    } else {
        None
    }
}

/// What is wrong with an [unstorable name](unstorable_name).
pub(crate) const TOO_LONG: &str = "has more than 512 bytes, or a NUL";

/// Which of the texts by which a record is found no database could store: its id, its name or its parent.
pub(crate) fn unstorable_name(record: &Entity) -> Option<&'static str> {
    let parent = record.parent.as_ref().map(ToString::to_string).unwrap_or_default();
    let names =
        [("id", &*record.id), ("name", record.name.as_deref().unwrap_or_default()), ("parent", &parent)];
    names.into_iter().find(|(_, name)| !is_storable_name(name)).map(|(what, _)| what)
}

#[cfg(test)]
mod tests {
    use entourage_types::{Counter, Note, NoteId, Time};

    use super::*;

    #[test]
    fn a_tool_writes_only_records_of_tools_of_its_own_owner_and_tree() {
        let now = Time::from_micros(0);
        let agent = Agent::root(Owner::new("ann"), "helper", "helps", now);
        let note = Note {
            id: NoteId::new(),
            owner: agent.owner.clone(),
            root: agent.root,
            agent: agent.id,
            title: "a".into(),
            content: "b".into(),
            created: now,
        };
        let refused = |write: serde_json::Result<RecordWrite>| refused(&agent, &write.unwrap());
        assert_eq!(refused(RecordWrite::of(&note)), None);
        let stolen = Note { owner: Owner::new("bob"), ..note.clone() };
        assert!(refused(RecordWrite::of(&stolen)).unwrap().contains("another owner"));
        let elsewhere = Note { root: AgentId::new(), ..note };
        assert!(refused(RecordWrite::of(&elsewhere)).unwrap().contains("another tree"));
        let of_another = Note { root: agent.root, agent: AgentId::new(), ..elsewhere };
        assert!(refused(RecordWrite::of(&of_another)).unwrap().contains("another agent"));
        let counter = Counter { owner: agent.owner.clone(), name: "n".into(), last: 1, updated: now };
        assert_eq!(
            refused(RecordWrite::of(&counter)).as_deref(),
            Some("tools cannot write records of kind `counter`")
        );
    }
}
