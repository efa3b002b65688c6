//! The bodies of requests: each arrives in time and within its limit, and all that are held at once take a
//! bounded amount of memory.
//!
//! A body counts against the owner of its request, or against the address of a request without a token, from
//! its first byte until the request is answered. A large body beyond a share is refused. A small one takes the
//! place of the oldest body that is still arriving, so that bodies that never end keep no small request out.

use std::{
    collections::{BTreeMap, HashMap},
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{
    BoxError,
    body::{Body, Bytes, HttpBody as _},
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use entourage_types::Owner;
use futures::{StreamExt as _, stream};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::{Problem, active_request::ActiveRequest, auth::Identity};

/// How many bytes of bodies are held for one owner, or for one address without a token, unless the limit of
/// one body is above half of it. The last quarter is for small bodies.
const SHARE: usize = 32 << 20;
/// How many shares are held in total: with the default limit of a body 96 MiB, so that an attack from many
/// addresses leaves the process below 300 MB. Here, too, the last quarter is for small bodies.
const SHARES: usize = 3;
/// The most bytes of a small body.
const SMALL: usize = 64 << 10;

/// The bodies that are held, and their limits.
pub(crate) struct Bodies {
    /// The most bytes of one body.
    limit: usize,
    /// How long a body may take to arrive.
    timeout: Duration,
    /// The most bytes of the bodies of one holder.
    share: usize,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    next: u64,
    /// In the order in which their requests began.
    by_age: BTreeMap<u64, Slot>,
    /// How many bytes are held for each holder that has any.
    of: HashMap<Holder, usize>,
    total: usize,
}

struct Slot {
    holder: Holder,
    bytes: usize,
    /// Whether a part of the body has yet to arrive.
    is_arriving: bool,
    /// Cancelled to refuse the body, and to make room for others.
    gives_way: CancellationToken,
}

/// What a body counts against.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Holder {
    Owner(Owner),
    /// The address of a request without a token; none if another program serves the router.
    Address(Option<IpAddr>),
}

impl Holder {
    fn of(request: &Request) -> Self {
        if let Some(identity) = request.extensions().get::<Identity>() {
            return Self::Owner(identity.owner.clone());
        }
        Self::Address(request.extensions().get::<Arc<ActiveRequest>>().map(|visit| visit.address))
    }
}

/// Why a body was not read to its end.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.document.detail)]
pub(crate) struct Unread(pub(crate) Problem);

/// Middleware: refuses a body that is announced as too large, and reads any other in time and within the
/// limits, once its handler asks for it.
pub(crate) async fn bounded(
    State(bodies): State<Arc<Bodies>>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if request.body().is_end_stream() {
        return Ok(next.run(request).await);
    }
    if request.body().size_hint().lower() > bodies.limit as u64 {
        return Err(bodies.too_large());
    }
    let until = Instant::now() + bodies.timeout;
    // Both the body and this hold it: it counts until the request is answered.
    let counted = bodies.begin(Holder::of(&request));
    let of_body = Arc::clone(&counted);
    let request = request.map(|body| Body::from_stream(stream::once(of_body.read(body, until))));
    let response = next.run(request).await;
    drop(counted);
    Ok(response)
}

impl Bodies {
    pub(crate) fn new(limit: usize, timeout: Duration) -> Arc<Self> {
        let share = SHARE.max(limit.saturating_mul(2));
        Arc::new(Self { limit, timeout, share, held: Mutex::default() })
    }

    /// Registers a body of which nothing is held yet.
    fn begin(self: &Arc<Self>, holder: Holder) -> Arc<Counted> {
        let mut held = self.held();
        let id = held.next;
        held.next += 1;
        let gives_way = CancellationToken::new();
        let slot = Slot { holder, bytes: 0, is_arriving: true, gives_way: gives_way.clone() };
        held.by_age.insert(id, slot);
        Arc::new(Counted { id, bodies: Arc::clone(self), gives_way })
    }

    fn too_large(&self) -> Problem {
        Problem::too_large(format!(
            "send at most {} bytes; long material belongs into a file that the agent can read",
            self.limit
        ))
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    /// Removes the oldest body that is still arriving and matches, except the one that needs the room; returns
    /// whether there was one.
    fn dismiss(&mut self, except: u64, which: impl Fn(&Slot) -> bool) -> bool {
        let gives_way =
            |id: u64, slot: &Slot| id != except && slot.is_arriving && slot.bytes > 0 && which(slot);
        let oldest = self.by_age.iter().find(|(id, slot)| gives_way(**id, slot)).map(|(id, _)| *id);
        oldest.map(|id| self.remove(id)).is_some()
    }

    /// Releases the bytes of a body, unless it was removed before.
    fn remove(&mut self, id: u64) {
        let Some(slot) = self.by_age.remove(&id) else { return };
        slot.gives_way.cancel();
        self.total -= slot.bytes;
        if let Some(bytes) = self.of.get_mut(&slot.holder) {
            *bytes -= slot.bytes;
            if *bytes == 0 {
                self.of.remove(&slot.holder);
            }
        }
    }
}

/// A body that counts until this is dropped.
struct Counted {
    id: u64,
    bodies: Arc<Bodies>,
    gives_way: CancellationToken,
}

impl Counted {
    /// Reads a body into memory that is counted before it is used. The pieces are copied: each could keep a much
    /// larger buffer of the connection.
    async fn read(self: Arc<Self>, body: Body, until: Instant) -> Result<Bytes, BoxError> {
        let limit = self.bodies.limit;
        let announced = body.size_hint().upper().and_then(|upper| usize::try_from(upper).ok());
        let most = announced.unwrap_or(limit).min(limit);
        let (mut pieces, mut whole) = (body.into_data_stream(), Vec::new());
        loop {
            let piece = tokio::select! {
                piece = timeout_at(until, pieces.next()) => piece.map_err(|_| too_slow())?,
                () = self.gives_way.cancelled() => return Err(gave_way().into()),
            };
            let Some(piece) = piece.transpose()? else { break };
            let length = whole.len() + piece.len();
            if length > limit {
                return Err(Unread(self.bodies.too_large()).into());
            }
            if length > whole.capacity() {
                let room = if length <= SMALL { most.min(SMALL) } else { most };
                let capacity = (2 * whole.capacity()).min(room).max(length);
                self.grow(capacity)?;
                whole.reserve_exact(capacity - whole.len());
            }
            whole.extend_from_slice(&piece);
        }
        if let Some(slot) = self.bodies.held().by_age.get_mut(&self.id) {
            slot.is_arriving = false;
        }
        Ok(Bytes::from(whole))
    }

    /// Counts the body with so many bytes, or refuses it.
    fn grow(&self, bytes: usize) -> Result<(), Unread> {
        let (mut held, share) = (self.bodies.held(), self.bodies.share);
        let is_small = bytes <= SMALL;
        let part_of = |all: usize| if is_small { all } else { all - all / 4 };
        let Some(slot) = held.by_age.get(&self.id) else { return Err(gave_way()) };
        let (holder, more) = (slot.holder.clone(), bytes - slot.bytes);
        while held.of.get(&holder).unwrap_or(&0) + more > part_of(share) {
            if !is_small || !held.dismiss(self.id, |slot| slot.holder == holder) {
                return Err(Unread(over_share(&holder, share)));
            }
        }
        while held.total + more > part_of(share.saturating_mul(SHARES)) {
            if !is_small || !held.dismiss(self.id, |_| true) {
                return Err(Unread(Problem::busy(
                    "the bodies of requests under way hold as much memory as this server has for them; ask again",
                )));
            }
        }
        held.total += more;
        if let Some(slot) = held.by_age.get_mut(&self.id) {
            slot.bytes = bytes;
        }
        *held.of.entry(holder).or_default() += more;
        Ok(())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.bodies.held().remove(self.id);
    }
}

fn too_slow() -> Unread {
    Unread(Problem::too_slow("send the whole body at once, or have `server.body_timeout` raised"))
}

fn gave_way() -> Unread {
    Unread(Problem::too_many_requests(
        "this body was still arriving when a request of yours, or of another client, needed the memory that it held; \
         send it again, with fewer at once",
    ))
}

fn over_share(holder: &Holder, share: usize) -> Problem {
    let whose = match holder {
        Holder::Owner(_) => "your requests under way",
        Holder::Address(_) => "requests without a token from your address",
    };
    Problem::too_many_requests(format!(
        "the bodies of {whose} hold as much memory as they may, {} MiB, or a quarter less for bodies of more than {} \
         KiB; ask again once others are answered",
        share >> 20,
        SMALL >> 10
    ))
}

#[cfg(test)]
mod tests {
    use axum::{Router, middleware::from_fn_with_state, routing::post};
    use futures::{FutureExt as _, channel::mpsc};
    use tower::ServiceExt as _;

    use super::*;

    const LIMIT: usize = 2 << 20;

    fn bodies() -> Arc<Bodies> {
        Bodies::new(LIMIT, Duration::from_secs(60))
    }

    fn owner(name: &str) -> Holder {
        Holder::Owner(Owner::new(name))
    }

    /// Holds so many bytes of a body that is still arriving; the status if it is refused.
    fn hold(bodies: &Arc<Bodies>, holder: &Holder, bytes: usize) -> Result<Arc<Counted>, u16> {
        let counted = bodies.begin(holder.clone());
        match counted.grow(bytes) {
            Ok(()) => Ok(counted),
            Err(Unread(problem)) => Err(problem.document.status),
        }
    }

    /// Holds as many of the largest bodies as are accepted; returns also the status of the first that is not.
    fn fill(bodies: &Arc<Bodies>, holder: &Holder) -> (Vec<Arc<Counted>>, u16) {
        let mut all = Vec::new();
        loop {
            match hold(bodies, holder, LIMIT) {
                Ok(counted) => all.push(counted),
                Err(status) => return (all, status),
            }
        }
    }

    #[test]
    fn large_bodies_of_one_holder_leave_room_for_small_ones_and_for_others() {
        let (bodies, stranger) = (bodies(), Holder::Address(Some([192, 0, 2, 1].into())));
        for holder in [owner("ann"), stranger] {
            let (large, status) = fill(&bodies, &holder);
            assert_eq!((large.len(), status), (12, 429));
            let small = hold(&bodies, &holder, SMALL).unwrap();
            assert!(!large.iter().any(|body| body.gives_way.is_cancelled()));
            hold(&bodies, &owner("bob"), LIMIT).unwrap();
            // A small one that becomes large is no small one.
            small.grow(SMALL + 1).unwrap_err();
        }
        let held = bodies.held();
        assert_eq!((held.total, held.of.len(), held.by_age.len()), (0, 0, 0));
    }

    #[test]
    fn a_small_body_displaces_the_oldest_that_is_still_arriving() {
        let (bodies, ann) = (bodies(), owner("ann"));
        let other = hold(&bodies, &owner("bob"), SMALL).unwrap();
        let whole = hold(&bodies, &ann, SMALL).unwrap();
        bodies.held().by_age.get_mut(&whole.id).unwrap().is_arriving = false;
        let half: Vec<_> = (1..SHARE / SMALL).map(|_| hold(&bodies, &ann, SMALL).unwrap()).collect();
        let ended = || half.iter().filter(|body| body.gives_way.is_cancelled()).count();
        assert_eq!(ended(), 0);
        let next = hold(&bodies, &ann, 1).unwrap();
        assert!(half[0].gives_way.is_cancelled() && ended() == 1, "the oldest gives way");
        assert!(half[0].grow(SMALL).is_err(), "and cannot go on");
        assert!(![&other, &whole, &next].iter().any(|body| body.gives_way.is_cancelled()));
        assert_eq!(bodies.held().of[&ann], SHARE - SMALL + 1);
    }

    #[test]
    fn all_holders_together_hold_a_bounded_number_of_bytes() {
        let bodies = bodies();
        let all: Vec<_> = (0..6).map(|number| fill(&bodies, &owner(&number.to_string()))).collect();
        assert_eq!(all.iter().map(|(_, status)| *status).collect::<Vec<_>>(), [429, 429, 429, 503, 503, 503]);
        assert_eq!(bodies.held().total, SHARES * (SHARE - SHARE / 4));
        let late = owner("late");
        let small: Vec<_> = (0..SHARE / SMALL).map(|_| hold(&bodies, &late, SMALL).unwrap()).collect();
        assert!(bodies.held().total <= SHARES * SHARE);
        drop((all, small));
        assert_eq!(bodies.held().total, 0);
    }

    #[tokio::test]
    async fn a_body_counts_from_its_first_byte_until_its_request_is_answered() {
        let bodies = bodies();
        let routes = Router::new()
            .route("/", post(async |body: Bytes| body.len().to_string()))
            .layer(from_fn_with_state(Arc::clone(&bodies), bounded));
        let (mut send, pieces) = mpsc::unbounded::<Result<Vec<u8>, BoxError>>();
        let request = Request::post("/").body(Body::from_stream(pieces)).unwrap();
        let mut asked = Box::pin(routes.clone().oneshot(request));
        let mut held_after = |bytes: usize| {
            send.start_send(Ok(vec![0; bytes])).unwrap();
            assert!(asked.as_mut().now_or_never().is_none(), "the body has no end yet");
            bodies.held().total
        };
        assert_eq!([held_after(1000), held_after(1), held_after(1000)], [1000, 2000, 4000]);
        // Cut short, as by a client that disconnects.
        drop(asked);
        assert_eq!(bodies.held().total, 0);
        let whole = Request::post("/").body(Body::from("whole")).unwrap();
        assert_eq!(routes.oneshot(whole).await.unwrap().status(), 200);
        let held = bodies.held();
        assert_eq!((held.total, held.by_age.len()), (0, 0));
    }
}
