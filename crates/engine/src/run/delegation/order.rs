//! The calls of a turn run concurrently, and some of their outcomes wait for earlier calls: delegations and
//! questions keep the order of the calls, and an answer comes after everything else.

use std::collections::{BTreeMap, BTreeSet};

use crate::run::{questions::approve::ApprovalReason, tools::calls::Calls};
use entourage_tools::{Error, Outcome};

/// The outcome of a call.
pub(in crate::run) enum CallOutcome {
    /// What its tool returned.
    CallResult(Result<Outcome, Error>),
    /// The call is held back until a person approves it.
    Held(ApprovalReason),
}

impl CallOutcome {
    fn is_answer(&self) -> bool {
        matches!(self, Self::CallResult(Ok(Outcome::Done(done))) if done.answer.is_some())
    }
}

/// The calls in progress, and the outcomes that must wait for an earlier call.
#[derive(Default)]
pub(in crate::run) struct Order {
    under_way: BTreeSet<usize>,
    /// Those whose tools ask the person.
    asking: BTreeSet<usize>,
    held: BTreeMap<usize, CallOutcome>,
}

impl Order {
    /// Registers a call in progress; `asks` says whether its tool asks the person.
    pub(in crate::run) fn begun(&mut self, index: usize, asks: bool) {
        self.under_way.insert(index);
        if asks {
            self.asking.insert(index);
        }
    }

    /// Forgets a call, if it was registered: it is not in progress, and no outcome of it will be registered for now.
    pub(in crate::run) fn dropped(&mut self, index: usize) {
        self.under_way.remove(&index);
        self.asking.remove(&index);
    }

    /// Registers the outcome of a call and returns the outcomes that can be settled now.
    pub(in crate::run) fn ended(
        &mut self,
        calls: &Calls<'_>,
        index: usize,
        came: CallOutcome,
    ) -> Vec<(usize, CallOutcome)> {
        self.dropped(index);
        self.held.insert(index, came);
        self.free(calls)
    }

    /// Returns the outcomes that can be settled now. A delegation or a question waits for earlier calls of the same tool,
    /// a question or an approval for all earlier calls whose tools ask the person, an answer for all calls of the turn. An
    /// approval waits for no other call, which may take long; nor does the question whether an interrupted call happened,
    /// which is about the past.
    pub(in crate::run) fn free(&mut self, calls: &Calls<'_>) -> Vec<(usize, CallOutcome)> {
        if self.held.is_empty() {
            return Vec::new();
        }
        let waits = |at: usize, came: &CallOutcome| {
            let is_same = |before: &usize| calls[*before].tool == calls[at].tool;
            let same = || self.under_way.range(..at).any(is_same);
            let asked = || self.asking.range(..at).next().is_some();
            match came {
                CallOutcome::CallResult(Ok(Outcome::Delegate(_))) => same(),
                CallOutcome::CallResult(Ok(Outcome::Ask(_))) => same() || asked(),
                CallOutcome::Held(_) => asked(),
                CallOutcome::CallResult(_) => came.is_answer() && !self.under_way.is_empty(),
            }
        };
        let (held, free) =
            std::mem::take(&mut self.held).into_iter().partition(|(at, came)| waits(*at, came));
        self.held = held;
        let free: BTreeMap<usize, CallOutcome> = free;
        let (answers, others): (Vec<_>, Vec<_>) = free.into_iter().partition(|(_, came)| came.is_answer());
        others.into_iter().chain(answers).collect()
    }
}

#[cfg(test)]
mod tests {
    use entourage_tools::{Address, Ask, Done};
    use entourage_types::{CallId, ToolCall};
    use serde_json::json;

    use super::*;

    fn calls(tools: &[&str]) -> Vec<ToolCall> {
        let call =
            |tool: &&str| ToolCall { id: CallId::new(), tool: (*tool).to_owned(), arguments: json!({}) };
        tools.iter().map(call).collect()
    }

    fn asks() -> CallOutcome {
        CallOutcome::CallResult(Ok(Outcome::Ask(Ask { text: "Which?".into(), options: Vec::new() })))
    }

    fn answers() -> CallOutcome {
        CallOutcome::CallResult(Ok(Outcome::Done(Done { answer: Some("Done.".into()), ..Done::default() })))
    }

    fn done() -> CallOutcome {
        CallOutcome::CallResult(Ok(Outcome::text("Seen.")))
    }

    fn needs_approval() -> CallOutcome {
        let url = String::from("https://example.com/");
        CallOutcome::Held(ApprovalReason::Invented(Address {
            written: url.clone(),
            url,
            host: "example.com".into(),
        }))
    }

    /// Ends these calls in this order, and returns which were settled after each of them. Names of tools that
    /// ask the person begin with `ask_`; calls that need approval are not begun.
    fn settled(calls: &[ToolCall], ended: Vec<(usize, CallOutcome)>) -> Vec<Vec<usize>> {
        let mut order = Order::default();
        let begun = ended.iter().filter(|(_, came)| !matches!(came, CallOutcome::Held(_)));
        begun.for_each(|(index, _)| order.begun(*index, calls[*index].tool.starts_with("ask_")));
        let calls = Calls::of(calls);
        let settle = |(index, came)| order.ended(&calls, index, came).into_iter().map(|(at, _)| at).collect();
        ended.into_iter().map(settle).collect()
    }

    #[test]
    fn questions_of_one_tool_are_asked_in_the_order_of_their_calls() {
        let calls = calls(&["ask", "ask", "ask"]);
        let ended = vec![(2, asks()), (0, asks()), (1, asks())];
        assert_eq!(settled(&calls, ended), [vec![], vec![0], vec![1, 2]]);
    }

    #[test]
    fn questions_and_approvals_of_all_tools_are_asked_in_call_order() {
        let calls = calls(&["fetch", "ask_user", "pay", "ask_others", "pay"]);
        let ended = vec![(2, needs_approval()), (4, needs_approval()), (3, asks()), (1, asks()), (0, done())];
        assert_eq!(settled(&calls, ended), [vec![], vec![], vec![], vec![1, 2, 3, 4], vec![0]]);
    }

    #[test]
    fn an_approval_is_asked_at_once_if_no_earlier_call_asks() {
        let calls = calls(&["pay", "fetch", "pay", "ask_user"]);
        let ended = vec![(0, needs_approval()), (2, needs_approval()), (3, asks()), (1, done())];
        assert_eq!(settled(&calls, ended), [[0], [2], [3], [1]]);
    }

    #[test]
    fn a_question_waits_for_no_other_tool_and_a_finished_call_for_none() {
        let calls = calls(&["look", "ask", "look"]);
        assert_eq!(settled(&calls, vec![(1, asks()), (2, done()), (0, done())]), [[1], [2], [0]]);
    }

    #[test]
    fn a_final_answer_is_settled_once_the_last_call_is_found_to_be_refused() {
        let turn = calls(&["final_answer", "look"]);
        let (calls, mut order) = (Calls::of(&turn), Order::default());
        order.begun(0, false);
        order.begun(1, false);
        assert!(order.ended(&calls, 0, answers()).is_empty());
        order.dropped(1);
        assert_eq!(order.free(&calls).len(), 1);
    }

    #[test]
    fn a_final_answer_is_settled_after_every_other_call() {
        let calls = calls(&["final_answer", "ask", "ask"]);
        let ended = vec![(0, answers()), (2, asks()), (1, asks())];
        assert_eq!(settled(&calls, ended), [vec![], vec![], vec![1, 2, 0]]);
    }
}
