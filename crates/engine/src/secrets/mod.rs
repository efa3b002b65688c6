//! Secrets of owners: sealed when they are set, and opened only to connect what needs them.

mod keys;

use std::sync::Arc;

pub use keys::{SecretKeys, SecretKeysError, new_secret_key};

use crate::{Engine, Error, Result};

/// What to do without a key.
const NO_KEY: &str = "secrets cannot be kept without a key that seals them: `entourage secrets key` makes one; set it as \
                      ENTOURAGE_SECRETS__KEYS, or write it to a file that only its owner can read and name that as \
                      `[secrets] keys_file`; then start again";

impl Engine {
    /// The keys that seal secrets.
    ///
    /// # Errors
    /// [`Error::NoSecretKey`] if there are none.
    pub(crate) fn secret_keys(&self) -> Result<&Arc<SecretKeys>> {
        self.inner.secret_keys.as_ref().ok_or(Error::NoSecretKey(NO_KEY))
    }
}
