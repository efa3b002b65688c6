//! All settings of an operator. Every setting has a default.
//!
//! Later sources win: the defaults, the file (`entourage.toml` in the data directory, or the one named by
//! `--config`), the environment (`ENTOURAGE_SERVER__BIND` for `server.bind`), the command line.

mod cluster;
mod dispatch;
mod health;
mod load;
mod merge;
mod message;
mod mistake;
mod paths;
mod positive;
mod provenance;
mod reference;
mod time;
#[cfg(not(feature = "server"))]
mod unserved;
mod variables;

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, time::Duration};

use entourage_engine::programs::Act;
#[cfg(feature = "server")]
use entourage_server::{Settings as Server, Webhook};
use entourage_types::{ContextPolicy, Dollars, Owner};
use schemars::JsonSchema;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

pub use cluster::Cluster;
pub use dispatch::{Dispatch, Restate};
pub use health::Health;
pub use load::FILE;
pub use provenance::{Given, InForce, Origin};
pub use reference::{Key, keys, markdown, template};
pub use time::time;
#[cfg(not(feature = "server"))]
pub use unserved::{Auth, Jwt, Server, Webhook};

/// A model that something other than the file names: errors about the model refer to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedModel {
    /// What names it, as text: `the variable ENTOURAGE_MODEL`, or `--model`.
    pub by: String,
    /// The model's name.
    pub model: String,
}

/// The settings of an operator.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The data directory. It cannot be set in the file, which is found there.
    #[serde(skip)]
    pub data: PathBuf,
    /// The file that the settings were read from, if any.
    #[serde(skip)]
    pub file: Option<PathBuf>,
    /// The directory with the user's kinds; by default `kinds` in the data directory, if it exists.
    pub kinds: Option<PathBuf>,
    /// The file of an agency in another directory; the kinds beside it are read too. Only the command line
    /// sets it.
    #[serde(skip)]
    pub agency: Option<PathBuf>,
    /// The first arguments of a command that runs a program as [`entourage_tools::supervise`] does, for the
    /// MCP servers of this machine. The binary names itself.
    #[serde(skip)]
    pub supervisor: Option<Vec<OsString>>,
    /// The first words of a command that runs [`python::worker_main`](crate::python::worker_main), without which agents
    /// have no Python. The binary names itself; a program that embeds this names one of its own.
    #[serde(skip)]
    pub python_worker: Option<Vec<OsString>>,
    /// The model that a variable or an option of the command line names instead of the file, if one does.
    #[serde(skip)]
    pub model_from: Option<NamedModel>,
    /// Warnings about settings without effect, a sentence each: variables of the environment that name no
    /// setting.
    #[serde(skip)]
    pub ignored: Vec<String>,
    /// Which of them were given, and where.
    #[serde(skip)]
    pub given: Given,
    /// The database.
    pub store: Store,
    /// How this process is one of several that share a database.
    pub cluster: Cluster,
    /// The models and their providers.
    pub models: entourage_llm::Settings,
    /// The tools, MCP servers among them.
    pub tools: entourage_tools::Settings,
    /// The HTTP API.
    pub server: Server,
    /// The receivers of webhooks for tasks, questions and what messages to the document agent come to, by name; none by
    /// default.
    pub webhooks: BTreeMap<String, Webhook>,
    /// What owners may spend.
    pub budget: Budget,
    /// How agents are scheduled.
    pub dispatch: Dispatch,
    /// The document agent.
    pub documents: Documents,
    /// The sessions of agents.
    pub sessions: Sessions,
    /// After which times something is done about tasks and goals that make no progress.
    pub health: Health,
    /// The keys that seal secrets of owners.
    pub secrets: Secrets,
    /// Traces for a collector.
    pub telemetry: crate::telemetry::Settings,
    /// How long data is kept.
    pub retention: Retention,
}

/// What owners may spend in a day (UTC), in dollars. Whoever has spent that goes on the next day.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// The most that an owner may spend in a day, such as `$5.00`; no limit by default.
    #[schemars(with = "Option<String>")]
    pub per_owner_per_day: Option<Dollars>,
    /// Other amounts for single owners, by name: `[budget.owners.ann]`.
    pub owners: BTreeMap<String, OwnersBudget>,
    /// The price at which a model counts whose own is not known, as in `models.prices`: `{ input = 3.0, output = 15.0 }`,
    /// in dollars for a million tokens. Without it, agents with a budget in money do not ask such a model.
    pub unpriced: Option<entourage_llm::Price>,
}

/// What one owner may spend.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnersBudget {
    /// The most that the owner may spend in a day, such as `$20.00`.
    #[schemars(with = "String")]
    pub per_day: Dollars,
}

impl From<Budget> for entourage_engine::Budgets {
    fn from(Budget { per_owner_per_day, owners, unpriced }: Budget) -> Self {
        let owners = owners.into_iter().map(|(owner, of)| (Owner::new(owner), of.per_day.0)).collect();
        Self { per_owner_per_day: per_owner_per_day.map(|most| most.0), owners, unpriced }
    }
}

/// How long data is kept, as `90d` or `52w`; for ever by default.
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
    /// How long answers to requests with an idempotency key are kept, so that the same request gets the same
    /// answer again; 24 hours by default.
    #[serde(deserialize_with = "time::if_any")]
    #[schemars(with = "Option<String>")]
    pub requests: Option<Duration>,
    /// How long deliveries to receivers of webhooks are kept after they arrived or were given up; 24 hours by
    /// default.
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

/// The sessions of agents, for kinds whose files say nothing about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Sessions {
    /// After how many minutes without anything new a session ends, for kinds whose sessions end so.
    pub idle_minutes: u32,
    /// How many of the latest closed sessions an agent reads the summaries of; at most 20.
    pub summaries: u32,
}

impl Default for Sessions {
    fn default() -> Self {
        Self { idle_minutes: ContextPolicy::IDLE_MINUTES, summaries: ContextPolicy::SUMMARIES }
    }
}

/// The database.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Store {
    /// The database that several processes share, `postgres://USER:PASSWORD@HOST/DATABASE`, as the variable
    /// `ENTOURAGE_STORE`; without it, a file in the data directory, which one process has to itself.
    #[schemars(with = "Option<String>")]
    pub url: Option<SecretString>,
    /// How many connections each process makes to a shared database at most, beside one for its sign of life: half
    /// of them write, and half read, at least one each. Those of all processes and commands must be fewer than the
    /// server's `max_connections`.
    pub connections: usize,
    /// What a commit survives once it has returned.
    pub durability: Durability,
    /// Whether a database of an older version is migrated to this program's version when it is opened;
    /// otherwise `entourage migrate` does that.
    pub migrate: bool,
}

impl Default for Store {
    fn default() -> Self {
        Self { url: None, connections: 16, durability: Durability::default(), migrate: true }
    }
}

/// What a commit survives once it has returned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// The end of the process and a loss of power.
    #[default]
    Full,
    /// The end of the process; a loss of power may take the last commits, whole and in order.
    Normal,
}

/// The keys that seal secrets of owners, which MCP servers are given: without a key, none can be set.
///
/// Each is 32 bytes in Base64; `entourage secrets key` makes one. The first one seals, and all of them open: to replace a
/// key, put the new one first, start again, run `entourage secrets reseal`, and take the old one out.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Secrets {
    /// The keys, separated by blanks or commas. Better set by the variable than in this file, and kept apart from backups of
    /// the data.
    #[schemars(with = "Option<String>")]
    pub keys: Option<SecretString>,
    /// Instead of the keys: a file with them, which nobody but its owner can read.
    pub keys_file: Option<PathBuf>,
}

/// The document agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Documents {
    /// How many messages the document agent acts upon at once in this process; each makes at most one request to a
    /// model at a time. Further messages wait, and owners take turns.
    pub acts_at_once: usize,
}

impl Default for Documents {
    fn default() -> Self {
        Self { acts_at_once: Act::AT_ONCE }
    }
}
