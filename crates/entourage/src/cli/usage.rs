//! `entourage usage`: shows what agents used, and what that cost.

use clap::Args;
use entourage_api::{ReportUsage, Tally, UsageReport, UsageRow};
use entourage_types::{AgentId, Cost, Day, Owner, RunId, UsageBy};

use super::{
    backend::{self, Purpose, Result},
    budget, describe,
    failure::Exit,
    globals::Globals,
    id_input::IdInput,
    out,
};

const AFTER_HELP: &str = "\
Examples:
  entourage usage                           by day and model
  entourage usage --by model --from 2026-11-01 --to 2026-11-30
  entourage usage --by hour --from 2026-11-22
  entourage usage --by agent --tree agt_0199…
  entourage usage --by day --json           for programs; `cost` in billionths of a US dollar

Below the sums stands what a budget leaves for today, and for the tree that is asked for. \
Days and hours are in UTC; of what was used before hours were kept, the day alone is known. Discarded \
answers count too: they were paid for. If the price of a model is not known, a note gives the number of its \
calls; set `models.prices` to count their cost.";

/// Show what agents used: tokens and cost, by day, hour, model, kind, tree, agent or run
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Usage {
    /// What to add up by: day, hour, model, kind, tree, agent, run, owner
    #[arg(long, value_name = "WHAT,…", value_delimiter = ',', default_value = "day,model")]
    by: Vec<UsageBy>,
    /// From this day on, such as 2026-11-22
    #[arg(long, value_name = "DAY")]
    from: Option<Day>,
    /// Up to and including this day
    #[arg(long, value_name = "DAY")]
    to: Option<Day>,
    /// Only the tree with this agent as its root
    #[arg(long, value_name = "AGENT")]
    tree: Option<IdInput<AgentId>>,
    /// Only this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<IdInput<AgentId>>,
    /// Only this agent and all agents below it
    #[arg(long, value_name = "AGENT")]
    under: Option<IdInput<AgentId>>,
    /// Only agents of this kind
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Only this model, as provider::name
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Only this run
    #[arg(long, value_name = "RUN")]
    run: Option<IdInput<RunId>>,
}

impl Usage {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let Self { by, from, to, tree, agent, under, kind, model, run } = self;
        let backend = backend::connect(globals, &globals.settings()?, Purpose::Read).await?;
        let tree = match tree {
            Some(tree) => Some(tree.find(&backend).await?),
            None => None,
        };
        let agent = match agent {
            Some(agent) => Some(agent.find(&backend).await?),
            None => None,
        };
        let under = match under {
            Some(agent) => Some(agent.find(&backend).await?),
            None => None,
        };
        let run = match run {
            Some(run) => Some(run.find(&backend).await?),
            None => None,
        };
        let query = ReportUsage { group_by: by, from, to, tree, agent, under, run, kind, model };
        let report = backend.usage(&query).await?;
        if globals.json {
            out::json(&report)?;
            return Ok(Exit::Done);
        }
        let UsageReport { data, total, budgets } = report;
        for line in table(&query.group_by, &data, total).into_iter().chain(budgets.iter().map(budget::line)) {
            out::result(line)?;
        }
        if total.unpriced > 0 && !globals.quiet {
            out::note(format!(
                "the price of {} calls is not known; set `models.prices` in the settings to count the next ones",
                total.unpriced
            ));
        }
        Ok(Exit::Done)
    }
}

/// How much of a name a column shows, in characters: providers may choose names of any length.
const NAME: usize = 100;

/// Formats columns of equal width: names to the left, figures to the right.
fn table(by: &[UsageBy], rows: &[UsageRow], total: Tally) -> Vec<String> {
    let figures = ["calls", "in", "cached", "out", "reasoning", "cost"];
    let mut lines = vec![[names(by), figures.map(String::from).to_vec()].concat()];
    lines.extend(rows.iter().map(|row| {
        let shown =
            |by: &UsageBy| name(*by, row).map_or_else(|| "-".into(), |name| describe::cut(&name, NAME));
        let names = by.iter().map(shown).collect();
        [names, numbers(row.tally)].concat()
    }));
    let mut last = vec![String::new(); by.len()];
    last.iter_mut().take(1).for_each(|first| *first = "total".into());
    lines.push([last, numbers(total)].concat());
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..by.len() + figures.len()).map(width).collect();
    let padded = |(column, cell): (usize, &String)| {
        let width = widths[column];
        if column < by.len() { format!("{cell:width$}") } else { format!("{cell:>width$}") }
    };
    lines.iter().map(|line| line.iter().enumerate().map(padded).collect::<Vec<_>>().join("  ")).collect()
}

fn names(by: &[UsageBy]) -> Vec<String> {
    by.iter().map(ToString::to_string).collect()
}

fn name(by: UsageBy, row: &UsageRow) -> Option<String> {
    match by {
        UsageBy::Day => row.day.as_ref().map(ToString::to_string),
        UsageBy::Hour => row.hour.as_ref().map(ToString::to_string),
        UsageBy::Model => row.model.clone(),
        UsageBy::Owner => row.owner.as_ref().map(Owner::to_string),
        UsageBy::Kind => row.kind.clone(),
        UsageBy::Tree => row.tree.as_ref().map(ToString::to_string),
        UsageBy::Agent => row.agent.as_ref().map(ToString::to_string),
        UsageBy::Run => row.run.as_ref().map(ToString::to_string),
    }
}

fn numbers(tally: Tally) -> Vec<String> {
    let Tally { calls, unpriced, usage, cost } = tally;
    let cost = match (cost, unpriced) {
        (cost, 0) => cost.to_string(),
        (cost, unpriced) if cost == Cost::default() && unpriced == calls => "unknown".into(),
        (cost, _) => format!("{cost}+"),
    };
    let mut numbers =
        [calls, usage.input, usage.cached, usage.output, usage.reasoning].map(describe::thousands).to_vec();
    numbers.push(cost);
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usage_table_cuts_a_very_long_model_name() {
        let row = UsageRow { model: Some("m".repeat(70_000)), ..UsageRow::default() };
        let lines = table(&[UsageBy::Model], &[row], Tally::default());
        assert!(lines.iter().all(|line| line.chars().count() < 200), "{lines:?}");
        assert!(lines[1].starts_with("mmm"), "{lines:?}");
    }
}
