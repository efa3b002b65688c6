//! What pages of events, of items and of usage cost, and lists of one agent or tree: they are found where they are, by
//! numbers, days and owners, and nothing before, behind or beside them is read.

use entourage_store::{EntityQuery, EventQuery, ItemQuery, Page, UsageQuery};
use entourage_types::{
    EntityKind, EventName, Grant, GrantStatus, Intervention, InterventionStatus, Learning, LearningStatus,
    Question, QuestionStatus, Schedule, ScheduleStatus, Session, SessionStatus, Status, Task, UsageBy,
};
use rusqlite::Connection;

use super::{
    own,
    rows::{database_with_past, database_with_records, database_with_usage, tree_id},
    searched_pages::root,
    steps_of,
};
use crate::{entities, events, items, usage};

/// How many rows there are in a small database and in a large one.
const FEW: u32 = 2_000;
const MANY: u32 = 40_000;

/// Reads a page of a list whose last row has this number, and returns the number of rows it has.
type Read<'r> = &'r dyn Fn(&Connection, u64) -> usize;

/// Asserts that each read finds so many rows, at the same cost in a small database as in a large one.
fn assert_costs_stay([few, many]: [&mut Connection; 2], reads: &[(&str, usize, Read<'_>)]) {
    for (what, found, read) in reads {
        let steps = |connection: &mut Connection, last: u32| {
            steps_of(connection, |connection| {
                assert_eq!(read(connection, u64::from(last)), *found, "{what}");
            })
        };
        let (before, after) = (steps(few, FEW), steps(many, MANY));
        assert!(before > 0 && after <= before + 20, "{before} steps with few, {after} with many: {what}");
    }
}

#[test]
fn a_page_of_events_reads_no_event_before_or_behind_it() {
    let [(_few, mut few), (_many, mut many)] = [database_with_past(FEW), database_with_past(MANY)];
    let root = root().unwrap();
    let list =
        |connection: &Connection, query: EventQuery| events::list(connection, &own(), &query).unwrap().len();
    let latest =
        |after, before| EventQuery { before: Some(before), latest: true, ..EventQuery::of(root, after, 50) };
    let other = Some(tree_id(2).parse().unwrap());
    assert_costs_stay(
        [&mut few, &mut many],
        &[
            ("the first", 50, &|connection, _| list(connection, EventQuery::of(root, 0, 50))),
            ("the last", 50, &|connection, last| list(connection, latest(0, last + 1))),
            ("in the middle", 50, &|connection, last| list(connection, latest(0, last / 2))),
            ("after the middle", 50, &|connection, last| {
                list(connection, EventQuery::of(root, last / 2, 50))
            }),
            ("of an agent, among four hundred", 4, &|connection, last| {
                list(connection, EventQuery { agent: other, ..latest(last - 401, last) })
            }),
            ("of a rare name, among four hundred", 4, &|connection, last| {
                let name = Some(EventName::AgentCreated);
                list(connection, EventQuery { name, ..latest(last - 401, last) })
            }),
            ("two, for a bucket of a timeline", 2, &|connection, last| {
                list(connection, EventQuery::of(root, last / 2, 2))
            }),
            ("the number of the last", 1, &|connection, last| {
                usize::from(events::last_seen(connection, &own(), root).unwrap() == last)
            }),
        ],
    );
}

#[test]
fn a_page_of_a_transcript_reads_no_item_before_or_behind_it() {
    let [(_few, mut few), (_many, mut many)] = [database_with_past(FEW), database_with_past(MANY)];
    let root = root().unwrap();
    let list =
        |connection: &Connection, query: ItemQuery| items::list(connection, &own(), &query).unwrap().len();
    let before = |number| ItemQuery { before: Some(number), ..ItemQuery::of(root, 0, 50) };
    assert_costs_stay(
        [&mut few, &mut many],
        &[
            ("the first", 50, &|connection, _| list(connection, ItemQuery::of(root, 0, 50))),
            ("the last", 50, &|connection, _| list(connection, before(u64::MAX))),
            ("before the middle", 50, &|connection, last| list(connection, before(last / 2))),
            ("from the middle on", 50, &|connection, last| {
                list(connection, ItemQuery::of(root, last / 2, 50))
            }),
            ("the one after", 1, &|connection, last| list(connection, ItemQuery::of(root, last / 2, 1))),
        ],
    );
}

#[test]
fn the_usage_of_a_month_by_hour_reads_no_other_month() {
    let [(_few, mut few), (_many, mut many)] = [database_with_usage(365), database_with_usage(3_650)];
    let [from, to] = ["2025-06-01", "2025-06-30"].map(|day| Some(day.parse().unwrap()));
    let by_hour = UsageQuery { from, to, by: vec![UsageBy::Hour], ..UsageQuery::default() };
    assert_costs_stay(
        [&mut few, &mut many],
        &[("a month", 30 * 24, &|connection, _| {
            usage::sums(connection, &own(), by_hour.clone()).unwrap().len()
        })],
    );
}

/// The nouns that are listed of one agent or one tree, in a status that many of their records have.
const NOUNS: [(&str, &str); 7] = [
    ("task", "failed"),
    ("question", "answered"),
    ("grant", "revoked"),
    ("intervention", "applied"),
    ("learning", "retired"),
    ("schedule", "ended"),
    ("session", "closed"),
];

#[test]
fn a_list_of_one_agent_or_tree_reads_no_record_of_another() {
    let [(_few, mut few), (_many, mut many)] =
        [database_with_records(&NOUNS, FEW), database_with_records(&NOUNS, MANY)];
    let in_status = [
        EntityQuery::in_status::<Task>(Status::Failed),
        EntityQuery::in_status::<Question>(QuestionStatus::Answered),
        EntityQuery::in_status::<Grant>(GrantStatus::Revoked),
        EntityQuery::in_status::<Intervention>(InterventionStatus::Applied),
        EntityQuery::in_status::<Learning>(LearningStatus::Retired),
        EntityQuery::in_status::<Schedule>(ScheduleStatus::Ended),
        EntityQuery::in_status::<Session>(SessionStatus::Closed),
    ];
    let whole = NOUNS.map(|(noun, _)| EntityQuery::of(noun.parse::<EntityKind>().unwrap()));
    let page = Page { newest_first: true, ..Page::default() };
    for list in in_status.into_iter().chain(whole) {
        let of_agent = EntityQuery { parent: root().map(Into::into), page: page.clone(), ..list.clone() };
        let of_tree = EntityQuery { root: root(), page: page.clone(), ..list };
        for query in [of_agent, of_tree] {
            let read = |connection: &Connection, _: u64| {
                entities::select(&own(), &query).rows(connection, |_| Ok(())).unwrap().len()
            };
            assert_costs_stay([&mut few, &mut many], &[(&format!("{query:?}"), 20, &read)]);
        }
    }
}
