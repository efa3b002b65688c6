//! CPython under bubblewrap, for code that needs the standard library or packages: a process for each run.
//!
//! The program in `host/` gives the code the same functions, and asks for the same calls, as the
//! built-in interpreter. The parent speaks with it as with a worker of that; between them is one process of this
//! program (`supervise`) which limits it and ends it with its parent.

mod checked;
mod sandbox;
#[cfg(target_os = "linux")]
mod supervise;
#[cfg(target_os = "linux")]
mod system_calls;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::Command;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::error::Error;
use crate::script::Limits;
use crate::workers::WorkerCommand;
pub(crate) use checked::{check, max_reply_bytes};
use sandbox::Sandbox;
#[cfg(target_os = "linux")]
pub(crate) use supervise::supervise;

/// What the last argument of a worker begins with that runs CPython.
pub(crate) const ARGUMENT: &str = "cpython:";

/// How long the interpreter may take to say where it is.
const ASKED: Duration = Duration::from_secs(20);

/// What it is asked: its version, its file, and the folders of its libraries.
const QUESTION: &str = "import sys; print(sys.version_info >= (3, 9)); print(sys.executable); print(sys.prefix); \
                        print(sys.base_prefix); print(sys.exec_prefix); print(sys.base_exec_prefix)";

/// What to do where an interpreter cannot be used.
const OTHER: &str = "set `cpython` under [tools.python] to an interpreter of version 3.9 or newer";

/// What to do where CPython cannot be confined.
const REMEDY: &str = "install Debian's `bubblewrap` (version 0.8 or newer) and allow this user to create user \
                      namespaces, or set `interpreter = \"built-in\"` under [tools.python]";

/// A CPython, and what confines it.
#[derive(Debug, Clone)]
pub struct CPython {
    /// The interpreter, version 3.9 or newer: a path, or a name that is looked up in `PATH`. It may be that of a virtual
    /// environment.
    pub python: PathBuf,
    /// A directory of packages, as `pip install --target` makes it, which code may import from.
    pub packages: Option<PathBuf>,
    /// `bwrap`: a path, or a name that is looked up in `PATH`.
    pub bubblewrap: PathBuf,
}

impl CPython {
    /// This interpreter, under the bubblewrap of `PATH`.
    #[must_use]
    pub fn new(python: impl Into<PathBuf>, packages: Option<PathBuf>) -> Self {
        Self { python: python.into(), packages, bubblewrap: "bwrap".into() }
    }
}

/// A CPython whose folders are known once it was asked.
#[derive(Debug)]
pub(crate) struct Installed {
    settings: CPython,
    /// Forgotten when no process could be started with it: what was installed may have moved.
    found: Mutex<Option<Arc<Found>>>,
}

#[derive(Debug)]
struct Found {
    bubblewrap: PathBuf,
    python: PathBuf,
    /// What of the file system code may read.
    read_only: Vec<PathBuf>,
    packages: Option<PathBuf>,
}

impl Installed {
    pub(crate) fn new(settings: CPython) -> Self {
        Self { settings, found: Mutex::default() }
    }

    /// The command of a process that runs code within these limits.
    pub(crate) async fn command(
        &self,
        worker: &WorkerCommand,
        limits: &Limits,
    ) -> Result<WorkerCommand, Error> {
        let mut known = self.found.lock().await;
        let found = match &*known {
            Some(found) => Arc::clone(found),
            None => Arc::clone(known.insert(Arc::new(find(&self.settings).await?))),
        };
        drop(known);
        let sandbox = Sandbox {
            bubblewrap: found.bubblewrap.clone(),
            python: found.python.clone(),
            read_only: found.read_only.clone(),
            packages: found.packages.clone(),
            cpu_seconds: limits.cpu.as_secs() + u64::from(limits.cpu.subsec_nanos() > 0),
            // As much as its objects may take.
            tmp_bytes: limits.memory_bytes,
        };
        let words = serde_json::to_string(&sandbox).map_err(|error| unconfined(&error))?;
        let mut command = worker.clone();
        command.args.push(OsString::from(format!("{ARGUMENT}{words}")));
        Ok(command)
    }

    /// Has the folders looked for again.
    pub(crate) async fn forget(&self) {
        *self.found.lock().await = None;
    }
}

/// That CPython cannot be confined here.
pub(crate) fn unconfined(why: &impl ToString) -> Error {
    Error::Unconfined { why: why.to_string(), remedy: REMEDY }
}

/// Where the programs are.
async fn find(settings: &CPython) -> Result<Found, Error> {
    if cfg!(not(target_os = "linux")) {
        return Err(unconfined(&"only Linux has what confines it"));
    }
    let bubblewrap = in_path(&settings.bubblewrap)
        .ok_or_else(|| unconfined(&format!("there is no program `{}`", settings.bubblewrap.display())))?;
    if let Some(packages) = settings.packages.as_deref().filter(|packages| !packages.is_dir()) {
        let why = format!("`packages` under [tools.python] is no directory: {}", packages.display());
        return Err(Error::NoPython { why });
    }
    let (python, read_only) = ask(&settings.python).await?;
    // The process that starts bubblewrap is in another directory.
    let bubblewrap = bubblewrap.canonicalize()?;
    let packages = settings.packages.as_deref().map(Path::canonicalize).transpose()?;
    Ok(Found { bubblewrap, python, read_only, packages })
}

/// Asks an interpreter where it is and what it reads. It is the operator's own, and gets no environment but `PATH`.
async fn ask(python: &Path) -> Result<(PathBuf, Vec<PathBuf>), Error> {
    let name = python.display();
    let no = |why: String| Error::NoPython { why: format!("{why}; {OTHER}") };
    let mut command = Command::new(python);
    command.args(["-I", "-c", QUESTION]).stdin(Stdio::null()).kill_on_drop(true).env_clear();
    command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    let asked = timeout(ASKED, command.output()).await;
    let output = asked
        .map_err(|_| no(format!("{name} does not answer")))?
        .map_err(|error| no(format!("{name} cannot be started: {error}")))?;
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut lines = told.lines();
    match lines.next() {
        Some("True") => {}
        Some("False") => return Err(no(format!("{name} is older than Python 3.9"))),
        _ => {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.lines().last().unwrap_or("it says nothing").to_owned();
            return Err(no(format!("{name} is no Python: {last}")));
        }
    }
    let executable = PathBuf::from(lines.next().unwrap_or_default());
    Ok((executable.clone(), sandbox::readable(&executable, lines.map(PathBuf::from))))
}

/// A program's path, if it exists: itself, or where `PATH` or the usual folders have it.
fn in_path(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return program.is_file().then(|| program.to_owned());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders =
        std::env::split_paths(&path).chain(["/usr/bin", "/usr/local/bin", "/bin"].map(PathBuf::from));
    folders.map(|folder| folder.join(program)).find(|file| file.is_file())
}
