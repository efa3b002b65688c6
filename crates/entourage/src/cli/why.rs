//! `entourage why`: says why an agent does not go on, and what ends that.

use clap::Args;
use entourage_api::{Allowance, BudgetOf, Cause, Why as Reason};
use entourage_types::{AgentId, Amount, Cost, Dollars, Time};

use super::{
    answer,
    backend::{self, Backend, Purpose, Result},
    describe,
    failure::Exit,
    globals::Globals,
    id_input::IdInput,
    out,
    text::text,
};

const AFTER_HELP: &str = "\
Examples:
  entourage why                   why the newest agent does not go on
  entourage why agt_0199…         the chain from this agent to the last cause
  entourage why \"See Rome\"        the same for the agent of a goal, and those of its tasks
  entourage why agt_0199… --json  the same for programs";

/// For how many more calls a grant is proposed.
const CALLS: u64 = 10;

/// Say why an agent does not go on
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Why {
    /// The agent's id; `entourage tree` shows it [default: the newest one]
    agent: Option<IdInput<AgentId>>,
}

impl Why {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let backend = backend::connect(globals, &globals.settings()?, Purpose::Read).await?;
        let agent = self.agent.unwrap_or(IdInput::Last).find(&backend).await?;
        let why = backend.why(agent).await?;
        if globals.json {
            out::json(&why)?;
            return Ok(Exit::Done);
        }
        show(&why)?;
        if globals.quiet {
            return Ok(Exit::Done);
        }
        let over = overspent(&backend, &why).await?;
        if let Some(end) = what_ends(&why, over, &globals.again()) {
            out::note(end);
        }
        if !why.unread.is_empty() {
            let root = backend.agent(agent).await?.root;
            out::note(reads(&why, agent, backend.is_at_work(Some(root)), &globals.again()));
        }
        Ok(Exit::Done)
    }
}

/// When an agent reads what it has yet to read.
fn reads(why: &Reason, agent: AgentId, is_at_work: bool, again: &str) -> String {
    let unread = format!("not read yet: {}", why.unread.join(", "));
    if !is_at_work {
        let start =
            format!("entourage run --resume {agent}{again}, or for all agents: entourage serve{again}");
        return format!("{unread}. No process works on it; start one with: {start}");
    }
    match &why.cause {
        Cause::Timer { .. } | Cause::Question { .. } if why.chain.len() == 1 => {
            let sooner = format!("entourage modify {agent}{again} \"…\"");
            format!("{unread}. It reads that once this has ended; to drop what it waits for: {sooner}")
        }
        _ => unread,
    }
}

fn show(why: &Reason) -> Result<()> {
    let (paint, now) = (out::stdout(), Time::now());
    for (depth, link) in why.chain.iter().enumerate() {
        let branch = if depth == 0 { String::new() } else { format!("{}└─ ", "   ".repeat(depth - 1)) };
        let tail = paint.dim(format!("{} · {}", link.agent, describe::cut(&link.title, 60)));
        let since = describe::duration(now.since(link.since));
        out::result(text![
            paint.dim(branch),
            paint.bold(&link.kind),
            " ",
            on(&link.cause),
            " for ",
            since,
            " ",
            tail
        ])?;
    }
    out::result(describe::cut(&why.text, describe::LONGEST_TEXT))
}

/// A cause in few words.
fn on(cause: &Cause) -> &'static str {
    match cause {
        Cause::Question { .. } => "waits for an answer",
        Cause::Retry { .. } => "waits to ask its model again",
        Cause::CodeRetry { .. } => "waits to run its code again",
        Cause::Gate { .. } => "waits for its model's gate",
        Cause::Budget { .. } | Cause::Room { .. } => describe::WAITS_FOR_BUDGET,
        Cause::Timer { .. } => "sleeps",
        Cause::Task { .. } => "waits for another agent",
        Cause::Pause { .. } => "paused",
        Cause::Place { .. } => "waits for a place",
        Cause::Elsewhere => "about to go on",
        Cause::Process => "suspended",
        Cause::Crash { .. } => "ended its process",
        Cause::Work => "at work",
        Cause::Rest { .. } => "at rest",
        Cause::Deleted => "deleted",
        Cause::Nothing => "waits for nothing known",
    }
}

/// What the tree's budget that is waited for has lost beyond what it allows: a provider may count more than a call
/// was expected to use.
async fn overspent(backend: &Backend, why: &Reason) -> Result<Amount> {
    let waits = why.chain.last().filter(|link| matches!(link.cause, Cause::Budget { .. }));
    let Some(link) = waits else { return Ok(Amount::default()) };
    let budgets = backend.budgets(link.agent).await?;
    let tree = budgets.into_iter().find(|budget| matches!(budget.of, BudgetOf::Tree { .. }));
    Ok(tree.map_or_else(Amount::default, |budget| {
        let used = [budget.spent, budget.presumed, budget.reserved];
        let over = |limit: Option<u64>, granted: u64, used: [u64; 3]| {
            let used: u64 = used.into_iter().fold(0, u64::saturating_add);
            limit.map_or(0, |limit| used.saturating_sub(limit.saturating_add(granted)))
        };
        let limit = budget.allowance.cost.map(Cost::nanos);
        let cost = over(limit, budget.granted.cost.nanos(), used.map(|amount| amount.cost.nanos()));
        let tokens = over(budget.allowance.tokens, budget.granted.tokens, used.map(|amount| amount.tokens));
        Amount { cost: Cost::from_nanos(cost), tokens }
    }))
}

/// The options that grant what ten such calls need beyond what is left, and what was spent beyond the budget.
fn lacking(needs: Allowance, left: Allowance, over: Amount) -> String {
    let money = |amount: Option<Cost>| amount.unwrap_or_default().nanos();
    let lacking = |needs: u64, left: u64, over: u64| {
        if needs > left { needs.saturating_mul(CALLS).saturating_sub(left).saturating_add(over) } else { 0 }
    };
    let cost = lacking(money(needs.cost), money(left.cost), over.cost.nanos());
    let tokens = lacking(needs.tokens.unwrap_or_default(), left.tokens.unwrap_or_default(), over.tokens);
    let mut options = String::new();
    if cost > 0 {
        // Without the sign, which a shell would take for a variable.
        let exact = Dollars(Cost::from_nanos(cost)).to_string();
        let exact = exact.trim_start_matches('$').trim_end_matches('0').trim_end_matches('.');
        options += &format!(" --grant {exact}");
    }
    if tokens > 0 {
        options += &format!(" --grant-tokens {tokens}");
    }
    options
}

/// What ends the last cause, if something does: a command with the options that lead to the same data.
fn what_ends(why: &Reason, over: Amount, again: &str) -> Option<String> {
    let last = why.chain.last()?;
    let agent = last.agent;
    Some(match &last.cause {
        Cause::Question { question, about, .. } => {
            format!("answer with: {}", answer::command(*question, *about, again))
        }
        Cause::Retry { .. } | Cause::CodeRetry { .. } => {
            format!("try now with: entourage retry {agent}{again}")
        }
        Cause::Room { .. } => format!("go on now with: entourage retry {agent}{again}"),
        Cause::Rest { archived: true, .. } => {
            format!("take it up again with: entourage goals unarchive {agent}{again}")
        }
        Cause::Rest { failed: Some(_), .. } => format!("try again with: entourage retry {agent}{again}"),
        Cause::Rest { below: 1.., .. } => format!("see them with: entourage tree {agent}{again}"),
        Cause::Deleted => format!("start a new one with: entourage run{again}"),
        Cause::Budget { may_have_room: true, .. } => {
            "it goes on once the calls under way leave enough".to_owned()
        }
        Cause::Budget { of: BudgetOf::Tree { .. }, needs, left, .. } => {
            let grants = lacking(*needs, *left, over);
            format!("grant enough for ten such calls with: entourage budget {agent}{grants}{again}")
        }
        Cause::Budget { of: BudgetOf::Day { .. }, .. } => {
            "it goes on after midnight UTC, or once the settings allow more: `budget.per_owner_per_day`, or \
             `budget.owners.NAME.per_day` for one owner"
                .to_owned()
        }
        Cause::Pause { .. } => format!("go on with: entourage resume {agent}{again}"),
        Cause::Elsewhere => format!("if it does not, see: entourage doctor{again}"),
        Cause::Process => format!("go on with: entourage run --resume {agent}{again}"),
        Cause::Crash { .. } => format!("end its run with: entourage stop {agent}{again}"),
        Cause::Nothing => format!("repair it with: entourage jobs run{again}"),
        Cause::Gate { .. }
        | Cause::Timer { .. }
        | Cause::Task { .. }
        | Cause::Place { .. }
        | Cause::Work
        | Cause::Rest { .. } => {
            return None;
        }
    })
}

#[cfg(test)]
mod tests {
    use entourage_api::WhyLink;
    use entourage_types::{About, QuestionId};

    use super::*;

    /// A call is not approved with a text, which the agent would read instead of its result.
    #[test]
    fn what_ends_a_wait_for_approval_is_a_verdict_and_acts_on_the_same_data() {
        let asks = |about| {
            let (question, agent, since) = (QuestionId::new(), AgentId::new(), Time::now());
            let cause = Cause::Question { question, about, asks: "Pay?".into(), due: None };
            let link =
                WhyLink { agent, kind: "task".into(), title: String::new(), since, cause: cause.clone() };
            let why = Reason { cause, since, text: String::new(), chain: vec![link], unread: Vec::new() };
            let end = what_ends(&why, Amount::default(), " --data here").unwrap_or_default();
            end.replace(&question.to_string(), "ID")
        };
        assert_eq!(
            asks(About::Approval),
            "answer with: entourage answer ID --data here --approve, or --reject \"why\""
        );
        assert_eq!(asks(About::Doubt), "answer with: entourage answer ID --data here --retry, or --give-up");
        assert_eq!(asks(About::Information), "answer with: entourage answer ID --data here \"…\"");
    }

    /// Otherwise the call would wait again, and the same grant would be proposed again.
    #[test]
    fn a_proposed_grant_covers_ten_calls_and_what_was_overspent() {
        let money = |nanos| Allowance { cost: Some(Cost::from_nanos(nanos)), tokens: None };
        let over = |nanos| Amount { cost: Cost::from_nanos(nanos), tokens: 0 };
        let needs = money(41_940_000);
        assert_eq!(lacking(needs, money(0), over(0)), " --grant 0.4194");
        assert_eq!(lacking(needs, money(0), over(490_000_000)), " --grant 0.9094");
        assert_eq!(lacking(needs, money(1_940_000), over(0)), " --grant 0.41746");
        assert_eq!(lacking(needs, money(41_940_000), over(0)), "");
        assert_eq!(lacking(money(2_000_000_000), money(0), over(0)), " --grant 20");
    }
}
