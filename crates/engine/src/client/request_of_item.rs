//! The request whose answer is an item: a turn, a decision or a summary. Each is rebuilt from rows and proved by the
//! digest that the item keeps.

use entourage_llm::Request;
use entourage_store::ItemQuery;
use entourage_types::{Agent, AgentId, Asked, AskedSummary, Decision, Digest, Item, ItemBody, Kind, StepKey};

use super::{
    Client, RebuiltRequest,
    request::{doubt, lost_version},
};
use crate::{
    Error, Result,
    prompt::{RenderedDecision, RenderedSummary, of_single_request, refused},
};

impl Client {
    /// The request whose answer is this item of an agent, as the model received it: that of a turn, of a decision, of
    /// an answer to a decision that did not fit, or of a summary.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such item, or no model wrote it.
    pub async fn request_of_item(&self, agent: AgentId, seq: u64) -> Result<RebuiltRequest> {
        let agent = self.agent(agent).await?;
        let unknown = || Error::not_found("request", format!("{}/{seq}", agent.id));
        let found = self.engine.store().items(&self.scope, ItemQuery::of(agent.id, seq, 1)).await?;
        let item = found.into_iter().find(|item| item.seq == seq).ok_or_else(unknown)?;
        if let (ItemBody::Turn(_), Some(StepKey::Model(number))) = (&item.body, &item.step) {
            return self.request(item.run, *number).await;
        }
        let run = self.run(item.run).await?;
        let kind = self.engine.kind_of(&agent, Some(&run)).await?;
        let before = self.session_before(&agent, &item).await?;
        let (request, asked) = match &item.body {
            ItemBody::Decision(decision) => of_decision(&kind, &before, &item, decision),
            ItemBody::Digest(digest) => of_digest(&kind, &before, digest),
            _ => None,
        }
        .ok_or_else(unknown)?;
        let doubt = doubt(Some(&asked), of_single_request(&request), lost_version(&agent, &run, &kind));
        let (asked, run) = (Some(asked), run.id);
        Ok(RebuiltRequest { run, number: None, item, request, asked, doubt, before: None })
    }

    /// The items of the session before an item.
    async fn session_before(&self, agent: &Agent, item: &Item) -> Result<Vec<Item>> {
        let (_, from) = self.sessions_until(agent, item.session, 0).await?;
        let query = ItemQuery { before: Some(item.seq), ..ItemQuery::of(agent.id, from, u32::MAX) };
        let mut items = self.engine.store().items(&self.scope, query).await?;
        items.retain(|other| other.session == item.session);
        Ok(items)
    }
}

/// The request for a decision. None if no model has answered it, or what was wanted is not on record.
fn of_decision(kind: &Kind, before: &[Item], item: &Item, decision: &Decision) -> Option<(Request, Asked)> {
    let (run, name) = (item.run, decision.name.as_str());
    let asked = decision.asked.as_deref()?;
    // On record with the first of several answers to the same.
    let first = || refused(before, run, name).rev().find_map(|refused| refused.prompt.as_deref());
    let prompt = decision.prompt.as_deref().or_else(first)?;
    let (model, max_tokens) = (model(asked, kind), asked.max_tokens);
    let rendered = RenderedDecision { kind, model, prompt, items: before, run, name, max_tokens };
    Some((rendered.request(), asked.clone()))
}

/// The request for a summary. None if no model wrote it.
fn of_digest(kind: &Kind, before: &[Item], digest: &Digest) -> Option<(Request, Asked)> {
    let AskedSummary { asked, read } = digest.asked.as_deref()?;
    let (of, view) = RenderedSummary::view(before, kind, digest);
    let (model, max_tokens) = (model(asked, kind), asked.max_tokens);
    let rendered = RenderedSummary { of, model, view, read: *read, max_tokens };
    Some((rendered.request(), asked.clone()))
}

/// The model that was asked.
fn model(asked: &Asked, kind: &Kind) -> Option<String> {
    asked.model.clone().or_else(|| kind.model.clone())
}
