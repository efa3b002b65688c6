//! What the first pages of lists cost, however much has ended.

use std::str::FromStr;

use entourage_store::{AgentQuery, EntityQuery, Page, RunQuery};
use entourage_types::{
    AgentId, Chat, Delivery, EntityKind, Grant, Intervention, Learning, Owner, Question, Record, Schedule,
    Scope, Session, ShownStatus, StopReason, Task, WaitingOn,
};

use super::rows::{database_with_ended_rows, ended_id};
use crate::{
    agents,
    entities::{self, ENDED, OPEN},
    runs,
    select::Select,
};

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
        of_noun::<Learning>(statuses),
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
        EntityQuery::records::<Learning>(),
        EntityQuery::records::<Session>(),
        EntityQuery::records::<Schedule>(),
        // These belong to the engine.
        EntityQuery::of(EntityKind::KIND),
    ];
    [open.as_slice(), &in_statuses(ENDED.words), &whole].concat()
}

/// The lists of an owner's runs that an index serves. Those in other statuses have pages that end early.
fn filters_of_runs() -> Vec<RunQuery> {
    use ShownStatus::{Failed, Idle, Queued, Running, Stopped, Waiting};
    use StopReason::{Cancelled, Error, MaxCost, MaxSteps};
    let in_status =
        [Idle, Queued, Running, Waiting, Failed, Stopped].map(|status| (Some(status), None::<StopReason>));
    let that_stopped = [Cancelled, Error, MaxCost, MaxSteps].map(|reason| (None, Some(reason)));
    let mut filters: Vec<RunQuery> = [&in_status[..], &that_stopped]
        .concat()
        .into_iter()
        .map(|(status, stop_reason)| RunQuery { status, stop_reason, ..RunQuery::default() })
        .collect();
    filters.push(RunQuery::default());
    let agent: Option<AgentId> = ended_id("agt", 60).parse().ok();
    filters.push(RunQuery { agent, ..RunQuery::default() });
    filters
}

/// The pages that the API, the command line and the maintenance jobs read first, with their names.
fn first_pages() -> Vec<(String, Select)> {
    let mut all = Vec::new();
    let own = Scope::Owner(Owner::local());
    let pages = |prefix: &str| {
        let first = Page { limit: 20, ..Page::default() };
        let newest = Page { newest_first: true, ..first.clone() };
        // Before it are the open ones, those that ended the other way, and a few of the many.
        let last = Page { after: Some(ended_id(prefix, 80)), ..newest.clone() };
        [first, newest, last]
    };
    let mut agents = |scope: &Scope, query: AgentQuery| {
        for page in pages("agt") {
            let query = AgentQuery { page, ..query.clone() };
            all.push((format!("{scope:?} {query:?}"), agents::select(scope, &query)));
        }
    };
    agents(&own, AgentQuery::default());
    agents(&own, AgentQuery { roots: true, ..AgentQuery::default() });
    for kind in ["assistant", "orchestrator"] {
        agents(&own, AgentQuery { roots: true, kind: Some(kind.into()), ..AgentQuery::default() });
    }
    use ShownStatus::{Cancelled, Failed, Queued, Running, Stopped, Succeeded, Waiting};
    for status in [Queued, Running, Waiting, Succeeded, Failed, Stopped, Cancelled].map(Some) {
        for roots in [false, true] {
            agents(&own, AgentQuery { status, roots, ..AgentQuery::default() });
        }
    }
    for status in [Queued, Running, Waiting].map(Some) {
        for unwoken in [false, true] {
            agents(&Scope::All, AgentQuery { status, unwoken, ..AgentQuery::default() });
        }
    }
    for waiting_on in [WaitingOn::User, WaitingOn::Retry, WaitingOn::Timer].map(Some) {
        for roots in [false, true] {
            agents(&own, AgentQuery { status: Some(Waiting), waiting_on, roots, ..AgentQuery::default() });
        }
    }
    agents(&Scope::All, AgentQuery { roots: true, ..AgentQuery::default() });
    agents(&Scope::All, AgentQuery { unread: true, unwoken: true, ..AgentQuery::default() });
    let unread = || AgentQuery { unread: true, ..AgentQuery::default() };
    agents(&own, unread());
    agents(&own, AgentQuery { roots: true, ..unread() });
    for scope in [&own, &Scope::All] {
        agents(scope, AgentQuery { active: true, ..AgentQuery::default() });
    }
    for filter in filters_of_runs() {
        for page in pages("run") {
            let query = RunQuery { page, ..filter.clone() };
            all.push((format!("{own:?} {query:?}"), runs::select(&own, &query)));
        }
    }
    for scope in [&own, &Scope::All] {
        for page in pages("run") {
            let query = RunQuery { open: true, page, ..RunQuery::default() };
            all.push((format!("{scope:?} {query:?}"), runs::select(scope, &query)));
            all.push((format!("count {scope:?} {query:?}"), runs::count_select(scope, &query)));
        }
        for list in lists_of_records(scope) {
            for page in pages(list.records.kind().as_str()) {
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
        let twice = || first_pages().into_iter().zip(first_pages());
        for (((name, of_few), (_, of_many)), ((_, before), (_, after))) in twice().zip(twice()) {
            let found = [of_few.rows(&few, |_| Ok(())), of_many.rows(&many, |_| Ok(()))];
            let found = found.map(|rows| rows.unwrap().len());
            assert!(found[0] > 0 && found[0] == found[1], "{found:?} rows: {name}");
            let (before, after) = (before.steps(&few), after.steps(&many));
            assert!(after <= before + 20, "{before} steps with few, {after} with many: {name}");
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
            let is_few =
                name.contains("unread: true") || name.contains("active: true") || name.starts_with("count");
            assert!(!sorts || is_few, "{plan}: {name}");
        }
    }
}
