//! Code that makes calls of its own goes on after a crash at any commit, without anything done twice.

use std::{collections::BTreeSet, sync::Mutex};

use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::MemoryStore;
use entourage_testkit::{PersonAction, Story, StoryOutcome, Witness, World, WorldBuilder};
use entourage_tools::Effect;
use entourage_types::{About, AgentId, Answer, ApprovalRule};
use serde_json::{Value, json};

use crate::kit::{Code, CodeTool, Effects, Snapshots, TestTool, Waits, first_tools, one_kind};

/// Of so many runs of a story with code that runs from its top, one is made with code that goes on from snapshots.
const FEWER: usize = 5;

/// Runs a story with a fault at every commit: with code that runs from its top each time, and, less often, with code that
/// goes on from its snapshots, which comes to the same. Returns what came of it undisturbed, and how many runs of the
/// first kind there were.
pub(crate) async fn survives_both_ways(
    story: impl Fn(&Snapshots) -> Story,
    dispatchers: &[usize],
    stride: usize,
) -> (StoryOutcome, usize) {
    let snapshots = Snapshots::kept();
    let (from_top, goes_on) = (story(&Snapshots::default()), story(&snapshots));
    let undisturbed = from_top.run(1, &[]).await;
    assert_eq!(goes_on.run(1, &[]).await.transcripts, undisturbed.transcripts);
    let points = from_top.survives(dispatchers.iter().copied(), stride).await;
    let before = snapshots.resumed();
    assert!(before > 0);
    let fewer = goes_on.survives(dispatchers.iter().copied(), stride * FEWER).await;
    assert!(snapshots.resumed() - before >= fewer, "{fewer}");
    (undisturbed, points)
}

/// A model that calls the code once, and answers with what that returned; agents that the code starts answer at once.
fn runs_code(request: &Request) -> Script {
    match request.messages.last() {
        Some(Message::User(text)) if text.starts_with("Go") => Script::call("code", json!({})),
        Some(Message::User(text)) => Script::text(format!("did {text}")),
        Some(Message::Output { text, .. }) => Script::text(text.clone()),
        other => Script::text(format!("unexpected {other:?}")),
    }
}

fn world(
    code: fn(&mut Code) -> Result<String, Waits>,
    effects: &Effects,
    snapshots: &Snapshots,
) -> WorldBuilder {
    let model = ScriptedModel::deciding(|request| Some(Ok(runs_code(request))));
    let tools = first_tools()
        .with(CodeTool::new(move |run, _| code(run)).snapshots(snapshots))
        .with(TestTool::new("look", Effect::Pure, effects))
        .with(TestTool::new("send", Effect::Idempotent, effects))
        .with(TestTool::new("pay", Effect::Unsafe, effects));
    World::builder(model).tools(tools).kinds(one_kind(|_| {})).store(MemoryStore::default())
}

/// The same, where some of the agents that the code starts ask a person; its tool `look` has no effect.
fn asking_agents(code: CodeTool, snapshots: &Snapshots) -> WorldBuilder {
    let model = ScriptedModel::deciding(|request| {
        Some(Ok(match request.messages.last() {
            Some(Message::User(text)) if text.starts_with("ask") => {
                Script::call("ask_user", json!({ "question": "Which?" }))
            }
            _ => runs_code(request),
        }))
    });
    let look = TestTool::new("look", Effect::Pure, &Effects::default());
    let tools = first_tools().with(code.snapshots(snapshots)).with(look);
    World::builder(model).tools(tools).kinds(one_kind(|_| {})).store(MemoryStore::default())
}

fn forks_and_waits(code: &mut Code) -> Result<String, Waits> {
    let (a, b) = (code.fork("A"), code.fork("B"));
    let (a, b) = (code.wait(a)?, code.wait(b)?);
    Ok(format!("{}, {}", a.text, b.text))
}

/// Shows: S3-R065, S3-R066, S3-R068, INV-03.
#[tokio::test(flavor = "multi_thread")]
async fn fork_fork_wait_wait_survives_a_crash_at_every_commit() {
    let story = |snapshots: &Snapshots| {
        let snapshots = snapshots.clone();
        let world = move |witness: &Witness| world(forks_and_waits, &Effects::seen_by(witness), &snapshots);
        Story::new(["Go."], world).any_order()
    };
    let (undisturbed, points) = survives_both_ways(story, &[1, 3], 1).await;
    assert_eq!(undisturbed.transcripts.len(), 3, "{:#?}", undisturbed.transcripts);
    assert!(undisturbed.transcripts[0].iter().any(|line| line == "turn: did A, did B[]"));
    assert!(points >= 100, "{points}");
}

/// A fork, a question, tools of each sort, a report, and a fork for which nobody waits.
fn does_everything(code: &mut Code) -> Result<String, Waits> {
    let forked = code.fork("A");
    code.call("emit", json!({ "text": "looking" }));
    let look = code.call("look", json!({ "n": 1 }));
    let seen = code.wait(look)?.text;
    let asked = code.ask("Which?")?.text;
    let calls = [code.call("send", json!({ "n": 2 })), code.call("pay", json!({ "n": 3 }))];
    let sent = code.wait(calls[0])?.text;
    let paid = code.wait(calls[1])?.text;
    let child = code.wait(forked)?.text;
    Ok([seen, asked, sent, paid, child].join("; "))
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_that_code_calls_survives_a_crash_at_every_commit() {
    let story = |snapshots: &Snapshots| {
        let snapshots = snapshots.clone();
        let world = move |witness: &Witness| world(does_everything, &Effects::seen_by(witness), &snapshots);
        Story::new(["Go."], world).any_order().person(|question| {
            PersonAction::Answer(match question.about {
                About::Doubt => Answer::Retry,
                _ => Answer::Text("yes".into()),
            })
        })
    };
    let (undisturbed, points) = survives_both_ways(story, &[1], 3).await;
    let said = "turn: look: {\"n\":1}; yes; send: {\"n\":2}; pay: {\"n\":3}; did A[]";
    assert!(undisturbed.transcripts[0].iter().any(|line| line == said), "{:#?}", undisturbed.transcripts);
    assert!(points >= 50, "{points}");
}

/// Starts three agents, reads the first that ends, starts one more with what it said, and leaves the others, which by
/// then wait for a person.
fn leaves_agents(code: &mut Code) -> Result<String, Waits> {
    let all = [code.fork("A"), code.fork("ask someone"), code.fork("ask again")];
    let (_, first) = code.first(&all)?;
    code.ask("Ready?")?;
    let next = code.fork(&format!("more of {}", first.text));
    code.wait(next).map(|output| output.text)
}

/// Shows: S3-R092, S3-R093.
#[tokio::test(flavor = "multi_thread")]
async fn agents_that_code_leaves_are_deleted_whatever_crashes() {
    let story = |snapshots: &Snapshots| {
        let snapshots = snapshots.clone();
        let world =
            move |_: &Witness| asking_agents(CodeTool::new(|code, _| leaves_agents(code)), &snapshots);
        // The code goes on once both of the others wait.
        let waiting: Mutex<BTreeSet<(AgentId, AgentId)>> = Mutex::default();
        Story::new(["Go."], world).any_order().person(move |question| {
            let mut waiting = waiting.lock().unwrap();
            if question.text == "Which?" {
                waiting.insert((question.root, question.agent));
            }
            let both = waiting.iter().filter(|(root, _)| *root == question.root).count() == 2;
            match question.text == "Ready?" && both {
                true => PersonAction::Answer(Answer::Text("yes".into())),
                false => PersonAction::Wait,
            }
        })
    };
    let (undisturbed, points) = survives_both_ways(story, &[1], 4).await;
    assert!(undisturbed.transcripts[0].iter().any(|line| line == "turn: did more of did A[]"));
    assert!(points >= 50, "{points}");
}

/// More agents than calls run at once, each of which a person approves; none ends before all of them wait.
#[tokio::test(flavor = "multi_thread")]
async fn agents_that_a_person_approved_start_after_a_crash_though_none_of_them_ends() {
    const FORKS: usize = 18;
    fn forks_many(code: &mut Code) -> Result<String, Waits> {
        let forked: Vec<usize> = (0..FORKS).map(|_| code.fork("ask someone")).collect();
        forked.into_iter().try_for_each(|agent| code.wait(agent).map(drop))?;
        Ok("all did".to_owned())
    }
    let world = |_: &Witness| {
        let kinds = one_kind(|kind| kind.approval = vec![ApprovalRule::of("fork")]);
        asking_agents(CodeTool::new(|code, _| forks_many(code)), &Snapshots::default()).kinds(kinds)
    };
    let waiting: Mutex<BTreeSet<(AgentId, AgentId)>> = Mutex::default();
    let story = Story::new(["Go."], world).any_order().person(move |question| {
        if question.about == About::Approval {
            return PersonAction::Answer(Answer::Approve { arguments: None, always: true, digest: None });
        }
        let mut waiting = waiting.lock().unwrap();
        waiting.insert((question.root, question.agent));
        match waiting.iter().filter(|(root, _)| *root == question.root).count() {
            FORKS => PersonAction::Answer(Answer::Text("yes".into())),
            _ => PersonAction::Wait,
        }
    });
    let undisturbed = story.run(1, &[]).await;
    assert!(undisturbed.transcripts[0].iter().any(|line| line == "turn: all did[]"));
    let points = story.survives([1], 31).await;
    assert!(points >= 5, "{points}");
}

/// Forks an agent that waits for a person, looks, and asks: the person answers the agent only after that.
fn goes_on_beside_an_agent(code: &mut Code) -> Result<String, Waits> {
    let forked = code.fork("ask someone");
    let look = code.call("look", json!({ "n": 1 }));
    code.wait(look)?;
    let ready = code.ask("Ready?")?.text;
    Ok(format!("{ready}, {}", code.wait(forked)?.text))
}

#[tokio::test(flavor = "multi_thread")]
async fn code_that_can_go_on_does_so_after_a_crash_though_its_agent_waits_for_another() {
    let story = |snapshots: &Snapshots| {
        let snapshots = snapshots.clone();
        let world = move |_: &Witness| {
            asking_agents(CodeTool::new(|code, _| goes_on_beside_an_agent(code)), &snapshots)
        };
        let ready: Mutex<BTreeSet<AgentId>> = Mutex::default();
        Story::new(["Go."], world).any_order().person(move |question| {
            let mut ready = ready.lock().unwrap();
            if question.text == "Ready?" {
                ready.insert(question.root);
            }
            match ready.contains(&question.root) {
                true => PersonAction::Answer(Answer::Text("yes".into())),
                false => PersonAction::Wait,
            }
        })
    };
    let (undisturbed, points) = survives_both_ways(story, &[1], 2).await;
    let said = "output: yes, yes";
    assert!(undisturbed.transcripts[0].iter().any(|line| line == said), "{:#?}", undisturbed.transcripts);
    assert!(points >= 50, "{points}");
}

/// Runs the code twice in one turn, and once more in the next.
fn runs_code_three_times(request: &Request) -> Script {
    let outputs: Vec<&str> = request
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::Output { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    match (request.messages.last(), outputs.len()) {
        (Some(Message::User(text)), _) if text == "Go." => {
            Script::call("code", json!({ "first": 0 })).and_call("code", json!({ "first": 1 }))
        }
        (Some(Message::Output { .. }), 2) => Script::call("code", json!({ "first": 0 })),
        (Some(Message::Output { .. }), _) => Script::text(outputs.join("; ")),
        _ => runs_code(request),
    }
}

/// Forks two agents, and waits first for that with this number.
fn waits_in_either_order(code: &mut Code, arguments: &Value) -> Result<String, Waits> {
    let forked = [code.fork("A"), code.fork("B")];
    let first = usize::from(arguments["first"] == 1);
    let (one, other) = (code.wait(forked[first])?.text, code.wait(forked[1 - first])?.text);
    Ok(format!("{one}, {other}"))
}

/// Each has its own record and its own snapshot, though the calls are the same.
///
/// Shows: INV-03.
#[tokio::test(flavor = "multi_thread")]
async fn two_calls_of_code_in_a_turn_and_the_same_code_once_more_survive_a_crash_at_every_commit() {
    let story = |snapshots: &Snapshots| {
        let snapshots = snapshots.clone();
        Story::new(["Go."], move |_| {
            let model = ScriptedModel::deciding(|request| Some(Ok(runs_code_three_times(request))));
            let tools = first_tools().with(CodeTool::new(waits_in_either_order).snapshots(&snapshots));
            World::builder(model).tools(tools).kinds(one_kind(|_| {})).store(MemoryStore::default())
        })
        .any_order()
    };
    let (undisturbed, points) = survives_both_ways(story, &[1], 3).await;
    assert_eq!(undisturbed.transcripts.len(), 1 + 6, "{:#?}", undisturbed.transcripts);
    let said = "turn: did A, did B; did B, did A; did A, did B[]";
    assert!(undisturbed.transcripts[0].iter().any(|line| line == said), "{:#?}", undisturbed.transcripts);
    assert!(points >= 50, "{points}");
}
