//! Requests that are done once, however often they are sent with their idempotency key.

use std::str::FromStr;

use entourage_store::{Commit, Error as StoreError, Expect, Write};
use entourage_types::{Columns, EntityKind, is_storable_name};
use serde::{Deserialize, Serialize};

use super::{Client, inbox};
use crate::{Error, Result, digest::digest};

/// What is kept of a request that carried a key.
#[derive(Serialize, Deserialize)]
struct Request {
    /// The digest of the request.
    request: String,
    /// The answer, as each sort of request writes and reads it.
    answer: String,
}

impl Client {
    /// Returns the answer to the first request with a key; none if this is the first. Call it before judging
    /// the request by anything that can change: the first request may have changed it, and a request that was
    /// done is not refused.
    pub(super) async fn first_answer<A: FromStr>(
        &self,
        key: Option<&str>,
        request: &str,
    ) -> Result<Option<A>> {
        let Some(id) = key.map(|key| self.request_id(key)) else { return Ok(None) };
        let found = self.engine.store().entity(&self.scope, EntityKind::REQUEST, &id).await?;
        let Some(found) = found else { return Ok(None) };
        let first: Request = serde_json::from_str(&found.body)?;
        let is_same = first.request == digest(request);
        let answer = is_same.then(|| first.answer.parse().ok()).flatten();
        answer.map(Some).ok_or(Error::KeyReused)
    }

    /// Commits once per key. If the same request came twice at once and the other one was first, commits
    /// nothing and returns the answer to the other one.
    pub(super) async fn commit_once<A: FromStr + ToString>(
        &self,
        key: Option<&str>,
        request: &str,
        answer: A,
        mut commit: Commit,
    ) -> Result<Option<A>> {
        if let Some(id) = key.map(|key| self.request_id(key)) {
            let body = Request { request: digest(request), answer: answer.to_string() };
            let body = serde_json::to_string(&body)?;
            let columns = Columns {
                id: id.clone(),
                owner: self.owner.clone(),
                root: None,
                parent: None,
                status: "answered",
                created: commit.at,
                updated: commit.at,
                name: None,
                text: None,
            };
            // The first expectation: if another one fails, the other request may have caused that.
            commit.expect.insert(0, Expect::Absent(EntityKind::REQUEST, id));
            commit.push(Write::entity(columns.entity(EntityKind::REQUEST, body)));
        }
        match self.engine.commit(commit).await {
            Ok(_) => Ok(None),
            Err(StoreError::Exists { kind: EntityKind::REQUEST, .. }) => {
                self.first_answer(key, request).await?.ok_or(Error::KeyReused).map(Some)
            }
            Err(StoreError::Deleted { agent }) => Err(Error::Gone(agent)),
            // It was forgotten meanwhile.
            Err(StoreError::NoAgent { agent }) => Err(Error::not_found("agent", agent)),
            Err(StoreError::InboxFull { agent }) => Err(inbox::is_full(agent)),
            Err(error) => Err(error.into()),
        }
    }

    /// The id of a request's record. The length keeps owner and key apart, whatever characters they have; an
    /// id that is too long for an index is replaced by its digest.
    fn request_id(&self, key: &str) -> String {
        let id = format!("{}:{}/{key}", self.owner.as_str().len(), self.owner);
        if is_storable_name(&id) { id } else { digest(&id) }
    }
}
