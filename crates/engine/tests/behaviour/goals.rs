//! Goals, the tasks of their agents, and the user agent: what each reads, when each stops, and who wakes whom.

use std::collections::HashSet;

use entourage_engine::{
    Client, Clock as _, Error, GoalChange, Kinds, NewAgent, NewGoal, NewSchedule, Page, Retention,
};
use entourage_llm::{Error as ModelError, Message, Request, Script, ScriptedModel, ToolChoice};
use entourage_testkit::{World, quiet};
use entourage_types::{
    Action, CreatedTasks, Goal, GoalStatus, Kind, Note, OnTaskEnd, Owner, Recurrence, Schedule,
    ScheduleStatus, Session, SessionEnd, Sessions, Status, StopReason, Task, TaskResult, Trigger, tool_names,
};
use serde_json::{Value, json};

use crate::kit::{eventually, first_tools};

/// Everything that a request says.
fn said(request: &Request) -> String {
    format!("{}\n{:?}", request.system, request.messages)
}

fn is_of_task(request: &Request) -> bool {
    request.system.starts_with("You work on one task")
}

/// A goal's agent that gives one task for each message and says so; a task that notes something and answers.
fn mind() -> ScriptedModel {
    ScriptedModel::deciding(|request| {
        let last = request.messages.last().unwrap();
        Some(Ok(match (is_of_task(request), last) {
            (true, Message::User(_) | Message::Notice(_)) => {
                Script::call("create_note", json!({ "title": "Trains", "content": "Six a day." }))
            }
            (true, _) => Script::text("Found six trains a day."),
            (false, Message::User(text)) if text.contains("Research") => Script::call(
                "create_task",
                json!({ "title": "Trains", "instructions": "Find the <trains>." }),
            )
            .and_call("send_message", json!({ "message": "It has begun." })),
            (false, _) => Script::call("send_message", json!({ "message": "Noted." })),
        }))
    })
}

async fn start(model: &ScriptedModel, kinds: Kinds) -> World {
    World::builder(model.clone()).tools(first_tools()).kinds(quiet(kinds)).start().await
}

/// The built-in kinds with one of them changed.
fn with(name: &str, change: impl Fn(&mut Kind)) -> Kinds {
    let mut kind = Kind::clone(&Kinds::builtin().get(name).expect("it is built in"));
    change(&mut kind);
    kind.version.clear();
    Kinds::builtin().with(kind)
}

fn trip() -> NewGoal {
    NewGoal {
        title: " See Rome ".into(),
        description: "A week in <May>.".into(),
        instructions: "Cheaply.".into(),
    }
}

async fn ended_tasks(world: &World, goal: &Goal) -> Vec<Task> {
    let look = async || world.client().goal_tasks(goal.agent, Page::all()).await.unwrap();
    eventually("all tasks have ended", look, |tasks| {
        !tasks.is_empty() && tasks.iter().all(|task| task.status.is_terminal())
    })
    .await
}

/// Shows: S4-R022, S4-R072, S4-R073, S4-R077, S4-R080, S4-R082, S4-R083, S4-R084.
/// Shows: S4-R016, S4-R024, S4-R074, S4-R136.
#[tokio::test]
async fn a_task_is_worked_on_at_once_and_its_end_wakes_nobody() {
    let model = mind();
    let world = start(&model, Kinds::builtin()).await;
    let client = world.engine().client(Owner::local());
    let goal = client.create_goal(trip(), None).await.unwrap();
    assert_eq!((goal.title.as_str(), goal.status), ("See Rome", GoalStatus::Open));
    client.send(goal.agent, "Research the trains.", None).await.unwrap();
    let tasks = ended_tasks(&world, &goal).await;
    let agent = world.ended(goal.agent).await;
    assert_eq!((agent.status, agent.stop_reason), (Status::Succeeded, None));
    let [task] = &tasks[..] else { panic!("{tasks:?}") };
    assert_eq!((task.kind.as_str(), task.status), ("task", Status::Succeeded));
    assert_eq!(task.result, Some(TaskResult::Text("Found six trains a day.".into())));
    // The task read the goal and its instructions, and nothing that was said or noted.
    let requests = model.requests();
    let of_task: Vec<&Request> = requests.iter().filter(|request| is_of_task(request)).collect();
    let read = said(of_task[0]);
    for part in
        ["<title>See Rome</title>", "A week in &lt;May&gt;.", "<instructions>Cheaply.", "Find the <trains>."]
    {
        assert!(read.contains(part), "{part}: {read}");
    }
    assert!(!read.contains("Research the trains") && !read.contains("<notes_context>"), "{read}");
    let offered: Vec<&str> = of_task[0].tools.iter().map(|tool| tool.name.as_str()).collect();
    let own = [
        tool_names::SEND_MESSAGE,
        tool_names::SAVE_LEARNING,
        tool_names::UPDATE_LEARNING,
        tool_names::CREATE_TASK,
        tool_names::SEARCH_AGENT_HISTORY,
    ];
    for tool in own {
        assert!(!offered.contains(&tool), "{offered:?}");
    }
    // What the goal's agent is told, and what it may use; it finds earlier conversations once there are some.
    let of_goal = requests.iter().find(|request| !is_of_task(request)).unwrap();
    assert!(of_goal.system.starts_with("You work towards one goal of the user"), "{}", of_goal.system);
    let offered: Vec<&str> = of_goal.tools.iter().map(|tool| tool.name.as_str()).collect();
    for tool in own.iter().take(4).chain([&tool_names::CREATE_NOTE]) {
        assert!(offered.contains(tool), "{offered:?}");
    }
    // Its note is the goal's; its end woke nobody.
    let notes: Vec<Note> = client.records(entourage_store::RecordFilter::default()).await.unwrap();
    assert!(notes.len() == 1 && notes[0].root == goal.agent, "{notes:?}");
    assert_eq!((of_task.len(), requests.len()), (2, 3), "the goal asked its model once");
    // The next time the goal's agent works, it reads what the task came to.
    client.send(goal.agent, "And?", None).await.unwrap();
    eventually("it answers", async || model.requests(), |all| all.len() == 4).await;
    world.ended(goal.agent).await;
    let read = said(&model.requests()[3]);
    let section = format!("<task id=\\\"{}\\\" status=\\\"succeeded\\\">", task.id);
    assert!(read.contains(&section) && read.contains("<result>Found six trains a day.</result>"), "{read}");
    assert!(read.contains("<notes_context>") && read.contains("Six a day."), "{read}");
    assert_eq!(world.audit().await, []);
}

/// A task that has failed may be tried again: whatever it comes to in the end is what the goal's agent reads last, also if
/// it fails once more.
///
/// Shows: S4-R073.
#[tokio::test]
async fn a_goal_reads_what_its_task_came_to_when_it_was_tried_again() {
    let answers = std::sync::Mutex::new(std::collections::VecDeque::from([
        Err(ModelError::Refused { model: "m".into(), cause: "no credit".into() }),
        Err(ModelError::TooLong { model: "m".into(), bytes: 7 }),
        Ok(Script::text("Found six trains a day.")),
    ]));
    let model = ScriptedModel::deciding(move |request| match is_of_task(request) {
        true => answers.lock().unwrap().pop_front(),
        false => Some(Ok(match request.messages.last().unwrap() {
            Message::User(text) if text.contains("Research") => {
                Script::call("create_task", json!({ "title": "Trains", "instructions": "Find the trains." }))
                    .and_call("send_message", json!({ "message": "It has begun." }))
            }
            _ => Script::call("send_message", json!({ "message": "Noted." })),
        })),
    });
    let world = start(&model, Kinds::builtin()).await;
    let client = world.engine().client(Owner::local());
    let goal = client.create_goal(trip(), None).await.unwrap();
    client.send(goal.agent, "Research the trains.", None).await.unwrap();
    let task = ended_tasks(&world, &goal).await.remove(0);
    assert_eq!(task.status, Status::Failed);
    world.ended(goal.agent).await;
    // The lines about the task that the goal's agent has read when it was spoken to again.
    let lines = async || {
        let before = model.requests().len();
        client.send(goal.agent, "And?", None).await.unwrap();
        let all = eventually("it answers", async || model.requests(), |all| all.len() > before).await;
        world.ended(goal.agent).await;
        world.clock().advance(std::time::Duration::from_secs(1));
        let read = said(all.last().unwrap());
        let begin = format!("<task id=\\\"{}", task.id);
        let lines = read.split(&begin).skip(1);
        lines.map(|line| line.split("</task>").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let first = lines().await;
    let mut result = task.result;
    let is_shown = |line: &str, status: Status, result: &Option<TaskResult>| {
        let (Some(TaskResult::Text(text)) | Some(TaskResult::Error(text))) = result else { return false };
        line.contains(&format!("status=\\\"{status}\\\"")) && line.contains(text)
    };
    assert!(is_shown(first.last().unwrap(), Status::Failed, &result), "{first:?}");
    assert_eq!(lines().await, first, "it reads nothing again that has not changed");
    for (status, runs) in [(Status::Failed, 2), (Status::Succeeded, 3)] {
        let before = lines().await.len();
        client.intervene(task.to, Action::Retry, None).await.unwrap();
        eventually(
            "it has run again",
            async || client.runs(task.to, Page::all()).await.unwrap(),
            |all| all.len() == runs,
        )
        .await;
        world.ended(task.to).await;
        let again = client.goal_tasks(goal.agent, Page::all()).await.unwrap().remove(0);
        assert_ne!(again.result, result);
        result = again.result;
        let read = lines().await;
        assert_eq!(read.len(), before + 1, "{read:?}");
        assert!(is_shown(read.last().unwrap(), status, &result), "{read:?}");
    }
    assert_eq!(world.audit().await, []);
}

/// A kind may say that its agents want to know.
///
/// Shows: S4-R073.
#[tokio::test]
async fn a_kind_may_be_woken_by_the_end_of_its_tasks() {
    let model = mind();
    let world = start(
        &model,
        with("goal", |kind| {
            kind.tasks = Some(CreatedTasks { kind: "task".into(), on_end: OnTaskEnd::Wake });
        }),
    )
    .await;
    let client = world.engine().client(Owner::local());
    let goal = client.create_goal(trip(), None).await.unwrap();
    client.send(goal.agent, "Research the trains.", None).await.unwrap();
    let of_goal = async || {
        let requests = model.requests().into_iter();
        requests.filter(|request| !is_of_task(request)).collect::<Vec<_>>()
    };
    let woken = eventually("it is woken", of_goal, |all| all.len() == 2).await;
    assert!(said(&woken[1]).contains("Found six trains a day."), "{}", said(&woken[1]));
    world.ended(goal.agent).await;
    assert_eq!(world.audit().await, []);
}

/// Shows: S4-R022, S4-R079, S4-R117, S4-R120, S4-R121, S4-R116.
#[tokio::test]
async fn a_task_that_meets_a_limit_ends_well_with_the_limit_as_its_reason() {
    for (max_steps, max_history, reason, calls) in [
        (20, 20, StopReason::MaxHistory, 10),
        (20, 0, StopReason::MaxSteps, 20),
        (6, 20, StopReason::MaxSteps, 6),
        (20, 0, StopReason::SameTool, 5),
    ] {
        let model = ScriptedModel::deciding(|request| {
            let last = request.messages.last().unwrap();
            Some(Ok(match (is_of_task(request), last) {
                (true, _) if request.tool_choice == ToolChoice::None => Script::text("As far as I came."),
                (true, _) => {
                    let at = request.messages.len();
                    Script::call("create_note", json!({ "title": format!("{at}"), "content": "On it." }))
                }
                (false, _) => {
                    Script::call("create_task", json!({ "title": "T", "instructions": "Never end." }))
                        .and_call("send_message", json!({ "message": "It has begun." }))
                }
            }))
        });
        let same = if reason == StopReason::SameTool { 5 } else { 0 };
        let world = start(
            &model,
            with("task", |kind| {
                let limits = &mut kind.limits;
                (limits.max_steps, limits.max_history, limits.max_same_tool) = (max_steps, max_history, same);
            }),
        )
        .await;
        let client = world.engine().client(Owner::local());
        let goal = client.create_goal(trip(), None).await.unwrap();
        client.send(goal.agent, "Go on.", None).await.unwrap();
        let task = ended_tasks(&world, &goal).await.remove(0);
        let run = client.run(task.run.unwrap()).await.unwrap();
        assert_eq!((task.status, run.status, run.stop_reason), (Status::Succeeded, run.status, Some(reason)));
        assert_eq!((run.status, &run.error), (Status::Succeeded, &None));
        assert_eq!(task.result, Some(TaskResult::Text("As far as I came.".into())));
        let made = model.requests().iter().filter(|request| is_of_task(request)).count();
        let last = usize::from(reason != StopReason::MaxSteps);
        assert_eq!(made, calls + last, "{reason}");
        assert_eq!(world.audit().await, [], "{reason}");
    }
}

/// Shows: S4-R070.
#[tokio::test]
async fn a_goal_is_changed_put_away_taken_up_and_deleted() {
    let model = mind();
    let world = start(&model, Kinds::builtin()).await;
    let client = world.engine().client(Owner::local());
    let goal = client.create_goal(trip(), Some("once")).await.unwrap();
    assert_eq!(client.create_goal(trip(), Some("once")).await.unwrap(), goal);
    let other = NewGoal { title: "Other".into(), ..trip() };
    assert!(matches!(client.create_goal(other.clone(), Some("once")).await, Err(Error::KeyReused)));
    let other = client.create_goal(other, None).await.unwrap();
    let status = |status| GoalChange { status: Some(status), ..GoalChange::default() };
    let away = client.change_goal(goal.agent, status(GoalStatus::Archived)).await.unwrap();
    assert_eq!(away.status, GoalStatus::Archived);
    let listed = async |status| {
        let page = client.goals(status, None, Page::all()).await.unwrap();
        page.rows.into_iter().map(|goal| goal.agent).collect::<Vec<_>>()
    };
    assert_eq!(listed(Some(GoalStatus::Archived)).await, [goal.agent]);
    assert_eq!(listed(Some(GoalStatus::Open)).await, [other.agent]);
    assert_eq!(listed(None).await, [goal.agent, other.agent]);
    // An archived goal is given nothing to do.
    let is_refused = |error: Error| matches!(error, Error::NotNow { why, .. } if why.contains("archived"));
    assert!(is_refused(client.send(goal.agent, "Hello.", None).await.unwrap_err()));
    assert!(is_refused(client.intervene(goal.agent, Action::Steer, Some("Go.")).await.unwrap_err()));
    let check_in = trigger("agent_check_in");
    assert!(is_refused(client.trigger(goal.agent, check_in, "", None).await.unwrap_err()));
    assert_eq!(client.change_goal(goal.agent, status(GoalStatus::Archived)).await.unwrap(), away);
    let back = client.change_goal(goal.agent, status(GoalStatus::Open)).await.unwrap();
    assert_eq!(back.status, GoalStatus::Open);
    for (title, why) in [("", "is empty"), ("a\nb", "control character")] {
        let change = GoalChange { title: Some(title.into()), ..GoalChange::default() };
        let refused = client.change_goal(goal.agent, change).await;
        assert!(matches!(&refused, Err(Error::Part(part)) if part.to_string().contains(why)), "{refused:?}");
    }
    // A change is read before the next model call, and what did not change is not read again.
    client.send(goal.agent, "Hello.", None).await.unwrap();
    eventually("it answers", async || model.requests(), |all| all.len() == 1).await;
    world.ended(goal.agent).await;
    let change = GoalChange { instructions: Some("Whatever it costs.".into()), ..GoalChange::default() };
    client.change_goal(goal.agent, change).await.unwrap();
    client.send(goal.agent, "Hello again.", None).await.unwrap();
    eventually("it answers", async || model.requests(), |all| all.len() == 2).await;
    world.ended(goal.agent).await;
    let read = said(&model.requests()[1]);
    assert!(read.contains("<instructions>Whatever it costs.</instructions>"), "{read}");
    assert_eq!(read.matches("<title>See Rome</title>").count(), 1, "{read}");
    // Another owner sees none of it.
    let eve = world.engine().client(Owner::new("eve"));
    assert!(matches!(eve.goal(goal.agent).await, Err(Error::NotFound { .. })));
    assert!(matches!(eve.delete_goal(goal.agent).await, Err(Error::NotFound { .. })));
    client.delete_goal(goal.agent).await.unwrap();
    assert_eq!(listed(None).await, [other.agent]);
    assert_eq!(client.agent(goal.agent).await.unwrap().status, Status::Cancelled);
    assert!(matches!(client.delete_goal(goal.agent).await, Err(Error::NotFound { .. })));
    assert_eq!(world.audit().await, []);
}

/// Shows: S4-R085, S4-R086, S4-R087.
#[tokio::test]
async fn an_owner_has_one_user_agent_also_if_many_ask_for_it_at_once() {
    let model = mind();
    let world = start(&model, Kinds::builtin()).await;
    let [ada, eve] = ["ada", "eve"].map(|owner| world.engine().client(Owner::new(owner)));
    let asked = futures::future::join_all((0..20).map(|_| ada.user_agent())).await;
    let ids: Vec<_> = asked.into_iter().map(|agent| agent.unwrap().id).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_ne!(eve.user_agent().await.unwrap().id, ids[0]);
    ada.send(ids[0], "Hello.", None).await.unwrap();
    let look = async || ada.agent(ids[0]).await.unwrap().status;
    eventually("it has answered", look, |status| *status == Status::Succeeded).await;
    assert_eq!(model.requests().len(), 1);
    assert_eq!(ada.user_agent().await.unwrap().id, ids[0], "it stays");
    assert_eq!(world.audit().await, []);
}

/// However many were deleted, there is one that was not, also if many ask for it at once.
#[tokio::test]
async fn a_user_agent_that_was_deleted_is_followed_by_another_each_time() {
    let world = start(&mind(), Kinds::builtin()).await;
    let client = world.engine().client(Owner::local());
    let mut seen = HashSet::new();
    for _ in 0..20 {
        let asked = futures::future::join_all((0..4).map(|_| client.user_agent())).await;
        let agents: Vec<_> = asked.into_iter().map(Result::unwrap).collect();
        assert!(agents.iter().all(|agent| agent.id == agents[0].id && Client::is_user_agent(agent)));
        assert_ne!(agents[0].status, Status::Cancelled);
        assert!(seen.insert(agents[0].id), "it was deleted");
        client.intervene(agents[0].id, Action::Delete, None).await.unwrap();
    }
    let other = client.create(NewAgent::default(), None).await.unwrap();
    assert!(!Client::is_user_agent(&other));
    assert_eq!(world.audit().await, []);
}

fn trigger(name: &str) -> Trigger {
    Trigger { name: name.into(), payload: Value::Null, schedule: None }
}

/// A user agent that reads a goal for the feed, has a task look closer, and tells the user.
fn feeding() -> ScriptedModel {
    ScriptedModel::deciding(|request| {
        let done =
            request.messages.iter().filter(|message| matches!(message, Message::Assistant { .. })).count();
        let text = format!("{:?}", request.messages);
        Some(Ok(match done {
            _ if request.system.starts_with("You keep the records") => Script::text("The feed of a day."),
            _ if is_of_task(request) => Script::text("Looked closer."),
            0 => Script::call("list_goals", json!({})),
            1 => {
                let at = text.find("agt_").expect("a goal is listed");
                Script::call("read_goal", json!({ "goal": &text[at..at + 36] }))
            }
            2 => Script::call("create_task", json!({ "title": "Closer", "instructions": "Look closer." })),
            _ => Script::call("send_message", json!({ "message": "Rome is planned." })),
        }))
    })
}

/// The feed looks across all goals of its owner, and of nobody else; its session is closed right after. What the user
/// agent's tasks were created for is on record and changes nothing about them.
///
/// Shows: S4-R045, S4-R051, S4-R090, S4-R093, S4-R094, S4-R095, S4-R096.
#[tokio::test]
async fn a_feed_looks_across_all_goals_and_is_archived_right_after() {
    let model = feeding();
    let world = start(&model, Kinds::builtin()).await;
    let [client, eve] = [Owner::local(), Owner::new("eve")].map(|owner| world.engine().client(owner));
    eve.create_goal(NewGoal { title: "Secret".into(), ..trip() }, None).await.unwrap();
    let goal = client.create_goal(trip(), None).await.unwrap();
    let agent = client.user_agent().await.unwrap();
    client.trigger(agent.id, trigger("feed_generation"), "", None).await.unwrap();
    let look = async || client.sessions(agent.id, Page::all()).await.unwrap();
    let sessions: Vec<Session> = eventually("the session is closed", look, |all| all.len() == 1).await;
    assert_eq!((sessions[0].reason, &*sessions[0].summary), (SessionEnd::Triggered, "The feed of a day."));
    let requests = model.requests();
    let last =
        requests.iter().rev().find(|request| request.system.starts_with("You are the user's own")).unwrap();
    let read = said(last);
    assert!(
        read.contains("Write the feed") && read.contains("See Rome") && read.contains("A week in <May>."),
        "{read}"
    );
    assert!(!read.contains("Secret"), "{read}");
    let task = eventually(
        "its task has ended",
        async || client.goal_tasks(agent.id, Page::all()).await.unwrap(),
        |all| all.iter().any(|task| task.status.is_terminal()),
    )
    .await
    .remove(0);
    assert_eq!((task.origin.as_deref(), &*task.title), (Some("feed_generation"), "Closer"));
    let of_task = requests.iter().find(|request| is_of_task(request)).unwrap();
    assert!(!said(of_task).contains("feed_generation") && !said(of_task).contains("Write the feed"));
    // A trigger that ends no session leaves it open, and one that the kind does not know needs a text.
    client.trigger(agent.id, trigger("agent_check_in"), "", None).await.unwrap();
    let has_checked_in = async || {
        let has_read =
            model.requests().iter().any(|request| said(request).contains("Check in: is anything open"));
        let now = client.agent(agent.id).await.unwrap();
        has_read && !client.is_at_work(&now).await.unwrap() && now.status == Status::Succeeded
    };
    eventually("it has checked in", has_checked_in, |is_done| *is_done).await;
    assert_eq!(look().await.len(), 1);
    let unknown = client.trigger(goal.agent, trigger("feed_generation"), "", None).await;
    assert!(matches!(&unknown, Err(Error::Invalid(why)) if why.contains("agent_check_in")), "{unknown:?}");
    assert_eq!(world.audit().await, []);
}

/// The times of an archived goal's schedule are left out; it goes on when the goal does. What was to come once comes then.
#[tokio::test]
async fn the_schedules_of_an_archived_goal_go_on_with_it_and_none_is_lost() {
    let model = mind();
    let world = World::builder(model.clone())
        .tools(first_tools())
        .kinds(quiet(Kinds::builtin()))
        .dispatchers([])
        .start()
        .await;
    let client = world.engine().client(Owner::local());
    let goal = client.create_goal(trip(), None).await.unwrap();
    let hour = std::time::Duration::from_secs(3600);
    let new = NewSchedule {
        agent: goal.agent,
        text: String::new(),
        trigger: trigger("agent_check_in"),
        first: None,
        recurrence: Recurrence::Every { seconds: 3600 },
    };
    let made = client.schedule(new.clone(), None).await.unwrap();
    assert!(made.text.starts_with("Check in on this goal"), "{}", made.text);
    let reminder = NewSchedule {
        text: "Book the train.".into(),
        first: Some(made.due),
        recurrence: Recurrence::Once,
        ..new.clone()
    };
    let reminder = client.schedule(reminder, None).await.unwrap();
    let set = async |status| {
        let change = GoalChange { status: Some(status), ..GoalChange::default() };
        client.change_goal(goal.agent, change).await.unwrap()
    };
    let schedule = async |id| client.record::<Schedule>(id).await.unwrap();
    set(GoalStatus::Archived).await;
    world.clock().advance(hour);
    world.engine().advance(goal.agent).await.unwrap();
    let skipped = schedule(made.id).await;
    assert_eq!((skipped.fired, skipped.left_out, skipped.status), (0, 1, ScheduleStatus::Active));
    assert_eq!(schedule(reminder.id).await, reminder, "it waits for the goal");
    assert_eq!(
        world.store().due(world.clock().now(), None, 10).await.unwrap(),
        [],
        "nothing to do until then"
    );
    assert_eq!(world.audit().await, []);
    client.pause_schedule(made.id).await.unwrap();
    for refused in [client.resume_schedule(made.id).await, client.schedule(new, None).await] {
        assert!(
            matches!(&refused, Err(Error::NotNow { why, .. }) if why.contains("archived")),
            "{refused:?}"
        );
    }
    set(GoalStatus::Open).await;
    client.resume_schedule(made.id).await.unwrap();
    world.engine().advance(goal.agent).await.unwrap();
    let fired = schedule(reminder.id).await;
    assert_eq!((fired.fired, fired.left_out, fired.status), (1, 0, ScheduleStatus::Ended));
    assert!(said(model.requests().last().unwrap()).contains("Book the train."));
    world.clock().advance(hour);
    world.engine().advance(goal.agent).await.unwrap();
    let fired = schedule(made.id).await;
    assert_eq!((fired.fired, fired.left_out), (1, 1));
    assert_eq!(world.audit().await, []);
}

/// Shows: S4-R012, S4-R014.
#[tokio::test]
async fn several_messages_are_read_by_one_run_in_their_order() {
    let model = mind();
    let world = World::builder(model.clone())
        .tools(first_tools())
        .kinds(quiet(Kinds::builtin()))
        .dispatchers([])
        .start()
        .await;
    let client = world.engine().client(Owner::local());
    let goal = client.create_goal(trip(), None).await.unwrap();
    for text in ["One.", "Two.", "Three."] {
        client.send(goal.agent, text, None).await.unwrap();
    }
    world.engine().advance(goal.agent).await.unwrap();
    assert_eq!(client.runs(goal.agent, Page::all()).await.unwrap().len(), 1);
    let [request] = &model.requests()[..] else { panic!("it asked its model once") };
    let read: Vec<&str> = request
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::User(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(read, ["One.", "Two.", "Three."]);
    assert_eq!(client.unread(goal.agent).await.unwrap(), []);
}

/// Retention leaves the tree of a goal alone, however long it has rested, until the goal was deleted.
///
/// Shows: S4-R071.
#[tokio::test]
async fn a_goal_at_rest_is_kept_whatever_the_retention_period_until_it_was_deleted() {
    let model = mind();
    // The clock moves on by months: no session ends meanwhile.
    let world = start(&model, with("goal", |kind| kind.context.sessions = Sessions::Kept)).await;
    let client = world.engine().client(Owner::local());
    let goal = client.create_goal(trip(), None).await.unwrap();
    client.send(goal.agent, "Hello.", None).await.unwrap();
    world.ended(goal.agent).await;
    let user_agent = client.user_agent().await.unwrap().id;
    let day = std::time::Duration::from_secs(24 * 3600);
    let prune = async || {
        world.clock().advance(day * 400);
        let retention = Retention { trees: Some(day * 30), ..Retention::default() };
        world.engine().prune(&retention).await.unwrap().trees
    };
    assert_eq!(prune().await, 0);
    assert_eq!(client.goal(goal.agent).await.unwrap().title, "See Rome");
    client.delete_goal(goal.agent).await.unwrap();
    assert_eq!(prune().await, 1);
    assert!(matches!(client.agent(goal.agent).await, Err(Error::NotFound { .. })));
    assert_eq!(client.user_agent().await.unwrap().id, user_agent);
    assert_eq!(world.audit().await, []);
}
