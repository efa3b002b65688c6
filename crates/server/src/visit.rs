//! A request under way, and the body of its answer.

use std::{
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
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
pub(crate) struct Visit {
    connection: u64,
    connections: Arc<Connections>,
    owner: OnceLock<Owner>,
}

impl Visit {
    pub(crate) fn new(connection: u64, connections: &Arc<Connections>) -> Arc<Self> {
        Arc::new(Self { connection, connections: Arc::clone(connections), owner: OnceLock::new() })
    }

    /// It is this owner's, who must not have too many.
    pub(crate) fn is_of(&self, owner: &Owner) -> Result<(), Problem> {
        self.connections.is_of(self.connection, owner)?;
        self.owner.get_or_init(|| owner.clone());
        Ok(())
    }

    /// It is on behalf of no owner.
    pub(crate) fn is_of_stranger(&self) -> Result<(), Problem> {
        self.connections.is_of_stranger(self.connection)
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.connections.over(self.connection, self.owner.get());
    }
}

/// Lets a request pass that is on behalf of no owner.
pub(crate) async fn stranger(request: Request, next: Next) -> Result<Response, Problem> {
    // A router that is served by another program has none: connections are that program's.
    if let Some(visit) = request.extensions().get::<Arc<Visit>>() {
        visit.is_of_stranger()?;
    }
    Ok(next.run(request).await)
}

/// The body of an answer, and its request, which is under way until then.
pub(crate) struct Answering {
    body: Body,
    _visit: Arc<Visit>,
}

impl Answering {
    pub(crate) fn new(body: Body, visit: Arc<Visit>) -> Self {
        Self { body, _visit: visit }
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
