//! Schedules: what sets agents to work by itself, when it does so next, and a form that makes one.

use askama::Template;
use axum::{
    Json,
    response::{IntoResponse, Redirect},
};
use entourage_api::{
    Agent, AgentOrder, CreateSchedule, Goal, ListAgents, ListGoals, ListSchedules, Recurrence, Schedule,
};
use entourage_types::{AgentId, GoalStatus, ScheduleId, ScheduleStatus, ShownStatus, Time};
use jiff::{civil::DateTime, tz::TimeZone};
use serde::Deserialize;

use super::{
    act::led,
    choices::is_plain_line,
    filters,
    given::{condition, lines, some},
    named::Names,
    shell::{Fields, Page, Section, Shown, View, new_key},
};
use crate::{
    Problem,
    extract::{Body, Caller, Filter, Id, IdempotencyKey, NoBody},
    routes::v1::{agents, goals, schedules},
};

/// How many agents, and how many goals, one can be made for without their ids.
const OFFERED: u32 = 50;

#[derive(Deserialize, Default)]
pub(super) struct Wanted {
    agent: Option<String>,
    status: Option<String>,
    cursor: Option<String>,
}

#[derive(Template)]
#[template(path = "schedules.html")]
struct Schedules {
    schedules: Vec<Schedule>,
    names: Names,
    agent: Option<AgentId>,
    status: Option<ScheduleStatus>,
    next: Option<String>,
    new: Option<NewSchedule>,
}

/// The form of a new schedule.
#[derive(Template)]
#[template(path = "new_schedule.html")]
struct NewSchedule {
    key: String,
    /// Whom it may be for, by what they are called.
    agents: Vec<(AgentId, String)>,
}

impl Schedules {
    /// Whether this is the status that is asked for.
    fn is_status(&self, word: &str) -> bool {
        self.status.is_some_and(|status| status.as_str() == word)
    }

    /// The time between two times.
    #[allow(clippy::unused_self, reason = "templates call methods of their page")]
    fn every(&self, seconds: &u64) -> String {
        filters::duration(seconds.saturating_mul(1_000_000))
    }

    /// The query that leads to the next page.
    fn next_query(&self) -> Option<String> {
        let more = [
            ("agent", self.agent.map(|agent| agent.to_string())),
            ("status", self.status.map(|status| status.to_string())),
        ];
        self.next.as_ref().map(|cursor| filters::query("cursor", cursor, more))
    }
}

impl Page for Schedules {
    const SECTION: Section = Section::Goals;

    fn title(&self) -> String {
        "Schedules".to_owned()
    }

    fn below(&self, _: &View) -> askama::Result<String> {
        self.new.as_ref().map_or_else(|| Ok(String::new()), Template::render)
    }
}

pub(super) async fn show(view: View, Filter(Wanted { agent, status, cursor }): Filter<Wanted>) -> Shown {
    let (agent, status) = (condition::<AgentId>("agent", agent)?, condition("status", status)?);
    let wanted = ListSchedules { agent, status, limit: None, cursor };
    let Json(page) = schedules::list(view.caller.clone(), Filter(wanted)).await?;
    let named: Vec<AgentId> = page.data.iter().map(|schedule| schedule.agent).chain(agent).collect();
    let names = Names::of(&view.caller, &named).await;
    let new = match view.is_part() {
        true => None,
        false => {
            let given = agent.map(|agent| (agent, names.title(&agent)));
            Some(NewSchedule { key: new_key(), agents: offered(&view.caller, given).await? })
        }
    };
    view.show(Schedules { schedules: page.data, names, agent, status, next: page.next_cursor, new }).await
}

/// Those whom a schedule may be for: the one that was chosen, goals, and the agents that worked last.
async fn offered(
    caller: &Caller,
    given: Option<(AgentId, String)>,
) -> Result<Vec<(AgentId, String)>, Problem> {
    let wanted = ListGoals { status: Some(GoalStatus::Open), limit: Some(OFFERED), ..ListGoals::default() };
    let Json(goals) = goals::list(caller.clone(), Filter(wanted)).await?;
    let wanted = ListAgents {
        roots: true,
        order: Some(AgentOrder::Updated),
        limit: Some(OFFERED),
        ..ListAgents::default()
    };
    let Json(latest) = agents::list(caller.clone(), Filter(wanted)).await?;
    let goals = goals.data.into_iter().map(|Goal { agent, title, .. }| (agent, title));
    let latest = latest.data.into_iter().filter(|agent: &Agent| agent.status != ShownStatus::Cancelled);
    let latest = latest.map(|agent| (agent.id, filters::title_of(&agent.title, &agent.kind).to_owned()));
    let mut offered: Vec<(AgentId, String)> = Vec::new();
    for (id, title) in given.into_iter().chain(goals).chain(latest) {
        if offered.iter().all(|(other, _)| *other != id) {
            offered.push((id, title));
        }
    }
    Ok(offered)
}

/// The most minutes between two times of a schedule: those of a leap year. Less often is a matter of clocks.
const MOST_MINUTES: u64 = 366 * 24 * 60;

/// What the form of a new schedule sends.
#[derive(Deserialize)]
pub(super) struct New {
    agent: AgentId,
    trigger: String,
    #[serde(default)]
    text: String,
    repeat: Repeat,
    #[serde(default)]
    minutes: String,
    #[serde(default)]
    expression: String,
    /// Whose clocks count, for the expression and for the first time.
    #[serde(default)]
    zone: String,
    #[serde(default)]
    first: String,
    #[serde(default)]
    key: String,
}

/// When it fires after its first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Repeat {
    Once,
    Every,
    Cron,
}

impl New {
    fn schedule(self) -> Result<CreateSchedule, Problem> {
        let Self { agent, trigger, text, repeat, minutes, expression, zone, first, key: _ } = self;
        if !is_plain_line(trigger.trim()) {
            return Err(Problem::bad_body(
                "the name of the trigger must be words that can be seen, on one line",
            ));
        }
        let zone = some(zone).unwrap_or_else(|| "UTC".to_owned());
        let first = some(first).map(|first| moment(first.trim(), &zone)).transpose()?;
        let recurrence = match repeat {
            Repeat::Once => Recurrence::Once {},
            Repeat::Every => {
                let minutes: u64 = minutes
                    .trim()
                    .parse()
                    .map_err(|_| Problem::bad_body("say after how many minutes it fires again, in digits"))?;
                if !(1..=MOST_MINUTES).contains(&minutes) {
                    let why = format!("say after how many minutes it fires again: 1 to {MOST_MINUTES}");
                    return Err(Problem::bad_body(why));
                }
                Recurrence::Every { seconds: minutes * 60 }
            }
            Repeat::Cron => Recurrence::Cron { expression, zone },
        };
        let payload = serde_json::Value::Null;
        Ok(CreateSchedule { agent, trigger, payload, text: some(lines(&text)), first, recurrence })
    }
}

/// A moment as a browser's field says it, by the clocks of a place.
fn moment(text: &str, zone: &str) -> Result<Time, Problem> {
    let wrong = |why: jiff::Error| Problem::bad_body(format!("the first time: {why}"));
    let at: DateTime = text.parse().map_err(wrong)?;
    let zoned = at.to_zoned(TimeZone::get(zone).map_err(wrong)?).map_err(wrong)?;
    Ok(Time::from_micros(zoned.timestamp().as_microsecond()))
}

/// Makes a schedule.
pub(super) async fn create(view: View, Fields(new): Fields<New>) -> Shown {
    let key = IdempotencyKey::of_form(new.key.clone())?;
    let _ = schedules::create(view.caller.clone(), key, Body(new.schedule()?)).await?;
    Ok(led(&view, PATH))
}

const PATH: &str = "/console/schedules";

/// What can be done to a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Act {
    Pause,
    Resume,
    End,
    Fire,
}

#[derive(Deserialize)]
pub(super) struct Wants {
    act: Act,
    #[serde(default)]
    key: String,
    /// To what the list is narrowed.
    #[serde(default)]
    agent: String,
    #[serde(default)]
    status: String,
}

/// Pauses a schedule, lets it go on, ends it, or fires it now.
pub(super) async fn change(
    view: View,
    Id(id): Id<ScheduleId>,
    Fields(Wants { act, key, agent, status }): Fields<Wants>,
) -> Shown {
    let caller = view.caller.clone();
    match act {
        Act::Pause => drop(schedules::pause(caller, Id(id), NoBody).await?),
        Act::Resume => drop(schedules::resume(caller, Id(id), NoBody).await?),
        Act::End => drop(schedules::end(caller, Id(id), NoBody).await?),
        Act::Fire => drop(schedules::fire(caller, Id(id), IdempotencyKey::of_form(key)?, NoBody).await?),
    }
    let path = format!("/schedules?{}", filters::query("agent", &agent, [("status", Some(status.clone()))]));
    if view.is_part() {
        let wanted = Wanted { agent: Some(agent), status: Some(status), cursor: None };
        return show(view.at(path), Filter(wanted)).await;
    }
    Ok(Redirect::to(&format!("/console{path}")).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_by_the_clocks_of_its_place() {
        let rome = moment("2099-06-01T09:30", "Europe/Rome").unwrap();
        assert_eq!(rome.to_string(), "2099-06-01T07:30:00Z");
        for (text, zone) in [("tomorrow", "UTC"), ("2099-06-01T09:30", "Europe/Nowhere"), ("", "UTC")] {
            assert!(moment(text, zone).is_err(), "{text} {zone}");
        }
    }
}
