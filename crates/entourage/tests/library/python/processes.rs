//! The processes that run code, as the system shows them.

use std::time::Duration;

use entourage::tools::PythonSettings;
use entourage_store::Page;
use entourage_types::{Action, Answer, Owner, Status};

use super::{lines, waiting_child, with_settings};
use crate::within;

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

async fn until(what: &str, holds: impl Fn() -> bool) {
    within(what, async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// Code ends by no limit of its own here.
fn unlimited() -> PythonSettings {
    PythonSettings { cpu_seconds: 300, seconds: 300, ..PythonSettings::default() }
}

/// Shows: S3-R092, S3-R093.
#[tokio::test]
async fn the_process_of_code_ends_when_its_agent_is_deleted_or_stopped_or_its_call_fails() {
    for end in ["deleted", "stopped", "out-of-time"] {
        let mark = format!("process-of-code-{end}");
        let world = with_settings(&mark, unlimited()).start().await;
        let root = world.ask("Run:while True: pass").await.id;
        until("the code runs", || !processes(&mark).is_empty()).await;
        // The engine that runs the code hears of it at once.
        let client = world.engine().client(Owner::local());
        let status = match end {
            "deleted" => {
                client.intervene(root, Action::Delete, None).await.unwrap();
                Status::Cancelled
            }
            "stopped" => {
                client.intervene(root, Action::Stop, None).await.unwrap();
                Status::Failed
            }
            _ => {
                world.clock().advance(Duration::from_secs(130));
                Status::Succeeded
            }
        };
        within("the agent ends", async {
            while world.client().agent(root).await.unwrap().status != status {
                tokio::task::yield_now().await;
            }
        })
        .await;
        until("its process ends", || processes(&mark).is_empty()).await;
    }
}

/// Shows: S3-R093.
#[tokio::test]
async fn code_that_ends_early_as_the_user_declines_leaves_no_agent_and_nothing_that_runs() {
    let mark = "process-of-declined";
    let world = with_settings(mark, unlimited()).start().await;
    let code = "
left = fork('fail')
'ended early' if ask_user('Shall I go on?') is None else wait(left)
";
    let root = world.ask(&format!("Run:{code}")).await.id;
    let child = waiting_child(&world, root).await;
    let asked = world.client().questions(None, None, Page::all()).await.unwrap();
    let asked = asked.into_iter().find(|question| question.agent == root).unwrap();
    world.client().answer(asked.id, Answer::Declined).await.unwrap();
    world.ended(root).await;
    assert!(lines(&world, root).await.contains(&"output: 'ended early'".to_owned()));
    assert_eq!(world.client().agent(child.id).await.unwrap().status, Status::Cancelled);
    until("nothing runs", || processes(mark).iter().all(|process| process.contains("S (sleeping)"))).await;
    assert_eq!(world.audit().await, []);
}
