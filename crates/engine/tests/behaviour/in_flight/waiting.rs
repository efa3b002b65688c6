//! A database of the version before the sums of agents, left by a process that was killed while nobody was at work: an
//! agent waited for a budget of which a part had been granted and used, another one had not read its trigger yet, nor an
//! agent that a person had put below a third one its message; beside a record with a name and a number.

use entourage_engine::{Cause, Client, Kinds, RecordFilter};
use entourage_store::{AgentQuery, Store};
use entourage_store_sqlite::SqliteStore;
use entourage_testkit::{World, WorldBuilder, audit, inexact_requests};
use entourage_types::{Agent, Amount, Author, Cost, Kind, Limits, Scope, Status, Trigger, WorksFor};

use super::Migrated;
use crate::{
    budgets::{answering, asleep_over_budget, dollars, person},
    kit::{Database, bare, eventually},
    records::{Project, is_taken, project},
    triggers::{check_in, so_far},
};

/// The schema version of the program that left the rows.
const VERSION: usize = 31;
/// What each answer costs.
const USED: &str = "$0.0003";
/// What the kind allows, and what a person had granted.
const ALLOWED: &str = "$0.0010";
const GRANTED: &str = "$0.0011";

fn kinds() -> Kinds {
    let limits =
        Limits { max_tree_cost: Some(dollars(ALLOWED)), max_answer_tokens: Some(100), ..Limits::default() };
    let saver = Kind { limits, ..bare("saver") };
    [saver, bare("watcher")]
        .into_iter()
        .fold(Kinds::none(), |kinds, kind| kinds.with(Kind { tools: Some(Vec::new()), ..kind }))
}

fn world(store: SqliteStore) -> WorldBuilder {
    World::builder(answering()).kinds(kinds()).store(store)
}

/// Each goes on with what it waits for: the grant counts as it was, the trigger is read once, the agent below works for
/// the person, and the next record has the next number.
#[tokio::test]
async fn what_waits_in_schema_version_31_goes_on_after_an_upgrade() {
    for migrated in Migrated::all(VERSION) {
        println!("{migrated:?}");
        let database = Database::new();
        migrated.write(&database.path(), include_str!("waiting.sql"));
        let store = database.open();
        let agents = store.agents(&Scope::All, AgentQuery::default()).await.unwrap();
        let [saver, watcher, top, below] = &agents[..] else { panic!("{agents:?}") };
        let world = world(store).start().await;
        a_grant_in_use_counts_on(&world, saver).await;
        let read = async || so_far(&world, watcher.id).await;
        let (messages, _) =
            eventually("the trigger is read", read, |(read, rests)| !read.is_empty() && *rests).await;
        let trigger = Box::new(Trigger { schedule: None, ..check_in() });
        assert_eq!(
            messages.iter().map(|message| (&message.from, message.text.as_str())).collect::<Vec<_>>(),
            [(&Author::Trigger { trigger }, "Look around.")]
        );
        assert_eq!((below.works_for, below.parent), (WorksFor::Person, Some(top.id)));
        assert_eq!(world.ended(below.id).await.status, Status::Succeeded);
        assert_eq!(world.client().agent(top.id).await.unwrap(), *top, "the agent above is untouched");
        numbers_go_on(&world.client()).await;
        assert_eq!(audit(&**world.store(), None).await.unwrap(), []);
        assert_eq!(inexact_requests(world.engine()).await, []);
    }
}

async fn a_grant_in_use_counts_on(world: &World, saver: &Agent) {
    asleep_over_budget(world, saver).await;
    let budget = async || world.client().budgets(saver.id).await.unwrap().remove(0).budget;
    let before = budget().await;
    assert_eq!(before.granted.cost, dollars(GRANTED));
    assert!(before.spent.cost > dollars(ALLOWED), "a part of the grant is used: {before:?}");
    let why = world.client().why(saver.id).await.unwrap();
    let Cause::Budget { shortage, may_have_room: false, .. } = why.cause() else { panic!("{why:?}") };
    let nanos = |cost: Option<Cost>| cost.unwrap().nanos();
    let left = dollars(ALLOWED).nanos() + dollars(GRANTED).nanos() - before.spent.cost.nanos();
    assert_eq!(nanos(shortage.left.cost), left);
    let lacking = Cost::from_nanos(nanos(shortage.needs.cost) - left);
    person(world).grant_budget(saver.id, Amount { cost: lacking, tokens: 0 }, None).await.unwrap();
    assert_eq!(world.ended(saver.id).await.status, Status::Succeeded);
    let mut spent = before.spent.cost;
    spent += dollars(USED);
    assert_eq!(budget().await.spent.cost, spent);
}

async fn numbers_go_on(client: &Client) {
    let kept: Vec<Project> = client.records(RecordFilter::default()).await.unwrap();
    assert_eq!(
        kept.iter().map(|kept| (kept.name.as_str(), kept.number)).collect::<Vec<_>>(),
        [("Apollo", 1)]
    );
    let again = client.save_numbered("projects", |number| project(client, "APOLLO", number)).await;
    assert!(is_taken(&again.map(drop)));
    let next = client.save_numbered("projects", |number| project(client, "Gemini", number)).await.unwrap();
    assert_eq!(next.number, 2);
}
