//! What is found of the way to Restate, and from there to a node.

use std::sync::Arc;

use entourage_engine::dispatch::{Advance, Dispatcher};
use entourage_restate::{Call, Error, Restate, Settings, register};
use entourage_store::MemoryStore;
use entourage_testkit::FakeClock;
use tokio_util::sync::CancellationToken;

use crate::{
    server::{Server, free_address, uri},
    worker::Worker,
};

#[tokio::test]
async fn it_is_found_where_the_way_to_a_node_ends() {
    let Some(server) = Server::start().await else { return };
    let listen = free_address();
    let node = Restate::new(server.settings(listen)).unwrap();
    node.listen().await.unwrap();
    let found = node.examine(Some(&server.admin)).await.unwrap();
    assert_eq!(found.call, Call::Unregistered);
    assert!(found.version.unwrap().unwrap().starts_with("1."));

    let (store, stop) = (Arc::new(MemoryStore::default()), CancellationToken::new());
    let engine = Worker::new(Arc::<MemoryStore>::clone(&store)) as Arc<dyn Advance>;
    let examined = async {
        register(&server.admin, &uri(listen)).await.unwrap();
        let found = node.examine(None).await.unwrap();
        assert!(matches!(found.call, Call::Answered(_)) && found.version.is_none(), "{found:?}");
        stop.cancel();
    };
    let ran = node.run(engine, store, Arc::new(FakeClock::default()), stop.clone());
    tokio::join!(async { ran.await.unwrap() }, examined);

    let found = node.examine(Some(&server.admin)).await.unwrap();
    let Call::Unanswered { cause: Some(cause) } = found.call else { panic!("nobody is there: {found:?}") };
    assert!(cause.contains("refused"), "{cause}");

    let nowhere = Settings::new(uri(free_address()), listen);
    let found = Restate::new(nowhere).unwrap().examine(None).await;
    assert!(matches!(found, Err(Error::Unreachable(_))), "{found:?}");
}

#[tokio::test]
async fn an_address_of_the_other_server_is_named_as_such() {
    let Some(server) = Server::start().await else { return };
    let other = Restate::new(Settings::new(server.admin.clone(), free_address())).unwrap();
    let found = other.examine(None).await;
    assert!(matches!(found, Err(Error::OtherServer { server: "ingress", .. })), "{found:?}");
    let registered = register(&server.ingress, &uri(free_address())).await;
    assert!(matches!(registered, Err(Error::OtherServer { server: "admin API", .. })), "{registered:?}");
    let restate = Restate::new(server.settings(free_address())).unwrap();
    let version = restate.examine(Some(&server.ingress)).await.unwrap().version;
    assert!(matches!(version, Some(Err(Error::OtherServer { .. }))), "{version:?}");
}
