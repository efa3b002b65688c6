//! Lists where few of many fit: a page looks at a bounded number, and the pages together have each entry once.

use std::sync::Arc;

use entourage_server::Settings;
use entourage_store::{Commit, Store, Write};
use entourage_store_sqlite::SqliteStore;
use entourage_types::{Agent, CallId, Chat, OnEnd, Owner, Record, Status, Task, TaskId, Time};

use crate::{agencies::desk, site::Site};

fn at(micros: usize) -> Time {
    Time::from_micros(i64::try_from(micros).unwrap())
}

/// Stores an agent and these records in one commit.
async fn stored<R: Record>(store: &dyn Store, agent: Agent, records: impl IntoIterator<Item = R>) {
    let commit = Commit::new(at(1)).write(Write::NewAgent(agent));
    let records = records.into_iter().map(|record| Write::record(&record).unwrap());
    store.commit(records.fold(commit, Commit::write)).await.unwrap();
}

/// The entries of each page of a list, by one of their fields.
async fn pages(site: &Site, path: &str, field: &str) -> Vec<Vec<String>> {
    let (mut pages, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = site.get(&format!("{path}{cursor}")).await.expect(200);
        let entries = page["data"].as_array().expect("a page").iter();
        pages.push(entries.map(|entry| entry[field].as_str().expect("a text").to_owned()).collect());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return pages,
        }
    }
}

fn task(agent: &Agent, number: usize, status: Status) -> Task {
    Task {
        id: TaskId::new(),
        owner: agent.owner.clone(),
        root: agent.root,
        from: agent.id,
        to: agent.id,
        call: CallId::new(),
        on_end: OnEnd::Quiet,
        group: None,
        kind: "researcher".into(),
        instruction: number.to_string(),
        title: String::new(),
        origin: None,
        status,
        result: None,
        post: None,
        run: None,
        reactivated: 0,
        created: at(number),
        updated: at(number),
    }
}

#[tokio::test]
async fn a_page_of_a_trees_tasks_in_a_status_looks_at_four_thousand_of_them() {
    let store = Arc::new(SqliteStore::in_memory().unwrap());
    let agent = Agent::root(Owner::local(), "assistant", "much to do", at(1));
    let failed = [0, 1_999, 2_000, 8_999];
    let status = |number| if failed.contains(&number) { Status::Failed } else { Status::Succeeded };
    let tasks: Vec<Task> = (0..9_000).map(|number| task(&agent, number, status(number))).collect();
    let id = agent.id;
    stored(&*store, agent, tasks).await;
    let site = Site::at_rest(store as Arc<dyn Store>, Settings::default()).await;
    let found = pages(&site, &format!("/v1/tasks?root={id}&status=failed"), "instruction").await;
    assert_eq!(found, [vec!["8999"], vec!["2000", "1999"], vec!["0"]]);
    let none = pages(&site, &format!("/v1/tasks?root={id}&status=cancelled"), "instruction").await;
    assert_eq!(none, vec![Vec::<String>::new(); 3]);
    let first = pages(&site, &format!("/v1/tasks?root={id}&status=failed&limit=1"), "instruction").await;
    assert_eq!(first.concat(), ["8999", "2000", "1999", "0"]);
    // An index finds those of an owner.
    let all = pages(&site, "/v1/tasks?status=failed", "instruction").await;
    assert_eq!(all, [["8999", "2000", "1999", "0"]]);
}

#[tokio::test]
async fn a_page_of_an_agencys_chats_looks_at_six_hundred_of_all() {
    let site = desk().await;
    let agent = Agent::root(Owner::local(), "assistant", "a chat", at(1));
    let of_agency = [0, 700, 701, 1_399];
    let chats = (0..1_400).map(|number| Chat {
        id: format!("{number:064x}"),
        owner: Owner::local(),
        name: if of_agency.contains(&number) { format!("desk/{number}") } else { number.to_string() },
        root: agent.root,
        deleted: false,
        created: at(number),
        updated: at(number),
    });
    stored(&**site.engine.store(), agent.clone(), chats.collect::<Vec<_>>()).await;
    let found = pages(&site, "/v1/agencies/desk/chats?limit=50", "name").await;
    assert_eq!(found, [vec!["1399"], vec!["701", "700"], vec!["0"]]);
    let one_by_one = pages(&site, "/v1/agencies/desk/chats?limit=1", "name").await;
    assert_eq!(one_by_one.concat(), ["1399", "701", "700", "0"]);
}
