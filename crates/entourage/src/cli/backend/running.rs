//! The process at work in a data directory: how it announces itself, and how commands find it.

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

use super::{Result, connection};
use crate::cli::{describe, failure::Failure, out, private};

/// The file in the data directory that announces it.
const FILE: &str = "server.json";
/// The file that a server locks which shares its database with others.
const LOCK: &str = "server.lock";
/// How long a process on this machine may take to answer that it is alive.
const PATIENCE: Duration = Duration::from_millis(1000);
/// How many heartbeats in a row a stream may miss.
const MISSED: u32 = 3;
/// The longest silence that is not reported, however rare heartbeats are.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// A process at work that answers requests.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Running {
    /// Its address, without a slash at the end.
    pub(crate) url: String,
    /// Its process id.
    pub(crate) pid: u32,
    /// The token it requires, unless the settings give one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) token: Option<String>,
    /// What it works on.
    #[serde(default)]
    pub(super) works: ServedWork,
    /// How often it sends a heartbeat on an idle stream of events.
    #[serde(default = "usual_heartbeat")]
    pub(crate) heartbeat: Duration,
    /// Whether the command reports neither silences nor answers after them.
    #[serde(skip)]
    pub(super) quiet: bool,
    /// The data directory in which it was found.
    #[serde(skip)]
    pub(super) data: PathBuf,
}

fn usual_heartbeat() -> Duration {
    entourage_server::Settings::default().heartbeat
}

/// What a process works on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ServedWork {
    /// Everything: it is a server.
    #[default]
    All,
    /// One tree: it is a command, which ends when the tree rests. None until it has a tree.
    Tree(Option<AgentId>),
}

impl Running {
    /// This process, which listens at an address and works on everything.
    pub(crate) fn here(address: SocketAddr) -> Self {
        // A process that listens on all addresses also listens on loopback.
        let ip = match address.ip() {
            ip if !ip.is_unspecified() => ip,
            ip if ip.is_ipv4() => Ipv4Addr::LOCALHOST.into(),
            _ => Ipv6Addr::LOCALHOST.into(),
        };
        let address = SocketAddr::new(ip, address.port());
        let (url, pid) = (format!("http://{address}"), std::process::id());
        let (works, heartbeat) = (ServedWork::All, usual_heartbeat());
        Self { url, pid, token: None, works, heartbeat, quiet: false, data: PathBuf::new() }
    }

    /// Finds the process at work in a data directory, if there is one and it answers. With `quiet`, its
    /// silences are not reported from then on.
    pub(crate) async fn find(data: &Path, quiet: bool) -> Option<Self> {
        let running = Self { quiet, data: data.to_owned(), ..Self::announced(data)? };
        // A file left behind by a crash leads to no process, or to another that has the port now.
        if !is_alive(running.pid) {
            return None;
        }
        let client = connection::client(Some(PATIENCE)).ok()?;
        let answer = client.get(format!("{}/healthz", running.url)).send().await.ok()?;
        answer.status().is_success().then_some(running)
    }

    /// Reads the file in a data directory.
    fn announced(data: &Path) -> Option<Self> {
        serde_json::from_str(&fs::read_to_string(data.join(FILE)).ok()?).ok()
    }

    /// Whether the process that listens at its address is this one, or one that has since started in the same
    /// data directory.
    pub(super) fn is_there(&self) -> bool {
        let is_next = |now: Self| now.url == self.url && is_alive(now.pid);
        is_alive(self.pid) || Self::announced(&self.data).is_some_and(is_next)
    }

    /// Has no other process serve with a data directory, for as long as the file is open: commands would find one of
    /// them, and none once the other one ends. A file of a database refuses that by itself.
    ///
    /// # Errors
    /// If another process serves with it, or it cannot be created.
    pub(crate) fn alone(data: &Path) -> Result<fs::File> {
        let path = data.join(LOCK);
        let opened = private::directory(data)
            .and_then(|()| private::open(fs::File::options().create(true).truncate(false), &path));
        let lock = opened.map_err(|error| Failure::failed(format!("{}: {error}", path.display())))?;
        match lock.try_lock() {
            Ok(()) => Ok(lock),
            Err(fs::TryLockError::Error(error)) => {
                let path = path.display();
                tracing::warn!(%error, "{path} cannot be locked: another process that serves beside it is not refused");
                Ok(lock)
            }
            Err(fs::TryLockError::WouldBlock) => {
                let other = Self::announced(data).map(|Self { pid, url, .. }| format!(" (pid {pid}, {url})"));
                Err(Failure::failed(format!(
                    "another process{} serves with the data directory {}: processes that share a database need one \
                     each. Give this one its own with --data",
                    other.unwrap_or_default(),
                    data.display()
                )))
            }
        }
    }

    /// Announces this process to other commands until the returned sign is dropped.
    pub(crate) fn announce(&self, data: &Path) -> Result<Sign> {
        let sign = Sign { path: data.join(FILE) };
        sign.rewrite(self)?;
        Ok(sign)
    }

    /// The token that it requires, if it made one for itself.
    pub(crate) fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Whether it is a server.
    pub(crate) fn is_server(&self) -> bool {
        self.works == ServedWork::All
    }

    /// The silence after which a stream counts as dead.
    pub(super) fn longest_silence(&self) -> Duration {
        self.heartbeat.saturating_mul(MISSED).min(LONGEST)
    }

    /// Waits for the answer to a request. If that takes too long, reports it and keeps waiting: the server
    /// may have accepted the request, so it is not sent again.
    pub(super) async fn waits_for<T>(&self, answer: impl Future<Output = T>) -> T {
        let (mut answer, began) = (pin!(answer), Instant::now());
        loop {
            match timeout(self.longest_silence(), &mut answer).await {
                Ok(answer) => return answer,
                Err(_) => self.tell_of_silence(began.elapsed(), "waiting for its answer"),
            }
        }
    }

    /// Reports for how long it has been silent, and what happens next.
    pub(super) fn tell_of_silence(&self, silence: Duration, next: &str) {
        let (name, silence) = (self.name(), describe::duration(silence));
        if !self.quiet {
            out::note(out::stderr().yellow(format!("note: {name} has been silent for {silence}; {next}")));
        }
    }

    /// Reports that it answers again.
    pub(super) fn tell_of_answer(&self) {
        if !self.quiet {
            out::note(out::stderr().dim(format!("{} answers again", self.name())));
        }
    }

    /// Its name in messages.
    pub(super) fn name(&self) -> String {
        match self.is_server() {
            true => format!("the server at {}", self.url),
            false => format!("the entourage at work here (pid {})", self.pid),
        }
    }

    /// Whether it works on this tree, or on anything at all.
    pub(super) fn works_on(&self, tree: Option<AgentId>) -> bool {
        match self.works {
            ServedWork::All => true,
            ServedWork::Tree(one) => tree.is_none() || tree == one,
        }
    }

    /// The failure for an option that only has an effect on an engine in this process.
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

    /// The failure when it does not answer any more.
    pub(super) fn lost(&self, why: &str) -> Failure {
        let Self { url, pid, .. } = self;
        if !self.is_server() {
            let who = format!("the entourage that was at work here (pid {pid}) has ended");
            return Failure::gone(who, "Try again");
        }
        let who = format!("the server at {url} cannot be reached: {why}");
        Failure::gone(who, "Start it with `entourage serve`, or try again")
    }

    /// The failure for something that a command at work on one tree does not do.
    pub(super) fn busy(&self) -> Failure {
        Failure::failed(format!(
            "another entourage (pid {}) is at work here on one task. It can be watched, steered and answered \
             (`entourage tree`); wait for it or stop it to begin something else, or leave `entourage serve` running, \
             with which several commands work at once",
            self.pid
        ))
    }
}

/// Removes the announcing file when dropped.
pub(crate) struct Sign {
    path: PathBuf,
}

impl Sign {
    /// Announces something else from now on.
    pub(super) fn rewrite(&self, running: &Running) -> Result<()> {
        let written = serde_json::to_vec(running).map_err(io::Error::from).and_then(|text| {
            // Written whole or not at all: other commands may read it at any moment.
            let beside = self.path.with_extension("json.new");
            let _ = fs::remove_file(&beside);
            private::open(fs::File::options().create_new(true), &beside)?.write_all(&text)?;
            fs::rename(&beside, &self.path)
        });
        let path = self.path.display();
        written.map_err(|error| Failure::failed(format!("{path} cannot be written: {error}")))
    }
}

impl Drop for Sign {
    fn drop(&mut self) {
        // A file that stays behind names a process that has ended; another one may have announced itself since.
        let announced = self.path.parent().and_then(Running::announced);
        if announced.is_none_or(|running| running.pid == std::process::id()) {
            let _ = fs::remove_file(&self.path);
        }
    }
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

    /// A stream may continue with a server that was restarted at its address for the same data directory, and
    /// with no other server there.
    #[test]
    fn only_a_server_with_the_same_data_and_address_replaces_a_lost_one() {
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
