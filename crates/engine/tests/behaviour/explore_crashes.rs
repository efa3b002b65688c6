//! Explorations survive a crash at every commit: nothing is lost, doubled or orphaned.

use entourage_store::{MemoryStore, Page};
use entourage_testkit::{Fault, Faults, PersonAction, Story, World, crash_stride};
use entourage_types::{Action, Agent, Question, QuestionStatus, Status};

use crate::{
    interventions::{intervene_once, repeat_after_a_crash},
    kit::{
        WorldBuilderExt, WorldExt, eventually,
        explorer::{CLEAR, Child, MainWork, Mind, WHOLE, lines, text},
        within,
    },
};

/// Of so many crash points one is tried, unless the environment asks for more.
const STRIDE: usize = 5;

/// One of four children fails, and a person deletes another one.
fn whole_story() -> Story {
    let child = |part| match part {
        1 => Child::Fails,
        2 => Child::Asks,
        _ => Child::Finds,
    };
    Story::new(["Go."], move |_| Mind { child, ..WHOLE }.world().store(MemoryStore::default()))
        .person(|question| match question.text.as_str() {
            "Metric?" | "Which one?" => PersonAction::Answer(text("yes")),
            "Which part 2?" => PersonAction::Delete,
            _ => PersonAction::Answer(text("seven")),
        })
        .agents_in_any_order()
}

/// Shows: INV-03, S3-R057, S3-R104, S3-R105.
#[tokio::test(flavor = "multi_thread")]
async fn an_exploration_survives_a_crash_at_every_commit() {
    let undisturbed = whole_story().run(1, &[]).await;
    assert_eq!(undisturbed.transcripts.len(), 5);
    let root = &undisturbed.transcripts[0];
    assert_eq!(root.last().unwrap(), "turn: in metres[]");
    for result in ["message: did part 0", "message: deleted by the user", "message: did part 3"] {
        assert_eq!(root.iter().filter(|line| *line == result).count(), 1, "{root:#?}");
    }
    let points = whole_story().survives([1], STRIDE).await;
    assert!(points >= 50, "{points}");
}

/// Shows: S3-R045.
#[tokio::test(flavor = "multi_thread")]
async fn a_main_loop_that_ends_at_its_limit_survives_a_crash_at_every_commit() {
    let story = Story::new(["Go."], |_| {
        let mind = Mind { subquestions: 2, main: MainWork::Endless, ..CLEAR };
        mind.world_with(mind.model(), |kind| kind.limits.max_steps = 3).store(MemoryStore::default())
    })
    .agents_in_any_order();
    let undisturbed = story.run(1, &[]).await;
    assert_eq!(undisturbed.transcripts[0].last().unwrap(), "turn: in some unit[]");
    let points = story.survives([1], STRIDE).await;
    assert!(points >= 12, "{points}");
}

async fn open(world: &World, root: &Agent) -> Vec<Question> {
    world.client().questions(Some(root.id), Some(QuestionStatus::Open), Page::default()).await.unwrap()
}

/// Waits until this question is the one that is open, and the agent sleeps.
async fn asks(world: &World, root: &Agent, words: &str) {
    let is_it = |open: &Vec<Question>| matches!(&open[..], [question] if question.text == words);
    eventually(words, async || open(world, root).await, is_it).await;
    world.asleep(root).await;
}

/// Answers the question with this text that is none of these, once.
async fn answered(world: World, root: &Agent, words: &str, but: &[Question], with: &str) -> World {
    repeat_after_a_crash(world, async |world| {
        let asked = async || {
            let mut all = world.client().questions(Some(root.id), None, Page::default()).await.unwrap();
            all.retain(|one| one.text == words && but.iter().all(|other| other.id != one.id));
            all
        };
        let asked = eventually(words, asked, |asked| !asked.is_empty()).await;
        // The process may have died after the answer.
        if asked[0].status == QuestionStatus::Open {
            world.client().answer(asked[0].id, text(with)).await.unwrap();
        }
    })
    .await
}

/// The statuses of the children, oldest first.
async fn children(world: &World, root: &Agent) -> Vec<Status> {
    let mut tree = world.client().tree(root.id).await.unwrap();
    tree.retain(|agent| agent.parent == Some(root.id));
    tree.sort_by_key(|agent| agent.id);
    tree.iter().map(|child| child.status).collect()
}

/// A person changes the instruction while a question is open, and again while a child is at work. Returns how many
/// commits the first process began.
async fn modify_with(at: u64, fault: Fault) -> u64 {
    let child = |part| if part == 1 { Child::Asks } else { Child::Finds };
    let mind = Mind { subquestions: 2, child, ..WHOLE };
    let world = mind.world().store(MemoryStore::default()).start_with(at, fault).await;
    let faults = world.faults().clone();
    let root = world.ask("Go.").await;
    let world = answered(world, &root, "Which one?", &[], "the red one").await;

    let world = repeat_after_a_crash(world, async |world| asks(world, &root, "How many? 0").await).await;
    let dropped = open(&world, &root).await;
    let world = intervene_once(world, root.id, Action::Modify, Some("Go elsewhere.")).await;
    let world = answered(world, &root, "How many? 0", &dropped, "seven").await;

    let world = repeat_after_a_crash(world, async |world| {
        asks(world, &root, "Which part 1?").await;
        let statuses = async || children(world, &root).await;
        let at_work = [Status::Succeeded, Status::Waiting];
        eventually("one child is done", statuses, |now| *now == at_work).await;
    })
    .await;
    let dropped = [dropped, open(&world, &root).await].concat();
    let world = intervene_once(world, root.id, Action::Modify, Some("Go home.")).await;
    let world = answered(world, &root, "Which part 1?", &dropped, "this one").await;
    let world = answered(world, &root, "Metric?", &dropped, "yes").await;
    let ends = async |world: &World| {
        assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    };
    let world = repeat_after_a_crash(world, ends).await;
    // A process may die after everything was done.
    let world = world.restart(Faults::default()).await;
    ends(&world).await;

    let lines = lines(&world, &root).await;
    let count = |wanted: &str| lines.iter().filter(|line| line.contains(wanted)).count();
    assert_eq!(lines.last().unwrap(), "turn: in metres[]", "{lines:#?}");
    assert_eq!((count("message: Go elsewhere."), count("message: Go home.")), (1, 1), "{lines:#?}");
    // What was answered stays: it is decided and asked once.
    assert_eq!((count("Which one?"), count("output: the red one"), count("output: seven")), (2, 1, 1));
    assert_eq!(count("turn: the main answer"), 2, "the main work is done anew: {lines:#?}");
    // The round that the second instruction ended had withheld the result of the child that was done.
    assert_eq!((count("message: did part 0"), count("message: did part 1")), (1, 1), "{lines:#?}");
    let ended = [Status::Succeeded, Status::Cancelled, Status::Succeeded, Status::Succeeded];
    eventually("the child is deleted", async || children(&world, &root).await, |now| *now == ended).await;
    assert_eq!(open(&world, &root).await, []);
    for question in &dropped {
        assert!(world.client().answer(question.id, text("too late")).await.is_err(), "{question:?}");
    }
    assert_eq!(world.inconsistencies().await, Vec::<String>::new());
    assert_eq!(world.audit().await, []);
    faults.commits()
}

/// Shows: INV-03, INV-05.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_exploration_with_new_instructions_survives_a_crash_at_every_commit() {
    let commits = modify_with(u64::MAX, Fault::DieBefore).await;
    assert!(commits > 40, "{commits}");
    for at in (1..=commits).step_by(crash_stride(STRIDE)) {
        for fault in Fault::ENDING {
            within(&format!("{fault:?} at commit {at}"), modify_with(at, fault)).await;
        }
    }
}
