//! Signs tokens with the shared secret.

use std::time::Duration;

use entourage_types::{Owner, Time, is_storable_name};
use jsonwebtoken::{EncodingKey, Header};
use serde::Serialize;

use super::{Algorithm, Auth, Jwt};
use crate::{Error, Result, Settings};

/// The longest lifetime of a token: a lost token can be used until it expires.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

#[derive(Serialize)]
struct Claims<'a> {
    sub: &'a str,
    /// Whether the token is the operator's. A claim says so because a name alone makes no operator.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    operator: bool,
    iat: u64,
    exp: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    aud: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    iss: Option<&'a str>,
}

/// Returns a token that makes its bearer `owner`, for `ttl` from now, on a server with these settings; for
/// `local`, also the operator.
///
/// # Errors
/// [`Error::Mint`] if these settings need no token, if only the holder of a private key can sign one, or if
/// `owner` or `ttl` is out of range; [`Error::EmptyAudience`] if the audience is empty; [`Error::Key`] if the
/// secret cannot be used.
pub fn mint(settings: &Settings, owner: &Owner, ttl: Duration) -> Result<String> {
    match &settings.auth {
        Auth::Jwt(jwt) => jwt.sign(owner, ttl),
        Auth::None => Err(Error::Mint("this server asks for none; set `[server.auth.jwt]` first".into())),
    }
}

impl Jwt {
    /// Returns a token that makes its bearer `owner`, as [`mint`] does.
    pub(crate) fn sign(&self, owner: &Owner, ttl: Duration) -> Result<String> {
        if self.algorithm != Algorithm::Hs256 {
            return Err(Error::Mint(format!(
                "tokens signed with {} can be made only by the holder of the private key",
                self.algorithm.as_str()
            )));
        }
        if owner.as_str().is_empty() {
            return Err(Error::Mint("the owner is empty; name whose agents the bearer may use".into()));
        }
        if !is_storable_name(owner.as_str()) {
            return Err(Error::Mint(
                "the owner has more than 512 bytes, or a NUL; name a shorter one".into(),
            ));
        }
        if ttl > LONGEST || ttl.is_zero() {
            return Err(Error::Mint(
                "a token lasts from one second to 366 days; make a new one in time".into(),
            ));
        }
        let now = u64::try_from(Time::now().micros() / 1_000_000).unwrap_or(0);
        let claims = Claims {
            sub: owner.as_str(),
            operator: *owner == Owner::local(),
            iat: now,
            exp: now.saturating_add(ttl.as_secs()),
            aud: self.audience.as_deref(),
            iss: self.issuer.as_deref(),
        };
        self.checked()?;
        let key = EncodingKey::from_secret(self.secret()?);
        jsonwebtoken::encode(&Header::new(self.algorithm.into()), &claims, &key)
            .map_err(|error| Error::Mint(error.to_string()))
    }
}
