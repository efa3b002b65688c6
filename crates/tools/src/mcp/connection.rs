//! A connection to a server: how it is made.

use std::{collections::HashMap, sync::Arc};

use rmcp::{
    Peer, RoleClient, ServiceExt,
    model::{ClientCapabilities, ClientConfig, Implementation},
    service::RunningService,
    transport::{StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig},
};
use secrecy::ExposeSecret;

use super::{
    child::{Child, Log},
    failure::refused,
    lines::{Lines, Trouble},
    secrets::Secrets,
    settings::McpTransport,
};
use crate::{Error, McpSettings, Result};

/// A live connection. Dropping it closes it and kills the server if that is our child.
pub(super) struct Connection {
    service: RunningService<RoleClient, ClientConfig>,
    child: Option<Child>,
    trouble: Trouble,
}

impl Connection {
    /// Connects, within the time that the settings give.
    pub(super) async fn open(settings: &McpSettings) -> Result<Self> {
        let limit = settings.connect_timeout;
        tokio::time::timeout(limit, connect(settings))
            .await
            .unwrap_or_else(|_| Err(format!("it did not answer within {} s", limit.as_secs())))
            .map_err(|why| {
                let (name, from) = (&settings.name, described(&settings.transport));
                let why = Secrets::of(&settings.transport).strike(&why);
                let whole = format!("the MCP server `{name}` cannot be reached ({from}): {why}");
                // On one line, whatever the server says.
                Error::Failed(whole.split_whitespace().collect::<Vec<_>>().join(" "))
            })
    }

    pub(super) fn peer(&self) -> Peer<RoleClient> {
        self.service.peer().clone()
    }

    pub(super) fn is_lost(&self) -> bool {
        self.service.peer().is_transport_closed()
    }

    /// What the server sent that cannot be a message, if it did: the connection has ended by that.
    pub(super) fn trouble(&self) -> Option<&'static str> {
        self.trouble.get().copied()
    }

    /// Closes it in good order.
    pub(super) async fn close(mut self) {
        let _ = self.service.close().await;
        if let Some(child) = self.child.take() {
            child.end().await;
        }
    }
}

async fn connect(settings: &McpSettings) -> Result<Connection, String> {
    let client = ClientConfig::new(
        ClientCapabilities::default(),
        Implementation::new("entourage", env!("CARGO_PKG_VERSION")),
    );
    match &settings.transport {
        McpTransport::Command { command, args, env, cwd } => {
            let log = Log { server: settings.name.clone(), secrets: Secrets::of(&settings.transport) };
            let supervisor = settings.supervisor.as_deref().unwrap_or_default();
            let (child, stdout, stdin) = Child::start(log, supervisor, command, args, env, cwd.as_ref())
                .map_err(|error| format!("it does not start: {error}"))?;
            let trouble = Trouble::default();
            let served = client.serve((Lines::new(stdout, Arc::clone(&trouble)), stdin)).await;
            let service = served.map_err(|error| match trouble.get() {
                Some(why) => (*why).to_owned(),
                None => format!(
                    "{}. What it wrote to its standard error is in the log, at level debug",
                    refused(&error)
                ),
            })?;
            Ok(Connection { service, child: Some(child), trouble })
        }
        McpTransport::Url { url, headers } => {
            let headers: HashMap<_, _> = headers
                .iter()
                .map(|(name, value)| {
                    let parsed = name.parse().ok().zip(value.expose_secret().parse().ok());
                    parsed.ok_or_else(|| format!("the header `{name}` is not valid"))
                })
                .collect::<Result<_, _>>()?;
            crate::tls::ensure_provider();
            let config = StreamableHttpClientTransportConfig::with_uri(url.as_str()).custom_headers(headers);
            let served = client.serve(StreamableHttpClientTransport::from_config(config)).await;
            let service = served.map_err(|error| refused(&error))?;
            Ok(Connection { service, child: None, trouble: Trouble::default() })
        }
    }
}

/// The transport without anything secret.
fn described(transport: &McpTransport) -> &str {
    match transport {
        McpTransport::Command { command, .. } => command,
        // A query may hold a key.
        McpTransport::Url { url, .. } => url.split('?').next().unwrap_or(url),
    }
}
