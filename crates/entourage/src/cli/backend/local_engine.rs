//! The engine in this process, reached through the same routes as one in another process.

use std::sync::Arc;

use async_trait::async_trait;
use entourage::{Engine, Entourage, Settings};
use entourage_engine::{
    Error, StoreError,
    dispatch::{Advance, Due},
    kinds::Severity,
};
use entourage_server::InProcess;
use entourage_types::{AgentId, Scope};
use reqwest::{RequestBuilder, Response};
use tokio::{
    sync::{Mutex, watch},
    task::JoinHandle,
};

use super::{Result, host::Host};
use crate::cli::{failure::Failure, out};

/// The engine in this process.
pub(super) struct LocalEngine {
    engine: Engine,
    routes: InProcess,
    /// None when the engine only reads and writes rows and runs no agents.
    entourage: Option<Entourage>,
    worker: Mutex<Option<JoinHandle<()>>>,
    /// Why the agents cannot work any more, once that happens.
    broken: watch::Sender<Option<String>>,
    /// Serves this engine to other commands.
    host: Mutex<Option<Host>>,
}

impl LocalEngine {
    /// An engine with everything that agents need to work.
    pub(super) async fn to_work(settings: &Settings) -> Result<Self, entourage::Error> {
        let mut settings = settings.clone();
        settings.cluster.visits = true;
        let settings = &settings;
        let entourage = Entourage::open(settings).await?;
        for problem in &entourage.problems {
            out::note(out::stderr().yellow(format!("note: {problem}; continuing without its tools")));
        }
        for mistake in entourage.remarks.iter().filter(|found| found.severity == Severity::Mistake) {
            out::note(out::stderr().yellow(format!("{mistake}; continuing without this file")));
        }
        let host = Host::open(entourage.engine.clone(), settings).await;
        if let Err(failure) = &host {
            let why = failure.text();
            out::note(out::stderr().yellow(format!("note: other commands cannot reach this one: {why}")));
        }
        let here = Self::new(entourage.engine.clone(), Some(entourage))?;
        Ok(Self { host: Mutex::new(host.ok()), ..here })
    }

    pub(super) fn new(engine: Engine, entourage: Option<Entourage>) -> Result<Self, entourage::Error> {
        let routes = InProcess::new(engine.clone())?;
        let broken = watch::Sender::new(None);
        Ok(Self { engine, routes, entourage, worker: Mutex::default(), broken, host: Mutex::default() })
    }

    /// Answers a request.
    pub(super) async fn answer(&self, request: RequestBuilder) -> Result<Response> {
        let unmade =
            |error: &dyn std::fmt::Display| Failure::failed(format!("no request can be made: {error}"));
        let request = request.build().map_err(|error| unmade(&error))?;
        self.routes.answer(request).await.map_err(|error| unmade(&error))
    }

    /// Makes the agents of a tree work.
    pub(super) async fn work(&self, root: AgentId) -> Result<()> {
        if let Some(host) = &mut *self.host.lock().await {
            host.works_on(root)?;
        }
        let mut worker = self.worker.lock().await;
        if let (None, Some(entourage)) = (&*worker, &self.entourage) {
            let (entourage, broken) = (entourage.clone(), self.broken.clone());
            let tree = Arc::new(OneTree { engine: self.engine.clone(), root, broken: broken.clone() });
            *worker = Some(tokio::spawn(async move {
                if let Err(error) = entourage.deliver(tree).await {
                    broken.send_replace(Some(error.to_string()));
                }
            }));
        }
        Ok(())
    }

    /// Whether another process that shares the database works for the agents of a tree.
    pub(super) fn works_elsewhere(&self, root: AgentId) -> bool {
        self.engine.works_elsewhere(root)
    }

    /// Whether this process does not work for any agent while others that share the database do.
    pub(super) fn leaves_work_to_others(&self) -> bool {
        self.engine.works_elsewhere(AgentId::new())
    }

    /// Ends the work of all agents.
    pub(super) async fn leave(&self) {
        if let Some(host) = self.host.lock().await.take() {
            host.close().await;
        }
        self.engine.stopping().cancel();
        if let Some(worker) = self.worker.lock().await.take() {
            // It ends by itself, at the latest after its grace period.
            let _ = worker.await;
        }
    }

    /// Receives the reason why the agents cannot work any more.
    pub(super) fn broken(&self) -> watch::Receiver<Option<String>> {
        self.broken.subscribe()
    }

    /// A text to show with the model's answers, if agents work here.
    pub(super) fn disclaimer(&self) -> Option<&'static str> {
        self.entourage.as_ref().and_then(|entourage| entourage.engine.model().disclaimer())
    }
}

/// Runs the agents of one tree only: work interrupted in another process waits until a user asks for it.
struct OneTree {
    engine: Engine,
    root: AgentId,
    /// Receives the reason when they cannot work.
    broken: watch::Sender<Option<String>>,
}

impl OneTree {
    /// Reports a damaged database to the commands that wait: it stays damaged.
    fn reporting<T>(&self, done: entourage_engine::Result<T>) -> entourage_engine::Result<T> {
        if let Err(Error::Store(error @ StoreError::Damaged(_))) = &done {
            self.broken.send_replace(Some(error.to_string()));
        }
        done
    }
}

#[async_trait]
impl Advance for OneTree {
    async fn advance(&self, agent: AgentId, due: Due) -> entourage_engine::Result<()> {
        match self.concerns(agent).await? {
            true => self.reporting(Advance::advance(&self.engine, agent, due).await),
            false => Ok(()),
        }
    }

    async fn give_up(&self, agent: AgentId, cause: &str) -> entourage_engine::Result<()> {
        self.engine.give_up(agent, cause).await
    }

    async fn concerns(&self, agent: AgentId) -> entourage_engine::Result<bool> {
        let found =
            self.reporting(self.engine.store().agent(&Scope::All, agent).await.map_err(Into::into))?;
        Ok(found.is_some_and(|found| found.root == self.root))
    }

    fn woken(&self, agent: AgentId) {
        Advance::woken(&self.engine, agent);
    }
}
