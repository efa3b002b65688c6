//! Every listing goes by the index of its narrowest condition, whoever asks: none reads rows of
//! other trees, agents or owners to find its own.

use entourage_store::{AgentQuery, EntityQuery, RunQuery, UsageQuery};
use entourage_types::{AgentId, EntityKind, Owner, RunId, Scope, Status};
use rusqlite::Connection;

use crate::{agents, entities, open, runs, select::Select, usage};

/// Asserts that each query goes by its index, on behalf of an owner and of the house.
fn assert_plans<Q>(cases: Vec<(Q, &str)>, select: impl Fn(&Scope, &Q) -> Select) {
    let directory = tempfile::tempdir().unwrap();
    let connection: Connection = open::writer(&directory.path().join("house.db"), None, true).unwrap();
    for (query, index) in cases {
        for scope in [Scope::House, Scope::Owner(Owner::local())] {
            let plan = select(&scope, &query).plan(&connection);
            // Of what an owner has, the house lists all there is.
            if scope != Scope::House || !index.ends_with("_of_owner") {
                assert!(plan.contains(&format!("INDEX {index}")), "{scope:?}: {plan}, instead of {index}");
            }
        }
    }
}

#[test]
fn agents_are_listed_by_their_indexes() {
    let (all, agent) = (AgentQuery::default(), Some(AgentId::new()));
    let key = Some("key".to_owned());
    assert_plans(
        vec![
            (all.clone(), "agents_of_owner"),
            (AgentQuery { status: Some(Status::Running), ..all.clone() }, "agents_of_owner"),
            (AgentQuery { roots: true, ..all.clone() }, "roots_of_owner"),
            (AgentQuery { root: agent, ..all.clone() }, "agents_of_root"),
            (AgentQuery { root: agent, status: Some(Status::Running), ..all.clone() }, "agents_of_root"),
            (AgentQuery { root: agent, key, ..all.clone() }, "agents_by_key"),
            (AgentQuery { root: agent, parent: agent, ..all }, "agents_of_parent"),
        ],
        agents::select,
    );
}

#[test]
fn runs_are_listed_and_counted_by_their_indexes() {
    let (all, agent) = (RunQuery::default(), Some(AgentId::new()));
    let cases = vec![
        (all.clone(), "runs_of_owner"),
        (RunQuery { open: true, ..all.clone() }, "runs_of_owner"),
        (RunQuery { agent, ..all.clone() }, "runs_of_agent"),
        (RunQuery { root: agent, ..all.clone() }, "runs_of_agent"),
        (RunQuery { id: Some(RunId::new()), agent, ..all }, "sqlite_autoindex_runs_1"),
    ];
    assert_plans(cases.clone(), runs::select);
    assert_plans(cases, runs::count_select);
}

#[test]
fn usage_is_read_by_the_indexes_of_runs() {
    let (all, agent) = (UsageQuery::default(), Some(AgentId::new()));
    assert_plans(
        vec![
            (all.clone(), "runs_of_owner"),
            (UsageQuery { agent, ..all.clone() }, "runs_of_agent"),
            (UsageQuery { root: agent, ..all.clone() }, "runs_of_agent"),
            (UsageQuery { run: Some(RunId::new()), ..all }, "sqlite_autoindex_runs_1"),
        ],
        usage::of_runs,
    );
}

#[test]
fn entities_are_listed_by_their_indexes() {
    let (all, agent) = (EntityQuery::of(EntityKind::Task), Some(AgentId::new()));
    let status = Some("open".to_owned());
    assert_plans(
        vec![
            (EntityQuery { root: agent, ..all.clone() }, "entities_of_root"),
            (EntityQuery { root: agent, status: status.clone(), ..all.clone() }, "entities_of_root"),
            (EntityQuery { parent: agent, ..all.clone() }, "entities_of_parent"),
            (EntityQuery { root: agent, parent: agent, status, ..all }, "entities_of_parent"),
        ],
        entities::select,
    );
}
