//! Questions: calls that only a person can answer. The call waits on disk; the question goes to the root's
//! user, however deep in the tree the asking agent is.

use std::time::Duration;

use entourage_store::Write;
use entourage_types::{
    About, OpenQuestion, Output, Proposal, Question, QuestionId, QuestionStatus, StepKey, StepState,
    ToolCall, Verdict, Wait, WakeupId,
};

use crate::digest::digest;
use crate::run::{Result, Run, tools::calls::Calls};

/// The output of an answer in a turn that also asks the user.
pub(in crate::run) const ASKED_BESIDE: &str =
    "Not run: this turn also asks the user. Wait for the reply, then answer.";

/// What to ask.
pub(in crate::run) struct QuestionRequest {
    pub(in crate::run) about: About,
    pub(in crate::run) text: String,
    pub(in crate::run) options: Vec<String>,
    pub(in crate::run) proposal: Option<Proposal>,
    /// Seconds that a person has to answer; if not given, the kind's limit for any question.
    pub(in crate::run) seconds: Option<u64>,
    pub(in crate::run) otherwise: Option<Verdict>,
}

impl QuestionRequest {
    /// Creates a question in which the agent wants information.
    pub(in crate::run) fn information(text: String, options: Vec<String>) -> Self {
        let about = About::Information;
        Self { about, text, options, proposal: None, seconds: None, otherwise: None }
    }
}

impl Run<'_> {
    /// Whether another call of the turn asks the user: the model must read the reply before it answers.
    pub(in crate::run) fn asks_beside(&self, calls: &Calls<'_>, index: usize) -> bool {
        let others = calls.iter().enumerate().filter(|(other, _)| *other != index);
        others.filter_map(|(_, call)| self.steps.of_call(call)).any(|step| {
            step.question().is_some_and(|asked| asked.about == About::Information)
                || step.output().is_some_and(Output::has_asked)
        })
    }

    /// Opens a question for a call, in one commit with these writes.
    pub(in crate::run) async fn ask(
        &mut self,
        call: &ToolCall,
        wanted: QuestionRequest,
        mut writes: Vec<Write>,
    ) -> Result<()> {
        let at = self.engine.now();
        let seconds = wanted.seconds.or(self.kind.limits.answer_seconds);
        let due = seconds.map(|seconds| (at + Duration::from_secs(seconds), WakeupId::new()));
        let question = Question {
            id: QuestionId::new(),
            owner: self.agent.owner.clone(),
            root: self.agent.root,
            agent: self.agent.id,
            kind: self.agent.kind.clone(),
            run: self.record.id,
            call: call.id,
            task: self.record.tasks.last().copied(),
            about: wanted.about,
            text: wanted.text,
            options: wanted.options,
            proposal: wanted.proposal.map(Box::new),
            due: due.map(|(due, _)| due),
            otherwise: wanted.otherwise.filter(|_| due.is_some()),
            status: QuestionStatus::Open,
            answer: None,
            answered_by: None,
            created: at,
            updated: at,
        };
        let (about, otherwise) = (question.about, question.otherwise);
        let asked =
            OpenQuestion { question: question.id, about, holds_for: self.binding(call), due, otherwise };
        let state = StepState::Open(Wait::Question(asked));
        writes.push(Write::Step(self.steps.row(StepKey::Tool(call.id), state, at)));
        writes.push(Write::record(&question)?);
        writes.extend(due.map(|(due, id)| self.wake_by(id, due)));
        self.commit(writes).await
    }

    /// Returns the call as a person sees it.
    pub(in crate::run) fn proposal(&self, call: &ToolCall) -> Proposal {
        let arguments = self.arguments(call);
        let parameters = self.offered.tools().parameters(&call.tool);
        Proposal {
            tool: call.tool.clone(),
            digest: digest(&format!("{}\n{arguments}", call.tool)),
            arguments,
            parameters,
            kind_version: self.kind.version.clone(),
            held_by: None,
        }
    }
}
