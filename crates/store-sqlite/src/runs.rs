//! Runs and their steps.

use entourage_store::{Error, RunQuery};
use entourage_types::{AgentId, Cost, Owner, Run, RunId, Scope, Step, Usage};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::{
    fault::Result,
    rows::{count, int, json, json_if_any, time, time_if_any, word, word_if_any},
    select::Select,
};

const COLUMNS: &str = "id, agent, owner, status, waiting_on, stop_reason, error, kind_version, tasks, \
                       model_calls, input_tokens, output_tokens, cached_tokens, cache_written_tokens, \
                       reasoning_tokens, cost_nanos, started, ended, worked_ms";

fn read(row: &Row<'_>) -> rusqlite::Result<Run> {
    Ok(Run {
        id: word(row, 0)?,
        agent: word(row, 1)?,
        owner: Owner::new(row.get::<_, String>(2)?),
        status: word(row, 3)?,
        waiting_on: word_if_any(row, 4)?,
        stop_reason: word_if_any(row, 5)?,
        error: row.get(6)?,
        kind_version: row.get(7)?,
        tasks: json(row, 8)?,
        model_calls: row.get(9)?,
        usage: Usage {
            input: count(row, 10)?,
            output: count(row, 11)?,
            cached: count(row, 12)?,
            cache_written: count(row, 13)?,
            reasoning: count(row, 14)?,
        },
        cost: Cost::from_nanos(count(row, 15)?),
        started: time(row, 16)?,
        ended: time_if_any(row, 17)?,
        worked_ms: count(row, 18)?,
    })
}

/// Runs by query.
pub(crate) fn list(connection: &Connection, scope: &Scope, query: &RunQuery) -> Result<Vec<Run>> {
    select(scope, query).rows(connection, read)
}

/// The query behind [`list`].
pub(crate) fn select(scope: &Scope, query: &RunQuery) -> Select {
    // A tree's runs are found by its agents; the plus keeps SQLite from going by the owner instead.
    let owner = if query.root.is_some() { "+owner" } else { "owner" };
    Select::new(&format!("SELECT {COLUMNS} FROM runs WHERE true"))
        .seen_by(scope, owner)
        .only("id = ?", query.id)
        .only("agent = ?", query.agent)
        .only("agent IN (SELECT id FROM agents WHERE root = ?)", query.root)
        .page("runs", None, scope, &query.page)
}

/// The agent's run that has not ended.
pub(crate) fn open(connection: &Connection, agent: AgentId) -> Result<Option<Run>> {
    // The condition on the status is, word for word, that of the index `open_runs`.
    let mut statement = connection.prepare_cached(
        "SELECT id, agent, owner, status, waiting_on, stop_reason, error, kind_version, tasks, model_calls, \
         input_tokens, output_tokens, cached_tokens, cache_written_tokens, reasoning_tokens, cost_nanos, \
         started, ended, worked_ms FROM runs WHERE agent = ?1 AND status <> 'succeeded' AND status <> 'failed' \
         AND status <> 'cancelled' ORDER BY n DESC LIMIT 1",
    )?;
    Ok(statement.query_row([agent.to_string()], read).optional()?)
}

/// Writes a run, new or changed. A run never moves to another agent.
pub(crate) fn upsert(connection: &Connection, run: &Run) -> Result<()> {
    // Most changes leave the status as it is; naming it would rewrite the index of open runs.
    let mut same_status = connection.prepare_cached(
        "UPDATE runs SET waiting_on = ?5, stop_reason = ?6, error = ?7, kind_version = ?8, tasks = ?9, \
         model_calls = ?10, input_tokens = ?11, output_tokens = ?12, cached_tokens = ?13, \
         cache_written_tokens = ?14, reasoning_tokens = ?15, cost_nanos = ?16, started = ?17, ended = ?18, \
         worked_ms = ?19 WHERE id = ?1 AND agent = ?2 AND owner = ?3 AND status = ?4",
    )?;
    if write(&mut same_status, run)? > 0 {
        return Ok(());
    }
    let mut any = connection.prepare_cached(
        "INSERT INTO runs (id, agent, owner, status, waiting_on, stop_reason, error, kind_version, tasks, \
         model_calls, input_tokens, output_tokens, cached_tokens, cache_written_tokens, reasoning_tokens, \
         cost_nanos, started, ended, worked_ms) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19) \
         ON CONFLICT (id) DO UPDATE SET status = ?4, waiting_on = ?5, stop_reason = ?6, error = ?7, \
         kind_version = ?8, tasks = ?9, model_calls = ?10, input_tokens = ?11, output_tokens = ?12, \
         cached_tokens = ?13, cache_written_tokens = ?14, reasoning_tokens = ?15, cost_nanos = ?16, \
         started = ?17, ended = ?18, worked_ms = ?19 WHERE agent = ?2",
    )?;
    if write(&mut any, run)? == 0 {
        return Err(Error::Corrupt(format!("run {} is not one of agent {}", run.id, run.agent)).into());
    }
    Ok(())
}

/// Executes a statement over all columns of a run; returns how many rows it wrote.
fn write(statement: &mut rusqlite::CachedStatement<'_>, run: &Run) -> Result<usize> {
    Ok(statement.execute(params![
        run.id.to_string(),
        run.agent.to_string(),
        run.owner.as_str(),
        run.status.as_str(),
        run.waiting_on.map(|what| what.as_str()),
        run.stop_reason.map(|reason| reason.as_str()),
        run.error,
        run.kind_version,
        serde_json::to_string(&run.tasks)?,
        run.model_calls,
        int(run.usage.input),
        int(run.usage.output),
        int(run.usage.cached),
        int(run.usage.cache_written),
        int(run.usage.reasoning),
        int(run.cost.nanos()),
        run.started.micros(),
        run.ended.map(|time| time.micros()),
        int(run.worked_ms),
    ])?)
}

/// The steps of a run, in the order they were begun, if the scope sees the run.
pub(crate) fn steps(connection: &Connection, scope: &Scope, run: RunId) -> Result<Vec<Step>> {
    Select::new("SELECT run, key, state, value, attempt, used, started, updated FROM steps WHERE run = ?")
        .bind(run.to_string())
        .of(scope, "runs", run)
        .end("ORDER BY n")
        .rows(connection, |row| {
            Ok(Step {
                run: word(row, 0)?,
                key: row.get(1)?,
                state: word(row, 2)?,
                value: json(row, 3)?,
                attempt: row.get(4)?,
                used: json_if_any(row, 5)?,
                started: time(row, 6)?,
                updated: time(row, 7)?,
            })
        })
}

/// Writes a step, new or changed.
pub(crate) fn upsert_step(connection: &Connection, step: &Step) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO steps (run, key, state, value, attempt, used, started, updated) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) \
         ON CONFLICT (run, key) DO UPDATE SET state = ?3, value = ?4, attempt = ?5, used = ?6, \
         started = ?7, updated = ?8",
    )?;
    statement.execute(params![
        step.run.to_string(),
        step.key,
        step.state.as_str(),
        serde_json::to_string(&step.value)?,
        step.attempt,
        step.used.as_ref().map(serde_json::to_string).transpose()?,
        step.started.micros(),
        step.updated.micros(),
    ])?;
    Ok(())
}
