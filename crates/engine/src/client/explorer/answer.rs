//! Answering what an agent asks, by the agent (S3-R101).

use entourage_types::{Answer, Question, QuestionId};

use crate::{Client, Error, Result};

impl Client {
    /// Answers the oldest open question of an agent, or this one of it. No text declines it (S3-R087).
    ///
    /// # Errors
    /// [`Error::NotFound`] for an unknown agent; [`Error::NotNow`] if it has no open question; and as for
    /// [`Client::answer`].
    pub async fn answer_agent(
        &self,
        name: &str,
        question: Option<QuestionId>,
        response: Option<&str>,
    ) -> Result<Question> {
        let agent = self.named_agent(name).await?;
        let open = self.open_questions(agent.id).await?;
        let asked = open.into_iter().find(|open| question.is_none_or(|question| question == open.id));
        let Some(asked) = asked else {
            return Err(Error::NotNow { agent: agent.id, why: "no such question of it is open" });
        };
        let answer = response.map_or(Answer::Declined, |text| Answer::Text(text.to_owned()));
        self.answer(asked.id, answer).await
    }
}
