//! Every list uses the index of its narrowest condition, under every scope: none reads rows of other trees,
//! agents or owners to find its own. The exception is what has not ended: it is little,
//! and one index of all owners' open agents, runs (also for their usage) and records finds it.

mod first_pages;
mod pages_in_place;
mod rows;
mod searched_pages;

use entourage_store::{AgentQuery, EntityQuery, Page, RunQuery, UsageQuery};
use entourage_types::{
    AgentId, EntityKind, Owner, Parent, Question, QuestionStatus, RunId, Scope, ShownStatus, Status,
    StopReason, Task, Time, WaitingOn,
};
use rusqlite::Connection;

use crate::{agents, entities, open, runs, select::Select, usage};
use rows::database_with_ended_rows;

/// Asserts that each query uses its index, under an owner's scope and under `Scope::All`.
fn assert_plans<Q>(cases: Vec<(Q, &str)>, select: impl Fn(&Scope, &Q) -> Select) {
    let directory = tempfile::tempdir().unwrap();
    let connection: Connection = open::writer(&directory.path().join("entourage.db"), None, true).unwrap();
    for (query, index) in cases {
        for scope in [Scope::All, Scope::Owner(Owner::local())] {
            let plan = select(&scope, &query).plan(&connection);
            // A query that uses an owner's index under an owner's scope lists all rows under `Scope::All`.
            if scope != Scope::All || !index.ends_with("_of_owner") {
                assert!(plan.contains(&format!("INDEX {index}")), "{scope:?}: {plan}, instead of {index}");
            }
        }
    }
}

#[test]
fn agent_lists_use_their_indexes() {
    let (all, agent) = (AgentQuery::default(), Some(AgentId::new()));
    let key = Some("key".to_owned());
    assert_plans(
        vec![
            (all.clone(), "agents_of_owner"),
            (AgentQuery { status: Some(ShownStatus::Running), ..all.clone() }, "open_agents"),
            (AgentQuery { roots: true, ..all.clone() }, "roots_of_owner"),
            (AgentQuery { root: agent, ..all.clone() }, "agents_of_root"),
            (AgentQuery { root: agent, status: Some(ShownStatus::Running), ..all.clone() }, "agents_of_root"),
            (AgentQuery { root: agent, key, ..all.clone() }, "agents_by_key"),
            (AgentQuery { root: agent, parent: agent, ..all }, "agents_of_parent"),
        ],
        agents::select,
    );
}

#[test]
fn run_lists_and_counts_use_their_indexes() {
    let (all, agent) = (RunQuery::default(), Some(AgentId::new()));
    let cases = vec![
        (all.clone(), "runs_of_owner"),
        (RunQuery { open: true, ..all.clone() }, "open_runs"),
        (RunQuery { status: Some(ShownStatus::Waiting), ..all.clone() }, "open_runs"),
        (RunQuery { kind: Some("rare".into()), version: Some("v".into()), ..all.clone() }, "runs_of_owner"),
        (RunQuery { agent, ..all.clone() }, "runs_of_agent"),
        (RunQuery { root: agent, ..all.clone() }, "runs_of_agent"),
        (RunQuery { id: Some(RunId::new()), agent, ..all }, "sqlite_autoindex_runs_1"),
    ];
    assert_plans(cases.clone(), runs::select);
    assert_plans(cases, runs::count_select);
    // Without an owner, these read all runs.
    let of_owner = vec![
        (RunQuery { status: Some(ShownStatus::Failed), ..RunQuery::default() }, "failed_runs"),
        (RunQuery { status: Some(ShownStatus::Stopped), ..RunQuery::default() }, "unusual_runs"),
        (RunQuery { stop_reason: Some(StopReason::MaxCost), ..RunQuery::default() }, "unusual_runs"),
        // The runs of a large tree, up to where the page ends.
        (RunQuery { root: agent, of_large_tree: true, ..RunQuery::default() }, "runs_of_owner"),
        (
            RunQuery { root: agent, of_large_tree: true, page: up_to("run_1"), ..RunQuery::default() },
            "runs_of_owner",
        ),
    ];
    for (query, index) in of_owner {
        assert_owners_plan(|scope| runs::select(scope, &query), index);
    }
}

#[test]
fn what_people_search_for_uses_an_index_up_to_where_its_page_ends() {
    let agents =
        |query: AgentQuery, index: &str| assert_owners_plan(|scope| agents::select(scope, &query), index);
    let title = Some("trains".to_owned());
    let page = up_to("agt_1");
    agents(
        AgentQuery { title: title.clone(), page: page.clone(), ..AgentQuery::default() },
        "agents_of_owner",
    );
    agents(AgentQuery { title, roots: true, page: page.clone(), ..AgentQuery::default() }, "roots_of_owner");
    let (waits, waiting) = (Some(WaitingOn::Retry), Some(ShownStatus::Waiting));
    let waiting =
        AgentQuery { status: waiting, waiting_on: waits, page: page.clone(), ..AgentQuery::default() };
    agents(waiting, "open_agents");
    let children =
        AgentQuery { parent: Some(AgentId::new()), waiting_on: waits, page, ..AgentQuery::default() };
    agents(children, "agents_of_parent");
    let soonest =
        EntityQuery { soonest_first: true, ..EntityQuery::in_status::<Question>(QuestionStatus::Open) };
    assert_owners_plan(|scope| entities::select(scope, &soonest), "open_questions");
}

/// A page that ends with this row.
fn up_to(row: &str) -> Page {
    Page { until: Some(row.to_owned()), newest_first: true, ..Page::default() }
}

/// Asserts that an owner's query uses this index, and sorts nothing.
fn assert_owners_plan(select: impl Fn(&Scope) -> Select, index: &str) {
    let (_directory, connection) = database_with_ended_rows(0, true);
    let plan = select(&Scope::Owner(Owner::local())).plan(&connection);
    assert!(plan.contains(&format!("INDEX {index}")), "{plan}, instead of {index}");
    assert!(!plan.contains("TEMP B-TREE"), "{plan}");
}

#[test]
fn usage_queries_use_the_owner_and_day_key_or_the_run_indexes() {
    let (all, agent) = (UsageQuery::default(), Some(AgentId::new()));
    let since = UsageQuery { from: Some(Time::from_micros(0).day()), ..all.clone() };
    for (query, found_by) in [(&all, "(owner=?)"), (&since, "(owner=? AND day>?)")] {
        let directory = tempfile::tempdir().unwrap();
        let connection = open::writer(&directory.path().join("entourage.db"), None, true).unwrap();
        let select = usage::of("usage_of_owners", &Scope::Owner(Owner::local()), query);
        let plan = select.plan(&connection);
        assert_eq!(plan, format!("SEARCH usage_of_owners USING PRIMARY KEY {found_by}"));
        let plan = usage::of_open_runs(&Scope::Owner(Owner::local())).plan(&connection);
        assert!(plan.starts_with("SCAN runs USING INDEX open_runs"), "{plan}");
    }
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
fn entity_lists_use_their_indexes() {
    let (all, agent) = (EntityQuery::records::<Task>(), Some(AgentId::new()));
    let queued = EntityQuery::in_status::<Task>(Status::Queued);
    let record = Some(Parent::Record(EntityKind::NOTE, "a note".to_owned()));
    assert_plans(
        vec![
            (EntityQuery { root: agent, ..all.clone() }, "entities_of_root"),
            (EntityQuery { root: agent, ..queued.clone() }, "entities_of_root"),
            (EntityQuery { root: agent, branch: agent, ..all.clone() }, "entities_of_root"),
            (EntityQuery { parent: agent.map(Into::into), ..all.clone() }, "entities_of_parent"),
            (
                EntityQuery { root: agent, parent: agent.map(Into::into), ..queued.clone() },
                "entities_of_parent",
            ),
            (EntityQuery { parent: record.clone(), ..all }, "entities_of_parent"),
            (EntityQuery { parent: record, ..queued }, "entities_of_record"),
        ],
        entities::select,
    );
}

/// The limits of a tree count the living in an index that has no others.
#[test]
fn counts_of_living_agents_read_no_ended_ones() {
    let (_directory, connection) = database_with_ended_rows(100, true);
    connection.execute_batch("UPDATE agents SET living = 0, root = 'agt_1', parent = 'agt_1'").unwrap();
    connection.execute_batch("UPDATE agents SET living = 1 WHERE id = 'agt_2'").unwrap();
    for those in ["root = ?", "parent = 'agt_1' AND root = ?"] {
        let count = format!("SELECT count(*) FROM agents WHERE {those} AND living = 1 AND id <> root");
        let select = || Select::new(&count).bind("agt_1".to_owned());
        let plan = select().plan(&connection);
        assert!(plan.contains("INDEX living_agents"), "{plan}");
        assert!(select().steps(&connection) < 30, "{those}");
    }
}
