//! The orchestrator of a chat: one decision for each message, one reply for each result, and it
//! reads nothing of its sub-agents' own work.

use std::time::Duration;

use crate::kit::{WorldExt, contexts, conversation, eventually, first_tools, parsed, within};
use entourage_engine::{Clock, Kinds, Role};
use entourage_llm::{Error as ModelError, Message, Missing, Request, Script, ScriptedModel};
use entourage_store::Write;
use entourage_testkit::{Fact, FakeClock, Faults, HeldModel, World, plain, quiet};
use entourage_types::{
    Action, AgentId, Answer, EventBody, ItemBody, NoticeCode, Owner, Question, QuestionStatus, Status,
    StopReason, Task, TaskResult, WaitingOn,
};
use serde_json::json;

use crate::chat::{
    cast, ended_runs, is_orchestrator, main_chat, obeys, reactivate, start, tasks, told, whole, workers,
};

const ORCHESTRATOR: Option<&str> = Some("orchestrator");
/// What people read if a model fails for good.
const FAILED: &str =
    "the service behind the model refused the request; the operator finds the cause in the log";
/// What people read if a call for their message was refused.
const COULD_NOT: &str = "I could not do that. Please say it in other words, or more precisely.";

fn chat_entry(role: Role, text: &str) -> (Role, String) {
    (role, text.to_owned())
}

fn refused() -> ModelError {
    ModelError::Refused { model: "m".into(), cause: "401 bad key".into() }
}

/// The requests of the orchestrator, in order.
fn decisions(model: &ScriptedModel) -> Vec<Request> {
    model.requests().into_iter().filter(is_orchestrator).collect()
}

/// Shows: S1-R003, S1-R015.
#[tokio::test]
async fn the_orchestrator_answers_directly_without_a_task() {
    let model = cast(&ScriptedModel::new([Script::text("Four.")]), obeys);
    let world = World::scripted(&model, first_tools()).await;
    let chat = world.ask_kind(ORCHESTRATOR, "What is two and two?").await;
    ended_runs(&world, &chat, 1).await;
    let seen = [chat_entry(Role::User, "What is two and two?"), chat_entry(Role::Assistant, "Four.")];
    assert_eq!(main_chat(&world, chat.id).await, seen);
    assert_eq!((tasks(&world, chat.id).await.len(), model.requests().len()), (0, 1));
}

/// Shows: S1-R005, S1-R006, S1-R059, S1-R060, S1-R061, S1-R075.
#[tokio::test]
async fn delegation_is_silent_in_the_chat_and_its_result_appears_once() {
    let script = ScriptedModel::new([start("How high is K2?"), Script::text("K2 is 8611 m high.")]);
    let model = cast(&script, |request| {
        Ok(match request.messages.len() {
            2.. => Script::text("8611 m"),
            _ => Script::call("create_note", json!({"title": "a secret of its own", "content": "c"})),
        })
    });
    let world = World::scripted(&model, first_tools()).await;
    let chat = world.ask_kind(ORCHESTRATOR, "The height of K2?").await;
    let events = ended_runs(&world, &chat, 2).await;

    // The decision and the delegation are over before the sub-agent has begun.
    let (tasks, workers) = (tasks(&world, chat.id).await, workers(&world, chat.id).await);
    assert_eq!((tasks.len(), workers.len()), (1, 1));
    assert_eq!(
        (&*tasks[0].kind, tasks[0].to, &*tasks[0].instruction),
        ("researcher", workers[0].id, "How high is K2?")
    );
    assert_eq!(tasks[0].result, Some(TaskResult::Text("8611 m".into())));
    let items = world.client().items(workers[0].id, 0, 10).await.unwrap();
    assert_eq!(plain(&items)[0], "message: How high is K2?");
    assert!(matches!(&items[0].body, ItemBody::Message(message) if message.task == Some(tasks[0].id)));

    let seen =
        [chat_entry(Role::User, "The height of K2?"), chat_entry(Role::Assistant, "K2 is 8611 m high.")];
    assert_eq!(main_chat(&world, chat.id).await, seen);
    let decisions = decisions(&model);
    assert_eq!(decisions.len(), 2, "one decision, one reply");
    let spawns = decisions[0].tools.iter().find(|tool| tool.name == "spawn_agent").unwrap();
    assert_eq!(spawns.parameters["properties"]["kind"]["enum"], json!(["researcher", "general"]));
    let reply = &decisions[1];
    assert!(told(reply).contains("8611 m") && told(reply).starts_with("<task_result"), "{}", told(reply));
    // Neither the sub-agent's calls nor their outputs.
    let ItemBody::Output(output) = &items[2].body else { panic!("{items:?}") };
    for canary in ["a secret of its own", output.text.as_str()] {
        assert!(!whole(reply).contains(canary), "{}", whole(reply));
    }
    assert_eq!(decisions[0].system, reply.system);
    assert_eq!(decisions[0].tools, reply.tools, "what comes first of a request stays the same");
    let made =
        events.iter().position(|event| matches!(event.body, EventBody::AgentCreated { parent: Some(_), .. }));
    let task = events.iter().position(|event| matches!(event.body, EventBody::Task { .. }));
    assert!(made < task && task.is_some());
    assert_eq!(world.audit().await, []);
}

/// The orchestrator's run is over before its sub-agent begins: only the wake-up written with the
/// task starts it.
/// Shows: S1-R007.
#[tokio::test]
async fn the_commit_of_a_task_schedules_its_agents_wake_up() {
    let model = cast(&ScriptedModel::new([start("dig")]), obeys);
    let world = World::builder(model.clone()).tools(first_tools()).dispatchers([]).start().await;
    let chat = world.ask_kind(ORCHESTRATOR, "Dig.").await;
    world.engine().advance(chat.id).await.unwrap();
    let (task, worker) = (tasks(&world, chat.id).await.remove(0), workers(&world, chat.id).await.remove(0));
    assert_eq!((task.to, task.status, worker.items), (worker.id, Status::Queued, 0));
    assert!(model.requests().iter().all(is_orchestrator), "nobody has asked the sub-agent for anything");
    let wakes = |write: &Write| matches!(write, Write::ScheduleWakeup(wakeup) if wakeup.agent == worker.id);
    let writes_it = |write: &Write| write.as_record().is_some_and(|written: Task| written.id == task.id);
    let facts = world.witness().facts();
    let commits = facts.iter().filter_map(|fact| match fact {
        Fact::Committed(commit) => Some(&commit.writes),
        _ => None,
    });
    let counts = |writes: &Vec<Write>| {
        (
            writes.iter().filter(|write| writes_it(write)).count(),
            writes.iter().filter(|write| wakes(write)).count(),
        )
    };
    let concerned: Vec<_> = commits.map(counts).filter(|counts| *counts != (0, 0)).collect();
    assert_eq!(concerned, [(1, 1)], "the task and the wake-up are one commit");

    // Another process finds it.
    let world = world.restart(Faults::default()).await;
    let due = world.store().due(world.clock().now(), None, 10).await.unwrap();
    assert_eq!(due.iter().map(|wakeup| wakeup.agent).collect::<Vec<_>>(), [worker.id]);
    let before = world.client().agent(chat.id).await.unwrap().epoch;
    world.engine().advance(due[0].agent).await.unwrap();
    assert_eq!(tasks(&world, chat.id).await[0].result, Some(TaskResult::Text("did dig".into())));
    let after = world.client().agent(chat.id).await.unwrap().epoch;
    assert_eq!(before, after, "the orchestrator had no part in it");
}

/// Shows: S1-R002, S1-R008.
#[tokio::test]
async fn the_orchestrator_sees_the_last_ten_messages_and_its_agents_results() {
    let model = ScriptedModel::deciding(|request| {
        Some(match (is_orchestrator(request), told(request)) {
            (true, "dig") => Ok(start("dig <deep>")),
            (true, text) => Ok(Script::text(format!("re: {}", text.chars().take(20).collect::<String>()))),
            (false, _) => obeys(request),
        })
    });
    let world = World::scripted(&model, first_tools()).await;
    let chat = world.ask_kind(ORCHESTRATOR, "dig").await;
    ended_runs(&world, &chat, 2).await;
    for n in 1..=7 {
        world.client().send(chat.id, &format!("message {n}"), None).await.unwrap();
        ended_runs(&world, &chat, 2 + n).await;
    }
    let last = decisions(&model).pop().unwrap();
    let expected: Vec<Message> = (3..=7)
        .flat_map(|n| {
            let text = |text: String| Message::Assistant { text, calls: Vec::new() };
            [text(format!("re: message {}", n - 1)), Message::User(format!("message {n}"))]
        })
        .collect();
    assert_eq!(conversation(&last), expected, "ten messages, and nothing before them");
    // What it read would be the answer to the user.
    assert!(!last.tools.iter().any(|tool| tool.name == "read_output"));
    let worker = workers(&world, chat.id).await.remove(0);
    let task = &tasks(&world, chat.id).await[0];
    let tail = contexts(&last);
    let listed = format!(
        "<sub_agents>\n<sub_agent id=\"{}\" role=\"researcher\" status=\"succeeded\" task=\"{}\">\n\
         <instruction>dig &lt;deep&gt;</instruction>\n<result>did dig &lt;deep&gt;</result>\n</sub_agent>\n</sub_agents>",
        worker.id, task.id
    );
    assert!(tail.contains(&listed), "{tail}");
}

/// Shows: S1-R002.
#[tokio::test]
async fn the_kind_sets_how_many_messages_the_orchestrator_sees() {
    let file = "---\nname: orchestrator\nprogram: orchestrate\ncontext: { messages: 2 }\n---\nYou are the Orchestrator.";
    let model = cast(&ScriptedModel::new(["one", "two", "three"].map(Script::text)), obeys);
    let kinds = Kinds::none().with(parsed("orchestrator.md", file));
    let world = World::builder(model.clone()).kinds(kinds).start().await;
    let chat = world.ask_kind(ORCHESTRATOR, "1").await;
    for n in 2..=3 {
        ended_runs(&world, &chat, n - 1).await;
        world.client().send(chat.id, &n.to_string(), None).await.unwrap();
    }
    ended_runs(&world, &chat, 3).await;
    assert_eq!(decisions(&model)[2].messages.len(), 2);
}

/// Shows: S1-R003.
#[tokio::test]
async fn only_the_first_call_of_a_decision_is_made_and_the_chat_says_so() {
    let model = cast(
        &ScriptedModel::new([
            start("one").and_call("spawn_agent", json!({"kind": "general", "task": "two"})),
            Script::text("One is done."),
        ]),
        obeys,
    );
    let world = World::scripted(&model, first_tools()).await;
    let chat = world.ask_kind(ORCHESTRATOR, "Do both.").await;
    ended_runs(&world, &chat, 2).await;
    let tasks = tasks(&world, chat.id).await;
    assert_eq!((tasks.len(), &*tasks[0].instruction), (1, "one"));
    let chat_told: Vec<String> = main_chat(&world, chat.id).await.into_iter().map(|(_, text)| text).collect();
    assert_eq!(chat_told.len(), 3, "{chat_told:?}");
    assert!(chat_told[1].starts_with("I handle one request per message"), "{chat_told:?}");
    let items = world.client().items(chat.id, 0, 10).await.unwrap();
    assert!(plain(&items)[3].starts_with("output!: Not run"), "{:?}", plain(&items));
}

/// Shows: S1-R016.
#[tokio::test]
async fn a_refused_call_creates_nothing_and_is_reported_in_the_chat() {
    let nobody = AgentId::new();
    let calls = [
        (reactivate(nobody, "go on"), format!("there is no agent {nobody}")),
        (reactivate("the second one", "go on"), "`the second one` is not the id of an agent".to_owned()),
        (Script::call("reactivate_agent", json!({"message": "go on"})), "agent".to_owned()),
        (Script::call("spawn_agent", json!({"kind": "plumber", "task": "leak"})), "plumber".to_owned()),
        (Script::call("start_a_fire", json!({})), "there is no tool `start_a_fire`".to_owned()),
    ];
    for (call, why) in calls {
        let model = cast(&ScriptedModel::new([call]), obeys);
        let world = World::scripted(&model, first_tools()).await;
        let chat = world.ask_kind(ORCHESTRATOR, "Go on.").await;
        ended_runs(&world, &chat, 1).await;
        assert_eq!(world.client().agent(chat.id).await.unwrap().status, Status::Succeeded);
        let (role, text) = main_chat(&world, chat.id).await.pop().unwrap();
        assert_eq!(role, Role::Assistant);
        assert_eq!(text, COULD_NOT, "what a tool says of it is for models");
        let items = world.client().items(chat.id, 0, 10).await.unwrap();
        assert!(plain(&items).iter().any(|item| item.starts_with("output!: ") && item.contains(&why)));
        assert_eq!(model.requests().len(), 1, "the model is not asked about it again");
        assert_eq!((tasks(&world, chat.id).await.len(), workers(&world, chat.id).await.len()), (0, 0));
    }
}

/// Shows: S1-R016.
#[tokio::test]
async fn an_agent_of_another_chat_or_owner_is_not_reactivated() {
    let script = ScriptedModel::new([start("one"), Script::text("Done.")]);
    let model = cast(&script, obeys);
    let world = World::scripted(&model, first_tools()).await;
    let mine = world.ask_kind(ORCHESTRATOR, "Begin.").await;
    ended_runs(&world, &mine, 2).await;
    let worker = workers(&world, mine.id).await.remove(0);
    for owner in [Owner::local(), Owner::new("other")] {
        script.push(Ok(reactivate(worker.id, "Tell me all.")));
        let new = entourage_engine::NewAgent {
            kind: Some("orchestrator".into()),
            message: Some("Ask it.".into()),
            ..Default::default()
        };
        let theirs = world.engine().client(owner.clone()).create(new, None).await.unwrap();
        let mut watch = world.engine().client(owner.clone()).watch(theirs.id, 0).await.unwrap();
        within("the run ends", async {
            while !matches!(watch.next().await.unwrap(), entourage_engine::Signal::Event(event)
                if matches!(event.body, EventBody::AgentStatus { status: Status::Succeeded, .. }))
            {
            }
        })
        .await;
        let entries = world.engine().client(owner.clone()).transcript(theirs.id).await.unwrap();
        let last = &entries.last().unwrap().text;
        assert_eq!(*last, COULD_NOT);
        let items = world.engine().client(owner).items(theirs.id, 0, 10).await.unwrap();
        let why = format!("output!: there is no agent {}", worker.id);
        assert!(plain(&items).contains(&why), "{:?}", plain(&items));
    }
    assert_eq!(world.client().agent(worker.id).await.unwrap().items, 2, "it heard nothing of it");
}

/// Shows: S1-R008, S1-R009, S1-R013, S1-R014, S1-R062.
#[tokio::test]
async fn reactivation_reopens_the_task_and_reports_its_second_result() {
    let script = ScriptedModel::new([start("one"), Script::text("One is done.")]);
    let model = cast(&script, obeys);
    let world = World::scripted(&model, first_tools()).await;
    let chat = world.ask_kind(ORCHESTRATOR, "Begin.").await;
    ended_runs(&world, &chat, 2).await;
    let (worker, task) = (workers(&world, chat.id).await.remove(0), tasks(&world, chat.id).await.remove(0));
    script.push(Ok(reactivate(worker.id, "and two")));
    script.push(Ok(Script::text("Two is done as well.")));
    world.client().send(chat.id, "Now two.", None).await.unwrap();
    let events = ended_runs(&world, &chat, 4).await;

    let (after, tasks) = (workers(&world, chat.id).await, tasks(&world, chat.id).await);
    assert_eq!((after.len(), tasks.len(), tasks[0].id), (1, 1, task.id));
    assert_eq!(tasks[0].result, Some(TaskResult::Text("did and two".into())));
    let items = world.client().items(worker.id, 0, 10).await.unwrap();
    assert_eq!(plain(&items), ["message: one", "turn: did one[]", "message: and two", "turn: did and two[]"]);
    let told: Vec<(Status, bool)> = events
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::Task { task } => Some((task.status, task.result.is_some())),
            _ => None,
        })
        .collect();
    let (queued, done) = ((Status::Queued, false), (Status::Succeeded, true));
    assert_eq!(told, [queued, done, queued, done], "it is under way again, and has no result meanwhile");
    let chat = main_chat(&world, chat.id).await;
    let replies: Vec<&str> =
        chat.iter().filter(|(role, _)| *role == Role::Assistant).map(|(_, text)| &**text).collect();
    assert_eq!(replies, ["One is done.", "Two is done as well."]);
    assert_eq!(world.audit().await, []);
}

/// Shows: S1-R011, S1-R047.
#[tokio::test]
async fn a_chat_message_can_answer_a_sub_agents_question() {
    let script = ScriptedModel::new([start("paint")]);
    let clock = FakeClock::default();
    let ticking = clock.clone();
    let model = cast(&script, move |request| {
        // Events at one moment have no order.
        ticking.advance(Duration::from_secs(1));
        Ok(match request.messages.last() {
            Some(Message::Output { text, .. }) => Script::text(format!("painted {text}")),
            _ => Script::call("ask_user", json!({"question": "Which <colour>?"})),
        })
    });
    let world = World::builder(model.clone()).tools(first_tools()).clock(clock).start().await;
    let chat = world.ask_kind(ORCHESTRATOR, "Paint it.").await;
    let question = world.question(chat.id).await;
    let worker = world.client().agent(question.agent).await.unwrap();
    world.asleep(&worker).await;
    script.push(Ok(reactivate(worker.id, "red")));
    script.push(Ok(Script::text("It is red now.")));
    world.clock().advance(Duration::from_secs(1));
    world.client().send(chat.id, "Red, please.", None).await.unwrap();
    ended_runs(&world, &chat, 3).await;

    let answered = world.client().question(question.id).await.unwrap();
    assert_eq!(
        (answered.status, answered.answer_in_words().as_deref()),
        (QuestionStatus::Answered, Some("red"))
    );
    let tail = contexts(&decisions(&model)[1]);
    assert!(
        tail.contains("status=\"waiting\"")
            && tail.contains(&format!("<question id=\"{}\">Which &lt;colour&gt;?</question>", question.id)),
        "{tail}"
    );
    let asked = "The Researcher needs more information: Which <colour>?";
    let seen = [
        chat_entry(Role::User, "Paint it."),
        chat_entry(Role::Question, asked),
        chat_entry(Role::User, "Red, please."),
        chat_entry(Role::Assistant, "It is red now."),
    ];
    assert_eq!(main_chat(&world, chat.id).await, seen);
    assert_eq!(tasks(&world, chat.id).await.len(), 1);
    assert_eq!(world.audit().await, []);
}

/// Shows: S1-R008.
#[tokio::test]
async fn the_orchestrator_sees_all_agent_ids_and_details_of_the_latest_twenty() {
    const AGENTS: usize = 23;
    let model = ScriptedModel::deciding(|request| {
        Some(match (is_orchestrator(request), told(request)) {
            (true, text) if text.starts_with("dig") => Ok(start(text)),
            (true, _) => Ok(Script::text("Well.")),
            (false, _) => obeys(request),
        })
    });
    let world = World::scripted(&model, first_tools()).await;
    let chat = world.ask_kind(ORCHESTRATOR, "dig 0").await;
    for n in 1..AGENTS {
        world.client().send(chat.id, &format!("dig {n}"), None).await.unwrap();
    }
    ended_runs(&world, &chat, 2 * AGENTS).await;
    world.client().send(chat.id, "Who is there?", None).await.unwrap();
    ended_runs(&world, &chat, 2 * AGENTS + 1).await;
    let tail = contexts(&decisions(&model).pop().unwrap());
    let workers = workers(&world, chat.id).await;
    assert_eq!(workers.len(), AGENTS);
    let lists = |id: AgentId| {
        tail.contains(&format!("<sub_agent id=\"{id}\" role=\"researcher\" status=\"succeeded\""))
    };
    assert!(workers.iter().all(|worker| lists(worker.id)), "{tail}");
    assert!(tail.matches("<instruction>").count() >= 20, "the latest with all they came to");
}

#[tokio::test]
async fn an_answer_must_name_its_question_when_two_are_open() {
    let script = ScriptedModel::new([start("paint")]);
    let model = cast(&script, |request| {
        Ok(match request.messages.last() {
            Some(Message::Output { .. }) => Script::text(format!("painted {}", whole(request))),
            _ => Script::call("ask_user", json!({"question": "Which wall?"}))
                .and_call("ask_user", json!({"question": "Which colour?"})),
        })
    });
    let world = World::scripted(&model, first_tools()).await;
    let chat = world.ask_kind(ORCHESTRATOR, "Paint it.").await;
    let worker = world.client().agent(world.question(chat.id).await.agent).await.unwrap();
    world.asleep(&worker).await;
    let questions = world.client().questions(Some(chat.id), None, Default::default()).await.unwrap();
    let texts: Vec<_> = questions.iter().map(|question| question.text.as_str()).collect();
    assert_eq!(texts, ["Which wall?", "Which colour?"], "in the order of the calls");
    let [wall, colour] = &*questions else { panic!("{questions:?}") };
    let read = main_chat(&world, chat.id).await.into_iter().filter(|(role, _)| *role == Role::Question);
    let asks =
        |text: &str| chat_entry(Role::Question, &format!("The Researcher needs more information: {text}"));
    assert_eq!(read.collect::<Vec<_>>(), [asks("Which wall?"), asks("Which colour?")], "for the person, too");

    // Without an id it is refused: the model reads which questions are open.
    script.push(Ok(reactivate(worker.id, "red")));
    world.client().send(chat.id, "Red.", None).await.unwrap();
    ended_runs(&world, &chat, 2).await;
    let listed =
        |question: &Question| format!("<question id=\"{}\">{}</question>", question.id, question.text);
    let tail = contexts(&decisions(&model).pop().unwrap());
    assert!(tail.contains(&[listed(wall), listed(colour)].join("\n")), "and for the model: {tail}");
    let told = main_chat(&world, chat.id).await;
    assert!(told.contains(&chat_entry(Role::Assistant, COULD_NOT)), "{told:?}");
    let items = plain(&world.client().items(chat.id, 0, 20).await.unwrap());
    let refusal = format!(
        "output!: the agent has 2 open questions; say which as `question`:\n{}: Which wall?\n{}: Which colour?",
        wall.id, colour.id
    );
    assert!(items.contains(&refusal), "{items:?}");

    let names = |question: &Question, answer: &str| {
        let (agent, question) = (worker.id.to_string(), question.id.to_string());
        Ok(Script::call("reactivate_agent", json!({"agent": agent, "message": answer, "question": question})))
    };
    script.push(names(colour, "red"));
    world.client().send(chat.id, "The colour is red.", None).await.unwrap();
    ended_runs(&world, &chat, 3).await;
    let status = |question: &Question| (question.status, question.answer.clone());
    let now = world.client().questions(Some(chat.id), None, Default::default()).await.unwrap();
    let expected =
        [(QuestionStatus::Open, None), (QuestionStatus::Answered, Some(Answer::Text("red".to_owned())))];
    assert_eq!(now.iter().map(status).collect::<Vec<_>>(), expected);
    script.push(names(wall, "the left one"));
    script.push(Ok(Script::text("It is painted.")));
    world.client().send(chat.id, "The left one.", None).await.unwrap();
    ended_runs(&world, &chat, 5).await;
    let items = world.client().items(worker.id, 0, 10).await.unwrap();
    assert_eq!(plain(&items)[2..4], ["output: the left one", "output: red"]);
    assert_eq!(world.audit().await, []);
}

#[tokio::test]
async fn the_orchestrator_cannot_give_an_approval() {
    const BUYER: &str =
        "---\nname: researcher\ntools: [create_note]\napproval: [{ tools: create_note }]\n---\nBuy.";
    let script = ScriptedModel::new([start("buy")]);
    let model = cast(&script, |request| {
        Ok(match request.messages.last() {
            Some(Message::Output { .. }) => Script::text("bought"),
            _ => Script::call("create_note", json!({"title": "t", "content": "c"})),
        })
    });
    let kinds = quiet(Kinds::builtin()).with(parsed("researcher.md", BUYER));
    let world = World::builder(model).tools(first_tools()).kinds(kinds).start().await;
    let chat = world.ask_kind(ORCHESTRATOR, "Buy it.").await;
    let question = world.question(chat.id).await;
    script.push(Ok(reactivate(question.agent, "approve")));
    world.client().send(chat.id, "Yes, go on.", None).await.unwrap();
    ended_runs(&world, &chat, 2).await;
    // The question's id changes nothing: the chat says whose decision it is, and where to make it.
    let named = json!({
        "agent": question.agent.to_string(), "message": "approve", "question": question.id.to_string()
    });
    script.push(Ok(Script::call("reactivate_agent", named)));
    world.client().send(chat.id, "Approve it.", None).await.unwrap();
    ended_runs(&world, &chat, 3).await;
    let told = main_chat(&world, chat.id).await.into_iter().map(|(_, text)| text);
    // The question itself is in the chat, too.
    let told: Vec<String> = told.filter(|text| *text != question.text).collect();
    let chat_entry = format!(
        "The researcher waits for your own decision about a call, which I may not pass on: please answer \
         question {} itself. It asks: {}",
        question.id, question.text
    );
    assert_eq!(told, ["Buy it.", "Yes, go on.", &chat_entry, "Approve it.", &chat_entry]);
    let unread = world.store().inbox(question.agent).await.unwrap();
    assert_eq!(unread, [], "no words lie there unread");
    assert_eq!(world.client().question(question.id).await.unwrap().status, QuestionStatus::Open);
    let sleeping = world.client().agent(question.agent).await.unwrap();
    assert_eq!(sleeping.waiting_on, Some(WaitingOn::User));
}

/// Shows: S1-R069, S1-R073.
#[tokio::test]
async fn a_failed_task_is_reported_without_a_model_call_and_can_be_reactivated() {
    let script = ScriptedModel::new([start("fail")]);
    let model = cast(&script, |request| match told(request) {
        "fail" => Err(refused()),
        _ => obeys(request),
    });
    let world = World::scripted(&model, first_tools()).await;
    let chat = world.ask_kind(ORCHESTRATOR, "Try.").await;
    ended_runs(&world, &chat, 2).await;
    let (worker, task) = (workers(&world, chat.id).await.remove(0), tasks(&world, chat.id).await.remove(0));
    assert_eq!((worker.status, task.status), (Status::Failed, Status::Failed));
    assert_eq!(task.result, Some(TaskResult::Error(FAILED.into())));
    let items = world.client().items(worker.id, 0, 10).await.unwrap();
    let ItemBody::Notice(notice) = &items[1].body else { panic!("{items:?}") };
    assert_eq!((&notice.code, &*notice.text), (&NoticeCode::Ended(StopReason::ModelFailed), FAILED));
    assert_eq!(notice.cause.as_deref(), Some("m refuses the request: 401 bad key"), "for logs and programs");
    let failure = &format!("The Researcher could not finish its task: {FAILED}");
    assert_eq!(
        main_chat(&world, chat.id).await,
        [chat_entry(Role::User, "Try."), chat_entry(Role::Assistant, failure)]
    );
    assert_eq!(decisions(&model).len(), 1, "a model may be what is down");

    script.push(Ok(reactivate(worker.id, "once more")));
    script.push(Ok(Script::text("Now it is done.")));
    world.client().send(chat.id, "Try again.", None).await.unwrap();
    ended_runs(&world, &chat, 4).await;
    assert_eq!(tasks(&world, chat.id).await[0].status, Status::Succeeded);
    assert_eq!(main_chat(&world, chat.id).await.pop(), Some(chat_entry(Role::Assistant, "Now it is done.")));
    assert_eq!(world.audit().await, []);
}

/// Shows: S1-R069.
#[tokio::test]
async fn a_result_is_shown_verbatim_when_the_reply_call_fails() {
    let script = ScriptedModel::new([start("dig")]);
    script.push(Err(refused()));
    let world = World::scripted(&cast(&script, obeys), first_tools()).await;
    let chat = world.ask_kind(ORCHESTRATOR, "Dig.").await;
    ended_runs(&world, &chat, 2).await;
    let told = "did dig\n\n(This is the unedited result: the model could not rephrase it.)";
    assert_eq!(main_chat(&world, chat.id).await[1..], [chat_entry(Role::Assistant, told)]);
    let items = world.client().items(chat.id, 0, 20).await.unwrap();
    let remark = items.iter().find_map(|item| match &item.body {
        ItemBody::Notice(notice) => Some((notice.code.as_str(), notice.cause.as_deref())),
        _ => None,
    });
    assert_eq!(remark, Some(("unedited_result", Some("m refuses the request: 401 bad key"))));
    assert_eq!(world.client().agent(chat.id).await.unwrap().status, Status::Succeeded);
    assert_eq!(world.audit().await, []);
}

/// Shows: S1-R069.
#[tokio::test]
async fn a_failed_decision_is_reported_and_the_next_message_is_answered() {
    let script = ScriptedModel::new([]);
    script.push(Err(refused()));
    script.push(Ok(Script::text("Here I am.")));
    let world = World::scripted(&cast(&script, obeys), first_tools()).await;
    let chat = world.ask_kind(ORCHESTRATOR, "Hello?").await;
    ended_runs(&world, &chat, 1).await;
    let seen = main_chat(&world, chat.id).await;
    assert_eq!(seen[1..], [chat_entry(Role::Notice, FAILED)]);
    world.client().send(chat.id, "Hello again.", None).await.unwrap();
    ended_runs(&world, &chat, 2).await;
    assert_eq!(main_chat(&world, chat.id).await.pop(), Some(chat_entry(Role::Assistant, "Here I am.")));
}

/// What people read depends on what can be done about the failure, and contains no model name and
/// no text of the provider.
/// Shows: S1-R068.
#[tokio::test]
async fn each_model_error_has_its_own_sentence_for_the_user() {
    let (model, cause) = (String::from("openai::gpt-x"), String::from("HTTP 4711: org-secret"));
    let wait = Duration::from_secs(4711);
    let denied = |lack| ModelError::Denied { model: model.clone(), lack, cause: cause.clone() };
    let cases = [
        (denied(Missing::Key), "does not accept the key"),
        (denied(Missing::Credit), "no credit left"),
        (denied(Missing::Model), "was not found"),
        (ModelError::Refused { model: model.clone(), cause: cause.clone() }, "refused the request"),
        (ModelError::BeyondWindow { model: model.clone(), cause: cause.clone() }, "too long for the model"),
        (ModelError::TooLong { model: model.clone(), bytes: 9 }, "had no end"),
        (ModelError::Configuration(format!("{model}: {cause}")), "not set up correctly"),
        // Failures for which another attempt may help.
        (
            ModelError::Unavailable { model: model.clone(), cause: cause.clone(), retry_after: None },
            "has failed; try again later",
        ),
        (ModelError::RateLimited { model: model.clone(), retry_after: Some(wait) }, "too many requests"),
        (
            ModelError::Unreachable { model: model.clone(), cause: cause.clone(), sent: false },
            "could not be reached",
        ),
        (ModelError::TimedOut { model: model.clone(), after: wait }, "did not answer in time"),
        (ModelError::Empty { model: model.clone() }, "gave no answer"),
        (ModelError::BadAnswer { model: model.clone(), what: cause.clone() }, "could not be read"),
    ];
    let builtin = quiet(Kinds::builtin());
    let mut orchestrator = (*builtin.get("orchestrator").unwrap()).clone();
    orchestrator.limits.max_attempts = 1;
    let kinds = builtin.with(orchestrator);
    for (error, sentence) in cases {
        let script = ScriptedModel::new([]);
        script.push(Err(error.clone()));
        let builder = World::builder(cast(&script, obeys)).tools(first_tools()).kinds(kinds.clone());
        let world = builder.start().await;
        let chat = world.ask_kind(ORCHESTRATOR, "Hello?").await;
        ended_runs(&world, &chat, 1).await;
        let (role, text) = main_chat(&world, chat.id).await.pop().unwrap();
        assert_eq!(role, Role::Notice);
        assert!(text.contains(sentence), "{error:?}: {text}");
        assert!(!text.contains(&model) && !text.contains("4711"), "{text}");
        let items = world.client().items(chat.id, 0, 10).await.unwrap();
        let cause = items.iter().find_map(|item| match &item.body {
            ItemBody::Notice(notice) => notice.cause.clone(),
            _ => None,
        });
        assert_eq!(cause, Some(error.to_string()), "it is kept for programs");
    }
}

/// Shows: S1-R068, S1-R069, S1-R070, S4-R111.
#[tokio::test]
async fn a_model_call_fails_after_three_attempts() {
    for error in [
        ModelError::Unavailable { model: "m".into(), cause: "500".into(), retry_after: None },
        ModelError::TimedOut { model: "m".into(), after: Duration::from_secs(60) },
    ] {
        let name = error.to_string();
        let model = ScriptedModel::deciding(move |request| {
            Some(match is_orchestrator(request) && !told(request).starts_with("<task_result") {
                true => Ok(start("try")),
                false => Err(error.clone()),
            })
        });
        let world = World::scripted(&model, first_tools()).await;
        let chat = world.ask_kind(ORCHESTRATOR, "Try.").await;
        // The sub-agent's second attempt, and its third; then it has failed, and the chat reports
        // that without a model.
        for (attempts, pause) in [(1, 10), (2, 20)] {
            let asked = async || model.requests().iter().filter(|request| !is_orchestrator(request)).count();
            eventually("it is tried", asked, |asked| *asked == attempts).await;
            let worker = workers(&world, chat.id).await.remove(0);
            world.asleep(&worker).await;
            world.clock().advance(Duration::from_secs(pause + 2));
        }
        ended_runs(&world, &chat, 2).await;
        assert_eq!(workers(&world, chat.id).await[0].status, Status::Failed, "{name}");
        let asked = model.requests().iter().filter(|request| !is_orchestrator(request)).count();
        assert_eq!(asked, 3, "{name}");
        let (_, last) = main_chat(&world, chat.id).await.pop().unwrap();
        let said = "The Researcher could not finish its task: Failed permanently after 3 attempts: the ";
        assert!(last.starts_with(said), "{last}");
    }
}

/// Shows: S1-R003.
#[tokio::test]
async fn queued_messages_get_one_decision_each_in_order() {
    let model = HeldModel::new(ScriptedModel::deciding(|request| {
        Some(Ok(Script::text(format!("re: {}", told(request)))))
    }));
    let world = World::builder(model.clone()).tools(first_tools()).start().await;
    let chat = world.ask_kind(ORCHESTRATOR, "0").await;
    model.begun().await;
    let client = world.client();
    for n in 1..=5 {
        client.send(chat.id, &n.to_string(), None).await.unwrap();
    }
    model.let_go(6);
    ended_runs(&world, &chat, 6).await;
    let answers: Vec<String> = main_chat(&world, chat.id).await.into_iter().map(|(_, text)| text).collect();
    let expected: Vec<String> = (0..=5).flat_map(|n| [n.to_string(), format!("re: {n}")]).collect();
    assert_eq!(answers, expected);
    assert_eq!(world.audit().await, []);
}

#[tokio::test]
async fn a_reply_to_a_result_cannot_make_calls() {
    let script = ScriptedModel::new([start("one"), start("two"), Script::text("One is done.")]);
    let model = cast(&script, obeys);
    let world = World::scripted(&model, first_tools()).await;
    let chat = world.ask_kind(ORCHESTRATOR, "Begin.").await;
    ended_runs(&world, &chat, 2).await;
    assert_eq!(tasks(&world, chat.id).await.len(), 1);
    let seen = [chat_entry(Role::User, "Begin."), chat_entry(Role::Assistant, "One is done.")];
    assert_eq!(main_chat(&world, chat.id).await, seen);
    let again = decisions(&model).pop().unwrap();
    assert!(matches!(again.messages.last(), Some(Message::Output { text, .. }) if text.contains("Not run")));
}

/// Shows: S1-R029, S1-R030, S1-R031.
#[tokio::test]
async fn a_message_to_a_working_sub_agent_joins_its_current_task() {
    const WORKER: &str = "---\nname: researcher\ntools: [wait]\n---\nYou are the Researcher.";
    let script = ScriptedModel::new([start("one")]);
    let model = cast(&script, |request| match request.messages.len() {
        1 => Ok(Script::call("wait", json!({"seconds": 60}))),
        _ => obeys(request),
    });
    let kinds = quiet(Kinds::builtin()).with(parsed("researcher.md", WORKER));
    let world = World::builder(model.clone()).tools(first_tools()).kinds(kinds).start().await;
    let chat = world.ask_kind(ORCHESTRATOR, "Begin.").await;
    ended_runs(&world, &chat, 1).await;
    let worker = workers(&world, chat.id).await.remove(0);
    world.asleep(&worker).await;
    script.push(Ok(reactivate(worker.id, "and two")));
    script.push(Ok(Script::text("Both are done.")));
    world.client().send(chat.id, "And two.", None).await.unwrap();
    ended_runs(&world, &chat, 2).await;
    // While a call is pending the model is not asked and nothing is sent, however often the agent
    // is woken.
    let asked = model.requests().len();
    world.engine().advance(worker.id).await.unwrap();
    assert_eq!(world.client().items(worker.id, 0, 20).await.unwrap().len(), 2);
    assert_eq!(model.requests().len(), asked);
    world.clock().advance(Duration::from_secs(60));
    ended_runs(&world, &chat, 3).await;
    let lines = plain(&world.client().items(worker.id, 0, 20).await.unwrap());
    assert_eq!(lines[2..], ["output: The time has passed.", "message: and two", "turn: did and two[]"]);
    let seen: Vec<_> = main_chat(&world, chat.id).await.split_off(2);
    assert_eq!(seen, [chat_entry(Role::Assistant, "Both are done.")], "one task, one result");
    assert_eq!((tasks(&world, chat.id).await.len(), world.audit().await), (1, vec![]));
}

#[tokio::test]
async fn a_modify_intervention_restarts_the_decision_with_the_new_message() {
    let model = HeldModel::new(ScriptedModel::deciding(|request| {
        Some(Ok(Script::text(format!("re: {}", told(request)))))
    }));
    let world = World::builder(model.clone()).tools(first_tools()).start().await;
    let chat = world.ask_kind(ORCHESTRATOR, "one").await;
    model.begun().await;
    let person = world.engine().client(Owner::local());
    person.intervene(chat.id, Action::Modify, Some("two")).await.unwrap();
    // The first call was cut off; this is another one.
    model.begun().await;
    model.let_go(1);
    ended_runs(&world, &chat, 1).await;
    let seen = [
        chat_entry(Role::User, "one"),
        chat_entry(Role::User, "two"),
        chat_entry(Role::Assistant, "re: two"),
    ];
    assert_eq!(main_chat(&world, chat.id).await, seen);
    assert_eq!(world.audit().await, []);
}
