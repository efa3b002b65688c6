//! Making tokens, for whoever holds the shared secret.

use std::time::Duration;

use entourage_types::{LONGEST_NAME, Owner, Time};
use jsonwebtoken::{EncodingKey, Header};
use serde::Serialize;

use super::{Algorithm, Auth};
use crate::{Error, Result, Settings};

/// The longest that a token lasts: what is lost is lost for as long.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

#[derive(Serialize)]
struct Claims<'a> {
    sub: &'a str,
    /// That whoever holds the secret made it for the operator; no name says so.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    operator: bool,
    iat: u64,
    exp: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    aud: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    iss: Option<&'a str>,
}

/// A token by which its bearer is `owner` for `ttl` from now on, on a server with these settings; as
/// `local`, the operator.
///
/// # Errors
/// [`Error::Mint`] where no token is asked for, or where only the holder of a private key can make
/// one; [`Error::Key`] when the secret is too short.
pub fn mint(settings: &Settings, owner: &Owner, ttl: Duration) -> Result<String> {
    let jwt = match &settings.auth {
        Auth::Jwt(jwt) => jwt,
        Auth::None => {
            return Err(Error::Mint("this engine asks for none; set `[server.auth.jwt]` first".into()));
        }
    };
    if jwt.algorithm != Algorithm::Hs256 {
        return Err(Error::Mint(format!(
            "tokens signed with {} come from whoever holds the private key",
            jwt.algorithm.as_str()
        )));
    }
    if owner.as_str().is_empty() {
        return Err(Error::Mint("the owner is empty; name whose agents the bearer may use".into()));
    }
    if owner.as_str().len() > LONGEST_NAME || owner.as_str().contains('\0') {
        return Err(Error::Mint("the owner has more than 512 bytes, or a NUL; name a shorter one".into()));
    }
    if ttl > LONGEST || ttl.is_zero() {
        return Err(Error::Mint("a token lasts from one second to 366 days; make a new one in time".into()));
    }
    let now = u64::try_from(Time::now().micros() / 1_000_000).unwrap_or(0);
    let claims = Claims {
        sub: owner.as_str(),
        operator: *owner == Owner::local(),
        iat: now,
        exp: now.saturating_add(ttl.as_secs()),
        aud: jwt.audience.as_deref(),
        iss: jwt.issuer.as_deref(),
    };
    jwt.checked()?;
    let key = EncodingKey::from_secret(jwt.secret()?);
    jsonwebtoken::encode(&Header::new(jwt.algorithm.into()), &claims, &key)
        .map_err(|error| Error::Mint(error.to_string()))
}
