//! Durable LLM agents: the library interface of the engine that the `entourage` binary runs.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use entourage::{Entourage, NewAgent, Owner, Settings};
//!
//! let entourage = Entourage::open(&Settings::load(None, None)?).await?;
//! let agents = entourage.engine.client(Owner::local());
//! let task = NewAgent { message: Some("What is in this folder?".into()), ..NewAgent::default() };
//! let agent = agents.create(task, None).await?;
//! let mut news = agents.watch(agent.id, 0).await?;
//! let at_work = tokio::spawn(entourage.work());
//! println!("{:?}", news.next().await?);
//! # Ok(()) }
//! ```
//!
//! This crate re-exports everything that its traits and types refer to: [`models`] has what a [`Model`] takes
//! and returns, [`tools`] what a [`Tool`] does, [`store`] and [`sqlite`] the databases, [`types`] the data
//! types, [`engine`] the rest. A crate that builds on it needs no other crate of the project.
//!
//! Features: `mcp` (tools of MCP servers), `postgres` (a database that several processes share), `python` (the tool that runs
//! Python), `restate` (dispatch by Restate), `server` (the HTTP API and webhooks), `cli` (the binary; includes the others), all
//! on by default; `conformance` (the tests that a [`Store`] must pass), off by default.

pub mod agency;
mod closable;
mod compose;
mod connect;
mod embedded;
mod error;
pub mod explore;
pub mod program;
mod runtime;
pub mod settings;
mod subscriber;
pub mod telemetry;

pub use async_trait::async_trait;
#[cfg(feature = "server")]
pub use compose::check_webhooks;
#[cfg(feature = "postgres")]
pub use compose::move_to_postgres;
pub use compose::{
    Entourage, Neighbour, Neighbours, choice, choice_offline, database, is_begun, loaded_kinds, look,
    look_only, migrate, neighbours, read_only, secret_keys, tool_settings, toolbox, unchecked, unpriced,
};
#[cfg(feature = "restate")]
pub use compose::{chosen_restate, chosen_restate_of_database};
pub use entourage_engine::{
    self as engine, Client, Clock, Engine, Entry, Kinds, NewAgent, Page, Role, Signal, SystemClock, Watch,
};
pub use entourage_llm::{self as models, Model};
#[cfg(feature = "python")]
pub use entourage_python as python;
#[cfg(feature = "restate")]
pub use entourage_restate as restate;
pub use entourage_store::{self as store, MemoryStore, Store};
#[cfg(feature = "postgres")]
pub use entourage_store_postgres as postgres;
pub use entourage_store_sqlite as sqlite;
pub use entourage_tools::{self as tools, Tool};
pub use entourage_types::{self as types, Owner};
pub use error::Error;
pub use runtime::runtime;
pub use schemars;
pub use secrecy::SecretString;
pub use serde;
pub use serde_json;
pub use settings::Settings;
pub use subscriber::Subscriber;
pub use tokio::sync::broadcast;
pub use tokio_util::sync::CancellationToken;

/// What every call returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;
