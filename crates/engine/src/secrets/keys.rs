//! The keys that seal secrets: the first one seals, all of them open.

use std::fmt;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use chacha20poly1305::{
    KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Payload},
};
use entourage_types::{Owner, Secret, SecretName, Time};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

use crate::{Error, Result};

/// The length of a key, in bytes.
const KEY: usize = 32;
/// The length of a nonce, in bytes: long enough to be drawn at random for every value.
const NONCE: usize = 24;
/// How many characters of its digest name a key.
const NAMED: usize = 8;

/// The keys that seal secrets. The first one seals; all of them open what they sealed, so that a key can be replaced
/// while secrets that the earlier one sealed are still there.
pub struct SecretKeys(Vec<SecretKey>);

struct SecretKey {
    /// The beginning of its digest.
    name: String,
    cipher: XChaCha20Poly1305,
}

/// Why these are no keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretKeysError {
    /// There is none.
    #[error("there is no key")]
    None,
    /// One of them is no key; the text is not repeated.
    #[error("key {0} is not 32 bytes in Base64; `entourage secrets key` makes one")]
    Malformed(usize),
}

/// Makes a key, in Base64.
///
/// # Errors
/// [`Error::NoRandomness`].
pub fn new_secret_key() -> Result<SecretString> {
    Ok(BASE64_STANDARD.encode(random::<KEY>()?).into())
}

fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| Error::NoRandomness(error.to_string()))?;
    Ok(bytes)
}

impl SecretKeys {
    /// Reads keys in Base64, separated by blanks, line breaks or commas. The first one seals.
    ///
    /// # Errors
    /// If there is none, or one of them is no key.
    pub fn parse(text: &SecretString) -> Result<Self, SecretKeysError> {
        let words = text.expose_secret().split(|c: char| c.is_whitespace() || c == ',');
        let words = words.filter(|word| !word.is_empty()).enumerate();
        let keys: Vec<SecretKey> = words
            .map(|(at, word)| SecretKey::parse(word).ok_or(SecretKeysError::Malformed(at + 1)))
            .collect::<Result<_, _>>()?;
        if keys.is_empty() { Err(SecretKeysError::None) } else { Ok(Self(keys)) }
    }

    /// Seals a value under a name of its owner, and under no other: moved to another one, it cannot be opened.
    pub(crate) fn seal(
        &self,
        (owner, name): (Owner, SecretName),
        value: &SecretString,
        created: Time,
        updated: Time,
    ) -> Result<Secret> {
        let key = self.sealing()?;
        let nonce = random::<NONCE>()?;
        let id = Secret::id_of(&owner, &name);
        let payload = Payload { msg: value.expose_secret().as_bytes(), aad: id.as_bytes() };
        let sealed = key.cipher.encrypt(&XNonce::from(nonce), payload);
        let sealed = sealed.map_err(|_| Error::Invalid("the secret is too long to be sealed".into()))?;
        let sealed = BASE64_STANDARD.encode([&nonce[..], &sealed].concat());
        Ok(Secret { owner, name, key: key.name.clone(), sealed, created, updated })
    }

    /// The value of a secret.
    ///
    /// # Errors
    /// [`Error::SealedOtherwise`] if none of these keys sealed it, or if it was changed since.
    pub(crate) fn open(&self, secret: &Secret) -> Result<SecretString> {
        let failed = || Error::SealedOtherwise { name: secret.name.clone(), key: secret.key.clone() };
        let key = self.0.iter().find(|key| key.name == secret.key).ok_or_else(failed)?;
        let sealed = BASE64_STANDARD.decode(&secret.sealed).map_err(|_| failed())?;
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE>().ok_or_else(failed)?;
        let id = Secret::id_of(&secret.owner, &secret.name);
        let payload = Payload { msg: sealed, aad: id.as_bytes() };
        let value = key.cipher.decrypt(&XNonce::from(*nonce), payload).map_err(|_| failed())?;
        String::from_utf8(value).map(Into::into).map_err(|_| failed())
    }

    /// Whether the first key sealed it.
    pub(crate) fn is_current(&self, secret: &Secret) -> bool {
        self.0.first().is_some_and(|key| key.name == secret.key)
    }

    fn sealing(&self) -> Result<&SecretKey> {
        self.0.first().ok_or(Error::NoSecretKey("there is no key"))
    }
}

impl SecretKey {
    fn parse(word: &str) -> Option<Self> {
        let key: [u8; KEY] = BASE64_STANDARD.decode(word).ok()?.try_into().ok()?;
        let digest = Sha256::digest(key);
        let name = digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>()[..NAMED].to_owned();
        Some(Self { name, cipher: XChaCha20Poly1305::new(&key.into()) })
    }
}

/// Without the keys.
impl fmt::Debug for SecretKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|key| &key.name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> SecretKeys {
        SecretKeys::parse(&text.into()).unwrap()
    }

    fn new() -> String {
        new_secret_key().unwrap().expose_secret().to_owned()
    }

    fn sealed(keys: &SecretKeys, owner: &str, name: &str) -> Secret {
        let now = Time::from_micros(0);
        keys.seal((Owner::new(owner), name.parse().unwrap()), &"canary".into(), now, now).unwrap()
    }

    #[test]
    fn a_secret_opens_under_its_own_name_with_its_own_key_alone() {
        let (one, other) = (new(), new());
        let secret = sealed(&keys(&one), "ann", "bank");
        assert_eq!(keys(&format!("{other}\n{one}\n")).open(&secret).unwrap().expose_secret(), "canary");
        assert!(matches!(keys(&other).open(&secret), Err(Error::SealedOtherwise { .. })));
        let moved = |owner: &str, name: &str| {
            let (owner, name) = (Owner::new(owner), name.parse().unwrap());
            keys(&one).open(&Secret { owner, name, ..secret.clone() })
        };
        assert!(
            moved("ann", "bank").is_ok() && moved("bob", "bank").is_err() && moved("ann", "mail").is_err()
        );
        let changed = Secret { sealed: sealed(&keys(&one), "ann", "mail").sealed, ..secret };
        assert!(keys(&one).open(&changed).is_err());
    }

    #[test]
    fn the_first_key_seals_and_one_value_is_never_sealed_the_same_twice() {
        let (one, other) = (new(), new());
        let both = keys(&format!("{one},{other}"));
        let [first, second] = [sealed(&both, "ann", "bank"), sealed(&both, "ann", "bank")];
        assert_ne!(first.sealed, second.sealed);
        assert!(keys(&one).open(&first).is_ok() && both.is_current(&first));
        assert!(!keys(&format!("{other} {one}")).is_current(&first));
    }

    #[test]
    fn what_is_no_key_is_named_by_its_place_and_never_repeated() {
        let short = format!("{} c2hvcnQ=", new());
        assert_eq!(SecretKeys::parse(&short.into()).unwrap_err(), SecretKeysError::Malformed(2));
        assert_eq!(SecretKeys::parse(&" \n".into()).unwrap_err(), SecretKeysError::None);
        let one = new();
        assert!(!format!("{:?}", keys(&one)).contains(&one));
    }
}
