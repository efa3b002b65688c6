//! An exploration: its questions, its states, its bounds, and new instructions.

use std::time::Duration;

use entourage_engine::Clock as _;
use entourage_store::Page;
use entourage_testkit::{Asked, World, texts};
use entourage_types::{
    Action, Agent, AgentState, Answer, EventBody, Question, QuestionStatus, Status, StopReason, Unread,
    WaitingOn,
};

use crate::kit::{
    WorldExt, eventually,
    explorer::{CLEAR, Child, MainWork, Mind, WHOLE, answer, answer_all, lines, run_of, text},
};

/// Shows: S3-R027, S3-R040, S3-R048.
#[tokio::test]
async fn a_clear_question_is_answered_without_questions_or_children() {
    let world = CLEAR.world().start().await;
    let began = world.clock().now();
    let root = world.ask("Go.").await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let lines = lines(&world, &root).await;
    assert!(lines.contains(&"turn: the main answer[]".to_owned()), "{lines:?}");
    assert_eq!(lines.last().unwrap(), "turn: in some unit[]");
    assert_eq!(world.client().tree(root.id).await.unwrap().len(), 1);
    assert_eq!(world.clock().now(), began, "nobody intervened, and nothing was waited for");
}

/// Shows: S3-R022, S3-R023, S3-R029, S3-R030, S3-R031, S3-R033, S3-R034, S3-R051, S3-R052, S3-R053.
#[tokio::test]
async fn at_most_three_blocking_questions_follow_the_clarification_and_come_before_any_work() {
    let world = Mind { missing: 9, ..WHOLE }.world().start().await;
    let root = world.ask("Go.").await;
    answer(&world, &root, "Which one?", text("the red one")).await;
    for number in 0..3 {
        assert_eq!(world.question(root.id).await.text, format!("How many? {number}"));
        assert_eq!(world.client().tree(root.id).await.unwrap().len(), 1, "nothing is explored yet");
        answer(&world, &root, &format!("How many? {number}"), text("seven")).await;
    }
    answer(&world, &root, "Metric?", text("yes")).await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    assert_eq!(lines(&world, &root).await.last().unwrap(), "turn: in metres[]");
    assert_eq!(world.audit().await, []);
}

/// What becomes of a question that nobody answers. Null is a way to decline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeftOpen {
    Declined,
    Expired,
}

/// Shows: S3-R028, S3-R032, S3-R054, S3-R059.
#[tokio::test]
async fn a_question_that_stays_open_ends_the_exploration_well() {
    let questions = ["Which one?", "How many? 0", "How many? 1", "How many? 2", "Metric?"];
    for (at, last) in questions.iter().enumerate() {
        for how in [LeftOpen::Declined, LeftOpen::Expired] {
            let mind = Mind { missing: 3, ..WHOLE };
            let model = mind.model();
            let world = mind.world_with(model.clone(), |kind| kind.limits.answer_seconds = Some(60));
            let world = world.start().await;
            let root = world.ask("Go.").await;
            answer_all(&world, &root, &questions[..at]).await;
            let question = world.question(root.id).await;
            assert_eq!(question.text, *last);
            world.asleep(&root).await;
            let requests = model.requests().len();
            match how {
                LeftOpen::Declined => answer(&world, &root, last, Answer::Declined).await,
                LeftOpen::Expired => world.clock().advance(Duration::from_secs(61)),
            }
            let ended = world.ended(root.id).await;
            let case = format!("{last} {how:?}");
            assert_eq!(ended.state(Unread::Nothing), AgentState::Completed, "{case}");
            let reason = run_of(&world, &root).await.stop_reason;
            assert_eq!(reason, Some(StopReason::Completed), "{case}");
            assert_eq!(model.requests().len(), requests, "no more steps: {case}");
            let result = lines(&world, &root).await.pop().unwrap();
            let expected = if at + 1 < questions.len() {
                "turn: You left my question open"
            } else {
                "turn: in some unit[]"
            };
            assert!(result.starts_with(expected), "{case}: {result}");
            let late = world.client().answer(question.id, text("too late")).await;
            assert!(late.is_err(), "{case}: {late:?}");
            assert_eq!(world.audit().await, []);
        }
    }
}

/// The states of an agent that its tree has reported, without repetitions.
async fn states(world: &World, agent: &Agent) -> Vec<AgentState> {
    let id = agent.id;
    let is_end =
        |event: &EventBody| matches!(event, EventBody::AgentStatus { status, .. } if status.is_terminal());
    let events = world.until(agent.root, |event| event.agent == id && is_end(&event.body)).await;
    let own = events.iter().filter(|event| event.agent == id);
    let mut states: Vec<AgentState> = own
        .filter_map(|event| match event.body {
            EventBody::AgentStatus { status, waiting_on, .. } => {
                Some(AgentState::of(status, waiting_on, Unread::Nothing))
            }
            _ => None,
        })
        .collect();
    states.dedup();
    states
}

/// Shows: S3-R024, S3-R025, S3-R035.
#[tokio::test]
async fn the_user_is_awaited_during_each_question_and_the_agent_is_running_again_after_the_answer() {
    use AgentState::{AwaitingUser, Completed, Running};
    let world = Mind { missing: 3, ..WHOLE }.world().start().await;
    let root = world.ask("Go.").await;
    let questions = ["Which one?", "How many? 0", "How many? 1", "How many? 2", "Metric?"];
    answer_all(&world, &root, &questions).await;
    let mut expected = vec![Running];
    (0..5).for_each(|_| expected.extend([AwaitingUser, Running]));
    expected.push(Completed);
    assert_eq!(states(&world, &root).await, expected);
}

/// Shows: S3-R026.
#[tokio::test]
async fn what_the_user_answered_is_known_to_every_step_that_follows() {
    let mind = Mind { subquestions: 0, ..WHOLE };
    let model = mind.model();
    let world = mind.world_with(model.clone(), |_| {}).start().await;
    let root = world.ask("Go.").await;
    answer(&world, &root, "Which one?", text("the red one")).await;
    answer(&world, &root, "How many? 0", text("seven")).await;
    answer(&world, &root, "Metric?", text("of course")).await;
    world.ended(root.id).await;
    let knows = |known: &str| {
        let requests = model.requests().into_iter();
        let know = requests.map(|request| (Asked::by(&request), texts(&request).contains(known)));
        know.collect::<Vec<_>>()
    };
    use Asked::{Clarify, Main, Missing, Subquestions, Summary};
    let steps = [Clarify, Missing, Missing, Subquestions, Main, Summary, Summary];
    for (known, since) in [("the red one", 1), ("seven", 2), ("of course", 6)] {
        let expected: Vec<_> = steps.iter().enumerate().map(|(at, step)| (*step, at >= since)).collect();
        assert_eq!(knows(known), expected, "{known}");
    }
}

/// Shows: S3-R045.
#[tokio::test]
async fn the_main_loop_ends_at_its_limit_and_is_summed_up_with_what_the_children_found() {
    for (main, turns, reason) in
        [(MainWork::Endless, 20, StopReason::MaxSteps), (MainWork::GoesInCircles, 5, StopReason::Stalled)]
    {
        let mind = Mind { missing: 1, subquestions: 2, main, ..CLEAR };
        let model = mind.model();
        let world = mind.world_with(model.clone(), |_| {}).start().await;
        let root = world.ask("Go.").await;
        answer(&world, &root, "How many? 0", text("seven")).await;
        world.ended(root.id).await;
        let run = run_of(&world, &root).await;
        assert_eq!((run.status, run.stop_reason), (Status::Succeeded, Some(reason)));
        let made = model.requests().iter().filter(|request| Asked::by(request) == Asked::Main).count();
        assert_eq!(made, turns, "decisions do not count");
        let lines = lines(&world, &root).await;
        assert!(lines.contains(&"message: did part 0".to_owned()), "{lines:?}");
        assert_eq!(lines.last().unwrap(), "turn: in some unit[]");
        assert_eq!(world.audit().await, []);
    }
}

/// The children of the instruction that was dropped are deleted, and the main loop has all its turns again.
#[tokio::test]
async fn the_limit_of_the_main_loop_begins_anew_with_a_new_instruction() {
    let mind = Mind { subquestions: 1, child: |_| Child::Asks, main: MainWork::Endless, ..CLEAR };
    let model = mind.model();
    let world = mind.world_with(model.clone(), |kind| kind.limits.max_steps = 3).start().await;
    let root = world.ask("Go.").await;
    let main = || model.requests().into_iter().filter(|request| Asked::by(request) == Asked::Main).count();
    let question = world.question(root.id).await;
    world.asleep(&root).await;
    assert_eq!(
        (main(), world.client().agent(root.id).await.unwrap().waiting_on),
        (3, Some(WaitingOn::Agent))
    );
    world.client().intervene(root.id, Action::Modify, Some("Enough.")).await.unwrap();
    let open = async || {
        world.client().questions(Some(root.id), Some(QuestionStatus::Open), Page::default()).await.unwrap()
    };
    let is_new = |open: &Vec<Question>| open.iter().any(|one| one.agent != question.agent);
    eventually("the new child asks", open, is_new).await;
    let new = open().await.into_iter().find(|one| one.agent != question.agent).unwrap();
    world.client().answer(new.id, text("this one")).await.unwrap();
    world.ended(root.id).await;
    let run = run_of(&world, &root).await;
    assert_eq!((run.status, run.stop_reason), (Status::Succeeded, Some(StopReason::Completed)));
    assert_eq!(main(), 4, "the last one answers");
    assert_eq!(world.audit().await, []);
}

/// Limits of the whole run, and a kind for which a limit is a failure, end the exploration.
#[tokio::test]
async fn a_limit_that_is_not_the_loops_own_ends_the_exploration() {
    use entourage_types::OnLimit::{Fail, Finish};
    for (on_limit, max_tokens, status, reason) in [
        (Fail, 2_000_000, Status::Failed, StopReason::MaxSteps),
        (Finish, 100, Status::Succeeded, StopReason::MaxTokens),
    ] {
        let mind = Mind { main: MainWork::Endless, ..CLEAR };
        let world = mind.world_with(mind.model(), |kind| {
            kind.on_limit = on_limit;
            kind.limits.max_tokens = max_tokens;
        });
        let world = world.start().await;
        let root = world.ask("Go.").await;
        world.ended(root.id).await;
        let run = run_of(&world, &root).await;
        assert_eq!((run.status, run.stop_reason), (status, Some(reason)));
        assert_eq!(world.audit().await, []);
    }
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

/// Both come before the agent reads either.
#[tokio::test]
async fn an_answer_given_before_a_new_instruction_stays() {
    let mind = Mind { ambiguous: true, ..CLEAR };
    let model = mind.model();
    let world = mind.world_with(model.clone(), |_| {}).start().await;
    let root = world.ask("Go.").await;
    let question = world.question(root.id).await;
    world.asleep(&root).await;
    world.client().intervene(root.id, Action::Pause, None).await.unwrap();
    let paused = async || world.client().agent(root.id).await.unwrap().waiting_on;
    eventually("it is paused", paused, |on| *on == Some(WaitingOn::Resume)).await;
    world.client().answer(question.id, text("the red one")).await.unwrap();
    world.client().intervene(root.id, Action::Modify, Some("Go elsewhere.")).await.unwrap();
    world.client().intervene(root.id, Action::Resume, None).await.unwrap();
    answer(&world, &root, "Which one?", text("this one")).await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let lines = lines(&world, &root).await;
    assert!(lines.contains(&"output: the red one".to_owned()), "{lines:?}");
    let again = texts(&model.requests()[1]);
    assert!(again.contains("the red one") && again.contains("Go elsewhere."), "{again}");
    assert_eq!(world.audit().await, []);
}
