//! Serves Restate's calls over HTTP/2.

use std::time::Duration;

use hyper::server::conn::http2;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
};
use restate_sdk::{endpoint::Endpoint, hyper::HyperEndpoint};
use tokio::{net::TcpListener, task::JoinSet};
use tokio_util::sync::CancellationToken;

/// How often a silent connection is asked whether anybody is there, and how long it may take to answer. A Restate that
/// is gone without a word leaves activations behind that another node begins again.
const ASKED: Duration = Duration::from_secs(3);
/// The pause after no connection could be accepted, as when the process has no file descriptors left.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves calls until `stop` is cancelled and those in progress have ended, or their time of grace is over.
pub(crate) async fn serve(
    listener: TcpListener,
    endpoint: Endpoint,
    stop: &CancellationToken,
    grace: Duration,
) {
    let endpoint = HyperEndpoint::new(endpoint);
    let draining = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let connection = http2::Builder::new(TokioExecutor::new())
                    .timer(TokioTimer::new())
                    .keep_alive_interval(ASKED)
                    .keep_alive_timeout(ASKED)
                    .serve_connection(TokioIo::new(stream), endpoint.clone());
                connections.spawn(draining.watch(connection));
            }
            Err(cause) => {
                tracing::warn!(%cause, "cannot accept a connection of Restate");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    // What does not end in time is cut, which loses nothing.
    let _ = tokio::time::timeout(grace, draining.shutdown()).await;
}
