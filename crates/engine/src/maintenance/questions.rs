//! Questions that are open although the run that asked has ended: no run would read the answer.

use std::collections::HashSet;

use async_trait::async_trait;
use entourage_store::{Commit, Expect, Write};
use entourage_types::{Question, QuestionStatus, RunId};

use super::{Inconsistency, Job, each_open_run, each_record, open_run, record};
use crate::{Engine, Result};

pub(super) struct Questions;

#[async_trait]
impl Job for Questions {
    fn name(&self) -> &'static str {
        "questions"
    }

    fn purpose(&self) -> &'static str {
        "open questions whose run has ended"
    }

    async fn find(&self, engine: &Engine) -> Result<Vec<Inconsistency>> {
        let mut open: HashSet<RunId> = HashSet::new();
        each_open_run(engine, |run| open.extend([run.id])).await?;
        let mut suspects = Vec::new();
        each_record(engine, QuestionStatus::Open, |question: Question| {
            if !open.contains(&question.run) {
                suspects.push(question);
            }
        })
        .await?;
        let mut found = Vec::new();
        for question in suspects {
            let has_ended = open_run(engine, question.agent).await?.is_none_or(|run| run.id != question.run);
            // A run that ends closes its questions in the same commit.
            let now = record::<Question>(engine, question.id).await?;
            if has_ended && now.is_some_and(|now| now.status == QuestionStatus::Open) {
                found.push(inconsistency(engine, question)?);
            }
        }
        Ok(found)
    }
}

fn inconsistency(engine: &Engine, mut question: Question) -> Result<Inconsistency> {
    let at = engine.now();
    let open = Expect::status::<Question>(question.id, QuestionStatus::Open);
    (question.status, question.updated) = (QuestionStatus::Expired, at);
    Ok(Inconsistency {
        agent: question.agent,
        text: format!("question {} is open and its run has ended: it expires", question.id),
        repair: Commit::new(at).expect(open).write(Write::record(&question)?),
    })
}
