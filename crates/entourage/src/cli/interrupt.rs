//! Handles Ctrl-C and similar signals: the first ends the command cleanly, the second at once.

use std::io::{IsTerminal, stderr, stdin, stdout};

use tokio_util::sync::CancellationToken;

use super::failure::Exit;

/// A token that the first Ctrl-C or request to terminate cancels, or the end of the terminal unless that is
/// ignored, as under `nohup`. A second Ctrl-C or request ends the process at once: everything that counts is
/// on disk.
pub(crate) fn token() -> CancellationToken {
    token_of(!is_hangup_ignored())
}

/// Like [`token`], for a server: there SIGHUP reloads its files instead.
pub(crate) fn token_of_server() -> CancellationToken {
    token_of(false)
}

fn token_of(hears_hangup: bool) -> CancellationToken {
    let token = CancellationToken::new();
    let first = token.clone();
    tokio::spawn(async move {
        asked(hears_hangup).await;
        first.cancel();
        // The end of a terminal may be signalled twice, by the shell and by the system.
        asked(false).await;
        #[cfg(unix)]
        super::editor::restore();
        std::process::exit(Exit::Interrupted as i32);
    });
    token
}

#[cfg(unix)]
async fn asked(hears_hangup: bool) {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminate), Ok(mut hangup)) = (signal(SignalKind::terminate()), hangups(hears_hangup)) else {
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
fn hangups(hears_hangup: bool) -> std::io::Result<Option<tokio::signal::unix::Signal>> {
    use tokio::signal::unix::{SignalKind, signal};
    hears_hangup.then(|| signal(SignalKind::hangup())).transpose()
}

/// Whether this process was started so that it continues after the end of the terminal.
fn is_hangup_ignored() -> bool {
    // The lowest bit stands for SIGHUP.
    let ignored = |status: &str| {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
        u64::from_str_radix(mask.trim(), 16).ok()
    };
    match std::fs::read_to_string("/proc/self/status").ok().and_then(|status| ignored(&status)) {
        Some(mask) => mask & 1 == 1,
        // Where the system does not tell, `nohup` leaves no terminal.
        None => !(stdin().is_terminal() || stdout().is_terminal() || stderr().is_terminal()),
    }
}

#[cfg(not(unix))]
async fn asked(_: bool) {
    let _ = tokio::signal::ctrl_c().await;
}
