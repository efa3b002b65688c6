//! Views: a person who opens the file with `sqlite3` reads nouns, names and times.

use entourage_store::{Commit, Store, Write};
use entourage_store_sqlite::{Settings, SqliteStore};
use entourage_types::{
    About, Agent, Answer, Author, CallId, Cost, Item, ItemBody, Message, ModelUse, Note, NoteId, OnEnd,
    Output, Owner, Question, QuestionId, QuestionStatus, Run, RunId, Status, StopReason, Task, TaskId,
    TaskResult, Time, ToolCall, Turn, Usage,
};
use rusqlite::{Connection, types::Value};
use serde_json::json;
use tempfile::TempDir;

/// 2026-11-21T20:13:20.5Z
const AT: Time = Time::from_micros(1_795_292_000_500_000);
const SHOWN: &str = "2026-11-21T20:13:20.500Z";

/// The rows of a query, each as one line.
fn rows(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(sql).unwrap();
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| {
        let values = (0..columns).map(|column| {
            Ok(match row.get::<_, Value>(column)? {
                Value::Null => "-".to_owned(),
                Value::Integer(integer) => integer.to_string(),
                Value::Real(real) => real.to_string(),
                Value::Text(text) => text,
                Value::Blob(_) => "blob".to_owned(),
            })
        });
        Ok(values.collect::<rusqlite::Result<Vec<_>>>()?.join(" | "))
    });
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

#[tokio::test]
async fn every_view_shows_names_and_readable_times() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let store = SqliteStore::open(&path, Settings::default()).unwrap();
    let root = Agent::root(Owner::local(), "helper", "garden", AT);
    store.commit(Commit::new(AT).write(Write::NewAgent(root.clone()))).await.unwrap();
    let mut agent = store.claim(root.id, 0).await.unwrap().unwrap().agent;
    let run = Run {
        id: RunId::new(),
        agent: agent.id,
        owner: agent.owner.clone(),
        status: Status::Succeeded,
        waiting_on: None,
        stop_reason: Some(StopReason::Completed),
        error: None,
        kind_version: "v1".to_owned(),
        switches: Default::default(),
        tasks: Vec::new(),
        model_calls: 2,
        worked_ms: 0,
        usage: Usage { input: 10, output: 5, ..Usage::default() },
        cost: Cost::from_nanos(1_500_000_000),
        spent: Vec::new(),
        started: AT,
        ended: Some(AT),
    };
    let call = CallId::new();
    let bodies = [
        ItemBody::Message(Message::new(Author::User, "dig", None)),
        ItemBody::Turn(Turn {
            text: String::new(),
            calls: vec![ToolCall { id: call, tool: "spade".to_owned(), arguments: json!({}) }],
            used: Some(ModelUse {
                model: "some::model".to_owned(),
                usage: Usage { input: 1, ..Usage::default() },
                cost: None,
            }),
            asked: None,
        }),
        ItemBody::Output(Output {
            call,
            tool: "spade".to_owned(),
            text: "a hole".to_owned(),
            error: false,
            effect: None,
            details: None,
        }),
    ];
    let mut commit = Commit::fenced(&agent, AT);
    for body in bodies {
        let item =
            Item { agent: agent.id, seq: agent.items, run: run.id, session: 1, at: AT, step: None, body };
        commit.push(Write::Item(item));
        agent.items += 1;
    }
    let task = Task {
        id: TaskId::new(),
        owner: agent.owner.clone(),
        root: agent.root,
        from: agent.id,
        to: agent.id,
        call,
        on_end: OnEnd::Answer,
        group: None,
        kind: "digger".to_owned(),
        instruction: "dig a hole".to_owned(),
        title: String::new(),
        origin: None,
        status: Status::Succeeded,
        result: Some(TaskResult::Text("dug".to_owned())),
        post: None,
        run: None,
        reactivated: 0,
        created: AT,
        updated: AT,
    };
    let question = Question {
        id: QuestionId::new(),
        owner: agent.owner.clone(),
        root: agent.root,
        agent: agent.id,
        kind: agent.kind.clone(),
        run: run.id,
        call,
        task: None,
        about: About::Information,
        text: "how deep?".to_owned(),
        options: Vec::new(),
        proposal: None,
        due: None,
        otherwise: None,
        status: QuestionStatus::Answered,
        answer: Some(Answer::Text("1 m".to_owned())),
        answered_by: None,
        created: AT,
        updated: AT,
    };
    let note = Note {
        id: NoteId::new(),
        owner: agent.owner.clone(),
        root: agent.root,
        agent: agent.id,
        title: "soil".to_owned(),
        content: "clay".to_owned(),
        created: AT,
    };
    commit.push(Write::Run(run));
    commit.push(Write::Agent(agent));
    commit.push(Write::record(&task).unwrap());
    commit.push(Write::record(&question).unwrap());
    commit.push(Write::record(&note).unwrap());
    store.commit(commit).await.unwrap();

    // While the store is open, as a person would.
    let person = Connection::open(&path).unwrap();
    for (sql, expected) in [
        (
            "SELECT kind, title, status, items, created FROM agent_list",
            vec![format!("helper | garden | idle | 3 | {SHOWN}")],
        ),
        (
            "SELECT kind, title, status, stop_reason, model_calls, input_tokens, cost_usd, started, ended FROM run_list",
            vec![format!("helper | garden | succeeded | completed | 2 | 10 | 1.5 | {SHOWN} | {SHOWN}")],
        ),
        (
            "SELECT seq, at, type, who, text, calls FROM transcript ORDER BY seq",
            vec![
                format!("0 | {SHOWN} | message | user | dig | -"),
                format!("1 | {SHOWN} | turn | some::model | - | spade"),
                format!("2 | {SHOWN} | output | spade | a hole | -"),
            ],
        ),
        (
            "SELECT status, kind, instruction, result, created FROM task_list",
            vec![format!("succeeded | digger | dig a hole | dug | {SHOWN}")],
        ),
        (
            "SELECT status, kind, text, answer, updated FROM question_list",
            vec![format!("answered | helper | how deep? | 1 m | {SHOWN}")],
        ),
        ("SELECT title, content, created FROM note_list", vec![format!("soil | clay | {SHOWN}")]),
        (
            "SELECT seq, at, event, item_seq FROM event_list WHERE root = (SELECT id FROM agents) ORDER BY seq LIMIT 2",
            vec![format!("1 | {SHOWN} | agent_created | -"), format!("2 | {SHOWN} | item | 0")],
        ),
    ] {
        assert_eq!(rows(&person, sql), expected, "{sql}");
    }
}
