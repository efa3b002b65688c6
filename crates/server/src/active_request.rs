//! A request under way, and the body of its response.

use std::{
    net::IpAddr,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll, ready},
};

use axum::{
    body::{Body, Bytes},
    extract::Request,
    middleware::Next,
    response::Response,
};
use entourage_types::Owner;
use hyper::body::{Frame, SizeHint};

use crate::{Problem, connections::Connections};

/// A request under way over a connection; dropping it ends it.
pub(crate) struct ActiveRequest {
    connection: u64,
    /// Where the connection comes from.
    pub(crate) address: IpAddr,
    connections: Arc<Connections>,
    owner: OnceLock<Owner>,
    /// How many bytes of its response are held for its owner.
    held: OnceLock<u64>,
}

impl ActiveRequest {
    pub(crate) fn new(connection: u64, address: IpAddr, connections: &Arc<Connections>) -> Arc<Self> {
        let connections = Arc::clone(connections);
        Arc::new(Self { connection, address, connections, owner: OnceLock::new(), held: OnceLock::new() })
    }

    /// Counts the request against its owner, or refuses it at a limit.
    pub(crate) fn begin_request(&self, owner: &Owner) -> Result<(), Problem> {
        self.connections.begin_request(self.connection, owner)?;
        self.owner.get_or_init(|| owner.clone());
        Ok(())
    }

    /// Counts a response of `bytes` against the request's owner, or refuses it if too much waits to be read.
    pub(crate) fn book_answer(&self, bytes: u64, only_read: bool) -> Result<(), Problem> {
        if let Some(owner) = self.owner.get() {
            self.connections.book_answer(owner, bytes, only_read)?;
            self.held.get_or_init(|| bytes);
        }
        Ok(())
    }

    /// Refuses the request, which has no owner, if its connection is beyond the limit.
    pub(crate) fn is_of_stranger(&self) -> Result<(), Problem> {
        self.connections.is_of_stranger(self.connection)
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let held = self.held.get().copied().unwrap_or_default();
        self.connections.over(self.connection, self.owner.get(), held);
    }
}

/// Middleware: passes a request without an owner on, unless its connection is beyond the limit.
pub(crate) async fn stranger(request: Request, next: Next) -> Result<Response, Problem> {
    // A router that another program serves has no visits: connections are that program's.
    if let Some(visit) = request.extensions().get::<Arc<ActiveRequest>>() {
        visit.is_of_stranger()?;
    }
    Ok(next.run(request).await)
}

/// How many bytes of a response are handed over at once. The connection takes no more before they are sent,
/// so a request is under way while its response waits, except for the last piece.
const PIECE: usize = 64 << 10;

/// The body of a response. It holds its request, which is under way until the body is dropped.
pub(crate) struct Answering {
    body: Body,
    /// The rest of the last data of the body.
    left: Bytes,
    _visit: Arc<ActiveRequest>,
}

impl Answering {
    pub(crate) fn new(body: Body, visit: Arc<ActiveRequest>) -> Self {
        Self { body, left: Bytes::new(), _visit: visit }
    }

    fn piece(&mut self) -> Frame<Bytes> {
        Frame::data(self.left.split_to(self.left.len().min(PIECE)))
    }
}

impl hyper::body::Body for Answering {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if !self.left.is_empty() {
            return Poll::Ready(Some(Ok(self.piece())));
        }
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context)?);
        Poll::Ready(frame.map(|frame| match frame.into_data() {
            Ok(data) => {
                self.left = data;
                Ok(self.piece())
            }
            Err(other) => Ok(other),
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, left) = (self.body.size_hint(), self.left.len() as u64);
        let mut whole = SizeHint::new();
        whole.set_lower(rest.lower() + left);
        if let Some(upper) = rest.upper() {
            whole.set_upper(upper + left);
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use std::{net::Ipv4Addr, task::Waker};

    use hyper::body::Body as _;

    use super::*;
    use crate::connections::Limits;

    /// Without pieces, the connection takes the whole body, and the request ends before the client reads
    /// anything.
    #[test]
    fn a_request_lasts_until_the_last_piece_of_its_response_is_sent() {
        let connections = Connections::new(Limits::new(None));
        let visit = connections.enter(IpAddr::V4(Ipv4Addr::LOCALHOST)).request();
        let lasts = Arc::downgrade(&visit);
        let mut answering = Answering::new(Body::from("x".repeat(2 * PIECE + 1)), visit);
        let mut pieces = Vec::new();
        while !answering.is_end_stream() {
            assert!(lasts.upgrade().is_some());
            let left = answering.size_hint().exact().unwrap();
            let mut context = Context::from_waker(Waker::noop());
            let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut answering).poll_frame(&mut context) else {
                panic!("all of it is there")
            };
            pieces.push((left, frame.into_data().unwrap().len()));
        }
        let (whole, piece) = (2 * PIECE as u64 + 1, PIECE as u64);
        assert_eq!(pieces, [(whole, PIECE), (whole - piece, PIECE), (1, 1)]);
        drop(answering);
        assert!(lasts.upgrade().is_none());
    }
}
