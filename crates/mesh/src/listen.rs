//! Links that other nodes open.
#![allow(clippy::result_large_err, reason = "the errors of a handshake are the library's")]

use std::{sync::Arc, time::Duration};

use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time,
};
use tokio_tungstenite::{
    accept_hdr_async_with_config,
    tungstenite::{
        handshake::server::{ErrorResponse, Request, Response},
        http::{StatusCode, header::AUTHORIZATION},
    },
};

use crate::{Inner, link, texts};

/// Where nodes open their links.
pub(crate) const PATH: &str = "/internal/link";
/// How long the other side may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(3);
/// After a connection that could not be accepted.
const AGAIN: Duration = Duration::from_millis(500);
/// How many connections may be open at once, far more than there are nodes.
const MOST: usize = 512;

/// Accepts links until it is dropped, which ends those that it has accepted.
pub(crate) async fn accept_links(inner: Arc<Inner>, socket: TcpListener) {
    let mut links = JoinSet::new();
    loop {
        match socket.accept().await {
            Ok((stream, _)) if links.len() < MOST => drop(links.spawn(serve(Arc::clone(&inner), stream))),
            Ok(_) => tracing::warn!("too many connections of other nodes: one was closed"),
            Err(error) => {
                tracing::warn!(%error, "a connection of another node could not be accepted");
                time::sleep(AGAIN).await;
            }
        }
        while links.try_join_next().is_some() {}
    }
}

async fn serve(inner: Arc<Inner>, stream: TcpStream) {
    let opening = async {
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        let check = |request: &Request, response| checked(&inner, request, response);
        let opened = accept_hdr_async_with_config(stream, check, Some(texts::config())).await;
        let mut texts = texts::texts(opened.map_err(|error| error.to_string())?);
        let node = link::greet(&mut texts, inner.nodes.id()).await.map_err(|lost| lost.to_string())?;
        Ok::<_, String>((node, texts))
    };
    match time::timeout(PATIENCE, opening).await {
        Ok(Ok((node, texts))) => {
            let peer = inner.peer(node);
            let lost = link::keep(&inner, &peer, texts).await;
            tracing::debug!(%node, %lost, "a link has ended");
        }
        Ok(Err(why)) => tracing::debug!(%why, "a connection of another node came to nothing"),
        Err(_) => tracing::debug!("a connection of another node said nothing"),
    }
}

/// Whether who connects knows the path and this node's token, which is in the store.
fn checked(inner: &Inner, request: &Request, response: Response) -> Result<Response, ErrorResponse> {
    let refused = |status| {
        let mut refused = ErrorResponse::new(None);
        *refused.status_mut() = status;
        Err(refused)
    };
    if request.uri().path() != PATH {
        return refused(StatusCode::NOT_FOUND);
    }
    let presented = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let presented = presented.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
    match &inner.listener {
        Some(mine) if is_same(&mine.token, presented) => Ok(response),
        _ => refused(StatusCode::UNAUTHORIZED),
    }
}

/// Compares without telling by its time how much is right.
fn is_same(mine: &str, presented: &str) -> bool {
    let differs =
        mine.bytes().zip(presented.bytes()).fold(0, |differs, (one, other)| differs | (one ^ other));
    mine.len() == presented.len() && differs == 0
}
