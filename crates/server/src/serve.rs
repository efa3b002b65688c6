//! Listening, serving, and stopping without breaking off requests.

use std::{convert::Infallible, io::ErrorKind, net::SocketAddr, sync::Arc, time::Duration};

use axum::{Router, extract::Request, http::StatusCode};
use entourage_engine::Engine;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};
use tower::ServiceExt as _;

use crate::{
    Auth, Error, Installation, Result, Settings,
    active_request::Answering,
    connections::{Connections, Entered, Limits},
    counted_socket::CountedSocket,
    metrics,
    router::router_of,
    routes::operations,
};

/// How often measurements that no scrape has read are folded up.
const TIDY: Duration = Duration::from_secs(10);
/// The longest head of a request, in bytes.
const HEAD: usize = 64 * 1024;
/// How many bytes of a response the system buffers that it cannot send yet.
#[cfg(target_os = "linux")]
const UNSENT: u32 = 128 * 1024;
/// How long the server waits before it accepts again, once accepting has failed.
const BREATH: Duration = Duration::from_millis(200);

/// Listens on an address.
///
/// # Errors
/// [`Error::InUse`] if another process listens there, [`Error::Bind`] if it cannot be listened on.
pub async fn bind(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|cause| match cause.kind() {
        ErrorKind::AddrInUse => Error::InUse(address),
        _ => Error::Bind { address, cause },
    })
}

/// Serves an engine until `shutdown` is cancelled. Then the server accepts no more requests, ends streams,
/// and gives requests under way [`Settings::grace`] to end.
///
/// # Errors
/// [`Error::Unprotected`] without authentication on an address that is not loopback, [`Error::Serve`] if the
/// listener has no address, and the errors of [`router()`](crate::router()).
pub async fn serve(
    listener: TcpListener,
    engine: Engine,
    settings: Settings,
    shutdown: CancellationToken,
) -> Result<()> {
    serve_of(listener, engine, settings, None, shutdown).await
}

/// Serves an engine as [`serve`] does, for a program that tells its operator about itself.
///
/// # Errors
/// As for [`serve`].
pub async fn serve_installed(
    listener: TcpListener,
    engine: Engine,
    settings: Settings,
    installation: Arc<dyn Installation>,
    shutdown: CancellationToken,
) -> Result<()> {
    serve_of(listener, engine, settings, Some(installation), shutdown).await
}

async fn serve_of(
    listener: TcpListener,
    engine: Engine,
    settings: Settings,
    installation: Option<Arc<dyn Installation>>,
    shutdown: CancellationToken,
) -> Result<()> {
    let address = listener.local_addr().map_err(Error::Serve)?;
    if matches!(settings.auth, Auth::None) && !address.ip().is_loopback() {
        return Err(Error::Unprotected(address));
    }
    let routes = router_of(engine, &settings, installation, shutdown.clone())?;
    serve_routes(listener, routes, settings, shutdown).await;
    Ok(())
}

/// Serves `/healthz`, `/readyz` and `/metrics` alone, without tokens, on an address that only operators can reach, until
/// `shutdown` is cancelled: for a process that works for agents and answers no other requests.
pub async fn serve_probes(
    listener: TcpListener,
    engine: Engine,
    settings: Settings,
    shutdown: CancellationToken,
) {
    serve_routes(listener, operations::probes(engine), settings, shutdown).await;
}

async fn serve_routes(
    listener: TcpListener,
    routes: Router,
    settings: Settings,
    shutdown: CancellationToken,
) {
    metrics::record_metrics();
    let server = Server {
        routes,
        connections: Connections::new(Limits::new(settings.connections)),
        header_timeout: settings.header_timeout,
        write_timeout: settings.write_timeout,
        shutdown: shutdown.clone(),
    };
    let served = TaskTracker::new();
    tokio::select! {
        () = server.accept(&listener, &served) => {}
        () = tidy() => {}
    }
    drop(listener);
    served.close();
    if tokio::time::timeout(settings.grace, served.wait()).await.is_err() {
        tracing::warn!(grace = ?settings.grace, "requests still under way are cut off");
        server.connections.end_all();
    }
}

/// What is needed to serve a connection.
#[derive(Clone)]
struct Server {
    routes: Router,
    connections: Arc<Connections>,
    header_timeout: Duration,
    write_timeout: Duration,
    shutdown: CancellationToken,
}

impl Server {
    /// Accepts connections until the server must stop.
    async fn accept(&self, listener: &TcpListener, served: &TaskTracker) {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = self.shutdown.cancelled() => return,
            };
            match accepted {
                Ok((stream, from)) => {
                    let entered = Arc::new(self.connections.enter(from.ip()));
                    served.spawn(self.clone().serve(stream, entered, served.token()));
                }
                Err(error) if is_of_the_peer(&error) => {}
                Err(error) => {
                    tracing::error!(%error, "no connection can be accepted");
                    tokio::time::sleep(BREATH).await;
                }
            }
        }
    }

    /// Serves one connection until it ends, must make room for another, or is upgraded: then it is the upgrade's.
    async fn serve(self, stream: TcpStream, entered: Arc<Entered>, tracked: TaskTrackerToken) {
        if let Err(error) = prepare(&stream, self.write_timeout) {
            tracing::debug!(%error, "the options of a connection cannot be set");
        }
        let socket = CountedSocket::new(stream, self.write_timeout, Arc::clone(&entered), tracked);
        let gives_way = entered.must_give_way();
        let answer = service_fn(move |mut request: Request<Incoming>| {
            let (visit, routes, entered) = (entered.request(), self.routes.clone(), Arc::clone(&entered));
            request.extensions_mut().insert(Arc::clone(&visit));
            async move {
                let response = routes.oneshot(request).await?;
                if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                    entered.upgrade_by(Arc::clone(&visit));
                }
                Ok::<_, Infallible>(response.map(|body| Answering::new(body, visit)))
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.header_timeout)
            .max_buf_size(HEAD)
            .serve_connection(TokioIo::new(socket), answer)
            .with_upgrades();
        tokio::pin!(connection, gives_way);
        let mut stopping = false;
        loop {
            tokio::select! {
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, "a connection broke off");
                    }
                    return;
                }
                () = self.shutdown.cancelled(), if !stopping => {
                    stopping = true;
                    connection.as_mut().graceful_shutdown();
                }
                () = &mut gives_way => return,
            }
        }
    }
}

/// Sets the socket's options: small events are sent at once, little is buffered beyond what can be sent, and
/// a client that vanished is noticed.
fn prepare(stream: &TcpStream, write_timeout: Duration) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    #[cfg(target_os = "linux")]
    {
        let socket = socket2::SockRef::from(stream);
        socket.set_tcp_notsent_lowat(UNSENT)?;
        socket.set_tcp_user_timeout(Some(write_timeout))?;
    }
    #[cfg(not(target_os = "linux"))]
    let _ = write_timeout;
    Ok(())
}

/// Whether a connection failed on the peer's side before it was accepted.
fn is_of_the_peer(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionRefused | ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset
    )
}

/// Folds up measurements forever.
async fn tidy() {
    let mut interval = tokio::time::interval(TIDY);
    loop {
        interval.tick().await;
        metrics::tidy();
    }
}
