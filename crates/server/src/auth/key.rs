//! Keys, read once at startup, so that a bad one keeps the server from starting.

use base64::{
    Engine as _,
    alphabet::{STANDARD, URL_SAFE},
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use jsonwebtoken::{DecodingKey, Validation};
use secrecy::ExposeSecret;

use super::{Algorithm, Jwt};
use crate::{Error, Result};

/// The shortest shared secret, in bytes: as long as the digest it keys (RFC 7518, 3.2).
const SHORTEST_SECRET: usize = 32;
/// How far the clocks of two machines may differ, in seconds.
const LEEWAY: u64 = 30;
/// Base64 with its padding or without.
const ANY: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const ANY_BASE64: GeneralPurpose = GeneralPurpose::new(&STANDARD, ANY);
const ANY_BASE64_URL: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, ANY);

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
    /// Returns the shared secret, or an error if it is too short, a PEM, a public key or a certificate.
    pub(super) fn secret(&self) -> Result<&[u8]> {
        let secret = self.key.expose_secret().as_bytes();
        if self.key.expose_secret().contains("-----BEGIN ") {
            return Err(self.unusable(
                "it is a key in PEM, which others may know. Make a secret with `openssl rand -hex 32`, or name \
                 the algorithm of the key, RS256 or EdDSA"
                    .to_owned(),
            ));
        }
        if is_public(secret) {
            return Err(self.unusable(
                "it is a public key or a certificate, which others know. Make a secret with `openssl rand -hex 32`, \
                 or name the algorithm of the key, RS256 or EdDSA, and give it as PEM"
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

    /// The key that verifies the signatures of tokens.
    pub(super) fn decoding_key(&self) -> Result<DecodingKey> {
        let pem = self.key.expose_secret();
        if self.algorithm != Algorithm::Hs256 && pem.contains("PRIVATE KEY-----") {
            return Err(self.unusable(
                "it is a private key, which belongs to the issuer of tokens alone. Give the public one: \
                 `openssl pkey -in KEY -pubout` writes it"
                    .to_owned(),
            ));
        }
        let pem = pem.as_bytes();
        match self.algorithm {
            Algorithm::Hs256 => Ok(DecodingKey::from_secret(self.secret()?)),
            Algorithm::Rs256 => DecodingKey::from_rsa_pem(pem).map_err(|error| self.not_pem(&error)),
            Algorithm::EdDsa => DecodingKey::from_ed_pem(pem).map_err(|error| self.not_pem(&error)),
        }
    }

    /// Refuses settings that would accept tokens for other services: where the issuer serves several, only
    /// the audience tells their tokens apart.
    pub(super) fn checked(&self) -> Result<()> {
        match (self.algorithm, &self.audience) {
            (_, Some(audience)) if audience.trim().is_empty() => Err(Error::EmptyAudience),
            (Algorithm::Rs256 | Algorithm::EdDsa, None) => Err(Error::NoAudience(self.algorithm.as_str())),
            _ => Ok(()),
        }
    }

    /// The claims that a token must have.
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
        // Without a configured audience, a token with any `aud` is accepted.
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

/// Whether a secret is a public key or a certificate without the PEM lines around it: base64 of a complete
/// DER sequence that begins with another sequence or with an integer; or a public key line of `ssh-keygen`.
fn is_public(secret: &[u8]) -> bool {
    if secret.starts_with(b"ssh-") || secret.starts_with(b"ecdsa-") {
        return true;
    }
    let digits: Vec<u8> = secret.iter().filter(|byte| !byte.is_ascii_whitespace()).copied().collect();
    let decoded = ANY_BASE64.decode(&digits).or_else(|_| ANY_BASE64_URL.decode(&digits));
    let Some(([0x30, length], rest)) = decoded.as_deref().ok().and_then(|der| der.split_first_chunk::<2>())
    else {
        return false;
    };
    // Above 127, the lower bits of the length byte give the number of bytes that hold the length.
    let more = if *length < 0x80 { 0 } else { usize::from(*length & 0x7f) };
    let Some((number, inside)) = rest.split_at_checked(more).filter(|_| more <= 4) else { return false };
    let long = number.iter().fold(0, |sum, byte| (sum << 8) | usize::from(*byte));
    let length = if more == 0 { usize::from(*length) } else { long };
    length == inside.len() && matches!(inside, [0x30 | 0x02, ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_key_is_recognized_without_its_pem_header_and_footer() {
        for pem in [
            include_str!("../../tests/keys/rsa.public.pem"),
            include_str!("../../tests/keys/ed25519.public.pem"),
        ] {
            let bare: Vec<&str> = pem.lines().filter(|line| !line.starts_with('-')).collect();
            let joined = bare.concat();
            let for_urls = joined.replace('+', "-").replace('/', "_").trim_end_matches('=').to_owned();
            for key in [bare.join("\n"), joined, for_urls] {
                assert!(is_public(key.as_bytes()), "{key}");
            }
        }
        assert!(is_public(
            b"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
        ));
        for secret in
            ["MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", "a secret of the tests", "MA==", "MIIB"]
        {
            assert!(!is_public(secret.as_bytes()), "{secret}");
        }
    }
}
