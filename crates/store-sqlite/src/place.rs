//! Whether the file that is open is still the one at its path: what is written to a file that was removed or
//! replaced is gone with the process.

use std::{
    io::ErrorKind,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use entourage_store::Error;

/// How long commits trust that the file is in its place.
const TRUST: Duration = Duration::from_secs(1);

/// Device and number of a file.
type Identity = (u64, u64);

/// Where the open file was when it was opened.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    path: Arc<Path>,
    opened: Result<Identity, ErrorKind>,
    /// When it was last found there.
    found: Option<Instant>,
}

impl Place {
    /// The place of a file that has just been opened.
    pub(crate) fn of(path: &Path) -> Self {
        Self { path: path.into(), opened: identity(path), found: None }
    }

    /// Looks whether the file is still there.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let detail = match identity(&self.path) {
            found if found == self.opened => return Ok(()),
            Ok(_) => "another file is there",
            Err(ErrorKind::NotFound | ErrorKind::NotADirectory) => "no file is there",
            Err(why) => {
                let cause = "its file cannot be looked at while it is open: let the directories above it be entered again";
                return Err(Error::Unavailable { cause, detail: why.to_string() });
            }
        };
        Err(Error::Unavailable {
            cause: "its file was removed, moved or replaced while it is open: put it back, or restart with the \
                    file that is to be used",
            detail: detail.to_owned(),
        })
    }

    /// The same, and trusts for a second what it found: looking costs as much as a small write.
    pub(crate) fn check_at_times(&mut self) -> Result<(), Error> {
        if self.found.is_some_and(|found| found.elapsed() < TRUST) {
            return Ok(());
        }
        self.found = None;
        self.check()?;
        self.found = Some(Instant::now());
        Ok(())
    }

    /// Trusts no more that the file is in its place.
    #[cfg(test)]
    pub(crate) fn doubt(&mut self) {
        self.found = None;
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> Result<Identity, ErrorKind> {
    use std::os::unix::fs::MetadataExt;

    std::fs::metadata(path).map(|file| (file.dev(), file.ino())).map_err(|error| error.kind())
}

/// Whether there is any file.
#[cfg(not(unix))]
fn identity(path: &Path) -> Result<Identity, ErrorKind> {
    std::fs::metadata(path).map(|_| (0, 0)).map_err(|error| error.kind())
}
