//! SIGHUP, as servers have long understood it: read again what may have changed.

use entourage::Engine;

/// Reads the kinds anew at each SIGHUP, until the engine is stopping. From here on SIGHUP ends
/// nothing.
#[cfg(unix)]
pub(crate) fn reloads(engine: Engine) {
    use tokio::signal::unix::{SignalKind, signal};
    let mut hangup = match signal(SignalKind::hangup()) {
        Ok(hangup) => hangup,
        Err(error) => {
            tracing::warn!(%error, "SIGHUP does not read the kinds anew here");
            return;
        }
    };
    tokio::spawn(async move {
        let stopping = engine.stopping().clone();
        while let Some(Some(())) = stopping.run_until_cancelled(hangup.recv()).await {
            // What has changed is logged by the engine.
            if let Err(error) = engine.reload().await {
                let lines = error.to_string();
                tracing::error!("nothing has changed: {}", lines.lines().collect::<Vec<_>>().join(" "));
            }
        }
    });
}

#[cfg(not(unix))]
pub(crate) fn reloads(_: Engine) {}
