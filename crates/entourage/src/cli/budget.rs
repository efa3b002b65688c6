//! `entourage budget`: shows what an agent may still spend, and grants more.

use clap::Args;
use entourage_api::{Allowance, Amount, Budget as State, BudgetOf, GrantBudget};
use entourage_types::{self as types, AgentId, Cost, Dollars};

use super::{
    backend::{self, Purpose, Result},
    failure::Exit,
    globals::Globals,
    id_input::IdInput,
    out,
};

const AFTER_HELP: &str = "\
Examples:
  entourage budget agt_0199…                  what its tree may still spend
  entourage budget agt_0199… --grant 0.50     half a dollar more; what waits for it goes on
  entourage budget agt_0199… --grant-tokens 100000

A tree has a budget if the kind of the agent at its top sets `limits.max_tree_cost` or `limits.max_tree_tokens`;
`budget.per_owner_per_day` in the settings limits what an owner spends in a day.";

/// Show what an agent may still spend, or grant its tree more
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Budget {
    /// The agent's id; `entourage tree` shows it [default: the newest one]
    agent: Option<IdInput<AgentId>>,
    /// Grant its tree this much more money, such as 0.50
    #[arg(long, value_name = "DOLLARS")]
    grant: Option<Cost>,
    /// Grant its tree so many more tokens
    #[arg(long, value_name = "TOKENS")]
    grant_tokens: Option<u64>,
}

impl Budget {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let Self { agent, grant: cost, grant_tokens: tokens } = self;
        let grants = cost.is_some() || tokens.is_some();
        let purpose = if grants { Purpose::Look } else { Purpose::Read };
        let backend = backend::connect(globals, &globals.settings()?, purpose).await?;
        let agent = agent.unwrap_or(IdInput::Last).find(&backend).await?;
        let budgets = match grants {
            true => backend.grant_budget(agent, GrantBudget { cost: cost.map(Dollars), tokens }).await?,
            false => backend.budgets(agent).await?,
        };
        for budget in &budgets {
            match globals.json {
                true => out::json(budget)?,
                false => out::result(line(budget))?,
            }
        }
        if !globals.json && !globals.quiet {
            if budgets.is_empty() {
                out::note(
                    "no budget limits this agent; set `limits.max_tree_cost` or `limits.max_tree_tokens` in the kind of the \
                     agent at the top of its tree",
                );
            } else if grants && !backend.is_at_work(None) {
                out::note(format!(
                    "granted; the agents go on with: entourage run --resume {agent}{}",
                    globals.again()
                ));
            }
        }
        Ok(Exit::Done)
    }
}

/// A budget in one line.
pub(super) fn line(budget: &State) -> String {
    let of = match &budget.of {
        BudgetOf::Tree { .. } => "budget of the tree".to_owned(),
        BudgetOf::Day { day } => format!("budget of {day}"),
    };
    let limits = budget.allowance;
    let amount = |amount: Amount| shown(limits, amount);
    let granted = budget.granted;
    let all = Allowance {
        cost: limits.cost.map(|cost| Cost::from_nanos(cost.nanos().saturating_add(granted.cost.nanos()))),
        tokens: limits.tokens.map(|tokens| tokens.saturating_add(granted.tokens)),
    };
    let mut line = format!("{of}: {} of {} left", allowance(budget.left), allowance(all));
    for (what, part) in
        [("spent", budget.spent), ("presumed", budget.presumed), ("reserved", budget.reserved)]
    {
        if part.cost != Cost::default() || part.tokens > 0 {
            line += &format!(" · {what} {}", amount(part));
        }
    }
    if granted.cost != Cost::default() || granted.tokens > 0 {
        line += &format!(" · {} of that granted", amount(granted));
    }
    line
}

fn allowance(Allowance { cost, tokens }: Allowance) -> String {
    types::Allowance { cost, tokens }.to_string()
}

/// An amount, in what the budget limits.
fn shown(limits: Allowance, amount: Amount) -> String {
    let cost = limits.cost.map(|_| amount.cost);
    let tokens = limits.tokens.map(|_| amount.tokens);
    types::Allowance { cost, tokens }.to_string()
}
