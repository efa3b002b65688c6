//! Accounts: people register and log in with an email address and a password, and get a token that this server
//! signs.

mod password;
mod rate_limit;

use std::{net::IpAddr, time::Duration};

use entourage_types::{Email, Owner, Time};

use crate::{Algorithm, Auth, Error, Jwt, Problem, Result, Settings};

pub(crate) use password::Password;
pub(crate) use rate_limit::RateLimit;

/// How long a token lasts; its holder logs in again then.
const TOKEN_LIFE: Duration = Duration::from_secs(24 * 3600);
/// How many attempts a minute are made with one email address.
const PER_EMAIL: u32 = 10;
/// How many attempts a minute are made from one network address.
const PER_ADDRESS: u32 = 30;

/// What registering and logging in need, on a server that allows it.
pub(crate) struct Accounts {
    jwt: Jwt,
    by_email: RateLimit,
    by_address: RateLimit,
}

impl Accounts {
    /// Accounts as the settings have them; none if registration is off.
    ///
    /// # Errors
    /// [`Error::Registration`] if this server cannot sign tokens.
    pub(crate) fn new(settings: &Settings) -> Result<Option<Self>> {
        if !settings.registration {
            return Ok(None);
        }
        let jwt = match &settings.auth {
            Auth::None => return Err(Error::Registration("it has no authentication")),
            Auth::Jwt(jwt) => match jwt.algorithm {
                Algorithm::Hs256 => jwt.clone(),
                Algorithm::Rs256 => return Err(Error::Registration("RS256 tokens come from their issuer")),
                Algorithm::EdDsa => return Err(Error::Registration("EdDSA tokens come from their issuer")),
            },
        };
        let (by_email, by_address) = (RateLimit::new(PER_EMAIL), RateLimit::new(PER_ADDRESS));
        Ok(Some(Self { jwt, by_email, by_address }))
    }

    /// Counts an attempt to register or to log in, whether it succeeds or not, or refuses it. Without an address,
    /// which another program that serves the routes knows, only the email counts.
    pub(crate) fn attempt(&self, email: &Email, from: Option<IpAddr>, now: Time) -> Result<(), Problem> {
        if let Some(address) = from {
            let counted = self.by_address.attempt(&network(address), now);
            counted.map_err(|wait| too_many("from your address", wait))?;
        }
        // As it is compared: another spelling is no other account.
        let counted = self.by_email.attempt(&email.name(), now);
        counted.map_err(|wait| too_many("with this email", wait))
    }

    /// A token that makes its bearer this owner.
    ///
    /// # Errors
    /// [`Error::Mint`] if it cannot be signed.
    pub(crate) fn token(&self, owner: &Owner) -> Result<String> {
        self.jwt.sign(owner, TOKEN_LIFE)
    }
}

/// What an address counts as. A subscriber of IPv6 has at least 2^64 addresses, which count as one.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
        v4 @ IpAddr::V4(_) => v4,
    }
}

fn too_many(whose: &str, wait: Duration) -> Problem {
    // Rounded up: who waits as long as this is not refused again.
    let seconds = wait.as_millis().div_ceil(1000);
    let seconds = u64::try_from(seconds).unwrap_or(u64::MAX);
    Problem::too_many_attempts(format!(
        "there were too many attempts to register or to log in {whose}; wait for {seconds} s, and try again"
    ))
    .after(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_network_counts_as_one_address_and_ipv4_in_either_form_as_one() {
        let of = |address: &str| network(address.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:ffff:ffff:ffff"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }
}
