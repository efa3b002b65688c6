//! What earlier versions stored of the ends of tasks: whether a call waited, and whether the task failed.

use entourage_store::{Commit, ItemQuery, RecordFilter, Store, Write};
use entourage_store_sqlite::{Settings, SqliteStore};
use entourage_types::{
    Agent, AgentId, Author, CallId, EventBody, Item, ItemBody, Message, OnEnd, Owner, RunId, Scope, Status,
    Task, TaskId, Time,
};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::older::undo_later;

const AT: Time = Time::from_micros(1_794_182_400_000_000);

fn task(agent: &Agent, on_end: OnEnd) -> Task {
    Task {
        id: TaskId::new(),
        owner: agent.owner.clone(),
        root: agent.root,
        from: agent.id,
        to: agent.id,
        call: CallId::new(),
        on_end,
        group: None,
        kind: "helper".to_owned(),
        instruction: "Dig.".to_owned(),
        title: String::new(),
        origin: None,
        status: Status::Queued,
        result: None,
        post: None,
        run: None,
        reactivated: 0,
        created: AT,
        updated: AT,
    }
}

/// Writes tasks and messages as version 25 did.
fn as_before(file: &Connection) {
    file.execute_batch(
        "UPDATE entities SET body = json_remove(json_set(body, '$.wait',
             json(CASE body ->> '$.on_end' WHEN 'answer' THEN 'true' ELSE 'false' END)), '$.on_end')
         WHERE kind = 'task';
         UPDATE events SET body = json_remove(json_set(body, '$.task.wait',
             json(CASE body ->> '$.task.on_end' WHEN 'answer' THEN 'true' ELSE 'false' END)), '$.task.on_end')
         WHERE body ->> '$.task.on_end' IS NOT NULL;
         UPDATE items SET body = json_remove(json_set(body, '$.failed',
             json(CASE body ->> '$.ended' WHEN 'failed' THEN 'true' ELSE 'false' END)), '$.ended')
         WHERE body ->> '$.ended' IS NOT NULL;
         PRAGMA user_version = 25;",
    )
    .unwrap();
    undo_later(file);
}

#[tokio::test]
async fn the_ends_of_tasks_of_earlier_versions_are_read_as_they_were_meant() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let store = SqliteStore::open(&path, Settings::default()).unwrap();
    let mut agent = Agent::root(Owner::local(), "helper", "", AT);
    let tasks = [task(&agent, OnEnd::Answer), task(&agent, OnEnd::Wake)];
    let from = Author::Agent { id: AgentId::new(), kind: "digger".to_owned() };
    let result = |ended| ItemBody::Message(Message { ended, ..Message::new(from.clone(), "dug", None) });
    let bodies = [result(None), result(Some(Status::Succeeded)), result(Some(Status::Failed))];
    agent.items = bodies.len() as u64;
    let mut commit = Commit::new(AT).write(Write::NewAgent(agent.clone()));
    let run = RunId::new();
    for (seq, body) in (0..).zip(&bodies) {
        let body = body.clone();
        commit.push(Write::Item(Item {
            agent: agent.id,
            seq,
            run,
            session: agent.session,
            at: AT,
            step: None,
            body,
        }));
    }
    for task in &tasks {
        commit.push(Write::record(task).unwrap());
    }
    store.commit(commit).await.unwrap();
    let items = store.items(&Scope::All, ItemQuery::of(agent.id, 0, 10)).await.unwrap();
    let events = store.events(&Scope::All, agent.id, 0, 100).await.unwrap();
    drop(store);
    as_before(&Connection::open(&path).unwrap());
    let store = SqliteStore::open(&path, Settings::default()).unwrap();
    let store: &dyn Store = &store;
    assert_eq!(store.items(&Scope::All, ItemQuery::of(agent.id, 0, 10)).await.unwrap(), items);
    assert_eq!(store.events(&Scope::All, agent.id, 0, 100).await.unwrap(), events);
    assert_eq!(events.iter().filter(|event| matches!(event.body, EventBody::Task { .. })).count(), 2);
    let mut read = store.records::<Task>(&Scope::All, RecordFilter::default()).await.unwrap();
    read.sort_by_key(|task| task.id);
    assert_eq!(read, tasks);
}
