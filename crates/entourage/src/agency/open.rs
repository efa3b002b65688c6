//! Opens an agency: checks its chart, builds its engine and starts the work.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use entourage_engine::{
    Agency as Definition, Budgets, Clock, Engine, Kinds, Outbox, SystemClock, ThreadStore, kinds::names_tool,
};
use entourage_llm::Model;
use entourage_store::Store;
use entourage_tools::{
    Address, Caller, Context, Effect, Error as ToolError, Outcome, Settings as ToolSettings, Tool, Toolbox,
};
use entourage_types::{Input, Kind, Owner, ResultSource, ToolSpec};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::{
    Agency, Agent, Guardrail, ModelChoice,
    chart::chart,
    models::{AgencyModels, own_model},
};
use crate::{
    Error, Result, Settings,
    closable::Closable,
    compose::{Place, toolbox},
    embedded::{AtWork, Kept, chosen_model, work},
    settings::Cluster,
    subscriber::{NoReceivers, Subscriber, subscribed},
};

/// Builds an agency.
#[must_use]
pub struct AgencyBuilder {
    entry: Vec<Agent>,
    flows: Vec<(Agent, Agent)>,
    others: Vec<Agent>,
    shared: String,
    model: Option<ModelChoice>,
    kept: Option<Kept>,
    cluster: Option<Cluster>,
    clock: Arc<dyn Clock>,
    tools: ToolSettings,
    guardrails: Vec<Guardrail>,
    thread_store: Option<Arc<dyn ThreadStore>>,
    subscribers: Vec<Subscriber>,
    budgets: Budgets,
    python_worker: Option<Vec<OsString>>,
}

impl AgencyBuilder {
    pub(super) fn new(entry: Vec<Agent>, flows: Vec<(Agent, Agent)>) -> Self {
        Self {
            entry,
            flows,
            others: Vec::new(),
            shared: String::new(),
            model: None,
            kept: None,
            cluster: None,
            clock: Arc::new(SystemClock),
            tools: ToolSettings::default(),
            guardrails: Vec::new(),
            thread_store: None,
            subscribers: Vec::new(),
            budgets: Budgets::default(),
            python_worker: None,
        }
    }

    /// Sets instructions that every agent gets before its own.
    pub fn shared_instructions(mut self, instructions: impl Into<String>) -> Self {
        self.shared = instructions.into();
        self
    }

    /// Adds agents that are neither an entry point nor in a flow: those that
    /// [`can_message`](super::AgentBuilder::can_message) names.
    pub fn agents<'a>(mut self, agents: impl IntoIterator<Item = &'a Agent>) -> Self {
        self.others.extend(agents.into_iter().cloned());
        self
    }

    /// Sets the model of all agents that have none of their own: a name, `provider::name`, or one of yours in
    /// an [`Arc`]. By default, the settings and the environment choose it.
    pub fn model(mut self, model: impl Into<ModelChoice>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Keeps threads in memory, for as long as the agency is open.
    pub fn in_memory(mut self) -> Self {
        self.kept = Some(Kept::InMemory);
        self
    }

    /// Keeps threads in this database file, created if it does not exist. Unfinished work in it continues.
    pub fn database(mut self, path: impl Into<PathBuf>) -> Self {
        self.kept = Some(Kept::Database(path.into()));
        self
    }

    /// Keeps threads in a store of your own.
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.kept = Some(Kept::Own(store));
        self
    }

    /// Sets how this process is one of several, where the store is one that they share: they open the same agency, and its
    /// agents work at any of them.
    pub fn cluster(mut self, cluster: Cluster) -> Self {
        self.cluster = Some(cluster);
        self
    }

    /// Adds a guardrail that [`Ask::response_validator`](super::Ask::response_validator) can name.
    pub fn guardrail(mut self, guardrail: Guardrail) -> Self {
        self.guardrails.push(guardrail);
        self
    }

    /// Gives agents that list it the tool `python`. Their code runs in processes of a program whose main function calls
    /// `entourage::python::worker_main` before anything else; these are the first words of its command: your own program
    /// with an argument by which it knows, or one that does nothing else. Without this there is no such tool.
    pub fn python(mut self, worker: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.python_worker = Some(worker.into_iter().map(Into::into).collect());
        self
    }

    /// Saves threads to a store of your own as well, through its hooks to load and save them. A thread that
    /// is new here starts with the items that this store has of it.
    pub fn thread_store(mut self, thread_store: Arc<dyn ThreadStore>) -> Self {
        self.thread_store = Some(thread_store);
        self
    }

    /// Adds a function that is told of events, such as the end of a task. What is pending for other receivers, if another
    /// program wrote it into the same database, is given up: this one does not know them.
    pub fn subscriber(mut self, subscriber: Subscriber) -> Self {
        self.subscribers.push(subscriber);
        self
    }

    /// Sets what may be spent in a day. What one thread may spend is said by `limits.max_tree_cost` of its entry point.
    pub fn budgets(mut self, budgets: Budgets) -> Self {
        self.budgets = budgets;
        self
    }

    /// Sets the settings of the built-in tools.
    pub fn tool_settings(mut self, settings: ToolSettings) -> Self {
        self.tools = settings;
        self
    }

    /// Sets the clock; the system's by default. Tests pass their own.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Opens it; agents work from here on. Unfinished work in its database continues.
    ///
    /// # Errors
    /// [`Error::Agency`] for mistakes in the chart, an unknown model or built-in tool, an agent that belongs
    /// to another open agency, and when it is not set where threads are stored, neither here nor by `ENTOURAGE_STORE`;
    /// [`Error::Cluster`] when it cannot join the processes that share its store; [`Error::Subscriber`] for a subscriber
    /// that cannot be one; [`Error::Store`] and [`Error::Model`] when those cannot be used. No model is called in these
    /// cases.
    pub async fn open(self) -> Result<Agency> {
        let (agents, chart) = chart(&self.entry, &self.flows, &self.others)?;
        let definition = Definition {
            name: "agency".into(),
            description: String::new(),
            chart,
            shared_instructions: self.shared.trim().to_owned(),
            file: String::new(),
        };
        let Some(kept) = self.kept.map_or_else(Kept::shared, |kept| Ok(Some(kept)))? else {
            return Err(Error::Agency(
                "no place for threads is set: add `.in_memory()` or `.database(\"agency.db\")`, or set \
                 ENTOURAGE_STORE to the address of a PostgreSQL database"
                    .into(),
            ));
        };
        let cluster = self.cluster.unwrap_or_else(|| kept.cluster());
        let (by_restate, dispatch) = (kept.by_restate(&cluster)?, kept.dispatch());
        let delivers = !self.subscribers.is_empty();
        let (outbox, transport) = subscribed(self.subscribers, Outbox::default(), Arc::new(NoReceivers))?;
        let closable = Arc::new(Closable::new(kept.open().await?));
        let store: Arc<dyn Store> = Arc::clone(&closable) as _;
        let default = chosen_model(self.model, || Settings::load(None, None)).await?;
        let mut own = BTreeMap::new();
        let mut tools = toolbox(self.tools, self.python_worker.as_deref());
        for agent in &agents {
            check_named(agent, &*default, &tools)?;
        }
        let mut kinds = Kinds::none();
        let mut guardrails = self.guardrails;
        for agent in &agents {
            let mut kind = kind_of(agent, &definition);
            if let Some(model) = agent.model() {
                kind.model = Some(own_model(agent.name()));
                own.insert(own_model(agent.name()), Arc::clone(model));
            }
            for tool in agent.tools() {
                let own = OwnTool::of(agent, tool);
                tools.add(Arc::new(own)).map_err(|error| Error::Agency(error.to_string()))?;
            }
            for (name, check) in agent.guardrails() {
                guardrails.push(Guardrail::of(name, Arc::clone(check)));
            }
            kinds.add(kind);
        }
        let model: Arc<dyn Model> = Arc::new(AgencyModels { default, own });
        let stop = CancellationToken::new();
        let give_up_after = dispatch.give_up_after;
        let place = Place::take(&*store, &cluster, dispatch, by_restate).await?;
        let mut engine = Engine::builder(store, model)
            .signals(place.signals())
            .give_up_after(give_up_after)
            .kinds(kinds)
            .tools(tools)
            .clock(self.clock)
            .budgets(self.budgets)
            .outbox(outbox)
            .stopping(stop.clone());
        for agent in &agents {
            if let Some(program) = agent.program() {
                engine = engine.program(agent.name(), Arc::clone(program));
            }
        }
        if let Some(thread_store) = self.thread_store {
            engine = engine.thread_store(thread_store);
        }
        for (at, Guardrail { name, check, .. }) in guardrails.iter().enumerate() {
            let is_other = |other: &Guardrail| other.name == *name && !Arc::ptr_eq(&other.check, check);
            if guardrails[..at].iter().any(is_other) {
                return Err(Error::Agency(format!(
                    "there are two guardrails of the name `{name}`; rename one"
                )));
            }
            engine = engine.guardrail(name, Arc::clone(check));
        }
        let engine = engine.build();
        engine.kinds().iter().try_for_each(|kind| engine.check_kind(kind)).map_err(Error::Agency)?;
        let client = engine.client(Owner::local());
        let home = Arc::new(AtWork { client, stop: stop.clone(), worker: Mutex::default(), store: closable });
        // Before any work starts: of two agencies that open with the same agent, only one succeeds.
        agents.iter().try_for_each(|agent| agent.move_in(&home))?;
        *home.worker.lock().await = Some(tokio::spawn(work(engine, place, delivers.then_some(transport))));
        Ok(Agency { home, entry: self.entry, agents })
    }
}

/// Refuses a model or a built-in tool that an agent names and this agency does not have.
fn check_named(agent: &Agent, default: &dyn Model, tools: &Toolbox) -> Result<()> {
    let name = agent.name();
    if let (Some(model), None) = (&agent.kind().model, agent.model()) {
        default.check(model).map_err(|why| Error::Agency(format!("{name}: {why}")))?;
    }
    for listed in agent.kind().tools.iter().flatten() {
        if !tools.names().any(|tool| names_tool(listed, tool)) {
            let known = tools.names().collect::<Vec<_>>().join(", ");
            return Err(Error::Agency(format!(
                "{name}: there is no built-in tool `{listed}` here; there are: {known}"
            )));
        }
    }
    Ok(())
}

/// The kind of an agent in this agency.
fn kind_of(agent: &Agent, agency: &Definition) -> Kind {
    let mut kind = agent.kind().clone();
    let own = agent.tools().iter().map(|tool| name_of(agent, &**tool));
    kind.tools.get_or_insert_default().extend(own);
    Kind { input: Input::Queue, ..agency.member(kind) }
}

/// The name of an agent's tool in the engine, where other agents may have a tool of the same name.
fn name_of(agent: &Agent, tool: &dyn Tool) -> String {
    format!("{}/{}", agent.name(), tool.name())
}

/// A tool of one agent; the agent's model knows it by its own name.
struct OwnTool {
    name: String,
    tool: Arc<dyn Tool>,
}

impl OwnTool {
    fn of(agent: &Agent, tool: &Arc<dyn Tool>) -> Self {
        Self { name: name_of(agent, &**tool), tool: Arc::clone(tool) }
    }
}

#[async_trait]
impl Tool for OwnTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn offer(&self, caller: &Caller<'_>) -> Option<ToolSpec> {
        self.tool.offer(caller)
    }

    fn effect(&self) -> Effect {
        self.tool.effect()
    }

    fn answers(&self) -> bool {
        self.tool.answers()
    }

    fn source(&self) -> ResultSource {
        self.tool.source()
    }

    fn address(&self, arguments: &Value) -> Option<Address> {
        self.tool.address(arguments)
    }

    fn serves(&self, owner: &Owner) -> bool {
        self.tool.serves(owner)
    }

    fn renamed(&self, arguments: &Value) -> Option<Value> {
        self.tool.renamed(arguments)
    }

    async fn call(&self, context: &Context, arguments: Value) -> std::result::Result<Outcome, ToolError> {
        self.tool.call(context, arguments).await
    }
}
