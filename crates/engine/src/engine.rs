//! The engine: a store, a model, tools, kinds and a clock. What it holds beside these can be lost at any
//! time.

mod builder;

use std::sync::Arc;

use entourage_llm::Model;
use entourage_store::Store;
use entourage_types::{Agent, Owner, Time};
use tokio_util::sync::CancellationToken;

use crate::{
    Budgets, Client, Clock, Signals, Tracer, activations::Activations, budget::Roots, budget_wakeups::Scans,
    dispatch, feed::Feed, guardrail::Guardrails, health::Health, memory::Memory, news::NewsDesk,
    outbox::Outbox, programs::Programs, restart::Restarts, schemas::Schemas, secrets::SecretKeys,
    servers::Servers, taint_cache::TaintCache, thread_sync::SaveLayer, tool_lists::ToolLists,
    toolset::Toolsets, transcript_cache::TranscriptCache, versions::Versions,
};

pub use builder::Builder;

/// An engine of agents. Cheap to clone; all clones are the same engine.
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: Arc<Inner>,
}

/// What an engine is composed of. Only the fields that stand for a module are visible outside, with what that module
/// lets others do with them.
pub(crate) struct Inner {
    store: Arc<dyn Store>,
    model: Arc<dyn Model>,
    pub(crate) versions: Versions,
    pub(crate) toolsets: Toolsets,
    pub(crate) tool_lists: ToolLists,
    pub(crate) servers: Servers,
    pub(crate) secret_keys: Option<Arc<SecretKeys>>,
    clock: Arc<dyn Clock>,
    pub(crate) feed: Feed,
    pub(crate) news: NewsDesk,
    pub(crate) signals: Arc<dyn Signals>,
    pub(crate) transcripts: TranscriptCache,
    pub(crate) taint: TaintCache,
    pub(crate) schemas: Schemas,
    pub(crate) activations: Activations,
    pub(crate) outbox: Outbox,
    pub(crate) places: dispatch::LastPlaces,
    pub(crate) save_layer: Option<SaveLayer>,
    pub(crate) tracer: Option<Arc<dyn Tracer>>,
    pub(crate) guardrails: Guardrails,
    pub(crate) programs: Programs,
    /// Held during a job run, so that job runs do not overlap.
    pub(crate) job_lock: tokio::sync::Mutex<()>,
    /// When tasks and goals are ended that make no progress.
    pub(crate) health: Health,
    /// The looks at the agents that wait for a budget.
    pub(crate) budget_scans: Scans,
    /// What owners may spend in a day.
    pub(crate) budgets: Budgets,
    pub(crate) roots: Roots,
    /// The runs that an earlier process left in progress.
    pub(crate) restarts: Restarts,
    /// Cancelled when the process is to end: activations stop at their next step, and another process
    /// continues them.
    stopping: CancellationToken,
}

impl Engine {
    /// Returns the client of one owner: what that owner may see and do.
    #[must_use]
    pub fn client(&self, owner: Owner) -> Client {
        Client::new(self.clone(), owner)
    }

    /// The store, for dispatchers and for maintenance.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.inner.store
    }

    /// The clock.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.inner.clock
    }

    /// The model, for its description and for the disclaimer that must accompany its answers.
    #[must_use]
    pub fn model(&self) -> &Arc<dyn Model> {
        &self.inner.model
    }

    /// The token that is cancelled when activations are to stop at their next step.
    #[must_use]
    pub fn stopping(&self) -> &CancellationToken {
        &self.inner.stopping
    }

    /// What an agent remembers.
    pub(crate) fn memory(&self, agent: &Agent) -> Memory {
        Memory::of(&self.inner.store, agent)
    }

    pub(crate) fn now(&self) -> Time {
        self.inner.clock.now()
    }
}
