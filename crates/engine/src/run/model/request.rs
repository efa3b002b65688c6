//! The request of a model call, and what proves it once it is rebuilt from rows.

use std::sync::Arc;

use entourage_llm::{Priority, Request};
use entourage_types::{Asked, ItemBody, Sha256};

use crate::prompt::{Rendered, of_request, of_single_request};
use crate::run::{Interrupt, Result, Run, model::decide::Prompt};

impl Run<'_> {
    /// Renders the request for the next turn.
    pub(in crate::run) async fn next_request(
        &mut self,
        model: Option<String>,
        max_tokens: Option<u32>,
    ) -> Result<(Request, Asked)> {
        let (system, system_sha256) = self.system().await?;
        let offer = Arc::clone(self.offered.tools());
        let rendered = Rendered {
            kind: &self.kind,
            model,
            system,
            tools: Arc::clone(&offer.specs),
            items: self.items(),
            one_call: self.engine.handles_one_call(&self.kind).map_err(Interrupt::failed)?,
            is_last: self.limits().last_call().is_some(),
            max_tokens,
        };
        let (request, chain) = rendered.request(self.transcript.chain());
        let sha256 = of_request(&request, &chain, system_sha256, offer.sha256);
        self.transcript.keep_chain(chain);
        let priority = self.priority();
        let asked = Asked {
            sha256,
            tools: Some(offer.sha256).filter(|tools| self.last_tools() != Some(*tools)),
            model: self.unless_own(request.model.clone()),
            max_tokens,
            at: self.engine.now(),
            first_token: None,
            gate_ms: 0,
            failed: Vec::new(),
            held_back: false,
        };
        Ok((Request { priority, owner: Some(self.agent.owner.clone()), ..request }, asked))
    }

    /// Returns the request for a decision, and how it was made.
    pub(in crate::run) fn decision_request(
        &mut self,
        prompt: &Prompt,
        model: Option<String>,
        max_tokens: Option<u32>,
    ) -> (Request, Asked) {
        let (priority, owner) = (self.priority(), Some(self.agent.owner.clone()));
        let request = Request { model, max_tokens, priority, owner, ..prompt.request.clone() };
        let asked = self.asked_once(&request);
        (request, asked)
    }

    /// Returns how a model is asked with a request that no other one goes on from.
    pub(in crate::run) fn asked_once(&self, request: &Request) -> Asked {
        Asked {
            sha256: of_single_request(request),
            tools: None,
            model: self.unless_own(request.model.clone()),
            max_tokens: request.max_tokens,
            at: self.engine.now(),
            first_token: None,
            gate_ms: 0,
            failed: Vec::new(),
            held_back: false,
        }
    }

    /// A person waits for a run that no other agent asked for; work for other agents lets such requests go first.
    fn priority(&mut self) -> Priority {
        match self.control.take_hurry() {
            true => Priority::Now,
            false if self.record.tasks.is_empty() => Priority::Person,
            false => Priority::Background,
        }
    }

    /// Returns the name of a model, unless it is the kind's own.
    pub(in crate::run) fn unless_own(&self, model: Option<String>) -> Option<String> {
        model.filter(|model| Some(model) != self.kind.model.as_ref())
    }

    /// Returns the digest of the tools that the turn before in this session says were offered.
    fn last_tools(&self) -> Option<Sha256> {
        self.items().iter().rev().find_map(|item| match &item.body {
            ItemBody::Turn(turn) => turn.asked.as_ref()?.tools,
            _ => None,
        })
    }
}
