//! What the user agent reads of the user's goals when it writes a feed.

use entourage_engine::{GoalChange, Kinds, NewGoal, Page};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_testkit::{World, quiet};
use entourage_types::{AgentId, GoalStatus, Owner, Trigger};
use serde_json::{Value, json};

use crate::kit::{eventually, first_tools};

/// What the tools of a request have returned, in order.
fn outputs(request: &Request) -> Vec<&str> {
    let said = request.messages.iter().filter_map(|message| match message {
        Message::Output { text, .. } => Some(text.as_str()),
        _ => None,
    });
    said.collect()
}

/// The ids in a list of goals.
fn listed(text: &str) -> Vec<String> {
    text.match_indices("agt_").map(|(at, _)| text[at..at + 36].to_owned()).collect()
}

/// A goal's agent gives a task, which notes something and answers; the user agent reads each goal that it lists.
fn mind() -> ScriptedModel {
    ScriptedModel::deciding(|request| {
        let is_of = |begins: &str| request.system.starts_with(begins);
        let outputs = outputs(request);
        Some(Ok(match &outputs[..] {
            _ if is_of("You keep the records") => Script::text("They spoke of the trains to Rome."),
            [] if is_of("You work on one task") => {
                Script::call("create_note", json!({ "title": "Timetable", "content": "Six a day." }))
            }
            _ if is_of("You work on one task") => Script::text("The night train is full."),
            [] if is_of("You work towards one goal") => {
                Script::call("create_task", json!({ "title": "Trains", "instructions": "Find them." }))
                    .and_call("send_message", json!({ "message": "It has begun." }))
            }
            [] => Script::call("list_goals", json!({})),
            [list] => {
                let reads = listed(list).into_iter().map(|goal| json!({ "goal": goal }));
                let mut reads = reads.collect::<Vec<_>>().into_iter();
                let first = Script::call("read_goal", reads.next().expect("there are goals"));
                reads.fold(first, |script, goal| script.and_call("read_goal", goal))
            }
            _ => Script::call("send_message", json!({ "message": "The night train is full." })),
        }))
    })
}

/// Whatever is known of a goal is before the model when it writes the feed: its description and status, what its tasks
/// came to, its notes, and what was talked about in conversations that are over.
///
/// Shows: S4-R090.
#[tokio::test]
async fn a_feed_has_read_the_tasks_the_notes_and_the_conversations_of_each_goal() {
    let model = mind();
    let builder = World::builder(model.clone()).tools(first_tools()).kinds(quiet(Kinds::builtin()));
    let world = builder.start().await;
    let [client, eve] = [Owner::local(), Owner::new("eve")].map(|owner| world.engine().client(owner));
    let create = async |title: &str| {
        let new =
            NewGoal { title: title.into(), description: format!("All about {title}."), ..NewGoal::default() };
        client.create_goal(new, None).await.unwrap().agent
    };
    let (rome, oslo, bern) = (create("Rome").await, create("Oslo").await, create("Bern").await);
    let away = GoalChange { status: Some(GoalStatus::Archived), ..GoalChange::default() };
    client.change_goal(bern, away).await.unwrap();
    eve.create_goal(NewGoal { title: "Secret".into(), ..NewGoal::default() }, None).await.unwrap();
    // Rome has a task that has ended, a note, and a conversation that is over.
    client.send(rome, "Find trains.", None).await.unwrap();
    let tasks = async || client.goal_tasks(rome, Page::all()).await.unwrap();
    let is_done = |tasks: &Vec<_>| tasks.iter().any(|task: &entourage_types::Task| task.status.is_terminal());
    eventually("its task has ended", tasks, is_done).await;
    world.ended(rome).await;
    client.close_session(rome).await.unwrap();
    let sessions = async |agent: AgentId| client.sessions(agent, Page::all()).await.unwrap().len();
    eventually("its conversation is over", async || sessions(rome).await, |count| *count == 1).await;

    let user_agent = client.user_agent().await.unwrap().id;
    let feed = Trigger { name: "feed_generation".into(), payload: Value::Null, schedule: None };
    client.trigger(user_agent, feed, "", None).await.unwrap();
    eventually("the feed is written", async || sessions(user_agent).await, |count| *count == 1).await;

    let requests = model.requests();
    let mut of_feed = requests.iter().filter(|request| request.system.starts_with("You are the user's own"));
    let read = outputs(of_feed.next_back().expect("it was asked"));
    let [list, goals @ ..] = &read[..] else { panic!("{read:?}") };
    assert_eq!(listed(list), [bern, oslo, rome].map(|goal| goal.to_string()), "{list}");
    let none = "\nTasks, the latest first: none\nNotes, the latest first: none\nConversations, the latest first: none";
    let whole = "\nTasks, the latest first:\n- Trains (succeeded): The night train is full.\
                 \nNotes, the latest first:\n- Timetable: Six a day.\
                 \nConversations, the latest first:\n- They spoke of the trains to Rome.";
    let goal = |id: AgentId, title: &str, status: &str, rest: &str| {
        format!("Goal {id} `{title}`, {status}\nDescription: All about {title}.{rest}")
    };
    assert_eq!(
        goals,
        [
            goal(bern, "Bern", "archived", none),
            goal(oslo, "Oslo", "open", none),
            goal(rome, "Rome", "open", whole)
        ]
    );
    assert!(!format!("{requests:?}").contains("Secret"), "nothing of another user");
    assert_eq!(world.audit().await, []);
}
