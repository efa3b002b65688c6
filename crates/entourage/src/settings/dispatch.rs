//! How agents are scheduled, and what delivers their wake-ups.

use std::net::{Ipv4Addr, SocketAddr};

use entourage_types::DispatchBy;
use reqwest::Url;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error as _};

/// How agents are scheduled.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Dispatch {
    /// What tells processes that share a database which agents are due, the same for all of them: `database`, and the
    /// processes each other, so that nothing else is to be run; or `restate`, which calls a process for each agent.
    #[schemars(with = "String")]
    pub by: DispatchBy,
    /// How many agents may work at once in this process.
    pub concurrency: usize,
    /// How many agents of one owner may work at once. With authentication three quarters of all by default, so that
    /// no owner keeps the others waiting; without it, when all agents have one owner, as many as of all. Restate knows no
    /// owners: with it, agents begin in the order in which they were woken.
    pub per_owner: Option<usize>,
    /// How many seconds agents at work may take to stop when the process ends. Running calls are cancelled at
    /// once: the next start continues them, and asks about a call whose effect is in doubt.
    pub grace_seconds: u64,
    /// After how many failures in a row an agent's run is ended. A failure is an activation that ends with an
    /// error, or an end of the whole process during the activation, also of another one that shares the
    /// database, with nothing written since the previous one. If the process also ends while it ends the run,
    /// the run is left open, `entourage why` says so, and `entourage stop` ends it.
    pub give_up_after: u32,
    /// The Restate that delivers, and this process's part in it; without effect unless `dispatch.by` is `restate`.
    pub restate: Restate,
}

/// The Restate that delivers, and this process's part in it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Restate {
    /// Restate's ingress, where it is told which agents are due, such as `http://restate:8080`.
    #[serde(deserialize_with = "url_if_any")]
    #[schemars(with = "Option<String>")]
    pub ingress: Option<Url>,
    /// Restate's admin API, such as `http://restate:9070`, for `entourage doctor` alone, which tells more with it.
    #[serde(deserialize_with = "url_if_any")]
    #[schemars(with = "Option<String>")]
    pub admin: Option<Url>,
    /// Where a process that works for agents takes Restate's calls, such as `10.0.0.5:4182`: an address that only Restate,
    /// or the balancer before the processes, can reach.
    pub listen: SocketAddr,
    /// Restate's public key, `publickeyv1_…`: calls that were not signed with it are refused. By default all are taken.
    pub identity_key: Option<String>,
}

impl Default for Dispatch {
    fn default() -> Self {
        let usual = entourage_engine::dispatch::Settings::default();
        Self {
            by: DispatchBy::default(),
            concurrency: usual.concurrency,
            per_owner: usual.per_owner,
            grace_seconds: usual.grace.as_secs(),
            give_up_after: usual.give_up_after,
            restate: Restate::default(),
        }
    }
}

impl Default for Restate {
    fn default() -> Self {
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 4182));
        Self { ingress: None, admin: None, listen, identity_key: None }
    }
}

fn url_if_any<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Url>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let url = Url::parse(&text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.map(Some).ok_or_else(|| D::Error::custom("this is no URL: it begins with `http://` or `https://`"))
}
