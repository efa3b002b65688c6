//! Restate loses everything.

use std::{sync::Arc, time::Duration};

use entourage_engine::{Clock, dispatch::Dispatcher};
use entourage_restate::{Restate, register};
use entourage_store::{MemoryStore, Store};
use entourage_testkit::FakeClock;
use tokio_util::sync::CancellationToken;

use crate::{
    server::{Server, free_address, uri},
    worker::{Does, Worker, agents, until},
};

/// Restate is killed and its directory removed, while agents sleep and one is at work. Once another one is registered,
/// the sweeper hands over all of them again.
#[tokio::test]
async fn all_agents_finish_after_restate_has_lost_everything() {
    let Some(server) = Server::start().await else { return };
    let (listen, clock) = (free_address(), FakeClock::default());
    server.register(listen).await;
    let store = Arc::new(MemoryStore::default());
    let worker = Worker::new(Arc::<MemoryStore>::clone(&store));
    worker.has_them(Does::Hold);
    let (node, stop) = (Restate::new(server.settings(listen)).unwrap(), CancellationToken::new());
    let run = {
        let (worker, store, clock, stop) =
            (Arc::clone(&worker), Arc::clone(&store), clock.clone(), stop.clone());
        tokio::spawn(async move { node.run(worker, store, Arc::new(clock), stop).await })
    };
    let now = clock.now();
    let later = now + Duration::from_secs(40);
    // The sweeper has looked, and looks again in a while.
    clock.sleeper(Duration::from_secs(30)).await;
    agents(&*store, 1, now, now).await;
    agents(&*store, 20, now, later).await;
    until(&worker.working, "one is at work", |working| working.len() == 1).await;
    server.lose_everything();
    until(&worker.working, "what was in progress is cut", |working| working.is_empty()).await;
    register(&server.admin, &uri(listen)).await.unwrap();
    worker.has_them(Does::Serve);
    clock.advance(Duration::from_secs(40));
    until(&worker.served, "all are served", |served| served.len() == 21).await;
    stop.cancel();
    run.await.unwrap().unwrap();
    assert_eq!(store.due(later, None, 10).await.unwrap(), []);
}
