//! A database file, before it is opened and without being opened.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use entourage_store::{
    Database, Error, Result, Store,
    database::{Health, Migrated, Progress},
};

use crate::{Settings, SqliteStore, copy::copy, health::damage, open};

/// The largest file that a search for damage reads, in bytes: a second or two.
const READ_ALL: u64 = 1 << 30;

/// A database file at a path.
#[derive(Debug, Clone)]
pub struct SqliteFile {
    path: PathBuf,
    settings: Settings,
}

impl SqliteFile {
    /// The file at this path, opened with these settings.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, settings: Settings) -> Self {
        Self { path: path.into(), settings }
    }

    /// The name of a file beside it.
    fn beside(&self, end: &str) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Runs what blocks the thread.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let own = self.clone();
        tokio::task::spawn_blocking(move || work(&own)).await.map_err(|_| Error::Closed)?
    }
}

#[async_trait]
impl Database for SqliteFile {
    fn place(&self) -> String {
        self.path.display().to_string()
    }

    fn files(&self) -> Vec<PathBuf> {
        ["", "-wal", "-shm", ".lock"].map(|end| self.beside(end)).into()
    }

    async fn is_begun(&self) -> Result<bool> {
        Ok([self.path.clone(), self.beside("-wal")].iter().any(|file| file.try_exists().unwrap_or(true)))
    }

    async fn open(&self) -> Result<Arc<dyn Store>> {
        self.blocking(|file| {
            Ok(Arc::new(SqliteStore::open(&file.path, file.settings.clone())?) as Arc<dyn Store>)
        })
        .await
    }

    async fn open_to_read(&self) -> Result<Arc<dyn Store>> {
        self.blocking(|file| {
            Ok(Arc::new(SqliteStore::open_to_read(&file.path, file.settings.clone())?) as Arc<dyn Store>)
        })
        .await
    }

    async fn migrate(&self) -> Result<Migrated> {
        self.blocking(|file| {
            let before = open::version_of(&file.path)?.filter(|version| *version > 0);
            drop(SqliteStore::open(&file.path, Settings { migrate: true, ..file.settings.clone() })?);
            Ok(Migrated { before, version: crate::VERSION })
        })
        .await
    }

    async fn copy(&self, to: &Path, progress: Progress) -> Result<u64> {
        let to = to.to_owned();
        self.blocking(move |file| copy(&file.path, to, progress)).await
    }

    async fn health(&self) -> Result<Health> {
        self.blocking(|file| {
            if fs::metadata(&file.path).is_ok_and(|found| found.len() > READ_ALL) {
                return Ok(Health::TooLarge);
            }
            Ok(damage(&file.path)?.map_or(Health::Intact, Health::Damaged))
        })
        .await
    }
}
