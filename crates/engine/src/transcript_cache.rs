//! Caches the transcripts of agents that worked lately, so that the next activation reads only what is new.
//!
//! Items never change, so a cached transcript is never wrong; it may be incomplete, and the claim returns the
//! rest. A pruned agent may be created again under the same id, as a chat may under the same name: an entry
//! belongs to the agent with its creation time, and to no other. Losing it costs time and nothing else.

use std::sync::{Mutex, PoisonError};

use entourage_types::{
    Agent, AgentId, DecisionOutcome, Item, ItemBody, OutputEffect, SubOutput, Time, ToolCall,
};
use lru::LruCache;
use serde_json::Value;

use crate::prompt::Chain;

/// The approximate size of the cache, in bytes.
const ROOM: usize = 16 << 20;
/// Sessions of fewer items are not cached: a few rows are quickly read back, and there may be thousands of
/// such sessions that no one continues.
const WORTH_HOLDING: usize = 16;
/// The size of an item or a call beside its text, in bytes.
const ITEM: usize = 256;
/// The size of a JSON value beside its text, in bytes.
const VALUE: usize = 32;

/// The cached sessions; the least recently used one is evicted first.
pub(crate) struct TranscriptCache {
    held: Mutex<(LruCache<AgentId, Held>, usize)>,
    room: usize,
}

/// The cached items of an agent: the last ones of its transcript.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Held {
    created: Option<Time>,
    items: Vec<Item>,
    /// The messages of the last request, digested.
    chain: Option<Chain>,
}

impl Held {
    /// Returns the number of the first item that is not cached.
    pub(crate) fn end(&self) -> u64 {
        self.items.last().map_or(0, |item| item.seq + 1)
    }

    pub(crate) fn chain(&self) -> Option<Chain> {
        self.chain
    }

    /// Whether nothing here belongs to another agent that had this one's id before.
    pub(crate) fn is_of(&self, agent: &Agent) -> bool {
        self.created.is_none_or(|created| created == agent.created)
    }

    /// Returns the agent's current session: the cached items of it, and those read behind them.
    pub(crate) fn joined(self, agent: &Agent, read: Vec<Item>) -> Vec<Item> {
        let mut items = self.items;
        // Cached items of an earlier session are at the beginning, if there are any.
        if items.first().is_some_and(|item| item.session != agent.session) {
            items.retain(|item| item.session == agent.session);
        }
        items.extend(read);
        items
    }
}

impl Default for TranscriptCache {
    fn default() -> Self {
        Self::new(ROOM)
    }
}

impl TranscriptCache {
    fn new(room: usize) -> Self {
        Self { held: Mutex::new((LruCache::unbounded(), 0)), room }
    }

    /// Removes an agent's entry from the cache and returns it.
    pub(crate) fn take(&self, agent: AgentId) -> Held {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = held.0.pop(&agent).unwrap_or_default();
        held.1 -= weight(&taken.items);
        taken
    }

    /// Caches an agent's session, all of which has been committed.
    pub(crate) fn put(&self, agent: &Agent, items: Vec<Item>, chain: Option<Chain>) {
        let weight_of_these = weight(&items);
        if items.len() < WORTH_HOLDING || weight_of_these > self.room {
            return;
        }
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.1 += weight_of_these;
        if let Some(before) = held.0.put(agent.id, Held { created: Some(agent.created), items, chain }) {
            held.1 -= weight(&before.items);
        }
        while held.1 > self.room
            && let Some((_, oldest)) = held.0.pop_lru()
        {
            held.1 -= weight(&oldest.items);
        }
    }
}

fn weight(items: &[Item]) -> usize {
    items.iter().map(|item| ITEM + of_body(&item.body)).sum()
}

fn of_calls(calls: &[ToolCall]) -> usize {
    calls.iter().map(|call| ITEM + call.tool.len() + of_value(&call.arguments)).sum()
}

fn of_body(body: &ItemBody) -> usize {
    match body {
        ItemBody::Message(message) => message.text.len(),
        ItemBody::Turn(turn) => turn.text.len() + of_calls(&turn.calls),
        ItemBody::Output(output) | ItemBody::SubOutput(SubOutput { output, .. }) => {
            let effect = match &output.effect {
                Some(OutputEffect::Answer(text) | OutputEffect::Said(text)) => text.len(),
                _ => 0,
            };
            output.text.len() + effect + output.details.as_ref().map_or(0, of_value)
        }
        ItemBody::SubCalls(made) => of_calls(&made.calls),
        ItemBody::Decision(decision) => {
            let prompt = decision
                .prompt
                .as_ref()
                .map_or(0, |prompt| prompt.instructions.len() + prompt.text.len() + of_value(&prompt.schema));
            decision.name.len() + of_decision(&decision.outcome) + prompt
        }
        ItemBody::Notice(notice) => notice.text.len() + notice.cause.as_ref().map_or(0, String::len),
        ItemBody::Digest(digest) => digest.text.len(),
        ItemBody::Context(context) => context.entries.iter().map(|entry| VALUE + entry.text.len()).sum(),
    }
}

fn of_decision(outcome: &DecisionOutcome) -> usize {
    match outcome {
        DecisionOutcome::Value(value) => of_value(value),
        DecisionOutcome::Refused { answer, why } => answer.len() + why.len(),
        DecisionOutcome::Failed(why) => why.len(),
    }
}

pub(crate) fn of_value(value: &Value) -> usize {
    VALUE
        + match value {
            Value::String(text) => text.len(),
            Value::Array(entries) => entries.iter().map(of_value).sum(),
            // Each name is a value of its own, beside what it names.
            Value::Object(fields) => {
                fields.iter().map(|(name, field)| VALUE + name.len() + of_value(field)).sum()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
}

#[cfg(test)]
mod tests {
    use entourage_types::{Author, CallId, Message, Output, Owner, RunId, Time, ToolCall, Turn};
    use serde_json::json;

    use super::*;

    fn agent() -> Agent {
        Agent::root(Owner::local(), "helper", "", Time::from_micros(1))
    }

    fn items(agent: &Agent, session: u32, from: u64, count: u64) -> Vec<Item> {
        let (run, at, agent) = (RunId::new(), Time::from_micros(0), agent.id);
        let text = "x".repeat(100);
        let body = ItemBody::Message(Message::new(Author::User, text, None));
        (from..from + count)
            .map(|seq| Item { agent, seq, run, session, at, step: None, body: body.clone() })
            .collect()
    }

    #[test]
    fn a_full_cache_drops_the_least_recently_used_transcript() {
        let [one, two, three] = [agent(), agent(), agent()];
        let recent = TranscriptCache::new(weight(&items(&one, 0, 0, 20)) * 2);
        recent.put(&one, items(&one, 0, 0, 20), None);
        recent.put(&two, items(&two, 0, 0, 20), None);
        let held = recent.take(one.id);
        assert_eq!(held.end(), 20);
        recent.put(&one, held.items, None);
        recent.put(&three, items(&three, 0, 0, 20), None);
        assert_eq!(recent.take(two.id), Held::default(), "it was unused for longest");
        assert_eq!((recent.take(one.id).end(), recent.take(three.id).end()), (20, 20));
        assert_eq!(recent.held.lock().unwrap().1, 0);
        recent.put(&one, items(&one, 0, 0, 100), None);
        assert_eq!(recent.take(one.id), Held::default(), "what does not fit is not held");
    }

    #[test]
    fn a_short_transcript_is_not_cached() {
        let (agent, recent) = (agent(), TranscriptCache::default());
        for (count, held) in [(WORTH_HOLDING - 1, 0), (WORTH_HOLDING, WORTH_HOLDING)] {
            recent.put(&agent, items(&agent, 0, 0, count as u64), None);
            assert_eq!(recent.take(agent.id).items.len(), held);
        }
    }

    /// No model reads the details of an output, and they are as large as an MCP server makes them.
    #[test]
    fn call_arguments_and_output_details_count_toward_the_cache_size() {
        let (agent, large) = (agent(), json!([{ "text": "x".repeat(1_000) }]));
        let call = ToolCall { id: CallId::new(), tool: "look".into(), arguments: large.clone() };
        let output = Output {
            call: call.id,
            tool: "look".into(),
            text: String::new(),
            error: false,
            effect: None,
            details: Some(large),
        };
        let turn = Turn { text: String::new(), calls: vec![call], ..Turn::default() };
        for body in [ItemBody::Turn(turn), ItemBody::Output(output)] {
            let recent = TranscriptCache::new(20 * 1_000);
            let all = items(&agent, 0, 0, 20).into_iter().map(|item| Item { body: body.clone(), ..item });
            recent.put(&agent, all.collect(), None);
            assert_eq!(recent.take(agent.id), Held::default(), "it does not fit");
        }
    }

    #[test]
    fn cached_and_newly_read_items_join_into_the_current_session() {
        let agent = agent();
        let all = items(&agent, agent.session, 0, 5);
        let held = |items: &[Item]| Held { created: Some(agent.created), items: items.to_vec(), chain: None };
        assert_eq!(held(&all[..3]).joined(&agent, all[3..].to_vec()), all);
        let later_on = Agent { session: agent.session + 1, ..agent.clone() };
        let later = items(&agent, later_on.session, 5, 2);
        assert_eq!(held(&all).joined(&later_on, later.clone()), later);
    }

    #[test]
    fn a_cached_transcript_is_not_used_for_a_recreated_agent() {
        let (agent, recent) = (agent(), TranscriptCache::default());
        recent.put(&agent, items(&agent, 0, 0, 20), None);
        let held = recent.take(agent.id);
        let anew = Agent { created: Time::from_micros(2), ..agent.clone() };
        assert!(held.is_of(&agent) && !held.is_of(&anew));
        assert!(recent.take(agent.id).is_of(&anew), "nothing is held of anybody");
    }
}
