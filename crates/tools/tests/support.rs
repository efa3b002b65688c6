//! A caller, its context, and helpers to call a tool.

use std::sync::Arc;

use async_trait::async_trait;
use entourage_tools::{Caller, Checker, Context, Done, Effect, Error, Memory, Notes, Outcome, Result, Tool};
use entourage_types::{AgentId, CallId, Kind, Learning, Note, Owner, Reply, Session, Time, ToolSpec};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Notes that match if they have all the words, ignoring case; the oldest first.
#[derive(Default)]
pub(crate) struct Shelf(pub(crate) Vec<Note>);

#[async_trait]
impl Notes for Shelf {
    async fn search(&self, text: &str, limit: u32) -> Result<Vec<Note>> {
        let text = text.to_lowercase();
        let has_all = |note: &&Note| {
            let said = format!("{} {}", note.title, note.content).to_lowercase();
            text.split_whitespace().all(|word| said.contains(word))
        };
        Ok(self.0.iter().filter(has_all).take(limit as usize).cloned().collect())
    }

    async fn latest(&self, limit: u32) -> Result<Vec<Note>> {
        Ok(self.0.iter().rev().take(limit as usize).cloned().collect())
    }
}

/// Fixed learnings and sessions, and one long text.
#[derive(Default)]
pub(crate) struct Mind(pub(crate) Vec<Learning>, pub(crate) Vec<Session>, pub(crate) String);

#[async_trait]
impl Memory for Mind {
    async fn learnings(&self) -> Result<Vec<Learning>> {
        Ok(self.0.clone())
    }

    async fn sessions(&self, words: &str, since: Time, limit: usize) -> Result<Vec<Session>> {
        let fits = |known: &&Session| known.summary.contains(words) && known.completed >= since;
        Ok(self.1.iter().filter(fits).take(limit).cloned().collect())
    }

    async fn text(&self, item: u64) -> Result<Option<String>> {
        Ok(Some(self.2.clone()).filter(|_| item == 7))
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

pub(crate) fn context(kind: Kind, is_root: bool) -> Context {
    let agent = AgentId::new();
    Context {
        call: CallId::new(),
        effect: Effect::Unsafe,
        agent,
        root: agent,
        is_root,
        owner: Owner::local(),
        kind: Arc::new(kind),
        now: Time::from_micros(0),
        notes: Arc::new(Shelf::default()),
        memory: Arc::new(Mind::default()),
        cancel: CancellationToken::new(),
    }
}

pub(crate) fn offered(tool: &dyn Tool, kind: &Kind, is_root: bool) -> Option<ToolSpec> {
    let peers: Vec<Arc<Kind>> = kind.peers.iter().map(|name| Arc::new(self::kind(name, &[]))).collect();
    tool.offer(&Caller { kind, peers: &peers, is_root, has_sessions: true, has_cuts: true })
}

/// Calls a tool as the engine does: only if it is offered, and only with valid arguments.
pub(crate) async fn call_in(context: &Context, tool: &dyn Tool, arguments: Value) -> Result<Outcome> {
    let spec = offered(tool, &context.kind, context.is_root).expect("the tool is not offered");
    let renamed = tool.renamed(&arguments);
    Checker::new(&spec)?.check(renamed.as_ref().unwrap_or(&arguments))?;
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
