//! Checks this machine: settings, data, database, server, kinds.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use entourage::{Error, Settings, settings::FILE};
use entourage_engine::kinds::Severity;
use entourage_server::{Auth, check_auth, check_registration};
use entourage_store::{Database, Error as StoreError, database::Health};

use super::{Finding, broken, good, remark};
use crate::cli::{
    backend::{Backend, Result, Running},
    kinds, serve,
};

/// The size of a small commit, in bytes.
const PROBE: usize = 64 * 1024;

/// Which file the settings came from.
pub(super) fn settings(settings: &Settings) -> Vec<Finding> {
    let path = settings.file.clone().unwrap_or_else(|| settings.data.join(FILE));
    let place = path.display();
    let found = match path.exists() {
        true => good("settings", place.to_string()),
        false => good(
            "settings",
            format!("the defaults; to change them, edit {place}, which `entourage init` writes"),
        ),
    };
    let ignored = settings.ignored.iter().map(|ignored| remark("settings", ignored));
    std::iter::once(found).chain(ignored).collect()
}

/// Whether the data directory can be written.
pub(super) fn data(settings: &Settings) -> Finding {
    let shown = settings.data.display();
    if !settings.data.exists() {
        return good("data", format!("{shown} is created at the first run"));
    }
    let probe = settings.data.join(format!(".doctor-{}", std::process::id()));
    // Writes bytes that need space: an empty file can be created on a full disk.
    let written = fs::File::create(&probe).and_then(|mut file| {
        file.write_all(&vec![b'.'; PROBE])?;
        file.sync_all()
    });
    // A file that could not be created need not be removed.
    let _ = fs::remove_file(&probe);
    match written {
        Err(error) if error.kind() == io::ErrorKind::StorageFull => broken(
            "data",
            format!(
                "the disk of {shown} is full: {error}. Free some space; agents continue where they stopped"
            ),
        ),
        Ok(()) => match open_to_others(settings) {
            Some(path) => remark(
                "data",
                format!("other users of this machine can read {0}: `chmod 600 {0}`", path.display()),
            ),
            None => good("data", format!("{shown} is writable")),
        },
        Err(error) => broken(
            "data",
            format!("{shown} cannot be written: {error}. Make it writable, or name another with --data"),
        ),
    }
}

/// A file of the database that users other than its owner may read, in a directory that they may enter.
#[cfg(unix)]
fn open_to_others(settings: &Settings) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;

    let is_open = |path: &Path| fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o077 != 0);
    let files = entourage::database(settings).map(|database| database.files()).unwrap_or_default();
    files.into_iter().find(|file| is_open(&settings.data) && is_open(file))
}

/// File permissions are not checked on this system.
#[cfg(not(unix))]
fn open_to_others(_: &Settings) -> Option<PathBuf> {
    None
}

/// Whether a server runs, or how the next one would.
pub(super) fn server(settings: &Settings, running: Option<&Running>) -> Finding {
    let server = &settings.server;
    let auth = serve::auth(server);
    if let Err(error) = check_auth(&server.auth).and_then(|()| check_registration(server)) {
        return broken("server", error.to_string());
    }
    match running {
        Some(running) if !running.is_server() => {
            good("server", format!("does not run; another command is at work (pid {})", running.pid))
        }
        Some(Running { url, pid, .. }) => good("server", format!("runs at {url} (pid {pid})")),
        None if matches!(server.auth, Auth::None) && !server.bind.ip().is_loopback() => broken(
            "server",
            format!(
                "{} is not loopback and needs authentication: set [server.auth.jwt], or bind 127.0.0.1",
                server.bind
            ),
        ),
        None => good("server", format!("does not run; would listen at {}, auth {auth}", server.bind)),
    }
}

/// That a process has the database open.
pub(super) fn in_use(running: &Running) -> Finding {
    good("database", format!("in use by process {}", running.pid))
}

/// Whether the database opens, and an engine to read it with if it does.
pub(super) async fn database(
    settings: &Settings,
    running: Option<&Running>,
    repair: bool,
) -> Result<(Finding, Option<Backend>)> {
    if let Some(running) = running {
        let backend = Backend::there(running, settings)?;
        return Ok((in_use(running), Some(backend)));
    }
    let place = match entourage::database(settings) {
        Ok(place) => place,
        Err(error) => return Ok((broken("database", error.to_string()), None)),
    };
    match place.is_begun().await {
        Ok(true) => {}
        Ok(false) => return Ok((good("database", "is created at the first run"), None)),
        Err(error) => return Ok((broken("database", format!("{}: {error}", place.place())), None)),
    }
    let finding = match entourage::look(settings).await {
        Ok(engine) => {
            return Ok((whole(&*place).await, Some(Backend::at(engine)?)));
        }
        // Another process that works there is no fault, unless the file must be repaired.
        Err(Error::Store(error @ StoreError::InUse { .. })) if !repair => {
            remark("database", error.to_string())
        }
        Err(Error::Engine(_)) => remark("database", "not checked, because the kinds cannot be read"),
        Err(error) => broken("database", error.to_string()),
    };
    Ok((finding, None))
}

/// Whether every page of a database that opens can be read.
async fn whole(database: &dyn Database) -> Finding {
    let shown = database.place();
    let damaged = |why: String| {
        let next = "Stop every program that works on it, move it and its `-wal` file away, and restore a copy \
                    that `entourage backup` wrote (docs/operations.md)";
        broken("database", format!("{shown} is damaged: {why}. {next}"))
    };
    match database.health().await {
        Ok(Health::Intact) => good("database", format!("{shown} is intact")),
        Ok(Health::TooLarge) => {
            good("database", format!("{shown} opens; it is too large to read in full here"))
        }
        Ok(Health::OfServer(program)) => {
            good("database", format!("{shown} opens; `{program}` reads it whole"))
        }
        Ok(Health::Damaged(why)) => damaged(why),
        Err(error) => damaged(error.to_string()),
    }
}

/// Checks the files of kinds, as `entourage kinds check` does.
pub(super) async fn kinds(settings: &Settings) -> Vec<Finding> {
    let (kinds, findings, unpriced) = match kinds::checked(settings).await {
        Ok(checked) => checked,
        Err(error) => return vec![broken("kinds", error.to_string())],
    };
    let wrong = findings.into_iter().map(|finding| match finding.severity {
        Severity::Mistake => broken("kinds", finding.to_string()),
        Severity::Remark => remark("kinds", finding.to_string()),
    });
    let unpriced = unpriced.map(|error| remark("kinds", format!("cost limits were not checked: {error}")));
    std::iter::once(good("kinds", kinds.names())).chain(wrong).chain(unpriced).collect()
}
