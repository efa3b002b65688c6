//! `entourage agents`: lists the agents that people created.

use clap::Args;
use entourage::settings::time;
use entourage_api::{Agent, ListAgents, Page};
use entourage_types::{ShownStatus, Time};
use jiff::{civil::Date, tz::TimeZone};

use super::{
    backend::{self, Purpose, Result},
    describe,
    failure::Exit,
    globals::Globals,
    out,
    text::text,
};

const AFTER_HELP: &str = "\
Examples:
  entourage agents                            the newest twenty
  entourage agents --status waiting           agents that wait, for an answer or for something else
  entourage agents --search \"train berlin\"    agents whose task has these words
  entourage agents --kind researcher --since 7d
  entourage agents --json                     one JSON object a line";

/// List the agents that people created, newest first
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Agents {
    /// Show at most this many
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Only agents with this status: idle, queued, running, waiting, succeeded, failed, stopped, cancelled
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Option<ShownStatus>,
    /// Only agents of this kind
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Only agents whose task has all of these words
    #[arg(long, value_name = "WORDS")]
    search: Option<String>,
    /// Only agents created since then: a time ago (90m, 7d), or the start of a day (2026-11-22)
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<Time>,
}

/// Parses a status as the database stores it.
fn status(text: &str) -> Result<ShownStatus, String> {
    if text == "suspended" {
        let why = "suspended agents are stored as `running`";
        return Err(format!("{why}: --status running"));
    }
    text.parse().map_err(|error: <ShownStatus as std::str::FromStr>::Err| error.to_string())
}

/// Parses a point in time as people write it.
fn since(text: &str) -> Result<Time, String> {
    if let Ok(day) = text.parse::<Date>() {
        let began = day.to_zoned(TimeZone::system()).map_err(|error| error.to_string())?;
        return Ok(Time::from_micros(began.timestamp().as_microsecond()));
    }
    let ago = time(text).map_err(|why| format!("{why}; or a day, such as 2026-11-22"))?;
    let ago = i64::try_from(ago.as_micros()).map_err(|_| "that is too long ago".to_owned())?;
    Ok(Time::from_micros(Time::now().micros().saturating_sub(ago)))
}

impl Agents {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let backend = backend::connect(globals, &globals.settings()?, Purpose::Read).await?;
        let (agents, more) = self.found(&backend).await?;
        for agent in &agents {
            match globals.json {
                true => out::json(agent)?,
                false => write(agent, backend.is_at_work(Some(agent.root)))?,
            }
        }
        let stands_still = |agent: &Agent| {
            let is_over = agent.status.is_terminal() || agent.status == ShownStatus::Idle;
            !is_over && !backend.is_at_work(Some(agent.root))
        };
        if agents.iter().any(stands_still) && !globals.json && !globals.quiet {
            let again = globals.again();
            out::note(format!(
                "no process works on the unfinished agents; continue one with: entourage run --resume \
                 AGENT{again}, or all with: entourage serve{again}"
            ));
        }
        if more && !globals.json && !globals.quiet {
            out::note(format!("there are more; show them with: --limit {}", self.limit.saturating_mul(10)));
        }
        if agents.is_empty() && !globals.json && !globals.quiet {
            let filtered =
                self.status.is_some() || self.kind.is_some() || self.search.is_some() || self.since.is_some();
            out::note(match filtered {
                true => "no agent matches",
                false => "no agents yet; `entourage run \"…\"` starts one",
            });
        }
        Ok(Exit::Done)
    }

    /// Returns the newest agents that were asked for, and whether there are more.
    async fn found(&self, backend: &backend::Backend) -> Result<(Vec<Agent>, bool)> {
        let most = self.limit as usize;
        let (status, kind, text) = (self.status, self.kind.clone(), self.search.clone());
        let limit = Some(self.limit);
        let mut page = ListAgents { roots: true, status, kind, text, limit, ..ListAgents::default() };
        let mut found = Vec::new();
        loop {
            let Page { data: agents, next_cursor } = backend.agents(&page).await?;
            let old = |agent: &Agent| self.since.is_some_and(|since| agent.created < since);
            // The newest come first.
            let is_over = agents.last().is_some_and(old);
            found.extend(agents.into_iter().filter(|agent| !old(agent)));
            let more = found.len() > most || (next_cursor.is_some() && !is_over);
            if !more || found.len() >= most {
                found.truncate(most);
                return Ok((found, more));
            }
            page.cursor = next_cursor;
        }
    }
}

fn write(agent: &Agent, is_at_work: bool) -> Result<()> {
    let paint = out::stdout();
    let (sign, status) = describe::standing(agent, is_at_work, paint);
    let (id, kind) = (paint.dim(describe::called(agent)), paint.bold(&agent.kind));
    out::result(text![sign, " ", id, " ", kind, " ", status, " ", describe::cut(&agent.title, 60)])
}
