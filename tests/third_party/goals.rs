//! A goal with a real language model, over HTTP as its user has it: three messages, a task, a note, and a closed session
//! whose summary and notes are there afterwards.
//!
//! A small model wanders: what it is to do is said again until it has done it. What it writes is not judged.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// Short, as a small model needs it; what makes it a goal's is as in the built-in kind.
const GOAL: &str = "---
name: goal
tools: [create_note, create_task, send_message]
tasks: { kind: task }
conversational: true
reply: send_message
on_limit: finish
permanent: true
context: { sections: [goal, notes, tasks], sessions: idle }
limits: { max_steps: 4, max_same_tool: 2, max_depth: 1 }
---
You help with one goal. Do what the user asks with one tool; then tell them with `send_message`.
";

const TASK: &str = "---
name: task
tools: [create_note]
peers: []
reply: final_text
on_limit: finish
context: { sections: [goal] }
limits: { max_steps: 3, max_history: 20 }
---
Work on the task, and answer in one sentence.
";

/// How often a small model is asked for one thing, and how long it may take.
const ATTEMPTS: usize = 6;
const PATIENCE: Duration = Duration::from_secs(240);

/// A server of the binary, which ends with this value.
struct Server {
    child: Child,
    url: String,
    http: reqwest::Client,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(data: &Path) -> Self {
        let mut command = Command::new(super::named("BINARY"));
        command.arg("--data").arg(data).args(["serve", "--bind", "127.0.0.1:0", "--json"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut greeting = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut greeting).unwrap();
        let greeting: Value = serde_json::from_str(&greeting).unwrap();
        Self { child, url: greeting["url"].as_str().unwrap().to_owned(), http: reqwest::Client::new() }
    }

    async fn get(&self, path: &str) -> Value {
        let answer = self.http.get(format!("{}{path}", self.url)).send().await.unwrap();
        answer.error_for_status().unwrap().json().await.unwrap()
    }

    async fn rows(&self, path: &str) -> Vec<Value> {
        self.get(path).await["data"].as_array().unwrap().clone()
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        let answer = self.http.post(format!("{}{path}", self.url)).json(&body).send().await.unwrap();
        answer.error_for_status().unwrap().json().await.unwrap()
    }

    /// Waits until a document fits.
    async fn until(&self, path: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let now = self.get(path).await;
            if fits(&now) {
                return now;
            }
            assert!(begun.elapsed() < PATIENCE, "{path}: {now}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Says this to a goal until a list has an entry. Returns how often it was said.
    async fn insist(&self, goal: &str, text: &str, list: &str) -> usize {
        for attempt in 1..=ATTEMPTS {
            self.say(goal, text).await;
            if !self.rows(list).await.is_empty() {
                return attempt;
            }
        }
        panic!("{list} stays empty");
    }

    /// Writes to a goal, and waits until its agent rests.
    async fn say(&self, goal: &str, text: &str) {
        self.post(&format!("/api/goals/{goal}/thread_messages"), json!({ "content": text })).await;
        self.until(&format!("/v1/agents/{goal}"), |agent| {
            ["succeeded", "failed"].contains(&agent["status"].as_str().unwrap()) && agent["unread"] != true
        })
        .await;
    }
}

fn write_settings(data: &Path) {
    let (model, url) = (super::named("LOCAL_MODEL_NAME"), super::named("LOCAL_MODEL_URL"));
    std::fs::create_dir_all(data.join("kinds")).unwrap();
    std::fs::write(data.join("kinds/goal.md"), GOAL).unwrap();
    std::fs::write(data.join("kinds/task.md"), TASK).unwrap();
    let settings = format!(
        "[models]\ndefault = \"compatible::{model}\"\n\
         [models.providers.compatible]\nbase_url = \"{url}\"\nheader_seconds = 300\nsilence_seconds = 300\n\
         [models.profiles.\"compatible::{model}\"]\nnative_tools = false\n"
    );
    std::fs::write(data.join("entourage.toml"), settings).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_goal_takes_messages_and_a_task_and_keeps_notes_and_a_summary() {
    let directory = tempfile::tempdir().unwrap();
    entourage_llm::install_tls();
    write_settings(directory.path());
    let server = Server::start(directory.path());
    let goal = server.post("/api/goals", json!({ "title": "Elbrus", "description": "Climb it." })).await;
    let goal = goal["id"].as_str().unwrap().to_owned();
    let (notes, tasks) = (format!("/api/goals/{goal}/notes"), format!("/api/agent_tasks?goal_id={goal}"));

    server.say(&goal, "Say hello with `send_message`.").await;
    let note = "Use `create_note` with title `Height` and content `5642 metres`.";
    let said = server.insist(&goal, note, &notes).await;
    let task = "Use `create_task` with title `Country` and instructions `Say in which country Elbrus is.`";
    let said = 1 + said + server.insist(&goal, task, &tasks).await;
    let ended = server
        .until(&tasks, |tasks| {
            let tasks = tasks["data"].as_array().unwrap();
            tasks.iter().all(|task| ["completed", "cancelled"].contains(&task["status"].as_str().unwrap()))
        })
        .await;
    println!("tasks: {ended:#}");
    let thread = server.rows(&format!("/api/goals/{goal}/thread_messages?limit=200")).await;
    let of_user = thread.iter().filter(|message| message["source"] == "user");
    assert_eq!(of_user.filter(|message| message["processed"] == true).count(), said, "each was read");

    server.post(&format!("/v1/agents/{goal}/interventions"), json!({ "action": "close_session" })).await;
    let histories = format!("/api/goals/{goal}/agent_histories");
    let closed =
        server.until(&histories, |list| list["data"].as_array().is_some_and(|all| !all.is_empty())).await;
    let closed = &closed["data"][0];
    println!("summary: {closed:#}");
    assert!(closed["summary"].as_str().is_some_and(|summary| !summary.trim().is_empty()), "{closed}");
    assert!(closed["message_count"].as_u64().unwrap() >= 3, "{closed}");
    assert!(!server.rows(&notes).await.is_empty(), "its notes are there");
    assert!(!server.rows(&tasks).await.is_empty(), "its tasks are there");
    let context = server.get(&format!("/v1/agents/{goal}/context")).await;
    let tokens = |name: &str| {
        let blocks = context["blocks"].as_array().unwrap().iter();
        blocks.filter(|block| block["name"] == name).filter_map(|block| block["tokens"].as_u64()).sum::<u64>()
    };
    assert!(tokens("sessions") > 0 && tokens("notes") > 0, "what it reads next: {context:#}");
}
