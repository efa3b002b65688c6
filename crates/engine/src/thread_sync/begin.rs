//! The beginning of a kept thread: its transcript begins with the items that the thread store loads.

use std::collections::{HashSet, VecDeque};

use entourage_store::Write;
use entourage_types::{
    Agent, AgentKey, Item, ItemBody, KeptThread, Output, OutputEffect, RunId, ThreadKey, ToolCall,
};

use super::{PATIENCE, kept, pending};
use crate::{Engine, Error, Result, thread, with_timeout::with_timeout};

impl Engine {
    /// Returns the further writes of the commit that sends a message to an agent: its thread becomes a kept
    /// thread, and a new one begins with the items that the thread store loads, which are counted in the
    /// agent's row. Unless given, the name of the chat is that of the tree.
    ///
    /// # Errors
    /// [`Error::NotLoaded`] if the thread store does not load them; otherwise the store failed.
    pub(crate) async fn keep_thread(
        &self,
        agent: &mut Agent,
        is_new: bool,
        chat: Option<&str>,
    ) -> Result<Vec<Write>> {
        let (Some(thread_store), Some(key)) = (self.thread_store(), agent.key.clone()) else {
            return Ok(Vec::new());
        };
        let store = &**self.store();
        if !is_new && kept(store, agent.id).await?.is_some() {
            return Ok(Vec::new());
        }
        let chat = match chat {
            Some(chat) => Some(chat.to_owned()),
            None => kept(store, agent.root).await?.map(|root| root.key.chat),
        };
        let Some(chat) = chat else { return Ok(Vec::new()) };
        // What was deleted is gone: a thread, or a chat, that takes its place begins empty.
        let is_first = key.is_first() && agent.root == thread::root_of(&agent.owner, &chat);
        let AgentKey { recipient, sender, .. } = key;
        let key = ThreadKey { owner: agent.owner.clone(), chat, recipient, sender };
        let thread = KeptThread { agent: agent.id, root: agent.root, key, since: self.now() };
        let mut writes = vec![Write::record(&thread)?];
        if is_new && is_first {
            let loaded = with_timeout(&**self.clock(), PATIENCE, thread_store.load(&thread.key)).await;
            let loaded = loaded.unwrap_or_else(|why| Err(why.into()));
            match loaded.and_then(|loaded| Ok(whole(loaded)?)) {
                Ok((bodies, loaded)) => {
                    writes.extend(self.seed_transcript(agent, bodies));
                    if loaded < agent.items {
                        writes.push(pending(agent.id, loaded, &thread, self.now())?);
                    }
                }
                Err(cause) => {
                    let ThreadKey { owner, chat, recipient, sender } = &thread.key;
                    tracing::warn!(%owner, chat, recipient, sender, %cause, "a thread could not be loaded");
                    let (key, cause) = (Box::new(thread.key), cause.to_string());
                    return Err(Error::NotLoaded { key, cause });
                }
            }
        } else if agent.items > 0 {
            // The thread is older than the thread store: all its items are to be saved.
            writes.push(pending(agent.id, 0, &thread, self.now())?);
        }
        Ok(writes)
    }

    /// Begins a new agent's transcript with these items; no run of this engine wrote them.
    pub(crate) fn seed_transcript(&self, agent: &mut Agent, bodies: Vec<ItemBody>) -> Vec<Write> {
        let (run, at) = (RunId::new(), self.now());
        let from = std::mem::replace(&mut agent.items, bodies.len() as u64);
        let item =
            |(seq, body)| Item { agent: agent.id, seq, run, session: agent.session, at, step: None, body };
        (from..).zip(bodies).map(item).map(Write::Item).collect()
    }
}

/// Returns the loaded items as a valid transcript: each call has its output before the next message or turn,
/// and nothing is left that has a meaning in another database only. Also returns how many of these items need
/// no save: only the outputs that are added for the last calls do.
fn whole(loaded: Vec<ItemBody>) -> Result<(Vec<ItemBody>, u64), String> {
    let (mut bodies, mut known) = (Vec::with_capacity(loaded.len()), HashSet::new());
    let mut open: VecDeque<ToolCall> = VecDeque::new();
    for (at, mut body) in loaded.into_iter().enumerate() {
        match &mut body {
            ItemBody::Output(output) => {
                if open.pop_front().map(|call| call.id) != Some(output.call) {
                    return Err(format!("entry {at} is an output, but not of the next call that lacks one"));
                }
                // Other effects refer to tasks and questions of another database.
                output.effect = output.effect.take().filter(OutputEffect::is_of_words);
            }
            ItemBody::Message(message) => {
                (message.post, message.options) = (None, None);
                bodies.extend(open.drain(..).map(unanswered));
            }
            ItemBody::Turn(turn) => {
                bodies.extend(open.drain(..).map(unanswered));
                if turn.text.trim().is_empty() && turn.calls.is_empty() {
                    return Err(format!("entry {at} is a turn without text and calls"));
                }
                if !turn.calls.iter().all(|call| known.insert(call.id)) {
                    return Err(format!("entry {at} repeats an earlier call"));
                }
                (turn.used, turn.asked) = (None, None);
                open.extend(turn.calls.iter().cloned());
            }
            ItemBody::Digest(digest) => {
                digest.used = None;
                // It counts items that are not here: the model sees all that are.
                if digest.from > bodies.len() as u64 + 1 {
                    digest.from = 0;
                }
            }
            // The code that made them does not go on here.
            ItemBody::SubCalls(_) | ItemBody::SubOutput(_) => continue,
            ItemBody::Decision(_) | ItemBody::Notice(_) | ItemBody::Context(_) => {}
        }
        bodies.push(body);
    }
    let kept = bodies.len() as u64;
    bodies.extend(open.drain(..).map(unanswered));
    Ok((bodies, kept))
}

/// The output of a call that was in progress when the thread was saved for the last time.
fn unanswered(call: ToolCall) -> ItemBody {
    let text = "no output: the result of this call was not saved; it may have taken effect".to_owned();
    ItemBody::Output(Output {
        call: call.id,
        tool: call.tool,
        text,
        error: true,
        effect: None,
        details: None,
    })
}

#[cfg(test)]
mod tests {
    use entourage_types::{Author, CallId, Digest, Message, PostId, RunOptions, Turn};
    use serde_json::json;

    use super::*;

    fn said(text: &str) -> ItemBody {
        ItemBody::Message(Message::new(Author::User, text, None))
    }

    fn call() -> ToolCall {
        ToolCall { id: CallId::new(), tool: "look".into(), arguments: json!({}) }
    }

    fn turn(calls: &[&ToolCall]) -> ItemBody {
        ItemBody::Turn(Turn { calls: calls.iter().copied().cloned().collect(), ..Turn::default() })
    }

    fn output(call: &ToolCall) -> ItemBody {
        let (call, tool) = (call.id, call.tool.clone());
        let text = "found".to_owned();
        ItemBody::Output(Output { call, tool, text, error: false, effect: None, details: None })
    }

    #[test]
    fn unanswered_calls_of_a_loaded_thread_get_outputs_before_later_items() {
        let [one, two, three] = [call(), call(), call()];
        let loaded = vec![said("a"), turn(&[&one, &two]), output(&one), said("b"), turn(&[&three])];
        let expected = [&loaded[..3], &[unanswered(two)], &loaded[3..], &[unanswered(three)]].concat();
        assert_eq!(whole(loaded).unwrap(), (expected, 6));
    }

    #[test]
    fn a_loaded_thread_with_invalid_items_is_refused() {
        let [one, two] = [call(), call()];
        for broken in [
            vec![output(&one)],
            vec![turn(&[&one, &two]), output(&two)],
            vec![turn(&[&one]), output(&one), turn(&[&one]), output(&one)],
            vec![turn(&[])],
        ] {
            assert!(whole(broken.clone()).is_err(), "{broken:?}");
        }
    }

    #[test]
    fn loading_a_thread_removes_references_to_another_database() {
        let (post, options) = (Some(PostId::new()), Some(RunOptions::default()));
        let asked = Message { post, options, ..Message::new(Author::User, "a", None) };
        let digest = |from| {
            ItemBody::Digest(Digest { from, text: "b".into(), max_chars: None, used: None, asked: None })
        };
        let loaded = vec![ItemBody::Message(asked), digest(2), digest(90)];
        assert_eq!(whole(loaded).unwrap().0, [said("a"), digest(2), digest(0)]);
    }
}
