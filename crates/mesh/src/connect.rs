//! Links that this node opens: one to each node that accepts connections. Of two that both do, the one with the lower id
//! opens the link.

use std::{collections::HashMap, sync::Arc, time::Duration};

use entourage_store::{LiveNode, NodeListener};
use entourage_types::NodeId;
use tokio::{net::TcpStream, task::AbortHandle, task::JoinSet, time};
use tokio_tungstenite::{
    client_async_with_config,
    tungstenite::{
        client::IntoClientRequest,
        http::{HeaderValue, header::AUTHORIZATION},
    },
};

use crate::{
    Inner,
    link::{self, Lost},
    listen::PATH,
    texts::{self, Texts},
};

/// How long a connection may take.
const PATIENCE: Duration = Duration::from_secs(3);
/// Between two attempts.
const AGAIN: Duration = Duration::from_millis(500);

/// Keeps links to all nodes that are alive, as far as this node is to open them.
pub(crate) async fn keep_links(inner: Arc<Inner>) {
    let mut changes = inner.members.changes();
    let mut tasks = JoinSet::new();
    let mut links: HashMap<NodeId, AbortHandle> = HashMap::new();
    loop {
        let others = Arc::clone(&changes.borrow_and_update().others);
        links.retain(|node, link| {
            // A node without a sign of life in the database may still run: its clock is wrong, or a crash of the database
            // has removed its row. Its link tells.
            let is_kept = others.iter().any(|other| other.id == *node) || inner.peer(*node).is_up();
            if !is_kept {
                link.abort();
            }
            is_kept && !link.is_finished()
        });
        inner.keep_peers(&others);
        for other in others.iter().filter(|other| is_ours(&inner, other)) {
            let Some(listener) = other.info.listener.clone() else { continue };
            let node = other.id;
            links.entry(node).or_insert_with(|| tasks.spawn(keep_link(Arc::clone(&inner), node, listener)));
        }
        while tasks.try_join_next().is_some() {}
        if changes.changed().await.is_err() {
            return;
        }
    }
}

fn is_ours(inner: &Inner, other: &LiveNode) -> bool {
    inner.listener.is_none() || inner.nodes.id() < other.id
}

/// Opens a link again whenever it is lost, for as long as the node is counted on.
async fn keep_link(inner: Arc<Inner>, node: NodeId, listener: NodeListener) {
    let mut is_known = false;
    loop {
        let lost = match open(&inner, node, &listener).await {
            Ok(texts) => {
                is_known = false;
                link::keep(&inner, &inner.peer(node), texts).await
            }
            Err(lost) => lost,
        };
        if !std::mem::replace(&mut is_known, true) {
            tracing::warn!(%node, address = listener.address, %lost, "no link to another node; it is tried again");
        }
        time::sleep(AGAIN).await;
        if !inner.members.others().iter().any(|other| other.id == node) {
            return;
        }
    }
}

pub(crate) async fn open(inner: &Inner, node: NodeId, listener: &NodeListener) -> Result<impl Texts, Lost> {
    let opening = async {
        let failed = |error: &dyn std::fmt::Display| Lost::Failed(error.to_string());
        let stream = TcpStream::connect(&listener.address).await.map_err(|error| failed(&error))?;
        stream.set_nodelay(true).map_err(|error| failed(&error))?;
        let mut request = format!("ws://{}{PATH}", listener.address)
            .into_client_request()
            .map_err(|error| failed(&error))?;
        let token =
            HeaderValue::try_from(format!("Bearer {}", listener.token)).map_err(|error| failed(&error))?;
        request.headers_mut().insert(AUTHORIZATION, token);
        let opened = client_async_with_config(request, stream, Some(texts::config())).await;
        let mut texts = texts::texts(opened.map_err(|error| failed(&error))?.0);
        let who = link::greet(&mut texts, inner.nodes.id()).await?;
        if who == node { Ok(texts) } else { Err(Lost::Other) }
    };
    time::timeout(PATIENCE, opening).await.map_err(|_| Lost::Silent)?
}
