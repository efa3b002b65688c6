//! A stop of an agent at rest that has something to read: it ends what was there when it came, once, and nothing that
//! came later.

use std::time::Duration;

use crate::kit::{WorldExt, first_tools, one_kind};
use entourage_engine::{Clock, NewAgent};
use entourage_llm::{Request, Script, ScriptedModel};
use entourage_store::Page;
use entourage_testkit::{Fault, Faults, World, plain};
use entourage_types::{Action, Agent, InterventionStatus, Owner, Status};
use serde_json::json;

fn answered(_: &Request) -> Option<entourage_llm::Result<Script>> {
    Some(Ok(Script::text("Answered.")))
}

/// An agent that has answered a first message. It works when it is told to.
async fn at_rest() -> (World, Agent) {
    let model = ScriptedModel::deciding(answered);
    let world = World::builder(model).kinds(one_kind(|_| ())).dispatchers([]).start().await;
    let person = world.engine().client(Owner::local());
    let agent = person.create(NewAgent::default(), None).await.unwrap();
    person.send(agent.id, "First.", None).await.unwrap();
    world.engine().advance(agent.id).await.unwrap();
    (world, agent)
}

/// Two instructions, one of which ends the work and one which comes after that; this fault happens to what reads them.
/// Returns the commits that it took.
async fn stopped_between(instruction: Action, at: u64, fault: Fault) -> u64 {
    let (world, agent) = at_rest().await;
    let person = world.engine().client(Owner::local());
    person.intervene(agent.id, instruction, Some("Second.")).await.unwrap();
    person.intervene(agent.id, Action::Stop, None).await.unwrap();
    person.send(agent.id, "Third.", None).await.unwrap();
    let world = world.restart(Faults::default().plan(at, fault)).await;
    let faults = world.faults().clone();
    let works = async {
        for _ in 0..2 {
            // The store of a process that dies is closed.
            if world.engine().advance(agent.id).await.is_err() {
                break;
            }
        }
    };
    let _ = faults.unless_dead(works).await;
    let commits = faults.commits();
    let world = world.restart(Faults::default()).await;
    for _ in 0..2 {
        world.engine().advance(agent.id).await.unwrap();
    }
    let items = world.client().items(agent.id, 0, 100).await.unwrap();
    let words = ["First.", "Second.", "Third.", "stopped before it was done", "Answered."];
    let said: Vec<&str> =
        plain(&items).iter().filter_map(|line| words.into_iter().find(|word| line.contains(word))).collect();
    let in_order = ["First.", "Answered.", "Second.", "stopped before it was done", "Third.", "Answered."];
    assert_eq!(said, in_order, "{instruction:?}, {fault:?} at {at}");
    let interventions = world.client().interventions(agent.id, Page::default()).await.unwrap();
    assert!(interventions.iter().all(|done| done.status == InterventionStatus::Applied), "{interventions:?}");
    assert_eq!(world.inconsistencies().await, [""; 0], "nothing is posted again");
    assert_eq!(world.client().agent(agent.id).await.unwrap().status, Status::Succeeded);
    assert_eq!(world.audit().await, []);
    commits
}

/// Shows: INV-04.
#[tokio::test]
async fn a_stop_ends_what_came_before_it_and_nothing_that_came_later_whatever_dies() {
    for instruction in [Action::Modify, Action::Steer] {
        let commits = stopped_between(instruction, u64::MAX, Fault::DieBefore).await;
        assert!(commits >= 3, "{commits}");
        for at in 1..=commits {
            for fault in [Fault::DieBefore, Fault::DieAfter] {
                stopped_between(instruction, at, fault).await;
            }
        }
    }
}

/// Whoever forgets or prunes it need not wait for that.
#[tokio::test]
async fn a_run_that_ends_leaves_no_wake_up_for_what_it_waited_for() {
    let model = ScriptedModel::new([Script::call("wait", json!({"seconds": 80_000}))]);
    let world =
        World::builder(model).tools(first_tools()).kinds(one_kind(|_| ())).dispatchers([]).start().await;
    let person = world.engine().client(Owner::local());
    let agent = person.create(NewAgent::default(), None).await.unwrap();
    person.send(agent.id, "Wait for long.", None).await.unwrap();
    world.engine().advance(agent.id).await.unwrap();
    let later = world.clock().now() + Duration::from_secs(100_000);
    let wakeups = async || world.store().due(later, None, 10).await.unwrap().len();
    assert_eq!(wakeups().await, 1, "it sleeps");
    person.intervene(agent.id, Action::Stop, None).await.unwrap();
    world.engine().advance(agent.id).await.unwrap();
    assert_eq!(wakeups().await, 0);
}
