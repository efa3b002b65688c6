//! Following a tree that has more events than one page: all of them, in order, each once.

use crate::kit::{WorldExt, first_tools};
use entourage_engine::{NewAgent, Signal, Watch};
use entourage_llm::ScriptedModel;
use entourage_store::{Commit, Write};
use entourage_testkit::World;

#[tokio::test]
async fn a_subscriber_receives_all_events_across_pages_from_any_number() {
    let world = World::scripted(&ScriptedModel::new([]), first_tools()).await;
    let root = world.client().create(NewAgent::default(), None).await.unwrap();
    let child = |_| Write::NewAgent(root.child("researcher", "", None, root.created));
    let page = u64::from(Watch::PAGE);
    // More than two pages, and not a number of whole ones.
    let all = 2 * page + page / 3;
    let writes = (1..all).map(child).collect();
    world.store().commit(Commit { writes, ..Commit::new(root.created) }).await.unwrap();
    for from in [0, 3, page - 1, page, page + 1, 2 * page, all - 1] {
        let mut watch = world.client().watch(root.id, from).await.unwrap();
        let mut seen = Vec::new();
        loop {
            match watch.next().await.unwrap() {
                Signal::Event(event) => seen.push(event.seq),
                Signal::CaughtUp(_) => break,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(seen, (from + 1..=all).collect::<Vec<_>>(), "from {from}");
    }
}
