//! Authentication: anyone on this machine, or the bearer of a token.

mod bearer;
mod guard;
mod key;
mod mint;
mod seal;
mod stream_token;

use schemars::JsonSchema;
use secrecy::SecretString;
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, Visitor},
};

pub(crate) use bearer::{Bearer, Identity, bearer};
pub(crate) use guard::{SEC_FETCH_SITE, guard};
pub use mint::mint;
pub(crate) use seal::Seal;
pub(crate) use stream_token::{StreamGrant, stream_token};

/// Who may use the server.
#[derive(Debug, Clone, Default, JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub enum Auth {
    /// Anyone on this machine, as the owner `local`. The server then listens on loopback addresses only, and
    /// refuses requests that a web page of another site may have sent.
    #[default]
    None,
    /// The bearer of a JSON Web Token. Its `sub` is the owner, its `exp` is required.
    Jwt(Jwt),
}

impl<'de> Deserialize<'de> for Auth {
    /// Written by hand, so that the error for `jwt` without its table says what is missing.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Ways;

        impl<'de> Visitor<'de> for Ways {
            type Value = Auth;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("`none`, or a table `jwt`")
            }

            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Auth, E> {
                match word {
                    "none" => Ok(Auth::None),
                    "jwt" => Err(E::custom(
                        "how tokens are signed is missing: make it a table with `algorithm` and `key`",
                    )),
                    other => Err(E::unknown_variant(other, &["none", "jwt"])),
                }
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Auth, M::Error> {
                let way: Option<String> = map.next_key()?;
                let auth = match way.as_deref() {
                    Some("jwt") => Auth::Jwt(map.next_value()?),
                    Some(other) => return Err(M::Error::unknown_field(other, &["jwt"])),
                    None => return Err(M::Error::missing_field("jwt")),
                };
                match map.next_key::<String>()? {
                    Some(other) => Err(M::Error::unknown_field(&other, &["jwt"])),
                    None => Ok(auth),
                }
            }
        }

        from.deserialize_any(Ways)
    }
}

/// Checks that the key and the other JWT settings can be used.
///
/// # Errors
/// [`Error::Key`](crate::Error::Key), [`Error::NoAudience`](crate::Error::NoAudience) or
/// [`Error::EmptyAudience`](crate::Error::EmptyAudience): a server does not start with such settings.
pub fn check_auth(auth: &Auth) -> crate::Result<()> {
    Bearer::new(auth).map(drop)
}

/// Which tokens are accepted.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Jwt {
    /// The only algorithm that is accepted, whatever a token's header says.
    pub algorithm: Algorithm,
    /// For HS256 the shared secret, at least 32 bytes; otherwise the public key as PEM.
    #[schemars(with = "String")]
    pub key: SecretString,
    /// The `sub` of the operator, who may do what concerns the whole server. With HS256, the bearer of a
    /// token made by [`mint`] for the owner `local` is the operator, too; with the other algorithms, there is
    /// no operator unless this is given. Any other token whose `sub` is `local` is refused.
    #[serde(default)]
    pub operator: Option<String>,
    /// What a token's `aud` must contain, when given; required with RS256 and EdDSA.
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
    /// The algorithm's name in a token's header.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hs256 => "HS256",
            Self::Rs256 => "RS256",
            Self::EdDsa => "EdDSA",
        }
    }
}
