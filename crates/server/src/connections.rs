//! Connections: how many there may be at once, and which one gives way to the next. One without a
//! request under way costs whoever holds it nothing, so it keeps nobody else out.

use std::{
    collections::BTreeMap,
    net::IpAddr,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use axum::body::{Body, Bytes};
use hyper::body::{Frame, SizeHint};
use tokio_util::sync::CancellationToken;

/// Connections that are served at once unless the settings say, where files are plenty.
const USUAL: usize = 10_000;

/// The connections that are open.
pub(crate) struct Connections {
    most: usize,
    /// How many of them one address may have.
    share: usize,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    next: u64,
    /// In the order in which they were opened.
    by_age: BTreeMap<u64, Seat>,
}

struct Seat {
    address: IpAddr,
    /// How many requests are under way.
    requests: Arc<AtomicUsize>,
    /// Cancelled once it shall end.
    gives_way: CancellationToken,
}

impl Connections {
    /// At most `most` at once, or as many as the system's limit of open files leaves room for.
    pub(crate) fn new(most: Option<usize>) -> Arc<Self> {
        let most = most.unwrap_or(USUAL).min(room()).max(1);
        // Those behind one proxy have one address; whoever else comes still gets in.
        let share = (most - most / 4).max(1);
        Arc::new(Self { most, share, open: Mutex::default() })
    }

    /// Takes a connection in; one without a request gives way to it where there are too many. None
    /// where all have requests under way.
    pub(crate) fn enter(self: &Arc<Self>, address: IpAddr) -> Option<Entered> {
        let mut open = self.open();
        let of_address = open.by_age.values().filter(|seat| seat.address == address).count();
        let is_in_the_way = |seat: &Seat| of_address < self.share || seat.address == address;
        if of_address >= self.share || open.by_age.len() >= self.most {
            let mut idle = open.by_age.iter().filter(|(_, seat)| is_in_the_way(seat) && seat.is_idle());
            let oldest = *idle.next()?.0;
            if let Some(seat) = open.by_age.remove(&oldest) {
                seat.gives_way.cancel();
            }
        }
        let id = open.next;
        open.next += 1;
        let (requests, gives_way) = (Arc::<AtomicUsize>::default(), CancellationToken::new());
        let seat = Seat { address, requests: Arc::clone(&requests), gives_way: gives_way.clone() };
        open.by_age.insert(id, seat);
        Some(Entered { id, connections: Arc::clone(self), requests, gives_way })
    }

    /// Ends all of them.
    pub(crate) fn end_all(&self) {
        for seat in std::mem::take(&mut self.open().by_age).into_values() {
            seat.gives_way.cancel();
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    fn is_idle(&self) -> bool {
        self.requests.load(Ordering::Acquire) == 0
    }
}

/// As many connections as the system's limit of open files has room for, beside the house's own
/// files, programs and connections to models.
fn room() -> usize {
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    files.map_or(USUAL, |files| usize::try_from(files / 2).unwrap_or(USUAL))
}

/// A connection that was taken in; dropping it makes room for another.
pub(crate) struct Entered {
    id: u64,
    connections: Arc<Connections>,
    requests: Arc<AtomicUsize>,
    gives_way: CancellationToken,
}

impl Entered {
    /// Begins a request, which is under way until the last of its answer was taken.
    pub(crate) fn request(&self) -> UnderWay {
        self.requests.fetch_add(1, Ordering::AcqRel);
        UnderWay(Arc::clone(&self.requests))
    }

    /// Ready once it gives way to another.
    pub(crate) async fn gives_way(&self) {
        self.gives_way.cancelled().await;
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.connections.open().by_age.remove(&self.id);
    }
}

/// A request under way.
pub(crate) struct UnderWay(Arc<AtomicUsize>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The body of an answer, and its request, which is under way until then.
pub(crate) struct Answering {
    body: Body,
    _request: UnderWay,
}

impl Answering {
    pub(crate) fn new(body: Body, request: UnderWay) -> Self {
        Self { body, _request: request }
    }
}

impl hyper::body::Body for Answering {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const THERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    #[test]
    fn the_oldest_without_a_request_gives_way() {
        let connections = Connections::new(Some(4));
        let at_work = connections.enter(THERE).unwrap();
        let _request = at_work.request();
        let idle: Vec<Entered> = (0..3).map(|_| connections.enter(HERE).unwrap()).collect();
        let _next = connections.enter(HERE).unwrap();
        let gave_way: Vec<bool> = idle.iter().map(|idle| idle.gives_way.is_cancelled()).collect();
        assert_eq!((at_work.gives_way.is_cancelled(), gave_way), (false, vec![true, false, false]));
    }

    #[test]
    fn one_address_never_has_every_connection() {
        let connections = Connections::new(Some(4));
        let greedy: Vec<Entered> = (0..3).map(|_| connections.enter(HERE).unwrap()).collect();
        let requests: Vec<UnderWay> = greedy.iter().map(Entered::request).collect();
        assert!(connections.enter(HERE).is_none(), "three of four are its share");
        let other = connections.enter(THERE).unwrap();
        drop(requests);
        let _more = connections.enter(HERE).unwrap();
        assert!(greedy[0].gives_way.is_cancelled() && !other.gives_way.is_cancelled(), "its own gives way");
    }

    #[test]
    fn what_has_ended_makes_room() {
        let connections = Connections::new(Some(1));
        let first = connections.enter(HERE).unwrap();
        let request = first.request();
        assert!(connections.enter(HERE).is_none());
        drop((first, request));
        assert!(connections.enter(HERE).is_some());
    }
}
