//! Transcripts: numbers without gaps, every call answered once, each item published once.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use entourage_types::{AgentId, Event, EventBody, Item, ItemBody};

use super::{Found, Invariant::Transcript, Snapshot};

/// Verifies that every call of a transcript has exactly one output, after it, in call order, before
/// the next turn, and that the item numbers have no gap.
///
/// # Errors
/// A sentence on the first violation.
pub(crate) fn well_formed(items: &[Item]) -> Result<(), String> {
    open_calls(items).map(|_| ())
}

/// How many calls of a well-formed transcript have no output yet.
fn open_calls(items: &[Item]) -> Result<usize, String> {
    let (mut open, mut calls) = (VecDeque::new(), BTreeSet::new());
    for (index, item) in items.iter().enumerate() {
        if item.seq != index as u64 {
            return Err(format!("item {index} has number {}", item.seq));
        }
        match &item.body {
            ItemBody::Turn(turn) => {
                if let Some(call) = open.front() {
                    return Err(format!("item {index} is a turn while call {call} has no output"));
                }
                if turn.text.is_empty() && turn.calls.is_empty() {
                    return Err(format!("item {index} is a turn without text and calls"));
                }
                for call in &turn.calls {
                    if !calls.insert(call.id) {
                        return Err(format!("item {index} is a turn that repeats the call id {}", call.id));
                    }
                    open.push_back(call.id);
                }
            }
            ItemBody::Output(output) if open.pop_front() != Some(output.call) => {
                return Err(format!("item {index} is not the output of the next open call"));
            }
            ItemBody::Message(_) | ItemBody::Context(_) if !open.is_empty() => {
                return Err(format!("item {index} is for the model to read while calls have no output"));
            }
            _ => {}
        }
    }
    Ok(open.len())
}

pub(super) fn check(whole: &Snapshot, found: &mut Found) {
    for agent in &whole.agents {
        let items = whole.items(agent.id);
        found.must(agent.items == items.len() as u64, Transcript, agent.id, || {
            format!("its row counts {} items; its transcript has {}", agent.items, items.len())
        });
        match open_calls(items) {
            Err(why) => found.add(Transcript, agent.id, why),
            Ok(0) => {}
            Ok(open) => {
                let is_open = |agent: AgentId| {
                    whole.runs.iter().any(|run| run.agent == agent && !run.status.is_terminal())
                };
                found.must(is_open(agent.id), Transcript, agent.id, || {
                    format!("{open} calls have no output, and no run is open")
                });
            }
        }
    }
    for (root, events) in &whole.events {
        numbers(*root, events, found);
        published(whole, *root, events, found);
    }
}

fn numbers(root: AgentId, events: &[Event], found: &mut Found) {
    for (event, number) in events.iter().zip(1..) {
        if event.seq != number {
            found.add(Transcript, root, format!("an event has number {}; expected {number}", event.seq));
            return;
        }
    }
}

/// Each item is published once, in order.
fn published(whole: &Snapshot, root: AgentId, events: &[Event], found: &mut Found) {
    let mut next: BTreeMap<AgentId, u64> = BTreeMap::new();
    for event in events {
        let EventBody::Item { item_seq, .. } = &event.body else { continue };
        let next = next.entry(event.agent).or_default();
        found.must(item_seq == next, Transcript, event.agent, || {
            format!("event {} reports item {item_seq}; expected item {next}", event.seq)
        });
        *next = item_seq + 1;
    }
    for agent in whole.agents.iter().filter(|agent| agent.root == root) {
        let count = next.get(&agent.id).copied().unwrap_or_default();
        found.must(count == whole.items(agent.id).len() as u64, Transcript, agent.id, || {
            format!("events report {count} items; its transcript has {}", whole.items(agent.id).len())
        });
    }
}
