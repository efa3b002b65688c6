//! The dispatcher passes the conformance suite, without fairness between owners.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use entourage_engine::{
    Clock,
    dispatch::{Dispatcher, conformance::Subject},
};
use entourage_restate::{Restate, Settings};
use entourage_store::{MemoryStore, Store};
use entourage_testkit::FakeClock;

use crate::server::{Server, free_address};

/// One address, where one node after the other listens.
struct RestateSubject {
    server: Server,
    store: MemoryStore,
    clock: FakeClock,
    listen: SocketAddr,
}

impl RestateSubject {
    async fn new() -> Option<Self> {
        let (server, listen) = (Server::start().await?, free_address());
        server.register(listen).await;
        Some(Self { server, store: MemoryStore::default(), clock: FakeClock::default(), listen })
    }
}

impl Subject for RestateSubject {
    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.store.clone())
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(self.clock.clone())
    }

    fn pass(&self, time: Duration) {
        self.clock.advance(time);
    }

    fn dispatcher(&self, concurrency: usize) -> Arc<dyn Dispatcher> {
        let settings = Settings { concurrency, give_up_after: 3, ..self.server.settings(self.listen) };
        Arc::new(Restate::new(settings).unwrap())
    }

    fn crowd(&self) -> usize {
        500
    }
}

entourage_engine::dispatcher_conformance!(core: RestateSubject::new().await);
