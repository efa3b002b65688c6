//! Questions that nobody answered in time. What was declared for that case is done as if a person
//! had said so: by a post, so that there is one way for an answer to arrive.

use entourage_store::Error as StoreError;
use entourage_types::{Answer, EntityKind, Question, QuestionId, QuestionStatus, Record, Scope, ToolCall};

use super::{Result, Run, ask::Asked, call_tools::key};
use crate::client::closing;

impl Run<'_> {
    /// Closes the overdue questions of these calls. Whoever answers at the same moment may be first; the
    /// activation then begins anew.
    pub(super) async fn expire_overdue(&mut self, calls: &[ToolCall]) -> Result<()> {
        let now = self.house.now();
        let is_answered = |call: &ToolCall| self.inbox.iter().any(|post| post.body.call() == Some(call.id));
        let waiting = calls.iter().filter(|call| !is_answered(call));
        let asked = waiting.filter_map(|call| Asked::of(self.steps.get(&key(call))?));
        let overdue: Vec<QuestionId> = asked
            .filter(|asked| asked.due.is_some_and(|(due, _)| due <= now))
            .map(|asked| asked.question)
            .collect();
        for id in overdue {
            let Some(question) = self.question(id).await? else { continue };
            let (commit, _) = closing(question, Answer::Expired, self.fenced(now));
            self.apply(commit).await?;
        }
        self.refresh().await
    }

    /// A question, if it is there and open.
    pub(super) async fn question(&self, id: QuestionId) -> Result<Option<Question>, StoreError> {
        let scope = Scope::from(&self.agent.owner);
        let found = self.house.inner.store.entity(&scope, EntityKind::Question, &id.to_string()).await?;
        let found = found.map(|entity| Question::from_entity(&entity)).transpose()?;
        Ok(found.filter(|question| question.status == QuestionStatus::Open))
    }
}
