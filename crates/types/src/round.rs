//! What a job of the engine's upkeep found and did the last time.

use serde::{Deserialize, Serialize};

use crate::{Entity, EntityKind, Owner, Record, Time};

/// The last round of one job. There is one record for each job, of the engine itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// The job's name.
    pub job: String,
    /// When its last round began.
    #[serde(default)]
    pub began: Option<Time>,
    /// When that was over; none while it is not, also where a crash ended it, and before the first.
    pub at: Option<Time>,
    /// When the next one is due.
    pub due: Time,
    /// How many damages the last round found.
    pub found: u32,
    /// How many of them it mended; others were gone by then.
    pub mended: u32,
    /// How many were mended in all rounds together.
    pub mended_ever: u64,
    /// Why the last round came to no end, if it did not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
}

impl Round {
    /// A job that has had no round yet.
    #[must_use]
    pub fn before_the_first(job: &str, due: Time) -> Self {
        Self {
            job: job.to_owned(),
            began: None,
            at: None,
            due,
            found: 0,
            mended: 0,
            mended_ever: 0,
            error: None,
        }
    }
}

impl Record for Round {
    const KIND: EntityKind = EntityKind::Round;

    fn entity(&self) -> serde_json::Result<Entity> {
        let at = self.at.unwrap_or(self.due);
        Ok(Entity {
            kind: Self::KIND,
            id: self.job.clone(),
            owner: Owner::engine(),
            root: None,
            parent: None,
            status: if self.error.is_some() { "failed" } else { "done" }.to_owned(),
            created: at,
            updated: at,
            text: None,
            body: serde_json::to_string(self)?,
        })
    }
}
