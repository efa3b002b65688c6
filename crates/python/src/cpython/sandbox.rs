//! What code in CPython sees of the system: the words of bubblewrap's command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What every program needs: the system's libraries, what finds them, and the time zones. No other file is there, not
/// even a shell.
const LIBRARIES: [&str; 8] = [
    "/lib",
    "/lib32",
    "/lib64",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/etc/ld.so.cache",
    "/usr/share/zoneinfo",
];

/// Where packages of the system's own interpreter are, beside its libraries.
const LOCAL: &str = "/usr/local/lib";

/// Where the operator's packages are, inside.
const PACKAGES: &str = "/packages";

/// How many links are followed to an interpreter.
const MAX_LINKS: usize = 16;

/// Where the program is that runs code, inside.
const HOST: &str = "/host.py";

/// A sandbox, as the parent tells its process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Sandbox {
    pub(super) bubblewrap: PathBuf,
    pub(super) python: PathBuf,
    /// What of the file system can be read, under its own name.
    pub(super) read_only: Vec<PathBuf>,
    pub(super) packages: Option<PathBuf>,
    /// Seconds of processor time after which the system ends the process.
    pub(super) cpu_seconds: u64,
    /// Bytes of files in `/tmp`.
    pub(super) tmp_bytes: u64,
}

/// What an interpreter reads: its file, and the folders where its libraries are.
pub(super) fn readable(executable: &Path, prefixes: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = LIBRARIES.iter().map(PathBuf::from).collect();
    for prefix in prefixes {
        // Of the system's own folders, programs and what others put there stay outside.
        paths.push(if prefix == Path::new("/usr") { LOCAL.into() } else { prefix });
    }
    // The file may be a link, as in a virtual environment, and that to another.
    let mut link = Some(executable.to_owned());
    for _ in 0..MAX_LINKS {
        let Some(file) = link else { break };
        link = file.read_link().ok().and_then(|target| Some(file.parent()?.join(target)));
        if !paths.iter().any(|folder| file.starts_with(folder)) {
            paths.push(file);
        }
    }
    paths.sort();
    paths.dedup();
    paths
}

impl Sandbox {
    /// The arguments of bubblewrap. The host's text and the filter of system calls are files that are open under these
    /// numbers.
    #[cfg(target_os = "linux")]
    pub(super) fn arguments(&self, host: i32, filter: i32) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        let mut add = |some: &[&str]| words.extend(some.iter().map(OsString::from));
        // Namespaces of its own, in which it is nobody; it ends with its parent, and has no terminal.
        add(&["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]);
        add(&["--unshare-cgroup-try", "--uid", "65534", "--gid", "65534", "--hostname", "python"]);
        add(&["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]);
        // The same order of sets on each run.
        for (name, value) in [
            ("PYTHONHASHSEED", "0"),
            ("PYTHONDONTWRITEBYTECODE", "1"),
            ("PYTHONNOUSERSITE", "1"),
            ("PYTHONUTF8", "1"),
            ("LANG", "C.UTF-8"),
            // Libraries of packages start no threads of their own.
            ("OPENBLAS_NUM_THREADS", "1"),
            ("OMP_NUM_THREADS", "1"),
            ("MKL_NUM_THREADS", "1"),
        ] {
            add(&["--setenv", name, value]);
        }
        // The root is empty and read-only; there is neither /proc nor /sys, and no device: if root runs this, code could
        // change the modes of those it sees. What code writes to this name, it writes to its own tmp.
        add(&["--symlink", "/tmp/null", "/dev/null"]);
        add(&["--ro-bind-data", &host.to_string(), HOST]);
        add(&["--size", &self.tmp_bytes.max(1).to_string(), "--tmpfs", "/tmp", "--chdir", "/tmp"]);
        for path in &self.read_only {
            words.extend(["--ro-bind-try".into(), path.into(), path.into()]);
        }
        if let Some(packages) = &self.packages {
            words.extend(["--ro-bind".into(), packages.into(), PACKAGES.into()]);
        }
        words.extend(["--remount-ro", "/", "--seccomp", &filter.to_string(), "--"].map(OsString::from));
        words.extend([self.python.clone().into(), HOST.into()]);
        words
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn words(packages: Option<PathBuf>) -> Vec<String> {
        let sandbox = Sandbox {
            bubblewrap: "/usr/bin/bwrap".into(),
            python: "/usr/bin/python3".into(),
            read_only: vec!["/usr/lib".into()],
            packages,
            cpu_seconds: 10,
            tmp_bytes: 8,
        };
        sandbox.arguments(3, 4).into_iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    /// The filter of system calls refuses most of it too, so no code can show that these are there.
    #[test]
    fn code_has_namespaces_of_its_own_no_privileges_and_nothing_that_it_could_write_to_but_tmp() {
        let words = words(Some("/srv/packages".into()));
        let end = words.iter().position(|word| word == "--").unwrap_or(0);
        assert_eq!(words[end + 1..], ["/usr/bin/python3", HOST]);
        let has = |some: &[&str]| words[..end].windows(some.len()).any(|words| words == some);
        for namespace in ["user", "ipc", "pid", "net", "uts"] {
            assert!(has(&[&format!("--unshare-{namespace}")]), "{namespace}");
        }
        assert!(has(&["--cap-drop", "ALL"]) && has(&["--clearenv"]) && has(&["--new-session"]));
        assert!(has(&["--die-with-parent"]) && has(&["--remount-ro", "/"]) && has(&["--seccomp", "4"]));
        assert!(has(&["--ro-bind", "/srv/packages", PACKAGES]) && has(&["--size", "8", "--tmpfs", "/tmp"]));
        for word in ["--bind", "--bind-try", "--proc", "--dev", "--dev-bind", "--share-net", "--cap-add"] {
            assert!(!has(&[word]), "{word}");
        }
    }
}
