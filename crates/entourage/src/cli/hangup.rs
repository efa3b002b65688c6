//! Handles SIGHUP as servers usually do: reads again what may have changed.

use entourage::Engine;

/// Reads the kinds again at each SIGHUP, until the engine is stopping. From then on SIGHUP does not end the
/// process.
#[cfg(unix)]
pub(crate) fn reloads(engine: Engine) {
    use tokio::signal::unix::{SignalKind, signal};
    let mut hangup = match signal(SignalKind::hangup()) {
        Ok(hangup) => hangup,
        Err(error) => {
            tracing::warn!(%error, "SIGHUP does not reload the kinds here");
            return;
        }
    };
    tokio::spawn(async move {
        let stopping = engine.stopping().clone();
        while let Some(Some(())) = stopping.run_until_cancelled(hangup.recv()).await {
            // The engine logs what has changed.
            if let Err(error) = engine.reload().await {
                let lines = error.to_string();
                tracing::error!("nothing has changed: {}", lines.lines().collect::<Vec<_>>().join(" "));
            }
        }
    });
}

#[cfg(not(unix))]
pub(crate) fn reloads(_: Engine) {}
