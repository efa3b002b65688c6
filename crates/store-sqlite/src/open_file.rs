//! Checks whether the open file is still the one at its path: what is written to a file that was removed or
//! replaced is lost when the process ends.

use std::{
    io::ErrorKind,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use entourage_store::Error;

/// How long commits trust that the file is in its place.
const TRUST: Duration = Duration::from_secs(1);

/// Device and inode of a file.
type Identity = (u64, u64);

/// Where the open file was when it was opened.
#[derive(Debug, Clone)]
pub(crate) struct OpenFile {
    path: Arc<Path>,
    opened: Result<Identity, ErrorKind>,
    /// When it was last found there.
    found: Option<Instant>,
}

impl OpenFile {
    /// The place of a file that has just been opened.
    pub(crate) fn of(path: &Path) -> Self {
        Self { path: path.into(), opened: identity(path), found: None }
    }

    /// Checks that the file is still in its place.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let detail = match identity(&self.path) {
            found if found == self.opened => return Ok(()),
            Ok(_) => "another file is there",
            Err(ErrorKind::NotFound | ErrorKind::NotADirectory) => "no file is there",
            Err(why) => {
                let cause = "its file cannot be accessed while it is open: make the directories above it \
                             accessible again";
                return Err(Error::Unavailable { cause, detail: why.to_string() });
            }
        };
        Err(Error::Unavailable {
            cause: "its file was removed, moved or replaced while it is open: move it back, or restart with \
                    the file to use",
            detail: detail.to_owned(),
        })
    }

    /// Like [`check`](Self::check), but trusts a success for a second: a check costs as much as a small
    /// write.
    pub(crate) fn check_at_times(&mut self) -> Result<(), Error> {
        if self.found.is_some_and(|found| found.elapsed() < TRUST) {
            return Ok(());
        }
        self.found = None;
        self.check()?;
        self.found = Some(Instant::now());
        Ok(())
    }

    /// Stops trusting that the file is in its place.
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

/// Distinguishes only whether a file exists.
#[cfg(not(unix))]
fn identity(path: &Path) -> Result<Identity, ErrorKind> {
    std::fs::metadata(path).map(|_| (0, 0)).map_err(|error| error.kind())
}
