//! Durable LLM agents: the library face of the house that the `entourage` binary runs.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use entourage::{Entourage, NewAgent, Owner, Settings};
//!
//! let entourage = Entourage::open(&Settings::load(None, None)?).await?;
//! let agents = entourage.house.client(Owner::local());
//! let task = NewAgent { message: Some("What is in this folder?".into()), ..NewAgent::default() };
//! let agent = agents.create(task, None).await?;
//! let mut news = agents.watch(agent.id, 0).await?;
//! let at_work = tokio::spawn(entourage.work());
//! println!("{:?}", news.next().await?);
//! # Ok(()) }
//! ```

pub mod agency;
mod compose;
mod error;
mod runtime;
pub mod settings;
pub mod telemetry;

pub use compose::{DATABASE, Entourage, choice, kinds, loaded_kinds, look, migrate, tool_settings};
pub use entourage_engine::{Client, Entry, House, Kinds, NewAgent, Page, Role, Signal, Watch};
pub use entourage_llm::Model;
pub use entourage_store::Store;
pub use entourage_tools::Tool;
pub use entourage_types::{self as types, Owner};
pub use error::Error;
pub use runtime::runtime;
pub use schemars;
pub use settings::Settings;

/// What every call returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;
