//! One link: a WebSocket between two nodes, whichever of them has opened it.

use std::{sync::Arc, time::Duration};

use entourage_engine::NodeSignal;
use entourage_types::NodeId;
use futures::{Sink, SinkExt, Stream, StreamExt};
use tokio::time;

use crate::{Inner, message::Message, peer::Peer, texts::Texts};

/// How often each side says something.
const BEAT: Duration = Duration::from_secs(2);
/// How long after its last word a side is certainly there: a beat may be late by as much again.
pub(crate) const LATELY: Duration = Duration::from_secs(4);
/// How long a side says nothing before the other takes the link for lost.
const SILENCE: Duration = Duration::from_secs(8);

/// Why a link has ended, for the log.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Lost {
    #[error("the other node has closed it")]
    Closed,
    #[error("the other node said nothing for {} s", SILENCE.as_secs())]
    Silent,
    #[error("there is another node at this address")]
    Other,
    #[error("it was replaced by a newer one")]
    Replaced,
    #[error("{0}")]
    Failed(String),
}

/// Greets, and returns who answers.
pub(crate) async fn greet(texts: &mut impl Texts, me: NodeId) -> Result<NodeId, Lost> {
    send(texts, &[Message::Hello { node: me }]).await?;
    match heard(texts).await? {
        Message::Hello { node } => Ok(node),
        _ => Err(Lost::Failed("it does not say who it is".to_owned())),
    }
}

/// Keeps a link to a peer until it is lost. Both ways go on beside each other: two nodes that only write would wait for
/// each other.
pub(crate) async fn keep(inner: &Arc<Inner>, peer: &Arc<Peer>, texts: impl Texts) -> Lost {
    let (mut out, mut texts) = texts.split();
    let up = peer.up();
    // What was said while there was no link is lost.
    inner.hear(NodeSignal::Behind);
    let listens = async {
        loop {
            match heard(&mut texts).await {
                Ok(message) => {
                    peer.hears();
                    inner.receive(peer, message);
                }
                Err(lost) => return lost,
            }
        }
    };
    let speaks = async {
        let mut beat = time::interval(BEAT);
        loop {
            let messages = tokio::select! {
                messages = peer.queue.next(up.link, || inner.followed()) => messages,
                _ = beat.tick() => vec![Message::Beat],
            };
            if let Err(lost) = send(&mut out, &messages).await {
                return lost;
            }
        }
    };
    tokio::select! {
        lost = listens => lost,
        lost = speaks => lost,
        () = up.replaced() => Lost::Replaced,
    }
}

async fn heard(
    texts: &mut (impl Stream<Item = Result<Option<String>, String>> + Unpin),
) -> Result<Message, Lost> {
    loop {
        let text = match time::timeout(SILENCE, texts.next()).await {
            Ok(Some(Ok(Some(text)))) => text,
            Ok(Some(Ok(None))) => continue,
            Ok(Some(Err(error))) => return Err(Lost::Failed(error)),
            Ok(None) => return Err(Lost::Closed),
            Err(_) => return Err(Lost::Silent),
        };
        // A newer version may say something else, also in a message that this one knows.
        return Ok(serde_json::from_str(&text).unwrap_or_else(|error| {
            tracing::debug!(%error, "a message of another node is not understood");
            Message::Unknown
        }));
    }
}

async fn send(
    out: &mut (impl Sink<String, Error = String> + Unpin),
    messages: &[Message],
) -> Result<(), Lost> {
    let sending = async {
        for message in messages {
            let text = serde_json::to_string(message).map_err(|error| error.to_string())?;
            out.feed(text).await?;
        }
        out.flush().await
    };
    // A peer that reads nothing is no peer.
    match time::timeout(SILENCE, sending).await {
        Ok(sent) => sent.map_err(Lost::Failed),
        Err(_) => Err(Lost::Silent),
    }
}
