//! A login at the console.

use serde::{Deserialize, Serialize};

use crate::{Columns, EntityKind, Owner, Record, Sha256, Time, status::words};

/// What is kept of a login at the console: the browser's cookie holds a secret, of which this is the digest. It is kept
/// in the database, so that people stay logged in when the server restarts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsoleLogin {
    /// The digest of the secret, by which it is found.
    pub digest: Sha256,
    /// Who is logged in.
    pub owner: Owner,
    /// Whether they are the operator.
    pub is_operator: bool,
    /// When it ends.
    pub expires: Time,
    /// When they logged in.
    pub created: Time,
}

words! {
    /// The status of a login: always the same.
    ConsoleLoginStatus, "status of a login" {
        /// It is good until it expires.
        Kept => "kept",
    }
}

impl Record for ConsoleLogin {
    const KIND: EntityKind = EntityKind::CONSOLE_LOGIN;
    type Status = ConsoleLoginStatus;

    fn columns(&self) -> Columns {
        Columns {
            id: self.digest.to_string(),
            owner: self.owner.clone(),
            root: None,
            parent: None,
            status: ConsoleLoginStatus::Kept.as_str(),
            created: self.created,
            updated: self.created,
            name: None,
            text: None,
        }
    }
}
