//! Answering a question. It is answered once, by whoever is first.

use entourage_store::{Commit, Error as StoreError, Expect};
use entourage_types::{
    Answer, EntityKind, Post, PostBody, PostId, Question, QuestionId, QuestionStatus, WakeupId,
};

use super::{Client, checked_text};
use crate::{Error, Result};

impl Client {
    /// Answers an open question, or declines to; the asking agent goes on with it.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::NotOpen`] when somebody was faster, [`Error::Invalid`] for an empty text.
    pub async fn answer(&self, id: QuestionId, answer: Answer) -> Result<Question> {
        if let Answer::Text(text) = &answer {
            checked_text(text)?;
        }
        let mut question = self.question(id).await?;
        if question.status != QuestionStatus::Open {
            return Err(Error::NotOpen { id, status: question.status });
        }
        let now = self.house.now();
        question.updated = now;
        (question.status, question.answer) = match &answer {
            Answer::Text(text) => (QuestionStatus::Answered, Some(text.clone())),
            Answer::Declined => (QuestionStatus::Declined, None),
            Answer::Expired => (QuestionStatus::Expired, None),
        };
        let open = QuestionStatus::Open.as_str();
        let mut commit = Commit::new(now)
            .expect(Expect::Status(EntityKind::Question, id.to_string(), open))
            .write(entourage_store::Write::Question(question.clone()));
        let post = Post {
            id: PostId::new(),
            agent: question.agent,
            at: now,
            wakeup: WakeupId::new(),
            body: PostBody::Answer { question: id, call: question.call, answer },
        };
        commit.post(post, &self.owner);
        match self.house.store().commit(commit).await {
            Ok(_) => Ok(question),
            Err(StoreError::NotInStatus { .. }) => {
                let status = self.question(id).await?.status;
                Err(Error::NotOpen { id, status })
            }
            Err(error) => Err(error.into()),
        }
    }
}
