//! Keys, read once at start, so that a bad one keeps the server from starting.

use jsonwebtoken::{DecodingKey, Validation};
use secrecy::ExposeSecret;

use super::{Algorithm, Jwt};
use crate::{Error, Result};

/// The shortest shared secret, in bytes: as long as the digest it keys (RFC 7518, 3.2).
const SHORTEST_SECRET: usize = 32;
/// How far the clocks of two machines may differ, in seconds.
const LEEWAY: u64 = 30;

impl From<Algorithm> for jsonwebtoken::Algorithm {
    fn from(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Hs256 => Self::HS256,
            Algorithm::Rs256 => Self::RS256,
            Algorithm::EdDsa => Self::EdDSA,
        }
    }
}

impl Jwt {
    /// The shared secret, long enough to keep.
    pub(super) fn secret(&self) -> Result<&[u8]> {
        let secret = self.key.expose_secret().as_bytes();
        if self.key.expose_secret().contains("-----BEGIN ") {
            return Err(self.unusable(
                "it is a key in PEM, which others may know. Make a secret with `openssl rand -hex 32`, or name \
                 the algorithm of the key, RS256 or EdDSA"
                    .to_owned(),
            ));
        }
        if secret.len() < SHORTEST_SECRET {
            return Err(self.unusable(format!(
                "it has {} bytes, and less than {SHORTEST_SECRET} can be guessed. Make one with `openssl rand -hex 32`",
                secret.len()
            )));
        }
        Ok(secret)
    }

    /// What tokens are checked with.
    pub(super) fn decoding_key(&self) -> Result<DecodingKey> {
        let pem = self.key.expose_secret().as_bytes();
        match self.algorithm {
            Algorithm::Hs256 => Ok(DecodingKey::from_secret(self.secret()?)),
            Algorithm::Rs256 => DecodingKey::from_rsa_pem(pem).map_err(|error| self.not_pem(&error)),
            Algorithm::EdDsa => DecodingKey::from_ed_pem(pem).map_err(|error| self.not_pem(&error)),
        }
    }

    /// Refuses settings by which tokens for somebody else would be taken: where the issuer serves others,
    /// too, only the audience tells.
    pub(super) fn checked(&self) -> Result<()> {
        match (self.algorithm, &self.audience) {
            (Algorithm::Rs256 | Algorithm::EdDsa, None) => Err(Error::NoAudience(self.algorithm.as_str())),
            _ => Ok(()),
        }
    }

    /// What a token must say.
    pub(super) fn validation(&self) -> Validation {
        let mut validation = Validation::new(self.algorithm.into());
        let mut required = vec!["exp", "sub"];
        if let Some(audience) = &self.audience {
            validation.set_audience(&[audience]);
            required.push("aud");
        }
        if let Some(issuer) = &self.issuer {
            validation.set_issuer(&[issuer]);
            required.push("iss");
        }
        validation.set_required_spec_claims(&required);
        // A token for somebody is fine where nobody in particular is expected.
        validation.validate_aud = self.audience.is_some();
        validation.validate_nbf = true;
        validation.leeway = LEEWAY;
        validation
    }

    fn not_pem(&self, error: &jsonwebtoken::errors::Error) -> Error {
        self.unusable(format!(
            "{error}. Give the public key as PEM, beginning with `-----BEGIN PUBLIC KEY-----`"
        ))
    }

    fn unusable(&self, cause: String) -> Error {
        Error::Key { algorithm: self.algorithm.as_str(), cause }
    }
}
