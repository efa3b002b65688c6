//! Whether a server still answers at all: one that hangs would take each call its whole time, for ever.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::time::{Duration, Instant};

/// A server that has sent nothing for so long since a call began that was cut off is asked whether it is there.
const DOUBTFUL: Duration = Duration::from_secs(30);
/// How long it has to say so, whether or not whoever asked still waits.
pub(super) const PONG: Duration = Duration::from_secs(5);

/// When a server was last heard of.
#[derive(Debug, Clone, Default)]
pub(super) struct Heard(Arc<Mutex<Option<Instant>>>);

impl Heard {
    /// It has sent something.
    pub(super) fn now(&self) {
        *locked(&self.0) = Some(Instant::now());
    }

    /// Whether it has sent anything since.
    fn since(&self, then: Instant) -> bool {
        locked(&self.0).is_some_and(|heard| heard >= then)
    }
}

/// The calls of a server, and what they say of whether it hangs.
#[derive(Debug, Default)]
pub(super) struct Calls(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    number: u64,
    under_way: HashMap<u64, Call>,
    /// The first one of a connection that was cut off before its answer came.
    cut_off: Option<Call>,
    /// Which connection was asked whether it is there, and when first, since it was heard of last.
    asked: Option<Call>,
}

/// A call over a connection.
#[derive(Debug, Clone, Copy)]
struct Call {
    connection: u64,
    began: Instant,
}

/// What is known of a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    /// Nothing against it.
    None,
    /// It is to be asked whether it is there.
    Ask,
    /// It was asked, and has had its time.
    Hangs,
}

impl Calls {
    /// A call over a connection begins.
    pub(super) fn begin(&self, connection: u64) -> UnderWay<'_> {
        let mut state = locked(&self.0);
        state.number += 1;
        let number = state.number;
        state.under_way.insert(number, Call { connection, began: Instant::now() });
        UnderWay { of: self, number, is_over: false }
    }

    /// What is to be thought of the connection with this number. One that may do one thing at a time, and is at a
    /// call that came before the one that was cut off, is left at its work.
    pub(super) fn doubt(&self, connection: u64, heard: &Heard) -> Doubt {
        let mut state = locked(&self.0);
        let is_past = |call: &mut Call| call.connection != connection || heard.since(call.began);
        state.cut_off.take_if(is_past);
        state.asked.take_if(is_past);
        let Some(first) = state.cut_off.filter(|first| first.began.elapsed() >= DOUBTFUL) else {
            return Doubt::None;
        };
        let came_before = |call: &Call| call.connection == connection && call.began < first.began;
        if state.under_way.values().any(came_before) {
            return Doubt::None;
        }
        let asked = state.asked.get_or_insert(Call { connection, began: Instant::now() });
        if asked.began.elapsed() >= PONG { Doubt::Hangs } else { Doubt::Ask }
    }
}

/// A call under way; dropped before it is over, it was cut off.
pub(super) struct UnderWay<'c> {
    of: &'c Calls,
    number: u64,
    is_over: bool,
}

impl UnderWay<'_> {
    /// It has ended by itself.
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
    async fn a_server_is_asked_once_a_call_was_cut_off_and_given_up_once_it_had_its_time() {
        let (calls, heard) = (Calls::default(), Heard::default());
        drop(calls.begin(1));
        assert_eq!(calls.doubt(1, &heard), Doubt::None, "not at once");
        tokio::time::advance(DOUBTFUL).await;
        assert_eq!(calls.doubt(2, &heard), Doubt::None, "a new connection");
        drop(calls.begin(2));
        tokio::time::advance(DOUBTFUL).await;
        assert_eq!(calls.doubt(2, &heard), Doubt::Ask);
        // Whoever asks may have less time than the server has: whoever comes next counts from the first.
        tokio::time::advance(PONG / 2).await;
        assert_eq!(calls.doubt(2, &heard), Doubt::Ask);
        tokio::time::advance(PONG / 2).await;
        assert_eq!(calls.doubt(2, &heard), Doubt::Hangs);
        heard.now();
        assert_eq!(calls.doubt(2, &heard), Doubt::None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_is_at_an_earlier_call_is_left_at_it() {
        let (calls, heard) = (Calls::default(), Heard::default());
        let long = calls.begin(1);
        tokio::time::advance(Duration::from_secs(1)).await;
        drop(calls.begin(1));
        tokio::time::advance(DOUBTFUL).await;
        assert_eq!(calls.doubt(1, &heard), Doubt::None);
        long.end();
        assert_eq!(calls.doubt(1, &heard), Doubt::Ask);
    }
}
