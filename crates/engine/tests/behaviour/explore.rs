//! An exploration: questions, children beside the main work, a summary.

use entourage_engine::Kinds;
use entourage_llm::{Error, Message, Request, Result, Script, ScriptedModel};
use entourage_store::{MemoryStore, Page};
use entourage_testkit::{PersonAction, Story, World, WorldBuilder, plain};
use entourage_types::{Action, Agent, Answer, Kind, QuestionStatus, Status, WaitingOn};
use serde_json::{Value, json};

use crate::kit::{WorldExt, bare, eventually, first_tools};

/// What the model of a test decides.
#[derive(Clone, Copy)]
struct Mind {
    ambiguous: bool,
    /// How many blocking questions it would ask.
    missing: usize,
    subquestions: usize,
    /// Whether the first summary asks.
    uncertain: bool,
}

const CLEAR: Mind = Mind { ambiguous: false, missing: 0, subquestions: 0, uncertain: false };
const WHOLE: Mind = Mind { ambiguous: true, missing: 1, subquestions: 4, uncertain: true };

/// The built-in explorer, under the name of the kind that people ask in tests.
fn explorers() -> Kinds {
    let explorer = Kinds::builtin().named("explorer").unwrap();
    let own = bare("assistant");
    Kinds::none().with(Kind {
        peers: vec![own.name.clone()],
        name: own.name,
        context: own.context,
        ..Kind::clone(&explorer)
    })
}

impl Mind {
    fn world(self) -> WorldBuilder {
        let model = ScriptedModel::deciding(move |request| Some(self.answer(request)));
        World::builder(model).tools(first_tools()).kinds(explorers())
    }

    fn answer(self, request: &Request) -> Result<Script> {
        let read = texts(request);
        let decided = |value: Value| Ok(Script::text(value.to_string()));
        // Each decision has a prompt of its own.
        if request.system.contains("whether the user's request is ambiguous") {
            return decided(json!({ "ambiguous": self.ambiguous, "question": "Which one?" }));
        }
        if request.system.contains("whether critical information is missing") {
            let asked = read.matches("seven").count();
            return decided(
                json!({ "missing": asked < self.missing, "question": format!("How many? {asked}") }),
            );
        }
        if request.system.contains("independent subquestions") {
            let parts: Vec<String> = (0..self.subquestions).map(|part| format!("part {part}")).collect();
            return decided(json!({ "subquestions": parts }));
        }
        if request.system.contains("Write the whole result") {
            let again = read.contains("Metric?");
            let summary = if again { "in metres" } else { "in some unit" };
            let needs_more_info = self.uncertain && !again;
            return decided(json!({
                "summary": summary, "needs_more_info": needs_more_info, "question": "Metric?"
            }));
        }
        match request.messages.iter().find(|message| matches!(message, Message::User(_))) {
            Some(Message::User(text)) if text == "part 1" => {
                Err(Error::Refused { model: "m".into(), cause: "it cannot be explored".into() })
            }
            Some(Message::User(text)) if text.starts_with("part") => Ok(Script::text(format!("did {text}"))),
            _ => Ok(Script::text("the main answer")),
        }
    }
}

/// All that a request shows the model of its conversation.
fn texts(request: &Request) -> String {
    let texts = request.messages.iter().map(|message| match message {
        Message::User(text) | Message::Notice(text) | Message::Context(text) => text.clone(),
        Message::Assistant { text, .. } | Message::Output { text, .. } => text.clone(),
    });
    texts.collect::<Vec<_>>().join("\n")
}

async fn lines(world: &World, agent: &Agent) -> Vec<String> {
    plain(&world.client().items(agent.id, 0, 200).await.unwrap())
}

async fn answer(world: &World, agent: &Agent, text: &str, with: Answer) {
    let question = world.question(agent.id).await;
    assert_eq!(question.text, text);
    world.asleep(agent).await;
    assert_eq!(world.client().agent(agent.id).await.unwrap().waiting_on, Some(WaitingOn::User));
    world.client().answer(question.id, with).await.unwrap();
}

fn text(text: &str) -> Answer {
    Answer::Text(text.into())
}

/// Shows: S3-R027, S3-R040.
#[tokio::test]
async fn a_clear_question_is_answered_without_questions_or_children() {
    let world = CLEAR.world().start().await;
    let root = world.ask("Go.").await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let lines = lines(&world, &root).await;
    assert!(lines.contains(&"turn: the main answer[]".to_owned()), "{lines:?}");
    assert_eq!(lines.last().unwrap(), "turn: in some unit[]");
    assert_eq!(world.client().tree(root.id).await.unwrap().len(), 1);
}

/// Shows: S3-R022, S3-R023, S3-R029, S3-R030, S3-R031, S3-R033, S3-R034, S3-R051, S3-R052, S3-R053.
#[tokio::test]
async fn at_most_three_blocking_questions_follow_the_clarification_and_come_before_any_work() {
    let world = Mind { missing: 9, ..WHOLE }.world().start().await;
    let root = world.ask("Go.").await;
    answer(&world, &root, "Which one?", text("the red one")).await;
    for number in 0..3 {
        answer(&world, &root, &format!("How many? {number}"), text("seven")).await;
        assert_eq!(world.client().tree(root.id).await.unwrap().len(), 1, "nothing is explored yet");
    }
    answer(&world, &root, "Metric?", text("yes")).await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    assert_eq!(lines(&world, &root).await.last().unwrap(), "turn: in metres[]");
    assert_eq!(world.audit().await, []);
}

/// Shows: S3-R032, S3-R054.
#[tokio::test]
async fn a_question_that_stays_open_ends_the_exploration_well() {
    for (mind, asked, expected) in [
        (Mind { ambiguous: true, ..CLEAR }, "Which one?", "turn: You left my question open"),
        (Mind { missing: 1, ..CLEAR }, "How many? 0", "turn: You left my question open"),
        (Mind { uncertain: true, ..CLEAR }, "Metric?", "turn: in some unit[]"),
    ] {
        let world = mind.world().start().await;
        let root = world.ask("Go.").await;
        answer(&world, &root, asked, Answer::Declined).await;
        assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
        let lines = lines(&world, &root).await;
        assert!(lines.last().unwrap().starts_with(expected), "{lines:?}");
    }
}

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

#[tokio::test]
async fn a_new_instruction_begins_the_step_that_it_meets_anew_and_keeps_what_was_answered() {
    let world = WHOLE.world().start().await;
    let root = world.ask("Go.").await;
    answer(&world, &root, "Which one?", text("the red one")).await;
    let question = world.question(root.id).await;
    world.asleep(&root).await;
    world.client().intervene(root.id, Action::Modify, Some("Go elsewhere.")).await.unwrap();
    let closed = async || {
        world.client().questions(Some(root.id), Some(QuestionStatus::Open), Page::default()).await.unwrap()
    };
    eventually("it is decided anew", closed, |open| {
        open.iter().all(|open| open.id != question.id) && !open.is_empty()
    })
    .await;
    answer(&world, &root, "How many? 0", text("seven")).await;
    answer(&world, &root, "Metric?", text("yes")).await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let lines = lines(&world, &root).await;
    assert_eq!(
        lines.iter().filter(|line| line.contains("Which one?")).count(),
        2,
        "once decided and asked: {lines:?}"
    );
    assert!(lines.contains(&"message: Go elsewhere.".to_owned()), "{lines:?}");
    assert!(world.client().answer(question.id, text("too late")).await.is_err());
    assert_eq!(world.audit().await, []);
}

fn whole_story() -> Story {
    Story::new(["Go."], |_| WHOLE.world().store(MemoryStore::default()))
        .person(|question| match question.text.as_str() {
            "Metric?" | "Which one?" => PersonAction::Answer(text("yes")),
            _ => PersonAction::Answer(text("seven")),
        })
        .agents_in_any_order()
}

/// Shows: INV-03.
#[tokio::test(flavor = "multi_thread")]
async fn an_exploration_survives_a_crash_at_every_commit() {
    let undisturbed = whole_story().run(1, &[]).await;
    assert_eq!(undisturbed.transcripts.len(), 5);
    assert_eq!(undisturbed.transcripts[0].last().unwrap(), "turn: in metres[]");
    let points = whole_story().survives([1], 1).await;
    assert!(points >= 100, "{points}");
}
