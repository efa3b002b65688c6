//! A database of a PostgreSQL server, before it is opened and without being opened.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use deadpool_postgres::Client;
use entourage_store::{
    Database, Result, Store,
    database::{Health, Migrated, Progress},
};

use crate::{
    PostgresStore, PostgresTarget,
    connect::{Address, on},
    fault::Fault,
    migrate::{self, Contents, LATEST},
    settings::Settings,
    transaction::Transaction,
};

/// A database of a PostgreSQL server.
#[derive(Debug, Clone)]
pub struct PostgresDatabase {
    address: Address,
    settings: Settings,
}

impl PostgresDatabase {
    /// The database at this URL, `postgres://user:password@host:port/database`, opened with these settings. Beside the
    /// parameters that PostgreSQL's own programs know, such as `sslmode=require`, it may have `sslrootcert`, a file with
    /// the certificates that sign the server's. A server's certificate is always checked.
    ///
    /// # Errors
    /// [`Error::Unusable`](entourage_store::Error::Unusable) if it is no such URL.
    pub fn new(url: &str, settings: Settings) -> Result<Self> {
        Ok(Self { address: Address::parse(url)?, settings })
    }

    /// Opens it for as long as the store is there. Creates the tables if the database has none; it is to exist.
    ///
    /// # Errors
    /// [`Error::Unusable`](entourage_store::Error::Unusable) if it has tables of another program or of another version, and what connecting returns.
    pub async fn connect(&self) -> Result<PostgresStore> {
        let store = PostgresStore::new(&self.address, &self.settings)?;
        let client = store.shared.writers.get().await.map_err(Fault::from)?;
        let contents = match migrate::contents(&client).await? {
            Contents::Nothing => match migrate::run(&client).await? {
                Contents::Nothing => Contents::Ours(LATEST),
                // Another program was faster.
                other => other,
            },
            other => other,
        };
        drop(client);
        self.check(contents)?;
        // Each pool has one from now on, however many the server takes later.
        drop(store.shared.readers.get().await.map_err(Fault::from)?);
        Ok(store)
    }

    /// Takes all rows of another store, if it has none itself; others wait, and see none of them before their end. Creates
    /// the tables if there are none.
    ///
    /// # Errors
    /// As for [`connect`](Self::connect), and [`Error::Unusable`](entourage_store::Error::Unusable) if it has rows.
    pub async fn target(&self) -> Result<PostgresTarget> {
        drop(self.connect().await?);
        PostgresTarget::begin(Transaction::on(self.client().await?), self.place()).await
    }

    /// Refuses what this program does not work with.
    fn check(&self, contents: Contents) -> Result<()> {
        let version = match contents {
            Contents::Nothing => return Err(self.address.unusable("it has no tables yet")),
            Contents::Foreign => {
                let why =
                    "it has tables of another program. Create a database for this one alone, with `createdb`";
                return Err(self.address.unusable(why));
            }
            Contents::Ours(version) => version,
        };
        if version > LATEST {
            return Err(self.address.unusable(format!(
                "it is of version {version}, and this program knows versions up to {LATEST}. Use the program that \
                 made it, or a newer one"
            )));
        }
        if version < LATEST {
            return Err(self.address.unusable(format!(
                "it is of version {version}, and this program works with version {LATEST}. `entourage migrate` brings \
                 it there; older programs cannot use it afterwards"
            )));
        }
        Ok(())
    }

    async fn client(&self) -> Result<Client> {
        let pool = self.address.pool(1, &self.settings)?;
        pool.get().await.map_err(|error| Fault::from(error).into())
    }
}

#[async_trait]
impl Database for PostgresDatabase {
    fn place(&self) -> String {
        self.address.place().to_owned()
    }

    /// None on this machine.
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    async fn is_begun(&self) -> Result<bool> {
        Ok(migrate::contents(&self.client().await?).await? != Contents::Nothing)
    }

    async fn open(&self) -> Result<Arc<dyn Store>> {
        Ok(Arc::new(self.connect().await?))
    }

    /// Also a replica, which takes no commits.
    async fn open_to_read(&self) -> Result<Arc<dyn Store>> {
        let store = PostgresStore::new(&self.address, &self.settings)?;
        let contents =
            on(&store.shared.writers, |client| async move { migrate::contents(&client).await }).await?;
        self.check(contents)?;
        Ok(Arc::new(store))
    }

    async fn migrate(&self) -> Result<Migrated> {
        let before = migrate::run(&self.client().await?).await?;
        let version = match before {
            Contents::Nothing => None,
            Contents::Ours(version) if version <= LATEST => Some(version),
            other => return self.check(other).map(|()| Migrated { before: None, version: LATEST }),
        };
        Ok(Migrated { before: version, version: LATEST })
    }

    /// Always refused: the server's own programs back it up.
    async fn copy(&self, _to: &Path, _progress: Progress) -> Result<u64> {
        let why =
            "a database of a server is not copied into a file. Back it up with `pg_basebackup` or `pg_dump`";
        Err(self.address.unusable(why))
    }

    /// Reads nothing: `pg_amcheck` does.
    async fn health(&self) -> Result<Health> {
        drop(self.client().await?);
        Ok(Health::OfServer("pg_amcheck"))
    }
}
