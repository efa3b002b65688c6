//! The server that runs for a data directory: how it says so, and how it is found.

use std::{
    fs, io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::{Result, remote};
use crate::cli::failure::Failure;

/// The file in the data directory by which a server is found.
const FILE: &str = "server.json";
/// How long a server on this machine may take to say that it is there.
const PATIENCE: Duration = Duration::from_millis(1000);

/// A server that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Running {
    /// Where it answers, without a slash at the end.
    pub(crate) url: String,
    /// Its process.
    pub(crate) pid: u32,
}

impl Running {
    /// This process, listening at an address.
    pub(crate) fn here(address: SocketAddr) -> Self {
        // Whoever listens everywhere is also here.
        let ip = match address.ip() {
            ip if !ip.is_unspecified() => ip,
            ip if ip.is_ipv4() => Ipv4Addr::LOCALHOST.into(),
            _ => Ipv6Addr::LOCALHOST.into(),
        };
        let address = SocketAddr::new(ip, address.port());
        Self { url: format!("http://{address}"), pid: std::process::id() }
    }

    /// The server of a data directory, if one runs and answers.
    pub(crate) async fn find(data: &Path) -> Option<Self> {
        let text = fs::read_to_string(data.join(FILE)).ok()?;
        let running: Self = serde_json::from_str(&text).ok()?;
        // A file that a crash left behind leads nowhere, or to whoever has the port now.
        if !is_alive(running.pid) {
            return None;
        }
        let client = remote::client(Some(PATIENCE)).ok()?;
        let answer = client.get(format!("{}/healthz", running.url)).send().await.ok()?;
        answer.status().is_success().then_some(running)
    }

    /// Tells other commands of this server until the returned sign is dropped.
    pub(crate) fn announce(&self, data: &Path) -> Result<Sign> {
        let path = data.join(FILE);
        let written = serde_json::to_vec(self).map_err(io::Error::from).and_then(|text| {
            // Whole or not at all: others read it at any moment.
            let beside = data.join(format!("{FILE}.new"));
            fs::write(&beside, text)?;
            fs::rename(&beside, &path)
        });
        match written {
            Ok(()) => Ok(Sign { path }),
            Err(error) => Err(Failure::failed(format!("{} cannot be written: {error}", path.display()))),
        }
    }

    /// An option that only makes sense for a house in this process.
    pub(crate) fn in_the_way(&self, option: &str) -> Failure {
        Failure::usage(format!(
            "{option} has no effect on the server that runs for this data directory (pid {}). Set it there, stop \
             the server, or name another --data",
            self.pid
        ))
    }
}

/// The file is there as long as this is.
pub(crate) struct Sign {
    path: PathBuf,
}

impl Drop for Sign {
    fn drop(&mut self) {
        // One that stays behind names a process that is gone.
        let _ = fs::remove_file(&self.path);
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
