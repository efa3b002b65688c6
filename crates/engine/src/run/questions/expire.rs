//! Questions that nobody answered in time. What was declared for that case is done as if a person
//! had said so: by a post, so that there is one way for an answer to arrive.

use entourage_store::Error as StoreError;
use entourage_types::{
    Answer, EntityKind, OpenQuestion, Question, QuestionId, QuestionStatus, Record, Scope, ToolCall,
};

use crate::questions::closing;
use crate::run::{Result, Run};

impl Run<'_> {
    /// Closes the overdue questions of these calls. Whoever answers at the same moment may be first; the
    /// activation then begins anew.
    pub(in crate::run) async fn expire_overdue(&mut self, calls: &[ToolCall]) -> Result<()> {
        let now = self.engine.now();
        for asked in self.unanswered(calls) {
            if asked.due.is_some_and(|(due, _)| due <= now) {
                self.close_question(asked.question, Answer::Expired).await?;
            }
        }
        self.refresh().await
    }

    /// What was asked about these calls and has no answer in the inbox.
    pub(in crate::run) fn unanswered(&self, calls: &[ToolCall]) -> Vec<OpenQuestion> {
        let is_answered =
            |call: &ToolCall| self.inbox.posts().iter().any(|post| post.body.call() == Some(call.id));
        let waiting = calls.iter().filter(|call| !is_answered(call));
        waiting.filter_map(|call| self.steps.of_call(call)?.question().cloned()).collect()
    }

    /// Closes a question with what the engine itself says to it, if it is there and open.
    pub(in crate::run) async fn close_question(&mut self, id: QuestionId, answer: Answer) -> Result<()> {
        let Some(question) = self.question(id).await? else { return Ok(()) };
        let at = self.engine.now();
        let (commit, _) = closing(question, answer, self.fenced(at));
        self.apply(commit).await
    }

    /// A question, if it is there and open.
    pub(in crate::run) async fn question(&self, id: QuestionId) -> Result<Option<Question>, StoreError> {
        let found = self.question_as_it_is(id).await?;
        Ok(found.filter(|question| question.status == QuestionStatus::Open))
    }

    /// A question, if it is there.
    pub(in crate::run) async fn question_as_it_is(
        &self,
        id: QuestionId,
    ) -> Result<Option<Question>, StoreError> {
        let scope = Scope::from(&self.agent.owner);
        let found = self.engine.inner.store.entity(&scope, EntityKind::Question, &id.to_string()).await?;
        Ok(found.map(|entity| Question::from_entity(&entity)).transpose()?)
    }
}
