//! Standing leaves: what a person allowed for good, and how that ends.

use entourage_store::{Commit, EntityQuery, Error as StoreError, Expect, Page, Write};
use entourage_types::{AgentId, EntityKind, Grant, GrantId, GrantStatus, Record};

use super::Client;
use crate::{Error, Result};

impl Client {
    /// Grants: of one tree or of all, of one agent or of all, in one status or in any.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn grants(
        &self,
        root: Option<AgentId>,
        agent: Option<AgentId>,
        status: Option<GrantStatus>,
        page: Page,
    ) -> Result<Vec<Grant>> {
        let status = status.map(|status| status.as_str().into());
        let query = EntityQuery { root, parent: agent, status, page, ..EntityQuery::of(EntityKind::Grant) };
        let found = self.house.store().entities(&self.scope, query).await?;
        Ok(found.iter().map(Grant::from_entity).collect::<serde_json::Result<_>>()?)
    }

    /// Takes a grant back: the next call that its rule holds back is asked about again. Doing so
    /// twice is doing so once.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn revoke(&self, id: GrantId) -> Result<Grant> {
        let grant = self.grant(id).await?;
        let (status, updated) = (GrantStatus::Revoked, self.house.now());
        let revoked = Grant { status, updated, ..grant };
        let standing = Expect::Status(EntityKind::Grant, id.to_string(), GrantStatus::Standing.as_str());
        let commit = Commit::new(updated).expect(standing).write(Write::Grant(revoked.clone()));
        match self.house.store().commit(commit).await {
            Ok(_) => Ok(revoked),
            Err(StoreError::NotInStatus { .. }) => self.grant(id).await,
            Err(error) => Err(error.into()),
        }
    }

    async fn grant(&self, id: GrantId) -> Result<Grant> {
        let found = self.house.store().entity(&self.scope, EntityKind::Grant, &id.to_string()).await?;
        let found = found.ok_or_else(|| Error::not_found("grant", id))?;
        Ok(Grant::from_entity(&found)?)
    }
}
