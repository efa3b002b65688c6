//! `entourage schedules`: lists, creates, pauses, resumes, ends and fires schedules.

use std::time::Duration;

use clap::{ArgGroup, Args, Subcommand};
use entourage::settings::time;
use entourage_api::{CreateSchedule, Recurrence, Schedule};
use entourage_types::{AgentId, ScheduleId, ScheduleStatus, Time};
use jiff::{Zoned, civil::DateTime, tz::TimeZone};
use serde_json::Value;

use super::{
    backend::{self, Backend, Purpose, Result},
    describe,
    failure::Exit,
    globals::Globals,
    id_input::IdInput,
    out,
    text::{Text, table, text},
};

const AFTER_HELP: &str = "\
Examples:
  entourage schedules                                       all of them, newest first
  entourage schedules create \"See Rome\" --trigger agent_check_in --cron \"30 7 * * 1-5\" --zone Europe/Berlin
  entourage schedules create agt_0199… --trigger look --text \"What is new?\" --every 2h
  entourage schedules fire sch_0199…                        now, beside its times
  entourage schedules pause sch_0199…                       until it is resumed

A schedule gives its agent a trigger when its time comes; the agent reads it in a run of its own. It fires while a process \
works on the agent, such as `entourage serve`; times that pass meanwhile come as one.";

/// List, create, pause, resume, end and fire schedules, which set agents to work
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Schedules {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(List),
    Create(Create),
    /// Show a schedule whole
    #[command(after_help = "Example:\n  entourage schedules show @last")]
    Show(Named),
    /// Keep a schedule from firing until it is resumed
    #[command(after_help = "Example:\n  entourage schedules pause sch_0199…")]
    Pause(Named),
    /// Let a paused schedule go on, with its next time
    #[command(after_help = "Example:\n  entourage schedules resume sch_0199…")]
    Resume(Named),
    /// End a schedule: it fires no more
    #[command(after_help = "Example:\n  entourage schedules end sch_0199…")]
    End(Named),
    /// Fire a schedule now, also a paused one; its next time stays
    #[command(after_help = "Example:\n  entourage schedules fire sch_0199…")]
    Fire(Named),
}

/// List the schedules, newest first (as without a command)
#[derive(Debug, Default, Args)]
#[command(after_help = "Example:\n  entourage schedules list agt_0199… --status active")]
struct List {
    /// Only schedules of this agent
    agent: Option<IdInput<AgentId>>,
    /// Only schedules in this status: active, paused, ended
    #[arg(long, value_name = "STATUS")]
    status: Option<ScheduleStatus>,
}

/// Create a schedule for an agent
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("when").required(true).multiple(true), after_help = "\
Examples:
  entourage schedules create \"See Rome\" --trigger agent_check_in --cron \"30 7 * * 1-5\" --zone Europe/Berlin
  entourage schedules create agt_0199… --trigger look --text \"What is new?\" --every 2h
  entourage schedules create agt_0199… --trigger remind --text \"Book the train.\" --at 2027-03-01T09:00

The fields of --cron are minute, hour, day of month, month and day of week. With --every or --cron, --at says from when on. \
`entourage goals` and `entourage agents` list the ids of agents, `entourage kinds show` the triggers of a kind.")]
struct Create {
    /// The agent's id, or the title of its goal
    agent: IdInput<AgentId>,
    /// The name of the trigger, which the agent's kind may know
    #[arg(long, value_name = "NAME")]
    trigger: String,
    /// What the agent reads [default: what its kind says about the trigger]
    #[arg(long)]
    text: Option<String>,
    /// Fire by the clocks of a place, by these five fields
    #[arg(long, value_name = "FIELDS", group = "when", requires = "zone", conflicts_with = "every")]
    cron: Option<String>,
    /// The time zone of --cron, such as Europe/Berlin or UTC
    #[arg(long, requires = "cron", conflicts_with = "every")]
    zone: Option<String>,
    /// Fire again and again: 90m, 12h, 7d
    #[arg(long, value_name = "TIME", group = "when", value_parser = time)]
    every: Option<Duration>,
    /// Fire once: at a moment (2027-03-01T09:00:00Z), by the clock of this machine (2027-03-01T09:00), or from now (90m);
    /// with --every or --cron, from then on
    #[arg(long, value_name = "TIME", group = "when", value_parser = moment)]
    at: Option<Time>,
}

#[derive(Debug, Args)]
struct Named {
    /// The schedule's id; `entourage schedules` shows it
    schedule: IdInput<ScheduleId>,
}

/// Parses a moment as people write it.
fn moment(text: &str) -> Result<Time, String> {
    if let Ok(moment) = text.parse::<Time>() {
        return Ok(moment);
    }
    if text.contains('[') {
        let moment = text.parse::<Zoned>().map_err(|why| format!("`{text}` is no moment: {why}"))?;
        return Ok(Time::from_micros(moment.timestamp().as_microsecond()));
    }
    if let Ok(clock) = text.parse::<DateTime>() {
        let moment =
            clock.to_zoned(TimeZone::system()).map_err(|_| format!("`{text}` is too far from now"))?;
        return Ok(Time::from_micros(moment.timestamp().as_microsecond()));
    }
    let from_now = time(text).map_err(|why| format!("{why}; or a moment, such as 2027-03-01T09:00"))?;
    Ok(Time::now() + from_now)
}

impl Schedules {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        match self.command.unwrap_or_else(|| Command::List(List::default())) {
            Command::List(which) => list(globals, which).await,
            Command::Create(new) => create(globals, new).await,
            Command::Show(Named { schedule }) => {
                let backend = backend::connect(globals, &globals.settings()?, Purpose::Read).await?;
                let schedule = backend.schedule(schedule.find(&backend).await?).await?;
                match globals.json {
                    true => out::json(&schedule)?,
                    false => show(&schedule)?,
                }
                Ok(Exit::Done)
            }
            Command::Pause(Named { schedule }) => {
                set(globals, &schedule, async |backend, id| backend.pause_schedule(id).await).await
            }
            Command::Resume(Named { schedule }) => {
                set(globals, &schedule, async |backend, id| backend.resume_schedule(id).await).await
            }
            Command::End(Named { schedule }) => {
                set(globals, &schedule, async |backend, id| backend.end_schedule(id).await).await
            }
            Command::Fire(Named { schedule }) => fire(globals, &schedule).await,
        }
    }
}

async fn list(globals: &Globals, which: List) -> Result<Exit> {
    let backend = backend::connect(globals, &globals.settings()?, Purpose::Read).await?;
    let agent = match which.agent {
        Some(agent) => Some(agent.find(&backend).await?),
        None => None,
    };
    let schedules = backend.schedules(agent, which.status, None).await?;
    match globals.json {
        true => schedules.iter().try_for_each(out::json)?,
        false => table(schedules.iter().map(row).collect()).into_iter().try_for_each(out::result)?,
    }
    if schedules.is_empty() && !globals.json && !globals.quiet {
        out::note(match agent.is_some() || which.status.is_some() {
            true => "no schedule matches; `entourage schedules` lists all",
            false => {
                "no schedules yet; `entourage schedules create AGENT` creates one, and its --help shows how"
            }
        });
    }
    Ok(Exit::Done)
}

async fn create(globals: &Globals, new: Create) -> Result<Exit> {
    let backend = backend::connect(globals, &globals.settings()?, Purpose::Look).await?;
    let Create { agent, trigger, text, cron, zone, every, at: first } = new;
    let agent = agent.find(&backend).await?;
    let recurrence = match (cron, zone, every) {
        (Some(expression), Some(zone), _) => Recurrence::Cron { expression, zone },
        (_, _, Some(every)) => Recurrence::Every { seconds: every.as_secs() },
        _ => Recurrence::default(),
    };
    let new = CreateSchedule { agent, trigger, payload: Value::Null, text, first, recurrence };
    let schedule = backend.create_schedule(&new).await?;
    if globals.json {
        out::json(&schedule)?;
        return Ok(Exit::Done);
    }
    out::result(text!["created schedule ", schedule.id, ", ", next(&schedule)])?;
    if !globals.quiet && !backend.is_at_work(None) {
        out::note(format!("it fires while this is at work: entourage serve{}", globals.again()));
    }
    Ok(Exit::Done)
}

/// Sets the status of a schedule.
async fn set(
    globals: &Globals,
    schedule: &IdInput<ScheduleId>,
    change: impl AsyncFnOnce(&Backend, ScheduleId) -> Result<Schedule>,
) -> Result<Exit> {
    let backend = backend::connect(globals, &globals.settings()?, Purpose::Look).await?;
    let schedule = schedule.find(&backend).await?;
    let schedule = change(&backend, schedule).await?;
    match globals.json {
        true => out::json(&schedule)?,
        false => table(vec![row(&schedule)]).into_iter().try_for_each(out::result)?,
    }
    Ok(Exit::Done)
}

async fn fire(globals: &Globals, schedule: &IdInput<ScheduleId>) -> Result<Exit> {
    let backend = backend::connect(globals, &globals.settings()?, Purpose::Look).await?;
    let schedule = schedule.find(&backend).await?;
    let posted = backend.fire_schedule(schedule).await?;
    if globals.json {
        out::json(&posted)?;
        return Ok(Exit::Done);
    }
    let agent = posted.agent;
    out::result(text!["fired ", schedule, " for ", agent])?;
    if !globals.quiet && !backend.is_at_work(None) {
        out::note(format!("the agent reads it with: entourage run --resume {agent}{}", globals.again()));
    }
    Ok(Exit::Done)
}

/// A schedule in one line of a list.
fn row(schedule: &Schedule) -> [Text; 6] {
    let paint = out::stdout();
    let Schedule { id, status, trigger, agent, .. } = schedule;
    let (trigger, agent) = (paint.bold(describe::title(trigger)), paint.dim(agent));
    [text![id], text![status], trigger, text![when(schedule)], text![next(schedule)], agent]
}

/// A schedule whole.
fn show(schedule: &Schedule) -> Result<()> {
    let paint = out::stdout();
    let Schedule { id, status, trigger, agent, text: reads, fired, left_out, .. } = schedule;
    out::result(text![paint.bold(id), "  ", status])?;
    for (name, value) in [
        ("agent", text![agent]),
        ("trigger", text![trigger]),
        ("reads", text![describe::cut(reads, describe::LONGEST_TEXT)]),
        ("recurs", text![when(schedule)]),
        ("next", text![next(schedule)]),
        ("fired", text![fired]),
        ("left out", text![left_out]),
    ] {
        out::result(text!["  ", paint.dim(format!("{name:<8}")), " ", value])?;
    }
    Ok(())
}

/// How a schedule recurs.
fn when(schedule: &Schedule) -> String {
    match &schedule.recurrence {
        Recurrence::Once {} => "once".to_owned(),
        Recurrence::Every { seconds } => format!("every {}", every(*seconds)),
        Recurrence::Cron { expression, zone } => format!("`{expression}` in {zone}"),
    }
}

/// Seconds as the option takes them.
fn every(seconds: u64) -> String {
    let units = [(86_400, "d"), (3_600, "h"), (60, "m")];
    let whole = units.into_iter().find(|(unit, _)| seconds.is_multiple_of(*unit));
    whole.map_or_else(|| format!("{seconds}s"), |(unit, name)| format!("{}{name}", seconds / unit))
}

/// When a schedule fires next, if it does.
fn next(schedule: &Schedule) -> String {
    match (schedule.status, schedule.due) {
        (ScheduleStatus::Ended, _) => "never again".to_owned(),
        (ScheduleStatus::Active, Some(due)) => format!("due {}", describe::moment(due)),
        (ScheduleStatus::Active | ScheduleStatus::Paused, _) => "due once it is resumed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_time_a_time_of_this_machine_or_a_time_from_now() {
        let whole = moment("2027-03-01T09:00:00Z").unwrap();
        assert_eq!(whole.to_string(), "2027-03-01T09:00:00Z");
        assert!(moment("2027-03-01T09:00").is_ok() && moment("2027-03-01").is_ok());
        let soon = moment("90m").unwrap().since(Time::now());
        assert!(soon > Duration::from_secs(89 * 60) && soon <= Duration::from_secs(90 * 60), "{soon:?}");
        for wrong in ["", "soon", "2027-13-01", "-5m"] {
            assert!(moment(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn seconds_are_shown_as_they_are_typed() {
        let shown = [60, 90, 7_200, 86_400, 604_800].map(every);
        assert_eq!(shown, ["1m", "90s", "2h", "1d", "7d"]);
    }
}
