//! One commit: a round trip that locks and reads, the judgement, and a round trip that writes and ends the transaction.

use std::collections::BTreeSet;

use deadpool_postgres::{Client, Object, Pool};
use entourage_store::{Commit, Committed, Durability, Error, judge::Rejection};
use entourage_types::AgentId;

use crate::{
    apply::{self, Applied},
    connect::Connections as _,
    facts::Known,
    fault::{Fault, Missing, Result},
    hints::{Hints, Place},
    locks::{Locked, Locks},
    questions::Questions,
    rows::get,
    statement::{Statement, pipeline, pipeline_with},
};

/// What came of an attempt.
pub(crate) enum Outcome {
    /// The commit happened, now with these hints, or before, when they were sent.
    Done(Committed, Option<(Place, Applied)>),
    /// It was refused, and nothing was written.
    Refused(Error),
    /// An agent came into being while the locks were taken: another attempt locks its tree, too.
    Again,
    /// It was undone. Another attempt may succeed if that is a conflict or a lost connection.
    Failed(Fault),
    /// The connection was lost while the transaction ended, and the outcome is not known. With the hints to send if it
    /// happened.
    Lost(Place, Applied),
}

/// An open transaction on a connection of the pool. Whatever ends it early closes the connection, which undoes it.
pub(crate) struct Transaction {
    client: Option<Object>,
}

impl Transaction {
    /// The transaction that begins on this connection.
    pub(crate) const fn on(client: Object) -> Self {
        Self { client: Some(client) }
    }

    pub(crate) fn client(&self) -> Result<&Client> {
        self.client.as_ref().ok_or(Fault::Store(Error::Closed))
    }

    /// The transaction has ended: the connection goes back to the pool.
    pub(crate) fn ended(mut self) {
        drop(self.client.take());
    }

    /// Undoes what there is, and gives the connection back.
    async fn undo(self) -> Result<()> {
        Statement::whole("ROLLBACK").run(self.client()?).await?;
        self.ended();
        Ok(())
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            drop(Object::take(client));
        }
    }
}

/// Tries a commit once.
pub(crate) async fn attempt(pool: &Pool, hints: &Hints, commit: &Commit, durability: Durability) -> Outcome {
    let client = match pool.connection().await {
        Ok(client) => client,
        Err(error) => return Outcome::Failed(error.into()),
    };
    let transaction = Transaction::on(client);
    let judged = match judged(&transaction, commit, durability).await {
        Ok(judged) => judged,
        Err(fault) => {
            // A refusal of the database leaves the connection as it is; a lost one is gone.
            if !fault.is_lost() && transaction.undo().await.is_err() {
                tracing::debug!("a connection to the database ended with its transaction");
            }
            return Outcome::Failed(fault);
        }
    };
    let (applied, roots) = match judged {
        Judged::Accepted(applied, roots) => (applied, roots),
        other => {
            if let Err(fault) = transaction.undo().await {
                tracing::debug!(?fault, "a connection to the database was lost after a refusal");
            }
            return match other {
                Judged::Known(committed) => Outcome::Done(committed, None),
                Judged::Refused(error) => Outcome::Refused(error),
                Judged::Accepted(..) | Judged::Again => Outcome::Again,
            };
        }
    };
    let place = hints.place(roots);
    match end(&transaction, &applied).await {
        Ok(committed) => {
            transaction.ended();
            Outcome::Done(committed, Some((place, applied)))
        }
        Err(fault) if fault.is_lost() => Outcome::Lost(place, applied),
        Err(fault) => {
            hints.end(place);
            // Its own end has undone it, unless that was never sent.
            if transaction.undo().await.is_err() {
                tracing::debug!("a connection to the database ended with its transaction");
            }
            Outcome::Failed(fault)
        }
    }
}

/// What the first half of an attempt comes to.
enum Judged {
    /// The commit happened before.
    Known(Committed),
    Refused(Error),
    Again,
    /// With the trees that it writes to.
    Accepted(Applied, BTreeSet<AgentId>),
}

async fn judged(transaction: &Transaction, commit: &Commit, durability: Durability) -> Result<Judged> {
    let client = transaction.client()?;
    let mut asked = Questions::of(commit);
    let mut statements = vec![
        Statement::whole("BEGIN"),
        Locks::of(commit).statement(commit.id, durability == Durability::Full),
    ];
    statements.append(&mut asked.statements);
    let found = pipeline(client, &statements).await?;
    let [_, locked, facts @ ..] = &found[..] else { return Ok(Judged::Again) };
    let trees = match Locked::read(locked)? {
        Locked::Happened(committed) => return Ok(Judged::Known(committed)),
        Locked::Trees(trees) => trees,
    };
    let mut known = Known::default();
    known.learn(asked, facts)?;
    let accepted = loop {
        if known.agents().any(|agent| !trees.contains_key(&agent.root)) {
            return Ok(Judged::Again);
        }
        match commit.judge(&mut &known) {
            Ok(accepted) => break accepted,
            Err(Rejection::Refused(error)) => return Ok(Judged::Refused(error)),
            Err(Rejection::Failed(Missing(lookup))) => {
                tracing::debug!(?lookup, "a commit depends on a fact that was not read with the others");
                metrics::counter!(FETCHED_LATE).increment(1);
                let mut asked = Questions::one(lookup);
                let found = pipeline(client, &std::mem::take(&mut asked.statements)).await?;
                known.learn(asked, &found)?;
            }
        }
    };
    let roots: BTreeSet<AgentId> =
        trees.keys().copied().chain(accepted.events.iter().map(|event| event.root)).collect();
    let applied = apply::commit(client, commit, accepted, known, trees).await?;
    Ok(Judged::Accepted(applied, roots))
}

/// How often a fact was read later than the others, which costs a round trip: never in usual commits.
pub(crate) const FETCHED_LATE: &str = "entourage_store_postgres_facts_fetched_late";

/// Sends what remains, and ends the transaction.
async fn end(transaction: &Transaction, applied: &Applied) -> Result<Committed> {
    let client = transaction.client()?;
    let mut found = pipeline_with(client, &applied.statements, &Statement::whole("COMMIT")).await?;
    found.pop();
    let receipt = found.pop().unwrap_or_default();
    let inbox = receipt.first().map(|row| get(row, 0)).transpose()?;
    Ok(Committed { inbox: inbox.unwrap_or_default() })
}
