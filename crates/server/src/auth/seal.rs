//! Seals of stream tokens and of logins at the console: each is good for as long as the server authenticates its callers in
//! the same way.

use std::sync::Arc;

use secrecy::ExposeSecret;
use sha2::{Digest, Sha256};

use super::Auth;

/// What seals tokens: it depends on all that decides who a caller is, so that nothing of what was given out is good once
/// the key was replaced, or authentication was turned on.
#[derive(Clone)]
pub(crate) struct Seal(Arc<[u8; 32]>);

impl Seal {
    pub(crate) fn new(auth: &Auth) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"entourage stream token\n");
        if let Auth::Jwt(jwt) = auth {
            for part in [
                jwt.algorithm.as_str(),
                jwt.audience.as_deref().unwrap_or_default(),
                jwt.issuer.as_deref().unwrap_or_default(),
                jwt.operator.as_deref().unwrap_or_default(),
                jwt.key.expose_secret(),
            ] {
                // Lengths keep the parts apart.
                hash.update(part.len().to_be_bytes());
                hash.update(part);
            }
        }
        Self(Arc::new(hash.finalize().into()))
    }

    /// The token as it is given out.
    pub(crate) fn sealed(&self, token: &str) -> String {
        format!("{token}.{}", self.of(token))
    }

    /// The token, if this seal is on it.
    pub(crate) fn opened<'t>(&self, sealed: &'t str) -> Option<&'t str> {
        let (token, seal) = sealed.split_once('.')?;
        // Both sides are digests of a secret: how long the comparison takes tells nothing.
        (self.of(token) == seal).then_some(token)
    }

    fn of(&self, token: &str) -> String {
        let hash = Sha256::new().chain_update(self.0.as_slice()).chain_update(token).finalize();
        hash[..16].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::{Algorithm, Jwt};

    fn of_key(key: &str) -> Seal {
        let key = key.to_owned().into();
        let (algorithm, operator) = (Algorithm::Hs256, None);
        Seal::new(&Auth::Jwt(Jwt { algorithm, key, operator, audience: None, issuer: None }))
    }

    #[test]
    fn a_token_is_good_under_the_seal_that_is_on_it_alone() {
        let (old, new, none) = (of_key("old"), of_key("new"), Seal::new(&Auth::None));
        let sealed = old.sealed("abc");
        assert_eq!(of_key("old").opened(&sealed), Some("abc"), "after a restart, too");
        for (seal, given) in
            [(&new, sealed.as_str()), (&none, &sealed), (&old, "abc"), (&old, "abc."), (&old, &sealed[1..])]
        {
            assert_eq!(seal.opened(given), None, "{given}");
        }
    }
}
