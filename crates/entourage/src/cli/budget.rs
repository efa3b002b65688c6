//! `entourage budget`: shows what an agent may still spend, grants more, and takes that back.

use std::{fmt::Display, str::FromStr};

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
  entourage budget agt_0199… --take-back 0.20 less of that again

A tree has a budget if the kind of the agent at its top sets `limits.max_tree_cost` or `limits.max_tree_tokens`; \
`budget.per_owner_per_day` in the settings limits what an owner spends in a day. At most $1000000 and 1000000000000 \
tokens are granted at once. What was granted can be taken back as far as it is neither spent nor reserved by a call \
under way. `entourage tail` shows who granted how much and when, and who took it back.";

/// Show what an agent may still spend, grant its tree more, or take that back
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Budget {
    /// The agent's id; `entourage tree` shows it [default: the newest one]
    agent: Option<IdInput<AgentId>>,
    /// Grant its tree this much more money, such as 0.50
    #[arg(long, value_name = "DOLLARS", value_parser = above_zero::<Cost>, allow_negative_numbers = true)]
    grant: Option<Cost>,
    /// Grant its tree so many more tokens
    #[arg(long, value_name = "TOKENS", value_parser = above_zero::<u64>, allow_negative_numbers = true)]
    grant_tokens: Option<u64>,
    /// Take so much money back of what its tree was granted
    #[arg(long, value_name = "DOLLARS", value_parser = above_zero::<Cost>, allow_negative_numbers = true)]
    #[arg(conflicts_with_all = ["grant", "grant_tokens"])]
    take_back: Option<Cost>,
    /// Take so many tokens back of what its tree was granted
    #[arg(long, value_name = "TOKENS", value_parser = above_zero::<u64>, allow_negative_numbers = true)]
    #[arg(conflicts_with_all = ["grant", "grant_tokens"])]
    take_back_tokens: Option<u64>,
}

/// Parses an amount that changes something.
fn above_zero<T: FromStr<Err: Display> + Default + PartialEq>(text: &str) -> Result<T, String> {
    let (is_negative, amount) = text.strip_prefix('-').map_or((false, text), |amount| (true, amount));
    let amount: T = amount.parse().map_err(|error: T::Err| error.to_string())?;
    if is_negative || amount == T::default() { Err("it must be above zero".to_owned()) } else { Ok(amount) }
}

impl Budget {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let Self { agent, grant, grant_tokens, take_back, take_back_tokens } = self;
        let (grants, takes) =
            (grant.is_some() || grant_tokens.is_some(), take_back.is_some() || take_back_tokens.is_some());
        let purpose = if grants || takes { Purpose::Look } else { Purpose::Read };
        let backend = backend::connect(globals, &globals.settings()?, purpose).await?;
        let agent = agent.unwrap_or(IdInput::Last).find(&backend).await?;
        let budgets = if grants || takes {
            let cost = grant.or(take_back).map(Dollars);
            let tokens = grant_tokens.or(take_back_tokens);
            backend.grant_budget(agent, GrantBudget { cost, tokens, take_back: takes }).await?
        } else {
            backend.budgets(agent).await?
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

/// What was granted or taken back, in what that has.
pub(super) fn granted(Amount { cost, tokens }: Amount) -> String {
    let cost = (cost != Cost::default()).then_some(cost);
    types::Allowance { cost, tokens: (tokens > 0).then_some(tokens) }.to_string()
}

/// An amount, in what the budget limits.
fn shown(limits: Allowance, amount: Amount) -> String {
    let cost = limits.cost.map(|_| amount.cost);
    let tokens = limits.tokens.map(|_| amount.tokens);
    types::Allowance { cost, tokens }.to_string()
}
