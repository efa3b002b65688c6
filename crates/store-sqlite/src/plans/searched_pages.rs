//! What pages cost with conditions that no index serves, and searches, and sums: they read up to where the page ends,
//! and nothing of what is behind or below.

use entourage_store::{AgentQuery, EntityQuery, Page, RunQuery, words::RANKED};
use entourage_types::{
    AgentId, Note, NoteStatus, Scope, ShownStatus, StopReason, Time, Timeframe, WaitingOn,
};
use rusqlite::Connection;

use super::{
    own,
    rows::{
        Beside, TODAY, database_beside, database_with_ended_rows, database_with_notes,
        database_with_notes_of_two, database_with_notes_of_two_trees, database_with_notes_within,
        database_with_tree, ended_id, tree_id,
    },
    steps_of, up_to,
};
use crate::{agents, entities, runs, select::Select, subtrees};

/// How many rows there are in a small database and in a large one, and how many of them a page may read.
const FEW: u32 = 500;
const MANY: u32 = 20_000;
const READ: u32 = 200;

/// The query for a page of what an owner has.
type Pages = fn(&Scope, Page) -> Select;

/// Asserts that the cost of each page depends on where it ends, and not on what is behind.
fn assert_read_up_to_the_end(
    [few, many]: [&Connection; 2],
    until: impl Fn(&str, u32) -> Page,
    pages: &[(&str, &str, Pages)],
) {
    for (what, prefix, select) in pages {
        let steps =
            |rows: u32, connection: &Connection| select(&own(), until(prefix, rows)).steps(connection);
        let (before, after) = (steps(FEW, few), steps(MANY, many));
        assert!(after <= before + 20, "{before} steps with few, {after} with many: {what}");
        // It must look at the rows: if it found them by an index, it would need no end.
        assert!(before > 200, "{before} steps: {what}");
    }
}

#[test]
fn a_page_reads_no_row_behind_its_end() {
    let [(_few, few), (_many, many)] =
        [database_with_ended_rows(FEW, true), database_with_ended_rows(MANY, true)];
    let pages: [(&str, &str, Pages); 9] = [
        ("agents by a title that none has", "agt", |scope, page| {
            agents::select(scope, &AgentQuery { title: Some("none".into()), page, ..AgentQuery::default() })
        }),
        ("roots by a title that none has", "agt", |scope, page| {
            let title = Some("none".to_owned());
            agents::select(scope, &AgentQuery { title, roots: true, page, ..AgentQuery::default() })
        }),
        ("agents of a kind that has none", "agt", |scope, page| {
            agents::select(scope, &AgentQuery { kind: Some("none".into()), page, ..AgentQuery::default() })
        }),
        ("runs of a version that has none", "run", |scope, page| {
            runs::select(scope, &RunQuery { version: Some("none".into()), page, ..RunQuery::default() })
        }),
        ("runs of a kind that has none", "run", |scope, page| {
            runs::select(scope, &RunQuery { kind: Some("none".into()), page, ..RunQuery::default() })
        }),
        ("runs that were cancelled", "run", |scope, page| {
            let status = Some(ShownStatus::Cancelled);
            runs::select(scope, &RunQuery { status, page, ..RunQuery::default() })
        }),
        ("completed runs of a kind that has none", "run", |scope, page| {
            let (stop_reason, kind) = (Some(StopReason::Completed), Some("none".to_owned()));
            runs::select(scope, &RunQuery { stop_reason, kind, page, ..RunQuery::default() })
        }),
        ("runs of a large tree", "run", |scope, page| {
            let (root, of_large_tree) = (Some(AgentId::new()), true);
            runs::select(scope, &RunQuery { root, of_large_tree, page, ..RunQuery::default() })
        }),
        ("succeeded runs of a large tree", "run", |scope, page| {
            let (root, of_large_tree, status) = (Some(AgentId::new()), true, Some(ShownStatus::Succeeded));
            runs::select(scope, &RunQuery { root, of_large_tree, status, page, ..RunQuery::default() })
        }),
    ];
    let until = |prefix: &str, rows: u32| up_to(&ended_id(prefix, rows + 60 - READ));
    assert_read_up_to_the_end([&few, &many], until, &pages);
}

/// The root of the tree that the tests write.
pub(super) fn root() -> Option<AgentId> {
    Some(tree_id(1).parse().unwrap())
}

#[test]
fn a_page_of_a_tree_reads_no_agent_behind_its_end() {
    let [(_few, few), (_many, many)] = [database_with_tree(FEW, 0), database_with_tree(MANY, 0)];
    let pages: [(&str, &str, Pages); 5] = [
        ("failed agents of a tree", "agt", |scope, page| {
            let status = Some(ShownStatus::Failed);
            agents::select(scope, &AgentQuery { root: root(), status, page, ..AgentQuery::default() })
        }),
        ("agents of a tree by a title that none has", "agt", |scope, page| {
            let title = Some("none".to_owned());
            agents::select(scope, &AgentQuery { root: root(), title, page, ..AgentQuery::default() })
        }),
        ("agents of a tree that wait on a person", "agt", |scope, page| {
            let (status, waiting_on) = (Some(ShownStatus::Waiting), Some(WaitingOn::User));
            let query = AgentQuery { root: root(), status, waiting_on, page, ..AgentQuery::default() };
            agents::select(scope, &query)
        }),
        ("children that wait on a person", "agt", |scope, page| {
            let (status, waiting_on) = (Some(ShownStatus::Waiting), Some(WaitingOn::User));
            let query = AgentQuery { parent: root(), status, waiting_on, page, ..AgentQuery::default() };
            agents::select(scope, &query)
        }),
        ("children by a title that none has", "agt", |scope, page| {
            let title = Some("none".to_owned());
            agents::select(scope, &AgentQuery { parent: root(), title, page, ..AgentQuery::default() })
        }),
    ];
    let until = |_: &str, rows: u32| up_to(&tree_id(rows - READ));
    assert_read_up_to_the_end([&few, &many], until, &pages);
}

#[test]
fn the_sums_of_a_branch_are_read_and_not_added_up() {
    let [(_few, mut few), (_many, mut many)] = [database_with_tree(20, 5), database_with_tree(20, 1_000)];
    let branches: Vec<AgentId> = (2..22).map(|number| tree_id(number).parse().unwrap()).collect();
    let steps = |connection: &mut Connection| {
        steps_of(connection, |connection| {
            let sums = subtrees::list(connection, &own(), &branches).unwrap();
            assert_eq!(sums.len(), branches.len());
        })
    };
    let (before, after) = (steps(&mut few), steps(&mut many));
    assert!(before > 0 && after <= before + 20, "{before} steps with few agents below, {after} with many");
}

#[test]
fn the_sums_of_an_agent_read_no_question_of_another() {
    let [(_few, mut few), (_many, mut many)] = [FEW, MANY].map(|rows| database_beside(Beside::Agents, rows));
    let steps = |connection: &mut Connection| {
        steps_of(connection, |connection| {
            let sums = subtrees::list(connection, &own(), &[tree_id(3).parse().unwrap()]).unwrap();
            assert_eq!(sums[0].1.open_questions, 1);
        })
    };
    assert_eq!(steps(&mut few), steps(&mut many));
}

#[test]
fn a_page_of_a_search_reads_no_match_behind_its_end() {
    let [(_few, mut few), (_many, mut many)] = [database_with_notes(FEW), database_with_notes(MANY)];
    let newest = || Page { newest_first: true, limit: 50, ..Page::default() };
    let until = |rows: u32| up_to(&format!("note_{}", rows - READ));
    let of_other = Some(AgentId::new());
    type Query<'a> = Box<dyn Fn(u32) -> EntityQuery + 'a>;
    let with = |words: &str| EntityQuery { text: Some(words.to_owned()), ..EntityQuery::records::<Note>() };
    let searches: [(&str, usize, Query<'_>); 3] = [
        ("what all have", 50, Box::new(|_| EntityQuery { page: newest(), ..with("trains") })),
        ("what none has", 0, Box::new(|_| EntityQuery { page: newest(), ..with("ships") })),
        // Each has the word, and none is of this tree.
        (
            "what all have, in another tree",
            0,
            Box::new(|rows| EntityQuery { root: of_other, page: until(rows), ..with("trains") }),
        ),
    ];
    for (what, found, query) in searches {
        let steps = |rows: u32, connection: &mut Connection| {
            steps_of(connection, |connection| {
                let list = entities::list(connection, &own(), &query(rows)).unwrap();
                assert_eq!(list.len(), found, "{what}");
            })
        };
        let (before, after) = (steps(FEW, &mut few), steps(MANY, &mut many));
        assert!(
            before > 0 && after <= before * 2 + 200,
            "{before} steps with few, {after} with many: {what}"
        );
    }
}

#[test]
fn the_best_matches_are_sought_among_the_latest() {
    let [(_few, mut few), (_many, mut many)] = [database_with_notes(2 * RANKED), database_with_notes(MANY)];
    let query = EntityQuery {
        text: Some("trains to pla".into()),
        page: Page { limit: 5, ..Page::default() },
        ..EntityQuery::records::<Note>()
    };
    let steps = |connection: &mut Connection| {
        steps_of(connection, |connection| {
            assert_eq!(entities::list(connection, &own(), &query).unwrap().len(), 5);
        })
    };
    let (before, after) = (steps(&mut few), steps(&mut many));
    // The index of words itself has more parts to read where it is larger.
    assert!(before > 0 && after <= before + 2_000, "{before} steps with few, {after} with many");
}

#[test]
fn a_search_reads_no_match_of_another_owner() {
    let [(_few, mut few), (_many, mut many)] =
        [database_with_notes_of_two(20, FEW), database_with_notes_of_two(20, MANY)];
    for newest_first in [false, true] {
        let page = Page { newest_first, limit: 50, ..Page::default() };
        let query =
            EntityQuery { text: Some("trains to pla".into()), page, ..EntityQuery::records::<Note>() };
        let steps = |connection: &mut Connection| {
            steps_of(connection, |connection| {
                assert_eq!(entities::list(connection, &own(), &query).unwrap().len(), 20);
            })
        };
        let (before, after) = (steps(&mut few), steps(&mut many));
        // The index of words itself has more parts to read where it is larger.
        assert!(before > 0 && after <= before * 2 + 200, "{before} steps beside few, {after} beside many");
    }
}

/// What belongs to an agent or is in a status is found by its tree.
#[test]
fn a_search_of_one_agent_reads_no_match_of_another_tree() {
    let [(_few, mut few), (_many, mut many)] =
        [database_with_notes_of_two_trees(20, 2_000), database_with_notes_of_two_trees(20, 40_000)];
    let page = Page { newest_first: true, limit: 50, ..Page::default() };
    let text = Some("trains to pla".to_owned());
    let of_tree = EntityQuery { text, page, root: root(), ..EntityQuery::records::<Note>() };
    let records = EntityQuery::in_status::<Note>(NoteStatus::Kept).records;
    let of_agent = EntityQuery { parent: root().map(Into::into), ..of_tree.clone() };
    for query in [EntityQuery { records, ..of_tree }, of_agent] {
        let steps = |connection: &mut Connection| {
            steps_of(connection, |connection| {
                assert_eq!(entities::list(connection, &own(), &query).unwrap().len(), 20);
            })
        };
        let (before, after) = (steps(&mut few), steps(&mut many));
        // The index of words itself has more parts to read where it is larger.
        assert!(before > 0 && after <= before * 2 + 200, "{before} steps beside few, {after} beside many");
    }
}

#[test]
fn a_search_within_a_time_reads_no_match_from_before() {
    let [(_few, mut few), (_many, mut many)] =
        [database_with_notes_within(200, 10), database_with_notes_within(20_000, 10)];
    let now = Time::from_micros(i64::from(TODAY) * 24 * 60 * 60 * 1_000_000);
    for timeframe in [Timeframe::LastDay, Timeframe::LastWeek, Timeframe::LastMonth, Timeframe::LastYear] {
        for newest_first in [false, true] {
            let page = Page { newest_first, limit: 50, ..Page::default() };
            let query = EntityQuery {
                text: Some("trains to pla".into()),
                since: timeframe.since(now),
                root: root(),
                parent: root().map(Into::into),
                page,
                ..EntityQuery::records::<Note>()
            };
            let steps = |connection: &mut Connection| {
                steps_of(connection, |connection| {
                    assert_eq!(entities::list(connection, &own(), &query).unwrap().len(), 10);
                })
            };
            let (before, after) = (steps(&mut few), steps(&mut many));
            // The index of words itself has more parts to read where it is larger.
            let what = format!("{timeframe}, newest first: {newest_first}");
            assert!(
                before > 0 && after <= before * 2 + 200,
                "{before} steps after few, {after} after many: {what}"
            );
        }
    }
}
