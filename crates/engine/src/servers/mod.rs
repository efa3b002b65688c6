//! Tool servers that are connected while the engine is at work: their tools are added once they are
//! connected, and only agents that may use them wait for that.

mod owner_connections;
mod owner_secrets;
mod switches;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use entourage_tools::{Error as ToolError, Owners, Tool};
use entourage_types::{Kind, Owner, SecretName, Switches, server_of_tool};
use tokio::sync::{Notify, futures::Notified, watch};
use tokio_util::sync::CancellationToken;

pub use owner_connections::ConnectForOwner;
pub(crate) use owner_connections::{ConnectionState, OwnerConnections, OwnerServer};
pub(crate) use owner_secrets::not_set;

use crate::{Engine, Kinds, kinds::pattern};

/// A server of tools in the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolServer {
    /// Its name, which is the prefix of its tools' names.
    pub name: String,
    /// The owners whose agents may use it; none if all may.
    pub owners: Option<Owners>,
    /// The secrets of an owner that it needs. If there are any, it is connected for each owner apart.
    pub secrets: Vec<SecretName>,
}

impl ToolServer {
    /// A server that is connected once, for all owners.
    #[must_use]
    pub fn shared(name: impl Into<String>) -> Self {
        Self { name: name.into(), owners: None, secrets: Vec::new() }
    }

    /// Whether this owner's agents may use it.
    #[must_use]
    pub fn serves(&self, owner: &Owner) -> bool {
        self.owners.as_ref().is_none_or(|owners| owners.include(owner))
    }

    /// Whether it is connected for each owner apart.
    #[must_use]
    pub fn is_of_owners(&self) -> bool {
        !self.secrets.is_empty()
    }

    /// Whether this kind may use it.
    fn concerns(&self, kind: &Kind) -> bool {
        let tools = kind.tools.as_ref();
        tools.is_none_or(|tools| tools.iter().any(|tool| pattern::may_name_tool_of(tool, &self.name)))
    }
}

/// The catalogue of tool servers, and which of them are not connected.
pub(crate) struct Servers {
    catalogue: Vec<ToolServer>,
    /// The shared servers that are not connected.
    missing: watch::Sender<BTreeMap<String, Missing>>,
    wanted: Notify,
    connections: OwnerConnections,
    /// The ids of secrets that cannot be opened here, which the log has named.
    unopened: Mutex<BTreeSet<String>>,
}

/// What everybody may read of a server that cannot be reached: the error of the transport may name what is the operator's,
/// such as a path or an address.
pub(crate) fn cannot_be_reached(server: &str) -> String {
    format!("the MCP server `{server}` cannot be reached now")
}

/// Why a server's tools are missing.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Missing {
    /// It is being connected for the first time.
    Connecting,
    /// It could not be connected, for this reason, and is tried again.
    Away(String),
}

impl Servers {
    pub(crate) fn new(catalogue: Vec<ToolServer>, connect: Option<Arc<dyn ConnectForOwner>>) -> Self {
        let shared = catalogue.iter().filter(|server| !server.is_of_owners());
        let connecting = shared.map(|server| (server.name.clone(), Missing::Connecting)).collect();
        Self {
            catalogue,
            missing: watch::Sender::new(connecting),
            wanted: Notify::new(),
            unopened: Mutex::default(),
            connections: OwnerConnections::new(connect),
        }
    }

    /// The servers that an owner's agents may use.
    pub(crate) fn serving(&self, owner: &Owner) -> impl Iterator<Item = &ToolServer> {
        self.catalogue.iter().filter(move |server| server.serves(owner))
    }

    /// Whether there are none at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.catalogue.is_empty()
    }

    /// Whether a shared server is connected.
    pub(crate) fn is_connected(&self, server: &str) -> bool {
        !self.missing.borrow().contains_key(server)
    }

    /// Why a shared server is not connected, if that is known.
    pub(crate) fn why_away(&self, server: &str) -> Option<String> {
        match self.missing.borrow().get(server)? {
            Missing::Connecting => None,
            Missing::Away(why) => Some(why.clone()),
        }
    }

    /// The connections of owners.
    pub(crate) fn connections(&self) -> &OwnerConnections {
        &self.connections
    }

    /// The server of a tool.
    pub(crate) fn of_tool(&self, tool: &str) -> Option<&ToolServer> {
        let name = server_of_tool(tool)?;
        self.catalogue.iter().find(|server| server.name == name)
    }

    /// Waits until the first attempt to connect each shared server that this kind may use has succeeded or failed,
    /// or until `cut` is cancelled. Servers that are switched off are not waited for.
    pub(crate) async fn heard(&self, kind: &Kind, switches: &Switches, cut: &CancellationToken) {
        let is_awaited = |name: &str| {
            let server = self.catalogue.iter().find(|server| server.name == name);
            switches.allow_any(name) && server.is_none_or(|server| server.concerns(kind))
        };
        let mut missing = self.missing.subscribe();
        let heard = async {
            let waits = |(name, why): (&String, &Missing)| *why == Missing::Connecting && is_awaited(name);
            // The sender is a field of `self`: the channel does not close.
            drop(missing.wait_for(|missing| !missing.iter().any(waits)).await);
        };
        tokio::select! {
            () = heard => {}
            () = cut.cancelled() => {}
        }
    }

    /// Has the servers that are away tried again now.
    pub(crate) fn want(&self) {
        self.wanted.notify_waiters();
    }
}

impl Engine {
    /// Reports that a tool server could not be connected, and why, in a sentence without secrets; the caller keeps
    /// trying.
    pub fn server_is_away(&self, name: &str, why: &str) {
        let away = Missing::Away(why.to_owned());
        // The caller reports every failed attempt, perhaps each for another reason. An offer names the missing servers,
        // whatever the reason: only that it is away now is news.
        let is_news = self.inner.servers.missing.send_if_modified(|missing| {
            !matches!(missing.insert(name.to_owned(), away), Some(Missing::Away(_)))
        });
        if is_news {
            self.inner.toolsets.forget();
        }
    }

    /// Adds the tools of a server that was connected: activations from here on may call them. Returns why
    /// some of the tools cannot be offered.
    pub fn server_brings(&self, name: &str, tools: Vec<Arc<dyn Tool>>) -> Vec<ToolError> {
        let refused = self.inner.toolsets.add(tools);
        self.inner.servers.missing.send_modify(|missing| {
            missing.remove(name);
        });
        self.inner.toolsets.forget();
        refused
    }

    /// What an offer is made of beside the tools: the kinds, and the shared servers whose tools are missing.
    pub(crate) fn offered_from(&self) -> (Arc<Kinds>, Vec<String>) {
        (self.kinds(), self.inner.servers.missing.borrow().keys().cloned().collect())
    }

    /// Completes when servers that are away are to be tried again without a further pause.
    pub fn server_wanted(&self) -> Notified<'_> {
        self.inner.servers.wanted.notified()
    }
}

#[cfg(test)]
mod tests {
    use entourage_types::Switch;
    use futures::FutureExt;

    use super::*;

    #[test]
    fn only_a_kind_that_may_use_a_server_waits_for_its_first_attempt() {
        let servers = Servers::new(vec![ToolServer::shared("bank")], None);
        let cut = CancellationToken::new();
        let listing = |tools: &[&str]| Kind {
            tools: Some(tools.iter().map(ToString::to_string).collect()),
            ..Kind::bare("a")
        };
        let waits = |kind: &Kind, cut: &CancellationToken| {
            servers.heard(kind, &Switches::default(), cut).now_or_never().is_none()
        };
        let mut off = Switches::default();
        off.set("bank", Some(Switch::Off));
        for tools in [&["mcp"][..], &["bank__pay"], &["*"]] {
            assert!(waits(&listing(tools), &cut), "{tools:?}");
        }
        assert!(!waits(&listing(&["wait", "other__pay"]), &cut), "it may not use it");
        assert!(servers.heard(&listing(&["mcp"]), &off, &cut).now_or_never().is_some(), "it is switched off");
        let ended = CancellationToken::new();
        ended.cancel();
        assert!(!waits(&listing(&["mcp"]), &ended), "the process ends");
        servers.missing.send_modify(|missing| {
            missing.insert("bank".into(), Missing::Away("it is closed".into()));
        });
        assert!(!waits(&listing(&["mcp"]), &cut), "it is known that it is away");
    }
}
