//! Python code of agents: what it returns, what it starts, and that it goes on after crashes.

mod cpython;
#[cfg(target_os = "linux")]
mod processes;
mod state;

use std::{ffi::OsString, path::Path};

use entourage::agency::Agency;
use entourage::explore::Explorer;
use entourage::tools::{PythonSettings, Settings as ToolSettings, Toolbox};
use entourage_engine::Kinds;
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::{MemoryStore, Page};
use entourage_testkit::{Asked, World, WorldBuilder, plain};
use entourage_types::{Action, Agent, AgentId, Answer, ContextPolicy, Kind, Section, Status};
use serde_json::json;

use crate::within;

/// A model that runs the code of the first message, and answers with what it returned; agents that it forks answer `did`
/// and their prompt.
fn mind(request: &Request) -> Script {
    match request.messages.last() {
        Some(Message::User(text)) => match text.strip_prefix("Run:") {
            Some(code) => Script::call("python", json!({ "code": code })),
            None if text.starts_with("fail") => Script::call("ask_user", json!({ "question": "Fail?" })),
            None => Script::text(format!("did {text}")),
        },
        Some(Message::Output { text, .. }) => Script::text(text.clone()),
        other => Script::text(format!("unexpected {other:?}")),
    }
}

/// The tools of the binary; `mark` stands in the command line of each process that runs code.
fn tools(mark: &str, python: PythonSettings) -> Toolbox {
    let worker: [OsString; 3] = [env!("CARGO_BIN_EXE_entourage").into(), "python-worker".into(), mark.into()];
    entourage::toolbox(ToolSettings { python, ..ToolSettings::default() }, Some(&worker))
}

fn builder(mark: &str) -> WorldBuilder {
    with_settings(mark, PythonSettings::default())
}

fn with_settings(mark: &str, python: PythonSettings) -> WorldBuilder {
    let context = ContextPolicy { sections: vec![Section::Learnings], ..ContextPolicy::default() };
    let tools_of_kind =
        Some(["python", "ask_user", "search_notes", "read_output"].map(str::to_owned).to_vec());
    let instructions = "Do as asked.".into();
    let kind = Kind { instructions, context, tools: tools_of_kind, ..Kind::bare("assistant") };
    let model = ScriptedModel::deciding(|request| Some(Ok(mind(request))));
    World::builder(model)
        .tools(tools(mark, python))
        .kinds(Kinds::none().with(kind))
        .store(MemoryStore::default())
}

/// The output of the code.
async fn output(world: &World, code: &str) -> String {
    let root = world.ask(&format!("Run:{code}")).await;
    world.ended(root.id).await;
    assert_eq!(world.audit().await, []);
    let lines = lines(world, root.id).await;
    lines.into_iter().find(|line| line.starts_with("output")).unwrap_or_default()
}

async fn lines(world: &World, agent: AgentId) -> Vec<String> {
    plain(&world.client().items(agent, 0, 1_000).await.unwrap())
}

/// The agent that this one has forked, once it waits.
async fn waiting_child(world: &World, root: AgentId) -> Agent {
    within("the agent that was forked waits", async {
        loop {
            let tree = world.client().tree(root).await.unwrap();
            match tree.into_iter().nth(1) {
                Some(child) if child.status == Status::Waiting => return child,
                _ => tokio::task::yield_now().await,
            }
        }
    })
    .await
}

/// The blocks of a page with this language, each with the text that follows it.
fn examples(page: &str) -> Vec<(String, String)> {
    let mut blocks = page.split("```").skip(1).step_by(2).map(|block| block.split_once('\n').unwrap());
    let mut all = Vec::new();
    while let Some((language, code)) = blocks.next() {
        if language == "python" {
            let (_, text) =
                blocks.next().filter(|(language, _)| *language == "text").expect("what it returns");
            all.push((code.to_owned(), text.trim_end().to_owned()));
        }
    }
    all
}

/// Shows: S3-R044, S3-R065, S3-R066, S3-R067, S3-R068, S3-R069, S3-R070.
#[tokio::test]
async fn the_examples_of_the_page_return_what_it_says() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/python.md"));
    let examples = examples(&page.unwrap());
    assert_eq!(examples.len(), 4);
    for (code, returns) in examples {
        let world = builder("examples").start().await;
        let root = world.ask(&format!("Run:{code}")).await;
        if code.contains("ask_user") {
            let question = world.question(root.id).await;
            world.client().answer(question.id, Answer::Text("yes".into())).await.unwrap();
        }
        world.ended(root.id).await;
        let lines = plain(&world.client().items(root.id, 0, 1_000).await.unwrap());
        let said = lines.iter().find(|line| line.starts_with("output")).unwrap();
        assert!(said.contains(&returns), "{code}\nreturned {said}\nand not {returns}");
        let tree = world.client().tree(root.id).await.unwrap();
        assert!(tree[1..].iter().all(|child| child.parent == Some(root.id)), "{code}");
        assert_eq!(tree.len() - 1, lines.iter().filter(|line| line.starts_with("to code: did")).count());
    }
}

/// Shows: S3-R069.
#[tokio::test]
async fn an_answer_that_is_declined_is_none_and_an_agent_that_is_stopped_or_deleted_raises() {
    for (action, says) in [(Action::Stop, "stopped"), (Action::Delete, "deleted")] {
        let world = builder("raises").start().await;
        let code = "
answer = ask_user('Which?')
try:
    wait(fork('fail'))
except RuntimeError as error:
    print(answer, 'and', error)
";
        let root = world.ask(&format!("Run:{code}")).await;
        let question = world.question(root.id).await;
        world.client().answer(question.id, Answer::Declined).await.unwrap();
        let child = waiting_child(&world, root.id).await;
        world.client().intervene(child.id, action, None).await.unwrap();
        world.ended(root.id).await;
        let lines = lines(&world, root.id).await;
        let said = lines.iter().find(|line| line.starts_with("output")).unwrap();
        assert!(said.starts_with("output: None and ") && said.contains(says), "{said}");
    }
}

#[tokio::test]
async fn an_error_of_the_code_is_pythons_own_with_its_line() {
    let world = builder("errors").start().await;
    let said = output(&world, "print('before')\nx = 1\nx / 0").await;
    assert!(said.starts_with("output!:"), "{said}");
    for part in ["ZeroDivisionError", "line 3", "before"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    for (code, says) in [("import socket", "socket"), ("open('/etc/passwd')", "open"), ("def f(:", "line 1")]
    {
        let said = output(&world, code).await;
        assert!(said.starts_with("output!:") && said.contains(says), "{code}: {said}");
    }
}

#[tokio::test]
async fn code_that_computes_or_forks_without_end_reaches_its_limits() {
    let python = PythonSettings { cpu_seconds: 1, calls: 20, ..PythonSettings::default() };
    let world = with_settings("limits", python).start().await;
    let said = output(&world, "while True: pass").await;
    assert!(said.starts_with("output!:") && said.contains("TimeoutError"), "{said}");
    // Calls that are not waited for are not made.
    let said = output(&world, "while True: fork('x')").await;
    assert!(said.starts_with("output!:") && said.contains("more than 20 calls"), "{said}");
    let said = output(&world, "while True: wait(fork('x'))").await;
    assert!(said.starts_with("output!:") && said.contains("more than 20 calls"), "{said}");
}

/// What it reported before the error is not lost with it.
#[tokio::test]
async fn what_code_reports_before_it_fails_is_reported() {
    let world = builder("reports").start().await;
    let root = world.ask("Run:emit('half')\n1 / 0").await;
    world.ended(root.id).await;
    let lines = lines(&world, root.id).await;
    assert!(lines.iter().any(|line| line.starts_with("notice") && line.contains("half")), "{lines:#?}");
    assert!(lines.iter().any(|line| line.starts_with("output!:") && line.contains("ZeroDivisionError")));
}

#[tokio::test]
async fn of_what_code_prints_the_beginning_comes_back_and_says_so() {
    let world = with_settings("prints", PythonSettings { output_kib: 1, ..PythonSettings::default() });
    let said = output(&world.start().await, "print('x' * 5_000)").await;
    assert!(said.contains(&"x".repeat(1_024)) && !said.contains(&"x".repeat(1_025)), "{said}");
    assert!(said.contains("[cut: the code printed more than is kept]"), "{said}");
}

/// Shows: S3-R042, S3-R044.
#[tokio::test]
async fn the_main_work_of_an_exploration_has_python() {
    let model = crate::scripted(|request| {
        let asked = request.messages.iter().find_map(|message| match message {
            Message::User(text) => Some(text.as_str()),
            _ => None,
        });
        match (Asked::by(request), request.messages.last()) {
            (Asked::Clarify, _) => Script::text(json!({ "ambiguous": false, "question": "" }).to_string()),
            (Asked::Missing, _) => Script::text(json!({ "missing": false, "question": "" }).to_string()),
            (Asked::Subquestions, _) => Script::text(json!({ "subquestions": [] }).to_string()),
            (Asked::Summary, _) => {
                let done = json!({ "summary": "all of it", "needs_more_info": false, "question": "" });
                Script::text(done.to_string())
            }
            (_, Some(Message::Output { text, .. })) => Script::text(text.clone()),
            _ if asked == Some("Go.") => {
                Script::call("python", json!({ "code": "wait([fork('left'), fork('right')])" }))
            }
            _ => Script::text("explored"),
        }
    });
    let worker = [env!("CARGO_BIN_EXE_entourage"), "python-worker", "exploration"];
    let explorer = Explorer::builder().model(model).python(worker).in_memory().open().await.unwrap();
    let stream = explorer.agent("Go.").await.unwrap();
    assert_eq!(within("it ends", stream.result()).await.unwrap(), "all of it");
    let client = explorer.client();
    let roots = client.agents(None, Page::all()).await.unwrap();
    let root = roots.iter().find(|agent| agent.depth == 0).unwrap();
    let lines = plain(&client.items(root.id, 0, 1_000).await.unwrap());
    assert!(lines.contains(&"output: ['explored', 'explored']".to_owned()), "{lines:#?}");
    explorer.close().await;
}

/// The tool exists where a program for its processes was named.
#[tokio::test]
async fn an_agency_has_python_if_it_was_given_a_program_to_run_it() {
    let model = crate::scripted(|request| match request.messages.last() {
        Some(Message::Output { text, .. }) => Script::text(text.clone()),
        _ => Script::call("python", json!({ "code": "6 * 7" })),
    });
    let coder = || {
        let builder = crate::builder("Coder");
        builder.configure(|kind| kind.tools = Some(vec!["python".to_owned()])).build().unwrap()
    };
    let (with, without) = (coder(), coder());
    let worker = [env!("CARGO_BIN_EXE_entourage"), "python-worker", "agency"];
    let agency =
        Agency::new([&with], []).in_memory().model(model.clone()).python(worker).open().await.unwrap();
    let answer = within("it answers", agency.get_response("Go.").into_future()).await.unwrap();
    assert_eq!(answer.final_output.as_deref(), Some("42"));
    agency.close().await;
    let refused = Agency::new([&without], []).in_memory().model(model).open().await;
    let Err(refused) = refused else { panic!("it is refused") };
    let refused = refused.to_string();
    assert!(refused.contains("no built-in tool `python`"), "{refused}");
}
