//! No query reads what has ended, however much of that there is: rows are counted by the server.

use entourage_store::{
    AgentQuery, Commit, EntityQuery, EventQuery, Expect, ItemQuery, Page, RunQuery, Store, UsageQuery, Write,
};
use entourage_store_postgres::{PostgresStore, Settings};
use entourage_types::{
    Agent, AgentId, EntityKind, Note, Question, QuestionStatus, RecordSelector, Scope, ShownStatus,
    StopReason, Task, UsageBy, WaitingOn,
};

use crate::server::{NOW, Scratch, post, root, run};

/// How many rows of each sort have ended.
const ENDED: u32 = 20_000;
/// How many rows a first page may read: twice its own, and what a step in an index needs.
const FEW: i64 = 600;

/// Rows that have ended: agents at the top of trees of their own and below one, their runs with items and events, tasks
/// and notes.
fn ended(tree: AgentId) -> Vec<String> {
    let tree = tree.uuid();
    let id = |noun: u32| format!("('00000000-0000-7{noun:03}-8000-' || lpad(to_hex(n), 12, '0'))::uuid");
    let (agent, child, of_run) = (id(1), id(2), id(3));
    let rows = format!("FROM generate_series(1, {ENDED}) AS n");
    let agents = |id: &str, root: &str, parent: &str| {
        format!(
            "INSERT INTO agents (id, owner, root, parent, works_for, depth, kind, title, status, epoch, settled, session, \
             items, created, updated, active, ended_as, living) SELECT {id}, 'ann', {root}, {parent}, 'person', 0, \
             'helper', 'helps', 'succeeded', 1, 1, 1, 1, 1, 1, false, 'succeeded', {id} = {root} {rows}"
        )
    };
    let entities = |kind: &str, status: &str| {
        format!(
            "INSERT INTO entities (kind, id, owner, root, agent, status, created, updated, version, body, text, words) \
             SELECT '{kind}', '{kind}' || n, 'ann', {agent}, {agent}, '{status}', 1, 1, 1, '{{}}', 'a word', \
             '''/{kind}'' ''/{kind}/ann'' ''a'':1 ''word'':2'::tsvector {rows}"
        )
    };
    vec![
        format!("INSERT INTO trees (root, last_event, last_at) SELECT {agent}, 1, 1 {rows}"),
        agents(&agent, &agent, "NULL"),
        agents(&child, &format!("'{tree}'::uuid"), &format!("'{tree}'::uuid")),
        format!(
            "INSERT INTO runs (id, agent, owner, status, stop_reason, kind_version, tasks, model_calls, worked_ms, input, \
             output, cached, cache_written, reasoning, cost, spent, started, ended, ended_as) SELECT {of_run}, {agent}, \
             'ann', 'succeeded', 'completed', 'v1', '[]', 1, 1, 1, 1, 1, 1, 1, 1, '[]', 1, 2, 'succeeded' {rows}"
        ),
        format!(
            "INSERT INTO items (agent, seq, run, session, at, type, body) SELECT {agent}, 0, {of_run}, 1, 1, 'notice', \
             '{{}}' {rows}"
        ),
        format!(
            "INSERT INTO events (root, seq, agent, at, body) SELECT {agent}, 1, {agent}, 1, '{{}}' {rows}"
        ),
        entities("task", "succeeded"),
        entities("note", "kept"),
        "ANALYZE".to_owned(),
    ]
}

/// How many rows the server has read so far, without those of its own tables.
async fn rows_read(scratch: &Scratch) -> i64 {
    // What a connection has read is counted once it has ended.
    let others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                  AND backend_type = 'client backend' AND pid <> pg_backend_pid()";
    while scratch.number(others).await > 0 {}
    scratch
        .number("SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_user_tables")
        .await
}

/// The calls, by name.
const CALLS: [&str; 20] = [
    "waiting agents of an owner",
    "agents at work",
    "failed agents",
    "the newest agents",
    "chats of a kind",
    "children of an agent",
    "agents with posts",
    "open runs",
    "failed runs",
    "runs that were stopped by a limit",
    "runs of an agent",
    "open questions",
    "tasks of a tree",
    "words",
    "events",
    "items",
    "what is due",
    "sums",
    "a claim",
    "a commit",
];

async fn call(name: &str, store: &PostgresStore, agent: &Agent) {
    let ann = Scope::from(&agent.owner);
    let newest = Page { newest_first: true, ..Page::default() };
    let agents = |query: AgentQuery| async { store.agents(&ann, query).await.map(drop) };
    let runs = |query: RunQuery| async { store.runs(&ann, query).await.map(drop) };
    let status = |status| AgentQuery { status: Some(status), ..AgentQuery::default() };
    match name {
        "waiting agents of an owner" => {
            agents(AgentQuery { waiting_on: Some(WaitingOn::User), ..status(ShownStatus::Waiting) }).await
        }
        "agents at work" => {
            let query = AgentQuery { active: true, ..AgentQuery::default() };
            store.agents(&Scope::All, query).await.map(drop)
        }
        "failed agents" => agents(status(ShownStatus::Failed)).await,
        "the newest agents" => agents(AgentQuery { page: newest, ..AgentQuery::default() }).await,
        "chats of a kind" => {
            let kind = Some("helper".to_owned());
            agents(AgentQuery { roots: true, kind, page: newest, ..AgentQuery::default() }).await
        }
        "children of an agent" => {
            agents(AgentQuery { parent: Some(agent.id), ..AgentQuery::default() }).await
        }
        "agents with posts" => agents(AgentQuery { unread: true, ..AgentQuery::default() }).await,
        "open runs" => runs(RunQuery { open: true, ..RunQuery::default() }).await,
        "failed runs" => runs(RunQuery { status: Some(ShownStatus::Failed), ..RunQuery::default() }).await,
        "runs that were stopped by a limit" => {
            runs(RunQuery { stop_reason: Some(StopReason::MaxSteps), ..RunQuery::default() }).await
        }
        "runs of an agent" => runs(RunQuery { agent: Some(agent.id), ..RunQuery::default() }).await,
        "open questions" => {
            let records = RecordSelector::in_status::<Question>(QuestionStatus::Open);
            let query = EntityQuery { soonest_first: true, ..EntityQuery::of(records) };
            store.entities(&ann, query).await.map(drop)
        }
        "tasks of a tree" => {
            let query = EntityQuery { root: Some(agent.root), ..EntityQuery::records::<Task>() };
            store.entities(&ann, query).await.map(drop)
        }
        "words" => {
            let text = Some("nowhere".to_owned());
            store.entities(&ann, EntityQuery { text, ..EntityQuery::records::<Note>() }).await.map(drop)
        }
        "events" => store.select_events(&ann, EventQuery::of(agent.root, 0, 100)).await.map(drop),
        "items" => store.items(&ann, ItemQuery::of(agent.id, 0, 100)).await.map(drop),
        "what is due" => store.due(NOW, None, 100).await.map(drop),
        "sums" => {
            store.subtrees(&ann, &[agent.id]).await.unwrap();
            let by = vec![UsageBy::Model];
            store.usage(&ann, UsageQuery { by, ..UsageQuery::default() }).await.map(drop)
        }
        "a claim" => store.claim(agent.id, 0).await.map(drop),
        "a commit" => {
            let mut commit = Commit::new(NOW)
                .expect(Expect::Absent(EntityKind::REQUEST, "one".to_owned()))
                .expect(Expect::TreeBelow(agent.root, 10))
                .expect(Expect::ChildrenBelow(agent.id, 10))
                .expect(Expect::CreatedBelow(agent.root, 10, NOW))
                .write(Write::NewAgent(agent.child("digger", "digs", None, NOW)));
            commit.post(post(agent), &agent.owner);
            store.commit(commit).await.map(drop)
        }
        other => panic!("no call is named {other}"),
    }
    .unwrap_or_else(|error| panic!("{name}: {error}"));
}

/// Whatever is asked, the rows that have ended are not read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_reads_what_has_ended() {
    let Some(scratch) = Scratch::new() else { return };
    let settings = || Settings { writers: 1, readers: 1, ..Settings::default() };
    let agent = root();
    let store = scratch.open(settings()).await.unwrap();
    store.commit(Commit::new(NOW).write(Write::NewAgent(agent.clone()))).await.unwrap();
    drop(store);
    run(&scratch.url(), &ended(agent.id)).await;
    let mut read = Vec::new();
    for name in CALLS {
        let store = scratch.open(settings()).await.unwrap();
        store.ready().await.unwrap();
        let before = {
            drop(store);
            rows_read(&scratch).await
        };
        let store = scratch.open(settings()).await.unwrap();
        call(name, &store, &agent).await;
        drop(store);
        read.push((name, rows_read(&scratch).await - before));
    }
    let many: Vec<_> = read.iter().filter(|(_, rows)| *rows > FEW).collect();
    assert!(many.is_empty(), "rows read: {many:?}");
}
