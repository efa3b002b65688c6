//! News of trees: this node announces its own commits to the others, and polls for those whose announcement was lost.

use std::{collections::HashMap, sync::Arc, time::Duration};

use entourage_engine::NodeSignal;
use entourage_store::{LiveNode, Store};
use entourage_types::AgentId;
use tokio::{sync::broadcast::error::RecvError, time};

use crate::Inner;

/// How often this node looks for news of what it follows.
const OFTEN: Duration = Duration::from_secs(1);
/// How often it does while a link is down.
const WITHOUT_LINK: Duration = Duration::from_millis(250);
/// How often each subscriber looks for itself.
pub(crate) const SELDOM: Duration = Duration::from_secs(20);

/// Tells the others of the commits through this node's store handle.
pub(crate) async fn tell(inner: Arc<Inner>, store: Arc<dyn Store>) {
    let mut changed = store.changed();
    loop {
        match changed.recv().await {
            Ok(changed) => {
                for peer in inner.peers().iter().filter(|peer| peer.is_up()) {
                    changed.events.iter().for_each(|event| peer.queue.tree(event.root));
                }
            }
            Err(RecvError::Lagged(_)) => inner.peers().iter().for_each(|peer| peer.queue.behind()),
            Err(RecvError::Closed) => return,
        }
    }
}

/// Looks for news of the trees that are followed here.
pub(crate) async fn look(inner: Arc<Inner>) {
    let mut seen: HashMap<AgentId, u64> = HashMap::new();
    loop {
        let others = inner.members.others();
        let is_linked = |other: &LiveNode| {
            inner.listener.is_none() && other.info.listener.is_none() || inner.peer(other.id).is_up()
        };
        let is_whole = others.iter().all(is_linked);
        time::sleep(if is_whole { OFTEN } else { WITHOUT_LINK }).await;
        let followed = inner.followed();
        if others.is_empty() || followed.is_empty() {
            seen.clear();
            continue;
        }
        match inner.nodes.last_events(&followed).await {
            Ok(last) => {
                let news =
                    last.iter().filter(|(root, number)| seen.get(root).is_none_or(|seen| seen < number));
                news.for_each(|(root, _)| inner.hear(NodeSignal::Tree(*root)));
                seen = last.into_iter().collect();
            }
            Err(error) => tracing::debug!(%error, "no news could be looked for"),
        }
    }
}
