//! Signatures of webhooks, after Standard Webhooks: HMAC-SHA256 over id, time and body, so that no one else
//! can have sent a webhook, and no one can send it again later.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use entourage_types::Time;
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

pub(super) const ID: &str = "webhook-id";
pub(super) const TIMESTAMP: &str = "webhook-timestamp";
pub(super) const SIGNATURE: &str = "webhook-signature";

/// How far the clocks of both sides may be apart, including the time of transmission.
pub(super) const WINDOW: Duration = Duration::from_secs(5 * 60);

/// How many signatures of a header are checked: while a secret is being changed, there are two.
const MOST: usize = 8;

const PREFIX: &str = "whsec_";
/// The length of a secret, as in the standard.
const BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// The secret with which both sides sign. It holds the keyed HMAC, and not the key itself.
#[derive(Clone)]
pub(super) struct Secret(Hmac<Sha256>);

impl Secret {
    /// Parses a secret as it is in the settings.
    ///
    /// # Errors
    /// What to do, without repeating what was given.
    pub(super) fn parse(given: &SecretString) -> Result<Self, String> {
        let how = "write it as `whsec_` and 24 to 64 bytes in base64; \
                   `echo whsec_$(openssl rand -base64 32)` makes one";
        let encoded = given.expose_secret().strip_prefix(PREFIX).ok_or(how)?;
        let bytes = STANDARD.decode(encoded).map_err(|_| how)?;
        if !BYTES.contains(&bytes.len()) {
            return Err(how.into());
        }
        Ok(Self(Hmac::new_from_slice(&bytes).map_err(|_| how)?))
    }

    /// The signature of a webhook, as in its header. `seconds` are since the Unix epoch.
    pub(super) fn sign(&self, id: &str, seconds: i64, body: &[u8]) -> String {
        let mac = self.mac(id, &seconds.to_string(), body);
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }

    /// Whether one of the signatures in a header is this secret's, compared in constant time.
    pub(super) fn signed(&self, id: &str, timestamp: &str, body: &[u8], header: &str) -> bool {
        // The body is hashed once, however many signatures there are.
        let mac = self.mac(id, timestamp, body);
        let given = header.split(' ').filter_map(|one| one.strip_prefix("v1,")).take(MOST);
        given
            .filter_map(|one| STANDARD.decode(one).ok())
            .any(|given| mac.clone().verify_slice(&given).is_ok())
    }

    fn mac(&self, id: &str, timestamp: &str, body: &[u8]) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        for part in [id.as_bytes(), b".", timestamp.as_bytes(), b".", body] {
            mac.update(part);
        }
        mac
    }
}

/// Checks that the time in a header is near enough to `now`.
///
/// # Errors
/// What is wrong with it, with the time of both clocks.
pub(super) fn checked_time(header: &str, now: Time) -> Result<(), String> {
    let Ok(seconds) = header.parse::<i64>() else {
        return Err(format!("`{TIMESTAMP}` must be seconds since 1970-01-01T00:00:00Z"));
    };
    let given = Time::from_micros(seconds.saturating_mul(1_000_000));
    let apart = now.since(given).max(given.since(now));
    if apart <= WINDOW {
        return Ok(());
    }
    Err(format!(
        "`{TIMESTAMP}` says {given}, and the clock here says {now}: at most {} minutes apart is taken. \
         Sign it anew when you send it again, and set the clocks",
        WINDOW.as_secs() / 60
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the standard's own libraries.
    const VECTOR: (&str, &str, i64, &str, &str) = (
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1_614_265_330,
        r#"{"test": 2432232314}"#,
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    );

    #[test]
    fn signatures_follow_the_standard_webhooks_specification() {
        let (secret, id, at, body, signature) = VECTOR;
        let secret = Secret::parse(&secret.into()).unwrap();
        assert_eq!(secret.sign(id, at, body.as_bytes()), signature);
        let (at, body) = (at.to_string(), body.as_bytes());
        assert!(secret.signed(id, &at, body, signature));
        assert!(secret.signed(id, &at, body, &format!("v1a,x v1,AAAA {signature}")), "one of several");
        for (id, at, body, header) in [
            ("msg_other", &*at, body, signature),
            (id, "1614265331", body, signature),
            (id, &*at, &body[1..], signature),
            (id, &*at, body, ""),
            (id, &*at, body, "v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
            (id, &*at, body, "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
        ] {
            assert!(!secret.signed(id, at, body, header), "{id} {at} {header}");
        }
    }

    /// A sender without a secret costs no more than one hash of the body.
    #[test]
    fn verification_checks_only_the_first_signatures_of_a_header() {
        let (secret, id, at, body, signature) = VECTOR;
        let secret = Secret::parse(&secret.into()).unwrap();
        let behind = |others: usize| format!("{}{signature}", "v1, ".repeat(others));
        let at = at.to_string();
        assert!(secret.signed(id, &at, body.as_bytes(), &behind(MOST - 1)));
        assert!(!secret.signed(id, &at, body.as_bytes(), &behind(MOST)));
    }

    #[test]
    fn an_invalid_secret_is_rejected_and_not_repeated_in_the_error() {
        for bad in ["", "whsec_", "whsec_c2hvcnQ=", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_no base64!"] {
            let Err(why) = Secret::parse(&bad.into()) else { panic!("{bad} is refused") };
            assert!(why.contains("openssl rand") && (bad.len() < 7 || !why.contains(bad)), "{why}");
        }
    }

    #[test]
    fn a_timestamp_off_by_more_than_five_minutes_is_rejected() {
        let now = Time::from_micros(1_767_225_600_000_000);
        for near in ["1767225600", "1767225300", "1767225900"] {
            checked_time(near, now).unwrap();
        }
        for far in ["1767225299", "1767225901", "0", "9223372036854775807"] {
            assert!(checked_time(far, now).unwrap_err().contains("2026-01-01T00:00:00"), "{far}");
        }
        assert!(checked_time("now", now).unwrap_err().contains("seconds since"));
    }
}
