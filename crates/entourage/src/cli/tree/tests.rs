//! Tests of what a tree shows of those that wait for a budget.

#![allow(clippy::unwrap_used, reason = "a test ends by panicking")]

use std::collections::HashSet;

use entourage_api::{Agent, Allowance, Amount, Budget, BudgetOf, Cause, List, Why, WhyLink};
use entourage_types::{AgentId, Owner, ShownStatus, Time, WaitingOn};
use serde::Serialize;
use serde_json::json;

use super::{LOOKED_AT, over_budget};
use crate::cli::backend::tests::serving;

/// What a server answers: the type, and the body.
type Answer = (&'static str, String);

fn answer(body: &impl Serialize) -> Answer {
    ("application/json", serde_json::to_string(body).unwrap())
}

fn problem(name: &str) -> Answer {
    let kind = format!("urn:entourage:problem:{name}");
    let body = json!({ "type": kind, "title": "No", "status": 409, "detail": "No" });
    ("application/problem+json", body.to_string())
}

const NOTHING: Allowance = Allowance { cost: None, tokens: Some(0) };

fn of() -> BudgetOf {
    BudgetOf::Tree { root: AgentId::new() }
}

fn budgets() -> Answer {
    let none = Amount { cost: entourage_types::Cost::default(), tokens: 0 };
    let budget = Budget {
        of: of(),
        allowance: NOTHING,
        granted: none,
        spent: none,
        presumed: none,
        reserved: none,
        left: NOTHING,
    };
    answer(&List { data: vec![budget] })
}

fn why(cause: Cause) -> Answer {
    let since = Time::now();
    let (agent, kind, title) = (AgentId::new(), "a".to_owned(), String::new());
    let link = WhyLink { agent, kind, title, since, cause: cause.clone() };
    answer(&Why { cause, since, text: String::new(), chain: vec![link], unread: Vec::new() })
}

fn waits_for_budget() -> Answer {
    why(Cause::Budget { of: of(), needs: NOTHING, left: NOTHING, may_have_room: false, due: Time::now() })
}

fn waits_for_model() -> Answer {
    why(Cause::Retry { attempt: 1, error: "503".into(), due: Time::now() })
}

/// Agents that wait to ask their model.
fn waiting(count: usize) -> Vec<Agent> {
    let agent = || {
        let mut agent = Agent::from(entourage_types::Agent::root(Owner::local(), "a", "", Time::now()));
        (agent.status, agent.waiting_on) = (ShownStatus::Waiting, Some(WaitingOn::Retry));
        agent
    };
    std::iter::repeat_with(agent).take(count).collect()
}

#[tokio::test]
async fn an_agent_that_was_forgotten_meanwhile_waits_for_nothing() {
    let agents = waiting(3);
    let answers = vec![budgets(), problem("not-found"), waits_for_budget(), waits_for_model()];
    let (backend, _) = serving(answers).await;
    let found = over_budget(&backend, AgentId::new(), &agents).await.unwrap();
    assert_eq!(found, HashSet::from([agents[1].id]));
    let (backend, _) = serving(vec![problem("not-found")]).await;
    assert_eq!(over_budget(&backend, AgentId::new(), &agents).await.unwrap(), HashSet::new());
}

#[tokio::test]
async fn an_error_is_not_taken_for_an_agent_without_a_budget() {
    let agents = waiting(2);
    for answers in [vec![problem("broken")], vec![budgets(), waits_for_budget(), problem("broken")]] {
        let (backend, _) = serving(answers).await;
        assert!(over_budget(&backend, AgentId::new(), &agents).await.is_err());
    }
}

/// The server answers no request beyond these.
#[tokio::test]
async fn no_more_than_the_first_agents_that_wait_are_asked() {
    let (agents, root) = (waiting(LOOKED_AT + 1), AgentId::new());
    let answers = [vec![budgets()], vec![waits_for_budget(); LOOKED_AT]].concat();
    let (backend, asked) = serving(answers).await;
    let found = over_budget(&backend, root, &agents).await.unwrap();
    assert_eq!(found, agents[..LOOKED_AT].iter().map(|agent| agent.id).collect());
    let asked = asked.await.unwrap();
    assert!(asked[0].starts_with(&format!("GET /v1/agents/{root}/budget ")), "{}", asked[0]);
}
