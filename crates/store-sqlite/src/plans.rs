//! Query-plan tests: under every scope, no list reads rows of other trees, agents or owners to find its own. The
//! exception are open rows, which are few: an owner's lists of open agents, runs (also for their usage) and records go
//! through those of all owners.

mod first_pages;
mod pages_in_place;
mod rows;
mod searched_pages;

use std::{
    fmt::Debug,
    slice,
    sync::{
        Arc,
        atomic::{AtomicI32, Ordering},
    },
};

use entourage_store::{AgentQuery, EntityQuery, Page, RunQuery, UsageQuery};
use entourage_types::{
    AgentId, AgentKey, Chat, Document, EntityKind, KeptStatus, Owner, Parent, Question, QuestionStatus,
    RunId, Scope, ShownStatus, Status, StopReason, Task, Time, UniqueName, WaitingOn,
};
use rusqlite::Connection;

use crate::{agents, entities, runs, select::Select, usage};
use rows::{
    Beside::{self, Agents, Ended, Owners, Trees},
    database_beside, tree_id,
};

/// How much stands beside the rows that a query asks for: little, and a hundred times as much.
const FEW: u32 = 10;
const MANY: u32 = 1_000;

fn own() -> Scope {
    Scope::Owner(Owner::local())
}

/// A query, and what stands beside the rows that it finds.
type Case<Q> = (Q, &'static [Beside]);

/// Asserts that each query finds rows, and that what it touches does not grow with what stands beside them; under an
/// owner's scope, and under `Scope::All` unless other owners' rows are among those that it lists there.
fn assert_narrow<Q: Debug>(cases: &[Case<Q>], select: impl Fn(&Scope, &Q) -> Select) {
    for beside in Beside::ALL {
        let cases: Vec<_> = cases.iter().filter(|(_, all)| all.contains(&beside)).collect();
        if cases.is_empty() {
            continue;
        }
        let [(_few, few), (_many, many)] = [FEW, MANY].map(|rows| database_beside(beside, rows));
        for (query, all) in cases {
            let scopes = if all.contains(&Owners) { vec![own()] } else { vec![own(), Scope::All] };
            for scope in scopes {
                let [before, after] = [&few, &many].map(|connection| {
                    let found = select(&scope, query).rows(connection, |_| Ok(())).unwrap();
                    (found.len(), select(&scope, query).steps(connection))
                });
                let what = format!("{scope:?} {query:?} beside {beside:?}: {before:?} and {after:?}");
                assert!(before.0 > 0, "nothing is found: {what}");
                assert_eq!(before, after, "the rows and the steps: {what}");
            }
        }
    }
}

/// Asserts the same, and that an owner's rows are read in their order.
fn assert_narrow_and_in_order<Q: Debug>(cases: &[Case<Q>], select: impl Fn(&Scope, &Q) -> Select) {
    assert_narrow(cases, &select);
    let (_directory, connection) = database_beside(Trees, FEW);
    for (query, _) in cases {
        let plan = select(&own(), query).plan(&connection);
        assert!(!plan.contains("TEMP B-TREE"), "{query:?}: {plan}");
    }
}

/// The steps of SQLite's virtual machine for all that a read does on a connection.
fn steps_of(connection: &mut Connection, read: impl FnOnce(&Connection)) -> i32 {
    let steps = Arc::new(AtomicI32::new(0));
    let counted = Arc::clone(&steps);
    let count = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        false
    };
    connection.progress_handler(1, Some(count)).unwrap();
    read(connection);
    connection.progress_handler(0, None::<fn() -> bool>).unwrap();
    steps.load(Ordering::Relaxed)
}

/// An agent of the tree that the queries ask for: the root has the number 1, its child 2.
fn agent(number: u32) -> Option<AgentId> {
    Some(tree_id(number).parse().unwrap())
}

fn run(number: u32) -> RunId {
    format!("run_{number:032x}").parse().unwrap()
}

/// A page that ends with this row.
fn up_to(row: &str) -> Page {
    Page { until: Some(row.to_owned()), newest_first: true, ..Page::default() }
}

#[test]
fn a_list_of_agents_touches_its_own_rows_alone() {
    let all = AgentQuery::default();
    let (root, key) = (agent(1), AgentKey::new("assistant", "key 2").ok());
    let (running, waiting) = (Some(ShownStatus::Running), Some(ShownStatus::Waiting));
    let title = Some("trains".to_owned());
    let (page, waiting_on) = (up_to(&tree_id(1)), Some(WaitingOn::Retry));
    let searched = AgentQuery { page, ..all.clone() };
    assert_narrow_and_in_order(
        &[
            (all.clone(), &[Owners]),
            (AgentQuery { status: running, ..all.clone() }, &[Ended]),
            (AgentQuery { roots: true, ..all.clone() }, &[Owners, Agents]),
            (AgentQuery { root, ..all.clone() }, &[Trees]),
            (AgentQuery { root, status: running, ..all.clone() }, &[Trees]),
            (AgentQuery { root, key, ..all.clone() }, &[Agents]),
            (AgentQuery { root, parent: agent(2), ..all }, &[Agents]),
            // What people search for, up to where the page ends.
            (AgentQuery { title: title.clone(), ..searched.clone() }, &[Owners]),
            (AgentQuery { title, roots: true, ..searched.clone() }, &[Owners, Agents]),
            (AgentQuery { status: waiting, waiting_on, ..searched.clone() }, &[Ended]),
            (AgentQuery { parent: agent(2), waiting_on, ..searched }, &[Agents]),
        ],
        agents::select,
    );
}

#[test]
fn a_list_and_a_count_of_runs_touch_their_own_rows_alone() {
    let (all, root) = (RunQuery::default(), agent(1));
    let (kind, version) = (Some("assistant".to_owned()), Some("v".to_owned()));
    let lists: [Case<RunQuery>; 6] = [
        (all.clone(), &[Owners]),
        (RunQuery { open: true, ..all.clone() }, &[Ended]),
        (RunQuery { status: Some(ShownStatus::Waiting), ..all.clone() }, &[Ended]),
        (RunQuery { kind, version, ..all.clone() }, &[Owners]),
        (RunQuery { agent: agent(2), ..all.clone() }, &[Agents]),
        (RunQuery { id: Some(run(2)), agent: agent(2), ..all.clone() }, &[Agents, Ended]),
    ];
    // The few runs of a tree are found by its agents, and sorted.
    let of_tree: Case<RunQuery> = (RunQuery { root, ..all.clone() }, &[Trees]);
    assert_narrow(slice::from_ref(&of_tree), runs::select);
    assert_narrow(&[&lists[..], &[of_tree]].concat(), runs::count_select);
    let of_large_tree = RunQuery { root, of_large_tree: true, ..all.clone() };
    let of_owner: [Case<RunQuery>; 5] = [
        // Without an owner, these read all runs.
        (RunQuery { status: Some(ShownStatus::Failed), ..all.clone() }, &[Owners, Ended]),
        (RunQuery { status: Some(ShownStatus::Stopped), ..all.clone() }, &[Owners, Ended]),
        (RunQuery { stop_reason: Some(StopReason::MaxCost), ..all }, &[Owners, Ended]),
        // The runs of a large tree, up to where the page ends.
        (of_large_tree.clone(), &[Owners]),
        (RunQuery { page: up_to(&run(1).to_string()), ..of_large_tree }, &[Owners]),
    ];
    assert_narrow_and_in_order(&[&lists[..], &of_owner].concat(), runs::select);
}

#[test]
fn usage_is_summed_from_its_own_rows_alone() {
    let (all, from) = (UsageQuery::default(), Some(Time::from_micros(0).day()));
    assert_narrow_and_in_order(
        &[(all.clone(), &[Owners]), (UsageQuery { from, ..all.clone() }, &[Owners, Ended])],
        |scope, query| usage::of("usage_of_owners", scope, query),
    );
    assert_narrow_and_in_order(&[((), &[Ended])], |scope, ()| usage::of_open_runs(scope));
    assert_narrow_and_in_order(
        &[
            (all.clone(), &[Owners]),
            (UsageQuery { agent: agent(2), ..all.clone() }, &[Agents]),
            (UsageQuery { root: agent(1), ..all.clone() }, &[Trees]),
            (UsageQuery { run: Some(run(2)), ..all }, &[Agents, Ended]),
        ],
        usage::of_runs,
    );
}

#[test]
fn a_list_of_records_touches_its_own_rows_alone() {
    let (all, root) = (EntityQuery::records::<Task>(), agent(1));
    let queued = EntityQuery::in_status::<Task>(Status::Queued);
    let parent = agent(2).map(Parent::from);
    let record = Some(Parent::Record(EntityKind::NOTE, "a note".to_owned()));
    let open = EntityQuery::in_status::<Question>(QuestionStatus::Open);
    assert_narrow_and_in_order(
        &[
            (EntityQuery { root, ..all.clone() }, &[Trees]),
            (EntityQuery { root, ..queued.clone() }, &[Trees]),
            (EntityQuery { root, branch: agent(2), ..all.clone() }, &[Trees]),
            (EntityQuery { parent: parent.clone(), ..all.clone() }, &[Agents]),
            (EntityQuery { root, parent, ..queued.clone() }, &[Agents]),
            (EntityQuery { parent: record.clone(), ..all }, &[Agents]),
            (EntityQuery { parent: record, ..queued }, &[Agents, Ended]),
            (EntityQuery { soonest_first: true, ..open }, &[Owners, Ended]),
        ],
        entities::select,
    );
}

/// A name leads to its one record by the index of names, also where the record's parent and status are named.
#[test]
fn a_record_is_found_by_its_name_alone() {
    let (_directory, connection) = database_beside(Trees, FEW);
    let parent = Some(Parent::Record(EntityKind::PROJECT, "a project".to_owned()));
    let named = |query| EntityQuery { name: Some(UniqueName::of_owner("a name")), ..query };
    let kept = named(EntityQuery::in_status::<Document>(KeptStatus::Kept));
    for query in [named(EntityQuery::records::<Chat>()), EntityQuery { parent, ..kept.clone() }, kept] {
        let plan = entities::select(&own(), &query).plan(&connection);
        assert!(plan.contains("entities_by_name (kind=? AND owner=? AND name=?)"), "{query:?}: {plan}");
    }
}

/// The same for a number.
#[test]
fn a_record_is_found_by_its_number_alone() {
    let (_directory, connection) = database_beside(Trees, FEW);
    let number = Some(7);
    for query in [EntityQuery::records::<Document>(), EntityQuery::in_status::<Document>(KeptStatus::Kept)] {
        let plan = entities::select(&own(), &EntityQuery { number, ..query }).plan(&connection);
        assert!(plan.contains("numbered_entities (kind=? AND owner=? AND <expr>=?)"), "{plan}");
    }
}

/// The tree of an owner's active agents reads none of other owners and none at rest (S3-R081).
#[test]
fn a_list_of_active_agents_touches_no_others() {
    let active = AgentQuery { active: true, ..AgentQuery::default() };
    assert_narrow(&[(active, &[Owners, Ended])], agents::select);
}

/// The limits of a tree count the living, and read no ended ones.
#[test]
fn a_count_of_living_agents_touches_no_ended_ones() {
    let [root, parent] = [1, 2].map(|number| tree_id(number).parse().unwrap());
    let [of_few, of_many] = [FEW, MANY].map(|rows| {
        let (_directory, mut connection) = database_beside(Ended, rows);
        steps_of(&mut connection, |connection| {
            assert_eq!(agents::count_living_beside(connection, root).unwrap(), 2);
            assert_eq!(agents::count_living_children(connection, root, parent).unwrap(), 1);
        })
    });
    assert_eq!(of_few, of_many);
}
