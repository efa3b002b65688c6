//! What a goal, a task and the user agent read, which tools each of them may use, and what a task may not.

use std::time::Duration;

use entourage_engine::{Kinds, NewGoal, Page};
use entourage_llm::{Message, Request, Script, ScriptedModel, ToolChoice};
use entourage_store::RecordFilter;
use entourage_testkit::{HeldModel, World, quiet};
use entourage_types::{AgentId, Item, ItemBody, Note, Output, Owner, Status, StopReason, Task, TaskResult};
use serde_json::json;

use crate::kit::{contexts, eventually, first_tools};

fn is_of_task(request: &Request) -> bool {
    request.system.starts_with("You work on one task")
}

fn is_summary(request: &Request) -> bool {
    request.system.starts_with("You keep the records")
}

/// The texts that the calls since the last message returned, in their order.
fn returned(request: &Request) -> Vec<&str> {
    let since = request.messages.iter().rev().take_while(|message| !matches!(message, Message::User(_)));
    let mut outputs: Vec<&str> = since
        .filter_map(|message| match message {
            Message::Output { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    outputs.reverse();
    outputs
}

/// The last message that an agent reads.
fn asked(request: &Request) -> &str {
    let last = request.messages.iter().rev().find_map(|message| match message {
        Message::User(text) => Some(text.as_str()),
        _ => None,
    });
    last.unwrap_or_default()
}

fn offered(request: &Request) -> Vec<&str> {
    let mut names: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    names.sort_unstable();
    names
}

fn send(text: &str) -> Script {
    Script::call("send_message", json!({ "message": text }))
}

fn create_task() -> Script {
    Script::call("create_task", json!({ "title": "Trains", "instructions": "Find the trains." }))
}

async fn start(model: &ScriptedModel) -> World {
    World::builder(model.clone()).tools(first_tools()).kinds(quiet(Kinds::builtin())).start().await
}

/// Creates a goal, whose agent reads this.
async fn goal(world: &World) -> AgentId {
    let new = NewGoal {
        title: "See Rome".into(),
        description: "A week in May.".into(),
        instructions: "Cheaply.".into(),
    };
    world.engine().client(Owner::local()).create_goal(new, None).await.unwrap().agent
}

/// Sends a message, and waits until the agent has answered it.
async fn say(world: &World, agent: AgentId, text: &str) {
    let client = world.engine().client(Owner::local());
    let before = client.runs(agent, Page::all()).await.unwrap().len();
    client.send(agent, text, None).await.unwrap();
    let runs = async || world.client().runs(agent, Page::all()).await.unwrap();
    eventually("it answers", runs, |runs| runs.len() > before).await;
    world.ended(agent).await;
}

/// Lets the first sessions of these agents end.
async fn end_sessions(world: &World, agents: [AgentId; 2]) {
    world.clock().advance(Duration::from_secs(30 * 60));
    for agent in agents {
        let sessions = async || world.client().sessions(agent, Page::all()).await.unwrap();
        eventually("its session is closed", sessions, |sessions| sessions.len() == 1).await;
    }
}

/// The only task of an agent, once it has ended.
async fn ended_task(world: &World, agent: AgentId) -> Task {
    let look = async || world.client().goal_tasks(agent, Page::all()).await.unwrap();
    let is_ended = |tasks: &Vec<Task>| tasks.len() == 1 && tasks[0].status.is_terminal();
    eventually("its task has ended", look, is_ended).await.remove(0)
}

async fn outputs(world: &World, agent: AgentId) -> Vec<Output> {
    let items: Vec<Item> = world.client().items(agent, 0, 100).await.unwrap();
    let output = |item: Item| match item.body {
        ItemBody::Output(output) => Some(output),
        _ => None,
    };
    items.into_iter().filter_map(output).collect()
}

/// The agent learns, learns better, gives a task, and says so; a goal's agent notes something, too.
///
/// Shows: S4-R074, S4-R088.
#[tokio::test]
async fn the_system_tools_of_a_goal_and_of_the_user_agent_do_what_they_say() {
    let common =
        ["create_task", "fetch_url", "read_output", "retire_learning", "save_learning", "send_message"];
    let of_goal = ["create_note", "search_notes"];
    let of_user_agent = ["list_goals", "read_goal"];
    for (is_goal, own) in [(true, of_goal), (false, of_user_agent)] {
        let model = ScriptedModel::deciding(move |request| {
            let returned = returned(request);
            let learned = returned.first().and_then(|text| text.strip_prefix("Learned ")?.split_once(':'));
            Some(Ok(match returned.len() {
                _ if is_of_task(request) => Script::text("Six a day."),
                0 => Script::call("save_learning", json!({ "text": "Likes trains." })),
                1 => Script::call(
                    "update_learning",
                    json!({ "id": learned.expect("it was kept").0, "text": "Likes night trains." }),
                ),
                2 if is_goal => create_task()
                    .and_call("create_note", json!({ "title": "Trains", "content": "Are sought." })),
                2 => create_task(),
                _ => send("It has begun."),
            }))
        });
        let world = start(&model).await;
        let client = world.engine().client(Owner::local());
        let agent = if is_goal { goal(&world).await } else { client.user_agent().await.unwrap().id };
        say(&world, agent, "Look for trains. I like night trains.").await;
        let task = ended_task(&world, agent).await;
        assert_eq!((&*task.title, task.status), ("Trains", Status::Succeeded));
        let learned: Vec<String> =
            client.learnings(agent).await.unwrap().into_iter().map(|learning| learning.text).collect();
        assert_eq!(learned, ["Likes night trains."]);
        let notes: Vec<Note> = client.records(RecordFilter::default()).await.unwrap();
        let notes: Vec<&str> = notes.iter().map(|note| note.title.as_str()).collect();
        assert_eq!(notes, if is_goal { vec!["Trains"] } else { vec![] });
        let said = client.transcript(agent).await.unwrap();
        assert_eq!(said.last().unwrap().text, "It has begun.");
        assert!(outputs(&world, agent).await.iter().all(|output| !output.error));
        let requests = model.requests();
        let mut expected: Vec<&str> = common.iter().chain(&own).copied().chain(["update_learning"]).collect();
        expected.sort_unstable();
        assert_eq!(offered(&requests[0]), expected, "and no other");
        assert_eq!(world.audit().await, []);
    }
}

/// A task is offered none of the tools of those who talk; if its model calls one nevertheless, it reads why that does not
/// go, nothing is done, and it goes on.
///
/// Shows: S4-R080, S4-R149.
#[tokio::test]
async fn a_task_that_calls_a_tool_of_its_goal_reads_why_not_and_goes_on() {
    let model = ScriptedModel::deciding(|request| {
        Some(Ok(match (is_of_task(request), returned(request).len()) {
            (true, 0) => send("Hello?")
                .and_call("save_learning", json!({ "text": "Likes trains." }))
                .and_call("update_learning", json!({ "id": "aaaaaa", "text": "Likes trains." }))
                .and_call("create_task", json!({ "title": "More", "instructions": "Find more." })),
            (true, _) => Script::text("Six a day."),
            (false, 0) => create_task(),
            (false, _) => send("It has begun."),
        }))
    });
    let world = start(&model).await;
    let agent = goal(&world).await;
    say(&world, agent, "Look for trains.").await;
    let task = ended_task(&world, agent).await;
    assert_eq!(task.result, Some(TaskResult::Text("Six a day.".into())));
    let of_task: Vec<Request> = model.requests().into_iter().filter(is_of_task).collect();
    let refused = ["send_message", "save_learning", "update_learning", "create_task"];
    assert!(refused.iter().all(|tool| !offered(&of_task[0]).contains(tool)), "{:?}", offered(&of_task[0]));
    // What its model reads is why.
    let read = returned(&of_task[1]);
    assert_eq!(read.len(), refused.len());
    for (text, tool) in read.iter().zip(refused) {
        assert!(text.starts_with(&format!("Error: not allowed: there is no tool `{tool}`")), "{text}");
    }
    let refusals = outputs(&world, task.to).await;
    assert!(refusals.len() == 4 && refusals.iter().all(|output| output.error), "{refusals:?}");
    // Nothing of it was done.
    let client = world.client();
    assert_eq!(client.tree(agent).await.unwrap().len(), 2, "no agent beside the goal's and the task's");
    for of in [agent, task.to] {
        assert_eq!(client.learnings(of).await.unwrap(), []);
    }
    let said = client.transcript(agent).await.unwrap();
    assert!(said.iter().all(|entry| entry.text != "Hello?"), "{said:?}");
    assert_eq!(world.audit().await, []);
}

/// Each has a prompt of its own, and reads what it needs: a goal's agent the goal with its notes and what it has learned; a
/// task the goal and its instructions, although there are notes and learnings; the user agent no goal.
///
/// Shows: S4-R077, S4-R136.
#[tokio::test]
async fn a_task_reads_its_goal_and_its_instructions_and_neither_notes_nor_learnings() {
    let model = ScriptedModel::deciding(|request| {
        Some(Ok(match (asked(request), returned(request).len()) {
            _ if is_summary(request) => Script::text("They spoke of transport."),
            _ if is_of_task(request) => Script::text("Six a day."),
            ("I like trains.", 0) => Script::call("save_learning", json!({ "text": "Likes night trains." })),
            ("I like trains.", 1) if offered(request).contains(&"create_note") => {
                Script::call("create_note", json!({ "title": "Dates", "content": "From the third on." }))
            }
            ("Look.", 0) => create_task(),
            _ => send("Yes."),
        }))
    });
    let world = start(&model).await;
    let agent = goal(&world).await;
    let user_agent = world.engine().client(Owner::local()).user_agent().await.unwrap().id;
    let agents = [agent, user_agent];
    for agent in agents {
        say(&world, agent, "I like trains.").await;
    }
    end_sessions(&world, agents).await;
    say(&world, user_agent, "And?").await;
    say(&world, agent, "Look.").await;
    ended_task(&world, agent).await;
    let requests = model.requests();
    let last =
        |begins: &str| requests.iter().rev().find(|request| request.system.starts_with(begins)).unwrap();
    let of_goal = contexts(last("You work towards one goal of the user"));
    let of_user_agent = contexts(last("You are the user's own agent"));
    let task = last("You work on one task");
    let of_task = contexts(task);
    let description = "<description>A week in May.</description>";
    let learned = ["<learnings>", "Likes night trains."];
    let noted = ["<notes_context>", "From the third on."];
    for part in [&[description], &learned[..], &noted[..]].concat() {
        assert!(of_goal.contains(part), "{part}: {of_goal}");
    }
    assert!(learned.iter().all(|part| of_user_agent.contains(part)), "{of_user_agent}");
    assert!(!of_user_agent.contains("See Rome") && !of_user_agent.contains(noted[0]), "{of_user_agent}");
    for part in ["<title>See Rome</title>", description, "<instructions>Cheaply.</instructions>"] {
        assert!(of_task.contains(part), "{part}: {of_task}");
    }
    assert_eq!(asked(task), "Find the trains.");
    let all = format!("{}{:?}", task.system, task.messages);
    for part in learned.iter().chain(&noted).chain(&["I like trains."]) {
        assert!(!all.contains(part), "{part}: {all}");
    }
}

/// Who talks finds earlier conversations once there are some; a task finds none, although its goal has them.
///
/// Shows: S4-R065.
#[tokio::test]
async fn goals_and_the_user_agent_search_earlier_conversations_and_their_tasks_never_do() {
    let model = ScriptedModel::deciding(|request| {
        Some(Ok(match (asked(request), returned(request).len()) {
            _ if is_summary(request) => Script::text("They spoke of trains."),
            _ if is_of_task(request) => Script::text("Six a day."),
            ("Look.", 0) => Script::call("search_agent_history", json!({ "query": "trains" }))
                .and_call("create_task", json!({ "title": "Trains", "instructions": "Find the trains." })),
            _ => send("Yes."),
        }))
    });
    let world = start(&model).await;
    let client = world.engine().client(Owner::local());
    let agents = [goal(&world).await, client.user_agent().await.unwrap().id];
    for agent in agents {
        say(&world, agent, "I like trains.").await;
    }
    end_sessions(&world, agents).await;
    for agent in agents {
        say(&world, agent, "Look.").await;
        ended_task(&world, agent).await;
        let found = &outputs(&world, agent).await[1];
        assert!(!found.error && found.text.contains("They spoke of trains."), "{found:?}");
    }
    let searches = |request: &&Request| offered(request).contains(&"search_agent_history");
    let requests: Vec<Request> =
        model.requests().into_iter().filter(|request| !is_summary(request)).collect();
    let (of_tasks, others): (Vec<&Request>, Vec<&Request>) =
        requests.iter().partition(|request| is_of_task(request));
    assert_eq!(
        (of_tasks.len(), of_tasks.iter().copied().filter(|request| searches(request)).count()),
        (2, 0)
    );
    let (before, after): (Vec<&Request>, Vec<&Request>) =
        others.into_iter().partition(|request| !format!("{:?}", request.messages).contains("Look."));
    assert_eq!(
        (before.len(), before.into_iter().filter(searches).count()),
        (2, 0),
        "there is nothing to find"
    );
    assert_eq!((after.len(), after.into_iter().filter(searches).count()), (4, 4));
}

/// What is called beside a message is done, whichever comes first, and the model is not asked again.
///
/// Shows: S4-R024.
#[tokio::test]
async fn what_a_reply_calls_after_a_message_is_done_before_the_run_stops() {
    let model = ScriptedModel::deciding(|_| {
        Some(Ok(send("Noted.").and_call("create_note", json!({ "title": "Dates", "content": "In May." }))))
    });
    let world = start(&model).await;
    let agent = goal(&world).await;
    say(&world, agent, "In May.").await;
    let stored: Vec<(String, bool)> =
        outputs(&world, agent).await.into_iter().map(|output| (output.tool, output.error)).collect();
    assert_eq!(stored, [("send_message".into(), false), ("create_note".into(), false)]);
    let client = world.client();
    let notes: Vec<Note> = client.records(RecordFilter::default()).await.unwrap();
    assert_eq!(notes.iter().map(|note| note.title.as_str()).collect::<Vec<_>>(), ["Dates"]);
    assert_eq!(client.transcript(agent).await.unwrap().last().unwrap().text, "Noted.");
    assert_eq!(model.requests().len(), 1, "it stopped");
}

/// Two runs of one kind take turns at every model call: each reads its own conversation, and has all of its steps.
///
/// Shows: S4-R104, S4-R143.
#[tokio::test]
async fn two_runs_at_the_same_time_share_nothing() {
    let script = ScriptedModel::deciding(|request| {
        let (goal, turn) = (asked(request), returned(request).len());
        Some(Ok(match turn % 2 {
            _ if request.tool_choice == ToolChoice::None => Script::text(format!("{goal} is done.")),
            0 => {
                Script::call("create_note", json!({ "title": format!("{goal} {turn}"), "content": "On it." }))
            }
            _ => Script::call("search_notes", json!({ "query": goal })),
        }))
    });
    let model = HeldModel::new(script.clone());
    let world =
        World::builder(model.clone()).tools(first_tools()).kinds(quiet(Kinds::builtin())).start().await;
    let client = world.engine().client(Owner::local());
    let goals = [(goal(&world).await, "Ada"), (goal(&world).await, "Eve")];
    for (agent, name) in goals {
        client.send(agent, name, None).await.unwrap();
    }
    for _ in 0..20 {
        model.begun().await;
        model.begun().await;
        model.let_go(2);
    }
    for (agent, name) in goals {
        world.ended(agent).await;
        let run = client.runs(agent, Page::all()).await.unwrap().remove(0);
        assert_eq!((run.model_calls, run.stop_reason), (20, Some(StopReason::MaxSteps)), "{name}");
        let own = script.requests().into_iter().filter(|request| asked(request) == name);
        let own: Vec<String> = own.map(|request| format!("{:?}", request.messages)).collect();
        let other = if name == "Ada" { "Eve" } else { "Ada" };
        assert!(own.len() == 20 && own.iter().all(|read| !read.contains(other)), "{name}: {own:?}");
    }
    assert_eq!(world.audit().await, []);
}
