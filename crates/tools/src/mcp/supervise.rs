//! Supervises a server with a small process between the engine and the server, so that no process of the
//! server outlives the engine: the supervisor sees the end of its own input when the engine exits, for
//! whatever reason, and every process that the server has started is eventually reparented to the supervisor,
//! even one with a session of its own.

use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    process::Stdio,
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, wait};
use tokio::{
    process::Command,
    signal::unix::{SignalKind, signal},
    sync::oneshot,
    time::sleep,
};

/// How long a server may take to exit after the end of its input.
const GRACE: Duration = Duration::from_secs(2);
/// The interval for finding processes to kill again, since a killed process may just have started another
/// one.
const AGAIN: Duration = Duration::from_millis(5);

/// Runs a command with the input, output and errors of this process, until the command exits, its input ends
/// or this process receives SIGTERM; then kills all remaining processes of the command. Returns its exit
/// code.
///
/// # Errors
/// When the command cannot be started, or this process cannot observe signals and the command's exit.
pub async fn supervise(command: OsString, args: Vec<OsString>) -> io::Result<u8> {
    let mut told = signal(SignalKind::terminate())?;
    set_child_subreaper(Some(getpid()))?;
    let mut server = Command::new(command).args(args).stdin(Stdio::piped()).spawn()?;
    let input = server.stdin.take().and_then(|input| input.into_owned_fd().ok()).map(File::from);
    let (over, mut is_over) = oneshot::channel();
    // A thread, since only the end of the process interrupts a read of standard input.
    thread::spawn(move || {
        if let Some(mut input) = input {
            // A server that has stopped reading is treated like one whose input has ended.
            let _ = io::copy(&mut io::stdin().lock(), &mut input);
        }
        over.send(())
    });
    let ended = tokio::select! {
        ended = server.wait() => Some(ended?),
        _ = told.recv() => None,
        _ = &mut is_over => tokio::select! {
            ended = server.wait() => Some(ended?),
            _ = told.recv() => None,
            () = sleep(GRACE) => None,
        },
    };
    while kill_all_below() {
        sleep(AGAIN).await;
    }
    let code = ended.and_then(|ended| ended.code()).and_then(|code| u8::try_from(code).ok());
    Ok(code.unwrap_or(1))
}

/// Kills all descendants of this process. Returns whether there were any.
fn kill_all_below() -> bool {
    // Reaps processes that have exited.
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
    let running = running();
    let mut below = vec![getpid()];
    let mut at = 0;
    while at < below.len() {
        let parent = below[at];
        below.extend(running.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    for pid in &below[1..] {
        // Fails if the process has exited meanwhile, which is the desired state.
        let _ = kill_process(*pid, Signal::KILL);
    }
    below.len() > 1
}

/// Returns the processes of this machine, each with its parent.
fn running() -> Vec<(Pid, Pid)> {
    let pid = |text: &str| text.parse().ok().and_then(Pid::from_raw);
    let parent_of = |entry: fs::DirEntry| {
        let own = pid(entry.file_name().to_str()?)?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        // After the name, which is in parentheses and may contain any character: the state and the parent.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        Some((own, pid(fields.nth(1)?)?))
    };
    fs::read_dir("/proc").into_iter().flatten().filter_map(|entry| parent_of(entry.ok()?)).collect()
}
