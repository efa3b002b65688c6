//! Python code of agents: what it returns, what it starts, and that it goes on after crashes.

use std::{ffi::OsString, path::Path};

use entourage::explore::Explorer;
use entourage::tools::{PythonSettings, Settings as ToolSettings, Snapshots, Toolbox};
use entourage_engine::Kinds;
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::{Commit, MemoryStore, Page, RecordFilter, Write};
use entourage_testkit::{Asked, Story, World, WorldBuilder, plain};
use entourage_types::{
    Action, AgentId, Answer, CodeSnapshot, ContextPolicy, Kind, Owner, Scope, Section, Status,
};
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
fn tools(mark: &str, snapshots: Snapshots) -> Toolbox {
    let worker: [OsString; 3] = [env!("CARGO_BIN_EXE_entourage").into(), "python-worker".into(), mark.into()];
    let python = PythonSettings { snapshots, ..PythonSettings::default() };
    entourage::toolbox(ToolSettings { python, ..ToolSettings::default() }, Some(&worker))
}

fn builder(mark: &str) -> WorldBuilder {
    with_snapshots(mark, Snapshots::Slow)
}

fn with_snapshots(mark: &str, snapshots: Snapshots) -> WorldBuilder {
    let context = ContextPolicy { sections: vec![Section::Learnings], ..ContextPolicy::default() };
    let tools_of_kind = Some(["python", "ask_user", "search_notes"].map(str::to_owned).to_vec());
    let instructions = "Do as asked.".into();
    let kind = Kind { instructions, context, tools: tools_of_kind, ..Kind::bare("assistant") };
    let model = ScriptedModel::deciding(|request| Some(Ok(mind(request))));
    World::builder(model)
        .tools(tools(mark, snapshots))
        .kinds(Kinds::none().with(kind))
        .store(MemoryStore::default())
}

/// The output of the code.
async fn output(world: &World, code: &str) -> String {
    let root = world.ask(&format!("Run:{code}")).await;
    world.ended(root.id).await;
    let lines = plain(&world.client().items(root.id, 0, 1_000).await.unwrap());
    assert_eq!(world.audit().await, []);
    lines.into_iter().find(|line| line.starts_with("output")).unwrap_or_default()
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

#[tokio::test]
async fn an_answer_that_is_declined_is_none_and_an_agent_that_fails_raises() {
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
    // The agent that was forked is stopped by a person.
    let child = loop {
        let tree = world.client().tree(root.id).await.unwrap();
        match tree.get(1) {
            Some(child) if child.status == Status::Waiting => break child.id,
            _ => tokio::task::yield_now().await,
        }
    };
    world.client().intervene(child, Action::Stop, None).await.unwrap();
    world.ended(root.id).await;
    let lines = plain(&world.client().items(root.id, 0, 1_000).await.unwrap());
    let said = lines.iter().find(|line| line.starts_with("output")).unwrap();
    assert!(said.starts_with("output: None and ") && said.contains("stopped"), "{said}");
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
    let said = output(&world, "while True: pass").await;
    assert!(said.starts_with("output!:"), "{said}");
}

/// The processes with this mark in their command line, each with its state.
fn processes(mark: &str) -> Vec<String> {
    let of = |entry: std::fs::DirEntry| {
        let read = |file: &str| std::fs::read(entry.path().join(file)).unwrap_or_default();
        let line = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
        let status = String::from_utf8_lossy(&read("status")).into_owned();
        let state = status.lines().find(|line| line.starts_with("State:")).unwrap_or_default().to_owned();
        line.contains(mark).then(|| format!("{} {line} {state}", entry.path().display()))
    };
    std::fs::read_dir("/proc").unwrap().flatten().filter_map(of).collect()
}

/// Shows: S3-R092, S3-R093.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_process_of_code_ends_when_its_agent_is_deleted() {
    let mark = "process-that-ends";
    let world = builder(mark).start().await;
    let root = world.ask("Run:while True: pass").await;
    within("the code runs", async {
        while processes(mark).is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    // The engine that runs the code hears of it at once.
    let client = world.engine().client(Owner::local());
    client.intervene(root.id, Action::Delete, None).await.unwrap();
    within("the agent is deleted", async {
        while world.client().agent(root.id).await.unwrap().status != Status::Cancelled {
            tokio::task::yield_now().await;
        }
    })
    .await;
    within("its process ends", async {
        while !processes(mark).is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await;
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

/// Shows: S3-R066, INV-03.
#[tokio::test(flavor = "multi_thread")]
async fn code_survives_a_crash_at_any_commit_with_its_state_kept_and_without() {
    let code = "
a, b = fork('A'), fork('B')
emit('forked')
answer = ask_user('Which?')
[wait(b), answer, wait(a), tool('search_notes', query='x')]
";
    let mut transcripts = Vec::new();
    for snapshots in [Snapshots::Never, Snapshots::Always] {
        let message = format!("Run:{code}");
        let story = Story::new([&*message], move |_| with_snapshots("story", snapshots)).any_order();
        let undisturbed = story.run(1, &[]).await;
        let said = undisturbed.transcripts[0].iter().find(|line| line.starts_with("output")).unwrap();
        assert!(said.starts_with("output: ['did B', 'yes', 'did A', "), "{said}");
        let points = story.survives([1], 25).await;
        assert!(points >= 12, "{points}");
        transcripts.push(undisturbed.transcripts);
    }
    assert_eq!(transcripts[0], transcripts[1], "the same with the state of the code and without");
}

/// The state of code is kept while it waits, and nothing of it is left when it has ended, however that was.
#[tokio::test]
async fn the_state_of_code_is_dropped_with_its_call() {
    let world = with_snapshots("state", Snapshots::Always).start().await;
    let kept = async |root: AgentId| {
        let all = RecordFilter::<CodeSnapshot> { page: Page::all(), ..RecordFilter::of(root) };
        world.store().records(&Scope::All, all).await.unwrap().len()
    };
    for end in ["answered", "stopped", "deleted"] {
        let root = world.ask("Run:x = [1] * 1000\nask_user('Which?')\nlen(x)").await.id;
        let question = world.question(root).await;
        assert_eq!(kept(root).await, 1);
        match end {
            "answered" => drop(world.client().answer(question.id, Answer::Text("yes".into())).await.unwrap()),
            "stopped" => drop(world.client().intervene(root, Action::Stop, None).await.unwrap()),
            _ => drop(world.client().intervene(root, Action::Delete, None).await.unwrap()),
        }
        within("it ends", async {
            while !world.client().agent(root).await.unwrap().status.is_terminal() {
                tokio::task::yield_now().await;
            }
        })
        .await;
        assert_eq!(kept(root).await, 0, "{end}");
        assert_eq!(world.audit().await, [], "{end}");
    }
}

/// As after an upgrade: another build's state, or what is left of a damaged one, is left aside, and the code runs again.
#[tokio::test]
async fn a_state_that_does_not_fit_is_left_aside() {
    let world = with_snapshots("unfit", Snapshots::Always).start().await;
    for unfit in ["", "bm8gc25hcHNob3Q=", "not Base64"] {
        let root = world.ask("Run:x = 40\nx + len(ask_user('Which?'))").await;
        let question = world.question(root.id).await;
        let all = RecordFilter::<CodeSnapshot> { page: Page::all(), ..RecordFilter::of(root.id) };
        let kept = world.store().records(&Scope::All, all).await.unwrap().remove(0);
        let damaged = CodeSnapshot { state: unfit.to_owned(), ..kept };
        let commit = Commit::new(damaged.updated).write(Write::record(&damaged).unwrap());
        world.store().commit(commit).await.unwrap();
        world.client().answer(question.id, Answer::Text("ab".into())).await.unwrap();
        world.ended(root.id).await;
        let lines = plain(&world.client().items(root.id, 0, 100).await.unwrap());
        assert!(lines.contains(&"output: 42".to_owned()), "{unfit}: {lines:?}");
    }
}
