//! What nodes say to each other: a JSON text in a frame of a WebSocket. Nodes of two neighbouring versions understand each
//! other: a message that a node does not know, it ignores.

use entourage_engine::AgentDelta;
use entourage_types::{AgentId, DeliveryId, NodeId, Owner, PostId, Wakeup};
use serde::{Deserialize, Serialize};

/// One message.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Message {
    /// The first message of both sides.
    Hello {
        /// Who speaks.
        node: NodeId,
    },
    /// A sign that the link is alive.
    Beat,
    /// These trees have new events.
    Trees { roots: Vec<AgentId> },
    /// Projects or documents of this owner changed.
    Documents { owner: Owner },
    /// News were lost: look at everything.
    Behind,
    /// The agent has new input that makes its current work obsolete.
    Interrupted { agent: AgentId, answering: Option<PostId> },
    /// A piece of an answer in a tree that the receiver follows.
    Piece { root: AgentId, piece: AgentDelta },
    /// Agents that the receiver serves, or is to serve, have something due.
    Woken { wakeups: Vec<Wakeup> },
    /// There is something to deliver to a receiver outside the engine.
    Delivery { receiver: String, due: i64, id: DeliveryId },
    /// All trees that the sender follows. It is sent the answers in progress in those that are new.
    Follows { roots: Vec<AgentId> },
    /// The sender is to be sent the answers in progress in a tree that it follows: it has another subscriber.
    Asks { root: AgentId },
    /// The receiver is to leave the agent, and to say so.
    Evict { request: u64, agent: AgentId },
    /// The sender has left the agent of this request.
    Evicted { request: u64 },
    /// Something that only a newer version says.
    #[serde(other)]
    Unknown,
}
