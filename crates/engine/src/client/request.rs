//! The request of a model call, rebuilt from rows and proved by the digest that its turn keeps.

use std::sync::Arc;

use entourage_llm::Request;
use entourage_store::{ItemQuery, Page, RecordFilter};
use entourage_types::{
    Agent, Asked, EntityKind, Item, ItemBody, Kind, Run, RunId, Scope, Session, Sha256, StepKey, ToolSpec,
    Turn,
};

use super::Client;
use crate::{
    Error, Result,
    digest::sha256,
    prompt::{self, Rendered, of_request, of_tools},
    run::is_last_announced,
    toolset::{Holder, Position},
};

/// Closed sessions read at once.
const SESSIONS: u32 = 100;

/// The request of one model call.
#[derive(Debug, Clone)]
pub struct RebuiltRequest {
    /// The run.
    pub run: RunId,
    /// Which model call of the run, from 1; none if the answer is no turn.
    pub number: Option<u32>,
    /// The item that holds the answer.
    pub item: Item,
    /// The request.
    pub request: Request,
    /// How the model was asked; none if that was not recorded.
    pub asked: Option<Asked>,
    /// Why the request may not be the one that the provider's adapter was given; none if its digest proves that it is.
    pub doubt: Option<String>,
    /// The request before in the same session, if there is one.
    pub before: Option<RequestBefore>,
}

/// What a request has in common with the one before in its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestBefore {
    /// The run of that request.
    pub run: RunId,
    /// Its number there.
    pub number: u32,
    /// How many messages of it the request begins with; none if what comes before the messages differs.
    pub kept: usize,
    /// How many messages it had.
    pub messages: usize,
    /// Why the request does not begin with the whole of it.
    pub broken: Option<PrefixBreak>,
}

/// Why a request does not begin with the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrefixBreak {
    /// Another model was asked.
    Model,
    /// The run began with another version of the kind.
    Kind,
    /// Other tools were offered.
    Tools,
    /// A digest replaced the oldest turns.
    Digest,
    /// The kind reads the latest messages only, and older ones have left.
    Window,
}

impl PrefixBreak {
    /// The reason as a word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Kind => "kind",
            Self::Tools => "tools",
            Self::Digest => "digest",
            Self::Window => "window",
        }
    }
}

/// What the rows say of a request.
struct Found {
    request: Request,
    run: Run,
    kind: Arc<Kind>,
    /// The number of the item with the conversation's digest that it begins with.
    digest: Option<u64>,
    /// The hash of the request as rebuilt.
    sha256: Sha256,
    doubt: Option<String>,
}

impl Client {
    /// The request of a run's model call, numbered from 1, as the model received it.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such run, [`Error::NoRequest`] if no answer to such a call is on record.
    pub async fn request(&self, id: RunId, number: u32) -> Result<RebuiltRequest> {
        let run = self.run(id).await?;
        let agent = self.agent(run.agent).await?;
        let query = ItemQuery { run: Some(id), ..ItemQuery::of(run.agent, 0, u32::MAX) };
        let of_run = self.engine.store().items(&self.scope, query).await?;
        let key = StepKey::Model(number);
        let (mut answered, mut turn) = (0, None);
        for item in of_run.into_iter().filter(|item| turn_in(item).is_some()) {
            answered += usize::from(matches!(item.step, Some(StepKey::Model(_))));
            turn = turn.or_else(|| (item.step.as_ref() == Some(&key)).then_some(item));
        }
        let turn = turn.ok_or(Error::NoRequest { run: id, number, answered })?;
        let kind = self.engine.kind_of(&agent, Some(&run)).await?;
        let read = kind.context.summaries() as usize;
        let (sessions, from) = self.sessions_until(&agent, turn.session, read).await?;
        let query = ItemQuery { before: Some(turn.seq + 1), ..ItemQuery::of(agent.id, from, u32::MAX) };
        let mut items = self.engine.store().items(&self.scope, query).await?;
        items.retain(|item| item.session == turn.session);
        let at = items.len().saturating_sub(1);
        let found = self.rebuilt(&agent, &sessions, &items, at, run).await?;
        let asked = turn_in(&turn).and_then(|turn| turn.asked.as_deref().cloned());
        let doubt = doubt(asked.as_ref(), found.sha256, found.doubt.clone());
        let before = self.before(&agent, &sessions, &items, &found).await?;
        let (item, number) = (turn, Some(number));
        Ok(RebuiltRequest { run: id, number, item, request: found.request, asked, doubt, before })
    }

    /// Rebuilds the request whose answer is the item at this place of its session.
    async fn rebuilt(
        &self,
        agent: &Agent,
        sessions: &[Session],
        items: &[Item],
        at: usize,
        run: Run,
    ) -> Result<Found> {
        let kind = self.engine.kind_of(agent, Some(&run)).await?;
        let mut doubt = lost_version(agent, &run, &kind);
        let turn = items.get(at).and_then(turn_in);
        let turns = items[..=at.min(items.len().saturating_sub(1))].iter().rev().filter_map(turn_in);
        let list = turns.filter_map(|turn| turn.asked.as_ref()?.tools).next();
        let seen = &items[..at];
        let tools = match list {
            Some(list) => match self.tool_list(list).await? {
                Some(tools) => tools,
                None => {
                    doubt = Some(format!("the list of tools `{list}` is not on record"));
                    Arc::default()
                }
            },
            None => {
                let (engine, position) = (&self.engine, Position::of(agent, &kind, seen));
                let servers = engine.owner_servers(&agent.owner);
                let holder = Holder { owner: &agent.owner, switches: &run.switches, servers: &servers };
                Arc::clone(&engine.offer(&kind, position, &holder).specs)
            }
        };
        let other = turn.and_then(|turn| turn.asked.as_ref()?.model.clone());
        let rendered = Rendered {
            kind: &kind,
            model: other.or_else(|| kind.model.clone()),
            system: prompt::system(&kind, sessions),
            tools,
            items: seen,
            one_call: self.engine.handles_one_call(&kind).unwrap_or_default(),
            is_last: is_last_announced(seen, run.id),
            max_tokens: turn.and_then(|turn| turn.asked.as_ref()?.max_tokens),
        };
        let digest = seen.iter().rev().find(|item| matches!(item.body, ItemBody::Digest(_)));
        let digest = digest.map(|item| item.seq);
        let (request, chain) = rendered.request(None);
        let sha256 = of_request(&request, &chain, sha256(&request.system), of_tools(&request.tools));
        Ok(Found { request, run, kind, digest, sha256, doubt })
    }

    /// Compares a request with the one before in its session.
    async fn before(
        &self,
        agent: &Agent,
        sessions: &[Session],
        items: &[Item],
        found: &Found,
    ) -> Result<Option<RequestBefore>> {
        let asked = |item: &Item| turn_in(item).is_some_and(|turn| turn.asked.is_some());
        let at = items[..items.len().saturating_sub(1)].iter().rposition(asked);
        let Some((at, StepKey::Model(number))) = at.and_then(|at| Some((at, items[at].step.clone()?))) else {
            return Ok(None);
        };
        let run = match items[at].run {
            id if id == found.run.id => found.run.clone(),
            id => self.run(id).await?,
        };
        let id = run.id;
        let before = self.rebuilt(agent, sessions, items, at, run).await?;
        let (old, new) = (&before.request, &found.request);
        let same = old.messages.iter().zip(&new.messages).take_while(|(one, other)| one == other).count();
        let messages = old.messages.len();
        let broken = if old.model != new.model {
            Some(PrefixBreak::Model)
        } else if before.kind.version != found.kind.version {
            Some(PrefixBreak::Kind)
        } else if old.tools != new.tools {
            Some(PrefixBreak::Tools)
        } else if same == messages {
            None
        } else if before.digest != found.digest {
            Some(PrefixBreak::Digest)
        } else {
            Some(PrefixBreak::Window)
        };
        let is_prefix_kept = old.tools == new.tools && old.system == new.system;
        let kept = if is_prefix_kept { same } else { 0 };
        Ok(Some(RequestBefore { run: id, number, kept, messages, broken }))
    }

    /// A stored list of tools.
    async fn tool_list(&self, list: Sha256) -> Result<Option<Arc<[ToolSpec]>>> {
        let stored =
            self.engine.store().entity(&Scope::All, EntityKind::TOOL_LIST, &list.to_string()).await?;
        let tools = stored.and_then(|stored| serde_json::from_str::<Vec<ToolSpec>>(&stored.body).ok());
        Ok(tools.map(Arc::from))
    }

    /// The closed sessions before a session whose summaries its model reads, newest first, and the number of
    /// the session's first item.
    pub(super) async fn sessions_until(
        &self,
        agent: &Agent,
        session: u32,
        read: usize,
    ) -> Result<(Vec<Session>, u64)> {
        let (mut earlier, mut after) = (Vec::new(), None);
        while session > 1 && earlier.len() < read.max(1) {
            let page = Page { limit: SESSIONS, newest_first: true, after, ..Page::default() };
            let filter = RecordFilter { parent: Some(agent.id.into()), page, ..RecordFilter::default() };
            let found: Vec<Session> = self.records(filter).await?;
            after = found.last().map(|last| last.id.to_string());
            earlier.extend(found.into_iter().filter(|found| found.number < session));
            if after.is_none() {
                break;
            }
        }
        let from = earlier.first().map_or(0, |last| last.items.1 + 1);
        earlier.truncate(read);
        Ok((earlier, from))
    }
}

/// Says why a request may not be the one that was sent: its digest is another one, for a reason that is known or not.
pub(super) fn doubt(asked: Option<&Asked>, sha256: Sha256, known: Option<String>) -> Option<String> {
    match asked {
        None => Some("it was made by a release that did not keep digests of requests".to_owned()),
        Some(asked) if asked.sha256 == sha256 => None,
        Some(_) => Some(known.unwrap_or_else(|| {
            "what it is rendered from has changed, or another release of the program renders it".to_owned()
        })),
    }
}

/// Says that the version of the kind with which a run began is lost, if this is another one.
pub(super) fn lost_version(agent: &Agent, run: &Run, kind: &Kind) -> Option<String> {
    let is_kept = kind.version == run.kind_version;
    (!is_kept)
        .then(|| format!("version `{}` of the kind `{}` is not on record", run.kind_version, agent.kind))
}

fn turn_in(item: &Item) -> Option<&Turn> {
    match &item.body {
        ItemBody::Turn(turn) => Some(turn),
        _ => None,
    }
}
