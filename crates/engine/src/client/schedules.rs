//! Triggers: what sets an agent to work without a message, at once or on a schedule.

use entourage_store::{Commit, Error as StoreError, Expect, Page, RecordFilter, Versioned, Write};
use entourage_types::{
    Agent, AgentId, Cron, EntityKind, INSTRUCTION_BYTES, Post, PostId, Record, Recurrence, Schedule,
    ScheduleId, ScheduleStatus, Status, Time, Trigger, Wakeup, check_nesting, checked_name,
};

use super::{
    Client, LONGEST_TEXT, Posted, checked_text,
    inbox::has_room,
    owner_limit::{Once, OwnerLimit},
};
use crate::{
    Error, Result, goals,
    schedules::{fired_by, is_of, post_of},
};

/// Why a schedule does not change any more.
const ENDED: &str = "the schedule has ended";
/// How many schedules that have not ended an owner may have: a paused one is kept, too.
const MOST: OwnerLimit = OwnerLimit {
    number: 1_000,
    what: "schedules that have not ended",
    // The name stays: databases have it.
    counter: "active schedules",
    remedy: "end some",
};
/// The longest text of a schedule with its payload, in bytes: it comes again and again.
const LONGEST: usize = INSTRUCTION_BYTES;
/// The shortest time between two triggers of a schedule, in seconds.
const SHORTEST: u64 = 60;

/// A schedule to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSchedule {
    /// The agent.
    pub agent: AgentId,
    /// What the agent reads, as if its owner had written it; empty for what its kind says about the trigger. What others
    /// wrote belongs into the payload.
    pub text: String,
    /// What its program reads.
    pub trigger: Trigger,
    /// When it fires first, not in the past. By the clocks of a place it fires first at the first time from then on.
    /// If not given: as soon as it recurs, and at once if it never does.
    pub first: Option<Time>,
    /// When it fires after that.
    pub recurrence: Recurrence,
}

impl Client {
    /// Sets an agent to work with a trigger. The agent reads it in a run of its own, after the one under way. An empty
    /// text stands for what the agent's kind says about triggers of this name.
    ///
    /// The same `key` with the same trigger is one trigger.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Gone`] for a deleted agent, [`Error::Invalid`] for an empty text, [`Error::Part`] for a name
    /// that is none, [`Error::NotNow`] if the inbox is full or the goal of the agent is
    /// archived.
    pub async fn trigger(
        &self,
        to: AgentId,
        trigger: Trigger,
        text: &str,
        key: Option<&str>,
    ) -> Result<Posted> {
        let request = format!("trigger {to}\n{}\n{}\n{text}", trigger.name, trigger.payload);
        if let Some(first) = self.first_answer::<PostId>(key, &request).await? {
            return Ok(Posted { agent: to, post: first });
        }
        let (agent, trigger, text) = self.triggered(to, trigger, text).await?;
        if agent.status == Status::Cancelled {
            return Err(Error::Gone(to));
        }
        let post = post_of(to, trigger, text, self.engine.now());
        let posted = post.id;
        let mut commit = Commit::new(post.at).expect(Expect::Agent(to)).expect(has_room(to));
        commit.post(post, &agent.owner);
        commit.expect.extend(self.engine.open_goal(&agent).await?);
        let committed = self.commit_once(key, &request, posted, commit).await;
        let first = committed.map_err(|error| goals::refused(to, error))?;
        Ok(Posted { agent: to, post: first.unwrap_or(posted) })
    }

    /// Makes a schedule: its trigger comes at the first time, and then as it recurs. Times that come while the agent
    /// has not read the last trigger, or while no process is there, are left out.
    ///
    /// The same `key` with the same schedule is one schedule.
    ///
    /// # Errors
    /// As for [`Client::trigger`]; [`Error::LimitReached`] beyond 1,000 that have not ended; [`Error::Invalid`], too, for a text with
    /// a payload of more than 8 KiB, for a first time that has passed, for less than a minute between two times, and for a
    /// cron expression or a time zone that cannot be read.
    pub async fn schedule(&self, new: NewSchedule, key: Option<&str>) -> Result<Schedule> {
        let NewSchedule { agent: to, text, trigger, first, recurrence } = new;
        let recurrence = match recurrence {
            Recurrence::Every { seconds } if seconds < SHORTEST => {
                let why = format!("a schedule recurs every {SHORTEST} seconds or less often");
                return Err(Error::Invalid(why));
            }
            Recurrence::Cron(Cron { expression, zone }) => {
                let read = Cron::checked(&expression, &zone);
                Recurrence::Cron(read.map_err(|error| Error::Invalid(error.to_string()))?)
            }
            recurrence => recurrence,
        };
        if first.is_some_and(|first| !(Time::from_micros(0)..=Time::LAST).contains(&first)) {
            return Err(Error::Invalid("a schedule begins between the years 1970 and 9999".into()));
        }
        let request = format!(
            "schedule {to}\n{}\n{}\n{text}\n{first:?}\n{recurrence:?}",
            trigger.name, trigger.payload
        );
        if let Some(made) = self.first_answer::<ScheduleId>(key, &request).await? {
            return self.record(made).await;
        }
        let (agent, trigger, text) = self.triggered(to, trigger, &text).await?;
        if agent.status == Status::Cancelled {
            return Err(Error::Gone(to));
        }
        check_size(&trigger, &text)?;
        let now = self.engine.now();
        if let Some(passed) = first.filter(|first| *first < now) {
            let why = format!("the first time, {passed}, has passed: it is {now} now");
            return Err(Error::Invalid(why));
        }
        let Some(due) = recurrence.first(first, now) else {
            return Err(Error::Invalid("the schedule has no time from then on".into()));
        };
        let open_goal = self.engine.open_goal(&agent).await?;
        let schedule = Schedule {
            id: ScheduleId::new(),
            owner: agent.owner,
            root: agent.root,
            agent: to,
            text,
            trigger,
            recurrence,
            status: ScheduleStatus::Active,
            due,
            fired: 0,
            left_out: 0,
            created: now,
            updated: now,
        };
        let mut commit = Commit::new(now).expect(Expect::NotDeleted(to)).write(Write::record(&schedule)?);
        commit.push(Write::ScheduleWakeup(Wakeup::of_schedule(&schedule)));
        commit.expect.extend(open_goal);
        let kept = [ScheduleStatus::Active, ScheduleStatus::Paused].map(RecordFilter::<Schedule>::in_status);
        let once = Once { key, request: &request, answer: schedule.id };
        let made = self.commit_one_more(&MOST, &kept, once, commit).await;
        match made.map_err(|error| goals::refused(to, error))? {
            Some(made) => self.record(made).await,
            None => Ok(schedule),
        }
    }

    /// Schedules: of one agent or of all, in one status or in any.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn schedules(
        &self,
        agent: Option<AgentId>,
        status: Option<ScheduleStatus>,
        page: Page,
    ) -> Result<Vec<Schedule>> {
        let parent = agent.map(Into::into);
        self.records(RecordFilter { parent, status, page, ..RecordFilter::default() }).await
    }

    /// Keeps a schedule from firing until it [goes on](Client::resume_schedule). Pausing twice is the same as once.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::NotNow`] if it has ended.
    pub async fn pause_schedule(&self, id: ScheduleId) -> Result<Schedule> {
        self.set_schedule(id, ScheduleStatus::Paused).await
    }

    /// Lets a paused schedule go on with its next time. Of the times that passed while it was paused none comes again;
    /// one that was to fire once, and has not, fires at once.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::NotNow`] if it has ended, as it does with its agent, or the goal of its agent is
    /// archived; [`Error::Gone`] while its agent is being deleted.
    pub async fn resume_schedule(&self, id: ScheduleId) -> Result<Schedule> {
        self.set_schedule(id, ScheduleStatus::Active).await
    }

    /// Fires a schedule now, also a paused one. Its next time stays. The same `key` fires it once.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::NotNow`] if it has ended, its agent has not read the last trigger yet, or the goal of
    /// the agent is archived; [`Error::Gone`] while its agent is being deleted.
    pub async fn fire_schedule(&self, id: ScheduleId, key: Option<&str>) -> Result<Posted> {
        let request = format!("fire {id}");
        loop {
            let Versioned { record, version } = self.versioned::<Schedule>(id).await?;
            let agent = self.agent(record.agent).await?;
            if let Some(first) = self.first_answer::<PostId>(key, &request).await? {
                return Ok(Posted { agent: agent.id, post: first });
            }
            if record.status == ScheduleStatus::Ended {
                return Err(Error::NotNow { agent: agent.id, why: ENDED });
            }
            let is_unread = |posts: Vec<Post>| posts.iter().any(|post| is_of(post, id));
            if is_unread(self.engine.store().inbox(agent.id).await?) {
                let why = "it has not read what the schedule gave it last";
                return Err(Error::NotNow { agent: agent.id, why });
            }
            let now = self.engine.now();
            let post = fired_by(&record, now);
            let posted = Posted { agent: agent.id, post: post.id };
            let fired = Schedule { fired: record.fired + 1, updated: now, ..record };
            let mut commit =
                Commit::new(now).expect(Expect::NotDeleted(agent.id)).write(Write::record(&fired)?);
            commit.expect.push(Expect::Version(Schedule::KIND, id.to_string(), version));
            commit.expect.push(has_room(agent.id));
            commit.expect.extend(self.engine.open_goal(&agent).await?);
            commit.post(post, &agent.owner);
            match self.commit_once(key, &request, posted.post, commit).await {
                // It fired by itself meanwhile, or a person changed it.
                Err(Error::Store(StoreError::OtherVersion { kind: EntityKind::SCHEDULE, .. })) => {}
                Err(error) => return Err(goals::refused(agent.id, error)),
                Ok(first) => return Ok(Posted { post: first.unwrap_or(posted.post), ..posted }),
            }
        }
    }

    /// Ends a schedule: it fires no more. A trigger that its agent has not read yet stays. Ending twice is the same as
    /// once.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn end_schedule(&self, id: ScheduleId) -> Result<Schedule> {
        self.set_schedule(id, ScheduleStatus::Ended).await
    }

    async fn set_schedule(&self, id: ScheduleId, status: ScheduleStatus) -> Result<Schedule> {
        loop {
            let Versioned { record, version } = self.versioned::<Schedule>(id).await?;
            if record.status == status {
                return Ok(record);
            }
            if record.status == ScheduleStatus::Ended {
                return Err(Error::NotNow { agent: record.agent, why: ENDED });
            }
            let now = self.engine.now();
            let set = record.set(status, now);
            let expected = Expect::Version(Schedule::KIND, id.to_string(), version);
            let mut commit = Commit::new(now).expect(expected).write(Write::record(&set)?);
            let next = Wakeup::of_schedule(&set);
            commit.push(Write::ScheduleWakeup(match status {
                ScheduleStatus::Active => next,
                // Nothing is left that would wake its agent in a year.
                ScheduleStatus::Paused | ScheduleStatus::Ended => Wakeup { due: now, ..next },
            }));
            if status == ScheduleStatus::Active {
                commit.expect.push(Expect::NotDeleted(set.agent));
                commit.expect.extend(self.engine.open_goal(&self.agent(set.agent).await?).await?);
            }
            match self.engine.commit(commit).await {
                Ok(_) => return Ok(set),
                Err(StoreError::Deleted { agent }) => return Err(Error::Gone(agent)),
                // It fired meanwhile, its goal was archived, or its agent was forgotten, and it is gone.
                Err(
                    StoreError::OtherVersion { .. }
                    | StoreError::NotInStatus { kind: EntityKind::GOAL, .. }
                    | StoreError::NoAgent { .. },
                ) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The agent of a trigger that no schedule fires, the trigger, and what the agent reads, once that is checked. Without a
    /// text it is what the agent's kind says.
    async fn triggered(&self, to: AgentId, trigger: Trigger, text: &str) -> Result<(Agent, Trigger, String)> {
        let trigger = Trigger { name: checked_name(&trigger.name)?, schedule: None, ..trigger };
        check_nesting(&trigger.payload).map_err(|error| Error::Invalid(format!("the payload is {error}")))?;
        let size = trigger.payload.to_string().len();
        if size > LONGEST_TEXT {
            let why = format!("the payload has {size} bytes as JSON; at most {LONGEST_TEXT} are taken");
            return Err(Error::Invalid(why));
        }
        let agent = self.agent(to).await?;
        let text = if text.is_empty() { self.text_of(&agent, &trigger.name)? } else { text.to_owned() };
        checked_text(&text)?;
        Ok((agent, trigger, text))
    }

    /// What an agent's kind says about triggers of this name.
    fn text_of(&self, agent: &Agent, trigger: &str) -> Result<String> {
        let kind = self.engine.kinds().named(&agent.kind)?;
        match kind.triggers.get(trigger) {
            Some(rule) => Ok(rule.text.clone()),
            None => {
                let known: Vec<&str> = kind.triggers.keys().map(String::as_str).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                let why = format!(
                    "the kind `{}` says nothing about a trigger `{trigger}`, so it needs a text (its triggers: {known})",
                    kind.name
                );
                Err(Error::Invalid(why))
            }
        }
    }
}

/// Refuses a schedule whose text and payload are too long.
fn check_size(trigger: &Trigger, text: &str) -> Result<()> {
    let bytes = text.len() + trigger.payload.to_string().len();
    if bytes <= LONGEST {
        return Ok(());
    }
    Err(Error::Invalid(format!(
        "the text and the payload have {bytes} bytes together; a schedule takes at most {LONGEST}. Put long material \
         into a file or a note that the agent reads"
    )))
}
