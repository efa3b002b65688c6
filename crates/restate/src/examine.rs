//! What is between this node, Restate and the nodes that it calls, for people who look for a fault.

use std::time::{Duration, Instant};

use entourage_types::AgentId;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::{
    Error, Restate, Result,
    agent::{OTHER_DATABASE, key},
    ingress::{as_admin, below, client, read},
};

/// How long a node may take to answer such a call.
const PATIENCE: Duration = Duration::from_secs(5);

/// What was found.
#[derive(Debug)]
pub struct Examined {
    /// What became of a call for no agent.
    pub call: Call,
    /// The version of Restate, or why it is not known; none if no admin API was asked.
    pub version: Option<Result<String>>,
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// A node has answered it, after so long.
    Answered(Duration),
    /// Restate does not know where the nodes are: they are to be registered.
    Unregistered,
    /// A node of another database has refused it: those are registered.
    OtherDatabase,
    /// No node has answered it in time. Restate goes on calling.
    Unanswered {
        /// What Restate has met, if its admin API says so.
        cause: Option<String>,
    },
}

/// A question about what is queued.
#[derive(Serialize)]
struct Query {
    query: String,
}

/// Its answer.
#[derive(Deserialize)]
struct Rows {
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    last_failure: Option<String>,
}

/// What the admin API says of itself.
#[derive(Deserialize)]
struct Version {
    version: String,
}

impl Restate {
    /// Tries the way to Restate and from there to a node, with a call that finds nothing to do. With its admin API more is
    /// found.
    ///
    /// # Errors
    /// If Restate does not answer, or refuses the call.
    pub async fn examine(&self, admin: Option<&Url>) -> Result<Examined> {
        let call = if self.ingress.is_registered().await? {
            // No agent's: a node looks for what is due, and finds nothing. Another one each time, so that it waits for no
            // other call.
            let (probe, began) = (key(self.ingress.database, AgentId::new()), Instant::now());
            match self.ingress.examine(&probe, PATIENCE).await {
                Ok(()) => Call::Answered(began.elapsed()),
                Err(Error::Refused { status: OTHER_DATABASE, .. }) => Call::OtherDatabase,
                Err(Error::Unreachable(error)) if error.is_timeout() => {
                    let cause = match admin {
                        // Why that is not known, the version says.
                        Some(admin) => last_failure(admin, &probe).await.unwrap_or_default(),
                        None => None,
                    };
                    Call::Unanswered { cause }
                }
                Err(error) => return Err(error),
            }
        } else {
            Call::Unregistered
        };
        let version = match admin {
            Some(admin) => Some(version(admin).await),
            None => None,
        };
        Ok(Examined { call, version })
    }
}

/// What Restate has met when it called for no agent.
async fn last_failure(admin: &Url, probe: &str) -> Result<Option<String>> {
    let query = format!(
        "SELECT last_failure FROM sys_invocation WHERE target_service_key = '{probe}' AND last_failure IS NOT NULL"
    );
    let request = client(admin)?.post(below(admin, &["query"])?).header("accept", "application/json");
    let found: Rows = read(request.json(&Query { query })).await?;
    Ok(found.rows.into_iter().find_map(|row| row.last_failure))
}

async fn version(admin: &Url) -> Result<String> {
    let found: Version = read(client(admin)?.get(below(admin, &["version"])?)).await.map_err(as_admin)?;
    Ok(found.version)
}
