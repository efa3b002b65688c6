//! Where the rows of a store are: what is asked of it before a store is opened, and without one.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;

use crate::{Result, Store};

/// A place for the rows of a store, such as a file or the address of a server. It need not exist yet.
#[async_trait]
pub trait Database: Send + Sync + 'static {
    /// Where it is, for people; without secrets.
    fn place(&self) -> String;

    /// The files of a database on this machine, existing or not. None of a database elsewhere.
    fn files(&self) -> Vec<PathBuf>;

    /// Whether anything is there, if only in part.
    async fn is_begun(&self) -> Result<bool>;

    /// Opens it, and creates it if there is none.
    ///
    /// # Errors
    /// [`Error::InUse`](crate::Error::InUse) and [`Error::Unusable`](crate::Error::Unusable).
    async fn open(&self) -> Result<Arc<dyn Store>>;

    /// Opens it to be read, also where it cannot be written. What is written through this store may be lost.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    async fn open_to_read(&self) -> Result<Arc<dyn Store>>;

    /// Migrates it to the version of this program, and creates it if there is none.
    ///
    /// # Errors
    /// As for [`open`](Self::open); it then has its old version, or one in between.
    async fn migrate(&self) -> Result<Migrated>;

    /// Copies it into a new file while others may write to it: one snapshot, of whole commits only. Calls
    /// `progress` now and then. Returns the size of the copy in bytes.
    ///
    /// # Errors
    /// If there is no database, or the file exists already or cannot be written. No file is left then.
    async fn copy(&self, to: &Path, progress: Progress) -> Result<u64>;

    /// Reads it whole to find damage, while no process works on it.
    ///
    /// # Errors
    /// If it cannot be opened or read at all.
    async fn health(&self) -> Result<Health>;
}

/// The versions before and after a migration. A version is the number of migrations that a database has had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migrated {
    /// None if there was no database.
    pub before: Option<u32>,
    /// The version of this program.
    pub version: u32,
}

/// Receives the progress of a copy.
pub type Progress = Box<dyn FnMut(Copied) + Send>;

/// The progress of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    /// Bytes written so far.
    pub bytes: u64,
    /// Bytes of the original; the copy is a little smaller.
    pub of: u64,
}

/// What a search for damage found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// Nothing.
    Intact,
    /// Too much to read it for this.
    TooLarge,
    /// It is of a server, whose own program with this name reads it whole.
    OfServer(&'static str),
    /// This.
    Damaged(String),
}
