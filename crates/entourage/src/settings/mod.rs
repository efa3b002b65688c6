//! Everything an operator may set, in one place. Every setting has a default.
//!
//! Later ones win: the defaults, the file (`entourage.toml` in the data directory, or the one named
//! by `--config`), the environment (`ENTOURAGE_SERVER__BIND` for `server.bind`), the command line.

mod load;
mod message;
mod paths;
mod positive;
mod reference;
mod time;
#[cfg(not(feature = "server"))]
mod unserved;
mod variables;

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, time::Duration};

#[cfg(feature = "server")]
use entourage_server::{Settings as Server, Webhook};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use load::FILE;
pub use reference::{Key, keys, markdown, template};
pub use time::time;
#[cfg(not(feature = "server"))]
pub use unserved::{Auth, Jwt, Server, Webhook};

/// A model that something other than the file names: errors about the model point there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedModel {
    /// What names it, in words: `the variable ENTOURAGE_MODEL`, or `--model`.
    pub by: String,
    /// The model's name.
    pub model: String,
}

/// Everything an operator may set.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Where everything is kept. Not in the file, which is itself found there.
    #[serde(skip)]
    pub data: PathBuf,
    /// The file that they were read from, if they were from one.
    #[serde(skip)]
    pub file: Option<PathBuf>,
    /// The directory with the user's kinds; `kinds` in the data directory when there is one.
    pub kinds: Option<PathBuf>,
    /// The file of an agency that stands elsewhere; the kinds beside it are read with it. Named on the
    /// command line only.
    #[serde(skip)]
    pub agency: Option<PathBuf>,
    /// The first words of a command that runs a program as [`entourage_tools::supervise`] does, for the MCP
    /// servers of this machine. The binary names itself.
    #[serde(skip)]
    pub supervisor: Option<Vec<OsString>>,
    /// The model that a variable or an option of the command line names, where one does, instead of the file.
    #[serde(skip)]
    pub model_from: Option<NamedModel>,
    /// What was set and has no effect, a sentence each: variables of the environment that name no setting.
    #[serde(skip)]
    pub ignored: Vec<String>,
    /// The database.
    pub store: Store,
    /// The models and their providers.
    pub models: entourage_llm::Settings,
    /// The tools, MCP servers among them.
    pub tools: entourage_tools::Settings,
    /// The HTTP API.
    pub server: Server,
    /// Whom the engine tells of tasks and questions, by name; nobody unless given.
    pub webhooks: BTreeMap<String, Webhook>,
    /// How agents are given their turns.
    pub dispatch: Dispatch,
    /// Traces for a collector.
    pub telemetry: crate::telemetry::Settings,
    /// How long what happened is kept.
    pub retention: Retention,
}

/// How long what happened is kept, as `90d` or `52w`; for ever unless said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Retention {
    /// How long events are kept, as `90d`; the last of each tree stays.
    #[serde(deserialize_with = "time::if_any")]
    #[schemars(with = "Option<String>")]
    pub events: Option<Duration>,
    /// How long trees at rest are kept, with everything in them, counted from their last change.
    #[serde(deserialize_with = "time::if_any")]
    #[schemars(with = "Option<String>")]
    pub trees: Option<Duration>,
    /// How long answers are kept to requests that carried an idempotency key, so that the same request again is answered
    /// the same; 24 hours unless given.
    #[serde(deserialize_with = "time::if_any")]
    #[schemars(with = "Option<String>")]
    pub requests: Option<Duration>,
    /// How long it is kept what receivers of webhooks were told, from its arrival or from when it was given up; 24 hours
    /// unless given.
    #[serde(deserialize_with = "time::if_any")]
    #[schemars(with = "Option<String>")]
    pub deliveries: Option<Duration>,
}

impl Default for Retention {
    fn default() -> Self {
        let day = Some(Duration::from_secs(24 * 60 * 60));
        Self { events: None, trees: None, requests: day, deliveries: day }
    }
}

impl From<Retention> for entourage_engine::Retention {
    fn from(Retention { events, trees, requests, deliveries }: Retention) -> Self {
        Self { events, trees, requests, deliveries }
    }
}

/// The database.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Store {
    /// What a commit has survived once it returned.
    pub durability: Durability,
    /// Whether a database of an older version is brought to this program's when it is opened;
    /// otherwise `entourage migrate` does.
    pub migrate: bool,
}

impl Default for Store {
    fn default() -> Self {
        Self { durability: Durability::default(), migrate: true }
    }
}

/// What a commit has survived once it returned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// The end of the process and a loss of power.
    #[default]
    Full,
    /// The end of the process; a loss of power may take the last commits, whole and in order.
    Normal,
}

/// How agents are given their turns.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Dispatch {
    /// Agents at work at once.
    pub concurrency: usize,
    /// Seconds that those at work have to leave when the process shall end. Calls under way are broken off at once:
    /// the next start goes on with them, and asks about one whose effect is in doubt.
    pub grace_seconds: u64,
    /// Failures in a row after which an agent's run is ended. A failure is an activation that ends with an error, or
    /// an end of the whole process while it was at work, with nothing written since the one before.
    pub give_up_after: u32,
}

impl Default for Dispatch {
    fn default() -> Self {
        let usual = entourage_engine::dispatch::Settings::default();
        Self {
            concurrency: usual.concurrency,
            grace_seconds: usual.grace.as_secs(),
            give_up_after: usual.give_up_after,
        }
    }
}
