//! Connections: how many may be open at once, and which one is closed to make room for the next. Closing a
//! connection without a request under way costs its client nothing, so such a connection keeps no other
//! client out.
//!
//! A connection counts against the address that it comes from until a request on it has a token, and against
//! the token's owner from then on: behind a proxy, all connections have one address. Beyond the limit a few
//! more are accepted, on which probes are answered and other requests are refused with the reason.
//!
//! The responses that an owner's clients have not read yet hold a limited amount of memory.

use std::{
    collections::{BTreeMap, HashMap},
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use entourage_types::Owner;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::{Problem, active_request::ActiveRequest};

/// The default limit of connections, where the system's limit of open files is high enough.
const USUAL: usize = 10_000;
/// How many more connections are accepted, to refuse the requests on them with the reason.
const EXTRA: usize = 32;
/// How many bytes of one owner's responses, streams aside, may wait for clients to read them. A longer
/// response may wait only alone.
pub(crate) const UNTAKEN: u64 = 32 << 20;

/// The limits of connections, requests and streams.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// The most connections.
    most: usize,
}

impl Limits {
    /// Allows `most` connections, but no more than the system's limit of open files leaves room for.
    pub(crate) fn new(most: Option<usize>) -> Self {
        Self { most: most.unwrap_or(USUAL).min(room()).max(1) }
    }

    /// How many connections without a token one address may have, how many requests of one owner may be under
    /// way, and how many streams may be open in total. The rest is for others.
    pub(crate) fn share(self) -> usize {
        (self.most - self.most / 4).max(1)
    }

    /// The most streams that one owner may have open.
    pub(crate) fn half(self) -> usize {
        (self.most / 2).max(1)
    }
}

/// How many connections the system's limit of open files leaves room for: half of it, besides the server's
/// own files, programs and connections to models.
fn room() -> usize {
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    files.map_or(USUAL, |files| usize::try_from(files / 2).unwrap_or(USUAL))
}

/// The connections that are open.
pub(crate) struct Connections {
    limits: Limits,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    next: u64,
    /// In the order in which they were opened.
    by_age: BTreeMap<u64, Slot>,
    /// The requests under way of each owner that has any.
    of: HashMap<Owner, Of>,
}

/// The requests under way of one owner.
#[derive(Default)]
struct Of {
    requests: usize,
    /// How many bytes of their responses the clients have not read yet.
    untaken: u64,
}

struct Slot {
    address: IpAddr,
    standing: CountedFor,
    /// How many requests are under way.
    requests: usize,
    /// Cancelled to close the connection.
    gives_way: CancellationToken,
}

/// What a connection counts against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CountedFor {
    /// Nothing: it is beyond the limit.
    Extra,
    /// Its address: no request on it has had a token.
    Stranger,
    /// The owner of its requests.
    Known,
}

impl Connections {
    pub(crate) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { limits, open: Mutex::default() })
    }

    /// Registers a connection. At the limit, it closes the oldest connection without a request, or else
    /// registers the new one as beyond the limit.
    pub(crate) fn enter(self: &Arc<Self>, address: IpAddr) -> Entered {
        let mut open = self.open();
        let mut standing = CountedFor::Stranger;
        if !open.has_room_for_stranger(self.limits, address) {
            standing = CountedFor::Extra;
            let is_extra = |seat: &Slot| seat.standing == CountedFor::Extra;
            if open.count(is_extra) >= EXTRA {
                open.dismiss(is_extra);
            }
        }
        let id = open.next;
        open.next += 1;
        let gives_way = CancellationToken::new();
        let seat = Slot { address, standing, requests: 0, gives_way: gives_way.clone() };
        open.by_age.insert(id, seat);
        Entered { id, address, connections: Arc::clone(self), gives_way, upgraded_by: OnceLock::new() }
    }

    /// Counts an owner's request on a connection, or refuses it at a limit.
    pub(crate) fn begin_request(&self, id: u64, owner: &Owner) -> Result<(), Problem> {
        let mut open = self.open();
        let share = self.limits.share();
        let of = open.of.get(owner);
        if of.is_some_and(|of| of.requests >= share) {
            return Err(Problem::too_many_requests(format!(
                "{share} requests of yours are under way, as many as one owner may have; ask again once one \
                 of them is answered"
            )));
        }
        if of.is_some_and(|of| of.untaken >= UNTAKEN) {
            return Err(Problem::too_many_requests(format!(
                "your clients have not read {} MiB of responses, as much as may wait for one owner; read them, and \
                 ask again",
                UNTAKEN >> 20
            )));
        }
        if open.is_extra(id) && !open.has_room(self.limits) {
            return Err(Problem::full());
        }
        if let Some(seat) = open.by_age.get_mut(&id) {
            seat.standing = CountedFor::Known;
        }
        open.of.entry(owner.clone()).or_default().requests += 1;
        Ok(())
    }

    /// Counts a response of `bytes` to an owner's request. At the limit, the response is refused if the
    /// request only read.
    pub(crate) fn book_answer(&self, owner: &Owner, bytes: u64, only_read: bool) -> Result<(), Problem> {
        let mut open = self.open();
        let Some(of) = open.of.get_mut(owner) else { return Ok(()) };
        if only_read && of.untaken > 0 && of.untaken + bytes > UNTAKEN {
            return Err(Problem::too_many_requests(format!(
                "this response has {bytes} bytes, and your clients have not read {} bytes of other responses; together \
                 at most {} MiB may wait: read the others, and ask again",
                of.untaken,
                UNTAKEN >> 20
            )));
        }
        of.untaken += bytes;
        Ok(())
    }

    /// Refuses a request without an owner if its connection is beyond the limit.
    pub(crate) fn is_of_stranger(&self, id: u64) -> Result<(), Problem> {
        if self.open().is_extra(id) { Err(Problem::full()) } else { Ok(()) }
    }

    /// Ends a request, and releases the `bytes` that its response held.
    pub(crate) fn over(&self, id: u64, owner: Option<&Owner>, bytes: u64) {
        let mut open = self.open();
        if let Some(seat) = open.by_age.get_mut(&id) {
            seat.requests -= 1;
        }
        let Some(owner) = owner else { return };
        if let Some(of) = open.of.get_mut(owner) {
            of.requests -= 1;
            of.untaken -= bytes;
            if of.requests == 0 {
                open.of.remove(owner);
            }
        }
    }

    /// Closes all connections.
    pub(crate) fn end_all(&self) {
        for seat in std::mem::take(&mut self.open().by_age).into_values() {
            seat.gives_way.cancel();
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn count(&self, which: impl Fn(&Slot) -> bool) -> usize {
        self.by_age.values().filter(|seat| which(seat)).count()
    }

    fn is_extra(&self, id: u64) -> bool {
        self.by_age.get(&id).is_some_and(|seat| seat.standing == CountedFor::Extra)
    }

    /// Whether there is room for a connection from an address; closes an idle connection to make room.
    fn has_room_for_stranger(&mut self, limits: Limits, address: IpAddr) -> bool {
        let is_like_it = |seat: &Slot| seat.standing == CountedFor::Stranger && seat.address == address;
        if self.count(is_like_it) >= limits.share() {
            return self.dismiss(|seat| is_like_it(seat) && seat.requests == 0);
        }
        self.has_room(limits)
    }

    /// Whether there is room for a connection; closes an idle one to make room.
    fn has_room(&mut self, limits: Limits) -> bool {
        let counts = |seat: &Slot| seat.standing != CountedFor::Extra;
        self.count(counts) < limits.most || self.dismiss(|seat| counts(seat) && seat.requests == 0)
    }

    /// Closes the oldest connection that matches; returns whether there was one.
    fn dismiss(&mut self, which: impl Fn(&Slot) -> bool) -> bool {
        let oldest = self.by_age.iter().find(|(_, seat)| which(seat)).map(|(id, _)| *id);
        let dismissed = oldest.and_then(|id| self.by_age.remove(&id));
        dismissed.map(|seat| seat.gives_way.cancel()).is_some()
    }
}

/// A registered connection; dropping it makes room for another.
pub(crate) struct Entered {
    id: u64,
    address: IpAddr,
    connections: Arc<Connections>,
    gives_way: CancellationToken,
    /// The request that made another protocol's connection of this one.
    upgraded_by: OnceLock<Arc<ActiveRequest>>,
}

impl Entered {
    /// Begins a request, which is under way until the last of its response has been taken.
    pub(crate) fn request(&self) -> Arc<ActiveRequest> {
        let mut open = self.connections.open();
        // There may be room by now.
        let fits =
            open.is_extra(self.id) && open.has_room_for_stranger(self.connections.limits, self.address);
        if let Some(seat) = open.by_age.get_mut(&self.id) {
            seat.requests += 1;
            if fits {
                seat.standing = CountedFor::Stranger;
            }
        }
        ActiveRequest::new(self.id, self.address, &self.connections)
    }

    /// Notes that a request upgrades the connection: it is under way for as long as the connection is open.
    pub(crate) fn upgrade_by(&self, request: Arc<ActiveRequest>) {
        self.upgraded_by.get_or_init(|| request);
    }

    /// Resolves when the connection must close, to make room for another or because the server ends.
    pub(crate) fn must_give_way(&self) -> WaitForCancellationFutureOwned {
        self.gives_way.clone().cancelled_owned()
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.connections.open().by_age.remove(&self.id);
    }
}

#[cfg(test)]
mod tests;
