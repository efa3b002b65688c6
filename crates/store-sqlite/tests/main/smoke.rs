//! smoke
use entourage_store::*;
use entourage_store_sqlite::*;
use entourage_types::*;

#[tokio::test]
async fn first() {
    let store = SqliteStore::in_memory().unwrap();
    let now = Time::now();
    let agent = Agent::root(Owner::local(), "k", "t", now);
    store.commit(Commit::new(now).write(Write::NewAgent(agent.clone()))).await.unwrap();
    let claim = store.claim(agent.id).await.unwrap().unwrap();
    assert_eq!(claim.agent.epoch, 1);
    println!("{:?}", store.events(&Scope::House, agent.root, 0, 10).await.unwrap());
}
