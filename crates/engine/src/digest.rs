//! Digests, by which equal texts are recognised.

use sha2::{Digest, Sha256};

/// SHA-256 of a text, in hex.
pub(crate) fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
