//! Opens and closes a connection to a server.

use std::{collections::HashMap, sync::Arc};

use rmcp::{
    ClientHandler, ErrorData, Peer, RoleClient, ServiceExt,
    model::{
        ClientCapabilities, ClientConfig, ClientRequest, CustomRequest, CustomResult, ErrorCode,
        Implementation, PingRequest,
    },
    service::{ClientInitializeError, RequestContext, RunningService},
    transport::{
        StreamableHttpClientTransport, async_rw::AsyncRwTransport,
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use secrecy::ExposeSecret;
use url::Url;

use super::{
    bounded::Bounded,
    child::{Child, Log},
    failure::{refused, shortened},
    lines::{LineError, Lines},
    secrets::Secrets,
    settings::McpTransport,
    silence::{LastMessage, PONG},
};
use crate::{Error, McpSettings, Result};

/// A live connection. Dropping it closes it and kills the server if it is a child process.
pub(super) struct Connection {
    service: RunningService<RoleClient, Client>,
    child: Option<Child>,
    trouble: LineError,
    heard: LastMessage,
}

impl Connection {
    /// Connects within the configured time. The error is the operator's to read: it names the program or the address.
    pub(super) async fn open(settings: &McpSettings, secrets: &Secrets) -> Result<Self> {
        let limit = settings.connect_timeout;
        tokio::time::timeout(limit, connect(settings, secrets))
            .await
            .unwrap_or_else(|_| Err(format!("it did not answer within {} s", limit.as_secs())))
            .map_err(|why| {
                let (name, from) = (&settings.name, secrets.strike(&described(&settings.transport)));
                let why = shortened(secrets.strike(&why));
                let whole = format!("the MCP server `{name}` cannot be reached ({from}): {why}");
                // On one line, whatever the server's message is.
                Error::Failed(whole.split_whitespace().collect::<Vec<_>>().join(" "))
            })
    }

    pub(super) fn peer(&self) -> Peer<RoleClient> {
        self.service.peer().clone()
    }

    pub(super) fn is_lost(&self) -> bool {
        self.service.peer().is_transport_closed()
    }

    /// When the server last sent a message.
    pub(super) fn heard(&self) -> &LastMessage {
        &self.heard
    }

    /// Whether the server answers a ping.
    pub(super) async fn is_there(&self) -> bool {
        let ping = ClientRequest::PingRequest(PingRequest::default());
        // An error is an answer.
        tokio::time::timeout(PONG, self.service.peer().send_request(ping)).await.is_ok()
    }

    /// What made the connection end, if the server sent data that cannot be a message.
    pub(super) fn trouble(&self) -> Option<&'static str> {
        self.trouble.get().copied()
    }

    /// Closes the connection in an orderly way.
    pub(super) async fn close(mut self) {
        let _ = self.service.close().await;
        if let Some(child) = self.child.take() {
            child.end().await;
        }
    }
}

/// The engine as an MCP client.
struct Client;

impl ClientHandler for Client {
    /// Does not repeat the method, which may be as long as a message.
    async fn on_custom_request(
        &self,
        _: CustomRequest,
        _: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "there is no such method", None))
    }

    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(
            ClientCapabilities::default(),
            Implementation::new("entourage", env!("CARGO_PKG_VERSION")),
        )
    }
}

async fn connect(settings: &McpSettings, secrets: &Secrets) -> Result<Connection, String> {
    let (trouble, heard) = (LineError::default(), LastMessage::default());
    let why =
        |error: &ClientInitializeError| trouble.get().map_or_else(|| refused(error), |why| (*why).into());
    match &settings.transport {
        McpTransport::Command { command, args, env, cwd } => {
            let log = Log { server: settings.name.clone(), secrets: secrets.clone() };
            let supervisor = settings.supervisor.as_deref().unwrap_or_default();
            let (child, stdout, stdin) = Child::start(log, supervisor, command, args, env, cwd.as_ref())
                .map_err(|error| format!("it does not start: {error}"))?;
            let transport = AsyncRwTransport::new_client(Lines::new(stdout, Arc::clone(&trouble)), stdin);
            let served = Client.serve(Bounded::new(transport, Arc::clone(&trouble), heard.clone())).await;
            let service = served.map_err(|error| {
                let hint = ". What it wrote to its standard error is in the log, at level debug";
                format!("{}{}", why(&error), if trouble.get().is_none() { hint } else { "" })
            })?;
            Ok(Connection { service, child: Some(child), trouble, heard })
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
            let transport = StreamableHttpClientTransport::from_config(config);
            let served = Client.serve(Bounded::new(transport, Arc::clone(&trouble), heard.clone())).await;
            let service = served.map_err(|error| why(&error))?;
            Ok(Connection { service, child: None, trouble, heard })
        }
    }
}

/// Describes the transport without secrets.
fn described(transport: &McpTransport) -> String {
    match transport {
        McpTransport::Command { command, .. } => command.clone(),
        McpTransport::Url { url, .. } => match Url::parse(url) {
            // A query may hold a key, and so may the user's name.
            Ok(mut address) => {
                address.set_query(None);
                address.set_fragment(None);
                // An address that can have neither has none.
                let _ = address.set_username("").and_then(|()| address.set_password(None));
                address.to_string()
            }
            Err(_) => "its url is not valid".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn an_address_is_described_without_what_may_be_a_secret() {
        let described =
            |url: &str| described(&McpTransport::Url { url: url.to_owned(), headers: BTreeMap::new() });
        assert_eq!(described("https://me:canary@host:81/mcp?key=canary#canary"), "https://host:81/mcp");
        assert_eq!(described("https://canary@host/mcp"), "https://host/mcp");
        assert!(!described("me canary@host/mcp").contains("canary"));
    }
}
