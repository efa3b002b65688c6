//! Questions: a call that only a person can answer. It waits on disk; the root's user is asked,
//! however deep the asking agent stands.

use entourage_store::Write;
use entourage_types::{
    Answer, Output, Post, PostBody, Question, QuestionId, QuestionStatus, Step, StepState, TaskResult,
    ToolCall,
};
use serde_json::{Value, json};

use super::{
    Result, Run,
    call_tools::{key, output},
};

const RETRY: &str = "retry";
const GIVE_UP: &str = "give up";

impl Run<'_> {
    /// Opens a question for a call. `about` says what else the waiting step must know.
    pub(super) async fn ask(
        &mut self,
        call: &ToolCall,
        text: String,
        options: Vec<String>,
        about: Value,
    ) -> Result<()> {
        let at = self.house.now();
        let question = Question {
            id: QuestionId::new(),
            owner: self.agent.owner.clone(),
            root: self.agent.root,
            agent: self.agent.id,
            kind: self.agent.kind.clone(),
            run: self.record.id,
            call: call.id,
            task: self.record.tasks.last().copied(),
            text,
            options,
            status: QuestionStatus::Open,
            answer: None,
            created: at,
            updated: at,
        };
        let value = json!({ "question": question.id, "about": about });
        let step = self.step(&key(call), StepState::Open, value, at);
        self.commit(vec![Write::Question(question), Write::Step(step)]).await
    }

    /// A call whose effect may have happened when the process died: only a person can say.
    pub(super) async fn ask_whether_it_happened(&mut self, call: &ToolCall) -> Result<()> {
        let text = format!(
            "The call of `{}` was interrupted and may or may not have taken effect. Its arguments: {}. \
             Answer `{RETRY}` to call it again, `{GIVE_UP}` to go on without it, or give its result in your own \
             words to treat it as done.",
            call.tool, call.arguments,
        );
        self.ask(call, text, vec![RETRY.into(), GIVE_UP.into()], json!("interrupted")).await
    }

    /// The output that a post brings for an open call; none when the call shall run again.
    pub(super) fn reply_of(&self, call: &ToolCall, step: &Step, post: &Post) -> Option<Output> {
        let interrupted = step.value["about"] == "interrupted";
        let (text, error) = match &post.body {
            PostBody::Answer { answer: Answer::Text(text), .. } if interrupted && text.trim() == RETRY => {
                return None;
            }
            PostBody::Answer { answer: Answer::Text(text), .. } if interrupted && text.trim() == GIVE_UP => {
                ("The call was interrupted and given up; it may have taken effect.".to_owned(), true)
            }
            PostBody::Answer { answer: Answer::Text(text), .. } => (text.clone(), false),
            PostBody::Answer { answer: Answer::Declined, .. } => (
                "The user declined to answer. Go on without, or end with what there is.".to_owned(),
                interrupted,
            ),
            PostBody::Answer { answer: Answer::Expired, .. } => {
                ("Nobody answered in time. Go on without, or end with what there is.".to_owned(), interrupted)
            }
            PostBody::Done { result: TaskResult::Text(text), .. } => (text.clone(), false),
            PostBody::Done { result: TaskResult::Error(text), .. } => (text.clone(), true),
            PostBody::Message { .. } | PostBody::Intervention { .. } => return None,
        };
        Some(output(call, text, error))
    }
}
