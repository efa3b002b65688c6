//! The TLS implementation of outgoing connections.

use rustls::crypto::{CryptoProvider, ring};

/// Makes sure that there is one: without, building an HTTP client panics. The binary's own choice
/// stands where it has made one.
pub(crate) fn ensure_provider() {
    if CryptoProvider::get_default().is_none() {
        // Refused only when another thread was faster, which is as good.
        let _ = ring::default_provider().install_default();
    }
}
