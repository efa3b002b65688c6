//! Connections: the address of a database, its certificates, and pools.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use deadpool_postgres::{
    Client, Hook, Manager, ManagerConfig, Object, Pool, PoolConfig, PoolError, QueueMode, RecyclingMethod,
    Runtime, Timeouts,
};
use entourage_store::{Error, Result};
use entourage_types::Backoff;
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};
use tokio_postgres::{
    Row,
    config::{Host, SslMode},
    error::SqlState,
};
use tokio_postgres_rustls::MakeRustlsConnect;
use url::Url;

use crate::{AGAIN, fault, settings::Settings, statement::Statement};

/// How long a server may stay silent that has something to acknowledge.
const SILENT: Duration = Duration::from_secs(10);
/// The name under which the server lists the connections.
const NAME: &str = "entourage";

/// The pauses after which a pool looks again for a connection, while its server takes no more.
const FULL: Backoff = Backoff::new(Duration::from_millis(20), Duration::from_millis(500));

/// Where connections come from.
pub(crate) trait Connections {
    /// A connection, once there is one.
    fn connection(&self) -> impl Future<Output = std::result::Result<Client, PoolError>> + Send;
}

impl Connections for Pool {
    /// Where the server takes no more, waits for those that there are, as a pool does that has all it may have.
    async fn connection(&self) -> std::result::Result<Client, PoolError> {
        let end = Instant::now() + self.timeouts().wait.unwrap_or_default();
        let mut tries = 0;
        loop {
            match self.get().await {
                Err(error) if is_full(&error) && self.status().size > 0 && Instant::now() < end => {
                    tries += 1;
                    tokio::time::sleep(FULL.after(tries)).await;
                }
                found => return found,
            }
        }
    }
}

/// A connection for what must not wait for others, and those of a pool where the server does not even take that one.
#[derive(Clone)]
pub(crate) struct Own {
    own: Pool,
    others: Pool,
}

impl Own {
    /// From a pool of one connection.
    pub(crate) fn new(own: Pool, others: Pool) -> Self {
        Self { own, others }
    }
}

impl Connections for Own {
    async fn connection(&self) -> std::result::Result<Client, PoolError> {
        match self.own.get().await {
            Err(error) if is_full(&error) => self.others.connection().await,
            found => found,
        }
    }
}

/// Whether the server takes no more connections.
fn is_full(error: &PoolError) -> bool {
    matches!(error, PoolError::Backend(error) if error.code() == Some(&SqlState::TOO_MANY_CONNECTIONS))
}

/// Does something on a connection, which may be done twice: on another one if the connection is lost.
pub(crate) async fn on<T, W: Future<Output = fault::Result<T>>>(
    connections: &impl Connections,
    work: impl Fn(Arc<Client>) -> W,
) -> fault::Result<T> {
    let mut tries = 0;
    loop {
        let client = Arc::new(connections.connection().await?);
        match work(Arc::clone(&client)).await {
            Err(fault) if fault.is_lost() && tries < AGAIN => {
                tries += 1;
                drop(Arc::into_inner(client).map(Object::take));
            }
            done => return done,
        }
    }
}

/// Runs a query on a connection.
pub(crate) async fn query(
    connections: &impl Connections,
    query: impl Fn() -> Statement,
) -> fault::Result<Vec<Row>> {
    let run = |client: Arc<Client>| {
        let query = query();
        async move { query.rows(&client).await }
    };
    on(connections, run).await
}

/// The address of a database: a URL that may hold a password, which is never shown.
#[derive(Clone)]
pub(crate) struct Address {
    config: tokio_postgres::Config,
    /// The certificates that sign the server's, as a file, if not those of the system.
    roots: Option<PathBuf>,
    place: String,
}

impl Address {
    /// Reads a URL: `postgres://user:password@host:port/database`, with the parameters of `tokio-postgres` and
    /// `sslrootcert`, a file of certificates.
    pub(crate) fn parse(url: &str) -> Result<Self> {
        let unusable = |why: String| Error::Unusable { path: "the address of the database".to_owned(), why };
        let mut parsed = Url::parse(url).map_err(|error| unusable(format!("it is no URL: {error}")))?;
        let roots =
            parsed.query_pairs().find(|(name, _)| name == "sslrootcert").map(|(_, file)| file.into_owned());
        if roots.is_some() {
            let others: Vec<(String, String)> = parsed
                .query_pairs()
                .filter(|(name, _)| name != "sslrootcert")
                .map(|(n, v)| (n.into(), v.into()))
                .collect();
            parsed.query_pairs_mut().clear().extend_pairs(others);
        }
        let mut config: tokio_postgres::Config =
            parsed.as_str().parse().map_err(|error: tokio_postgres::Error| {
                unusable(format!("it is no address of PostgreSQL: {}", crate::fault::described(&error)))
            })?;
        if config.get_application_name().is_none() {
            config.application_name(NAME);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(std::time::Duration::from_secs(5));
        }
        // A server whose machine is gone without a word answers neither; the operating system would wait a quarter of an hour.
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(SILENT).keepalives_idle(SILENT);
        }
        let host = match config.get_hosts().first() {
            Some(Host::Tcp(host)) => host.clone(),
            #[cfg(unix)]
            Some(Host::Unix(path)) => path.display().to_string(),
            None => return Err(unusable("it names no host".to_owned())),
        };
        let port = config.get_ports().first().map(|port| format!(":{port}")).unwrap_or_default();
        let place = format!("postgres://{host}{port}/{}", config.get_dbname().unwrap_or_default());
        Ok(Self { config, roots: roots.map(PathBuf::from), place })
    }

    /// Where it is, without secrets.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// The failure to use it.
    pub(crate) fn unusable(&self, why: impl ToString) -> Error {
        Error::Unusable { path: self.place.clone(), why: why.to_string() }
    }

    /// A pool of at most this many connections. None is made yet.
    pub(crate) fn pool(&self, size: usize, settings: &Settings) -> Result<Pool> {
        let method = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(self.config.clone(), self.tls()?, method);
        let wait = Some(settings.patience);
        let timeouts = Timeouts { wait, create: wait, recycle: wait };
        Pool::builder(manager)
            .config(PoolConfig { max_size: size.max(1), timeouts, queue_mode: QueueMode::Lifo })
            .runtime(Runtime::Tokio1)
            .post_create(Hook::sync_fn(|_, _| {
                metrics::counter!("entourage_store_postgres_connections").increment(1);
                Ok(())
            }))
            .build()
            .map_err(|error| Error::Database(error.to_string()))
    }

    /// What checks the server's certificate, if the connection is encrypted.
    fn tls(&self) -> Result<MakeRustlsConnect> {
        let mut roots = RootCertStore::empty();
        if let Some(file) = &self.roots {
            let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
            let certificates =
                read.map_err(|error| self.unusable(format!("{} cannot be read: {error}", file.display())))?;
            roots.add_parsable_certificates(certificates);
        } else if self.config.get_ssl_mode() != SslMode::Disable {
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
        }
        let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::Database(error.to_string()))?;
        Ok(MakeRustlsConnect::new(config.with_root_certificates(roots).with_no_client_auth()))
    }
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Address").field(&self.place).finish()
    }
}
