//! The secrets with which a server is connected for their owner.

use std::{collections::BTreeMap, sync::PoisonError};

use entourage_store::Error as StoreError;
use entourage_types::{Owner, Scope, Secret, SecretName, Sha256};
use secrecy::{ExposeSecret, SecretString};

use super::ToolServer;
use crate::{Engine, digest::sha256};

impl Engine {
    /// The values of the secrets that a server needs.
    pub(super) async fn values_of(
        &self,
        owner: &Owner,
        server: &ToolServer,
    ) -> Result<BTreeMap<SecretName, SecretString>, NoValues> {
        let (mut values, server_name) = (BTreeMap::new(), &server.name);
        for name in &server.secrets {
            let id = Secret::id_of(owner, name);
            let Some(secret) = self.store().record::<Secret>(&Scope::from(owner), id).await? else {
                return Err(NoValues::Unusable(not_set(server_name, name)));
            };
            match self.secret_keys().and_then(|keys| keys.open(&secret)) {
                Ok(value) => drop(values.insert(name.clone(), value)),
                Err(error) => {
                    // This process may have been given other keys than the others.
                    let mut unopened =
                        self.inner.servers.unopened.lock().unwrap_or_else(PoisonError::into_inner);
                    if unopened.insert(Secret::id_of(owner, name)) {
                        tracing::warn!(
                            %owner, server = server_name, secret = %name, %error,
                            "a server is not connected; give this process the key that sealed the secret, or set it again"
                        );
                    }
                    let why = format!("the MCP server `{server_name}` cannot be connected: {error}");
                    return Err(NoValues::Unusable(why));
                }
            }
        }
        Ok(values)
    }
}

/// Why there are no values for a server.
pub(super) enum NoValues {
    /// One is not set, or cannot be opened: the server cannot be used.
    Unusable(String),
    /// They could not be read.
    Store(StoreError),
}

impl From<StoreError> for NoValues {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Why a server cannot be used whose owner has not set a secret.
pub(crate) fn not_set(server: &str, secret: &SecretName) -> String {
    format!(
        "the MCP server `{server}` needs the secret `{secret}` of its user, which is not set: `entourage secrets set \
         {secret}`, or PUT /v1/secrets/{secret}"
    )
}

/// The digest of secrets, by which others are told from them.
pub(super) fn digest_of(values: &BTreeMap<SecretName, SecretString>) -> Sha256 {
    let parts = values.iter().map(|(name, value)| {
        let value = value.expose_secret();
        format!("{name} {} {value}\n", value.len())
    });
    let all = SecretString::from(parts.collect::<String>());
    sha256(all.expose_secret())
}
