//! A secret of an owner, such as a key for an MCP server: what is stored is sealed.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Columns, EntityKind, KeptStatus, Owner, Record, Time};

/// The name of a secret: letters, digits, `_` and `-`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct SecretName(String);

impl SecretName {
    /// The maximum length of a name, in bytes.
    pub const LONGEST: usize = 64;

    /// The name, as stored and shown.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for SecretName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > Self::LONGEST || !name.chars().all(plain) {
            return Err(format!(
                "a secret's name consists of letters, digits, `_` and `-`, at most {}",
                Self::LONGEST
            ));
        }
        Ok(Self(name))
    }
}

impl std::str::FromStr for SecretName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::try_from(name.to_owned())
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A secret as it is stored. Only who has the key that sealed it can read its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secret {
    /// The user that owns it.
    pub owner: Owner,
    /// Its name, which no other secret of the owner has.
    pub name: SecretName,
    /// Which key sealed it: the beginning of the key's digest.
    pub key: String,
    /// The sealed value, with its nonce, in Base64.
    pub sealed: String,
    /// When it was first set.
    pub created: Time,
    /// When its value was last set.
    pub updated: Time,
}

impl Secret {
    /// The id of its record. The length keeps owner and name apart, whatever characters the owner has.
    #[must_use]
    pub fn id_of(owner: &Owner, name: &SecretName) -> String {
        format!("{}:{owner}/{name}", owner.as_str().len())
    }
}

/// No event tells of it, and no search finds it.
impl Record for Secret {
    const KIND: EntityKind = EntityKind::SECRET;
    type Status = KeptStatus;

    fn columns(&self) -> Columns {
        Columns {
            id: Self::id_of(&self.owner, &self.name),
            owner: self.owner.clone(),
            root: None,
            parent: None,
            status: KeptStatus::Kept.as_str(),
            created: self.created,
            updated: self.updated,
            name: None,
            text: None,
        }
    }
}
