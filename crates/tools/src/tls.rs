//! The TLS implementation of outgoing connections.

use rustls::crypto::{CryptoProvider, ring};

/// Ensures that a TLS provider is installed: without one, building an HTTP client panics. Keeps the binary's
/// own choice if it has made one.
pub(crate) fn ensure_provider() {
    if CryptoProvider::get_default().is_none() {
        // Fails only if another thread was faster, which is fine.
        let _ = ring::default_provider().install_default();
    }
}
