//! Schedules whose time has come: each gives its agent a trigger, in the commit that sets its next time.

use entourage_store::{Claim, Commit, Expect, Versioned, Write};
use entourage_types::{
    AgentId, Author, Goal, GoalStatus, Post, PostBody, Record, Recurrence, Schedule, ScheduleId,
    ScheduleStatus, Scope, Status, Time, Trigger, Wakeup,
};

use crate::{Engine, Result};

impl Engine {
    /// Fires what is due `by` then of the schedules of a claimed agent, and adds the triggers to its inbox. What a
    /// schedule gave before and the agent has not read yet is enough: times that pass meanwhile are left out, as are those of an archived goal.
    /// What was to fire once is kept until the goal is taken up again.
    ///
    /// # Errors
    /// [`OtherVersion`](entourage_store::Error::OtherVersion) if a person has changed a schedule meanwhile: the activation begins again.
    pub(crate) async fn fire_due(&self, claim: &mut Claim, by: Time) -> Result<()> {
        let is_due = |wakeup: &Wakeup| wakeup.due <= by && wakeup.schedule.is_some();
        if !claim.wakeups.iter().any(is_due) {
            return Ok(());
        }
        let (due, others) = std::mem::take(&mut claim.wakeups).into_iter().partition::<Vec<_>, _>(is_due);
        claim.wakeups = others;
        let mut commit = Commit::fenced(&claim.agent, self.now());
        let scope = Scope::from(&claim.agent.owner);
        let mut posts = Vec::new();
        let goal = self.goal_status(&claim.agent).await?;
        let is_archived = goal == Some(GoalStatus::Archived);
        for wakeup in due {
            let Some(id) = wakeup.schedule else { continue };
            let found: Option<Versioned<Schedule>> = self.store().versioned(&scope, id).await?;
            let Some(Versioned { record, version }) = found else {
                commit.push(Write::ConsumeWakeup(wakeup.id));
                continue;
            };
            // A person may pause it, end it or let it go on meanwhile, with another time for this wake-up.
            commit.expect.push(Expect::Version(Schedule::KIND, id.to_string(), version));
            if record.status != ScheduleStatus::Active {
                commit.push(Write::ConsumeWakeup(wakeup.id));
                continue;
            }
            if record.due != wakeup.due {
                continue;
            }
            let is_gone = claim.agent.status == Status::Cancelled;
            if is_archived && !is_gone && record.recurrence == Recurrence::Once {
                // Taking the goal up again brings the wake-up back, unless that happens at this moment.
                commit.expect.push(Expect::status::<Goal>(claim.agent.root, GoalStatus::Archived));
                commit.push(Write::ConsumeWakeup(wakeup.id));
                continue;
            }
            let fires = !is_gone && !is_archived && !claim.inbox.iter().any(|post| is_of(post, id));
            if fires {
                posts.push(fired_by(&record, commit.at));
            }
            let come = match is_gone {
                true => record.set(ScheduleStatus::Ended, commit.at),
                false => record.advance(commit.at, fires),
            };
            commit.push(match come.status {
                ScheduleStatus::Active => Write::ScheduleWakeup(Wakeup::of_schedule(&come)),
                ScheduleStatus::Paused | ScheduleStatus::Ended => Write::ConsumeWakeup(wakeup.id),
            });
            commit.push(Write::record(&come)?);
        }
        if goal.is_some() && !posts.is_empty() {
            // A person may archive it at this moment.
            commit.expect.push(Expect::status::<Goal>(claim.agent.root, GoalStatus::Open));
        }
        for post in &posts {
            commit.post(post.clone(), &claim.agent.owner);
        }
        self.store().commit(commit).await?;
        let owner = &claim.agent.owner;
        claim.wakeups.extend(
            posts
                .iter()
                .map(|post| Wakeup { id: post.wakeup, ..Wakeup::new(post.agent, owner.clone(), post.at) }),
        );
        claim.inbox.extend(posts);
        Ok(())
    }
}

/// What an agent reads when a schedule fires.
pub(crate) fn fired_by(schedule: &Schedule, at: Time) -> Post {
    let trigger = Trigger { schedule: Some(schedule.id), ..schedule.trigger.clone() };
    post_of(schedule.agent, trigger, schedule.text.clone(), at)
}

/// A trigger in an agent's inbox. It waits for the run under way: that is about something else.
pub(crate) fn post_of(agent: AgentId, trigger: Trigger, text: String, at: Time) -> Post {
    let from = Author::Trigger { trigger: Box::new(trigger) };
    Post::new(agent, at, PostBody::Message { from, text, task: None, queued: true, options: None })
}

/// Whether a post is a trigger of this schedule.
pub(crate) fn is_of(post: &Post, id: ScheduleId) -> bool {
    let PostBody::Message { from: Author::Trigger { trigger }, .. } = &post.body else { return false };
    trigger.schedule == Some(id)
}
