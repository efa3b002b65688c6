//! Stops activations that make no progress. One that neither commits nor streams for longer than its steps
//! may take is stopped and continues from its last commit; none lasts forever.

use std::{
    pin::pin,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use entourage_types::{AgentId, Limits, StopReason};

use crate::{Clock, Engine, Error, Interrupt, Result, Tick};

/// The time for reading, committing and handing over, beside the time that a step may take.
const SLACK: Duration = Duration::from_secs(60);
/// The ages at which the log reports a slow activation.
const SLOW: [Duration; 2] = [Duration::from_secs(120), Duration::from_secs(600)];

/// The signs of life of one activation.
pub(crate) struct Heartbeat {
    /// When it last beat, in microseconds.
    last: AtomicU64,
    /// For how many microseconds it had been at work by then. Time in which the machine sleeps is not time at
    /// work.
    worked: AtomicU64,
    /// For how many seconds it may be silent.
    patience: AtomicU64,
}

/// Why an activation is stopped.
pub(crate) enum Overdue {
    /// It gave no sign of life for this long.
    Silent(Duration),
    /// It lasted too long.
    Endless,
}

impl Heartbeat {
    pub(crate) fn new(now: Tick) -> Self {
        let (last, worked) = (AtomicU64::new(now.micros()), AtomicU64::new(0));
        Self { last, worked, patience: AtomicU64::new(SLACK.as_secs()) }
    }

    /// Records a sign of life.
    pub(crate) fn beat(&self, now: Tick) {
        let worked = u64::try_from(self.age(now).as_micros()).unwrap_or(u64::MAX);
        self.worked.store(worked, Ordering::Relaxed);
        self.last.store(now.micros(), Ordering::Relaxed);
    }

    /// Returns for how long it has been at work.
    fn age(&self, now: Tick) -> Duration {
        let worked = Duration::from_micros(self.worked.load(Ordering::Relaxed));
        worked + now.since(self.last()).min(self.patience())
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(self.patience.load(Ordering::Relaxed))
    }

    /// Sets how long it may be silent: its steps have these limits from here on.
    pub(crate) fn may_be_silent_for(&self, limits: &Limits) {
        let longest = limits.model_seconds.max(limits.tool_seconds);
        self.patience.store(longest.saturating_add(SLACK.as_secs()), Ordering::Relaxed);
    }

    /// Records a sign of life after a time that was no time at work.
    fn rest(&self, now: Tick) {
        self.last.store(now.micros(), Ordering::Relaxed);
    }

    /// Waits for something outside that ends by itself, and beats meanwhile: the activation is not stuck.
    pub(crate) async fn beating<T>(&self, clock: &dyn Clock, until: impl Future<Output = T>) -> T {
        self.alive(clock, until, Self::beat).await
    }

    /// The same, for a place that others have: waiting for it is no time at work.
    pub(crate) async fn resting<T>(&self, clock: &dyn Clock, until: impl Future<Output = T>) -> T {
        self.beat(clock.tick());
        let done = self.alive(clock, until, Self::rest).await;
        self.rest(clock.tick());
        done
    }

    async fn alive<T>(&self, clock: &dyn Clock, until: impl Future<Output = T>, sign: fn(&Self, Tick)) -> T {
        let mut until = pin!(until);
        loop {
            tokio::select! {
                biased;
                done = &mut until => return done,
                () = clock.sleep(SLACK / 2) => sign(self, clock.tick()),
            }
        }
    }

    /// Returns once it has given no sign of life for `span`.
    pub(crate) async fn silence(&self, clock: &dyn Clock, span: Duration) {
        loop {
            let silent = clock.tick().since(self.last());
            if silent >= span {
                return;
            }
            clock.sleep(span.saturating_sub(silent)).await;
        }
    }

    fn last(&self) -> Tick {
        Tick::from_micros(self.last.load(Ordering::Relaxed))
    }
}

impl Engine {
    /// Returns once an activation must be stopped; logs a warning when it is slow.
    pub(crate) async fn overdue(&self, agent: AgentId, pulse: &Heartbeat) -> Overdue {
        let clock = self.clock();
        // No activation lasts longer, whatever its kind says.
        let longest = self.inner.health.longest_activation();
        let mut slow = SLOW.into_iter().peekable();
        loop {
            let now = clock.tick();
            let patience = pulse.patience();
            let (silence, age) = (now.since(pulse.last()), pulse.age(now));
            if silence >= patience {
                return Overdue::Silent(silence);
            }
            if age >= longest {
                return Overdue::Endless;
            }
            if slow.next_if(|slow| age >= *slow).is_some() {
                tracing::warn!(%agent, seconds = age.as_secs(), "an activation has been running for long");
                continue;
            }
            let next = slow.peek().copied().unwrap_or(longest).min(longest).saturating_sub(age);
            clock.sleep(next.min(patience.saturating_sub(silence))).await;
        }
    }

    /// Fails for a silent activation, which is retried like any that failed; ends the run of one that would
    /// never end.
    pub(crate) async fn stop_overdue(&self, agent: AgentId, why: Overdue) -> Result<()> {
        match why {
            Overdue::Silent(silence) => Err(Error::Stuck { agent, seconds: silence.as_secs() }),
            Overdue::Endless => {
                let minutes = self.inner.health.longest_activation().as_secs() / 60;
                let cause = format!("it worked {minutes} minutes without a pause, which is the limit");
                self.end(agent, Interrupt::stopped(StopReason::MaxTime, cause)).await?;
                self.inner.health.cut(agent, self.now());
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_in_which_the_machine_slept_does_not_count_as_work() {
        let (began, minute) = (Tick::from_micros(0), Duration::from_secs(60));
        let pulse = Heartbeat::new(began);
        pulse.may_be_silent_for(&Limits { model_seconds: 60, tool_seconds: 60, ..Limits::default() });
        pulse.beat(began + minute);
        assert_eq!(pulse.age(began + minute), minute);
        let morning = began + minute * 600;
        assert_eq!(pulse.age(morning), minute * 3, "as much of it as it may be silent");
        pulse.beat(morning);
        assert_eq!(pulse.age(morning + minute), minute * 4);
    }
}
