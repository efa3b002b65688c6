//! Ctrl-C and its like: the first asks us to end well, the second ends us.

use tokio_util::sync::CancellationToken;

use super::failure::Exit;

/// A token that is cancelled by the first Ctrl-C, by the request to terminate, and by the end of the terminal. The
/// second ends the process at once: everything that counts is on disk.
pub(crate) fn token() -> CancellationToken {
    token_of(true)
}

/// The same for a server, which reads its files anew when it is told of the end of a terminal.
pub(crate) fn token_of_server() -> CancellationToken {
    token_of(false)
}

fn token_of(has_terminal: bool) -> CancellationToken {
    let token = CancellationToken::new();
    let first = token.clone();
    tokio::spawn(async move {
        asked(has_terminal).await;
        first.cancel();
        asked(has_terminal).await;
        #[cfg(unix)]
        super::editor::restore();
        std::process::exit(Exit::Interrupted as i32);
    });
    token
}

#[cfg(unix)]
async fn asked(has_terminal: bool) {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminate), Ok(mut hangup)) = (signal(SignalKind::terminate()), hangups(has_terminal)) else {
        let _ = tokio::signal::ctrl_c().await;
        return;
    };
    let hung_up = async {
        match &mut hangup {
            Some(hangup) => drop(hangup.recv().await),
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
        () = hung_up => {}
    }
}

#[cfg(unix)]
fn hangups(has_terminal: bool) -> std::io::Result<Option<tokio::signal::unix::Signal>> {
    use tokio::signal::unix::{SignalKind, signal};
    has_terminal.then(|| signal(SignalKind::hangup())).transpose()
}

#[cfg(not(unix))]
async fn asked(_: bool) {
    let _ = tokio::signal::ctrl_c().await;
}
