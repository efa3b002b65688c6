//! Usage of runs: from before usage was stored, and after the runs are removed.

use entourage_store::{Commit, Store, UsageQuery, Write};
use entourage_store_sqlite::{Settings, SqliteStore};
use entourage_types::{
    Agent, AgentId, Cost, ModelUse, Owner, Run, RunId, Scope, Status, Time, Usage, UsageBy,
};
use rusqlite::{Connection, params};
use tempfile::TempDir;

use crate::older::{insert_agent, of_version};

const AT: Time = Time::from_micros(1_795_292_000_500_000);

async fn sums(store: &SqliteStore, by: &[UsageBy]) -> Vec<entourage_types::UsageRow> {
    let query = UsageQuery { by: by.to_vec(), ..UsageQuery::default() };
    store.usage(&Scope::Owner(Owner::local()), query).await.unwrap()
}

/// A run that used this many tokens of input in one call.
fn run_that_used(agent: &Agent, input: u64) -> Run {
    let mut run = Run {
        id: RunId::new(),
        agent: agent.id,
        owner: agent.owner.clone(),
        status: Status::Succeeded,
        waiting_on: None,
        stop_reason: None,
        error: None,
        kind_version: "v1".to_owned(),
        switches: Default::default(),
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
    run
}

#[tokio::test]
async fn usage_of_version_2_runs_is_computed_from_their_turns() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let (agent, run) = (AgentId::new(), RunId::new());
    {
        let first = of_version(&path, 2);
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
    let run = store.runs(&Scope::All, entourage_store::RunQuery::default()).await.unwrap().remove(0);
    assert_eq!(
        (run.tally().usage, run.tally().cost),
        (run.usage, run.cost),
        "it is what the run itself says"
    );
}

#[tokio::test]
async fn the_usage_of_a_removed_run_stays_counted_for_its_owner() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let store = SqliteStore::open(&path, Settings::default()).unwrap();
    let root = Agent::root(Owner::local(), "helper", "", AT);
    store.commit(Commit::new(AT).write(Write::NewAgent(root.clone()))).await.unwrap();
    let agent = store.claim(root.id, 0).await.unwrap().unwrap().agent;
    let mut ids = Vec::new();
    for input in [10, 200, 3_000] {
        let run = run_that_used(&agent, input);
        ids.push(run.id);
        store.commit(Commit::fenced(&agent, AT).write(Write::Run(run))).await.unwrap();
    }
    let [total, by_model] = [sums(&store, &[]).await, sums(&store, &[UsageBy::Day, UsageBy::Model]).await];
    let thread_store = Connection::open(&path).unwrap();
    for id in &ids[..2] {
        thread_store.execute("DELETE FROM runs WHERE id = ?1", [id.to_string()]).unwrap();
    }
    assert_eq!(
        [sums(&store, &[]).await, sums(&store, &[UsageBy::Day, UsageBy::Model]).await],
        [total, by_model]
    );
    let agents = sums(&store, &[UsageBy::Agent]).await;
    let told: Vec<_> = agents.iter().map(|row| (row.agent, row.tally.usage.input)).collect();
    assert_eq!(told, [(None, 210), (Some(agent.id), 3_000)], "whose it was is not known any more");
    let view = "SELECT day || ' ' || calls || ' ' || input_tokens || ' ' || reasoning_tokens FROM usage_list";
    let seen: String = thread_store.query_row(view, [], |row| row.get(0)).unwrap();
    assert_eq!(seen, "2026-11-21 3 3210 6");
}

/// Counts that no provider can mean, but that earlier versions accepted: their sums stop at the largest
/// count.
#[tokio::test]
async fn overflowing_usage_sums_stop_at_the_largest_count() {
    const LARGE: u64 = 9_000_000_000_000_000_000;
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let store = SqliteStore::open(&path, Settings::default()).unwrap();
    let root = Agent::root(Owner::local(), "helper", "", AT);
    store.commit(Commit::new(AT).write(Write::NewAgent(root.clone()))).await.unwrap();
    let agent = store.claim(root.id, 0).await.unwrap().unwrap().agent;
    for calls in 1..=3 {
        store
            .commit(Commit::fenced(&agent, AT).write(Write::Run(run_that_used(&agent, LARGE))))
            .await
            .unwrap();
        let most = if calls == 1 { LARGE } else { i64::MAX.cast_unsigned() };
        let told = sums(&store, &[]).await.remove(0).tally;
        assert_eq!((told.usage.input, told.cost.nanos(), told.usage.output), (most, most, 5 * calls));
    }
    let of_agent = sums(&store, &[UsageBy::Agent]).await.remove(0).tally;
    assert_eq!((of_agent.usage.input, of_agent.calls), (u64::MAX, 3));
    let thread_store = Connection::open(&path).unwrap();
    let view = "SELECT calls || ' ' || input_tokens FROM usage_list";
    let seen: String = thread_store.query_row(view, [], |row| row.get(0)).unwrap();
    assert_eq!(seen, format!("3 {}", i64::MAX));
    // The runs can be removed, and their usage stays counted.
    store.commit(Commit::new(AT).write(Write::PruneAgent(root.id))).await.unwrap();
    let gone = sums(&store, &[UsageBy::Agent]).await.remove(0).tally;
    assert_eq!((gone.usage.input, gone.calls), (i64::MAX.cast_unsigned(), 3));
}

#[tokio::test]
async fn migration_from_version_9_sums_the_usage_of_present_and_removed_runs() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let (agent, run) = (AgentId::new(), RunId::new());
    {
        let before = of_version(&path, 9);
        let sql = "INSERT INTO agents (id, owner, root, depth, kind, title, status, epoch, session, created, \
                   updated) VALUES (?1, 'local', ?1, 0, 'helper', '', 'succeeded', 1, 1, ?2, ?2)";
        before.execute(sql, params![agent.to_string(), AT.micros()]).unwrap();
        let spent = r#"[{"day":"2026-11-21","model":"a","calls":2,"unpriced":1,"usage":{"input":30,"output":3,
            "cached":0,"cache_written":0,"reasoning":0},"cost":7},{"day":"2026-11-22","model":"a","calls":1,
            "unpriced":1,"usage":{"input":500,"output":5,"cached":0,"cache_written":0,"reasoning":0},"cost":0}]"#;
        let sql = "INSERT INTO runs (id, agent, owner, status, kind_version, tasks, model_calls, worked_ms, \
                   input_tokens, output_tokens, cached_tokens, cache_written_tokens, reasoning_tokens, \
                   cost_nanos, started, spent) \
                   VALUES (?1, ?2, 'local', 'succeeded', 'v', '[]', 3, 0, 530, 8, 0, 0, 0, 7, ?3, ?4)";
        let values = params![run.to_string(), agent.to_string(), AT.micros(), spent];
        before.execute(sql, values).unwrap();
        before
            .execute_batch(
                "INSERT INTO usage_of_removed VALUES ('local', '2026-11-21', 'a', 1, 0, 4000, 1, 0, 0, 0, 9)",
            )
            .unwrap();
    }
    let store = SqliteStore::open(&path, Settings::default()).unwrap();
    let inputs = async |by: &[UsageBy]| -> Vec<u64> {
        sums(&store, by).await.iter().map(|row| row.tally.usage.input).collect()
    };
    assert_eq!(inputs(&[]).await, [4_530]);
    assert_eq!(inputs(&[UsageBy::Day]).await, [4_030, 500]);
    let kinds: Vec<_> = sums(&store, &[UsageBy::Kind])
        .await
        .into_iter()
        .map(|row| (row.kind, row.tally.cost.nanos()))
        .collect();
    assert_eq!(kinds, [(None, 9), (Some("helper".to_owned()), 7)], "removed before kinds were kept");
    assert_eq!(inputs(&[UsageBy::Agent]).await, [4_000, 530]);
    let hours = sums(&store, &[UsageBy::Hour]).await;
    assert_eq!(hours.iter().map(|row| row.hour).collect::<Vec<_>>(), [None], "no hour was kept");
}

#[tokio::test]
async fn the_usage_of_one_model_on_one_day_is_one_row() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let store = SqliteStore::open(&path, Settings::default()).unwrap();
    let root = Agent::root(Owner::local(), "helper", "", AT);
    store.commit(Commit::new(AT).write(Write::NewAgent(root.clone()))).await.unwrap();
    let agent = store.claim(root.id, 0).await.unwrap().unwrap().agent;
    let mut commit = Commit::fenced(&agent, AT);
    for _ in 0..200 {
        commit.push(Write::Run(run_that_used(&agent, 5)));
    }
    store.commit(commit).await.unwrap();
    assert_eq!(sums(&store, &[]).await[0].tally.calls, 200);
    let rows = "SELECT count(*) FROM usage_of_owners";
    let kept: u32 = Connection::open(&path).unwrap().query_row(rows, [], |row| row.get(0)).unwrap();
    assert_eq!(kept, 1);
}

fn kept_calls(path: &std::path::Path) -> Vec<u32> {
    let connection = Connection::open(path).unwrap();
    let mut statement = connection.prepare("SELECT calls FROM usage_of_owners").unwrap();
    let calls = statement.query_map([], |row| row.get(0)).unwrap();
    calls.collect::<Result<_, _>>().unwrap()
}

#[tokio::test]
async fn the_usage_of_an_open_run_is_reported_at_once_and_enters_the_sums_when_the_run_ends() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let store = SqliteStore::open(&path, Settings::default()).unwrap();
    let root = Agent::root(Owner::local(), "helper", "", AT);
    store.commit(Commit::new(AT).write(Write::NewAgent(root.clone()))).await.unwrap();
    let agent = store.claim(root.id, 0).await.unwrap().unwrap().agent;
    let ended = run_that_used(&agent, 30);
    let open = Run { status: Status::Running, ended: None, ..ended.clone() };
    for (run, kept) in [(open.clone(), &[][..]), (ended.clone(), &[1]), (open, &[]), (ended, &[1])] {
        store.commit(Commit::fenced(&agent, AT).write(Write::Run(run))).await.unwrap();
        for by in [&[][..], &[UsageBy::Day, UsageBy::Kind], &[UsageBy::Run]] {
            let told = sums(&store, by).await;
            assert_eq!(told.iter().map(|row| row.tally.usage.input).collect::<Vec<_>>(), [30], "by {by:?}");
        }
        let positive: Vec<u32> = kept_calls(&path).into_iter().filter(|calls| *calls > 0).collect();
        assert_eq!(positive, kept);
        let view = "SELECT sum(calls) || ' ' || sum(input_tokens) FROM usage_list";
        let seen: String = Connection::open(&path).unwrap().query_row(view, [], |row| row.get(0)).unwrap();
        assert_eq!(seen, "1 30");
    }
}

#[tokio::test]
async fn migration_from_version_19_takes_open_runs_out_of_the_sums() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let (agent, ended, open) = (AgentId::new(), RunId::new(), RunId::new());
    {
        let before = of_version(&path, 19);
        let sql = "INSERT INTO agents (id, owner, root, depth, kind, title, status, epoch, session, created, \
                   updated) VALUES (?1, 'local', ?1, 0, 'helper', '', 'running', 1, 1, ?2, ?2)";
        before.execute(sql, params![agent.to_string(), AT.micros()]).unwrap();
        for (run, status, model) in
            [(ended, "succeeded", "a"), (open, "running", "a"), (RunId::new(), "waiting", "b")]
        {
            let spent = format!(
                r#"[{{"day":"2026-11-21","model":"{model}","calls":2,"unpriced":0,"usage":{{"input":30,"output":3,
                "cached":0,"cache_written":0,"reasoning":0}},"cost":7}}]"#
            );
            let sql = "INSERT INTO runs (id, agent, owner, status, kind_version, tasks, model_calls, worked_ms, \
                       input_tokens, output_tokens, cached_tokens, cache_written_tokens, reasoning_tokens, \
                       cost_nanos, started, spent) \
                       VALUES (?1, ?2, 'local', ?3, 'v', '[]', 2, 0, 30, 3, 0, 0, 0, 7, ?4, ?5)";
            let values = params![run.to_string(), agent.to_string(), status, AT.micros(), spent];
            before.execute(sql, values).unwrap();
        }
        let kept = "INSERT INTO usage_of_owners VALUES \
                    ('local', '2026-11-21', 'a', 'helper', 4, 0, 60, 6, 0, 0, 0, 14), \
                    ('local', '2026-11-21', 'b', 'helper', 2, 0, 30, 3, 0, 0, 0, 7)";
        before.execute_batch(kept).unwrap();
    }
    let store = SqliteStore::open(&path, Settings::default()).unwrap();
    assert_eq!(kept_calls(&path), [2], "the ended run alone");
    let by_model = sums(&store, &[UsageBy::Model]).await;
    let told: Vec<_> = by_model.iter().map(|row| (row.tally.calls, row.tally.usage.input)).collect();
    assert_eq!(told, [(4, 60), (2, 30)]);
    drop(store);
    // A run that is removed by hand before its end stays counted as well.
    let by_hand = Connection::open(&path).unwrap();
    by_hand.execute("DELETE FROM runs WHERE id = ?1", [open.to_string()]).unwrap();
    assert_eq!(kept_calls(&path), [4]);
}

/// Counts that no provider can mean: the database opens all the same, and its runs can be removed.
#[tokio::test]
async fn migration_from_version_19_survives_counts_beyond_the_integers() {
    for inputs in [&[18_000_000_000_000_000_000_u64][..], &[6_000_000_000_000_000_000; 3]] {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("entourage.db");
        let agent = AgentId::new();
        {
            let before = of_version(&path, 19);
            insert_agent(&before, agent);
            for input in inputs {
                let spent = format!(
                    r#"[{{"day":"2026-11-21","model":"a","calls":1,"unpriced":0,"usage":{{"input":{input},"output":3,
                    "cached":0,"cache_written":0,"reasoning":0}},"cost":7}}]"#
                );
                let sql = "INSERT INTO runs (id, agent, owner, status, kind_version, tasks, model_calls, \
                           worked_ms, input_tokens, output_tokens, cached_tokens, cache_written_tokens, \
                           reasoning_tokens, cost_nanos, started, spent) \
                           VALUES (?1, ?2, 'local', 'running', 'v', '[]', 1, 0, 0, 3, 0, 0, 0, 7, ?3, ?4)";
                let values = params![RunId::new().to_string(), agent.to_string(), AT.micros(), spent];
                before.execute(sql, values).unwrap();
            }
            let kept = "INSERT INTO usage_of_owners VALUES \
                        ('local', '2026-11-21', 'a', 'helper', ?1, 0, 9223372036854775807, ?2, 0, 0, 0, ?3)";
            let calls = inputs.len() as i64;
            before.execute(kept, params![calls, 3 * calls, 7 * calls]).unwrap();
        }
        drop(SqliteStore::open(&path, Settings::default()).unwrap());
        assert_eq!(kept_calls(&path), [0; 0], "no run has ended");
        Connection::open(&path).unwrap().execute("DELETE FROM runs", []).unwrap();
        assert_eq!(kept_calls(&path), [inputs.len() as u32]);
    }
}
