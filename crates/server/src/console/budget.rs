//! More budget for a tree whose agents wait for that.

use axum::{Json, http::HeaderMap};
use entourage_api::{BudgetOf, Cause, GrantBudget};
use entourage_types::{AgentId, Cost, Dollars};
use serde::Deserialize;

use super::{
    act::done,
    given::some,
    reason::Reason,
    shell::{Fields, Shown},
};
use crate::{
    Problem,
    extract::{Body, Caller, Id, IdempotencyKey},
    routes::v1::budgets,
};

/// What can be done about a budget that has no room.
pub(super) struct Lacking {
    /// The form that grants more; none for the budget of a day, which is a setting.
    pub(super) form: Option<GrantForm>,
}

/// The form that grants a tree more.
pub(super) struct GrantForm {
    pub(super) agent: AgentId,
    /// The page on which it stands.
    pub(super) from: Beside,
    pub(super) key: String,
    /// Whether money is limited.
    pub(super) in_cost: bool,
    /// Whether tokens are limited.
    pub(super) in_tokens: bool,
}

/// The page on which the form stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Beside {
    Agents,
    Chats,
    Trees,
}

impl Beside {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Agents => "agents",
            Self::Chats => "chats",
            Self::Trees => "trees",
        }
    }
}

impl Lacking {
    /// What can be done where a budget is the last cause.
    pub(super) async fn of(
        caller: &Caller,
        reason: Option<&Reason>,
        agent: AgentId,
        from: Beside,
    ) -> Result<Option<Self>, Problem> {
        let Some(Cause::Budget { of, due, .. }) = reason.map(Reason::last) else { return Ok(None) };
        let BudgetOf::Tree { .. } = of else { return Ok(Some(Self { form: None })) };
        let Json(all) = budgets::list(caller.clone(), Id(agent)).await?;
        let of_tree = all.data.into_iter().find(|budget| budget.of == *of);
        Ok(of_tree.map(|budget| {
            // The same form sent twice grants once. What is granted, or the next look at the budget, makes it another.
            let (cost, tokens) = (budget.granted.cost.nanos(), budget.granted.tokens);
            let key = format!("grant/{agent}/{cost}/{tokens}/{}", due.micros());
            let (in_cost, in_tokens) = (budget.allowance.cost.is_some(), budget.allowance.tokens.is_some());
            Self { form: Some(GrantForm { agent, from, key, in_cost, in_tokens }) }
        }))
    }
}

/// What the form sends.
#[derive(Deserialize)]
pub(super) struct Given {
    #[serde(default)]
    cost: String,
    #[serde(default)]
    tokens: String,
    #[serde(default)]
    key: String,
    from: Beside,
}

/// Grants the tree of an agent more.
pub(super) async fn grant(
    caller: Caller,
    headers: HeaderMap,
    Id(id): Id<AgentId>,
    Fields(Given { cost, tokens, key, from }): Fields<Given>,
) -> Shown {
    let cost = some(cost).map(|cost| cost.parse::<Cost>().map_err(Problem::bad_body)).transpose()?;
    let tokens = some(tokens)
        .map(|tokens| {
            let wrong =
                || Problem::bad_body(format!("`{tokens}` is no number of tokens; write it in digits"));
            tokens.trim().parse::<u64>().map_err(|_| wrong())
        })
        .transpose()?;
    let granted = GrantBudget { cost: cost.map(Dollars), tokens, take_back: false };
    let _ = budgets::grant(caller, Id(id), IdempotencyKey::of_form(key)?, Body(granted)).await?;
    Ok(done(
        &headers,
        &format!("/console/{}/{id}", from.as_str()),
        "Granted. Agents that now have enough go on.",
    ))
}
