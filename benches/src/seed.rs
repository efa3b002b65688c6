//! Databases as years of use leave them: written through the store, or multiplied from rows that it
//! wrote.

use std::{path::Path, time::Duration};

use anyhow::{Context as _, Result};
use entourage_store::{Claim, Commit, Store, Write};
use entourage_types::{
    About, Agent, Author, CallId, Cost, Item, ItemBody, Message, OpenQuestion, Output, Owner, Question,
    QuestionId, QuestionStatus, Run, RunId, Status, Step, StepKey, StepState, Time, ToolCall, Turn, Usage,
    Wait, WaitingOn,
};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use rusqlite::Connection;
use serde_json::json;

use crate::engine::{KIND, QUESTION, TOOL};

/// How many agents are written at once: as many as the store commits together.
const AT_ONCE: usize = 128;

/// Creates an idle agent that has had a conversation of this many items.
pub(crate) async fn talked(store: &dyn Store, items: u64) -> Result<Agent> {
    let now = Time::now();
    let mut claim = claimed(store, Agent::root(Owner::local(), KIND, "a long talk", now)).await?;
    let mut run = begun(&claim.agent, now);
    run.status = Status::Succeeded;
    run.ended = Some(now);
    let id = run.id;
    let call = CallId::new();
    let bodies = (0..items).map(|seq| match seq % 4 {
        0 => asked(),
        1 => ItemBody::Turn(Turn { calls: vec![look_up(call)], ..Turn::default() }),
        2 => ItemBody::Output(Output {
            call,
            tool: TOOL.into(),
            text: "Clear, minus three degrees, wind from the north-east at four metres per second.".into(),
            error: false,
            effect: None,
            details: None,
        }),
        _ => ItemBody::Turn(Turn {
            text: "It stays clear and cold, with light wind from the north-east until Thursday.".into(),
            ..Turn::default()
        }),
    });
    let mut commit = Commit::fenced(&claim.agent, now).write(Write::Run(run));
    for body in bodies {
        commit.push(next(&mut claim.agent, id, now, body));
    }
    // Its status stays as it was, so that no subscriber takes this for the end of a run.
    commit.push(Write::Agent(claim.agent.clone()));
    store.commit(commit).await?;
    Ok(claim.agent)
}

/// Creates this many agents that asked a person a question and wait for the answer.
pub(crate) async fn suspended(store: &dyn Store, agents: usize) -> Result<()> {
    stream::iter(0..agents).map(|_| Ok(waiting(store))).try_buffer_unordered(AT_ONCE).try_collect().await
}

async fn waiting(store: &dyn Store) -> Result<()> {
    let now = Time::now();
    let mut claim = claimed(store, Agent::root(Owner::local(), KIND, QUESTION, now)).await?;
    let mut run = begun(&claim.agent, now);
    run.status = Status::Waiting;
    run.waiting_on = Some(WaitingOn::User);
    let call = look_up(CallId::new());
    let question = Question {
        id: QuestionId::new(),
        owner: claim.agent.owner.clone(),
        root: claim.agent.root,
        agent: claim.agent.id,
        kind: KIND.into(),
        run: run.id,
        call: call.id,
        task: None,
        about: About::Information,
        text: "Which Oslo: the one in Norway, or the one in Minnesota?".into(),
        options: Vec::new(),
        proposal: None,
        due: None,
        otherwise: None,
        status: QuestionStatus::Open,
        answer: None,
        answered_by: None,
        created: now,
        updated: now,
    };
    let step = Step {
        run: run.id,
        key: StepKey::Tool(call.id),
        state: StepState::Open(Wait::Question(OpenQuestion {
            question: question.id,
            about: About::Information,
            holds_for: String::new(),
            due: None,
            otherwise: None,
        })),
        intent: None,
        attempt: 1,
        used: None,
        asked: None,
        started: now,
        updated: now,
    };
    let mut commit = Commit::fenced(&claim.agent, now);
    commit.push(next(&mut claim.agent, run.id, now, asked()));
    let turn = ItemBody::Turn(Turn { calls: vec![call], ..Turn::default() });
    commit.push(next(&mut claim.agent, run.id, now, turn));
    claim.agent.status = Status::Waiting;
    claim.agent.waiting_on = Some(WaitingOn::User);
    commit.writes.extend([
        Write::Run(run),
        Write::Step(step),
        Write::record(&question)?,
        Write::Agent(claim.agent),
    ]);
    store.commit(commit).await?;
    Ok(())
}

/// Multiplies an agent that is alone in its tree, with all its rows, until it exists this many
/// times. The copies differ in their ids, which carry the milliseconds before the original's.
pub(crate) fn multiplied(database: &Path, agent: &str, times: usize) -> Result<()> {
    let connection = Connection::open(database)?;
    connection.busy_timeout(Duration::from_secs(60))?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    let run: String =
        connection.query_row("SELECT id FROM runs WHERE agent = ?1", [agent], |row| row.get(0))?;
    let tables: Vec<String> = connection
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE TABLE%' AND name NOT GLOB '*_text_*'")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let copies = times.saturating_sub(1);
    for table in tables {
        let columns: Vec<String> = connection
            .prepare(&format!("SELECT name FROM pragma_table_info('{table}') WHERE name <> 'n'"))?
            .query_map([], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        let whose = ["root", "agent", "run"].into_iter().find(|name| columns.iter().any(|own| own == name));
        let Some(whose) = whose else { continue };
        let values: Vec<String> = columns
            .iter()
            .map(|column| match column.as_str() {
                "id" | "root" | "agent" | "run" => {
                    format!("substr({column}, 1, 4) || printf('%012x', ?2 - copy) || substr({column}, 17)")
                }
                _ => column.clone(),
            })
            .collect();
        // Copy by copy, so that rows are written where the previous ones were.
        let copied = match table.as_str() {
            // The key contains the row id of the tree's agent, which was copied before: its table
            // is older.
            "events" => format!(
                "INSERT INTO events (n, {}) SELECT (copied.n << 32) | (events.n & 4294967295), {} \
                 FROM copies CROSS JOIN events \
                 JOIN agents AS copied ON copied.id = substr(?1, 1, 4) || printf('%012x', ?2 - copy) || substr(?1, 17) \
                 WHERE events.agent = ?1",
                columns.join(", "),
                values.join(", ").replace("substr(agent", "substr(events.agent"),
            ),
            _ => format!(
                "INSERT INTO {table} ({}) SELECT {} FROM copies CROSS JOIN {table} WHERE {whose} = ?1",
                columns.join(", "),
                values.join(", "),
            ),
        };
        let sql = format!(
            "WITH RECURSIVE copies(copy) AS (SELECT ?3 UNION ALL SELECT copy - 1 FROM copies WHERE copy > 1) \
             {copied}",
        );
        let owner = if whose == "run" { &run } else { agent };
        let millis = i64::from_str_radix(&agent[4..16], 16)?;
        connection.execute(&sql, rusqlite::params![owner, millis, i64::try_from(copies)?])?;
    }
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}

async fn claimed(store: &dyn Store, agent: Agent) -> Result<Claim> {
    store.commit(Commit::new(agent.created).write(Write::NewAgent(agent.clone()))).await?;
    store.claim(agent.id, 0).await?.context("an agent that was just made is not there")
}

fn begun(agent: &Agent, now: Time) -> Run {
    Run {
        id: RunId::new(),
        agent: agent.id,
        owner: agent.owner.clone(),
        status: Status::Running,
        waiting_on: None,
        stop_reason: None,
        error: None,
        kind_version: String::new(),
        switches: Default::default(),
        tasks: Vec::new(),
        model_calls: 1,
        worked_ms: 0,
        usage: Usage::default(),
        cost: Cost::default(),
        spent: Vec::new(),
        started: now,
        ended: None,
    }
}

fn next(agent: &mut Agent, run: RunId, at: Time, body: ItemBody) -> Write {
    let item = Item { agent: agent.id, seq: agent.items, run, session: agent.session, at, step: None, body };
    agent.items += 1;
    Write::Item(item)
}

fn asked() -> ItemBody {
    ItemBody::Message(Message::new(Author::User, QUESTION, None))
}

fn look_up(id: CallId) -> ToolCall {
    ToolCall { id, tool: TOOL.into(), arguments: json!({ "query": "the weather in Oslo", "page": 0 }) }
}

#[cfg(test)]
mod tests {
    use entourage_store::AgentQuery;
    use entourage_store_sqlite::{Settings, SqliteStore};
    use entourage_types::Scope;

    use super::*;

    #[tokio::test]
    async fn copies_of_a_tree_are_separate_trees() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("entourage.db");
        let store = SqliteStore::open(&path, Settings::default()).unwrap();
        let first = talked(&store, 4).await.unwrap();
        let told = store.events(&Scope::All, first.id, 0, 100).await.unwrap().len();
        drop(store);
        multiplied(&path, &first.id.to_string(), 3).unwrap();
        let store = SqliteStore::open(&path, Settings::default()).unwrap();
        let agents = store.agents(&Scope::All, AgentQuery::default()).await.unwrap();
        assert_eq!(agents.len(), 3);
        for agent in agents {
            let events = store.events(&Scope::All, agent.id, 0, 100).await.unwrap();
            assert_eq!(events.len(), told);
            assert!(events.iter().all(|event| event.root == agent.id && event.agent == agent.id));
        }
    }
}
