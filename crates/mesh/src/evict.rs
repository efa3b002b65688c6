//! The one signal that must arrive: a node leaves an agent that another one deletes. It is repeated until the node has
//! answered, or is no longer alive: it begins nothing then, and what it would commit is refused.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use entourage_types::{AgentId, NodeId};
use futures::future;
use tokio::time;

use crate::{Inner, members::BEAT, message::Message, peer::Peer};

/// How long an answer is waited for before it is asked for again. Leaving an agent may take some seconds.
const AGAIN: Duration = Duration::from_secs(6);
/// How long a link is waited for.
const UNLINKED: Duration = Duration::from_secs(1);
/// After how many attempts in vain the log says so.
const SPEAKS: u32 = 2;

/// Has all other nodes leave the agent.
pub(crate) async fn evict(inner: &Arc<Inner>, agent: AgentId) {
    // A node that came a moment ago is one of them, and the agent was claimed before: no node that comes later works under
    // an epoch before that.
    let known = loop {
        match inner.members.beat().await {
            Ok(known) => break known,
            // This node deletes nothing any more. Its caller must not take that for done: it ends with the process.
            Err(_) if inner.members.has_left() => return future::pending().await,
            Err(error) => {
                tracing::warn!(%agent, %error, "it is not known which other nodes are alive; it is tried again");
                time::sleep(BEAT).await;
            }
        }
    };
    let working: Vec<NodeId> =
        known.possible().filter(|other| other.info.role.works()).map(|other| other.id).collect();
    future::join_all(working.into_iter().map(|other| evict_from(inner, other, agent))).await;
}

async fn evict_from(inner: &Inner, node: NodeId, agent: AgentId) {
    for tries in 1_u32.. {
        if !inner.members.may_be_alive(node) {
            return;
        }
        // Another one once the node was away for long.
        let peer = inner.peer(node);
        let request = inner.requests.fetch_add(1, Ordering::Relaxed);
        let answered = peer.asked(request);
        let patience = if peer.is_up() {
            peer.queue.message(Message::Evict { request, agent });
            AGAIN
        } else {
            UNLINKED
        };
        tokio::select! {
            () = answered => return,
            () = time::sleep(patience) => {}
        }
        if tries == SPEAKS {
            tracing::warn!(
                %agent, %node,
                "a deletion waits for a process that does not answer; `entourage doctor` says whether it can be reached"
            );
        }
        // The process that deletes may have no other task that learns which nodes are alive.
        match inner.members.beat().await {
            Err(_) if inner.members.has_left() => return future::pending().await,
            Err(error) => tracing::debug!(%error, "it is not known whether the node is alive"),
            Ok(_) => {}
        }
    }
}

/// Leaves an agent for a peer, and says so.
pub(crate) fn leave(inner: &Arc<Inner>, peer: &Arc<Peer>, request: u64, agent: AgentId) {
    let (inner, peer) = (Arc::clone(inner), Arc::clone(peer));
    tokio::spawn(async move {
        if let Some(here) = inner.here.get() {
            here.engine.evict_local(agent).await;
            peer.queue.message(Message::Evicted { request });
        }
    });
}
