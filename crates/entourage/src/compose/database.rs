//! The database of these settings, and engines that read and write rows without running agents.

use std::{path::Path, sync::Arc};

use entourage_engine::{Builder, Engine};
use entourage_llm::Rehearsal;
use entourage_store::{Database, MemoryStore, Store, database::Migrated};
use entourage_store_sqlite::{Durability, SqliteFile};

#[cfg(feature = "postgres")]
use secrecy::ExposeSecret;
use secrecy::SecretString;

use super::{
    by_restate, cluster::Cluster, kinds::loaded_kinds, part::Part, secrets::secret_keys,
    tools::tool_settings, webhooks::outbox,
};
use crate::{
    Error, Result, Settings,
    connect::{named_once, with_servers},
    settings,
};

/// The name of the database in the data directory.
const DATABASE: &str = "entourage.db";

/// The database of these settings, which need not exist yet.
///
/// # Errors
/// [`Error::Settings`] for an address that is none.
pub fn database(settings: &Settings) -> Result<Arc<dyn Database>> {
    Ok(match &settings.store.url {
        Some(url) => shared_database(url, &settings.store)?,
        None => Arc::new(SqliteFile::new(settings.data.join(DATABASE), store_settings(&settings.store))),
    })
}

/// The database that several processes share.
#[cfg(feature = "postgres")]
fn shared_database(url: &SecretString, set: &settings::Store) -> Result<Arc<dyn Database>> {
    use entourage_store_postgres::{Durability, PostgresDatabase};

    let durability = match set.durability {
        settings::Durability::Full => Durability::Full,
        settings::Durability::Normal => Durability::Normal,
    };
    let writers = (set.connections / 2).max(1);
    let readers = set.connections.saturating_sub(writers).max(1);
    let opened = entourage_store_postgres::Settings { durability, writers, readers, ..Default::default() };
    let database = PostgresDatabase::new(url.expose_secret(), opened);
    Ok(Arc::new(database.map_err(|error| Error::Settings {
        place: "store.url, or the variable ENTOURAGE_STORE".to_owned(),
        why: error.to_string(),
    })?))
}

/// A build without the feature `postgres` has none.
#[cfg(not(feature = "postgres"))]
fn shared_database(_: &SecretString, _: &settings::Store) -> Result<Arc<dyn Database>> {
    Err(Error::Settings {
        place: "store.url, or the variable ENTOURAGE_STORE".to_owned(),
        why: "this program was built without PostgreSQL. Build it with the feature `postgres` of entourage, or take the \
              setting out"
            .into(),
    })
}

/// Whether the data directory has a database, or a remainder of one.
///
/// # Errors
/// When that cannot be found out.
pub async fn is_begun(settings: &Settings) -> Result<bool> {
    Ok(database(settings)?.is_begun().await?)
}

/// Migrates the database of these settings to this program's version.
///
/// # Errors
/// When it cannot be opened; it then has its old version, or one in between.
pub async fn migrate(settings: &Settings) -> Result<Migrated> {
    make_directory(&settings.data)?;
    Ok(database(settings)?.migrate().await?)
}

/// Opens the database, and creates it if there is none.
pub(crate) async fn open(settings: &Settings) -> Result<Arc<dyn Store>> {
    make_directory(&settings.data)?;
    Ok(database(settings)?.open().await?)
}

/// An engine to read and write rows: no agent runs in it, and it has no model and no tools.
///
/// # Errors
/// When the database or the kinds cannot be read.
pub async fn look(settings: &Settings) -> Result<Engine> {
    let store = open(settings).await?;
    let store = match by_restate(settings, &settings.cluster) {
        Ok(Some(mut by_restate)) => {
            if let Some(nodes) = store.nodes() {
                by_restate.set_database(nodes.database().await?);
            }
            by_restate.handing_over(store)
        }
        // Who looks can also do so where Restate cannot be used.
        Ok(None) | Err(_) => store,
    };
    let builder = looked_at(settings, Arc::clone(&store))?;
    Ok(match joined(&store, settings).await? {
        Some(cluster) => linked(builder, cluster),
        None => builder.build(),
    })
}

/// An engine that hears of the other nodes, as they of what is done through it, for as long as the program runs.
fn linked(builder: Builder, cluster: Cluster) -> Engine {
    let engine = builder.signals(cluster.signals()).build();
    let linked = engine.clone();
    tokio::spawn(async move { cluster.run(linked).await });
    engine
}

/// Joins the nodes that share the store, if others can, as one at which no agent works.
async fn joined(store: &Arc<dyn Store>, settings: &Settings) -> Result<Option<Cluster>> {
    match store.nodes() {
        Some(nodes) => {
            Ok(Some(Cluster::join(nodes, &settings.cluster, Part::Looks, settings.dispatch.by).await?))
        }
        None => Ok(None),
    }
}

/// Like [`look`], but creates no database: if there is none yet, the engine is empty and keeps nothing.
///
/// # Errors
/// As for [`look`].
pub async fn look_only(settings: &Settings) -> Result<Engine> {
    if is_begun(settings).await? { look(settings).await } else { empty(settings) }
}

/// An engine to read, also where nothing can be written, such as on a read-only disk. It may lose what is
/// written to it.
///
/// # Errors
/// When the database or the kinds cannot be read.
pub async fn read_only(settings: &Settings) -> Result<Engine> {
    if !is_begun(settings).await? {
        return empty(settings);
    }
    let store = database(settings)?.open_to_read().await?;
    let builder = looked_at(settings, Arc::clone(&store))?;
    Ok(match joined(&store, settings).await {
        Ok(Some(cluster)) => linked(builder, cluster),
        // Rows can be read without the others, as those of a replica.
        Ok(None) | Err(_) => builder.build(),
    })
}

fn empty(settings: &Settings) -> Result<Engine> {
    Ok(looked_at(settings, Arc::new(MemoryStore::default()))?.build())
}

fn looked_at(settings: &Settings, store: Arc<dyn Store>) -> Result<Builder> {
    let (kinds, _) = loaded_kinds(settings)?;
    let (outbox, _) = outbox(settings)?;
    let builder = Engine::builder(store, Arc::new(Rehearsal)).kinds(kinds).outbox(outbox);
    // For their switches and secrets: nothing is connected.
    let (servers, _) = named_once(tool_settings(settings).mcp);
    let builder = with_servers(builder, &servers).secret_keys(secret_keys(settings)?);
    Ok(builder.health(settings.health.into()).budgets(settings.budget.clone().into()))
}

fn store_settings(set: &settings::Store) -> entourage_store_sqlite::Settings {
    let durability = match set.durability {
        settings::Durability::Full => Durability::Full,
        settings::Durability::Normal => Durability::Normal,
    };
    entourage_store_sqlite::Settings { durability, migrate: set.migrate, ..Default::default() }
}

/// Creates the data directory, private to its owner: what agents write is private.
fn make_directory(path: &Path) -> Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(|cause| Error::DataDirectory { path: path.to_owned(), cause })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The store's own tests show what each of these settings does.
    #[test]
    fn the_store_opens_with_the_durability_and_migration_settings() {
        let opened = |text: &str| {
            let settings: Settings = toml::from_str(text).expect("valid");
            let chosen = store_settings(&settings.store);
            (chosen.durability, chosen.migrate)
        };
        assert_eq!(opened(""), (Durability::Full, true));
        assert_eq!(opened("store.durability = \"full\""), (Durability::Full, true));
        assert_eq!(opened("store.durability = \"normal\""), (Durability::Normal, true));
        assert_eq!(opened("store.migrate = false"), (Durability::Full, false));
    }
}
