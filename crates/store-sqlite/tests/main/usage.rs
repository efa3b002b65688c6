//! What runs used: from before it was kept, and after the runs are gone.

use entourage_store::{Commit, Store, UsageQuery, Write};
use entourage_store_sqlite::{Settings, SqliteStore};
use entourage_types::{
    Agent, AgentId, Cost, ModelUse, Owner, Run, RunId, Scope, Status, Time, Usage, UsageBy,
};
use rusqlite::{Connection, params};
use tempfile::TempDir;

const AT: Time = Time::from_micros(1_795_292_000_500_000);

async fn sums(store: &SqliteStore, by: &[UsageBy]) -> Vec<entourage_types::UsageRow> {
    let query = UsageQuery { by: by.to_vec(), ..UsageQuery::default() };
    store.usage(&Scope::Owner(Owner::local()), query).await.unwrap()
}

#[tokio::test]
async fn runs_from_before_are_counted_from_their_turns() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("house.db");
    let (agent, run) = (AgentId::new(), RunId::new());
    {
        let first = Connection::open(&path).unwrap();
        first.execute_batch(include_str!("../../migrations/0001_first.sql")).unwrap();
        first.execute_batch(include_str!("../../migrations/0002_less_written.sql")).unwrap();
        first.pragma_update(None, "application_id", 0x456e_746f).unwrap();
        first.pragma_update(None, "user_version", 2).unwrap();
        let sql = "INSERT INTO runs VALUES (1, ?1, ?2, 'local', 'succeeded', NULL, 'completed', NULL, 'v', \
                   '[]', 3, 0, 60, 6, 3, 0, 0, 14, ?3, ?3)";
        first.execute(sql, params![run.to_string(), agent.to_string(), AT.micros()]).unwrap();
        let turns = [
            (AT.micros(), r#"{"model":"a","usage":{"input":10,"output":1,"cached":1},"cost":7}"#),
            (AT.micros() + 1, r#"{"model":"a","usage":{"input":20,"output":2,"cached":2},"cost":7}"#),
            (AT.micros() + 86_400_000_000, r#"{"model":"a","usage":{"input":30,"output":3}}"#),
        ];
        for (seq, (at, used)) in (0_i64..).zip(turns) {
            let body = format!(r#"{{"text":"x","used":{used}}}"#);
            let sql = "INSERT INTO items VALUES (NULL, ?1, ?2, ?3, 1, ?4, 'turn', ?5)";
            first.execute(sql, params![agent.to_string(), seq, run.to_string(), at, body]).unwrap();
        }
    }
    let store = SqliteStore::open(&path, Settings::default()).unwrap();
    let days = sums(&store, &[UsageBy::Day, UsageBy::Model]).await;
    let told: Vec<_> =
        days.iter().map(|row| (row.tally.calls, row.tally.unpriced, row.tally.usage.input)).collect();
    assert_eq!(told, [(2, 0, 30), (1, 1, 30)]);
    assert_eq!((days[0].tally.usage.cached, days[0].tally.cost.nanos()), (3, 14));
    let run = store.runs(&Scope::House, entourage_store::RunQuery::default()).await.unwrap().remove(0);
    assert_eq!(
        (run.tally().usage, run.tally().cost),
        (run.usage, run.cost),
        "it is what the run itself says"
    );
}

#[tokio::test]
async fn what_a_removed_run_used_stays_counted_for_its_owner() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("house.db");
    let store = SqliteStore::open(&path, Settings::default()).unwrap();
    let root = Agent::root(Owner::local(), "helper", "", AT);
    store.commit(Commit::new(AT).write(Write::NewAgent(root.clone()))).await.unwrap();
    let agent = store.claim(root.id, 0).await.unwrap().unwrap().agent;
    let mut ids = Vec::new();
    for input in [10, 200, 3_000] {
        let mut run = Run {
            id: RunId::new(),
            agent: agent.id,
            owner: agent.owner.clone(),
            status: Status::Succeeded,
            waiting_on: None,
            stop_reason: None,
            error: None,
            kind_version: "v1".to_owned(),
            tasks: Vec::new(),
            model_calls: 1,
            worked_ms: 0,
            usage: Usage::default(),
            cost: Cost::default(),
            spent: Vec::new(),
            started: AT,
            ended: Some(AT),
        };
        let usage = Usage { input, output: 5, cached: 4, cache_written: 3, reasoning: 2 };
        run.charge(&ModelUse { model: "a".into(), usage, cost: Some(Cost::from_nanos(input)) }, AT);
        ids.push(run.id);
        store.commit(Commit::fenced(&agent, AT).write(Write::Run(run))).await.unwrap();
    }
    let [total, by_model] = [sums(&store, &[]).await, sums(&store, &[UsageBy::Day, UsageBy::Model]).await];
    let keeper = Connection::open(&path).unwrap();
    for id in &ids[..2] {
        keeper.execute("DELETE FROM runs WHERE id = ?1", [id.to_string()]).unwrap();
    }
    assert_eq!(
        [sums(&store, &[]).await, sums(&store, &[UsageBy::Day, UsageBy::Model]).await],
        [total, by_model]
    );
    let agents = sums(&store, &[UsageBy::Agent]).await;
    let told: Vec<_> = agents.iter().map(|row| (row.agent, row.tally.usage.input)).collect();
    assert_eq!(told, [(None, 210), (Some(agent.id), 3_000)], "whose it was is not known any more");
    let view = "SELECT day || ' ' || calls || ' ' || input_tokens || ' ' || reasoning_tokens FROM usage_list";
    let seen: String = keeper.query_row(view, [], |row| row.get(0)).unwrap();
    assert_eq!(seen, "2026-11-21 3 3210 6");
}
