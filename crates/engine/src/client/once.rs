//! Requests that happen once, however often they are sent with their idempotency key.

use entourage_store::{Commit, Error as StoreError, Expect, Write};
use entourage_types::{Entity, EntityKind, LONGEST_NAME};
use serde::{Deserialize, Serialize};

use super::Client;
use crate::{Error, Result, digest::digest};

/// What is kept of a request that carried a key.
#[derive(Serialize, Deserialize)]
struct Request {
    request: String,
    answer: String,
}

impl Client {
    /// What the first request with a key was answered; none where this is the first. To be asked before the request
    /// is judged by anything that changes: the first may have changed it, and what was done is not refused.
    pub(super) async fn first_answer(&self, key: Option<&str>, request: &str) -> Result<Option<String>> {
        let Some(id) = key.map(|key| self.request_id(key)) else { return Ok(None) };
        let found = self.engine.store().entity(&self.scope, EntityKind::Request, &id).await?;
        let Some(found) = found else { return Ok(None) };
        let first: Request = serde_json::from_str(&found.body)?;
        if first.request == digest(request) { Ok(Some(first.answer)) } else { Err(Error::KeyReused) }
    }

    /// Makes a commit happen once per key. Where the same request came twice at once and the other one was first,
    /// nothing happens, and what that was answered is returned.
    pub(super) async fn commit_once(
        &self,
        key: Option<&str>,
        request: &str,
        answer: &str,
        mut commit: Commit,
    ) -> Result<Option<String>> {
        if let Some(id) = key.map(|key| self.request_id(key)) {
            let body = Request { request: digest(request), answer: answer.to_owned() };
            let body = serde_json::to_string(&body)?;
            // Before all else that must hold: what does not hold any more may be the other one's doing.
            commit.expect.insert(0, Expect::Absent(EntityKind::Request, id.clone()));
            commit.push(Write::Entity(Entity {
                kind: EntityKind::Request,
                id,
                owner: self.owner.clone(),
                root: None,
                parent: None,
                status: "answered".into(),
                created: commit.at,
                updated: commit.at,
                text: None,
                body,
            }));
        }
        match self.engine.commit(commit).await {
            Ok(_) => Ok(None),
            Err(StoreError::Exists { kind: EntityKind::Request, .. }) => {
                self.first_answer(key, request).await?.ok_or(Error::KeyReused).map(Some)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// What the record of a request is found by. The length keeps owner and key apart, whatever characters they
    /// have; where both are too long for an index, it is their digest.
    fn request_id(&self, key: &str) -> String {
        let id = format!("{}:{}/{key}", self.owner.as_str().len(), self.owner);
        if id.len() <= LONGEST_NAME && !id.contains('\0') { id } else { digest(&id) }
    }
}
