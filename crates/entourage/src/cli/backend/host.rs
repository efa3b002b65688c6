//! Serves the engine of this process to other commands while it works: over a loopback port that requires a
//! token, which is in a file that only its owner can read.

use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use entourage::{Engine, Settings};
use entourage_server::{Algorithm, Auth, Jwt};
use entourage_types::AgentId;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{
    Result, Running, owner,
    running::{ServedWork, Sign},
};
use crate::cli::failure::Failure;

/// How long running requests may take to end once the work is over.
const GRACE: Duration = Duration::from_secs(1);
/// How long the token is valid: longer than any command runs.
const LIFE: Duration = Duration::from_secs(52 * 7 * 24 * 60 * 60);

/// The engine of this process, for other commands.
pub(super) struct Host {
    running: Running,
    sign: Sign,
    shutdown: CancellationToken,
    serving: JoinHandle<()>,
}

impl Host {
    /// Opens the port and announces it to other commands.
    pub(super) async fn open(engine: Engine, settings: &Settings) -> Result<Self> {
        let jwt = Jwt {
            algorithm: Algorithm::Hs256,
            key: secret()?.into(),
            operator: None,
            audience: None,
            issuer: None,
        };
        let server = entourage_server::Settings {
            auth: Auth::Jwt(jwt),
            grace: GRACE,
            webhooks: BTreeMap::new(),
            ..settings.server.clone()
        };
        let token = entourage_server::mint(&server, &owner(), LIFE)?;
        let listener = entourage_server::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
        let address = listener.local_addr().map_err(|error| Failure::failed(error.to_string()))?;
        let (works, heartbeat) = (ServedWork::Tree(None), server.heartbeat);
        let running = Running { token: Some(token), works, heartbeat, ..Running::here(address) };
        let sign = running.announce(&settings.data)?;
        let shutdown = CancellationToken::new();
        let until = shutdown.clone();
        let serving = tokio::spawn(async move {
            if let Err(error) = entourage_server::serve(listener, engine, server, until).await {
                tracing::warn!(%error, "other commands cannot reach this one any more");
            }
        });
        Ok(Self { running, sign, shutdown, serving })
    }

    /// Announces the tree that this process works on.
    pub(super) fn works_on(&mut self, tree: AgentId) -> Result<()> {
        self.running.works = ServedWork::Tree(Some(tree));
        self.sign.rewrite(&self.running)
    }

    /// Closes the port once the running requests are answered.
    pub(super) async fn close(self) {
        drop(self.sign);
        self.shutdown.cancel();
        // It ends by itself, at the latest after its grace period.
        let _ = self.serving.await;
    }
}

/// A random secret for this process.
fn secret() -> Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::failed(format!("the system gives no random numbers: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
