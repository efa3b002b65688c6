//! Secrets of an owner: their values are set and never shown.

use std::fmt;

use entourage_types::{self as types, SecretName, Time};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

/// A secret of the caller, without its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Secret {
    /// Its name.
    #[schema(value_type = schema::SecretName)]
    pub name: SecretName,
    /// Which of the server's keys sealed it.
    pub key: String,
    /// When it was first set.
    #[schema(value_type = schema::Time)]
    pub created: Time,
    /// When its value was last set.
    #[schema(value_type = schema::Time)]
    pub updated: Time,
}

impl From<types::Secret> for Secret {
    fn from(types::Secret { name, key, created, updated, .. }: types::Secret) -> Self {
        Self { name, key, created, updated }
    }
}

/// The value of a secret to set.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct SetSecret {
    /// The value, of eight characters or more, which is sealed and never shown again.
    #[schema(min_length = 8, pattern = r"\S")]
    pub value: String,
}

/// Without the value.
impl fmt::Debug for SetSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SetSecret").finish_non_exhaustive()
    }
}

/// What sealing all secrets anew came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ResealedSecrets {
    /// How many were sealed anew.
    pub resealed: u64,
    /// How many the first key had sealed already.
    pub current: u64,
    /// How many were left as they are, because none of the keys opens them.
    pub unreadable: u64,
}
