//! A run keeps the version of its kind with which it started; new runs use the new one.

use std::{fs, path::Path, sync::Arc, time::Duration};

use crate::kit::{WorldBuilderExt, WorldExt, death_of, first_tools};
use entourage_engine::{Builder, Clock, Error, Kinds, NewAgent};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::{Commit, Page, Write};
use entourage_testkit::{Fault, Faults, World, WorldBuilder, plain};
use entourage_types::{Action, Agent, Answer, Entity, EntityKind, Scope, Status};
use serde_json::json;
use tempfile::TempDir;

fn write(directory: &Path, instructions: &str) {
    let text = format!("---\nname: clerk\ntools: [ask_user]\n---\n{instructions}\n");
    fs::write(directory.join("clerk.md"), text).unwrap();
}

/// A world that reads its kinds from a directory, again in each process and when they are reloaded.
fn world(model: ScriptedModel, directory: &TempDir) -> WorldBuilder {
    let directory = directory.path().to_owned();
    let read = move || {
        let mut kinds = Kinds::none();
        kinds.load(&directory).map(|findings| (kinds, findings))
    };
    let engine = move |engine: Builder| {
        let (kinds, _) = read().unwrap();
        engine.kinds(kinds).kinds_from(Arc::new(read.clone()))
    };
    World::builder(model).tools(first_tools()).engine(engine)
}

/// A clerk that asks one question and then repeats its instructions.
fn clerks(directory: &TempDir) -> WorldBuilder {
    let model = ScriptedModel::deciding(|request: &Request| {
        Some(Ok(match request.messages.last() {
            Some(Message::User(_)) => Script::call("ask_user", json!({"question": "Shall I?"})),
            _ => Script::text(request.system.lines().next().unwrap_or_default()),
        }))
    });
    world(model, directory)
}

async fn clerk(world: &World) -> Agent {
    let new = NewAgent { kind: Some("clerk".into()), message: Some("Go.".into()), ..NewAgent::default() };
    world.client().create(new, None).await.unwrap()
}

/// Answers the clerk's question, and returns its last line.
async fn answer_and_read_last_line(world: &World, agent: &Agent) -> String {
    let question = world.question(agent.root).await;
    world.client().answer(question.id, Answer::Text("Yes.".into())).await.unwrap();
    world.ended(agent.id).await;
    plain(&world.client().items(agent.id, 0, 100).await.unwrap()).pop().unwrap()
}

#[tokio::test]
async fn a_run_keeps_its_kind_version_if_the_file_changes_or_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "First version.");
    let world = clerks(&directory).start().await;
    let (one, two) = (clerk(&world).await, clerk(&world).await);
    world.asleep(&one).await;
    world.asleep(&two).await;

    write(directory.path(), "Second version.");
    let world = world.restart(Faults::default()).await;
    assert_eq!(answer_and_read_last_line(&world, &one).await, "turn: First version.[]");
    assert_eq!(answer_and_read_last_line(&world, &clerk(&world).await).await, "turn: Second version.[]");

    fs::remove_file(directory.path().join("clerk.md")).unwrap();
    let world = world.restart(Faults::default()).await;
    assert_eq!(
        answer_and_read_last_line(&world, &two).await,
        "turn: First version.[]",
        "paused, and its file is gone"
    );
    world.client().send(two.id, "Again.", None).await.unwrap();
    let failed = |event: &entourage_types::Event| {
        event.agent == two.id
            && matches!(event.body, entourage_types::EventBody::AgentStatus { status: Status::Failed, .. })
    };
    world.until(two.id, failed).await;
    let notice = plain(&world.client().items(two.id, 0, 100).await.unwrap()).pop().unwrap();
    assert!(notice.contains("the kind `clerk` no longer exists"), "a new run has none: {notice}");
}

#[tokio::test]
async fn a_version_keeps_the_time_of_its_first_run_after_restarts() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "First version.");
    let mut world = clerks(&directory).start().await;
    let began = world.clock().now();
    for process in ["first", "second", "third"] {
        let agent = clerk(&world).await;
        world.asleep(&agent).await;
        let versions = world.client().kind_versions("clerk", Page::default()).await.unwrap().rows;
        let first_used: Vec<_> = versions.iter().map(|version| version.first_used).collect();
        assert_eq!(first_used, [began], "in the {process} process");
        world.clock().advance(Duration::from_secs(60));
        world = world.restart(Faults::default()).await;
    }
}

#[tokio::test]
async fn a_run_whose_stored_kind_version_cannot_be_read_continues_with_the_current_one() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "First version.");
    let world = clerks(&directory).start().await;
    let (agent, deleted) = (clerk(&world).await, clerk(&world).await);
    world.asleep(&agent).await;
    world.asleep(&deleted).await;
    let version = world.client().runs(agent.id, Page::default()).await.unwrap()[0].kind_version.clone();
    let stored = world.store().entity(&Scope::All, EntityKind::KIND, &version).await.unwrap().unwrap();
    let damaged = Write::entity(Entity { body: "damaged".into(), ..stored });
    world.store().commit(Commit::new(world.clock().now()).write(damaged)).await.unwrap();

    write(directory.path(), "Second version.");
    let world = world.restart(Faults::default()).await;
    world.client().intervene(deleted.id, Action::Delete, None).await.unwrap();
    assert_eq!(answer_and_read_last_line(&world, &agent).await, "turn: Second version.[]");
}

#[tokio::test]
async fn the_input_policy_for_a_message_is_that_of_the_open_run() {
    let directory = tempfile::tempdir().unwrap();
    let clerk_with = |input: &str| {
        let text = format!("---\nname: clerk\ninput: {input}\ntools: [ask_user]\n---\nAsk.\n");
        fs::write(directory.path().join("clerk.md"), text).unwrap();
    };
    clerk_with("refuse");
    let world = clerks(&directory).start().await;
    let agent = clerk(&world).await;
    world.asleep(&agent).await;
    clerk_with("steer");
    world.engine().reload().await.unwrap();
    let refused = world.client().send(agent.id, "Hurry.", None).await;
    assert!(matches!(refused, Err(Error::AtWork(_))), "{refused:?}");
    answer_and_read_last_line(&world, &agent).await;
    world.client().send(agent.id, "Again.", None).await.unwrap();
    world.asleep(&agent).await;
    world.client().send(agent.id, "Hurry.", None).await.unwrap();
}

#[tokio::test]
async fn a_run_keeps_its_kind_version_despite_a_crash_at_any_commit() {
    for at in 1..=3 {
        for fault in [Fault::DieBefore, Fault::DieAfter] {
            let directory = tempfile::tempdir().unwrap();
            write(directory.path(), "First version.");
            let world = clerks(&directory).start_with(at, fault).await;
            let agent = clerk(&world).await;
            death_of(world.faults()).await;
            write(directory.path(), "Second version.");
            let started = !world.client().runs(agent.id, Page::default()).await.unwrap().is_empty();
            let world = world.restart(Faults::default()).await;
            let expected = if started { "turn: First version.[]" } else { "turn: Second version.[]" };
            assert_eq!(answer_and_read_last_line(&world, &agent).await, expected, "{fault:?} at commit {at}");
        }
    }
}

#[tokio::test]
async fn reload_applies_changed_kinds_and_a_broken_file_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "First version.");
    let world = clerks(&directory).start().await;
    let paused = clerk(&world).await;
    world.asleep(&paused).await;

    fs::write(directory.path().join("cook.md"), "---\nname: cook\nlimits:\n  max_stepz: 1\n---\nCook.\n")
        .unwrap();
    write(directory.path(), "Second version.");
    let refused = world.engine().reload().await.unwrap_err().to_string();
    assert!(refused.contains("cook.md:4: error:") && refused.contains("max_stepz"), "{refused}");
    assert_eq!(answer_and_read_last_line(&world, &clerk(&world).await).await, "turn: First version.[]");

    let dear = "---\nname: cook\nmodel: nobody::knows\nlimits:\n  max_cost: $1\n---\nCook.\n";
    fs::write(directory.path().join("cook.md"), dear).unwrap();
    let refused = world.engine().reload().await.unwrap_err().to_string();
    assert!(refused.contains("the price of nobody::knows is not known"), "{refused}");

    fs::write(directory.path().join("cook.md"), "---\nname: cook\n---\nCook.\n").unwrap();
    let reloaded = world.engine().reload().await.unwrap();
    assert_eq!((reloaded.added, reloaded.changed), (vec!["cook".to_owned()], vec!["clerk".to_owned()]));
    let new = clerk(&world).await;
    world.asleep(&new).await;
    let in_use = world.engine().client(entourage_types::Owner::local()).kinds_in_use().await.unwrap();
    let clerks: Vec<_> = in_use.iter().filter(|used| used.kind.name == "clerk").collect();
    assert_eq!((clerks.len(), clerks[0].open_runs, clerks[0].is_gone), (1, 1, false));
    let earlier: Vec<u32> = clerks[0].earlier.iter().map(|(_, runs)| *runs).collect();
    assert_eq!(earlier, [1], "the paused one has an earlier version");

    fs::remove_file(directory.path().join("clerk.md")).unwrap();
    assert_eq!(world.engine().reload().await.unwrap().removed, ["clerk"]);
    let in_use = world.engine().client(entourage_types::Owner::local()).kinds_in_use().await.unwrap();
    assert!(in_use.iter().any(|used| used.kind.name == "clerk" && used.is_gone));
    assert_eq!(answer_and_read_last_line(&world, &new).await, "turn: Second version.[]");
    assert_eq!(answer_and_read_last_line(&world, &paused).await, "turn: First version.[]");
}

/// Waits until the clerk has asked, or its process has died.
async fn asked_or_dead(world: &World, agent: &Agent) {
    world.faults().unless_dead(world.asleep(agent)).await;
}

#[tokio::test]
async fn a_run_keeps_its_kind_version_despite_a_crash_around_a_reload() {
    for at in 1..=6 {
        for fault in [Fault::DieBefore, Fault::DieAfter, Fault::LoseEpoch] {
            let directory = tempfile::tempdir().unwrap();
            write(directory.path(), "First version.");
            let world = clerks(&directory).start_with(at, fault).await;
            let before = clerk(&world).await;
            asked_or_dead(&world, &before).await;
            write(directory.path(), "Second version.");
            let started = !world.client().runs(before.id, Page::default()).await.unwrap().is_empty();
            world.engine().reload().await.unwrap();
            let opens = world.faults().commits() + 1;
            let after = clerk(&world).await;
            asked_or_dead(&world, &after).await;
            let world = world.restart(Faults::default()).await;
            let expected = if started { "turn: First version.[]" } else { "turn: Second version.[]" };
            assert_eq!(
                answer_and_read_last_line(&world, &before).await,
                expected,
                "{fault:?} at commit {at}"
            );
            // Another process opens the run, and has not reloaded the file.
            let is_elsewhere = (at, fault) == (opens, Fault::LoseEpoch);
            let expected = if is_elsewhere { "turn: First version.[]" } else { "turn: Second version.[]" };
            assert_eq!(answer_and_read_last_line(&world, &after).await, expected, "{fault:?} at commit {at}");
        }
    }
}

#[tokio::test]
async fn the_new_description_of_a_peer_is_in_the_next_request_after_a_reload() {
    let directory = tempfile::tempdir().unwrap();
    let peer = |description: &str| {
        let text = format!("---\nname: helper\ndescription: {description}\n---\nHelp.\n");
        fs::write(directory.path().join("helper.md"), text).unwrap();
    };
    let lead = "---\nname: lead\ntools: [send_message]\npeers: [helper]\n---\nLead.\n";
    fs::write(directory.path().join("lead.md"), lead).unwrap();
    peer("Knows birds.");
    let model = ScriptedModel::deciding(|_| Some(Ok(Script::text("Yes."))));
    let world = world(model.clone(), &directory).start().await;
    let agent = world.ask_kind(Some("lead"), "Go.").await;
    world.ended(agent.id).await;
    peer("Knows fish.");
    world.engine().reload().await.unwrap();
    let other = world.ask_kind(Some("lead"), "Go.").await;
    world.ended(other.id).await;
    let described: Vec<String> =
        model.requests().iter().map(|request| request.tools[0].description.clone()).collect();
    let [before, after] = &*described else { panic!("{described:?}") };
    assert!(before.contains("Knows birds.") && !before.contains("Knows fish."), "{before}");
    assert!(after.contains("Knows fish.") && !after.contains("Knows birds."), "{after}");
}
