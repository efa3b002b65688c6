//! Inconsistencies of every sort, written to the database behind the engine's back: found,
//! reported, repaired, and the agents continue.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use crate::kit::{Database, WorldBuilderExt, WorldExt, death_of, eventually, first_tools, one_kind, within};
use async_trait::async_trait;
use entourage_engine::{
    Engine, NewAgent,
    maintenance::{Job, jobs},
};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::{
    Commit, Committed, Error as StoreError, Layered, MemoryStore, Page, Store, StoreLayer, Write,
};
use entourage_testkit::{Fault, Faults, World, WorldBuilder, audit, plain};
use entourage_types::{
    Action, Agent, AgentId, Author, EntityKind, Intervention, InterventionId, InterventionStatus, Owner,
    Post, PostBody, PostId, QuestionStatus, Scope, Status, Time, WaitingOn, WakeupId,
};
use serde_json::json;

/// Runs every job; returns how many inconsistencies each job found and repaired, if it found any.
async fn repair(world: &World) -> Vec<(&'static str, u32, u32)> {
    jobs_with_findings(world).await;
    let mut done = Vec::new();
    for job in jobs() {
        let job_run = world.operator_with(&Faults::default()).job_run(&*job).await.unwrap();
        assert_eq!(job_run.error, None);
        done.push((job.name(), job_run.found, job_run.repaired));
    }
    done.retain(|(_, found, _)| *found > 0);
    done
}

/// The jobs that find an inconsistency, once one does: an agent that was woken twice works for a
/// moment longer.
async fn jobs_with_findings(world: &World) -> Vec<String> {
    let found =
        eventually("a job finds something", || world.inconsistencies(), |found| !found.is_empty()).await;
    found.iter().map(|text| text.split(':').next().unwrap().to_owned()).collect()
}

fn of_interventions() -> Box<dyn Job> {
    jobs().into_iter().find(|job| job.name() == "interventions").unwrap()
}

/// Runs the job at another engine when this one is about to record its own run.
#[derive(Clone, Default)]
struct RunsBetween(Arc<OnceLock<Engine>>);

#[async_trait]
impl StoreLayer for RunsBetween {
    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> entourage_store::Result<Committed> {
        let records =
            |write: &Write| matches!(write, Write::Record(entity, _) if entity.kind == EntityKind::JOB_RUN);
        if let Some(other) = self.0.get().filter(|_| commit.writes.iter().any(records)) {
            let job = of_interventions();
            other.job_run(&*job).await.map_err(|error| StoreError::Database(error.to_string()))?;
        }
        store.commit(commit).await
    }
}

#[tokio::test]
async fn two_nodes_that_run_a_job_at_once_lose_no_count() {
    let (rows, between) = (MemoryStore::default(), RunsBetween::default());
    let node = |store: Arc<dyn Store>| {
        let model = Arc::new(ScriptedModel::new([]));
        Engine::builder(store, model).kinds(one_kind(|_| {})).build()
    };
    let slow = node(Arc::new(Layered::new(Arc::new(rows.handle()), between.clone())));
    let quick = node(Arc::new(rows.handle()));
    let client = quick.client(Owner::local());
    let agent = client.create(NewAgent::default(), None).await.unwrap();
    let (action, status, now) = (Action::Pause, InterventionStatus::Pending, agent.created);
    let lost = Intervention {
        id: InterventionId::new(),
        owner: Owner::local(),
        root: agent.id,
        agent: agent.id,
        by: Author::User,
        action,
        text: None,
        of: None,
        status,
        created: now,
        updated: now,
    };
    rows.commit(Commit::new(now).write(Write::record(&lost).unwrap())).await.unwrap();
    between.0.set(quick.clone()).ok().unwrap();
    let reported = slow.job_run(&*of_interventions()).await.unwrap();
    assert_eq!(rows.inbox(agent.id).await.unwrap().len(), 1, "it is posted once");
    let runs = quick.job_runs().await.unwrap();
    let (_, recorded) = runs.into_iter().find(|(job, _)| job.name() == "interventions").unwrap();
    assert_eq!((recorded.repaired_ever, &reported), (1, &recorded));
}

async fn transcript(world: &World, agent: &Agent) -> Vec<String> {
    let items = world.client().items(agent.id, 0, 100).await.unwrap();
    plain(&items)
}

/// The world in a new process, in which no wake-up of these agents is left to deliver: a wake-up
/// that is delivered twice, by the first read and by its hint, would repair the inconsistency of a
/// test by itself.
async fn restart_consistent(world: World) -> World {
    let world = world.restart(Faults::default()).await;
    assert_eq!(world.inconsistencies().await, [""; 0], "to wait is no inconsistency");
    world
}

/// A world on this database, which a test changes as a person with `sqlite3` may.
fn world_of(model: &ScriptedModel, database: &Database) -> WorldBuilder {
    World::builder(model.clone()).tools(first_tools()).store(database.open())
}

/// An agent that has asked its user a question.
async fn asking(database: &Database) -> (World, Agent) {
    let model =
        ScriptedModel::new([Script::call("ask_user", json!({"question": "Which?"})), Script::text("Done.")]);
    let world = world_of(&model, database).start().await;
    let root = world.ask("Ask me.").await;
    world.asleep(&root).await;
    (restart_consistent(world).await, root)
}

/// An agent whose researcher has asked the user a question.
async fn delegating(database: &Database) -> (World, Agent, Agent) {
    let model = ScriptedModel::deciding(|request: &Request| {
        let researcher = request.system.contains("You are the Researcher");
        Some(Ok(match (researcher, request.messages.last()) {
            (false, Some(Message::User(_))) => {
                Script::call("send_message", json!({"recipient": "researcher", "message": "look"}))
            }
            (true, Some(Message::User(_))) => Script::call("ask_user", json!({"question": "Which?"})),
            _ => Script::text("Done."),
        }))
    });
    let world = world_of(&model, database).start().await;
    let root = world.ask("Delegate.").await;
    world.question(root.id).await;
    world.asleep(&root).await;
    let tree = world.client().tree(root.id).await.unwrap();
    world.asleep(&tree[1]).await;
    (restart_consistent(world).await, root, tree[1].clone())
}

#[tokio::test]
async fn a_lost_timer_wake_up_is_restored_at_its_time() {
    let database = Database::new();
    let model = ScriptedModel::new([Script::call("wait", json!({"seconds": 3600})), Script::text("Waited.")]);
    let world = world_of(&model, &database).start().await;
    let root = world.ask("Wait.").await;
    world.asleep(&root).await;
    let world = restart_consistent(world).await;
    database.execute("DELETE FROM wakeups");
    assert_eq!(jobs_with_findings(&world).await, ["waits"]);
    assert_eq!(repair(&world).await, [("waits", 1, 1)]);
    assert_eq!(world.inconsistencies().await, [""; 0], "it has its wake-up again, at its time");
    assert_eq!(world.client().agent(root.id).await.unwrap().status, Status::Waiting);
    world.clock().advance(Duration::from_secs(3601));
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
}

#[tokio::test]
async fn an_undelivered_answer_is_repaired() {
    let database = Database::new();
    let (world, root) = asking(&database).await;
    database.execute("UPDATE entities SET status = 'answered', \
         body = json_set(body, '$.status', 'answered', '$.answer', json('{\"text\": \"the red one\"}')) WHERE kind = 'question'",
    );
    assert_eq!(jobs_with_findings(&world).await, ["waits"]);
    assert_eq!(repair(&world).await, [("waits", 1, 1)]);
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    assert_eq!(transcript(&world, &root).await[2], "output: the red one");
    assert_eq!(world.inconsistencies().await, [""; 0]);
}

#[tokio::test]
async fn a_wait_for_a_missing_question_ends_as_unanswered() {
    let database = Database::new();
    let (world, root) = asking(&database).await;
    database.execute("DELETE FROM entities WHERE kind = 'question'");
    assert_eq!(repair(&world).await, [("waits", 1, 1)]);
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    assert!(transcript(&world, &root).await[2].contains("There was no answer in time"));
}

#[tokio::test]
async fn an_undelivered_task_result_is_repaired() {
    let database = Database::new();
    let (world, root, _) = delegating(&database).await;
    database.execute(
        "UPDATE entities SET status = 'succeeded', \
         body = json_set(body, '$.status', 'succeeded', '$.result', json('{\"text\": \"it is red\"}')) \
         WHERE kind = 'task'",
    );
    assert_eq!(repair(&world).await, [("waits", 1, 1)]);
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    assert_eq!(transcript(&world, &root).await[2], "output: it is red");
}

/// Shows: S4-R124.
#[tokio::test]
async fn a_task_whose_agent_has_failed_is_failed_and_its_question_expires() {
    let database = Database::new();
    let (world, root, worker) = delegating(&database).await;
    database.execute(&format!(
        "UPDATE runs SET status = 'failed', open = 0, ended = started WHERE agent = '{0}'; \
             UPDATE agents SET status = 'failed', waiting_on = NULL WHERE id = '{0}'",
        worker.id
    ));
    assert_eq!(jobs_with_findings(&world).await, ["questions", "tasks"]);
    assert_eq!(repair(&world).await, [("questions", 1, 1), ("tasks", 1, 1)]);
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded, "the orchestrator makes do without");
    assert!(transcript(&world, &root).await[2].contains("no longer works on it"));
    let asked = world.client().questions(Some(root.id), None, Page::default()).await.unwrap();
    assert_eq!(asked[0].status, QuestionStatus::Expired);
    assert_eq!(world.inconsistencies().await, [""; 0]);
}

#[tokio::test]
async fn leftover_rows_of_a_missing_tree_are_repaired() {
    let database = Database::new();
    let (world, root) = asking(&database).await;
    world.client().intervene(root.id, Action::Pause, None).await.unwrap();
    // An activation that still applies the pause would race with the deletion.
    let client = world.client();
    let is_applied =
        |all: &Vec<Intervention>| all.iter().all(|one| one.status == InterventionStatus::Applied);
    eventually(
        "the pause is applied",
        async || client.interventions(root.id, Page::all()).await.unwrap(),
        is_applied,
    )
    .await;
    let world = restart_consistent(world).await;
    database.execute(
        "DELETE FROM inbox; DELETE FROM wakeups; DELETE FROM runs; DELETE FROM items; DELETE FROM agents",
    );
    let events = world.store().events(&Scope::All, root.id, 0, 10).await.unwrap();
    assert_eq!(events, [], "the events have gone with it");
    assert!(jobs_with_findings(&world).await.contains(&"questions".to_owned()));
    for (job, found, repaired) in repair(&world).await {
        assert_eq!(found, repaired, "{job}");
    }
    assert_eq!(world.inconsistencies().await, [""; 0]);
    // The next tree begins with its first event.
    let next = world.client().create(NewAgent::default(), None).await.unwrap();
    let events = world.store().events(&Scope::All, next.id, 0, 10).await.unwrap();
    assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), [1]);
}

#[tokio::test]
async fn a_post_without_a_wake_up_is_read_after_repair() {
    let model = ScriptedModel::new([Script::text("Read.")]);
    let world = World::scripted(&model, first_tools()).await;
    let agent = world.client().create(NewAgent::default(), None).await.unwrap();
    let body = PostBody::Message {
        from: Author::User,
        text: "Read this.".into(),
        task: None,
        queued: false,
        options: None,
    };
    let post = Post { id: PostId::new(), agent: agent.id, at: agent.created, wakeup: WakeupId::new(), body };
    world.store().commit(Commit::new(agent.created).write(Write::Post(post))).await.unwrap();
    assert_eq!(repair(&world).await, [("stranded", 1, 1)]);
    assert_eq!(world.ended(agent.id).await.status, Status::Succeeded);
    assert_eq!(world.inconsistencies().await, [""; 0]);
}

/// A process that ended at its second commit, with an agent at work.
async fn died_at_work(database: &Database, model: &ScriptedModel) -> (World, Agent) {
    let world = world_of(model, database).start_with(2, Fault::DieAfter).await;
    let root = world.ask("Work.").await;
    death_of(world.faults()).await;
    assert_eq!(world.inconsistencies().await, [""; 0], "a death leaves no inconsistency");
    (world, root)
}

/// Shows: INV-04.
#[tokio::test]
async fn a_running_agent_without_a_wake_up_continues_after_repair() {
    let database = Database::new();
    let model = ScriptedModel::new([Script::call("list_agents", json!({})), Script::text("Done.")]);
    let (world, root) = died_at_work(&database, &model).await;
    database.execute("DELETE FROM wakeups");
    let world = world.restart(Faults::default()).await;
    assert_eq!(jobs_with_findings(&world).await, ["stranded"]);
    assert_eq!(repair(&world).await, [("stranded", 1, 1)]);
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
}

#[tokio::test]
async fn an_agent_marked_ended_with_an_open_run_continues_after_repair() {
    let database = Database::new();
    let (world, root) = asking(&database).await;
    database.execute("UPDATE agents SET status = 'succeeded', waiting_on = NULL");
    assert_eq!(jobs_with_findings(&world).await, ["stranded"]);
    assert_eq!(repair(&world).await, [("stranded", 1, 1)]);
    let waits = |agent: &Agent| agent.status == Status::Waiting;
    eventually("it waits again", || async { world.client().agent(root.id).await.unwrap() }, waits).await;
    assert_eq!(world.inconsistencies().await, [""; 0]);
}

/// Its run is between two turns, so that the next item is a turn with calls.
#[tokio::test]
async fn an_agent_marked_ended_between_two_turns_continues_its_run() {
    let database = Database::new();
    let model = ScriptedModel::new([
        Script::call("list_agents", json!({})),
        Script::call("list_agents", json!({})),
        Script::text("Done."),
    ]);
    let world = world_of(&model, &database).start_with(2, Fault::DieAfter).await;
    let root = world.ask("Go.").await;
    death_of(world.faults()).await;
    database.execute("UPDATE agents SET status = 'succeeded', waiting_on = NULL");
    // A store that is opened anew reads the row that was changed.
    let (copy, witness) = (Database::new(), world.witness().clone());
    database.execute(&format!("VACUUM INTO '{}'", copy.path().display()));
    let world = world_of(&model, &copy).between(witness.clone()).start().await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    assert_eq!(model.requests().len(), 3);
    assert_eq!(audit(&**world.store(), Some(&witness)).await.unwrap(), []);
}

#[tokio::test]
async fn a_lost_intervention_post_is_repaired_and_applied() {
    let database = Database::new();
    let model = ScriptedModel::new([Script::call("list_agents", json!({})), Script::text("Done.")]);
    let (world, root) = died_at_work(&database, &model).await;
    world.client().intervene(root.id, Action::Pause, None).await.unwrap();
    database.execute("DELETE FROM inbox WHERE body LIKE '%intervention%'");
    assert_eq!(jobs_with_findings(&world).await, ["interventions"]);
    assert_eq!(repair(&world).await, [("interventions", 1, 1)]);
    let world = world.restart(Faults::default()).await;
    world.asleep(&root).await;
    let paused = world.client().agent(root.id).await.unwrap();
    assert_eq!(paused.waiting_on, Some(WaitingOn::Resume));
    assert_eq!(world.inconsistencies().await, [""; 0], "to be paused is no inconsistency");
}

#[tokio::test]
async fn posts_that_wait_during_a_pause_are_no_inconsistency() {
    let database = Database::new();
    let (world, root) = asking(&database).await;
    for action in [Action::CloseSession, Action::Pause, Action::Modify] {
        world
            .client()
            .intervene(root.id, action, (action == Action::Modify).then_some("Stop."))
            .await
            .unwrap();
        eventually(
            "nothing is due",
            || world.store().due(Time::from_micros(i64::MAX), None, 1),
            |due| due.as_ref().is_ok_and(Vec::is_empty),
        )
        .await
        .unwrap();
        assert_eq!(world.inconsistencies().await, [""; 0], "{action}");
    }
    assert_eq!(world.store().inbox(root.id).await.unwrap().len(), 2, "a session to close, and new work");
}

#[tokio::test]
async fn a_wake_up_of_a_missing_agent_is_removed() {
    let database = Database::new();
    let (world, _) = asking(&database).await;
    let nobody = AgentId::new();
    let id = WakeupId::new();
    database.execute(&format!(
        "INSERT INTO wakeups (agent, id, owner, due) VALUES ('{nobody}', '{id}', 'local', 0)"
    ));
    assert_eq!(jobs_with_findings(&world).await, ["wakeups"]);
    assert_eq!(repair(&world).await, [("wakeups", 1, 1)]);
    assert_eq!(world.inconsistencies().await, [""; 0]);
}

#[tokio::test]
async fn a_job_run_ended_by_a_crash_is_not_recorded_as_complete() {
    let database = Database::new();
    let (world, _) = asking(&database).await;
    let jobs = jobs();
    let job = jobs.iter().find(|job| job.name() == "wakeups").unwrap();
    let whole = world.operator_with(&Faults::default()).job_run(&**job).await.unwrap();
    assert!(whole.began.is_some() && whole.at.is_some());
    let (nobody, id) = (AgentId::new(), WakeupId::new());
    database.execute(&format!(
        "INSERT INTO wakeups (agent, id, owner, due) VALUES ('{nobody}', '{id}', 'local', 0)"
    ));
    let dying = Faults::default().plan(2, Fault::DieBefore);
    assert!(world.operator_with(&dying).job_run(&**job).await.is_err());
    let (_, cut_off) = world.operator_with(&Faults::default()).job_runs().await.unwrap().remove(0);
    assert_eq!((cut_off.job.as_str(), cut_off.found, cut_off.repaired), ("wakeups", 1, 1));
    assert!(cut_off.began.is_some() && cut_off.at.is_none(), "{cut_off:?}");
}

/// Shows: S4-R122.
#[tokio::test]
async fn jobs_run_when_due_and_leave_a_record() {
    let database = Database::new();
    let (world, root) = asking(&database).await;
    let engine = world.engine().clone();
    let janitor = tokio::spawn(async move { engine.keep_up().await });
    database.execute("DELETE FROM entities WHERE kind = 'question'");
    let to_come = async || {
        let rounds = world.engine().job_runs().await.unwrap();
        rounds.iter().any(|(_, job_run)| job_run.repaired_ever == 0 && job_run.job == "waits")
    };
    within("the job does its job_run", async {
        while to_come().await {
            world.clock().advance(Duration::from_secs(300));
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let rounds = world.engine().job_runs().await.unwrap();
    let (_, waits) = rounds.iter().find(|(job, _)| job.name() == "waits").unwrap();
    assert!(waits.at.is_some_and(|at| at < waits.due), "{waits:?}");
    assert_eq!((waits.repaired_ever, &waits.error), (1, &None));
    janitor.abort();
    // Another process finds the record, and no job that is due.
    let due = waits.due;
    let world = world.restart(Faults::default()).await;
    let rounds = world.engine().job_runs().await.unwrap();
    let (_, waits) = rounds.iter().find(|(job, _)| job.name() == "waits").unwrap();
    assert!(waits.due >= due && waits.repaired_ever == 1);
}

/// Job runs of all jobs over five inconsistencies, with these faults, and complete ones after them.
/// Returns how many commits the first ones made.
async fn run_jobs_with(faults: Faults) -> u64 {
    let database = Database::new();
    let model = ScriptedModel::deciding(|request: &Request| {
        Some(Ok(match request.messages.last() {
            Some(Message::Output { text, .. }) => Script::text(format!("So it is {text}.")),
            _ => Script::call("ask_user", json!({"question": "Which?"})),
        }))
    });
    let world = world_of(&model, &database).start().await;
    let mut roots = Vec::new();
    for _ in 0..3 {
        roots.push(world.ask("Ask me.").await);
        world.asleep(&roots[roots.len() - 1]).await;
    }
    let mut sql = String::from(
        "UPDATE entities SET status = 'answered', \
         body = json_set(body, '$.status', 'answered', '$.answer', json('{\"text\": \"red\"}')) WHERE kind = 'question';",
    );
    for _ in 0..2 {
        let (nobody, id) = (AgentId::new(), WakeupId::new());
        sql +=
            &format!("INSERT INTO wakeups (agent, id, owner, due) VALUES ('{nobody}', '{id}', 'local', 0);");
    }
    database.execute(&sql);
    for engine in [world.operator_with(&faults), world.operator_with(&Faults::default())] {
        for job in jobs() {
            // A dead engine does nothing more.
            let done = engine.job_run(&*job).await;
            assert!(done.is_ok() || faults.is_dead(), "{done:?}");
        }
    }
    for root in roots {
        assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
        let told = transcript(&world, &root).await;
        assert_eq!(told[2..], ["output: red", "turn: So it is red.[]"]);
    }
    eventually("no job finds anything", || world.inconsistencies(), Vec::is_empty).await;
    for (job, job_run) in world.operator_with(&Faults::default()).job_runs().await.unwrap() {
        let repaired = match job.name() {
            "waits" => 3,
            "wakeups" => 2,
            _ => 0,
        };
        assert_eq!((job_run.repaired_ever, job_run.error), (repaired, None), "{}", job.name());
    }
    faults.commits()
}

#[tokio::test]
async fn a_crash_during_a_job_run_leaves_the_rest_to_the_next_job_run() {
    let commits = run_jobs_with(Faults::default().plan(u64::MAX, Fault::DieBefore)).await;
    assert_eq!(commits, 5 + jobs().len() as u64, "each inconsistency by itself, and a record of each job");
    for at in 1..=commits {
        for fault in [Fault::DieBefore, Fault::DieAfter, Fault::LoseEpoch] {
            run_jobs_with(Faults::default().plan(at, fault)).await;
        }
    }
}
