//! Effects: their intent is recorded before they begin, none starts after a deletion or for a call
//! without its approval, and unsafe ones happen once unless a person decided otherwise.

use std::collections::{BTreeMap, BTreeSet};

use entourage_store::Write;
use entourage_tools::Effect;
use entourage_types::{
    About, AgentId, Answer, CallId, PostBody, Question, QuestionId, QuestionStatus, StepKey, StepState,
    Verdict,
};

use super::{
    Found,
    Invariant::{Deletion, Effects},
    Snapshot,
};
use crate::Fact;

pub(super) fn check(whole: &Snapshot, facts: &[Fact], found: &mut Found) {
    let mut begun: BTreeSet<StepKey> = BTreeSet::new();
    let mut deleted: BTreeSet<AgentId> = BTreeSet::new();
    let mut times: BTreeMap<CallId, usize> = BTreeMap::new();
    let mut approvals = Approvals::default();
    for fact in facts {
        match fact {
            Fact::Committed(commit) => {
                commit.writes.iter().for_each(|write| approvals.see(write));
                begun.extend(commit.writes.iter().filter_map(|write| match write {
                    Write::Step(step) if step.state == StepState::Started => Some(step.key.clone()),
                    _ => None,
                }));
            }
            Fact::Deleted(agent) => {
                deleted.insert(*agent);
            }
            Fact::Effect { agent, call, effect } => {
                let under = lineage(whole, *agent).find(|agent| deleted.contains(agent));
                found.must(under.is_none(), Deletion, *agent, || {
                    format!("call {call} had its effect after {} was deleted", under.unwrap_or(*agent))
                });
                found.must(approvals.allow(*call), Effects, *agent, || {
                    format!("call {call} had its effect without a required approval")
                });
                if *effect == Effect::Pure {
                    continue;
                }
                found.must(begun.contains(&StepKey::Tool(*call)), Effects, *agent, || {
                    format!("call {call} had its effect before its intent was recorded")
                });
                if *effect == Effect::Unsafe {
                    let count = times.entry(*call).or_default();
                    *count += 1;
                    let allowed = 1 + again(whole, *call);
                    // The questions of a forgotten agent are gone with it.
                    found.must(*count <= allowed || whole.is_forgotten(*agent), Effects, *agent, || {
                        format!("the unsafe call {call} had its effect {count} times; allowed: {allowed}")
                    });
                }
            }
            _ => {}
        }
    }
    for question in whole.questions.iter().filter(|question| question.status == QuestionStatus::Open) {
        let same = |other: &&Question| other.call == question.call && other.status == QuestionStatus::Open;
        let open = whole.questions.iter().filter(same).count();
        found.must(open == 1, Effects, question.agent, || {
            format!("call {} has {open} open questions; expected 1", question.call)
        });
    }
}

/// The questions that ask for approval of calls, as of some moment.
#[derive(Default)]
struct Approvals {
    /// The last question about each call, and the verdict that applies if it expires.
    asked: BTreeMap<CallId, (QuestionId, Option<Verdict>)>,
    approved: BTreeSet<QuestionId>,
}

impl Approvals {
    fn see(&mut self, write: &Write) {
        match write {
            Write::Record(..) => {
                if let Some(question) =
                    write.as_record::<Question>().filter(|asked| asked.about == About::Approval)
                {
                    self.asked.insert(question.call, (question.id, question.otherwise));
                }
            }
            Write::Post(post) => {
                let PostBody::Answer { question, call, answer } = &post.body else { return };
                let otherwise = self.asked.get(call).and_then(|(_, otherwise)| *otherwise);
                let verdict = answer.verdict().or(otherwise.filter(|_| *answer == Answer::Expired));
                if matches!(verdict, Some(Verdict::Approve | Verdict::ApproveAlways)) {
                    self.approved.insert(*question);
                }
            }
            _ => {}
        }
    }

    /// Whether a call may be made: it needed no approval, or its last question was approved.
    fn allow(&self, call: CallId) -> bool {
        self.asked.get(&call).is_none_or(|(question, _)| self.approved.contains(question))
    }
}

/// How many times a person decided that the call shall run again.
fn again(whole: &Snapshot, call: CallId) -> usize {
    let retried = |question: &&Question| question.call == call && question.answer == Some(Answer::Retry);
    whole.questions.iter().filter(retried).count()
}

/// The agent and all its ancestors.
fn lineage(whole: &Snapshot, agent: AgentId) -> impl Iterator<Item = AgentId> {
    std::iter::successors(Some(agent), |agent| whole.agent(*agent)?.parent)
}
