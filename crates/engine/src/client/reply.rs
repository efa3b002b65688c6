//! Sends a text to an agent, which may be waiting for it as an answer.

use entourage_store::{Commit, Error as StoreError, Page, RecordFilter, Write};
use entourage_types::{About, AgentId, Answer, Question, QuestionStatus};

use super::{Client, Posted, checked_text, send::request_of};
use crate::{Error, Result, questions::closing};

impl Client {
    /// Sends a text to an agent: as the answer if the agent has exactly one open question and that one asks
    /// for information, otherwise as a message like [`Client::send`].
    ///
    /// The same `key` with the same text is sent once, whichever of the two it is.
    ///
    /// # Errors
    /// As for [`Client::send`].
    pub async fn tell(&self, to: AgentId, text: &str, key: Option<&str>) -> Result<Posted> {
        checked_text(text)?;
        let (parent, status) = (Some(to.into()), Some(QuestionStatus::Open));
        let open = RecordFilter { parent, status, page: Page::all(), ..RecordFilter::default() };
        let mut asked: Vec<Question> = self.records(open).await?;
        let question = asked.pop().filter(|last| asked.is_empty() && last.about == About::Information);
        let Some(question) = question else { return self.send(to, text, key).await };
        let commit = closing(question, Answer::Text(text.to_owned()), Commit::new(self.engine.now()))?.0;
        let post = commit.writes.iter().find_map(|write| match write {
            Write::Post(post) => Some(post.id),
            _ => None,
        });
        let Some(post) = post else { return self.send(to, text, key).await };
        match self.commit_once(key, &request_of(to, text), post, commit).await {
            Ok(None) => Ok(Posted { agent: to, post }),
            // The text was sent before, or another caller answered the question first.
            Ok(Some(_)) | Err(Error::Store(StoreError::NotInStatus { .. })) => self.send(to, text, key).await,
            Err(error) => Err(error),
        }
    }
}
