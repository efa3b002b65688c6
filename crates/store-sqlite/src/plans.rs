//! Every list uses the index of its narrowest condition, under every scope: none reads rows of other trees,
//! agents or owners to find its own. The exception is what has not ended: it is little,
//! and one index of all owners' open agents, runs (also for their usage) and records finds it.

use std::str::FromStr;

use entourage_store::{AgentQuery, EntityQuery, Page, RunQuery, UsageQuery};
use entourage_types::{
    AgentId, Chat, Delivery, EntityKind, Grant, Intervention, Owner, Parent, Question, QuestionStatus,
    Record, RunId, Scope, ShownStatus, Status, StopReason, Task, Time, WaitingOn,
};
use rusqlite::Connection;

use crate::{
    agents,
    entities::{self, ENDED, OPEN},
    open, runs,
    select::Select,
    usage,
};

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

/// The query for a page of what an owner has.
type Pages = fn(&Scope, Page) -> Select;

/// The cost of a page with a condition that no index serves depends on where it ends, and not on what is behind.
#[test]
fn a_page_reads_no_row_behind_its_end() {
    let [(_few, few), (_many, many)] =
        [database_with_ended_rows(500, true), database_with_ended_rows(20_000, true)];
    let own = Scope::Owner(Owner::local());
    let pages: [(&str, Pages); 3] = [
        ("agt", |scope, page| {
            agents::select(scope, &AgentQuery { title: Some("none".into()), page, ..AgentQuery::default() })
        }),
        ("run", |scope, page| {
            runs::select(scope, &RunQuery { version: Some("none".into()), page, ..RunQuery::default() })
        }),
        ("run", |scope, page| {
            let (root, of_large_tree) = (Some(AgentId::new()), true);
            runs::select(scope, &RunQuery { root, of_large_tree, page, ..RunQuery::default() })
        }),
    ];
    for (prefix, select) in pages {
        let steps = |rows: u32, connection: &Connection| {
            select(&own, up_to(&format!("{prefix}_{}", rows + 60 - 200))).steps(connection)
        };
        let (before, after) = (steps(500, &few), steps(20_000, &many));
        assert!(after <= before + 20 && before > 200, "{before} steps with few, {after} with many: {prefix}");
    }
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

/// Creates a database with `ended` rows of each sort that ended well (or did not), fifty that are open, and
/// ten that ended the other way.
fn database_with_ended_rows(ended: u32, well: bool) -> (tempfile::TempDir, Connection) {
    let directory = tempfile::tempdir().unwrap();
    let connection = open::writer(&directory.path().join("entourage.db"), None, true).unwrap();
    let insert = |table: &str, columns: &str, values: &str| {
        let sql = format!(
            "WITH RECURSIVE row (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM row WHERE i < {ended} + 60) \
             INSERT INTO {table} ({columns}) SELECT {values} FROM row"
        );
        connection.execute_batch(&sql).unwrap();
    };
    // The open rows come first, like rows that have waited for long.
    let status = |open: &str, good: &str, bad: &str| {
        let (few, many) = if well { (bad, good) } else { (good, bad) };
        format!("CASE WHEN i <= 50 THEN '{open}' WHEN i <= 60 THEN '{few}' ELSE '{many}' END")
    };
    let of_work = status("waiting", "succeeded", "failed");
    insert(
        "agents",
        "id, owner, root, depth, kind, title, status, epoch, session, created, updated",
        &format!("'agt_' || i, 'local', 'agt_' || i, 0, 'assistant', '', {of_work}, 1, 1, i, i"),
    );
    insert(
        "runs",
        "id, agent, owner, status, kind_version, tasks, model_calls, worked_ms, input_tokens, output_tokens, \
         cached_tokens, cache_written_tokens, reasoning_tokens, cost_nanos, started",
        &format!("'run_' || i, 'agt_' || i, 'local', {of_work}, '', '[]', 1, 1, 1, 1, 1, 1, 1, 1, i"),
    );
    for (kind, open, good, bad) in [
        ("task", "queued", "succeeded", "failed"),
        ("question", "open", "answered", "declined"),
        ("intervention", "pending", "applied", "declined"),
        ("delivery", "pending", "delivered", "given_up"),
        ("grant", "standing", "revoked", "revoked"),
        ("chat", "open", "deleted", "deleted"),
        ("request", "done", "done", "done"),
    ] {
        let status = status(open, good, bad);
        insert(
            "entities",
            "kind, id, owner, root, parent, status, created, updated, body",
            &format!(
                "'{kind}', '{kind}_' || i, 'local', 'agt_' || i, 'agt_' || i, \
                 {status}, i, i, '{{}}'"
            ),
        );
    }
    (directory, connection)
}

/// The records of one noun in those of these statuses that it has.
fn of_noun<R: Record<Status: FromStr>>(statuses: &[&str]) -> Vec<EntityQuery> {
    let statuses = statuses.iter().filter_map(|status| status.parse().ok());
    statuses.map(EntityQuery::in_status::<R>).collect()
}

/// The records of all nouns in these statuses.
fn in_statuses(statuses: &[&str]) -> Vec<EntityQuery> {
    [
        of_noun::<Task>(statuses),
        of_noun::<Question>(statuses),
        of_noun::<Intervention>(statuses),
        of_noun::<Delivery>(statuses),
        of_noun::<Grant>(statuses),
        of_noun::<Chat>(statuses),
    ]
    .concat()
}

/// The lists of records over everything that an owner has, and over all owners.
fn lists_of_records(scope: &Scope) -> Vec<EntityQuery> {
    let open = in_statuses(OPEN.words);
    if *scope == Scope::All {
        let whole = [EntityQuery::of(EntityKind::REQUEST), EntityQuery::records::<Delivery>()];
        return [open.as_slice(), &whole].concat();
    }
    let whole = [
        EntityQuery::records::<Task>(),
        EntityQuery::records::<Question>(),
        EntityQuery::records::<Intervention>(),
        EntityQuery::records::<Delivery>(),
        EntityQuery::records::<Grant>(),
        EntityQuery::records::<Chat>(),
    ];
    [open.as_slice(), &in_statuses(ENDED.words), &whole].concat()
}

/// The pages that the API, the command line and the maintenance jobs read first, with their names.
fn first_pages() -> Vec<(String, Select)> {
    let mut all = Vec::new();
    let own = Scope::Owner(Owner::local());
    let last = |after: &str| Page { after: Some(after.to_owned()), newest_first: true, ..Page::default() };
    let pages = |after: &str| [Page::default(), Page { newest_first: true, ..Page::default() }, last(after)];
    let mut agents = |scope: &Scope, query: AgentQuery| {
        for page in pages("agt_40") {
            let query = AgentQuery { page, ..query.clone() };
            all.push((format!("{scope:?} {query:?}"), agents::select(scope, &query)));
        }
    };
    agents(&own, AgentQuery::default());
    agents(&own, AgentQuery { roots: true, ..AgentQuery::default() });
    for kind in ["assistant", "orchestrator"] {
        agents(&own, AgentQuery { roots: true, kind: Some(kind.into()), ..AgentQuery::default() });
    }
    use ShownStatus::{Cancelled, Failed, Idle, Queued, Running, Stopped, Succeeded, Waiting};
    for status in [Idle, Queued, Running, Waiting, Succeeded, Failed, Stopped, Cancelled].map(Some) {
        for roots in [false, true] {
            agents(&own, AgentQuery { status, roots, ..AgentQuery::default() });
        }
    }
    for status in [Queued, Running, Waiting].map(Some) {
        for unwoken in [false, true] {
            agents(&Scope::All, AgentQuery { status, unwoken, ..AgentQuery::default() });
        }
    }
    agents(&Scope::All, AgentQuery { roots: true, ..AgentQuery::default() });
    agents(&Scope::All, AgentQuery { unread: true, unwoken: true, ..AgentQuery::default() });
    for scope in [&own, &Scope::All] {
        for page in pages("run_40") {
            let query = RunQuery { open: true, page, ..RunQuery::default() };
            all.push((format!("{scope:?} {query:?}"), runs::select(scope, &query)));
            all.push((format!("count {scope:?} {query:?}"), runs::count_select(scope, &query)));
        }
        for list in lists_of_records(scope) {
            for page in pages(&format!("{}_40", list.records.kind())) {
                let query = EntityQuery { page, ..list.clone() };
                all.push((format!("{scope:?} {query:?}"), entities::select(scope, &query)));
            }
        }
    }
    all
}

#[test]
fn the_cost_of_a_first_page_does_not_grow_with_ended_rows() {
    for well in [true, false] {
        let [(_few, few), (_many, many)] =
            [database_with_ended_rows(200, well), database_with_ended_rows(20_000, well)];
        for ((name, before), (_, after)) in first_pages().into_iter().zip(first_pages()) {
            let (before, after) = (before.steps(&few), after.steps(&many));
            assert!(after <= before * 2 + 200, "{before} steps with few, {after} with many: {name}");
        }
    }
}

/// Tables that grow with what has ended are neither scanned to find a few rows, nor sorted.
#[test]
fn no_first_page_scans_or_sorts_a_table() {
    let (_directory, connection) = database_with_ended_rows(0, true);
    for (name, select) in first_pages() {
        let plan = select.plan(&connection);
        for step in plan.split("; ") {
            let goes_through =
                ["agents", "runs", "entities"].iter().any(|table| step == format!("SCAN {table}"));
            // Retention scans the agents in the order that it needs, and nearly all that it finds are roots.
            let is_asked = name.starts_with("All") && name.contains("roots: true");
            assert!(!goes_through || is_asked, "{plan}: {name}");
            let sorts = step.starts_with("USE TEMP B-TREE FOR ORDER BY");
            let is_few = name.contains("unread: true") || name.starts_with("count");
            assert!(!sorts || is_few, "{plan}: {name}");
        }
    }
}
