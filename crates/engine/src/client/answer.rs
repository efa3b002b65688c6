//! Answering a question. The first answer counts.

use entourage_store::{Commit, Error as StoreError};
use entourage_tools::ArgumentValidator;
use entourage_types::{
    Answer, Proposal, Question, QuestionId, QuestionStatus, ToolSpec, Verdict, check_nesting,
};

use super::{Client, LONGEST_TEXT, checked_text};
use crate::{Error, Result, questions::closing};

impl Client {
    /// Answers or declines an open question; the asking agent goes on with the answer. A text that equals one
    /// of the question's options counts as that option. An answer that creates a grant also closes the other
    /// open questions that the grant covers.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::NotOpen`] if the question is closed already, [`Error::OtherCall`] if the
    /// answer is for other arguments, [`Error::Invalid`] for an empty text, for an answer that such a
    /// question does not take, and for arguments that are too long or that the tool does not take.
    pub async fn answer(&self, id: QuestionId, answer: Answer) -> Result<Question> {
        loop {
            let question = self.question(id).await?;
            let answer = normalize_answer(&question, answer.clone())?;
            if question.status != QuestionStatus::Open {
                return Err(Error::not_open(&question));
            }
            let covered = self.covered_with(&question, &answer).await?;
            let (mut commit, closed) = closing(question, answer, Commit::new(self.engine.now()))?;
            for other in covered {
                commit = closing(other, Answer::Granted, commit)?.0;
            }
            match self.engine.commit(commit).await {
                Ok(_) => return Ok(closed),
                // Another caller answered this question, or one that the grant covers, meanwhile: read again.
                Err(StoreError::NotInStatus { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Returns the answer in the form that the question takes, or refuses it.
fn normalize_answer(question: &Question, answer: Answer) -> Result<Answer> {
    let verdicts = question.about.verdicts();
    match &answer {
        Answer::Text(text) => {
            checked_text(text)?;
            let is_chosen = |verdict: &&Verdict| text.trim().eq_ignore_ascii_case(&verdict.in_words());
            return Ok(verdicts.iter().find(is_chosen).map_or(answer, |verdict| (*verdict).into()));
        }
        Answer::Expired | Answer::Granted => {
            return Err(Error::Invalid("only the engine closes a question without an answer".into()));
        }
        Answer::Approve { arguments, digest, .. } => {
            if let Some(proposal) = &question.proposal {
                let is_other = digest.as_ref().is_some_and(|digest| *digest != proposal.digest);
                if is_other {
                    return Err(Error::OtherCall(question.id));
                }
                arguments.as_ref().map_or(Ok(()), |arguments| checked(proposal, arguments))?;
            }
        }
        Answer::Reject { reason } => reason.as_deref().map_or(Ok(()), checked_text)?,
        Answer::Declined | Answer::Retry | Answer::GiveUp => {}
    }
    match answer.verdict().filter(|verdict| !verdicts.contains(verdict)) {
        None => Ok(answer),
        Some(verdict) => {
            let choice: String = verdicts.iter().map(|verdict| format!("`{verdict}`, ")).collect();
            Err(Error::Invalid(format!(
                "`{verdict}` does not answer question {}, which is about {}: give {choice}a text, or decline",
                question.id, question.about
            )))
        }
    }
}

/// Refuses arguments that are too long, and those that the tool would refuse.
fn checked(proposal: &Proposal, arguments: &serde_json::Value) -> Result<()> {
    let length = arguments.to_string().len();
    if length > LONGEST_TEXT {
        return Err(Error::Invalid(format!(
            "the arguments have {length} bytes; at most {LONGEST_TEXT} are taken"
        )));
    }
    check_nesting(arguments).map_err(|error| Error::Invalid(format!("the arguments are {error}")))?;
    let Proposal { tool, parameters, .. } = proposal;
    let spec = ToolSpec::new(tool.clone(), "", parameters.clone());
    let fits = ArgumentValidator::new(&spec).and_then(|checker| checker.check(arguments));
    fits.map_err(|error| Error::Invalid(error.to_string()))
}
