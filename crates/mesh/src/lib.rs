//! Connects the nodes that share a store. The facts are rows of the store; what nodes say to each other are hints, which
//! may be late, doubled or lost, except for one: that a node leaves an agent that is being deleted.
//!
//! A node gives a sign of life every three seconds ([`Nodes::beat`]), and so learns who is alive. Between each two nodes
//! is one link, a WebSocket on a listener of their own. See `docs/adr/0050-nodes-are-linked-in-pairs.md`.

mod connect;
mod error;
mod evict;
mod join;
mod link;
mod listen;
mod members;
mod message;
mod news;
mod peer;
mod queue;
mod texts;

use std::{
    collections::{HashMap, HashSet},
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, atomic::AtomicU64},
    time::Duration,
};

use async_trait::async_trait;
use entourage_engine::{AgentDelta, DeliveryHint, Engine, NodeSignal, Signals};
use entourage_store::{LiveNode, NodeInfo, NodeListener, Nodes};
use entourage_types::{AgentId, DispatchBy, NodeId, NodeRole, Time, Wakeup};
use tokio::{net::TcpListener, sync::broadcast, task::JoinSet};

pub use error::Error;

use members::Members;
use message::Message;
use peer::Peer;

/// What every function returns that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// By how much the clock of a node may differ from the store's.
pub const CLOCKS: Duration = Duration::from_secs(2);

/// How a node is one of several.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What it does.
    pub role: NodeRole,
    /// What tells it which agents are due, as the others.
    pub dispatch: DispatchBy,
    /// The version of its program.
    pub version: String,
    /// Where it listens for other nodes; nowhere if none is given.
    pub listen: Option<SocketAddr>,
    /// The host and port at which the others reach it, if not those at which it listens.
    pub address: Option<String>,
}

/// This node's links to the others. Clones are the same.
#[derive(Clone)]
pub struct Mesh {
    inner: Arc<Inner>,
    socket: Arc<Mutex<Option<TcpListener>>>,
    bound: Option<SocketAddr>,
}

/// What links share.
pub(crate) struct Inner {
    nodes: Arc<dyn Nodes>,
    members: Members,
    listener: Option<NodeListener>,
    peers: Mutex<HashMap<NodeId, Arc<Peer>>>,
    /// The trees that subscribers at this node follow.
    followed: Mutex<HashSet<AgentId>>,
    requests: AtomicU64,
    here: OnceLock<Here>,
}

/// Where this node's news go.
struct Here {
    engine: Engine,
    woken: broadcast::Sender<Arc<[Wakeup]>>,
}

impl Mesh {
    /// Listens for other nodes, gives the first sign of life, and learns who is alive. `now` is this machine's time.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn join(
        nodes: Arc<dyn Nodes>,
        settings: Settings,
        now: impl Fn() -> Time + Clone + Send + Sync + 'static,
    ) -> Result<Self> {
        let (socket, listener) = match settings.listen {
            Some(address) => {
                let (socket, listener) = join::listen_on(address, settings.address).await?;
                (Some(socket), Some(listener))
            }
            None => (None, None),
        };
        let Settings { role, version, dispatch, .. } = settings;
        let info =
            NodeInfo { listener: listener.clone(), version, role, dispatch: Some(dispatch), draining: false };
        let members = Members::new(Arc::clone(&nodes), info, now.clone());
        let known = members.beat().await?;
        if let Err(error) = join::fits(&known, dispatch, now()) {
            // If that fails, the row ends with its lease.
            let _ = nodes.leave().await;
            return Err(error);
        }
        let inner = Inner {
            nodes,
            members,
            listener,
            peers: Mutex::default(),
            followed: Mutex::default(),
            requests: AtomicU64::new(0),
            here: OnceLock::new(),
        };
        let bound = socket.as_ref().and_then(|socket| socket.local_addr().ok());
        Ok(Self { inner: Arc::new(inner), socket: Arc::new(Mutex::new(socket)), bound })
    }

    /// Keeps the links until it is dropped. What comes by them goes to this engine, and the wake-ups that other nodes hand
    /// over also to `woken`.
    pub async fn run(&self, engine: Engine, woken: broadcast::Sender<Arc<[Wakeup]>>) {
        let store = Arc::clone(engine.store());
        if self.inner.here.set(Here { engine, woken }).is_err() {
            return tracing::error!("the links of a node are kept already");
        }
        let mut tasks = JoinSet::new();
        if let Some(socket) = locked(&self.socket).take() {
            tasks.spawn(listen::accept_links(Arc::clone(&self.inner), socket));
        }
        let inner = &self.inner;
        tasks.spawn(beats(Arc::clone(inner)));
        tasks.spawn(connect::keep_links(Arc::clone(inner)));
        tasks.spawn(news::tell(Arc::clone(inner), store));
        tasks.spawn(news::look(Arc::clone(inner)));
        // They end with this function.
        while tasks.join_next().await.is_some() {}
    }

    /// Where this node listens for others.
    #[must_use]
    pub fn listens_at(&self) -> Option<SocketAddr> {
        self.bound
    }

    /// Sets what this node does.
    ///
    /// # Errors
    /// When the store fails, and [`Error::Dispatch`] where others took this node's place while it was away.
    pub async fn set_role(&self, role: NodeRole) -> Result<()> {
        self.inner.members.change(|info| info.role = role);
        self.inner.beat().await
    }

    /// Tells the others that this node takes no more work.
    ///
    /// # Errors
    /// As [`set_role`](Self::set_role).
    pub async fn drain(&self) -> Result<()> {
        self.inner.members.change(|info| info.draining = true);
        self.inner.beat().await
    }

    /// Takes this node out of the store: the others do not wait until it is no longer alive.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn leave(&self) -> Result<()> {
        Ok(self.inner.members.leave().await?)
    }

    /// Waits until there is no other node at which agents work.
    pub async fn until_none_works(&self) {
        let is_none = |known: &members::Known| {
            known.others.iter().all(|other| !other.info.role.serves_all() || other.info.draining)
        };
        // It never fails: the sender is here.
        let _ = self.inner.members.changes().wait_for(is_none).await;
    }

    /// By how many microseconds `now` is ahead of the store's clock; less than zero if it is behind.
    #[must_use]
    pub fn ahead(&self, now: Time) -> Option<i64> {
        self.inner.members.changes().borrow().ahead(now)
    }

    /// Tries the way to another node; none if it accepts no connections.
    pub async fn reach(&self, other: &LiveNode) -> Option<Result<(), String>> {
        let listener = other.info.listener.as_ref()?;
        let opened = connect::open(&self.inner, other.id, listener).await;
        Some(opened.map(drop).map_err(|lost| lost.to_string()))
    }

    /// The other nodes that are alive, with whether there is a link.
    #[must_use]
    pub fn others(&self) -> Vec<(LiveNode, bool)> {
        let others = self.inner.members.others();
        others.iter().map(|other| (other.clone(), self.inner.peer(other.id).is_up())).collect()
    }
}

/// Gives signs of life.
async fn beats(inner: Arc<Inner>) {
    let mut was_heard = true;
    loop {
        tokio::time::sleep(members::BEAT).await;
        match inner.beat().await {
            Ok(()) => was_heard = true,
            Err(error @ Error::Dispatch { .. }) => {
                return tracing::error!(%error, "this process was away too long and has no part any more: end it");
            }
            Err(error) => {
                if std::mem::take(&mut was_heard) {
                    tracing::warn!(%error, "no sign of life reaches the database; without one this node begins nothing");
                }
            }
        }
    }
}

impl Inner {
    /// Gives a sign of life; takes it back if this machine's clock has gone off: others go on with its agents until it is
    /// right. A node that was away for longer than its lease comes back as a new one: if it would not be let
    /// in, it leaves for good.
    async fn beat(&self) -> Result<()> {
        let was_away = !self.members.is_counted_on();
        let known = self.members.beat().await?;
        if let Some(ahead) = self.members.is_off() {
            self.members.pause().await?;
            return Err(Error::Clock { ahead, most: CLOCKS });
        }
        let dispatch = self.members.info().dispatch.filter(|_| was_away);
        if let Some(Err(error)) = dispatch.map(|dispatch| join::same_dispatch(&known, dispatch)) {
            self.members.leave().await?;
            return Err(error);
        }
        Ok(())
    }

    /// The peer of this id.
    fn peer(&self, node: NodeId) -> Arc<Peer> {
        Arc::clone(locked(&self.peers).entry(node).or_insert_with(|| Arc::new(Peer::new())))
    }

    /// All peers.
    fn peers(&self) -> Vec<Arc<Peer>> {
        locked(&self.peers).values().cloned().collect()
    }

    /// Forgets peers that are neither alive nor linked.
    fn keep_peers(&self, others: &[LiveNode]) {
        locked(&self.peers).retain(|node, peer| peer.is_up() || others.iter().any(|other| other.id == *node));
    }

    fn followed(&self) -> Vec<AgentId> {
        locked(&self.followed).iter().copied().collect()
    }

    /// Hands news to the engine of this node.
    fn hear(&self, news: NodeSignal) {
        if let Some(here) = self.here.get() {
            here.engine.on_signal(news);
        }
    }

    /// Sends a peer the answers in progress at this node in these trees.
    fn tell_answers(&self, peer: &Peer, roots: impl FnOnce() -> Vec<AgentId>) {
        let Some(Here { engine, .. }) = self.here.get() else { return drop(roots()) };
        engine.with_answers_so_far(|so_far| {
            for root in roots() {
                for piece in so_far(root) {
                    peer.queue.message(Message::Piece { root, piece });
                }
            }
        });
    }

    /// Takes note of what a peer says.
    fn receive(self: &Arc<Self>, peer: &Arc<Peer>, message: Message) {
        match message {
            Message::Hello { .. } | Message::Beat | Message::Unknown => {}
            Message::Trees { roots } => roots.into_iter().for_each(|root| self.hear(NodeSignal::Tree(root))),
            Message::Documents { owner } => self.hear(NodeSignal::Documents(owner)),
            Message::Behind => self.hear(NodeSignal::Behind),
            Message::Interrupted { agent, answering } => {
                self.hear(NodeSignal::Interrupted { agent, answering })
            }
            Message::Piece { root, piece } => self.hear(NodeSignal::Piece(root, Arc::new(piece))),
            Message::Delivery { receiver, due, id } => {
                let due = Time::from_micros(due);
                self.hear(NodeSignal::Delivery(DeliveryHint { receiver, due, id }));
            }
            Message::Woken { wakeups } => {
                if let Some(here) = self.here.get() {
                    // Fails only where nothing is dispatched.
                    let _ = here.woken.send(wakeups.clone().into());
                }
                self.hear(NodeSignal::Woken(wakeups));
            }
            Message::Follows { roots } => self.tell_answers(peer, || peer.set_follows(roots)),
            Message::Asks { root } => self.tell_answers(peer, || vec![root]),
            Message::Evict { request, agent } => evict::leave(self, peer, request, agent),
            Message::Evicted { request } => peer.answered(request),
        }
    }
}

#[async_trait]
impl Signals for Mesh {
    fn broadcast(&self, news: NodeSignal) {
        for peer in self.inner.peers().iter().filter(|peer| peer.is_up()) {
            match &news {
                NodeSignal::Tree(root) => peer.queue.tree(*root),
                NodeSignal::Documents(owner) => {
                    peer.queue.message(Message::Documents { owner: owner.clone() });
                }
                NodeSignal::Behind => peer.queue.behind(),
                NodeSignal::Interrupted { agent, answering } => {
                    peer.queue.message(Message::Interrupted { agent: *agent, answering: *answering });
                }
                NodeSignal::Piece(root, piece) => {
                    if peer.is_following(*root) {
                        peer.queue.message(Message::Piece { root: *root, piece: AgentDelta::clone(piece) });
                    }
                }
                NodeSignal::Delivery(DeliveryHint { receiver, due, id }) => {
                    let (receiver, due, id) = (receiver.clone(), due.micros(), *id);
                    peer.queue.message(Message::Delivery { receiver, due, id });
                }
                NodeSignal::Woken(wakeups) => {
                    wakeups.iter().for_each(|wakeup| peer.queue.wakeup(wakeup.clone()));
                }
            }
        }
    }

    fn hand_over(&self, to: NodeId, wakeup: Wakeup) {
        let peer = self.inner.peer(to);
        if peer.is_up() {
            peer.queue.wakeup(wakeup);
        }
    }

    fn home(&self, agent: AgentId) -> Option<NodeId> {
        self.inner.members.home(agent)
    }

    fn hears(&self, node: NodeId) -> bool {
        locked(&self.inner.peers).get(&node).is_some_and(|peer| peer.is_heard())
    }

    fn is_followed(&self, root: AgentId) -> bool {
        locked(&self.inner.peers).values().any(|peer| peer.is_following(root))
    }

    fn follow(&self, root: AgentId) {
        let is_new = locked(&self.inner.followed).insert(root);
        for peer in self.inner.peers() {
            match is_new {
                true => peer.queue.follows(),
                false => peer.queue.message(Message::Asks { root }),
            }
        }
    }

    fn unfollow(&self, root: AgentId) {
        locked(&self.inner.followed).remove(&root);
        self.inner.peers().iter().for_each(|peer| peer.queue.follows());
    }

    async fn evict(&self, agent: AgentId) {
        evict::evict(&self.inner, agent).await;
    }

    fn holds_lease(&self) -> bool {
        self.inner.members.is_counted_on()
    }

    fn poll_interval(&self) -> Option<Duration> {
        // `news::look` looks for all that is followed at once.
        Some(news::SELDOM)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
