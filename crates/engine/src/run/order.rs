//! Calls are made side by side, and some of what they come to waits for calls before them: work for
//! others and questions keep the order of the calls, and an answer comes after all else.

use std::collections::{BTreeMap, BTreeSet};

use entourage_tools::{Error, Outcome};
use entourage_types::ToolCall;

type Said = Result<Outcome, Error>;

/// The calls under way, and what those came to that must wait for one before them.
#[derive(Default)]
pub(super) struct Order {
    under_way: BTreeSet<usize>,
    held: BTreeMap<usize, Said>,
}

impl Order {
    /// A call is under way.
    pub(super) fn begun(&mut self, index: usize) {
        self.under_way.insert(index);
    }

    /// A call has come to something. Returns what can be settled now: work for others and questions wait
    /// for the calls of the same tool before them, an answer for all calls of the turn.
    pub(super) fn ended(&mut self, calls: &[ToolCall], index: usize, said: Said) -> Vec<(usize, Said)> {
        self.under_way.remove(&index);
        self.held.insert(index, said);
        let waits = |at: usize, said: &Said| {
            let is_same = |before: &usize| calls[*before].tool == calls[at].tool;
            match said {
                Ok(Outcome::Delegate(_) | Outcome::Ask(_)) => self.under_way.range(..at).any(is_same),
                Ok(Outcome::Done(done)) => done.answer.is_some() && !self.under_way.is_empty(),
                _ => false,
            }
        };
        let (held, free) =
            std::mem::take(&mut self.held).into_iter().partition(|(at, said)| waits(*at, said));
        self.held = held;
        let free: BTreeMap<usize, Said> = free;
        let is_answer = |said: &Said| matches!(said, Ok(Outcome::Done(done)) if done.answer.is_some());
        let (answers, others): (Vec<_>, Vec<_>) = free.into_iter().partition(|(_, said)| is_answer(said));
        others.into_iter().chain(answers).collect()
    }
}

#[cfg(test)]
mod tests {
    use entourage_tools::{Ask, Done};
    use entourage_types::CallId;
    use serde_json::json;

    use super::*;

    fn calls(tools: &[&str]) -> Vec<ToolCall> {
        let call =
            |tool: &&str| ToolCall { id: CallId::new(), tool: (*tool).to_owned(), arguments: json!({}) };
        tools.iter().map(call).collect()
    }

    fn asks() -> Said {
        Ok(Outcome::Ask(Ask { text: "Which?".into(), options: Vec::new() }))
    }

    fn answers() -> Said {
        Ok(Outcome::Done(Done { answer: Some("Done.".into()), ..Done::default() }))
    }

    /// Ends these calls in this order. Returns which were settled after each of them.
    fn settled(calls: &[ToolCall], ended: Vec<(usize, Said)>) -> Vec<Vec<usize>> {
        let mut order = Order::default();
        (0..calls.len()).for_each(|index| order.begun(index));
        let settle = |(index, said)| order.ended(calls, index, said).into_iter().map(|(at, _)| at).collect();
        ended.into_iter().map(settle).collect()
    }

    #[test]
    fn questions_of_one_tool_are_asked_in_the_order_of_their_calls() {
        let calls = calls(&["ask", "ask", "ask"]);
        let ended = vec![(2, asks()), (0, asks()), (1, asks())];
        assert_eq!(settled(&calls, ended), [vec![], vec![0], vec![1, 2]]);
    }

    #[test]
    fn a_question_waits_for_no_call_of_another_tool_and_what_is_done_for_none() {
        let calls = calls(&["look", "ask", "look"]);
        let done = || Ok(Outcome::text("Seen."));
        assert_eq!(settled(&calls, vec![(1, asks()), (2, done()), (0, done())]), [[1], [2], [0]]);
    }

    #[test]
    fn an_answer_is_taken_once_every_other_call_has_ended_and_after_all_of_them() {
        let calls = calls(&["final_answer", "ask", "ask"]);
        let ended = vec![(0, answers()), (2, asks()), (1, asks())];
        assert_eq!(settled(&calls, ended), [vec![], vec![], vec![1, 2, 0]]);
    }
}
