//! The store that several processes share: PostgreSQL 15 or newer.
//!
//! A commit is two round trips to the server: the first locks the trees that the commit touches and reads every fact that
//! it can depend on, the judge of `entourage-store` decides about it in this process, and the second writes its rows and
//! ends the transaction. A claim and a read are one. Nothing needs a session, so that a pooler may stand between.

mod agents;
mod apply;
mod batch;
mod budgets;
mod claim;
mod connect;
mod database;
mod entities;
mod events;
mod facts;
mod fault;
mod hints;
mod inbox;
mod items;
mod leases;
mod locks;
mod migrate;
mod moving;
mod nodes;
mod prune;
mod questions;
mod receipts;
mod rows;
mod runs;
mod settings;
mod statement;
mod store;
mod subtrees;
mod transaction;
mod turns;
mod usage;
mod words;

use std::sync::Arc;

use deadpool_postgres::Pool;
use entourage_store::{Commit, Committed, Error, Result};
use entourage_types::NodeId;

pub use database::PostgresDatabase;
pub use entourage_store::Durability;
pub use moving::PostgresTarget;
pub use settings::Settings;

use crate::{
    connect::Address,
    fault::Fault,
    hints::Hints,
    nodes::PostgresNodes,
    receipts::Receipts,
    transaction::{Outcome, attempt},
    turns::Turns,
};

/// The database version that this program works with.
pub const VERSION: u32 = migrate::LATEST;

/// How often a commit is tried again because of another one.
const CONFLICTS: u32 = 3;
/// How often a call is tried again because of new agents, or of connections that the server has closed: as many as a pool
/// usually has, and some more.
const AGAIN: u32 = 12;

/// A handle on an open database, with hints of the commits made through it.
pub struct PostgresStore {
    shared: Arc<Shared>,
    nodes: Arc<PostgresNodes>,
}

/// What the calls of a handle share, also those that their callers no longer wait for.
struct Shared {
    writers: Pool,
    readers: Pool,
    hints: Hints,
    turns: Turns,
    node: NodeId,
    durability: Durability,
    receipts: Receipts,
}

impl PostgresStore {
    /// A handle that has not connected yet.
    fn new(address: &Address, settings: &Settings) -> Result<Self> {
        let shared = Shared {
            writers: address.pool(settings.writers, settings)?,
            readers: address.pool(settings.readers, settings)?,
            hints: Hints::new(),
            turns: Turns::new(),
            node: settings.node,
            durability: settings.durability,
            receipts: Receipts::default(),
        };
        let nodes = PostgresNodes::new(settings.node, address.pool(1, settings)?, shared.readers.clone());
        Ok(Self { shared: Arc::new(shared), nodes: Arc::new(nodes) })
    }
}

impl Shared {
    /// Makes a commit. If the connection is lost while the transaction ends, the commit is tried again under its id: the
    /// locks make it wait for the end of the first attempt, and then it finds the receipt of that or none.
    async fn commit(&self, commit: Commit) -> Result<Committed> {
        let _turn = self.turns.take(&commit).await;
        let (mut conflicts, mut again) = (0, 0);
        let mut lost = None;
        loop {
            let fault = match attempt(&self.writers, &self.hints, &commit, self.durability).await {
                Outcome::Done(committed, hints) => {
                    // It had a place before this one, which waits for that.
                    let earlier = lost.take();
                    let hints = match hints {
                        Some(hints) => {
                            self.forget(earlier);
                            Some(hints)
                        }
                        None => earlier,
                    };
                    if let Some((place, applied)) = hints {
                        self.hints.send(place, applied).await;
                    }
                    self.receipts.commit(&self.writers);
                    return Ok(committed);
                }
                Outcome::Refused(error) => {
                    // The first attempt has ended without a receipt.
                    self.forget(lost.take());
                    return Err(error);
                }
                Outcome::Lost(place, applied) => {
                    self.forget(lost.replace((place, applied)));
                    again += 1;
                    if again <= AGAIN {
                        continue;
                    }
                    self.forget(lost.take());
                    return Err(Error::Unknown { commit: commit.id });
                }
                Outcome::Again => {
                    again += 1;
                    if again <= AGAIN {
                        continue;
                    }
                    Fault::Store(Error::Database(
                        "agents keep coming into being while a commit locks".to_owned(),
                    ))
                }
                Outcome::Failed(fault) => fault,
            };
            if fault.is_conflict() && conflicts < CONFLICTS {
                conflicts += 1;
                continue;
            }
            if fault.is_lost() && again < AGAIN {
                again += 1;
                continue;
            }
            return Err(match lost.take() {
                Some(hints) => {
                    self.forget(Some(hints));
                    Error::Unknown { commit: commit.id }
                }
                None => fault.into(),
            });
        }
    }

    /// Sends no hints of an attempt.
    fn forget(&self, hints: Option<(hints::Place, apply::Applied)>) {
        if let Some((place, _)) = hints {
            self.hints.end(place);
        }
    }
}
