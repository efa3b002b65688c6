//! Closes a question, for every caller in the same way.

use entourage_store::{Commit, Expect, Write};
use entourage_types::{
    Answer, Grant, GrantId, GrantStatus, GrantSubject, Post, PostBody, Proposal, Question, QuestionStatus,
    Time,
};

/// Adds to a commit all that closes an open question with this answer: the expectation that it is open, the
/// closed question, the grant if the answer makes one, and the post to the agent that asked. Also returns the
/// closed question.
pub(crate) fn closing(
    question: Question,
    answer: Answer,
    commit: Commit,
) -> serde_json::Result<(Commit, Question)> {
    let at = commit.at;
    let closed = Question {
        status: match &answer {
            Answer::Declined => QuestionStatus::Declined,
            Answer::Expired => QuestionStatus::Expired,
            _ => QuestionStatus::Answered,
        },
        answer: Some(answer.clone()),
        updated: at,
        ..question
    };
    let open = Expect::status::<Question>(closed.id, QuestionStatus::Open);
    let mut commit = commit.expect(open).write(Write::record(&closed)?);
    if let Answer::Approve { always: true, .. } = answer
        && let Some(Proposal { tool, held_by: Some(subject), .. }) = closed.proposal.as_deref()
    {
        commit.push(Write::record(&grant(&closed, tool.clone(), subject.clone(), at))?);
    }
    let body = PostBody::Answer { question: closed.id, call: closed.call, answer };
    commit.post(Post::new(closed.agent, at, body), &closed.owner);
    Ok((commit, closed))
}

fn grant(question: &Question, tool: String, subject: GrantSubject, at: Time) -> Grant {
    Grant {
        id: GrantId::new(),
        owner: question.owner.clone(),
        root: question.root,
        agent: question.agent,
        tool,
        subject,
        question: question.id,
        status: GrantStatus::Standing,
        created: at,
        updated: at,
    }
}
