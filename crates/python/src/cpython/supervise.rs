//! The process between the parent and bubblewrap: it limits what is below, and ends with its parent.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::sandbox::Sandbox;
use super::{ARGUMENT, system_calls};
use crate::code;
use crate::confine::{self, limit_memory};
use crate::frame::{self, Request};
use crate::workers::SIGNALLED;

/// The program that runs the code.
const HOST: &str = concat!(
    include_str!("host/values.py"),
    include_str!("host/errors.py"),
    include_str!("host/run.py"),
    include_str!("host/main.py"),
);

/// Bytes of the stack of the thread that reads code: a parser calls itself for each level of nesting.
const PARSER_STACK_BYTES: usize = 64 << 20;

/// Bytes of memory of this process, which analyses the code: there may be code of which that takes very much.
const ANALYSIS_BYTES: u64 = 512 << 20;

/// Files that are open at once.
const FILES: u64 = 64;

/// Bytes of the stack.
const STACK_BYTES: u64 = 8 << 20;

/// Bytes that may be reserved beside what is used, as some libraries do.
const RESERVED_BYTES: u64 = 8 << 30;

/// Seconds of processor time beyond the limit of the code: for what Python does not count.
const SLACK_SECONDS: u64 = 2;

/// Runs CPython as this argument says, if it is one that says so.
///
/// Bubblewrap kills what is below when the *thread* ends that started it. Threads of the parent come and go, so it is this
/// process whose main thread starts it; and this process ends once its input does, that is, with its parent.
pub(crate) fn supervise(argument: &OsStr) -> Option<ExitCode> {
    let sandbox = argument.to_str()?.strip_prefix(ARGUMENT)?;
    Some(match run(sandbox) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            // The parent reads it, and tells it with what to do.
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    })
}

fn run(sandbox: &str) -> io::Result<u8> {
    let sandbox: Sandbox = serde_json::from_str(sandbox)?;
    let host = readable("host", HOST.as_bytes())?;
    let filter = readable("filter", &system_calls::filter().map_err(io::Error::other)?)?;
    limit(Resource::Core, 0, 0)?;
    limit(Resource::Fsize, sandbox.tmp_bytes, 0)?;
    limit(Resource::Nofile, FILES, 0)?;
    // No limit of data counts the stack, and the tables of pages that are reserved and only read.
    limit(Resource::Stack, STACK_BYTES, 0)?;
    limit(Resource::As, sandbox.tmp_bytes.saturating_add(RESERVED_BYTES), 0)?;
    // The first ends with a signal that tells of it, the second with one that nothing can ignore.
    limit(Resource::Cpu, sandbox.cpu_seconds + SLACK_SECONDS, 1)?;
    let mut child = Command::new(&sandbox.bubblewrap)
        .args(sandbox.arguments(host.as_raw_fd(), filter.as_raw_fd()))
        .env_clear()
        .stdin(Stdio::piped())
        .spawn()
        .map_err(|error| io::Error::other(format!("{}: {error}", sandbox.bubblewrap.display())))?;
    // For this process alone: what is below limits itself.
    limit_memory(&confine::Process::open(), ANALYSIS_BYTES)?;
    drop((host, filter));
    forward(&mut child)?;
    let status = child.wait()?;
    let code = status.code().unwrap_or_else(|| SIGNALLED + status.signal().unwrap_or_default());
    Ok(u8::try_from(code).unwrap_or(u8::MAX))
}

/// Hands on what the parent sends, and ends this process once the parent closes its end.
fn forward(child: &mut Child) -> io::Result<()> {
    let mut to = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
    thread::Builder::new().stack_size(PARSER_STACK_BYTES).spawn(move || {
        let mut from = io::stdin().lock();
        if request(&mut from, &mut to).and_then(|()| io::copy(&mut from, &mut to)).is_err() {
            drop(to);
            // The child reads no more: it ended, or has its request. What else the parent sends is not for it.
            let _ = io::copy(&mut from, &mut io::sink());
        }
        std::process::exit(SIGNALLED);
    })?;
    Ok(())
}

/// Hands on the request, with the places where the code awaits its calls. They are found here and not by the parent: code
/// may be such that its analysis takes long or overflows a stack, which must end this process and no other.
fn request(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let Some((json, _)) = frame::read(from)? else { return Ok(()) };
    let mut request: Request<'_> = serde_json::from_slice(&json)?;
    drop(json);
    request.awaited = code::awaited_places(&request.script.code);
    let frame = frame::encode(&request, &[], usize::MAX)?;
    to.write_all(&frame.map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?)?;
    to.flush()
}

/// Sets a limit, and how far beyond it can be raised; never above what holds already.
fn limit(resource: Resource, most: u64, beyond: u64) -> io::Result<()> {
    let holds = getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let limit =
        Rlimit { current: Some(most.min(holds)), maximum: Some(most.saturating_add(beyond).min(holds)) };
    Ok(setrlimit(resource, limit)?)
}

/// A file in memory that a child process inherits.
fn readable(name: &str, bytes: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create(name, MemfdFlags::empty())?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::OUT_OF_MEMORY;

    #[test]
    fn the_parent_knows_how_the_program_ends_that_has_no_memory_left() {
        assert!(HOST.contains(&format!("\nOUT_OF_MEMORY = {OUT_OF_MEMORY}\n")));
    }
}
