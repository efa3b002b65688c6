//! Listening, serving, and stopping without cutting anybody off.

use std::{io::ErrorKind, net::SocketAddr, time::Duration};

use axum::serve::ListenerExt;
use entourage_engine::House;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{Auth, Error, Result, Settings, metrics, router};

/// How often measurements that nobody asked for are put away.
const TIDY: Duration = Duration::from_secs(10);

/// Listens on an address.
///
/// # Errors
/// [`Error::InUse`] when another process does, [`Error::Bind`] when nobody can.
pub async fn bind(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|cause| match cause.kind() {
        ErrorKind::AddrInUse => Error::InUse(address),
        _ => Error::Bind { address, cause },
    })
}

/// Serves a house until `shutdown` is cancelled: then no request is taken any more, streams end,
/// and those under way may take [`Settings::grace`] to.
///
/// # Errors
/// [`Error::Unprotected`] without authentication on an address that is not loopback,
/// [`Error::Key`] for a key that cannot be used, [`Error::Serve`] when the listener fails.
pub async fn serve(
    listener: TcpListener,
    house: House,
    settings: Settings,
    shutdown: CancellationToken,
) -> Result<()> {
    let address = listener.local_addr().map_err(Error::Serve)?;
    if matches!(settings.auth, Auth::None) && !address.ip().is_loopback() {
        return Err(Error::Unprotected(address));
    }
    metrics::record_metrics();
    let routes = router(house, &settings, shutdown.clone())?;
    // Events are small and wanted at once.
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection cannot be told to send at once");
        }
    });
    let serving = axum::serve(listener, routes).with_graceful_shutdown(shutdown.clone().cancelled_owned());
    tokio::select! {
        ended = serving => ended.map_err(Error::Serve),
        () = deadline(&shutdown, settings.grace) => {
            tracing::warn!(grace = ?settings.grace, "requests still under way are cut off");
            Ok(())
        }
        () = tidy() => Ok(()),
    }
}

/// Ready once the time of grace is over.
async fn deadline(shutdown: &CancellationToken, grace: Duration) {
    shutdown.cancelled().await;
    tokio::time::sleep(grace).await;
}

/// Never ready.
async fn tidy() {
    let mut interval = tokio::time::interval(TIDY);
    loop {
        interval.tick().await;
        metrics::tidy();
    }
}
