//! A plain TCP balancer before nodes: connections go to them in turn, and past those that are gone.

use std::net::SocketAddr;

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

/// A balancer, until dropped.
pub(crate) struct Balancer {
    pub address: SocketAddr,
    _work: JoinSet<()>,
}

impl Balancer {
    pub(crate) async fn before(nodes: Vec<SocketAddr>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut work = JoinSet::new();
        work.spawn(async move {
            let mut carried = JoinSet::new();
            for turn in 0.. {
                let (mut from, _) = listener.accept().await.unwrap();
                let nodes = nodes.clone();
                carried.spawn(async move {
                    for node in nodes.iter().cycle().skip(turn % nodes.len()).take(nodes.len()) {
                        if let Ok(mut to) = TcpStream::connect(node).await {
                            // Whoever breaks it off has ended it for both.
                            let _ = copy_bidirectional(&mut from, &mut to).await;
                            return;
                        }
                    }
                });
            }
        });
        Self { address, _work: work }
    }
}
