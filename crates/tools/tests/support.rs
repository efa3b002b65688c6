//! A caller, its context, and helpers to call a tool.

use std::sync::Arc;

use async_trait::async_trait;
use entourage_tools::{
    ArgumentValidator, Caller, Context, Done, Effect, Error, Outcome, Reader, RecordQuery, RecordScope,
    Result, SubCallRecord, Tool,
};
use entourage_types::{
    AgentId, CallId, Entity, EntityKind, Kind, Owner, Record, Reply, Time, ToolSpec, WorksFor,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Stored records, which match if their text has all the words, ignoring case; and one long text.
#[derive(Default)]
pub(crate) struct Shelf {
    pub(crate) records: Vec<Entity>,
    pub(crate) text: String,
}

impl Shelf {
    pub(crate) fn of(records: &[impl Record]) -> Self {
        let records = records.iter().map(|record| record.entity().unwrap()).collect();
        Self { records, ..Self::default() }
    }
}

fn is_below(scope: &RecordScope, entity: &Entity) -> bool {
    matches!(scope, RecordScope::Below(parent) if entity.parent.as_ref() == Some(parent))
}

#[async_trait]
impl Reader for Shelf {
    async fn records(&self, query: RecordQuery) -> Result<Vec<Entity>> {
        let words = query.words.unwrap_or_default().to_lowercase();
        let fits = |entity: &&Entity| {
            let text = entity.text.as_deref().unwrap_or_default().to_lowercase();
            entity.kind == query.records.kind()
                && (!matches!(query.of, RecordScope::Below(_)) || is_below(&query.of, entity))
                && query.name.as_ref().is_none_or(|name| entity.name.as_deref() == Some(name.as_str()))
                && query.since.is_none_or(|since| entity.updated >= since)
                && query.records.status().is_none_or(|status| status == entity.status)
                && words.split_whitespace().all(|word| text.contains(word))
        };
        let mut found: Vec<Entity> = self.records.iter().filter(fits).cloned().collect();
        if query.newest_first {
            found.reverse();
        }
        found.drain(..found.len().min(query.skip as usize));
        found.truncate(query.limit as usize);
        Ok(found)
    }

    async fn record(&self, kind: EntityKind, id: &str) -> Result<Option<Entity>> {
        Ok(self.records.iter().find(|entity| (entity.kind, entity.id.as_str()) == (kind, id)).cloned())
    }

    async fn text(&self, item: u64) -> Result<Option<String>> {
        Ok(Some(self.text.clone()).filter(|_| item == 7))
    }
}

pub(crate) fn kind(name: &str, peers: &[&str]) -> Kind {
    let peers = peers.iter().map(|&peer| peer.to_owned()).collect();
    Kind { peers, description: format!("does what a {name} does"), ..Kind::bare(name) }
}

/// A kind that talks to the user by `send_message`.
pub(crate) fn speaker(peers: &[&str]) -> Kind {
    Kind { reply: Reply::SendMessage, ..kind("speaker", peers) }
}

fn counterpart(is_of_person: bool) -> WorksFor {
    if is_of_person { WorksFor::Person } else { WorksFor::Parent }
}

pub(crate) fn context(kind: Kind, is_of_person: bool) -> Context {
    let agent = AgentId::new();
    Context {
        call: CallId::new(),
        effect: Effect::Unsafe,
        agent,
        root: agent,
        works_for: counterpart(is_of_person),
        owner: Owner::local(),
        kind: Arc::new(kind),
        now: Time::from_micros(0),
        reader: Arc::new(Shelf::default()),
        sub_calls: SubCallRecord::default(),
        cancel: CancellationToken::new(),
    }
}

pub(crate) fn offered(tool: &dyn Tool, kind: &Kind, is_of_person: bool) -> Option<ToolSpec> {
    offered_to(tool, kind, is_of_person, false)
}

pub(crate) fn offered_to_code(tool: &dyn Tool, kind: &Kind) -> Option<ToolSpec> {
    offered_to(tool, kind, true, true)
}

fn offered_to(tool: &dyn Tool, kind: &Kind, is_of_person: bool, by_code: bool) -> Option<ToolSpec> {
    let peers: Vec<Arc<Kind>> = kind.peers.iter().map(|name| Arc::new(self::kind(name, &[]))).collect();
    tool.offer(&Caller {
        kind,
        peers: &peers,
        works_for: counterpart(is_of_person),
        has_sessions: true,
        by_code,
        may_have_cuts: true,
    })
}

/// Calls a tool as the engine does: only if it is offered, and only with valid arguments.
pub(crate) async fn call_in(context: &Context, tool: &dyn Tool, arguments: Value) -> Result<Outcome> {
    let spec = offered(tool, &context.kind, context.works_for.is_person()).expect("the tool is not offered");
    let renamed = tool.renamed(&arguments);
    ArgumentValidator::new(&spec)?.check(renamed.as_ref().unwrap_or(&arguments))?;
    tool.call(&Context { effect: tool.effect(), ..context.clone() }, arguments).await
}

pub(crate) async fn call(tool: &dyn Tool, arguments: Value) -> Result<Outcome> {
    call_in(&context(kind("tester", &[]), true), tool, arguments).await
}

/// Returns the result of a call that is expected to succeed.
pub(crate) async fn done(tool: &dyn Tool, arguments: Value) -> Done {
    match call(tool, arguments).await {
        Ok(Outcome::Done(done)) => done,
        other => panic!("not done: {other:?}"),
    }
}

/// Returns the error of a call that is expected to fail.
pub(crate) async fn fails(tool: &dyn Tool, arguments: Value) -> Error {
    call(tool, arguments).await.expect_err("the call should fail")
}
