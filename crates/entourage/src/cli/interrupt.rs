//! Ctrl-C and its like: the first asks us to end well, the second ends us.

use tokio_util::sync::CancellationToken;

use super::failure::Exit;

/// A token that is cancelled by the first Ctrl-C (or the request to terminate). The second ends
/// the process at once: everything that counts is on disk.
pub(crate) fn token() -> CancellationToken {
    let token = CancellationToken::new();
    let first = token.clone();
    tokio::spawn(async move {
        asked().await;
        first.cancel();
        asked().await;
        #[cfg(unix)]
        super::editor::restore();
        std::process::exit(Exit::Interrupted as i32);
    });
    token
}

#[cfg(unix)]
async fn asked() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        let _ = tokio::signal::ctrl_c().await;
        return;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}

#[cfg(not(unix))]
async fn asked() {
    let _ = tokio::signal::ctrl_c().await;
}
