//! Digests, by which two texts are known to be the same.

use sha2::{Digest, Sha256};

/// SHA-256 of a text, in hex.
pub(crate) fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
