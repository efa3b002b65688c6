//! Links between nodes, and their loss.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use entourage_engine::{NewAgent, NewProject, Signal, Signals};
use entourage_llm::ScriptedModel;
use entourage_mesh::{Error, Mesh, Settings};
use entourage_store::{MemoryNodes, MemoryStore, NODE_LEASE};
use entourage_types::{Action, DispatchBy, EventBody, NodeRole, Time};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
    sync::watch,
};

use crate::kit::{Place, until, within};

/// A way to another node that can be cut.
struct Way {
    address: SocketAddr,
    open: watch::Sender<bool>,
    to: watch::Sender<Option<SocketAddr>>,
}

impl Way {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (open, to) = (watch::Sender::new(true), watch::Sender::new(None));
        let (is_open, its_to) = (open.subscribe(), to.subscribe());
        tokio::spawn(async move {
            while let Ok((mut from, _)) = listener.accept().await {
                let (mut is_open, to) = (is_open.clone(), *its_to.borrow());
                let Some(to) = to.filter(|_| *is_open.borrow()) else { continue };
                tokio::spawn(async move {
                    let mut onward = TcpStream::connect(to).await.unwrap();
                    tokio::select! {
                        _ = copy_bidirectional(&mut from, &mut onward) => {}
                        _ = is_open.wait_for(|open| !open) => {}
                    }
                });
            }
        });
        Self { address, open, to }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happened_while_a_link_was_lost_is_seen_all_the_same() {
    let place = Place::new();
    let (ways, mut nodes) = ([Way::new().await, Way::new().await], Vec::new());
    for way in &ways {
        let node = place.node_at(NodeRole::Api, ScriptedModel::new([]), Some(way.address)).await;
        way.to.send_replace(Some(node.mesh.listens_at().unwrap()));
        nodes.push(node);
    }
    let [one, other] = <[_; 2]>::try_from(nodes).ok().unwrap();
    one.linked(1).await;
    let agent = one.client().create(NewAgent::default(), None).await.unwrap();
    let mut watch = other.client().watch(agent.id, 0).await.unwrap();
    for way in &ways {
        way.open.send_replace(false);
    }
    until("the link is lost", || !one.mesh.others()[0].1).await;
    // No link brings this; the other node finds it.
    one.client().intervene(agent.id, Action::Pause, None).await.unwrap();
    let is_there = async {
        loop {
            if let Signal::Event(event) = watch.next().await.unwrap()
                && matches!(event.body, EventBody::Intervention { .. })
            {
                return;
            }
        }
    };
    within("the intervention is seen", is_there).await;
    for way in &ways {
        way.open.send_replace(true);
    }
    one.linked(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_presents_no_token_gets_no_link() {
    let place = Place::new();
    let node = place.node(NodeRole::All, ScriptedModel::new([])).await;
    for token in ["", "Bearer ", "Bearer 0000000000000000000000000000000000000000000000000000000000000000"] {
        let mut socket = TcpStream::connect(node.mesh.listens_at().unwrap()).await.unwrap();
        let request = format!(
            "GET /internal/link HTTP/1.1\r\nHost: node\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: {token}\r\n\r\n"
        );
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut answer = [0; 12];
        within("an answer", socket.read_exact(&mut answer)).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 401", "{token}");
    }
}

/// A node that listens nowhere.
fn unlinked(dispatch: DispatchBy) -> Settings {
    Settings { role: NodeRole::All, dispatch, version: "1".to_owned(), listen: None, address: None }
}

#[tokio::test]
async fn a_node_that_is_told_otherwise_what_is_due_does_not_join() {
    let nodes = MemoryNodes::new(MemoryStore::default(), || Time::from_micros(0));
    let join = async |by| Mesh::join(Arc::new(nodes.another()), unlinked(by), || Time::from_micros(0)).await;
    let first = join(DispatchBy::Restate).await.unwrap();
    let Err(error @ Error::Dispatch { .. }) = join(DispatchBy::Database).await else { panic!("it joins") };
    assert!(error.to_string().starts_with("`dispatch.by` is `database` here"), "{error}");
    let second = join(DispatchBy::Restate).await.unwrap();
    assert_eq!(second.others().len(), 1, "the one that was refused is no node");
    first.leave().await.unwrap();
    second.leave().await.unwrap();
    join(DispatchBy::Database).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_node_that_returns_to_others_with_another_dispatcher_leaves() {
    let now = Arc::new(AtomicI64::new(0));
    let clock = Arc::clone(&now);
    let nodes =
        MemoryNodes::new(MemoryStore::default(), move || Time::from_micros(clock.load(Ordering::SeqCst)));
    let join = async |by| {
        let now = Arc::clone(&now);
        let time = move || Time::from_micros(now.load(Ordering::SeqCst));
        Mesh::join(Arc::new(nodes.another()), unlinked(by), time).await
    };
    let away = join(DispatchBy::Restate).await.unwrap();
    now.store(i64::try_from(NODE_LEASE.as_micros()).unwrap() + 1, Ordering::SeqCst);
    tokio::time::advance(NODE_LEASE).await;
    let came = join(DispatchBy::Database).await.unwrap();
    let Err(error @ Error::Dispatch { .. }) = away.set_role(NodeRole::All).await else {
        panic!("it is back")
    };
    assert!(error.to_string().contains(", role all)"), "{error}");
    assert!(!away.holds_lease() && came.holds_lease());
    came.set_role(NodeRole::All).await.unwrap();
    assert!(came.others().is_empty(), "the one that was away is no node");
}

#[tokio::test]
async fn a_node_whose_clock_goes_wrong_is_none_until_it_is_right() {
    let nodes = MemoryNodes::new(MemoryStore::default(), || Time::from_micros(0));
    let off = Arc::new(AtomicI64::new(0));
    let its = Arc::clone(&off);
    let clock = move || Time::from_micros(its.load(Ordering::SeqCst));
    let node = Mesh::join(Arc::new(nodes.another()), unlinked(DispatchBy::Database), clock).await.unwrap();
    let other =
        Mesh::join(Arc::new(nodes.another()), unlinked(DispatchBy::Database), || Time::from_micros(0))
            .await
            .unwrap();
    let others = async || {
        other.set_role(NodeRole::All).await.unwrap();
        other.others().len()
    };
    for wrong in [3_600_000_000, -3_600_000_000] {
        off.store(wrong, Ordering::SeqCst);
        assert!(!node.holds_lease(), "at once");
        assert!(matches!(node.set_role(NodeRole::All).await, Err(Error::Clock { .. })));
        assert_eq!(others().await, 0);
        off.store(1_000_000, Ordering::SeqCst);
        node.set_role(NodeRole::All).await.unwrap();
        assert!(node.holds_lease());
        assert_eq!(others().await, 1);
    }
}

#[tokio::test]
async fn a_machine_whose_clock_is_off_does_not_join() {
    let nodes = MemoryNodes::new(MemoryStore::default(), || Time::from_micros(1_000_000_000));
    let settings = || unlinked(DispatchBy::Database);
    for (now, way) in [(1_003_000_000, "3.0 s ahead of"), (996_000_000, "4.0 s behind")] {
        let joined = Mesh::join(Arc::new(nodes.another()), settings(), move || Time::from_micros(now)).await;
        let Err(error @ Error::Clock { .. }) = joined else { panic!("{now} joins") };
        assert!(error.to_string().contains(way), "{error}");
    }
    let near =
        Mesh::join(Arc::new(nodes.another()), settings(), || Time::from_micros(1_001_000_000)).await.unwrap();
    assert!(near.others().is_empty(), "those that were refused are no nodes");
}

#[tokio::test]
async fn a_node_that_listens_everywhere_must_say_where_it_is_reached() {
    let nodes = MemoryNodes::new(MemoryStore::default(), || Time::from_micros(0));
    let settings = |address: Option<&str>| Settings {
        listen: Some("0.0.0.0:0".parse().unwrap()),
        address: address.map(str::to_owned),
        ..unlinked(DispatchBy::Database)
    };
    let now = || Time::from_micros(0);
    let refused = Mesh::join(Arc::new(nodes.another()), settings(None), now).await;
    let Err(error @ Error::Unreachable { .. }) = refused else { panic!("it joins") };
    assert!(error.to_string().contains("cluster.address"), "{error}");
    Mesh::join(Arc::new(nodes), settings(Some("node-1:4181")), now).await.unwrap();
}

#[tokio::test]
async fn a_node_whose_signs_of_life_are_lost_stops_counting_on_itself() {
    tokio::time::pause();
    let began = tokio::time::Instant::now();
    let clock = move || Time::from_micros(i64::try_from(began.elapsed().as_micros()).unwrap());
    let nodes = MemoryNodes::new(MemoryStore::default(), clock);
    let mesh = Mesh::join(Arc::new(nodes), unlinked(DispatchBy::Database), clock).await.unwrap();
    assert!(mesh.holds_lease());
    tokio::time::advance(Duration::from_millis(7900)).await;
    assert!(mesh.holds_lease());
    tokio::time::advance(Duration::from_millis(200)).await;
    assert!(!mesh.holds_lease(), "the others count on it for two seconds more");
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_that_change_at_one_node_are_news_at_the_other() {
    let place = Place::new();
    let one = place.node(NodeRole::Api, ScriptedModel::new([])).await;
    let other = place.node(NodeRole::Api, ScriptedModel::new([])).await;
    one.linked(1).await;
    other.linked(1).await;
    let mut news = other.client().news().await.unwrap();
    one.client().create_project(NewProject { name: "Rome".into(), ..NewProject::default() }).await.unwrap();
    within("it is heard of", async { while !news.next().await.unwrap().documents {} }).await;
}
