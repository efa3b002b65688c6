//! The process at work in a data directory: how it says so, and how it is found.

use std::{
    fs,
    io::{self, Write},
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    path::{Path, PathBuf},
    pin::pin,
    time::Duration,
};

use entourage_types::AgentId;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, timeout};

use super::{Result, remote};
use crate::cli::{failure::Failure, out, words};

/// The file in the data directory by which it is found.
const FILE: &str = "server.json";
/// How long a process on this machine may take to say that it is there.
const PATIENCE: Duration = Duration::from_millis(1000);
/// How many heartbeats in a row a stream may miss.
const MISSED: u32 = 3;
/// The longest silence that is waited for without a word, however rare heartbeats are.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// A process at work that can be talked to.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Running {
    /// Where it answers, without a slash at the end.
    pub(crate) url: String,
    /// Its process.
    pub(crate) pid: u32,
    /// What it wants to be shown, unless the settings say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) token: Option<String>,
    /// On what it works.
    #[serde(default)]
    pub(super) works: Works,
    /// How often a silent stream of events says that it is alive.
    #[serde(default = "usual_heartbeat")]
    pub(crate) heartbeat: Duration,
    /// Whether the command says nothing of how it answers.
    #[serde(skip)]
    pub(super) quiet: bool,
    /// The data directory in which it was found.
    #[serde(skip)]
    pub(super) data: PathBuf,
}

fn usual_heartbeat() -> Duration {
    entourage_server::Settings::default().heartbeat
}

/// On what a process works.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Works {
    /// On everything: it is a server.
    #[default]
    All,
    /// On one tree: it is a command, which ends when that rests. None until there is one.
    Tree(Option<AgentId>),
}

impl Running {
    /// This process, listening at an address and at work on everything.
    pub(crate) fn here(address: SocketAddr) -> Self {
        // Whoever listens everywhere is also here.
        let ip = match address.ip() {
            ip if !ip.is_unspecified() => ip,
            ip if ip.is_ipv4() => Ipv4Addr::LOCALHOST.into(),
            _ => Ipv6Addr::LOCALHOST.into(),
        };
        let address = SocketAddr::new(ip, address.port());
        let (url, pid) = (format!("http://{address}"), std::process::id());
        let (works, heartbeat) = (Works::All, usual_heartbeat());
        Self { url, pid, token: None, works, heartbeat, quiet: false, data: PathBuf::new() }
    }

    /// The process at work in a data directory, if there is one and it answers. With `quiet`, nothing is said
    /// of how it answers from then on.
    pub(crate) async fn find(data: &Path, quiet: bool) -> Option<Self> {
        let running = Self { quiet, data: data.to_owned(), ..Self::announced(data)? };
        // A file that a crash left behind leads nowhere, or to whoever has the port now.
        if !is_alive(running.pid) {
            return None;
        }
        let client = remote::client(Some(PATIENCE)).ok()?;
        let answer = client.get(format!("{}/healthz", running.url)).send().await.ok()?;
        answer.status().is_success().then_some(running)
    }

    /// What the file in a data directory says.
    fn announced(data: &Path) -> Option<Self> {
        serde_json::from_str(&fs::read_to_string(data.join(FILE)).ok()?).ok()
    }

    /// Whether whoever listens at its address is this process, or the one that works in the same data directory since.
    pub(super) fn is_there(&self) -> bool {
        let is_next = |now: Self| now.url == self.url && is_alive(now.pid);
        is_alive(self.pid) || Self::announced(&self.data).is_some_and(is_next)
    }

    /// Tells other commands of this process until the returned sign is dropped.
    pub(crate) fn announce(&self, data: &Path) -> Result<Sign> {
        let sign = Sign { path: data.join(FILE) };
        sign.rewrite(self)?;
        Ok(sign)
    }

    /// Whether it is a server.
    pub(crate) fn is_server(&self) -> bool {
        self.works == Works::All
    }

    /// After which silence a stream counts as dead.
    pub(super) fn longest_silence(&self) -> Duration {
        self.heartbeat.saturating_mul(MISSED).min(LONGEST)
    }

    /// What comes of a request. Where that takes too long, it is said and waited for: what was sent may have
    /// been taken, so it is not sent again.
    pub(super) async fn waits_for<T>(&self, answer: impl Future<Output = T>) -> T {
        let (mut answer, began) = (pin!(answer), Instant::now());
        loop {
            match timeout(self.longest_silence(), &mut answer).await {
                Ok(answer) => return answer,
                Err(_) => self.tell_of_silence(began.elapsed(), "waiting for its answer"),
            }
        }
    }

    /// Says for how long nothing has come of it, and what is done about that.
    pub(super) fn tell_of_silence(&self, silence: Duration, next: &str) {
        let (name, silence) = (self.name(), words::duration(silence));
        if !self.quiet {
            out::note(out::stderr().yellow(format!("note: {name} has been silent for {silence}; {next}")));
        }
    }

    /// Says that something came of it again.
    pub(super) fn tell_of_answer(&self) {
        if !self.quiet {
            out::note(out::stderr().dim(format!("{} answers again", self.name())));
        }
    }

    /// What it is, for people.
    pub(super) fn name(&self) -> String {
        match self.is_server() {
            true => format!("the server at {}", self.url),
            false => format!("the entourage at work here (pid {})", self.pid),
        }
    }

    /// Whether it works on this tree, or on something at all.
    pub(super) fn works_on(&self, tree: Option<AgentId>) -> bool {
        match self.works {
            Works::All => true,
            Works::Tree(one) => tree.is_none() || tree == one,
        }
    }

    /// An option that only makes sense for a engine in this process.
    pub(crate) fn in_the_way(&self, option: &str) -> Failure {
        if !self.is_server() {
            return self.busy();
        }
        Failure::usage(format!(
            "{option} has no effect on the server that runs for this data directory (pid {}). Set it there, stop \
             the server, or name another --data",
            self.pid
        ))
    }

    /// It cannot be talked to any more.
    pub(super) fn lost(&self, why: &str) -> Failure {
        let Self { url, pid, .. } = self;
        if !self.is_server() {
            let who = format!("the entourage that was at work here (pid {pid}) has ended");
            return Failure::gone(who, "Try again");
        }
        let who = format!("the server at {url} cannot be reached: {why}");
        Failure::gone(who, "Start it with `entourage serve`, or try again")
    }

    /// Something that a command at work on one tree does not do.
    pub(super) fn busy(&self) -> Failure {
        Failure::failed(format!(
            "another entourage (pid {}) is at work here on one task. It can be watched, steered and answered \
             (`entourage tree`); wait for it or stop it to begin something else, or leave `entourage serve` running, \
             with which several commands work at once",
            self.pid
        ))
    }
}

/// The file is there as long as this is.
pub(crate) struct Sign {
    path: PathBuf,
}

impl Sign {
    /// Says something else from now on.
    pub(super) fn rewrite(&self, running: &Running) -> Result<()> {
        let written = serde_json::to_vec(running).map_err(io::Error::from).and_then(|text| {
            // Whole or not at all: others read it at any moment.
            let beside = self.path.with_extension("json.new");
            let _ = fs::remove_file(&beside);
            private(&beside)?.write_all(&text)?;
            fs::rename(&beside, &self.path)
        });
        let path = self.path.display();
        written.map_err(|error| Failure::failed(format!("{path} cannot be written: {error}")))
    }
}

impl Drop for Sign {
    fn drop(&mut self) {
        // One that stays behind names a process that is gone.
        let _ = fs::remove_file(&self.path);
    }
}

/// A new file that its owner alone may read.
fn private(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(unix)]
fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}

#[cfg(not(unix))]
fn is_alive(_: u32) -> bool {
    true
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends by panicking")]

    use std::process::Command;

    use tempfile::TempDir;

    use super::*;

    /// A stream may go on with a server that was started anew at its address, and with no other one there.
    #[test]
    fn only_the_next_in_its_data_directory_takes_the_place_of_one_that_is_gone() {
        let (data, elsewhere) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let mut ended = Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let at = |port: u16| Running::here((Ipv4Addr::LOCALHOST, port).into());
        let found = Running { pid: ended.id(), data: data.path().to_owned(), ..at(4180) };
        let _left_behind = found.announce(data.path()).unwrap();
        let _has_its_port = at(4180).announce(elsewhere.path()).unwrap();
        assert!(!found.is_there());
        let _listens_elsewhere = at(4181).announce(data.path()).unwrap();
        assert!(!found.is_there());
        let _took_its_place = at(4180).announce(data.path()).unwrap();
        assert!(found.is_there());
        assert!(Running { pid: std::process::id(), ..found }.is_there(), "it is there itself");
    }
}
