//! A receiver of webhooks, without its secret and its address.

use entourage_api::{FailedAttempt, Receiver};
use entourage_engine::ReceiverRecord;

pub(crate) fn receiver(record: ReceiverRecord) -> Receiver {
    let ReceiverRecord { name, events, pending, given_up, last_failure, next_attempt } = record;
    let last_failure = last_failure.map(failed_attempt);
    Receiver { name, events, pending, given_up, last_failure, next_attempt }
}

fn failed_attempt(failed: entourage_engine::FailedAttempt) -> FailedAttempt {
    let entourage_engine::FailedAttempt { delivery, attempts, at, error } = failed;
    FailedAttempt { delivery, attempts, at, error }
}
