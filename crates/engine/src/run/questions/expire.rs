//! Questions that no one answered in time. The engine does what was declared for that case as if a person had
//! decided it: through a post, so that there is one way for an answer to arrive.

use entourage_store::Error as StoreError;
use entourage_types::{Answer, EntityKind, OpenQuestion, Question, QuestionId, QuestionStatus};

use crate::questions::closing;
use crate::run::{Interrupt, Result, Run, tools::calls::Calls};

impl Run<'_> {
    /// Closes the overdue questions of these calls.
    pub(in crate::run) async fn expire_overdue(&mut self, calls: &Calls<'_>) -> Result<()> {
        for asked in self.unanswered(calls) {
            if asked.due.is_some_and(|(due, _)| self.is_due(due)) {
                self.close_question(asked.question, Answer::Expired).await?;
            }
        }
        Ok(self.refresh().await?)
    }

    /// Returns the questions about these calls that have no answer in the inbox.
    pub(in crate::run) fn unanswered(&self, calls: &Calls<'_>) -> Vec<OpenQuestion> {
        let answered = self.inbox.replies();
        let asked = calls.iter().filter_map(|call| Some((call, self.steps.of_call(call)?.question()?)));
        let open = asked.filter(|(call, _)| !answered.contains(&call.id));
        open.map(|(_, question)| question.clone()).collect()
    }

    /// Closes a question with the engine's own answer, if the question exists and is open. A person who answers at the same
    /// moment may be first.
    pub(in crate::run) async fn close_question(&mut self, id: QuestionId, answer: Answer) -> Result<()> {
        let Some(question) = self.question(id).await? else {
            self.inbox.doubt();
            return Ok(());
        };
        // Nothing else is refused with it.
        self.flush().await?;
        let at = self.engine.now();
        let (commit, _) = closing(question, answer, self.fenced(at))?;
        match self.apply(commit).await {
            Err(Interrupt::Store(StoreError::NotInStatus { kind: EntityKind::QUESTION, .. })) => {
                self.inbox.doubt();
                Ok(())
            }
            closed => closed,
        }
    }

    /// Returns a question, if it exists and is open.
    pub(in crate::run) async fn question(&self, id: QuestionId) -> Result<Option<Question>, StoreError> {
        let found = self.question_as_it_is(id).await?;
        Ok(found.filter(|question| question.status == QuestionStatus::Open))
    }

    /// Returns a question in any status, if it exists.
    pub(in crate::run) async fn question_as_it_is(
        &self,
        id: QuestionId,
    ) -> Result<Option<Question>, StoreError> {
        self.engine.store().record(&self.scope(), id).await
    }
}
