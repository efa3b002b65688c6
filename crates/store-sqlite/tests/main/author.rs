//! The agent with which the tests write, and what must hold of its rows whatever happened.

use entourage_store::{AgentQuery, Commit, ItemQuery, Page, Result, Store, Write};
use entourage_store_sqlite::SqliteStore;
use entourage_types::{
    Agent, Author as By, EventBody, Item, ItemBody, Message, Owner, Post, PostBody, PostId, RunId, Scope,
    Time, WakeupId,
};

/// A claimed agent whose every commit writes one message and posts it to the agent itself.
pub(crate) struct Author {
    agent: Agent,
}

impl Author {
    pub(crate) async fn begin(store: &SqliteStore) -> Result<Self> {
        let agent = Agent::root(Owner::local(), "helper", "helps", Time::now());
        store.commit(Commit::new(Time::now()).write(Write::NewAgent(agent.clone()))).await?;
        Ok(Self { agent: store.claim(agent.id, 0).await?.expect("it was just made").agent })
    }

    pub(crate) async fn say(&mut self, store: &SqliteStore, text: &str) -> Result<()> {
        let at = Time::now();
        let message = Message::new(By::User, text, None);
        let item = Item {
            agent: self.agent.id,
            seq: self.agent.items,
            run: RunId::new(),
            session: 1,
            at,
            step: None,
            body: ItemBody::Message(message),
        };
        let body = PostBody::Message {
            from: By::User,
            text: text.to_owned(),
            task: None,
            queued: false,
            options: None,
        };
        let post = Post { id: PostId::new(), agent: self.agent.id, at, wakeup: WakeupId::new(), body };
        self.agent.items += 1;
        let mut commit = Commit::fenced(&self.agent, at).write(Write::Item(item));
        commit.push(Write::Agent(self.agent.clone()));
        commit.post(post, &self.agent.owner);
        store.commit(commit).await.map(|_| ())
    }
}

/// Asserts that every commit of every [`Author`] is stored as a whole or not at all, and returns how many
/// are.
pub(crate) async fn assert_whole(store: &SqliteStore) -> Result<usize> {
    let all = Scope::All;
    let page = Page { limit: 1_000, ..Page::default() };
    let mut commits = 0;
    for agent in store.agents(&all, AgentQuery { page, ..AgentQuery::default() }).await? {
        let items = store.items(&all, ItemQuery::of(agent.id, 0, 100_000)).await?;
        let seqs: Vec<u64> = items.iter().map(|item| item.seq).collect();
        assert_eq!(seqs, (0..agent.items).collect::<Vec<_>>(), "the row and the transcript");
        assert_eq!(store.inbox(agent.id).await?.len(), items.len(), "the transcript and the inbox");
        let events = store.events(&all, agent.root, 0, 100_000).await?;
        let numbers: Vec<u64> = events.iter().map(|event| event.seq).collect();
        assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>());
        let told = events.into_iter().filter_map(|event| match event.body {
            EventBody::Item { item, .. } => item,
            _ => None,
        });
        assert_eq!(told.collect::<Vec<_>>(), items, "the events and the transcript");
        commits += items.len();
    }
    assert_eq!(store.due(Time::now(), None, 100_000).await?.len(), commits, "the inbox and the wake-ups");
    Ok(commits)
}
