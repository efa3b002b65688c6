//! When a failed delivery is retried, and when it is given up. All numbers of this policy are here.

use std::time::Duration;

use entourage_types::{Backoff, Delivery, DeliveryId};

/// Between attempts.
const FAILING: Backoff = Backoff::new(Duration::from_secs(5), LONGEST);
const LONGEST: Duration = Duration::from_secs(60 * 60);
/// So many attempts take a day, and longer if a receiver asks for longer delays.
const ATTEMPTS: u32 = 33;

/// How long to wait after another failure of this delivery; none if it is given up.
pub(super) fn next(delivery: &Delivery, retry_after: Option<Duration>) -> Option<Duration> {
    let failures = delivery.attempts.saturating_sub(delivery.attempts_before) + 1;
    if failures >= ATTEMPTS {
        return None;
    }
    let own = FAILING.after(failures);
    let asked = retry_after.map_or(own, |asked| asked.clamp(own, LONGEST.max(own)));
    Some(asked + spread(delivery.id, failures, own))
}

/// Up to a fifth more, so that deliveries that failed together are not retried together.
fn spread(id: DeliveryId, failures: u32, delay: Duration) -> Duration {
    // The last bits of an id are random; each attempt takes other ones.
    let noise = id.uuid().as_u128().rotate_right(failures % 48) as u32 & 0xffff;
    delay / 5 * noise / 0xffff
}

#[cfg(test)]
mod tests {
    use entourage_types::{
        AgentId, CallId, DeliveryStatus, Occasion, OnEnd, Owner, Status, Subject, Task, TaskId, Time,
    };

    use super::*;

    fn delivery(attempts: u32) -> Delivery {
        let at = Time::from_micros(0);
        let task = Task {
            id: TaskId::new(),
            owner: Owner::local(),
            root: AgentId::new(),
            from: AgentId::new(),
            to: AgentId::new(),
            call: CallId::new(),
            on_end: OnEnd::Wake,
            group: None,
            kind: String::new(),
            instruction: String::new(),
            title: String::new(),
            origin: None,
            status: Status::Queued,
            result: None,
            post: None,
            run: None,
            reactivated: 0,
            created: at,
            updated: at,
        };
        Delivery {
            id: DeliveryId::new(),
            owner: Owner::local(),
            receiver: "r".into(),
            occasion: Occasion::TaskCreated,
            subject: Subject::Task(Box::new(task)),
            status: DeliveryStatus::Pending,
            attempts,
            attempts_before: 0,
            tried: None,
            due: at,
            error: None,
            created: at,
            updated: at,
        }
    }

    #[test]
    fn delays_double_up_to_an_hour_and_end_after_a_day() {
        let delays: Vec<_> = (0..100).map_while(|failed| next(&delivery(failed), None)).collect();
        let within = |nth: usize, seconds: u64| {
            let own = Duration::from_secs(seconds);
            assert!((own..=own * 6 / 5).contains(&delays[nth]), "{nth}: {:?}", delays[nth]);
        };
        within(0, 5);
        within(1, 10);
        within(9, 2560);
        within(10, 3600);
        within(31, 3600);
        let day = Duration::from_secs(24 * 60 * 60);
        let all: Duration = delays.iter().sum();
        assert!((day..day * 6 / 5).contains(&all), "{all:?}");
    }

    #[test]
    fn the_retry_after_of_a_receiver_is_kept_within_bounds() {
        let asked = |seconds| next(&delivery(0), Some(Duration::from_secs(seconds))).unwrap().as_secs();
        assert!((5..=6).contains(&asked(0)));
        assert!((120..=121).contains(&asked(120)));
        assert!((3600..=3601).contains(&asked(1_000_000)));
    }
}
