//! Transcripts: numbers without gaps, every call answered once, those of code before the call whose code made them,
//! each item published once.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use entourage_types::{AgentId, CallId, Event, EventBody, Item, ItemBody, SubCalls, SubOutput};

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
    let mut of_code = CodeCalls::default();
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
            ItemBody::Output(output) => of_code.must_be_closed(output.call, index)?,
            ItemBody::SubCalls(made) if !open.contains(&made.of) => {
                return Err(format!("item {index} has calls of code of {}, which is not open", made.of));
            }
            ItemBody::SubCalls(made) => of_code.made(made, index)?,
            ItemBody::SubOutput(returned) => of_code.returned(returned, index)?,
            ItemBody::Message(_) | ItemBody::Context(_) if !open.is_empty() => {
                return Err(format!("item {index} is for the model to read while calls have no output"));
            }
            _ => {}
        }
    }
    Ok(open.len())
}

/// The calls that code has made.
#[derive(Default)]
struct CodeCalls {
    /// How many calls the code of each call has made.
    counts: BTreeMap<CallId, u16>,
    /// Those without an output, with the call whose code made them.
    open: BTreeMap<CallId, CallId>,
}

impl CodeCalls {
    fn made(&mut self, SubCalls { of, calls }: &SubCalls, index: usize) -> Result<(), String> {
        for call in calls {
            let count = self.counts.entry(*of).or_default();
            if call.id != of.sub_call(*count) {
                return Err(format!(
                    "item {index}: {} is not the id of call {count} of {of}'s code",
                    call.id
                ));
            }
            *count += 1;
            self.open.insert(call.id, *of);
        }
        Ok(())
    }

    fn returned(&mut self, SubOutput { of, output }: &SubOutput, index: usize) -> Result<(), String> {
        match self.open.remove(&output.call) {
            Some(made_by) if made_by == *of => Ok(()),
            _ => Err(format!("item {index} is not the output of an open call of {of}'s code")),
        }
    }

    fn must_be_closed(&self, of: CallId, index: usize) -> Result<(), String> {
        match self.open.iter().find(|(_, made_by)| **made_by == of) {
            Some((call, _)) => Err(format!("item {index} ends {of} while call {call} of its code is open")),
            None => Ok(()),
        }
    }
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

#[cfg(test)]
mod tests {
    use entourage_types::{Output, RunId, Time, ToolCall, Turn};
    use serde_json::Value;

    use super::*;

    fn call(id: CallId) -> ToolCall {
        ToolCall { id, tool: "a".to_owned(), arguments: Value::Null }
    }

    fn output(call: CallId) -> Output {
        let text = String::new();
        Output { call, tool: "a".to_owned(), text, error: false, effect: None, details: None }
    }

    fn made(of: CallId, calls: &[CallId]) -> ItemBody {
        ItemBody::SubCalls(SubCalls { of, calls: calls.iter().map(|id| call(*id)).collect() })
    }

    fn returned(of: CallId, by: CallId) -> ItemBody {
        ItemBody::SubOutput(SubOutput { of, output: output(by) })
    }

    /// What is wrong with a transcript of two calls that run code, which goes on with these items.
    fn wrong(code: [CallId; 2], then: &[ItemBody]) -> String {
        let (agent, run) = (AgentId::new(), RunId::new());
        let turn = Turn { text: String::new(), calls: code.map(call).to_vec(), used: None, asked: None };
        let bodies = [ItemBody::Turn(turn)].into_iter().chain(then.iter().cloned());
        let at = Time::from_micros(0);
        let items =
            bodies.zip(0..).map(|(body, seq)| Item { agent, seq, run, session: 1, at, step: None, body });
        well_formed(&items.collect::<Vec<_>>()).err().unwrap_or_default()
    }

    #[test]
    fn calls_of_code_have_the_ids_of_their_numbers_and_one_output_each_before_that_of_their_code() {
        let code = [CallId::new(), CallId::new()];
        let [one, other] = code;
        let (first, second) = (one.sub_call(0), one.sub_call(1));
        let ends = |of| ItemBody::Output(output(of));
        let sound = [
            made(one, &[first]),
            made(other, &[other.sub_call(0)]),
            made(one, &[second]),
            returned(one, second),
            returned(other, other.sub_call(0)),
            returned(one, first),
            ends(one),
            ends(other),
        ];
        assert_eq!(wrong(code, &sound), "");
        for (then, says) in [
            (vec![made(one, &[second])], "is not the id of call 0 of"),
            (vec![made(one, &[first]), made(one, &[first])], "is not the id of call 1 of"),
            (vec![made(CallId::new(), &[])], "which is not open"),
            (vec![ends(one), made(one, &[first])], "which is not open"),
            (vec![returned(one, first)], "is not the output of an open call of"),
            (
                vec![made(one, &[first]), returned(one, first), returned(one, first)],
                "item 3 is not the output of an open call of",
            ),
            (
                vec![made(one, &[first]), returned(other, first)],
                "item 2 is not the output of an open call of",
            ),
            (vec![made(one, &[first]), ends(one)], "of its code is open"),
        ] {
            let found = wrong(code, &then);
            assert!(found.contains(says), "{found:?}, and not {says:?}");
        }
    }
}
