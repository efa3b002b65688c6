//! Tool servers that are connected while the engine is at work: their tools are added once they are
//! connected, and only agents that may use them wait for that.

use std::{collections::BTreeMap, sync::Arc};

use entourage_tools::{Error as ToolError, Tool};
use entourage_types::Kind;
use tokio::sync::{Notify, futures::Notified, watch};
use tokio_util::sync::CancellationToken;

use crate::{Engine, Kinds, kinds::pattern};

/// The servers that are not connected.
pub(crate) struct Servers {
    missing: watch::Sender<BTreeMap<String, Missing>>,
    wanted: Notify,
}

/// Why a server's tools are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// It is being connected for the first time.
    Connecting,
    /// It could not be connected, and is tried again.
    Away,
}

impl Servers {
    pub(crate) fn new(names: Vec<String>) -> Self {
        let connecting = names.into_iter().map(|name| (name, Missing::Connecting)).collect();
        Self { missing: watch::Sender::new(connecting), wanted: Notify::new() }
    }

    /// Waits until the first attempt to connect each server that this kind may use has succeeded or failed,
    /// or until `cut` is cancelled.
    pub(crate) async fn heard(&self, kind: &Kind, cut: &CancellationToken) {
        let concerns = |name: &str| match &kind.tools {
            Some(tools) => tools.iter().any(|pattern| pattern::may_name_tool_of(pattern, name)),
            None => true,
        };
        let mut missing = self.missing.subscribe();
        let heard = async {
            let waits = |(name, why): (&String, &Missing)| *why == Missing::Connecting && concerns(name);
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
    /// Reports that a tool server could not be connected; the caller keeps trying.
    pub fn server_is_away(&self, name: &str) {
        let is_news = self.inner.servers.missing.send_if_modified(|missing| {
            missing.insert(name.to_owned(), Missing::Away) != Some(Missing::Away)
        });
        // The caller reports every failed attempt; only a change matters. An offer names the missing servers,
        // whatever the reason.
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

    /// What an offer is made of beside the tools: the kinds, and the servers whose tools are missing.
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
    use futures::FutureExt;

    use super::*;

    #[test]
    fn only_a_kind_that_may_use_a_server_waits_for_its_first_attempt() {
        let servers = Servers::new(vec!["bank".into()]);
        let cut = CancellationToken::new();
        let listing = |tools: &[&str]| Kind {
            tools: Some(tools.iter().map(ToString::to_string).collect()),
            ..Kind::bare("a")
        };
        let waits = |kind: &Kind, cut: &CancellationToken| servers.heard(kind, cut).now_or_never().is_none();
        for tools in [&["mcp"][..], &["bank__pay"], &["*"]] {
            assert!(waits(&listing(tools), &cut), "{tools:?}");
        }
        assert!(!waits(&listing(&["wait", "other__pay"]), &cut), "it may not use it");
        let ended = CancellationToken::new();
        ended.cancel();
        assert!(!waits(&listing(&["mcp"]), &ended), "the process ends");
        servers.missing.send_modify(|missing| {
            missing.insert("bank".into(), Missing::Away);
        });
        assert!(!waits(&listing(&["mcp"]), &cut), "it is known that it is away");
    }
}
