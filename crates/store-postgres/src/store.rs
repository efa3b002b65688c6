//! The calls of the trait, each over the file that knows its rows.

use std::{sync::Arc, time::Instant};

use async_trait::async_trait;
use deadpool_postgres::Client;
use entourage_store::{
    AgentQuery, Claim, Commit, Committed, CommittedEvents, EntityQuery, Error, EventQuery, ItemQuery, Nodes,
    Result, RunCount, RunQuery, Store, Subtree, UsageQuery, metrics as named,
};
use entourage_types::{
    Agent, AgentId, Budget, BudgetId, Entity, EntityKind, Event, Item, Post, PostId, Run, RunId, Scope, Step,
    StepKey, Time, UsageRow, Wakeup, WakeupId,
};
use metrics::histogram;
use tokio::sync::broadcast;
use tokio_postgres::Row;

use crate::{
    PostgresStore, agents, budgets, claim, connect, entities, events, fault, inbox, items,
    rows::{count, id},
    runs,
    statement::{Statement, snapshot},
    subtrees, usage,
};

impl PostgresStore {
    async fn rows(&self, query: impl Fn() -> Statement) -> fault::Result<Vec<Row>> {
        let began = Instant::now();
        let found = connect::query(&self.shared.readers, query).await;
        histogram!(named::READ).record(began.elapsed());
        found
    }

    async fn snapshot(&self, queries: impl Fn() -> Vec<Statement>) -> fault::Result<Vec<Vec<Row>>> {
        let began = Instant::now();
        let read = |client: Arc<Client>| {
            let queries = queries();
            async move { snapshot(&client, queries).await }
        };
        let found = connect::on(&self.shared.readers, read).await;
        histogram!(named::READ).record(began.elapsed());
        found
    }
}

fn all<T>(rows: &[Row], read: impl Fn(&Row) -> fault::Result<T>) -> Result<Vec<T>> {
    Ok(rows.iter().map(read).collect::<fault::Result<_>>()?)
}

fn first<T>(rows: &[Row], read: impl Fn(&Row) -> fault::Result<T>) -> Result<Option<T>> {
    Ok(rows.first().map(read).transpose()?)
}

#[async_trait]
impl Store for PostgresStore {
    async fn agent(&self, scope: &Scope, id: AgentId) -> Result<Option<Agent>> {
        first(&self.rows(|| agents::one(scope, id)).await?, agents::read)
    }

    async fn agents(&self, scope: &Scope, query: AgentQuery) -> Result<Vec<Agent>> {
        all(&self.rows(|| agents::select(scope, &query)).await?, agents::read)
    }

    async fn items(&self, scope: &Scope, query: ItemQuery) -> Result<Vec<Item>> {
        Ok(items::read_all(&self.rows(|| items::select(scope, &query)).await?, &query)?)
    }

    async fn runs(&self, scope: &Scope, query: RunQuery) -> Result<Vec<Run>> {
        all(&self.rows(|| runs::select(scope, &query)).await?, runs::read)
    }

    async fn count_runs(&self, scope: &Scope, query: RunQuery) -> Result<Vec<RunCount>> {
        let counts = all(&self.rows(|| runs::counts(scope, &query)).await?, runs::read_count)?;
        Ok(counts.into_iter().flatten().collect())
    }

    async fn usage(&self, scope: &Scope, query: UsageQuery) -> Result<Vec<UsageRow>> {
        let found = self.snapshot(|| usage::queries(scope, &query)).await?;
        Ok(usage::sums(&found, query)?)
    }

    async fn subtrees(&self, scope: &Scope, agents: &[AgentId]) -> Result<Vec<(AgentId, Subtree)>> {
        let found = self.snapshot(|| subtrees::queries(scope, agents)).await?;
        Ok(subtrees::read(&found, agents)?)
    }

    async fn steps(&self, scope: &Scope, run: RunId) -> Result<Vec<Step>> {
        all(&self.rows(|| runs::steps(scope, run, None)).await?, runs::read_step)
    }

    async fn step(&self, scope: &Scope, run: RunId, key: &StepKey) -> Result<Option<Step>> {
        first(&self.rows(|| runs::steps(scope, run, Some(key.to_string()))).await?, runs::read_step)
    }

    async fn budget(&self, scope: &Scope, id: &BudgetId) -> Result<Option<Budget>> {
        first(&self.rows(|| budgets::one(scope, id)).await?, budgets::read)
    }

    async fn entity(&self, scope: &Scope, kind: EntityKind, id: &str) -> Result<Option<Entity>> {
        first(&self.rows(|| entities::one(scope, kind, id)).await?, entities::read)
    }

    async fn entities(&self, scope: &Scope, query: EntityQuery) -> Result<Vec<Entity>> {
        if entities::select(scope, &query).is_none() {
            return Ok(Vec::new());
        }
        let select =
            || entities::select(scope, &query).unwrap_or_else(|| Statement::whole("SELECT WHERE false"));
        all(&self.rows(select).await?, entities::read)
    }

    async fn select_events(&self, scope: &Scope, query: EventQuery) -> Result<Vec<Event>> {
        Ok(events::read_all(&self.rows(|| events::select(scope, &query)).await?, &query)?)
    }

    async fn last_event(&self, scope: &Scope, root: AgentId) -> Result<u64> {
        let last = first(&self.rows(|| events::last(scope, root)).await?, |row| count(row, 0))?;
        Ok(last.unwrap_or_default())
    }

    async fn due(&self, until: Time, after: Option<(Time, WakeupId)>, limit: u32) -> Result<Vec<Wakeup>> {
        all(
            &self.rows(|| inbox::due(until, after).end(inbox::FIRST_DUE).bind(i64::from(limit))).await?,
            inbox::read_wakeup,
        )
    }

    async fn is_due(&self, agent: AgentId, until: Time) -> Result<bool> {
        Ok(!self.rows(|| inbox::is_due(agent, until)).await?.is_empty())
    }

    async fn inbox(&self, agent: AgentId) -> Result<Vec<Post>> {
        all(&self.rows(|| inbox::posts(agent)).await?, inbox::read_post)
    }

    async fn post_ids(&self, agent: AgentId, limit: u32) -> Result<Vec<PostId>> {
        all(&self.rows(|| inbox::post_ids(agent, limit)).await?, |row| id(row, 0, PostId::from_uuid))
    }

    async fn posts(&self, agent: AgentId, ids: Vec<PostId>) -> Result<Vec<Post>> {
        all(&self.rows(|| inbox::posts_of(agent, &ids)).await?, inbox::read_post)
    }

    async fn claim(&self, agent: AgentId, from: u64) -> Result<Option<Claim>> {
        // A claim that was made and is not known is followed by another one, which raises the epoch once more.
        let node = self.shared.node;
        let claim = |client: Arc<Client>| async move { claim::claim(&client, agent, from, node).await };
        let claimed = connect::on(&self.shared.writers, claim).await?;
        claimed.iter().for_each(|claimed| self.shared.turns.know(&claimed.agent));
        Ok(claimed)
    }

    async fn commit(&self, commit: Commit) -> Result<Committed> {
        let began = Instant::now();
        let shared = Arc::clone(&self.shared);
        // Goes on if the caller does not wait for it: a transaction in the middle would keep its locks.
        let committed = tokio::spawn(async move { shared.commit(commit).await }).await;
        histogram!(named::COMMIT).record(began.elapsed());
        committed.map_err(|_| Error::Closed)?
    }

    async fn ready(&self) -> Result<()> {
        let recovers = || Statement::whole("SELECT pg_is_in_recovery()");
        let found = connect::query(&self.shared.writers, recovers).await?;
        let is_replica = first(&found, |row| crate::rows::get::<bool>(row, 0))?;
        match is_replica {
            Some(true) => Err(Error::Unavailable {
                cause: "it is a replica, or recovers: commits go to the primary server",
                detail: "pg_is_in_recovery".to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// None: the server's own checks find damage, and a call that meets it fails.
    fn damage(&self) -> Option<String> {
        None
    }

    fn nodes(&self) -> Option<Arc<dyn Nodes>> {
        Some(Arc::clone(&self.nodes) as Arc<dyn Nodes>)
    }

    fn changed(&self) -> broadcast::Receiver<Arc<CommittedEvents>> {
        self.shared.hints.changed.subscribe()
    }

    fn woken(&self) -> broadcast::Receiver<Arc<[Wakeup]>> {
        self.shared.hints.woken.subscribe()
    }
}
