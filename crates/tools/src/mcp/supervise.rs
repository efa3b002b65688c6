//! A small process between this program and a server that it starts, so that nothing of the server
//! outlives it: it sees the end of its own input, which comes when this program is gone, however it went,
//! and whatever the server has started becomes its child in the end, also with a session of its own.

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

/// How long a server whose input has ended may take to end by itself.
const GRACE: Duration = Duration::from_secs(2);
/// What is killed is looked for again after so long, since it may just have started something.
const AGAIN: Duration = Duration::from_millis(5);

/// Runs a command with the input, output and errors of this process, until it ends, its input has ended
/// or this process is told to end; then kills all that is left of it. Returns its exit code.
///
/// # Errors
/// When it cannot be started, or this process cannot be told of what becomes of it.
pub async fn supervise(command: OsString, args: Vec<OsString>) -> io::Result<u8> {
    let mut told = signal(SignalKind::terminate())?;
    set_child_subreaper(Some(getpid()))?;
    let mut server = Command::new(command).args(args).stdin(Stdio::piped()).spawn()?;
    let input = server.stdin.take().and_then(|input| input.into_owned_fd().ok()).map(File::from);
    let (over, mut is_over) = oneshot::channel();
    // A thread, since nothing but the end of the process ends a read of standard input.
    thread::spawn(move || {
        if let Some(mut input) = input {
            // A server that reads no more is as good as one whose input has ended.
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

/// Kills whatever this process, or anything below it, has started. Whether there was anything.
fn kill_all_below() -> bool {
    // What has ended is forgotten by the system once it was waited for.
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
        // One that has ended meanwhile is what is wanted.
        let _ = kill_process(*pid, Signal::KILL);
    }
    below.len() > 1
}

/// The processes of this machine, each with its parent.
fn running() -> Vec<(Pid, Pid)> {
    let pid = |text: &str| text.parse().ok().and_then(Pid::from_raw);
    let parent_of = |entry: fs::DirEntry| {
        let own = pid(entry.file_name().to_str()?)?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        // Behind the name, which stands in brackets and may hold any: the state and the parent.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        Some((own, pid(fields.nth(1)?)?))
    };
    fs::read_dir("/proc").into_iter().flatten().filter_map(|entry| parent_of(entry.ok()?)).collect()
}
