//! Digests, by which equal texts are recognised.

use entourage_types::Sha256;
use sha2::Digest;

/// SHA-256 of a text.
pub(crate) fn sha256(text: &str) -> Sha256 {
    Sha256::from_bytes(sha2::Sha256::digest(text.as_bytes()).into())
}

/// SHA-256 of a text, in hex.
pub(crate) fn digest(text: &str) -> String {
    sha256(text).to_string()
}
