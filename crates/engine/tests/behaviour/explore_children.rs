//! The children of an exploration: beside each other and the main work, and listed whatever became of them.

use entourage_engine::NewAgent;
use entourage_store::Page;
use entourage_testkit::{Asked, HeldModel, World, texts};
use entourage_types::{
    Action, Agent, AgentId, Author, ItemBody, Question, QuestionStatus, Status, StopReason, WaitingOn,
};

use crate::kit::{
    WorldExt, at_once, eventually,
    explorer::{CLEAR, Child, Mind, lines, run_of, text},
};

/// Shows: S3-R036, S3-R037, S3-R038, S3-R041, S3-R049, S3-R050.
#[tokio::test]
async fn children_explore_four_parts_beside_the_main_work_and_are_joined_whatever_became_of_them() {
    let world = Mind { subquestions: 6, ..CLEAR }.world().start().await;
    let root = world.ask("Go.").await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let tree = world.client().tree(root.id).await.unwrap();
    assert_eq!(tree.len(), 5, "the root and four children: {tree:?}");
    let all = lines(&world, &root).await;
    let at = |wanted: &str| all.iter().position(|line| line.contains(wanted)).expect(wanted);
    assert!(at("the main answer") < at("did part 0"), "results are withheld until the join: {all:?}");
    for part in [0, 2, 3] {
        assert_eq!(
            all.iter().filter(|line| line.contains(&format!("did part {part}"))).count(),
            1,
            "{all:?}"
        );
    }
    let tasks = world.client().tasks(Some(root.id), None, Page::default()).await.unwrap();
    assert_eq!(tasks.len(), 4);
    for child in tree.iter().filter(|agent| agent.id != root.id) {
        let lines = lines(&world, child).await;
        assert!(!lines.iter().any(|line| line.starts_with("decision")), "the main step only: {lines:?}");
    }
    assert_eq!(world.audit().await, []);
}

/// An agent that a person puts below an exploration asks and sums up for them, and divides nothing: only the top does.
///
/// Shows: S3-R041.
#[tokio::test]
async fn an_exploration_that_a_person_puts_below_another_does_not_divide() {
    let world = Mind { ambiguous: true, subquestions: 2, ..CLEAR }.world().start().await;
    let top = world.ask("Go.").await;
    let question = world.question(top.id).await;
    assert_eq!(question.agent, top.id);
    let below = NewAgent { message: Some("Go below.".into()), parent: Some(top.id), ..NewAgent::default() };
    let below = world.client().create(below, None).await.unwrap();
    let asks = async || world.client().questions_of(below.id).await.unwrap();
    let asked =
        eventually("it asks the person itself", asks, |asked: &Vec<Question>| !asked.is_empty()).await;
    world.client().answer(asked[0].id, text("the red one")).await.unwrap();
    assert_eq!(world.ended(below.id).await.status, Status::Succeeded);
    let tree = world.client().tree(top.id).await.unwrap();
    assert_eq!(tree.len(), 2, "neither has any other below it: {tree:?}");
    let lines = lines(&world, &below).await;
    assert!(!lines.iter().any(|line| line.contains("part 0")), "{lines:?}");
    assert_eq!(lines.last().unwrap(), "turn: in some unit[]");
}

/// Shows: S3-R039, S3-R043, S4-R143.
#[tokio::test]
async fn four_children_and_the_main_work_ask_their_models_at_the_same_time() {
    let mind = Mind { subquestions: 4, ..CLEAR };
    let model = HeldModel::new(mind.model());
    let world = mind.world_with(model.clone(), |_| {}).dispatchers(at_once(5)).start().await;
    let root = world.ask("Go.").await;
    // Three decisions come before.
    for _ in 0..3 {
        model.begun().await;
        model.let_go(1);
    }
    for _ in 0..5 {
        model.begun().await;
    }
    let tree = world.client().tree(root.id).await.unwrap();
    let at_work = tree.iter().filter(|agent| agent.status == Status::Running).count();
    assert_eq!((tree.len(), at_work), (5, 5), "none has its answer");
    model.let_go(5 + 1);
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
}

async fn open_questions(world: &World, root: &Agent) -> Vec<Question> {
    world.client().questions(Some(root.id), Some(QuestionStatus::Open), Page::default()).await.unwrap()
}

/// Returns how often the agent has been activated, once it sleeps until its children have ended.
async fn activations(world: &World, agent: &Agent) -> u64 {
    world.asleep(agent).await;
    let agent = world.client().agent(agent.id).await.unwrap();
    assert_eq!(agent.waiting_on, Some(WaitingOn::Agent));
    agent.epoch.number
}

async fn has_ended(world: &World, id: AgentId) -> Status {
    let status = async || world.client().agent(id).await.unwrap().status;
    eventually("the child has ended", status, |status| status.is_terminal()).await
}

/// Shows: S3-R057.
#[tokio::test]
async fn children_that_fail_or_are_deleted_are_listed_with_their_status_and_wake_their_parent_once_in_all() {
    let child = |part| if part == 1 { Child::Fails } else { Child::Asks };
    let mind = Mind { subquestions: 4, child, ..CLEAR };
    let model = mind.model();
    let world = mind.world_with(model.clone(), |_| {}).start().await;
    let root = world.ask("Go.").await;
    let asked_by_all = async || open_questions(&world, &root).await;
    let open = eventually("three children ask", asked_by_all, |open| open.len() == 3).await;
    let tree = async || world.client().tree(root.id).await.unwrap();
    let is_failed = |tree: &Vec<Agent>| tree.iter().any(|agent| agent.status == Status::Failed);
    eventually("one has failed", tree, is_failed).await;
    let before = activations(&world, &root).await;
    let of = |part: usize| {
        let text = format!("Which part {part}?");
        open.iter().find(|question| question.text == text).unwrap()
    };

    world.client().answer(of(0).id, text("that one")).await.unwrap();
    assert_eq!(has_ended(&world, of(0).agent).await, Status::Succeeded);
    assert_eq!(activations(&world, &root).await, before, "not for one that found something");
    world.client().intervene(of(2).agent, Action::Delete, None).await.unwrap();
    assert_eq!(has_ended(&world, of(2).agent).await, Status::Cancelled);
    assert_eq!(activations(&world, &root).await, before, "not for one that was deleted");
    world.client().answer(of(3).id, text("that one")).await.unwrap();
    let ended = world.ended(root.id).await;
    assert_eq!((ended.status, ended.epoch.number), (Status::Succeeded, before + 1), "for the last of them");

    let items = world.client().items(root.id, 0, 200).await.unwrap();
    let results = items.iter().filter_map(|item| match &item.body {
        ItemBody::Message(message) if matches!(message.from, Author::Agent { .. }) => message.ended,
        _ => None,
    });
    use Status::{Cancelled, Failed, Succeeded};
    assert_eq!(results.collect::<Vec<_>>(), [Succeeded, Failed, Cancelled, Succeeded]);
    let requests = model.requests();
    let summary = requests.iter().find(|request| Asked::by(request) == Asked::Summary).unwrap();
    let read = texts(summary);
    for line in
        ["assistant: did part 0", "assistant (failed): ", "assistant (cancelled): deleted by the user"]
    {
        assert!(read.contains(line), "{line}: {read}");
    }
    assert_eq!(run_of(&world, &root).await.stop_reason, Some(StopReason::Completed));
    assert_eq!(world.audit().await, []);
}
