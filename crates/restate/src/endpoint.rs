//! Serves Restate's calls over HTTP/2.

use std::{
    sync::{Arc, Once},
    time::Duration,
};

use hyper::{
    StatusCode,
    server::conn::http2,
    service::{Service as _, service_fn},
};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use restate_sdk::{endpoint::Endpoint, hyper::HyperEndpoint};
use tokio::{net::TcpListener, task::JoinSet};
use tokio_util::sync::CancellationToken;

/// How often a silent connection is asked whether anybody is there, and how long it may take to answer. A Restate that
/// is gone without a word leaves activations behind that another node begins again.
const ASKED: Duration = Duration::from_secs(3);
/// How often it is looked whether the others still count on this node.
const LOOKS: Duration = Duration::from_millis(500);
/// The pause after no connection could be accepted, as when the process has no file descriptors left.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves calls until `stop` is cancelled, and those that are there by then until `ended`.
///
/// While nobody counts on this node, it has no connections: it could not do what it is called for, and Restate would go on
/// calling here.
///
/// Restate is not told that a connection is about to end (GOAWAY): with the next call that it wants to make, it would break
/// off all those of the connection.
pub(crate) async fn serve(
    listener: TcpListener,
    endpoint: Endpoint,
    stop: &CancellationToken,
    ended: impl Future<Output = ()>,
    is_counted_on: impl Fn() -> bool,
) {
    let (endpoint, refused) = (HyperEndpoint::new(endpoint), Arc::new(Once::new()));
    let service = service_fn(move |request| {
        let (answer, refused) = (endpoint.call(request), Arc::clone(&refused));
        async move { answer.await.inspect(|answer| say_if_refused(answer.status(), &refused)) }
    });
    let mut connections = JoinSet::new();
    let mut looks = tokio::time::interval(LOOKS);
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = connections.join_next() => continue,
            _ = looks.tick() => {
                if !is_counted_on() && !connections.is_empty() {
                    tracing::warn!("no sign of life of this process reaches the database: Restate is to call another one");
                    connections = JoinSet::new();
                }
                continue;
            }
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok(_) if !is_counted_on() => {}
            Ok((stream, _)) => {
                let connection = http2::Builder::new(TokioExecutor::new())
                    .timer(TokioTimer::new())
                    .keep_alive_interval(ASKED)
                    .keep_alive_timeout(ASKED)
                    .serve_connection(TokioIo::new(stream), service.clone());
                connections.spawn(connection);
            }
            Err(cause) => {
                tracing::warn!(%cause, "cannot accept a connection of Restate");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    ended.await;
}

/// Says once that calls are refused: nobody else would.
fn say_if_refused(status: StatusCode, refused: &Once) {
    if status == StatusCode::UNAUTHORIZED {
        refused.call_once(|| {
            tracing::warn!(
                "calls are refused that the Restate of `dispatch.restate.identity_key` did not sign; agents wait if they are its own"
            );
        });
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::pending,
        sync::atomic::{AtomicBool, Ordering},
    };

    use tokio::{io::AsyncReadExt as _, net::TcpStream, time::timeout};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn a_node_has_connections_only_while_the_others_count_on_it() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let (address, is_counted_on) = (listener.local_addr().unwrap(), Arc::new(AtomicBool::new(true)));
        let (counted, stop) = (Arc::clone(&is_counted_on), CancellationToken::new());
        let serving = async {
            let endpoint = Endpoint::builder().build();
            serve(listener, endpoint, &stop, pending(), || counted.load(Ordering::SeqCst)).await;
        };
        // The first that an HTTP/2 server says is its settings.
        let greeted = async |stream: &mut TcpStream| {
            let mut said = [0; 1];
            timeout(PATIENCE, stream.read(&mut said)).await.unwrap().unwrap_or(0)
        };
        let calling = async {
            let mut before = TcpStream::connect(address).await.unwrap();
            assert_eq!(greeted(&mut before).await, 1);
            is_counted_on.store(false, Ordering::SeqCst);
            let mut rest = Vec::new();
            let _ = timeout(PATIENCE, before.read_to_end(&mut rest)).await.expect("its connections end");
            let mut meanwhile = TcpStream::connect(address).await.unwrap();
            assert_eq!(greeted(&mut meanwhile).await, 0, "it takes none");
            is_counted_on.store(true, Ordering::SeqCst);
            let mut after = TcpStream::connect(address).await.unwrap();
            assert_eq!(greeted(&mut after).await, 1);
        };
        tokio::select! {
            () = serving => unreachable!("nobody stops it"),
            () = calling => {}
        }
    }
}
