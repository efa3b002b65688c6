//! One model call: one step, whose checkpoint is the turn with what it used. Pieces of the answer go
//! to whoever follows, on the side.

use entourage_llm::{Delta, Deltas, Error as ModelError, Reply};
use entourage_store::Write;
use entourage_types::{ItemBody, ModelUse, Status, StepState, StopReason, Turn, WaitingOn, Wakeup, WakeupId};
use serde_json::{Value, json};

use super::{Interrupt, Result, Run};
use crate::{
    feed::{AgentDelta, Piece, Pieces},
    prompt, retry,
};

impl Run<'_> {
    /// Asks the model for its next turn, once: after a crash the turn is read back.
    ///
    /// # Errors
    /// An [`Interrupt`] when the call is to be tried again later or failed for good.
    pub async fn call_model(&mut self) -> Result<Turn> {
        let before = self.finished.get(self.turns).map(|&at| &self.items[at].body);
        self.turns += 1;
        if let Some(ItemBody::Turn(turn)) = before {
            return Ok(turn.clone());
        }
        let key = model_key(self.turns);
        let mut attempt = match self.steps.get(&key) {
            Some(step) if step.state == StepState::Retry => {
                let due = step.value["due"].as_i64().unwrap_or_default();
                if self.house.now().micros() < due && !std::mem::take(&mut self.hurried) {
                    return Err(Interrupt::Suspended(WaitingOn::Retry));
                }
                step.attempt + 1
            }
            _ => 1,
        };
        let pieces = self.house.inner.feed.pieces(self.agent.root);
        let reply = loop {
            let error = match self.attempt(&pieces).await? {
                Ok(reply) => break Ok(reply),
                Err(error) => error,
            };
            tracing::warn!(agent = %self.agent.id, run = %self.record.id, attempt, %error, "a model call failed");
            let Some(delay) = retry::delay(&error, attempt, self.kind().limits.max_attempts) else {
                break Err(error);
            };
            let due = self.house.now() + delay;
            if !retry::in_memory(delay) {
                return self.try_again(&key, attempt, &error, due).await;
            }
            tokio::select! {
                () = self.house.inner.clock.sleep_until(due) => {}
                () = self.cut.cancelled() => return Err(Interrupt::Stopping),
            }
            attempt += 1;
        };
        match reply {
            Ok(reply) => self.keep(&key, attempt, reply).await,
            Err(error) => Err(Interrupt::Stopped(StopReason::ModelFailed, error.to_string())),
        }
    }

    /// One attempt. The end of the process cuts it off, and so does who wants something else.
    async fn attempt(&self, pieces: &Pieces) -> Result<Result<Reply, ModelError>> {
        let request = prompt::request(self.kind(), &self.offer, &self.items, self.house.now());
        let mut deltas = Streamed {
            pieces,
            offset: 0,
            blank: AgentDelta {
                agent: self.agent.id,
                run: self.record.id,
                item_seq: self.agent.items,
                offset: 0,
                piece: Piece::Reset,
            },
        };
        let answer = tokio::select! {
            biased;
            answer = self.house.inner.model.call(request, &mut deltas) => answer,
            () = self.cut.cancelled() => return Err(Interrupt::Stopping),
        };
        if answer.is_err() && deltas.offset > 0 {
            deltas.offset = 0;
            deltas.send(Piece::Reset);
        }
        Ok(answer)
    }

    /// Keeps a turn and what it used at once. A turn without calls rides with the commit that
    /// follows at once.
    async fn keep(&mut self, key: &str, attempt: u32, reply: Reply) -> Result<Turn> {
        let at = self.house.now();
        let used = ModelUse { model: reply.model, usage: reply.usage, cost: reply.cost };
        self.record.model_calls += 1;
        self.record.usage += reply.usage;
        self.record.cost += reply.cost.unwrap_or_default();
        let turn = Turn { text: reply.text, calls: reply.calls, used: Some(used) };
        let mut writes = vec![self.item(ItemBody::Turn(turn.clone()), at)];
        if attempt > 1 {
            let mut step = self.step(key, StepState::Done, Value::Null, at);
            step.attempt = attempt;
            writes.push(Write::Step(step));
        }
        if turn.calls.is_empty() {
            // The last word: the program ends, or goes on with a step of its own. Either commits.
            self.riding = writes;
            return Ok(turn);
        }
        writes.push(self.run_row(Status::Running, None));
        writes.extend(self.awake(at));
        self.commit(writes).await?;
        Ok(turn)
    }

    /// Sleeps on disk until the next attempt.
    async fn try_again(
        &mut self,
        key: &str,
        attempt: u32,
        error: &ModelError,
        due: entourage_types::Time,
    ) -> Result<Turn> {
        let at = self.house.now();
        let value = json!({ "due": due.micros(), "error": error.to_string() });
        let mut step = self.step(key, StepState::Retry, value, at);
        step.attempt = attempt;
        let wakeup =
            Wakeup { id: WakeupId::new(), agent: self.agent.id, owner: self.agent.owner.clone(), due };
        self.commit(vec![Write::Step(step), Write::Wake(wakeup)]).await?;
        Err(Interrupt::Suspended(WaitingOn::Retry))
    }
}

/// The key of a model call, numbered from 1.
pub(crate) fn model_key(number: usize) -> String {
    format!("model/{number}")
}

/// Hands the pieces of one attempt on, with their places.
struct Streamed<'a> {
    pieces: &'a Pieces,
    offset: u64,
    blank: AgentDelta,
}

impl Streamed<'_> {
    fn send(&self, piece: Piece) {
        self.pieces.send(|| AgentDelta { offset: self.offset, piece, ..self.blank.clone() });
    }
}

impl Deltas for Streamed<'_> {
    fn delta(&mut self, delta: Delta) {
        match delta {
            Delta::Text(text) => {
                let length = text.chars().count() as u64;
                self.send(Piece::Text(text));
                self.offset += length;
            }
            Delta::Reasoning(text) => self.send(Piece::Reasoning(text)),
            Delta::Call { tool } => self.send(Piece::Call(tool)),
        }
    }
}
