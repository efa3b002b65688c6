//! Detects servers that hang: each call to one would otherwise take its whole timeout, forever.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::time::{Duration, Instant};

/// A server that has sent nothing for this long since the beginning of a call that was cancelled is sent a
/// ping.
const DOUBTFUL: Duration = Duration::from_secs(30);
/// How long the server has to answer the ping, whether or not the caller that sent it still waits.
pub(super) const PONG: Duration = Duration::from_secs(5);

/// When a server last sent a message.
#[derive(Debug, Clone, Default)]
pub(super) struct LastMessage(Arc<Mutex<Option<Instant>>>);

impl LastMessage {
    /// Records that the server has sent a message.
    pub(super) fn now(&self) {
        *locked(&self.0) = Some(Instant::now());
    }

    /// Whether the server has sent a message since then.
    fn since(&self, then: Instant) -> bool {
        locked(&self.0).is_some_and(|heard| heard >= then)
    }
}

/// The calls of a server, as evidence of whether it hangs.
#[derive(Debug, Default)]
pub(super) struct Calls(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    number: u64,
    under_way: HashMap<u64, Call>,
    /// The first call of a connection that was cancelled before its answer arrived.
    cut_off: Option<Call>,
    /// The first ping of a connection since its last message.
    asked: Option<Call>,
}

/// A call over a connection.
#[derive(Debug, Clone, Copy)]
struct Call {
    connection: u64,
    began: Instant,
}

/// The state of a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ConnectionState {
    /// No reason to doubt it.
    None,
    /// A ping must be sent.
    Ask,
    /// The time for the answer to the ping is over.
    Hangs,
}

impl Calls {
    /// Records that a call over a connection begins.
    pub(super) fn begin(&self, connection: u64) -> UnderWay<'_> {
        let mut state = locked(&self.0);
        state.number += 1;
        let number = state.number;
        state.under_way.insert(number, Call { connection, began: Instant::now() });
        UnderWay { of: self, number, is_over: false }
    }

    /// Returns the state of the connection with this number. A server that may do one thing at a time, and is
    /// executing a call from before the cancelled one, is left alone.
    pub(super) fn doubt(&self, connection: u64, heard: &LastMessage) -> ConnectionState {
        let mut state = locked(&self.0);
        let is_past = |call: &mut Call| call.connection != connection || heard.since(call.began);
        state.cut_off.take_if(is_past);
        state.asked.take_if(is_past);
        let Some(first) = state.cut_off.filter(|first| first.began.elapsed() >= DOUBTFUL) else {
            return ConnectionState::None;
        };
        let came_before = |call: &Call| call.connection == connection && call.began < first.began;
        if state.under_way.values().any(came_before) {
            return ConnectionState::None;
        }
        let asked = state.asked.get_or_insert(Call { connection, began: Instant::now() });
        if asked.began.elapsed() >= PONG { ConnectionState::Hangs } else { ConnectionState::Ask }
    }
}

/// A call in progress; dropped before it is over, it was cancelled.
pub(super) struct UnderWay<'c> {
    of: &'c Calls,
    number: u64,
    is_over: bool,
}

impl UnderWay<'_> {
    /// Records that the call ended and was not cancelled.
    pub(super) fn end(mut self) {
        self.is_over = true;
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut state = locked(&self.of.0);
        let Some(call) = state.under_way.remove(&self.number) else { return };
        if !self.is_over && state.cut_off.is_none_or(|first| first.connection != call.connection) {
            state.cut_off = Some(call);
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_silent_server_is_pinged_after_a_cancelled_call_and_then_given_up() {
        let (calls, heard) = (Calls::default(), LastMessage::default());
        drop(calls.begin(1));
        assert_eq!(calls.doubt(1, &heard), ConnectionState::None, "not at once");
        tokio::time::advance(DOUBTFUL).await;
        assert_eq!(calls.doubt(2, &heard), ConnectionState::None, "a new connection");
        drop(calls.begin(2));
        tokio::time::advance(DOUBTFUL).await;
        assert_eq!(calls.doubt(2, &heard), ConnectionState::Ask);
        // A caller may have less time than the server has for its answer: the next caller counts from the
        // first ping.
        tokio::time::advance(PONG / 2).await;
        assert_eq!(calls.doubt(2, &heard), ConnectionState::Ask);
        tokio::time::advance(PONG / 2).await;
        assert_eq!(calls.doubt(2, &heard), ConnectionState::Hangs);
        heard.now();
        assert_eq!(calls.doubt(2, &heard), ConnectionState::None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_with_an_earlier_call_in_progress_is_not_pinged() {
        let (calls, heard) = (Calls::default(), LastMessage::default());
        let long = calls.begin(1);
        tokio::time::advance(Duration::from_secs(1)).await;
        drop(calls.begin(1));
        tokio::time::advance(DOUBTFUL).await;
        assert_eq!(calls.doubt(1, &heard), ConnectionState::None);
        long.end();
        assert_eq!(calls.doubt(1, &heard), ConnectionState::Ask);
    }
}
