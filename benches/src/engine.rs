//! The engine as its program assembles it: SQLite, a real HTTP client, the embedded dispatcher.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Result, bail, ensure};
use async_trait::async_trait;
use entourage_engine::{
    Client, Clock, Engine, Kinds, NewAct, NewAgent, SystemClock,
    dispatch::{self, Dispatcher as _, Embedded},
};
use entourage_llm::{Connection, Provider, Router, Settings as ModelSettings};
use entourage_store::{CommittedEvents, Store};
use entourage_store_sqlite::{Durability, Settings, SqliteStore};
use entourage_tools::{Caller, Context, Effect, Error as ToolError, Outcome, Tool, Toolbox};
use entourage_types::{AgentId, EventBody, Kind, Owner, ProjectId, Status, ToolSpec};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    sync::{broadcast::error::RecvError, oneshot},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use crate::model::{NAME, Script, Server};

/// The one tool.
pub(crate) const TOOL: &str = "look_up";
/// The one kind.
pub(crate) const KIND: &str = "bench";
/// The model's instructions, about as long as those of a built-in kind.
const INSTRUCTIONS: &str = "You are an assistant that looks things up. Use `look_up` for every fact that you \
are not certain of, one question at a time, and read what comes back before you ask the next one. When you \
know enough, answer in one short paragraph, name what you found, and say plainly what stayed unknown. Never \
make up results, and never announce what you will do: do it.";
/// The message to an agent.
pub(crate) const QUESTION: &str = "What will the weather be like in Oslo over the next three days?";

/// A running engine with a database of its own.
pub(crate) struct Bed {
    pub(crate) engine: Engine,
    endings: Endings,
    directory: TempDir,
    stop: CancellationToken,
    dispatcher: JoinHandle<entourage_engine::Result<()>>,
}

impl Bed {
    /// Starts an engine whose model follows the script. Called on the engine's runtime.
    pub(crate) fn start(server: &Server, script: Script) -> Result<Self> {
        let tools = Toolbox::new().with(LookUp);
        Self::furnished(server, script, Kinds::none().with(kind(KIND, TOOL)), tools, (Durability::Normal, 64))
    }

    /// Starts an engine with these kinds and tools, this durability and this many agents at work at
    /// once.
    pub(crate) fn furnished(
        server: &Server,
        script: Script,
        kinds: Kinds,
        tools: Toolbox,
        (durability, at_once): (Durability, usize),
    ) -> Result<Self> {
        let settings = Settings { durability, ..Settings::default() };
        let layer = |store| -> Arc<dyn Store> { Arc::new(store) };
        Self::placed(server, script, (kinds, tools), (settings, at_once), layer, Arc::new(SystemClock))
    }

    /// Starts an engine with these kinds and tools and this clock, on a store with these settings
    /// behind `layer`, with this many agents at work at once.
    pub(crate) fn placed(
        server: &Server,
        script: Script,
        (kinds, tools): (Kinds, Toolbox),
        (settings, at_once): (Settings, usize),
        layer: impl FnOnce(SqliteStore) -> Arc<dyn Store>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let store = layer(SqliteStore::open(database(directory.path()), settings)?);
        let connection = Connection {
            base_url: Some(server.base(script)),
            key: Some("none".into()),
            concurrency: Some(at_once),
            ..Connection::default()
        };
        let settings =
            ModelSettings { providers: [(Provider::OpenAi, connection)].into(), ..ModelSettings::default() };
        let model = Router::new(settings, format!("openai::{NAME}"))?;
        let stop = CancellationToken::new();
        let engine = Engine::builder(Arc::clone(&store), Arc::new(model))
            .kinds(kinds)
            .tools(tools)
            .clock(clock)
            .stopping(stop.clone())
            .build();
        let (advance, clock, stopped) = (Arc::new(engine.clone()), Arc::clone(engine.clock()), stop.clone());
        let endings = Endings::follow(&store);
        let places = dispatch::Settings { concurrency: at_once.max(256), ..Default::default() };
        let dispatcher =
            tokio::spawn(async move { Embedded::new(places).run(advance, store, clock, stopped).await });
        Ok(Self { engine, endings, directory, stop, dispatcher })
    }

    /// Returns a client of the only owner.
    pub(crate) fn client(&self) -> Client {
        self.engine.client(Owner::local())
    }

    /// The database file.
    pub(crate) fn database(&self) -> PathBuf {
        database(self.directory.path())
    }

    /// Makes one whole run: a new agent gets the question and answers it.
    pub(crate) async fn run(&self) -> Result<AgentId> {
        self.run_of(KIND).await
    }

    /// Makes one whole run with an agent of another kind.
    pub(crate) async fn run_of(&self, kind: &str) -> Result<AgentId> {
        let new =
            NewAgent { kind: Some(kind.into()), message: Some(QUESTION.into()), title: None, parent: None };
        let agent = self.client().create(new, None).await?.id;
        self.endings.of(agent).await?;
        Ok(agent)
    }

    /// Makes one more turn of an existing agent.
    pub(crate) async fn turn(&self, agent: AgentId) -> Result<()> {
        self.client().send(agent, QUESTION, None).await?;
        self.endings.of(agent).await
    }

    /// Acts upon a message about the documents of a project, in a new chat.
    pub(crate) async fn act(&self, message: &str, project: ProjectId) -> Result<AgentId> {
        let new = NewAct { message: message.into(), project: Some(project), ..NewAct::default() };
        let chat = self.client().act(new, None).await?.chat;
        self.endings.of(chat).await?;
        Ok(chat)
    }

    /// Returns the bytes that some work writes: the length of a log that was empty before.
    pub(crate) async fn written<T>(&self, work: impl Future<Output = Result<T>>) -> Result<u64> {
        let connection = rusqlite::Connection::open(self.database())?;
        connection.busy_timeout(Duration::from_secs(5))?;
        let busy: bool = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        ensure!(!busy, "the database's log is in use");
        work.await?;
        Ok(std::fs::metadata(self.database().with_extension("db-wal"))?.len())
    }

    /// Ends the engine.
    pub(crate) async fn end(self) -> Result<()> {
        self.stop.cancel();
        Ok(self.dispatcher.await??)
    }
}

/// A kind with one tool.
pub(crate) fn kind(name: &str, tool: &str) -> Kind {
    Kind { instructions: INSTRUCTIONS.into(), tools: Some(vec![tool.into()]), ..Kind::bare(name) }
}

fn database(directory: &Path) -> PathBuf {
    directory.join("entourage.db")
}

/// Opens a store that survives the end of its process, as the floors' databases do.
pub(crate) fn open(path: &Path) -> Result<SqliteStore> {
    Ok(SqliteStore::open(path, Settings { durability: Durability::Normal, ..Settings::default() })?)
}

/// Reports when runs end, from the hints that the store sends anyway.
#[derive(Clone, Default)]
pub(crate) struct Endings(Arc<Mutex<HashMap<AgentId, Ending>>>);

/// Whichever comes first, the end of the run or the wait for it, leaves this for the other.
enum Ending {
    Came(Status),
    Awaited(oneshot::Sender<Status>),
}

impl Endings {
    pub(crate) fn follow(store: &Arc<dyn Store>) -> Self {
        let endings = Self::default();
        let (mut changed, told) = (store.changed(), endings.clone());
        tokio::spawn(async move {
            loop {
                match changed.recv().await {
                    Ok(change) => told.tell(&change),
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return,
                }
            }
        });
        endings
    }

    fn tell(&self, change: &CommittedEvents) {
        for event in &change.events {
            let EventBody::AgentStatus { status, .. } = event.body else { continue };
            if !status.is_terminal() {
                continue;
            }
            let mut endings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            match endings.remove(&event.agent) {
                Some(Ending::Awaited(waiting)) => drop(waiting.send(status)),
                _ => drop(endings.insert(event.agent, Ending::Came(status))),
            }
        }
    }

    /// Waits for the end of an agent's run; fails if the run failed.
    pub(crate) async fn of(&self, agent: AgentId) -> Result<()> {
        let awaited = {
            let mut endings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            match endings.remove(&agent) {
                Some(Ending::Came(status)) => return succeeded(status),
                Some(Ending::Awaited(_)) => bail!("agent {agent} is waited for twice"),
                None => {
                    let (waiting, awaited) = oneshot::channel();
                    endings.insert(agent, Ending::Awaited(waiting));
                    awaited
                }
            }
        };
        succeeded(awaited.await?)
    }
}

fn succeeded(status: Status) -> Result<()> {
    ensure!(status == Status::Succeeded, "a run ended as {status}");
    Ok(())
}

/// A tool with a single answer.
pub(crate) struct LookUp;

#[async_trait]
impl Tool for LookUp {
    fn name(&self) -> &str {
        TOOL
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(ToolSpec::new(
            TOOL,
            "Looks a question up and returns what is known, one page at a time.",
            json!({
                "type": "object",
                "properties": {
                    "query": { "type": "string", "description": "What to look up, in a few words." },
                    "page": { "type": "integer", "description": "Which page, from 0." }
                },
                "required": ["query"],
                "additionalProperties": false
            }),
        ))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn call(&self, _: &Context, _: Value) -> Result<Outcome, ToolError> {
        Ok(Outcome::text(
            "Oslo: clear, minus three degrees, wind from the north-east at four metres per second.",
        ))
    }
}
