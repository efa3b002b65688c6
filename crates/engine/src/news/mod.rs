//! News of everything that an owner has: hints of what changed, which say where to read again, and no facts. All
//! hints of an owner within a moment are one piece of news, the same for all who follow. A follower that falls behind gets
//! one hint to read everything again.

mod gathered;

use std::{
    collections::HashMap,
    num::NonZeroUsize,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use entourage_store::{CommittedEvents, EntityQuery, Page, Store};
use entourage_types::{AgentId, Event, EventBody, Owner, Question, QuestionStatus, Scope, Time};
use lru::LruCache;
use tokio::sync::{
    Notify,
    broadcast::{self, error::RecvError},
};

use crate::{Clock, Result};
use gathered::Gathered;

/// For how long hints are gathered.
const MOMENT: Duration = Duration::from_millis(250);
/// By how many pieces of news a follower may fall behind before it has to read everything again.
const BACKLOG: usize = 64;
/// How many trees' owners are known without a read.
const ROOTS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(4095);
/// Open questions are counted up to this number.
const MOST_QUESTIONS: u32 = 200;

/// What changed for an owner within a moment.
#[derive(Debug, Default)]
pub struct News {
    /// The trees with new events; none if they are too many, or unknown: read everything again.
    pub trees: Option<Vec<TreeNews>>,
    /// What changed in the server itself.
    pub server: Vec<ServerNews>,
    /// Whether the owner, or a program in its name, changed projects or documents. Changes by agents are news of their
    /// trees.
    pub documents: bool,
    /// How many of the owner's questions are open; a hundred and more are counted up to two hundred.
    pub open_questions: u32,
    encoded: OnceLock<Box<[u8]>>,
}

/// A tree with new events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeNews {
    /// Its root.
    pub root: AgentId,
    /// The number of its last event; 0 if none is new, as when a message has come that nobody has read yet.
    pub seq: u64,
    /// The agents that they are about; none if they are many or unknown.
    pub agents: Option<Vec<AgentId>>,
}

/// What changed in the server itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerNews {
    /// The kinds were reloaded.
    Kinds,
}

impl News {
    /// Returns the form in which it is sent, which is made once for all who follow.
    pub fn encoded(&self, encode: impl FnOnce(&Self) -> Vec<u8>) -> &[u8] {
        self.encoded.get_or_init(|| encode(self).into())
    }
}

/// The owners with followers.
pub(crate) struct NewsDesk {
    shared: Arc<Shared>,
    pump: OnceLock<tokio::task::AbortHandle>,
}

struct Shared {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    owners: Mutex<HashMap<Owner, Followed>>,
    roots: Mutex<LruCache<AgentId, Option<Owner>>>,
    /// Tells the pump that hints came from elsewhere than the store.
    hinted: Notify,
}

/// An owner with followers.
struct Followed {
    news: broadcast::Sender<Arc<News>>,
    gathered: Gathered,
    open_questions: u32,
}

/// A follower of an owner's news.
pub struct NewsFeed {
    live: broadcast::Receiver<Arc<News>>,
    open_questions: u32,
}

impl NewsFeed {
    /// How many of the owner's questions were open when it began to follow.
    #[must_use]
    pub const fn open_questions(&self) -> u32 {
        self.open_questions
    }

    /// Waits for news; none once the engine has ended. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Arc<News>> {
        match self.live.recv().await {
            Ok(news) => {
                self.open_questions = news.open_questions;
                Some(news)
            }
            Err(RecvError::Lagged(_)) => {
                Some(Arc::new(News { open_questions: self.open_questions, ..News::default() }))
            }
            Err(RecvError::Closed) => None,
        }
    }
}

impl Drop for NewsDesk {
    fn drop(&mut self) {
        if let Some(pump) = self.pump.get() {
            pump.abort();
        }
        locked(&self.shared.owners).clear();
    }
}

impl NewsDesk {
    pub(crate) fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        let (owners, roots, hinted) = (Mutex::default(), Mutex::new(LruCache::new(ROOTS)), Notify::new());
        Self { shared: Arc::new(Shared { store, clock, owners, roots, hinted }), pump: OnceLock::new() }
    }

    /// Follows everything that an owner has.
    pub(crate) async fn follow(&self, owner: &Owner) -> Result<NewsFeed> {
        self.pump.get_or_init(|| {
            let changed = self.shared.store.changed();
            tokio::spawn(Arc::clone(&self.shared).pump(changed)).abort_handle()
        });
        // Before the questions are counted, so that none is missed.
        let live = {
            let mut owners = locked(&self.shared.owners);
            let new = || Followed {
                news: broadcast::Sender::new(BACKLOG),
                gathered: Gathered::default(),
                open_questions: 0,
            };
            owners.entry(owner.clone()).or_insert_with(new).news.subscribe()
        };
        let open_questions = self.shared.open_questions(owner).await?;
        if let Some(followed) = locked(&self.shared.owners).get_mut(owner) {
            followed.open_questions = open_questions;
        }
        Ok(NewsFeed { live, open_questions })
    }

    /// Tells all who follow what changed in the server itself.
    pub(crate) fn tell(&self, news: ServerNews) {
        locked(&self.shared.owners).values_mut().for_each(|followed| followed.gathered.server(news));
        self.shared.hinted.notify_one();
    }

    /// Tells those who follow this owner that projects or documents changed.
    pub(crate) fn documents(&self, owner: &Owner) {
        if let Some(followed) = locked(&self.shared.owners).get_mut(owner) {
            followed.gathered.documents();
            self.shared.hinted.notify_one();
        }
    }

    /// Tells those who follow this owner that an agent has something new to read.
    pub(crate) fn unread(&self, owner: &Owner, root: AgentId, agent: AgentId) {
        if let Some(followed) = locked(&self.shared.owners).get_mut(owner) {
            followed.gathered.event(root, 0, agent, false);
            self.shared.hinted.notify_one();
        }
    }

    /// Another node has news. Whose they are would have to be read: all read again what they show.
    pub(crate) fn hint(&self) {
        self.shared.lose();
        self.shared.hinted.notify_one();
    }
}

impl Shared {
    /// Gathers hints, and sends them on a moment after the first.
    async fn pump(self: Arc<Self>, mut changed: broadcast::Receiver<Arc<CommittedEvents>>) {
        let mut flush: Option<Time> = None;
        loop {
            let due = async {
                match flush {
                    Some(at) => self.clock.sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = due => {
                    flush = None;
                    self.flush().await;
                    continue;
                }
                change = changed.recv() => match change {
                    Ok(change) => self.note(&change.events).await,
                    Err(RecvError::Lagged(_)) => self.lose(),
                    // The store is gone: the feeds end.
                    Err(RecvError::Closed) => return locked(&self.owners).clear(),
                },
                () = self.hinted.notified() => {}
            }
            flush.get_or_insert_with(|| self.clock.now() + MOMENT);
        }
    }

    /// Hints were lost, whose is unknown: all followers read again what they show.
    fn lose(&self) {
        locked(&self.owners).values_mut().for_each(|followed| followed.gathered.lose());
    }

    async fn note(&self, events: &[Event]) {
        if locked(&self.owners).is_empty() {
            return;
        }
        for event in events {
            let owner = match self.owner_of(event.root).await {
                Ok(Some(owner)) => owner,
                Ok(None) => continue,
                // It may be anybody's.
                Err(_) => {
                    self.lose();
                    continue;
                }
            };
            if let Some(followed) = locked(&self.owners).get_mut(&owner) {
                let asks = matches!(event.body, EventBody::Question { .. });
                followed.gathered.event(event.root, event.seq, event.agent, asks);
            }
        }
    }

    /// The owner of a tree. Trees do not change owners.
    async fn owner_of(&self, root: AgentId) -> Result<Option<Owner>> {
        if let Some(known) = locked(&self.roots).get(&root) {
            return Ok(known.clone());
        }
        let found = self.store.agent(&Scope::All, root).await?;
        let owner = found.map(|agent| agent.owner);
        locked(&self.roots).put(root, owner.clone());
        Ok(owner)
    }

    /// Sends what was gathered. Owners without followers are forgotten.
    async fn flush(&self) {
        let asked: Vec<Owner> = {
            let mut owners = locked(&self.owners);
            owners.retain(|_, followed| followed.news.receiver_count() > 0);
            let asked = owners.iter().filter(|(_, followed)| followed.gathered.has_questions());
            asked.map(|(owner, _)| owner.clone()).collect()
        };
        for owner in asked {
            // If it cannot be counted, the next question counts.
            let Ok(open_questions) = self.open_questions(&owner).await else { continue };
            if let Some(followed) = locked(&self.owners).get_mut(&owner) {
                followed.open_questions = open_questions;
            }
        }
        for followed in locked(&self.owners).values_mut() {
            if let Some(news) = followed.gathered.take() {
                let _ =
                    followed.news.send(Arc::new(News { open_questions: followed.open_questions, ..news }));
            }
        }
    }

    async fn open_questions(&self, owner: &Owner) -> Result<u32> {
        let page = Page { limit: MOST_QUESTIONS, ..Page::default() };
        let open = EntityQuery { page, ..EntityQuery::in_status::<Question>(QuestionStatus::Open) };
        let open = self.store.entities(&Scope::from(owner), open).await?;
        Ok(u32::try_from(open.len()).unwrap_or(MOST_QUESTIONS))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
