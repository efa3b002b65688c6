//! Who may come in: anyone on this machine, or whoever bears a token.

mod bearer;
mod guard;
mod key;
mod mint;

use schemars::JsonSchema;
use secrecy::SecretString;
use serde::Deserialize;

pub(crate) use bearer::{Bearer, Identity, bearer};
pub(crate) use guard::guard;
pub use mint::mint;

/// Who may come in.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Auth {
    /// Anyone on this machine, as the owner `local`. Served on loopback addresses only; requests
    /// that a web page of another site may have sent are refused.
    #[default]
    None,
    /// Whoever bears a JSON Web Token. Its `sub` is the owner, its `exp` is required.
    Jwt(Jwt),
}

/// Which tokens are good.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Jwt {
    /// The one algorithm; what a token says of its own does not count.
    pub algorithm: Algorithm,
    /// For HS256 the shared secret, at least 32 bytes; otherwise the public key as PEM.
    #[schemars(with = "String")]
    pub key: SecretString,
    /// The operator: the `sub` of whoever may do what concerns the whole house. With HS256 also whoever
    /// has a token made by [`mint`] for the owner `local`; otherwise nobody unless given. Any other token
    /// whose `sub` is `local` is refused.
    #[serde(default)]
    pub operator: Option<String>,
    /// What a token's `aud` must hold, when given; with RS256 and EdDSA it must be.
    #[serde(default)]
    pub audience: Option<String>,
    /// What a token's `iss` must be, when given.
    #[serde(default)]
    pub issuer: Option<String>,
}

/// How tokens are signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum Algorithm {
    /// With a shared secret.
    #[serde(rename = "HS256")]
    Hs256,
    /// With an RSA key.
    #[serde(rename = "RS256")]
    Rs256,
    /// With an Ed25519 key.
    #[serde(rename = "EdDSA")]
    EdDsa,
}

impl Algorithm {
    /// The word in a token's header.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hs256 => "HS256",
            Self::Rs256 => "RS256",
            Self::EdDsa => "EdDSA",
        }
    }
}
