//! The people of the week: their goals and schedules, and what they do in each hour. That is a function of the hour, so that
//! what must have come of it is known exactly, whatever happens meanwhile.

use entourage_engine::{Client, GoalChange, NewGoal, NewSchedule};
use entourage_testkit::World;
use entourage_types::{AgentId, Cron, GoalStatus, Owner, Recurrence, ScheduleId, Trigger};
use serde_json::Value;

use super::{Life, provider::Outage};

/// A time zone, and what comes of the feeds of a person there: one at each local 7 o'clock of the week.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) zone: &'static str,
    pub(super) feeds: u64,
    /// Feeds that came in a long outage of the provider.
    pub(super) failed: usize,
    /// Feeds that came in a short one.
    pub(super) retried: usize,
}

const PLACES: [Place; 4] = [
    Place { zone: "Europe/Berlin", feeds: 8, failed: 1, retried: 0 },
    Place { zone: "America/New_York", feeds: 8, failed: 2, retried: 0 },
    Place { zone: "Asia/Tokyo", feeds: 9, failed: 0, retried: 1 },
    Place { zone: "Australia/Sydney", feeds: 9, failed: 0, retried: 1 },
];

/// The local half past noons from Monday to Friday.
pub(super) const CHECK_INS: u64 = 5;

/// What a person does about a goal at the beginning of an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deed {
    Archive,
    Unarchive,
    Say(&'static str),
}

/// One goal of a person: its agent and its check-in.
pub(super) struct Endeavour {
    pub(super) agent: AgentId,
    pub(super) check_in: ScheduleId,
    /// The hour of the week at which its plan begins, which differs from goal to goal.
    offset: usize,
}

impl Endeavour {
    pub(super) fn deed(&self, hour: usize) -> Option<Deed> {
        match (hour + self.offset) % 50 {
            0 => Some(Deed::Archive),
            11 => Some(Deed::Unarchive),
            5 | 20 | 21 | 40 if hour.is_multiple_of(2) => Some(Deed::Say("Find it.")),
            5 | 20 | 21 | 40 => Some(Deed::Say("How is it going?")),
            _ => None,
        }
    }

    /// Whether it is archived in this hour, after what the person does at its beginning.
    pub(super) fn is_archived(&self, hour: usize) -> bool {
        let last = (0..=hour).rev().find_map(|hour| match self.deed(hour)? {
            Deed::Archive => Some(true),
            Deed::Unarchive => Some(false),
            Deed::Say(_) => None,
        });
        last.unwrap_or(false)
    }

    /// How often it is archived or brought back.
    pub(super) fn changes(&self, hours: usize) -> usize {
        let was_archived = |hour: usize| hour > 0 && self.is_archived(hour - 1);
        (0..hours).filter(|hour| self.is_archived(*hour) != was_archived(*hour)).count()
    }

    /// What the person says to it while it is not archived, and when.
    pub(super) fn said(&self, hours: usize) -> Vec<(usize, &'static str)> {
        let said = |hour| match self.deed(hour)? {
            Deed::Say(text) if !self.is_archived(hour) => Some((hour, text)),
            _ => None,
        };
        (0..hours).filter_map(said).collect()
    }

    /// How many of these messages find the provider away for longer than retries last.
    pub(super) fn said_in_vain(&self, hours: usize) -> usize {
        let in_vain = |(hour, _): &(usize, &str)| Outage::around(*hour) == Some(Outage::Long);
        self.said(hours).iter().filter(|said| in_vain(said)).count()
    }

    /// How many tasks the others of these messages lead to.
    pub(super) fn tasks(&self, hours: usize) -> usize {
        let leads =
            |(hour, text): &(usize, &str)| *text == "Find it." && Outage::around(*hour) != Some(Outage::Long);
        self.said(hours).iter().filter(|said| leads(said)).count()
    }
}

/// One person: goals, and the agent that writes the feed.
pub(super) struct Person {
    owner: Owner,
    pub(super) place: &'static Place,
    pub(super) goals: Vec<Endeavour>,
    pub(super) user_agent: AgentId,
    pub(super) feed: ScheduleId,
}

impl Person {
    pub(super) async fn begin(world: &World, number: usize, goals: usize) -> Self {
        let owner = Owner::new(format!("person-{number}"));
        let place = &PLACES[number % PLACES.len()];
        let client = world.engine().client(owner.clone());
        let by_clock = |agent: AgentId, name: &str, expression: &str| NewSchedule {
            agent,
            text: String::new(),
            trigger: Trigger { name: name.into(), payload: Value::Null, schedule: None },
            first: None,
            recurrence: Recurrence::Cron(Cron { expression: expression.into(), zone: place.zone.into() }),
        };
        let mut endeavours = Vec::new();
        for goal in 0..goals {
            let new = NewGoal {
                title: format!("Goal {goal}"),
                description: "See it.".into(),
                ..NewGoal::default()
            };
            let agent = client.create_goal(new, None).await.unwrap().agent;
            let check_in = by_clock(agent, "agent_check_in", "30 12 * * 1-5");
            let check_in = client.schedule(check_in, None).await.unwrap().id;
            endeavours.push(Endeavour { agent, check_in, offset: 7 * number + 3 * goal });
        }
        let user_agent = client.user_agent().await.unwrap().id;
        let feed = by_clock(user_agent, "feed_generation", "0 7 * * *");
        let feed = client.schedule(feed, None).await.unwrap().id;
        Self { owner, place, goals: endeavours, user_agent, feed }
    }

    pub(super) fn client(&self, world: &World) -> Client {
        world.engine().client(self.owner.clone())
    }

    /// Does what is to be done in this hour, again if the process dies meanwhile.
    pub(super) async fn act(&self, mut life: Life, hour: usize) -> Life {
        for goal in &self.goals {
            let change = |status| GoalChange { status: Some(status), ..GoalChange::default() };
            life = match goal.deed(hour) {
                None => continue,
                Some(Deed::Archive) => self.change(life, goal, change(GoalStatus::Archived)).await,
                Some(Deed::Unarchive) => self.change(life, goal, change(GoalStatus::Open)).await,
                Some(Deed::Say(text)) => {
                    let key = format!("{} in hour {hour}", goal.agent);
                    let say = async |world: &World| {
                        Ok(self.client(world).send(goal.agent, text, Some(&key)).await.is_ok())
                    };
                    let (life, is_taken) = life.insist(say).await;
                    assert_eq!(is_taken, !goal.is_archived(hour), "{text} in hour {hour}");
                    life
                }
            };
        }
        life
    }

    async fn change(&self, life: Life, goal: &Endeavour, change: GoalChange) -> Life {
        let does = async |world: &World| self.client(world).change_goal(goal.agent, change.clone()).await;
        life.insist(does).await.0
    }
}
